//! Changes of a table's metadata rather than its rows: schema, partition spec, sort order, properties, location, format
//! version, branches and tags.
//!
//! An [`Evolution`](crate::format::evolution::Evolution) is such a change as plain data. [`apply`] returns the
//! metadata after a list of them, without any I/O. So a commit can apply them again when another writer committed
//! first. [`Requirements`] hold the parts that must not have changed meanwhile.
//!
//! Source: Iceberg specification, "Schema Evolution", "Partition Evolution", "Sorting", "Snapshot References".
//!
//! - `columns`: finding columns by the names that a user writes
//! - `commit`: committing evolutions of a table: see `crate::iceberg::evolve`
//! - `name_mapping`: the table's name mapping after an update of its schema
//! - `partition`: updates of a table's partition spec
//! - `properties`: checks values of table properties that this library or Java Iceberg could not use
//! - `refs`: branches and tags, and the current snapshot of a branch
//! - `replacement`: replacing a table: another schema, spec and sort order, no rows
//! - `requirements`: the requirements of an evolution: no other commit has changed the same part of the table
//!   since its author looked
//! - `schema`: updates of a table's schema: the rules for each operation, and for operations of the same
//!   update
//! - `schema_apply`: the schema and the table metadata that an update of the schema leads to
//! - `sort_order`: replacing a table's sort order
//! - `union`: the union of the table's schema with another one, by name: rows of both fit the result
//! - `updates`: changes of a table's metadata as plain data, and the resulting metadata

mod columns;
pub(crate) mod commit;
mod name_mapping;
mod partition;
pub(crate) mod properties;
mod refs;
mod replacement;
mod requirements;
mod schema;
mod schema_apply;
mod sort_order;
mod union;
mod updates;

pub use replacement::{Replacement, ReplacementPlan};
pub use requirements::Requirements;
pub use updates::{apply, is_same};
