//! What is left of a filter on rows that are partly known. Leaves that the bounds decide become constants.

use crate::expr::bounds::{Bounds, Verdict, evaluate_leaf};
use crate::expr::predicate::BoundPredicate;

/// The filter simplified by what `bounds` say. On the rows they describe it is true exactly where `filter` is;
/// elsewhere it means nothing. `True` if every row matches.
pub fn residual(filter: &BoundPredicate, bounds: &dyn Bounds) -> BoundPredicate {
    match filter {
        BoundPredicate::True | BoundPredicate::False => filter.clone(),
        BoundPredicate::And(parts) => BoundPredicate::all(parts.iter().map(|p| residual(p, bounds))),
        BoundPredicate::Or(parts) => BoundPredicate::any(parts.iter().map(|p| residual(p, bounds))),
        BoundPredicate::Leaf(leaf) => match evaluate_leaf(leaf, bounds) {
            Verdict::Never => BoundPredicate::False,
            Verdict::Always => BoundPredicate::True,
            Verdict::Maybe => filter.clone(),
        },
    }
}
