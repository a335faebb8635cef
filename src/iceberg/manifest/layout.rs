//! The content of a manifest's header: its partition spec, and the writer's layout of an entry.
//!
//! Source: Iceberg specification, "Manifests".

use std::sync::Arc;

use crate::codec::avro::{Compiled, Cursor, Logical, Member, Node, Optional, Shape, UnknownMembers};
use crate::error::{Error, Result};
use crate::format::task::FileContent;
use crate::iceberg::manifest::avro::sanitize;
use crate::iceberg::spec::partition::spec_from_json;
use crate::types::{FieldId, PartitionField, PrimitiveType, Transform, Value, decimal, json_text};

/// The meaning of one value of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryValue {
    Status,
    SnapshotId,
    SequenceNumber,
    FileSequenceNumber,
    DataFile,
    Content,
    Path,
    Format,
    Partition,
    RecordCount,
    SizeBytes,
    Sizes,
    ValueCounts,
    NullCounts,
    NanCounts,
    LowerBounds,
    UpperBounds,
    KeyMetadata,
    SplitOffsets,
    EqualityIds,
    SortOrderId,
    FirstRowId,
    ReferencedDataFile,
    ContentOffset,
    ContentSize,
}

pub(crate) const ENTRY_COLUMNS: &[(FieldId, &str, EntryValue)] = &[
    (0, "status", EntryValue::Status),
    (1, "snapshot_id", EntryValue::SnapshotId),
    (3, "sequence_number", EntryValue::SequenceNumber),
    (4, "file_sequence_number", EntryValue::FileSequenceNumber),
    (2, "data_file", EntryValue::DataFile),
];

pub(crate) const FILE_COLUMNS: &[(FieldId, &str, EntryValue)] = &[
    (134, "content", EntryValue::Content),
    (100, "file_path", EntryValue::Path),
    (101, "file_format", EntryValue::Format),
    (102, "partition", EntryValue::Partition),
    (103, "record_count", EntryValue::RecordCount),
    (104, "file_size_in_bytes", EntryValue::SizeBytes),
    (108, "column_sizes", EntryValue::Sizes),
    (109, "value_counts", EntryValue::ValueCounts),
    (110, "null_value_counts", EntryValue::NullCounts),
    (137, "nan_value_counts", EntryValue::NanCounts),
    (125, "lower_bounds", EntryValue::LowerBounds),
    (128, "upper_bounds", EntryValue::UpperBounds),
    (131, "key_metadata", EntryValue::KeyMetadata),
    (132, "split_offsets", EntryValue::SplitOffsets),
    (135, "equality_ids", EntryValue::EqualityIds),
    (140, "sort_order_id", EntryValue::SortOrderId),
    (142, "first_row_id", EntryValue::FirstRowId),
    (143, "referenced_data_file", EntryValue::ReferencedDataFile),
    (144, "content_offset", EntryValue::ContentOffset),
    (145, "content_size_in_bytes", EntryValue::ContentSize),
];

/// The last member of an entry: a record.
pub(crate) const FILE_MEMBER: &str = "data_file";

/// Members of a data file that old versions had. Writers drop them.
const OBSOLETE: [FieldId; 5] = [105, 107, 111, 112, 113];

/// Whether a member of a data file has no meaning any more.
pub(crate) fn is_obsolete(member: &Member) -> bool {
    member.id.is_some_and(|id| OBSOLETE.contains(&id))
}

impl EntryValue {
    /// Whether every entry must have this value.
    pub(crate) fn is_required(self) -> bool {
        use EntryValue::*;
        matches!(self, Status | DataFile | Path | Format | RecordCount | SizeBytes)
    }

    /// Whether the value can be read from this Avro type.
    fn fits(self, node: &Node) -> bool {
        use EntryValue::*;
        let list = |node: &Node| matches!(&node.shape, Shape::Array(items) if items.is_integer());
        match self {
            DataFile | Partition => node.members().is_some(),
            Path | Format | KeyMetadata | ReferencedDataFile => node.is_prefixed(),
            SplitOffsets | EqualityIds => list(node),
            Sizes | ValueCounts | NullCounts | NanCounts => {
                node.pairs().is_some_and(|(key, value)| key.is_integer() && value.is_integer())
            }
            LowerBounds | UpperBounds => {
                node.pairs().is_some_and(|(key, value)| key.is_integer() && value.is_prefixed())
            }
            _ => node.is_integer(),
        }
    }
}

