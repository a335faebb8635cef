//! Files of blobs: the values of one column, one after the other, and their lengths at the end.
//!
//! A value is framed as a record: a magic number, the bytes, the record's length and a checksum of all of that. Nulls
//! and placeholders have no record, only a length below zero. The lengths are differences to the length before, as
//! zigzag variable-length integers.
//!
//! A reader gets the last [`TAIL_BYTES`] bytes. [`index_bytes`] says how long the list of lengths is, [`BlobIndex`]
//! has the place of each value, and [`payload`] checks a record.
//!
//! Source: Paimon specification, "File format", "BLOB"; where it is silent, Java's `BlobFileMeta` and
//! `DeltaVarintCompressor`.

use std::ops::Range;

use super::avro::decode::Cursor;
use super::avro::encode::put_long;
use crate::error::{Error, Result};

/// Bytes at the end of every file: the length of the list of lengths, and the version.
pub const TAIL_BYTES: usize = 5;

const VERSION: u8 = 1;
const MAGIC: [u8; 4] = 1_481_511_375_u32.to_le_bytes();

/// Bytes after a value: the record's length and the checksum.
const AFTER: usize = 12;

/// The bytes that begin a descriptor.
const DESCRIPTOR_START: usize = 9;

/// Bytes of a record that are not the value's.
const FRAME: usize = MAGIC.len() + AFTER;

const DESCRIPTOR_VERSION: u8 = 2;

/// "BLOBDESC".
const DESCRIPTOR_MAGIC: u64 = 0x424C_4F42_4445_5343;

const NULL: i64 = -1;
const PLACEHOLDER: i64 = -2;

/// One value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobPlace {
    /// A null.
    Null,
    /// An older file has the value.
    Placeholder,
    /// The bytes of the value's record in the file.
    Record(Range<u64>),
}

impl BlobPlace {
    /// The bytes of the value itself; `None` if it has none.
    pub fn value(&self) -> Option<Range<u64>> {
        match self {
            BlobPlace::Record(record) => Some(record.start + MAGIC.len() as u64..record.end - AFTER as u64),
            BlobPlace::Null | BlobPlace::Placeholder => None,
        }
    }
}

/// The values of a file, in the order of its rows. It holds the file's list of lengths, and nothing for each value.
#[derive(Clone, Debug)]
pub struct BlobIndex {
    list: Vec<u8>,
    /// The length before, the bytes of the list that were read, and the end of the last value.
    length: i64,
    read: usize,
    offset: u64,
}

/// The length of the list of lengths of a file of `size` bytes that ends with `tail`.
///
/// # Errors
/// `CorruptTable` if the file is shorter than it says; `Unsupported` for other versions.
pub fn index_bytes(tail: &[u8], size: u64) -> Result<u64> {
    let short = || Error::corrupt(format!("a file of blobs of {size} bytes is too short"));
    let (&version, rest) = tail.split_last().ok_or_else(short)?;
    let length = u32::from_le_bytes(*rest.last_chunk::<4>().ok_or_else(short)?);
    match version {
        VERSION => {}
        other => return Err(Error::unsupported(format!("files of blobs of version {other} can't be read"))),
    }
    let length = u64::from(length);
    match size.checked_sub(TAIL_BYTES as u64).is_some_and(|most| length <= most) {
        true => Ok(length),
        false => Err(Error::corrupt(format!("a file of blobs of {size} bytes has a list of {length} bytes"))),
    }
}

/// The most bytes of a length in the list.
const MOST_BYTES: u64 = 10;

/// Checks the length of a list of `rows` lengths, before it is read.
///
/// # Errors
/// `CorruptTable` if it can't have them.
pub fn check_list_bytes(length: u64, rows: u64) -> Result<()> {
    match (rows..=rows.saturating_mul(MOST_BYTES)).contains(&length) {
        true => Ok(()),
        false => Err(Error::corrupt(format!("{length} bytes of a file of blobs can't list its {rows} values"))),
    }
}

impl BlobIndex {
    /// Reads the list of lengths of a file with `rows` values, and `data` bytes before the list.
    ///
    /// # Errors
    /// `CorruptTable` for lengths that are impossible or don't fill the file, and for another number of values.
    pub fn decode(list: Vec<u8>, data: u64, rows: u64) -> Result<BlobIndex> {
        check_list_bytes(list.len() as u64, rows)?;
        let index = BlobIndex { list, length: 0, read: 0, offset: 0 };
        let (mut walk, mut count) = (index, 0u64);
        while walk.step(data)?.is_some() {
            count += 1;
            if count > rows {
                break;
            }
        }
        if count != rows {
            return Err(Error::corrupt(format!("a file of blobs lists {count} values, and the table records {rows}")));
        }
        match walk.offset == data {
            true => Ok(BlobIndex { list: walk.list, length: 0, read: 0, offset: 0 }),
            false => {
                let offset = walk.offset;
                Err(Error::corrupt(format!("the values of a file of blobs have {offset} of its {data} bytes")))
            }
        }
    }

