//! Decoding manifests: entries that add or delete a file, into columns.
//!
//! The writer's schema and the request compile to one list of steps; each entry runs through it once, straight into
//! columns. Unwanted fields are skipped.
//!
//! Source: Paimon specification, "Data Manifest"; Java's `DataFileMeta` for the later fields.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::encode::FILE_MEMBER;
use super::entries::{ADD, DELETE, NO_NAMES, PaimonEntryColumns, PaimonEntryRequest};
use crate::codec::avro::{
    Block, Budget, Compiled, Cursor, Inflater, Member, Node, OpenFile, Optional, RecordStep, Skip, UnknownMembers,
    compile,
};
use crate::codec::columns::BytesColumn;
use crate::error::{Error, Result, ResultExt};
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::stats::StatsColumn;
use crate::paimon::spec::stats_decode::{RawStats, StatsSteps, is_stats, is_text_list, read_texts, require};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryField {
    Kind,
    Partition,
    Bucket,
    TotalBuckets,
    File,
    FileName,
    FileSize,
    RowCount,
    MinKey,
    MaxKey,
    KeyStats,
    ValueStats,
    MinSequenceNumber,
    MaxSequenceNumber,
    SchemaId,
    Level,
    ExtraFiles,
    CreationTime,
    DeleteRowCount,
    EmbeddedIndex,
    FileSource,
    ValueStatsCols,
    ExternalPath,
    FirstRowId,
    WriteCols,
}

/// Paimon's members have no ids.
const ENTRY: &[(i32, &str, EntryField)] = &[
    (0, "_KIND", EntryField::Kind),
    (0, "_PARTITION", EntryField::Partition),
    (0, "_BUCKET", EntryField::Bucket),
    (0, "_TOTAL_BUCKETS", EntryField::TotalBuckets),
    (0, "_FILE", EntryField::File),
];

const FILE: &[(i32, &str, EntryField)] = &[
    (0, "_FILE_NAME", EntryField::FileName),
    (0, "_FILE_SIZE", EntryField::FileSize),
    (0, "_ROW_COUNT", EntryField::RowCount),
    (0, "_MIN_KEY", EntryField::MinKey),
    (0, "_MAX_KEY", EntryField::MaxKey),
    (0, "_SCHEMA_ID", EntryField::SchemaId),
    (0, "_LEVEL", EntryField::Level),
    (0, "_KEY_STATS", EntryField::KeyStats),
    (0, "_VALUE_STATS", EntryField::ValueStats),
    (0, "_MIN_SEQUENCE_NUMBER", EntryField::MinSequenceNumber),
    (0, "_MAX_SEQUENCE_NUMBER", EntryField::MaxSequenceNumber),
    (0, "_EXTRA_FILES", EntryField::ExtraFiles),
    (0, "_CREATION_TIME", EntryField::CreationTime),
    (0, "_DELETE_ROW_COUNT", EntryField::DeleteRowCount),
    (0, "_EMBEDDED_FILE_INDEX", EntryField::EmbeddedIndex),
    (0, "_FILE_SOURCE", EntryField::FileSource),
    (0, "_VALUE_STATS_COLS", EntryField::ValueStatsCols),
    (0, "_EXTERNAL_PATH", EntryField::ExternalPath),
    (0, "_FIRST_ROW_ID", EntryField::FirstRowId),
    (0, "_WRITE_COLS", EntryField::WriteCols),
];

/// The number of columns that every version writes. They come first in the table.
const REQUIRED: usize = 7;

fn fits(column: EntryField, node: &Node) -> bool {
    match column {
        EntryField::File => node.members().is_some(),
        EntryField::KeyStats | EntryField::ValueStats => is_stats(node),
        EntryField::ExtraFiles | EntryField::ValueStatsCols | EntryField::WriteCols => is_text_list(node),
        EntryField::Partition
        | EntryField::FileName
        | EntryField::MinKey
        | EntryField::MaxKey
        | EntryField::EmbeddedIndex
        | EntryField::ExternalPath => node.is_prefixed(),
        _ => node.is_integer(),
    }
}

