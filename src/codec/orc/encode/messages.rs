//! Protocol Buffers messages: the tail of a file, the footers and indexes of its stripes.

use std::collections::HashSet;

use super::message::Message;
use super::statistics::OrcColumnStatistics;
use crate::codec::orc::compression::{Compression, OrcCodec};
use crate::codec::orc::tail::{MAGIC, OrcKind, StreamKind, StripeInfo};

/// Version 0.12 of the format.
const VERSION: [u64; 2] = [0, 12];

/// The number of writers that have no number of their own. Readers then assume that the writer has every fix of old
/// mistakes.
const WRITER: u64 = u32::MAX as u64;

/// The version of the last such fix.
const WRITER_VERSION: u64 = 9;

/// Days are counted as in Java Iceberg, which names this calendar and never converts.
const CALENDAR: u64 = 1;

/// Bloom filters have strings in UTF-8 and timestamps in UTC.
const UTF8_UTC: u64 = 1;

impl OrcKind {
    fn number(self) -> u64 {
        match self {
            OrcKind::Boolean => 0,
            OrcKind::Byte => 1,
            OrcKind::Short => 2,
            OrcKind::Int => 3,
            OrcKind::Long => 4,
            OrcKind::Float => 5,
            OrcKind::Double => 6,
            OrcKind::String => 7,
            OrcKind::Binary => 8,
            OrcKind::Timestamp => 9,
            OrcKind::List => 10,
            OrcKind::Map => 11,
            OrcKind::Struct => 12,
            OrcKind::Union => 13,
            OrcKind::Decimal => 14,
            OrcKind::Date => 15,
            OrcKind::Varchar => 16,
            OrcKind::Char => 17,
            OrcKind::TimestampInstant => 18,
            OrcKind::Other(n) => u64::from(n),
        }
    }
}

/// A column's type, as an entry of the list of all types.
#[derive(Clone, Debug)]
pub struct TypeOut {
    /// The kind of the type.
    pub kind: OrcKind,
    /// The numbers of its child types in the list.
    pub children: Vec<usize>,
    /// The names of a struct's members.
    pub names: Vec<String>,
    /// Precision and scale of a decimal.
    pub digits: Option<(u8, u8)>,
    /// Attributes of the type.
    pub attributes: Vec<(&'static str, String)>,
}

impl TypeOut {
    fn put(&self, out: &mut Message) {
        out.number(1, self.kind.number());
        if !self.children.is_empty() {
            out.packed(2, &self.children.iter().map(|c| *c as u64).collect::<Vec<_>>());
        }
        self.names.iter().for_each(|name| out.text(3, name));
        if let Some((precision, scale)) = self.digits {
            out.number(5, u64::from(precision));
            out.number(6, u64::from(scale));
        }
        for (key, value) in &self.attributes {
            out.message(7, |pair| {
                pair.text(1, key);
                pair.text(2, value);
            });
        }
    }
}

/// A stream of a stripe.
#[derive(Clone, Debug)]
pub struct StreamOut {
    /// The use of the stream; `None` for row indexes.
    pub kind: Option<StreamKind>,
    /// The number of its column.
    pub column: usize,
    /// The number of its bytes.
    pub bytes: Vec<u8>,
}

impl StreamOut {
    /// Whether it is before the data.
    pub fn is_index(&self) -> bool {
        matches!(self.kind, None | Some(StreamKind::BloomFilter))
    }

    fn number(&self) -> u64 {
        match self.kind {
            Some(StreamKind::Present) => 0,
            Some(StreamKind::Data) => 1,
            Some(StreamKind::Length) => 2,
            Some(StreamKind::DictionaryData) => 3,
            Some(StreamKind::Secondary) => 5,
            Some(StreamKind::BloomFilter) => 8,
            Some(StreamKind::Other) | None => 6,
        }
    }
}

/// How a column is encoded in a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingOut {
    /// For columns without integers.
    Direct,
    /// With integers as runs of version 2.
    DirectV2,
    /// With values as numbers of the entries of a dictionary with this number of entries.
    DictionaryV2(usize),
}

/// The contents of a stripe's footer.
#[derive(Debug, Default)]
pub struct StripeParts {
    /// Row indexes, then data, in the order of the file.
    pub streams: Vec<StreamOut>,
    /// The encoding of each column.
    pub encodings: Vec<EncodingOut>,
}

