//! Limits of the memory that pages of a Parquet file may take, before anything decodes them.
//!
//! A page's header claims how long the page is when it is decompressed. Some codecs make millions of bytes from one
//! byte, so a valid page of many equal values is tiny. Such pages are read within a budget.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::codec::parquet::compression::PageCodec;
use crate::codec::parquet::delta::{self, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY};
use crate::codec::parquet::thrift::{self, DICTIONARY_PAGE, Flaw, PageHeader};
use crate::error::{Error, Result};

/// The environment variable that sets the budget, in bytes.
const VARIABLE: &str = "FRAZIL_MAX_INFLATED_BYTES";

/// Most bytes that the large pages open at the same time may decompress to, if their own bytes are few.
const BUDGET: u64 = 1 << 30;

/// Smaller pages don't count.
const SMALL: i64 = 16 << 20;

/// A page that grows by less when it is decompressed doesn't count: the file itself is large.
const ORDINARY_RATIO: i64 = 16;

/// The bytes that a page may need in addition to the largest output of its codec.
const PAGE_SLACK: i64 = 16 << 20;

/// Values that a page of a repeated column may hold, regardless of its size.
const REPEATED_SLACK: i64 = 1 << 24;

/// Bytes that the parquet crate may decompress from a gzip page without a check of the real size.
const UNCHECKED_BYTES: usize = 256 << 20;

/// The largest factor by which gzip can expand bytes.
const GZIP_RATIO: usize = 1_032;

const DATA_PAGE: i64 = 0;
const DATA_PAGE_V2: i64 = 3;

fn budget() -> u64 {
    static GIVEN: OnceLock<u64> = OnceLock::new();
    let named = || std::env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    *GIVEN.get_or_init(|| named().unwrap_or(BUDGET))
}

/// Adds up the memory of large pages that are open at the same time: one for each column.
#[derive(Default)]
pub(crate) struct PageBudget {
    /// The largest such page of each column chunk.
    largest: HashMap<i64, i64>,
}

impl PageBudget {
    /// Checks the pages in these bytes of a column chunk, and counts the largest.
    ///
    /// # Errors
    /// `CorruptTable` if a page claims more than its bytes can hold.
    pub(crate) fn add(&mut self, chunk: &ColumnChunkMetaData, bytes: &[u8]) -> Result<()> {
        match check_pages(chunk, bytes).map_err(|flaw| damaged(chunk, flaw))? {
            0 => {}
            bytes => {
                let largest = self.largest.entry(chunk.data_page_offset()).or_default();
                *largest = bytes.max(*largest);
            }
        }
        Ok(())
    }

    /// Compares the sum with the budget.
    ///
    /// # Errors
    /// `CorruptTable`, naming the budget and the variable that raises it.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_against(budget())
    }

    fn check_against(&self, budget: u64) -> Result<()> {
        let sum = self.largest.values().fold(0u64, |sum, bytes| sum.saturating_add(bytes.unsigned_abs()));
        if sum <= budget {
            return Ok(());
        }
        let message = format!("{sum} bytes of pages would be decompressed from few bytes, more than {budget}");
        Err(Error::corrupt(message).hint(format!(
            "The file may be made to exhaust memory. If it is sound, set the environment variable {VARIABLE} to a \
             larger number of bytes"
        )))
    }
}

fn damaged(chunk: &ColumnChunkMetaData, flaw: Flaw) -> Error {
    let column = chunk.column_path().string();
    Error::corrupt(format!("a page of the Parquet file is damaged: {flaw}")).with("column", column)
}

/// Marks the pages v2 in these bytes of a column chunk as compressed.
///
/// # Errors
/// `CorruptTable` if the bytes are not pages.
pub(crate) fn mark_compressed(chunk: &ColumnChunkMetaData, bytes: &mut [u8]) -> Result<()> {
    thrift::mark_compressed(bytes).map_err(|flaw| damaged(chunk, flaw))
}

