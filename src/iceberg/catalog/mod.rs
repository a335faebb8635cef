//! Catalogs: where tables are found by name, and where commits become visible.

pub mod filesystem;
pub mod ident;
pub mod metadata_files;

pub use ident::TableIdent;
