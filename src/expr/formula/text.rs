//! Formulas as text. Reading and binding the text again gives a formula with the same meaning.

use std::fmt;

use crate::expr::formula::bound::{BoundFormula, BoundFunction, BoundTest, CastKind, TestQuestion};
use crate::expr::formula::scalar::{number_text, sign_of};
use crate::expr::formula::unbound::{Constant, FilterFunction, Formula, Interval, Test, TestOp};
use crate::expr::term::{Literal, Op};
use crate::expr::text::{Shown, write_leaf, write_quoted};
use crate::types::temporal::{MICROS_PER_DAY, format_date, format_timestamp};
use crate::types::{PrimitiveType, Value};

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = Side { formula: &self.left, is_left: true };
        match self.op {
            TestOp::Plain(op) => {
                write_leaf(f, &left, op, self.right.iter().map(|formula| Side { formula, is_left: false }))
            }
            TestOp::IsNan => write!(f, "isnan({})", self.left),
            TestOp::Is(truth) => write!(f, "{left} is {truth}"),
            TestOp::Like => {
                write!(f, "{left} like")?;
                self.right.iter().try_for_each(|pattern| write!(f, " {pattern}"))
            }
        }
    }
}

/// A side of a test. In parentheses, a date keeps its type, and a literal stays on the left.
struct Side<'a> {
    formula: &'a Formula,
    is_left: bool,
}

impl fmt::Display for Side<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.formula {
            Formula::Constant(Constant::Literal(_)) if !self.is_left => self.formula.fmt(f),
            Formula::Constant(_) => write!(f, "({})", self.formula),
            formula => formula.fmt(f),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Formula::Column(term) => term.fmt(f),
            Formula::Constant(constant) => constant.fmt(f),
            Formula::Cast { value, ty, tries } => write!(f, "{}({value} as {ty})", cast_name(*tries)),
            Formula::Call(function, arguments) => match (function, arguments.as_slice()) {
                (FilterFunction::Lower, [x]) => write!(f, "lower({x})"),
                (FilterFunction::Upper, [x]) => write!(f, "upper({x})"),
                (FilterFunction::Negate, [x]) => write!(f, "-({x})"),
                (_, [a, b]) => write!(f, "{} {} {}", Operand(a), operator(*function), Operand(b)),
                _ => Err(fmt::Error),
            },
        }
    }
}

fn cast_name(tries: bool) -> &'static str {
    if tries { "try_cast" } else { "cast" }
}

fn operator(function: FilterFunction) -> char {
    match function {
        FilterFunction::Add => '+',
        FilterFunction::Multiply => '*',
        FilterFunction::Divide => '/',
        FilterFunction::Remainder => '%',
        _ => '-',
    }
}

/// An operand of an operator, in parentheses if it is an operation itself.
struct Operand<'a>(&'a Formula);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Formula::Call(_, arguments) if arguments.len() > 1 => write!(f, "({})", self.0),
            formula => formula.fmt(f),
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Literal(literal) => literal.fmt(f),
            Constant::Date(days) => write!(f, "date '{}'", format_date(i64::from(*days))),
            Constant::Timestamp(micros) => write!(f, "timestamp '{}'", format_timestamp(*micros, 1_000_000)),
            Constant::Interval(interval) => interval.fmt(f),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.months != 0 {
            parts.push(format!("{} months", self.months));
        }
        let (days, micros) = (self.micros / MICROS_PER_DAY, self.micros % MICROS_PER_DAY);
        if days != 0 || (self.months == 0 && micros == 0) {
            parts.push(format!("{days} days"));
        }
        if micros != 0 {
            parts.push(format!("{micros} microseconds"));
        }
        write!(f, "interval '{}'", parts.join(" "))
    }
}

impl fmt::Display for BoundTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = |f: &mut fmt::Formatter<'_>, word: &str, text: &str| {
            write!(f, "{} {word} ", self.left)?;
            write_quoted(f, text, '\'')
        };
        match &self.question {
            TestQuestion::Values(op, values) => {
                write_leaf(f, &self.left, *op, values.iter().map(|v| Shown(v.as_ref(), self.left.ty())))
            }
            TestQuestion::Compare(op, right) => write_leaf(f, &self.left, *op, std::iter::once(right)),
            TestQuestion::Like(p) => pattern(f, "like", p.text()),
            TestQuestion::NotLike(p) => pattern(f, "not like", p.text()),
        }
    }
}

