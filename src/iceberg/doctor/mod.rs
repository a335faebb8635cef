//! Examines a table from its metadata file down to its data files, and repairs it.
//!
//! Nothing that is read here fails the examination: damage becomes a finding. Only a cancellation ends it.
//!
//! - `codes`: the codes of findings that only this format has
//! - `diagnose`: examinations of open tables, and of places where no table can be opened
//! - `document`: the metadata file as JSON: schemas, specs, sort orders, the name mapping
//! - `history`: the metadata file as JSON: snapshots, references, logs
//! - `mend`: a metadata document without references and log entries that lead nowhere
//! - `course`: the course of an examination below the metadata file
//! - `seen`: the facts of entries that are compared with each other
//! - `examination`: the state of an examination
//! - `lists`: manifest lists
//! - `manifests`: manifests, their headers and sums
//! - `entries`: entries of manifests
//! - `file_checks`: data and delete files: size, footer, rows
//! - `relations`: entries that contradict each other
//! - `summaries`: summaries of snapshots
//! - `statistics`: statistics files, files of the metadata log
//! - `repair`: repairs of an open table
//! - `restore`: a new metadata file for a table that can't be opened
//! - `outside`: files that nothing leads to
//! - `health`: what would make the table faster or smaller
//! - `order`: the bounds of columns over all files

pub mod codes;
mod course;
mod diagnose;
mod document;
mod entries;
mod examination;
mod file_checks;
mod health;
mod history;
mod lists;
mod manifests;
mod mend;
mod order;
mod outside;
mod relations;
mod repair;
mod restore;
mod seen;
mod statistics;
mod summaries;

pub use diagnose::examine_place;
pub use restore::restore;
