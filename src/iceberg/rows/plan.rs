//! Which files a filter touches.

use crate::error::Result;
use crate::format::task::{DataFile, ScanTask};
use crate::iceberg::plan::planner::Plan;
use crate::iceberg::scan::handle::Scan;
use crate::iceberg::scan::statistics::keeps_every_row;

/// The files that may have matching rows.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Files of which metadata proves that every row matches.
    pub whole: usize,
    /// The others.
    pub in_part: Vec<ScanTask>,
}

impl Touched {
    /// By the filter of a scan. Files that match as a whole cost no object each.
    ///
    /// # Errors
    /// As [`Plan::start`]; a cancellation.
    pub fn find(scan: &Scan) -> Result<Touched> {
        let mut out = Touched::default();
        let mut plan = Plan::start(scan.plan_input())?;
        while let Some(batch) = plan.next_batch()? {
            for (k, row) in batch.rows.iter().enumerate() {
                if keeps_every_row(&batch, *row as usize)? {
                    out.whole += 1;
                } else {
                    out.in_part.push(batch.task(k)?);
                }
            }
        }
        Ok(out)
    }

    /// All files that may have matching rows.
    ///
    /// # Errors
    /// As [`Touched::find`].
    pub fn all(scan: &Scan) -> Result<Vec<ScanTask>> {
        let mut out = Vec::new();
        let mut plan = Plan::start(scan.plan_input())?;
        while let Some(batch) = plan.next_batch()? {
            (0..batch.rows.len()).try_for_each(|k| batch.task(k).map(|task| out.push(task)))?;
        }
        Ok(out)
    }
}

/// The files of a scan of which metadata proves that every row matches.
///
/// # Errors
/// As [`Touched::find`].
pub(crate) fn whole_files(scan: &Scan) -> Result<Vec<DataFile>> {
    let mut out = Vec::new();
    let mut plan = Plan::start(scan.plan_input())?;
    while let Some(batch) = plan.next_batch()? {
        for row in batch.rows.iter().map(|row| *row as usize) {
            if keeps_every_row(&batch, row)? {
                out.push(batch.columns.data_file(row, batch.group(row)?.partition.clone())?);
            }
        }
    }
    Ok(out)
}
