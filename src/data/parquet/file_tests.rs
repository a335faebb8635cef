use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, ListArray, StringArray};
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type as PInt32,
    Int64Type as PInt64, Int96, Int96Type,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::parquet::checks::page_check::check_pages;
use crate::data::testing::{
    context, field, leaf, list, projecting, read, read_rows, rows, schema, structure, task, write_batch,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::types::{PrimitiveType as P, Schema, Value};

type Columns<'a> = &'a dyn Fn(&mut SerializedRowGroupWriter<'_, std::fs::File>);

/// A file of this Parquet schema, its columns written as they are.
fn raw(dir: &TempDir, message: &str, columns: Columns<'_>) -> String {
    let path = dir.path().join(format!("{}.parquet", uuid::Uuid::new_v4()));
    let schema = Arc::new(parse_message_type(message).unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    columns(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
    path.display().to_string()
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, std::fs::File>,
    values: &[T::T],
    levels: Option<(&[i16], Option<&[i16]>)>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    let (definition, repetition) = levels.map_or((None, None), |(d, r)| (Some(d), r));
    column.typed::<T>().write_batch(values, definition, repetition).unwrap();
    column.close().unwrap();
}

#[test]
fn timestamps_and_times_of_other_units() {
    let dir = tempfile::tempdir().unwrap();
    let message = "message m {
        required int96 old = 1;
        required int64 ms (TIMESTAMP(MILLIS,true)) = 2;
        required int64 ns (TIMESTAMP(NANOS,false)) = 3;
        required int32 time (TIME(MILLIS,true)) = 4;
        required int64 us (TIMESTAMP_MICROS) = 5;
    }";
    let path = raw(&dir, message, &|group| {
        // Julian day 2440588 is 1970-01-01; the second is in the year 9999, beyond 64 bits of nanoseconds.
        let mut late = Int96::new();
        late.set_data(0, 0, 5_373_484);
        let mut early = Int96::new();
        early.set_data(1_500, 0, 2_440_588);
        column::<Int96Type>(group, &[early, late], None);
        column::<PInt64>(group, &[-1, 1], None);
        column::<PInt64>(group, &[-1, 1_999], None);
        column::<PInt32>(group, &[1, 86_399_999], None);
        column::<PInt64>(group, &[0, 1], None);
    });
    let s = schema(vec![
        field(1, "old", P::Timestamptz),
        field(2, "ms", P::Timestamptz),
        field(3, "ns", P::Timestamp),
        field(4, "time", P::Time),
        field(5, "us", P::TimestampNs),
    ]);
    assert_eq!(
        read_rows(&s, &path, BoundPredicate::True),
        [
            "1970-01-01T00:00:00.000001Z|1969-12-31T23:59:59.999Z|1969-12-31T23:59:59.999999|00:00:00.001\
             |1970-01-01T00:00:00",
            "9999-12-31T00:00:00Z|1970-01-01T00:00:00.001Z|1970-01-01T00:00:00.000001|23:59:59.999\
             |1970-01-01T00:00:00.000001"
        ]
    );
    let late = leaf(&s, 1, Op::Gt, vec![Value::Long(1_000_000)]);
    assert_eq!(read_rows(&s, &path, late).len(), 1);
    let exact = leaf(&s, 2, Op::Eq, vec![Value::Long(1000)]);
    assert_eq!(read_rows(&s, &path, exact).len(), 1);
    let floor = leaf(&s, 3, Op::Eq, vec![Value::Long(1)]);
    assert_eq!(read_rows(&s, &path, floor).len(), 1);
}

#[test]
fn decimals_of_every_physical_type() {
    let dir = tempfile::tempdir().unwrap();
    let message = "message m {
        required int32 a (DECIMAL(9,2)) = 1;
        required int64 b (DECIMAL(18,2)) = 2;
        required fixed_len_byte_array(5) c (DECIMAL(10,2)) = 3;
        required byte_array d (DECIMAL(20,2)) = 4;
        required int32 e = 5;
    }";
    let path = raw(&dir, message, &|group| {
        column::<PInt32>(group, &[-1420, 1], None);
        column::<PInt64>(group, &[-1420, 1], None);
        let fixed = |v: i64| FixedLenByteArray::from(v.to_be_bytes()[3..].to_vec());
        column::<FixedLenByteArrayType>(group, &[fixed(-1420), fixed(1)], None);
        column::<ByteArrayType>(group, &[ByteArray::from(vec![0xfa, 0x74]), ByteArray::from(vec![1])], None);
        column::<PInt32>(group, &[1, 2], None);
    });
    let decimal = |precision| P::Decimal { precision, scale: 2 };
    let ids = [(1, 20), (2, 18), (3, 38), (4, 20)];
    let s = schema(ids.iter().map(|(id, p)| field(*id, &format!("c{id}"), decimal(*p))).collect());
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ["-14.20|-14.20|-14.20|-14.20", "0.01|0.01|0.01|0.01"]);
    for (id, _) in ids {
        let negative = leaf(&s, id, Op::Lt, vec![Value::Decimal(0)]);
        assert_eq!(read_rows(&s, &path, negative).len(), 1, "{id}");
        assert_eq!(read_rows(&s, &path, leaf(&s, id, Op::Gt, vec![Value::Decimal(1)])).len(), 0);
    }
    let bare = schema(vec![field(5, "e", decimal(9))]);
    assert!(read(&context(&bare), &task(&path, BoundPredicate::True)).is_err());
}

#[test]
fn text_and_bytes_without_annotations() {
    let dir = tempfile::tempdir().unwrap();
    let message = "message m {
        optional byte_array s = 1;
        required byte_array u = 2;
        required fixed_len_byte_array(16) v = 3;
        required fixed_len_byte_array(3) f = 4;
        required byte_array e (ENUM) = 5;
        required byte_array bad = 6;
    }";
    let path = raw(&dir, message, &|group| {
        column::<ByteArrayType>(group, &[ByteArray::from("żó")], Some((&[1, 0], None)));
        let sixteen = |b: u8| vec![b; 16];
        column::<ByteArrayType>(group, &[ByteArray::from(sixteen(1)), ByteArray::from(sixteen(0xff))], None);
        let fixed = |b: Vec<u8>| FixedLenByteArray::from(b);
        column::<FixedLenByteArrayType>(group, &[fixed(sixteen(2)), fixed(sixteen(3))], None);
        column::<FixedLenByteArrayType>(group, &[fixed(vec![1, 2, 3]), fixed(vec![4, 5, 6])], None);
        column::<ByteArrayType>(group, &[ByteArray::from("A"), ByteArray::from("B")], None);
        column::<ByteArrayType>(group, &[ByteArray::from(vec![0xff]), ByteArray::from("B")], None);
    });
    let s = schema(vec![
        field(1, "s", P::String),
        field(2, "u", P::Uuid),
        field(4, "f", P::Binary),
        field(3, "v", P::Uuid),
        field(5, "e", P::String),
    ]);
    let (ones, twos, threes, highest) = ("01".repeat(16), "02".repeat(16), "03".repeat(16), "ff".repeat(16));
    assert_eq!(
        read_rows(&s, &path, BoundPredicate::True),
        [format!("żó|{ones}|010203|{twos}|A"), format!("-|{highest}|040506|{threes}|B")]
    );
    let above = leaf(&s, 2, Op::Gt, vec![Value::Uuid(1 << 127)]);
    assert_eq!(read_rows(&s, &path, above).len(), 1);
    for bad in [field(6, "bad", P::String), field(4, "f", P::Fixed(4)), field(2, "u", P::Fixed(2))] {
        let e = read(&context(&schema(vec![bad])), &task(&path, BoundPredicate::True)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
    }
}

#[test]
fn lists_of_two_levels() {
    let dir = tempfile::tempdir().unwrap();
    let message = "message m {
        optional group l (LIST) = 1 { repeated int32 array = 2; }
        optional group n (LIST) = 3 { repeated group array { optional int32 a = 4; optional int32 b = 5; } }
    }";
    let path = raw(&dir, message, &|group| {
        // [1, 2], null, []
        column::<PInt32>(group, &[1, 2], Some((&[2, 2, 0, 1], Some(&[0, 1, 0, 0]))));
        // [{7, -}], [], null
        column::<PInt32>(group, &[7], Some((&[3, 1, 0], Some(&[0, 0, 0]))));
        column::<PInt32>(group, &[], Some((&[2, 1, 0], Some(&[0, 0, 0]))));
    });
    let s = schema(vec![
        field(3, "n", list(field(6, "element", structure(vec![field(5, "b", P::Int), field(4, "a", P::Long)])))),
        field(1, "l", list(field(2, "element", P::Int))),
    ]);
    assert_eq!(read_rows(&s, &path, BoundPredicate::True), ["[{b: -, a: 7}]|[1, 2]", "[]|-", "-|[]"]);
}

