//! Bounds of a file's rows, from the column metrics of its manifest entry.
//!
//! Source: Iceberg specification, "Manifests" (`data_file`) and Appendix D, "Binary single-value serialization".

use super::named_bounds::constant;
use crate::expr::BoundPredicate;
use crate::expr::bounds::{Bounds, ColumnBounds, Presence, may_be_cut};
use crate::format::task::FileFormat;
use crate::iceberg::manifest::entries::{EntryColumns, MISSING, MetricColumn};
use crate::types::metadata_columns::FILE;
use crate::types::temporal::MICROS_PER_DAY;
use crate::types::value::decode_bound;
use crate::types::{FieldId, PrimitiveType, ValueRef};

/// The rows of one data file, described by its metrics and path. Columns without metrics prove nothing.
#[derive(Clone, Copy, Debug)]
pub struct MetricsBounds<'e> {
    columns: &'e EntryColumns,
    row: usize,
}

impl<'e> MetricsBounds<'e> {
    /// The metrics of entry `row`.
    pub fn new(columns: &'e EntryColumns, row: usize) -> Self {
        MetricsBounds { columns, row }
    }

    fn metrics(&self, field: FieldId) -> Option<&'e MetricColumn> {
        let at = self.columns.metrics.binary_search_by_key(&field, |m| m.field_id).ok()?;
        self.columns.metrics.get(at)
    }

    fn path(&self) -> Option<&'e str> {
        std::str::from_utf8(self.columns.path.get(self.row)?).ok()
    }

    fn records(&self) -> Option<i64> {
        count(&self.columns.record_count, self.row)
    }
}

impl Bounds for MetricsBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        if field == FILE {
            return self.path().map_or_else(ColumnBounds::default, |path| constant(Some(ValueRef::String(path))));
        }
        let Some(metrics) = self.metrics(field) else { return ColumnBounds::default() };
        let (lower, upper) = match believable_bounds(metrics, self.row, ty) {
            _ if *ty == PrimitiveType::Uuid && !uuid_bounds_hold(self.columns, self.row) => (None, None),
            (Some(_), None) | (None, Some(_)) if *ty == PrimitiveType::Uuid => (None, None),
            bounds => bounds,
        };
        let counts = ValueCounts::of(metrics, self.columns, self.row);
        // A bound that can't be read is a value too. So not all values are null or NaN.
        let unread = lower.is_none() && upper.is_none() && has_bounds(metrics, self.row);
        let believable = |presence: Presence| match presence {
            Presence::Everywhere if unread => Presence::Possible,
            presence => presence,
        };
        ColumnBounds {
            lower,
            upper,
            upper_is_prefix: upper.is_some_and(|upper| may_be_cut(upper, ty)),
            nulls: believable(counts.nulls(self.records())),
            nans: if ty.is_float() { believable(counts.nans()) } else { Presence::Absent },
        }
    }

    fn nested_nulls(&self, field: FieldId) -> Presence {
        self.metrics(field)
            .map_or(Presence::Possible, |m| ValueCounts::of(m, self.columns, self.row).nulls(self.records()))
    }
}

/// Whether bounds may prove that a filter keeps every row. Some writers ordered uuids as signed numbers, and a pair of
/// bounds shows that only sometimes.
pub(crate) fn strict(filter: &BoundPredicate) -> bool {
    let mut strict = true;
    filter.for_each_term(&mut |term| strict &= term.source_primitive() != Some(&PrimitiveType::Uuid));
    strict
}

/// Whether the bounds of a uuid are valid. Java Iceberg orders uuids as pairs of signed numbers. Within a Parquet row
/// group the order is the correct one of the file format. With several row groups, Java picks the wrong bounds among
/// theirs, and that does not always show.
pub(crate) fn uuid_bounds_hold(columns: &EntryColumns, row: usize) -> bool {
    let parquet = columns.format.get(row).is_none_or(|f| *f == FileFormat::Parquet);
    !parquet || columns.split_offsets.get(row).is_some_and(|offsets| offsets.len() == 1)
}

