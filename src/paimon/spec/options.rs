//! Table options with Java's defaults: how rows merge, where files are, how planning works.
//!
//! Source: Java's `CoreOptions`, release 1.4.

use crate::error::Result;
use crate::types::options::{Options, bad_option};

/// How rows with one key become one (`merge-engine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MergeEngine {
    Deduplicate,
    PartialUpdate,
    Aggregation,
    FirstRow,
}

/// How a key becomes a bucket (`bucket-function.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BucketFunction {
    Default,
    Mod,
    Hive,
}

impl Options<'_> {
    /// `merge-engine`.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown one.
    pub fn merge_engine(&self) -> Result<MergeEngine> {
        Ok(match self.get("merge-engine").map(str::to_ascii_lowercase).as_deref() {
            None | Some("deduplicate") => MergeEngine::Deduplicate,
            Some("partial-update") => MergeEngine::PartialUpdate,
            Some("aggregation") => MergeEngine::Aggregation,
            Some("first-row") => MergeEngine::FirstRow,
            Some(other) => return Err(bad_option("merge-engine", other, "merge engine")),
        })
    }

    /// `bucket`: a number of buckets; -1 for no buckets or dynamic ones, -2 for postponed ones.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a number.
    pub fn bucket(&self) -> Result<i32> {
        let bucket = self.integer("bucket")?.unwrap_or(-1);
        i32::try_from(bucket).map_err(|_| bad_option("bucket", &bucket.to_string(), "number of buckets"))
    }

    /// `bucket-function.type`.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown one.
    pub fn bucket_function(&self) -> Result<BucketFunction> {
        Ok(match self.get("bucket-function.type").map(str::to_ascii_lowercase).as_deref() {
            None | Some("default") => BucketFunction::Default,
            Some("mod") => BucketFunction::Mod,
            Some("hive") => BucketFunction::Hive,
            Some(other) => return Err(bad_option("bucket-function.type", other, "bucket function")),
        })
    }

    /// `file.format`.
    pub fn file_format(&self) -> String {
        self.get("file.format").unwrap_or("parquet").to_ascii_lowercase()
    }

    /// `deletion-vectors.enabled`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn deletion_vectors(&self) -> Result<bool> {
        self.boolean("deletion-vectors.enabled", false)
    }

    /// Whether scans of a table leave out files of level 0. Before a compaction it is not known which of their rows
    /// stay. `has_key` says whether the table has a primary key.
    ///
    /// # Errors
    /// As [`Options::deletion_vectors`] and [`Options::merge_engine`].
    pub fn hides_level_0(&self, has_key: bool) -> Result<bool> {
        Ok(has_key && (self.deletion_vectors()? || self.merge_engine()? == MergeEngine::FirstRow))
    }

    /// `file-index.read.enabled`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn file_index_read(&self) -> Result<bool> {
        self.boolean("file-index.read.enabled", true)
    }

    /// `row-tracking.enabled`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn row_tracking(&self) -> Result<bool> {
        self.boolean("row-tracking.enabled", false)
    }

    /// `data-evolution.enabled`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn data_evolution(&self) -> Result<bool> {
        self.boolean("data-evolution.enabled", false)
    }

    /// `partition.default-name`: the name of null and blank values in paths.
    pub fn default_partition_name(&self) -> &str {
        self.get("partition.default-name").unwrap_or("__DEFAULT_PARTITION__")
    }

    /// `partition.legacy-name`: whether values are in paths as Java's objects print, dates as numbers of days.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn legacy_partition_name(&self) -> Result<bool> {
        self.boolean("partition.legacy-name", true)
    }

    /// `index-file-in-data-file-dir`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a truth value.
    pub fn index_beside_data(&self) -> Result<bool> {
        self.boolean("index-file-in-data-file-dir", false)
    }

    /// `source.split.target-size`, 128 MiB by default.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a number of bytes.
    pub fn split_target_bytes(&self) -> Result<i64> {
        self.bytes("source.split.target-size", 128 << 20)
    }

    /// `source.split.open-file-cost`, 4 MiB by default.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a number of bytes.
    pub fn open_file_cost_bytes(&self) -> Result<i64> {
        self.bytes("source.split.open-file-cost", 4 << 20)
    }

    /// Whether commits have changelog files: whether `changelog-producer` is not `none`.
    pub fn produces_changelog(&self) -> bool {
        !self.get("changelog-producer").is_none_or(|producer| producer.trim().eq_ignore_ascii_case("none"))
    }

    /// `sequence.field`: the columns that say which of two rows is the newer one.
    pub fn sequence_fields(&self) -> Vec<&str> {
        self.list("sequence.field")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn values_read_as_java_reads_them() {
        let options: BTreeMap<String, String> = [
            ("bucket", "-2"),
            ("merge-engine", "first-row"),
            ("deletion-vectors.enabled", "TRUE"),
            ("source.split.target-size", "1 gb"),
            ("source.split.open-file-cost", "7"),
            ("sequence.field", "a, b"),
            ("partition.legacy-name", "yes"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        let options = Options(&options);
        assert_eq!((options.bucket().unwrap(), options.merge_engine().unwrap()), (-2, MergeEngine::FirstRow));
        assert!(options.deletion_vectors().unwrap());
        assert_eq!((options.split_target_bytes().unwrap(), options.open_file_cost_bytes().unwrap()), (1 << 30, 7));
        assert_eq!(options.sequence_fields(), ["a", "b"]);
        assert!(options.legacy_partition_name().is_err());
        assert_eq!(
            (options.file_format().as_str(), options.bucket_function().unwrap()),
            ("parquet", BucketFunction::Default)
        );
        assert_eq!(options.default_partition_name(), "__DEFAULT_PARTITION__");
    }
}
