//! Puffin files: containers of blobs, such as deletion vectors and statistics.
//!
//! A writer starts with [`FileBuilder::START`], calls [`FileBuilder::add`] for each blob that it writes, and ends with
//! the bytes of [`FileBuilder::finish`]. A reader gets the last [`TAIL_BYTES`] bytes. [`footer_bytes`] says how long
//! the footer is, [`Footer::parse`] reads it, and [`Blob::content`] decompresses the bytes of a blob.
//!
//! Source: Puffin specification.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::types::FieldId;
use crate::types::json_members::JsonMembers;
use crate::types::json_text;

/// The magic number at the start and end of a file, and at the start of its footer.
const MAGIC: [u8; 4] = *b"PFA1";

/// Bytes at the end of every file that give the footer's length: payload size, flags, magic number.
pub const TAIL_BYTES: usize = 12;

/// The type of deletion vectors.
pub const DELETION_VECTOR: &str = "deletion-vector-v1";

/// The most bytes that a blob may decompress to.
const MAX_CONTENT: u64 = 2 << 30;

/// A file's description of its blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Footer {
    /// The blobs, in the order of the file's footer.
    pub blobs: Vec<Blob>,
    /// Properties of the whole file, such as `created-by`.
    pub properties: BTreeMap<String, String>,
}

/// A blob as the footer describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    /// Its type: [`DELETION_VECTOR`], `apache-datasketches-theta-v1`, or another name.
    pub kind: String,
    /// The columns it was computed for.
    pub fields: Vec<FieldId>,
    /// The snapshot it was computed from; -1 for deletion vectors.
    pub snapshot_id: i64,
    /// That snapshot's sequence number; -1 for deletion vectors.
    pub sequence_number: i64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its length in the file, in bytes.
    pub length: u64,
    /// `lz4` or `zstd`; `None` if it is not compressed.
    pub compression: Option<String>,
    /// Properties of the type: `referenced-data-file`, `cardinality`, `ndv`.
    pub properties: BTreeMap<String, String>,
}

/// The length of the whole footer, with both magic numbers, of a file that ends with `tail`.
///
/// # Errors
/// `CorruptTable` if the file does not end like a Puffin file.
pub fn footer_bytes(tail: &[u8; TAIL_BYTES]) -> Result<u64> {
    let [s0, s1, s2, s3, _, _, _, _, magic @ ..] = *tail;
    if magic != MAGIC {
        return Err(Error::corrupt("the file does not end as Puffin files do: it is cut off or no Puffin"));
    }
    let payload = i32::from_le_bytes([s0, s1, s2, s3]);
    let payload = u64::try_from(payload)
        .map_err(|_| Error::corrupt(format!("the Puffin footer claims a length of {payload} bytes")))?;
    Ok(payload + (MAGIC.len() + TAIL_BYTES) as u64)
}

impl Footer {
    /// Reads a footer. It must fill `footer`. The file has `file_bytes` bytes.
    ///
    /// # Errors
    /// `CorruptTable` if the footer is damaged or a blob is not between the file's start and the footer. `Unsupported`
    /// if the footer is compressed (no writer does this) or has unknown flags.
    pub fn parse(footer: &[u8], file_bytes: u64) -> Result<Footer> {
        let damaged = || Error::corrupt("the Puffin footer is damaged");
        let (start, rest) = footer.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (payload, tail) = rest.split_last_chunk::<TAIL_BYTES>().ok_or_else(damaged)?;
        if *start != MAGIC || footer_bytes(tail)? != footer.len() as u64 {
            return Err(damaged());
        }
        match tail.get(4..8) {
            Some([0, 0, 0, 0]) => {}
            Some([1, 0, 0, 0]) => return Err(Error::unsupported("compressed Puffin footers cannot be read")),
            _ => return Err(Error::unsupported("the Puffin footer has flags that are not known")),
        }
        let json: Json = json_text::parse(payload).map_err(|e| damaged().because(e))?;
        let space = file_bytes.checked_sub(footer.len() as u64).ok_or_else(damaged)?;
        let blobs = json.get("blobs").and_then(Json::as_array).ok_or_else(damaged)?;
        Ok(Footer {
            blobs: blobs.iter().map(|b| Blob::parse(b, space)).collect::<Result<_>>()?,
            properties: properties(&json)?,
        })
    }

    /// The deletion vector of a data file, by the path that the table records.
    #[cfg(test)]
    pub(crate) fn deletion_vector(&self, data_file: &str) -> Option<&Blob> {
        let names = |b: &&Blob| b.properties.get("referenced-data-file").is_some_and(|path| path == data_file);
        self.blobs.iter().filter(|b| b.kind == DELETION_VECTOR).find(names)
    }
}

