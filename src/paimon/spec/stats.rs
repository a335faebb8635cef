//! Statistics of a file or a manifest: least and greatest values and numbers of nulls, by column.
//!
//! A file's statistics are of the columns of the schema that it was written with, or of some of them. Columns are
//! matched by field id. If a column's type has changed since, its bounds serve only if every value kept its order and
//! meaning.
//!
//! Source: Paimon specification, "SimpleStats"; Java's `SimpleStatsEvolution` and
//! `CastExecutors.castLiteralsWithEvolution`.

use std::collections::BTreeMap;

use super::binary_row::BinaryRow;
use super::data_type::{DataField, DataType, TypeKind};
use super::schema::TableSchema;
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::error::Result;
use crate::expr::bounds::{Bounds, ColumnBounds, Presence, may_be_cut};
use crate::types::{FieldId, PrimitiveType, ValueRef};

/// A number of nulls that is not known.
pub const UNKNOWN_NULLS: i64 = -1;

/// Statistics as they are recorded: two binary rows after their number of fields, and numbers of nulls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleStats {
    /// The least values.
    pub min: Vec<u8>,
    /// The greatest values.
    pub max: Vec<u8>,
    /// Nulls of each column, [`UNKNOWN_NULLS`] if not counted; `None` without columns.
    pub null_counts: Option<Vec<i64>>,
}

impl SimpleStats {
    /// Borrows them.
    pub fn as_ref(&self) -> StatsRef<'_> {
        StatsRef { min: Some(&self.min), max: Some(&self.max), null_counts: self.null_counts.as_deref() }
    }
}

/// Statistics of the entries of a manifest.
#[derive(Clone, Debug, Default)]
pub struct StatsColumn {
    /// The least values.
    pub min: BytesColumn,
    /// The greatest values.
    pub max: BytesColumn,
    /// Nulls, [`UNKNOWN_NULLS`] if not counted.
    pub null_counts: ListColumn,
}

impl StatsColumn {
    /// Clears the statistics of the last entry, if they were kept.
    pub(crate) fn pop(&mut self) {
        self.min.pop();
        self.max.pop();
        self.null_counts.pop();
    }

    /// The statistics of one entry.
    pub fn get(&self, row: usize) -> StatsRef<'_> {
        StatsRef { min: self.min.get(row), max: self.max.get(row), null_counts: self.null_counts.get(row) }
    }
}

/// Borrowed statistics.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct StatsRef<'a> {
    pub min: Option<&'a [u8]>,
    pub max: Option<&'a [u8]>,
    pub null_counts: Option<&'a [i64]>,
}

/// The place of a column in statistics.
#[derive(Clone, Debug, PartialEq)]
enum StatsPlace {
    /// It is field `index` of the statistics, of the type that it had then.
    At { index: usize, ty: DataType, bounds: bool },
    /// The file was written before the column existed: all its values are null.
    AllNull,
}

/// The places of a scan's columns in statistics. Files of one schema with statistics of the same columns share it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsMapping {
    /// The places by field id, ascending.
    places: Vec<(FieldId, StatsPlace)>,
}

impl StatsMapping {
    /// For the values of files written with schema `file`, for a scan with schema `scan`. `value_stats_cols` and
    /// `write_cols` are the file's: the columns that it has statistics of and the columns that it has, if not all.
    pub fn of_values(
        scan: &TableSchema,
        file: &TableSchema,
        value_stats_cols: Option<&[String]>,
        write_cols: Option<&[String]>,
    ) -> StatsMapping {
        let fields: Vec<Option<&DataField>> = match value_stats_cols.or(write_cols) {
            Some(names) => names.iter().map(|name| file.field(name)).collect(),
            None => file.fields.iter().map(Some).collect(),
        };
        let mut mapping = StatsMapping::of_fields(&scan.fields, &fields);
        // A file of some columns is read together with files of the others.
        if write_cols.is_none() {
            for field in scan.fields.iter().filter(|f| file.field_by_id(f.id).is_none()) {
                mapping.places.push((field.id, StatsPlace::AllNull));
            }
            mapping.places.sort_by_key(|(id, _)| *id);
        }
        mapping
    }

    /// The mapping for the keys of files written with schema `file`, for a scan with schema `scan`.
    pub fn of_keys(scan: &TableSchema, file: &TableSchema) -> StatsMapping {
        StatsMapping::of_fields(&scan.fields, &file.key_fields().map(Some).collect::<Vec<_>>())
    }

    /// The mapping for the partitions of manifests.
    pub fn of_partitions(scan: &TableSchema) -> StatsMapping {
        StatsMapping::of_fields(&scan.fields, &scan.partition_fields().map(Some).collect::<Vec<_>>())
    }

    fn of_fields(scan: &[DataField], stats: &[Option<&DataField>]) -> StatsMapping {
        let mut places = BTreeMap::new();
        for (index, field) in stats.iter().enumerate() {
            let Some(field) = field else { continue };
            let Some(now) = scan.iter().find(|f| f.id == field.id) else { continue };
            let bounds = keeps_bounds(&field.ty, &now.ty);
            places.insert(field.id, StatsPlace::At { index, ty: field.ty.clone(), bounds });
        }
        StatsMapping { places: places.into_iter().collect() }
    }

    fn place(&self, field: FieldId) -> Option<&StatsPlace> {
        let at = self.places.binary_search_by_key(&field, |(id, _)| *id).ok()?;
        self.places.get(at).map(|(_, place)| place)
    }
}

