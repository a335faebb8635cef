//! Row deltas: deletes that are written without a look at the rows that they delete.

pub(crate) mod by_key;
pub(crate) mod by_position;
pub(crate) mod delta;
