//! Finds the files that can contain a row with one of the source's keys.
//!
//! A file is skipped if no key lies between its bounds of a key column, or if no key falls into its partition. The
//! keys are sorted once. Each file then needs one binary search, and no expression is built for a key.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::{SortOptions, concat, sort};

use super::key_columns::KeyColumns;
use crate::data::arrow::array_value::value_at;
use crate::error::{Error, Result};
use crate::expr::bounds::{ColumnBounds, Presence};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op, Predicate, parse};
use crate::types::{Field, FieldId, PrimitiveType, ValueRef};

/// The known facts about the source's keys.
pub(crate) struct KeyRanges {
    pub(crate) columns: Vec<KeyColumn>,
    /// The tuples of keys, by spec.
    pub(crate) partitions: HashMap<i32, KeyTuples>,
}

/// The partition fields that come from key columns, and their tuples for the keys.
pub(crate) type KeyTuples = (HashSet<FieldId>, HashSet<Vec<u8>>);

pub(crate) struct KeyColumn {
    /// The fields from the top-level column down.
    path: Vec<Field>,
    pub(crate) field: Field,
    /// Ascending, without nulls and NaNs. `None` if the values can't be sorted.
    sorted: Option<ArrayRef>,
    has_nan: bool,
}

impl KeyRanges {
    /// The ranges for keys alone, without partitions.
    pub(crate) fn of_values(keys: &KeyColumns, batches: &[RecordBatch]) -> KeyRanges {
        let paths = keys.paths().iter().enumerate();
        let columns = paths.filter_map(|(at, path)| KeyColumn::new(path, at, batches)).collect();
        KeyRanges { columns, partitions: HashMap::new() }
    }

    /// A filter that is true for every row with a key of the source. It may be true for all rows.
    ///
    /// # Errors
    /// `Internal` if a value has no text.
    pub(crate) fn filter(&self) -> Result<Predicate> {
        let leaves = self.columns.iter().flat_map(KeyColumn::leaves);
        match BoundPredicate::all(leaves) {
            BoundPredicate::True => Ok(Predicate::True),
            filter => parse(&filter.to_string())
                .map_err(|e| Error::internal("a range of keys can't be written as text").because(e)),
        }
    }
}

impl KeyColumn {
    fn new(path: &[Field], at: usize, batches: &[RecordBatch]) -> Option<KeyColumn> {
        let (path, field) = (path.to_vec(), path.last()?.clone());
        let arrays: Vec<&dyn Array> = batches.iter().map(|b| b.column(at).as_ref()).collect();
        let options = SortOptions { descending: false, nulls_first: false };
        let sorted = concat(&arrays).and_then(|all| sort(&all, Some(options))).ok();
        let ty = field.ty.as_primitive();
        let (Some(all), Some(ty)) = (sorted, ty) else {
            return Some(KeyColumn { path, field, sorted: None, has_nan: true });
        };
        let valid = all.len() - all.logical_null_count();
        let is_nan = |i: usize| value_at(&all, i, ty).is_some_and(ValueRef::is_nan);
        // NaNs are at one end or the other, by their sign.
        let first = (0..valid).find(|i| !is_nan(*i)).unwrap_or(valid);
        let end = (first..valid).rev().find(|i| !is_nan(*i)).map_or(first, |i| i + 1);
        let has_nan = first > 0 || end < valid;
        Some(KeyColumn { path, field, sorted: Some(all.slice(first, end - first)), has_nan })
    }

    /// Between its least and its greatest value.
    fn leaves(&self) -> Vec<BoundPredicate> {
        let (Some(sorted), Some(ty)) = (&self.sorted, self.field.ty.as_primitive()) else { return Vec::new() };
        let last = sorted.len().checked_sub(1);
        let ends = last.and_then(|last| Some((value_at(sorted, 0, ty)?, value_at(sorted, last, ty)?)));
        // The text of a float may be slightly less or more than the float.
        let Some((least, greatest)) = ends.filter(|_| !ty.is_float()) else { return Vec::new() };
        let Some(term) = BoundTerm::of_column(&self.path.iter().collect::<Vec<_>>()) else { return Vec::new() };
        let leaf = |op, value: ValueRef<'_>| {
            BoundPredicate::Leaf(BoundLeaf { term: term.clone(), op, values: vec![value.to_owned()] })
        };
        vec![leaf(Op::GtEq, least), leaf(Op::LtEq, greatest)]
    }

    /// Whether rows with such bounds may have one of the values.
    pub(crate) fn may_be_in(&self, bounds: &ColumnBounds<'_>, ty: &PrimitiveType) -> bool {
        if bounds.nulls == Presence::Everywhere {
            return false;
        }
        let Some(sorted) = &self.sorted else { return true };
        if self.has_nan && bounds.nans != Presence::Absent {
            return true;
        }
        let at = bounds.lower.map_or(0, |lower| {
            let (mut low, mut high) = (0, sorted.len());
            while low < high {
                let middle = low + (high - low) / 2;
                let below = value_at(sorted, middle, ty).and_then(|v| v.sql_cmp(lower)).is_some_and(|o| o.is_lt());
                if below { low = middle + 1 } else { high = middle }
            }
            low
        });
        let Some(least) = (at < sorted.len()).then(|| value_at(sorted, at, ty)).flatten() else { return false };
        bounds.upper.is_none_or(|upper| {
            least.sql_cmp(upper).is_none_or(|o| o.is_le()) || bounds.upper_is_prefix && least.starts_with(upper)
        })
    }
}
