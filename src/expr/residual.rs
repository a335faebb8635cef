//! The residual of a filter on rows with known bounds. Leaves that the bounds decide become constants.

use crate::expr::bounds::{Bounds, Verdict, evaluate};
use crate::expr::predicate::BoundPredicate;

/// The filter simplified by `bounds`. On the rows that they describe it is true exactly if `filter` is. On other rows
/// it has no meaning. `True` if every row matches.
pub fn residual(filter: &BoundPredicate, bounds: &dyn Bounds) -> BoundPredicate {
    match filter {
        BoundPredicate::True | BoundPredicate::False => filter.clone(),
        BoundPredicate::And(parts) => BoundPredicate::all(parts.iter().map(|p| residual(p, bounds))),
        BoundPredicate::Or(parts) => BoundPredicate::any(parts.iter().map(|p| residual(p, bounds))),
        BoundPredicate::Leaf(_) | BoundPredicate::Test(_) => match evaluate(filter, bounds) {
            Verdict::Never => BoundPredicate::False,
            Verdict::Always => BoundPredicate::True,
            Verdict::Maybe => filter.clone(),
        },
    }
}
