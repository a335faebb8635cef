//! Binds one question about a column: names become field ids, literals become values of the column's type. Comparisons
//! that the types alone decide (`i > 3000000000` on a 32-bit column, `x is null` on a required one) become constants.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::expr::coerce::{LiteralPlace, place};
use crate::expr::predicate::{BoundLeaf, BoundPredicate};
use crate::expr::term::{BoundTerm, Literal, Op, Term};
use crate::expr::text::kind_of;
use crate::types::suggest::suggest;
use crate::types::value::unhex;
use crate::types::{Field, PrimitiveType, Schema, Transform, Type, Value, temporal};

/// A schema that names are looked up in.
pub(super) struct Binder<'s> {
    pub(super) schema: &'s Schema,
    pub(super) case_sensitive: bool,
}

impl Binder<'_> {
    pub(super) fn leaf(&self, term: &Term, op: Op, values: &[Literal]) -> Result<BoundPredicate> {
        self.of_term(self.term(term)?, op, values)
    }

    pub(super) fn of_term(&self, term: BoundTerm, op: Op, values: &[Literal]) -> Result<BoundPredicate> {
        check_count(op, values.len())?;
        match op {
            Op::IsNull | Op::NotNull => return Ok(null_test(&term, op == Op::IsNull)),
            _ => check_comparable(&term)?,
        }
        let Some(ty) = term.ty.as_primitive().cloned() else {
            return Err(Error::internal("a nested type passed for a comparable one"));
        };
        match op {
            Op::IsNan | Op::NotNan if !ty.is_float() => {
                Err(Error::invalid(format!("values of type {ty} are never NaN, only float and double are")))
            }
            Op::IsNan | Op::NotNan => Ok(leaf(term, op, Vec::new())),
            Op::In | Op::NotIn => set(term, op, values, &ty),
            Op::StartsWith | Op::NotStartsWith => prefix(term, op, values, &ty),
            _ => match values {
                [value] => {
                    let place = place_in(&term, value, &ty)?;
                    Ok(compare(term, op, place))
                }
                _ => Err(Error::internal("a comparison without its literal")),
            },
        }
    }

    pub(super) fn term(&self, term: &Term) -> Result<BoundTerm> {
        let path: Vec<&str> = term.path.iter().map(String::as_str).collect();
        let found = self.schema.find(&path, self.case_sensitive).and_then(|f| self.schema.path(f.id));
        let fields = found.ok_or_else(|| self.unknown(&path.join(".")))?;
        let Some((field, around)) = fields.split_last() else { return Err(self.unknown(&path.join("."))) };
        if let Some(outer) = around.iter().find(|f| !matches!(f.ty, Type::Struct(_))) {
            return Err(Error::invalid(format!(
                "a filter can't ask about values inside the {} `{}`",
                kind_of(&outer.ty),
                outer.name
            ))
            .hint("Only columns and members of structs can be compared"));
        }
        Ok(BoundTerm {
            field_id: field.id,
            path: fields.iter().map(|f| f.name.clone()).collect(),
            source: field.ty.clone(),
            transform: term.transform.clone(),
            ty: result_type(&term.transform, field)?,
            required: fields.iter().all(|f| f.required),
        })
    }

    /// The error for a column that does not exist. It lists similar names.
    fn unknown(&self, name: &str) -> Error {
        const SHOWN: usize = 20;
        let mut ids: Vec<_> = self.schema.field_ids().collect();
        ids.sort_unstable();
        let names: Vec<String> = ids.into_iter().filter_map(|id| self.schema.name_of(id)).take(5000).collect();
        let same: Vec<&String> = names.iter().filter(|n| n.to_lowercase() == name.to_lowercase()).collect();
        if !self.case_sensitive && same.len() > 1 {
            return Error::invalid(format!("`{name}` may be any of {}", listed(same)))
                .hint("They differ in case only: bind with case sensitivity");
        }
        let error = Error::invalid(format!("there is no column `{name}`"));
        if same.iter().any(|n| *n == name) {
            return error.hint(format!("Quotes make it one name: write {name} for the member of the struct"));
        }
        let similar = if same.is_empty() { suggest(&names, name) } else { same };
        if !similar.is_empty() {
            return error.hint(format!("Did you mean {}?", listed(similar)));
        }
        let more = names.len().saturating_sub(SHOWN);
        let shown = listed(names.iter().take(SHOWN));
        let columns = match more {
            0 => format!("The columns are {shown}"),
            _ => format!("The columns are {shown} and {more} more"),
        };
        error.hint(format!("{columns}. Text has single quotes: '{name}'"))
    }
}

