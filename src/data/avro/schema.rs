//! The columns of an Avro file as Arrow columns with field ids.
//!
//! Ids come from the attributes that Iceberg adds to Avro schemas: `field-id` of record members, `element-id` of
//! arrays, `key-id` and `value-id` of maps. A map whose keys are not strings is an array of records `key`, `value` with
//! the logical type `map`.
//!
//! Source: Iceberg specification, Appendix A, "Avro"; where it is silent, Java's `SchemaToType`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, TimeUnit, UnionFields};

use crate::codec::avro::{Budget, Logical, Node, Shape};
use crate::data::arrow::schema::FIELD_ID_KEY;
use crate::error::{Error, Result};

/// The Arrow schema of the rows of an Avro file. Types that no table column has become an empty union.
///
/// # Errors
/// `CorruptTable` if the file's rows are no records; `Unsupported` if the schema unfolds to too many columns.
pub(crate) fn avro_columns(rows: &Node) -> Result<ArrowSchema> {
    let members = rows.members().ok_or_else(|| Error::corrupt("the rows of the Avro file are not records"))?;
    let mut budget = Budget::default();
    let fields = members.iter().map(|m| field(&m.name, m.id, &m.node, &mut budget));
    Ok(ArrowSchema::new(fields.collect::<Result<Fields>>()?))
}

fn field(name: &str, id: Option<i32>, node: &Node, budget: &mut Budget) -> Result<FieldRef> {
    budget.spend()?;
    let (_, value) = node.optional();
    let metadata = id.map(|id| (FIELD_ID_KEY.to_owned(), id.to_string()));
    let field = ArrowField::new(name, data_type(value, budget)?, true);
    Ok(Arc::new(field.with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())))
}

fn data_type(node: &Node, budget: &mut Budget) -> Result<DataType> {
    use DataType as D;
    Ok(match (&node.shape, &node.logical) {
        (Shape::Null, _) => D::Null,
        (Shape::Boolean, _) => D::Boolean,
        (Shape::Int, Logical::Date) => D::Date32,
        (Shape::Int, Logical::TimeMillis) => D::Time32(TimeUnit::Millisecond),
        (Shape::Int, _) => D::Int32,
        (Shape::Long, Logical::TimeMicros) => D::Time64(TimeUnit::Microsecond),
        (Shape::Long, Logical::TimestampMillis { utc }) => D::Timestamp(TimeUnit::Millisecond, zone(*utc)),
        (Shape::Long, Logical::TimestampMicros { utc }) => D::Timestamp(TimeUnit::Microsecond, zone(*utc)),
        (Shape::Long, Logical::TimestampNanos { utc }) => D::Timestamp(TimeUnit::Nanosecond, zone(*utc)),
        (Shape::Long, _) => D::Int64,
        (Shape::Float, _) => D::Float32,
        (Shape::Double, _) => D::Float64,
        (Shape::Bytes | Shape::Fixed(_), Logical::Decimal { precision, scale }) => {
            D::Decimal128(*precision, *scale as i8)
        }
        (Shape::Bytes, _) => D::Binary,
        (Shape::String | Shape::Enum(_), _) => D::Utf8,
        (Shape::Fixed(0) | Shape::Union(_), _) => D::Union(UnionFields::empty(), arrow::datatypes::UnionMode::Sparse),
        (Shape::Fixed(size), _) => {
            let size = i32::try_from(*size).map_err(|e| Error::corrupt("an Avro type is too wide").because(e))?;
            D::FixedSizeBinary(size)
        }
        (Shape::Record(members), _) => {
            let fields = members.iter().map(|m| field(&m.name, m.id, &m.node, budget));
            D::Struct(fields.collect::<Result<Fields>>()?)
        }
        (Shape::Array(items), Logical::Map) => {
            let Some([key, value]) = items.members() else {
                return Err(Error::corrupt("an Avro array that stands for a map does not hold keys and values"));
            };
            map(field("key", key.id, &key.node, budget)?, field("value", value.id, &value.node, budget)?)
        }
        (Shape::Array(items), _) => D::List(field("element", node.inner_ids[0], items, budget)?),
        (Shape::Map(values), _) => {
            let key = ArrowField::new("key", D::Utf8, true);
            let id = node.inner_ids[0].map(|id| (FIELD_ID_KEY.to_owned(), id.to_string()));
            let key = Arc::new(key.with_metadata(id.into_iter().collect::<HashMap<_, _>>()));
            map(key, field("value", node.inner_ids[1], values, budget)?)
        }
    })
}

fn zone(utc: bool) -> Option<Arc<str>> {
    utc.then(|| Arc::from("UTC"))
}

fn map(key: FieldRef, value: FieldRef) -> DataType {
    let key = Arc::new(ArrowField::clone(&key).with_nullable(false));
    let entries = DataType::Struct(Fields::from(vec![key, value]));
    DataType::Map(Arc::new(ArrowField::new("key_value", entries, false)), false)
}
