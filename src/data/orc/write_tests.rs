use std::sync::Arc;

use arrow::array::*;

use super::*;
use crate::codec::orc::{StreamInfo, StreamKind, StripeFooter};
use crate::data::arrow::schema::to_arrow;
use crate::data::orc::file::OrcFile as OpenFile;
use crate::data::testing::{field, list, required, rows, schema, structure};
use crate::data::write::file_write::tests::{Dice, LEAVES, batch, read_back, write};
use crate::error::ErrorKind;
use crate::format::task::FieldMap;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::types::{PrimitiveType as P, Value};

fn of(properties: &[(&str, &str)], deletes: bool) -> Result<(OrcCodec, bool, usize)> {
    let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let table = schema(vec![field(1, "a", P::Int)]);
    let purpose = if deletes { Purpose::PositionDeletes } else { Purpose::Rows(&table) };
    let settings = OrcSettings::new(&table, &properties, MetricsConfig::full(), purpose)?;
    Ok((settings.codec, settings.small, settings.stripe_bytes))
}

#[test]
fn properties_are_javas() {
    const CODEC: &str = "write.orc.compression-codec";
    const STRATEGY: &str = "write.orc.compression-strategy";
    assert_eq!(of(&[], false).unwrap(), (OrcCodec::Zlib, false, 64 << 20));
    assert_eq!(of(&[(CODEC, "ZSTD"), (STRATEGY, "Compression")], true).unwrap(), (OrcCodec::Zstd, true, 64 << 20));
    let deletes = [(CODEC, "none"), ("write.delete.orc.stripe-size-bytes", "1000")];
    assert_eq!(of(&deletes, true).unwrap(), (OrcCodec::None, false, 1000));
    assert_eq!(of(&deletes, false).unwrap(), (OrcCodec::None, false, 64 << 20));
    let kind = |properties: &[(&str, &str)]| of(properties, false).unwrap_err().kind();
    assert_eq!(kind(&[(CODEC, "lz4")]), ErrorKind::Unsupported);
    assert_eq!(kind(&[(CODEC, "gzip")]), ErrorKind::InvalidInput);
    assert_eq!(kind(&[(STRATEGY, "size")]), ErrorKind::InvalidInput);
    assert_eq!(kind(&[("write.orc.stripe-size-bytes", "0")]), ErrorKind::InvalidInput);
}

