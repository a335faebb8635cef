//! Values of table properties that this library could not use: refused when they are set, not when somebody writes.
//!
//! Tables that have such values already, by other engines, open and are read all the same. Properties that are not known here
//! may have any value.
//!
//! Source: Java Iceberg's `TableProperties`.

use std::collections::BTreeMap;

use crate::data::metrics::MetricsMode;
use crate::error::{Error, Result};

/// What a value must be.
#[derive(Clone, Copy)]
enum Kind {
    /// A number above 0.
    Above0,
    /// A number from 0 on.
    From0,
    /// Any whole number.
    Whole,
    /// `true` or `false`.
    Flag,
    /// A share between 0 and 1, which it is not.
    Share,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// How much is recorded of a column.
    Metrics,
}

use Kind::{Above0, Flag, From0, Metrics, OneOf, Share, Whole};

const FORMATS: Kind = OneOf(&["parquet", "avro", "orc"]);
const MODES: Kind = OneOf(&["copy-on-write", "merge-on-read"]);
const LEVELS: Kind = OneOf(&["serializable", "snapshot"]);
const SPREADS: Kind = OneOf(&["none", "hash", "range"]);

/// By whole names.
const KNOWN: &[(&str, Kind)] = &[
    ("commit.manifest-merge.enabled", Flag),
    ("commit.manifest.min-count-to-merge", From0),
    ("commit.manifest.target-size-bytes", Above0),
    ("commit.retry.max-wait-ms", From0),
    ("commit.retry.min-wait-ms", From0),
    ("commit.retry.num-retries", From0),
    ("commit.retry.total-timeout-ms", From0),
    ("gc.enabled", Flag),
    ("history.expire.max-ref-age-ms", From0),
    ("history.expire.max-snapshot-age-ms", From0),
    ("history.expire.min-snapshots-to-keep", Above0),
    ("read.split.adaptive-size.enabled", Flag),
    ("read.split.metadata-target-size", Above0),
    ("read.split.open-file-cost", From0),
    ("read.split.planning-lookback", Above0),
    ("read.split.target-size", Above0),
    ("write.avro.compression-codec", OneOf(&["gzip", "zstd", "snappy", "uncompressed"])),
    ("write.avro.compression-level", Whole),
    ("write.delete.distribution-mode", SPREADS),
    ("write.delete.format.default", FORMATS),
    ("write.delete.granularity", OneOf(&["file", "partition"])),
    ("write.delete.isolation-level", LEVELS),
    ("write.delete.mode", MODES),
    ("write.delete.target-file-size-bytes", Above0),
    ("write.distribution-mode", SPREADS),
    ("write.format.default", FORMATS),
    ("write.manifest.compression-codec", OneOf(&["gzip", "zstd", "snappy", "uncompressed"])),
    ("write.manifest.compression-level", Whole),
    ("write.merge.distribution-mode", SPREADS),
    ("write.merge.isolation-level", LEVELS),
    ("write.merge.mode", MODES),
    ("write.metadata.compression-codec", OneOf(&["none", "gzip"])),
    ("write.metadata.delete-after-commit.enabled", Flag),
    ("write.metadata.metrics.default", Metrics),
    ("write.metadata.metrics.max-inferred-column-defaults", From0),
    ("write.metadata.previous-versions-max", From0),
    ("write.object-storage.enabled", Flag),
    ("write.object-storage.partitioned-paths", Flag),
    ("write.orc.bloom.filter.fpp", Share),
    ("write.orc.compression-codec", OneOf(&["zlib", "zstd", "snappy", "none"])),
    ("write.orc.compression-strategy", OneOf(&["speed", "compression"])),
    ("write.orc.stripe-size-bytes", Above0),
    ("write.parquet.bloom-filter-max-bytes", Above0),
    (
        "write.parquet.compression-codec",
        OneOf(&["zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed", "none"]),
    ),
    ("write.parquet.compression-level", Whole),
    ("write.parquet.dict-size-bytes", Above0),
    ("write.parquet.page-row-limit", Above0),
    ("write.parquet.page-size-bytes", Above0),
    ("write.parquet.page-version", OneOf(&["v1", "v2"])),
    ("write.parquet.row-group-size-bytes", Above0),
    ("write.summary.partition-limit", From0),
    ("write.target-file-size-bytes", Above0),
    ("write.update.distribution-mode", SPREADS),
    ("write.update.isolation-level", LEVELS),
    ("write.update.mode", MODES),
];

