//! Deleting the rows that match a filter.

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::live::{LiveRows, are_in};
use super::plan::{Touched, whole_files};
use super::rewrite::{NewFiles, write_each};
use super::view::{Command, Isolation, View};
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::Predicate;
use crate::iceberg::commit::{Operation, SnapshotChange};
use crate::scan::Scan;
use crate::statistics::strict;
use crate::task::{DataFile, FileContent, FileFormat, ScanTask};
use crate::workers::{GoOn, in_parallel};

/// Rows of a data file.
pub(super) struct Hits {
    pub task: ScanTask,
    pub positions: PositionSet,
}

/// What is to be removed.
pub(super) enum Removal {
    /// Files that match as a whole, whichever they are when the change is committed; so many as of now.
    Whole(usize),
    /// These files, and these rows of others.
    Named(Vec<DataFile>, Vec<Hits>),
}

pub(super) fn delete(view: &View, filter: &Predicate, go_on: GoOn) -> Result<Option<SnapshotChange>> {
    Ok(match find(view, filter, go_on)? {
        Removal::Whole(0) => None,
        Removal::Whole(_) => Some(view.change(Operation::Delete).remove_where(filter)),
        Removal::Named(files, hits) if files.is_empty() && hits.is_empty() => None,
        Removal::Named(mut files, hits) => {
            let written = rewrite_without(view, &hits, go_on)?;
            files.extend(hits.iter().map(|h| view.removable(&h.task.data_file)));
            let operation = if written.is_empty() { Operation::Delete } else { Operation::Overwrite };
            let assumed = view.replacing(view.isolation(Command::Delete)?, filter.clone());
            let change = view.change(operation).remove_files(files).add_files(written.take()).owning_files();
            Some(change.assuming(assumed))
        }
    })
}

/// What a filter matches.
///
/// Where only whole files match, which ones is for the commit to find: then the change holds for whatever others have
/// committed until then. Under snapshot isolation it must not reach files that came later, so that they are named.
pub(super) fn find(view: &View, filter: &Predicate, go_on: GoOn) -> Result<Removal> {
    let scan = view.scan(filter.clone())?;
    let touched = Touched::find(&scan, go_on)?;
    let as_of_commit = view.isolation(Command::Delete)? == Isolation::Serializable && strict(scan.bound_filter());
    if touched.in_part.is_empty() && as_of_commit {
        return Ok(Removal::Whole(touched.whole));
    }
    let hits = hits(view, touched.in_part, go_on)?;
    let (all, some): (Vec<Hits>, Vec<Hits>) = hits.into_iter().partition(Hits::are_all);
    let mut files = if touched.whole == 0 { Vec::new() } else { named(view, &scan, go_on)? };
    files.extend(all.iter().map(|h| view.removable(&h.task.data_file)));
    Ok(Removal::Named(files, some))
}

fn named(view: &View, scan: &Scan, go_on: GoOn) -> Result<Vec<DataFile>> {
    Ok(whole_files(scan, go_on)?.iter().map(|f| view.removable(f)).collect())
}

/// The rows of each task that its residual keeps; tasks without such rows are left out.
fn hits(view: &View, tasks: Vec<ScanTask>, go_on: GoOn) -> Result<Vec<Hits>> {
    let rows = LiveRows::new(view, &[], false)?;
    let found = in_parallel(tasks.len(), |i| {
        let mut found = PositionSet::default();
        for placed in rows.read(&tasks[i])? {
            go_on()?;
            found.extend(placed?.positions.values()).with("path", &tasks[i].data_file.path)?;
        }
        Ok(found)
    })?;
    let all = tasks.into_iter().zip(found).map(|(task, positions)| Hits { task, positions });
    Ok(all.filter(|h| !h.positions.is_empty()).collect())
}

impl Hits {
    /// Whether these are all rows that the file has left, as far as metadata tells.
    fn are_all(&self) -> bool {
        let file = &self.task.data_file;
        let deleted = match self.task.deletes.as_slice() {
            [] => 0,
            [d] if d.file.format == FileFormat::Puffin && d.file.content == FileContent::PositionDeletes => {
                d.file.record_count
            }
            _ => return false,
        };
        let left = file.record_count.checked_sub(deleted).and_then(|n| u64::try_from(n).ok());
        left == Some(self.positions.len())
    }
}

/// Writes the files anew without these rows.
pub(super) fn rewrite_without(view: &View, hits: &[Hits], go_on: GoOn) -> Result<NewFiles> {
    let rows = LiveRows::new(view, &view.table.schema().fields, true)?;
    let (written, _) = write_each(view, hits, go_on, |hits, writer| {
        for placed in rows.read_all(&hits.task)? {
            go_on()?;
            let placed = placed?;
            let kept = BooleanArray::new(!&are_in(&placed.positions, &hits.positions), None);
            let kept = filter_record_batch(&placed.rows, &kept)
                .map_err(|e| Error::internal("rows cannot be filtered").because(e))?;
            writer.write(&kept).with("rewritten", &hits.task.data_file.path)?;
        }
        Ok(())
    })?;
    Ok(written)
}