impl StripeParts {
    /// The message of the stripe's footer. Timestamps are in UTC.
    pub fn footer(&self) -> Vec<u8> {
        let mut out = Message::default();
        for stream in &self.streams {
            out.message(1, |m| {
                m.number(1, stream.number());
                m.number(2, stream.column as u64);
                m.number(3, stream.bytes.len() as u64);
            });
        }
        let filters = self.streams.iter().filter(|s| s.kind == Some(StreamKind::BloomFilter));
        let filtered: HashSet<usize> = filters.map(|s| s.column).collect();
        for (column, encoding) in self.encodings.iter().enumerate() {
            out.message(2, |m| {
                match encoding {
                    EncodingOut::Direct => m.number(1, 0),
                    EncodingOut::DirectV2 => m.number(1, 2),
                    EncodingOut::DictionaryV2(size) => {
                        m.number(1, 3);
                        m.number(2, *size as u64);
                    }
                }
                if filtered.contains(&column) {
                    m.number(3, UTF8_UTC);
                }
            });
        }
        out.text(3, "UTC");
        out.into_bytes()
    }
}

/// The position of a group of rows in the streams of a column, and the group's statistics.
#[derive(Clone, Debug)]
pub struct RowIndexEntry {
    /// Positions in the order of the streams.
    pub positions: Vec<u64>,
    /// The statistics of the group.
    pub statistics: OrcColumnStatistics,
}

/// The row index of a column.
pub fn row_index(entries: &[RowIndexEntry]) -> Vec<u8> {
    let mut out = Message::default();
    for entry in entries {
        out.message(1, |m| {
            m.packed(1, &entry.positions);
            m.bytes(2, &entry.statistics.message(None));
        });
    }
    out.into_bytes()
}

/// The statistics of all stripes, by column.
pub fn stripe_statistics(stripes: &[Vec<OrcColumnStatistics>]) -> Vec<u8> {
    let mut out = Message::default();
    for stripe in stripes {
        out.message(1, |m| stripe.iter().for_each(|column| m.bytes(1, &column.message(None))));
    }
    out.into_bytes()
}

/// The contents of a file's footer.
#[derive(Debug)]
pub struct FooterParts<'a> {
    /// All types. A column's number is its place here.
    pub types: &'a [TypeOut],
    /// The stripes in the order of their rows.
    pub stripes: &'a [StripeInfo],
    /// The writer's metadata.
    pub metadata: &'a [(String, String)],
    /// The statistics of each column, and its bytes in the file.
    pub statistics: &'a [(OrcColumnStatistics, u64)],
    /// The rows of a group in row indexes.
    pub group_rows: u64,
}

impl FooterParts<'_> {
    /// The footer's message.
    pub fn footer(&self) -> Vec<u8> {
        let mut out = Message::default();
        let (header, end) = (MAGIC.len() as u64, self.stripes.last().and_then(StripeInfo::end));
        out.number(1, header);
        out.number(2, end.unwrap_or(header));
        for stripe in self.stripes {
            out.message(3, |m| {
                m.number(1, stripe.offset);
                m.number(2, stripe.index_length);
                m.number(3, stripe.data_length);
                m.number(4, stripe.footer_length);
                m.number(5, stripe.rows);
            });
        }
        self.types.iter().for_each(|ty| out.message(4, |m| ty.put(m)));
        for (key, value) in self.metadata {
            out.message(5, |m| {
                m.text(1, key);
                m.text(2, value);
            });
        }
        out.number(6, self.stripes.iter().map(|s| s.rows).sum());
        self.statistics.iter().for_each(|(column, bytes)| out.bytes(7, &column.message(Some(*bytes))));
        out.number(8, self.group_rows);
        out.number(9, WRITER);
        out.number(11, CALENDAR);
        out.text(12, concat!("frazil ", env!("CARGO_PKG_VERSION")));
        out.into_bytes()
    }

    /// The postscript for a footer and metadata of these lengths, and the byte with the postscript's length.
    pub fn postscript(compression: Compression, footer_length: u64, metadata_length: u64) -> Vec<u8> {
        let mut out = Message::default();
        out.number(1, footer_length);
        let codec = match compression.codec {
            OrcCodec::None => 0,
            OrcCodec::Zlib => 1,
            OrcCodec::Snappy => 2,
            OrcCodec::Lz4 => 4,
            OrcCodec::Zstd => 5,
        };
        out.number(2, codec);
        if compression.codec != OrcCodec::None {
            out.number(3, compression.block_size as u64);
        }
        out.packed(4, &VERSION);
        out.number(5, metadata_length);
        out.number(6, WRITER_VERSION);
        out.bytes(8000, MAGIC);
        let mut out = out.into_bytes();
        // A few numbers: far less than 256 bytes.
        out.push(out.len() as u8);
        out
    }
}
