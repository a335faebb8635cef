//! Manifest entries as columns: what decoding gives and planning prunes. No object per entry.

use std::ops::Range;
use std::sync::Arc;

pub use crate::codec::columns::{BytesColumn, ListColumn};
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::manifest::layout::Layout;
use crate::types::{FieldId, Value};

/// A count that the manifest does not give.
pub const MISSING: i64 = -1;

/// Metrics of one column over the entries of a batch. Counts are [`MISSING`] where absent or negative in the file.
#[derive(Clone, Debug, Default)]
pub struct MetricColumn {
    /// The column.
    pub field_id: FieldId,
    /// Values, nulls and NaNs included.
    pub value_count: Vec<i64>,
    /// Nulls.
    pub null_count: Vec<i64>,
    /// NaNs.
    pub nan_count: Vec<i64>,
    /// Binary lower bounds.
    pub lower: BytesColumn,
    /// Binary upper bounds.
    pub upper: BytesColumn,
}

/// `status` of an entry.
pub const EXISTING: u8 = 0;
/// `status` of an entry.
pub const ADDED: u8 = 1;
/// `status` of an entry.
pub const DELETED: u8 = 2;

/// What decoding should keep of the entries.
#[derive(Clone, Debug, Default)]
pub struct EntryRequest {
    /// Columns whose metrics are wanted in [`EntryColumns::metrics`], ascending.
    pub metric_fields: Vec<FieldId>,
    /// Keep every metrics map of every entry in [`EntryColumns::all_metrics`] (rewriting, metadata tables).
    pub all_metrics: bool,
    /// Keep the metrics maps as they are in the file, in [`EntryColumns::encoded_metrics`]: much cheaper, for tasks that
    /// may be asked for them.
    pub encoded_metrics: bool,
    /// Keep entries of status DELETED too (changelogs, metadata tables).
    pub deleted_too: bool,
}

/// What entries take from the manifest list's entry of their manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// `added_snapshot_id`.
    pub snapshot_id: Option<i64>,
    /// `sequence_number`; 0 in v1.
    pub sequence_number: i64,
}

/// A batch of entries. All columns have [`EntryColumns::len`] rows, in the order of the file; inherited values are filled
/// in. `i64` columns that may be null use `Option`.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct EntryColumns {
    pub status: Vec<u8>,
    pub snapshot_id: Vec<Option<i64>>,
    pub sequence_number: Vec<Option<i64>>,
    pub file_sequence_number: Vec<Option<i64>>,
    pub content: Vec<FileContent>,
    pub path: BytesColumn,
    pub format: Vec<FileFormat>,
    pub record_count: Vec<i64>,
    pub size_bytes: Vec<i64>,
    /// Index into `partitions`.
    pub partition: Vec<u32>,
    /// The distinct partition tuples of the batch, values in the order of the manifest's own spec.
    pub partitions: Vec<Vec<Option<Value>>>,
    /// The same tuples as the manifest has them.
    pub(crate) encoded_partitions: BytesColumn,
    /// One for each requested field, in the order of the request.
    pub metrics: Vec<MetricColumn>,
    pub key_metadata: BytesColumn,
    pub split_offsets: ListColumn,
    pub equality_ids: ListColumn,
    pub sort_order_id: Vec<Option<i32>>,
    pub first_row_id: Vec<Option<i64>>,
    pub referenced_data_file: BytesColumn,
    pub content_offset: Vec<Option<i64>>,
    pub content_size_bytes: Vec<Option<i64>>,
    /// Only with [`EntryRequest::all_metrics`], else empty.
    pub all_metrics: Vec<crate::format::task::ColumnMetrics>,
    /// Only with [`EntryRequest::encoded_metrics`], else empty.
    pub encoded_metrics: BytesColumn,
    /// What decodes them.
    pub(crate) layout: Option<Arc<Layout>>,
}

impl EntryColumns {
    /// Entries in the batch.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Makes room for more entries.
    pub(crate) fn reserve(&mut self, entries: usize) {
        self.status.reserve(entries);
        self.snapshot_id.reserve(entries);
        self.sequence_number.reserve(entries);
        self.file_sequence_number.reserve(entries);
        self.content.reserve(entries);
        self.path.reserve(entries);
        self.format.reserve(entries);
        self.record_count.reserve(entries);
        self.size_bytes.reserve(entries);
        self.partition.reserve(entries);
        self.sort_order_id.reserve(entries);
        self.first_row_id.reserve(entries);
        self.content_offset.reserve(entries);
        self.content_size_bytes.reserve(entries);
        for metric in &mut self.metrics {
            metric.value_count.reserve(entries);
            metric.null_count.reserve(entries);
            metric.nan_count.reserve(entries);
        }
    }

    /// Some rows of the columns that judge entries (those that a cached manifest is judged by), in that order.
    pub(crate) fn take(&self, rows: &[u32]) -> EntryColumns {
        fn pick<T: Clone>(column: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().filter_map(|row| column.get(*row as usize).cloned()).collect()
        }
        let metric = |m: &MetricColumn| MetricColumn {
            field_id: m.field_id,
            value_count: pick(&m.value_count, rows),
            null_count: pick(&m.null_count, rows),
            nan_count: pick(&m.nan_count, rows),
            lower: m.lower.take(rows),
            upper: m.upper.take(rows),
        };
        EntryColumns {
            status: pick(&self.status, rows),
            snapshot_id: pick(&self.snapshot_id, rows),
            content: pick(&self.content, rows),
            record_count: pick(&self.record_count, rows),
            size_bytes: pick(&self.size_bytes, rows),
            partition: pick(&self.partition, rows),
            first_row_id: pick(&self.first_row_id, rows),
            equality_ids: self.equality_ids.take(rows),
            metrics: self.metrics.iter().map(metric).collect(),
            ..EntryColumns::default()
        }
    }

    /// Fills in what entries take from the manifest list: a missing snapshot id is the manifest's; a missing sequence
    /// number is the manifest's for status ADDED, and 0 where there were none (v1: the list says 0, or the manifest
    /// `has_sequence_numbers` not, wherever it is listed).
    pub(crate) fn inherit(&mut self, inherited: &Inherited, has_sequence_numbers: bool) {
        let default = (inherited.sequence_number == 0 || !has_sequence_numbers).then_some(0);
        self.snapshot_id.iter_mut().for_each(|id| *id = id.or(inherited.snapshot_id));
        for numbers in [&mut self.sequence_number, &mut self.file_sequence_number] {
            for (number, status) in numbers.iter_mut().zip(&self.status) {
                *number = number.or(if *status == ADDED { Some(inherited.sequence_number) } else { default });
            }
        }
    }

    /// All rows.
    pub fn rows(&self) -> Range<usize> {
        0..self.len()
    }
}
