//! Tasks of very many splits in a compact form. Each split can be read alone. Texts are similar, so they are
//! compressed in chunks. Reading one split decompresses only its chunk. Plain tasks are small: compressing them took
//! more time than writing them.
//!
//! ```text
//! pack:  magic, CRC-32 of the bytes between it and the first chunk, number of chunks, a place for each chunk, the
//!        chunks
//! place: number of splits up to the chunk's end, bytes of its content, where the chunk ends (eight bytes)
//! chunk: a zstandard frame, with a checksum, of the content; of plain tasks, for which the place says 0 bytes, the
//!        content and its CRC-32
//! content: the splits, the shared sections (one for texts, four for plain tasks), where each split and section ends,
//!          number of splits
//! split:   a text, or a zero and the plain tasks (see `plain`)
//! ```
//!
//! Numbers are little-endian and have four bytes, unless stated otherwise.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::encode::{SpecObject, SplitObject, add_text};
use super::plain::{PlainSections, PlainTask, Shared, is_plain, plain_split};
use super::task::{SpecShape, check_scan, split_of};
use crate::error::{Error, Result};
use crate::format::task::{ReadContext, Split};
use crate::format::wire::members::parse;
use crate::parallel::{check_cancelled, in_parallel};

const MAGIC: [u8; 4] = *b"FZT3";
const LEVEL: i32 = 1;

/// The first byte of a split of plain tasks. No text begins with this byte.
const PLAIN: u8 = 0;

/// Sections that the splits of a chunk share.
const SHARED: usize = 5;

/// Number of splits that a thread packs at once.
const GROUP: usize = 2048;

/// A chunk with at least this number of bytes takes no more splits.
const CHUNK_BYTES: usize = 64 << 10;

/// The value in the place of a chunk that is not compressed.
const NOT_COMPRESSED: u32 = 0;

/// An upper limit for the bytes that zstandard can make of one byte.
const MOST_RATIO: usize = 65_536;

/// The tasks of splits of one scan, for [`packed_tasks_at`].
///
/// # Errors
/// `Internal` if they belong to several scans; errors of [`super::task::tasks_to_json`]; a cancellation.
pub fn pack_tasks(splits: &[Arc<Split>]) -> Result<Vec<u8>> {
    check_scan(splits)?;
    pack_with(splits, |chunk, split| chunk.add(split))
}

/// The same for splits of plain tasks.
///
/// # Errors
/// Errors of [`PlainTask::file`] and [`PlainTask::partition`]; a cancellation.
pub fn pack_plain_tasks<'a, T: PlainTask<'a> + Copy + Sync>(splits: &'a [Vec<T>]) -> Result<Vec<u8>> {
    pack_with(splits, |chunk, tasks| chunk.add_plain(tasks.iter().copied()))
}

fn pack_with<'a, S: Sync>(
    splits: &'a [S],
    add: impl Fn(&mut OpenChunk<'a>, &'a S) -> Result<()> + Sync,
) -> Result<Vec<u8>> {
    let groups: Vec<_> = splits.chunks(GROUP).collect();
    let chunks = in_parallel(groups.len(), |i| chunks_of(groups.get(i).copied().unwrap_or_default(), &add))?;
    written(&chunks.into_iter().flatten().collect::<Vec<_>>())
}

/// Reads a split's tasks from the result of [`pack_tasks`].
///
/// # Errors
/// `InvalidInput` if the bytes are something else, or have no split with that number.
pub fn packed_tasks_at(packed: &[u8], index: usize, context: &Arc<ReadContext>) -> Result<Split> {
    let place = find(packed, index)?;
    let content = place.content()?;
    let Parts { split, texts, plain } = parts(&content, place.index).ok_or_else(damaged)?;
    match split.strip_prefix(&[PLAIN]) {
        Some(tasks) => plain_split(tasks, &plain, context).map_err(|e| damaged().because(e)),
        None => split_of(&parse(split)?, SpecShape::parse_all(&parse(texts)?)?, context.clone()),
    }
}

#[cold]
fn damaged() -> Error {
    Error::invalid("the data is not packed tasks, or it is damaged")
}

// ---- writing

struct Chunk {
    splits: usize,
    content_bytes: u32,
    frame: Vec<u8>,
}

