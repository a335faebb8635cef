//! The results of planning and the input of reading: files, tasks, splits, and the files that a writer made. All of
//! them can be serialised and sent to other processes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::error::Result;
use crate::expr::BoundPredicate;
use crate::store::Location;
use crate::types::{FieldId, PrimitiveType, Schema, Transform, Value};

/// The contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileContent {
    /// Rows of the table.
    Data,
    /// Positions of deleted rows (a position delete file, or a deletion vector if it is Puffin).
    PositionDeletes,
    /// Key values of deleted rows.
    EqualityDeletes,
}

/// How a file is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FileFormat {
    Parquet,
    Avro,
    Orc,
    Puffin,
    /// The values of one column of type BLOB.
    Blob,
}

impl FileFormat {
    const ALL: [FileFormat; 5] =
        [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc, FileFormat::Puffin, FileFormat::Blob];

    /// Reads a name in any case.
    pub fn parse(text: &str) -> Option<FileFormat> {
        FileFormat::ALL.into_iter().find(|f| f.as_str().eq_ignore_ascii_case(text))
    }

    /// Reads the name of a format whose files have rows of any columns, in any case.
    pub fn parse_rows(text: &str) -> Option<FileFormat> {
        FileFormat::parse(text).filter(|f| !matches!(f, FileFormat::Puffin | FileFormat::Blob))
    }

    /// The name in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            FileFormat::Parquet => "parquet",
            FileFormat::Avro => "avro",
            FileFormat::Orc => "orc",
            FileFormat::Puffin => "puffin",
            FileFormat::Blob => "blob",
        }
    }
}

/// One field of a file's partition tuple.
#[derive(Clone, Debug)]
pub struct PartitionValue {
    /// The partition field's name.
    pub name: String,
    /// The partition field's id (1000 and above).
    pub field_id: FieldId,
    /// The column it comes from.
    pub source_id: FieldId,
    /// The transform.
    pub transform: Transform,
    /// The type of the value.
    pub ty: PrimitiveType,
    /// The value, or null.
    pub value: Option<Value>,
}

impl PartialEq for PartitionValue {
    /// NaN equals NaN: a tuple equals itself.
    fn eq(&self, other: &PartitionValue) -> bool {
        let nan = |v: &Option<Value>| match v {
            Some(Value::Float(v)) => v.is_nan(),
            Some(Value::Double(v)) => v.is_nan(),
            _ => false,
        };
        (&self.name, self.field_id, self.source_id) == (&other.name, other.field_id, other.source_id)
            && (&self.transform, &self.ty) == (&other.transform, &other.ty)
            && (self.value == other.value || nan(&self.value) && nan(&other.value))
    }
}

/// A file's partition tuple with the spec it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The spec's id.
    pub spec_id: i32,
    /// In the order of the spec.
    pub values: Vec<PartitionValue>,
}

impl Partition {
    /// `day=2023-01-01/bucket=3`, values URL-encoded as in paths; empty if unpartitioned.
    pub fn path(&self) -> String {
        let part = |v: &PartitionValue| {
            let text = crate::types::transform::format_partition_value(
                v.value.as_ref().map(Value::as_ref),
                &v.transform,
                &v.ty,
            );
            format!("{}={}", form_encode(&v.name), form_encode(&text))
        };
        self.values.iter().map(part).collect::<Vec<_>>().join("/")
    }
}

/// As `java.net.URLEncoder` with UTF-8, which Java Iceberg uses for partition paths.
fn form_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for b in text.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(b as char),
            b' ' => out.push('+'),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

/// A map from columns to values, in the recorded order.
pub type FieldMap<T> = IndexMap<FieldId, T>;

/// Column metrics of a file by field id; bounds in their binary form (specification, Appendix D).
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct ColumnMetrics {
    pub column_sizes: Option<FieldMap<i64>>,
    pub value_counts: Option<FieldMap<i64>>,
    pub null_value_counts: Option<FieldMap<i64>>,
    pub nan_value_counts: Option<FieldMap<i64>>,
    pub lower_bounds: Option<FieldMap<Vec<u8>>>,
    pub upper_bounds: Option<FieldMap<Vec<u8>>>,
}