/// One member of the entry's or data file's record, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct MemberSlot {
    /// Its meaning; `None` if Frazil does not know it.
    pub column: Option<EntryValue>,
    pub optional: Optional,
    /// The whole type, including the union, to skip it.
    pub node: Node,
    /// Whether it is among the layout's unknown members.
    pub is_unknown: bool,
}

impl MemberSlot {
    /// The slot with another type, if it is the one of this column.
    fn changed(&self, column: EntryValue, change: impl Fn(&Node) -> Node) -> MemberSlot {
        match self.column == Some(column) {
            true => MemberSlot { node: change(&self.node), ..self.clone() },
            false => self.clone(),
        }
    }
}

/// The field id of the partition in the record of a data file.
const PARTITION: FieldId = 102;

/// The record of a data file with [`with_lengths`] in its partition.
fn partition_with_lengths(node: &Node) -> Node {
    let is_partition = |m: &Member| m.id == Some(PARTITION) || (m.id.is_none() && m.name == "partition");
    let change = |m: &Member| if is_partition(m) { with_lengths(&m.node) } else { m.node.clone() };
    let shape = match &node.shape {
        Shape::Union(branches) => Shape::Union(branches.iter().map(partition_with_lengths).collect()),
        Shape::Record(members) => {
            Shape::Record(members.iter().map(|m| Member { node: change(m), ..m.clone() }).collect())
        }
        shape => shape.clone(),
    };
    Node { shape, ..node.clone() }
}

/// Replaces fixed types by bytes with a length.
fn with_lengths(node: &Node) -> Node {
    let shape = match &node.shape {
        Shape::Fixed(_) if node.logical == Logical::None => {
            return Node { shape: Shape::Bytes, min_bytes: 1, ..node.clone() };
        }
        Shape::Union(branches) => Shape::Union(branches.iter().map(with_lengths).collect()),
        Shape::Record(members) => {
            let change = |m: &Member| Member { node: with_lengths(&m.node), ..m.clone() };
            Shape::Record(members.iter().map(change).collect())
        }
        shape => shape.clone(),
    };
    Node { shape, ..node.clone() }
}

static LAYOUTS: Compiled<EntryLayout> = Compiled::new();

/// The layout of a manifest's entries. Manifests with the same header text share one.
#[derive(Debug)]
pub struct EntryLayout {
    /// The header text that it was compiled from: schema and partition spec.
    source: (String, Option<String>),
    pub(crate) entry: Vec<MemberSlot>,
    pub(crate) file: Vec<MemberSlot>,
    /// For each field of the Avro record: its place in the tuple and how to read it. Tuples have the length of
    /// `fields`.
    pub(crate) partition: Vec<PartitionReader>,
    pub(crate) fields: Arc<[PartitionField]>,
    pub(crate) types: Arc<[PrimitiveType]>,
    pub(crate) has_sequence_numbers: bool,
    /// Members that only later versions know; `None` if all are known.
    pub(crate) unknown: Option<Arc<UnknownMembers>>,
    /// The layout of a manifest that has partition values of type `fixed` as bytes with a length. Java Iceberg 1.12
    /// writes and reads them so, although the schema says that they have none.
    pub(crate) with_lengths: Option<Arc<EntryLayout>>,
}

impl EntryLayout {
    /// The header text that it was compiled from: schema and partition spec.
    pub(crate) fn source(&self) -> (&str, Option<&str>) {
        (&self.source.0, self.source.1.as_deref())
    }

    /// Whether a manifest with this header has this layout.
    pub(crate) fn is_of(&self, schema: &str, spec: Option<&str>) -> bool {
        self.source.0 == schema && self.source.1.as_deref() == spec
    }

    /// The layout of manifests with this header.
    ///
    /// # Errors
    /// `CorruptTable` if the header is invalid or lacks a required column; `Unsupported` for partition values of a type
    /// that Iceberg does not have.
    pub(crate) fn of(schema: &str, spec: Option<&str>) -> Result<Arc<EntryLayout>> {
        let bytes = schema.len().saturating_add(spec.map_or(0, str::len));
        LAYOUTS.get(bytes, |layout| layout.is_of(schema, spec), || EntryLayout::new(schema, spec))
    }

