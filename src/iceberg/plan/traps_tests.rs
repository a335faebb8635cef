//! The known mistakes of readers of Iceberg, one test each. Numbers are those of the project's list. A table is
//! written as the writer in question would, and planned. Modules have more tests of each kind.

use std::sync::Arc;

use super::testing::*;
use crate::codec::avro::{AvroCodec, Container, ContainerWriter};
use crate::error::ErrorKind;
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, FileContent, FileFormat};
use crate::iceberg::manifest::encode::{EncodedManifest, ManifestEntry, ManifestHeader, encode_manifest};
use crate::iceberg::manifest::entries::{ADDED, EXISTING};
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::Store;
use crate::types::hash::{hash_value, murmur3_bytes};
use crate::types::hash_kernels::kernel_decimal;
use crate::types::value::encode_bound;
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Value, ValueRef};
use PrimitiveType as P;

const DATA: ManifestContent = ManifestContent::Data;
const DELETES: ManifestContent = ManifestContent::Deletes;

fn schema(ty: P) -> Schema {
    Schema::new(0, vec![Field::new(1, "x", false, ty), Field::new(2, "id", false, P::Long)], vec![])
}

fn by(transform: Transform) -> PartitionSpec {
    spec(0, &[(1, 1000, transform)])
}

fn spec(id: i32, fields: &[(i32, i32, Transform)]) -> PartitionSpec {
    let field = |(source_id, field_id, transform): &(i32, i32, Transform)| PartitionField {
        source_id: *source_id,
        field_id: *field_id,
        name: format!("p{field_id}"),
        transform: transform.clone(),
    };
    PartitionSpec { id, fields: fields.iter().map(field).collect() }
}

/// A table with one file for each partition value of `x`, named by its number.
fn partitioned(ty: P, transform: Transform, values: &[Option<Value>]) -> TestTable {
    let (schema, spec) = (schema(ty), by(transform));
    let mut table = TestTable::new(3, std::slice::from_ref(&schema), std::slice::from_ref(&spec));
    let one = |(n, v): (usize, &Option<Value>)| {
        added(file(&n.to_string(), &partition(&spec, &schema, std::slice::from_ref(v))), 1)
    };
    let entries: Vec<_> = values.iter().enumerate().map(one).collect();
    table.add(DATA, &schema, 0, &entries);
    table
}

fn counts(values: i64, nulls: i64) -> ColumnMetrics {
    let one = |n| Some(FieldMap::from([(1, n)]));
    ColumnMetrics { value_counts: one(values), null_value_counts: one(nulls), ..Default::default() }
}

fn bounds(lower: ValueRef<'_>, upper: ValueRef<'_>) -> ColumnMetrics {
    let one = |v| Some(FieldMap::from([(1, encode_bound(v))]));
    ColumnMetrics { lower_bounds: one(lower), upper_bounds: one(upper), ..counts(10, 0) }
}

/// An unpartitioned table with a file for each of these metrics of `x`.
fn measured(ty: P, files: Vec<ColumnMetrics>) -> TestTable {
    let (schema, spec) = (schema(ty), PartitionSpec::default());
    let mut table = TestTable::new(3, std::slice::from_ref(&schema), std::slice::from_ref(&spec));
    let nowhere = partition(&spec, &schema, &[]);
    let one = |(n, m): (usize, ColumnMetrics)| {
        let data = file(&n.to_string(), &nowhere);
        added(DataFile { metrics: Some(m.into()), record_count: 10, split_offsets: Some(vec![4]), ..data }, 1)
    };
    let entries: Vec<_> = files.into_iter().enumerate().map(one).collect();
    table.add(DATA, &schema, 0, &entries);
    table
}

fn residual(table: &TestTable, filter: &str) -> String {
    table.plan(filter).unwrap()[0].residual.to_string()
}

/// A manifest with its schema's text changed, its records as they are.
fn with_schema(encoded: &EncodedManifest, from: &str, to: &str) -> EncodedManifest {
    let container = Container::parse(&encoded.bytes).unwrap();
    let text = container.schema_json().unwrap();
    assert!(text.contains(from), "{text}");
    let keys = ["schema", "schema-id", "partition-spec", "partition-spec-id", "format-version", "content"];
    let metadata: Vec<(&str, &str)> =
        keys.iter().filter_map(|k| Some((*k, container.metadata_text(k).unwrap()?))).collect();
    let mut writer = ContainerWriter::new(&text.replace(from, to), &metadata, AvroCodec::Null);
    assert_eq!((container.blocks.len(), container.blocks[0].count), (1, 1));
    writer.record(|out| out.extend_from_slice(container.block_data(0).unwrap()));
    EncodedManifest { bytes: writer.finish().unwrap(), ..encoded.clone() }
}

