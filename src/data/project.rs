//! From the columns a file has to the columns a reader wants.
//!
//! Columns are matched by field id at every depth, never by name or position (specification, "Column Projection"); only
//! the element of a list and the key and value of a map are matched by their place, being the only ones there. Columns
//! that the file lacks come from its partition tuple if an identity field has them, else they have their initial default
//! in every row, or are null if they have none.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use super::arrow_schema::{FIELD_ID_KEY, arrow_field};
use super::cast::{Cast, constant};
use super::constants::Constants;
use super::defaults::{initial_row, initial_value, repeat};
use super::positions::RowPositions;
use super::row_columns::{RowColumn, RowFacts};
use super::variant;
use crate::error::{Error, Result};
use crate::task::ReadContext;
use crate::types::metadata_columns::PARTITION;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type, Value};

/// A column of a file, with the columns below it.
#[derive(Debug)]
pub(crate) struct FileColumn {
    /// Its field id, if the file or the table's name mapping has one for it.
    pub(super) id: Option<FieldId>,
    /// What its values are read as.
    pub field: FieldRef,
    /// The leaf columns below it.
    pub leaves: Range<usize>,
    /// Of a struct its members, of a list its element, of a map key and value.
    pub children: Vec<FileColumn>,
}

impl FileColumn {
    fn new(field: &FieldRef, next_leaf: &mut usize) -> FileColumn {
        let first = *next_leaf;
        let mut below = |fields: &[&FieldRef]| fields.iter().map(|f| FileColumn::new(f, next_leaf)).collect();
        let children: Vec<FileColumn> = match field.data_type() {
            DataType::Struct(fields) => below(&fields.iter().collect::<Vec<_>>()),
            DataType::List(element) => below(&[element]),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(fields) => below(&fields.iter().collect::<Vec<_>>()),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        if children.is_empty() {
            *next_leaf += 1;
        }
        let id = field.metadata().get(FIELD_ID_KEY).and_then(|id| id.parse().ok());
        FileColumn { id, field: field.clone(), leaves: first..*next_leaf, children }
    }

    fn has_ids(&self) -> bool {
        self.id.is_some() || self.children.iter().any(FileColumn::has_ids)
    }

    /// Whether it is there where just `leaves` are read.
    /// Adds leaves that tell where the column is null: as few as can be decoded, outside lists and maps if there are such.
    fn add_witness(&self, leaves: &mut BTreeSet<usize>) {
        match (self.field.data_type(), self.children.as_slice()) {
            (_, []) => {
                leaves.insert(self.leaves.start);
            }
            // Of a map the decoder takes keys and values together.
            (DataType::Map(..), pair) => pair.iter().for_each(|column| column.add_witness(leaves)),
            (_, [first, ..]) => {
                let plain = self.children.iter().find(|c| c.children.is_empty());
                plain.unwrap_or(first).add_witness(leaves);
            }
        }
    }

    /// Its field id: its own, or the one that a name mapping gave it.
    pub(crate) fn id(&self) -> Option<FieldId> {
        self.id
    }

    pub(crate) fn is_read(&self, leaves: &BTreeSet<usize>) -> bool {
        leaves.range(self.leaves.clone()).next().is_some()
    }
}

/// All columns of a file.
#[derive(Debug)]
pub(crate) struct FileColumns(pub(super) Vec<FileColumn>);

impl FileColumns {
    /// Of the Arrow schema of the whole file, as its format gives it.
    pub(crate) fn new(schema: &ArrowSchema) -> FileColumns {
        let mut next_leaf = 0;
        FileColumns(schema.fields().iter().map(|f| FileColumn::new(f, &mut next_leaf)).collect())
    }

    /// In the file's order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, FileColumn> {
        self.0.iter()
    }

    /// Whether any column carries a field id (so Java decides whether a file needs a name mapping).
    pub(crate) fn has_ids(&self) -> bool {
        self.0.iter().any(FileColumn::has_ids)
    }
}

/// The one column of `among` with this id.
fn find(among: &[FileColumn], id: FieldId) -> Result<Option<(usize, &FileColumn)>> {
    let mut hits = among.iter().enumerate().filter(|(_, c)| c.id == Some(id));
    match (hits.next(), hits.next()) {
        (Some(_), Some(_)) => Err(Error::corrupt(format!("two columns of the file have the field id {id}"))),
        (hit, _) => Ok(hit),
    }
}

/// How one wanted column comes about.
#[derive(Clone, Debug)]
enum Source {
    /// From the file: the file's column (`ordinal` among its siblings), found at `position` among the siblings read.
    Stored { ordinal: usize, position: usize, node: Node },
    /// The only row of this in every row.
    Constant(ArrayRef),
    /// Null in every row.
    Null,
    /// A metadata column, with the file's own values if it stores some.
    Row(RowColumn, Option<Box<Source>>),
}

