//! Manifest lists: one entry for each manifest of a snapshot, with the counts and summaries that let planning skip it.
//!
//! Source: Iceberg specification, "Manifest Lists".

use std::sync::Arc;

use serde::ser::SerializeTupleStruct;
use serde::{Serialize, Serializer};

use crate::codec::avro::declare::{self, Zones};
use crate::codec::avro::{
    AvroBytes, AvroCodec, AvroItems, Budget, Compiled, ContainerWriter, Cursor, ExtendedSchema, Node, OpenFile,
    RecordEncoder, RecordStep, Shape, UnknownMembers, UnknownValues, compile,
};
use crate::error::{Error, Result, ResultExt};
use crate::iceberg::manifest::avro::manifest_list_schema;

/// The kind of files in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ManifestContent {
    /// Data files.
    #[default]
    Data,
    /// Delete files and deletion vectors.
    Deletes,
}

/// The values of one partition field in a manifest's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSummary {
    /// At least one file has a null.
    pub contains_null: bool,
    /// At least one file has a NaN; `None` if unknown.
    pub contains_nan: Option<bool>,
    /// The least value that is neither null nor NaN, in binary form (Appendix D).
    pub lower: Option<Vec<u8>>,
    /// The greatest value that is neither null nor NaN, in binary form.
    pub upper: Option<Vec<u8>>,
}

/// One manifest of a snapshot. A count of `None` is unknown, which means "maybe some".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestFile {
    /// Its path, as recorded.
    pub path: String,
    /// Its length in bytes.
    pub length_bytes: i64,
    /// The partition spec of its files.
    pub spec_id: i32,
    /// The kind of its files; data in v1.
    pub content: ManifestContent,
    /// The sequence number of the commit that added it; 0 in v1.
    pub sequence_number: i64,
    /// The lowest data sequence number of its live files; 0 in v1.
    pub min_sequence_number: i64,
    /// The snapshot that added it.
    pub added_snapshot_id: Option<i64>,
    /// Entries of status ADDED.
    pub added_files_count: Option<i64>,
    /// Entries of status EXISTING.
    pub existing_files_count: Option<i64>,
    /// Entries of status DELETED.
    pub deleted_files_count: Option<i64>,
    /// Rows of the files of status ADDED.
    pub added_rows_count: Option<i64>,
    /// Rows of the files of status EXISTING.
    pub existing_rows_count: Option<i64>,
    /// Rows of the files of status DELETED.
    pub deleted_rows_count: Option<i64>,
    /// One for each field of the spec.
    pub partitions: Option<Vec<FieldSummary>>,
    /// Encryption key metadata, opaque.
    pub key_metadata: Option<Vec<u8>>,
    /// The first row id for its files without row ids (v3).
    pub first_row_id: Option<i64>,
    /// Members that only later versions know. They are kept when the list is written again.
    pub unknown: Option<UnknownValues>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListField {
    Path,
    Length,
    SpecId,
    Content,
    SequenceNumber,
    MinSequenceNumber,
    SnapshotId,
    AddedFiles,
    ExistingFiles,
    DeletedFiles,
    AddedRows,
    ExistingRows,
    DeletedRows,
    Partitions,
    KeyMetadata,
    FirstRowId,
}

/// Columns by field id, or by name in files without ids. The counts had other names in old files.
const COLUMNS: &[(i32, &str, ListField)] = &[
    (500, "manifest_path", ListField::Path),
    (501, "manifest_length", ListField::Length),
    (502, "partition_spec_id", ListField::SpecId),
    (517, "content", ListField::Content),
    (515, "sequence_number", ListField::SequenceNumber),
    (516, "min_sequence_number", ListField::MinSequenceNumber),
    (503, "added_snapshot_id", ListField::SnapshotId),
    (504, "added_files_count", ListField::AddedFiles),
    (504, "added_data_files_count", ListField::AddedFiles),
    (505, "existing_files_count", ListField::ExistingFiles),
    (505, "existing_data_files_count", ListField::ExistingFiles),
    (506, "deleted_files_count", ListField::DeletedFiles),
    (506, "deleted_data_files_count", ListField::DeletedFiles),
    (512, "added_rows_count", ListField::AddedRows),
    (513, "existing_rows_count", ListField::ExistingRows),
    (514, "deleted_rows_count", ListField::DeletedRows),
    (507, "partitions", ListField::Partitions),
    (519, "key_metadata", ListField::KeyMetadata),
    (520, "first_row_id", ListField::FirstRowId),
];

