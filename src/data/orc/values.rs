//! Encodes the values of a stripe's column that are not null.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{filter, take};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::arrays::{each, each_bytes, failed, unlike, valid_rows};
use super::bloom::{Filter, FilteredColumns};
use super::parts::ColumnParts;
use super::strings::{ColumnStreams, TextEncoder};
use super::time::stored_timestamp;
use super::types::{ANOTHER_FORMAT, OrcType, per_second, statistics_of};
use crate::codec::orc::StreamKind;
use crate::codec::orc::encode::{
    BitWriter, ByteRunWriter, Compressor, EncodingOut, IntegerWriter, KindStatistics, OrcColumnStatistics, StreamOut,
    StreamWriter,
};
use crate::error::{Error, Result};
use crate::parallel::check_cancelled;
use crate::types::{PrimitiveType, Type};

/// The streams of a column's values by its type.
pub(crate) enum OrcValueEncoder {
    Boolean(BitWriter),
    Integer(IntegerWriter),
    /// Integers of one byte.
    Byte(ByteRunWriter),
    Float(StreamWriter),
    Double(StreamWriter),
    Text(TextEncoder),
    Binary {
        bytes: StreamWriter,
        lengths: IntegerWriter,
    },
    Decimal {
        digits: StreamWriter,
        scales: IntegerWriter,
        scale: u8,
    },
    Timestamp {
        seconds: IntegerWriter,
        nanos: IntegerWriter,
        per_second: i64,
    },
    Struct(Vec<OrcColumnEncoder>),
    /// Lists or maps: of elements, or of keys and values.
    Collection {
        lengths: IntegerWriter,
        entries: Vec<OrcColumnEncoder>,
    },
}

impl OrcValueEncoder {
    /// An encoder without values, for a type without children.
    pub(crate) fn leaf(ty: &PrimitiveType, compressor: &Compressor) -> OrcValueEncoder {
        use PrimitiveType as P;
        let integers = |signed| IntegerWriter::new(compressor, signed);
        let stream = || StreamWriter::new(compressor);
        match ty {
            P::Boolean => OrcValueEncoder::Boolean(BitWriter::new(compressor)),
            P::Float => OrcValueEncoder::Float(stream()),
            P::Double => OrcValueEncoder::Double(stream()),
            P::String => OrcValueEncoder::Text(TextEncoder::new(compressor)),
            P::Decimal { scale, .. } => {
                OrcValueEncoder::Decimal { digits: stream(), scales: integers(true), scale: *scale }
            }
            P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => OrcValueEncoder::Timestamp {
                seconds: integers(true),
                nanos: integers(false),
                per_second: per_second(ty),
            },
            P::Int | P::Long | P::Date | P::Time => OrcValueEncoder::Integer(integers(true)),
            _ => OrcValueEncoder::Binary { bytes: stream(), lengths: integers(false) },
        }
    }

