//! Computes the formulas of filters for the rows of a batch.
//!
//! - `compare`: compares two columns row by row
//! - `evaluate`: the column of a formula's values
//! - `numbers`: sums, differences and products of whole columns

pub(crate) mod compare;
pub(crate) mod evaluate;
mod numbers;
