//! A scan's splits, packed as they are planned without an object for each file. For drivers that only pass them on.

use std::sync::Arc;

use crate::error::Result;
use crate::expr::BoundPredicate;
use crate::format::packed_splits::{PackedSplits, Splits};
use crate::format::splits;
use crate::format::splits::{Piece, SplitPlan, SplitRequest};
use crate::format::task::{Partition, ScanTask};
use crate::format::wire::packed::pack_plain_tasks;
use crate::format::wire::plain::{PlainTask, PlainTaskFile};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::scan::handle::IcebergScan;
use crate::parallel::check_cancelled;

/// The planned files of a scan, not packed yet.
pub(crate) enum PlannedReads {
    /// Files whose tasks all have the form of [`PlannedRow`].
    Plain(Vec<PlannedBatch>),
    /// Any tasks.
    Tasks(Vec<ScanTask>),
}

impl PlannedReads {
    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        match self {
            PlannedReads::Plain(batches) => batches.iter().map(|batch| batch.rows.len()).sum(),
            PlannedReads::Tasks(tasks) => tasks.len(),
        }
    }

    /// The tasks.
    pub(crate) fn into_tasks(self) -> Result<Vec<ScanTask>> {
        match self {
            PlannedReads::Plain(batches) => {
                let mut tasks = Vec::new();
                batches.into_iter().try_for_each(|batch| add_tasks(&batch, &mut tasks))?;
                Ok(tasks)
            }
            PlannedReads::Tasks(tasks) => Ok(tasks),
        }
    }
}

impl IcebergScan {
    /// As [`IcebergScan::splits`], but packed from this number of files on. Scans with deletes or of changes are not
    /// packed.
    ///
    /// # Errors
    /// As [`IcebergScan::splits`].
    pub fn splits_or_packed(&self, request: SplitRequest, pack_from: usize) -> Result<Splits> {
        let packing = self.split_plan(request)?;
        let (scan, planned) = self.planned(pack_from)?;
        scan.pack_planned(planned, &packing, pack_from)
    }

    /// Plans the files, and returns the scan that reads them. Batches are kept only while all of them can be packed:
    /// with many deletes they are large.
    pub(crate) fn planned(&self, pack_from: usize) -> Result<(IcebergScan, PlannedReads)> {
        let (scan, mut plan) = self.begun(false)?;
        let (mut plain, mut tasks) = ((pack_from < usize::MAX).then(Vec::new), Vec::new());
        while let Some(batch) = plan.next_batch()? {
            if let Some(batches) = plain.as_mut().filter(|_| is_plain(&batch)) {
                batches.push(batch);
                continue;
            }
            let before = plain.take().unwrap_or_default();
            before.into_iter().chain([batch]).try_for_each(|batch| add_tasks(&batch, &mut tasks))?;
        }
        Ok((scan, plain.map_or(PlannedReads::Tasks(tasks), PlannedReads::Plain)))
    }

    /// Splits of the planned files.
    pub(crate) fn pack_planned(&self, planned: PlannedReads, plan: &SplitPlan, pack_from: usize) -> Result<Splits> {
        if let PlannedReads::Plain(batches) = &planned {
            let splits = splits::pack(batches.iter().flat_map(PlannedRow::all).collect(), plan)?;
            if splits.len() >= pack_from {
                let (context, packed) = (self.context().clone(), pack_plain_tasks(&splits)?);
                return Ok(Splits::Packed(PackedSplits { context, count: splits.len(), packed }));
            }
        }
        Ok(Splits::Each(self.pack(planned.into_tasks()?, plan)?))
    }
}

fn add_tasks(batch: &PlannedBatch, tasks: &mut Vec<ScanTask>) -> Result<()> {
    check_cancelled()?;
    tasks.reserve(batch.rows.len());
    (0..batch.rows.len()).try_for_each(|k| batch.task(k).map(|task| tasks.push(task)))
}

/// Whether all tasks of a batch have the form of [`PlannedRow`].
fn is_plain(batch: &PlannedBatch) -> bool {
    batch.change.is_none() && batch.rows.iter().enumerate().all(|(k, row)| batch.is_plain(k, *row as usize))
}

/// A range of a file of a batch, which has no deletes.
#[derive(Clone, Copy)]
struct PlannedRow<'a> {
    batch: &'a PlannedBatch,
    row: usize,
    start: i64,
    length: i64,
}

impl<'a> PlannedRow<'a> {
    fn all(batch: &'a PlannedBatch) -> impl Iterator<Item = PlannedRow<'a>> {
        let size = |row: usize| batch.columns.size_bytes.get(row).copied().unwrap_or_default();
        let whole = move |row| PlannedRow { batch, row, start: 0, length: size(row) };
        batch.rows.iter().map(move |row| whole(*row as usize))
    }
}

impl Piece for PlannedRow<'_> {
    fn range(&self) -> (i64, i64) {
        (self.start, self.length)
    }

    fn with_range(&self, start: i64, length: i64) -> Self {
        PlannedRow { start, length, ..*self }
    }

    fn size_bytes(&self) -> i64 {
        self.batch.columns.size_bytes.get(self.row).copied().unwrap_or_default()
    }

    fn split_offsets(&self) -> Option<&[i64]> {
        self.batch.columns.split_offsets.get(self.row)
    }

    fn deletes(&self) -> (i64, i64) {
        (0, 0)
    }

    fn is_of_same_file(&self, other: &Self) -> bool {
        let path = |row: &Self| row.batch.columns.path.get(row.row);
        path(self) == path(other)
    }
}

impl<'a> PlainTask<'a> for PlannedRow<'a> {
    fn file_key(&self) -> (usize, usize) {
        (std::ptr::from_ref(self.batch) as usize, self.row)
    }

    fn file(&self) -> Result<PlainTaskFile<'a>> {
        self.batch.columns.plain_file(self.row)
    }

    fn partition(&self) -> Result<&'a Arc<Partition>> {
        Ok(&self.batch.group(self.row)?.partition)
    }

    fn range(&self) -> (i64, i64) {
        (self.start, self.length)
    }

    fn residual(&self) -> Result<Arc<BoundPredicate>> {
        self.batch.residual(self.row)
    }
}

#[cfg(test)]
#[path = "packed_splits_tests.rs"]
mod tests;
