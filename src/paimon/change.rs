//! Changing a table: rows to files ([`crate::paimon::write::writer`]), files to a snapshot ([`crate::paimon::commit::producer`]).

use std::collections::{BTreeSet, HashSet};

use arrow::array::RecordBatchReader;

use super::rows::keyed::{DeleteOrder, check_deletable};
use super::settle::{Pending, Settling};
use super::state::PaimonTable;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::expr::bind::bind;
use crate::expr::{BoundLeaf, BoundPredicate, Op, Predicate};
use crate::format::task::{CommitMessage, PaimonNewFile, WrittenAt};
use crate::iceberg::committing::{CommitOptions, now_ms};
use crate::iceberg::rows::change_rows::RowChange;
use crate::paimon::commit::orphans::files_in_use;
use crate::paimon::commit::producer::{Commit, Replaced};
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::write::writer::{NewFiles, PaimonWriter, WriteKind, is_over_partitions};
use crate::parallel::Cancellation;
use crate::store::location::join;
use crate::types::hash::murmur3_seeded;
use crate::types::{Transform, Value};

/// A stream of rows.
pub(crate) type Rows = Box<dyn RecordBatchReader + Send>;

impl PaimonTable {
    /// Adds rows; in a table with a primary key they take the place of rows with the same key. Returns the table at its new
    /// version. If the commit certainly failed, the written files are removed.
    ///
    /// # Errors
    /// `InvalidInput` if the rows do not fit the table; `Unsupported` for what is not written yet; `CommitConflict` after the
    /// last retry; `CommitStateUnknown` if it can't be told whether the commit happened; the store's.
    pub fn append(&self, rows: Rows, options: &CommitOptions) -> Result<PaimonTable> {
        let table = self.of_branch(options)?;
        let files = table.new_files(rows, WriteKind::Add, false)?;
        if files.is_empty() {
            return self.refresh();
        }
        table.publish(self, files, None, options)
    }

