//! Types as text: `long`, `decimal(9, 2)`, `list<string>`, `map<string, long>`, `struct<a: int, b: required date>`.
//!
//! Reads the text that [`Type`] displays. It also reads members without ids, and `array` for `list`. Elements and
//! values are optional.

use std::sync::Arc;

use super::schema::{Field, Type};
use super::schema_json::parse_primitive;
use crate::error::{Error, ErrorKind, Result};

/// The deepest nesting of a text.
const MAX_DEPTH: usize = 100;

/// Reads a type. Ids that the text leaves out are 0; the user of the type assigns new ones.
///
/// # Errors
/// `InvalidInput` if the text is not a type.
pub fn parse_type(text: &str) -> Result<Type> {
    let mut reader = TypeReader { text, rest: text };
    let ty = reader.ty(0)?;
    if !reader.rest.trim().is_empty() {
        return Err(reader.bad());
    }
    Ok(ty)
}

/// Names of types in SQL, Spark, Polars, pandas and Arrow, and what to write for them.
const OTHER_NAMES: &[(&[&str], &str)] = &[
    (&["integer", "int32", "tinyint", "smallint", "byte", "short", "int8", "int16", "uint8", "uint16"], "int"),
    (&["bigint", "int64", "uint32"], "long"),
    (&["bool"], "boolean"),
    (&["text", "varchar", "char", "utf8", "str", "large_string", "object"], "string"),
    (&["float32", "real"], "float"),
    (&["float64", "double precision"], "double"),
    (&["numeric", "decimal128"], "decimal(precision, scale)"),
    (&["date32", "date32[day]"], "date"),
    (&["datetime", "timestamp_ntz", "datetime64"], "timestamp, or timestamptz for instants in UTC"),
    (&["timestamp_ltz", "timestamp with time zone", "timestampz"], "timestamptz"),
    (&["bytes", "blob", "varbinary", "bytea"], "binary"),
    (&["json"], "variant (format version 3) or string"),
];

struct TypeReader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> TypeReader<'a> {
    fn bad(&self) -> Error {
        Error::invalid(format!("'{}' is not a type", self.text))
            .hint("Write a type as in: long, decimal(9, 2), list<string>, map<string, long>, struct<a: int, b: string>")
    }

    /// The error for a word that is not a type. It names the type that other systems call so.
    fn unknown(&self, word: &str) -> Error {
        let start = word.split(['(', '[']).next().unwrap_or(word).trim().to_ascii_lowercase();
        let (_, here) = OTHER_NAMES.iter().find(|(others, _)| others.contains(&start.as_str())).unwrap_or(&(&[], ""));
        match *here {
            "" => self.bad(),
            here => Error::invalid(format!("'{}' is not a type", self.text)).hint(format!("Write {here}")),
        }
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect_char(&mut self, c: char) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(self.bad()) }
    }

    fn ty(&mut self, depth: usize) -> Result<Type> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("a type nests deeper than {MAX_DEPTH}")));
        }
        let word = self.leaf();
        if !self.rest.starts_with('<') {
            let primitive = parse_primitive(word);
            let known = primitive.map_err(|e| match e.kind() {
                ErrorKind::Unsupported => self.unknown(word.trim()),
                _ => self.bad().because(e),
            });
            return Ok(Type::Primitive(known?));
        }
        self.expect_char('<')?;
        let ty = match word.trim().to_ascii_lowercase().as_str() {
            "list" | "array" => Type::List(Arc::new(Field::new(0, "element", false, self.ty(depth + 1)?))),
            "map" => {
                let key = Field::new(0, "key", true, self.ty(depth + 1)?);
                self.expect_char(',')?;
                Type::Map(Arc::new(key), Arc::new(Field::new(0, "value", false, self.ty(depth + 1)?)))
            }
            "struct" => Type::Struct(self.members(depth)?.into()),
            _ => return Err(self.bad()),
        };
        self.expect_char('>')?;
        Ok(ty)
    }

    /// Takes the text before the next `<`, `>` or comma outside brackets.
    fn leaf(&mut self) -> &'a str {
        let mut brackets = 0_usize;
        let end = self.rest.find(|c: char| {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
            brackets == 0 && matches!(c, '<' | '>' | ',')
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Field>> {
        let mut out = Vec::new();
        if self.rest.trim_start().starts_with('>') {
            return Ok(out);
        }
        loop {
            out.push(self.member(depth)?);
            if !self.eat(',') {
                return Ok(out);
            }
        }
    }

    /// `name: type`, `name: required type`, or with an id before: `4: name: optional type`.
    fn member(&mut self, depth: usize) -> Result<Field> {
        let mut name = self.name()?;
        let mut id = 0;
        let ahead = self.rest.find(['<', '>', ',', ':']).and_then(|end| self.rest[end..].chars().next());
        if let (Ok(number), Some(':')) = (name.parse(), ahead) {
            id = number;
            name = self.name()?;
        }
        let rest = self.rest.trim_start();
        let (required, rest) = match (rest.strip_prefix("required "), rest.strip_prefix("optional ")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            _ => (false, rest),
        };
        self.rest = rest;
        Ok(Field::new(id, name, required, self.ty(depth + 1)?))
    }

    /// A name with the colon after it.
    fn name(&mut self) -> Result<String> {
        let (name, rest) = self.rest.split_once(':').ok_or_else(|| self.bad())?;
        self.rest = rest;
        let name = name.trim();
        if name.is_empty() || name.contains(['<', '>']) {
            return Err(self.bad());
        }
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PrimitiveType as P;

    #[test]
    fn reads_what_is_shown() {
        let inner = Type::Struct(
            vec![
                Field::new(3, "a", true, P::Decimal { precision: 9, scale: 2 }),
                Field::new(4, "b", false, P::Fixed(16)),
            ]
            .into(),
        );
        let list = Type::List(Arc::new(Field::new(0, "element", false, inner)));
        let map =
            Type::Map(Arc::new(Field::new(0, "key", true, P::String)), Arc::new(Field::new(0, "value", false, list)));
        assert_eq!(parse_type(&map.to_string()).unwrap(), map);
    }

    #[test]
    fn names_of_other_systems_are_known() {
        let hint = |text: &str| parse_type(text).unwrap_err().hint_text().unwrap_or_default().to_owned();
        assert_eq!(hint("bigint"), "Write long");
        assert_eq!(hint("Integer"), "Write int");
        assert_eq!(hint("list<varchar(10)>"), "Write string");
        assert!(hint("nonsense").contains("list<string>"));
    }

    #[test]
    fn ids_are_optional() {
        let ty = parse_type(" struct<1: int, x : required array<decimal(9,2)>, 7: y: optional date > ").unwrap();
        let got: Vec<_> = ty.children().iter().map(|f| (f.id, f.name.clone(), f.required, f.ty.to_string())).collect();
        let want = [
            (0, "1".to_owned(), false, "int".to_owned()),
            (0, "x".to_owned(), true, "list<decimal(9, 2)>".to_owned()),
            (7, "y".to_owned(), false, "date".to_owned()),
        ];
        assert_eq!(got, want);
        assert_eq!(parse_type("struct<>").unwrap(), Type::Struct(Vec::new().into()));
        assert_eq!(parse_type("LONG").unwrap(), P::Long.into());
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let deep = "list<".repeat(500);
        for text in
            ["", "hyperint", "list<int", "list<int>>", "map<int>", "struct<int>", "struct<a: >", "int, int", &deep]
        {
            let e = parse_type(text).unwrap_err();
            assert_eq!(e.kind(), crate::error::ErrorKind::InvalidInput, "{text}");
        }
    }
}
