//! Writing manifests anew.

use std::collections::HashSet;

use crate::error::Result;
use crate::format::maintenance::{ManifestOptions, RewrittenManifests};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::rewrite::ManifestRewrite;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::IcebergTable;
use crate::store::Location;

impl IcebergTable {
    /// Writes the manifests of a branch anew, sorted by partition and as large as the property
    /// `commit.manifest.target-size-bytes` says, in a snapshot of operation `replace`. Returns the table at its new
    /// version. Nothing is committed if there is nothing to gain: a single manifest that is not too large.
    ///
    /// # Errors
    /// `InvalidInput` for a spec that there is not or a target below 1; `NotFound` for a branch that there is not;
    /// `CommitConflict` after the last retry; `CommitStateUnknown` if it can't be told whether the commit happened; the
    /// store's; `CorruptTable` if a manifest is.
    pub fn rewrite_manifests(&self, options: &ManifestOptions) -> Result<(IcebergTable, RewrittenManifests)> {
        self.writable_location()?;
        let newest = self.refresh()?;
        let branch = options.commit.branch.as_deref().unwrap_or(crate::iceberg::spec::metadata::MAIN_BRANCH);
        let rewrite = ManifestRewrite::new(options.spec_id, options.target_bytes);
        let before = manifests(&newest, &newest.inner.metadata, branch)?;
        let groups = rewrite.groups(&newest.inner.metadata, &before)?;
        if groups.is_empty() || options.dry_run {
            let rewritten = groups.into_iter().flat_map(|(group, _)| group).map(|m| m.path).collect();
            return Ok((newest, RewrittenManifests { rewritten, added: Vec::new() }));
        }
        let change = SnapshotProducer::new(newest.inner.store.clone(), Operation::Replace).rewriting_manifests(rewrite);
        let change = options.commit.apply(change, &newest)?;
        let id = change.snapshot_id();
        let table = committing::commit(&newest, vec![Box::new(change)]).into_result()?;
        let metadata = &table.inner.metadata;
        let Some(snapshot) = metadata.snapshot_by_id(id) else { return Ok((table, RewrittenManifests::default())) };
        let list = |snapshot| load_manifests(table.inner.store.as_ref(), &Location::recorded(), snapshot);
        let after = list(snapshot)?;
        let parent = snapshot.parent_id.and_then(|id| metadata.snapshot_by_id(id));
        let before = parent.map(|s| list(s)).transpose()?.unwrap_or_default();
        let kept: HashSet<&str> = after.iter().map(|m| m.path.as_str()).collect();
        let rewritten = before.iter().filter(|m| !kept.contains(m.path.as_str())).map(|m| m.path.clone()).collect();
        let added = after.iter().filter(|m| m.added_snapshot_id == Some(id)).map(|m| m.path.clone()).collect();
        Ok((table.clone(), RewrittenManifests { rewritten, added }))
    }
}

fn manifests(
    table: &IcebergTable,
    metadata: &TableMetadata,
    branch: &str,
) -> Result<Vec<crate::iceberg::manifest::list::ManifestFile>> {
    match metadata.snapshot_of_ref(branch)? {
        Some(snapshot) => load_manifests(table.inner.store.as_ref(), &Location::recorded(), snapshot),
        None => Ok(Vec::new()),
    }
}
