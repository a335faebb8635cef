//! A new metadata file for a table that can't be opened.
//!
//! - `metadata`: the new metadata file, from what is left
//! - `lists`: manifest lists that are left, and what their manifests know of schemas and specs
//! - `older`: an older metadata file that takes in the snapshots that were made after it

mod lists;
mod metadata;
mod older;

pub use metadata::restore;
