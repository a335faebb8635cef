//! Frazil.
pub mod codec;
pub mod data;
pub mod error;
pub mod expr;
pub mod iceberg;
pub mod store;
pub mod task;
pub mod types;
