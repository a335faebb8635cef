//! Opens an ORC file through the store: its tail, and the streams of its stripes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::schema::{OrcColumn, columns};
use super::time::Zone;
use crate::codec::orc::{Encoding, MAGIC, OrcFooter, PostScript, Stream, StreamKind, StripeFooter, StripeInfo};
use crate::error::{Error, Result};
use crate::store::Store;

/// Bytes that are read first, from the end of a file. They hold the tail of most files.
const TAIL_BYTES: u64 = 64 * 1024;

/// Streams with at most this number of bytes between them are read at once.
const GAP_BYTES: u64 = 64 * 1024;

/// An open ORC file.
#[derive(Debug)]
pub(crate) struct OrcFile {
    store: Arc<dyn Store>,
    path: String,
    size: u64,
    postscript: PostScript,
    footer: OrcFooter,
    /// All top-level columns.
    pub columns: Vec<OrcColumn>,
}

impl OrcFile {
    /// The file's length in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads the tail.
    ///
    /// # Errors
    /// `CorruptTable` if it is not an intact ORC file; `Unsupported` if it is encrypted or of an unknown codec; the
    /// store's errors.
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<OrcFile> {
        let (tail, size) = store.get_tail(path, TAIL_BYTES)?;
        let short = || Error::corrupt(format!("a file of {size} bytes is too short to be ORC"));
        let (length, before) = tail.split_last().ok_or_else(short)?;
        let at = before.len().checked_sub(usize::from(*length)).ok_or_else(short)?;
        let (before, postscript) = before.split_at_checked(at).ok_or_else(short)?;
        let postscript = PostScript::parse(postscript)?;
        if !postscript.is_named && (size < 3 || store.get_range(path, 0, MAGIC.len())? != MAGIC) {
            return Err(Error::corrupt("the file neither begins nor ends as ORC files do: it is cut off or no ORC"));
        }
        let end = size - tail.len() as u64 + at as u64;
        let start = end.checked_sub(postscript.footer_length).ok_or_else(|| {
            Error::corrupt(format!("the footer claims {} bytes in a file of {size}", postscript.footer_length))
        })?;
        let length = postscript.footer_length as usize;
        let footer = match before.len().checked_sub(length) {
            Some(at) => OrcFooter::parse(before.get(at..).unwrap_or_default(), postscript.compression)?,
            None => OrcFooter::parse(&store.get_range(path, start, length)?, postscript.compression)?,
        };
        if footer.stripes.iter().any(|s| s.end().is_none_or(|end| end > start) || i64::try_from(s.offset).is_err()) {
            return Err(Error::corrupt("a stripe of the ORC file is outside the part before its footer"));
        }
        let columns = columns(&footer)?;
        Ok(OrcFile { store: store.clone(), path: path.to_owned(), size, postscript, footer, columns })
    }

    /// The stripes in the order of their rows.
    pub(crate) fn stripes(&self) -> &[StripeInfo] {
        &self.footer.stripes
    }

    /// The types of all columns.
    #[cfg(test)]
    pub(crate) fn types(&self) -> &[crate::codec::orc::TypeInfo] {
        &self.footer.types
    }

    /// About how many bytes a row of these columns takes in memory, by the statistics of the file. Nulls take as many
    /// bytes as numbers.
    pub(crate) fn row_bytes(&self, columns: &[OrcColumn]) -> u64 {
        let bytes = |column: &OrcColumn| {
            let text = self.footer.text_bytes.get(column.number).copied().flatten().unwrap_or(0);
            let values = self.footer.values.get(column.number).copied().flatten().unwrap_or(0);
            (text.saturating_add(values.saturating_mul(8)) / self.footer.rows.max(1)).max(8)
        };
        columns.iter().map(|c| bytes(c).saturating_add(self.row_bytes(&c.children))).fold(0, u64::saturating_add)
    }

