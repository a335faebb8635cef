//! Encodes the columns of a stripe.
//!
//! A column has a bit for every row whether it has a value, and values only for those that have. Columns in a struct have
//! neither for rows in which the struct is null; those in lists and maps have one for every entry.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    UInt32Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{filter, take};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::error::ArrowError;

use super::orc_texts::Texts;
use super::orc_time::stored_timestamp;
use super::orc_types::{OrcType, per_second, statistics_of};
use crate::codec::orc::StreamKind;
use crate::codec::orc::encode::{
    BitWriter, ColumnStatistics, Compressor, EncodingOut, IndexEntry, IntegerWriter, StreamOut, StreamWriter,
    StripeParts, row_index,
};
use crate::error::{Error, Result};
use crate::types::{PrimitiveType, Type};

/// A stripe that is being encoded.
pub(super) struct Stripe {
    compressor: Compressor,
    columns: Vec<Column>,
    /// Rows of it, and of the group that is being written.
    rows: u64,
    group_rows: u64,
    /// The rows alone: there are no nulls among them.
    groups: Vec<ColumnStatistics>,
}

/// A finished stripe.
pub(super) struct FinishedStripe {
    pub rows: u64,
    pub parts: StripeParts,
    /// Of each column.
    pub statistics: Vec<ColumnStatistics>,
}

/// Rows of a group of the row index.
pub(super) const GROUP_ROWS: u64 = 10_000;

struct Column {
    number: usize,
    present: BitWriter,
    /// Whether there is a null in the stripe.
    has_null: bool,
    values: Values,
    group: ColumnStatistics,
    /// Where groups of rows begin, and what the finished ones hold.
    positions: Vec<Positions>,
    groups: Vec<ColumnStatistics>,
}

#[derive(Default)]
struct Positions {
    present: Vec<u64>,
    values: Vec<u64>,
}

enum Values {
    Boolean(BitWriter),
    Integer(IntegerWriter),
    Float(StreamWriter),
    Double(StreamWriter),
    Text(Texts),
    Binary { bytes: StreamWriter, lengths: IntegerWriter },
    Decimal { digits: StreamWriter, scales: IntegerWriter, scale: u8 },
    Timestamp { seconds: IntegerWriter, nanos: IntegerWriter, per_second: i64 },
    Struct(Vec<Column>),
    /// Lists or maps: of elements, or of keys and values.
    Collection { lengths: IntegerWriter, entries: Vec<Column> },
}

#[cold]
fn unlike() -> Error {
    Error::internal("a batch is unlike the schema of its ORC file")
}

#[cold]
fn failed(e: ArrowError) -> Error {
    Error::internal("values can't be picked for an ORC file").because(e)
}

impl Stripe {
    /// An empty one.
    pub(super) fn new(columns: &[OrcType], compressor: &Compressor) -> Stripe {
        let columns = columns.iter().map(|c| Column::new(c, compressor)).collect();
        Stripe { compressor: compressor.clone(), columns, rows: 0, group_rows: 0, groups: Vec::new() }
    }

