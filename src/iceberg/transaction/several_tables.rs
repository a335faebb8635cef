//! Changes of several tables of a catalog in one commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result, ResultExt};
use crate::expr::Predicate;
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::evolution::Evolution;
use crate::format::ident::TableIdent;
use crate::format::request::WriteOptions;
use crate::format::row_change::RowChange;
use crate::iceberg::catalog::interface::TableCatalog;
use crate::iceberg::committing::commit_all;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::transaction::pending::{IcebergTransaction, check_owner};
use crate::parallel::CallLock;
use crate::rows::seam;
use crate::rows::stream::RowReader;

/// Changes of several tables that are committed together: each table's next version has its changes, or no table has
/// any.
///
/// Files are written as changes are added. Nothing is published before [`JointIcebergTransaction::commit`].
pub(crate) struct JointIcebergTransaction {
    catalog: Arc<dyn TableCatalog>,
    /// The tables with their branches, if not `main`, and their changes.
    parts: Vec<(TableIdent, Option<String>, JointPart)>,
    /// The process that owns the transaction. In a forked process, another thread's lock would never end.
    process: u32,
}

impl JointIcebergTransaction {
    /// Begins a transaction over tables of a catalog.
    ///
    /// # Errors
    /// `Unsupported` if the catalog or its server can't commit to several tables at once.
    pub(crate) fn begin(catalog: &Arc<dyn TableCatalog>) -> Result<JointIcebergTransaction> {
        let publisher = catalog.joint_commits().ok_or_else(|| Error::internal("a catalog without joint commits"))?;
        publisher.check()?;
        Ok(JointIcebergTransaction { catalog: catalog.clone(), parts: Vec::new(), process: std::process::id() })
    }

    /// The changes of a table. Each call with the same name returns the same changes. New snapshots go to `branch`, by
    /// default `main`.
    ///
    /// # Errors
    /// `NotFound` if the table does not exist; `InvalidInput` for a second branch of a table; as
    /// [`IcebergTransaction::begin`].
    pub(crate) fn table(&mut self, ident: &TableIdent, branch: Option<String>) -> Result<JointPart> {
        // A reader of rows may ask for the table while its changes are locked.
        if let Some((_, known, part)) = self.parts.iter().find(|(known, ..)| known == ident) {
            return match branch.is_none() || branch == *known {
                true => Ok(part.clone()),
                false => Err(Error::invalid("a transaction can only change one branch of a table")
                    .with("table", ident)
                    .hint("Name the branch at the first use of the table, or use another transaction")),
            };
        }
        // Changes are planned on all snapshots.
        let table = IcebergTable::of_catalog(self.catalog.load(ident)?)?.whole()?;
        table.writable_location().with("table", ident)?;
        let part = JointPart::new(IcebergTransaction::at(table, branch.clone()));
        self.parts.push((ident.clone(), branch, part.clone()));
        Ok(part)
    }

    /// Commits all changes. Returns the tables at their new versions.
    ///
    /// # Errors
    /// `CommitConflict` if a change is no longer possible, or after the last retry. `CommitStateUnknown` if it is not
    /// known whether the commit happened. Errors of the store.
    pub(crate) fn commit(&mut self) -> Result<Vec<(TableIdent, IcebergTable)>> {
        check_owner(self.process)?;
        if let Some((ident, ..)) = self.parts.iter().find(|(.., part)| part.0.open.is_of_this_call()) {
            return Err(seam::in_use().with("table", ident));
        }
        let mut open = Vec::with_capacity(self.parts.len());
        for (ident, _, part) in std::mem::take(&mut self.parts) {
            open.extend(part.take()?.map(|changes| (ident, changes)));
        }
        open.iter_mut().try_for_each(|(_, part)| part.close_append())?;
        if open.iter().all(|(_, part)| part.only_checks()) {
            // Nothing is published, so each table is looked at by itself.
            return open.into_iter().map(|(ident, part)| Ok((ident, part.commit()?))).collect();
        }
        let mut done = Vec::with_capacity(open.len());
        let mut changes = Vec::with_capacity(open.len());
        for (ident, part) in open {
            let unchanged = part.unchanged().cloned();
            done.push((ident.clone(), unchanged.clone()));
            if unchanged.is_none() {
                changes.push(part.into_changes(Some(ident)));
            }
        }
        let mut made = commit_all(changes, self.catalog.joint_commits()).into_result()?.into_iter();
        let committed = done.into_iter().filter_map(|(ident, table)| Some((ident, table.or_else(|| made.next())?)));
        Ok(committed.collect())
    }

