//! Publishes a staged snapshot, or one of another branch, on `main`. `main` moves there if that is enough. Otherwise a new
//! snapshot repeats the change.
//!
//! As Java's `CherryPickOperation`: appends can be done again anywhere; overwrites of whole partitions where these have not
//! changed; other changes only by moving `main`.

use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::format::task::DataFile;
use crate::iceberg::commit::manifests::{ManifestWriter, new_snapshot_id};
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::commit::summary::{PUBLISHED_WAP_ID, REPLACE_PARTITIONS, SOURCE_ID, WAP_ID};
use crate::iceberg::manifest::entries::{ADDED, DELETED};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{Location, Store};

/// One snapshot to publish, from the first attempt to the last.
#[derive(Debug)]
pub struct CherryPick {
    store: Arc<dyn Store>,
    snapshot_id: i64,
    /// The id of a snapshot that does the same again.
    own_id: i64,
    /// What does the same again, once that was needed.
    change: Option<SnapshotProducer>,
}

impl CherryPick {
    /// Of the snapshot with this id.
    pub fn new(store: Arc<dyn Store>, snapshot_id: i64) -> CherryPick {
        CherryPick { store, snapshot_id, own_id: new_snapshot_id(), change: None }
    }

    /// The two candidates for `main`: the snapshot to publish, and one that repeats its change.
    pub fn snapshot_ids(&self) -> [i64; 2] {
        [self.snapshot_id, self.own_id]
    }

    /// The change that does the same again, if one was needed so far.
    pub fn change(&self) -> Option<&SnapshotProducer> {
        self.change.as_ref()
    }

    /// As [`CherryPick::change`].
    pub fn change_mut(&mut self) -> Option<&mut SnapshotProducer> {
        self.change.as_mut()
    }

    /// The metadata with what the snapshot did on `main`.
    ///
    /// # Errors
    /// `NotFound` if there is no such snapshot; `InvalidInput` if it is published already or can't be picked;
    /// `CommitConflict` if the partitions that it replaces have changed; as [`SnapshotProducer::prepare`].
    pub fn prepare(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        let id = self.snapshot_id;
        let picked = base.snapshot_by_id(id).cloned();
        let picked = picked.ok_or_else(|| Error::not_found("the table has no such snapshot").with("snapshot", id))?;
        let ancestors = base.current_snapshot_id.map(|id| base.ancestors(id)).unwrap_or_default();
        check_unpublished(&picked, &ancestors).with("snapshot", id)?;
        if picked.parent_id == base.current_snapshot_id {
            if let Some(mut needless) = self.change.take() {
                needless.undo();
            }
            return Ok(base.with_current_snapshot(id, now_ms));
        }
        if self.change.is_none() {
            let is_ancestor = picked.parent_id.is_none_or(|p| ancestors.iter().any(|a| a.id == p));
            let change = self.redo(base, &picked, is_ancestor).with("snapshot", id)?;
            self.change = Some(change.with_snapshot_id(self.own_id));
        }
        match &mut self.change {
            Some(change) => change.prepare(base, now_ms),
            None => Err(Error::internal("there is no change to prepare")),
        }
    }

    /// A change that does what the snapshot did.
    fn redo(&self, base: &TableMetadata, picked: &Snapshot, is_ancestor: bool) -> Result<SnapshotProducer> {
        let replaces = picked.summary.get(REPLACE_PARTITIONS).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let change = match picked.operation() {
            Some("append") => {
                let (added, _) = self.files(base, picked)?;
                SnapshotProducer::new(self.store.clone(), Operation::Append).add_files(added)
            }
            Some("overwrite") if replaces && is_ancestor => {
                let (added, removed) = self.files(base, picked)?;
                let assumptions = Preconditions {
                    since: picked.parent_id,
                    partitions: Some(added.iter().map(|f| f.partition.clone()).collect()),
                    no_new_data: true,
                    ..Preconditions::default()
                };
                let change = SnapshotProducer::new(self.store.clone(), Operation::Overwrite);
                change.add_files(added).remove_files(removed).assuming(assumptions)
            }
            Some("overwrite") if replaces => {
                return Err(Error::invalid(
                    "the snapshot replaces partitions of a version that `main` does not come from",
                )
                .hint("Run the overwrite again on the newest version"));
            }
            _ => {
                return Err(Error::invalid(
                    "only appends and overwrites of whole partitions can be published on top of other commits",
                )
                .with("operation", picked.operation().unwrap_or("unknown"))
                .hint("Run the operation again on the newest version"));
            }
        };
        let published = picked.summary.get(WAP_ID).map(|wap| (PUBLISHED_WAP_ID.to_owned(), wap.clone()));
        Ok(change.with_summary(published.into_iter().chain([(SOURCE_ID.to_owned(), picked.id.to_string())])))
    }

    /// The data files that a snapshot added and removed.
    fn files(&self, base: &TableMetadata, snapshot: &Snapshot) -> Result<(Vec<DataFile>, Vec<DataFile>)> {
        let reader = ManifestWriter::new(self.store.clone());
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for m in load_manifests(self.store.as_ref(), &Location::recorded(), snapshot)? {
            if m.content != ManifestContent::Data || m.added_snapshot_id.is_some_and(|id| id != snapshot.id) {
                continue;
            }
            for entry in reader.read(base, &m)? {
                if entry.snapshot_id == Some(snapshot.id) {
                    match entry.status {
                        ADDED => added.push(entry.file),
                        DELETED => removed.push(entry.file),
                        _ => {}
                    }
                }
            }
        }
        Ok((added, removed))
    }
}

/// Refuses a snapshot that `main` has, or whose work it has under another id.
fn check_unpublished(picked: &Snapshot, ancestors: &[&Arc<Snapshot>]) -> Result<()> {
    let source = picked.id.to_string();
    let wap = picked.summary.get(WAP_ID).filter(|id| !id.is_empty());
    for ancestor in ancestors {
        if ancestor.id == picked.id || ancestor.summary.get(SOURCE_ID) == Some(&source) {
            return Err(Error::invalid("the snapshot is published already").with("published", ancestor.id));
        }
        let same = |key: &str| wap.is_some() && ancestor.summary.get(key) == wap;
        if same(WAP_ID) || same(PUBLISHED_WAP_ID) {
            let e = Error::invalid("a snapshot of this wap.id is published already").with("published", ancestor.id);
            return Err(e.with("wap.id", wap.map_or("", String::as_str)));
        }
    }
    Ok(())
}
