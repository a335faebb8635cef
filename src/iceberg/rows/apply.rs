//! Applies a change to the rows that were found: they are removed or replaced.
//!
//! Copy-on-write rewrites their files. Merge-on-read keeps the files, names the rows in delete files, and writes only
//! the replacements. Either way, changed rows keep their ids. Rows that only move also keep the commit that last
//! changed them (specification, "Row Lineage").

use super::live::LiveRows;
use super::new_files::write_each;
use super::positions::{RowsToDelete, write_deletes};
use super::view::{Mode, View};
use crate::codec::bitmap::PositionSet;
use crate::data::write::writer::DataWriter;
use crate::error::{Result, ResultExt};
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::rows::effect::{Effect, RowCounts};
use crate::parallel::check_cancelled;
use crate::rows::row_changes::changed_batch::ChangedBatch;
use crate::rows::row_changes::matched_rows::Hits;
use crate::rows::row_changes::patch::Patch;

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
            let batch = ChangedBatch::of(placed?, hits.found(), &mut seen, patch)?;
            if !writing && batch.changes() {
                writing = true;
                if number > 0 {
                    continue 'reading;
                }
            }
            if writing {
                counts.updated += batch.updated();
                counts.deleted += batch.deleted();
                writer.write(&batch.after(rows.lineage())?)?;
            }
        }
        hits.found().check_seen(seen)?;
        return Ok(writing.then_some(counts));
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
        let batch = ChangedBatch::of(placed?, hits.found(), &mut seen, patch)?;
        if !batch.changes() {
            continue;
        }
        counts.updated += batch.updated();
        counts.deleted += batch.deleted();
        if batch.updated() > 0 {
            writer.write(&batch.replacements(rows.lineage())?)?;
        }
        positions.extend(&batch.changed_positions())?;
    }
    hits.found().check_seen(seen)?;
    Ok((positions, counts))
}