    /// Gives the changes up, and removes the files that were written for them. A forked process removes nothing.
    pub(crate) fn abort(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        for (_, _, part) in self.parts.drain(..) {
            part.end();
        }
    }
}

impl Drop for JointIcebergTransaction {
    /// Somebody may still hold the changes of a table.
    fn drop(&mut self) {
        self.abort();
    }
}

impl seam::JointTransaction for JointIcebergTransaction {
    fn table(&mut self, ident: &TableIdent, branch: Option<String>) -> Result<Box<dyn seam::Transaction>> {
        Ok(Box::new(JointIcebergTransaction::table(self, ident, branch)?))
    }

    fn commit(mut self: Box<Self>) -> Result<Vec<(TableIdent, Arc<dyn seam::Table>)>> {
        let committed = JointIcebergTransaction::commit(&mut self)?;
        Ok(committed.into_iter().map(|(ident, table)| (ident, Arc::new(table) as Arc<dyn seam::Table>)).collect())
    }

    fn abort(mut self: Box<Self>) {
        JointIcebergTransaction::abort(&mut self);
    }
}

/// The changes of one table in a transaction over several.
#[derive(Clone)]
pub(crate) struct JointPart(Arc<SharedPart>);

struct SharedPart {
    /// `None` after the transaction has ended.
    open: CallLock<Option<IcebergTransaction>>,
    /// Set if the transaction ends while the changes are in use by the call that ends it.
    is_given_up: AtomicBool,
}

impl JointPart {
    fn new(changes: IcebergTransaction) -> JointPart {
        JointPart(Arc::new(SharedPart { open: CallLock::new(Some(changes)), is_given_up: AtomicBool::new(false) }))
    }

    /// Takes the changes. `None` if the transaction has ended.
    fn take(&self) -> Result<Option<IcebergTransaction>> {
        self.0.open.with(|open| Ok(open.take())).unwrap_or_else(|| Err(seam::in_use()))
    }

    /// Gives the changes up, also those that are being made by the call that ends the transaction.
    fn end(&self) {
        self.0.is_given_up.store(true, Ordering::Release);
        let _ = self.take();
    }

    fn with<T>(&self, work: impl FnOnce(&mut IcebergTransaction) -> Result<T>) -> Result<T> {
        let ended = || Error::invalid("the transaction has ended").hint("Begin another with catalog.transaction()");
        let done = self.0.open.with(|open| {
            let done = work(open.as_mut().ok_or_else(ended)?);
            match self.0.is_given_up.load(Ordering::Acquire) {
                true => {
                    drop(open.take());
                    done.and_then(|_| Err(ended()))
                }
                false => done,
            }
        });
        done.unwrap_or_else(|| Err(seam::in_use()))
    }
}

impl seam::Transaction for JointPart {
    fn append(&mut self, rows: RowReader, options: &WriteOptions, properties: BTreeMap<String, String>) -> Result<()> {
        self.with(|open| open.append(rows, options, properties))
    }

    fn delete_files(&mut self, filter: &Predicate) -> Result<()> {
        self.with(|open| open.delete_files(filter))
    }

    fn change_rows(&mut self, change: &RowChange, rows: Option<RowReader>, options: &CommitOptions) -> Result<()> {
        self.with(|open| open.change_rows(change, rows, options))
    }

    fn add_files(&mut self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<()> {
        self.with(|open| open.add_files(paths, check_duplicates, options))
    }

    fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()> {
        self.with(|open| open.evolve(evolutions))
    }

    fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()> {
        self.with(|open| open.cherry_pick(snapshot_id))
    }

    fn table(&mut self) -> Result<Arc<dyn seam::Table>> {
        Ok(Arc::new(self.with(IcebergTransaction::table)?))
    }

    fn dry_run(&mut self) -> Result<DryRun> {
        self.with(IcebergTransaction::dry_run)
    }

    /// One table can't be committed before the others.
    fn commit(self: Box<Self>) -> Result<Arc<dyn seam::Table>> {
        Err(Error::invalid("these changes belong to a transaction over several tables").hint("Commit that transaction"))
    }

    /// The transaction over several tables keeps the changes.
    fn abort(self: Box<Self>) {}
}
