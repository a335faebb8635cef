//! Removes everything but the table itself: rows, branches, tags, consumers, changelogs, old snapshots, unused files.
//!
//! Source: Java's `FileStoreTable.purgeFiles`.

use crate::error::{Result, ResultExt};
use crate::format::deletion::Deletion;
use crate::format::maintenance::ConsumerReset;
use crate::paimon::commit::changes::{Changes, Replaced};
use crate::paimon::commit::expire::{consumers, drop_tag, expire};
use crate::paimon::commit::orphans::orphan_files;
use crate::paimon::commit::producer::Commit;
use crate::paimon::commit::retention::ExpiryRequest;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;
use crate::types::temporal::now_ms;

impl PaimonTable {
    /// Purges the table. One snapshot without rows stays. If it is interrupted, a second call completes it.
    ///
    /// # Errors
    /// Those of the store and of the commit.
    pub(crate) fn purge(&self) -> Result<()> {
        let folder = self.folder();
        folder.branches()?.iter().try_for_each(|name| folder.drop_branch(name).if_found().map(drop))?;
        folder.tag_names()?.iter().try_for_each(|name| drop_tag(folder, name).if_found().map(drop))?;
        for (consumer, _) in consumers(folder)? {
            folder.reset_consumer(&ConsumerReset { consumer, next_snapshot: None })?;
        }
        if folder.latest_snapshot()?.is_some() {
            let commit = Commit::new(folder, Changes::default()).overwriting(Replaced::Everything);
            commit.run().into_result()?;
        }
        folder.drop_changelogs_from(0)?;
        let request = || ExpiryRequest {
            retain_min: Some(1),
            retain_max: Some(1),
            older_than_ms: Some(now_ms().saturating_add(1)),
            limit: Some(i64::MAX),
            changelogs_as_snapshots: true,
            ..ExpiryRequest::default()
        };
        expire(folder, &request())?;
        folder.drop_changelogs_from(0)?;
        check_cancelled()?;
        let older_than_ms = Some(now_ms().saturating_add(1));
        let unused = orphan_files(folder, older_than_ms)?;
        let paths = || unused.iter().map(String::as_str);
        Deletion::default().run(&folder.own_folders(paths())?, paths())
    }
}
