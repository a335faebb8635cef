//! Messages whose rows replace others.

use super::commit_messages::fingerprint;
use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::row_change::RowChange;
use crate::format::task::CommitMessage;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::state::IcebergTable;

impl IcebergTable {
    /// Commits the files of writers, replacing the rows that match a filter, or the partitions of the new rows. The
    /// same messages are committed only once, as by [`IcebergTable::commit`]. If the commit fails, the files stay.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table, with deletes, of rewritten rows, with missing files, or partly
    /// committed before; as [`IcebergTable::change_rows`].
    pub fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        self.check_messages(&messages)?;
        if messages.iter().any(|m| m.rewrites.is_some() || m.delta.is_some()) {
            return Err(Error::invalid("messages of rewritten rows or with deletes can't overwrite rows")
                .hint("Give it those of Writer.write()"));
        }
        let newest = self.refresh()?;
        let spec = newest.partition_spec().id;
        if *change == RowChange::OverwritePartitions
            && let Some(file) = messages.iter().flat_map(|m| &m.files).find(|f| f.partition.spec_id != spec)
        {
            return Err(Error::invalid("rows were written by another partition spec than the table has now")
                .with("path", &file.path)
                .hint("Write them again, or give a filter for the rows that they replace"));
        }
        let once = fingerprint(&messages);
        let files: Vec<_> = messages.iter().flat_map(|m| m.files.iter().cloned()).collect();
        if !files.is_empty() {
            let same = SnapshotProducer::append(self.inner.store.clone(), Vec::new()).once(once.clone());
            if options.apply(same, &newest)?.is_applied(&newest.inner.metadata) {
                return Ok(newest);
            }
        }
        newest.overwrite_by_files(change, files, once, options)
    }
}
