//! Checks the row ids of rewritten rows: each row keeps its id, and no row gets another.
//!
//! Source: Iceberg specification, "Row Lineage".

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;

use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::read_ahead::ScanReader;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, FieldMap, FileContent, ReadContext, ScanTask};
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::state::IcebergTable;
use crate::parallel::in_parallel;
use crate::types::Schema;
use crate::types::metadata_columns::{LAST_UPDATED, LINEAGE_COLUMNS, ROW_ID, metadata_column};

/// The mark of a missing id or number in a file. It is so far below 0 that values counted from it stay below 0.
const NONE: i64 = i64::MIN / 2;

/// Checks the rows that replace those of `tasks`, read at the snapshot with this sequence number.
///
/// # Errors
/// `InvalidInput` for ids that are null, unknown to the replaced rows or used twice. Also for rows with a missing
/// change or one after the snapshot. Errors of reading.
pub(crate) fn check(
    table: &IcebergTable,
    scan: &IcebergScan,
    tasks: &[ScanTask],
    added: &[DataFile],
    sequence_number: i64,
) -> Result<()> {
    let added: Vec<&DataFile> = added.iter().filter(|f| f.content == FileContent::Data).collect();
    if table.format_version() < 3 || added.is_empty() {
        return Ok(());
    }
    let next = table.inner.metadata.next_row_id.unwrap_or(i64::MAX);
    let facts = ReplacedRows { next, sequence_number, nulls: tasks.iter().any(|t| t.data_file.first_row_id.is_none()) };
    added.iter().try_for_each(|file| facts.by_bounds(file).with("path", &file.path))?;
    let reader = reader(table, scan);
    let left = in_parallel(tasks.len(), |i| {
        let task = ScanTask { residual: Arc::new(BoundPredicate::True), ..tasks[i].clone() };
        let mut ids = PositionSet::default();
        for batch in reader.read(&task)? {
            ids.extend(column(&batch?, 0)?.iter().flatten().collect::<Vec<_>>().as_slice())?;
        }
        Ok(ids)
    })?;
    let mut replaced = PositionSet::default();
    left.iter().for_each(|ids| replaced.unite(ids));
    let kept = in_parallel(added.len(), |i| facts.ids(&reader, added[i]).with("path", &added[i].path))?;
    let mut all = PositionSet::default();
    for (ids, file) in kept.iter().zip(added) {
        if let Some(id) = first(ids, |id| !replaced.contains(id)) {
            return Err(wrong("a rewritten row has an id that no row of the replaced files has", ROW_ID, id)
                .with("path", &file.path));
        }
        if let Some(id) = first(ids, |id| all.contains(id)) {
            return Err(twice(id).with("path", &file.path));
        }
        all.unite(ids);
    }
    Ok(())
}

/// The known facts about the replaced rows.
struct ReplacedRows {
    /// The lowest id that no row of the table has.
    next: i64,
    sequence_number: i64,
    /// Whether some of them have no id yet. Then the commit checks that no other commit gave them one meanwhile.
    nulls: bool,
}

impl ReplacedRows {
    /// Checks the metrics of a file before it is read.
    fn by_bounds(&self, file: &DataFile) -> Result<()> {
        let Some(metrics) = &file.metrics else { return Ok(()) };
        let metrics = metrics.get()?;
        let ends = |id: i32| {
            let bound = |bounds: &Option<FieldMap<Vec<u8>>>| {
                let bytes = bounds.as_ref().and_then(|bounds| bounds.get(&id))?;
                bytes.as_slice().try_into().ok().map(i64::from_le_bytes)
            };
            [bound(&metrics.lower_bounds), bound(&metrics.upper_bounds)]
        };
        ends(ROW_ID).into_iter().flatten().try_for_each(|id| self.check_id(id))?;
        ends(LAST_UPDATED).into_iter().flatten().try_for_each(|number| self.check_number(number))
    }

    fn check_id(&self, id: i64) -> Result<()> {
        match (0..self.next).contains(&id) {
            true => Ok(()),
            false => Err(wrong("a rewritten row has an id that no row of the table has", ROW_ID, id)
                .with("next_row_id", self.next)),
        }
    }

