//! Formulas over typed columns.

use crate::expr::formula::pattern::Pattern;
use crate::expr::formula::unbound::Interval;
use crate::expr::term::{BoundTerm, Op};
use crate::types::{PrimitiveType, Value};

/// A value computed from typed columns.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundFormula {
    /// A column of a primitive type, perhaps under a transform.
    Column(BoundTerm, PrimitiveType),
    /// A value of this type.
    Constant(Value, PrimitiveType),
    /// A function of other values.
    Call {
        /// The function.
        function: BoundFunction,
        /// Its arguments, in the types that the function takes.
        arguments: Vec<BoundFormula>,
        /// The type of its values.
        ty: PrimitiveType,
    },
}

/// A function of typed values. Null for null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundFunction {
    /// A string in lower case.
    Lower,
    /// A string in upper case.
    Upper,
    /// The sum of two numbers of the result's type.
    Add,
    /// The difference of two numbers of the result's type.
    Subtract,
    /// The product of two numbers of the result's type; decimals may have any scales.
    Multiply,
    /// The quotient of two doubles.
    Divide,
    /// What a division of two numbers of the result's type leaves, with the sign of the first.
    Remainder,
    /// The number with the opposite sign.
    Negate,
    /// The date a number of days later.
    AddDays,
    /// The date a number of days earlier.
    SubtractDays,
    /// The number of days from the second date to the first.
    DaysBetween,
    /// The date or timestamp an interval later.
    Shift(Interval),
    /// The value in the type of the result.
    Cast(CastKind),
}

/// Why there is a cast, and what becomes of values that the type lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastKind {
    /// The types of operands ask for it.
    Implied,
    /// It was written. Values that the type lacks are an error.
    Written,
    /// It was written as `try_cast`. Values that the type lacks become null.
    Tried,
}

/// One bound question about a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundTest {
    /// What is asked about. At least one side has a column.
    pub left: BoundFormula,
    /// The question.
    pub question: TestQuestion,
}

/// A question about a formula.
#[derive(Clone, Debug, PartialEq)]
pub enum TestQuestion {
    /// An operation with values, as in a leaf.
    Values(Op, Vec<Value>),
    /// A comparison (`Lt` to `NotEq`) with another formula of the same type.
    Compare(Op, BoundFormula),
    /// Whether a string matches a pattern.
    Like(Pattern),
    /// Whether a string does not match a pattern.
    NotLike(Pattern),
}

impl BoundFormula {
    /// The type of its values.
    pub fn ty(&self) -> &PrimitiveType {
        match self {
            BoundFormula::Column(_, ty) | BoundFormula::Constant(_, ty) | BoundFormula::Call { ty, .. } => ty,
        }
    }

    /// Calls `f` for every column, left to right.
    pub fn for_each_term<'a>(&'a self, f: &mut dyn FnMut(&'a BoundTerm)) {
        match self {
            BoundFormula::Column(term, _) => f(term),
            BoundFormula::Constant(..) => {}
            BoundFormula::Call { arguments, .. } => arguments.iter().for_each(|a| a.for_each_term(f)),
        }
    }

    /// Whether it has no columns.
    pub fn is_constant(&self) -> bool {
        let mut columns = 0;
        self.for_each_term(&mut |_| columns += 1);
        columns == 0
    }

    /// Whether it may give an error for some values.
    pub fn can_fail(&self) -> bool {
        let BoundFormula::Call { function, arguments, ty } = self else { return false };
        let itself = match function {
            BoundFunction::Lower | BoundFunction::Upper | BoundFunction::DaysBetween => false,
            BoundFunction::Cast(CastKind::Tried) => false,
            BoundFunction::Cast(_) => arguments.first().is_none_or(|a| !always_fits(a.ty(), ty)),
            BoundFunction::Add | BoundFunction::Subtract | BoundFunction::Multiply | BoundFunction::Negate => {
                *ty == PrimitiveType::Long
            }
            _ => true,
        };
        itself || arguments.iter().any(BoundFormula::can_fail)
    }
}

/// Whether the second type has a value for every value of the first.
fn always_fits(from: &PrimitiveType, to: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    match (from, to) {
        (P::Int | P::Long | P::Float | P::Decimal { .. }, P::Float | P::Double) => true,
        (P::Int, P::Long) | (_, P::String) | (P::Timestamp | P::Timestamptz, P::Date) => true,
        (P::Timestamp, P::Timestamptz) | (P::Timestamptz, P::Timestamp) => true,
        (P::Int, P::Decimal { precision, scale }) => precision - scale >= 10,
        (P::Long, P::Decimal { precision, scale }) => precision - scale >= 19,
        (P::Decimal { precision: p, scale: s }, P::Decimal { precision, scale }) => {
            scale >= s && precision - scale >= p - s
        }
        (from, to) => from == to,
    }
}

impl BoundTest {
    /// Calls `f` for every column, left to right.
    pub fn for_each_term<'a>(&'a self, f: &mut dyn FnMut(&'a BoundTerm)) {
        self.left.for_each_term(f);
        if let TestQuestion::Compare(_, right) = &self.question {
            right.for_each_term(f);
        }
    }

    /// Whether it may give an error for some rows.
    pub fn can_fail(&self) -> bool {
        self.left.can_fail() || matches!(&self.question, TestQuestion::Compare(_, right) if right.can_fail())
    }
}
