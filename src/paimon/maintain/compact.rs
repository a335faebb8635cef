//! Compaction of tables of Apache Paimon: files are written anew in fewer and larger ones, rows stay what they are.
//!
//! [`PaimonTable::compact`] lists the files of all buckets that are asked for (`paimon::compact_plan`), picks those that are
//! compacted (`paimon::compact_pick` for tables with a primary key, [`append`] for others), has each bucket's rows merged
//! ([`keyed`], by `data::merge_compact`) and written (`paimon_write::bucket_writer`), and commits all in one snapshot of kind `COMPACT`. Files that were removed meanwhile make it a conflict;
//! files that were added do not.
//!
//! Memory holds a batch of each file that is merged with others, and the rows in progress of a file, once for each thread.
//!
//! Source: Java's `MergeTreeCompactManager`, `BucketedAppendCompactManager`, `AppendCompactCoordinator`.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::error::{Error, Result, ResultExt};
use crate::expr::bind::bind;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::commit::now_ms;
use crate::format::request::ScanRequest;
use crate::format::task::{DataFile, PaimonNewFile, ReadContext, ScanTask};
use crate::paimon::commit::producer::{Changes, Commit};
pub(crate) use crate::paimon::maintain::compact_json::compact;
use crate::paimon::plan::compact_plan::{BucketFiles, bucket_files};
use crate::paimon::plan::record_expiry::RecordExpiry;
use crate::paimon::rows::vectors;
use crate::paimon::spec::data_type::TypeKind;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::bucket_writer::BucketPlace;
use crate::parallel::{Cancellation, in_parallel, threads};
use crate::types::Schema;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};
use crate::types::options::Options;

/// How to compact.
#[derive(Clone, Debug, Default)]
pub struct PaimonCompaction {
    /// Which partitions: those that have rows that it keeps. It asks for partition columns alone.
    pub filter: Option<Predicate>,
    /// Whether only what is picked by size is compacted, and not all files.
    pub minor: bool,
    /// Options in the place of those of the table.
    pub options: BTreeMap<String, String>,
    /// Only tell what would be compacted.
    pub dry_run: bool,
    /// Where the commit goes, and what its snapshot says.
    pub commit: CommitOptions,
}

/// What was compacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaimonCompacted {
    /// Groups of files that were compacted together.
    pub groups: usize,
    /// Files whose rows are in others now; after a dry run, those that would be written anew.
    pub rewritten_files: usize,
    /// Their size.
    pub rewritten_bytes: u64,
    /// Files that hold the rows.
    pub added_files: usize,
    /// Their size.
    pub added_bytes: u64,
    /// Files that got another level as they are.
    pub upgraded_files: usize,
    /// Files that tell what changed.
    pub changelog_files: usize,
    /// Commits made.
    pub commits: usize,
}

/// What compacting some files of a bucket comes to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Files that go.
    pub(crate) removed: Vec<DataFile>,
    pub(crate) added: Vec<PaimonNewFile>,
    /// Files that get another level.
    pub(crate) moved: Vec<(DataFile, i32)>,
    pub(crate) changelog: Vec<PaimonNewFile>,
    /// Rows that are deleted from now on, by the paths of files that stay.
    pub(crate) deleted: HashMap<Arc<str>, PositionSet>,
}

/// Files of one bucket that are compacted together.
pub(crate) struct Group {
    /// The bucket's place among all.
    pub(crate) bucket: usize,
    pub(crate) work: Work,
}

pub(crate) enum Work {
    Keyed(crate::paimon::maintain::compact_keyed::KeyedWork),
    /// Places of files, the first rows first.
    Append(Vec<usize>),
}

/// One compaction, planned.
pub(crate) struct Job {
    pub(crate) table: PaimonTable,
    pub(crate) schema: Arc<TableSchema>,
    /// The table's options, overridden by those of the compaction.
    pub(crate) options: BTreeMap<String, String>,
    /// Reads all columns, without a filter.
    pub(crate) context: Arc<ReadContext>,
    pub(crate) cache: DeleteCache,
    pub(crate) buckets: Vec<BucketFiles>,
    /// True of rows that are not over.
    pub(crate) stays: Arc<BoundPredicate>,
    groups: Vec<Group>,
    /// Files that were completed.
    completed: Mutex<Vec<String>>,
}

