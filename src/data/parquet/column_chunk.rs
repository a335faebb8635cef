//! A flat column chunk of a Parquet file. Its pages are read one after the other, if any of their rows are wanted.
//!
//! A flat column is in no struct, list or map, so each value belongs to one row. Pages without wanted rows are not
//! decompressed.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use parquet::basic::Compression;

use super::values::{FlatKind, GatheredValues, PageResult, Span, Stop};
use crate::codec::parquet::compression::{Inflated, PageCodec};
use crate::codec::parquet::rle::PackedRuns;
use crate::codec::parquet::thrift;
use crate::codec::parquet::thrift::{Flaw, PageHeader};
use crate::error::Error;

const DATA_PAGE: i64 = 0;
const INDEX_PAGE: i64 = 1;
const DATA_PAGE_V2: i64 = 3;

const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

const SHORT: Flaw = "it is shorter than it claims";

/// The rows of a batch that are kept.
#[derive(Debug)]
pub(crate) struct KeptRows {
    rows: usize,
    count: usize,
    /// Ranges of kept rows: ascending, separate and not empty.
    spans: Vec<Span>,
}

impl KeptRows {
    /// None of the next `rows` rows.
    pub(crate) fn none(rows: usize) -> KeptRows {
        KeptRows { rows, count: 0, spans: Vec::new() }
    }

    /// The number of rows, kept or not.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of rows that are kept.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The rows of these ranges, among the rows from `start` to `end`.
    pub(crate) fn between(start: usize, end: usize, ranges: &[Range<usize>]) -> KeptRows {
        let inside = ranges.iter().map(|range| range.start.max(start)..range.end.min(end));
        let spans: Vec<Span> = inside.filter(|r| r.start < r.end).map(|r| (r.start - start, r.len())).collect();
        KeptRows { rows: end - start, count: spans.iter().map(|(_, count)| count).sum(), spans }
    }

    /// The kept rows that a mask keeps. The mask has a bit for each kept row.
    pub(crate) fn masked(&self, mask: &BooleanBuffer) -> KeptRows {
        let (mut spans, mut of) = (Vec::new(), self.spans.iter());
        let (mut before, mut current) = (0, of.next());
        for (mut at, end) in mask.set_slices() {
            while let (true, Some((first, count))) = (at < end, current) {
                let to = end.min(before + count);
                if at < to {
                    spans.push((first + at - before, to - at));
                    at = to;
                }
                if at >= before + count {
                    (before, current) = (before + count, of.next());
                }
            }
        }
        KeptRows { rows: self.rows, count: mask.count_set_bits(), spans }
    }

    /// The ranges of kept rows, counted from `start`.
    pub(crate) fn ranges(&self, start: usize) -> impl Iterator<Item = Range<usize>> {
        self.spans.iter().map(move |(first, count)| start + first..start + first + count)
    }

    /// The kept rows of a range, counted from its start.
    fn within(&self, range: Range<usize>) -> impl Iterator<Item = Span> {
        let first = self.spans.partition_point(|(start, count)| start + count <= range.start);
        let spans = self.spans.get(first..).unwrap_or_default().iter();
        spans.take_while(move |(start, _)| *start < range.end).map(move |(start, count)| {
            let (from, to) = (range.start.max(*start), range.end.min(start + count));
            (from - range.start, to - from)
        })
    }
}

/// The place of the decompressed bytes of a page.
#[derive(Clone, Debug)]
enum PagePlace {
    /// In the column chunk as it is.
    Chunk(Range<usize>),
    /// In the column's buffer.
    Buffer(Range<usize>),
}

impl PagePlace {
    fn bytes<'a>(&self, chunk: &'a [u8], buffer: &'a [u8]) -> Result<&'a [u8], Flaw> {
        match self {
            PagePlace::Chunk(range) => chunk.get(range.clone()),
            PagePlace::Buffer(range) => buffer.get(range.clone()),
        }
        .ok_or(SHORT)
    }
}

/// The rest of an open page. Positions count from the start of the page's bytes.
#[derive(Debug)]
struct Page {
    rows: usize,
    levels: Option<(PagePlace, PackedRuns)>,
    place: PagePlace,
    values: PageValues,
}

#[derive(Debug)]
enum PageValues {
    /// Values from this byte on.
    Plain(usize),
    /// Values from this bit on.
    Bits(usize),
    BitRuns(PackedRuns),
    Indices(PackedRuns),
}

/// Pages of a column chunk.
pub(crate) struct Pages {
    pub bytes: Vec<u8>,
    /// The rows of each page, by the file's index. `None` if no page of the chunk was left out.
    pub rows: Option<Vec<Range<usize>>>,
}

