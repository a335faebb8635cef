//! Messages of writers, perhaps in other processes: committed together as one append, row delta or rewrite, or
//! abandoned.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::files::read_vector;
use crate::data::write::delete_write::{DeleteForm, PositionDeleteWriter};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::request::{At, ScanRequest};
use crate::format::task::{CommitMessage, DataFile, FileContent, FileFormat, RowDelta};
use crate::iceberg::commit::fingerprint::CommitFingerprint;
use crate::iceberg::commit::live;
use crate::iceberg::commit::own_folders::own_folders;
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing;
use crate::iceberg::committing::IcebergOutcome;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::state::IcebergTable;

impl IcebergTable {
    /// Commits the files of writers as one append. With deletes it is one row delta: the deletes apply to earlier
    /// commits, not to the rows that come with them. Without any files nothing is committed. The same messages are
    /// committed to a branch only once.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, of rewritten rows, with missing files, or partly committed
    /// before. `CommitConflict` if a data file whose rows are deleted by position was removed. Errors of
    /// [`IcebergTable::append`].
    pub fn commit(&self, mut messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<IcebergTable> {
        self.check_messages(&messages)?;
        if messages.iter().any(|m| m.delta.as_ref().is_some_and(|d| d.part.is_some())) {
            return Err(Error::invalid("messages of the parts of one change can't be committed without it")
                .hint("Spark's merge, update and delete commit them"));
        }
        if messages.iter().any(|m| m.rewrites.is_some()) {
            return Err(Error::invalid(
                "messages of rewritten rows can't be appended: the table would have the rows twice",
            )
            .hint("Give them to commit_rewrite(), with the files that they replace"));
        }
        let nothing = |m: &CommitMessage| m.files.is_empty() && m.delta.iter().all(|d| d.removed.is_empty());
        if messages.iter().all(nothing) {
            return self.refresh();
        }
        if !messages.iter().any(|m| m.delta.is_some() || m.files.iter().any(is_delete)) {
            let fingerprint = fingerprint(&messages);
            let files = messages.into_iter().flat_map(|m| m.files).collect();
            let change = SnapshotProducer::append(self.inner.store.clone(), files).once(fingerprint);
            return committing::commit(self, vec![Box::new(options.apply(change, self)?)]).into_result();
        }
        let newest = self.refresh()?;
        let fingerprint = fingerprint(&messages);
        let written = newest.united_vectors(&mut messages)?;
        let change = row_delta(&newest, messages).once(fingerprint);
        let change = options.apply(change, &newest)?;
        let outcome = committing::commit(&newest, vec![Box::new(change)]);
        if !matches!(outcome, IcebergOutcome::Failed(_)) {
            written.take();
        }
        outcome.into_result()
    }

    /// Replaces data files by those of messages. These hold the same rows, without those that were deleted. Delete
    /// files can be replaced in the same way. `at` is the version at which the rows were read, by default this one.
    /// Added data files get its sequence number, so that later equality deletes still apply to their rows.
    ///
    /// # Errors
    /// `InvalidInput` if nothing is replaced, or rows lack their ids. Also if the number of rows differs (where
    /// equality deletes apply to the replaced files: grows). Also if a delete file is replaced that applies to
    /// remaining data files. `CommitConflict` if a replaced file was removed, or rows of it were deleted since. Errors
    /// of [`IcebergTable::commit`].
    pub fn commit_rewrite(
        &self,
        replaced: Vec<DataFile>,
        messages: Vec<CommitMessage>,
        at: Option<At>,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        self.check_messages(&messages)?;
        if messages.iter().any(|m| m.delta.is_some()) {
            return Err(
                Error::invalid("messages with deletes can't be committed as a rewrite").hint("Give them to commit()")
            );
        }
        let fingerprint = fingerprint(&messages);
        check_lineage(self.format_version(), &messages)?;
        let added: Vec<DataFile> = messages.into_iter().flat_map(|m| m.files).collect();
        check_kinds(&replaced, &added)?;
        let at = at.or_else(|| options.branch.clone().map(At::Ref));
        let scan = self.scan(ScanRequest { at, ..ScanRequest::default() })?;
        let Some(since) = scan.snapshot_id() else {
            return Err(Error::invalid("the table had no files at that version"));
        };
        let number = self.inner.metadata.snapshot_by_id(since).map_or(0, |s| s.sequence_number);
        let replaced = crate::iceberg::write::replaced::check(self, &scan, (replaced, number), &added, options)?;
        let change = rewrite(self, since, number).once(fingerprint);
        let change = change.remove_files(replaced).add_files(added);
        committing::commit(self, vec![Box::new(options.apply(change, self)?)]).into_result()
    }

    /// Deletes the files of writers whose job was abandoned, unless a snapshot of the table has one of them.
    ///
    /// # Errors
    /// `InvalidInput` if a file is in use: then nothing is deleted. Errors of [`IcebergTable::refresh`] and of the
    /// store.
    pub fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        let own = messages.iter().filter(|m| m.table_uuid == self.uuid());
        let paths: BTreeSet<&str> = own.flat_map(|m| &m.files).map(|f| f.path.as_str()).collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        let newest = self.refresh()?;
        let own = own_folders(self.inner.store.as_ref(), &newest.inner.metadata);
        paths.iter().try_for_each(|path| own.check(path))?;
        let live = live::live_files(self.inner.store.as_ref(), &newest.inner.metadata, &paths)?;
        if let Some(path) = live.first() {
            return Err(
                Error::invalid("a file of the messages is in the table, so nothing was deleted").with("path", path)
            );
        }
        paths.iter().try_for_each(|path| self.inner.store.delete(path).with("path", path))
    }

