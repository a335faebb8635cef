//! Deleting and updating rows by a filter.
//!
//! Whole partitions go by metadata alone. Of tables without primary key, rows are found file by file (`found`); files without a
//! row left go, of the others deletion vectors name the rows (`vectors`) where the table has them, else they are written anew
//! (`rewrite`). Of tables with a primary key, rows of kind `-D` and `+U` take the place of what is found (`keyed`).
//!
//! Everything is planned on one snapshot. If another commit changed what the change relies on, it is planned again.
//!
//! Source: Java's `DeleteFromPaimonTableCommand`, `UpdatePaimonTableCommand`.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::expr::Predicate;
use crate::format::commit::CommitOptions;
use crate::format::request::ScanRequest;
use crate::format::row_change::Assigned;
use crate::format::task::{DataFile, PaimonNewFile};
use crate::paimon::change::{Rows, unsupported};
use crate::paimon::commit::producer::{Changes, Commit, Replaced};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::writer::{NewFiles, PaimonWriter, WriteKind};
use crate::parallel::Cancellation;
use crate::rows::assignments::Assignments;
use crate::rows::matcher::Matcher;
use crate::store::Store;

/// How often a change is planned anew where others were first, at most.
const ATTEMPTS: i64 = 10;

/// A commit, and what its snapshot says of rows.
pub(crate) type Planned = (Commit, BTreeMap<String, String>);

/// What becomes of the rows that a filter finds.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'a> {
    /// They go.
    Gone,
    /// They get other values.
    Updated(&'a Assignments),
    /// What a merge says.
    Merged(&'a Matcher),
}

/// Files that were written for a commit that has not taken them over; they are deleted unless it does.
pub(crate) struct Unpublished<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) data: Vec<PaimonNewFile>,
    pub(crate) index: Vec<String>,
}

impl Unpublished<'_> {
    pub(crate) fn taken(&mut self) -> Vec<PaimonNewFile> {
        self.index.clear();
        std::mem::take(&mut self.data)
    }
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        let paths = self.data.iter().map(|f| &f.file.path).chain(&self.index);
        // A left-over is a harmless orphan.
        paths.for_each(|path| drop(self.store.delete(path)));
    }
}

/// The numbers of rows for the snapshot.
fn counted(key: &str, rows: u64) -> BTreeMap<String, String> {
    BTreeMap::from([(format!("frazil.rows-{key}"), rows.to_string())])
}