impl ColumnMetrics {
    /// Only the metrics of some columns.
    pub fn retain(&mut self, wanted: impl Fn(FieldId) -> bool) {
        let counts =
            [&mut self.column_sizes, &mut self.value_counts, &mut self.null_value_counts, &mut self.nan_value_counts];
        for map in counts.into_iter().flatten() {
            map.retain(|id, _| wanted(*id));
        }
        for map in [&mut self.lower_bounds, &mut self.upper_bounds].into_iter().flatten() {
            map.retain(|id, _| wanted(*id));
        }
    }
}

/// Column metrics of a file: decoded, or still encoded as in the manifest and decoded on first use.
#[derive(Clone)]
pub struct FileMetrics {
    known: OnceLock<Box<ColumnMetrics>>,
    encoded: Option<EncodedMetrics>,
}

type EncodedMetrics = (Box<[u8]>, Arc<dyn DecodeMetrics>);

/// Decodes the column metrics of a manifest's entry.
pub trait DecodeMetrics: Send + Sync {
    /// Decodes the bytes that [`FileMetrics::encoded`] was given.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not column metrics.
    fn decode_metrics(&self, bytes: &[u8]) -> Result<ColumnMetrics>;
}

impl FileMetrics {
    /// Metrics that are decoded on first use.
    pub fn encoded(bytes: &[u8], decoder: Arc<dyn DecodeMetrics>) -> FileMetrics {
        FileMetrics { known: OnceLock::new(), encoded: Some((bytes.into(), decoder)) }
    }

    /// The metrics.
    ///
    /// # Errors
    /// `CorruptTable` if the manifest's bytes are not column metrics.
    pub fn get(&self) -> Result<&ColumnMetrics> {
        if let (None, Some((bytes, decoder))) = (self.known.get(), &self.encoded) {
            let decoded = Box::new(decoder.decode_metrics(bytes)?);
            return Ok(self.known.get_or_init(|| decoded));
        }
        Ok(self.known.get_or_init(Box::default))
    }

    /// The metrics for one use. If they have to be decoded, the result is not kept.
    ///
    /// # Errors
    /// As [`FileMetrics::get`].
    pub fn for_once(&self) -> Result<Cow<'_, ColumnMetrics>> {
        match (self.known.get(), &self.encoded) {
            (None, Some((bytes, decoder))) => decoder.decode_metrics(bytes).map(Cow::Owned),
            _ => self.get().map(Cow::Borrowed),
        }
    }
}

impl From<ColumnMetrics> for FileMetrics {
    fn from(metrics: ColumnMetrics) -> FileMetrics {
        FileMetrics { known: OnceLock::from(Box::new(metrics)), encoded: None }
    }
}

impl PartialEq for FileMetrics {
    fn eq(&self, other: &FileMetrics) -> bool {
        matches!((self.get(), other.get()), (Ok(a), Ok(b)) if a == b)
    }
}

impl std::fmt::Debug for FileMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().ok().fmt(f)
    }
}

/// A data or delete file of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// The contents of the file.
    pub content: FileContent,
    /// Where it is, as recorded.
    pub path: String,
    /// How it is encoded.
    pub format: FileFormat,
    /// Its partition tuple.
    pub partition: Arc<Partition>,
    /// Rows in it (for a deletion vector: positions).
    pub record_count: i64,
    /// Its length.
    pub size_bytes: i64,
    /// Data sequence number: its logical age. `None` only before the commit that adds it.
    pub sequence_number: Option<i64>,
    /// Sequence number of the commit that added it.
    pub file_sequence_number: Option<i64>,
    /// The snapshot that added it.
    pub snapshot_id: Option<i64>,
    /// Column metrics, if requested.
    pub metrics: Option<FileMetrics>,
    /// Encryption key metadata, opaque.
    pub key_metadata: Option<Vec<u8>>,
    /// Where it may be split, ascending.
    pub split_offsets: Option<Vec<i64>>,
    /// Key columns of an equality delete file.
    pub equality_ids: Option<Vec<FieldId>>,
    /// The sort order of its rows.
    pub sort_order_id: Option<i32>,
    /// Row id of its first row (v3).
    pub first_row_id: Option<i64>,
    /// The only data file that a position delete file or deletion vector refers to.
    pub referenced_data_file: Option<String>,
    /// Where a deletion vector begins in its Puffin file.
    pub content_offset: Option<i64>,
    /// The length of a deletion vector in its Puffin file.
    pub content_size_bytes: Option<i64>,
    /// The file's place in its bucket, in tables with buckets.
    pub bucket_file: Option<Box<BucketFile>>,
}

