//! Examines a table: schemas, snapshots, hints, manifests, data files, index files, changelogs. Repairs open tables.
//!
//! Nothing that is read here fails the examination: damage becomes a finding. Only a cancellation ends it.
//!
//! - `codes`: the codes of findings that only this format has
//! - `diagnose`: the course of an examination
//! - `folder`: schemas, snapshots, hints, tags, consumers
//! - `manifests`: manifest lists and manifests
//! - `live`: the files of a snapshot, and their relations
//! - `levels`: key ranges, levels and row ids
//! - `data_files`: data files: size, footer, rows
//! - `indexes`: index files and deletion vectors
//! - `health`: what would make the table faster or smaller
//! - `repair`: repairs: a commit each, and hints

pub mod codes;
mod data_files;
mod diagnose;
mod folder;
mod health;
mod indexes;
mod levels;
mod live;
mod manifests;
mod repair;

pub use diagnose::examine_place;
