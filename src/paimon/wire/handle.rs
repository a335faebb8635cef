//! The handle of a table as JSON.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::error::Result;
use crate::format::wire::handle::members;
use crate::paimon::catalog::filesystem::{MAIN_BRANCH, TableFolder};
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::state::PaimonTable;
use crate::store;

impl PaimonTable {
    /// The JSON from which [`PaimonTable::from_json`] opens the table at the same snapshot again.
    pub fn to_json(&self) -> String {
        let out = json!({
            "format": "paimon",
            "location": self.location(),
            "branch": self.folder().branch_name(),
            "snapshot-id": self.metadata().snapshot.as_ref().map(|s| s.id),
            "schema-id": self.table_schema().id,
            "made-at-ms": self.metadata().made_at_ms(),
            "storage-options": self.storage_options(),
        });
        out.to_string()
    }

    /// See [`PaimonTable::to_json`].
    ///
    /// # Errors
    /// `InvalidInput` if the text is not that; `NotFound` if the snapshot has expired, or the table was dropped and
    /// created again; as [`PaimonTableMetadata::load`].
    pub fn from_json(json: &Json) -> Result<PaimonTable> {
        let j = members(json);
        let options = j.texts("storage-options")?;
        let location = j.string("location")?;
        let folder = TableFolder::open(store::open_store(location, &options)?, location)?;
        let folder = match j.string("branch")? {
            MAIN_BRANCH => folder,
            branch => folder.branch(branch)?,
        };
        let mut schemas = folder.schemas()?;
        let last = j.long("schema-id")?;
        schemas.retain(|id, _| *id <= last);
        let mut metadata = PaimonTableMetadata { folder, schemas, snapshot: None };
        if j.any_long("made-at-ms").is_some_and(|made_at_ms| made_at_ms != metadata.made_at_ms()) {
            return Err(metadata.replaced());
        }
        metadata.snapshot = j.any_long("snapshot-id").map(|id| metadata.folder.snapshot(id)).transpose()?.map(Arc::new);
        PaimonTable::at(metadata, options, Arc::default())
    }
}
