//! The columns of scans of changes.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::types::metadata_columns::LAST_USER_FIELD_ID;
use crate::types::metadata_columns::{is_metadata, metadata_column};
use crate::types::{Field, Schema};

/// The version's columns, followed by the metadata columns that a scan's filter or projection names.
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

pub(crate) fn with_columns(schema: &Arc<Schema>, ids: &[i32]) -> Arc<Schema> {
    with_fields(schema, ids.iter().filter_map(|id| metadata_column(*id)))
}

/// The schema with more columns. Its own columns win over others of the same name.
pub(crate) fn with_fields(schema: &Arc<Schema>, more: impl Iterator<Item = Field>) -> Arc<Schema> {
    let mut more = more.filter(|c| schema.fields.iter().all(|f| f.name != c.name)).peekable();
    if more.peek().is_none() {
        return schema.clone();
    }
    let fields: Vec<Field> = schema.fields.iter().cloned().chain(more).collect();
    Arc::new(Schema::new(schema.id, fields, schema.identifier_field_ids.clone()))
}

/// Splits a filter into a part on the table's columns and a part on the columns that describe a change.
///
/// # Errors
/// `Unsupported` if `or` combines the two parts.
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
