//! Writing in one process and committing in another: commit messages.

use std::collections::BTreeSet;

use super::append::{counting, with_properties};
use super::settle::{PendingFiles, Settling, paths_of};
use super::write_plan::{WriteKind, is_over_partitions};
use super::writer::WrittenFiles;
use crate::error::{Error, ErrorKind, Result};
use crate::format::commit::CommitOptions;
use crate::format::row_change::RowChange;
use crate::format::task::{BucketMessage, CommitMessage, WrittenAt};
use crate::paimon::commit::changes::Replaced;
use crate::paimon::commit::orphans::files_in_use;
use crate::paimon::commit::producer::Commit;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::rows::stream::RowReader;
use crate::types::hash::murmur3_seeded;
use crate::types::temporal::now_ms;

impl PaimonTable {
    /// Writes the stream's rows into new files without committing. [`PaimonTable::commit`] takes the message. With
    /// `replaces`, only [`PaimonTable::commit_overwrite`] takes it. Files of a failed write are removed.
    ///
    /// # Errors
    /// As [`PaimonTable::append`], except the errors of the commit; `NotFound` if the table was dropped, or created
    /// again.
    pub fn write(&self, rows: RowReader, replaces: bool) -> Result<CommitMessage> {
        self.check_messages_allowed()?;
        self.metadata().check_same_table()?;
        let new = self.new_files(rows, WriteKind::Add, replaces)?;
        Ok(self.message(new, replaces))
    }

    /// As [`PaimonTable::write`], for rows that replace or delete other rows by their keys.
    ///
    /// # Errors
    /// As [`PaimonTable::change_rows`], except the errors of the commit.
    pub fn write_delta(&self, change: &RowChange, rows: RowReader) -> Result<CommitMessage> {
        self.check_messages_allowed()?;
        self.metadata().check_same_table()?;
        let kind = match change {
            RowChange::ReplaceKeys(on) => self.check_key(on).map(|()| WriteKind::Add)?,
            RowChange::DeleteKeys(on) => self.check_key(on).map(|()| WriteKind::Delete)?,
            _ => return Err(PAIMON.lacks("this change of rows").with("table", self.location())),
        };
        let new = self.new_files(rows, kind, false)?;
        Ok(self.message(new, false))
    }

    /// Commits the messages of writers, in one snapshot.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, of rows that are to replace others, or that were committed before;
    /// as [`PaimonTable::append`].
    pub fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<PaimonTable> {
        if messages.iter().any(|m| m.buckets.replaces) {
            return Err(Error::invalid("these messages replace rows, so they can't be appended")
                .hint("Give them to commit_overwrite(), or write with writer() without overwrite"));
        }
        self.commit_files(&self.newest_of(options.branch.as_deref())?, messages, None, options)
    }

