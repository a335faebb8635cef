//! Checks the remaining rows of files that messages replace, at the version that the rows were read at.

use std::collections::{HashMap, HashSet};

use super::message_lineage;
use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::error::{Error, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::request::{At, ScanRequest};
use crate::format::task::{DataFile, DeleteRef, FileContent, ScanTask};
use crate::iceberg::commit::live::live_in_snapshot;
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::state::IcebergTable;
use crate::parallel::in_parallel;

/// Checks a replacement of files of a scan's version with this sequence number, and returns the files. A data file is
/// returned as often as the table lists it, even if it is named more often: tasks may share a file.
///
/// # Errors
/// `InvalidInput` for rows that differ from those left in the replaced files, as far as counts and row ids tell. Also
/// for files of another version, and for delete files that apply to remaining data files. Errors of reading.
pub(crate) fn check(
    table: &IcebergTable,
    scan: &IcebergScan,
    (replaced, number): (Vec<DataFile>, i64),
    added: &[DataFile],
    options: &CommitOptions,
) -> Result<Vec<DataFile>> {
    let (data, deletes): (Vec<DataFile>, Vec<DataFile>) =
        replaced.into_iter().partition(|f| f.content == FileContent::Data);
    let tasks = find(scan, &data, &deletes, added.iter().any(|f| f.content != FileContent::Data))?;
    let mut listed: HashMap<&str, usize> = HashMap::new();
    tasks.iter().for_each(|task| *listed.entry(&task.data_file.path).or_insert(0) += 1);
    let missing = data.iter().find(|f| !listed.contains_key(f.path.as_str()));
    match missing {
        Some(file) => check_gone(table, file, options)?,
        None if !data.is_empty() => {
            check_rows(table, scan, &tasks, added)?;
            message_lineage::check(table, scan, &tasks, added, number)?;
        }
        None => {}
    }
    let mut left = listed;
    let mut files: Vec<DataFile> = Vec::new();
    for file in data {
        match left.get_mut(file.path.as_str()) {
            Some(0) => {}
            Some(n) => {
                *n -= 1;
                files.push(file);
            }
            None => files.push(file),
        }
    }
    files.extend(deletes);
    Ok(files)
}

/// The tasks of the replaced data files.
fn find(scan: &IcebergScan, data: &[DataFile], deletes: &[DataFile], others_come: bool) -> Result<Vec<ScanTask>> {
    let paths: HashSet<&str> = data.iter().map(|f| f.path.as_str()).collect();
    let going: HashSet<FileId> = deletes.iter().map(FileId::of).collect();
    let mut tasks = Vec::new();
    let mut plan = RunningPlan::start(scan.plan_input())?;
    while let Some(batch) = plan.next_batch()? {
        for (k, row) in batch.rows.iter().enumerate() {
            let path = batch.columns.path.get(*row as usize).and_then(|path| std::str::from_utf8(path).ok());
            if path.is_some_and(|path| paths.contains(path)) {
                tasks.push(batch.task(k)?);
            } else if !going.is_empty() && !others_come {
                check_stays(&batch.task(k)?, &going)?;
            }
        }
    }
    Ok(tasks)
}

/// A delete file of a remaining data file must stay.
fn check_stays(task: &ScanTask, going: &HashSet<FileId>) -> Result<()> {
    match task.deletes.iter().find(|d| going.contains(&FileId::of(&d.file))) {
        None => Ok(()),
        Some(delete) => {
            Err(Error::invalid("a replaced delete file applies to a data file that stays: its rows would come back")
                .with("delete_file", &delete.file.path)
                .with("path", &task.data_file.path)
                .hint(
                    "Replace the data file too, or leave the delete file: remove_dangling_deletes() removes it later",
                ))
        }
    }
}

/// A file that is not in the version must not be in the table either. Then the commit reports that it was removed.
fn check_gone(table: &IcebergTable, file: &DataFile, options: &CommitOptions) -> Result<()> {
    let at = options.branch.clone().filter(|name| table.inner.metadata.refs.contains_key(name)).map(At::Ref);
    let newest = table.refresh()?.scan(ScanRequest { at, ..ScanRequest::default() })?;
    let Some(snapshot) = newest.plan_input().snapshot else { return Ok(()) };
    match live_in_snapshot(table.inner.store.as_ref(), &snapshot, &[&file.path])?.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid("a replaced file is not of the version that the rows were read at")
            .with("path", &file.path)
            .hint("Give at= the snapshot_id of the scan that gave the file")),
    }
}

/// The number of new rows must be that left in the replaced files. Equality deletes may have deleted more than counts
/// tell.
fn check_rows(table: &IcebergTable, scan: &IcebergScan, tasks: &[ScanTask], added: &[DataFile]) -> Result<()> {
    let (store, context, cache) = (&table.inner.store, scan.context(), DeleteCache::default());
    let left = in_parallel(tasks.len(), |i| {
        let file = &tasks[i].data_file;
        let by_position = |d: &&DeleteRef| d.file.content == FileContent::PositionDeletes;
        let deletes: Vec<DeleteRef> = tasks[i].deletes.iter().filter(by_position).cloned().collect();
        if deletes.is_empty() {
            return Ok(file.record_count);
        }
        let filter = DeleteFilter::load(store, context, file, &deletes, &cache).with("path", &file.path)?;
        let rows = 0..file.record_count.max(0).unsigned_abs();
        let deleted = filter.positions().map_or(0, |set: &PositionSet| set.count_in(rows));
        Ok(file.record_count.saturating_sub(i64::try_from(deleted).unwrap_or(i64::MAX)))
    })?;
    let left = left.into_iter().fold(0i64, i64::saturating_add);
    let rows = added.iter().filter(|f| f.content == FileContent::Data);
    let rows = rows.fold(0i64, |n, f| n.saturating_add(f.record_count));
    let by_key = |t: &ScanTask| t.deletes.iter().any(|d| d.file.content == FileContent::EqualityDeletes);
    let wrong = |what: &str| {
        Err(Error::invalid(what.to_owned()).with("rows", rows).with("left in the replaced files", left).hint(
            "Write all rows that a scan of the replaced files gives, and no others; delete() and append() change rows",
        ))
    };
    match rows.cmp(&left) {
        std::cmp::Ordering::Greater => wrong("a replacement must not add rows"),
        std::cmp::Ordering::Less if !tasks.iter().any(by_key) => wrong("a replacement must not lose rows"),
        _ => Ok(()),
    }
}
