//! The columns of an ORC file as Arrow fields.
//!
//! Field ids come from the attributes of types (Iceberg specification, Appendix A, "ORC"). Units of time are noted
//! there too. ORC cannot tell apart some other types: time and long; uuid, fixed and binary. They are read in their
//! stored form, and a cast gives them the type of the table.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, TimeUnit,
    UnionFields, UnionMode,
};

use crate::codec::orc::{OrcFooter, OrcKind, TypeInfo};
use crate::data::arrow::schema::FIELD_ID_KEY;
use crate::error::{Error, Result};

/// A column of a file, with those below it.
#[derive(Clone, Debug)]
pub(crate) struct OrcColumn {
    /// Its number in the file.
    pub number: usize,
    pub kind: OrcKind,
    pub field: FieldRef,
    /// The leaf columns below it: the columns without columns below them, counted from the first.
    leaves: Range<usize>,
    pub children: Vec<OrcColumn>,
}

/// The top-level columns of a file.
///
/// # Errors
/// `CorruptTable` for impossible decimals.
pub(crate) fn columns(footer: &OrcFooter) -> Result<Vec<OrcColumn>> {
    let root = footer.types.first().ok_or_else(|| Error::internal("a footer without types"))?;
    let mut next_leaf = 0;
    members(root, &footer.types, &mut next_leaf)
}

/// The Arrow schema of columns.
pub(crate) fn arrow_schema(columns: &[OrcColumn]) -> ArrowSchema {
    ArrowSchema::new(columns.iter().map(|c| c.field.clone()).collect::<Fields>())
}

/// The columns with only these leaves below them.
pub(crate) fn prune(columns: &[OrcColumn], leaves: &BTreeSet<usize>) -> Vec<OrcColumn> {
    let is_read = |c: &&OrcColumn| leaves.range(c.leaves.clone()).next().is_some();
    let prune_one = |column: &OrcColumn| {
        if column.children.is_empty() {
            return column.clone();
        }
        let children = prune(&column.children, leaves);
        let field = Arc::new(column.field.as_ref().clone().with_data_type(nested(column.kind, &children)));
        OrcColumn { field, children, ..column.clone() }
    };
    columns.iter().filter(is_read).map(prune_one).collect()
}

/// The columns, with nanoseconds in those of these leaves that are timestamps.
pub(crate) fn with_nanos(columns: &[OrcColumn], leaves: &BTreeSet<usize>) -> Vec<OrcColumn> {
    let refined = |column: &OrcColumn| {
        let children = with_nanos(&column.children, leaves);
        let data_type = match column.field.data_type() {
            DataType::Timestamp(_, zone) if leaves.contains(&column.leaves.start) => {
                DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())
            }
            leaf if children.is_empty() => leaf.clone(),
            _ => nested(column.kind, &children),
        };
        let field = Arc::new(column.field.as_ref().clone().with_data_type(data_type));
        OrcColumn { field, children, ..column.clone() }
    };
    columns.iter().map(refined).collect()
}

fn members(ty: &TypeInfo, types: &[TypeInfo], next_leaf: &mut usize) -> Result<Vec<OrcColumn>> {
    let below = |(&number, name): (&usize, &String)| column(number, name, types, next_leaf);
    ty.children.iter().zip(&ty.names).map(below).collect()
}

fn column(number: usize, name: &str, types: &[TypeInfo], next_leaf: &mut usize) -> Result<OrcColumn> {
    let ty = types.get(number).ok_or_else(|| Error::internal("a type of an ORC file is not there"))?;
    let first = *next_leaf;
    let mut only = |names: &[&str]| {
        ty.children.iter().zip(names).map(|(&n, name)| column(n, name, types, next_leaf)).collect::<Result<Vec<_>>>()
    };
    let children = match ty.kind {
        OrcKind::Struct => members(ty, types, next_leaf)?,
        OrcKind::List => only(&["element"])?,
        OrcKind::Map => only(&["key", "value"])?,
        _ => Vec::new(),
    };
    if children.is_empty() {
        *next_leaf += 1;
    }
    let data_type = match ty.kind {
        OrcKind::Struct | OrcKind::List | OrcKind::Map => nested(ty.kind, &children),
        _ => leaf(ty).map_err(|e| e.with("column", name))?,
    };
    let id = ty.attribute("iceberg.id").map(|id| (FIELD_ID_KEY.to_owned(), id.to_owned()));
    let field = ArrowField::new(name, data_type, true).with_metadata(HashMap::from_iter(id));
    Ok(OrcColumn { number, kind: ty.kind, field: Arc::new(field), leaves: first..*next_leaf, children })
}

/// The type of a column with these below it.
fn nested(kind: OrcKind, children: &[OrcColumn]) -> DataType {
    match (kind, children) {
        (OrcKind::List, [element]) => DataType::List(element.field.clone()),
        (OrcKind::Map, [key, value]) => {
            // Arrow wants keys that are never null.
            let key = Arc::new(key.field.as_ref().clone().with_nullable(false));
            let fields = Fields::from(vec![key, value.field.clone()]);
            DataType::Map(Arc::new(ArrowField::new("entries", DataType::Struct(fields), false)), false)
        }
        _ => DataType::Struct(children.iter().map(|c| c.field.clone()).collect()),
    }
}

fn leaf(ty: &TypeInfo) -> Result<DataType> {
    let unit = match ty.attribute("iceberg.timestamp-unit") {
        Some("NANOS") => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    Ok(match ty.kind {
        OrcKind::Boolean => DataType::Boolean,
        OrcKind::Byte => DataType::Int8,
        OrcKind::Short => DataType::Int16,
        OrcKind::Int => DataType::Int32,
        OrcKind::Long => DataType::Int64,
        OrcKind::Float => DataType::Float32,
        OrcKind::Double => DataType::Float64,
        OrcKind::String | OrcKind::Varchar | OrcKind::Char => DataType::Utf8,
        OrcKind::Binary => DataType::Binary,
        OrcKind::Date => DataType::Date32,
        OrcKind::Timestamp => DataType::Timestamp(unit, None),
        OrcKind::TimestampInstant => DataType::Timestamp(unit, Some("UTC".into())),
        OrcKind::Decimal => {
            let precision = u8::try_from(ty.precision).ok().filter(|p| (1..=DECIMAL128_MAX_PRECISION).contains(p));
            let scale = i8::try_from(ty.scale).ok().filter(|_| ty.scale <= ty.precision);
            match (precision, scale) {
                (Some(precision), Some(scale)) => DataType::Decimal128(precision, scale),
                _ => {
                    let digits = format!("decimal({}, {})", ty.precision, ty.scale);
                    return Err(Error::corrupt(format!("the ORC file has the impossible type {digits}")));
                }
            }
        }
        // A type that no column of a table has. So files with it can be read if its column is not wanted.
        OrcKind::Union | OrcKind::Other(_) | OrcKind::List | OrcKind::Map | OrcKind::Struct => {
            DataType::Union(UnionFields::empty(), UnionMode::Dense)
        }
    })
}
