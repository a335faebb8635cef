//! One ORC file: its settings come from table properties, its stripes go to the store, and its metrics follow at the
//! end.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::bloom::FilteredColumns;
use super::metrics::orc_metrics;
use super::parts::GROUP_ROWS;
use super::stripe::{FinishedStripe, Stripe};
use super::types::{OrcType, orc_types, statistics_of};
use crate::codec::orc::encode::{Compressor, FooterParts, OrcColumnStatistics, TypeOut, stripe_statistics};
use crate::codec::orc::{MAGIC, OrcCodec, StripeInfo};
use crate::data::write::metrics::MetricsConfig;
use crate::data::write::new_file::{NewFile, Purpose, Written, write_all};
use crate::data::write::properties::{Properties, no_codec, parse};
use crate::error::{Error, Result, ResultExt};
use crate::format::task::FileFormat;
use crate::store::StoreWriter;
use crate::types::{Schema, Type};

/// The default size of a stripe, in bytes.
const STRIPE_BYTES: u64 = 64 << 20;

/// The default rate of false positives of Bloom filters.
const BLOOM_FPP: f64 = 0.05;

/// How all files of one writer are made.
#[derive(Debug)]
pub(crate) struct OrcSettings {
    types: Vec<TypeOut>,
    columns: Vec<OrcType>,
    metadata: Vec<(String, String)>,
    metrics: MetricsConfig,
    codec: OrcCodec,
    /// Whether size matters more than speed.
    small: bool,
    stripe_bytes: usize,
    filters: FilteredColumns,
}

impl OrcSettings {
    /// Settings for rows of `schema` from the table's properties.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for types and codecs that are not written.
    pub(crate) fn new(
        schema: &Schema,
        properties: &BTreeMap<String, String>,
        metrics: MetricsConfig,
        purpose: Purpose<'_>,
    ) -> Result<OrcSettings> {
        let properties = Properties::new(properties, FileFormat::Orc, purpose.is_delete());
        let (types, columns) = orc_types(schema, purpose.exact())?;
        let filters = filtered(&properties, &columns, &types, purpose)?;
        Ok(OrcSettings {
            types,
            columns,
            metadata: purpose.metadata(),
            metrics,
            codec: codec(&properties)?,
            small: small(&properties)?,
            filters,
            stripe_bytes: properties.size("stripe-size-bytes", STRIPE_BYTES)?,
        })
    }
}

fn codec(properties: &Properties<'_>) -> Result<OrcCodec> {
    const USABLE: &str = "zlib, zstd, snappy or none";
    let (key, codec) = properties.codec("zlib");
    match codec.as_str() {
        "zlib" => Ok(OrcCodec::Zlib),
        "zstd" => Ok(OrcCodec::Zstd),
        "snappy" => Ok(OrcCodec::Snappy),
        "none" => Ok(OrcCodec::None),
        "lz4" | "lzo" | "brotli" => Err(Error::unsupported(format!("ORC files are not written with {codec}"))
            .with("property", key)
            .hint(format!("Use {USABLE}"))),
        other => Err(no_codec(key, other, USABLE)),
    }
}

fn small(properties: &Properties<'_>) -> Result<bool> {
    match properties.get("compression-strategy").map(|(key, text)| (key, text.to_ascii_lowercase())) {
        None => Ok(false),
        Some((_, text)) if text == "speed" => Ok(false),
        Some((_, text)) if text == "compression" => Ok(true),
        Some((key, other)) => Err(Error::invalid(format!("'{other}' is not a compression strategy"))
            .with("property", key)
            .hint("Use speed or compression")),
    }
}

/// Files of rows alone have Bloom filters, as in Java.
fn filtered(
    properties: &Properties<'_>,
    columns: &[OrcType],
    types: &[TypeOut],
    purpose: Purpose<'_>,
) -> Result<FilteredColumns> {
    match (purpose.is_delete(), properties.get("bloom.filter.columns")) {
        (false, Some((_, names))) if !names.is_empty() => {
            let fpp = match properties.get("bloom.filter.fpp") {
                Some((key, text)) => parse(&key, text, "share between 0 and 1", |p| *p > 0.0 && *p < 1.0)?,
                None => BLOOM_FPP,
            };
            Ok(FilteredColumns::named(names, columns, types, fpp))
        }
        _ => Ok(FilteredColumns::default()),
    }
}

