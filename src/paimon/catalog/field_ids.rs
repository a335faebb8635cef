//! The ids of columns and schemas: new ones are above all that the table has.
//!
//! Source: Java's `ReassignFieldId`, `TableSchema.highestFieldId` and `SpecialFields`.

use std::sync::Arc;

use super::filesystem::TableFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};
use crate::paimon::spec::schema::TableSchema;
use crate::types::FieldId;
use crate::types::metadata_columns::STORED_KEY_BASE;

impl TableFolder {
    /// The highest id that a column has or had. A writer may have left `highestFieldId` too low. An id that is used
    /// again would give the new column the values of the old one.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::paimon) fn highest_field_id(&self, current: &TableSchema) -> Result<FieldId> {
        let mut highest = current.highest_field_id.max(highest_of(&current.fields));
        for id in self.schema_ids()? {
            match if id == current.id { continue } else { self.schema(id) } {
                Ok(schema) => highest = highest.max(schema.highest_field_id).max(highest_of(&schema.fields)),
                // If a schema is gone or can't be read, its files can't be read either.
                Err(e)
                    if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable | ErrorKind::Unsupported) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(highest)
    }
}

/// The highest id of these fields and the fields in them; -1 for none.
fn highest_of(fields: &[DataField]) -> FieldId {
    fields.iter().map(|field| field.id.max(highest_in(&field.ty))).max().unwrap_or(-1)
}

fn highest_in(ty: &DataType) -> FieldId {
    match &ty.kind {
        TypeKind::Array(inner) | TypeKind::Multiset(inner) | TypeKind::Vector { element: inner, .. } => {
            highest_in(inner)
        }
        TypeKind::Map(key, value) => highest_in(key).max(highest_in(value)),
        TypeKind::Row(fields) => highest_of(fields),
        _ => -1,
    }
}

/// The id of the schema after this one.
///
/// # Errors
/// `InvalidInput` if the largest number is used.
pub(in crate::paimon) fn next_schema_id(id: i64) -> Result<i64> {
    id.checked_add(1).ok_or_else(|| Error::used_up("schema ids"))
}

/// Gives a field and the fields in it the next ids.
///
/// # Errors
/// `InvalidInput` if there are no more ids.
pub(in crate::paimon) fn renumbered(field: &DataField, next: &mut FieldId) -> Result<DataField> {
    let id = *next;
    // Higher ids are those of key columns in files.
    if id >= STORED_KEY_BASE {
        return Err(Error::used_up("column ids"));
    }
    *next += 1;
    Ok(DataField { id, ty: renumbered_type(&field.ty, next)?, ..field.clone() })
}

/// Gives the fields in a type the next ids.
///
/// # Errors
/// As [`renumbered`].
pub(super) fn renumbered_type(ty: &DataType, next: &mut FieldId) -> Result<DataType> {
    let mut inner = |ty: &DataType| renumbered_type(ty, next).map(Box::new);
    let kind = match &ty.kind {
        TypeKind::Array(element) => TypeKind::Array(inner(element)?),
        TypeKind::Vector { element, length } => TypeKind::Vector { element: inner(element)?, length: *length },
        TypeKind::Multiset(element) => TypeKind::Multiset(inner(element)?),
        TypeKind::Map(key, value) => {
            let key = inner(key)?;
            TypeKind::Map(key, inner(value)?)
        }
        TypeKind::Row(fields) => {
            TypeKind::Row(fields.iter().map(|f| renumbered(f, next)).collect::<Result<Arc<[_]>>>()?)
        }
        kind => kind.clone(),
    };
    Ok(DataType { kind, nullable: ty.nullable })
}
