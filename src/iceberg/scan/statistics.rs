//! Row counts and column statistics of a scan, from metadata alone: manifests are read, data files are not.
//!
//! Every figure says whether it is exact or a bound. A file counts exactly only if the filter keeps all its rows, which its
//! partition or its bounds must prove, and no delete file is attached to it; a deletion vector alone leaves the number of
//! rows exact, because its record count is its cardinality. Everything else is bounded from above. Bounds of columns hold
//! in any case, but only some are values of the file: those of text and bytes may be cut, for instance.
//!
//! Source: Iceberg specification, "Manifests" (`data_file`), "Deletion Vectors"; the limits of bounds, Java's
//! `ParquetMetrics` and `OrcMetrics`.

use std::time::Instant;

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::expr::bounds::must_match;
use crate::format::task::{FileContent, FileFormat, ReadContext};
use crate::iceberg::plan::file_bounds::{MetricsBounds, strict};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::planner::Plan;
use crate::iceberg::scan::handle::Scan;
use crate::parallel::Cancellation;
use crate::types::metadata_columns::is_metadata;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type, Value, select};

use crate::iceberg::scan::column_statistics::ColumnFold;

/// A figure, exact or a bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact<T> {
    /// The figure. What a bound is: counts and maxima are at most this, minima at least. `None` where nothing is known
    /// (not exact), or where there is no such value (exact).
    pub value: Option<T>,
    /// Whether it is the truth itself.
    pub exact: bool,
}

impl<T> Fact<T> {
    pub(crate) fn new(value: T, exact: bool) -> Fact<T> {
        Fact { value: Some(value), exact }
    }
}

/// What metadata says of one column of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Its dotted path.
    pub name: String,
    /// Its id.
    pub field_id: FieldId,
    /// Its type.
    pub ty: PrimitiveType,
    /// Values, nulls and NaNs included.
    pub value_count: Fact<u64>,
    /// Nulls, those of structs around it included.
    pub null_count: Fact<u64>,
    /// NaNs; exactly 0 for types without.
    pub nan_count: Fact<u64>,
    /// The least value: NaN only if there is no other.
    pub min: Fact<Value>,
    /// The greatest value: NaN if there is one.
    pub max: Fact<Value>,
}

/// What metadata says of the rows of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Rows.
    pub row_count: Fact<u64>,
    /// Data files that may have rows.
    pub files: u64,
    /// In the order asked for.
    pub columns: Vec<ColumnStatistics>,
}

/// How many rows of a file a scan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All of them.
    Whole(u64),
    /// So many, those that a deletion vector leaves.
    Vector(u64),
    /// At most so many.
    Part(u64),
}

impl Coverage {
    /// Of the `k`-th survivor of a batch.
    ///
    /// # Errors
    /// As [`PlannedBatch::task`].
    pub(crate) fn of(batch: &PlannedBatch, k: usize) -> Result<Coverage> {
        let row = *batch.rows.get(k).ok_or_else(|| Error::internal("no such file"))? as usize;
        let records = batch.columns.record_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
        if !keeps_every_row(batch, row)? {
            return Ok(Coverage::Part(records));
        }
        if batch.deletes.count(k) == 0 {
            return Ok(Coverage::Whole(records));
        }
        let deletes = batch.deletes.refs(k)?;
        Ok(match deletes.as_slice() {
            [d] if d.file.format == FileFormat::Puffin && d.file.content == FileContent::PositionDeletes => {
                match u64::try_from(d.file.record_count).ok().and_then(|deleted| records.checked_sub(deleted)) {
                    Some(left) => Coverage::Vector(left),
                    None => Coverage::Part(records),
                }
            }
            _ => Coverage::Part(records),
        })
    }

    /// Rows at most.
    pub(crate) fn rows(self) -> u64 {
        match self {
            Coverage::Whole(n) | Coverage::Vector(n) | Coverage::Part(n) => n,
        }
    }
}

/// Whether metadata proves that the filter is true on every row of an entry that survived.
pub(crate) fn keeps_every_row(batch: &PlannedBatch, row: usize) -> Result<bool> {
    let residual = &*batch.group(row)?.residual;
    let by_bounds = || strict(residual) && must_match(residual, &MetricsBounds::new(&batch.columns, row));
    Ok(*residual == BoundPredicate::True || by_bounds())
}

