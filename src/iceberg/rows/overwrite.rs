//! Replacing rows: those that match a filter, or those of the same partitions.

use std::sync::Arc;

use super::apply::apply;
use super::delete::{RowRemoval, find};
use super::new_files::NewFiles;
use super::view::{Mode, View};
use crate::error::Result;
use crate::expr::Predicate;
use crate::format::row_change::Command;
use crate::format::task::{DataFile, Partition};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::commit::summary::REPLACE_PARTITIONS;
use crate::iceberg::rows::effect::Effect;
use crate::rows::row_changes::assignments::row_counts;
use crate::rows::row_changes::patch::Remove;
use crate::rows::stream::RowReader;

/// The new rows of an overwrite.
pub(crate) enum NewRows {
    /// Still to be written.
    Stream(RowReader),
    /// Written by other code, which decides about the files if the commit fails.
    Written(Vec<DataFile>),
}

/// Files with new rows: those of the change itself, and those of other writers.
struct Brought {
    own: NewFiles,
    borrowed: Vec<DataFile>,
}

impl Brought {
    fn of(view: &View, rows: NewRows) -> Result<Brought> {
        let mut own = NewFiles::new(view.store());
        let borrowed = match rows {
            NewRows::Written(files) => files,
            NewRows::Stream(rows) => {
                own.add(view.table.write(rows, 0)?.files);
                Vec::new()
            }
        };
        Ok(Brought { own, borrowed })
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.borrowed.is_empty()
    }

    fn row_count(&self) -> u64 {
        let counts = self.own.files().iter().chain(&self.borrowed).map(|file| file.record_count);
        u64::try_from(counts.sum::<i64>()).unwrap_or_default()
    }

    /// The number of new rows, for the summary. The commit finds the rows that go.
    fn counted(&self) -> (String, String) {
        ("frazil.rows-inserted".to_owned(), self.row_count().to_string())
    }

    fn add_to(self, change: SnapshotProducer) -> SnapshotProducer {
        let change = change.add_files(self.own.take()).owning_files();
        change.lending(self.borrowed.iter().map(|f| f.path.clone())).add_files(self.borrowed)
    }
}

pub(crate) fn overwrite(view: &View, rows: NewRows, filter: &Predicate) -> Result<Option<SnapshotProducer>> {
    let removal = find(view, filter, Mode::CopyOnWrite)?;
    if let RowRemoval::Whole(_) = removal {
        view.check_open_removal()?;
    }
    let brought = Brought::of(view, rows)?;
    match removal {
        RowRemoval::Whole(0) if brought.is_empty() => {
            Effect::none(view).change(view, Command::Delete, filter.clone()).map(Some)
        }
        RowRemoval::Whole(_) => {
            let operation = if brought.is_empty() { Operation::Delete } else { Operation::Overwrite };
            let change = view.change(operation).remove_where(filter).with_summary([brought.counted()]);
            Ok(Some(brought.add_to(change)))
        }
        RowRemoval::Named(files, hits) => {
            let mut effect = apply(view, Mode::CopyOnWrite, hits, &Remove)?;
            let whole = files.iter().map(|file| file.record_count).sum::<i64>();
            let whole = u64::try_from(whole).unwrap_or_default();
            let new = brought.row_count();
            let summary = row_counts(0, new, effect.counts.deleted + whole);
            effect.added.join(brought.own);
            effect.removed.extend(files);
            effect.borrowed = brought.borrowed;
            Ok(Some(effect.change(view, Command::Delete, filter.clone())?.with_summary(summary)))
        }
    }
}

pub(crate) fn overwrite_partitions(view: &View, rows: NewRows) -> Result<Option<SnapshotProducer>> {
    view.check_open_removal()?;
    let brought = Brought::of(view, rows)?;
    if brought.is_empty() {
        return Ok(None);
    }
    let change = view.change(Operation::Overwrite);
    let change = if view.table.partition_spec().is_unpartitioned() {
        change.remove_where(&Predicate::True)
    } else {
        let files = brought.own.files().iter().chain(&brought.borrowed);
        let partitions: Vec<Arc<Partition>> = files.map(|f| f.partition.clone()).collect();
        change.remove_partitions(&partitions)
    };
    let summary = [(REPLACE_PARTITIONS.to_owned(), "true".to_owned()), brought.counted()];
    Ok(Some(brought.add_to(change.with_summary(summary))))
}
