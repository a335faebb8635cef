//! Statistics of snapshots, computed and put into the table's metadata: distinct values of columns, and partitions.
//!
//! A file is written first; then a metadata-only commit names it. A snapshot has at most one file of each kind. A file
//! that is replaced is no longer named, but stays for older metadata files that name it.
//!
//! Source: Iceberg specification, "Table Statistics", "Partition Statistics"; Puffin specification; details they leave
//! open follow Java's `ComputeTableStatsSparkAction`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};

use crate::codec::puffin::{Blob, FileBuilder};
use crate::codec::theta::{THETA_SKETCH, ThetaSketch};
use crate::data::read::read_ahead::ScanReader;
use crate::data::read::task::CountedBytes;
use crate::data::write::distinct::DistinctCounter;
use crate::error::{Error, Result, ResultExt};
use crate::format::maintenance::{ComputedStatistics, StatisticsOptions};
use crate::format::request::{At, ScanRequest};
use crate::format::task::ReadContext;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::committing;
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::snapshot::{Snapshot, StatisticsFile, StatisticsKind};
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::parallel::{Phase, begin_phase, check_cancelled, in_parallel, locked_unless_cancelled, threads};
use crate::store::Store;
use crate::store::location::join;
use crate::types::select::{column_hint, prune_to};
use crate::types::{Field, FieldId, PrimitiveType, Schema};

impl IcebergTable {
    /// Estimates the number of distinct values of columns in a snapshot, by reading its rows. Writes theta sketches
    /// into a statistics file and commits it. Nulls, and empty text and binary values, do not count. Returns the table
    /// at its new version. A table without snapshots has no statistics.
    ///
    /// # Errors
    /// `InvalidInput` for unknown columns, or columns that are not primitive or are inside lists and maps. `NotFound`
    /// for an unknown snapshot; `CommitConflict` if it has expired meanwhile, or after the last retry.
    /// `CommitStateUnknown` if it is not known whether the commit happened. Errors of reading; a cancellation.
    pub fn compute_statistics(
        &self,
        options: &StatisticsOptions,
    ) -> Result<(IcebergTable, Option<ComputedStatistics>)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let Some(snapshot) = chosen(&newest, options.snapshot_id)? else { return Ok((newest, None)) };
        let scan = newest.scan(ScanRequest { at: Some(At::Snapshot(snapshot.id)), ..ScanRequest::default() })?;
        let schema = scan.projection().clone();
        let ids = match &options.columns {
            Some(names) => named(&schema, names)?,
            None => schema.fields.iter().filter(|f| is_countable(f)).map(|f| f.id).collect(),
        };
        if ids.is_empty() {
            return Err(Error::invalid("there are no columns to count values of"));
        }
        let sketches = sketches(&newest, &scan, &schema, &ids)?;
        let (file, distinct) = write_sketches(&newest, &snapshot, &ids, &sketches)?;
        let name = |id: FieldId| schema.name_of(id).unwrap_or_default().to_owned();
        let computed = ComputedStatistics {
            snapshot_id: snapshot.id,
            path: file.path.clone(),
            size_bytes: file.size_bytes,
            distinct: ids.iter().map(|id| name(*id)).zip(distinct).collect(),
        };
        let table = set(&newest, StatisticsKind::Columns, file)?;
        Ok((table, Some(computed)))
    }
}

/// The snapshot with this id, or by default the current one.
pub(crate) fn chosen(table: &IcebergTable, id: Option<i64>) -> Result<Option<Arc<Snapshot>>> {
    let metadata = &table.inner.metadata;
    let Some(id) = id else { return Ok(metadata.current_snapshot().cloned()) };
    match metadata.snapshot_by_id(id) {
        Some(snapshot) => Ok(Some(snapshot.clone())),
        None => Err(Error::not_found("the table has no such snapshot").with("snapshot", id)),
    }
}

fn named(schema: &Schema, names: &[String]) -> Result<Vec<FieldId>> {
    let mut ids = Vec::new();
    for name in names {
        let field = schema.find(&name.split('.').collect::<Vec<_>>(), true);
        let missing =
            || Error::invalid("the table has no such column").with("column", name).hint(column_hint(schema, name));
        let field = field.ok_or_else(missing)?;
        if !is_countable(field) {
            return Err(Error::invalid("values of this column can't be counted").with("column", name));
        }
        if !ids.contains(&field.id) {
            ids.push(field.id);
        }
    }
    Ok(ids)
}

/// Whether values are plain bytes.
fn is_countable(field: &Field) -> bool {
    field.ty.as_primitive().is_some_and(|ty| *ty != PrimitiveType::Variant)
}

