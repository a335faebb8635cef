//! A planned compaction: groups of files, and the result for one group.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, NewBucketFile, ReadContext, ScanTask};
use crate::paimon::plan::compact_plan::{BucketFiles, CompactStep, RowGroup};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::store::Unsynced;
use crate::types::options::Options;

/// The action on the files of a bucket.
pub(crate) struct KeyedWork {
    pub(crate) steps: Vec<CompactStep>,
    /// The level that files get.
    pub(crate) level: i32,
    /// Whether rows that delete others have nothing left to delete.
    pub(crate) drops_deletes: bool,
}

impl KeyedWork {
    /// The files to rewrite, and the number of other files that get another level.
    pub(crate) fn files(&self) -> (Vec<usize>, usize) {
        let (mut rewritten, mut upgraded) = (Vec::new(), 0);
        for step in &self.steps {
            match step {
                CompactStep::Rewrite(sections) => rewritten.extend(sections.iter().flatten().flatten().copied()),
                CompactStep::Upgrade(_) => upgraded += 1,
            }
        }
        (rewritten, upgraded)
    }
}

/// The result of compacting some files of a bucket.
#[derive(Debug, Default)]
pub(crate) struct CompactOutcome {
    /// Files to remove.
    pub(crate) removed: Vec<DataFile>,
    pub(crate) added: Vec<NewBucketFile>,
    /// Files that get another level.
    pub(crate) moved: Vec<(DataFile, i32)>,
    pub(crate) changelog: Vec<NewBucketFile>,
    /// Rows that are deleted from now on, by the paths of files that stay.
    pub(crate) deleted: HashMap<Arc<str>, PositionSet>,
}

/// Files of one bucket that are compacted together.
pub(crate) struct CompactGroup {
    /// The bucket's place among all.
    pub(crate) bucket: usize,
    pub(crate) work: CompactWork,
}

pub(crate) enum CompactWork {
    Keyed(KeyedWork),
    /// Places of files, the first rows first.
    Append(Vec<usize>),
    /// Groups of files with deleted rows, in tables whose columns are in several files.
    Deleted(Vec<RowGroup>),
}

/// One compaction, planned.
pub(crate) struct CompactJob {
    pub(crate) table: PaimonTable,
    pub(crate) schema: Arc<TableSchema>,
    /// The table's options, overridden by those of the compaction.
    pub(crate) options: BTreeMap<String, String>,
    /// Reads all columns, without a filter.
    pub(crate) context: Arc<ReadContext>,
    pub(crate) cache: DeleteCache,
    pub(crate) buckets: Vec<BucketFiles>,
    /// True for rows that have not expired.
    pub(crate) stays: Arc<BoundPredicate>,
    pub(crate) groups: Vec<CompactGroup>,
    /// Files that were completed.
    pub(crate) completed: Mutex<Vec<String>>,
    /// Syncs them, all together.
    pub(crate) unsynced: Arc<Unsynced>,
}

impl CompactJob {
    pub(crate) fn options(&self) -> Options<'_> {
        Options(&self.options)
    }
}

/// The tasks of some files of a bucket.
pub(crate) fn tasks_of(bucket: &BucketFiles, files: &[usize]) -> Vec<ScanTask> {
    files.iter().filter_map(|at| bucket.tasks.get(*at).cloned()).collect()
}