#[derive(Clone, Copy)]
enum SummaryColumn {
    ContainsNull,
    ContainsNan,
    Lower,
    Upper,
}

const SUMMARY_COLUMNS: &[(i32, &str, SummaryColumn)] = &[
    (509, "contains_null", SummaryColumn::ContainsNull),
    (518, "contains_nan", SummaryColumn::ContainsNan),
    (510, "lower_bound", SummaryColumn::Lower),
    (511, "upper_bound", SummaryColumn::Upper),
];

/// Reads a manifest list of any format version.
///
/// Columns are found by field id. Values that an older version lacks become `None`; content becomes data and sequence
/// numbers 0.
///
/// # Errors
/// `CorruptTable` if the bytes are not a manifest list, or a required value is missing or impossible; `Unsupported` for
/// an unknown codec.
pub fn decode_manifest_list(bytes: &[u8]) -> Result<Vec<ManifestFile>> {
    let file = OpenFile::parse(bytes)?;
    let head = file.head()?;
    let schema = head.schema_json()?;
    let layout = LAYOUTS.get(schema.len(), |l| l.schema == schema, || ListLayout::new(schema))?;
    file.decode_records(|cursor| layout.manifest(cursor))
}

static LAYOUTS: Compiled<ListLayout> = Compiled::new();

struct ListLayout {
    schema: String,
    steps: Vec<RecordStep<ListField>>,
    summary: Vec<RecordStep<SummaryColumn>>,
    /// Members that only later versions know.
    unknown: Arc<UnknownMembers>,
}

impl ListLayout {
    fn new(schema_json: &str) -> Result<ListLayout> {
        let schema = Node::parse(schema_json)?;
        let members = schema.members().ok_or_else(|| Error::corrupt("the manifest list's schema is not a record"))?;
        let (mut summary, mut budget) = (Vec::new(), Budget::default());
        for m in members {
            if m.pick(COLUMNS) == Some(ListField::Partitions)
                && let Shape::Array(items) = &m.node.optional().1.shape
                && let Some(members) = items.members()
            {
                if items.min_bytes == 0 {
                    // Records without fields take no bytes, so their number would be unlimited.
                    return Err(Error::corrupt("the partition summaries of the manifest list have no fields"));
                }
                summary = compile(members, SUMMARY_COLUMNS, &mut budget, |column, node| match column {
                    SummaryColumn::ContainsNull | SummaryColumn::ContainsNan => node.shape == Shape::Boolean,
                    SummaryColumn::Lower | SummaryColumn::Upper => node.is_prefixed(),
                })?;
            }
        }
        let steps = compile(members, COLUMNS, &mut budget, |column, node| match column {
            ListField::Path | ListField::KeyMetadata => node.is_prefixed(),
            ListField::Partitions => matches!(&node.shape, Shape::Array(items) if items.members().is_some()),
            _ => node.is_integer(),
        })?;
        for (_, name, needed) in COLUMNS.iter().take(3) {
            if !steps.iter().any(|s| matches!(s, RecordStep::Read(_, c) if c == needed)) {
                return Err(Error::corrupt(format!("the manifest list's schema lacks '{name}'")));
            }
        }
        let unknown = Arc::new(UnknownMembers::of(schema_json, None, |m, _| m.pick(COLUMNS).is_some())?);
        Ok(ListLayout { schema: schema_json.to_owned(), steps, summary, unknown })
    }

    fn manifest(&self, cursor: &mut Cursor<'_>) -> Result<ManifestFile> {
        let (mut out, mut unknown) = (ManifestFile::default(), Vec::new());
        for step in &self.steps {
            match step {
                RecordStep::Skip(skip) => {
                    let before = cursor.rest();
                    *cursor = skip.run(cursor.clone())?;
                    unknown.extend_from_slice(before.get(..before.len() - cursor.rest().len()).unwrap_or_default());
                }
                RecordStep::Read(optional, column) => {
                    if cursor.present(*optional)? {
                        self.column(*column, cursor, &mut out)?;
                    } else if COLUMNS.iter().take(3).any(|(_, _, needed)| needed == column) {
                        return Err(Error::corrupt("a manifest list entry has no path, length or spec id"));
                    }
                }
            }
        }
        if !self.unknown.is_empty() {
            out.unknown = Some(UnknownValues::new(&self.unknown, &unknown));
        }
        Ok(out)
    }