    /// Merges several deletion vectors of the same data file, written by independent writers, into one: a data file has
    /// at most one. Returns the written files, which the commit does not own.
    fn united_vectors(&self, messages: &mut [CommitMessage]) -> Result<NewFiles> {
        let store = &self.inner.store;
        let mut written = NewFiles::new(store);
        let is_vector = |f: &DataFile| is_delete(f) && f.format == FileFormat::Puffin;
        let mut by_file: BTreeMap<String, Vec<DataFile>> = BTreeMap::new();
        for file in messages.iter().flat_map(|m| &m.files).filter(|f| is_vector(f)) {
            if let Some(of) = &file.referenced_data_file {
                by_file.entry(of.clone()).or_default().push(file.clone());
            }
        }
        // Equal files mean that the same message came twice; the commit refuses that.
        let several = |files: &[DataFile]| files.iter().map(FileId::of).collect::<BTreeSet<_>>().len() > 1;
        by_file.retain(|_, files| several(files));
        if by_file.is_empty() {
            return Ok(written);
        }
        let context = self.scan(ScanRequest::default())?.context().clone();
        let cache = DeleteCache::new(0);
        let mut writer = PositionDeleteWriter::new(store.clone(), self.write_context(0)?, DeleteForm::Vectors)?;
        for (path, files) in &by_file {
            for file in files {
                let data_file = DataFile { path: path.clone(), content: FileContent::Data, ..file.clone() };
                let (set, _) = read_vector(store, &context, &data_file, file, &cache).with("path", &file.path)?;
                writer.delete(&data_file, set.as_ref().clone())?;
            }
        }
        written.add(writer.finish()?);
        let replaced =
            |f: &DataFile| is_vector(f) && f.referenced_data_file.as_ref().is_some_and(|of| by_file.contains_key(of));
        messages.iter_mut().for_each(|m| m.files.retain(|f| !replaced(f)));
        if let Some(first) = messages.first_mut() {
            first.files.extend(written.files().iter().cloned());
        }
        Ok(written)
    }

    /// Refuses messages that can't be committed to this table.
    pub(crate) fn check_messages(&self, messages: &[CommitMessage]) -> Result<()> {
        self.writable_location()?;
        if let Some(m) = messages.iter().find(|m| m.table_uuid != self.uuid()) {
            return Err(Error::invalid("a commit message belongs to another table")
                .with("expected", self.uuid())
                .with("found", &m.table_uuid));
        }
        for file in messages.iter().flat_map(|m| &m.files) {
            self.inner.store.size(&file.path).map_err(|e| match e.kind() {
                ErrorKind::NotFound => Error::invalid("a written file no longer exists").with("path", &file.path).hint(
                    "Its message was aborted; or it was committed, and the file has been rewritten and expired since: \
                         check whether its rows are in the table before you write them again",
                ),
                _ => e,
            })?;
        }
        Ok(())
    }
}

/// The identity of a commit of messages: its files or, without files, the files that it removes.
pub(crate) fn fingerprint(messages: &[CommitMessage]) -> CommitFingerprint {
    let mut out = CommitFingerprint::default();
    for message in messages {
        out.add(message.files.iter().map(|f| f.path.clone()), message.written_at);
        if let Some(delta) = &message.delta {
            let since = delta.since.unwrap_or(-1);
            delta.removed.iter().for_each(|f| out.add_name(format!("{} of {since}", FileId::of(f))));
        }
    }
    out
}

/// Rewritten rows must come with their ids.
fn check_lineage(format_version: u8, messages: &[CommitMessage]) -> Result<()> {
    let without = |m: &&CommitMessage| !m.files.is_empty() && m.rewrites.is_none_or(|v| v < 3);
    match messages.iter().find(without).filter(|_| format_version >= 3) {
        None => Ok(()),
        Some(m) => Err(Error::invalid("a message's rewritten rows have no row ids")
            .with("path", m.files.first().map_or("", |f| f.path.as_str()))
            .hint("Write them with Writer.rewrite, with the columns _row_id and _last_updated_sequence_number")),
    }
}

