//! Merging rows into a table by keys: those that match are updated or deleted, the others inserted.
//!
//! The source and its keys are held in memory. Only files of the table that can have such keys are read, first only
//! their key columns. Then the files with a match are changed.

use super::apply::apply;
use super::delete;
use super::live::LiveRows;
use super::plan::Touched;
use super::positions::check_tasks;
use super::update::with_counts;
use super::view::View;
use crate::codec::bitmap::PositionSet;
use crate::data::write::writer::DataWriter;
use crate::error::{Result, ResultExt};
use crate::expr::Predicate;
use crate::format::row_change::{Command, Merge};
use crate::format::task::{DataFile, ScanTask};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::parallel::{check_cancelled, in_parallel};
use crate::rows::row_changes::clauses::check_insert;
use crate::rows::row_changes::key_columns::KeyColumns;
use crate::rows::row_changes::key_ranges::KeyRanges;
use crate::rows::row_changes::matched_rows::Hits;
use crate::rows::row_changes::matcher::Matcher;
use crate::rows::row_changes::patch::NO_SOURCE;
use crate::rows::row_changes::source::SourceRows;
use crate::rows::stream::RowReader;

/// A merge, ready to be matched.
struct MergePlan<'v> {
    view: &'v View,
    merge: &'v Merge,
    matcher: Matcher,
}

pub(crate) fn merge(view: &View, rows: RowReader, merge: &Merge) -> Result<Option<SnapshotProducer>> {
    let source = SourceRows::read(rows)?;
    let keys = KeyColumns::new(view.table.schema(), &merge.on)?;
    let key_batches = source.keys(&keys)?;
    let ranges = KeyRanges::new(view, &keys, &key_batches)?;
    let matcher = Matcher::new(view.table.schema(), merge, source, keys, &key_batches)?;
    check_insert(view.table.schema(), merge, matcher.source())?;
    let plan = MergePlan { view, merge, matcher };
    // The rows that the merge read: rows with such keys, or all.
    let filter = if merge.delete_missing.is_some() { Predicate::True } else { ranges.filter()? };
    let files = match (plan.matcher.source().batches.is_empty(), &merge.delete_missing) {
        (true, None) => Vec::new(),
        (_, None) => ranges.files(view)?,
        (_, Some(_)) => Touched::all(&view.scan(Predicate::True)?)?,
    };
    let mode = view.mode(Command::Merge)?;
    check_tasks(view, mode, &files)?;
    let (mut hits, matching) = plan.find(files)?;
    plan.add_missing(&mut hits)?;
    let hits: Vec<Hits> = hits.into_iter().filter(|h| !h.positions.is_empty()).collect();
    let mut effect = apply(view, mode, hits, plan.matcher.clauses())?;
    let (written, inserted) = plan.insert()?;
    effect.added.add(written);
    // Matching rows that do not change must still exist at the commit. Otherwise their source rows would have to be
    // inserted.
    effect.required.extend(matching);
    effect.counts.inserted = inserted;
    with_counts(effect, view, Command::Merge, filter)
}

impl MergePlan<'_> {
    /// The rows of each file that match and change, and the files with any match.
    fn find(&self, files: Vec<ScanTask>) -> Result<(Vec<Hits>, Vec<String>)> {
        let rows = LiveRows::new(self.view, self.matcher.keys().read(), false)?;
        let found = in_parallel(files.len(), |i| {
            let (mut positions, mut sources, mut matches) = (PositionSet::default(), Vec::new(), false);
            for placed in rows.read(&files[i])? {
                check_cancelled()?;
                let placed = placed?;
                let mut at = Vec::new();
                self.matcher.find(&placed.rows, |row, source| {
                    matches = true;
                    if self.matcher.clauses().act_on(source) {
                        at.push(placed.positions.value(row));
                        sources.push(source);
                    }
                })?;
                positions.extend(&at).with("path", &files[i].data_file.path)?;
            }
            Ok((positions, sources, matches))
        })?;
        let (mut hits, mut matching) = (Vec::new(), Vec::new());
        for (task, (positions, sources, matches)) in files.into_iter().zip(found) {
            if matches && !self.view.is_own(&task.data_file) {
                matching.push(task.data_file.path.clone());
            }
            hits.push(Hits { task, positions, sources });
        }
        Ok((hits, matching))
    }

    /// Adds the unmatched rows of the table that are to be deleted. `hits` are of all files.
    fn add_missing(&self, hits: &mut [Hits]) -> Result<()> {
        let Some(filter) = &self.merge.delete_missing else { return Ok(()) };
        let tasks = Touched::all(&self.view.scan(filter.clone())?)?;
        let candidates = delete::hits(self.view, tasks, self.view.mode(Command::Merge)?)?;
        // A file that was added twice may have other deletes each time.
        let entry = |h: &'_ Hits| (h.task.data_file.path.clone(), h.task.data_file.sequence_number);
        let by_entry: std::collections::HashMap<_, &PositionSet> =
            candidates.iter().map(|h| (entry(h), &h.positions)).collect();
        let matched = self.matched_positions(hits)?;
        for (hits, matched) in hits.iter_mut().zip(matched) {
            let Some(candidates) = by_entry.get(&entry(hits)) else { continue };
            let old: Vec<(u64, u32)> = hits.positions.iter().zip(hits.sources.iter().copied()).collect();
            let missing = candidates.iter().filter(|p| !matched.contains(*p)).map(|p| (p, NO_SOURCE));
            let mut all: Vec<(u64, u32)> = old.into_iter().chain(missing).collect();
            all.sort_unstable();
            let positions: Vec<i64> = all.iter().map(|(p, _)| *p as i64).collect();
            hits.positions.extend(&positions)?;
            hits.sources = all.into_iter().map(|(_, source)| source).collect();
        }
        Ok(())
    }

    /// The positions of all matching rows, including those that do not change.
    fn matched_positions(&self, hits: &[Hits]) -> Result<Vec<PositionSet>> {
        if self.merge.update.is_some() {
            return Ok(hits.iter().map(|h| h.positions.clone()).collect());
        }
        let rows = LiveRows::new(self.view, self.matcher.keys().read(), false)?;
        in_parallel(hits.len(), |i| {
            let mut positions = PositionSet::default();
            for placed in rows.read(&hits[i].task)? {
                check_cancelled()?;
                let placed = placed?;
                let mut at = Vec::new();
                self.matcher.find(&placed.rows, |row, _| at.push(placed.positions.value(row)))?;
                positions.extend(&at)?;
            }
            Ok(positions)
        })
    }

    /// Writes the rows of the source that are to be inserted; returns the files and the number of rows.
    fn insert(&self) -> Result<(Vec<DataFile>, u64)> {
        if self.merge.insert.is_none() {
            return Ok((Vec::new(), 0));
        }
        let mut writer = DataWriter::new(self.view.store().clone(), self.view.table.write_context(0)?)?;
        let mut count = 0;
        for rows in self.matcher.inserted() {
            check_cancelled()?;
            let rows = rows?;
            count += rows.num_rows() as u64;
            writer.write(&rows)?;
        }
        Ok((writer.finish()?, count))
    }
}
