//! Plans a manifest from the plan cache. Columns that the filter needs are read for all entries, the others only for
//! kept entries.

use std::sync::Arc;

use crate::codec::avro::Inflater;
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::manifest::columns::{Manifest, assign_first_row_ids, clear_first_row_ids, partition_of};
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{DELETED, EntryColumns, EntryRequest, MISSING, MetricColumn};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::judge::Judge;
use crate::iceberg::plan::kept_entries::{KeptEntries, PartitionGroup};
use crate::iceberg::plan::plan_cache::cache::{CachedManifest, LoadedSections, PlanCache};
use crate::iceberg::plan::plan_cache::cached_columns::{
    SectionKey, SectionKind, TO_JUDGE, TO_KEEP, cached_content, format_of,
};
use crate::iceberg::plan::planned::{PlannedBatch, count, survivors};
use crate::iceberg::plan::specs::SpecContext;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::metadata_columns::{DELETE_FILE_PATH, DELETE_FILE_POS, FILE, LAST_UPDATED, ROW_ID, SPEC_ID};
use crate::types::{FieldId, PrimitiveType, Transform};

const METRICS: [SectionKind; 5] =
    [SectionKind::ValueCount, SectionKind::NullCount, SectionKind::NanCount, SectionKind::Lower, SectionKind::Upper];

/// The columns that decide whether bounds of uuids are valid.
const JUDGE_UUIDS: [SectionKind; 2] = [SectionKind::Format, SectionKind::SplitOffsets];

/// Reserved columns of delete files and row lineage that may have metrics.
const RESERVED: [FieldId; 4] = [LAST_UPDATED, ROW_ID, DELETE_FILE_POS, DELETE_FILE_PATH];

