//! Bounds of columns, derived from partition values: a file's tuple ([`PartitionBounds`]) or a manifest's summaries
//! ([`SummaryBounds`]).
//!
//! Each partition value is mapped back to the range of source values that it may stand for. The one algorithm in
//! [`crate::expr::bounds`] can then decide filters on columns. Predicates need not be projected.

use std::cmp::Ordering;

use crate::expr::bounds::{Bounds, ColumnBounds, Presence, promote};
use crate::iceberg::manifest::list::FieldSummary;
use crate::types::value::decode_bound;
use crate::types::{FieldId, PartitionField, PrimitiveType, Transform, Value, ValueRef, temporal};

/// The rows of files that have one partition tuple.
#[derive(Clone, Copy, Debug)]
pub struct PartitionBounds<'p> {
    fields: &'p [PartitionField],
    types: &'p [PrimitiveType],
    values: &'p [Option<Value>],
}

impl<'p> PartitionBounds<'p> {
    /// Takes the fields of the file's own spec, the types of their values (`Unknown` if the source column was dropped)
    /// and the values. All are in the order of the spec. A field without a value proves nothing.
    pub fn new(fields: &'p [PartitionField], types: &'p [PrimitiveType], values: &'p [Option<Value>]) -> Self {
        PartitionBounds { fields, types, values }
    }

    fn values_of(&self, source: FieldId) -> impl Iterator<Item = (&'p PartitionField, Option<&'p Value>)> {
        let known = self.fields.iter().zip(self.types).zip(self.values);
        known
            .filter(move |((f, ty), _)| f.source_id == source && **ty != PrimitiveType::Unknown)
            .map(|((f, _), v)| (f, v.as_ref()))
    }
}

impl Bounds for PartitionBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        let mut out = ColumnBounds::default();
        for (field, value) in self.values_of(field).filter(|(f, _)| tells(f, ty)) {
            intersect(&mut out, of_value(field, value.map(Value::as_ref), ty));
        }
        out
    }

    fn transformed<'a>(&'a self, field: FieldId, transform: &Transform) -> Option<ColumnBounds<'a>> {
        let (field, value) = self.values_of(field).find(|(f, _)| f.transform == *transform)?;
        if value.is_some_and(|v| may_be_of_ints(transform, v.as_ref(), v.as_ref())) {
            return None;
        }
        Some(match value {
            None => ALL_NULL,
            Some(v) => ColumnBounds {
                lower: Some(with_old_bug(&field.transform, v.as_ref())),
                upper: Some(v.as_ref()),
                ..NO_NULL
            },
        })
    }

    fn buckets(&self, field: FieldId) -> Vec<(u32, i32, i32)> {
        let bucket = |(f, v): (&PartitionField, Option<&Value>)| match (&f.transform, v) {
            (Transform::Bucket(n), Some(Value::Int(b))) => Some((*n, *b, *b)),
            _ => None,
        };
        self.values_of(field).filter_map(bucket).collect()
    }
}

/// The rows of all files of a manifest, by the summaries in the manifest list.
#[derive(Clone, Copy, Debug)]
pub struct SummaryBounds<'p> {
    fields: &'p [PartitionField],
    types: &'p [PrimitiveType],
    summaries: &'p [FieldSummary],
}

impl<'p> SummaryBounds<'p> {
    /// Takes the fields of the manifest's spec, the types of their values (`Unknown` if the source column was dropped)
    /// and their summaries. All are in the order of the spec. A missing or undecodable summary proves nothing.
    pub fn new(fields: &'p [PartitionField], types: &'p [PrimitiveType], summaries: &'p [FieldSummary]) -> Self {
        SummaryBounds { fields, types, summaries }
    }

    fn summaries_of(&self, source: FieldId) -> impl Iterator<Item = (&'p PartitionField, Stored<'p>)> {
        let known = self.fields.iter().zip(self.types).zip(self.summaries);
        known
            .filter(move |((f, ty), _)| f.source_id == source && **ty != PrimitiveType::Unknown)
            .map(|((f, ty), s)| (f, Stored::of(s, ty)))
    }
}

