//! The cache of decoded manifests, and plans from it.

pub mod cache;
pub(crate) mod cached;
pub(crate) mod cached_columns;
