//! Pruning of single manifests and files: by partition, bucket, level, key, statistics and embedded file index.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::bucket_filter::BucketFilter;
use super::input::{PaimonPlanInput, schema_of};
use super::planned::PaimonPlanCounters;
use super::rules::PlanRules;
use crate::codec::file_index::{FileIndex, IndexedType};
use crate::error::{Result, ResultExt};
use crate::expr::bounds::may_match;
use crate::expr::explain::explain;
use crate::expr::residual::residual;
use crate::expr::{BoundPredicate, Op};
use crate::format::task::Partition;
use crate::paimon::manifest::entries::{PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::EntryJudge;
use crate::paimon::spec::data_type::{DataType, TypeKind};
use crate::paimon::spec::partition::{PaimonPartitionBounds, partition_of};
use crate::paimon::spec::stats::{StatsBounds, StatsMapping, keeps_bounds};
use crate::types::FieldId;
use crate::types::options::Options;

/// Where planning decided about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PruneStage {
    /// The manifest list's statistics of partitions, or its ranges of buckets and levels, exclude its manifest.
    Manifest,
    /// Its partition excludes the filter.
    Partition,
    /// Rows that the filter asks for are in other buckets.
    Bucket,
    /// The scan does not see its level, or it was made too early.
    Level,
    /// Its least and greatest key exclude the filter.
    Keys,
    /// Its statistics, or those of all files of its bucket, exclude the filter.
    Values,
    /// A file index excludes the filter.
    FileIndex,
    /// Nothing excluded it.
    Kept,
}

impl PruneStage {
    /// As users see it.
    pub fn as_str(self) -> &'static str {
        match self {
            PruneStage::Manifest => "manifest ranges",
            PruneStage::Partition => "partitions",
            PruneStage::Bucket => "buckets",
            PruneStage::Level => "levels",
            PruneStage::Keys => "keys",
            PruneStage::Values => "column statistics",
            PruneStage::FileIndex => "file index",
            PruneStage::Kept => "kept",
        }
    }
}

/// A partition, and the rest of the filter for its files.
#[derive(Debug)]
pub(crate) struct PrunedPartition {
    pub partition: Arc<Partition>,
    /// The partition as a binary row, as in the manifest.
    pub row: Box<[u8]>,
    pub residual: Arc<BoundPredicate>,
    /// The part of it that is about keys alone.
    pub of_keys: Arc<BoundPredicate>,
    buckets: Option<Arc<BucketFilter>>,
}

/// The entries of a manifest that may matter.
#[derive(Debug, Default)]
pub(crate) struct JudgedEntries {
    pub columns: PaimonEntryColumns,
    /// Entries that were not left out at once, ascending. Their stage is [`PruneStage::Kept`], or the one that
    /// excludes them if the files of their bucket are judged one by one.
    pub rows: Vec<(u32, PruneStage)>,
    /// The numbers of dropped entries, by stage.
    dropped: HashMap<PruneStage, u64>,
}

impl JudgedEntries {
    /// Adds the counts.
    pub(crate) fn count(&self, counters: &mut PaimonPlanCounters) {
        let dropped = |stage| self.dropped.get(&stage).copied().unwrap_or_default();
        let hidden = dropped(PruneStage::Level);
        let in_buckets = self.rows.len() as u64 + self.dropped.values().sum::<u64>();
        counters.files_in_buckets += in_buckets;
        counters.files_hidden += hidden;
        let after_keys = in_buckets - hidden - dropped(PruneStage::Keys);
        counters.files_after_keys += after_keys;
        counters.files_after_values += after_keys - dropped(PruneStage::Values);
    }
}

/// Decides about the entries of a plan. Threads share one.
pub(crate) struct FilePruner<'p> {
    pub input: &'p PaimonPlanInput,
    pub rules: &'p PlanRules,
    partitions: StatsMapping,
    keys: Vec<FieldId>,
    /// The table's number of buckets; 0 if the filter does not determine the bucket.
    buckets: i32,
    /// The bucket filter of the whole filter, for groups with a partition that decides nothing.
    of_filter: Option<Arc<BucketFilter>>,
    groups: Mutex<PrunedPartitions>,
}

