//! Checks values of table properties that this library or Java Iceberg could not use. They are refused when they are
//! set, not at the next write. Numbers have the width that Java gives them.
//!
//! Tables that already have such values from other engines can still be opened and read. Unknown properties may have
//! any value.
//!
//! Source: Java Iceberg's `TableProperties`, and the behaviour of its version 1.12 in Spark with all kinds of values.

use std::collections::BTreeMap;

use crate::data::write::metrics::MetricsMode;
use crate::error::{Error, Result};

/// The allowed values, as Java reads them: surrounding blanks count.
#[derive(Clone, Copy)]
enum ValueKind {
    /// A whole number with a minimum and a maximum.
    Number(i64, i64),
    /// `true` or `false`.
    Flag,
    /// A share between 0 and 1, exclusive. Surrounding blanks are ignored.
    Share,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// One of these, in this exact case.
    Exactly(&'static [&'static str]),
    /// One of the first list, in any case. Values of the second are valid, but Frazil can't write files with them.
    Codec(&'static [&'static str], &'static [&'static str]),
    /// How many metrics of a column are recorded.
    Metrics,
}

use ValueKind::{Codec, Exactly, Flag, Metrics, Number, OneOf, Share};

const MOST_INT: i64 = i32::MAX as i64;
/// Java's `int`.
const INT: ValueKind = Number(i32::MIN as i64, MOST_INT);
const INT_FROM_0: ValueKind = Number(0, MOST_INT);
const INT_ABOVE_0: ValueKind = Number(1, MOST_INT);
/// Java's `long`.
const LONG_FROM_0: ValueKind = Number(0, i64::MAX);
const LONG_ABOVE_0: ValueKind = Number(1, i64::MAX);

const FORMATS: ValueKind = OneOf(&["parquet", "avro", "orc"]);
const MODES: ValueKind = OneOf(&["copy-on-write", "merge-on-read"]);
const LEVELS: ValueKind = OneOf(&["serializable", "snapshot"]);
const SPREADS: ValueKind = OneOf(&["none", "hash", "range"]);
const AVRO_CODECS: ValueKind = OneOf(&["gzip", "zstd", "snappy", "uncompressed"]);

/// Checks of properties by their whole names.
const KNOWN: &[(&str, ValueKind)] = &[
    ("commit.manifest-merge.enabled", Flag),
    ("commit.manifest.min-count-to-merge", INT),
    ("commit.manifest.target-size-bytes", LONG_ABOVE_0),
    ("commit.retry.max-wait-ms", INT_FROM_0),
    ("commit.retry.min-wait-ms", INT_FROM_0),
    ("commit.retry.num-retries", INT_FROM_0),
    ("commit.retry.total-timeout-ms", INT_FROM_0),
    ("commit.status-check.num-retries", INT),
    ("gc.enabled", Flag),
    ("history.expire.max-ref-age-ms", LONG_FROM_0),
    ("history.expire.max-snapshot-age-ms", LONG_FROM_0),
    ("history.expire.min-snapshots-to-keep", INT_ABOVE_0),
    ("read.split.adaptive-size.enabled", Flag),
    ("read.split.metadata-target-size", LONG_ABOVE_0),
    ("read.split.open-file-cost", LONG_FROM_0),
    ("read.split.planning-lookback", INT_ABOVE_0),
    ("read.split.target-size", LONG_ABOVE_0),
    ("write.avro.compression-codec", AVRO_CODECS),
    ("write.avro.compression-level", INT),
    ("write.delete.distribution-mode", SPREADS),
    ("write.delete.format.default", FORMATS),
    ("write.delete.granularity", OneOf(&["file", "partition"])),
    ("write.delete.isolation-level", LEVELS),
    ("write.delete.mode", MODES),
    ("write.delete.target-file-size-bytes", LONG_ABOVE_0),
    ("write.distribution-mode", SPREADS),
    ("write.format.default", FORMATS),
    ("write.manifest.compression-codec", AVRO_CODECS),
    ("write.manifest.compression-level", INT),
    ("write.merge.distribution-mode", SPREADS),
    ("write.merge.isolation-level", LEVELS),
    ("write.merge.mode", MODES),
    ("write.metadata.compression-codec", OneOf(&["none", "gzip"])),
    ("write.metadata.delete-after-commit.enabled", Flag),
    ("write.metadata.metrics.default", Metrics),
    ("write.metadata.metrics.max-inferred-column-defaults", INT_FROM_0),
    ("write.metadata.previous-versions-max", INT),
    ("write.object-storage.enabled", Flag),
    ("write.object-storage.partitioned-paths", Flag),
    ("write.orc.block-size-bytes", LONG_ABOVE_0),
    ("write.orc.bloom.filter.fpp", Share),
    ("write.orc.compression-codec", Codec(&["zlib", "zstd", "snappy", "none"], &["lz4", "lzo"])),
    ("write.orc.compression-strategy", OneOf(&["speed", "compression"])),
    ("write.orc.stripe-size-bytes", LONG_ABOVE_0),
    ("write.orc.vectorized.batch-size", INT_ABOVE_0),
    ("write.parquet.bloom-filter-max-bytes", INT_ABOVE_0),
    (
        "write.parquet.compression-codec",
        Codec(&["zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed"], &["lzo"]),
    ),
    ("write.parquet.compression-level", INT),
    ("write.parquet.dict-size-bytes", INT_ABOVE_0),
    ("write.parquet.page-row-limit", INT_ABOVE_0),
    ("write.parquet.page-size-bytes", INT_ABOVE_0),
    ("write.parquet.page-version", Exactly(&["v1", "v2", "PARQUET_1_0", "PARQUET_2_0"])),
    ("write.parquet.row-group-check-max-record-count", INT_ABOVE_0),
    ("write.parquet.row-group-check-min-record-count", INT_ABOVE_0),
    ("write.parquet.row-group-size-bytes", LONG_ABOVE_0),
    ("write.summary.partition-limit", INT),
    ("write.target-file-size-bytes", LONG_ABOVE_0),
    ("write.update.distribution-mode", SPREADS),
    ("write.update.isolation-level", LEVELS),
    ("write.update.mode", MODES),
    ("write.wap.enabled", Flag),
];

