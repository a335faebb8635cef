//! Random tables of nested columns: rows written in any format are read unchanged.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::{arrow_field, to_arrow};
use crate::data::testing::{context, read, rows, task};
use crate::data::write::new_file::{Purpose, Written};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, ScanTask};
use crate::store::Unsynced;
use crate::store::local::LocalStore;
use crate::types::{Field, PrimitiveType as P, Type};

/// Numbers that look random.
pub(crate) struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub(crate) fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A number of any size: small ones, those of runs and of steps, and those at the ends.
    fn long(&mut self, row: usize) -> i64 {
        match self.roll(8) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => self.roll(1 << 30) as i64 - (1 << 29),
            3 => -(self.roll(200) as i64),
            4 | 5 => row as i64 * 7 - 1000,
            _ => 42,
        }
    }
}

pub(crate) const LEAVES: [P; 18] = [
    P::Boolean,
    P::Int,
    P::Long,
    P::Float,
    P::Double,
    P::Date,
    P::Time,
    P::Timestamp,
    P::Timestamptz,
    P::TimestampNs,
    P::TimestamptzNs,
    P::String,
    P::Binary,
    P::Uuid,
    P::Fixed(5),
    P::Decimal { precision: 9, scale: 2 },
    P::Decimal { precision: 18, scale: 0 },
    P::Decimal { precision: 38, scale: 10 },
];

#[derive(Clone, Debug)]
enum Tree {
    Leaf(usize),
    Struct(Vec<(Tree, bool)>),
    List(Box<Tree>, bool),
    /// The key, the value, and whether values exist.
    Map(usize, Box<Tree>, bool),
}

fn tree() -> impl Strategy<Value = Tree> {
    (0..LEAVES.len()).prop_map(Tree::Leaf).prop_recursive(3, 10, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec((inner.clone(), any::<bool>()), 1..4).prop_map(Tree::Struct),
            (boxed(), any::<bool>()).prop_map(|(e, r)| Tree::List(e, r)),
            (prop_oneof![Just(11usize), Just(1), Just(2), Just(5)], boxed(), any::<bool>())
                .prop_map(|(k, v, r)| Tree::Map(k, v, r)),
        ]
    })
}

fn column(tree: &Tree, name: &str, required: bool, next: &mut i32) -> Field {
    *next += 1;
    let id = *next;
    let ty = match tree {
        Tree::Leaf(which) => Type::Primitive(LEAVES[*which].clone()),
        Tree::Struct(members) => {
            let members = members.iter().enumerate();
            Type::Struct(members.map(|(i, (t, r))| column(t, &format!("m {i}"), *r, next)).collect())
        }
        Tree::List(element, r) => Type::List(Arc::new(column(element, "element", *r, next))),
        Tree::Map(key, value, r) => {
            let key = column(&Tree::Leaf(*key), "key", true, next);
            Type::Map(Arc::new(key), Arc::new(column(value, "value", *r, next)))
        }
    };
    Field::new(id, name, required, ty)
}

