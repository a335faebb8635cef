//! What bounds of columns say about one leaf, and the facts that they are made of.
//!
//! A set of rows holds up to three kinds of values of a column: nulls, NaNs and ordinary values. A leaf is decided for
//! each kind that may occur. If all kinds agree, that is the verdict. So one verdict answers both the inclusive
//! question (may a row match?) and the strict one (do all match?). No operation treats nulls or NaNs itself.
//!
//! Contradictory facts count as unknown, never as proof. Examples are a bound that is NaN, and a lower bound above the
//! upper one. Others are a bound of another type, or of a column that is said to be all null.

use std::cmp::Ordering;

use crate::expr::predicate::BoundLeaf;
use crate::expr::term::{BoundTerm, Op};
use crate::types::hash::{bucket_of_hash, hash_value};
use crate::types::{FieldId, PrimitiveType, Transform, Value, ValueRef, temporal};

/// The verdict on a filter for a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is true on no row (false or unknown on each).
    Never,
    /// Nothing is known.
    Maybe,
    /// It is true on every row.
    Always,
}

impl Verdict {
    /// The verdict on the negated filter.
    fn invert(self) -> Verdict {
        match self {
            Verdict::Never => Verdict::Always,
            Verdict::Maybe => Verdict::Maybe,
            Verdict::Always => Verdict::Never,
        }
    }

    fn of(known: bool) -> Verdict {
        if known { Verdict::Always } else { Verdict::Never }
    }
}

/// Whether a kind of value (nulls, NaNs) occurs in a set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Presence {
    /// No row has it.
    Absent,
    /// Nothing is known, or some rows have it.
    #[default]
    Possible,
    /// Every row has it.
    Everywhere,
}

/// Known facts about the values of one column (or term) in a set of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnBounds<'a> {
    /// A lower bound of the values that are neither null nor NaN.
    pub lower: Option<ValueRef<'a>>,
    /// An upper bound of the values that are neither null nor NaN (but see `upper_is_prefix`).
    pub upper: Option<ValueRef<'a>>,
    /// The values may also be above `upper` if they start with it (a string or bytes truncated by `truncate`).
    pub upper_is_prefix: bool,
    /// Nulls.
    pub nulls: Presence,
    /// NaNs among the values that are not null: `Everywhere` if all of these are NaN. Ignored for types without NaN.
    pub nans: Presence,
}

/// Known facts about a set of rows: a file, a manifest, a row group, a page.
pub trait Bounds {
    /// The facts about a column that now has type `ty`. The default of [`ColumnBounds`] (`Possible` everywhere) if
    /// nothing is known.
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a>;

    /// Nulls of a nested column (struct, list, map), for the null tests.
    fn nested_nulls(&self, _field: FieldId) -> Presence {
        Presence::Possible
    }

    /// The facts about a column under a transform, if they are stored in this form (a partition field of the same
    /// source and transform). If `None`, the algorithm derives them from [`Bounds::column`] as far as possible.
    fn transformed<'a>(&'a self, _field: FieldId, _transform: &Transform) -> Option<ColumnBounds<'a>> {
        None
    }

    /// Known bucket ranges of a column: (number of buckets, lowest, highest), both ends included. Every non-null value
    /// of the column in these rows is in that range of buckets.
    fn buckets(&self, _field: FieldId) -> Vec<(u32, i32, i32)> {
        Vec::new()
    }
}

/// The verdict on one leaf for the rows that `bounds` describe.
pub fn evaluate_leaf(leaf: &BoundLeaf, bounds: &dyn Bounds) -> Verdict {
    let term = &leaf.term;
    let Some(source) = term.source_primitive() else {
        return on_nested(leaf.op, bounds.nested_nulls(term.field_id));
    };
    if term.transform != Transform::Identity {
        return on_transform(leaf, bounds);
    }
    let column = checked(bounds.column(term.field_id, source), source);
    let verdict = decide(leaf.op, &leaf.values, &column, &[], source);
    if verdict != Verdict::Maybe || !matches!(leaf.op, Op::Eq | Op::NotEq | Op::In | Op::NotIn) {
        return verdict;
    }
    match bounds.buckets(term.field_id) {
        buckets if buckets.is_empty() => verdict,
        buckets => decide(leaf.op, &leaf.values, &column, &buckets, source),
    }
}

