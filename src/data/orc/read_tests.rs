use std::io::Cursor;

use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use orc_rust::arrow_writer::ArrowWriterBuilder;
use orc_rust::compression::CompressionType;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::FileColumns;
use crate::data::testing::{context, leaf, read, rows, schema, task};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::format::task::{DataFile, FileFormat, ScanTask};
use crate::store::local::LocalStore;
use crate::types::Schema;
use crate::types::schema_json::schema_from_json;

/// A file that Java Iceberg 1.12 wrote, with the table's schema.
fn java_file(name: &str) -> (Vec<u8>, Schema) {
    let path = |ending| format!("{}/tests/data/orc/{name}.{ending}", env!("CARGO_MANIFEST_DIR"));
    let json = serde_json::from_slice(&std::fs::read(path("json")).unwrap()).unwrap();
    (std::fs::read(path("orc")).unwrap(), schema_from_json(&json).unwrap())
}

fn orc_task(path: &str, filter: BoundPredicate) -> ScanTask {
    let task = task(path, filter);
    let data_file = DataFile { format: FileFormat::Orc, ..task.data_file.as_ref().clone() };
    ScanTask { data_file: Arc::new(data_file), ..task }
}

fn open(path: &str) -> Result<OrcSource> {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    OrcSource::open(&store, path)
}

/// All columns of a file by their places, decoded without a guard against panics.
fn read_all(source: OrcSource, batch_rows: usize) -> Result<Vec<(RecordBatch, RowPositions)>> {
    let OrcSource { file, stripes, schema } = source;
    let columns = file.columns.clone();
    let stripes = stripes.into_iter();
    OrcBatches { file, columns, schema: Arc::new(schema), batch_rows, stripes, current: None }.collect()
}

#[test]
fn files_by_java_have_the_rows_that_java_reads() {
    let (_, schema) = java_file("types");
    let path = format!("{}/tests/data/orc/types.orc", env!("CARGO_MANIFEST_DIR"));
    let batches = read(&context(&schema), &orc_task(&path, BoundPredicate::True)).unwrap();
    assert_eq!(rows(&batches), TYPES);
    let (_, schema) = java_file("nested");
    let path = format!("{}/tests/data/orc/nested.orc", env!("CARGO_MANIFEST_DIR"));
    let whole = read(&context(&schema), &orc_task(&path, BoundPredicate::True)).unwrap();
    assert_eq!(rows(&whole), NESTED);
    // A filter on a column that is not wanted, and a struct that is read only in part.
    let filter = leaf(&schema, 9, Op::IsNull, vec![]);
    let second = read(&context(&schema), &orc_task(&path, filter)).unwrap();
    assert_eq!(rows(&second), NESTED[1..]);
}

/// Java stores a time less than a second before 1970 as if it were after 1970, and reads it so.
const TYPES: [&str; 3] = [
    "1|true|1|1|1.5|1.5|1.25|1.0001|1.0000000001|2020-02-29|00:00:00|2020-02-29T12:00:00|2020-02-29T12:00:00Z|iceberg|\
     f79c3e09677c4bbda4793f349cb785e7|00010203|0001",
    "2|false|-1|-1|-1.5|-1.5|-1.25|-1.0001|-1.0000000001|1969-12-31|23:59:59.999999|1970-01-01T00:00:00.999999|\
     1970-01-01T00:00:00.999999Z||00000000000000000000000000000000|ffffffff|",
    "3|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-|-",
];
const NESTED: [&str; 2] = [
    "1|{x: 1, y: a, deep: {z: 1.5}}|[1, 2, 3]|[{k: a, v: 1}, {k: -, v: -}]|{a: 1, b: -}|{1: [p, -], 2: []}|\
     {d: {q: 1960-05-05}}|[[1], [], -]",
    "2|{x: -, y: , deep: -}|[]|[]|{}|{}|{}|[]",
];

/// Damage is an error or goes unnoticed, as ORC has no checksums; it never causes a panic or a huge number of rows.
#[test]
fn damaged_files_are_errors_or_rows() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("damaged.orc").display().to_string();
    let check = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match open(&path).and_then(|source| read_all(source, 1 << 14)) {
            Ok(batches) => assert!(batches.iter().map(|(b, _)| b.num_rows()).sum::<usize>() < 1000),
            Err(e) => {
                let kind = e.kind();
                assert!(matches!(kind, ErrorKind::CorruptTable | ErrorKind::Unsupported), "{e:?}");
            }
        }
    };
    for name in ["types", "nested"] {
        let (bytes, _) = java_file(name);
        for end in 0..bytes.len() {
            check(&bytes[..end]);
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut flipped = bytes.clone();
                flipped[end] ^= flip;
                check(&flipped);
            }
        }
    }
}

