//! Compaction of Paimon tables: rewrites files into fewer and larger ones. Rows stay the same.
//!
//! [`PaimonTable::compact`] lists the files of the requested buckets (`plan::compact_plan`) and picks the files to
//! compact: `plan::compact_pick` for tables with a primary key, `compact_append` for others. It merges the rows of each
//! bucket (`compact_keyed`), writes them (`write::bucket_writer`), and commits all in one snapshot of kind `COMPACT`.
//! Files that another commit removed in the meantime are a conflict; added files are not.
//!
//! Memory holds a batch of each file that is merged with others, and the rows in progress of a file, once for each
//! thread.
//!
//! Source: Java's `MergeTreeCompactManager`, `BucketedAppendCompactManager`, `AppendCompactCoordinator`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::compact_job::{CompactGroup, CompactJob, CompactOutcome, CompactWork};
use super::compact_postponed;
use super::compaction::{check_compacted, merged, partition_filter};
use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::maintenance::{BucketCompaction, Compacted};
use crate::format::request::ScanRequest;
use crate::format::task::ReadContext;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::compact_plan::bucket_files;
use crate::paimon::plan::record_expiry::RecordExpiry;
use crate::paimon::rows::vectors;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::bucket_writer::BucketPlace;
use crate::parallel::{Phase, begin_phase, check_cancelled, expect_total, in_parallel, threads};
use crate::store::Unsynced;
use crate::types::Schema;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};
use crate::types::options::Options;
use crate::types::temporal::now_ms;

impl PaimonTable {
    /// Compacts files of a branch, in one commit. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that asks for more than partition columns, or options that can't be read;
    /// `Unsupported` for tables that are not compacted here; `CommitConflict` if another commit removed one of the
    /// files; `CommitStateUnknown` if it can't be told whether the commit happened; the store's; a cancellation. A
    /// failed compaction removes the files that it wrote.
    pub fn compact(&self, compaction: &BucketCompaction) -> Result<(PaimonTable, Compacted)> {
        let table = self.newest_of(compaction.commit.branch.as_deref())?;
        if !compact_postponed::waits(&table.table_schema().options())? {
            return self.compact_buckets(table, compaction);
        }
        check_compacted(table.table_schema(), &table.table_schema().options()).with("table", table.location())?;
        let (table, placed) = compact_postponed::place_waiting(table, compaction)?;
        let (table, compacted) = self.compact_buckets(table, compaction)?;
        Ok((table, placed.and(&compacted)))
    }

