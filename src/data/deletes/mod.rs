//! Delete files: reading them and leaving out the rows that they delete.

pub mod files;
pub mod filter;
pub(crate) mod keys;
pub(crate) mod long_keys;
pub mod positions;
