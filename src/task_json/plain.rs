//! Tasks of files without deletes in few bytes: what most tasks of most scans are. A chunk of a pack has each of their
//! files, partitions, specs and residuals once, and tasks name them by number.
//!
//! ```text
//! task:      number of its file, start, length, number of its residual
//! file:      a byte of which members it has and its format; bytes that its path shares with the path before, and the
//!            others; number of its partition; the members, as distances from those of the file before; split offsets
//! partition: number of its spec, and for each field no value, or one as in bounds
//! residual:  its text
//! ```
//!
//! Numbers are written as Avro's. Files follow from each other, so to find one the files before it are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use super::SpecShape;
use super::encode::{SpecObject, add_text, same_fields};
use crate::codec::avro::Cursor;
use crate::codec::avro::encode::{put_bytes, put_long, put_optional};
use crate::error::{Error, Result};
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::{BoundPredicate, bind};
use crate::task::{DataFile, FileContent, FileFormat, Partition, PartitionValue, ReadContext, ScanTask, Split};
use crate::types::value::{ValueRef, decode_bound, encode_bound};

/// Formats by their bits.
const FORMATS: [FileFormat; 4] = [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc, FileFormat::Puffin];
const FORMAT_SHIFT: u32 = 6;

/// The place of a format among [`FORMATS`].
fn format_bits(format: FileFormat) -> u8 {
    match format {
        FileFormat::Parquet => 0,
        FileFormat::Avro => 1,
        FileFormat::Orc => 2,
        FileFormat::Puffin => 3,
    }
}

const HAS_OFFSETS: u8 = 1 << 5;

/// Numbers that every file has, and those that it may lack.
const ALWAYS: usize = 2;
const SOMETIMES: usize = 5;

/// A data file that has nothing else than this.
#[derive(Clone, Copy, Debug)]
pub struct PlainFile<'a> {
    /// Where it is, as recorded.
    pub path: &'a str,
    /// How it is encoded.
    pub format: FileFormat,
    /// Rows in it.
    pub record_count: i64,
    /// Its length.
    pub size_bytes: i64,
    /// As in [`DataFile`].
    pub sequence_number: Option<i64>,
    /// As in [`DataFile`].
    pub file_sequence_number: Option<i64>,
    /// As in [`DataFile`].
    pub snapshot_id: Option<i64>,
    /// As in [`DataFile`].
    pub sort_order_id: Option<i32>,
    /// As in [`DataFile`].
    pub first_row_id: Option<i64>,
    /// As in [`DataFile`].
    pub split_offsets: Option<&'a [i64]>,
}

/// A task that reads a range of a [`PlainFile`] and has nothing else than a residual.
pub trait PlainTask<'a> {
    /// Tells files apart while `'a` lasts.
    fn file_key(&self) -> (usize, usize);
    /// The file.
    ///
    /// # Errors
    /// `CorruptTable` if what the manifest says is none.
    fn file(&self) -> Result<PlainFile<'a>>;
    /// The file's partition.
    ///
    /// # Errors
    /// `Internal` if planning kept none.
    fn partition(&self) -> Result<&'a Arc<Partition>>;
    /// First byte and bytes of the range.
    fn range(&self) -> (i64, i64);
    /// The residual.
    ///
    /// # Errors
    /// As [`PlainTask::partition`].
    fn residual(&self) -> Result<Arc<BoundPredicate>>;
}

impl<'a> PlainTask<'a> for &'a ScanTask {
    fn file_key(&self) -> (usize, usize) {
        (Arc::as_ptr(&self.data_file) as usize, 0)
    }

    fn file(&self) -> Result<PlainFile<'a>> {
        let file: &'a DataFile = &self.data_file;
        Ok(PlainFile {
            path: &file.path,
            format: file.format,
            record_count: file.record_count,
            size_bytes: file.size_bytes,
            sequence_number: file.sequence_number,
            file_sequence_number: file.file_sequence_number,
            snapshot_id: file.snapshot_id,
            sort_order_id: file.sort_order_id,
            first_row_id: file.first_row_id,
            split_offsets: file.split_offsets.as_deref(),
        })
    }

    fn partition(&self) -> Result<&'a Arc<Partition>> {
        Ok(&self.data_file.partition)
    }

    fn range(&self) -> (i64, i64) {
        (self.start, self.length)
    }

    fn residual(&self) -> Result<Arc<BoundPredicate>> {
        Ok(self.residual.clone())
    }
}

