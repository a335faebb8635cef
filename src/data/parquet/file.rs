//! Opens a Parquet file through the store: footer, page index, bytes of column chunks.
//!
//! The parquet crate decodes. It gets whole byte ranges and never uses the store. Everything that makes it reserve
//! memory or recurse is checked first ([`thrift`]). Its panics become errors ([`guard`]).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use super::checks::footer::{self, start, undecodable, writer_faults};
use super::checks::page_check::{PageBudget, check_contents, mark_compressed};
use crate::codec::parquet::thrift;
use crate::data::read::guard::guard;
use crate::error::{Error, Result};
use crate::store::{Fetching, Store};

/// Bytes that are read first, from the end of a file. They hold the footer of most files.
const TAIL_BYTES: u64 = 64 * 1024;

/// The same for a remote store, where a request costs as much time as these bytes. They hold the page index too, and
/// small files.
pub(crate) const REMOTE_TAIL_BYTES: u64 = 512 * 1024;

/// Bytes of footer length and magic.
const FOOTER_END: u64 = 8;

/// An open Parquet file. A copy shares the footer, so that the file can be read twice.
#[derive(Clone, Debug)]
pub(crate) struct ParquetFile {
    store: Arc<dyn Store>,
    path: String,
    size: u64,
    /// The bytes that were read from the end of a file in a remote store.
    tail: Vec<u8>,
    /// The footer and the Arrow schema that the types stored in the file give.
    pub metadata: ArrowReaderMetadata,
    /// The leaf columns whose 96-bit timestamps are read as nanoseconds.
    nanos: BTreeSet<usize>,
    /// The leaf columns that are encrypted in some row group.
    encrypted: BTreeSet<usize>,
    /// Whether pages v2 are compressed, although their headers deny it.
    hides_compression: bool,
    /// The start, row group and leaf of every column chunk, in the order of starts.
    chunks: OnceLock<Vec<(i64, usize, usize)>>,
}

/// Whether the error means that the strings of a batch are longer in total than the offsets of Arrow's strings can
/// count.
pub(crate) fn is_overflow(e: &Error) -> bool {
    const OVERFLOW: &str = "index overflow decoding byte array";
    let mut cause: Option<&dyn std::error::Error> = Some(e);
    std::iter::from_fn(|| {
        let this = cause?;
        cause = this.source();
        Some(this.to_string())
    })
    .any(|text| text.contains(OVERFLOW))
}

impl ParquetFile {
    /// Reads the footer.
    ///
    /// # Errors
    /// `CorruptTable` if it is not an intact Parquet file; `Unsupported` if its footer is encrypted; the store's
    /// errors.
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<ParquetFile> {
        let tail_bytes = if store.is_remote() { REMOTE_TAIL_BYTES } else { TAIL_BYTES };
        let (mut tail, size) = store.get_tail(path, tail_bytes)?;
        let footer = read_footer(store.as_ref(), path, &tail, size)?;
        if !store.is_remote() {
            tail = Vec::new();
        }
        let checked = thrift::check_footer(&footer)
            .map_err(|flaw| Error::corrupt(format!("the Parquet footer is damaged: {flaw}")))?;
        let at = size.saturating_sub(FOOTER_END).saturating_sub(footer.len() as u64);
        let metadata = guard(|| {
            let metadata = footer::decode(&checked, at)?;
            arrow_metadata(Arc::new(metadata), &|_| TimeUnit::Microsecond).map_err(undecodable)
        })?;
        let hides_compression = writer_faults(metadata.metadata()).hidden_compression;
        let (store, path, nanos) = (store.clone(), path.to_owned(), BTreeSet::new());
        let (encrypted, chunks) = (checked.encrypted, OnceLock::new());
        Ok(ParquetFile { store, path, size, tail, metadata, nanos, encrypted, hides_compression, chunks })
    }

    /// Checks that none of some leaf columns is encrypted.
    ///
    /// # Errors
    /// `Unsupported`, naming the column.
    pub(crate) fn check_plain(&self, leaves: impl IntoIterator<Item = usize>) -> Result<()> {
        if self.encrypted.is_empty() {
            return Ok(());
        }
        let Some(leaf) = leaves.into_iter().find(|leaf| self.encrypted.contains(leaf)) else { return Ok(()) };
        let column = self.parquet_schema().columns().get(leaf).map(|c| c.path().string());
        Err(Error::unsupported("encrypted columns of Parquet files cannot be read yet")
            .with("column", column.unwrap_or_default())
            .hint("Select other columns: those that are not encrypted can be read"))
    }

