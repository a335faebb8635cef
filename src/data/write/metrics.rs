//! Column metrics of a written Parquet file, from its footer.
//!
//! Source: Iceberg specification, "Manifests" and Appendix D; Java Iceberg's `ParquetMetrics` and `MetricsConfig` for
//! the metrics of each column. Columns inside lists and maps have sizes only. Bounds hold no NaN. A lower zero is -0.0
//! and an upper zero 0.0. A column of nulls and NaN has no bounds. Parquet's footer has no NaN counts: the writer
//! counts them. Statistics give no bounds if another writer used an order that is not the type's ([`ends`]).

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;

use super::bounds_truncate::{lower_bytes, lower_text, upper_bytes, upper_text};
use crate::codec::parquet::ends;
use crate::data::parquet::checks::footer::writer_faults;
use crate::format::task::{ColumnMetrics, FieldMap};
use crate::types::value::encode_bound;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type, Value, ValueRef, decimal};

const DEFAULT_MODE: &str = "write.metadata.metrics.default";
const COLUMN_MODE: &str = "write.metadata.metrics.column.";
const MOST_INFERRED: &str = "write.metadata.metrics.max-inferred-column-defaults";

/// The metrics that are recorded for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsMode {
    /// Nothing.
    None,
    /// Sizes and counts.
    Counts,
    /// Counts and bounds. Text is cut to this number of code points, and binary to this number of bytes.
    Truncate(u32),
    /// Counts and whole bounds.
    Full,
}

impl MetricsMode {
    /// Reads `none`, `counts`, `truncate(N)` with N above 0, or `full`. Letters may be upper or lower case.
    pub fn parse(text: &str) -> Option<MetricsMode> {
        let text = text.to_ascii_lowercase();
        match text.as_str() {
            "none" => Some(MetricsMode::None),
            "counts" => Some(MetricsMode::Counts),
            "full" => Some(MetricsMode::Full),
            text => {
                let digits = text.strip_prefix("truncate(")?.strip_suffix(')')?;
                let number = digits.parse().ok().filter(|n| (1..=i32::MAX as u32).contains(n));
                number.filter(|_| digits.bytes().all(|b| b.is_ascii_digit())).map(MetricsMode::Truncate)
            }
        }
    }

    /// The length of text and binary in a bound; `None` without bounds.
    pub(crate) fn bound_length(self) -> Option<usize> {
        match self {
            MetricsMode::None | MetricsMode::Counts => None,
            MetricsMode::Truncate(n) => Some(n as usize),
            MetricsMode::Full => Some(usize::MAX),
        }
    }
}

/// The mode of every column of a table.
#[derive(Clone, Debug)]
pub struct MetricsConfig {
    default: MetricsMode,
    columns: HashMap<FieldId, MetricsMode>,
}

impl MetricsConfig {
    /// Reads the table properties `write.metadata.metrics.*`. Without a default given, columns get `truncate(16)`. Only
    /// the first `max-inferred-column-defaults` (100) columns of a schema do. Columns that rows are `sorted` by always
    /// have bounds. Modes that can't be read fall back to the default, as in Java.
    pub fn new(schema: &Schema, properties: &BTreeMap<String, String>, sorted: &[FieldId]) -> Self {
        let inferred = MetricsMode::Truncate(16);
        let mut columns = HashMap::new();
        let default = match properties.get(DEFAULT_MODE) {
            Some(text) => MetricsMode::parse(text).unwrap_or(inferred),
            None => {
                let most = properties.get(MOST_INFERRED).and_then(|n| n.trim().parse().ok()).unwrap_or(100);
                let mut ids = Vec::new();
                first_leaves(&schema.fields.iter().collect::<Vec<_>>(), &mut ids);
                if ids.len() <= most {
                    inferred
                } else {
                    columns.extend(ids.into_iter().take(most).map(|id| (id, inferred)));
                    MetricsMode::None
                }
            }
        };
        let of_sorted = if default.bound_length().is_none() { inferred } else { default };
        columns.extend(sorted.iter().map(|id| (*id, of_sorted)));
        for (key, mode) in properties {
            let name = key.strip_prefix(COLUMN_MODE);
            let field = name.and_then(|name| schema.find(&name.split('.').collect::<Vec<_>>(), true));
            if let Some(field) = field {
                columns.insert(field.id, MetricsMode::parse(mode).unwrap_or(default));
            }
        }
        MetricsConfig { default, columns }
    }