    /// Adds rows: not more than are left of the group.
    ///
    /// # Errors
    /// `Unsupported` for timestamps that ORC can't hold.
    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        if self.group_rows == 0 {
            self.columns.iter_mut().for_each(Column::begin_group);
        }
        if rows.num_columns() != self.columns.len() {
            return Err(unlike());
        }
        let names = rows.schema_ref().fields().iter();
        for ((column, array), field) in self.columns.iter_mut().zip(rows.columns()).zip(names) {
            column.write(array).map_err(|e| e.with("column", field.name()))?;
        }
        self.rows += rows.num_rows() as u64;
        self.group_rows += rows.num_rows() as u64;
        if self.group_rows >= GROUP_ROWS {
            self.end_group();
        }
        Ok(())
    }

    /// Rows that still fit the group.
    pub(super) fn room(&self) -> usize {
        GROUP_ROWS.saturating_sub(self.group_rows) as usize
    }

    /// Whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes held, about.
    pub(super) fn held(&self) -> usize {
        self.columns.iter().map(Column::held).sum()
    }

    fn end_group(&mut self) {
        if self.group_rows > 0 {
            let mut root = ColumnStatistics::new(statistics_of(&Type::Struct([].into())));
            root.values = self.group_rows;
            self.groups.push(root);
            self.columns.iter_mut().for_each(Column::end_group);
            self.group_rows = 0;
        }
    }

    /// Ends it; it is empty then.
    pub(super) fn finish(&mut self) -> FinishedStripe {
        self.end_group();
        let groups = std::mem::take(&mut self.groups);
        let mut out = Parts { compressor: self.compressor.clone(), ..Parts::new(&self.compressor) };
        let positions = groups.iter().map(|_| Vec::new()).collect();
        out.column(0, EncodingOut::Direct, groups, positions);
        self.columns.iter_mut().for_each(|column| column.finish(&mut out));
        let Parts { mut indexes, data, encodings, statistics, .. } = out;
        indexes.extend(data);
        let rows = std::mem::take(&mut self.rows);
        FinishedStripe { rows, parts: StripeParts { streams: indexes, encodings }, statistics }
    }
}

/// What columns leave behind, in the order of their numbers.
struct Parts {
    compressor: Compressor,
    indexes: Vec<StreamOut>,
    data: Vec<StreamOut>,
    encodings: Vec<EncodingOut>,
    statistics: Vec<ColumnStatistics>,
}

impl Parts {
    fn new(compressor: &Compressor) -> Parts {
        let compressor = compressor.clone();
        Parts { compressor, indexes: vec![], data: vec![], encodings: vec![], statistics: vec![] }
    }

    /// What a column's groups hold, and where they begin.
    fn column(
        &mut self,
        number: usize,
        encoding: EncodingOut,
        groups: Vec<ColumnStatistics>,
        positions: Vec<Vec<u64>>,
    ) {
        let mut all = groups.iter().skip(1).fold(groups.first().cloned(), |all, group| {
            all.map(|mut all| {
                all.merge(group);
                all
            })
        });
        let entries: Vec<IndexEntry> = positions
            .into_iter()
            .zip(groups)
            .map(|(positions, statistics)| IndexEntry { positions, statistics })
            .collect();
        let bytes = self.compressor.message(&row_index(&entries));
        self.indexes.push(StreamOut { kind: None, column: number, bytes });
        self.encodings.push(encoding);
        self.statistics.extend(all.take());
    }
}

impl Column {
    fn new(column: &OrcType, compressor: &Compressor) -> Column {
        let children = || column.children.iter().map(|c| Column::new(c, compressor)).collect();
        let values = match &column.ty {
            Type::Struct(_) => Values::Struct(children()),
            Type::List(_) | Type::Map(_, _) => {
                Values::Collection { lengths: IntegerWriter::new(compressor, false), entries: children() }
            }
            Type::Primitive(p) => Values::leaf(p, compressor),
        };
        Column {
            number: column.number,
            present: BitWriter::new(compressor),
            has_null: false,
            values,
            group: ColumnStatistics::new(statistics_of(&column.ty)),
            positions: Vec::new(),
            groups: Vec::new(),
        }
    }

    fn write(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        match &nulls {
            None => self.present.ones(array.len()),
            Some(nulls) => {
                nulls.iter().for_each(|valid| self.present.push(valid));
                self.has_null = true;
                self.group.has_null = true;
            }
        }
        self.group.values += (array.len() - nulls.as_ref().map_or(0, NullBuffer::null_count)) as u64;
        self.values.write(array, nulls.as_ref(), &mut self.group)
    }

    fn children(&mut self) -> &mut [Column] {
        match &mut self.values {
            Values::Struct(children) | Values::Collection { entries: children, .. } => children,
            _ => &mut [],
        }
    }

