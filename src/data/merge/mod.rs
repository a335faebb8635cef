//! Merging the files of primary-key tables.

pub(crate) mod aligned_read;
pub mod buffer;
pub(crate) mod columns;
pub mod compact;
pub(crate) mod diff;
pub(crate) mod function;
pub mod kind_rows;
pub(crate) mod nested;
pub(crate) mod picks;
pub(crate) mod read;
pub(crate) mod rules;
pub(crate) mod runs;
pub(crate) mod sketches;