impl Blob {
    fn parse(json: &Json, space: u64) -> Result<Blob> {
        let members = JsonMembers::of(json, |key| {
            Error::corrupt(format!("a blob of the Puffin footer lacks '{key}' or has a wrong one"))
        });
        let size = |key: &str| u64::try_from(members.long(key)?).map_err(|_| members.wrong(key));
        let (offset, length) = (size("offset")?, size("length")?);
        let inside = offset >= MAGIC.len() as u64 && offset.checked_add(length).is_some_and(|end| end <= space);
        if !inside {
            return Err(Error::corrupt(format!("a blob of {length} bytes at byte {offset} lies outside of the file")));
        }
        Ok(Blob {
            kind: members.string("type")?.to_owned(),
            fields: members.ints("fields")?,
            snapshot_id: members.long("snapshot-id")?,
            sequence_number: members.long("sequence-number")?,
            offset,
            length,
            compression: members.any_string("compression-codec").map(str::to_owned),
            properties: properties(json)?,
        })
    }

    fn to_json(&self) -> Json {
        let mut out = json!({
            "type": self.kind,
            "fields": self.fields,
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "offset": self.offset,
            "length": self.length,
        });
        if let Some(codec) = &self.compression {
            out["compression-codec"] = json!(codec);
        }
        if !self.properties.is_empty() {
            out["properties"] = json!(self.properties);
        }
        out
    }

    /// The blob's content, from the bytes of its range.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes do not decompress or claim more than 2 GiB; `Unsupported` for LZ4 and unknown
    /// codecs.
    pub fn content(&self, stored: Vec<u8>) -> Result<Vec<u8>> {
        match self.compression.as_deref() {
            None => Ok(stored),
            Some("zstd") => {
                let size = zstd::zstd_safe::get_frame_content_size(&stored).ok().flatten();
                let size = size.filter(|s| *s <= MAX_CONTENT && *s / 65_536 <= stored.len() as u64);
                let size = size.ok_or_else(|| Error::corrupt("a blob claims more bytes than it can hold"))?;
                let content = zstd::bulk::decompress(&stored, size as usize)
                    .map_err(|e| Error::corrupt("a blob does not decompress").because(e))?;
                match content.len() as u64 == size {
                    true => Ok(content),
                    false => Err(Error::corrupt("a blob decompresses to fewer bytes than it claims")),
                }
            }
            Some(codec) => Err(Error::unsupported(format!("blobs compressed by {codec} cannot be read"))),
        }
    }
}

/// Keeps track of a file that is being written.
#[derive(Clone, Debug)]
pub struct FileBuilder {
    footer: Footer,
    length: u64,
}

impl FileBuilder {
    /// The first bytes of a file.
    pub const START: [u8; 4] = MAGIC;

    /// Starts a file with these properties. [`FileBuilder::START`] must be written already.
    pub fn new(properties: BTreeMap<String, String>) -> FileBuilder {
        FileBuilder { footer: Footer { blobs: Vec::new(), properties }, length: MAGIC.len() as u64 }
    }

    /// Adds a blob of `length` bytes, which the caller writes next. Returns its offset. Ignores the offset in the blob.
    pub fn add(&mut self, blob: Blob) -> u64 {
        let offset = self.length;
        self.length += blob.length;
        self.footer.blobs.push(Blob { offset, ..blob });
        offset
    }

    /// The footer. It ends the file.
    ///
    /// # Errors
    /// `InvalidInput` if the footer takes more than 2 GiB.
    pub fn finish(self) -> Result<Vec<u8>> {
        self.footer.to_bytes()
    }
}

impl Footer {
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let blobs: Vec<Json> = self.blobs.iter().map(Blob::to_json).collect();
        let payload = json!({"blobs": blobs, "properties": self.properties}).to_string();
        let length = i32::try_from(payload.len())
            .map_err(|e| Error::invalid("the footer of a Puffin file would take more than 2 GiB").because(e))?;
        Ok([&MAGIC[..], payload.as_bytes(), &length.to_le_bytes(), &[0; 4], &MAGIC].concat())
    }
}

fn properties(json: &Json) -> Result<BTreeMap<String, String>> {
    let wrong = || Error::corrupt("properties of the Puffin footer are not texts");
    let Some(map) = json.get("properties").filter(|p| !p.is_null()) else { return Ok(BTreeMap::new()) };
    let pairs = map.as_object().ok_or_else(wrong)?.iter();
    pairs.map(|(key, value)| Ok((key.clone(), value.as_str().ok_or_else(wrong)?.to_owned()))).collect()
}

#[cfg(test)]
#[path = "puffin_tests.rs"]
mod tests;
