//! The abilities of a table or a scan, by name. The answers come from the accessors of the seam and from
//! [`Behaviour`], so they can't differ from the verbs.
//!
//! [`Behaviour`]: crate::format::table_format::Behaviour

use super::scan::Scan;
use super::table::Table;
use crate::error::{Error, Result};

/// Something that tables of some formats can do. The source of each answer explains the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCapability {
    /// See `Behaviour::compaction_by_arguments`.
    CompactionByArguments,
    /// Other processes compact, rewrite deletes and find orphan files.
    MaintenanceByExecutors,
    /// Other processes find and change rows.
    RowChangesByExecutors,
    /// See `Behaviour::branch_writes_by_executors`.
    BranchWritesByExecutors,
    /// See `Behaviour::independent_writers`.
    IndependentWriters,
    /// See `Behaviour::distribution_modes`.
    DistributionModes,
    /// An engine's own Parquet writer can write data files.
    NativeWrites,
    /// See `Behaviour::plan_cache`.
    PlanCache,
    /// See `Behaviour::snapshot_parents`.
    SnapshotParents,
    /// See `Behaviour::streams_of_appends`.
    StreamsOfAppends,
    /// See `Behaviour::row_count_statistics`.
    RowCountStatistics,
    /// See `Behaviour::declared_types`.
    DeclaredTypes,
}

impl TableCapability {
    /// Reads a name such as `plan_cache`.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    pub fn parse(name: &str) -> Result<TableCapability> {
        Ok(match name {
            "compaction_by_arguments" => TableCapability::CompactionByArguments,
            "maintenance_by_executors" => TableCapability::MaintenanceByExecutors,
            "row_changes_by_executors" => TableCapability::RowChangesByExecutors,
            "branch_writes_by_executors" => TableCapability::BranchWritesByExecutors,
            "independent_writers" => TableCapability::IndependentWriters,
            "distribution_modes" => TableCapability::DistributionModes,
            "native_writes" => TableCapability::NativeWrites,
            "plan_cache" => TableCapability::PlanCache,
            "snapshot_parents" => TableCapability::SnapshotParents,
            "streams_of_appends" => TableCapability::StreamsOfAppends,
            "row_count_statistics" => TableCapability::RowCountStatistics,
            "declared_types" => TableCapability::DeclaredTypes,
            _ => return Err(Error::invalid(format!("tables have no capability '{name}'"))),
        })
    }
}

impl dyn Table {
    /// Whether the table can do something.
    pub fn supports(&self, capability: TableCapability) -> bool {
        let behaviour = &self.format().behaviour;
        match capability {
            TableCapability::CompactionByArguments => behaviour.compaction_by_arguments,
            TableCapability::MaintenanceByExecutors => self.maintenance_in_parts().is_some(),
            TableCapability::RowChangesByExecutors => self.changes_in_parts().is_some(),
            TableCapability::BranchWritesByExecutors => behaviour.branch_writes_by_executors,
            TableCapability::IndependentWriters => behaviour.independent_writers,
            TableCapability::DistributionModes => behaviour.distribution_modes,
            TableCapability::NativeWrites => self.foreign_files().is_some(),
            TableCapability::PlanCache => behaviour.plan_cache,
            TableCapability::SnapshotParents => behaviour.snapshot_parents,
            TableCapability::StreamsOfAppends => behaviour.streams_of_appends,
            TableCapability::RowCountStatistics => behaviour.row_count_statistics,
            TableCapability::DeclaredTypes => behaviour.declared_types,
        }
    }
}

/// Something that scans of some formats can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanCapability {
    /// An engine's own Parquet reader can read data files.
    NativeReads,
    /// Other processes can plan parts of a plan.
    PlanningByExecutors,
}

impl ScanCapability {
    /// Reads a name such as `native_reads`.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    pub fn parse(name: &str) -> Result<ScanCapability> {
        Ok(match name {
            "native_reads" => ScanCapability::NativeReads,
            "planning_by_executors" => ScanCapability::PlanningByExecutors,
            _ => return Err(Error::invalid(format!("scans have no capability '{name}'"))),
        })
    }
}

impl dyn Scan {
    /// Whether the scan can do something.
    pub fn supports(&self, capability: ScanCapability) -> bool {
        match capability {
            ScanCapability::NativeReads => self.native_reads().is_some(),
            ScanCapability::PlanningByExecutors => self.parted_plans().is_some(),
        }
    }
}
