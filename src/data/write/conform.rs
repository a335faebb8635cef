//! Converts incoming batches to the table's Arrow schema, by name.
//!
//! Batches come in the layouts of pyarrow, polars, DuckDB or Spark: other widths and units, views, dictionaries, large
//! offsets, columns in another order. [`Conformer`] turns each into the one layout that the writer takes, or says which
//! column does not fit and why. Names are case-sensitive, in nested structs too. Nothing is lost: values are widened
//! but never narrowed. Units and decimal scales change only if every value stays the same.
//!
//! ```text
//! input schema --plan--> [Node per column] --conform--> RecordBatch of the table's schema
//! ```
//! The plan is made once per input schema. A column that the data lacks holds its write default (v3), otherwise null.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
    UInt32Array, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, nullif, take};
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};

use super::conform_leaf;
use super::conform_leaf::Rule;
use super::refusal::{Refusal, rebase, too_large};
use crate::data::arrow::geoarrow;
use crate::data::arrow::schema::{EXTENSION_KEY, EXTENSION_METADATA_KEY, struct_members, to_arrow};
use crate::data::arrow::type_names::type_name;
use crate::data::read::defaults;
use crate::error::{Error, Result};
use crate::types::suggest::suggest;
use crate::types::{Field, PrimitiveType, Schema, Type};

/// Turns batches into the Arrow schema of one table.
#[derive(Debug)]
pub struct Conformer {
    schema: Arc<Schema>,
    target: SchemaRef,
    plan: Option<(SchemaRef, Vec<ConformNode>)>,
}

/// The plan to make one field of the table.
#[derive(Debug)]
struct ConformNode {
    /// The column's full name.
    path: String,
    target: FieldRef,
    /// The position among its siblings of the input; `None` if the input lacks it.
    source: Option<usize>,
    kind: ConformKind,
}

#[derive(Debug)]
enum ConformKind {
    /// The input lacks the column, or has only nulls.
    Nulls,
    /// The input lacks the column: this row repeats in every row.
    Default(ArrayRef),
    Leaf(Rule),
    Struct(Vec<ConformNode>),
    List(Box<ConformNode>),
    Map(Box<ConformNode>, Box<ConformNode>),
}

impl Conformer {
    /// A conformer for rows of `schema`.
    ///
    /// # Errors
    /// `Unsupported` if the schema has a type without an Arrow form.
    pub fn new(schema: Arc<Schema>) -> Result<Self> {
        let target = to_arrow(&schema)?;
        Ok(Conformer { schema, target, plan: None })
    }

    /// The table schema of conformed batches.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The schema that conformed batches have.
    pub fn target(&self) -> &SchemaRef {
        &self.target
    }