impl PaimonTable {
    /// Compacts files of a branch, in one commit. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that asks for more than partition columns, or options that can't be read; `Unsupported` for
    /// tables that are not compacted here; `CommitConflict` if another commit removed one of the files;
    /// `CommitStateUnknown` if it can't be told whether the commit happened; the store's; what `go_on` gives. What was
    /// written for a compaction that failed is removed.
    pub fn compact(
        &self,
        compaction: &PaimonCompaction,
        go_on: Cancellation,
    ) -> Result<(PaimonTable, PaimonCompacted)> {
        let table = match compaction.commit.branch.as_deref() {
            Some(name) if name != self.folder().branch_name() => self.branch(name)?,
            _ => self.refresh()?,
        };
        if !crate::paimon::maintain::compact_postponed::waits(&table.table_schema().options())? {
            return self.compact_buckets(table, compaction, go_on);
        }
        check_compacted(table.table_schema(), &table.table_schema().options()).with("table", table.location())?;
        let (table, placed) = crate::paimon::maintain::compact_postponed::place_waiting(table, compaction, go_on)?;
        let (table, compacted) = self.compact_buckets(table, compaction, go_on)?;
        Ok((table, crate::paimon::maintain::compact_postponed::both(&placed, &compacted)))
    }

    /// Compacts the buckets of this table as it is on a branch.
    fn compact_buckets(
        &self,
        table: PaimonTable,
        compaction: &PaimonCompaction,
        go_on: Cancellation,
    ) -> Result<(PaimonTable, PaimonCompacted)> {
        let job = Job::plan(table, compaction)?;
        let mut done = job.counted();
        if compaction.dry_run || job.groups.is_empty() {
            return Ok((self.refresh()?, done));
        }
        let changes = job.run(go_on).and_then(|outcomes| job.changes(outcomes, go_on));
        let changes = changes.and_then(|changes| go_on().map(|()| changes));
        let changes = changes.inspect_err(|_| job.clean_up())?;
        if changes.is_empty() {
            return Ok((self.refresh()?, PaimonCompacted::default()));
        }
        done.count(&changes);
        let mut commit = Commit::new(job.table.folder(), changes).compacting().owning_files();
        if !compaction.commit.snapshot_properties.is_empty() {
            commit = commit.with_properties(compaction.commit.snapshot_properties.clone());
        }
        commit.run().into_result()?;
        done.commits = 1;
        Ok((self.after_commit()?, done))
    }
}

impl PaimonCompacted {
    pub(crate) fn count(&mut self, changes: &Changes) {
        let bytes = |sizes: &mut dyn Iterator<Item = i64>| {
            sizes.map(|n| u64::try_from(n).unwrap_or(0)).fold(0, u64::saturating_add)
        };
        self.rewritten_files = changes.removed.len();
        self.rewritten_bytes = bytes(&mut changes.removed.iter().map(|f| f.size_bytes));
        self.added_files = changes.added.len();
        self.added_bytes = bytes(&mut changes.added.iter().map(|f| f.file.size_bytes));
        self.upgraded_files = changes.moved.len();
        self.changelog_files = changes.changelog.len();
    }
}

/// What the options begin with that a compaction may have of its own: they say which files are compacted, and how they are
/// written, and nothing of what rows mean.
const OWN_OPTIONS: [&str; 14] = [
    "avro.",
    "changelog-file.",
    "changelog-producer.row-deduplicate",
    "compaction.",
    "file-index.",
    "file.",
    "lookup-compact",
    "metadata.stats-",
    "num-levels",
    "num-sorted-run.",
    "orc.",
    "parquet.",
    "source.split.open-file-cost",
    "target-file-size",
];

