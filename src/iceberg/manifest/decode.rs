//! The hot path: decodes manifest entries from Avro bytes directly into columns.
//!
//! The writer's schema and the request are compiled to one list of steps, which runs once for each entry. Unwanted
//! values are skipped. Decoding an entry allocates only the memory that stays in the columns.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::entries::{DELETED, EntryColumns, EntryRequest, MISSING, MetricColumn};
use super::layout::{EntryLayout, EntryValue, MemberSlot, content_of};
use super::metrics::read_all;
use crate::codec::avro::{Budget, Container, Cursor, Inflater, Optional, Skip};
use crate::codec::columns::BytesColumn;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{ColumnMetrics, FileFormat};
use crate::types::FieldId;

/// The action for the next member of a record.
enum Step {
    Read(EntryValue, Optional),
    Skip(Skip),
    /// Keeps the bytes of a member that is not known.
    Keep(Skip),
    /// The metrics maps begin here.
    BeginMetrics,
    /// The metrics maps end here.
    EndMetrics,
}

/// The compiled steps for one entry.
struct Program {
    entry: Vec<Step>,
    file: Vec<Step>,
    /// Skips the whole data file, for dropped entries.
    skip_file: Skip,
    /// Skips the partition tuple, including its union.
    skip_partition: Skip,
    lookup: Lookup,
    keep_all: bool,
    keep_unknown: bool,
    deleted_too: bool,
}

impl Program {
    fn new(layout: &EntryLayout, request: &EntryRequest) -> Result<Program> {
        let all = request.all_metrics;
        let wanted = |column: EntryValue| match column {
            EntryValue::Sizes => all,
            EntryValue::ValueCounts
            | EntryValue::NullCounts
            | EntryValue::NanCounts
            | EntryValue::LowerBounds
            | EntryValue::UpperBounds => all || !request.metric_fields.is_empty(),
            _ => true,
        };
        let mut budget = Budget::default();
        let span = layout.metrics_span().filter(|_| request.encoded_metrics);
        let mut steps = |slots: &[MemberSlot], span: Option<Range<usize>>| -> Result<Vec<Step>> {
            let mut steps = Vec::with_capacity(slots.len() + 2);
            for (place, slot) in slots.iter().enumerate() {
                steps.extend(span.as_ref().filter(|s| s.start == place).map(|_| Step::BeginMetrics));
                match slot.column.filter(|c| wanted(*c)) {
                    Some(column) => steps.push(Step::Read(column, slot.optional)),
                    None if slot.is_unknown && request.unknown_members => {
                        steps.push(Step::Keep(Skip::of(&slot.node, &mut budget)?));
                    }
                    None => steps.push(Step::Skip(Skip::of(&slot.node, &mut budget)?)),
                }
                steps.extend(span.as_ref().filter(|s| s.end == place + 1).map(|_| Step::EndMetrics));
            }
            Ok(steps)
        };
        let (entry, file) = (steps(&layout.entry, None)?, steps(&layout.file, span)?);
        let mut skip = |slots: &[MemberSlot], column: EntryValue| {
            let slot = slots.iter().find(|s| s.column == Some(column));
            slot.map_or(Ok(Skip::Nothing), |s| Skip::of(&s.node, &mut budget))
        };
        Ok(Program {
            entry,
            file,
            skip_file: skip(&layout.entry, EntryValue::DataFile)?,
            skip_partition: skip(&layout.file, EntryValue::Partition)?,
            lookup: Lookup::new(&request.metric_fields),
            keep_all: all,
            keep_unknown: request.unknown_members,
            deleted_too: request.deleted_too,
        })
    }
}

/// Field ids up to this one are found by a single index.
const DENSE_IDS: usize = 4096;

const NOT_WANTED: u32 = u32::MAX;

/// Finds the place of a wanted field among the requested fields.
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

/// Metrics of one wanted field in the current entry.
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

/// The current entry.
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
    /// The bytes of the metrics maps.
    metrics: Option<&'a [u8]>,
}