/// What happens to the arrays of a stored column.
#[derive(Clone, Debug)]
enum Node {
    Leaf(Cast),
    Variant,
    Struct(Members),
    List(FieldRef, Box<Node>),
    Map(FieldRef, Fields, Box<(Node, Node)>),
}

/// The members of a struct, or the columns of a batch.
#[derive(Clone, Debug)]
struct Members {
    fields: Fields,
    sources: Vec<Source>,
}

struct Planner<'a> {
    constants: &'a Constants,
    leaves: BTreeSet<usize>,
}

impl Planner<'_> {
    fn members(&mut self, wanted: &[Field], file: &[FileColumn], path: &str) -> Result<Members> {
        let mut fields = Vec::with_capacity(wanted.len());
        let mut sources = Vec::with_capacity(wanted.len());
        for field in wanted {
            let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            fields.push(arrow_field(field, &path)?);
            let row_column = RowColumn::new(field.id, self.constants.file());
            let stored = match &row_column {
                Some(column) if !column.may_be_stored() => None,
                _ => find(file, field.id).map_err(|e| e.with("column", &path))?,
            };
            let stored = match stored {
                Some((ordinal, column)) => {
                    Some(Source::Stored { ordinal, position: 0, node: self.node(&field.ty, column, &path)? })
                }
                None => None,
            };
            sources.push(match (row_column, stored) {
                (Some(column), stored) => Source::Row(column, stored.map(Box::new)),
                (None, Some(stored)) => stored,
                (None, None) => self.absent(field).map_err(|e| e.with("column", &path))?,
            });
        }
        Ok(Members { fields: fields.into(), sources })
    }

    /// A column that the file lacks. The partition tuple goes before the default, the default before null.
    fn absent(&self, field: &Field) -> Result<Source> {
        if field.id == PARTITION {
            return Ok(self.constants.partition_row(field)?.map_or(Source::Null, Source::Constant));
        }
        if let (Some(value), Type::Primitive(ty)) = (self.constants.get(field.id), &field.ty) {
            return Ok(Source::Constant(constant(value.as_ref(), ty, 1)?));
        }
        if let Some(row) = initial_row(field)? {
            return Ok(Source::Constant(row));
        }
        match field.required {
            false => Ok(Source::Null),
            true => Err(Error::corrupt("the file lacks a required column that has no default value")),
        }
    }

    fn node(&mut self, wanted: &Type, column: &FileColumn, path: &str) -> Result<Node> {
        let stored = column.field.data_type();
        match (wanted, stored, column.children.as_slice()) {
            (Type::Struct(fields), DataType::Struct(_), members) => {
                let before = self.leaves.len();
                let node = Node::Struct(self.members(fields, members, path)?);
                if self.leaves.len() == before {
                    // Only a leaf tells in which rows the struct itself is null.
                    column.add_witness(&mut self.leaves);
                }
                return Ok(node);
            }
            (Type::List(element), DataType::List(_), [stored]) => {
                let path = format!("{path}.element");
                same_id(element, stored, &path)?;
                let field = Arc::new(arrow_field(element, &path)?.as_ref().clone().with_name("element"));
                return Ok(Node::List(field, Box::new(self.node(&element.ty, stored, &path)?)));
            }
            (Type::Map(key, value), DataType::Map(..), [stored_key, stored_value]) => {
                let (key_path, value_path) = (format!("{path}.key"), format!("{path}.value"));
                same_id(key, stored_key, &key_path)?;
                same_id(value, stored_value, &value_path)?;
                let key_field = arrow_field(key, &key_path)?.as_ref().clone().with_name("key").with_nullable(false);
                let value_field = arrow_field(value, &value_path)?.as_ref().clone().with_name("value");
                let fields = Fields::from(vec![key_field, value_field]);
                let entries = Arc::new(ArrowField::new("key_value", DataType::Struct(fields.clone()), false));
                let key = self.node(&key.ty, stored_key, &key_path)?;
                let value = self.node(&value.ty, stored_value, &value_path)?;
                return Ok(Node::Map(entries, fields, Box::new((key, value))));
            }
            (Type::Primitive(PrimitiveType::Variant), stored, _) if variant::is_stored(stored) => {
                self.leaves.extend(column.leaves.clone());
                return Ok(Node::Variant);
            }
            (Type::Primitive(ty), stored, []) => {
                if let Some(cast) = Cast::plan(stored, ty).map_err(|e| e.with("column", path))? {
                    self.leaves.insert(column.leaves.start);
                    return Ok(Node::Leaf(cast));
                }
            }
            _ => {}
        }
        Err(Error::corrupt(format!("the file stores {stored}, which cannot be read as {wanted}")).with("column", path))
    }
}

