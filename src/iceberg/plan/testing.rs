//! For tests: a table in memory whose manifests are written as a writer would, and its plan.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use crate::codec::avro::AvroCodec;
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, bind, parse};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition, PartitionValue, ScanTask};
use crate::iceberg::manifest::encode::{EncodedManifest, ManifestEntry, ManifestHeader, encode_manifest};
use crate::iceberg::manifest::entries::ADDED;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile, ManifestListHeader, encode_manifest_list};
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{FileInfo, Location, Store, StoreWriter};
use crate::types::{PartitionSpec, Schema, SortOrder, Value};

/// Files by path.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore(pub Mutex<HashMap<String, Vec<u8>>>);

impl Store for MemoryStore {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        let none = || Error::not_found("there is no such file").with("path", path);
        self.0.lock().unwrap().get(path).cloned().ok_or_else(none)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap().insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn get_range(&self, _: &str, _: u64, _: usize) -> Result<Vec<u8>> {
        unimplemented!()
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.get(path).map(|b| b.len() as u64)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        if self.0.lock().unwrap().contains_key(path) {
            return Err(Error::already_exists("the file already exists").with("path", path));
        }
        self.put(path, bytes)
    }

    fn create(&self, _: &str) -> Result<Box<dyn StoreWriter>> {
        unimplemented!()
    }

    fn list(&self, _: &str) -> Result<Vec<FileInfo>> {
        unimplemented!()
    }

    fn list_folders(&self, _: &str) -> Result<Vec<String>> {
        unimplemented!()
    }

    fn make_folder(&self, _: &str) -> Result<()> {
        unimplemented!()
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.0.lock().unwrap().remove(path);
        Ok(())
    }

    fn delete_folder(&self, _: &str) -> Result<()> {
        unimplemented!()
    }
}

/// The snapshot's id.
pub(crate) const SNAPSHOT: i64 = 77;
/// Where the manifest list is.
pub(crate) const LIST: &str = "/t/list.avro";

/// A table of one snapshot.
pub(crate) struct TestTable {
    pub store: Arc<MemoryStore>,
    pub metadata: TableMetadata,
    pub manifests: Vec<ManifestFile>,
}

impl TestTable {
    /// The last schema is the current one; specs have their places as ids.
    pub(crate) fn new(version: u8, schemas: &[Schema], specs: &[PartitionSpec]) -> TestTable {
        let current = schemas.last().unwrap();
        let none = PartitionSpec::default();
        let mut metadata =
            new_table(current, &none, &SortOrder::default(), "/t", &BTreeMap::new(), version, 0).unwrap();
        metadata.schemas = schemas.iter().cloned().map(Arc::new).collect();
        metadata.current_schema_id = current.id;
        metadata.partition_specs = specs.iter().cloned().map(Arc::new).collect();
        TestTable { store: Arc::new(MemoryStore::default()), metadata, manifests: Vec::new() }
    }

    /// Writes a manifest under the schema of its time. The caller may change its entry in the list.
    pub(crate) fn add(
        &mut self,
        content: ManifestContent,
        schema: &Schema,
        spec_id: i32,
        entries: &[ManifestEntry],
    ) -> &mut ManifestFile {
        let spec = self.metadata.spec_by_id(spec_id).unwrap().clone();
        let header = ManifestHeader {
            format_version: self.metadata.format_version,
            schema,
            spec: &spec,
            content,
            codec: AvroCodec::Null,
            compression_level: None,
        };
        let encoded = encode_manifest(entries, &header).unwrap();
        self.add_encoded(content, spec_id, encoded)
    }

    pub(crate) fn add_encoded(
        &mut self,
        content: ManifestContent,
        spec_id: i32,
        encoded: EncodedManifest,
    ) -> &mut ManifestFile {
        let path = format!("/t/m{}.avro", self.manifests.len());
        self.store.put(&path, &encoded.bytes).unwrap();
        self.manifests.push(ManifestFile {
            path,
            length_bytes: encoded.bytes.len() as i64,
            spec_id,
            content,
            sequence_number: 9,
            min_sequence_number: encoded.min_sequence_number.unwrap_or(9),
            added_snapshot_id: Some(SNAPSHOT),
            added_files_count: Some(encoded.added_files_count),
            existing_files_count: Some(encoded.existing_files_count),
            deleted_files_count: Some(encoded.deleted_files_count),
            added_rows_count: Some(encoded.added_rows_count),
            existing_rows_count: Some(encoded.existing_rows_count),
            deleted_rows_count: Some(encoded.deleted_rows_count),
            partitions: encoded.partitions,
            key_metadata: None,
            first_row_id: (content == ManifestContent::Data && self.metadata.format_version > 2).then_some(0),
            unknown: None,
        });
        self.manifests.last_mut().unwrap()
    }