/// Whether bounds of files of this format are values of the column, where the column has any. Text and bytes may be cut;
/// uuids may be in another order; ORC keeps milliseconds of times, and infinities in place of NaNs.
pub(crate) fn tight(ty: &PrimitiveType, format: FileFormat) -> bool {
    use PrimitiveType as P;
    match ty {
        P::Boolean | P::Int | P::Long | P::Decimal { .. } | P::Date | P::Time => true,
        P::Float | P::Double | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            format != FileFormat::Orc
        }
        _ => false,
    }
}

impl Scan {
    /// Counts and bounds of these columns (dotted paths; a struct stands for its members), of all columns selected if
    /// none are named. Columns inside lists and maps have none.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist or lies in a list or map; as [`Plan::start`].
    pub fn statistics(&self, columns: &[String], go_on: Cancellation) -> Result<Statistics> {
        let shape = (self.context().as_ref(), self.all_columns().as_ref(), self.is_case_sensitive());
        let mut folds = asked_columns(shape, columns)?;
        let began = Instant::now();
        let (mut input, listed) = self.listed(go_on)?;
        input.metric_fields = folds.iter().map(ColumnFold::field_id).collect();
        let mut plan = Plan::over(input, listed, began, go_on)?;
        let (mut rows, mut exact, mut files) = (0u64, true, 0);
        while let Some(batch) = plan.next_batch(go_on)? {
            let covered = (0..batch.rows.len()).map(|k| Coverage::of(&batch, k)).collect::<Result<Vec<_>>>()?;
            for coverage in covered.iter().filter(|c| c.rows() > 0) {
                rows = rows.saturating_add(coverage.rows());
                exact &= !matches!(coverage, Coverage::Part(_));
                files += 1;
            }
            for fold in &mut folds {
                fold.add(&batch, &covered)?;
            }
        }
        let row_count = Fact::new(self.row_limit().map_or(rows, |limit| limit.min(rows)), exact);
        let cut = self.row_limit().is_some_and(|limit| limit < rows);
        let columns = folds.into_iter().map(|fold| fold.finish(&row_count, cut)).collect();
        Ok(Statistics { row_count: Fact { exact: exact || self.row_limit() == Some(0), ..row_count }, files, columns })
    }
}

/// The columns that a scan is asked for statistics of. `shape` is its context, the columns that can be named, and whether they
/// are by their exact names.
pub(crate) fn asked_columns(
    (context, named, case_sensitive): (&ReadContext, &Schema, bool),
    columns: &[String],
) -> Result<Vec<ColumnFold>> {
    let schema = &context.schema;
    let mut folds = Vec::new();
    if columns.is_empty() {
        let own = context.projection.fields.iter().filter(|f| !is_metadata(f.id));
        own.for_each(|f| leaves(schema, f, &mut folds));
    }
    for column in columns {
        let asked = select::select(named, std::slice::from_ref(column), &[], case_sensitive)?;
        if asked.fields.iter().any(|f| is_metadata(f.id)) {
            return Err(no_statistics(column));
        }
        let asked = select::select(schema, std::slice::from_ref(column), &[], case_sensitive)?;
        let before = folds.len();
        asked.fields.iter().for_each(|f| leaves(schema, f, &mut folds));
        if folds.len() == before {
            return Err(no_statistics(column));
        }
    }
    let mut seen = std::collections::HashSet::new();
    folds.retain(|fold| seen.insert(fold.field_id()));
    Ok(folds)
}

fn no_statistics(column: &str) -> Error {
    Error::invalid(format!("metadata has no statistics of column '{column}'")).with("column", column).hint(
        "There are statistics of columns and members of structs, not of metadata columns and what is in lists and maps",
    )
}

/// The leaves of a column that are not in a list or map.
fn leaves(schema: &Schema, field: &Field, out: &mut Vec<ColumnFold>) {
    match &field.ty {
        Type::Primitive(ty) => {
            let path = schema.path(field.id).unwrap_or_default();
            let name = path.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(".");
            out.push(ColumnFold::new(name, field.id, ty.clone(), path.iter().all(|f| f.required)));
        }
        Type::Struct(fields) => fields.iter().for_each(|f| leaves(schema, f, out)),
        Type::List(_) | Type::Map(..) => {}
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