    /// The rows of `batch` in the table's schema. Arrays that fit already are shared, not copied.
    ///
    /// `first_row` is the number of the batch's first row, for messages only.
    ///
    /// # Errors
    /// `InvalidInput`, naming the column:
    /// - the batch has a column that the table lacks, or lacks a required one;
    /// - a type can't become the table's without loss;
    /// - a value is null or too large. This error names the row, too.
    pub fn conform(&mut self, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch> {
        let input = batch.schema();
        if self.plan.as_ref().is_none_or(|(known, _)| !Arc::ptr_eq(known, &input) && known.fields() != input.fields()) {
            self.plan = Some((input.clone(), plan_columns(&self.schema, &self.target, &input)?));
        }
        let nodes = self.plan.as_ref().map_or(&[][..], |(_, nodes)| nodes);
        let rows = batch.num_rows();
        let columns = nodes.iter().map(|node| node.of(batch.columns(), rows, None).map_err(|r| refuse(r, first_row)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.target.clone(), columns, &options)
            .map_err(|e| Error::internal("the conformed batch does not fit the table's schema").because(e))
    }
}

fn refuse(r: Refusal, first_row: u64) -> Error {
    let mut e = Error::invalid(r.message);
    if let Some(column) = r.column {
        e = e.with("column", column);
    }
    match r.row {
        Some(row) => e.with("row", first_row + row as u64),
        None => e,
    }
}

fn plan_columns(schema: &Schema, target: &ArrowSchema, input: &ArrowSchema) -> Result<Vec<ConformNode>> {
    if input.fields().is_empty() && !schema.fields.is_empty() {
        return Err(Error::invalid("the data has no columns"));
    }
    plan_members(&schema.fields, target.fields(), input.fields(), "")
}

fn plan_members(fields: &[Field], targets: &Fields, input: &Fields, parent: &str) -> Result<Vec<ConformNode>> {
    let full = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(input.len());
    for (i, f) in input.iter().enumerate() {
        if positions.insert(f.name(), i).is_some() {
            return Err(Error::invalid("the data has two columns with the same name").with("column", full(f.name())));
        }
        if !fields.iter().any(|t| t.name == *f.name()) {
            let e = Error::invalid("the table has no such column").with("column", full(f.name()));
            let same = fields.iter().find(|t| t.name.eq_ignore_ascii_case(f.name()));
            let names: Vec<String> = fields.iter().map(|t| t.name.clone()).collect();
            return Err(match (same, suggest(&names, f.name()).first()) {
                (Some(t), _) => e.hint(format!("Names are case-sensitive; the table has '{}'", t.name)),
                (None, Some(name)) => {
                    e.hint(format!("Did you mean '{name}'? Else drop the column, or add it to the table first"))
                }
                (None, None) => e.hint("Drop the column, or add it to the table first"),
            });
        }
    }
    let nodes = fields.iter().zip(targets.iter());
    nodes.map(|(f, t)| plan(f, t, input, positions.get(f.name.as_str()).copied(), full(&f.name))).collect()
}

fn plan(field: &Field, target: &FieldRef, input: &Fields, source: Option<usize>, path: String) -> Result<ConformNode> {
    let Some(found) = source.and_then(|i| input.get(i)) else {
        if let Some(row) = defaults::write_row(field)? {
            return Ok(ConformNode { path, target: target.clone(), source: None, kind: ConformKind::Default(row) });
        }
        if field.required {
            return Err(Error::invalid("the data lacks a required column").with("column", path));
        }
        return Ok(ConformNode { path, target: target.clone(), source: None, kind: ConformKind::Nulls });
    };
    if let Some(other) = other_geometry(field, found) {
        return Err(Error::invalid(format!("{other} can't be written to a column of type {}", field.ty))
            .with("column", path)
            .hint("Transform the coordinates first"));
    }
    let kind = plan_kind(field, target, found.data_type(), &path)?;
    Ok(ConformNode { path, target: target.clone(), source, kind })
}

/// The type of a geometry column whose metadata name another reference system or other edges than the table's.
fn other_geometry(field: &Field, found: &ArrowField) -> Option<PrimitiveType> {
    let is_wkb = found.metadata().get(EXTENSION_KEY).is_some_and(|name| name == geoarrow::WKB_EXTENSION);
    let found = is_wkb.then(|| found.metadata().get(EXTENSION_METADATA_KEY)).flatten()?;
    let same = |ours: &PrimitiveType| geoarrow::metadata(ours).and_then(|m| geoarrow::table_type(&m));
    let (found, ours) = (geoarrow::table_type(found)?, same(field.ty.as_primitive()?)?);
    (found != ours).then_some(found)
}

fn plan_kind(field: &Field, target: &FieldRef, found: &DataType, path: &str) -> Result<ConformKind> {
    use DataType as D;
    let misfit = || {
        let found = type_name(found);
        Error::invalid(format!("{found} can't be written to a column of type {} without loss", field.ty))
            .with("column", path)
            .hint("Cast the column first")
    };
    let only = |child: &Field, target: &FieldRef, found: &FieldRef| {
        let siblings = Fields::from(vec![found.clone()]);
        plan(child, target, &siblings, Some(0), format!("{path}.{}", child.name)).map(Box::new)
    };
    let found = conform_leaf::plain(found);
    Ok(match (&field.ty, target.data_type(), found) {
        (_, _, D::Null) => ConformKind::Nulls,
        (Type::Primitive(p), _, found) => ConformKind::Leaf(conform_leaf::rule(p, found).ok_or_else(misfit)?),
        (Type::Struct(fields), D::Struct(targets), D::Struct(input)) => {
            ConformKind::Struct(plan_members(fields, targets, input, path)?)
        }
        (Type::List(e), D::List(target), found) => {
            ConformKind::List(only(e, target, list_element(found).ok_or_else(misfit)?)?)
        }
        (Type::Map(k, v), D::Map(entries, _), D::Map(input, _)) => {
            let (targets, input) = (struct_members(entries), struct_members(input));
            match (targets, input) {
                ([kt, vt], [kf, vf]) => ConformKind::Map(only(k, kt, kf)?, only(v, vt, vf)?),
                _ => return Err(misfit()),
            }
        }
        _ => return Err(misfit()),
    })
}

fn list_element(ty: &DataType) -> Option<&FieldRef> {
    use DataType as D;
    match ty {
        D::List(f) | D::LargeList(f) | D::FixedSizeList(f, _) | D::ListView(f) | D::LargeListView(f) => Some(f),
        _ => None,
    }
}

impl ConformNode {
    /// This field's array out of its siblings. `parent` says which structs around it are null. Values in null structs
    /// do not count.
    fn of(&self, siblings: &[ArrayRef], rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef, Refusal> {
        let array = match self.source.and_then(|i| siblings.get(i)) {
            None if let ConformKind::Default(row) = &self.kind => defaults::repeat(row, rows).map_err(Refusal::from),
            None => Ok(new_null_array(self.target.data_type(), rows)),
            Some(array) => mask(array, parent).and_then(|array| self.convert(&array)),
        };
        let array = array.and_then(|array| self.check_nulls(array, parent));
        array.map_err(|mut r| {
            r.column.get_or_insert_with(|| self.path.clone());
            r
        })
    }

    fn check_nulls(&self, array: ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef, Refusal> {
        let outer = parent.map_or(0, NullBuffer::null_count);
        if !self.target.is_nullable() && array.null_count() > outer {
            let at = (0..array.len()).find(|&i| array.is_null(i) && parent.is_none_or(|p| p.is_valid(i)));
            return Err(Refusal::at(at.unwrap_or(0), "a required column holds a null"));
        }
        Ok(array)
    }

    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef, Refusal> {
        let array = match array.data_type() {
            DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _) => {
                &cast(array, conform_leaf::plain(array.data_type()))?
            }
            _ => array,
        };
        match &self.kind {
            ConformKind::Nulls | ConformKind::Default(_) => Ok(new_null_array(self.target.data_type(), array.len())),
            ConformKind::Leaf(rule) => conform_leaf::apply(rule, array, self.target.data_type()),
            ConformKind::Struct(members) => {
                let input = array.as_struct_opt().ok_or_else(wrong_array)?;
                let convert = |m: &ConformNode| m.of(input.columns(), input.len(), input.nulls());
                let columns = members.iter().map(convert).collect::<Result<Vec<_>, _>>()?;
                let DataType::Struct(fields) = self.target.data_type() else { return Err(wrong_array()) };
                let out =
                    StructArray::try_new_with_length(fields.clone(), columns, input.nulls().cloned(), input.len())?;
                Ok(Arc::new(out))
            }
            ConformKind::List(element) => {
                let (offsets, values, nulls) = list_parts(array)?;
                let values = inner(element, &values, &offsets)?;
                Ok(Arc::new(ListArray::try_new(element.target.clone(), offsets, values, nulls)?))
            }
            ConformKind::Map(key, value) => self.convert_map(array, key, value),
        }
    }

    fn convert_map(&self, array: &ArrayRef, key: &ConformNode, value: &ConformNode) -> Result<ArrayRef, Refusal> {
        let array = compact(array, array.as_map_opt().ok_or_else(wrong_array)?.offsets())?;
        let map = array.as_map_opt().ok_or_else(wrong_array)?;
        let (offsets, start, end) = rebase(map.offsets().iter().map(|o| *o as i64))?;
        let keys = inner(key, &map.keys().slice(start, end - start), &offsets)?;
        let values = inner(value, &map.values().slice(start, end - start), &offsets)?;
        let DataType::Map(entries, ordered) = self.target.data_type() else { return Err(wrong_array()) };
        let DataType::Struct(fields) = entries.data_type() else { return Err(wrong_array()) };
        let rows = StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, end - start)?;
        Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, rows, map.nulls().cloned(), *ordered)?))
    }
}