    fn new(schema: &str, spec: Option<&str>) -> Result<EntryLayout> {
        let root = Node::parse(schema)?;
        let members = root.members().ok_or_else(|| Error::corrupt("the manifest's schema is not a record"))?;
        let entry = slots(members, ENTRY_COLUMNS)?;
        let file_node =
            entry.iter().find(|s| s.column == Some(EntryValue::DataFile)).map(|s| s.node.optional().1.clone());
        let file_node = file_node.ok_or_else(|| missing("data_file"))?;
        let file = slots(file_node.members().unwrap_or_default(), FILE_COLUMNS)?;
        for (_, name, column) in ENTRY_COLUMNS.iter().chain(FILE_COLUMNS) {
            if column.is_required() && !entry.iter().chain(&file).any(|s| s.column == Some(*column)) {
                return Err(missing(name));
            }
        }
        let header = spec.map(spec_fields).transpose()?.unwrap_or_default();
        let record = file.iter().find(|s| s.column == Some(EntryValue::Partition)).map(|s| s.node.optional().1.clone());
        let record = record.as_ref().and_then(Node::members).unwrap_or_default();
        let (fields, types, partition) = partition_layout(record, header)?;
        let has_sequence_numbers = entry.iter().any(|s| s.column == Some(EntryValue::SequenceNumber));
        let unknown = UnknownMembers::of(schema, Some(FILE_MEMBER), |m, inner| match inner {
            true => m.pick(FILE_COLUMNS).is_some() || is_obsolete(m),
            false => m.pick(ENTRY_COLUMNS).is_some(),
        })?;
        let mut layout = EntryLayout {
            unknown: (!unknown.is_empty()).then(|| Arc::new(unknown)),
            source: (schema.to_owned(), spec.map(str::to_owned)),
            entry,
            file,
            partition,
            fields: fields.into(),
            types: types.into(),
            has_sequence_numbers,
            with_lengths: None,
        };
        layout.with_lengths = layout.reading_lengths().map(Arc::new);
        Ok(layout)
    }

    /// The same layout with partition values of type `fixed` as bytes with a length. `None` without such values.
    fn reading_lengths(&self) -> Option<EntryLayout> {
        let is_fixed = |reader: &PartitionReader| {
            matches!((&reader.shape, &reader.ty), (Shape::Fixed(_), PrimitiveType::Fixed(_)))
        };
        self.partition.iter().any(is_fixed).then(|| EntryLayout {
            unknown: self.unknown.clone(),
            source: self.source.clone(),
            entry: self.entry.iter().map(|slot| slot.changed(EntryValue::DataFile, partition_with_lengths)).collect(),
            file: self.file.iter().map(|slot| slot.changed(EntryValue::Partition, with_lengths)).collect(),
            partition: (self.partition.iter())
                .map(|reader| match is_fixed(reader) {
                    true => PartitionReader { shape: Shape::Bytes, ..reader.clone() },
                    false => reader.clone(),
                })
                .collect(),
            fields: self.fields.clone(),
            types: self.types.clone(),
            has_sequence_numbers: self.has_sequence_numbers,
            with_lengths: None,
        })
    }

    /// Whether partition tuples in the file have this field.
    pub(crate) fn has_field(&self, id: FieldId) -> bool {
        let place = self.fields.iter().position(|f| f.field_id == id);
        place.is_some_and(|place| self.partition.iter().any(|reader| reader.place == place))
    }

    /// Decodes one partition tuple from its Avro bytes.
    pub(crate) fn tuple(&self, raw: &[u8]) -> Result<Vec<Option<Value>>> {
        let mut cursor = Cursor::new(raw);
        let mut out = vec![None; self.fields.len()];
        let slot = self.file.iter().find(|s| s.column == Some(EntryValue::Partition));
        if !slot.map_or(Ok(false), |s| cursor.present(s.optional))? {
            return Ok(out);
        }
        for reader in &self.partition {
            let value = reader.read(&mut cursor)?;
            if let Some(place) = out.get_mut(reader.place) {
                *place = value;
            }
        }
        Ok(out)
    }
}

