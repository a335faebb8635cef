//! The columns, sort order and locations with which rows of a table are written.

use std::sync::Arc;

use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::locations::FileLocations;
use crate::error::{Error, Result};
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::iceberg::state::IcebergTable;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};
use crate::types::{Field, Schema, SortOrder};

/// The property with the key of an encrypted table.
const TABLE_KEY: &str = "encryption.key-id";

/// The table's columns, followed by the columns of row lineage where it has them.
///
/// # Errors
/// `Unsupported` if the table has a column with the name of a lineage column.
pub(crate) fn schema_with_lineage(table: &IcebergTable) -> Result<Arc<Schema>> {
    let own = table.schema();
    if table.format_version() < 3 {
        return Ok(own.clone());
    }
    let fields: Vec<Field> = own.fields.iter().cloned().chain(lineage_columns(own)?).collect();
    Ok(Arc::new(Schema::new(own.id, fields, own.identifier_field_ids.clone())))
}

/// The columns of row lineage.
///
/// # Errors
/// `Unsupported` if the table has a column with such a name.
pub(crate) fn lineage_columns(schema: &Schema) -> Result<Vec<Field>> {
    let columns: Vec<Field> = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column).collect();
    match columns.iter().find(|c| schema.fields.iter().any(|f| f.name == c.name)) {
        Some(taken) => Err(Error::unsupported("the table has a column with the name of one of row lineage")
            .with("column", &taken.name)
            .hint("Rename the column")),
        None => Ok(columns),
    }
}

impl IcebergTable {
    /// The sort order that texts describe (`ts desc nulls last`), with the id of the table's equal order, or 0.
    ///
    /// # Errors
    /// As [`parse_sort_by`].
    pub(crate) fn order_by<T: AsRef<str>>(&self, texts: &[T]) -> Result<SortOrder> {
        let order = parse_sort_by(texts, self.schema())?;
        let own = std::iter::once(&self.inner.sort_order).chain(&self.inner.metadata.sort_orders);
        let id = own.into_iter().find(|own| own.fields == order.fields).map_or(0, |own| own.id);
        Ok(SortOrder { id, ..order })
    }

    /// As [`IcebergTable::write_context`], for rows that keep their identity. The rows have their lineage, where the
    /// table has it.
    ///
    /// # Errors
    /// As [`IcebergTable::write_context`]; `Unsupported` if the table has a column with the name of a lineage column.
    pub(crate) fn lineage_context(&self, task: u64) -> Result<WriteContext> {
        Ok(WriteContext { schema: schema_with_lineage(self)?, ..self.write_context(task)? })
    }

    /// How to write rows of this version. Each writer needs its own context, which names its files. `task` numbers the
    /// writers of one job.
    ///
    /// # Errors
    /// `Unsupported` for an encrypted table; as [`FileLocations::new`].
    pub(crate) fn write_context(&self, task: u64) -> Result<WriteContext> {
        let m = &self.inner.metadata;
        if m.properties.contains_key(TABLE_KEY) {
            return Err(Error::unsupported("rows of an encrypted table can't be written: they would not be encrypted")
                .with("property", TABLE_KEY));
        }
        Ok(WriteContext {
            schema: self.schema().clone(),
            spec: self.inner.spec.clone(),
            order: self.inner.sort_order.clone(),
            row_order: RowOrder::Sort,
            locations: FileLocations::new(&m.location, &m.properties)?,
            properties: m.properties.clone(),
            write_id: uuid::Uuid::new_v4().to_string(),
            task_id: task,
        })
    }
}
