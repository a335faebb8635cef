//! Scans of what happened between two versions: which snapshots they cover and which columns they have.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::expr::BoundPredicate;
use crate::format::task::ReadContext;
use crate::iceberg::manifest::walk::partition_type;
use crate::iceberg::plan::changes::snapshots_between;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::scan::handle::version;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::{At, ScanRequest};
use crate::types::metadata_columns::{
    CHANGE_COLUMNS, LINEAGE_COLUMNS, PARTITION, is_metadata, metadata_column, row_columns,
};
use crate::types::schema::LAST_USER_FIELD_ID;
use crate::types::{Field, Schema};

/// What a scan looks at besides a version.
#[derive(Clone, Debug)]
pub(crate) enum History {
    /// Nothing: the version itself.
    None,
    /// What these snapshots appended.
    Appends(Arc<[Arc<Snapshot>]>),
    /// What these snapshots changed.
    Changes(Arc<[Arc<Snapshot>]>),
}

impl History {
    /// What a request asks for, with `at` being found already.
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

    /// The columns that rows have unless others are selected.
    ///
    /// # Errors
    /// `Unsupported` if the table has a column of such a name itself.
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

    /// The columns that can be asked for: `schema` are those of the version.
    pub(crate) fn all_columns(&self, schema: &Arc<Schema>, metadata: &TableMetadata) -> Arc<Schema> {
        match self {
            History::Changes(_) => with_columns(&with_columns(schema, &CHANGE_COLUMNS), &LINEAGE_COLUMNS),
            _ => {
                // Where specs contradict each other, as in old tables, there is no type to give `_partition`.
                let partition = partition_type(metadata).ok();
                let columns =
                    row_columns(metadata.format_version, partition.as_deref().unwrap_or(&[]), metadata.last_column_id);
                with_fields(schema, columns.into_iter().filter(|c| c.id != PARTITION || partition.is_some()))
            }
        }
    }
}

/// Of the metadata columns of a version those that a scan's filter or projection names, behind the version's own.
pub(crate) fn named_columns(
    own: &Arc<Schema>,
    all: &Schema,
    filter: &BoundPredicate,
    projection: &Schema,
) -> Arc<Schema> {
    let asked = filter.field_ids();
    let mut named: Vec<_> = asked.iter().filter_map(|id| all.path(*id)?.first().map(|f| f.id)).collect();
    named.extend(projection.fields.iter().map(|f| f.id));
    with_fields(own, all.fields.iter().filter(|f| is_metadata(f.id) && named.contains(&f.id)).cloned())
}

/// The snapshot that `since` names; a snapshot id may be that of an expired one. A time before the first snapshot that `at`
/// comes from is the beginning, as long as that first one is still there.
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

pub(crate) fn with_columns(schema: &Arc<Schema>, ids: &[i32]) -> Arc<Schema> {
    with_fields(schema, ids.iter().filter_map(|id| metadata_column(*id)))
}

/// The schema with more columns; its own go before others of the same name.
pub(crate) fn with_fields(schema: &Arc<Schema>, more: impl Iterator<Item = Field>) -> Arc<Schema> {
    let mut more = more.filter(|c| schema.fields.iter().all(|f| f.name != c.name)).peekable();
    if more.peek().is_none() {
        return schema.clone();
    }
    let fields: Vec<Field> = schema.fields.iter().cloned().chain(more).collect();
    Arc::new(Schema::new(schema.id, fields, schema.identifier_field_ids.clone()))
}

/// Parts a filter into what it asks of the table's columns and what it asks of those that say what happened to a row.
///
/// # Errors
/// `Unsupported` for alternatives between the two.
pub(crate) fn split_filter(filter: BoundPredicate) -> Result<(BoundPredicate, BoundPredicate)> {
    let clauses = match filter {
        BoundPredicate::And(clauses) => clauses,
        other => vec![other],
    };
    let (mut own, mut of_change) = (Vec::new(), Vec::new());
    for clause in clauses {
        let ids = clause.field_ids();
        match ids.iter().filter(|id| **id > LAST_USER_FIELD_ID).count() {
            0 => own.push(clause),
            all if all == ids.len() => of_change.push(clause),
            _ => {
                return Err(Error::unsupported(format!(
                    "a condition on a change can't be an alternative to one on the table's columns: {clause}"
                ))
                .hint("Join them with 'and', or read two scans"));
            }
        }
    }
    Ok((BoundPredicate::all(own), BoundPredicate::all(of_change)))
}

/// Whether the rows of a batch's files are all rows that their deletes leave.
pub(crate) fn keeps_all(context: &ReadContext, batch: &PlannedBatch) -> bool {
    *context.change_filter == BoundPredicate::True
        && batch.change.as_ref().is_none_or(|c| c.removed_by.is_none() && c.commit.is_none())
}
