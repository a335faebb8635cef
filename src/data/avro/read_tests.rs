use std::collections::HashMap;

use apache_avro::types::Value as A;
use apache_avro::writer::datum::GenericDatumWriter;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::codec::avro::ContainerWriter;
use crate::codec::avro::encode::{put_bytes, put_long};
use crate::data::testing::{
    context, delete, deleting, field, leaf, list, position_deletes, projecting, read, required, rows, schema,
    structure, task, write,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::format::task::{DataFile, FileContent, FileFormat, ScanTask};
use crate::types::{PrimitiveType as P, Schema, Type, Value};

const CODECS: [AvroCodec; 4] = [AvroCodec::Null, AvroCodec::Deflate, AvroCodec::Snappy, AvroCodec::Zstd];

fn dir() -> TempDir {
    TempDir::new().unwrap()
}

/// The encoded records, made by the `apache-avro` crate.
pub(super) fn encoded(schema: &str, records: &[A]) -> Vec<Vec<u8>> {
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let writer = GenericDatumWriter::builder(&schema).build().unwrap();
    records.iter().map(|r| writer.write_value_to_vec(r.clone()).unwrap()).collect()
}

pub(super) fn container(schema: &str, records: &[A], codec: AvroCodec) -> Vec<u8> {
    let mut writer = ContainerWriter::new(schema, &[], codec);
    encoded(schema, records).iter().for_each(|record| writer.record(|out| out.extend_from_slice(record)));
    writer.finish().unwrap()
}

/// A container of uncompressed blocks that claim this number of records.
fn blocks(schema: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut out = ContainerWriter::new(schema, &[], AvroCodec::Null).finish().unwrap();
    let sync = out[out.len() - SYNC_LENGTH..].to_vec();
    for (count, data) in blocks {
        put_long(&mut out, *count);
        put_bytes(&mut out, data);
        out.extend_from_slice(&sync);
    }
    out
}

/// Small blocks of these records.
fn in_blocks(schema: &str, records: &[A], each: usize) -> Vec<u8> {
    let all: Vec<_> = encoded(schema, records).chunks(each).map(|c| (c.len() as i64, c.concat())).collect();
    blocks(schema, &all)
}

pub(super) fn save(dir: &TempDir, bytes: &[u8]) -> String {
    let path = dir.path().join(format!("{}.avro", uuid::Uuid::new_v4())).display().to_string();
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(super) fn avro_task(path: &str, filter: BoundPredicate) -> ScanTask {
    let mut task = task(path, filter);
    Arc::make_mut(&mut task.data_file).format = FileFormat::Avro;
    task
}

fn text(schema: &Schema, bytes: &[u8]) -> Vec<String> {
    let dir = dir();
    rows(&read(&context(schema), &avro_task(&save(&dir, bytes), BoundPredicate::True)).unwrap())
}

fn fails(schema: &Schema, bytes: &[u8]) -> Error {
    let dir = dir();
    let path = save(&dir, bytes);
    let e = read(&context(schema), &avro_task(&path, BoundPredicate::True)).unwrap_err();
    assert!(e.to_string().contains(&path), "{e}");
    e
}

fn record(members: &[(&str, A)]) -> A {
    A::Record(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn some(value: A) -> A {
    A::Union(1, Box::new(value))
}

/// Java Paimon up to 0.8 writes files whose row type may be null.
#[test]
fn rows_may_be_in_unions() {
    let of = |rows: &str| format!(r#"{{"type":"record","name":"r","fields":[{rows}]}}"#);
    let record_schema = of(r#"{"name":"a","type":"long","field-id":1},{"name":"s","type":"string","field-id":2}"#);
    let s = schema(vec![required(1, "a", P::Long), field(2, "s", P::String)]);
    let one = |a: i64, text: &str| record(&[("a", A::Long(a)), ("s", A::String(text.into()))]);
    for (union, branch) in [(format!(r#"["null",{record_schema}]"#), 1), (format!(r#"[{record_schema},"null"]"#), 0)] {
        let rows: Vec<A> = [one(1, "x"), one(2, "")].map(|row| A::Union(branch, Box::new(row))).to_vec();
        assert_eq!(text(&s, &container(&union, &rows, AvroCodec::Deflate)), ["1|x", "2|"]);
        assert_eq!(text(&s, &in_blocks(&union, &rows, 1)), ["1|x", "2|"]);
        let null = A::Union(1 - branch, Box::new(A::Null));
        let long = A::Union(branch, Box::new(one(3, "long enough for two")));
        let e = fails(&s, &container(&union, &[long, null], AvroCodec::Null));
        assert!(e.to_string().contains("is null"), "{e}");
    }
    let three = format!(r#"["null",{record_schema},"int"]"#);
    fails(&s, &container(&three, &[A::Union(1, Box::new(one(1, "x")))], AvroCodec::Null));
}

/// The schema that Java writes for a table of every type, with optional columns in both orders.
const EVERY_TYPE: &str = r#"{"type":"record","name":"table","fields":[
    {"name":"b","type":"boolean","field-id":1},
    {"name":"i","type":["null","int"],"default":null,"field-id":2},
    {"name":"l","type":["long","null"],"field-id":3},
    {"name":"f","type":"float","field-id":4},
    {"name":"d","type":"double","field-id":5},
    {"name":"n","type":{"type":"fixed","name":"decimal_9_2","size":4,"logicalType":"decimal","precision":9,"scale":2},"field-id":6},
    {"name":"dt","type":{"type":"int","logicalType":"date"},"field-id":7},
    {"name":"t","type":{"type":"long","logicalType":"time-micros"},"field-id":8},
    {"name":"ts","type":{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false},"field-id":9},
    {"name":"tz","type":{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true},"field-id":10},
    {"name":"s","type":["null","string"],"field-id":11},
    {"name":"u","type":{"type":"fixed","name":"uuid_fixed","size":16,"logicalType":"uuid"},"field-id":12},
    {"name":"x","type":["null",{"type":"fixed","name":"fixed_3","size":3}],"field-id":13},
    {"name":"bin","type":["null","bytes"],"field-id":14},
    {"name":"st","type":["null",{"type":"record","name":"r15","fields":[
        {"name":"a","type":["null","int"],"field-id":16}]}],"field-id":15},
    {"name":"li","type":["null",{"type":"array","items":["null","int"],"element-id":18}],"field-id":17},
    {"name":"m","type":{"type":"map","values":["null","long"],"key-id":20,"value-id":21},"field-id":19},
    {"name":"pm","type":{"type":"array","logicalType":"map","items":{"type":"record","name":"k23_v24","fields":[
        {"name":"key","type":"int","field-id":23},{"name":"value","type":["null","string"],"field-id":24}]}},"field-id":22},
    {"name":"e","type":{"type":"enum","name":"e25","symbols":["A","B"]},"field-id":25},
    {"name":"tn","type":{"type":"long","logicalType":"timestamp-nanos","adjust-to-utc":true},"field-id":26},
    {"name":"ms","type":{"type":"long","logicalType":"timestamp-millis","adjust-to-utc":"true"},"field-id":27},
    {"name":"nb","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":1},"field-id":28},
    {"name":"tm","type":{"type":"int","logicalType":"time-millis"},"field-id":29}]}"#;

fn every_type() -> Schema {
    let map = |key: i32, k: P, v: P| Type::Map(Arc::new(required(key, "key", k)), Arc::new(field(key + 1, "value", v)));
    schema(vec![
        required(1, "b", P::Boolean),
        field(2, "i", P::Int),
        field(3, "l", P::Long),
        required(4, "f", P::Float),
        required(5, "d", P::Double),
        required(6, "n", P::Decimal { precision: 9, scale: 2 }),
        required(7, "dt", P::Date),
        required(8, "t", P::Time),
        required(9, "ts", P::Timestamp),
        required(10, "tz", P::Timestamptz),
        field(11, "s", P::String),
        required(12, "u", P::Uuid),
        field(13, "x", P::Fixed(3)),
        field(14, "bin", P::Binary),
        field(15, "st", structure(vec![field(16, "a", P::Int)])),
        field(17, "li", list(field(18, "element", P::Int))),
        field(19, "m", map(20, P::String, P::Long)),
        field(22, "pm", map(23, P::Int, P::String)),
        field(25, "e", P::String),
        field(26, "tn", P::TimestamptzNs),
        field(27, "ms", P::Timestamptz),
        field(28, "nb", P::Decimal { precision: 20, scale: 1 }),
        field(29, "tm", P::Time),
    ])
}

fn every_value(full: bool) -> A {
    let optional = |value: A| if full { some(value) } else { A::Union(0, Box::new(A::Null)) };
    let pair = |key: i32, value: A| record(&[("key", A::Int(key)), ("value", value)]);
    record(&[
        ("b", A::Boolean(full)),
        ("i", optional(A::Int(-7))),
        ("l", if full { A::Union(0, Box::new(A::Long(1 << 40))) } else { A::Union(1, Box::new(A::Null)) }),
        ("f", A::Float(1.5)),
        ("d", A::Double(-2.25)),
        ("n", A::Fixed(4, vec![0xff, 0xff, 0xff, 0x85])),
        ("dt", A::Date(17_486)),
        ("t", A::TimeMicros(81_068_000_001)),
        ("ts", A::TimestampMicros(1_510_871_468_000_001)),
        ("tz", A::TimestampMicros(-1)),
        ("s", optional(A::String("häß".into()))),
        ("u", A::Fixed(16, (0..16).collect())),
        ("x", optional(A::Fixed(3, vec![1, 2, 255]))),
        ("bin", optional(A::Bytes(vec![0, 128]))),
        ("st", optional(record(&[("a", some(A::Int(5)))]))),
        ("li", optional(A::Array(vec![some(A::Int(1)), A::Union(0, Box::new(A::Null)), some(A::Int(3))]))),
        ("m", A::Map(if full { HashMap::from([("k".to_owned(), some(A::Long(9)))]) } else { HashMap::new() })),
        ("pm", A::Array(vec![pair(4, optional(A::String("v".into()))), pair(5, A::Union(0, Box::new(A::Null)))])),
        ("e", A::Enum(1, "B".into())),
        ("tn", A::TimestampNanos(1)),
        ("ms", A::TimestampMillis(1_500)),
        ("nb", A::Decimal(apache_avro::Decimal::from([0xff, 0xff, 0xfe, 0xd4]))),
        ("tm", A::TimeMillis(61_001)),
    ])
}

#[test]
fn every_type_is_read_through_every_codec() {
    let full = "true|-7|1099511627776|1.5|-2.25|-1.23|2017-11-16|22:31:08.000001|2017-11-16T22:31:08.000001\
                |1969-12-31T23:59:59.999999Z|häß|000102030405060708090a0b0c0d0e0f|0102ff|0080|{a: 5}|[1, -, 3]|{k: 9}\
                |{4: v, 5: -}|B|1970-01-01T00:00:00.000000001Z|1970-01-01T00:00:01.500Z|-30.0|00:01:01.001";
    let bare = "false|-|-|1.5|-2.25|-1.23|2017-11-16|22:31:08.000001|2017-11-16T22:31:08.000001\
                |1969-12-31T23:59:59.999999Z|-|000102030405060708090a0b0c0d0e0f|-|-|-|-|{}\
                |{4: -, 5: -}|B|1970-01-01T00:00:00.000000001Z|1970-01-01T00:00:01.500Z|-30.0|00:01:01.001";
    for codec in CODECS {
        let bytes = container(EVERY_TYPE, &[every_value(true), every_value(false)], codec);
        assert_eq!(text(&every_type(), &bytes), [full, bare], "{codec:?}");
    }
}

const LONGS: &str = r#"{"type":"record","name":"table","fields":[
    {"name":"pad","type":"string","field-id":9},{"name":"a","type":["null","long"],"field-id":1}]}"#;

fn longs() -> Schema {
    schema(vec![field(1, "a", P::Long)])
}

fn numbers(range: Range<i64>) -> Vec<A> {
    let row = |n: i64| record(&[("pad", A::String("x".repeat(n as usize % 40))), ("a", some(A::Long(n)))]);
    range.map(row).collect()
}

fn texts(range: impl Iterator<Item = i64>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[test]
fn every_block_belongs_to_one_split_whether_positions_matter_or_not() {
    let dir = dir();
    let bytes = in_blocks(LONGS, &numbers(0..60), 7);
    let path = save(&dir, &bytes);
    let whole = avro_task(&path, BoundPredicate::True);
    let deletes = vec![position_deletes(&dir, &[(&path, 0), (&path, 13), (&path, 14), (&path, 59)])];
    let live: Vec<String> = texts((0..60).filter(|n| ![0, 13, 14, 59].contains(n)));
    let size = bytes.len() as i64;
    for cut in (0..=size).step_by(5) {
        let parts = [(0, cut), (cut, size - cut)];
        let of = |(start, length): (i64, i64)| ScanTask { start, length, ..whole.clone() };
        let all = parts.map(|part| rows(&read(&context(&longs()), &of(part)).unwrap())).concat();
        assert_eq!(all, texts(0..60), "{cut}");
        let left = parts.map(|part| rows(&read(&context(&longs()), &deleting(of(part), deletes.clone())).unwrap()));
        assert_eq!(left.concat(), live, "{cut}");
    }
    // A block belongs to the next split if its marker begins at the end of a split, as in Java.
    let first = Container::parse(&bytes).unwrap().blocks[0].range.end as i64;
    let part = |length: i64| rows(&read(&context(&longs()), &ScanTask { length, ..whole.clone() }).unwrap());
    assert_eq!(part(first), texts(0..7));
    assert_eq!(part(first + 1), texts(0..14));
}

#[test]
fn large_files_are_fetched_in_pieces() {
    let dir = dir();
    let pad = |n: i64| record(&[("pad", A::String("y".repeat(300_000))), ("a", some(A::Long(n)))]);
    let records: Vec<A> = (0..40).map(pad).collect();
    let path = save(&dir, &in_blocks(LONGS, &records, 3));
    let whole = avro_task(&path, BoundPredicate::True);
    assert_eq!(rows(&read(&context(&longs()), &whole).unwrap()), texts(0..40));
    let deletes = vec![position_deletes(&dir, &[(&path, 39), (&path, 21)])];
    let late = ScanTask { start: whole.length / 2, length: whole.length - whole.length / 2, ..whole };
    let without = rows(&read(&context(&longs()), &late).unwrap());
    assert_eq!(without.first().map(String::as_str), Some("21"));
    assert_eq!(rows(&read(&context(&longs()), &deleting(late, deletes)).unwrap()), without[1..18]);
}

#[test]
fn filters_and_deletes_of_every_kind_apply() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Long), field(9, "pad", P::String)]);
    let path = save(&dir, &in_blocks(LONGS, &numbers(0..30), 4));
    let only = |filter: BoundPredicate| avro_task(&path, filter);
    let big = leaf(&s, 1, Op::GtEq, vec![Value::Long(25)]);
    let narrow = longs();
    let read_a = |task: &ScanTask| rows(&read(&projecting(&s, &narrow), task).unwrap());
    assert_eq!(read_a(&only(big.clone())), texts(25..30));
    // Delete files in Avro: by position and by key.
    let positions = r#"{"type":"record","name":"d","fields":[
        {"name":"file_path","type":"string","field-id":2147483546},{"name":"pos","type":"long","field-id":2147483545}]}"#;
    let gone = |pos: i64| record(&[("file_path", A::String(path.clone())), ("pos", A::Long(pos))]);
    let avro = |content, bytes: &[u8]| delete(content, FileFormat::Avro, &save(&dir, bytes));
    let by_position =
        avro(FileContent::PositionDeletes, &container(positions, &[gone(3), gone(27), gone(27)], AvroCodec::Deflate));
    let keys = r#"{"type":"record","name":"d","fields":[{"name":"k","type":["null","long"],"field-id":1}]}"#;
    let key = |k: i64| record(&[("k", some(A::Long(k)))]);
    let by_key = avro(FileContent::EqualityDeletes, &container(keys, &[key(5), key(28)], AvroCodec::Zstd));
    let by_key = DataFile { equality_ids: Some(vec![1]), ..by_key };
    let deletes = vec![by_position, by_key];
    let live = texts((0..30).filter(|n| ![3, 27, 5, 28].contains(n)));
    assert_eq!(read_a(&deleting(only(BoundPredicate::True), deletes.clone())), live);
    assert_eq!(read_a(&deleting(only(big), deletes.clone())), texts([25, 26, 29].into_iter()));
    // The same deletes of a Parquet file.
    let numbers: arrow::array::Int64Array = (0..30).collect();
    let parquet = task(&write(&dir, &narrow, vec![Arc::new(numbers)]), BoundPredicate::True);
    let live = texts((0..30).filter(|n| ![5, 28].contains(n)));
    assert_eq!(rows(&read(&context(&narrow), &deleting(parquet, deletes)).unwrap()), live);
}

