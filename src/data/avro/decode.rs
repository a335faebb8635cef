//! Avro records to Arrow columns. Only the wanted leaves are decoded, and all others are skipped.
//!
//! [`RecordDecoder`] is compiled once for a file. It follows the writer's schema step by step. Every step reads a value
//! into its column, or skips some values. Memory grows with the bytes that are read, except for Arrow's memory for
//! nulls.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, BooleanBufferBuilder, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, MapArray, NullArray, NullBufferBuilder, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef,
    Time32MillisecondType, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use crate::codec::avro::{Budget, Cursor, Logical, Member, Node, Optional, Shape, Skip};
use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::data::read::source::too_large;
use crate::error::{Error, Result};

/// Items without bytes that a column of a batch may have. Nothing else limits the number that a file claims.
const FREE_ITEMS: u64 = 1 << 24;

/// The wanted columns of a file's records.
pub(crate) struct RecordDecoder {
    steps: Vec<DecodeStep>,
    schema: SchemaRef,
    /// Bytes that a row takes in Arrow, regardless of its size in the file.
    width: usize,
}

enum DecodeStep {
    Skip(Skip),
    Read(Box<LeafDecoder>),
}

/// A column of a batch that is being filled.
struct LeafDecoder {
    /// The field of the finished array. Its structs hold only members that are read.
    field: FieldRef,
    optional: Optional,
    nulls: NullBufferBuilder,
    values: LeafValues,
}

enum LeafValues {
    Null,
    Boolean(BooleanBufferBuilder),
    Int(Vec<i32>),
    Long(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Bytes),
    Enum(Arc<[String]>, Bytes),
    Fixed(usize, Vec<u8>),
    /// Decimals: the bytes of each if it is `fixed`, and the first number that is too large.
    Decimal(Option<usize>, i128, Vec<i128>),
    Struct(Vec<DecodeStep>),
    List(Items, Box<LeafDecoder>),
    Map(Items, Box<(LeafDecoder, LeafDecoder)>),
}

/// Byte strings one after another.
struct Bytes {
    ends: Vec<i32>,
    data: Vec<u8>,
}

/// Where the items of each list or map end.
struct Items {
    ends: Vec<i32>,
    /// Whether an item takes no bytes.
    free: bool,
}

impl RecordDecoder {
    /// Compiles the way through records of type `rows`, whose columns are `columns`, to the columns that have one of
    /// `leaves`.
    ///
    /// # Errors
    /// `Unsupported` if the schema has too many parts.
    pub(crate) fn new(rows: &Node, columns: &FileColumns, leaves: &BTreeSet<usize>) -> Result<RecordDecoder> {
        let members = rows.members().ok_or_else(other_shape)?;
        let mut compiler = Compiler { leaves, budget: Budget::default() };
        let steps = compiler.members(members, columns.iter())?;
        let schema = Arc::new(ArrowSchema::new(fields(&steps)));
        let width = steps.iter().map(DecodeStep::width).fold(0, usize::saturating_add);
        Ok(RecordDecoder { steps, schema, width })
    }

    /// The least number of bytes that a row takes in Arrow.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Reads a record.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not such a record.
    #[inline]
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        read_steps(&mut self.steps, cursor)
    }

    /// The batch of the `rows` records read since the last one.
    ///
    /// # Errors
    /// `CorruptTable` if text is not UTF-8 or a map has a null key.
    pub(crate) fn finish(&mut self, rows: usize) -> Result<RecordBatch> {
        let arrays = finish_steps(&mut self.steps)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(misfit)
    }
}

fn misfit(e: ArrowError) -> Error {
    Error::corrupt("the values of an Avro column don't match its type").because(e)
}

fn other_shape() -> Error {
    Error::internal("an Avro column has another shape than its schema")
}

struct Compiler<'a> {
    leaves: &'a BTreeSet<usize>,
    budget: Budget,
}

