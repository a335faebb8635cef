//! Tasks of files without deletes in a compact form. Most tasks of most scans are like that. A chunk of a pack has each
//! file, partition, spec and residual once, and tasks refer to them by number.
//!
//! ```text
//! task:      number of its file, as the distance from the file after that of the task before, times eight; in the low
//!            bits, two for the kind of range, and one that says whether it has a residual; if the range is not the
//!            whole file, start; if it does not end with the file, length; number of its residual
//! file:      two bytes, the lower first: which of the five numbers it has that it may lack (five bits), whether it has
//!            split offsets, whether all its numbers of the five are the last ones, whether its offsets are, its format
//!            (two bits); its path (see `paths`); number of its partition; rows, bytes and the five, as distances from
//!            the last ones; number of split offsets, and each as distance from that before
//! partition: number of its spec, and for each field no value, or one as in bounds
//! residual:  its text
//! ```
//!
//! Numbers are written as in Avro. A file is stored as the difference from the files before it, so a reader has to read
//! those first. The last number is that of the last file that wrote its own. The same holds for offsets.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::encode::{SpecObject, add_text, same_fields};
use super::members::parse;
use super::paths::{PathReader, PathWriter};
use super::task::SpecShape;
use crate::codec::avro::Cursor;
use crate::codec::avro::encode::{put_bytes, put_long, put_optional};
use crate::error::{Error, Result};
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::{BoundPredicate, bind};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition, PartitionValue, ReadContext, ScanTask, Split};
use crate::types::value::{ValueRef, decode_bound, encode_bound};

/// Formats by their bits.
const FORMATS: [FileFormat; 5] =
    [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc, FileFormat::Puffin, FileFormat::Blob];
const FORMAT_SHIFT: u32 = 8;

/// The place of a format among [`FORMATS`].
fn format_bits(format: FileFormat) -> u16 {
    match format {
        FileFormat::Parquet => 0,
        FileFormat::Avro => 1,
        FileFormat::Orc => 2,
        FileFormat::Puffin => 3,
        FileFormat::Blob => 4,
    }
}

const HAS_OFFSETS: u16 = 1 << 5;
const SAME_NUMBERS: u16 = 1 << 6;
const SAME_OFFSETS: u16 = 1 << 7;

/// Longer lists of offsets are always written out. This limits how much a few bytes can expand to.
const MOST_SAME_OFFSETS: usize = 64;

/// Numbers that every file has, and numbers that a file may lack.
const ALWAYS: usize = 2;
const SOMETIMES: usize = 5;

/// A file as it is read.
const WHOLE: i64 = 0;
const TO_THE_END: i64 = 1;
const A_PART: i64 = 2;
const RANGE_BITS: i64 = 3;
const HAS_RESIDUAL: i64 = 4;
const TASK_SHIFT: u32 = 3;

/// A data file that has only these members.
#[derive(Clone, Copy, Debug)]
pub struct PlainTaskFile<'a> {
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

/// A task that reads a range of a [`PlainTaskFile`] and has only a residual.
pub trait PlainTask<'a> {
    /// Tells files apart while `'a` lasts.
    fn file_key(&self) -> (usize, usize);
    /// The file.
    ///
    /// # Errors
    /// `CorruptTable` if the manifest's values are not a file.
    fn file(&self) -> Result<PlainTaskFile<'a>>;
    /// The file's partition.
    ///
    /// # Errors
    /// `Internal` if planning kept no partition.
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

    fn file(&self) -> Result<PlainTaskFile<'a>> {
        let file: &'a DataFile = &self.data_file;
        Ok(PlainTaskFile {
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
pub(crate) fn is_plain(task: &ScanTask) -> bool {
    let f = task.data_file.as_ref();
    let has_more = f.metrics.is_some()
        || f.key_metadata.is_some()
        || f.equality_ids.is_some()
        || f.referenced_data_file.is_some()
        || f.content_offset.is_some()
        || f.content_size_bytes.is_some()
        || f.bucket_file.is_some();
    f.content == FileContent::Data
        && !has_more
        && task.deletes.is_empty()
        && task.change.is_none()
        && task.merge.is_none()
}

// ---- writing

/// The data that plain tasks of a chunk share, each with its number.
#[derive(Default)]
pub(crate) struct Shared<'a> {
    files: HashMap<(usize, usize), (i64, i64)>,
    partitions: HashMap<usize, i64>,
    /// By address. The values are kept, so no other value gets the same address.
    residuals: HashMap<usize, (i64, Arc<BoundPredicate>)>,
    /// By content: each partition has its own residuals, and most are equal.
    residual_texts: HashMap<Vec<u8>, i64>,
    /// The next task usually has the same one.
    last_residual: Option<(Arc<BoundPredicate>, i64)>,
    specs: Vec<&'a Partition>,
    paths: PathWriter<'a>,
    numbers: [i64; ALWAYS + SOMETIMES],
    offsets: &'a [i64],
    out: PlainSections<Vec<u8>>,
}

/// The sections of a chunk of plain tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlainSections<T> {
    pub specs: T,
    pub partitions: T,
    pub residuals: T,
    pub files: T,
}

