//! The columns of metadata tables, as table schemas with the reference's ids. Counts that old metadata may lack are
//! optional.

use std::sync::Arc;

use crate::error::Result;
use crate::iceberg::inspect::metadata_table::MetadataTable;
use crate::iceberg::manifest::walk::partition_type;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::PrimitiveType::{self as P, Binary, Boolean, Int, Long, String as Text, Timestamptz};
use crate::types::metadata_columns::{
    CONTENT_OFFSET, CONTENT_SIZE, DELETE_FILE_PATH, DELETE_FILE_POS, DELETE_FILE_ROW, FILE, PARTITION, SPEC_ID,
};
use crate::types::{Field, FieldId, Schema, Type};

/// The members of `readable_metrics.<column>`, in order; the bounds have the column's own type.
pub(crate) const METRICS: [&str; 6] =
    ["column_size", "value_count", "null_value_count", "nan_value_count", "lower_bound", "upper_bound"];
pub(crate) const READABLE_METRICS: &str = "readable_metrics";

fn required(id: FieldId, name: &str, ty: impl Into<Type>) -> Field {
    Field::new(id, name, true, ty)
}

fn optional(id: FieldId, name: &str, ty: impl Into<Type>) -> Field {
    Field::new(id, name, false, ty)
}

fn list(id: FieldId, element: impl Into<Type>) -> Type {
    Type::List(Arc::new(required(id, "element", element)))
}

fn map(key_id: FieldId, key: P, value_id: FieldId, value: P) -> Type {
    Type::Map(Arc::new(required(key_id, "key", key)), Arc::new(required(value_id, "value", value)))
}

/// The schema of a metadata table.
///
/// # Errors
/// Errors of [`partition_type`].
pub(crate) fn schema(kind: MetadataTable, metadata: &TableMetadata) -> Result<Schema> {
    let fields = match kind {
        MetadataTable::Snapshots => vec![
            required(1, "committed_at", Timestamptz),
            required(2, "snapshot_id", Long),
            optional(3, "parent_id", Long),
            optional(4, "operation", Text),
            optional(5, "manifest_list", Text),
            optional(6, "summary", map(7, Text, 8, Text)),
        ],
        MetadataTable::History => vec![
            required(1, "made_current_at", Timestamptz),
            required(2, "snapshot_id", Long),
            optional(3, "parent_id", Long),
            required(4, "is_current_ancestor", Boolean),
        ],
        MetadataTable::Refs => vec![
            required(1, "name", Text),
            required(2, "type", Text),
            required(3, "snapshot_id", Long),
            optional(4, "max_reference_age_in_ms", Long),
            optional(5, "min_snapshots_to_keep", Int),
            optional(6, "max_snapshot_age_in_ms", Long),
        ],
        MetadataTable::MetadataLogEntries => vec![
            required(1, "timestamp", Timestamptz),
            required(2, "file", Text),
            optional(3, "latest_snapshot_id", Long),
            optional(4, "latest_schema_id", Int),
            optional(5, "latest_sequence_number", Long),
        ],
        MetadataTable::Manifests { all } => manifest_fields(all),
        MetadataTable::Entries { .. } => entry_fields(metadata)?,
        MetadataTable::Files { .. } => {
            let partition = partition_type(metadata)?;
            let mut fields = file_fields(partition);
            fields.push(readable_metrics(metadata, &fields)?);
            fields
        }
        MetadataTable::Partitions => partition_fields(partition_type(metadata)?),
        MetadataTable::PositionDeletes => position_delete_fields(metadata)?,
    };
    Ok(Schema::new(0, fields, Vec::new()))
}

fn manifest_fields(all: bool) -> Vec<Field> {
    let summary: Arc<[Field]> = vec![
        required(10, "contains_null", Boolean),
        optional(11, "contains_nan", Boolean),
        optional(12, "lower_bound", Text),
        optional(13, "upper_bound", Text),
    ]
    .into();
    let mut fields = vec![
        required(14, "content", Int),
        required(1, "path", Text),
        required(2, "length", Long),
        required(3, "partition_spec_id", Int),
        optional(4, "added_snapshot_id", Long),
        optional(5, "added_data_files_count", Int),
        optional(6, "existing_data_files_count", Int),
        optional(7, "deleted_data_files_count", Int),
        optional(15, "added_delete_files_count", Int),
        optional(16, "existing_delete_files_count", Int),
        optional(17, "deleted_delete_files_count", Int),
        optional(8, "partition_summaries", list(9, Type::Struct(summary))),
    ];
    if all {
        fields.push(required(18, "reference_snapshot_id", Long));
        fields.push(optional(19, "key_metadata", Binary));
    }
    fields
}

fn entry_fields(metadata: &TableMetadata) -> Result<Vec<Field>> {
    let file: Arc<[Field]> = file_fields(partition_type(metadata)?).into();
    let mut fields = vec![
        required(0, "status", Int),
        optional(1, "snapshot_id", Long),
        optional(3, "sequence_number", Long),
        optional(4, "file_sequence_number", Long),
        required(2, "data_file", Type::Struct(file)),
    ];
    fields.push(readable_metrics(metadata, &fields)?);
    Ok(fields)
}

