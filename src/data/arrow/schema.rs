//! Table schemas as Arrow schemas, and Arrow schemas as table schemas.
//!
//! Every Arrow field carries the column's id under [`FIELD_ID_KEY`], as in Parquet files and PyIceberg. Its comment is
//! under [`DOC_KEY`]. The types are those of PyIceberg, with `string` and `binary` in their 32-bit forms. Geometries
//! are GeoArrow's WKB.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};

use super::geoarrow;
use super::type_names::type_name;
use crate::error::{Error, Result};
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

/// Metadata key of the column's id.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";
/// Metadata key of the column's comment.
pub const DOC_KEY: &str = "doc";
/// Metadata key of an extension type's name.
pub const EXTENSION_KEY: &str = "ARROW:extension:name";
/// Metadata key of an extension type's parameters.
pub const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";
/// The extension type of uuids.
pub const UUID_EXTENSION: &str = "arrow.uuid";
/// The extension type of variants.
pub const VARIANT_EXTENSION: &str = "arrow.parquet.variant";

/// The Arrow schema of rows that have this table schema.
///
/// # Errors
/// `InvalidInput` for types wider than Arrow can hold, naming the column.
pub fn to_arrow(schema: &Schema) -> Result<SchemaRef> {
    let fields = schema.fields.iter().map(|f| arrow_field(f, &f.name)).collect::<Result<Fields>>()?;
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// The Arrow field of one column; `path` names it in errors.
pub(crate) fn arrow_field(field: &Field, path: &str) -> Result<FieldRef> {
    let mut metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), field.id.to_string())]);
    if let Some(doc) = &field.doc {
        metadata.insert(DOC_KEY.to_owned(), doc.clone());
    }
    let extension = match field.ty.as_primitive() {
        Some(PrimitiveType::Uuid) => Some(UUID_EXTENSION),
        Some(PrimitiveType::Variant) => Some(VARIANT_EXTENSION),
        _ => None,
    };
    if let Some(name) = extension {
        metadata.insert(EXTENSION_KEY.to_owned(), name.to_owned());
    }
    if let Some(parameters) = field.ty.as_primitive().and_then(geoarrow::metadata) {
        metadata.insert(EXTENSION_KEY.to_owned(), geoarrow::WKB_EXTENSION.to_owned());
        metadata.insert(EXTENSION_METADATA_KEY.to_owned(), parameters);
    }
    let data_type = arrow_type(&field.ty, path)?;
    Ok(Arc::new(ArrowField::new(&field.name, data_type, !field.required).with_metadata(metadata)))
}

/// The members of a struct field, by position. Other fields have none.
pub(crate) fn struct_members(field: &ArrowField) -> &[FieldRef] {
    match field.data_type() {
        DataType::Struct(fields) => fields,
        _ => &[],
    }
}

fn arrow_type(ty: &Type, path: &str) -> Result<DataType> {
    let child = |f: &Field| arrow_field(f, &format!("{path}.{}", f.name));
    Ok(match ty {
        Type::Primitive(p) => return arrow_primitive(p).map_err(|e| e.with("column", path)),
        Type::Struct(fields) => DataType::Struct(fields.iter().map(child).collect::<Result<Fields>>()?),
        Type::List(element) => DataType::List(Arc::new(child(element)?.as_ref().clone().with_name("element"))),
        Type::Map(key, value) => {
            let key = child(key)?.as_ref().clone().with_name("key").with_nullable(false);
            let value = child(value)?.as_ref().clone().with_name("value");
            let entries = DataType::Struct(Fields::from(vec![key, value]));
            DataType::Map(Arc::new(ArrowField::new("key_value", entries, false)), false)
        }
    })
}

