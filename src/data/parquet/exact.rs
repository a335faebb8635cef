//! The Parquet schema of a Paimon table's files.
//!
//! Source: Java's `ParquetSchemaConverter`. Names stay as they are, integers have their width in bits, times of day are
//! milliseconds. Timestamps have the unit of their digits (more than six: 96 bits), and entries of maps are marked as
//! in old files.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, make_array};
use arrow::datatypes::{DataType, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType, TypePtr};

use super::schema::{leaf as plain_leaf, refused};
use crate::data::arrow::schema::is_variant;
use crate::data::declared_types::stored::{ExactLeaf, ExactTypes};
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type, decimal};

/// The ids of the two parts of a variant, in that order.
const VARIANT_PARTS: [(&str, i32); 2] = [("value", 0), ("metadata", 1)];

/// The Parquet schema for rows of `schema`.
///
/// # Errors
/// `Unsupported` for types that can't be written.
pub(crate) fn exact_parquet(schema: &Schema, exact: &ExactTypes) -> Result<SchemaDescriptor> {
    let fields = schema.fields.iter().map(|f| field(f, &f.name, exact)).collect::<Result<Vec<_>>>()?;
    let root = ParquetType::group_type_builder("paimon_schema").with_fields(fields).build();
    Ok(SchemaDescriptor::new(Arc::new(root.map_err(|e| refused(e, "paimon_schema"))?)))
}

fn field(f: &Field, name: &str, exact: &ExactTypes) -> Result<TypePtr> {
    let repetition = if f.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let group = |logical: Option<LogicalType>, fields: Vec<TypePtr>| {
        let group = ParquetType::group_type_builder(name).with_repetition(repetition).with_logical_type(logical);
        group.with_fields(fields).with_id(Some(f.id)).build()
    };
    let built = match &f.ty {
        Type::Struct(fields) => {
            group(None, fields.iter().map(|f| field(f, &f.name, exact)).collect::<Result<Vec<_>>>()?)
        }
        Type::List(element) => {
            let repeated = repeated("list", vec![field(element, "element", exact)?], ConvertedType::NONE);
            group(Some(LogicalType::List), vec![repeated.map_err(|e| refused(e, &f.name))?])
        }
        Type::Map(key, value) => {
            let entries = vec![field(key, "key", exact)?, field(value, "value", exact)?];
            let entries = repeated("key_value", entries, ConvertedType::MAP_KEY_VALUE);
            group(Some(LogicalType::Map), vec![entries.map_err(|e| refused(e, &f.name))?])
        }
        Type::Primitive(PrimitiveType::Variant) => {
            let part = |(name, id): (&str, i32)| {
                let part = ParquetType::primitive_type_builder(name, Physical::BYTE_ARRAY);
                part.with_repetition(Repetition::REQUIRED).with_id(Some(id)).build().map(Arc::new)
            };
            let parts = VARIANT_PARTS.into_iter().map(part).collect::<Result<Vec<_>, _>>();
            group(None, parts.map_err(|e| refused(e, &f.name))?)
        }
        Type::Primitive(p) => {
            let (physical, logical) = leaf(p, exact.leaf(f.id, p)).map_err(|e| e.with("column", &f.name))?;
            let (precision, scale) = match p {
                PrimitiveType::Decimal { precision, scale } => (i32::from(*precision), i32::from(*scale)),
                _ => (-1, -1),
            };
            let length = match p {
                PrimitiveType::Decimal { precision, .. } if physical == Physical::FIXED_LEN_BYTE_ARRAY => {
                    decimal::bytes_of_precision(*precision) as i32
                }
                _ => -1,
            };
            let leaf = ParquetType::primitive_type_builder(name, physical).with_repetition(repetition);
            let leaf = leaf.with_logical_type(logical).with_precision(precision).with_scale(scale);
            leaf.with_length(length).with_id(Some(f.id)).build()
        }
    };
    built.map(Arc::new).map_err(|e| refused(e, &f.name))
}

/// The Arrow schema whose columns are in the order of the file's: the value of a variant comes before its metadata.
/// `None` if rows have that order already.
pub(crate) fn exact_order(arrow: &ArrowSchema) -> Option<SchemaRef> {
    let fields: Fields = arrow.fields().iter().map(in_order).collect();
    (fields != *arrow.fields()).then(|| Arc::new(ArrowSchema::new_with_metadata(fields, arrow.metadata().clone())))
}

fn in_order(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(parts) if is_variant(field) => DataType::Struct(parts.iter().rev().cloned().collect()),
        DataType::Struct(members) => DataType::Struct(members.iter().map(in_order).collect()),
        DataType::List(element) => DataType::List(in_order(element)),
        DataType::Map(entries, sorted) => DataType::Map(in_order(entries), *sorted),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Rows in the order of [`exact_order`]. No value is copied.
///
/// # Errors
/// An error for rows of another schema.
pub(crate) fn in_exact_order(rows: &RecordBatch, order: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = order.fields().iter().zip(rows.columns()).map(|(field, column)| array_in_order(field, column));
    RecordBatch::try_new(order.clone(), columns.collect::<Result<_, _>>()?)
}

fn array_in_order(field: &FieldRef, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == field.data_type() {
        return Ok(array.clone());
    }
    let data = array.to_data();
    let children = data.child_data().iter().map(|child| make_array(child.clone()));
    let children: Vec<ArrayRef> = match field.data_type() {
        DataType::Struct(_) if is_variant(field) => children.rev().collect(),
        DataType::Struct(members) => {
            members.iter().zip(children).map(|(f, child)| array_in_order(f, &child)).collect::<Result<_, _>>()?
        }
        DataType::List(inner) | DataType::Map(inner, _) => {
            children.map(|child| array_in_order(inner, &child)).collect::<Result<_, _>>()?
        }
        _ => children.collect(),
    };
    let children = children.iter().map(|child| child.to_data()).collect();
    data.into_builder().data_type(field.data_type().clone()).child_data(children).build().map(make_array)
}

fn repeated(name: &str, fields: Vec<TypePtr>, converted: ConvertedType) -> Result<TypePtr, ParquetError> {
    let group = ParquetType::group_type_builder(name).with_repetition(Repetition::REPEATED);
    group.with_converted_type(converted).with_fields(fields).build().map(Arc::new)
}

fn leaf(p: &PrimitiveType, stored: ExactLeaf) -> Result<(Physical, Option<LogicalType>)> {
    use PrimitiveType as P;
    let timestamp = |utc| {
        let unit = if stored == ExactLeaf::Millis { TimeUnit::MILLIS } else { TimeUnit::MICROS };
        (Physical::INT64, Some(LogicalType::timestamp(utc, unit)))
    };
    Ok(match p {
        P::Int if let ExactLeaf::Narrow(bits) = stored => {
            (Physical::INT32, Some(LogicalType::integer(bits as i8, true)))
        }
        P::Time => (Physical::INT32, Some(LogicalType::time(true, TimeUnit::MILLIS))),
        P::Timestamp => timestamp(false),
        P::Timestamptz => timestamp(true),
        P::TimestampNs | P::TimestamptzNs => (Physical::INT96, None),
        P::Boolean | P::Int | P::Long | P::Float | P::Double | P::Decimal { .. } | P::Date | P::String | P::Binary => {
            return plain_leaf(p);
        }
        _ => return Err(Error::unsupported(format!("files with exact types have no columns of type {p}"))),
    })
}