    fn begin_group(&mut self) {
        let mut positions = Positions::default();
        self.present.position(&mut positions.present);
        self.values.position(&mut positions.values);
        self.positions.push(positions);
        self.children().iter_mut().for_each(Column::begin_group);
    }

    fn end_group(&mut self) {
        self.groups.push(self.group.take());
        self.children().iter_mut().for_each(Column::end_group);
    }

    fn held(&self) -> usize {
        self.present.held() + self.values.held()
    }

    fn finish(&mut self, out: &mut Parts) {
        let (streams, encoding, texts) = self.values.finish();
        let present = self.present.take();
        let with_present = std::mem::take(&mut self.has_null);
        let mut texts = texts.into_iter();
        let position = |positions: Positions| {
            let mut all = if with_present { positions.present } else { Vec::new() };
            all.extend(texts.next().unwrap_or(positions.values));
            all
        };
        let positions = std::mem::take(&mut self.positions).into_iter().map(position).collect();
        out.column(self.number, encoding, std::mem::take(&mut self.groups), positions);
        let present = with_present.then_some((StreamKind::Present, present));
        let stream = |(kind, bytes)| StreamOut { kind: Some(kind), column: self.number, bytes };
        out.data.extend(present.into_iter().chain(streams).map(stream));
        self.children().iter_mut().for_each(|child| child.finish(out));
    }
}

/// The values of an array that are not null.
fn each<T: ArrowPrimitiveType>(array: &dyn Array, nulls: Option<&NullBuffer>, mut f: impl FnMut(T::Native)) -> Result<()> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(unlike)?;
    match nulls {
        None => array.values().iter().for_each(|v| f(*v)),
        Some(nulls) => nulls.valid_indices().for_each(|row| f(array.value(row))),
    }
    Ok(())
}

/// The rows of an array that are not null.
fn valid_rows(length: usize, nulls: Option<&NullBuffer>) -> impl Iterator<Item = usize> {
    (0..length).filter(move |row| nulls.is_none_or(|nulls| nulls.is_valid(*row)))
}