/// The Arrow type of a primitive column.
///
/// # Errors
/// `InvalidInput` for a fixed type wider than Arrow can hold.
pub(crate) fn arrow_primitive(ty: &PrimitiveType) -> Result<DataType> {
    use PrimitiveType as P;
    let utc = || Some(Arc::from("UTC"));
    Ok(match ty {
        P::Boolean => DataType::Boolean,
        P::Int => DataType::Int32,
        P::Long => DataType::Int64,
        P::Float => DataType::Float32,
        P::Double => DataType::Float64,
        P::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
        P::Date => DataType::Date32,
        P::Time => DataType::Time64(TimeUnit::Microsecond),
        P::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        P::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        P::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        P::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        P::String => DataType::Utf8,
        P::Uuid => DataType::FixedSizeBinary(16),
        P::Fixed(n) => DataType::FixedSizeBinary(
            i32::try_from(*n)
                .map_err(|e| Error::invalid(format!("the type {ty} is wider than Arrow can hold")).because(e))?,
        ),
        P::Binary | P::Geometry { .. } | P::Geography { .. } => DataType::Binary,
        P::Unknown => DataType::Null,
        P::Variant => super::variant::storage_type(),
    })
}

/// The table schema for data of this Arrow schema.
///
/// Ids come from the fields' metadata if every field at every depth has one. Otherwise ids are given from 1, as Java
/// assigns them: the top-level columns first, then level by level below each. Nullable fields become optional columns.
///
/// # Errors
/// `Unsupported` for types that no table type stands for (naming the column); `InvalidInput` for ids that are not
/// numbers, negative or not unique; `InvalidInput` for names that occur twice in one place.
pub fn from_arrow(schema: &ArrowSchema) -> Result<Schema> {
    let mut ids = if schema.fields().iter().all(|f| has_ids(f)) { Ids::Recorded } else { Ids::Fresh(0) };
    let fields = columns(schema.fields(), &mut ids, "")?;
    let mut seen = HashSet::new();
    unique_ids(&fields, &mut seen)?;
    Ok(Schema::new(0, fields, Vec::new()))
}

enum Ids {
    Recorded,
    Fresh(FieldId),
}

impl Ids {
    fn of(&mut self, field: &ArrowField) -> Result<FieldId> {
        match self {
            Ids::Fresh(last) => {
                *last += 1;
                Ok(*last)
            }
            Ids::Recorded => {
                let text = field.metadata().get(FIELD_ID_KEY).map_or("", String::as_str);
                text.parse()
                    .ok()
                    .filter(|id| *id >= 0)
                    .ok_or_else(|| Error::invalid(format!("'{text}' is not a field id")).with("column", field.name()))
            }
        }
    }
}

/// The Arrow fields directly below a type, as in a table's types (a map's entries are not a level).
fn children(data_type: &DataType) -> Vec<&FieldRef> {
    match data_type {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(e)
        | DataType::LargeList(e)
        | DataType::FixedSizeList(e, _)
        | DataType::ListView(e)
        | DataType::LargeListView(e) => vec![e],
        DataType::Map(entries, _) => children(entries.data_type()),
        DataType::Dictionary(_, value) => children(value),
        _ => Vec::new(),
    }
}

/// Whether it is a variant, whose two parts are not columns of the table.
pub(crate) fn is_variant(field: &ArrowField) -> bool {
    let named = field.metadata().get(EXTENSION_KEY).is_some_and(|name| name == VARIANT_EXTENSION);
    named && matches!(field.data_type(), DataType::Struct(_))
}

fn has_ids(field: &ArrowField) -> bool {
    let below = || children(field.data_type()).iter().all(|f| has_ids(f));
    field.metadata().contains_key(FIELD_ID_KEY) && (is_variant(field) || below())
}

fn unique_ids(fields: &[Field], seen: &mut HashSet<FieldId>) -> Result<()> {
    for field in fields {
        if !seen.insert(field.id) {
            return Err(Error::invalid(format!("two fields have the id {}", field.id)).with("column", &field.name));
        }
        for child in field.ty.children() {
            unique_ids(std::slice::from_ref(child), seen)?;
        }
    }
    Ok(())
}

/// All fields of one struct: first their own ids, then the ids below each.
fn columns(fields: &Fields, ids: &mut Ids, prefix: &str) -> Result<Vec<Field>> {
    let mut names = HashSet::new();
    for field in fields {
        if !names.insert(field.name()) {
            return Err(
                Error::invalid("two columns have the same name").with("column", format!("{prefix}{}", field.name()))
            );
        }
    }
    let own = fields.iter().map(|f| ids.of(f)).collect::<Result<Vec<_>>>()?;
    fields.iter().zip(own).map(|(f, id)| column(f, id, f.name(), ids, prefix)).collect()
}

