//! Random files under random deletes of all kinds at once. The result is compared with a check of every single row.

use std::collections::BTreeSet;

use arrow::array::{Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::file::open_rows;
use crate::data::read::rows::RawRows;
use crate::data::read::task::read_task;
use crate::data::testing::{
    deleting, deletion_vector, equality_deletes, field, leaf, position_deletes, projecting, rows, schema, structure,
    task, write_batch,
};
use crate::expr::{BoundPredicate, Op};
use crate::format::task::DataFile;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::types::{PrimitiveType as P, Schema, Value};

/// An int, a float, a text, and a struct with a long in it.
type Row = (Option<i32>, Option<f64>, Option<String>, Option<Option<i64>>);

const KEYS: [i32; 4] = [1, 2, 3, 5];

/// The keys, with the integer column in this type. `row` is the ordinal.
fn columns(int: P) -> Schema {
    schema(vec![
        field(1, "i", int),
        field(2, "f", P::Double),
        field(3, "s", P::String),
        field(4, "st", structure(vec![field(5, "x", P::Long)])),
        field(6, "row", P::Int),
    ])
}

fn arrays(data: &[Row], wide: bool) -> Vec<ArrayRef> {
    let DataType::Struct(members) = to_arrow(&columns(P::Int)).unwrap().field(3).data_type().clone() else {
        unreachable!()
    };
    let inner: Int64Array = data.iter().map(|r| r.3.flatten()).collect();
    let valid = NullBuffer::from(data.iter().map(|r| r.3.is_some()).collect::<Vec<_>>());
    let ints: ArrayRef = match wide {
        true => Arc::new(data.iter().map(|r| r.0.map(i64::from)).collect::<Int64Array>()),
        false => Arc::new(data.iter().map(|r| r.0).collect::<Int32Array>()),
    };
    vec![
        ints,
        Arc::new(data.iter().map(|r| r.1).collect::<Float64Array>()),
        Arc::new(data.iter().map(|r| r.2.clone()).collect::<StringArray>()),
        Arc::new(StructArray::new(members, vec![Arc::new(inner)], Some(valid))),
        Arc::new(Int32Array::from_iter_values(0..data.len() as i32)),
    ]
}

/// A row's key as text that is equal for equal keys.
fn key(row: &Row, ids: &[i32]) -> String {
    let part = |id: &i32| match id {
        1 => format!("{:?}", row.0),
        2 => row.1.map_or("-".into(), |f| if f.is_nan() { "NaN".into() } else { f.to_bits().to_string() }),
        3 => format!("{:?}", row.2),
        _ => format!("{:?}", row.3.flatten()),
    };
    ids.iter().map(part).collect::<Vec<_>>().join("|")
}

fn row() -> impl Strategy<Value = Row> {
    let float = prop::sample::select(vec![0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::from_bits(0x7FF0_0000_0000_0001)]);
    (
        prop::option::of(0..3),
        prop::option::of(float),
        prop::option::of(prop::sample::select(vec!["".to_owned(), "a".to_owned(), "b".to_owned()])),
        prop::option::of(prop::option::of(0..2i64)),
    )
}

/// An equality delete file: its keys, its rows, and whether the int column was a long already.
fn key_file() -> impl Strategy<Value = (Vec<i32>, Vec<Row>, bool)> {
    let ids = prop::sample::subsequence(KEYS.to_vec(), 1..=4).prop_shuffle();
    (ids, prop::collection::vec(row(), 0..6), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn rows_that_any_delete_names_are_gone_and_no_others(
        data in prop::collection::vec(row(), 1..120),
        key_files in prop::collection::vec(key_file(), 0..4),
        position_files in prop::collection::vec(prop::collection::vec(0..130i64, 0..30), 0..3),
        vector in prop::option::weighted(0.3, prop::collection::btree_set(0..120i64, 0..40)),
        at_least in prop::option::of(0..100i32),
        (group_rows, page_rows, batch_rows, parts) in (1usize..60, 1usize..20, 1usize..50, 1i64..4),
        selected in prop::sample::subsequence(vec![0usize, 1, 2, 3], 0..=4),
        kept_bytes in prop::sample::select(vec![0, 400, 1 << 20]),
    ) {
        let dir = TempDir::new().unwrap();
        let batch = RecordBatch::try_new(to_arrow(&columns(P::Int)).unwrap(), arrays(&data, false)).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(group_rows))
            .set_data_page_row_count_limit(page_rows)
            .set_write_batch_size(page_rows)
            .set_dictionary_enabled(data.len() % 2 == 0)
            .build();
        let path = write_batch(&dir, &batch, properties);
        let mut files: Vec<DataFile> = Vec::new();
        for (ids, keys, wide) in &key_files {
            let s = columns(if *wide { P::Long } else { P::Int });
            files.push(equality_deletes(&dir, &s, arrays(keys, *wide), ids));
        }
        for positions in &position_files {
            let named = |p: &i64| [(path.as_str(), *p), ("another", p + 1)];
            files.push(position_deletes(&dir, &positions.iter().flat_map(named).collect::<Vec<_>>()));
        }
        if let Some(positions) = &vector {
            files.push(deletion_vector(&dir, &path, &positions.iter().copied().collect::<Vec<_>>()));
        }

        let by_position: BTreeSet<i64> = match &vector {
            Some(positions) => positions.clone(),
            None => position_files.iter().flatten().copied().collect(),
        };
        let by_key = |row: &Row| key_files.iter().any(|(ids, keys, _)| keys.iter().any(|k| key(k, ids) == key(row, ids)));
        let expected: Vec<String> = (0i32..)
            .zip(&data)
            .filter(|(n, row)| at_least.is_none_or(|l| *n >= l) && !by_position.contains(&(*n).into()) && !by_key(row))
            .map(|(n, _)| n.to_string())
            .collect();

        let now = columns(P::Long);
        let fields = [4].into_iter().chain(selected).map(|i| now.fields[i].clone()).collect();
        let mut context = (*projecting(&now, &schema(fields))).clone();
        context.batch_rows = batch_rows;
        let context = Arc::new(context);
        let filter = at_least.map_or(BoundPredicate::True, |l| leaf(&now, 6, Op::GtEq, vec![Value::Int(l)]));
        let whole = deleting(task(&path, filter), files);
        let ordinals = |batches: &[RecordBatch]| -> Vec<String> {
            let firsts: Vec<_> = batches.iter().map(|b| b.project(&[0]).unwrap()).collect();
            rows(&firsts)
        };
        let store: Arc<dyn Store> = Arc::new(LocalStore);
        let mut found = Vec::new();
        for part in 0..parts {
            let mut split = whole.clone();
            split.start = whole.length * part / parts;
            split.length = whole.length * (part + 1) / parts - split.start;
            // Delete files with too many keys to keep are read for the part alone.
            let batches = read_task(&store, &context, &split, &DeleteCache::new(kept_bytes)).unwrap();
            found.extend(ordinals(&batches.collect::<Result<Vec<_>>>().unwrap()));
        }
        prop_assert_eq!(&found, &expected);

        // The same rows come by the steps that a changelog uses.
        let deletes = DeleteFilter::load(&store, &context, &whole.data_file, &whole.deletes, &DeleteCache::new(0)).unwrap();
        let mut kept = Vec::new();
        for part in open_rows(&store, &context, &whole, &deletes.key_ids()).unwrap() {
            let RawRows { batch, keys, positions } = part.unwrap();
            let places: Vec<String> = positions.iter().map(|p| p.to_string()).collect();
            prop_assert_eq!(&places, &ordinals(std::slice::from_ref(&batch)));
            let mask = deletes.keep(&keys, &positions).unwrap();
            kept.extend(mask.set_indices().map(|i| places[i].clone()));
        }
        prop_assert_eq!(kept, expected);
    }
}
