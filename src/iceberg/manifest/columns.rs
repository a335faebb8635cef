//! Manifests: the files of a snapshot with their partition tuples and column metrics.
//!
//! ```no_run
//! # fn main() -> frazil::error::Result<()> {
//! use frazil::iceberg::manifest::columns::Manifest;
//! use frazil::iceberg::manifest::entries::{EntryRequest, Inherited};
//!
//! # let bytes = Vec::new();
//! let manifest = Manifest::parse(&bytes)?;
//! let inherited = Inherited { snapshot_id: Some(7), sequence_number: 3 };
//! let entries = manifest.decode(0..manifest.block_count(), &EntryRequest::default(), &inherited)?;
//! # Ok(()) }
//! ```
//!
//! [`Manifest::decode`] takes a range of blocks, so that threads can share one manifest.
//!
//! Source: Iceberg specification, "Manifests" and "Sequence Number Inheritance".

use std::ops::Range;
use std::sync::Arc;

use super::decode;
use super::entries::{DELETED, EntryColumns, EntryRequest, Inherited};
use super::layout::EntryLayout;
use super::list::ManifestContent;
use crate::codec::avro::{Container, Inflater};
use crate::error::{Error, ErrorKind, Result};
use crate::format::task::{DataFile, FileContent, FileMetrics, Partition, PartitionValue};
use crate::format::wire::plain::PlainTaskFile;
use crate::types::{PartitionField, PartitionSpec, PrimitiveType, Schema, Value, temporal};

/// A manifest as the bytes of a whole file. The header has been read, the entries have not.
#[derive(Debug)]
pub struct Manifest<'a> {
    pub(crate) container: Container<'a>,
    layout: Arc<EntryLayout>,
    /// `partition-spec-id`; v1 may lack it.
    pub spec_id: Option<i32>,
    /// The fields of partition tuples: those of the header's spec, then fields that only the entries have (source id 0,
    /// unknown transform).
    pub spec_fields: Arc<[PartitionField]>,
    /// The types of partition tuples in the file; `Unknown` for a field that its entries don't have.
    pub partition_types: Arc<[PrimitiveType]>,
    /// `content`; data in v1.
    pub content: ManifestContent,
    /// `format-version`; 1 if absent.
    pub format_version: u8,
    /// `schema-id`; many writers leave it out.
    pub schema_id: Option<i32>,
}

