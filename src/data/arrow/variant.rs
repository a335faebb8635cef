//! Variant columns: from the columns that a file stores to Arrow's variant type.
//!
//! A file stores a variant as a group of `metadata` and `value`. It may be *shredded*. Then values that fit a type are
//! in typed columns below `typed_value`, and `value` has the rest. [`unshred`] joins them. So rows always have the two
//! binary columns of Arrow's extension type `arrow.parquet.variant`. Both have no nulls: only the struct is null.
//!
//! Every variant is checked from end to end ([`check`]), because later readers trust their input.
//!
//! Source: Parquet format, "Variant Shredding"; Arrow, "Canonical Extension Types". Contradictions are resolved as in
//! Java: a field that is in `value` and shredded is taken from the shredded column.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, PrimitiveArray, RecordBatch,
    RecordBatchReader, StringArray, StringBuilder, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field as ArrowField, Fields, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Schema as ArrowSchema, SchemaRef, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};

use super::type_names::type_name;
use crate::codec::variant::encode::{put, wrap_array, wrap_object};
use crate::codec::variant::{Decimal, MAX_DEPTH, Metadata, VariantValue, check, json, members};
use crate::error::{Error, Result};

/// The names of the columns that a variant has in Arrow and in files.
const METADATA: &str = "metadata";
const VALUE: &str = "value";
const TYPED_VALUE: &str = "typed_value";

/// The Arrow type of variants. The name of the extension type is left to the field.
pub(crate) fn storage_type() -> DataType {
    DataType::Struct(storage_fields())
}

fn storage_fields() -> Fields {
    let binary = |name: &str| ArrowField::new(name, DataType::Binary, false);
    Fields::from(vec![binary(METADATA), binary(VALUE)])
}

/// Whether this is a form in which files store variants: a struct with a binary column `metadata`.
pub(crate) fn is_stored(stored: &DataType) -> bool {
    let DataType::Struct(fields) = stored else { return false };
    let binary = |f: &Arc<ArrowField>| f.name() == METADATA && *f.data_type() == DataType::Binary;
    fields.iter().any(binary) && fields.iter().any(|f| f.name() == VALUE || f.name() == TYPED_VALUE)
}

/// Turns variants that a file stores, shredded or not, into Arrow's variant type. The extension's name is left to the
/// field. The columns may be in any order. Unshredded columns are shared, not copied.
///
/// # Errors
/// `CorruptTable` for damaged variants and contradictions between shredded and other values; `Unsupported` for types
/// that version 1 of the encoding does not have; `Unsupported` for types of shredded columns that the specification
/// does not list.
pub fn unshred(stored: &ArrayRef) -> Result<ArrayRef> {
    let stored = stored.as_struct_opt().ok_or_else(|| Error::invalid("variants are structs"))?;
    let metadata = stored.column_by_name(METADATA).and_then(|c| c.as_binary_opt::<i32>());
    let metadata = metadata.ok_or_else(|| Error::corrupt("a variant column has no binary column metadata"))?;
    let column = Shredded::of(stored, 0)?;
    let nulls = stored.nulls();
    let rows = (0..stored.len()).filter(|&row| nulls.is_none_or(|n| n.is_valid(row)));
    if rows.clone().any(|row| metadata.is_null(row)) {
        return Err(Error::corrupt("a variant has no metadata"));
    }
    let value = match (&column.typed, column.value) {
        (None, Some(value)) if rows.clone().all(|row| value.is_valid(row)) => {
            let mut dictionary = RowDictionary::new(metadata);
            for row in rows {
                check(&dictionary.at(row)?.metadata, value.value(row))?;
            }
            without_nulls(value)
        }
        _ => rebuild(&column, metadata, rows, stored.len())?,
    };
    let columns: Vec<ArrayRef> = vec![Arc::new(without_nulls(metadata)), Arc::new(value)];
    let array = StructArray::try_new(storage_fields(), columns, nulls.cloned());
    Ok(Arc::new(array.map_err(|e| Error::internal("variants do not fit Arrow's type").because(e))?))
}

