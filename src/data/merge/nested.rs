//! Aggregate functions of lists and maps.
//!
//! Elements keep the order in which they came, where Java takes the order from a hash table.
//!
//! Source: Paimon documentation, "Aggregation"; where it is silent, Java's classes `Field*Agg`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};

use super::column::MergedColumn;
use super::picks::{Computed, MergedValue, unmerged};
use crate::error::{Error, Result};
use crate::types::options::Options;
use crate::types::{Field, PrimitiveType, Type};

/// A function of lists or maps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Nested {
    /// The elements of both lists, each only once if `distinct`.
    Collect { distinct: bool },
    /// The entries of both maps. The later one of two entries with the same key stays.
    MergeMap,
    /// The same, but the entry with the greater text in this member of its value stays.
    LatestEntries { member: usize },
    /// The rows of both lists. The later one of two rows with the same `keys` stays, if there are any keys.
    Update { keys: Vec<usize>, limit: usize },
    /// The rows of both lists. Rows with the same `keys` become one row of the last values that are not null.
    PartialUpdate { keys: Vec<usize> },
}

fn shape() -> Error {
    Error::internal("an aggregate function was given a column of another type")
}

fn failed(e: ArrowError) -> Error {
    unmerged(&e)
}

impl Nested {
    /// `nested_update` of a list of rows, or `nested_partial_update`.
    ///
    /// # Errors
    /// `InvalidInput` if the column has another type, or its rows have no such keys.
    pub(crate) fn update(field: &Field, keys: &[&str], limit: usize, partial: bool) -> Result<Nested> {
        let Type::List(element) = &field.ty else { return Err(no_rows(field)) };
        let Type::Struct(members) = &element.ty else { return Err(no_rows(field)) };
        let place = |key: &&str| {
            let place = members.iter().position(|m| m.name == **key);
            place.ok_or_else(|| Error::invalid(format!("the rows have no field '{key}', which should be their key")))
        };
        let keys = keys.iter().map(place).collect::<Result<Vec<_>>>()?;
        match (partial, keys.is_empty()) {
            (true, true) => Err(Error::invalid("'nested_partial_update' needs the option 'nested-key'")),
            (true, false) => Ok(Nested::PartialUpdate { keys }),
            (false, _) => Ok(Nested::Update { keys, limit }),
        }
    }

    /// `merge_map_with_keytime` of a map to rows.
    ///
    /// # Errors
    /// `InvalidInput` if the column is another one, or its rows have no text to compare.
    pub(crate) fn latest_entries(field: &Field, options: &Options<'_>) -> Result<Nested> {
        let wrong = || Error::invalid("'merge_map_with_keytime' needs maps to rows that have a time as text");
        let Type::Map(_, value) = &field.ty else { return Err(wrong()) };
        let Type::Struct(members) = &value.ty else { return Err(wrong()) };
        let member = match options.of_column(&field.name, "ts-field") {
            Some(name) => members.iter().position(|m| m.name == name),
            None => members.len().checked_sub(1),
        };
        let is_text = |at: &usize| members.get(*at).is_some_and(|m| m.ty == Type::Primitive(PrimitiveType::String));
        member
            .filter(is_text)
            .filter(|_| members.len() > 1)
            .map(|member| Nested::LatestEntries { member })
            .ok_or_else(wrong)
    }

    /// Whether nulls need no separate case.
    pub(crate) fn takes_null(&self) -> bool {
        matches!(self, Nested::Collect { distinct: true })
    }

    pub(crate) fn can_retract(&self) -> bool {
        matches!(self, Nested::Collect { .. } | Nested::MergeMap | Nested::Update { .. })
    }