/// An element, key or value never changes its id; another one means that the file belongs to another table.
fn same_id(wanted: &Field, stored: &FileColumn, path: &str) -> Result<()> {
    match stored.id {
        Some(id) if id != wanted.id => {
            Err(Error::corrupt(format!("the file has field id {id} where the table has {}", wanted.id))
                .with("column", path))
        }
        _ => Ok(()),
    }
}

impl Source {
    /// Says where a stored column is found when only `leaves` are read.
    fn place(&mut self, file: &[FileColumn], leaves: &BTreeSet<usize>) {
        match self {
            Source::Stored { ordinal, position, node } => {
                *position = file.iter().take(*ordinal).filter(|c| c.is_read(leaves)).count();
                if let Some(column) = file.get(*ordinal) {
                    node.place(column, leaves);
                }
            }
            Source::Row(_, Some(stored)) => stored.place(file, leaves),
            Source::Row(_, None) | Source::Constant(_) | Source::Null => {}
        }
    }

    fn array(&self, field: &ArrowField, stored: &[ArrayRef], facts: &RowFacts<'_>) -> Result<ArrayRef> {
        match self {
            Source::Stored { position, node, .. } => {
                let array =
                    stored.get(*position).ok_or_else(|| Error::internal("a column was read but is not there"))?;
                node.convert(array).map_err(|e| e.with("column", field.name()))
            }
            Source::Constant(row) => repeat(row, facts.rows),
            Source::Null => Ok(new_null_array(field.data_type(), facts.rows)),
            Source::Row(column, own) => {
                let own = own.as_ref().map(|own| own.array(field, stored, facts)).transpose()?;
                column.values(own.as_ref(), facts).map_err(|e| e.with("column", field.name()))
            }
        }
    }
}

impl Members {
    fn place(&mut self, file: &[FileColumn], leaves: &BTreeSet<usize>) {
        self.sources.iter_mut().for_each(|source| source.place(file, leaves));
    }

    fn arrays(&self, stored: &[ArrayRef], facts: &RowFacts<'_>) -> Result<Vec<ArrayRef>> {
        let array = |(field, source): (&FieldRef, &Source)| source.array(field, stored, facts);
        self.fields.iter().zip(&self.sources).map(array).collect()
    }
}

impl Node {
    fn place(&mut self, column: &FileColumn, leaves: &BTreeSet<usize>) {
        match (self, column.children.as_slice()) {
            (Node::Struct(members), children) => members.place(children, leaves),
            (Node::List(_, element), [stored]) => element.place(stored, leaves),
            (Node::Map(_, _, nodes), [key, value]) => {
                nodes.0.place(key, leaves);
                nodes.1.place(value, leaves);
            }
            _ => {}
        }
    }

    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let shape = || Error::internal("a column has another shape than its schema");
        Ok(match self {
            Node::Leaf(cast) => cast.apply(array)?,
            Node::Variant => variant::unshred(array)?,
            Node::Struct(members) => {
                let stored = array.as_struct_opt().ok_or_else(shape)?;
                let nowhere = RowPositions::default();
                let facts = RowFacts { rows: stored.len(), positions: &nowhere, deleted: None };
                let arrays = members.arrays(stored.columns(), &facts)?;
                let nulls = stored.nulls().cloned();
                Arc::new(
                    StructArray::try_new_with_length(members.fields.clone(), arrays, nulls, stored.len())
                        .map_err(violated)?,
                )
            }
            Node::List(field, element) => {
                let stored = array.as_list_opt::<i32>().ok_or_else(shape)?;
                let values = element.convert(stored.values())?;
                let (offsets, nulls) = (stored.offsets().clone(), stored.nulls().cloned());
                Arc::new(ListArray::try_new(field.clone(), offsets, values, nulls).map_err(violated)?)
            }
            Node::Map(entries, fields, nodes) => {
                let stored = array.as_map_opt().ok_or_else(shape)?;
                let arrays = vec![nodes.0.convert(stored.keys())?, nodes.1.convert(stored.values())?];
                let rows = StructArray::try_new(fields.clone(), arrays, None).map_err(violated)?;
                let (offsets, nulls) = (stored.offsets().clone(), stored.nulls().cloned());
                Arc::new(MapArray::try_new(entries.clone(), offsets, rows, nulls, false).map_err(violated)?)
            }
        })
    }
}

fn violated(e: ArrowError) -> Error {
    Error::corrupt("the file's rows contradict the table's schema").because(e)
}

/// How batches of a file become batches of the wanted columns.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    schema: SchemaRef,
    members: Members,
    leaves: BTreeSet<usize>,
}

