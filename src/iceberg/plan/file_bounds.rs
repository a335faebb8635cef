//! Bounds of a file's rows, from the column metrics of its manifest entry.
//!
//! Source: Iceberg specification, "Manifests" (`data_file`) and Appendix D, "Binary single-value serialization".

use super::named_bounds::constant;
use crate::expr::BoundPredicate;
use crate::expr::bounds::{Bounds, ColumnBounds, Presence};
use crate::format::task::FileFormat;
use crate::iceberg::manifest::entries::{EntryColumns, MISSING, MetricColumn};
use crate::types::metadata_columns::FILE;
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
        let decode = |bytes: Option<&'a [u8]>| decode_bound(bytes?, ty).ok().flatten();
        let bounds = (decode(metrics.lower.get(self.row)), decode(metrics.upper.get(self.row)));
        let (lower, upper) = match bounds {
            (Some(_), Some(_)) if *ty == PrimitiveType::Uuid && uuid_bounds_hold(self.columns, self.row) => bounds,
            _ if *ty == PrimitiveType::Uuid => (None, None),
            bounds => bounds,
        };
        let counts = ValueCounts::of(metrics, self.row);
        ColumnBounds {
            lower,
            upper,
            upper_is_prefix: false,
            nulls: counts.nulls(self.records()),
            nans: if ty.is_float() { counts.nans() } else { Presence::Absent },
        }
    }

    fn nested_nulls(&self, field: FieldId) -> Presence {
        self.metrics(field).map_or(Presence::Possible, |m| ValueCounts::of(m, self.row).nulls(self.records()))
    }
}

/// Whether bounds may prove that a filter keeps every row. Some writers ordered uuids as signed numbers, and a pair of
/// bounds shows that only sometimes.
pub(crate) fn strict(filter: &BoundPredicate) -> bool {
    let mut strict = true;
    filter.for_each_leaf(&mut |leaf| strict &= leaf.term.source_primitive() != Some(&PrimitiveType::Uuid));
    strict
}

/// Whether the bounds of a uuid are valid. Java Iceberg orders uuids as pairs of signed numbers. Within a Parquet row
/// group the order is the correct one of the file format. With several row groups, Java picks the wrong bounds among
/// theirs, and that does not always show.
pub(crate) fn uuid_bounds_hold(columns: &EntryColumns, row: usize) -> bool {
    let parquet = columns.format.get(row).is_none_or(|f| *f == FileFormat::Parquet);
    !parquet || columns.split_offsets.get(row).is_some_and(|offsets| offsets.len() == 1)
}

struct ValueCounts {
    values: Option<i64>,
    nulls: Option<i64>,
    nans: Option<i64>,
}

fn count(counts: &[i64], row: usize) -> Option<i64> {
    counts.get(row).copied().filter(|c| *c != MISSING && *c >= 0)
}

impl ValueCounts {
    fn of(metrics: &MetricColumn, row: usize) -> ValueCounts {
        ValueCounts {
            values: count(&metrics.value_count, row),
            nulls: count(&metrics.null_count, row),
            nans: count(&metrics.nan_count, row),
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