/// An ORC file being written.
pub(crate) struct NewOrcFile {
    path: String,
    settings: Arc<OrcSettings>,
    sink: Box<dyn StoreWriter>,
    compressor: Compressor,
    stripe: Stripe,
    stripes: Vec<StripeInfo>,
    by_stripe: Vec<Vec<OrcColumnStatistics>>,
    /// For each column, the statistics of the finished stripes, and its bytes in them.
    statistics: Vec<(OrcColumnStatistics, u64)>,
    /// Bytes that the store has.
    bytes: u64,
}

impl NewOrcFile {
    /// Begins a file at `path`, whose bytes go to `sink`.
    ///
    /// # Errors
    /// `Store`, naming the path.
    pub(crate) fn begin(
        mut sink: Box<dyn StoreWriter>,
        path: String,
        settings: &Arc<OrcSettings>,
    ) -> Result<NewOrcFile> {
        write_all(sink.as_mut(), &path, MAGIC)?;
        let compressor = Compressor::new(settings.codec, settings.small)?;
        let root = OrcColumnStatistics::new(statistics_of(&Type::Struct([].into())));
        let mut statistics = vec![(root, 0)];
        no_statistics(&settings.columns, &mut statistics);
        Ok(NewOrcFile {
            path,
            stripe: Stripe::new(&settings.columns, &compressor, &settings.filters),
            settings: settings.clone(),
            sink,
            compressor,
            stripes: Vec::new(),
            by_stripe: Vec::new(),
            statistics,
            bytes: MAGIC.len() as u64,
        })
    }

    fn put_out(&mut self, bytes: &[u8]) -> Result<u64> {
        write_all(self.sink.as_mut(), &self.path, bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len() as u64)
    }

    fn end_stripe(&mut self) -> Result<()> {
        if self.stripe.is_empty() {
            return Ok(());
        }
        let FinishedStripe { rows, parts, statistics } = self.stripe.finish()?;
        let mut stripe = StripeInfo { offset: self.bytes, rows, ..StripeInfo::default() };
        for stream in &parts.streams {
            let length = self.put_out(&stream.bytes)?;
            if stream.is_index() {
                stripe.index_length += length;
            } else {
                stripe.data_length += length;
                if let Some((_, bytes)) = self.statistics.get_mut(stream.column) {
                    *bytes += length;
                }
            }
        }
        stripe.footer_length = self.put_out(&self.compressor.message(&parts.footer()))?;
        self.stripes.push(stripe);
        self.statistics.iter_mut().zip(&statistics).for_each(|((all, _), stripe)| all.merge(stripe));
        self.by_stripe.push(statistics);
        Ok(())
    }
}

/// Adds statistics of no values for each column.
fn no_statistics(columns: &[OrcType], out: &mut Vec<(OrcColumnStatistics, u64)>) {
    for column in columns {
        out.push((OrcColumnStatistics::new(statistics_of(&column.ty)), 0));
        no_statistics(&column.children, out);
    }
}

impl NewFile for NewOrcFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < rows.num_rows() {
            let length = self.stripe.room().min(rows.num_rows() - start);
            self.stripe.write(&rows.slice(start, length)).with("path", &self.path)?;
            start += length;
            if self.stripe.held() >= self.settings.stripe_bytes {
                self.end_stripe()?;
            }
        }
        Ok(())
    }

    fn estimated_bytes(&self) -> u64 {
        self.bytes + self.stripe.held() as u64
    }

    fn buffered_bytes(&self) -> usize {
        self.stripe.held()
    }

    fn flush(&mut self) -> Result<()> {
        self.end_stripe()
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.end_stripe()?;
        let metadata = self.compressor.message(&stripe_statistics(&self.by_stripe));
        let footer = FooterParts {
            types: &self.settings.types,
            stripes: &self.stripes,
            metadata: &self.settings.metadata,
            statistics: &self.statistics,
            group_rows: GROUP_ROWS,
        };
        let footer = self.compressor.message(&footer.footer());
        let metadata_length = self.put_out(&metadata)?;
        let footer_length = self.put_out(&footer)?;
        self.put_out(&FooterParts::postscript(self.compressor.compression(), footer_length, metadata_length))?;
        let size = self.sink.finish().with("path", &self.path)?;
        let rows = self.stripes.iter().map(|s| s.rows).sum();
        let settings = &self.settings;
        Ok(Written {
            record_count: rows as i64,
            size_bytes: size as i64,
            metrics: Some(orc_metrics(&settings.columns, &settings.metrics, &self.statistics, rows)),
            split_offsets: Some(self.stripes.iter().map(|s| s.offset as i64).collect()),
        })
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