fn is_delete(file: &DataFile) -> bool {
    file.content != FileContent::Data
}

/// As Java's `RewriteFiles`: data files replace data files, and delete files replace delete files.
fn check_kinds(replaced: &[DataFile], added: &[DataFile]) -> Result<()> {
    if replaced.is_empty() {
        return Err(Error::invalid("a rewrite replaces at least one file"));
    }
    for deletes in [false, true] {
        let of_kind = |files: &[DataFile]| files.iter().any(|f| is_delete(f) == deletes);
        if of_kind(added) && !of_kind(replaced) {
            let kind = if deletes { "delete" } else { "data" };
            return Err(Error::invalid(format!("a rewrite that replaces no {kind} file adds none")));
        }
    }
    Ok(())
}

/// Replaces files by others with the same rows, which were read at a snapshot.
pub(crate) fn rewrite(table: &IcebergTable, since: i64, sequence_number: i64) -> SnapshotProducer {
    let preconditions =
        Preconditions { since: Some(since), no_new_deletes_of_removed: true, ..Preconditions::default() };
    let change = SnapshotProducer::new(table.inner.store.clone(), Operation::Replace)
        .planned_at(table.format_version())
        .with_preconditions(preconditions);
    if table.format_version() > 1 { change.data_sequence_number(sequence_number) } else { change }
}

/// The one change that all messages make together. Its operation is that of Java's `RowDelta`.
pub(crate) fn row_delta(table: &IcebergTable, messages: Vec<CommitMessage>) -> SnapshotProducer {
    let (mut files, mut all) = (Vec::new(), Vec::new());
    for message in messages {
        files.extend(message.files);
        all.extend(message.delta);
    }
    let removed = removed(&all);
    // A file that the table lists twice may be removed once, and lose some rows the other time.
    let whole = |d: &'_ &RowDelta, f: &DataFile| !is_delete(f) && !d.referenced.contains(&f.path);
    let gone: HashSet<&str> =
        (all.iter()).flat_map(|d| d.removed.iter().filter(move |f| whole(&d, f))).map(|f| f.path.as_str()).collect();
    // Deletes of files that are removed as a whole would apply to nothing.
    files.retain(|f| f.referenced_data_file.as_deref().is_none_or(|of| !gone.contains(of)));
    let referenced = all.iter().flat_map(|d| &d.referenced).filter(|path| !gone.contains(path.as_str()));
    let preconditions = Preconditions {
        since: oldest(table, &all),
        required: referenced.cloned().collect(),
        required_may_be_deleted: true,
        only_specs: common_specs(&all),
        ..Preconditions::default()
    };
    let adds = |deletes: bool| files.iter().any(|f| is_delete(f) == deletes);
    let operation = match (adds(false), adds(true) || !removed.is_empty()) {
        (true, false) => Operation::Append,
        (true, true) => Operation::Overwrite,
        (false, _) => Operation::Delete,
    };
    let change = SnapshotProducer::new(table.inner.store.clone(), operation).with_preconditions(preconditions);
    change.remove_files(removed.into_iter().cloned()).add_files(files)
}

/// The files to remove. A file that several writers name counts once. A file that the table lists several times counts
/// as often.
fn removed(deltas: &[RowDelta]) -> Vec<&DataFile> {
    let mut all: BTreeMap<FileId, Vec<&DataFile>> = BTreeMap::new();
    for delta in deltas {
        let mut own: BTreeMap<FileId, Vec<&DataFile>> = BTreeMap::new();
        delta.removed.iter().for_each(|f| own.entry(FileId::of(f)).or_default().push(f));
        for (id, entries) in own {
            let known = all.entry(id).or_default();
            if entries.len() > known.len() {
                *known = entries;
            }
        }
    }
    all.into_values().flatten().collect()
}

/// The earliest snapshot that a writer of position deletes read.
fn oldest(table: &IcebergTable, deltas: &[RowDelta]) -> Option<i64> {
    let looked = deltas.iter().filter(|d| !d.referenced.is_empty() || !d.removed.is_empty());
    // An unknown snapshot comes first, so that the commit notices it.
    let number = |id: Option<i64>| {
        id.map(|id| table.inner.metadata.snapshot_by_id(id).map_or(0, |s| s.sequence_number.saturating_add(1)))
    };
    looked.map(|d| d.since).min_by_key(|id| number(*id)).flatten()
}

/// The specs that the equality deletes of all messages apply to; `None` if they apply to all.
fn common_specs(deltas: &[RowDelta]) -> Option<BTreeSet<i32>> {
    let sets = deltas.iter().filter_map(|d| d.specs.as_ref());
    let sets = sets.map(|ids| ids.iter().copied().collect::<BTreeSet<i32>>());
    sets.reduce(|a, b| a.intersection(&b).copied().collect())
}
