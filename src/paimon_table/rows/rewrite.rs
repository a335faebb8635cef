//! Files written anew without the rows that go, or with others in their place.
//!
//! In tables that track rows, rows keep their ids, and those that stay as they are the commit that changed them last: then files have
//! two columns more, `_ROW_ID` and `_SEQUENCE_NUMBER`, and no row ids of their own.
//!
//! Source: Java's `PaimonSparkWriter.withRowTracking`, `SpecialFields.rowTypeWithRowTracking`.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::compute::{filter_record_batch, interleave_record_batch};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};
use arrow::error::ArrowError;

use super::Fate;
use super::found::Hits;
use crate::data::read_ahead::TaskReader;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::paimon::data_type::{DataField, TypeKind};
use crate::paimon::schema::TableSchema;
use crate::paimon_scan::PaimonScan;
use crate::paimon_table::PaimonTable;
use crate::paimon_write::{PaimonWriter, WriteKind};
use crate::row_level::{Assignments, Placed, are_in, placed};
use crate::task::{PaimonNewFile, ScanTask};
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};
use crate::types::{Field, FieldId};
use crate::workers::GoOn;

/// The columns of files that have the ids of rows and the commits that changed them last.
const TRACKING: [(&str, FieldId); 2] = [("_ROW_ID", FieldId::MAX - 5), ("_SEQUENCE_NUMBER", FieldId::MAX - 1)];

fn joined(e: ArrowError) -> Error {
    Error::invalid("changed rows do not fit the table").because(e)
}

/// Writes the files of some hits anew: without them, or with what they become.
///
/// # Errors
/// Of reading and writing; what `go_on` gives.
pub(super) fn rewritten(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[Hits],
    fate: Fate<'_>,
    go_on: GoOn,
) -> Result<Vec<PaimonNewFile>> {
    let mut out = Rewriter::new(table, scan)?;
    for hit in hits.iter().filter(|h| matches!(fate, Fate::Updated(_)) || !h.is_whole()) {
        let all = ScanTask { residual: BoundPredicate::True.into(), ..hit.task.clone() };
        for rows in out.reader.read(&all)? {
            go_on()?;
            let rows = out.after(&placed(rows?)?, hit, fate).with("rewritten", &hit.task.data_file.path)?;
            out.write(&rows)?;
        }
    }
    out.finish()
}

/// Writes what rows become that are deleted where they are.
///
/// # Errors
/// As [`rewritten`].
pub(super) fn updated(
    table: &PaimonTable,
    scan: &PaimonScan,
    hits: &[Hits],
    patch: &Assignments,
    go_on: GoOn,
) -> Result<Vec<PaimonNewFile>> {
    let mut out = Rewriter::new(table, scan)?;
    for hit in hits {
        for rows in out.reader.read(&hit.task)? {
            go_on()?;
            let rows = out.patched(patch, &placed(rows?)?.rows)?;
            out.write(&rows)?;
        }
    }
    out.finish()
}

/// Reads rows and writes them again.
struct Rewriter {
    reader: TaskReader,
    writer: PaimonWriter,
    /// Of tables that track rows: how many columns the table has, before those of [`TRACKING`], and the names of all.
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

    /// Rows after an update: with the ids that they had, and changed by the commit to come.
    fn patched(&self, patch: &Assignments, rows: &RecordBatch) -> Result<RecordBatch> {
        let new = patch.apply(rows)?;
        let Some((count, _)) = &self.tracked else { return Ok(new) };
        let mut columns: Vec<ArrayRef> = new.columns().to_vec();
        columns.extend(rows.columns().get(*count).cloned());
        columns.extend(rows.columns().get(count + 1).map(|c| new_null_array(c.data_type(), rows.num_rows())));
        RecordBatch::try_new(rows.schema(), columns).map_err(joined)
    }

    /// Rows of a file after the change, in their order.
    fn after(&self, placed: &Placed, hit: &Hits, fate: Fate<'_>) -> Result<RecordBatch> {
        let rows = &placed.rows;
        let Some(positions) = &hit.positions else {
            return match fate {
                Fate::Gone => Ok(rows.slice(0, 0)),
                Fate::Updated(patch) => self.patched(patch, rows),
            };
        };
        let changed = are_in(&placed.positions, positions);
        match fate {
            _ if changed.count_set_bits() == 0 => Ok(rows.clone()),
            Fate::Gone => filter_record_batch(rows, &BooleanArray::new(!&changed, None)).map_err(joined),
            Fate::Updated(patch) => {
                let old = filter_record_batch(rows, &BooleanArray::new(changed.clone(), None)).map_err(joined)?;
                let new = self.patched(patch, &old)?;
                let mut at = 0;
                let from = changed.iter().enumerate().map(|(row, changed)| {
                    at += usize::from(changed);
                    if changed { (1, at - 1) } else { (0, row) }
                });
                interleave_record_batch(&[rows, &new], &from.collect::<Vec<_>>()).map_err(joined)
            }
        }
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

    fn finish(self) -> Result<Vec<PaimonNewFile>> {
        let mut files = self.writer.finish()?.added;
        if let Some((_, names)) = self.tracked {
            for file in &mut files {
                file.file.leveled.iter_mut().for_each(|leveled| leveled.write_columns = Some(names.clone()));
            }
        }
        Ok(files)
    }
}

/// A schema with the columns of [`TRACKING`] behind its own.
fn with_tracking(schema: &TableSchema) -> Result<TableSchema> {
    let mut parts = schema.parts();
    if let Some((name, _)) = TRACKING.iter().find(|(name, _)| schema.field(name).is_some()) {
        return Err(Error::unsupported("the table has a column with the name of one that tracks rows")
            .with("column", name)
            .hint("Rename the column"));
    }
    let [(row_id, row_id_id), (sequence, sequence_id)] = TRACKING;
    parts.fields.push(DataField::new(row_id_id, row_id, TypeKind::BigInt.not_null()));
    parts.fields.push(DataField::new(sequence_id, sequence, TypeKind::BigInt.nullable()));
    parts.highest_field_id = FieldId::MAX;
    TableSchema::new(parts)
}
