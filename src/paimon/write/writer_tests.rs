use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::Int32Type;
use proptest::prelude::*;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::task::read_task;
use crate::expr::BoundPredicate;
use crate::format::request::ScanRequest;
use crate::format::task::{MergeSection, ScanTask};
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::bucket::Bucketing;
use crate::paimon::spec::data_type::TypeKind;
use crate::paimon::write::new_files::NO_KEY;
use crate::store::{self, Store};
use crate::types::Value;

/// A table with these fields (name, type), keys and options.
fn table(folder: &Path, fields: &[(&str, &str)], keys: [&[&str]; 2], options: &[(&str, &str)]) -> PaimonTable {
    let fields: Vec<serde_json::Value> = fields
        .iter()
        .enumerate()
        .map(|(id, (name, ty))| {
            let ty = serde_json::from_str(ty).unwrap_or_else(|_| serde_json::Value::from(*ty));
            serde_json::json!({"id": id, "name": name, "type": ty})
        })
        .collect();
    let options: serde_json::Map<String, serde_json::Value> =
        options.iter().map(|(k, v)| (k.to_string(), (*v).into())).collect();
    let schema = serde_json::json!({
        "version": 3, "id": 0, "fields": fields, "highestFieldId": 500, "partitionKeys": keys[0],
        "primaryKeys": keys[1], "options": options, "timeMillis": 1,
    });
    std::fs::create_dir_all(folder.join("schema")).unwrap();
    std::fs::write(folder.join("schema/schema-0"), schema.to_string()).unwrap();
    let location = folder.to_str().unwrap();
    let store: Arc<dyn Store> = store::open_store(location, &BTreeMap::new()).unwrap();
    PaimonTable::find(&store, location, &BTreeMap::new()).unwrap().unwrap()
}

fn write(table: &PaimonTable, kind: WriteKind, batches: &[RecordBatch]) -> Vec<NewBucketFile> {
    let mut writer = PaimonWriter::new(table, kind, false).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap().added
}

fn task(file: &NewBucketFile) -> ScanTask {
    let file = file.file.clone();
    ScanTask {
        start: 0,
        length: file.size_bytes,
        deletes: Vec::new(),
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: None,
        data_file: Arc::new(file),
    }
}

fn read(table: &PaimonTable, task: &ScanTask) -> RecordBatch {
    let scan = table.scan(ScanRequest::default()).unwrap();
    let store = table.folder().store().clone();
    let batches = read_task(&store, scan.context(), task, &DeleteCache::default()).unwrap();
    let batches: Vec<RecordBatch> = batches.map(|b| b.unwrap()).collect();
    let schema = to_arrow(table.schema()).unwrap();
    concat_batches(&batches.first().map_or(schema, RecordBatch::schema), &batches).unwrap()
}

