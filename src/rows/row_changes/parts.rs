//! Parts of a change of rows that several processes did.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::format::task::{CommitMessage, FileContent};

/// Checks that messages are parts of a change of one version. Each data file may be changed by only one part, as parts
/// do not know each other.
///
/// # Errors
/// `InvalidInput` otherwise.
pub(crate) fn check_parts(messages: &[CommitMessage], since: Option<i64>) -> Result<()> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (number, message) in messages.iter().enumerate() {
        let Some(delta) = message.delta.as_ref().filter(|d| d.part.is_some()) else {
            return Err(Error::invalid("a message is not a part of a change of rows").hint("Give it to commit()"));
        };
        if delta.since != since {
            let name = |id: Option<i64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            return Err(Error::invalid("a part of the change was done at another version")
                .with("snapshot", name(delta.since))
                .with("expected", name(since)));
        }
        let removed = delta.removed.iter().filter(|f| f.content == FileContent::Data).map(|f| f.path.as_str());
        for path in removed.chain(delta.referenced.iter().map(String::as_str)) {
            if *known.entry(path).or_insert(number) != number {
                return Err(Error::invalid("two parts changed the same data file").with("path", path));
            }
        }
    }
    Ok(())
}
