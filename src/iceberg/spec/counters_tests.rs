use super::*;
use crate::iceberg::spec::metadata::tests::fixture;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::types::{PartitionField, PartitionSpec, Transform};

fn table() -> TableMetadata {
    parse_metadata(&fixture("nested_v2.v1")).unwrap()
}

/// apache/iceberg-go#1987: a `last-partition-id` below an id that a spec has.
#[test]
fn counters_that_are_too_low_are_raised() {
    let mut m = table();
    let field = |field_id| PartitionField { source_id: 1, field_id, name: "p".into(), transform: Transform::Identity };
    m.partition_specs.push(Arc::new(PartitionSpec { id: 7, fields: vec![field(1_004)] }));
    m.last_partition_id = 999;
    assert_eq!(m.highest_partition_id(), 1_004);
    assert_eq!(m.next_spec_id().unwrap(), 8);
    m.last_column_id = 0;
    assert_eq!(m.highest_column_id(), m.schema().unwrap().highest_field_id());
    m.last_sequence_number = 4;
    assert_eq!(m.next_sequence_number([9, 2].into_iter()).unwrap(), 10);
    assert_eq!(m.next_sequence_number(std::iter::empty()).unwrap(), 5);
    m.next_row_id = Some(3);
    let snapshot = Snapshot { id: 5, first_row_id: Some(10), added_rows: Some(7), ..Snapshot::default() };
    m.snapshots.push(Arc::new(snapshot));
    assert_eq!(m.first_free_row_id().unwrap(), 17);
}

#[test]
fn counters_at_their_end_are_errors() {
    let mut m = table();
    m.last_sequence_number = i64::MAX;
    assert!(m.next_sequence_number(std::iter::empty()).unwrap_err().to_string().contains("no sequence numbers left"));
    m.format_version = 1;
    assert_eq!(m.next_sequence_number(std::iter::empty()).unwrap(), 0);
    m.partition_specs.push(Arc::new(PartitionSpec { id: i32::MAX, fields: Vec::new() }));
    assert!(m.next_spec_id().unwrap_err().to_string().contains("no partition spec ids left"));
    let snapshot = Snapshot { id: 5, first_row_id: Some(i64::MAX), added_rows: Some(1), ..Snapshot::default() };
    m.snapshots.push(Arc::new(snapshot));
    assert!(m.first_free_row_id().unwrap_err().to_string().contains("overflow"));
    assert_eq!(row_ids_end(i64::MAX, 1), None);
    assert_eq!(row_ids_end(-1, 1), None);
}
