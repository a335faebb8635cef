//! DataFusion's filters as text for Frazil.
//!
//! DataFusion applies its filters again to the rows that it gets. So a translation may keep more rows, but it must
//! never drop one that DataFusion keeps. It is weaker or equal. The opposite of a weaker condition is stronger, so
//! negations go down to the comparisons first.

use arrow::datatypes::{DataType, Schema};
use datafusion_expr::expr::{Between, InList, Like};
use datafusion_expr::{BinaryExpr, Expr, Operator};

use crate::literal::{Number, float_of, is_text, text_of};

/// The most levels of an expression.
const DEEPEST: usize = 100;

/// A condition that keeps all rows that `filter` keeps, as text for Frazil. `None` if there is none that helps.
pub(crate) fn weakened(filter: &Expr, schema: &Schema) -> Option<String> {
    Translator { schema }.condition(filter, false, DEEPEST)
}

/// A column of the table.
struct Column {
    /// The name in quotes.
    text: String,
    ty: DataType,
}

/// A comparison that Frazil knows.
#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

struct Translator<'s> {
    schema: &'s Schema,
}

impl Translator<'_> {
    /// A condition that is true wherever `e`, or its negation, is true.
    fn condition(&self, e: &Expr, negated: bool, levels: usize) -> Option<String> {
        let levels = levels.checked_sub(1)?;
        match e {
            Expr::Alias(alias) => self.condition(&alias.expr, negated, levels),
            Expr::Not(inner) => self.condition(inner, !negated, levels),
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let left = self.condition(left, negated, levels);
                let right = self.condition(right, negated, levels);
                if (*op == Operator::And) == negated { any([left?, right?]) } else { all([left, right]) }
            }
            Expr::BinaryExpr(binary) => self.binary(binary, negated),
            Expr::Column(_) => self.boolean(e).map(|text| format!("{text} = {}", !negated)),
            Expr::IsNull(inner) => self.is_null(inner, !negated),
            Expr::IsNotNull(inner) => self.is_null(inner, negated),
            Expr::IsUnknown(inner) => self.is_null(inner, !negated),
            Expr::IsNotUnknown(inner) => self.is_null(inner, negated),
            Expr::IsTrue(inner) => self.truth(inner, true, negated),
            Expr::IsNotTrue(inner) => self.truth(inner, true, !negated),
            Expr::IsFalse(inner) => self.truth(inner, false, negated),
            Expr::IsNotFalse(inner) => self.truth(inner, false, !negated),
            Expr::Between(between) => self.between(between, negated),
            Expr::InList(list) => self.in_list(list, negated),
            Expr::Like(like) => self.like(like, negated),
            _ => None,
        }
    }

    /// A column, also one whose text is given another layout in memory.
    fn column(&self, e: &Expr) -> Option<Column> {
        match e {
            Expr::Alias(alias) => self.column(&alias.expr),
            Expr::Column(column) => {
                let field = self.schema.field_with_name(&column.name).ok()?;
                let text = format!("\"{}\"", column.name.replace('"', "\"\""));
                Some(Column { text, ty: field.data_type().clone() })
            }
            Expr::Cast(cast) if is_text(cast.field.data_type()) => {
                self.column(&cast.expr).filter(|column| is_text(&column.ty))
            }
            _ => None,
        }
    }

    fn boolean(&self, e: &Expr) -> Option<String> {
        self.column(e).filter(|column| column.ty == DataType::Boolean).map(|column| column.text)
    }

    fn is_null(&self, e: &Expr, asked: bool) -> Option<String> {
        let column = self.column(e)?;
        Some(format!("{} is {}null", column.text, if asked { "" } else { "not " }))
    }

    /// `e is true`, whose negation keeps null.
    fn truth(&self, e: &Expr, value: bool, negated: bool) -> Option<String> {
        let text = format!("{} is {value}", self.boolean(e)?);
        Some(if negated { format!("not ({text})") } else { text })
    }

    fn binary(&self, binary: &BinaryExpr, negated: bool) -> Option<String> {
        let comparison = Comparison::of(binary.op)?;
        match (self.column(&binary.left), self.column(&binary.right)) {
            (Some(column), None) => compare(&column, comparison.if_negated(negated), &binary.right),
            (None, Some(column)) => compare(&column, comparison.swapped().if_negated(negated), &binary.left),
            _ => None,
        }
    }

    fn between(&self, between: &Between, negated: bool) -> Option<String> {
        let column = self.column(&between.expr)?;
        let outside = between.negated != negated;
        let low = compare(&column, Comparison::GreaterEqual.if_negated(outside), &between.low);
        let high = compare(&column, Comparison::LessEqual.if_negated(outside), &between.high);
        if outside { any([low?, high?]) } else { all([low, high]) }
    }

    fn in_list(&self, list: &InList, negated: bool) -> Option<String> {
        let column = self.column(&list.expr)?;
        if list.list.is_empty() {
            return None;
        }
        let outside = list.negated != negated;
        if is_float(&column.ty) {
            let each = list.list.iter();
            return if outside {
                all(each.map(|value| compare(&column, Comparison::NotEqual, value)))
            } else {
                any(each.map(|value| compare(&column, Comparison::Equal, value)).collect::<Option<Vec<_>>>()?)
            };
        }
        let values = list.list.iter().map(|value| literal(&column, value)).collect::<Option<Vec<_>>>()?;
        let not = if outside { "not " } else { "" };
        Some(format!("{} {not}in ({})", column.text, values.join(", ")))
    }

    /// The part of the pattern before its first sign is a prefix that all matches have.
    fn like(&self, like: &Like, negated: bool) -> Option<String> {
        if like.case_insensitive || like.escape_char.is_some() {
            return None;
        }
        let column = self.column(&like.expr).filter(|column| is_text(&column.ty))?;
        let pattern = match &*like.pattern {
            Expr::Literal(value, _) => value.try_as_str()??,
            _ => return None,
        };
        let end = pattern.find(['%', '_', '\\']);
        let (prefix, rest) = pattern.split_at(end.unwrap_or(pattern.len()));
        let quoted = quoted(prefix);
        match (rest, like.negated != negated) {
            ("", false) => Some(format!("{} = {quoted}", column.text)),
            ("", true) => Some(format!("{} != {quoted}", column.text)),
            _ if prefix.is_empty() => None,
            (_, false) => Some(format!("starts_with({}, {quoted})", column.text)),
            ("%", true) => Some(format!("not starts_with({}, {quoted})", column.text)),
            _ => None,
        }
    }
}