#[test]
fn delete_files_have_the_rows_that_were_committed() {
    let dir = dir();
    let bytes = in_blocks(LONGS, &numbers(0..30), 10);
    let file = delete(FileContent::EqualityDeletes, FileFormat::Avro, &save(&dir, &bytes));
    let data = avro_task(&save(&dir, &bytes), BoundPredicate::True);
    for (recorded, left) in [(29, Some(0)), (30, Some(0)), (31, None)] {
        let size_bytes = file.size_bytes + 1;
        let file = DataFile { equality_ids: Some(vec![1]), record_count: recorded, size_bytes, ..file.clone() };
        match (read(&context(&longs()), &deleting(data.clone(), vec![file.clone()])), left) {
            (Ok(batches), Some(left)) => assert_eq!(rows(&batches).len(), left),
            (Err(e), None) => {
                assert_eq!(e.kind(), ErrorKind::CorruptTable);
                let text = e.to_string();
                assert!(text.contains("has 30 rows in") && text.contains(&file.path), "{e}");
            }
            (other, _) => panic!("{other:?} for {recorded}"),
        }
    }
}

#[test]
fn lost_blocks_are_noticed() {
    let dir = dir();
    let bytes = in_blocks(LONGS, &numbers(0..30), 10);
    let second = Container::parse(&bytes).unwrap().blocks[1].range.end + SYNC_LENGTH;
    let mut task = avro_task(&save(&dir, &bytes[..second]), BoundPredicate::True);
    let file = Arc::make_mut(&mut task.data_file);
    (file.record_count, file.size_bytes) = (30, bytes.len() as i64);
    task.length = bytes.len() as i64;
    let cut_off = |task: &ScanTask| {
        let e = read(&context(&longs()), task).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        assert!(e.to_string().contains(&format!("{second} bytes instead of {}", bytes.len())), "{e}");
    };
    cut_off(&task);
    // The expected number of rows in a part is not known.
    let (start, length) = (task.length / 2, task.length - task.length / 2);
    cut_off(&ScanTask { start, length, ..task.clone() });
    assert!(read(&context(&longs()), &ScanTask { length: start, ..task.clone() }).is_ok());
    // Java checks neither number. If only one of them is wrong, the file has all rows.
    Arc::make_mut(&mut task.data_file).record_count = 20;
    assert_eq!(rows(&read(&context(&longs()), &task).unwrap()).len(), 20);
    let mut task = avro_task(&save(&dir, &bytes), BoundPredicate::True);
    Arc::make_mut(&mut task.data_file).record_count = 31;
    assert_eq!(rows(&read(&context(&longs()), &task).unwrap()).len(), 30);
}

