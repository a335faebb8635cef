//! Changes of a table's metadata as plain data, and the resulting metadata.

use std::collections::BTreeMap;

use super::{partition, refs, schema_apply, sort_order};
use crate::error::{Error, Result};
use crate::format::evolution::Evolution;
use crate::iceberg::spec::metadata::TableMetadata;

/// Where the metrics mode of a column is set.
const METRICS_MODE: &str = schema_apply::COLUMN_PROPERTIES[0];

impl Evolution {
    /// Resolves every version in the change to a snapshot id, see `RefUpdate::pinned`.
    ///
    /// # Errors
    /// `NotFound` for an unknown version.
    pub fn pinned(&self, metadata: &TableMetadata) -> Result<Evolution> {
        match self {
            Evolution::Ref(update) => update.pinned(metadata).map(Evolution::Ref),
            other => Ok(other.clone()),
        }
    }
}

/// The metadata after these changes, in order. Without an effective change, at most the time differs.
///
/// # Errors
/// `InvalidInput`, `NotFound`, `AlreadyExists` or `Unsupported` for changes that the specification does not allow.
pub fn apply(base: &TableMetadata, evolutions: &[Evolution], now_ms: i64) -> Result<TableMetadata> {
    let mut next = base.clone();
    for evolution in evolutions {
        next = apply_one(&next, evolution, now_ms)?;
    }
    next.last_updated_ms = next.last_updated_ms.max(now_ms);
    Ok(next)
}

fn apply_one(base: &TableMetadata, evolution: &Evolution, now_ms: i64) -> Result<TableMetadata> {
    match evolution {
        Evolution::Schema(update) => schema_apply::update_schema(base, update),
        Evolution::Spec(update) => partition::update_spec(base, update),
        Evolution::SortOrder(update) => sort_order::replace_sort_order(base, update),
        Evolution::SetProperties(properties) => {
            check_column_properties(base, properties)?;
            base.set_properties(properties, now_ms)
        }
        Evolution::RemoveProperties(names) => Ok(base.remove_properties(names, now_ms)),
        Evolution::SetLocation(location) => {
            let location = location.trim_end_matches('/');
            if location.is_empty() {
                return Err(Error::invalid("a table needs a location"));
            }
            Ok(TableMetadata { location: location.to_owned(), ..base.clone() })
        }
        Evolution::Upgrade(version) => base.upgrade_format_version(*version, now_ms),
        Evolution::Ref(update) => refs::update_ref(base, update, now_ms),
    }
}

/// Whether two versions are equal except for the time.
pub fn is_same(a: &TableMetadata, b: &TableMetadata) -> bool {
    TableMetadata { last_updated_ms: b.last_updated_ms, ..a.clone() } == *b
}

fn check_column_properties(base: &TableMetadata, properties: &BTreeMap<String, String>) -> Result<()> {
    let schema = base.schema()?;
    for name in properties.keys() {
        if let Some(column) = name.strip_prefix(METRICS_MODE)
            && !partition::names_column(schema, column)
        {
            return Err(Error::invalid(format!("the property is about the column '{column}', which does not exist"))
                .with("property", name));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
