//! For property tests: the result of a filter on a row, computed row by row, and random columns, rows and filters.

use std::cmp::Ordering;

use proptest::prelude::*;
use proptest::sample::select;

use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::types::{Field, PrimitiveType, Schema, Transform, Value};

/// The column that random filters ask about.
pub(crate) const COLUMN: i32 = 7;
/// Its name, which needs quoting.
pub(crate) const NAME: &str = "odd \"name\".é";

/// A schema with the column.
pub(crate) fn schema(ty: &PrimitiveType) -> Schema {
    Schema::new(0, vec![Field::new(COLUMN, NAME, false, ty.clone())], vec![])
}

/// Whether `p` is true, false or unknown where the column has `value`.
pub(crate) fn holds(p: &BoundPredicate, value: Option<&Value>) -> Option<bool> {
    match p {
        BoundPredicate::True => Some(true),
        BoundPredicate::False => Some(false),
        BoundPredicate::And(parts) => junction(parts, value, false),
        BoundPredicate::Or(parts) => junction(parts, value, true),
        BoundPredicate::Leaf(leaf) => leaf_holds(leaf, value),
        BoundPredicate::Test(_) => unreachable!(),
    }
}

fn junction(parts: &[BoundPredicate], value: Option<&Value>, decisive: bool) -> Option<bool> {
    let all: Vec<Option<bool>> = parts.iter().map(|p| holds(p, value)).collect();
    match all.contains(&Some(decisive)) {
        true => Some(decisive),
        false if all.contains(&None) => None,
        false => Some(!decisive),
    }
}

fn leaf_holds(leaf: &BoundLeaf, value: Option<&Value>) -> Option<bool> {
    let source = leaf.term.source_primitive().unwrap();
    let value = value.map(|v| leaf.term.transform.apply(v.as_ref(), source).unwrap());
    match (leaf.op, &value) {
        (Op::IsNull, v) => return Some(v.is_none()),
        (Op::NotNull, v) => return Some(v.is_some()),
        (Op::IsNan, v) => return Some(v.as_ref().is_some_and(|v| v.as_ref().is_nan())),
        (Op::NotNan, v) => return Some(!v.as_ref().is_some_and(|v| v.as_ref().is_nan())),
        _ => {}
    }
    let value = value?;
    let order = |i: usize| value.sql_cmp(&leaf.values[i]).unwrap();
    let found = || leaf.values.iter().any(|v| value.sql_cmp(v) == Some(Ordering::Equal));
    Some(match leaf.op {
        Op::Lt => order(0).is_lt(),
        Op::LtEq => order(0).is_le(),
        Op::Gt => order(0).is_gt(),
        Op::GtEq => order(0).is_ge(),
        Op::Eq | Op::In => found(),
        Op::NotEq | Op::NotIn => !found(),
        Op::StartsWith => value.as_ref().starts_with(leaf.values[0].as_ref()),
        Op::NotStartsWith => !value.as_ref().starts_with(leaf.values[0].as_ref()),
        _ => unreachable!(),
    })
}

/// Types whose values have an order.
pub(crate) fn types() -> impl Strategy<Value = PrimitiveType> {
    use PrimitiveType as P;
    select(vec![
        P::Boolean,
        P::Int,
        P::Long,
        P::Float,
        P::Double,
        P::Decimal { precision: 9, scale: 2 },
        P::Decimal { precision: 38, scale: 10 },
        P::Date,
        P::Time,
        P::Timestamp,
        P::Timestamptz,
        P::TimestampNs,
        P::TimestamptzNs,
        P::String,
        P::Uuid,
        P::Fixed(2),
        P::Binary,
    ])
}

/// Values of a type, few enough that they meet: small ones, neighbours of period ends, extremes. No NaN, no -0.0.
pub(crate) fn values(ty: &PrimitiveType) -> BoxedStrategy<Value> {
    use PrimitiveType as P;
    let day: i64 = 86_400_000_000;
    let instants = |per_day: i64| {
        let far = 7_000_000_000_000_000_000i64;
        prop_oneof![
            8 => (-70i64..70, -1i64..2).prop_map(move |(d, off)| d * per_day / 2 + off),
            1 => select(vec![-far, far, 0, -1, 1]),
        ]
        .prop_map(Value::Long)
        .boxed()
    };
    match ty {
        P::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        P::Int => prop_oneof![6 => -25i32..25, 1 => select(vec![i32::MIN, i32::MIN + 3, i32::MAX, i32::MAX - 3])]
            .prop_map(Value::Int)
            .boxed(),
        P::Date => prop_oneof![6 => -800i32..800, 1 => select(vec![i32::MIN, i32::MAX])].prop_map(Value::Int).boxed(),
        P::Long => prop_oneof![
            6 => -25i64..25,
            1 => select(vec![i64::MIN, i64::MIN + 3, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX)]),
        ]
        .prop_map(Value::Long)
        .boxed(),
        P::Float => prop_oneof![4 => (-5i8..5).prop_map(|v| f32::from(v) / 2.0 + 0.0), 2 => any::<f32>(),
            1 => select(vec![f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 0.1])]
        .prop_filter("special", |v| !v.is_nan() && (*v != 0.0 || v.is_sign_positive()))
        .prop_map(Value::Float)
        .boxed(),
        P::Double => prop_oneof![4 => (-5i8..5).prop_map(|v| f64::from(v) / 2.0 + 0.0), 2 => any::<f64>(),
            1 => select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::MIN, 0.1])]
        .prop_filter("special", |v| !v.is_nan() && (*v != 0.0 || v.is_sign_positive()))
        .prop_map(Value::Double)
        .boxed(),
        P::Decimal { precision, .. } => {
            let most = 10i128.pow(u32::from(*precision).min(37)) - 1;
            prop_oneof![6 => -300i128..300, 1 => select(vec![most, -most])].prop_map(Value::Decimal).boxed()
        }
        P::Time => prop_oneof![0i64..20, day - 5..day].prop_map(Value::Long).boxed(),
        P::Timestamp | P::Timestamptz => instants(day),
        P::TimestampNs | P::TimestamptzNs => instants(day * 1000),
        P::String => prop_oneof!["[ab]{0,4}", "[a\u{d7ff}\u{10ffff}é']{0,3}"].prop_map(Value::String).boxed(),
        P::Uuid => select(vec![0u128, 1, 2, 5, 1 << 127, (1 << 127) + 1, u128::MAX]).prop_map(Value::Uuid).boxed(),
        P::Fixed(n) => prop::collection::vec(select(vec![0u8, 1, 255]), *n as usize).prop_map(Value::Bytes).boxed(),
        _ => prop::collection::vec(select(vec![0u8, 1, 255]), 0..4).prop_map(Value::Bytes).boxed(),
    }
}