    /// Adds the values of an array that are not null.
    ///
    /// # Errors
    /// `Unsupported` for timestamps that ORC can't hold.
    pub(crate) fn write(
        &mut self,
        array: &ArrayRef,
        nulls: Option<&NullBuffer>,
        into: &mut OrcColumnStatistics,
    ) -> Result<()> {
        let statistics = &mut into.kind;
        match self {
            OrcValueEncoder::Boolean(bits) => each_boolean(array, nulls, |v| {
                statistics.add_boolean(v);
                bits.push(v);
            }),
            OrcValueEncoder::Integer(integers) => each_integer(array, nulls, |v| {
                statistics.add_integer(v);
                integers.push(v);
            }),
            OrcValueEncoder::Byte(bytes) => each::<Int32Type>(array, nulls, |v| {
                statistics.add_integer(i64::from(v));
                bytes.push(v as u8);
            }),
            OrcValueEncoder::Float(stream) => each::<Float32Type>(array, nulls, |v| {
                statistics.add_double(f64::from(v));
                stream.extend(&v.to_le_bytes());
            }),
            OrcValueEncoder::Double(stream) => each::<Float64Type>(array, nulls, |v| {
                statistics.add_double(v);
                stream.extend(&v.to_le_bytes());
            }),
            OrcValueEncoder::Text(texts) => {
                each_bytes(array, nulls, |v| {
                    statistics.add_bytes(v);
                    texts.push(v);
                })?;
                texts.checked()
            }
            OrcValueEncoder::Binary { bytes, lengths } => each_bytes(array, nulls, |v| {
                statistics.add_bytes(v);
                bytes.extend(v);
                lengths.push(v.len() as i64);
            }),
            OrcValueEncoder::Decimal { digits, scales, scale } => each::<Decimal128Type>(array, nulls, |v| {
                statistics.add_decimal(v);
                digits.varint(((v << 1) ^ (v >> 127)) as u128);
                scales.push(i64::from(*scale));
            }),
            OrcValueEncoder::Timestamp { seconds, nanos, per_second } => {
                let put = |v, (second, nano)| {
                    statistics.add_integer(v);
                    seconds.push(second);
                    nanos.push(nano);
                };
                write_timestamps(array, nulls, *per_second, put)
            }
            OrcValueEncoder::Struct(members) => write_struct(members, array, nulls),
            OrcValueEncoder::Collection { lengths, entries } => {
                write_collection(lengths, entries, array, nulls, statistics)
            }
        }
    }

    /// The position of the next value, which begins a group of rows.
    pub(crate) fn position(&mut self, out: &mut Vec<u64>) {
        match self {
            OrcValueEncoder::Boolean(bits) => bits.position(out),
            OrcValueEncoder::Byte(bytes) => bytes.position(out),
            OrcValueEncoder::Integer(integers) | OrcValueEncoder::Collection { lengths: integers, .. } => {
                integers.position(out)
            }
            OrcValueEncoder::Float(stream) | OrcValueEncoder::Double(stream) => stream.position(out),
            // Strings know their positions only in the end.
            OrcValueEncoder::Text(texts) => texts.begin_group(),
            OrcValueEncoder::Binary { bytes: stream, lengths: integers }
            | OrcValueEncoder::Decimal { digits: stream, scales: integers, .. } => {
                stream.position(out);
                integers.position(out);
            }
            OrcValueEncoder::Timestamp { seconds, nanos, .. } => {
                seconds.position(out);
                nanos.position(out);
            }
            OrcValueEncoder::Struct(_) => {}
        }
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        match self {
            OrcValueEncoder::Boolean(bits) => bits.held(),
            OrcValueEncoder::Byte(bytes) => bytes.held(),
            OrcValueEncoder::Integer(integers) => integers.held(),
            OrcValueEncoder::Float(stream) | OrcValueEncoder::Double(stream) => stream.held(),
            OrcValueEncoder::Text(texts) => texts.held(),
            OrcValueEncoder::Binary { bytes: stream, lengths: integers }
            | OrcValueEncoder::Decimal { digits: stream, scales: integers, .. } => stream.held() + integers.held(),
            OrcValueEncoder::Timestamp { seconds, nanos, .. } => seconds.held() + nanos.held(),
            OrcValueEncoder::Struct(members) => members.iter().map(OrcColumnEncoder::held).sum(),
            OrcValueEncoder::Collection { lengths, entries } => {
                lengths.held() + entries.iter().map(OrcColumnEncoder::held).sum::<usize>()
            }
        }
    }

