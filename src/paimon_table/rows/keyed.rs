//! Which tables with a primary key take rows that delete and update others.
//!
//! Source: Java's `SupportsRowLevelOperation` in Paimon's Spark commands; stricter than Java where its update would change
//! other values than those that were named.

use crate::error::{Error, Result};
use crate::paimon::options::MergeEngine;
use crate::paimon::schema::TableSchema;
use crate::row_level::Assigned;

/// Options that let rows of kind `-D` be passed over.
const IGNORE_DELETE: [&str; 4] =
    ["ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"];

fn no(what: &str, hint: &str) -> Error {
    Error::unsupported(what).hint(hint)
}

/// Refuses tables in which rows that delete others do not.
///
/// # Errors
/// `Unsupported`, saying what would make it possible.
pub(super) fn check_deletable(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    for key in IGNORE_DELETE {
        if options.boolean(key, false)? {
            return Err(no(
                &format!("the table passes over deletes, as its option '{key}' says"),
                "Whole partitions can be deleted, or overwritten",
            ));
        }
    }
    let removes = |key: &str| options.boolean(key, false);
    match options.merge_engine()? {
        MergeEngine::Deduplicate => Ok(()),
        MergeEngine::PartialUpdate if removes("partial-update.remove-record-on-delete")? => Ok(()),
        MergeEngine::PartialUpdate if options.get("partial-update.remove-record-on-sequence-group").is_some() => Ok(()),
        MergeEngine::Aggregation if removes("aggregation.remove-record-on-delete")? => Ok(()),
        MergeEngine::PartialUpdate => Err(no(
            "rows of tables with 'merge-engine' = 'partial-update' are not deleted",
            "A table made with 'partial-update.remove-record-on-delete' = 'true' takes deletes",
        )),
        MergeEngine::Aggregation => Err(no(
            "rows of tables with 'merge-engine' = 'aggregation' are not deleted",
            "A table made with 'aggregation.remove-record-on-delete' = 'true' takes deletes",
        )),
        MergeEngine::FirstRow => Err(no(
            "rows of tables with 'merge-engine' = 'first-row' are not deleted: the first row of a key stays",
            "Whole partitions can be deleted, or overwritten",
        )),
    }
}

/// Whether a partial update of this column takes null for a value.
fn takes_null(schema: &TableSchema, column: &str) -> bool {
    let groups =
        schema.options.iter().filter(|(key, _)| key.starts_with("fields.") && key.ends_with(".sequence-group"));
    groups.flat_map(|(_, columns)| columns.split(',')).any(|name| name.trim() == column)
}

/// Refuses updates that would change other values than those named, or none.
///
/// # Errors
/// `InvalidInput` for columns of the key; `Unsupported`, saying what would be possible.
pub(super) fn check_updatable(schema: &TableSchema, assigned: &[(String, Assigned)]) -> Result<()> {
    let options = schema.options();
    if let Some((name, _)) = assigned.iter().find(|(name, _)| schema.primary_keys.contains(name)) {
        return Err(Error::invalid("a column of the primary key can't be updated")
            .with("column", name)
            .hint("Delete the rows, and append them with the new key"));
    }
    let engine = options.merge_engine()?;
    let engine = match engine {
        MergeEngine::Deduplicate => return Ok(()),
        MergeEngine::PartialUpdate => "partial-update",
        MergeEngine::Aggregation => "aggregation",
        MergeEngine::FirstRow => "first-row",
    };
    let aggregates = |key: &String| key.ends_with(".aggregate-function") || key == "fields.default-aggregate-function";
    if engine != "partial-update" || schema.options.keys().any(aggregates) {
        return Err(no(
            &format!("rows of tables with 'merge-engine' = '{engine}' are put together of several, and not updated"),
            "Append rows that the merge engine puts together with those that are there",
        ));
    }
    let null = |(name, new): &&(String, Assigned)| *new == Assigned::Value(None) && !takes_null(schema, name);
    match assigned.iter().find(null) {
        None => Ok(()),
        Some((name, _)) => Err(no(
            "a partial update passes over nulls, so a column can't become null",
            "A column of a sequence group ('fields.<column>.sequence-group') can",
        )
        .with("column", name)),
    }
}
