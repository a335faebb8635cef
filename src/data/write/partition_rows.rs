//! Splits batches by partition: transforms of whole columns, then rows grouped by their tuple.
//!
//! Tuples are compared as in Java: floats by their bits, with one NaN. So -0.0 and 0.0 are two partitions. Null is a
//! separate value.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{nullif, take, take_record_batch};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use crate::data::arrow::transform_array::{transform_array, value_at};
use crate::error::{Error, Result};
use crate::format::task::{Partition, PartitionValue};
use crate::parallel::in_parallel;
use crate::types::{FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Type};

/// Rows of one batch that belong to one partition.
#[derive(Debug)]
pub struct PartitionRows {
    /// The partition's number: counted from 0 in order of first appearance, the same in every batch.
    pub number: usize,
    /// Its tuple.
    pub partition: Arc<Partition>,
    /// The rows, in the batch's order.
    pub rows: RecordBatch,
}

/// Splits batches of one schema by one spec. It remembers the partitions.
#[derive(Debug)]
pub struct Partitioner {
    spec_id: i32,
    columns: Vec<PartitionColumn>,
    converter: Option<RowConverter>,
    numbers: HashMap<Box<[u8]>, usize>,
    partitions: Vec<Arc<Partition>>,
}

/// One field of the spec, resolved.
#[derive(Debug)]
struct PartitionColumn {
    /// Positions from the batch's columns down through structs. They are empty for a void transform, which needs no
    /// source.
    path: Vec<usize>,
    source: PrimitiveType,
    /// The partition value, still null.
    value: PartitionValue,
}

impl Partitioner {
    /// A partitioner of batches that have the Arrow form of `schema`.
    ///
    /// # Errors
    /// `Unsupported` for an unknown transform; `InvalidInput` if a field's source column is absent, inside a list or
    /// map, or of a type that the transform does not accept.
    pub fn new(schema: &Schema, spec: &PartitionSpec) -> Result<Self> {
        let columns = spec.fields.iter().map(|f| resolve(schema, f)).collect::<Result<Vec<_>>>()?;
        Ok(Partitioner { spec_id: spec.id, columns, converter: None, numbers: HashMap::new(), partitions: Vec::new() })
    }

    /// The batch's rows by partition, in the order of each partition's first row. Nothing is copied if all rows belong
    /// to one partition, or if there are no partition fields.
    ///
    /// # Errors
    /// `InvalidInput` if the batch has another schema than the partitioner.
    pub fn split(&mut self, batch: &RecordBatch) -> Result<Vec<PartitionRows>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let keyed = self.columns.iter().filter(|c| c.value.transform != Transform::Void);
        let keys = keyed.map(|c| c.key(batch)).collect::<Result<Vec<_>>>()?;
        if keys.is_empty() {
            let number = self.number(&[], &keys, 0);
            return Ok(vec![self.rows_of(number, batch.clone())]);
        }
        let grouped = self.group(&keys).map_err(failed)?;
        if let [only] = grouped.numbers[..] {
            return Ok(vec![self.rows_of(only, batch.clone())]);
        }
        let sorted = in_order(batch, &grouped.order())?;
        let mut start = 0;
        let mut out = Vec::with_capacity(grouped.numbers.len());
        for (number, count) in grouped.numbers.iter().zip(&grouped.counts) {
            out.push(self.rows_of(*number, sorted.slice(start, *count)));
            start += count;
        }
        Ok(out)
    }

    fn rows_of(&self, number: usize, rows: RecordBatch) -> PartitionRows {
        PartitionRows { number, partition: self.partitions[number].clone(), rows }
    }

    fn group(&mut self, keys: &[ArrayRef]) -> Result<Groups, ArrowError> {
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => {
                let fields = keys.iter().map(|k| SortField::new(k.data_type().clone())).collect();
                none.insert(RowConverter::new(fields)?)
            }
        };
        let tuples = converter.convert_columns(keys)?;
        let mut groups = Groups { of_row: Vec::with_capacity(tuples.num_rows()), ..Groups::default() };
        let mut known: hashbrown::HashMap<&[u8], u32> = hashbrown::HashMap::new();
        let mut previous: Option<(&[u8], u32)> = None;
        let bytes = (0..tuples.num_rows()).map(|i| tuples.row(i).data());
        for (row, tuple) in bytes.enumerate() {
            let group = match previous {
                Some((same, group)) if same == tuple => group,
                _ => *known.entry(tuple).or_insert_with(|| {
                    groups.numbers.push(self.number(tuple, keys, row));
                    groups.counts.push(0);
                    groups.numbers.len() as u32 - 1
                }),
            };
            previous = Some((tuple, group));
            groups.counts[group as usize] += 1;
            groups.of_row.push(group);
        }
        Ok(groups)
    }

    /// The number of the tuple in `row` of `keys`. A new tuple gets a new number.
    fn number(&mut self, tuple: &[u8], keys: &[ArrayRef], row: usize) -> usize {
        if let Some(number) = self.numbers.get(tuple) {
            return *number;
        }
        let mut keys = keys.iter();
        let value = |c: &PartitionColumn| {
            let key = if c.value.transform == Transform::Void { None } else { keys.next() };
            let value = key.and_then(|k| value_at(k, row, &c.value.ty));
            PartitionValue { value, ..c.value.clone() }
        };
        let values = self.columns.iter().map(value).collect();
        let number = self.partitions.len();
        self.partitions.push(Arc::new(Partition { spec_id: self.spec_id, values }));
        self.numbers.insert(tuple.into(), number);
        number
    }
}

