//! The types of an ORC file for a table's columns.
//!
//! Source: Iceberg specification, Appendix A, "ORC"; attributes as Java's `ORCSchemaUtil` notes them.

use crate::codec::orc::OrcKind;
use crate::codec::orc::encode::{KindStatistics, TypeOut};
use crate::data::declared_types::stored::{ExactLeaf, ExactTypes};
use crate::error::{Error, Result};
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

/// The hint for columns and values that ORC files do not have.
pub(super) const ANOTHER_FORMAT: &str =
    "Set the table's format of files, write.format.default or file.format, to parquet or avro";

/// A column of a file that is written, with those below it.
#[derive(Clone, Debug)]
pub(crate) struct OrcType {
    /// Its number in the file.
    pub number: usize,
    pub id: FieldId,
    pub ty: Type,
    /// Whether its values are integers of one byte.
    pub bytes: bool,
    pub children: Vec<OrcType>,
}

/// The list of all types, and the top-level columns. Exact types decide for a Paimon table.
///
/// # Errors
/// `Unsupported` for types that ORC files do not have.
pub(crate) fn orc_types(schema: &Schema, exact: Option<&ExactTypes>) -> Result<(Vec<TypeOut>, Vec<OrcType>)> {
    let names = schema.fields.iter().map(|f| f.name.clone()).collect();
    let root = TypeOut { kind: OrcKind::Struct, children: Vec::new(), names, digits: None, attributes: Vec::new() };
    let mut types = vec![root];
    let columns = schema.fields.iter().map(|f| add(f, exact, &mut types)).collect::<Result<Vec<_>>>()?;
    link(&mut types, 0, &columns);
    Ok((types, columns))
}

fn link(types: &mut [TypeOut], number: usize, children: &[OrcType]) {
    if let Some(ty) = types.get_mut(number) {
        ty.children = children.iter().map(|c| c.number).collect();
    }
}

/// Adds a field's type, then the types below it.
fn add(field: &Field, exact: Option<&ExactTypes>, types: &mut Vec<TypeOut>) -> Result<OrcType> {
    let number = types.len();
    let mut out = of_field(field).map_err(|e| e.with("column", &field.name))?;
    if let Some(exact) = exact {
        out.attributes = vec![("paimon.id", field.id.to_string())];
        out.kind = exact_kind(field, exact).unwrap_or(out.kind);
    }
    let bytes = out.kind == OrcKind::Byte;
    types.push(out);
    let children = field.ty.children().into_iter().map(|child| add(child, exact, types)).collect::<Result<Vec<_>>>()?;
    link(types, number, &children);
    Ok(OrcType { number, id: field.id, ty: field.ty.clone(), bytes, children })
}

/// The type of a Paimon table's column if it is not Iceberg's. Source: Java's `OrcTypeUtil`.
fn exact_kind(field: &Field, exact: &ExactTypes) -> Option<OrcKind> {
    let p = field.ty.as_primitive()?;
    match exact.leaf(field.id, p) {
        ExactLeaf::Narrow(8) => Some(OrcKind::Byte),
        ExactLeaf::Narrow(_) => Some(OrcKind::Short),
        _ => (*p == PrimitiveType::Time).then_some(OrcKind::Int),
    }
}

fn of_field(field: &Field) -> Result<TypeOut> {
    let mut attributes = vec![("iceberg.id", field.id.to_string()), ("iceberg.required", field.required.to_string())];
    let mut note = |key: &'static str, value: &str| attributes.push((key, value.to_owned()));
    let (mut names, mut digits) = (Vec::new(), None);
    let kind = match &field.ty {
        Type::Struct(fields) => {
            names = fields.iter().map(|f| f.name.clone()).collect();
            OrcKind::Struct
        }
        Type::List(_) => OrcKind::List,
        Type::Map(_, _) => OrcKind::Map,
        Type::Primitive(p) => {
            if let PrimitiveType::Decimal { precision, scale } = p {
                digits = Some((*precision, *scale));
            }
            primitive(p, &mut note)?
        }
    };
    attributes.sort_unstable();
    Ok(TypeOut { kind, children: Vec::new(), names, digits, attributes })
}

fn primitive(ty: &PrimitiveType, note: &mut impl FnMut(&'static str, &str)) -> Result<OrcKind> {
    use PrimitiveType as P;
    Ok(match ty {
        P::Boolean => OrcKind::Boolean,
        P::Int => OrcKind::Int,
        P::Long | P::Time => {
            note("iceberg.long-type", if *ty == P::Time { "TIME" } else { "LONG" });
            OrcKind::Long
        }
        P::Float => OrcKind::Float,
        P::Double => OrcKind::Double,
        P::Date => OrcKind::Date,
        P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            note("iceberg.timestamp-unit", if per_second(ty) == 1_000_000 { "MICROS" } else { "NANOS" });
            match ty {
                P::Timestamp | P::TimestampNs => OrcKind::Timestamp,
                _ => OrcKind::TimestampInstant,
            }
        }
        P::String => OrcKind::String,
        P::Uuid => {
            note("iceberg.binary-type", "UUID");
            OrcKind::Binary
        }
        P::Fixed(length) => {
            note("iceberg.binary-type", "FIXED");
            note("iceberg.length", &length.to_string());
            OrcKind::Binary
        }
        P::Binary => {
            note("iceberg.binary-type", "BINARY");
            OrcKind::Binary
        }
        P::Decimal { .. } => OrcKind::Decimal,
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => {
            return Err(
                Error::unsupported(format!("columns of type {ty} can't be written to ORC files")).hint(ANOTHER_FORMAT)
            );
        }
    })
}

/// Units of a timestamp in a second.
pub(crate) fn per_second(ty: &PrimitiveType) -> i64 {
    match ty {
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => 1_000_000_000,
        _ => 1_000_000,
    }
}

/// The empty statistics for columns of a type.
pub(crate) fn statistics_of(ty: &Type) -> KindStatistics {
    use KindStatistics as K;
    use PrimitiveType as P;
    match ty {
        Type::Struct(_) => K::None,
        Type::List(_) | Type::Map(_, _) => K::Collection { range: None, total: 0 },
        Type::Primitive(p) => match p {
            P::Boolean => K::Boolean { true_count: 0 },
            P::Int | P::Long | P::Time => K::Integer { range: None, sum: Some(0) },
            P::Float | P::Double => K::Double { range: None, sum: 0.0, nans: 0 },
            P::Date => K::Date { range: None },
            P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
                K::Timestamp { range: None, per_second: per_second(p) }
            }
            P::String => K::Text { range: None, bytes: 0 },
            P::Decimal { scale, .. } => K::Decimal { range: None, scale: *scale },
            P::Uuid | P::Fixed(_) | P::Binary => K::Binary { bytes: 0 },
            P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => K::None,
        },
    }
}
