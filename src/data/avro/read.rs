//! The rows of an Avro file.
//!
//! A task covers the blocks whose preceding sync marker begins in the task's range of bytes. The marker before the
//! first block is the one of the header. Java divides files in the same way (`AvroIterable`). Blocks are fetched a few
//! megabytes at a time, never the whole file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::Schema as ArrowSchema;
use arrow::record_batch::RecordBatch;

use super::decode::RecordDecoder;
use super::schema::avro_columns;
use crate::codec::avro::container::{MAGIC, SYNC_LENGTH, block_head, check_sync};
use crate::codec::avro::{AvroCodec, Container, Cursor, Inflater, Node, Optional};
use crate::data::deletes::positions::RowPositions;
use crate::data::read::source::{BATCH_BYTES, DecodeRequest, FilePart, FormatFile, RecordedSize, Started};
use crate::error::{Error, Result};
use crate::store::Store;

/// Bytes fetched at a time.
const FETCH_BYTES: u64 = 4 << 20;

/// Bytes that are read first, from the start of a file. They hold the header of most files.
const HEAD_BYTES: u64 = 64 << 10;

/// The largest size of a header.
const MAX_HEAD_BYTES: u64 = 64 << 20;

/// Most bytes that the two numbers before a block take.
const BLOCK_HEAD_BYTES: u64 = 20;

/// Rows without any bytes that the blocks of a file may claim in total, unless the table records more.
const FREE_ROWS: u64 = 1 << 24;

/// An Avro file to read rows from.
pub(crate) struct AvroSource {
    blocks: Blocks,
    codec: AvroCodec,
    /// The union mark before each row, if any.
    record: Optional,
    rows: Node,
    schema: ArrowSchema,
    range: Range<i64>,
}

impl AvroSource {
    /// Reads the header.
    ///
    /// # Errors
    /// `CorruptTable` if it is not an Avro file or its header is damaged; `Unsupported` for codecs and schemas that
    /// cannot be read; the store's errors.
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<AvroSource> {
        let size = store.size(path)?;
        let fetched = read_head(store.as_ref(), path, size)?;
        let head = Container::head(&fetched)?;
        let root = head.schema()?;
        let (record, rows) = root.optional();
        let rows = rows.clone();
        let (schema, codec) = (avro_columns(&rows)?, head.codec);
        let (sync, at) = (head.sync(), head.header_length as u64);
        let (store, path) = (store.clone(), path.to_owned());
        let blocks = Blocks { store, path, size, sync, at, end: i64::MAX, fetched, fetched_at: 0 };
        Ok(AvroSource { blocks, codec, record, rows, schema, range: i64::MIN..i64::MAX })
    }
}

/// Bytes that hold the header.
fn read_head(store: &dyn Store, path: &str, size: u64) -> Result<Vec<u8>> {
    let mut length = size.min(HEAD_BYTES);
    loop {
        let bytes = store.get_range(path, 0, length as usize)?;
        let whole = length == size || length >= MAX_HEAD_BYTES;
        match Container::head(&bytes) {
            Err(_) if bytes.starts_with(MAGIC) && !whole => length = size.min(length * 8).min(MAX_HEAD_BYTES),
            Err(e) => return Err(e),
            Ok(_) => return Ok(bytes),
        }
    }
}

impl FormatFile for AvroSource {
    fn schema(&self) -> &ArrowSchema {
        &self.schema
    }

    fn narrow(&mut self, part: &FilePart<'_>) -> Result<bool> {
        self.range = part.range.clone();
        Ok(true)
    }

    fn start(mut self: Box<Self>, part: &FilePart<'_>, request: DecodeRequest) -> Result<Option<Started>> {
        let leaves: BTreeSet<usize> = request.all_leaves();
        let row = RecordDecoder::new(&self.rows, part.columns, &leaves)?;
        let position = match request.needs_positions() {
            true => Some(self.blocks.skip_to(self.range.start)?),
            false => self.blocks.seek(self.range.start).map(|()| None)?,
        };
        self.blocks.end = self.range.end;
        let is_whole = self.range == (i64::MIN..i64::MAX);
        if !is_whole && self.range.end == i64::MAX && self.blocks.size < part.recorded.bytes {
            return Err(cut_off(&part.recorded, self.blocks.size));
        }
        let batch_rows = request.batch_rows.min(BATCH_BYTES as usize / row.width().max(1)).max(1);
        let batches = AvroBatches {
            blocks: self.blocks,
            codec: self.codec,
            inflater: Inflater::default(),
            block: Vec::new(),
            at: 0,
            left: 0,
            row,
            record: self.record,
            row_bytes: self.rows.min_bytes + usize::from(self.record != Optional::Always),
            batch_rows,
            position,
            rows: 0,
            free_rows: 0,
            recorded: part.recorded,
            is_whole,
        };
        Ok(Some(Started { batches: Box::new(batches), leaves, test: Some(request.test), keys_tested: false }))
    }
}

