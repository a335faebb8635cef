//! Actions of maintenance, and their options. Filters are texts of the filter language.

use std::collections::BTreeMap;
use std::fmt::Display;

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::expr::{self, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::deletion::OutsideLocations;
use crate::format::{maintenance as format, maintenance_parts};

/// An action of maintenance; `frazil.maintain` makes them.
#[pyclass(name = "Maintenance", frozen, module = "frazil._core")]
pub(in crate::py) enum PyMaintenance {
    /// Removes old snapshots, and the files that only they led to.
    ExpireSnapshots {
        older_than_ms: Option<i64>,
        retain_last: Option<i64>,
        snapshot_ids: Vec<i64>,
        dry_run: bool,
        keep_files: bool,
        outside_locations: Vec<String>,
    },
    /// Deletes files that no version of the table leads to.
    RemoveOrphanFiles { options: PyOrphanOptions },
    /// Rewrites manifests, sorted by partition.
    RewriteManifests {
        spec_id: Option<i64>,
        target_size_bytes: Option<i64>,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Rewrites data files by sizes and an order.
    Compact {
        order: PyFileOrder,
        filter: Option<String>,
        rules: PyRewriteRules,
        max_commits: Option<i64>,
        max_failed_commits: Option<i64>,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Rewrites data files by the table's own options.
    CompactBuckets {
        filter: Option<String>,
        minor: bool,
        options: BTreeMap<String, String>,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Rewrites position delete files.
    RewritePositionDeletes {
        filter: Option<String>,
        rules: PyRewriteRules,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Removes delete files that delete no row.
    RemoveDanglingDeletes { dry_run: bool, branch: Option<String>, snapshot_properties: BTreeMap<String, String> },
    /// Converts equality deletes to deletes by position.
    ConvertEqualityDeletes { dry_run: bool, branch: Option<String>, snapshot_properties: BTreeMap<String, String> },
    /// Estimates the number of distinct values of columns.
    ComputeStatistics { columns: Option<Vec<String>>, snapshot_id: Option<i64> },
    /// Counts the files and rows of each partition.
    ComputePartitionStatistics { snapshot_id: Option<i64> },
    /// Sets the snapshot that a consumer reads next, or removes the consumer.
    ResetConsumer { consumer: String, next_snapshot: Option<i64> },
    /// Marks partitions as complete.
    MarkPartitionsDone { partitions: Vec<BTreeMap<String, String>> },
    /// Makes a snapshot the earliest one of the table for readers.
    SetEarliestSnapshot { snapshot_id: i64 },
    /// Writes the indexes of existing data files again.
    RewriteFileIndexes { filter: Option<String>, branch: Option<String>, snapshot_properties: BTreeMap<String, String> },
    /// Gives rows other ids.
    ReassignRowIds { filter: Option<String>, branch: Option<String>, snapshot_properties: BTreeMap<String, String> },
    /// Takes global indexes out of the table.
    DropGlobalIndex {
        columns: Vec<String>,
        index_type: String,
        filter: Option<String>,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Writes rows again without deleted ones.
    MaterializeDeletionVectors {
        filter: Option<String>,
        options: BTreeMap<String, String>,
        dry_run: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    },
    /// Removes everything but the table itself.
    Purge {},
    /// Records that the rows of files of other formats were loaded.
    RecordLoads { loads: Vec<PyLoadedFile> },
}

/// Which orphan files to remove: the dictionary `frazil.requests.maintenance.OrphanOptions`.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(in crate::py) struct PyOrphanOptions {
    older_than_ms: Option<i64>,
    location: Option<String>,
    dry_run: bool,
    prefix_mismatch: String,
    equal_schemes: BTreeMap<String, String>,
    equal_authorities: BTreeMap<String, String>,
    outside_locations: Vec<String>,
}

/// A file whose rows were loaded: the dictionary `frazil.requests.maintenance.LoadedFile`.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(in crate::py) struct PyLoadedFile {
    path_hash: String,
    path: String,
    size_bytes: i64,
    modified_ms: i64,
    loaded_at_ms: i64,
    snapshot_id: i64,
    rows: i64,
}

impl PyLoadedFile {
    fn read(&self) -> format::LoadedFile {
        format::LoadedFile {
            path_hash: self.path_hash.clone(),
            path: self.path.clone(),
            size_bytes: self.size_bytes,
            modified_ms: self.modified_ms,
            loaded_at_ms: self.loaded_at_ms,
            snapshot_id: self.snapshot_id,
            rows: self.rows,
        }
    }
}

/// Which files are rewritten, and the sizes of new ones.
#[pyclass(name = "RewriteRules", frozen, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) struct PyRewriteRules {
    target_file_size_bytes: Option<i64>,
    min_file_size_bytes: Option<i64>,
    max_file_size_bytes: Option<i64>,
    min_input_files: Option<i64>,
    delete_file_threshold: Option<i64>,
    delete_ratio_threshold: Option<f64>,
    rewrite_all: bool,
    max_group_size_bytes: Option<i64>,
}

/// The order of rows in rewritten files: the dictionary `frazil.requests.maintenance.FileOrder`.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(in crate::py) struct PyFileOrder {
    strategy: String,
    sort_by: Option<Vec<String>>,
    zorder_by: Option<Vec<String>>,
    zorder_max_output_size: Option<i64>,
    zorder_var_length_contribution: Option<i64>,
}

/// The writer of a part of an action.
#[pyclass(name = "PartWriter", frozen, from_py_object, module = "frazil._core")]
#[derive(Clone)]
pub(in crate::py) struct PyPartWriter {
    job: String,
    part: u64,
    attempt: u64,
}

#[pymethods]
impl PyRewriteRules {
    /// A number that is not given has the default of [`format::CompactRules`].
    #[new]
    #[pyo3(signature = (
        *,
        target_file_size_bytes = None,
        min_file_size_bytes = None,
        max_file_size_bytes = None,
        min_input_files = None,
        delete_file_threshold = None,
        delete_ratio_threshold = None,
        rewrite_all = false,
        max_group_size_bytes = None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        target_file_size_bytes: Option<i64>,
        min_file_size_bytes: Option<i64>,
        max_file_size_bytes: Option<i64>,
        min_input_files: Option<i64>,
        delete_file_threshold: Option<i64>,
        delete_ratio_threshold: Option<f64>,
        rewrite_all: bool,
        max_group_size_bytes: Option<i64>,
    ) -> PyRewriteRules {
        PyRewriteRules {
            target_file_size_bytes,
            min_file_size_bytes,
            max_file_size_bytes,
            min_input_files,
            delete_file_threshold,
            delete_ratio_threshold,
            rewrite_all,
            max_group_size_bytes,
        }
    }
}

#[pymethods]
impl PyPartWriter {
    #[new]
    fn new(job: String, part: u64, attempt: u64) -> PyPartWriter {
        PyPartWriter { job, part, attempt }
    }
}

impl PyMaintenance {
    /// The action as the crate takes it.
    ///
    /// # Errors
    /// `InvalidInput` if a filter, an order or a number can't be read.
    pub(in crate::py) fn read(&self) -> Result<format::Maintenance> {
        use format::Maintenance as M;
        Ok(match self {
            PyMaintenance::ExpireSnapshots {
                older_than_ms,
                retain_last,
                snapshot_ids,
                dry_run,
                keep_files,
                outside_locations,
            } => M::ExpireSnapshots(format::ExpireOptions {
                expiry: format::Expiry {
                    older_than_ms: *older_than_ms,
                    retain_last: *retain_last,
                    snapshot_ids: snapshot_ids.clone(),
                },
                dry_run: *dry_run,
                keep_files: *keep_files,
                outside: OutsideLocations::new(outside_locations.clone())?,
            }),
            PyMaintenance::RemoveOrphanFiles { options } => M::RemoveOrphanFiles(options.read()?),
            PyMaintenance::RewriteManifests { spec_id, target_size_bytes, dry_run, branch, snapshot_properties } => {
                M::RewriteManifests(format::ManifestOptions {
                    spec_id: number("spec_id", *spec_id)?,
                    target_bytes: *target_size_bytes,
                    dry_run: *dry_run,
                    commit: commit(branch, snapshot_properties),
                })
            }
            PyMaintenance::ComputeStatistics { columns, snapshot_id } => {
                M::ComputeStatistics(format::StatisticsOptions { columns: columns.clone(), snapshot_id: *snapshot_id })
            }
            PyMaintenance::ComputePartitionStatistics { snapshot_id } => M::ComputePartitionStatistics(*snapshot_id),
            PyMaintenance::CompactBuckets { filter: kept, minor, options, dry_run, branch, snapshot_properties } => {
                M::CompactBuckets(format::BucketCompaction {
                    filter: filter(kept)?,
                    minor: *minor,
                    options: options.clone(),
                    dry_run: *dry_run,
                    commit: commit(branch, snapshot_properties),
                })
            }
            PyMaintenance::Compact { .. } => M::Compact(self.read_compaction()?),
            PyMaintenance::RewritePositionDeletes { .. } => M::RewritePositionDeletes(self.read_deletes()?),
            PyMaintenance::RemoveDanglingDeletes { .. } => M::RemoveDanglingDeletes(self.read_deletes()?),
            PyMaintenance::ConvertEqualityDeletes { .. } => M::ConvertEqualityDeletes(self.read_deletes()?),
            other => other.read_more()?,
        })
    }

    /// One of the actions that only some formats have.
    fn read_more(&self) -> Result<format::Maintenance> {
        use format::Maintenance as M;
        Ok(match self {
            PyMaintenance::RewriteFileIndexes { filter: kept, branch, snapshot_properties } => {
                M::RewriteFileIndexes(format::FileIndexOptions {
                    filter: filter(kept)?,
                    commit: commit(branch, snapshot_properties),
                })
            }
            PyMaintenance::ResetConsumer { consumer, next_snapshot } => {
                M::ResetConsumer(format::ConsumerReset { consumer: consumer.clone(), next_snapshot: *next_snapshot })
            }
            PyMaintenance::MarkPartitionsDone { partitions } => M::MarkPartitionsDone(partitions.clone()),
            PyMaintenance::SetEarliestSnapshot { snapshot_id } => M::SetEarliestSnapshot(*snapshot_id),
            PyMaintenance::ReassignRowIds { filter: kept, branch, snapshot_properties } => {
                M::ReassignRowIds(format::OfPartitions {
                    filter: filter(kept)?,
                    commit: commit(branch, snapshot_properties),
                })
            }
            PyMaintenance::DropGlobalIndex {
                columns,
                index_type,
                filter: kept,
                dry_run,
                branch,
                snapshot_properties,
            } => M::DropGlobalIndex(format::GlobalIndexDrop {
                columns: columns.clone(),
                index_type: index_type.clone(),
                filter: filter(kept)?,
                dry_run: *dry_run,
                commit: commit(branch, snapshot_properties),
            }),
            PyMaintenance::MaterializeDeletionVectors {
                filter: kept,
                options,
                dry_run,
                branch,
                snapshot_properties,
            } => M::MaterializeDeletionVectors(format::Materialization {
                filter: filter(kept)?,
                options: options.clone(),
                dry_run: *dry_run,
                commit: commit(branch, snapshot_properties),
            }),
            PyMaintenance::Purge {} => M::Purge,
            PyMaintenance::RecordLoads { loads } => M::RecordLoads(loads.iter().map(PyLoadedFile::read).collect()),
            _ => return Err(Error::internal("an action is not read")),
        })
    }

    /// The options of a compaction by sizes and an order.
    ///
    /// # Errors
    /// `InvalidInput` for another action; as [`Maintenance::read`].
    pub(in crate::py) fn read_compaction(&self) -> Result<format::CompactOptions> {
        let PyMaintenance::Compact {
            order,
            filter: kept,
            rules,
            max_commits,
            max_failed_commits,
            dry_run,
            branch,
            snapshot_properties,
        } = self
        else {
            return Err(Error::invalid("only a compaction has the options of a compaction"));
        };
        Ok(format::CompactOptions {
            order: order.read()?,
            filter: filter(kept)?,
            rules: rules.read()?,
            max_commits: number("max_commits", *max_commits)?,
            max_failed_commits: number("max_failed_commits", *max_failed_commits)?,
            dry_run: *dry_run,
            commit: commit(branch, snapshot_properties),
        })
    }

    /// The options of an action on delete files.
    ///
    /// # Errors
    /// `InvalidInput` for another action; as [`Maintenance::read`].
    pub(in crate::py) fn read_deletes(&self) -> Result<format::DeleteOptions> {
        let (kept, rules, dry_run, branch, snapshot_properties) = match self {
            PyMaintenance::RewritePositionDeletes { filter, rules, dry_run, branch, snapshot_properties } => {
                (filter, rules.read()?, dry_run, branch, snapshot_properties)
            }
            PyMaintenance::RemoveDanglingDeletes { dry_run, branch, snapshot_properties }
            | PyMaintenance::ConvertEqualityDeletes { dry_run, branch, snapshot_properties } => {
                (&None, format::CompactRules::default(), dry_run, branch, snapshot_properties)
            }
            _ => return Err(Error::invalid("only actions on delete files have their options")),
        };
        Ok(format::DeleteOptions {
            filter: filter(kept)?,
            rules,
            dry_run: *dry_run,
            commit: commit(branch, snapshot_properties),
        })
    }
}

impl PyOrphanOptions {
    /// The options as the crate takes them.
    ///
    /// # Errors
    /// `InvalidInput` if `prefix_mismatch` can't be read.
    pub(in crate::py) fn read(&self) -> Result<format::OrphanOptions> {
        let prefix_mismatch = match self.prefix_mismatch.as_str() {
            "error" => format::PrefixMismatch::Error,
            "ignore" => format::PrefixMismatch::Ignore,
            "delete" => format::PrefixMismatch::Delete,
            other => return Err(unusable("prefix_mismatch", format!("{other:?}")).hint("Use error, ignore or delete")),
        };
        Ok(format::OrphanOptions {
            older_than_ms: self.older_than_ms,
            location: self.location.clone(),
            dry_run: self.dry_run,
            prefix_mismatch,
            equal_schemes: self.equal_schemes.clone(),
            equal_authorities: self.equal_authorities.clone(),
            outside: OutsideLocations::new(self.outside_locations.clone())?,
        })
    }
}

impl PyRewriteRules {
    fn read(&self) -> Result<format::CompactRules> {
        let default = format::CompactRules::default();
        Ok(format::CompactRules {
            target_bytes: number("target_file_size_bytes", self.target_file_size_bytes)?,
            min_bytes: number("min_file_size_bytes", self.min_file_size_bytes)?,
            max_bytes: number("max_file_size_bytes", self.max_file_size_bytes)?,
            min_input_files: number("min_input_files", self.min_input_files)?.unwrap_or(default.min_input_files),
            delete_file_threshold: number("delete_file_threshold", self.delete_file_threshold)?,
            delete_ratio_threshold: self.delete_ratio_threshold.unwrap_or(default.delete_ratio_threshold),
            rewrite_all: self.rewrite_all,
            max_group_bytes: number("max_group_size_bytes", self.max_group_size_bytes)?
                .unwrap_or(default.max_group_bytes),
        })
    }
}

impl PyFileOrder {
    /// The order as the crate takes it.
    ///
    /// # Errors
    /// `InvalidInput` for a strategy that does not exist, or columns of another strategy.
    pub(in crate::py) fn read(&self) -> Result<format::FileOrder> {
        let max_output_bytes = number("zorder_max_output_size", self.zorder_max_output_size)?;
        let text_bytes = number("zorder_var_length_contribution", self.zorder_var_length_contribution)?;
        let order = match self.strategy.as_str() {
            "binpack" => format::FileOrder::AsRead,
            "sort" => format::FileOrder::Sort(self.sort_by.clone().unwrap_or_default()),
            "zorder" => format::FileOrder::ZOrder {
                by: self.zorder_by.clone().unwrap_or_default(),
                max_output_bytes,
                text_bytes,
            },
            other => {
                return Err(
                    Error::invalid(format!("there is no strategy '{other}'")).hint("Use binpack, sort or zorder")
                );
            }
        };
        let stray = |what: &str| {
            Err(Error::invalid(format!("{what} is of another strategy"))
                .with("strategy", &self.strategy)
                .hint("sort_by belongs to strategy='sort', zorder_by to strategy='zorder'"))
        };
        match &order {
            format::FileOrder::Sort(_) if self.zorder_by.is_some() => stray("zorder_by"),
            format::FileOrder::ZOrder { .. } if self.sort_by.is_some() => stray("sort_by"),
            format::FileOrder::AsRead if self.zorder_by.is_some() || self.sort_by.is_some() => {
                stray("sort_by or zorder_by")
            }
            _ => Ok(order),
        }
    }
}

impl PyPartWriter {
    /// The writer as the crate takes it.
    pub(in crate::py) fn read(&self) -> maintenance_parts::PartWriter {
        maintenance_parts::PartWriter { job: self.job.clone(), part: self.part, attempt: self.attempt }
    }
}

fn filter(text: &Option<String>) -> Result<Option<Predicate>> {
    text.as_deref().map(expr::parse).transpose()
}

fn commit(branch: &Option<String>, snapshot_properties: &BTreeMap<String, String>) -> CommitOptions {
    CommitOptions { branch: branch.clone(), snapshot_properties: snapshot_properties.clone() }
}

/// A number of the type that the crate takes.
fn number<T: TryFrom<i64>>(argument: &str, value: Option<i64>) -> Result<Option<T>> {
    value.map(|value| T::try_from(value).map_err(|_| unusable(argument, value))).transpose()
}

fn unusable(argument: &str, value: impl Display) -> Error {
    Error::invalid(format!("the argument {argument} can't be {value}"))
}