    /// Makes 96-bit timestamps in these leaf columns be read as nanoseconds.
    ///
    /// # Errors
    /// `CorruptTable` if the file has no such columns.
    pub(crate) fn read_nanos(&mut self, leaves: &BTreeSet<usize>) -> Result<()> {
        let unit = nanos_in(leaves);
        let metadata = guard(|| arrow_metadata(self.metadata.metadata().clone(), &unit).map_err(undecodable))?;
        (self.metadata, self.nanos) = (metadata, leaves.clone());
        Ok(())
    }

    /// The leaf columns among some whose top-level column has 96-bit timestamps that are read as nanoseconds.
    pub(crate) fn wide_leaves(&self, among: &BTreeSet<usize>) -> BTreeSet<usize> {
        let schema = self.parquet_schema();
        let is_int96 =
            |leaf: usize| schema.columns().get(leaf).is_some_and(|c| c.physical_type() == PhysicalType::INT96);
        let wide = self.nanos.iter().filter(|leaf| among.contains(leaf) && is_int96(**leaf));
        // Whole columns are taken, because the decoder reads no parts of maps.
        let roots: BTreeSet<usize> = wide.map(|leaf| schema.get_column_root_idx(*leaf)).collect();
        among.iter().copied().filter(|leaf| roots.contains(&schema.get_column_root_idx(*leaf))).collect()
    }

    /// The metadata with all 96-bit timestamps in milliseconds, which hold any of them.
    ///
    /// # Errors
    /// The errors of [`ParquetFile::read_nanos`].
    pub(crate) fn in_millis(&self) -> Result<ArrowReaderMetadata> {
        guard(|| arrow_metadata(self.metadata.metadata().clone(), &|_| TimeUnit::Millisecond).map_err(undecodable))
    }

