//! Where tables are found.

pub mod alter;
pub mod changelogs;
mod expiring;
pub mod filesystem;
mod named_columns;
pub mod new_schema;
pub mod refs;
pub mod warehouse;
