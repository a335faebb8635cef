//! Splits filter text into tokens.

use crate::error::{Error, Result};
use crate::expr::foreign_words::for_symbol;
use crate::parallel::check_cancelled;
use crate::types::value::unhex;

/// The longest text of a filter.
const MAX_TEXT: usize = 64 << 20;

/// Tokens that are read between two checks for cancellation.
const TOKENS_BETWEEN_CHECKS: usize = 65_536;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A bare word: a column, keyword or function.
    Word(String),
    /// `"odd name"`, or in backticks.
    Quoted(String),
    /// A number without sign.
    Number(String),
    /// `'text'`.
    Text(String),
    /// `x'00ff'`.
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// A token and the byte at which it starts.
#[derive(Clone, Debug)]
pub(super) struct Spanned {
    pub token: Token,
    pub start: usize,
}

const SYMBOLS: [&str; 19] =
    ["<=>", "==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ",", ".", "-", "+", "!", "*", "/", "%"];

/// What would be read as two symbols here, and means something else in SQL.
const REFUSED: [&str; 4] = ["--", "/*", "=>", "=<"];

/// All tokens, `End` last.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>> {
    if text.len() > MAX_TEXT {
        return Err(Error::invalid(format!("the filter's text has {} bytes, more than {MAX_TEXT}", text.len())));
    }
    let mut lexer = Lexer { text, at: 0, out: Vec::new() };
    while lexer.next()? {
        if lexer.out.len().is_multiple_of(TOKENS_BETWEEN_CHECKS) {
            check_cancelled()?;
        }
    }
    lexer.out.push(Spanned { token: Token::End, start: text.len() });
    Ok(lexer.out)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    out: Vec<Spanned>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Result<bool> {
        let skipped = self.rest().find(|c: char| !c.is_whitespace());
        let Some(skip) = skipped else { return Ok(false) };
        self.at += skip;
        let start = self.at;
        let rest = self.rest();
        let mut chars = rest.chars();
        let (first, second) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
        let token = match first {
            '\'' => Token::Text(self.quoted('\'', "string")?),
            '"' => Token::Quoted(self.quoted('"', "name")?),
            '`' => Token::Quoted(self.quoted('`', "name")?),
            'x' | 'X' if second == '\'' => {
                self.at += 1;
                let digits = self.quoted('\'', "string")?;
                let bytes = unhex(&digits)
                    .ok_or_else(|| mistake(self.text, start, "expected pairs of hexadecimal digits, as in x'00ff'"))?;
                Token::Bytes(bytes)
            }
            c if is_word_start(c) => {
                let end = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default().to_owned();
                self.at += end;
                Token::Word(word)
            }
            c if c.is_ascii_digit() || (c == '.' && second.is_ascii_digit() && !self.after_name()) => self.number()?,
            _ => {
                let refused = REFUSED.iter().find(|s| rest.starts_with(**s));
                let known = SYMBOLS.iter().find(|s| refused.is_none() && rest.starts_with(**s)).copied();
                let symbol = known.ok_or_else(|| {
                    let shown = refused.map_or_else(|| first.to_string(), |s| (*s).to_owned());
                    let error = mistake(self.text, start, &format!("`{shown}` has no meaning in a filter"));
                    for_symbol(error, rest)
                })?;
                self.at += symbol.len();
                Token::Symbol(symbol)
            }
        };
        self.out.push(Spanned { token, start });
        Ok(true)
    }

    /// Whether this dot separates two names.
    fn after_name(&self) -> bool {
        matches!(self.out.last().map(|t| &t.token), Some(Token::Word(_) | Token::Quoted(_)))
    }

    /// The text between quotes. A doubled quote is one quote.
    fn quoted(&mut self, quote: char, what: &str) -> Result<String> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find(quote) else {
                let error = mistake(self.text, open, &format!("this {what} has no closing `{quote}`"));
                return Err(match quote {
                    '\'' => error.hint("Two quotes are one in a text: 'it''s'"),
                    _ => error,
                });
            };
            out.push_str(rest.get(..end).unwrap_or_default());
            self.at += end + 1;
            if !self.rest().starts_with(quote) {
                return Ok(out);
            }
            out.push(quote);
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<Token> {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| rest.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
        let at = |i: usize| rest.get(i).copied().unwrap_or(0);
        let mut end = digits(0);
        if at(end) == b'.' {
            end += 1 + digits(end + 1);
        }
        if matches!(at(end), b'e' | b'E') {
            let sign = usize::from(matches!(at(end + 1), b'-' | b'+'));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let number = self.rest().get(..end).unwrap_or_default().to_owned();
        self.at += end;
        match self.rest().chars().next() {
            Some(c) if is_word_part(c) => {
                Err(mistake(self.text, self.at, &format!("`{c}` can't follow the number {number}")))
            }
            _ => Ok(Token::Number(number)),
        }
    }
}

/// Whether a bare word can't be a column's name.
pub(super) fn is_reserved(word: &str) -> bool {
    ["and", "or", "not", "in", "between", "is", "null", "like", "true", "false"]
        .iter()
        .any(|k| word.eq_ignore_ascii_case(k))
        || is_value(word)
}

/// Whether a bare word is a value and not a column.
pub(super) fn is_value(word: &str) -> bool {
    ["current_date", "current_timestamp"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// An error that shows the line of `text` with a caret under byte `at`.
pub(super) fn mistake(text: &str, at: usize, what: &str) -> Error {
    const BEFORE: usize = 60;
    const AFTER: usize = 30;
    let (head, tail) = text.split_at_checked(at).unwrap_or((text, ""));
    let head = head.rsplit('\n').next().unwrap_or_default();
    let tail = tail.split('\n').next().unwrap_or_default();
    let plain = |s: &str| s.replace(|c: char| c.is_control(), " ");
    let cut = head.chars().count().saturating_sub(BEFORE);
    let before: String = head.chars().skip(cut).collect();
    let before = format!("{}{before}", if cut > 0 { "…" } else { "" });
    let mut after: String = tail.chars().take(AFTER).collect();
    if tail.chars().nth(AFTER).is_some() {
        after.push('…');
    }
    let indent = " ".repeat(before.chars().count());
    Error::invalid(format!("can't read the filter\n  {}{}\n  {indent}^ {what}", plain(&before), plain(&after)))
}
