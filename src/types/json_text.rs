//! Reads the text of JSON: with a byte-order mark or without, and nested as deep as Java's library takes it.
//!
//! `serde_json` refuses more than 127 levels, and a column of 44 nested structs has more. Jackson, which Java
//! Iceberg and Paimon read with, takes 1,000. Texts that are nested deeper than `serde_json` takes are read without
//! recursion, so they can't exhaust the stack.
//!
//! Without its limit, `serde_json` can read them. But then it takes about 1 KiB of stack for each level, and 2.6 KiB
//! in debug builds. A column of 128 levels has 384 levels of JSON. They fit into the 2 MiB of our threads. A thread of
//! Python may have only 512 KiB with musl, which may not be enough.

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

/// The levels that Jackson takes.
const MOST_LEVELS: usize = 1_000;

/// The levels that `serde_json` takes, minus a few.
const FEW_LEVELS: usize = 100;

/// The UTF-8 form of the byte-order mark. Some editors and engines write it before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads JSON.
///
/// # Errors
/// `CorruptTable` if the text is not JSON, or nests deeper than 1,000 levels.
pub fn parse(text: &[u8]) -> Result<Json> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let levels = levels(text);
    if levels <= FEW_LEVELS {
        return serde_json::from_slice(text).map_err(|e| Error::corrupt(e.to_string()));
    }
    if levels > MOST_LEVELS {
        return Err(Error::corrupt(format!("the JSON nests deeper than {MOST_LEVELS} levels")));
    }
    Parser { text, at: 0 }.parse()
}

/// The most nested arrays and objects.
fn levels(text: &[u8]) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// An array or object that is not closed yet.
enum Open {
    Array(Vec<Json>),
    /// With the name of the member whose value is read.
    Object(Map<String, Json>, String),
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn parse(&mut self) -> Result<Json> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let mut value = match self.next()? {
                b'[' => {
                    self.at += 1;
                    if !self.takes(b']')? {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    Json::Array(Vec::new())
                }
                b'{' => {
                    self.at += 1;
                    if !self.takes(b'}')? {
                        open.push(Open::Object(Map::new(), self.name()?));
                        continue;
                    }
                    Json::Object(Map::new())
                }
                _ => self.leaf()?,
            };
            // Each value may close the value around it.
            loop {
                let Some(mut parent) = open.pop() else { return self.end().map(|()| value) };
                let (closing, is_object) = match &mut parent {
                    Open::Array(items) => {
                        items.push(std::mem::take(&mut value));
                        (b']', false)
                    }
                    Open::Object(members, name) => {
                        members.insert(std::mem::take(name), std::mem::take(&mut value));
                        (b'}', true)
                    }
                };
                if self.takes(closing)? {
                    value = match parent {
                        Open::Array(items) => Json::Array(items),
                        Open::Object(members, _) => Json::Object(members),
                    };
                    continue;
                }
                if !self.takes(b',')? {
                    return Err(self.flaw());
                }
                if is_object && let Open::Object(_, name) = &mut parent {
                    *name = self.name()?;
                }
                open.push(parent);
                break;
            }
        }
    }

    fn flaw(&self) -> Error {
        Error::corrupt("the text is not JSON").with("byte", self.at)
    }

    /// The next byte that is not a space.
    fn next(&mut self) -> Result<u8> {
        let is_space = |b: &&u8| matches!(b, b' ' | b'\n' | b'\r' | b'\t');
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(is_space).count();
        self.text.get(self.at).copied().ok_or_else(|| self.flaw())
    }

    /// Whether the next byte is this one. If so, it is skipped.
    fn takes(&mut self, byte: u8) -> Result<bool> {
        let is_it = self.next()? == byte;
        self.at += usize::from(is_it);
        Ok(is_it)
    }

    /// The name of a member, and the colon after it.
    fn name(&mut self) -> Result<String> {
        self.next()?;
        match (self.leaf()?, self.takes(b':')?) {
            (Json::String(name), true) => Ok(name),
            _ => Err(self.flaw()),
        }
    }

    /// A string, number, boolean or null.
    fn leaf(&mut self) -> Result<Json> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = match rest.first() {
            Some(b'"') => {
                let mut escaped = false;
                let ends = |b: &u8| {
                    let ends = *b == b'"' && !escaped;
                    escaped = *b == b'\\' && !escaped;
                    ends
                };
                rest.iter().skip(1).position(ends).map_or(rest.len(), |at| at + 2)
            }
            _ => rest.iter().position(|b| b",]}: \n\r\t".contains(b)).unwrap_or(rest.len()),
        };
        let leaf = rest.get(..length).unwrap_or_default();
        let value: Json = serde_json::from_slice(leaf).map_err(|e| self.flaw().because(e))?;
        self.at += length;
        Ok(value)
    }

    /// Only spaces may follow.
    fn end(&mut self) -> Result<()> {
        match self.next() {
            Ok(_) => Err(self.flaw()),
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> String {
        let pair = r#"{"a \" }": [1.5, null, true, "\\", {}, [], "#;
        pair.repeat(levels / 2) + "\"x\"" + &"], \"b\": -2e3}".repeat(levels / 2)
    }

    #[test]
    fn texts_of_any_depth_are_read_alike() {
        for levels in [2, 100, 126] {
            let text = nested(levels);
            let expected: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), expected);
            assert_eq!(Parser { text: text.as_bytes(), at: 0 }.parse().unwrap(), expected);
        }
        let mut value = parse(nested(998).as_bytes()).unwrap();
        for _ in 0..499 {
            value = value["a \" }"][6].take();
        }
        assert_eq!(value, json!("x"));
        assert!(parse(nested(1_002).as_bytes()).unwrap_err().to_string().contains("1000 levels"));
        assert!(parse(&b"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert_eq!(parse("\u{feff}{\"a\": 1}".as_bytes()).unwrap(), json!({"a": 1}));
        assert!(parse("\u{feff}\u{feff}1".as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_no_json_is_refused(text in r#"[\[\]{},:"a1 \\]{0,12}"#) {
            let expected = serde_json::from_str::<Json>(&text).ok();
            let found = Parser { text: text.as_bytes(), at: 0 }.parse().ok();
            prop_assert_eq!(found, expected);
        }
    }
}
