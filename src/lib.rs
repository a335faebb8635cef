//! Frazil.
pub mod catalog;
pub mod codec;
pub mod data;
pub mod error;
pub mod expr;
pub mod iceberg;
#[cfg(feature = "python")]
mod py;
pub mod scan;
pub mod store;
pub mod table;
pub mod task;
pub mod task_json;
pub mod types;
