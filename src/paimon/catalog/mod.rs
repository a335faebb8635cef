//! Where tables are found.

pub mod filesystem;