#[test]
fn trap_01_a_day_is_an_int_or_a_date() {
    let (schema, spec) = (schema(P::Timestamp), by(Transform::Day));
    let one = added(file("d", &partition(&spec, &schema, &[Some(Value::Int(19358))])), 1);
    let header = ManifestHeader {
        format_version: 2,
        schema: &schema,
        spec: &spec,
        content: DATA,
        codec: AvroCodec::Null,
        compression_level: None,
    };
    let as_date = encode_manifest(&[one], &header).unwrap();
    let as_int = with_schema(&as_date, r#"{"type":"int","logicalType":"date"}"#, r#""int""#);
    for manifest in [as_date, as_int] {
        let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(&spec));
        table.add_encoded(DATA, 0, manifest);
        for (filter, found) in [("day(x) = '2023-01-01'", 1), ("x >= '2023-01-02'", 0), ("day(x) = 19358", 1)] {
            let tasks = table.plan(filter).unwrap();
            assert_eq!(tasks.len(), found, "{filter}");
            assert!(tasks.iter().all(|t| t.data_file.partition.values[0].ty == P::Date));
            assert!(tasks.iter().all(|t| t.data_file.partition.path() == "p1000=2023-01-01"));
        }
    }
}

/// Hashes of the specification's Appendix B and of the list: -653330422 for the date, as a long.
#[test]
fn traps_02_03_04_buckets_of_dates_decimals_and_nanoseconds() {
    let bucket = |hash: i32| (hash & i32::MAX) % 16;
    let micros = 1510871468000001i64;
    for (ty, literal, value, hash) in [
        (P::Date, "'2017-11-16'", Value::Int(17486), -653330422),
        (P::Int, "34", Value::Int(34), 2017239379),
        (P::Decimal { precision: 9, scale: 2 }, "14.20", Value::Decimal(1420), -500754589),
        (P::Timestamp, "'2017-11-16T22:31:08.000001'", Value::Long(micros), -1207196810),
        (P::TimestampNs, "'2017-11-16T22:31:08.000001001'", Value::Long(micros * 1000 + 1), -1207196810),
    ] {
        assert_eq!(hash_value(value.as_ref(), &ty), Some(hash as u32), "{ty}");
        let all: Vec<_> = (0..16).map(|b| Some(Value::Int(b))).collect();
        let table = partitioned(ty.clone(), Transform::Bucket(16), &all);
        assert_eq!(table.paths(&format!("x = {literal}")), [bucket(hash).to_string()], "{ty}");
    }
    // One byte for each of these.
    assert_eq!(kernel_decimal(-1), murmur3_bytes(&[0xff]));
    assert_eq!(kernel_decimal(-128), murmur3_bytes(&[0x80]));
    // Before 1970 nanoseconds round down.
    let at = |ns: i64| hash_value(ValueRef::Long(ns), &P::TimestampNs);
    assert_eq!(at(-1), hash_value(ValueRef::Long(-1), &P::Timestamp));
}

#[test]
fn trap_05_zeros_of_either_sign_are_equal() {
    let table = measured(P::Double, vec![bounds(ValueRef::Double(0.0), ValueRef::Double(0.0))]);
    for filter in ["x = -0.0", "x <= -0.0", "x in (-0.0, 5)"] {
        assert_eq!(table.paths(filter).len(), 1, "{filter}");
    }
    // Two equal partitions. A filter finds both.
    let zeros = [Some(Value::Double(0.0)), Some(Value::Double(-0.0))];
    assert_eq!(partitioned(P::Double, Transform::Identity, &zeros).paths("x = 0"), ["0", "1"]);
}

#[test]
fn trap_06_nan_bounds_and_missing_nan_counts() {
    let nan_upper = bounds(ValueRef::Double(1.0), ValueRef::Double(f64::NAN));
    let uncounted = bounds(ValueRef::Double(1.0), ValueRef::Double(2.0));
    let counted = ColumnMetrics { nan_value_counts: Some(FieldMap::from([(1, 0)])), ..uncounted.clone() };
    let table = measured(P::Double, vec![nan_upper, uncounted, counted]);
    assert_eq!(table.paths("x < 0"), ["0"]);
    assert_eq!(table.paths("x > 5"), ["0", "1"]);
    assert_eq!(table.paths("x is nan"), ["0", "1"]);
    assert_eq!(table.paths("x = 'NaN'"), ["0", "1"]);
}