/// The number of time units in a second.
pub(crate) fn per_second(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn column(field: &ArrowField, id: FieldId, name: &str, ids: &mut Ids, prefix: &str) -> Result<Field> {
    let path = format!("{prefix}{name}");
    let mut out = Field::new(id, name, !field.is_nullable(), table_type(field, field.data_type(), ids, &path)?);
    out.doc = field.metadata().get(DOC_KEY).cloned();
    Ok(out)
}

fn table_type(field: &ArrowField, data_type: &DataType, ids: &mut Ids, path: &str) -> Result<Type> {
    let below = format!("{path}.");
    Ok(match data_type {
        DataType::Struct(_) if is_variant(field) => Type::Primitive(PrimitiveType::Variant),
        DataType::Struct(fields) => Type::Struct(columns(fields, ids, &below)?.into()),
        DataType::List(e)
        | DataType::LargeList(e)
        | DataType::FixedSizeList(e, _)
        | DataType::ListView(e)
        | DataType::LargeListView(e) => {
            let id = ids.of(e)?;
            Type::List(Arc::new(column(e, id, "element", ids, &below)?))
        }
        DataType::Map(entries, _) => {
            let [key, value] = children(entries.data_type())[..] else {
                return Err(Error::invalid("the entries of a map do not have two fields").with("column", path));
            };
            let (key_id, value_id) = (ids.of(key)?, ids.of(value)?);
            let mut key = column(key, key_id, "key", ids, &below)?;
            key.required = true;
            Type::Map(Arc::new(key), Arc::new(column(value, value_id, "value", ids, &below)?))
        }
        DataType::Dictionary(_, value) => table_type(field, value, ids, path)?,
        leaf => Type::Primitive(table_primitive(field, leaf).ok_or_else(|| {
            Error::unsupported(format!("a table has no type for Arrow's {}", type_name(leaf)))
                .with("column", path)
                .hint(match leaf {
                    DataType::UInt64 => "Cast the column to pyarrow.int64() or pyarrow.decimal128(20, 0)",
                    DataType::Duration(_) => "Cast the column to pyarrow.int64()",
                    DataType::Decimal256(..) => "Cast the column to a decimal128, which has up to 38 digits",
                    _ => "Cast the column to another type",
                })
        })?),
    })
}

fn table_primitive(field: &ArrowField, data_type: &DataType) -> Option<PrimitiveType> {
    use PrimitiveType as P;
    let extension = field.metadata().get(EXTENSION_KEY).map(String::as_str);
    let is_uuid = extension == Some(UUID_EXTENSION);
    let geometry = || {
        let parameters =
            field.metadata().get(EXTENSION_METADATA_KEY).filter(|_| extension == Some(geoarrow::WKB_EXTENSION));
        parameters.and_then(|text| geoarrow::table_type(text))
    };
    Some(match data_type {
        DataType::Null => P::Unknown,
        DataType::Boolean => P::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => P::Int,
        DataType::UInt32 | DataType::Int64 => P::Long,
        DataType::Float16 | DataType::Float32 => P::Float,
        DataType::Float64 => P::Double,
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => {
            let scale = u8::try_from(*s).ok()?;
            ((1..=38).contains(p) && scale <= *p).then_some(P::Decimal { precision: *p, scale })?
        }
        DataType::Date32 | DataType::Date64 => P::Date,
        DataType::Time32(_) | DataType::Time64(_) => P::Time,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => P::TimestampNs,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => P::TimestamptzNs,
        DataType::Timestamp(_, None) => P::Timestamp,
        DataType::Timestamp(_, Some(_)) => P::Timestamptz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => P::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => geometry().unwrap_or(P::Binary),
        DataType::FixedSizeBinary(16) if is_uuid => P::Uuid,
        DataType::FixedSizeBinary(n) => P::Fixed(u32::try_from(*n).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn every_type() -> Vec<PrimitiveType> {
        use PrimitiveType::*;
        vec![
            Boolean,
            Int,
            Long,
            Float,
            Double,
            Decimal { precision: 9, scale: 2 },
            Date,
            Time,
            Timestamp,
            Timestamptz,
            TimestampNs,
            TimestamptzNs,
            String,
            Uuid,
            Fixed(7),
            Binary,
            Unknown,
            Variant,
            Geometry { crs: None },
            Geography { crs: Some("EPSG:4326".into()), algorithm: Some("thomas".into()) },
        ]
    }

    #[test]
    fn a_schema_survives_the_way_to_arrow_and_back() {
        let mut fields: Vec<Field> = every_type()
            .into_iter()
            .enumerate()
            .map(|(i, t)| Field::new(i as i32 + 1, format!("c{i}"), t != PrimitiveType::Unknown && i % 2 == 0, t))
            .collect();
        fields[0].doc = Some("first".into());
        let member = Field::new(31, "a", true, PrimitiveType::Long);
        let element = Field::new(32, "element", false, Type::Struct(vec![member].into()));
        fields.push(Field::new(30, "l", false, Type::List(Arc::new(element))));
        let (key, value) =
            (Field::new(41, "key", true, PrimitiveType::String), Field::new(42, "value", false, PrimitiveType::Uuid));
        fields.push(Field::new(40, "m", true, Type::Map(Arc::new(key), Arc::new(value))));
        let schema = Schema::new(0, fields, vec![]);
        assert_eq!(from_arrow(&to_arrow(&schema).unwrap()).unwrap(), schema);
    }

    #[test]
    fn arrow_types_are_pyicebergs() {
        let schema = Schema::new(0, vec![Field::new(1, "t", false, PrimitiveType::Timestamptz)], vec![]);
        let arrow = to_arrow(&schema).unwrap();
        assert_eq!(arrow.field(0).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
        assert_eq!(arrow.field(0).metadata()[FIELD_ID_KEY], "1");
        let inner = Field::new(2, "v", false, PrimitiveType::Fixed(1 << 31));
        let outer = Field::new(1, "s", false, Type::Struct(vec![inner].into()));
        let e = to_arrow(&Schema::new(0, vec![outer], vec![])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidInput);
        assert!(e.to_string().contains("s.v"), "{e}");
    }

    #[test]
    fn fresh_ids_go_level_by_level() {
        let s = DataType::Struct(Fields::from(vec![
            ArrowField::new("x", DataType::Int8, true),
            ArrowField::new("l", DataType::new_large_list(DataType::UInt32, true), false),
        ]));
        let arrow = ArrowSchema::new(vec![
            ArrowField::new("s", s, true),
            ArrowField::new("d", DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8)), false),
        ]);
        let schema = from_arrow(&arrow).unwrap();
        let id = |path: &[&str]| schema.find(path, true).map(|f| (f.id, f.required, f.ty.to_string()));
        assert_eq!(id(&["s"]).map(|x| x.0), Some(1));
        assert_eq!(id(&["d"]), Some((2, true, "string".into())));
        assert_eq!(id(&["s", "x"]), Some((3, false, "int".into())));
        assert_eq!(id(&["s", "l"]), Some((4, true, "list<long>".into())));
        assert_eq!(id(&["s", "l", "element"]), Some((5, false, "long".into())));
    }

    #[test]
    fn what_no_table_holds_is_refused() {
        for t in [
            DataType::UInt64,
            DataType::Duration(TimeUnit::Second),
            DataType::Decimal128(10, -2),
            DataType::Decimal256(60, 2),
        ] {
            let e = from_arrow(&ArrowSchema::new(vec![ArrowField::new("odd", t, true)])).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Unsupported);
            assert!(e.to_string().contains("odd"));
        }
        let twice = |id: &str| {
            ArrowField::new(format!("c{id}"), DataType::Int32, true)
                .with_metadata(HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_owned())]))
        };
        for ids in [["1", "1"], ["1", "x"], ["-1", "1"]] {
            let fields = vec![twice(ids[0]), twice(ids[1]).with_name("other")];
            assert_eq!(from_arrow(&ArrowSchema::new(fields)).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
}
