//! Manifest lists, manifests and index manifests: decoding and encoding. [`live`] finds the live files of a snapshot.

pub mod columns;
pub mod encode;
pub mod entries;
pub mod file_entry;
pub mod folder;
pub mod hash_index;
pub mod index_manifest;
pub mod list;
pub mod live;