/// A column that is being decoded, chunk by chunk.
pub(crate) struct FlatColumn {
    kind: Arc<FlatKind>,
    /// Whether its rows may be null.
    optional: bool,
    codec: PageCodec,
    chunk: Vec<u8>,
    /// The rows of the pages that `chunk` has, by the file's index; `None` if it has all.
    indexed: Option<Vec<Range<usize>>>,
    /// Where the next page begins.
    at: usize,
    /// The number of the chunk's rows that were passed.
    row: usize,
    dictionary: Option<ArrayRef>,
    page: Option<Page>,
    /// The open page, decompressed.
    buffer: Vec<u8>,
    spans: Vec<Span>,
    indices: Vec<u32>,
}

impl FlatColumn {
    /// A column at the first row of a chunk. `None` if the chunk has a codec that is not read here.
    pub(crate) fn new(
        kind: Arc<FlatKind>,
        optional: bool,
        compression: Compression,
        pages: Pages,
    ) -> Option<FlatColumn> {
        Some(FlatColumn {
            kind,
            optional,
            codec: PageCodec::of(compression)?,
            chunk: pages.bytes,
            indexed: pages.rows,
            at: 0,
            row: 0,
            dictionary: None,
            page: None,
            buffer: Vec::new(),
            spans: Vec::new(),
            indices: Vec::new(),
        })
    }

    /// Goes on with another chunk of the same column. Returns `None` in the same case as [`FlatColumn::new`].
    pub(crate) fn continue_with(&mut self, compression: Compression, pages: Pages) -> Option<()> {
        self.codec = PageCodec::of(compression)?;
        (self.chunk, self.indexed) = (pages.bytes, pages.rows);
        self.restart();
        Some(())
    }

    /// Frees the memory of its chunk before the next one.
    pub(crate) fn release(&mut self) {
        (self.chunk, self.buffer) = (Vec::new(), Vec::new());
    }

    /// Goes back to the chunk's first row.
    pub(crate) fn restart(&mut self) {
        (self.at, self.row, self.dictionary, self.page) = (0, 0, None, None);
    }

    /// Reads the next rows, and returns those that are kept.
    pub(crate) fn read(&mut self, kept: &KeptRows) -> PageResult<ArrayRef> {
        let mut values = GatheredValues::new(&self.kind, kept.count);
        let mut row = 0;
        while row < kept.rows {
            let left = kept.rows - row;
            let is_wanted = |rows: usize| kept.within(row..row + rows).next().is_some();
            let passed = match &self.page {
                Some(page) if page.rows > 0 => {
                    let rows = left.min(page.rows);
                    let mut spans = std::mem::take(&mut self.spans);
                    spans.clear();
                    spans.extend(kept.within(row..row + rows));
                    self.take(rows, &mut spans, &mut values)?;
                    self.spans = spans;
                    rows
                }
                _ => match self.absent() {
                    0 => {
                        let header = self.header()?.ok_or("it has fewer rows than its row group claims")?;
                        match self.rows_of(&header)? {
                            Some(rows) if rows <= left && !is_wanted(rows) => {
                                self.body(&header)?;
                                rows
                            }
                            _ => {
                                self.open(&header)?;
                                0
                            }
                        }
                    }
                    absent if is_wanted(left.min(absent)) => {
                        return Err(Error::internal("a page was left out, but rows of it are wanted").into());
                    }
                    absent => left.min(absent),
                },
            };
            row += passed;
            self.row += passed;
        }
        values.finish(self.dictionary.as_ref())
    }

    /// The number of next rows in pages that were not fetched.
    fn absent(&self) -> usize {
        let Some(pages) = &self.indexed else { return 0 };
        let next = pages.get(pages.partition_point(|page| page.end <= self.row));
        next.map_or(usize::MAX, |page| page.start.saturating_sub(self.row))
    }

    /// The number of rows in the next page, which is a data page.
    fn rows_of(&self, header: &PageHeader) -> Result<Option<usize>, Flaw> {
        if !matches!(header.kind, DATA_PAGE | DATA_PAGE_V2) {
            return Ok(None);
        }
        let rows = usize::try_from(header.values).map_err(|_| SHORT)?;
        let Some(pages) = &self.indexed else { return Ok(Some(rows)) };
        let page = pages.binary_search_by_key(&self.row, |page| page.start).ok().and_then(|at| pages.get(at));
        match page.is_some_and(|page| page.len() == rows) {
            true => Ok(Some(rows)),
            false => Err("it has another number of rows than the file's index says"),
        }
    }

