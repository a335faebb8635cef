//! Planning: manifest list → manifests → surviving entries, column by column.
//!
//! Manifests whose counts or partition summaries exclude the filter are not opened. The others are decoded straight into
//! columns, in waves of a bounded size and in parallel; each distinct partition tuple is judged once, giving its residual;
//! each entry is then judged by its metrics under that residual. One evaluator serves all three
//! ([`crate::expr::bounds`]). Nothing outlives a call: waves use scoped threads, so a process may fork between any two.
//!
//! Source: Iceberg specification, "Scan Planning".

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, Result, ResultExt};
use crate::expr::bounds::may_match;
use crate::expr::residual::residual;
use crate::expr::{BoundPredicate, Bounds, ColumnBounds};
use crate::iceberg::deletes::DeleteIndex;
use crate::iceberg::entries::{EntryColumns, EntryRequest};
use crate::iceberg::manifest::{Inherited, Manifest, assign_first_row_ids, clear_first_row_ids, partition_of};
use crate::iceberg::manifest_list::{ManifestContent, ManifestFile, decode_manifest_list};
use crate::iceberg::metadata::TableMetadata;
use crate::iceberg::partition_bounds::{PartitionBounds, SummaryBounds};
use crate::iceberg::snapshot::Snapshot;
use crate::iceberg::statistics::MetricsBounds;
use crate::store::{Location, Store};
use crate::task::{DataFile, DeleteRef, FileContent, Partition, ScanTask};
use crate::types::{FieldId, PartitionSpec, PrimitiveType, Schema, Value};
use crate::workers::in_parallel;

/// Manifest bytes decoded in one wave; bounds the memory of a streamed plan.
const WAVE_BYTES: i64 = 32 << 20;
/// Blocks of a manifest that one piece of work decodes.
const BLOCKS_PER_PIECE: usize = 64;

/// What is planned.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// Where the files are.
    pub store: Arc<dyn Store>,
    /// How recorded paths are found.
    pub location: Location,
    /// The table.
    pub metadata: Arc<TableMetadata>,
    /// The version; `None` for an empty table.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The schema that the filter is bound to.
    pub schema: Arc<Schema>,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
}

/// What each stage of planning saw and kept.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct PlanCounters {
    pub data_manifests: u64,
    pub data_manifest_bytes: u64,
    /// After the counts of the manifest list.
    pub live_manifests: u64,
    pub live_manifest_bytes: u64,
    /// After the partition summaries of the manifest list.
    pub matching_manifests: u64,
    pub matching_manifest_bytes: u64,
    pub delete_manifests: u64,
    pub delete_files: u64,
    /// Live entries decoded.
    pub files: u64,
    pub file_bytes: u64,
    /// After partition tuples.
    pub files_in_partitions: u64,
    pub partition_bytes: u64,
    /// After column metrics.
    pub files_kept: u64,
    pub bytes_kept: u64,
    pub rows_kept: u64,
    /// Delete files attached, counted once for each task.
    pub deletes_attached: u64,
    pub list_ms: f64,
    pub deletes_ms: f64,
    pub entries_ms: f64,
}

impl PlanCounters {
    fn add_files(&mut self, other: &PlanCounters) {
        self.files += other.files;
        self.file_bytes = self.file_bytes.saturating_add(other.file_bytes);
        self.files_in_partitions += other.files_in_partitions;
        self.partition_bytes = self.partition_bytes.saturating_add(other.partition_bytes);
        self.files_kept += other.files_kept;
        self.bytes_kept = self.bytes_kept.saturating_add(other.bytes_kept);
        self.rows_kept = self.rows_kept.saturating_add(other.rows_kept);
        self.deletes_attached += other.deletes_attached;
    }
}

/// A partition tuple and what the filter still asks of its files.
#[derive(Clone, Debug)]
pub struct PartitionGroup {
    /// The tuple.
    pub partition: Arc<Partition>,
    /// The filter with the clauses decided that the tuple decides.
    pub residual: Arc<BoundPredicate>,
}