#[test]
fn rows_without_bytes_are_as_many_as_the_table_says() {
    let dir = dir();
    let unknown = schema(vec![field(1, "a", P::Unknown)]);
    let none = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"null","field-id":1}]}"#;
    let count = |blocks_of: &[(i64, Vec<u8>)], recorded: i64| {
        let mut task = avro_task(&save(&dir, &blocks(none, blocks_of)), BoundPredicate::True);
        Arc::make_mut(&mut task.data_file).record_count = recorded;
        let context = projecting(&unknown, &schema(vec![]));
        let context = Arc::new(crate::format::task::ReadContext { batch_rows: 1 << 20, ..context.as_ref().clone() });
        let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
        let batches = crate::data::read::task::read_task(&store, &context, &task, &Default::default()).unwrap();
        batches.map(|batch| batch.map(|b| b.num_rows())).sum::<Result<usize>>()
    };
    let most = FREE_ROWS as i64;
    assert_eq!(count(&[(most, vec![])], 0).unwrap() as u64, FREE_ROWS);
    assert_eq!(count(&[(most, vec![]), (1, vec![])], most + 1).unwrap() as u64, FREE_ROWS + 1);
    // Each block may be small, but together they would never end.
    let bomb = vec![(most - 1, vec![]); 10_000];
    assert_eq!(count(&bomb, 0).unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn files_without_rows_or_ids() {
    assert!(text(&longs(), &container(LONGS, &[], AvroCodec::Deflate)).is_empty());
    let plain = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"}]}"#;
    // Columns are found by their names, as in Java.
    assert_eq!(text(&longs(), &container(plain, &[record(&[("a", A::Long(1))])], AvroCodec::Null)), ["1"]);
}

#[test]
fn impossible_claims_are_refused() {
    let member =
        |ty: &str| format!(r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{ty},"field-id":1}}]}}"#);
    let ints = |count: i64, data: &[u8]| blocks(&member("\"int\""), &[(count, data.to_vec())]);
    let int = schema(vec![field(1, "a", P::Int)]);
    assert_eq!(text(&int, &ints(2, &[2, 4])), ["1", "2"]);
    let unknown = schema(vec![field(1, "a", P::Unknown)]);
    let nulls = schema(vec![field(1, "a", list(field(2, "element", P::Unknown)))]);
    let decimal = schema(vec![field(1, "a", P::Decimal { precision: 2, scale: 0 })]);
    let string = schema(vec![field(1, "a", P::String)]);
    let number = r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":0}"#;
    let symbols = r#"{"type":"enum","name":"e","symbols":["A"]}"#;
    let free = [&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01][..], &[0]].concat();
    for (s, bytes, expected) in [
        (&int, ints(3, &[2, 4]), "claims 3 records"),
        (&int, ints(1, &[2, 4]), "longer than its records"),
        (&int, ints(i64::MAX, &[2]), "records"),
        (&int, ints(-1, &[2]), "claims -1 records"),
        (&int, ints(1, &[0xff]), "runs past the end"),
        (&unknown, blocks(&member("\"null\""), &[(i64::MAX, vec![])]), "records"),
        (&nulls, blocks(&member(r#"{"type":"array","items":"null"}"#), &[(1, free)]), "take no bytes"),
        (&decimal, blocks(&member(number), &[(1, vec![2, 100])]), "more digits"),
        (&decimal, blocks(&member(number), &[(1, [&[34u8][..], &[1; 17]].concat())]), "more digits"),
        (&string, blocks(&member(symbols), &[(1, vec![2])]), "no symbol 1"),
        (&string, blocks(&member("\"string\""), &[(1, vec![2, 0xff])]), "values of an Avro column"),
        (&int, blocks(&member(r#"["int","string"]"#), &[(1, vec![0, 2])]), "cannot be read as int"),
        (&int, blocks("\"int\"", &[(1, vec![2])]), "not records"),
    ] {
        let e = fails(s, &bytes);
        assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");
        let chain = format!("{e} {:?}", std::error::Error::source(&e).map(ToString::to_string));
        assert!(chain.contains(expected), "{expected}: {chain}");
    }
    assert_eq!(text(&decimal, &blocks(&member(number), &[(1, vec![2, 99])])), ["99"]);
    assert_eq!(text(&decimal, &blocks(&member(number), &[(1, [&[36u8][..], &[0xff; 18]].concat())])), ["-1"]);
    assert_eq!(text(&unknown, &blocks(&member("\"null\""), &[(9, vec![])])), ["-"; 9]);
}

#[test]
fn schemas_that_unfold_without_end_are_refused() {
    let mut members = r#"{"name":"a","type":"int","field-id":1}"#.to_owned();
    for depth in 0..40 {
        let inner = format!(r#"{{"type":"record","name":"r{depth}","fields":[{members}]}}"#);
        members = format!(r#"{{"name":"x","type":{inner}}},{{"name":"y","type":"r{depth}"}}"#);
    }
    let e = fails(&longs(), &blocks(&format!(r#"{{"type":"record","name":"r","fields":[{members}]}}"#), &[]));
    assert_eq!(e.kind(), ErrorKind::Unsupported);
}

#[test]
fn truncated_and_flipped_files_give_errors_or_rows() {
    let dir = dir();
    let s = every_type();
    for codec in [AvroCodec::Null, AvroCodec::Snappy] {
        let bytes = container(EVERY_TYPE, &[every_value(true), every_value(false)], codec);
        let (right, right_size) = (text(&s, &bytes), bytes.len() as i64);
        let path = save(&dir, &bytes);
        let attempt = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut task = avro_task(&path, BoundPredicate::True);
            let file = Arc::make_mut(&mut task.data_file);
            (file.record_count, file.size_bytes) = (2, right_size);
            task.length = right_size;
            read(&context(&s), &task).map(|batches| rows(&batches))
        };
        for end in 0..bytes.len() {
            let e = attempt(&bytes[..end]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::CorruptTable, "{end}: {e}");
        }
        let data = Container::parse(&bytes).unwrap().blocks[0].range.clone();
        for (at, bit) in (0..bytes.len()).flat_map(|at| [0, 6].map(|bit| (at, bit))) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            // The checksum of a block finds damage in it.
            match attempt(&damaged) {
                Ok(_) if codec == AvroCodec::Snappy && data.contains(&at) => panic!("damage at {at} was not noticed"),
                Ok(rows) if at >= data.start && codec == AvroCodec::Snappy => assert_eq!(rows, right),
                Ok(_) => {}
                Err(e) => assert_ne!(e.kind(), ErrorKind::Internal, "{at}: {e}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_block_gives_an_error_or_rows(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        noise in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut data = encoded(EVERY_TYPE, &[every_value(true), every_value(false)]).concat();
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        data.extend_from_slice(&noise);
        let dir = dir();
        let path = save(&dir, &blocks(EVERY_TYPE, &[(2, data)]));
        if let Err(e) = read(&context(&every_type()), &avro_task(&path, BoundPredicate::True)) {
            prop_assert_eq!(e.kind(), ErrorKind::CorruptTable);
        }
    }
}
