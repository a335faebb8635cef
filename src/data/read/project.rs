//! Turns the columns of a file into the columns that a reader wants.
//!
//! Columns are matched by field id at every depth, never by name or position (specification, "Column Projection"). Only
//! the element of a list and the key and value of a map are matched by their place. A column that the file lacks comes
//! from the partition tuple if an identity field has it. Otherwise every row has its initial default, or null without a
//! default.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use super::cast::{Cast, constant};
use super::constants::Constants;
use super::defaults::{initial_row, repeat};
use super::file_columns::{FileColumn, FileColumns, find};
use super::row_columns::{RowColumn, RowFacts};
use crate::data::arrow::schema::arrow_field;
use crate::data::arrow::variant;
use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result};
use crate::types::metadata_columns::PARTITION;
use crate::types::{Field, PrimitiveType, Type};

/// The source of one wanted column.
#[derive(Clone, Debug)]
enum ColumnSource {
    /// The file's column (`ordinal` among its siblings), found at `position` among the siblings that are read.
    Stored { ordinal: usize, position: usize, node: ProjectedNode },
    /// The only row of this array in every row.
    Constant(ArrayRef),
    /// Null in every row.
    Null,
    /// A metadata column, with the file's own values if it stores some.
    Row(RowColumn, Option<Box<ColumnSource>>),
}

/// The conversion of the arrays of a stored column.
#[derive(Clone, Debug)]
enum ProjectedNode {
    Leaf(Cast),
    Variant,
    Struct(ProjectedMembers),
    List(FieldRef, Box<ProjectedNode>),
    Map(FieldRef, Fields, Box<(ProjectedNode, ProjectedNode)>),
}

/// The members of a struct, or the columns of a batch.
#[derive(Clone, Debug)]
struct ProjectedMembers {
    fields: Fields,
    sources: Vec<ColumnSource>,
}

struct Planner<'a> {
    constants: &'a Constants,
    leaves: BTreeSet<usize>,
}

impl Planner<'_> {
    fn members(&mut self, wanted: &[Field], file: &[FileColumn], path: &str) -> Result<ProjectedMembers> {
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
                    Some(ColumnSource::Stored { ordinal, position: 0, node: self.node(&field.ty, column, &path)? })
                }
                None => None,
            };
            sources.push(match (row_column, stored) {
                (Some(column), stored) => ColumnSource::Row(column, stored.map(Box::new)),
                (None, Some(stored)) => stored,
                (None, None) => self.absent(field).map_err(|e| e.with("column", &path))?,
            });
        }
        Ok(ProjectedMembers { fields: fields.into(), sources })
    }

    /// A column that the file lacks. It takes the partition's value, else the default, else null.
    fn absent(&self, field: &Field) -> Result<ColumnSource> {
        if field.id == PARTITION {
            return Ok(self.constants.partition_row(field)?.map_or(ColumnSource::Null, ColumnSource::Constant));
        }
        if let (Some(value), Type::Primitive(ty)) = (self.constants.get(field.id), &field.ty) {
            return Ok(ColumnSource::Constant(constant(value.as_ref(), ty, 1)?));
        }
        if let Some(row) = initial_row(field)? {
            return Ok(ColumnSource::Constant(row));
        }
        match field.required {
            false => Ok(ColumnSource::Null),
            true => Err(Error::corrupt("the file lacks a required column that has no default value")),
        }
    }

    fn node(&mut self, wanted: &Type, column: &FileColumn, path: &str) -> Result<ProjectedNode> {
        let stored = column.field.data_type();
        match (wanted, stored, column.children.as_slice()) {
            (Type::Struct(fields), DataType::Struct(_), members) => {
                let before = self.leaves.len();
                let node = ProjectedNode::Struct(self.members(fields, members, path)?);
                if self.leaves.len() == before {
                    // Only a leaf shows in which rows the struct itself is null.
                    column.add_witness(&mut self.leaves);
                }
                return Ok(node);
            }
            (Type::List(element), DataType::List(_), [stored]) => {
                let path = format!("{path}.element");
                same_id(element, stored, &path)?;
                let field = Arc::new(arrow_field(element, &path)?.as_ref().clone().with_name("element"));
                return Ok(ProjectedNode::List(field, Box::new(self.node(&element.ty, stored, &path)?)));
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
                return Ok(ProjectedNode::Map(entries, fields, Box::new((key, value))));
            }
            (Type::Primitive(PrimitiveType::Variant), stored, _) if variant::is_stored(stored) => {
                self.leaves.extend(column.leaves.clone());
                return Ok(ProjectedNode::Variant);
            }
            (Type::Primitive(ty), _, []) => {
                if let Some(cast) = column.cast_to(ty).map_err(|e| e.with("column", path))? {
                    self.leaves.insert(column.leaves.start);
                    return Ok(ProjectedNode::Leaf(cast));
                }
            }
            _ => {}
        }
        Err(Error::corrupt(format!("the file stores {stored}, which cannot be read as {wanted}")).with("column", path))
    }
}

