//! Finds exactly the rows that a filter keeps.
//!
//! The meaning is Spark SQL's: three-valued logic, NaN equals NaN and is above all numbers, -0.0 equals 0.0. A bound
//! filter is in negation normal form. So `and` keeps a row if both sides keep it, and `or` if one side does. "False"
//! and "unknown" need not be distinguished. Every leaf is a mask of the rows on which it is true.

use std::cmp::Ordering;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, StringArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::filter;
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};

use crate::data::arrow::array_value::value_at;
use crate::data::formula::compare::compare;
use crate::data::formula::evaluate::evaluate;
use crate::error::{Error, Result};
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, BoundTest, Op, TestQuestion};
use crate::types::{FieldId, PrimitiveType, Transform, Type, Value, ValueRef};

/// The rows on which `filter` is true. `lookup` gives the columns by id, in the Arrow type of the table's type
/// ([`to_arrow`](crate::data::arrow::schema::to_arrow)) and with `rows` values. Members of structs are null where a
/// struct around them is null.
///
/// # Errors
/// `Internal` if a column is missing, or has another type than the filter was bound to. `InvalidInput` if a value that
/// the filter asks about can't be computed.
pub fn matches(
    filter: &BoundPredicate,
    rows: usize,
    lookup: &dyn Fn(FieldId) -> Option<ArrayRef>,
) -> Result<BooleanBuffer> {
    matches_among(filter, &BooleanBuffer::new_set(rows), lookup)
}

/// Like [`matches`], on some of the rows. Values of other rows are not computed, so they give no errors.
///
/// # Errors
/// As [`matches`].
pub(crate) fn matches_among(
    predicate: &BoundPredicate,
    among: &BooleanBuffer,
    lookup: &dyn Fn(FieldId) -> Option<ArrayRef>,
) -> Result<BooleanBuffer> {
    match predicate {
        BoundPredicate::True => Ok(among.clone()),
        BoundPredicate::False => Ok(BooleanBuffer::new_unset(among.len())),
        BoundPredicate::And(parts) => {
            let mut kept = among.clone();
            for part in in_order(parts) {
                if kept.count_set_bits() == 0 {
                    break;
                }
                kept = matches_among(part, &kept, lookup)?;
            }
            Ok(kept)
        }
        BoundPredicate::Or(parts) => {
            let mut kept = BooleanBuffer::new_unset(among.len());
            for part in in_order(parts) {
                let left = among & &!&kept;
                kept = &kept | &matches_among(part, &left, lookup)?;
            }
            Ok(kept)
        }
        BoundPredicate::Leaf(leaf) => {
            let array = lookup(leaf.term.field_id).filter(|a| a.len() == among.len());
            let array = array.ok_or_else(|| Error::internal("a filter's column was not read"))?;
            let kept = leaf_matches(leaf, &array).map_err(|e| e.with("column", leaf.term.path.join(".")))?;
            Ok(among & &kept)
        }
        BoundPredicate::Test(test) => test_matches(test, among, lookup),
    }
}

/// The parts of a filter, those first that give no errors.
fn in_order(parts: &[BoundPredicate]) -> impl Iterator<Item = &BoundPredicate> {
    let can_fail = |p: &&BoundPredicate| p.can_fail();
    parts.iter().filter(move |p| !can_fail(p)).chain(parts.iter().filter(can_fail))
}

