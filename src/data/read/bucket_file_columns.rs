//! Field ids for the columns of a Paimon table's data files.
//!
//! The columns of a file are those of the schema that it was written with, by name at every depth. Elements, keys and
//! values are found by their place. Ids in the file are ignored: only Parquet files have them, and variants have other
//! ids inside. Values are cast if the type of their column was changed since.
//!
//! Source: Paimon specification, "Schema"; where it is silent, Java's `FormatReaderMapping` and `SpecialFields`.

use super::file_columns::{FileColumn, FileColumns};
use crate::data::declared_types::declared_cast::{Declared, DeclaredCast};
use crate::error::{Error, Result};
use crate::format::task::{BucketContext, BucketFile};
use crate::types::metadata_columns::{KIND_ID, LAST_UPDATED, ROW_ID, SEQUENCE_ID};
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

const SEQUENCE: &str = "_SEQUENCE_NUMBER";
const KIND: &str = "_VALUE_KIND";
const ROW_NUMBER: &str = "_ROW_ID";

/// The two columns that files of tables with a key have in addition to the table's columns.
pub(crate) fn key_value_columns() -> [Field; 2] {
    [
        Field::new(SEQUENCE_ID, SEQUENCE, false, PrimitiveType::Long),
        Field::new(KIND_ID, KIND, false, PrimitiveType::Int),
    ]
}

/// The columns of a schema that a file has.
///
/// # Errors
/// `CorruptTable` if the table lacks the schema.
pub(crate) fn columns_of<'a>(buckets: &'a BucketContext, file: &BucketFile) -> Result<Vec<&'a Field>> {
    let schema = buckets.schemas.get(&file.schema_id);
    let schema = schema.ok_or_else(|| Error::corrupt(format!("the table has no schema {}", file.schema_id)))?;
    let is_written = |f: &&Field| file.write_columns.as_ref().is_none_or(|names| names.contains(&f.name));
    Ok(schema.fields.iter().filter(is_written).collect())
}

impl FileColumns {
    /// Gives the columns of a Paimon table's data file their ids, to be read as columns of `wanted`.
    ///
    /// # Errors
    /// The errors of [`columns_of`]; `Unsupported` for types that can't be cast to the column's current type.
    pub(crate) fn identify_bucket_file(
        &mut self,
        buckets: &BucketContext,
        file: &BucketFile,
        wanted: &Schema,
    ) -> Result<()> {
        let written = columns_of(buckets, file)?;
        let namer = Namer { buckets, file_schema: file.schema_id, wanted };
        for column in &mut self.0 {
            column.forget_ids();
            let name = column.field.name().as_str();
            match written.iter().find(|f| f.name == *name) {
                Some(field) => namer.identify(column, field).map_err(|e| e.with("column", &field.name))?,
                None => column.id = reserved_id(name, !buckets.key.is_empty()),
            }
        }
        Ok(())
    }
}

fn reserved_id(name: &str, has_key: bool) -> Option<FieldId> {
    match name {
        SEQUENCE if has_key => Some(SEQUENCE_ID),
        KIND if has_key => Some(KIND_ID),
        SEQUENCE => Some(LAST_UPDATED),
        ROW_NUMBER => Some(ROW_ID),
        _ => None,
    }
}

struct Namer<'a> {
    buckets: &'a BucketContext,
    file_schema: i64,
    wanted: &'a Schema,
}

impl Namer<'_> {
    fn identify(&self, column: &mut FileColumn, field: &Field) -> Result<()> {
        column.id = Some(field.id);
        match (&field.ty, column.children.as_mut_slice()) {
            (Type::Struct(members), children) => {
                for child in children {
                    if let Some(member) = members.iter().find(|m| m.name == *child.field.name()) {
                        self.identify(child, member)?;
                    }
                }
            }
            (Type::List(element), [child]) => self.identify(child, element)?,
            (Type::Map(key, value), [key_column, value_column]) => {
                self.identify(key_column, key)?;
                self.identify(value_column, value)?;
            }
            (Type::Primitive(stored), []) => column.declared_cast = self.cast(stored, field.id)?,
            _ => {}
        }
        Ok(())
    }

    /// The cast from the old type of a leaf column to its current type.
    fn cast(&self, stored: &PrimitiveType, id: FieldId) -> Result<Option<DeclaredCast>> {
        let Some(Type::Primitive(wanted)) = self.wanted.field(id).map(|f| &f.ty) else { return Ok(None) };
        let declared = |schema: i64| self.buckets.declared.get(&schema).and_then(|types| types.get(&id));
        let from = Declared::new(stored, declared(self.file_schema).map(String::as_str));
        let to = Declared::new(wanted, declared(i64::from(self.wanted.id)).map(String::as_str));
        DeclaredCast::plan(&from, &to)
    }
}

impl FileColumn {
    fn forget_ids(&mut self) {
        self.id = None;
        self.children.iter_mut().for_each(FileColumn::forget_ids);
    }
}