/// The columns with metrics in the cache: all columns that the table ever had.
fn cached_fields(metadata: &TableMetadata) -> Vec<FieldId> {
    let mut ids: Vec<FieldId> = metadata.schemas.iter().flat_map(|s| s.field_ids()).chain(RESERVED).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl Judge {
    /// The kept entries of one manifest, from the cache if it has the manifest. Otherwise from the manifest, which is
    /// then stored in the cache.
    pub(crate) fn cached_batch(
        &self,
        file: &ManifestFile,
        cache: &PlanCache,
        request: &EntryRequest,
        inflater: &mut Inflater,
    ) -> Result<PlannedBatch> {
        if let Some(found) = cache.get(file, &request.metric_fields, self.layout.get())
            && let Ok(mut batch) = self.batch_of(file, &found, request)
        {
            batch.seen.from_cache.add(file.length_bytes);
            self.layout.get_or_init(|| found.layout.clone());
            return Ok(batch);
        }
        let location = &self.input.location;
        let bytes = self.input.store.get(&location.resolve(&file.path)?);
        let bytes = bytes.map_err(|e| location.explain(e)).with("manifest", &file.path)?;
        let manifest = Manifest::parse_listed(&bytes, file.size(), self.layout.get())?;
        manifest.check_spec(&self.specs.get(file.spec_id)?.spec, &self.input.schema)?;
        self.layout.get_or_init(|| manifest.layout().clone());
        let mut fields = cached_fields(&self.input.metadata);
        fields.extend(&request.metric_fields);
        fields.sort_unstable();
        fields.dedup();
        let everything =
            EntryRequest { metric_fields: fields, encoded_metrics: true, deleted_too: true, ..EntryRequest::default() };
        let columns = manifest.decode_plain(inflater, 0..manifest.block_count(), &everything)?;
        match cache.put(file, &manifest, &columns) {
            Ok(kept) => self.batch_of(file, &kept, request),
            // The numbers are too far apart for the cache, so plan from the manifest.
            Err(_) => {
                let mut batch = self.decode_piece(file, &manifest, 0..manifest.block_count(), request, inflater)?;
                number_rows(file, &mut batch.entries.columns)?;
                Ok(batch)
            }
        }
    }

    /// Whether the filter uses bounds of uuids. The row groups of a file decide whether these are valid.
    fn asks_about_uuids(&self, request: &EntryRequest) -> bool {
        let ty = |id: &FieldId| self.input.schema.field(*id).and_then(|f| f.ty.as_primitive());
        request.metric_fields.iter().any(|id| ty(id) == Some(&PrimitiveType::Uuid))
    }

    fn batch_of(&self, file: &ManifestFile, found: &CachedManifest, request: &EntryRequest) -> Result<PlannedBatch> {
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let metrics = request.metric_fields.iter().flat_map(|id| METRICS.map(|kind| (kind, *id)));
        let to_judge = found.load(TO_JUDGE.map(|kind| (kind, 0)).into_iter().chain(metrics))?;
        let (entries, mut columns) = columns_to_judge(found, &to_judge, request)?;
        if file.content == ManifestContent::Data && columns.content.iter().any(|c| *c != FileContent::Data) {
            return Err(Error::corrupt("a data manifest lists a delete file"));
        }
        if self.asks_about_uuids(request) {
            let (more, rows) = (found.load(JUDGE_UUIDS.map(|kind| (kind, 0)))?, found.sections.rows);
            columns.format = formats(&more, rows, entries.as_deref())?;
            columns.split_offsets = lists(&more, SectionKind::SplitOffsets, rows, entries.as_deref())?;
        }
        if self.input.filter.field_ids().contains(&FILE) {
            let paths = found.load([(SectionKind::Path, 0)])?;
            columns.path = texts(&paths, (SectionKind::Path, 0), found.sections.rows, entries.as_deref())?;
        }
        let spec = self.specs.get(file.spec_id)?;
        let mut batch = PlannedBatch::of(KeptEntries { columns, ..KeptEntries::default() });
        batch.entries.columns.inherit(&inherited, found.layout.has_sequence_numbers);
        number_rows(file, &mut batch.entries.columns)?;
        // If the filter does not ask about tuples, they are not needed to check the rows.
        let tuples_matter = asks_about(spec, &self.input.filter) || file.content == ManifestContent::Deletes;
        let tuples = Tuples { judge: self, spec, found, file };
        batch.entries.groups = if tuples_matter { tuples.judged(|_| true)? } else { tuples.unjudged() };
        batch.entries.rows = survivors(&batch, &self.input.entries, &self.input.filter);
        let mut seen = std::mem::take(&mut batch.seen);
        count(&batch, &mut seen);
        batch.seen = seen;
        // Delete files are all counted by kind, so all of them stay.
        if file.content == ManifestContent::Data && batch.rows.len() < batch.columns.len() {
            batch.entries.columns = batch.columns.take(&batch.rows);
            let entries_of = |row: &u32| entries.as_ref().map_or(Some(*row), |e| e.get(*row as usize).copied());
            let survivors: Vec<u32> = batch.rows.iter().filter_map(entries_of).collect();
            batch.entries.rows = (0..survivors.len() as u32).collect();
            fill_in(found, &mut batch.entries.columns, Some(&survivors), request)?;
        } else {
            fill_in(found, &mut batch.entries.columns, entries.as_deref(), request)?;
        }
        batch.entries.columns.inherit(&inherited, found.layout.has_sequence_numbers);
        if !tuples_matter {
            let mut used = vec![false; found.sections.tuples];
            for index in &batch.columns.partition {
                if let Some(used) = used.get_mut(*index as usize) {
                    *used = true;
                }
            }
            batch.entries.groups = tuples.judged(|index| used.get(index).copied().unwrap_or_default())?;
        }
        Ok(batch)
    }
}

/// The partition tuples of a cached manifest.
struct Tuples<'t> {
    judge: &'t Judge,
    spec: &'t SpecContext,
    found: &'t CachedManifest,
    file: &'t ManifestFile,
}

