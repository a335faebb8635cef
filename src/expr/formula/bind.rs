//! Gives formulas types, and turns tests of columns and constants into leaves.

use crate::error::{Error, Result, ResultExt};
use crate::expr::bind_leaf::{Binder, check_comparable};
use crate::expr::formula::bound::{BoundFormula, BoundFunction, BoundTest, CastKind, TestQuestion};
use crate::expr::formula::cast::can_cast;
use crate::expr::formula::image::verdict;
use crate::expr::formula::operands::{implied, is_number, of_arithmetic, of_comparison};
use crate::expr::formula::pattern::Pattern;
use crate::expr::formula::scalar::apply;
use crate::expr::formula::text::{compares, literal_of};
use crate::expr::formula::unbound::{Constant, FilterFunction, Formula, Interval, Test, TestOp};
use crate::expr::leaf_bounds::{Bounds, ColumnBounds, Verdict};
use crate::expr::predicate::BoundPredicate;
use crate::expr::term::{BoundTerm, Literal, Op, Term};
use crate::types::{FieldId, PrimitiveType, Transform, Type, Value, decimal, temporal};

/// An operand: intervals have no type of columns.
enum Bound {
    Formula(BoundFormula),
    Interval(Interval),
}

impl Binder<'_> {
    /// Binds a test, or its negation.
    pub(in crate::expr) fn test(&self, test: &Test, negated: bool) -> Result<BoundPredicate> {
        match test.op {
            TestOp::Is(truth) => self.truth(&test.left, truth, negated),
            TestOp::Plain(op @ (Op::In | Op::NotIn)) => self.members(test, if negated { op.negate() } else { op }),
            TestOp::Plain(op) => self.question(test, if negated { op.negate() } else { op }),
            TestOp::Like => self.like(test, negated),
            TestOp::IsNan => self.is_nan(test, negated),
        }
    }

    /// `x is true` is never unknown, unlike `x = true`.
    fn truth(&self, left: &Formula, truth: bool, negated: bool) -> Result<BoundPredicate> {
        let formula = self.formula(left)?;
        if *formula.ty() != PrimitiveType::Boolean {
            return Err(Error::invalid(format!("`is {truth}` needs a truth value, not a {}", formula.ty())));
        }
        let ask = |op, values: &[bool]| {
            let right = values.iter().map(|v| Formula::Constant(Constant::Literal(Literal::Boolean(*v)))).collect();
            self.question(&Test { left: left.clone(), op: TestOp::Plain(op), right }, op)
        };
        match negated {
            false => ask(Op::Eq, &[truth]),
            true => Ok(BoundPredicate::any([ask(Op::IsNull, &[])?, ask(Op::Eq, &[!truth])?])),
        }
    }

    /// A plain operation with none or one value.
    fn question(&self, test: &Test, op: Op) -> Result<BoundPredicate> {
        let left = self.formula(&test.left)?;
        let [right] = test.right.as_slice() else { return self.with_literals(left, op, &test.right) };
        if !compares(op) || matches!(right, Formula::Constant(Constant::Literal(_))) {
            return self.with_literals(left, op, std::slice::from_ref(right));
        }
        let right = self.formula(right)?;
        match (left, right) {
            (BoundFormula::Constant(value, ty), right) if !right.is_constant() => {
                self.with_constant(right, op.mirrored(), &value, &ty)
            }
            (left, BoundFormula::Constant(value, ty)) => self.with_constant(left, op, &value, &ty),
            (left, right) => {
                let (left, right) = of_comparison(left, right)?;
                Ok(decided(BoundTest { left, question: TestQuestion::Compare(op, right) }))
            }
        }
    }

    fn with_constant(&self, left: BoundFormula, op: Op, value: &Value, ty: &PrimitiveType) -> Result<BoundPredicate> {
        use PrimitiveType as P;
        // The types decide whether the values can be compared, as for two columns.
        of_comparison(left.clone(), BoundFormula::Constant(value.clone(), ty.clone())).or_else(|e| {
            match (left.ty(), ty) {
                (P::TimestampNs | P::TimestamptzNs, P::Date | P::Timestamp | P::Timestamptz) => {
                    Ok((left.clone(), left.clone()))
                }
                (x, y) if is_number(x) && is_number(y) => Ok((left.clone(), left.clone())),
                _ => Err(e),
            }
        })?;
        // The beginning of a day compares with times of that day.
        let left = match (left.ty(), ty) {
            (P::Date, P::Timestamp | P::Timestamptz) => implied(left, &P::Timestamp),
            _ => left,
        };
        self.with_literals(left, op, &[Formula::Constant(Constant::Literal(literal_of(value, ty)))])
    }

    /// An operation with literals. A plain column makes it a leaf.
    fn with_literals(&self, left: BoundFormula, op: Op, right: &[Formula]) -> Result<BoundPredicate> {
        let literal = |f: &Formula| match f {
            Formula::Constant(Constant::Literal(literal)) => Ok(literal.clone()),
            other => Err(Error::invalid(format!("{other} is not a literal"))),
        };
        let literals: Vec<Literal> = right.iter().map(literal).collect::<Result<_>>()?;
        match left {
            BoundFormula::Column(term, _) => {
                let term = Term { path: term.path, transform: term.transform };
                self.leaf(&term, op, &literals)
            }
            left => {
                let term = stand_in(&left);
                let leaf = self.of_term(term, op, &literals)?;
                Ok(about(leaf, &left))
            }
        }
    }

    /// `x in (…)`. Values that are not literals make it several comparisons.
    fn members(&self, test: &Test, op: Op) -> Result<BoundPredicate> {
        let mut literals = Vec::new();
        let mut others = Vec::new();
        for member in &test.right {
            match member {
                Formula::Constant(Constant::Literal(_)) => literals.push(member.clone()),
                other => others.push(other),
            }
        }
        let single = if op == Op::In { Op::Eq } else { Op::NotEq };
        let one = |member: &Formula| {
            self.question(
                &Test { left: test.left.clone(), op: TestOp::Plain(single), right: vec![member.clone()] },
                single,
            )
        };
        let mut parts = others.into_iter().map(one).collect::<Result<Vec<_>>>()?;
        if !literals.is_empty() || parts.is_empty() {
            parts.push(self.with_literals(self.formula(&test.left)?, op, &literals)?);
        }
        Ok(if op == Op::In { BoundPredicate::any(parts) } else { BoundPredicate::all(parts) })
    }

    fn like(&self, test: &Test, negated: bool) -> Result<BoundPredicate> {
        let [Formula::Constant(Constant::Literal(Literal::String(text)))] = test.right.as_slice() else {
            return Err(Error::invalid("`like` needs a quoted pattern"));
        };
        let pattern = Pattern::parse(text).ok_or_else(|| {
            Error::invalid(format!("in the pattern '{text}', `\\` precedes another character than `%`, `_` and `\\`"))
        })?;
        let left = self.formula(&test.left)?;
        let literal = |text: String| Formula::Constant(Constant::Literal(Literal::String(text)));
        if let Some(only) = pattern.only() {
            return self.with_literals(left, if negated { Op::NotEq } else { Op::Eq }, &[literal(only)]);
        }
        if pattern.is_prefix() {
            let op = if negated { Op::NotStartsWith } else { Op::StartsWith };
            return self.with_literals(left, op, &[literal(pattern.prefix())]);
        }
        if *left.ty() != PrimitiveType::String {
            return Err(Error::invalid(format!(
                "values of type {} have no patterns with `%` or `_` inside",
                left.ty()
            ))
            .hint("`like` compares strings; write cast(x as string) for other values"));
        }
        let question = if negated { TestQuestion::NotLike(pattern) } else { TestQuestion::Like(pattern) };
        Ok(decided(BoundTest { left, question }))
    }

    /// `isnan(x)`: false for types without NaN, and for null.
    fn is_nan(&self, test: &Test, negated: bool) -> Result<BoundPredicate> {
        let formula = self.formula(&test.left)?;
        match (formula.ty().is_float(), negated) {
            (true, false) => self.question(test, Op::IsNan),
            (true, true) => self.question(test, Op::NotNan),
            (false, false) => Ok(BoundPredicate::False),
            (false, true) => Ok(BoundPredicate::True),
        }
    }

    fn formula(&self, formula: &Formula) -> Result<BoundFormula> {
        match self.operand(formula)? {
            Bound::Formula(formula) => Ok(formula),
            Bound::Interval(_) => {
                Err(Error::invalid("an interval stands alone")
                    .hint("Add it to a date or timestamp: ts + interval '1 day'"))
            }
        }
    }

    fn operand(&self, formula: &Formula) -> Result<Bound> {
        Ok(Bound::Formula(match formula {
            Formula::Column(term) => self.column(term).with("column", term)?,
            Formula::Constant(Constant::Interval(interval)) => return Ok(Bound::Interval(*interval)),
            Formula::Constant(constant) => constant_of(constant)?,
            Formula::Cast { value, ty, tries } => cast(self.formula(value)?, ty, *tries)?,
            Formula::Call(function, arguments) => match (function, arguments.as_slice()) {
                (FilterFunction::Lower | FilterFunction::Upper, [x]) => case(*function, self.formula(x)?)?,
                (FilterFunction::Negate, [x]) => match self.operand(x)? {
                    Bound::Interval(interval) => {
                        let negated = interval.negated();
                        return Ok(Bound::Interval(negated.ok_or_else(|| Error::invalid("the interval is too long"))?));
                    }
                    Bound::Formula(x) => negate(x)?,
                },
                (_, [a, b]) => operation(*function, self.operand(a)?, self.operand(b)?)?,
                _ => return Err(Error::internal("a function with a wrong number of arguments")),
            },
        }))
    }

    fn column(&self, term: &Term) -> Result<BoundFormula> {
        let term = self.term(term)?;
        match term.ty.as_primitive().cloned() {
            Some(ty) => Ok(BoundFormula::Column(term, ty)),
            None => {
                check_comparable(&term)?;
                Err(Error::internal("a nested column passed for one of a primitive type"))
            }
        }
    }
}