impl Values {
    fn leaf(ty: &PrimitiveType, compressor: &Compressor) -> Values {
        use PrimitiveType as P;
        let integers = |signed| IntegerWriter::new(compressor, signed);
        let stream = || StreamWriter::new(compressor);
        match ty {
            P::Boolean => Values::Boolean(BitWriter::new(compressor)),
            P::Float => Values::Float(stream()),
            P::Double => Values::Double(stream()),
            P::String => Values::Text(Texts::new(compressor)),
            P::Decimal { scale, .. } => {
                Values::Decimal { digits: stream(), scales: integers(true), scale: *scale }
            }
            P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
                Values::Timestamp { seconds: integers(true), nanos: integers(false), per_second: per_second(ty) }
            }
            P::Int | P::Long | P::Date | P::Time => Values::Integer(integers(true)),
            _ => Values::Binary { bytes: stream(), lengths: integers(false) },
        }
    }

    fn write(&mut self, array: &ArrayRef, nulls: Option<&NullBuffer>, into: &mut ColumnStatistics) -> Result<()> {
        let statistics = &mut into.kind;
        match self {
            Values::Boolean(bits) => {
                let array: &BooleanArray = array.as_boolean_opt().ok_or_else(unlike)?;
                for row in valid_rows(array.len(), nulls) {
                    statistics.add_boolean(array.value(row));
                    bits.push(array.value(row));
                }
            }
            Values::Integer(integers) => {
                let mut put = |v| {
                    statistics.add_integer(v);
                    integers.push(v);
                };
                match array.data_type() {
                    DataType::Int32 => each::<Int32Type>(array, nulls, |v| put(i64::from(v)))?,
                    DataType::Date32 => each::<Date32Type>(array, nulls, |v| put(i64::from(v)))?,
                    DataType::Int64 => each::<Int64Type>(array, nulls, put)?,
                    _ => each::<Time64MicrosecondType>(array, nulls, put)?,
                }
            }
            Values::Float(stream) => each::<Float32Type>(array, nulls, |v| {
                statistics.add_double(f64::from(v));
                stream.extend(&v.to_le_bytes());
            })?,
            Values::Double(stream) => each::<Float64Type>(array, nulls, |v| {
                statistics.add_double(v);
                stream.extend(&v.to_le_bytes());
            })?,
            Values::Text(texts) => {
                let array = array.as_string_opt::<i32>().ok_or_else(unlike)?;
                for row in valid_rows(array.len(), nulls) {
                    statistics.add_bytes(array.value(row).as_bytes());
                    texts.push(array.value(row).as_bytes());
                }
            }
            Values::Binary { bytes, lengths } => {
                let mut put = |v: &[u8]| {
                    statistics.add_bytes(v);
                    bytes.extend(v);
                    lengths.push(v.len() as i64);
                };
                if let Some(fixed) = array.as_fixed_size_binary_opt() {
                    let fixed: &FixedSizeBinaryArray = fixed;
                    valid_rows(fixed.len(), nulls).for_each(|row| put(fixed.value(row)));
                } else {
                    let array = array.as_binary_opt::<i32>().ok_or_else(unlike)?;
                    valid_rows(array.len(), nulls).for_each(|row| put(array.value(row)));
                }
            }
            Values::Decimal { digits, scales, scale } => each::<Decimal128Type>(array, nulls, |v| {
                statistics.add_decimal(v);
                digits.varint((v << 1 ^ v >> 127) as u128);
                scales.push(i64::from(*scale));
            })?,
            Values::Timestamp { seconds, nanos, per_second } => {
                let mut beyond = None;
                let mut put = |v| match stored_timestamp(v, *per_second) {
                    Some((second, nano)) => {
                        statistics.add_integer(v);
                        seconds.push(second);
                        nanos.push(nano);
                    }
                    None => beyond = Some(v),
                };
                match array.data_type() {
                    DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                        each::<TimestampNanosecondType>(array, nulls, put)?;
                    }
                    _ => each::<TimestampMicrosecondType>(array, nulls, &mut put)?,
                }
                if beyond.is_some() {
                    return Err(Error::unsupported("ORC has no timestamps in the last second before 1970")
                        .hint("Set write.format.default to parquet or avro"));
                }
            }
            Values::Struct(members) => {
                let array = array.as_struct_opt().ok_or_else(unlike)?;
                let present = nulls.map(|nulls| BooleanArray::new(nulls.inner().clone(), None));
                for (member, column) in members.iter_mut().zip(array.columns()) {
                    match &present {
                        None => member.write(column)?,
                        Some(present) => member.write(&filter(column, present).map_err(failed)?)?,
                    }
                }
            }
            Values::Collection { lengths, entries } => {
                let (offsets, columns) = collection(array)?;
                for row in valid_rows(array.len(), nulls) {
                    let length = i64::from(offsets[row + 1]) - i64::from(offsets[row]);
                    statistics.add_entries(length.unsigned_abs());
                    lengths.push(length);
                }
                let picked = picked_entries(offsets, nulls)?;
                for (entry, column) in entries.iter_mut().zip(columns) {
                    match &picked {
                        Picked::Range(start, length) => entry.write(&column.slice(*start, *length))?,
                        Picked::Some(rows) => entry.write(&take(column, rows, None).map_err(failed)?)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the next value will be.
    fn position(&mut self, out: &mut Vec<u64>) {
        match self {
            Values::Boolean(bits) => bits.position(out),
            Values::Integer(integers) | Values::Collection { lengths: integers, .. } => integers.position(out),
            Values::Float(stream) | Values::Double(stream) => stream.position(out),
            // They know only in the end.
            Values::Text(texts) => texts.begin_group(),
            Values::Binary { bytes: stream, lengths: integers }
            | Values::Decimal { digits: stream, scales: integers, .. } => {
                stream.position(out);
                integers.position(out);
            }
            Values::Timestamp { seconds, nanos, .. } => {
                seconds.position(out);
                nanos.position(out);
            }
            Values::Struct(_) => {}
        }
    }

    fn held(&self) -> usize {
        match self {
            Values::Boolean(bits) => bits.held(),
            Values::Integer(integers) => integers.held(),
            Values::Float(stream) | Values::Double(stream) => stream.held(),
            Values::Text(texts) => texts.held(),
            Values::Binary { bytes: stream, lengths: integers }
            | Values::Decimal { digits: stream, scales: integers, .. } => stream.held() + integers.held(),
            Values::Timestamp { seconds, nanos, .. } => seconds.held() + nanos.held(),
            Values::Struct(members) => members.iter().map(Column::held).sum(),
            Values::Collection { lengths, entries } => {
                lengths.held() + entries.iter().map(Column::held).sum::<usize>()
            }
        }
    }

    /// The streams with the encoding, and where groups of text begin.
    fn finish(&mut self) -> (Vec<(StreamKind, Vec<u8>)>, EncodingOut, Vec<Vec<u64>>) {
        let (streams, encoding) = match self {
            Values::Boolean(bits) => (vec![(StreamKind::Data, bits.take())], EncodingOut::Direct),
            Values::Integer(integers) => (vec![(StreamKind::Data, integers.take())], EncodingOut::DirectV2),
            Values::Float(stream) | Values::Double(stream) => {
                (vec![(StreamKind::Data, stream.take())], EncodingOut::Direct)
            }
            Values::Text(texts) => {
                let done = texts.take();
                return (done.streams, done.encoding, done.positions);
            }
            Values::Binary { bytes, lengths } => {
                (vec![(StreamKind::Data, bytes.take()), (StreamKind::Length, lengths.take())], EncodingOut::DirectV2)
            }
            Values::Decimal { digits, scales, .. } => {
                (vec![(StreamKind::Data, digits.take()), (StreamKind::Secondary, scales.take())], EncodingOut::DirectV2)
            }
            Values::Timestamp { seconds, nanos, .. } => {
                (vec![(StreamKind::Data, seconds.take()), (StreamKind::Secondary, nanos.take())], EncodingOut::DirectV2)
            }
            Values::Struct(_) => (vec![], EncodingOut::Direct),
            Values::Collection { lengths, .. } => (vec![(StreamKind::Length, lengths.take())], EncodingOut::DirectV2),
        };
        (streams, encoding, Vec::new())
    }
}

/// Where the entries of each row are, and the columns of the entries.
fn collection(array: &ArrayRef) -> Result<(&[i32], Vec<&ArrayRef>)> {
    if let Some(lists) = array.as_list_opt::<i32>() {
        return Ok((lists.value_offsets(), vec![lists.values()]));
    }
    let maps = array.as_map_opt().ok_or_else(unlike)?;
    Ok((maps.value_offsets(), vec![maps.keys(), maps.values()]))
}

/// Entries of rows that are not null.
enum Picked {
    /// From one on, so many.
    Range(usize, usize),
    Some(UInt32Array),
}

fn picked_entries(offsets: &[i32], nulls: Option<&NullBuffer>) -> Result<Picked> {
    let rows = offsets.windows(2).enumerate();
    let is_hidden = |(row, w): (usize, &[i32])| nulls.is_some_and(|n| n.is_null(row)) && w[0] < w[1];
    let (first, last) = offsets.first().zip(offsets.last()).ok_or_else(unlike)?;
    if !rows.clone().any(is_hidden) {
        return Ok(Picked::Range(*first as usize, (last - first) as usize));
    }
    let shown = rows.filter(|(row, _)| nulls.is_none_or(|n| n.is_valid(*row)));
    Ok(Picked::Some(shown.flat_map(|(_, w)| w[0] as u32..w[1] as u32).collect::<Vec<_>>().into()))
}
