//! Checks that files of a table may be deleted.
//!
//! Every action keeps one order. The commit comes first. Only when it is certainly in the table, files are deleted that
//! no snapshot of the committed version leads to. A failure between the two leaves extra files, but never removes
//! needed ones.
//!
//! The property `gc.enabled=false` says that other tables share the files: then nothing is deleted.

use crate::error::{Error, Result};
use crate::iceberg::state::IcebergTable;

/// The property that says whether files of this table may be deleted.
const GC_ENABLED: &str = "gc.enabled";

/// Refuses to delete files of a table that shares them with other tables.
///
/// # Errors
/// `InvalidInput` if the property `gc.enabled` is false.
pub(crate) fn check_may_delete(table: &IcebergTable) -> Result<()> {
    let enabled = table.inner.metadata.properties.get(GC_ENABLED);
    if enabled.is_some_and(|v| !v.trim().eq_ignore_ascii_case("true")) {
        return Err(Error::invalid("the table's property gc.enabled is false, so its files are not deleted")
            .with("path", table.location())
            .hint("Other tables may share its files. If none does, set gc.enabled to true; dry_run lists the files"));
    }
    Ok(())
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
