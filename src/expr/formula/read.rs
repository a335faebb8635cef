//! Reads formulas from filter text.
//!
//! ```text
//! formula = product {("+" | "-") product}
//! product = factor {("*" | "/" | "%") factor}
//! factor  = "-" factor | "(" formula ")" | literal | interval | column | call
//! call    = (lower | upper)(formula) | (cast | try_cast)(formula as type)
//!         | (date_add | date_sub | datediff)(formula, formula) | current_date | current_timestamp | now()
//! ```

use crate::error::{Error, Result};
use crate::expr::cursor::FilterParser;
use crate::expr::formula::pattern::Pattern;
use crate::expr::formula::unbound::{Constant, FilterFunction, Formula, Interval, TestOp};
use crate::expr::lex::{Token, is_value, mistake};
use crate::expr::predicate::Predicate;
use crate::expr::term::{Literal, Op};
use crate::types::schema_json::parse_primitive;
use crate::types::{PrimitiveType, temporal};

/// The most operators and calls of one formula.
const MOST_OPERATIONS: usize = 100;
/// The most parentheses of one formula. Its text has at most one pair for each operation.
const MOST_PARENTHESES: usize = 200;

const FUNCTIONS: [&str; 11] =
    ["lower", "lcase", "upper", "ucase", "cast", "try_cast", "date_add", "date_sub", "datediff", "now", "current_date"];

/// The units of intervals: months and microseconds.
const UNITS: [(&str, i32, i64); 9] = [
    ("microsecond", 0, 1),
    ("millisecond", 0, 1_000),
    ("second", 0, 1_000_000),
    ("minute", 0, 60_000_000),
    ("hour", 0, temporal::MICROS_PER_HOUR),
    ("day", 0, temporal::MICROS_PER_DAY),
    ("week", 0, 7 * temporal::MICROS_PER_DAY),
    ("month", 1, 0),
    ("year", 12, 0),
];

