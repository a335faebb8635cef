//! The Parquet schema of a table's files.
//!
//! Source: Iceberg specification, Appendix A, "Parquet". The schema is built from the table's schema rather than from
//! Arrow's. So every level has its field id, uuid has its annotation, and decimals have the physical type of the
//! specification.

use std::collections::HashSet;
use std::sync::Arc;

use parquet::basic::{EdgeInterpolationAlgorithm, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType, TypePtr};

use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The version of the encoding of variants that files have.
const VARIANT_VERSION: i8 = 1;

/// The Parquet schema for rows of `schema`; its root is named `table`, as Java names it.
///
/// Columns of type unknown have no place in files: see [`without_unknown`].
///
/// # Errors
/// `Unsupported` for types that can't be written: unknown, and types that the Parquet library does not take.
pub(crate) fn to_parquet(schema: &Schema) -> Result<SchemaDescriptor> {
    let root = ParquetType::group_type_builder("table").with_fields(members(&schema.fields)?).build();
    Ok(SchemaDescriptor::new(Arc::new(root.map_err(|e| refused(e, "table"))?)))
}

/// The part of a schema that is in files: all but columns of type unknown, which hold only nulls.
///
/// # Errors
/// `Unsupported` for lists, maps and structs that have nothing else.
pub(crate) fn without_unknown(schema: &Schema) -> Result<Schema> {
    let fields = schema.fields.iter().filter(|f| !is_unknown(f)).map(known).collect::<Result<Vec<_>>>()?;
    Ok(Schema::new(schema.id, fields, schema.identifier_field_ids.clone()))
}

fn is_unknown(field: &Field) -> bool {
    field.ty == Type::Primitive(PrimitiveType::Unknown)
}

fn known(field: &Field) -> Result<Field> {
    let nothing =
        || Error::unsupported("a column whose only type is unknown can't be written").with("column", &field.name);
    let inner = |f: &Field| if is_unknown(f) { Err(nothing()) } else { known(f).map(Arc::new) };
    let ty = match &field.ty {
        Type::Primitive(_) => return Ok(field.clone()),
        Type::Struct(members) => {
            let kept: Vec<Field> = members.iter().filter(|f| !is_unknown(f)).map(known).collect::<Result<_>>()?;
            match kept.is_empty() {
                true => return Err(nothing()),
                false => Type::Struct(kept.into()),
            }
        }
        Type::List(element) => Type::List(inner(element)?),
        Type::Map(key, value) => Type::Map(inner(key)?, inner(value)?),
    };
    Ok(Field { ty, ..field.clone() })
}

/// The error for a column that Parquet can't have.
pub(super) fn refused(e: parquet::errors::ParquetError, name: &str) -> Error {
    Error::unsupported("the column can't be written to Parquet").with("column", name).because(e)
}

/// The fields of a struct, under names that Avro-based readers accept. Two names that would become equal stay as they
/// are.
fn members(fields: &[Field]) -> Result<Vec<TypePtr>> {
    let taken: HashSet<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    let name = |f: &Field| {
        let name = avro_name(&f.name);
        if taken.contains(name.as_str()) { f.name.clone() } else { name }
    };
    fields.iter().map(|f| field(f, &name(f))).collect()
}