/// A data file's place in its bucket (Paimon specification, "Data file metadata").
#[derive(Clone, Debug, PartialEq)]
pub struct BucketFile {
    /// The bucket; 0 in a table without buckets, -2 if the rows have no bucket yet.
    pub bucket: i32,
    /// Buckets of the partition when it was written.
    pub total_buckets: i32,
    /// The level in the bucket's tree of sorted runs; files of level 0 may overlap each other.
    pub level: i32,
    /// The schema that it was written with. Its columns are found by the names in that schema.
    pub schema_id: i64,
    /// Its least key, a binary row of the primary key without partition columns; empty in tables without keys.
    pub min_key: Vec<u8>,
    /// Its greatest key.
    pub max_key: Vec<u8>,
    /// The least sequence number of its rows.
    pub min_sequence_number: i64,
    /// The greatest sequence number of its rows.
    pub max_sequence_number: i64,
    /// How many of its rows are deletes; `None` if that was not recorded.
    pub delete_row_count: Option<i64>,
    /// Its columns, if it does not have all columns of its schema.
    pub write_columns: Option<Vec<String>>,
}

/// Statistics of rows as Paimon records them. `min` and `max` are binary rows of the least and greatest values, each
/// after its number of fields. `null_counts` has the nulls of each column, `None` where they were not counted. Without
/// columns, both rows have no fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RowStats {
    pub min: Vec<u8>,
    pub max: Vec<u8>,
    pub null_counts: Vec<Option<i64>>,
}

/// Who made a data file of a table with buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileSource {
    /// A writer of rows.
    Append,
    /// A compaction.
    Compact,
}

/// A new data or changelog file of a table with buckets, with everything that a commit records about it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBucketFile {
    /// The file, with [`DataFile::bucket_file`]. Its path is in the folder of its bucket, unless it is `external`.
    pub file: DataFile,
    /// Statistics of the key columns. In tables without primary key they have no columns.
    pub key_stats: RowStats,
    /// Statistics of the columns in `value_stats_cols`, or of all columns of the file if that is `None`.
    pub value_stats: RowStats,
    /// The columns with statistics, if not all of the file.
    pub value_stats_cols: Option<Vec<String>>,
    /// Names of extra files in its folder: file indexes that are not embedded.
    pub extra_files: Vec<String>,
    /// A small file index, embedded in the manifest.
    pub embedded_index: Option<Vec<u8>>,
    /// When it was made: milliseconds from the epoch to the writer's local time, in its own time zone.
    pub creation_time_ms: i64,
    /// Who made it.
    pub source: FileSource,
    /// Whether the file is outside the table, so that its full path is recorded.
    pub external: bool,
}

impl DataFile {
    /// A file about which nothing else is known yet: without rows, bytes or commit.
    pub fn new(
        content: FileContent,
        path: impl Into<String>,
        format: FileFormat,
        partition: Arc<Partition>,
    ) -> DataFile {
        DataFile {
            content,
            path: path.into(),
            format,
            partition,
            record_count: 0,
            size_bytes: 0,
            sequence_number: None,
            file_sequence_number: None,
            snapshot_id: None,
            metrics: None,
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_bytes: None,
            bucket_file: None,
        }
    }
}

/// A delete file to apply to a task's data file. Deletion vectors are identified by path, offset and length.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteRef {
    /// The delete file.
    pub file: Arc<DataFile>,
}