/// A term that stands for a formula while an operation is bound.
fn stand_in(formula: &BoundFormula) -> BoundTerm {
    BoundTerm {
        field_id: FieldId::MAX,
        path: Vec::new(),
        source: Type::Primitive(formula.ty().clone()),
        transform: Transform::Identity,
        ty: Type::Primitive(formula.ty().clone()),
        required: false,
    }
}

/// Leaves about the term that stands for a formula become tests of the formula.
fn about(predicate: BoundPredicate, formula: &BoundFormula) -> BoundPredicate {
    let each = |parts: Vec<BoundPredicate>| parts.into_iter().map(|p| about(p, formula)).collect::<Vec<_>>();
    match predicate {
        BoundPredicate::Leaf(leaf) => {
            let question = TestQuestion::Values(leaf.op, leaf.values);
            decided(BoundTest { left: formula.clone(), question })
        }
        BoundPredicate::And(parts) => BoundPredicate::all(each(parts)),
        BoundPredicate::Or(parts) => BoundPredicate::any(each(parts)),
        other => other,
    }
}

/// A test that has no columns is decided at once.
fn decided(test: BoundTest) -> BoundPredicate {
    struct NoBounds;
    impl Bounds for NoBounds {
        fn column<'a>(&'a self, _: FieldId, _: &PrimitiveType) -> ColumnBounds<'a> {
            ColumnBounds::default()
        }
    }
    let mut columns = 0;
    test.for_each_term(&mut |_| columns += 1);
    match verdict(&test, &NoBounds) {
        Verdict::Always if columns == 0 => BoundPredicate::True,
        Verdict::Never if columns == 0 => BoundPredicate::False,
        _ => BoundPredicate::Test(Box::new(test)),
    }
}