/// Checks of properties by the prefix before a column's name.
const OF_COLUMNS: &[(&str, ValueKind)] = &[
    ("write.metadata.metrics.column.", Metrics),
    ("write.parquet.bloom-filter-enabled.column.", Flag),
    ("write.parquet.bloom-filter-fpp.column.", Share),
    ("write.parquet.bloom-filter-ndv.column.", LONG_ABOVE_0),
    ("write.parquet.dict-encoding-enabled.column.", Flag),
    ("write.parquet.stats-enabled.column.", Flag),
];

/// The default compression of files.
const DEFAULT_CODECS: &[(&str, &str)] = &[
    ("write.parquet.", "zstd"),
    ("write.avro.", "gzip"),
    ("write.delete.parquet.", "zstd"),
    ("write.delete.avro.", "gzip"),
    ("write.manifest.", "gzip"),
];

/// The levels of a codec in files with such properties. Zstandard replaces levels out of its range by the nearest one.
fn levels(prefix: &str, codec: &str) -> Option<(i32, i32)> {
    match codec {
        "gzip" if prefix.ends_with("parquet.") => Some((0, 9)),
        // -1 is Java's name of the usual one.
        "gzip" => Some((-1, 9)),
        "brotli" => Some((0, 11)),
        _ => None,
    }
}

/// Checks properties that are to be set on a table with other properties.
///
/// # Errors
/// `InvalidInput` for an unusable value, naming the usable ones; `Unsupported` for a value that only other engines can
/// use.
pub(crate) fn check_values(set: &BTreeMap<String, String>, existing: &BTreeMap<String, String>) -> Result<()> {
    set.iter().try_for_each(|(key, value)| check_value(key, value))?;
    let get = |key: &str| set.get(key).or_else(|| existing.get(key)).map(|v| v.trim().to_ascii_lowercase());
    for (prefix, default) in DEFAULT_CODECS {
        let [codec, level] = ["codec", "level"].map(|what| format!("{prefix}compression-{what}"));
        if !set.contains_key(&codec) && !set.contains_key(&level) {
            continue;
        }
        let of_data = prefix.replace("delete.", "");
        let name = get(&codec).or_else(|| get(&format!("{of_data}compression-codec")));
        let name = name.unwrap_or_else(|| (*default).to_owned());
        let Some(number) = get(&level).and_then(|n| n.parse::<i32>().ok()) else { continue };
        match levels(prefix, &name) {
            Some((low, high)) if !(low..=high).contains(&number) => {
                return Err(Error::invalid(format!("{name} has no level {number}"))
                    .with("property", level)
                    .hint(format!("Use {low} to {high}")));
            }
            _ => {}
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
    if kind.takes(value) {
        return Ok(());
    }
    let allowed = kind.allowed();
    if kind.is_of_others(value) {
        return Err(Error::unsupported(format!("files are not written with {} here", value.to_ascii_lowercase()))
            .with("property", key)
            .hint(format!("Use {allowed}. Other engines may set it: such a table is read all the same")));
    }
    let blanks = if kind.takes(value.trim()) { ", without blanks around it" } else { "" };
    Err(Error::invalid(format!("the property '{key}' can't be '{value}'"))
        .with("property", key)
        .hint(format!("Use {allowed}{blanks}")))
}

impl ValueKind {
    fn takes(self, value: &str) -> bool {
        let is_one = |values: &[&str]| values.iter().any(|v| value.eq_ignore_ascii_case(v));
        match self {
            Number(least, most) => value.parse::<i64>().is_ok_and(|n| (least..=most).contains(&n)),
            Flag => is_one(&["true", "false"]),
            Share => value.trim().parse::<f64>().is_ok_and(|p| p > 0.0 && p < 1.0),
            OneOf(values) | Codec(values, _) => is_one(values),
            Exactly(values) => values.contains(&value),
            Metrics => MetricsMode::parse(value).is_some(),
        }
    }

    /// Whether other engines can use a value that can't be used here.
    fn is_of_others(self, value: &str) -> bool {
        matches!(self, Codec(_, others) if others.iter().any(|v| value.eq_ignore_ascii_case(v)))
    }

    fn allowed(self) -> String {
        match self {
            Number(least, most) => {
                let most = if most == MOST_INT { format!(", up to {most}") } else { String::new() };
                match least {
                    1 => format!("a whole number above 0{most}"),
                    0 => format!("a whole number from 0 on{most}"),
                    _ => format!("a whole number of 32 bits{most}"),
                }
            }
            Flag => "true or false".to_owned(),
            Share => "a share between 0 and 1, such as 0.01".to_owned(),
            OneOf(values) | Exactly(values) | Codec(values, _) => values.join(", "),
            Metrics => "none, counts, truncate(N) or full".to_owned(),
        }
    }
}
