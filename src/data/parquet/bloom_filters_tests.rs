use arrow::array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use tempfile::TempDir;

use std::sync::Arc;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::parquet::source::ParquetSource;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::read::source::FormatFile;
use crate::data::testing::{field, leaf, read_rows, schema, task, write_batch};
use crate::store::local::LocalStore;
use crate::types::PrimitiveType as P;
use crate::types::Schema;

/// One column of each type that filters can test. The files have `narrow` types where they may be promoted.
fn columns(narrow: bool) -> Schema {
    let wide = |small: P, large: P| if narrow { small } else { large };
    let decimal = |precision: u8| P::Decimal { precision, scale: 2 };
    schema(vec![
        field(1, "i", P::Int),
        field(2, "l", wide(P::Int, P::Long)),
        field(3, "d", P::Date),
        field(4, "t", P::Timestamp),
        field(5, "f", P::Float),
        field(6, "g", wide(P::Float, P::Double)),
        field(7, "n", wide(decimal(9), decimal(30))),
        field(8, "m", decimal(18)),
        field(9, "s", P::String),
        field(10, "b", P::Binary),
        field(11, "u", P::Uuid),
        field(12, "x", P::Double),
    ])
}

fn value(id: i32, n: i64) -> Value {
    match id {
        1 | 3 => Value::Int(n as i32),
        2 | 4 => Value::Long(n),
        5 => Value::Float(n as f32 / 2.0),
        6 | 12 => Value::Double(n as f64 / 2.0),
        7 | 8 => Value::Decimal(n.into()),
        9 => Value::String(format!("text {n:04}")),
        10 => Value::Bytes(n.to_be_bytes().to_vec()),
        _ => Value::Uuid(n as u128),
    }
}

/// Row groups of three rows. Only bloom filters can skip them.
fn file(dir: &TempDir, rows: &[i64]) -> String {
    let ints = || Int32Array::from_iter_values(rows.iter().map(|n| *n as i32));
    let decimals = |precision| {
        let values = Decimal128Array::from_iter_values(rows.iter().map(|n| i128::from(*n)));
        values.with_precision_and_scale(precision, 2).unwrap()
    };
    let bytes: Vec<[u8; 8]> = rows.iter().map(|n| n.to_be_bytes()).collect();
    let uuids = rows.iter().map(|n| (*n as u128).to_be_bytes());
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(ints()),
        Arc::new(ints()),
        Arc::new(Date32Array::from_iter_values(rows.iter().map(|n| *n as i32))),
        Arc::new(TimestampMicrosecondArray::from_iter_values(rows.iter().copied())),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|n| *n as f32 / 2.0))),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|n| *n as f32 / 2.0))),
        Arc::new(decimals(9)),
        Arc::new(decimals(18)),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|n| format!("text {n:04}")))),
        Arc::new(BinaryArray::from_iter_values(bytes.iter())),
        Arc::new(FixedSizeBinaryArray::try_from_iter(uuids).unwrap()),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|n| *n as f64 / 2.0))),
    ];
    let properties = WriterProperties::builder()
        .set_bloom_filter_enabled(true)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(3))
        .build();
    let batch = RecordBatch::try_new(to_arrow(&columns(true)).unwrap(), arrays).unwrap();
    write_batch(dir, &batch, properties)
}

/// The number of row groups that are left.
fn groups(path: &str, schema: &Schema, filter: &BoundPredicate) -> usize {
    let store: Arc<dyn crate::store::Store> = Arc::new(LocalStore);
    let file = ParquetFile::open(&store, path).unwrap();
    let source = ParquetSource::open(&store, path).unwrap();
    let columns = FileColumns::new(source.schema());
    let constants = Constants::of(&task(path, BoundPredicate::True).data_file);
    let filter = Arc::new(filter.clone());
    let (range, columns, constants) = (i64::MIN..i64::MAX, &columns, &constants);
    let part = FilePart { range, filter: &filter, schema, columns, constants, recorded: Default::default() };
    let blooms = BloomFilters::new(&part);
    (0..file.footer().num_row_groups()).filter(|group| blooms.may_match(&file, *group).unwrap()).count()
}

