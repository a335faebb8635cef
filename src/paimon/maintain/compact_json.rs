//! Compaction by arguments in JSON, as Python gives them.

use serde_json::{Value as Json, json};

use super::compaction::{PaimonCompacted, PaimonCompaction};
use crate::error::{Error, Result};
use crate::format::wire::arguments::{Arguments, texts};
use crate::paimon::state::PaimonTable;

/// Compacts a table. Gives it at its newest version, and what was done as a JSON object.
///
/// # Errors
/// `InvalidInput` for arguments that are not known; as [`PaimonTable::compact`].
pub(crate) fn compact(table: &PaimonTable, arguments: &mut Arguments) -> Result<(PaimonTable, String)> {
    let strategy = arguments.take("strategy", |v| v.as_str().map(str::to_owned))?;
    let compaction = PaimonCompaction {
        filter: arguments.filter()?,
        minor: match strategy.as_deref() {
            None | Some("full") => false,
            Some("minor") => true,
            Some(other) => {
                let what = format!("there is no strategy '{other}' of compacting tables of Apache Paimon");
                return Err(Error::invalid(what).with("table", table.location()).hint("Use full or minor"));
            }
        },
        options: arguments.take("options", texts)?.unwrap_or_default(),
        dry_run: arguments.flag("dry_run")?,
        commit: arguments.commit()?,
    };
    arguments.check_used()?;
    let (table, done) = table.compact(&compaction)?;
    Ok((table, result(&done).to_string()))
}

fn result(done: &PaimonCompacted) -> Json {
    json!({
        "groups": done.groups,
        "rewritten_files": done.rewritten_files,
        "rewritten_bytes": done.rewritten_bytes,
        "added_files": done.added_files,
        "added_bytes": done.added_bytes,
        "upgraded_files": done.upgraded_files,
        "changelog_files": done.changelog_files,
        "commits": done.commits,
        "failed": [],
    })
}