#[test]
fn types_that_orc_has_not_are_refused() {
    for ty in [P::Variant, P::Geometry { crs: None }, P::Geography { crs: None, algorithm: None }] {
        let table = schema(vec![field(1, "a", P::Int), field(2, "x", ty)]);
        let e = OrcSettings::new(&table, &BTreeMap::new(), MetricsConfig::full(), Purpose::Rows(&table)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(e.to_string().contains("column: x"), "{e}");
    }
}

/// Attributes and order are those of Java's files.
#[test]
fn types_are_as_in_files_by_java() {
    for name in ["types", "nested"] {
        let path = |ending| format!("{}/tests/data/orc/{name}.{ending}", env!("CARGO_MANIFEST_DIR"));
        let json = serde_json::from_slice(&std::fs::read(path("json")).unwrap()).unwrap();
        let table = crate::types::schema_json::schema_from_json(&json).unwrap();
        let java = OpenFile::open(&(Arc::new(LocalStore) as Arc<dyn Store>), &path("orc")).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let none = RecordBatch::new_empty(to_arrow(&table).unwrap());
        let (ours, written) = write(&dir, FileFormat::Orc, &table, &[], &[(none, true)]);
        assert_eq!((written.record_count, written.split_offsets), (0, Some(vec![])));
        let ours = OpenFile::open(&(Arc::new(LocalStore) as Arc<dyn Store>), &ours).unwrap();
        assert_eq!(ours.types(), java.types());
        assert!(ours.stripes().is_empty());
    }
}

/// Many groups of rows and stripes, columns by dictionaries and without, nulls that begin late.
#[test]
fn stripes_and_their_offsets() {
    let dir = tempfile::tempdir().unwrap();
    let table = schema(vec![required(1, "id", P::Long), field(2, "few", P::String), field(3, "all", P::String)]);
    let part = |range: std::ops::Range<i64>| {
        let few = range.clone().map(|i| (i < 25_000 || i % 5 > 0).then(|| format!("name {}", i % 100)));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(range.clone())),
            Arc::new(few.collect::<StringArray>()),
            Arc::new(range.map(|i| Some(format!("{:x}", i * 7_919_777))).collect::<StringArray>()),
        ];
        RecordBatch::try_new(to_arrow(&table).unwrap(), columns).unwrap()
    };
    let batches: Vec<_> = (0..9).map(|i| (part(i * 7000..(i + 1) * 7000), i == 3)).collect();
    let given: Vec<_> = batches.iter().map(|(b, _)| b.clone()).collect();
    for codec in ["zlib", "none"] {
        let properties = [("write.orc.stripe-size-bytes", "200000"), ("write.orc.compression-codec", codec)];
        let (path, written) = write(&dir, FileFormat::Orc, &table, &properties, &batches);
        let file = OpenFile::open(&(Arc::new(LocalStore) as Arc<dyn Store>), &path).unwrap();
        let offsets: Vec<i64> = file.stripes().iter().map(|s| s.offset as i64).collect();
        assert!(offsets.len() > 2 && offsets[0] == 3);
        assert_eq!(written.split_offsets.as_ref(), Some(&offsets));
        assert_eq!(read_back(&table, &path, FileFormat::Orc), rows(&given));
        let m = written.metrics.unwrap();
        assert_eq!(m.value_counts.unwrap(), FieldMap::from_iter([(1, 63_000), (2, 63_000), (3, 63_000)]));
        assert_eq!(m.null_value_counts.unwrap(), FieldMap::from_iter([(1, 0), (2, 7600), (3, 0)]));
        assert!(m.nan_value_counts.unwrap().is_empty());
        assert_eq!(m.lower_bounds.as_ref().unwrap()[&1], 0i64.to_le_bytes());
        assert_eq!(m.upper_bounds.as_ref().unwrap()[&1], 62_999i64.to_le_bytes());
        assert_eq!(m.upper_bounds.as_ref().unwrap()[&2], b"name 99");
        let sizes = m.column_sizes.unwrap();
        assert_eq!(sizes.values().sum::<i64>(), file.stripes().iter().map(|s| s.data_length as i64).sum::<i64>());
        // The dictionary is far smaller than the strings, even if a stripe ends it.
        assert!(sizes[&2] * 3 < sizes[&3], "{sizes:?}");
    }
}

