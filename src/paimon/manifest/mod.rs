//! Manifest lists, manifests and index manifests: decoding and encoding. [`live`] finds the live files of a snapshot.
//!
//! - `columns`: decoding manifests: entries that add or delete a file, into columns
//! - `encode`: writing manifests, manifest lists and index manifests, field by field as Java does
//! - `entries`: manifest entries as columns: the result of decoding, and the input of pruning
//! - `file_entry`: single entries of manifests with everything that they record
//! - `folder`: reads a table's manifests, manifest lists and index manifests, from a cache if there is one
//! - `hash_index`: hash indexes: index files with the hashes of the keys of a bucket, in tables with dynamic
//!   buckets
//! - `index_manifest`: index manifests: all index files of a snapshot, including those of its deletion
//!   vectors
//! - `list`: manifest lists: one entry for each manifest, with the ranges by which planning skips it

pub mod columns;
pub mod encode;
pub mod entries;
pub mod file_entry;
pub mod folder;
pub mod hash_index;
pub mod index_manifest;
pub mod list;
pub mod live;
