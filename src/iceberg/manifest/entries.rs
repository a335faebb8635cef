//! Manifest entries as columns, for decoding and planning. No object is created per entry.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::avro::{UnknownMembers, UnknownValues};
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::manifest::layout::EntryLayout;
use crate::types::{FieldId, Value};

/// A count that is not in the manifest.
pub const MISSING: i64 = -1;

/// Metrics of one column for the entries of a batch. Counts are [`MISSING`] if absent or negative in the file.
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

/// The values of the entries that decoding keeps.
#[derive(Clone, Debug, Default)]
pub struct EntryRequest {
    /// Columns with metrics in [`EntryColumns::metrics`], ascending.
    pub metric_fields: Vec<FieldId>,
    /// Keep every metrics map of every entry in [`EntryColumns::all_metrics`] (rewriting, metadata tables).
    pub all_metrics: bool,
    /// Keep the metrics maps in their file form, in [`EntryColumns::encoded_metrics`]. This is much cheaper, and tasks
    /// can decode them on request.
    pub encoded_metrics: bool,
    /// Also keep entries of status DELETED (changelogs, metadata tables).
    pub deleted_too: bool,
    /// Keep the values of members that only later versions know (rewriting).
    pub unknown_members: bool,
}

/// The values that entries inherit from their manifest's entry in the manifest list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// `added_snapshot_id`.
    pub snapshot_id: Option<i64>,
    /// `sequence_number`; 0 in v1.
    pub sequence_number: i64,
}

/// A batch of entries. All columns have [`EntryColumns::len`] rows, in the order of the file, with inherited values
/// filled in. `i64` columns with nulls use `Option`.
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
    /// The same tuples in their encoded form.
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
    /// The layout that decodes them.
    pub(crate) layout: Option<Arc<EntryLayout>>,
    /// Only with [`EntryRequest::unknown_members`], else nulls.
    pub(crate) unknown: BytesColumn,
    /// The names and types of the unknown members.
    pub(crate) unknown_members: Option<Arc<UnknownMembers>>,
}

impl EntryColumns {
    /// The number of entries in the batch.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Reserves space for more entries.
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

    /// Some rows of the columns that checks of a cached manifest use, in that order.
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

    /// Fills in the values that entries inherit from the manifest list. A missing snapshot id becomes the manifest's. A
    /// missing sequence number becomes the manifest's for status ADDED. It becomes 0 if there were no sequence numbers
    /// (v1): the list says 0, or `has_sequence_numbers` is false.
    pub(crate) fn inherit(&mut self, inherited: &Inherited, has_sequence_numbers: bool) {
        let default = (inherited.sequence_number == 0 || !has_sequence_numbers).then_some(0);
        self.snapshot_id.iter_mut().for_each(|id| *id = id.or(inherited.snapshot_id));
        for numbers in [&mut self.sequence_number, &mut self.file_sequence_number] {
            for (number, status) in numbers.iter_mut().zip(&self.status) {
                *number = number.or(if *status == ADDED { Some(inherited.sequence_number) } else { default });
            }
        }
    }

    /// A row's members that only later versions know.
    pub(crate) fn unknown_of(&self, row: usize) -> Option<UnknownValues> {
        Some(UnknownValues::new(self.unknown_members.as_ref()?, self.unknown.get(row)?))
    }

    /// All rows.
    pub fn rows(&self) -> Range<usize> {
        0..self.len()
    }
}
