//! Random sequences of changes against a model of the live files: the written files are decoded and compared.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::expr::parse;
use crate::format::task::FileFormat;
use crate::iceberg::commit::removal::FileId;
use crate::iceberg::manifest::encode::ManifestEntry;
use crate::iceberg::manifest::entries::{ADDED, DELETED, EXISTING};
use crate::iceberg::plan::testing::{MemoryStore, TestTable, file, partition};
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Value};

fn schema() -> Schema {
    let field = |id, name, ty| Field::new(id, name, false, ty);
    Schema::new(0, vec![field(1, "id", PrimitiveType::Long), field(2, "p", PrimitiveType::Int)], vec![])
}

fn specs() -> Vec<PartitionSpec> {
    let by_p = PartitionField { source_id: 2, field_id: 1000, name: "p".into(), transform: Transform::Identity };
    vec![PartitionSpec { id: 0, fields: vec![by_p] }, PartitionSpec { id: 1, fields: vec![] }]
}

/// A live file in the model.
#[derive(Clone, Debug, PartialEq)]
struct Live {
    file: DataFile,
    sequence_number: i64,
    file_sequence_number: i64,
    snapshot_id: i64,
    first_row_id: Option<i64>,
}

struct Model {
    store: Arc<MemoryStore>,
    metadata: TableMetadata,
    live: BTreeMap<FileId, Live>,
    next_file: u32,
}

impl Model {
    fn new(version: u8, properties: &[(&str, &str)]) -> Model {
        let table = TestTable::new(version, &[schema()], &specs());
        let mut metadata = table.metadata;
        metadata.properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        Model { store: table.store, metadata, live: BTreeMap::new(), next_file: 0 }
    }

    fn change(&self, operation: Operation) -> SnapshotProducer {
        SnapshotProducer::new(self.store.clone(), operation)
    }

    /// A new data file. Every fifth file is of the unpartitioned spec.
    fn data(&mut self, p: i32) -> DataFile {
        self.next_file += 1;
        let specs = specs();
        let of = match self.next_file % 5 {
            0 => partition(&specs[1], &schema(), &[]),
            _ => partition(&specs[0], &schema(), &[(p < 3).then_some(Value::Int(p))]),
        };
        let (record_count, size_bytes) = (10 + i64::from(self.next_file % 3), 1000);
        DataFile { record_count, size_bytes, ..file(&format!("/t/data/{}.parquet", self.next_file), &of) }
    }

    /// A delete file for one data file: a deletion vector in v3.
    fn delete(&mut self, data: &DataFile) -> DataFile {
        self.next_file += 1;
        let vector = self.metadata.format_version > 2;
        DataFile {
            content: FileContent::PositionDeletes,
            format: if vector { FileFormat::Puffin } else { FileFormat::Parquet },
            referenced_data_file: Some(data.path.clone()),
            content_offset: vector.then_some(4),
            content_size_bytes: vector.then_some(40),
            ..file(&format!("/t/data/{}.deletes", self.next_file), &data.partition)
        }
    }

    fn pick(&self, content: FileContent, n: u32) -> Option<DataFile> {
        let all: Vec<_> = self.live.values().filter(|l| l.file.content == content).collect();
        all.get(n as usize % all.len().max(1)).map(|l| as_planned(l))
    }

    /// Commits, after a failed attempt on an older version if there is one.
    fn commit(&mut self, mut change: SnapshotProducer, stale: Option<&TableMetadata>) {
        if let Some(stale) = stale {
            let _ = change.prepare(stale, 1);
        }
        let next = change.prepare(&self.metadata, 2).unwrap();
        assert!(!change.is_applied(&self.metadata) && change.is_applied(&next));
        change.committed(&next);
        self.metadata = next;
        self.take_in(&change);
    }

    /// Applies the change to the model.
    fn take_in(&mut self, change: &SnapshotProducer) {
        let snapshot = self.metadata.current_snapshot().unwrap().clone();
        assert_eq!(snapshot.id, change.snapshot_id());
        for file in change.input.added_data.iter().chain(&change.input.added_deletes) {
            let number = if file.content == FileContent::Data { change.input.data_sequence_number } else { None };
            let live = Live {
                file: file.clone(),
                sequence_number: number.unwrap_or(snapshot.sequence_number),
                file_sequence_number: snapshot.sequence_number,
                snapshot_id: snapshot.id,
                first_row_id: None,
            };
            self.live.insert(FileId::of(file), live);
        }
    }

    fn forget(&mut self, files: &[DataFile]) {
        for file in files {
            self.live.remove(&FileId::of(file)).unwrap();
            if self.metadata.format_version > 2 && file.content == FileContent::Data {
                self.live.retain(|_, l| l.file.referenced_data_file.as_ref() != Some(&file.path));
            }
        }
    }

