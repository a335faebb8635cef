//! The facts of entries that are compared with each other.

use std::collections::HashMap;

use crate::codec::xxhash::xxh64;
use crate::format::diagnosis::file_order::FileBounds;
use crate::format::task::{DataFile, FileContent, Partition};
use crate::iceberg::manifest::entries::{DELETED, EntryColumns};
use crate::iceberg::plan::deletes::partition_key;
use crate::store::location::normalised;
use crate::types::{FieldId, PrimitiveType};

/// The sums over the entries of one manifest.
#[derive(Clone, Debug, Default)]
pub(super) struct ManifestTotals {
    /// Entries and rows by status: existing, added, deleted.
    pub entries: [(i64, i64); 3],
    /// Live data files, their rows and bytes.
    pub data: (i64, i64, i64),
    /// Live delete files and their bytes.
    pub deletes: (i64, i64),
    /// Deleted rows: by position, and by equality.
    pub deleted_rows: (i64, i64),
    /// The lowest data sequence number of live entries.
    pub min_sequence: Option<i64>,
}

impl ManifestTotals {
    /// Counts an entry.
    pub(super) fn count(&mut self, c: &EntryColumns, row: usize) {
        let (status, rows, bytes) = (c.status[row], c.record_count[row], c.size_bytes[row]);
        if let Some((entries, sum)) = self.entries.get_mut(usize::from(status)) {
            *entries += 1;
            *sum = sum.saturating_add(rows);
        }
        if status == DELETED {
            return;
        }
        let sequence = c.sequence_number[row];
        self.min_sequence = [self.min_sequence, sequence].into_iter().flatten().min();
        let own_bytes = c.content_size_bytes[row].unwrap_or(bytes);
        let (data, deletes, deleted) = (&mut self.data, &mut self.deletes, &mut self.deleted_rows);
        match c.content[row] {
            FileContent::Data => {
                *data = (data.0 + 1, data.1.saturating_add(rows), data.2.saturating_add(bytes));
                return;
            }
            FileContent::PositionDeletes => deleted.0 = deleted.0.saturating_add(rows),
            FileContent::EqualityDeletes => deleted.1 = deleted.1.saturating_add(rows),
        }
        *deletes = (deletes.0 + 1, deletes.1.saturating_add(own_bytes));
    }
}

/// A column with metrics that are compared.
#[derive(Debug)]
pub(super) struct CheckedColumn {
    pub id: FieldId,
    pub ty: PrimitiveType,
    /// Whether it is inside a list or map, so that it may have more values than there are rows.
    pub is_repeated: bool,
    /// Whether the table is sorted, partitioned or identified by it.
    pub is_important: bool,
    /// Whether the overlap of its bounds is measured.
    pub orders: bool,
}

/// A file to check.
#[derive(Debug)]
pub(super) struct FileToCheck {
    /// Its path, as recorded.
    pub path: String,
    /// Its recorded length.
    pub bytes: i64,
    /// Whether no other vector of the same file is checked before.
    pub is_first_of_file: bool,
    /// The file with its metrics, if its footer is wanted.
    pub file: Option<Box<DataFile>>,
}

/// A live data file in a manifest.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveData {
    /// The hash of its path.
    pub key: u64,
    /// The place of its manifest.
    pub manifest: u32,
    /// Its data sequence number.
    pub sequence: i64,
    /// Its rows.
    pub rows: i64,
    /// Its bytes.
    pub bytes: i64,
    /// The hash of its partition.
    pub partition: u64,
    /// The id of its first row; negative if it has none.
    pub first_row: i64,
}

/// A live delete file in a manifest.
#[derive(Clone, Debug)]
pub(super) struct LiveDelete {
    /// The hash of its path and its place in the file.
    pub key: u64,
    /// The place of its manifest.
    pub manifest: u32,
    /// Its data sequence number.
    pub sequence: i64,
    /// The rows that it deletes, or its keys.
    pub rows: i64,
    /// Its bytes.
    pub bytes: i64,
    /// The hash of its partition.
    pub partition: u64,
    /// Whether its spec has no partition fields.
    pub is_global: bool,
    /// The hash of the path of the only data file that it names.
    pub names: Option<u64>,
    /// Its content.
    pub content: FileContent,
    /// Whether it is a deletion vector.
    pub is_vector: bool,
    /// Its path.
    pub path: Box<str>,
}

/// The facts of entries that are compared with each other.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Live data files.
    pub data: Vec<LiveData>,
    /// Live delete files.
    pub deletes: Vec<LiveDelete>,
    /// Files with and without bounds, by column and manifest.
    pub bounded: HashMap<(FieldId, u32), (u64, u64)>,
    /// Bounds of the columns that may order files.
    pub order: HashMap<FieldId, FileBounds>,
    /// A live file outside of the table's folder, and how many there are.
    pub elsewhere: (u64, Option<String>),
}

/// The facts of all entries.
#[derive(Debug, Default)]
pub(super) struct SeenEntries {
    /// The facts of live entries.
    pub kept: Kept,
    /// Sums by the places of manifests.
    pub totals: HashMap<u32, ManifestTotals>,
}

impl SeenEntries {
    /// Adds the facts of a batch.
    pub(super) fn keep(&mut self, more: Kept) {
        self.kept.data.extend(more.data);
        self.kept.deletes.extend(more.deletes);
        for (key, (with, without)) in more.bounded {
            let sums = self.kept.bounded.entry(key).or_default();
            *sums = (sums.0 + with, sums.1 + without);
        }
        for (id, bounds) in more.order {
            self.kept.order.entry(id).or_default().extend(bounds);
        }
        self.kept.elsewhere.0 += more.elsewhere.0;
        self.kept.elsewhere.1 = self.kept.elsewhere.1.take().or(more.elsewhere.1);
    }
}

/// The hash of a path in any spelling.
pub(super) fn path_hash(path: &str) -> u64 {
    xxh64(normalised(path).as_bytes(), 0)
}

/// The hash of a partition.
pub(super) fn partition_hash(partition: &Partition) -> u64 {
    xxh64(&partition_key(partition), 0)
}
