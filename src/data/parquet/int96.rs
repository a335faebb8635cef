//! Timestamps of 96 bits in Parquet files: a Julian day, and the nanoseconds in it. Paimon stores timestamps of more
//! than six digits in this form.
//!
//! [`RowWriter`] writes files with such columns. The Arrow writer of the parquet crate has no such type. So their
//! levels and values are encoded here, between the columns of that writer. [`AtTheEnds`] finds values that nanoseconds
//! can't hold.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{DataType, FieldRef, Fields, SchemaRef, TimestampMillisecondType, TimestampNanosecondType};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::Type as PhysicalType;
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::writer::SerializedFileWriter;

use crate::error::{Error, Result};

/// The Julian day of 1970-01-01.
const EPOCH_DAY: i64 = 2_440_588;

const DAY_NANOS: i64 = 86_400_000_000_000;

/// The first and the last millisecond that 64-bit nanoseconds hold only in part.
const PARTLY: [i64; 2] = [i64::MIN.div_euclid(1_000_000), i64::MAX.div_euclid(1_000_000)];

/// Finds timestamps that were wrapped around to the other end when nanoseconds were read. Milliseconds alone can't show
/// that for the first and the last millisecond. Reading both units shows it.
#[derive(Debug, Default)]
pub(crate) struct AtTheEnds {
    /// For each column with values in [`PARTLY`], a digest of these values in order. It tells the two milliseconds
    /// apart. All values of a file may be such values.
    columns: BTreeMap<String, DefaultHasher>,
}

impl AtTheEnds {
    /// Notes timestamps that were read in milliseconds or nanoseconds.
    ///
    /// # Errors
    /// `Unsupported` if nanoseconds of 64 bits can't hold one.
    pub(crate) fn note(&mut self, batch: &RecordBatch) -> Result<()> {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            self.note_column(field.name(), column)?;
        }
        Ok(())
    }

    fn note_column(&mut self, name: &str, array: &ArrayRef) -> Result<()> {
        if let Some(millis) = array.as_primitive_opt::<TimestampMillisecondType>() {
            if min(millis).is_some_and(|v| v < PARTLY[0]) || max(millis).is_some_and(|v| v > PARTLY[1]) {
                return Err(out_of_range(name));
            }
            self.note_millis(name, millis.iter().flatten());
        } else if let Some(nanos) = array.as_primitive_opt::<TimestampNanosecondType>() {
            self.note_millis(name, nanos.iter().flatten().map(|v| v.div_euclid(1_000_000)));
        }
        children(array).iter().try_for_each(|child| self.note_column(name, child))
    }

    fn note_millis(&mut self, name: &str, millis: impl Iterator<Item = i64>) {
        for value in millis.filter(|v| PARTLY.contains(v)) {
            self.columns.entry(name.to_owned()).or_default().write_u8(u8::from(value == PARTLY[1]));
        }
    }

    /// Whether no such value was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Checks that no value was wrapped around. `nanos` has the notes of the same column in nanoseconds.
    ///
    /// # Errors
    /// `Unsupported` if a value was wrapped around.
    pub(crate) fn check_nanos(&self, nanos: &AtTheEnds) -> Result<()> {
        let same = |(name, ends): &(&String, &DefaultHasher)| {
            nanos.columns.get(*name).is_some_and(|other| other.finish() == ends.finish())
        };
        self.columns.iter().find(|column| !same(column)).map_or(Ok(()), |(name, _)| Err(out_of_range(name)))
    }
}

fn out_of_range(column: &str) -> Error {
    Error::unsupported("a timestamp is before 1677-09-21 or after 2262-04-11, which 64-bit nanoseconds can't represent")
        .with("column", column)
        .hint("Leave the column out with select=, or use a type of microseconds, which covers all years")
}

/// The arrays right below an array.
fn children(array: &ArrayRef) -> Vec<ArrayRef> {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().to_vec(),
        DataType::List(_) => vec![array.as_list::<i32>().values().clone()],
        DataType::Map(..) => array.as_map().entries().columns().to_vec(),
        _ => Vec::new(),
    }
}

/// Nanoseconds since 1970 as a Julian day and the remainder.
fn int96(nanos: i64) -> Int96 {
    let (day, rest) = (nanos.div_euclid(DAY_NANOS) + EPOCH_DAY, nanos.rem_euclid(DAY_NANOS));
    let mut out = Int96::new();
    out.set_data(rest as u32, (rest >> 32) as u32, day as u32);
    out
}

/// A value of the next column: its levels, and its place in the array.
#[derive(Clone, Copy, Debug)]
struct Slot {
    repetition: i16,
    definition: i16,
    at: Option<usize>,
}

/// Levels and values of a column of 96-bit timestamps, for the row group in progress.
#[derive(Debug, Default)]
struct WideColumn {
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<Int96>,
}