/// Metadata and value of variants in any form that Arrow's type allows (other widths, views, shredded). They are
/// checked as by [`unshred`]. Null rows may have any bytes.
///
/// # Errors
/// The errors of [`unshred`]; `InvalidInput` if they are not variants.
pub fn parts(array: &dyn Array) -> Result<(BinaryArray, BinaryArray)> {
    let foreign = || {
        Error::invalid(format!("an array of type {} holds no variants", type_name(array.data_type())))
            .hint("A variant is a struct of the binary columns metadata and value")
    };
    let given = array.as_struct_opt().ok_or_else(foreign)?;
    let column = |(field, column): (&Arc<ArrowField>, &ArrayRef)| {
        let bytes = field.name() == METADATA || field.name() == VALUE;
        let column =
            if bytes { cast(column, &DataType::Binary).map_err(|e| foreign().because(e))? } else { column.clone() };
        Ok((Arc::new(ArrowField::new(field.name(), column.data_type().clone(), true)), column))
    };
    let columns = given.fields().iter().zip(given.columns()).map(column).collect::<Result<Vec<_>>>()?;
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let plain = StructArray::try_new_with_length(fields.into(), columns, given.nulls().cloned(), given.len());
    let plain: ArrayRef = Arc::new(plain.map_err(|e| foreign().because(e))?);
    if !is_stored(plain.data_type()) {
        return Err(foreign());
    }
    let part = |array: &StructArray, name: &str| array.column_by_name(name).and_then(|c| c.as_binary_opt().cloned());
    let whole = unshred(&plain)?;
    let whole = whole.as_struct();
    part(whole, METADATA).zip(part(whole, VALUE)).ok_or_else(|| Error::internal("a variant lost its columns"))
}

/// Converts variants of any form that Arrow's type allows to [`storage_type`].
///
/// # Errors
/// The errors of [`parts`].
pub(crate) fn whole(array: &dyn Array) -> Result<ArrayRef> {
    let (metadata, value) = parts(array)?;
    let array =
        StructArray::try_new(storage_fields(), vec![Arc::new(metadata), Arc::new(value)], array.nulls().cloned());
    Ok(Arc::new(array.map_err(|e| Error::internal("variants do not fit Arrow's type").because(e))?))
}

/// The first column of every batch, which holds variants, as JSON text ([`json`]) in batches of one column.
///
/// # Errors
/// The errors of [`parts`]; the reader's errors.
pub fn to_json(batches: impl RecordBatchReader) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let name = batches.schema().fields().first().map_or_else(String::new, |f| f.name().clone());
    let schema = Arc::new(ArrowSchema::new(vec![ArrowField::new(name, DataType::Utf8, true)]));
    let mut out = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|e| Error::invalid("the Arrow data can't be used").because(e))?;
        let array = batch.columns().first().ok_or_else(|| Error::invalid("the data has no columns"))?;
        let (metadata, value) = parts(array)?;
        let mut text = StringBuilder::new();
        for row in 0..array.len() {
            match array.is_valid(row) {
                true => text.append_value(json::to_text(&Metadata::parse(metadata.value(row))?, value.value(row))?),
                false => text.append_null(),
            }
        }
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(text.finish())]);
        out.push(batch.map_err(|e| Error::internal("a batch of text has another schema").because(e))?);
    }
    Ok((schema, out))
}

/// The same bytes. Null slots keep their old content.
fn without_nulls(array: &BinaryArray) -> BinaryArray {
    BinaryArray::new(array.offsets().clone(), array.values().clone(), None)
}

/// The values of the ascending `rows`, among `total` rows.
fn rebuild<'a>(
    column: &Shredded<'a>,
    metadata: &'a BinaryArray,
    rows: impl Iterator<Item = usize>,
    total: usize,
) -> Result<BinaryArray> {
    let mut offsets: Vec<i32> = Vec::with_capacity(total + 1);
    let mut out = Vec::new();
    let mut dictionary = RowDictionary::new(metadata);
    for row in rows {
        let start = end_of(&out)?;
        offsets.resize(row + 1, start);
        if !column.put(row, dictionary.at(row)?, &mut out)? {
            put(&VariantValue::Null, &mut out)?;
        }
    }
    offsets.resize(total + 1, end_of(&out)?);
    Ok(BinaryArray::new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(out), None))
}