/// Converts a value that was written before its column was promoted to type `ty` (specification, "Schema Evolution").
/// `None` if it is not a value of that type.
pub fn promote<'a>(v: ValueRef<'a>, ty: &PrimitiveType) -> Option<ValueRef<'a>> {
    use PrimitiveType as P;
    let midnight = |days: i32, per_day: i64| ValueRef::Long(i64::from(days).saturating_mul(per_day));
    Some(match (v, ty) {
        (ValueRef::Int(i), P::Long) => ValueRef::Long(i64::from(i)),
        (ValueRef::Float(f), P::Double) => ValueRef::Double(f64::from(f)),
        (ValueRef::Int(d), P::Timestamp | P::Timestamptz) => midnight(d, temporal::MICROS_PER_DAY),
        (ValueRef::Int(d), P::TimestampNs | P::TimestamptzNs) => midnight(d, temporal::MICROS_PER_DAY * 1000),
        (ValueRef::Boolean(_), P::Boolean)
        | (ValueRef::Int(_), P::Int | P::Date)
        | (ValueRef::Long(_), P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs)
        | (ValueRef::Float(_), P::Float)
        | (ValueRef::Double(_), P::Double)
        | (ValueRef::Decimal(_), P::Decimal { .. })
        | (ValueRef::String(_), P::String)
        | (ValueRef::Uuid(_), P::Uuid)
        | (ValueRef::Bytes(_), P::Fixed(_) | P::Binary) => v,
        _ => return None,
    })
}

/// Valid facts: with the right type, and not contradictory. A NaN shows that the writer did not separate NaNs, so its
/// other bound is not reliable either. The same holds for a bound of another type. A bound is a value, so a column
/// with one is neither all null nor all NaN: some writers count nulls twice.
pub fn checked<'a>(mut b: ColumnBounds<'a>, ty: &PrimitiveType) -> ColumnBounds<'a> {
    let given = (b.lower.is_some(), b.upper.is_some());
    b.lower = b.lower.and_then(|v| promote(v, ty));
    b.upper = b.upper.and_then(|v| promote(v, ty));
    if !ty.is_float() {
        b.nans = Presence::Absent;
    }
    let foreign = given != (b.lower.is_some(), b.upper.is_some());
    let contradicted = contradict(&mut b);
    let nan = |v: Option<ValueRef<'_>>| v.is_some_and(ValueRef::is_nan);
    let crossed = match (b.lower, b.upper) {
        (Some(lower), Some(upper)) => {
            lower.sql_cmp(upper) == Some(Ordering::Greater) && !(b.upper_is_prefix && lower.starts_with(upper))
        }
        _ => false,
    };
    if contradicted || foreign || crossed || nan(b.lower) || nan(b.upper) {
        (b.lower, b.upper) = (None, None);
    }
    b
}

/// The length to which writers cut bounds by default, in characters or bytes.
const CUT_AT: usize = 16;

/// Whether an upper bound may have been cut without being rounded up. Its values may then be above it and start with
/// it. Rounded bounds have the same length, so the two can't be distinguished.
pub fn may_be_cut(upper: ValueRef<'_>, ty: &PrimitiveType) -> bool {
    match (upper, ty) {
        (ValueRef::String(s), _) => s.chars().nth(CUT_AT - 1).is_some(),
        (ValueRef::Bytes(b), PrimitiveType::Fixed(length)) => b.len() >= CUT_AT && b.len() < *length as usize,
        (ValueRef::Bytes(b), _) => b.len() >= CUT_AT,
        _ => false,
    }
}

/// Takes back that all values are null or NaN where a bound says otherwise. Returns whether one does.
fn contradict(b: &mut ColumnBounds<'_>) -> bool {
    let bounds = || [b.lower, b.upper].into_iter().flatten();
    let all_null = b.nulls == Presence::Everywhere && bounds().next().is_some();
    let all_nan = b.nans == Presence::Everywhere && bounds().any(|v| !v.is_nan());
    if all_null {
        b.nulls = Presence::Possible;
    }
    if all_nan {
        b.nans = Presence::Possible;
    }
    all_null || all_nan
}

