//! What to plan: the table, its version, the filter, and which entries of the manifests count.

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
    /// Which entries count.
    pub entries: EntryScope,
    /// Columns whose metrics the batches keep, in addition to the filter's.
    pub metric_fields: Vec<FieldId>,
    /// How many bytes of manifests may be read; what would read more is refused before it opens one.
    pub budget: Arc<ReadBudget>,
    /// Whether files get their column metrics (still encoded).
    pub column_metrics: bool,
    /// Whether files get the deletes of all their rows, not of those alone that the filter may keep: for who writes files
    /// anew, rows that the filter does not keep too.
    pub all_deletes: bool,
    /// Where decoded manifests are kept.
    pub cache: Option<Arc<PlanCache>>,
}

/// Which entries of the manifests are planned.
#[derive(Clone, Debug, Default)]
pub enum EntryScope {
    /// Files that the snapshot has.
    #[default]
    Live,
    /// Files that one of these snapshots added (status ADDED).
    AddedBy(Arc<HashSet<i64>>),
    /// Files that one of these snapshots removed (status DELETED).
    RemovedBy(Arc<HashSet<i64>>),
    /// In the manifests of this snapshot: the files that were there before it.
    Before(i64),
    /// In the manifests of this snapshot: the files that were there before it and still are.
    KeptBy(i64),
}

impl EntryScope {
    /// Whether a manifest can have such entries, by its counts. Absent counts mean that there may be any.
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

    /// How many such entries a manifest has at most, by its counts of entries added, existing and deleted.
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

/// The columns whose metrics planning or its caller needs, ascending. Those of metadata columns prove nothing: where a file
/// stores null in one, the row has an inherited value.
pub(crate) fn metric_fields(input: &PlanInput) -> Vec<FieldId> {
    let mut ids = input.filter.field_ids();
    ids.extend(&input.metric_fields);
    ids.retain(|id| !is_metadata(*id));
    ids.sort_unstable();
    ids.dedup();
    ids
}
