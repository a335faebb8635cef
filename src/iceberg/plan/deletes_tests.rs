//! The scope rules of the specification, "Scan Planning", one by one.

use std::collections::BTreeMap;

use super::*;
use crate::expr::BoundPredicate;
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, PartitionValue};
use crate::iceberg::manifest::entries::{EntryColumns, MISSING, MetricColumn};
use crate::iceberg::spec::metadata_build::new_table;
use crate::types::value::encode_bound;
use crate::types::{PartitionField, PartitionSpec, PrimitiveType, SortOrder, Transform};

fn schema() -> Schema {
    Schema::new(
        0,
        vec![Field::new(1, "id", false, PrimitiveType::Long), Field::new(2, "cat", false, PrimitiveType::String)],
        vec![],
    )
}

/// A table with spec 0 (by `cat`) and spec 1 (unpartitioned).
fn metadata() -> TableMetadata {
    let field = PartitionField { source_id: 2, field_id: 1000, name: "cat".into(), transform: Transform::Identity };
    let spec = PartitionSpec { id: 0, fields: vec![field] };
    let mut m = new_table(&schema(), &spec, &SortOrder::default(), "/t", &BTreeMap::new(), 2, 0).unwrap();
    m.partition_specs.push(Arc::new(PartitionSpec { id: 1, fields: vec![] }));
    m
}

fn partition(spec_id: i32, cat: Option<&str>) -> Arc<Partition> {
    let value = PartitionValue {
        name: "cat".into(),
        field_id: 1000,
        source_id: 2,
        transform: Transform::Identity,
        ty: PrimitiveType::String,
        value: cat.map(|c| Value::String(c.into())),
    };
    Arc::new(Partition { spec_id, values: if spec_id == 0 { vec![value] } else { vec![] } })
}

fn delete(path: &str, content: FileContent, sequence_number: i64, partition: Arc<Partition>) -> DataFile {
    DataFile {
        record_count: 1,
        size_bytes: 1,
        sequence_number: Some(sequence_number),
        file_sequence_number: Some(sequence_number),
        equality_ids: (content == FileContent::EqualityDeletes).then(|| vec![1]),
        ..DataFile::new(content, path, FileFormat::Parquet, partition)
    }
}

fn position(path: &str, sequence_number: i64) -> DataFile {
    delete(path, FileContent::PositionDeletes, sequence_number, partition(0, Some("a")))
}

fn equality(path: &str, sequence_number: i64, spec_id: i32, cat: Option<&str>) -> DataFile {
    delete(path, FileContent::EqualityDeletes, sequence_number, partition(spec_id, cat))
}

fn vector(path: &str, sequence_number: i64, of: &str) -> DataFile {
    DataFile { format: FileFormat::Puffin, referenced_data_file: Some(of.into()), ..position(path, sequence_number) }
}

/// Data files of one partition: path, sequence number, and the range and null count of `id`.
fn data(files: &[(&str, i64, (i64, i64), i64)], group: Arc<Partition>) -> KeptEntries {
    let mut columns = EntryColumns::default();
    let mut ids = MetricColumn { field_id: 1, ..MetricColumn::default() };
    for (path, sequence_number, (lower, upper), nulls) in files {
        assert!(columns.path.push(Some(path.as_bytes())));
        columns.sequence_number.push(Some(*sequence_number));
        columns.partition.push(0);
        ids.value_count.push(10);
        ids.null_count.push(*nulls);
        ids.nan_count.push(MISSING);
        let bounds = (*nulls < 10).then(|| (lower.to_le_bytes(), upper.to_le_bytes()));
        let (low, high) = (bounds.as_ref().map(|b| &b.0[..]), bounds.as_ref().map(|b| &b.1[..]));
        assert!(ids.lower.push(low) && ids.upper.push(high));
    }
    columns.metrics = vec![ids];
    let group = PartitionGroup { partition: group, residual: Arc::new(BoundPredicate::True) };
    KeptEntries { columns, rows: (0..files.len() as u32).collect(), groups: vec![Some(group)] }
}

