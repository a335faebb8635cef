//! Rows of tables without primary key: checks them, and gives them their buckets.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use arrow::datatypes::SchemaRef;

use super::buckets::RowBuckets;
use super::default_values::Defaults;
use super::keyed::row_kinds::{INSERT, RowKinds, UPDATE};
use super::limits::check_values;
use super::names::FileNames;
use crate::data::write::partition_rows::PartitionRows;
use crate::data::write::table_rows::TableRows;
use crate::error::{Error, Result};
use crate::format::task::Partition;
use crate::paimon::spec::schema::TableSchema;

/// How the rows of tables without primary key are written.
pub(crate) struct AppendRows {
    pub schema: Arc<TableSchema>,
    pub defaults: Defaults,
    /// The kinds that incoming rows have, if they say so.
    pub kinds: Option<RowKinds>,
    /// `None` if the table has no buckets.
    pub buckets: Option<RowBuckets>,
    pub names: FileNames,
    /// The columns of the table, then the bucket if there are some.
    pub prepared: SchemaRef,
    /// The columns of the table.
    pub stored: SchemaRef,
}

/// Rows with other columns.
///
/// # Errors
/// `Internal` if they are not of the schema.
pub(crate) fn with_columns(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema.clone(), columns)
        .map_err(|e| Error::internal("rows don't have the columns that they are written with").because(e))
}

/// Refuses rows that delete others. Leaves out ignored rows.
fn only_added(kinds: &RowKinds, rows: RecordBatch) -> Result<RecordBatch> {
    let (rows, kinds) = kinds.of_rows(rows)?;
    match kinds.values().iter().all(|kind| matches!(*kind, INSERT | UPDATE)) {
        true => Ok(rows),
        false => Err(Error::invalid("rows of kind -D or -U can't be written to a table without a primary key")
            .hint("Leave out such rows, or set the table's option 'ignore-delete' to ignore them")),
    }
}

impl TableRows for AppendRows {
    fn prepare(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        let rows = self.defaults.fill(rows)?;
        check_values(&self.schema.fields, &rows)?;
        let rows = match &self.kinds {
            Some(kinds) => only_added(kinds, rows)?,
            None => rows,
        };
        let bucket: Option<Int32Array> = self.buckets.as_mut().map(|buckets| buckets.of_rows(&rows)).transpose()?;
        let columns = rows.columns().iter().cloned().chain(bucket.map(|bucket| Arc::new(bucket) as ArrayRef));
        with_columns(&self.prepared, columns.collect())
    }

    fn stored(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        match &self.buckets {
            None => Ok(rows),
            Some(_) => {
                with_columns(&self.stored, rows.columns().iter().take(self.stored.fields().len()).cloned().collect())
            }
        }
    }

    fn sorted(&mut self, part: PartitionRows) -> Result<Vec<PartitionRows>> {
        let rows = self.stored(part.rows)?;
        Ok(vec![PartitionRows { rows, ..part }])
    }

    fn rest(&mut self) -> Result<Vec<PartitionRows>> {
        Ok(Vec::new())
    }

    fn path(&mut self, partition: &Partition) -> Result<String> {
        self.names.next(partition)
    }
}