impl Bounds for SummaryBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        let mut out = ColumnBounds::default();
        for (field, stored) in self.summaries_of(field).filter(|(f, _)| tells(f, ty)) {
            intersect(&mut out, stored.sources(field, ty));
        }
        out
    }

    fn transformed<'a>(&'a self, field: FieldId, transform: &Transform) -> Option<ColumnBounds<'a>> {
        let (field, stored) = self.summaries_of(field).find(|(f, _)| f.transform == *transform)?;
        let (low, high) =
            (stored.lower.unwrap_or(ValueRef::Long(i64::MIN)), stored.upper.unwrap_or(ValueRef::Long(i64::MAX)));
        if may_be_of_ints(transform, low, high) {
            return None;
        }
        let lower = stored.lower.map(|v| with_old_bug(&field.transform, v));
        Some(ColumnBounds {
            lower,
            upper: stored.upper,
            upper_is_prefix: false,
            nulls: stored.nulls,
            nans: stored.nans,
        })
    }

    fn buckets(&self, field: FieldId) -> Vec<(u32, i32, i32)> {
        let range = |(f, stored): (&PartitionField, Stored<'_>)| match (&f.transform, stored.lower, stored.upper) {
            (Transform::Bucket(n), Some(ValueRef::Int(low)), Some(ValueRef::Int(high))) => Some((*n, low, high)),
            _ => None,
        };
        self.summaries_of(field).filter_map(range).collect()
    }
}

/// A decoded summary: facts about partition values, not about the source column.
struct Stored<'p> {
    lower: Option<ValueRef<'p>>,
    upper: Option<ValueRef<'p>>,
    nulls: Presence,
    nans: Presence,
}

impl<'p> Stored<'p> {
    fn of(summary: &'p FieldSummary, ty: &PrimitiveType) -> Self {
        let decode = |bytes: &'p Option<Vec<u8>>| decode_bound(bytes.as_deref()?, ty).ok().flatten();
        let (mut lower, mut upper) = (decode(&summary.lower), decode(&summary.upper));
        let ordered = |l: ValueRef<'_>, u: ValueRef<'_>| l.sql_cmp(u).is_some_and(Ordering::is_le);
        let believable = match (lower, upper) {
            (Some(l), Some(u)) => ordered(l, u) && !l.is_nan() && !u.is_nan(),
            _ => true,
        };
        if !believable {
            (lower, upper) = (None, None);
        }
        if *ty == PrimitiveType::Uuid {
            (lower, upper) = of_uuids(lower, upper);
        }
        // The bounds are missing exactly if all values are nulls and NaNs.
        let no_values = summary.lower.is_none() && summary.upper.is_none();
        let nan_free = !ty.is_float() || summary.contains_nan == Some(false);
        let nulls = match summary.contains_null {
            false => Presence::Absent,
            true if no_values && nan_free => Presence::Everywhere,
            true => Presence::Possible,
        };
        let nans = match summary.contains_nan {
            _ if nan_free => Presence::Absent,
            Some(true) if no_values => Presence::Everywhere,
            _ => Presence::Possible,
        };
        Stored { lower, upper, nulls, nans }
    }

    /// Facts about the source column, of type `ty`.
    fn sources(&self, field: &PartitionField, ty: &PrimitiveType) -> ColumnBounds<'p> {
        let of = |v: Option<ValueRef<'p>>| v.map(|v| sources_of(&field.transform, v, ty)).unwrap_or_default();
        let (low, high) = match self.lower == self.upper || !may_hide_wrapped(&field.transform, self, ty) {
            true => (of(self.lower), of(self.upper)),
            false => (Sources::default(), Sources::default()),
        };
        ColumnBounds {
            lower: low.lower,
            upper: high.upper,
            upper_is_prefix: high.upper_is_prefix,
            nulls: self.nulls,
            nans: self.nans,
        }
    }
}

/// Java summarises uuids in the order of two signed numbers. The order of such bounds is wrong, which shows only if
/// both exist, or they are right in their upper halves.
fn of_uuids<'a>(
    lower: Option<ValueRef<'a>>,
    upper: Option<ValueRef<'a>>,
) -> (Option<ValueRef<'a>>, Option<ValueRef<'a>>) {
    let (Some(ValueRef::Uuid(low)), Some(ValueRef::Uuid(high))) = (lower, upper) else { return (None, None) };
    if low == high {
        return (lower, upper);
    }
    let half = u128::from(u64::MAX);
    (Some(ValueRef::Uuid(low & !half)), Some(ValueRef::Uuid(high | half)))
}

const ALL_NULL: ColumnBounds<'static> = ColumnBounds {
    lower: None,
    upper: None,
    upper_is_prefix: false,
    nulls: Presence::Everywhere,
    nans: Presence::Absent,
};

const NO_NULL: ColumnBounds<'static> = ColumnBounds { nulls: Presence::Absent, ..ALL_NULL };

/// Whether values of this field prove anything about a column of type `ty`. If the source column's id was given to
/// another kind of column, that column does not accept the transform.
fn tells(field: &PartitionField, ty: &PrimitiveType) -> bool {
    field.transform != Transform::Void && field.transform.accepts(ty)
}