/// A test of computed values, on some of the rows.
fn test_matches(
    test: &BoundTest,
    among: &BooleanBuffer,
    lookup: &dyn Fn(FieldId) -> Option<ArrayRef>,
) -> Result<BooleanBuffer> {
    let (all, rows) = (among.len(), among.count_set_bits());
    if rows == 0 {
        return Ok(BooleanBuffer::new_unset(all));
    }
    let some = (rows < all).then(|| BooleanArray::new(among.clone(), None));
    let column = |term: &BoundTerm| {
        let array = lookup(term.field_id).filter(|a| a.len() == all);
        let array = array.ok_or_else(|| Error::internal("a filter's column was not read"))?;
        match &some {
            Some(some) => filter(&array, some).map_err(|e| Error::internal("rows cannot be filtered").because(e)),
            None => Ok(array),
        }
    };
    let left = evaluate(&test.left, rows, &column)?;
    let kept = match &test.question {
        TestQuestion::Values(op, values) => {
            let ty = Type::Primitive(test.left.ty().clone());
            let term = BoundTerm {
                field_id: 0,
                path: Vec::new(),
                source: ty.clone(),
                transform: Transform::Identity,
                ty,
                required: false,
            };
            leaf_matches(&BoundLeaf { term, op: *op, values: values.clone() }, &left)?
        }
        TestQuestion::Compare(op, right) => compare(*op, &left, &evaluate(right, rows, &column)?)?,
        TestQuestion::Like(pattern) => mask(text(&left)?, |v: &str| pattern.matches(v)),
        TestQuestion::NotLike(pattern) => mask(text(&left)?, |v: &str| !pattern.matches(v)),
    };
    if some.is_none() {
        return Ok(kept);
    }
    let mut out = BooleanBufferBuilder::new(all);
    out.append_n(all, false);
    for (row, _) in among.set_indices().zip(kept.iter()).filter(|(_, kept)| *kept) {
        out.set_bit(row, true);
    }
    Ok(out.finish())
}

fn text(array: &ArrayRef) -> Result<&StringArray> {
    array.as_string_opt::<i32>().ok_or_else(mistyped)
}

fn leaf_matches(leaf: &BoundLeaf, array: &ArrayRef) -> Result<BooleanBuffer> {
    let valid = || match array.logical_nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(array.len()),
    };
    match (&leaf.term.transform, leaf.op) {
        (Transform::Identity, Op::IsNull) => Ok(!&valid()),
        (Transform::Identity, Op::NotNull) => Ok(valid()),
        // Null is not NaN. This test is true for null, as in Spark.
        (Transform::Identity, Op::NotNan) => Ok(!&column_matches(&BoundLeaf { op: Op::IsNan, ..leaf.clone() }, array)?),
        (Transform::Identity, _) if leaf.term.source_primitive() == Some(&PrimitiveType::Unknown) => {
            Ok(BooleanBuffer::new_unset(array.len()))
        }
        (Transform::Identity, _) => column_matches(leaf, array),
        _ => transformed_matches(leaf, array),
    }
}

fn mistyped() -> Error {
    Error::internal("a filter was evaluated on a column of another type than it was bound to")
}

