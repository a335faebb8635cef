//! Filters as text. Parsing and binding the text again gives a filter with the same meaning.

use std::fmt;

use crate::expr::calendar::calendar_text;
use crate::expr::lex::is_reserved;
use crate::expr::predicate::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, Predicate, Term};
use crate::types::value::{format_value, hex};
use crate::types::{PrimitiveType, Transform, Type, ValueRef};

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nested = |p: &Predicate| matches!(p, Predicate::And(_) | Predicate::Or(_));
        match self {
            Predicate::True => f.write_str("true"),
            Predicate::False => f.write_str("false"),
            Predicate::Not(p) if matches!(**p, Predicate::Leaf(_, Op::StartsWith, _)) => write!(f, "not {p}"),
            Predicate::Not(p) => write!(f, "not ({p})"),
            Predicate::And(parts) => write_junction(f, parts, "and", "true", nested),
            Predicate::Or(parts) => write_junction(f, parts, "or", "false", nested),
            Predicate::Leaf(term, op, values) => write_leaf(f, term, *op, values.iter()),
            Predicate::Test(test) => test.fmt(f),
        }
    }
}

impl fmt::Display for BoundPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nested = |p: &BoundPredicate| matches!(p, BoundPredicate::And(_) | BoundPredicate::Or(_));
        match self {
            BoundPredicate::True => f.write_str("true"),
            BoundPredicate::False => f.write_str("false"),
            BoundPredicate::And(parts) => write_junction(f, parts, "and", "true", nested),
            BoundPredicate::Or(parts) => write_junction(f, parts, "or", "false", nested),
            BoundPredicate::Leaf(leaf) => leaf.fmt(f),
            BoundPredicate::Test(test) => test.fmt(f),
        }
    }
}

impl fmt::Display for BoundLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = self.term.ty.as_primitive().unwrap_or(&PrimitiveType::Unknown);
        let shown = |value| Period(&self.term.transform, Shown(value, ty));
        write_leaf(f, &self.term, self.op, self.values.iter().map(|v| shown(v.as_ref())))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_term(f, &self.transform, &self.path)
    }
}

impl fmt::Display for BoundTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_term(f, &self.transform, &self.path)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Boolean(b) => b.fmt(f),
            Literal::Number(n) => f.write_str(n),
            Literal::String(s) => write_quoted(f, s, '\''),
            Literal::Bytes(b) => write!(f, "x'{}'", hex(b)),
        }
    }
}

fn write_junction<P: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    parts: &[P],
    word: &str,
    empty: &str,
    nested: impl Fn(&P) -> bool,
) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str(empty);
    }
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            write!(f, " {word} ")?;
        }
        if nested(part) {
            write!(f, "({part})")?;
        } else {
            part.fmt(f)?;
        }
    }
    Ok(())
}

pub(super) fn write_leaf(
    f: &mut fmt::Formatter<'_>,
    term: &dyn fmt::Display,
    op: Op,
    mut values: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    let infix = match op {
        Op::IsNull => return write!(f, "{term} is null"),
        Op::NotNull => return write!(f, "{term} is not null"),
        Op::IsNan => return write!(f, "{term} is nan"),
        Op::NotNan => return write!(f, "{term} is not nan"),
        Op::StartsWith | Op::NotStartsWith => {
            let not = if op == Op::NotStartsWith { "not " } else { "" };
            write!(f, "{not}starts_with({term}")?;
            values.try_for_each(|v| write!(f, ", {v}"))?;
            return f.write_str(")");
        }
        Op::In | Op::NotIn => {
            write!(f, "{term} {}in (", if op == Op::NotIn { "not " } else { "" })?;
            for (i, v) in values.enumerate() {
                write!(f, "{}{v}", if i > 0 { ", " } else { "" })?;
            }
            return f.write_str(")");
        }
        Op::Lt => "<",
        Op::LtEq => "<=",
        Op::Gt => ">",
        Op::GtEq => ">=",
        Op::Eq => "=",
        Op::NotEq => "!=",
    };
    write!(f, "{term} {infix}")?;
    values.try_for_each(|v| write!(f, " {v}"))
}

