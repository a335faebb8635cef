//! Random histories written as manifests. The changelog must be the difference between ordinary plans of the versions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::codec::avro::AvroCodec;
use crate::expr::{bind, parse};
use crate::format::task::{ColumnMetrics, DataFile, FieldMap, FileContent, FileFormat, ScanTask};
use crate::iceberg::manifest::encode::{ManifestEntry, ManifestHeader, encode_manifest};
use crate::iceberg::manifest::entries::{ADDED, DELETED, EXISTING};
use crate::iceberg::manifest::list::{ManifestListHeader, encode_manifest_list};
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::store::local::LocalStore;
use crate::store::{Location, Store};
use crate::types::{Field, PartitionSpec, PrimitiveType, Schema, SortOrder, Transform};

/// One action of a commit. Numbers choose among the existing files.
#[derive(Clone, Debug)]
enum Act {
    Add { cat: u8, low: i32, size: i32 },
    Remove(usize),
    Delete { kind: u8, of: usize, cat: u8, low: i32, size: i32 },
    RemoveDelete(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..3u8, 0..90i32, 0..30i32).prop_map(|(cat, low, size)| Act::Add { cat, low, size }),
        1 => any::<usize>().prop_map(Act::Remove),
        3 => (0..5u8, any::<usize>(), 0..3u8, 0..90i32, 0..30i32)
            .prop_map(|(kind, of, cat, low, size)| Act::Delete { kind, of, cat, low, size }),
        1 => any::<usize>().prop_map(Act::RemoveDelete),
    ]
}

/// A manifest as written, and its entries.
#[derive(Clone)]
struct Written {
    file: ManifestFile,
    entries: Vec<ManifestEntry>,
}

struct World {
    dir: TempDir,
    metadata: TableMetadata,
    manifests: Vec<Written>,
    files: usize,
}

