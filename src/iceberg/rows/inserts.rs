//! Writes the rows that a merge inserts, where another engine has found the matches.

use arrow::array::RecordBatch;

use crate::data::write::writer::DataWriter;
use crate::error::Result;
use crate::expr::Predicate;
use crate::format::row_change::Merge;
use crate::format::task::DataFile;
use crate::iceberg::rows::view::View;
use crate::rows::row_changes::clauses::mapping;
use crate::rows::row_changes::source::{Mapping, SourceRows, renamed, rows_of};

/// Writes rows of the source that match no row of the table.
pub(crate) struct Inserts<'m> {
    merge: &'m Merge,
    columns: Mapping,
    writer: DataWriter,
    rows: u64,
}

impl<'m> Inserts<'m> {
    /// `None` if the merge inserts nothing. `source` names the columns. `task` numbers the writers of one job.
    ///
    /// # Errors
    /// `InvalidInput` if the columns do not fit.
    pub(crate) fn new(view: &View, merge: &'m Merge, source: &SourceRows, task: u64) -> Result<Option<Inserts<'m>>> {
        let Some(columns) = &merge.insert else { return Ok(None) };
        let columns = mapping(view.table.schema(), source, columns)?;
        let writer = DataWriter::new(view.store().clone(), view.table.write_context(task)?)?;
        Ok(Some(Inserts { merge, columns, writer, rows: 0 }))
    }

    /// Writes rows, except those that would delete their match.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let conditional = self.merge.delete.as_ref().filter(|delete| **delete != Predicate::True);
        let new = match conditional {
            None => rows.clone(),
            Some(delete) => match SourceRows::of(rows.clone()).matches(delete)?.first() {
                Some(deletes) => rows_of(rows, !deletes)?,
                None => return Ok(()),
            },
        };
        self.rows += new.num_rows() as u64;
        if new.num_rows() == 0 { Ok(()) } else { self.writer.write(&renamed(&new, &self.columns)?) }
    }

    /// The files, and the number of rows in them.
    ///
    /// # Errors
    /// As [`DataWriter::finish`].
    pub(crate) fn finish(self) -> Result<(Vec<DataFile>, u64)> {
        Ok((self.writer.finish()?, self.rows))
    }
}