/// "ab" cut from longer texts, rounded up to "ac".
#[test]
fn trap_07_cut_bounds_are_no_minimum_and_maximum() {
    let table = measured(P::String, vec![bounds(ValueRef::String("ab"), ValueRef::String("ac"))]);
    for (filter, found) in [("x = 'abz'", 1), ("x > 'abz'", 1), ("x > 'ac'", 0), ("x like 'abc%'", 1), ("x < 'ab'", 0)]
    {
        assert_eq!(table.paths(filter).len(), found, "{filter}");
    }
    assert_eq!(residual(&table, "x like 'abc%'"), "starts_with(x, 'abc')");
    // It has no upper bound, since nothing is above the last code point.
    let mut open = bounds(ValueRef::String("b"), ValueRef::String(""));
    open.upper_bounds = None;
    assert_eq!(measured(P::String, vec![open]).paths("x > 'zzz'").len(), 1);
}

/// The specification's table of truncation, and its limits.
#[test]
fn trap_08_truncation() {
    let cut = |w, v: Value, ty: P| Transform::Truncate(w).apply(v.as_ref(), &ty).unwrap();
    let decimal = P::Decimal { precision: 9, scale: 2 };
    assert_eq!(cut(10, Value::Int(-1), P::Int), Value::Int(-10));
    assert_eq!(cut(10, Value::Long(-11), P::Long), Value::Long(-20));
    assert_eq!(cut(50, Value::Decimal(1065), decimal.clone()), Value::Decimal(1050));
    assert_eq!(cut(10, Value::Decimal(-5), decimal), Value::Decimal(-10));
    assert_eq!(cut(3, Value::String("iceberg".into()), P::String), Value::String("ice".into()));
    assert_eq!(cut(2, Value::String("\u{1f600}日é".into()), P::String), Value::String("\u{1f600}日".into()));
    assert_eq!(cut(2, Value::Bytes(vec![1, 2, 3]), P::Binary), Value::Bytes(vec![1, 2]));
    // Below the lowest multiple it wraps: the file of the lowest numbers has a high partition value.
    let wrapped = cut(10, Value::Int(i32::MIN), P::Int);
    let table = partitioned(P::Int, Transform::Truncate(10), &[Some(wrapped), Some(Value::Int(0))]);
    assert_eq!(table.paths("x = -2147483648"), ["0"]);
    assert_eq!(table.paths("x < -5"), ["0"]);
}

#[test]
fn trap_09_bounds_of_the_old_width() {
    let decimal = P::Decimal { precision: 38, scale: 2 };
    for (now, old, inside, outside) in [
        (P::Long, bounds(ValueRef::Int(0), ValueRef::Int(5)), "x = 5", "x > 5"),
        (P::Double, bounds(ValueRef::Float(1.5), ValueRef::Float(2.5)), "x >= 2.5", "x < 1.5"),
        (P::Timestamp, bounds(ValueRef::Int(0), ValueRef::Int(1)), "x = '1970-01-02'", "x > '1970-01-02T00:00:00'"),
        (decimal, bounds(ValueRef::Decimal(-1), ValueRef::Decimal(127)), "x = 1.27", "x > 1.27"),
    ] {
        let mut old = old;
        old.nan_value_counts = Some(FieldMap::from([(1, 0)]));
        let table = measured(now, vec![old]);
        assert_eq!((table.paths(inside).len(), table.paths(outside).len()), (1, 0), "{inside}");
    }
}

#[test]
fn trap_10_zero_and_empty_are_values() {
    let empty = bounds(ValueRef::String(""), ValueRef::String(""));
    assert!(measured(P::String, vec![empty.clone()]).paths("x > ''").is_empty());
    assert_eq!(measured(P::String, vec![empty]).paths("x = ''").len(), 1);
    let zero = bounds(ValueRef::Int(0), ValueRef::Int(0));
    assert!(measured(P::Int, vec![zero.clone()]).paths("x > 0").is_empty());
    assert!(measured(P::Int, vec![zero]).paths("x < 0").is_empty());
    // The sequence number 0 is a number like others: a delete with 1 is younger.
    let (schema, unpartitioned) = (schema(P::Int), PartitionSpec::default());
    let nowhere = partition(&unpartitioned, &schema, &[]);
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &[unpartitioned]);
    table.add(DATA, &schema, 0, &[added(file("old", &nowhere), 0)]);
    table.add(DELETES, &schema, 0, &[added(equality("e", &nowhere, &[1]), 1)]);
    assert_eq!(deletes_of(&table, "true"), [["e"]]);
}

fn equality(path: &str, of: &Arc<crate::format::task::Partition>, ids: &[i32]) -> DataFile {
    DataFile { content: FileContent::EqualityDeletes, equality_ids: Some(ids.to_vec()), ..file(path, of) }
}

