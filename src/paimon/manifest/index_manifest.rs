//! Index manifests: all index files of a snapshot, including those of its deletion vectors. Each is a complete list,
//! not a list of changes.
//!
//! Source: Paimon specification, "Index Manifest"; Java's `IndexManifestEntry`.

use std::sync::Arc;

use super::entries::ADD;
use super::folder::ManifestFolder;
use crate::codec::avro::{
    Budget, Compiled, Cursor, Member, Node, OpenFile, Optional, RecordStep, Shape, UnknownMembers, UnknownValues,
    compile,
};
use crate::error::{Error, Result};
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::stats_decode::require;

/// The kind of index files that hold hashes of keys.
pub const HASH: &str = "HASH";

/// The kind of index files that hold deletion vectors.
pub const DELETION_VECTORS: &str = "DELETION_VECTORS";

/// An index file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry {
    /// [`super::entries::ADD`] or [`super::entries::DELETE`].
    pub kind: u8,
    /// The partition that it belongs to: a binary row after its number of fields.
    pub partition: Vec<u8>,
    /// The bucket that it belongs to.
    pub bucket: i32,
    /// [`HASH`], [`DELETION_VECTORS`], or the name of a global index.
    pub index_type: String,
    /// Its name.
    pub file_name: String,
    /// Its length.
    pub file_size: i64,
    /// The number of keys or deletion vectors in it.
    pub row_count: i64,
    /// Its deletion vectors; `None` for other kinds.
    pub deletion_vectors: Option<Vec<DeletionVectorRange>>,
    /// Where it is, if not in the folder of index files.
    pub external_path: Option<String>,
    /// Its rows and columns, if it is a global index.
    pub global: Option<GlobalIndex>,
    /// Members of later versions, which are kept when the entry is written again.
    pub unknown: Option<UnknownValues>,
}

impl IndexEntry {
    /// Whether it has deletion vectors, so that rows are deleted by it.
    pub fn hides_rows(&self) -> bool {
        let is_empty = self.deletion_vectors.as_ref().is_some_and(Vec::is_empty);
        self.kind == ADD && self.index_type == DELETION_VECTORS && !is_empty
    }
}

/// A deletion vector in an index file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionVectorRange {
    /// The name of the data file that it deletes rows of.
    pub data_file: String,
    /// Where it begins: at its size, which is stored first.
    pub offset: i64,
    /// Its length as recorded: without size and checksum for vectors of 32 bits, with both for those of 64.
    pub length: i64,
    /// Rows that it deletes, where recorded.
    pub cardinality: Option<i64>,
}

/// The rows and columns of a global index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobalIndex {
    /// The first row id.
    pub first_row_id: i64,
    /// The last row id.
    pub last_row_id: i64,
    /// The indexed column.
    pub field_id: i32,
    /// Other indexed columns.
    pub extra_field_ids: Option<Vec<i32>>,
    /// The index's own metadata, opaque.
    pub meta: Option<Vec<u8>>,
    /// What the index was made of, opaque. Older tables do not have it.
    pub source_meta: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexColumn {
    Kind,
    Partition,
    Bucket,
    IndexType,
    FileName,
    FileSize,
    RowCount,
    Ranges,
    ExternalPath,
    Global,
}

const COLUMNS: &[(i32, &str, IndexColumn)] = &[
    (0, "_KIND", IndexColumn::Kind),
    (0, "_PARTITION", IndexColumn::Partition),
    (0, "_BUCKET", IndexColumn::Bucket),
    (0, "_INDEX_TYPE", IndexColumn::IndexType),
    (0, "_FILE_NAME", IndexColumn::FileName),
    (0, "_FILE_SIZE", IndexColumn::FileSize),
    (0, "_ROW_COUNT", IndexColumn::RowCount),
    (0, "_DELETIONS_VECTORS_RANGES", IndexColumn::Ranges),
    (0, "_EXTERNAL_PATH", IndexColumn::ExternalPath),
    (0, "_GLOBAL_INDEX", IndexColumn::Global),
];

/// The number of columns that reading requires. They come first in the table.
const REQUIRED: usize = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeColumn {
    DataFile,
    Offset,
    Length,
    Cardinality,
}

