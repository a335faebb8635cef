//! The only pruning algorithm. Partition tuples, manifest summaries, column metrics of files, row groups and pages all
//! implement [`Bounds`]. [`evaluate`] uses them to decide whether a filter is true on no, some or all of their rows.

use crate::expr::formula::image::verdict;
pub use crate::expr::leaf_bounds::{
    Bounds, ColumnBounds, Presence, Verdict, checked, evaluate_leaf, may_be_cut, promote,
};
use crate::expr::predicate::BoundPredicate;

/// The verdict on a filter for the rows that `bounds` describe.
pub fn evaluate(filter: &BoundPredicate, bounds: &dyn Bounds) -> Verdict {
    match filter {
        BoundPredicate::True => Verdict::Always,
        BoundPredicate::False => Verdict::Never,
        BoundPredicate::And(parts) => junction(parts, bounds, Verdict::Never, Verdict::Always),
        BoundPredicate::Or(parts) => junction(parts, bounds, Verdict::Always, Verdict::Never),
        BoundPredicate::Leaf(leaf) => evaluate_leaf(leaf, bounds),
        BoundPredicate::Test(test) => verdict(test, bounds),
    }
}

/// Combines verdicts. One `decisive` part decides the result; `neutral` needs all parts.
fn junction(parts: &[BoundPredicate], bounds: &dyn Bounds, decisive: Verdict, neutral: Verdict) -> Verdict {
    let mut out = neutral;
    for part in parts {
        match evaluate(part, bounds) {
            v if v == decisive => return decisive,
            Verdict::Maybe => out = Verdict::Maybe,
            _ => {}
        }
    }
    out
}

/// Whether some row may match: the inclusive question.
pub fn may_match(filter: &BoundPredicate, bounds: &dyn Bounds) -> bool {
    evaluate(filter, bounds) != Verdict::Never
}

/// Whether every row matches: the strict question.
pub fn must_match(filter: &BoundPredicate, bounds: &dyn Bounds) -> bool {
    evaluate(filter, bounds) == Verdict::Always
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
