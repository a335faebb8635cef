//! Commits split into updates and rebuilt from them.

use super::*;
use crate::error::ErrorKind;
use crate::format::evolution::RefKind;
use crate::format::maintenance::Expiry;
use crate::iceberg::commit::apply_updates::apply;
use crate::iceberg::commit::expire::expire;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::types::{Field, PartitionSpec, PrimitiveType, Schema, SortOrder, Type};

/// A catalog that applies the commit's updates gets the commit's version, and both survive JSON.
pub(crate) fn check_replay(base: &TableMetadata, commit: &MetadataCommit) {
    let next = &commit.next;
    let replayed = apply(base, &commit.updates, next.last_updated_ms);
    let replayed = replayed.unwrap_or_else(|e| panic!("{e}: {:?}", commit.updates));
    let replayed = TableMetadata { metadata_log: next.metadata_log.clone(), ..replayed };
    assert_eq!(replayed, *next, "{:?}", commit.updates);
    for requirement in &commit.requirements {
        requirement.check(Some(base)).unwrap();
        assert_eq!(MetadataRequirement::from_json(requirement.to_json()).unwrap(), *requirement);
    }
}

fn table(version: u8) -> TableMetadata {
    let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
    new_table(&schema, &PartitionSpec::default(), &SortOrder::default(), "/t", &BTreeMap::new(), version, 1).unwrap()
}

/// Numbers that look random but are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn snapshot(base: &TableMetadata, id: i64, now_ms: i64) -> Snapshot {
    let lineage = base.next_row_id.filter(|_| base.format_version >= 3);
    Snapshot {
        id,
        parent_id: base.current_snapshot_id,
        sequence_number: base.next_sequence_number(std::iter::empty()).unwrap(),
        timestamp_ms: now_ms,
        manifest_list: Some(format!("/t/metadata/snap-{id}.avro")),
        summary: BTreeMap::from([("operation".to_owned(), "append".to_owned())]),
        schema_id: Some(base.current_schema_id),
        first_row_id: lineage,
        added_rows: lineage.map(|_| 3),
        ..Snapshot::default()
    }
}

/// One random change, as operations make it.
fn change(base: &TableMetadata, numbers: &mut Numbers, id: i64, now_ms: i64) -> TableMetadata {
    let any = base.snapshots.get(numbers.below(base.snapshots.len().max(1) as u64) as usize).map(|s| s.id);
    let mut next = base.clone();
    next.last_updated_ms = next.last_updated_ms.max(now_ms);
    match (numbers.below(9), any) {
        (0..=2, _) => base.add_snapshot(snapshot(base, id, now_ms), MAIN_BRANCH, now_ms).unwrap(),
        (3, _) => base.add_snapshot(snapshot(base, id, now_ms), "b", now_ms).unwrap(),
        (4, _) => base.stage_snapshot(snapshot(base, id, now_ms), now_ms).unwrap(),
        (5, Some(any)) if base.current_snapshot_id != Some(any) => base.with_current_snapshot(any, now_ms),
        (6, Some(any)) => {
            next.refs.insert("tag".to_owned(), SnapshotRef::new(any, RefKind::Tag));
            next
        }
        (7, _) => {
            next.refs.remove("b");
            next.properties.insert(format!("p{}", numbers.below(3)), id.to_string());
            next.properties.remove("p1");
            next
        }
        (8, _) if base.format_version < 3 => base.upgrade_format_version(base.format_version + 1, now_ms).unwrap(),
        _ => next,
    }
}

#[test]
fn histories_at_random_are_replayed() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let mut base = table(1 + (seed % 3) as u8);
        for now_ms in 2..30 {
            let next = if numbers.below(6) == 0 {
                let expiry = Expiry { older_than_ms: Some(now_ms - 3), ..Expiry::default() };
                expire(&base, &expiry, now_ms).unwrap()
            } else {
                let steps = numbers.below(4) as i64;
                (0..=steps).fold(base.clone(), |m, step| change(&m, &mut numbers, now_ms * 10 + step, now_ms))
            };
            base = MetadataCommit::between(&base, next).next;
        }
    }
}

#[test]
fn metadata_of_other_writers_is_created_and_replayed() {
    let folder = format!("{}/tests/data/metadata", env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(full) = std::fs::read(&path).map_err(|_| ()).and_then(|b| parse_metadata(&b).map_err(|_| ())) else {
            continue;
        };
        let empty = TableMetadata { snapshots: vec![], snapshot_log: vec![], refs: BTreeMap::new(), ..full.clone() };
        let empty = TableMetadata { current_snapshot_id: None, statistics: vec![], ..empty };
        let empty = TableMetadata { partition_statistics: vec![], last_sequence_number: 0, ..empty };
        // A v1 table may have no identity; a new one has.
        let uuid = full.table_uuid.clone().or_else(|| Some("9c12d441-03fe-4693-9a96-a0705ddf69c1".to_owned()));
        let empty = TableMetadata { table_uuid: uuid, ..empty };
        let empty = TableMetadata { next_row_id: full.next_row_id.map(|_| 0), ..empty };
        let commit = MetadataCommit::creating(&empty).unwrap();
        assert_eq!(commit.requirements, [MetadataRequirement::AssertCreate]);
        let created = commit.next;
        let about = path.display();
        assert_eq!(
            TableMetadata { last_column_id: empty.last_column_id, ..created.schemas_of(&empty) },
            empty,
            "{about}"
        );
        seen += 1;
    }
    assert!(seen > 0);
}

