//! Default values of columns: checks them and converts them to the form of table metadata.
//!
//! Source: Iceberg specification, "Default values" and Appendix D, "JSON single-value serialization".

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::types::json::{value_from_json, value_to_json};
use crate::types::{PrimitiveType, Type, Value, temporal};

/// The default of a column of type `ty`, in the form of table metadata. Null means no default.
///
/// # Errors
/// `InvalidInput` if the value is not of the type, or if defaults of this type must be null.
pub(crate) fn canonical(default: Option<&Json>, ty: &Type) -> Result<Option<Json>> {
    let Some(json) = default.filter(|j| !j.is_null()) else { return Ok(None) };
    let must_be_null = || {
        Error::invalid(format!("a column of type {ty} must default to null"))
            .hint("Leave out the default; the fields of a struct can have their own defaults")
    };
    let ty = ty.as_primitive().ok_or_else(must_be_null)?;
    use PrimitiveType as P;
    if matches!(ty, P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. }) {
        return Err(must_be_null());
    }
    let no_value = || Error::invalid(format!("the default {json} is not a value of type {ty}"));
    let value = value_from_json(json, ty).map_err(|e| no_value().because(e))?;
    let value = value.filter(|v| fits(v, ty, json)).ok_or_else(no_value)?;
    Ok(Some(value_to_json(value.as_ref(), ty)))
}

/// Whether a value is in the range of its type.
fn fits(value: &Value, ty: &PrimitiveType, json: &Json) -> bool {
    match (value, ty) {
        (Value::Decimal(unscaled), PrimitiveType::Decimal { precision, .. }) => {
            10_u128.checked_pow(u32::from(*precision)).is_none_or(|limit| unscaled.unsigned_abs() < limit)
        }
        (Value::Float(v), _) => v.is_finite() || json.is_string(),
        _ => true,
    }
}

/// The default after its column got a wider type.
///
/// # Errors
/// `InvalidInput` if the new type can't hold the value.
pub(crate) fn promoted(default: Option<&Json>, from: &Type, to: &Type) -> Result<Option<Json>> {
    let (Some(json), Some(from), Some(to)) = (default, from.as_primitive(), to.as_primitive()) else { return Ok(None) };
    let no_value = || Error::invalid(format!("the default {json} has no value of type {to}"));
    let value = value_from_json(json, from).map_err(|e| no_value().because(e))?.ok_or_else(no_value)?;
    use PrimitiveType as P;
    let value = match (value, to) {
        (Value::Int(v), P::Long) => Value::Long(v.into()),
        (Value::Float(v), P::Double) => Value::Double(v.into()),
        (Value::Int(days), P::Timestamp) => Value::Long(i64::from(days) * temporal::MICROS_PER_DAY),
        (Value::Int(days), P::TimestampNs) => {
            let nanos = i64::from(days).checked_mul(temporal::MICROS_PER_DAY * 1000);
            Value::Long(nanos.ok_or_else(no_value)?)
        }
        (value, _) => value,
    };
    Ok(Some(value_to_json(value.as_ref(), to)))
}
