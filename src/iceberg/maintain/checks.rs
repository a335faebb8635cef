//! Keeping tables small and fast: expiring snapshots, removing files that nothing leads to, rewriting manifests and
//! files; and computing statistics.
//!
//! Everything here keeps to one order: first the commit, then, if it certainly is in the table, the deletion of files
//! that no snapshot of the committed version leads to. A failure between the two leaves files too many, never too
//! few.
//!
//! The property `gc.enabled=false` says that other tables share the files: then nothing is deleted.

use crate::error::{Error, Result};
use crate::iceberg::state::IcebergTable;

/// The property that says whether files of this table may be deleted.
const GC_ENABLED: &str = "gc.enabled";

/// Refuses what deletes files of a table that shares them with others.
///
/// # Errors
/// `InvalidInput` if the property `gc.enabled` is false.
pub(crate) fn check_may_delete(table: &IcebergTable) -> Result<()> {
    let enabled = table.inner.metadata.properties.get(GC_ENABLED);
    if enabled.is_some_and(|v| !v.trim().eq_ignore_ascii_case("true")) {
        return Err(Error::invalid("the table's property gc.enabled is false, so its files are not deleted")
            .with("path", table.location())
            .hint(
                "Other tables may share its files. If none does, set gc.enabled to true; dry_run shows what would go",
            ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