fn constant_of(constant: &Constant) -> Result<BoundFormula> {
    use PrimitiveType as P;
    let (value, ty) = match constant {
        Constant::Date(days) => (Value::Int(*days), P::Date),
        Constant::Timestamp(micros) => (Value::Long(*micros), P::Timestamp),
        Constant::Literal(Literal::Boolean(b)) => (Value::Boolean(*b), P::Boolean),
        Constant::Literal(Literal::String(s)) => (Value::String(s.clone()), P::String),
        Constant::Literal(Literal::Bytes(b)) => (Value::Bytes(b.clone()), P::Binary),
        Constant::Literal(Literal::Number(text)) => number(text)?,
        Constant::Interval(_) => return Err(Error::internal("an interval passed for a value")),
    };
    Ok(BoundFormula::Constant(value, ty))
}

/// A number's type: `long` for whole numbers, `double` with an exponent, `decimal` with a point or many digits.
fn number(text: &str) -> Result<(Value, PrimitiveType)> {
    let wrong = || Error::invalid(format!("{text} is not a number"));
    if text.contains(['e', 'E']) {
        return Ok((Value::Double(text.parse().map_err(|_| wrong())?), PrimitiveType::Double));
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Ok((Value::Long(whole), PrimitiveType::Long));
    }
    let (unscaled, scale) = decimal::parse_exact(text)
        .and_then(|(unscaled, scale)| Some((unscaled, u8::try_from(scale).ok()?)))
        .filter(|(unscaled, scale)| unscaled.unsigned_abs() < 10u128.pow(38) && *scale <= 38)
        .ok_or_else(|| Error::invalid(format!("the number {text} has more than 38 digits")))?;
    let digits = unscaled.unsigned_abs().to_string().len() as u8;
    Ok((Value::Decimal(unscaled), PrimitiveType::Decimal { precision: digits.max(scale), scale }))
}