#[test]
fn metrics_by_type_and_mode() {
    let dir = tempfile::tempdir().unwrap();
    let inner = structure(vec![field(21, "x", P::Int), required(22, "y", P::String)]);
    let table = schema(vec![
        field(1, "b", P::Boolean),
        field(2, "f", P::Float),
        field(3, "d", P::Double),
        field(4, "s", P::String),
        field(5, "bin", P::Binary),
        field(6, "n", P::Decimal { precision: 20, scale: 2 }),
        field(7, "t", P::Timestamp),
        field(8, "off", P::Long),
        field(9, "counted", P::Date),
        field(20, "st", inner),
        field(30, "l", list(field(31, "element", P::Double))),
    ]);
    let long = "ż".repeat(600);
    let st = StructArray::new(
        match to_arrow(&table).unwrap().field(9).data_type() {
            arrow::datatypes::DataType::Struct(fields) => fields.clone(),
            other => panic!("{other}"),
        },
        vec![
            Arc::new(Int32Array::from(vec![Some(5), None, Some(7), Some(9)])),
            Arc::new(StringArray::from(vec!["p", "q", "r", "s"])),
        ],
        Some(vec![true, true, false, false].into()),
    );
    let mut lists = ListBuilder::new(Float64Builder::new());
    lists.append_value([Some(f64::NAN), None]);
    (0..3).for_each(|_| lists.append_null());
    let element = to_arrow(&table).unwrap().field(10).data_type().clone();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(true), None])),
        Arc::new(Float32Array::from(vec![f32::NAN, 0.0, 2.5, f32::NAN])),
        Arc::new(Float64Array::from(vec![Some(f64::NAN), None, None, None])),
        Arc::new(StringArray::from(vec![Some("żółć and more of it"), Some(long.as_str()), None, Some("b")])),
        Arc::new(BinaryArray::from(vec![Some(&b"x"[..]), None, None, None])),
        Arc::new(Decimal128Array::from(vec![-1, 10i128.pow(19), 0, 7]).with_precision_and_scale(20, 2).unwrap()),
        Arc::new(TimestampMicrosecondArray::from(vec![-1_000_000_000_001, 5, 6, 7])),
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])),
        Arc::new(Date32Array::from(vec![1, 2, 3, 4])),
        Arc::new(st),
        arrow::compute::cast(&lists.finish(), &element).unwrap(),
    ];
    let given = RecordBatch::try_new(to_arrow(&table).unwrap(), columns).unwrap();
    let modes = [("write.metadata.metrics.column.off", "none"), ("write.metadata.metrics.column.counted", "counts")];
    let (path, written) =
        write(&dir, FileFormat::Orc, &table, &modes, &[(given.slice(0, 1), true), (given.slice(1, 3), false)]);
    assert_eq!(read_back(&table, &path, FileFormat::Orc), rows(&[given]));
    let m = written.metrics.unwrap();
    let counts = |map: Option<crate::format::task::FieldMap<i64>>| {
        let mut all: Vec<_> = map.unwrap().into_iter().collect();
        all.sort_unstable();
        all
    };
    // Java's rule: a column without own nulls counts values only.
    let expected = [(1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (7, 4), (9, 4), (20, 4), (21, 4), (22, 2), (30, 4)];
    assert_eq!(counts(m.value_counts), expected);
    let expected = [(1, 2), (2, 0), (3, 3), (4, 1), (5, 3), (6, 0), (7, 0), (9, 0), (20, 2), (21, 3), (22, 0), (30, 3)];
    assert_eq!(counts(m.null_value_counts), expected);
    assert_eq!(counts(m.nan_value_counts), [(2, 2), (3, 1)]);
    assert_eq!(counts(m.column_sizes).iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected.map(|(id, _)| id));
    let encode = |v: Value| crate::types::value::encode_bound(v.as_ref());
    let low = [
        (1, Value::Boolean(true)),
        (2, Value::Float(-0.0)),
        (4, Value::String("b".into())),
        (6, Value::Decimal(-1)),
        (7, Value::Long(-1_000_000_000_001)),
        (21, Value::Int(5)),
        (22, Value::String("p".into())),
    ];
    let high = [
        (1, Value::Boolean(true)),
        (2, Value::Float(2.5)),
        (6, Value::Decimal(10i128.pow(19))),
        (7, Value::Long(7)),
        (21, Value::Int(5)),
        (22, Value::String("q".into())),
    ];
    assert_eq!(m.lower_bounds.unwrap(), FieldMap::from_iter(low.map(|(id, v)| (id, encode(v)))));
    // The greatest text is longer than its stored bound.
    assert_eq!(m.upper_bounds.unwrap(), FieldMap::from_iter(high.map(|(id, v)| (id, encode(v)))));
}

