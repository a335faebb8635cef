//! Limits of Paimon's types that Arrow's types do not have: narrow integers, lengths of texts and bytes, digits of
//! times.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{DataType as ArrowType, Int32Type, Time64MicrosecondType, TimestampMicrosecondType};

use crate::error::{Error, Result};
use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};

const DAY_MICROS: i64 = 86_400_000_000;

/// Checks the values of the columns of a table.
///
/// # Errors
/// `InvalidInput`, naming the column, for a value that its type does not hold.
pub(crate) fn check_values(fields: &[DataField], rows: &RecordBatch) -> Result<()> {
    let columns = fields.iter().zip(rows.columns());
    columns
        .into_iter()
        .try_for_each(|(field, column)| check(&field.ty, column).map_err(|e| e.with("column", &field.name)))
}

fn check(ty: &DataType, column: &ArrayRef) -> Result<()> {
    match &ty.kind {
        TypeKind::TinyInt => range(ty, column, i32::from(i8::MIN), i32::from(i8::MAX)),
        TypeKind::SmallInt => range(ty, column, i32::from(i16::MIN), i32::from(i16::MAX)),
        TypeKind::Char(n) => lengths(ty, column, |length| length <= *n as usize),
        TypeKind::VarChar(n) if *n < i32::MAX as u32 => lengths(ty, column, |length| length <= *n as usize),
        TypeKind::Binary(n) => lengths(ty, column, |length| length <= *n as usize),
        TypeKind::VarBinary(n) if *n < i32::MAX as u32 => lengths(ty, column, |length| length <= *n as usize),
        TypeKind::Time(_) => of_a_day(ty, column).and_then(|()| multiples(ty, column, 1000)),
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) if *p < 6 => {
            multiples(ty, column, 10i64.pow(6 - u32::from(*p)))
        }
        TypeKind::Array(element) => match column.as_list_opt::<i32>() {
            Some(lists) => check(element, lists.values()),
            None => Ok(()),
        },
        TypeKind::Map(key, value) => match column.as_map_opt() {
            Some(maps) => check(key, maps.keys()).and_then(|()| check(value, maps.values())),
            None => Ok(()),
        },
        TypeKind::Multiset(element) => column.as_map_opt().map_or(Ok(()), |maps| check(element, maps.keys())),
        TypeKind::Row(members) => {
            let columns = column.as_struct_opt().map(|s| s.columns()).unwrap_or_default();
            let mut members = members.iter().zip(columns);
            members.try_for_each(|(m, column)| check(&m.ty, column).map_err(|e| e.with("member", &m.name)))
        }
        _ => Ok(()),
    }
}

fn beyond(ty: &DataType, value: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{value} is not a value of the type {}", ty.kind.clone().nullable()))
}

fn range(ty: &DataType, column: &ArrayRef, least: i32, greatest: i32) -> Result<()> {
    let Some(column) = column.as_primitive_opt::<Int32Type>() else { return Ok(()) };
    let odd = [min(column).filter(|v| *v < least), max(column).filter(|v| *v > greatest)];
    odd.into_iter().flatten().next().map_or(Ok(()), |v| Err(beyond(ty, v)))
}

fn lengths(ty: &DataType, column: &ArrayRef, fits: impl Fn(usize) -> bool) -> Result<()> {
    let rows = || (0..column.len()).filter(|row| column.is_valid(*row));
    let odd = if let Some(texts) = column.as_string_opt::<i32>() {
        // A text has no more characters than bytes.
        let odd = |row: &usize| !fits(texts.value_length(*row) as usize) && !fits(texts.value(*row).chars().count());
        rows().find(odd).map(|row| format!("'{}'", texts.value(row)))
    } else if let Some(bytes) = column.as_binary_opt::<i32>() {
        let odd = |row: &usize| !fits(bytes.value_length(*row) as usize);
        rows().find(odd).map(|row| format!("a value of {} bytes", bytes.value_length(row)))
    } else {
        None
    };
    odd.map_or(Ok(()), |value| Err(beyond(ty, value)))
}

/// Times from midnight to before the next midnight.
fn of_a_day(ty: &DataType, column: &ArrayRef) -> Result<()> {
    let Some(column) = column.as_primitive_opt::<Time64MicrosecondType>() else { return Ok(()) };
    let odd = [min(column).filter(|v| *v < 0), max(column).filter(|v| *v >= DAY_MICROS)];
    odd.into_iter().flatten().next().map_or(Ok(()), |v| Err(beyond(ty, format!("a time of {v} microseconds"))))
}

/// Times with no more fractional digits than their type: `step` microseconds apart.
fn multiples(ty: &DataType, column: &ArrayRef, step: i64) -> Result<()> {
    let micros = match column.data_type() {
        ArrowType::Time64(_) => column.as_primitive_opt::<Time64MicrosecondType>().map(|a| a.values()),
        _ => column.as_primitive_opt::<TimestampMicrosecondType>().map(|a| a.values()),
    };
    let odd = micros.into_iter().flat_map(|values| values.iter().enumerate());
    let mut odd = odd.filter(|(row, v)| **v % step != 0 && column.is_valid(*row));
    match odd.next() {
        None => Ok(()),
        Some((_, v)) => Err(beyond(ty, format!("a time of {v} microseconds"))
            .hint("Round the column to the digits of its type, or widen the type")),
    }
}
