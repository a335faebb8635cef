//! Replacing a table's sort order.
//!
//! Source: Iceberg specification, "Sorting".

use std::sync::Arc;

use super::partition::{Source, resolve};
use crate::error::{Result, ResultExt};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::types::{SortField, SortOrder};

/// A new sort order. No fields: unsorted.
#[derive(Clone, Debug, PartialEq)]
pub struct SortOrderUpdate {
    /// Most significant first.
    pub fields: Vec<NewSortField>,
    /// Whether columns are matched exactly by name.
    pub case_sensitive: bool,
}

/// A field of a new sort order.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSortField {
    /// The column or transform.
    pub source: Source,
    /// Greatest first.
    pub descending: bool,
    /// Nulls before values; by default where ascending.
    pub nulls_first: Option<bool>,
}

/// The metadata with another default sort order. One that the table had before is used again.
///
/// # Errors
/// `InvalidInput` if a field is no column, or its type can't be sorted so.
pub(super) fn replace_sort_order(base: &TableMetadata, update: &SortOrderUpdate) -> Result<TableMetadata> {
    let schema = base.schema()?;
    let field = |f: &NewSortField| {
        let (source_id, transform) =
            resolve(&f.source, schema, update.case_sensitive).with("sort field", &f.source.term)?;
        let nulls_first = f.nulls_first.unwrap_or(!f.descending);
        Ok(SortField { source_id, transform, descending: f.descending, nulls_first })
    };
    let fields = update.fields.iter().map(field).collect::<Result<Vec<_>>>()?;
    let mut next = base.clone();
    let known = base.sort_orders.iter().find(|o| o.fields == fields && (o.id == 0) == fields.is_empty());
    next.default_sort_order_id = match known {
        Some(known) => known.id,
        None => {
            let highest = base.sort_orders.iter().map(|o| o.id).max().unwrap_or(0);
            let id = if fields.is_empty() { 0 } else { highest.saturating_add(1).max(1) };
            next.sort_orders.push(Arc::new(SortOrder { id, fields }));
            id
        }
    };
    Ok(next)
}
