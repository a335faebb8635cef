//! What the verbs of all formats share: streams, shapes, keys, matching.

pub(crate) mod clauses;
pub(crate) mod key_columns;
pub(crate) mod key_ranges;
pub(crate) mod keys;
pub(crate) mod matcher;
pub mod plan_table;
pub(crate) mod shape;
pub(crate) mod source;
pub mod stream;
