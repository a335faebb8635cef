//! The estimated cost of a plan.

/// The cost of a plan before any manifest is opened. Bytes and manifests are exact if the manifest list is correct,
/// except for a changelog. Files, rows and delete files are upper bounds. They are `None` if an old writer's list has
/// no counts. Memory is approximate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Bytes of manifests that planning reads.
    pub bytes: u64,
    /// Data manifests that planning opens.
    pub data_manifests: u64,
    /// Delete manifests that planning opens.
    pub delete_manifests: u64,
    /// Bytes of all manifests of the snapshot.
    pub total_bytes: u64,
    /// Manifests of the snapshot.
    pub total_manifests: u64,
    /// Tasks at most: live data files in the manifests to open.
    pub data_files: Option<u64>,
    /// Rows in those files.
    pub rows: Option<u64>,
    /// Live delete files in the manifests to open.
    pub delete_files: Option<u64>,
    /// Memory of planning when tasks are streamed.
    pub streamed_memory_bytes: Option<u64>,
    /// Memory of all tasks as one table.
    pub table_memory_bytes: Option<u64>,
    /// How many of the manifests to open the plan cache has; `None` without one.
    pub cached_manifests: Option<u64>,
    /// Why the plan cache can't be used, if it can't.
    pub cache_trouble: Option<String>,
    /// Whether the bytes and manifests to open are upper bounds too.
    pub at_most: bool,
}