fn positions(path: &str, of: &Arc<crate::format::task::Partition>) -> DataFile {
    DataFile { content: FileContent::PositionDeletes, ..file(path, of) }
}

/// The paths of each task's deletes.
fn deletes_of(table: &TestTable, filter: &str) -> Vec<Vec<String>> {
    let paths = |t: &crate::format::task::ScanTask| t.deletes.iter().map(|d| d.file.path.clone()).collect();
    table.plan(filter).unwrap().iter().map(paths).collect()
}

#[test]
fn trap_11_not_starts_with_on_truncated_partitions() {
    let text = |s: &str| Some(Value::String(s.into()));
    let table = partitioned(P::String, Transform::Truncate(2), &[text("ab"), text("a"), text("xy"), None]);
    for (filter, found) in [
        ("not starts_with(x, 'ab')", vec!["1", "2"]),
        ("not starts_with(x, 'abc')", vec!["0", "1", "2"]),
        ("not starts_with(x, 'a')", vec!["2"]),
        ("starts_with(x, 'abc')", vec!["0"]),
        ("x != 'ab'", vec!["0", "1", "2"]),
        ("x is null or not starts_with(x, 'xy')", vec!["0", "1", "3"]),
    ] {
        assert_eq!(table.paths(filter), found, "{filter}");
    }
}

#[test]
fn trap_12_in_is_narrowed_by_both_bounds() {
    let table = measured(P::Int, vec![bounds(ValueRef::Int(10), ValueRef::Int(20))]);
    assert!(table.paths("x in (1, 5, 25, 99)").is_empty());
    assert_eq!(table.paths("x in (1, 15, 99)").len(), 1);
}

#[test]
fn trap_13_residuals_follow_the_files_own_spec() {
    let schema = schema(P::Double);
    let specs = [by(Transform::Identity), spec(1, &[])];
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &specs);
    table.metadata.default_spec_id = 1;
    let five = partition(&specs[0], &schema, &[Some(Value::Double(5.0))]);
    let null = partition(&specs[0], &schema, &[None]);
    table.add(DATA, &schema, 0, &[added(file("five", &five), 1), added(file("null", &null), 1)]);
    table.add(DATA, &schema, 1, &[added(file("new", &partition(&specs[1], &schema, &[])), 1)]);
    let left = |filter: &str| -> Vec<(String, String)> {
        let tasks = table.plan(filter).unwrap();
        tasks.iter().map(|t| (t.data_file.path.clone(), t.residual.to_string())).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(left("x > 1"), [pair("new", "x > 1.0"), pair("five", "true")]);
    assert_eq!(left("x is not nan")[1..], [pair("five", "true"), pair("null", "true")]);
}

/// A file older than the column has no metrics of it. The value that its rows are read with decides.
#[test]
fn trap_14_a_column_that_the_file_lacks() {
    let table = measured(P::Int, vec![ColumnMetrics::default()]);
    for filter in ["x = 5", "x is null", "x is not null", "x not in (1, 2)"] {
        assert_eq!(table.paths(filter).len(), 1, "{filter}");
    }
}

#[test]
fn traps_16_17_dropped_sources_and_unknown_transforms_part_but_do_not_prune() {
    let before = schema(P::Int);
    let after = Schema::new(1, vec![Field::new(2, "id", false, P::Long)], vec![]);
    let specs = [spec(0, &[(1, 1000, Transform::Identity), (2, 1001, Transform::Unknown("later[3]".into()))])];
    let at =
        |x: i32, later: &str| partition(&specs[0], &before, &[Some(Value::Int(x)), Some(Value::String(later.into()))]);
    let mut table = TestTable::new(2, &[before.clone(), after], &specs);
    let (a, b, c) = (at(1, "u"), at(2, "u"), at(1, "v"));
    table.add(DATA, &before, 0, &[added(file("a", &a), 1), added(file("b", &b), 1), added(file("c", &c), 1)]);
    table.add(DELETES, &before, 0, &[added(equality("ea", &a, &[2]), 2), added(positions("pc", &c), 2)]);
    assert_eq!(table.paths("id = 5").len(), 3);
    assert_eq!(deletes_of(&table, "id = 5"), [vec!["ea"], vec![], vec!["pc"]]);
    // Other readers may write and read the spec again, so it still exists.
    assert_eq!(table.plan("true").unwrap()[0].data_file.partition.values.len(), 2);
}