impl Compiler<'_> {
    fn members<'c>(
        &mut self,
        members: &[Member],
        columns: impl ExactSizeIterator<Item = &'c FileColumn>,
    ) -> Result<Vec<DecodeStep>> {
        if members.len() != columns.len() {
            return Err(other_shape());
        }
        let mut steps = Vec::new();
        let mut skipped = Vec::new();
        for (member, column) in members.iter().zip(columns) {
            if !column.is_read(self.leaves) {
                skipped.push(Skip::of(&member.node, &mut self.budget)?);
                continue;
            }
            flush(&mut skipped, &mut steps);
            steps.push(DecodeStep::Read(Box::new(self.column(&member.node, column)?)));
        }
        flush(&mut skipped, &mut steps);
        Ok(steps)
    }

    fn column(&mut self, node: &Node, column: &FileColumn) -> Result<LeafDecoder> {
        self.budget.spend()?;
        let (optional, node) = node.optional();
        let values = match (&node.shape, column.children.as_slice()) {
            (Shape::Record(members), children) => LeafValues::Struct(self.members(members, children.iter())?),
            (Shape::Array(items), [key, value]) => match items.members() {
                Some([key_member, value_member]) => {
                    let entry = (self.column(&key_member.node, key)?, self.column(&value_member.node, value)?);
                    LeafValues::Map(Items::new(items.min_bytes == 0), Box::new(entry))
                }
                _ => return Err(other_shape()),
            },
            (Shape::Array(items), [element]) => {
                let items = (Items::new(items.min_bytes == 0), self.column(items, element)?);
                LeafValues::List(items.0, Box::new(items.1))
            }
            (Shape::Map(values), [key, value]) => {
                let key = LeafDecoder::new(key.field.clone(), Optional::Always, LeafValues::Bytes(Bytes::new()));
                LeafValues::Map(Items::new(false), Box::new((key, self.column(values, value)?)))
            }
            (_, []) => leaf(node)?,
            _ => return Err(other_shape()),
        };
        Ok(LeafDecoder::new(pruned(&column.field, &values), optional, values))
    }
}

fn flush(skipped: &mut Vec<Skip>, steps: &mut Vec<DecodeStep>) {
    match Skip::sequence(std::mem::take(skipped)) {
        Skip::Nothing => {}
        skip => steps.push(DecodeStep::Skip(skip)),
    }
}

fn leaf(node: &Node) -> Result<LeafValues> {
    Ok(match (&node.shape, &node.logical) {
        (Shape::Null, _) => LeafValues::Null,
        (Shape::Boolean, _) => LeafValues::Boolean(BooleanBufferBuilder::new(0)),
        (Shape::Int, _) => LeafValues::Int(Vec::new()),
        (Shape::Long, _) => LeafValues::Long(Vec::new()),
        (Shape::Float, _) => LeafValues::Float(Vec::new()),
        (Shape::Double, _) => LeafValues::Double(Vec::new()),
        (shape @ (Shape::Bytes | Shape::Fixed(_)), Logical::Decimal { precision, .. }) => {
            let size = if let Shape::Fixed(size) = shape { Some(*size) } else { None };
            LeafValues::Decimal(size, 10i128.pow(u32::from(*precision).min(38)), Vec::new())
        }
        (Shape::Bytes | Shape::String, _) => LeafValues::Bytes(Bytes::new()),
        (Shape::Enum(symbols), _) => LeafValues::Enum(symbols.clone(), Bytes::new()),
        (Shape::Fixed(size), _) => LeafValues::Fixed(*size, Vec::new()),
        _ => return Err(other_shape()),
    })
}

fn fields(steps: &[DecodeStep]) -> Fields {
    let field = |step: &DecodeStep| match step {
        DecodeStep::Read(column) => Some(column.field.clone()),
        DecodeStep::Skip(_) => None,
    };
    steps.iter().filter_map(field).collect()
}

/// The field with only the parts that are read.
fn pruned(field: &FieldRef, values: &LeafValues) -> FieldRef {
    let data_type = match (values, field.data_type()) {
        (LeafValues::Struct(steps), _) => DataType::Struct(fields(steps)),
        (LeafValues::List(_, element), _) => DataType::List(element.field.clone()),
        (LeafValues::Map(_, entry), DataType::Map(entries, sorted)) => {
            let members = Fields::from(vec![entry.0.field.clone(), entry.1.field.clone()]);
            let entries = ArrowField::clone(entries).with_data_type(DataType::Struct(members));
            DataType::Map(Arc::new(entries), *sorted)
        }
        _ => return field.clone(),
    };
    Arc::new(ArrowField::clone(field).with_data_type(data_type))
}

#[inline]
fn read_steps(steps: &mut [DecodeStep], cursor: &mut Cursor<'_>) -> Result<()> {
    for step in steps {
        match step {
            DecodeStep::Skip(skip) => *cursor = skip.run(cursor.clone())?,
            DecodeStep::Read(column) => column.read(cursor)?,
        }
    }
    Ok(())
}

fn finish_steps(steps: &mut [DecodeStep]) -> Result<Vec<ArrayRef>> {
    let finish = |step: &mut DecodeStep| match step {
        DecodeStep::Read(column) => Some(column.finish()),
        DecodeStep::Skip(_) => None,
    };
    steps.iter_mut().filter_map(finish).collect()
}

impl DecodeStep {
    fn width(&self) -> usize {
        match self {
            DecodeStep::Skip(_) => 0,
            DecodeStep::Read(column) => column.width(),
        }
    }
}

