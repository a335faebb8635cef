//! Metadata of an opened table: its schemas and the snapshot that is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::filesystem::TableFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::{Store, in_parallel};

/// Schemas by their numbers.
type Schemas = BTreeMap<i64, Arc<TableSchema>>;

/// A table at one moment.
#[derive(Clone, Debug)]
pub struct PaimonTableMetadata {
    /// Its folder, on the branch that is read.
    pub folder: TableFolder,
    /// The branch's schemas by their numbers. A data file has the schema that it was written with.
    pub schemas: Schemas,
    /// The latest snapshot; `None` before the first commit.
    pub snapshot: Option<Arc<PaimonSnapshot>>,
}

impl PaimonTableMetadata {
    /// Reads a table's metadata.
    ///
    /// # Errors
    /// As [`TableFolder::schemas`] and [`TableFolder::latest_snapshot`].
    pub fn load(folder: TableFolder) -> Result<PaimonTableMetadata> {
        if !folder.store().is_remote() {
            // In this order, because a schema exists before the first snapshot with it.
            let snapshot = folder.latest_snapshot()?.map(Arc::new);
            let schemas = folder.schemas()?;
            return Ok(PaimonTableMetadata { folder, schemas, snapshot });
        }
        let mut both = in_parallel(folder.store().as_ref(), 2, |i| match i {
            0 => Ok((folder.latest_hint()?, Vec::new())),
            _ => Ok((None, folder.schema_ids()?)),
        })?;
        let schema_ids = both.pop().map(|(_, ids)| ids).unwrap_or_default();
        let hint = both.pop().and_then(|(hint, _)| hint);
        PaimonTableMetadata::load_hinted(folder, &schema_ids, hint)
    }

    /// Reads the metadata of the table in a folder, on its main branch. Returns `None` if there is no Paimon table.
    ///
    /// # Errors
    /// As [`TableFolder::find`] and [`PaimonTableMetadata::load`].
    pub fn find(store: Arc<dyn Store>, root: &str) -> Result<Option<PaimonTableMetadata>> {
        let Some((folder, schema_ids)) = TableFolder::find_with_schemas(store, root)? else { return Ok(None) };
        if !folder.store().is_remote() {
            return PaimonTableMetadata::load(folder).map(Some);
        }
        let hint = folder.latest_hint()?;
        PaimonTableMetadata::load_hinted(folder, &schema_ids, hint).map(Some)
    }

    /// Reads the metadata from a remote store. The schemas were listed before the hint was known.
    fn load_hinted(folder: TableFolder, schema_ids: &[i64], hint: Option<i64>) -> Result<PaimonTableMetadata> {
        let (snapshot, schemas) = match hint.map(|hint| hinted(&folder, schema_ids, hint)).transpose()?.flatten() {
            Some((snapshot, schemas)) => (Some(snapshot), schemas),
            None => match folder.listed_latest(hint) {
                // Another writer changed the folder meanwhile.
                Err(e) if is_of_change(&e) => (folder.latest_snapshot()?, None),
                listed => (listed?, None),
            },
        };
        // A schema exists before the first snapshot with it, so schemas that were listed too early are listed again.
        let schemas = schemas.map_or_else(|| folder.schemas(), Ok)?;
        Ok(PaimonTableMetadata { folder, schemas, snapshot: snapshot.map(Arc::new) })
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

/// What a store says at the same time.
enum Answer {
    Snapshot(Option<PaimonSnapshot>),
    /// Whether there is a schema after the listed ones.
    HasNewSchema(bool),
    Schema(i64, Option<TableSchema>),
}

/// The hinted snapshot and the listed schemas, read at once. `None` if the hint is outdated; no schemas if others have
/// come or one can't be read.
fn hinted(folder: &TableFolder, schema_ids: &[i64], hint: i64) -> Result<Option<(PaimonSnapshot, Option<Schemas>)>> {
    let Some(next) = schema_ids.last().map(|last| last.saturating_add(1)) else { return Ok(None) };
    let store = folder.store().as_ref();
    let answers = in_parallel(store, 2 + schema_ids.len(), |i| match i.checked_sub(2) {
        Some(i) => {
            let id = schema_ids.get(i).copied().unwrap_or_default();
            Ok(Answer::Schema(id, folder.schema(id).ok()))
        }
        // The hinted snapshot exists already, so all of its schemas do as well.
        None if i == 1 => Ok(Answer::HasNewSchema(store.exists(&folder.schema_path(next)).unwrap_or(true))),
        None => match folder.hinted_latest(hint) {
            Err(e) if is_of_change(&e) => Ok(Answer::Snapshot(None)),
            snapshot => snapshot.map(Answer::Snapshot),
        },
    })?;
    let (mut snapshot, mut schemas) = (None, Some(Schemas::new()));
    for answer in answers {
        match answer {
            Answer::Snapshot(found) => snapshot = found,
            Answer::Schema(id, Some(schema)) => {
                if let Some(schemas) = &mut schemas {
                    schemas.insert(id, Arc::new(schema));
                }
            }
            Answer::HasNewSchema(true) | Answer::Schema(_, None) => schemas = None,
            Answer::HasNewSchema(false) => {}
        }
    }
    // Another writer may have published the snapshot's schema after the schemas were listed.
    Ok(snapshot.map(|snapshot| {
        let schemas = schemas.filter(|schemas| schemas.contains_key(&snapshot.schema_id));
        (snapshot, schemas)
    }))
}

/// Whether an error may come from a change that another writer makes at the moment.
fn is_of_change(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable)
}
