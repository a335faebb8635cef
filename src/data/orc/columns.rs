//! Decodes the columns of a stripe.
//!
//! A column has a stream of bits that says which rows have values. The stream is missing if all rows have values.
//! Columns in a struct have no bits and no values for rows in which the struct is null.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Decimal128Array, ListArray, MapArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Date32Type, FieldRef, Fields, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::error::ArrowError;

use super::file::StripeStreams;
use super::schema::OrcColumn;
use super::time::Zone;
use crate::codec::orc::{BitReader, ByteRuns, IntegerEncoding, Integers, OrcKind, Stream, StreamKind};
use crate::error::{Error, Result};

/// Entries that the lists or maps of a batch, or a dictionary, may have in a stripe of any size.
const ENTRIES_SLACK: u64 = 1 << 24;

/// A column that is being decoded.
pub(crate) struct OrcColumnDecoder {
    present: Option<BitReader>,
    values: OrcValueDecoder,
}

enum OrcValueDecoder {
    Boolean(BitReader),
    Byte(ByteRuns),
    Integer(Integers, DataType),
    Float(Stream),
    Double(Stream),
    /// Strings or byte strings, by their lengths.
    Direct {
        lengths: Integers,
        bytes: Stream,
        is_text: bool,
    },
    Dictionary {
        entries: TextDictionary,
        indexes: Integers,
    },
    Decimal {
        digits: Stream,
        scales: Integers,
        precision: u8,
        scale: i8,
    },
    /// Decimals of up to 18 digits, all of the column's scale.
    ShortDecimal {
        digits: Integers,
        precision: u8,
        scale: i8,
    },
    Timestamp {
        seconds: Integers,
        nanos: Integers,
        zone: Zone,
        base: i64,
        rounded: i64,
        to: DataType,
    },
    Struct {
        fields: Fields,
        members: Vec<OrcColumnDecoder>,
    },
    List {
        field: FieldRef,
        lengths: Integers,
        element: Box<OrcColumnDecoder>,
        most: usize,
    },
    Map {
        entries: FieldRef,
        fields: Fields,
        lengths: Integers,
        members: Box<(OrcColumnDecoder, OrcColumnDecoder)>,
        most: usize,
    },
}

impl OrcColumnDecoder {
    /// Prepares the decoding of a column's streams, which are taken out of `streams`.
    ///
    /// # Errors
    /// `CorruptTable` if the stripe's encodings do not fit the column, `Unsupported` for unions.
    pub(crate) fn new(column: &OrcColumn, streams: &mut StripeStreams) -> Result<OrcColumnDecoder> {
        let present = streams.take(column.number, StreamKind::Present).map(BitReader::new);
        let values = values(column, streams).map_err(|e| e.with("column", column.field.name()))?;
        Ok(OrcColumnDecoder { present, values })
    }

    /// The next rows. They have values only where `parent` says that the surrounding value is not null.
    ///
    /// # Errors
    /// `CorruptTable` if there are fewer rows, or a value does not have the column's type.
    pub(crate) fn read(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let valid = self.valid(rows, parent)?;
        let count = rows - valid.as_ref().map_or(0, NullBuffer::null_count);
        self.values.read(rows, count, valid)
    }

    /// Which rows have values; `None` if all.
    fn valid(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
        let own = |present: &mut BitReader, count| {
            Ok::<_, Error>(BooleanBuffer::new(Buffer::from_vec(present.read(count)?), 0, count))
        };
        let valid = match (&mut self.present, parent) {
            (None, parent) => parent.cloned(),
            (Some(present), None) => Some(NullBuffer::new(own(present, rows)?)),
            (Some(present), Some(parent)) => {
                let mut own = own(present, rows - parent.null_count())?.into_iter().collect::<Vec<_>>().into_iter();
                let both = BooleanBuffer::collect_bool(rows, |i| parent.is_valid(i) && own.next().unwrap_or(false));
                Some(NullBuffer::new(both))
            }
        };
        Ok(valid.filter(|v| v.null_count() > 0))
    }
}