/// Calls `f` with the header of each page, and the range of the page with its header.
fn each_page(
    bytes: &[u8],
    mut f: impl FnMut(&PageHeader, Range<usize>) -> std::result::Result<(), Flaw>,
) -> std::result::Result<(), Flaw> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let header = thrift::page_header(rest)?;
        let length = usize::try_from(header.compressed).map_err(|_| "a page has a negative length")?;
        let end = (at + header.length).checked_add(length).filter(|end| *end <= bytes.len());
        let end = end.ok_or("a page is longer than its column chunk")?;
        f(&header, at..end)?;
        at = end;
    }
    Ok(())
}

/// Follows the pages in `bytes` and limits the memory for decoding each. Returns the decompressed bytes of the largest
/// page that counts against the budget; 0 if none does.
pub(crate) fn check_pages(chunk: &ColumnChunkMetaData, bytes: &[u8]) -> std::result::Result<i64, Flaw> {
    // The largest output of one byte of input. Brotli has no such limit.
    let ratio = match chunk.compression() {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW => 256,
        Compression::GZIP(_) => 1_100,
        Compression::BROTLI(_) => i64::MAX,
        _ => 65_536,
    };
    let repeated = chunk.column_descr().max_rep_level() > 0;
    let is_compressed = chunk.compression() != Compression::UNCOMPRESSED;
    let mut largest = 0;
    each_page(bytes, |header, _| {
        if header.uncompressed < 0 || header.values < 0 {
            return Err("a page has a negative length or number of values");
        }
        if header.uncompressed > header.compressed.saturating_mul(ratio).saturating_add(PAGE_SLACK) {
            return Err("a page claims to decompress to more than its bytes can hold");
        }
        if is_compressed && header.plain_at.is_some() && header.compressed != header.uncompressed {
            return Err("a page that is not compressed has two lengths");
        }
        if header.kind == DICTIONARY_PAGE && header.values > header.uncompressed {
            return Err("a dictionary claims more values than it has bytes");
        }
        if repeated && header.values > header.uncompressed.saturating_mul(64).max(REPEATED_SLACK) {
            return Err("a page claims more values than it has bits");
        }
        let counts = header.uncompressed > SMALL.max(header.compressed.saturating_mul(ORDINARY_RATIO));
        largest = if counts { header.uncompressed.max(largest) } else { largest };
        Ok(())
    })?;
    Ok(largest)
}

/// Checks the contents of pages that the parquet crate will decode.
///
/// # Errors
/// `CorruptTable` if a page decompresses to more than it claims, or claims more strings than it has values.
pub(crate) fn check_contents(chunk: &ColumnChunkMetaData, bytes: &[u8]) -> Result<()> {
    let has_deltas = |e| matches!(e, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY);
    let unbounded = match chunk.compression() {
        Compression::BROTLI(_) => true,
        Compression::GZIP(_) => bytes.len() > UNCHECKED_BYTES / GZIP_RATIO,
        _ => false,
    };
    // A footer may leave out an encoding, so the pages of all columns that may have it are checked.
    use parquet::basic::Type::{BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY};
    let strings = matches!(chunk.column_descr().physical_type(), BYTE_ARRAY | FIXED_LEN_BYTE_ARRAY);
    if !unbounded && !strings && !chunk.encodings().any(has_deltas) {
        return Ok(());
    }
    let mut pages = Vec::new();
    let mut buffer = Vec::new();
    each_page(bytes, |header, place| {
        if unbounded {
            let body = bytes.get(place.start + header.length..place.end).unwrap_or_default();
            check_inflated(chunk, header, body, &mut buffer)?;
        }
        let is_data = matches!(header.kind, DATA_PAGE | DATA_PAGE_V2);
        if is_data && matches!(header.encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY) {
            pages.push((*header, place));
        }
        Ok(())
    })
    .map_err(|flaw| damaged(chunk, flaw))?;
    for (header, place) in pages {
        check_deltas(chunk, &header, bytes.get(place).unwrap_or_default())?;
    }
    Ok(())
}

