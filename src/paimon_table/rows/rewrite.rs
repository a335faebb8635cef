//! Files written anew without the rows that go, or with others in their place.

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::{filter_record_batch, interleave_record_batch};
use arrow::error::ArrowError;

use super::Fate;
use super::found::Hits;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::paimon_scan::PaimonScan;
use crate::paimon_table::PaimonTable;
use crate::paimon_write::{PaimonWriter, WriteKind};
use crate::row_level::{Assignments, Placed, are_in, placed};
use crate::task::{PaimonNewFile, ScanTask};
use crate::workers::GoOn;

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
    let reader = scan.placed_reader(&table.schema().fields);
    let mut writer = PaimonWriter::new(table, WriteKind::Add, false)?;
    for hit in hits.iter().filter(|h| matches!(fate, Fate::Updated(_)) || !h.is_whole()) {
        let all = ScanTask { residual: BoundPredicate::True.into(), ..hit.task.clone() };
        for rows in reader.read(&all)? {
            go_on()?;
            let placed = placed(rows?)?;
            writer.write(&after(&placed, hit, fate).with("rewritten", &hit.task.data_file.path)?)?;
        }
    }
    Ok(writer.finish()?.added)
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
    let reader = scan.placed_reader(&table.schema().fields);
    let mut writer = PaimonWriter::new(table, WriteKind::Add, false)?;
    for hit in hits {
        for rows in reader.read(&hit.task)? {
            go_on()?;
            writer.write(&patch.apply(&placed(rows?)?.rows)?)?;
        }
    }
    Ok(writer.finish()?.added)
}

/// Rows of a file after the change, in their order.
fn after(placed: &Placed, hit: &Hits, fate: Fate<'_>) -> Result<RecordBatch> {
    let rows = &placed.rows;
    let Some(positions) = &hit.positions else {
        return match fate {
            Fate::Gone => Ok(rows.slice(0, 0)),
            Fate::Updated(patch) => patch.apply(rows),
        };
    };
    let changed = are_in(&placed.positions, positions);
    match fate {
        _ if changed.count_set_bits() == 0 => Ok(rows.clone()),
        Fate::Gone => filter_record_batch(rows, &BooleanArray::new(!&changed, None)).map_err(joined),
        Fate::Updated(patch) => {
            let old = filter_record_batch(rows, &BooleanArray::new(changed.clone(), None)).map_err(joined)?;
            let new = patch.apply(&old)?;
            let mut at = 0;
            let from = changed.iter().enumerate().map(|(row, changed)| {
                at += usize::from(changed);
                if changed { (1, at - 1) } else { (0, row) }
            });
            interleave_record_batch(&[rows, &new], &from.collect::<Vec<_>>()).map_err(joined)
        }
    }
}
