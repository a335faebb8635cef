//! Table options as text, read as Java's `Options` class reads them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The options of a table, optionally overridden by the options of a scan.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(pub &'a BTreeMap<String, String>);

/// The error for an option with an invalid value.
pub fn bad_option(key: &str, value: &str, what: &str) -> Error {
    Error::invalid(format!("the option '{key}' is '{value}', which is not a {what}"))
}

impl<'a> Options<'a> {
    /// The value of an option.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(String::as_str)
    }

    /// `true` or `false` in any case.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else.
    pub fn boolean(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key).map(str::trim) {
            None => Ok(default),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(bad_option(key, text, "truth value")),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else.
    pub fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.get(key).map(|text| text.trim().parse().map_err(|_| bad_option(key, text, "whole number"))).transpose()
    }

    /// Whether compaction looks up rows in higher levels (Paimon; Java's `LookupStrategy`).
    ///
    /// # Errors
    /// `InvalidInput` for an option that is neither true nor false.
    pub fn looks_up(&self) -> Result<bool> {
        let is = |key: &str, value: &str| self.get(key).is_some_and(|text| text.trim().eq_ignore_ascii_case(value));
        Ok(is("merge-engine", "first-row")
            || is("changelog-producer", "lookup")
            || self.boolean("deletion-vectors.enabled", false)?
            || self.boolean("force-lookup", false)?)
    }

    /// A number of bytes: `128 mb`, `1g`, `65536`.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else.
    pub fn bytes(&self, key: &str, default: i64) -> Result<i64> {
        let Some(text) = self.get(key) else { return Ok(default) };
        let lower = text.trim().to_ascii_lowercase();
        let (digits, unit) = lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()));
        let shift = match unit.trim() {
            "" | "b" | "bytes" => 0,
            "k" | "kb" | "kibibytes" => 10,
            "m" | "mb" | "mebibytes" => 20,
            "g" | "gb" | "gibibytes" => 30,
            "t" | "tb" | "tebibytes" => 40,
            _ => return Err(bad_option(key, text, "number of bytes")),
        };
        let number = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(1 << shift));
        number.ok_or_else(|| bad_option(key, text, "number of bytes"))
    }

    /// A length of time in milliseconds: `10 ms`, `1 h`, `2d`, `500`.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else.
    pub fn duration_ms(&self, key: &str) -> Result<Option<i64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let lower = text.trim().to_ascii_lowercase();
        let (digits, unit) = lower.split_at(lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len()));
        let (times, parts) = match unit.trim() {
            "d" | "day" | "days" => (86_400_000, 1),
            "h" | "hour" | "hours" => (3_600_000, 1),
            "m" | "min" | "minute" | "minutes" => (60_000, 1),
            "s" | "sec" | "secs" | "second" | "seconds" => (1_000, 1),
            "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => (1, 1),
            "µs" | "micro" | "micros" | "microsecond" | "microseconds" => (1, 1_000),
            "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => (1, 1_000_000),
            _ => return Err(bad_option(key, text, "length of time")),
        };
        let millis = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(times)).map(|n| n / parts);
        millis.map(Some).ok_or_else(|| bad_option(key, text, "length of time"))
    }

    /// A list separated by commas. Empty if the option is blank.
    pub fn list(&self, key: &str) -> Vec<&'a str> {
        let text = self.get(key).unwrap_or_default();
        if text.trim().is_empty() { Vec::new() } else { split_names(text) }
    }

    /// The value of a column's option, `fields.COLUMN.NAME`.
    pub fn of_column(&self, column: &str, name: &str) -> Option<&'a str> {
        self.get(&column_key(column, name))
    }

    /// Like [`Options::boolean`], for a column's option; `false` if it is not set.
    ///
    /// # Errors
    /// Errors of [`Options::boolean`].
    pub fn boolean_of_column(&self, column: &str, name: &str) -> Result<bool> {
        self.boolean(&column_key(column, name), false)
    }
}

fn column_key(column: &str, name: &str) -> String {
    format!("fields.{column}.{name}")
}

/// A flag as users of Python and of Spark write it: `true`, `1`, `yes`, `on`, `t`, `y`, or their opposites, in any
/// case. `None` for other texts.
pub(crate) fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// Splits at commas and removes surrounding blanks.
pub fn split_names(names: &str) -> Vec<&str> {
    names.split(',').map(str::trim).collect()
}
