//! Scans of the changes between two versions: the snapshots that they cover, and their columns.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::expr::BoundPredicate;
use crate::format::request::{At, ScanRequest};
use crate::format::task::ReadContext;
use crate::iceberg::manifest::walk::partition_type;
use crate::iceberg::plan::changes::snapshots_between;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::scan::version::version;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::rows::change_columns::{with_columns, with_fields};
use crate::types::Schema;
use crate::types::metadata_columns::{CHANGE_COLUMNS, LINEAGE_COLUMNS, PARTITION, metadata_column, row_columns};

/// The part of the history that a scan covers in addition to a version.
#[derive(Clone, Debug)]
pub(crate) enum History {
    /// Nothing: the version itself.
    None,
    /// The files that these snapshots appended.
    Appends(Arc<[Arc<Snapshot>]>),
    /// The changes of these snapshots.
    Changes(Arc<[Arc<Snapshot>]>),
}

impl History {
    /// The changes that a request asks for; `at` is already resolved.
    ///
    /// # Errors
    /// `NotFound` for a branch, tag or time that does not exist; `InvalidInput` if `at` does not come from `since`.
    pub(crate) fn new(metadata: &TableMetadata, request: &ScanRequest, at: Option<&Snapshot>) -> Result<History> {
        if request.since.is_none() && !request.changes {
            return Ok(History::None);
        }
        let since = request.since.as_ref().map(|since| snapshot_id(metadata, since, at)).transpose()?;
        let snapshots: Arc<[_]> = match (at, since) {
            (Some(at), since) => snapshots_between(metadata, since.flatten(), at)?.into(),
            // A branch without commits has no history either.
            (None, None | Some(None)) => [].into(),
            (None, Some(Some(since))) => {
                return Err(Error::invalid("there is no snapshot to read up to").with("since", since).hint("Give at="));
            }
        };
        Ok(if request.changes { History::Changes(snapshots) } else { History::Appends(snapshots) })
    }

    /// The appends that a scan of appended rows covers.
    pub(crate) fn appends(&self) -> impl Iterator<Item = &Arc<Snapshot>> {
        let snapshots = if let History::Appends(snapshots) = self { &snapshots[..] } else { &[] };
        snapshots.iter().filter(|s| s.operation() == Some("append"))
    }

    /// The default columns of the rows.
    ///
    /// # Errors
    /// `Unsupported` if the table itself has a column with such a name.
    pub(crate) fn default_columns(&self, schema: &Arc<Schema>) -> Result<Arc<Schema>> {
        if !matches!(self, History::Changes(_)) {
            return Ok(schema.clone());
        }
        let is_taken = |name: &str| schema.fields.iter().any(|f| f.name == name);
        let mut names = CHANGE_COLUMNS.into_iter().filter_map(metadata_column).map(|c| c.name);
        match names.find(|name| is_taken(name)) {
            Some(name) => Err(Error::unsupported("the table has a column with the name of one of a change log")
                .with("column", name)
                .hint("Rename the column")),
            None => Ok(with_columns(schema, &CHANGE_COLUMNS)),
        }
    }

    /// The columns that can be selected: `schema` has those of the version.
    pub(crate) fn all_columns(&self, schema: &Arc<Schema>, metadata: &TableMetadata) -> Arc<Schema> {
        match self {
            History::Changes(_) => with_columns(&with_columns(schema, &CHANGE_COLUMNS), &LINEAGE_COLUMNS),
            _ => {
                // Where specs contradict each other, as in old tables, `_partition` has no type.
                let partition = partition_type(metadata).ok();
                let columns =
                    row_columns(metadata.format_version, partition.as_deref().unwrap_or(&[]), metadata.last_column_id);
                with_fields(schema, columns.into_iter().filter(|c| c.id != PARTITION || partition.is_some()))
            }
        }
    }
}

/// The snapshot that `since` names; it may be the id of an expired snapshot. A time before the first ancestor of `at`
/// means the beginning, as long as that ancestor still exists.
fn snapshot_id(metadata: &TableMetadata, since: &At, at: Option<&Snapshot>) -> Result<Option<i64>> {
    let first = at.and_then(|at| metadata.ancestors(at.id).last().cloned());
    let is_before_all = |ms: i64| match &first {
        Some(first) => first.parent_id.is_none() && ms < first.timestamp_ms,
        None => metadata.snapshots.is_empty(),
    };
    match since {
        At::Snapshot(id) => Ok(Some(*id)),
        since => match version(metadata, Some(since)) {
            Ok((snapshot, _)) => Ok(snapshot.map(|s| s.id)),
            Err(e) if e.kind() == ErrorKind::NotFound => match since {
                At::TimestampMs(ms) if is_before_all(*ms) => Ok(None),
                _ => Err(e.with("since", since)),
            },
            Err(e) => Err(e),
        },
    }
}

/// Whether a batch keeps all rows of its files that deletes leave.
pub(crate) fn keeps_all(context: &ReadContext, batch: &PlannedBatch) -> bool {
    *context.change_filter == BoundPredicate::True
        && batch.change.as_ref().is_none_or(|c| c.removed_by.is_none() && c.commit.is_none())
}
