//! Rewriting delete files, and removing those that no longer delete anything.
//!
//! Rows do not change, so the snapshots' operation is `replace`, except where equality deletes are converted. The rules
//! are those of Java's `RewritePositionDeleteFiles` and `RemoveDanglingDeleteFiles`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::compact_plan::Sizes;
use super::live_deletes::{LiveFiles, is_position_file, number};
use crate::codec::bitmap::PositionSet;
use crate::data::deletes::files::read_all_positions;
use crate::data::write::context::WriteContext;
use crate::data::write::delete_write::{DELETE_TARGET, DELETE_TARGET_BYTES, DeleteForm, PositionDeleteWriter};
use crate::error::{Result, ResultExt};
use crate::expr::Predicate;
use crate::format::commit::CommitOptions;
use crate::format::maintenance::{DeleteOptions, RewrittenDeletes};
use crate::format::request::{At, ScanRequest};
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing;
use crate::iceberg::maintain::live_deletes::bytes;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::rows::settle::settle;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{check_cancelled, in_parallel};
use crate::store::Unsynced;

impl IcebergTable {
    /// Rewrites position delete files, without entries for removed data files. In format version 2, small files of a
    /// partition are put together. In version 3, all become deletion vectors. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for impossible file sizes and a filter that does not fit; `NotFound` for an unknown branch.
    /// `CommitConflict` if another commit removed one of the files, or (version 3) deleted rows of the same data
    /// files. `CommitStateUnknown` if it is not known whether the commit happened. `Unsupported` for a data file that
    /// is listed more than once, with different deletes each time. Errors of the store; a cancellation.
    pub fn rewrite_position_deletes(&self, options: &DeleteOptions) -> Result<(IcebergTable, RewrittenDeletes)> {
        match self.plan_delete_rewrite(options)? {
            (newest, None) => Ok((newest, RewrittenDeletes::default())),
            (newest, Some(planned)) => {
                let job = Job { table: newest, live: planned.live, options };
                job.rewrite(planned.groups, &planned.sizes)
            }
        }
    }

    /// Which delete files [`IcebergTable::rewrite_position_deletes`] rewrites together; `None` for a branch without a
    /// snapshot.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`].
    pub(crate) fn plan_delete_rewrite(&self, options: &DeleteOptions) -> Result<(IcebergTable, Option<DeletePlan>)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let target = newest.inner.metadata.int_property(DELETE_TARGET, DELETE_TARGET_BYTES as i64)?;
        let sizes = Sizes::new(&options.rules, u64::try_from(target).unwrap_or(0))?;
        let Some(live) = LiveFiles::read(&newest, &options.commit)? else { return Ok((newest, None)) };
        let mut files: Vec<DataFile> = live.deletes.iter().filter(|f| is_position_file(f)).cloned().collect();
        if let Some(filter) = &options.filter {
            let reaching = reaching(&newest, filter, options)?;
            files.retain(|f| reaching.contains(&FileId::of(f)));
        }
        let groups = match newest.format_version() {
            0..=2 => sizes.delete_groups(files),
            _ => Vec::from_iter((!files.is_empty()).then_some(files)),
        };
        Ok((newest, Some(DeletePlan { live, sizes, groups })))
    }

    /// Removes delete files and deletion vectors that delete no row of any data file. Returns the table at its new
    /// version.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`].
    pub fn remove_dangling_deletes(&self, options: &DeleteOptions) -> Result<(IcebergTable, RewrittenDeletes)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let Some(live) = LiveFiles::read(&newest, &options.commit)? else {
            return Ok((newest, RewrittenDeletes::default()));
        };
        let gone: Vec<DataFile> = live.deletes.iter().filter(|f| live.is_dangling(f)).cloned().collect();
        let written = NewFiles::new(&newest.inner.store);
        let job = Job { table: newest, live, options };
        if gone.is_empty() || options.dry_run {
            return Ok((job.table, counted(&gone, &[])));
        }
        job.commit(gone, written)
    }
}