    /// Adds the value `next` to `kept`.
    ///
    /// # Errors
    /// `Unsupported` for elements that cannot be compared.
    pub(crate) fn add(&self, column: MergedColumn<'_>, kept: MergedValue, next: MergedValue) -> Result<MergedValue> {
        let (a, b) = (elements(column, &kept)?, elements(column, &next)?);
        let (Some(first), most) = (a.as_ref().or(b.as_ref()), a.as_ref().map_or(0, |a| a.len())) else {
            return Ok(MergedValue::Null);
        };
        let parts: Vec<&dyn Array> = a.iter().chain(b.iter()).map(|part| part.as_ref()).collect();
        let all = if parts.len() == 1 { first.clone() } else { concat(&parts).map_err(failed)? };
        let out = match self {
            Nested::Collect { distinct: false } => all,
            Nested::Collect { distinct: true } => {
                let rows = encode(std::slice::from_ref(&all))?;
                let mut seen = HashSet::new();
                rows_of(&all, (0..all.len()).filter(|i| seen.insert(rows.row(*i).data().to_vec())))?
            }
            Nested::MergeMap => {
                rows_of(&all, last_of_each(&encode(&[members(&all)?.column(0).clone()])?, 0..all.len()))?
            }
            Nested::LatestEntries { member } => rows_of(&all, latest(&all, most, *member)?)?,
            Nested::Update { limit, .. } if most >= *limit => return Ok(kept),
            Nested::Update { keys, limit } => {
                let room = limit - most;
                let kept = (0..most).filter(|i| all.is_valid(*i));
                let valid: Vec<usize> = kept.chain((most..all.len()).filter(|i| all.is_valid(*i)).take(room)).collect();
                match keys.as_slice() {
                    [] => rows_of(&all, valid)?,
                    keys => rows_of(&all, last_of_each(&encode_keys(&all, keys)?, valid))?,
                }
            }
            Nested::PartialUpdate { keys } => last_values(&all, keys)?,
        };
        rebuilt(column, out)
    }

    /// Takes the value `taken` back from `kept`.
    ///
    /// # Errors
    /// The errors of [`Nested::add`].
    pub(crate) fn retract(
        &self,
        column: MergedColumn<'_>,
        kept: MergedValue,
        taken: MergedValue,
    ) -> Result<MergedValue> {
        let (Some(a), Some(b)) = (elements(column, &kept)?, elements(column, &taken)?) else { return Ok(kept) };
        if b.is_empty() {
            return Ok(kept);
        }
        let all = concat(&[a.as_ref(), b.as_ref()]).map_err(failed)?;
        let (old, gone) = (0..a.len(), a.len()..all.len());
        let out = match self {
            Nested::Collect { .. } => {
                let rows = encode(std::slice::from_ref(&all))?;
                let mut left: HashMap<&[u8], usize> = HashMap::new();
                gone.for_each(|i| *left.entry(rows.row(i).data()).or_default() += 1);
                let stays = |i: &usize| match left.get_mut(rows.row(*i).data()) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        false
                    }
                    _ => true,
                };
                rows_of(&all, old.filter(stays))?
            }
            Nested::Update { keys, .. } => {
                let rows = if keys.is_empty() { encode(std::slice::from_ref(&all))? } else { encode_keys(&all, keys)? };
                let valid = |i: &usize| all.is_valid(*i);
                let gone: HashSet<&[u8]> = gone.filter(valid).map(|i| rows.row(i).data()).collect();
                let old: Vec<usize> = match keys.is_empty() {
                    true => old.filter(valid).collect(),
                    false => last_of_each(&rows, old.filter(valid)),
                };
                rows_of(&all, old.into_iter().filter(|i| !gone.contains(rows.row(*i).data())))?
            }
            _ => {
                let rows = encode(&[members(&all)?.column(0).clone()])?;
                let gone: HashSet<&[u8]> = gone.map(|i| rows.row(i).data()).collect();
                rows_of(&all, old.filter(|i| !gone.contains(rows.row(*i).data())))?
            }
        };
        rebuilt(column, out)
    }
}

fn no_rows(field: &Field) -> Error {
    Error::invalid(format!("nested updates take lists of rows, not values of type {}", field.ty))
}

/// The elements of a list or the entries of a map; `None` if it is null.
fn elements(column: MergedColumn<'_>, held: &MergedValue) -> Result<Option<ArrayRef>> {
    let (array, row) = match held {
        MergedValue::Null => return Ok(None),
        MergedValue::Computed(Computed::Value(_)) => return Err(shape()),
        MergedValue::Computed(Computed::Row(row)) => (row, 0),
        MergedValue::At(place) => column.at(*place).ok_or_else(shape)?,
    };
    match array.data_type() {
        DataType::List(_) => Ok(Some(array.as_list::<i32>().value(row))),
        DataType::Map(..) => Ok(Some(Arc::new(array.as_map().value(row)))),
        _ => Err(shape()),
    }
}

