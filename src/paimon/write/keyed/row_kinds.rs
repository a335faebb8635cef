//! Kinds of written rows, and which rows are skipped because of their kind.
//!
//! Source: Java's `RowKindGenerator` and `RowKindFilter`.

use arrow::array::{Array, AsArray, BooleanArray, Int32Array, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int32Type;

use crate::error::{Error, Result};

/// The kinds of rows: added, as they were before an update, as they are after it, and deleting others.
pub(crate) const INSERT: i32 = 0;
const UPDATE_BEFORE: i32 = 1;
pub(crate) const UPDATE: i32 = 2;
pub(crate) const DELETE: i32 = 3;

/// The option that leaves out rows of kind `-U`.
pub(crate) const IGNORE_UPDATE_BEFORE: &str = "ignore-update-before";

/// How the kind of rows is determined.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kinds {
    /// All have this kind.
    All(i32),
    /// The column of the table in this place (`rowkind.field`).
    Column(usize),
    /// A column of numbers after those of the table.
    Last,
}

/// The kinds of rows, and the kinds that are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowKinds {
    pub of: Kinds,
    /// Rows that delete others, both in files and in new rows.
    pub ignores_deletes: bool,
    /// Rows as they were before an update.
    pub ignores_update_before: bool,
}

impl RowKinds {
    /// Rows with the columns of the table, and their kinds; without those that are left out.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown kind.
    pub(crate) fn of_rows(&self, rows: RecordBatch) -> Result<(RecordBatch, Int32Array)> {
        let (rows, kinds) = self.all(rows)?;
        let stays = |kind: i32| match kind {
            UPDATE_BEFORE => !self.ignores_deletes && !self.ignores_update_before,
            DELETE => !self.ignores_deletes,
            _ => true,
        };
        let kept = BooleanArray::from_unary(&kinds, stays);
        if kept.false_count() == 0 {
            return Ok((rows, kinds));
        }
        let failed = |e| Error::internal("rows can't be left out").because(e);
        let rows = filter_record_batch(&rows, &kept).map_err(failed)?;
        let kinds = kinds.values().iter().filter(|kind| stays(**kind)).copied().collect();
        Ok((rows, kinds))
    }

    fn all(&self, mut rows: RecordBatch) -> Result<(RecordBatch, Int32Array)> {
        let at = match self.of {
            Kinds::All(kind) => {
                let kinds = Int32Array::from_value(kind, rows.num_rows());
                return Ok((rows, kinds));
            }
            Kinds::Last => {
                let last = rows.num_columns().saturating_sub(1);
                let kinds = rows.remove_column(last);
                let kinds = kinds.as_primitive_opt::<Int32Type>().cloned();
                let kinds = kinds.ok_or_else(|| Error::internal("rewritten rows have no kind"))?;
                if kinds.null_count() > 0 {
                    return Err(Error::corrupt("a rewritten row has no kind"));
                }
                return Ok((rows, kinds));
            }
            Kinds::Column(at) => at,
        };
        let texts = rows.columns().get(at).and_then(|c| c.as_string_opt::<i32>());
        let texts =
            texts.ok_or_else(|| Error::invalid("the column that 'rowkind.field' names is not of type STRING"))?;
        let kinds: Int32Array = texts.iter().map(kind_of).collect::<Result<Vec<_>>>()?.into();
        Ok((rows, kinds))
    }
}

/// The kind that a text means, in upper or lower case.
fn kind_of(text: Option<&str>) -> Result<i32> {
    match text.map(str::to_ascii_uppercase).as_deref() {
        Some("+I") => Ok(INSERT),
        Some("-U") => Ok(UPDATE_BEFORE),
        Some("+U") => Ok(UPDATE),
        Some("-D") => Ok(DELETE),
        _ => Err(Error::invalid(format!("'{}' is not a row kind", text.unwrap_or("null")))
            .hint("The column that 'rowkind.field' names has +I, -U, +U or -D")),
    }
}