/// Whether a task has nothing that [`PlainTask`] lacks.
pub(super) fn is_plain(task: &ScanTask) -> bool {
    let f = task.data_file.as_ref();
    let has_more = f.metrics.is_some()
        || f.key_metadata.is_some()
        || f.equality_ids.is_some()
        || f.referenced_data_file.is_some()
        || f.content_offset.is_some()
        || f.content_size_bytes.is_some()
        || f.leveled.is_some();
    f.content == FileContent::Data
        && !has_more
        && task.deletes.is_empty()
        && task.change.is_none()
        && task.merge.is_none()
}

// ---- writing

/// What the plain tasks of a chunk share, each with its number.
#[derive(Default)]
pub(super) struct Shared<'a> {
    files: HashMap<(usize, usize), i64>,
    partitions: HashMap<usize, i64>,
    /// Kept, so that no other takes the address.
    residuals: HashMap<usize, (i64, Arc<BoundPredicate>)>,
    specs: Vec<&'a Partition>,
    path: &'a str,
    numbers: [i64; ALWAYS + SOMETIMES],
    out: Sections<Vec<u8>>,
}

/// The sections that a chunk has of plain tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sections<T> {
    pub specs: T,
    pub partitions: T,
    pub residuals: T,
    pub files: T,
}

impl<'a> Shared<'a> {
    /// Appends a task to `out`.
    pub fn put_task(&mut self, task: &impl PlainTask<'a>, out: &mut Vec<u8>) -> Result<()> {
        let key = task.file_key();
        let file = match self.files.get(&key) {
            Some(number) => *number,
            None => {
                let partition = self.partition(task.partition()?);
                self.put_file(&task.file()?, partition);
                let number = self.files.len() as i64;
                self.files.insert(key, number);
                number
            }
        };
        let (start, length) = task.range();
        let residual = self.residual(task.residual()?)?;
        [file, start, length, residual].into_iter().for_each(|number| put_long(out, number));
        Ok(())
    }

    fn put_file(&mut self, file: &PlainFile<'a>, partition: i64) {
        let sometimes = [
            file.sequence_number,
            file.file_sequence_number,
            file.snapshot_id,
            file.sort_order_id.map(i64::from),
            file.first_row_id,
        ];
        let mut head = format_bits(file.format) << FORMAT_SHIFT;
        sometimes.iter().enumerate().for_each(|(i, number)| head |= u8::from(number.is_some()) << i);
        let out = &mut self.out.files;
        out.push(head | if file.split_offsets.is_some() { HAS_OFFSETS } else { 0 });
        let (path, before) = (file.path.as_bytes(), self.path.as_bytes());
        let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
        put_long(out, shared as i64);
        put_bytes(out, path.get(shared..).unwrap_or_default());
        put_long(out, partition);
        let always = [file.record_count, file.size_bytes].map(Some);
        for (number, last) in always.into_iter().chain(sometimes).zip(&mut self.numbers) {
            if let Some(number) = number {
                put_long(out, number.wrapping_sub(*last));
                *last = number;
            }
        }
        if let Some(offsets) = file.split_offsets {
            put_long(out, offsets.len() as i64);
            let before = std::iter::once(&0).chain(offsets);
            offsets.iter().zip(before).for_each(|(offset, before)| put_long(out, offset.wrapping_sub(*before)));
        }
        self.path = file.path;
    }

    fn partition(&mut self, partition: &'a Arc<Partition>) -> i64 {
        let next = self.partitions.len() as i64;
        let number = *self.partitions.entry(Arc::as_ptr(partition) as usize).or_insert(next);
        if number == next {
            let same = |spec: &&Partition| spec.spec_id == partition.spec_id && same_fields(spec, partition);
            let spec = self.specs.iter().position(same).unwrap_or_else(|| {
                self.specs.push(partition);
                self.specs.len() - 1
            });
            let mut tuple = Vec::new();
            put_long(&mut tuple, spec as i64);
            for field in &partition.values {
                put_optional(&mut tuple, field.value.as_ref(), |out, v| put_bytes(out, &encode_bound(v.as_ref())));
            }
            put_bytes(&mut self.out.partitions, &tuple);
        }
        number
    }