fn leaf_array(ty: &P, length: usize, nulls: Option<NullBuffer>, dice: &mut Dice) -> ArrayRef {
    macro_rules! numbers {
        ($array:ty, $value:expr) => {{
            #[allow(clippy::redundant_closure_call)]
            let values = (0..length).map(|row| $value(row, &mut *dice)).collect::<Vec<_>>();
            <$array>::new(values.into(), nulls)
        }};
    }
    /// Seconds on both sides of 1970, except the one before it, which ORC can't store.
    fn seconds(row: usize, dice: &mut Dice) -> i64 {
        let s = dice.long(row) % 4_000_000_000;
        if s == -1 { -2 } else { s }
    }
    let micros = |row, dice: &mut Dice| seconds(row, dice) * 1_000_000 + [0, 1, 999, 500_000][dice.roll(4) as usize];
    let nanos = |row, dice: &mut Dice| seconds(row, dice) * 1_000_000_000 + [0, 1, 999, 5_000][dice.roll(4) as usize];
    let int = |row: usize, dice: &mut Dice| dice.long(row) as i32;
    let double = |row: usize, dice: &mut Dice| match dice.roll(5) {
        0 => f64::NAN,
        1 => -0.0,
        2 => f64::NEG_INFINITY,
        _ => dice.long(row) as f64 / 3.0,
    };
    let texts = |dice: &mut Dice| -> Vec<Vec<u8>> {
        let many = dice.roll(2) == 0;
        let text = |row: usize, dice: &mut Dice| match dice.roll(if many { 3 } else { 20 }) {
            0 => String::new(),
            1 => format!("żółw {row}"),
            _ => format!("name {}", row % 7),
        };
        (0..length).map(|row| text(row, dice).into_bytes()).collect()
    };
    match ty {
        P::Boolean => {
            let values = (0..length).map(|_| dice.roll(3) == 0).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        P::Int => Arc::new(numbers!(Int32Array, int)),
        P::Long => Arc::new(numbers!(Int64Array, |row, dice: &mut Dice| dice.long(row))),
        P::Float => Arc::new(numbers!(Float32Array, |row, dice: &mut Dice| double(row, dice) as f32)),
        P::Double => Arc::new(numbers!(Float64Array, double)),
        P::Date => Arc::new(numbers!(Date32Array, int)),
        P::Time => Arc::new(numbers!(Time64MicrosecondArray, |_, dice: &mut Dice| dice.roll(86_400_000_000) as i64)),
        P::Timestamp => Arc::new(numbers!(TimestampMicrosecondArray, micros)),
        P::Timestamptz => Arc::new(numbers!(TimestampMicrosecondArray, micros).with_timezone("UTC")),
        P::TimestampNs => Arc::new(numbers!(TimestampNanosecondArray, nanos)),
        P::TimestamptzNs => Arc::new(numbers!(TimestampNanosecondArray, nanos).with_timezone("UTC")),
        P::String => {
            let texts = texts(dice).into_iter().map(|t| String::from_utf8(t).unwrap());
            let valid = (0..length).map(|row| nulls.as_ref().is_none_or(|n| n.is_valid(row)));
            Arc::new(texts.zip(valid).map(|(t, valid)| valid.then_some(t)).collect::<StringArray>())
        }
        P::Binary => {
            let valid = (0..length).map(|row| nulls.as_ref().is_none_or(|n| n.is_valid(row)));
            Arc::new(texts(dice).into_iter().zip(valid).map(|(t, valid)| valid.then_some(t)).collect::<BinaryArray>())
        }
        P::Uuid | P::Fixed(_) => {
            let size = if let P::Fixed(n) = ty { *n as usize } else { 16 };
            let bytes: Vec<u8> = (0..length * size).map(|_| dice.roll(256) as u8).collect();
            Arc::new(FixedSizeBinaryArray::new(size as i32, bytes.into(), nulls))
        }
        P::Decimal { precision, scale } => {
            let limit = 10i128.pow(u32::from(*precision));
            let value = |row, dice: &mut Dice| i128::from(dice.long(row)) * 1_000_000_007 * 99_999 % limit;
            Arc::new(numbers!(Decimal128Array, value).with_precision_and_scale(*precision, *scale as i8).unwrap())
        }
        other => panic!("{other}"),
    }
}

/// Values of a column. Values below nulls may be anything.
fn array(field: &Field, length: usize, dice: &mut Dice) -> ArrayRef {
    let some_null = !field.required && dice.roll(4) > 0;
    let nulls = some_null.then(|| NullBuffer::from_iter((0..length).map(|_| dice.roll(4) > 0)));
    let offsets = |dice: &mut Dice| {
        let lengths: Vec<usize> = (0..length).map(|_| dice.roll(4) as usize).collect();
        OffsetBuffer::<i32>::from_lengths(lengths)
    };
    let data_type = arrow_field(field, "").unwrap().data_type().clone();
    match (&field.ty, data_type) {
        (Type::Primitive(p), _) => leaf_array(p, length, nulls, dice),
        (Type::Struct(members), DataType::Struct(fields)) => {
            let members = members.iter().map(|m| array(m, length, dice)).collect();
            Arc::new(StructArray::new(fields, members, nulls))
        }
        (Type::List(element), DataType::List(field)) => {
            let offsets = offsets(dice);
            let values = array(element, offsets[length] as usize, dice);
            Arc::new(ListArray::new(field, offsets, values, nulls))
        }
        (Type::Map(key, value), DataType::Map(entries, _)) => {
            let DataType::Struct(fields) = entries.data_type().clone() else { panic!() };
            let offsets = offsets(dice);
            let n = offsets[length] as usize;
            let pairs = StructArray::new(fields, vec![array(key, n, dice), array(value, n, dice)], None);
            Arc::new(MapArray::new(entries, offsets, pairs, nulls, false))
        }
        (ty, _) => panic!("{ty:?}"),
    }
}

pub(crate) fn batch(schema: &Schema, length: usize, dice: &mut Dice) -> RecordBatch {
    let columns = schema.fields.iter().map(|f| array(f, length, dice)).collect();
    RecordBatch::try_new(to_arrow(schema).unwrap(), columns).unwrap()
}

/// Writes batches to a file. A new block or stripe begins after batches with the flag.
pub(crate) fn write(
    dir: &TempDir,
    format: FileFormat,
    schema: &Schema,
    properties: &[(&str, &str)],
    batches: &[(RecordBatch, bool)],
) -> (String, Written) {
    let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let (arrow, metrics) = (to_arrow(schema).unwrap(), MetricsConfig::new(schema, &properties, &[]));
    let shared = Arc::new(schema.clone());
    let settings = FileSettings::new(format, shared, arrow, &properties, metrics, Purpose::Rows(schema)).unwrap();
    let path = dir.path().join(format!("{}.{}", uuid::Uuid::new_v4(), format.as_str())).display().to_string();
    let unsynced = Unsynced::new(dir.path().to_str().unwrap());
    let mut file = settings.create(&LocalStore, path.clone(), &unsynced).unwrap();
    for (batch, flush) in batches {
        file.write(batch).unwrap();
        if *flush {
            file.flush().unwrap();
            assert_eq!(file.buffered_bytes(), 0);
        }
    }
    assert_eq!(file.path(), path);
    let written = file.finish().unwrap();
    assert_eq!(written.size_bytes as u64, std::fs::metadata(&path).unwrap().len());
    (path, written)
}

pub(crate) fn task_of(path: &str, format: FileFormat) -> ScanTask {
    let task = task(path, BoundPredicate::True);
    let data_file = DataFile { format, ..task.data_file.as_ref().clone() };
    ScanTask { data_file: Arc::new(data_file), ..task }
}

pub(crate) fn read_back(schema: &Schema, path: &str, format: FileFormat) -> Vec<String> {
    rows(&read(&context(schema), &task_of(path, format)).unwrap())
}

const CODECS: [(FileFormat, &[&str]); 3] = [
    (FileFormat::Orc, &["zlib", "zstd", "snappy", "none"]),
    (FileFormat::Parquet, &["zstd", "snappy"]),
    (FileFormat::Avro, &["gzip", "zstd", "snappy", "uncompressed"]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 96 }))]

    #[test]
    fn rows_come_back(
        columns in prop::collection::vec((tree(), any::<bool>()), 1..5),
        lengths in prop::collection::vec((prop_oneof![Just(0usize), 1usize..20, 500usize..900], any::<bool>()), 0..4),
        (seed, slice, format, codec) in (any::<u64>(), 0usize..3, 0..CODECS.len(), 0usize..8),
    ) {
        let dir = TempDir::new().unwrap();
        let mut next = 0;
        let fields = columns.iter().enumerate().map(|(i, (t, r))| column(t, &format!("c{i}"), *r, &mut next));
        let schema = Schema::new(0, fields.collect::<Vec<_>>(), vec![]);
        let mut dice = Dice(seed);
        // Arrays that begin in the middle of their buffers.
        let part = |b: RecordBatch| { let n = b.num_rows(); b.slice(slice.min(n), n - slice.min(n)) };
        let batches: Vec<_> = lengths.iter().map(|(n, flush)| (part(batch(&schema, *n, &mut dice)), *flush)).collect();
        let (format, codecs) = CODECS[format];
        let codec = codecs[codec % codecs.len()];
        let properties = [(format!("write.{}.compression-codec", format.as_str()), codec)];
        let properties: Vec<_> = properties.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        let (path, written) = write(&dir, format, &schema, &properties, &batches);
        let expected: Vec<String> = rows(&batches.iter().map(|(b, _)| b.clone()).collect::<Vec<_>>());
        prop_assert_eq!(written.record_count as usize, expected.len());
        prop_assert_eq!(read_back(&schema, &path, format), expected);
    }
}