impl PaimonTable {
    /// Deletes the rows on which a filter is true. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema; `Unsupported` for tables whose rows can't be deleted; `CommitConflict`
    /// if others changed the same each time; as [`PaimonTable::append`].
    pub(crate) fn delete_where(
        &self,
        filter: &Predicate,
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<PaimonTable> {
        self.again(options, &|table| match table.replaced(filter) {
            Ok(replaced) => table.without(filter, replaced, go_on),
            Err(e) if e.kind() != ErrorKind::Unsupported => Err(e),
            Err(_) => match table.table_schema().has_primary_key() {
                true => table.key_change(filter, Fate::Gone, go_on),
                false => table.file_change(filter, Fate::Gone, Vec::new(), go_on),
            },
        })
    }

    /// Gives columns of the rows on which a filter is true other values.
    ///
    /// # Errors
    /// As [`PaimonTable::delete_where`] and [`Assignments::new`].
    pub(crate) fn update_where(
        &self,
        filter: &Predicate,
        assigned: &[(String, Assigned)],
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<PaimonTable> {
        self.again(options, &|table| {
            let new = Assignments::new(table.schema(), assigned)?;
            match table.table_schema().has_primary_key() {
                true => {
                    crate::paimon::rows::keyed::check_updatable(table.table_schema(), assigned)?;
                    table.key_change(filter, Fate::Updated(&new), go_on)
                }
                false => table.file_change(filter, Fate::Updated(&new), Vec::new(), go_on),
            }
        })
    }

    /// Replaces the rows on which a filter is true by others, in a table without primary key.
    ///
    /// # Errors
    /// As [`PaimonTable::delete_where`]; `Unsupported` for tables with a primary key.
    pub(crate) fn overwrite_where(
        &self,
        filter: &Predicate,
        rows: Rows,
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<PaimonTable> {
        let table = self.of_branch(options)?;
        if table.table_schema().has_primary_key() {
            return Err(unsupported("overwriting rows that are not those of whole partitions, by a primary key")
                .with("table", table.location())
                .hint("Delete the rows, then append the others; or name the values of partition columns"));
        }
        table.check_changeable()?;
        let added = table.new_files(rows, WriteKind::Add, false)?.files.added;
        match table.file_change(filter, Fate::Gone, added, go_on)? {
            Some((commit, counts)) => table.finish(self, commit, counts, options),
            None => self.refresh(),
        }
    }

    /// Plans a change on the newest version and commits it; anew, where others were first.
    pub(crate) fn again(
        &self,
        options: &CommitOptions,
        plan: &dyn Fn(&PaimonTable) -> Result<Option<Planned>>,
    ) -> Result<PaimonTable> {
        let mut left = ATTEMPTS;
        loop {
            let table = self.of_branch(options)?;
            left = left.min(table.table_schema().options().integer("commit.max-retries")?.unwrap_or(left)) - 1;
            let Some((commit, counts)) = plan(&table)? else { return self.refresh() };
            match table.finish(self, commit, counts, options) {
                Err(e) if e.kind() == ErrorKind::CommitConflict && left >= 0 => go_on_after(&e)?,
                done => return done,
            }
        }
    }

    fn finish(
        &self,
        before: &PaimonTable,
        commit: Commit,
        mut properties: BTreeMap<String, String>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        properties.extend(options.snapshot_properties.clone());
        commit.with_properties(properties).run().into_result()?;
        before.after_commit()
    }

    /// Takes whole partitions out.
    fn without(&self, filter: &Predicate, replaced: Replaced, go_on: Cancellation) -> Result<Option<Planned>> {
        let files = self.found(filter)?.of_every_level().files(go_on)?;
        let commit = || Commit::new(self.folder(), Changes::default()).overwriting(replaced);
        Ok((!files.is_empty()).then(|| (commit(), BTreeMap::new())))
    }

    /// The scan of a filter on the table as it is here.
    pub(crate) fn found(&self, filter: &Predicate) -> Result<PaimonScan> {
        // Columns that only files have say nothing about the rows of other commits.
        crate::expr::bind(filter, self.schema(), true)?;
        self.scan_newest(ScanRequest { filter: Some(filter.clone()), ..ScanRequest::default() })
    }

    /// Refuses tables whose files can't be changed row by row.
    pub(crate) fn check_changeable(&self) -> Result<()> {
        match self.table_schema().options().data_evolution()? {
            false => Ok(()),
            true => Err(unsupported("changes of rows of tables with 'data-evolution.enabled'")
                .with("table", self.location())
                .hint("Whole partitions can be deleted")),
        }
    }

    /// Changes rows of a table without primary key; none if there are none and nothing is added.
    fn file_change(
        &self,
        filter: &Predicate,
        fate: Fate<'_>,
        added: Vec<PaimonNewFile>,
        go_on: Cancellation,
    ) -> Result<Option<Planned>> {
        let store = self.folder().store().as_ref();
        let new = Unpublished { store, data: added, index: Vec::new() };
        self.check_changeable()?;
        let scan = self.found(filter)?;
        let hits = crate::paimon::rows::found::hits(&scan, go_on)?;
        let rows = hits.iter().map(crate::paimon::rows::found::Hits::rows).sum();
        let counts = match fate {
            Fate::Gone => counted("deleted", rows),
            Fate::Updated(_) | Fate::Merged(_) => counted("updated", rows),
        };
        self.settled(&scan, hits, fate, new, counts, go_on)
    }

    /// Changes rows that were found.
    pub(crate) fn settled(
        &self,
        scan: &PaimonScan,
        hits: Vec<crate::paimon::rows::found::Hits>,
        fate: Fate<'_>,
        mut new: Unpublished<'_>,
        counts: BTreeMap<String, String>,
        go_on: Cancellation,
    ) -> Result<Option<Planned>> {
        let vectors = self.table_schema().options().deletion_vectors()?;
        let removed: Vec<DataFile>;
        let index;
        if vectors {
            if !matches!(fate, Fate::Gone) {
                new.data.extend(crate::paimon::rows::rewrite::updated(self, scan, &hits, fate, go_on)?);
            }
            let (whole, partly): (Vec<_>, Vec<_>) =
                hits.into_iter().partition(crate::paimon::rows::found::Hits::is_whole);
            removed = whole.into_iter().map(|h| h.task.data_file.as_ref().clone()).collect();
            let partly = partly.into_iter().filter_map(|h| Some((h.task.data_file.clone(), h.positions?))).collect();
            index =
                crate::paimon::rows::vectors::changes(self, scan.snapshot(), partly, &removed, &mut new.index, go_on)?;
        } else {
            let partly = hits.iter().any(|h| !h.is_whole());
            if partly || !matches!(fate, Fate::Gone) {
                new.data.extend(crate::paimon::rows::rewrite::rewritten(self, scan, &hits, fate, go_on)?);
            }
            removed = hits.into_iter().map(|h| h.task.data_file.as_ref().clone()).collect();
            // Their vectors, of a time when the table had some, go with them.
            index = crate::paimon::rows::vectors::changes(
                self,
                scan.snapshot(),
                Vec::new(),
                &removed,
                &mut new.index,
                go_on,
            )?;
        }
        let changes = Changes { added: new.taken(), removed, index, ..Changes::default() };
        Ok(match changes.is_empty() {
            true => None,
            false => Some((Commit::new(self.folder(), changes).owning_files(), counts)),
        })
    }

    /// Writes rows of a kind that take the place of those that a filter finds, by their key.
    fn key_change(&self, filter: &Predicate, fate: Fate<'_>, go_on: Cancellation) -> Result<Option<Planned>> {
        let (kind, key) = match fate {
            Fate::Gone => (WriteKind::Delete, "deleted"),
            Fate::Updated(_) | Fate::Merged(_) => (WriteKind::Update, "updated"),
        };
        if let Fate::Gone = fate {
            crate::paimon::rows::keyed::check_deletable(self.table_schema())?;
        }
        // What is not compacted yet is newer than what scans see.
        let scan = self.found(filter)?.of_every_level();
        let mut found = scan.read(crate::rows::stream::StreamRequest::default())?;
        let (mut writer, mut count) = (PaimonWriter::of_stored(self, kind)?, 0u64);
        while let Some(rows) = found.next_batch(go_on)? {
            go_on()?;
            count = count.saturating_add(rows.num_rows() as u64);
            match fate {
                Fate::Gone => writer.write(&rows)?,
                Fate::Updated(new) => writer.write(&new.apply(&rows)?)?,
                Fate::Merged(merge) => writer.write(&merge.fates(&rows)?.rows)?,
            }
        }
        let NewFiles { added, changelog, hashes } = writer.finish()?;
        if added.is_empty() {
            return Ok(None);
        }
        let changes = Changes { added, changelog, hashes, ..Changes::default() };
        let commit = Commit::new(self.folder(), changes).owning_files().only_on(scan.snapshot_id());
        Ok(Some((commit, counted(key, count))))
    }
}

/// Lets an interrupt through before the next attempt.
fn go_on_after(_: &Error) -> Result<()> {
    crate::parallel::go_on()
}