/// One range of one data file to read.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanTask {
    /// The file.
    pub data_file: Arc<DataFile>,
    /// First byte of the range.
    pub start: i64,
    /// Bytes of the range.
    pub length: i64,
    /// Deletes that apply.
    pub deletes: Vec<DeleteRef>,
    /// The rest of the scan's filter on this file: `True` if the file's partition satisfies the filter.
    pub residual: Arc<BoundPredicate>,
    /// The change that this task shows, if the scan is a changelog.
    pub change: Option<Box<TaskChange>>,
    /// Files that have to be read together, this one (the first of them) included: their rows are merged by key.
    pub merge: Option<Arc<MergeSection>>,
}

/// Data files of one bucket whose keys overlap: one of the rows with the same key remains. In a table without key:
/// files with different columns of the same rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeSection {
    /// Sorted runs: the files of one follow each other by key and don't overlap. Each file is a task of its own,
    /// without section. In a table without key each run is one file.
    pub runs: Vec<Vec<ScanTask>>,
    /// For the difference of two states: the sorted runs of the state before. The rows are those of `runs` that are
    /// not among them.
    pub before: Option<Vec<Vec<ScanTask>>>,
}

/// Whether a commit added rows or removed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum ChangeOperation {
    Insert,
    Delete,
}

impl ChangeOperation {
    /// `insert` or `delete`.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeOperation::Insert => "insert",
            ChangeOperation::Delete => "delete",
        }
    }

    /// Reads the text that [`ChangeOperation::as_str`] returns.
    pub fn parse(text: &str) -> Option<ChangeOperation> {
        [ChangeOperation::Insert, ChangeOperation::Delete].into_iter().find(|o| o.as_str() == text)
    }
}

/// The change that a commit made to the rows of a task: to all rows that its deletes leave, or to some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskChange {
    /// Added or removed.
    pub operation: ChangeOperation,
    /// The commit's place among those of the changelog, from 0.
    pub ordinal: i32,
    /// The commit.
    pub commit_snapshot_id: i64,
    /// Set if the file was in the table before and after the commit. Then only rows that these deletes remove count.
    /// For a `delete`, these are the deletes after the commit, and the task has those before it. For an `insert`, it
    /// is the reverse.
    pub removed_by: Option<Vec<DeleteRef>>,
    /// Set where rows keep their ids (v3). It has all changes of the commit, to distinguish rows that it only moved
    /// from rows that it changed.
    pub commit: Option<Arc<CommitChanges>>,
}

/// All changes of a commit, regardless of the scan's filter.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitChanges {
    /// The commit's sequence number.
    pub sequence_number: i64,
    /// The first row id that the commit assigned. Rows with lower ids existed before.
    pub first_row_id: i64,
    /// Tasks without filter. Each has its own change, without this member.
    pub tasks: Vec<ScanTask>,
}

/// The data that all tasks of a scan share to read their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadContext {
    /// The schema of the rows, with the metadata columns that the filter or the projection names.
    pub schema: Arc<Schema>,
    /// The selected columns, in the order of the result. Structs have only the selected fields.
    pub projection: Arc<Schema>,
    /// Columns that `schema` lacks and another schema of the table has. Each is in a schema of its own. Equality
    /// deletes may use them as keys.
    pub dropped: Arc<[Schema]>,
    /// In a changelog: the filter on the columns that describe the change of a row.
    pub change_filter: Arc<BoundPredicate>,
    /// The snapshot that is read, for errors to name.
    pub snapshot_id: Option<i64>,
    /// How recorded paths map to real locations.
    pub location: Location,
    /// Credentials and settings of the store.
    pub storage_options: BTreeMap<String, String>,
    /// Property `schema.name-mapping.default`.
    pub name_mapping: Option<String>,
    /// Whether deleted rows stay in the result. The metadata column `_deleted` marks them.
    pub keep_deleted: bool,
    /// Most rows in a batch.
    pub batch_rows: usize,
    /// The additional data for readers of files in buckets. `None` for other tables.
    pub buckets: Option<Arc<BucketContext>>,
}