/// A list of these elements, or a map of these entries.
fn rebuilt(column: MergedColumn<'_>, elements: ArrayRef) -> Result<MergedValue> {
    let offsets = OffsetBuffer::from_lengths([elements.len()]);
    let batch = column.live.first().and_then(|batch| batch.columns.get(column.index));
    let row: ArrayRef = match batch.map(|array| array.data_type()) {
        Some(DataType::List(field)) => {
            Arc::new(ListArray::try_new(field.clone(), offsets, elements, None).map_err(failed)?)
        }
        Some(DataType::Map(field, sorted)) => {
            let entries = members(&elements)?.clone();
            Arc::new(MapArray::try_new(field.clone(), offsets, entries, None, *sorted).map_err(failed)?)
        }
        _ => return Err(shape()),
    };
    Ok(MergedValue::Computed(Computed::Row(row)))
}

fn members(rows: &ArrayRef) -> Result<&StructArray> {
    rows.as_struct_opt().ok_or_else(shape)
}

/// Rows as bytes that are equal for equal rows.
fn encode(columns: &[ArrayRef]) -> Result<Rows> {
    let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
    let incomparable = |e: ArrowError| Error::unsupported("elements of this type cannot be compared").because(e);
    let converter = RowConverter::new(fields).map_err(incomparable)?;
    converter.convert_columns(columns).map_err(failed)
}

fn encode_keys(rows: &ArrayRef, keys: &[usize]) -> Result<Rows> {
    let members = members(rows)?;
    let columns: Option<Vec<ArrayRef>> = keys.iter().map(|key| members.columns().get(*key).cloned()).collect();
    encode(&columns.ok_or_else(shape)?)
}

fn rows_of(all: &ArrayRef, rows: impl IntoIterator<Item = usize>) -> Result<ArrayRef> {
    let indices: UInt32Array = rows.into_iter().map(|row| row as u32).collect::<Vec<_>>().into();
    take(all.as_ref(), &indices, None).map_err(failed)
}

/// The last of the rows that are equal, in the order of the first ones.
fn last_of_each(keys: &Rows, rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut out: Vec<usize> = Vec::new();
    for row in rows {
        let place = *places.entry(keys.row(row).data()).or_insert(out.len());
        match out.get_mut(place) {
            Some(kept) => *kept = row,
            None => out.push(row),
        }
    }
    out
}

/// The entries of a map after new ones came, which begin at `first`. The entry with the greater text stays, and a null
/// value removes the entry.
fn latest(all: &ArrayRef, first: usize, member: usize) -> Result<Vec<usize>> {
    let entries = members(all)?;
    let keys = encode(&[entries.column(0).clone()])?;
    let values = entries.column(1).as_struct_opt().ok_or_else(shape)?;
    let texts = values.columns().get(member).and_then(|c| c.as_string_opt::<i32>()).ok_or_else(shape)?;
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut out: Vec<Option<usize>> = Vec::new();
    for row in 0..all.len() {
        let key = keys.row(row).data();
        if row >= first && values.is_null(row) {
            if let Some(kept) = places.remove(key).and_then(|place| out.get_mut(place)) {
                *kept = None;
            }
            continue;
        }
        if row >= first && texts.is_null(row) {
            continue;
        }
        let place = *places.entry(key).or_insert(out.len());
        match out.get_mut(place) {
            Some(Some(kept)) if row >= first => {
                let is_older =
                    values.is_valid(*kept) && texts.is_valid(*kept) && texts.value(row) <= texts.value(*kept);
                if !is_older {
                    *kept = row;
                }
            }
            Some(kept) => *kept = Some(row),
            None => out.push(Some(row)),
        }
    }
    Ok(out.into_iter().flatten().collect())
}

/// Joins rows with the same keys into one row of the last values that are not null.
fn last_values(all: &ArrayRef, keys: &[usize]) -> Result<ArrayRef> {
    let rows = encode_keys(all, keys)?;
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in (0..all.len()).filter(|row| all.is_valid(*row)) {
        let place = *places.entry(rows.row(row).data()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let rows = members(all)?;
    let column = |column: &ArrayRef| {
        let last = |group: &Vec<usize>| group.iter().rev().find(|row| column.is_valid(**row)).map(|row| *row as u32);
        take(column.as_ref(), &groups.iter().map(last).collect::<UInt32Array>(), None).map_err(failed)
    };
    let columns = rows.columns().iter().map(column).collect::<Result<Vec<_>>>()?;
    let merged = StructArray::try_new_with_length(rows.fields().clone(), columns, None, groups.len());
    Ok(Arc::new(merged.map_err(failed)?))
}

#[cfg(test)]
#[path = "nested_tests.rs"]
mod tests;
