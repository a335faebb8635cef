//! Planning: from a snapshot and a filter to the files that can match.
//!
//! - `changes`: the changes between two snapshots: appended files, and the changelog of rows
//! - `deletes`: matches delete files with the data files that they apply to
//! - `equality_keys`: decides whether an equality delete file can delete any row of a data file, by the
//!   metrics of one key column
//! - `estimate`: estimates the cost of planning from the manifest list alone
//! - `file_bounds`: bounds of a file's rows, from the column metrics of its manifest entry
//! - `input`: the input of planning: the table, its version, the filter, and the entries to plan
//! - `judge`: decodes a section of a manifest and applies the filter to its entries
//! - `kept_entries`: entries that planning kept, before delete files are matched with them
//! - `manifest_groups`: the manifests that a plan would open, in groups for planners that work separately
//! - `named_bounds`: bounds of the metadata columns `_spec_id` and `_partition`
//! - `partition_bounds`: bounds of columns, derived from partition values: a file's tuple (`PartitionBounds`)
//!   or a manifest's summaries (`SummaryBounds`)
//! - `path_index`: position deletes by the data file that they name
//! - `plan_cache`: the cache of decoded manifests, and plans from it
//! - `planned`: the result of planning one section of a manifest: the decoded entries, the kept ones among
//!   them, and the counters
//! - `planner`: planning: manifest list → manifests → kept entries, column by column
//! - `screen`: A fast check of single columns' metrics, before the general evaluator checks a file
//! - `served`: plans that a catalog's server makes
//! - `specs`: the partition specs of a table in a scan
//! - `testing`: for tests: a table in memory whose manifests are written as a writer would, and its plan
//! - `why`: explains why planning kept or dropped each file of a snapshot: the stage, the clause and the
//!   bound

#[cfg(test)]
pub(crate) mod attach_tests;
pub mod changes;
pub mod deletes;
pub(crate) mod equality_keys;
pub mod estimate;
pub mod file_bounds;
pub mod input;
pub(crate) mod judge;
pub mod kept_entries;
pub mod manifest_groups;
pub(crate) mod named_bounds;
pub mod partition_bounds;
pub(crate) mod path_index;
pub mod plan_cache;
pub(crate) mod planned;
pub mod planner;
pub(crate) mod screen;
pub mod served;
pub(crate) mod specs;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
pub(crate) mod traps_tests;
pub mod why;