/// All types that all formats have, three rows of each with a null among them.
fn every_type() -> (Vec<(&'static str, &'static str)>, RecordBatch) {
    let micros = |zone: Option<&str>, values: [Option<i64>; 3]| -> ArrayRef {
        let array = TimestampMicrosecondArray::from(values.to_vec());
        Arc::new(match zone {
            Some(zone) => array.with_timezone(zone),
            None => array,
        })
    };
    let decimal = |p, s, values: [Option<i128>; 3]| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(p, s).unwrap())
    };
    let lists =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None, Some(127)]), None, Some(vec![])]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(7);
    maps.append(true).unwrap();
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let member: ArrayRef = micros(None, [Some(1_000), None, Some(-7_001_000)]);
    let rows = StructArray::from(vec![(
        Arc::new(arrow::datatypes::Field::new("t", member.data_type().clone(), true)),
        member,
    )]);
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        ("b", "BOOLEAN", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("tiny", "TINYINT", Arc::new(Int8Array::from(vec![Some(-128), Some(127), None]))),
        ("small", "SMALLINT", Arc::new(Int16Array::from(vec![None, Some(-32768), Some(32767)]))),
        ("i", "INT NOT NULL", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("l", "BIGINT", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)]))),
        ("f", "FLOAT", Arc::new(Float32Array::from(vec![Some(-0.0), Some(f32::NAN), None]))),
        ("d", "DOUBLE", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-2.5)]))),
        ("d9", "DECIMAL(9, 2)", decimal(9, 2, [Some(-1), None, Some(999_999_999)])),
        ("d18", "DECIMAL(18, 4)", decimal(18, 4, [Some(5), None, Some(-10_i128.pow(17))])),
        ("d38", "DECIMAL(38, 10)", decimal(38, 10, [Some(10_i128.pow(37)), None, Some(-300)])),
        ("date", "DATE", Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000)]))),
        ("time", "TIME(3)", Arc::new(Time64MicrosecondArray::from(vec![Some(1_000), None, Some(86_399_999_000)]))),
        ("t0", "TIMESTAMP(0)", micros(None, [Some(-7_000_000), None, Some(1_000_000)])),
        ("t3", "TIMESTAMP(3)", micros(None, [Some(7_000), None, Some(1_234_000)])),
        ("t6", "TIMESTAMP(6)", micros(None, [Some(7), None, Some(1_234_567)])),
        ("z3", "TIMESTAMP(3) WITH LOCAL TIME ZONE", micros(Some("UTC"), [Some(7_000), None, Some(0)])),
        ("z6", "TIMESTAMP(6) WITH LOCAL TIME ZONE", micros(Some("UTC"), [Some(7), None, Some(0)])),
        ("c", "CHAR(2)", Arc::new(StringArray::from(vec![Some("ü2"), None, Some("ab")]))),
        ("s", "STRING", Arc::new(StringArray::from(vec![Some(""), None, Some("日本語 and more of it than 16")]))),
        ("y", "BINARY(3)", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"abc"), None, Some(b"")]))),
        ("list", r#"{"type": "ARRAY", "element": "TINYINT"}"#, Arc::new(lists)),
        ("map", r#"{"type": "MAP", "key": "STRING", "value": "BIGINT"}"#, Arc::new(maps.finish())),
        ("row", r#"{"type": "ROW", "fields": [{"id": 100, "name": "t", "type": "TIMESTAMP(3)"}]}"#, Arc::new(rows)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(n, _, c)| (*n, c.clone(), true)));
    (columns.iter().map(|(name, ty, _)| (*name, *ty)).collect(), batch.unwrap())
}

#[test]
fn every_type_is_read_back_from_every_format() {
    for format in ["parquet", "orc", "avro"] {
        let folder = tempfile::tempdir().unwrap();
        let (fields, batch) = every_type();
        let table = table(folder.path(), &fields, [&[], &[]], &[("file.format", format)]);
        let files = write(&table, WriteKind::Add, std::slice::from_ref(&batch));
        let [file] = &files[..] else { panic!("{files:?}") };
        let bucket_file = file.file.bucket_file.as_ref().unwrap();
        assert_eq!((bucket_file.bucket, bucket_file.total_buckets, bucket_file.level), (0, -1, 0));
        assert_eq!((bucket_file.min_sequence_number, bucket_file.max_sequence_number), (0, 2));
        assert_eq!((&bucket_file.min_key[..], bucket_file.delete_row_count), (&NO_KEY[..], Some(0)));
        let back = read(&table, &task(file));
        let mut conformer = crate::data::write::conform::Conformer::new(table.schema().clone()).unwrap();
        let expected = conformer.conform(&batch, 0).unwrap();
        for (name, (a, b)) in fields.iter().zip(back.columns().iter().zip(expected.columns())) {
            assert_eq!(a, b, "{format} {}", name.0);
        }
    }
}

#[test]
fn statistics_are_javas() {
    let folder = tempfile::tempdir().unwrap();
    let (fields, batch) = every_type();
    let table = table(folder.path(), &fields, [&[], &[]], &[]);
    let file = write(&table, WriteKind::Add, &[batch]).remove(0);
    let names: Vec<&str> = fields.iter().map(|f| f.0).filter(|n| !["list", "map", "row"].contains(n)).collect();
    assert_eq!(file.value_stats_cols.as_deref().unwrap(), names);
    let (min, max) = (&file.value_stats.min, &file.value_stats.max);
    let (min, max) = (BinaryRow::from_prefixed(min).unwrap(), BinaryRow::from_prefixed(max).unwrap());
    let bound = |row: &BinaryRow<'_>, name: &str| {
        let at = names.iter().position(|n| *n == name).unwrap();
        row.value(at, &table.table_schema().field(name).unwrap().ty).unwrap().map(|v| v.to_owned())
    };
    assert_eq!(bound(&min, "tiny"), Some(Value::Int(-128)));
    assert_eq!(bound(&max, "d38"), Some(Value::Decimal(10_i128.pow(37))));
    assert!(matches!(bound(&max, "f"), Some(Value::Float(v)) if v.is_nan()));
    assert_eq!(bound(&max, "s"), Some(Value::String("日本語 and more of!".to_owned())));
    assert_eq!((bound(&min, "y"), bound(&max, "y")), (None, None));
    let nulls: Vec<Option<i64>> = names.iter().map(|n| Some(i64::from(*n != "i"))).collect();
    assert_eq!(file.value_stats.null_counts, nulls);
}

fn people(ids: &[i32], names: &[&str]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
    let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
}

/// The rows that are left of some files of one bucket.
fn merged(table: &PaimonTable, files: &[&NewBucketFile]) -> Vec<(i32, String)> {
    let runs = files.iter().map(|file| vec![task(file)]).collect();
    let section = MergeSection { runs, before: None };
    let rows = read(table, &ScanTask { merge: Some(Arc::new(section)), ..task(files[0]) });
    let (ids, names) = (rows.column(0).as_primitive::<Int32Type>(), rows.column(1).as_string::<i32>());
    ids.values().iter().copied().zip(names.iter().map(|n| n.unwrap().to_owned())).collect()
}

#[test]
fn rows_with_one_key_become_one_and_deletes_stay() {
    for format in ["parquet", "orc", "avro"] {
        for thin in ["false", "true"] {
            let folder = tempfile::tempdir().unwrap();
            let fields = [("id", "INT NOT NULL"), ("name", "STRING")];
            let options = [("bucket", "1"), ("file.format", format), ("data-file.thin-mode", thin)];
            let table = table(folder.path(), &fields, [&[], &["id"]], &options);
            let added =
                write(&table, WriteKind::Add, &[people(&[3, 1, 3], &["a", "b", "c"]), people(&[2, 1], &["d", "e"])]);
            let gone = write(&table, WriteKind::Delete, &[people(&[2, 9], &["", ""])]);
            let facts = |file: &NewBucketFile| {
                let bucket_file = file.file.bucket_file.clone().unwrap();
                let key = |row: &[u8]| {
                    BinaryRow::from_prefixed(row)
                        .unwrap()
                        .value(0, &TypeKind::Int.not_null())
                        .unwrap()
                        .unwrap()
                        .to_owned()
                };
                let sequence = (bucket_file.min_sequence_number, bucket_file.max_sequence_number);
                (
                    key(&bucket_file.min_key),
                    key(&bucket_file.max_key),
                    sequence,
                    bucket_file.delete_row_count,
                    file.file.record_count,
                )
            };
            assert_eq!(facts(&added[0]), (Value::Int(1), Value::Int(3), (2, 4), Some(0), 3));
            assert_eq!(facts(&gone[0]), (Value::Int(2), Value::Int(9), (0, 1), Some(2), 2));
            assert_eq!(merged(&table, &[&added[0]]), [(1, "e".into()), (2, "d".into()), (3, "c".into())]);
        }
    }
}

#[test]
fn engines_merge_what_is_buffered() {
    let fields = [("id", "INT NOT NULL"), ("name", "STRING")];
    let rows = people(&[1, 2, 1, 1], &["b", "x", "c", "a"]);
    let of = |options: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let options: Vec<(&str, &str)> = options.iter().copied().chain([("bucket", "1")]).collect();
        let table = table(folder.path(), &fields, [&[], &["id"]], &options);
        let files = write(&table, WriteKind::Add, std::slice::from_ref(&rows));
        assert_eq!(files[0].file.record_count, 2);
        merged(&table, &[&files[0]]).remove(0).1
    };
    assert_eq!(of(&[]), "a");
    assert_eq!(of(&[("sequence.field", "name")]), "c");
    assert_eq!(of(&[("merge-engine", "first-row")]), "b");
    assert_eq!(of(&[("merge-engine", "partial-update")]), "a");
    assert_eq!(of(&[("merge-engine", "aggregation"), ("fields.name.aggregate-function", "listagg")]), "b,c,a");
}

