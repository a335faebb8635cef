//! Finds the columns of a file that filters and the keys of equality deletes use. Only structs are searched.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef};
use arrow::record_batch::RecordBatch;

use super::cast::Cast;
use super::constants::Constants;
use super::defaults::initial_value;
use super::file_columns::{FileColumns, find};
use super::project::Projection;
use super::row_columns::{RowColumn, RowFacts};
use crate::error::{Error, Result};
use crate::format::task::ReadContext;
use crate::types::metadata_columns::PARTITION;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type, Value};

/// The columns that a filter uses.
#[derive(Clone, Debug)]
pub(crate) struct FilterColumns {
    /// One top-level column for each, with only the one member.
    projection: Projection,
    /// The ids, with the number of steps down from the top-level column.
    ids: Vec<(FieldId, usize)>,
}

impl FilterColumns {
    /// Plans them for a file. Call [`FilterColumns::place`] before use.
    ///
    /// # Errors
    /// The errors of [`Projection::plan`]; `InvalidInput` for a column that the schema lacks or that is inside a list
    /// or map.
    pub(crate) fn plan(ids: &[FieldId], schema: &Schema, file: &FileColumns, constants: &Constants) -> Result<Self> {
        let mut wanted = Vec::with_capacity(ids.len());
        let mut steps = Vec::with_capacity(ids.len());
        for &id in ids {
            let path = struct_path(schema, id)?;
            steps.push((id, path.len() - 1));
            wanted.extend(cut_down(&path));
        }
        Ok(FilterColumns { projection: Projection::plan(&wanted, file, constants)?, ids: steps })
    }

    /// Plans the key columns of equality deletes for a file. Call [`FilterColumns::place`] before use.
    ///
    /// # Errors
    /// The errors of [`Projection::plan`] and of [`key_path`].
    pub(crate) fn plan_keys(
        ids: &[FieldId],
        context: &ReadContext,
        file: &FileColumns,
        constants: &Constants,
    ) -> Result<Self> {
        let paths = ids.iter().map(|id| key_path(context, *id)).collect::<Result<Vec<_>>>()?;
        let wanted: Vec<Field> = paths.iter().filter_map(|path| cut_down(path)).collect();
        let ids = ids.iter().zip(&paths).map(|(id, path)| (*id, path.len() - 1)).collect();
        Ok(FilterColumns { projection: Projection::plan(&wanted, file, constants)?, ids })
    }

    /// No columns.
    pub(crate) fn none() -> FilterColumns {
        FilterColumns { projection: Projection::none(), ids: Vec::new() }
    }

    /// Whether no columns are needed.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The leaf columns they need.
    pub(crate) fn leaves(&self) -> &BTreeSet<usize> {
        self.projection.leaves()
    }

    /// See [`Projection::needs_positions`].
    pub(crate) fn needs_positions(&self) -> bool {
        self.projection.needs_positions()
    }

    /// See [`Projection::place`].
    pub(crate) fn place(self, file: &FileColumns, leaves: &BTreeSet<usize>) -> FilterColumns {
        FilterColumns { projection: self.projection.place(file, leaves), ids: self.ids }
    }

    /// The columns in a batch of the file. A column is null where a struct around it is null.
    ///
    /// # Errors
    /// The errors of [`Projection::project`].
    pub(crate) fn arrays(&self, batch: &RecordBatch, facts: &RowFacts<'_>) -> Result<HashMap<FieldId, ArrayRef>> {
        let projected = self.projection.project(batch, facts)?;
        let columns = self.ids.iter().zip(projected.columns());
        columns.map(|((id, steps), column)| Ok((*id, descend(column, *steps)?))).collect()
    }
}

/// The fields from the top-level column down to this one, through structs only.
fn struct_path(schema: &Schema, id: FieldId) -> Result<Vec<&Field>> {
    let path = schema
        .path(id)
        .filter(|p| !p.is_empty())
        .ok_or_else(|| Error::invalid(format!("the filter uses field {id}, which is not in the schema")))?;
    let (_, around) = path.split_last().ok_or_else(|| Error::internal("a path has no end"))?;
    match around.iter().all(|f| matches!(f.ty, Type::Struct(_))) {
        true => Ok(path),
        false => Err(Error::invalid("a filter cannot use columns inside lists or maps")
            .with("column", schema.name_of(id).unwrap_or_default())),
    }
}

/// The fields from the top-level column down to a key column of equality deletes, which may have been dropped.
///
/// # Errors
/// `CorruptTable` if no schema of the table has it; `Unsupported` if it is not primitive or inside a list or map.
pub(crate) fn key_path(context: &ReadContext, id: FieldId) -> Result<Vec<&Field>> {
    let mut schemas = std::iter::once(context.schema.as_ref()).chain(context.dropped.iter());
    let path = schemas.find_map(|s| s.path(id)).filter(|p| !p.is_empty());
    let path = path.ok_or_else(|| {
        Error::corrupt(format!("an equality delete file has the key column {id}, which no schema of the table has"))
    })?;
    let (leaf, around) = path.split_last().ok_or_else(|| Error::internal("a path has no end"))?;
    let is_key = leaf.ty.as_primitive().is_some_and(|ty| *ty != PrimitiveType::Variant);
    match is_key && around.iter().all(|f| matches!(f.ty, Type::Struct(_))) {
        true => Ok(path),
        false => {
            let name = path.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(".");
            Err(Error::unsupported(
                "equality deletes cannot be keyed on variants, lists, maps, structs, or what is inside lists and maps",
            )
            .with("column", name))
        }
    }
}

