//! The tail of a file, and the footers of its stripes.

use super::compression::{Compression, OrcCodec};
use super::protobuf::Message;
use super::stream::Stream;
use crate::error::{Error, Result};

/// The first bytes of files, and the last bytes of postscripts.
pub const MAGIC: &[u8] = b"ORC";

/// The field number of the magic in a postscript.
const MAGIC_FIELD: u64 = 8000;

/// The version of files by writers before the second version was final. Their short decimals are plain integers.
const UNSTABLE_V2: [u32; 2] = [1, 9999];

/// The largest size of metadata.
const MAX_MESSAGE: usize = 1 << 30;

/// Metadata of this size is allowed at any compression ratio.
const ALWAYS_ALLOWED: usize = 1 << 20;

/// The largest factor by which a codec can expand bytes. It is Zstandard's (RFC 8878, 3.1.1.2).
const MAX_RATIO: usize = (128 << 10) / 4;

/// The deepest nesting of types.
const MAX_DEPTH: usize = 100;

/// The end of a file, before the one byte with its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostScript {
    /// The size of the footer in bytes. The footer is directly before.
    pub footer_length: u64,
    /// How metadata and streams are compressed.
    pub compression: Compression,
    /// Whether it ends with the name of the format. The oldest files only begin with it.
    pub is_named: bool,
    /// Whether decimals of up to 18 digits are stored as integers.
    pub has_short_decimals: bool,
}

impl PostScript {
    /// Decodes it.
    ///
    /// # Errors
    /// `CorruptTable` if it is damaged, `Unsupported` for unknown codecs.
    pub fn parse(bytes: &[u8]) -> Result<PostScript> {
        let (mut footer_length, mut codec, mut block_size) = (None, 0, None);
        let (mut version, mut magic) = (Vec::new(), None);
        for field in Message::new(bytes) {
            match field? {
                (1, v) => footer_length = Some(v.number()?),
                (2, v) => codec = v.number()?,
                (3, v) => block_size = Some(v.number()?),
                (4, v) => v.append_to(&mut version)?,
                (MAGIC_FIELD, v) => magic = Some(v.bytes()?),
                _ => {}
            }
        }
        if magic.is_some_and(|magic| magic != MAGIC) {
            return Err(Error::corrupt("the file does not end as ORC files do: it is cut off or no ORC"));
        }
        Ok(PostScript {
            is_named: magic.is_some(),
            footer_length: footer_length.ok_or_else(|| Error::corrupt("the ORC file has no footer"))?,
            compression: Compression::new(codec, block_size)?,
            has_short_decimals: version == UNSTABLE_V2,
        })
    }
}

/// The kind of a column's type.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrcKind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    String,
    Binary,
    Timestamp,
    List,
    Map,
    Struct,
    Union,
    Decimal,
    Date,
    Varchar,
    Char,
    TimestampInstant,
    /// A type of a later version.
    Other(u32),
}

impl OrcKind {
    fn new(number: u32) -> OrcKind {
        match number {
            0 => OrcKind::Boolean,
            1 => OrcKind::Byte,
            2 => OrcKind::Short,
            3 => OrcKind::Int,
            4 => OrcKind::Long,
            5 => OrcKind::Float,
            6 => OrcKind::Double,
            7 => OrcKind::String,
            8 => OrcKind::Binary,
            9 => OrcKind::Timestamp,
            10 => OrcKind::List,
            11 => OrcKind::Map,
            12 => OrcKind::Struct,
            13 => OrcKind::Union,
            14 => OrcKind::Decimal,
            15 => OrcKind::Date,
            16 => OrcKind::Varchar,
            17 => OrcKind::Char,
            18 => OrcKind::TimestampInstant,
            n => OrcKind::Other(n),
        }
    }
}

/// A column's type, as an entry of the list of all types. The first entry is the whole row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// The kind of the type.
    pub kind: OrcKind,
    /// The numbers of its child types in the list. They are after this one, and each has only one parent.
    pub children: Vec<usize>,
    /// The names of a struct's members.
    pub names: Vec<String>,
    /// Digits of a decimal.
    pub precision: u32,
    /// Digits after a decimal's point.
    pub scale: u32,
    /// The attributes that the writer added, such as `iceberg.id`.
    pub attributes: Vec<(String, String)>,
}