/// Decodes the entries of some blocks as they are in the file, without inherited values.
pub(crate) fn decode(
    container: &Container<'_>,
    layout: &Arc<EntryLayout>,
    blocks: Range<usize>,
    request: &EntryRequest,
    inflater: &mut Inflater,
) -> Result<EntryColumns> {
    let program = Program::new(layout, request)?;
    let mut sink = Sink::new(layout, request);
    let listed = container.blocks.get(blocks.clone()).unwrap_or_default();
    let compressed = listed.iter().map(|b| b.range.len()).sum::<usize>();
    let claimed = listed.iter().fold(0u64, |n, b| n.saturating_add(b.count));
    let claimed = usize::try_from(claimed).unwrap_or(usize::MAX);
    // An entry takes at least a hundred bytes, so larger claimed counts are not trusted.
    sink.columns.reserve(claimed.min(compressed / 16));
    for index in blocks {
        let mut decode = || -> Result<()> {
            let data = inflater.inflate(container.codec, container.block_data(index)?)?;
            let count = container.blocks.get(index).map_or(0, |b| b.count);
            // An entry takes at least one byte for its status, so a larger count is wrong.
            if count > data.len() as u64 {
                return Err(Error::corrupt(format!("the block claims {count} entries in {} bytes", data.len())));
            }
            Walk::new(&program).entries(Cursor::new(data), count, &mut sink)
        };
        decode().with("block", index)?;
    }
    Ok(sink.columns)
}

/// Decodes one block. The cursor is passed by value, so that it stays in registers.
struct Walk<'a, 'p> {
    program: &'p Program,
    metrics: Vec<FieldMetrics<'a>>,
    all: ColumnMetrics,
    split_offsets: Vec<i64>,
    equality_ids: Vec<i64>,
    /// The unknown members of the data file, and those of the entry.
    unknown: [Vec<u8>; 2],
}

impl<'a, 'p> Walk<'a, 'p> {
    fn new(program: &'p Program) -> Self {
        Walk {
            program,
            metrics: Vec::new(),
            all: ColumnMetrics::default(),
            split_offsets: Vec::new(),
            equality_ids: Vec::new(),
            unknown: [Vec::new(), Vec::new()],
        }
    }

    /// Keeps the bytes of an unknown member.
    #[cold]
    fn keep(&mut self, which: usize, skip: &Skip, cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        let before = cursor.rest();
        let after = skip.run(cursor)?;
        if let Some(kept) = self.unknown.get_mut(which) {
            kept.extend_from_slice(before.get(..before.len() - after.rest().len()).unwrap_or_default());
        }
        Ok(after)
    }

    fn entries(&mut self, mut cursor: Cursor<'a>, count: u64, sink: &mut Sink<'_>) -> Result<()> {
        let program = self.program;
        let dropped = |row: &Row<'_>| row.status == i64::from(DELETED) && !program.deleted_too;
        let fields = sink.columns.metrics.len();
        for _ in 0..count {
            let mut row = Row::default();
            self.metrics.clear();
            self.metrics.resize(fields, FieldMetrics::NONE);
            if program.keep_all {
                self.all = ColumnMetrics::default();
            }
            if program.keep_unknown {
                self.unknown.iter_mut().for_each(Vec::clear);
            }
            for step in &program.entry {
                let (column, optional) = match step {
                    Step::Skip(skip) => {
                        cursor = skip.run(cursor)?;
                        continue;
                    }
                    Step::Keep(skip) => {
                        cursor = self.keep(1, skip, cursor)?;
                        continue;
                    }
                    Step::BeginMetrics | Step::EndMetrics => continue,
                    Step::Read(EntryValue::DataFile, _) if dropped(&row) => {
                        cursor = program.skip_file.run(cursor)?;
                        continue;
                    }
                    Step::Read(column, optional) => (*column, *optional),
                };
                if !cursor.present(optional)? {
                    absent(column)?;
                    continue;
                }
                match column {
                    EntryValue::Status => row.status = cursor.long()?,
                    EntryValue::SnapshotId => row.snapshot_id = Some(cursor.long()?),
                    EntryValue::SequenceNumber => row.sequence_number = Some(cursor.long()?),
                    EntryValue::FileSequenceNumber => row.file_sequence_number = Some(cursor.long()?),
                    _ => cursor = self.file(cursor, &mut row)?,
                }
            }
            if !dropped(&row) {
                sink.push(&row, self)?;
            }
        }
        if cursor.rest().is_empty() {
            return Ok(());
        }
        Err(Error::corrupt("the block holds more than its entries"))
    }

