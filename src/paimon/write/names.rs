//! Names and folders of new files: `<table>/<partition>/bucket-N/data-<uuid>-<n>.<format>`.
//!
//! Source: Java's `DataFilePathFactory`.

use crate::error::{Error, Result};
use crate::format::task::{FileFormat, Partition};
use crate::paimon::spec::partition::TablePaths;
use crate::store::location::join;
use crate::types::Value;
use crate::types::metadata_columns::BUCKET_ID;

/// The name of the column with the bucket of a row.
pub(crate) const BUCKET: &str = "_BUCKET";

/// Names files, one after another.
pub(crate) struct FileNames {
    pub paths: TablePaths,
    /// `data-` if the table does not say.
    pub prefix: String,
    pub write_id: String,
    pub format: FileFormat,
    pub count: u64,
    /// The bucket of all rows, if partitions don't include it.
    pub bucket: i32,
}

impl FileNames {
    /// The path of the next file of a partition, which may have a bucket after its values.
    ///
    /// # Errors
    /// `Internal` if the partition is not the table's.
    pub(crate) fn next(&mut self, partition: &Partition) -> Result<String> {
        let (partition, bucket) = split_bucket(partition, self.bucket)?;
        let name = format!("{}{}-{}.{}", self.prefix, self.write_id, self.count, self.format.as_str());
        self.count += 1;
        Ok(join(&self.paths.bucket(&partition, bucket)?, &name))
    }
}

/// A partition without the bucket after its values, and the bucket: `none` if there is no bucket column.
///
/// # Errors
/// `Internal` for a bucket without number.
pub(crate) fn split_bucket(partition: &Partition, none: i32) -> Result<(Partition, i32)> {
    let mut out = partition.clone();
    let bucket = match out.values.pop_if(|v| v.source_id == BUCKET_ID).map(|v| v.value) {
        None => none,
        Some(Some(Value::Int(bucket))) => bucket,
        Some(_) => return Err(Error::internal("a row has no bucket")),
    };
    Ok((out, bucket))
}
