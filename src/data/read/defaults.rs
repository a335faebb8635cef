//! The values of a column in the rows of files that are older than the column.
//!
//! Source: Iceberg specification, "Default values" and Appendix D, "JSON single-value serialization". A struct's
//! default leaves the values of its members to their own defaults; a member's default shows wherever the struct is not
//! null.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, new_empty_array, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;
use serde_json::Value as Json;

use super::cast::constant;
use crate::data::arrow::schema::arrow_field;
use crate::error::{Error, Result};
use crate::types::json::value_from_json;
use crate::types::{Field, PrimitiveType, Type, Value};

/// The initial default of a primitive column; `None` is null.
///
/// # Errors
/// `CorruptTable` if it is not a value of the column's type.
pub(crate) fn initial_value(field: &Field, ty: &PrimitiveType) -> Result<Option<Value>> {
    field.initial_default.as_ref().map_or(Ok(None), |json| value(json, ty))
}

/// The initial default of any column as an array of one row in the Arrow type of the column; `None` if it is null.
///
/// # Errors
/// `CorruptTable` if it is not a value of the column's type, or null in a required member of a struct.
pub(crate) fn initial_row(field: &Field) -> Result<Option<ArrayRef>> {
    let json = field.initial_default.as_ref().filter(|json| !json.is_null());
    json.map(|json| row(field, json).map_err(|e| e.with("default_of", &field.name))).transpose()
}

/// The write default of any column: the value of new rows that do not give one. The form is that of [`initial_row`].
///
/// # Errors
/// The errors of [`initial_row`].
pub(crate) fn write_row(field: &Field) -> Result<Option<ArrayRef>> {
    let written = |f: &Field| Field { initial_default: f.write_default.clone(), ..f.clone() };
    let ty = match &field.ty {
        Type::Struct(members) => Type::Struct(members.iter().map(written).collect()),
        ty => ty.clone(),
    };
    initial_row(&Field { ty, ..written(field) })
}

/// `rows` times the only row of an array.
///
/// # Errors
/// `CorruptTable` if text or bytes would be too large for an array.
pub(crate) fn repeat(row: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    take(row, &UInt32Array::from(vec![0; rows]), None)
        .map_err(|e| Error::corrupt("a default value is too large to be repeated in each row of a batch").because(e))
}

fn value(json: &Json, ty: &PrimitiveType) -> Result<Option<Value>> {
    let read = value_from_json(json, ty);
    match (ty, &read) {
        // The column may have been a date when it got its default.
        (PrimitiveType::Timestamp | PrimitiveType::TimestampNs, Err(_)) => {
            value_from_json(json, &PrimitiveType::Date).or(read)
        }
        _ => read,
    }
}

/// The one row of a value that is not null.
fn row(field: &Field, json: &Json) -> Result<ArrayRef> {
    let bad = || Error::corrupt(format!("the default {json} is not a value of type {}", field.ty));
    let fault = |e: ArrowError| bad().because(e);
    let arrow = arrow_field(field, &field.name)?;
    Ok(match (&field.ty, arrow.data_type(), json) {
        (Type::Primitive(ty), _, json) => constant(value(json, ty)?.as_ref(), ty, 1)?,
        (Type::Struct(members), DataType::Struct(fields), Json::Object(given)) => {
            let member = |m: &Field| one(m, given.get(&m.id.to_string()).or(m.initial_default.as_ref()));
            let columns = members.iter().map(member).collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, 1).map_err(fault)?)
        }
        (Type::List(element), DataType::List(child), Json::Array(items)) => {
            let values = several(element, child.data_type(), items)?;
            let offsets = OffsetBuffer::from_lengths([values.len()]);
            Arc::new(ListArray::try_new(child.clone(), offsets, values, None).map_err(fault)?)
        }
        (Type::Map(key, value), DataType::Map(entries, _), Json::Object(given)) => {
            let items = |name: &str| given.get(name).and_then(Json::as_array).ok_or_else(bad);
            let DataType::Struct(fields) = entries.data_type() else { return Err(bad()) };
            let fields: &Fields = fields;
            let [key_field, value_field] = fields.as_ref() else { return Err(bad()) };
            let keys = several(key, key_field.data_type(), items("keys")?)?;
            let values = several(value, value_field.data_type(), items("values")?)?;
            let offsets = OffsetBuffer::from_lengths([keys.len()]);
            let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(fault)?;
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, None, false).map_err(fault)?)
        }
        _ => return Err(bad()),
    })
}

/// One row of a value that may be null.
fn one(field: &Field, json: Option<&Json>) -> Result<ArrayRef> {
    match json.filter(|json| !json.is_null()) {
        Some(json) => row(field, json),
        None if field.required => {
            Err(Error::corrupt("a default leaves out a required field that has no default").with("field", &field.name))
        }
        None => Ok(new_null_array(arrow_field(field, &field.name)?.data_type(), 1)),
    }
}

fn several(field: &Field, data_type: &DataType, items: &[Json]) -> Result<ArrayRef> {
    let rows = items.iter().map(|json| one(field, Some(json))).collect::<Result<Vec<_>>>()?;
    if rows.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    concat(&rows.iter().map(ArrayRef::as_ref).collect::<Vec<_>>())
        .map_err(|e| Error::internal("values of one type were expected").because(e))
}

#[cfg(test)]
#[path = "defaults_tests.rs"]
mod tests;
