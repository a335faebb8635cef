//! The hot path: manifest entries from Avro bytes straight into columns.
//!
//! The writer's schema and the request compile to one list of steps; each entry runs through it once. What is not wanted
//! is hopped over without looking at it. Nothing is allocated for an entry but what stays in the columns.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::entries::{ADDED, BytesColumn, DELETED, EntryColumns, EntryRequest, MISSING, MetricColumn};
use super::manifest::{Inherited, Manifest};
use super::manifest_layout::{Column, Layout, Slot};
use crate::codec::avro::{Cursor, Optional, Skip};
use crate::error::{Error, Result, ResultExt};
use crate::task::{ColumnMetrics, FileContent, FileFormat};
use crate::types::FieldId;

/// What to do with the next member of a record.
enum Step {
    Read(Column, Optional),
    Skip(Skip),
}

/// The compiled walk over one entry.
struct Program {
    entry: Vec<Step>,
    file: Vec<Step>,
    /// Over the whole data file, for entries that are dropped.
    skip_file: Skip,
    /// Over the partition tuple, its union included.
    skip_partition: Skip,
    lookup: Lookup,
    keep_all: bool,
    deleted_too: bool,
}

impl Program {
    fn new(layout: &Layout, request: &EntryRequest) -> Result<Program> {
        let all = request.all_metrics;
        let wanted = |column: Column| match column {
            Column::ColumnSizes => all,
            Column::ValueCounts
            | Column::NullCounts
            | Column::NanCounts
            | Column::LowerBounds
            | Column::UpperBounds => all || !request.metric_fields.is_empty(),
            _ => true,
        };
        let steps = |slots: &[Slot]| -> Result<Vec<Step>> {
            let mut steps = Vec::with_capacity(slots.len());
            for slot in slots {
                match slot.column.filter(|c| wanted(*c)) {
                    Some(column) => steps.push(Step::Read(column, slot.optional)),
                    None => steps.push(Step::Skip(Skip::of(&slot.node)?)),
                }
            }
            Ok(steps)
        };
        let skip = |slots: &[Slot], column: Column| {
            slots.iter().find(|s| s.column == Some(column)).map_or(Ok(Skip::Nothing), |s| Skip::of(&s.node))
        };
        Ok(Program {
            entry: steps(&layout.entry)?,
            file: steps(&layout.file)?,
            skip_file: skip(&layout.entry, Column::DataFile)?,
            skip_partition: skip(&layout.file, Column::Partition)?,
            lookup: Lookup::new(&request.metric_fields),
            keep_all: all,
            deleted_too: request.deleted_too,
        })
    }
}

/// Field ids up to here are found by one index.
const DENSE_IDS: usize = 4096;

const NOT_WANTED: u32 = u32::MAX;

/// Finds the place of a wanted field among the requested ones.
struct Lookup {
    dense: Vec<u32>,
    sparse: HashMap<i64, u32>,
}

impl Lookup {
    fn new(fields: &[FieldId]) -> Lookup {
        let mut lookup = Lookup { dense: Vec::new(), sparse: HashMap::new() };
        for (place, id) in fields.iter().enumerate() {
            match usize::try_from(*id) {
                Ok(id) if id < DENSE_IDS => {
                    if lookup.dense.len() <= id {
                        lookup.dense.resize(id + 1, NOT_WANTED);
                    }
                    if let Some(entry) = lookup.dense.get_mut(id) {
                        *entry = place as u32;
                    }
                }
                _ => {
                    lookup.sparse.insert(i64::from(*id), place as u32);
                }
            }
        }
        lookup
    }

    #[inline]
    fn place(&self, key: i64) -> usize {
        match self.dense.get(key as usize) {
            Some(place) => *place as usize,
            None if self.sparse.is_empty() => NOT_WANTED as usize,
            None => self.sparse.get(&key).map_or(NOT_WANTED as usize, |p| *p as usize),
        }
    }
}

/// Metrics of one wanted field in the entry at hand.
#[derive(Clone)]
struct FieldMetrics<'a> {
    /// Values, nulls, NaNs.
    counts: [i64; 3],
    /// Lower, upper.
    bounds: [Option<&'a [u8]>; 2],
}

impl FieldMetrics<'_> {
    const NONE: Self = FieldMetrics { counts: [MISSING; 3], bounds: [None; 2] };
}

/// The entry at hand.
#[derive(Default)]
struct Row<'a> {
    status: i64,
    snapshot_id: Option<i64>,
    sequence_number: Option<i64>,
    file_sequence_number: Option<i64>,
    content: i64,
    path: &'a [u8],
    format: &'a [u8],
    partition: &'a [u8],
    record_count: i64,
    size_bytes: i64,
    key_metadata: Option<&'a [u8]>,
    has_split_offsets: bool,
    has_equality_ids: bool,
    sort_order_id: Option<i64>,
    first_row_id: Option<i64>,
    referenced_data_file: Option<&'a [u8]>,
    content_offset: Option<i64>,
    content_size: Option<i64>,
}