/// The compiled walk over one entry. It is worth keeping, because manifests of a table mostly have the same schema.
pub struct DecodeProgram {
    schema: String,
    /// The prefix of each entry.
    record: Optional,
    entry: Vec<RecordStep<EntryField>>,
    file: Vec<RecordStep<EntryField>>,
    skip_file: Skip,
    key_stats: StatsSteps,
    value_stats: StatsSteps,
    /// Skips statistics that are not wanted.
    skip_stats: [Skip; 2],
    /// Skips lists of names, to recognise equal lists by their bytes.
    skip_names: [Skip; 2],
    /// Members that only later versions know; `None` if all are known.
    unknown: Option<Arc<UnknownMembers>>,
    /// Whether each step of an entry reads one of them. In a file, all steps that skip do.
    is_unknown: Vec<bool>,
}

impl DecodeProgram {
    /// Compiles the schema of a manifest.
    ///
    /// # Errors
    /// `CorruptTable` if a column is missing or has another type; as [`Node::parse`].
    pub fn new(schema_json: &str) -> Result<DecodeProgram> {
        let schema = Node::parse(schema_json)?;
        let not_records = || Error::corrupt("the manifest's schema is not a record");
        let (record, members) = schema.records().ok_or_else(not_records)?;
        let mut budget = Budget::default();
        let entry = compile(members, ENTRY, &mut budget, fits)?;
        require(&entry, ENTRY, "manifest")?;
        let file_node = members.iter().find(|m| m.pick(ENTRY) == Some(EntryField::File)).map(|m| m.node.optional().1);
        let file_members = file_node.and_then(Node::members).unwrap_or_default();
        let file = compile(file_members, FILE, &mut budget, fits)?;
        require(&file, FILE.get(..REQUIRED).unwrap_or_default(), "manifest")?;
        let skip_file = file_node.map_or(Ok(Skip::Nothing), |node| Skip::of(node, &mut budget))?;
        let node_of = |column| file_members.iter().find(|m: &&Member| m.pick(FILE) == Some(column));
        let mut skip =
            |column| node_of(column).map_or(Ok(Skip::Nothing), |m| Skip::of(m.node.optional().1, &mut budget));
        let skip_stats = [skip(EntryField::KeyStats)?, skip(EntryField::ValueStats)?];
        let skip_names = [skip(EntryField::ValueStatsCols)?, skip(EntryField::WriteCols)?];
        let mut stats = |column| {
            node_of(column).map_or(Ok(StatsSteps::default()), |m| StatsSteps::new(m.node.optional().1, &mut budget))
        };
        let (key_stats, value_stats) = (stats(EntryField::KeyStats)?, stats(EntryField::ValueStats)?);
        let is_known = |m: &Member, inner: bool| match inner {
            true => m.pick(FILE).is_some(),
            false => m.name == "_VERSION" || m.pick(ENTRY).is_some(),
        };
        let unknown = UnknownMembers::of(schema_json, Some(FILE_MEMBER), is_known)?;
        Ok(DecodeProgram {
            schema: schema_json.to_owned(),
            record,
            entry,
            file,
            skip_file,
            key_stats,
            value_stats,
            skip_stats,
            skip_names,
            unknown: (!unknown.is_empty()).then(|| Arc::new(unknown)),
            is_unknown: members.iter().map(|m| !is_known(m, false)).collect(),
        })
    }
}

static PROGRAMS: Compiled<DecodeProgram> = Compiled::new();

/// Decodes the bytes of a manifest.
#[cfg(test)]
pub(crate) fn decode_manifest(bytes: &[u8], request: &PaimonEntryRequest<'_>) -> Result<PaimonEntryColumns> {
    Decoder::default().decode(&OpenFile::parse(bytes)?, request)
}

/// Whether the entry in a row, which is the last one, is wanted.
pub type Wants<'w> = &'w mut dyn FnMut(&PaimonEntryColumns, usize) -> Result<bool>;

/// Decodes manifests one after another and reuses buffers. Make one for each thread.
#[derive(Default)]
pub struct Decoder {
    inflater: Inflater,
    program: Option<Arc<DecodeProgram>>,
}

