//! The rows of an ORC file, stripe by stripe.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use super::columns::OrcColumnDecoder;
use super::file::OrcFile;
use super::schema::{OrcColumn, arrow_schema, prune, with_nanos};
use crate::codec::orc::StripeInfo;
use crate::data::deletes::positions::RowPositions;
use crate::data::read::source::{BATCH_BYTES, DecodeRequest, FilePart, FormatFile, Started};
use crate::error::{Error, Result};
use crate::store::Store;

/// An ORC file to read rows from.
pub(crate) struct OrcSource {
    file: OrcFile,
    schema: ArrowSchema,
    /// The stripes that may matter, with the positions of their rows.
    stripes: Vec<(StripeInfo, Range<u64>)>,
}

impl OrcSource {
    /// Opens it.
    ///
    /// # Errors
    /// The errors of [`OrcFile::open`].
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<OrcSource> {
        let file = OrcFile::open(store, path)?;
        let mut stripes = Vec::with_capacity(file.stripes().len());
        let mut next = 0;
        for stripe in file.stripes() {
            stripes.push((stripe.clone(), next..next + stripe.rows));
            next += stripe.rows;
        }
        Ok(OrcSource { schema: arrow_schema(&file.columns), file, stripes })
    }
}

impl FormatFile for OrcSource {
    fn schema(&self) -> &ArrowSchema {
        &self.schema
    }

    fn read_nanos(&mut self, leaves: &BTreeSet<usize>) -> Result<()> {
        self.file.columns = with_nanos(&self.file.columns, leaves);
        self.schema = arrow_schema(&self.file.columns);
        Ok(())
    }

    /// A stripe belongs to the part that has its first byte, as in Java.
    fn narrow(&mut self, part: &FilePart<'_>) -> Result<bool> {
        let rows = self.file.stripes().iter().map(|stripe| stripe.rows).fold(0, u64::saturating_add);
        part.recorded.check_whole(rows, self.file.size())?;
        self.stripes.retain(|(stripe, _)| part.range.contains(&(stripe.offset as i64)));
        Ok(!self.stripes.is_empty())
    }

    fn start(self: Box<Self>, part: &FilePart<'_>, request: DecodeRequest) -> Result<Option<Started>> {
        let leaves = request.all_leaves();
        if leaves.is_empty() {
            part.recorded.check_unread(self.stripes.iter().map(|(stripe, _)| stripe.rows).sum())?;
        }
        let columns = prune(&self.file.columns, &leaves);
        let batch_rows = BATCH_BYTES / self.file.row_bytes(&columns).max(1);
        let batches = Box::new(OrcBatches {
            schema: Arc::new(arrow_schema(&columns)),
            columns,
            batch_rows: request.batch_rows.min(batch_rows as usize).max(1),
            stripes: self.stripes.into_iter(),
            file: self.file,
            current: None,
        });
        Ok(Some(Started { batches, leaves, test: Some(request.test), keys_tested: false }))
    }
}

/// Decodes batches, none across stripes.
struct OrcBatches {
    file: OrcFile,
    columns: Vec<OrcColumn>,
    schema: SchemaRef,
    batch_rows: usize,
    stripes: std::vec::IntoIter<(StripeInfo, Range<u64>)>,
    current: Option<StripeReader>,
}

/// A stripe that is being decoded.
struct StripeReader {
    columns: Vec<OrcColumnDecoder>,
    /// The rows to come.
    rows: Range<u64>,
}

impl OrcBatches {
    fn next_batch(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        while self.current.as_ref().is_none_or(|stripe| stripe.rows.is_empty()) {
            let Some((stripe, rows)) = self.stripes.next() else { return Ok(None) };
            let mut streams = self.file.streams(&stripe, &self.columns)?;
            let columns = self.columns.iter().map(|c| OrcColumnDecoder::new(c, &mut streams)).collect::<Result<_>>()?;
            self.current = Some(StripeReader { columns, rows });
        }
        let Some(stripe) = &mut self.current else { return Ok(None) };
        let rows = (self.batch_rows as u64).min(stripe.rows.end - stripe.rows.start);
        let positions = stripe.rows.start..stripe.rows.start + rows;
        stripe.rows.start = positions.end;
        let fields = self.schema.fields().iter();
        let read = |(column, field): (&mut OrcColumnDecoder, &Arc<_>)| {
            let field: &arrow::datatypes::Field = field;
            column.read(rows as usize, None).map_err(|e| e.with("column", field.name()))
        };
        let arrays = stripe.columns.iter_mut().zip(fields).map(read).collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|e| Error::internal("columns of an ORC file are unlike their schema").because(e))?;
        Ok(Some((batch, RowPositions::from(positions))))
    }
}

impl Iterator for OrcBatches {
    type Item = Result<(RecordBatch, RowPositions)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