    /// Commits the messages of writers in place of other rows. These are all rows, whole partitions by the values of
    /// their columns, or the partitions with new rows. The very same messages are committed once, except for an
    /// overwrite without rows. If the commit fails, the files stay.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table or of other writes, or that were committed before; `Unsupported`
    /// for other overwrites; as [`PaimonTable::append`].
    pub fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        let table = self.newest_of(options.branch.as_deref())?;
        let replaced = table.check_overwrite(change)?;
        if messages.iter().any(|m| !m.buckets.replaces) {
            return Err(Error::invalid(
                "the messages come from writers that append or delete, so they can't replace rows",
            )
            .with("table", self.location())
            .hint("Write the rows with writer(overwrite=True)"));
        }
        self.commit_files(&table, messages, Some(replaced), options)
    }

    fn commit_files(
        &self,
        table: &PaimonTable,
        messages: Vec<CommitMessage>,
        replaced: Option<Replaced>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        self.check_messages(&messages)?;
        let after =
            messages.iter().map(|m| m.written_at).min_by_key(|at| at.map(|at| (at.sequence_number, at.time_ms)));
        let by_several = messages.len() > 1;
        let mut files = WrittenFiles::default();
        for message in messages {
            files.added.extend(message.buckets.added);
            files.changelog.extend(message.buckets.changelog);
            files.hashes.extend(message.buckets.hashes);
        }
        if files.added.is_empty() && matches!(replaced, None | Some(Replaced::PartitionsOfAdded)) {
            return self.refresh();
        }
        let options = match replaced {
            Some(_) => counting(table, &files.added, options),
            None => options.clone(),
        };
        let mut paths = BTreeSet::new();
        if let Some(twice) = files.added.iter().find(|f| !paths.insert(f.file.path.clone())) {
            return Err(Error::invalid("a message is committed twice").with("path", &twice.file.path));
        }
        let user = (!paths.is_empty()).then(|| user_of(paths));
        let adjust = |commit: Commit| {
            let commit = match &user {
                Some(user) => commit.by(user, 1).after(after.flatten()),
                None => commit,
            };
            // A file that the table already has must not be added again.
            with_properties(commit.checking_appends().checking_files(), &options)
        };
        let pending = PendingFiles { files, by_several, ..PendingFiles::default() };
        table.settle(pending, &Settling { replaced, owns_files: false, adjust: &adjust })?;
        self.after_commit()
    }

    /// Removes the files of messages that will not be committed. First checks whether any version has one of them.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, and if a file is in use: then nothing is deleted; as
    /// [`files_in_use`]; the first file that could not be deleted.
    pub fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        self.check_messages(messages)?;
        let paths = messages.iter().flat_map(|m| &m.buckets.added).map(|new| new.file.path.clone());
        if let Some(path) = files_in_use(self.folder(), paths)?.first() {
            return Err(
                Error::invalid("a file of the messages is in the table, so nothing was deleted").with("path", path)
            );
        }
        let files = || messages.iter().flat_map(|m| m.buckets.added.iter().chain(&m.buckets.changelog));
        let paths: Vec<String> = files().flat_map(paths_of).collect();
        let own = self.folder().own_folders(paths.iter().map(String::as_str))?;
        paths.iter().try_for_each(|path| own.check(path))?;
        let store = self.folder().store();
        let delete = |path: String| match store.delete(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        let deleted: Vec<Result<()>> = files().flat_map(paths_of).map(delete).collect();
        deleted.into_iter().collect()
    }

    pub(crate) fn check_messages(&self, messages: &[CommitMessage]) -> Result<()> {
        let own = self.metadata().identity();
        let Some(other) = messages.iter().find(|m| m.table_uuid != own) else { return Ok(()) };
        let error = Error::invalid("a message belongs to another table").with("table", &own);
        let error = error.with("found", &other.table_uuid);
        let place = |identity: &str| identity.rsplit_once('@').map(|(place, _)| place.to_owned());
        match place(&own) == place(&other.table_uuid) {
            true => {
                Err(error
                    .hint("The table was dropped and created again since. The time after @ is when it was created"))
            }
            false => Err(error),
        }
    }

    fn message(&self, new: PendingFiles, replaces: bool) -> CommitMessage {
        let WrittenFiles { added, changelog, hashes } = new.files;
        let files = added.iter().map(|f| f.file.clone()).collect();
        let sequence_number = self.metadata().snapshot.as_ref().map_or(0, |snapshot| snapshot.id);
        let written_at = Some(WrittenAt { sequence_number, time_ms: now_ms() });
        CommitMessage {
            buckets: BucketMessage { added, changelog, hashes, replaces, ..BucketMessage::default() },
            ..CommitMessage::new(self.metadata().identity(), files, written_at)
        }
    }

    /// Rows of one key must all be seen by one writer, if they may belong to several partitions.
    fn check_messages_allowed(&self) -> Result<()> {
        match is_over_partitions(self.table_schema()) {
            false => Ok(()),
            true => Err(Error::unsupported("separate writers for a table whose primary key lacks partition columns")
                .with("table", self.location())
                .hint("Use the table's append, upsert or delete_keys: one writer must see all rows of a key")),
        }
    }
}

/// The user that commits exactly these files. If the commit is made again, it is recognised.
pub(crate) fn user_of(paths: BTreeSet<String>) -> String {
    let all = paths.into_iter().collect::<Vec<_>>().join("\n");
    let word = |seed: u32| format!("{:08x}", murmur3_seeded(seed, all.as_bytes()));
    format!("frazil-{}", (0..4).map(word).collect::<String>())
}
