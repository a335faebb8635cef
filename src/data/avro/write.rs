//! One Avro file: its settings come from table properties, and its blocks go to the store.
//!
//! Manifests record only the number of rows of an Avro file, as in Java.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::exact::exact_avro;
use super::rows::AvroRows;
use super::schema_json::avro_schema_json;
use crate::codec::avro::{AvroCodec, ContainerWriter};
use crate::data::write::new_file::{NewFile, Purpose, Written, write_all};
use crate::data::write::properties::{Properties, no_codec};
use crate::error::{Error, Result, ResultExt};
use crate::format::task::FileFormat;
use crate::store::StoreWriter;
use crate::types::Schema;
use crate::types::schema_json::schema_to_json;

/// Java's default levels.
const DEFLATE_LEVEL: i32 = 9;
const ZSTD_LEVEL: i32 = 1;

/// How all files of one writer are made.
#[derive(Debug)]
pub(crate) struct AvroSettings {
    schema: Arc<Schema>,
    json: String,
    metadata: Vec<(String, String)>,
    codec: AvroCodec,
    level: Option<i32>,
    /// Whether decimals have only the bytes that they need.
    short_decimals: bool,
}

impl AvroSettings {
    /// Settings for rows of `schema` from the table's properties.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for columns with the same Avro name.
    pub(crate) fn new(
        schema: &Arc<Schema>,
        properties: &BTreeMap<String, String>,
        purpose: Purpose<'_>,
    ) -> Result<AvroSettings> {
        let properties = Properties::new(properties, FileFormat::Avro, purpose.is_delete());
        let (codec, level) = compression(&properties)?;
        let mut metadata = purpose.metadata();
        let json = match purpose.exact() {
            Some(exact) => exact_avro(schema, exact)?,
            None => {
                metadata.push(("iceberg.schema".to_owned(), schema_to_json(purpose.named(schema)).to_string()));
                avro_schema_json(schema)?
            }
        };
        let short_decimals = purpose.exact().is_some();
        Ok(AvroSettings { schema: schema.clone(), json, metadata, codec, level, short_decimals })
    }
}

/// Codec and level of the blocks.
fn compression(properties: &Properties<'_>) -> Result<(AvroCodec, Option<i32>)> {
    let (key, codec) = properties.codec("gzip");
    let (codec, default, levels) = match codec.as_str() {
        "gzip" => (AvroCodec::Deflate, DEFLATE_LEVEL, -1..=9),
        "zstd" => (AvroCodec::Zstd, ZSTD_LEVEL, i32::MIN..=i32::MAX),
        "snappy" => return Ok((AvroCodec::Snappy, None)),
        "uncompressed" => return Ok((AvroCodec::Null, None)),
        other => return Err(no_codec(key, other, "gzip, zstd, snappy or uncompressed")),
    };
    match properties.level()? {
        None => Ok((codec, Some(default))),
        Some((_, level)) if levels.contains(&level) => Ok((codec, Some(level))),
        Some((key, level)) => {
            let name = codec.as_str();
            Err(Error::invalid(format!("{name} has no level {level}")).with("property", key))
        }
    }
}

/// An Avro file being written.
pub(crate) struct NewAvroFile {
    path: String,
    settings: Arc<AvroSettings>,
    sink: Box<dyn StoreWriter>,
    container: ContainerWriter,
    rows: i64,
    /// Bytes that the store has.
    bytes: u64,
}

impl NewAvroFile {
    /// Begins a file at `path`, whose bytes go to `sink`.
    pub(crate) fn begin(sink: Box<dyn StoreWriter>, path: String, settings: &Arc<AvroSettings>) -> NewAvroFile {
        let metadata: Vec<(&str, &str)> = settings.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let container = ContainerWriter::new(&settings.json, &metadata, settings.codec).with_level(settings.level);
        NewAvroFile { path, settings: settings.clone(), sink, container, rows: 0, bytes: 0 }
    }

    fn put_out(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        write_all(self.sink.as_mut(), &self.path, bytes)
    }
}

impl NewFile for NewAvroFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let encoder = AvroRows::new(&self.settings.schema, rows, self.settings.short_decimals)?;
        for row in 0..rows.num_rows() {
            self.container.record(|out| encoder.put(row, out));
        }
        self.rows += rows.num_rows() as i64;
        let done = self.container.take_blocks().with("path", &self.path)?;
        self.put_out(&done)
    }

    fn estimated_bytes(&self) -> u64 {
        self.bytes + self.container.waiting() as u64
    }

    fn buffered_bytes(&self) -> usize {
        self.container.waiting()
    }

    fn flush(&mut self) -> Result<()> {
        self.container.end_block();
        let done = self.container.take_blocks().with("path", &self.path)?;
        self.put_out(&done)
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.flush()?;
        let size = self.sink.finish().with("path", &self.path)?;
        Ok(Written { record_count: self.rows, size_bytes: size as i64, metrics: None, split_offsets: None })
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
