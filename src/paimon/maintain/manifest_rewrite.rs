//! Joins manifests into fewer ones, in a snapshot of kind `COMPACT` that adds and removes no file.
//!
//! Source: Java's `FileStoreCommitImpl.compactManifest`.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::format::maintenance::{ManifestOptions, RewrittenManifests};
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::merge::can_join;
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// Joins small manifests and drops the entries of removed files. Returns the table at its new version.
    ///
    /// # Errors
    /// `Unsupported` for partition specs and sizes; those of the commit.
    pub(crate) fn rewrite_manifests(&self, options: &ManifestOptions) -> Result<(PaimonTable, RewrittenManifests)> {
        let no = |what: &str, hint: &str| {
            Err(Error::unsupported(format!("{what}: not with tables of Apache Paimon"))
                .with("table", self.location())
                .hint(hint))
        };
        if options.spec_id.is_some() {
            return no("spec_id=", "Leave it out: a table has one partitioning");
        }
        if options.target_bytes.is_some() {
            return no("target_size_bytes=", "Set the table's option 'manifest.target-file-size'");
        }
        let table = self.newest_of(options.commit.branch.as_deref())?;
        if options.dry_run {
            let rewritten = table.joinable()?.unwrap_or_default();
            let rewritten = rewritten.into_iter().map(|m| m.file_name).collect();
            return Ok((self.refresh()?, RewrittenManifests { rewritten, added: Vec::new() }));
        }
        let mut before = Vec::new();
        let mut plan = || -> Result<Option<Commit>> {
            let newest = table.refresh()?;
            let commit = || Commit::new(newest.folder(), Changes::default()).compacting().joining_manifests();
            let properties = || options.commit.snapshot_properties.clone();
            let only_on = newest.metadata().snapshot.as_ref().map(|s| s.id);
            let Some(joinable) = newest.joinable()? else { return Ok(None) };
            before = names(joinable);
            Ok(Some(commit().with_properties(properties()).only_on(only_on)))
        };
        match run_planned(&mut plan).into_result()? {
            None => Ok((self.refresh()?, RewrittenManifests::default())),
            Some(snapshot) => {
                let after = names(data_manifests(self.folder().manifests(), &snapshot)?);
                Ok((self.after_commit()?, RewrittenManifests::between(&before, &after)))
            }
        }
    }

    /// The manifests of the latest snapshot, if some of them can be joined.
    fn joinable(&self) -> Result<Option<Vec<PaimonManifestFile>>> {
        let Some(snapshot) = &self.metadata().snapshot else { return Ok(None) };
        let manifests = data_manifests(self.folder().manifests(), snapshot)?;
        Ok(can_join(self.table_schema(), &manifests)?.then_some(manifests))
    }
}

impl RewrittenManifests {
    /// The manifests that a snapshot no longer lists, and those that it lists first.
    fn between(before: &[String], after: &[String]) -> RewrittenManifests {
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            let others: HashSet<&String> = others.iter().collect();
            all.iter().filter(|name| !others.contains(name)).cloned().collect()
        };
        RewrittenManifests { rewritten: without(before, after), added: without(after, before) }
    }
}

fn names(manifests: Vec<PaimonManifestFile>) -> Vec<String> {
    manifests.into_iter().map(|m| m.file_name).collect()
}
