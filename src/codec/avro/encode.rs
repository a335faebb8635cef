//! Writes Avro: primitives appended to a buffer, and the container around them.

use libdeflater::{CompressionLvl, Compressor};
use serde::Serialize;

use super::container::{AvroCodec, MAGIC};
use super::serialize::RecordEncoder;
use crate::error::{Error, Result};

/// Appends an `int` or `long`.
#[inline]
pub fn put_long(out: &mut Vec<u8>, v: i64) {
    let mut v = (v << 1 ^ v >> 63) as u64;
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

/// Appends an `int`.
#[inline]
pub fn put_int(out: &mut Vec<u8>, v: i32) {
    put_long(out, i64::from(v));
}

/// Appends a `boolean`.
pub fn put_boolean(out: &mut Vec<u8>, v: bool) {
    out.push(u8::from(v));
}

/// Appends a `float`.
pub fn put_float(out: &mut Vec<u8>, v: f32) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Appends a `double`.
pub fn put_double(out: &mut Vec<u8>, v: f64) {
    out.extend_from_slice(&v.to_le_bytes());
}

/// Appends `bytes`, or a `string`.
pub fn put_bytes(out: &mut Vec<u8>, v: &[u8]) {
    put_long(out, v.len() as i64);
    out.extend_from_slice(v);
}

/// Appends a `[null, T]` union.
pub fn put_optional<T>(out: &mut Vec<u8>, v: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    match v {
        None => put_long(out, 0),
        Some(v) => {
            put_long(out, 1);
            put(out, v);
        }
    }
}

/// Appends an array or map in one run. `put` writes its entries.
pub fn put_items<I: ExactSizeIterator>(out: &mut Vec<u8>, items: I, mut put: impl FnMut(&mut Vec<u8>, I::Item)) {
    if items.len() > 0 {
        put_long(out, items.len() as i64);
        items.for_each(|item| put(out, item));
    }
    put_long(out, 0);
}

/// The size in bytes at which a block is closed, as in Java.
pub(crate) const BLOCK_SIZE: usize = 64_000;

/// Builds a container.
pub struct ContainerWriter {
    out: Vec<u8>,
    sync: [u8; 16],
    codec: AvroCodec,
    level: Option<i32>,
    deflate: Option<Compressor>,
    block: Vec<u8>,
    count: u64,
    failure: Option<Error>,
}

impl ContainerWriter {
    /// Creates a container with the schema's JSON text, further metadata and a codec.
    pub fn new(schema: &str, metadata: &[(&str, &str)], codec: AvroCodec) -> Self {
        let sync = *uuid::Uuid::new_v4().as_bytes();
        let mut out = MAGIC.to_vec();
        let own = [("avro.schema", schema), ("avro.codec", codec.as_str())];
        put_items(&mut out, own.iter().chain(metadata).collect::<Vec<_>>().into_iter(), |out, (key, value)| {
            put_bytes(out, key.as_bytes());
            put_bytes(out, value.as_bytes());
        });
        out.extend_from_slice(&sync);
        ContainerWriter { out, sync, codec, level: None, deflate: None, block: Vec::new(), count: 0, failure: None }
    }

    /// Sets the codec's compression level. For deflate: 0 to 12, or -1 for a balanced one (the default). For zstd: any
    /// level; the nearest existing one is used.
    pub fn with_level(mut self, level: Option<i32>) -> Self {
        self.level = level;
        self
    }

    /// Appends a record that `put` encodes.
    pub fn record(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.block);
        self.count += 1;
        if self.block.len() >= BLOCK_SIZE {
            self.close_block();
        }
    }

    /// Appends a record by its encoder. If the record fails, no part of it stays.
    ///
    /// # Errors
    /// As [`RecordEncoder::put`].
    pub(crate) fn append(&mut self, encoder: &RecordEncoder<'_>, record: &impl Serialize) -> Result<()> {
        let before = self.block.len();
        encoder.put(&mut self.block, record).inspect_err(|_| self.block.truncate(before))?;
        self.record(|_| {});
        Ok(())
    }

    /// Appends a record by its encoder, and the bytes of members after the known ones.
    ///
    /// # Errors
    /// As [`ContainerWriter::append`].
    pub(crate) fn append_extended(
        &mut self,
        encoder: &RecordEncoder<'_>,
        record: &impl Serialize,
        unknown: &[u8],
    ) -> Result<()> {
        let before = self.block.len();
        encoder.put(&mut self.block, record).inspect_err(|_| self.block.truncate(before))?;
        self.record(|out| out.extend_from_slice(unknown));
        Ok(())
    }

    /// Ends the current block, if it has records.
    pub fn end_block(&mut self) {
        if self.count > 0 {
            self.close_block();
        }
    }

    /// The number of uncompressed bytes in the current block.
    pub fn waiting(&self) -> usize {
        self.block.len()
    }

    /// Takes the finished bytes since the last call, at first with the header. For files that are not kept in memory.
    ///
    /// # Errors
    /// `InvalidInput` if the compression level does not exist; `Internal` if the codec fails.
    pub fn take_blocks(&mut self) -> Result<Vec<u8>> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(std::mem::take(&mut self.out)),
        }
    }

    /// The file, without the bytes that were taken.
    ///
    /// # Errors
    /// Errors of [`ContainerWriter::take_blocks`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.end_block();
        self.take_blocks()
    }

    fn close_block(&mut self) {
        match self.compress() {
            Ok(data) => {
                put_long(&mut self.out, self.count as i64);
                put_bytes(&mut self.out, &data);
                self.out.extend_from_slice(&self.sync);
            }
            Err(e) => self.failure = Some(e),
        }
        self.block.clear();
        self.count = 0;
    }

    fn compress(&mut self) -> Result<Vec<u8>> {
        let bad_level = |level: i32| Error::invalid(format!("there is no compression level {level}"));
        match self.codec {
            AvroCodec::Null => Ok(self.block.clone()),
            AvroCodec::Deflate => {
                if self.deflate.is_none() {
                    let level = self.level.filter(|level| *level != -1).unwrap_or(6);
                    self.deflate = Some(Compressor::new(CompressionLvl::new(level).map_err(|_| bad_level(level))?));
                }
                let compressor = self.deflate.as_mut().ok_or_else(|| Error::internal("no compressor"))?;
                let mut data = vec![0; compressor.deflate_compress_bound(self.block.len())];
                let length = (compressor.deflate_compress(&self.block, &mut data))
                    .map_err(|_| Error::internal("deflate exceeds its own bound"))?;
                data.truncate(length);
                Ok(data)
            }
            AvroCodec::Snappy => {
                let mut data = snap::raw::Encoder::new()
                    .compress_vec(&self.block)
                    .map_err(|e| Error::internal("snappy failed").because(e))?;
                data.extend_from_slice(&crc32fast::hash(&self.block).to_be_bytes());
                Ok(data)
            }
            AvroCodec::Zstd => {
                let levels = zstd::compression_level_range();
                let level = self.level.unwrap_or(3).clamp(*levels.start(), *levels.end());
                zstd::bulk::compress(&self.block, level).map_err(|e| Error::internal("zstandard failed").because(e))
            }
        }
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
