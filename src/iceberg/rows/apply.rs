//! Applies a change to the rows that were found: they are removed or replaced.
//!
//! Copy-on-write rewrites their files. Merge-on-read keeps the files, names the rows in delete files, and writes only
//! the replacements. Either way, changed rows keep their ids. Rows that only move also keep the commit that last
//! changed them (specification, "Row Lineage").

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::interleave_record_batch;

use super::live::LiveRows;
use super::new_files::write_each;
use super::positions::{RowsToDelete, write_deletes};
use super::view::{Mode, View};
use crate::codec::bitmap::PositionSet;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{FileContent, FileFormat, ScanTask};
use crate::iceberg::rows::effect::{Effect, RowCounts};
use crate::parallel::check_cancelled;
use crate::rows::row_changes::patch::{Patch, Patched};
use crate::rows::row_changes::placed::{Placed, found_among};
use crate::rows::row_changes::source::rows_of;

/// Rows of a data file.
pub(crate) struct Hits {
    /// The file. Its residual matches these rows, and perhaps others.
    pub task: ScanTask,
    pub positions: PositionSet,
    /// In a merge: for each position, ascending, the row of the source, or `NO_SOURCE`. Otherwise empty.
    pub sources: Vec<u32>,
}

impl Hits {
    /// Whether these are all remaining rows of the file, as far as metadata tells.
    pub(crate) fn are_all(&self) -> bool {
        let file = &self.task.data_file;
        let deleted = match self.task.deletes.as_slice() {
            [] => 0,
            [d] if d.file.format == FileFormat::Puffin && d.file.content == FileContent::PositionDeletes => {
                d.file.record_count
            }
            _ => return false,
        };
        let left = file.record_count.checked_sub(deleted).and_then(|n| u64::try_from(n).ok());
        left == Some(self.positions.len())
    }
}

/// Applies `patch` to the hits.
///
/// # Errors
/// Errors of reading, of writing and of `patch`; a cancellation.
pub(crate) fn apply(view: &View, mode: Mode, hits: Vec<Hits>, patch: &dyn Patch) -> Result<Effect> {
    let mut effect = Effect::none(view);
    let (whole, hits): (Vec<Hits>, Vec<Hits>) =
        if patch.removes_all() { hits.into_iter().partition(Hits::are_all) } else { (Vec::new(), hits) };
    effect.removed.extend(whole.iter().map(|h| view.removable(&h.task.data_file)));
    effect.counts.deleted += whole.iter().map(|h| h.positions.len()).sum::<u64>();
    match mode {
        Mode::CopyOnWrite => copy_on_write(view, &hits, patch, &mut effect)?,
        Mode::MergeOnRead => merge_on_read(view, hits, patch, &mut effect)?,
    }
    Ok(effect)
}

fn copy_on_write(view: &View, hits: &[Hits], patch: &dyn Patch, effect: &mut Effect) -> Result<()> {
    if hits.is_empty() {
        return Ok(());
    }
    let rows = LiveRows::new(view, &view.table.schema().fields, true)?;
    let (written, done) = write_each(view, hits, |hits, writer| {
        rewrite(&rows, hits, patch, writer).with("rewritten", &hits.task.data_file.path)
    })?;
    effect.added.join(written);
    for (hits, counts) in hits.iter().zip(done) {
        let Some(counts) = counts else { continue };
        effect.counts.updated += counts.updated;
        effect.counts.deleted += counts.deleted;
        effect.removed.push(view.removable(&hits.task.data_file));
    }
    Ok(())
}

/// Rewrites a file; `None` if no row changes. Then nothing was written.
fn rewrite(rows: &LiveRows<'_>, hits: &Hits, patch: &dyn Patch, writer: &mut DataWriter) -> Result<Option<RowCounts>> {
    // Nothing is written before the first change is found. Earlier rows are then read again.
    let mut writing = patch.changes_all();
    'reading: loop {
        let (mut counts, mut seen) = (RowCounts::default(), 0);
        for (number, placed) in rows.read_all(&hits.task)?.enumerate() {
            check_cancelled()?;
            let batch = Batch::of(placed?, hits, &mut seen, patch)?;
            if !writing && batch.changes() {
                writing = true;
                if number > 0 {
                    continue 'reading;
                }
            }
            if writing {
                counts.updated += batch.updated();
                counts.deleted += batch.deleted();
                writer.write(&batch.after(rows)?)?;
            }
        }
        check_seen(hits, seen)?;
        return Ok(writing.then_some(counts));
    }
}

/// Rows of a file and the change that applies to them.
struct Batch {
    placed: Placed,
    hit: BooleanBuffer,
    patched: Patched,
}

impl Batch {
    /// Applies `patch` to the hits among these rows. `seen` counts the hits of the file.
    fn of(placed: Placed, hits: &Hits, seen: &mut usize, patch: &dyn Patch) -> Result<Batch> {
        let hit = found_among(&placed.positions, &hits.positions);
        let count = hit.count_set_bits();
        let sources = hits.sources.get(*seen..).map_or(&[][..], |left| left.get(..count).unwrap_or_default());
        *seen += count;
        let patched = match count {
            0 => Patched::all_removed(0),
            _ => patch.patch(&rows_of(&placed.rows, hit.clone())?, sources)?,
        };
        if patched.same.len() != count || patched.replaced.len() != count {
            return Err(Error::internal("a change returned another number of rows than it got"));
        }
        Ok(Batch { placed, hit, patched })
    }