/// A file of one row with a column of strings, whose dictionary has this number of strings without bytes.
fn file_with_dictionary(strings: usize) -> Vec<u8> {
    fn varint(mut n: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while n > 127 {
            out.push(n as u8 | 0x80);
            n >>= 7;
        }
        out.push(n as u8);
        out
    }
    let number = |field: usize, n: usize| [varint(field << 3), varint(n)].concat();
    let bytes = |field: usize, b: &[u8]| [varint(field << 3 | 2), varint(b.len()), b.to_vec()].concat();
    let stream = |kind, length| bytes(1, &[number(1, kind), number(2, 1), number(3, length)].concat());
    // Runs of 512 zeros; the row's string is the first.
    let lengths = [0xc1, 0xff, 0, 0].repeat(strings.div_ceil(512));
    let indexes = [0xc0, 0x00, 0, 0];
    let encodings = [bytes(2, &number(1, 0)), bytes(2, &[number(1, 3), number(2, strings)].concat())].concat();
    let stripe_footer = [stream(2, lengths.len()), stream(1, indexes.len()), encodings].concat();
    let data = [lengths.as_slice(), &indexes].concat();
    let stripe = [number(1, 3), number(3, data.len()), number(4, stripe_footer.len()), number(5, 1)].concat();
    let root = [number(1, 12), number(2, 1), bytes(3, b"a")].concat();
    let footer = [bytes(3, &stripe), bytes(4, &root), bytes(4, &number(1, 7)), number(6, 1)].concat();
    let postscript = [number(1, footer.len()), bytes(8000, b"ORC")].concat();
    let end = [postscript.len() as u8];
    [&b"ORC"[..], &data, &stripe_footer, &footer, &postscript, &end].concat()
}

#[test]
fn dictionaries_have_no_more_strings_than_their_stripe_can_hold() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("dictionary.orc").display().to_string();
    std::fs::write(&path, file_with_dictionary(1000)).unwrap();
    let batches = read_all(open(&path).unwrap(), 10).unwrap();
    assert_eq!(batches[0].0.column(0).as_ref(), &StringArray::from(vec![""]));
    std::fs::write(&path, file_with_dictionary(17_000_000)).unwrap();
    let error = read_all(open(&path).unwrap(), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptTable);
    assert!(error.to_string().contains("more strings"), "{error}");
}

#[test]
fn nulls_take_memory() {
    let dir = TempDir::new().unwrap();
    let nulls = || Arc::new(Int64Array::new_null(1000)) as ArrayRef;
    let columns = ["a", "b", "c"].map(|name| (name, nulls(), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let source = open(&write(&dir, &batch, None, 8_000)).unwrap();
    assert_eq!(source.file.row_bytes(&source.file.columns), 3 * 8);
}

#[test]
fn a_stripe_belongs_to_the_part_with_its_first_byte() {
    let dir = TempDir::new().unwrap();
    let values: Vec<i64> = (0..30_000).map(|i| i * 7919 % 10_007).collect();
    let batch = RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(values.clone())) as ArrayRef)]).unwrap();
    let path = write(&dir, &batch, None, 4_000);
    let size = std::fs::metadata(&path).unwrap().len() as i64;
    let stripes = open(&path).unwrap().file.stripes().len();
    assert!(stripes > 3);
    let table = schema(vec![]);
    let constants = Constants::of(&task(&path, BoundPredicate::True).data_file);
    let (filter, columns) = (Arc::new(BoundPredicate::True), FileColumns::new(&ArrowSchema::empty()));
    for parts in [1, 2, 3, 7, 100] {
        let mut next = 0;
        for i in 0..parts {
            let range = size * i / parts..size * (i + 1) / parts;
            let (schema, columns, constants) = (&table, &columns, &constants);
            let part = FilePart { range, filter: &filter, schema, columns, constants, recorded: Default::default() };
            let mut source = open(&path).unwrap();
            if !source.narrow(&part).unwrap() {
                continue;
            }
            for (batch, positions) in read_all(source, 1000).unwrap() {
                assert_eq!(positions, RowPositions::from(next..next + batch.num_rows() as u64));
                let expected = &values[next as usize..next as usize + batch.num_rows()];
                assert_eq!(batch.column(0).as_ref(), &Int64Array::from(expected.to_vec()));
                next += batch.num_rows() as u64;
            }
        }
        assert_eq!(next, 30_000);
    }
}