#[test]
fn values_of_every_type_are_found_and_others_ruled_out() {
    let dir = TempDir::new().unwrap();
    let rows: Vec<i64> = (0..300).map(|n| n * 1009 - 100).collect();
    let path = file(&dir, &rows);
    let schema = columns(false);
    for id in 1..=12 {
        for n in [-100, 909, 300 * 1009 - 1109] {
            let filter = leaf(&schema, id, Op::Eq, vec![value(id, n)]);
            let left = groups(&path, &schema, &filter);
            assert!((1..15).contains(&left), "column {id}: {left} of 100 row groups may hold {n}");
            assert_eq!(read_rows(&schema, &path, filter).len(), 1);
        }
        let absent = leaf(&schema, id, Op::In, vec![value(id, 1), value(id, 2)]);
        assert!(groups(&path, &schema, &absent) < 20, "column {id}");
        let other = leaf(&schema, id, Op::NotEq, vec![value(id, 1)]);
        assert_eq!(groups(&path, &schema, &other), 100);
        assert_eq!(groups(&path, &schema, &BoundPredicate::Or(vec![absent.clone(), other])), 100);
        assert!(groups(&path, &schema, &BoundPredicate::And(vec![absent, BoundPredicate::True])) < 20);
    }
    // The stored type can't have these values.
    assert_eq!(groups(&path, &schema, &leaf(&schema, 2, Op::Eq, vec![Value::Long(1 << 40)])), 0);
    assert_eq!(groups(&path, &schema, &leaf(&schema, 6, Op::Eq, vec![Value::Double(0.1)])), 0);
}

#[test]
fn zeros_and_nans() {
    let dir = TempDir::new().unwrap();
    let s = schema(vec![field(1, "x", P::Double)]);
    let array: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 1.0, -f64::NAN]));
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![array]).unwrap();
    let path = write_batch(&dir, &batch, WriterProperties::builder().set_bloom_filter_enabled(true).build());
    for v in [0.0, -0.0, f64::NAN] {
        assert_eq!(read_rows(&s, &path, leaf(&s, 1, Op::Eq, vec![Value::Double(v)])).len(), 1, "{v}");
    }
}

#[test]
fn every_flipped_byte_of_a_filter_gives_an_answer() {
    let dir = TempDir::new().unwrap();
    let s = schema(vec![field(1, "l", P::Long)]);
    let batch =
        RecordBatch::try_new(to_arrow(&s).unwrap(), vec![Arc::new(Int64Array::from_iter_values(0..4)) as ArrayRef]);
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).set_bloom_filter_max_ndv(4).build();
    let path = write_batch(&dir, &batch.unwrap(), properties);
    let store: Arc<dyn crate::store::Store> = Arc::new(LocalStore);
    let chunk = ParquetFile::open(&store, &path).unwrap().footer().row_group(0).column(0).clone();
    let start = chunk.bloom_filter_offset().unwrap() as usize;
    let bytes = std::fs::read(&path).unwrap();
    for at in start..start + chunk.bloom_filter_length().unwrap() as usize {
        for change in [0x01, 0x10, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= change;
            std::fs::write(&path, flipped).unwrap();
            let rows = read_rows(&s, &path, leaf(&s, 1, Op::Eq, vec![Value::Long(2)]));
            // A wrong bit of the set itself cannot be detected. The row may be missed, but no row is made up.
            assert!(rows.is_empty() || rows == ["2"]);
        }
    }
}

proptest! {
    /// The values of `in` are bound in ascending order.
    #[test]
    fn no_row_is_lost(
        rows in prop::collection::vec(0i64..30, 1..40),
        asked in prop::collection::btree_set(0i64..30, 1..4),
    ) {
        let dir = TempDir::new().unwrap();
        let (path, schema) = (file(&dir, &rows), columns(false));
        for id in 1..=12 {
            let filter = leaf(&schema, id, Op::In, asked.iter().map(|n| value(id, *n)).collect());
            let expected = rows.iter().filter(|n| asked.contains(n)).count();
            prop_assert_eq!(read_rows(&schema, &path, filter).len(), expected, "column {}", id);
        }
    }
}
