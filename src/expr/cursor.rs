//! The place in filter text that is read next, and what has no parts of its own: names, columns and literals.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::expr::foreign_words::{for_function, for_word};
use crate::expr::lex::{Spanned, Token, is_reserved, mistake, tokens};
use crate::expr::term::{Literal, Op, Term};
use crate::types::Transform;
use crate::types::select::MOST_NAME_PARTS;

/// A filter's text that is being read.
pub(super) struct FilterParser<'t> {
    pub(super) text: &'t str,
    tokens: Vec<Spanned>,
    closing: HashMap<usize, usize>,
    pub(super) at: usize,
    /// The operators and calls of the formula that is read.
    pub(super) operations: usize,
    /// Its parentheses.
    pub(super) parentheses: usize,
}

/// For each opening parenthesis, the place of the closing one.
fn closing(tokens: &[Spanned]) -> HashMap<usize, usize> {
    let (mut open, mut out) = (Vec::new(), HashMap::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::Symbol("(") => open.push(at),
            Token::Symbol(")") => out.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    out
}

impl<'t> FilterParser<'t> {
    /// Begins to read a text.
    pub(super) fn new(text: &'t str) -> Result<Self> {
        let tokens = tokens(text)?;
        let closing = closing(&tokens);
        Ok(FilterParser { text, tokens, closing, at: 0, operations: 0, parentheses: 0 })
    }
}

impl FilterParser<'_> {
    /// The token after the parenthesis that closes the one at this place.
    pub(super) fn after_parenthesis(&self) -> Option<&Token> {
        let end = self.closing.get(&self.at)?;
        Some(self.tokens.get(end + 1).map_or(&Token::End, |t| &t.token))
    }

    pub(super) fn term(&mut self) -> Result<Term> {
        match self.at_call() {
            true => self.call(),
            false => self.path().map(column),
        }
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
                let what = format!(
                    "no function `{name}`; there are lower, upper, cast, try_cast, starts_with, ends_with, contains, \
                     date_add, date_sub, datediff, current_date, bucket, truncate, year, month, day, hour"
                );
                return Err(for_function(mistake(self.text, start, &what), &name));
            }
        };
        let path = self.path()?;
        self.expect(")")?;
        Ok(Term { path, transform })
    }

    pub(super) fn comparison(&mut self) -> Option<Op> {
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

    pub(super) fn at_literal(&self) -> bool {
        match self.peek() {
            Token::Number(_) | Token::Text(_) | Token::Bytes(_) | Token::Symbol("-" | "+") => true,
            Token::Word(_) => self.is_word("true") || self.is_word("false") || self.at_typed(),
            _ => false,
        }
    }

    /// `date '2023-01-01'`.
    pub(super) fn at_typed(&self) -> bool {
        matches!(self.peek_at(1), Token::Text(_))
            && ["date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz"].iter().any(|w| self.is_word(w))
    }

    pub(super) fn literal(&mut self) -> Result<Literal> {
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
            Token::Word(_) | Token::Quoted(_) => error.hint("Put text into single quotes"),
            _ => error,
        }
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).map_or(&Token::End, |t| &t.token)
    }

    pub(super) fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |t| t.start)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w.eq_ignore_ascii_case(word))
    }

    /// A bare word and an opening parenthesis, and the word is not an operator.
    pub(super) fn at_call(&self) -> bool {
        matches!(self.peek(), Token::Word(w) if !is_reserved(w)) && *self.peek_at(1) == Token::Symbol("(")
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(s) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    /// The error at the token that follows a value.
    pub(super) fn unexpected_after(&self, wanted: &str) -> Error {
        let error = self.unexpected(wanted);
        match self.peek() {
            Token::Word(word) => for_word(error, word),
            Token::Text(_) => error.hint("Text has no letter before its quotes; bytes are x'00ff'"),
            _ => error,
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Error {
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

/// A plain column.
fn column(path: Vec<String>) -> Term {
    Term { path, transform: Transform::Identity }
}