/// A test of the column itself.
fn column_matches(leaf: &BoundLeaf, array: &ArrayRef) -> Result<BooleanBuffer> {
    use PrimitiveType as P;
    let values = leaf.values.as_slice();
    match leaf.term.source_primitive().ok_or_else(mistyped)? {
        P::Boolean => {
            let literals = literals(values, |v| if let Value::Boolean(b) = v { Some(*b) } else { None })?;
            test(array.as_boolean_opt().ok_or_else(mistyped)?, |v| v, leaf.op, &literals)
        }
        P::Int => ints::<Int32Type>(array, leaf),
        P::Date => ints::<Date32Type>(array, leaf),
        P::Long => longs::<Int64Type>(array, leaf),
        P::Time => longs::<Time64MicrosecondType>(array, leaf),
        P::Timestamp | P::Timestamptz => longs::<TimestampMicrosecondType>(array, leaf),
        P::TimestampNs | P::TimestamptzNs => longs::<TimestampNanosecondType>(array, leaf),
        P::Decimal { .. } => {
            let literals = literals(values, |v| if let Value::Decimal(d) = v { Some(*d) } else { None })?;
            numbers::<Decimal128Type, _>(array, |v| v, leaf.op, &literals)
        }
        P::Float => {
            let literals = literals(values, |v| if let Value::Float(f) = v { Some(order32(*f)) } else { None })?;
            numbers::<Float32Type, _>(array, order32, leaf.op, &literals)
        }
        P::Double => {
            let literals = literals(values, |v| if let Value::Double(f) = v { Some(order64(*f)) } else { None })?;
            numbers::<Float64Type, _>(array, order64, leaf.op, &literals)
        }
        P::String => {
            let literals = literals(values, |v| if let Value::String(s) = v { Some(s.as_str()) } else { None })?;
            let array = array.as_string_opt::<i32>().ok_or_else(mistyped)?;
            match prefix(leaf.op, &literals) {
                Some((prefix, wanted)) => Ok(mask(array, |v: &str| v.starts_with(prefix) == wanted)),
                None => test(array, |v| v, leaf.op, &literals),
            }
        }
        P::Binary => {
            let literals = literals(values, byte_literal)?;
            let array = array.as_binary_opt::<i32>().ok_or_else(mistyped)?;
            match prefix(leaf.op, &literals) {
                Some((prefix, wanted)) => Ok(mask(array, |v: &[u8]| v.starts_with(prefix) == wanted)),
                None => test(array, |v| v, leaf.op, &literals),
            }
        }
        P::Fixed(_) => {
            let literals = literals(values, byte_literal)?;
            let array = array.as_fixed_size_binary_opt().ok_or_else(mistyped)?;
            match prefix(leaf.op, &literals) {
                Some((prefix, wanted)) => Ok(mask(array, |v: &[u8]| v.starts_with(prefix) == wanted)),
                None => test(array, |v| v, leaf.op, &literals),
            }
        }
        P::Uuid => {
            let literals = literals(values, |v| if let Value::Uuid(u) = v { Some(*u) } else { None })?;
            let array = array.as_fixed_size_binary_opt().filter(|a| a.value_length() == 16).ok_or_else(mistyped)?;
            test(array, |v| crate::data::arrow::array_value::uuid(v).unwrap_or_default(), leaf.op, &literals)
        }
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => Err(mistyped()),
    }
}

/// The filter's values, in the type of the comparison.
fn literals<'a, K>(values: &'a [Value], of: impl Fn(&'a Value) -> Option<K>) -> Result<Vec<K>> {
    values.iter().map(|v| of(v).ok_or_else(mistyped)).collect()
}

fn byte_literal(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// The prefix of a prefix test, and whether texts must have it.
fn prefix<K: Copy>(op: Op, literals: &[K]) -> Option<(K, bool)> {
    let wanted = match op {
        Op::StartsWith => true,
        Op::NotStartsWith => false,
        _ => return None,
    };
    literals.first().map(|p| (*p, wanted))
}

fn ints<T: ArrowPrimitiveType<Native = i32>>(array: &ArrayRef, leaf: &BoundLeaf) -> Result<BooleanBuffer> {
    let literals = literals(&leaf.values, |v| if let Value::Int(i) = v { Some(*i) } else { None })?;
    numbers::<T, _>(array, |v| v, leaf.op, &literals)
}

fn longs<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, leaf: &BoundLeaf) -> Result<BooleanBuffer> {
    let literals = literals(&leaf.values, |v| if let Value::Long(i) = v { Some(*i) } else { None })?;
    numbers::<T, _>(array, |v| v, leaf.op, &literals)
}

fn numbers<T: ArrowPrimitiveType, K: Ord + Nan>(
    array: &ArrayRef,
    key: impl Fn(T::Native) -> K,
    op: Op,
    literals: &[K],
) -> Result<BooleanBuffer> {
    test(array.as_primitive_opt::<T>().ok_or_else(mistyped)?, key, op, literals)
}

/// A float as an integer of the same order. All NaNs are equal and above the rest, and both zeros are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ordered(i64);

fn order32(f: f32) -> Ordered {
    order64(f64::from(f))
}

fn order64(f: f64) -> Ordered {
    if f.is_nan() {
        return Ordered(i64::MAX);
    }
    // Adding 0.0 turns -0.0 into 0.0. The bits of negative floats have the reverse order.
    let bits = (f + 0.0).to_bits() as i64;
    Ordered(bits ^ (((bits >> 63) as u64) >> 1) as i64)
}

