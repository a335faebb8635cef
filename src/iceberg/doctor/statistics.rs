//! Statistics files and the files of the metadata log.

use super::codes;
use super::examination::Examination;
use super::file_checks::puffin_footer;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::finding::Looked;
use crate::iceberg::spec::snapshot::StatisticsFile;
use crate::parallel::{check_cancelled, in_parallel_on};

/// Checks them all.
///
/// # Errors
/// A cancellation.
pub(super) fn check(of: &Examination<'_>) -> Result<()> {
    let metadata = of.metadata;
    let files: Vec<(&StatisticsFile, bool)> = (metadata.statistics.iter().map(|f| (f.as_ref(), true)))
        .chain(metadata.partition_statistics.iter().map(|f| (f.as_ref(), false)))
        .collect();
    in_parallel_on(of.store.at_once(), files.len(), |i| {
        check_cancelled()?;
        let (file, is_puffin) = files[i];
        file_of(of, file, is_puffin)
    })?;
    let log = &metadata.metadata_log;
    in_parallel_on(of.store.at_once(), log.len(), |i| {
        check_cancelled()?;
        let path = &log[i].metadata_file;
        let found = of.location.resolve(path).and_then(|real| of.store.exists(&real));
        if matches!(found, Ok(false)) {
            of.findings.add(&codes::METADATA_LOG_MISSING, path, format!("the entry of {} ms", log[i].timestamp_ms));
        }
        Ok(())
    })?;
    Ok(())
}

fn file_of(of: &Examination<'_>, file: &StatisticsFile, is_puffin: bool) -> Result<()> {
    of.findings.looked(Looked::File);
    let findings = of.findings;
    if of.metadata.snapshot_by_id(file.snapshot_id).is_none() {
        findings.add(&codes::STATISTICS_UNKNOWN, &file.path, format!("snapshot {}", file.snapshot_id));
    }
    let Ok(real) = of.location.resolve(&file.path) else { return Ok(()) };
    match of.store.size(&real) {
        Ok(size) if i64::try_from(size) != Ok(file.size_bytes) => {
            let evidence = format!("{} bytes are recorded, the file has {size}", file.size_bytes);
            findings.add(&codes::STATISTICS_DAMAGED, &file.path, evidence);
            return Ok(());
        }
        Ok(_) => {}
        Err(e) => {
            check_cancelled()?;
            if e.kind() == ErrorKind::NotFound {
                findings.add(&codes::STATISTICS_MISSING, &file.path, format!("snapshot {}", file.snapshot_id));
            }
            return Ok(());
        }
    }
    if is_puffin && let Err(e) = puffin_footer(of, &real) {
        findings.failed(&codes::STATISTICS_MISSING, &codes::STATISTICS_DAMAGED, &file.path, &e)?;
    }
    Ok(())
}
