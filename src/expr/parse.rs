//! Reads filter text: SQL comparisons, `in`, `between`, `like 'abc%'`, null and NaN tests, `and or not`, parentheses.
//!
//! ```text
//! filter  = [not] (test | "(" filter ")" | true | false) {(and | or) …}
//! test    = term cmp literal | literal cmp term | term [not] in "(" literal, … ")"
//!         | term [not] between literal and literal
//!         | term is [not] (null | nan) | term [not] like 'abc%' | starts_with(term, literal) | term
//! term    = name {"." name} | (bucket | truncate)(number, name…) | (year | month | day | hour)(name…)
//! literal = 42 | -1.5e3 | 'text' | x'00ff' | true | false | date '…' | timestamp '…'
//! ```
//!
//! Keywords may be in any case. Quote a column with the name of a keyword: `"in"` or `` `in` ``. Flat lists may have
//! any length. Nesting is bounded, and the parser uses its own stack, not that of the thread.

use crate::error::{Error, Result};
use crate::expr::lex::{Spanned, Token, mistake, tokens};
use crate::expr::predicate::{Literal, Op, Predicate, Term};
use crate::types::Transform;
use crate::types::select::MOST_NAME_PARTS;

/// The most alternations of `and`, `or` and `not` in a filter's text.
const MAX_DEPTH: usize = 100;
/// The most parentheses that may be open at a time.
const MAX_OPEN: usize = 10_000;

/// Reads a filter.
///
/// # Errors
/// `InvalidInput` with the text, a caret under the mistake, and the expected token; `Unsupported` for `like` patterns
/// that are not a prefix.
pub fn parse(text: &str) -> Result<Predicate> {
    FilterParser { text, tokens: tokens(text)?, at: 0 }.filter()
}

/// Whether a bare word can't be a column's name.
pub(super) fn is_reserved(word: &str) -> bool {
    ["and", "or", "not", "in", "between", "is", "null", "like", "true", "false"]
        .iter()
        .any(|k| word.eq_ignore_ascii_case(k))
}

