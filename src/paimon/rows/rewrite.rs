//! Rewriting files without deleted rows, or with other rows in their place.
//!
//! In tables that track rows, rows keep their ids. Unchanged rows also keep the commit that last changed them. Such
//! files have two more columns, `_ROW_ID` and `_SEQUENCE_NUMBER`, and no first row id.
//!
//! Source: Java's `PaimonSparkWriter.withRowTracking`, `SpecialFields.rowTypeWithRowTracking`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter_record_batch, interleave_record_batch};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};
use arrow::error::ArrowError;

use super::fate::Fate;
use super::found::FileHits;
use super::tracking::with_tracking;
use crate::data::read::read_ahead::ScanReader;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{NewBucketFile, ScanTask};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::write_plan::WriteKind;
use crate::paimon::write::writer::PaimonWriter;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::placed::{Placed, found_among, placed};
use crate::types::Field;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};

/// The error for changed rows that Arrow refuses.
pub(super) fn joined(e: ArrowError) -> Error {
    Error::invalid("changed rows do not fit the table").because(e)
}

/// Rewrites the files of some hits: without these rows, or with their new values.
///
/// # Errors
/// Errors of reading and writing; a cancellation.
pub(crate) fn rewritten(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[FileHits],
    fate: Fate<'_>,
) -> Result<Vec<NewBucketFile>> {
    let mut out = Rewriter::new(table, scan)?;
    for hit in hits.iter().filter(|h| !matches!(fate, Fate::Gone) || !h.is_whole()) {
        let all = ScanTask { residual: BoundPredicate::True.into(), ..hit.task.clone() };
        for rows in out.reader.read(&all)? {
            check_cancelled()?;
            let rows = out.after(&placed(rows?)?, hit, fate).with("rewritten", &hit.task.data_file.path)?;
            out.write(&rows)?;
        }
    }
    out.finish()
}

/// Writes the new form of rows that are deleted at their old position.
///
/// # Errors
/// As [`rewritten`].
pub(crate) fn updated(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[FileHits],
    fate: Fate<'_>,
) -> Result<Vec<NewBucketFile>> {
    let mut out = Rewriter::new(table, scan)?;
    for hit in hits {
        for rows in out.reader.read(&hit.task)? {
            check_cancelled()?;
            let rows = out.patched(fate, &placed(rows?)?.rows)?.rows;
            out.write(&rows)?;
        }
    }
    out.finish()
}

/// The result for some rows.
struct ChangedRows {
    /// The rows that are replaced; the others are deleted.
    kept: BooleanBuffer,
    /// The new rows, in order.
    rows: RecordBatch,
}

/// Reads rows and writes them again.
struct Rewriter {
    reader: ScanReader,
    writer: PaimonWriter,
    /// Set if the table tracks rows: the number of data columns, and the names of all columns.
    tracked: Option<(usize, Vec<String>)>,
}

impl Rewriter {
    fn new(table: &PaimonTable, scan: &PaimonScan) -> Result<Rewriter> {
        let mut fields: Vec<Field> = table.schema().fields.to_vec();
        if !table.table_schema().options().row_tracking()? {
            let writer = PaimonWriter::of_stored(table, WriteKind::Add)?;
            return Ok(Rewriter { reader: scan.placed_reader(&fields), writer, tracked: None });
        }
        let count = fields.len();
        fields.extend(LINEAGE_COLUMNS.into_iter().filter_map(metadata_column));
        let tracked = table.with_schema(with_tracking(table.table_schema())?);
        let names = tracked.table_schema().fields.iter().map(|f| f.name.clone()).collect();
        let writer = PaimonWriter::of_stored(&tracked, WriteKind::Add)?;
        Ok(Rewriter { reader: scan.placed_reader(&fields), writer, tracked: Some((count, names)) })
    }

    /// Rows after a change. They keep their ids, and count as changed by the coming commit.
    fn patched(&self, fate: Fate<'_>, rows: &RecordBatch) -> Result<ChangedRows> {
        let count = rows.num_rows();
        let (kept, new) = match fate {
            Fate::Gone => return Ok(ChangedRows { kept: BooleanBuffer::new_unset(count), rows: rows.slice(0, 0) }),
            Fate::Updated(patch) => (BooleanBuffer::new_set(count), patch.apply(rows)?),
            Fate::Merged(merge) => {
                let fates = merge.fates(rows)?;
                (fates.replaced, fates.rows)
            }
        };
        let Some((own, _)) = &self.tracked else { return Ok(ChangedRows { kept, rows: new }) };
        let old = filter_record_batch(rows, &BooleanArray::new(kept.clone(), None)).map_err(joined)?;
        let mut columns: Vec<ArrayRef> = new.columns().iter().take(*own).cloned().collect();
        columns.extend(old.columns().get(*own).cloned());
        columns.extend(old.columns().get(own + 1).map(|c| new_null_array(c.data_type(), old.num_rows())));
        let rows = RecordBatch::try_new(rows.schema(), columns).map_err(joined)?;
        Ok(ChangedRows { kept, rows })
    }

    /// Rows of a file after the change, in their order.
    fn after(&self, placed: &Placed, hit: &FileHits, fate: Fate<'_>) -> Result<RecordBatch> {
        let rows = &placed.rows;
        let Some(positions) = &hit.positions else { return self.patched(fate, rows).map(|patched| patched.rows) };
        let changed = found_among(&placed.positions, positions);
        if changed.count_set_bits() == 0 {
            return Ok(rows.clone());
        }
        let old = filter_record_batch(rows, &BooleanArray::new(changed.clone(), None)).map_err(joined)?;
        let ChangedRows { kept, rows: new } = self.patched(fate, &old)?;
        let (mut seen, mut replaced) = (0, 0);
        let mut from = Vec::with_capacity(rows.num_rows());
        for (row, changed) in changed.iter().enumerate() {
            if !changed {
                from.push((0, row));
                continue;
            }
            if kept.value(seen) {
                from.push((1, replaced));
                replaced += 1;
            }
            seen += 1;
        }
        interleave_record_batch(&[rows, &new], &from).map_err(joined)
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some((_, names)) = &self.tracked else { return self.writer.write(rows) };
        let schema = rows.schema();
        let renamed = names
            .iter()
            .zip(schema.fields())
            .map(|(name, field)| ArrowField::new(name, field.data_type().clone(), field.is_nullable()));
        let schema = Arc::new(ArrowSchema::new(renamed.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new(schema, rows.columns().to_vec()).map_err(joined)?;
        self.writer.write(&rows)
    }

    fn finish(self) -> Result<Vec<NewBucketFile>> {
        let mut files = self.writer.finish()?.added;
        if let Some((_, names)) = self.tracked {
            for file in &mut files {
                file.file
                    .bucket_file
                    .iter_mut()
                    .for_each(|bucket_file| bucket_file.write_columns = Some(names.clone()));
            }
        }
        Ok(files)
    }
}