impl Decoder {
    /// Decodes a manifest: its entries in order, each with the requested values.
    ///
    /// # Errors
    /// `CorruptTable` with the number of the block if the file is not a manifest; `Unsupported` for an unknown codec.
    pub fn decode<B: AsRef<[u8]>>(
        &mut self,
        file: &OpenFile<B>,
        request: &PaimonEntryRequest<'_>,
    ) -> Result<PaimonEntryColumns> {
        self.decode_blocks(file, 0..usize::MAX, request, &mut |_, _| Ok(true))
    }

    /// As [`Decoder::decode`], of some blocks of a manifest: threads can share one. Each entry that the request keeps
    /// is the last row of the columns when `wants` is asked about it. Entries that it rejects are removed at once.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; those of `wants`.
    pub fn decode_blocks<B: AsRef<[u8]>>(
        &mut self,
        file: &OpenFile<B>,
        blocks: Range<usize>,
        request: &PaimonEntryRequest<'_>,
        wants: Wants<'_>,
    ) -> Result<PaimonEntryColumns> {
        let blocks = blocks.start..blocks.end.min(file.blocks().len());
        let schema = file.head()?;
        let schema = schema.schema_json()?;
        let program = match self.program.take().filter(|p| p.schema == schema) {
            Some(program) => program,
            None => PROGRAMS.get(schema.len(), |p| p.schema == schema, || DecodeProgram::new(schema))?,
        };
        self.program = Some(program.clone());
        let entries = |blocks: &[Block]| blocks.iter().fold(0u64, |n, b| n.saturating_add(b.count));
        let wanted = file.blocks().get(blocks.clone()).unwrap_or_default();
        let compressed: usize = wanted.iter().map(|b| b.range.len()).sum();
        let mut place = entries(file.blocks().get(..blocks.start).unwrap_or_default());
        let mut sink = EntrySink::new(wants);
        sink.columns.unknown_members = program.unknown.clone();
        // Entries take a hundred bytes and more; a claim that the bytes don't cover is not believed.
        sink.columns.reserve(usize::try_from(entries(wanted)).unwrap_or(usize::MAX).min(compressed / 16));
        for (i, block) in blocks.zip(wanted) {
            let data = file.block(i, &mut self.inflater).with("block", i)?;
            decode_block(data, block.count, place, (&program, request), &mut sink).with("block", i)?;
            place = place.saturating_add(block.count);
        }
        Ok(sink.columns)
    }
}

fn decode_block(
    data: &[u8],
    count: u64,
    mut place: u64,
    (program, request): (&DecodeProgram, &PaimonEntryRequest<'_>),
    sink: &mut EntrySink<'_>,
) -> Result<()> {
    if count > data.len() as u64 {
        return Err(Error::corrupt(format!("the block claims {count} entries in {} bytes", data.len())));
    }
    let mut walk = EntryWalk { program, request, row: EntryRow::default() };
    let mut cursor = Cursor::new(data);
    for _ in 0..count {
        cursor.begin_record(program.record)?;
        cursor = walk.entry(cursor, u32::try_from(place).map_err(|_| too_much())?, sink)?;
        place += 1;
    }
    match cursor.rest().is_empty() {
        true => Ok(()),
        false => Err(Error::corrupt("the block holds more than its entries")),
    }
}

/// The current entry.
#[derive(Default)]
struct EntryRow<'a> {
    kind: i64,
    partition: &'a [u8],
    bucket: i32,
    total_buckets: i32,
    name: &'a [u8],
    file_size: i64,
    row_count: i64,
    min_key: Option<&'a [u8]>,
    max_key: Option<&'a [u8]>,
    key_stats: RawStats<'a>,
    value_stats: RawStats<'a>,
    min_sequence_number: i64,
    max_sequence_number: i64,
    schema_id: i64,
    level: i32,
    extra_files: Vec<&'a str>,
    creation_time: Option<i64>,
    delete_row_count: Option<i64>,
    embedded_index: Option<&'a [u8]>,
    file_source: Option<i64>,
    /// The encoded lists of names.
    value_stats_cols: Option<&'a [u8]>,
    external_path: Option<&'a [u8]>,
    first_row_id: Option<i64>,
    write_cols: Option<&'a [u8]>,
    /// Members that only later versions know: those of the file, and those of the entry.
    unknown: [Vec<u8>; 2],
}

