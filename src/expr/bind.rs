//! Binds a filter to a schema: `not` is pushed down to the leaves, and the result is simplified.

use crate::error::{Error, Result, ResultExt};
use crate::expr::bind_leaf::Binder;
use crate::expr::predicate::{BoundPredicate, Predicate};
use crate::types::Schema;

/// The deepest nesting of a filter.
const MAX_DEPTH: usize = 500;

/// Binds `filter` to `schema`.
///
/// # Errors
/// `InvalidInput` for a column that does not exist, is ambiguous or lies inside a list or map. Also for a literal that
/// can't be compared with the column's type, and an operation that the type does not have.
pub fn bind(filter: &Predicate, schema: &Schema, case_sensitive: bool) -> Result<BoundPredicate> {
    bound(&Binder { schema, case_sensitive }, filter, false, 0)
}

fn bound(binder: &Binder<'_>, p: &Predicate, negated: bool, depth: usize) -> Result<BoundPredicate> {
    if depth > MAX_DEPTH {
        return Err(Error::invalid(format!("the filter is nested deeper than {MAX_DEPTH} levels")));
    }
    let bind_all = |parts: &[Predicate]| -> Result<Vec<BoundPredicate>> {
        parts.iter().map(|p| bound(binder, p, negated, depth + 1)).collect()
    };
    Ok(match (p, negated) {
        (Predicate::True, false) | (Predicate::False, true) => BoundPredicate::True,
        (Predicate::True, true) | (Predicate::False, false) => BoundPredicate::False,
        (Predicate::Not(p), _) => bound(binder, p, !negated, depth + 1)?,
        (Predicate::And(parts), false) | (Predicate::Or(parts), true) => BoundPredicate::all(bind_all(parts)?),
        (Predicate::Or(parts), false) | (Predicate::And(parts), true) => BoundPredicate::any(bind_all(parts)?),
        (Predicate::Leaf(term, op, values), _) => {
            let op = if negated { op.negate() } else { *op };
            binder.leaf(term, op, values).with("column", term)?
        }
        (Predicate::Test(test), _) => binder.test(test, negated)?,
    })
}

#[cfg(test)]
#[path = "bind_tests.rs"]
mod tests;
