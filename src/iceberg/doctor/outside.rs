//! Files in the table's folder that the table does not lead to.

use std::sync::Mutex;

use super::examination::Examination;
use super::seen::path_hash;
use crate::error::Result;
use crate::format::diagnosis::table_codes as shared;
use crate::iceberg::maintain::listing::Listing;
use crate::iceberg::maintain::orphans::{listing_shown, metadata_paths};
use crate::parallel::{check_cancelled, locked};

/// Lists the folder.
///
/// # Errors
/// A cancellation. A folder that can't be listed is left out.
pub(super) fn check(of: &Examination<'_>) -> Result<()> {
    let mut known: std::collections::HashSet<u64> = metadata_paths(of.table).iter().map(|p| path_hash(p)).collect();
    known.extend(of.lists.manifests.iter().map(|m| path_hash(&m.path)));
    {
        let seen = of.seen();
        known.extend(seen.kept.data.iter().map(|d| d.key));
        known.extend(seen.kept.deletes.iter().map(|d| path_hash(&d.path)));
    }
    let root = match of.location.resolve(&format!("{}/x", of.metadata.location)) {
        Ok(path) => path.trim_end_matches("/x").to_owned(),
        Err(_) => return Ok(()),
    };
    let listing = Listing {
        store: of.store.as_ref(),
        root: root.clone(),
        older_than_ms: i64::MAX,
        shown: listing_shown(of.table),
    };
    let found = Mutex::new(Vec::new());
    let recorded = &of.metadata.location;
    let see = |path: &str| {
        let as_recorded = path.strip_prefix(&root).map(|rest| format!("{recorded}{rest}"));
        let is_known = known.contains(&path_hash(path)) || as_recorded.is_some_and(|p| known.contains(&path_hash(&p)));
        if !is_known {
            locked(&found).push(path.to_owned());
        }
    };
    if let Err(e) = listing.each(&see) {
        check_cancelled()?;
        let evidence = crate::format::diagnosis::finding::reason(&e);
        of.findings.add(&shared::FILE_UNREADABLE, &root, evidence);
    }
    for path in std::mem::take(&mut *locked(&found)) {
        of.findings.add(&shared::FILE_OUTSIDE, path, "nothing in the table leads to it");
    }
    Ok(())
}