    /// Reads the streams of these columns, and of those below them, in a stripe.
    ///
    /// # Errors
    /// `CorruptTable` if the stripe's footer is damaged; the store's errors.
    pub(crate) fn streams(&self, stripe: &StripeInfo, columns: &[OrcColumn]) -> Result<StripeStreams> {
        let offset = stripe.footer_offset().ok_or_else(|| Error::internal("a stripe was not checked"))?;
        let footer = self.store.get_range(&self.path, offset, stripe.footer_length as usize)?;
        let StripeFooter { streams, encodings, writer_zone } =
            StripeFooter::parse(&footer, self.postscript.compression, stripe)?;
        let mut wanted = vec![false; self.footer.types.len()];
        mark(columns, &mut wanted);
        let is_wanted = |column: usize| wanted.get(column).copied().unwrap_or(false);
        let streams: Vec<_> = streams.into_iter().filter(|s| s.kind.is_data() && is_wanted(s.column)).collect();
        // They come in the order of the file.
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for stream in &streams {
            let end = stream.offset + stream.length;
            match ranges.last_mut() {
                Some(range) if stream.offset <= range.end + GAP_BYTES => range.end = end,
                _ => ranges.push(stream.offset..end),
            }
        }
        let parts = self.store.get_ranges(&self.path, &ranges)?;
        let parts: Vec<_> = ranges.into_iter().zip(parts.into_iter().map(Arc::new)).collect();
        let mut found = HashMap::with_capacity(streams.len());
        for stream in streams {
            let at = parts.partition_point(|(range, _)| range.start <= stream.offset).saturating_sub(1);
            let (range, bytes) = parts.get(at).ok_or_else(|| Error::internal("a stream was not read"))?;
            let start = (stream.offset - range.start) as usize;
            let stream_bytes = Stream::new(bytes.clone(), start, stream.length as usize, self.postscript.compression);
            if found.insert((stream.column, stream.kind), stream_bytes).is_some() {
                return Err(Error::corrupt("a stripe of the ORC file has a stream twice"));
            }
        }
        let has_short_decimals = self.postscript.has_short_decimals;
        let rounded_nanos = self.footer.least_rounded_nanos();
        Ok(StripeStreams {
            found,
            encodings,
            writer_zone,
            bytes: stripe.data_length,
            has_short_decimals,
            rounded_nanos,
        })
    }
}

fn mark(columns: &[OrcColumn], wanted: &mut [bool]) {
    for column in columns {
        if let Some(place) = wanted.get_mut(column.number) {
            *place = true;
        }
        mark(&column.children, wanted);
    }
}

/// The streams of a stripe's wanted columns.
pub(crate) struct StripeStreams {
    found: HashMap<(usize, StreamKind), Stream>,
    encodings: Vec<Encoding>,
    writer_zone: Option<String>,
    bytes: u64,
    has_short_decimals: bool,
    rounded_nanos: i64,
}

impl StripeStreams {
    /// A stream of a column, if it exists and was not taken yet.
    pub(crate) fn take(&mut self, column: usize, kind: StreamKind) -> Option<Stream> {
        self.found.remove(&(column, kind))
    }

    /// A stream of a column; `None` if the column has no values.
    pub(crate) fn take_or_empty(&mut self, column: usize, kind: StreamKind) -> Stream {
        self.take(column, kind).unwrap_or_else(Stream::empty)
    }

    /// How a column is encoded.
    ///
    /// # Errors
    /// `CorruptTable` if the stripe does not record it.
    pub(crate) fn encoding(&self, column: usize) -> Result<Encoding> {
        let encoding = self.encodings.get(column).copied();
        encoding.ok_or_else(|| Error::corrupt("a stripe of the ORC file does not record the encoding of a column"))
    }

    /// The zone of the writer.
    ///
    /// # Errors
    /// The errors of [`Zone::parse`].
    pub(crate) fn zone(&self) -> Result<Zone> {
        Zone::parse(self.writer_zone.as_deref())
    }

    /// See [`OrcFooter::least_rounded_nanos`].
    pub(crate) fn rounded_nanos(&self) -> i64 {
        self.rounded_nanos
    }

    /// Bytes of the stripe's data.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether decimals of up to 18 digits are stored as integers.
    pub(crate) fn has_short_decimals(&self) -> bool {
        self.has_short_decimals
    }
}