fn on_nested(op: Op, nulls: Presence) -> Verdict {
    let null = match nulls {
        Presence::Absent => Verdict::Never,
        Presence::Possible => Verdict::Maybe,
        Presence::Everywhere => Verdict::Always,
    };
    match op {
        Op::IsNull => null,
        Op::NotNull => null.invert(),
        _ => Verdict::Maybe,
    }
}

/// The one place that combines the kinds of values.
pub(super) fn decide(
    op: Op,
    values: &[Value],
    b: &ColumnBounds<'_>,
    buckets: &[(u32, i32, i32)],
    ty: &PrimitiveType,
) -> Verdict {
    let some_not_null = b.nulls != Presence::Everywhere;
    let mut out = None;
    let mut meet = |v: Verdict| match out {
        None => out = Some(v),
        Some(before) if before == v => {}
        Some(_) => out = Some(Verdict::Maybe),
    };
    if b.nulls != Presence::Absent {
        meet(on_null(op));
    }
    if some_not_null && b.nans != Presence::Absent {
        meet(on_nan(op, values));
    }
    if some_not_null && b.nans != Presence::Everywhere {
        meet(on_ordinary(op, values, b, buckets, ty));
    }
    out.unwrap_or(Verdict::Maybe)
}

/// A comparison with null is unknown. The NaN tests are never unknown.
fn on_null(op: Op) -> Verdict {
    Verdict::of(matches!(op, Op::IsNull | Op::NotNan))
}

fn on_nan(op: Op, values: &[Value]) -> Verdict {
    let literal_nan = values.last().is_some_and(|v| v.as_ref().is_nan());
    Verdict::of(match op {
        Op::NotNull | Op::IsNan | Op::GtEq | Op::NotStartsWith => true,
        Op::IsNull | Op::NotNan | Op::Lt | Op::StartsWith => false,
        Op::LtEq | Op::Eq | Op::In => literal_nan,
        Op::Gt | Op::NotEq | Op::NotIn => !literal_nan,
    })
}

/// Values that are neither null nor NaN.
fn on_ordinary(
    op: Op,
    values: &[Value],
    b: &ColumnBounds<'_>,
    buckets: &[(u32, i32, i32)],
    ty: &PrimitiveType,
) -> Verdict {
    match op {
        Op::IsNull | Op::IsNan => return Verdict::Never,
        Op::NotNull | Op::NotNan => return Verdict::Always,
        Op::In => return among(values, b, buckets, ty),
        Op::NotIn => return among(values, b, buckets, ty).invert(),
        _ => {}
    }
    let Some(literal) = values.first() else { return Verdict::Maybe };
    let v = literal.as_ref();
    match op {
        Op::Lt => side(b.all_below(v), b.all_from(v)),
        Op::GtEq => side(b.all_from(v), b.all_below(v)),
        Op::LtEq => side(b.all_up_to(v), b.all_above(v)),
        Op::Gt => side(b.all_above(v), b.all_up_to(v)),
        Op::Eq => equal(v, b, buckets, ty),
        Op::NotEq => equal(v, b, buckets, ty).invert(),
        Op::StartsWith => prefixed(v, b),
        Op::NotStartsWith => prefixed(v, b).invert(),
        _ => Verdict::Maybe,
    }
}

fn side(all: bool, none: bool) -> Verdict {
    match (all, none) {
        (true, false) => Verdict::Always,
        (false, true) => Verdict::Never,
        _ => Verdict::Maybe,
    }
}