    /// Returns the streams and leaves no values.
    pub(crate) fn finish(&mut self) -> Result<ColumnStreams> {
        use StreamKind as S;
        let (streams, encoding) = match self {
            OrcValueEncoder::Boolean(bits) => (vec![(S::Data, bits.take())], EncodingOut::Direct),
            OrcValueEncoder::Byte(bytes) => (vec![(S::Data, bytes.take())], EncodingOut::Direct),
            OrcValueEncoder::Integer(integers) => (vec![(S::Data, integers.take())], EncodingOut::DirectV2),
            OrcValueEncoder::Float(stream) | OrcValueEncoder::Double(stream) => {
                (vec![(S::Data, stream.take())], EncodingOut::Direct)
            }
            OrcValueEncoder::Text(texts) => return texts.take(),
            OrcValueEncoder::Binary { bytes, lengths } => {
                (vec![(S::Data, bytes.take()), (S::Length, lengths.take())], EncodingOut::DirectV2)
            }
            OrcValueEncoder::Decimal { digits, scales, .. } => {
                (vec![(S::Data, digits.take()), (S::Secondary, scales.take())], EncodingOut::DirectV2)
            }
            OrcValueEncoder::Timestamp { seconds, nanos, .. } => {
                (vec![(S::Data, seconds.take()), (S::Secondary, nanos.take())], EncodingOut::DirectV2)
            }
            OrcValueEncoder::Struct(_) => (vec![], EncodingOut::Direct),
            OrcValueEncoder::Collection { lengths, .. } => (vec![(S::Length, lengths.take())], EncodingOut::DirectV2),
        };
        Ok(ColumnStreams { streams, encoding, positions: Vec::new() })
    }
}

#[cold]
fn last_second() -> Error {
    Error::unsupported("ORC has no timestamps in the last second before 1970").hint(ANOTHER_FORMAT)
}

fn each_boolean(array: &ArrayRef, nulls: Option<&NullBuffer>, mut put: impl FnMut(bool)) -> Result<()> {
    let array: &BooleanArray = array.as_boolean_opt().ok_or_else(unlike)?;
    valid_rows(array.len(), nulls).for_each(|row| put(array.value(row)));
    Ok(())
}

/// The values of types that are stored as integers.
fn each_integer(array: &ArrayRef, nulls: Option<&NullBuffer>, mut put: impl FnMut(i64)) -> Result<()> {
    match array.data_type() {
        DataType::Int32 => each::<Int32Type>(array, nulls, |v| put(i64::from(v))),
        DataType::Date32 => each::<Date32Type>(array, nulls, |v| put(i64::from(v))),
        DataType::Int64 => each::<Int64Type>(array, nulls, put),
        _ => each::<Time64MicrosecondType>(array, nulls, put),
    }
}

/// Puts the seconds and nanoseconds of each timestamp, in ORC's stored form.
fn write_timestamps(
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    per_second: i64,
    mut put: impl FnMut(i64, (i64, i64)),
) -> Result<()> {
    let mut beyond = false;
    let put = |v| match stored_timestamp(v, per_second) {
        Some(stored) => put(v, stored),
        None => beyond = true,
    };
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => each::<TimestampNanosecondType>(array, nulls, put)?,
        _ => each::<TimestampMicrosecondType>(array, nulls, put)?,
    }
    if beyond { Err(last_second()) } else { Ok(()) }
}