#[test]
fn two_columns_of_one_id_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = raw(&dir, "message m { required int32 a = 1; required int32 b = 1; required int32 c = 3; }", &|group| {
        (0..3).for_each(|_| column::<PInt32>(group, &[1], None));
    });
    let read_id = |id| read(&context(&schema(vec![field(id, "x", P::Int)])), &task(&path, BoundPredicate::True));
    assert_eq!(read_id(1).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(rows(&read_id(3).unwrap()), ["1"]);
}

/// Two row groups with dictionaries, a nested column, statistics, page indexes and small pages.
fn sample(dir: &TempDir, compression: Compression) -> (Schema, String) {
    let s = schema(vec![
        field(1, "a", P::Int),
        field(2, "s", P::String),
        field(3, "l", list(field(4, "element", P::Int))),
        field(5, "b", P::Long),
    ]);
    let rows = 24;
    let lists = (0..rows).map(|i| (i % 3 != 0).then(|| (0..i % 4).map(Some).collect::<Vec<_>>()));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let arrow = to_arrow(&s).unwrap();
    let element = match arrow.field(2).data_type() {
        arrow::datatypes::DataType::List(e) => e.clone(),
        _ => unreachable!(),
    };
    let (_, offsets, values, nulls) = lists.into_parts();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter((0..rows).map(|i| (i % 5 != 0).then_some(i)))),
        Arc::new(StringArray::from_iter((0..rows).map(|i| (i % 4 != 0).then(|| format!("text {}", i % 6))))),
        Arc::new(ListArray::new(element, offsets, values, nulls)),
        Arc::new(Int64Array::from_iter_values((0..rows).map(i64::from))),
    ];
    let batch = RecordBatch::try_new(arrow, columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(16))
        .set_data_page_row_count_limit(4)
        .set_write_batch_size(2)
        .set_statistics_enabled(EnabledStatistics::Page)
        .build();
    (s, write_batch(dir, &batch, properties))
}

