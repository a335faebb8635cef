//! Several changes in one commit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::record_batch::RecordBatchReader;

use crate::error::{Error, Result, ResultExt};
use crate::expr::{Predicate, bind};
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::evolution::Evolution;
use crate::format::ident::TableIdent;
use crate::format::request::WriteOptions;
use crate::format::task::DataFile;
use crate::iceberg::commit::cherry_pick::CherryPick;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing::{ONE_SNAPSHOT, commit_one};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::{TableChange, TableChanges, apply_all, apply_each, reload};
use crate::store::Location;

/// Changes that are committed together: the table's next version has all of them, or none.
///
/// Files are written as changes are added; nothing is published before [`IcebergTransaction::commit`].
pub(crate) struct IcebergTransaction {
    table: IcebergTable,
    branch: Option<String>,
    changes: Vec<Box<dyn TableChange>>,
    /// The metadata after this number of changes, so that each change is applied only once.
    applied: Option<(usize, TableMetadata)>,
    /// Ids of the snapshots among the changes.
    own: Vec<i64>,
    /// The snapshots to publish, with those that would make the same change again.
    picks: Vec<[i64; 2]>,
    /// Whether the changes may alter the table's schema or spec.
    evolved: bool,
    /// The latest appends, not followed by another change: they make one snapshot.
    appended: Option<(CommitOptions, Vec<DataFile>)>,
    /// The process that owns the transaction. In a forked process it is only a copy.
    process: u32,
}

impl IcebergTransaction {
    /// Begins a transaction at the table's newest version; new snapshots go to `branch`, by default `main`.
    ///
    /// # Errors
    /// As [`IcebergTable::writable_location`] and [`IcebergTable::refresh`].
    pub(crate) fn begin(table: &IcebergTable, branch: Option<String>) -> Result<IcebergTransaction> {
        table.writable_location()?;
        Ok(IcebergTransaction::at(table.refresh()?, branch))
    }

    /// Begins a transaction at this version of a table, which can be written.
    pub(crate) fn at(table: IcebergTable, branch: Option<String>) -> IcebergTransaction {
        IcebergTransaction {
            table,
            branch,
            changes: Vec::new(),
            applied: None,
            own: Vec::new(),
            picks: Vec::new(),
            evolved: false,
            appended: None,
            process: std::process::id(),
        }
    }

    /// The branch that snapshots go to, if not `main`.
    pub(crate) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The table with the changes so far, not published. Its rows can be scanned.
    ///
    /// # Errors
    /// As [`IcebergTransaction::commit`], but for a lost race.
    pub(crate) fn table(&mut self) -> Result<IcebergTable> {
        self.close_append()?;
        let inner = &self.table.inner;
        let (done, before) = self.applied.take().unwrap_or_else(|| (0, inner.metadata.as_ref().clone()));
        let fresh = self.changes.get_mut(done..).unwrap_or_default();
        let applied = apply_each(fresh, &before);
        self.applied = Some(match &applied {
            Ok(metadata) => (self.changes.len(), metadata.clone()),
            Err(_) => (done, before),
        });
        self.table.at(applied?, inner.found.clone())
    }

    /// Adds a change to those so far.
    pub(crate) fn add(&mut self, change: Box<dyn TableChange>) -> Result<()> {
        self.close_append()?;
        self.changes.push(change);
        Ok(())
    }

    /// Adds a snapshot. The transaction's own earlier snapshots are not conflicts. A change planned on the result of
    /// [`IcebergTransaction::table`] must check its preconditions since [`IcebergTransaction::since`].
    ///
    /// # Errors
    /// As [`CommitOptions::apply`].
    pub(crate) fn add_snapshot(&mut self, change: SnapshotProducer, options: &CommitOptions) -> Result<()> {
        self.close_append()?;
        let mut change = self.options(options).apply(change, &self.table)?.after(self.own.iter().copied());
        self.check_joinable(&change).inspect_err(|_| change.clean_up())?;
        self.own.push(change.snapshot_id());
        self.changes.push(Box::new(change));
        Ok(())
    }

