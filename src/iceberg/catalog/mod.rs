//! Catalogs: where tables are found by name, and where commits become visible.

pub mod filesystem;
pub mod ident;
pub mod metadata_files;
mod reachable;

pub use ident::TableIdent;
