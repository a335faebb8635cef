//! Changes of rows of tables without primary key in parts: several processes do a part each, and one commits them all.
//!
//! Parts write data files only. The commit writes the deletion vectors, because an index file has those of many data
//! files.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::change_files::FileChanges;
use super::fate::Fate;
use super::found::{FileHits, changed_tasks, hits};
use super::merge::properties;
use super::unpublished::Unpublished;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::row_change::{ChangeFiles, Merge, Part, RowChange};
use crate::format::task::{
    BucketMessage, CommitMessage, DeletedPositions, NewBucketFile, PartRows, RowDelta, ScanTask, WrittenAt,
};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::paimon::write::commit_messages::user_of;
use crate::paimon::write::write_plan::WriteKind;
use crate::paimon::write::writer::PaimonWriter;
use crate::rows::row_changes::assignments::Assignments;
use crate::rows::row_changes::clauses::{Clauses, check_insert, mapping};
use crate::rows::row_changes::matched_rows::MatchedSource;
use crate::rows::row_changes::parts::check_parts;
use crate::rows::row_changes::source::{Mapping, SourceRows, renamed};
use crate::rows::stream::RowReader;
use crate::store::location::{normalise, normalised};
use crate::types::temporal::now_ms;

/// Writes rows of a merge's data that match no row of the table.
struct InsertedRows {
    columns: Mapping,
    writer: PaimonWriter,
    rows: u64,
}

impl InsertedRows {
    /// `None` if the merge inserts nothing.
    fn new(table: &PaimonTable, merge: &Merge, source: &SourceRows) -> Result<Option<InsertedRows>> {
        let Some(columns) = &merge.insert else { return Ok(None) };
        let columns = mapping(table.schema(), source, columns)?;
        check_insert(table.schema(), merge, source)?;
        Ok(Some(InsertedRows { columns, writer: PaimonWriter::new(table, WriteKind::Add, false)?, rows: 0 }))
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        self.rows += rows.num_rows() as u64;
        self.writer.write(&renamed(rows, &self.columns)?)
    }

    /// The files, and the number of rows in them. Nothing is written without rows.
    fn finish(self) -> Result<(Vec<NewBucketFile>, u64)> {
        Ok((self.writer.finish()?.added, self.rows))
    }
}