impl Tuples<'_> {
    /// The groups of the wanted tuples.
    fn judged(&self, wanted: impl Fn(usize) -> bool) -> Result<Vec<Option<PartitionGroup>>> {
        let loaded = self.found.load([(SectionKind::Tuples, 0)])?;
        let tuples = texts(&loaded, (SectionKind::Tuples, 0), self.found.sections.tuples, None)?;
        let (judge, layout) = (self.judge, &self.found.layout);
        let group = |index: usize| -> Result<Option<PartitionGroup>> {
            let Some(raw) = tuples.get(index).filter(|_| wanted(index)) else { return Ok(None) };
            let tuple = layout.tuple(raw).with("path", &self.file.path)?;
            let schema = &judge.input.schema;
            let partition = partition_of(&self.spec.spec, schema, &layout.fields, &layout.types, &tuple);
            Ok(self.spec.group(partition, &judge.input.filter, self.file.content))
        };
        (0..self.found.sections.tuples).map(group).collect()
    }

    /// A group for every tuple, for callers that don't ask which tuple it is.
    fn unjudged(&self) -> Vec<Option<PartitionGroup>> {
        let partition = Arc::new(crate::format::task::Partition { spec_id: self.file.spec_id, values: Vec::new() });
        let group = PartitionGroup { partition, residual: self.judge.input.filter.clone() };
        vec![Some(group); self.found.sections.tuples]
    }
}

/// Whether the filter uses a partition column or excludes every tuple.
fn asks_about(spec: &SpecContext, filter: &BoundPredicate) -> bool {
    if *filter == BoundPredicate::False {
        return true;
    }
    let fields = filter.field_ids();
    if fields.iter().any(|id| *id == SPEC_ID || spec.members.contains(id)) {
        return true;
    }
    spec.spec.fields.iter().any(|f| f.transform != Transform::Void && fields.binary_search(&f.source_id).is_ok())
}

fn number_rows(file: &ManifestFile, columns: &mut EntryColumns) -> Result<()> {
    match file.first_row_id {
        Some(first) => assign_first_row_ids([columns], first),
        None => {
            clear_first_row_ids([columns]);
            Ok(())
        }
    }
}

fn ints(loaded: &LoadedSections<'_>, key: SectionKey, rows: usize, wanted: Option<&[u32]>) -> Result<Vec<Option<i64>>> {
    match loaded.get(key)? {
        Some(section) => section.optional(rows, wanted),
        None => Ok(vec![None; wanted.map_or(rows, <[u32]>::len)]),
    }
}

/// Integers, with a number for null.
fn longs(
    loaded: &LoadedSections<'_>,
    key: SectionKey,
    rows: usize,
    wanted: Option<&[u32]>,
    null: i64,
) -> Result<Vec<i64>> {
    let Some(section) = loaded.get(key)? else { return Ok(vec![null; wanted.map_or(rows, <[u32]>::len)]) };
    let all = section.longs(rows, null)?;
    Ok(match wanted {
        None => all,
        Some(wanted) => wanted.iter().map(|row| all.get(*row as usize).copied().unwrap_or(null)).collect(),
    })
}

fn texts(loaded: &LoadedSections<'_>, key: SectionKey, rows: usize, wanted: Option<&[u32]>) -> Result<BytesColumn> {
    if let Some(section) = loaded.get(key)? {
        return section.texts(rows, wanted);
    }
    let mut none = BytesColumn::default();
    let all_fit = (0..wanted.map_or(rows, <[u32]>::len)).all(|_| none.push(None));
    if all_fit { Ok(none) } else { Err(incomplete()) }
}

fn lists(loaded: &LoadedSections<'_>, kind: SectionKind, rows: usize, wanted: Option<&[u32]>) -> Result<ListColumn> {
    loaded.get((kind, 0))?.ok_or_else(incomplete)?.lists(rows, wanted)
}

fn incomplete() -> Error {
    Error::corrupt("a file of the plan cache lacks a column")
}

/// Integers. A null or a negative number is an error.
fn required(loaded: &LoadedSections<'_>, kind: SectionKind, rows: usize, wanted: Option<&[u32]>) -> Result<Vec<i64>> {
    let all = longs(loaded, (kind, 0), rows, wanted, -1)?;
    if all.iter().any(|v| *v < 0) { Err(incomplete()) } else { Ok(all) }
}

fn formats(loaded: &LoadedSections<'_>, rows: usize, wanted: Option<&[u32]>) -> Result<Vec<FileFormat>> {
    required(loaded, SectionKind::Format, rows, wanted)?.iter().map(|v| format_of(*v)).collect()
}

