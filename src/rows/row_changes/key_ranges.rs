//! Finds the files that can contain a row with one of the source's keys.
//!
//! A file is skipped if no key lies between its bounds of a key column, or if no key falls into its partition. The
//! keys are sorted once. Each file then needs one binary search, and no expression is built for a key.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, make_comparator};
use arrow::compute::{SortOptions, concat, sort, sort_to_indices, take};

use super::key_columns::KeyColumns;
use crate::data::arrow::array_value::value_at;
use crate::data::step_sort::{SORT_STEP, merge_steps};
use crate::error::{Error, Result};
use crate::expr::bounds::{ColumnBounds, Presence};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op, Predicate, parse};
use crate::parallel::check_cancelled;
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
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn of_values(keys: &KeyColumns, batches: &[RecordBatch]) -> Result<KeyRanges> {
        let paths = keys.paths().iter().enumerate();
        let columns = paths.filter_map(|(at, path)| KeyColumn::new(path, at, batches).transpose());
        Ok(KeyRanges { columns: columns.collect::<Result<_>>()?, partitions: HashMap::new() })
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
    fn new(path: &[Field], at: usize, batches: &[RecordBatch]) -> Result<Option<KeyColumn>> {
        let Some(field) = path.last().cloned() else { return Ok(None) };
        let path = path.to_vec();
        let arrays: Vec<&dyn Array> = batches.iter().map(|b| b.column(at).as_ref()).collect();
        let (Some(all), Some(ty)) = (sorted(&arrays)?, field.ty.as_primitive()) else {
            return Ok(Some(KeyColumn { path, field, sorted: None, has_nan: true }));
        };
        let valid = all.len() - all.logical_null_count();
        let is_nan = |i: usize| value_at(&all, i, ty).is_some_and(ValueRef::is_nan);
        // NaNs are at one end or the other, by their sign.
        let first = (0..valid).find(|i| !is_nan(*i)).unwrap_or(valid);
        let end = (first..valid).rev().find(|i| !is_nan(*i)).map_or(first, |i| i + 1);
        let has_nan = first > 0 || end < valid;
        Ok(Some(KeyColumn { path, field, sorted: Some(all.slice(first, end - first)), has_nan }))
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

/// All values in ascending order, nulls last. `None` if the values can't be sorted.
fn sorted(arrays: &[&dyn Array]) -> Result<Option<ArrayRef>> {
    let options = SortOptions { descending: false, nulls_first: false };
    let Ok(all) = concat(arrays) else { return Ok(None) };
    if all.len() <= SORT_STEP {
        return Ok(sort(&all, Some(options)).ok());
    }
    let (Ok(count), Ok(compare)) = (u32::try_from(all.len()), make_comparator(&all, &all, options)) else {
        return Ok(None);
    };
    let mut order: Vec<u32> = Vec::with_capacity(all.len());
    for start in (0..count).step_by(SORT_STEP) {
        check_cancelled()?;
        let step = all.slice(start as usize, SORT_STEP.min((count - start) as usize));
        let Ok(step) = sort_to_indices(&step, Some(options), None) else { return Ok(None) };
        order.extend(step.values().iter().map(|row| start + row));
    }
    let order = merge_steps(order, &|a, b| compare(*a as usize, *b as usize))?;
    let mut parts: Vec<ArrayRef> = Vec::with_capacity(order.len().div_ceil(SORT_STEP));
    for rows in order.chunks(SORT_STEP) {
        check_cancelled()?;
        let Ok(part) = take(&all, &UInt32Array::from(rows.to_vec()), None) else { return Ok(None) };
        parts.push(part);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    Ok(concat(&parts).ok())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Float64Array, StringArray};
    use arrow::datatypes::Float64Type;

    use super::*;
    use crate::parallel::Cancellation;

    #[test]
    fn many_values_are_sorted_in_steps() {
        let count = 2 * SORT_STEP + 500;
        let number = |n: usize| (!n.is_multiple_of(1000)).then(|| (n.wrapping_mul(7919) % 100_003) as f64);
        let floats: Float64Array = (0..count).map(number).collect();
        let got = sorted(&[&floats.slice(0, 1000), &floats.slice(1000, count - 1000)]).unwrap().unwrap();
        let mut expected: Vec<f64> = (0..count).filter_map(number).collect();
        expected.sort_by(f64::total_cmp);
        let got = got.as_primitive::<Float64Type>();
        assert_eq!(got.null_count(), count - expected.len());
        assert!(got.values()[..expected.len()] == expected);

        let texts: StringArray = (0..count).map(|n| Some(format!("{}", n.wrapping_mul(7919) % 1009))).collect();
        let got = sorted(&[&texts]).unwrap().unwrap();
        let mut expected: Vec<String> = (0..count).map(|n| format!("{}", n.wrapping_mul(7919) % 1009)).collect();
        expected.sort();
        assert!(got.as_string::<i32>().iter().flatten().eq(expected.iter().map(String::as_str)));
    }

    #[test]
    fn a_cancelled_sort_is_an_error() {
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..2 * SORT_STEP).rev().map(|n| n as f64)));
        for checks in 0..5 {
            let stopped = Cancellation::after(checks).scope(|| sorted(&[&values]).map(drop));
            assert_eq!(stopped.unwrap_err().message(), "stopped");
        }
    }
}