/// The elements of a list or map. A refused element is reported as the row that holds it.
fn inner(node: &ConformNode, values: &ArrayRef, offsets: &OffsetBuffer<i32>) -> Result<ArrayRef, Refusal> {
    node.of(std::slice::from_ref(values), values.len(), None).map_err(|mut r| {
        r.row = r.row.map(|i| offsets.partition_point(|o| *o as usize <= i).saturating_sub(1));
        r
    })
}

/// The plan was made for another type than the array has.
fn wrong_array() -> Refusal {
    Refusal { message: "the array is not of its schema's type".into(), row: None, column: None }
}

/// The array with null wherever `parent` is null.
fn mask(array: &ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef, Refusal> {
    match parent.filter(|p| p.null_count() > 0) {
        // Run-end arrays have no null mask themselves.
        Some(p) if matches!(array.data_type(), DataType::RunEndEncoded(_, _)) => {
            mask(&cast(array, conform_leaf::plain(array.data_type()))?, Some(p))
        }
        Some(p) => Ok(nullif(array, &BooleanArray::new(!p.inner(), None))?),
        None => Ok(array.clone()),
    }
}

type ListParts = (OffsetBuffer<i32>, ArrayRef, Option<NullBuffer>);

/// Offsets from 0, exactly the elements in their range, and the nulls of any kind of list.
fn list_parts(array: &ArrayRef) -> Result<ListParts, Refusal> {
    let array = match array.data_type() {
        DataType::FixedSizeList(f, _) | DataType::ListView(f) => &cast(array, &DataType::List(f.clone()))?,
        DataType::LargeListView(f) => &cast(array, &DataType::LargeList(f.clone()))?,
        _ => array,
    };
    if let Some(list) = array.as_list_opt::<i32>() {
        let array = compact(array, list.offsets())?;
        let list = array.as_list_opt::<i32>().ok_or_else(wrong_array)?;
        let (offsets, start, end) = rebase(list.offsets().iter().map(|o| i64::from(*o)))?;
        return Ok((offsets, list.values().slice(start, end - start), list.nulls().cloned()));
    }
    let list = array.as_list_opt::<i64>().ok_or_else(wrong_array)?;
    let array = compact(array, list.offsets())?;
    let list = array.as_list_opt::<i64>().ok_or_else(wrong_array)?;
    let (offsets, start, end) = rebase(list.offsets().iter().copied())?;
    Ok((offsets, list.values().slice(start, end - start), list.nulls().cloned()))
}

/// The same lists or maps without the elements of null ones. Such elements must not be taken for data.
fn compact<O: arrow::array::OffsetSizeTrait>(array: &ArrayRef, offsets: &OffsetBuffer<O>) -> Result<ArrayRef, Refusal> {
    let hidden = array.nulls().is_some_and(|nulls| {
        nulls.null_count() > 0 && offsets.windows(2).zip(nulls.iter()).any(|(w, valid)| !valid && w[0] != w[1])
    });
    if !hidden {
        return Ok(array.clone());
    }
    let rows = u32::try_from(array.len()).map_err(|_| too_large())?;
    Ok(take(array, &UInt32Array::from_iter_values(0..rows), None)?)
}

#[cfg(test)]
#[path = "conform_tests.rs"]
mod tests;
