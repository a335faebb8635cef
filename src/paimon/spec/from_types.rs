//! Paimon's types for columns of the crate's own types.

use super::data_type::{DataField, DataType, MAX_LENGTH, TypeKind};
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Type};

/// Paimon's field for a column.
///
/// # Errors
/// As [`data_type`].
pub(crate) fn data_field(field: &Field) -> Result<DataField> {
    let mut out = DataField::new(field.id, field.name.clone(), data_type(&field.ty, !field.required)?);
    out.description.clone_from(&field.doc);
    Ok(out)
}

/// Paimon's type for a type.
///
/// # Errors
/// `Unsupported` for types that it does not have.
pub(crate) fn data_type(ty: &Type, nullable: bool) -> Result<DataType> {
    use PrimitiveType as P;
    let inner = |f: &Field| data_type(&f.ty, !f.required).map(Box::new);
    let kind = match ty {
        Type::Struct(members) if members.is_empty() => {
            return Err(Error::invalid("a struct without fields can't be stored"));
        }
        Type::Struct(members) => TypeKind::Row(members.iter().map(data_field).collect::<Result<_>>()?),
        Type::List(element) => TypeKind::Array(inner(element)?),
        Type::Map(key, value) => TypeKind::Map(inner(key)?, inner(value)?),
        Type::Primitive(p) => match p {
            P::Boolean => TypeKind::Boolean,
            P::Int => TypeKind::Int,
            P::Long => TypeKind::BigInt,
            P::Float => TypeKind::Float,
            P::Double => TypeKind::Double,
            P::Decimal { precision, scale } => TypeKind::Decimal { precision: *precision, scale: *scale },
            P::Date => TypeKind::Date,
            P::Time => TypeKind::Time(3),
            P::Timestamp => TypeKind::Timestamp(6),
            P::Timestamptz => TypeKind::TimestampLtz(6),
            P::TimestampNs => TypeKind::Timestamp(9),
            P::TimestamptzNs => TypeKind::TimestampLtz(9),
            P::String => TypeKind::VarChar(MAX_LENGTH),
            P::Binary => TypeKind::VarBinary(MAX_LENGTH),
            P::Fixed(0) => {
                return Err(Error::invalid("values of 0 bytes can't be stored, so the type fixed[0] is not possible"));
            }
            P::Fixed(n) => TypeKind::Binary(*n),
            P::Variant => TypeKind::Variant,
            _ => {
                let e = Error::unsupported(format!("tables of Paimon have no columns of type {p}"));
                return Err(match p {
                    P::Uuid => e.hint("Store the values as text, or their 16 bytes as pyarrow.binary(16)"),
                    P::Geometry { .. } | P::Geography { .. } => {
                        e.hint("Store the well-known binary in a binary column, or use format='iceberg'")
                    }
                    _ => e.hint("Leave the column out, or use format='iceberg'"),
                });
            }
        },
    };
    Ok(DataType { kind, nullable })
}