    fn changes(&self) -> bool {
        self.patched.same.count_set_bits() < self.patched.same.len()
    }

    fn updated(&self) -> u64 {
        self.patched.replaced.count_set_bits() as u64
    }

    fn deleted(&self) -> u64 {
        (self.patched.same.len() - self.patched.same.count_set_bits()) as u64 - self.updated()
    }

    /// All rows of the batch after the change, in their order.
    fn after(&self, columns: &LiveRows<'_>) -> Result<RecordBatch> {
        if !self.changes() {
            return Ok(self.placed.rows.clone());
        }
        let (mut at, mut new) = (0, 0);
        let mut kept = BooleanArray::builder(self.hit.len());
        let mut from: Vec<(usize, usize)> = Vec::with_capacity(self.hit.len());
        for (row, hit) in self.hit.iter().enumerate() {
            let (same, replaced) = match hit {
                false => (true, false),
                true => (self.patched.same.value(at), self.patched.replaced.value(at)),
            };
            at += usize::from(hit);
            kept.append_value(same || replaced);
            if replaced {
                from.push((1, new));
                new += 1;
            } else if same {
                from.push((0, row));
            }
        }
        if new == 0 {
            return rows_of(&self.placed.rows, kept.finish().values().clone());
        }
        let replacements = self.replacements(columns)?;
        interleave_record_batch(&[&self.placed.rows, &replacements], &from).map_err(joined)
    }

    /// The rows that replace others, with the same ids. They count as changed by the coming commit.
    fn replacements(&self, columns: &LiveRows<'_>) -> Result<RecordBatch> {
        let old = rows_of(&rows_of(&self.placed.rows, self.hit.clone())?, self.patched.replaced.clone())?;
        let rows = self.patched.rows.as_ref().filter(|rows| rows.num_rows() == old.num_rows());
        let rows = rows.ok_or_else(|| Error::internal("the rows that replace others are missing"))?;
        let mut all: Vec<ArrayRef> = rows.columns().to_vec();
        if let Some([ids, updated]) = columns.lineage() {
            all.truncate(ids);
            all.push(old.column(ids).clone());
            all.push(new_null_array(old.column(updated).data_type(), old.num_rows()));
        }
        RecordBatch::try_new(old.schema(), all).map_err(joined)
    }
}

fn joined(e: arrow::error::ArrowError) -> Error {
    Error::invalid("changed rows do not fit the table").because(e)
}

fn check_seen(hits: &Hits, seen: usize) -> Result<()> {
    match u64::try_from(seen) == Ok(hits.positions.len()) {
        true => Ok(()),
        false => Err(Error::corrupt("a file gave other rows when it was read again")),
    }
}

fn merge_on_read(view: &View, hits: Vec<Hits>, patch: &dyn Patch, effect: &mut Effect) -> Result<()> {
    let mut deleted = Vec::new();
    if patch.removes_all() {
        effect.counts.deleted += hits.iter().map(|h| h.positions.len()).sum::<u64>();
        deleted.extend(hits.into_iter().map(|h| RowsToDelete { task: h.task, positions: h.positions }));
    } else {
        let rows = LiveRows::new(view, &view.table.schema().fields, true)?;
        let (written, done) = write_each(view, &hits, |hits, writer| {
            replace(&rows, hits, patch, writer).with("read", &hits.task.data_file.path)
        })?;
        effect.added.join(written);
        for (hits, (positions, counts)) in hits.into_iter().zip(done) {
            effect.counts.updated += counts.updated;
            effect.counts.deleted += counts.deleted;
            if !positions.is_empty() {
                deleted.push(RowsToDelete { task: hits.task, positions });
            }
        }
    }
    write_deletes(view, deleted, effect)
}

/// Writes the replacements for rows of a file; returns the positions of all removed rows.
fn replace(
    rows: &LiveRows<'_>,
    hits: &Hits,
    patch: &dyn Patch,
    writer: &mut DataWriter,
) -> Result<(PositionSet, RowCounts)> {
    let (mut positions, mut counts, mut seen) = (PositionSet::default(), RowCounts::default(), 0);
    for placed in rows.read(&hits.task)? {
        check_cancelled()?;
        let batch = Batch::of(placed?, hits, &mut seen, patch)?;
        if !batch.changes() {
            continue;
        }
        counts.updated += batch.updated();
        counts.deleted += batch.deleted();
        if batch.updated() > 0 {
            writer.write(&batch.replacements(rows)?)?;
        }
        let hit = batch.placed.positions.values().iter().zip(batch.hit.iter()).filter(|(_, hit)| *hit);
        let gone = hit.zip(batch.patched.same.iter()).filter(|(_, same)| !same).map(|((position, _), _)| *position);
        positions.extend(&gone.collect::<Vec<i64>>())?;
    }
    check_seen(hits, seen)?;
    Ok((positions, counts))
}
