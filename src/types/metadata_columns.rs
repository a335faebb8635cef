//! Columns that rows have besides those of their table: what a changelog says of them, and their lineage.
//!
//! Source: Iceberg specification, "Reserved Field IDs"; names, ids and types as Java's `MetadataColumns`.

use super::schema::{Field, FieldId, PrimitiveType};

/// Field id of `_change_type`: `insert`, `delete`, `update_before` or `update_after`.
pub const CHANGE_TYPE: FieldId = i32::MAX - 104;
/// Field id of `_change_ordinal`: the place of the commit among those of the changelog, from 0.
pub const CHANGE_ORDINAL: FieldId = i32::MAX - 105;
/// Field id of `_commit_snapshot_id`.
pub const COMMIT_SNAPSHOT_ID: FieldId = i32::MAX - 106;
/// Field id of `_row_id`.
pub const ROW_ID: FieldId = i32::MAX - 107;
/// Field id of `_last_updated_sequence_number`.
pub const LAST_UPDATED: FieldId = i32::MAX - 108;

/// The columns that rows of a changelog have after those of the table.
pub const CHANGE_COLUMNS: [FieldId; 3] = [CHANGE_TYPE, CHANGE_ORDINAL, COMMIT_SNAPSHOT_ID];
/// The columns of row lineage (format version 3).
pub const LINEAGE_COLUMNS: [FieldId; 2] = [ROW_ID, LAST_UPDATED];

/// The column with one of these ids.
pub fn metadata_column(id: FieldId) -> Option<Field> {
    match id {
        CHANGE_TYPE => Some(Field::new(id, "_change_type", true, PrimitiveType::String)),
        CHANGE_ORDINAL => Some(Field::new(id, "_change_ordinal", false, PrimitiveType::Int)),
        COMMIT_SNAPSHOT_ID => Some(Field::new(id, "_commit_snapshot_id", false, PrimitiveType::Long)),
        ROW_ID => Some(Field::new(id, "_row_id", false, PrimitiveType::Long)),
        LAST_UPDATED => Some(Field::new(id, "_last_updated_sequence_number", false, PrimitiveType::Long)),
        _ => None,
    }
}