/// By what stands before a column's name.
const OF_COLUMNS: &[(&str, Kind)] = &[
    ("write.metadata.metrics.column.", Metrics),
    ("write.parquet.bloom-filter-enabled.column.", Flag),
    ("write.parquet.bloom-filter-fpp.column.", Share),
    ("write.parquet.bloom-filter-ndv.column.", Above0),
    ("write.parquet.dict-encoding-enabled.column.", Flag),
    ("write.parquet.stats-enabled.column.", Flag),
];

/// Levels that codecs have.
const CODEC_LEVELS: &[(&str, i32, i32)] = &[("zstd", 1, 22), ("gzip", 0, 9), ("brotli", 0, 11)];

/// Checks properties that are to be set on a table that has others.
///
/// # Errors
/// `InvalidInput` for a value that could not be used, naming what could.
pub(crate) fn check_values(set: &BTreeMap<String, String>, existing: &BTreeMap<String, String>) -> Result<()> {
    set.iter().try_for_each(|(key, value)| check_value(key, value))?;
    let get = |key: &str| set.get(key).or_else(|| existing.get(key)).map(|v| v.trim().to_ascii_lowercase());
    for prefix in ["write.", "write.delete."] {
        for (format, default) in [("parquet", "zstd"), ("avro", "gzip")] {
            let [codec, level] = ["codec", "level"].map(|what| format!("{prefix}{format}.compression-{what}"));
            if !set.contains_key(&codec) && !set.contains_key(&level) {
                continue;
            }
            let name = get(&codec).or_else(|| get(&format!("write.{format}.compression-codec")));
            let name = name.unwrap_or_else(|| default.to_owned());
            let Some(number) = get(&level).and_then(|n| n.parse::<i32>().ok()) else { continue };
            match CODEC_LEVELS.iter().find(|(codec, _, _)| *codec == name) {
                Some((_, low, high)) if !(*low..=*high).contains(&number) => {
                    return Err(Error::invalid(format!("{name} has no level {number}"))
                        .with("property", level)
                        .hint(format!("Use {low} to {high}")));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn check_value(key: &str, value: &str) -> Result<()> {
    // Delete files have the properties of data files once more.
    let of_deletes = key.strip_prefix("write.delete.");
    let of_deletes = of_deletes.filter(|rest| ["parquet.", "avro.", "orc."].iter().any(|f| rest.starts_with(f)));
    let known = of_deletes.map_or_else(|| key.to_owned(), |rest| format!("write.{rest}"));
    let whole = KNOWN.iter().find(|(name, _)| *name == known);
    let Some((_, kind)) = whole.or_else(|| OF_COLUMNS.iter().find(|(name, _)| known.starts_with(name))) else {
        return Ok(());
    };
    match kind.takes(value.trim()) {
        true => Ok(()),
        false => Err(Error::invalid(format!("the property '{key}' can't be '{value}'"))
            .with("property", key)
            .hint(format!("Use {}", kind.allowed()))),
    }
}

impl Kind {
    fn takes(self, value: &str) -> bool {
        let number = || value.parse::<i64>().ok();
        match self {
            Above0 => number().is_some_and(|n| n > 0),
            From0 => number().is_some_and(|n| n >= 0),
            Whole => value.parse::<i32>().is_ok(),
            Flag => ["true", "false"].iter().any(|v| value.eq_ignore_ascii_case(v)),
            Share => value.parse::<f64>().is_ok_and(|p| p > 0.0 && p < 1.0),
            OneOf(values) => values.iter().any(|v| value.eq_ignore_ascii_case(v)),
            Metrics => MetricsMode::parse(value).is_some(),
        }
    }

    fn allowed(self) -> String {
        match self {
            Above0 => "a whole number above 0".to_owned(),
            From0 => "a whole number from 0 on".to_owned(),
            Whole => "a whole number".to_owned(),
            Flag => "true or false".to_owned(),
            Share => "a share between 0 and 1, such as 0.01".to_owned(),
            OneOf(values) => values.join(", "),
            Metrics => "none, counts, truncate(N) or full".to_owned(),
        }
    }
}
