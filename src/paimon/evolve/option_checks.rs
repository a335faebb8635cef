//! Checks of options when a table is created or changed: reading, writing and maintenance must accept them.
//!
//! Tables of other writers open with any options. A change is refused only for options that it makes wrong, not for
//! options that were wrong before.
//!
//! Source: Java's `SchemaValidation`; types and defaults of options by `CoreOptions`.

use std::collections::HashSet;

use crate::data::merge::rules::merge_faults;
use crate::data::write::metrics::MetricsMode;
use crate::error::{Error, ErrorKind, Result};
use crate::format::task::FileFormat;
use crate::paimon::plan::compact_pick::PickRules;
use crate::paimon::plan::record_expiry::RecordExpiry;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::write::file_indexes::index_faults;
use crate::paimon::write::properties::target_bytes;
use crate::types::FieldId;
use crate::types::options::Options;

/// The values that an option may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedValues {
    Truth,
    Number,
    Bytes,
    Time,
    Share,
    /// The prefix of file names.
    Prefix,
    Format,
    Statistics,
    /// A list of `level:value`.
    Formats,
    StatisticsByLevel,
}

/// Options that are read as values of some type.
const TYPED: &[(AllowedValues, &[&str])] = &[
    (
        AllowedValues::Truth,
        &[
            "aggregation.remove-record-on-delete",
            "alter-column-null-to-not-null.disabled",
            "blob-as-descriptor",
            "changelog-producer.row-deduplicate",
            "compaction.force-rewrite-all-files",
            "compaction.force-up-level-0",
            "consumer.changelog-only",
            "data-evolution.enabled",
            "data-file.thin-mode",
            "deduplicate.ignore-delete",
            "deletion-vectors.bitmap64",
            "deletion-vectors.enabled",
            "deletion-vectors.modifiable",
            "file-index.read.enabled",
            "first-row.ignore-delete",
            "force-lookup",
            "ignore-delete",
            "ignore-update-before",
            "incremental-between-tag-to-snapshot",
            "index-file-in-data-file-dir",
            "manifest.delete-file-drop-stats",
            "metadata.stats-dense-store",
            "overwrite-upgrade",
            "partial-update.ignore-delete",
            "partial-update.remove-record-on-delete",
            "partition.legacy-name",
            "pk-clustering-override",
            "row-tracking.enabled",
            "tag.time-expire-enabled",
        ],
    ),
    (
        AllowedValues::Number,
        &[
            "bucket",
            "changelog.num-retained.max",
            "changelog.num-retained.min",
            "commit.max-retries",
            "compaction.max-size-amplification-percent",
            "compaction.min.file-num",
            "compaction.size-ratio",
            "dynamic-bucket.initial-buckets",
            "dynamic-bucket.max-buckets",
            "dynamic-bucket.target-row-num",
            "file.compression.zstd-level",
            "full-compaction.delta-commits",
            "manifest.merge-min-count",
            "metadata.stats-keep-first-n-columns",
            "num-levels",
            "num-sorted-run.compaction-trigger",
            "postpone.default-bucket-num",
            "scan.creation-time-millis",
            "scan.file-creation-time-millis",
            "scan.timestamp-millis",
            "scan.watermark",
            "snapshot.expire.limit",
            "snapshot.num-retained.max",
            "snapshot.num-retained.min",
        ],
    ),
    (
        AllowedValues::Bytes,
        &[
            "blob.target-file-size",
            "compaction.incremental-size-threshold",
            "compaction.total-size-threshold",
            "deletion-vector.index-file.target-size",
            "file-index.in-manifest-threshold",
            "file.block-size",
            "manifest.full-compaction-threshold-size",
            "manifest.target-file-size",
            "source.split.open-file-cost",
            "source.split.target-size",
            "target-file-size",
        ],
    ),
    (
        AllowedValues::Time,
        &[
            "changelog.time-retained",
            "commit.max-retry-wait",
            "commit.min-retry-wait",
            "commit.timeout",
            "compaction.optimization-interval",
            "record-level.expire-time",
            "snapshot.time-retained",
            "tag.default-time-retained",
        ],
    ),
    (AllowedValues::Share, &["compaction.delete-ratio-threshold"]),
    (AllowedValues::Prefix, &["changelog-file.prefix", "data-file.prefix"]),
    (AllowedValues::Format, &["changelog-file.format", "file.format"]),
    (AllowedValues::Formats, &["file.format.per.level"]),
    (AllowedValues::Statistics, &["changelog-file.stats-mode", "metadata.stats-mode"]),
    (AllowedValues::StatisticsByLevel, &["metadata.stats-mode.per.level"]),
];

/// Options of single columns, after `fields.<column>.`. The functions of columns check their own options.
const OF_COLUMNS: [(&str, AllowedValues); 4] = [
    ("count-limit", AllowedValues::Number),
    ("distinct", AllowedValues::Truth),
    ("ignore-retract", AllowedValues::Truth),
    ("stats-mode", AllowedValues::Statistics),
];