#[test]
fn trap_18_partition_fields_meet_by_id() {
    let schema = Schema::new(0, vec![Field::new(1, "x", false, P::Int), Field::new(2, "y", false, P::Int)], vec![]);
    let (xy, yx) = (
        spec(0, &[(1, 1000, Transform::Identity), (2, 1001, Transform::Identity)]),
        spec(0, &[(2, 1001, Transform::Identity), (1, 1000, Transform::Identity)]),
    );
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(&xy));
    let swapped = partition(&yx, &schema, &[Some(Value::Int(7)), Some(Value::Int(3))]);
    table.add(DATA, &schema, 0, &[added(file("f", &swapped), 1)]);
    // The manifest was written in the other order.
    let header = ManifestHeader {
        format_version: 2,
        schema: &schema,
        spec: &yx,
        content: DATA,
        codec: AvroCodec::Null,
        compression_level: None,
    };
    let other = encode_manifest(&[added(file("g", &swapped), 1)], &header).unwrap();
    table.add_encoded(DATA, 0, EncodedManifest { partitions: None, ..other });
    assert_eq!(table.paths("x = 3 and y = 7"), ["g", "f"]);
    assert!(table.paths("x = 7").is_empty());
}

#[test]
fn trap_19_a_list_of_v1_knows_little() {
    let mut table = partitioned(P::Int, Transform::Identity, &[Some(Value::Int(1)), None]);
    table.metadata.format_version = 2;
    let m = &mut table.manifests[0];
    (m.added_files_count, m.existing_files_count, m.deleted_files_count, m.partitions) = (None, None, None, None);
    table.write_list(1);
    let tasks = tasks_of(&table.batches(crate::expr::BoundPredicate::True).unwrap()).unwrap();
    assert_eq!(tasks.len(), 2);
    // Entries without sequence numbers have 0.
    let mut table = TestTable::new(1, &[schema(P::Int)], &[PartitionSpec::default()]);
    let nowhere = partition(&PartitionSpec::default(), &schema(P::Int), &[]);
    table.add(DATA, &schema(P::Int), 0, &[added(file("v1", &nowhere), 1)]);
    let task = &table.plan("true").unwrap()[0];
    assert_eq!(task.data_file.sequence_number, Some(0));
}

#[test]
fn trap_20_a_snapshot_of_v1_lists_manifests_itself() {
    let mut table = TestTable::new(1, &[schema(P::Int)], &[PartitionSpec::default()]);
    let nowhere = partition(&PartitionSpec::default(), &schema(P::Int), &[]);
    table.add(DATA, &schema(P::Int), 0, &[added(file("v1", &nowhere), 1)]);
    let json = serde_json::json!({"snapshot-id": SNAPSHOT, "timestamp-ms": 0, "manifests": [table.manifests[0].path]});
    let mut input = table.input(crate::expr::BoundPredicate::True);
    input.snapshot = Some(Arc::new(Snapshot::from_json(json, 1).unwrap()));
    let mut plan = super::planner::RunningPlan::start(input).unwrap();
    assert_eq!(plan.next_batch().unwrap().unwrap().rows.len(), 1);
}

#[test]
fn traps_21_22_only_added_entries_inherit_and_files_have_two_numbers() {
    let (schema, none) = (schema(P::Int), PartitionSpec::default());
    let nowhere = partition(&none, &schema, &[]);
    let entry = |path: &str, status, numbers: (Option<i64>, Option<i64>)| ManifestEntry {
        status,
        snapshot_id: (status == EXISTING).then_some(5),
        sequence_number: numbers.0,
        file_sequence_number: numbers.1,
        file: file(path, &nowhere),
        unknown: None,
    };
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &[none]);
    let entries = [entry("new", ADDED, (None, None)), entry("moved", EXISTING, (Some(2), Some(6)))];
    table.add(DATA, &schema, 0, &entries).sequence_number = 7;
    table.add(DELETES, &schema, 0, &[added(equality("e", &nowhere, &[1]), 4)]);
    let tasks = table.plan("true").unwrap();
    let facts: Vec<_> = tasks.iter().map(|t| (t.data_file.sequence_number, t.data_file.snapshot_id)).collect();
    assert_eq!(facts, [(Some(7), Some(SNAPSHOT)), (Some(2), Some(5))]);
    assert_eq!(tasks[1].data_file.file_sequence_number, Some(6));
    // Not file_sequence_number, which would put "moved" after the delete.
    assert_eq!(deletes_of(&table, "true"), [vec![], vec!["e"]]);
}