/// An element, key or value never changes its id. Another id means that the file belongs to another table.
fn same_id(wanted: &Field, stored: &FileColumn, path: &str) -> Result<()> {
    match stored.id {
        Some(id) if id != wanted.id => {
            Err(Error::corrupt(format!("the file has field id {id} where the table has {}", wanted.id))
                .with("column", path))
        }
        _ => Ok(()),
    }
}

impl ColumnSource {
    /// Sets the place of a stored column if only `leaves` are read.
    fn place(&mut self, file: &[FileColumn], leaves: &BTreeSet<usize>) {
        match self {
            ColumnSource::Stored { ordinal, position, node } => {
                *position = file.iter().take(*ordinal).filter(|c| c.is_read(leaves)).count();
                if let Some(column) = file.get(*ordinal) {
                    node.place(column, leaves);
                }
            }
            ColumnSource::Row(_, Some(stored)) => stored.place(file, leaves),
            ColumnSource::Row(_, None) | ColumnSource::Constant(_) | ColumnSource::Null => {}
        }
    }

    /// The column's values. `masked` marks the rows that are null in the struct of the column.
    fn array(
        &self,
        field: &ArrowField,
        stored: &[ArrayRef],
        facts: &RowFacts<'_>,
        masked: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        match self {
            ColumnSource::Stored { position, node, .. } => {
                let array =
                    stored.get(*position).ok_or_else(|| Error::internal("a column was read but is not there"))?;
                node.convert(array, masked).map_err(|e| e.with("column", field.name()))
            }
            ColumnSource::Constant(row) => repeat(row, facts.rows),
            ColumnSource::Null => Ok(new_null_array(field.data_type(), facts.rows)),
            ColumnSource::Row(column, own) => {
                let own = own.as_ref().map(|own| own.array(field, stored, facts, masked)).transpose()?;
                column.values(own.as_ref(), facts).map_err(|e| e.with("column", field.name()))
            }
        }
    }
}

impl ProjectedMembers {
    fn place(&mut self, file: &[FileColumn], leaves: &BTreeSet<usize>) {
        self.sources.iter_mut().for_each(|source| source.place(file, leaves));
    }

    /// The values of all members, as [`ColumnSource::array`] gives them.
    fn arrays(&self, stored: &[ArrayRef], facts: &RowFacts<'_>, masked: Option<&NullBuffer>) -> Result<Vec<ArrayRef>> {
        let array = |(field, source): (&FieldRef, &ColumnSource)| source.array(field, stored, facts, masked);
        self.fields.iter().zip(&self.sources).map(array).collect()
    }
}

impl ProjectedNode {
    fn place(&mut self, column: &FileColumn, leaves: &BTreeSet<usize>) {
        match (self, column.children.as_slice()) {
            (ProjectedNode::Struct(members), children) => members.place(children, leaves),
            (ProjectedNode::List(_, element), [stored]) => element.place(stored, leaves),
            (ProjectedNode::Map(_, _, nodes), [key, value]) => {
                nodes.0.place(key, leaves);
                nodes.1.place(value, leaves);
            }
            _ => {}
        }
    }

