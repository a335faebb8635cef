//! The columns of a key, which may be members of structs.
//!
//! Keys also have a flat form: one column for each key, under its full name. If a struct is null, its fields are null
//! too.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};

use crate::data::write::partition_rows::column_at;
use crate::error::{Error, Result};
use crate::types::select::{column_hint, prune_to};
use crate::types::suggest::suggestion_hint;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

/// The columns of a key.
pub(crate) struct KeyColumns {
    /// The fields from the top-level column down to each.
    paths: Vec<Vec<Field>>,
    flat: Arc<Schema>,
    /// The table's columns, without the fields that no key uses.
    kept: Schema,
    /// The position of each key in rows with those columns.
    places: Vec<Vec<usize>>,
}

impl KeyColumns {
    /// The named columns, else the table's identifier fields.
    ///
    /// # Errors
    /// `InvalidInput` if a column does not exist or is named twice; `Unsupported` for types that can't be compared, and
    /// for values inside lists and maps.
    pub(crate) fn new(schema: &Schema, on: &[String]) -> Result<KeyColumns> {
        KeyColumns::of(schema, on, false)
    }

    /// The same, for rows with all columns of the table.
    ///
    /// # Errors
    /// As [`KeyColumns::new`].
    pub(crate) fn whole(schema: &Schema, on: &[String]) -> Result<KeyColumns> {
        KeyColumns::of(schema, on, true)
    }

    fn of(schema: &Schema, on: &[String], whole: bool) -> Result<KeyColumns> {
        let mut paths: Vec<Vec<&Field>> = Vec::new();
        if on.is_empty() {
            paths.extend(schema.identifier_field_ids.iter().filter_map(|id| schema.path(*id)));
            if paths.is_empty() || paths.len() < schema.identifier_field_ids.len() {
                return Err(Error::invalid("no key columns are named, and the table has no identifier fields")
                    .hint("Give on=[...], or set identifier fields"));
            }
        }
        for name in on {
            let path = path_of(schema, name)?;
            if paths.iter().any(|other| last_id(other) == last_id(&path)) {
                return Err(Error::invalid("a column is in the key twice").with("column", name));
            }
            paths.push(path);
        }
        paths.iter().try_for_each(|path| check(path))?;
        let ids: Vec<FieldId> = paths.iter().filter_map(|path| last_id(path)).collect();
        let flat = paths.iter().filter_map(|path| flattened(path)).collect::<Vec<_>>();
        let kept = if whole { schema.clone() } else { prune_to(schema, &ids) };
        let places = paths.iter().map(|path| place_of(path, &kept.fields)).collect::<Result<_>>()?;
        let paths = paths.into_iter().map(|path| path.into_iter().cloned().collect()).collect();
        Ok(KeyColumns { paths, flat: Arc::new(Schema::new(0, flat, Vec::new())), kept, places })
    }

    /// Each as a separate field, under its full name.
    pub(crate) fn flat(&self) -> &Arc<Schema> {
        &self.flat
    }

    /// The fields from the top-level column down to each.
    pub(crate) fn paths(&self) -> &[Vec<Field>] {
        &self.paths
    }

    /// The ids of the columns.
    pub(crate) fn ids(&self) -> Vec<FieldId> {
        self.flat.fields.iter().map(|f| f.id).collect()
    }

    /// The columns to read from the table for them.
    pub(crate) fn read(&self) -> &[Field] {
        &self.kept.fields
    }

    /// Refuses fields of structs if equality deletes are to be written.
    ///
    /// # Errors
    /// `Unsupported` if a key is a field of a struct.
    pub(crate) fn check_deletable(&self) -> Result<()> {
        match self.paths.iter().zip(self.flat.fields.iter()).find(|(path, _)| path.len() > 1) {
            None => Ok(()),
            // Java's `DeleteFilter` takes the missing column for one at the top level, which is null in every row.
            Some((_, key)) => Err(Error::unsupported("equality deletes can't use fields of structs as keys")
                .with("column", &key.name)
                .hint(
                    "Java Iceberg applies such deletes wrongly wherever a query leaves the column out: use upsert() without \
                     blind=True, or merge() with when_matched_delete=True",
                )),
        }
    }

    /// The keys of rows with the columns [`KeyColumns::read`].
    ///
    /// # Errors
    /// `Internal` for rows with others.
    pub(crate) fn of_table(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.places.iter().map(|place| column_at(rows, place)).collect()
    }

