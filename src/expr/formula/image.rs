//! The bounds of a formula's values, from the bounds of its columns.
//!
//! A function that keeps or reverses the order has its extremes at those of its arguments. All others have no bounds.
//! Rounding keeps the order, so this also holds for floats.

use std::cmp::Ordering;

use crate::expr::formula::bound::{BoundFormula, BoundFunction, BoundTest, CastKind, TestQuestion};
use crate::expr::formula::cast::keeps_order;
use crate::expr::formula::pattern::Pattern;
use crate::expr::formula::scalar::apply;
use crate::expr::leaf_bounds::{Bounds, ColumnBounds, Presence, Verdict, checked, decide, term_image};
use crate::expr::term::Op;
use crate::types::{PrimitiveType, Value};

/// Known facts about the values of a formula, as [`ColumnBounds`] has them of a column.
#[derive(Clone, Debug, Default)]
pub(in crate::expr) struct Image {
    pub(in crate::expr) lower: Option<Value>,
    pub(in crate::expr) upper: Option<Value>,
    pub(in crate::expr) nulls: Presence,
    pub(in crate::expr) nans: Presence,
}

impl Image {
    pub(in crate::expr) fn of(bounds: &ColumnBounds<'_>) -> Image {
        Image {
            lower: bounds.lower.map(|v| v.to_owned()),
            // Values that begin with the bound may be above it.
            upper: bounds.upper.filter(|_| !bounds.upper_is_prefix).map(|v| v.to_owned()),
            nulls: bounds.nulls,
            nans: bounds.nans,
        }
    }

    fn facts(&self) -> ColumnBounds<'_> {
        ColumnBounds {
            lower: self.lower.as_ref().map(Value::as_ref),
            upper: self.upper.as_ref().map(Value::as_ref),
            upper_is_prefix: false,
            nulls: self.nulls,
            nans: self.nans,
        }
    }

    fn range(&self) -> Option<(&Value, &Value)> {
        Some((self.lower.as_ref()?, self.upper.as_ref()?))
    }
}

/// The verdict on a test for the rows that `bounds` describe.
pub(in crate::expr) fn verdict(test: &BoundTest, bounds: &dyn Bounds) -> Verdict {
    let left = image(&test.left, bounds);
    let ty = test.left.ty();
    let verdict = match &test.question {
        TestQuestion::Values(op, values) => decide(*op, values, &checked(left.facts(), ty), &[], ty),
        TestQuestion::Compare(op, right) => compared(*op, &left, &image(right, bounds)),
        TestQuestion::Like(_) | TestQuestion::NotLike(_) if left.nulls == Presence::Everywhere => Verdict::Never,
        TestQuestion::Like(pattern) if !begins(&test.left, pattern, bounds) => Verdict::Never,
        TestQuestion::Like(_) | TestQuestion::NotLike(_) => Verdict::Maybe,
    };
    // Without bounds, a value may still give an error. So each row has to be tested.
    let is_known = left.range().is_some() || !test.can_fail();
    if verdict == Verdict::Always && !is_known { Verdict::Maybe } else { verdict }
}

/// Whether some value of a column may begin as a pattern does.
fn begins(formula: &BoundFormula, pattern: &Pattern, bounds: &dyn Bounds) -> bool {
    let BoundFormula::Column(term, ty) = formula else { return true };
    let prefix = pattern.prefix();
    let facts = term_image(term, bounds);
    let starts = || decide(Op::StartsWith, &[Value::String(prefix)], &checked(facts.facts(), ty), &[], ty);
    pattern.prefix().is_empty() || starts() != Verdict::Never
}

/// Whether bounds of columns can ever say something about a test.
pub(crate) fn has_bounds(test: &BoundTest) -> bool {
    let right = match &test.question {
        TestQuestion::Values(..) => true,
        TestQuestion::Compare(_, right) => is_bounded(right),
        TestQuestion::Like(pattern) => !pattern.prefix().is_empty() && matches!(test.left, BoundFormula::Column(..)),
        TestQuestion::NotLike(_) => false,
    };
    right && is_bounded(&test.left)
}

fn is_bounded(formula: &BoundFormula) -> bool {
    match formula {
        BoundFormula::Column(..) | BoundFormula::Constant(..) => true,
        BoundFormula::Call { function, arguments, ty } => {
            is_ordered(*function, arguments, ty) && arguments.iter().all(is_bounded)
        }
    }
}

/// Whether a function has its extremes at the ends of its arguments.
fn is_ordered(function: BoundFunction, arguments: &[BoundFormula], ty: &PrimitiveType) -> bool {
    use BoundFunction as F;
    match (function, arguments) {
        (F::Cast(CastKind::Tried) | F::Lower | F::Upper | F::Remainder, _) => false,
        (F::Cast(_), [x]) => keeps_order(x.ty(), ty),
        _ => true,
    }
}