impl TypeInfo {
    fn parse(message: Message<'_>) -> Result<TypeInfo> {
        // The precision and scale that Java assumes if a file has none.
        let mut out = TypeInfo {
            kind: OrcKind::Boolean,
            children: Vec::new(),
            names: Vec::new(),
            precision: 38,
            scale: 10,
            attributes: Vec::new(),
        };
        let mut children = Vec::new();
        for field in message {
            match field? {
                (1, v) => out.kind = OrcKind::new(v.small()?),
                (2, v) => v.append_to(&mut children)?,
                (3, v) => out.names.push(v.text()?),
                (5, v) => out.precision = v.small()?,
                (6, v) => out.scale = v.small()?,
                (7, v) => {
                    let mut pair = (String::new(), String::new());
                    for field in v.message()? {
                        match field? {
                            (1, v) => pair.0 = v.text()?,
                            (2, v) => pair.1 = v.text()?,
                            _ => {}
                        }
                    }
                    out.attributes.push(pair);
                }
                _ => {}
            }
        }
        out.children = children.into_iter().map(|c| c as usize).collect();
        Ok(out)
    }

    /// The value of an attribute that the writer added.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The place of a stripe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StripeInfo {
    /// The offset of its first byte.
    pub offset: u64,
    /// The size of the indexes, which come first.
    pub index_length: u64,
    /// The size of the data, which come next.
    pub data_length: u64,
    /// The size of the stripe's footer.
    pub footer_length: u64,
    /// The number of its rows.
    pub rows: u64,
}

impl StripeInfo {
    fn parse(message: Message<'_>) -> Result<StripeInfo> {
        let mut out = StripeInfo::default();
        for field in message {
            match field? {
                (1, v) => out.offset = v.number()?,
                (2, v) => out.index_length = v.number()?,
                (3, v) => out.data_length = v.number()?,
                (4, v) => out.footer_length = v.number()?,
                (5, v) => out.rows = v.number()?,
                _ => {}
            }
        }
        Ok(out)
    }

    /// Where its footer begins; `None` if the sum overflows.
    pub fn footer_offset(&self) -> Option<u64> {
        self.offset.checked_add(self.index_length)?.checked_add(self.data_length)
    }

    /// The offset after its last byte.
    pub fn end(&self) -> Option<u64> {
        self.footer_offset()?.checked_add(self.footer_length)
    }
}

/// The footer of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrcFooter {
    /// The stripes in the order of their rows.
    pub stripes: Vec<StripeInfo>,
    /// All types. A column's number is its place here.
    pub types: Vec<TypeInfo>,
    /// The number of rows in the file.
    pub rows: u64,
    /// The bytes of each column's strings, if the writer counted them.
    pub text_bytes: Vec<Option<u64>>,
    /// The number of each column's values, if the writer counted them.
    pub values: Vec<Option<u64>>,
    /// The number of the writer.
    pub writer: u64,
    /// The version of the writer; empty before ORC 1.6.
    pub software_version: String,
}

/// The smallest fraction of a second for which Java's writer rounds a time before 1970 towards 1970, in nanoseconds.
pub const ROUNDED_BY_JAVA: i64 = 1_000_000;

impl OrcFooter {
    /// The smallest fraction of a second for which this writer rounded times before 1970 towards 1970, in nanoseconds.
    ///
    /// Java does so from a millisecond on. Presto and Trino round any fraction, as ORC's C++ writer did before 1.6.8
    /// (ORC-763; Trino's `TimestampColumnWriter`). Readers then have to subtract a second.
    pub fn least_rounded_nanos(&self) -> i64 {
        const CPP: u64 = 1;
        const PRESTO: u64 = 2;
        const TRINO: u64 = 4;
        let numbers = |text: &str| text.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>();
        let release = self.software_version.split(['-', ' ']).next().unwrap_or_default();
        match self.writer {
            PRESTO | TRINO => 1,
            CPP if numbers(release) < vec![1, 6, 8] => 1,
            _ => ROUNDED_BY_JAVA,
        }
    }

