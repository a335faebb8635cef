//! Replacing a table's sort order.
//!
//! Source: Iceberg specification, "Sorting".

use crate::format::evolution::{NewSortField, SortOrderUpdate};
use std::sync::Arc;

use super::partition::resolve;
use crate::error::{Result, ResultExt};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::{SortField, SortOrder};

/// The metadata with another default sort order. An earlier order of the table that is equal is used again.
///
/// # Errors
/// `InvalidInput` if a field is not a column, or its type can't be sorted this way.
pub(super) fn replace_sort_order(base: &TableMetadata, update: &SortOrderUpdate) -> Result<TableMetadata> {
    let schema = base.schema()?;
    let field = |f: &NewSortField| {
        let (source_id, transform) =
            resolve(&f.source, schema, update.case_sensitive).with("sort field", &f.source.term)?;
        let nulls_first = f.nulls_first.unwrap_or(!f.descending);
        Ok(SortField { source_id, transform, descending: f.descending, nulls_first })
    };
    with_sort_order(base, update.fields.iter().map(field).collect::<Result<Vec<_>>>()?)
}

/// The metadata with an order of these fields as the default. An equal order of the table is used again.
///
/// # Errors
/// `InvalidInput` if the largest number is used.
pub(super) fn with_sort_order(base: &TableMetadata, fields: Vec<SortField>) -> Result<TableMetadata> {
    let mut next = base.clone();
    let known = base.sort_orders.iter().find(|o| o.fields == fields && (o.id == 0) == fields.is_empty());
    next.default_sort_order_id = match known {
        Some(known) => known.id,
        None => {
            let id = if fields.is_empty() { 0 } else { base.next_sort_order_id()? };
            next.sort_orders.push(Arc::new(SortOrder { id, fields }));
            id
        }
    };
    Ok(next)
}
