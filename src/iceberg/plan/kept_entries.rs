//! Entries that survived planning, before any delete file is matched with them.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::Partition;
use crate::iceberg::manifest::entries::EntryColumns;

/// A partition tuple and what the filter still asks of its files.
#[derive(Clone, Debug)]
pub struct PartitionGroup {
    /// The tuple.
    pub partition: Arc<Partition>,
    /// The filter with the clauses decided that the tuple decides.
    pub residual: Arc<BoundPredicate>,
}

/// Decoded entries of one stretch of a manifest, with those that survived.
#[derive(Debug, Default)]
pub struct KeptEntries {
    /// All entries decoded; from the plan cache, the survivors alone.
    pub columns: EntryColumns,
    /// The survivors, ascending.
    pub rows: Vec<u32>,
    /// By [`EntryColumns::partition`]; `None` where the tuple was pruned.
    pub groups: Vec<Option<PartitionGroup>>,
}

impl KeptEntries {
    /// The group of a row that survived.
    pub fn group(&self, row: usize) -> Result<&PartitionGroup> {
        let index = self.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
        (self.groups.get(index).and_then(Option::as_ref))
            .ok_or_else(|| Error::internal("a kept entry has no partition"))
    }
}
