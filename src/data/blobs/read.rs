//! The values of a column that is stored in files of blobs.
//!
//! A file has the values of a range of rows. Files of one commit follow each other. A later commit may change some
//! values: its files have placeholders for the others, which older files have. A row is null if no file has its value.
//!
//! Source: Java's `BlobFallbackRecordReader`, `BlobFileMeta`.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, RecordBatch};
use arrow::datatypes::SchemaRef;

use crate::codec::blob_file::{BlobIndex, BlobPlace, TAIL_BYTES, check_list_bytes, descriptor, index_bytes, payload};
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::ScanTask;
use crate::parallel::check_cancelled;
use crate::store::Store;
use crate::types::{Field, PrimitiveType, Schema, Type};

/// Bytes of values in a batch, if it has more than one row.
const BATCH_BYTES: u64 = 16 << 20;

/// The most values that are read at once when all are checked.
const VALUES_AT_ONCE: usize = 8192;

/// The longest value that a column of bytes can have.
const LONGEST: u64 = i32::MAX as u64;

/// The end of a file that is asked for at first. Most lists of lengths are shorter.
const FIRST_TAIL: u64 = 16 << 10;

/// The rows of a column, and how they are read.
pub(crate) struct BlobRows<'a> {
    pub store: &'a Arc<dyn Store>,
    pub field: &'a Field,
    /// The row id of the first row.
    pub first_row_id: i64,
    pub rows: u64,
    pub deletes: DeleteFilter,
    /// Most rows of a batch.
    pub batch_rows: usize,
    /// Whether values are replaced by descriptors, which say where they are.
    pub describes: bool,
}

/// Streams the values that deletes leave, as batches of one column.
pub(crate) struct BlobColumn {
    store: Arc<dyn Store>,
    schema: SchemaRef,
    /// The newest first.
    commits: Vec<Vec<BlobPiece>>,
    rows: u64,
    next: u64,
    deletes: DeleteFilter,
    batch_rows: usize,
    describes: bool,
    /// The value of the next row, if it was found before.
    ahead: Option<Option<Found>>,
}

/// A file and the rows that it has, counted from the first row of the column.
struct BlobPiece {
    path: String,
    rows: Range<u64>,
    /// The rest of the index, and the number of the row that it goes on with.
    index: Option<(BlobIndex, u64)>,
}

/// The file of a value, as the numbers of its commit and in it, and the bytes of the record.
type Found = ((usize, usize), Range<u64>);

impl BlobColumn {
    /// # Errors
    /// `CorruptTable` if files of a commit overlap or have no row ids; `Unsupported` for lists and maps of blobs.
    pub(crate) fn new(of: BlobRows<'_>, files: &[&ScanTask]) -> Result<BlobColumn> {
        if of.field.ty != Type::Primitive(PrimitiveType::Binary) {
            return Err(Error::unsupported("lists and maps of values of type BLOB can't be read yet")
                .with("column", &of.field.name)
                .hint("Select the other columns"));
        }
        let sequence = |file: &ScanTask| file.data_file.bucket_file.as_ref().map_or(0, |f| f.max_sequence_number);
        let mut files = files.to_vec();
        files.sort_by_key(|file| (Reverse(sequence(file)), file.data_file.first_row_id));
        let mut commits: Vec<Vec<BlobPiece>> = Vec::new();
        for same in files.chunk_by(|a, b| sequence(a) == sequence(b)) {
            let pieces = same.iter().map(|file| piece(file, of.first_row_id)).collect::<Result<Vec<_>>>()?;
            if let Some(later) = pieces.windows(2).find_map(|p| p[0].rows.end.gt(&p[1].rows.start).then_some(&p[1])) {
                return Err(Error::corrupt("two files of blobs of one commit have values of the same rows")
                    .with("path", &later.path));
            }
            commits.push(pieces);
        }
        let field = Field { required: false, ..of.field.clone() };
        Ok(BlobColumn {
            store: of.store.clone(),
            schema: to_arrow(&Schema::new(0, vec![field], Vec::new()))?,
            commits,
            rows: of.rows,
            next: 0,
            deletes: of.deletes,
            batch_rows: of.batch_rows.max(1),
            describes: of.describes,
            ahead: None,
        })
    }