    /// Delete files older than all data may be gone, if their manifest was opened for another reason.
    fn drop_older_deletes(&mut self) {
        let all = self.entries();
        let entries = all.iter().flat_map(|(_, entries)| entries.iter().filter(|e| e.status != DELETED));
        let there: HashSet<FileId> = entries.map(|e| FileId::of(&e.file)).collect();
        let data = self.live.values().filter(|l| l.file.content == FileContent::Data);
        let least = data.map(|l| l.sequence_number).min().unwrap_or(i64::MAX);
        self.live.retain(|id, l| {
            let droppable = l.file.content != FileContent::Data && l.sequence_number < least;
            !droppable || there.contains(id)
        });
    }

    /// Every manifest of the current snapshot with its entries.
    fn entries(&self) -> Vec<(ManifestFile, Vec<ManifestEntry>)> {
        let Some(snapshot) = self.metadata.current_snapshot() else { return Vec::new() };
        let manifests = load_manifests(self.store.as_ref(), &Location::recorded(), snapshot).unwrap();
        let reader = ManifestWriter::new(self.store.clone());
        let read = |m: ManifestFile| {
            let entries = reader.read(&self.metadata, &m).unwrap();
            (m, entries)
        };
        manifests.into_iter().map(read).collect()
    }

    /// Compares the written files with the model.
    fn check(&mut self) {
        let snapshot = self.metadata.current_snapshot().unwrap().clone();
        let all = self.entries();
        let mut seen = BTreeSet::new();
        for (m, entries) in &all {
            let count = |status| entries.iter().filter(|e| e.status == status).count() as i64;
            assert_eq!(m.added_files_count, Some(count(ADDED)));
            assert_eq!(m.existing_files_count, Some(count(EXISTING)));
            assert_eq!(m.deleted_files_count, Some(count(DELETED)));
            let live = entries.iter().filter(|e| e.status != DELETED);
            assert!(m.added_snapshot_id == Some(snapshot.id) || live.clone().count() > 0);
            let least = live.clone().filter_map(|e| e.sequence_number).min();
            if let Some(least) = least {
                assert_eq!(m.min_sequence_number, least);
            }
            for e in entries {
                if e.status == DELETED {
                    assert_eq!(m.added_snapshot_id, e.snapshot_id);
                    assert!(!self.live.contains_key(&FileId::of(&e.file)), "{}", e.file.path);
                    continue;
                }
                assert!(e.status == EXISTING || e.snapshot_id == m.added_snapshot_id);
                self.check_entry(e);
                assert!(seen.insert(FileId::of(&e.file)), "{} is there twice", e.file.path);
            }
        }
        assert_eq!(seen, self.live.keys().cloned().collect());
        self.check_rows();
        self.check_totals(&snapshot);
        self.check_orphans();
    }

    fn check_entry(&mut self, e: &ManifestEntry) {
        let version = self.metadata.format_version;
        let live = self.live.get_mut(&FileId::of(&e.file)).unwrap_or_else(|| panic!("{} came back", e.file.path));
        assert_eq!(e.snapshot_id, Some(live.snapshot_id));
        assert_eq!(e.sequence_number, Some(live.sequence_number));
        assert_eq!(e.file_sequence_number, Some(live.file_sequence_number));
        assert_eq!(e.file.partition, live.file.partition);
        assert_eq!(e.file.record_count, live.file.record_count);
        if version > 2 && e.file.content == FileContent::Data {
            assert!(e.file.first_row_id.is_some());
            assert!(live.first_row_id.is_none() || live.first_row_id == e.file.first_row_id);
            live.first_row_id = e.file.first_row_id;
        }
    }

    /// Row ids are unique and assigned by the table.
    fn check_rows(&self) {
        let data = self.live.values().filter(|l| l.file.content == FileContent::Data);
        let mut ranges: Vec<_> =
            data.filter_map(|l| Some((l.first_row_id?, l.first_row_id? + l.file.record_count))).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|w| w[0].1 <= w[1].0), "{ranges:?}");
        assert!(ranges.last().is_none_or(|r| r.1 <= self.metadata.next_row_id.unwrap()));
    }

    fn check_totals(&self, snapshot: &Snapshot) {
        let total = |key: &str| snapshot.summary[key].parse::<i64>().unwrap();
        let of = |content| self.live.values().filter(move |l| l.file.content == content);
        assert_eq!(total("total-data-files"), of(FileContent::Data).count() as i64);
        assert_eq!(total("total-records"), of(FileContent::Data).map(|l| l.file.record_count).sum::<i64>());
        assert_eq!(total("total-delete-files"), of(FileContent::PositionDeletes).count() as i64);
        assert_eq!(
            total("total-position-deletes"),
            of(FileContent::PositionDeletes).map(|l| l.file.record_count).sum::<i64>()
        );
        let size = |l: &Live| l.file.content_size_bytes.unwrap_or(l.file.size_bytes);
        assert_eq!(total("total-files-size"), self.live.values().map(size).sum::<i64>());
    }

    /// No file is left over, and no file is missing.
    fn check_orphans(&self) {
        let mut used = HashSet::new();
        for snapshot in &self.metadata.snapshots {
            used.extend(snapshot.manifest_list.clone());
            let manifests = load_manifests(self.store.as_ref(), &Location::recorded(), snapshot).unwrap();
            used.extend(manifests.into_iter().map(|m| m.path));
        }
        let there: HashSet<String> = self.store.0.lock().unwrap().keys().cloned().collect();
        assert_eq!(there, used);
    }
}