    fn file(&mut self, mut cursor: Cursor<'a>, row: &mut Row<'a>) -> Result<Cursor<'a>> {
        let program = self.program;
        for step in &program.file {
            let (column, optional) = match step {
                Step::Skip(skip) => {
                    cursor = skip.run(cursor)?;
                    continue;
                }
                Step::Keep(skip) => {
                    cursor = self.keep(0, skip, cursor)?;
                    continue;
                }
                Step::BeginMetrics => {
                    row.metrics = Some(cursor.rest());
                    continue;
                }
                Step::EndMetrics => {
                    row.metrics = row.metrics.and_then(|m| m.get(..m.len() - cursor.rest().len()));
                    continue;
                }
                Step::Read(EntryValue::Partition, _) => {
                    let before = cursor.rest();
                    cursor = program.skip_partition.run(cursor)?;
                    row.partition = before.get(..before.len() - cursor.rest().len()).unwrap_or_default();
                    continue;
                }
                Step::Read(column, optional) => (*column, *optional),
            };
            if !cursor.present(optional)? {
                absent(column)?;
                continue;
            }
            match column {
                EntryValue::Content => row.content = cursor.long()?,
                EntryValue::Path => row.path = cursor.bytes()?,
                EntryValue::Format => row.format = cursor.bytes()?,
                EntryValue::RecordCount => row.record_count = cursor.long()?,
                EntryValue::SizeBytes => row.size_bytes = cursor.long()?,
                EntryValue::KeyMetadata => row.key_metadata = Some(cursor.bytes()?),
                EntryValue::SortOrderId => row.sort_order_id = Some(cursor.long()?),
                EntryValue::FirstRowId => row.first_row_id = Some(cursor.long()?),
                EntryValue::ReferencedDataFile => row.referenced_data_file = Some(cursor.bytes()?),
                EntryValue::ContentOffset => row.content_offset = Some(cursor.long()?),
                EntryValue::ContentSize => row.content_size = Some(cursor.long()?),
                EntryValue::SplitOffsets => {
                    row.has_split_offsets = true;
                    cursor = read_list(cursor, &mut self.split_offsets)?;
                }
                EntryValue::EqualityIds => {
                    row.has_equality_ids = true;
                    cursor = read_list(cursor, &mut self.equality_ids)?;
                }
                column => cursor = self.metrics(column, cursor)?,
            }
        }
        Ok(cursor)
    }

    /// Decodes a metrics map into the places of wanted fields, or as a whole, or both.
    fn metrics(&mut self, column: EntryValue, cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        if self.program.keep_all {
            let after = read_all(column, cursor.clone(), &mut self.all)?;
            if column == EntryValue::Sizes || self.metrics.is_empty() {
                return Ok(after);
            }
        }
        let (metrics, lookup) = (&mut self.metrics[..], &self.program.lookup);
        match column {
            EntryValue::ValueCounts => read_counts::<0>(cursor, metrics, lookup),
            EntryValue::NullCounts => read_counts::<1>(cursor, metrics, lookup),
            EntryValue::NanCounts => read_counts::<2>(cursor, metrics, lookup),
            EntryValue::LowerBounds => read_bounds::<0>(cursor, metrics, lookup),
            _ => read_bounds::<1>(cursor, metrics, lookup),
        }
    }
}

#[inline(never)]
fn read_counts<'a, const WHICH: usize>(
    mut cursor: Cursor<'a>,
    metrics: &mut [FieldMetrics<'a>],
    lookup: &Lookup,
) -> Result<Cursor<'a>> {
    while let Some(run) = cursor.run()? {
        let before = cursor.rest().len();
        for _ in 0..run.count {
            match metrics.get_mut(lookup.place(cursor.long()?)) {
                Some(metrics) => metrics.counts[WHICH] = cursor.long()?.max(MISSING),
                None => cursor.skip_varint()?,
            }
        }
        run.check(before, &cursor)?;
    }
    Ok(cursor)
}

#[inline(never)]
fn read_bounds<'a, const WHICH: usize>(
    mut cursor: Cursor<'a>,
    metrics: &mut [FieldMetrics<'a>],
    lookup: &Lookup,
) -> Result<Cursor<'a>> {
    while let Some(run) = cursor.run()? {
        let before = cursor.rest().len();
        for _ in 0..run.count {
            let place = lookup.place(cursor.long()?);
            let value = cursor.bytes()?;
            if let Some(metrics) = metrics.get_mut(place) {
                metrics.bounds[WHICH] = Some(value);
            }
        }
        run.check(before, &cursor)?;
    }
    Ok(cursor)
}

#[inline]
fn absent(column: EntryValue) -> Result<()> {
    if column.is_required() {
        return Err(Error::corrupt(format!("an entry has no value for {column:?}")));
    }
    Ok(())
}

fn read_list<'a>(mut cursor: Cursor<'a>, out: &mut Vec<i64>) -> Result<Cursor<'a>> {
    out.clear();
    while let Some(run) = cursor.run()? {
        let before = cursor.rest().len();
        for _ in 0..run.count {
            out.push(cursor.long()?);
        }
        run.check(before, &cursor)?;
    }
    Ok(cursor)
}