/// Delete files as a manifest of them decodes.
fn planned(files: &[DataFile]) -> KeptEntries {
    let mut c = EntryColumns::default();
    let metric = |field_id| MetricColumn { field_id, ..MetricColumn::default() };
    c.metrics = vec![metric(1), metric(DELETE_FILE_PATH)];
    let mut groups = Vec::new();
    for (i, f) in files.iter().enumerate() {
        c.status.push(1);
        c.content.push(f.content);
        c.format.push(f.format);
        c.record_count.push(f.record_count);
        c.size_bytes.push(f.size_bytes);
        c.sequence_number.push(f.sequence_number);
        c.partition.push(i as u32);
        assert!(c.path.push(Some(f.path.as_bytes())));
        assert!(c.referenced_data_file.push(f.referenced_data_file.as_deref().map(str::as_bytes)));
        let ids = f.equality_ids.as_ref().map(|ids| ids.iter().map(|id| i64::from(*id)).collect::<Vec<_>>());
        assert!(c.equality_ids.push(ids.as_deref()));
        let m = f.metrics.as_ref().map(|m| m.get().unwrap().clone()).unwrap_or_default();
        for column in &mut c.metrics {
            let id = &column.field_id;
            let count = |map: &Option<FieldMap<i64>>| map.as_ref().and_then(|m| m.get(id)).copied();
            let bound = |map: &Option<FieldMap<Vec<u8>>>| map.as_ref().and_then(|m| m.get(id)).cloned();
            column.value_count.push(count(&m.value_counts).unwrap_or(MISSING));
            column.null_count.push(count(&m.null_value_counts).unwrap_or(MISSING));
            column.nan_count.push(count(&m.nan_value_counts).unwrap_or(MISSING));
            assert!(column.lower.push(bound(&m.lower_bounds).as_deref()));
            assert!(column.upper.push(bound(&m.upper_bounds).as_deref()));
        }
        let residual = Arc::new(BoundPredicate::True);
        groups.push(Some(PartitionGroup { partition: f.partition.clone(), residual }));
    }
    KeptEntries { columns: c, rows: (0..files.len() as u32).collect(), groups }
}

fn attached(deletes: Vec<DataFile>, batch: &KeptEntries) -> Result<Vec<Vec<String>>> {
    let index = Arc::new(DeleteIndex::new(vec![planned(&deletes)], &schema(), &metadata())?);
    let attached = index.attach(batch)?;
    let names = |k| attached.refs(k).map(|list| list.iter().map(|d| d.file.path.clone()).collect());
    (0..batch.rows.len()).map(names).collect()
}

fn one(deletes: Vec<DataFile>, sequence_number: i64, cat: Option<&str>) -> Vec<String> {
    attached(deletes, &data(&[("d", sequence_number, (0, 9), 1)], partition(0, cat))).unwrap().remove(0)
}

#[test]
fn position_deletes_reach_their_own_commit_and_equality_deletes_only_older_data() {
    let all = || vec![position("p", 5), equality("e", 5, 0, Some("a"))];
    assert_eq!(one(all(), 4, Some("a")), ["e", "p"]);
    assert_eq!(one(all(), 5, Some("a")), ["p"]);
    assert!(one(all(), 6, Some("a")).is_empty());
}

#[test]
fn deletes_stay_in_their_partition_but_unpartitioned_equality_deletes_are_global() {
    let all = || vec![position("p", 9), equality("e", 9, 0, Some("a")), equality("g", 9, 1, None)];
    assert_eq!(one(all(), 1, Some("a")), ["g", "e", "p"]);
    assert_eq!(one(all(), 1, Some("b")), ["g"]);
    assert_eq!(one(vec![equality("n", 9, 0, None)], 1, None), ["n"]);
    assert!(one(vec![equality("n", 9, 0, None)], 1, Some("a")).is_empty());
}

#[test]
fn a_vector_replaces_position_deletes_but_not_equality_deletes() {
    let all = vec![position("p", 9), vector("v", 9, "d"), vector("w", 9, "other"), equality("e", 9, 0, Some("a"))];
    assert_eq!(one(all, 1, Some("a")), ["e", "v"]);
}

#[test]
fn broken_vectors_are_refused() {
    let batch = |seq, cat| data(&[("d", seq, (0, 9), 0)], partition(0, Some(cat)));
    let kind = |r: Result<Vec<Vec<String>>>| r.unwrap_err().kind();
    use crate::error::ErrorKind::CorruptTable;
    assert_eq!(kind(attached(vec![vector("v", 1, "d"), vector("w", 1, "d")], &batch(1, "a"))), CorruptTable);
    assert_eq!(kind(attached(vec![vector("v", 1, "d")], &batch(2, "a"))), CorruptTable);
    assert_eq!(kind(attached(vec![vector("v", 9, "d")], &batch(2, "b"))), CorruptTable);
    let nameless = DataFile { referenced_data_file: None, ..vector("v", 9, "d") };
    assert_eq!(kind(attached(vec![nameless], &batch(2, "a"))), CorruptTable);
    let keyless = DataFile { equality_ids: None, ..equality("e", 9, 0, Some("a")) };
    assert_eq!(kind(attached(vec![keyless], &batch(2, "a"))), CorruptTable);
}