impl LeafDecoder {
    fn new(field: FieldRef, optional: Optional, values: LeafValues) -> LeafDecoder {
        LeafDecoder { field, optional, nulls: NullBufferBuilder::new(0), values }
    }

    fn width(&self) -> usize {
        match &self.values {
            LeafValues::Null => 0,
            LeafValues::Fixed(size, _) => *size,
            LeafValues::Enum(symbols, _) => symbols.iter().map(String::len).max().unwrap_or(0),
            LeafValues::Struct(steps) => steps.iter().map(DecodeStep::width).fold(0, usize::saturating_add),
            _ => 8,
        }
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if !cursor.present(self.optional)? {
            return self.push_null();
        }
        match &mut self.values {
            LeafValues::Null => {}
            LeafValues::Boolean(values) => values.append(cursor.boolean()?),
            LeafValues::Int(values) => values.push(cursor.int()?),
            LeafValues::Long(values) => values.push(cursor.long()?),
            LeafValues::Float(values) => values.push(cursor.float()?),
            LeafValues::Double(values) => values.push(cursor.double()?),
            LeafValues::Bytes(values) => values.push(cursor.bytes()?)?,
            LeafValues::Enum(symbols, values) => values.push(symbol(symbols, cursor.long()?)?.as_bytes())?,
            LeafValues::Fixed(size, values) => values.extend_from_slice(cursor.take(*size)?),
            LeafValues::Decimal(size, limit, values) => {
                let bytes = match size {
                    Some(size) => cursor.take(*size)?,
                    None => cursor.bytes()?,
                };
                let value = unscaled(bytes).filter(|v| v.unsigned_abs() < limit.unsigned_abs());
                values.push(value.ok_or_else(|| Error::corrupt("a decimal has more digits than its type"))?);
            }
            LeafValues::Struct(steps) => read_steps(steps, cursor)?,
            LeafValues::List(items, element) => {
                while let Some(run) = cursor.run()? {
                    items.check(element.len(), run.count)?;
                    let before = cursor.rest().len();
                    for _ in 0..run.count {
                        element.read(cursor)?;
                    }
                    run.check(before, cursor)?;
                }
                items.end(element.len())?;
            }
            LeafValues::Map(items, entry) => {
                while let Some(run) = cursor.run()? {
                    items.check(entry.0.len(), run.count)?;
                    let before = cursor.rest().len();
                    for _ in 0..run.count {
                        entry.0.read(cursor)?;
                        entry.1.read(cursor)?;
                    }
                    run.check(before, cursor)?;
                }
                items.end(entry.0.len())?;
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) -> Result<()> {
        self.nulls.append_null();
        match &mut self.values {
            LeafValues::Null => {}
            LeafValues::Boolean(values) => values.append(false),
            LeafValues::Int(values) => values.push(0),
            LeafValues::Long(values) => values.push(0),
            LeafValues::Float(values) => values.push(0.0),
            LeafValues::Double(values) => values.push(0.0),
            LeafValues::Bytes(values) | LeafValues::Enum(_, values) => values.push(&[])?,
            LeafValues::Fixed(size, values) => {
                let length = values.len().saturating_add(*size);
                values.resize(i32::try_from(length).map_err(|_| too_large())? as usize, 0);
            }
            LeafValues::Decimal(_, _, values) => values.push(0),
            LeafValues::Struct(steps) => {
                for step in steps {
                    if let DecodeStep::Read(column) = step {
                        column.push_null()?;
                    }
                }
            }
            LeafValues::List(items, element) => items.end(element.len())?,
            LeafValues::Map(items, entry) => items.end(entry.0.len())?,
        }
        Ok(())
    }

    /// The array of the values since the last one.
    fn finish(&mut self) -> Result<ArrayRef> {
        let rows = self.len();
        let nulls = self.nulls.finish();
        let data_type = self.field.data_type();
        Ok(match &mut self.values {
            LeafValues::Null => Arc::new(NullArray::new(rows)),
            LeafValues::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            LeafValues::Int(values) => ints(Int32Array::new(numbers(values), nulls), data_type),
            LeafValues::Long(values) => longs(Int64Array::new(numbers(values), nulls), data_type),
            LeafValues::Float(values) => Arc::new(Float32Array::new(numbers(values), nulls)),
            LeafValues::Double(values) => Arc::new(Float64Array::new(numbers(values), nulls)),
            LeafValues::Bytes(values) | LeafValues::Enum(_, values) => values.finish(nulls, data_type)?,
            LeafValues::Fixed(size, values) => {
                let bytes = Buffer::from_vec(std::mem::take(values));
                let size = i32::try_from(*size).map_err(|_| too_large())?;
                Arc::new(FixedSizeBinaryArray::try_new(size, bytes, nulls).map_err(misfit)?)
            }
            LeafValues::Decimal(_, _, values) => {
                Arc::new(Decimal128Array::new(numbers(values), nulls).with_data_type(data_type.clone()))
            }
            LeafValues::Struct(steps) => {
                let arrays = finish_steps(steps)?;
                let DataType::Struct(fields) = data_type else { return Err(other_shape()) };
                let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows);
                Arc::new(array.map_err(misfit)?)
            }
            LeafValues::List(items, element) => {
                let DataType::List(field) = data_type else { return Err(other_shape()) };
                let values = element.finish()?;
                Arc::new(ListArray::try_new(field.clone(), items.finish(), values, nulls).map_err(misfit)?)
            }
            LeafValues::Map(items, entry) => {
                let DataType::Map(entries, sorted) = data_type else { return Err(other_shape()) };
                let DataType::Struct(fields) = entries.data_type() else { return Err(other_shape()) };
                let arrays = vec![entry.0.finish()?, entry.1.finish()?];
                let rows = StructArray::try_new(fields.clone(), arrays, None).map_err(misfit)?;
                let array = MapArray::try_new(entries.clone(), items.finish(), rows, nulls, *sorted);
                Arc::new(array.map_err(misfit)?)
            }
        })
    }
}

impl Bytes {
    fn new() -> Bytes {
        Bytes { ends: Vec::new(), data: Vec::new() }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.data.extend_from_slice(bytes);
        self.ends.push(i32::try_from(self.data.len()).map_err(|_| too_large())?);
        Ok(())
    }

