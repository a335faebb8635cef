//! Keeping tables small and fast: expiring snapshots, removing files that nothing leads to, rewriting manifests and files;
//! and computing statistics.
//!
//! Everything here keeps to one order: first the commit, then, if it certainly is in the table, the deletion of files that no
//! snapshot of the committed version leads to. A failure between the two leaves files too many, never too few.
//!
//! The property `gc.enabled=false` says that other tables share the files: then nothing is deleted.

mod compact;
mod compact_order;
mod compact_plan;
mod delete_parts;
mod deletes;
mod deletion;
mod expire;
mod json;
mod listing;
mod live_deletes;
mod manifests;
mod orphan_parts;
mod orphans;
mod partition_statistics;
mod parts;
mod parts_json;
mod statistics;

pub use self::compact::{CompactOptions, Compacted};
pub use self::compact_order::FileOrder;
pub use self::compact_plan::CompactRules;
pub use self::delete_parts::{DeletePart, PartedDeletes};
pub use self::deletes::{DeleteOptions, RewrittenDeletes};
pub use self::deletion::{Deletion, NotDeleted};
pub use self::expire::{ExpireOptions, Expired};
pub use self::json::maintain;
pub(crate) use self::json::{Arguments, failed_json, texts};
pub use self::manifests::{ManifestOptions, RewrittenManifests};
pub use self::orphan_parts::{Listed, PartedListing, PartedMetadata, Reachable};
pub use self::orphans::{OrphanOptions, Orphans, PrefixMismatch};
pub use self::parts::{PartWriter, PartedCompaction, PartedGroup};
pub use self::statistics::{ComputedStatistics, StatisticsOptions};

use crate::error::{Error, Result};
use crate::table::Table;

/// The property that says whether files of this table may be deleted.
const GC_ENABLED: &str = "gc.enabled";

/// Refuses what deletes files of a table that shares them with others.
///
/// # Errors
/// `InvalidInput` if the property `gc.enabled` is false.
fn check_may_delete(table: &Table) -> Result<()> {
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
#[path = "maintain/maintain_tests.rs"]
mod tests;