/// The columns that the filter needs of the live entries (or of all, if requested). Also says which entries these are,
/// if not all.
fn columns_to_judge(
    found: &CachedManifest,
    loaded: &LoadedSections<'_>,
    request: &EntryRequest,
) -> Result<(Option<Vec<u32>>, EntryColumns)> {
    let rows = found.sections.rows;
    let status: Vec<u8> = required(loaded, SectionKind::Status, rows, None)?.iter().map(|s| *s as u8).collect();
    let some_deleted = !request.deleted_too && status.contains(&DELETED);
    let live = |row: &u32| status.get(*row as usize) != Some(&DELETED);
    let entries: Option<Vec<u32>> = some_deleted.then(|| (0..rows as u32).filter(live).collect());
    let wanted = entries.as_deref();
    let content = required(loaded, SectionKind::Content, rows, wanted)?;
    let mut columns = EntryColumns {
        snapshot_id: ints(loaded, (SectionKind::SnapshotId, 0), rows, wanted)?,
        content: content.iter().map(|v| cached_content(*v)).collect::<Result<_>>()?,
        record_count: required(loaded, SectionKind::RecordCount, rows, wanted)?,
        size_bytes: required(loaded, SectionKind::SizeBytes, rows, wanted)?,
        partition: required(loaded, SectionKind::Partition, rows, wanted)?.iter().map(|v| *v as u32).collect(),
        equality_ids: lists(loaded, SectionKind::EqualityIds, rows, wanted)?,
        first_row_id: ints(loaded, (SectionKind::FirstRowId, 0), rows, wanted)?,
        status: match wanted {
            None => status,
            Some(wanted) => wanted.iter().filter_map(|row| status.get(*row as usize).copied()).collect(),
        },
        ..EntryColumns::default()
    };
    for id in &request.metric_fields {
        columns.metrics.push(MetricColumn {
            field_id: *id,
            value_count: longs(loaded, (SectionKind::ValueCount, *id), rows, wanted, MISSING)?,
            null_count: longs(loaded, (SectionKind::NullCount, *id), rows, wanted, MISSING)?,
            nan_count: longs(loaded, (SectionKind::NanCount, *id), rows, wanted, MISSING)?,
            lower: texts(loaded, (SectionKind::Lower, *id), rows, wanted)?,
            upper: texts(loaded, (SectionKind::Upper, *id), rows, wanted)?,
        });
    }
    Ok((entries, columns))
}

/// Reads the other columns of the kept entries.
fn fill_in(found: &CachedManifest, c: &mut EntryColumns, wanted: Option<&[u32]>, request: &EntryRequest) -> Result<()> {
    let rows = found.sections.rows;
    let encoded = request.encoded_metrics.then_some((SectionKind::EncodedMetrics, 0));
    let loaded = &found.load(TO_KEEP.map(|kind| (kind, 0)).into_iter().chain(encoded))?;
    let numbers = |kind| ints(loaded, (kind, 0), rows, wanted);
    let bytes = |kind| texts(loaded, (kind, 0), rows, wanted);
    c.sequence_number = numbers(SectionKind::SequenceNumber)?;
    c.file_sequence_number = numbers(SectionKind::FileSequenceNumber)?;
    c.path = bytes(SectionKind::Path)?;
    c.format = formats(loaded, rows, wanted)?;
    c.key_metadata = bytes(SectionKind::KeyMetadata)?;
    c.split_offsets = lists(loaded, SectionKind::SplitOffsets, rows, wanted)?;
    c.sort_order_id = numbers(SectionKind::SortOrderId)?.into_iter().map(|v| v.map(|v| v as i32)).collect();
    c.referenced_data_file = bytes(SectionKind::ReferencedDataFile)?;
    c.content_offset = numbers(SectionKind::ContentOffset)?;
    c.content_size_bytes = numbers(SectionKind::ContentSize)?;
    if request.encoded_metrics {
        c.encoded_metrics = bytes(SectionKind::EncodedMetrics)?;
        c.layout = Some(found.layout.clone());
    }
    Ok(())
}