#[test]
fn without_a_sequence_number_nobody_knows_what_a_delete_reaches() {
    use crate::error::ErrorKind::CorruptTable;
    let unknown = |file: DataFile| DataFile { sequence_number: None, ..file };
    let mut batch = data(&[("d", 3, (0, 9), 0)], partition(0, Some("a")));
    for file in [position("p", 1), equality("e", 1, 0, Some("a")), vector("v", 1, "d")] {
        assert_eq!(attached(vec![unknown(file)], &batch).unwrap_err().kind(), CorruptTable);
    }
    batch.columns.sequence_number = vec![None];
    assert_eq!(attached(vec![equality("e", 5, 0, Some("a"))], &batch).unwrap_err().kind(), CorruptTable);
    assert_eq!(one(vec![equality("e", i64::MIN, 0, Some("a"))], 0, Some("a")), [""; 0]);
}

/// Each search would visit all newer ones of its path.
#[test]
fn many_position_deletes_of_one_file_are_indexed_quickly_in_any_order() {
    let named = |i: i64| DataFile { referenced_data_file: Some("d".into()), ..position("p", 100_000 - i) };
    let found = one((0..100_000).map(named).collect(), 99_999, Some("a"));
    assert_eq!(found.len(), 2);
}

#[test]
fn path_bounds_name_one_file_if_they_are_one_whole_path() {
    let with_paths = |name: &str, lower: &str, upper: &str| {
        let bound = |text: &str| Some(FieldMap::from([(DELETE_FILE_PATH, text.as_bytes().to_vec())]));
        let metrics = ColumnMetrics { lower_bounds: bound(lower), upper_bounds: bound(upper), ..Default::default() };
        DataFile { metrics: Some(metrics.into()), ..position(name, 9) }
    };
    let all = vec![
        with_paths("exact", "t/d2.parquet", "t/d2.parquet"),
        with_paths("first and last", "t/e", "t/f"),
        with_paths("inverted", "zzzz", "!!!!"),
        with_paths("cut", "t/d1.par", "t/d1.par"),
    ];
    let batch = data(&[("t/d1.parquet", 1, (0, 9), 0), ("t/d2.parquet", 1, (0, 9), 0)], partition(0, Some("a")));
    let doubtful = ["first and last", "inverted", "cut"];
    assert_eq!(attached(all, &batch).unwrap(), [doubtful.to_vec(), [&doubtful[..], &["exact"]].concat()]);
}

/// An equality delete whose keys are in a range, with this number of nulls in two rows.
fn keyed(lower: i64, upper: i64, nulls: i64) -> DataFile {
    let one = |n: i64| Some(FieldMap::from([(1, n)]));
    let bound = |v: i64| Some(FieldMap::from([(1, encode_bound(ValueRef::Long(v)))]));
    let bounds = if nulls < 2 { (bound(lower), bound(upper)) } else { (None, None) };
    let metrics = ColumnMetrics {
        value_counts: one(2),
        null_value_counts: one(nulls),
        lower_bounds: bounds.0,
        upper_bounds: bounds.1,
        ..Default::default()
    };
    DataFile { metrics: Some(metrics.into()), record_count: 2, ..equality("e", 9, 0, Some("a")) }
}

#[test]
fn key_ranges_and_null_counts_narrow_equality_deletes() {
    let touches = |delete: DataFile, range, nulls| {
        let batch = data(&[("d", 1, range, nulls)], partition(0, Some("a")));
        !attached(vec![delete], &batch).unwrap()[0].is_empty()
    };
    assert!(touches(keyed(5, 7, 0), (7, 9), 0));
    assert!(!touches(keyed(5, 7, 0), (8, 9), 0));
    assert!(!touches(keyed(5, 7, 0), (1, 4), 0));
    // Null deletes null, with any ranges.
    assert!(touches(keyed(5, 7, 1), (8, 9), 1));
    assert!(!touches(keyed(5, 7, 2), (8, 9), 0));
    assert!(touches(keyed(5, 7, 2), (8, 9), 1));
    assert!(!touches(keyed(5, 7, 0), (5, 7), 10));
    // Bounds that contradict themselves prove nothing.
    assert!(touches(keyed(7, 5, 0), (8, 9), 0));
}

#[test]
fn equal_partitions_have_equal_keys_across_widths_and_nans() {
    let of = |value: Value, ty: PrimitiveType| {
        let mut p = partition(0, None).as_ref().clone();
        p.values[0].value = Some(value);
        p.values[0].ty = ty;
        partition_key(&p)
    };
    assert_eq!(of(Value::Int(5), PrimitiveType::Int), of(Value::Long(5), PrimitiveType::Long));
    assert_eq!(of(Value::Float(f32::NAN), PrimitiveType::Float), of(Value::Double(-f64::NAN), PrimitiveType::Double));
    assert_ne!(of(Value::Double(0.0), PrimitiveType::Double), of(Value::Double(-0.0), PrimitiveType::Double));
    assert_ne!(partition_key(&partition(0, None)), partition_key(&partition(0, Some(""))));
    assert_ne!(partition_key(&partition(1, None)), partition_key(&partition(0, None)));
}