/// Reads damaged bytes in every way. Each read gives rows or an error that names the place, and ends.
fn survives(s: &Schema, path: &str, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    let filter = BoundPredicate::And(vec![
        leaf(s, 5, Op::Gt, vec![Value::Long(5)]),
        leaf(s, 2, Op::Eq, vec![Value::String("text 3".into())]),
    ]);
    // Pages and rows are skipped if the list is not read.
    let flat = projecting(s, &schema(s.fields.iter().filter(|f| f.id != 3).cloned().collect()));
    for (context, filter) in [(context(s), BoundPredicate::True), (context(s), filter.clone()), (flat, filter)] {
        if let Err(e) = read(&context, &task(path, filter)) {
            assert!(e.to_string().contains(path), "{e}");
            assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{e:?}");
        }
    }
}

#[test]
fn files_cut_anywhere_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = sample(&dir, Compression::SNAPPY);
    let bytes = std::fs::read(&path).unwrap();
    for end in (0..bytes.len()).step_by(37).chain([1, 4, 8, 11, 12, bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..end]).unwrap();
        let e = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable, "{end}: {e}");
    }
    // A footer that claims to be longer than the file.
    let mut lying = bytes.clone();
    let at = lying.len() - 8;
    lying[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    std::fs::write(&path, &lying).unwrap();
    let e = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap_err();
    assert!(e.to_string().contains("claims 4294967295 bytes"), "{e}");
}

#[test]
fn any_damaged_byte_gives_rows_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (compression, step) in [(Compression::UNCOMPRESSED, 1), (Compression::ZSTD(Default::default()), 3)] {
        let (s, path) = sample(&dir, compression);
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0x80, 0xff][at / step % 3];
            survives(&s, &path, &damaged);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn random_damage_gives_rows_or_an_error(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (s, path) = sample(&dir, Compression::UNCOMPRESSED);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.remove(cut.index(bytes.len()));
        }
        survives(&s, &path, &bytes);
    }
}

#[test]
fn claims_of_huge_pages_are_refused_before_memory_is_reserved() {
    let dir = tempfile::tempdir().unwrap();
    let (s, path) = sample(&dir, Compression::SNAPPY);
    let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
    let file = ParquetFile::open(&store, &path).unwrap();
    let chunk = file.footer().row_group(0).column(3);
    let header = |kind: u8, uncompressed: &[u8], values: &[u8]| {
        // compressed = 8, data page header or dictionary page header {values, encoding 0}
        let field = if kind == 2 { 0x4c } else { 0x2c };
        [&[0x15, kind << 1, 0x15], uncompressed, &[0x15, 16, field, 0x15], values, &[0x15, 0, 0, 0], &[0; 8]].concat()
    };
    let huge = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(check_pages(chunk, &header(0, &[16], &[8])), Ok(0));
    assert!(check_pages(chunk, &header(0, &huge, &[8])).is_err());
    assert!(check_pages(chunk, &header(2, &[16], &huge)).is_err());
    assert!(check_pages(chunk, &header(0, &[15], &[8])).is_err());
    let repeated = file.footer().row_group(0).column(2);
    assert!(check_pages(repeated, &header(0, &[16], &huge)).is_err());
    assert!(read(&context(&s), &task(&path, BoundPredicate::True)).is_ok());
}
