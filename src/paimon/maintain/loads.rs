//! The files of other formats whose rows a table got by `COPY INTO`, so that none is loaded twice.
//!
//! Each has a record `copy-into/history/load-<hash>-<time>` in the table's folder.
//!
//! Source: Java's `CopyLoadHistoryManager`.

use serde_json::{Value as Json, json};

use crate::error::{Result, ResultExt};
use crate::format::maintenance::LoadedFile;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::pretty_json::pretty;
use crate::store::in_parallel;
use crate::store::location::join;

const PREFIX: &str = "load-";

impl TableFolder {
    fn loads_folder(&self) -> String {
        join(&join(self.root(), "copy-into"), "history")
    }

    /// Records that files were loaded.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn record_loads(&self, loads: &[LoadedFile]) -> Result<()> {
        for load in loads {
            let name = format!("{PREFIX}{}-{}", load.path_hash, load.loaded_at_ms);
            let record = json!({
                "filePath": load.path,
                "fileSize": load.size_bytes,
                "lastModified": load.modified_ms,
                "loadedAt": load.loaded_at_ms,
                "snapshotId": load.snapshot_id,
                "rowsLoaded": load.rows,
            });
            self.store().put(&join(&self.loads_folder(), checked_name(&name)?), &pretty(&record))?;
        }
        Ok(())
    }

    /// The files that were loaded, oldest first. Records that can't be read are left out, as in Java.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn loads(&self) -> Result<Vec<LoadedFile>> {
        let folder = self.loads_folder();
        let names: Vec<String> =
            self.store().list_names(&folder)?.into_iter().filter(|name| name.starts_with(PREFIX)).collect();
        let found = in_parallel(self.store().as_ref(), names.len(), |i| {
            let Some(name) = names.get(i) else { return Ok(None) };
            let bytes = self.store().get(&join(&folder, name)).if_found()?;
            Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).and_then(|json: Json| load_of(&json)))
        })?;
        let mut found: Vec<LoadedFile> = found.into_iter().flatten().collect();
        found.sort_by(|a, b| (a.loaded_at_ms, &a.path).cmp(&(b.loaded_at_ms, &b.path)));
        Ok(found)
    }
}

fn load_of(json: &Json) -> Option<LoadedFile> {
    let number = |key: &str| json.get(key).and_then(Json::as_i64);
    Some(LoadedFile {
        path_hash: String::new(),
        path: json.get("filePath")?.as_str()?.to_owned(),
        size_bytes: number("fileSize")?,
        modified_ms: number("lastModified")?,
        loaded_at_ms: number("loadedAt")?,
        snapshot_id: number("snapshotId")?,
        rows: number("rowsLoaded")?,
    })
}