/// The destination of entries: columns with interned partition tuples.
struct Sink<'m> {
    layout: &'m EntryLayout,
    columns: EntryColumns,
    tuples: HashMap<Box<[u8]>, u32>,
    recent: Vec<u32>,
    keep_all: bool,
    keep_encoded: bool,
}

impl<'m> Sink<'m> {
    fn new(layout: &'m Arc<EntryLayout>, request: &EntryRequest) -> Self {
        let metric = |id: &FieldId| MetricColumn { field_id: *id, ..MetricColumn::default() };
        let columns = EntryColumns {
            metrics: request.metric_fields.iter().map(metric).collect(),
            layout: request.encoded_metrics.then(|| layout.clone()),
            unknown_members: layout.unknown.clone().filter(|_| request.unknown_members),
            ..EntryColumns::default()
        };
        Sink {
            layout,
            columns,
            tuples: HashMap::new(),
            recent: vec![0; RECENT_SLOTS],
            keep_all: request.all_metrics,
            keep_encoded: request.encoded_metrics,
        }
    }

    #[inline]
    fn push(&mut self, row: &Row<'_>, walk: &mut Walk<'_, '_>) -> Result<()> {
        let status = u8::try_from(row.status).ok().filter(|s| *s <= DELETED);
        let status = status.ok_or_else(|| bad_number("status", row.status))?;
        let content = content_of(row.content)
            .ok_or_else(|| Error::unsupported(format!("an entry has file content {}", row.content)))?;
        if row.record_count < 0 {
            return Err(bad_number("record count", row.record_count).with("file", lossy(row.path)));
        }
        if row.size_bytes < 0 {
            return Err(bad_number("size", row.size_bytes).with("file", lossy(row.path)));
        }
        check_path(row.path)?;
        row.referenced_data_file.map_or(Ok(()), check_path)?;
        let partition = self.partition(row.partition)?;
        let sort_order_id = row.sort_order_id.map(|id| i32::try_from(id).map_err(|_| bad_number("sort order id", id)));
        let c = &mut self.columns;
        c.status.push(status);
        c.snapshot_id.push(row.snapshot_id);
        c.sequence_number.push(row.sequence_number);
        c.file_sequence_number.push(row.file_sequence_number);
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
        if self.keep_encoded {
            put(&mut c.encoded_metrics, row.metrics)?;
        }
        if c.unknown_members.is_some() {
            put(&mut c.unknown, Some(&walk.unknown.concat()))?;
        }
        if self.keep_all {
            c.all_metrics.push(std::mem::take(&mut walk.all));
        }
        Ok(())
    }

    /// The index of a partition tuple, found by its bytes.
    #[inline]
    fn partition(&mut self, raw: &[u8]) -> Result<u32> {
        let recent = recent_slot(raw);
        if let Some(index) = self.recent.get(recent)
            && self.columns.encoded_partitions.get(*index as usize) == Some(raw)
        {
            return Ok(*index);
        }
        let index = match self.tuples.get(raw) {
            Some(index) => *index,
            None => {
                let index = self.columns.partitions.len() as u32;
                self.columns.partitions.push(self.layout.tuple(raw)?);
                put(&mut self.columns.encoded_partitions, Some(raw))?;
                self.tuples.insert(raw.into(), index);
                index
            }
        };
        if let Some(slot) = self.recent.get_mut(recent) {
            *slot = index;
        }
        Ok(index)
    }
}

/// Slots for recent tuples. Most look-ups then need no hash that resists chosen keys.
const RECENT_SLOTS: usize = 1024;

/// The slot of a tuple among the recent ones: a fast mix of its last bytes, where neighbours differ.
#[inline]
fn recent_slot(raw: &[u8]) -> usize {
    let tail = match raw.last_chunk::<8>() {
        Some(tail) => u64::from_le_bytes(*tail),
        None => raw.iter().fold(0, |n, b| n << 8 | u64::from(*b)),
    };
    (tail.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
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

#[inline]
fn check_path(path: &[u8]) -> Result<()> {
    if path.is_ascii() {
        return Ok(());
    }
    std::str::from_utf8(path).map_err(|e| Error::corrupt("a file's path is not UTF-8").because(e)).map(|_| ())
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

#[inline]
fn parse_format(name: &[u8]) -> Result<FileFormat> {
    let format = std::str::from_utf8(name).ok().and_then(FileFormat::parse).filter(|f| *f != FileFormat::Blob);
    format
        .ok_or_else(|| Error::unsupported(format!("the file format '{}' is not known", String::from_utf8_lossy(name))))
}
