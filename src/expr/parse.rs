//! Reads filter text: SQL comparisons, `in`, `between`, `like`, null, NaN and truth tests, `and or not`, parentheses.
//!
//! ```text
//! filter  = [not] (test | "(" filter ")" | true | false) {(and | or) …}
//! test    = value cmp value | value <=> (value | null) | value is [not] distinct from (value | null)
//!         | value [not] in "(" value, … ")" | value [not] between value and value
//!         | value is [not] (null | nan | true | false | unknown) | value [not] (like | ilike) 'a%b_' [escape 'c']
//!         | (starts_with | ends_with | contains)(value, literal) | isnan(value) | value
//! value   = literal | formula, as `expr::formula::read` reads it, of terms and literals
//! term    = name {"." name} | (bucket | truncate)(number, name…) | (year | month | day | hour)(name…)
//! literal = 42 | -1.5e3 | 'text' | x'00ff' | true | false | date '…' | timestamp '…'
//! ```
//!
//! Keywords may be in any case. Quote a column with the name of a keyword: `"in"` or `` `in` ``. Flat lists may have
//! any length. Nesting is bounded, and the parser uses its own stack, not that of the thread.

use crate::error::{Error, Result};
use crate::expr::calendar::refuse_calendar_numbers;
use crate::expr::cursor::FilterParser;
use crate::expr::formula::read::like;
use crate::expr::formula::unbound::{Constant, FilterFunction, Formula, TestOp};
use crate::expr::lex::{Token, is_reserved, mistake};
use crate::expr::predicate::Predicate;
use crate::expr::term::{Literal, Op};

/// The most alternations of `and`, `or` and `not` in a filter's text.
const MAX_DEPTH: usize = 100;
/// The most parentheses that may be open at a time.
const MAX_OPEN: usize = 10_000;

/// Reads a filter.
///
/// # Errors
/// `InvalidInput` with the text, a caret under the mistake, and the expected token; or for a number that is also a
/// year, month, day or hour of the calendar.
pub fn parse(text: &str) -> Result<Predicate> {
    let filter = FilterParser::new(text)?.filter()?;
    refuse_calendar_numbers(&filter)?;
    Ok(filter)
}

/// One open parenthesis, or the whole filter: the finished parts of its `or`, and the parts of its last `and`.
#[derive(Default)]
struct Frame {
    negated: bool,
    start: usize,
    ors: Vec<Predicate>,
    or_depth: usize,
    ands: Vec<Predicate>,
    and_depth: usize,
}

impl Frame {
    fn push(&mut self, part: Predicate, depth: usize) {
        match part {
            Predicate::And(inner) => {
                self.ands.extend(inner);
                self.and_depth = self.and_depth.max(depth - 1);
            }
            part => {
                self.ands.push(part);
                self.and_depth = self.and_depth.max(depth);
            }
        }
    }

    fn end_conjunction(&mut self) {
        let mut depth = std::mem::take(&mut self.and_depth);
        let mut ands = std::mem::take(&mut self.ands);
        let part = if ands.len() == 1 { ands.swap_remove(0) } else { Predicate::And(ands) };
        if matches!(part, Predicate::And(_)) {
            depth += 1;
        }
        match part {
            Predicate::Or(inner) => {
                self.ors.extend(inner);
                self.or_depth = self.or_depth.max(depth - 1);
            }
            part => {
                self.ors.push(part);
                self.or_depth = self.or_depth.max(depth);
            }
        }
    }

    /// The predicate and its depth.
    fn finish(mut self) -> (Predicate, usize) {
        self.end_conjunction();
        let (p, depth) = match self.ors.len() {
            1 => (self.ors.swap_remove(0), self.or_depth),
            _ => (Predicate::Or(self.ors), self.or_depth + 1),
        };
        if self.negated { (Predicate::Not(Box::new(p)), depth + 1) } else { (p, depth) }
    }
}

