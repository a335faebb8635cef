//! Columns of rewritten files that keep the ids of rows.
//!
//! Source: Java's `SpecialFields.rowTypeWithRowTracking`.

use crate::error::{Error, Result};
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::schema::TableSchema;
use crate::types::FieldId;
use crate::types::metadata_columns::{STORED_ROW_ID, STORED_SEQUENCE_NUMBER};

/// The columns of files that have the ids of rows and the commits that changed them last.
const TRACKING: [(&str, FieldId); 2] = [("_ROW_ID", STORED_ROW_ID), ("_SEQUENCE_NUMBER", STORED_SEQUENCE_NUMBER)];

/// A schema with the columns of [`TRACKING`] after its own.
///
/// # Errors
/// `Unsupported` if the table has a column of such a name.
pub(crate) fn with_tracking(schema: &TableSchema) -> Result<TableSchema> {
    let mut parts = schema.parts();
    if let Some((name, _)) = TRACKING.iter().find(|(name, _)| schema.field(name).is_some()) {
        return Err(Error::unsupported("the table has a column with the name of one that tracks rows")
            .with("column", name)
            .hint("Rename the column"));
    }
    let [(row_id, row_id_id), (sequence, sequence_id)] = TRACKING;
    parts.fields.push(DataField::new(row_id_id, row_id, TypeKind::BigInt.not_null()));
    parts.fields.push(DataField::new(sequence_id, sequence, TypeKind::BigInt.nullable()));
    parts.highest_field_id = FieldId::MAX;
    TableSchema::new(parts)
}