fn compared(op: Op, left: &Image, right: &Image) -> Verdict {
    if left.nulls == Presence::Everywhere || right.nulls == Presence::Everywhere {
        return Verdict::Never;
    }
    let Some(((l0, l1), (r0, r1))) = left.range().zip(right.range()) else { return Verdict::Maybe };
    if left.nans != Presence::Absent || right.nans != Presence::Absent {
        return Verdict::Maybe;
    }
    let (Some(low), Some(high)) = (l1.sql_cmp(r0), l0.sql_cmp(r1)) else { return Verdict::Maybe };
    let equal = l0.sql_cmp(l1) == Some(Ordering::Equal) && r0.sql_cmp(r1) == Some(Ordering::Equal) && low.is_eq();
    let apart = low.is_lt() || high.is_gt();
    // Whether it is true for all values, and for none of them.
    let (all, none) = match op {
        Op::Lt => (low.is_lt(), high.is_ge()),
        Op::LtEq => (low.is_le(), high.is_gt()),
        Op::Gt => (high.is_gt(), low.is_le()),
        Op::GtEq => (high.is_ge(), low.is_lt()),
        Op::Eq => (equal, apart),
        Op::NotEq => (apart, equal),
        _ => (false, false),
    };
    match (all, none) {
        (_, true) => Verdict::Never,
        // A comparison with null is unknown.
        (true, _) if left.nulls == Presence::Absent && right.nulls == Presence::Absent => Verdict::Always,
        _ => Verdict::Maybe,
    }
}

/// The facts about a formula's values.
fn image(formula: &BoundFormula, bounds: &dyn Bounds) -> Image {
    match formula {
        BoundFormula::Column(term, ty) => {
            let facts = term_image(term, bounds);
            Image::of(&checked(facts.facts(), ty))
        }
        BoundFormula::Constant(value, _) => {
            let nan = value.as_ref().is_nan();
            let known = (!nan).then(|| value.clone());
            let nans = if nan { Presence::Everywhere } else { Presence::Absent };
            Image { lower: known.clone(), upper: known, nulls: Presence::Absent, nans }
        }
        BoundFormula::Call { function, arguments, ty } => {
            let images: Vec<Image> = arguments.iter().map(|a| image(a, bounds)).collect();
            of_call(*function, arguments, &images, ty)
        }
    }
}

fn of_call(function: BoundFunction, arguments: &[BoundFormula], images: &[Image], ty: &PrimitiveType) -> Image {
    let mut nulls = any_of(images.iter().map(|i| i.nulls));
    if function == BoundFunction::Cast(CastKind::Tried) && nulls == Presence::Absent {
        nulls = Presence::Possible;
    }
    let (lower, upper) = ends(function, arguments, images, ty).unzip();
    let is_range = lower.is_some();
    let from_floats = arguments.iter().any(|a| a.ty().is_float());
    // Finite ends leave no place for infinities, from which alone new NaNs come.
    let nans = match ty.is_float() {
        false => Presence::Absent,
        true if matches!(function, BoundFunction::Cast(_)) && !from_floats => Presence::Absent,
        true if is_range && images.iter().all(|i| i.nans == Presence::Absent) => Presence::Absent,
        true => Presence::Possible,
    };
    Image { lower, upper, nulls, nans }
}

/// Whether any argument has a kind of value.
fn any_of(all: impl Iterator<Item = Presence> + Clone) -> Presence {
    if all.clone().any(|p| p == Presence::Everywhere) {
        Presence::Everywhere
    } else if all.clone().all(|p| p == Presence::Absent) {
        Presence::Absent
    } else {
        Presence::Possible
    }
}

/// The least and the greatest value of a function, both computed from the ends of its arguments. `None` if a value
/// between them may be outside, or may give an error.
fn ends(
    function: BoundFunction,
    arguments: &[BoundFormula],
    images: &[Image],
    ty: &PrimitiveType,
) -> Option<(Value, Value)> {
    let divides = || images.get(1).and_then(Image::range).is_some_and(|(low, high)| excludes_zero(low, high));
    if !is_ordered(function, arguments, ty) || (function == BoundFunction::Divide && !divides()) {
        return None;
    }
    // All combinations of ends. A product has its extremes at some of them, a sum at two.
    let mut corners: Vec<Vec<(&Value, &PrimitiveType)>> = vec![Vec::new()];
    for (argument, image) in arguments.iter().zip(images) {
        let (low, high) = image.range().filter(|(low, high)| is_finite(low) && is_finite(high))?;
        let with = |end| move |corner: &Vec<_>| [corner.as_slice(), &[(end, argument.ty())]].concat();
        corners = corners.iter().map(with(low)).chain(corners.iter().map(with(high))).collect();
    }
    let mut out: Option<(Value, Value)> = None;
    for corner in corners {
        let values: Vec<_> = corner.iter().map(|(v, ty)| (v.as_ref(), *ty)).collect();
        let value = apply(function, &values, ty).ok().flatten().filter(|v| !v.as_ref().is_nan())?;
        out = Some(match out {
            None => (value.clone(), value),
            Some((low, high)) => {
                let is_less = value.sql_cmp(&low)? == Ordering::Less;
                let is_greater = value.sql_cmp(&high)? == Ordering::Greater;
                (if is_less { value.clone() } else { low }, if is_greater { value } else { high })
            }
        });
    }
    out
}

fn is_finite(v: &Value) -> bool {
    match v {
        Value::Float(v) => v.is_finite(),
        Value::Double(v) => v.is_finite(),
        _ => true,
    }
}

fn excludes_zero(low: &Value, high: &Value) -> bool {
    matches!((low, high), (Value::Double(low), Value::Double(high)) if *low > 0.0 || *high < 0.0)
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