/// The options of a table, overridden by those of a compaction.
pub(crate) fn merged(table: &PaimonTable, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let is_own = |key: &str| OWN_OPTIONS.iter().any(|start| key.starts_with(start));
    if let Some(other) = given.keys().find(|key| !is_own(key)) {
        return Err(Error::invalid(format!("a compaction has no option '{other}'"))
            .with("table", table.location())
            .hint(format!("There are those that begin with {}", OWN_OPTIONS.join(", "))));
    }
    let mut options = table.table_schema().options.clone();
    options.extend(given.iter().map(|(k, v)| (k.clone(), v.clone())));
    Ok(options)
}

/// Refuses tables that are not compacted here.
fn check_compacted(schema: &TableSchema, options: &Options<'_>) -> Result<()> {
    let no = |what: &str, hint: &str| Err(Error::unsupported(format!("{what} are not compacted yet")).hint(hint));
    let java = "Java Paimon's compaction job does it";
    let flag = |key| options.boolean(key, false);
    if flag("pk-clustering-override")? || options.get("clustering.columns").is_some_and(|c| !c.trim().is_empty()) {
        return no("clustered tables", java);
    }
    if !schema.has_primary_key() && options.data_evolution()? {
        return no("tables whose columns are in several files ('data-evolution.enabled')", java);
    }
    if schema.fields.iter().any(|f| f.ty.kind == TypeKind::Blob) {
        return no("tables with columns of type BLOB", java);
    }
    if options.get("data-file.external-paths").is_some_and(|p| !p.trim().is_empty()) {
        return no("tables with files outside of the table", java);
    }
    Ok(())
}

/// The columns, and behind them the ids of rows and the commits that changed them last.
fn with_ids(columns: &Schema) -> Arc<Schema> {
    let ids = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column);
    let fields = columns.fields.iter().cloned().chain(ids).collect::<Vec<_>>();
    Arc::new(Schema::new(columns.id, fields, Vec::new()))
}

/// The filter, bound to partition columns.
pub(crate) fn partition_filter(table: &PaimonTable, filter: Option<&Predicate>) -> Result<BoundPredicate> {
    let Some(filter) = filter else { return Ok(BoundPredicate::True) };
    let bound = bind(filter, table.schema(), true)?;
    let schema = table.table_schema();
    let of_partition = |id: &i32| schema.partition_fields().any(|f| f.id == *id);
    match bound.field_ids().into_iter().find(|id| !of_partition(id)) {
        None => Ok(bound),
        Some(other) => {
            let name = table.schema().name_of(other).unwrap_or_default().to_owned();
            Err(Error::invalid("partitions are compacted as a whole, so the filter asks for partition columns alone")
                .with("column", name)
                .with("table", table.location()))
        }
    }
}

impl Job {
    fn plan(table: PaimonTable, compaction: &PaimonCompaction) -> Result<Job> {
        let schema = table.table_schema().clone();
        let options = merged(&table, &compaction.options)?;
        check_compacted(&schema, &Options(&options)).map_err(|e| e.with("table", table.location()))?;
        let filter = partition_filter(&table, compaction.filter.as_ref())?;
        let context = table.scan_newest(ScanRequest::default())?.context().clone();
        let paimon = context.paimon.as_deref().cloned();
        let paimon = paimon.map(|p| Arc::new(crate::format::task::PaimonContext { options: options.clone(), ..p }));
        let projection = match !schema.has_primary_key() && Options(&options).row_tracking()? {
            true => with_ids(schema.columns()),
            false => schema.columns().clone(),
        };
        let context = Arc::new(ReadContext { projection, paimon, ..context.as_ref().clone() });
        let expiry = match schema.has_primary_key() {
            true => RecordExpiry::new(&schema, &Options(&options), now_ms())?,
            false => None,
        };
        let buckets = crate::paimon::maintain::compact_postponed::placed(bucket_files(
            table.metadata(),
            &schema,
            &filter,
            expiry.as_ref(),
        )?);
        let stays = Arc::new(expiry.map_or(BoundPredicate::True, |expiry| expiry.stays()));
        let (cache, completed) = (DeleteCache::default(), Mutex::default());
        let mut job = Job { table, schema, options, context, cache, buckets, stays, groups: Vec::new(), completed };
        job.groups = match job.schema.has_primary_key() {
            true => job.keyed_groups(compaction.minor)?,
            false => job.append_groups(compaction.minor)?,
        };
        Ok(job)
    }