fn field(f: &Field, name: &str) -> Result<TypePtr> {
    let repetition = if f.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let group = |logical: Option<LogicalType>, fields: Vec<TypePtr>| {
        ParquetType::group_type_builder(name)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_fields(fields)
            .with_id(Some(f.id))
            .build()
    };
    let repeated = |name: &str, fields: Vec<TypePtr>| {
        let repeated = ParquetType::group_type_builder(name).with_repetition(Repetition::REPEATED).with_fields(fields);
        repeated.build().map(Arc::new).map_err(|e| refused(e, &f.name))
    };
    let built = match &f.ty {
        Type::Struct(fields) => group(None, members(fields)?),
        Type::List(e) => group(Some(LogicalType::List), vec![repeated("list", vec![field(e, "element")?])?]),
        Type::Map(k, v) => {
            let entries = repeated("key_value", vec![field(k, "key")?, field(v, "value")?])?;
            group(Some(LogicalType::Map), vec![entries])
        }
        Type::Primitive(PrimitiveType::Variant) => {
            let binary = |name: &str| {
                let leaf = ParquetType::primitive_type_builder(name, Physical::BYTE_ARRAY);
                leaf.with_repetition(Repetition::REQUIRED).build().map(Arc::new).map_err(|e| refused(e, &f.name))
            };
            let version = Some(VARIANT_VERSION);
            group(Some(LogicalType::variant(version)), vec![binary("metadata")?, binary("value")?])
        }
        Type::Primitive(p) => {
            let (physical, logical) = leaf(p).map_err(|e| e.with("column", &f.name))?;
            let (precision, scale, length) = match p {
                PrimitiveType::Decimal { precision, scale } => {
                    (i32::from(*precision), i32::from(*scale), decimal_bytes(*precision))
                }
                PrimitiveType::Uuid => (-1, -1, 16),
                PrimitiveType::Fixed(n) => (-1, -1, *n as i32),
                _ => (-1, -1, -1),
            };
            ParquetType::primitive_type_builder(name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .with_precision(precision)
                .with_scale(scale)
                .with_length(if physical == Physical::FIXED_LEN_BYTE_ARRAY { length } else { -1 })
                .with_id(Some(f.id))
                .build()
        }
    };
    built.map(Arc::new).map_err(|e| refused(e, &f.name))
}

/// The fewest bytes that hold every number of `precision` digits.
fn decimal_bytes(precision: u8) -> i32 {
    crate::types::decimal::bytes_of_precision(precision) as i32
}

/// The physical type of a value, and its logical type.
///
/// # Errors
/// `Unsupported` for types that are never written.
pub(crate) fn leaf(p: &PrimitiveType) -> Result<(Physical, Option<LogicalType>)> {
    use PrimitiveType as P;
    Ok(match p {
        P::Boolean => (Physical::BOOLEAN, None),
        P::Int => (Physical::INT32, None),
        P::Long => (Physical::INT64, None),
        P::Float => (Physical::FLOAT, None),
        P::Double => (Physical::DOUBLE, None),
        P::Decimal { precision, scale } => {
            let physical = match precision {
                ..=9 => Physical::INT32,
                10..=18 => Physical::INT64,
                _ => Physical::FIXED_LEN_BYTE_ARRAY,
            };
            (physical, Some(LogicalType::decimal(i32::from(*scale), i32::from(*precision))))
        }
        P::Date => (Physical::INT32, Some(LogicalType::Date)),
        P::Time => (Physical::INT64, Some(LogicalType::time(false, TimeUnit::MICROS))),
        P::Timestamp => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        P::Timestamptz => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        P::TimestampNs => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::NANOS))),
        P::TimestamptzNs => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        P::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        P::Uuid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        P::Fixed(_) => (Physical::FIXED_LEN_BYTE_ARRAY, None),
        P::Binary => (Physical::BYTE_ARRAY, None),
        P::Geometry { crs } => (Physical::BYTE_ARRAY, Some(LogicalType::geometry(crs.clone()))),
        P::Geography { crs, algorithm } => {
            let edges = match algorithm.as_deref() {
                None => None,
                Some("spherical") => Some(EdgeInterpolationAlgorithm::SPHERICAL),
                Some("vincenty") => Some(EdgeInterpolationAlgorithm::VINCENTY),
                Some("thomas") => Some(EdgeInterpolationAlgorithm::THOMAS),
                Some("andoyer") => Some(EdgeInterpolationAlgorithm::ANDOYER),
                Some("karney") => Some(EdgeInterpolationAlgorithm::KARNEY),
                Some(other) => {
                    return Err(Error::unsupported(format!("edges of geographies can't be '{other}'")));
                }
            };
            (Physical::BYTE_ARRAY, Some(LogicalType::geography(crs.clone(), edges)))
        }
        P::Unknown | P::Variant => {
            return Err(Error::unsupported(format!("columns of type {p} can't be written to Parquet")));
        }
    })
}