/// A live file as a plan returns it.
fn as_planned(live: &Live) -> DataFile {
    DataFile {
        sequence_number: Some(live.sequence_number),
        file_sequence_number: Some(live.file_sequence_number),
        snapshot_id: Some(live.snapshot_id),
        ..live.file.clone()
    }
}

fn step(model: &mut Model, kind: u8, n: u32, stale: Option<&TableMetadata>) {
    let p = (n % 4) as i32;
    match kind {
        0 | 1 => {
            let files = (0..1 + n % 3).map(|i| model.data(p + i as i32 % 2)).collect();
            let change = SnapshotProducer::append(model.store.clone(), files);
            model.commit(change, stale);
        }
        // Copy-on-write, or a rewrite that keeps the sequence number.
        2 | 3 => {
            let Some(old) = model.pick(FileContent::Data, n) else { return };
            let mut new = model.data(p);
            (new.partition, new.record_count) = (old.partition.clone(), old.record_count);
            let operation = if kind == 2 { Operation::Overwrite } else { Operation::Replace };
            let mut change = model.change(operation).add_files([new]).remove_files([old.clone()]);
            if kind == 3 && model.metadata.format_version > 1 {
                change = change.data_sequence_number(old.sequence_number.unwrap());
            }
            model.forget(&[old]);
            model.commit(change, stale);
        }
        4 => {
            let Some(data) = model.pick(FileContent::Data, n) else { return };
            if model.metadata.format_version == 1 {
                return;
            }
            let delete = model.delete(&data);
            let old: Vec<_> = model.live.values().map(as_planned).collect();
            let old: Vec<_> = old.into_iter().filter(|f| f.referenced_data_file.as_ref() == Some(&data.path)).collect();
            model.forget(&old);
            let since = model.metadata.current_snapshot_id;
            let change = model.change(Operation::Delete).add_files([delete]).remove_files(old);
            let change = change.with_preconditions(Preconditions { since, ..Preconditions::default() });
            model.commit(change, stale);
        }
        5 => {
            let Some(data) = model.pick(FileContent::Data, n) else { return };
            let same = |l: &&Live| l.file.partition == data.partition;
            let old: Vec<_> = model.live.values().filter(same).map(as_planned).collect();
            let of_file = |f: &DataFile| f.content == FileContent::Data;
            old.iter().filter(|f| of_file(f)).for_each(|f| model.forget(std::slice::from_ref(f)));
            model.live.retain(|_, l| l.file.partition != data.partition);
            let change = model.change(Operation::Delete).remove_partitions(std::slice::from_ref(&data.partition));
            model.commit(change, None);
        }
        _ => {
            // Only by partition: the unpartitioned files have no metrics and would be a conflict.
            if model.live.values().any(|l| l.file.partition.spec_id == 1 && l.file.content == FileContent::Data) {
                return;
            }
            let value = Some(Value::Int(p));
            let goes = |l: &Live| l.file.partition.values.first().is_some_and(|v| v.value == value);
            model.live.retain(|_, l| !goes(l));
            let change = model.change(Operation::Delete).remove_where(&parse(&format!("p = {p}")).unwrap());
            model.commit(change, None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn keeps_the_live_files(
        version in 1u8..4,
        merge in prop_oneof![Just("0"), Just("2"), Just("3"), Just("100")],
        small in any::<bool>(),
        steps in prop::collection::vec((0u8..7, any::<u32>(), any::<bool>()), 1..25),
    ) {
        let size = if small { "6000" } else { "8388608" };
        let enabled = if merge == "0" { "false" } else { "true" };
        let mut model = Model::new(version, &[
            ("commit.manifest-merge.enabled", enabled),
            ("commit.manifest.min-count-to-merge", merge),
            ("commit.manifest.target-size-bytes", size),
        ]);
        let mut before = None;
        for (kind, n, retry) in steps {
            let base = model.metadata.clone();
            step(&mut model, kind, n, before.as_ref().filter(|_| retry));
            if model.metadata != base {
                if version > 1 {
                    model.drop_older_deletes();
                }
                model.check();
                before = Some(base);
            }
        }
    }
}
