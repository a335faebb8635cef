//! Folding the metrics of files into statistics of one column.

use std::cmp::Ordering;

use super::statistics::{ColumnStatistics, Coverage, Fact, tight};
use crate::error::{Error, Result};
use crate::expr::bounds::{Bounds, Presence, checked, promote};
use crate::format::task::{FileFormat, Partition};
use crate::iceberg::manifest::entries::{MISSING, MetricColumn};
use crate::iceberg::plan::file_bounds::MetricsBounds;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::types::{FieldId, PrimitiveType, Transform, Value, ValueRef};

/// The statistics of a column so far.
pub(crate) struct ColumnFold {
    name: String,
    field_id: FieldId,
    ty: PrimitiveType,
    required: bool,
    nulls: Count,
    nans: Count,
    lower: Extreme,
    upper: Extreme,
    /// Whether a value that is neither null nor NaN may be there.
    ordinary: bool,
    /// Whether a NaN certainly is there, and whether one may be of which nothing is counted.
    nan: bool,
    nan_unknown: bool,
}

/// A count, exact or at most that.
#[derive(Clone, Copy)]
pub(crate) struct Count {
    pub(crate) n: u64,
    pub(crate) exact: bool,
}

impl Count {
    const ZERO: Count = Count { n: 0, exact: true };

    fn add(&mut self, other: Count) {
        self.n = self.n.saturating_add(other.n);
        self.exact &= other.exact;
    }

    /// Of the rows that a scan has of a file with so many in all.
    pub(crate) fn of(n: Option<u64>, records: u64, coverage: Coverage) -> Count {
        let rows_exact = !matches!(coverage, Coverage::Part(_));
        match n {
            Some(0) => Count::ZERO,
            Some(n) if n == records => Count { n: coverage.rows(), exact: rows_exact },
            Some(n) => Count { n: n.min(coverage.rows()), exact: matches!(coverage, Coverage::Whole(_)) },
            None => Count { n: coverage.rows(), exact: false },
        }
    }
}

/// The least or greatest value so far.
#[derive(Default)]
pub(crate) struct Extreme {
    /// Of values that rows certainly have.
    attained: Option<Value>,
    /// Of bounds.
    bound: Option<Value>,
    /// A file may have values of which there is no bound.
    unknown: bool,
}

impl Extreme {
    /// `better` is the order in which a value goes before the one so far.
    pub(crate) fn add(&mut self, bound: Option<ValueRef<'_>>, attained: bool, better: Ordering) {
        let Some(value) = bound else {
            self.unknown = true;
            return;
        };
        let place = if attained { &mut self.attained } else { &mut self.bound };
        if place.as_ref().is_none_or(|so_far| value.sql_cmp(so_far.as_ref()) == Some(better)) {
            *place = Some(value.to_owned());
        }
    }

    /// A bound does no harm where a value that is there goes before it.
    pub(crate) fn finish(self, better: Ordering) -> Fact<Value> {
        match (self.attained, self.bound) {
            _ if self.unknown => Fact { value: None, exact: false },
            (attained, None) => Fact { exact: attained.is_some(), value: attained },
            (None, bound) => Fact { value: bound, exact: false },
            (Some(attained), Some(bound)) => match bound.sql_cmp(&attained) {
                Some(order) if order == better => Fact::new(bound, false),
                _ => Fact::new(attained, true),
            },
        }
    }
}

/// What is known of the column in one file.
pub(crate) struct FileFacts<'a> {
    pub(crate) nulls: Option<u64>,
    pub(crate) nans: Option<u64>,
    pub(crate) lower: Option<ValueRef<'a>>,
    pub(crate) upper: Option<ValueRef<'a>>,
    /// Whether the bounds are values of the file.
    pub(crate) tight: bool,
}

impl ColumnFold {
    pub(crate) fn new(name: String, field_id: FieldId, ty: PrimitiveType, required: bool) -> ColumnFold {
        let (nulls, nans) = (Count::ZERO, Count::ZERO);
        let (lower, upper) = (Extreme::default(), Extreme::default());
        let (ordinary, nan, nan_unknown) = (false, false, false);
        ColumnFold { name, field_id, ty, required, nulls, nans, lower, upper, ordinary, nan, nan_unknown }
    }

    pub(crate) fn field_id(&self) -> FieldId {
        self.field_id
    }

    pub(crate) fn ty(&self) -> &PrimitiveType {
        &self.ty
    }

    /// Adds the survivors of a batch; their coverage in the same order.
    pub(crate) fn add(&mut self, batch: &PlannedBatch, coverage: &[Coverage]) -> Result<()> {
        let metrics = batch.columns.metrics.iter().find(|m| m.field_id == self.field_id);
        for (row, coverage) in batch.rows.iter().zip(coverage).filter(|(_, coverage)| coverage.rows() > 0) {
            let row = *row as usize;
            let records = batch.columns.record_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
            let format = *batch.columns.format.get(row).ok_or_else(|| Error::internal("a file has no format"))?;
            let group = batch.group(row)?;
            let ty = self.ty.clone();
            let metric_bounds = MetricsBounds::new(&batch.columns, row);
            let facts = match partition_value(&group.partition, self.field_id, &ty) {
                Some(value) => of_constant(value, records),
                None => self.of_metrics(metrics, &metric_bounds, row, records, format, &ty),
            };
            self.add_file(&facts, records, *coverage);
        }
        Ok(())
    }

