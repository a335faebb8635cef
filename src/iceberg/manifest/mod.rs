//! Manifest lists and manifests: decoding and encoding.

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