/// The name in a form that Avro allows. Every other character is written as `_x2D` (a first digit as `_1`). Characters
/// beyond the basic plane become two such escapes, because Java counts them as two.
pub(crate) fn avro_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        let fits = c.is_alphabetic() || c == '_' || (i > 0 && c.is_numeric());
        if fits && (c as u32) < 0x10000 {
            out.push(c);
        } else if c.is_ascii_digit() {
            out.push('_');
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("_x{unit:X}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_java_does() {
        assert_eq!(avro_name("plain_1"), "plain_1");
        assert_eq!(avro_name("9x"), "_9x");
        assert_eq!(avro_name("a.b-c"), "a_x2Eb_x2Dc");
        assert_eq!(avro_name("ż#"), "ż_x23");
        assert_eq!(avro_name("😎"), "_xD83D_xDE0E");
    }

    #[test]
    fn every_level_has_its_id() {
        let list = Type::List(Arc::new(Field::new(3, "element", true, PrimitiveType::Uuid)));
        let map = Type::Map(
            Arc::new(Field::new(5, "key", true, PrimitiveType::String)),
            Arc::new(Field::new(6, "value", false, PrimitiveType::Decimal { precision: 20, scale: 3 })),
        );
        let inner: Arc<[Field]> = vec![Field::new(8, "x.y", false, PrimitiveType::TimestamptzNs)].into();
        let schema = Schema::new(
            0,
            vec![
                Field::new(1, "a", true, PrimitiveType::Int),
                Field::new(2, "l", false, list),
                Field::new(4, "m", false, map),
                Field::new(7, "s", false, Type::Struct(inner)),
            ],
            vec![],
        );
        let mut text = Vec::new();
        parquet::schema::printer::print_schema(&mut text, to_parquet(&schema).unwrap().root_schema());
        let expected = "message table {
  REQUIRED INT32 a = 1;
  OPTIONAL group l = 2 (LIST) {
    REPEATED group list {
      REQUIRED FIXED_LEN_BYTE_ARRAY (16) element = 3 (UUID);
    }
  }
  OPTIONAL group m = 4 (MAP) {
    REPEATED group key_value {
      REQUIRED BYTE_ARRAY key = 5 (STRING);
      OPTIONAL FIXED_LEN_BYTE_ARRAY (9) value = 6 (DECIMAL(20,3));
    }
  }
  OPTIONAL group s = 7 {
    OPTIONAL INT64 x_x2Ey = 8 (TIMESTAMP(NANOS,true));
  }
}
";
        let squeeze = |t: &str| {
            t.split_whitespace().collect::<Vec<_>>().join(" ").replace("= ", "").replace("[", "").replace("]", "")
        };
        assert_eq!(squeeze(&String::from_utf8(text).unwrap()), squeeze(expected));
        let unknown = Schema::new(0, vec![Field::new(1, "v", false, PrimitiveType::Unknown)], vec![]);
        let e = to_parquet(&unknown).unwrap_err();
        assert!(e.to_string().contains("column: v"), "{e}");
    }

    #[test]
    fn types_of_version_3() {
        let geography = PrimitiveType::Geography { crs: Some("srid:4269".into()), algorithm: Some("karney".into()) };
        let inner: Arc<[Field]> =
            vec![Field::new(8, "u", false, PrimitiveType::Unknown), Field::new(9, "x", false, PrimitiveType::Int)]
                .into();
        let fields = vec![
            Field::new(1, "v", true, PrimitiveType::Variant),
            Field::new(2, "g", false, PrimitiveType::Geometry { crs: None }),
            Field::new(3, "h", false, geography),
            Field::new(4, "u", false, PrimitiveType::Unknown),
            Field::new(7, "s", false, Type::Struct(inner)),
        ];
        let kept = without_unknown(&Schema::new(0, fields.clone(), vec![])).unwrap();
        assert_eq!(kept.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["v", "g", "h", "s"]);
        let parquet = to_parquet(&kept).unwrap();
        let variant = &parquet.root_schema().get_fields()[0];
        assert_eq!(variant.get_basic_info().logical_type_ref(), Some(&LogicalType::variant(Some(1))));
        let leaves: Vec<_> = parquet.columns().iter().map(|c| (c.path().string(), c.max_def_level())).collect();
        let expected = [("v.metadata", 0), ("v.value", 0), ("g", 1), ("h", 1), ("s.x", 2)];
        assert_eq!(leaves, expected.map(|(path, level)| (path.to_owned(), level)));
        assert_eq!(parquet.column(2).logical_type_ref(), Some(&LogicalType::geometry(None)));
        let edges = Some(EdgeInterpolationAlgorithm::KARNEY);
        assert_eq!(
            parquet.column(3).logical_type_ref(),
            Some(&LogicalType::geography(Some("srid:4269".into()), edges))
        );
        let only: Arc<[Field]> = vec![fields[3].clone()].into();
        let list = Type::List(Arc::new(fields[3].clone()));
        for ty in [Type::Struct(only), list] {
            assert!(without_unknown(&Schema::new(0, vec![Field::new(20, "x", false, ty)], vec![])).is_err());
        }
    }
}