    /// Some of the next rows, without those that are deleted.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.next < self.rows {
            check_cancelled()?;
            let most = self.next.saturating_add(self.batch_rows as u64).min(self.rows);
            let kept = match self.deletes.has_positions() {
                true => Some(self.deletes.keep_positions(&RowPositions::run(self.next..most))),
                false => None,
            };
            let start = self.next;
            let (mut found, mut bytes) = (Vec::new(), 0u64);
            while self.next < most && (bytes < BATCH_BYTES || self.describes) {
                let row = self.next;
                self.next += 1;
                if kept.as_ref().is_some_and(|kept| !kept.value((row - start) as usize)) {
                    continue;
                }
                let value = match self.ahead.take() {
                    Some(value) => value,
                    None => self.find(row)?,
                };
                let length = value.as_ref().map_or(0, |(_, record)| record.end - record.start);
                self.check_length(length)?;
                if !found.is_empty() && !self.describes && bytes.saturating_add(length) > LONGEST {
                    // The next batch begins with it.
                    self.ahead = Some(value);
                    self.next = row;
                    break;
                }
                bytes = bytes.saturating_add(length);
                found.push(value);
            }
            if !found.is_empty() {
                return self.batch(&found).map(Some);
            }
        }
        Ok(None)
    }

    /// The newest value of a row that is not a placeholder.
    fn find(&mut self, row: u64) -> Result<Option<Found>> {
        let mut is_covered = false;
        for (commit, pieces) in self.commits.iter_mut().enumerate() {
            let at = pieces.partition_point(|piece| piece.rows.end <= row);
            let passed = at.checked_sub(1).and_then(|before| pieces.get_mut(before));
            passed.into_iter().for_each(|piece| piece.index = None);
            let Some(piece) = pieces.get_mut(at).filter(|piece| piece.rows.contains(&row)) else { continue };
            is_covered = true;
            let within = row - piece.rows.start;
            match piece.place(self.store.as_ref(), within).with("path", &piece.path)? {
                BlobPlace::Null => return Ok(None),
                BlobPlace::Placeholder => {}
                BlobPlace::Record(bytes) => return Ok(Some(((commit, at), bytes))),
            }
        }
        match is_covered {
            true => Ok(None),
            false => Err(Error::corrupt(format!("no file of blobs has the value of row {row} of a column"))
                .with("column", self.schema.field(0).name())),
        }
    }

    fn batch(&self, found: &[Option<Found>]) -> Result<RecordBatch> {
        let values = match self.describes {
            true => found.iter().map(|value| value.as_ref().map(|f| self.described(f)).transpose()).collect(),
            false => self.values(found),
        }?;
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        let mut column = BinaryBuilder::with_capacity(values.len(), bytes);
        values.iter().for_each(|value| column.append_option(value.as_deref()));
        RecordBatch::try_new(self.schema.clone(), vec![Arc::new(column.finish()) as ArrayRef])
            .map_err(|e| Error::internal("values of blobs are not an Arrow batch").because(e))
    }

    /// Refuses values that an array can't hold, before they are read.
    fn check_length(&self, bytes: u64) -> Result<()> {
        match bytes <= LONGEST || self.describes {
            true => Ok(()),
            false => Err(Error::unsupported(format!("a value of {bytes} bytes is too long for a column of bytes"))
                .with("column", self.schema.field(0).name())
                .hint("Set the option 'blob-as-descriptor' to 'true' to get the places of values")),
        }
    }

    fn piece(&self, (commit, at): (usize, usize)) -> Result<&BlobPiece> {
        let piece = self.commits.get(commit).and_then(|pieces| pieces.get(at));
        piece.ok_or_else(|| Error::internal("a file of blobs is not known"))
    }

    fn described(&self, (piece, record): &Found) -> Result<Vec<u8>> {
        let value = BlobPlace::Record(record.clone()).value().unwrap_or_default();
        Ok(descriptor(&self.piece(*piece)?.path, &value))
    }

    /// The bytes of values. Those of one file are read together.
    fn values(&self, found: &[Option<Found>]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values: Vec<Option<Vec<u8>>> = vec![None; found.len()];
        let mut wanted: Vec<(usize, &Found)> =
            found.iter().enumerate().filter_map(|(row, value)| Some((row, value.as_ref()?))).collect();
        wanted.sort_by_key(|(row, (piece, _))| (*piece, *row));
        for of_file in wanted.chunk_by(|(_, (a, _)), (_, (b, _))| a == b) {
            let Some((_, (piece, _))) = of_file.first() else { continue };
            let path = &self.piece(*piece)?.path;
            let ranges: Vec<Range<u64>> = of_file.iter().map(|(_, (_, record))| record.clone()).collect();
            let records = self.store.get_ranges(path, &ranges).with("path", path)?;
            for ((row, _), record) in of_file.iter().zip(records) {
                if let Some(value) = values.get_mut(*row) {
                    *value = Some(payload(&record).with("path", path)?.to_vec());
                }
            }
        }
        Ok(values)
    }
}