/// A call, computed at once if it has no columns.
fn call(function: BoundFunction, arguments: Vec<BoundFormula>, ty: PrimitiveType) -> Result<BoundFormula> {
    let values: Option<Vec<_>> = arguments.iter().map(constant_value).collect();
    if let Some(values) = values {
        let values: Vec<_> = values.iter().map(|(v, ty)| (v.as_ref(), ty)).collect();
        if let Some(value) = apply(function, &values, &ty)? {
            return Ok(BoundFormula::Constant(value, ty));
        }
    }
    Ok(BoundFormula::Call { function, arguments, ty })
}

/// The value of a constant, perhaps in another type.
fn constant_value(formula: &BoundFormula) -> Option<(Value, PrimitiveType)> {
    match formula {
        BoundFormula::Constant(value, ty) => Some((value.clone(), ty.clone())),
        BoundFormula::Call { function: function @ BoundFunction::Cast(CastKind::Implied), arguments, ty } => {
            let (value, from) = constant_value(arguments.first()?)?;
            Some((apply(*function, &[(value.as_ref(), &from)], ty).ok()??, ty.clone()))
        }
        _ => None,
    }
}

fn cast(x: BoundFormula, ty: &PrimitiveType, tries: bool) -> Result<BoundFormula> {
    if !can_cast(x.ty(), ty) {
        return Err(Error::unsupported(format!("there is no cast from {} to {ty}", x.ty()))
            .hint("docs/reference/expr.md lists the casts of filters"));
    }
    let kind = if tries { CastKind::Tried } else { CastKind::Written };
    match x.ty() == ty {
        true => Ok(x),
        false => call(BoundFunction::Cast(kind), vec![x], ty.clone()),
    }
}

fn case(function: FilterFunction, x: BoundFormula) -> Result<BoundFormula> {
    let (name, function) = match function {
        FilterFunction::Upper => ("upper", BoundFunction::Upper),
        _ => ("lower", BoundFunction::Lower),
    };
    match x.ty() {
        PrimitiveType::String => call(function, vec![x], PrimitiveType::String),
        ty => Err(Error::invalid(format!("{name} needs a string, not a {ty}"))),
    }
}

