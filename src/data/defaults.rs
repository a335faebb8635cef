//! What a column holds in the rows of files that are older than the column.
//!
//! Source: Iceberg specification, "Default values" and Appendix D, "JSON single-value serialization". A struct's default
//! leaves the values of its members to their own defaults; a member's default shows wherever the struct is not null.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, new_empty_array, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;
use serde_json::Value as Json;

use super::arrow_schema::arrow_field;
use super::cast::constant;
use crate::error::{Error, Result};
use crate::types::json::value_from_json;
use crate::types::{Field, PrimitiveType, Type, Value};

/// The initial default of a primitive column; `None` is null.
///
/// # Errors
/// `CorruptTable` if it is no value of the column's type.
pub(crate) fn initial_value(field: &Field, ty: &PrimitiveType) -> Result<Option<Value>> {
    field.initial_default.as_ref().map_or(Ok(None), |json| value(json, ty))
}

/// The initial default of any column as an array of one row in the Arrow type of the column; `None` if it is null.
///
/// # Errors
/// `CorruptTable` if it is no value of the column's type, or null in a required member of a struct.
pub(crate) fn initial_row(field: &Field) -> Result<Option<ArrayRef>> {
    let json = field.initial_default.as_ref().filter(|json| !json.is_null());
    json.map(|json| row(field, json).map_err(|e| e.with("default_of", &field.name))).transpose()
}

/// `rows` times the only row of an array.
///
/// # Errors
/// `CorruptTable` if text or bytes would exceed what an array holds.
pub(crate) fn repeat(row: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    take(row, &UInt32Array::from(vec![0; rows]), None)
        .map_err(|e| Error::corrupt("a value is too large to stand in every row of a batch").because(e))
}

fn value(json: &Json, ty: &PrimitiveType) -> Result<Option<Value>> {
    let read = value_from_json(json, ty);
    match (ty, &read) {
        // Such a column may have been a date when it got its default.
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
mod tests {
    use super::super::testing::{field, list, required, structure};
    use super::*;
    use arrow::array::AsArray;
    use arrow::datatypes::Int32Type;
    use arrow::util::display::array_value_to_string;
    use serde_json::json;

    fn shown(ty: impl Into<Type>, default: Json) -> Result<String> {
        let column = Field { initial_default: Some(default), ..field(1, "c", ty) };
        let rows = repeat(&initial_row(&column)?.unwrap(), 3)?;
        let arrow = arrow_field(&column, "c")?;
        assert_eq!((rows.data_type(), rows.len(), rows.null_count()), (arrow.data_type(), 3, 0));
        Ok(array_value_to_string(&rows, 2).unwrap())
    }

    #[test]
    fn every_type_has_defaults() {
        use PrimitiveType as P;
        let decimal = P::Decimal { precision: 9, scale: 2 };
        for (ty, json, text) in [
            (P::Boolean, json!(true), "true"),
            (P::Int, json!(34), "34"),
            (P::Long, json!(-5), "-5"),
            (P::Float, json!(1.5), "1.5"),
            (P::Double, json!("NaN"), "NaN"),
            (decimal, json!("14.20"), "14.20"),
            (P::Date, json!("2020-01-01"), "2020-01-01"),
            (P::Time, json!("01:02:03.000004"), "01:02:03.000004"),
            (P::Timestamp, json!("2020-01-01T00:00:00.000001"), "2020-01-01T00:00:00.000001"),
            (P::Timestamp, json!("2020-01-02"), "2020-01-02T00:00:00"),
            (P::Timestamptz, json!("2020-01-01T00:00:00+00:00"), "2020-01-01T00:00:00Z"),
            (P::TimestampNs, json!("2020-01-01T00:00:00.000000001"), "2020-01-01T00:00:00.000000001"),
            (P::TimestampNs, json!("1969-12-31"), "1969-12-31T00:00:00"),
            (P::TimestamptzNs, json!("2020-01-01T00:00:00.000000001+00:00"), "2020-01-01T00:00:00.000000001Z"),
            (P::String, json!("dflt"), "dflt"),
            (P::Uuid, json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09677c4bbda4793f349cb785e7"),
            (P::Fixed(2), json!("01FF"), "01ff"),
            (P::Binary, json!("01FF"), "01ff"),
        ] {
            assert_eq!(shown(ty.clone(), json).unwrap(), text, "{ty}");
        }
        for (ty, json) in [(P::Int, json!("1")), (P::Fixed(3), json!("01FF")), (P::Unknown, json!(1))] {
            assert!(shown(ty, json).is_err());
        }
    }

    /// The table of examples under "Default values", and lists and maps as Appendix D writes them.
    #[test]
    fn nested_columns_have_defaults() {
        let with_default = |f: Field, json| Field { initial_default: Some(json), ..f };
        let member = |id, name| with_default(field(id, name, PrimitiveType::Int), json!(0));
        let point = structure(vec![member(2, "x"), member(3, "y"), field(4, "z", PrimitiveType::Int)]);
        assert_eq!(shown(point.clone(), json!({})).unwrap(), "{x: 0, y: 0, z: }");
        assert_eq!(shown(point.clone(), json!({"3": -1})).unwrap(), "{x: 0, y: -1, z: }");
        let points = list(field(5, "element", point));
        assert_eq!(shown(points, json!([{}, null, {"4": 7}])).unwrap(), "[{x: 0, y: 0, z: }, , {x: 0, y: 0, z: 7}]");
        let map = |ty: PrimitiveType| {
            let key = Arc::new(required(2, "key", PrimitiveType::String));
            Type::Map(key, Arc::new(field(3, "value", ty)))
        };
        assert_eq!(shown(map(PrimitiveType::Int), json!({"keys": ["a"], "values": [1]})).unwrap(), "{a: 1}");
        assert_eq!(shown(map(PrimitiveType::Int), json!({"keys": [], "values": []})).unwrap(), "{}");
        assert!(shown(map(PrimitiveType::Int), json!({"keys": ["a"], "values": []})).is_err());
        let must = structure(vec![required(2, "x", PrimitiveType::Int)]);
        assert!(shown(must, json!({})).is_err());
    }

    #[test]
    fn null_is_no_default() {
        let plain = field(1, "c", PrimitiveType::Int);
        assert!(initial_row(&plain).unwrap().is_none());
        assert!(initial_row(&Field { initial_default: Some(Json::Null), ..plain.clone() }).unwrap().is_none());
        let seven = Field { initial_default: Some(json!(7)), ..plain };
        assert_eq!(initial_value(&seven, &PrimitiveType::Int).unwrap(), Some(Value::Int(7)));
        let none = repeat(&initial_row(&seven).unwrap().unwrap(), 0).unwrap();
        assert_eq!(none.as_primitive::<Int32Type>().len(), 0);
    }
}