impl IcebergTable {
    /// Converts all equality deletes to deletes by position. It finds the deleted rows, names them in position delete
    /// files or deletion vectors, and removes the equality delete files. Returns the table at its new version.
    ///
    /// # Errors
    /// As [`IcebergTable::rewrite_position_deletes`]; `CommitConflict` too if another commit rewrote one of the data
    /// files.
    pub fn convert_equality_deletes(&self, options: &DeleteOptions) -> Result<(IcebergTable, RewrittenDeletes)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let live = LiveFiles::read(&newest, &options.commit)?;
        let deletes = live.into_iter().flat_map(|live| live.deletes);
        let equality: Vec<DataFile> = deletes.filter(|f| f.content == FileContent::EqualityDeletes).collect();
        if equality.is_empty() || options.dry_run {
            return Ok((newest, counted(&equality, &[])));
        }
        // Refused before anything is written.
        options.commit.check(&newest)?;
        let (change, added, mut removed) = settle(&newest, options.commit.branch.as_deref(), equality)?;
        removed.retain(|f| f.content != FileContent::Data);
        let change = options.commit.apply(change, &newest)?;
        let table = committing::commit(&newest, vec![Box::new(change)]).into_result()?;
        Ok((table, counted(&removed, &added)))
    }
}

/// The delete files of data files that may have rows matching a filter.
fn reaching(table: &IcebergTable, filter: &Predicate, options: &DeleteOptions) -> Result<HashSet<FileId>> {
    let at = options.commit.branch.clone().map(At::Ref);
    let scan = table.scan(ScanRequest { filter: Some(filter.clone()), at, ..ScanRequest::default() })?;
    let mut found = HashSet::new();
    let mut plan = RunningPlan::start(scan.with_all_deletes().plan_input())?;
    while let Some(batch) = plan.next_batch()? {
        for k in 0..batch.rows.len() {
            found.extend(batch.task(k)?.deletes.iter().map(|d| FileId::of(&d.file)));
        }
    }
    Ok(found)
}

/// Deleted rows by the path of their data file.
type Positions<'a> = BTreeMap<&'a str, (&'a DataFile, PositionSet)>;

/// A planned rewrite of delete files, before any of them is read.
pub(crate) struct DeletePlan {
    pub live: LiveFiles,
    pub sizes: Sizes,
    pub groups: Vec<Vec<DataFile>>,
}

/// One rewrite of delete files.
struct Job<'a> {
    pub(crate) table: IcebergTable,
    live: LiveFiles,
    pub(crate) options: &'a DeleteOptions,
}

impl Job<'_> {
    fn rewrite(self, groups: Vec<Vec<DataFile>>, sizes: &Sizes) -> Result<(IcebergTable, RewrittenDeletes)> {
        if groups.is_empty() || self.options.dry_run {
            let files: Vec<DataFile> = groups.into_iter().flatten().collect();
            return Ok((self.table, counted(&files, &[])));
        }
        let mut written = NewFiles::new(&self.table.inner.store);
        let unsynced = Unsynced::new(self.table.write_context(0)?.locations.folder());
        let mut removed = Vec::new();
        for group in groups {
            let context = self.table.write_context(0)?;
            let roll_at = sizes.roll_at(bytes(&group));
            written.add(rewrite_group(&self.table, &self.live, &group, roll_at, context, &unsynced)?);
            removed.extend(group);
        }
        unsynced.sync()?;
        self.commit(removed, written)
    }

    fn commit(self, removed: Vec<DataFile>, written: NewFiles) -> Result<(IcebergTable, RewrittenDeletes)> {
        commit_deletes(&self.table, self.live.since, removed, written, &self.options.commit)
    }
}