#[test]
fn rows_go_to_their_partition_and_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let fields = [("id", "INT NOT NULL"), ("name", "STRING")];
    let table = table(folder.path(), &fields, [&["name"], &[]], &[("bucket", "3"), ("bucket-key", "id")]);
    let ids: Vec<i32> = (0..100).collect();
    let names: Vec<&str> = ids.iter().map(|id| if id % 2 == 0 { "a=b" } else { " " }).collect();
    let files = write(&table, WriteKind::Add, &[people(&ids, &names)]);
    assert_eq!(files.len(), 6);
    let bucketing = Bucketing::new(table.table_schema()).unwrap();
    let mut rows = 0;
    for file in &files {
        let bucket_file = file.file.bucket_file.as_ref().unwrap();
        let name = match &file.file.partition.values[..] {
            [only] => only.value.clone(),
            other => panic!("{other:?}"),
        };
        let part = if name == Some(Value::String(" ".into())) { "name=__DEFAULT_PARTITION__" } else { "name=a%3Db" };
        assert!(file.file.path.contains(&format!("/{part}/bucket-{}/data-", bucket_file.bucket)), "{}", file.file.path);
        let back = read(&table, &task(file));
        for id in back.column(0).as_primitive::<Int32Type>().values() {
            assert_eq!(bucketing.bucket(&[Some(Value::Int(*id))], 3).unwrap(), bucket_file.bucket);
        }
        assert_eq!(bucket_file.max_sequence_number, back.num_rows() as i64 - 1);
        rows += back.num_rows();
    }
    assert_eq!(rows, 100);
}