#[test]
fn a_file_with_fewer_rows_than_the_table_says_is_refused() {
    let (_, schema) = java_file("types");
    let path = format!("{}/tests/data/orc/types.orc", env!("CARGO_MANIFEST_DIR"));
    for (recorded, is_read) in [(0, true), (2, true), (3, true), (4, false)] {
        let mut task = orc_task(&path, BoundPredicate::True);
        let file = Arc::make_mut(&mut task.data_file);
        file.record_count = recorded;
        file.size_bytes += 1;
        let half = ScanTask { length: task.length / 2, ..task.clone() };
        for task in [task, half] {
            match read(&context(&schema), &task) {
                Ok(batches) => assert!(is_read && !rows(&batches).is_empty()),
                Err(e) => {
                    assert!(!is_read && e.kind() == ErrorKind::CorruptTable, "{e}");
                    assert!(e.to_string().contains("has 3 rows in"), "{e}");
                }
            }
        }
    }
}

/// Writes a file with the crate orc-rust.
fn write(dir: &TempDir, batch: &RecordBatch, compression: Option<CompressionType>, stripe_bytes: usize) -> String {
    let mut bytes = Cursor::new(Vec::new());
    let mut builder =
        ArrowWriterBuilder::new(&mut bytes, batch.schema()).with_batch_size(100).with_stripe_byte_size(stripe_bytes);
    if let Some(compression) = compression {
        builder = builder.with_compression(compression).with_compression_block_size(1 << 10);
    }
    let mut writer = builder.try_build().unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    let path = dir.path().join(format!("{}.orc", uuid::Uuid::new_v4())).display().to_string();
    std::fs::write(&path, bytes.into_inner()).unwrap();
    path
}

/// Numbers that the writer can encode. It fails on larger ones.
fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![-3i64..3, 0i64..1000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Files of the crate orc-rust are read with the rows that were written.
    #[test]
    fn files_of_another_writer(
        values in prop::collection::vec(prop::option::weighted(0.8, numbers()), 1..1500),
        codec in 0..6usize,
        batch_rows in 1usize..700,
    ) {
        use CompressionType as C;
        let dir = TempDir::new().unwrap();
        let texts = || values.iter().map(|v| v.map(|v| format!("é{}", v % 1000)));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("long", Arc::new(Int64Array::from(values.clone()))),
            ("int", Arc::new(values.iter().map(|v| v.map(|v| v as i32)).collect::<Int32Array>())),
            ("short", Arc::new(values.iter().map(|v| v.map(|v| v as i16)).collect::<Int16Array>())),
            ("byte", Arc::new(values.iter().map(|v| v.map(|v| v as i8)).collect::<Int8Array>())),
            ("date", Arc::new(values.iter().map(|v| v.map(|v| v as i32)).collect::<Date32Array>())),
            ("double", Arc::new(values.iter().map(|v| v.map(|v| v as f64 / 3.0)).collect::<Float64Array>())),
            ("flag", Arc::new(values.iter().map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>())),
            ("text", Arc::new(texts().collect::<StringArray>())),
            ("bytes", Arc::new(texts().map(|t| t.map(String::into_bytes)).collect::<BinaryArray>())),
            ("time", Arc::new(values.iter().map(|v| v.map(|v| v % 4_000_000_000_000_000 + 4_000_000_000_000_000)).collect::<TimestampMicrosecondArray>())),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
        let codec = [None, Some(C::Zlib), Some(C::Snappy), Some(C::Lz4), Some(C::Zstd), None][codec];
        let path = write(&dir, &batch, codec, 8_000);
        let read = read_all(open(&path).unwrap(), batch_rows).unwrap();
        let mut next = 0;
        for (part, positions) in read {
            prop_assert_eq!(positions, RowPositions::from(next as u64..(next + part.num_rows()) as u64));
            let expected = batch.slice(next, part.num_rows());
            prop_assert_eq!(part.columns(), expected.columns());
            next += part.num_rows();
        }
        prop_assert_eq!(next, batch.num_rows());
    }
}
