//! Formulas as a person wrote them.

use crate::expr::term::{Literal, Op, Term};
use crate::types::PrimitiveType;

/// A value computed from columns and literals.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A column, perhaps under a transform.
    Column(Term),
    /// A value that was written out.
    Constant(Constant),
    /// A function or operator of other values.
    Call(FilterFunction, Vec<Formula>),
    /// A value in another type.
    Cast {
        /// The value.
        value: Box<Formula>,
        /// The type.
        ty: PrimitiveType,
        /// Whether a value that the type lacks becomes null, as in `try_cast`. Otherwise it is an error.
        tries: bool,
    },
}

/// A value that was written out.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// An untyped literal.
    Literal(Literal),
    /// `date '2023-01-31'` and `current_date`: days since 1970.
    Date(i32),
    /// `timestamp '2023-01-31T12:00:00'` and `current_timestamp`: microseconds since 1970, in UTC.
    Timestamp(i64),
    /// `interval 3 days`.
    Interval(Interval),
}

/// A distance in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Months of the calendar.
    pub months: i32,
    /// Microseconds; a day has 24 hours.
    pub micros: i64,
}

impl Interval {
    /// The interval backwards. `None` if a part has no opposite.
    pub fn negated(self) -> Option<Interval> {
        Some(Interval { months: self.months.checked_neg()?, micros: self.micros.checked_neg()? })
    }
}

/// A function or operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilterFunction {
    /// `lower(x)`.
    Lower,
    /// `upper(x)`.
    Upper,
    /// `x + y`.
    Add,
    /// `x - y`.
    Subtract,
    /// `x * y`.
    Multiply,
    /// `x / y`.
    Divide,
    /// `x % y`.
    Remainder,
    /// `-x`.
    Negate,
}

/// A question about a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What is asked about.
    pub left: Formula,
    /// The question.
    pub op: TestOp,
    /// What it is compared with: nothing for null, NaN and truth tests, any number of values for `in`, else one.
    pub right: Vec<Formula>,
}

/// The question of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestOp {
    /// An operation that leaves have too.
    Plain(Op),
    /// `like`, with a pattern on the right side.
    Like,
    /// `isnan(x)`: false for null and for types without NaN.
    IsNan,
    /// `is true`, `is false`.
    Is(bool),
}