    /// Whole bounds for every column.
    pub fn full() -> Self {
        MetricsConfig { default: MetricsMode::Full, columns: HashMap::new() }
    }

    /// The mode of a column.
    pub fn mode(&self, id: FieldId) -> MetricsMode {
        self.columns.get(&id).copied().unwrap_or(self.default)
    }

    /// The number of bytes in a Parquet statistic that is enough for every column's bounds. `None` for no limit.
    ///
    /// Text that is cut to N code points needs one more, which shows that it was cut.
    pub fn statistics_bytes(&self, schema: &Schema) -> Option<usize> {
        let leaf = |id: FieldId| schema.field(id).and_then(|f| f.ty.as_primitive());
        let needed = |id: FieldId| match (leaf(id), self.mode(id).bound_length()) {
            (Some(PrimitiveType::String), Some(n)) => n.checked_add(1).and_then(|n| n.checked_mul(4)),
            (Some(PrimitiveType::Binary), Some(n)) => n.checked_add(1),
            (Some(PrimitiveType::Fixed(n)), Some(_)) => Some(*n as usize),
            _ => Some(0),
        };
        schema.field_ids().map(needed).try_fold(64, |most, n| Some(most.max(n?)))
    }
}

/// Leaves in Java's order of preference: the leaves of each struct itself come first, then those further down.
fn first_leaves(fields: &[&Field], out: &mut Vec<FieldId>) {
    out.extend(fields.iter().filter(|f| f.ty.as_primitive().is_some()).map(|f| f.id));
    for field in fields.iter().filter(|f| !matches!(f.ty, Type::Primitive(_))) {
        first_leaves(&field.ty.children(), out);
    }
}

/// The metrics of a file whose columns carry the ids of `schema`.
///
/// `nan_counts` holds the NaN count of every float and double column outside lists and maps. Nothing is known of a
/// column that is missing there. Its bounds need statistics in every row group.
pub fn file_metrics(
    schema: &Schema,
    config: &MetricsConfig,
    footer: &ParquetMetaData,
    nan_counts: &BTreeMap<FieldId, i64>,
) -> ColumnMetrics {
    let columns = footer.file_metadata().schema_descr().columns();
    let own_id = |leaf: usize| {
        let info = columns.get(leaf)?.self_type().get_basic_info();
        if info.has_id() { Some(info.id()) } else { variant_of(schema, footer, leaf) }
    };
    metrics_by_leaf(schema, config, footer, nan_counts, &own_id)
}