impl<'a> Manifest<'a> {
    /// Reads the header and finds the blocks.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a complete manifest. `Unsupported` for an unknown codec or content, or for
    /// partition values of a type that Iceberg does not have.
    pub fn parse(bytes: &'a [u8]) -> Result<Manifest<'a>> {
        Manifest::parse_like(bytes, None)
    }

    /// Like [`Manifest::parse`], but reuses the compiled header of another manifest if both headers are equal. The
    /// manifests of a table usually have equal headers. Reading the header is most of the work for small ones.
    ///
    /// # Errors
    /// Errors of [`Manifest::parse`].
    pub fn parse_like(bytes: &'a [u8], other: Option<&Arc<EntryLayout>>) -> Result<Manifest<'a>> {
        let container = Container::parse(bytes)?;
        let spec = container.metadata_text("partition-spec")?;
        let schema = container.schema_json()?;
        let layout = match other.filter(|l| l.is_of(schema, spec)) {
            Some(layout) => layout.clone(),
            None => EntryLayout::of(schema, spec)?,
        };
        let number = |key: &str| -> Result<Option<i32>> {
            let Some(text) = container.metadata_text(key)? else { return Ok(None) };
            let bad = |_| Error::corrupt(format!("'{key}' of the manifest is '{text}', which is not a number"));
            text.trim().parse().map(Some).map_err(bad)
        };
        let version = number("format-version")?.unwrap_or(1);
        let content = match container.metadata_text("content")? {
            None | Some("data") => ManifestContent::Data,
            Some("deletes") => ManifestContent::Deletes,
            Some(other) => return Err(Error::unsupported(format!("a manifest has the content '{other}'"))),
        };
        Ok(Manifest {
            spec_id: number("partition-spec-id")?,
            schema_id: number("schema-id")?,
            spec_fields: layout.fields.clone(),
            partition_types: layout.types.clone(),
            content,
            format_version: u8::try_from(version)
                .map_err(|_| Error::unsupported(format!("a manifest has the format version {version}")))?,
            container,
            layout,
        })
    }

    /// The compiled header, for [`Manifest::parse_like`].
    pub fn layout(&self) -> &Arc<EntryLayout> {
        &self.layout
    }

    /// The table's schema when the manifest was written, as JSON text.
    ///
    /// # Errors
    /// `CorruptTable` if the text is not UTF-8.
    #[cfg(test)]
    pub(crate) fn schema_json(&self) -> Result<Option<&'a str>> {
        self.container.metadata_text("schema")
    }

    /// The number of blocks. Blocks can be decoded independently.
    pub fn block_count(&self) -> usize {
        self.container.blocks.len()
    }

    /// The number of entries in some blocks, as the file claims. [`Manifest::decode`] detects a number that is too
    /// large.
    pub fn entry_count(&self, blocks: Range<usize>) -> u64 {
        let blocks = self.container.blocks.get(blocks).unwrap_or_default();
        blocks.iter().fold(0, |n, b| n.saturating_add(b.count))
    }

    /// Decodes the entries of some blocks, in the order of the file.
    ///
    /// A missing snapshot id becomes the manifest's. A missing sequence number becomes the manifest's if the status is
    /// ADDED or the manifest's number is 0. In manifests without the column it is 0. Otherwise it stays unknown, as in
    /// Java.
    ///
    /// # Errors
    /// `CorruptTable` with the number of the block if its bytes are invalid. `Unsupported` for an unknown file format
    /// or content. `InvalidInput` if a block does not exist.
    pub fn decode(&self, blocks: Range<usize>, request: &EntryRequest, inherited: &Inherited) -> Result<EntryColumns> {
        self.decode_with(&mut Inflater::default(), blocks, request, inherited)
    }

    /// Like [`Manifest::decode`], with a decompressor that several calls share.
    ///
    /// # Errors
    /// Errors of [`Manifest::decode`].
    pub fn decode_with(
        &self,
        inflater: &mut Inflater,
        blocks: Range<usize>,
        request: &EntryRequest,
        inherited: &Inherited,
    ) -> Result<EntryColumns> {
        let mut columns = self.decode_plain(inflater, blocks, request)?;
        columns.inherit(inherited, self.layout.has_sequence_numbers);
        Ok(columns)
    }

    /// Like [`Manifest::decode_with`], but without inherited values: only the content of the file.
    pub(crate) fn decode_plain(
        &self,
        inflater: &mut Inflater,
        blocks: Range<usize>,
        request: &EntryRequest,
    ) -> Result<EntryColumns> {
        let found = decode::decode(&self.container, &self.layout, blocks.clone(), request, inflater);
        match (&found, &self.layout.with_lengths) {
            // The bytes don't follow the schema of the file. If they don't follow Java's form either, the first error
            // tells more.
            (Err(e), Some(layout)) if matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported) => {
                decode::decode(&self.container, layout, blocks, request, inflater).or(found)
            }
            _ => found,
        }
    }
}

/// Assigns row ids to the live entries of one manifest with a first row id (v3). An entry without an id gets `first`
/// plus the rows of earlier entries without ids. `batches` are all blocks of the manifest in order.
///
/// # Errors
/// `CorruptTable` if the ids overflow.
pub fn assign_first_row_ids<'b>(batches: impl IntoIterator<Item = &'b mut EntryColumns>, first: i64) -> Result<()> {
    let mut next = first;
    for batch in batches {
        for ((id, status), rows) in batch.first_row_id.iter_mut().zip(&batch.status).zip(&batch.record_count) {
            if id.is_none() && *status != DELETED {
                *id = Some(next);
                next = next.checked_add(*rows).ok_or_else(|| Error::corrupt("row ids run out of range"))?;
            }
        }
    }
    Ok(())
}