/// Whether a comparison key stands for NaN.
trait Nan {
    fn is_nan(&self) -> bool {
        false
    }
}

impl Nan for Ordered {
    fn is_nan(&self) -> bool {
        self.0 == i64::MAX
    }
}

impl Nan for bool {}
impl Nan for i32 {}
impl Nan for i64 {}
impl Nan for i128 {}
impl Nan for u128 {}
impl Nan for &str {}
impl Nan for &[u8] {}

/// The rows that are not null and for whose value `f` is true.
fn mask<A: ArrayAccessor>(array: A, f: impl FnMut(A::Item) -> bool) -> BooleanBuffer {
    let nulls: Option<NullBuffer> = array.nulls().cloned();
    let (values, _) = BooleanArray::from_unary(array, f).into_parts();
    match nulls {
        Some(nulls) => &values & nulls.inner(),
        None => values,
    }
}

/// Comparisons, sets and NaN tests. `literals` are sorted.
fn test<A: ArrayAccessor, K: Ord + Nan>(
    array: A,
    key: impl Fn(A::Item) -> K,
    op: Op,
    literals: &[K],
) -> Result<BooleanBuffer> {
    let first = || literals.first().ok_or_else(mistyped);
    Ok(match op {
        Op::Lt => first().map(|l| mask(array, |v| key(v) < *l))?,
        Op::LtEq => first().map(|l| mask(array, |v| key(v) <= *l))?,
        Op::Gt => first().map(|l| mask(array, |v| key(v) > *l))?,
        Op::GtEq => first().map(|l| mask(array, |v| key(v) >= *l))?,
        Op::Eq => first().map(|l| mask(array, |v| key(v) == *l))?,
        Op::NotEq => first().map(|l| mask(array, |v| key(v) != *l))?,
        Op::In => mask(array, |v| literals.binary_search(&key(v)).is_ok()),
        Op::NotIn => mask(array, |v| literals.binary_search(&key(v)).is_err()),
        Op::IsNan => mask(array, |v| key(v).is_nan()),
        Op::NotNan | Op::IsNull | Op::NotNull | Op::StartsWith | Op::NotStartsWith => return Err(mistyped()),
    })
}

/// A test of a transform of the column, row by row.
fn transformed_matches(leaf: &BoundLeaf, array: &ArrayRef) -> Result<BooleanBuffer> {
    let source = leaf.term.source_primitive().ok_or_else(mistyped)?;
    let transform = &leaf.term.transform;
    let keep = |row: usize| {
        let result = value_at(array, row, source).and_then(|v| transform.apply(v, source));
        value_matches(leaf.op, result.as_ref().map(Value::as_ref), &leaf.values)
    };
    Ok(BooleanBuffer::collect_bool(array.len(), keep))
}

/// Whether a test is true for one value, or for null.
fn value_matches(op: Op, value: Option<ValueRef<'_>>, literals: &[Value]) -> bool {
    let Some(value) = value else { return matches!(op, Op::IsNull | Op::NotNan) };
    let order = || literals.first().and_then(|l| value.sql_cmp(l.as_ref()));
    let found = || literals.binary_search_by(|l| l.as_ref().sql_cmp(value).unwrap_or(Ordering::Less)).is_ok();
    let starts = || literals.first().map(|l| value.starts_with(l.as_ref()));
    match op {
        Op::IsNull => false,
        Op::NotNull => true,
        Op::IsNan => value.is_nan(),
        Op::NotNan => !value.is_nan(),
        Op::Lt => order() == Some(Ordering::Less),
        Op::LtEq => order().is_some_and(Ordering::is_le),
        Op::Gt => order() == Some(Ordering::Greater),
        Op::GtEq => order().is_some_and(Ordering::is_ge),
        Op::Eq => order() == Some(Ordering::Equal),
        Op::NotEq => order().is_some_and(Ordering::is_ne),
        Op::In => found(),
        Op::NotIn => !found(),
        Op::StartsWith => starts() == Some(true),
        Op::NotStartsWith => starts() == Some(false),
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