impl TableMetadata {
    /// With parts that creation does not carry over: the log of files, unknown members, and ids given before.
    fn schemas_of(self, other: &TableMetadata) -> TableMetadata {
        TableMetadata {
            metadata_log: other.metadata_log.clone(),
            extra: other.extra.clone(),
            last_partition_id: other.last_partition_id,
            ..self
        }
    }
}

#[test]
fn requirements_tell_what_others_changed() {
    let base = table(2);
    let mine = base.add_snapshot(snapshot(&base, 7, 2), MAIN_BRANCH, 2).unwrap();
    let commit = MetadataCommit::between(&base, mine);
    let uuid = base.table_uuid.clone().unwrap();
    let main = MetadataRequirement::AssertRefSnapshotId { name: MAIN_BRANCH.to_owned(), snapshot_id: None };
    assert_eq!(commit.requirements, [MetadataRequirement::AssertTableUuid(uuid), main.clone()]);
    let others = base.add_snapshot(snapshot(&base, 8, 3), MAIN_BRANCH, 3).unwrap();
    assert_eq!(main.check(Some(&others)).unwrap_err().kind(), ErrorKind::CommitConflict);
    // A property is not a conflict.
    let others = base.set_properties(&BTreeMap::from([("a".to_owned(), "b".to_owned())]), 3).unwrap();
    main.check(Some(&others)).unwrap();
    let named = &commit.to_json()["updates"];
    assert_eq!(
        (named[0]["action"].as_str(), named[1]["action"].as_str()),
        (Some("add-snapshot"), Some("set-snapshot-ref"))
    );
}

/// Checks that the updates that create a table produce exactly its metadata, also after JSON.
fn check_creation(table: &TableMetadata) -> MetadataCommit {
    let commit = MetadataCommit::creating(table).unwrap();
    assert_eq!(commit.next, *table, "{:?}", commit.updates);
    assert_eq!(encode_metadata(&commit.next), encode_metadata(table));
    let sent = commit.updates.iter().map(|u| MetadataUpdate::from_json(u.to_json(), table.format_version).unwrap());
    let received = apply(&TableMetadata::default(), &sent.collect::<Vec<_>>(), table.last_updated_ms).unwrap();
    assert_eq!(encode_metadata(&received), encode_metadata(table));
    assert_eq!(commit.to_json()["requirements"], json!([{"type": "assert-create"}]));
    commit
}

/// A schema of one column, and one with nested columns and identifier fields.
fn schemas() -> [Schema; 2] {
    let point = [Field::new(7, "x", true, PrimitiveType::Double), Field::new(9, "y", false, PrimitiveType::Double)];
    [
        Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]),
        Schema::new(
            4,
            vec![
                Field::new(3, "id", true, PrimitiveType::Long),
                Field::new(20, "at", false, PrimitiveType::Timestamp),
                Field::new(5, "point", false, Type::Struct(point.into())),
                Field::new(6, "name", false, PrimitiveType::String),
            ],
            vec![3],
        ),
    ]
}

#[test]
fn creation_by_updates_gives_the_same_metadata() {
    let layouts: [(usize, &[&str], &[&str]); 5] = [
        (0, &[], &[]),
        (0, &["bucket(4, id)"], &["id desc"]),
        (1, &[], &["name", "at desc nulls last"]),
        (1, &["day(at)", "truncate(3, name)"], &[]),
        (1, &["name", "bucket(16, id)"], &["point.x", "id"]),
    ];
    let properties =
        [&[][..], &[("a", "b"), ("write.parquet.compression-codec", "snappy")], &[("format-version", "3")]];
    let properties = properties.map(|set| BTreeMap::from_iter(set.iter().map(|(k, v)| (k.to_string(), v.to_string()))));
    for ((schema, partition_by, sort_by), properties) in
        layouts.iter().flat_map(|l| properties.iter().map(move |p| (l, p)))
    {
        for version in 1..=3 {
            let schema = &schemas()[*schema];
            let spec = parse_partition_by(partition_by, schema).unwrap();
            let order = parse_sort_by(sort_by, schema).unwrap();
            let table = new_table(schema, &spec, &order, "/t/", properties, version, 1_700_000_000_000).unwrap();
            check_creation(&table);
        }
    }
}

#[test]
fn creation_names_its_updates_in_order_and_can_add_rows() {
    for version in 1..=3 {
        let layout = [
            "assign-uuid",
            "upgrade-format-version",
            "add-schema",
            "set-current-schema",
            "add-spec",
            "set-default-spec",
            "add-sort-order",
            "set-default-sort-order",
            "set-location",
            "set-properties",
        ];
        let empty = table(version);
        let named = |commit: MetadataCommit| commit.updates.iter().map(MetadataUpdate::action).collect::<Vec<_>>();
        assert_eq!(named(check_creation(&empty)), layout);
        let filled = empty.add_snapshot(snapshot(&empty, 7, 5), MAIN_BRANCH, 5).unwrap();
        let with_rows: Vec<_> = layout.into_iter().chain(["add-snapshot", "set-snapshot-ref"]).collect();
        assert_eq!(named(check_creation(&filled)), with_rows);
        let longer = filled.add_snapshot(snapshot(&filled, 8, 6), MAIN_BRANCH, 6).unwrap();
        let branched = longer.add_snapshot(snapshot(&longer, 9, 7), "b", 7).unwrap();
        check_creation(&branched);
    }
}