fn chunks_of<'a, S>(splits: &'a [S], add: impl Fn(&mut OpenChunk<'a>, &'a S) -> Result<()>) -> Result<Vec<Chunk>> {
    let (mut done, mut open) = (Vec::new(), OpenChunk::new()?);
    for split in splits {
        check_cancelled()?;
        add(&mut open, split)?;
        if open.content.len() + open.plain.len() >= CHUNK_BYTES {
            done.push(open.close()?);
        }
    }
    if !open.ends.is_empty() {
        done.push(open.close()?);
    }
    Ok(done)
}

struct OpenChunk<'a> {
    compressor: Compressor<'static>,
    content: Vec<u8>,
    ends: Vec<u32>,
    specs: BTreeMap<i32, SpecObject<'a>>,
    has_texts: bool,
    plain: Shared<'a>,
}

impl<'a> OpenChunk<'a> {
    fn new() -> Result<OpenChunk<'a>> {
        let mut compressor = Compressor::new(LEVEL).map_err(not_compressed)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true)).map_err(not_compressed)?;
        Ok(OpenChunk {
            compressor,
            content: Vec::new(),
            ends: Vec::new(),
            specs: BTreeMap::new(),
            has_texts: false,
            plain: Shared::default(),
        })
    }

    fn add(&mut self, split: &'a Split) -> Result<()> {
        if split.tasks.iter().all(is_plain) {
            return self.add_plain(split.tasks.iter());
        }
        let mut object = SplitObject::new(split, None)?;
        object.share_specs(&mut self.specs);
        add_text(&object, &mut self.content)?;
        self.has_texts = true;
        self.ends.push(short(self.content.len())?);
        Ok(())
    }

    fn add_plain<T: PlainTask<'a>>(&mut self, tasks: impl IntoIterator<Item = T>) -> Result<()> {
        self.content.push(PLAIN);
        self.plain.put_tasks(tasks, &mut self.content)?;
        self.ends.push(short(self.content.len())?);
        Ok(())
    }

    /// Returns the chunk and begins the next one.
    fn close(&mut self) -> Result<Chunk> {
        let splits = self.ends.len();
        let specs: Vec<_> = std::mem::take(&mut self.specs).into_values().collect();
        add_text(&specs, &mut self.content)?;
        self.ends.push(short(self.content.len())?);
        let plain = self.plain.take()?;
        for section in [plain.specs, plain.partitions, plain.residuals, plain.files] {
            self.content.extend(section);
            self.ends.push(short(self.content.len())?);
        }
        self.content.extend(self.ends.drain(..).flat_map(u32::to_le_bytes));
        self.content.extend(short(splits)?.to_le_bytes());
        if !std::mem::take(&mut self.has_texts) {
            let checksum = crc32fast::hash(&self.content);
            self.content.extend(checksum.to_le_bytes());
            let next = Vec::with_capacity(self.content.len());
            return Ok(Chunk {
                splits,
                content_bytes: NOT_COMPRESSED,
                frame: std::mem::replace(&mut self.content, next),
            });
        }
        let content_bytes = short(self.content.len())?;
        let frame = self.compressor.compress(&self.content).map_err(not_compressed)?;
        self.content.clear();
        Ok(Chunk { splits, content_bytes, frame })
    }
}

#[cold]
fn not_compressed(e: std::io::Error) -> Error {
    Error::internal("zstandard failed").because(e)
}

fn short(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::unsupported("there are too many tasks to pack"))
}

fn written(chunks: &[Chunk]) -> Result<Vec<u8>> {
    let mut table = short(chunks.len())?.to_le_bytes().to_vec();
    let (mut splits, mut end) = (0, 0);
    for chunk in chunks {
        splits += chunk.splits;
        end += chunk.frame.len();
        table.extend(short(splits)?.to_le_bytes());
        table.extend(chunk.content_bytes.to_le_bytes());
        table.extend((end as u64).to_le_bytes());
    }
    let mut out = Vec::with_capacity(MAGIC.len() + 4 + table.len() + end);
    out.extend(MAGIC);
    out.extend(crc32fast::hash(&table).to_le_bytes());
    out.extend(table);
    chunks.iter().for_each(|chunk| out.extend_from_slice(&chunk.frame));
    Ok(out)
}

// ---- reading

/// Where a split is: in a frame, at an index among its splits.
struct SplitPlace<'a> {
    index: usize,
    frame: &'a [u8],
    content_bytes: usize,
}

