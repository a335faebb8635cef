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
    pub(crate) fn excludes(&self, data: &mut DataKeys<'_>) -> bool {
        let Some(data) = data.column(self) else { return false };
        let data_has_null = !self.required && data.nulls != Some(0);
        let data_all_null = !self.required && data.nulls.is_some() && data.nulls == data.values;
        if data_has_null && !self.no_null {
            return false;
        }
        if (data_all_null && self.no_null) || (self.all_null && !data_has_null) {
            return true;
        }
        // Bounds leave out NaNs, and NaN equals NaN.
        if !self.no_nan && !data.no_nan {
            return false;
        }
        let (Some((lower, upper)), Some((data_lower, data_upper))) = (&self.bounds, data.bounds) else { return false };
        let below = |upper: ValueRef<'_>, lower: ValueRef<'_>| {
            is_above(lower, upper) && !(may_be_cut(upper, &self.ty) && lower.starts_with(upper))
        };
        below(upper.as_ref(), data_lower) || below(data_upper, lower.as_ref())
    }
}

/// The metrics of one data file for the key columns of equality deletes. Each column is decoded once for all deletes.
#[derive(Debug)]
pub(crate) struct DataKeys<'e> {
    columns: &'e EntryColumns,
    row: usize,
    /// `None` for a column without metrics.
    known: Vec<(FieldId, Option<DataKeyColumn<'e>>)>,
}

#[derive(Debug)]
struct DataKeyColumn<'e> {
    values: Option<i64>,
    nulls: Option<i64>,
    no_nan: bool,
    bounds: Option<(ValueRef<'e>, ValueRef<'e>)>,
}

impl<'e> DataKeys<'e> {
    /// The metrics of entry 0. [`DataKeys::move_to`] chooses another one.
    pub(crate) fn new(columns: &'e EntryColumns) -> DataKeys<'e> {
        DataKeys { columns, row: 0, known: Vec::new() }
    }

    /// Goes on to another entry of the same columns.
    pub(crate) fn move_to(&mut self, row: usize) {
        self.row = row;
        self.known.clear();
    }

    fn column(&mut self, key: &EqualityKeyColumn) -> Option<&DataKeyColumn<'e>> {
        let place = self.known.iter().position(|(field, _)| *field == key.field_id).unwrap_or_else(|| {
            self.known.push((key.field_id, self.decode(key)));
            self.known.len() - 1
        });
        self.known.get(place)?.1.as_ref()
    }

    fn decode(&self, key: &EqualityKeyColumn) -> Option<DataKeyColumn<'e>> {
        let metric = metric(self.columns, key.field_id)?;
        let (values, nulls) = counts(metric, self.columns, self.row);
        Some(DataKeyColumn {
            values,
            nulls,
            no_nan: !key.ty.is_float() || has_no_nan(metric, self.columns, self.row),
            bounds: bounds(metric, &key.ty, self.columns, self.row),
        })
    }
}

fn is_above(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    a.sql_cmp(b) == Some(Ordering::Greater)
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

/// Bounds in the wrong order prove nothing. An unsigned order that is read as signed, for example, causes this.
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
    lower.zip(upper).filter(|(lower, upper)| !is_above(*lower, *upper))
}

fn has_no_nan(metric: &MetricColumn, columns: &EntryColumns, row: usize) -> bool {
    matches!(believable_counts(metric, columns, row), Some((_, _, Some(0))))
}

fn count(counts: &[i64], row: usize) -> Option<i64> {
    counts.get(row).copied().filter(|n| *n != MISSING && *n >= 0)
}