fn negate(x: BoundFormula) -> Result<BoundFormula> {
    let ty = match x.ty() {
        ty if !is_number(ty) => return Err(Error::invalid(format!("`-` can't be applied to the type {ty}"))),
        PrimitiveType::Int => PrimitiveType::Long,
        ty => ty.clone(),
    };
    call(BoundFunction::Negate, vec![implied(x, &ty)], ty)
}

fn operation(function: FilterFunction, a: Bound, b: Bound) -> Result<BoundFormula> {
    use PrimitiveType as P;
    let (a, b) = match dated(function, a, b)? {
        (Bound::Formula(a), Bound::Interval(by)) => return shift(function, a, by),
        (Bound::Interval(by), Bound::Formula(b)) if function == FilterFunction::Add => return shift(function, b, by),
        (Bound::Formula(a), Bound::Formula(b)) => (a, b),
        _ => {
            return Err(Error::invalid("intervals can only be added to dates and timestamps, or subtracted from them"));
        }
    };
    let of_days =
        |date: BoundFormula, days: BoundFormula, function| call(function, vec![date, implied(days, &P::Long)], P::Date);
    match (function, a.ty(), b.ty()) {
        (FilterFunction::Add, P::Date, P::Int | P::Long) => of_days(a, b, BoundFunction::AddDays),
        (FilterFunction::Add, P::Int | P::Long, P::Date) => of_days(b, a, BoundFunction::AddDays),
        (FilterFunction::Subtract, P::Date, P::Int | P::Long) => of_days(a, b, BoundFunction::SubtractDays),
        (FilterFunction::Subtract, P::Date, P::Date) => call(BoundFunction::DaysBetween, vec![a, b], P::Long),
        _ => {
            let function = match function {
                FilterFunction::Add => BoundFunction::Add,
                FilterFunction::Subtract => BoundFunction::Subtract,
                FilterFunction::Multiply => BoundFunction::Multiply,
                FilterFunction::Divide => BoundFunction::Divide,
                _ => BoundFunction::Remainder,
            };
            let (arguments, ty) = of_arithmetic(function, a, b)?;
            call(function, arguments, ty)
        }
    }
}

/// A text that is subtracted from a date, or from which a date is subtracted, is a date.
fn dated(function: FilterFunction, a: Bound, b: Bound) -> Result<(Bound, Bound)> {
    use PrimitiveType as P;
    let is_text = |x: &BoundFormula| matches!(x, BoundFormula::Constant(Value::String(_), _));
    Ok(match (function, a, b) {
        (FilterFunction::Subtract, Bound::Formula(a), Bound::Formula(b)) if *a.ty() == P::Date && is_text(&b) => {
            (Bound::Formula(a), Bound::Formula(cast(b, &P::Date, false)?))
        }
        (FilterFunction::Subtract, Bound::Formula(a), Bound::Formula(b)) if *b.ty() == P::Date && is_text(&a) => {
            (Bound::Formula(cast(a, &P::Date, false)?), Bound::Formula(b))
        }
        (_, a, b) => (a, b),
    })
}

fn shift(function: FilterFunction, x: BoundFormula, by: Interval) -> Result<BoundFormula> {
    use PrimitiveType as P;
    let by = match function {
        FilterFunction::Add => Some(by),
        FilterFunction::Subtract => by.negated(),
        _ => None,
    };
    let by = by.ok_or_else(|| Error::invalid("intervals can only be added and subtracted"))?;
    match x.ty() {
        P::Date if by.micros % temporal::MICROS_PER_DAY != 0 => {
            Err(Error::invalid("an interval with hours or less can't be added to a date")
                .hint("Write cast(x as timestamp) + interval '…'"))
        }
        P::Date | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            let ty = x.ty().clone();
            call(BoundFunction::Shift(by), vec![x], ty)
        }
        ty => Err(Error::invalid(format!("an interval can't be added to the type {ty}"))
            .hint("Intervals are added to dates and timestamps")),
    }
}
