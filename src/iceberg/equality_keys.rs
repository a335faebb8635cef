//! Whether an equality delete file can delete any row of a data file, as far as the metrics of one key column tell.

use std::cmp::Ordering;

use crate::iceberg::entries::{EntryColumns, MISSING, MetricColumn};
use crate::types::value::decode_bound;
use crate::types::{Field, FieldId, PrimitiveType, Value, ValueRef};

/// What an equality delete file says of one of its key columns.
#[derive(Debug)]
pub(super) struct KeyColumn {
    field_id: FieldId,
    ty: PrimitiveType,
    required: bool,
    all_null: bool,
    no_null: bool,
    no_nan: bool,
    bounds: Option<(Value, Value)>,
}

impl KeyColumn {
    /// `None` for nested columns, of which no metrics are kept.
    pub fn new(field: &Field, columns: &EntryColumns, row: usize) -> Option<KeyColumn> {
        let ty = field.ty.as_primitive()?.clone();
        let metric = metric(columns, field.id);
        let at = |counts: Option<&Vec<i64>>| counts.and_then(|c| count(c, row));
        let (values, nulls) = (at(metric.map(|m| &m.value_count)), at(metric.map(|m| &m.null_count)));
        let bound = |bytes: Option<&[u8]>| decode_bound(bytes?, &ty).ok().flatten().map(ValueRef::to_owned);
        let bounds = metric.and_then(|m| bound(m.lower.get(row)).zip(bound(m.upper.get(row))));
        Some(KeyColumn {
            field_id: field.id,
            required: field.required,
            all_null: !field.required && nulls.is_some() && nulls == values,
            no_null: field.required || nulls == Some(0),
            no_nan: !ty.is_float() || at(metric.map(|m| &m.nan_count)) == Some(0),
            bounds,
            ty,
        })
    }

    pub fn field_id(&self) -> FieldId {
        self.field_id
    }

    /// Whether no row of the data file can have a key that this delete file deletes, as far as this column tells.
    pub fn excludes(&self, data: &EntryColumns, row: usize) -> bool {
        let Some(metric) = metric(data, self.field_id) else { return false };
        let (values, nulls) = (count(&metric.value_count, row), count(&metric.null_count, row));
        let data_has_null = !self.required && nulls != Some(0);
        let data_all_null = !self.required && nulls.is_some() && nulls == values;
        if data_has_null && !self.no_null {
            return false;
        }
        if (data_all_null && self.no_null) || (self.all_null && !data_has_null) {
            return true;
        }
        // Bounds leave NaNs out, and NaN equals NaN.
        if !self.no_nan && count(&metric.nan_count, row) != Some(0) {
            return false;
        }
        let bound = |bytes| decode_bound(bytes, &self.ty).ok().flatten();
        let (Some((lower, upper)), Some(data_lower), Some(data_upper)) =
            (&self.bounds, metric.lower.get(row).and_then(bound), metric.upper.get(row).and_then(bound))
        else {
            return false;
        };
        let (lower, upper) = (lower.as_ref(), upper.as_ref());
        let above = |a: ValueRef<'_>, b: ValueRef<'_>| a.sql_cmp(b) == Some(Ordering::Greater);
        // Bounds that contradict themselves (unsigned order taken as signed, say) prove nothing.
        let sane = !above(data_lower, data_upper) && !above(lower, upper);
        sane && (above(data_lower, upper) || above(lower, data_upper))
    }
}

fn metric(columns: &EntryColumns, field: FieldId) -> Option<&MetricColumn> {
    let at = columns.metrics.binary_search_by_key(&field, |m| m.field_id).ok()?;
    columns.metrics.get(at)
}

fn count(counts: &[i64], row: usize) -> Option<i64> {
    counts.get(row).copied().filter(|n| *n != MISSING && *n >= 0)
}
