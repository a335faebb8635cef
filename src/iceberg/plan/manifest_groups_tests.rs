use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::{Field, PartitionField, PartitionSpec, Schema, Transform};

/// Spec 0: unpartitioned; 1: by `d` (date) and `f` (double); 2: by `d` alone.
fn specs() -> ScanSpecs {
    let columns = vec![
        Field::new(1, "d", false, PrimitiveType::Date),
        Field::new(2, "f", false, PrimitiveType::Double),
        Field::new(3, "u", false, PrimitiveType::Uuid),
    ];
    let schema = Schema::new(0, columns, vec![]);
    let by = |source_id: i32| PartitionField {
        source_id,
        field_id: 999 + source_id,
        name: format!("p{source_id}"),
        transform: Transform::Identity,
    };
    let odd = PartitionField { transform: Transform::Unknown("odd".into()), ..by(2) };
    let spec = |id: i32, fields: Vec<PartitionField>| Arc::new(PartitionSpec { id, fields });
    let partition_specs = vec![
        spec(0, vec![]),
        spec(1, vec![by(1), by(2)]),
        spec(2, vec![by(1)]),
        spec(3, vec![by(3)]),
        spec(4, vec![odd]),
        spec(5, vec![by(9)]),
    ];
    let metadata = TableMetadata { partition_specs, schemas: vec![Arc::new(schema.clone())], ..Default::default() };
    ScanSpecs::new(&metadata, &schema)
}

fn days(low: i32, high: i32) -> FieldSummary {
    let bytes = |n: i32| Some(n.to_le_bytes().to_vec());
    FieldSummary { contains_null: false, contains_nan: None, lower: bytes(low), upper: bytes(high) }
}

fn doubles(low: f64, high: f64, contains_nan: Option<bool>) -> FieldSummary {
    let bytes = |n: f64| Some(n.to_le_bytes().to_vec());
    FieldSummary { contains_null: false, contains_nan, lower: bytes(low), upper: bytes(high) }
}

fn manifest(path: &str, spec_id: i32, sequence_numbers: (i64, i64), partitions: Vec<FieldSummary>) -> ManifestFile {
    let (min_sequence_number, sequence_number) = sequence_numbers;
    let partitions = Some(partitions);
    ManifestFile { path: path.into(), spec_id, sequence_number, min_sequence_number, partitions, ..Default::default() }
}

/// The delete manifests that stay with this data.
fn kept(data: &[ManifestFile], deletes: &[ManifestFile]) -> Vec<String> {
    let group = with_deletes(data.to_vec(), deletes, &specs()).unwrap();
    group.deletes.into_iter().map(|m| m.path).collect()
}

#[test]
fn neighbours_are_grouped_by_bytes() {
    let of = |bytes: &[i64], most: i64| -> Vec<Vec<i64>> {
        let manifests = bytes.iter().map(|b| ManifestFile { length_bytes: *b, ..Default::default() }).collect();
        in_groups(manifests, most).iter().map(|g| g.iter().map(|m| m.length_bytes).collect()).collect()
    };
    assert_eq!(of(&[3, 3, 3, 9, 1, 1], 6), [vec![3, 3], vec![3], vec![9], vec![1, 1]]);
    assert_eq!(of(&[3, -1, 3], 6), [vec![3, -1, 3]]);
    assert_eq!(of(&[i64::MAX, i64::MAX, 0], i64::MAX), [vec![i64::MAX], vec![i64::MAX, 0]]);
    assert_eq!(of(&[5, 0, 5], 0), [vec![5], vec![0], vec![5]]);
    assert!(of(&[], 6).is_empty());
}

#[test]
fn deletes_stay_where_partitions_meet() {
    let data = [manifest("a", 2, (1, 1), vec![days(5, 7)]), manifest("b", 2, (1, 2), vec![days(1, 2)])];
    let deletes = [
        manifest("below", 2, (3, 3), vec![days(-3, 0)]),
        manifest("within", 2, (3, 3), vec![days(2, 2)]),
        manifest("between, as far as is known", 2, (3, 3), vec![days(3, 4)]),
        manifest("above", 2, (3, 3), vec![days(8, 9)]),
        manifest("of another spec", 1, (3, 3), vec![days(5, 5), doubles(0.0, 0.0, None)]),
        manifest("global", 0, (3, 3), vec![]),
        ManifestFile { partitions: None, ..manifest("unknown", 2, (3, 3), vec![]) },
        manifest("too many fields", 2, (3, 3), vec![days(8, 9), days(8, 9)]),
        manifest("crossed", 2, (3, 3), vec![days(9, 8)]),
        manifest("half", 2, (3, 3), vec![FieldSummary { upper: None, ..days(8, 9) }]),
        manifest("broken", 2, (3, 3), vec![FieldSummary { upper: Some(vec![1]), ..days(8, 9) }]),
    ];
    let stay =
        ["within", "between, as far as is known", "global", "unknown", "too many fields", "crossed", "half", "broken"];
    assert_eq!(kept(&data, &deletes), stay);
}

