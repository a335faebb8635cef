//! Checks whether a table with a primary key accepts rows that update others.
//!
//! Source: Java's `SupportsRowLevelOperation` in Paimon's Spark commands; stricter than Java: it refuses updates
//! that would change other values than the named ones.

use crate::error::{Error, Result};
use crate::format::row_change::Assigned;
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::write::keyed::key_deletes::refused;

/// Whether a partial update of this column takes null for a value.
fn takes_null(schema: &TableSchema, column: &str) -> bool {
    let groups =
        schema.options.iter().filter(|(key, _)| key.starts_with("fields.") && key.ends_with(".sequence-group"));
    groups.flat_map(|(_, columns)| columns.split(',')).any(|name| name.trim() == column)
}

/// Refuses updates that would change other values than the given ones, or nothing.
///
/// # Errors
/// `InvalidInput` for columns of the key; `Unsupported`, with a hint at possible changes.
pub(crate) fn check_updatable(schema: &TableSchema, assigned: &[(String, Assigned)]) -> Result<()> {
    let options = schema.options();
    if let Some((name, _)) = assigned.iter().find(|(name, _)| schema.primary_keys.contains(name)) {
        return Err(Error::invalid("a column of the primary key can't be updated")
            .with("column", name)
            .hint("Delete the rows, and append them with the new key"));
    }
    let groups = schema.options.keys().filter_map(|k| k.strip_prefix("fields.")?.strip_suffix(".sequence-group"));
    let order: Vec<&str> =
        groups.flat_map(|names| names.split(',')).map(str::trim).chain(options.sequence_fields()).collect();
    if let Some((name, _)) = assigned.iter().find(|(name, _)| order.contains(&name.as_str())) {
        return Err(refused(
            "a column that orders the rows of a key can't be updated: with a smaller value, the new row would count as the older one",
            "Append rows with the new values, or leave the column out",
        )
        .with("column", name));
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
        return Err(refused(
            &format!(
                "rows of tables with 'merge-engine' = '{engine}' can't be updated: each is merged from several rows"
            ),
            "Append rows that the merge engine merges with the existing ones",
        ));
    }
    let null = |(name, new): &&(String, Assigned)| *new == Assigned::Value(None) && !takes_null(schema, name);
    match assigned.iter().find(null) {
        None => Ok(()),
        Some((name, _)) => Err(refused(
            "a partial update ignores nulls, so a column can't become null",
            "A column of a sequence group ('fields.<column>.sequence-group') can",
        )
        .with("column", name)),
    }
}
