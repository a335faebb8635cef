//! Takes the members of a JSON object one by one. The remaining members are those unknown to this version.
//!
//! An explicit `null` counts as absent. Nothing is copied: strings and lists are moved out of the object.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

/// An object that is being read. Errors name the member and the object.
#[derive(Debug)]
pub(crate) struct Members {
    what: &'static str,
    map: Map<String, Json>,
}

impl Members {
    /// The members of `json`. Messages call the object `what`, such as "the table metadata".
    ///
    /// # Errors
    /// `CorruptTable` if `json` is not an object.
    pub(crate) fn of(json: Json, what: &'static str) -> Result<Members> {
        match json {
            Json::Object(map) => Ok(Members { what, map }),
            _ => Err(Error::corrupt(format!("{what} is not a JSON object"))),
        }
    }

    /// An error about one member.
    pub(crate) fn error(&self, key: &str, problem: &str) -> Error {
        Error::corrupt(format!("'{key}' of {} {problem}", self.what))
    }

    /// Takes a member of any type.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json> {
        self.map.remove(key).filter(|v| !v.is_null())
    }

    /// Takes a required member.
    ///
    /// # Errors
    /// `CorruptTable` if it is absent.
    pub(crate) fn required(&mut self, key: &str) -> Result<Json> {
        self.take(key).ok_or_else(|| self.error(key, "is missing"))
    }

    /// Takes a 64-bit integer.
    ///
    /// # Errors
    /// `CorruptTable` if it is something else or out of range.
    pub(crate) fn long(&mut self, key: &str) -> Result<Option<i64>> {
        let Some(v) = self.take(key) else { return Ok(None) };
        v.as_i64().map(Some).ok_or_else(|| self.error(key, "is not a 64-bit integer"))
    }

    /// Takes a required 64-bit integer.
    ///
    /// # Errors
    /// `CorruptTable` if it is absent or as [`Members::long`].
    pub(crate) fn required_long(&mut self, key: &str) -> Result<i64> {
        self.long(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// Takes a 64-bit integer that is not negative, such as a count.
    ///
    /// # Errors
    /// `CorruptTable` if it is negative or as [`Members::long`].
    pub(crate) fn count(&mut self, key: &str) -> Result<Option<i64>> {
        match self.long(key)? {
            Some(v) if v < 0 => Err(self.error(key, "is negative")),
            v => Ok(v),
        }
    }

    /// Takes a 32-bit integer.
    ///
    /// # Errors
    /// `CorruptTable` if it is something else or out of range.
    pub(crate) fn int(&mut self, key: &str) -> Result<Option<i32>> {
        let Some(v) = self.take(key) else { return Ok(None) };
        let v = v.as_i64().and_then(|v| i32::try_from(v).ok());
        v.map(Some).ok_or_else(|| self.error(key, "is not a 32-bit integer"))
    }

    /// Takes a required 32-bit integer.
    ///
    /// # Errors
    /// `CorruptTable` if it is absent or as [`Members::int`].
    pub(crate) fn required_int(&mut self, key: &str) -> Result<i32> {
        self.int(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// Takes a string.
    ///
    /// # Errors
    /// `CorruptTable` if it is something else.
    pub(crate) fn string(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::String(s)) => Ok(Some(s)),
            Some(_) => Err(self.error(key, "is not a string")),
        }
    }

    /// Takes a required string.
    ///
    /// # Errors
    /// `CorruptTable` if it is absent or not a string.
    pub(crate) fn required_string(&mut self, key: &str) -> Result<String> {
        self.string(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// Takes a list.
    ///
    /// # Errors
    /// `CorruptTable` if it is something else.
    pub(crate) fn list(&mut self, key: &str) -> Result<Option<Vec<Json>>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.error(key, "is not a list")),
        }
    }

    /// Takes an object.
    ///
    /// # Errors
    /// `CorruptTable` if it is something else.
    pub(crate) fn object(&mut self, key: &str) -> Result<Option<Map<String, Json>>> {
        match self.take(key) {
            None => Ok(None),
            Some(Json::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.error(key, "is not an object")),
        }
    }

    /// Takes an object of strings. Some writers store numbers and booleans; these become strings. Nulls are left out.
    ///
    /// # Errors
    /// `CorruptTable` if it is not an object, or if a value is a list or an object.
    pub(crate) fn texts(&mut self, key: &str) -> Result<BTreeMap<String, String>> {
        let mut out = BTreeMap::new();
        for (name, value) in self.object(key)?.unwrap_or_default() {
            let text = match value {
                Json::Null => continue,
                Json::String(s) => s,
                Json::Number(n) => n.to_string(),
                Json::Bool(b) => b.to_string(),
                _ => return Err(self.error(key, &format!("holds '{name}', which is not a string"))),
            };
            out.insert(name, text);
        }
        Ok(out)
    }

    /// The members that were not taken.
    pub(crate) fn rest(self) -> Map<String, Json> {
        self.map
    }
}
