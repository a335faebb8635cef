//! The types to which operands are converted before a call or a comparison.

use crate::error::{Error, Result};
use crate::expr::formula::bound::{BoundFormula, BoundFunction, CastKind};
use crate::types::{PrimitiveType, Value};

/// The most digits of a decimal.
const MOST_DIGITS: u8 = 38;

/// The operands of `+`, `-`, `*`, `/` or `%` on numbers, in the types that the function takes, and its result's type.
///
/// # Errors
/// `InvalidInput` for operands that are not numbers; `Unsupported` for decimals with too many digits.
pub(super) fn of_arithmetic(
    function: BoundFunction,
    a: BoundFormula,
    b: BoundFormula,
) -> Result<(Vec<BoundFormula>, PrimitiveType)> {
    use PrimitiveType as P;
    if !(is_number(a.ty()) && is_number(b.ty())) {
        let sign = super::scalar::sign_of(function);
        let error = Error::invalid(format!("`{sign}` can't be applied to the types {} and {}", a.ty(), b.ty()));
        return Err(match [a.ty(), b.ty()].contains(&&P::String) {
            true => error.hint("Write cast(x as int) or date '2023-01-31' for texts that stand for other values"),
            false => error.hint("Numbers are computed with numbers, and dates and timestamps with days and intervals"),
        });
    }
    let is = |ty: &P| a.ty() == ty || b.ty() == ty;
    let has_decimal = is_decimal(a.ty()) || is_decimal(b.ty());
    let ty = match function {
        BoundFunction::Divide if has_decimal && !is(&P::Double) && !is(&P::Float) => {
            return Err(Error::unsupported("decimals can't be divided exactly")
                .hint("Write cast(x as double) / y for a quotient that is rounded"));
        }
        BoundFunction::Divide => P::Double,
        _ if is(&P::Double) || (is(&P::Float) && has_decimal) => P::Double,
        _ if is(&P::Float) => P::Float,
        _ if has_decimal => return of_decimals(function, a, b),
        _ => P::Long,
    };
    Ok((vec![implied(a, &ty), implied(b, &ty)], ty))
}

fn of_decimals(
    function: BoundFunction,
    a: BoundFormula,
    b: BoundFormula,
) -> Result<(Vec<BoundFormula>, PrimitiveType)> {
    let ((p1, s1), (p2, s2)) = (digits(&a), digits(&b));
    let (precision, scale) = match function {
        BoundFunction::Multiply => (p1 + p2, s1 + s2),
        BoundFunction::Remainder => {
            return Err(Error::unsupported("`%` can't be applied to decimals")
                .hint("Write cast(x as double) % y, or cast both to bigint"));
        }
        _ => {
            let scale = s1.max(s2);
            ((p1 - s1).max(p2 - s2) + 1 + scale, scale)
        }
    };
    if precision > MOST_DIGITS {
        return Err(Error::unsupported(format!(
            "the exact result of {} {} {} may have {precision} digits, more than {MOST_DIGITS}",
            a.ty(),
            super::scalar::sign_of(function),
            b.ty()
        ))
        .hint("Cast the operands to decimals with fewer digits, or to double"));
    }
    let ty = PrimitiveType::Decimal { precision, scale };
    let own = |x: BoundFormula, p: u8, s: u8| implied(x, &PrimitiveType::Decimal { precision: p, scale: s });
    let arguments = match function {
        BoundFunction::Multiply => vec![own(a, p1, s1), own(b, p2, s2)],
        _ => vec![implied(a, &ty), implied(b, &ty)],
    };
    Ok((arguments, ty))
}

/// The digits of an integer or decimal, and how many of them are behind the point.
fn digits(x: &BoundFormula) -> (u8, u8) {
    match (x, x.ty()) {
        (BoundFormula::Constant(Value::Long(v), _), _) => (v.unsigned_abs().to_string().len() as u8, 0),
        (_, PrimitiveType::Decimal { precision, scale }) => ((*precision).max(*scale), *scale),
        (_, PrimitiveType::Int) => (10, 0),
        _ => (19, 0),
    }
}

/// Both sides of a comparison in one type.
///
/// # Errors
/// `InvalidInput` if the types can't be compared; `Unsupported` for decimals with too many digits.
pub(super) fn of_comparison(a: BoundFormula, b: BoundFormula) -> Result<(BoundFormula, BoundFormula)> {
    use PrimitiveType as P;
    let ty = match (a.ty(), b.ty()) {
        (x, y) if x == y => x.clone(),
        (P::Int | P::Long, P::Int | P::Long) => P::Long,
        (x, y) if is_number(x) && is_number(y) => match x.is_float() || y.is_float() {
            true => P::Double,
            false => {
                let ((p1, s1), (p2, s2)) = (digits(&a), digits(&b));
                let (whole, scale) = ((p1 - s1).max(p2 - s2), s1.max(s2));
                if whole + scale > MOST_DIGITS {
                    return Err(Error::unsupported(format!("{x} and {y} have no common decimal type"))
                        .hint("Cast one side to double, or to a decimal with fewer digits"));
                }
                P::Decimal { precision: whole + scale, scale }
            }
        },
        (P::Date | P::Timestamp | P::Timestamptz, P::Date | P::Timestamp | P::Timestamptz) => {
            let zoned = [a.ty(), b.ty()].contains(&&P::Timestamptz);
            if zoned { P::Timestamptz } else { P::Timestamp }
        }
        (x, y) => {
            return Err(Error::invalid(format!("values of type {x} can't be compared with values of type {y}"))
                .hint("Write cast(x as …) around one side"));
        }
    };
    Ok((implied(a, &ty), implied(b, &ty)))
}

/// The formula in another type.
pub(super) fn implied(x: BoundFormula, ty: &PrimitiveType) -> BoundFormula {
    if x.ty() == ty {
        return x;
    }
    BoundFormula::Call { function: BoundFunction::Cast(CastKind::Implied), arguments: vec![x], ty: ty.clone() }
}

pub(super) fn is_number(ty: &PrimitiveType) -> bool {
    matches!(ty, PrimitiveType::Int | PrimitiveType::Long) || ty.is_float() || is_decimal(ty)
}

fn is_decimal(ty: &PrimitiveType) -> bool {
    matches!(ty, PrimitiveType::Decimal { .. })
}
