//! Runs one action of maintenance.

use crate::error::{Error, Result, ResultExt};
use crate::format::deletion::Deletion;
use crate::format::maintenance::{
    ExpireOptions, Expired, Maintained, Maintenance, OrphanOptions, Orphans, PrefixMismatch,
};
use crate::paimon::commit::expire::{ExpiredFiles, expire, plan_expiry};
use crate::paimon::commit::orphans::orphan_files;
use crate::paimon::commit::retention::ExpiryRequest;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::parallel::check_cancelled;

impl PaimonTable {
    /// Runs one action. Returns the table at its newest version, and the result.
    ///
    /// # Errors
    /// `Unsupported` for actions and options that tables of this format do not have; those of the action.
    pub fn maintain(&self, action: &Maintenance) -> Result<(PaimonTable, Maintained)> {
        check_cancelled()?;
        self.metadata().check_same_table()?;
        match action {
            Maintenance::ExpireSnapshots(options) => {
                let expired = self.expire_snapshots(options)?;
                Ok((self.refresh()?, Maintained::Expired(expired)))
            }
            Maintenance::RemoveOrphanFiles(options) => {
                let orphans = self.remove_orphan_files(options)?;
                Ok((self.refresh()?, Maintained::Orphans(orphans)))
            }
            Maintenance::CompactBuckets(compaction) => {
                let (table, compacted) = self.compact(compaction)?;
                Ok((table, Maintained::Compacted(compacted)))
            }
            Maintenance::RewriteManifests(options) => {
                let (table, rewritten) = self.rewrite_manifests(options)?;
                Ok((table, Maintained::Manifests(rewritten)))
            }
            Maintenance::RewriteFileIndexes(options) => {
                let (table, rewritten) = self.rewrite_file_indexes(options)?;
                Ok((table, Maintained::FileIndexes(rewritten)))
            }
            Maintenance::ReassignRowIds(options) => {
                let (table, reassigned) = self.reassign_row_ids(options)?;
                Ok((table, Maintained::RowIds(reassigned)))
            }
            Maintenance::DropGlobalIndex(options) => {
                let (table, files) = self.drop_global_index(options)?;
                Ok((table, Maintained::DroppedFiles(files)))
            }
            Maintenance::MaterializeDeletionVectors(options) => {
                let (table, compacted) = self.materialize_deletion_vectors(options)?;
                Ok((table, Maintained::Compacted(compacted)))
            }
            other => self.maintain_folder(other),
        }
    }

    /// Runs an action on what belongs to a table besides its rows.
    fn maintain_folder(&self, action: &Maintenance) -> Result<(PaimonTable, Maintained)> {
        match action {
            Maintenance::ResetConsumer(reset) => {
                self.folder().reset_consumer(reset).with("table", self.location())?;
                Ok((self.refresh()?, Maintained::Done))
            }
            Maintenance::MarkPartitionsDone(partitions) => {
                self.mark_done(partitions).with("table", self.location())?;
                Ok((self.refresh()?, Maintained::Done))
            }
            Maintenance::SetEarliestSnapshot(id) => {
                self.folder().set_earliest(*id).with("table", self.location())?;
                Ok((self.refresh()?, Maintained::Done))
            }
            Maintenance::ComputeStatistics(options) => {
                let (table, computed) = self.compute_statistics(options).with("table", self.location())?;
                Ok((table, Maintained::Statistics(computed)))
            }
            Maintenance::RecordLoads(loads) => {
                self.folder().record_loads(loads).with("table", self.location())?;
                Ok((self.refresh()?, Maintained::Done))
            }
            Maintenance::Purge => {
                self.purge().with("table", self.location())?;
                Ok((self.refresh()?, Maintained::Done))
            }
            other => Err(PAIMON.lacks(other.name()).with("table", self.location()).hint("Java Paimon does it")),
        }
    }

    fn expire_snapshots(&self, options: &ExpireOptions) -> Result<Expired> {
        if !options.expiry.snapshot_ids.is_empty() {
            return Err(Error::unsupported("snapshots of Paimon tables can't expire by id: the oldest expire first")
                .with("table", self.location())
                .hint("Use older_than= or retain_last="));
        }
        if options.keep_files {
            return Err(Error::unsupported("an expiry that leaves files: not with tables of Apache Paimon")
                .with("table", self.location())
                .hint("Leave out delete_files=False; dry_run=True lists the files that would be removed"));
        }
        let expiry = ExpiryRequest {
            retain_min: options.expiry.retain_last,
            older_than_ms: options.expiry.older_than_ms,
            outside: options.outside.clone(),
            ..ExpiryRequest::default()
        };
        let files = match options.dry_run {
            true => plan_expiry(self.folder(), &expiry),
            false => expire(self.folder(), &expiry),
        };
        Ok(expired(files.with("table", self.location())?, !options.dry_run))
    }

    fn remove_orphan_files(&self, options: &OrphanOptions) -> Result<Orphans> {
        if options.location.is_some() {
            return Err(unsupported_argument("location", self));
        }
        if options.outside.iter().next().is_some() {
            return Err(unsupported_argument("outside_locations", self));
        }
        if options.prefix_mismatch != PrefixMismatch::default() {
            return Err(unsupported_argument("prefix_mismatch", self));
        }
        if !(options.equal_schemes.is_empty() && options.equal_authorities.is_empty()) {
            return Err(unsupported_argument("equal_schemes", self));
        }
        let files = orphan_files(self.folder(), options.older_than_ms).with("table", self.location())?;
        let mut deletion = Deletion::default();
        if !options.dry_run {
            let paths = || files.iter().map(String::as_str);
            deletion.run(&self.folder().own_folders(paths())?, paths())?;
        }
        Ok(Orphans { files, deletion })
    }
}

fn unsupported_argument(argument: &str, table: &PaimonTable) -> Error {
    Error::unsupported(format!("{argument}=: not with tables of Apache Paimon, which record file names without paths"))
        .with("table", table.location())
        .hint("Leave it out: the search covers all folders of the table")
}

fn expired(files: ExpiredFiles, deleted: bool) -> Expired {
    let is_empty = files.snapshots.is_empty() && files.changelogs.is_empty() && files.tags.is_empty();
    Expired {
        snapshots: files.snapshots,
        changelogs: files.changelogs,
        refs: files.tags,
        data_files: files.data_files,
        position_delete_files: files.index_files,
        equality_delete_files: Vec::new(),
        manifests: files.manifests,
        manifest_lists: files.manifest_lists,
        statistics_files: files.statistics_files,
        deletion: Deletion { done: deleted && !is_empty, failed: files.failed },
    }
}
