//! Deleting rows by data file and position.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, SchemaRef};

use crate::codec::bitmap::PositionSet;
use crate::data::write::conform::Conformer;
use crate::data::write::delete_write::DeleteForm;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::iceberg::commit::live::live_files;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::rows::effect::{Delta, Effect};
use crate::iceberg::rows::positions::{RowsToDelete, check_listed_once, write_deletes};
use crate::iceberg::rows::view::View;
use crate::rows::row_changes::source::{in_parts, renamed};
use crate::rows::stream::RowReader;
use crate::store::location::{normalise, normalised};
use crate::types::{Field, PrimitiveType, Schema};

/// The columns of the rows, named as in delete files or as in scans.
const NAMES: [[&str; 2]; 2] = [["file_path", "pos"], ["_file", "_pos"]];

/// Deletes the rows that `rows` name by their data file and position.
///
/// # Errors
/// `Unsupported` for version 1, and (version 3) for a data file that is listed twice with different deletes.
/// `InvalidInput` for other columns, positions beyond the end of a file, and files that the table never had.
/// `CommitConflict` for files that it no longer has.
pub(crate) fn by_position(view: &View, rows: RowReader) -> Result<Delta> {
    let form = DeleteForm::of_version(view.table.format_version())?;
    let mut named = Named::read(rows)?;
    let deleted = named.find(view)?;
    if let Some(missed) = named.files.values().filter(|f| !f.found).min_by(|a, b| a.path.cmp(&b.path)) {
        return Err(missing(view, &missed.path)?);
    }
    if form == DeleteForm::Vectors {
        check_listed_once(deleted.iter().map(|rows| &rows.task))?;
    }
    let mut effect = Effect::none(view);
    write_deletes(view, deleted, &mut effect)?;
    Ok(Delta { effect, specs: None })
}

/// The error for a missing data file, with its cause.
fn missing(view: &View, path: &str) -> Result<Error> {
    let live = live_files(view.store().as_ref(), &view.table.inner.metadata, &[path])?;
    Ok(match live.is_empty() {
        true => Error::invalid("the table has no such data file")
            .with("path", path)
            .hint("Positions are those that scan(select=[\"_file\", \"_pos\"]) gives"),
        false => Error::conflict("a data file whose rows are to be deleted is not in the table any more")
            .with("file", path)
            .with("clause", "data files of added deletes are still there")
            .hint("It was rewritten or removed since: look for the rows again"),
    })
}

/// Positions by normalised path of the data file.
#[derive(Default)]
struct Named {
    files: HashMap<String, NamedFile>,
}

/// Positions of one data file.
struct NamedFile {
    /// The path as the caller gave it.
    path: String,
    positions: PositionSet,
    /// Whether the table has it.
    found: bool,
}

impl Named {
    /// The rows in the table's data files. A file that is listed several times has them in each entry.
    fn find(&mut self, view: &View) -> Result<Vec<RowsToDelete>> {
        let mut deleted = Vec::new();
        if self.files.is_empty() {
            return Ok(deleted);
        }
        let mut plan = RunningPlan::start(view.scan(Predicate::True)?.plan_input())?;
        while let Some(batch) = plan.next_batch()? {
            for (k, row) in batch.rows.iter().enumerate() {
                let path = batch.columns.path.get(*row as usize).and_then(|path| std::str::from_utf8(path).ok());
                let Some(named) = path.and_then(|path| self.files.get_mut(normalised(path).as_ref())) else { continue };
                let (task, positions) = (batch.task(k)?, named.positions.clone());
                named.found = true;
                let last = positions.iter().last().and_then(|p| i64::try_from(p).ok()).unwrap_or(i64::MAX);
                if last >= task.data_file.record_count {
                    return Err(Error::invalid("a data file has fewer rows than the position needs")
                        .with("path", &task.data_file.path)
                        .with("pos", last)
                        .with("rows", task.data_file.record_count));
                }
                deleted.push(RowsToDelete { task, positions });
            }
        }
        Ok(deleted)
    }

    fn read(rows: RowReader) -> Result<Named> {
        let columns = columns(&rows.schema())?;
        let fields: Vec<Field> = columns.iter().map(|(field, _)| field.clone()).collect();
        let mut conformer = Conformer::new(Arc::new(Schema::new(0, fields, Vec::new())))?;
        let (mut named, mut first) = (Named::default(), 0);
        for batch in rows {
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            for part in in_parts(&renamed(&batch, &columns)?) {
                let part = part?;
                named.add(&conformer.conform(&part, first)?)?;
                first += part.num_rows() as u64;
            }
        }
        Ok(named)
    }

    /// Adds rows in runs of the same data file.
    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let shape = || Error::internal("positions were read as other columns");
        let [paths, positions] = rows.columns() else { return Err(shape()) };
        let paths = paths.as_string_opt::<i32>().ok_or_else(shape)?;
        let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(shape)?.values();
        let mut start = 0;
        while start < rows.num_rows() {
            let path = paths.value(start);
            let run = (start..rows.num_rows()).take_while(|i| paths.value(*i) == path).count();
            let new = || NamedFile { path: path.to_owned(), positions: PositionSet::default(), found: false };
            let named = self.files.entry(normalise(path)).or_insert_with(new);
            named.positions.extend(positions.get(start..start + run).unwrap_or_default()).map_err(|e| {
                Error::invalid("a row to delete has an impossible position").with("path", path).because(e)
            })?;
            start += run;
        }
        Ok(())
    }
}

fn columns(given: &SchemaRef) -> Result<Vec<(Field, String)>> {
    let has: HashSet<&str> = given.fields().iter().map(|f| f.name().as_str()).collect();
    let names = NAMES.iter().find(|names| names.iter().all(|name| has.contains(name)));
    let [path, position] = names.ok_or_else(|| {
        Error::invalid("rows to delete are named by the columns file_path and pos, or _file and _pos")
            .with("columns", given.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", "))
    })?;
    let field = |id: i32, name: &str, ty| (Field::new(id, NAMES[0][id as usize - 1], true, ty), name.to_owned());
    Ok(vec![field(1, path, PrimitiveType::String), field(2, position, PrimitiveType::Long)])
}
