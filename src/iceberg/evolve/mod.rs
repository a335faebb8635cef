//! Changes of what a table is, rather than of its rows: schema, partition spec, sort order, properties, location, format
//! version, branches and tags.
//!
//! An [`Evolution`] is such a change as data. [`apply`] makes the metadata after a list of them, without any I/O; so a commit
//! can apply them again when another writer was first. [`Requirements`] say what must not have changed meanwhile.
//!
//! Source: Iceberg specification, "Schema Evolution", "Partition Evolution", "Sorting", "Snapshot References".

mod columns;
pub(crate) mod commit;
mod defaults;
mod name_mapping;
mod partition;
pub(crate) mod properties;
mod refs;
mod requirements;
mod schema;
mod schema_apply;
mod sort_order;
mod union;

use std::collections::BTreeMap;

pub(super) use defaults::canonical;
pub use requirements::Requirements;

use super::spec::metadata::TableMetadata;
use crate::error::{Error, Result};
use crate::format::evolution::Evolution;

/// Where the metrics mode of a column is set.
const METRICS_MODE: &str = schema_apply::COLUMN_PROPERTIES[0];

impl Evolution {
    /// With every version that it speaks of as a snapshot's id, see [`RefUpdate::pinned`].
    ///
    /// # Errors
    /// `NotFound` if there is no such version.
    pub fn pinned(&self, metadata: &TableMetadata) -> Result<Evolution> {
        match self {
            Evolution::Ref(update) => update.pinned(metadata).map(Evolution::Ref),
            other => Ok(other.clone()),
        }
    }
}

/// The metadata after these changes, in order. If they change nothing, nothing changes but perhaps the time.
///
/// # Errors
/// `InvalidInput`, `NotFound`, `AlreadyExists` or `Unsupported` for a change that the specification does not allow.
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

/// Whether two versions are the same but for the time.
pub fn is_same(a: &TableMetadata, b: &TableMetadata) -> bool {
    TableMetadata { last_updated_ms: b.last_updated_ms, ..a.clone() } == *b
}

fn check_column_properties(base: &TableMetadata, properties: &BTreeMap<String, String>) -> Result<()> {
    let schema = base.schema()?;
    for name in properties.keys() {
        if let Some(column) = name.strip_prefix(METRICS_MODE)
            && !partition::names_column(schema, column)
        {
            return Err(Error::invalid(format!("the property is about the column '{column}', which is not there"))
                .with("property", name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