fn of_value<'a>(field: &PartitionField, value: Option<ValueRef<'a>>, ty: &PrimitiveType) -> ColumnBounds<'a> {
    match value {
        None => ALL_NULL,
        Some(v) if v.is_nan() => ColumnBounds { nans: Presence::Everywhere, ..NO_NULL },
        Some(v) => {
            let range = sources_of(&field.transform, v, ty);
            ColumnBounds { lower: range.lower, upper: range.upper, upper_is_prefix: range.upper_is_prefix, ..NO_NULL }
        }
    }
}

/// The source values that a transform maps to one value; no bounds if they are not known.
#[derive(Clone, Copy, Default)]
struct Sources<'a> {
    lower: Option<ValueRef<'a>>,
    upper: Option<ValueRef<'a>>,
    upper_is_prefix: bool,
}

fn sources_of<'a>(transform: &Transform, v: ValueRef<'a>, ty: &PrimitiveType) -> Sources<'a> {
    match transform {
        Transform::Identity => {
            let point = promote(v, ty);
            Sources { lower: point, upper: point, upper_is_prefix: false }
        }
        Transform::Truncate(width) => promote(v, ty).map(|v| sources_of_cut(v, *width)).unwrap_or_default(),
        Transform::Year | Transform::Month | Transform::Day | Transform::Hour => match v {
            ValueRef::Int(n) => sources_of_period(transform, n, ty).unwrap_or_default(),
            _ => Sources::default(),
        },
        Transform::Bucket(_) | Transform::Void | Transform::Unknown(_) => Sources::default(),
    }
}

/// A truncated number stands for `width` numbers, or for the lowest numbers of its type if it wrapped around. Truncated
/// text of the full width stands for all texts with this prefix; shorter text stands for itself.
fn sources_of_cut(v: ValueRef<'_>, width: u32) -> Sources<'_> {
    let last = i64::from(width) - 1;
    let (lower, upper) = match v {
        ValueRef::Int(i) => match multiple_or_wrapped(i.into(), width, &[32]) {
            Some((low, high)) => (ValueRef::Int(low as i32), ValueRef::Int(high.min(i32::MAX.into()) as i32)),
            None => return Sources::default(),
        },
        ValueRef::Long(l) => match multiple_or_wrapped(l.into(), width, &[32, 64]) {
            Some((low, high)) => (ValueRef::Long(low as i64), ValueRef::Long(high.min(i64::MAX.into()) as i64)),
            None => return Sources::default(),
        },
        ValueRef::Decimal(d) if d.rem_euclid(i128::from(width)) == 0 => {
            (v, ValueRef::Decimal(d.saturating_add(i128::from(last))))
        }
        ValueRef::String(s) => return sources_of_prefix(v, s.chars().take(width as usize + 1).count(), width),
        ValueRef::Bytes(b) => return sources_of_prefix(v, b.len(), width),
        _ => return Sources::default(),
    };
    Sources { lower: Some(lower), upper: Some(upper), upper_is_prefix: false }
}

/// The first and last number that are truncated to `v`.
fn multiple_or_wrapped(v: i128, width: u32, bits: &[u32]) -> Option<(i128, i128)> {
    let width = i128::from(width);
    if v.rem_euclid(width) == 0 {
        return Some((v, v + width - 1));
    }
    let wrapped = bits.iter().filter_map(|bits| Wrapped::at(width, *bits)).find(|w| w.value == v)?;
    Some((wrapped.first, wrapped.last))
}

/// The one truncated integer that wraps around, because the multiple of the width lies below the type's minimum. Files
/// written before a promotion to `long` wrapped at the minimum of `int`.
struct Wrapped {
    value: i128,
    first: i128,
    last: i128,
}

impl Wrapped {
    fn at(width: i128, bits: u32) -> Option<Wrapped> {
        let first = -(1i128 << (bits - 1));
        let below = first.rem_euclid(width);
        (below != 0).then(|| Wrapped { value: -first - below, first, last: first + width - below - 1 })
    }
}

fn sources_of_prefix(v: ValueRef<'_>, length: usize, width: u32) -> Sources<'_> {
    match length.cmp(&(width as usize)) {
        Ordering::Greater => Sources::default(),
        order => Sources { lower: Some(v), upper: Some(v), upper_is_prefix: order.is_eq() },
    }
}

/// Whether a range of truncated integers may hold one that wrapped. Its source values are far from the range.
fn may_hide_wrapped(transform: &Transform, stored: &Stored<'_>, ty: &PrimitiveType) -> bool {
    let Transform::Truncate(width) = transform else { return false };
    if !matches!(ty, PrimitiveType::Int | PrimitiveType::Long) {
        return false;
    }
    let number = |v: Option<ValueRef<'_>>| match v {
        Some(ValueRef::Int(i)) => Some(i128::from(i)),
        Some(ValueRef::Long(l)) => Some(i128::from(l)),
        _ => None,
    };
    let (Some(low), Some(high)) = (number(stored.lower), number(stored.upper)) else { return true };
    let wrapped = [32, 64].into_iter().filter_map(|bits| Wrapped::at(i128::from(*width), bits));
    wrapped.map(|w| w.value).any(|v| (low..=high).contains(&v))
}

/// Whether truncated `long`s from `low` to `high` may hold the one that wrapped when the column was `int`. The source
/// value is now truncated to another number.
fn may_be_of_ints(transform: &Transform, low: ValueRef<'_>, high: ValueRef<'_>) -> bool {
    let (Transform::Truncate(width), ValueRef::Long(low), ValueRef::Long(high)) = (transform, low, high) else {
        return false;
    };
    let wrapped = Wrapped::at(i128::from(*width), 32);
    wrapped.is_some_and(|w| (i128::from(low)..=i128::from(high)).contains(&w.value))
}

/// The whole year, month, day or hour, in the units of `ty`. `None` if the type has none.
fn sources_of_period(transform: &Transform, n: i32, ty: &PrimitiveType) -> Option<Sources<'static>> {
    use PrimitiveType as P;
    let per_day: i128 = match ty {
        P::Date => 1,
        P::Timestamp | P::Timestamptz => i128::from(temporal::MICROS_PER_DAY),
        P::TimestampNs | P::TimestamptzNs => i128::from(temporal::MICROS_PER_DAY) * 1000,
        _ => return None,
    };
    let starts = |n: i64| -> i128 {
        match transform {
            Transform::Year => i128::from(temporal::days_of_civil(1970 + n, 1, 1)) * per_day,
            Transform::Month => i128::from(temporal::first_day_of_month(n)) * per_day,
            Transform::Hour => i128::from(n) * (per_day / 24),
            _ => i128::from(n) * per_day,
        }
    };
    let exact = *transform == Transform::Day && *ty == P::Date;
    let first = match with_old_bug(transform, ValueRef::Int(n)) {
        ValueRef::Int(first) if !exact => first,
        _ => n,
    };
    let value = |v: i128| match ty {
        P::Date => ValueRef::Int(v.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32),
        _ => ValueRef::Long(v.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64),
    };
    let (n, first) = (i64::from(n), i64::from(first));
    Some(Sources { lower: Some(value(starts(first))), upper: Some(value(starts(n + 1) - 1)), upper_is_prefix: false })
}