/// Clears the row ids of entries. In a manifest without a first row id they have no meaning, as in Java.
pub fn clear_first_row_ids<'b>(batches: impl IntoIterator<Item = &'b mut EntryColumns>) {
    batches.into_iter().for_each(|b| b.first_row_id.fill(None));
}

impl EntryColumns {
    /// The file of one row, with the partition from [`partition_of`]. Includes metrics only if they were kept.
    ///
    /// # Errors
    /// `InvalidInput` if the row does not exist; `CorruptTable` if an equality id is not a field id.
    pub fn data_file(&self, row: usize, partition: Arc<Partition>) -> Result<DataFile> {
        let no_row = || Error::invalid(format!("the entry {row} does not exist"));
        let text = |bytes: Option<&[u8]>| {
            bytes.map(|b| std::str::from_utf8(b).map(str::to_owned).map_err(no_path)).transpose()
        };
        let path = text(self.path.get(row))?.ok_or_else(no_row)?;
        let field_ids = |ids: &[i64]| ids.iter().map(|id| i32::try_from(*id)).collect::<Result<Vec<_>, _>>();
        let equality_ids = self.equality_ids.get(row).map(field_ids).transpose();
        Ok(DataFile {
            content: *self.content.get(row).ok_or_else(no_row)?,
            format: *self.format.get(row).ok_or_else(no_row)?,
            partition,
            record_count: *self.record_count.get(row).ok_or_else(no_row)?,
            size_bytes: *self.size_bytes.get(row).ok_or_else(no_row)?,
            sequence_number: self.sequence_number.get(row).copied().flatten(),
            file_sequence_number: self.file_sequence_number.get(row).copied().flatten(),
            snapshot_id: self.snapshot_id.get(row).copied().flatten(),
            metrics: self.metrics_of(row),
            key_metadata: self.key_metadata.get(row).map(<[u8]>::to_vec),
            split_offsets: self.split_offsets.get(row).map(<[i64]>::to_vec),
            equality_ids: equality_ids
                .map_err(|e| Error::corrupt("an equality id is not a field id").because(e).with("file", &path))?,
            sort_order_id: self.sort_order_id.get(row).copied().flatten(),
            first_row_id: self.first_row_id.get(row).copied().flatten(),
            referenced_data_file: text(self.referenced_data_file.get(row))?,
            content_offset: self.content_offset.get(row).copied().flatten(),
            content_size_bytes: self.content_size_bytes.get(row).copied().flatten(),
            bucket_file: None,
            path,
        })
    }

    /// Whether [`EntryColumns::plain_file`] has all values of a row.
    pub(crate) fn is_plain(&self, row: usize) -> bool {
        let has_more = self.key_metadata.get(row).is_some()
            || self.equality_ids.get(row).is_some()
            || self.referenced_data_file.get(row).is_some()
            || matches!(self.content_offset.get(row), Some(Some(_)))
            || matches!(self.content_size_bytes.get(row), Some(Some(_)))
            || self.all_metrics.get(row).is_some()
            || self.encoded_metrics.get(row).is_some();
        self.is_data(row) && !has_more
    }

    /// A data file without any other values ([`EntryColumns::is_plain`]).
    ///
    /// # Errors
    /// Errors of [`EntryColumns::data_file`].
    pub fn plain_file(&self, row: usize) -> Result<PlainTaskFile<'_>> {
        let no_row = || Error::invalid(format!("the entry {row} does not exist"));
        let path = self.path.get(row).ok_or_else(no_row)?;
        Ok(PlainTaskFile {
            path: std::str::from_utf8(path).map_err(no_path)?,
            format: *self.format.get(row).ok_or_else(no_row)?,
            record_count: *self.record_count.get(row).ok_or_else(no_row)?,
            size_bytes: *self.size_bytes.get(row).ok_or_else(no_row)?,
            sequence_number: self.sequence_number.get(row).copied().flatten(),
            file_sequence_number: self.file_sequence_number.get(row).copied().flatten(),
            snapshot_id: self.snapshot_id.get(row).copied().flatten(),
            sort_order_id: self.sort_order_id.get(row).copied().flatten(),
            first_row_id: self.first_row_id.get(row).copied().flatten(),
            split_offsets: self.split_offsets.get(row),
        })
    }

    fn metrics_of(&self, row: usize) -> Option<FileMetrics> {
        let known = self.all_metrics.get(row).cloned().map(FileMetrics::from);
        known.or_else(|| Some(FileMetrics::encoded(self.encoded_metrics.get(row)?, self.layout.clone()?)))
    }

    /// Whether the row is a data file.
    pub fn is_data(&self, row: usize) -> bool {
        self.content.get(row) == Some(&FileContent::Data)
    }
}

