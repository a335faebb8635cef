//! Manifests and tables to measure with, made by the crate's own encoders.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil::codec::avro::AvroCodec;
use frazil::expr::{BoundPredicate, bind, parse};
use frazil::format::task::{ColumnMetrics, DataFile, FieldMap, FileContent, FileFormat, Partition, PartitionValue};
use frazil::iceberg::manifest::encode::{EncodedManifest, ManifestEntry, ManifestHeader, encode_manifest};
use frazil::iceberg::manifest::entries::ADDED;
use frazil::iceberg::manifest::list::{ManifestContent, ManifestFile, ManifestListHeader, encode_manifest_list};
use frazil::iceberg::plan::input::{EntryScope, PlanInput};
use frazil::iceberg::spec::metadata::TableMetadata;
use frazil::iceberg::spec::metadata_build::new_table;
use frazil::iceberg::spec::snapshot::Snapshot;
use frazil::store::{Location, open_store};
use frazil::types::metadata_columns::DELETE_FILE_PATH;
use frazil::types::{Field, PartitionField, PartitionSpec, PrimitiveType, Schema, SortOrder, Transform, Value};
use tempfile::TempDir;

/// Entries of a manifest.
pub(crate) const ENTRIES: usize = 10_000;
const COLUMNS: i32 = 12;

/// Twelve long columns `c1` to `c12`.
pub(crate) fn schema() -> Schema {
    let field = |id| Field::new(id, format!("c{id}"), true, PrimitiveType::Long);
    Schema::new(0, (1..=COLUMNS).map(field).collect::<Vec<_>>(), vec![])
}

/// `bucket(16, c1)`.
pub(crate) fn spec() -> PartitionSpec {
    let transform = Transform::Bucket(16);
    PartitionSpec { id: 0, fields: vec![PartitionField { source_id: 1, field_id: 1000, name: "b".into(), transform }] }
}

pub(crate) fn metadata(location: &str, version: u8) -> TableMetadata {
    let none = BTreeMap::new();
    new_table(&schema(), &spec(), &SortOrder::default(), location, &none, version, 0).expect("a table can be made")
}

pub(crate) fn filter(text: &str) -> BoundPredicate {
    bind(&parse(text).expect("it parses"), &schema(), true).expect("it binds")
}

fn partition(bucket: usize) -> Arc<Partition> {
    let value = PartitionValue {
        name: "b".into(),
        field_id: 1000,
        source_id: 1,
        transform: Transform::Bucket(16),
        ty: PrimitiveType::Int,
        value: Some(Value::Int(bucket as i32)),
    };
    Arc::new(Partition { spec_id: 0, values: vec![value] })
}

fn metrics(number: usize) -> ColumnMetrics {
    let all = |value: i64| Some((1..=COLUMNS).map(|id| (id, value)).collect());
    let bounds = |value: usize| Some((1..=COLUMNS).map(|id| (id, (value as i64).to_le_bytes().to_vec())).collect());
    ColumnMetrics {
        column_sizes: all(200_000),
        value_counts: all(100_000),
        null_value_counts: all(0),
        nan_value_counts: None,
        lower_bounds: bounds(number * 1_000),
        upper_bounds: bounds(number * 1_000 + 1_500),
    }
}

pub(crate) fn data_file(number: usize) -> DataFile {
    let bucket = number % 16;
    DataFile {
        record_count: 100_000,
        size_bytes: 64_000_000,
        metrics: Some(metrics(number).into()),
        split_offsets: Some(vec![4]),
        sort_order_id: Some(0),
        ..DataFile::new(
            FileContent::Data,
            format!("/warehouse/db/table/data/b={bucket}/{number:05}-5f1c2d9e-3a2b-4c1d-00001.parquet"),
            FileFormat::Parquet,
            partition(bucket),
        )
    }
}

/// A position delete file of one data file, told by its path bounds.
pub(crate) fn position_deletes(number: usize) -> DataFile {
    let of = data_file(number);
    let path = Some(FieldMap::from([(DELETE_FILE_PATH, of.path.clone().into_bytes())]));
    let metrics = ColumnMetrics { lower_bounds: path.clone(), upper_bounds: path, ..ColumnMetrics::default() };
    DataFile {
        content: FileContent::PositionDeletes,
        path: of.path.replace(".parquet", "-deletes.parquet"),
        metrics: Some(metrics.into()),
        split_offsets: None,
        ..of
    }
}

/// An equality delete file on `c2`, with the bounds of the data file of the same number.
pub(crate) fn equality_deletes(number: usize) -> DataFile {
    let of = data_file(number);
    let path = of.path.replace(".parquet", "-equality-deletes.parquet");
    DataFile { content: FileContent::EqualityDeletes, path, equality_ids: Some(vec![2]), ..of }
}