/// A sketch of each column. Files are read in parallel with their own sketches, which are then united.
fn sketches(table: &IcebergTable, scan: &IcebergScan, schema: &Schema, ids: &[FieldId]) -> Result<Vec<ThetaSketch>> {
    let read = Arc::new(prune_to(schema, ids));
    let context = ReadContext { projection: read.clone(), ..scan.context().as_ref().clone() };
    let store = table.inner.store.clone();
    let reader = ScanReader { store, context: Arc::new(context), deletes: Arc::default() };
    let _phase = begin_phase(Phase::Reading, 0);
    let tasks = Mutex::new(scan.plan_files()?);
    let next = || locked_unless_cancelled(&tasks)?.next_task();
    let of_threads = in_parallel(threads(usize::MAX), |_| {
        let mut united = vec![ThetaSketch::default(); ids.len()];
        while let Some(task) = next()? {
            let mut counter = DistinctCounter::new(&read, ids)?;
            let mut counted = CountedBytes::of([&task]);
            for batch in reader.read(&task)? {
                check_cancelled()?;
                let batch = batch?;
                counter.take(&batch).with("path", &task.data_file.path)?;
                counted.add(batch.num_rows());
            }
            counted.end();
            united = unite(united, counter.finish());
        }
        Ok(united)
    })?;
    Ok(of_threads.into_iter().fold(vec![ThetaSketch::default(); ids.len()], unite))
}

fn unite(a: Vec<ThetaSketch>, b: Vec<ThetaSketch>) -> Vec<ThetaSketch> {
    a.into_iter().zip(b).map(|(a, b)| a.union(b)).collect()
}

/// Writes a blob for each column. Returns the metadata entry of the file, and the estimates.
fn write_sketches(
    table: &IcebergTable,
    snapshot: &Snapshot,
    ids: &[FieldId],
    sketches: &[ThetaSketch],
) -> Result<(StatisticsFile, Vec<i64>)> {
    let by = format!("frazil {}", env!("CARGO_PKG_VERSION"));
    let mut builder = FileBuilder::new(BTreeMap::from([("created-by".to_owned(), by)]));
    let mut bytes = FileBuilder::START.to_vec();
    let (mut blobs, mut estimates) = (Vec::new(), Vec::new());
    for (id, sketch) in ids.iter().zip(sketches) {
        let stored = zstd::bulk::compress(&sketch.to_bytes(), 0)
            .map_err(|e| Error::internal("a sketch can't be compressed").because(e))?;
        let estimate = sketch.estimate() as i64;
        let properties = BTreeMap::from([("ndv".to_owned(), estimate.to_string())]);
        blobs.push(json!({
            "type": THETA_SKETCH,
            "snapshot-id": snapshot.id,
            "sequence-number": snapshot.sequence_number,
            "fields": [id],
            "properties": properties,
        }));
        builder.add(Blob {
            kind: THETA_SKETCH.to_owned(),
            fields: vec![*id],
            snapshot_id: snapshot.id,
            sequence_number: snapshot.sequence_number,
            offset: 0,
            length: stored.len() as u64,
            compression: Some("zstd".to_owned()),
            properties,
        });
        bytes.extend(stored);
        estimates.push(estimate);
    }
    let footer = builder.finish()?;
    bytes.extend(&footer);
    let path = new_path(table, &format!("{}-{}.stats", snapshot.id, uuid::Uuid::new_v4()));
    // The file can be there although writing it failed. No snapshot names it yet.
    let store = &table.inner.store;
    store.put_if_absent(&path, &bytes).inspect_err(|_| store.discard(vec![path.clone()]))?;
    let file = StatisticsFile::from_json(json!({
        "snapshot-id": snapshot.id,
        "statistics-path": path,
        "file-size-in-bytes": bytes.len(),
        "file-footer-size-in-bytes": footer.len(),
        "blob-metadata": Json::Array(blobs),
    }))?;
    Ok((file, estimates))
}

/// The path for a statistics file of this name.
pub(crate) fn new_path(table: &IcebergTable, name: &str) -> String {
    join(&join(table.location(), METADATA_FOLDER), name)
}

/// Commits the statistics file of a snapshot; deletes it if the commit certainly failed.
pub(crate) fn set(table: &IcebergTable, kind: StatisticsKind, file: StatisticsFile) -> Result<IcebergTable> {
    let change = SetStatistics { kind, file: Arc::new(file), store: table.inner.store.clone() };
    committing::commit(table, vec![Box::new(change)]).into_result()
}

/// The file of a snapshot's statistics, as a change of the table.
struct SetStatistics {
    kind: StatisticsKind,
    file: Arc<StatisticsFile>,
    store: Arc<dyn Store>,
}

impl TableChange for SetStatistics {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        base.with_statistics(self.kind, self.file.clone(), now_ms)
    }

    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        metadata.statistics_of(self.kind).contains(&self.file)
    }

    fn is_marked_in(&self, metadata: &TableMetadata) -> bool {
        self.is_applied(metadata)
    }

    fn clean_up(&mut self) {
        self.store.discard(vec![self.file.path.clone()]);
    }
}
