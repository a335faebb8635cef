//! Partition values in folders `name=value`, as Hive and Spark lay out tables. Their files lack the partition columns.

use crate::error::{Error, Result};
use crate::expr::{Literal, value_of};
use crate::types::{PrimitiveType, Value};

/// Hive's text for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The value that the folders of a path name for a column: the last `name=value` before the file's name. `None` if no
/// folder names it; `Some(None)` for null.
///
/// # Errors
/// `InvalidInput` if the text is not a value of the column's type.
pub(crate) fn folder_value(path: &str, column: &str, ty: &PrimitiveType) -> Result<Option<Option<Value>>> {
    let (folders, _) = path.rsplit_once('/').unwrap_or(("", path));
    let named = folders.split('/').rev().filter_map(|folder| folder.split_once('='));
    let mut of_column = named.filter(|(name, _)| decoded(name).eq_ignore_ascii_case(column));
    let Some((_, text)) = of_column.next() else { return Ok(None) };
    let text = decoded(text);
    if text == NULL {
        return Ok(Some(None));
    }
    let bad =
        |e: Error| Error::invalid(format!("the folder '{column}={text}' names no value of the type {ty}")).because(e);
    value_of(&Literal::String(text.clone()), ty).map(|value| Some(Some(value))).map_err(bad)
}

/// Decodes `%` and two hexadecimal digits as a byte. Other text stays.
fn decoded(text: &str) -> String {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(|d| std::str::from_utf8(d).ok());
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrimitiveType as P;

    fn value(path: &str, column: &str, ty: P) -> Option<Option<Value>> {
        folder_value(path, column, &ty).unwrap()
    }

    #[test]
    fn folders_name_values() {
        let path = "s3://b/t/Day=2024-01-31/n=-7/s=a%20b%2Fc%25/x.parquet";
        assert_eq!(value(path, "day", P::Date), Some(Some(Value::Int(19_753))));
        assert_eq!(value(path, "n", P::Long), Some(Some(Value::Long(-7))));
        assert_eq!(value(path, "s", P::String), Some(Some(Value::String("a b/c%".into()))));
        assert_eq!(value(path, "x", P::Int), None);
        assert_eq!(value("/t/s=%zz/x", "s", P::String), Some(Some(Value::String("%zz".into()))));
        assert_eq!(value("/t/s=/x", "s", P::String), Some(Some(Value::String(String::new()))));
        assert_eq!(value("/t/n=__HIVE_DEFAULT_PARTITION__/x", "n", P::Int), Some(None));
        let ts = value("/t/ts=2024-01-31 10%3A00%3A00/x", "ts", P::Timestamp);
        assert_eq!(ts, Some(Some(Value::Long(1_706_695_200_000_000))));
    }

    #[test]
    fn the_innermost_folder_counts_and_the_file_does_not() {
        assert_eq!(value("/n=1/n=2/x", "n", P::Int), Some(Some(Value::Int(2))));
        assert_eq!(value("/t/n=2", "n", P::Int), None);
        assert_eq!(value("n=2", "n", P::Int), None);
    }

    #[test]
    fn a_text_that_is_no_value_is_an_error() {
        for (text, ty) in [("x", P::Int), ("1.5", P::Long), ("2024-13-01", P::Date), ("3000000000", P::Int)] {
            let e = folder_value(&format!("/t/c={text}/x"), "c", &ty).unwrap_err().to_string();
            assert!(e.contains(&format!("'c={text}'")), "{e}");
        }
    }
}