fn listed<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

fn result_type(transform: &Transform, field: &Field) -> Result<Type> {
    if *transform == Transform::Identity {
        return Ok(field.ty.clone());
    }
    match (transform, field.ty.as_primitive()) {
        (Transform::Void | Transform::Unknown(_), _) => {
            Err(Error::unsupported(format!("a filter can't use the transform {transform}")))
        }
        (_, Some(source)) if transform.accepts(source) => Ok(transform.result_type(source).into()),
        _ => {
            Err(Error::invalid(format!("the transform {transform} does not apply to the type {}", kind_of(&field.ty))))
        }
    }
}

fn check_count(op: Op, count: usize) -> Result<()> {
    let right = match op {
        Op::IsNull | Op::NotNull | Op::IsNan | Op::NotNan => count == 0,
        Op::In | Op::NotIn => true,
        _ => count == 1,
    };
    if right { Ok(()) } else { Err(Error::invalid(format!("the operation {op:?} can't take {count} literals"))) }
}

pub(super) fn check_comparable(term: &BoundTerm) -> Result<()> {
    use PrimitiveType as P;
    match term.ty.as_primitive() {
        Some(ty) if !matches!(ty, P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. }) => Ok(()),
        _ => Err(Error::invalid(format!("values of type {} can't be compared", kind_of(&term.ty)))
            .hint("Only `is null` and `is not null` apply to them")),
    }
}

fn leaf(term: BoundTerm, op: Op, values: Vec<Value>) -> BoundPredicate {
    BoundPredicate::Leaf(BoundLeaf { term, op, values })
}

/// A transform gives null exactly for null, so test the column itself.
fn null_test(term: &BoundTerm, null: bool) -> BoundPredicate {
    let always_null = term.source.as_primitive() == Some(&PrimitiveType::Unknown);
    if term.required || always_null {
        return if null == always_null { BoundPredicate::True } else { BoundPredicate::False };
    }
    let column = BoundTerm { transform: Transform::Identity, ty: term.source.clone(), ..term.clone() };
    leaf(column, if null { Op::IsNull } else { Op::NotNull }, Vec::new())
}

fn not_null(term: &BoundTerm) -> BoundPredicate {
    null_test(term, false)
}

/// Like [`place`], with more forms of literals. A day may be given as its number, like other transforms' results.
/// Years, months and hours may be given as text. A truncated decimal may have one more digit than its type.
fn place_in(term: &BoundTerm, literal: &Literal, ty: &PrimitiveType) -> Result<LiteralPlace> {
    match (&term.transform, literal, ty) {
        (Transform::Day, Literal::Number(_), _) => place(literal, &PrimitiveType::Int),
        (Transform::Year | Transform::Month | Transform::Hour, Literal::String(text), _) => {
            let period = period(&term.transform, text.trim()).and_then(|p| i32::try_from(p).ok());
            period.map(|p| LiteralPlace::At(Value::Int(p))).ok_or_else(|| {
                Error::invalid(format!("{literal} is not a value of {}", term.transform)).hint(
                    "Write year(ts) = '2026', month(ts) = '2026-12', hour(ts) = '2026-12-31-23', or the number of periods \
                     from 1970",
                )
            })
        }
        (Transform::Truncate(_), _, PrimitiveType::Decimal { scale, .. }) => {
            place(literal, &PrimitiveType::Decimal { precision: 38, scale: *scale })
        }
        _ => place(literal, ty),
    }
}

/// The number from 1970 of `2026` (a year), `2026-12` (a month) or `2026-12-31-23` (an hour).
fn period(transform: &Transform, text: &str) -> Option<i64> {
    match transform {
        Transform::Year => temporal::parse_date(&format!("{text}-01-01")).map(temporal::year_of_days),
        Transform::Month => temporal::parse_date(&format!("{text}-01")).map(temporal::month_of_days),
        _ => {
            let (date, hour) = text.rsplit_once(['-', 'T'])?;
            let hour = temporal::parse_time(&format!("{hour}:00"), 1)? / 3600;
            Some(temporal::parse_date(date)?.checked_mul(24)? + hour)
        }
    }
}

