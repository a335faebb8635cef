//! Gathers values of flat Parquet columns into one Arrow array.
//!
//! [`GatheredValues`] takes the wanted values of a page, as spans. It never sees nulls. They get their places when the
//! array is made. Values of a dictionary stay indices until then.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, BooleanBufferBuilder, NullBufferBuilder, StringArray, UInt32Array,
    make_array, new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::ColumnDescriptor;

use crate::codec::parquet::rle::PackedRuns;
use crate::codec::parquet::thrift::Flaw;
use crate::error::Error;

/// The reason why no array can be made.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The pages contradict themselves.
    Damaged(Error),
    /// Its strings have more bytes than their offsets can count.
    TooLarge,
    /// A page is encoded in a way that is not read here.
    Foreign,
}

pub(crate) type PageResult<T> = Result<T, Stop>;

impl From<Flaw> for Stop {
    fn from(flaw: Flaw) -> Stop {
        Stop::Damaged(Error::corrupt(format!("a page of the Parquet file is damaged: {flaw}")))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Damaged(error)
    }
}

impl From<ArrowError> for Stop {
    fn from(error: ArrowError) -> Stop {
        match error {
            ArrowError::OffsetOverflowError(_) => Stop::TooLarge,
            error => Stop::Damaged(Error::corrupt("the Parquet data cannot be decoded").because(error)),
        }
    }
}

const EARLY: Flaw = "its values end early";

/// Values of a page: the number of the first, and the count.
pub(crate) type Span = (usize, usize);

/// How a column's values become Arrow values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlatKind {
    pub data_type: DataType,
    layout: ValueLayout,
}

/// The layout of plain values in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueLayout {
    /// Numbers of this width in bytes, as in Arrow.
    Same(usize),
    /// Little-endian numbers of 4 bytes, decimals of 16 in Arrow.
    Int32Decimal,
    /// Little-endian numbers of 8 bytes, decimals of 16 in Arrow.
    Int64Decimal,
    /// Big-endian numbers of this width in bytes; in Arrow they are decimals of 16 bytes.
    BigEndian(usize),
    Bits,
    /// Byte strings, each after its length.
    Bytes,
}

impl FlatKind {
    /// The kind in which the column is read; `None` if it can't be read here.
    pub(crate) fn of(column: &ColumnDescriptor, data_type: &DataType) -> Option<FlatKind> {
        use DataType as D;
        use PhysicalType as P;
        let length = usize::try_from(column.type_length()).unwrap_or(0);
        let layout = match (column.physical_type(), data_type) {
            (P::INT32, D::Int32 | D::UInt32 | D::Date32 | D::Time32(_)) | (P::FLOAT, D::Float32) => {
                ValueLayout::Same(4)
            }
            (P::INT64, D::Int64 | D::UInt64 | D::Time64(_) | D::Timestamp(..)) | (P::DOUBLE, D::Float64) => {
                ValueLayout::Same(8)
            }
            (P::INT32, D::Decimal128(..)) => ValueLayout::Int32Decimal,
            (P::INT64, D::Decimal128(..)) => ValueLayout::Int64Decimal,
            (P::FIXED_LEN_BYTE_ARRAY, D::Decimal128(..)) if (1..=16).contains(&length) => {
                ValueLayout::BigEndian(length)
            }
            (P::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(n)) if length > 0 && *n == column.type_length() => {
                ValueLayout::Same(length)
            }
            (P::BOOLEAN, D::Boolean) => ValueLayout::Bits,
            (P::BYTE_ARRAY, D::Utf8 | D::Binary) => ValueLayout::Bytes,
            _ => return None,
        };
        // Values are copied as they are.
        cfg!(target_endian = "little").then(|| FlatKind { data_type: data_type.clone(), layout })
    }

    /// Whether values are single bits.
    pub(crate) fn is_boolean(&self) -> bool {
        self.layout == ValueLayout::Bits
    }
}

