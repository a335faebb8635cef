//! A fast check of single columns' metrics, before the general evaluator checks a file.
//!
//! If a comparison excludes a file, one bound of a number usually shows it. This check takes a few instructions; the
//! general evaluator takes a few hundred. The screen rejects only files that [`crate::expr::bounds`] would reject; a
//! property test compares the two. It accepts everything that it does not understand.

use crate::expr::BoundPredicate;
use crate::expr::predicate::{BoundLeaf, Op};
use crate::iceberg::manifest::entries::{EntryColumns, MetricColumn};
use crate::iceberg::plan::file_bounds::believable_counts;
use crate::types::{PrimitiveType, Transform, Value};

/// The fast comparisons of a filter. A row must satisfy all of them.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    checks: Vec<Check>,
}

#[derive(Debug)]
struct Check {
    /// The index of the batch's metric column.
    place: usize,
    op: Op,
    literal: Number,
}

/// A literal, with the width of bounds of its type.
#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
}

impl Screen {
    /// The checks of `filter` for batches with these metric columns.
    pub(crate) fn new(filter: &BoundPredicate, columns: &EntryColumns) -> Screen {
        let parts = match filter {
            BoundPredicate::And(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let check = |part: &BoundPredicate| match part {
            BoundPredicate::Leaf(leaf) => Check::new(leaf, columns),
            _ => None,
        };
        Screen { checks: parts.iter().filter_map(check).collect() }
    }

    /// Whether no row of the file can match. False if that is not clear at once.
    #[inline]
    pub(crate) fn rejects(&self, columns: &EntryColumns, row: usize) -> bool {
        self.checks.iter().any(|c| {
            columns.metrics.get(c.place).is_some_and(|m| c.rejects(m, row) && c.is_believable(m, columns, row))
        })
    }
}

impl Check {
    fn new(leaf: &BoundLeaf, columns: &EntryColumns) -> Option<Check> {
        use PrimitiveType as P;
        let (ty, literal) = (leaf.term.source_primitive()?, leaf.values.first()?);
        let literal = match (ty, literal) {
            (P::Int | P::Date, Value::Int(v)) => Number::Int(*v),
            (P::Long | P::Time, Value::Long(v)) => Number::Long(*v),
            (P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs, Value::Long(v)) => Number::Long(*v),
            (P::Float, Value::Float(v)) if !v.is_nan() => Number::Float(*v),
            (P::Double, Value::Double(v)) if !v.is_nan() => Number::Double(*v),
            _ => return None,
        };
        let quick = matches!(leaf.op, Op::Lt | Op::LtEq | Op::Gt | Op::GtEq | Op::Eq);
        if !quick || leaf.term.transform != Transform::Identity {
            return None;
        }
        let place = columns.metrics.binary_search_by_key(&leaf.term.field_id, |m| m.field_id).ok()?;
        Some(Check { place, op: leaf.op, literal })
    }

    #[inline]
    fn rejects(&self, m: &MetricColumn, row: usize) -> bool {
        match self.literal {
            Number::Int(v) => self.outside(bounds(m, row, i32::from_le_bytes), v),
            Number::Long(v) => self.outside(bounds(m, row, i64::from_le_bytes), v),
            Number::Float(v) => self.no_nan(m, row) && self.outside(bounds(m, row, f32::from_le_bytes), v),
            Number::Double(v) => self.no_nan(m, row) && self.outside(bounds(m, row, f64::from_le_bytes), v),
        }
    }

    /// Whether the counts leave room for the values of the bounds.
    #[inline]
    fn is_believable(&self, m: &MetricColumn, columns: &EntryColumns, row: usize) -> bool {
        match believable_counts(m, columns, row) {
            None => !matches!((self.op, self.literal), (Op::Gt | Op::GtEq, Number::Float(_) | Number::Double(_))),
            Some((Some(values), nulls, nans)) => nulls.unwrap_or(0).saturating_add(nans.unwrap_or(0)) < values,
            Some(_) => true,
        }
    }

    /// Compares numbers. NaN is above all other numbers.
    #[inline]
    fn no_nan(&self, m: &MetricColumn, row: usize) -> bool {
        !matches!(self.op, Op::Gt | Op::GtEq) || m.nan_count.get(row) == Some(&0)
    }

    #[inline]
    fn outside<T: PartialOrd>(&self, bounds: Option<(T, T)>, v: T) -> bool {
        let Some((lower, upper)) = bounds else { return false };
        // Bounds in the wrong order and NaNs prove nothing.
        let sane = lower <= upper;
        sane && match self.op {
            Op::Lt => lower >= v,
            Op::LtEq => lower > v,
            Op::Gt => upper <= v,
            Op::GtEq => upper < v,
            _ => upper < v || lower > v,
        }
    }
}

/// Both bounds, if they have the width of the type.
#[inline]
fn bounds<const N: usize, T>(m: &MetricColumn, row: usize, of: fn([u8; N]) -> T) -> Option<(T, T)> {
    let lower = m.lower.get(row)?.try_into().ok()?;
    let upper = m.upper.get(row)?.try_into().ok()?;
    Some((of(lower), of(upper)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expr::bounds::may_match;
    use crate::expr::{bind, parse};
    use crate::iceberg::plan::file_bounds::MetricsBounds;
    use crate::types::{Field, Schema};

    const TYPES: [PrimitiveType; 6] = [
        PrimitiveType::Int,
        PrimitiveType::Long,
        PrimitiveType::Float,
        PrimitiveType::Double,
        PrimitiveType::Date,
        PrimitiveType::Timestamp,
    ];

    fn bound(ty: &PrimitiveType) -> BoxedStrategy<Option<Vec<u8>>> {
        let number = -3i32..4;
        let special = prop_oneof![Just(0.0f64), Just(-0.0), Just(f64::NAN), Just(1.0), Just(-2.0)];
        let of = match ty {
            PrimitiveType::Int | PrimitiveType::Date => number.prop_map(|v| v.to_le_bytes().to_vec()).boxed(),
            PrimitiveType::Float => special.prop_map(|v| (v as f32).to_le_bytes().to_vec()).boxed(),
            PrimitiveType::Double => special.prop_map(|v| v.to_le_bytes().to_vec()).boxed(),
            _ => number.prop_map(|v| i64::from(v).to_le_bytes().to_vec()).boxed(),
        };
        let odd = prop::collection::vec(any::<u8>(), 0..9);
        prop_oneof![1 => Just(None), 8 => of.prop_map(Some), 1 => odd.prop_map(Some)].boxed()
    }

    type Case = (PrimitiveType, String, Option<Vec<u8>>, Option<Vec<u8>>, [i64; 3]);

    fn case() -> impl Strategy<Value = Case> {
        let op = prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("="), Just("!=")];
        (prop::sample::select(&TYPES[..]), op, -2i32..3).prop_flat_map(|(ty, op, literal)| {
            let text = match ty {
                PrimitiveType::Date => format!("c {op} '1970-01-0{}'", literal.abs() + 1),
                PrimitiveType::Timestamp => format!("c {op} '1970-01-01T00:00:00.00000{}'", literal.abs()),
                _ => format!("c {op} {literal} and c {op} {}", literal + 1),
            };
            let counts = [-1i64..3, -1..3, -1..3];
            (Just(ty.clone()), Just(text), bound(&ty), bound(&ty), counts)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn rejects_only_what_the_evaluator_rejects((ty, text, lower, upper, counts) in case()) {
            let schema = Schema::new(0, vec![Field::new(1, "c", false, ty)], vec![]);
            let filter = bind(&parse(&text).unwrap(), &schema, true).unwrap();
            let mut m = MetricColumn { field_id: 1, ..Default::default() };
            (m.value_count, m.null_count, m.nan_count) = (vec![counts[0]], vec![counts[1]], vec![counts[2]]);
            prop_assert!(m.lower.push(lower.as_deref()) && m.upper.push(upper.as_deref()));
            let columns = EntryColumns { record_count: vec![2], metrics: vec![m], ..Default::default() };
            if Screen::new(&filter, &columns).rejects(&columns, 0) {
                prop_assert!(!may_match(&filter, &MetricsBounds::new(&columns, 0)));
            }
        }
    }

    #[test]
    fn rejects_the_plain_case() {
        let schema = Schema::new(0, vec![Field::new(1, "c", false, PrimitiveType::Double)], vec![]);
        let mut m = MetricColumn { field_id: 1, nan_count: vec![0, 1, 0], ..Default::default() };
        for upper in [5.0f64, 5.0, 7.0] {
            assert!(m.lower.push(Some(&1.0f64.to_le_bytes())) && m.upper.push(Some(&upper.to_le_bytes())));
        }
        let columns = EntryColumns { metrics: vec![m], ..Default::default() };
        let screen = Screen::new(&bind(&parse("c > 6").unwrap(), &schema, true).unwrap(), &columns);
        assert_eq!([0, 1, 2].map(|row| screen.rejects(&columns, row)), [true, false, false]);
    }
}
