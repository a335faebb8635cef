//! The records of manifests, field by field in the order of their schema.
//!
//! Source: Iceberg specification, "Manifests".

use serde::ser::SerializeTupleStruct;
use serde::{Serialize, Serializer};

use crate::codec::avro::{AvroBytes, AvroItems, UnknownValues};
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, FileContent};
use crate::iceberg::manifest::layout::content_number;
use crate::types::decimal::bytes_of_precision;
use crate::types::{PrimitiveType, ValueRef};

/// An entry to write. Its snapshot id and sequence numbers are written, not those in `file`.
#[derive(Clone, Debug)]
pub struct ManifestEntry {
    /// [`super::entries::EXISTING`], [`super::entries::ADDED`] or [`super::entries::DELETED`].
    pub status: u8,
    /// The snapshot that added the file, or deleted it; `None` is inherited.
    pub snapshot_id: Option<i64>,
    /// Data sequence number; `None`, which is inherited, only if added.
    pub sequence_number: Option<i64>,
    /// Sequence number of the commit that added the file.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub file: DataFile,
    /// Members that only later versions know. They are kept when the entry is written again.
    pub unknown: Option<UnknownValues>,
}

/// The block size that v1 readers get, as Java writes it.
const V1_BLOCK_SIZE: i64 = 64 << 20;

/// An entry, and the values that were looked up for it.
pub(super) struct EntryRecord<'a> {
    pub version: u8,
    pub entry: &'a ManifestEntry,
    pub metrics: Option<&'a ColumnMetrics>,
    /// The file's partition values in the order of the spec; each fits its type.
    pub tuple: &'a [Option<ValueRef<'a>>],
    /// The types of the partition values.
    pub types: &'a [PrimitiveType],
}

impl Serialize for EntryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (status, entry) = (i32::from(self.entry.status), self.entry);
        if self.version == 1 {
            return (status, entry.snapshot_id, FileRecord(self)).serialize(serializer);
        }
        let numbers = (entry.sequence_number, entry.file_sequence_number);
        (status, entry.snapshot_id, numbers.0, numbers.1, FileRecord(self)).serialize(serializer)
    }
}

/// The member `data_file` of an entry.
struct FileRecord<'a>(&'a EntryRecord<'a>);

impl Serialize for FileRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EntryRecord { version, entry, metrics, .. } = *self.0;
        let file = &entry.file;
        let fields = match version {
            1 => 15,
            2 => 17,
            _ => 20,
        };
        let mut out = serializer.serialize_tuple_struct("r2", fields)?;
        if version > 1 {
            out.serialize_field(&content_number(file.content))?;
        }
        out.serialize_field(&file.path)?;
        out.serialize_field(&file.format.as_str().to_ascii_uppercase())?;
        out.serialize_field(&TupleRecord(self.0))?;
        out.serialize_field(&file.record_count)?;
        out.serialize_field(&file.size_bytes)?;
        if version == 1 {
            out.serialize_field(&V1_BLOCK_SIZE)?;
        }
        put_metrics(&mut out, metrics)?;
        out.serialize_field(&file.key_metadata.as_deref().map(AvroBytes))?;
        out.serialize_field(&file.split_offsets)?;
        if version > 1 {
            out.serialize_field(&file.equality_ids)?;
        }
        out.serialize_field(&file.sort_order_id)?;
        let positions = file.content == FileContent::PositionDeletes;
        if version > 2 {
            out.serialize_field(&file.first_row_id.filter(|_| file.content == FileContent::Data))?;
        }
        if version > 1 {
            out.serialize_field(&file.referenced_data_file.as_deref().filter(|_| positions))?;
        }
        if version > 2 {
            out.serialize_field(&file.content_offset.filter(|_| positions))?;
            out.serialize_field(&file.content_size_bytes.filter(|_| positions))?;
        }
        out.end()
    }
}

fn counts(map: Option<&FieldMap<i64>>) -> Option<impl Serialize> {
    map.map(|map| AvroItems(map.iter()))
}

fn bounds(map: Option<&FieldMap<Vec<u8>>>) -> Option<impl Serialize> {
    map.map(|map| AvroItems(map.iter().map(|(id, bound)| (id, AvroBytes(bound)))))
}

fn put_metrics<S: SerializeTupleStruct>(out: &mut S, metrics: Option<&ColumnMetrics>) -> Result<(), S::Error> {
    out.serialize_field(&counts(metrics.and_then(|m| m.column_sizes.as_ref())))?;
    out.serialize_field(&counts(metrics.and_then(|m| m.value_counts.as_ref())))?;
    out.serialize_field(&counts(metrics.and_then(|m| m.null_value_counts.as_ref())))?;
    out.serialize_field(&counts(metrics.and_then(|m| m.nan_value_counts.as_ref())))?;
    out.serialize_field(&bounds(metrics.and_then(|m| m.lower_bounds.as_ref())))?;
    out.serialize_field(&bounds(metrics.and_then(|m| m.upper_bounds.as_ref())))
}

/// The member `partition` of a file.
struct TupleRecord<'a>(&'a EntryRecord<'a>);

impl Serialize for TupleRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EntryRecord { tuple, types, .. } = *self.0;
        let mut out = serializer.serialize_tuple_struct("r102", types.len())?;
        for (value, ty) in tuple.iter().zip(types) {
            match (value, ty) {
                // Null alone, without a union.
                (None, PrimitiveType::Unknown | PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. }) => {
                    out.serialize_field(&())?;
                }
                (value, ty) => out.serialize_field(&value.map(|value| TupleValue(value, ty)))?,
            }
        }
        out.end()
    }
}

/// A partition value and its type.
struct TupleValue<'a>(ValueRef<'a>, &'a PrimitiveType);

impl Serialize for TupleValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ValueRef::Boolean(v) => serializer.serialize_bool(v),
            ValueRef::Int(v) => serializer.serialize_i32(v),
            ValueRef::Long(v) => serializer.serialize_i64(v),
            ValueRef::Float(v) => serializer.serialize_f32(v),
            ValueRef::Double(v) => serializer.serialize_f64(v),
            ValueRef::String(v) => serializer.serialize_str(v),
            ValueRef::Bytes(v) => serializer.serialize_bytes(v),
            ValueRef::Uuid(v) => serializer.serialize_bytes(&v.to_be_bytes()),
            ValueRef::Decimal(v) => {
                let size = match self.1 {
                    PrimitiveType::Decimal { precision, .. } => bytes_of_precision(*precision),
                    _ => 16,
                };
                let bytes = v.to_be_bytes();
                serializer.serialize_bytes(bytes.get(16usize.saturating_sub(size)..).unwrap_or(&bytes))
            }
        }
    }
}

/// Whether a partition value is one of that type.
pub(super) fn fits(value: ValueRef<'_>, ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    match (value, ty) {
        (ValueRef::Boolean(_), P::Boolean)
        | (ValueRef::Int(_), P::Int | P::Date)
        | (ValueRef::Long(_), P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs)
        | (ValueRef::Float(_), P::Float)
        | (ValueRef::Double(_), P::Double)
        | (ValueRef::String(_), P::String)
        | (ValueRef::Bytes(_), P::Binary)
        | (ValueRef::Uuid(_), P::Uuid) => true,
        (ValueRef::Bytes(v), P::Fixed(size)) => v.len() == *size as usize,
        (ValueRef::Decimal(v), P::Decimal { precision, .. }) => {
            v.unsigned_abs() < 10u128.saturating_pow(u32::from(*precision))
        }
        _ => false,
    }
}