impl EntryRow<'_> {
    /// Clears values that the next entry may lack.
    fn clear(&mut self) {
        self.key_stats.clear();
        self.value_stats.clear();
        self.extra_files.clear();
        (self.min_key, self.max_key, self.embedded_index, self.external_path) = (None, None, None, None);
        (self.creation_time, self.delete_row_count, self.file_source, self.first_row_id) = (None, None, None, None);
        (self.value_stats_cols, self.write_cols) = (None, None);
        (self.min_sequence_number, self.max_sequence_number) = (0, 0);
        self.unknown.iter_mut().for_each(Vec::clear);
    }
}

/// The pass over one block.
struct EntryWalk<'a, 'p> {
    program: &'p DecodeProgram,
    request: &'p PaimonEntryRequest<'p>,
    row: EntryRow<'a>,
}

impl<'a> EntryWalk<'a, '_> {
    fn entry(&mut self, mut cursor: Cursor<'a>, place: u32, sink: &mut EntrySink<'_>) -> Result<Cursor<'a>> {
        let program = self.program;
        self.row.clear();
        let (mut seen, mut wanted) = (0, None);
        for (step, is_unknown) in program.entry.iter().zip(&program.is_unknown) {
            let column = match step {
                RecordStep::Skip(skip) => {
                    let (bytes, after) = raw(skip, cursor)?;
                    if *is_unknown {
                        self.row.unknown[1].extend_from_slice(bytes.unwrap_or_default());
                    }
                    cursor = after;
                    continue;
                }
                RecordStep::Read(optional, column) => {
                    if !cursor.present(*optional)? {
                        return Err(absent(*column));
                    }
                    *column
                }
            };
            match column {
                EntryField::Kind => self.row.kind = cursor.long()?,
                EntryField::Partition => self.row.partition = cursor.bytes()?,
                EntryField::Bucket => self.row.bucket = cursor.int()?,
                EntryField::TotalBuckets => self.row.total_buckets = cursor.int()?,
                // The members before the file are mostly all that the judgement needs.
                _ => {
                    wanted = if seen == 4 { Some(self.is_wanted(sink)) } else { None };
                    cursor = if wanted == Some(false) { program.skip_file.run(cursor)? } else { self.file(cursor)? };
                }
            }
            seen += 1;
        }
        if wanted.unwrap_or_else(|| self.is_wanted(sink)) {
            sink.push(&self.row, self.request, place)?;
        }
        Ok(cursor)
    }

    fn is_wanted(&self, sink: &mut EntrySink<'_>) -> bool {
        let row = &self.row;
        if self.request.kind.is_some_and(|kind| i64::from(kind) != row.kind) {
            return false;
        }
        self.request.keep.is_none_or(|keep| sink.keeps(keep, row))
    }

    fn file(&mut self, mut cursor: Cursor<'a>) -> Result<Cursor<'a>> {
        let (program, row) = (self.program, &mut self.row);
        for step in &program.file {
            let column = match step {
                RecordStep::Skip(skip) => {
                    let (bytes, after) = raw(skip, cursor)?;
                    row.unknown[0].extend_from_slice(bytes.unwrap_or_default());
                    cursor = after;
                    continue;
                }
                RecordStep::Read(optional, column) if !cursor.present(*optional)? => {
                    if FILE.iter().take(REQUIRED).any(|(_, _, c)| c == column) {
                        return Err(absent(*column));
                    }
                    continue;
                }
                RecordStep::Read(_, column) => *column,
            };
            match column {
                EntryField::FileName => row.name = cursor.bytes()?,
                EntryField::FileSize => row.file_size = cursor.long()?,
                EntryField::RowCount => row.row_count = cursor.long()?,
                EntryField::MinKey => row.min_key = Some(cursor.bytes()?),
                EntryField::MaxKey => row.max_key = Some(cursor.bytes()?),
                EntryField::KeyStats if self.request.key_stats => {
                    cursor = program.key_stats.read(cursor, &mut row.key_stats)?;
                }
                EntryField::KeyStats => cursor = program.skip_stats[0].run(cursor)?,
                EntryField::ValueStats if self.request.value_stats => {
                    cursor = program.value_stats.read(cursor, &mut row.value_stats)?;
                }
                EntryField::ValueStats => cursor = program.skip_stats[1].run(cursor)?,
                EntryField::MinSequenceNumber => row.min_sequence_number = cursor.long()?,
                EntryField::MaxSequenceNumber => row.max_sequence_number = cursor.long()?,
                EntryField::SchemaId => row.schema_id = cursor.long()?,
                EntryField::Level => row.level = cursor.int()?,
                EntryField::ExtraFiles => cursor = read_texts(cursor, &mut row.extra_files)?,
                EntryField::CreationTime => row.creation_time = Some(cursor.long()?),
                EntryField::DeleteRowCount => row.delete_row_count = Some(cursor.long()?),
                EntryField::EmbeddedIndex => row.embedded_index = Some(cursor.bytes()?),
                EntryField::FileSource => row.file_source = Some(cursor.long()?),
                EntryField::ValueStatsCols => {
                    (row.value_stats_cols, cursor) = raw(&program.skip_names[0], cursor)?;
                }
                EntryField::ExternalPath => row.external_path = Some(cursor.bytes()?),
                EntryField::FirstRowId => row.first_row_id = Some(cursor.long()?),
                EntryField::WriteCols => (row.write_cols, cursor) = raw(&program.skip_names[1], cursor)?,
                EntryField::Kind
                | EntryField::Partition
                | EntryField::Bucket
                | EntryField::TotalBuckets
                | EntryField::File => {}
            }
        }
        Ok(cursor)
    }
}