    fn residual(&mut self, residual: Arc<BoundPredicate>) -> Result<i64> {
        let key = Arc::as_ptr(&residual) as usize;
        if let Some((number, _)) = self.residuals.get(&key) {
            return Ok(*number);
        }
        let mut text = Vec::new();
        add_text(&predicate_to_json(&residual), &mut text)?;
        put_bytes(&mut self.out.residuals, &text);
        let number = self.residuals.len() as i64;
        self.residuals.insert(key, (number, residual));
        Ok(number)
    }

    /// Bytes, about.
    pub fn len(&self) -> usize {
        self.out.partitions.len() + self.out.residuals.len() + self.out.files.len()
    }

    /// The sections; there is nothing shared any more.
    pub fn take(&mut self) -> Result<Sections<Vec<u8>>> {
        let Shared { specs, mut out, .. } = std::mem::take(self);
        add_text(&specs.iter().map(|spec| SpecObject::complete(spec)).collect::<Vec<_>>(), &mut out.specs)?;
        Ok(out)
    }
}

// ---- reading

/// Reads the plain tasks of a split of a chunk.
///
/// # Errors
/// `CorruptTable` if they are none.
pub(super) fn plain_split(tasks: &[u8], shared: &Sections<&[u8]>, context: &Arc<ReadContext>) -> Result<Split> {
    let (mut cursor, mut rows) = (Cursor::new(tasks), Vec::new());
    while !cursor.rest().is_empty() {
        rows.push([cursor.long()?, cursor.long()?, cursor.long()?, cursor.long()?]);
    }
    let wanted = rows.iter().map(|[file, ..]| *file).collect();
    let files = Partitions::new(shared)?.files(shared.files, wanted)?;
    let texts = strings(shared.residuals)?;
    let mut residuals = HashMap::new();
    let mut residual_of = |number: i64| {
        if let Some(residual) = residuals.get(&number) {
            return Ok(Arc::clone(residual));
        }
        let text = super::parse(at(&texts, number).ok_or_else(|| no_such("residual", number))?)?;
        let residual = Arc::new(bind(&predicate_from_json(&text)?, &context.schema, true)?);
        residuals.insert(number, residual.clone());
        Ok(residual)
    };
    let task = |[file, start, length, residual]: [i64; 4]| {
        Ok(ScanTask {
            data_file: files.get(&file).ok_or_else(|| no_such("file", file))?.clone(),
            start,
            length,
            deletes: Vec::new(),
            residual: residual_of(residual)?,
            change: None,
            merge: None,
        })
    };
    Ok(Split { context: context.clone(), tasks: rows.into_iter().map(task).collect::<Result<_>>()? })
}

#[cold]
fn no_such(what: &str, number: i64) -> Error {
    Error::corrupt(format!("packed tasks have no {what} {number}"))
}

/// Byte strings that follow each other.
fn strings(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let (mut cursor, mut out) = (Cursor::new(bytes), Vec::new());
    while !cursor.rest().is_empty() {
        out.push(cursor.bytes()?);
    }
    Ok(out)
}

fn at<T>(all: &[T], number: i64) -> Option<&T> {
    all.get(usize::try_from(number).ok()?)
}

/// The partitions of a chunk, those that were asked for.
struct Partitions<'a> {
    specs: Vec<SpecShape>,
    tuples: Vec<&'a [u8]>,
    read: HashMap<i64, Arc<Partition>>,
}