#[test]
fn traps_23_24_scope_of_deletes() {
    let schema = schema(P::Double);
    let specs = [by(Transform::Identity), spec(1, &[])];
    let at = |v: f64| partition(&specs[0], &schema, &[Some(Value::Double(v))]);
    let (nan, other_nan, zero, minus, nowhere) =
        (at(f64::NAN), at(-f64::NAN), at(0.0), at(-0.0), partition(&specs[1], &schema, &[]));
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &specs);
    let data = [added(file("nan", &nan), 3), added(file("zero", &zero), 3), added(file("minus", &minus), 5)];
    table.add(DATA, &schema, 0, &data);
    let local = [
        added(positions("same", &zero), 3),
        added(positions("older", &zero), 2),
        added(equality("strict", &zero, &[2]), 3),
        added(equality("nans", &other_nan, &[2]), 4),
    ];
    table.add(DELETES, &schema, 0, &local);
    table.add(
        DELETES,
        &schema,
        1,
        &[added(equality("global", &nowhere, &[2]), 4), added(positions("far", &nowhere), 9)],
    );
    assert_eq!(deletes_of(&table, "true"), [vec!["global", "nans"], vec!["global", "same"], vec![]]);
}

#[test]
fn traps_25_26_null_keys_extra_columns_and_dropped_keys() {
    let before = Schema::new(
        0,
        vec![
            Field::new(1, "x", false, P::Int),
            Field::new(2, "id", false, P::Long),
            Field::new(3, "gone", false, P::Int),
        ],
        vec![],
    );
    let after = schema(P::Int);
    let after = Schema::new(1, after.fields.clone(), vec![]);
    let none = PartitionSpec::default();
    let nowhere = partition(&none, &before, &[]);
    let mut table = TestTable::new(2, &[before.clone(), after], &[none]);
    let with = |f: DataFile, m: ColumnMetrics| DataFile { metrics: Some(m.into()), record_count: 10, ..f };
    let low = || bounds(ValueRef::Int(0), ValueRef::Int(5));
    let nullable = |nulls| ColumnMetrics { null_value_counts: Some(FieldMap::from([(1, nulls)])), ..low() };
    table.add(DATA, &before, 0, &[added(with(file("d", &nowhere), nullable(2)), 1)]);
    let high = |nulls| ColumnMetrics {
        null_value_counts: Some(FieldMap::from([(1, nulls)])),
        ..bounds(ValueRef::Int(8), ValueRef::Int(9))
    };
    let deletes = [
        added(with(equality("no null", &nowhere, &[1]), high(0)), 2),
        added(with(equality("null", &nowhere, &[1]), high(1)), 2),
        // `x` is not a key, so its range proves nothing.
        added(with(equality("extra", &nowhere, &[2]), high(0)), 2),
        added(equality("dropped", &nowhere, &[3]), 2),
    ];
    table.add(DELETES, &before, 0, &deletes);
    assert_eq!(deletes_of(&table, "true"), [["null", "extra", "dropped"]]);
    // Under a filter on keys, files that delete other keys are not needed. Nulls are keys too.
    assert_eq!(deletes_of(&table, "x is null"), [["null", "extra", "dropped"]]);
    assert_eq!(deletes_of(&table, "x = 5"), [["extra", "dropped"]]);
}

/// A member of a struct is null where the struct is null, required or not. ORC does not count it there.
#[test]
fn trap_25_a_required_key_in_a_null_struct() {
    let members = vec![Field::new(5, "m", true, P::Int)];
    let st = Field::new(4, "st", false, crate::types::Type::Struct(members.into()));
    let schema = Schema::new(0, vec![st], vec![]);
    let none = PartitionSpec::default();
    let nowhere = partition(&none, &schema, &[]);
    let counted = |values| ColumnMetrics {
        value_counts: Some(FieldMap::from([(5, values)])),
        null_value_counts: Some(FieldMap::from([(5, 0)])),
        lower_bounds: Some(FieldMap::from([(5, encode_bound(ValueRef::Int(1)))])),
        upper_bounds: Some(FieldMap::from([(5, encode_bound(ValueRef::Int(1)))])),
        ..Default::default()
    };
    let orc = |f: DataFile, rows, values| DataFile {
        format: FileFormat::Orc,
        record_count: rows,
        metrics: Some(counted(values).into()),
        ..f
    };
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &[none]);
    let data = [added(orc(file("some", &nowhere), 10, 8), 1), added(orc(file("none", &nowhere), 8, 8), 1)];
    table.add(DATA, &schema, 0, &data);
    let mut e = orc(equality("e", &nowhere, &[5]), 3, 2);
    if let Some(m) = e.metrics.as_mut() {
        let mut m2 = m.get().unwrap().clone();
        m2.lower_bounds = Some(FieldMap::from([(5, encode_bound(ValueRef::Int(7)))]));
        m2.upper_bounds = m2.lower_bounds.clone();
        *m = m2.into();
    }
    table.add(DELETES, &schema, 0, &[added(e, 2)]);
    assert_eq!(deletes_of(&table, "true"), [vec!["e"], vec![]]);
}