/// Entries of one stretch of a manifest, with those that survived.
#[derive(Debug, Default)]
pub struct PlannedBatch {
    /// All entries decoded.
    pub columns: EntryColumns,
    /// The survivors, ascending.
    pub rows: Vec<u32>,
    /// By [`EntryColumns::partition`]; `None` where the tuple was pruned.
    pub groups: Vec<Option<PartitionGroup>>,
    /// Deletes of each survivor; empty if the snapshot has none that matter.
    pub deletes: Vec<Vec<DeleteRef>>,
}

impl PlannedBatch {
    /// The group of a row that survived.
    pub fn group(&self, row: usize) -> Result<&PartitionGroup> {
        let index = self.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
        (self.groups.get(index).and_then(Option::as_ref))
            .ok_or_else(|| Error::internal("a kept entry has no partition"))
    }

    /// The task of the `k`-th survivor.
    pub fn task(&self, k: usize) -> Result<ScanTask> {
        let row = *self.rows.get(k).ok_or_else(|| Error::internal("no such task"))? as usize;
        let group = self.group(row)?;
        let data_file: DataFile = self.columns.data_file(row, group.partition.clone())?;
        Ok(ScanTask {
            start: 0,
            length: data_file.size_bytes,
            data_file: Arc::new(data_file),
            deletes: self.deletes.get(k).cloned().unwrap_or_default(),
            residual: group.residual.clone(),
        })
    }
}

/// A plan under way: yields batches oldest manifest first, entries in the order of their manifest.
pub struct Plan {
    input: PlanInput,
    request: EntryRequest,
    specs: Specs,
    queue: VecDeque<ManifestFile>,
    deletes: Option<DeleteIndex>,
    ready: VecDeque<PlannedBatch>,
    counters: PlanCounters,
    failed: bool,
}

impl Plan {
    /// Reads the manifest list, prunes it, and, if any data manifest is left, reads the delete manifests that matter.
    ///
    /// # Errors
    /// `NotFound`, `CorruptTable` or `Unsupported`, naming the file and snapshot.
    pub fn start(input: PlanInput) -> Result<Plan> {
        let began = Instant::now();
        let mut counters = PlanCounters::default();
        let specs = Specs::new(&input.metadata, &input.schema);
        let manifests = match &input.snapshot {
            Some(s) => load_manifests(input.store.as_ref(), &input.location, s).with("snapshot", s.id)?,
            None => Vec::new(),
        };
        let (mut queue, mut delete_manifests) = (VecDeque::new(), Vec::new());
        // Writers list the newest manifest first; files are planned in the order of their commits.
        for m in manifests.into_iter().rev() {
            let deletes = m.content == ManifestContent::Deletes;
            if !deletes {
                counters.data_manifests += 1;
                counters.data_manifest_bytes =
                    counters.data_manifest_bytes.saturating_add(m.length_bytes.max(0) as u64);
            }
            if !has_live_entries(&m) {
                continue;
            }
            if !deletes {
                counters.live_manifests += 1;
                counters.live_manifest_bytes =
                    counters.live_manifest_bytes.saturating_add(m.length_bytes.max(0) as u64);
            }
            if !specs.summary_may_match(&m, &input.filter)? {
                continue;
            }
            if deletes {
                delete_manifests.push(m);
            } else {
                counters.matching_manifests += 1;
                counters.matching_manifest_bytes =
                    counters.matching_manifest_bytes.saturating_add(m.length_bytes.max(0) as u64);
                queue.push_back(m);
            }
        }
        counters.list_ms = began.elapsed().as_secs_f64() * 1e3;
        let mut plan = Plan {
            request: EntryRequest { metric_fields: input.filter.field_ids(), ..Default::default() },
            input,
            specs,
            queue,
            deletes: None,
            ready: VecDeque::new(),
            counters,
            failed: false,
        };
        if !plan.queue.is_empty() && !delete_manifests.is_empty() {
            plan.load_deletes(delete_manifests)?;
        }
        Ok(plan)
    }