impl FilterParser<'_> {
    /// A value on one side of a test.
    pub(in crate::expr) fn formula(&mut self) -> Result<Formula> {
        (self.operations, self.parentheses) = (0, 0);
        self.sum()
    }

    fn count_operation(&mut self) -> Result<()> {
        self.operations += 1;
        match self.operations > MOST_OPERATIONS {
            true => {
                Err(mistake(self.text, self.start(), &format!("a value has more than {MOST_OPERATIONS} operations")))
            }
            false => Ok(()),
        }
    }

    fn sum(&mut self) -> Result<Formula> {
        let mut left = self.product()?;
        loop {
            let function = if self.accept("+") {
                FilterFunction::Add
            } else if self.accept("-") {
                FilterFunction::Subtract
            } else {
                return Ok(left);
            };
            self.count_operation()?;
            left = Formula::Call(function, vec![left, self.product()?]);
        }
    }

    fn product(&mut self) -> Result<Formula> {
        let mut left = self.factor()?;
        loop {
            let function = if self.accept("*") {
                FilterFunction::Multiply
            } else if self.accept("/") {
                FilterFunction::Divide
            } else if self.accept("%") {
                FilterFunction::Remainder
            } else {
                return Ok(left);
            };
            self.count_operation()?;
            left = Formula::Call(function, vec![left, self.factor()?]);
        }
    }

    fn factor(&mut self) -> Result<Formula> {
        if self.at_interval() {
            return self.interval();
        }
        if self.at_signed_operand() {
            self.count_operation()?;
            let negative = self.accept("-");
            if !negative {
                self.accept("+");
            }
            let x = self.factor()?;
            return Ok(if negative { Formula::Call(FilterFunction::Negate, vec![x]) } else { x });
        }
        if self.at_literal() {
            return self.typed_literal().map(Formula::Constant);
        }
        if self.accept("(") {
            self.parentheses += 1;
            if self.parentheses > MOST_PARENTHESES {
                let what = format!("a value has more than {MOST_PARENTHESES} parentheses");
                return Err(mistake(self.text, self.start(), &what));
            }
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.at_function() {
            self.count_operation()?;
            return self.function();
        }
        match self.peek() {
            Token::Word(_) | Token::Quoted(_) => self.term().map(Formula::Column),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// A sign that is not that of a number.
    fn at_signed_operand(&self) -> bool {
        matches!(self.peek(), Token::Symbol("-" | "+")) && !matches!(self.peek_at(1), Token::Number(_))
    }

    /// Dates and timestamps keep their type, because a formula has no column to tell it.
    fn typed_literal(&mut self) -> Result<Constant> {
        let start = self.start();
        let word = match (self.at_typed(), self.peek()) {
            (true, Token::Word(word)) => word.to_ascii_lowercase(),
            _ => String::new(),
        };
        let literal = self.literal()?;
        let Literal::String(text) = &literal else { return Ok(Constant::Literal(literal)) };
        let wrong = |what: &str| mistake(self.text, start, &format!("'{text}' is not a {what}"));
        match word.as_str() {
            "date" => {
                let days = temporal::parse_date(text.trim()).and_then(|days| i32::try_from(days).ok());
                days.map(Constant::Date).ok_or_else(|| wrong("date"))
            }
            "timestamp" | "timestamp_ntz" | "timestamp_ltz" => {
                let micros = temporal::parse_timestamp(text, 1_000_000);
                micros.map(|(micros, _)| Constant::Timestamp(micros)).ok_or_else(|| wrong("timestamp in microseconds"))
            }
            _ => Ok(Constant::Literal(literal)),
        }
    }

    fn at_interval(&self) -> bool {
        let sign = usize::from(matches!(self.peek_at(1), Token::Symbol("-" | "+")));
        let amount = self.peek_at(1 + sign);
        let has_unit = matches!(self.peek_at(2 + sign), Token::Word(_));
        self.is_word("interval")
            && (matches!(self.peek_at(1), Token::Text(_)) || (matches!(amount, Token::Number(_)) && has_unit))
    }

    /// `interval '3 days'`, `interval 3 days`, `interval '3' day`.
    fn interval(&mut self) -> Result<Formula> {
        let start = self.start();
        self.at += 1;
        let mut text = if self.accept("-") { "-".to_owned() } else { String::new() };
        self.accept("+");
        if let Token::Text(amount) | Token::Number(amount) = self.peek() {
            text.push_str(amount);
            self.at += 1;
        }
        if text.trim().parse::<f64>().is_ok()
            && let Token::Word(unit) = self.peek()
        {
            text = format!("{text} {unit}");
            self.at += 1;
        }
        let interval = interval_of(&text);
        let interval = interval.ok_or_else(|| {
            mistake(self.text, start, "an interval has whole numbers with units, as in interval '1 day 6 hours'")
        })?;
        Ok(Formula::Constant(Constant::Interval(interval)))
    }

    fn at_function(&self) -> bool {
        match self.peek() {
            Token::Word(word) if is_value(word) => true,
            Token::Word(word) => {
                *self.peek_at(1) == Token::Symbol("(") && FUNCTIONS.iter().any(|f| word.eq_ignore_ascii_case(f))
            }
            _ => false,
        }
    }

    fn function(&mut self) -> Result<Formula> {
        let Token::Word(name) = self.peek().clone() else { return Err(self.unexpected("a function")) };
        let name = name.to_ascii_lowercase();
        self.at += 1;
        let opened = self.accept("(");
        let value = match name.as_str() {
            "current_date" | "current_timestamp" | "now" => now(name == "current_date"),
            "lower" | "lcase" => Formula::Call(FilterFunction::Lower, vec![self.sum()?]),
            "upper" | "ucase" => Formula::Call(FilterFunction::Upper, vec![self.sum()?]),
            "cast" | "try_cast" => {
                let value = Box::new(self.sum()?);
                self.expect_word("as")?;
                Formula::Cast { value, ty: self.type_name()?, tries: name == "try_cast" }
            }
            _ => {
                let first = self.sum()?;
                self.expect(",")?;
                let function = if name == "date_add" { FilterFunction::Add } else { FilterFunction::Subtract };
                Formula::Call(function, vec![first, self.sum()?])
            }
        };
        if opened {
            self.expect(")")?;
        }
        Ok(value)
    }

    /// A type by its name in SQL or in Frazil.
    fn type_name(&mut self) -> Result<PrimitiveType> {
        let start = self.start();
        let Token::Word(name) = self.peek().clone() else { return Err(self.unexpected("a type")) };
        self.at += 1;
        let mut name = name.to_ascii_lowercase();
        if self.accept("(") {
            let mut numbers = Vec::new();
            while let Token::Number(n) = self.peek().clone() {
                numbers.push(n);
                self.at += 1;
                self.accept(",");
            }
            self.expect(")")?;
            name = format!("{name}({})", numbers.join(", "));
        }
        let known = match name.as_str() {
            "integer" => "int",
            "bigint" => "long",
            "real" => "float",
            "text" => "string",
            "timestamp_ntz" => "timestamp",
            "timestamp_ltz" => "timestamptz",
            "decimal" => "decimal(10, 0)",
            other => other,
        };
        parse_primitive(known).map_err(|_| {
            let known =
                "boolean, int, bigint, float, double, decimal(p, s), date, timestamp, timestamptz, string, uuid";
            mistake(self.text, start, &format!("no type `{name}`; casts know {known}"))
        })
    }

    /// `contains(x, 'abc')`, `ends_with(x, 'abc')` and `starts_with` of a formula are patterns of `like`. `isnan(x)` is
    /// a test of its own.
    pub(in crate::expr) fn text_test(&mut self, name: &str) -> Result<Predicate> {
        self.at += 2;
        let left = self.formula()?;
        if name == "isnan" {
            self.expect(")")?;
            return Ok(Predicate::of_test(left, TestOp::IsNan, Vec::new()));
        }
        self.expect(",")?;
        if let (Formula::Column(term), true) = (&left, name.starts_with("start")) {
            let prefix = self.literal()?;
            self.expect(")")?;
            return Ok(Predicate::Leaf(term.clone(), Op::StartsWith, vec![prefix]));
        }
        let Token::Text(text) = self.peek().clone() else { return Err(self.unexpected("a quoted text")) };
        self.at += 1;
        self.expect(")")?;
        let mut pattern = String::with_capacity(text.len() + 2);
        for c in text.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        let pattern = match name {
            "contains" => format!("%{pattern}%"),
            name if name.starts_with("end") => format!("%{pattern}"),
            _ => format!("{pattern}%"),
        };
        like(left, pattern).ok_or_else(|| Error::internal("a pattern was made wrong"))
    }

    /// Whether a literal is a side of a test as a whole, and not an operand of a formula.
    pub(in crate::expr) fn at_whole_literal(&self) -> bool {
        let tokens = match self.peek() {
            Token::Symbol(_) if !matches!(self.peek_at(1), Token::Number(_)) => return false,
            Token::Symbol(_) => 2,
            _ if self.at_typed() => 2,
            _ => 1,
        };
        self.at_literal() && !matches!(self.peek_at(tokens), Token::Symbol("+" | "-" | "*" | "/" | "%"))
    }

    /// One side of a test: a literal without a type, or a formula.
    pub(in crate::expr) fn side(&mut self) -> Result<Formula> {
        match self.at_whole_literal() {
            true => self.literal().map(|literal| Formula::Constant(Constant::Literal(literal))),
            false => self.formula(),
        }
    }
}

/// A test of a pattern. Those of plain texts and of prefixes are comparisons that all parts of a plan know. `None` for
/// a pattern with a wrong `\`.
pub(in crate::expr) fn like(left: Formula, text: String) -> Option<Predicate> {
    let pattern = Pattern::parse(&text)?;
    let (op, text) = match pattern.only() {
        Some(only) => (TestOp::Plain(Op::Eq), only),
        None if pattern.is_prefix() => (TestOp::Plain(Op::StartsWith), pattern.prefix()),
        None => (TestOp::Like, text),
    };
    Some(Predicate::of_test(left, op, vec![Formula::Constant(Constant::Literal(Literal::String(text)))]))
}

/// The date or time at which the text is read.
fn now(date: bool) -> Formula {
    let micros = i64::try_from(temporal::now().as_micros()).unwrap_or(i64::MAX);
    let days = i32::try_from(micros / temporal::MICROS_PER_DAY).unwrap_or(i32::MAX);
    Formula::Constant(if date { Constant::Date(days) } else { Constant::Timestamp(micros) })
}

fn interval_of(text: &str) -> Option<Interval> {
    let mut words = text.split_whitespace().peekable();
    let mut out = Interval::default();
    words.peek()?;
    while let Some(amount) = words.next() {
        let unit = words.next()?.to_ascii_lowercase();
        let unit = unit.strip_suffix('s').unwrap_or(&unit);
        let (_, months, micros) = UNITS.iter().find(|(name, _, _)| *name == unit)?;
        let amount = amount.parse::<i64>().ok()?;
        let more = i32::try_from(amount.checked_mul(i64::from(*months))?).ok()?;
        out.months = out.months.checked_add(more)?;
        out.micros = out.micros.checked_add(amount.checked_mul(*micros)?)?;
    }
    Some(out)
}
