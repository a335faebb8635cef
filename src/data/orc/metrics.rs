//! Column metrics of a written ORC file, from its statistics.
//!
//! Source: Java Iceberg's `OrcMetrics` for the metrics of each column. Columns inside lists and maps have none, but
//! structs, lists and maps have sizes and counts of their own. ORC counts nothing where a struct is null, so that
//! counts below it may be less than the rows. There are no bounds of binary columns, uuid and fixed, nor of text beyond
//! 1 KiB.

use super::types::OrcType;
use crate::codec::orc::encode::{KindStatistics, OrcColumnStatistics};
use crate::data::write::bounds_truncate::{lower_text, upper_text};
use crate::data::write::metrics::{MetricsConfig, MetricsMode, signed_zero};
use crate::format::task::{ColumnMetrics, FieldMap};
use crate::types::value::encode_bound;
use crate::types::{PrimitiveType, Type, Value};

/// The metrics of a file with `rows` rows. Statistics and bytes are those of each column, by its number.
pub(crate) fn orc_metrics(
    columns: &[OrcType],
    config: &MetricsConfig,
    statistics: &[(OrcColumnStatistics, u64)],
    rows: u64,
) -> ColumnMetrics {
    let mut out = ColumnMetrics {
        column_sizes: Some(FieldMap::new()),
        value_counts: Some(FieldMap::new()),
        null_value_counts: Some(FieldMap::new()),
        nan_value_counts: Some(FieldMap::new()),
        lower_bounds: Some(FieldMap::new()),
        upper_bounds: Some(FieldMap::new()),
    };
    columns.iter().for_each(|column| add(column, config, statistics, rows, &mut out));
    out
}

fn add(
    column: &OrcType,
    config: &MetricsConfig,
    statistics: &[(OrcColumnStatistics, u64)],
    rows: u64,
    out: &mut ColumnMetrics,
) {
    if let Type::Struct(_) = &column.ty {
        column.children.iter().for_each(|child| add(child, config, statistics, rows, out));
    }
    let (mode, id) = (config.mode(column.id), column.id);
    let Some((known, bytes)) = statistics.get(column.number).filter(|_| mode != MetricsMode::None) else { return };
    let put = |map: &mut Option<FieldMap<i64>>, v: u64| {
        map.as_mut().map(|map| map.insert(id, v as i64));
    };
    let nulls = if known.has_null { rows.saturating_sub(known.values) } else { 0 };
    put(&mut out.column_sizes, *bytes);
    put(&mut out.value_counts, known.values + nulls);
    put(&mut out.null_value_counts, nulls);
    if let KindStatistics::Double { nans, .. } = &known.kind {
        put(&mut out.nan_value_counts, *nans);
    }
    let bounds = mode.bound_length().zip(column.ty.as_primitive());
    let Some((low, high)) = bounds.and_then(|(length, ty)| bounds_of(known, ty, length)) else { return };
    let put = |map: &mut Option<FieldMap<Vec<u8>>>, v: Option<Value>| {
        if let Some((map, v)) = map.as_mut().zip(v) {
            map.insert(id, encode_bound(v.as_ref()));
        }
    };
    put(&mut out.lower_bounds, low);
    put(&mut out.upper_bounds, high);
}

/// The bounds that are known.
fn bounds_of(known: &OrcColumnStatistics, ty: &PrimitiveType, length: usize) -> Option<(Option<Value>, Option<Value>)> {
    let both = |low, high| Some((Some(low), Some(high)));
    match &known.kind {
        KindStatistics::Boolean { true_count } if known.values > 0 => {
            both(Value::Boolean(*true_count == known.values), Value::Boolean(*true_count > 0))
        }
        KindStatistics::Integer { range: Some((low, high)), .. } if *ty == PrimitiveType::Int => {
            both(Value::Int(*low as i32), Value::Int(*high as i32))
        }
        KindStatistics::Integer { range: Some((low, high)), .. }
        | KindStatistics::Timestamp { range: Some((low, high)), .. } => both(Value::Long(*low), Value::Long(*high)),
        KindStatistics::Date { range: Some((low, high)) } => both(Value::Int(*low), Value::Int(*high)),
        KindStatistics::Decimal { range: Some((low, high)), .. } => both(Value::Decimal(*low), Value::Decimal(*high)),
        KindStatistics::Double { range: Some((low, high)), .. } => {
            let value = |v: f64| match ty {
                PrimitiveType::Float => Value::Float(v as f32),
                _ => Value::Double(v),
            };
            both(signed_zero(value(*low), true), signed_zero(value(*high), false))
        }
        KindStatistics::Text { range: Some((low, high)), .. } => {
            let low = low.whole().map(|text| Value::String(lower_text(text, length).to_owned()));
            let upper = |text: &str| upper_text(text, length).unwrap_or_else(|| text.to_owned());
            Some((low, high.whole().map(|text| Value::String(upper(text)))))
        }
        _ => None,
    }
}
