//! Publishes a staged snapshot, or one of another branch, on `main`. If possible, `main` just moves to the snapshot.
//! Otherwise a new snapshot repeats the change.
//!
//! This follows Java's `CherryPickOperation`. An append can always be repeated. An overwrite of whole partitions can be
//! repeated if these have not changed. Other changes can only be published by moving `main`.

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

/// The publication of one snapshot, over all attempts.
#[derive(Debug)]
pub(crate) struct CherryPick {
    store: Arc<dyn Store>,
    snapshot_id: i64,
    /// The id of the snapshot that repeats the change.
    own_id: i64,
    /// The change that repeats the snapshot, once an attempt needed it.
    change: Option<SnapshotProducer>,
}

impl CherryPick {
    /// Creates the publication of the snapshot with this id.
    pub(crate) fn new(store: Arc<dyn Store>, snapshot_id: i64) -> CherryPick {
        CherryPick { store, snapshot_id, own_id: new_snapshot_id(), change: None }
    }

    /// The two snapshots that `main` may move to: the published one, and the one that repeats its change.
    pub(crate) fn snapshot_ids(&self) -> [i64; 2] {
        [self.snapshot_id, self.own_id]
    }

    /// The change that repeats the snapshot, if an attempt needed it.
    pub(crate) fn change(&self) -> Option<&SnapshotProducer> {
        self.change.as_ref()
    }

    /// Mutable form of [`CherryPick::change`].
    pub(crate) fn change_mut(&mut self) -> Option<&mut SnapshotProducer> {
        self.change.as_mut()
    }

    /// Builds the metadata with the snapshot's change on `main`.
    ///
    /// # Errors
    /// - `NotFound` if the snapshot does not exist.
    /// - `InvalidInput` if it is already published or can't be published this way.
    /// - `CommitConflict` if the partitions that it replaces have changed.
    /// - Errors of [`SnapshotProducer::prepare`].
    pub(crate) fn prepare(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
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

    /// Builds a change that repeats the snapshot.
    fn redo(&self, base: &TableMetadata, picked: &Snapshot, is_ancestor: bool) -> Result<SnapshotProducer> {
        let replaces = picked.summary.get(REPLACE_PARTITIONS).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let change = match picked.operation() {
            Some("append") => {
                let (added, _) = self.files(base, picked)?;
                SnapshotProducer::new(self.store.clone(), Operation::Append).add_files(added)
            }
            Some("overwrite") if replaces && is_ancestor => {
                let (added, removed) = self.files(base, picked)?;
                let preconditions = Preconditions {
                    since: picked.parent_id,
                    partitions: Some(added.iter().map(|f| f.partition.clone()).collect()),
                    no_new_data: true,
                    ..Preconditions::default()
                };
                let change = SnapshotProducer::new(self.store.clone(), Operation::Overwrite);
                change.add_files(added).remove_files(removed).with_preconditions(preconditions)
            }
            Some("overwrite") if replaces => {
                return Err(Error::invalid(
                    "the snapshot replaces partitions of a version that is not an ancestor of `main`",
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

/// Fails if `main` already has the snapshot, or a snapshot that repeats it.
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