impl fmt::Display for BoundFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use BoundFunction as F;
        let (function, arguments, ty) = match self {
            BoundFormula::Column(term, _) => return term.fmt(f),
            BoundFormula::Constant(value, ty) => return write_constant(f, value, ty),
            BoundFormula::Call { function, arguments, ty } => (*function, arguments.as_slice(), ty),
        };
        match (function, arguments) {
            (F::Lower, [x]) => write!(f, "lower({x})"),
            (F::Upper, [x]) => write!(f, "upper({x})"),
            (F::Negate, [x]) => write!(f, "-({x})"),
            (F::Cast(CastKind::Implied), [x]) => x.fmt(f),
            (F::Cast(kind), [x]) => write!(f, "{}({x} as {ty})", cast_name(kind == CastKind::Tried)),
            (F::Shift(by), [x]) => write!(f, "{} + {by}", BoundOperand(x)),
            (_, [a, b]) => write!(f, "{} {} {}", BoundOperand(a), sign_of(function), BoundOperand(b)),
            _ => Err(fmt::Error),
        }
    }
}

struct BoundOperand<'a>(&'a BoundFormula);

impl fmt::Display for BoundOperand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_operation(self.0) { write!(f, "({})", self.0) } else { self.0.fmt(f) }
    }
}

fn is_operation(formula: &BoundFormula) -> bool {
    use BoundFunction as F;
    match formula {
        BoundFormula::Call { function: F::Cast(CastKind::Implied), arguments, .. } => {
            arguments.first().is_some_and(is_operation)
        }
        BoundFormula::Call { function, .. } => !matches!(function, F::Lower | F::Upper | F::Negate | F::Cast(_)),
        _ => false,
    }
}

/// The type of a number can be told from its text: a float has an exponent, a decimal has a point.
fn write_constant(f: &mut fmt::Formatter<'_>, value: &Value, ty: &PrimitiveType) -> fmt::Result {
    match (value, ty) {
        (Value::Double(v), _) if v.is_finite() => f.write_str(&number_text(*v)),
        (Value::Int(days), PrimitiveType::Date) => write!(f, "{}", Constant::Date(*days)),
        (Value::Long(micros), PrimitiveType::Timestamp | PrimitiveType::Timestamptz) => {
            write!(f, "{}", Constant::Timestamp(*micros))
        }
        (Value::Decimal(_), PrimitiveType::Decimal { scale: 0, .. }) => {
            write!(f, "{}.", Shown(value.as_ref(), ty))
        }
        _ => write!(f, "{}", Shown(value.as_ref(), ty)),
    }
}

/// The literal that denotes a value, in the untyped form that any type can read.
pub(super) fn literal_of(value: &Value, ty: &PrimitiveType) -> Literal {
    match (value, ty) {
        (Value::Boolean(b), _) => Literal::Boolean(*b),
        (Value::Bytes(b), _) => Literal::Bytes(b.clone()),
        (Value::String(s), _) => Literal::String(s.clone()),
        (Value::Double(v), _) if !v.is_finite() => Literal::String(format!("{v}")),
        (Value::Float(v), _) if !v.is_finite() => Literal::String(format!("{v}")),
        // A zone would exclude timestamps without one.
        (Value::Long(v), PrimitiveType::Timestamptz) => Literal::String(format_timestamp(*v, 1_000_000)),
        (Value::Long(v), PrimitiveType::TimestamptzNs) => Literal::String(format_timestamp(*v, 1_000_000_000)),
        (v, ty) => {
            let text = crate::types::value::format_value(v.as_ref(), ty);
            match ty {
                PrimitiveType::Int
                | PrimitiveType::Long
                | PrimitiveType::Float
                | PrimitiveType::Double
                | PrimitiveType::Decimal { .. } => Literal::Number(text),
                _ => Literal::String(text),
            }
        }
    }
}

/// Whether an operation takes a formula on its right side.
pub(super) fn compares(op: Op) -> bool {
    matches!(op, Op::Lt | Op::LtEq | Op::Gt | Op::GtEq | Op::Eq | Op::NotEq)
}