fn values(column: &OrcColumn, streams: &mut StripeStreams) -> Result<OrcValueDecoder> {
    let number = column.number;
    let encoding = streams.encoding(number)?;
    let is_text = matches!(column.kind, OrcKind::String | OrcKind::Varchar | OrcKind::Char);
    if encoding.is_dictionary && !is_text {
        return Err(Error::corrupt("the ORC file has a dictionary for a column that is not a string"));
    }
    if matches!(column.kind, OrcKind::Struct | OrcKind::List | OrcKind::Map) {
        return nested(column, streams);
    }
    let integers = |stream, signed| Integers::new(stream, IntegerEncoding { signed, v2: encoding.v2 });
    let data_type = column.field.data_type();
    let data = streams.take_or_empty(number, StreamKind::Data);
    Ok(match (column.kind, data_type) {
        (OrcKind::Boolean, _) => OrcValueDecoder::Boolean(BitReader::new(data)),
        (OrcKind::Byte, _) => OrcValueDecoder::Byte(ByteRuns::new(data)),
        (OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Date, _) => {
            OrcValueDecoder::Integer(integers(data, true), data_type.clone())
        }
        (OrcKind::Float, _) => OrcValueDecoder::Float(data),
        (OrcKind::Double, _) => OrcValueDecoder::Double(data),
        (OrcKind::String | OrcKind::Varchar | OrcKind::Char | OrcKind::Binary, _) => {
            let lengths = integers(streams.take_or_empty(number, StreamKind::Length), false);
            if !encoding.is_dictionary {
                return Ok(OrcValueDecoder::Direct { lengths, bytes: data, is_text });
            }
            let bytes = streams.take_or_empty(number, StreamKind::DictionaryData);
            if encoding.dictionary_size > most_entries(streams) {
                return Err(Error::corrupt("a dictionary in the ORC file has more strings than the file can hold"));
            }
            let entries = TextDictionary::read(lengths, bytes, encoding.dictionary_size)?;
            OrcValueDecoder::Dictionary { entries, indexes: integers(data, false) }
        }
        (OrcKind::Decimal, DataType::Decimal128(precision, scale)) => {
            let (precision, scale) = (*precision, *scale);
            if streams.has_short_decimals() && precision <= 18 {
                let digits = Integers::new(data, IntegerEncoding { signed: true, v2: true });
                return Ok(OrcValueDecoder::ShortDecimal { digits, precision, scale });
            }
            let scales = integers(streams.take_or_empty(number, StreamKind::Secondary), true);
            OrcValueDecoder::Decimal { digits: data, scales, precision, scale }
        }
        (OrcKind::Timestamp | OrcKind::TimestampInstant, _) => {
            let nanos = integers(streams.take_or_empty(number, StreamKind::Secondary), false);
            let zone = if column.kind == OrcKind::Timestamp { streams.zone()? } else { Zone::Utc };
            let seconds = integers(data, true);
            let rounded = streams.rounded_nanos();
            OrcValueDecoder::Timestamp { seconds, nanos, zone, base: zone.base()?, rounded, to: data_type.clone() }
        }
        _ => return Err(Error::unsupported(format!("ORC columns of kind {:?} cannot be read", column.kind))),
    })
}

/// The number of entries that a stripe can have in one place. Runs of entries take hardly any bytes, so nothing else
/// limits them.
fn most_entries(streams: &StripeStreams) -> usize {
    let most = streams.bytes().saturating_mul(64).max(ENTRIES_SLACK);
    usize::try_from(most).unwrap_or(usize::MAX).min(i32::MAX as usize)
}

