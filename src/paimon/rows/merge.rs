//! Merging rows into a table: those that match by key are updated or deleted, the others inserted.
//!
//! The data is held in memory. All rows of the table in the range of its keys are read. Tables without primary key are
//! matched by any columns, and change as they do by a filter. Tables with a primary key are matched by it, and get rows
//! of kind `-D`, `+U` and `+I`.
//!
//! Source: Java's `MergeIntoPaimonTable`.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;

use super::column_files::PartlyRead;
use super::fate::Fate;
use super::found::{FileHits, changed_tasks};
use super::keyed;
use super::planned_commit::PlannedCommit;
use super::row_matcher::RowMatcher;
use super::unpublished::Unpublished;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::row_change::Assigned;
use crate::format::row_change::{Columns, Merge};
use crate::format::task::PartRows;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::paimon::write::keyed::key_deletes::check_deletable;
use crate::paimon::write::write_plan::WriteKind;
use crate::paimon::write::writer::{PaimonWriter, WrittenFiles};
use crate::parallel::check_cancelled;
use crate::rows::row_changes::assignments::row_counts;
use crate::rows::row_changes::placed::placed;
use crate::rows::row_changes::source::{SourceRows, rows_of};
use crate::rows::stream::RowReader;
use crate::rows::stream::StreamRequest;
use crate::store::in_parallel;

/// The numbers of rows that a merge changed, as properties of the snapshot.
pub(super) fn properties(rows: PartRows) -> BTreeMap<String, String> {
    row_counts(rows.updated, rows.inserted, rows.deleted).into()
}

impl PaimonTable {
    /// Merges rows in one commit. Returns the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for columns, keys and conditions that don't fit; `Unsupported` for tables that don't take such
    /// changes; `CommitConflict` if others changed the table each time; as [`PaimonTable::append`].
    pub(crate) fn merge_rows(&self, merge: &Merge, rows: RowReader, options: &CommitOptions) -> Result<PaimonTable> {
        let rows = SourceRows::read(rows)?;
        self.commit_planned(options, &|table| {
            let keyed = table.table_schema().has_primary_key();
            let on = if keyed && merge.on.is_empty() { &table.table_schema().primary_keys } else { &merge.on };
            if keyed {
                table.check_key(on)?;
            }
            let merge = Merge { on: on.clone(), ..merge.clone() };
            let matcher = RowMatcher::new(table.schema(), &merge, rows.clone())?;
            match keyed {
                true => table.merge_by_key(&matcher, &merge),
                false => table.merge_files(&matcher),
            }
        })
    }

    fn merge_files(&self, matcher: &RowMatcher) -> Result<Option<PlannedCommit>> {
        let scan = self.found(matcher.filter())?;
        let hits = merge_hits(&scan, &PartlyRead::without_blobs(self)?, matcher)?;
        let mut new = Unpublished::new(self.folder().store().as_ref());
        let (inserted, rows) = self.insert(matcher)?;
        new.data = inserted.added;
        let mut changes = self.changed_files(&scan, hits, &Fate::merged(matcher), &mut new)?;
        changes.rows.inserted = rows;
        // Rows that came meanwhile may have the same keys.
        changes.only_here = true;
        let counts = properties(changes.rows);
        let commit = changes.commit(self, scan.snapshot(), &mut new)?;
        Ok(commit.map(|commit| (commit, counts)))
    }

    fn merge_by_key(&self, matcher: &RowMatcher, merge: &Merge) -> Result<Option<PlannedCommit>> {
        self.check_merged_by_key(matcher, merge)?;
        let scan = self.found(matcher.filter())?.of_every_level();
        let mut found = scan.read(StreamRequest::default())?;
        let (mut updates, mut deletes, mut counts) = (None, None, PartRows::default());
        while let Some(rows) = found.next_batch()? {
            check_cancelled()?;
            let fates = matcher.fates(&rows)?;
            let gone = rows_of(&rows, &fates.changed & &!&fates.replaced)?;
            counts.updated += fates.rows.num_rows() as u64;
            counts.deleted += gone.num_rows() as u64;
            self.write_kind(&mut updates, WriteKind::Update, &fates.rows)?;
            self.write_kind(&mut deletes, WriteKind::Delete, &gone)?;
        }
        let mut new = Unpublished::new(self.folder().store().as_ref());
        let mut changes = Changes::default();
        let mut add = |files: WrittenFiles| {
            new.data.extend(files.added.iter().chain(&files.changelog).cloned());
            changes.added.extend(files.added);
            changes.changelog.extend(files.changelog);
            changes.hashes.extend(files.hashes);
        };
        for writer in [updates, deletes].into_iter().flatten() {
            add(writer.finish()?);
        }
        let (inserted, rows) = self.insert(matcher)?;
        counts.inserted = rows;
        add(inserted);
        if changes.added.is_empty() {
            return Ok(None);
        }
        new.taken();
        let commit = Commit::new(self.folder(), changes).owning_files().only_on(scan.snapshot_id());
        Ok(Some((commit, properties(counts))))
    }

