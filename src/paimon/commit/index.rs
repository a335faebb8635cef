//! The index files of a new snapshot: those of the snapshot before, with the changes of the commit.
//!
//! Source: Java's `IndexManifestFileHandler`. Stricter than Java: an index file replaces another only if the
//! commit removes that one. So if two writers change the same index, neither loses its changes.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::paimon::manifest::entries::DELETE;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, HASH, IndexEntry};

/// The index files after `changes` to `before`.
///
/// # Errors
/// `CommitConflict` if a file to remove no longer exists, or a file to add would replace an unknown one.
pub(super) fn combined(before: Vec<IndexEntry>, changes: &[IndexEntry], has_buckets: bool) -> Result<Vec<IndexEntry>> {
    let mut out: IndexMap<String, IndexEntry> = before.into_iter().map(|e| (e.file_name.clone(), e)).collect();
    for entry in changes.iter().filter(|e| e.kind == DELETE) {
        if out.shift_remove(&entry.file_name).is_none() {
            return Err(Error::conflict("an index file that the commit replaces no longer exists")
                .with("file", &entry.file_name));
        }
    }
    let mut vectors: HashSet<String> = out.values().flat_map(data_files).map(str::to_owned).collect();
    let mut places: HashMap<(Vec<u8>, i32, String), String> =
        out.values().filter(|e| has_place(e, has_buckets)).map(|e| (place(e), e.file_name.clone())).collect();
    for entry in changes.iter().filter(|e| e.kind != DELETE) {
        let taken = |by: &str| {
            let error = Error::conflict("another commit added an index file that this commit does not know");
            Err(error.with("file", by))
        };
        if out.contains_key(&entry.file_name) {
            return taken(&entry.file_name);
        }
        if has_place(entry, has_buckets)
            && let Some(other) = places.insert(place(entry), entry.file_name.clone())
        {
            return taken(&other);
        }
        for data_file in data_files(entry) {
            if !vectors.insert(data_file.to_owned()) {
                return Err(Error::conflict("the data file has a deletion vector that this commit does not know")
                    .with("file", data_file));
            }
        }
        if let Some(other) = out.values().find(|other| overlap(other, entry)) {
            return taken(&other.file_name);
        }
        out.insert(entry.file_name.clone(), entry.clone());
    }
    Ok(out.into_values().collect())
}

/// The data files that an index file has deletion vectors of.
fn data_files(entry: &IndexEntry) -> impl Iterator<Item = &str> {
    entry.deletion_vectors.iter().flatten().map(|v| v.data_file.as_str())
}

/// Whether each bucket has at most one such file.
fn has_place(entry: &IndexEntry, has_buckets: bool) -> bool {
    entry.index_type == HASH || entry.index_type == DELETION_VECTORS && has_buckets
}

fn place(entry: &IndexEntry) -> (Vec<u8>, i32, String) {
    (entry.partition.clone(), entry.bucket, entry.index_type.clone())
}

/// Whether two files are global indexes of the same column and rows.
fn overlap(a: &IndexEntry, b: &IndexEntry) -> bool {
    let (Some(a), Some(b)) = (&a.global, &b.global) else { return false };
    a.field_id == b.field_id && a.first_row_id <= b.last_row_id && b.first_row_id <= a.last_row_id
}
