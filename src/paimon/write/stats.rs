//! Statistics of the rows of a file, as manifests record them.
//!
//! Source: Java's `StatsCollectorFactories`, `TruncateSimpleColStatsCollector`, `SimpleStatsConverter`. As in Java's
//! use of Parquet's footers, columns with parts have no statistics. Bytes, and timestamps with more than six digits,
//! have only numbers of nulls.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::compute::{max, max_boolean, max_string, min, min_boolean, min_string};
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
};

use crate::data::write::bounds_truncate::{lower_text, upper_text};
use crate::data::write::metrics::MetricsMode;
use crate::error::{Error, Result};
use crate::format::task::{FileFormat, RowStats};
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};
use crate::types::Value;
use crate::types::options::Options;

/// Keys are cut to this number of characters.
const KEY_MODE: MetricsMode = MetricsMode::Truncate(128);

/// The default mode of statistics.
const DEFAULT_MODE: &str = "truncate(16)";

/// The columns with statistics, each with its mode.
#[derive(Clone, Debug)]
pub(crate) struct StatsConfig {
    columns: Vec<(DataField, MetricsMode)>,
    format: FileFormat,
    dense: bool,
}

fn mode(option: &str, text: &str) -> Result<MetricsMode> {
    MetricsMode::parse(text.trim()).ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a mode of statistics"))
            .with("option", option)
            .hint("Use none, counts, truncate(N) or full")
    })
}

impl StatsConfig {
    /// The statistics for the columns of a table, in files of a level.
    ///
    /// # Errors
    /// `InvalidInput` for an option that can't be read.
    pub(crate) fn of_values(
        fields: &[DataField],
        keys_in_full: &[DataField],
        options: &Options<'_>,
        level: i32,
        format: FileFormat,
    ) -> Result<StatsConfig> {
        const MODE: &str = "metadata.stats-mode";
        const BY_LEVEL: &str = "metadata.stats-mode.per.level";
        let of_level = |text: &&str| text.split_once(':').is_some_and(|(l, _)| l.trim() == level.to_string());
        let by_level = options.list(BY_LEVEL).into_iter().find(of_level).and_then(|text| text.split_once(':'));
        let default = match by_level {
            Some((_, text)) => mode(BY_LEVEL, text)?,
            None => mode(MODE, options.get(MODE).unwrap_or(DEFAULT_MODE))?,
        };
        let first = options.integer("metadata.stats-keep-first-n-columns")?.and_then(|n| usize::try_from(n).ok());
        let mut taken = 0;
        let mut columns = Vec::with_capacity(fields.len());
        for field in fields {
            let option = format!("fields.{}.stats-mode", field.name);
            let mode = match options.get(&option) {
                Some(text) => mode(&option, text)?,
                None if keys_in_full.iter().any(|k| k.id == field.id) => {
                    columns.push((field.clone(), KEY_MODE));
                    continue;
                }
                None if first.is_some_and(|first| taken >= first) => MetricsMode::None,
                None => default,
            };
            taken += 1;
            columns.push((field.clone(), mode));
        }
        Ok(StatsConfig { columns, format, dense: options.boolean("metadata.stats-dense-store", true)? })
    }

    /// The statistics for the columns of the primary key.
    pub(crate) fn of_keys(fields: impl Iterator<Item = DataField>, format: FileFormat) -> StatsConfig {
        StatsConfig { columns: fields.map(|f| (f, KEY_MODE)).collect(), format, dense: false }
    }

    /// Starts to collect.
    pub(crate) fn collect(&self) -> StatsCollector {
        let column = |(field, mode): &(DataField, MetricsMode)| ColumnStats::new(&field.ty, *mode, self.format);
        StatsCollector { columns: self.columns.iter().map(column).collect() }
    }

    /// The collected statistics, with the names of their columns if these are not all.
    ///
    /// # Errors
    /// `Internal` if values are not of their columns' types.
    pub(crate) fn finish(&self, collected: StatsCollector) -> Result<(RowStats, Option<Vec<String>>)> {
        let all = self.columns.iter().zip(collected.columns);
        let kept: Vec<(&DataField, ColumnStats)> =
            all.filter(|(_, stats)| !self.dense || stats.nulls.is_some()).map(|((f, _), stats)| (f, stats)).collect();
        let types = || kept.iter().map(|(f, _)| &f.ty);
        let row = |pick: &dyn Fn(&ColumnStats) -> Option<Value>| {
            let row = encode_values(kept.iter().map(|(_, stats)| pick(stats)), types());
            row.map(|row| prefixed(&row, kept.len()))
        };
        let stats = RowStats {
            min: row(&|stats| stats.bounds().map(|(min, _)| min))?,
            max: row(&|stats| stats.bounds().map(|(_, max)| max))?,
            null_counts: kept.iter().map(|(_, stats)| stats.nulls).collect(),
        };
        let names = (kept.len() < self.columns.len()).then(|| kept.iter().map(|(f, _)| f.name.clone()).collect());
        Ok((stats, names))
    }
}

/// Statistics of rows so far.
#[derive(Debug)]
pub(crate) struct StatsCollector {
    columns: Vec<ColumnStats>,
}

