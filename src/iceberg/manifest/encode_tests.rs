use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::codec::avro::encode::{put_bytes, put_int, put_items, put_long, put_optional};
use crate::format::task::{ColumnMetrics, FieldMap};
use crate::format::task::{FileFormat, Partition, PartitionValue};
use crate::iceberg::manifest::columns::{Manifest, partition_of};
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::entries::Inherited;
use crate::types::{Field, Transform};

/// One partition field of each type, by identity, and one each of the other transforms.
fn schema_and_spec() -> (Schema, PartitionSpec) {
    let types = [
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "timestamptz_ns",
        "string",
        "uuid",
        "fixed[3]",
        "binary",
        "decimal(9,2)",
        "decimal(38,0)",
        "decimal(9,2)",
    ];
    let types = types.map(|t| crate::types::schema_json::parse_primitive(t).unwrap());
    let columns: Vec<Field> = (1..).zip(types).map(|(id, ty)| Field::new(id, format!("c {id}"), false, ty)).collect();
    let part = |source_id: i32, field_id: i32, transform: Transform| PartitionField {
        source_id,
        field_id,
        name: format!("p {field_id}"),
        transform,
    };
    let mut fields: Vec<PartitionField> =
        columns.iter().map(|c| part(c.id, 1000 + c.id, Transform::Identity)).collect();
    fields.push(part(8, 1100, Transform::Day));
    fields.push(part(8, 1101, Transform::Hour));
    fields.push(part(12, 1102, Transform::Bucket(16)));
    fields.push(part(12, 1103, Transform::Truncate(2)));
    fields.push(part(2, 1104, Transform::Void));
    (Schema::new(5, columns, vec![]), PartitionSpec { id: 7, fields })
}

fn value(ty: &PrimitiveType) -> BoxedStrategy<Option<Value>> {
    use PrimitiveType as P;
    let some = match ty {
        P::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        P::Int | P::Date => any::<i32>().prop_map(Value::Int).boxed(),
        P::Float => any::<f32>().prop_map(Value::Float).boxed(),
        P::Double => any::<f64>().prop_map(Value::Double).boxed(),
        P::Decimal { precision, .. } => {
            let limit = 10i128.pow(u32::from(*precision)) - 1;
            (-limit..=limit).prop_map(Value::Decimal).boxed()
        }
        P::String => ".{0,9}".prop_map(Value::String).boxed(),
        P::Uuid => any::<u128>().prop_map(Value::Uuid).boxed(),
        P::Fixed(n) => prop::collection::vec(any::<u8>(), *n as usize).prop_map(Value::Bytes).boxed(),
        P::Binary => prop::collection::vec(any::<u8>(), 0..9).prop_map(Value::Bytes).boxed(),
        _ => any::<i64>().prop_map(Value::Long).boxed(),
    };
    prop::option::weighted(0.9, some).boxed()
}

fn partition() -> impl Strategy<Value = Arc<Partition>> {
    let (schema, spec) = schema_and_spec();
    let values: Vec<BoxedStrategy<PartitionValue>> = (spec.fields.iter().cloned())
        .map(|f| {
            let ty = f.result_type(&schema);
            let value = if f.transform == Transform::Void { Just(None).boxed() } else { value(&ty) };
            value
                .prop_map(move |value| PartitionValue {
                    name: f.name.clone(),
                    field_id: f.field_id,
                    source_id: f.source_id,
                    transform: f.transform.clone(),
                    ty: ty.clone(),
                    value,
                })
                .boxed()
        })
        .collect();
    values.prop_map(|values| Arc::new(Partition { spec_id: 7, values }))
}

fn metrics() -> impl Strategy<Value = ColumnMetrics> {
    let counts =
        || prop::option::of(prop::collection::btree_map(any::<i32>(), 0..i64::MAX, 0..9).prop_map(FieldMap::from_iter));
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let bounds = move || {
        prop::option::of(prop::collection::btree_map(any::<i32>(), bytes(), 0..9).prop_map(FieldMap::from_iter))
    };
    (counts(), counts(), counts(), counts(), bounds(), bounds()).prop_map(|m| ColumnMetrics {
        column_sizes: m.0,
        value_counts: m.1,
        null_value_counts: m.2,
        nan_value_counts: m.3,
        lower_bounds: m.4,
        upper_bounds: m.5,
    })
}