/// Does the same as [`file_metrics`], for a file whose leaves have other ids than they carry. Leaves get no id if their
/// statistics are not those of the column's type. Such leaves have no metrics.
pub fn metrics_by_leaf(
    schema: &Schema,
    config: &MetricsConfig,
    footer: &ParquetMetaData,
    nan_counts: &BTreeMap<FieldId, i64>,
    id_of: &dyn Fn(usize) -> Option<FieldId>,
) -> ColumnMetrics {
    let (mut sizes, mut counts, mut nulls, mut nans) =
        (FieldMap::new(), FieldMap::new(), FieldMap::new(), FieldMap::new());
    let (mut lower, mut upper) = (FieldMap::new(), FieldMap::new());
    for (i, column) in footer.file_metadata().schema_descr().columns().iter().enumerate() {
        let field = id_of(i).and_then(|id| schema.field(id));
        let Some((id, ty)) = field.and_then(|f| Some((f.id, f.ty.as_primitive()?))) else { continue };
        let mode = config.mode(id);
        if mode == MetricsMode::None {
            continue;
        }
        let chunks: Vec<&ColumnChunkMetaData> = footer.row_groups().iter().filter_map(|g| g.columns().get(i)).collect();
        // Java takes the counts of a variant from its metadata, and its parts have no sizes.
        if *ty != PrimitiveType::Variant {
            sizes.insert(id, chunks.iter().map(|c| c.compressed_size()).sum());
        }
        let counted = column.max_rep_level() == 0 && !writer_faults(footer).null_counts;
        let Some((count, null_count)) = counted.then(|| total_counts(&chunks)).flatten() else {
            continue;
        };
        counts.insert(id, count);
        nulls.insert(id, null_count);
        let nan_count = nan_counts.get(&id).filter(|_| ty.is_float());
        nans.extend(nan_count.map(|n| (id, *n)));
        let Some(length) = mode.bound_length() else { continue };
        let length = if matches!(ty, PrimitiveType::String | PrimitiveType::Binary) { length } else { usize::MAX };
        if let Some((low, high)) = bounds((footer, i), &chunks, ty, nan_count.is_some()) {
            lower.insert(id, encode_bound(cut_lower(low.as_ref(), length)));
            upper.extend(cut_upper(high, length).map(|v| (id, encode_bound(v.as_ref()))));
        }
    }
    ColumnMetrics {
        column_sizes: Some(sizes),
        value_counts: Some(counts),
        null_value_counts: Some(nulls),
        nan_value_counts: Some(nans),
        lower_bounds: Some(lower),
        upper_bounds: Some(upper),
    }
}

/// The variant column whose metadata are in the leaf with this number.
fn variant_of(schema: &Schema, footer: &ParquetMetaData, leaf: usize) -> Option<FieldId> {
    let descr = footer.file_metadata().schema_descr();
    let column = descr.columns().get(leaf)?;
    let (name, above) = column.path().parts().split_last()?;
    if name != "metadata" || column.self_type().get_basic_info().has_id() {
        return None;
    }
    let mut group = descr.root_schema();
    for part in above {
        group = group.get_fields().iter().find(|f| f.name() == part)?;
    }
    let info = group.get_basic_info();
    let field = info.has_id().then(|| schema.field(info.id())).flatten()?;
    (field.ty == Type::Primitive(PrimitiveType::Variant)).then_some(field.id)
}

/// The counts of values (nulls included) and of nulls. `None` if a row group does not record them, or records more
/// nulls than its values and bounds allow.
fn total_counts(chunks: &[&ColumnChunkMetaData]) -> Option<(i64, i64)> {
    chunks.iter().try_fold((0i64, 0i64), |(count, nulls), chunk| {
        let statistics = chunk.statistics()?;
        let here = i64::try_from(statistics.null_count_opt()?).ok()?;
        let bounded = statistics.min_bytes_opt().is_some() || statistics.max_bytes_opt().is_some();
        let most = chunk.num_values().checked_sub(i64::from(bounded))?;
        (here <= most).then_some((count.checked_add(chunk.num_values())?, nulls.checked_add(here)?))
    })
}

/// The least and the greatest value of a leaf over all row groups. They are unknown if a row group has no trusted
/// statistics, unless it is known to hold only nulls and NaN.
fn bounds(
    (footer, leaf): (&ParquetMetaData, usize),
    chunks: &[&ColumnChunkMetaData],
    ty: &PrimitiveType,
    nans_known: bool,
) -> Option<(Value, Value)> {
    let mut merged: Option<(Value, Value)> = None;
    for chunk in chunks {
        let statistics = chunk.statistics()?;
        let ends = || ends::are_believed(footer.file_metadata(), leaf, statistics).then(|| min_max(statistics, ty));
        let Some((low, high)) = ends().flatten() else {
            let all_null = statistics.null_count_opt().and_then(|n| i64::try_from(n).ok()) == Some(chunk.num_values());
            let no_bytes = statistics.min_bytes_opt().is_none() && statistics.max_bytes_opt().is_none();
            if no_bytes && (all_null || nans_known) {
                continue;
            }
            return None;
        };
        let inverted = low.sql_cmp(&high).is_none_or(Ordering::is_gt);
        if inverted || low.as_ref().is_nan() || high.as_ref().is_nan() {
            return None;
        }
        merged = Some(match merged {
            None => (low, high),
            Some((l, h)) => (
                if low.sql_cmp(&l)? == Ordering::Less { low } else { l },
                if high.sql_cmp(&h)? == Ordering::Greater { high } else { h },
            ),
        });
    }
    merged.map(|(low, high)| (signed_zero(low, true), signed_zero(high, false)))
}

