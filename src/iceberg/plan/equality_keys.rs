//! Decides whether an equality delete file can delete any row of a data file, by the metrics of one key column.

use std::cmp::Ordering;

use crate::expr::bounds::may_be_cut;
use crate::iceberg::manifest::entries::{EntryColumns, MISSING, MetricColumn};
use crate::iceberg::plan::file_bounds::{believable_bounds, believable_counts, uuid_bounds_hold};
use crate::types::{Field, FieldId, PrimitiveType, Value, ValueRef};

/// The metrics of an equality delete file for one of its key columns.
#[derive(Debug)]
pub(crate) struct EqualityKeyColumn {
    field_id: FieldId,
    ty: PrimitiveType,
    required: bool,
    all_null: bool,
    no_null: bool,
    no_nan: bool,
    bounds: Option<(Value, Value)>,
}

impl EqualityKeyColumn {
    /// `path` leads from a column of the table to the key. `None` if the key is not primitive, because it has no
    /// metrics.
    pub(crate) fn new(path: &[&Field], columns: &EntryColumns, row: usize) -> Option<EqualityKeyColumn> {
        let field = path.last()?;
        let ty = field.ty.as_primitive()?.clone();
        // A required field of a struct is null if the struct is null.
        let required = path.iter().all(|f| f.required);
        let metric = metric(columns, field.id);
        let (values, nulls) = metric.map_or((None, None), |m| counts(m, columns, row));
        let bounds = metric.and_then(|m| bounds(m, &ty, columns, row));
        Some(EqualityKeyColumn {
            field_id: field.id,
            required,
            all_null: !required && nulls.is_some() && nulls == values,
            no_null: required || nulls == Some(0),
            no_nan: !ty.is_float() || metric.is_some_and(|m| has_no_nan(m, columns, row)),
            bounds: bounds.map(|(lower, upper)| (lower.to_owned(), upper.to_owned())),
            ty,
        })
    }

    pub(crate) fn field_id(&self) -> FieldId {
        self.field_id
    }

    /// Whether this column proves that no row of the data file has a key that the delete file deletes.
    pub(crate) fn excludes(&self, data: &EntryColumns, row: usize) -> bool {
        let Some(metric) = metric(data, self.field_id) else { return false };
        let (values, nulls) = counts(metric, data, row);
        let data_has_null = !self.required && nulls != Some(0);
        let data_all_null = !self.required && nulls.is_some() && nulls == values;
        if data_has_null && !self.no_null {
            return false;
        }
        if (data_all_null && self.no_null) || (self.all_null && !data_has_null) {
            return true;
        }
        // Bounds leave out NaNs, and NaN equals NaN.
        if !self.no_nan && !has_no_nan(metric, data, row) {
            return false;
        }
        let (Some((lower, upper)), Some((data_lower, data_upper))) =
            (&self.bounds, bounds(metric, &self.ty, data, row))
        else {
            return false;
        };
        let (lower, upper) = (lower.as_ref(), upper.as_ref());
        let above = |a: ValueRef<'_>, b: ValueRef<'_>| a.sql_cmp(b) == Some(Ordering::Greater);
        // Bounds in the wrong order prove nothing. An unsigned order that is read as signed, for example, causes this.
        let sane = !above(data_lower, data_upper) && !above(lower, upper);
        let below = |upper: ValueRef<'_>, lower: ValueRef<'_>| {
            above(lower, upper) && !(may_be_cut(upper, &self.ty) && lower.starts_with(upper))
        };
        sane && (below(upper, data_lower) || below(data_upper, lower))
    }
}

fn metric(columns: &EntryColumns, field: FieldId) -> Option<&MetricColumn> {
    let at = columns.metrics.binary_search_by_key(&field, |m| m.field_id).ok()?;
    columns.metrics.get(at)
}

/// Counts of values and nulls in a file. Uncounted rows are null: those of null structs in ORC.
fn counts(metric: &MetricColumn, columns: &EntryColumns, row: usize) -> (Option<i64>, Option<i64>) {
    let Some((values, nulls, _)) = believable_counts(metric, columns, row) else { return (None, None) };
    // A bound is a value.
    let bounded = metric.lower.get(row).is_some() || metric.upper.get(row).is_some();
    if bounded && nulls.is_some() && nulls == values {
        return (None, None);
    }
    let records = count(&columns.record_count, row).or(values);
    let uncounted = records.zip(values).map_or(0, |(records, values)| records.saturating_sub(values).max(0));
    let all = |n: i64| n.saturating_add(uncounted);
    (values.map(all), nulls.map(all))
}

fn bounds<'e>(
    metric: &'e MetricColumn,
    ty: &PrimitiveType,
    columns: &EntryColumns,
    row: usize,
) -> Option<(ValueRef<'e>, ValueRef<'e>)> {
    if *ty == PrimitiveType::Uuid && !uuid_bounds_hold(columns, row) {
        return None;
    }
    let (lower, upper) = believable_bounds(metric, row, ty);
    lower.zip(upper)
}

fn has_no_nan(metric: &MetricColumn, columns: &EntryColumns, row: usize) -> bool {
    matches!(believable_counts(metric, columns, row), Some((_, _, Some(0))))
}

fn count(counts: &[i64], row: usize) -> Option<i64> {
    counts.get(row).copied().filter(|n| *n != MISSING && *n >= 0)
}
