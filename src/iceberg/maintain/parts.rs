//! Compaction in parts: planned by one process, written by others, committed by the first.
//!
//! A part is a split of a group's files. Unsorted rows may be cut into any parts, so a part has the size of one new
//! file. Rows that are sorted or partitioned differently make one part for each group, and are sorted in bounded
//! memory. File names contain the job's name, so that uncommitted files can be found later.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::compact::{CompactionRows, PlannedCompaction, commit_rewritten};
use super::compact_plan::{CompactionGroup, Sizes};
use super::listing::Listing;
use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::locations::FileLocations;
use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::maintenance::{CompactOptions, Compacted, FileOrder};
use crate::format::maintenance_parts::{PartWriter, PartedCompaction, PartedGroup, PartsDone};
use crate::format::splits;
use crate::format::splits::SplitPlan;
use crate::format::task::{CommitMessage, ScanTask, Split};
use crate::iceberg::commit::live;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::state::IcebergTable;
use crate::store::delete_all;
use crate::store::location::normalise;

impl PartWriter {
    /// How this writer writes into a table.
    ///
    /// # Errors
    /// `InvalidInput` for a job without a name; as [`IcebergTable::write_context`].
    pub(crate) fn context(&self, table: &IcebergTable) -> Result<WriteContext> {
        check_job(&self.job)?;
        let write_id = format!("{}-{:05}", self.job, self.part);
        Ok(WriteContext { write_id, ..table.write_context(self.attempt)? })
    }
}

/// File names are searched for the job's name, so it must not appear in others by chance.
fn check_job(job: &str) -> Result<()> {
    match uuid::Uuid::try_parse(job).is_ok_and(|id| id.to_string() == job) {
        true => Ok(()),
        false => Err(Error::invalid("the name of a job must be a UUID").with("job", job)),
    }
}

impl IcebergTable {
    /// Plans the work of [`IcebergTable::compact`]. Also returns the newest version: parts and commits must use it.
    ///
    /// # Errors
    /// As [`IcebergTable::compact`].
    pub fn compact_in_parts(&self, options: &CompactOptions) -> Result<(IcebergTable, PartedCompaction)> {
        let PlannedCompaction { table, scan, sizes, order, groups } = self.plan_compaction(options)?;
        let mut counted = Compacted { groups: groups.len(), ..Compacted::default() };
        groups.iter().for_each(|group| counted.count_rewritten(group));
        let since = scan.snapshot_id().filter(|_| !groups.is_empty());
        let rows = CompactionRows::new(&table, &scan)?;
        let spec = table.partition_spec().id;
        let parted = |group: CompactionGroup| {
            let removed = group.tasks.iter().map(|task| task.data_file.as_ref().clone()).collect();
            let whole = order != RowOrder::Any || group.tasks.iter().any(|t| t.data_file.partition.spec_id != spec);
            let (parts, roll_at) = parts(group, &sizes, whole)?;
            let split = |tasks| Split { context: rows.context().clone(), tasks };
            Ok(PartedGroup { removed, parts: parts.into_iter().map(split).collect(), roll_at })
        };
        let groups = groups.into_iter().map(parted).collect::<Result<_>>()?;
        Ok((table, PartedCompaction { since, groups, counted }))
    }

    /// Writes a part's rows into new files, without committing.
    ///
    /// # Errors
    /// `InvalidInput` for a bad job name; as [`IcebergTable::compact`]. Written files are deleted then.
    pub fn compact_part(
        &self,
        part: &Split,
        roll_at: u64,
        order: &FileOrder,
        writer: &PartWriter,
    ) -> Result<CommitMessage> {
        let rows = CompactionRows::of(self, part.context.as_ref().clone())?;
        let writer = rows.writer(self, &order.rows(self)?, roll_at, writer.context(self)?)?;
        let files = rows.write(writer, &part.tasks)?;
        Ok(CommitMessage { rewrites: Some(self.format_version()), ..CommitMessage::new(self.uuid(), files, None) })
    }

    /// Replaces the files of groups by those that their parts wrote. If the commit certainly failed, the written files
    /// are deleted.
    ///
    /// # Errors
    /// As [`IcebergTable::compact`]; `InvalidInput` for messages of another table.
    pub fn commit_compacted_parts(
        &self,
        parts: PartsDone,
        options: &CommitOptions,
    ) -> Result<(IcebergTable, Compacted)> {
        let PartsDone { since, removed, messages } = parts;
        let mut written = NewFiles::new(&self.inner.store);
        self.check_own(&messages)?;
        messages.into_iter().for_each(|m| written.add(m.files));
        let sizes = removed.iter().map(|f| f.size_bytes.max(0).unsigned_abs());
        let done = Compacted {
            rewritten_files: removed.len(),
            rewritten_bytes: sizes.fold(0, u64::saturating_add),
            added_files: written.len(),
            added_bytes: written.bytes(),
            commits: 1,
            ..Compacted::default()
        };
        let table = commit_rewritten(self, since, removed, written, options)?.into_result()?;
        Ok((table, done))
    }

    /// # Errors
    /// `InvalidInput` for messages of another table.
    pub(crate) fn check_own(&self, messages: &[CommitMessage]) -> Result<()> {
        match messages.iter().find(|m| m.table_uuid != self.uuid()) {
            None => Ok(()),
            Some(other) => Err(Error::invalid("a part was written for another table")
                .with("expected", self.uuid())
                .with("found", &other.table_uuid)),
        }
    }

    /// Deletes the files that a job's writers made and no snapshot has, after crashed attempts or an abandoned job.
    /// Don't call it while a commit of unknown outcome may still add the files. Returns their paths.
    ///
    /// # Errors
    /// `InvalidInput` for a bad job name; errors of the store and of [`IcebergTable::refresh`]. Files that could be
    /// deleted are deleted even then.
    pub fn remove_files_of(&self, job: &str) -> Result<(IcebergTable, Vec<String>)> {
        check_job(job)?;
        let newest = self.refresh()?;
        let (store, metadata) = (newest.inner.store.as_ref(), &newest.inner.metadata);
        let locations = FileLocations::new(&metadata.location, &metadata.properties)?;
        let listing = Listing {
            store,
            root: locations.folder().to_owned(),
            older_than_ms: i64::MAX,
            shown: super::orphans::listing_shown(&newest),
        };
        let found = Mutex::new(Vec::new());
        listing.each(&|path| {
            if path.rsplit('/').next().is_some_and(|name| name.contains(job)) {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
            }
        })?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let live = live::live_files(store, metadata, &found)?;
        let live: HashSet<String> = live.iter().map(|path| normalise(path)).collect();
        found.retain(|path| !live.contains(&normalise(path)));
        delete_all(store, &found.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok((newest, found))
    }
}

/// The tasks of a group's parts, and the size at which their writers begin new files.
fn parts(group: CompactionGroup, sizes: &Sizes, whole: bool) -> Result<(Vec<Vec<ScanTask>>, u64)> {
    let roll_at = sizes.roll_at(group.bytes());
    let size = i64::try_from(roll_at).unwrap_or(i64::MAX);
    if whole || group.bytes() <= roll_at {
        return Ok((vec![group.tasks], roll_at));
    }
    let plan = SplitPlan { split_size_bytes: size, lookback: OPEN_PARTS, open_file_cost_bytes: 0 };
    // Each becomes one file: slightly more input must not start a second one.
    Ok((splits::pack(group.tasks, &plan)?, sizes.most()))
}

/// How many parts are filled at the same time.
const OPEN_PARTS: usize = 10;