    fn of_metrics<'a>(
        &self,
        metrics: Option<&MetricColumn>,
        bounds: &'a MetricsBounds<'_>,
        row: usize,
        records: u64,
        format: FileFormat,
        ty: &PrimitiveType,
    ) -> FileFacts<'a> {
        let count = |pick: fn(&MetricColumn) -> &Vec<i64>| {
            let n = metrics.and_then(|m| pick(m).get(row).copied()).filter(|n| *n != MISSING);
            n.and_then(|n| u64::try_from(n).ok())
        };
        // Counts are of the rows only if they are of as many values; some writers leave out those of null structs.
        let values = count(|m| &m.value_count);
        let of_rows = |n: Option<u64>| n.filter(|n| values.is_none_or(|v| v == records) && *n <= records);
        let nulls = match ty {
            PrimitiveType::Unknown => Some(records),
            _ if self.required => Some(0),
            _ => of_rows(count(|m| &m.null_count)),
        };
        let nans = if ty.is_float() { of_rows(count(|m| &m.nan_count)) } else { Some(0) };
        let nans = if nulls == Some(records) { Some(0) } else { nans };
        let b = checked(bounds.column(self.field_id, ty), ty);
        let point = b.point().is_some();
        let known = (*ty != PrimitiveType::Uuid || point) && b.nans != Presence::Everywhere;
        let (lower, upper) = if known { (b.lower, b.upper) } else { (None, None) };
        let tight = nulls.is_some() && nans.is_some() && (point || tight(ty, format));
        FileFacts { nulls, nans, lower, upper, tight }
    }

    /// Adds a file of so many rows.
    pub(crate) fn add_file(&mut self, facts: &FileFacts<'_>, records: u64, coverage: Coverage) {
        self.nulls.add(Count::of(facts.nulls, records, coverage));
        let nans = Count::of(facts.nans, records, coverage);
        self.nans.add(nans);
        let whole = matches!(coverage, Coverage::Whole(_));
        self.nan |= facts.nans.is_some() && nans.n > 0 && nans.exact;
        self.nan_unknown |= facts.nans.is_none() || !nans.exact;
        let not_ordinary = facts.nulls.unwrap_or(0).saturating_add(facts.nans.unwrap_or(0));
        if not_ordinary >= records {
            return;
        }
        self.ordinary = true;
        // One value in all rows stays, whichever rows do.
        let alike = facts.nulls == Some(0) && facts.nans == Some(0) && facts.lower.is_some();
        let alike = alike && facts.lower.zip(facts.upper).is_some_and(|(l, u)| l.sql_cmp(u) == Some(Ordering::Equal));
        let attained = whole && facts.tight || alike && matches!(coverage, Coverage::Vector(_));
        self.lower.add(facts.lower, attained, Ordering::Less);
        self.upper.add(facts.upper, attained, Ordering::Greater);
    }

    /// `cut` says that a limit leaves only some of the rows.
    pub(crate) fn finish(self, rows: &Fact<u64>, cut: bool) -> ColumnStatistics {
        let limit = rows.value.unwrap_or(0);
        let none = limit == 0;
        let counted = |c: Count| Fact::new(c.n.min(limit), none || c.exact && (!cut || c.n == 0));
        let (null_count, nan_count) = (counted(self.nulls), counted(self.nans));
        let nan_value = match self.ty {
            PrimitiveType::Float => Value::Float(f32::NAN),
            _ => Value::Double(f64::NAN),
        };
        let (mut min, mut max) = (self.lower.finish(Ordering::Less), self.upper.finish(Ordering::Greater));
        if !self.ordinary {
            // Nothing but nulls and NaNs, so that the least value is a NaN or there is none.
            let exact = self.nan || !self.nan_unknown;
            min = Fact { value: self.nan.then(|| nan_value.clone()), exact };
            max = min.clone();
        } else if self.nan {
            max = Fact::new(nan_value, true);
        } else if self.nan_unknown {
            max = Fact { value: None, exact: false };
        }
        if none {
            (min, max) = (Fact { value: None, exact: true }, Fact { value: None, exact: true });
        } else if cut {
            min.exact &= min.value.is_none();
            max.exact &= max.value.is_none();
        }
        let value_count = Fact { value: rows.value, exact: rows.exact || none };
        let (name, field_id, ty) = (self.name, self.field_id, self.ty);
        ColumnStatistics { name, field_id, ty, value_count, null_count, nan_count, min, max }
    }
}

/// The value that an identity partition gives all rows of its files: null, or a value of the column's type.
pub(crate) fn partition_value<'a>(
    partition: &'a Partition,
    field: FieldId,
    ty: &PrimitiveType,
) -> Option<Option<ValueRef<'a>>> {
    let of_column =
        |v: &&crate::format::task::PartitionValue| v.source_id == field && v.transform == Transform::Identity;
    let found = partition.values.iter().find(of_column)?;
    match &found.value {
        None => Some(None),
        Some(value) => promote(value.as_ref(), ty).map(Some),
    }
}

/// Of a column that has one value in all rows.
pub(crate) fn of_constant(value: Option<ValueRef<'_>>, records: u64) -> FileFacts<'_> {
    let all = Some(records);
    match value {
        None => FileFacts { nulls: all, nans: Some(0), lower: None, upper: None, tight: false },
        Some(v) if v.is_nan() => FileFacts { nulls: Some(0), nans: all, lower: None, upper: None, tight: false },
        some => FileFacts { nulls: Some(0), nans: Some(0), lower: some, upper: some, tight: true },
    }
}
