use arrow::array::{Array, AsArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::DataType;

use super::*;
use crate::expr::{BoundPredicate, bind, parse};
use crate::format::task::{ChangeOperation, ColumnMetrics, DataFile, FieldMap, FileContent, FileFormat, ScanTask};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::testing::{TestTable, added, file, partition, tasks_of};
use crate::rows::plan_table::encode_tasks;
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType as P, Schema, Transform, Value};

/// The number of data files in each manifest, and whether the filter keeps them.
const MANIFESTS: [(i64, bool); 10] = [
    (3, true),
    (2, false),
    (1, true),
    (9000, true),
    (1, true),
    (4092, true),
    (1, true),
    (1, true),
    (5, false),
    (2, true),
];

fn metrics(low: i64, high: i64) -> ColumnMetrics {
    let bound = |n: i64| Some(FieldMap::from([(1, n.to_le_bytes().to_vec())]));
    let one = |n: i64| Some(FieldMap::from([(1, n)]));
    let (lower_bounds, upper_bounds) = (bound(low), bound(high));
    ColumnMetrics {
        value_counts: one(9),
        null_value_counts: one(0),
        lower_bounds,
        upper_bounds,
        ..ColumnMetrics::default()
    }
}

/// Manifests alternately without partitions and with the partitions `a` to `d`. Equality deletes apply to all files.
fn table() -> TestTable {
    let fields = vec![Field::new(1, "id", false, P::Long), Field::new(2, "p", false, P::String)];
    let schema = Schema::new(0, fields, vec![]);
    let by_p = PartitionField { source_id: 2, field_id: 1000, name: "p".into(), transform: Transform::Identity };
    let specs = [PartitionSpec::default(), PartitionSpec { id: 1, fields: vec![by_p] }];
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), &specs);
    for (n, (files, kept)) in MANIFESTS.into_iter().enumerate() {
        let spec = &specs[n % 2];
        let tuples: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .map(|p| partition(spec, &schema, &vec![Some(Value::String(p.into())); spec.fields.len()]))
            .collect();
        let entry = |k: i64| {
            let (low, high) = if kept { (k, 1_000_000) } else { (0, 5) };
            let formats = [FileFormat::Parquet, FileFormat::Orc];
            let data = DataFile {
                metrics: Some(metrics(low, high).into()),
                record_count: k,
                size_bytes: 100 + k,
                format: formats[(k % 3 == 0) as usize],
                ..file(&format!("m{n}/f{k}"), &tuples[k as usize % 4])
            };
            added(data, 1 + k % 2)
        };
        table.add(ManifestContent::Data, &schema, spec.id, &(0..files).map(entry).collect::<Vec<_>>());
    }
    let delete = DataFile {
        content: FileContent::EqualityDeletes,
        equality_ids: Some(vec![1]),
        metrics: Some(metrics(0, 1_000_000).into()),
        ..file("d", &partition(&specs[0], &schema, &[]))
    };
    table.add(ManifestContent::Deletes, &schema, 0, &[added(delete, 2)]);
    table.write_list(2);
    table
}

fn filter(table: &TestTable, text: &str) -> BoundPredicate {
    bind(&parse(text).unwrap(), table.metadata.schema().unwrap(), true).unwrap()
}

/// The plan, oldest manifest first, with batches without rows among the others.
fn planned(table: &TestTable, text: &str) -> Vec<PlannedBatch> {
    let mut batches = table.batches(filter(table, text)).unwrap();
    for at in [batches.len(), 1, 0] {
        batches.insert(at.min(batches.len()), PlannedBatch::default());
    }
    batches
}

fn joined(batches: &[PlannedBatch], of_changes: bool) -> Vec<RecordBatch> {
    let mut encoder = PlanEncoder::new(of_changes);
    let mut out: Vec<_> = batches.iter().filter_map(|batch| encoder.push(batch).unwrap()).collect();
    out.extend(encoder.finish().unwrap());
    assert!(encoder.finish().unwrap().is_none());
    out
}

/// The rows as one batch, without dictionaries.
fn rows(batches: &[RecordBatch], schema: &SchemaRef) -> Vec<ArrayRef> {
    let all = concat_batches(schema, batches).unwrap();
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Dictionary(_, of) => cast(column, of).unwrap(),
        _ => column.clone(),
    };
    all.columns().iter().map(plain).collect()
}

#[test]
fn joined_batches_have_the_rows_of_the_single_ones_in_order() {
    let table = table();
    for text in ["id > 5", "id > 5 and p != 'c'", "id > 5 and p = 'b'", "id > 5 or p = 'd'"] {
        let batches = planned(&table, text);
        let singles: Vec<_> = batches.iter().map(|batch| encode_batch(batch).unwrap()).collect();
        let found = joined(&batches, false);
        assert_eq!(rows(&found, &schema()), rows(&singles, &schema()), "{text}");
        // Tasks are encoded by other code.
        let tasks = tasks_of(&batches).unwrap();
        let tasks = encode_tasks(&tasks.iter().collect::<Vec<&ScanTask>>(), false).unwrap();
        assert_eq!(rows(&found, &schema()), rows(&[tasks], &schema()), "{text}");
        assert!(found.len() < singles.len(), "{text}");
    }
}

#[test]
fn batches_are_joined_up_to_the_limit() {
    let table = table();
    let batches = planned(&table, "id > 5");
    let sizes: Vec<usize> = batches.iter().map(|b| b.rows.len()).collect();
    assert_eq!(sizes, [0, 2, 0, 1, 1, 4092, 1, 9000, 1, 3, 0]);
    let found: Vec<usize> = joined(&batches, false).iter().map(RecordBatch::num_rows).collect();
    assert_eq!(found, [JOINED_ROWS, 1, 9000, 4]);
}

#[test]
fn texts_are_in_a_dictionary_once() {
    let table = table();
    let found = joined(&planned(&table, "id > 5 and p != 'c'"), false);
    for batch in found {
        for name in ["file_format", "partition", "residual"] {
            let values = batch.column_by_name(name).unwrap().as_any_dictionary().values().clone();
            let values: Vec<_> = values.as_string::<i32>().iter().flatten().map(str::to_owned).collect();
            let distinct: std::collections::BTreeSet<_> = values.iter().collect();
            assert_eq!(distinct.len(), values.len(), "{name}: {values:?}");
        }
    }
}

#[test]
fn changes_of_several_commits_are_joined() {
    let table = table();
    let mut batches = planned(&table, "id > 5");
    for (n, batch) in batches.iter_mut().enumerate() {
        batch.change = Some(Box::new(BatchChange {
            operation: if n % 2 == 0 { ChangeOperation::Insert } else { ChangeOperation::Delete },
            ordinal: n as i32,
            commit_snapshot_id: 70 + n as i64,
            removed_by: None,
            commit: None,
        }));
    }
    let singles: Vec<_> = batches.iter().map(|batch| encode_batch(batch).unwrap()).collect();
    let found = joined(&batches, true);
    assert_eq!(rows(&found, &schema_of_changes()), rows(&singles, &schema_of_changes()));
    let tasks = tasks_of(&batches).unwrap();
    let tasks = encode_tasks(&tasks.iter().collect::<Vec<&ScanTask>>(), true).unwrap();
    assert_eq!(rows(&found, &schema_of_changes()), rows(&[tasks], &schema_of_changes()));
}

#[test]
fn a_plan_without_files_has_no_batch() {
    let table = table();
    assert!(joined(&planned(&table, "id < 0"), false).is_empty());
    assert!(joined(&[], true).is_empty());
}
