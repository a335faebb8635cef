//! Rewriting data files: small files are put together, and deleted rows are left out.
//!
//! Rows keep their age. New files get the data sequence number of the snapshot that was read, so that later equality
//! deletes still apply to them. Later position deletes do not apply, so they are conflicts. In format version 3, rows
//! keep their ids: ids and the numbers of their last change are written as columns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::compact_plan::{CompactionGroup, Sizes};
use crate::data::read::read_ahead::ScanReader;
use crate::data::read::task::CountedBytes;
use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::commit::CommitOptions;
use crate::format::maintenance::{CompactOptions, Compacted};
use crate::format::request::{At, ScanRequest};
use crate::format::task::{DataFile, ReadContext, ScanTask};
use crate::iceberg::committing;
use crate::iceberg::committing::IcebergOutcome;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::write::commit_messages::rewrite;
use crate::iceberg::write::contexts::schema_with_lineage;
use crate::parallel::{Phase, begin_phase, check_cancelled, expect_total, in_parallel, threads};
use crate::store::Unsynced;
use crate::types::Schema;

const TARGET_BYTES: &str = "write.target-file-size-bytes";

impl IcebergTable {
    /// Rewrites the data files of a branch that are too small, too large or have too many deletes, without their
    /// deleted rows. The snapshot's operation is `replace`. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that does not fit or for impossible file sizes; `NotFound` for an unknown branch;
    /// `Unsupported` for columns that can't be written. `CommitConflict` if another commit removed a file or deleted
    /// its rows by position, or after the last retry. `CommitStateUnknown` if it is not known whether the commit
    /// happened. Errors of the store; a cancellation. With several commits, the first commit's error is returned once
    /// more commits fail than are allowed. The other commits stay in the table.
    pub fn compact(&self, options: &CompactOptions) -> Result<(IcebergTable, Compacted)> {
        let PlannedCompaction { table: newest, scan, sizes, order, groups } = self.plan_compaction(options)?;
        let mut done = Compacted { groups: groups.len(), ..Compacted::default() };
        let Some(since) = scan.snapshot_id().filter(|_| !groups.is_empty()) else { return Ok((newest, done)) };
        if options.dry_run {
            groups.iter().for_each(|group| done.count_rewritten(group));
            return Ok((newest, done));
        }
        let job = Job { rows: CompactionRows::new(&newest, &scan)?, sizes, table: newest, since, order, options };
        let _phase = begin_phase(Phase::Compacting, 0);
        expect_total(Phase::Compacting, || groups.iter().map(CompactionGroup::bytes).fold(0, u64::saturating_add));
        let per_commit = options.max_commits.map_or(groups.len(), |n| groups.len().div_ceil(n.max(1)));
        let (mut table, mut first) = (job.table.clone(), None);
        for chunk in groups.chunks(per_commit.max(1)) {
            match job.run(chunk, &mut done) {
                Ok(newer) => table = newer,
                Err(e) if options.max_commits.is_none() => return Err(e),
                Err(e) => {
                    // An interrupt does not count as a failed commit.
                    check_cancelled()?;
                    done.failed.push(e.to_string());
                    first.get_or_insert(e);
                }
            }
        }
        match first.filter(|_| options.max_failed_commits.is_some_and(|most| done.failed.len() > most)) {
            None => Ok((table, done)),
            Some(e) => Err(done.failure(e)),
        }
    }

    /// Which files [`IcebergTable::compact`] rewrites together.
    ///
    /// # Errors
    /// As [`IcebergTable::compact`].
    pub(crate) fn plan_compaction(&self, options: &CompactOptions) -> Result<PlannedCompaction> {
        self.writable_location()?;
        if options.max_failed_commits.is_some() && options.max_commits.is_none() {
            return Err(Error::invalid("max_failed_commits needs max_commits"));
        }
        let table = self.refresh()?;
        let order = options.order.rows(&table)?;
        let default_target = table.inner.metadata.int_property(TARGET_BYTES, 512 << 20)?;
        let sizes = Sizes::new(&options.rules, u64::try_from(default_target).unwrap_or(0))?;
        let scan = table.scan(ScanRequest {
            filter: options.filter.clone(),
            at: options.commit.branch.clone().map(At::Ref),
            ..ScanRequest::default()
        })?;
        let scan = scan.with_all_deletes();
        let groups = sizes.groups(&scan, table.partition_spec().id)?;
        Ok(PlannedCompaction { table, scan, sizes, order, groups })
    }
}

/// A compaction before anything is written.
pub(crate) struct PlannedCompaction {
    /// The newest version.
    pub table: IcebergTable,
    /// The scan of the files to compact.
    pub scan: IcebergScan,
    pub sizes: Sizes,
    pub order: RowOrder,
    pub groups: Vec<CompactionGroup>,
}

impl Compacted {
    pub(crate) fn count_rewritten(&mut self, group: &CompactionGroup) {
        self.rewritten_files += group.tasks.len();
        self.rewritten_bytes = self.rewritten_bytes.saturating_add(group.bytes());
    }

    /// The error of a compaction with too many failed commits.
    fn failure(&self, first: Error) -> Error {
        let (failed, all) = (self.failed.len(), self.failed.len() + self.commits);
        Error::new(first.kind(), format!("{failed} of {all} commits of the compaction failed"))
            .with("committed", self.commits)
            .with("rewritten_files", self.rewritten_files)
            .with("failed", failed)
            .hint("The successful commits are in the table; compact again for the rest")
            .because(first)
    }
}

