//! Types as SQL text, the form of types without children in schema files: `DECIMAL(9, 2) NOT NULL`.

use super::data_type::{DataType, MAX_LENGTH, TypeKind};
use crate::error::{Error, Result};

/// The deepest nesting of vectors.
const MAX_DEPTH: usize = 8;

/// Reads a type's text.
///
/// # Errors
/// `CorruptTable` if it is not a type, or its numbers are out of range; `Unsupported` for a type that is not known.
pub(crate) fn parse_type_text(text: &str) -> Result<DataType> {
    let mut parser = TypeParser { text, rest: text };
    let ty = parser.ty(0)?;
    if parser.rest.trim().is_empty() { Ok(ty) } else { Err(parser.bad()) }
}

struct TypeParser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> TypeParser<'a> {
    fn bad(&self) -> Error {
        Error::corrupt(format!("'{}' is not a type of the schema", self.text))
    }

    /// The next word without taking it.
    fn peek(&self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn word(&mut self) -> &'a str {
        let word = self.peek();
        self.rest = self.rest.trim_start().get(word.len()..).unwrap_or_default();
        word
    }

    /// Takes some words if they are next.
    fn eat(&mut self, words: &[&str]) -> bool {
        let before = self.rest;
        let all = words.iter().all(|word| self.word().eq_ignore_ascii_case(word));
        if !all {
            self.rest = before;
        }
        all
    }

    fn eat_char(&mut self, c: char) -> bool {
        match self.rest.trim_start().strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn need(&mut self, c: char) -> Result<()> {
        if self.eat_char(c) { Ok(()) } else { Err(self.bad()) }
    }

    fn number(&mut self, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
        let number = self.word().parse().ok().filter(|n| range.contains(n));
        number.ok_or_else(|| self.bad())
    }

    /// `(n)`, or the default.
    fn parameter(&mut self, default: u32, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
        if !self.eat_char('(') {
            return Ok(default);
        }
        let number = self.number(range)?;
        self.need(')')?;
        Ok(number)
    }

    fn precision(&mut self, default: u32) -> Result<u8> {
        Ok(self.parameter(default, 0..=9)? as u8)
    }

    fn decimal(&mut self) -> Result<TypeKind> {
        let (mut precision, mut scale) = (10, 0);
        if self.eat_char('(') {
            precision = self.number(1..=38)?;
            if self.eat_char(',') {
                scale = self.number(0..=precision)?;
            }
            self.need(')')?;
        }
        Ok(TypeKind::Decimal { precision: precision as u8, scale: scale as u8 })
    }

    fn nullable(&mut self) -> bool {
        if self.eat(&["NOT", "NULL"]) {
            return false;
        }
        self.eat(&["NULL"]);
        true
    }

    fn ty(&mut self, depth: usize) -> Result<DataType> {
        if depth > MAX_DEPTH {
            return Err(self.bad());
        }
        let kind = self.kind(depth)?;
        let ty = DataType { kind, nullable: self.nullable() };
        // Java's parser knows these two as suffixes as well.
        let kind = if self.eat(&["ARRAY"]) {
            TypeKind::Array(Box::new(ty))
        } else if self.eat(&["MULTISET"]) {
            TypeKind::Multiset(Box::new(ty))
        } else {
            return Ok(ty);
        };
        Ok(DataType { kind, nullable: self.nullable() })
    }

    fn kind(&mut self, depth: usize) -> Result<TypeKind> {
        let word = self.word().to_ascii_uppercase();
        Ok(match word.as_str() {
            "BOOLEAN" => TypeKind::Boolean,
            "TINYINT" => TypeKind::TinyInt,
            "SMALLINT" => TypeKind::SmallInt,
            "INT" | "INTEGER" => TypeKind::Int,
            "BIGINT" => TypeKind::BigInt,
            "FLOAT" => TypeKind::Float,
            "DOUBLE" => {
                self.eat(&["PRECISION"]);
                TypeKind::Double
            }
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "CHAR" => TypeKind::Char(self.parameter(1, 1..=MAX_LENGTH)?),
            "VARCHAR" => TypeKind::VarChar(self.parameter(1, 1..=MAX_LENGTH)?),
            "STRING" => TypeKind::VarChar(MAX_LENGTH),
            "BINARY" => TypeKind::Binary(self.parameter(1, 1..=MAX_LENGTH)?),
            "VARBINARY" => TypeKind::VarBinary(self.parameter(1, 1..=MAX_LENGTH)?),
            "BYTES" => TypeKind::VarBinary(MAX_LENGTH),
            "DATE" => TypeKind::Date,
            "TIME" => {
                let precision = self.precision(0)?;
                self.eat(&["WITHOUT", "TIME", "ZONE"]);
                TypeKind::Time(precision)
            }
            "TIMESTAMP" => {
                let precision = self.precision(6)?;
                if self.eat(&["WITH", "LOCAL", "TIME", "ZONE"]) {
                    TypeKind::TimestampLtz(precision)
                } else {
                    self.eat(&["WITHOUT", "TIME", "ZONE"]);
                    TypeKind::Timestamp(precision)
                }
            }
            "TIMESTAMP_LTZ" => TypeKind::TimestampLtz(self.precision(6)?),
            "VARIANT" => TypeKind::Variant,
            "BLOB" => TypeKind::Blob,
            "VECTOR" => {
                self.need('<')?;
                let element = Box::new(self.ty(depth + 1)?);
                self.need(',')?;
                let length = self.number(1..=MAX_LENGTH)?;
                self.need('>')?;
                TypeKind::Vector { element, length }
            }
            "" => return Err(self.bad()),
            _ => return Err(Error::unsupported(format!("the type '{}' is not supported", self.text))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_type_reads_and_prints_alike() {
        for text in [
            "BOOLEAN",
            "TINYINT NOT NULL",
            "SMALLINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(38, 10) NOT NULL",
            "CHAR(5)",
            "VARCHAR(20)",
            "STRING",
            "BINARY(4)",
            "VARBINARY(20)",
            "BYTES",
            "DATE",
            "TIME(3)",
            "TIMESTAMP(9)",
            "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL",
            "VARIANT",
            "BLOB",
            "VECTOR<FLOAT, 3>",
        ] {
            assert_eq!(parse_type_text(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn synonyms_and_defaults_are_javas() {
        let same = |a: &str, b: &str| assert_eq!(parse_type_text(a).unwrap(), parse_type_text(b).unwrap(), "{a}");
        same("integer null", "INT");
        same("NUMERIC", "DECIMAL(10, 0)");
        same("DOUBLE PRECISION", "DOUBLE");
        same("TIMESTAMP", "TIMESTAMP(6)");
        same("TIMESTAMP(3) WITHOUT TIME ZONE", "TIMESTAMP(3)");
        same("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE");
        same("TIME WITHOUT TIME ZONE", "TIME(0)");
        assert!(matches!(parse_type_text("INT NOT NULL ARRAY").unwrap().kind, TypeKind::Array(_)));
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for bad in ["", "INT INT", "DECIMAL(39, 2)", "DECIMAL(5, 6)", "TIMESTAMP(10)", "CHAR(0)", "CHAR(", "é"] {
            assert_eq!(parse_type_text(bad).unwrap_err().kind(), ErrorKind::CorruptTable, "{bad}");
        }
        assert_eq!(parse_type_text("GEOMETRY").unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
