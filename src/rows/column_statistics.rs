//! Combines the statistics of files into statistics of one column.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::expr::bounds::promote;
use crate::format::task::{FileFormat, Partition, ReadContext};
use crate::rows::statistics::{ColumnStatistics, Fact};
use crate::types::metadata_columns::is_metadata;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Transform, Type, Value, ValueRef, select};

/// The number of rows that a scan keeps from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All of them.
    Whole(u64),
    /// The exact number that a deletion vector leaves.
    Vector(u64),
    /// This number or fewer.
    Part(u64),
}

impl Coverage {
    /// Rows at most.
    pub(crate) fn rows(self) -> u64 {
        match self {
            Coverage::Whole(n) | Coverage::Vector(n) | Coverage::Part(n) => n,
        }
    }
}

/// Whether bounds in files of this format are values of the column, if it has any. Text and bytes may be cut.
/// UUIDs may be in another order. ORC keeps only milliseconds of times, and infinities instead of NaNs.
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

/// The columns for the statistics of a scan. `shape` is the scan's context, the columns that can be named, and whether
/// names are matched exactly.
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

pub(crate) fn no_statistics(column: &str) -> Error {
    Error::invalid(format!("metadata has no statistics of column '{column}'"))
        .with("column", column)
        .hint("Columns and fields of structs have statistics. Metadata columns and values in lists and maps have none")
}

/// The leaves of a column that are not in a list or map.
pub(crate) fn leaves(schema: &Schema, field: &Field, out: &mut Vec<ColumnFold>) {
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

/// The statistics of a column so far.
pub(crate) struct ColumnFold {
    name: String,
    pub(crate) field_id: FieldId,
    pub(crate) ty: PrimitiveType,
    pub(crate) required: bool,
    nulls: Count,
    nans: Count,
    lower: Extreme,
    upper: Extreme,
    /// Whether a value that is neither null nor NaN may exist.
    ordinary: bool,
    /// Whether a NaN certainly exists, and whether an uncounted NaN may exist.
    nan: bool,
    nan_unknown: bool,
}

/// A count: exact, or an upper bound.
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

    /// A count for the rows that a scan keeps from a file with `records` rows.
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
    /// The extreme of values that rows certainly have.
    attained: Option<Value>,
    /// The extreme of bounds.
    bound: Option<Value>,
    /// A file may have values without a bound.
    unknown: bool,
}

impl Extreme {
    /// `better` is the order in which a value replaces the current one.
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

    /// A bound can be ignored if an existing value comes before it.
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

/// The known facts about the column in one file.
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

    /// Adds a file with `records` rows.
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
        // A value that all rows share stays, even if only some rows remain.
        let alike = facts.nulls == Some(0) && facts.nans == Some(0) && facts.lower.is_some();
        let alike = alike && facts.lower.zip(facts.upper).is_some_and(|(l, u)| l.sql_cmp(u) == Some(Ordering::Equal));
        let attained = whole && facts.tight || alike && matches!(coverage, Coverage::Vector(_));
        self.lower.add(facts.lower, attained, Ordering::Less);
        self.upper.add(facts.upper, attained, Ordering::Greater);
    }

    /// `cut` says that a limit keeps only some of the rows.
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
            // There are only nulls and NaNs, so the least value is a NaN or does not exist.
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

/// The facts of a column with the same value in all rows.
pub(crate) fn of_constant(value: Option<ValueRef<'_>>, records: u64) -> FileFacts<'_> {
    let all = Some(records);
    match value {
        None => FileFacts { nulls: all, nans: Some(0), lower: None, upper: None, tight: false },
        Some(v) if v.is_nan() => FileFacts { nulls: Some(0), nans: all, lower: None, upper: None, tight: false },
        some => FileFacts { nulls: Some(0), nans: Some(0), lower: some, upper: some, tight: true },
    }
}