/// Judged partitions; `None` for one that the filter excludes.
type PrunedPartitions = HashMap<Box<[u8]>, Option<Arc<PrunedPartition>>>;

impl<'p> FilePruner<'p> {
    /// # Errors
    /// `InvalidInput` for invalid options.
    pub(crate) fn new(input: &'p PaimonPlanInput, rules: &'p PlanRules) -> Result<FilePruner<'p>> {
        let schema = input.schema.as_ref();
        let alike = input.schemas.values().all(|other| schema.has_same_buckets(other));
        // Rows of an earlier schema may be in buckets by keys of other types.
        let buckets = if alike { Options(&input.options).bucket()? } else { 0 };
        let of_filter = BucketFilter::new(schema, buckets, &input.filter)?.map(Arc::new);
        Ok(FilePruner {
            input,
            rules,
            partitions: StatsMapping::of_partitions(schema),
            keys: schema.key_fields().map(|f| f.id).collect(),
            buckets,
            of_filter,
            groups: Mutex::default(),
        })
    }

    /// The request for decoding entries.
    pub(crate) fn request(&self) -> PaimonEntryRequest<'static> {
        let filtered = *self.input.filter != BoundPredicate::True;
        PaimonEntryRequest {
            key_stats: filtered && self.rules.has_key,
            value_stats: filtered,
            ..PaimonEntryRequest::default()
        }
    }

    /// The manifests to open. Also adds to the counts.
    ///
    /// # Errors
    /// `CorruptTable` for statistics that can't be read.
    pub(crate) fn manifests(
        &self,
        listed: Vec<PaimonManifestFile>,
        counters: &mut PaimonPlanCounters,
    ) -> Result<Vec<PaimonManifestFile>> {
        let live = listed.iter().map(|m| m.added_files.saturating_sub(m.deleted_files)).fold(0, i64::saturating_add);
        counters.files_listed = counters.files_listed.saturating_add(live.max(0).unsigned_abs());
        listed.iter().for_each(|m| counters.manifests.add(m.file_size));
        let mut kept = Vec::with_capacity(listed.len());
        for manifest in listed {
            if self.why_no_manifest(&manifest).with("manifest", &manifest.file_name)?.is_none() {
                counters.manifests_kept.add(manifest.file_size);
                kept.push(manifest);
            }
        }
        Ok(kept)
    }

    /// Why a manifest need not be opened, judged by its entry in the list.
    ///
    /// # Errors
    /// `CorruptTable` for statistics that can't be read.
    pub(crate) fn why_no_manifest(&self, manifest: &PaimonManifestFile) -> Result<Option<String>> {
        if self.rules.real_buckets && manifest.buckets.is_some_and(|(_, greatest)| greatest < 0) {
            return Ok(Some("its rows have no bucket yet".to_owned()));
        }
        if self.rules.hides_level_0 && manifest.levels.is_some_and(|(_, greatest)| greatest <= 0) {
            return Ok(Some("its files are of level 0, which is not seen before compaction".to_owned()));
        }
        let entries = manifest.added_files.saturating_add(manifest.deleted_files);
        let bounds = StatsBounds::new(&self.partitions, manifest.partition_stats.as_ref(), entries)?;
        Ok(explain(&self.input.filter, &bounds))
    }

    /// Whether files of this partition and bucket matter. An unreadable partition does. Its error comes later.
    pub(crate) fn keeps(&self, partition: &[u8], bucket: i32, total_buckets: i32) -> bool {
        let Ok(group) = self.group(partition) else { return true };
        group.is_some_and(|g| self.why_no_bucket(&g, bucket, total_buckets).is_none())
    }

    /// Why no row of a bucket matters.
    pub(crate) fn why_no_bucket(
        &self,
        group: &PrunedPartition,
        bucket: i32,
        total_buckets: i32,
    ) -> Option<&'static str> {
        if self.rules.real_buckets && bucket < 0 {
            return Some("its rows have no bucket yet");
        }
        let allowed = group.buckets.as_ref().is_none_or(|filter| filter.allows(bucket, total_buckets));
        (!allowed).then_some("rows with the keys that the filter allows are in other buckets")
    }

    /// The rest of the filter for a partition's files; `None` if it excludes them.
    ///
    /// # Errors
    /// `CorruptTable` if the partition can't be read.
    pub(crate) fn group(&self, row: &[u8]) -> Result<Option<Arc<PrunedPartition>>> {
        let known = self.groups.lock().unwrap_or_else(PoisonError::into_inner).get(row).cloned();
        if let Some(group) = known {
            return Ok(group);
        }
        let group = self.new_group(row)?.map(Arc::new);
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).insert(row.into(), group.clone());
        Ok(group)
    }

    fn new_group(&self, row: &[u8]) -> Result<Option<PrunedPartition>> {
        let partition = partition_of(&self.input.schema, row)?;
        let left = residual(&self.input.filter, &PaimonPartitionBounds(&partition));
        if left == BoundPredicate::False {
            return Ok(None);
        }
        let same = left == *self.input.filter;
        let buckets = match same {
            true => self.of_filter.clone(),
            false => BucketFilter::new(&self.input.schema, self.buckets, &left)?.map(Arc::new),
        };
        Ok(Some(PrunedPartition {
            partition: Arc::new(partition),
            row: row.into(),
            of_keys: Arc::new(left.clauses_of(&self.keys)),
            residual: if same { self.input.filter.clone() } else { Arc::new(left) },
            buckets,
        }))
    }

    /// The stage that decides about an entry of a kept partition and bucket, if it is judged alone.
    ///
    /// # Errors
    /// As `FilePruner::judge`.
    pub(crate) fn stage(
        &self,
        columns: &PaimonEntryColumns,
        row: usize,
        mappings: &mut Mappings,
    ) -> Result<PruneStage> {
        if self.why_hidden(columns, row).is_some() {
            return Ok(PruneStage::Level);
        }
        let Some(group) = mappings.group(self, columns, row)? else { return Ok(PruneStage::Partition) };
        if *group.residual == BoundPredicate::True {
            return Ok(PruneStage::Kept);
        }
        if self.rules.has_key && *group.of_keys != BoundPredicate::True {
            let keys = mappings.keys(self.input, columns, row)?;
            if !may_match(&group.of_keys, &bounds_of_keys(&keys, columns, row)?) {
                return Ok(PruneStage::Keys);
            }
        }
        if !self.rules.values_by_file && !self.rules.values_by_bucket {
            return Ok(PruneStage::Kept);
        }
        let values = mappings.values(self.input, columns, row)?;
        if !may_match(&group.residual, &bounds_of_values(&values, columns, row, &group.residual)?) {
            return Ok(PruneStage::Values);
        }
        match columns.embedded_index.get(row).filter(|_| self.rules.file_index) {
            Some(index) if !index_may_match(self.input, columns.schema_id.get(row), index, &group.residual)? => {
                Ok(PruneStage::FileIndex)
            }
            _ => Ok(PruneStage::Kept),
        }
    }

    /// Why the scan does not see a file, regardless of its rows.
    pub(crate) fn why_hidden(&self, columns: &PaimonEntryColumns, row: usize) -> Option<&'static str> {
        if self.rules.hides_level_0 && columns.level.get(row) == Some(&0) {
            return Some("files of level 0 are not seen before compaction");
        }
        let created_ms = columns.creation_time_ms.get(row).copied().flatten();
        match (self.input.files_since_ms, created_ms) {
            (Some(since), Some(created_ms)) if created_ms < since => Some("it was created before the requested time"),
            _ => None,
        }
    }

    /// The clause that a stage excluded a file by, and the bound.
    ///
    /// # Errors
    /// As `FilePruner::judge`.
    pub(crate) fn why(&self, columns: &PaimonEntryColumns, row: usize, stage: PruneStage) -> Result<Option<String>> {
        let mut mappings = Mappings::default();
        let Some(group) = self.group(columns.partition_row(row))? else { return Ok(None) };
        Ok(match stage {
            PruneStage::Level => self.why_hidden(columns, row).map(str::to_owned),
            PruneStage::Keys => {
                let keys = mappings.keys(self.input, columns, row)?;
                explain(&group.of_keys, &bounds_of_keys(&keys, columns, row)?)
            }
            PruneStage::Values => {
                let values = mappings.values(self.input, columns, row)?;
                explain(&group.residual, &bounds_of_values(&values, columns, row, &group.residual)?)
            }
            PruneStage::FileIndex => Some("its file index has no row that may match".to_owned()),
            _ => None,
        })
    }
}