fn entry() -> impl Strategy<Value = ManifestEntry> {
    let numbers = (0..3u8, any::<i64>(), 0..i64::MAX, 0..i64::MAX, 0..i64::MAX);
    let lists = (
        prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
        prop::option::of(prop::collection::vec(any::<i64>(), 0..9)),
        any::<Option<i32>>(),
        any::<Option<i64>>(),
    );
    (numbers, ".{1,60}", partition(), metrics(), lists).prop_map(|(n, path, partition, metrics, lists)| ManifestEntry {
        status: n.0,
        snapshot_id: Some(n.1),
        sequence_number: Some(n.2),
        file_sequence_number: Some(n.2),
        file: DataFile {
            record_count: n.3,
            size_bytes: n.4,
            sequence_number: Some(n.2),
            file_sequence_number: Some(n.2),
            snapshot_id: Some(n.1),
            metrics: Some(metrics.into()),
            key_metadata: lists.0,
            split_offsets: lists.1,
            sort_order_id: lists.2,
            first_row_id: lists.3,
            ..DataFile::new(FileContent::Data, path, FileFormat::Orc, partition)
        },
        unknown: None,
    })
}

fn header<'a>(schema: &'a Schema, spec: &'a PartitionSpec, format_version: u8) -> ManifestHeader<'a> {
    let content = ManifestContent::Data;
    ManifestHeader { format_version, schema, spec, content, codec: AvroCodec::Deflate, compression_level: None }
}

/// The fields that each kind of delete file has.
fn as_delete(mut entry: ManifestEntry, kind: u8, numbers: (i64, i64), ids: Vec<i32>) -> ManifestEntry {
    let f = &mut entry.file;
    f.first_row_id = None;
    match kind {
        0 => (f.content, f.equality_ids) = (FileContent::EqualityDeletes, Some(ids)),
        1 => (f.content, f.referenced_data_file) = (FileContent::PositionDeletes, Some("d\u{10ffff}".into())),
        2 => f.content = FileContent::PositionDeletes,
        _ => {
            (f.content, f.format) = (FileContent::PositionDeletes, FileFormat::Puffin);
            f.referenced_data_file = Some("file:/d".into());
            (f.content_offset, f.content_size_bytes) = (Some(numbers.0), Some(numbers.1));
        }
    }
    entry
}

fn read_back(bytes: &[u8], schema: &Schema, spec: &PartitionSpec) -> Vec<ManifestEntry> {
    let request = EntryRequest { all_metrics: true, deleted_too: true, ..Default::default() };
    read_back_as(bytes, schema, spec, &request)
}

