//! Replacing rows by others: those that match a filter, or those of the same partitions.

use std::sync::Arc;

use super::RowReader;
use super::apply::{Effect, Remove, apply};
use super::delete::{Removal, find};
use super::rewrite::NewFiles;
use super::view::{Command, Mode, View};
use crate::error::Result;
use crate::expr::Predicate;
use crate::iceberg::commit::{Operation, REPLACE_PARTITIONS, SnapshotChange};
use crate::task::Partition;
use crate::workers::GoOn;

pub(super) fn overwrite(
    view: &View,
    rows: RowReader,
    filter: &Predicate,
    go_on: GoOn,
) -> Result<Option<SnapshotChange>> {
    let removal = find(view, filter, Mode::CopyOnWrite, go_on)?;
    let mut written = NewFiles::new(view.store());
    written.add(view.table.write(rows, 0)?.files);
    match removal {
        Removal::Whole(0) if written.is_empty() => {
            Effect::none(view).change(view, Command::Delete, filter.clone()).map(Some)
        }
        Removal::Whole(_) => {
            let operation = if written.is_empty() { Operation::Delete } else { Operation::Overwrite };
            let change = view.change(operation).remove_where(filter);
            Ok(Some(change.add_files(written.take()).owning_files()))
        }
        Removal::Named(files, hits) => {
            let mut effect = apply(view, Mode::CopyOnWrite, hits, &Remove, go_on)?;
            effect.added.join(written);
            effect.removed.extend(files);
            effect.change(view, Command::Delete, filter.clone()).map(Some)
        }
    }
}

pub(super) fn overwrite_partitions(view: &View, rows: RowReader) -> Result<Option<SnapshotChange>> {
    let mut written = NewFiles::new(view.store());
    written.add(view.table.write(rows, 0)?.files);
    if written.is_empty() {
        return Ok(None);
    }
    let files = written.take();
    let change = view.change(Operation::Overwrite);
    let change = if view.table.partition_spec().is_unpartitioned() {
        change.remove_where(&Predicate::True)
    } else {
        let partitions: Vec<Arc<Partition>> = files.iter().map(|f| f.partition.clone()).collect();
        change.remove_partitions(&partitions)
    };
    let summary = [(REPLACE_PARTITIONS.to_owned(), "true".to_owned())];
    Ok(Some(change.with_summary(summary).add_files(files).owning_files()))
}