/// Judges the entries of one batch, one after the other.
pub(crate) struct BatchJudge<'p> {
    pruner: &'p FilePruner<'p>,
    mappings: Mappings,
    judged: JudgedEntries,
}

impl<'p> BatchJudge<'p> {
    /// A judge that has judged nothing yet.
    pub(crate) fn new(pruner: &'p FilePruner<'p>) -> BatchJudge<'p> {
        BatchJudge { pruner, mappings: Mappings::default(), judged: JudgedEntries::default() }
    }
}

impl EntryJudge for BatchJudge<'_> {
    type Out = JudgedEntries;

    /// # Errors
    /// `CorruptTable` for statistics, partitions and indexes that can't be read, or for a missing schema.
    fn wants(&mut self, columns: &PaimonEntryColumns, row: usize) -> Result<bool> {
        let stage = self.pruner.stage(columns, row, &mut self.mappings)?;
        let stays = match stage {
            PruneStage::Kept => true,
            PruneStage::Values | PruneStage::FileIndex => !self.pruner.rules.values_by_file,
            _ => false,
        };
        if stays {
            self.judged.rows.push((row as u32, stage));
        } else {
            *self.judged.dropped.entry(stage).or_default() += 1;
        }
        Ok(stays)
    }

    fn end(mut self, columns: PaimonEntryColumns) -> JudgedEntries {
        self.judged.columns = columns;
        self.judged
    }
}