impl<'a> Shared<'a> {
    /// Appends the tasks of a split to `out`.
    pub(crate) fn put_tasks<T: PlainTask<'a>>(
        &mut self,
        tasks: impl IntoIterator<Item = T>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut next = 0;
        tasks.into_iter().try_for_each(|task| {
            let (number, size_bytes) = self.file(&task)?;
            let residual = self.residual(task.residual()?)?;
            let (start, length) = task.range();
            let range = match size_bytes.wrapping_sub(start) {
                rest if rest != length => A_PART,
                _ if start != 0 => TO_THE_END,
                _ => WHOLE,
            };
            let has_residual = if residual == 0 { 0 } else { HAS_RESIDUAL };
            put_long(out, (number - next) << TASK_SHIFT | range | has_residual);
            if range != WHOLE {
                put_long(out, start);
            }
            if range == A_PART {
                put_long(out, length);
            }
            if residual != 0 {
                put_long(out, residual);
            }
            next = number + 1;
            Ok(())
        })
    }

    /// The number and the bytes of a task's file.
    fn file(&mut self, task: &impl PlainTask<'a>) -> Result<(i64, i64)> {
        let (key, next) = (task.file_key(), self.files.len() as i64);
        if let Some(known) = self.files.get(&key) {
            return Ok(*known);
        }
        let (file, partition) = (task.file()?, self.partition(task.partition()?));
        self.put_file(&file, partition);
        self.files.insert(key, (next, file.size_bytes));
        Ok((next, file.size_bytes))
    }

    fn put_file(&mut self, file: &PlainTaskFile<'a>, partition: i64) {
        let sometimes = [
            file.sequence_number,
            file.file_sequence_number,
            file.snapshot_id,
            file.sort_order_id.map(i64::from),
            file.first_row_id,
        ];
        let mut head = format_bits(file.format) << FORMAT_SHIFT;
        sometimes.iter().enumerate().for_each(|(i, number)| head |= u16::from(number.is_some()) << i);
        let [_, _, last @ ..] = self.numbers;
        let same_numbers = sometimes.iter().zip(last).all(|(number, last)| number.is_none_or(|number| number == last));
        let same = |offsets: &[i64]| offsets.len() <= MOST_SAME_OFFSETS && offsets == self.offsets;
        let same_offsets = file.split_offsets.is_some_and(same);
        head |= if file.split_offsets.is_some() { HAS_OFFSETS } else { 0 };
        head |= if same_numbers { SAME_NUMBERS } else { 0 } | if same_offsets { SAME_OFFSETS } else { 0 };
        let out = &mut self.out.files;
        out.extend(head.to_le_bytes());
        self.paths.put(file.path, out);
        put_long(out, partition);
        let always = [file.record_count, file.size_bytes].map(Some);
        let sometimes = sometimes.map(|number| number.filter(|_| !same_numbers));
        for (number, last) in always.into_iter().chain(sometimes).zip(&mut self.numbers) {
            if let Some(number) = number {
                put_long(out, number.wrapping_sub(*last));
                *last = number;
            }
        }
        if let Some(offsets) = file.split_offsets.filter(|_| !same_offsets) {
            put_long(out, offsets.len() as i64);
            let before = std::iter::once(&0).chain(offsets);
            offsets.iter().zip(before).for_each(|(offset, before)| put_long(out, offset.wrapping_sub(*before)));
            self.offsets = offsets;
        }
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
        let is_same = |last: &Arc<BoundPredicate>| Arc::ptr_eq(last, &residual) || **last == *residual;
        if let Some((_, number)) = self.last_residual.as_ref().filter(|(last, _)| is_same(last)) {
            return Ok(*number);
        }
        let key = Arc::as_ptr(&residual) as usize;
        let number = match self.residuals.get(&key) {
            Some((number, _)) => *number,
            None => {
                let number = self.residual_of_text(&residual)?;
                self.residuals.insert(key, (number, residual.clone()));
                number
            }
        };
        self.last_residual = Some((residual, number));
        Ok(number)
    }

    /// The number of a residual that is at a new address.
    fn residual_of_text(&mut self, residual: &BoundPredicate) -> Result<i64> {
        let mut text = Vec::new();
        add_text(&predicate_to_json(residual), &mut text)?;
        let next = self.residual_texts.len() as i64;
        Ok(match self.residual_texts.entry(text) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                put_bytes(&mut self.out.residuals, new.key());
                *new.insert(next)
            }
        })
    }

    /// About the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.out.partitions.len() + self.out.residuals.len() + self.out.files.len()
    }

    /// Returns the sections and clears the shared values.
    pub(crate) fn take(&mut self) -> Result<PlainSections<Vec<u8>>> {
        let specs: Vec<_> = self.specs.iter().map(|spec| SpecObject::complete(spec)).collect();
        add_text(&specs, &mut self.out.specs)?;
        let out = std::mem::take(&mut self.out);
        // The next chunk has about as many.
        let (mut files, mut partitions) = (std::mem::take(&mut self.files), std::mem::take(&mut self.partitions));
        files.clear();
        partitions.clear();
        *self = Shared { files, partitions, ..Shared::default() };
        Ok(out)
    }
}

