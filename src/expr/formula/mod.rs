//! Values that a filter computes from columns: `lower(name)`, `price * 2`, `cast(code as int)`.
//!
//! A filter that compares plain columns with literals consists of leaves. All other comparisons are tests
//! ([`Test`], [`BoundTest`]) of formulas. One function computes the value of a call ([`scalar::apply`]). Constants,
//! bounds and rows use it, so they can't differ.
//!
//! - `bind`: gives formulas types; turns tests of columns and constants into leaves
//! - `bound`: formulas over typed columns
//! - `cast`: converts single values between types
//! - `image`: the bounds of a formula's values, from the bounds of its columns
//! - `operands`: the types to which operands are converted before a call or a comparison
//! - `pattern`: patterns of `like`
//! - `read`: reads formulas from filter text
//! - `scalar`: computes calls of single values
//! - `text`: formulas as text
//! - `unbound`: formulas as a person wrote them

pub(super) mod bind;
pub mod bound;
pub mod cast;
pub(super) mod image;
mod operands;
pub mod pattern;
pub(super) mod read;
pub mod scalar;
mod text;
pub mod unbound;

pub use bound::{BoundFormula, BoundFunction, BoundTest, TestQuestion};
pub(crate) use image::has_bounds;
pub use pattern::Pattern;
pub use unbound::{Constant, FilterFunction, Formula, Interval, Test, TestOp};