    /// What was seen and kept so far; complete once the iterator has ended.
    pub fn counters(&self) -> &PlanCounters {
        &self.counters
    }

    fn load_deletes(&mut self, manifests: Vec<ManifestFile>) -> Result<()> {
        let began = Instant::now();
        self.counters.delete_manifests = manifests.len() as u64;
        let all = EntryRequest { all_metrics: true, ..self.request.clone() };
        let pieces = self.decode_wave(manifests.into(), &all)?;
        let mut files = Vec::new();
        for batch in &pieces {
            for k in 0..batch.rows.len() {
                files.push(batch.task(k)?.data_file);
            }
        }
        self.counters.delete_files = files.len() as u64;
        let index = DeleteIndex::new(files, &self.input.schema, &self.input.metadata)?;
        // Equality deletes are matched by the key columns' metrics of each data file.
        self.request.metric_fields.extend(index.key_fields());
        self.request.metric_fields.sort_unstable();
        self.request.metric_fields.dedup();
        self.deletes = Some(index).filter(|i| !i.is_empty());
        self.counters.deletes_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// The next manifests up to [`WAVE_BYTES`], at least one.
    fn take_wave(&mut self) -> VecDeque<ManifestFile> {
        let (mut wave, mut bytes) = (VecDeque::new(), 0i64);
        while let Some(m) = self.queue.front() {
            bytes = bytes.saturating_add(m.length_bytes.max(0));
            if !wave.is_empty() && bytes > WAVE_BYTES {
                break;
            }
            wave.extend(self.queue.pop_front());
        }
        wave
    }

    fn run_wave(&mut self) -> Result<()> {
        let began = Instant::now();
        let wave = self.take_wave();
        let request = self.request.clone();
        let batches = self.decode_wave(wave, &request)?;
        let mut seen = PlanCounters::default();
        for mut batch in batches {
            count(&batch, &mut seen);
            if let Some(index) = &self.deletes {
                batch.deletes = index.deletes_of_batch(&batch)?;
                seen.deletes_attached += batch.deletes.iter().map(|d| d.len() as u64).sum::<u64>();
            }
            if !batch.rows.is_empty() {
                self.ready.push_back(batch);
            }
        }
        self.counters.add_files(&seen);
        self.counters.entries_ms += began.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// Reads, decodes and prunes manifests in parallel; the batches keep the order of the manifests.
    fn decode_wave(&self, wave: VecDeque<ManifestFile>, request: &EntryRequest) -> Result<Vec<PlannedBatch>> {
        let wave: Vec<ManifestFile> = wave.into();
        let load =
            |m: &ManifestFile| -> Result<Vec<u8>> { self.input.store.get(&self.input.location.resolve(&m.path)?) };
        let loaded = in_parallel(wave.len(), |i| load(&wave[i]).with("manifest", &wave[i].path))?;
        // Most manifests of a table have the same header; what the first one's compiles to serves them.
        let first = loaded.first().map(|bytes| Manifest::parse(bytes)).transpose();
        let layout = first.ok().flatten().map(|m| m.layout().clone());
        let parse = |i: usize| Manifest::parse_like(&loaded[i], layout.as_ref()).with("path", &wave[i].path);
        let parsed = in_parallel(wave.len(), parse)?;
        let mut pieces: Vec<(usize, Range<usize>)> = Vec::new();
        for (i, m) in parsed.iter().enumerate() {
            let blocks = m.block_count();
            pieces.extend((0..blocks).step_by(BLOCKS_PER_PIECE).map(|b| (i, b..(b + BLOCKS_PER_PIECE).min(blocks))));
        }
        let decode = |p: usize| -> Result<PlannedBatch> {
            let (i, blocks) = pieces[p].clone();
            self.decode_piece(&wave[i], &parsed[i], blocks, request).with("path", &wave[i].path)
        };
        let mut batches = in_parallel(pieces.len(), decode)?;
        number_rows(&wave, &pieces, &mut batches)?;
        Ok(batches)
    }

    fn decode_piece(
        &self,
        file: &ManifestFile,
        manifest: &Manifest<'_>,
        blocks: Range<usize>,
        request: &EntryRequest,
    ) -> Result<PlannedBatch> {
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let columns = manifest.decode(blocks, request, &inherited)?;
        let spec = self.specs.get(file.spec_id)?;
        let mut groups = Vec::with_capacity(columns.partitions.len());
        for tuple in &columns.partitions {
            let schema = &self.input.schema;
            let partition = partition_of(&spec.spec, schema, &manifest.spec_fields, &manifest.partition_types, tuple);
            groups.push(spec.group(partition, &self.input.filter));
        }
        let mut batch = PlannedBatch { rows: Vec::with_capacity(columns.len()), columns, groups, deletes: Vec::new() };
        batch.rows = (0..batch.columns.len() as u32).filter(|row| keeps(&batch, *row as usize)).collect();
        Ok(batch)
    }
}

impl Iterator for Plan {
    type Item = Result<PlannedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.queue.is_empty() && !self.failed {
            if let Err(e) = self.run_wave() {
                self.failed = true;
                let snapshot = self.input.snapshot.as_ref().map_or(-1, |s| s.id);
                return Some(Err(e.with("snapshot", snapshot)));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Whether the metrics of an entry let a row match what its partition left of the filter.
fn keeps(batch: &PlannedBatch, row: usize) -> bool {
    let index = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
    match batch.groups.get(index).and_then(Option::as_ref) {
        None => false,
        Some(group) if *group.residual == BoundPredicate::True => true,
        Some(group) => {
            let metrics = MetricsBounds::new(&batch.columns, row);
            match batch.columns.content.get(row) {
                Some(FileContent::PositionDeletes) => true,
                Some(FileContent::EqualityDeletes) => may_match(&group.residual, &KeyMetrics { metrics, batch, row }),
                _ => may_match(&group.residual, &metrics),
            }
        }
    }
}

/// Metrics of an equality delete file, of its key columns only: a row it deletes has the same keys, but other columns that
/// it may carry need not be equal.
struct KeyMetrics<'e> {
    metrics: MetricsBounds<'e>,
    batch: &'e PlannedBatch,
    row: usize,
}

impl Bounds for KeyMetrics<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        let keys = self.batch.columns.equality_ids.get(self.row).unwrap_or_default();
        if keys.contains(&i64::from(field)) { self.metrics.column(field, ty) } else { ColumnBounds::default() }
    }
}

fn count(batch: &PlannedBatch, seen: &mut PlanCounters) {
    let columns = &batch.columns;
    for row in columns.rows() {
        let size = columns.size_bytes[row].max(0) as u64;
        seen.files += 1;
        seen.file_bytes = seen.file_bytes.saturating_add(size);
        if batch.group(row).is_ok() {
            seen.files_in_partitions += 1;
            seen.partition_bytes = seen.partition_bytes.saturating_add(size);
        }
    }
    for &row in &batch.rows {
        seen.files_kept += 1;
        seen.bytes_kept = seen.bytes_kept.saturating_add(columns.size_bytes[row as usize].max(0) as u64);
        seen.rows_kept = seen.rows_kept.saturating_add(columns.record_count[row as usize].max(0) as u64);
    }
}

/// Row ids (v3) are counted over a whole manifest, so after its pieces are back in order.
fn number_rows(wave: &[ManifestFile], pieces: &[(usize, Range<usize>)], batches: &mut [PlannedBatch]) -> Result<()> {
    for (i, m) in wave.iter().enumerate() {
        let first = pieces.partition_point(|p| p.0 < i);
        let end = pieces.partition_point(|p| p.0 <= i);
        let own = batches.get_mut(first..end).unwrap_or_default().iter_mut().map(|b| &mut b.columns);
        match m.first_row_id {
            Some(first) => assign_first_row_ids(own, first).with("path", &m.path)?,
            None => clear_first_row_ids(own),
        }
    }
    Ok(())
}

/// The manifests of a snapshot: from its manifest list, or the inline list of v1.
///
/// # Errors
/// As the store's and [`decode_manifest_list`]'s, naming the file.
pub fn load_manifests(store: &dyn Store, location: &Location, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    if let Some(path) = &snapshot.manifest_list {
        let bytes = store.get(&location.resolve(path)?)?;
        return decode_manifest_list(&bytes).with("path", path);
    }
    let paths = snapshot.manifests.iter().flatten();
    paths.map(|path| inline_manifest(store, location, path, snapshot.id)).collect()
}

/// What a manifest list would say of a manifest that v1 lists inline: nothing is known but its spec and length.
fn inline_manifest(store: &dyn Store, location: &Location, path: &str, snapshot_id: i64) -> Result<ManifestFile> {
    let bytes = store.get(&location.resolve(path)?)?;
    let manifest = Manifest::parse(&bytes).with("path", path)?;
    Ok(ManifestFile {
        path: path.to_owned(),
        length_bytes: bytes.len() as i64,
        spec_id: manifest.spec_id.unwrap_or(0),
        added_snapshot_id: Some(snapshot_id),
        ..ManifestFile::default()
    })
}

/// Absent counts mean that there may be entries.
fn has_live_entries(m: &ManifestFile) -> bool {
    m.added_files_count != Some(0) || m.existing_files_count != Some(0)
}

/// The table's specs with the types their values have under the scan's schema.
struct Specs {
    by_id: HashMap<i32, SpecContext>,
}

struct SpecContext {
    spec: Arc<PartitionSpec>,
    types: Vec<PrimitiveType>,
}

impl Specs {
    fn new(metadata: &TableMetadata, schema: &Schema) -> Specs {
        let context = |spec: &Arc<PartitionSpec>| {
            let types =
                spec.fields.iter().map(|f| f.result_type(source_schema(metadata, schema, f.source_id))).collect();
            (spec.id, SpecContext { spec: spec.clone(), types })
        };
        Specs { by_id: metadata.partition_specs.iter().map(context).collect() }
    }

    fn get(&self, id: i32) -> Result<&SpecContext> {
        self.by_id.get(&id).ok_or_else(|| {
            Error::corrupt(format!("a manifest uses partition spec {id}, which the table metadata does not have"))
        })
    }

    fn summary_may_match(&self, m: &ManifestFile, filter: &BoundPredicate) -> Result<bool> {
        let spec = self.get(m.spec_id).with("path", &m.path)?;
        let Some(summaries) = m.partitions.as_ref().filter(|s| s.len() == spec.spec.fields.len()) else {
            return Ok(true);
        };
        Ok(may_match(filter, &SummaryBounds::new(&spec.spec.fields, &spec.types, summaries)))
    }
}

/// The schema to look a source column up in: the scan's, or an older one that still has a column dropped since.
fn source_schema<'a>(metadata: &'a TableMetadata, schema: &'a Schema, source_id: FieldId) -> &'a Schema {
    let has = |s: &&Schema| s.field(source_id).is_some();
    Some(schema).filter(has).or_else(|| metadata.schemas.iter().map(Arc::as_ref).find(has)).unwrap_or(schema)
}

impl SpecContext {
    /// Judges a tuple: `None` if no row of its files can match.
    fn group(&self, partition: Partition, filter: &Arc<BoundPredicate>) -> Option<PartitionGroup> {
        let left = if **filter == BoundPredicate::True {
            filter.clone()
        } else {
            let values: Vec<Option<Value>> = partition.values.iter().map(|v| v.value.clone()).collect();
            let bounds = PartitionBounds::new(&self.spec.fields, &self.types, &values);
            Arc::new(residual(filter, &bounds))
        };
        (*left != BoundPredicate::False).then(|| PartitionGroup { partition: Arc::new(partition), residual: left })
    }
}
