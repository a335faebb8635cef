//! Reads files that have different columns of the same rows.
//!
//! A Paimon table with data evolution adds or changes columns by separate files. Their rows have the order of the rows
//! in the older files. A column comes from the newest file that has it. It is null if no file has it. Columns of type
//! BLOB come from files of their own ([`crate::data::blobs`]).
//!
//! Source: Java's `DataEvolutionSplitRead`.

use std::cmp::Reverse;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};

use super::read::{MergeInput, Narrow, file_context, has_rows};
use crate::data::blobs::read::{BlobColumn, BlobRows};
use crate::data::deletes::filter::DeleteFilter;
use crate::data::read::bucket_file_columns::columns_of;
use crate::data::read::live::live_rows;
use crate::data::read::rows::Batches;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{BucketContext, DeleteRef, FileFormat, MergeSection, ReadContext, ScanTask};
use crate::types::metadata_columns::{FILE, is_metadata};
use crate::types::options::Options;
use crate::types::{Field, FieldId};

/// The rows of a section of such files, as [`live_rows`] gives those of one. All files have the same deletes.
///
/// # Errors
/// The errors of [`live_rows`]; `CorruptTable` if the files have different numbers of rows.
pub(crate) fn read_aligned(reading: MergeInput<'_>, task: &ScanTask, section: &MergeSection) -> Result<Batches> {
    let context = reading.context;
    let buckets = context.buckets.as_deref().ok_or_else(|| Error::internal("only files in buckets are aligned"))?;
    let is_blob = |file: &&ScanTask| file.data_file.format == FileFormat::Blob;
    let (blobs, mut files): (Vec<&ScanTask>, Vec<&ScanTask>) = section.runs.iter().flatten().partition(is_blob);
    let Some(first) = files.first().copied() else {
        return Err(Error::unsupported("rows that only have columns of type BLOB can't be read yet")
            .with("path", &task.data_file.path));
    };
    files.sort_by_key(|file| Reverse(file.data_file.bucket_file.as_ref().map_or(0, |f| f.max_sequence_number)));
    let have_same = |a: &ScanTask, b: &ScanTask| a.deletes.iter().map(place_of).eq(b.deletes.iter().map(place_of));
    if files.iter().chain(&blobs).any(|file| !have_same(first, file)) {
        return Err(Error::internal("files with columns of the same rows have different deletes"));
    }
    let fields = wanted_fields(context, task)?;
    let mut owners = Vec::with_capacity(fields.len());
    let mut parts: Vec<AlignedPart> = Vec::new();
    let mut columns = vec![(0, 0); fields.len()];
    for (place, field) in fields.iter().enumerate() {
        let owner = owner(buckets, &files, task, field.id)?;
        let of_field = if owner.is_none() { having(buckets, &blobs, field.id)? } else { Vec::new() };
        if of_field.is_empty() {
            owners.push(Some(owner.unwrap_or(0)));
            continue;
        }
        owners.push(None);
        if let Some(column) = columns.get_mut(place) {
            *column = (parts.len(), 0);
        }
        let batches = Box::new(blob_column(reading, field, first, &of_field)?);
        parts.push(AlignedPart { batches, rest: None });
    }
    for (index, file) in files.iter().enumerate() {
        let own: Vec<usize> = (0..fields.len()).filter(|field| owners.get(*field) == Some(&Some(index))).collect();
        if own.is_empty() && (index > 0 || !fields.is_empty()) {
            continue;
        }
        for (place, field) in own.iter().enumerate() {
            if let Some(column) = columns.get_mut(*field) {
                *column = (parts.len(), place);
            }
        }
        let context = file_context(context, own.iter().filter_map(|field| fields.get(*field).cloned()).collect());
        let whole = ScanTask { residual: Arc::new(BoundPredicate::True), change: None, merge: None, ..(*file).clone() };
        parts.push(AlignedPart { batches: live_rows(reading.store, &context, &whole, reading.cache)?, rest: None });
    }
    let narrow = Narrow::to(&fields, &context.projection, task)?;
    let path = task.data_file.path.clone();
    let aligned = Aligned { parts, columns, schema: None, is_over: false };
    let rows = aligned.map(move |batch| narrow.rows(&batch?).with("path", &path));
    Ok(Box::new(rows.filter(has_rows)))
}

/// The place of a deletion vector.
fn place_of(delete: &DeleteRef) -> (&str, Option<i64>) {
    (&delete.file.path, delete.file.content_offset)
}

