//! Metadata of an opened table: its schemas and the snapshot that is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::filesystem::TableFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;

/// A table at one moment.
#[derive(Clone, Debug)]
pub struct PaimonTableMetadata {
    /// Its folder, on the branch that is read.
    pub folder: TableFolder,
    /// The branch's schemas by their numbers. A data file has the schema that it was written with.
    pub schemas: BTreeMap<i64, Arc<TableSchema>>,
    /// The latest snapshot; `None` before the first commit.
    pub snapshot: Option<Arc<PaimonSnapshot>>,
}

impl PaimonTableMetadata {
    /// Reads a table's metadata.
    ///
    /// # Errors
    /// As [`TableFolder::schemas`] and [`TableFolder::latest_snapshot`].
    pub fn load(folder: TableFolder) -> Result<PaimonTableMetadata> {
        // In this order, because a schema exists before the first snapshot with it.
        let snapshot = folder.latest_snapshot()?.map(Arc::new);
        let schemas = folder.schemas()?;
        Ok(PaimonTableMetadata { folder, schemas, snapshot })
    }

    /// The current schema: the latest.
    ///
    /// # Errors
    /// `CorruptTable` if it does not exist.
    pub fn schema(&self) -> Result<&Arc<TableSchema>> {
        let latest = self.schemas.values().next_back();
        latest.ok_or_else(|| Error::corrupt("the table has no schema").with("path", self.folder.root()))
    }

    /// Refuses to look at versions other than the one that was read, if the folder has another table by now. That
    /// happens if the table was dropped and created again.
    ///
    /// # Errors
    /// `NotFound` if its first schema is missing or another one; those of the store.
    pub fn check_same_table(&self) -> Result<()> {
        let Some((id, known)) = self.schemas.first_key_value() else { return Ok(()) };
        match self.folder.schema(*id) {
            Ok(schema) if schema == **known => Ok(()),
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Err(self.replaced()),
        }
    }

    /// The same check for newer metadata of the folder. Schema files never change, so a schema that both have
    /// decides.
    ///
    /// # Errors
    /// `NotFound` if it belongs to another table.
    pub fn check_same(&self, newer: &PaimonTableMetadata) -> Result<()> {
        let shared = self.schemas.iter().find_map(|(id, own)| Some((own, newer.schemas.get(id)?)));
        match shared {
            Some((own, other)) if own == other => Ok(()),
            _ => Err(self.replaced()),
        }
    }

    #[cold]
    pub(crate) fn replaced(&self) -> Error {
        Error::not_found("the table was dropped since it was opened, and possibly created again")
            .with("path", self.folder.root())
            .hint("Open it again")
    }

    /// Identifies the table by its location and the time of its first schema. Another table in the same folder has
    /// another time.
    pub fn identity(&self) -> String {
        format!("{}@{}", self.folder.root(), self.made_at_ms())
    }

    /// When the first schema was made: milliseconds since the epoch, 0 if it was not recorded.
    pub fn made_at_ms(&self) -> i64 {
        self.schemas.values().next().map_or(0, |schema| schema.time_ms)
    }

    /// The schema with a number.
    ///
    /// # Errors
    /// `CorruptTable` if it does not exist.
    pub fn schema_by_id(&self, id: i64) -> Result<&Arc<TableSchema>> {
        let missing = || {
            Error::corrupt(format!("the table has no schema {id}"))
                .with("path", self.folder.schema_path(id))
                .hint("If another client changed the table, read its newest version: table.refresh()")
        };
        self.schemas.get(&id).ok_or_else(missing)
    }
}
