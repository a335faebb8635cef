//! Where tables are found, and which versions their folders keep.

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
