//! The input of planning: the table, its version, the filter, and the entries to plan.

use std::collections::HashSet;
use std::sync::Arc;

use crate::expr::BoundPredicate;
use crate::iceberg::manifest::entries::{ADDED, DELETED};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::read_budget::ReadBudget;
use crate::iceberg::plan::plan_cache::cache::PlanCache;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{Location, Store};
use crate::types::metadata_columns::is_metadata;
use crate::types::{FieldId, Schema};

/// The input of a plan.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// The store of the files.
    pub store: Arc<dyn Store>,
    /// Translates recorded paths to real ones.
    pub location: Location,
    /// The table.
    pub metadata: Arc<TableMetadata>,
    /// The version; `None` for an empty table.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The schema that the filter is bound to.
    pub schema: Arc<Schema>,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
    /// The entries to plan.
    pub entries: EntryScope,
    /// Columns with metrics that the batches keep, in addition to those of the filter.
    pub metric_fields: Vec<FieldId>,
    /// The limit on bytes of manifests to read. A plan that would exceed it fails before it opens a manifest.
    pub budget: Arc<ReadBudget>,
    /// Whether files get their column metrics, still encoded.
    pub column_metrics: bool,
    /// Whether files get the deletes of all their rows. Otherwise they get only the deletes of rows that the filter may
    /// keep. A caller that rewrites files needs all, because it also writes rows that the filter excludes.
    pub all_deletes: bool,
    /// The cache of decoded manifests.
    pub cache: Option<Arc<PlanCache>>,
}

/// The manifest entries to plan.
#[derive(Clone, Debug, Default)]
pub enum EntryScope {
    /// Files of the snapshot.
    #[default]
    Live,
    /// Files that one of these snapshots added (status ADDED).
    AddedBy(Arc<HashSet<i64>>),
    /// Files that one of these snapshots removed (status DELETED).
    RemovedBy(Arc<HashSet<i64>>),
    /// In the manifests of this snapshot: the files of the table before it.
    Before(i64),
    /// In the manifests of this snapshot: the files of the table before it that it kept.
    KeptBy(i64),
}

impl EntryScope {
    /// Whether a manifest can have such entries, by its counts. A missing count means that it can.
    pub(crate) fn may_be_in(&self, m: &ManifestFile) -> bool {
        let some = |count: Option<i64>| count != Some(0);
        let (added, existing) = (some(m.added_files_count), some(m.existing_files_count));
        match self {
            EntryScope::Live | EntryScope::KeptBy(_) => added || existing,
            EntryScope::AddedBy(_) => added,
            EntryScope::RemovedBy(_) => some(m.deleted_files_count),
            EntryScope::Before(_) => added || existing || some(m.deleted_files_count),
        }
    }

    /// The largest possible number of such entries in a manifest, by its counts of added, existing and deleted entries.
    pub(crate) fn count(&self, added: Option<i64>, existing: Option<i64>, deleted: Option<i64>) -> Option<u64> {
        let counts: &[Option<i64>] = match self {
            EntryScope::Live | EntryScope::KeptBy(_) => &[added, existing],
            EntryScope::AddedBy(_) => &[added],
            EntryScope::RemovedBy(_) => &[deleted],
            EntryScope::Before(_) => &[added, existing, deleted],
        };
        counts.iter().try_fold(0u64, |sum, n| Some(sum.saturating_add((*n)?.max(0).unsigned_abs())))
    }

    pub(crate) fn holds(&self, status: u8, snapshot_id: Option<i64>) -> bool {
        let by = |set: &HashSet<i64>| snapshot_id.is_some_and(|id| set.contains(&id));
        match self {
            EntryScope::Live => true,
            EntryScope::AddedBy(set) => status == ADDED && by(set),
            EntryScope::RemovedBy(set) => status == DELETED && by(set),
            EntryScope::Before(id) if snapshot_id == Some(*id) => status != ADDED,
            EntryScope::KeptBy(id) if snapshot_id == Some(*id) => status != ADDED && status != DELETED,
            EntryScope::Before(_) | EntryScope::KeptBy(_) => status != DELETED,
        }
    }
}

/// The columns with metrics that planning or its caller needs, ascending. Metrics of metadata columns prove nothing: a
/// null in such a column means that the row has an inherited value.
pub(crate) fn metric_fields(input: &PlanInput) -> Vec<FieldId> {
    let mut ids = input.filter.field_ids();
    ids.extend(&input.metric_fields);
    ids.retain(|id| !is_metadata(*id));
    ids.sort_unstable();
    ids.dedup();
    ids
}