    /// The options with which every snapshot of the transaction is committed.
    fn options(&self, options: &CommitOptions) -> CommitOptions {
        CommitOptions { branch: self.branch.clone(), ..options.clone() }
    }

    /// Makes sure that a snapshot can be committed with these options, before files are written for it.
    ///
    /// # Errors
    /// As [`CommitOptions::check`]; `Unsupported` if the catalog takes no further snapshot in this commit.
    pub(crate) fn check_options(&self, options: &CommitOptions) -> Result<()> {
        self.options(options).check(&self.table)?;
        self.check_room()
    }

    fn takes_one_snapshot(&self) -> bool {
        self.table.inner.versions.takes_one_snapshot()
    }

    /// Checks that a further snapshot can become one with the earlier ones, if the catalog takes only one.
    fn check_room(&self) -> Result<()> {
        match self.takes_one_snapshot() && !self.picks.is_empty() {
            false => Ok(()),
            true => Err(Error::unsupported("rows can't be changed in the transaction that publishes a snapshot")
                .hint(ONE_SNAPSHOT)),
        }
    }

    fn check_joinable(&self, change: &SnapshotProducer) -> Result<()> {
        if !self.takes_one_snapshot() || change.only_checks() {
            return Ok(());
        }
        let mut earlier = self.changes.iter().filter_map(|c| c.as_snapshot());
        earlier.try_for_each(|before| before.check_joinable(change)).hint(ONE_SNAPSHOT)
    }

    /// Whether the next change becomes one snapshot with an earlier one that this is true of.
    pub(crate) fn joins(&self, is_so: impl Fn(&SnapshotProducer) -> bool) -> bool {
        self.takes_one_snapshot() && self.changes.iter().filter_map(|c| c.as_snapshot()).any(is_so)
    }

