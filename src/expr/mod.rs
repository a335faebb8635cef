//! Filters as the user wrote them ([`Predicate`]) and as they are bound to a schema ([`BoundPredicate`]). One
//! algorithm decides from bounds whether rows can match ([`bounds`]).
//!
//! Meaning everywhere: Spark SQL's. Three-valued logic, NaN equals NaN and is above all numbers, -0.0 equals 0.0.
//!
//! - `bind`: binds a filter to a schema: names become field ids, literals become values of the column's type,
//!   and `not` is pushed down to the leaves
//! - `coerce`: finds the place of an untyped literal among the values of a type
//! - `explain`: explains in words why rows were pruned
//! - `formula`: values that a filter computes from columns, and questions about them
//! - `json`: filters as the JSON of the REST catalog protocol and of scan tasks
//! - `lex`: splits filter text into tokens
//! - `oracle`: for property tests: the result of a filter on a row, computed row by row, and random columns, rows and
//!   filters
//! - `parse`: reads filter text: SQL comparisons, `in`, `between`, `like`, null, NaN and truth tests, `and or not`,
//!   parentheses
//! - `predicate`: the two forms of a filter
//! - `residual`: the residual of a filter on rows with known bounds
//! - `text`: filters as text

pub mod bind;
pub mod bounds;
mod coerce;
pub mod explain;
pub mod formula;
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
pub use formula::{BoundFormula, BoundFunction, BoundTest, Question};
pub use parse::parse;
pub use predicate::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, Predicate, Term};
