//! Replacing rows by others: those that match a filter, or those of the same partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RowReader;
use super::delete::{Removal, find, rewrite_without};
use super::rewrite::NewFiles;
use super::view::{Command, View};
use crate::error::Result;
use crate::expr::Predicate;
use crate::iceberg::commit::{Operation, SnapshotChange};
use crate::task::Partition;
use crate::workers::GoOn;

/// The member of a summary that tells a dynamic overwrite, as Java sets it.
const REPLACE_PARTITIONS: &str = "replace-partitions";

pub(super) fn overwrite(
    view: &View,
    rows: RowReader,
    filter: &Predicate,
    go_on: GoOn,
) -> Result<Option<SnapshotChange>> {
    let removal = find(view, filter, go_on)?;
    let mut written = NewFiles::new(view);
    written.add(view.table.write(rows, 0)?.files);
    let operation = |written: &NewFiles| if written.is_empty() { Operation::Delete } else { Operation::Overwrite };
    Ok(match removal {
        Removal::Whole(0) if written.is_empty() => None,
        Removal::Whole(_) => {
            let change = view.change(operation(&written)).remove_where(filter);
            Some(change.add_files(written.take()).owning_files())
        }
        Removal::Named(files, hits) if files.is_empty() && hits.is_empty() && written.is_empty() => None,
        Removal::Named(mut files, hits) => {
            written.join(rewrite_without(view, &hits, go_on)?);
            files.extend(hits.iter().map(|h| view.removable(&h.task.data_file)));
            let assumed = view.replacing(view.isolation(Command::Delete)?, filter.clone());
            let change = view.change(operation(&written)).remove_files(files).assuming(assumed);
            Some(change.add_files(written.take()).owning_files())
        }
    })
}

pub(super) fn overwrite_partitions(view: &View, rows: RowReader) -> Result<Option<SnapshotChange>> {
    let mut written = NewFiles::new(view);
    written.add(view.table.write(rows, 0)?.files);
    if written.is_empty() {
        return Ok(None);
    }
    let files = written.take();
    let change = view.change(Operation::Overwrite);
    let change = if view.table.partition_spec().is_unpartitioned() {
        change.remove_where(&Predicate::True)
    } else {
        let by_path: BTreeMap<String, Arc<Partition>> =
            files.iter().map(|f| (f.partition.path(), f.partition.clone())).collect();
        change.remove_partitions(&by_path.into_values().collect::<Vec<_>>())
    };
    let summary = [(REPLACE_PARTITIONS.to_owned(), "true".to_owned())];
    Ok(Some(change.with_summary(summary).add_files(files).owning_files()))
}