#[test]
fn values_beyond_their_type_are_refused() {
    let of = |ty: &str, column: ArrayRef| {
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path(), &[("v", ty)], [&[], &[]], &[]);
        let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
        let mut writer = PaimonWriter::new(&table, WriteKind::Add, false).unwrap();
        writer.write(&batch).unwrap_err().to_string()
    };
    let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let e = of("TINYINT", Arc::new(Int32Array::from(vec![128])));
    assert!(e.contains("128 is not a value of the type TINYINT") && e.contains("column: v"), "{e}");
    assert!(of("VARCHAR(2)", texts("äöü")).contains("VARCHAR(2)"));
    assert!(of("TIMESTAMP(3)", Arc::new(TimestampMicrosecondArray::from(vec![1]))).contains("TIMESTAMP(3)"));
    assert!(of("INT NOT NULL", Arc::new(Int32Array::from(vec![None]))).contains("null"));
    assert!(of("INT", texts("1")).contains("v"));
    let deep = r#"{"type": "ARRAY", "element": "TINYINT"}"#;
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(-129)])]);
    assert!(of(deep, Arc::new(lists)).contains("-129"));
}

#[test]
fn files_that_are_not_committed_go() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), &[("id", "INT"), ("name", "STRING")], [&[], &[]], &[]);
    let mut writer = PaimonWriter::new(&table, WriteKind::Add, false).unwrap();
    writer.write(&people(&[1], &["a"])).unwrap();
    writer.abort().unwrap();
    assert_eq!(std::fs::read_dir(folder.path().join("bucket-0")).map_or(0, Iterator::count), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_last_row_of_a_key_is_written(ids in proptest::collection::vec(0..40i32, 1..300), step in 1usize..70) {
        let folder = tempfile::tempdir().unwrap();
        let fields = [("id", "INT NOT NULL"), ("name", "STRING")];
        let table = table(folder.path(), &fields, [&[], &["id"]], &[("bucket", "2")]);
        let names: Vec<String> = (0..ids.len()).map(|i| i.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let batches: Vec<RecordBatch> =
            (0..ids.len()).step_by(step).map(|i| { let end = (i + step).min(ids.len()); people(&ids[i..end], &names[i..end]) }).collect();
        let files = write(&table, WriteKind::Add, &batches);
        let mut left: Vec<(i32, String)> = files.iter().flat_map(|file| merged(&table, &[file])).collect();
        left.sort();
        let last: BTreeMap<i32, &str> = ids.iter().copied().zip(names.iter().copied()).collect();
        prop_assert_eq!(left, last.into_iter().map(|(id, name)| (id, name.to_owned())).collect::<Vec<_>>());
    }
}