fn cat_of(spec_id: i32, cat: u8) -> Arc<Partition> {
    let value = PartitionValue {
        name: "cat".into(),
        field_id: 1000,
        source_id: 2,
        transform: Transform::Identity,
        ty: PrimitiveType::String,
        value: (cat > 0).then(|| Value::String(format!("c{cat}"))),
    };
    Arc::new(Partition { spec_id, values: if spec_id == 0 { vec![value] } else { vec![] } })
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let fields =
            vec![Field::new(1, "id", false, PrimitiveType::Int), Field::new(2, "cat", false, PrimitiveType::String)];
        let schema = Schema::new(0, fields, vec![]);
        let spec = parse_partition_by(&["cat"], &schema).unwrap();
        let order = SortOrder { id: 0, fields: vec![] };
        let place = dir.path().display().to_string();
        let mut metadata = new_table(&schema, &spec, &order, &place, &BTreeMap::new(), 2, 0).unwrap();
        metadata.partition_specs.push(Arc::new(PartitionSpec { id: 1, fields: vec![] }));
        // As in an upgraded table: it has deletion vectors, and rows without ids.
        metadata.format_version = 3;
        World { dir, metadata, manifests: Vec::new(), files: 0 }
    }

    fn file(&mut self, content: FileContent, partition: Arc<Partition>, low: i32, high: i32) -> DataFile {
        self.files += 1;
        let bounds = |v: i32| Some(FieldMap::from([(1, v.to_le_bytes().to_vec())]));
        let metrics = ColumnMetrics {
            value_counts: Some(FieldMap::from([(1, 10)])),
            null_value_counts: Some(FieldMap::from([(1, 0)])),
            lower_bounds: bounds(low),
            upper_bounds: bounds(high),
            ..ColumnMetrics::default()
        };
        DataFile {
            record_count: 10,
            size_bytes: 100,
            metrics: (content != FileContent::PositionDeletes).then(|| metrics.into()),
            equality_ids: (content == FileContent::EqualityDeletes).then(|| vec![1]),
            ..DataFile::new(content, format!("f{}", self.files), FileFormat::Parquet, partition)
        }
    }

    fn live(&self, data: bool) -> Vec<DataFile> {
        let entries = self.manifests.iter().flat_map(|m| &m.entries).filter(|e| e.status != DELETED);
        entries.filter(|e| (e.file.content == FileContent::Data) == data).map(|e| e.file.clone()).collect()
    }

    fn commit(&mut self, acts: &[Act], merge: bool) {
        let id = 100 + self.metadata.snapshots.len() as i64;
        let number = self.metadata.snapshots.len() as i64 + 1;
        let (mut added, mut removed): (Vec<DataFile>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        let (data, deletes) = (self.live(true), self.live(false));
        for act in acts {
            match act {
                Act::Add { cat, low, size } => {
                    added.push(self.file(FileContent::Data, cat_of(0, *cat), *low, low + size))
                }
                Act::Remove(n) if !data.is_empty() => {
                    removed.insert(data[n % data.len()].path.clone());
                }
                Act::RemoveDelete(n) if !deletes.is_empty() => {
                    removed.insert(deletes[n % deletes.len()].path.clone());
                }
                Act::Delete { kind, of, cat, low, size } => {
                    let target = (!data.is_empty()).then(|| &data[of % data.len()]);
                    let file = match (kind, target) {
                        (0, Some(t)) => {
                            let old = |f: &&DataFile| {
                                f.format == FileFormat::Puffin && f.referenced_data_file.as_ref() == Some(&t.path)
                            };
                            if added.iter().any(|f| old(&f)) {
                                continue;
                            }
                            removed.extend(deletes.iter().filter(old).map(|f| f.path.clone()));
                            let vector = self.file(FileContent::PositionDeletes, t.partition.clone(), 0, 0);
                            let place = Some(self.files as i64);
                            DataFile {
                                format: FileFormat::Puffin,
                                path: "vectors.puffin".to_owned() + &vector.path,
                                referenced_data_file: Some(t.path.clone()),
                                content_offset: place,
                                content_size_bytes: place,
                                ..vector
                            }
                        }
                        (1, Some(t)) => {
                            let file = self.file(FileContent::PositionDeletes, t.partition.clone(), 0, 0);
                            DataFile { referenced_data_file: Some(t.path.clone()), ..file }
                        }
                        (2, _) => self.file(FileContent::PositionDeletes, cat_of(0, *cat), 0, 0),
                        (3, _) => self.file(FileContent::EqualityDeletes, cat_of(1, 0), *low, low + size),
                        _ => self.file(FileContent::EqualityDeletes, cat_of(0, *cat), *low, low + size),
                    };
                    added.push(file);
                }
                _ => {}
            }
        }
        let operation = if added.is_empty() && removed.is_empty() { "replace" } else { "overwrite" };
        let only_data = added.iter().all(|f| f.content == FileContent::Data);
        let operation = if operation != "replace" && removed.is_empty() && only_data { "append" } else { operation };
        let old = std::mem::take(&mut self.manifests);
        for m in old {
            if merge || m.entries.iter().any(|e| e.status != DELETED && removed.contains(&e.file.path)) {
                let keep = |e: &ManifestEntry| match (e.status, removed.contains(&e.file.path)) {
                    (DELETED, _) => None,
                    (_, true) => Some(ManifestEntry { status: DELETED, snapshot_id: Some(id), ..e.clone() }),
                    _ => Some(ManifestEntry { status: EXISTING, ..e.clone() }),
                };
                let entries: Vec<_> = m.entries.iter().filter_map(keep).collect();
                self.write(m.file.content, m.file.spec_id, entries, id, number);
            } else {
                self.manifests.push(m);
            }
        }
        for (content, spec_id) in
            [(ManifestContent::Data, 0), (ManifestContent::Deletes, 0), (ManifestContent::Deletes, 1)]
        {
            let fits = |f: &&DataFile| {
                (f.content == FileContent::Data) == (content == ManifestContent::Data) && f.partition.spec_id == spec_id
            };
            let entry = |f: &DataFile| ManifestEntry {
                status: ADDED,
                snapshot_id: Some(id),
                sequence_number: Some(number),
                file_sequence_number: Some(number),
                file: f.clone(),
                unknown: None,
            };
            let entries = added.iter().filter(fits).map(entry).collect();
            self.write(content, spec_id, entries, id, number);
        }
        self.add_snapshot(id, number, operation);
    }

    fn write(&mut self, content: ManifestContent, spec_id: i32, entries: Vec<ManifestEntry>, id: i64, number: i64) {
        if entries.is_empty() {
            return;
        }
        let header = ManifestHeader {
            format_version: 2,
            schema: self.metadata.schema().unwrap(),
            spec: self.metadata.spec_by_id(spec_id).unwrap(),
            content,
            codec: AvroCodec::Deflate,
            compression_level: None,
        };
        let encoded = encode_manifest(&entries, &header).unwrap();
        let path = self.dir.path().join(format!("{}.avro", uuid::Uuid::new_v4())).display().to_string();
        LocalStore.put_if_absent(&path, &encoded.bytes).unwrap();
        let file = ManifestFile {
            path,
            length_bytes: encoded.bytes.len() as i64,
            spec_id,
            content,
            sequence_number: number,
            min_sequence_number: 1,
            added_snapshot_id: Some(id),
            added_files_count: Some(encoded.added_files_count),
            existing_files_count: Some(encoded.existing_files_count),
            deleted_files_count: Some(encoded.deleted_files_count),
            added_rows_count: Some(encoded.added_rows_count),
            existing_rows_count: Some(encoded.existing_rows_count),
            deleted_rows_count: Some(encoded.deleted_rows_count),
            partitions: encoded.partitions,
            ..ManifestFile::default()
        };
        self.manifests.push(Written { file, entries });
    }

    fn add_snapshot(&mut self, id: i64, number: i64, operation: &str) {
        let parent_id = self.metadata.snapshots.last().map(|s| s.id);
        let header = ManifestListHeader {
            format_version: 2,
            snapshot_id: id,
            parent_snapshot_id: parent_id,
            sequence_number: number,
            first_row_id: None,
        };
        let files: Vec<ManifestFile> = self.manifests.iter().rev().map(|m| m.file.clone()).collect();
        let list = self.dir.path().join(format!("list-{id}.avro")).display().to_string();
        LocalStore.put_if_absent(&list, &encode_manifest_list(&files, &header).unwrap()).unwrap();
        let json = serde_json::json!({
            "snapshot-id": id, "sequence-number": number, "timestamp-ms": number, "manifest-list": list,
            "summary": {"operation": operation}, "schema-id": 0, "parent-snapshot-id": parent_id,
        });
        let mut json = json;
        if parent_id.is_none() {
            json.as_object_mut().unwrap().remove("parent-snapshot-id");
        }
        self.metadata.snapshots.push(Arc::new(Snapshot::from_json(json, 2).unwrap()));
        self.metadata.current_snapshot_id = Some(id);
    }

    fn input(&self, snapshot: Option<&Arc<Snapshot>>, filter: &str) -> PlanInput {
        let schema = self.metadata.schema().unwrap().clone();
        PlanInput {
            store: Arc::new(LocalStore),
            location: Location::recorded(),
            metadata: Arc::new(self.metadata.clone()),
            snapshot: snapshot.cloned(),
            filter: Arc::new(bind(&parse(filter).unwrap(), &schema, true).unwrap()),
            schema,
            entries: EntryScope::Live,
            column_metrics: false,
            all_deletes: false,
            cache: None,
            metric_fields: Vec::new(),
            budget: Arc::default(),
        }
    }

    /// The files of a version with their deletes.
    fn version(&self, snapshot: Option<&Arc<Snapshot>>, filter: &str) -> BTreeMap<String, BTreeSet<String>> {
        let mut plan = RunningPlan::start(self.input(snapshot, filter)).unwrap();
        let mut out = BTreeMap::new();
        while let Some(batch) = plan.next_batch().unwrap() {
            for k in 0..batch.rows.len() {
                let task = batch.task(k).unwrap();
                assert!(out.insert(task.data_file.path.clone(), names(&task.deletes)).is_none());
            }
        }
        out
    }

    fn changes(&self, filter: &str, snapshots: &[Arc<Snapshot>]) -> Vec<ScanTask> {
        let mut plan = AnyPlan::Changes(Box::new(ChangesPlan::new(self.input(None, filter), snapshots)));
        let mut out = Vec::new();
        while let Some(batch) = plan.next_batch().unwrap() {
            out.extend((0..batch.rows.len()).map(|k| batch.task(k).unwrap()));
        }
        out
    }
}

