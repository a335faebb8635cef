//! The version of a table that a request names.

use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::format::evolution::RefKind;
use crate::format::request::At;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::types::Schema;

/// The snapshot and schema of a version: a branch has the table's current schema, everything else its snapshot's.
pub(crate) fn version(metadata: &TableMetadata, at: Option<&At>) -> Result<(Option<Arc<Snapshot>>, Arc<Schema>)> {
    let found = match at {
        None => return Ok((metadata.current_snapshot().cloned(), metadata.schema()?.clone())),
        Some(At::Ref(name)) => metadata.snapshot_of_ref(name).map(Option::<&_>::cloned),
        Some(At::Snapshot(id)) => (metadata.snapshot_by_id(*id).cloned().map(Some))
            .ok_or_else(|| Error::not_found(format!("there is no snapshot {id}")).hint("See table.snapshots")),
        Some(At::TimestampMs(ms)) => metadata.snapshot_as_of(*ms).cloned().map(Some),
    };
    let snapshot = found.with("table", &metadata.location)?;
    let schema = match (at, &snapshot) {
        (Some(At::Ref(name)), _) if is_branch(metadata, name) => metadata.schema()?,
        (_, Some(snapshot)) => metadata.schema_of_snapshot(snapshot)?,
        (_, None) => metadata.schema()?,
    };
    Ok((snapshot, schema.clone()))
}

/// Whether a name is that of a branch. `main` is one, even without snapshots.
pub(in crate::iceberg) fn is_branch(metadata: &TableMetadata, name: &str) -> bool {
    metadata.refs.get(name).is_none_or(|r| r.kind == RefKind::Branch)
}