/// The places of columns in statistics, for the entries of one batch. Values that consecutive entries mostly share
/// are kept.
#[derive(Default)]
pub(crate) struct Mappings {
    group: Option<(u32, Option<Arc<PrunedPartition>>)>,
    keys: HashMap<i64, Arc<StatsMapping>>,
    values: HashMap<ValuesKey, Arc<StatsMapping>>,
    last_values: Option<(ValuesKey, Arc<StatsMapping>)>,
}

/// A schema, and lists of names of the batch.
type ValuesKey = (i64, u32, u32);

impl Mappings {
    /// As [`FilePruner::group`].
    fn group(
        &mut self,
        pruner: &FilePruner<'_>,
        columns: &PaimonEntryColumns,
        row: usize,
    ) -> Result<Option<Arc<PrunedPartition>>> {
        let index = columns.partition.get(row).copied().unwrap_or(u32::MAX);
        if let Some((known, group)) = &self.group
            && *known == index
        {
            return Ok(group.clone());
        }
        let group = pruner.group(columns.partition_row(row))?;
        self.group = Some((index, group.clone()));
        Ok(group)
    }

    /// Where the statistics of an entry's key have the columns of a scan.
    ///
    /// # Errors
    /// `CorruptTable` if the file's schema is missing.
    pub(crate) fn keys(
        &mut self,
        input: &PaimonPlanInput,
        columns: &PaimonEntryColumns,
        row: usize,
    ) -> Result<Arc<StatsMapping>> {
        let file = schema_of(input, columns.schema_id.get(row))?;
        let make = || Arc::new(StatsMapping::of_keys(&input.schema, file));
        Ok(self.keys.entry(file.id).or_insert_with(make).clone())
    }

