//! Catalogs: they find tables by name and publish commits.

pub mod filesystem;
pub mod interface;
pub mod kinds;
pub mod memory;
pub mod metadata_files;
pub mod metadata_pointer;
mod reachable;
pub mod register;
pub mod registered;
pub mod sql;

pub use crate::format::ident::TableIdent;
