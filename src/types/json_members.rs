//! Members of JSON objects, read one by one. Errors name the member and the object.
//!
//! [`JsonMembers`] reads an object in place. [`OwnedMembers`] takes an object apart: strings and lists are moved out of
//! it, and the remaining members are those unknown to this version.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};

/// A 32-bit integer; `None` for anything else.
pub(crate) fn as_int(json: &Json) -> Option<i32> {
    json.as_i64().and_then(|v| i32::try_from(v).ok())
}

/// An object that is read in place. One function makes the error for all problems of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonMembers<'j> {
    map: Option<&'j Map<String, Json>>,
    wrong: fn(&str) -> Error,
}

impl<'j> JsonMembers<'j> {
    /// The members of `json`. If it is not an object, it has no members. `wrong` makes the error about the member of a
    /// name: it is missing or of another type.
    pub(crate) fn of(json: &'j Json, wrong: fn(&str) -> Error) -> JsonMembers<'j> {
        JsonMembers { map: json.as_object(), wrong }
    }

    /// As [`JsonMembers::of`], for the members of an object.
    pub(crate) fn of_map(map: &'j Map<String, Json>, wrong: fn(&str) -> Error) -> JsonMembers<'j> {
        JsonMembers { map: Some(map), wrong }
    }

    /// The error about a member.
    pub(crate) fn wrong(self, key: &str) -> Error {
        (self.wrong)(key)
    }

    /// A member of any type, null included.
    pub(crate) fn get(self, key: &str) -> Option<&'j Json> {
        self.map?.get(key)
    }

    /// A member that is not null.
    pub(crate) fn given(self, key: &str) -> Option<&'j Json> {
        self.get(key).filter(|v| !v.is_null())
    }

    /// A required member of any type, null included.
    ///
    /// # Errors
    /// The object's error if it is absent.
    pub(crate) fn required(self, key: &str) -> Result<&'j Json> {
        self.get(key).ok_or_else(|| self.wrong(key))
    }

    /// A 64-bit integer; `None` for anything else.
    pub(crate) fn any_long(self, key: &str) -> Option<i64> {
        self.get(key)?.as_i64()
    }

    /// A required 64-bit integer.
    ///
    /// # Errors
    /// The object's error if it is absent, something else or out of range.
    pub(crate) fn long(self, key: &str) -> Result<i64> {
        self.any_long(key).ok_or_else(|| self.wrong(key))
    }

    /// A 32-bit integer; `None` for anything else.
    pub(crate) fn any_int(self, key: &str) -> Option<i32> {
        as_int(self.get(key)?)
    }

    /// A required 32-bit integer.
    ///
    /// # Errors
    /// As [`JsonMembers::long`].
    pub(crate) fn int(self, key: &str) -> Result<i32> {
        self.any_int(key).ok_or_else(|| self.wrong(key))
    }

    /// A 32-bit integer that may be absent or null.
    ///
    /// # Errors
    /// The object's error if it is something else or out of range.
    pub(crate) fn given_int(self, key: &str) -> Result<Option<i32>> {
        self.given(key).map(|json| as_int(json).ok_or_else(|| self.wrong(key))).transpose()
    }

    /// A required list of 32-bit integers.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn ints(self, key: &str) -> Result<Vec<i32>> {
        self.list(key)?.iter().map(|json| as_int(json).ok_or_else(|| self.wrong(key))).collect()
    }

    /// A boolean; `None` for anything else.
    pub(crate) fn any_flag(self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// A required boolean.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn flag(self, key: &str) -> Result<bool> {
        self.any_flag(key).ok_or_else(|| self.wrong(key))
    }

    /// A string; `None` for anything else.
    pub(crate) fn any_string(self, key: &str) -> Option<&'j str> {
        self.get(key)?.as_str()
    }

    /// A required string.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn string(self, key: &str) -> Result<&'j str> {
        self.any_string(key).ok_or_else(|| self.wrong(key))
    }

    /// A required list.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn list(self, key: &str) -> Result<&'j [Json]> {
        self.get(key).and_then(Json::as_array).map(Vec::as_slice).ok_or_else(|| self.wrong(key))
    }

    /// A required list of strings.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn strings(self, key: &str) -> Result<Vec<String>> {
        let texts = self.list(key)?.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().ok_or_else(|| self.wrong(key))
    }

    /// A required object of strings. Values of other types are left out.
    ///
    /// # Errors
    /// The object's error if it is absent or something else.
    pub(crate) fn texts(self, key: &str) -> Result<BTreeMap<String, String>> {
        let members = self.get(key).and_then(Json::as_object).ok_or_else(|| self.wrong(key))?;
        Ok(members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect())
    }
}

/// An object that is taken apart. An explicit `null` counts as absent.
#[derive(Debug)]
pub(crate) struct OwnedMembers {
    what: &'static str,
    map: Map<String, Json>,
}

impl OwnedMembers {
    /// The members of `json`. Messages call the object `what`, such as "the table metadata".
    ///
    /// # Errors
    /// `CorruptTable` if `json` is not an object.
    pub(crate) fn of(json: Json, what: &'static str) -> Result<OwnedMembers> {
        match json {
            Json::Object(map) => Ok(OwnedMembers { what, map }),
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
    /// `CorruptTable` if it is absent or as [`OwnedMembers::long`].
    pub(crate) fn required_long(&mut self, key: &str) -> Result<i64> {
        self.long(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// Takes a 64-bit integer that is not negative, such as a count.
    ///
    /// # Errors
    /// `CorruptTable` if it is negative or as [`OwnedMembers::long`].
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
        as_int(&v).map(Some).ok_or_else(|| self.error(key, "is not a 32-bit integer"))
    }

    /// Takes a required 32-bit integer.
    ///
    /// # Errors
    /// `CorruptTable` if it is absent or as [`OwnedMembers::int`].
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
