//! The files that a filter touches.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::format::task::{DataFile, ScanTask};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::rows::view::View;
use crate::iceberg::scan::coverage::keeps_every_row;
use crate::iceberg::scan::handle::IcebergScan;
use crate::store::location::normalised;

/// The files that may have matching rows.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// The number of files whose rows all match, as metadata proves.
    pub whole: usize,
    /// The others.
    pub in_part: Vec<ScanTask>,
}

impl Touched {
    /// Plans by the filter of a scan. Files that match as a whole are only counted, to save memory.
    ///
    /// # Errors
    /// As [`RunningPlan::start`]; a cancellation.
    pub(crate) fn find(scan: &IcebergScan) -> Result<Touched> {
        let mut out = Touched::default();
        let mut plan = RunningPlan::start(scan.plan_input())?;
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
    pub(crate) fn all(scan: &IcebergScan) -> Result<Vec<ScanTask>> {
        let mut out = Vec::new();
        let mut plan = RunningPlan::start(scan.plan_input())?;
        while let Some(batch) = plan.next_batch()? {
            (0..batch.rows.len()).try_for_each(|k| batch.task(k).map(|task| out.push(task)))?;
        }
        Ok(out)
    }
}

/// The files of a scan whose rows all match, as metadata proves.
///
/// # Errors
/// As [`Touched::find`].
pub(crate) fn whole_files(scan: &IcebergScan) -> Result<Vec<DataFile>> {
    let mut out = Vec::new();
    let mut plan = RunningPlan::start(scan.plan_input())?;
    while let Some(batch) = plan.next_batch()? {
        for row in batch.rows.iter().map(|row| *row as usize) {
            if keeps_every_row(&batch, row)? {
                out.push(batch.columns.data_file(row, batch.group(row)?.partition.clone())?);
            }
        }
    }
    Ok(out)
}

/// The tasks of data files, found by a filter of their rows. `wanted` are normalised paths (`normalise`).
///
/// # Errors
/// `InvalidInput` if the filter does not find one of them; `Unsupported` for a file that the table lists twice.
pub(crate) fn tasks_of(view: &View, filter: &Predicate, wanted: &HashSet<&str>) -> Result<Vec<ScanTask>> {
    let mut out: Vec<ScanTask> = Vec::with_capacity(wanted.len());
    if wanted.is_empty() {
        return Ok(out);
    }
    let mut found: HashSet<&str> = HashSet::new();
    let mut plan = RunningPlan::start(view.scan(filter.clone())?.plan_input())?;
    while let Some(batch) = plan.next_batch()? {
        for (k, row) in batch.rows.iter().enumerate() {
            let path = batch.columns.path.get(*row as usize).and_then(|path| std::str::from_utf8(path).ok());
            let Some(known) = path.and_then(|path| wanted.get(normalised(path).as_ref())) else { continue };
            if !found.insert(known) {
                return Err(Error::unsupported(
                    "a data file is in the table more than once, which parts of a change can't tell apart",
                )
                .with("path", known)
                .hint("Compact the table with rewrite_all=True first, or change it with the table's own methods"));
            }
            out.push(batch.task(k)?);
        }
    }
    match wanted.iter().find(|path| !found.contains(*path)) {
        None => Ok(out),
        Some(path) => Err(Error::invalid("the table has no such data file at this version").with("path", path)),
    }
}