/// The selected columns and those of the filter.
fn wanted_fields(context: &ReadContext, task: &ScanTask) -> Result<Vec<Field>> {
    let optional = |field: &Field| Field { required: false, ..field.clone() };
    let top = |id: FieldId| context.schema.path(id).and_then(|path| path.first().copied());
    let mut fields: Vec<Field> = context.projection.fields.iter().map(optional).collect();
    for id in task.residual.field_ids() {
        let whole = top(id).ok_or_else(|| Error::internal(format!("the schema has no column {id}")))?;
        match fields.iter_mut().find(|f| f.id == whole.id) {
            Some(known) => *known = optional(whole),
            None => fields.push(optional(whole)),
        }
    }
    Ok(fields)
}

/// The newest file that has a column. The file of the rows is that of the task. Other metadata columns are those of the
/// newest file.
fn owner(buckets: &BucketContext, files: &[&ScanTask], task: &ScanTask, id: FieldId) -> Result<Option<usize>> {
    if id == FILE {
        return Ok(files.iter().position(|file| file.data_file.path == task.data_file.path));
    }
    if is_metadata(id) {
        return Ok(Some(0));
    }
    for (index, file) in files.iter().enumerate() {
        if has_column(buckets, file, id)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn has_column(buckets: &BucketContext, file: &ScanTask, id: FieldId) -> Result<bool> {
    let bucket_file = file.data_file.bucket_file.as_ref();
    let bucket_file = bucket_file.ok_or_else(|| Error::internal("a file in a bucket has no schema"))?;
    Ok(columns_of(buckets, bucket_file)?.iter().any(|f| f.id == id))
}

/// The files that have a column.
fn having<'a>(buckets: &BucketContext, files: &[&'a ScanTask], id: FieldId) -> Result<Vec<&'a ScanTask>> {
    let mut found = Vec::new();
    for file in files {
        if has_column(buckets, file, id)? {
            found.push(*file);
        }
    }
    Ok(found)
}

/// The values of a column in files of blobs, of the rows that `of_rows` has.
fn blob_column(reading: MergeInput<'_>, field: &Field, of_rows: &ScanTask, files: &[&ScanTask]) -> Result<BlobColumn> {
    let MergeInput { store, context, cache } = reading;
    let first_row_id = of_rows.data_file.first_row_id;
    let first_row_id = first_row_id.ok_or_else(|| Error::corrupt("a file with blobs has no row ids"))?;
    let deletes = DeleteFilter::load(store, context, &of_rows.data_file, &of_rows.deletes, cache)?;
    let options = context.buckets.as_deref().map(|buckets| &buckets.options);
    let rows = BlobRows {
        store,
        field,
        first_row_id,
        rows: u64::try_from(of_rows.data_file.record_count).unwrap_or(0),
        deletes,
        batch_rows: context.batch_rows,
        describes: options.map_or(Ok(false), |options| Options(options).boolean("blob-as-descriptor", false))?,
    };
    BlobColumn::new(rows, files)
}

/// Some columns of the rows, and the rest of a batch.
struct AlignedPart {
    batches: Batches,
    rest: Option<RecordBatch>,
}

/// Streams rows whose columns come from several files.
struct Aligned {
    parts: Vec<AlignedPart>,
    /// The part of each column, and its place in that part.
    columns: Vec<(usize, usize)>,
    schema: Option<SchemaRef>,
    is_over: bool,
}

impl Aligned {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows = usize::MAX;
        for part in &mut self.parts {
            if part.rest.is_none() {
                part.rest = part.batches.next().transpose()?;
            }
            rows = rows.min(part.rest.as_ref().map_or(0, RecordBatch::num_rows));
        }
        if rows == 0 || self.parts.is_empty() {
            return match self.parts.iter().any(|part| part.rest.is_some()) {
                true => Err(Error::corrupt("files with columns of the same rows have different numbers of them")),
                false => Ok(None),
            };
        }
        let slices: Vec<RecordBatch> = self.parts.iter_mut().filter_map(|part| part.take(rows)).collect();
        let column = |(part, place): &(usize, usize)| {
            let column = slices.get(*part).and_then(|batch| batch.columns().get(*place).cloned());
            column.ok_or_else(|| Error::internal("a column was not read"))
        };
        let columns: Vec<ArrayRef> = self.columns.iter().map(column).collect::<Result<_>>()?;
        let schema = self.schema.get_or_insert_with(|| {
            let field = |(part, place): &(usize, usize)| {
                slices.get(*part).and_then(|batch| batch.schema().fields().get(*place).cloned())
            };
            Arc::new(ArrowSchema::new(self.columns.iter().filter_map(field).collect::<Vec<_>>()))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options);
        batch.map(Some).map_err(|e| Error::internal("aligned rows are not an Arrow batch").because(e))
    }
}

impl AlignedPart {
    /// The next `rows` rows.
    fn take(&mut self, rows: usize) -> Option<RecordBatch> {
        let batch = self.rest.take()?;
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        Some(batch.slice(0, rows))
    }
}

impl Iterator for Aligned {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.next_batch();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

#[cfg(test)]
#[path = "aligned_read_tests.rs"]
mod tests;
