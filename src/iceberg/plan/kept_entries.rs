//! Entries that planning kept, before delete files are matched with them.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::Partition;
use crate::iceberg::manifest::entries::EntryColumns;

/// A partition tuple and the residual filter for its files.
#[derive(Clone, Debug)]
pub struct PartitionGroup {
    /// The tuple.
    pub partition: Arc<Partition>,
    /// The filter without the clauses that the tuple decides.
    pub residual: Arc<BoundPredicate>,
}

/// Decoded entries of one section of a manifest, and the kept ones among them.
#[derive(Debug, Default)]
pub struct KeptEntries {
    /// All decoded entries. From the plan cache, only the kept ones.
    pub columns: EntryColumns,
    /// The rows of the kept entries, ascending.
    pub rows: Vec<u32>,
    /// By [`EntryColumns::partition`]; `None` if the tuple was pruned.
    pub groups: Vec<Option<PartitionGroup>>,
}

impl KeptEntries {
    /// The group of a kept row.
    ///
    /// # Errors
    /// `Internal` for a row that was not kept.
    pub fn group(&self, row: usize) -> Result<&PartitionGroup> {
        self.group_of_any(row).ok_or_else(|| Error::internal("a kept entry has no partition"))
    }

    /// The size of a kept entry's file.
    pub(crate) fn size_bytes(&self, k: usize) -> u64 {
        let size = self.rows.get(k).and_then(|row| self.columns.size_bytes.get(*row as usize));
        size.map_or(0, |bytes| bytes.max(&0).unsigned_abs())
    }

    /// The group of a row. `None` if no row of its partition can match.
    pub fn group_of_any(&self, row: usize) -> Option<&PartitionGroup> {
        let index = self.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
        self.groups.get(index).and_then(Option::as_ref)
    }
}
