//! Where tables are found, and which versions their folders keep.
//!
//! - `warehouse`: a folder of databases and their tables
//! - `filesystem`: finds the schemas, snapshots, tags and branches of a table
//! - `metadata`: the schemas of an opened table, and the snapshot that is read
//! - `new_schema`: checks the schema of a new table
//! - `alter`: changes a table's schema
//! - `field_ids`: gives ids to new columns and schemas
//! - `named_columns`: updates options that name columns
//! - `refs`: creates and drops tags and branches
//! - `tag_times`: says how long tags are kept
//! - `changelogs`: changelogs that outlast their snapshots
//! - `reachable`: finds the files that snapshots and changelogs need
//! - `expiry_roots`: finds other users of the files of snapshots
//! - `expiring`: lists the snapshots that an expiry has begun to remove

pub mod alter;
pub mod changelogs;
mod expiring;
pub(crate) mod expiry_roots;
pub(in crate::paimon) mod field_ids;
pub mod filesystem;
pub mod metadata;
mod named_columns;
pub mod new_schema;
pub(crate) mod reachable;
pub mod refs;
pub mod tag_times;
pub mod warehouse;