    /// Changes rows in one commit. Of what other tables can, this is: deleting, updating and overwriting by a filter, overwriting
    /// whole partitions, replacing rows and deleting them by the primary key.
    ///
    /// # Errors
    /// `Unsupported` for other changes; as [`PaimonTable::append`].
    pub fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<Rows>,
        options: &CommitOptions,
        go_on: Cancellation,
    ) -> Result<PaimonTable> {
        match change {
            RowChange::Delete(filter) => return self.delete_where(filter, options, go_on),
            RowChange::Update(filter, assigned) => return self.update_where(filter, assigned, options, go_on),
            _ => {}
        }
        let rows = rows.ok_or_else(|| Error::invalid("the operation needs rows"))?;
        let table = self.of_branch(options)?;
        match change {
            RowChange::Overwrite(filter) => {
                let replaced = match table.replaced(filter) {
                    Err(e) if e.kind() == ErrorKind::Unsupported => {
                        return self.overwrite_where(filter, rows, options, go_on);
                    }
                    replaced => replaced?,
                };
                if replaced != Replaced::Everything {
                    table.check_partitions_replaced()?;
                }
                let files = table.new_files(rows, WriteKind::Add, true)?;
                table.publish(self, files, Some(replaced), options)
            }
            RowChange::OverwritePartitions => {
                table.check_partitions_replaced()?;
                let files = table.new_files(rows, WriteKind::Add, true)?;
                match files.is_empty() {
                    true => self.refresh(),
                    false => table.publish(self, files, Some(Replaced::PartitionsOfAdded), options),
                }
            }
            RowChange::ReplaceKeys(on) => {
                table.check_key(on)?;
                self.append(rows, options)
            }
            RowChange::Merge(merge) if merge.is_upsert() && table.table_schema().has_primary_key() => {
                table.check_key(&merge.on)?;
                table.check_complete(rows.schema().fields().iter().map(|f| f.name().as_str()).collect())?;
                self.append(rows, options)
            }
            RowChange::Merge(merge) => self.merge_rows(merge, rows, options, go_on),
            RowChange::DeleteKeys(on) => {
                table.check_key(on)?;
                let files = table.new_files(rows, WriteKind::Delete, false)?;
                match files.is_empty() {
                    true => self.refresh(),
                    false => table.publish(self, files, None, options),
                }
            }
            _ => Err(unsupported("this change of rows").with("table", self.location())),
        }
    }

    /// Writes the stream's rows into new files without committing: for [`PaimonTable::commit`], or, with `replaces`, for
    /// [`PaimonTable::commit_overwrite`] alone. Files of a failed write are removed.
    ///
    /// # Errors
    /// As [`PaimonTable::append`], but for the commit; `NotFound` if the table was dropped, or made anew.
    pub fn write(&self, rows: Rows, replaces: bool) -> Result<CommitMessage> {
        self.check_messages_allowed()?;
        self.metadata().check_same_table()?;
        let new = self.new_files(rows, WriteKind::Add, replaces)?;
        Ok(CommitMessage { paimon_replaces: replaces, ..self.message(new) })
    }

    /// As [`PaimonTable::write`], of rows with the keys of others that go.
    ///
    /// # Errors
    /// As [`PaimonTable::change_rows`], but for the commit.
    pub fn write_delta(&self, change: &RowChange, rows: Rows) -> Result<CommitMessage> {
        self.check_messages_allowed()?;
        self.metadata().check_same_table()?;
        let kind = match change {
            RowChange::ReplaceKeys(on) => self.check_key(on).map(|()| WriteKind::Add)?,
            RowChange::DeleteKeys(on) => self.check_key(on).map(|()| WriteKind::Delete)?,
            _ => return Err(unsupported("this change of rows").with("table", self.location())),
        };
        let new = self.new_files(rows, kind, false)?;
        Ok(self.message(new))
    }

    /// Commits what writers wrote, in one snapshot.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, of rows that are to replace others, or that were committed before; as
    /// [`PaimonTable::append`].
    pub fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<PaimonTable> {
        if messages.iter().any(|m| m.paimon_replaces) {
            return Err(Error::invalid("messages of rows that are to replace others are no append")
                .hint("Give them to commit_overwrite(), or write with writer() without overwrite"));
        }
        self.commit_files(&self.of_branch(options)?, messages, None, options)
    }

    /// Commits what writers wrote in the place of all rows, of whole partitions by the values of their columns, or of the
    /// partitions that there are new rows of. The very same messages are committed once, but for an overwrite without rows.
    /// If the commit fails the files stay.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table or of other writes, or that were committed before; `Unsupported` for other
    /// overwrites; as [`PaimonTable::append`].
    pub fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        let table = self.of_branch(options)?;
        let replaced = table.check_overwrite(change)?;
        if messages.iter().any(|m| !m.paimon_replaces) {
            return Err(Error::invalid("the messages are of writers that append or delete, and replace nothing")
                .with("table", self.location())
                .hint("Write the rows with writer(overwrite=True)"));
        }
        self.commit_files(&table, messages, Some(replaced), options)
    }

    /// What an overwrite by messages takes out.
    ///
    /// # Errors
    /// Those of [`PaimonTable::commit_overwrite`] that don't depend on the messages.
    pub fn check_overwrite(&self, change: &RowChange) -> Result<Replaced> {
        let replaced = match change {
            RowChange::Overwrite(filter) => self.replaced(filter).with("table", self.location())?,
            RowChange::OverwritePartitions => Replaced::PartitionsOfAdded,
            _ => return Err(unsupported("this change of rows").with("table", self.location())),
        };
        if replaced != Replaced::Everything {
            self.check_partitions_replaced()?;
        }
        Ok(replaced)
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
        let mut files = NewFiles::default();
        for message in messages {
            files.added.extend(message.paimon);
            files.changelog.extend(message.paimon_changelog);
            files.hashes.extend(message.paimon_hashes);
        }
        if files.added.is_empty() && matches!(replaced, None | Some(Replaced::PartitionsOfAdded)) {
            return self.refresh();
        }
        let mut paths = BTreeSet::new();
        if let Some(twice) = files.added.iter().find(|f| !paths.insert(f.file.path.clone())) {
            return Err(Error::invalid("a message is committed twice").with("path", &twice.file.path));
        }
        let user = (!paths.is_empty()).then(|| user_of(paths));
        let told = |commit: Commit| {
            let commit = match &user {
                Some(user) => commit.by(user, 1).after(after.flatten()),
                None => commit,
            };
            // A file that is there already must not come a second time.
            with_properties(commit.checking_appends().checking_files(), options)
        };
        let pending = Pending { files, by_several, ..Pending::default() };
        table.settle(pending, &Settling { replaced, owns_files: false, told: &told })?;
        self.after_commit()
    }

    /// Removes the files of messages that are given up. Looks first whether the table has one of them in any version.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, and if a file is in use: then nothing is deleted; as [`files_in_use`]; the
    /// first file that could not be deleted.
    pub fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        self.check_messages(messages)?;
        let paths = messages.iter().flat_map(|m| &m.paimon).map(|new| new.file.path.clone());
        if let Some(path) = files_in_use(self.folder(), paths)?.first() {
            return Err(
                Error::invalid("a file of the messages is in the table, so nothing was deleted").with("path", path)
            );
        }
        let store = self.folder().store();
        let delete = |path: String| match store.delete(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        };
        let files = messages.iter().flat_map(|m| m.paimon.iter().chain(&m.paimon_changelog));
        let deleted: Vec<Result<()>> = files.flat_map(paths_of).map(delete).collect();
        deleted.into_iter().collect()
    }

    pub(crate) fn of_branch(&self, options: &CommitOptions) -> Result<PaimonTable> {
        match options.branch.as_deref() {
            Some(name) if name != self.folder().branch_name() => self.branch(name),
            _ => self.refresh(),
        }
    }

    fn check_messages(&self, messages: &[CommitMessage]) -> Result<()> {
        let own = self.metadata().identity();
        let Some(other) = messages.iter().find(|m| m.table_uuid != own) else { return Ok(()) };
        let error = Error::invalid("a message belongs to another table").with("table", &own);
        let error = error.with("found", &other.table_uuid);
        let place = |identity: &str| identity.rsplit_once('@').map(|(place, _)| place.to_owned());
        match place(&own) == place(&other.table_uuid) {
            true => Err(error.hint("Behind the @ is when a table was made: this one was dropped since, and made anew")),
            false => Err(error),
        }
    }

    fn message(&self, new: Pending) -> CommitMessage {
        let NewFiles { added, changelog, hashes } = new.files;
        let files = added.iter().map(|f| f.file.clone()).collect();
        let sequence_number = self.metadata().snapshot.as_ref().map_or(0, |snapshot| snapshot.id);
        let written_at = Some(WrittenAt { sequence_number, time_ms: now_ms() });
        CommitMessage {
            paimon: added,
            paimon_changelog: changelog,
            paimon_hashes: hashes,
            ..CommitMessage::new(self.metadata().identity(), files, written_at)
        }
    }

    /// Rows of one key must all be seen by one writer, if they may belong to several partitions.
    fn check_messages_allowed(&self) -> Result<()> {
        match is_over_partitions(self.table_schema()) {
            false => Ok(()),
            true => Err(Error::unsupported(
                "writers that don't commit themselves, of a table whose primary key leaves out partition columns",
            )
            .with("table", self.location())
            .hint("Use the table's own append, upsert or delete_keys: one writer has to see all rows of a key")),
        }
    }

    pub(crate) fn new_files(&self, rows: Rows, kind: WriteKind, replaces: bool) -> Result<Pending> {
        let order = match kind {
            WriteKind::Delete => {
                check_deletable(self.table_schema())?;
                Some(DeleteOrder::new(self.table_schema(), &rows.schema())?)
            }
            _ => None,
        };
        let mut writer = PaimonWriter::new(self, kind, replaces)?;
        for batch in rows {
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            order.iter().try_for_each(|order| order.check(&batch))?;
            writer.write(&batch)?;
        }
        self.pending(writer, kind)
    }

    fn publish(
        &self,
        before: &PaimonTable,
        pending: Pending,
        replaced: Option<Replaced>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        let told = |commit: Commit| with_properties(commit, options);
        self.settle(pending, &Settling { replaced, owns_files: true, told: &told })?;
        before.after_commit()
    }

    /// What an overwrite takes out: all, or the partitions that have some values.
    pub(crate) fn replaced(&self, filter: &Predicate) -> Result<Replaced> {
        let bound = bind(filter, self.schema(), true)?;
        let no = || {
            let named: Vec<_> = self.table_schema().partition_fields().map(|f| format!("{} = …", f.name)).collect();
            unsupported("overwriting other rows than those of whole partitions, named by a value of each column").hint(
                format!("Name one value of a partition column, or of several joined by 'and': {}", named.join(" and ")),
            )
        };
        let leaves = match bound {
            BoundPredicate::True => return Ok(Replaced::Everything),
            BoundPredicate::And(clauses) => clauses,
            clause => vec![clause],
        };
        let value = |clause: BoundPredicate| -> Result<(String, Option<Value>)> {
            let BoundPredicate::Leaf(BoundLeaf { term, op, mut values }) = clause else { return Err(no()) };
            let column = self.table_schema().partition_fields().find(|f| f.id == term.field_id).ok_or_else(no)?;
            match (op, values.pop(), values.is_empty() && term.transform == Transform::Identity) {
                (Op::Eq, Some(value), true) => Ok((column.name.clone(), Some(value))),
                (Op::IsNull, None, true) => Ok((column.name.clone(), None)),
                _ => Err(no()),
            }
        };
        Ok(Replaced::Partition(leaves.into_iter().map(value).collect::<Result<_>>()?))
    }

    /// A key of another partition would be there twice.
    fn check_partitions_replaced(&self) -> Result<()> {
        match is_over_partitions(self.table_schema()) {
            false => Ok(()),
            true => {
                Err(unsupported("overwriting partitions of a table whose primary key leaves out partition columns")
                    .with("table", self.location())
                    .hint("Overwrite all rows, or append: rows take the place of those with the same key"))
            }
        }
    }

    /// Columns that rows don't have would become null, unless rows are put together of their last values.
    fn check_complete(&self, given: HashSet<&str>) -> Result<()> {
        let schema = self.table_schema();
        if schema.options().merge_engine()? == MergeEngine::PartialUpdate {
            return Ok(());
        }
        match schema.fields.iter().find(|f| !given.contains(f.name.as_str())) {
            None => Ok(()),
            Some(missing) => Err(unsupported("updating some of the columns")
                .with("column", &missing.name)
                .hint("Give all columns; only with 'merge-engine' = 'partial-update' do others keep their values")),
        }
    }

    /// Rows are found by the primary key alone.
    pub(crate) fn check_key(&self, on: &[String]) -> Result<()> {
        let key = &self.table_schema().primary_keys;
        if key.is_empty() {
            return Err(Error::invalid("rows are found by key, and the table has no primary key")
                .with("table", self.location()));
        }
        let (own, given): (HashSet<_>, HashSet<_>) = (key.iter().collect(), on.iter().collect());
        match on.is_empty() || own == given {
            true => Ok(()),
            false => {
                Err(Error::invalid(format!("the table's primary key is {}, not {}", key.join(", "), on.join(", ")))
                    .with("table", self.location()))
            }
        }
    }
}

/// A file's own path, and those of the files beside it.
pub(crate) fn paths_of(new: &PaimonNewFile) -> impl Iterator<Item = String> {
    let folder = new.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    [new.file.path.clone()].into_iter().chain(new.extra_files.iter().map(move |name| join(folder, name)))
}

fn with_properties(commit: Commit, options: &CommitOptions) -> Commit {
    match options.snapshot_properties.is_empty() {
        true => commit,
        false => commit.with_properties(options.snapshot_properties.clone()),
    }
}

/// Who commits these files and no others: made again the commit is known.
fn user_of(paths: BTreeSet<String>) -> String {
    let all = paths.into_iter().collect::<Vec<_>>().join("\n");
    let word = |seed: u32| format!("{:08x}", murmur3_seeded(seed, all.as_bytes()));
    format!("frazil-{}", (0..4).map(word).collect::<String>())
}

pub(crate) fn unsupported(what: &str) -> Error {
    Error::unsupported(format!("{what}: not with tables of Apache Paimon yet"))
}
