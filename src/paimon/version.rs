//! The version of a table that a request names: its snapshot, and what the table was like.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::request::At;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// The snapshot that `at` names, the latest without it; and the table with its schemas. Branches have their own.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; those of the store.
    pub(crate) fn version_at(&self, at: Option<&At>) -> Result<(PaimonTable, Option<Arc<PaimonSnapshot>>)> {
        let folder = self.folder();
        let snapshot = match at {
            None => self.metadata().snapshot.clone(),
            Some(At::Snapshot(id)) => Some(Arc::new(folder.snapshot(*id)?)),
            Some(At::Ref(name)) => match folder.tag(name) {
                Ok(tag) => Some(Arc::new(tag.snapshot)),
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    let branch = self.branch(name)?;
                    let snapshot = branch.metadata().snapshot.clone();
                    return Ok((branch, snapshot));
                }
                Err(e) => return Err(e),
            },
            Some(at @ At::TimestampMs(ms)) => {
                let none = || {
                    Error::not_found("the table has no snapshot from that time or before")
                        .with("at", at)
                        .with("path", folder.root())
                };
                Some(Arc::new(folder.snapshot_at_time(*ms)?.ok_or_else(none)?))
            }
        };
        Ok((self.clone(), snapshot))
    }

    /// The table with the schema, and so with the options, that a version has. A branch has its newest ones, a point in
    /// time those of that time. `None` if the file of the schema is no longer there, or if schemas have no times.
    ///
    /// # Errors
    /// As [`PaimonTable::version_at`]; `CorruptTable` for a schema that can't be read.
    pub(crate) fn defined_at(&self, at: Option<&At>) -> Result<Option<PaimonTable>> {
        let folder = self.folder();
        if let Some(At::Ref(name)) = at
            && !folder.tag_names()?.contains(name)
        {
            return self.branch(name).map(Some);
        }
        if let Some(At::TimestampMs(ms)) = at {
            self.version_at(at)?;
            return Ok(schema_at(folder.schemas()?, *ms).map(|schema| self.with_schema(schema)));
        }
        let (Some(_), (_, Some(snapshot))) = (at, self.version_at(at)?) else { return Ok(Some(self.clone())) };
        let known = self.metadata().schemas.get(&snapshot.schema_id).cloned();
        // Another client may have changed the schema since the table was opened.
        let schema = match known {
            Some(schema) => Some(schema),
            None => folder.schema(snapshot.schema_id).if_found()?.map(Arc::new),
        };
        Ok(schema.map(|schema| self.with_schema(schema)))
    }
}

/// The schema that was the newest at a time. `None` if a schema does not record when it was made.
fn schema_at(schemas: BTreeMap<i64, Arc<TableSchema>>, ms: i64) -> Option<Arc<TableSchema>> {
    schemas.into_values().rev().find(|schema| schema.time_ms <= ms).filter(|schema| schema.time_ms > 0)
}