/// Spans are few if at most one of this number of values begins a span.
const FEW: usize = 16;

/// Most bytes that are reserved for later values.
const RESERVED: usize = 32 << 20;

/// The values gathered so far.
#[derive(Debug)]
enum Gathered {
    None,
    Same(MutableBuffer),
    Decimals(Vec<i128>),
    Bits(BooleanBufferBuilder),
    Bytes(Vec<i32>, Vec<u8>),
    /// Indices into a dictionary.
    Indices(Vec<u32>),
}

/// A part of a column that becomes an array.
#[derive(Debug)]
pub(crate) struct GatheredValues {
    kind: Arc<FlatKind>,
    /// Rows that are likely to come.
    expected: usize,
    /// The finished arrays: values of a dictionary and plain ones don't mix.
    done: Vec<ArrayRef>,
    gathered: Gathered,
    /// The nulls of the rows gathered.
    nulls: NullBufferBuilder,
}

impl GatheredValues {
    pub(crate) fn new(kind: &Arc<FlatKind>, expected: usize) -> GatheredValues {
        let nulls = NullBufferBuilder::new(expected);
        GatheredValues { kind: kind.clone(), expected, done: Vec::new(), gathered: Gathered::None, nulls }
    }

    /// Adds rows. The values of those that are not null are added next: `valid` of the `rows` bits of a mask.
    pub(crate) fn rows(&mut self, mask: &BooleanBuffer, rows: Span, valid: usize) {
        match rows {
            (_, count) if count == valid => self.nulls.append_n_non_nulls(count),
            (_, count) if valid == 0 => self.nulls.append_n_nulls(count),
            (start, count) if count < 64 => {
                (start..start + count).for_each(|row| self.nulls.append(mask.value(row)));
            }
            (start, count) => self.nulls.append_buffer(&NullBuffer::new(mask.slice(start, count))),
        }
    }

    /// Adds rows without nulls.
    pub(crate) fn rows_without_nulls(&mut self, rows: usize) {
        self.nulls.append_n_non_nulls(rows);
    }

    /// Prepares for rows of plain values. They are kept separate from values of a dictionary.
    pub(crate) fn expect_plain(&mut self, dictionary: Option<&ArrayRef>) -> PageResult<()> {
        if matches!(self.gathered, Gathered::Indices(_)) {
            self.flush(dictionary)?;
        }
        if matches!(self.gathered, Gathered::None) {
            let rows = |width: usize| self.expected.min(RESERVED / width);
            self.gathered = match self.kind.layout {
                ValueLayout::Same(width) => Gathered::Same(MutableBuffer::with_capacity(rows(width) * width)),
                ValueLayout::Int32Decimal | ValueLayout::Int64Decimal | ValueLayout::BigEndian(_) => {
                    Gathered::Decimals(Vec::with_capacity(rows(16)))
                }
                ValueLayout::Bits => Gathered::Bits(BooleanBufferBuilder::new(rows(1))),
                ValueLayout::Bytes => {
                    let mut offsets = Vec::with_capacity(rows(4) + 1);
                    offsets.push(0);
                    Gathered::Bytes(offsets, Vec::new())
                }
            };
        }
        Ok(())
    }

    /// Prepares for rows of a dictionary's values. They are kept separate from plain values.
    pub(crate) fn expect_indices(&mut self) -> PageResult<()> {
        if !matches!(self.gathered, Gathered::Indices(_)) {
            self.flush(None)?;
            self.gathered = Gathered::Indices(Vec::with_capacity(self.expected.min(RESERVED / 4)));
        }
        Ok(())
    }