fn nested(column: &OrcColumn, streams: &mut StripeStreams) -> Result<OrcValueDecoder> {
    let v2 = streams.encoding(column.number)?.v2;
    let lengths = streams.take_or_empty(column.number, StreamKind::Length);
    let lengths = Integers::new(lengths, IntegerEncoding { signed: false, v2 });
    let most = most_entries(streams);
    Ok(match (column.field.data_type(), column.children.as_slice()) {
        (DataType::Struct(fields), children) => {
            let members = children.iter().map(|c| OrcColumnDecoder::new(c, streams)).collect::<Result<_>>()?;
            OrcValueDecoder::Struct { fields: fields.clone(), members }
        }
        (DataType::List(field), [element]) => OrcValueDecoder::List {
            field: field.clone(),
            lengths,
            element: Box::new(OrcColumnDecoder::new(element, streams)?),
            most,
        },
        (DataType::Map(entries, _), [key, value]) => {
            let DataType::Struct(fields) = entries.data_type() else { return Err(unlike()) };
            let members = Box::new((OrcColumnDecoder::new(key, streams)?, OrcColumnDecoder::new(value, streams)?));
            OrcValueDecoder::Map { entries: entries.clone(), fields: fields.clone(), lengths, members, most }
        }
        _ => return Err(unlike()),
    })
}

#[cold]
fn unlike() -> Error {
    Error::internal("an ORC column is unlike its Arrow type")
}

#[cold]
fn bad(e: ArrowError) -> Error {
    Error::corrupt("the ORC file has values that its types do not allow").because(e)
}

impl OrcValueDecoder {
    /// Reads the next `rows` rows. Only `count` of them have values.
    fn read(&mut self, rows: usize, count: usize, valid: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(match self {
            OrcValueDecoder::Boolean(bits) => {
                let values = BooleanBuffer::new(Buffer::from_vec(bits.read(count)?), 0, count);
                let values = match &valid {
                    None => values,
                    Some(valid) => spread(values.iter(), valid).into_iter().collect(),
                };
                Arc::new(BooleanArray::new(values, valid))
            }
            OrcValueDecoder::Byte(runs) => {
                let mut bytes = Vec::new();
                runs.append_to(&mut bytes, count)?;
                primitive::<Int8Type>(bytes.into_iter().map(|b| b as i8).collect(), valid)?
            }
            OrcValueDecoder::Integer(numbers, to) => integer_array(numbers.read(count)?, to, valid)?,
            OrcValueDecoder::Float(stream) => {
                let bytes = fixed(stream, count, 4)?;
                let (values, _) = bytes.as_chunks::<4>();
                primitive::<Float32Type>(values.iter().map(|b| f32::from_le_bytes(*b)).collect(), valid)?
            }
            OrcValueDecoder::Double(stream) => {
                let bytes = fixed(stream, count, 8)?;
                let (values, _) = bytes.as_chunks::<8>();
                primitive::<Float64Type>(values.iter().map(|b| f64::from_le_bytes(*b)).collect(), valid)?
            }
            OrcValueDecoder::Direct { lengths, bytes, is_text } => {
                let lengths = lengths.read(count)?;
                let offsets = offsets(&lengths, valid.as_ref(), i32::MAX as usize)?;
                let mut content = Vec::new();
                bytes.append_to(&mut content, last(&offsets))?;
                texts(offsets, content, valid, *is_text)?
            }
            OrcValueDecoder::Dictionary { entries, indexes } => entries.look_up(&indexes.read(count)?, valid)?,
            OrcValueDecoder::Decimal { digits, scales, precision, scale } => {
                let scales = scales.read(count)?;
                let value = |stored| rescale(digits.big_integer()?, stored, *scale);
                decimals(scales.into_iter().map(value).collect::<Result<_>>()?, *precision, *scale, valid)?
            }
            OrcValueDecoder::ShortDecimal { digits, precision, scale } => {
                decimals(digits.read(count)?.into_iter().map(i128::from).collect(), *precision, *scale, valid)?
            }
            OrcValueDecoder::Timestamp { seconds, nanos, zone, base, rounded, to } => {
                let (seconds, nanos) = (seconds.read(count)?, nanos.read(count)?);
                let per_second = match to {
                    DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
                    _ => 1_000_000,
                };
                let pairs = seconds.into_iter().zip(nanos);
                let value = |pair| zone.timestamp(*base, pair, *rounded, per_second);
                let values = pairs.map(value).collect::<Result<Vec<_>>>()?;
                timestamps(values, to, valid)?
            }
            OrcValueDecoder::Struct { .. } | OrcValueDecoder::List { .. } | OrcValueDecoder::Map { .. } => {
                self.read_nested(rows, count, valid)?
            }
        })
    }

