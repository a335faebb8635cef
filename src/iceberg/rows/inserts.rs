//! Writes the rows that a merge inserts, where another engine has found the matches.

use arrow::array::RecordBatch;

use crate::data::write::writer::DataWriter;
use crate::error::Result;
use crate::format::row_change::Merge;
use crate::format::task::DataFile;
use crate::iceberg::rows::view::View;
use crate::rows::row_changes::clauses::mapping;
use crate::rows::row_changes::source::{Mapping, SourceRows, renamed};

/// Writes rows of the source that match no row of the table.
pub(crate) struct Inserts {
    columns: Mapping,
    writer: DataWriter,
    rows: u64,
}

impl Inserts {
    /// `None` if the merge inserts nothing. `source` names the columns. `task` numbers the writers of one job.
    ///
    /// # Errors
    /// `InvalidInput` if the columns do not fit.
    pub(crate) fn new(view: &View, merge: &Merge, source: &SourceRows, task: u64) -> Result<Option<Inserts>> {
        let Some(columns) = &merge.insert else { return Ok(None) };
        let columns = mapping(view.table.schema(), source, columns)?;
        let writer = DataWriter::new(view.store().clone(), view.table.write_context(task)?)?;
        Ok(Some(Inserts { columns, writer, rows: 0 }))
    }

    /// Writes rows.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        self.rows += rows.num_rows() as u64;
        self.writer.write(&renamed(rows, &self.columns)?)
    }

    /// The files, and the number of rows in them.
    ///
    /// # Errors
    /// As [`DataWriter::finish`].
    pub(crate) fn finish(self) -> Result<(Vec<DataFile>, u64)> {
        Ok((self.writer.finish()?, self.rows))
    }
}