    /// Decompresses and decodes it. Types form a tree, and the stripes have as many rows as the file.
    ///
    /// # Errors
    /// `CorruptTable` if it contradicts itself, `Unsupported` if columns are encrypted.
    pub fn parse(bytes: &[u8], compression: Compression) -> Result<OrcFooter> {
        let bytes = read_message(bytes, compression)?;
        let mut out = OrcFooter {
            stripes: Vec::new(),
            types: Vec::new(),
            rows: 0,
            text_bytes: Vec::new(),
            values: Vec::new(),
            writer: 0,
            software_version: String::new(),
        };
        for field in Message::new(&bytes) {
            match field? {
                (3, v) => out.stripes.push(StripeInfo::parse(v.message()?)?),
                (4, v) => out.types.push(TypeInfo::parse(v.message()?)?),
                (6, v) => out.rows = v.number()?,
                (7, v) => out.add_statistics(v.message()?)?,
                (9, v) => out.writer = v.number()?,
                (12, v) => out.software_version = v.text()?,
                (10, _) => return Err(Error::unsupported("encrypted ORC files cannot be read yet")),
                _ => {}
            }
        }
        check_types(&out.types)?;
        let rows = out.stripes.iter().try_fold(0u64, |sum, stripe| sum.checked_add(stripe.rows));
        if rows != Some(out.rows) || i64::try_from(out.rows).is_err() {
            return Err(Error::corrupt(format!(
                "the ORC file claims {} rows, but its stripes another number",
                out.rows
            )));
        }
        Ok(out)
    }