/// The bytes of a value.
fn raw<'a>(skip: &Skip, cursor: Cursor<'a>) -> Result<(Option<&'a [u8]>, Cursor<'a>)> {
    let before = cursor.rest();
    let after = skip.run(cursor)?;
    Ok((before.get(..before.len() - after.rest().len()), after))
}

#[cold]
fn absent(column: EntryField) -> Error {
    Error::corrupt(format!("an entry has no value for {column:?}"))
}

/// Collects entries as columns, with partitions and lists of names interned.
struct EntrySink<'w> {
    wants: Wants<'w>,
    columns: PaimonEntryColumns,
    partitions: HashMap<Box<[u8]>, u32>,
    names: HashMap<Box<[u8]>, u32>,
    extra: Vec<u8>,
    /// The last judgement: entries mostly come in the order of partitions and buckets.
    judged: Option<(Box<[u8]>, i32, i32, bool)>,
}

impl<'w> EntrySink<'w> {
    fn new(wants: Wants<'w>) -> EntrySink<'w> {
        EntrySink {
            wants,
            columns: PaimonEntryColumns::default(),
            partitions: HashMap::new(),
            names: HashMap::new(),
            extra: Vec::new(),
            judged: None,
        }
    }

    fn keeps(&mut self, keep: super::entries::Keep<'_>, row: &EntryRow<'_>) -> bool {
        if let Some((partition, bucket, total, kept)) = &self.judged
            && (&partition[..], *bucket, *total) == (row.partition, row.bucket, row.total_buckets)
        {
            return *kept;
        }
        let kept = keep(row.partition, row.bucket, row.total_buckets);
        self.judged = Some((row.partition.into(), row.bucket, row.total_buckets, kept));
        kept
    }

    fn push(&mut self, row: &EntryRow<'_>, request: &PaimonEntryRequest<'_>, place: u32) -> Result<()> {
        let kind = u8::try_from(row.kind).ok().filter(|k| [ADD, DELETE].contains(k));
        let kind = kind.ok_or_else(|| Error::corrupt(format!("an entry is of kind {}", row.kind)))?;
        let file_source = row.file_source.map(u8::try_from).transpose();
        let partition = self.partition(row.partition);
        let value_stats_cols = self.names(row.value_stats_cols)?;
        let write_cols = self.names(row.write_cols)?;
        self.extra.clear();
        for name in &row.extra_files {
            self.extra.extend_from_slice(&(name.len() as u32).to_le_bytes());
            self.extra.extend_from_slice(name.as_bytes());
        }
        let c = &mut self.columns;
        c.place.push(place);
        c.kind.push(kind);
        c.partition.push(partition);
        c.bucket.push(row.bucket);
        c.total_buckets.push(row.total_buckets);
        put(&mut c.file_name, Some(row.name))?;
        c.file_size.push(row.file_size);
        c.row_count.push(row.row_count);
        put(&mut c.min_key, row.min_key)?;
        put(&mut c.max_key, row.max_key)?;
        if request.key_stats {
            put_stats(&mut c.key_stats, &row.key_stats)?;
        }
        if request.value_stats {
            put_stats(&mut c.value_stats, &row.value_stats)?;
        }
        c.min_sequence_number.push(row.min_sequence_number);
        c.max_sequence_number.push(row.max_sequence_number);
        c.schema_id.push(row.schema_id);
        c.level.push(row.level);
        put(&mut c.extra_files, Some(&self.extra[..]).filter(|e| !e.is_empty()))?;
        c.creation_time_ms.push(row.creation_time);
        c.delete_row_count.push(row.delete_row_count);
        put(&mut c.embedded_index, row.embedded_index)?;
        c.file_source.push(file_source.map_err(|_| Error::corrupt("a file has an unknown source"))?);
        c.value_stats_cols.push(value_stats_cols);
        put(&mut c.external_path, row.external_path)?;
        c.first_row_id.push(row.first_row_id);
        c.write_cols.push(write_cols);
        let unknown = c.unknown_members.as_ref().map(|_| row.unknown.concat());
        put(&mut c.unknown, unknown.as_deref())?;
        let last = c.len().saturating_sub(1);
        match (self.wants)(c, last)? {
            true => check(row),
            false => {
                c.pop();
                Ok(())
            }
        }
    }

    /// The index of a partition.
    fn partition(&mut self, row: &[u8]) -> u32 {
        if let Some(last) = self.columns.partition.last()
            && self.columns.partitions.get(*last as usize).is_some_and(|p| p[..] == *row)
        {
            return *last;
        }
        if let Some(index) = self.partitions.get(row) {
            return *index;
        }
        let index = self.columns.partitions.len() as u32;
        self.columns.partitions.push(row.into());
        self.partitions.insert(row.into(), index);
        index
    }

    /// The index of a list of names, by its bytes.
    fn names(&mut self, list: Option<&[u8]>) -> Result<u32> {
        let Some(list) = list else { return Ok(NO_NAMES) };
        if let Some(index) = self.names.get(list) {
            return Ok(*index);
        }
        let mut names = Vec::new();
        read_texts(Cursor::new(list), &mut names)?;
        let index = self.columns.names.len() as u32;
        self.columns.names.push(names.into_iter().map(str::to_owned).collect());
        self.names.insert(list.into(), index);
        Ok(index)
    }
}

/// Checks the requested values of an entry.
fn check(row: &EntryRow<'_>) -> Result<()> {
    let name = std::str::from_utf8(row.name).map_err(|e| Error::corrupt("a file's name is not UTF-8").because(e))?;
    checked_name(name)?;
    if row.file_size < 0 || row.row_count < 0 {
        let (size, rows) = (row.file_size, row.row_count);
        return Err(Error::corrupt(format!("a file has {size} bytes and {rows} rows")).with("file", name));
    }
    Ok(())
}

fn put(column: &mut BytesColumn, value: Option<&[u8]>) -> Result<()> {
    if column.push(value) { Ok(()) } else { Err(too_much()) }
}

fn put_stats(column: &mut StatsColumn, stats: &RawStats<'_>) -> Result<()> {
    put(&mut column.min, stats.min)?;
    put(&mut column.max, stats.max)?;
    if column.null_counts.push(stats.counts()) { Ok(()) } else { Err(too_much()) }
}

#[cold]
fn too_much() -> Error {
    Error::unsupported("a manifest holds more than 4 GiB")
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