struct FilterParser<'t> {
    text: &'t str,
    tokens: Vec<Spanned>,
    at: usize,
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
        let mut stack = vec![Frame::default()];
        loop {
            let start = self.start();
            let mut negated = false;
            while self.accept_word("not") || self.accept("!") {
                negated = !negated;
            }
            if self.accept("(") {
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
                return Err(self.unexpected(if open { "`and`, `or` or `)`" } else { "`and`, `or` or the end" }));
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

    /// One question, or a constant.
    fn test(&mut self) -> Result<Predicate> {
        if self.at_literal() {
            return self.literal_first();
        }
        if self.at_call() && (self.is_word("starts_with") || self.is_word("startswith")) {
            return self.starts_with();
        }
        let term = self.term()?;
        if let Some(op) = self.comparison() {
            let value = self.literal()?;
            return Ok(Predicate::Leaf(term, op, vec![value]));
        }
        if self.accept_word("is") {
            return self.null_test(term);
        }
        let negated = self.accept_word("not");
        let test = if self.accept_word("in") {
            let values = self.list()?;
            return Ok(Predicate::Leaf(term, if negated { Op::NotIn } else { Op::In }, values));
        } else if self.accept_word("between") {
            let low = self.literal()?;
            self.expect_word("and")?;
            let high = self.literal()?;
            Predicate::And(vec![
                Predicate::Leaf(term.clone(), Op::GtEq, vec![low]),
                Predicate::Leaf(term, Op::LtEq, vec![high]),
            ])
        } else if self.accept_word("like") {
            self.like(term)?
        } else if negated {
            return Err(self.unexpected("`in`, `between` or `like` after `not`"));
        } else {
            Predicate::Leaf(term, Op::Eq, vec![Literal::Boolean(true)])
        };
        Ok(if negated { Predicate::Not(Box::new(test)) } else { test })
    }

    /// `5 < x`, or `true` alone.
    fn literal_first(&mut self) -> Result<Predicate> {
        let value = self.literal()?;
        let Some(op) = self.comparison() else {
            return match value {
                Literal::Boolean(true) => Ok(Predicate::True),
                Literal::Boolean(false) => Ok(Predicate::False),
                _ => Err(self.unexpected("a comparison after the literal")),
            };
        };
        if self.at_literal() {
            return Err(self.unexpected("a column to compare the literal with"));
        }
        let flipped = match op {
            Op::Lt => Op::Gt,
            Op::LtEq => Op::GtEq,
            Op::Gt => Op::Lt,
            Op::GtEq => Op::LtEq,
            op => op,
        };
        Ok(Predicate::Leaf(self.term()?, flipped, vec![value]))
    }

    fn null_test(&mut self, term: Term) -> Result<Predicate> {
        let negated = self.accept_word("not");
        let op = if self.accept_word("null") {
            Op::IsNull
        } else if self.accept_word("nan") {
            Op::IsNan
        } else {
            return Err(self.unexpected(if negated { "`null` or `nan`" } else { "`null`, `nan` or `not`" }));
        };
        Ok(Predicate::Leaf(term, if negated { op.negate() } else { op }, Vec::new()))
    }

    fn starts_with(&mut self) -> Result<Predicate> {
        self.at += 2;
        let term = self.term()?;
        self.expect(",")?;
        let prefix = self.literal()?;
        self.expect(")")?;
        Ok(Predicate::Leaf(term, Op::StartsWith, vec![prefix]))
    }

    fn like(&mut self, term: Term) -> Result<Predicate> {
        let start = self.start();
        let Token::Text(pattern) = self.peek().clone() else { return Err(self.unexpected("a quoted pattern")) };
        self.at += 1;
        let mut prefix = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(c @ ('%' | '_' | '\\')) => prefix.push(c),
                    _ => return Err(mistake(self.text, start, "in a pattern `\\` can precede only `%`, `_` and `\\`")),
                },
                '%' if chars.as_str().chars().all(|c| c == '%') => {
                    return Ok(Predicate::Leaf(term, Op::StartsWith, vec![Literal::String(prefix)]));
                }
                '%' | '_' => {
                    return Err(Error::unsupported(format!("the pattern '{pattern}' is not a prefix"))
                        .hint("`like` takes patterns as 'abc%'; write `\\%` and `\\_` for the characters themselves"));
                }
                c => prefix.push(c),
            }
        }
        Ok(Predicate::Leaf(term, Op::Eq, vec![Literal::String(prefix)]))
    }

    fn term(&mut self) -> Result<Term> {
        if self.at_call() {
            return self.call();
        }
        Ok(Term { path: self.path()?, transform: Transform::Identity })
    }

    fn path(&mut self) -> Result<Vec<String>> {
        let mut path = Vec::new();
        loop {
            if path.len() == MOST_NAME_PARTS {
                let what = format!("a name has more than {MOST_NAME_PARTS} parts between dots");
                return Err(mistake(self.text, self.start(), &what));
            }
            let name = match self.peek() {
                Token::Quoted(name) => name.clone(),
                Token::Word(word) if !path.is_empty() || !is_reserved(word) => word.clone(),
                Token::Word(word) => {
                    let hint = format!("Quote a column of that name: \"{word}\"");
                    return Err(self.unexpected("a column").hint(hint));
                }
                _ => return Err(self.unexpected("a column")),
            };
            path.push(name);
            self.at += 1;
            if !self.accept(".") {
                return Ok(path);
            }
        }
    }

    /// `bucket(4, id)`, `day(ts)`.
    fn call(&mut self) -> Result<Term> {
        let start = self.start();
        let Token::Word(name) = self.peek().clone() else { return Err(self.unexpected("a function")) };
        self.at += 2;
        let name = name.to_ascii_lowercase();
        let transform = match name.as_str() {
            "bucket" | "truncate" => {
                let at = self.start();
                let Token::Number(n) = self.peek().clone() else {
                    return Err(self.unexpected(&format!("a number, as in {name}(4, column)")));
                };
                self.at += 1;
                self.expect(",")?;
                match Transform::parse(&format!("{name}[{n}]")) {
                    Transform::Unknown(_) => {
                        return Err(mistake(self.text, at, "expected a whole number from 1 to 2147483647"));
                    }
                    transform => transform,
                }
            }
            "year" | "years" | "month" | "months" | "day" | "days" | "date" | "hour" | "hours" => {
                Transform::parse(&name)
            }
            _ => {
                let what =
                    format!("no function `{name}`; there are bucket, truncate, year, month, day, hour, starts_with");
                return Err(mistake(self.text, start, &what));
            }
        };
        let path = self.path()?;
        self.expect(")")?;
        Ok(Term { path, transform })
    }

    fn comparison(&mut self) -> Option<Op> {
        let Token::Symbol(symbol) = self.peek() else { return None };
        let op = match *symbol {
            "=" | "==" => Op::Eq,
            "!=" | "<>" => Op::NotEq,
            "<" => Op::Lt,
            "<=" => Op::LtEq,
            ">" => Op::Gt,
            ">=" => Op::GtEq,
            _ => return None,
        };
        self.at += 1;
        Some(op)
    }

    fn list(&mut self) -> Result<Vec<Literal>> {
        self.expect("(")?;
        let mut values = Vec::new();
        if self.accept(")") {
            return Ok(values);
        }
        loop {
            values.push(self.literal()?);
            if self.accept(")") {
                return Ok(values);
            }
            if !self.accept(",") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
    }

    fn at_literal(&self) -> bool {
        match self.peek() {
            Token::Number(_) | Token::Text(_) | Token::Bytes(_) | Token::Symbol("-" | "+") => true,
            Token::Word(_) => self.is_word("true") || self.is_word("false") || self.at_typed(),
            _ => false,
        }
    }

    /// `date '2023-01-01'`.
    fn at_typed(&self) -> bool {
        matches!(self.peek_at(1), Token::Text(_))
            && ["date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz"].iter().any(|w| self.is_word(w))
    }

    fn literal(&mut self) -> Result<Literal> {
        if self.at_typed() {
            self.at += 1;
        }
        let sign = if self.accept("-") {
            Some("-")
        } else if self.accept("+") {
            Some("")
        } else {
            None
        };
        let literal = match (self.peek(), sign) {
            (Token::Number(n), sign) => Literal::Number(format!("{}{n}", sign.unwrap_or_default())),
            (_, Some(_)) => return Err(self.unexpected("a number after the sign")),
            (Token::Text(s), _) => Literal::String(s.clone()),
            (Token::Bytes(b), _) => Literal::Bytes(b.clone()),
            (Token::Word(_), _) if self.is_word("true") => Literal::Boolean(true),
            (Token::Word(_), _) if self.is_word("false") => Literal::Boolean(false),
            _ => return Err(self.no_literal()),
        };
        self.at += 1;
        Ok(literal)
    }

    fn no_literal(&self) -> Error {
        let error = self.unexpected("a literal");
        match self.peek() {
            Token::Word(_) if self.is_word("null") => error.hint("Nothing equals null; write `is null`"),
            Token::Word(_) | Token::Quoted(_) => {
                error.hint("Put text into single quotes; two columns can't be compared")
            }
            _ => error,
        }
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).map_or(&Token::End, |t| &t.token)
    }

    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |t| t.start)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w.eq_ignore_ascii_case(word))
    }

    /// A bare word and an opening parenthesis, and the word is not an operator.
    fn at_call(&self) -> bool {
        matches!(self.peek(), Token::Word(w) if !is_reserved(w)) && *self.peek_at(1) == Token::Symbol("(")
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(s) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            Token::Word(w) => format!("`{w}`"),
            Token::Quoted(_) => "a name".to_owned(),
            Token::Number(n) => format!("`{n}`"),
            Token::Text(_) => "a string".to_owned(),
            Token::Bytes(_) => "bytes".to_owned(),
            Token::Symbol(s) => format!("`{s}`"),
            Token::End => "the end".to_owned(),
        };
        mistake(self.text, self.start(), &format!("expected {wanted}, found {found}"))
    }
}

fn lost() -> Error {
    Error::internal("the filter parser lost its stack")
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
