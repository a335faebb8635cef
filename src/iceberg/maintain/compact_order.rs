//! The order that rows get when files are rewritten.

use crate::data::write::context::{RowOrder, Sorting};
use crate::data::write::z_order::ZOrder;
use crate::error::{Error, Result};
use crate::format::maintenance::FileOrder;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::iceberg::state::IcebergTable;
use crate::types::{FieldId, Transform};

impl FileOrder {
    /// The order of the rows of a table.
    ///
    /// # Errors
    /// `InvalidInput` for texts that are not an order of the table's columns, and for the own order of an unsorted
    /// table. Also for a curve through columns that are constant in each partition.
    pub(crate) fn rows(&self, table: &IcebergTable) -> Result<RowOrder> {
        match self {
            FileOrder::AsRead => Ok(RowOrder::Any),
            FileOrder::Sort(by) if by.is_empty() => match table.sort_order() {
                own if own.fields.is_empty() => Err(Error::invalid("the table has no sort order, and none was given")
                    .hint("Give sort_by=[...], or update the table's sort order")),
                own => Ok(RowOrder::By(Sorting::Order(own.as_ref().clone()))),
            },
            FileOrder::Sort(by) => Ok(RowOrder::By(Sorting::Order(table.order_by(by)?))),
            FileOrder::ZOrder { by, max_output_bytes, text_bytes } => {
                let order = ZOrder::of(columns(table, by)?);
                Ok(RowOrder::By(Sorting::ZOrder(ZOrder {
                    max_output_bytes: max_output_bytes.unwrap_or(order.max_output_bytes),
                    text_bytes: text_bytes.unwrap_or(order.text_bytes),
                    ..order
                })))
            }
        }
    }
}

/// The columns of a curve, without those that the table is partitioned by.
fn columns(table: &IcebergTable, by: &[String]) -> Result<Vec<FieldId>> {
    if by.is_empty() {
        return Err(Error::invalid("a z-order needs columns").hint("Give zorder_by=[...]"));
    }
    let spec = table.partition_spec();
    let constant = |id: FieldId| spec.fields.iter().any(|f| f.transform == Transform::Identity && f.source_id == id);
    let mut columns = Vec::new();
    for text in by {
        let order = parse_sort_by(&[text], table.schema())?;
        let [field] = order.fields.as_slice() else { continue };
        if field.transform != Transform::Identity || field.descending || !field.nulls_first {
            return Err(
                Error::invalid("a z-order takes plain columns, without transform or direction").with("column", text)
            );
        }
        if columns.contains(&field.source_id) {
            return Err(Error::invalid("a column is in the z-order twice").with("column", text));
        }
        if !constant(field.source_id) {
            columns.push(field.source_id);
        }
    }
    match columns.is_empty() {
        true => Err(Error::invalid("every column of the z-order is constant in each partition")),
        false => Ok(columns),
    }
}