/// The bounds of a column, if both are values of its type. A bound of another width shows that the writer's types were
/// confused, so its other bound is not believed either.
pub(crate) fn believable_bounds<'e>(
    metrics: &'e MetricColumn,
    row: usize,
    ty: &PrimitiveType,
) -> (Option<ValueRef<'e>>, Option<ValueRef<'e>>) {
    let decode = |bytes: Option<&'e [u8]>| match bytes {
        None => Some(None),
        Some(bytes) => decode_bound(bytes, ty).ok().filter(|v| v.is_none_or(|v| is_of(v, ty))),
    };
    match (decode(metrics.lower.get(row)), decode(metrics.upper.get(row))) {
        (Some(lower), Some(upper)) => (lower, upper),
        _ => (None, None),
    }
}

fn has_bounds(metrics: &MetricColumn, row: usize) -> bool {
    metrics.lower.get(row).is_some() || metrics.upper.get(row).is_some()
}

/// Whether a value is one that a column of the type can have.
fn is_of(value: ValueRef<'_>, ty: &PrimitiveType) -> bool {
    match (value, ty) {
        (ValueRef::Decimal(unscaled), PrimitiveType::Decimal { precision, .. }) => {
            10u128.checked_pow(u32::from(*precision)).is_none_or(|limit| unscaled.unsigned_abs() < limit)
        }
        (ValueRef::Long(time), PrimitiveType::Time) => (0..MICROS_PER_DAY).contains(&time),
        _ => true,
    }
}

/// Counts of a column in a file. Counts that contradict each other or the number of rows are left out.
#[derive(Debug, Default)]
struct ValueCounts {
    values: Option<i64>,
    nulls: Option<i64>,
    nans: Option<i64>,
}

fn count(counts: &[i64], row: usize) -> Option<i64> {
    counts.get(row).copied().filter(|c| *c != MISSING && *c >= 0)
}

/// Counts of values, nulls and NaNs. `None` if they contradict each other or the number of rows. Filters only reach
/// columns with at most one value in a row.
pub(crate) fn believable_counts(
    metrics: &MetricColumn,
    columns: &EntryColumns,
    row: usize,
) -> Option<(Option<i64>, Option<i64>, Option<i64>)> {
    let values = count(&metrics.value_count, row);
    let (nulls, nans) = (count(&metrics.null_count, row), count(&metrics.nan_count, row));
    let rows = count(&columns.record_count, row);
    let told = nulls.unwrap_or(0).checked_add(nans.unwrap_or(0))?;
    let fits = |all: Option<i64>, part: i64| all.is_none_or(|all| part <= all);
    (fits(values, told) && fits(rows, told) && fits(rows, values.unwrap_or(0))).then_some((values, nulls, nans))
}

impl ValueCounts {
    fn of(metrics: &MetricColumn, columns: &EntryColumns, row: usize) -> ValueCounts {
        match believable_counts(metrics, columns, row) {
            Some((values, nulls, nans)) => ValueCounts { values, nulls, nans },
            None => ValueCounts::default(),
        }
    }

    /// ORC writers count a struct's fields only in rows where the struct is not null, so there are fewer values than
    /// rows. The uncounted rows are null. A null count of zero proves nothing about them. If all counted values are
    /// null, all rows are null.
    fn nulls(&self, records: Option<i64>) -> Presence {
        let every_row_counted = match (self.values, records) {
            (Some(values), Some(records)) => values >= records,
            _ => true,
        };
        match (self.nulls, self.values) {
            (Some(0), _) if every_row_counted => Presence::Absent,
            (Some(nulls), Some(values)) if nulls == values => Presence::Everywhere,
            _ => Presence::Possible,
        }
    }

    fn nans(&self) -> Presence {
        match (self.nans, self.values, self.nulls) {
            (Some(0), _, _) => Presence::Absent,
            (Some(nans), Some(values), Some(nulls)) if values.checked_sub(nulls) == Some(nans) => Presence::Everywhere,
            _ => Presence::Possible,
        }
    }
}

#[cfg(test)]
#[path = "file_bounds_tests.rs"]
mod tests;