    fn finish(&mut self, nulls: Option<NullBuffer>, data_type: &DataType) -> Result<ArrayRef> {
        let (offsets, data) = (offsets(&mut self.ends), std::mem::take(&mut self.data));
        let data = Buffer::from_vec(data);
        Ok(match data_type {
            DataType::Utf8 => Arc::new(StringArray::try_new(offsets, data, nulls).map_err(misfit)?),
            _ => Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(misfit)?),
        })
    }
}

impl Items {
    fn new(free: bool) -> Items {
        Items { ends: Vec::new(), free }
    }

    /// Rejects too many items that take no bytes.
    fn check(&self, before: usize, count: u64) -> Result<()> {
        match self.free && count.saturating_add(before as u64) > FREE_ITEMS {
            true => Err(Error::corrupt(format!("an Avro array claims {count} items that take no bytes"))),
            false => Ok(()),
        }
    }

    fn end(&mut self, items: usize) -> Result<()> {
        self.ends.push(i32::try_from(items).map_err(|_| too_large())?);
        Ok(())
    }

    fn finish(&mut self) -> OffsetBuffer<i32> {
        offsets(&mut self.ends)
    }
}

/// Offsets from the ends of consecutive runs.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let ends = std::mem::take(ends);
    OffsetBuffer::new(std::iter::once(0).chain(ends).collect::<Vec<_>>().into())
}

/// Takes the numbers. The vector keeps room for the same number of values.
fn numbers<T: arrow::datatypes::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    let room = Vec::with_capacity(values.len());
    ScalarBuffer::from(std::mem::replace(values, room))
}

fn ints(values: Int32Array, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Date32 => Arc::new(values.reinterpret_cast::<Date32Type>()),
        DataType::Time32(_) => Arc::new(values.reinterpret_cast::<Time32MillisecondType>()),
        _ => Arc::new(values),
    }
}

fn longs(values: Int64Array, data_type: &DataType) -> ArrayRef {
    match data_type {
        DataType::Time64(_) => Arc::new(values.reinterpret_cast::<Time64MicrosecondType>()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            Arc::new(values.reinterpret_cast::<TimestampMillisecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Arc::new(values.reinterpret_cast::<TimestampNanosecondType>().with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(_, zone) => {
            Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
        }
        _ => Arc::new(values),
    }
}

fn symbol(symbols: &[String], index: i64) -> Result<&str> {
    let symbol = usize::try_from(index).ok().and_then(|i| symbols.get(i));
    symbol.map(String::as_str).ok_or_else(|| Error::corrupt(format!("an Avro enum has no symbol {index}")))
}

/// A big-endian two's complement number; `None` if it has more than 128 bits.
fn unscaled(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.first().is_some_and(|b| *b >= 0x80);
    let fill = if negative { 0xff } else { 0 };
    let (extra, low) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut word = [fill; 16];
    word.get_mut(16 - low.len()..)?.copy_from_slice(low);
    let value = i128::from_be_bytes(word);
    (extra.iter().all(|b| *b == fill) && (value < 0) == negative).then_some(value)
}