/// Java Iceberg up to 0.10 rounded times before 1970 up instead of down. A period at or before the epoch may therefore
/// hold rows of the previous period. The Java implementation still allows for that, and so does this function.
fn with_old_bug<'a>(transform: &Transform, v: ValueRef<'a>) -> ValueRef<'a> {
    match (transform, v) {
        (Transform::Year | Transform::Month | Transform::Day | Transform::Hour, ValueRef::Int(n)) if n <= 0 => {
            ValueRef::Int(n.saturating_sub(1))
        }
        _ => v,
    }
}

/// Adds the bounds from another partition field of the same column.
fn intersect<'a>(known: &mut ColumnBounds<'a>, more: ColumnBounds<'a>) {
    known.nulls = narrower(known.nulls, more.nulls);
    known.nans = narrower(known.nans, more.nans);
    let above = |a: ValueRef<'_>, b: ValueRef<'_>| a.sql_cmp(b) == Some(Ordering::Greater);
    known.lower = match (known.lower, more.lower) {
        (Some(a), Some(b)) if above(b, a) => Some(b),
        (a, b) => a.or(b),
    };
    if let Some(b) = more.upper
        && known.upper.is_none_or(|a| tighter((b, more.upper_is_prefix), (a, known.upper_is_prefix)))
    {
        (known.upper, known.upper_is_prefix) = (more.upper, more.upper_is_prefix);
    }
}

fn narrower(a: Presence, b: Presence) -> Presence {
    if a == Presence::Possible { b } else { a }
}

/// Whether upper bound `a` excludes more than `b`. Each comes with a flag that says whether it is a prefix.
fn tighter((a, a_prefix): (ValueRef<'_>, bool), (b, b_prefix): (ValueRef<'_>, bool)) -> bool {
    match a.sql_cmp(b) {
        Some(Ordering::Less) => !(a_prefix && b.starts_with(a)),
        Some(Ordering::Equal) => !a_prefix && b_prefix,
        Some(Ordering::Greater) => b_prefix && a.starts_with(b),
        None => false,
    }
}

#[cfg(test)]
#[path = "partition_bounds_tests.rs"]
mod tests;