/// Decodes the entries of some blocks.
pub(super) fn decode(
    manifest: &Manifest<'_>,
    blocks: Range<usize>,
    request: &EntryRequest,
    inherited: &Inherited,
) -> Result<EntryColumns> {
    let program = Program::new(manifest.layout(), request)?;
    let mut sink = Sink::new(manifest, request, inherited);
    let mut inflater = manifest.container.inflater();
    for index in blocks {
        let mut decode = || -> Result<()> {
            let data = inflater.inflate(manifest.container.block_data(index)?)?;
            let count = manifest.container.blocks.get(index).map_or(0, |b| b.count);
            // An entry has a status at least; a greater count lies.
            if count > data.len() as u64 {
                return Err(Error::corrupt(format!("the block claims {count} entries in {} bytes", data.len())));
            }
            Walk::new(&program, data).entries(count, &mut sink)
        };
        decode().with("block", index)?;
    }
    Ok(sink.columns)
}

/// The pass over one block.
struct Walk<'a, 'p> {
    program: &'p Program,
    cursor: Cursor<'a>,
    metrics: Vec<FieldMetrics<'a>>,
    all: ColumnMetrics,
    split_offsets: Vec<i64>,
    equality_ids: Vec<i64>,
}

impl<'a, 'p> Walk<'a, 'p> {
    fn new(program: &'p Program, data: &'a [u8]) -> Self {
        let cursor = Cursor::new(data);
        let (split_offsets, equality_ids) = (Vec::new(), Vec::new());
        Walk { program, cursor, metrics: Vec::new(), all: ColumnMetrics::default(), split_offsets, equality_ids }
    }

    fn entries(&mut self, count: u64, sink: &mut Sink<'_>) -> Result<()> {
        let dropped = |row: &Row<'_>| row.status == i64::from(DELETED) && !self.program.deleted_too;
        let fields = sink.columns.metrics.len();
        for _ in 0..count {
            let mut row = Row::default();
            self.metrics.clear();
            self.metrics.resize(fields, FieldMetrics::NONE);
            if self.program.keep_all {
                self.all = ColumnMetrics::default();
            }
            for step in &self.program.entry {
                match step {
                    Step::Skip(skip) => skip.run(&mut self.cursor)?,
                    Step::Read(Column::DataFile, _) if dropped(&row) => self.program.skip_file.run(&mut self.cursor)?,
                    Step::Read(column, optional) => {
                        if !self.cursor.present(*optional)? {
                            absent(*column)?;
                            continue;
                        }
                        match column {
                            Column::Status => row.status = self.cursor.long()?,
                            Column::SnapshotId => row.snapshot_id = Some(self.cursor.long()?),
                            Column::SequenceNumber => row.sequence_number = Some(self.cursor.long()?),
                            Column::FileSequenceNumber => row.file_sequence_number = Some(self.cursor.long()?),
                            _ => self.file(&mut row)?,
                        }
                    }
                }
            }
            if !dropped(&row) {
                sink.push(&row, self)?;
            }
        }
        if self.cursor.rest().is_empty() {
            return Ok(());
        }
        Err(Error::corrupt("the block holds more than its entries"))
    }

    #[inline]
    fn file(&mut self, row: &mut Row<'a>) -> Result<()> {
        for step in &self.program.file {
            let (column, optional) = match step {
                Step::Skip(skip) => {
                    skip.run(&mut self.cursor)?;
                    continue;
                }
                Step::Read(Column::Partition, _) => {
                    let before = self.cursor.rest();
                    self.program.skip_partition.run(&mut self.cursor)?;
                    row.partition = before.get(..before.len() - self.cursor.rest().len()).unwrap_or_default();
                    continue;
                }
                Step::Read(column, optional) => (*column, *optional),
            };
            if !self.cursor.present(optional)? {
                absent(column)?;
                continue;
            }
            let cursor = &mut self.cursor;
            match column {
                Column::Content => row.content = cursor.long()?,
                Column::Path => row.path = cursor.bytes()?,
                Column::Format => row.format = cursor.bytes()?,
                Column::RecordCount => row.record_count = cursor.long()?,
                Column::SizeBytes => row.size_bytes = cursor.long()?,
                Column::KeyMetadata => row.key_metadata = Some(cursor.bytes()?),
                Column::SortOrderId => row.sort_order_id = Some(cursor.long()?),
                Column::FirstRowId => row.first_row_id = Some(cursor.long()?),
                Column::ReferencedDataFile => row.referenced_data_file = Some(cursor.bytes()?),
                Column::ContentOffset => row.content_offset = Some(cursor.long()?),
                Column::ContentSize => row.content_size = Some(cursor.long()?),
                Column::SplitOffsets => row.has_split_offsets = read_list(cursor, &mut self.split_offsets)?,
                Column::EqualityIds => row.has_equality_ids = read_list(cursor, &mut self.equality_ids)?,
                column => self.metrics(column)?,
            }
        }
        Ok(())
    }