    /// The file's length in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The footer.
    pub(crate) fn footer(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// The file's Parquet schema.
    pub(crate) fn parquet_schema(&self) -> &SchemaDescriptor {
        self.footer().file_metadata().schema_descr()
    }

    /// The metadata with column and offset indexes; `None` if the file has none.
    ///
    /// # Errors
    /// `CorruptTable` if they are damaged or lie outside the file.
    pub(crate) fn with_page_index(&self) -> Result<Option<ArrowReaderMetadata>> {
        let chunks = || self.footer().row_groups().iter().flat_map(|g| g.columns());
        let ranges = || chunks().flat_map(index_ranges).flatten();
        if !chunks().any(|c| c.column_index_offset().is_some()) {
            return Ok(None);
        }
        guard(|| {
            if ranges().any(|r| r.start > r.end || r.end > self.size) {
                return Err(Error::corrupt("the page index is outside the file"));
            }
            let metadata = self.footer().clone();
            let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(self.size, metadata)
                .map_err(undecodable)?
                .with_page_index_policy(PageIndexPolicy::Optional);
            loop {
                match decoder.try_decode().map_err(undecodable)? {
                    DecodeResult::NeedsData(needed) => {
                        let all = self.bytes(&needed)?;
                        for (range, bytes) in needed.into_iter().zip(all) {
                            let inside = |r: &Range<u64>| r.start >= range.start && r.end <= range.end;
                            for r in ranges().filter(inside) {
                                let part = (r.start - range.start) as usize..(r.end - range.start) as usize;
                                let part = bytes.get(part).unwrap_or_default();
                                thrift::check_struct(part)
                                    .map_err(|flaw| Error::corrupt(format!("the page index is damaged: {flaw}")))?;
                            }
                            decoder.push_range(range, bytes.into()).map_err(undecodable)?;
                        }
                    }
                    DecodeResult::Data(metadata) => {
                        let complete = metadata.column_index().is_some() && metadata.offset_index().is_some();
                        let metadata =
                            arrow_metadata(Arc::new(metadata), &nanos_in(&self.nanos)).map_err(undecodable)?;
                        return Ok(complete.then_some(metadata));
                    }
                    DecodeResult::Finished => return Ok(None),
                }
            }
        })
    }

    fn range(&self, range: &Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = self.bytes(std::slice::from_ref(range))?;
        bytes.pop().ok_or_else(|| Error::internal("the store gave no bytes for a range"))
    }

    /// Ranges of the file. Those at its end come from the bytes that were read when it was opened.
    fn bytes(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let from = self.size - (self.tail.len() as u64).min(self.size);
        let at_hand = |r: &Range<u64>| {
            let start = usize::try_from(r.start.checked_sub(from)?).ok()?;
            let end = usize::try_from(r.end.checked_sub(from)?).ok()?;
            self.tail.get(start..end).map(<[u8]>::to_vec)
        };
        match ranges.iter().map(at_hand).collect() {
            Some(all) if !self.tail.is_empty() => Ok(all),
            _ => self.store.get_ranges(&self.path, ranges),
        }
    }

    /// Starts to read ranges that will be needed next; `None` if that saves nothing.
    pub(crate) fn fetch_ahead(&self, ranges: &[Range<u64>]) -> Option<Box<dyn Fetching>> {
        let from = self.size - (self.tail.len() as u64).min(self.size);
        let at_hand = ranges.iter().all(|r| r.start >= from);
        let inside = ranges.iter().all(|r| r.start <= r.end && r.end <= self.size);
        if at_hand || !inside { None } else { self.store.fetch_ahead(&self.path, ranges) }
    }

    /// Bytes of whole pages of column chunks, from the header of the first page on. Bytes that were fetched ahead are
    /// used.
    ///
    /// # Errors
    /// `CorruptTable` if the file is shorter, or if a page's header claims more than its bytes can hold.
    pub(crate) fn pages(&self, ranges: &[Range<u64>], ahead: Option<Box<dyn Fetching>>) -> Result<Vec<Vec<u8>>> {
        if let Some(bad) = ranges.iter().find(|r| r.start > r.end || r.end > self.size) {
            return Err(Error::corrupt(format!(
                "a column chunk lies at bytes {}..{} of a file of {} bytes",
                bad.start, bad.end, self.size
            )));
        }
        let mut pages = match ahead {
            Some(fetching) => fetching.finish()?,
            None => self.bytes(ranges)?,
        };
        let mut budget = PageBudget::default();
        for (range, bytes) in ranges.iter().zip(&mut pages) {
            if let Some((chunk, _)) = self.chunk_at(range.start) {
                if self.hides_compression {
                    mark_compressed(chunk, bytes)?;
                }
                budget.add(chunk, bytes)?;
            }
        }
        budget.check()?;
        Ok(pages)
    }

    /// Checks pages that the parquet crate will decode: its decoders trust lengths and counts inside of pages.
    ///
    /// # Errors
    /// `CorruptTable` if a page would take more memory than its header claims.
    pub(crate) fn check_contents(&self, ranges: &[Range<u64>], pages: &[Vec<u8>]) -> Result<()> {
        for (range, bytes) in ranges.iter().zip(pages) {
            if let Some((chunk, _)) = self.chunk_at(range.start) {
                check_contents(chunk, bytes)?;
            }
        }
        Ok(())
    }

    /// The average number of bytes that the strings of a row take in memory. It comes from dictionaries among these
    /// pages, for columns without this size in the footer.
    pub(crate) fn dictionary_row_bytes(&self, ranges: &[Range<u64>], pages: &[Vec<u8>]) -> u64 {
        let row_bytes = |(range, bytes): (&Range<u64>, &Vec<u8>)| {
            let (chunk, rows) = self.chunk_at(range.start)?;
            let is_text = chunk.column_descr().physical_type() == PhysicalType::BYTE_ARRAY;
            if !is_text || chunk.unencoded_byte_array_data_bytes().is_some() || start(chunk) != range.start as i64 {
                return None;
            }
            let header = thrift::page_header(bytes).ok().filter(|h| h.kind == thrift::DICTIONARY_PAGE)?;
            let entry = header.uncompressed.max(0) as u64 / header.values.max(1) as u64;
            Some(entry.saturating_mul(chunk.num_values().max(0) as u64) / rows.max(1) as u64)
        };
        ranges.iter().zip(pages).filter_map(row_bytes).fold(0, u64::saturating_add)
    }

    /// The bloom filter of a column chunk; `None` if the chunk has no filter, or one that can't be decoded. A filter
    /// without a length, as older writers make it, is ignored.
    ///
    /// # Errors
    /// The store's errors.
    pub(crate) fn bloom_filter(&self, chunk: &ColumnChunkMetaData) -> Result<Option<Sbbf>> {
        let place = || {
            let start = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
            let end = start.checked_add(u64::try_from(chunk.bloom_filter_length()?).ok()?)?;
            (end <= self.size).then_some(start..end)
        };
        let Some(range) = place() else { return Ok(None) };
        let bytes = self.range(&range)?;
        let decode = || {
            let bloom = Sbbf::from_bytes(&bytes).map_err(undecodable)?;
            Ok((bloom.num_blocks() > 0).then_some(bloom))
        };
        Ok(guard(decode).unwrap_or(None))
    }

    /// The column chunk that holds this byte, and the rows of its row group.
    fn chunk_at(&self, byte: u64) -> Option<(&ColumnChunkMetaData, i64)> {
        let chunks = self.chunks.get_or_init(|| {
            let groups = self.footer().row_groups().iter().enumerate();
            let chunks =
                groups.flat_map(|(g, group)| (0..).zip(group.columns()).map(move |(c, chunk)| (start(chunk), g, c)));
            let mut chunks: Vec<(i64, usize, usize)> = chunks.collect();
            chunks.sort_unstable();
            chunks
        });
        let byte = i64::try_from(byte).ok()?;
        let (_, group, column) = chunks.get(chunks.partition_point(|(start, ..)| *start <= byte).checked_sub(1)?)?;
        let group = self.footer().row_groups().get(*group)?;
        Some((group.columns().get(*column)?, group.num_rows()))
    }
}

/// The bytes of the footer's Thrift structure.
fn read_footer(store: &dyn Store, path: &str, tail: &[u8], size: u64) -> Result<Vec<u8>> {
    if size < FOOTER_END + 4 {
        return Err(Error::corrupt(format!("a file of {size} bytes is too short to be Parquet")));
    }
    let end = tail.len().saturating_sub(FOOTER_END as usize);
    let Some((length, magic)) = tail.get(end..).and_then(|t| t.split_first_chunk::<4>()) else {
        return Err(Error::store("the store returned fewer bytes than requested"));
    };
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(Error::unsupported("encrypted Parquet files cannot be read yet")),
        _ => return Err(Error::corrupt("the file does not end as Parquet files do: it is cut off or no Parquet")),
    }
    let length = u64::from(u32::from_le_bytes(*length));
    if length + FOOTER_END > size {
        return Err(Error::corrupt(format!("the footer claims {length} bytes in a file of {size}")));
    }
    let tail = tail.get(..end).unwrap_or_default();
    if let Some(start) = tail.len().checked_sub(length as usize) {
        return Ok(tail.get(start..).unwrap_or_default().to_vec());
    }
    let missing = length as usize - tail.len();
    let mut footer = store.get_range(path, size - FOOTER_END - length, missing)?;
    footer.extend_from_slice(tail);
    Ok(footer)
}