    /// Refuses merges that the table's merge engine does not support.
    fn check_merged_by_key(&self, matcher: &RowMatcher, merge: &Merge) -> Result<()> {
        let schema = self.table_schema();
        if let Some(Columns::Of(given)) = &merge.update
            && let Some((name, _)) = given.iter().find(|(to, from)| to != from && schema.primary_keys.contains(to))
        {
            return Err(Error::invalid("a column of the primary key can't be updated")
                .with("column", name)
                .hint("Delete the rows, and append them with the new key"));
        }
        let key = |name: &&str| !schema.primary_keys.iter().any(|key| key == name);
        let updated: Vec<(String, Assigned)> =
            matcher.updated_columns().filter(key).map(|name| (name.to_owned(), Assigned::Value(None))).collect();
        if !updated.is_empty() {
            if schema.options().merge_engine()? != MergeEngine::Deduplicate {
                return Err(PAIMON
                    .lacks("merges that update rows of tables whose merge engine combines rows")
                    .with("table", self.location())
                    .hint("upsert() and append() leave that to the merge engine"));
            }
            keyed::check_updatable(schema, &updated).with("table", self.location())?;
        }
        if matcher.may_delete() {
            check_deletable(schema).with("table", self.location())?;
        }
        if merge.insert.is_some() {
            let given = matcher.inserted_columns().unwrap_or_default();
            if let Some(missing) = schema.primary_keys.iter().find(|key| !given.contains(&key.as_str())) {
                return Err(Error::invalid("inserted rows lack a column of the primary key").with("column", missing));
            }
        }
        Ok(())
    }

    fn write_kind(&self, writer: &mut Option<PaimonWriter>, kind: WriteKind, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let writer = match writer {
            Some(writer) => writer,
            none => none.insert(PaimonWriter::of_stored(self, kind)?),
        };
        writer.write(rows)
    }

    /// Writes the rows without a match. Returns their number.
    fn insert(&self, matcher: &RowMatcher) -> Result<(WrittenFiles, u64)> {
        let mut batches = matcher.inserted().peekable();
        if batches.peek().is_none() {
            return Ok((WrittenFiles::default(), 0));
        }
        let (mut writer, mut count) = (PaimonWriter::new(self, WriteKind::Add, false)?, 0);
        for rows in batches {
            check_cancelled()?;
            let rows = rows?;
            count += rows.num_rows() as u64;
            writer.write(&rows)?;
        }
        Ok((writer.finish()?, count))
    }
}

/// The rows of each file that a merge changes.
fn merge_hits(scan: &PaimonScan, columns: &PartlyRead, matcher: &RowMatcher) -> Result<Vec<FileHits>> {
    let tasks = changed_tasks(scan)?;
    let reader = scan.placed_reader(&columns.fields);
    let found = in_parallel(reader.store.as_ref(), tasks.len(), |i| {
        let mut found = PositionSet::default();
        let Some(task) = tasks.get(i) else { return Ok(found) };
        for rows in reader.read(task)? {
            check_cancelled()?;
            let rows = placed(rows?)?;
            let fates = matcher.fates(&columns.whole(&rows.rows)?)?;
            let positions = rows.positions.values();
            let at: Vec<i64> = fates.changed.set_indices().filter_map(|row| positions.get(row).copied()).collect();
            found.extend(&at).with("path", &task.data_file.path)?;
        }
        Ok(found)
    })?;
    let hits = tasks.into_iter().zip(found).filter(|(_, positions)| !positions.is_empty());
    Ok(hits.map(|(task, positions)| FileHits { task, positions: Some(positions), sources: Vec::new() }).collect())
}