fn names(deletes: &[DeleteRef]) -> BTreeSet<String> {
    deletes.iter().map(|d| d.file.path.clone()).collect()
}

/// The facts of a task: operation, file, deletes, and those on the other side.
type Told = (ChangeOperation, String, BTreeSet<String>, Option<BTreeSet<String>>);

fn told(task: &ScanTask) -> Told {
    let change = task.change.as_ref().unwrap();
    let other = change.removed_by.as_ref().map(|d| names(d));
    (change.operation, task.data_file.path.clone(), names(&task.deletes), other)
}

type Version = BTreeMap<String, BTreeSet<String>>;

fn difference(before: &Version, after: &Version) -> Vec<Told> {
    use ChangeOperation::{Delete, Insert};
    let mut out = Vec::new();
    for (path, deletes) in before {
        match after.get(path) {
            None => out.push((Delete, path.clone(), deletes.clone(), None)),
            Some(now) => {
                if !now.is_subset(deletes) {
                    out.push((Delete, path.clone(), deletes.clone(), Some(now.clone())));
                }
                if !deletes.is_subset(now) {
                    out.push((Insert, path.clone(), now.clone(), Some(deletes.clone())));
                }
            }
        }
    }
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    out.extend(new.map(|(path, deletes)| (Insert, path.clone(), deletes.clone(), None)));
    out.sort();
    out
}

