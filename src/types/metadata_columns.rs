//! All reserved field ids, and the columns that rows have in addition to those of their table. These are the row's
//! place, whether it is deleted, its change in a changelog, and its lineage.
//!
//! Source: Iceberg specification, "Reserved Field IDs"; names, ids and types as in Java's `MetadataColumns`. The ids
//! in Paimon's files are those of Java's `SpecialFields`. Negative ids are our own: no column of a table has one.

use super::schema::{Field, FieldId, PrimitiveType, Type};

/// Ids above this one belong to metadata columns (specification, "Reserved Field IDs").
pub const LAST_USER_FIELD_ID: FieldId = i32::MAX - 200;

/// Field id of `_file`: the path of the row's data file, as the table records it.
pub const FILE: FieldId = i32::MAX - 1;
/// Field id of `_pos`: the position of the row in its file, from 0.
pub const POS: FieldId = i32::MAX - 2;
/// Field id of `_deleted`: whether the row has been deleted.
pub const DELETED: FieldId = i32::MAX - 3;
/// Field id of `_spec_id`: the partition spec that the file was written with.
pub const SPEC_ID: FieldId = i32::MAX - 4;
/// Field id of `_partition`: the file's partition tuple, with the fields of all specs of the table.
pub const PARTITION: FieldId = i32::MAX - 5;
/// Field id of `content_offset` in the metadata table of position deletes.
pub const CONTENT_OFFSET: FieldId = i32::MAX - 6;
/// Field id of `content_size_in_bytes` in the metadata table of position deletes.
pub const CONTENT_SIZE: FieldId = i32::MAX - 7;
/// Field id of `file_path` in position delete files: the data file that lost a row.
pub const DELETE_FILE_PATH: FieldId = i32::MAX - 101;
/// Field id of `pos` in position delete files: the position of the deleted row.
pub const DELETE_FILE_POS: FieldId = i32::MAX - 102;
/// Field id of `row` in position delete files: the deleted row, which few writers store.
pub const DELETE_FILE_ROW: FieldId = i32::MAX - 103;
/// Field id of `_change_type`: `insert`, `delete`, `update_before` or `update_after`.
pub const CHANGE_TYPE: FieldId = i32::MAX - 104;
/// Field id of `_change_ordinal`: the commit's number in the changelog, from 0.
pub const CHANGE_ORDINAL: FieldId = i32::MAX - 105;
/// Field id of `_commit_snapshot_id`.
pub const COMMIT_SNAPSHOT_ID: FieldId = i32::MAX - 106;
/// Field id of `_row_id`.
pub const ROW_ID: FieldId = i32::MAX - 107;
/// Field id of `_last_updated_sequence_number`.
pub const LAST_UPDATED: FieldId = i32::MAX - 108;

/// Field id of `_SEQUENCE_NUMBER` in Paimon's files. It orders the rows with one key, or is the commit that last
/// changed a row.
pub const STORED_SEQUENCE_NUMBER: FieldId = i32::MAX - 1;
/// Field id of `_VALUE_KIND` in files of Paimon tables with a key: whether a row is added or removed.
pub const STORED_VALUE_KIND: FieldId = i32::MAX - 2;
/// Field id of `_ROW_ID` in Paimon's files.
pub const STORED_ROW_ID: FieldId = i32::MAX - 5;
/// A column `_KEY_<name>` in Paimon's files has this number plus the id of its key column.
pub const STORED_KEY_BASE: FieldId = i32::MAX / 2;
/// Derived ids of list elements and map entries in Paimon's schemas are counted from here, both ways.
pub const DERIVED_ID_BASE: FieldId = i32::MAX / 4;

/// The id that readers give to `_SEQUENCE_NUMBER`. In files, other columns can have the id that it has there.
pub(crate) const SEQUENCE_ID: FieldId = -2;
/// The id that readers give to `_VALUE_KIND`: whether a row is added (0, 2) or removed (1, 3).
pub(crate) const KIND_ID: FieldId = -3;
/// The id that writers give to a column with the bucket of each row.
pub(crate) const BUCKET_ID: FieldId = -10;

