//! Appending rows: new files are written and committed at once, or only written.

use arrow::record_batch::RecordBatchReader;

use crate::data::write::context::{RowOrder, Sorting};
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::request::WriteOptions;
use crate::format::task::CommitMessage;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::committing;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{Phase, begin_phase, given_rows};
use crate::types::metadata_columns::LINEAGE_COLUMNS;

impl IcebergTable {
    /// Writes the stream's rows and commits them; returns the new version of the table. If the commit certainly failed,
    /// the written files are removed.
    ///
    /// # Errors
    /// `InvalidInput` for rows that do not fit the schema; `CommitConflict` after the last retry. `CommitStateUnknown`
    /// if it is not known whether the commit happened. Errors of the store.
    pub fn append(&self, rows: Box<dyn RecordBatchReader + Send>) -> Result<IcebergTable> {
        self.append_with(rows, &WriteOptions::default(), &CommitOptions::default())
    }

    /// As [`IcebergTable::append`], with a sort order, a branch or extra members of the snapshot's summary.
    ///
    /// # Errors
    /// As [`IcebergTable::append`] and [`IcebergTable::write_with`]; `InvalidInput` for options that exclude each
    /// other, or a branch that is a tag.
    pub fn append_with(
        &self,
        rows: Box<dyn RecordBatchReader + Send>,
        write_options: &WriteOptions,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        options.check(self)?;
        let message = self.write_with(rows, write_options)?;
        if message.files.is_empty() {
            return self.refresh();
        }
        let change = SnapshotProducer::append(self.inner.store.clone(), message.files).owning_files();
        committing::commit(self, vec![Box::new(options.apply(change, self)?)]).into_result()
    }

    /// Writes the stream's rows into new files without committing. `task` numbers the writers of one job. Files of a
    /// failed write are removed.
    ///
    /// # Errors
    /// As [`IcebergTable::append`].
    pub fn write(&self, rows: Box<dyn RecordBatchReader + Send>, task: u64) -> Result<CommitMessage> {
        self.write_with(rows, &WriteOptions { task, ..WriteOptions::default() })
    }

    /// As [`IcebergTable::write`], in another order than the table's, or for rows that are already in the table.
    ///
    /// # Errors
    /// As [`IcebergTable::write`]; `InvalidInput` for texts that are not a sort order, and for rows without the
    /// lineage that they must keep.
    pub fn write_with(&self, rows: Box<dyn RecordBatchReader + Send>, options: &WriteOptions) -> Result<CommitMessage> {
        self.check_writable()?;
        let _phase = begin_phase(Phase::Writing, given_rows());
        let mut context =
            if options.rewrites { self.lineage_context(options.task)? } else { self.write_context(options.task)? };
        context.row_order = match options.sort_by.as_deref() {
            None => RowOrder::Sort,
            Some([]) => RowOrder::Any,
            Some(texts) => RowOrder::By(Sorting::Order(self.order_by(texts)?)),
        };
        let given = rows.schema();
        let mut lineage = context.schema.fields.iter().filter(|f| LINEAGE_COLUMNS.contains(&f.id));
        if let Some(column) = lineage.find(|f| given.index_of(&f.name).is_err()) {
            let text = "rows of a table of format version 3 keep their identity when they are rewritten";
            return Err(Error::invalid(text)
                .with("column", &column.name)
                .hint("Read them with select=[..., \"_row_id\", \"_last_updated_sequence_number\"]"));
        }
        let mut writer = DataWriter::new(self.inner.store.clone(), context)?;
        for batch in rows {
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            writer.write(&batch)?;
        }
        let rewrites = options.rewrites.then(|| self.format_version());
        Ok(CommitMessage { rewrites, ..CommitMessage::new(self.uuid(), writer.finish()?, Some(self.written_now())) })
    }
}
