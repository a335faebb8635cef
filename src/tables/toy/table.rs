//! Tables of the toy format: folders of Parquet files.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::scan::ToyScan;
use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::locations::FileLocations;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::request::{ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::table_format::{Behaviour, TableFormat};
use crate::format::task::{CommitMessage, DataFile, FileContent, FileFormat, Partition};
use crate::rows::seam::{Scan, Table};
use crate::rows::stream::RowReader;
use crate::store::location::{absolute, join};
use crate::store::{self, Store};
use crate::types::Schema;
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::temporal::now_ms;

pub(super) static TOY: TableFormat = TableFormat {
    id: "toy",
    name: "toy folders",
    behaviour: Behaviour { independent_writers: true, ..Behaviour::NONE },
    instead: &[("transactions", "Append all rows at once")],
};

/// A version of a table.
#[derive(Clone, Debug)]
pub(crate) struct ToyTable {
    pub(super) store: Arc<dyn Store>,
    pub(super) root: String,
    pub(super) schema: Arc<Schema>,
    /// The number of the version; 0 before the first commit.
    pub(super) version: i64,
    pub(super) files: Vec<Arc<DataFile>>,
    time_ms: i64,
    metadata_path: String,
}

impl ToyTable {
    /// Makes an empty table.
    pub(crate) fn create(location: &str, schema: &Schema) -> Result<()> {
        let (root, store) = (absolute(location)?, store::open_store(location, &BTreeMap::new())?);
        store.put_if_absent(&join(&root, "schema.json"), schema_to_json(schema).to_string().as_bytes())
    }

    /// The newest version of the table in a folder, if there is one.
    pub(crate) fn find(store: &Arc<dyn Store>, root: &str) -> Result<Option<ToyTable>> {
        let metadata_path = join(root, "schema.json");
        let Some(j) = read_json(store.as_ref(), &metadata_path)? else { return Ok(None) };
        let (store, root, schema) = (store.clone(), root.to_owned(), Arc::new(schema_from_json(&j)?));
        let empty = ToyTable { store, root, schema, version: 0, files: Vec::new(), time_ms: 0, metadata_path };
        empty.newest().map(Some)
    }

    /// Opens the version that `to_json` describes.
    pub(crate) fn from_json(j: &Json) -> Result<ToyTable> {
        let wrong = || Error::invalid("the text is not JSON of a table");
        let root = j.get("location").and_then(Json::as_str).ok_or_else(wrong)?;
        let found = ToyTable::find(&store::open_store(root, &BTreeMap::new())?, root)?;
        found.ok_or_else(wrong)?.at(j.get("version").and_then(Json::as_i64).ok_or_else(wrong)?)
    }

    pub(super) fn at(&self, version: i64) -> Result<ToyTable> {
        let path = join(&self.root, &format!("v{version}.json"));
        let none = || Error::not_found(format!("there is no version {version}")).with("table", &self.root);
        let j = read_json(self.store.as_ref(), &path)?.ok_or_else(none)?;
        let corrupt = || Error::corrupt("a version of the table is wrong").with("path", &path);
        let files = j.get("files").and_then(Json::as_array).ok_or_else(corrupt)?.iter();
        let file = |f: &Json| {
            let mut file = new_file(f[0].as_str()?);
            (file.record_count, file.size_bytes) = (f[1].as_i64()?, f[2].as_i64()?);
            Some(Arc::new(file))
        };
        let files = files.map(|f| file(f).ok_or_else(corrupt)).collect::<Result<_>>()?;
        Ok(ToyTable { version, files, time_ms: j["time-ms"].as_i64().unwrap_or_default(), ..self.clone() })
    }

    fn newest(&self) -> Result<ToyTable> {
        let mut table = self.clone();
        loop {
            match table.at(table.version + 1) {
                Ok(next) => table = next,
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(table),
                Err(e) => return Err(e),
            }
        }
    }
}

fn new_file(path: &str) -> DataFile {
    let partition = Arc::new(Partition { spec_id: 0, values: Vec::new() });
    DataFile::new(FileContent::Data, path, FileFormat::Parquet, partition)
}

fn read_json(store: &dyn Store, path: &str) -> Result<Option<Json>> {
    let parsed = |bytes: Vec<u8>| {
        serde_json::from_slice(&bytes).map_err(|e| Error::corrupt("the file is not JSON").with("path", path).because(e))
    };
    store.get(path).if_found()?.map(parsed).transpose()
}

impl Table for ToyTable {
    fn format(&self) -> &'static TableFormat {
        &TOY
    }
    fn format_version(&self) -> u8 {
        1
    }
    fn location(&self) -> &str {
        &self.root
    }
    fn metadata_location(&self) -> &str {
        &self.metadata_path
    }
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
    fn snapshot(&self) -> Option<SnapshotInfo> {
        (self.version > 0).then(|| SnapshotInfo {
            id: self.version,
            parent_id: None,
            sequence_number: self.version,
            timestamp_ms: self.time_ms,
            operation: Some("append".to_owned()),
            summary: BTreeMap::new(),
            schema_id: Some(self.schema.id),
        })
    }
    fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        (1..=self.version).filter_map(|version| self.at(version).map(|t| t.snapshot()).transpose()).collect()
    }
    fn refresh(&self) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(self.newest()?))
    }
    fn to_json(&self) -> String {
        json!({"format": TOY.id, "location": self.root, "version": self.version}).to_string()
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(ToyScan::new(self, request)?))
    }

    fn append(&self, rows: RowReader, options: &WriteOptions, commit: &CommitOptions) -> Result<Arc<dyn Table>> {
        self.commit(vec![self.write(rows, options)?], commit)
    }
    fn write(&self, rows: RowReader, options: &WriteOptions) -> Result<CommitMessage> {
        let context = WriteContext {
            schema: self.schema.clone(),
            spec: self.partition_spec(),
            order: self.sort_order(),
            row_order: RowOrder::Any,
            locations: FileLocations::in_folder(&join(&self.root, "data")),
            properties: BTreeMap::new(),
            write_id: uuid::Uuid::new_v4().to_string(),
            task_id: options.task,
        };
        let mut writer = DataWriter::new(self.store.clone(), context)?;
        for batch in rows {
            writer.write(&batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?)?;
        }
        Ok(CommitMessage::new(self.uuid(), writer.finish()?, None))
    }
    fn commit(&self, messages: Vec<CommitMessage>, _: &CommitOptions) -> Result<Arc<dyn Table>> {
        loop {
            let newest = self.newest()?;
            let new = messages.iter().flat_map(|message| &message.files);
            let files = newest.files.iter().map(Arc::as_ref).chain(new);
            let files: Vec<Json> = files.map(|f| json!([f.path, f.record_count, f.size_bytes])).collect();
            let (text, next) = (json!({"time-ms": now_ms(), "files": files}).to_string(), newest.version + 1);
            match self.store.put_if_absent(&join(&self.root, &format!("v{next}.json")), text.as_bytes()) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(()) => return Ok(Arc::new(newest.at(next)?)),
            }
        }
    }
    fn abort(&self, messages: &[CommitMessage]) -> Result<()> {
        messages.iter().flat_map(|message| &message.files).try_for_each(|file| self.store.delete(&file.path))
    }
}