impl StatsCollector {
    /// Takes note of the columns of some rows.
    ///
    /// # Errors
    /// `Internal` for columns of other types.
    pub(crate) fn add<'a>(&mut self, columns: impl IntoIterator<Item = &'a ArrayRef>) -> Result<()> {
        self.columns.iter_mut().zip(columns).try_for_each(|(stats, column)| stats.add(column))
    }
}

#[derive(Debug)]
struct ColumnStats {
    /// `None` if nothing is recorded.
    nulls: Option<i64>,
    /// The length of kept text; `None` if there are no bounds.
    length: Option<usize>,
    range: Option<(Value, Value)>,
}

impl ColumnStats {
    fn new(ty: &DataType, mode: MetricsMode, format: FileFormat) -> ColumnStats {
        let has_parts = ty.to_primitive().is_none() || ty.kind == TypeKind::Variant;
        let has_bounds = match &ty.kind {
            TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => false,
            TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => *p <= 6,
            _ => !has_parts,
        };
        let is_none = mode == MetricsMode::None || has_parts && format == FileFormat::Parquet;
        let length = match mode {
            MetricsMode::Truncate(n) => Some(n as usize),
            MetricsMode::Full => Some(usize::MAX),
            MetricsMode::None | MetricsMode::Counts => None,
        };
        ColumnStats { nulls: (!is_none).then_some(0), length: length.filter(|_| has_bounds), range: None }
    }

    fn add(&mut self, column: &ArrayRef) -> Result<()> {
        let Some(nulls) = &mut self.nulls else { return Ok(()) };
        *nulls += column.logical_null_count() as i64;
        if self.length.is_none() || column.null_count() == column.len() {
            return Ok(());
        }
        let unlike = || Error::internal(format!("a column of type {} has no statistics", column.data_type()));
        let (low, high) = range_of(column).ok_or_else(unlike)?;
        self.range = Some(match self.range.take() {
            None => (low, high),
            Some((least, greatest)) => (
                if is_below(&low, &least) { low } else { least },
                if is_below(&greatest, &high) { high } else { greatest },
            ),
        });
        Ok(())
    }

    /// The least and the greatest value, or values below and above them.
    fn bounds(&self) -> Option<(Value, Value)> {
        let (low, high) = self.range.as_ref()?;
        let length = self.length?;
        Some(match (low, high) {
            (Value::String(low), Value::String(high)) => {
                (Value::String(lower_text(low, length).to_owned()), Value::String(upper_text(high, length)?))
            }
            _ => (low.clone(), high.clone()),
        })
    }
}

/// Java's order. It is total for floats: -0.0 is below 0.0, and NaN is above all.
fn is_below(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b).is_lt(),
        (Value::Double(a), Value::Double(b)) => a.total_cmp(b).is_lt(),
        (Value::Boolean(a), Value::Boolean(b)) => a < b,
        (Value::Int(a), Value::Int(b)) => a < b,
        (Value::Long(a), Value::Long(b)) => a < b,
        (Value::Decimal(a), Value::Decimal(b)) => a < b,
        (Value::String(a), Value::String(b)) => a < b,
        _ => false,
    }
}

fn extremes<T: ArrowPrimitiveType>(column: &ArrayRef, of: impl Fn(T::Native) -> Value) -> Option<(Value, Value)>
where
    T::Native: ArrowNativeTypeOp,
{
    let column = column.as_primitive_opt::<T>()?;
    Some((of(min(column)?), of(max(column)?)))
}

/// The least and the greatest value of a column that has one.
fn range_of(column: &ArrayRef) -> Option<(Value, Value)> {
    let nan32 = |v: f32| Value::Float(if v.is_nan() { f32::NAN } else { v });
    let nan64 = |v: f64| Value::Double(if v.is_nan() { f64::NAN } else { v });
    match column.data_type() {
        ArrowType::Boolean => {
            let column = column.as_boolean_opt()?;
            Some((Value::Boolean(min_boolean(column)?), Value::Boolean(max_boolean(column)?)))
        }
        ArrowType::Utf8 => {
            let column = column.as_string_opt::<i32>()?;
            Some((Value::String(min_string(column)?.to_owned()), Value::String(max_string(column)?.to_owned())))
        }
        ArrowType::Int32 => extremes::<Int32Type>(column, Value::Int),
        ArrowType::Date32 => extremes::<Date32Type>(column, Value::Int),
        ArrowType::Int64 => extremes::<Int64Type>(column, Value::Long),
        ArrowType::Time64(_) => extremes::<Time64MicrosecondType>(column, Value::Long),
        ArrowType::Timestamp(..) => extremes::<TimestampMicrosecondType>(column, Value::Long),
        ArrowType::Decimal128(..) => extremes::<Decimal128Type>(column, Value::Decimal),
        ArrowType::Float32 => floats(extremes::<Float32Type>(column, nan32)?),
        ArrowType::Float64 => floats(extremes::<Float64Type>(column, nan64)?),
        _ => None,
    }
}

/// Arrow takes a NaN with a sign for the least value. Then the least other value is unknown.
fn floats((low, high): (Value, Value)) -> Option<(Value, Value)> {
    Some(match low {
        Value::Float(v) if v.is_nan() => (Value::Float(f32::NEG_INFINITY), Value::Float(f32::NAN)),
        Value::Double(v) if v.is_nan() => (Value::Double(f64::NEG_INFINITY), Value::Double(f64::NAN)),
        low => (low, high),
    })
}
