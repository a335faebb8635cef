//! Sets of key values, from equality delete files.
//!
//! Keys are compared as Java's `StructLikeSet` does: null equals null, NaN equals NaN, and -0.0 differs from 0.0. Each
//! key is kept once, as bytes that are equal exactly for equal keys (Arrow's row format).

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, Rows as EncodedRows, SortField};
use hashbrown::{DefaultHashBuilder, HashTable};

use super::long_keys::{self, LongKeys, LongSet, Searched, as_longs, fits_longs};
use super::weighted_cache::WeightedCache;
use crate::error::{Error, Result};
use crate::parallel::in_steps;
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
    /// Makes an encoder for these columns, of these types. Encoders with the same columns and hasher agree with each
    /// other.
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

    /// Whether keys have one column whose values fit 64 bits.
    fn is_long(&self) -> bool {
        matches!(&self.types[..], [ty] if fits_longs(ty))
    }

    /// The key column, if there is only one.
    fn longs<'a>(&self, arrays: &'a KeyArrays) -> Result<(ScalarBuffer<i64>, Option<&'a NullBuffer>)> {
        let (Some(id), Some(ty)) = (self.ids.first(), self.types.first()) else {
            return Err(Error::internal("a key has no columns"));
        };
        let array = arrays.get(id).filter(|a| a.data_type() == ty);
        array.and_then(as_longs).ok_or_else(|| Error::internal(format!("the key column {id} was not read")))
    }

    /// The key of every row.
    ///
    /// # Errors
    /// `Internal` if a column is not given or of another type.
    fn encode(&self, arrays: &KeyArrays) -> Result<EncodedRows> {
        let column = |(id, ty): (&FieldId, &DataType)| {
            let array = arrays.get(id).filter(|a| a.data_type() == ty);
            array.map(canonical).ok_or_else(|| Error::internal(format!("the key column {id} was not read")))
        };
        let columns = self.ids.iter().zip(&self.types).map(column).collect::<Result<Vec<_>>>()?;
        self.converter.convert_columns(&columns).map_err(|e| Error::internal("keys cannot be encoded").because(e))
    }

    /// The hash of an encoded key.
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// The array with one form of NaN.
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

/// The number of keys that are united between two checks for cancellation.
const KEYS_AT_ONCE: usize = 1 << 16;

/// The distinct keys of an equality delete file.
#[derive(Debug)]
pub(crate) enum KeySet {
    /// Keys of one column whose values fit 64 bits.
    Longs(LongKeys),
    /// Keys of any columns.
    Rows(RowKeys),
}

impl KeySet {
    /// The keys of some rows, which come in batches.
    ///
    /// # Errors
    /// The errors of the batches and of [`KeyEncoder::encode`]; `Unsupported` for more than 2³² keys.
    pub(crate) fn collect(encoder: &KeyEncoder, batches: impl Iterator<Item = Result<KeyArrays>>) -> Result<KeySet> {
        if !encoder.is_long() {
            let mut keys = RowKeys::default();
            for arrays in batches {
                keys.extend(encoder, &arrays?)?;
            }
            return Ok(KeySet::Rows(keys));
        }
        let (mut keys, mut has_null) = (Vec::new(), false);
        for arrays in batches {
            let arrays = arrays?;
            let (longs, nulls) = encoder.longs(&arrays)?;
            match nulls.filter(|n| n.null_count() > 0) {
                None => keys.extend_from_slice(&longs),
                Some(nulls) => {
                    has_null = true;
                    keys.extend(nulls.valid_indices().filter_map(|i| longs.get(i)));
                }
            }
        }
        Ok(KeySet::Longs(LongKeys::new(keys, has_null)?))
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            KeySet::Longs(keys) => keys.memory_bytes(),
            KeySet::Rows(keys) => keys.memory_bytes(),
        }
    }

    fn as_longs(&self) -> Option<&LongKeys> {
        match self {
            KeySet::Longs(keys) => Some(keys),
            KeySet::Rows(_) => None,
        }
    }

    fn as_rows(&self) -> Option<&RowKeys> {
        match self {
            KeySet::Rows(keys) => Some(keys),
            KeySet::Longs(_) => None,
        }
    }
}

/// All keys of several delete files.
#[derive(Debug)]
pub(crate) enum KeyUnion {
    Longs(Arc<LongSet>),
    Rows(RowKeys),
}

impl KeyUnion {
    fn memory_bytes(&self) -> u64 {
        match self {
            KeyUnion::Longs(keys) => keys.memory_bytes(),
            KeyUnion::Rows(keys) => keys.memory_bytes(),
        }
    }
}

/// Unions that tasks share, by the paths of the delete files and the key columns.
pub(crate) type Unions = WeightedCache<(Vec<String>, Vec<FieldId>), KeyUnion>;

/// Equality deletes of the same key columns.
#[derive(Debug)]
pub(crate) struct KeyDeletes {
    encoder: Arc<KeyEncoder>,
    sets: Vec<Arc<KeySet>>,
    /// Where the last search in each set ended.
    ended: Vec<AtomicUsize>,
    /// The paths of the sets' delete files.
    paths: Vec<String>,
    unions: Arc<Unions>,
    /// The union after its first use. Every batch needs it, but `unions` does not keep a union that is too large.
    united: OnceLock<Arc<KeyUnion>>,
}

impl KeyDeletes {
    /// Makes deletes of these sets, which `encoder` made, with the paths of their files.
    pub(crate) fn new(
        encoder: Arc<KeyEncoder>,
        sets: Vec<Arc<KeySet>>,
        paths: Vec<String>,
        unions: Arc<Unions>,
    ) -> KeyDeletes {
        let ended = sets.iter().map(|_| AtomicUsize::new(0)).collect();
        KeyDeletes { encoder, sets, ended, paths, unions, united: OnceLock::new() }
    }