impl Projection {
    /// Plans it for a file. Call [`Projection::place`] before use.
    ///
    /// # Errors
    /// `CorruptTable` if a stored type has no way to the table's, a required column without default is absent, or a default
    /// is no value of its column's type.
    pub(crate) fn plan(wanted: &[Field], file: &FileColumns, constants: &Constants) -> Result<Projection> {
        let mut planner = Planner { constants, leaves: BTreeSet::new() };
        let members = planner.members(wanted, &file.0, "")?;
        let schema = Arc::new(ArrowSchema::new(members.fields.clone()));
        Ok(Projection { schema, members, leaves: planner.leaves })
    }

    /// The leaf columns it needs.
    pub(crate) fn leaves(&self) -> &BTreeSet<usize> {
        &self.leaves
    }

    /// Whether it needs the positions of rows.
    pub(crate) fn needs_positions(&self) -> bool {
        self.members.sources.iter().any(|s| matches!(s, Source::Row(column, _) if column.needs_positions()))
    }

    /// Prepares it for batches in which just `leaves` of the file are read.
    pub(crate) fn place(mut self, file: &FileColumns, leaves: &BTreeSet<usize>) -> Projection {
        self.members.place(&file.0, leaves);
        self
    }

    /// The wanted columns of a batch of the file.
    ///
    /// # Errors
    /// `CorruptTable` if values do not fit their type or nulls occur in required columns.
    pub(crate) fn project(&self, batch: &RecordBatch, facts: &RowFacts<'_>) -> Result<RecordBatch> {
        let arrays = self.members.arrays(batch.columns(), facts)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(violated)
    }
}

/// The columns that a filter asks about.
#[derive(Clone, Debug)]
pub(crate) struct FilterColumns {
    /// One top-level column for each, cut down to the one member.
    projection: Projection,
    /// Ids, with the number of steps from the top-level column down.
    ids: Vec<(FieldId, usize)>,
}

impl FilterColumns {
    /// Plans them for a file. Call [`FilterColumns::place`] before use.
    ///
    /// # Errors
    /// As [`Projection::plan`]; `InvalidInput` for a column that the schema lacks or that is inside a list or map.
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
    /// As [`Projection::plan`] and [`key_path`].
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

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The leaf columns they need.
    pub(crate) fn leaves(&self) -> &BTreeSet<usize> {
        self.projection.leaves()
    }

    /// As [`Projection::needs_positions`].
    pub(crate) fn needs_positions(&self) -> bool {
        self.projection.needs_positions()
    }

    /// As [`Projection::place`].
    pub(crate) fn place(self, file: &FileColumns, leaves: &BTreeSet<usize>) -> FilterColumns {
        FilterColumns { projection: self.projection.place(file, leaves), ids: self.ids }
    }

    /// The columns in a batch of the file: where a struct around one is null, so is the column.
    ///
    /// # Errors
    /// As [`Projection::project`].
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
        .ok_or_else(|| Error::invalid(format!("the filter asks about field {id}, which the schema lacks")))?;
    let (_, around) = path.split_last().ok_or_else(|| Error::internal("a path has no end"))?;
    match around.iter().all(|f| matches!(f.ty, Type::Struct(_))) {
        true => Ok(path),
        false => Err(Error::invalid("a filter cannot ask about what is inside a list or map")
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

/// The top-level column with nothing but this path in it, and of the end no more than its null test needs.
fn cut_down(path: &[&Field]) -> Option<Field> {
    path.iter().rev().fold(None, |inner: Option<Field>, field| {
        let ty = match inner {
            Some(inner) => Type::Struct(vec![inner].into()),
            // Whether the table is partitioned at all is told by the members.
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

/// Where a filter's leaf column is in a file, for pruning.
#[derive(Debug)]
pub(crate) enum Located {
    /// A leaf column, not inside any list or map, and its way to the table's type.
    Leaf { index: usize, field: FieldRef, cast: Cast },
    /// Absent from the file: this in every row.
    Constant(Option<Value>),
    /// Nothing can be said.
    Unknown,
}

/// Finds a filter's column. Any doubt gives `Unknown`.
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
                    // The members of a struct that is there by default have values of their own.
                    (None, _) if field.required || field.initial_default.is_some() => return Located::Unknown,
                    (None, _) => None,
                };
                // What is in a struct is null where the struct is.
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
        (Some(column), Some(ty)) if column.children.is_empty() => match Cast::plan(column.field.data_type(), ty) {
            Ok(Some(cast)) => Located::Leaf { index: column.leaves.start, field: column.field.clone(), cast },
            _ => Located::Unknown,
        },
        _ => Located::Unknown,
    }
}