/// One compaction, planned.
struct Job<'a> {
    pub(crate) table: IcebergTable,
    rows: CompactionRows,
    sizes: Sizes,
    /// The snapshot that was read.
    since: i64,
    order: RowOrder,
    pub(crate) options: &'a CompactOptions,
}

impl Job<'_> {
    /// Rewrites groups and commits them.
    fn run(&self, groups: &[CompactionGroup], done: &mut Compacted) -> Result<IcebergTable> {
        let written = self.write(groups)?;
        let (files, bytes) = (written.len(), written.bytes());
        let table = self.commit(groups, written)?.into_result()?;
        done.commits += 1;
        groups.iter().for_each(|group| done.count_rewritten(group));
        (done.added_files, done.added_bytes) = (done.added_files + files, done.added_bytes.saturating_add(bytes));
        Ok(table)
    }

    /// Rewrites groups in parallel, one for each thread. The new files are synced together.
    fn write(&self, groups: &[CompactionGroup]) -> Result<NewFiles> {
        let written = Mutex::new(NewFiles::new(&self.table.inner.store));
        let unsynced = Unsynced::new(self.table.write_context(0)?.locations.folder());
        let next = AtomicUsize::new(0);
        in_parallel(threads(groups.len()), |thread| {
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                let files = self.write_group(group, thread as u64, &unsynced)?;
                written.lock().unwrap_or_else(PoisonError::into_inner).add(files);
            }
            Ok(())
        })?;
        unsynced.sync()?;
        Ok(written.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn write_group(&self, group: &CompactionGroup, thread: u64, unsynced: &Arc<Unsynced>) -> Result<Vec<DataFile>> {
        let (context, roll_at) = (self.table.write_context(thread)?, self.sizes.roll_at(group.bytes()));
        let writer = self.rows.writer(&self.table, &self.order, roll_at, context)?.synced_by(unsynced);
        self.rows.write(writer, &group.tasks)
    }

    fn commit(&self, groups: &[CompactionGroup], written: NewFiles) -> Result<IcebergOutcome> {
        let removed = groups.iter().flat_map(|group| &group.tasks).map(|task| task.data_file.as_ref().clone());
        commit_rewritten(&self.table, self.since, removed, written, &self.options.commit)
    }
}

/// Replaces files by new ones that hold their rows as of a snapshot. If the commit certainly failed, the new files are
/// deleted.
///
/// # Errors
/// As [`CommitOptions::apply`].
pub(crate) fn commit_rewritten(
    table: &IcebergTable,
    since: i64,
    removed: impl IntoIterator<Item = DataFile>,
    written: NewFiles,
    options: &CommitOptions,
) -> Result<IcebergOutcome> {
    let number = table.inner.metadata.snapshot_by_id(since).map_or(0, |s| s.sequence_number);
    let change = options.apply(rewrite(table, since, number).remove_files(removed), table)?;
    let change = change.add_files(written.take()).owning_files();
    Ok(committing::commit(table, vec![Box::new(change)]))
}

/// How rows are read and written.
pub(crate) struct CompactionRows {
    reader: ScanReader,
    /// The table's columns, and those of row lineage where it has them.
    written: Arc<Schema>,
}

impl CompactionRows {
    pub(crate) fn new(table: &IcebergTable, scan: &IcebergScan) -> Result<CompactionRows> {
        let all = schema_with_lineage(table)?;
        let context = ReadContext { schema: all.clone(), projection: all.clone(), ..scan.context().as_ref().clone() };
        CompactionRows::of(table, context)
    }

    /// For rows that are read in this way.
    pub(crate) fn of(table: &IcebergTable, context: ReadContext) -> Result<CompactionRows> {
        let all = schema_with_lineage(table)?;
        let reader =
            ScanReader { store: table.inner.store.clone(), context: Arc::new(context), deletes: Arc::default() };
        Ok(CompactionRows { reader, written: all })
    }

    /// The data that readers of the rows need.
    pub(crate) fn context(&self) -> &Arc<ReadContext> {
        &self.reader.context
    }

    /// A writer of the rows, into new files of about `roll_at` bytes.
    pub(crate) fn writer(
        &self,
        table: &IcebergTable,
        order: &RowOrder,
        roll_at: u64,
        mut context: WriteContext,
    ) -> Result<DataWriter> {
        context.properties.insert(TARGET_BYTES.into(), roll_at.to_string());
        (context.schema, context.row_order) = (self.written.clone(), order.clone());
        DataWriter::new(table.inner.store.clone(), context)
    }

    /// Writes all rows of tasks into new files.
    pub(crate) fn write(&self, mut writer: DataWriter, tasks: &[ScanTask]) -> Result<Vec<DataFile>> {
        for task in tasks {
            let whole = ScanTask { residual: Arc::new(BoundPredicate::True), ..task.clone() };
            let mut counted = CountedBytes::of([task]);
            for batch in self.reader.read(&whole)? {
                check_cancelled()?;
                let batch = batch?;
                writer.write(&batch).with("rewritten", &task.data_file.path)?;
                counted.add(batch.num_rows());
            }
            counted.end();
        }
        writer.finish()
    }
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
