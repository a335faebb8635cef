//! Appending rows: rows to files, files to a snapshot.

use super::keyed::key_deletes::{DeleteOrder, check_deletable};
use super::settle::{PendingFiles, Settling};
use super::write_plan::WriteKind;
use super::writer::PaimonWriter;
use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::task::NewBucketFile;
use crate::paimon::commit::changes::Replaced;
use crate::paimon::commit::producer::Commit;
use crate::paimon::state::PaimonTable;
use crate::parallel::{Phase, begin_phase, given_rows};
use crate::rows::stream::RowReader;

impl PaimonTable {
    /// Adds rows. In a table with a primary key they replace rows with the same key. Returns the table at its
    /// new version. If the commit certainly failed, the written files are removed.
    ///
    /// # Errors
    /// `InvalidInput` if the rows do not fit the table; `Unsupported` for tables that are not written yet;
    /// `CommitConflict` after the last retry; `CommitStateUnknown` if it can't be told whether the commit happened;
    /// the store's.
    pub fn append(&self, rows: RowReader, options: &CommitOptions) -> Result<PaimonTable> {
        let table = self.newest_of(options.branch.as_deref())?;
        let files = table.new_files(rows, WriteKind::Add, false)?;
        if files.is_empty() {
            return self.refresh();
        }
        table.publish(self, files, None, options)
    }

    pub(crate) fn new_files(&self, rows: RowReader, kind: WriteKind, replaces: bool) -> Result<PendingFiles> {
        let order = match kind {
            WriteKind::Delete => {
                check_deletable(self.table_schema())?;
                Some(DeleteOrder::new(self.table_schema(), &rows.schema())?)
            }
            _ => None,
        };
        let _phase = begin_phase(Phase::Writing, given_rows());
        let mut writer = PaimonWriter::new(self, kind, replaces)?;
        for batch in rows {
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            order.iter().try_for_each(|order| order.check(&batch))?;
            writer.write(&batch)?;
        }
        self.pending(writer, kind)
    }

    pub(crate) fn publish(
        &self,
        before: &PaimonTable,
        pending: PendingFiles,
        replaced: Option<Replaced>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        let adjust = |commit: Commit| with_properties(commit, options);
        self.settle(pending, &Settling { replaced, owns_files: true, adjust: &adjust })?;
        before.after_commit()
    }
}

/// Adds the snapshot properties of the options to a commit.
pub(super) fn with_properties(commit: Commit, options: &CommitOptions) -> Commit {
    match options.snapshot_properties.is_empty() {
        true => commit,
        false => commit.with_properties(options.snapshot_properties.clone()),
    }
}

/// The number of rows in new files of a table without primary key.
pub(crate) fn row_count(added: &[NewBucketFile]) -> u64 {
    added.iter().filter_map(|new| u64::try_from(new.file.record_count).ok()).sum()
}

/// The number of rows that overwrites bring into a table without primary key, with the options of the commit. Rows of
/// other tables may have the same key, so files don't say how many they are.
pub(crate) fn counting(table: &PaimonTable, added: &[NewBucketFile], options: &CommitOptions) -> CommitOptions {
    let mut options = options.clone();
    if !table.table_schema().has_primary_key() {
        options.snapshot_properties.insert("frazil.rows-inserted".to_owned(), row_count(added).to_string());
    }
    options
}
