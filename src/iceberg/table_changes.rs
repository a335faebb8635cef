//! The changes of a table that one commit makes, and how each attempt applies them.

use std::collections::BTreeMap;

use crate::error::{Error, Result, ResultExt};
use crate::format::commit_loop::RetryPolicy;
use crate::format::ident::TableIdent;
use crate::iceberg::catalog::metadata_pointer::TableVersion;
use crate::iceberg::commit::cherry_pick::CherryPick;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::state::{IcebergTable, check_same_table};
use crate::types::temporal::now_ms;

/// `commit.retry.*`, with the names and units of Java. By default there are more retries than Java's 4, and shorter
/// pauses than its minute. An attempt on a file system costs milliseconds, and all of many concurrent writers should
/// succeed.
///
/// # Errors
/// `InvalidInput` if a property is not a whole number from 0 up. It names the property and its value.
fn retry_policy(properties: &BTreeMap<String, String>) -> Result<RetryPolicy> {
    let number = |key: &str, default: u64| match properties.get(key) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| {
            Error::invalid(format!("the table property {key} is '{text}', which is not a whole number from 0 up"))
                .hint("Set it to a number of retries or milliseconds, or remove it")
        }),
    };
    Ok(RetryPolicy {
        retries: number(NUM_RETRIES, 100)?.min(10_000) as u32,
        min_wait_ms: number("commit.retry.min-wait-ms", 20)?,
        max_wait_ms: number("commit.retry.max-wait-ms", 1_000)?,
        total_ms: number("commit.retry.total-timeout-ms", 1_800_000)?,
        option: NUM_RETRIES,
    })
}

const NUM_RETRIES: &str = "commit.retry.num-retries";

/// One change of a table. Each attempt of a commit applies it to the newest version.
pub(crate) trait TableChange: Send {
    /// The metadata of `base` with the change made. Files that the change needs are written at the first attempt. Later
    /// attempts reuse those that are still valid.
    ///
    /// # Errors
    /// `CommitConflict` if changes of the table make this one impossible: no further attempt is made.
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata>;

    /// Whether `metadata` already has the change, from any writer.
    fn is_applied(&self, metadata: &TableMetadata) -> bool;

    /// Whether `metadata` has the mark of this very change. Then an attempt was published, even if its reply was an
    /// error.
    fn is_marked_in(&self, _: &TableMetadata) -> bool {
        false
    }

    /// Whether it leaves the table as it is.
    fn only_checks(&self) -> bool {
        false
    }

    /// Whether it changes only the table's metadata, and no rows.
    fn only_evolves(&self) -> bool {
        false
    }

    /// The new snapshot that it makes, if it makes one and nothing else.
    fn as_snapshot(&self) -> Option<&SnapshotProducer> {
        None
    }

    /// The new snapshot that it makes, if it makes one. Otherwise the change itself.
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>>;

    /// Removes the files of attempts, so that the change can be applied again. Called only while none was published.
    fn undo(&mut self) {}

    /// Removes the files of attempts, and those written for the change. Called only when the commit certainly failed.
    fn clean_up(&mut self) {}

    /// Removes the files of abandoned attempts. Called only when `metadata` has the change.
    fn committed(&mut self, _: &TableMetadata) {}
}

impl TableChange for SnapshotProducer {
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.prepare(base, now_ms)
    }

    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        SnapshotProducer::is_applied(self, metadata)
    }

    fn is_marked_in(&self, metadata: &TableMetadata) -> bool {
        metadata.snapshot_by_id(self.snapshot_id()).is_some()
    }

    fn only_checks(&self) -> bool {
        SnapshotProducer::only_checks(self)
    }

    fn as_snapshot(&self) -> Option<&SnapshotProducer> {
        (!SnapshotProducer::only_checks(self)).then_some(self)
    }

    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        if SnapshotProducer::only_checks(&self) { Err(self) } else { Ok(*self) }
    }

    fn undo(&mut self) {
        SnapshotProducer::undo(self);
    }

    fn clean_up(&mut self) {
        SnapshotProducer::clean_up(self);
    }

    fn committed(&mut self, metadata: &TableMetadata) {
        SnapshotProducer::committed(self, metadata);
    }
}