/// Streams the blocks of a file.
struct Blocks {
    store: Arc<dyn Store>,
    path: String,
    size: u64,
    sync: [u8; SYNC_LENGTH],
    /// The first byte after a sync marker: where the next block begins.
    at: u64,
    /// Blocks whose marker begins here or later are not wanted.
    end: i64,
    /// Bytes of the file from `fetched_at` on.
    fetched: Vec<u8>,
    fetched_at: u64,
}

fn torn() -> Error {
    Error::corrupt("the Avro file ends within a block")
}

impl Blocks {
    /// Where the marker before the next block begins.
    fn marker(&self) -> i64 {
        i64::try_from(self.at).unwrap_or(i64::MAX).saturating_sub(SYNC_LENGTH as i64)
    }

    /// Bytes of the file from `at` on. They are at least as many as wanted, if the file has them.
    fn bytes(&mut self, at: u64, length: u64) -> Result<&[u8]> {
        let end = at.saturating_add(length).min(self.size);
        let fetched_end = self.fetched_at + self.fetched.len() as u64;
        if at < self.fetched_at || end > fetched_end {
            // Bytes that were fetched already are kept.
            let kept = match usize::try_from(at.wrapping_sub(self.fetched_at)) {
                Ok(from) if at >= self.fetched_at && from < self.fetched.len() => self.fetched.split_off(from),
                _ => Vec::new(),
            };
            let from = at + kept.len() as u64;
            // Bytes after the wanted part are fetched only as far as they may belong to its last block.
            let wanted = match u64::try_from(self.end) {
                Ok(part_end) => part_end.saturating_add(HEAD_BYTES).saturating_sub(from).min(FETCH_BYTES),
                Err(_) => 0,
            };
            let until = from.saturating_add(wanted).min(self.size).max(end);
            let more = self.store.get_range(&self.path, from, (until - from) as usize)?;
            self.fetched = kept;
            self.fetched.extend_from_slice(&more);
            self.fetched_at = at;
        }
        Ok(self.fetched.get((at - self.fetched_at) as usize..).unwrap_or_default())
    }

    /// The next block without its data: its records, and where its data is.
    fn next_head(&mut self) -> Result<(u64, Range<u64>)> {
        let at = self.at;
        let mut cursor = Cursor::new(self.bytes(at, BLOCK_HEAD_BYTES)?);
        let before = cursor.rest().len();
        let (count, length) = block_head(&mut cursor)?;
        let start = at + (before - cursor.rest().len()) as u64;
        let end = start.checked_add(length).filter(|end| end.saturating_add(SYNC_LENGTH as u64) <= self.size);
        Ok((count, start..end.ok_or_else(torn)?))
    }

    /// The next wanted block: its records and compressed data.
    fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        if self.at >= self.size || self.marker() >= self.end {
            return Ok(None);
        }
        let (count, data) = self.next_head()?;
        let length = data.end - data.start;
        self.at = data.end + SYNC_LENGTH as u64;
        let sync = self.sync;
        let bytes = self.bytes(data.start, length + SYNC_LENGTH as u64)?;
        let (data, rest) = bytes.split_at_checked(length as usize).ok_or_else(torn)?;
        check_sync(rest, &sync)?;
        Ok(Some((count, data)))
    }

    /// Goes to the first block whose marker does not begin before `start`; returns the number of records before it.
    fn skip_to(&mut self, start: i64) -> Result<u64> {
        let mut records = 0u64;
        while self.at < self.size && self.marker() < start {
            let (count, data) = self.next_head()?;
            let sync = self.sync;
            check_sync(self.bytes(data.end, SYNC_LENGTH as u64)?, &sync)?;
            records = records.checked_add(count).filter(|n| *n <= i64::MAX as u64).ok_or_else(impossible)?;
            self.at = data.end + SYNC_LENGTH as u64;
        }
        Ok(records)
    }

    /// Finds the position by searching for the marker, after any bytes.
    fn seek(&mut self, start: i64) -> Result<()> {
        if start <= self.marker() {
            return Ok(());
        }
        let mut from = u64::try_from(start).unwrap_or(0);
        let sync = self.sync;
        while from < self.size {
            let bytes = self.bytes(from, HEAD_BYTES)?;
            if let Some(found) = bytes.windows(SYNC_LENGTH).position(|w| *w == sync) {
                self.at = from + (found + SYNC_LENGTH) as u64;
                return Ok(());
            }
            from += bytes.len().saturating_sub(SYNC_LENGTH).max(1) as u64;
        }
        self.at = self.size;
        Ok(())
    }
}