/// The number of a file's content in manifests.
pub(crate) fn content_number(content: FileContent) -> i32 {
    match content {
        FileContent::Data => 0,
        FileContent::PositionDeletes => 1,
        FileContent::EqualityDeletes => 2,
    }
}

/// The content with this number in manifests.
pub(crate) fn content_of(number: i64) -> Option<FileContent> {
    match number {
        0 => Some(FileContent::Data),
        1 => Some(FileContent::PositionDeletes),
        2 => Some(FileContent::EqualityDeletes),
        _ => None,
    }
}

fn missing(name: &str) -> Error {
    Error::corrupt(format!("the manifest's schema lacks '{name}'"))
}

fn slots(members: &[Member], table: &[(FieldId, &str, EntryValue)]) -> Result<Vec<MemberSlot>> {
    let mut seen = Vec::new();
    let slot = |m: &Member| {
        let column = m.pick(table);
        if column.is_some() && seen.contains(&column) {
            return Err(Error::corrupt(format!("the manifest's schema has the field '{}' twice", m.name)));
        }
        seen.push(column);
        let (optional, inner) = m.node.optional();
        match column {
            Some(c) if optional != Optional::Never && !c.fits(inner) => {
                Err(Error::corrupt(format!("field '{}' of the manifest has another type", m.name)))
            }
            _ => {
                let is_unknown = column.is_none() && !is_obsolete(m);
                Ok(MemberSlot { column, optional, node: m.node.clone(), is_unknown })
            }
        }
    };
    members.iter().map(slot).collect()
}

/// Reads one field of the partition record.
#[derive(Clone, Debug)]
pub(crate) struct PartitionReader {
    place: usize,
    optional: Optional,
    shape: Shape,
    ty: PrimitiveType,
}

type PartitionLayout = (Vec<PartitionField>, Vec<PrimitiveType>, Vec<PartitionReader>);

/// The most partition fields. With more, a few bytes of an entry could take much memory.
const MAX_PARTITION_FIELDS: usize = 1000;

/// Combines the Avro record with the header's spec. Fields are in the order of the header, then the record's fields
/// that the header does not have. They are matched by field id, or by name and position if the record has no ids.
fn partition_layout(record: &[Member], header: Vec<PartitionField>) -> Result<PartitionLayout> {
    if record.len().max(header.len()) > MAX_PARTITION_FIELDS {
        return Err(Error::unsupported(format!("a manifest has more than {MAX_PARTITION_FIELDS} partition fields")));
    }
    let mut fields = header;
    let mut types = vec![PrimitiveType::Unknown; fields.len()];
    let mut readers = Vec::with_capacity(record.len());
    for (position, member) in record.iter().enumerate() {
        let place = match member.id {
            Some(id) => fields.iter().position(|f| f.field_id == id),
            None => (fields.iter().position(|f| f.name == member.name || sanitize(&f.name) == member.name))
                .or(Some(position).filter(|p| *p < fields.len())),
        };
        let place = place.unwrap_or(fields.len());
        let (optional, inner) = member.node.optional();
        let ty = value_type(inner).map_err(|e| e.with("partition field", &member.name))?;
        match types.get_mut(place) {
            Some(known) => *known = ty.clone(),
            None => {
                let field_id = member.id.unwrap_or(1000 + position as i32);
                let transform = Transform::Unknown("unknown".into());
                fields.push(PartitionField { source_id: 0, field_id, name: member.name.clone(), transform });
                types.push(ty.clone());
            }
        }
        readers.push(PartitionReader { place, optional, shape: inner.shape.clone(), ty });
    }
    Ok((fields, types, readers))
}

