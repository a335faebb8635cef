//! Manifest lists and manifests: decoding and encoding.
//!
//! - `avro`: the Avro schemas of manifests and manifest lists
//! - `columns`: manifests: the files of a snapshot with their partition tuples and column metrics
//! - `decode`: the hot path: decodes manifest entries from Avro bytes directly into columns
//! - `encode`: writes manifests as Java does: the same schema and metadata, with the counts and summaries for
//!   the manifest list
//! - `entries`: manifest entries as columns, for decoding and planning
//! - `layout`: the content of a manifest's header: its partition spec, and the writer's layout of an entry
//! - `list`: manifest lists: one entry for each manifest of a snapshot, with the counts and summaries that
//!   let planning skip it
//! - `load`: the manifests of a snapshot: its manifest list, or the inline list of v1
//! - `metrics`: all column metrics of an entry as maps, for the few entries that need them
//! - `read_budget`: the limit on the bytes of manifests that a plan may read
//! - `record`: the records of manifests, field by field in the order of their schema
//! - `walk`: walks a table's metadata for its metadata tables
//! - `whole`: whether manifests and lists are whole, by the lengths and counts above them

pub(crate) mod avro;
pub mod columns;
pub(crate) mod decode;
pub mod encode;
pub mod entries;
pub(crate) mod layout;
pub mod list;
pub mod load;
pub(crate) mod metrics;
pub mod read_budget;
mod record;
pub mod walk;
pub mod whole;