#[cold]
fn cut_off(recorded: &RecordedSize, size: u64) -> Error {
    Error::corrupt(format!("the file has {size} bytes instead of {}: it is cut off", recorded.bytes))
}

fn impossible() -> Error {
    Error::corrupt("the blocks of the Avro file claim impossible numbers of rows")
}

/// Streams the batches of a file.
struct AvroBatches {
    blocks: Blocks,
    codec: AvroCodec,
    inflater: Inflater,
    /// The current block, decompressed, and the number of bytes read from it.
    block: Vec<u8>,
    at: usize,
    /// Records left in it.
    left: u64,
    row: RecordDecoder,
    /// The union mark before each record, if any.
    record: Optional,
    /// Fewest bytes of a record.
    row_bytes: usize,
    batch_rows: usize,
    /// The position of the next row, if it matters.
    position: Option<u64>,
    /// Rows read.
    rows: u64,
    /// Rows without any bytes that blocks claimed so far.
    free_rows: u64,
    recorded: RecordedSize,
    is_whole: bool,
}

impl AvroBatches {
    /// Takes the next block; `false` after the last one.
    fn next_block(&mut self) -> Result<bool> {
        if self.at != self.block.len() {
            return Err(Error::corrupt("a block of the Avro file is longer than its records"));
        }
        let Some((count, data)) = self.blocks.next()? else { return Ok(false) };
        let data = self.inflater.inflate(self.codec, data)?;
        let fits = match self.row_bytes {
            0 => {
                self.free_rows = self.free_rows.saturating_add(count);
                self.free_rows <= self.recorded.rows.max(FREE_ROWS)
            }
            bytes => count.saturating_mul(bytes as u64) <= data.len() as u64,
        };
        if !fits {
            return Err(Error::corrupt(format!(
                "a block of the Avro file claims {count} records, too many for its size"
            )));
        }
        self.block.clear();
        self.block.extend_from_slice(data);
        (self.at, self.left) = (0, count);
        Ok(true)
    }

    fn next_batch(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.batch_rows && bytes < BATCH_BYTES as usize {
            if self.left == 0 {
                match self.next_block()? {
                    true => continue,
                    false => break,
                }
            }
            let mut cursor = Cursor::new(self.block.get(self.at..).unwrap_or_default());
            let before = cursor.rest().len();
            while self.left > 0
                && rows < self.batch_rows
                && bytes + (before - cursor.rest().len()) < BATCH_BYTES as usize
            {
                cursor.begin_record(self.record)?;
                self.row.read(&mut cursor)?;
                self.left -= 1;
                rows += 1;
            }
            let read = before - cursor.rest().len();
            self.at += read;
            bytes += read;
        }
        if rows == 0 {
            return self.check_rows().map(|()| None);
        }
        self.rows += rows as u64;
        let positions = match &mut self.position {
            Some(first) => {
                let end = first.checked_add(rows as u64).ok_or_else(impossible)?;
                RowPositions::run(std::mem::replace(first, end)..end)
            }
            None => RowPositions::default(),
        };
        Ok(Some((self.row.finish(rows)?, positions)))
    }

    /// A file that is cut off between two blocks looks whole, and rows would be lost. A data file of the recorded
    /// length is taken as it is, even if the manifest records another number of rows.
    fn check_rows(&self) -> Result<()> {
        match &self.recorded {
            recorded if self.is_whole && recorded.are_deletes => recorded.check_whole(self.rows, self.blocks.size),
            recorded if self.is_whole && self.rows < recorded.rows && self.blocks.size < recorded.bytes => {
                Err(cut_off(recorded, self.blocks.size))
            }
            _ => Ok(()),
        }
    }
}

impl Iterator for AvroBatches {
    type Item = Result<(RecordBatch, RowPositions)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "avro_property_tests.rs"]
mod property_tests;
