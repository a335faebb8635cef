//! Explains in words why rows were pruned.

use crate::expr::bounds::{Bounds, ColumnBounds, Presence, Verdict, checked, evaluate, evaluate_leaf};
use crate::expr::predicate::{BoundLeaf, BoundPredicate, Op};
use crate::expr::text::Shown;
use crate::types::{PrimitiveType, Transform, ValueRef};

/// The most parts of a disjunction that are shown, and the longest clause.
const PARTS: usize = 3;
const CLAUSE: usize = 120;

/// The clause of `filter` that no row can satisfy, and the bound that proves it, as in `id < 5: lower bound 10`. `None`
/// if some row may match.
pub fn explain(filter: &BoundPredicate, bounds: &dyn Bounds) -> Option<String> {
    match filter {
        BoundPredicate::True => None,
        BoundPredicate::False => Some("the filter is false".to_owned()),
        BoundPredicate::And(parts) => parts.iter().find_map(|p| explain(p, bounds)),
        BoundPredicate::Or(parts) => {
            if evaluate(filter, bounds) != Verdict::Never {
                return None;
            }
            let shown: Vec<String> = parts.iter().take(PARTS).filter_map(|p| explain(p, bounds)).collect();
            let more = parts.len().saturating_sub(PARTS);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            Some(format!("{}{more}", shown.join("; ")))
        }
        BoundPredicate::Leaf(leaf) => {
            if evaluate_leaf(leaf, bounds) != Verdict::Never {
                return None;
            }
            Some(format!("{}: {}", shortened(leaf.to_string()), reason(leaf, bounds)))
        }
        BoundPredicate::Test(test) => {
            let never = evaluate(filter, bounds) == Verdict::Never;
            never.then(|| format!("{}: the bounds of its columns exclude it", shortened(test.to_string())))
        }
    }
}

fn shortened(clause: String) -> String {
    match clause.char_indices().nth(CLAUSE) {
        Some((end, _)) => format!("{}…", clause.get(..end).unwrap_or_default()),
        None => clause,
    }
}

fn reason(leaf: &BoundLeaf, bounds: &dyn Bounds) -> String {
    let term = &leaf.term;
    let (Some(source), Some(ty)) = (term.source_primitive(), term.ty.as_primitive()) else {
        return of_nulls(bounds.nested_nulls(term.field_id)).to_owned();
    };
    let stored = bounds.transformed(term.field_id, &term.transform).filter(|_| term.transform != Transform::Identity);
    let (b, ty) = match stored {
        Some(b) => (checked(b, ty), ty),
        None => (checked(bounds.column(term.field_id, source), source), source),
    };
    if b.nulls == Presence::Everywhere || leaf.op == Op::IsNull {
        return of_nulls(b.nulls).to_owned();
    }
    if matches!(leaf.op, Op::IsNan | Op::NotNan) {
        return (if b.nans == Presence::Everywhere { "every value is NaN" } else { "no value is NaN" }).to_owned();
    }
    of_range(leaf.op, &b, ty).unwrap_or_else(|| of_buckets(leaf, bounds))
}

fn of_nulls(nulls: Presence) -> &'static str {
    match nulls {
        Presence::Absent => "no value is null",
        Presence::Everywhere => "every value is null",
        Presence::Possible => "nulls are possible",
    }
}

fn of_range(op: Op, b: &ColumnBounds<'_>, ty: &PrimitiveType) -> Option<String> {
    let show = |v: ValueRef<'_>| shortened(Shown(v, ty).to_string());
    let lower = b.lower.map(|v| format!("lower bound {}", show(v)));
    let upper = b
        .upper
        .map(|v| format!("upper bound {}{}", show(v), if b.upper_is_prefix { " and what begins with it" } else { "" }));
    match op {
        Op::Lt | Op::LtEq => lower,
        Op::Gt | Op::GtEq => upper,
        _ => match (b.point(), lower, upper) {
            (Some(v), _, _) => Some(format!("every value is {}", show(v))),
            (None, Some(lower), Some(upper)) => Some(format!("{lower}, {upper}")),
            (None, lower, upper) => lower.or(upper),
        },
    }
}

fn of_buckets(leaf: &BoundLeaf, bounds: &dyn Bounds) -> String {
    let known = bounds.buckets(leaf.term.field_id);
    let one = |&(n, low, high): &(u32, i32, i32)| match low == high {
        true => format!("bucket {low} of {n}"),
        false => format!("buckets {low} to {high} of {n}"),
    };
    match known.is_empty() {
        true => "the bounds exclude it".to_owned(),
        false => known.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{bind, parse};
    use crate::types::{Field, FieldId, Schema};

    struct Known(ColumnBounds<'static>);

    impl Bounds for Known {
        fn column<'a>(&'a self, _: FieldId, _: &PrimitiveType) -> ColumnBounds<'a> {
            self.0
        }

        fn buckets(&self, _: FieldId) -> Vec<(u32, i32, i32)> {
            vec![(4, 2, 2)]
        }
    }

    #[test]
    fn names_the_clause_and_the_bound() {
        let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Int)], vec![]);
        let known = Known(ColumnBounds {
            lower: Some(ValueRef::Int(10)),
            upper: Some(ValueRef::Int(20)),
            nulls: Presence::Absent,
            ..ColumnBounds::default()
        });
        let said = |text: &str| explain(&bind(&parse(text).unwrap(), &schema, true).unwrap(), &known);
        assert_eq!(said("id > 0 and id < 5").as_deref(), Some("id < 5: lower bound 10"));
        assert_eq!(said("id > 30").as_deref(), Some("id > 30: upper bound 20"));
        assert_eq!(said("id is null").as_deref(), Some("id is null: no value is null"));
        assert_eq!(
            said("id = 5 or id > 20").as_deref(),
            Some("id = 5: lower bound 10, upper bound 20; id > 20: upper bound 20")
        );
        assert_eq!(said("id < 15"), None);
        assert_eq!(said("false").as_deref(), Some("the filter is false"));
    }
}
