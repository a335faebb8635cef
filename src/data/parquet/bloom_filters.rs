//! Leaves out row groups of a Parquet file by their bloom filters.
//!
//! A bloom filter knows the hashes of all values of a column in a row group. So it can prove that a value is missing.
//! It is used for `=` and `in` only, and after bounds, because it costs a separate read.
//!
//! Source: Parquet format, "Bloom Filter"; Java's `ParquetBloomRowGroupFilter` for the types.

use std::collections::HashMap;

use arrow::datatypes::{DataType, TimeUnit};
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ColumnChunkMetaData;

use super::file::ParquetFile;
use crate::data::read::filter_columns::{Located, locate};
use crate::data::read::guard::guard;
use crate::data::read::source::FilePart;
use crate::error::Result;
use crate::expr::{BoundLeaf, BoundPredicate, Op};
use crate::types::{FieldId, PrimitiveType, Transform, Value};

/// Decides by the Bloom filters of one file which row groups a task's filter rules out.
#[derive(Debug)]
pub(crate) struct BloomFilters<'a> {
    part: &'a FilePart<'a>,
    /// The columns that the filter tests with `=` or `in`, with their stored types.
    columns: HashMap<FieldId, (usize, DataType)>,
}

impl<'a> BloomFilters<'a> {
    /// Finds the columns for the filter of a part of a file.
    pub(crate) fn new(part: &'a FilePart<'a>) -> BloomFilters<'a> {
        let mut columns = HashMap::new();
        part.filter.for_each_leaf(&mut |leaf| {
            if is_asked(leaf)
                && let Located::Leaf { index, field, .. } =
                    locate(leaf.term.field_id, part.schema, part.columns, part.constants)
            {
                columns.insert(leaf.term.field_id, (index, field.data_type().clone()));
            }
        });
        BloomFilters { part, columns }
    }

    /// Whether some row of a row group may match. Filters that can't be decoded rule nothing out.
    ///
    /// # Errors
    /// The store's errors.
    pub(crate) fn may_match(&self, file: &ParquetFile, group: usize) -> Result<bool> {
        if self.columns.is_empty() {
            return Ok(true);
        }
        let mut loaded = HashMap::new();
        self.predicate_may_match(self.part.filter, file, group, &mut loaded)
    }

    fn predicate_may_match(
        &self,
        filter: &BoundPredicate,
        file: &ParquetFile,
        group: usize,
        loaded: &mut HashMap<usize, Option<Sbbf>>,
    ) -> Result<bool> {
        match filter {
            BoundPredicate::True => Ok(true),
            BoundPredicate::False => Ok(false),
            BoundPredicate::And(parts) => {
                for part in parts {
                    if !self.predicate_may_match(part, file, group, loaded)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            BoundPredicate::Or(parts) => {
                for part in parts {
                    if self.predicate_may_match(part, file, group, loaded)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            BoundPredicate::Leaf(leaf) if is_asked(leaf) => self.leaf_may_match(leaf, file, group, loaded),
            BoundPredicate::Leaf(_) | BoundPredicate::Test(_) => Ok(true),
        }
    }

    fn leaf_may_match(
        &self,
        leaf: &BoundLeaf,
        file: &ParquetFile,
        group: usize,
        loaded: &mut HashMap<usize, Option<Sbbf>>,
    ) -> Result<bool> {
        let chunk = |index: usize| file.footer().row_groups().get(group)?.columns().get(index);
        let (Some((index, stored)), Some(ty)) = (self.columns.get(&leaf.term.field_id), leaf.term.source_primitive())
        else {
            return Ok(true);
        };
        let Some(chunk) = chunk(*index) else { return Ok(true) };
        if !loaded.contains_key(index) {
            loaded.insert(*index, file.bloom_filter(chunk)?);
        }
        let Some(Some(bloom)) = loaded.get(index) else { return Ok(true) };
        let may_hold = |value: &Value| guard(|| Ok(may_hold(bloom, chunk, stored, ty, value))).unwrap_or(true);
        Ok(leaf.values.iter().any(may_hold))
    }
}

fn is_asked(leaf: &BoundLeaf) -> bool {
    leaf.term.transform == Transform::Identity && matches!(leaf.op, Op::Eq | Op::In)
}

/// Whether the column chunk may hold the value. The table's type is `ty`, and the file stores `stored`.
fn may_hold(bloom: &Sbbf, chunk: &ColumnChunkMetaData, stored: &DataType, ty: &PrimitiveType, value: &Value) -> bool {
    use PrimitiveType as P;
    let descriptor = chunk.column_descr();
    match (descriptor.physical_type(), value) {
        // No row has a value that the stored type can't have.
        (PhysicalType::INT32, Value::Int(v)) if matches!(ty, P::Int | P::Date) && is_plain(stored) => bloom.check(v),
        (PhysicalType::INT32, Value::Long(v)) if *ty == P::Long && is_plain(stored) => {
            i32::try_from(*v).is_ok_and(|v| bloom.check(&v))
        }
        (PhysicalType::INT32, Value::Decimal(v)) if same_scale(stored, ty) => {
            i32::try_from(*v).is_ok_and(|v| bloom.check(&v))
        }
        (PhysicalType::INT64, Value::Long(v)) if is_plain(stored) && same_unit(stored, ty) => bloom.check(v),
        (PhysicalType::INT64, Value::Decimal(v)) if same_scale(stored, ty) => {
            i64::try_from(*v).is_ok_and(|v| bloom.check(&v))
        }
        (PhysicalType::FLOAT, Value::Float(v)) => float_may_be(f64::from(*v), |v| bloom.check(&(v as f32))),
        (PhysicalType::FLOAT, Value::Double(v)) => {
            let is_float = v.is_nan() || f64::from(*v as f32) == *v;
            is_float && float_may_be(*v, |v| bloom.check(&(v as f32)))
        }
        (PhysicalType::DOUBLE, Value::Double(v)) => float_may_be(*v, |v| bloom.check(&v)),
        (PhysicalType::BYTE_ARRAY, Value::String(v)) if *ty == P::String => bloom.check(v.as_bytes()),
        (PhysicalType::BYTE_ARRAY, Value::Bytes(v)) if *ty == P::Binary => bloom.check(v.as_slice()),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, Value::Bytes(v)) if matches!(ty, P::Fixed(_)) => bloom.check(v.as_slice()),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, Value::Uuid(v)) => bloom.check(v.to_be_bytes().as_slice()),
        _ => true,
    }
}

/// Both zeros are equal, and so are all the different NaNs.
fn float_may_be(v: f64, check: impl Fn(f64) -> bool) -> bool {
    v.is_nan() || check(v) || (v == 0.0 && check(-v))
}

/// Whether integers are stored as themselves: unsigned ones may be wider than their physical type.
fn is_plain(stored: &DataType) -> bool {
    !stored.is_unsigned_integer()
}

fn same_unit(stored: &DataType, ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    match ty {
        P::Long => *stored == DataType::Int64,
        P::Time => *stored == DataType::Time64(TimeUnit::Microsecond),
        P::Timestamp | P::Timestamptz => matches!(stored, DataType::Timestamp(TimeUnit::Microsecond, _)),
        P::TimestampNs | P::TimestamptzNs => matches!(stored, DataType::Timestamp(TimeUnit::Nanosecond, _)),
        _ => false,
    }
}

fn same_scale(stored: &DataType, ty: &PrimitiveType) -> bool {
    let of_table = if let PrimitiveType::Decimal { scale, .. } = ty { Some(*scale as i8) } else { None };
    let of_file = if let DataType::Decimal128(_, scale) = stored { Some(*scale) } else { None };
    of_table.is_some() && of_table == of_file
}

#[cfg(test)]
#[path = "bloom_filters_tests.rs"]
mod tests;