fn compare(term: BoundTerm, op: Op, place: LiteralPlace) -> BoundPredicate {
    let (below, above) = match place {
        LiteralPlace::At(value) => return leaf(term, op, vec![value]),
        LiteralPlace::Nan => return compare_nan(term, op),
        LiteralPlace::Between(below, above) => (below, above),
    };
    match op {
        Op::Lt | Op::LtEq if above.is_none() => not_null(&term),
        Op::Gt | Op::GtEq if below.is_none() => not_null(&term),
        Op::Lt | Op::LtEq => below.map_or(BoundPredicate::False, |v| leaf(term, Op::LtEq, vec![v])),
        Op::Gt | Op::GtEq => above.map_or(BoundPredicate::False, |v| leaf(term, Op::GtEq, vec![v])),
        Op::NotEq => not_null(&term),
        _ => BoundPredicate::False,
    }
}

/// NaN equals NaN and is above all other values.
fn compare_nan(term: BoundTerm, op: Op) -> BoundPredicate {
    match op {
        Op::Eq | Op::GtEq => leaf(term, Op::IsNan, Vec::new()),
        Op::NotEq | Op::Lt => BoundPredicate::all([not_null(&term), leaf(term, Op::NotNan, Vec::new())]),
        Op::LtEq => not_null(&term),
        _ => BoundPredicate::False,
    }
}

fn set(term: BoundTerm, op: Op, literals: &[Literal], ty: &PrimitiveType) -> Result<BoundPredicate> {
    let mut values = Vec::with_capacity(literals.len());
    let mut nan = false;
    for literal in literals {
        match place_in(&term, literal, ty)? {
            LiteralPlace::At(value) => values.push(value),
            LiteralPlace::Nan => nan = true,
            LiteralPlace::Between(..) => {}
        }
    }
    values.sort_by(|a, b| a.sql_cmp(b).unwrap_or(Ordering::Equal));
    values.dedup_by(|a, b| a.sql_cmp(b) == Some(Ordering::Equal));
    let nan = nan.then(|| compare_nan(term.clone(), if op == Op::In { Op::Eq } else { Op::NotEq }));
    let single = if op == Op::In { Op::Eq } else { Op::NotEq };
    let rest = match (values.len(), op) {
        (0, Op::In) => BoundPredicate::False,
        (0, _) => not_null(&term),
        (1, _) => leaf(term, single, values),
        _ => leaf(term, op, values),
    };
    Ok(match (nan, op) {
        (None, _) => rest,
        (Some(nan), Op::In) => BoundPredicate::any([rest, nan]),
        (Some(nan), _) => match rest {
            BoundPredicate::Leaf(l) if l.op == Op::NotNull => nan,
            rest => BoundPredicate::all([rest, drop_not_null(nan)]),
        },
    })
}

/// Null fails every comparison, so a null test combined with a comparison is redundant.
fn drop_not_null(p: BoundPredicate) -> BoundPredicate {
    match p {
        BoundPredicate::And(parts) => BoundPredicate::all(
            parts.into_iter().filter(|p| !matches!(p, BoundPredicate::Leaf(l) if l.op == Op::NotNull)),
        ),
        p => p,
    }
}

fn prefix(term: BoundTerm, op: Op, literals: &[Literal], ty: &PrimitiveType) -> Result<BoundPredicate> {
    let binary = matches!(ty, PrimitiveType::Binary | PrimitiveType::Fixed(_));
    let value = match (literals, ty) {
        ([Literal::String(s)], PrimitiveType::String) => Value::String(s.clone()),
        ([Literal::Bytes(b)], _) if binary => Value::Bytes(b.clone()),
        ([Literal::String(s)], _) if binary && unhex(s).is_some() => Value::Bytes(unhex(s).unwrap_or_default()),
        ([literal], _) => {
            return Err(Error::invalid(format!("values of type {ty} can't begin with {literal}"))
                .hint("`starts_with` and `like` compare strings with strings and bytes with bytes"));
        }
        _ => return Err(Error::internal("a prefix test without its literal")),
    };
    let empty = matches!(&value, Value::String(s) if s.is_empty()) || matches!(&value, Value::Bytes(b) if b.is_empty());
    Ok(match (empty, op) {
        (true, Op::StartsWith) => not_null(&term),
        (true, _) => BoundPredicate::False,
        (false, _) => leaf(term, op, vec![value]),
    })
}