fn read_back_as(bytes: &[u8], schema: &Schema, spec: &PartitionSpec, request: &EntryRequest) -> Vec<ManifestEntry> {
    let m = Manifest::parse(bytes).unwrap();
    assert_eq!(&m.spec_fields[..], &spec.fields[..]);
    assert_eq!((m.spec_id, m.schema_id), (Some(spec.id), Some(schema.id)));
    let c = m.decode(0..m.block_count(), request, &Inherited::default()).unwrap();
    c.rows()
        .map(|row| {
            let tuple = &c.partitions[c.partition[row] as usize];
            let partition = partition_of(spec, schema, &m.spec_fields, &m.partition_types, tuple);
            ManifestEntry {
                status: c.status[row],
                snapshot_id: c.snapshot_id[row],
                sequence_number: c.sequence_number[row],
                file_sequence_number: c.file_sequence_number[row],
                file: c.data_file(row, Arc::new(partition)).unwrap(),
                unknown: None,
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_written_is_read(entries in prop::collection::vec(entry(), 0..12)) {
        let (schema, spec) = schema_and_spec();
        let out = encode_manifest(&entries, &header(&schema, &spec, 3)).unwrap();
        let back = read_back(&out.bytes, &schema, &spec);
        prop_assert_eq!(back.len(), entries.len());
        for (a, b) in back.iter().zip(&entries) {
            prop_assert_eq!((a.status, a.snapshot_id, a.sequence_number), (b.status, b.snapshot_id, b.sequence_number));
            prop_assert_eq!(&a.file, &b.file);
        }
        let oracle: Vec<_> = apache_avro::Reader::new(&out.bytes[..]).unwrap().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(oracle.len(), entries.len());
        let live = entries.iter().filter(|e| e.status != DELETED);
        prop_assert_eq!(out.min_sequence_number, live.filter_map(|e| e.sequence_number).min());
        // Metrics kept in their file form decode to the same.
        let request = EntryRequest { encoded_metrics: true, deleted_too: true, ..Default::default() };
        for (a, b) in read_back_as(&out.bytes, &schema, &spec, &request).iter().zip(&entries) {
            prop_assert_eq!(&a.file, &b.file);
            let metrics = |e: &ManifestEntry| e.file.metrics.as_ref().unwrap().get().unwrap().clone();
            prop_assert_eq!(metrics(a), metrics(b));
        }
    }

    #[test]
    fn delete_files_are_read_as_written(
        entries in prop::collection::vec(
            (entry(), 0u8..4, (0..i64::MAX, 0..i64::MAX), prop::collection::vec(any::<i32>(), 1..4)), 0..8),
    ) {
        let entries: Vec<ManifestEntry> =
            entries.into_iter().map(|(e, kind, numbers, ids)| as_delete(e, kind, numbers, ids)).collect();
        let (schema, spec) = schema_and_spec();
        let header = ManifestHeader { content: ManifestContent::Deletes, ..header(&schema, &spec, 3) };
        let out = encode_manifest(&entries, &header).unwrap();
        let back = read_back(&out.bytes, &schema, &spec);
        prop_assert_eq!(back.len(), entries.len());
        for (a, b) in back.iter().zip(&entries) {
            prop_assert_eq!(&a.file, &b.file);
        }
    }

    /// Metrics that are decoded late come from bytes that were only skipped before.
    #[test]
    fn any_bytes_of_encoded_metrics_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..80), damage: (u8, u8)) {
        let (schema, spec) = schema_and_spec();
        let out = encode_manifest(&[], &header(&schema, &spec, 3)).unwrap();
        let layout = Manifest::parse(&out.bytes).unwrap().layout().clone();
        let _ = FileMetrics::encoded(&bytes, layout.clone()).get();
        let one = Some(FieldMap::from([(1, 3)]));
        let bound = Some(FieldMap::from([(1, vec![0; 8]), (2, vec![])]));
        let m = ColumnMetrics { value_counts: one, lower_bounds: bound, ..Default::default() };
        // Null except for the value counts and the lower bounds.
        let mut written = vec![0];
        put_optional(&mut written, m.value_counts.as_ref(), |out, map| {
            put_items(out, map.iter(), |out, (id, n)| {
                put_int(out, *id);
                put_long(out, *n);
            });
        });
        written.extend([0, 0]);
        put_optional(&mut written, m.lower_bounds.as_ref(), |out, map| {
            put_items(out, map.iter(), |out, (id, bound)| {
                put_int(out, *id);
                put_bytes(out, bound);
            });
        });
        written.push(0);
        let whole = FileMetrics::encoded(&written, layout.clone());
        prop_assert_eq!(whole.get().unwrap(), &m);
        let at = usize::from(damage.0) % written.len();
        written[at] ^= damage.1;
        let _ = FileMetrics::encoded(&written, layout.clone()).get();
        written.truncate(at);
        prop_assert!(FileMetrics::encoded(&written, layout).get().is_err());
    }
}

fn file(partition: Partition) -> DataFile {
    DataFile {
        record_count: 3,
        size_bytes: 100,
        ..DataFile::new(FileContent::Data, "file:/warehouse/t/f.parquet", FileFormat::Parquet, Arc::new(partition))
    }
}

fn added(file: DataFile) -> ManifestEntry {
    let (snapshot_id, sequence_number, file_sequence_number, unknown) = (Some(1), None, None, None);
    ManifestEntry { status: ADDED, snapshot_id, sequence_number, file_sequence_number, file, unknown }
}

/// Summaries of one identity field over these values.
fn summaries(ty: PrimitiveType, values: &[Option<Value>]) -> Option<Vec<FieldSummary>> {
    let schema = Schema::new(0, vec![Field::new(1, "c", false, ty.clone())], vec![]);
    let field = PartitionField { source_id: 1, field_id: 1000, name: "c".into(), transform: Transform::Identity };
    let spec = PartitionSpec { id: 0, fields: vec![field] };
    let entries: Vec<ManifestEntry> = (values.iter())
        .map(|value| {
            let (name, transform, ty, value) = ("c".into(), Transform::Identity, ty.clone(), value.clone());
            let values = vec![PartitionValue { name, field_id: 1000, source_id: 1, transform, ty, value }];
            added(file(Partition { spec_id: 0, values }))
        })
        .collect();
    encode_manifest(&entries, &header(&schema, &spec, 2)).unwrap().partitions
}

#[test]
fn summaries_leave_out_nulls_and_nans() {
    let d = |v: f64| Some(Value::Double(v));
    let s = summaries(PrimitiveType::Double, &[d(2.0), d(f64::NAN), None, d(0.0), d(-0.0)]).unwrap();
    let bound = |v: f64| Some(v.to_le_bytes().to_vec());
    let expected =
        FieldSummary { contains_null: true, contains_nan: Some(true), lower: bound(-0.0), upper: bound(2.0) };
    assert_eq!(s, [expected]);
    let s = summaries(PrimitiveType::Float, &[Some(Value::Float(-0.0)), Some(Value::Float(0.0))]).unwrap();
    assert_eq!(s[0].upper, Some(0.0f32.to_le_bytes().to_vec()));
    let s = summaries(PrimitiveType::Double, &[d(f64::NAN)]).unwrap();
    assert_eq!((s[0].contains_nan, s[0].lower.clone(), s[0].contains_null), (Some(true), None, false));
    let nothing = FieldSummary { contains_nan: Some(false), ..Default::default() };
    assert_eq!(summaries(PrimitiveType::String, &[]).unwrap(), [nothing]);
}

#[test]
fn bounds_follow_the_order_of_values_not_of_bytes() {
    let i = |v: i32| Some(Value::Int(v));
    let s = summaries(PrimitiveType::Int, &[i(3), i(-2), i(300)]).unwrap();
    assert_eq!((s[0].lower.clone(), s[0].upper.clone()), (Some(vec![0xfe, 0xff, 0xff, 0xff]), Some(vec![44, 1, 0, 0])));
    let dec = |v: i128| Some(Value::Decimal(v));
    let s = summaries(PrimitiveType::Decimal { precision: 9, scale: 2 }, &[dec(-128), dec(128)]).unwrap();
    assert_eq!((s[0].lower.clone(), s[0].upper.clone()), (Some(vec![0x80]), Some(vec![0, 0x80])));
}

#[test]
fn uuids_that_readers_order_differently_get_no_summaries() {
    let u = |v: u128| Some(Value::Uuid(v));
    assert!(summaries(PrimitiveType::Uuid, &[u(1), u(2)]).is_some());
    assert!(summaries(PrimitiveType::Uuid, &[u(1 << 127), u(1 << 127 | 5)]).is_some());
    assert!(summaries(PrimitiveType::Uuid, &[u(1), u(1 << 127)]).is_none());
    assert!(summaries(PrimitiveType::Uuid, &[None, u(1 << 127)]).is_some());
}

#[test]
fn counts_are_by_status() {
    let schema = Schema::new(0, vec![], vec![]);
    let spec = PartitionSpec::default();
    let entry = |status: u8, number: Option<i64>| ManifestEntry {
        status,
        sequence_number: number,
        ..added(file(Partition { spec_id: 0, values: vec![] }))
    };
    let entries = [entry(ADDED, None), entry(EXISTING, Some(4)), entry(DELETED, Some(2)), entry(EXISTING, Some(9))];
    let out = encode_manifest(&entries, &header(&schema, &spec, 2)).unwrap();
    assert_eq!((out.added_files_count, out.existing_files_count, out.deleted_files_count), (1, 2, 1));
    assert_eq!((out.added_rows_count, out.existing_rows_count, out.deleted_rows_count), (3, 6, 3));
    assert_eq!(out.min_sequence_number, Some(4));
    let inherited = encode_manifest(&entries[..1], &header(&schema, &spec, 2)).unwrap();
    assert_eq!(inherited.min_sequence_number, None);
}

#[test]
fn versions_have_what_they_should() {
    let (schema, spec) = (Schema::new(0, vec![], vec![]), PartitionSpec::default());
    let delete = DataFile {
        content: FileContent::PositionDeletes,
        format: FileFormat::Puffin,
        referenced_data_file: Some("file:/warehouse/t/f.parquet".into()),
        content_offset: Some(4),
        content_size_bytes: Some(40),
        first_row_id: Some(9),
        ..file(Partition { spec_id: 0, values: vec![] })
    };
    let deletes = |version| ManifestHeader { content: ManifestContent::Deletes, ..header(&schema, &spec, version) };
    let read = |version: u8| {
        let out = encode_manifest(&[added(delete.clone())], &deletes(version)).unwrap();
        read_back(&out.bytes, &schema, &spec).remove(0).file
    };
    let v3 = read(3);
    assert_eq!((v3.content_offset, v3.content_size_bytes, v3.first_row_id), (Some(4), Some(40), None));
    assert_eq!(v3.referenced_data_file, delete.referenced_data_file);
    assert_eq!(read(2).content_offset, None);
    let v1 =
        encode_manifest(&[added(file(Partition { spec_id: 0, values: vec![] }))], &header(&schema, &spec, 1)).unwrap();
    assert_eq!(Manifest::parse(&v1.bytes).unwrap().format_version, 1);
    assert_eq!(read_back(&v1.bytes, &schema, &spec)[0].sequence_number, Some(0));
}

#[test]
fn refuses_what_must_not_be_written() {
    let (schema, spec) = (Schema::new(0, vec![], vec![]), PartitionSpec::default());
    let good = added(file(Partition { spec_id: 0, values: vec![] }));
    let fails = |entry: ManifestEntry, version: u8| {
        encode_manifest(&[entry], &header(&schema, &spec, version)).unwrap_err().to_string()
    };
    assert!(fails(ManifestEntry { snapshot_id: None, ..good.clone() }, 1).contains("snapshot id"));
    assert!(fails(ManifestEntry { status: EXISTING, ..good.clone() }, 2).contains("sequence number"));
    assert!(fails(ManifestEntry { status: 3, ..good.clone() }, 2).contains("status"));
    assert!(fails(added(file(Partition { spec_id: 1, values: vec![] })), 2).contains("spec 1"));
    let mut bad = good.clone();
    bad.file.content = FileContent::EqualityDeletes;
    assert!(fails(bad, 2).contains("either data files or delete files"));
    let mut bad = good.clone();
    bad.file.record_count = -1;
    assert!(fails(bad, 2).contains("negative"));
    assert!(fails(good.clone(), 4).contains("version 4"));
    let deletes = ManifestHeader { content: ManifestContent::Deletes, ..header(&schema, &spec, 1) };
    assert!(encode_manifest(&[], &deletes).is_err());
    let mistyped = |ty: PrimitiveType, v: Value| {
        let schema = Schema::new(0, vec![Field::new(1, "c", false, ty.clone())], vec![]);
        let field = PartitionField { source_id: 1, field_id: 1000, name: "c".into(), transform: Transform::Identity };
        let spec = PartitionSpec { id: 0, fields: vec![field] };
        let (name, transform, value) = ("c".into(), Transform::Identity, Some(v));
        let values = vec![PartitionValue { name, field_id: 1000, source_id: 1, transform, ty, value }];
        let entry = added(file(Partition { spec_id: 0, values }));
        encode_manifest(&[entry], &header(&schema, &spec, 2)).unwrap_err().to_string()
    };
    assert!(mistyped(PrimitiveType::Long, Value::Int(1)).contains("not a partition value of type long"));
    assert!(mistyped(PrimitiveType::Fixed(2), Value::Bytes(vec![1])).contains("fixed[2]"));
    assert!(mistyped(PrimitiveType::Decimal { precision: 3, scale: 0 }, Value::Decimal(1000)).contains("decimal"));
}

#[test]
fn a_dropped_source_keeps_the_type_of_the_files() {
    let schema = Schema::new(0, vec![], vec![]);
    let field = PartitionField { source_id: 1, field_id: 1000, name: "c".into(), transform: Transform::Identity };
    let spec = PartitionSpec { id: 0, fields: vec![field] };
    let of = |value: Option<Value>, ty: PrimitiveType| {
        let values = vec![PartitionValue {
            name: "c".into(),
            field_id: 1000,
            source_id: 1,
            transform: Transform::Identity,
            ty,
            value,
        }];
        added(file(Partition { spec_id: 0, values }))
    };
    let entries = [of(None, PrimitiveType::Unknown), of(Some(Value::Long(4)), PrimitiveType::Long)];
    let out = encode_manifest(&entries, &header(&schema, &spec, 2)).unwrap();
    let back = read_back(&out.bytes, &schema, &spec);
    assert_eq!(back[1].file.partition.values[0].value, Some(Value::Long(4)));
    let unknown = encode_manifest(&entries[..1], &header(&schema, &spec, 2)).unwrap();
    assert_eq!(read_back(&unknown.bytes, &schema, &spec)[0].file.partition.values[0].ty, PrimitiveType::Unknown);
}