// ---- reading

/// Reads the plain tasks of a split of a chunk.
///
/// # Errors
/// `CorruptTable` if the bytes are not plain tasks.
pub(crate) fn plain_split(tasks: &[u8], shared: &PlainSections<&[u8]>, context: &Arc<ReadContext>) -> Result<Split> {
    let rows = task_rows(tasks)?;
    let wanted = rows.iter().map(|row| row.file).collect();
    let files = Partitions::new(shared)?.files(shared.files, wanted)?;
    let texts = strings(shared.residuals)?;
    let mut residuals = HashMap::new();
    let mut residual_of = |number: i64| {
        if let Some(residual) = residuals.get(&number) {
            return Ok(Arc::clone(residual));
        }
        let text = parse(at(&texts, number).ok_or_else(|| no_such("residual", number))?)?;
        let residual = Arc::new(bind(&predicate_from_json(&text)?, &context.schema, true)?);
        residuals.insert(number, residual.clone());
        Ok(residual)
    };
    let task = |row: TaskRow| {
        let data_file = files.get(&row.file).ok_or_else(|| no_such("file", row.file))?.clone();
        let length = row.length.unwrap_or(data_file.size_bytes.wrapping_sub(row.start));
        Ok(ScanTask {
            data_file,
            start: row.start,
            length,
            deletes: Vec::new(),
            residual: residual_of(row.residual)?,
            change: None,
            merge: None,
        })
    };
    Ok(Split { context: context.clone(), tasks: rows.into_iter().map(task).collect::<Result<_>>()? })
}

/// A task as it is written. Without a length it ends with its file.
struct TaskRow {
    file: i64,
    start: i64,
    length: Option<i64>,
    residual: i64,
}

