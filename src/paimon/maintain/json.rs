//! Maintenance by name, with arguments and result as JSON.

use serde_json::json;

use crate::error::{Error, Result, ResultExt};
use crate::format::deletion::Deletion;
use crate::format::maintenance::PrefixMismatch;
use crate::format::wire::arguments::{Arguments, failed_json};
use crate::paimon::commit::expire::{ExpiredFiles, expire, plan_expiry};
use crate::paimon::commit::orphans::orphan_files;
use crate::paimon::commit::retention::ExpiryRequest;
use crate::paimon::maintain::compact_json;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;

impl PaimonTable {
    /// Runs one action: `expire_snapshots`, `remove_orphan_files` or `compact`. Gives the table at its newest version,
    /// and the result as a JSON object.
    ///
    /// # Errors
    /// `Unsupported` for other actions; `InvalidInput` for arguments that it does not take; those of the action.
    pub fn maintain(&self, action: &str, arguments: &str) -> Result<(PaimonTable, String)> {
        check_cancelled()?;
        self.metadata().check_same_table()?;
        let mut arguments = Arguments::parse(arguments)?;
        let result = match action {
            "expire_snapshots" => self.expire_snapshots(&mut arguments)?,
            "remove_orphan_files" => self.remove_orphan_files(&mut arguments)?,
            "compact" => return compact_json::compact(self, &mut arguments),
            other => {
                return Err(Error::unsupported(format!("{other}: not with tables of Apache Paimon yet"))
                    .with("table", self.location())
                    .hint("Java Paimon does it"));
            }
        };
        Ok((self.refresh()?, result))
    }

    fn expire_snapshots(&self, arguments: &mut Arguments) -> Result<String> {
        let options = arguments.expire()?;
        arguments.check_used()?;
        if !options.expiry.snapshot_ids.is_empty() {
            return Err(Error::unsupported("snapshots of Paimon expire from the oldest one on, not one by one")
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
            ..ExpiryRequest::default()
        };
        let expired = match options.dry_run {
            true => plan_expiry(self.folder(), &expiry),
            false => expire(self.folder(), &expiry),
        };
        Ok(expired_json(&expired.with("table", self.location())?, !options.dry_run))
    }

    fn remove_orphan_files(&self, arguments: &mut Arguments) -> Result<String> {
        let options = arguments.orphans()?;
        arguments.check_used()?;
        if options.location.is_some() {
            return Err(unlike_icebergs("location", self));
        }
        if options.prefix_mismatch != PrefixMismatch::default() {
            return Err(unlike_icebergs("prefix_mismatch", self));
        }
        if !(options.equal_schemes.is_empty() && options.equal_authorities.is_empty()) {
            return Err(unlike_icebergs("equal_schemes", self));
        }
        let files = orphan_files(self.folder(), options.older_than_ms).with("table", self.location())?;
        let mut deletion = Deletion::default();
        if !options.dry_run {
            deletion.run(self.folder().store().as_ref(), files.iter().map(String::as_str))?;
        }
        let out = json!({"files": files, "deleted": deletion.done, "failed": failed_json(&deletion)});
        Ok(out.to_string())
    }
}

fn unlike_icebergs(argument: &str, table: &PaimonTable) -> Error {
    Error::unsupported(format!("{argument}=: not with tables of Apache Paimon, which record file names without paths"))
        .with("table", table.location())
        .hint("Leave it out: the search covers all folders of the table")
}

fn expired_json(expired: &ExpiredFiles, deleted: bool) -> String {
    let is_empty = expired.snapshots.is_empty() && expired.changelogs.is_empty() && expired.tags.is_empty();
    let out = json!({
        "snapshots": expired.snapshots,
        "changelogs": expired.changelogs,
        "refs": expired.tags,
        "data_files": expired.data_files,
        "position_delete_files": expired.index_files,
        "equality_delete_files": [],
        "manifests": expired.manifests,
        "manifest_lists": expired.manifest_lists,
        "statistics_files": expired.statistics_files,
        "deleted": deleted && !is_empty,
        "failed": {},
    });
    out.to_string()
}
