//! Table properties for writing files of one format.
//!
//! Delete files look at `write.delete.<format>.*` first, then at `write.<format>.*`.
//!
//! Source: Java Iceberg's `TableProperties`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::format::task::FileFormat;

/// A whole number above 0 from a table property.
///
/// # Errors
/// `InvalidInput`, naming the property, if it is something else.
pub(crate) fn size_property(properties: &BTreeMap<String, String>, key: &str, default: u64) -> Result<u64> {
    match properties.get(key) {
        None => Ok(default),
        Some(text) => parse(key, text, "number above 0", |n| *n > 0),
    }
}

/// The value of a property. `fits` must accept it. The text `what` describes valid values for the error.
///
/// # Errors
/// `InvalidInput`, naming the property, if it is something else.
pub(crate) fn parse<T: std::str::FromStr>(key: &str, text: &str, what: &str, fits: impl Fn(&T) -> bool) -> Result<T> {
    let parsed = text.trim().parse().ok().filter(fits);
    parsed.ok_or_else(|| Error::invalid(format!("'{text}' is not a {what}")).with("property", key))
}

/// The properties of one kind of file.
pub(crate) struct Properties<'a> {
    pub(crate) all: &'a BTreeMap<String, String>,
    /// Prefixes of property names; the first one wins.
    prefixes: Vec<String>,
}

impl<'a> Properties<'a> {
    /// The properties for data files of a format, or for its delete files.
    pub(crate) fn new(all: &'a BTreeMap<String, String>, format: FileFormat, deletes: bool) -> Self {
        let name = format.as_str();
        let mut prefixes = vec![format!("write.{name}.")];
        if deletes {
            prefixes.insert(0, format!("write.delete.{name}."));
        }
        Properties { all, prefixes }
    }

    /// The full name and value of `write.<format>.<name>`.
    pub(crate) fn get(&self, name: &str) -> Option<(String, &'a str)> {
        self.prefixes.iter().find_map(|prefix| {
            let key = format!("{prefix}{name}");
            self.all.get(&key).map(|value| (key, value.trim()))
        })
    }

    /// A number above 0, cut to the range of Java's `int`.
    pub(crate) fn size(&self, name: &str, default: u64) -> Result<usize> {
        let size = match self.get(name) {
            None => default,
            Some((key, _)) => size_property(self.all, &key, default)?,
        };
        Ok(size.min(i32::MAX as u64) as usize)
    }

    /// The codec in lower case, or `default` if the property is not set, with the name of the property.
    pub(crate) fn codec(&self, default: &str) -> (String, String) {
        let (key, codec) = self.get("compression-codec").unwrap_or_default();
        (key, if codec.is_empty() { default } else { codec }.to_ascii_lowercase())
    }

    /// The compression level with the name of the property.
    ///
    /// # Errors
    /// `InvalidInput` for one that is not a whole number.
    pub(crate) fn level(&self) -> Result<Option<(String, i32)>> {
        let level = |(key, text): (String, &str)| {
            let level = parse::<i32>(&key, text, "whole number", |_| true)?;
            Ok((key, level))
        };
        self.get("compression-level").map(level).transpose()
    }
}

/// The error for a codec that files of a format do not have.
pub(crate) fn no_codec(key: String, codec: &str, usable: &str) -> Error {
    Error::invalid(format!("'{codec}' is not a compression codec")).with("property", key).hint(format!("Use {usable}"))
}