const FILTERS: [&str; 5] = ["true", "cat = 'c1'", "id < 40", "cat is null and id > 50", "id between 30 and 33"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn changes_are_the_difference_of_versions(
        commits in prop::collection::vec((prop::collection::vec(act(), 0..6), any::<bool>()), 1..7),
    ) {
        let mut world = World::new();
        for (acts, merge) in &commits {
            world.commit(acts, *merge);
        }
        let snapshots = world.metadata.snapshots.clone();
        for filter in FILTERS {
            let all = world.changes(filter, &snapshots);
            let mut ordinal = 0;
            let mut before = Version::new();
            for snapshot in &snapshots {
                let after = world.version(Some(snapshot), filter);
                let want = if snapshot.operation() == Some("replace") { Vec::new() } else { difference(&before, &after) };
                // Alone, without the state that an earlier commit left, and with it.
                let alone = world.changes(filter, std::slice::from_ref(snapshot));
                let of_all = |t: &&ScanTask| t.change.as_ref().is_some_and(|c| c.commit_snapshot_id == snapshot.id);
                for tasks in [alone, all.iter().filter(of_all).cloned().collect()] {
                    let mut got: Vec<Told> = tasks.iter().map(told).collect();
                    got.sort();
                    prop_assert_eq!(&got, &want, "{} of {}", filter, snapshot.id);
                }
                prop_assert!(all.iter().filter(of_all).all(|t| t.change.as_ref().is_some_and(|c| c.ordinal == ordinal)));
                ordinal += i32::from(snapshot.operation() != Some("replace"));
                before = after;
            }
            // The estimated budget is enough.
            let estimate =
                crate::iceberg::plan::estimate::estimate_changes(&world.input(None, filter), &snapshots).unwrap();
            prop_assert!(estimate.data_files.unwrap() >= all.len() as u64);
            let budget = Arc::new(crate::iceberg::manifest::read_budget::ReadBudget::new(Some(estimate.bytes)));
            let mut bounded = ChangesPlan::new(PlanInput { budget, ..world.input(None, filter) }, &snapshots);
            while bounded.next_batch().unwrap().is_some() {}
            let mut appends = plan_appends(world.input(None, filter), &snapshots).unwrap();
            let mut appended = BTreeSet::new();
            while let Some(batch) = appends.next_batch().unwrap() {
                for k in 0..batch.rows.len() {
                    let task = batch.task(k).unwrap();
                    prop_assert!(task.deletes.is_empty() && task.change.is_none());
                    appended.insert(task.data_file.path.clone());
                }
            }
            let is_append = |id: i64| snapshots.iter().any(|s| s.id == id && s.operation() == Some("append"));
            let want = all.iter().filter(|t| told(t).0 == ChangeOperation::Insert && told(t).3.is_none());
            let want = want.filter(|t| is_append(t.change.as_ref().map_or(0, |c| c.commit_snapshot_id)));
            prop_assert_eq!(appended, want.map(|t| t.data_file.path.clone()).collect::<BTreeSet<_>>());
        }
    }
}