impl ColumnBounds<'_> {
    fn all_from(&self, v: ValueRef<'_>) -> bool {
        self.lower.and_then(|l| l.sql_cmp(v)).is_some_and(Ordering::is_ge)
    }

    fn all_above(&self, v: ValueRef<'_>) -> bool {
        self.lower.and_then(|l| l.sql_cmp(v)).is_some_and(Ordering::is_gt)
    }

    fn all_below(&self, v: ValueRef<'_>) -> bool {
        let Some(upper) = self.upper else { return false };
        upper.sql_cmp(v) == Some(Ordering::Less) && !(self.upper_is_prefix && v.starts_with(upper))
    }

    fn all_up_to(&self, v: ValueRef<'_>) -> bool {
        if self.upper_is_prefix {
            return self.all_below(v);
        }
        self.upper.and_then(|u| u.sql_cmp(v)).is_some_and(Ordering::is_le)
    }

    /// The one value that all have.
    pub fn point(&self) -> Option<ValueRef<'_>> {
        let (lower, upper) = (self.lower?, self.upper?);
        (!self.upper_is_prefix && lower.sql_cmp(upper) == Some(Ordering::Equal)).then_some(lower)
    }
}

fn equal(v: ValueRef<'_>, b: &ColumnBounds<'_>, buckets: &[(u32, i32, i32)], ty: &PrimitiveType) -> Verdict {
    if b.all_above(v) || b.all_below(v) || !in_buckets(v, buckets, ty) {
        Verdict::Never
    } else if b.point().is_some_and(|p| p.sql_cmp(v) == Some(Ordering::Equal)) {
        Verdict::Always
    } else {
        Verdict::Maybe
    }
}

/// Narrows the sorted literals by both bounds and the buckets together. A match needs at least one remaining literal.
fn among(values: &[Value], b: &ColumnBounds<'_>, buckets: &[(u32, i32, i32)], ty: &PrimitiveType) -> Verdict {
    let start = b.lower.map_or(0, |l| values.partition_point(|v| v.as_ref().sql_cmp(l) == Some(Ordering::Less)));
    let end = b.upper.map_or(values.len(), |u| {
        values.partition_point(|v| {
            let v = v.as_ref();
            v.sql_cmp(u) != Some(Ordering::Greater) || (b.upper_is_prefix && v.starts_with(u))
        })
    });
    let left = values.get(start..end).unwrap_or_default();
    if left.is_empty() || !left.iter().any(|v| in_buckets(v.as_ref(), buckets, ty)) {
        Verdict::Never
    } else if b.point().is_some_and(|p| left.iter().any(|v| p.sql_cmp(v.as_ref()) == Some(Ordering::Equal))) {
        Verdict::Always
    } else {
        Verdict::Maybe
    }
}

fn in_buckets(v: ValueRef<'_>, buckets: &[(u32, i32, i32)], ty: &PrimitiveType) -> bool {
    if buckets.is_empty() {
        return true;
    }
    let Some(hash) = hash_value(v, ty) else { return true };
    buckets.iter().all(|&(n, low, high)| low > high || (low..=high).contains(&bucket_of_hash(hash, n)))
}

fn prefixed(prefix: ValueRef<'_>, b: &ColumnBounds<'_>) -> Verdict {
    let lower_above = b.all_above(prefix) && !b.lower.is_some_and(|l| l.starts_with(prefix));
    let both = |v: Option<ValueRef<'_>>| v.is_some_and(|v| v.starts_with(prefix));
    if lower_above || b.all_below(prefix) {
        Verdict::Never
    } else if both(b.lower) && both(b.upper) {
        Verdict::Always
    } else {
        Verdict::Maybe
    }
}

/// Uses the facts stored for the term itself first, then those derived from the column.
fn on_transform(leaf: &BoundLeaf, bounds: &dyn Bounds) -> Verdict {
    let term = &leaf.term;
    let Some(ty) = term.ty.as_primitive() else { return Verdict::Maybe };
    if let Some(stored) = bounds.transformed(term.field_id, &term.transform) {
        let verdict = decide(leaf.op, &leaf.values, &checked(stored, ty), &[], ty);
        if verdict != Verdict::Maybe {
            return verdict;
        }
    }
    if matches!(term.transform, Transform::Void | Transform::Unknown(_)) {
        return Verdict::Maybe;
    }
    let derived = term_image(term, bounds);
    decide(leaf.op, &leaf.values, &checked(derived.facts(), ty), &[], ty)
}