impl Comparison {
    fn of(op: Operator) -> Option<Comparison> {
        Some(match op {
            Operator::Eq => Comparison::Equal,
            Operator::NotEq => Comparison::NotEqual,
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterEqual,
            _ => return None,
        })
    }

    /// The comparison with its sides exchanged.
    fn swapped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            same => same,
        }
    }

    fn if_negated(self, negated: bool) -> Comparison {
        match self {
            _ if !negated => self,
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterEqual,
            Comparison::LessEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessEqual,
            Comparison::GreaterEqual => Comparison::Less,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
        }
    }
}

fn compare(column: &Column, comparison: Comparison, value: &Expr) -> Option<String> {
    if is_float(&column.ty) {
        return compare_float(column, comparison, value);
    }
    // False comes before true in DataFusion. In filters of Frazil booleans have no order.
    let ordered = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    if ordered && column.ty == DataType::Boolean {
        return None;
    }
    Some(format!("{} {} {}", column.text, comparison.sign(), literal(column, value)?))
}

/// DataFusion orders floats by their bits: -0.0 is below 0.0, and a NaN with a sign is below all numbers. For Frazil
/// both zeros are equal, and every NaN is above all numbers.
fn compare_float(column: &Column, comparison: Comparison, value: &Expr) -> Option<String> {
    let Expr::Literal(value, _) = value else { return None };
    let (name, sign) = (&column.text, comparison.sign());
    match (float_of(value, &column.ty)?, comparison) {
        (Number::Nan, Comparison::Equal) => Some(format!("{name} is nan")),
        (Number::Nan, _) | (Number::Zero, Comparison::NotEqual) => None,
        (Number::Zero, Comparison::Equal) => Some(format!("{name} = 0")),
        (Number::Zero, Comparison::Less | Comparison::LessEqual) => {
            any([format!("{name} <= 0"), format!("{name} is nan")])
        }
        (Number::Zero, Comparison::Greater | Comparison::GreaterEqual) => Some(format!("{name} >= 0")),
        (Number::Other(text), Comparison::Less | Comparison::LessEqual) => {
            any([format!("{name} {sign} {text}"), format!("{name} is nan")])
        }
        (Number::Other(text), _) => Some(format!("{name} {sign} {text}")),
    }
}

fn literal(column: &Column, value: &Expr) -> Option<String> {
    match value {
        Expr::Alias(alias) => literal(column, &alias.expr),
        Expr::Literal(value, _) => text_of(value, &column.ty),
        _ => None,
    }
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

/// The parts that could be translated: fewer conditions keep more rows.
fn all(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    joined(parts.into_iter().flatten(), " and ")
}

fn any(parts: impl IntoIterator<Item = String>) -> Option<String> {
    joined(parts.into_iter(), " or ")
}

fn joined(parts: impl Iterator<Item = String>, word: &str) -> Option<String> {
    let mut parts: Vec<String> = parts.collect();
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(format!("({})", parts.join(word))),
    }
}

/// Text as a literal.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