fn end_of(out: &[u8]) -> Result<i32> {
    i32::try_from(out.len()).map_err(|e| {
        Error::unsupported("the variants of one batch have more than 2 GiB")
            .because(e)
            .hint("Read with a smaller batch size")
    })
}

/// The dictionary of one row. It is parsed only if it differs from that of the row before.
struct RowDictionary<'a> {
    column: &'a BinaryArray,
    last: Option<(&'a [u8], Names<'a>)>,
}

struct Names<'a> {
    metadata: Metadata<'a>,
    /// It is made on first use.
    ids: Option<HashMap<&'a str, u32>>,
}

impl<'a> RowDictionary<'a> {
    fn new(column: &'a BinaryArray) -> RowDictionary<'a> {
        RowDictionary { column, last: None }
    }

    fn at(&mut self, row: usize) -> Result<&mut Names<'a>> {
        let bytes = self.column.value(row);
        let names = match self.last.take() {
            Some((known, names)) if known == bytes => names,
            _ => Names { metadata: Metadata::parse(bytes)?, ids: None },
        };
        Ok(&mut self.last.insert((bytes, names)).1)
    }
}

impl Names<'_> {
    fn id(&mut self, name: &str) -> Result<u32> {
        let ids = self.ids.get_or_insert_with(|| self.metadata.names().zip(0..).collect());
        ids.get(name).copied().ok_or_else(|| {
            Error::corrupt(format!("the dictionary of a variant lacks the name of the shredded field '{name}'"))
        })
    }
}

/// A `value` and a `typed_value` that belong together.
struct Shredded<'a> {
    value: Option<&'a BinaryArray>,
    typed: Option<Typed<'a>>,
}

/// A shredded column.
enum Typed<'a> {
    Scalar(&'a ArrayRef, Scalar<'a>),
    Object(&'a StructArray, ObjectFields<'a>),
    Array(&'a ListArray, Option<&'a NullBuffer>, Box<Shredded<'a>>),
}

/// The shredded fields of objects.
struct ObjectFields<'a> {
    members: Vec<ShreddedMember<'a>>,
    names: HashSet<&'a str>,
}

/// One shredded field.
struct ShreddedMember<'a> {
    name: &'a str,
    /// The field is missing in rows where the group itself is null, which should not happen.
    nulls: Option<&'a NullBuffer>,
    column: Shredded<'a>,
}