#[test]
fn an_estimate_counts_both_tasks_where_a_vector_takes_the_place_of_position_deletes() {
    let mut world = World::new();
    let delete = |kind| Act::Delete { kind, of: 0, cat: 1, low: 0, size: 0 };
    for act in [Act::Add { cat: 1, low: 0, size: 9 }, delete(1), delete(0)] {
        world.commit(&[act], false);
    }
    let snapshots = world.metadata.snapshots.clone();
    let last = &snapshots[2..];
    let tasks: Vec<Told> = world.changes("true", last).iter().map(told).collect();
    // The position delete file stays in the table, but the vector hides it.
    assert_eq!(tasks.iter().map(|t| t.0).collect::<Vec<_>>(), [ChangeOperation::Delete, ChangeOperation::Insert]);
    let estimate = crate::iceberg::plan::estimate::estimate_changes(&world.input(None, "true"), last).unwrap();
    assert_eq!(estimate.data_files, Some(2));
}

#[test]
fn an_estimate_counts_one_task_for_each_file_of_the_first_deletes() {
    let mut world = World::new();
    let add = |low| Act::Add { cat: 1, low, size: 9 };
    for acts in [vec![add(0), add(20)], vec![Act::Delete { kind: 0, of: 0, cat: 1, low: 0, size: 0 }]] {
        world.commit(&acts, false);
    }
    let snapshots = world.metadata.snapshots.clone();
    let last = &snapshots[1..];
    assert_eq!(world.changes("true", last).len(), 1);
    // The manifest of data files could hold a second file with deletes, but no file gives two tasks.
    let estimate = crate::iceberg::plan::estimate::estimate_changes(&world.input(None, "true"), last).unwrap();
    assert_eq!(estimate.data_files, Some(2));
}

#[test]
fn snapshots_between_two_versions() {
    let mut world = World::new();
    for low in 0..4 {
        world.commit(&[Act::Add { cat: 1, low, size: 1 }], false);
    }
    let mut metadata = world.metadata.clone();
    let ids = |m: &TableMetadata, since, at: i64| {
        snapshots_between(m, since, m.snapshot_by_id(at).unwrap())
            .map(|all| all.iter().map(|s| s.id).collect::<Vec<_>>())
    };
    assert_eq!(ids(&metadata, None, 103).unwrap(), [100, 101, 102, 103]);
    assert_eq!(ids(&metadata, Some(100), 102).unwrap(), [101, 102]);
    assert_eq!(ids(&metadata, Some(102), 102).unwrap(), [0i64; 0]);
    let error = ids(&metadata, Some(103), 102).unwrap_err();
    assert!(error.hint_text().unwrap_or_default().contains("newer"));
    metadata.snapshots.drain(..2);
    assert_eq!(ids(&metadata, None, 103).unwrap(), [102, 103]);
    assert_eq!(ids(&metadata, Some(101), 103).unwrap(), [102, 103]);
    let error = ids(&metadata, Some(100), 103).unwrap_err();
    assert!(error.hint_text().unwrap_or_default().contains("expired"));
}

#[test]
fn a_budget_bounds_all_that_is_read() {
    let mut world = World::new();
    world.commit(&[Act::Add { cat: 1, low: 0, size: 9 }], false);
    world.commit(&[Act::Delete { kind: 1, of: 0, cat: 1, low: 0, size: 0 }], false);
    let [data, deletes] = [0, 1].map(|i: usize| world.manifests[i].file.length_bytes as u64);
    let run = |most| {
        let budget = Arc::new(crate::iceberg::manifest::read_budget::ReadBudget::new(Some(most)));
        let input = PlanInput { budget, ..world.input(None, "true") };
        let mut plan = ChangesPlan::new(input, &world.metadata.snapshots);
        while plan.next_batch()?.is_some() {}
        Ok::<_, Error>(())
    };
    // The second commit's deletes are read three times: for the deletes that it added, for those before it and for
    // those after it. The data is read once more for the files that they reach.
    let total = 2 * data + 3 * deletes;
    run(total).unwrap();
    let error = run(total - 1).unwrap_err();
    let said = format!("would read {total} bytes of 2 manifests and 3 delete manifests");
    assert!(error.message().contains(&said), "{error}");
    let estimate =
        crate::iceberg::plan::estimate::estimate_changes(&world.input(None, "true"), &world.metadata.snapshots)
            .unwrap();
    assert_eq!((estimate.bytes, estimate.data_manifests, estimate.delete_manifests), (total, 2, 3));
    assert_eq!((estimate.total_bytes, estimate.total_manifests), (data + deletes, 2));
}