#[cold]
fn no_path(e: std::str::Utf8Error) -> Error {
    Error::corrupt("a file's path is not UTF-8").because(e)
}

/// Converts a manifest's tuple to the partition of files under a table's spec.
///
/// Fields are matched by id, never by position. A value is widened to the field's current type. If the source column
/// was dropped, or the value does not fit, it keeps the file's type.
pub fn partition_of(
    spec: &PartitionSpec,
    schema: &Schema,
    file_fields: &[PartitionField],
    file_types: &[PrimitiveType],
    tuple: &[Option<Value>],
) -> Partition {
    let value = |field: &PartitionField| {
        let place = file_fields.iter().position(|f| f.field_id == field.field_id);
        let of_file = place.and_then(|i| file_types.get(i)).unwrap_or(&PrimitiveType::Unknown);
        let value = place.and_then(|i| tuple.get(i)).cloned().flatten();
        let now = field.result_type(schema);
        let (ty, value) = match value {
            None if now == PrimitiveType::Unknown => (of_file.clone(), None),
            None => (now, None),
            Some(v) => match widen(v, of_file, &now) {
                Ok(v) => (now, Some(v)),
                Err(v) => (of_file.clone(), Some(v)),
            },
        };
        PartitionValue {
            name: field.name.clone(),
            field_id: field.field_id,
            source_id: field.source_id,
            transform: field.transform.clone(),
            ty,
            value,
        }
    };
    Partition { spec_id: spec.id, values: spec.fields.iter().map(value).collect() }
}

/// Widens the value to the type `to`. Returns the value itself if that is not possible.
fn widen(value: Value, from: &PrimitiveType, to: &PrimitiveType) -> Result<Value, Value> {
    use PrimitiveType as P;
    Ok(match (value, to) {
        (v @ Value::Boolean(_), P::Boolean) => v,
        (v @ Value::Int(_), P::Int | P::Date) => v,
        (Value::Int(days), P::Timestamp | P::Timestamptz) if *from == P::Date => {
            Value::Long(i64::from(days).saturating_mul(temporal::MICROS_PER_DAY))
        }
        (Value::Int(days), P::TimestampNs | P::TimestamptzNs) if *from == P::Date => {
            Value::Long(i64::from(days).saturating_mul(temporal::MICROS_PER_DAY * 1000))
        }
        (Value::Int(v), P::Long) => Value::Long(i64::from(v)),
        (v @ Value::Long(_), P::Long | P::Time) => v,
        (v @ Value::Long(_), P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs) => v,
        (v @ Value::Float(_), P::Float) => v,
        (Value::Float(v), P::Double) => Value::Double(f64::from(v)),
        (v @ Value::Double(_), P::Double) => v,
        (v @ Value::Decimal(_), P::Decimal { .. }) => v,
        (v @ Value::String(_), P::String) => v,
        (v @ Value::Uuid(_), P::Uuid) => v,
        (Value::Bytes(b), P::Uuid) => match <[u8; 16]>::try_from(&b[..]) {
            Ok(bytes) => Value::Uuid(u128::from_be_bytes(bytes)),
            Err(_) => return Err(Value::Bytes(b)),
        },
        (v @ Value::Bytes(_), P::Fixed(_) | P::Binary) => v,
        (v, _) => return Err(v),
    })
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