fn piece(file: &ScanTask, first_row_id: i64) -> Result<BlobPiece> {
    let path = file.data_file.path.clone();
    let bad = || Error::corrupt("a file of blobs has rows that the files of its rows don't have").with("path", &path);
    let start = file.data_file.first_row_id.and_then(|first| u64::try_from(first.checked_sub(first_row_id)?).ok());
    let start = start.ok_or_else(bad)?;
    let end = u64::try_from(file.data_file.record_count).ok().and_then(|rows| start.checked_add(rows));
    Ok(BlobPiece { rows: start..end.ok_or_else(bad)?, path, index: None })
}

impl BlobPiece {
    /// The place of a value. Rows come in ascending order. Reads the file's index if that was not done before.
    fn place(&mut self, store: &dyn Store, row: u64) -> Result<BlobPlace> {
        let (index, next) = match &mut self.index {
            Some(index) => index,
            none => none.insert((read_index(store, &self.path, self.rows.end - self.rows.start)?.0, 0)),
        };
        let skipped = usize::try_from(row.saturating_sub(*next)).unwrap_or(usize::MAX);
        *next = row.saturating_add(1);
        index.nth(skipped).transpose()?.ok_or_else(|| Error::internal("a file of blobs lacks a row"))
    }
}

/// Reads the places of the values of a file with this number of rows, and its length.
///
/// # Errors
/// As [`index_bytes`] and [`BlobIndex::decode`]; those of the store.
pub(crate) fn read_index(store: &dyn Store, path: &str, rows: u64) -> Result<(BlobIndex, u64)> {
    let (mut tail, size) = store.get_tail(path, FIRST_TAIL)?;
    let length = index_bytes(&tail, size)?;
    check_list_bytes(length, rows)?;
    let whole = length + TAIL_BYTES as u64;
    if whole > tail.len() as u64 {
        tail = store.get_tail(path, whole)?.0;
    }
    let end = tail.len().saturating_sub(TAIL_BYTES);
    let start = end.checked_sub(length as usize);
    let start = start.ok_or_else(|| Error::corrupt("a file of blobs changed while it was read"))?;
    tail.truncate(end);
    Ok((BlobIndex::decode(tail.split_off(start), size - whole, rows)?, size))
}

/// Checks all values of a file with this number of rows.
///
/// # Errors
/// As [`read_index`] and [`payload`]; a cancellation.
pub(crate) fn check_values(store: &dyn Store, path: &str, rows: u64) -> Result<()> {
    let (index, _) = read_index(store, path, rows)?;
    let mut records = index.filter_map(|place| match place {
        Ok(BlobPlace::Record(record)) => Some(Ok(record)),
        Ok(_) => None,
        Err(e) => Some(Err(e)),
    });
    loop {
        check_cancelled()?;
        let (mut some, mut bytes) = (Vec::new(), 0u64);
        while bytes < BATCH_BYTES && some.len() < VALUES_AT_ONCE {
            let Some(record) = records.next().transpose()? else { break };
            bytes += record.end - record.start;
            some.push(record);
        }
        if some.is_empty() {
            return Ok(());
        }
        store.get_ranges(path, &some)?.iter().try_for_each(|record| payload(record).map(drop))?;
    }
}

impl Iterator for BlobColumn {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        if next.is_err() {
            self.next = self.rows;
        }
        next.transpose()
    }
}
