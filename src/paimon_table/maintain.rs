//! Upkeep by name, with arguments and result as JSON, as of Iceberg's tables.

use serde_json::json;

use super::PaimonTable;
use crate::error::{Error, Result, ResultExt};
use crate::maintain::Arguments;
use crate::paimon::expire::{Expired, Expiry, expire, plan_expiry};
use crate::paimon_compact;
use crate::workers::GoOn;

impl PaimonTable {
    /// Runs one action: `expire_snapshots` or `compact`. Gives the table at its newest version, and the result as a JSON object.
    ///
    /// # Errors
    /// `Unsupported` for other actions; `InvalidInput` for arguments that it does not take; those of the action.
    pub fn maintain(&self, action: &str, arguments: &str, go_on: GoOn) -> Result<(PaimonTable, String)> {
        go_on()?;
        let mut arguments = Arguments::parse(arguments)?;
        let result = match action {
            "expire_snapshots" => self.expire_snapshots(&mut arguments)?,
            "compact" => return paimon_compact::compact(self, &mut arguments, go_on),
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
            return Err(Error::unsupported("snapshots of Paimon expire from the oldest on, not one by one")
                .with("table", self.location())
                .hint("Say older_than= or retain_last="));
        }
        if options.keep_files {
            return Err(Error::unsupported("an expiry that leaves files: not with tables of Apache Paimon")
                .with("table", self.location())
                .hint("Leave out delete_files=False; dry_run=True tells what would go"));
        }
        let expiry = Expiry {
            retain_min: options.expiry.retain_last,
            older_than_ms: options.expiry.older_than_ms,
            ..Expiry::default()
        };
        let expired = match options.dry_run {
            true => plan_expiry(self.folder(), &expiry),
            false => expire(self.folder(), &expiry),
        };
        Ok(expired_json(&expired.with("table", self.location())?, !options.dry_run))
    }
}

fn expired_json(expired: &Expired, deleted: bool) -> String {
    let out = json!({
        "snapshots": expired.snapshots,
        "refs": [],
        "data_files": expired.data_files,
        "position_delete_files": expired.index_files,
        "equality_delete_files": [],
        "manifests": expired.manifests,
        "manifest_lists": expired.manifest_lists,
        "statistics_files": expired.statistics_files,
        "deleted": deleted && !expired.snapshots.is_empty(),
        "failed": {},
    });
    out.to_string()
}
