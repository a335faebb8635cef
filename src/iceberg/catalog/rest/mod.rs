//! Catalogs behind Iceberg's REST API: a service keeps the names, the metadata and often the credentials of tables.
//!
//! A table is loaded by one request and committed to by one request. A commit sends requirements and updates, and the
//! server makes the next version.
//!
//! Source: `open-api/rest-catalog-open-api.yaml` of apache/iceberg. Names of properties are those of Java and
//! PyIceberg.
//!
//! - `any_answer`: any bytes as each answer of a server, for programs that try bad input
//! - `answers`: answers of a server as JSON
//! - `catalog`: the catalog
//! - `commit`: the pointer to a table's current version, and how a commit is published
//! - `credentials`: the options of a table's store, by the server's credentials
//! - `effects`: whether a version has the effects of a commit
//! - `endpoints`: what a server can do
//! - `errors`: refusals of a server
//! - `joint_commit`: commits to several tables in one request
//! - `names`: names of namespaces and tables in URLs
//! - `namespaces`: requests about namespaces
//! - `pages`: lists that come in pages
//! - `planning`: scans that the server plans
//! - `reports`: reports of scans and commits for the server
//! - `registration`: requests that add a table by its metadata file, or take it out of the catalog
//! - `server`: a server that has told its configuration, and requests to it
//! - `session`: the connection of a catalog, which begins at the first use
//! - `snapshots`: which snapshots a load of a table asks for
//! - `tables`: requests about tables
//! - `verdict`: what became of a change
//! - `views`: requests about views

mod answers;
mod any_answer;
mod catalog;
mod commit;
mod credentials;
mod effects;
mod endpoints;
mod errors;
mod joint_commit;
mod names;
mod namespaces;
mod pages;
mod planning;
mod registration;
mod reports;
mod server;
mod session;
mod snapshots;
mod tables;
mod verdict;
mod views;

pub use any_answer::read_any_answer;
pub(super) use catalog::RestCatalog;
pub(super) use effects::{has_effects, has_snapshot};
