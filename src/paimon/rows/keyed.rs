//! Which tables with a primary key take rows that delete and update others.
//!
//! Source: Java's `SupportsRowLevelOperation` in Paimon's Spark commands; stricter than Java where its update would change
//! other values than those that were named.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;

use crate::data::merge::rules::ignores_deletes;
use crate::error::{Error, Result};
use crate::iceberg::rows::update::Assigned;
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::spec::schema::TableSchema;

fn no(what: &str, hint: &str) -> Error {
    Error::unsupported(what).hint(hint)
}

/// Refuses tables in which rows that delete others do not.
///
/// # Errors
/// `Unsupported`, saying what would make it possible.
pub(crate) fn check_deletable(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    if let Some(key) = ignores_deletes(&options)? {
        return Err(no(
            &format!("the table passes over deletes, as its option '{key}' says"),
            "Whole partitions can be deleted, or overwritten",
        ));
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

/// What says of the keys of rows that are to go which rows they are newer than. Where it is null they are older than all.
pub(crate) struct DeleteOrder {
    /// Columns of which each has a value.
    each: Vec<usize>,
    /// Columns of which one has a value, if there are any.
    one: Vec<usize>,
}

impl DeleteOrder {
    /// That of a table, in rows with these columns.
    ///
    /// # Errors
    /// `InvalidInput` for a column that is missing.
    pub fn new(schema: &TableSchema, given: &Schema) -> Result<DeleteOrder> {
        let options = schema.options();
        let (each, one) = (options.sequence_fields(), options.list("partial-update.remove-record-on-sequence-group"));
        let place = |name: &&str| given.index_of(name).map_err(|_| no_order(name));
        let places: Vec<usize> = one.iter().filter_map(|name| place(name).ok()).collect();
        match one.first() {
            Some(name) if places.is_empty() => Err(no_order(name)),
            _ => Ok(DeleteOrder { each: each.iter().map(place).collect::<Result<_>>()?, one: places }),
        }
    }

    /// Checks rows.
    ///
    /// # Errors
    /// `InvalidInput` for nulls.
    pub fn check(&self, rows: &RecordBatch) -> Result<()> {
        let null_at = |at: &usize| rows.column(*at).logical_nulls();
        let each = self.each.iter().find(|at| null_at(at).is_some_and(|nulls| nulls.null_count() > 0));
        let nulls: Vec<_> = self.one.iter().map(null_at).collect();
        let is_untold = |row: usize| nulls.iter().all(|n| n.as_ref().is_some_and(|n| n.is_null(row)));
        let one = self.one.first().filter(|_| (0..rows.num_rows()).any(is_untold));
        match each.or(one) {
            None => Ok(()),
            Some(at) => Err(no_order(rows.schema().field(*at).name())),
        }
    }
}

fn no_order(column: &str) -> Error {
    Error::invalid("rows to be deleted do not say which rows they are newer than, and would delete none")
        .with("column", column)
        .hint("Give the columns of 'sequence.field' and of sequence groups with the keys; delete(where) finds them itself")
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
        return Err(no(
            "a column that orders the rows of a key can't be updated: rows with lesser values would be older than those they change",
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