    /// A metrics map, into the wanted fields' places or whole.
    fn metrics(&mut self, column: Column) -> Result<()> {
        if self.program.keep_all {
            let start = self.cursor.clone();
            self.all_metrics(column)?;
            if column == Column::ColumnSizes || self.metrics.is_empty() {
                return Ok(());
            }
            self.cursor = start;
        }
        match column {
            Column::ValueCounts => self.counts::<0>(),
            Column::NullCounts => self.counts::<1>(),
            Column::NanCounts => self.counts::<2>(),
            Column::LowerBounds => self.bounds::<0>(),
            _ => self.bounds::<1>(),
        }
    }

    #[inline]
    fn counts<const WHICH: usize>(&mut self) -> Result<()> {
        while let Some(run) = self.cursor.run()? {
            for _ in 0..run.count {
                let place = self.program.lookup.place(self.cursor.long()?);
                let value = self.cursor.long()?;
                if let Some(metrics) = self.metrics.get_mut(place) {
                    metrics.counts[WHICH] = value.max(MISSING);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn bounds<const WHICH: usize>(&mut self) -> Result<()> {
        while let Some(run) = self.cursor.run()? {
            for _ in 0..run.count {
                let place = self.program.lookup.place(self.cursor.long()?);
                let value = self.cursor.bytes()?;
                if let Some(metrics) = self.metrics.get_mut(place) {
                    metrics.bounds[WHICH] = Some(value);
                }
            }
        }
        Ok(())
    }

    fn all_metrics(&mut self, column: Column) -> Result<()> {
        let cursor = &mut self.cursor;
        let all = &mut self.all;
        match column {
            Column::ColumnSizes => all.column_sizes = Some(read_map(cursor, Cursor::long)?),
            Column::ValueCounts => all.value_counts = Some(read_map(cursor, Cursor::long)?),
            Column::NullCounts => all.null_value_counts = Some(read_map(cursor, Cursor::long)?),
            Column::NanCounts => all.nan_value_counts = Some(read_map(cursor, Cursor::long)?),
            Column::LowerBounds => all.lower_bounds = Some(read_map(cursor, |c| c.bytes().map(<[u8]>::to_vec))?),
            _ => all.upper_bounds = Some(read_map(cursor, |c| c.bytes().map(<[u8]>::to_vec))?),
        }
        Ok(())
    }
}

#[inline]
fn absent(column: Column) -> Result<()> {
    if column.is_required() {
        return Err(Error::corrupt(format!("an entry has no value for {column:?}")));
    }
    Ok(())
}

fn read_list(cursor: &mut Cursor<'_>, out: &mut Vec<i64>) -> Result<bool> {
    out.clear();
    while let Some(run) = cursor.run()? {
        for _ in 0..run.count {
            out.push(cursor.long()?);
        }
    }
    Ok(true)
}

/// The last value of a repeated key stays.
fn read_map<'a, T>(
    cursor: &mut Cursor<'a>,
    mut value: impl FnMut(&mut Cursor<'a>) -> Result<T>,
) -> Result<BTreeMap<FieldId, T>> {
    let mut out = BTreeMap::new();
    while let Some(run) = cursor.run()? {
        for _ in 0..run.count {
            out.insert(cursor.int()?, value(cursor)?);
        }
    }
    Ok(out)
}

/// Where entries go: columns, with partition tuples interned and inheritance applied.
struct Sink<'m> {
    layout: &'m Layout,
    columns: EntryColumns,
    tuples: HashMap<Box<[u8]>, u32>,
    last_tuple: (Vec<u8>, Option<u32>),
    snapshot_id: Option<i64>,
    sequence_number: i64,
    /// Sequence number of entries that neither have nor inherit one.
    default_sequence_number: Option<i64>,
    keep_all: bool,
}

impl<'m> Sink<'m> {
    fn new(manifest: &'m Manifest<'_>, request: &EntryRequest, inherited: &Inherited) -> Self {
        let metric = |id: &FieldId| MetricColumn { field_id: *id, ..MetricColumn::default() };
        let columns =
            EntryColumns { metrics: request.metric_fields.iter().map(metric).collect(), ..EntryColumns::default() };
        // In v1 there are none, which means 0. A v1 manifest has no column, wherever it is listed.
        let v1 = inherited.sequence_number == 0 || !manifest.layout().has_sequence_numbers;
        Sink {
            layout: manifest.layout(),
            columns,
            tuples: HashMap::new(),
            last_tuple: (Vec::new(), None),
            snapshot_id: inherited.snapshot_id,
            sequence_number: inherited.sequence_number,
            default_sequence_number: v1.then_some(0),
            keep_all: request.all_metrics,
        }
    }

    #[inline]
    fn push(&mut self, row: &Row<'_>, walk: &mut Walk<'_, '_>) -> Result<()> {
        let status = u8::try_from(row.status).ok().filter(|s| *s <= DELETED);
        let status = status.ok_or_else(|| bad_number("status", row.status))?;
        let inherited = if status == ADDED { Some(self.sequence_number) } else { self.default_sequence_number };
        let content = match row.content {
            0 => FileContent::Data,
            1 => FileContent::PositionDeletes,
            2 => FileContent::EqualityDeletes,
            other => return Err(Error::unsupported(format!("an entry has file content {other}"))),
        };
        if row.record_count < 0 {
            return Err(bad_number("record count", row.record_count).with("file", lossy(row.path)));
        }
        if row.size_bytes < 0 {
            return Err(bad_number("size", row.size_bytes).with("file", lossy(row.path)));
        }
        for text in [Some(row.path), row.referenced_data_file].into_iter().flatten() {
            std::str::from_utf8(text).map_err(|e| Error::corrupt("a file's path is not UTF-8").because(e))?;
        }
        let partition = self.partition(row.partition)?;
        let sort_order_id = row.sort_order_id.map(|id| i32::try_from(id).map_err(|_| bad_number("sort order id", id)));
        let c = &mut self.columns;
        c.status.push(status);
        c.snapshot_id.push(row.snapshot_id.or(self.snapshot_id));
        c.sequence_number.push(row.sequence_number.or(inherited));
        c.file_sequence_number.push(row.file_sequence_number.or(inherited));
        c.content.push(content);
        put(&mut c.path, Some(row.path))?;
        c.format.push(parse_format(row.format)?);
        c.record_count.push(row.record_count);
        c.size_bytes.push(row.size_bytes);
        c.partition.push(partition);
        put(&mut c.key_metadata, row.key_metadata)?;
        let lists = c.split_offsets.push(row.has_split_offsets.then_some(&walk.split_offsets[..]))
            & c.equality_ids.push(row.has_equality_ids.then_some(&walk.equality_ids[..]));
        if !lists {
            return Err(too_much());
        }
        c.sort_order_id.push(sort_order_id.transpose()?);
        c.first_row_id.push(row.first_row_id);
        put(&mut c.referenced_data_file, row.referenced_data_file)?;
        c.content_offset.push(row.content_offset);
        c.content_size_bytes.push(row.content_size);
        for (column, metrics) in c.metrics.iter_mut().zip(&walk.metrics) {
            column.value_count.push(metrics.counts[0]);
            column.null_count.push(metrics.counts[1]);
            column.nan_count.push(metrics.counts[2]);
            put(&mut column.lower, metrics.bounds[0])?;
            put(&mut column.upper, metrics.bounds[1])?;
        }
        if self.keep_all {
            c.all_metrics.push(std::mem::take(&mut walk.all));
        }
        Ok(())
    }

    /// The index of a partition tuple, by its bytes. Neighbours mostly have the same.
    #[inline]
    fn partition(&mut self, raw: &[u8]) -> Result<u32> {
        if let (last, Some(index)) = &self.last_tuple
            && last == raw
        {
            return Ok(*index);
        }
        let index = match self.tuples.get(raw) {
            Some(index) => *index,
            None => {
                let index = self.columns.partitions.len() as u32;
                self.columns.partitions.push(self.layout.tuple(raw)?);
                self.tuples.insert(raw.into(), index);
                index
            }
        };
        self.last_tuple.0.clear();
        self.last_tuple.0.extend_from_slice(raw);
        self.last_tuple.1 = Some(index);
        Ok(index)
    }
}

#[inline]
fn put(column: &mut BytesColumn, value: Option<&[u8]>) -> Result<()> {
    if column.push(value) { Ok(()) } else { Err(too_much()) }
}

#[cold]
fn too_much() -> Error {
    Error::unsupported("these blocks of a manifest hold more than 4 GiB").hint("Decode fewer blocks at a time")
}

#[cold]
fn bad_number(what: &str, value: i64) -> Error {
    Error::corrupt(format!("an entry has a {what} of {value}"))
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[inline]
fn parse_format(name: &[u8]) -> Result<FileFormat> {
    let format = std::str::from_utf8(name).ok().and_then(FileFormat::parse);
    format
        .ok_or_else(|| Error::unsupported(format!("the file format '{}' is not known", String::from_utf8_lossy(name))))
}