    /// Checks that there are no more rows.
    pub(crate) fn check_end(&mut self) -> PageResult<()> {
        let mut rows = self.page.as_ref().map_or(0, |page| page.rows as i64);
        while let Some(header) = self.header()? {
            self.body(&header)?;
            if matches!(header.kind, DATA_PAGE | DATA_PAGE_V2) {
                rows = rows.saturating_add(header.values);
            }
        }
        match rows {
            0 => Ok(()),
            _ => Err("it has more rows than its row group claims".into()),
        }
    }

    /// The header of the next page.
    fn header(&self) -> Result<Option<PageHeader>, Flaw> {
        match self.chunk.get(self.at..) {
            None | Some([]) => Ok(None),
            Some(rest) => thrift::page_header(rest).map(Some),
        }
    }

    /// Moves past the page. Returns its position in the chunk.
    fn body(&mut self, header: &PageHeader) -> Result<Range<usize>, Flaw> {
        let start = self.at + header.length;
        let length = usize::try_from(header.compressed).map_err(|_| SHORT)?;
        let end = start.checked_add(length).filter(|end| *end <= self.chunk.len()).ok_or(SHORT)?;
        self.at = end;
        Ok(start..end)
    }

    /// Goes into the next page.
    fn open(&mut self, header: &PageHeader) -> PageResult<()> {
        let body = self.body(header)?;
        let bytes = self.chunk.get(body.clone()).ok_or(SHORT)?;
        if let Some(expected) = header.crc
            && crc32fast::hash(bytes) != expected as u32
        {
            return Err(Error::corrupt("the CRC checksum of a page does not match: the file is damaged").into());
        }
        match header.kind {
            INDEX_PAGE => Ok(()),
            thrift::DICTIONARY_PAGE => self.open_dictionary(header, body),
            DATA_PAGE => {
                let place = self.inflate(header.uncompressed, body, false)?;
                self.open_v1(header, place)
            }
            DATA_PAGE_V2 => self.open_v2(header, body),
            _ => Err("it is of an unknown kind".into()),
        }
    }

    /// Decompresses bytes of the chunk if they are stored compressed.
    fn inflate(&mut self, length: i64, bytes: Range<usize>, is_plain: bool) -> PageResult<PagePlace> {
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        if is_plain || self.codec == PageCodec::None {
            return Ok(PagePlace::Chunk(bytes));
        }
        let compressed = self.chunk.get(bytes).ok_or(SHORT)?;
        match self.codec.inflate(compressed, length, &mut self.buffer)? {
            Inflated::Whole => Ok(PagePlace::Buffer(0..length)),
            Inflated::FirstMember => Err(Stop::Foreign),
        }
    }

    fn open_dictionary(&mut self, header: &PageHeader, body: Range<usize>) -> PageResult<()> {
        if self.dictionary.is_some() || self.page.is_some() {
            return Err("it is a dictionary behind the first page".into());
        }
        if !matches!(header.encoding, PLAIN | PLAIN_DICTIONARY | RLE_DICTIONARY) || self.kind.is_boolean() {
            return Err(Stop::Foreign);
        }
        let place = self.inflate(header.uncompressed, body, false)?;
        let page = place.bytes(&self.chunk, &self.buffer)?;
        let count = usize::try_from(header.values).map_err(|_| SHORT)?;
        if count > page.len() {
            return Err("a dictionary claims more values than it has bytes".into());
        }
        let mut values = GatheredValues::new(&self.kind, count);
        values.expect_plain(None)?;
        values.rows_without_nulls(count);
        values.plain((page, &mut 0), (count, count), &[(0, count)])?;
        self.dictionary = Some(values.finish(None)?);
        Ok(())
    }

    fn open_v1(&mut self, header: &PageHeader, place: PagePlace) -> PageResult<()> {
        let mut start = 0;
        let mut levels = None;
        if self.optional {
            if header.level_encoding != RLE {
                return Err(Stop::Foreign);
            }
            let runs = prefixed(place.bytes(&self.chunk, &self.buffer)?, 0)?;
            start = runs.end;
            levels = Some((place.clone(), PackedRuns::new(runs, 1)?));
        }
        self.open_values(header, levels, place, start)
    }

    fn open_v2(&mut self, header: &PageHeader, body: Range<usize>) -> PageResult<()> {
        let [repetition, definition] = header.level_bytes.map(usize::try_from);
        let levels = body.start.checked_add(repetition.map_err(|_| SHORT)?).ok_or(SHORT)?;
        let values = levels.checked_add(definition.map_err(|_| SHORT)?).filter(|at| *at <= body.end).ok_or(SHORT)?;
        let length = header.uncompressed.checked_sub((values - body.start) as i64).ok_or(SHORT)?;
        let place = self.inflate(length, values..body.end, header.plain_at.is_some())?;
        let levels = match self.optional {
            true => Some((PagePlace::Chunk(levels..values), PackedRuns::new(0..values - levels, 1)?)),
            false => None,
        };
        self.open_values(header, levels, place, 0)
    }