/// Nanoseconds for some leaf columns. Others get microseconds, which hold every year.
fn nanos_in(leaves: &BTreeSet<usize>) -> impl Fn(usize) -> TimeUnit {
    |leaf| if leaves.contains(&leaf) { TimeUnit::Nanosecond } else { TimeUnit::Microsecond }
}

/// The types in which the parquet crate reads the file's columns. The Arrow schema that writers embed is not trusted,
/// so types come from Parquet alone. Timestamps of 96 bits are read in the unit of their leaf column.
fn arrow_metadata(
    metadata: Arc<ParquetMetaData>,
    unit: &dyn Fn(usize) -> TimeUnit,
) -> parquet::errors::Result<ArrowReaderMetadata> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(metadata.clone(), options.clone())?;
    let leaves = metadata.file_metadata().schema_descr().columns();
    if !leaves.iter().any(|c| c.physical_type() == PhysicalType::INT96) {
        return Ok(plain);
    }
    let is_int96 = |(i, c): (usize, &ColumnDescPtr)| (c.physical_type() == PhysicalType::INT96).then(|| unit(i));
    let mut units = leaves.iter().enumerate().map(is_int96);
    let fields: Fields = plain.schema().fields().iter().map(|f| with_units(f, &mut units)).collect();
    ArrowReaderMetadata::try_new(metadata.clone(), options.with_schema(Arc::new(ArrowSchema::new(fields))))
}

/// The field with the 96-bit timestamps below it in these units, given for the leaves in their order.
fn with_units(field: &FieldRef, units: &mut impl Iterator<Item = Option<TimeUnit>>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(members) => DataType::Struct(members.iter().map(|m| with_units(m, units)).collect()),
        DataType::List(element) => DataType::List(with_units(element, units)),
        DataType::Map(entries, sorted) => DataType::Map(with_units(entries, units), *sorted),
        leaf => match units.next() {
            Some(Some(unit)) => DataType::Timestamp(unit, None),
            _ => leaf.clone(),
        },
    };
    Arc::new(ArrowField::clone(field).with_data_type(data_type))
}

/// The ranges of a column chunk's column index and offset index. Negative numbers give ranges that lie outside any
/// file.
fn index_ranges(chunk: &ColumnChunkMetaData) -> [Option<Range<u64>>; 2] {
    let range = |offset: Option<i64>, length: Option<i32>| {
        let (offset, length) = (offset? as u64, length? as u64);
        Some(offset..offset.saturating_add(length))
    };
    [
        range(chunk.column_index_offset(), chunk.column_index_length()),
        range(chunk.offset_index_offset(), chunk.offset_index_length()),
    ]
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