    fn column(&self, column: ListField, cursor: &mut Cursor<'_>, out: &mut ManifestFile) -> Result<()> {
        match column {
            ListField::Path => out.path = cursor.string()?.to_owned(),
            ListField::Length => {
                out.length_bytes = cursor.long()?;
                if out.length_bytes < 0 {
                    return Err(Error::corrupt(format!("a manifest has a length of {}", out.length_bytes))
                        .with("manifest", &out.path));
                }
            }
            ListField::SpecId => out.spec_id = cursor.int()?,
            ListField::Content => {
                out.content = match cursor.long()? {
                    0 => ManifestContent::Data,
                    1 => ManifestContent::Deletes,
                    other => return Err(Error::unsupported(format!("a manifest has content {other}"))),
                }
            }
            ListField::SequenceNumber => out.sequence_number = cursor.long()?,
            ListField::MinSequenceNumber => out.min_sequence_number = cursor.long()?,
            ListField::SnapshotId => out.added_snapshot_id = Some(cursor.long()?),
            ListField::AddedFiles => out.added_files_count = count(cursor)?,
            ListField::ExistingFiles => out.existing_files_count = count(cursor)?,
            ListField::DeletedFiles => out.deleted_files_count = count(cursor)?,
            ListField::AddedRows => out.added_rows_count = count(cursor)?,
            ListField::ExistingRows => out.existing_rows_count = count(cursor)?,
            ListField::DeletedRows => out.deleted_rows_count = count(cursor)?,
            ListField::Partitions => out.partitions = Some(self.summaries(cursor)?),
            ListField::KeyMetadata => out.key_metadata = Some(cursor.bytes()?.to_vec()),
            ListField::FirstRowId => out.first_row_id = Some(cursor.long()?),
        }
        Ok(())
    }

    fn summaries(&self, cursor: &mut Cursor<'_>) -> Result<Vec<FieldSummary>> {
        let mut out = Vec::new();
        while let Some(run) = cursor.run()? {
            let before = cursor.rest().len();
            for _ in 0..run.count {
                out.push(self.summary(cursor)?);
            }
            run.check(before, cursor)?;
        }
        Ok(out)
    }

    fn summary(&self, cursor: &mut Cursor<'_>) -> Result<FieldSummary> {
        // If the column is missing, nulls are possible.
        let mut out = FieldSummary { contains_null: true, ..FieldSummary::default() };
        for step in &self.summary {
            match step.wanted(cursor)? {
                None => {}
                Some(SummaryColumn::ContainsNull) => out.contains_null = cursor.boolean()?,
                Some(SummaryColumn::ContainsNan) => out.contains_nan = Some(cursor.boolean()?),
                Some(SummaryColumn::Lower) => out.lower = Some(cursor.bytes()?.to_vec()),
                Some(SummaryColumn::Upper) => out.upper = Some(cursor.bytes()?.to_vec()),
            }
        }
        Ok(out)
    }
}

/// Reads a count. A negative count means unknown.
fn count(cursor: &mut Cursor<'_>) -> Result<Option<i64>> {
    Ok(Some(cursor.long()?).filter(|n| *n >= 0))
}

/// The header data of a manifest list about its snapshot.
#[derive(Clone, Debug, Default)]
pub struct ManifestListHeader {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// The snapshot.
    pub snapshot_id: i64,
    /// Its parent.
    pub parent_snapshot_id: Option<i64>,
    /// Its sequence number; not written in v1.
    pub sequence_number: i64,
    /// Its first row id; v3 only, where it is required.
    pub first_row_id: Option<i64>,
}

/// Writes a manifest list as Java does: with deflate, and with all values assigned.
///
/// # Errors
/// `InvalidInput` if a manifest lacks a value that the format version requires, or can't be in this list.
pub fn encode_manifest_list(manifests: &[ManifestFile], header: &ManifestListHeader) -> Result<Vec<u8>> {
    let version = header.format_version;
    if !(1..=3).contains(&version) {
        return Err(Error::unsupported(format!("manifest lists of format version {version} can't be written")));
    }
    let text = |v: Option<i64>| v.map_or_else(|| "null".to_owned(), |v| v.to_string());
    let mut metadata = vec![
        ("snapshot-id", header.snapshot_id.to_string()),
        ("parent-snapshot-id", text(header.parent_snapshot_id)),
        ("format-version", version.to_string()),
    ];
    if version > 1 {
        metadata.push(("sequence-number", header.sequence_number.to_string()));
    }
    if version > 2 {
        let first = header.first_row_id.ok_or_else(|| Error::invalid("a v3 snapshot needs a first row id"))?;
        metadata.push(("first-row-id", first.to_string()));
    }
    let metadata: Vec<(&str, &str)> = metadata.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let schema = manifest_list_schema(version)?;
    let encoder = RecordEncoder::new(&schema)?;
    let text = declare::text(&schema, Zones::AdjustToUtc)?;
    let extended = ExtendedSchema::of(&text, None, manifests.iter().map(|m| m.unknown.as_ref()));
    let text = extended.as_ref().map_or(&text, |e| &e.text);
    let mut writer = ContainerWriter::new(text, &metadata, AvroCodec::Deflate);
    for m in manifests {
        let unknown = extended.as_ref().map(|e| e.bytes_of(m.unknown.as_ref())).transpose()?.unwrap_or_default();
        let record = ManifestRecord::new(m, version);
        let written = record.and_then(|record| writer.append_extended(&encoder, &record, &unknown));
        written.with("manifest", &m.path)?;
    }
    writer.finish()
}