impl<'a> SplitPlace<'a> {
    fn content(&self) -> Result<Cow<'a, [u8]>> {
        if self.content_bytes == NOT_COMPRESSED as usize {
            let (content, checksum) = self.frame.split_last_chunk::<4>().ok_or_else(damaged)?;
            let is_whole = crc32fast::hash(content) == u32::from_le_bytes(*checksum);
            return if is_whole { Ok(Cow::Borrowed(content)) } else { Err(damaged()) };
        }
        if self.content_bytes / MOST_RATIO > self.frame.len() {
            return Err(damaged());
        }
        let content = zstd::bulk::decompress(self.frame, self.content_bytes).map_err(|e| damaged().because(e))?;
        if content.len() == self.content_bytes { Ok(Cow::Owned(content)) } else { Err(damaged()) }
    }
}

/// Numbers of splits and bytes up to the end of a chunk, and the bytes of its content.
struct Ends {
    splits: usize,
    content_bytes: usize,
    data: usize,
}

impl Ends {
    fn read(entry: &[u8; 16]) -> Option<Ends> {
        let [s0, s1, s2, s3, c0, c1, c2, c3, data @ ..] = *entry;
        Some(Ends {
            splits: u32::from_le_bytes([s0, s1, s2, s3]) as usize,
            content_bytes: u32::from_le_bytes([c0, c1, c2, c3]) as usize,
            data: usize::try_from(u64::from_le_bytes(data)).ok()?,
        })
    }
}

fn find(packed: &[u8], index: usize) -> Result<SplitPlace<'_>> {
    let (entries, data) = table(packed).ok_or_else(damaged)?;
    let ends = |i: usize| entries.get(i).and_then(Ends::read);
    let at = entries.partition_point(|entry| Ends::read(entry).is_some_and(|ends| ends.splits <= index));
    let Some(chunk) = ends(at) else {
        let splits = entries.last().and_then(Ends::read).map_or(0, |last| last.splits);
        return Err(Error::invalid(format!("split {index} does not exist: the pack has {splits} splits")));
    };
    let before = at.checked_sub(1).and_then(ends).unwrap_or(Ends { splits: 0, content_bytes: 0, data: 0 });
    Ok(SplitPlace {
        index: index.checked_sub(before.splits).ok_or_else(damaged)?,
        frame: data.get(before.data..chunk.data).ok_or_else(damaged)?,
        content_bytes: chunk.content_bytes,
    })
}

/// The places of the chunks, and the chunks; `None` if the pack is damaged outside the chunks.
fn table(packed: &[u8]) -> Option<(&[[u8; 16]], &[u8])> {
    let (magic, rest) = packed.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let chunks = number_at(rest, 0)?;
    let (table, data) = rest.split_at_checked(chunks.checked_mul(16)?.checked_add(4)?)?;
    if *magic != MAGIC || crc32fast::hash(table) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (entries, _) = table.get(4..)?.as_chunks::<16>();
    let end = entries.last().map_or(Some(0), |last| Some(Ends::read(last)?.data))?;
    (end == data.len()).then_some((entries, data))
}

/// A split: a text with its shared section, or plain tasks.
struct Parts<'a> {
    split: &'a [u8],
    texts: &'a [u8],
    plain: PlainSections<&'a [u8]>,
}

fn parts(content: &[u8], index: usize) -> Option<Parts<'_>> {
    let (rest, splits) = content.split_last_chunk::<4>()?;
    let splits = u32::from_le_bytes(*splits) as usize;
    let (all, ends) = rest.split_at_checked(rest.len().checked_sub(splits.checked_add(SHARED)?.checked_mul(4)?)?)?;
    let part = |i: usize| {
        let start = i.checked_sub(1).map_or(Some(0), |before| number_at(ends, before))?;
        all.get(start..number_at(ends, i)?)
    };
    if index >= splits {
        return None;
    }
    let plain = PlainSections {
        specs: part(splits + 1)?,
        partitions: part(splits + 2)?,
        residuals: part(splits + 3)?,
        files: part(splits + 4)?,
    };
    Some(Parts { split: part(index)?, texts: part(splits)?, plain })
}

fn number_at(numbers: &[u8], index: usize) -> Option<usize> {
    let (numbers, _) = numbers.as_chunks::<4>();
    numbers.get(index).map(|number| u32::from_le_bytes(*number) as usize)
}

#[cfg(test)]
#[path = "packed_tests.rs"]
mod tests;