/// Writes the entries for live data files into new delete files of about `roll_at` bytes. The owner of `unsynced` syncs
/// them.
///
/// # Errors
/// As [`IcebergTable::rewrite_position_deletes`].
pub(crate) fn rewrite_group(
    table: &IcebergTable,
    live: &LiveFiles,
    group: &[DataFile],
    roll_at: u64,
    mut context: WriteContext,
    unsynced: &Arc<Unsynced>,
) -> Result<Vec<DataFile>> {
    let form = DeleteForm::of_version(table.format_version())?;
    let found = positions(table, live, group)?;
    context.properties.insert(DELETE_TARGET.into(), roll_at.to_string());
    let mut writer = PositionDeleteWriter::new(table.inner.store.clone(), context, form)?.synced_by(unsynced);
    found.into_values().try_for_each(|(data_file, positions)| writer.delete(data_file, positions))?;
    let files = writer.finish()?.into_iter();
    // It is as old as the newest file that it replaces. Vectors get the commit's number.
    let sequence_number = group.iter().map(number).max();
    let aged = |f: DataFile| match form {
        DeleteForm::Files => DataFile { sequence_number, ..f },
        DeleteForm::Vectors => f,
    };
    Ok(files.map(aged).collect())
}

/// The positions that delete files name in the data files that they apply to, by path. Data files with a deletion
/// vector are left out: the vector holds all their deletes.
fn positions<'l>(table: &IcebergTable, live: &'l LiveFiles, group: &[DataFile]) -> Result<Positions<'l>> {
    let puffin = |f: &&DataFile| f.content == FileContent::PositionDeletes && f.format == FileFormat::Puffin;
    let vectors: HashMap<&str, &DataFile> =
        (live.deletes.iter().filter(puffin)).filter_map(|f| Some((f.referenced_data_file.as_deref()?, f))).collect();
    let (store, context) = (&table.inner.store, live.scan.context());
    let read = in_parallel(group.len(), |i| {
        check_cancelled()?;
        let file = &group[i];
        let mut reached = Vec::new();
        for (path, set) in read_all_positions(store, context, file).with("path", &file.path)? {
            let Some(data) = live.reached(file, &path)? else { continue };
            let vector = vectors.get(path.as_str()).map(|v| live.reached(v, &path)).transpose()?;
            if vector.flatten().is_none() {
                reached.push((data, set));
            }
        }
        Ok(reached)
    })?;
    let mut all: Positions<'_> = BTreeMap::new();
    for (data, set) in read.into_iter().flatten() {
        all.entry(&data.path).or_insert_with(|| (data, PositionSet::default())).1.unite(&set);
    }
    Ok(all)
}

/// Replaces delete files by new ones. New deletion vectors require that their data files are still in the table.
///
/// # Errors
/// As [`IcebergTable::rewrite_position_deletes`].
pub(crate) fn commit_deletes(
    table: &IcebergTable,
    since: i64,
    removed: Vec<DataFile>,
    written: NewFiles,
    options: &CommitOptions,
) -> Result<(IcebergTable, RewrittenDeletes)> {
    let done = counted(&removed, written.files());
    let vectors = written.files().iter().filter(|f| f.format == FileFormat::Puffin);
    let preconditions = Preconditions {
        since: Some(since),
        same_history: true,
        required: vectors.filter_map(|f| f.referenced_data_file.clone()).collect(),
        ..Preconditions::default()
    };
    let change = SnapshotProducer::new(table.inner.store.clone(), Operation::Replace).with_preconditions(preconditions);
    let change = options.apply(change.remove_files(removed), table)?;
    let change = change.add_files(written.take()).owning_files();
    let table = committing::commit(table, vec![Box::new(change)]).into_result()?;
    Ok((table, done))
}

pub(crate) fn counted(removed: &[DataFile], added: &[DataFile]) -> RewrittenDeletes {
    RewrittenDeletes {
        rewritten_files: removed.len(),
        rewritten_bytes: bytes(removed),
        added_files: added.len(),
        added_bytes: bytes(added),
    }
}