impl AllowedValues {
    fn allowed(self) -> &'static str {
        match self {
            AllowedValues::Truth => "Use true or false",
            AllowedValues::Number => "Use a whole number",
            AllowedValues::Bytes => "Use a number of bytes: '65536', '64 kb', '128 mb', '1 gb'",
            AllowedValues::Time => "Use a length of time: '500 ms', '10 s', '30 min', '1 h', '7 d'",
            AllowedValues::Share => "Use a share from 0 to 1: '0.2'",
            AllowedValues::Prefix => "Use a prefix for file names, without slash and backslash",
            AllowedValues::Format => "Use parquet, orc or avro",
            AllowedValues::Formats => "Use parquet, orc or avro for each level: '0:avro,5:parquet'",
            AllowedValues::Statistics => "Use none, counts, truncate(N) or full",
            AllowedValues::StatisticsByLevel => "Use none, counts, truncate(N) or full for each level: '0:none,5:full'",
        }
    }

    /// Whether the value of an option can be read.
    fn check(self, options: &Options<'_>, key: &str) -> Result<()> {
        let text = options.get(key).unwrap_or_default().trim();
        let wrong = |what: &str| Err(Error::invalid(format!("the option '{key}' is '{text}', which is not a {what}")));
        let by_level = |fits: &dyn Fn(&str) -> bool| {
            let fits = |part: &&str| {
                part.split_once(':').is_some_and(|(level, value)| level.trim().parse::<u16>().is_ok() && fits(value))
            };
            options.list(key).iter().all(fits)
        };
        match self {
            AllowedValues::Truth => options.boolean(key, false).map(drop),
            AllowedValues::Number => options.integer(key).map(drop),
            AllowedValues::Bytes => options.bytes(key, 0).map(drop),
            AllowedValues::Time => options.duration_ms(key).map(drop),
            AllowedValues::Share if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(()),
            AllowedValues::Share => wrong("share"),
            AllowedValues::Prefix if !text.contains(['/', '\\', '\0']) => Ok(()),
            AllowedValues::Prefix => wrong("beginning of a name"),
            AllowedValues::Format if is_format(text) => Ok(()),
            AllowedValues::Formats if by_level(&is_format) => Ok(()),
            AllowedValues::Format | AllowedValues::Formats => wrong("file format"),
            AllowedValues::Statistics if is_mode(text) => Ok(()),
            AllowedValues::StatisticsByLevel if by_level(&is_mode) => Ok(()),
            AllowedValues::Statistics | AllowedValues::StatisticsByLevel => wrong("mode of statistics"),
        }
    }
}

fn is_format(text: &str) -> bool {
    FileFormat::parse_rows(text.trim()).is_some()
}

fn is_mode(text: &str) -> bool {
    MetricsMode::parse(text.trim()).is_some()
}

/// The type of an option's values, if they have one.
fn values_of(key: &str) -> Option<AllowedValues> {
    let of_column = || key.strip_prefix("fields.").and_then(|rest| rest.rsplit_once('.')).map(|(_, option)| option);
    let typed = TYPED.iter().find(|(_, keys)| keys.contains(&key)).map(|(values, _)| *values);
    typed.or_else(|| OF_COLUMNS.iter().find(|(option, _)| Some(*option) == of_column()).map(|(_, values)| *values))
}

/// All faults of a schema's options.
fn faults(schema: &TableSchema) -> Vec<Error> {
    let options = schema.options();
    let mut out = Vec::new();
    for (key, value) in &schema.options {
        let Some(values) = values_of(key) else { continue };
        let checked = values.check(&options, key);
        out.extend(checked.err().map(|e| e.with("option", key).with("value", value).hint(values.allowed())));
    }
    let has_key = schema.has_primary_key();
    out.extend(target_bytes(&options, has_key).err());
    out.extend(index_faults(schema, &options));
    if has_key {
        out.extend(PickRules::new(&options).err());
        // The column with the time may be set later.
        if options.get("record-level.time-field").is_some() {
            out.extend(RecordExpiry::new(schema, &options, 0).err());
        }
        let fixed: Vec<FieldId> =
            schema.fields_of(&schema.primary_keys).chain(schema.partition_fields()).map(|f| f.id).collect();
        out.extend(merge_faults(&options, schema.columns(), &fixed));
    }
    out
}

/// A wrong value of an option is an error about the option itself, and not about missing support.
fn refusal(fault: Error) -> Error {
    match fault.kind() {
        ErrorKind::Unsupported => {
            let error =
                fault.context().iter().fold(Error::invalid(fault.message()), |e, (key, value)| e.with(key, value));
            match fault.hint_text() {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        _ => fault,
    }
}

/// Checks the options of a table that is to be made.
///
/// # Errors
/// `InvalidInput`, naming the option.
pub(crate) fn check_new(schema: &TableSchema) -> Result<()> {
    faults(schema).into_iter().next().map_or(Ok(()), |fault| Err(refusal(fault)))
}

/// Checks that a change adds no faults.
///
/// # Errors
/// As [`check_new`].
pub(crate) fn check_change(before: &TableSchema, next: &TableSchema) -> Result<()> {
    let known: HashSet<String> = faults(before).iter().map(Error::to_string).collect();
    let new = faults(next).into_iter().find(|fault| !known.contains(&fault.to_string()));
    new.map_or(Ok(()), |fault| Err(refusal(fault)))
}

#[cfg(test)]
#[path = "option_checks_tests.rs"]
mod tests;