    /// Writes the manifest list, in this version of its schema.
    pub(crate) fn write_list(&self, version: u8) {
        let header = ManifestListHeader {
            format_version: version,
            snapshot_id: SNAPSHOT,
            parent_snapshot_id: None,
            sequence_number: 9,
            first_row_id: Some(0),
        };
        self.store.put(LIST, &encode_manifest_list(&self.manifests, &header).unwrap()).unwrap();
    }

    pub(crate) fn input(&self, filter: BoundPredicate) -> PlanInput {
        let json = serde_json::json!({"snapshot-id": SNAPSHOT, "timestamp-ms": 0, "sequence-number": 9,
            "manifest-list": LIST, "summary": {"operation": "append"}});
        PlanInput {
            store: self.store.clone(),
            location: Location::recorded(),
            metadata: Arc::new(self.metadata.clone()),
            snapshot: Some(Arc::new(Snapshot::from_json(json, 2).unwrap())),
            schema: self.metadata.schema().unwrap().clone(),
            filter: Arc::new(filter),
            entries: EntryScope::Live,
            column_metrics: false,
            all_deletes: false,
            metric_fields: Vec::new(),
            budget: Arc::default(),
            cache: None,
        }
    }

    /// All batches of the plan of the store's table.
    pub(crate) fn batches(&self, filter: BoundPredicate) -> Result<Vec<PlannedBatch>> {
        batches_of(self.input(filter))
    }

    /// The tasks, after writing the list in the table's version.
    pub(crate) fn tasks(&self, filter: BoundPredicate) -> Result<Vec<ScanTask>> {
        self.write_list(self.metadata.format_version);
        tasks_of(&self.batches(filter)?)
    }

    /// As [`TestTable::tasks`], for a filter as people write it.
    pub(crate) fn plan(&self, filter: &str) -> Result<Vec<ScanTask>> {
        self.tasks(bind(&parse(filter).unwrap(), self.metadata.schema().unwrap(), true).unwrap())
    }

    /// The paths that a filter plans, in order.
    pub(crate) fn paths(&self, filter: &str) -> Vec<String> {
        self.plan(filter).unwrap().iter().map(|t| t.data_file.path.clone()).collect()
    }
}

pub(crate) fn batches_of(input: PlanInput) -> Result<Vec<PlannedBatch>> {
    let mut plan = RunningPlan::start(input)?;
    let mut out = Vec::new();
    while let Some(batch) = plan.next_batch()? {
        out.push(batch);
    }
    Ok(out)
}

pub(crate) fn tasks_of(batches: &[PlannedBatch]) -> Result<Vec<ScanTask>> {
    batches.iter().flat_map(|b| (0..b.rows.len()).map(|k| b.task(k))).collect()
}

/// A partition of a spec under a schema.
pub(crate) fn partition(spec: &PartitionSpec, schema: &Schema, values: &[Option<Value>]) -> Arc<Partition> {
    let value = |(f, v): (&crate::types::PartitionField, &Option<Value>)| PartitionValue {
        name: f.name.clone(),
        field_id: f.field_id,
        source_id: f.source_id,
        transform: f.transform.clone(),
        ty: f.result_type(schema),
        value: v.clone(),
    };
    Arc::new(Partition { spec_id: spec.id, values: spec.fields.iter().zip(values).map(value).collect() })
}

/// A file of one row and a hundred bytes without metrics.
pub(crate) fn file(path: &str, partition: &Arc<Partition>) -> DataFile {
    DataFile {
        record_count: 1,
        size_bytes: 100,
        ..DataFile::new(FileContent::Data, path, FileFormat::Parquet, partition.clone())
    }
}

/// An entry that adds a file at a sequence number.
pub(crate) fn added(file: DataFile, sequence_number: i64) -> ManifestEntry {
    ManifestEntry {
        status: ADDED,
        snapshot_id: Some(SNAPSHOT),
        sequence_number: Some(sequence_number),
        file_sequence_number: Some(sequence_number),
        file,
        unknown: None,
    }
}