/// How the files of a table with buckets are read: with the schema of each file, and merged by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketContext {
    /// The table's schemas by id. A file has the schema that it was written with.
    pub schemas: BTreeMap<i64, Arc<Schema>>,
    /// Declared types by schema and column, if they are more precise than those in `schemas` (`TINYINT`, `CHAR(3)`,
    /// `TIMESTAMP(3)`). Casts of columns whose type was changed use them. Other columns may be missing.
    pub declared: BTreeMap<i64, Arc<BTreeMap<FieldId, String>>>,
    /// The columns that files are sorted by and rows merged by: the primary key without partition columns. Empty in
    /// tables without one.
    pub key: Vec<FieldId>,
    /// The table's options, overridden by those of the scan. They define how rows with the same key become one.
    pub options: BTreeMap<String, String>,
}

/// Tasks for one reader, with everything that it needs. It can be pickled for an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Shared by the splits of a scan.
    pub context: Arc<ReadContext>,
    /// Bin-packed.
    pub tasks: Vec<ScanTask>,
}

/// The files that one writer made, to be committed with others. Executors send it to the driver.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitMessage {
    /// The table they belong to.
    pub table_uuid: String,
    /// New data and delete files; sequence numbers and snapshot ids unset.
    pub files: Vec<DataFile>,
    /// The conditions for committing the files, if some are deletes.
    pub delta: Option<RowDelta>,
    /// The format version of the table from which the rows come. It is set if they replace rows of the table. From
    /// version 3 on such rows have their lineage as columns.
    pub rewrites: Option<u8>,
    /// When they were written. No earlier commit contains them.
    pub written_at: Option<WrittenAt>,
    /// The additional data for a commit of files in buckets. Empty for other tables.
    pub buckets: BucketMessage,
}

/// The part of a commit message that only tables with buckets have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketMessage {
    /// The message's data files, with everything that a commit records about them.
    pub added: Vec<NewBucketFile>,
    /// Files of the changelog.
    pub changelog: Vec<NewBucketFile>,
    /// The keys that the writer assigned to buckets.
    pub hashes: Vec<BucketHashes>,
    /// Whether the rows replace others. The writer then ignored the rows that the table had.
    pub replaces: bool,
    /// Rows that the commit names in deletion vectors.
    pub deleted: Vec<DeletedPositions>,
}

/// Rows of a data file that are deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletedPositions {
    /// The file.
    pub file: DataFile,
    /// Their positions, as a blob of type `deletion-vector-v1`.
    pub positions: Vec<u8>,
}

/// The keys that a writer assigned to a bucket, in tables with dynamic buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketHashes {
    /// The partition: a binary row after its number of fields.
    pub partition: Vec<u8>,
    /// The bucket.
    pub bucket: i32,
    /// Hashes of the keys.
    pub hashes: Vec<i32>,
}

impl CommitMessage {
    /// Files that rely on nothing.
    pub fn new(table_uuid: impl Into<String>, files: Vec<DataFile>, written_at: Option<WrittenAt>) -> CommitMessage {
        CommitMessage {
            table_uuid: table_uuid.into(),
            files,
            delta: None,
            rewrites: None,
            written_at,
            buckets: BucketMessage::default(),
        }
    }
}

/// When files were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenAt {
    /// The last sequence number of the table's version that the writer knew; 0 in format version 1.
    pub sequence_number: i64,
    /// The time by the writer's clock, milliseconds since the epoch.
    pub time_ms: i64,
}

/// The conditions for committing deletes of rows, and the files that they replace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowDelta {
    /// The snapshot that the writer read; `None` for an empty table.
    pub since: Option<i64>,
    /// Files that the commit removes: data files without remaining rows, and delete files that new ones replace.
    pub removed: Vec<DataFile>,
    /// Data files that position deletes refer to. They must still exist in the table.
    pub referenced: Vec<String>,
    /// Specs whose data files the equality deletes apply to. `None` means all specs, or no equality deletes.
    pub specs: Option<Vec<i32>>,
    /// The number of rows that a part touched, if it belongs to a change that relies on all that the parts read.
    pub part: Option<PartRows>,
}

/// The number of rows that a part of a change touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartRows {
    /// Rows that were replaced.
    pub updated: u64,
    /// Rows that were deleted.
    pub deleted: u64,
    /// Rows that were inserted.
    pub inserted: u64,
}
