//! The JSON and the binary forms of tasks, splits and messages that travel between processes.

pub(crate) mod buckets;
pub(crate) mod encode;
pub(crate) mod handle;
pub(crate) mod members;
pub mod packed;
pub(crate) mod paths;
pub mod plain;
pub mod task;
