//! Rewriting files without deleted rows, or with other rows in their place.
//!
//! In tables that track rows, rows keep their ids. Unchanged rows also keep the commit that last changed them. Such
//! files have two more columns, `_ROW_ID` and `_SEQUENCE_NUMBER`, and no first row id.
//!
//! Source: Java's `PaimonSparkWriter.withRowTracking`, `SpecialFields.rowTypeWithRowTracking`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};

use super::found::FileHits;
use super::tracking::with_tracking;
use crate::codec::bitmap::PositionSet;
use crate::data::read::read_ahead::ScanReader;
use crate::error::{Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{NewBucketFile, ScanTask};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::write_plan::WriteKind;
use crate::paimon::write::writer::PaimonWriter;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::changed_batch::{ChangedBatch, Lineage, joined};
use crate::rows::row_changes::patch::Patch;
use crate::rows::row_changes::placed::placed;
use crate::types::Field;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};

/// The effect of a change on a file.
#[derive(Debug, Default)]
pub(crate) struct FileEffect {
    /// Rows with new values.
    pub updated: u64,
    /// Rows that are removed.
    pub deleted: u64,
    /// Rows that are removed or replaced, if they are to be named in a deletion vector.
    pub positions: PositionSet,
}

/// Rewrites the files of some hits: without these rows, or with their new values. The result has the effect on each
/// file; `None` if no row of it changes. Then it was not rewritten.
///
/// # Errors
/// Errors of reading and writing; a cancellation.
pub(crate) fn rewritten(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[FileHits],
    patch: &dyn Patch,
) -> Result<(Vec<NewBucketFile>, Vec<Option<FileEffect>>)> {
    let mut out = Rewriter::new(table, scan)?;
    let mut effects = Vec::with_capacity(hits.len());
    for hit in hits {
        effects.push(out.rewrite(hit, patch).with("rewritten", &hit.task.data_file.path)?);
    }
    Ok((out.finish()?, effects))
}

/// Writes the new form of rows that are deleted at their old position. The result has the effect on each file.
///
/// # Errors
/// As [`rewritten`].
pub(crate) fn replaced(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[FileHits],
    patch: &dyn Patch,
) -> Result<(Vec<NewBucketFile>, Vec<FileEffect>)> {
    let mut out = Rewriter::new(table, scan)?;
    let mut effects = Vec::with_capacity(hits.len());
    for hit in hits {
        effects.push(out.replace(hit, patch).with("read", &hit.task.data_file.path)?);
    }
    Ok((out.finish()?, effects))
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

    /// The places of the columns that track rows.
    fn lineage(&self) -> Option<Lineage> {
        self.tracked.as_ref().map(|(own, _)| [*own, own + 1])
    }

    /// Rewrites a file; `None` if no row changes.
    fn rewrite(&mut self, hit: &FileHits, patch: &dyn Patch) -> Result<Option<FileEffect>> {
        let all = ScanTask { residual: BoundPredicate::True.into(), ..hit.task.clone() };
        // Nothing is written before the first change is found. Earlier rows are then read again.
        let mut writing = patch.changes_all();
        'reading: loop {
            let (mut effect, mut seen) = (FileEffect::default(), 0);
            for (number, rows) in self.reader.read(&all)?.enumerate() {
                check_cancelled()?;
                let batch = ChangedBatch::of(placed(rows?)?, hit.found(), &mut seen, patch)?;
                if !writing && batch.changes() {
                    writing = true;
                    if number > 0 {
                        continue 'reading;
                    }
                }
                if writing {
                    effect.updated += batch.updated();
                    effect.deleted += batch.deleted();
                    self.write(&batch.after(self.lineage())?)?;
                }
            }
            hit.found().check_seen(seen)?;
            return Ok(writing.then_some(effect));
        }
    }

    /// Writes the new form of a file's rows.
    fn replace(&mut self, hit: &FileHits, patch: &dyn Patch) -> Result<FileEffect> {
        let (mut effect, mut seen) = (FileEffect::default(), 0);
        for rows in self.reader.read(&hit.task)? {
            check_cancelled()?;
            let batch = ChangedBatch::of(placed(rows?)?, hit.found(), &mut seen, patch)?;
            if !batch.changes() {
                continue;
            }
            effect.updated += batch.updated();
            effect.deleted += batch.deleted();
            effect.positions.extend(&batch.changed_positions())?;
            if batch.updated() > 0 {
                self.write(&batch.replacements(self.lineage())?)?;
            }
        }
        hit.found().check_seen(seen)?;
        Ok(effect)
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