    /// Adds `spans` of the next `count` plain values. The values start at byte `at` of the page, which still has `left`
    /// of them.
    pub(crate) fn plain(
        &mut self,
        (page, at): (&[u8], &mut usize),
        (count, left): (usize, usize),
        spans: &[Span],
    ) -> PageResult<()> {
        let bytes = page.get(*at..).ok_or(EARLY)?;
        let width = match self.kind.layout {
            ValueLayout::Same(width) | ValueLayout::BigEndian(width) => width,
            ValueLayout::Int32Decimal => 4,
            ValueLayout::Int64Decimal => 8,
            ValueLayout::Bits => return Err(EARLY.into()),
            ValueLayout::Bytes => {
                if let Gathered::Bytes(offsets, values) = &mut self.gathered {
                    let wanted = spans.iter().map(|(_, count)| count).sum::<usize>();
                    values.reserve((bytes.len() as u128 * wanted as u128 / left.max(1) as u128) as usize + BLOCK);
                    *at += texts(bytes, count, spans, offsets, values)?;
                }
                return Ok(());
            }
        };
        let bytes = count.checked_mul(width).and_then(|length| bytes.get(..length)).ok_or(EARLY)?;
        *at += bytes.len();
        for &(first, count) in spans {
            let span = bytes.get(first * width..(first + count) * width).ok_or(EARLY)?;
            match (&mut self.gathered, self.kind.layout) {
                (Gathered::Same(values), _) => values.extend_from_slice(span),
                (Gathered::Decimals(values), ValueLayout::Int32Decimal) => {
                    values.extend(span.as_chunks::<4>().0.iter().map(|v| i128::from(i32::from_le_bytes(*v))));
                }
                (Gathered::Decimals(values), ValueLayout::Int64Decimal) => {
                    values.extend(span.as_chunks::<8>().0.iter().map(|v| i128::from(i64::from_le_bytes(*v))));
                }
                (Gathered::Decimals(values), _) => values.extend(span.chunks_exact(width).map(big_endian)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds `spans` of the values that start at a bit of the page.
    pub(crate) fn bits(&mut self, page: &[u8], start: usize, count: usize, spans: &[Span]) -> PageResult<()> {
        if start.checked_add(count).is_none_or(|end| end > page.len() * 8) {
            return Err(EARLY.into());
        }
        if let Gathered::Bits(bits) = &mut self.gathered {
            for (first, count) in spans {
                bits.append_packed_range(start + first..start + first + count, page);
            }
        }
        Ok(())
    }

    /// Adds `spans` of the next `count` values, all of a dictionary with `entries` entries.
    pub(crate) fn indices(
        &mut self,
        (page, runs): (&[u8], &mut PackedRuns),
        count: usize,
        spans: &[Span],
        (entries, scratch): (usize, &mut Vec<u32>),
    ) -> PageResult<()> {
        let Gathered::Indices(indices) = &mut self.gathered else { return Ok(()) };
        let inside = |indices: &[u32]| match indices.iter().fold(0, |top, index| top.max(*index)) as usize {
            top if top < entries || indices.is_empty() => Ok(()),
            _ => Err("it refers to values beyond its dictionary"),
        };
        match spans {
            [] => runs.skip(page, count)?,
            [(0, all)] if *all == count => {
                let before = indices.len();
                runs.take(page, count, indices)?;
                inside(indices.get(before..).unwrap_or_default())?;
            }
            // Runs are skipped at once.
            spans if spans.len() < count / FEW => {
                let mut at = 0;
                for &(first, count) in spans {
                    runs.skip(page, first - at)?;
                    let before = indices.len();
                    runs.take(page, count, indices)?;
                    inside(indices.get(before..).unwrap_or_default())?;
                    at = first + count;
                }
                runs.skip(page, count - at)?;
            }
            spans => {
                scratch.clear();
                runs.take(page, count, scratch)?;
                inside(scratch)?;
                for &(first, count) in spans {
                    indices.extend_from_slice(scratch.get(first..first + count).ok_or(EARLY)?);
                }
            }
        }
        Ok(())
    }

    /// The array of all rows added.
    pub(crate) fn finish(mut self, dictionary: Option<&ArrayRef>) -> PageResult<ArrayRef> {
        self.flush(dictionary)?;
        match self.done.as_slice() {
            [] => Ok(new_empty_array(&self.kind.data_type)),
            [array] => Ok(array.clone()),
            parts => Ok(concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())?),
        }
    }

    /// Makes an array of the gathered values.
    fn flush(&mut self, dictionary: Option<&ArrayRef>) -> PageResult<()> {
        let rows = self.nulls.len();
        let nulls = self.nulls.finish();
        let gathered = std::mem::replace(&mut self.gathered, Gathered::None);
        if rows == 0 {
            return Ok(());
        }
        let fixed = |buffer: Buffer| {
            let array = arrow::array::ArrayData::builder(self.kind.data_type.clone());
            Ok::<_, ArrowError>(make_array(array.len(rows).add_buffer(buffer).nulls(nulls.clone()).build()?))
        };
        self.done.push(match (gathered, &nulls) {
            (Gathered::None, _) => new_null_array(&self.kind.data_type, rows),
            (Gathered::Same(values), None) => fixed(values.into())?,
            (Gathered::Same(values), Some(nulls)) => match self.kind.layout {
                ValueLayout::Same(width) => fixed(spread_bytes(&values, width, nulls))?,
                _ => return Err(EARLY.into()),
            },
            (Gathered::Decimals(values), None) => fixed(Buffer::from_vec(values))?,
            (Gathered::Decimals(values), Some(nulls)) => fixed(Buffer::from_vec(spread(&values, nulls)))?,
            (Gathered::Bits(mut values), nulls) => {
                let values = match nulls {
                    Some(nulls) => spread_bits(&values, nulls).finish(),
                    None => values.finish(),
                };
                Arc::new(BooleanArray::new(values, nulls.clone()))
            }
            (Gathered::Bytes(offsets, values), _) => {
                let offsets = match &nulls {
                    Some(nulls) => spread_offsets(&offsets, nulls),
                    None => offsets,
                };
                let offsets = OffsetBuffer::new(offsets.into());
                match &self.kind.data_type {
                    DataType::Utf8 => Arc::new(StringArray::try_new(offsets, values.into(), nulls)?),
                    _ => Arc::new(BinaryArray::try_new(offsets, values.into(), nulls)?),
                }
            }
            (Gathered::Indices(indices), nulls) => {
                let dictionary = dictionary.ok_or("it refers to a missing dictionary")?;
                let indices = match nulls {
                    Some(nulls) => spread(&indices, nulls),
                    None => indices,
                };
                match dictionary.is_empty() {
                    true => new_null_array(&self.kind.data_type, rows),
                    false => take(dictionary, &UInt32Array::new(indices.into(), nulls.clone()), None)?,
                }
            }
        });
        Ok(())
    }
}

/// Adds `spans` of the first `count` texts; returns the bytes they all take.
fn texts(
    page: &[u8],
    count: usize,
    spans: &[Span],
    offsets: &mut Vec<i32>,
    values: &mut Vec<u8>,
) -> Result<usize, Stop> {
    /// Moves past a text. Returns the bytes from its start on, and its length.
    fn next<'a>(rest: &mut &'a [u8]) -> Result<(&'a [u8], usize), Flaw> {
        let (length, text) = rest.split_first_chunk::<4>().ok_or(EARLY)?;
        let length = u32::from_le_bytes(*length) as usize;
        *rest = text.get(length..).ok_or(EARLY)?;
        Ok((text, length))
    }
    let (mut rest, mut at) = (page, 0);
    for &(first, count) in spans {
        (at..first).try_for_each(|_| next(&mut rest).map(|_| ()))?;
        offsets.reserve(count);
        for _ in 0..count {
            let (text, length) = next(&mut rest)?;
            append(values, text, length);
            // The range is checked below. No page is so large that these numbers wrap around.
            offsets.push(values.len() as i32);
        }
        at = first + count;
    }
    (at..count).try_for_each(|_| next(&mut rest).map(|_| ()))?;
    match i32::try_from(values.len()) {
        Ok(_) => Ok(page.len() - rest.len()),
        Err(_) => Err(Stop::TooLarge),
    }
}

/// Texts up to this length are copied as this number of bytes, and the excess is taken back. That needs no call.
const BLOCK: usize = 32;

/// Adds the first `length` bytes.
fn append(values: &mut Vec<u8>, bytes: &[u8], length: usize) {
    match bytes.first_chunk::<BLOCK>() {
        Some(block) if length <= BLOCK => {
            let end = values.len() + length;
            values.extend_from_slice(block);
            values.truncate(end);
        }
        _ => values.extend_from_slice(bytes.get(..length).unwrap_or(bytes)),
    }
}

/// A big-endian number of at most 16 bytes.
fn big_endian(bytes: &[u8]) -> i128 {
    let sign = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut out = [sign; 16];
    if let Some(low) = out.len().checked_sub(bytes.len()).and_then(|start| out.get_mut(start..)) {
        low.copy_from_slice(bytes);
    }
    i128::from_be_bytes(out)
}

/// Spreads the values, with a place for each null.
fn spread<T: Copy + Default>(dense: &[T], nulls: &NullBuffer) -> Vec<T> {
    let mut out = Vec::with_capacity(nulls.len());
    let mut rest = dense;
    for word in nulls.inner().bit_chunks().iter_padded() {
        let rows = (nulls.len() - out.len()).min(64);
        let (values, behind) = rest.split_at((word.count_ones() as usize).min(rest.len()));
        match values.len() {
            64 => out.extend_from_slice(values),
            0 => out.resize(out.len() + rows, T::default()),
            _ => {
                // The loop has no branches, because random nulls would mislead branch prediction.
                let mut next = 0;
                out.extend((0..rows).map(|row| {
                    let valid = word >> row & 1;
                    let value = values.get(next).copied().unwrap_or_default();
                    next += valid as usize;
                    if valid == 1 { value } else { T::default() }
                }));
            }
        }
        rest = behind;
    }
    out
}

/// Does the same as [`spread`], for values of `width` bytes each.
fn spread_bytes(dense: &MutableBuffer, width: usize, nulls: &NullBuffer) -> Buffer {
    match width {
        4 => return Buffer::from_vec(spread(dense.typed_data::<u32>(), nulls)),
        8 => return Buffer::from_vec(spread(dense.typed_data::<u64>(), nulls)),
        _ => {}
    }
    let mut out = MutableBuffer::with_capacity(nulls.len() * width);
    let mut rest = dense.as_slice();
    for (start, end) in nulls.valid_slices() {
        out.resize(start * width, 0);
        let (values, behind) = rest.split_at((end - start) * width);
        out.extend_from_slice(values);
        rest = behind;
    }
    out.resize(nulls.len() * width, 0);
    out.into()
}

fn spread_bits(dense: &BooleanBufferBuilder, nulls: &NullBuffer) -> BooleanBufferBuilder {
    let mut out = BooleanBufferBuilder::new(nulls.len());
    let mut at = 0;
    for (start, end) in nulls.valid_slices() {
        out.append_n(start - out.len(), false);
        out.append_packed_range(at..at + end - start, dense.as_slice());
        at += end - start;
    }
    out.append_n(nulls.len() - out.len(), false);
    out
}

/// The offsets with empty values for nulls.
fn spread_offsets(dense: &[i32], nulls: &NullBuffer) -> Vec<i32> {
    let mut out = Vec::with_capacity(nulls.len() + 1);
    let (mut last, mut rest) = dense.split_first().map_or((0, dense), |(first, rest)| (*first, rest));
    out.push(last);
    for (start, end) in nulls.valid_slices() {
        out.resize(start + 1, last);
        let (ends, behind) = rest.split_at(end - start);
        out.extend_from_slice(ends);
        last = ends.last().copied().unwrap_or(last);
        rest = behind;
    }
    out.resize(nulls.len() + 1, last);
    out
}