impl WideColumn {
    fn add(&mut self, field: &FieldRef, column: &ArrayRef, path: &[usize]) -> ParquetResult<()> {
        let root = (0..column.len()).map(|row| Slot { repetition: 0, definition: 0, at: Some(row) });
        let (slots, leaf) = descend(field, column, path, root.collect(), 0)?;
        let nanos = leaf.as_primitive_opt::<TimestampNanosecondType>();
        let nanos = nanos.ok_or_else(|| ParquetError::General("a timestamp is not in nanoseconds".to_owned()))?;
        self.definitions.extend(slots.iter().map(|s| s.definition));
        self.repetitions.extend(slots.iter().map(|s| s.repetition));
        let values = nanos.values();
        self.values.extend(slots.iter().filter_map(|s| values.get(s.at?)).map(|v| int96(*v)));
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.values.len() * size_of::<Int96>() + self.definitions.len() * 2 * size_of::<i16>()
    }
}

/// Goes down to a leaf. `depth` repeated fields lie above it.
fn descend(
    field: &FieldRef,
    array: &ArrayRef,
    path: &[usize],
    mut slots: Vec<Slot>,
    depth: i16,
) -> ParquetResult<(Vec<Slot>, ArrayRef)> {
    if field.is_nullable() {
        for slot in &mut slots {
            match slot.at.is_some_and(|at| array.is_null(at)) {
                true => slot.at = None,
                false => slot.definition += i16::from(slot.at.is_some()),
            }
        }
    }
    let Some((child, path)) = path.split_first() else { return Ok((slots, array.clone())) };
    let lost = || ParquetError::General("a column of timestamps is not where its schema says".to_owned());
    let below = |fields: &Fields| fields.get(*child).cloned().ok_or_else(lost);
    let inner = children(array).get(*child).cloned().ok_or_else(lost)?;
    match array.data_type() {
        DataType::Struct(fields) => descend(&below(fields)?, &inner, path, slots, depth),
        DataType::List(element) => {
            let slots = repeat(array.as_list::<i32>().value_offsets(), &slots, depth + 1);
            descend(element, &inner, path, slots, depth + 1)
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else { return Err(lost()) };
            let slots = repeat(array.as_map().value_offsets(), &slots, depth + 1);
            descend(&below(fields)?, &inner, path, slots, depth + 1)
        }
        _ => Err(lost()),
    }
}

/// The elements of lists. The first element takes the place of its list.
fn repeat(offsets: &[i32], lists: &[Slot], level: i16) -> Vec<Slot> {
    let mut out = Vec::with_capacity(lists.len());
    for list in lists {
        let elements = list.at.and_then(|at| Some(*offsets.get(at)? as usize..*offsets.get(at + 1)? as usize));
        let Some(elements) = elements.filter(|e| !e.is_empty()) else {
            out.push(Slot { at: None, ..*list });
            continue;
        };
        let first = elements.start;
        out.extend(elements.map(|at| Slot {
            repetition: if at == first { list.repetition } else { level },
            definition: list.definition + 1,
            at: Some(at),
        }));
    }
    out
}

/// The place of a leaf column: its number among all leaves, its root's number, and the children on the way.
#[derive(Debug)]
struct WideLeaf {
    leaf: usize,
    root: usize,
    path: Vec<usize>,
}

/// The leaves of a type, in their order.
fn leaves_of(ty: &DataType, path: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
    let members: &[FieldRef] = match ty {
        DataType::Struct(fields) => fields,
        DataType::List(element) => std::slice::from_ref(element),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields,
            _ => &[],
        },
        _ => return each(path),
    };
    for (child, member) in members.iter().enumerate() {
        path.push(child);
        leaves_of(member.data_type(), path, each);
        path.pop();
    }
}

/// The row group in progress.
#[derive(Default)]
struct Group {
    columns: Vec<ArrowColumnWriter>,
    wide: Vec<WideColumn>,
}

impl Group {
    fn bytes(&self) -> usize {
        let plain: usize = self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        plain + self.wide.iter().map(WideColumn::bytes).sum::<usize>()
    }
}

/// A file with 96-bit timestamps being written.
pub(crate) struct WideWriter<W: Write + Send> {
    arrow: SchemaRef,
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    leaves: Vec<WideLeaf>,
    group: Option<Group>,
}