/// The facts about a term's values that follow from those about its column.
pub(super) fn term_image(term: &BoundTerm, bounds: &dyn Bounds) -> Image {
    let Some(source) = term.source_primitive() else { return Image::default() };
    let column = checked(bounds.column(term.field_id, source), source);
    let owned = |v: Option<ValueRef<'_>>| v.map(ValueRef::to_owned);
    let image = match &term.transform {
        Transform::Identity => Image {
            lower: owned(column.lower),
            upper: owned(column.upper),
            upper_is_prefix: column.upper_is_prefix,
            nans: column.nans,
            ..Image::default()
        },
        Transform::Bucket(n) => bucket_image(*n, &column, source, &bounds.buckets(term.field_id)),
        Transform::Void | Transform::Unknown(_) => Image::default(),
        transform => image(transform, &column, source),
    };
    Image { nulls: column.nulls, ..image }
}

/// Bounds of a term's values.
pub(super) struct Image {
    lower: Option<Value>,
    upper: Option<Value>,
    upper_is_prefix: bool,
    nulls: Presence,
    nans: Presence,
}

impl Default for Image {
    fn default() -> Self {
        Image { lower: None, upper: None, upper_is_prefix: false, nulls: Presence::Possible, nans: Presence::Absent }
    }
}

impl Image {
    pub(super) fn facts(&self) -> ColumnBounds<'_> {
        ColumnBounds {
            lower: self.lower.as_ref().map(Value::as_ref),
            upper: self.upper.as_ref().map(Value::as_ref),
            upper_is_prefix: self.upper_is_prefix,
            nulls: self.nulls,
            nans: self.nans,
        }
    }
}

fn bucket_image(n: u32, column: &ColumnBounds<'_>, source: &PrimitiveType, known: &[(u32, i32, i32)]) -> Image {
    let stored = known.iter().find(|(of, low, high)| *of == n && low <= high).map(|&(_, low, high)| (low, high));
    let computed = || {
        let bucket = bucket_of_hash(hash_value(column.point()?, source)?, n);
        Some((bucket, bucket))
    };
    // Equal values with different bytes would be in different buckets. Only floats have such values, and floats have no
    // buckets.
    match stored.or_else(computed) {
        Some((low, high)) => Image { lower: Some(Value::Int(low)), upper: Some(Value::Int(high)), ..Image::default() },
        None => Image::default(),
    }
}

/// The bounds of an order-preserving transform's results. Handles the cases that do not preserve the order. Integers
/// wrap at the type's minimum when they are truncated. Hours may be too far from the epoch for their type.
fn image(transform: &Transform, column: &ColumnBounds<'_>, source: &PrimitiveType) -> Image {
    let apply = |v: Option<ValueRef<'_>>| v.and_then(|v| transform.apply(v, source));
    let (lower, upper) = (apply(column.lower), apply(column.upper));
    match (transform, source) {
        (Transform::Truncate(_), PrimitiveType::Int | PrimitiveType::Long) => {
            let (Some(from), Some(to)) = (column.lower, &lower) else { return Image::default() };
            if to.as_ref().sql_cmp(from).is_none_or(Ordering::is_gt) {
                return Image::default();
            }
        }
        (Transform::Truncate(width), _) if column.upper_is_prefix => {
            let shorter = match column.upper {
                Some(ValueRef::String(s)) => s.chars().take(*width as usize + 1).count() < *width as usize,
                Some(ValueRef::Bytes(b)) => b.len() < *width as usize,
                _ => false,
            };
            return Image { lower, upper, upper_is_prefix: shorter, ..Image::default() };
        }
        (Transform::Hour, _) if !hours_fit(column, source) => return Image::default(),
        _ => {}
    }
    Image { lower, upper, ..Image::default() }
}

fn hours_fit(column: &ColumnBounds<'_>, source: &PrimitiveType) -> bool {
    let per_hour = match source {
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => return true,
        _ => temporal::MICROS_PER_HOUR,
    };
    let fits = |v: Option<ValueRef<'_>>| match v {
        Some(ValueRef::Long(t)) => i32::try_from(t.div_euclid(per_hour)).is_ok(),
        _ => false,
    };
    fits(column.lower) && fits(column.upper)
}
