//! Sets of key values: what equality delete files hold.
//!
//! Keys are compared as Java's `StructLikeSet` compares them: null equals null, NaN equals NaN, and -0.0 is another value than
//! 0.0. They are kept as bytes that are equal exactly for equal keys (Arrow's row format), each once.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows as EncodedRows, SortField};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{Error, Result};
use crate::types::FieldId;

/// Arrays by field id.
pub(crate) type KeyArrays = HashMap<FieldId, ArrayRef>;

/// Turns the key columns of rows into bytes and hashes.
#[derive(Debug)]
pub(crate) struct KeyEncoder {
    ids: Vec<FieldId>,
    types: Vec<DataType>,
    converter: RowConverter,
    hasher: DefaultHashBuilder,
}

impl KeyEncoder {
    /// For these columns, of these types. Encoders of the same columns and hasher agree with each other.
    pub(crate) fn new(ids: &[FieldId], types: Vec<DataType>, hasher: DefaultHashBuilder) -> Result<KeyEncoder> {
        let fields = types.iter().map(|t| SortField::new(t.clone())).collect();
        let converter = RowConverter::new(fields)
            .map_err(|e| Error::unsupported("a key column has a type that cannot be compared").because(e))?;
        Ok(KeyEncoder { ids: ids.to_vec(), types, converter, hasher })
    }

    /// The columns, ascending.
    pub(crate) fn ids(&self) -> &[FieldId] {
        &self.ids
    }

    /// The key of every row.
    ///
    /// # Errors
    /// `Internal` if a column is not given or of another type.
    pub(crate) fn encode(&self, arrays: &KeyArrays) -> Result<EncodedRows> {
        let column = |(id, ty): (&FieldId, &DataType)| {
            let array = arrays.get(id).filter(|a| a.data_type() == ty);
            array.map(canonical).ok_or_else(|| Error::internal(format!("the key column {id} was not read")))
        };
        let columns = self.ids.iter().zip(&self.types).map(column).collect::<Result<Vec<_>>>()?;
        self.converter.convert_columns(&columns).map_err(|e| Error::internal("keys cannot be encoded").because(e))
    }

    /// The hash of an encoded key.
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// The array with one NaN for all.
fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(floats.unary::<_, Float32Type>(|f| if f.is_nan() { f32::NAN } else { f }))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Arc::new(floats.unary::<_, Float64Type>(|f| if f.is_nan() { f64::NAN } else { f }))
        }
        _ => array.clone(),
    }
}

/// The distinct keys of an equality delete file.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    /// Ordinals of keys, by hash.
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
}

impl KeySet {
    /// Adds the keys of some rows.
    ///
    /// # Errors
    /// As [`KeyEncoder::encode`]; `Unsupported` for more than 2³² keys.
    pub(crate) fn extend(&mut self, encoder: &KeyEncoder, arrays: &KeyArrays) -> Result<()> {
        let KeySet { table, bytes, ends } = self;
        for row in &encoder.encode(arrays)? {
            let key = row.as_ref();
            let hash = encoder.hash(key);
            if table.find(hash, |&i| key_at(bytes, ends, i) == key).is_some() {
                continue;
            }
            let ordinal = u32::try_from(ends.len())
                .map_err(|e| Error::unsupported("the delete file has more than 2^32 keys").because(e))?;
            bytes.extend_from_slice(key);
            ends.push(bytes.len());
            table.insert_unique(hash, ordinal, |&i| encoder.hash(key_at(bytes, ends, i)));
        }
        Ok(())
    }

    /// Whether a key with this hash is in it.
    pub(crate) fn contains(&self, hash: u64, key: &[u8]) -> bool {
        self.table.find(hash, |&i| key_at(&self.bytes, &self.ends, i) == key).is_some()
    }

    /// About the bytes it takes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 8 + self.table.capacity() * 5) as u64
    }
}

fn key_at<'a>(bytes: &'a [u8], ends: &[usize], ordinal: u32) -> &'a [u8] {
    let at = ordinal as usize;
    let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(at).and_then(|end| bytes.get(start..*end)).unwrap_or_default()
}