/// A manifest that can be in a list of the format version.
struct ManifestRecord<'a> {
    manifest: &'a ManifestFile,
    version: u8,
    added_snapshot_id: i64,
    /// Files added, existing and deleted.
    files: [Option<i32>; 3],
}

impl<'a> ManifestRecord<'a> {
    fn new(m: &'a ManifestFile, version: u8) -> Result<ManifestRecord<'a>> {
        if version == 1 && m.content == ManifestContent::Deletes {
            return Err(Error::invalid("a v1 table can't have delete manifests"));
        }
        let added_snapshot_id = m.added_snapshot_id.ok_or_else(|| Error::invalid("a manifest has no snapshot id"))?;
        let mut files = [None; 3];
        for (file, n) in files.iter_mut().zip([m.added_files_count, m.existing_files_count, m.deleted_files_count]) {
            let n = n.map(i32::try_from).transpose();
            *file = n.map_err(|_| Error::invalid("a manifest has more files than a manifest list can count"))?;
        }
        let record = ManifestRecord { manifest: m, version, added_snapshot_id, files };
        if version > 1 && (files.contains(&None) || record.rows().contains(&None)) {
            return Err(Error::invalid("a manifest has no counts").hint("Rewrite the manifest to count its entries"));
        }
        if version > 2 && m.content == ManifestContent::Data && m.first_row_id.is_none() {
            return Err(Error::invalid("a data manifest of a v3 table has no first row id"));
        }
        Ok(record)
    }

    /// Rows added, existing and deleted.
    fn rows(&self) -> [Option<i64>; 3] {
        let m = self.manifest;
        [m.added_rows_count, m.existing_rows_count, m.deleted_rows_count]
    }
}

impl Serialize for ManifestRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ManifestRecord { manifest: m, version, .. } = *self;
        let fields = match version {
            1 => 12,
            2 => 15,
            _ => 16,
        };
        let mut out = serializer.serialize_tuple_struct("manifest_file", fields)?;
        out.serialize_field(&m.path)?;
        out.serialize_field(&m.length_bytes)?;
        out.serialize_field(&m.spec_id)?;
        if version > 1 {
            out.serialize_field(&i32::from(m.content == ManifestContent::Deletes))?;
            out.serialize_field(&m.sequence_number)?;
            out.serialize_field(&m.min_sequence_number)?;
        }
        out.serialize_field(&self.added_snapshot_id)?;
        let summaries = m.partitions.as_ref().map(|p| AvroItems(p.iter().map(summary_record)));
        if version == 1 {
            self.files.iter().try_for_each(|n| out.serialize_field(n))?;
            out.serialize_field(&summaries)?;
            self.rows().iter().try_for_each(|n| out.serialize_field(n))?;
        } else {
            self.files.iter().flatten().try_for_each(|n| out.serialize_field(n))?;
            self.rows().iter().flatten().try_for_each(|n| out.serialize_field(n))?;
            out.serialize_field(&summaries)?;
        }
        out.serialize_field(&m.key_metadata.as_deref().map(AvroBytes))?;
        if version > 2 {
            out.serialize_field(&m.first_row_id.filter(|_| m.content == ManifestContent::Data))?;
        }
        out.end()
    }
}

type SummaryRecord<'a> = (bool, Option<bool>, Option<AvroBytes<'a>>, Option<AvroBytes<'a>>);

fn summary_record(s: &FieldSummary) -> SummaryRecord<'_> {
    (s.contains_null, s.contains_nan, s.lower.as_deref().map(AvroBytes), s.upper.as_deref().map(AvroBytes))
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
