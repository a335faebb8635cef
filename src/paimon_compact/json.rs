//! Compaction by arguments in JSON, as Python gives them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::{PaimonCompacted, PaimonCompaction};
use crate::error::{Error, Result};
use crate::expr;
use crate::paimon_table::PaimonTable;
use crate::transaction::CommitOptions;
use crate::workers::GoOn;

/// Compacts a table. Gives it at its newest version, and what was done as a JSON object.
///
/// # Errors
/// `InvalidInput` for arguments that are not known; as [`PaimonTable::compact`].
pub(crate) fn compact(table: &PaimonTable, arguments: &str, go_on: GoOn) -> Result<(PaimonTable, String)> {
    let arguments: Map<String, Json> = match serde_json::from_str(arguments) {
        Ok(Json::Object(arguments)) => arguments,
        _ => return Err(Error::invalid("the arguments are no JSON object")),
    };
    let (table, done) = table.compact(&compaction(arguments)?, go_on)?;
    Ok((table, result(&done)))
}

fn compaction(mut arguments: Map<String, Json>) -> Result<PaimonCompaction> {
    let mut take = |name: &str| arguments.remove(name).filter(|value| !value.is_null());
    let wrong = |name: &str, value: &Json| Error::invalid(format!("the argument {name} can't be {value}"));
    let text = |name: &str, value: Option<Json>| match value {
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(name, &other)),
        None => Ok(None),
    };
    let texts = |name: &str, value: Option<Json>| -> Result<BTreeMap<String, String>> {
        let Some(value) = value else { return Ok(BTreeMap::new()) };
        let pairs = value.as_object().ok_or_else(|| wrong(name, &value))?;
        let pair = |(k, v): (&String, &Json)| Some((k.clone(), v.as_str()?.to_owned()));
        pairs.iter().map(pair).collect::<Option<_>>().ok_or_else(|| wrong(name, &value))
    };
    let filter = text("filter", take("filter"))?.map(|text| expr::parse(&text)).transpose()?;
    let minor = match text("strategy", take("strategy"))?.as_deref() {
        None | Some("full") => false,
        Some("minor") => true,
        Some(other) => {
            return Err(Error::invalid(format!("there is no strategy '{other}' of compacting tables of Apache Paimon"))
                .hint("Use full or minor"));
        }
    };
    let dry_run = take("dry_run");
    let compaction = PaimonCompaction {
        filter,
        minor,
        options: texts("options", take("options"))?,
        dry_run: match &dry_run {
            None => false,
            Some(value) => value.as_bool().ok_or_else(|| wrong("dry_run", value))?,
        },
        commit: CommitOptions {
            branch: text("branch", take("branch"))?,
            snapshot_properties: texts("snapshot_properties", take("snapshot_properties"))?,
        },
    };
    match arguments.keys().next() {
        Some(name) => Err(Error::invalid(format!("there is no argument '{name}'"))),
        None => Ok(compaction),
    }
}

fn result(done: &PaimonCompacted) -> String {
    let out = json!({
        "groups": done.groups,
        "rewritten_files": done.rewritten_files,
        "rewritten_bytes": done.rewritten_bytes,
        "added_files": done.added_files,
        "added_bytes": done.added_bytes,
        "upgraded_files": done.upgraded_files,
        "changelog_files": done.changelog_files,
        "commits": done.commits,
        "failed": [],
    });
    out.to_string()
}