    fn read_nested(&mut self, rows: usize, count: usize, valid: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(match self {
            OrcValueDecoder::Struct { fields, members } => {
                let arrays = members.iter_mut().map(|m| m.read(rows, valid.as_ref())).collect::<Result<_>>()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, valid, rows).map_err(bad)?)
            }
            OrcValueDecoder::List { field, lengths, element, most } => {
                let offsets = offsets(&lengths.read(count)?, valid.as_ref(), *most)?;
                let elements = element.read(last(&offsets), None)?;
                Arc::new(ListArray::try_new(field.clone(), offsets, elements, valid).map_err(bad)?)
            }
            OrcValueDecoder::Map { entries, fields, lengths, members, most } => {
                let offsets = offsets(&lengths.read(count)?, valid.as_ref(), *most)?;
                let length = last(&offsets);
                let arrays = vec![members.0.read(length, None)?, members.1.read(length, None)?];
                let pairs = StructArray::try_new_with_length(fields.clone(), arrays, None, length).map_err(bad)?;
                Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, valid, false).map_err(bad)?)
            }
            _ => return Err(unlike()),
        })
    }
}

/// Values at the rows that have one, the default at others.
fn spread<T: Copy + Default>(values: impl Iterator<Item = T>, valid: &NullBuffer) -> Vec<T> {
    let mut out = vec![T::default(); valid.len()];
    for (row, value) in valid.valid_indices().zip(values) {
        if let Some(place) = out.get_mut(row) {
            *place = value;
        }
    }
    out
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, valid: Option<NullBuffer>) -> Result<ArrayRef> {
    let values = match &valid {
        None => values,
        Some(valid) => spread(values.into_iter(), valid),
    };
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), valid).map_err(bad)?))
}

fn integer_array(values: Vec<i64>, to: &DataType, valid: Option<NullBuffer>) -> Result<ArrayRef> {
    fn narrow<T: ArrowPrimitiveType>(values: Vec<i64>, valid: Option<NullBuffer>) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i64>,
    {
        let fits =
            |v| T::Native::try_from(v).map_err(|_| bad(ArrowError::CastError(format!("{v} as {}", T::DATA_TYPE))));
        primitive::<T>(values.into_iter().map(fits).collect::<Result<_>>()?, valid)
    }
    match to {
        DataType::Int16 => narrow::<Int16Type>(values, valid),
        DataType::Int32 => narrow::<Int32Type>(values, valid),
        DataType::Date32 => narrow::<Date32Type>(values, valid),
        DataType::Int64 => primitive::<Int64Type>(values, valid),
        _ => Err(unlike()),
    }
}

fn timestamps(values: Vec<i64>, to: &DataType, valid: Option<NullBuffer>) -> Result<ArrayRef> {
    let values = match &valid {
        None => values,
        Some(valid) => spread(values.into_iter(), valid),
    };
    let values = ScalarBuffer::from(values);
    Ok(match to {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => Arc::new(
            PrimitiveArray::<TimestampNanosecondType>::try_new(values, valid)
                .map_err(bad)?
                .with_timezone_opt(zone.clone()),
        ),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new(
            PrimitiveArray::<TimestampMicrosecondType>::try_new(values, valid)
                .map_err(bad)?
                .with_timezone_opt(zone.clone()),
        ),
        _ => return Err(unlike()),
    })
}