/// For a zero of either sign, -0.0 is a sound lower bound and 0.0 a sound upper one.
pub(crate) fn signed_zero(v: Value, negative: bool) -> Value {
    match v {
        Value::Float(0.0) => Value::Float(if negative { -0.0 } else { 0.0 }),
        Value::Double(0.0) => Value::Double(if negative { -0.0 } else { 0.0 }),
        v => v,
    }
}

fn min_max(statistics: &Statistics, ty: &PrimitiveType) -> Option<(Value, Value)> {
    match statistics {
        Statistics::Boolean(s) => Some((Value::Boolean(*s.min_opt()?), Value::Boolean(*s.max_opt()?))),
        Statistics::Int32(s) => Some((of_int(*s.min_opt()?, ty)?, of_int(*s.max_opt()?, ty)?)),
        Statistics::Int64(s) => Some((of_long(*s.min_opt()?, ty)?, of_long(*s.max_opt()?, ty)?)),
        Statistics::Float(s) => Some((Value::Float(*s.min_opt()?), Value::Float(*s.max_opt()?))),
        Statistics::Double(s) => Some((Value::Double(*s.min_opt()?), Value::Double(*s.max_opt()?))),
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => {
            Some((of_bytes(statistics.min_bytes_opt()?, ty)?, of_bytes(statistics.max_bytes_opt()?, ty)?))
        }
        Statistics::Int96(_) => None,
    }
}

fn of_int(v: i32, ty: &PrimitiveType) -> Option<Value> {
    match ty {
        PrimitiveType::Int | PrimitiveType::Date => Some(Value::Int(v)),
        PrimitiveType::Decimal { .. } => Some(Value::Decimal(i128::from(v))),
        _ => None,
    }
}

fn of_long(v: i64, ty: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    match ty {
        P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => Some(Value::Long(v)),
        P::Decimal { .. } => Some(Value::Decimal(i128::from(v))),
        _ => None,
    }
}

fn of_bytes(bytes: &[u8], ty: &PrimitiveType) -> Option<Value> {
    match ty {
        PrimitiveType::String => Some(Value::String(std::str::from_utf8(bytes).ok()?.to_owned())),
        PrimitiveType::Binary | PrimitiveType::Fixed(_) => Some(Value::Bytes(bytes.to_vec())),
        PrimitiveType::Uuid => Some(Value::Uuid(u128::from_be_bytes(bytes.try_into().ok()?))),
        PrimitiveType::Decimal { .. } => Some(Value::Decimal(decimal::from_be_bytes(bytes)?)),
        _ => None,
    }
}

fn cut_lower(v: ValueRef<'_>, length: usize) -> ValueRef<'_> {
    match v {
        ValueRef::String(s) => ValueRef::String(lower_text(s, length)),
        ValueRef::Bytes(b) => ValueRef::Bytes(lower_bytes(b, length)),
        v => v,
    }
}

fn cut_upper(v: Value, length: usize) -> Option<Value> {
    match v {
        Value::String(s) => upper_text(&s, length).map(Value::String),
        Value::Bytes(b) => upper_bytes(&b, length).map(Value::Bytes),
        v => Some(v),
    }
}

/// The offsets where the file's row groups begin, ascending.
pub fn split_offsets(footer: &ParquetMetaData) -> Vec<i64> {
    let start = |c: &ColumnChunkMetaData| match c.dictionary_page_offset() {
        Some(dictionary) if dictionary > 0 => dictionary.min(c.data_page_offset()),
        _ => c.data_page_offset(),
    };
    let mut offsets: Vec<i64> = footer.row_groups().iter().filter_map(|g| g.columns().first().map(start)).collect();
    offsets.sort_unstable();
    offsets
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