impl FilterParser<'_> {
    fn filter(mut self) -> Result<Predicate> {
        self.refuse_clause()?;
        let mut stack = vec![Frame::default()];
        loop {
            let start = self.start();
            let mut negated = false;
            while self.accept_word("not") || self.accept("!") {
                negated = !negated;
            }
            if !self.at_formula() && self.accept("(") {
                if stack.len() > MAX_OPEN {
                    return Err(mistake(self.text, start, "too many open parentheses"));
                }
                stack.push(Frame { negated, start, ..Frame::default() });
                continue;
            }
            let test = self.test()?;
            let Some(top) = stack.last_mut() else { return Err(lost()) };
            match negated {
                true => top.push(Predicate::Not(Box::new(test)), 2),
                false => top.push(test, 1),
            }
            if let Some(whole) = self.after_operand(&mut stack)? {
                return Ok(whole);
            }
        }
    }

    /// Refuses `where a = 1`, a clause of SQL.
    fn refuse_clause(&self) -> Result<()> {
        let at_name = match self.peek_at(1) {
            Token::Word(word) => !is_reserved(word) && !word.eq_ignore_ascii_case("ilike"),
            token => matches!(token, Token::Quoted(_)),
        };
        match self.is_word("where") && at_name {
            true => Err(self.unexpected("a condition").hint("Leave out `where`")),
            false => Ok(()),
        }
    }

    /// Closes parentheses and takes the word before the next operand. Returns the filter if it ends here.
    fn after_operand(&mut self, stack: &mut Vec<Frame>) -> Result<Option<Predicate>> {
        loop {
            let open = stack.len() > 1;
            if self.accept_word("and") {
                return Ok(None);
            }
            let Some(top) = stack.last_mut() else { return Err(lost()) };
            if self.accept_word("or") {
                top.end_conjunction();
                return Ok(None);
            }
            let closes = open && self.accept(")");
            if !closes && (open || *self.peek() != Token::End) {
                return Err(self.unexpected_after(if open { "`and`, `or` or `)`" } else { "`and`, `or` or the end" }));
            }
            let Some(frame) = stack.pop() else { return Err(lost()) };
            let start = frame.start;
            let (part, depth) = frame.finish();
            if depth > MAX_DEPTH {
                return Err(mistake(self.text, start, &format!("nested deeper than {MAX_DEPTH} levels")));
            }
            match stack.last_mut() {
                Some(outer) => outer.push(part, depth),
                None => return Ok(Some(part)),
            }
        }
    }

    /// Whether an open parenthesis begins a value and not a filter.
    fn at_formula(&self) -> bool {
        match self.after_parenthesis() {
            Some(Token::Symbol(s)) => !matches!(*s, ")" | "(" | "," | "." | "!"),
            Some(Token::Word(w)) => {
                ["is", "in", "not", "between", "like", "ilike"].iter().any(|k| w.eq_ignore_ascii_case(k))
            }
            _ => false,
        }
    }

    /// One question, or a constant.
    fn test(&mut self) -> Result<Predicate> {
        if self.at_literal() && self.at_whole_literal() {
            return self.literal_first();
        }
        if self.at_call()
            && let Token::Word(name) = self.peek()
        {
            let name = name.to_ascii_lowercase();
            if ["starts_with", "startswith", "ends_with", "endswith", "contains", "isnan"].contains(&name.as_str()) {
                return self.text_test(&name);
            }
        }
        if self.is_word("null") && *self.peek_at(1) == Token::Symbol("<=>") {
            self.at += 2;
            return self.side().map(is_null);
        }
        let left = self.formula()?;
        if self.accept("<=>") {
            return self.null_safe(left);
        }
        if let Some(op) = self.comparison() {
            let right = self.compared()?;
            return Ok(Predicate::of_test(left, TestOp::Plain(op), vec![right]));
        }
        if self.accept_word("is") {
            return self.null_test(left);
        }
        let negated = self.accept_word("not");
        let test = if self.accept_word("in") {
            let op = if negated { Op::NotIn } else { Op::In };
            let values = self.list()?;
            return Ok(Predicate::of_test(left, TestOp::Plain(op), values));
        } else if self.accept_word("between") {
            let low = self.compared()?;
            self.expect_word("and")?;
            let high = self.compared()?;
            Predicate::And(vec![
                Predicate::of_test(left.clone(), TestOp::Plain(Op::GtEq), vec![low]),
                Predicate::of_test(left, TestOp::Plain(Op::LtEq), vec![high]),
            ])
        } else if self.is_word("like") || self.is_word("ilike") {
            self.like(left)?
        } else if negated {
            return Err(self.unexpected_after("`in`, `between` or `like` after `not`"));
        } else {
            let truth = Formula::Constant(Constant::Literal(Literal::Boolean(true)));
            Predicate::of_test(left, TestOp::Plain(Op::Eq), vec![truth])
        };
        Ok(if negated { Predicate::Not(Box::new(test)) } else { test })
    }

    /// `5 < x`, or `true` alone.
    fn literal_first(&mut self) -> Result<Predicate> {
        let value = self.literal()?;
        if self.accept("<=>") {
            return self.null_safe(Formula::Constant(Constant::Literal(value)));
        }
        let Some(op) = self.comparison() else {
            return match value {
                Literal::Boolean(true) => Ok(Predicate::True),
                Literal::Boolean(false) => Ok(Predicate::False),
                _ => Err(self.unexpected("a comparison after the literal")),
            };
        };
        let right = self.side()?;
        let value = Formula::Constant(Constant::Literal(value));
        Ok(match right {
            Formula::Constant(_) => Predicate::of_test(value, TestOp::Plain(op), vec![right]),
            column => Predicate::of_test(column, TestOp::Plain(op.mirrored()), vec![value]),
        })
    }

    /// The rest of `x <=> y`, which is never null: nulls equal each other and nothing else.
    fn null_safe(&mut self, left: Formula) -> Result<Predicate> {
        if self.accept_word("null") {
            return Ok(is_null(left));
        }
        let right = self.side()?;
        let is_constant = |x: &Formula| matches!(x, Formula::Constant(_));
        let (left, right) = if is_constant(&left) { (right, left) } else { (left, right) };
        let equal = Predicate::of_test(left.clone(), TestOp::Plain(Op::Eq), vec![right.clone()]);
        Ok(match (is_constant(&left), is_constant(&right)) {
            (true, _) => equal,
            (false, true) => Predicate::And(vec![equal, not_null(left)]),
            (false, false) => Predicate::Or(vec![
                Predicate::And(vec![equal, not_null(left.clone()), not_null(right.clone())]),
                Predicate::And(vec![is_null(left), is_null(right)]),
            ]),
        })
    }

    /// What a comparison compares with.
    fn compared(&mut self) -> Result<Formula> {
        match self.is_word("null") {
            true => Err(self.unexpected("a value").hint("Nothing equals null; write `is null`")),
            false => self.side(),
        }
    }

    fn null_test(&mut self, left: Formula) -> Result<Predicate> {
        let negated = self.accept_word("not");
        if self.accept_word("distinct") {
            self.expect_word("from")?;
            let same = self.null_safe(left)?;
            return Ok(if negated { same } else { Predicate::Not(Box::new(same)) });
        }
        let truth = if self.accept_word("true") {
            Some(true)
        } else if self.accept_word("false") {
            Some(false)
        } else {
            None
        };
        if let Some(truth) = truth {
            let test = Predicate::of_test(left, TestOp::Is(truth), Vec::new());
            return Ok(if negated { Predicate::Not(Box::new(test)) } else { test });
        }
        let op = if self.accept_word("null") || self.accept_word("unknown") {
            Op::IsNull
        } else if self.accept_word("nan") {
            Op::IsNan
        } else {
            return Err(self.unexpected_after(if negated {
                "`null`, `nan`, `true` or `false`"
            } else {
                "`null`, `nan`, `true`, `false` or `not`"
            }));
        };
        Ok(Predicate::of_test(left, TestOp::Plain(if negated { op.negate() } else { op }), Vec::new()))
    }

    /// `like 'a%'`, `ilike 'A%'`, `like '10/%' escape '/'`.
    fn like(&mut self, left: Formula) -> Result<Predicate> {
        let small = self.is_word("ilike");
        self.at += 1;
        let start = self.start();
        let Token::Text(mut text) = self.peek().clone() else {
            return Err(self.unexpected("a quoted pattern").hint("Text has single quotes: 'a%'"));
        };
        self.at += 1;
        if self.accept_word("escape") {
            text = self.with_escape(&text)?;
        }
        let (left, text) = match small {
            true => (Formula::Call(FilterFunction::Lower, vec![left]), text.to_lowercase()),
            false => (left, text),
        };
        like(left, text)
            .ok_or_else(|| mistake(self.text, start, "in a pattern `\\` can precede only `%`, `_` and `\\`"))
    }

    fn list(&mut self) -> Result<Vec<Formula>> {
        self.expect("(")?;
        let mut values = Vec::new();
        if self.accept(")") {
            return Ok(values);
        }
        loop {
            values.push(self.compared()?);
            if self.accept(")") {
                return Ok(values);
            }
            if !self.accept(",") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }

    /// A pattern with another escape character, in the form with `\`.
    fn with_escape(&mut self, pattern: &str) -> Result<String> {
        let mut chars = match self.peek() {
            Token::Text(text) => text.chars(),
            _ => "".chars(),
        };
        let (Some(escape), None) = (chars.next(), chars.next()) else {
            return Err(self.unexpected("one quoted character"));
        };
        self.at += 1;
        let mut out = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                c if c == escape => {
                    let next = chars.next();
                    let Some(c) = next.filter(|c| matches!(c, '%' | '_') || *c == escape) else {
                        let what = format!("in a pattern `{escape}` can precede only `%`, `_` and `{escape}`");
                        return Err(mistake(self.text, self.start(), &what));
                    };
                    if matches!(c, '%' | '_' | '\\') {
                        out.push('\\');
                    }
                    out.push(c);
                }
                '\\' => out.push_str("\\\\"),
                c => out.push(c),
            }
        }
        Ok(out)
    }
}

fn is_null(x: Formula) -> Predicate {
    Predicate::of_test(x, TestOp::Plain(Op::IsNull), Vec::new())
}

fn not_null(x: Formula) -> Predicate {
    Predicate::of_test(x, TestOp::Plain(Op::NotNull), Vec::new())
}

fn lost() -> Error {
    Error::internal("the filter parser lost its stack")
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
