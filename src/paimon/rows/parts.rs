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
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::row_change::{ChangeFiles, Merge, Part, RowChange};
use crate::format::task::{
    BucketMessage, CommitMessage, DataFile, DeletedPositions, NewBucketFile, PartRows, RowDelta, ScanTask, WrittenAt,
};
use crate::paimon::commit::producer::run_planned;
use crate::paimon::manifest::entries::ADD;
use crate::paimon::manifest::index_manifest::{DeletionVectorRange, IndexEntry, read_index_manifest};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::spec::snapshot::PaimonSnapshot;
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
use crate::types::hash::murmur3_seeded;
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
        let scan = self.found(filter)?;
        let tasks = changed_tasks(&scan)?;
        // Files with columns of the same rows are removed together, by whole partitions.
        let evolves = self.table_schema().options().data_evolution()?;
        let by_partitions = deletes && evolves && self.replaced(filter).is_ok();
        let matches = |task: &ScanTask| by_partitions || deletes && !evolves && *task.residual == BoundPredicate::True;
        let (whole, rest): (Vec<ScanTask>, Vec<ScanTask>) = tasks.into_iter().partition(matches);
        let whole: Vec<FileHits> =
            whole.into_iter().map(|task| FileHits { task, positions: None, sources: Vec::new() }).collect();
        let removed: Vec<Arc<DataFile>> = match by_partitions {
            true => scan.files()?.into_iter().map(|task| task.data_file).collect(),
            false => whole.iter().map(|hit| hit.task.data_file.clone()).collect(),
        };
        let changes = FileChanges {
            rows: PartRows { deleted: whole.iter().map(FileHits::rows).sum(), ..PartRows::default() },
            removed: removed.iter().map(|file| file.as_ref().clone()).collect(),
            ..FileChanges::default()
        };
        let files = rest.iter().map(|task| (task.data_file.path.clone(), task.data_file.size_bytes)).collect();
        let whole = self.part(changes, Vec::new(), &mut Unpublished::new(self.folder().store().as_ref()))?;
        Ok(ChangeFiles { whole, files })
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
        self.part(changes, touched, &mut new)
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
        self.part(changes, touched, &mut new)
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

    /// The message of a part that changed rows of some files. It takes over the new files.
    fn part(&self, changes: FileChanges, touched: Vec<String>, new: &mut Unpublished<'_>) -> Result<CommitMessage> {
        let deleted = changes.deleted.into_iter().map(|(file, positions)| {
            let positions = positions.to_vector().with("path", &file.path)?;
            Ok(DeletedPositions { file: file.as_ref().clone(), positions })
        });
        let deleted = deleted.collect::<Result<Vec<_>>>()?;
        let added = new.taken().0;
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
        self.check_still_there()?;
        let after = messages.iter().filter_map(|m| m.written_at).min_by_key(|at| at.time_ms);
        let user = user_of(names_of(&messages));
        let (mut changes, added) = joined(messages)?;
        let rows = changes.rows;
        let table_options = self.table_schema().options();
        let (evolves, vectors) = (table_options.data_evolution()?, table_options.deletion_vectors()?);
        // Rows that came meanwhile may have the same keys. Columns that changed meanwhile would get old values back.
        changes.only_here = matches!(change, RowChange::Merge(_)) && rows.inserted > 0 || evolves && rows.updated > 0;
        let mut counts = properties(rows);
        counts.extend(options.snapshot_properties.clone());
        let commit_on = |table: &PaimonTable| {
            let mut index = Unpublished::new(self.folder().store().as_ref());
            let snapshot = table.metadata().snapshot.as_ref();
            let commit = changes.clone().commit_of(table, snapshot, added.clone(), &mut index)?;
            let commit = commit.map(|commit| commit.by(&user, 1).after(after).checking_appends().checking_files());
            Ok(commit.map(|commit| commit.with_properties(counts.clone())))
        };
        let outcome = match commit_on(self) {
            Ok(None) => return self.refresh(),
            Ok(Some(commit)) => commit.run().into_result(),
            Err(e) => Err(e),
        };
        // Other commits may have replaced index files that have vectors of other files, too.
        let replaced = |e: &Error| matches!(e.kind(), ErrorKind::CommitConflict | ErrorKind::NotFound);
        let done = match outcome {
            Err(e) if replaced(&e) && vectors && !evolves && !changes.only_here => run_planned(&mut || {
                let newest = self.refresh()?;
                self.check_same_vectors(&changes, &newest)?;
                commit_on(&newest)
            })
            .into_result()?,
            done => Some(done?),
        };
        match done {
            Some(_) => self.after_commit(),
            None => self.refresh(),
        }
    }

    /// Refuses a version that was rolled back, also if another snapshot has its number now.
    fn check_still_there(&self) -> Result<()> {
        let Some(read) = &self.metadata().snapshot else { return Ok(()) };
        let now = match self.folder().snapshot(read.id).if_found()? {
            Some(now) => Some(now),
            None => self.folder().latest_snapshot()?.filter(|latest| latest.id < read.id),
        };
        let same = |now: &PaimonSnapshot| {
            (now.id, &now.commit_user, now.time_ms, &now.delta_manifest_list)
                == (read.id, &read.commit_user, read.time_ms, &read.delta_manifest_list)
        };
        // A snapshot that is not there and is not newer than all others has expired.
        match now.as_ref().is_none_or(same) {
            true => Ok(()),
            false => Err(Error::conflict("the version that the change read was rolled back").with("snapshot", read.id)),
        }
    }

    /// Checks that no other commit has deleted rows of the changed files.
    fn check_same_vectors(&self, changes: &FileChanges, newest: &PaimonTable) -> Result<()> {
        let manifest = |table: &PaimonTable| {
            table.metadata().snapshot.as_ref().and_then(|snapshot| snapshot.index_manifest.clone())
        };
        if manifest(self) == manifest(newest) {
            return Ok(());
        }
        let files = changes.deleted.iter().map(|(file, _)| file.as_ref()).chain(&changes.removed);
        let names: HashSet<&str> = files.filter_map(|file| file.path.rsplit('/').next()).collect();
        let vectors = |table: &PaimonTable| -> Result<BTreeSet<(String, String)>> {
            let entries = manifest(table).map(|name| read_index_manifest(table.folder().manifests(), &name));
            let entries = entries.transpose()?.unwrap_or_default();
            let ranges = entries
                .iter()
                .filter(|entry| entry.kind == ADD)
                .flat_map(|entry| entry.deletion_vectors.iter().flatten().map(move |range| (entry, range)));
            let own = ranges.filter(|(_, range)| names.contains(range.data_file.as_str()));
            Ok(own.map(|(entry, range)| (range.data_file.clone(), mark(entry, range))).collect())
        };
        let conflict =
            || Error::conflict("another commit deleted rows of the same files").with("table", self.location());
        let read = vectors(self).map_err(|e| match e.kind() {
            ErrorKind::NotFound => conflict().because(e).hint("The version that the change read has expired"),
            _ => e,
        })?;
        match read == vectors(newest)? {
            true => Ok(()),
            false => Err(conflict()),
        }
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

/// What distinguishes a vector from later ones of the same data file. Vectors only grow. They may be copied unchanged
/// into other index files.
fn mark(entry: &IndexEntry, range: &DeletionVectorRange) -> String {
    match range.cardinality {
        Some(rows) => format!("{rows} rows"),
        None => format!("byte {} of {}", range.offset, entry.file_name),
    }
}

/// Names that tell the changes of messages from others: new files, removed files, and positions of deleted rows.
fn names_of(messages: &[CommitMessage]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for message in messages {
        let since = message.delta.as_ref().and_then(|delta| delta.since).unwrap_or_default();
        let removed = message.delta.iter().flat_map(|delta| &delta.removed);
        names.extend(message.buckets.added.iter().map(|new| new.file.path.clone()));
        names.extend(removed.map(|file| format!("{} of {since}", file.path)));
        for rows in &message.buckets.deleted {
            let word = |seed: u32| format!("{:08x}", murmur3_seeded(seed, &rows.positions));
            let positions: String = (0..4).map(word).collect();
            names.insert(format!("{} of {since} without {positions}", rows.file.path));
        }
    }
    names
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