/// A deletion vector of one data file.
pub(crate) fn vector(number: usize) -> DataFile {
    DataFile {
        content: FileContent::PositionDeletes,
        path: format!("/warehouse/db/table/data/vectors-{}.puffin", number / 100),
        format: FileFormat::Puffin,
        metrics: None,
        split_offsets: None,
        referenced_data_file: Some(data_file(number).path),
        content_offset: Some(4 + (number as i64 % 100) * 120),
        content_size_bytes: Some(120),
        ..data_file(number)
    }
}

/// A manifest in deflate, as Java writes by default.
pub(crate) fn manifest(
    files: impl Iterator<Item = DataFile>,
    content: ManifestContent,
    version: u8,
) -> EncodedManifest {
    let entry = |file| ManifestEntry {
        status: ADDED,
        snapshot_id: None,
        sequence_number: None,
        file_sequence_number: None,
        file,
        unknown: None,
    };
    let (schema, spec) = (schema(), spec());
    let codec = AvroCodec::parse("deflate").expect("deflate is known");
    let (format_version, compression_level) = (version, None);
    let header = ManifestHeader { format_version, schema: &schema, spec: &spec, content, codec, compression_level };
    encode_manifest(&files.map(entry).collect::<Vec<_>>(), &header).expect("the manifest can be encoded")
}

/// A table on disk with one data manifest and, if deletes are given, one delete manifest committed after it.
pub(crate) struct Planned {
    /// What a plan starts from.
    pub input: PlanInput,
    _folder: TempDir,
}

pub(crate) fn planned(filter: BoundPredicate, deletes: Option<Vec<DataFile>>) -> Planned {
    let folder = TempDir::new().expect("a temporary folder");
    let root = folder.path().display().to_string();
    let version = if deletes.iter().flatten().any(|d| d.format == FileFormat::Puffin) { 3 } else { 2 };
    let data = manifest((0..ENTRIES).map(data_file), ManifestContent::Data, version);
    let mut list = vec![store(&root, "data", data, ManifestContent::Data, 1)];
    if let Some(deletes) = deletes {
        let deletes = manifest(deletes.into_iter(), ManifestContent::Deletes, version);
        list.push(store(&root, "deletes", deletes, ManifestContent::Deletes, 2));
    }
    let first_row_id = (version == 3).then_some(0);
    let header = ManifestListHeader {
        format_version: version,
        snapshot_id: 2,
        parent_snapshot_id: Some(1),
        sequence_number: 2,
        first_row_id,
    };
    let path = format!("{root}/list.avro");
    let bytes = encode_manifest_list(&list, &header).expect("the manifest list can be encoded");
    std::fs::write(&path, bytes).expect("the list can be written");
    let json = serde_json::json!({
        "snapshot-id": 2, "sequence-number": 2, "timestamp-ms": 0, "manifest-list": path, "schema-id": 0,
        "summary": {"operation": "append"}, "first-row-id": 0, "added-rows": 0,
    });
    let snapshot = Snapshot::from_json(json, version).expect("a snapshot");
    let input = PlanInput {
        store: open_store(&root, &Default::default()).expect("local files"),
        location: Location::recorded(),
        metadata: Arc::new(metadata(&root, version)),
        snapshot: Some(Arc::new(snapshot)),
        schema: Arc::new(schema()),
        filter: Arc::new(filter),
        entries: EntryScope::default(),
        column_metrics: false,
        all_deletes: false,
        cache: None,
        metric_fields: Vec::new(),
        budget: Arc::default(),
    };
    Planned { input, _folder: folder }
}

fn store(root: &str, name: &str, made: EncodedManifest, content: ManifestContent, sequence: i64) -> ManifestFile {
    let path = format!("{root}/{name}.avro");
    std::fs::write(&path, &made.bytes).expect("the manifest can be written");
    ManifestFile {
        path,
        length_bytes: made.bytes.len() as i64,
        spec_id: 0,
        content,
        sequence_number: sequence,
        min_sequence_number: sequence,
        added_snapshot_id: Some(sequence),
        added_files_count: Some(made.added_files_count),
        existing_files_count: Some(0),
        deleted_files_count: Some(0),
        added_rows_count: Some(made.added_rows_count),
        existing_rows_count: Some(0),
        deleted_rows_count: Some(0),
        partitions: made.partitions,
        first_row_id: (content == ManifestContent::Data).then_some(0),
        ..ManifestFile::default()
    }
}