impl TableChange for CherryPick {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.prepare(base, now_ms)
    }

    fn is_applied(&self, _: &TableMetadata) -> bool {
        false
    }

    fn is_marked_in(&self, metadata: &TableMetadata) -> bool {
        self.change().is_some_and(|c| c.is_marked_in(metadata))
    }

    fn undo(&mut self) {
        self.change_mut().into_iter().for_each(SnapshotProducer::undo);
    }

    fn clean_up(&mut self) {
        self.change_mut().into_iter().for_each(SnapshotProducer::clean_up);
    }

    fn committed(&mut self, metadata: &TableMetadata) {
        self.change_mut().into_iter().for_each(|c| c.committed(metadata));
    }
}

/// A table and the changes that a commit makes to it, in their order.
pub(crate) struct TableChanges {
    pub(crate) table: IcebergTable,
    pub(crate) changes: Vec<Box<dyn TableChange>>,
    /// The branch that the changes were planned on, if not `main`.
    pub(crate) branch: Option<String>,
    /// The table's identifier in its catalog, for a commit to several tables.
    pub(crate) ident: Option<TableIdent>,
}

impl TableChanges {
    pub(crate) fn takes_one_snapshot(&self) -> bool {
        self.table.inner.versions.takes_one_snapshot()
    }

    /// How often to retry, by the table's properties. A commit that may correct invalid properties does not fail
    /// because of them.
    pub(crate) fn policy(&self) -> Result<RetryPolicy> {
        match retry_policy(&self.table.inner.metadata.properties).with("table", &self.table.inner.root) {
            Err(_) if self.changes.iter().all(|c| c.only_evolves()) => retry_policy(&BTreeMap::new()),
            policy => policy,
        }
    }

    /// The commit that makes the changes on `base`. A change with nothing to do holds only while its branch stays.
    pub(crate) fn prepare(&mut self, base: &TableVersion) -> Result<MetadataCommit> {
        let commit = MetadataCommit::between(&base.metadata, apply_all(&mut self.changes, base)?);
        Ok(match self.changes.iter().any(|c| c.only_checks()) {
            true => commit.holding(&base.metadata, self.branch.as_deref().unwrap_or(MAIN_BRANCH)),
            false => commit,
        })
    }
}

/// The identifiers of some of the tables, for errors.
pub(crate) fn names(tables: &[TableChanges], is_named: impl Fn(usize) -> bool) -> String {
    let named = tables.iter().enumerate().filter(|(at, _)| is_named(*at));
    named.filter_map(|(_, t)| t.ident.as_ref()).map(TableIdent::to_string).collect::<Vec<_>>().join(", ")
}

/// The version after `base`, with all changes that it does not have yet.
pub(crate) fn apply_all(changes: &mut [Box<dyn TableChange>], base: &TableVersion) -> Result<TableMetadata> {
    let changed = apply_each(changes, &base.metadata)?;
    changed.with_metadata_log(&base.found.metadata_location, base.metadata.last_updated_ms)
}

pub(crate) fn apply_each(changes: &mut [Box<dyn TableChange>], base: &TableMetadata) -> Result<TableMetadata> {
    let now = now_ms();
    changes.iter_mut().try_fold(base.clone(), |metadata, change| match change.is_applied(&metadata) {
        true => Ok(metadata),
        false => change.apply(&metadata, now),
    })
}

pub(crate) fn reload(table: &IcebergTable) -> Result<TableVersion> {
    let newest = table.inner.versions.load()?;
    check_same_table(&table.inner.metadata, &newest.metadata, &table.inner.root)?;
    Ok(newest)
}
