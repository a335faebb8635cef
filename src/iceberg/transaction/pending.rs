//! Several changes in one commit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::record_batch::RecordBatchReader;

use crate::error::{Error, Result, ResultExt};
use crate::expr::{Predicate, bind};
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::evolution::Evolution;
use crate::format::request::WriteOptions;
use crate::format::task::DataFile;
use crate::iceberg::commit::cherry_pick::CherryPick;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing::{TableChange, apply_all, apply_each, commit, reload};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::{MAIN_BRANCH, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::IcebergTable;
use crate::store::Location;

/// Changes that are committed together: all of them are in the table's next version, or none.
///
/// Files are written as changes are added; nothing is published before [`Transaction::commit`].
pub(crate) struct IcebergTransaction {
    table: IcebergTable,
    branch: Option<String>,
    changes: Vec<Box<dyn TableChange>>,
    /// What the first so many changes lead to, so that each is applied once however often the table is looked at.
    applied: Option<(usize, TableMetadata)>,
    /// Ids of the snapshots among the changes.
    own: Vec<i64>,
    /// Of the snapshots that are published, and of those that would do the same again.
    picks: Vec<[i64; 2]>,
    /// Whether the table's schema or spec may be others than at the beginning.
    evolved: bool,
    /// Appends that nothing came after: they make one snapshot.
    appended: Option<(CommitOptions, Vec<DataFile>)>,
    /// The process that it belongs to: in a forked one it is a mere copy.
    process: u32,
}

impl IcebergTransaction {
    /// Of a table, at its newest version; new snapshots go to `branch`, `main` if none.
    ///
    /// # Errors
    /// As [`Table::writable_location`] and [`Table::refresh`].
    pub(crate) fn begin(table: &IcebergTable, branch: Option<String>) -> Result<IcebergTransaction> {
        table.writable_location()?;
        Ok(IcebergTransaction {
            table: table.refresh()?,
            branch,
            changes: Vec::new(),
            applied: None,
            own: Vec::new(),
            picks: Vec::new(),
            evolved: false,
            appended: None,
            process: std::process::id(),
        })
    }

    /// The branch that snapshots go to, if not `main`.
    pub(crate) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// The table as the changes so far leave it; published nowhere. Its rows can be scanned.
    ///
    /// # Errors
    /// As [`Transaction::commit`], but for a lost race.
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

    /// Adds a snapshot. The transaction's own earlier ones are no conflicts for it. Where it was planned on what
    /// [`Transaction::table`] gave, it must assume what it assumes since [`Transaction::since`].
    ///
    /// # Errors
    /// As [`CommitOptions::apply`].
    pub(crate) fn add_snapshot(&mut self, change: SnapshotProducer, options: &CommitOptions) -> Result<()> {
        self.close_append()?;
        let change = self.options(options).apply(change, &self.table)?.after(self.own.iter().copied());
        self.own.push(change.snapshot_id());
        self.changes.push(Box::new(change));
        Ok(())
    }

    /// As every snapshot of the transaction is committed.
    fn options(&self, options: &CommitOptions) -> CommitOptions {
        CommitOptions { branch: self.branch.clone(), ..options.clone() }
    }

    /// Makes sure that a snapshot can be committed so.
    ///
    /// # Errors
    /// As [`CommitOptions::check`].
    pub(crate) fn check_options(&self, options: &CommitOptions) -> Result<()> {
        self.options(options).check(&self.table).map(drop)
    }

    /// The snapshots that the transaction makes.
    pub(crate) fn own(&self) -> impl Iterator<Item = i64> + '_ {
        self.own.iter().copied()
    }

    /// The snapshot that the transaction began on; none if there was none.
    ///
    /// # Errors
    /// `NotFound` if there is no such branch: its snapshots would come from `main`'s.
    pub(crate) fn since(&self) -> Result<Option<i64>> {
        Ok(self.head(&self.table.inner.metadata)?.map(|s| s.id))
    }

    /// The snapshot of a version that the next one on the transaction's branch would follow.
    ///
    /// # Errors
    /// As [`Transaction::since`].
    pub(crate) fn head<'m>(&self, metadata: &'m TableMetadata) -> Result<Option<&'m Arc<Snapshot>>> {
        let name = self.branch.as_deref().filter(|name| metadata.refs.contains_key(*name)).unwrap_or(MAIN_BRANCH);
        metadata.snapshot_of_ref(name)
    }

    /// Removes the data files of which every row matches, and the delete files of partitions that go as a whole, as the
    /// table is when the transaction is committed. A file of which some rows match and others may not is a conflict.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    pub(crate) fn delete_files(&mut self, filter: &Predicate) -> Result<()> {
        bind(filter, self.now()?.schema(), true)?;
        let change = SnapshotProducer::new(self.table.inner.store.clone(), Operation::Delete).remove_where(filter);
        self.add_snapshot(change, &CommitOptions::default())
    }

    /// Changes the table's schema, spec, order, properties or references, as the changes so far leave them.
    ///
    /// # Errors
    /// As [`Table::evolve`]; `CommitConflict`, at the commit, if another one changed the same part of the table
    /// meanwhile.
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
        // What can't be made is refused now, not at the commit.
        self.table().map(drop).inspect_err(|_| drop(self.changes.pop()))
    }

    /// Publishes on `main` what a snapshot did: one that was staged, or is on another branch.
    ///
    /// # Errors
    /// `NotFound` if there is no such snapshot.
    pub(crate) fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()> {
        let missing = || Error::not_found("the table has no such snapshot").with("snapshot", snapshot_id);
        self.table.inner.metadata.snapshot_by_id(snapshot_id).ok_or_else(missing)?;
        let pick = CherryPick::new(self.table.inner.store.clone(), snapshot_id);
        self.own.extend(pick.snapshot_ids());
        self.picks.push(pick.snapshot_ids());
        self.add(Box::new(pick))
    }

    /// Writes rows and adds their files. Appends that follow one another with the same options make one snapshot.
    ///
    /// # Errors
    /// As [`Table::write_with`].
    pub(crate) fn append(
        &mut self,
        rows: Box<dyn RecordBatchReader + Send>,
        how: &WriteOptions,
        snapshot_properties: BTreeMap<String, String>,
    ) -> Result<()> {
        self.check_process()?;
        let options = self.options(&CommitOptions { branch: None, snapshot_properties });
        options.check(&self.table)?;
        let files = self.now()?.write_with(rows, how)?.files;
        if let Some((_, pending)) = self.appended.as_mut().filter(|(same, _)| *same == options) {
            pending.extend(files);
            return Ok(());
        }
        self.close_append()?;
        self.appended = Some((options, files));
        Ok(())
    }

    /// A table that has the schema and spec that the changes so far lead to.
    fn now(&mut self) -> Result<IcebergTable> {
        if self.evolved { self.table() } else { Ok(self.table.clone()) }
    }

    /// A transaction is committed by one process at most.
    fn check_process(&self) -> Result<()> {
        match self.process == std::process::id() {
            true => Ok(()),
            false => Err(Error::invalid("the transaction belongs to the process that this one was forked from")
                .hint("Begin another here, or write files with a writer and commit their messages there")),
        }
    }

    fn close_append(&mut self) -> Result<()> {
        self.check_process()?;
        let Some((options, files)) = self.appended.take().filter(|(_, files)| !files.is_empty()) else { return Ok(()) };
        let change = SnapshotProducer::append(self.table.inner.store.clone(), files).owning_files();
        self.add_snapshot(change, &options)
    }

    /// What the transaction would do to the table's newest version. Writes what a commit would, and removes it again.
    ///
    /// # Errors
    /// As [`Transaction::commit`], but for a lost race.
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

    /// Commits the changes in their order; returns the table at its new version, or as it is if there are none.
    ///
    /// # Errors
    /// `CommitConflict` if a change can't be made any more, or after the last retry; `CommitStateUnknown` if it can't
    /// be told whether the commit happened; the store's.
    pub(crate) fn commit(mut self) -> Result<IcebergTable> {
        self.close_append()?;
        if self.changes.iter().all(|c| c.only_checks()) {
            let newest = self.table.refresh()?;
            // What it found nothing to do for may be in the newest version: then it came before that.
            let still = apply_each(&mut self.changes, &newest.inner.metadata);
            return Ok(if still.is_ok() { newest } else { self.table.clone() });
        }
        // Their files are the commit's from now on, however it ends.
        commit(&self.table, std::mem::take(&mut self.changes)).into_result()
    }

    /// Gives the changes up, and removes the files that were written for them; so does dropping it.
    pub(crate) fn abort(self) {}
}

impl IcebergTable {
    /// Publishes on `main` what a snapshot did: one that was staged, or is on another branch. Where `main` has not
    /// moved since, it just moves there.
    ///
    /// # Errors
    /// `NotFound` if there is no such snapshot; `InvalidInput` if it is published already, or can't be published on
    /// top of other commits; `CommitConflict` if the partitions that it replaces have changed since.
    pub fn cherry_pick(&self, snapshot_id: i64) -> Result<IcebergTable> {
        let mut transaction = IcebergTransaction::begin(self, None)?;
        transaction.cherry_pick(snapshot_id)?;
        transaction.commit()
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
        self.changes.iter_mut().for_each(|c| c.clean_up());
    }
}
