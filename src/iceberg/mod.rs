//! Apache Iceberg: a table format, complete in one folder.
//!
//! The lower half knows neither Arrow nor data files. Each folder imports only from those above it:
//!
//! 1. `spec`: table metadata, schemas, snapshots, references
//! 2. `manifest`: manifest lists and manifests
//! 3. `plan`: from a snapshot and a filter to tasks
//! 4. `commit`: snapshots, and the requirements and updates of a commit
//! 5. `catalog`: who keeps the current version of a table
//!
//! The upper half has the verbs, with Arrow. `state` is the handle of a table and knows none of them. `history`
//! completes a handle that has only some of the snapshots. `earlier_versions` opens earlier metadata files:
//!
//! 6. `committing`: commits of producers through the handle; `scan`: plan, explain, read
//! 7. `write`: rows to files, files to snapshots
//! 8. `rows`: delete, update, upsert, merge
//! 9. `evolve`, `maintain`, `inspect`, `doctor`: change, maintain, read, examine, repair
//! 10. `transaction`: several changes in one commit
//! 11. `wire`: data that travels to other processes
//! 12. `table`: the table behind the seam; `catalog_tables`: catalogs behind the seam

pub mod catalog;
pub mod catalog_tables;
pub mod commit;
pub(crate) mod commit_attempt;
pub mod committing;
pub mod doctor;
mod earlier_versions;
pub mod evolve;
mod history;
pub mod inspect;
pub mod maintain;
pub mod manifest;
pub mod plan;
#[cfg(test)]
pub(crate) mod rest_testing;
pub mod rows;
pub mod scan;
pub mod spec;
pub mod state;
pub mod table;
pub(crate) mod table_changes;
pub mod transaction;
pub(crate) mod wire;
pub mod write;
