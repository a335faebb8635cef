//! Arguments of maintenance as JSON, read member by member.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::expr::{self, Predicate};
use crate::format::commit::CommitOptions;
use crate::format::deletion::Deletion;
use crate::format::maintenance::{ExpireOptions, Expiry, OrphanOptions, PrefixMismatch};

/// Arguments of an action: the remaining members of a JSON object. Null counts as absent.
pub(crate) struct Arguments(Map<String, Json>);

impl Arguments {
    /// Reads an object.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a JSON object.
    pub fn parse(text: &str) -> Result<Arguments> {
        match serde_json::from_str(text) {
            Ok(Json::Object(members)) => Ok(Arguments(members)),
            Ok(_) => Err(Error::invalid("the arguments are not a JSON object")),
            Err(e) => Err(Error::invalid("the arguments are not a JSON object").because(e)),
        }
    }

    /// Removes a member and returns it; `None` if it is missing or null.
    ///
    /// # Errors
    /// `InvalidInput` if its type is wrong.
    pub fn take<T>(&mut self, name: &str, read: impl FnOnce(&Json) -> Option<T>) -> Result<Option<T>> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => {
                read(&value).map(Some).ok_or_else(|| Error::invalid(format!("the argument {name} can't be {value}")))
            }
        }
    }

    /// Removes a truth value; false if it is missing.
    ///
    /// # Errors
    /// As [`Arguments::take`].
    pub fn flag(&mut self, name: &str) -> Result<bool> {
        Ok(self.take(name, Json::as_bool)?.unwrap_or(false))
    }

    /// Checks that all members were taken.
    ///
    /// # Errors
    /// `InvalidInput` that names a remaining member.
    pub fn check_used(&self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => Err(Error::invalid(format!("there is no argument '{name}'"))),
            None => Ok(()),
        }
    }

    /// Options of an expiry of snapshots.
    ///
    /// # Errors
    /// As [`Arguments::take`].
    pub fn expire(&mut self) -> Result<ExpireOptions> {
        let ids = |v: &Json| v.as_array()?.iter().map(Json::as_i64).collect::<Option<Vec<_>>>();
        Ok(ExpireOptions {
            expiry: Expiry {
                older_than_ms: self.take("older_than_ms", Json::as_i64)?,
                retain_last: self.take("retain_last", Json::as_i64)?,
                snapshot_ids: self.take("snapshot_ids", ids)?.unwrap_or_default(),
            },
            dry_run: self.flag("dry_run")?,
            keep_files: self.flag("keep_files")?,
        })
    }

    /// Options of all commits.
    ///
    /// # Errors
    /// As [`Arguments::take`].
    pub fn commit(&mut self) -> Result<CommitOptions> {
        Ok(CommitOptions {
            branch: self.take("branch", |v| v.as_str().map(str::to_owned))?,
            snapshot_properties: self.take("snapshot_properties", texts)?.unwrap_or_default(),
        })
    }

    /// The filter, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` if it can't be read.
    pub fn filter(&mut self) -> Result<Option<Predicate>> {
        let text = self.take("filter", |v| v.as_str().map(str::to_owned))?;
        text.map(|text| expr::parse(&text)).transpose()
    }

    /// Options of a removal of orphan files.
    ///
    /// # Errors
    /// As [`Arguments::take`].
    pub fn orphans(&mut self) -> Result<OrphanOptions> {
        let mismatch = |v: &Json| match v.as_str()? {
            "error" => Some(PrefixMismatch::Error),
            "ignore" => Some(PrefixMismatch::Ignore),
            "delete" => Some(PrefixMismatch::Delete),
            _ => None,
        };
        Ok(OrphanOptions {
            older_than_ms: self.take("older_than_ms", Json::as_i64)?,
            location: self.take("location", |v| v.as_str().map(str::to_owned))?,
            dry_run: self.flag("dry_run")?,
            prefix_mismatch: self.take("prefix_mismatch", mismatch)?.unwrap_or_default(),
            equal_schemes: self.take("equal_schemes", texts)?.unwrap_or_default(),
            equal_authorities: self.take("equal_authorities", texts)?.unwrap_or_default(),
        })
    }
}

/// Texts by name, from a JSON object.
pub(crate) fn texts(value: &Json) -> Option<BTreeMap<String, String>> {
    value.as_object()?.iter().map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
}

/// Files that could not be deleted, with the reasons.
pub(crate) fn failed_json(deletion: &Deletion) -> Json {
    Json::Object(deletion.failed.iter().map(|f| (f.path.clone(), json!(f.reason))).collect())
}
