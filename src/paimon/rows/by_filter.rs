//! Deleting and updating rows by a filter.
//!
//! Whole partitions are removed by metadata alone. In tables without primary key, rows are found file by file (`found`)
//! and changed file by file (`change_files`). In tables with a primary key, rows of kind `-D` and `+U` replace the
//! found rows (`keyed`).
//!
//! Everything is planned on one snapshot. If another commit contradicts the plan, the change is planned again
//! (`planned_commit`).
//!
//! Source: Java's `DeleteFromPaimonTableCommand`, `UpdatePaimonTableCommand`.

use super::fate::Fate;
use super::found::{changed_tasks, hits};
use super::keyed;
use super::planned_commit::{PlannedCommit, counted};
use super::unpublished::Unpublished;
use crate::error::{ErrorKind, Result};
use crate::expr::Predicate;
use crate::format::commit::CommitOptions;
use crate::format::row_change::Assigned;
use crate::format::task::NewBucketFile;
use crate::paimon::commit::changes::{Changes, Replaced};
use crate::paimon::commit::producer::Commit;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::paimon::write::append::{counting, row_count};
use crate::paimon::write::keyed::key_deletes::check_deletable;
use crate::paimon::write::write_plan::WriteKind;
use crate::paimon::write::writer::{PaimonWriter, WrittenFiles};
use crate::parallel::check_cancelled;
use crate::rows::row_changes::assignments::Assignments;
use crate::rows::stream::RowReader;
use crate::rows::stream::StreamRequest;

impl PaimonTable {
    /// Deletes the rows on which a filter is true. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema; `Unsupported` for tables with rows that can't be
    /// deleted; `CommitConflict` if others changed the same each time; as [`PaimonTable::append`].
    pub(crate) fn delete_where(&self, filter: &Predicate, options: &CommitOptions) -> Result<PaimonTable> {
        self.commit_planned(options, &|table| match table.replaced(filter) {
            Ok(replaced) => table.without(filter, replaced),
            Err(e) if e.kind() != ErrorKind::Unsupported => Err(e),
            Err(_) => match table.table_schema().has_primary_key() {
                true => table.key_change(filter, None),
                false => table.file_change(filter, &Fate::gone(), Vec::new()),
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
    ) -> Result<PaimonTable> {
        self.commit_planned(options, &|table| {
            let new = Assignments::new(table.schema(), assigned)?;
            match table.table_schema().has_primary_key() {
                true => {
                    keyed::check_updatable(table.table_schema(), assigned)?;
                    table.key_change(filter, Some(&new))
                }
                false => table.file_change(filter, &Fate::updated(&new), Vec::new()),
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
        rows: RowReader,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        let table = self.newest_of(options.branch.as_deref())?;
        if table.table_schema().has_primary_key() {
            return Err(PAIMON
                .lacks("overwriting rows other than whole partitions in a table with a primary key")
                .with("table", table.location())
                .hint("Delete the rows, then append the new ones, or filter by partition columns only"));
        }
        if table.table_schema().options().data_evolution()? {
            return Err(PAIMON
                .lacks("overwriting rows other than whole partitions of tables with 'data-evolution.enabled'")
                .with("table", table.location())
                .hint("Delete the rows, then append the new ones"));
        }
        let added = table.new_files(rows, WriteKind::Add, false)?.files.added;
        match table.file_change(filter, &Fate::gone(), added)? {
            Some(planned) => self.commit_once(planned, options),
            None => self.refresh(),
        }
    }

    /// Removes whole partitions.
    fn without(&self, filter: &Predicate, replaced: Replaced) -> Result<Option<PlannedCommit>> {
        let files = self.found(filter)?.of_every_level().files()?;
        let commit = || Commit::new(self.folder(), Changes::default()).overwriting(replaced);
        // The snapshot says how many rows fewer there are. That none came tells how many went.
        let counts = counting(self, &[], &CommitOptions::default()).snapshot_properties;
        Ok((!files.is_empty()).then(|| (commit(), counts)))
    }

    /// Changes rows of a table without primary key; `None` if no row matches and nothing is added.
    fn file_change(
        &self,
        filter: &Predicate,
        fate: &Fate<'_>,
        added: Vec<NewBucketFile>,
    ) -> Result<Option<PlannedCommit>> {
        let mut new = Unpublished::new(self.folder().store().as_ref());
        let inserted = (!added.is_empty()).then(|| row_count(&added));
        new.data = added;
        let scan = self.found(filter)?;
        let hits = hits(&scan, changed_tasks(&scan)?)?;
        let changes = self.changed_files(&scan, hits, fate, &mut new)?;
        let mut counts = match fate.patch.removes_all() {
            true => counted("deleted", changes.rows.deleted),
            false => counted("updated", changes.rows.updated),
        };
        counts.extend(inserted.into_iter().flat_map(|rows| counted("inserted", rows)));
        let commit = changes.commit(self, scan.snapshot(), &mut new)?;
        Ok(commit.map(|commit| (commit, counts)))
    }

    /// Writes rows of one kind. By their key, they replace the rows that a filter finds. Without new values these are
    /// deleted.
    fn key_change(&self, filter: &Predicate, new: Option<&Assignments>) -> Result<Option<PlannedCommit>> {
        let (kind, key) = match new {
            None => (WriteKind::Delete, "deleted"),
            Some(_) => (WriteKind::Update, "updated"),
        };
        if new.is_none() {
            check_deletable(self.table_schema())?;
        }
        // Rows that are not compacted yet are newer than those that scans see.
        let scan = self.found(filter)?.of_every_level();
        let mut found = scan.read(StreamRequest::default())?;
        let (mut writer, mut count) = (PaimonWriter::of_stored(self, kind)?, 0u64);
        while let Some(rows) = found.next_batch()? {
            check_cancelled()?;
            count = count.saturating_add(rows.num_rows() as u64);
            match new {
                None => writer.write(&rows)?,
                Some(new) => writer.write(&new.apply(&rows)?)?,
            }
        }
        let WrittenFiles { added, changelog, hashes } = writer.finish()?;
        if added.is_empty() {
            return Ok(None);
        }
        let changes = Changes { added, changelog, hashes, ..Changes::default() };
        let commit = Commit::new(self.folder(), changes).owning_files().only_on(scan.snapshot_id());
        Ok(Some((commit, counted(key, count))))
    }
}