    /// Compacts the buckets of this table as it is on a branch.
    fn compact_buckets(&self, table: PaimonTable, compaction: &BucketCompaction) -> Result<(PaimonTable, Compacted)> {
        let job = CompactJob::plan(table, compaction)?;
        let mut done = job.counted();
        if compaction.dry_run || job.groups.is_empty() {
            return Ok((self.refresh()?, done));
        }
        let _phase = begin_phase(Phase::Compacting, 0);
        expect_total(Phase::Compacting, || done.rewritten_bytes);
        let changes = job.run().and_then(|outcomes| job.changes(outcomes));
        let changes = changes.and_then(|changes| check_cancelled().map(|()| changes));
        let changes = changes.inspect_err(|_| job.clean_up())?;
        if changes.is_empty() {
            return Ok((self.refresh()?, Compacted::default()));
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

/// The columns, then the ids of rows and the commits that changed them last.
fn with_ids(columns: &Schema) -> Arc<Schema> {
    let ids = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column);
    let fields = columns.fields.iter().cloned().chain(ids).collect::<Vec<_>>();
    Arc::new(Schema::new(columns.id, fields, Vec::new()))
}

impl CompactJob {
    fn plan(table: PaimonTable, compaction: &BucketCompaction) -> Result<CompactJob> {
        let schema = table.table_schema().clone();
        let options = merged(&table, &compaction.options)?;
        check_compacted(&schema, &Options(&options)).map_err(|e| e.with("table", table.location()))?;
        let filter = partition_filter(&table, compaction.filter.as_ref())?;
        let context = table.scan_newest(ScanRequest::default())?.context().clone();
        let buckets = context.buckets.as_deref().cloned();
        let buckets = buckets.map(|b| Arc::new(crate::format::task::BucketContext { options: options.clone(), ..b }));
        let projection = match !schema.has_primary_key() && Options(&options).row_tracking()? {
            true => with_ids(schema.columns()),
            false => schema.columns().clone(),
        };
        let context = Arc::new(ReadContext { projection, buckets, ..context.as_ref().clone() });
        let expiry = match schema.has_primary_key() {
            true => RecordExpiry::new(&schema, &Options(&options), now_ms())?,
            false => None,
        };
        let phase = begin_phase(Phase::Planning, 0);
        let buckets = compact_postponed::placed(bucket_files(table.metadata(), &schema, &filter, expiry.as_ref())?);
        drop(phase);
        let stays = Arc::new(expiry.map_or(BoundPredicate::True, |expiry| expiry.stays()));
        let (cache, completed, unsynced) = (DeleteCache::default(), Mutex::default(), Unsynced::new(table.location()));
        let mut job = CompactJob {
            table,
            schema,
            options,
            context,
            cache,
            buckets,
            stays,
            groups: Vec::new(),
            completed,
            unsynced,
        };
        job.groups = match job.schema.has_primary_key() {
            true => job.keyed_groups(compaction.minor)?,
            false => job.append_groups(compaction.minor)?,
        };
        Ok(job)
    }

    /// The counts of the planned compaction.
    pub(crate) fn counted(&self) -> Compacted {
        let mut done = Compacted { groups: self.groups.len(), ..Compacted::default() };
        for group in &self.groups {
            let Some(bucket) = self.buckets.get(group.bucket) else { continue };
            let (rewritten, upgraded) = match &group.work {
                CompactWork::Keyed(work) => work.files(),
                CompactWork::Append(files) => (files.clone(), 0),
                CompactWork::Deleted(groups) => (groups.iter().flat_map(|g| &g.files).copied().collect(), 0),
            };
            done.upgraded_files += upgraded;
            done.rewritten_files += rewritten.len();
            let sizes = rewritten.iter().filter_map(|at| bucket.files.get(*at)).map(|f| f.file_size);
            let bytes = sizes.map(|n| u64::try_from(n).unwrap_or(0)).fold(0, u64::saturating_add);
            done.rewritten_bytes = done.rewritten_bytes.saturating_add(bytes);
        }
        done
    }

    /// Compacts the groups, as many at a time as there are threads. The new files are durable then.
    pub(crate) fn run(&self) -> Result<Vec<CompactOutcome>> {
        let outcomes = Mutex::new(Vec::with_capacity(self.groups.len()));
        let next = AtomicUsize::new(0);
        in_parallel(threads(self.groups.len()), |_| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(group) = self.groups.get(number) else { return Ok(()) };
                let outcome = self.compact(group)?;
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
            }
        })?;
        self.unsynced.sync()?;
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by_key(|(number, _)| *number);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn compact(&self, group: &CompactGroup) -> Result<CompactOutcome> {
        let bucket = self.buckets.get(group.bucket);
        let bucket = bucket.ok_or_else(|| Error::internal("a group has no bucket"))?;
        let place = BucketPlace {
            store: self.table.folder().store().clone(),
            root: self.table.location(),
            schema: &self.schema,
            options: &self.options,
            partition: bucket.partition.clone(),
            bucket: bucket.bucket,
            total_buckets: bucket.total_buckets,
            completed: &self.completed,
            unsynced: &self.unsynced,
        };
        match &group.work {
            CompactWork::Keyed(work) => self.compact_keyed(bucket, &place, work),
            CompactWork::Append(files) => self.compact_append(bucket, &place, files),
            CompactWork::Deleted(groups) => self.write_undeleted(bucket, &place, groups),
        }
    }

    pub(crate) fn changes(&self, outcomes: Vec<CompactOutcome>) -> Result<Changes> {
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
        // It has the data files already.
        let before = written.len();
        changes.index = vectors::changes(&self.table, snapshot, deleted, &changes.removed, &mut written)?;
        changes.index_files = written.iter().skip(before).cloned().collect();
        Ok(changes)
    }

    /// Removes the written files.
    pub(crate) fn clean_up(&self) {
        let completed = self.completed.lock().unwrap_or_else(PoisonError::into_inner);
        self.table.folder().store().discard(completed.clone());
    }
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