impl PaimonTable {
    /// The files that a delete or update touches at this version.
    ///
    /// # Errors
    /// `InvalidInput` for other changes, and if the change does not fit the schema; errors of planning.
    pub(crate) fn files_to_change(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles> {
        self.check_part_of(branch)?;
        let (filter, deletes) = match change {
            RowChange::Delete(filter) => (filter, true),
            RowChange::Update(filter, assigned) => {
                Assignments::new(self.schema(), assigned)?;
                (filter, false)
            }
            _ => return Err(Error::invalid("only deletes and updates can be divided by files")),
        };
        let tasks = changed_tasks(&self.found(filter)?)?;
        let removes = deletes && !self.table_schema().options().data_evolution()?;
        let matches = |task: &ScanTask| removes && *task.residual == BoundPredicate::True;
        let (whole, rest): (Vec<ScanTask>, Vec<ScanTask>) = tasks.into_iter().partition(matches);
        let whole: Vec<FileHits> =
            whole.into_iter().map(|task| FileHits { task, positions: None, sources: Vec::new() }).collect();
        let changes = FileChanges {
            rows: PartRows { deleted: whole.iter().map(FileHits::rows).sum(), ..PartRows::default() },
            removed: whole.into_iter().map(|hit| hit.task.data_file.as_ref().clone()).collect(),
            ..FileChanges::default()
        };
        let files = rest.iter().map(|task| (task.data_file.path.clone(), task.data_file.size_bytes)).collect();
        Ok(ChangeFiles { whole: self.part(changes, Vec::new(), Vec::new())?, files })
    }

    /// Does a part of a change at this version, without committing. See `IcebergTable::write_part` for the rows.
    ///
    /// # Errors
    /// As [`PaimonTable::change_rows`], but for the commit; `InvalidInput` if a row of the table matches several rows
    /// of the source; `NotFound` if the table was dropped, or created again.
    pub(crate) fn write_part(
        &self,
        part: &Part,
        rows: Option<RowReader>,
        branch: Option<&str>,
    ) -> Result<CommitMessage> {
        self.check_part_of(branch)?;
        self.metadata().check_same_table()?;
        match (part, rows) {
            (Part::Files { change, files }, None) => self.part_of_files(change, files),
            (Part::Matches { merge, filter, .. }, Some(rows)) => self.part_of_matches(merge, filter, rows),
            _ => Err(Error::invalid("a part of a merge needs rows, and parts of other changes take no rows")),
        }
    }

    fn part_of_files(&self, change: &RowChange, files: &[String]) -> Result<CommitMessage> {
        let paths: Vec<String> = files.iter().map(|path| normalise(path)).collect();
        let wanted: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let assigned;
        let (filter, fate) = match change {
            RowChange::Delete(filter) => (filter, Fate::gone()),
            RowChange::Update(filter, values) => {
                assigned = Assignments::new(self.schema(), values)?;
                (filter, Fate::updated(&assigned))
            }
            _ => return Err(Error::invalid("only deletes and updates can be divided by files")),
        };
        let scan = self.found(filter)?;
        let hits = hits(&scan, self.tasks_of(&scan, &wanted)?)?;
        let mut new = Unpublished::new(self.folder().store().as_ref());
        let touched = hits.iter().map(|hit| hit.task.data_file.path.clone()).collect();
        let changes = self.changed_files(&scan, hits, &fate, &mut new)?;
        self.part(changes, touched, new.taken().0)
    }

    fn part_of_matches(&self, merge: &Merge, filter: &Predicate, rows: RowReader) -> Result<CommitMessage> {
        let source = MatchedSource::new(rows, self.schema(), merge)?;
        let mut inserts = InsertedRows::new(self, merge, &source.empty())?;
        let matched =
            source.read(merge, &mut |rows| inserts.as_mut().map_or(Ok(()), |inserts| inserts.write(&rows)))?;
        let mut new = Unpublished::new(self.folder().store().as_ref());
        let mut inserted = 0;
        if let Some(inserts) = inserts {
            (new.data, inserted) = inserts.finish()?;
        }
        let clauses = Clauses::new(self.schema(), merge, &matched.source)?;
        let may_delete = matched.may_delete(&clauses);
        let scan = self.found(filter)?;
        let tasks = self.tasks_of(&scan, &matched.files())?;
        let hits: Vec<FileHits> = matched.hits(tasks, &clauses)?.0.into_iter().map(FileHits::from).collect();
        let touched = hits.iter().map(|hit| hit.task.data_file.path.clone()).collect();
        let mut changes = self.changed_files(&scan, hits, &Fate::matched(&clauses, may_delete), &mut new)?;
        changes.rows.inserted = inserted;
        self.part(changes, touched, new.taken().0)
    }

    /// The tasks of a scan for these data files.
    fn tasks_of(&self, scan: &PaimonScan, wanted: &HashSet<&str>) -> Result<Vec<ScanTask>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut tasks = changed_tasks(scan)?;
        tasks.retain(|task| wanted.contains(normalised(&task.data_file.path).as_ref()));
        let found: HashSet<String> = tasks.iter().map(|task| normalise(&task.data_file.path)).collect();
        match wanted.iter().find(|path| !found.contains(**path)) {
            None => Ok(tasks),
            Some(path) => Err(Error::invalid("the table has no such data file at this version").with("path", path)),
        }
    }