    /// Where the statistics of an entry's file have the columns of a scan. The entries must all be of one batch.
    ///
    /// # Errors
    /// `CorruptTable` if the file's schema is missing.
    pub(crate) fn values(
        &mut self,
        input: &PaimonPlanInput,
        columns: &PaimonEntryColumns,
        row: usize,
    ) -> Result<Arc<StatsMapping>> {
        let file = schema_of(input, columns.schema_id.get(row))?;
        let list = |column: &[u32]| column.get(row).copied().unwrap_or(u32::MAX);
        let key = (file.id, list(&columns.value_stats_cols), list(&columns.write_cols));
        if let Some((known, mapping)) = &self.last_values
            && *known == key
        {
            return Ok(mapping.clone());
        }
        let make = || {
            let (stats, written) = (columns.value_stats_cols_of(row), columns.write_cols_of(row));
            let (stats, written) = (stats.map(|names| &names[..]), written.map(|names| &names[..]));
            Arc::new(StatsMapping::of_values(&input.schema, file, stats, written))
        };
        let mapping = self.values.entry(key).or_insert_with(make).clone();
        self.last_values = Some((key, mapping.clone()));
        Ok(mapping)
    }
}

/// The statistics of an entry's key.
///
/// # Errors
/// `CorruptTable` if they can't be read.
pub(crate) fn bounds_of_keys<'a>(
    mapping: &'a StatsMapping,
    columns: &'a PaimonEntryColumns,
    row: usize,
) -> Result<StatsBounds<'a>> {
    StatsBounds::new(mapping, columns.key_stats.get(row), columns.row_count.get(row).copied().unwrap_or_default())
}

/// The statistics of an entry's file, for `filter` to test.
///
/// # Errors
/// `CorruptTable` if they can't be read.
pub(crate) fn bounds_of_values<'a>(
    mapping: &'a StatsMapping,
    columns: &'a PaimonEntryColumns,
    row: usize,
    filter: &BoundPredicate,
) -> Result<StatsBounds<'a>> {
    let rows = columns.row_count.get(row).copied().unwrap_or_default();
    let mut hides_nans = filter.has_tests();
    if columns.file_name.get(row).is_some_and(|name| name.ends_with(b".orc")) {
        filter.for_each_leaf(&mut |leaf| hides_nans |= matches!(leaf.op, Op::IsNan | Op::NotNan));
    }
    Ok(StatsBounds::new(mapping, columns.value_stats.get(row), rows)?.hiding_nans(hides_nans))
}

/// Whether a file index lets some row match.
///
/// # Errors
/// `CorruptTable` if it is damaged, or if the file's schema is missing. An index of a later version may let all match.
pub(crate) fn index_may_match(
    input: &PaimonPlanInput,
    schema_id: Option<&i64>,
    index: &[u8],
    filter: &BoundPredicate,
) -> Result<bool> {
    use crate::error::ErrorKind::Unsupported;
    let file = schema_of(input, schema_id)?;
    let column = |id: FieldId| {
        let (then, now) = (file.field_by_id(id)?, input.schema.field_by_id(id)?);
        Some((then.name.as_str(), indexed_type(&then.ty)?)).filter(|_| keeps_bounds(&then.ty, &now.ty))
    };
    match FileIndex::parse(index).and_then(|index| index.may_match(filter, &column)) {
        Err(e) if e.kind() == Unsupported => Ok(true),
        answer => answer,
    }
}

/// The stored type in the indexes of a column; `None` for types without indexes.
pub(crate) fn indexed_type(ty: &DataType) -> Option<IndexedType> {
    Some(match ty.kind {
        TypeKind::Boolean => IndexedType::Boolean,
        TypeKind::TinyInt => IndexedType::TinyInt,
        TypeKind::SmallInt => IndexedType::SmallInt,
        TypeKind::Int => IndexedType::Int,
        TypeKind::BigInt => IndexedType::BigInt,
        TypeKind::Float => IndexedType::Float,
        TypeKind::Double => IndexedType::Double,
        TypeKind::Date => IndexedType::Date,
        TypeKind::Time(_) => IndexedType::Time,
        TypeKind::Decimal { precision, .. } => IndexedType::Decimal { precision: u32::from(precision) },
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => IndexedType::Timestamp { precision: u32::from(p) },
        TypeKind::Char(_) | TypeKind::VarChar(_) => IndexedType::Text,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => IndexedType::Bytes,
        _ => return None,
    })
}