    /// Goes to the values, which start at this byte.
    fn open_values(
        &mut self,
        header: &PageHeader,
        levels: Option<(PagePlace, PackedRuns)>,
        place: PagePlace,
        start: usize,
    ) -> PageResult<()> {
        let page = place.bytes(&self.chunk, &self.buffer)?;
        let values = match header.encoding {
            PLAIN if self.kind.is_boolean() => PageValues::Bits(start * 8),
            PLAIN => PageValues::Plain(start),
            RLE if self.kind.is_boolean() => PageValues::BitRuns(PackedRuns::new(prefixed(page, start)?, 1)?),
            PLAIN_DICTIONARY | RLE_DICTIONARY if !self.kind.is_boolean() => {
                // A page of nulls may have no bytes here.
                let width = page.get(start).copied().unwrap_or(0);
                PageValues::Indices(PackedRuns::new(page.len().min(start + 1)..page.len(), u32::from(width))?)
            }
            _ => return Err(Stop::Foreign),
        };
        let rows = usize::try_from(header.values).map_err(|_| SHORT)?;
        self.page = Some(Page { rows, levels, place, values });
        Ok(())
    }

    /// Takes the next rows of the open page, those in `spans`.
    fn take(&mut self, rows: usize, spans: &mut Vec<Span>, values: &mut GatheredValues) -> PageResult<()> {
        let Some(page) = &mut self.page else { return Ok(()) };
        let bytes = page.place.bytes(&self.chunk, &self.buffer)?;
        match &page.values {
            PageValues::Indices(_) => values.expect_indices()?,
            _ => values.expect_plain(self.dictionary.as_ref())?,
        }
        let mut count = rows;
        match &mut page.levels {
            Some((place, levels)) => {
                let level_bytes = place.bytes(&self.chunk, &self.buffer)?;
                if levels.pass_ones(level_bytes, rows)? {
                    values.rows_without_nulls(total(spans));
                } else {
                    let mut valid = BooleanBufferBuilder::new(rows);
                    levels.take_bits(level_bytes, rows, &mut valid)?;
                    count = take_valid(&valid.finish(), spans, values);
                }
            }
            None => values.rows_without_nulls(total(spans)),
        }
        match &mut page.values {
            PageValues::Plain(at) => values.plain((bytes, at), (count, page.rows), spans)?,
            PageValues::Bits(at) => {
                values.bits(bytes, *at, count, spans)?;
                *at += count;
            }
            PageValues::BitRuns(runs) => {
                let mut bits = BooleanBufferBuilder::new(count);
                runs.take_bits(bytes, count, &mut bits)?;
                values.bits(bits.as_slice(), 0, count, spans)?;
            }
            PageValues::Indices(runs) => {
                let entries = self.dictionary.as_ref().map_or(0, |d| d.len());
                values.indices((bytes, runs), count, spans, (entries, &mut self.indices))?;
            }
        }
        page.rows -= rows;
        Ok(())
    }
}

fn total(spans: &[Span]) -> usize {
    spans.iter().map(|(_, count)| count).sum()
}

/// Adds the rows in `spans` with their nulls. Turns spans of rows into spans of the values of valid rows. Returns the
/// number of all values.
fn take_valid(valid: &BooleanBuffer, spans: &mut Vec<Span>, values: &mut GatheredValues) -> usize {
    let words: Vec<u64> = valid.bit_chunks().iter_padded().collect();
    let mut all = 0;
    let mut before = Vec::with_capacity(words.len());
    for word in &words {
        before.push(all);
        all += word.count_ones() as usize;
    }
    // The number of valid rows before one.
    let rank = |row: usize| match (words.get(row / 64), before.get(row / 64)) {
        (Some(word), Some(before)) => before + (word & ((1 << (row % 64)) - 1)).count_ones() as usize,
        _ => all,
    };
    for span in spans.iter_mut() {
        let (first, end) = (rank(span.0), rank(span.0 + span.1));
        values.rows(valid, *span, end - first);
        *span = (first, end - first);
    }
    spans.retain(|(_, count)| *count > 0);
    all
}

/// The range of bytes after their length, which takes four bytes.
fn prefixed(page: &[u8], at: usize) -> Result<Range<usize>, Flaw> {
    let length = page.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(SHORT)?;
    let start = at + length.len();
    let end = start.checked_add(u32::from_le_bytes(*length) as usize).filter(|end| *end <= page.len());
    Ok(start..end.ok_or(SHORT)?)
}
