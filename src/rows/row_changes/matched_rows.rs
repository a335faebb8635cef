//! Rows of a merge's data whose matches another engine has found.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, Schema as ArrowSchema, SchemaRef};

use super::changed_batch::FoundRows;
use super::clauses::Clauses;
use super::key_columns::KeyColumns;
use super::patch::NO_SOURCE;
use super::source::{SourceRows, rows_of};
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::Predicate;
use crate::format::row_change::Merge;
use crate::format::task::ScanTask;
use crate::parallel::check_cancelled;
use crate::rows::stream::RowReader;
use crate::store::location::{normalise, normalised};
use crate::types::Schema;

/// The columns that follow those of the source.
const NAMES: [&str; 3] = ["frazil file", "frazil position", "frazil missing"];

/// Rows of a data file.
pub(crate) struct Hits {
    /// The file. Its residual matches these rows, and perhaps others.
    pub task: ScanTask,
    pub positions: PositionSet,
    /// In a merge: for each position, ascending, the row of the source, or `NO_SOURCE`. Otherwise empty.
    pub sources: Vec<u32>,
}

impl Hits {
    /// The rows.
    pub(crate) fn found(&self) -> FoundRows<'_> {
        FoundRows { positions: Some(&self.positions), sources: &self.sources }
    }
}

/// Rows of a merge's data, and the rows of the table that they match.
pub(crate) struct MatchedRows {
    /// Whether all matches are deleted. Then the matching row of the source does not matter.
    all_go: bool,
    /// By normalised path: position, and number of the source's row.
    files: HashMap<String, Vec<(i64, u32)>>,
    /// The rows that match.
    pub source: SourceRows,
}

/// A data source of a merge, before its rows are read.
pub(crate) struct MatchedSource {
    rows: RowReader,
    schema: SchemaRef,
}

impl MatchedSource {
    /// The rows have the columns of the source, then those of [`NAMES`].
    ///
    /// # Errors
    /// `InvalidInput` for other columns, and for a key that the table or the source lacks.
    pub(crate) fn new(rows: RowReader, table: &Schema, merge: &Merge) -> Result<MatchedSource> {
        let schema = source_schema(&rows.schema())?;
        let source = MatchedSource { rows, schema };
        if !merge.on.is_empty() {
            source.empty().keys(&KeyColumns::new(table, &merge.on)?)?;
        }
        Ok(source)
    }

    /// The source without rows.
    pub(crate) fn empty(&self) -> SourceRows {
        SourceRows::of_batches(self.schema.clone(), Vec::new())
    }

    /// Reads all rows. Those that match nothing are given to `insert`, except those that would delete their match.
    ///
    /// # Errors
    /// `InvalidInput` if the stream fails or has other types; those of `insert`; a cancellation.
    pub(crate) fn read(self, merge: &Merge, insert: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<MatchedRows> {
        let mut matched = Matched { all_go: merge.goes_whole(), ..Matched::default() };
        for batch in self.rows {
            check_cancelled()?;
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            let placed = PlacedMatches::of(&batch, &self.schema)?;
            let new = without_deletes(merge, rows_of(&placed.source, placed.unmatched())?)?;
            if new.num_rows() > 0 {
                insert(new)?;
            }
            matched.add(placed)?;
        }
        let source = SourceRows::of_batches(self.schema, matched.kept);
        Ok(MatchedRows { all_go: matched.all_go, files: matched.files, source })
    }
}

/// The rows that a merge inserts if they match nothing.
fn without_deletes(merge: &Merge, rows: RecordBatch) -> Result<RecordBatch> {
    let Some(delete) = merge.delete.as_ref().filter(|delete| **delete != Predicate::True) else { return Ok(rows) };
    match SourceRows::of(rows.clone()).matches(delete)?.first() {
        Some(deletes) => rows_of(&rows, !deletes),
        None => Ok(rows),
    }
}

impl MatchedRows {
    /// The normalised paths of the files with matches.
    pub(crate) fn files(&self) -> HashSet<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// Whether rows may be deleted.
    pub(crate) fn may_delete(&self, clauses: &Clauses) -> bool {
        let deletes = |source: u32| source == NO_SOURCE || clauses.deletes(source);
        self.files.values().flatten().any(|(_, source)| deletes(*source))
    }

