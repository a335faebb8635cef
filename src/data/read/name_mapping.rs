//! Field ids for the columns of files that have none.
//!
//! If a file has any field id, its ids count. Otherwise it gets the ids of the table's name mapping, at every depth.
//! Columns that the mapping does not name have no id and are not read. If there is no mapping, the top-level columns of
//! a Parquet file are numbered by their places, as in Java. Columns below them have no ids. Avro and ORC files then use
//! the names of the table's columns.
//!
//! Source: Iceberg specification, "Column Projection".

use arrow::datatypes::DataType;

use super::file_columns::{FileColumn, FileColumns};
use crate::error::Result;
use crate::format::task::{DataFile, FileFormat, ReadContext};
use crate::types::FieldId;
use crate::types::name_mapping::NameMapping;

impl FileColumns {
    /// Gives the columns of a file their ids. In a Paimon table they come from the file's schema. Otherwise a file
    /// without ids gets those of the name mapping, or ids by name or place.
    ///
    /// # Errors
    /// `CorruptTable` if the table's name mapping cannot be read; the errors of [`FileColumns::identify_bucket_file`].
    pub(crate) fn identify(&mut self, context: &ReadContext, file: &DataFile) -> Result<()> {
        if let (Some(buckets), Some(bucket_file)) = (&context.buckets, &file.bucket_file) {
            return self.identify_bucket_file(buckets, bucket_file, &context.schema);
        }
        if self.has_ids() {
            return Ok(());
        }
        let mapping = match (&context.name_mapping, file.format) {
            (Some(text), _) => NameMapping::parse(text)?,
            (None, FileFormat::Avro | FileFormat::Orc) => NameMapping::of_names(&context.schema.fields),
            (None, FileFormat::Parquet | FileFormat::Puffin | FileFormat::Blob) => {
                for (place, column) in self.0.iter_mut().enumerate() {
                    column.id = FieldId::try_from(place + 1).ok();
                }
                return Ok(());
            }
        };
        self.identify_by(&mapping);
        Ok(())
    }

    /// Gives the columns the ids of a mapping.
    pub(crate) fn identify_by(&mut self, mapping: &NameMapping) {
        for column in &mut self.0 {
            let name = column.field.name().clone();
            column.identify(&name, mapping);
        }
    }
}

impl FileColumn {
    fn identify(&mut self, name: &str, mapping: &NameMapping) {
        let Some(found) = mapping.find(name) else { return };
        self.id = found.id;
        // Writers name elements, keys and values as they like.
        let usual: &[&str] = match self.field.data_type() {
            DataType::List(_) => &["element"],
            DataType::Map(..) => &["key", "value"],
            _ => &[],
        };
        for (i, child) in self.children.iter_mut().enumerate() {
            let own = child.field.name().clone();
            child.identify(usual.get(i).copied().unwrap_or(&own), &found.fields);
        }
    }
}

#[cfg(test)]
#[path = "name_mapping_tests.rs"]
mod tests;
