//! Catalogs: where tables are found by name, and where commits become visible.

pub mod filesystem;
pub mod memory;
pub mod metadata_files;
pub mod named;
pub mod names;
mod reachable;
pub mod sql;
pub mod tables;
pub mod versions;

pub use crate::format::ident::TableIdent;
