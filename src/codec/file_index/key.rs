//! Values as indexes store them, and the question that a filter's comparison asks about them.

use std::cmp::Ordering;

use super::be::Bytes;
use crate::error::Result;
use crate::expr::{BoundLeaf, Op};
use crate::types::java::compare_doubles;
use crate::types::{Transform, Value, ValueRef};

/// The type that an indexed column has in its file. Some of these types have different bytes in Paimon, but are the
/// same in `types`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexedType {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    Date,
    /// Milliseconds in the index.
    Time,
    Decimal {
        precision: u32,
    },
    /// With or without zone: milliseconds in the index up to 3 digits, microseconds above.
    Timestamp {
        precision: u32,
    },
    /// `CHAR`, `VARCHAR`.
    Text,
    /// `BINARY`, `VARBINARY`.
    Bytes,
}

/// A value of an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum IndexKey {
    /// Every whole number, and booleans as 0 and 1.
    Whole(i64),
    Float(f32),
    Double(f64),
    /// Text and bytes.
    Bytes(Vec<u8>),
}

impl IndexKey {
    /// The order of keys of one type.
    pub(super) fn order(&self, other: &IndexKey) -> Ordering {
        match (self, other) {
            (IndexKey::Whole(a), IndexKey::Whole(b)) => a.cmp(b),
            (IndexKey::Float(a), IndexKey::Float(b)) => compare_doubles(f64::from(*a), f64::from(*b)),
            (IndexKey::Double(a), IndexKey::Double(b)) => compare_doubles(*a, *b),
            (IndexKey::Bytes(a), IndexKey::Bytes(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

impl IndexedType {
    /// Whether [`IndexedType::read`] knows how the type is written.
    pub fn is_written(self) -> bool {
        match self {
            IndexedType::Decimal { precision } => precision <= 18,
            IndexedType::Bytes => false,
            _ => true,
        }
    }

    fn is_integer(self) -> bool {
        matches!(self, IndexedType::TinyInt | IndexedType::SmallInt | IndexedType::Int | IndexedType::BigInt)
    }

    /// Whether keys differ in length.
    pub fn is_text(self) -> bool {
        self == IndexedType::Text
    }

    /// Reads a key as bitmaps and dictionaries write it.
    pub(super) fn read(self, from: &mut Bytes<'_>) -> Result<IndexKey> {
        Ok(match self {
            IndexedType::Boolean => IndexKey::Whole(i64::from(from.byte()? == 1)),
            IndexedType::TinyInt => IndexKey::Whole(i64::from(from.byte()?.cast_signed())),
            IndexedType::SmallInt => IndexKey::Whole(i64::from(from.short()?)),
            IndexedType::Int | IndexedType::Date | IndexedType::Time => IndexKey::Whole(i64::from(from.int()?)),
            IndexedType::BigInt | IndexedType::Decimal { .. } | IndexedType::Timestamp { .. } => {
                IndexKey::Whole(from.long()?)
            }
            IndexedType::Float => IndexKey::Float(f32::from_bits(from.int()?.cast_unsigned())),
            IndexedType::Double => IndexKey::Double(f64::from_bits(from.long()?.cast_unsigned())),
            IndexedType::Text | IndexedType::Bytes => IndexKey::Bytes(from.block()?.to_vec()),
        })
    }

    /// A literal as a key, and whether the key is exact: times in an index are coarser than literals may be. `None` if
    /// the index has no such keys.
    pub(super) fn key(self, literal: ValueRef<'_>) -> Option<(IndexKey, bool)> {
        let coarse = |v: i64, per: i64| (IndexKey::Whole(v.div_euclid(per)), v.rem_euclid(per) == 0);
        Some(match (self, literal) {
            (IndexedType::Boolean, ValueRef::Boolean(v)) => (IndexKey::Whole(i64::from(v)), true),
            (IndexedType::Date, ValueRef::Int(v)) => (IndexKey::Whole(i64::from(v)), true),
            // Integers may have been narrower when the file was written.
            (ty, ValueRef::Int(v)) if ty.is_integer() => (IndexKey::Whole(i64::from(v)), true),
            (ty, ValueRef::Long(v)) if ty.is_integer() => (IndexKey::Whole(v), true),
            (IndexedType::Decimal { precision: ..=18 }, ValueRef::Decimal(v)) => {
                (IndexKey::Whole(i64::try_from(v).ok()?), true)
            }
            (IndexedType::Time | IndexedType::Timestamp { precision: ..=3 }, ValueRef::Long(v)) => coarse(v, 1000),
            (IndexedType::Timestamp { precision: 4..=6 }, ValueRef::Long(v)) => (IndexKey::Whole(v), true),
            // Values of one microsecond share a key.
            (IndexedType::Timestamp { .. }, ValueRef::Long(v)) => (IndexKey::Whole(v.div_euclid(1000)), false),
            (IndexedType::Float, ValueRef::Float(v)) => (IndexKey::Float(v), true),
            (IndexedType::Double, ValueRef::Double(v)) => (IndexKey::Double(v), true),
            (IndexedType::Text, ValueRef::String(v)) => (IndexKey::Bytes(v.as_bytes().to_vec()), true),
            (IndexedType::Bytes, ValueRef::Bytes(v)) => (IndexKey::Bytes(v.to_vec()), true),
            _ => return None,
        })
    }
}

/// A question to an index. It never excludes rows that the leaf keeps.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Question {
    Null,
    NotNull,
    /// One of these, which ascend.
    In(Vec<IndexKey>),
    /// Not null, and not one of these values, which ascend.
    NotIn(Vec<IndexKey>),
    /// Less than the key, or equal to it if set.
    Below(IndexKey, bool),
    /// Greater than the key, or equal to it if set.
    Above(IndexKey, bool),
    /// A question that indexes of values don't answer, but that no null passes.
    Prefix,
}

impl Question {
    /// The question that a leaf asks about a column with this type in its file; `None` if no index can answer it.
    pub(super) fn of(leaf: &BoundLeaf, ty: IndexedType) -> Option<Question> {
        if leaf.term.transform != Transform::Identity {
            return None;
        }
        Some(match leaf.op {
            Op::IsNull => Question::Null,
            Op::NotNull => Question::NotNull,
            Op::Eq | Op::In => Question::In(keys(leaf, ty, false)?),
            Op::NotEq | Op::NotIn => Question::NotIn(keys(leaf, ty, true)?),
            Op::IsNan => Question::In(vec![match ty {
                IndexedType::Float => IndexKey::Float(f32::NAN),
                IndexedType::Double => IndexKey::Double(f64::NAN),
                _ => return None,
            }]),
            Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => comparison(leaf.op, ty.key(leaf.values.first()?.as_ref())?),
            Op::StartsWith => Question::Prefix,
            Op::NotNan | Op::NotStartsWith => return None,
        })
    }
}

/// Keys of a leaf's literals. With `exact`, keys that are less exact than their literal are left out. A zero gives
/// both zeros.
fn keys(leaf: &BoundLeaf, ty: IndexedType, exact: bool) -> Option<Vec<IndexKey>> {
    let mut out = Vec::with_capacity(leaf.values.len());
    for (key, whole) in leaf.values.iter().map(Value::as_ref).map(|v| ty.key(v)).collect::<Option<Vec<_>>>()? {
        match key {
            _ if exact && !whole => {}
            IndexKey::Float(0.0) => out.extend([IndexKey::Float(-0.0), IndexKey::Float(0.0)]),
            IndexKey::Double(0.0) => out.extend([IndexKey::Double(-0.0), IndexKey::Double(0.0)]),
            key => out.push(key),
        }
    }
    out.sort_by(IndexKey::order);
    Some(out)
}

/// A filter treats both zeros as equal, but an index has two keys for them. Keys that are less exact than their
/// literal must be included.
fn comparison(op: Op, (key, exact): (IndexKey, bool)) -> Question {
    let or_equal = matches!(op, Op::LtEq | Op::GtEq) || !exact;
    let below = matches!(op, Op::Lt | Op::LtEq);
    let lesser_zero = below != or_equal;
    let key = match key {
        IndexKey::Float(0.0) => IndexKey::Float(if lesser_zero { -0.0 } else { 0.0 }),
        IndexKey::Double(0.0) => IndexKey::Double(if lesser_zero { -0.0 } else { 0.0 }),
        key => key,
    };
    if below { Question::Below(key, or_equal) } else { Question::Above(key, or_equal) }
}
