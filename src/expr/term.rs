//! What filters ask about and compare with: columns, operations and literals.

use crate::types::{Field, FieldId, PrimitiveType, Transform, Type};

/// An untyped literal, before it is converted to the column's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `true`, `false`.
    Boolean(bool),
    /// A number as written: `42`, `-1.50`, `1e3`.
    Number(String),
    /// A quoted string. The column's type makes it a date, timestamp, uuid, decimal and so on.
    String(String),
    /// `x'00ff'`.
    Bytes(Vec<u8>),
}

/// A column, perhaps under a transform: `ts`, `payload.a`, `bucket(4, id)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The names from the top-level column down.
    pub path: Vec<String>,
    /// `Identity` for a plain column.
    pub transform: Transform,
}

/// The operation of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    IsNull,
    NotNull,
    IsNan,
    NotNan,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Eq,
    NotEq,
    In,
    NotIn,
    StartsWith,
    NotStartsWith,
}

/// The names of operations in the REST catalog protocol.
const SPEC_NAMES: [(&str, Op); 14] = [
    ("is-null", Op::IsNull),
    ("not-null", Op::NotNull),
    ("is-nan", Op::IsNan),
    ("not-nan", Op::NotNan),
    ("lt", Op::Lt),
    ("lt-eq", Op::LtEq),
    ("gt", Op::Gt),
    ("gt-eq", Op::GtEq),
    ("eq", Op::Eq),
    ("not-eq", Op::NotEq),
    ("in", Op::In),
    ("not-in", Op::NotIn),
    ("starts-with", Op::StartsWith),
    ("not-starts-with", Op::NotStartsWith),
];

impl Op {
    /// The name in the REST catalog protocol.
    pub fn spec_name(self) -> &'static str {
        SPEC_NAMES.iter().find(|(_, op)| *op == self).map_or("", |(name, _)| name)
    }

    /// The operation of a name in the REST catalog protocol.
    pub(super) fn of_spec_name(name: &str) -> Option<Op> {
        SPEC_NAMES.iter().find(|(known, _)| *known == name).map(|(_, op)| *op)
    }

    /// The negated operation. Both are unknown on null, except the null and NaN tests, which are never unknown: null is
    /// not NaN.
    pub fn negate(self) -> Op {
        match self {
            Op::IsNull => Op::NotNull,
            Op::NotNull => Op::IsNull,
            Op::IsNan => Op::NotNan,
            Op::NotNan => Op::IsNan,
            Op::Lt => Op::GtEq,
            Op::LtEq => Op::Gt,
            Op::Gt => Op::LtEq,
            Op::GtEq => Op::Lt,
            Op::Eq => Op::NotEq,
            Op::NotEq => Op::Eq,
            Op::In => Op::NotIn,
            Op::NotIn => Op::In,
            Op::StartsWith => Op::NotStartsWith,
            Op::NotStartsWith => Op::StartsWith,
        }
    }

    /// The comparison with its sides exchanged.
    pub(super) fn mirrored(self) -> Op {
        match self {
            Op::Lt => Op::Gt,
            Op::LtEq => Op::GtEq,
            Op::Gt => Op::Lt,
            Op::GtEq => Op::LtEq,
            op => op,
        }
    }
}

/// A column bound to a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundTerm {
    /// The column.
    pub field_id: FieldId,
    /// Its path of names, for text.
    pub path: Vec<String>,
    /// The column's type; nested types only under the null tests.
    pub source: Type,
    /// `Identity` for a plain column.
    pub transform: Transform,
    /// The type of the term's values: that of the column, or that of the transform's result.
    pub ty: Type,
    /// Whether the column and all structs around it are required, so that null is impossible.
    pub required: bool,
}

impl BoundTerm {
    /// A plain column, from the fields that lead to it from the top level. `None` for an empty list of fields.
    pub fn of_column(path: &[&Field]) -> Option<BoundTerm> {
        let field = path.last()?;
        Some(BoundTerm {
            field_id: field.id,
            path: path.iter().map(|f| f.name.clone()).collect(),
            source: field.ty.clone(),
            transform: Transform::Identity,
            ty: field.ty.clone(),
            required: path.iter().all(|f| f.required),
        })
    }

    /// The type of the column if it is a leaf.
    pub fn source_primitive(&self) -> Option<&PrimitiveType> {
        self.source.as_primitive()
    }
}