    /// The snapshots that the transaction makes.
    pub(crate) fn own(&self) -> impl Iterator<Item = i64> + '_ {
        self.own.iter().copied()
    }

    /// The snapshot that the transaction began on; `None` without one.
    ///
    /// # Errors
    /// `NotFound` for an unknown branch: its snapshots would otherwise follow those of `main`.
    pub(crate) fn since(&self) -> Result<Option<i64>> {
        Ok(self.head(&self.table.inner.metadata)?.map(|s| s.id))
    }

    /// The parent, in this version, of the next snapshot on the transaction's branch.
    ///
    /// # Errors
    /// As [`IcebergTransaction::since`].
    pub(crate) fn head<'m>(&self, metadata: &'m TableMetadata) -> Result<Option<&'m Arc<Snapshot>>> {
        let name = self.branch.as_deref().filter(|name| metadata.refs.contains_key(*name)).unwrap_or(MAIN_BRANCH);
        metadata.snapshot_of_ref(name)
    }

    /// Removes the data files whose rows all match, and the delete files of partitions that are removed as a whole. The
    /// table's state at the commit counts. A file with both matching and other rows is a conflict.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    pub(crate) fn delete_files(&mut self, filter: &Predicate) -> Result<()> {
        bind(filter, self.now()?.schema(), true)?;
        let change = SnapshotProducer::new(self.table.inner.store.clone(), Operation::Delete).remove_where(filter);
        self.add_snapshot(change, &CommitOptions::default())
    }

    /// Changes the table's schema, spec, order, properties or references, on top of the earlier changes.
    ///
    /// # Errors
    /// As [`IcebergTable::evolve`]; `CommitConflict`, at the commit, if another commit changed the same part of the
    /// table meanwhile.
    pub(crate) fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()> {
        let table = self.table()?;
        let followed: Vec<Evolution> = (evolutions.iter())
            .map(|e| match e {
                Evolution::Ref(update) => Evolution::Ref(update.following(&table.inner.metadata, &self.picks)),
                other => other.clone(),
            })
            .collect();
        let change = table.evolution(&followed)?;
        self.add(change)?;
        self.evolved = true;
        // Impossible changes are refused now, not at the commit.
        self.table().map(drop).inspect_err(|_| drop(self.changes.pop()))
    }

    /// Publishes the change of a snapshot on `main`: one that was staged, or is on another branch.
    ///
    /// # Errors
    /// `NotFound` for an unknown snapshot.
    pub(crate) fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()> {
        let missing = || Error::not_found("the table has no such snapshot").with("snapshot", snapshot_id);
        self.table.inner.metadata.snapshot_by_id(snapshot_id).ok_or_else(missing)?;
        self.close_append()?;
        if self.takes_one_snapshot() && self.own().next().is_some() {
            return Err(Error::unsupported("a snapshot can't be published together with other changes of rows")
                .with("snapshot", snapshot_id)
                .hint(ONE_SNAPSHOT));
        }
        let pick = CherryPick::new(self.table.inner.store.clone(), snapshot_id);
        self.own.extend(pick.snapshot_ids());
        self.picks.push(pick.snapshot_ids());
        self.add(Box::new(pick))
    }

    /// Writes rows and adds their files. Successive appends with the same options make one snapshot.
    ///
    /// # Errors
    /// As [`IcebergTable::write_with`].
    pub(crate) fn append(
        &mut self,
        rows: Box<dyn RecordBatchReader + Send>,
        write_options: &WriteOptions,
        snapshot_properties: BTreeMap<String, String>,
    ) -> Result<()> {
        self.check_process()?;
        let options = self.options(&CommitOptions { branch: None, snapshot_properties });
        options.check(&self.table)?;
        self.check_room()?;
        let files = self.now()?.write_with(rows, write_options)?.files;
        if let Some((_, pending)) = self.appended.as_mut().filter(|(same, _)| *same == options) {
            pending.extend(files);
            return Ok(());
        }
        self.close_append()?;
        self.appended = Some((options, files));
        Ok(())
    }

    /// The table with the schema and spec that the changes so far lead to.
    fn now(&mut self) -> Result<IcebergTable> {
        if self.evolved { self.table() } else { Ok(self.table.clone()) }
    }

    fn check_process(&self) -> Result<()> {
        check_owner(self.process)
    }

    /// Ends a series of appends.
    ///
    /// # Errors
    /// `InvalidInput` in a forked process.
    pub(crate) fn close_append(&mut self) -> Result<()> {
        self.check_process()?;
        let Some((options, files)) = self.appended.take().filter(|(_, files)| !files.is_empty()) else { return Ok(()) };
        let change = SnapshotProducer::append(self.table.inner.store.clone(), files).owning_files();
        self.add_snapshot(change, &options)
    }

    /// The effect that the transaction would have on the table's newest version. Writes the files of a commit, and
    /// removes them again.
    ///
    /// # Errors
    /// As [`IcebergTransaction::commit`], but for a lost race.
    pub(crate) fn dry_run(&mut self) -> Result<DryRun> {
        self.close_append()?;
        if self.changes.iter().all(|c| c.only_checks()) {
            return Ok(DryRun::default());
        }
        let base = reload(&self.table)?;
        let done = apply_all(&mut self.changes, &base).and_then(|next| self.account(&base.metadata, &next));
        self.changes.iter_mut().for_each(|c| c.undo());
        self.applied = None;
        done
    }

    fn account(&self, base: &TableMetadata, next: &TableMetadata) -> Result<DryRun> {
        let old: HashSet<i64> = base.snapshots.iter().map(|s| s.id).collect();
        let mut out = DryRun { metadata_bytes: encode_metadata(next).len() as u64, ..DryRun::default() };
        for snapshot in next.snapshots.iter().filter(|s| !old.contains(&s.id)) {
            out.snapshots += 1;
            for (key, value) in &snapshot.summary {
                let Ok(n) = value.parse::<i64>() else { continue };
                let sum = out.counts.entry(key.clone()).or_insert(0);
                *sum = if key.starts_with("total-") { n } else { sum.saturating_add(n) };
            }
            out.metadata_bytes += self.written_for(snapshot).with("snapshot", snapshot.id)?;
        }
        Ok(out)
    }

    /// Bytes of the manifest list and of the manifests that a snapshot adds.
    fn written_for(&self, snapshot: &Snapshot) -> Result<u64> {
        let store = self.table.inner.store.as_ref();
        let list = snapshot.manifest_list.as_ref().map_or(Ok(0), |path| store.size(path))?;
        let manifests = load_manifests(store, &Location::recorded(), snapshot)?;
        let own = |m: &&ManifestFile| m.added_snapshot_id == Some(snapshot.id);
        Ok(manifests.iter().filter(own).map(|m| m.length_bytes.max(0).unsigned_abs()).sum::<u64>() + list)
    }

    /// Commits the changes in their order. Returns the table at its new version; without changes, the table as it is.
    ///
    /// # Errors
    /// `CommitConflict` if a change is no longer possible, or after the last retry. `CommitStateUnknown` if it is not
    /// known whether the commit happened. Errors of the store.
    pub(crate) fn commit(mut self) -> Result<IcebergTable> {
        self.close_append()?;
        if self.only_checks() {
            let newest = self.table.refresh()?;
            // A change with nothing to do may already be in the newest version. Then an earlier commit made it.
            let still = apply_each(&mut self.changes, &newest.inner.metadata);
            return Ok(if still.is_ok() { newest } else { self.table.clone() });
        }
        commit_one(self.into_changes(None)).into_result()
    }

    /// Whether the changes leave the table as it is.
    pub(crate) fn only_checks(&self) -> bool {
        self.changes.iter().all(|c| c.only_checks())
    }

    /// The table as it was when the transaction began, if nothing was changed.
    pub(crate) fn unchanged(&self) -> Option<&IcebergTable> {
        self.changes.is_empty().then_some(&self.table)
    }

    /// The changes to commit, without appends that are still open. The commit is responsible for their files from now
    /// on, however it ends.
    pub(crate) fn into_changes(mut self, ident: Option<TableIdent>) -> TableChanges {
        let (table, branch) = (self.table.clone(), self.branch.clone());
        TableChanges { table, changes: std::mem::take(&mut self.changes), branch, ident }
    }

    /// Gives the changes up, and removes the files that were written for them. Dropping it does the same.
    pub(crate) fn abort(self) {}
}