    /// The next value, which ends before `data`.
    fn step(&mut self, data: u64) -> Result<Option<BlobPlace>> {
        let rest = self.list.get(self.read..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let mut cursor = Cursor::new(rest);
        let damaged = |e| Error::corrupt("the list of lengths of a file of blobs is damaged").because(e);
        let difference = cursor.long().map_err(damaged)?;
        self.read += rest.len() - cursor.rest().len();
        self.length = self.length.wrapping_add(difference);
        Ok(Some(match self.length {
            NULL => BlobPlace::Null,
            PLACEHOLDER => BlobPlace::Placeholder,
            length => {
                let bytes = u64::try_from(length).ok().filter(|bytes| *bytes >= FRAME as u64);
                let end = bytes.and_then(|bytes| self.offset.checked_add(bytes)).filter(|end| *end <= data);
                let start = self.offset;
                let impossible = || Error::corrupt(format!("a file of blobs has a value of {length} bytes at {start}"));
                self.offset = end.ok_or_else(impossible)?;
                BlobPlace::Record(start..self.offset)
            }
        }))
    }
}

impl Iterator for BlobIndex {
    type Item = Result<BlobPlace>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(u64::MAX).transpose()
    }
}

/// The value of a record.
///
/// # Errors
/// `CorruptTable` if magic number, length or checksum are wrong.
pub fn payload(record: &[u8]) -> Result<&[u8]> {
    let bad = |what| Error::corrupt(format!("a value in a file of blobs has a wrong {what}"));
    let (framed, checksum) = record.split_last_chunk::<4>().ok_or_else(|| bad("length"))?;
    let (value, length) = framed.split_last_chunk::<8>().ok_or_else(|| bad("length"))?;
    let value = value.strip_prefix(&MAGIC).ok_or_else(|| bad("magic number"))?;
    if u64::from_le_bytes(*length) != record.len() as u64 {
        return Err(bad("length"));
    }
    match crc32fast::hash(framed) == u32::from_le_bytes(*checksum) {
        true => Ok(value),
        false => Err(bad("checksum")),
    }
}

/// The bytes around a value, and the length that the list of lengths has for it.
pub struct BlobRecord {
    /// Before the value.
    pub before: Vec<u8>,
    /// After the value.
    pub after: Vec<u8>,
    /// Below zero for a null.
    pub length: i64,
}

impl BlobRecord {
    /// The record of a value, or of a null.
    pub fn of(value: Option<&[u8]>) -> BlobRecord {
        let Some(value) = value else {
            return BlobRecord { before: Vec::new(), after: Vec::new(), length: NULL };
        };
        let length = (value.len() + FRAME) as i64;
        let mut after = length.to_le_bytes().to_vec();
        let mut checksum = crc32fast::Hasher::new();
        [&MAGIC[..], value, &after].into_iter().for_each(|part| checksum.update(part));
        after.extend(checksum.finalize().to_le_bytes());
        BlobRecord { before: MAGIC.to_vec(), after, length }
    }
}

/// The end of a file: the list of lengths, its own length and the version.
///
/// # Errors
/// `Unsupported` for more values than a file can have.
pub fn index_and_tail(lengths: &[i64]) -> Result<Vec<u8>> {
    let (mut out, mut before) = (Vec::with_capacity(lengths.len() + TAIL_BYTES), 0i64);
    for length in lengths {
        put_long(&mut out, length.wrapping_sub(before));
        before = *length;
    }
    let size = i32::try_from(out.len()).map_err(|_| Error::unsupported("a file of blobs has too many values"))?;
    out.extend(size.to_le_bytes());
    out.push(VERSION);
    Ok(out)
}

/// The bytes that describe where a value is, which readers get in place of the value.
///
/// Source: Java's `BlobDescriptor`, version 2.
pub fn descriptor(path: &str, value: &Range<u64>) -> Vec<u8> {
    let mut out = vec![DESCRIPTOR_VERSION];
    out.extend(DESCRIPTOR_MAGIC.to_le_bytes());
    out.extend((path.len() as u32).to_le_bytes());
    out.extend(path.as_bytes());
    out.extend(value.start.to_le_bytes());
    out.extend((value.end - value.start).to_le_bytes());
    out
}

/// Whether bytes are a descriptor.
///
/// Source: Java's `BlobDescriptor.isBlobDescriptor`.
pub fn is_descriptor(value: &[u8]) -> bool {
    let start = value.get(..DESCRIPTOR_START).and_then(|start| start.split_first());
    start.is_some_and(|(version, magic)| *version <= DESCRIPTOR_VERSION && *magic == DESCRIPTOR_MAGIC.to_le_bytes())
}

#[cfg(test)]
#[path = "blob_file_tests.rs"]
mod tests;