    pub(crate) fn options(&self) -> Options<'_> {
        Options(&self.options)
    }

    /// What would be compacted.
    fn counted(&self) -> PaimonCompacted {
        let mut done = PaimonCompacted { groups: self.groups.len(), ..PaimonCompacted::default() };
        for group in &self.groups {
            let Some(bucket) = self.buckets.get(group.bucket) else { continue };
            let (rewritten, upgraded) = match &group.work {
                Work::Keyed(work) => work.files(),
                Work::Append(files) => (files.clone(), 0),
            };
            done.upgraded_files += upgraded;
            done.rewritten_files += rewritten.len();
            let sizes = rewritten.iter().filter_map(|at| bucket.files.get(*at)).map(|f| f.file_size);
            let bytes = sizes.map(|n| u64::try_from(n).unwrap_or(0)).fold(0, u64::saturating_add);
            done.rewritten_bytes = done.rewritten_bytes.saturating_add(bytes);
        }
        done
    }

    /// Compacts the groups, as many at a time as there are threads.
    fn run(&self, go_on: Cancellation) -> Result<Vec<Outcome>> {
        let outcomes = Mutex::new(Vec::with_capacity(self.groups.len()));
        let next = AtomicUsize::new(0);
        in_parallel(threads(self.groups.len()), |_| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = self.groups.get(number) else { return Ok(()) };
                let outcome = self.compact(group, go_on)?;
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
            }
        })?;
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by_key(|(number, _)| *number);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn compact(&self, group: &Group, go_on: Cancellation) -> Result<Outcome> {
        let bucket = self.buckets.get(group.bucket);
        let bucket = bucket.ok_or_else(|| Error::internal("a group is of no bucket"))?;
        let place = BucketPlace {
            store: self.table.folder().store().clone(),
            root: self.table.location(),
            schema: &self.schema,
            options: &self.options,
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            total_buckets: bucket.total_buckets,
            completed: &self.completed,
        };
        match &group.work {
            Work::Keyed(work) => self.compact_keyed(bucket, &place, work, go_on),
            Work::Append(files) => self.compact_append(bucket, &place, files, go_on),
        }
    }

    fn changes(&self, outcomes: Vec<Outcome>, go_on: Cancellation) -> Result<Changes> {
        let mut changes = Changes::default();
        let mut deleted: HashMap<Arc<str>, PositionSet> = HashMap::new();
        for outcome in outcomes {
            changes.removed.extend(outcome.removed);
            changes.added.extend(outcome.added);
            changes.moved.extend(outcome.moved);
            changes.changelog.extend(outcome.changelog);
            for (path, positions) in outcome.deleted {
                deleted.entry(path).or_default().unite(&positions);
            }
        }
        let files = self.buckets.iter().flat_map(|bucket| &bucket.tasks).map(|task| &task.data_file);
        let deleted =
            files.filter_map(|file| Some((file.clone(), deleted.remove(file.path.as_str())?))).collect::<Vec<_>>();
        let mut written = self.completed.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.table.metadata().snapshot.as_ref();
        changes.index = vectors::changes(&self.table, snapshot, deleted, &changes.removed, &mut written, go_on)?;
        Ok(changes)
    }

    /// Removes what was written.
    fn clean_up(&self) {
        let store = self.table.folder().store();
        let completed = self.completed.lock().unwrap_or_else(PoisonError::into_inner);
        // A left-over is a harmless orphan.
        completed.iter().for_each(|path| drop(store.delete(path)));
    }
}

/// The tasks of some files of a bucket.
pub(crate) fn tasks_of(bucket: &BucketFiles, files: &[usize]) -> Vec<ScanTask> {
    files.iter().filter_map(|at| bucket.tasks.get(*at).cloned()).collect()
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