    fn check_number(&self, number: i64) -> Result<()> {
        match (0..=self.sequence_number).contains(&number) {
            true => Ok(()),
            false => {
                Err(wrong("a rewritten row was changed after the version that it was read at", LAST_UPDATED, number)
                    .with("sequence number of the version", self.sequence_number))
            }
        }
    }

    /// The ids of a file's rows, each once.
    fn ids(&self, reader: &ScanReader, file: &DataFile) -> Result<PositionSet> {
        let own = DataFile { first_row_id: Some(NONE), sequence_number: Some(NONE), ..file.clone() };
        let task = ScanTask {
            start: 0,
            length: file.size_bytes,
            data_file: Arc::new(own),
            deletes: Vec::new(),
            residual: Arc::new(BoundPredicate::True),
            change: None,
            merge: None,
        };
        let mut seen = PositionSet::default();
        for batch in reader.read(&task)? {
            let batch = batch?;
            let (ids, numbers) = (column(&batch, 0)?, column(&batch, 1)?);
            let mut own = Vec::with_capacity(ids.len());
            for (id, number) in ids.values().iter().zip(numbers.values()) {
                let stored = |v: i64| v >= NONE / 2;
                match (stored(*id), stored(*number)) {
                    (false, _) if self.nulls => continue,
                    (false, _) => return Err(missing(ROW_ID)),
                    (true, false) => return Err(missing(LAST_UPDATED)),
                    (true, true) => {}
                }
                self.check_id(*id)?;
                self.check_number(*number)?;
                own.push(*id);
            }
            let mut batch = PositionSet::default();
            batch.extend(&own)?;
            if batch.len() < own.len() as u64 {
                own.sort_unstable();
                let pair = own.windows(2).find(|two| two[0] == two[1]);
                return Err(twice(pair.map_or(NONE, |two| two[0])));
            }
            let mut repeated = batch.clone();
            repeated.intersect(&seen);
            if let Some(id) = first(&repeated, |_| true) {
                return Err(twice(id));
            }
            seen.unite(&batch);
        }
        Ok(seen)
    }
}

fn first(ids: &PositionSet, is: impl Fn(u64) -> bool) -> Option<i64> {
    ids.iter().find(|id| is(*id)).and_then(|id| i64::try_from(id).ok())
}

const HINT: &str = "Write the rows with the columns _row_id and _last_updated_sequence_number as a scan of the replaced \
                    files gives them";

fn wrong(what: &str, column: i32, value: i64) -> Error {
    let name = metadata_column(column).map(|f| f.name).unwrap_or_default();
    Error::invalid(what).with("column", &name).with("value", value).hint(HINT)
}

fn twice(id: i64) -> Error {
    wrong("two rewritten rows have the same id", ROW_ID, id)
}

fn missing(column: i32) -> Error {
    let name = metadata_column(column).map(|f| f.name).unwrap_or_default();
    Error::invalid("a rewritten row has lost a value: its column is null").with("column", &name).hint(HINT)
}

/// Reads only the lineage of rows.
fn reader(table: &IcebergTable, scan: &IcebergScan) -> ScanReader {
    let columns: Vec<_> = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column).collect();
    let context = scan.context().as_ref().clone();
    let own = &context.schema;
    let schema = Schema::new(own.id, own.fields.iter().chain(&columns).cloned().collect::<Vec<_>>(), Vec::new());
    let projection = Arc::new(Schema::new(own.id, columns, Vec::new()));
    let context = ReadContext { schema: Arc::new(schema), projection, ..context };
    ScanReader {
        store: table.inner.store.clone(),
        context: Arc::new(context),
        deletes: Arc::new(DeleteCache::default()),
    }
}

fn column(batch: &RecordBatch, at: usize) -> Result<&Int64Array> {
    let column = batch.columns().get(at).and_then(|c| c.as_primitive_opt::<Int64Type>());
    column.ok_or_else(|| Error::internal("lineage was read as something else"))
}
