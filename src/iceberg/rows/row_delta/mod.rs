//! Row deltas: deletes that are written without reading the rows that they delete.

pub(crate) mod by_key;
pub(crate) mod by_position;
pub(crate) mod delta;