enum Scalar<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    Float(&'a PrimitiveArray<Float32Type>),
    Double(&'a PrimitiveArray<Float64Type>),
    /// Decimals, with the scale and width in the variant.
    Decimal(&'a PrimitiveArray<Decimal128Type>, u8, u8),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    /// Timestamps. The flag says whether they are in UTC.
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>, bool),
    TimestampNs(&'a PrimitiveArray<TimestampNanosecondType>, bool),
    Binary(&'a BinaryArray),
    String(&'a StringArray),
    Uuid(&'a FixedSizeBinaryArray),
}

impl<'a> Shredded<'a> {
    fn of(group: &'a StructArray, depth: usize) -> Result<Shredded<'a>> {
        if depth > MAX_DEPTH {
            return Err(Error::corrupt("the shredded columns of a variant are nested too deep"));
        }
        let not_binary = || Error::corrupt("the column value of a variant is not binary");
        let value = group.column_by_name(VALUE).map(|c| c.as_binary_opt::<i32>().ok_or_else(not_binary)).transpose()?;
        let typed = group.column_by_name(TYPED_VALUE).map(|c| Typed::of(c, depth)).transpose()?;
        Ok(Shredded { value, typed })
    }

    /// Appends the value of a row. Returns whether the row has a value.
    fn put(&self, row: usize, names: &mut Names<'a>, out: &mut Vec<u8>) -> Result<bool> {
        let value = self.value.filter(|v| v.is_valid(row)).map(|v| v.value(row));
        let typed = self.typed.as_ref().filter(|t| t.is_valid(row));
        match (value, typed) {
            (None, None) => return Ok(false),
            (Some(value), None) => copy(value, names, out)?,
            (value, Some(Typed::Object(_, fields))) => put_object(row, value, fields, names, out)?,
            (Some(_), Some(_)) => return Err(Error::corrupt("a variant has a value and a shredded value as well")),
            (None, Some(Typed::Array(list, nulls, element))) => {
                let start = out.len();
                let (first, end) = range(list, row);
                let mut elements = Vec::with_capacity(end.saturating_sub(first));
                for i in first..end {
                    elements.push(out.len());
                    let present = nulls.is_none_or(|n| n.is_valid(i)) && element.put(i, names, out)?;
                    if !present {
                        put(&VariantValue::Null, out)?;
                    }
                }
                wrap_array(&elements, start, out)?;
            }
            (None, Some(Typed::Scalar(_, scalar))) => put(&scalar.at(row)?, out)?,
        }
        Ok(true)
    }
}

fn range(list: &ListArray, row: usize) -> (usize, usize) {
    let offset = |i: usize| list.value_offsets().get(i).map_or(0, |o| *o as usize);
    (offset(row), offset(row + 1))
}

/// Appends a value that is not shredded.
fn copy(value: &[u8], names: &Names<'_>, out: &mut Vec<u8>) -> Result<()> {
    let size = check(&names.metadata, value)?;
    out.extend_from_slice(value.get(..size).unwrap_or_default());
    Ok(())
}

/// Appends the object of these shredded fields and those in `value` that are not among them.
fn put_object<'a>(
    row: usize,
    value: Option<&'a [u8]>,
    fields: &ObjectFields<'a>,
    names: &mut Names<'a>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let mut put_members = Vec::with_capacity(fields.members.len());
    for field in fields.members.iter().filter(|f| f.nulls.is_none_or(|n| n.is_valid(row))) {
        let at = out.len();
        if field.column.put(row, names, out)? {
            put_members.push((field.name, names.id(field.name)?, at));
        }
    }
    if let Some(value) = value {
        check(&names.metadata, value)?;
        let (VariantValue::Object(object), _) = VariantValue::parse(value)? else {
            return Err(Error::corrupt("a variant has shredded fields, but its value is not an object"));
        };
        for (i, member) in members(&names.metadata, &object).enumerate() {
            let (name, bytes) = member?;
            if !fields.names.contains(name) {
                let id = u32::try_from(object.name_id(i)).unwrap_or(u32::MAX);
                put_members.push((name, id, out.len()));
                out.extend_from_slice(bytes);
            }
        }
    }
    wrap_object(&mut put_members, start, out)
}

impl<'a> Typed<'a> {
    fn of(column: &'a ArrayRef, depth: usize) -> Result<Typed<'a>> {
        let group = |column: &'a ArrayRef| {
            column
                .as_struct_opt()
                .ok_or_else(|| Error::corrupt("a shredded field or element of a variant is not a group"))
        };
        if let Some(object) = column.as_struct_opt() {
            let member = |(field, column): (&'a Arc<ArrowField>, &'a ArrayRef)| {
                let group = group(column)?;
                let column = Shredded::of(group, depth + 1)?;
                Ok(ShreddedMember { name: field.name(), nulls: group.nulls(), column })
            };
            let members: Vec<ShreddedMember<'a>> =
                object.fields().iter().zip(object.columns()).map(member).collect::<Result<_>>()?;
            let names: HashSet<&str> = members.iter().map(|m| m.name).collect();
            if names.len() < members.len() {
                return Err(Error::corrupt("a variant has two shredded fields of one name"));
            }
            return Ok(Typed::Object(object, ObjectFields { members, names }));
        }
        if let Some(list) = column.as_list_opt::<i32>() {
            let element = group(list.values())?;
            return Ok(Typed::Array(list, element.nulls(), Box::new(Shredded::of(element, depth + 1)?)));
        }
        let scalar = Scalar::of(column).ok_or_else(|| {
            Error::unsupported(format!(
                "a variant is shredded as {}, which no variant has",
                type_name(column.data_type())
            ))
        })?;
        Ok(Typed::Scalar(column, scalar))
    }

    fn is_valid(&self, row: usize) -> bool {
        match self {
            Typed::Scalar(array, _) => array.is_valid(row),
            Typed::Object(array, _) => array.is_valid(row),
            Typed::Array(array, ..) => array.is_valid(row),
        }
    }
}

impl<'a> Scalar<'a> {
    fn of(array: &'a ArrayRef) -> Option<Scalar<'a>> {
        use DataType as D;
        Some(match array.data_type() {
            D::Boolean => Scalar::Boolean(array.as_boolean_opt()?),
            D::Int8 => Scalar::Int8(array.as_primitive_opt()?),
            D::Int16 => Scalar::Int16(array.as_primitive_opt()?),
            D::Int32 => Scalar::Int32(array.as_primitive_opt()?),
            D::Int64 => Scalar::Int64(array.as_primitive_opt()?),
            D::Float32 => Scalar::Float(array.as_primitive_opt()?),
            D::Float64 => Scalar::Double(array.as_primitive_opt()?),
            D::Decimal128(precision, scale) => {
                let width = match precision {
                    ..=9 => 4,
                    ..=18 => 8,
                    _ => 16,
                };
                Scalar::Decimal(array.as_primitive_opt()?, u8::try_from(*scale).ok()?, width)
            }
            D::Date32 => Scalar::Date(array.as_primitive_opt()?),
            D::Time64(TimeUnit::Microsecond) => Scalar::Time(array.as_primitive_opt()?),
            D::Timestamp(TimeUnit::Microsecond, zone) => Scalar::Timestamp(array.as_primitive_opt()?, zone.is_some()),
            D::Timestamp(TimeUnit::Nanosecond, zone) => Scalar::TimestampNs(array.as_primitive_opt()?, zone.is_some()),
            D::Binary => Scalar::Binary(array.as_binary_opt()?),
            D::Utf8 => Scalar::String(array.as_string_opt()?),
            D::FixedSizeBinary(16) => Scalar::Uuid(array.as_fixed_size_binary_opt()?),
            _ => return None,
        })
    }

    fn at(&self, row: usize) -> Result<VariantValue<'a>> {
        Ok(match self {
            Scalar::Boolean(a) => VariantValue::Boolean(a.value(row)),
            Scalar::Int8(a) => VariantValue::Int8(a.value(row)),
            Scalar::Int16(a) => VariantValue::Int16(a.value(row)),
            Scalar::Int32(a) => VariantValue::Int32(a.value(row)),
            Scalar::Int64(a) => VariantValue::Int64(a.value(row)),
            Scalar::Float(a) => VariantValue::Float(a.value(row)),
            Scalar::Double(a) => VariantValue::Double(a.value(row)),
            Scalar::Decimal(a, scale, width) => {
                let unscaled = a.value(row);
                let fits = match width {
                    4 => i32::try_from(unscaled).is_ok(),
                    8 => i64::try_from(unscaled).is_ok(),
                    _ => true,
                };
                if !fits {
                    return Err(Error::corrupt("a shredded decimal has more digits than its type"));
                }
                VariantValue::Decimal(Decimal { unscaled, scale: *scale, width: *width })
            }
            Scalar::Date(a) => VariantValue::Date(a.value(row)),
            Scalar::Time(a) => VariantValue::Time(a.value(row)),
            Scalar::Timestamp(a, true) => VariantValue::Timestamptz(a.value(row)),
            Scalar::Timestamp(a, false) => VariantValue::Timestamp(a.value(row)),
            Scalar::TimestampNs(a, true) => VariantValue::TimestamptzNs(a.value(row)),
            Scalar::TimestampNs(a, false) => VariantValue::TimestampNs(a.value(row)),
            Scalar::Binary(a) => VariantValue::Binary(a.value(row)),
            Scalar::String(a) => VariantValue::String(a.value(row)),
            Scalar::Uuid(a) => {
                VariantValue::Uuid(crate::data::arrow::array_value::uuid(a.value(row)).unwrap_or_default())
            }
        })
    }
}

#[cfg(test)]
#[path = "variant_tests.rs"]
mod tests;
