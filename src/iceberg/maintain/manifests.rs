//! Rewriting manifests.

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
    /// Rewrites the manifests of a branch, sorted by partition. The property `commit.manifest.target-size-bytes` sets
    /// their size. The snapshot's operation is `replace`. Returns the table at its new version. Nothing is committed
    /// for a single manifest that is not too large.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown spec or a target below 1; `NotFound` for an unknown branch; `CommitConflict`
    /// after the last retry. `CommitStateUnknown` if it is not known whether the commit happened. Errors of the store;
    /// `CorruptTable` for a corrupt manifest.
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