/// The columns of `data_file`. It has no `partition` if no spec partitions.
fn file_fields(partition: Vec<Field>) -> Vec<Field> {
    let mut fields = vec![
        optional(134, "content", Int),
        required(100, "file_path", Text),
        required(101, "file_format", Text),
        optional(141, "spec_id", Int),
        required(102, "partition", Type::Struct(partition.clone().into())),
        required(103, "record_count", Long),
        required(104, "file_size_in_bytes", Long),
        optional(108, "column_sizes", map(117, Int, 118, Long)),
        optional(109, "value_counts", map(119, Int, 120, Long)),
        optional(110, "null_value_counts", map(121, Int, 122, Long)),
        optional(137, "nan_value_counts", map(138, Int, 139, Long)),
        optional(125, "lower_bounds", map(126, Int, 127, Binary)),
        optional(128, "upper_bounds", map(129, Int, 130, Binary)),
        optional(131, "key_metadata", Binary),
        optional(132, "split_offsets", list(133, Long)),
        optional(135, "equality_ids", list(136, Int)),
        optional(140, "sort_order_id", Int),
        optional(142, "first_row_id", Long),
        optional(143, "referenced_data_file", Text),
        optional(144, "content_offset", Long),
        optional(145, "content_size_in_bytes", Long),
    ];
    if partition.is_empty() {
        fields.retain(|f| f.id != 102);
    }
    fields
}

fn partition_fields(partition: Vec<Field>) -> Vec<Field> {
    let mut fields = Vec::new();
    if !partition.is_empty() {
        fields.push(required(1, "partition", Type::Struct(partition.into())));
        fields.push(required(4, "spec_id", Int));
    }
    fields.extend([
        required(2, "record_count", Long),
        required(3, "file_count", Int),
        required(11, "total_data_file_size_in_bytes", Long),
        required(5, "position_delete_record_count", Long),
        required(6, "position_delete_file_count", Int),
        required(7, "equality_delete_record_count", Long),
        required(8, "equality_delete_file_count", Int),
        optional(9, "last_updated_at", Timestamptz),
        optional(10, "last_updated_snapshot_id", Long),
    ]);
    fields
}

/// The columns of a position delete file: the data file, the position in it, and perhaps the row.
pub(crate) fn deleted_columns(metadata: &TableMetadata) -> Result<Vec<Field>> {
    let row = Type::Struct(metadata.schema()?.fields.iter().map(shown).collect());
    Ok(vec![
        required(DELETE_FILE_PATH, "file_path", Text),
        required(DELETE_FILE_POS, "pos", Long),
        optional(DELETE_FILE_ROW, "row", row),
    ])
}

fn position_delete_fields(metadata: &TableMetadata) -> Result<Vec<Field>> {
    let mut fields = deleted_columns(metadata)?;
    let partition = partition_type(metadata)?;
    if !partition.is_empty() {
        fields.push(required(PARTITION, "partition", Type::Struct(partition.into())));
    }
    fields.push(required(SPEC_ID, "spec_id", Int));
    fields.push(required(FILE, "delete_file_path", Text));
    if metadata.format_version > 2 {
        fields.push(optional(CONTENT_OFFSET, "content_offset", Long));
        fields.push(optional(CONTENT_SIZE, "content_size_in_bytes", Long));
    }
    Ok(fields)
}

/// A column of a deleted row. Any member may be null, since the row may be. Types that Arrow lacks become bytes.
fn shown(field: &Field) -> Field {
    let key = |field: &Arc<Field>| Arc::new(Field { required: true, ..shown(field) });
    let ty = match &field.ty {
        Type::Primitive(P::Variant | P::Geometry { .. } | P::Geography { .. }) => Binary.into(),
        Type::Primitive(ty) => ty.clone().into(),
        Type::Struct(fields) => Type::Struct(fields.iter().map(shown).collect()),
        Type::List(element) => Type::List(Arc::new(shown(element))),
        Type::Map(k, value) => Type::Map(key(k), Arc::new(shown(value))),
    };
    Field { ty, ..optional(field.id, &field.name, Binary) }
}

/// A column with metrics: its dotted name, id and type.
pub(crate) struct Leaf {
    pub(crate) name: String,
    pub(crate) id: FieldId,
    pub(crate) ty: P,
}

/// The columns of `readable_metrics`: each primitive column at each depth, by name. Variants are not primitives here.
pub(crate) fn leaves(metadata: &TableMetadata) -> Result<Vec<Leaf>> {
    fn walk(field: &Field, prefix: &str, out: &mut Vec<Leaf>) {
        let name = format!("{prefix}{}", field.name);
        match &field.ty {
            Type::Primitive(P::Variant) => {}
            Type::Primitive(ty) => out.push(Leaf { name, id: field.id, ty: ty.clone() }),
            ty => ty.children().into_iter().for_each(|child| walk(child, &format!("{name}."), out)),
        }
    }
    let mut out = Vec::new();
    metadata.schema()?.fields.iter().for_each(|field| walk(field, "", &mut out));
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

/// The type in which bounds of a column are shown. It is bytes where a bound may be shorter than the type requires, or
/// has its own form.
pub(crate) fn bound_type(ty: &P) -> P {
    match ty {
        P::Fixed(_) | P::Variant | P::Geometry { .. } | P::Geography { .. } => Binary,
        ty => ty.clone(),
    }
}

fn readable_metrics(metadata: &TableMetadata, others: &[Field]) -> Result<Field> {
    let mut last = Schema::new(0, others.to_vec(), Vec::new()).highest_field_id();
    let mut next = || {
        last += 1;
        last
    };
    let mut columns = Vec::new();
    for leaf in leaves(metadata)? {
        let id = next();
        let member =
            |(i, name): (usize, &&str)| optional(next(), name, if i < 4 { Long } else { bound_type(&leaf.ty) });
        let members: Arc<[Field]> = METRICS.iter().enumerate().map(member).collect();
        columns.push(optional(id, &leaf.name, Type::Struct(members)));
    }
    Ok(optional(next(), READABLE_METRICS, Type::Struct(columns.into())))
}