/// Only Java can show that the bits are Java's.
#[test]
fn columns_that_are_asked_for_have_bloom_filters() {
    let dir = tempfile::tempdir().unwrap();
    let inner = structure(vec![field(3, "X", P::Long), field(4, "y", P::Boolean)]);
    let table =
        schema(vec![field(1, "a", P::Int), field(2, "s", inner), field(5, "l", list(field(6, "element", P::String)))]);
    let given = batch(&table, 25_000, &mut Dice(5));
    let columns = "write.orc.bloom.filter.columns";
    let compression = Compressor::new(OrcCodec::Zlib, false).unwrap().compression();
    for (asked, filtered) in [("", vec![]), ("s.x, l,none", vec![3, 6]), ("*", vec![1, 3, 6]), ("A.b,s.z", vec![])] {
        let properties = [(columns, asked), ("write.orc.stripe-size-bytes", "300000")];
        let (path, written) = write(&dir, FileFormat::Orc, &table, &properties, &[(given.clone(), false)]);
        let file = OpenFile::open(&(Arc::new(LocalStore) as Arc<dyn Store>), &path).unwrap();
        assert_eq!(file.stripes().len(), written.split_offsets.unwrap().len());
        for stripe in file.stripes() {
            let bytes = std::fs::read(&path).unwrap();
            let start = stripe.footer_offset().unwrap() as usize;
            let footer = &bytes[start..start + stripe.footer_length as usize];
            let footer = StripeFooter::parse(footer, compression, stripe).unwrap();
            let is_filter = |s: &&StreamInfo| s.kind == StreamKind::BloomFilter;
            let found: Vec<usize> = footer.streams.iter().filter(is_filter).map(|s| s.column).collect();
            assert_eq!(found, filtered, "{asked}");
            let index: u64 = footer.streams.iter().filter(|s| !s.kind.is_data()).map(|s| s.length).sum();
            assert_eq!(index, stripe.index_length);
        }
        assert_eq!(read_back(&table, &path, FileFormat::Orc), rows(std::slice::from_ref(&given)));
    }
    let refused = of(&[(columns, "a"), ("write.orc.bloom.filter.fpp", "1")], false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(of(&[(columns, "a"), ("write.orc.bloom.filter.fpp", "1")], true).is_ok(), "delete files have none");
}

#[test]
fn the_last_second_before_1970_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = schema(vec![field(1, "t", P::Timestamp)]);
    let given = TimestampMicrosecondArray::from(vec![0, -2_500_000, -1_000_000, -999_500]);
    let good = RecordBatch::try_new(to_arrow(&table).unwrap(), vec![Arc::new(given)]).unwrap();
    let (path, _) = write(&dir, FileFormat::Orc, &table, &[], &[(good.clone(), false)]);
    assert_eq!(read_back(&table, &path, FileFormat::Orc), rows(&[good]));
    let bad = TimestampMicrosecondArray::from(vec![-500_000]);
    let bad = RecordBatch::try_new(to_arrow(&table).unwrap(), vec![Arc::new(bad)]).unwrap();
    let settings = OrcSettings::new(&table, &BTreeMap::new(), MetricsConfig::full(), Purpose::Rows(&table)).unwrap();
    let path = dir.path().join("x.orc").display().to_string();
    let mut file = NewOrcFile::begin(LocalStore.create(&path).unwrap(), path, &Arc::new(settings)).unwrap();
    let e = file.write(&bad).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.to_string().contains("column: t"), "{e}");
}

/// Another reader of ORC finds the same rows.
#[test]
fn the_crate_orc_rust_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    // That crate reads timestamps as nanoseconds, and most of these timestamps do not fit.
    let leaves = LEAVES.iter().filter(|ty| !matches!(ty, P::Timestamp | P::Timestamptz));
    let table = schema(leaves.zip(1..).map(|(ty, id)| field(id, &format!("c{id}"), ty.clone())).collect());
    let given = batch(&table, 21_000, &mut Dice(11));
    for codec in ["zlib", "zstd", "snappy", "none"] {
        let properties = [("write.orc.compression-codec", codec)];
        let (path, _) = write(&dir, FileFormat::Orc, &table, &properties, &[(given.clone(), false)]);
        let reader = orc_rust::ArrowReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap().build();
        let read: Vec<RecordBatch> = reader.map(|b| b.unwrap()).collect();
        let read = arrow::compute::concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.num_rows(), 21_000);
        for (read, given) in read.columns().iter().zip(given.columns()) {
            let same_type = arrow::compute::cast(read, given.data_type());
            match same_type {
                Ok(same) if same.data_type() == read.data_type() => assert_eq!(&same, given),
                _ => assert_eq!(read.null_count(), given.null_count()),
            }
        }
    }
}