/// The Iceberg type of a partition value's Avro type.
fn value_type(node: &Node) -> Result<PrimitiveType> {
    use PrimitiveType as P;
    Ok(match (&node.shape, &node.logical) {
        (Shape::Null, _) => P::Unknown,
        (Shape::Boolean, _) => P::Boolean,
        (Shape::Int, Logical::Date) => P::Date,
        (Shape::Int, Logical::None) => P::Int,
        (Shape::Long, Logical::TimeMicros) => P::Time,
        (Shape::Long, Logical::TimestampMicros { utc: false }) => P::Timestamp,
        (Shape::Long, Logical::TimestampMicros { utc: true }) => P::Timestamptz,
        (Shape::Long, Logical::TimestampNanos { utc: false }) => P::TimestampNs,
        (Shape::Long, Logical::TimestampNanos { utc: true }) => P::TimestamptzNs,
        (Shape::Long, Logical::None) => P::Long,
        (Shape::Float, _) => P::Float,
        (Shape::Double, _) => P::Double,
        (Shape::Bytes | Shape::Fixed(_), Logical::Decimal { precision, scale }) => {
            P::Decimal { precision: *precision, scale: *scale }
        }
        (Shape::String | Shape::Fixed(16), Logical::Uuid) => P::Uuid,
        (Shape::String, _) => P::String,
        (Shape::Bytes, _) => P::Binary,
        (Shape::Fixed(n), _) => P::Fixed(u32::try_from(*n).map_err(|_| Error::corrupt("a fixed is too long"))?),
        (shape, logical) => {
            let name = if let Logical::Other(name) = logical { name } else { kind_name(shape) };
            return Err(Error::unsupported(format!("partition values of the Avro type '{name}' can't be read")));
        }
    })
}

fn kind_name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Enum(_) => "enum",
        Shape::Array(_) => "array",
        Shape::Map(_) => "map",
        Shape::Union(_) => "union",
        Shape::Record(_) => "record",
        Shape::Int => "int",
        _ => "long",
    }
}

impl PartitionReader {
    fn read(&self, cursor: &mut Cursor<'_>) -> Result<Option<Value>> {
        if !cursor.present(self.optional)? {
            return Ok(None);
        }
        let decimal = |bytes: &[u8]| {
            let wide = || Error::corrupt("a decimal partition value has more than 128 bits");
            decimal::from_be_bytes(bytes).filter(|_| !bytes.is_empty()).map(Value::Decimal).ok_or_else(wide)
        };
        Ok(Some(match (&self.shape, &self.ty) {
            (Shape::Boolean, _) => Value::Boolean(cursor.boolean()?),
            (Shape::Int, _) => Value::Int(cursor.int()?),
            (Shape::Long, _) => Value::Long(cursor.long()?),
            (Shape::Float, _) => Value::Float(cursor.float()?),
            (Shape::Double, _) => Value::Double(cursor.double()?),
            (Shape::Bytes, PrimitiveType::Decimal { .. }) => decimal(cursor.bytes()?)?,
            (Shape::Fixed(n), PrimitiveType::Decimal { .. }) => decimal(cursor.take(*n)?)?,
            (Shape::String, PrimitiveType::Uuid) => {
                let bad = |e| Error::corrupt("a partition value is not a UUID").because(e);
                Value::Uuid(uuid::Uuid::parse_str(cursor.string()?).map_err(bad)?.as_u128())
            }
            (Shape::Fixed(n), PrimitiveType::Uuid) => {
                let bytes = cursor.take(*n)?.try_into().map_err(|_| Error::corrupt("a UUID is not 16 bytes"))?;
                Value::Uuid(u128::from_be_bytes(bytes))
            }
            (Shape::String, _) => Value::String(cursor.string()?.to_owned()),
            (Shape::Bytes, PrimitiveType::Fixed(length)) => {
                let bytes = Some(cursor.bytes()?).filter(|bytes| bytes.len() == *length as usize);
                Value::Bytes(bytes.ok_or_else(|| Error::corrupt("a fixed has another length"))?.to_vec())
            }
            (Shape::Bytes, _) => Value::Bytes(cursor.bytes()?.to_vec()),
            (Shape::Fixed(n), _) => Value::Bytes(cursor.take(*n)?.to_vec()),
            _ => return Ok(None),
        }))
    }
}

/// Reads the header's `partition-spec`: a list of fields, or the whole spec object.
fn spec_fields(text: &str) -> Result<Vec<PartitionField>> {
    let bad = |e| Error::corrupt("the manifest's partition spec is not valid JSON").because(e);
    Ok(spec_from_json(&json_text::parse(text.as_bytes()).map_err(bad)?, 0)?.fields)
}