#[test]
fn trap_27_vectors_replace_position_deletes_and_are_told_apart_by_place() {
    let (schema, none) = (schema(P::Int), PartitionSpec::default());
    let nowhere = partition(&none, &schema, &[]);
    let vector = |of: &str, offset| DataFile {
        format: FileFormat::Puffin,
        referenced_data_file: Some(of.into()),
        content_offset: Some(offset),
        content_size_bytes: Some(40),
        ..positions("one.puffin", &nowhere)
    };
    let mut table = TestTable::new(3, std::slice::from_ref(&schema), &[none]);
    table.add(
        DATA,
        &schema,
        0,
        &[added(file("a", &nowhere), 1), added(file("b", &nowhere), 1), added(file("c", &nowhere), 1)],
    );
    let all = [added(vector("a", 4), 2), added(vector("b", 44), 2), added(positions("old", &nowhere), 2)];
    table.add(DELETES, &schema, 0, &all);
    let tasks = table.plan("true").unwrap();
    let places: Vec<Vec<_>> = tasks
        .iter()
        .map(|t| t.deletes.iter().map(|d| (d.file.path.as_str(), d.file.content_offset)).collect())
        .collect();
    assert_eq!(places, [vec![("one.puffin", Some(4))], vec![("one.puffin", Some(44))], vec![("old", None)]]);
    table.add(DELETES, &schema, 0, &[added(vector("a", 84), 3)]);
    let error = table.plan("true").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptTable);
    assert!(error.to_string().contains("one.puffin") && error.to_string().contains("77"), "{error}");
}

#[test]
fn trap_28_cut_path_bounds_name_no_file() {
    use crate::types::metadata_columns::DELETE_FILE_PATH;
    let (schema, none) = (schema(P::Int), PartitionSpec::default());
    let nowhere = partition(&none, &schema, &[]);
    let with = |name: &str, low: &str, high: &str| {
        let bound = |p: &str| Some(FieldMap::from([(DELETE_FILE_PATH, p.as_bytes().to_vec())]));
        let m = ColumnMetrics { lower_bounds: bound(low), upper_bounds: bound(high), ..Default::default() };
        added(DataFile { metrics: Some(m.into()), ..positions(name, &nowhere) }, 2)
    };
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &[none]);
    table.add(DATA, &schema, 0, &[added(file("dir/a1.orc", &nowhere), 1), added(file("dir/b2.orc", &nowhere), 1)]);
    let exact = with("exact", "dir/a1.orc", "dir/a1.orc");
    let all = [exact, with("cut", "dir/", "dir0"), with("short", "dir/b", "dir/b")];
    table.add(DELETES, &schema, 0, &all);
    assert_eq!(deletes_of(&table, "true"), [vec!["cut", "short", "exact"], vec!["cut", "short"]]);
}

#[test]
fn trap_29_row_ids_run_over_entries_without_one() {
    let (schema, none) = (schema(P::Int), PartitionSpec::default());
    let nowhere = partition(&none, &schema, &[]);
    let rows = |path: &str, n, first| DataFile { record_count: n, first_row_id: first, ..file(path, &nowhere) };
    let mut table = TestTable::new(3, std::slice::from_ref(&schema), &[none]);
    let mut gone = added(rows("gone", 50, None), 1);
    gone.status = crate::iceberg::manifest::entries::DELETED;
    let entries = [added(rows("a", 10, None), 1), added(rows("b", 5, Some(7)), 1), gone, added(rows("c", 2, None), 1)];
    table.add(DATA, &schema, 0, &entries).first_row_id = Some(100);
    let ids = |t: &TestTable| t.plan("true").unwrap().iter().map(|t| t.data_file.first_row_id).collect::<Vec<_>>();
    assert_eq!(ids(&table), [Some(100), Some(7), Some(110)]);
    // Files have no row ids before the upgrade to version 3.
    table.metadata.format_version = 2;
    table.manifests[0].first_row_id = None;
    assert_eq!(ids(&table), [None; 3]);
}

