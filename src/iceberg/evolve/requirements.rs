//! The requirements of an evolution: no other commit has changed the same part of the table since its author looked.
//!
//! The parts are those of the reference's `UpdateRequirements`. Other changes do not matter: the evolution is
//! made on the newest version.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::error::{Error, Result};
use crate::format::evolution::Evolution;
use crate::iceberg::spec::metadata::TableMetadata;

/// Parts of the table, with the values that they must still have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    schema: Option<(i32, i32)>,
    spec: Option<(i32, i32)>,
    sort_order: Option<i32>,
    refs: BTreeMap<String, Option<i64>>,
}

impl Requirements {
    /// The requirements of evolutions that were meant for `base`.
    pub fn of(base: &TableMetadata, evolutions: &[Evolution]) -> Requirements {
        let mut out = Requirements::default();
        for evolution in evolutions {
            match evolution {
                Evolution::Schema(_) => out.schema = Some((base.current_schema_id, base.last_column_id)),
                Evolution::Spec(_) => out.spec = Some((base.default_spec_id, base.last_partition_id)),
                Evolution::SortOrder(_) => out.sort_order = Some(base.default_sort_order_id),
                Evolution::Ref(update) => {
                    for name in update.changes() {
                        out.refs.insert(name.to_owned(), base.refs.get(name).map(|r| r.snapshot_id));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Makes sure that all requirements are still met.
    ///
    /// # Errors
    /// `CommitConflict` that names the change of another commit.
    pub fn check(&self, newest: &TableMetadata) -> Result<()> {
        if let Some((schema, column)) = self.schema {
            unchanged("current schema id", schema, newest.current_schema_id)?;
            unchanged("last column id", column, newest.last_column_id)?;
        }
        if let Some((spec, field)) = self.spec {
            unchanged("default partition spec id", spec, newest.default_spec_id)?;
            unchanged("last partition field id", field, newest.last_partition_id)?;
        }
        if let Some(order) = self.sort_order {
            unchanged("default sort order id", order, newest.default_sort_order_id)?;
        }
        let shown = |id: Option<i64>| id.map_or("none".to_owned(), |id| id.to_string());
        for (name, id) in &self.refs {
            let there = newest.refs.get(name).map(|r| r.snapshot_id);
            unchanged(&format!("snapshot of '{name}'"), shown(*id), shown(there))?;
        }
        Ok(())
    }
}

fn unchanged<T: PartialEq + Display>(what: &str, expected: T, found: T) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::conflict(format!("another commit changed the table's {what} since this change was begun"))
        .with("expected", expected)
        .with("found", found)
        .hint("Nothing was committed. Refresh the table, look at what changed, and make the change again"))
}
