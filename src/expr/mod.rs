//! Filters as the user wrote them ([`Predicate`]) and as they are bound to a schema ([`BoundPredicate`]). One
//! algorithm decides from bounds whether rows can match ([`bounds`]).
//!
//! Meaning everywhere: Spark SQL's. Three-valued logic, NaN equals NaN and is above all numbers, -0.0 equals 0.0.
//!
//! - `bind`: binds a filter to a schema: `not` is pushed down to the leaves
//! - `bind_leaf`: binds a question about a column: names become field ids, literals become values of the column's type
//! - `bounds`: the pruning algorithm
//! - `calendar`: refuses numbers that SQL and Iceberg take differently, such as `year(ts) = 2026`
//! - `coerce`: finds the place of an untyped literal among the values of a type
//! - `cursor`: the place in filter text that is read next; reads names and literals
//! - `explain`: explains in words why rows were pruned
//! - `foreign_words`: what to write in place of words that other dialects of SQL have
//! - `formula`: values that a filter computes from columns, and questions about them
//! - `json`: filters as the JSON of the REST catalog protocol and of scan tasks
//! - `leaf_bounds`: what bounds of columns say about one leaf
//! - `lex`: splits filter text into tokens
//! - `oracle`: for property tests: the result of a filter on a row, computed row by row, and random columns, rows and
//!   filters
//! - `parse`: reads filter text: SQL comparisons, `in`, `between`, `like`, null, NaN and truth tests, `and or not`,
//!   parentheses
//! - `predicate`: the two forms of a filter
//! - `residual`: the residual of a filter on rows with known bounds
//! - `sanitized`: filters without their literals, for reports
//! - `term`: columns, operations and literals
//! - `text`: filters as text

pub mod bind;
mod bind_leaf;
pub mod bounds;
mod calendar;
mod coerce;
mod cursor;
pub mod explain;
mod foreign_words;
pub mod formula;
pub mod json;
mod leaf_bounds;
mod lex;
#[cfg(test)]
pub(crate) mod oracle;
pub mod parse;
pub mod predicate;
pub mod residual;
pub mod sanitized;
mod term;
mod text;

pub use bind::bind;
pub use bounds::{Bounds, ColumnBounds, Verdict};
pub use coerce::value_of;
pub use formula::{BoundFormula, BoundFunction, BoundTest, TestQuestion};
pub use parse::parse;
pub use predicate::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, Predicate, Term};