#[test]
fn traps_33_36_refs_operations_and_summaries_may_be_odd() {
    let path = format!("{}/tests/data/metadata/history.v11.json", env!("CARGO_MANIFEST_DIR"));
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let current = json["current-snapshot-id"].as_i64();
    json.as_object_mut().unwrap().remove("refs");
    json["snapshots"][0]["summary"] = serde_json::json!({"operation": "mend", "total-records": "99999999999999999999"});
    let m = parse_metadata(json.to_string().as_bytes()).unwrap();
    assert_eq!(m.snapshot_of_ref("main").unwrap().map(|s| s.id), current);
    assert_eq!(m.snapshots[0].operation(), Some("mend"));
    for none in [serde_json::json!(-1), serde_json::Value::Null] {
        let mut json = json.clone();
        json["current-snapshot-id"] = none;
        assert!(parse_metadata(json.to_string().as_bytes()).unwrap().current_snapshot().is_none());
    }
}

/// No count of files or sizes is used where it could lose a row.
#[test]
fn trap_41_informational_numbers_are_not_believed() {
    let mut table = measured(P::Int, vec![bounds(ValueRef::Int(1), ValueRef::Int(2))]);
    let m = &mut table.manifests[0];
    (m.added_files_count, m.added_rows_count, m.length_bytes) = (Some(99), Some(i64::MAX), 1);
    m.partitions = Some(vec![FieldSummary::default(); 3]);
    assert_eq!(table.paths("x = 1").len(), 1);
}

/// Every fault is found, with the path and the snapshot in the message.
#[test]
fn broken_manifests_are_refused_by_name() {
    let fresh = || partitioned(P::Int, Transform::Identity, &[Some(Value::Int(1)), None]);
    let refused = |table: &TestTable, kind, says: &[&str]| {
        let error = table.plan("x = 1").map(|t| t.len()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        for text in says.iter().chain(&["77"]) {
            assert!(error.to_string().contains(text), "{error} lacks {text}");
        }
    };
    let mut unknown_spec = fresh();
    unknown_spec.manifests[0].spec_id = 8;
    refused(&unknown_spec, ErrorKind::CorruptTable, &["/t/m0.avro", "partition spec 8"]);
    let lost = fresh();
    lost.store.0.lock().unwrap().remove("/t/m0.avro");
    refused(&lost, ErrorKind::NotFound, &["/t/m0.avro"]);
    // Each kind of file in the other kind of manifest.
    let mut mixed = fresh();
    mixed.manifests.push(ManifestFile { content: DELETES, ..mixed.manifests[0].clone() });
    refused(&mixed, ErrorKind::CorruptTable, &["lists a data file"]);
    let mut mixed = fresh();
    let one = partition(&by(Transform::Identity), &schema(P::Int), &[Some(Value::Int(1))]);
    mixed.add(DELETES, &schema(P::Int), 0, &[added(positions("p", &one), 1)]);
    mixed.manifests[1].content = DATA;
    mixed.manifests[1].first_row_id = Some(0);
    refused(&mixed, ErrorKind::CorruptTable, &["/t/m1.avro", "lists a delete file"]);
}

#[test]
fn files_torn_at_any_byte_are_refused_by_name() {
    let table = partitioned(P::String, Transform::Identity, &[Some(Value::String("a".into())), None]);
    table.write_list(3);
    for path in [LIST, "/t/m0.avro"] {
        let whole = table.store.get(path).unwrap();
        for keep in 0..whole.len() {
            table.store.put(path, &whole[..keep]).unwrap();
            // The table's own list is not written again.
            let Err(error) = table.batches(crate::expr::BoundPredicate::True) else {
                // A list that is cut between blocks would be a list of fewer manifests. These have one block, cut
                // after the header.
                assert_eq!(keep, header_length(&whole), "{path} cut at {keep}");
                continue;
            };
            assert_eq!(error.kind(), ErrorKind::CorruptTable, "{error}");
            assert!(error.to_string().contains(path) && error.to_string().contains("77"), "{error}");
        }
        table.store.put(path, &whole).unwrap();
    }
    assert_eq!(tasks_of(&table.batches(crate::expr::BoundPredicate::True).unwrap()).unwrap().len(), 2);
}

fn header_length(whole: &[u8]) -> usize {
    let marker = &whole[whole.len() - 16..];
    whole.windows(16).position(|w| w == marker).unwrap() + 16
}

/// Bits flipped in a manifest or a list give an error or a plan, within time and memory.
#[test]
fn flipped_bits_never_panic_a_plan() {
    let table = partitioned(P::String, Transform::Truncate(2), &[Some(Value::String("ab".into())), None]);
    table.write_list(3);
    for path in [LIST, "/t/m0.avro"] {
        let whole = table.store.get(path).unwrap();
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                table.store.put(path, &bytes).unwrap();
                if let Ok(batches) = table.batches(crate::expr::BoundPredicate::True) {
                    let _ = tasks_of(&batches);
                }
            }
        }
        table.store.put(path, &whole).unwrap();
    }
}