/// Whether bounds of a column of type `then` are bounds of it as type `now`.
pub(crate) fn keeps_bounds(then: &DataType, now: &DataType) -> bool {
    if then.same_values(now) {
        return true;
    }
    match (then.kind.integer_bits(), now.kind.integer_bits()) {
        (Some(then), Some(now)) => return then <= now,
        (None, None) => {}
        _ => return false,
    }
    match (&then.kind, &now.kind) {
        (TypeKind::VarChar(then), TypeKind::VarChar(now)) => then <= now,
        (TypeKind::VarBinary(then), TypeKind::VarBinary(now)) => then <= now,
        _ => false,
    }
}

/// The bounds of the rows that statistics are of, by the columns of a scan.
#[derive(Clone, Copy, Debug)]
pub struct StatsBounds<'a> {
    mapping: &'a StatsMapping,
    min: Option<BinaryRow<'a>>,
    max: Option<BinaryRow<'a>>,
    null_counts: Option<&'a [i64]>,
    rows: i64,
    hides_nans: bool,
}

impl<'a> StatsBounds<'a> {
    /// Statistics of this number of rows (or, in a manifest list, files).
    ///
    /// # Errors
    /// `CorruptTable` if they are not binary rows.
    pub fn new(mapping: &'a StatsMapping, stats: StatsRef<'a>, rows: i64) -> Result<StatsBounds<'a>> {
        Ok(StatsBounds {
            mapping,
            min: stats.min.map(BinaryRow::from_prefixed).transpose()?,
            max: stats.max.map(BinaryRow::from_prefixed).transpose()?,
            null_counts: stats.null_counts,
            rows,
            hides_nans: false,
        })
    }

    /// Whether there may be NaNs that the bounds don't show. Where Java compares values itself, and in Parquet's
    /// statistics, a NaN is the greatest value of all. ORC's statistics ignore NaNs. Planning as in Java ignores this,
    /// except for filters on NaN, which Java does not have.
    pub fn hiding_nans(self, hides_nans: bool) -> StatsBounds<'a> {
        StatsBounds { hides_nans, ..self }
    }

    /// Bounds of a column with its number of nulls. If the greatest value is a NaN, nothing is known about the other
    /// values. If it is another value, the column has no NaN.
    fn bounded(&self, index: usize, then: &DataType, ty: &PrimitiveType) -> ColumnBounds<'a> {
        // A bound that can't be read shows that the writer's types were confused.
        let bounds = bound(self.min, index, then, ty).and_then(|lower| Ok((lower, bound(self.max, index, then, ty)?)));
        let (lower, upper) = bounds.unwrap_or_default();
        let nan = upper.is_some_and(|v| v.is_nan());
        // No value is above a NaN. So such bounds are swapped, and neither is usable.
        let swapped = !nan && upper.is_some() && lower.is_some_and(|v| v.is_nan());
        let (lower, upper) = if swapped { (None, None) } else { (lower, upper) };
        let told = upper.is_some() && !nan && !self.hides_nans;
        ColumnBounds {
            lower: lower.filter(|v| !v.is_nan()),
            upper: upper.filter(|_| !nan),
            upper_is_prefix: upper.is_some_and(|upper| may_be_cut(upper, ty)),
            nulls: self.nulls(index),
            nans: if told { Presence::Absent } else { Presence::Possible },
        }
    }

    /// The nulls of a column, where they were counted.
    pub fn null_count(&self, field: FieldId) -> Option<i64> {
        match self.mapping.place(field)? {
            StatsPlace::AllNull => Some(self.rows),
            StatsPlace::At { index, .. } => self.null_counts?.get(*index).copied().filter(|n| *n != UNKNOWN_NULLS),
        }
    }

    fn nulls(&self, index: usize) -> Presence {
        match self.null_counts.and_then(|counts| counts.get(index)) {
            Some(0) => Presence::Absent,
            Some(nulls) if *nulls == self.rows && self.rows > 0 => Presence::Everywhere,
            _ => Presence::Possible,
        }
    }
}

/// A bound as a value of the column's type now.
///
/// # Errors
/// `CorruptTable` if it can't be read.
fn bound<'a>(
    row: Option<BinaryRow<'a>>,
    index: usize,
    then: &DataType,
    now: &PrimitiveType,
) -> Result<Option<ValueRef<'a>>> {
    let Some(row) = row else { return Ok(None) };
    Ok(row.value(index, then)?.map(|value| match (value, now) {
        (ValueRef::Int(v), PrimitiveType::Long) => ValueRef::Long(i64::from(v)),
        (value, _) => value,
    }))
}

impl Bounds for StatsBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        match self.mapping.place(field) {
            None => ColumnBounds::default(),
            Some(StatsPlace::AllNull) => ColumnBounds { nulls: Presence::Everywhere, ..ColumnBounds::default() },
            Some(StatsPlace::At { index, bounds: false, ty: then }) => {
                // A cast may make nulls of values, never the other way. A bound is a value.
                let ends = [self.min, self.max].into_iter().flatten();
                let bounded = ends.map(|row| row.value(*index, then)).any(|v| v.is_ok_and(|v| v.is_some()));
                let nulls = Some(self.nulls(*index)).filter(|n| *n == Presence::Everywhere && !bounded);
                let nulls = nulls.unwrap_or_default();
                ColumnBounds { nulls, ..ColumnBounds::default() }
            }
            Some(StatsPlace::At { index, ty: then, bounds: true }) => self.bounded(*index, then, ty),
        }
    }

    fn nested_nulls(&self, field: FieldId) -> Presence {
        match self.mapping.place(field) {
            None => Presence::Possible,
            Some(StatsPlace::AllNull) => Presence::Everywhere,
            Some(StatsPlace::At { index, .. }) => self.nulls(*index),
        }
    }
}

#[cfg(test)]
#[path = "stats_tests.rs"]
mod tests;
