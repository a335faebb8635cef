//! System tables as Arrow.

pub(crate) mod files;
pub(crate) mod tables;
pub(crate) mod texts;