#[test]
fn nulls_and_nans_meet_only_their_like() {
    let only_null = FieldSummary { contains_null: true, ..Default::default() };
    let only_nan = FieldSummary { contains_nan: Some(true), ..Default::default() };
    let of = |d: FieldSummary, f: FieldSummary| manifest("d", 1, (2, 2), vec![d, f]);
    let data = [of(only_null.clone(), only_nan.clone())];
    let meets = |d: &FieldSummary, f: &FieldSummary| !kept(&data, &[of(d.clone(), f.clone())]).is_empty();
    assert!(meets(&only_null, &only_nan));
    assert!(meets(&FieldSummary { contains_null: true, ..days(1, 1) }, &doubles(0.0, 1.0, Some(true))));
    // The values are not known, so a match is possible.
    assert!(meets(&only_null, &doubles(0.0, 1.0, None)));
    assert!(!meets(&days(1, 1), &only_nan));
    assert!(!meets(&only_null, &doubles(0.0, 1.0, Some(false))));
    assert!(!meets(&only_null, &FieldSummary { contains_nan: Some(false), ..only_null.clone() }));
}

/// Nulls and NaNs alone have no bounds, and an old writer does not record NaNs.
#[test]
fn values_of_unknown_type_may_be_any() {
    let of = |spec_id: i32, summary: &FieldSummary| manifest("d", spec_id, (1, 1), vec![summary.clone()]);
    let nulls = FieldSummary { contains_null: true, ..Default::default() };
    let all = [nulls.clone(), FieldSummary::default(), FieldSummary { contains_nan: Some(true), ..nulls }, days(1, 2)];
    for (data, deletes) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
        // Spec 4 has a transform that nobody knows, spec 5 a column that was dropped.
        for spec_id in [4, 5] {
            assert_eq!(kept(&[of(spec_id, data)], &[of(spec_id, deletes)]), ["d"], "{data:?} {deletes:?}");
        }
    }
}

#[test]
fn deletes_older_than_all_data_go() {
    let data = [manifest("a", 2, (4, 9), vec![days(1, 1)]), manifest("b", 0, (3, 9), vec![])];
    let deletes = [
        manifest("old", 2, (1, 3), vec![days(1, 1)]),
        manifest("as old", 2, (1, 4), vec![days(1, 1)]),
        manifest("old and global", 0, (1, 2), vec![]),
        manifest("global", 0, (1, 3), vec![]),
        manifest("without number", 2, (0, 0), vec![days(1, 1)]),
    ];
    assert_eq!(kept(&data, &deletes), ["as old", "global", "without number"]);
}

#[test]
fn uuids_are_told_apart_only_one_by_one() {
    let uuids = |low: u128, high: u128| {
        let bytes = |n: u128| Some(n.to_be_bytes().to_vec());
        FieldSummary { contains_null: false, contains_nan: None, lower: bytes(low), upper: bytes(high) }
    };
    let of = |low: u128, high: u128| manifest("u", 3, (1, 1), vec![uuids(low, high)]);
    assert!(kept(&[of(5, 5)], &[of(6, 6)]).is_empty());
    assert_eq!(kept(&[of(5, 5)], &[of(6, 7)]).len(), 1);
}

#[test]
fn an_unknown_spec_is_an_error() {
    let deletes = [manifest("x", 9, (1, 1), vec![])];
    assert!(with_deletes(vec![manifest("a", 0, (1, 1), vec![])], &deletes, &specs()).is_err());
}

/// A summary of these values, as writers make it.
fn summary(values: &[Option<i32>]) -> FieldSummary {
    let some = || values.iter().flatten();
    let bytes = |n: Option<&i32>| n.map(|n| f64::from(*n).to_le_bytes().to_vec());
    FieldSummary {
        contains_null: values.contains(&None),
        contains_nan: Some(false),
        lower: bytes(some().min()),
        upper: bytes(some().max()),
    }
}

proptest! {
    /// Manifests that share a partition always meet.
    #[test]
    fn shared_partitions_are_never_missed(
        data in proptest::collection::vec(proptest::collection::vec(proptest::option::of(-3i32..3), 1..4), 1..4),
        deletes in proptest::collection::vec(proptest::option::of(-3i32..3), 1..4),
    ) {
        let of = |values: &[Option<i32>]| {
            let days = FieldSummary { contains_null: true, ..Default::default() };
            manifest("m", 1, (1, 1), vec![days, summary(values)])
        };
        let shared = data.iter().flatten().any(|v| deletes.contains(v));
        let data: Vec<_> = data.iter().map(|v| of(v)).collect();
        let found = !kept(&data, &[of(&deletes)]).is_empty();
        prop_assert!(found || !shared);
        if data.len() == 1 && !shared {
            // If one of them has no range, a single manifest is excluded unless both have nulls.
            let range = |s: &FieldSummary| (s.lower.clone(), s.upper.clone());
            let (a, b) = (summary_of(&data[0]), summary(&deletes));
            let disjoint = range(&a).0.is_none() || range(&b).0.is_none();
            prop_assert!(!disjoint || !found || (a.contains_null && b.contains_null));
        }
    }
}

fn summary_of(m: &ManifestFile) -> FieldSummary {
    m.partitions.as_ref().and_then(|p| p.get(1)).cloned().unwrap_or_default()
}