impl<W: Write + Send> WideWriter<W> {
    fn write(&mut self, rows: &RecordBatch) -> ParquetResult<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let group = match &mut self.group {
            Some(group) => group,
            none => {
                let columns = self.factory.create_column_writers(self.file.flushed_row_groups().len())?;
                none.insert(Group { columns, wide: self.leaves.iter().map(|_| WideColumn::default()).collect() })
            }
        };
        let mut writers = group.columns.iter_mut().enumerate();
        for (field, column) in self.arrow.fields().iter().zip(rows.columns()) {
            for levels in compute_leaves(field, column)? {
                match writers.next() {
                    Some((leaf, _)) if self.leaves.iter().any(|wide| wide.leaf == leaf) => {}
                    Some((_, writer)) => writer.write(&levels)?,
                    None => return Err(ParquetError::General("rows have more columns than their file".to_owned())),
                }
            }
        }
        for (wide, column) in self.leaves.iter().zip(&mut group.wide) {
            if let Some(field) = self.arrow.fields().get(wide.root) {
                column.add(field, rows.column(wide.root), &wide.path)?;
            }
        }
        let most = self.file.properties().max_row_group_bytes();
        if most.is_some_and(|most| group.bytes() >= most) { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> ParquetResult<()> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let mut out = self.file.next_row_group()?;
        for (leaf, column) in group.columns.into_iter().enumerate() {
            match self.leaves.iter().zip(&group.wide).find(|(wide, _)| wide.leaf == leaf) {
                None => column.close()?.append_to_row_group(&mut out)?,
                Some((_, wide)) => {
                    let missing = || ParquetError::General("a row group has too few columns".to_owned());
                    let mut writer = out.next_column()?.ok_or_else(missing)?;
                    let typed = writer.typed::<Int96Type>();
                    typed.write_batch(&wide.values, Some(&wide.definitions), Some(&wide.repetitions))?;
                    writer.close()?;
                }
            }
        }
        out.close().map(|_| ())
    }
}

/// A Parquet file being written, with 96-bit timestamps or without.
pub(crate) enum RowWriter<W: Write + Send> {
    /// The writer of the parquet crate.
    Plain(Box<ArrowWriter<W>>),
    /// A writer for 96-bit timestamps.
    Wide(Box<WideWriter<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Makes a writer of a file that the parquet crate has begun for rows of an Arrow schema.
    ///
    /// # Errors
    /// The errors of the sink.
    pub(crate) fn new(writer: ArrowWriter<W>, arrow: SchemaRef, has_int96: bool) -> ParquetResult<RowWriter<W>> {
        if !has_int96 {
            return Ok(RowWriter::Plain(Box::new(writer)));
        }
        let (file, factory) = writer.into_serialized_writer()?;
        let (mut leaves, mut leaf) = (Vec::new(), 0);
        for (root, field) in arrow.fields().iter().enumerate() {
            leaves_of(field.data_type(), &mut Vec::new(), &mut |path| {
                let column = file.schema_descr().columns().get(leaf);
                if column.is_some_and(|c| c.physical_type() == PhysicalType::INT96) {
                    leaves.push(WideLeaf { leaf, root, path: path.to_vec() });
                }
                leaf += 1;
            });
        }
        Ok(RowWriter::Wide(Box::new(WideWriter { arrow, file, factory, leaves, group: None })))
    }

    /// Writes rows.
    ///
    /// # Errors
    /// The errors of the sink; an error for rows of another schema.
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> ParquetResult<()> {
        match self {
            RowWriter::Plain(writer) => writer.write(rows),
            RowWriter::Wide(writer) => writer.write(rows),
        }
    }

    /// Ends the row group.
    ///
    /// # Errors
    /// The errors of the sink.
    pub(crate) fn flush(&mut self) -> ParquetResult<()> {
        match self {
            RowWriter::Plain(writer) => writer.flush(),
            RowWriter::Wide(writer) => writer.flush(),
        }
    }

    /// Writes the footer.
    ///
    /// # Errors
    /// The errors of the sink.
    pub(crate) fn finish(&mut self) -> ParquetResult<ParquetMetaData> {
        match self {
            RowWriter::Plain(writer) => writer.finish(),
            RowWriter::Wide(writer) => {
                writer.flush()?;
                writer.file.finish()
            }
        }
    }

    /// The sink of the bytes.
    pub(crate) fn sink(&mut self) -> &mut W {
        match self {
            RowWriter::Plain(writer) => writer.inner_mut(),
            RowWriter::Wide(writer) => writer.file.inner_mut(),
        }
    }

    /// About how many bytes the file has, including those in progress.
    pub(crate) fn estimated_bytes(&self) -> u64 {
        let bytes = match self {
            RowWriter::Plain(writer) => writer.bytes_written() + writer.in_progress_size(),
            RowWriter::Wide(writer) => writer.file.bytes_written() + writer.group.as_ref().map_or(0, Group::bytes),
        };
        bytes as u64
    }

    /// Bytes in memory.
    pub(crate) fn buffered_bytes(&self) -> usize {
        match self {
            RowWriter::Plain(writer) => writer.memory_size(),
            RowWriter::Wide(writer) => writer.group.as_ref().map_or(0, |group| {
                let plain: usize = group.columns.iter().map(ArrowColumnWriter::memory_size).sum();
                plain + group.wide.iter().map(WideColumn::bytes).sum::<usize>()
            }),
        }
    }
}

#[cfg(test)]
#[path = "int96_tests.rs"]
mod tests;