    /// The keys of rows of the data, in their types, under their full names.
    ///
    /// # Errors
    /// `InvalidInput` if the data lacks such a column, or has several with the same name.
    pub(crate) fn of_data(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let (mut fields, mut arrays): (Vec<ArrowField>, Vec<ArrayRef>) = Default::default();
        for (path, flat) in self.paths.iter().zip(self.flat.fields.iter()) {
            let (field, array) = found(rows, path, &flat.name)?;
            fields.push(field.as_ref().clone().with_name(&flat.name).with_nullable(true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
            .map_err(|e| Error::invalid("the columns of the data don't fit together").because(e))
    }
}

#[cold]
fn unlike() -> Error {
    Error::internal("key columns have moved")
}

fn last_id(path: &[&Field]) -> Option<FieldId> {
    path.last().map(|f| f.id)
}

fn name_of(path: &[&Field]) -> String {
    path.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(".")
}

/// The fields down to a column. A column at the top level with dots in its name comes first.
fn path_of<'a>(schema: &'a Schema, name: &str) -> Result<Vec<&'a Field>> {
    if let Some(top) = schema.fields.iter().find(|f| f.name == name) {
        return Ok(vec![top]);
    }
    let found = schema.find(&name.split('.').collect::<Vec<_>>(), true).and_then(|f| schema.path(f.id));
    found.ok_or_else(|| {
        Error::invalid("the table has no such column").with("column", name).hint(column_hint(schema, name))
    })
}

fn check(path: &[&Field]) -> Result<()> {
    use PrimitiveType as P;
    let Some((key, around)) = path.split_last() else { return Err(unlike()) };
    if around.iter().any(|f| !matches!(f.ty, Type::Struct(_))) {
        return Err(Error::unsupported("a value inside a list or map can't be a key").with("column", name_of(path)));
    }
    let ty = key.ty.as_primitive();
    if ty.is_none_or(|t| matches!(t, P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. })) {
        let error = Error::unsupported(format!("a column of type {} can't be a key", key.ty));
        let error = error.with("column", name_of(path));
        return Err(match &key.ty {
            Type::Struct(members) if !members.is_empty() => {
                let first = members.first().map_or("", |f| f.name.as_str());
                error.hint(format!("Name its fields: on=[\"{}.{first}\", ...]", name_of(path)))
            }
            _ => error,
        });
    }
    Ok(())
}

/// A key as a separate array: null where a struct around it is null.
fn flattened(path: &[&Field]) -> Option<Field> {
    let leaf = path.last()?;
    Some(Field { name: name_of(path), required: path.iter().all(|f| f.required), ..(*leaf).clone() })
}

/// The path to a column, step by step.
fn place_of(path: &[&Field], columns: &[Field]) -> Result<Vec<usize>> {
    let mut siblings: Vec<&Field> = columns.iter().collect();
    path.iter()
        .map(|step| {
            let at = siblings.iter().position(|f| f.id == step.id).ok_or_else(unlike)?;
            siblings = siblings.get(at).map(|f| f.ty.children()).unwrap_or_default();
            Ok(at)
        })
        .collect()
}

/// The only field with a name.
fn named<'a>(fields: &'a Fields, name: &str) -> Result<Option<(usize, &'a FieldRef)>> {
    let mut named = fields.iter().enumerate().filter(|(_, f)| f.name() == name);
    match (named.next(), named.next()) {
        (_, Some(_)) => Err(Error::invalid("the data has two columns with the same name").with("column", name)),
        (found, None) => Ok(found),
    }
}

/// A column of the data by its full name at the top level, else by its way through structs.
fn found(rows: &RecordBatch, path: &[Field], name: &str) -> Result<(FieldRef, ArrayRef)> {
    let schema = rows.schema();
    if let Some((at, field)) = named(schema.fields(), name)? {
        return Ok((field.clone(), rows.column(at).clone()));
    }
    let none = Fields::empty();
    let missing = || {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let shown: Vec<&str> = names.iter().take(50).map(String::as_str).collect();
        Error::invalid("the data has no such column").with("column", name).hint(suggestion_hint(&names, &shown, name))
    };
    let (mut siblings, mut place, mut last) = (schema.fields(), Vec::new(), None);
    for step in path {
        let (at, field) = named(siblings, &step.name)?.ok_or_else(missing)?;
        place.push(at);
        last = Some(field);
        siblings = match field.data_type() {
            DataType::Struct(members) => members,
            _ => &none,
        };
    }
    let field = last.cloned().ok_or_else(missing)?;
    Ok((field, column_at(rows, &place)?))
}