/// The rows of a batch by group.
#[derive(Default)]
struct Groups {
    /// The partition's number of each group.
    numbers: Vec<usize>,
    /// The number of rows of each group.
    counts: Vec<usize>,
    /// The group of each row.
    of_row: Vec<u32>,
}

impl Groups {
    /// Row positions by group, in the batch's order within each.
    fn order(&self) -> UInt32Array {
        let mut next: Vec<usize> = Vec::with_capacity(self.counts.len());
        let mut start = 0;
        for count in &self.counts {
            next.push(start);
            start += count;
        }
        let mut order = vec![0u32; self.of_row.len()];
        for (row, group) in self.of_row.iter().enumerate() {
            let at = &mut next[*group as usize];
            order[*at] = row as u32;
            *at += 1;
        }
        order.into()
    }
}

/// The rows of a batch in another order. Columns are copied in parallel, each as a whole, while it is in the cache.
fn in_order(batch: &RecordBatch, order: &UInt32Array) -> Result<RecordBatch> {
    const FEW_ROWS: usize = 8192;
    if batch.num_rows() < FEW_ROWS {
        return take_record_batch(batch, order).map_err(failed);
    }
    let column = |i: usize| take(batch.column(i), order, None).map_err(failed);
    RecordBatch::try_new(batch.schema(), in_parallel(batch.num_columns(), column)?).map_err(failed)
}

fn failed(e: ArrowError) -> Error {
    Error::internal("rows could not be partitioned").because(e)
}

fn resolve(schema: &Schema, field: &PartitionField) -> Result<PartitionColumn> {
    let value = PartitionValue {
        name: field.name.clone(),
        field_id: field.field_id,
        source_id: field.source_id,
        transform: field.transform.clone(),
        ty: field.result_type(schema),
        value: None,
    };
    let bad = |message: String| Error::invalid(message).with("partition field", &field.name);
    match &field.transform {
        Transform::Void => return Ok(PartitionColumn { path: Vec::new(), source: PrimitiveType::Unknown, value }),
        Transform::Unknown(name) => {
            return Err(Error::unsupported(format!("rows can't be partitioned by the unknown transform '{name}'"))
                .with("partition field", &field.name));
        }
        Transform::Bucket(0) | Transform::Truncate(0) => {
            return Err(bad(format!("{} is not a transform", field.transform)));
        }
        _ => {}
    }
    let absent = || bad(format!("the schema has no column with id {} outside lists and maps", field.source_id));
    let (path, source) = source_path(schema, field.source_id).ok_or_else(absent)?;
    if !field.transform.accepts(&source) {
        return Err(bad(format!("the transform {} does not apply to columns of type {source}", field.transform)));
    }
    Ok(PartitionColumn { path, source, value })
}

/// Positions from the top down to a leaf reached through structs only, and its type.
pub(crate) fn source_path(schema: &Schema, id: FieldId) -> Option<(Vec<usize>, PrimitiveType)> {
    let mut path = Vec::new();
    let mut fields = &schema.fields;
    loop {
        let holds = |f: &crate::types::Field| f.id == id || has_member(&f.ty, id);
        let at = fields.iter().position(holds)?;
        path.push(at);
        match &fields.get(at)?.ty {
            Type::Primitive(p) => return Some((path, p.clone())),
            Type::Struct(members) => fields = members,
            Type::List(_) | Type::Map(_, _) => return None,
        }
    }
}

fn has_member(ty: &Type, id: FieldId) -> bool {
    match ty {
        Type::Struct(members) => members.iter().any(|f| f.id == id || has_member(&f.ty, id)),
        _ => false,
    }
}

/// The array at `path` in a batch. It is also null where a struct around it is null.
///
/// # Errors
/// `InvalidInput` if there is no such array.
pub(crate) fn column_at(batch: &RecordBatch, path: &[usize]) -> Result<ArrayRef> {
    let absent = || Error::invalid("the batch does not have the schema of its table");
    let (first, inner) = path.split_first().ok_or_else(absent)?;
    let mut array = batch.columns().get(*first).ok_or_else(absent)?.clone();
    let mut nulls: Option<NullBuffer> = None;
    for at in inner {
        nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
        let member = array.as_struct_opt().and_then(|s| s.columns().get(*at)).ok_or_else(absent)?.clone();
        array = member;
    }
    match nulls.filter(|n| n.null_count() > 0) {
        Some(n) => nullif(&array, &BooleanArray::new(!n.inner(), None)).map_err(failed),
        None => Ok(array),
    }
}

impl PartitionColumn {
    fn key(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let array = column_at(batch, &self.path)?;
        transform_array(&array, &self.source, &self.value.transform)
            .map_err(|e| e.with("partition field", &self.value.name))
    }
}

#[cfg(test)]
#[path = "partition_rows_tests.rs"]
mod tests;
