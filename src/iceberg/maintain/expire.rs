//! Expiring snapshots, and deleting the files that only they led to.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::checks::check_may_delete;
use crate::error::{Error, Result, ResultExt};
use crate::format::deletion::Deletion;
use crate::format::maintenance::{ExpireOptions, Expired, Expiry};
use crate::format::task::FileContent;
use crate::iceberg::commit::expire::expire;
use crate::iceberg::commit::own_folders::own_folders;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::reachable::{PathKeys, only_in};
use crate::iceberg::committing;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::{Snapshot, StatisticsFile};
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::TableChange;
use crate::store::Store;
use crate::types::temporal::now_ms;

impl Expired {
    /// The order of deletion: no remaining file leads to a deleted one.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let content = [&self.data_files, &self.position_delete_files, &self.equality_delete_files];
        let metadata = [&self.manifests, &self.manifest_lists, &self.statistics_files];
        content.into_iter().chain(metadata).flatten().map(String::as_str)
    }
}

/// Expiry as a change of the table. A comparison with the version that the last attempt started from shows the removed
/// snapshots.
struct Expire {
    expiry: Expiry,
    now_ms: i64,
    before: Arc<Mutex<Option<TableMetadata>>>,
}

impl TableChange for Expire {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, _: i64) -> Result<TableMetadata> {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(base.clone());
        expire(base, &self.expiry, self.now_ms)
    }

    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        expire(metadata, &self.expiry, self.now_ms).is_ok_and(|next| next == *metadata)
    }
}

impl IcebergTable {
    /// Removes expired snapshots, branches and tags in one commit. Their retention and the table's properties
    /// `history.expire.*` decide. Then deletes the files that no snapshot leads to any more. Returns the table at its
    /// new version. Nothing is committed if nothing has expired.
    ///
    /// # Errors
    /// `InvalidInput` for a snapshot that a branch or tag points to, if no snapshot would be retained, or if the
    /// property `gc.enabled` is false. `NotFound` for an unknown snapshot id; `CommitConflict` after the last retry.
    /// `CommitStateUnknown` if it is not known whether the commit happened: no file is deleted then. `CorruptTable` or
    /// errors of the store if metadata can't be read, after the commit and before any file is deleted. A cancellation.
    pub fn expire_snapshots(&self, options: &ExpireOptions) -> Result<(IcebergTable, Expired)> {
        self.writable_location()?;
        let (now_ms, newest) = (now_ms(), self.refresh()?);
        if !options.dry_run {
            check_may_delete(&newest)?;
        }
        let base = &newest.inner.metadata;
        if let Some(id) = options.expiry.snapshot_ids.iter().find(|id| base.snapshot_by_id(**id).is_none()) {
            return Err(Error::not_found("the table has no such snapshot").with("snapshot", id));
        }
        let planned = expire(base, &options.expiry, now_ms)?;
        if planned == **base {
            return Ok((newest, Expired::default()));
        }
        let store = newest.inner.store.clone();
        if options.dry_run {
            if options.keep_files {
                return Ok((newest.clone(), expired_between(base, &planned)));
            }
            let expired = expired(store.as_ref(), base, &planned).hint(
                "delete_files=False expires without reading these files; remove_orphan_files() finds them later",
            )?;
            return Ok((newest, expired));
        }
        let before = Arc::new(Mutex::new(None));
        let change = Expire { expiry: options.expiry.clone(), now_ms, before: before.clone() };
        let table = committing::commit(&newest, vec![Box::new(change)]).into_result()?;
        let before = before.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(before) = before else {
            // Another writer expired the same meanwhile, and deletes the files.
            return Ok((table, Expired::default()));
        };
        let after = &table.inner.metadata;
        if options.keep_files {
            return Ok((table.clone(), expired_between(&before, after)));
        }
        let mut expired = expired(store.as_ref(), &before, after)
            .hint("The snapshots have expired, but no file was deleted: remove_orphan_files finds them later")?;
        let mut deletion = Deletion::default();
        let own = own_folders(store.as_ref(), after).and(options.outside.iter());
        deletion.run(&own, expired.paths())?;
        expired.deletion = deletion;
        Ok((table, expired))
    }
}

/// The snapshots and references that were removed between the two versions, without files.
fn expired_between(before: &TableMetadata, after: &TableMetadata) -> Expired {
    let refs = before.refs.keys().filter(|name| !after.refs.contains_key(*name));
    Expired {
        snapshots: snapshots_gone(before, after).iter().map(|s| s.id).collect(),
        refs: refs.cloned().collect(),
        ..Expired::default()
    }
}

fn snapshots_gone(before: &TableMetadata, after: &TableMetadata) -> Vec<Arc<Snapshot>> {
    let kept: HashSet<i64> = after.snapshots.iter().map(|s| s.id).collect();
    before.snapshots.iter().filter(|s| !kept.contains(&s.id)).cloned().collect()
}

fn expired(store: &dyn Store, before: &TableMetadata, after: &TableMetadata) -> Result<Expired> {
    let keys = PathKeys::new(store);
    let files = only_in(&keys, &snapshots_gone(before, after), after)?;
    let mut out = expired_between(before, after);
    for (path, content) in files.files {
        match content {
            FileContent::Data => out.data_files.push(path),
            FileContent::PositionDeletes => out.position_delete_files.push(path),
            FileContent::EqualityDeletes => out.equality_delete_files.push(path),
        }
    }
    (out.manifests, out.manifest_lists) = (files.manifests, files.manifest_lists);
    let kept: HashSet<u64> = statistics_of(after).map(|s| keys.of(&s.path)).collect();
    let statistics = statistics_of(before).filter(|s| !kept.contains(&keys.of(&s.path)));
    out.statistics_files = statistics.map(|s| s.path.clone()).collect();
    let lists = [&mut out.data_files, &mut out.position_delete_files, &mut out.equality_delete_files];
    for list in lists.into_iter().chain([&mut out.manifests, &mut out.statistics_files]) {
        list.sort_unstable();
        list.dedup();
    }
    Ok(out)
}

fn statistics_of(metadata: &TableMetadata) -> impl Iterator<Item = &StatisticsFile> {
    metadata.statistics.iter().chain(&metadata.partition_statistics).map(|s| s.as_ref())
}
