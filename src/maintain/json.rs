//! Maintenance by name, with arguments and result as JSON: the form that Python sends and gets.

use serde_json::{Map, Value as Json, json};

use super::deletion::Deletion;
use super::expire::{ExpireOptions, Expired};
use crate::error::{Error, Result};
use crate::iceberg::expire::Expiry;
use crate::table::Table;
use crate::workers::GoOn;

/// Runs one action on a table: `expire_snapshots`. `arguments` is a JSON object. Gives the table at its newest version, and
/// the result as a JSON object.
///
/// # Errors
/// `InvalidInput` for an unknown action or arguments that it does not take; those of the action.
pub fn maintain(table: &Table, action: &str, arguments: &str, go_on: GoOn) -> Result<(Table, String)> {
    let mut arguments = Arguments::parse(arguments)?;
    let (table, result) = match action {
        "expire_snapshots" => {
            let options = arguments.expire()?;
            arguments.check_used()?;
            let (table, expired) = table.expire_snapshots(&options, go_on)?;
            (table, expired_json(&expired))
        }
        other => return Err(Error::invalid(format!("there is no maintenance action '{other}'"))),
    };
    Ok((table, result.to_string()))
}

/// The members of the arguments' object that were not taken yet. A null counts as absent.
struct Arguments(Map<String, Json>);

impl Arguments {
    fn parse(text: &str) -> Result<Arguments> {
        match serde_json::from_str(text) {
            Ok(Json::Object(members)) => Ok(Arguments(members)),
            Ok(_) => Err(Error::invalid("the arguments are no JSON object")),
            Err(e) => Err(Error::invalid("the arguments are no JSON object").because(e)),
        }
    }

    fn take<T>(&mut self, name: &str, read: impl FnOnce(&Json) -> Option<T>) -> Result<Option<T>> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => {
                read(&value).map(Some).ok_or_else(|| Error::invalid(format!("the argument {name} can't be {value}")))
            }
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool> {
        Ok(self.take(name, Json::as_bool)?.unwrap_or(false))
    }

    fn check_used(&self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => Err(Error::invalid(format!("there is no argument '{name}'"))),
            None => Ok(()),
        }
    }

    fn expire(&mut self) -> Result<ExpireOptions> {
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
}

fn expired_json(expired: &Expired) -> Json {
    json!({
        "snapshots": expired.snapshots,
        "refs": expired.refs,
        "data_files": expired.data_files,
        "position_delete_files": expired.position_delete_files,
        "equality_delete_files": expired.equality_delete_files,
        "manifests": expired.manifests,
        "manifest_lists": expired.manifest_lists,
        "statistics_files": expired.statistics_files,
        "deleted": expired.deletion.done,
        "failed": failed_json(&expired.deletion),
    })
}

fn failed_json(deletion: &Deletion) -> Json {
    Json::Object(deletion.failed.iter().map(|f| (f.path.clone(), json!(f.reason))).collect())
}
