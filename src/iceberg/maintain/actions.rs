//! Runs one action of maintenance.

use crate::error::{Error, Result};
use crate::format::maintenance::{Maintained, Maintenance};
use crate::iceberg::state::{ICEBERG, IcebergTable};

impl IcebergTable {
    /// Runs one action. Returns the table at its newest version, and the action's result.
    ///
    /// # Errors
    /// `Unsupported` for compactions by the options of the table; otherwise the errors of the action.
    pub fn maintain(&self, action: &Maintenance) -> Result<(IcebergTable, Maintained)> {
        match action {
            Maintenance::ExpireSnapshots(options) => with(self.expire_snapshots(options)?, Maintained::Expired),
            Maintenance::RemoveOrphanFiles(options) => with(self.remove_orphan_files(options)?, Maintained::Orphans),
            Maintenance::RewriteManifests(options) => with(self.rewrite_manifests(options)?, Maintained::Manifests),
            Maintenance::Compact(options) => with(self.compact(options)?, Maintained::Compacted),
            Maintenance::CompactBuckets(_) => {
                Err(Error::unsupported("tables of Apache Iceberg can't be compacted by the table's options")
                    .with("table", self.location())
                    .hint("Give sizes and an order instead of options"))
            }
            Maintenance::RewritePositionDeletes(options) => {
                with(self.rewrite_position_deletes(options)?, Maintained::Deletes)
            }
            Maintenance::RemoveDanglingDeletes(options) => {
                with(self.remove_dangling_deletes(options)?, Maintained::Deletes)
            }
            Maintenance::ConvertEqualityDeletes(options) => {
                with(self.convert_equality_deletes(options)?, Maintained::Deletes)
            }
            Maintenance::ComputeStatistics(options) => with(self.compute_statistics(options)?, Maintained::Statistics),
            Maintenance::ComputePartitionStatistics(snapshot_id) => {
                with(self.compute_partition_statistics(*snapshot_id)?, Maintained::Statistics)
            }
            Maintenance::ResetConsumer(_)
            | Maintenance::MarkPartitionsDone(_)
            | Maintenance::SetEarliestSnapshot(_)
            | Maintenance::RewriteFileIndexes(_)
            | Maintenance::ReassignRowIds(_)
            | Maintenance::DropGlobalIndex(_)
            | Maintenance::MaterializeDeletionVectors(_)
            | Maintenance::Purge
            | Maintenance::RecordLoads(_) => {
                Err(ICEBERG.lacks(action.name()).with("table", self.location()).hint("Tables of Apache Paimon have it"))
            }
        }
    }
}

fn with<T>(
    (table, done): (IcebergTable, T),
    maintained: impl FnOnce(T) -> Maintained,
) -> Result<(IcebergTable, Maintained)> {
    Ok((table, maintained(done)))
}
