//! The Iceberg tower: bytes of the format to tasks and commits.

pub mod catalog;
pub mod catalog_tables;
pub mod commit;
pub mod committing;
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
pub mod transaction;
pub mod write;