    /// The message of a part that changed rows of some files.
    fn part(&self, changes: FileChanges, touched: Vec<String>, added: Vec<NewBucketFile>) -> Result<CommitMessage> {
        let deleted = changes.deleted.into_iter().map(|(file, positions)| {
            let positions = positions.to_vector().with("path", &file.path)?;
            Ok(DeletedPositions { file: file.as_ref().clone(), positions })
        });
        let deleted = deleted.collect::<Result<Vec<_>>>()?;
        let since = self.metadata().snapshot.as_ref().map(|snapshot| snapshot.id);
        let delta =
            RowDelta { since, removed: changes.removed, referenced: touched, specs: None, part: Some(changes.rows) };
        let files = added.iter().map(|new| new.file.clone()).collect();
        let written_at = Some(WrittenAt { sequence_number: since.unwrap_or(0), time_ms: now_ms() });
        Ok(CommitMessage {
            delta: Some(delta),
            buckets: BucketMessage { added, deleted, ..BucketMessage::default() },
            ..CommitMessage::new(self.metadata().identity(), files, written_at)
        })
    }

    /// Commits all parts of a change that were done at this version; returns the table at its new version. The same
    /// parts are committed only once. If the commit fails, their files stay.
    ///
    /// # Errors
    /// `InvalidInput` for messages that are not parts, belong to another table or version, or change the same data file
    /// twice; `CommitConflict` if another commit changed the same files, or anything if rows are inserted by a merge or
    /// columns have files of their own; as [`PaimonTable::append`].
    pub(crate) fn commit_parts(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        self.check_part_of(options.branch.as_deref())?;
        self.check_messages(&messages)?;
        let snapshot = self.metadata().snapshot.as_ref();
        check_parts(&messages, snapshot.map(|snapshot| snapshot.id))?;
        let after = messages.iter().filter_map(|m| m.written_at).min_by_key(|at| at.time_ms);
        let (changes, added) = joined(messages)?;
        let (rows, merges) = (changes.rows, matches!(change, RowChange::Merge(_)));
        let paths = added.iter().map(|new| &new.file.path).chain(changes.removed.iter().map(|file| &file.path));
        let paths: BTreeSet<String> =
            paths.chain(changes.deleted.iter().map(|(file, _)| &file.path)).cloned().collect();
        let evolves = self.table_schema().options().data_evolution()?;
        // Rows that came meanwhile may have the same keys. Columns that changed meanwhile would get old values back.
        let only_here = merges && rows.inserted > 0 || evolves && rows.updated > 0;
        let mut index = Unpublished::new(self.folder().store().as_ref());
        let commit = FileChanges { only_here, ..changes }.commit_of(self, snapshot, added, &mut index)?;
        let Some(commit) = commit else { return self.refresh() };
        let mut counts = properties(rows);
        counts.extend(options.snapshot_properties.clone());
        let commit = commit.by(&user_of(paths), 1).after(after).checking_appends().checking_files();
        commit.with_properties(counts).run().into_result()?;
        self.after_commit()
    }

    /// Refuses other branches: they have a version of their own.
    fn check_part_of(&self, branch: Option<&str>) -> Result<()> {
        match branch {
            Some(name) if name != self.folder().branch_name() => Err(PAIMON
                .lacks("parts of changes of another branch")
                .with("table", self.location())
                .with("branch", name)
                .hint("Open the branch: it is a table of its own")),
            _ => Ok(()),
        }
    }
}

/// The changes of all parts, and their new files.
fn joined(messages: Vec<CommitMessage>) -> Result<(FileChanges, Vec<NewBucketFile>)> {
    let (mut all, mut added) = (FileChanges::default(), Vec::new());
    for message in messages {
        added.extend(message.buckets.added);
        for DeletedPositions { file, positions } in message.buckets.deleted {
            let positions = PositionSet::from_vector(&positions).with("path", &file.path)?;
            all.deleted.push((Arc::new(file), positions));
        }
        let Some(delta) = message.delta else { continue };
        let rows = delta.part.unwrap_or_default();
        all.rows.updated += rows.updated;
        all.rows.deleted += rows.deleted;
        all.rows.inserted += rows.inserted;
        all.removed.extend(delta.removed);
    }
    Ok((all, added))
}