    /// Turns a stored array into one of the wanted type. `masked` marks the rows that are null in the array's struct.
    fn convert(&self, array: &ArrayRef, masked: Option<&NullBuffer>) -> Result<ArrayRef> {
        let shape = || Error::internal("a column has another shape than its schema");
        Ok(match self {
            ProjectedNode::Leaf(cast) => cast.apply(array)?,
            ProjectedNode::Variant => variant::unshred(array)?,
            ProjectedNode::Struct(members) => {
                let stored = array.as_struct_opt().ok_or_else(shape)?;
                let nowhere = RowPositions::default();
                let facts = RowFacts { rows: stored.len(), positions: &nowhere, deleted: None };
                // A required struct of a null struct has no nulls of its own, but its members may have some there.
                let nulls = stored.nulls().or(masked).cloned();
                let arrays = members.arrays(stored.columns(), &facts, nulls.as_ref())?;
                Arc::new(
                    StructArray::try_new_with_length(members.fields.clone(), arrays, nulls, stored.len())
                        .map_err(violated)?,
                )
            }
            ProjectedNode::List(field, element) => {
                let stored = array.as_list_opt::<i32>().ok_or_else(shape)?;
                let values = element.convert(stored.values(), None)?;
                let (offsets, nulls) = (stored.offsets().clone(), stored.nulls().cloned());
                Arc::new(ListArray::try_new(field.clone(), offsets, values, nulls).map_err(violated)?)
            }
            ProjectedNode::Map(entries, fields, nodes) => {
                let stored = array.as_map_opt().ok_or_else(shape)?;
                let arrays = vec![nodes.0.convert(stored.keys(), None)?, nodes.1.convert(stored.values(), None)?];
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

/// The way to turn batches of a file into batches of the wanted columns.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    schema: SchemaRef,
    members: ProjectedMembers,
    leaves: BTreeSet<usize>,
}

impl Projection {
    /// Plans it for a file. Call [`Projection::place`] before use.
    ///
    /// # Errors
    /// `CorruptTable` if a stored type can't be converted to the table's; if a required column without default is
    /// absent; if a default is not a value of its column's type.
    pub(crate) fn plan(wanted: &[Field], file: &FileColumns, constants: &Constants) -> Result<Projection> {
        let mut planner = Planner { constants, leaves: BTreeSet::new() };
        let members = planner.members(wanted, &file.0, "")?;
        let schema = Arc::new(ArrowSchema::new(members.fields.clone()));
        Ok(Projection { schema, members, leaves: planner.leaves })
    }

    /// No columns.
    pub(crate) fn none() -> Projection {
        let members = ProjectedMembers { fields: Fields::empty(), sources: Vec::new() };
        Projection { schema: Arc::new(ArrowSchema::empty()), members, leaves: BTreeSet::new() }
    }

    /// The leaf columns it needs.
    pub(crate) fn leaves(&self) -> &BTreeSet<usize> {
        &self.leaves
    }

    /// Whether it needs the positions of rows.
    pub(crate) fn needs_positions(&self) -> bool {
        self.members.sources.iter().any(|s| matches!(s, ColumnSource::Row(column, _) if column.needs_positions()))
    }

    /// Prepares it for batches in which just `leaves` of the file are read.
    pub(crate) fn place(mut self, file: &FileColumns, leaves: &BTreeSet<usize>) -> Projection {
        self.members.place(&file.0, leaves);
        self
    }

    /// The wanted columns of a batch of the file.
    ///
    /// # Errors
    /// `CorruptTable` if values do not fit their type, or if required columns have nulls.
    pub(crate) fn project(&self, batch: &RecordBatch, facts: &RowFacts<'_>) -> Result<RecordBatch> {
        let arrays = self.members.arrays(batch.columns(), facts, None)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(violated)
    }
}