impl IcebergTable {
    /// Publishes the change of a snapshot on `main`: one that was staged, or is on another branch. If `main` has not
    /// moved since, it is set to that snapshot.
    ///
    /// # Errors
    /// `NotFound` for an unknown snapshot. `InvalidInput` if it is published already, or can't be published on top of
    /// other commits. `CommitConflict` if the partitions that it replaces have changed since.
    pub fn cherry_pick(&self, snapshot_id: i64) -> Result<IcebergTable> {
        let mut transaction = IcebergTransaction::begin(self, None)?;
        transaction.cherry_pick(snapshot_id)?;
        transaction.commit()
    }
}

/// Only the process that began a transaction may commit it.
///
/// # Errors
/// `InvalidInput` in a forked process.
pub(super) fn check_owner(process: u32) -> Result<()> {
    match process == std::process::id() {
        true => Ok(()),
        false => Err(Error::invalid("the transaction belongs to the process that this one was forked from").hint(
            "Begin another transaction in this process, or write files with a writer and commit their messages there",
        )),
    }
}

impl Drop for IcebergTransaction {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        if let Some((_, files)) = self.appended.take() {
            SnapshotProducer::append(self.table.inner.store.clone(), files).owning_files().clean_up();
        }
        self.changes.iter_mut().rev().for_each(|c| c.clean_up());
    }
}
