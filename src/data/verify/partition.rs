//! Recorded partition values against bounds: those in the record, or those of a footer.

use std::cmp::Ordering;

use super::compare::{Difference, RecordedColumn, has_two_orders, name};
use crate::format::diagnosis::table_codes as codes;
use crate::format::task::PartitionValue;
use crate::types::transform::format_partition_value;
use crate::types::value::decode_bound;
use crate::types::{PrimitiveType, Schema, Transform, Value};

/// Compares a partition value with the bounds of its source column.
///
/// Bounds may be cut, so they only show a range of partition values. A value outside of that range, or null for
/// values that are not null, is a difference.
pub(crate) fn against_bounds(
    schema: &Schema,
    partition: &PartitionValue,
    column: RecordedColumn<'_>,
    out: &mut Vec<Difference>,
) {
    let transform = &partition.transform;
    let Some(source) = schema.field(partition.source_id).and_then(|f| f.ty.as_primitive()) else { return };
    if matches!(transform, Transform::Void | Transform::Unknown(_)) || column.values == Some(0) {
        return;
    }
    let decoded = |bytes: Option<&[u8]>| -> Option<Value> {
        let value = decode_bound(bytes?, source).ok()??;
        (!value.is_nan()).then(|| value.to_owned())
    };
    let (low, high) = (decoded(column.lower), decoded(column.upper));
    let text = |v: Option<&Value>| format_partition_value(v.map(Value::as_ref), transform, &partition.ty);
    let mut differs = |found: String| {
        let at = name(schema, partition.source_id);
        let evidence =
            format!("{} is recorded as {}, but {found} of {at}", partition.name, text(partition.value.as_ref()));
        out.push(Difference::new(&codes::PARTITION_VALUE, evidence));
    };
    let Some(value) = &partition.value else {
        if (low.is_some() || high.is_some()) && !source.is_float() {
            differs("there are values".to_owned());
        }
        return;
    };
    if let (Some(values), Some(nulls)) = (column.values, column.nulls)
        && nulls > 0
        && nulls <= values
    {
        return differs(format!("there are {nulls} nulls"));
    }
    if !transform.preserves_order() {
        let exact = low.filter(|low| Some(low) == high.as_ref() && is_exact(source));
        let found = exact.and_then(|v| transform.apply(v.as_ref(), source));
        if let Some(found) = found.filter(|found| found != value) {
            differs(format!("the only value is in {}", text(Some(&found))));
        }
        return;
    }
    if has_two_orders(source) {
        return;
    }
    let of = |v: Option<Value>| transform.apply(v?.as_ref(), source);
    if let Some(low) = of(low).filter(|low| low.sql_cmp(value) == Some(Ordering::Greater)) {
        return differs(format!("values begin in {}", text(Some(&low))));
    }
    if let Some(high) = of(high).filter(|high| high.sql_cmp(value) == Some(Ordering::Less)) {
        differs(format!("values end in {}", text(Some(&high))));
    }
}

/// Whether equal bounds of this type mean that there is one value.
fn is_exact(source: &PrimitiveType) -> bool {
    !matches!(source, PrimitiveType::String | PrimitiveType::Binary)
}
