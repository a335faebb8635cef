//! Compares two columns row by row. NaN equals NaN and is above all numbers, and -0.0 equals 0.0.

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;

use super::numbers::with_equal_zeros;
use crate::error::{Error, Result};
use crate::expr::Op;

/// The rows on which a comparison of two columns of the same type is true.
///
/// # Errors
/// `Internal` if the columns can't be compared.
pub(crate) fn compare(op: Op, a: &ArrayRef, b: &ArrayRef) -> Result<BooleanBuffer> {
    let (a, b) = (with_equal_zeros(a), with_equal_zeros(b));
    let mask = match op {
        Op::Lt => cmp::lt(&a, &b),
        Op::LtEq => cmp::lt_eq(&a, &b),
        Op::Gt => cmp::gt(&a, &b),
        Op::GtEq => cmp::gt_eq(&a, &b),
        Op::Eq => cmp::eq(&a, &b),
        Op::NotEq => cmp::neq(&a, &b),
        _ => return Err(Error::internal("a comparison of two columns by another operation")),
    };
    let mask = mask.map_err(|e| Error::internal("two columns of a filter can't be compared").because(e))?;
    let (values, nulls) = mask.into_parts();
    Ok(match nulls {
        Some(nulls) => &values & nulls.inner(),
        None => values,
    })
}
