//! Apache Paimon: a table format, complete in one folder.
//!
//! The lower half knows neither Arrow nor data files. Each folder imports only from those above it:
//!
//! 1. [`spec`]: types, schemas, snapshots, options, binary rows, statistics
//! 2. [`manifest`]: manifest lists, manifests and index manifests
//! 3. [`catalog`]: folders of tables and databases, tags, branches, changes of schemas
//! 4. [`plan`]: from a snapshot and a filter to splits
//! 5. [`commit`]: producing and expiring snapshots
//!
//! The upper half has the verbs, with Arrow. [`state`] is the handle of a table and knows none of them.
//! `version` finds the snapshot and the schema that a request names:
//!
//! 6. [`scan`]: plan, explain, read
//! 7. [`write`](mod@write): rows to files, files to snapshots
//! 8. [`rows`]: delete, update, upsert, merge
//! 9. [`evolve`], [`maintain`], [`inspect`], [`doctor`]: change the table, maintain it, inspect it, examine it
//! 10. `wire`: handles for other processes
//! 11. [`table`]: the table behind the seam; `catalog_tables`: the tables of a warehouse

pub mod catalog;
pub(crate) mod catalog_tables;
pub mod commit;
pub mod doctor;
pub mod evolve;
pub mod inspect;
pub mod maintain;
pub mod manifest;
pub mod plan;
pub mod rows;
pub mod scan;
pub mod spec;
pub mod state;
pub mod table;
mod version;
pub(crate) mod wire;
pub mod write;
