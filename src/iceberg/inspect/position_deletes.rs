//! `position_deletes`: the rows that position delete files and deletion vectors delete, by data file and position.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, new_null_array};
use arrow::record_batch::RecordBatch;

use super::arrays::field;
use super::files::partition_structs;
use super::schemas::deleted_columns;
use crate::data::arrow::value_array::texts;
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::files::read_vector;
use crate::data::read::file::read_delete_file;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::request::ScanRequest;
use crate::format::task::{DataFile, FileContent, FileFormat, ReadContext};
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::manifest::walk::partition_type;
use crate::parallel::{check_cancelled, in_parallel};
use crate::types::{Field, Schema};

/// Rows of one batch.
const BATCH_ROWS: usize = 65_536;

/// The positions of all delete files, file by file, each in its own order.
pub(crate) fn position_deletes(of: &Inspection<'_>) -> Result<Vec<RecordBatch>> {
    let mut manifests = of.manifests(false)?;
    manifests.retain(|m| m.content == ManifestContent::Deletes);
    let files = of.walk.entries(&manifests, &EntryRequest::default(), |batch| {
        let partitions: Vec<_> = batch.partitions.into_iter().map(Arc::new).collect();
        let c = &batch.columns;
        let file = |row: usize| -> Result<DataFile> {
            let partition = partitions.get(c.partition[row] as usize);
            c.data_file(row, partition.ok_or_else(|| Error::internal("an entry has no partition"))?.clone())
        };
        let positional = c.rows().filter(|row| c.content[*row] == FileContent::PositionDeletes);
        positional.map(file).collect::<Result<Vec<_>>>()
    })?;
    let files: Vec<DataFile> = files.into_iter().flatten().collect();
    let reading = Reading::new(of)?;
    let read = |i: usize| {
        let file = &files[i];
        let rows = if file.format == FileFormat::Puffin { reading.vector(file) } else { reading.file(file) };
        rows.with("path", &file.path)
    };
    Ok(in_parallel(files.len(), read)?.into_iter().flatten().collect())
}

/// The data that reading all delete files shares.
struct Reading<'a> {
    of: &'a Inspection<'a>,
    /// How position delete files are read: `file_path`, `pos` and, if a file has them, the deleted rows.
    context: Arc<ReadContext>,
    united: Vec<Field>,
}

impl<'a> Reading<'a> {
    fn new(of: &'a Inspection<'a>) -> Result<Self> {
        let context = of.table.scan(ScanRequest::default())?.context().clone();
        let columns = deleted_columns(of.walk.metadata)?;
        let schema = Arc::new(Schema::new(0, columns, Vec::new()));
        let context =
            ReadContext { projection: schema.clone(), schema, batch_rows: BATCH_ROWS, ..context.as_ref().clone() };
        Ok(Reading { of, context: Arc::new(context), united: partition_type(of.walk.metadata)? })
    }

    fn file(&self, file: &DataFile) -> Result<Vec<RecordBatch>> {
        let mut out = Vec::new();
        let store = &self.of.table.inner.store;
        for rows in read_delete_file(store, &self.context, file, BoundPredicate::True, &[])? {
            check_cancelled()?;
            let batch = rows?.batch;
            let [paths, positions, rows] = batch.columns() else {
                return Err(Error::internal("a position delete file was read as other columns"));
            };
            out.push(self.batch(file, paths.clone(), positions.clone(), Some(rows.clone()))?);
        }
        Ok(out)
    }

    fn vector(&self, file: &DataFile) -> Result<Vec<RecordBatch>> {
        let none = || Error::corrupt("a deletion vector names no data file");
        let path = file.referenced_data_file.clone().ok_or_else(none)?;
        let data_file = DataFile { path: path.clone(), ..file.clone() };
        let store = &self.of.table.inner.store;
        let (set, _) = read_vector(store, &self.context, &data_file, file, &DeleteCache::new(0))?;
        let (mut out, mut positions) = (Vec::new(), set.iter().peekable());
        while positions.peek().is_some() {
            check_cancelled()?;
            let some: Int64Array = positions.by_ref().take(BATCH_ROWS).map(|p| i64::try_from(p).ok()).collect();
            let paths = repeated(&path, some.len())?;
            out.push(self.batch(file, Arc::new(paths), Arc::new(some), None)?);
        }
        Ok(out)
    }

    fn batch(
        &self,
        file: &DataFile,
        paths: ArrayRef,
        positions: ArrayRef,
        deleted: Option<ArrayRef>,
    ) -> Result<RecordBatch> {
        let (schema, rows) = (&self.of.schema, positions.len());
        let deleted = match deleted {
            Some(deleted) => deleted,
            None => new_null_array(field(schema, "row")?.data_type(), rows),
        };
        let mut columns = vec![paths, positions, deleted];
        if !self.united.is_empty() {
            let tuples = vec![file.partition.as_ref(); rows];
            columns.push(partition_structs(field(schema, "partition")?, &self.united, &tuples)?);
        }
        columns.push(Arc::new(Int32Array::from_value(file.partition.spec_id, rows)));
        columns.push(Arc::new(repeated(&file.path, rows)?));
        if self.of.walk.metadata.format_version > 2 {
            let longs =
                |value: Option<i64>| -> ArrayRef { Arc::new(std::iter::repeat_n(value, rows).collect::<Int64Array>()) };
            columns.push(longs(file.content_offset));
            columns.push(longs(file.content_size_bytes));
        }
        self.of.batch(columns)
    }
}

fn repeated(text: &str, rows: usize) -> Result<StringArray> {
    texts(std::iter::repeat_n(Some(text.as_bytes()), rows))
}