    /// Adds the statistics of one column: the number of its values, and the length of all strings.
    fn add_statistics(&mut self, message: Message<'_>) -> Result<()> {
        let (mut values, mut text) = (None, None);
        for field in message {
            match field? {
                (1, v) => values = Some(v.number()?),
                // Statistics of strings have the sum of lengths third, those of byte strings first.
                (field @ (4 | 8), v) => {
                    for inner in v.message()? {
                        match inner? {
                            (3, v) if field == 4 => text = Some(v.number()?),
                            (1, v) if field == 8 => text = Some(v.number()?),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.values.push(values);
        self.text_bytes.push(text.map(|bits| (bits >> 1) ^ (bits & 1).wrapping_neg()));
        Ok(())
    }
}

/// Types are a tree whose children come after their parents.
fn check_types(types: &[TypeInfo]) -> Result<()> {
    let bad = |what: &str| Err(Error::corrupt(format!("the types of the ORC file are not a tree: {what}")));
    if types.first().is_none_or(|root| root.kind != OrcKind::Struct) {
        return match types.first() {
            Some(_) => Err(Error::unsupported("ORC files whose rows are not structs can't be read")),
            None => bad("it has no types"),
        };
    }
    let mut depths = vec![usize::MAX; types.len()];
    if let Some(root) = depths.first_mut() {
        *root = 0;
    }
    for (i, ty) in types.iter().enumerate() {
        let depth = depths.get(i).copied().unwrap_or(usize::MAX);
        if depth == usize::MAX {
            return bad("one belongs to no other");
        }
        if depth > MAX_DEPTH {
            return bad("they nest too deeply");
        }
        let fits = match ty.kind {
            OrcKind::Struct => ty.names.len() == ty.children.len(),
            OrcKind::List => ty.children.len() == 1,
            OrcKind::Map => ty.children.len() == 2,
            OrcKind::Union | OrcKind::Other(_) => true,
            _ => ty.children.is_empty(),
        };
        if !fits {
            return bad("one has too few or too many below it");
        }
        for &child in &ty.children {
            match depths.get_mut(child) {
                Some(place) if *place == usize::MAX && child > i => *place = depth + 1,
                _ => return bad("one belongs to two others"),
            }
        }
    }
    Ok(())
}

/// The use of a stream.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    Present,
    Data,
    Length,
    DictionaryData,
    Secondary,
    /// Bloom filters of the groups of rows, an index.
    BloomFilter,
    /// Other indexes, older filters, and streams that are not read.
    Other,
}

impl StreamKind {
    /// Whether values are decoded from it.
    pub fn is_data(self) -> bool {
        !matches!(self, StreamKind::BloomFilter | StreamKind::Other)
    }
}

/// A stream of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The use of the stream.
    pub kind: StreamKind,
    /// The number of its column.
    pub column: usize,
    /// Its first byte in the file.
    pub offset: u64,
    /// The number of its bytes.
    pub length: u64,
}

/// How a column is encoded in a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Whether values are numbers of entries of a dictionary.
    pub is_dictionary: bool,
    /// Whether integers are runs of version 2.
    pub v2: bool,
    /// The number of entries of the dictionary.
    pub dictionary_size: usize,
}

/// The footer of a stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeFooter {
    /// The streams in the order of the file, without gaps.
    pub streams: Vec<StreamInfo>,
    /// The encoding of each column.
    pub encodings: Vec<Encoding>,
    /// The time zone of the writer's timestamps that have no zone.
    pub writer_zone: Option<String>,
}

impl StripeFooter {
    /// Decompresses and decodes it. Streams lie inside the stripe.
    ///
    /// # Errors
    /// `CorruptTable` if it contradicts itself, `Unsupported` for encodings that are not known.
    pub fn parse(bytes: &[u8], compression: Compression, stripe: &StripeInfo) -> Result<StripeFooter> {
        let bytes = read_message(bytes, compression)?;
        let mut out = StripeFooter { streams: Vec::new(), encodings: Vec::new(), writer_zone: None };
        let outside = || Error::corrupt("a stream of the ORC file is outside its stripe");
        let (mut offset, end) = (stripe.offset, stripe.footer_offset().ok_or_else(outside)?);
        for field in Message::new(&bytes) {
            match field? {
                (1, v) => {
                    let stream = parse_stream(v.message()?, offset)?;
                    offset = offset.checked_add(stream.length).filter(|o| *o <= end).ok_or_else(outside)?;
                    out.streams.push(stream);
                }
                (2, v) => out.encodings.push(parse_encoding(v.message()?)?),
                (3, v) => out.writer_zone = Some(v.text()?).filter(|zone| !zone.is_empty()),
                _ => {}
            }
        }
        Ok(out)
    }
}

fn parse_stream(message: Message<'_>, offset: u64) -> Result<StreamInfo> {
    let mut out = StreamInfo { kind: StreamKind::Present, column: 0, offset, length: 0 };
    for field in message {
        match field? {
            (1, v) => {
                out.kind = match v.number()? {
                    0 => StreamKind::Present,
                    1 => StreamKind::Data,
                    2 => StreamKind::Length,
                    3 => StreamKind::DictionaryData,
                    5 => StreamKind::Secondary,
                    8 => StreamKind::BloomFilter,
                    _ => StreamKind::Other,
                }
            }
            (2, v) => out.column = v.small()? as usize,
            (3, v) => out.length = v.number()?,
            _ => {}
        }
    }
    Ok(out)
}

fn parse_encoding(message: Message<'_>) -> Result<Encoding> {
    let (mut kind, mut dictionary_size) = (0, 0);
    for field in message {
        match field? {
            (1, v) => kind = v.number()?,
            (2, v) => dictionary_size = v.small()? as usize,
            _ => {}
        }
    }
    if kind > 3 {
        return Err(Error::unsupported(format!("the ORC file has columns of encoding {kind}")));
    }
    Ok(Encoding { is_dictionary: kind & 1 == 1, v2: kind & 2 == 2, dictionary_size })
}

/// Decompresses a message. Memory is bounded by the number of its bytes.
fn read_message(bytes: &[u8], compression: Compression) -> Result<Vec<u8>> {
    if compression.codec == OrcCodec::None {
        return Ok(bytes.to_vec());
    }
    Stream::read_all(bytes, compression, bytes.len().saturating_mul(MAX_RATIO).clamp(ALWAYS_ALLOWED, MAX_MESSAGE))
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