impl<'a> Partitions<'a> {
    fn new(shared: &Sections<&'a [u8]>) -> Result<Partitions<'a>> {
        Ok(Partitions {
            specs: SpecShape::parse_list(&super::parse(shared.specs)?)?,
            tuples: strings(shared.partitions)?,
            read: HashMap::new(),
        })
    }

    fn get(&mut self, number: i64) -> Result<Arc<Partition>> {
        if let Some(partition) = self.read.get(&number) {
            return Ok(partition.clone());
        }
        let mut cursor = Cursor::new(at(&self.tuples, number).ok_or_else(|| no_such("partition", number))?);
        let spec = cursor.long()?;
        let shape = at(&self.specs, spec).ok_or_else(|| no_such("spec", spec))?;
        let value = |field: &PartitionValue| {
            let value = match cursor.long()? {
                0 => None,
                _ => decode_bound(cursor.bytes()?, &field.ty)?.map(ValueRef::to_owned),
            };
            Ok(PartitionValue { value, ..field.clone() })
        };
        let values = shape.fields.iter().map(value).collect::<Result<_>>()?;
        let partition = Arc::new(Partition { spec_id: shape.id, values });
        self.read.insert(number, partition.clone());
        Ok(partition)
    }

    /// Those of a chunk's files that are wanted, by number.
    fn files(mut self, bytes: &[u8], wanted: BTreeSet<i64>) -> Result<HashMap<i64, Arc<DataFile>>> {
        let (mut files, mut next) = (Files::new(bytes), 0);
        let mut out = HashMap::with_capacity(wanted.len());
        for number in wanted {
            while next < number && !files.cursor.rest().is_empty() {
                files.step()?;
                next += 1;
            }
            if next != number || files.cursor.rest().is_empty() {
                return Err(no_such("file", number));
            }
            let (head, partition, offsets) = files.step()?;
            next += 1;
            out.insert(number, Arc::new(files.file(head, self.get(partition)?, offsets)?));
        }
        Ok(out)
    }
}

/// The files of a chunk, one after the other.
struct Files<'a> {
    cursor: Cursor<'a>,
    path: Vec<u8>,
    numbers: [i64; ALWAYS + SOMETIMES],
}

impl<'a> Files<'a> {
    fn new(bytes: &'a [u8]) -> Files<'a> {
        Files { cursor: Cursor::new(bytes), path: Vec::new(), numbers: [0; ALWAYS + SOMETIMES] }
    }

    /// Reads a file: its first byte, the number of its partition and its split offsets.
    fn step(&mut self) -> Result<(u8, i64, Option<Vec<i64>>)> {
        let cursor = &mut self.cursor;
        let head = *cursor.take(1)?.first().unwrap_or(&0);
        let shared = cursor.long()?;
        let shared =
            usize::try_from(shared).ok().filter(|n| *n <= self.path.len()).ok_or_else(|| no_such("path", shared))?;
        self.path.truncate(shared);
        self.path.extend_from_slice(cursor.bytes()?);
        let partition = cursor.long()?;
        for (i, last) in self.numbers.iter_mut().enumerate() {
            if i < ALWAYS || has(head, i) {
                *last = last.wrapping_add(cursor.long()?);
            }
        }
        if head & HAS_OFFSETS == 0 {
            return Ok((head, partition, None));
        }
        let (count, mut last) = (cursor.long()?, 0i64);
        let offset = |_| {
            last = last.wrapping_add(cursor.long()?);
            Ok(last)
        };
        Ok((head, partition, Some((0..count).map(offset).collect::<Result<_>>()?)))
    }

    /// The file that was read last.
    fn file(&self, head: u8, partition: Arc<Partition>, split_offsets: Option<Vec<i64>>) -> Result<DataFile> {
        let not_text = |e| Error::corrupt("a file's path is not UTF-8").because(e);
        let path = std::str::from_utf8(&self.path).map_err(not_text)?;
        let format = FORMATS[usize::from(head >> FORMAT_SHIFT)];
        let [record_count, size_bytes, sometimes @ ..] = self.numbers;
        let number = |i: usize| has(head, ALWAYS + i).then(|| sometimes[i]);
        Ok(DataFile {
            record_count,
            size_bytes,
            sequence_number: number(0),
            file_sequence_number: number(1),
            snapshot_id: number(2),
            sort_order_id: number(3).and_then(|id| i32::try_from(id).ok()),
            first_row_id: number(4),
            split_offsets,
            ..DataFile::new(FileContent::Data, path, format, partition)
        })
    }
}

/// Whether a file has the number at this place.
fn has(head: u8, place: usize) -> bool {
    head >> (place - ALWAYS) & 1 == 1
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