/// Decompresses a page, but never to more than it claims.
fn check_inflated(
    chunk: &ColumnChunkMetaData,
    header: &PageHeader,
    body: &[u8],
    buffer: &mut Vec<u8>,
) -> std::result::Result<(), Flaw> {
    let Some(codec) = PageCodec::of(chunk.compression()) else { return Ok(()) };
    let is_v2 = header.kind == DATA_PAGE_V2;
    if is_v2 && header.plain_at.is_some() {
        return Ok(());
    }
    let levels = if is_v2 { header.level_bytes.iter().sum() } else { 0 };
    let start = usize::try_from(levels).map_err(|_| "its levels have a negative length")?;
    let compressed = body.get(start..).ok_or("its levels are longer than the page")?;
    let length = usize::try_from(header.uncompressed - levels).map_err(|_| "its levels are longer than the page")?;
    codec.inflate(compressed, length, buffer).map(|_| ())
}

fn undecodable(e: ParquetError) -> Error {
    Error::corrupt("a page of the Parquet file cannot be decoded").because(e)
}

/// Checks the number of strings of a delta-encoded page, which is given whole.
fn check_deltas(chunk: &ColumnChunkMetaData, header: &PageHeader, whole: &[u8]) -> Result<()> {
    let alone = ColumnChunkMetaData::builder(chunk.column_descr_ptr())
        .set_compression(chunk.compression())
        .set_num_values(header.values)
        .set_data_page_offset(0)
        .set_total_compressed_size(whole.len() as i64)
        .build()
        .map_err(undecodable)?;
    let bytes = Arc::new(Bytes::copy_from_slice(whole));
    let rows = usize::try_from(header.values).unwrap_or(0);
    let mut reader = SerializedPageReader::new(bytes, &alone, rows, None).map_err(undecodable)?;
    let flaw = match reader.get_next_page().map_err(undecodable)? {
        Some(page) => check_page(chunk, header, &page),
        None => Ok(()),
    };
    flaw.map_err(|flaw| damaged(chunk, flaw))
}

fn check_page(chunk: &ColumnChunkMetaData, header: &PageHeader, page: &Page) -> std::result::Result<(), Flaw> {
    let column = chunk.column_descr();
    let bytes = page.buffer().as_ref();
    let start = match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize)
        }
        Page::DataPage { rep_level_encoding, def_level_encoding, .. } => {
            let repetition = (column.max_rep_level(), *rep_level_encoding);
            let definition = (column.max_def_level(), *def_level_encoding);
            [repetition, definition].into_iter().try_fold(0, |at, levels| behind_levels(bytes, at, levels, header))?
        }
        Page::DictionaryPage { .. } => return Ok(()),
    };
    let values = bytes.get(start..).ok_or("its levels are longer than the page")?;
    delta::check_lengths(header.encoding, values, header.values)
}

/// The place where a page's levels end. They begin at `at`.
fn behind_levels(
    bytes: &[u8],
    at: usize,
    (highest, encoding): (i16, Encoding),
    header: &PageHeader,
) -> std::result::Result<usize, Flaw> {
    const SHORT: Flaw = "its levels are longer than the page";
    if highest == 0 {
        return Ok(at);
    }
    if encoding == Encoding::RLE {
        let length = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(SHORT)?;
        return Ok(at.saturating_add(4).saturating_add(u32::from_le_bytes(*length) as usize));
    }
    // Packed bits, as very old writers made them.
    let width = u64::from(16 - highest.unsigned_abs().leading_zeros());
    let bits = u64::try_from(header.values).map_err(|_| SHORT)?.saturating_mul(width);
    usize::try_from(bits.div_ceil(8)).ok().and_then(|length| at.checked_add(length)).ok_or(SHORT)
}

#[cfg(test)]
#[path = "page_check_tests.rs"]
mod tests;