/// Refuses an equality delete file without this key column: a writer gives the file all columns that it deletes by. So
/// the file is damaged or another one. If its keys were read as nulls, they would delete other rows.
///
/// # Errors
/// `CorruptTable`; the errors of [`key_path`].
pub(crate) fn check_has_key(context: &ReadContext, id: FieldId, file: &FileColumns) -> Result<()> {
    let path = key_path(context, id)?;
    let mut siblings = file.0.as_slice();
    for field in &path {
        let Some((_, column)) = find(siblings, field.id)? else {
            let name = path.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(".");
            return Err(Error::corrupt("an equality delete file lacks a column that it deletes by")
                .with("column", name)
                .with("field_id", id));
        };
        siblings = &column.children;
    }
    Ok(())
}

/// The top-level column with only this path in it. The end of the path keeps only the parts that its null test needs.
fn cut_down(path: &[&Field]) -> Option<Field> {
    path.iter().rev().fold(None, |inner: Option<Field>, field| {
        let ty = match inner {
            Some(inner) => Type::Struct(vec![inner].into()),
            // The members show whether the table is partitioned at all.
            None if field.id == PARTITION => field.ty.clone(),
            None => shell(&field.ty),
        };
        Some(Field { ty, ..(*field).clone() })
    })
}

/// A type with empty structs: enough to know where the column is null.
fn shell(ty: &Type) -> Type {
    let below = |f: &Field| Arc::new(Field { ty: shell(&f.ty), ..f.clone() });
    match ty {
        Type::Primitive(PrimitiveType::Variant) | Type::Struct(_) => Type::Struct(Vec::new().into()),
        Type::Primitive(_) => ty.clone(),
        Type::List(element) => Type::List(below(element)),
        Type::Map(key, value) => Type::Map(below(key), below(value)),
    }
}

/// The column `steps` structs down, null where any of them is.
fn descend(column: &ArrayRef, steps: usize) -> Result<ArrayRef> {
    let mut array = column.clone();
    let mut nulls: Option<NullBuffer> = None;
    for _ in 0..steps {
        nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
        let inner = array.as_struct_opt().and_then(|s| s.columns().first().cloned());
        array = inner.ok_or_else(|| Error::internal("a filter's column has another shape than its schema"))?;
    }
    if nulls.is_none() || array.data_type() == &DataType::Null {
        return Ok(array);
    }
    let nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
    let data = array.to_data().into_builder().nulls(nulls).build();
    Ok(arrow::array::make_array(
        data.map_err(|e| Error::internal("nulls of a struct do not fit its member").because(e))?,
    ))
}

/// The place of a filter's leaf column in a file, for pruning.
#[derive(Debug)]
pub(crate) enum Located {
    /// A leaf column, not inside any list or map, and its cast to the table's type.
    Leaf { index: usize, field: FieldRef, cast: Cast },
    /// The file lacks the column. Every row has this value.
    Constant(Option<Value>),
    /// Nothing is known.
    Unknown,
}

/// Finds a filter's column. Returns `Unknown` in any doubt.
pub(crate) fn locate(id: FieldId, schema: &Schema, file: &FileColumns, constants: &Constants) -> Located {
    let Ok(path) = struct_path(schema, id) else { return Located::Unknown };
    if let Some(value) = constants.asked(&path) {
        return Located::Constant(value);
    }
    if RowColumn::new(id, constants.file()).is_some() {
        return Located::Unknown;
    }
    let mut siblings = file.0.as_slice();
    let mut found = None;
    for (depth, field) in path.iter().enumerate() {
        match find(siblings, field.id) {
            Ok(Some((_, column))) => {
                siblings = &column.children;
                found = Some(column);
            }
            Ok(None) => {
                let partition = constants.get(id).filter(|_| depth + 1 == path.len());
                let value = match (partition, &field.ty) {
                    (Some(value), _) => value.clone(),
                    (None, Type::Primitive(ty)) => match initial_value(field, ty) {
                        Ok(None) if field.required => return Located::Unknown,
                        Ok(value) => value,
                        Err(_) => return Located::Unknown,
                    },
                    // The members of a struct with a default have values of their own.
                    (None, _) if field.required || field.initial_default.is_some() => return Located::Unknown,
                    (None, _) => None,
                };
                // Members of a struct are null where the struct is null.
                return match depth == 0 || value.is_none() {
                    true => Located::Constant(value),
                    false => Located::Unknown,
                };
            }
            Err(_) => return Located::Unknown,
        }
    }
    let ty = path.last().and_then(|f| f.ty.as_primitive());
    match (found, ty) {
        // A cast that does not keep order makes bounds from before it invalid.
        (Some(column), Some(ty)) if column.children.is_empty() => match column.cast_to(ty) {
            Ok(Some(cast)) if column.declared_cast.is_none() => {
                Located::Leaf { index: column.leaves.start, field: column.field.clone(), cast }
            }
            _ => Located::Unknown,
        },
        _ => Located::Unknown,
    }
}
