//! Metadata tables as Arrow, with the columns of Java's system tables.

pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod tables;
pub(crate) mod texts;
