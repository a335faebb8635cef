//! How Parquet files are written: table properties `write.parquet.*` as settings of the Parquet writer.
//!
//! Bloom filters, statistics and dictionaries of single columns are for data files only, as in Java. A property of a
//! column that the table lacks is ignored.
//!
//! Source: Java Iceberg's `TableProperties` and `Parquet.WriteBuilder`.

use std::collections::{BTreeMap, HashMap};

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use crate::data::write::properties::{Properties, no_codec, parse};
use crate::error::{Error, Result};
use crate::format::task::FileFormat;
use crate::types::Schema;

const DATA: &str = "write.parquet.";
const USABLE: &str = "zstd, snappy, gzip, lz4, brotli or uncompressed";

/// The rate of false positives of a bloom filter without `bloom-filter-fpp.column.X`.
const BLOOM_FPP: f64 = 0.01;

/// The settings of Parquet files.
struct Settings<'a>(Properties<'a>);

impl<'a> Settings<'a> {
    /// `write.parquet.<name>.column.<column>` of every column.
    fn of_columns(&self, name: &str) -> impl Iterator<Item = (&'a String, &'a str, &'a str)> + use<'a> {
        let prefix = format!("{DATA}{name}.column.");
        let from = self.0.all.range(prefix.clone()..);
        let ours = from.take_while({
            let prefix = prefix.clone();
            move |(key, _)| key.starts_with(&prefix)
        });
        ours.filter_map(move |(key, value)| Some((key, key.get(prefix.len()..)?, value.trim())))
    }

    fn compression(&self) -> Result<Compression> {
        let (codec_key, codec) = self.0.codec("zstd");
        let given = self.0.level()?;
        let level = given.as_ref().map(|(_, level)| *level);
        let bad_level = |e: ParquetError| {
            let key = given.as_ref().map_or("", |(key, _)| key);
            Error::invalid(format!("{codec} does not have this compression level")).with("property", key).because(e)
        };
        let unsigned = |default: u32| level.map_or(default, |l| u32::try_from(l).unwrap_or(u32::MAX));
        Ok(match codec.as_str() {
            "zstd" => Compression::ZSTD(ZstdLevel::try_new(zstd_level(level)).map_err(bad_level)?),
            "gzip" => Compression::GZIP(GzipLevel::try_new(unsigned(6)).map_err(bad_level)?),
            "brotli" => Compression::BROTLI(BrotliLevel::try_new(unsigned(1)).map_err(bad_level)?),
            "snappy" => Compression::SNAPPY,
            "lz4" | "lz4_raw" => Compression::LZ4_RAW,
            "uncompressed" | "none" => Compression::UNCOMPRESSED,
            "lzo" => {
                return Err(Error::unsupported("Parquet files are not written with lzo")
                    .with("property", codec_key)
                    .hint(format!("Use {USABLE}")));
            }
            other => return Err(no_codec(codec_key, other, USABLE)),
        })
    }

    fn version(&self) -> Result<WriterVersion> {
        match self.0.get("page-version") {
            None => Ok(WriterVersion::PARQUET_1_0),
            Some((_, v)) if ["v1", "PARQUET_1_0"].iter().any(|n| v.eq_ignore_ascii_case(n)) => {
                Ok(WriterVersion::PARQUET_1_0)
            }
            Some((_, v)) if ["v2", "PARQUET_2_0"].iter().any(|n| v.eq_ignore_ascii_case(n)) => {
                Ok(WriterVersion::PARQUET_2_0)
            }
            Some((key, other)) => Err(Error::invalid(format!("'{other}' is not a version of Parquet pages"))
                .with("property", key)
                .hint("Use v1 or v2")),
        }
    }

    /// Settings of single columns.
    fn columns(&self, mut out: WriterPropertiesBuilder, paths: &ColumnPaths) -> Result<WriterPropertiesBuilder> {
        let is = |value: &str| value.eq_ignore_ascii_case("true");
        let most_bytes = self.0.size("bloom-filter-max-bytes", 1 << 20)?;
        for (_, column, value) in self.of_columns("bloom-filter-enabled") {
            let (Some(path), true) = (paths.get(column), is(value)) else { continue };
            let of = |name: &str| {
                let key = format!("{DATA}{name}.column.{column}");
                self.0.all.get(&key).map(|value| (key, value))
            };
            let fpp = of("bloom-filter-fpp")
                .map(|(key, v)| parse(&key, v, "share between 0 and 1", |p| *p > 0.0 && *p < 1.0));
            let fpp = fpp.transpose()?.unwrap_or(BLOOM_FPP);
            let ndv = of("bloom-filter-ndv").map(|(key, v)| parse(&key, v, "number above 0", |n: &u64| *n > 0));
            let most = values_of_bloom_filter(most_bytes, fpp);
            out = out.set_column_bloom_filter_fpp(path.clone(), fpp);
            out = out.set_column_bloom_filter_max_ndv(path.clone(), ndv.transpose()?.map_or(most, |n| n.min(most)));
        }
        for (_, column, value) in self.of_columns("stats-enabled") {
            if let (Some(path), false) = (paths.get(column), is(value)) {
                out = out.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
            }
        }
        for (_, column, value) in self.of_columns("dict-encoding-enabled") {
            if let Some(path) = paths.get(column) {
                out = out.set_column_dictionary_enabled(path.clone(), is(value));
            }
        }
        Ok(out)
    }
}

/// The nearest available level. Zstandard's faster levels below 0 are not available here, and 0 stands for its default.
fn zstd_level(given: Option<i32>) -> i32 {
    match given {
        None | Some(0) => 3,
        Some(level) => level.clamp(1, 22),
    }
}

/// Distinct values that a filter of at most `most_bytes` bytes holds with a rate `fpp` of false positives. Parquet's
/// split-block filter sets 8 bits a value. The writer makes it for that number and then folds it to the needed size.
fn values_of_bloom_filter(most_bytes: usize, fpp: f64) -> u64 {
    // Sizes are powers of two, and at least 32 bytes.
    let bytes = 1u64 << most_bytes.max(32).ilog2();
    ((-(1.0 - fpp.powf(0.125)).ln() * bytes as f64) as u64).max(1)
}

/// The paths of the leaves in the file, by their full names in the table.
type ColumnPaths = HashMap<String, ColumnPath>;

fn paths(schema: &Schema, parquet: &SchemaDescriptor) -> ColumnPaths {
    let column = |c: &parquet::schema::types::ColumnDescPtr| {
        let info = c.self_type().get_basic_info();
        let id = info.has_id().then(|| info.id())?;
        Some((schema.name_of(id)?, c.path().clone()))
    };
    parquet.columns().iter().filter_map(column).collect()
}

/// The settings for files with rows of `schema`, which is `parquet` in the file. Statistics are cut to
/// `statistics_bytes`. The footer gets the pairs `metadata`.
///
/// # Errors
/// `InvalidInput` for a property that can't be read, naming it.
pub(crate) fn writer_properties(
    all: &BTreeMap<String, String>,
    deletes: bool,
    (schema, parquet): (&Schema, &SchemaDescriptor),
    statistics_bytes: Option<usize>,
    metadata: Vec<(String, String)>,
) -> Result<WriterProperties> {
    let settings = Settings(Properties::new(all, FileFormat::Parquet, deletes));
    let properties = &settings.0;
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let out = WriterProperties::builder()
        .set_created_by(format!("frazil {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .set_writer_version(settings.version()?)
        .set_compression(settings.compression()?)
        .set_max_row_group_row_count(None)
        .set_max_row_group_bytes(Some(properties.size("row-group-size-bytes", 128 << 20)?))
        .set_data_page_size_limit(properties.size("page-size-bytes", 1 << 20)?)
        .set_data_page_row_count_limit(properties.size("page-row-limit", 20_000)?)
        .set_dictionary_page_size_limit(properties.size("dict-size-bytes", 2 << 20)?)
        .set_statistics_truncate_length(statistics_bytes);
    let out = if deletes { out } else { settings.columns(out, &paths(schema, parquet))? };
    Ok(out.build())
}