    /// The key columns, ascending.
    pub(crate) fn ids(&self) -> &[FieldId] {
        self.encoder.ids()
    }

    /// The rows of `mask` that stay.
    ///
    /// # Errors
    /// `Internal` if a key column is not given, or of another type or length.
    pub(crate) fn keep(&self, arrays: &KeyArrays, mask: BooleanBuffer) -> Result<BooleanBuffer> {
        let other_length = || Error::internal("a key column has another number of rows than its batch");
        if self.encoder.is_long() {
            let (longs, nulls) = self.encoder.longs(arrays)?;
            let sets = self.sets.iter().zip(&self.ended);
            let sets: Vec<Searched<'_>> = sets.filter_map(|(set, ended)| Some((set.as_longs()?, ended))).collect();
            if longs.len() != mask.len() {
                return Err(other_length());
            }
            let unite = || {
                let all = LongSet::union(sets.iter().map(|(keys, _)| *keys))?;
                Ok(KeyUnion::Longs(Arc::new(all)))
            };
            let union = || match &*self.union(unite)? {
                KeyUnion::Longs(all) => Ok(all.clone()),
                KeyUnion::Rows(_) => Err(Error::internal("keys of one column have two forms")),
            };
            return long_keys::keep(&sets, union, &longs, nulls, mask);
        }
        let keys = self.encoder.encode(arrays)?;
        if keys.num_rows() != mask.len() {
            return Err(other_length());
        }
        let keep = |all: &RowKeys| {
            BooleanBuffer::collect_bool(mask.len(), |i| {
                mask.value(i) && !all.contains(&self.encoder, keys.row(i).as_ref())
            })
        };
        let sets: Vec<&RowKeys> = self.sets.iter().filter_map(|set| set.as_rows()).collect();
        if let [only] = sets[..] {
            return Ok(keep(only));
        }
        match &*self.union(|| RowKeys::union(&self.encoder, &sets).map(KeyUnion::Rows))? {
            KeyUnion::Rows(all) => Ok(keep(all)),
            KeyUnion::Longs(_) => Err(Error::internal("keys of one column have two forms")),
        }
    }

    fn union(&self, unite: impl FnOnce() -> Result<KeyUnion>) -> Result<Arc<KeyUnion>> {
        if let Some(union) = self.united.get() {
            return Ok(union.clone());
        }
        let union = self.unions.get((self.paths.clone(), self.ids().to_vec()), unite, KeyUnion::memory_bytes)?;
        Ok(self.united.get_or_init(|| union).clone())
    }
}

/// Distinct keys as bytes.
#[derive(Debug, Default)]
pub(crate) struct RowKeys {
    /// Ordinals of keys, by hash.
    table: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
}

impl RowKeys {
    fn extend(&mut self, encoder: &KeyEncoder, arrays: &KeyArrays) -> Result<()> {
        encoder.encode(arrays)?.iter().try_for_each(|row| self.add(encoder, row.as_ref()))
    }

    fn union(encoder: &KeyEncoder, sets: &[&RowKeys]) -> Result<RowKeys> {
        let mut all = RowKeys::default();
        for set in sets {
            for range in in_steps(set.ends.len(), KEYS_AT_ONCE) {
                let mut keys = range?.map(|i| key_at(&set.bytes, &set.ends, i as u32));
                keys.try_for_each(|key| all.add(encoder, key))?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, encoder: &KeyEncoder, key: &[u8]) -> Result<()> {
        let RowKeys { table, bytes, ends } = self;
        let hash = encoder.hash(key);
        if table.find(hash, |&i| key_at(bytes, ends, i) == key).is_some() {
            return Ok(());
        }
        let ordinal = u32::try_from(ends.len())
            .map_err(|e| Error::unsupported("the delete files have more than 2^32 keys").because(e))?;
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
        table.insert_unique(hash, ordinal, |&i| encoder.hash(key_at(bytes, ends, i)));
        Ok(())
    }

    fn contains(&self, encoder: &KeyEncoder, key: &[u8]) -> bool {
        self.table.find(encoder.hash(key), |&i| key_at(&self.bytes, &self.ends, i) == key).is_some()
    }

    fn memory_bytes(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 8 + self.table.capacity() * 5) as u64
    }
}

fn key_at<'a>(bytes: &'a [u8], ends: &[usize], ordinal: u32) -> &'a [u8] {
    let at = ordinal as usize;
    let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(at).and_then(|end| bytes.get(start..*end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn a_union_too_large_to_keep_for_other_tasks_is_made_once_for_a_task() {
        let encoder = KeyEncoder::new(&[1], vec![DataType::Int64], DefaultHashBuilder::default()).unwrap();
        let key: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        let set = KeySet::collect(&encoder, std::iter::once(Ok(KeyArrays::from([(1, key)])))).unwrap();
        let unions = Arc::new(Unions::new(1));
        let deletes = KeyDeletes::new(Arc::new(encoder), vec![Arc::new(set)], vec!["a".into()], unions);
        let unions_made = std::cell::Cell::new(0);
        for _ in 0..3 {
            let unite = || {
                unions_made.set(unions_made.get() + 1);
                let keys = LongKeys::new(vec![7], false)?;
                Ok(KeyUnion::Longs(Arc::new(LongSet::union(std::iter::once(&keys))?)))
            };
            deletes.union(unite).unwrap();
        }
        assert_eq!(unions_made.get(), 1);
    }
}