/// The same value with the column's scale. Further digits are cut off.
fn rescale(value: i128, stored: i64, scale: i8) -> Result<i128> {
    let missing = i64::from(scale).checked_sub(stored).and_then(|n| i32::try_from(n).ok());
    let rescaled = missing.and_then(|missing| match 10i128.checked_pow(missing.unsigned_abs()) {
        Some(power) if missing >= 0 => value.checked_mul(power),
        Some(power) => Some(value / power),
        None => (value == 0 || missing < 0).then_some(0),
    });
    rescaled.ok_or_else(|| Error::corrupt("a decimal in the ORC file has more digits than its type"))
}

fn decimals(values: Vec<i128>, precision: u8, scale: i8, valid: Option<NullBuffer>) -> Result<ArrayRef> {
    let values = match &valid {
        None => values,
        Some(valid) => spread(values.into_iter(), valid),
    };
    let array = Decimal128Array::try_new(ScalarBuffer::from(values), valid).map_err(bad)?;
    let array = array.with_precision_and_scale(precision, scale).map_err(bad)?;
    array.validate_decimal_precision(precision).map_err(bad)?;
    Ok(Arc::new(array))
}

fn fixed(stream: &mut Stream, count: usize, width: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.append_to(&mut bytes, count.saturating_mul(width))?;
    Ok(bytes)
}

/// The places where the values of each row begin and end. Rows without a value have an empty range.
fn offsets(lengths: &[i64], valid: Option<&NullBuffer>, most: usize) -> Result<OffsetBuffer<i32>> {
    let rows = valid.map_or(lengths.len(), NullBuffer::len);
    let mut out = Vec::with_capacity(rows + 1);
    let (mut end, mut lengths) = (0usize, lengths.iter());
    out.push(0);
    for row in 0..rows {
        if valid.is_none_or(|v| v.is_valid(row)) {
            let length = lengths.next().and_then(|n| usize::try_from(*n).ok());
            end = length
                .and_then(|n| end.checked_add(n))
                .filter(|end| *end <= most)
                .ok_or_else(|| Error::corrupt("strings or lists in the ORC file are longer than the file can hold"))?;
        }
        out.push(end as i32);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(out)))
}

fn last(offsets: &OffsetBuffer<i32>) -> usize {
    offsets.last().map_or(0, |end| *end as usize)
}

fn texts(offsets: OffsetBuffer<i32>, content: Vec<u8>, valid: Option<NullBuffer>, is_text: bool) -> Result<ArrayRef> {
    let content = Buffer::from_vec(content);
    Ok(match is_text {
        true => Arc::new(StringArray::try_new(offsets, content, valid).map_err(bad)?),
        false => Arc::new(BinaryArray::try_new(offsets, content, valid).map_err(bad)?),
    })
}

/// The strings of a column in a stripe.
struct TextDictionary {
    offsets: OffsetBuffer<i32>,
    content: Vec<u8>,
}

impl TextDictionary {
    fn read(mut lengths: Integers, mut bytes: Stream, size: usize) -> Result<TextDictionary> {
        let offsets = offsets(&lengths.read(size)?, None, i32::MAX as usize)?;
        let mut content = Vec::new();
        bytes.append_to(&mut content, last(&offsets))?;
        Ok(TextDictionary { offsets, content })
    }

    fn look_up(&self, indexes: &[i64], valid: Option<NullBuffer>) -> Result<ArrayRef> {
        let entry = |index: i64| {
            let index = usize::try_from(index).ok()?;
            let (start, end) = (*self.offsets.get(index)?, *self.offsets.get(index.checked_add(1)?)?);
            self.content.get(start as usize..end as usize)
        };
        let mut content = Vec::new();
        let mut lengths = Vec::with_capacity(indexes.len());
        for &index in indexes {
            let text = entry(index)
                .ok_or_else(|| Error::corrupt("a string in the ORC file is not in the column's dictionary"))?;
            if content.len() + text.len() > i32::MAX as usize {
                return Err(Error::corrupt("strings in the ORC file are longer than a batch can hold"));
            }
            content.extend_from_slice(text);
            lengths.push(text.len() as i64);
        }
        texts(offsets(&lengths, valid.as_ref(), i32::MAX as usize)?, content, valid, true)
    }
}