#[test]
fn huge_values_come_back() {
    let dir = TempDir::new().unwrap();
    let schema =
        Schema::new(0, vec![Field::new(1, "s", false, P::String), Field::new(2, "b", true, P::Binary)], vec![]);
    let large: Vec<String> = (0..4).map(|i| format!("{i}{}", "xyzzy".repeat(600_000))).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(large.iter().map(Some).chain([None]).collect::<StringArray>()),
        Arc::new(large.iter().map(|s| Some(s.as_bytes())).chain([Some(&b""[..])]).collect::<BinaryArray>()),
    ];
    let rows_given = RecordBatch::try_new(to_arrow(&schema).unwrap(), columns).unwrap();
    for (format, _) in CODECS {
        let (path, _) = write(&dir, format, &schema, &[], &[(rows_given.clone(), false)]);
        assert!(read_back(&schema, &path, format) == rows(std::slice::from_ref(&rows_given)), "{format:?}");
    }
}

#[test]
fn formats_that_properties_name() {
    let of = |properties: &[(&str, &str)], deletes| {
        let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        format_of(&properties, deletes).map_err(|e| e.to_string())
    };
    assert_eq!(of(&[], false), Ok(FileFormat::Parquet));
    assert_eq!(of(&[(FORMAT, "AVRO")], false), Ok(FileFormat::Avro));
    assert_eq!(of(&[(FORMAT, "avro")], true), Ok(FileFormat::Avro));
    assert_eq!(of(&[(FORMAT, "avro"), (DELETE_FORMAT, "parquet")], true), Ok(FileFormat::Parquet));
    for wrong in ["puffin", "csv", ""] {
        assert!(of(&[(DELETE_FORMAT, wrong)], true).unwrap_err().contains("property: write.delete.format.default"));
    }
}