/// Members have no values for rows in which their struct is null.
fn write_struct(members: &mut [OrcColumnEncoder], array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<()> {
    let array = array.as_struct_opt().ok_or_else(unlike)?;
    let present = nulls.map(|nulls| BooleanArray::new(nulls.inner().clone(), None));
    for (member, column) in members.iter_mut().zip(array.columns()) {
        match &present {
            None => member.write(column)?,
            Some(present) => member.write(&filter(column, present).map_err(failed)?)?,
        }
    }
    Ok(())
}

fn write_collection(
    lengths: &mut IntegerWriter,
    entries: &mut [OrcColumnEncoder],
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    statistics: &mut KindStatistics,
) -> Result<()> {
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
    Ok(())
}

/// The offsets of the entries of each row, and the columns of the entries.
fn collection(array: &ArrayRef) -> Result<(&[i32], Vec<&ArrayRef>)> {
    if let Some(lists) = array.as_list_opt::<i32>() {
        return Ok((lists.value_offsets(), vec![lists.values()]));
    }
    let maps = array.as_map_opt().ok_or_else(unlike)?;
    Ok((maps.value_offsets(), vec![maps.keys(), maps.values()]))
}

/// Entries of rows that are not null.
enum Picked {
    /// A range: its start and its length.
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

/// A column of a stripe.
pub(crate) struct OrcColumnEncoder {
    number: usize,
    present: BitWriter,
    filter: Option<Filter>,
    /// Whether there is a null in the stripe.
    has_null: bool,
    values: OrcValueEncoder,
    group: OrcColumnStatistics,
    /// The positions where groups of rows begin, and the statistics of finished groups.
    positions: Vec<GroupPositions>,
    groups: Vec<OrcColumnStatistics>,
}

#[derive(Default)]
struct GroupPositions {
    present: Vec<u64>,
    values: Vec<u64>,
}

impl OrcColumnEncoder {
    pub(super) fn new(column: &OrcType, compressor: &Compressor, filters: &FilteredColumns) -> OrcColumnEncoder {
        let children = || column.children.iter().map(|c| OrcColumnEncoder::new(c, compressor, filters)).collect();
        let values = match &column.ty {
            Type::Struct(_) => OrcValueEncoder::Struct(children()),
            Type::List(_) | Type::Map(_, _) => {
                OrcValueEncoder::Collection { lengths: IntegerWriter::new(compressor, false), entries: children() }
            }
            Type::Primitive(_) if column.bytes => OrcValueEncoder::Byte(ByteRunWriter::new(compressor)),
            Type::Primitive(p) => OrcValueEncoder::leaf(p, compressor),
        };
        OrcColumnEncoder {
            number: column.number,
            present: BitWriter::new(compressor),
            filter: Filter::new(column, filters),
            has_null: false,
            values,
            group: OrcColumnStatistics::new(statistics_of(&column.ty)),
            positions: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// The errors of `Stripe::write`.
    pub(crate) fn write(&mut self, array: &ArrayRef) -> Result<()> {
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
        if let Some(filter) = &mut self.filter {
            filter.add(array, nulls.as_ref())?;
        }
        self.values.write(array, nulls.as_ref(), &mut self.group)
    }

    fn children(&mut self) -> &mut [OrcColumnEncoder] {
        match &mut self.values {
            OrcValueEncoder::Struct(children) | OrcValueEncoder::Collection { entries: children, .. } => children,
            _ => &mut [],
        }
    }

    pub(super) fn begin_group(&mut self) {
        let mut positions = GroupPositions::default();
        self.present.position(&mut positions.present);
        self.values.position(&mut positions.values);
        self.positions.push(positions);
        self.children().iter_mut().for_each(OrcColumnEncoder::begin_group);
    }

    pub(super) fn end_group(&mut self) {
        self.groups.push(self.group.take());
        self.filter.iter_mut().for_each(Filter::end_group);
        self.children().iter_mut().for_each(OrcColumnEncoder::end_group);
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.present.held() + self.values.held() + self.filter.as_ref().map_or(0, Filter::held)
    }

    pub(super) fn finish(&mut self, out: &mut ColumnParts) -> Result<()> {
        check_cancelled()?;
        let ColumnStreams { streams, encoding, positions: texts } = self.values.finish()?;
        let present = self.present.take();
        let with_present = std::mem::take(&mut self.has_null);
        let mut texts = texts.into_iter();
        let position = |positions: GroupPositions| {
            let mut all = if with_present { positions.present } else { Vec::new() };
            all.extend(texts.next().unwrap_or(positions.values));
            all
        };
        let positions = std::mem::take(&mut self.positions).into_iter().map(position).collect();
        out.column(self.number, encoding, std::mem::take(&mut self.groups), positions);
        if let Some(filter) = &mut self.filter {
            out.filter(self.number, &filter.finish());
        }
        let present = with_present.then_some((StreamKind::Present, present));
        let stream = |(kind, bytes)| StreamOut { kind: Some(kind), column: self.number, bytes };
        out.data.extend(present.into_iter().chain(streams).map(stream));
        self.children().iter_mut().try_for_each(|child| child.finish(out))
    }
}