    /// The rows that change, and the files with matches. The tasks are those of the files.
    ///
    /// # Errors
    /// `InvalidInput` if a row of the table matches several rows of the source, unless all matches are deleted, and if
    /// a file has no such row; a cancellation.
    pub(crate) fn hits(self, tasks: Vec<ScanTask>, clauses: &Clauses) -> Result<(Vec<Hits>, HashSet<String>)> {
        let mut hits = Vec::with_capacity(tasks.len());
        let (mut files, mut matching) = (self.files, HashSet::new());
        for task in tasks {
            check_cancelled()?;
            let mut rows = files.remove(normalised(&task.data_file.path).as_ref()).unwrap_or_default();
            if self.all_go || rows.iter().any(|(_, source)| *source != NO_SOURCE) {
                matching.insert(task.data_file.path.clone());
            }
            rows.sort_unstable();
            match self.all_go {
                true => rows.dedup(),
                false => check_once(&task, &rows)?,
            }
            rows.retain(|(_, source)| *source == NO_SOURCE || clauses.act_on(*source));
            let places: Vec<i64> = rows.iter().map(|(position, _)| *position).collect();
            let mut positions = PositionSet::default();
            positions.extend(&places).with("path", &task.data_file.path)?;
            if places.last().is_some_and(|last| *last >= task.data_file.record_count) {
                return Err(Error::invalid("a data file has fewer rows than the position needs")
                    .with("path", &task.data_file.path));
            }
            if !rows.is_empty() {
                hits.push(Hits { task, positions, sources: rows.into_iter().map(|(_, source)| source).collect() });
            }
        }
        Ok((hits, matching))
    }
}

fn source_schema(schema: &SchemaRef) -> Result<SchemaRef> {
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    match names.strip_suffix(&NAMES) {
        None => Err(Error::invalid(
            "rows of a merge must end with the columns frazil file, frazil position and frazil missing",
        )
        .with("columns", names.join(", "))),
        Some(own) => {
            Ok(Arc::new(ArrowSchema::new(schema.fields().iter().take(own.len()).cloned().collect::<Vec<_>>())))
        }
    }
}

/// Rows of the source with their matches.
struct PlacedMatches {
    source: RecordBatch,
    files: StringArray,
    positions: Vec<i64>,
    missing: BooleanBuffer,
}

impl PlacedMatches {
    fn of(batch: &RecordBatch, schema: &SchemaRef) -> Result<PlacedMatches> {
        let shape = |e| Error::invalid("places of rows have other types").because(e);
        let (own, places) = batch.columns().split_at(schema.fields().len());
        let [files, positions, missing] = places else { return Err(Error::internal("columns are not there")) };
        let files = cast(files, &DataType::Utf8).map_err(shape)?.as_string::<i32>().clone();
        let positions = cast(positions, &DataType::Int64).map_err(shape)?;
        let missing = cast(missing, &DataType::Boolean).map_err(shape)?;
        let missing = missing.as_boolean();
        let missing = match missing.nulls() {
            None => missing.values().clone(),
            Some(valid) => missing.values() & valid.inner(),
        };
        if (0..files.len()).any(|i| files.is_valid(i) != positions.is_valid(i)) {
            return Err(Error::invalid("a row of a merge has a file without a position, or one without a file"));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let source = RecordBatch::try_new_with_options(schema.clone(), own.to_vec(), &options)
            .map_err(|e| Error::internal("columns of a source").because(e))?;
        Ok(PlacedMatches { source, files, positions: positions.as_primitive::<Int64Type>().values().to_vec(), missing })
    }

    fn unmatched(&self) -> BooleanBuffer {
        BooleanBuffer::collect_bool(self.files.len(), |i| self.files.is_null(i))
    }
}

/// Matching rows of the table, by file.
#[derive(Default)]
struct Matched {
    /// Whether all matches are deleted. Then the matching row of the source does not matter.
    all_go: bool,
    /// By normalised path: position, and number of the source's row.
    files: HashMap<String, Vec<(i64, u32)>>,
    /// Rows of the source.
    kept: Vec<RecordBatch>,
    rows: u32,
}

impl Matched {
    fn add(&mut self, placed: PlacedMatches) -> Result<()> {
        let is_match = |i: usize| placed.files.is_valid(i) && !placed.missing.value(i);
        let mut last: Option<(&str, &mut Vec<(i64, u32)>)> = None;
        let mut number = self.rows;
        for i in (0..placed.files.len()).filter(|i| placed.files.is_valid(*i)) {
            let path = placed.files.value(i);
            if last.as_ref().is_none_or(|(of, _)| *of != path) {
                last = Some((path, self.files.entry(normalise(path)).or_default()));
            }
            let Some((_, rows)) = &mut last else { continue };
            let source = match (is_match(i), self.all_go) {
                (false, _) | (_, true) => NO_SOURCE,
                (true, false) => {
                    number += 1;
                    number - 1
                }
            };
            rows.push((placed.positions[i], source));
        }
        if number > self.rows {
            let kept = BooleanBuffer::collect_bool(placed.files.len(), is_match);
            self.kept.push(rows_of(&placed.source, kept)?);
            self.rows = number;
        }
        Ok(())
    }
}

/// Refuses a row of the table that matches several rows of the source: the result would be ambiguous.
fn check_once(task: &ScanTask, rows: &[(i64, u32)]) -> Result<()> {
    match rows.windows(2).find(|two| two[0].0 == two[1].0) {
        None => Ok(()),
        Some(two) => Err(Error::invalid("a row of the table matches several rows of the source")
            .with("path", &task.data_file.path)
            .with("pos", two[0].0)
            .hint("Leave one row for each key in the source, as by dropDuplicates on the key's columns")),
    }
}

impl Merge {
    /// Whether it deletes all matching rows and does nothing else with them.
    fn goes_whole(&self) -> bool {
        self.update.is_none() && self.delete == Some(Predicate::True)
    }
}
