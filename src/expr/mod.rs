//! Filters: what the user wrote ([`Predicate`]), the same bound to a schema ([`BoundPredicate`]), and the one algorithm
//! that decides from bounds whether rows can match ([`bounds`]).
//!
//! Meaning everywhere: Spark SQL's. Three-valued logic, NaN equals NaN and is above all numbers, -0.0 equals 0.0.

pub mod bind;
pub mod bounds;
mod coerce;
pub mod explain;
pub mod json;
mod lex;
#[cfg(test)]
pub(crate) mod oracle;
pub mod parse;
pub mod predicate;
pub mod residual;
mod text;

pub use bind::bind;
pub use bounds::{Bounds, ColumnBounds, Verdict};
pub use coerce::value_of;
pub use parse::parse;
pub use predicate::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, Predicate, Term};
