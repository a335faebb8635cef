//! Checks whether a table with a primary key accepts rows that delete others.
//!
//! Source: Java's `SupportsRowLevelOperation` in Paimon's Spark commands.

use std::collections::HashSet;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;

use crate::data::merge::rules::ignores_deletes;
use crate::error::{Error, Result};
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;

/// An `Unsupported` error with its hint.
pub(crate) fn refused(what: &str, hint: &str) -> Error {
    Error::unsupported(what).hint(hint)
}

/// Refuses tables in which deleting rows have no effect.
///
/// # Errors
/// `Unsupported`, with a hint how to make deletes possible.
pub(crate) fn check_deletable(schema: &TableSchema) -> Result<()> {
    let options = schema.options();
    if let Some(key) = ignores_deletes(&options)? {
        return Err(refused(
            &format!("the table ignores deletes because of its option '{key}'"),
            "Whole partitions can be deleted, or overwritten",
        ));
    }
    let removes = |key: &str| options.boolean(key, false);
    match options.merge_engine()? {
        MergeEngine::Deduplicate => Ok(()),
        MergeEngine::PartialUpdate if removes("partial-update.remove-record-on-delete")? => Ok(()),
        MergeEngine::PartialUpdate if options.get("partial-update.remove-record-on-sequence-group").is_some() => Ok(()),
        MergeEngine::Aggregation if removes("aggregation.remove-record-on-delete")? => Ok(()),
        MergeEngine::PartialUpdate => Err(refused(
            "rows of tables with 'merge-engine' = 'partial-update' can't be deleted",
            "A table created with 'partial-update.remove-record-on-delete' = 'true' supports deletes",
        )),
        MergeEngine::Aggregation => Err(refused(
            "rows of tables with 'merge-engine' = 'aggregation' can't be deleted",
            "A table created with 'aggregation.remove-record-on-delete' = 'true' supports deletes",
        )),
        MergeEngine::FirstRow => Err(refused(
            "rows of tables with 'merge-engine' = 'first-row' can't be deleted: the first row of a key stays",
            "Whole partitions can be deleted, or overwritten",
        )),
    }
}

/// The columns that order deletes among the rows of a key. A delete with nulls there is older than all rows.
pub(crate) struct DeleteOrder {
    /// Columns that must all have values.
    each: Vec<usize>,
    /// At least one of these columns must have a value. The list may be empty.
    one: Vec<usize>,
}

impl DeleteOrder {
    /// The order of a table, in rows with these columns.
    ///
    /// # Errors
    /// `InvalidInput` for a column that is missing.
    pub(crate) fn new(schema: &TableSchema, given: &Schema) -> Result<DeleteOrder> {
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
    pub(crate) fn check(&self, rows: &RecordBatch) -> Result<()> {
        let null_at = |at: &usize| rows.column(*at).logical_nulls();
        let each = self.each.iter().find(|at| null_at(at).is_some_and(|nulls| nulls.null_count() > 0));
        let nulls: Vec<_> = self.one.iter().map(null_at).collect();
        let lacks_columns = |row: usize| nulls.iter().all(|n| n.as_ref().is_some_and(|n| n.is_null(row)));
        let one = self.one.first().filter(|_| (0..rows.num_rows()).any(lacks_columns));
        match each.or(one) {
            None => Ok(()),
            Some(at) => Err(no_order(rows.schema().field(*at).name())),
        }
    }
}

fn no_order(column: &str) -> Error {
    Error::invalid("the rows to delete lack the columns that order the rows of a key, so they would delete nothing")
        .with("column", column)
        .hint(
            "Give the columns of 'sequence.field' and of sequence groups with the keys; delete(where) adds them itself",
        )
}

impl PaimonTable {
    /// Rows are found by the primary key alone.
    pub(crate) fn check_key(&self, on: &[String]) -> Result<()> {
        let key = &self.table_schema().primary_keys;
        if key.is_empty() {
            return Err(Error::invalid("rows are found by their primary key, but the table has no primary key")
                .with("table", self.location()));
        }
        let (own, given): (HashSet<_>, HashSet<_>) = (key.iter().collect(), on.iter().collect());
        match on.is_empty() || own == given {
            true => Ok(()),
            false => {
                Err(Error::invalid(format!("the table's primary key is {}, not {}", key.join(", "), on.join(", ")))
                    .with("table", self.location()))
            }
        }
    }
}