fn task_rows(tasks: &[u8]) -> Result<Vec<TaskRow>> {
    let (mut cursor, mut rows, mut next) = (Cursor::new(tasks), Vec::new(), 0i64);
    while !cursor.rest().is_empty() {
        let first = cursor.long()?;
        let (range, has_residual) = (first & RANGE_BITS, first & HAS_RESIDUAL != 0);
        if range > A_PART {
            return Err(no_such("range", range));
        }
        let file = next.wrapping_add(first >> TASK_SHIFT);
        let start = if range == WHOLE { 0 } else { cursor.long()? };
        let length = if range == A_PART { Some(cursor.long()?) } else { None };
        let residual = if has_residual { cursor.long()? } else { 0 };
        rows.push(TaskRow { file, start, length, residual });
        next = file.wrapping_add(1);
    }
    Ok(rows)
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

/// The requested partitions of a chunk.
struct Partitions<'a> {
    specs: Vec<SpecShape>,
    tuples: Vec<&'a [u8]>,
    read: HashMap<i64, Arc<Partition>>,
}

impl<'a> Partitions<'a> {
    fn new(shared: &PlainSections<&'a [u8]>) -> Result<Partitions<'a>> {
        Ok(Partitions {
            specs: SpecShape::parse_list(&parse(shared.specs)?)?,
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

    /// The requested files of a chunk, by number.
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
            let (head, partition) = files.step()?;
            next += 1;
            out.insert(number, Arc::new(files.file(head, self.get(partition)?)?));
        }
        Ok(out)
    }
}

/// The files of a chunk, one after the other.
struct Files<'a> {
    cursor: Cursor<'a>,
    path: PathReader,
    numbers: [i64; ALWAYS + SOMETIMES],
    offsets: Vec<i64>,
}

impl<'a> Files<'a> {
    fn new(bytes: &'a [u8]) -> Files<'a> {
        let (path, numbers) = (PathReader::default(), [0; ALWAYS + SOMETIMES]);
        Files { cursor: Cursor::new(bytes), path, numbers, offsets: Vec::new() }
    }

    /// Reads a file: its first bytes and the number of its partition.
    fn step(&mut self) -> Result<(u16, i64)> {
        let cursor = &mut self.cursor;
        let head = u16::from_le_bytes(cursor.take(2)?.try_into().unwrap_or_default());
        self.path.step(cursor)?;
        let partition = cursor.long()?;
        for (i, last) in self.numbers.iter_mut().enumerate() {
            if i < ALWAYS || has(head, i) && head & SAME_NUMBERS == 0 {
                *last = last.wrapping_add(cursor.long()?);
            }
        }
        let is_odd = head & (HAS_OFFSETS | SAME_OFFSETS) == SAME_OFFSETS;
        if is_odd || head & SAME_OFFSETS != 0 && self.offsets.len() > MOST_SAME_OFFSETS {
            return Err(Error::corrupt("packed tasks repeat split offsets that do not exist, or too many of them"));
        }
        if head & (HAS_OFFSETS | SAME_OFFSETS) == HAS_OFFSETS {
            let (count, mut last) = (cursor.long()?, 0i64);
            let count = usize::try_from(count).map_err(|_| no_such("offset", count))?;
            self.offsets.clear();
            for _ in 0..count {
                last = last.wrapping_add(cursor.long()?);
                self.offsets.push(last);
            }
        }
        Ok((head, partition))
    }

    /// The file that was read last.
    fn file(&self, head: u16, partition: Arc<Partition>) -> Result<DataFile> {
        let format = head >> FORMAT_SHIFT;
        let format = *at(&FORMATS, i64::from(format)).ok_or_else(|| no_such("format", i64::from(format)))?;
        let [record_count, size_bytes, sometimes @ ..] = self.numbers;
        let number = |i: usize| has(head, ALWAYS + i).then(|| sometimes[i]);
        let sort_order = |id: i64| i32::try_from(id).map_err(|_| no_such("sort order", id));
        Ok(DataFile {
            record_count,
            size_bytes,
            sequence_number: number(0),
            file_sequence_number: number(1),
            snapshot_id: number(2),
            sort_order_id: number(3).map(sort_order).transpose()?,
            first_row_id: number(4),
            split_offsets: (head & HAS_OFFSETS != 0).then(|| self.offsets.clone()),
            ..DataFile::new(FileContent::Data, self.path.path()?, format, partition)
        })
    }
}

/// Whether a file has the number at this position.
fn has(head: u16, place: usize) -> bool {
    head >> (place - ALWAYS) & 1 == 1
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