/// Values of rows: sometimes null, NaN or -0.0.
pub(crate) fn cells(ty: &PrimitiveType) -> BoxedStrategy<Option<Value>> {
    let special = match ty {
        PrimitiveType::Float => vec![None, Some(Value::Float(f32::NAN)), Some(Value::Float(-0.0))],
        PrimitiveType::Double => vec![None, Some(Value::Double(f64::NAN)), Some(Value::Double(-0.0))],
        _ => vec![None],
    };
    prop_oneof![5 => values(ty).prop_map(Some), 1 => select(special)].boxed()
}

/// Rows: few and alike, so that bounds are sometimes a point, all null or all NaN.
pub(crate) fn rows(ty: &PrimitiveType) -> BoxedStrategy<Vec<Option<Value>>> {
    let few = prop::collection::vec(cells(ty), 1..3);
    (few, prop::collection::vec(any::<prop::sample::Index>(), 1..6))
        .prop_map(|(few, picks)| picks.iter().map(|i| few[i.index(few.len())].clone()).collect())
        .boxed()
}

/// Transforms that accept the type.
pub(crate) fn transforms(ty: &PrimitiveType) -> BoxedStrategy<Transform> {
    use Transform as T;
    let all = [
        T::Bucket(2),
        T::Bucket(5),
        T::Truncate(1),
        T::Truncate(2),
        T::Truncate(10),
        T::Year,
        T::Month,
        T::Day,
        T::Hour,
    ];
    let mut fit: Vec<Transform> = all.into_iter().filter(|t| t.accepts(ty)).collect();
    fit.push(Transform::Identity);
    select(fit).boxed()
}

/// Bound filters of some depth, normalised as binding leaves them.
pub(crate) fn filters(ty: &PrimitiveType) -> BoxedStrategy<BoundPredicate> {
    leaves(ty)
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(BoundPredicate::all),
                prop::collection::vec(inner, 1..4).prop_map(BoundPredicate::any),
            ]
        })
        .boxed()
}

fn leaves(ty: &PrimitiveType) -> BoxedStrategy<BoundPredicate> {
    let ty = ty.clone();
    prop_oneof![3 => Just(Transform::Identity).boxed(), 2 => transforms(&ty)]
        .prop_flat_map(move |transform| {
            let source = ty.clone();
            let of = transform.clone();
            let literals = values(&ty).prop_map(move |v| of.apply(v.as_ref(), &source).unwrap());
            let term = BoundTerm {
                field_id: COLUMN,
                path: vec![NAME.to_owned()],
                source: ty.clone().into(),
                ty: transform.result_type(&ty).into(),
                transform,
                required: false,
            };
            let ops = ops(&term);
            (Just(term), select(ops), prop::collection::vec(literals, 1..6))
        })
        .prop_filter_map("an empty prefix binds to a null test", |(term, op, values)| leaf(term, op, values))
        .boxed()
}

fn ops(term: &BoundTerm) -> Vec<Op> {
    let mut ops = vec![Op::Lt, Op::LtEq, Op::Gt, Op::GtEq, Op::Eq, Op::NotEq, Op::In, Op::NotIn];
    if term.transform == Transform::Identity {
        ops.extend([Op::IsNull, Op::NotNull]);
    }
    match term.ty.as_primitive().unwrap() {
        PrimitiveType::Float | PrimitiveType::Double => ops.extend([Op::IsNan, Op::NotNan]),
        PrimitiveType::String | PrimitiveType::Binary => ops.extend([Op::StartsWith, Op::NotStartsWith]),
        _ => {}
    }
    ops
}

fn leaf(term: BoundTerm, op: Op, mut values: Vec<Value>) -> Option<BoundPredicate> {
    let op = match op {
        Op::IsNull | Op::NotNull | Op::IsNan | Op::NotNan => {
            values.clear();
            op
        }
        Op::In | Op::NotIn => {
            values.sort_by(|a, b| a.sql_cmp(b).unwrap());
            values.dedup();
            match (values.len(), op) {
                (1, Op::In) => Op::Eq,
                (1, _) => Op::NotEq,
                _ => op,
            }
        }
        Op::StartsWith | Op::NotStartsWith if values[0].as_ref().to_owned() == Value::String(String::new()) => {
            return None;
        }
        Op::StartsWith | Op::NotStartsWith if values[0] == Value::Bytes(vec![]) => return None,
        op => op,
    };
    if !matches!(op, Op::In | Op::NotIn) {
        values.truncate(1);
    }
    Some(BoundPredicate::Leaf(BoundLeaf { term, op, values }))
}
