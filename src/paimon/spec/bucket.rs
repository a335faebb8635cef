//! The bucket of a row.
//!
//! Source: Java's `DefaultBucketFunction`, `ModBucketFunction`, `HiveBucketFunction`.

use super::binary_row::BinaryRow;
use super::binary_row_write::encode_values;
use super::data_type::{DataType, TypeKind};
use super::options::BucketFunction;
use super::schema::TableSchema;
use crate::error::{Error, Result};
use crate::types::hash_kernels::kernel_bytes;
use crate::types::{Value, ValueRef};

/// The bucket of rows of an append table without buckets.
pub const UNAWARE_BUCKET: i32 = 0;

/// The bucket of rows that wait to be given one.
pub const POSTPONE_BUCKET: i32 = -2;

/// Seed of the hash of binary rows.
const SEED: u32 = 42;

/// Java's hash of a binary row, without its number of fields.
pub fn row_hash(row: &[u8]) -> i32 {
    kernel_bytes(SEED, row) as i32
}

/// Gives keys their buckets.
#[derive(Clone, Debug)]
pub struct Bucketing {
    function: BucketFunction,
    types: Vec<DataType>,
}

impl Bucketing {
    /// The bucketing of a table, by its bucket key.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown function; `CorruptTable` if the function can't take such keys.
    pub fn new(schema: &TableSchema) -> Result<Bucketing> {
        let types: Vec<DataType> = schema.bucket_key_fields().map(|f| f.ty.clone()).collect();
        let function = schema.options().bucket_function()?;
        let one_integer = matches!(&types[..], [ty] if matches!(ty.kind, TypeKind::Int | TypeKind::BigInt));
        if function == BucketFunction::Mod && !one_integer {
            return Err(Error::corrupt("the bucket function 'mod' takes one key of type INT or BIGINT"));
        }
        Ok(Bucketing { function, types })
    }

    /// The types of keys.
    #[cfg(test)]
    pub(crate) fn types(&self) -> &[DataType] {
        &self.types
    }

    /// The bucket of a key among `buckets`, by its values.
    ///
    /// # Errors
    /// `InvalidInput` if the values are not of the key's types, or there are no buckets; `Unsupported` for types that
    /// the function does not take.
    pub fn bucket(&self, key: &[Option<Value>], buckets: i32) -> Result<i32> {
        if key.len() != self.types.len() {
            return Err(Error::invalid(format!("a bucket key has {} values, not {}", key.len(), self.types.len())));
        }
        let row = encode_values(key.iter().cloned(), &self.types)?;
        self.bucket_of_row(&BinaryRow::new(&row, self.types.len())?, buckets)
    }

    /// The bucket of a key among `buckets`, by its row.
    ///
    /// # Errors
    /// As [`Bucketing::bucket`]; `CorruptTable` if the row is torn.
    pub fn bucket_of_row(&self, key: &BinaryRow<'_>, buckets: i32) -> Result<i32> {
        if buckets <= 0 {
            return Err(Error::invalid(format!("a key can't be put into {buckets} buckets")));
        }
        Ok(match self.function {
            BucketFunction::Default => (row_hash(key.bytes()) % buckets).abs(),
            BucketFunction::Mod => match self.types.first().map(|ty| key.value(0, ty)).transpose()?.flatten() {
                Some(ValueRef::Int(v)) => v.rem_euclid(buckets),
                Some(ValueRef::Long(v)) => v.rem_euclid(i64::from(buckets)) as i32,
                // The slot of a null is zero.
                _ => 0,
            },
            BucketFunction::Hive => {
                let mut hash = 0i32;
                for (i, ty) in self.types.iter().enumerate() {
                    hash = hash.wrapping_mul(31).wrapping_add(hive_hash(key, i, ty)?);
                }
                (hash & i32::MAX) % buckets
            }
        })
    }
}

fn hash_long(v: i64) -> i32 {
    (v ^ (v as u64 >> 32) as i64) as i32
}

fn hash_bytes(bytes: &[u8]) -> i32 {
    bytes.iter().fold(0i32, |hash, b| hash.wrapping_mul(31).wrapping_add(i32::from(*b as i8)))
}

/// Hive's hash of one value. Java's does not know times.
fn hive_hash(key: &BinaryRow<'_>, field: usize, ty: &DataType) -> Result<i32> {
    let Some(value) = key.value(field, ty)? else { return Ok(0) };
    Ok(match (value, &ty.kind) {
        (_, TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_)) => {
            return Err(Error::unsupported(format!("the bucket function 'hive' does not take the type {ty}")));
        }
        (ValueRef::Boolean(v), _) => i32::from(v),
        (ValueRef::Int(v), _) => v,
        (ValueRef::Long(micros), TypeKind::Time(_)) => micros.div_euclid(1000) as i32,
        (ValueRef::Long(v), _) => hash_long(v),
        (ValueRef::Float(0.0), _) | (ValueRef::Double(0.0), _) => 0,
        (ValueRef::Float(v), _) if v.is_nan() => 0x7fc0_0000,
        (ValueRef::Float(v), _) => v.to_bits() as i32,
        (ValueRef::Double(v), _) if v.is_nan() => hash_long(0x7ff8_0000_0000_0000),
        (ValueRef::Double(v), _) => hash_long(v.to_bits() as i64),
        (ValueRef::String(v), _) => hash_bytes(v.as_bytes()),
        (ValueRef::Bytes(v), _) => hash_bytes(v),
        (ValueRef::Decimal(v), TypeKind::Decimal { scale, .. }) => hash_decimal(v, i32::from(*scale)),
        (ValueRef::Decimal(v), _) => hash_decimal(v, 0),
        (ValueRef::Uuid(_), _) => return Err(Error::internal("a binary row has no UUIDs")),
    })
}

/// Java's `BigDecimal.hashCode` without trailing zeros after the decimal point.
fn hash_decimal(mut unscaled: i128, mut scale: i32) -> i32 {
    if unscaled == 0 {
        return 0;
    }
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    if let Ok(compact) = i64::try_from(unscaled)
        && compact != i64::MIN
    {
        let magnitude = compact.unsigned_abs();
        let hash = ((magnitude >> 32) as i32).wrapping_mul(31).wrapping_add(magnitude as u32 as i32);
        return hash.wrapping_mul(if compact < 0 { -31 } else { 31 }).wrapping_add(scale);
    }
    let words = unscaled.unsigned_abs().to_be_bytes();
    let (words, _) = words.as_chunks::<4>();
    let hash = words.iter().fold(0i32, |h, w| h.wrapping_mul(31).wrapping_add(i32::from_be_bytes(*w)));
    let hash = if unscaled < 0 { hash.wrapping_neg() } else { hash };
    hash.wrapping_mul(31).wrapping_add(scale)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