const RANGE_COLUMNS: &[(i32, &str, RangeColumn)] = &[
    (0, "f0", RangeColumn::DataFile),
    (0, "f1", RangeColumn::Offset),
    (0, "f2", RangeColumn::Length),
    (0, "_CARDINALITY", RangeColumn::Cardinality),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum GlobalColumn {
    First,
    Last,
    FieldId,
    ExtraFieldIds,
    Meta,
    SourceMeta,
}

const GLOBAL_COLUMNS: &[(i32, &str, GlobalColumn)] = &[
    (0, "_ROW_RANGE_START", GlobalColumn::First),
    (0, "_ROW_RANGE_END", GlobalColumn::Last),
    (0, "_INDEX_FIELD_ID", GlobalColumn::FieldId),
    (0, "_EXTRA_FIELD_IDS", GlobalColumn::ExtraFieldIds),
    (0, "_INDEX_META", GlobalColumn::Meta),
    (0, "_SOURCE_META", GlobalColumn::SourceMeta),
];

/// Reads a snapshot's index manifest by its name.
///
/// # Errors
/// Those of the store; as [`decode_index_manifest`], naming the manifest.
pub fn read_index_manifest(from: ManifestFolder<'_>, name: &str) -> Result<Vec<IndexEntry>> {
    from.read("index manifest", name, |file| decode_index_manifest(file))
}

/// Reads an index manifest: its entries in order.
///
/// # Errors
/// `CorruptTable` if the file is not an index manifest.
pub fn decode_index_manifest<B: AsRef<[u8]>>(file: &OpenFile<B>) -> Result<Vec<IndexEntry>> {
    let head = file.head()?;
    let schema = head.schema_json()?;
    let layout = LAYOUTS.get(schema.len(), |l| l.schema == schema, || IndexLayout::new(schema))?;
    file.decode_records(|cursor| layout.entry(cursor))
}

/// The hashes of keys that an index file of kind [`HASH`] holds.
///
/// # Errors
/// `CorruptTable` if the bytes are not whole hashes.
pub fn decode_hashes(bytes: &[u8]) -> Result<Vec<i32>> {
    match bytes.as_chunks::<4>() {
        (hashes, []) => Ok(hashes.iter().map(|h| i32::from_be_bytes(*h)).collect()),
        _ => Err(Error::corrupt(format!(
            "a hash index has {} bytes, which is not a whole number of hashes",
            bytes.len()
        ))),
    }
}

static LAYOUTS: Compiled<IndexLayout> = Compiled::new();

struct IndexLayout {
    schema: String,
    /// The prefix of each entry.
    record: Optional,
    steps: Vec<RecordStep<IndexColumn>>,
    /// Whether items of the list of ranges may be null.
    range: Optional,
    ranges: Vec<RecordStep<RangeColumn>>,
    global: Vec<RecordStep<GlobalColumn>>,
    /// Whether items of the list of field ids may be null.
    field_id: Optional,
    /// Members of later versions.
    unknown: Arc<UnknownMembers>,
    /// Whether each step reads one of them.
    is_unknown: Vec<bool>,
}

impl IndexLayout {
    fn new(schema_json: &str) -> Result<IndexLayout> {
        let schema = Node::parse(schema_json)?;
        let not_records = || Error::corrupt("the index manifest's schema is not a record");
        let (record, members) = schema.records().ok_or_else(not_records)?;
        let mut budget = Budget::default();
        let steps = compile(members, COLUMNS, &mut budget, |column, node| match column {
            IndexColumn::Partition | IndexColumn::IndexType | IndexColumn::FileName | IndexColumn::ExternalPath => {
                node.is_prefixed()
            }
            IndexColumn::Ranges => {
                matches!(&node.shape, Shape::Array(items) if items.min_bytes > 0 && items.optional().1.members().is_some())
            }
            IndexColumn::Global => node.members().is_some(),
            _ => node.is_integer(),
        })?;
        require(&steps, COLUMNS.get(..REQUIRED).unwrap_or_default(), "index manifest")?;
        let node_of = |column| members.iter().find(|m| m.pick(COLUMNS) == Some(column)).map(|m| m.node.optional().1);
        let (mut range, mut ranges, mut global, mut field_id) =
            (Optional::Always, Vec::new(), Vec::new(), Optional::Always);
        if let Some(Shape::Array(items)) = node_of(IndexColumn::Ranges).map(|n| &n.shape) {
            let (optional, item) = items.optional();
            range = optional;
            let members = item.members().unwrap_or_default();
            ranges = compile(members, RANGE_COLUMNS, &mut budget, |column, node| match column {
                RangeColumn::DataFile => node.is_prefixed(),
                _ => node.is_integer(),
            })?;
            require(&ranges, RANGE_COLUMNS.get(..3).unwrap_or_default(), "index manifest")?;
        }
        if let Some(members) = node_of(IndexColumn::Global).and_then(Node::members) {
            global = compile(members, GLOBAL_COLUMNS, &mut budget, |column, node| match (column, &node.shape) {
                (GlobalColumn::Meta | GlobalColumn::SourceMeta, _) => node.is_prefixed(),
                (GlobalColumn::ExtraFieldIds, Shape::Array(items)) => {
                    field_id = items.optional().0;
                    items.optional().1.is_integer()
                }
                (GlobalColumn::ExtraFieldIds, _) => false,
                _ => node.is_integer(),
            })?;
        }
        let is_known = |m: &Member, _| m.name == "_VERSION" || m.pick(COLUMNS).is_some();
        let unknown = Arc::new(UnknownMembers::of(schema_json, None, is_known)?);
        let is_unknown = members.iter().map(|m| !is_known(m, false)).collect();
        let schema = schema_json.to_owned();
        Ok(IndexLayout { schema, record, steps, range, ranges, global, field_id, unknown, is_unknown })
    }

    fn entry(&self, cursor: &mut Cursor<'_>) -> Result<IndexEntry> {
        cursor.begin_record(self.record)?;
        let (mut out, mut unknown) = (IndexEntry::default(), Vec::new());
        for (step, is_unknown) in self.steps.iter().zip(&self.is_unknown) {
            let before = cursor.rest();
            let Some(column) = step.wanted(cursor)? else {
                if *is_unknown {
                    unknown.extend_from_slice(before.get(..before.len() - cursor.rest().len()).unwrap_or_default());
                }
                continue;
            };
            match column {
                IndexColumn::Kind => {
                    let kind = cursor.long()?;
                    out.kind = u8::try_from(kind)
                        .ok()
                        .filter(|k| *k < 2)
                        .ok_or_else(|| Error::corrupt(format!("an entry of the index manifest is of kind {kind}")))?;
                }
                IndexColumn::Partition => out.partition = cursor.bytes()?.to_vec(),
                IndexColumn::Bucket => out.bucket = cursor.int()?,
                IndexColumn::IndexType => cursor.string()?.clone_into(&mut out.index_type),
                IndexColumn::FileName => checked_name(cursor.string()?)?.clone_into(&mut out.file_name),
                IndexColumn::FileSize => out.file_size = cursor.long()?,
                IndexColumn::RowCount => out.row_count = cursor.long()?,
                IndexColumn::ExternalPath => out.external_path = Some(cursor.string()?.to_owned()),
                IndexColumn::Ranges => out.deletion_vectors = Some(self.read_ranges(cursor)?),
                IndexColumn::Global => out.global = Some(self.read_global(cursor)?),
            }
        }
        if !self.unknown.is_empty() {
            out.unknown = Some(UnknownValues::new(&self.unknown, &unknown));
        }
        if out.index_type == DELETION_VECTORS && out.deletion_vectors.is_none() {
            // Without vectors, deleted rows would be visible again.
            return Err(Error::corrupt(format!(
                "the index manifest does not record where the deletion vectors of {} are",
                out.file_name
            )));
        }
        Ok(out)
    }

    fn read_ranges(&self, cursor: &mut Cursor<'_>) -> Result<Vec<DeletionVectorRange>> {
        let mut out = Vec::new();
        while let Some(run) = cursor.run()? {
            let before = cursor.rest().len();
            for _ in 0..run.count {
                if !cursor.present(self.range)? {
                    continue;
                }
                let mut range = DeletionVectorRange::default();
                for step in &self.ranges {
                    match step.wanted(cursor)? {
                        None => {}
                        Some(RangeColumn::DataFile) => cursor.string()?.clone_into(&mut range.data_file),
                        Some(RangeColumn::Offset) => range.offset = cursor.long()?,
                        Some(RangeColumn::Length) => range.length = cursor.long()?,
                        Some(RangeColumn::Cardinality) => range.cardinality = Some(cursor.long()?),
                    }
                }
                if range.offset < 0 || range.length < 0 {
                    return Err(
                        Error::corrupt("a deletion vector begins before its file").with("file", range.data_file)
                    );
                }
                out.push(range);
            }
            run.check(before, cursor)?;
        }
        Ok(out)
    }

    fn read_global(&self, cursor: &mut Cursor<'_>) -> Result<GlobalIndex> {
        let mut out = GlobalIndex::default();
        for step in &self.global {
            match step.wanted(cursor)? {
                None => {}
                Some(GlobalColumn::First) => out.first_row_id = cursor.long()?,
                Some(GlobalColumn::Last) => out.last_row_id = cursor.long()?,
                Some(GlobalColumn::FieldId) => out.field_id = cursor.int()?,
                Some(GlobalColumn::Meta) => out.meta = Some(cursor.bytes()?.to_vec()),
                Some(GlobalColumn::SourceMeta) => out.source_meta = Some(cursor.bytes()?.to_vec()),
                Some(GlobalColumn::ExtraFieldIds) => {
                    let ids = out.extra_field_ids.insert(Vec::new());
                    while let Some(run) = cursor.run()? {
                        let before = cursor.rest().len();
                        for _ in 0..run.count {
                            if cursor.present(self.field_id)? {
                                ids.push(cursor.int()?);
                            }
                        }
                        run.check(before, cursor)?;
                    }
                }
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
#[path = "index_manifest_tests.rs"]
mod tests;
