//! Paimon's exact types. [`types::Schema`](crate::types::Schema) does not keep lengths, narrow integers and precisions,
//! but binary rows, casts, hashes and written schemas need them.
//!
//! Source: Paimon specification, "Schema"; Java's `DataTypes` for the JSON form.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::types::metadata_columns::DERIVED_ID_BASE;
use crate::types::{Field, FieldId, PrimitiveType, Type};

/// The greatest length of a `VARCHAR` or `VARBINARY`: those are called `STRING` and `BYTES`.
pub const MAX_LENGTH: u32 = i32::MAX as u32;

/// Derived ids that one column may have.
const DERIVED_IDS: FieldId = 1 << 10;

/// A type and whether it has nulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataType {
    /// The kind of the type.
    pub kind: TypeKind,
    /// Whether null is possible.
    pub nullable: bool,
}

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeKind {
    Boolean,
    /// 8 bits.
    TinyInt,
    /// 16 bits.
    SmallInt,
    /// 32 bits.
    Int,
    /// 64 bits.
    BigInt,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// A fixed number of characters, blanks at the end included.
    Char(u32),
    /// Up to this number of characters.
    VarChar(u32),
    /// A fixed number of bytes.
    Binary(u32),
    /// Up to this number of bytes.
    VarBinary(u32),
    Date,
    /// The digits after the second's decimal point.
    Time(u8),
    /// The digits after the second's decimal point.
    Timestamp(u8),
    /// The digits after the second's decimal point; a point in time.
    TimestampLtz(u8),
    Variant,
    /// Bytes kept in files of their own.
    Blob,
    Array(Box<DataType>),
    /// A fixed number of numbers without nulls.
    Vector {
        element: Box<DataType>,
        length: u32,
    },
    /// Elements, each with its number of occurrences.
    Multiset(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
    Row(Arc<[DataField]>),
}

/// A column or a member of a row type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataField {
    /// Unique in the table, members of rows included.
    pub id: FieldId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Its comment.
    pub description: Option<String>,
    /// The default for rows that give no value, as SQL text.
    pub default_value: Option<String>,
    /// Members that only later versions know.
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// The ids of the parts of a column at a depth, from 1: of elements and map values, and of map keys.
fn derived_ids(column: FieldId, depth: FieldId) -> (FieldId, FieldId) {
    let offset = column.wrapping_mul(DERIVED_IDS).wrapping_add(depth);
    (DERIVED_ID_BASE.wrapping_add(offset), DERIVED_ID_BASE.wrapping_sub(offset))
}

impl DataField {
    /// A field without comment and default.
    pub fn new(id: FieldId, name: impl Into<String>, ty: DataType) -> DataField {
        DataField { id, name: name.into(), ty, description: None, default_value: None, unknown: Default::default() }
    }

    /// The field as the rest of the crate sees it.
    pub fn to_field(&self) -> Field {
        let mut field = Field::new(self.id, self.name.clone(), !self.ty.nullable, self.ty.to_type(self.id, 0));
        field.doc.clone_from(&self.description);
        field
    }
}

impl TypeKind {
    /// The type, with nulls.
    pub fn nullable(self) -> DataType {
        DataType { kind: self, nullable: true }
    }

    /// The type, without nulls.
    pub fn not_null(self) -> DataType {
        DataType { kind: self, nullable: false }
    }

    /// Bits of an integer type.
    pub fn integer_bits(&self) -> Option<u32> {
        match self {
            TypeKind::TinyInt => Some(8),
            TypeKind::SmallInt => Some(16),
            TypeKind::Int => Some(32),
            TypeKind::BigInt => Some(64),
            _ => None,
        }
    }
}

impl DataType {
    /// Whether values are or contain values of type BLOB.
    pub fn has_blobs(&self) -> bool {
        match &self.kind {
            TypeKind::Blob => true,
            TypeKind::Array(inner) | TypeKind::Multiset(inner) => inner.has_blobs(),
            TypeKind::Map(key, value) => key.has_blobs() || value.has_blobs(),
            TypeKind::Row(members) => members.iter().any(|member| member.ty.has_blobs()),
            _ => false,
        }
    }

    /// The leaf type that values of this one are handled as; `None` for types with children.
    pub fn to_primitive(&self) -> Option<PrimitiveType> {
        use PrimitiveType as P;
        Some(match &self.kind {
            TypeKind::Boolean => P::Boolean,
            TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int => P::Int,
            TypeKind::BigInt => P::Long,
            TypeKind::Float => P::Float,
            TypeKind::Double => P::Double,
            TypeKind::Decimal { precision, scale } => P::Decimal { precision: *precision, scale: *scale },
            TypeKind::Char(_) | TypeKind::VarChar(_) => P::String,
            TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => P::Binary,
            TypeKind::Date => P::Date,
            TypeKind::Time(_) => P::Time,
            TypeKind::Timestamp(p) if *p <= 6 => P::Timestamp,
            TypeKind::Timestamp(_) => P::TimestampNs,
            TypeKind::TimestampLtz(p) if *p <= 6 => P::Timestamptz,
            TypeKind::TimestampLtz(_) => P::TimestamptzNs,
            TypeKind::Variant => P::Variant,
            TypeKind::Array(_)
            | TypeKind::Vector { .. }
            | TypeKind::Multiset(_)
            | TypeKind::Map(..)
            | TypeKind::Row(_) => return None,
        })
    }

    /// The type as the rest of the crate sees it. Paimon gives list elements and map entries no ids of their own.
    /// They get the ids that Java derives for its files, from the column's id and the depth (`SpecialFields`).
    pub fn to_type(&self, column: FieldId, depth: FieldId) -> Type {
        let depth = depth.saturating_add(1);
        let (up, down) = derived_ids(column, depth);
        let child = |id, name: &str, required, ty: &DataType| {
            Arc::new(Field::new(id, name, required, ty.to_type(column, depth)))
        };
        match &self.kind {
            TypeKind::Array(element) | TypeKind::Vector { element, .. } => {
                Type::List(child(up, "element", !element.nullable, element))
            }
            TypeKind::Map(key, value) => {
                Type::Map(child(down, "key", true, key), child(up, "value", !value.nullable, value))
            }
            TypeKind::Multiset(element) => {
                let count = TypeKind::Int.not_null();
                Type::Map(child(down, "key", true, element), child(up, "value", true, &count))
            }
            TypeKind::Row(fields) => Type::Struct(fields.iter().map(DataField::to_field).collect()),
            _ => Type::Primitive(self.to_primitive().unwrap_or(PrimitiveType::Unknown)),
        }
    }

    /// The exact types of the leaves, without nullability, by the ids that [`DataType::to_type`] gives them. `id` is
    /// that of this type.
    pub fn declare(&self, id: FieldId, column: FieldId, depth: FieldId, out: &mut BTreeMap<FieldId, String>) {
        let depth = depth.saturating_add(1);
        let (up, down) = derived_ids(column, depth);
        match &self.kind {
            TypeKind::Array(element) | TypeKind::Vector { element, .. } => element.declare(up, column, depth, out),
            TypeKind::Map(key, value) => {
                key.declare(down, column, depth, out);
                value.declare(up, column, depth, out);
            }
            TypeKind::Multiset(element) => element.declare(down, column, depth, out),
            TypeKind::Row(fields) => fields.iter().for_each(|f| f.ty.declare(f.id, f.id, 0, out)),
            _ => {
                out.insert(id, self.kind.clone().nullable().to_string());
            }
        }
    }

    /// Whether both types are the same, apart from nullability.
    pub fn same_values(&self, other: &DataType) -> bool {
        self.kind == other.kind
    }
}

impl fmt::Display for DataType {
    /// SQL, as in schema files for types without children.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TypeKind::Boolean => f.write_str("BOOLEAN")?,
            TypeKind::TinyInt => f.write_str("TINYINT")?,
            TypeKind::SmallInt => f.write_str("SMALLINT")?,
            TypeKind::Int => f.write_str("INT")?,
            TypeKind::BigInt => f.write_str("BIGINT")?,
            TypeKind::Float => f.write_str("FLOAT")?,
            TypeKind::Double => f.write_str("DOUBLE")?,
            TypeKind::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})")?,
            TypeKind::Char(n) => write!(f, "CHAR({n})")?,
            TypeKind::VarChar(MAX_LENGTH) => f.write_str("STRING")?,
            TypeKind::VarChar(n) => write!(f, "VARCHAR({n})")?,
            TypeKind::Binary(n) => write!(f, "BINARY({n})")?,
            TypeKind::VarBinary(MAX_LENGTH) => f.write_str("BYTES")?,
            TypeKind::VarBinary(n) => write!(f, "VARBINARY({n})")?,
            TypeKind::Date => f.write_str("DATE")?,
            TypeKind::Time(p) => write!(f, "TIME({p})")?,
            TypeKind::Timestamp(p) => write!(f, "TIMESTAMP({p})")?,
            TypeKind::TimestampLtz(p) => write!(f, "TIMESTAMP({p}) WITH LOCAL TIME ZONE")?,
            TypeKind::Variant => f.write_str("VARIANT")?,
            TypeKind::Blob => f.write_str("BLOB")?,
            TypeKind::Array(element) => write!(f, "ARRAY<{element}>")?,
            TypeKind::Vector { element, length } => write!(f, "VECTOR<{element}, {length}>")?,
            TypeKind::Multiset(element) => write!(f, "MULTISET<{element}>")?,
            TypeKind::Map(key, value) => write!(f, "MAP<{key}, {value}>")?,
            TypeKind::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    write!(f, "{}`{}` {}", if i > 0 { ", " } else { "" }, field.name, field.ty)?;
                }
                f.write_str(">")?;
            }
        }
        if self.nullable { Ok(()) } else { f.write_str(" NOT NULL") }
    }
}