/// The columns of changelog rows, after those of the table.
pub const CHANGE_COLUMNS: [FieldId; 3] = [CHANGE_TYPE, CHANGE_ORDINAL, COMMIT_SNAPSHOT_ID];
/// The columns of row lineage (format version 3).
pub const LINEAGE_COLUMNS: [FieldId; 2] = [ROW_ID, LAST_UPDATED];
/// The columns with the place of a row and whether it was deleted. `_partition` is not included, because its type
/// depends on the table.
const PLACE_COLUMNS: [FieldId; 4] = [FILE, POS, DELETED, SPEC_ID];

/// The column with one of these ids.
pub fn metadata_column(id: FieldId) -> Option<Field> {
    let (name, required, ty, doc) = match id {
        FILE => ("_file", true, PrimitiveType::String, "Path of the file in which a row is stored"),
        POS => ("_pos", true, PrimitiveType::Long, "Ordinal position of a row in the source data file"),
        DELETED => ("_deleted", true, PrimitiveType::Boolean, "Whether the row has been deleted"),
        SPEC_ID => ("_spec_id", true, PrimitiveType::Int, "Spec ID used to track the file containing a row"),
        CHANGE_TYPE => ("_change_type", true, PrimitiveType::String, "Record type in changelog"),
        CHANGE_ORDINAL => ("_change_ordinal", false, PrimitiveType::Int, "Change ordinal in changelog"),
        COMMIT_SNAPSHOT_ID => ("_commit_snapshot_id", false, PrimitiveType::Long, "Commit snapshot ID"),
        ROW_ID => ("_row_id", false, PrimitiveType::Long, "Implicit row ID that is automatically assigned"),
        LAST_UPDATED => (
            "_last_updated_sequence_number",
            false,
            PrimitiveType::Long,
            "Sequence number when the row was last updated",
        ),
        _ => return None,
    };
    Some(Field { doc: Some(doc.to_owned()), ..Field::new(id, name, required, ty) })
}

/// The metadata columns of a version's rows. Those of lineage are included from format version 3 on. `partition` has
/// the partition fields of all specs of the table. `last_column_id` is the highest id that any column of the table ever
/// had.
///
/// If a partition field has the id of a present or past column, the id is negated. So no two fields of a scan have the
/// same id.
pub fn row_columns(format_version: u8, partition: &[Field], last_column_id: FieldId) -> Vec<Field> {
    let lineage = LINEAGE_COLUMNS.iter().filter(|_| format_version >= 3);
    let mut columns: Vec<Field> = PLACE_COLUMNS.iter().chain(lineage).filter_map(|id| metadata_column(*id)).collect();
    let renumbered = |f: &Field| Field { id: if f.id > last_column_id { f.id } else { -f.id }, ..f.clone() };
    let members = Type::Struct(partition.iter().map(renumbered).collect());
    let doc = Some("Partition to which a row belongs".to_owned());
    columns.insert(PLACE_COLUMNS.len(), Field { doc, ..Field::new(PARTITION, "_partition", false, members) });
    columns
}

/// Whether this is the id of a metadata column, and not that of a column of the table.
pub fn is_metadata(id: FieldId) -> bool {
    id > LAST_USER_FIELD_ID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_fields_clash_with_no_column() {
        let field = |id| Field::new(id, "p", false, PrimitiveType::Int);
        let columns = row_columns(2, &[field(1000), field(1001)], 1000);
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["_file", "_pos", "_deleted", "_spec_id", "_partition"]);
        let ids: Vec<_> = columns[4].ty.children().iter().map(|f| f.id).collect();
        assert_eq!(ids, [-1000, 1001]);
        assert_eq!(row_columns(3, &[], 1000).len(), 7);
        assert!(columns.iter().all(|c| is_metadata(c.id)));
    }
}
