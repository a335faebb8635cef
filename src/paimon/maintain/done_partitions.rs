//! Marks of complete partitions: a file `_SUCCESS` in the folder of the partition.
//!
//! Source: Java's `SuccessFileMarkDoneAction`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::error::{Error, Result, ResultExt};
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::pretty_json::pretty;
use crate::paimon::state::PaimonTable;
use crate::store::location::join;
use crate::types::temporal::now_ms;

const ACTIONS: &str = "partition.mark-done-action";
const SUCCESS_FILE: &str = "success-file";
const CREATED: &str = "creationTime";

impl PaimonTable {
    /// Marks partitions as complete. A mark keeps the time when it was made first.
    ///
    /// # Errors
    /// `InvalidInput` for values of other columns than the first partition columns; `Unsupported` if the table's
    /// option asks for another action than a file; those of the store.
    pub(crate) fn mark_done(&self, partitions: &[BTreeMap<String, String>]) -> Result<()> {
        let schema = self.table_schema();
        let options = schema.options();
        let other = options.list(ACTIONS).into_iter().find(|action| !action.eq_ignore_ascii_case(SUCCESS_FILE));
        if let Some(other) = other {
            return Err(Error::unsupported(format!("partitions can't be marked as done by '{other}'"))
                .with("option", ACTIONS)
                .hint("Set the option to 'success-file'"));
        }
        let paths = TablePaths::new(self.location(), schema)?;
        let folders = partitions.iter().map(|values| paths.named_partition(values)).collect::<Result<Vec<_>>>()?;
        let store = self.folder().store();
        for folder in folders {
            let (path, now) = (join(&folder, "_SUCCESS"), now_ms());
            let known = store.get(&path).if_found()?.and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok());
            let created = known.and_then(|known| known.get(CREATED).and_then(Json::as_i64)).unwrap_or(now);
            store.put(&path, &pretty(&json!({ CREATED: created, "modificationTime": now })))?;
        }
        Ok(())
    }
}
