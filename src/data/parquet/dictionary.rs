//! Decides which columns get a dictionary, by the first rows of a file.
//!
//! A dictionary of values that hardly repeat is slow to make and larger than the values. Java's Parquet writer decides
//! at the first page of a column. Here too: if the dictionary and indices of these rows are not smaller than the
//! values, the values are written plain.

use std::hash::{BuildHasher, Hash};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use hashbrown::{DefaultHashBuilder, HashSet};

/// Rows that are judged: Java's page of 20,000.
const MOST_ROWS: usize = 20_000;

/// Fewer rows show nothing: values that repeat in a file need not repeat in them.
const LEAST_ROWS: usize = 10_000;

/// Whether a dictionary of a column pays off, judged by its first rows. In doubt the answer is yes.
pub(crate) fn pays(column: &ArrayRef) -> bool {
    if column.len() < LEAST_ROWS {
        return true;
    }
    let column = column.slice(0, column.len().min(MOST_ROWS));
    match column.data_type() {
        DataType::Int32 | DataType::Date32 | DataType::Float32 => fixed::<u32>(&column, 4),
        DataType::Int64 | DataType::Timestamp(..) | DataType::Time64(_) | DataType::Float64 => fixed::<u64>(&column, 8),
        DataType::Decimal128(precision, _) => fixed::<u128>(
            &column,
            match precision {
                ..=9 => 4,
                10..=18 => 8,
                _ => 16,
            },
        ),
        DataType::Utf8 => texts(&column, |i| column.as_string::<i32>().value(i).as_bytes()),
        DataType::Binary => texts(&column, |i| column.as_binary::<i32>().value(i)),
        DataType::FixedSizeBinary(_) => texts(&column, |i| column.as_fixed_size_binary().value(i)),
        _ => true,
    }
}

/// Values of the Rust type `N`, which take `bytes` bytes in the file.
fn fixed<N: arrow::datatypes::ArrowNativeType + Hash>(column: &ArrayRef, bytes: usize) -> bool {
    let data = column.to_data();
    let values = data.buffer::<N>(0);
    let sizes = (0..column.len()).filter(|i| column.is_valid(*i)).filter_map(|i| Some((values.get(i)?, bytes)));
    is_smaller(sizes)
}

fn texts<'a>(column: &'a ArrayRef, value: impl Fn(usize) -> &'a [u8]) -> bool {
    const LENGTH: usize = 4;
    let valid = (0..column.len()).filter(|i| column.is_valid(*i));
    is_smaller(valid.map(value).map(|v| (v, v.len() + LENGTH)))
}

/// Whether a dictionary and indices into it take less than the values with their sizes.
fn is_smaller<V: Hash>(values: impl Iterator<Item = (V, usize)>) -> bool {
    let hasher = DefaultHashBuilder::default();
    let mut seen: HashSet<u64> = HashSet::with_capacity(MOST_ROWS);
    let (mut rows, mut plain, mut dictionary) = (0usize, 0usize, 0usize);
    for (value, size) in values {
        rows += 1;
        plain += size;
        if seen.insert(hasher.hash_one(value)) {
            dictionary += size;
        }
    }
    let bits = usize::BITS - seen.len().saturating_sub(1).leading_zeros();
    rows == 0 || dictionary + rows * bits as usize / 8 < plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn longs(values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    #[test]
    fn a_dictionary_pays_for_what_repeats() {
        assert!(!pays(&longs(0..20_000)));
        assert!(pays(&longs((0..20_000).map(|i| i % 10_000))));
        assert!(!pays(&longs((0..20_000).map(|i| i % 16_000))));
        assert!(pays(&longs(0..9_999)), "too few rows to tell");
        // Values after the first page do not count.
        assert!(!pays(&longs((0..40_000).map(|i| i.min(20_000)))));
    }

    #[test]
    fn of_texts_the_length_counts_and_nulls_do_not() {
        let text = |n: u64, i: u64| Some(format!("{:>width$}", i % n, width = 30));
        let texts = |n: u64| -> ArrayRef { Arc::new((0..20_000).map(|i| text(n, i)).collect::<StringArray>()) };
        assert!(pays(&texts(18_000)));
        assert!(!pays(&texts(20_000)));
        let nulls: ArrayRef = Arc::new((0..20_000).map(|i| (i % 2 == 0).then_some(i)).collect::<Int32Array>());
        assert!(!pays(&nulls));
        let nothing: ArrayRef = Arc::new(Int32Array::new_null(20_000));
        assert!(pays(&nothing));
    }
}