fn write_term(f: &mut fmt::Formatter<'_>, transform: &Transform, path: &[String]) -> fmt::Result {
    let name = match transform {
        Transform::Identity => return write_path(f, path),
        Transform::Bucket(n) => return write_call(f, &format!("bucket({n}, "), path),
        Transform::Truncate(w) => return write_call(f, &format!("truncate({w}, "), path),
        other => other.to_string(),
    };
    write_call(f, &format!("{name}("), path)
}

fn write_call(f: &mut fmt::Formatter<'_>, open: &str, path: &[String]) -> fmt::Result {
    f.write_str(open)?;
    write_path(f, path)?;
    f.write_str(")")
}

fn write_path(f: &mut fmt::Formatter<'_>, path: &[String]) -> fmt::Result {
    for (i, name) in path.iter().enumerate() {
        if i > 0 {
            f.write_str(".")?;
        }
        let mut bytes = name.bytes();
        let plain = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !is_reserved(name);
        if plain {
            f.write_str(name)?;
        } else {
            write_quoted(f, name, '"')?;
        }
    }
    Ok(())
}

pub(super) fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    use fmt::Write;
    f.write_char(quote)?;
    for c in text.chars() {
        if c == quote {
            f.write_char(c)?;
        }
        f.write_char(c)?;
    }
    f.write_char(quote)
}

/// A typed value as a literal that binds to the same value.
pub(super) struct Shown<'a>(pub ValueRef<'a>, pub &'a PrimitiveType);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (ValueRef::String(s), _) => write_quoted(f, s, '\''),
            (ValueRef::Bytes(b), _) => write!(f, "x'{}'", hex(b)),
            (ValueRef::Float(v), _) if !v.is_finite() => write_infinite(f, f64::from(v)),
            (ValueRef::Double(v), _) if !v.is_finite() => write_infinite(f, v),
            // The literal is read as a double and then narrowed. Rounding twice may give another float than the
            // shortest digits.
            (ValueRef::Float(v), _) => match format!("{v:?}") {
                short if short.parse().is_ok_and(|d: f64| d as f32 == v) => f.write_str(&short),
                _ => write!(f, "{:?}", f64::from(v)),
            },
            (ValueRef::Int(_), PrimitiveType::Date) | (ValueRef::Uuid(_), _) => self.quoted(f),
            (ValueRef::Long(_), ty) if *ty != PrimitiveType::Long => self.quoted(f),
            (v, ty) => f.write_str(&format_value(v, ty)),
        }
    }
}

/// A value of a term. A number of years, months or hours that filter text can't have is the text of its period.
struct Period<'a>(&'a Transform, Shown<'a>);

impl fmt::Display for Period<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = match (self.1.0, self.1.1) {
            (ValueRef::Int(number), PrimitiveType::Int) => calendar_text(self.0, i64::from(number)),
            _ => None,
        };
        match period {
            Some(text) => write!(f, "'{text}'"),
            None => self.1.fmt(f),
        }
    }
}

impl Shown<'_> {
    fn quoted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", format_value(self.0, self.1))
    }
}

fn write_infinite(f: &mut fmt::Formatter<'_>, v: f64) -> fmt::Result {
    f.write_str(if v.is_nan() {
        "'NaN'"
    } else if v > 0.0 {
        "'Infinity'"
    } else {
        "'-Infinity'"
    })
}

/// Types in readable form for errors: `a struct`, without its fields.
pub(super) fn kind_of(ty: &Type) -> String {
    match ty {
        Type::Primitive(p) => p.to_string(),
        Type::Struct(_) => "struct".to_owned(),
        Type::List(_) => "list".to_owned(),
        Type::Map(..) => "map".to_owned(),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
