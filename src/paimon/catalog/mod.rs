//! Where tables are found, and which versions their folders keep.
//!
//! [`filesystem`] reads the folder of a table and [`metadata`] what opening it needs. [`warehouse`] is a folder of
//! databases. [`alter`] and [`refs`] change schemas, tags and branches. [`reachable`] finds the files that a snapshot
//! needs.

pub mod alter;
pub mod changelogs;
mod expiring;
pub(crate) mod expiry_roots;
pub mod filesystem;
pub mod metadata;
mod named_columns;
pub mod new_schema;
pub(crate) mod reachable;
pub mod refs;
pub mod tag_times;
pub mod warehouse;
