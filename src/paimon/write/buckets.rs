//! The bucket of every row.

use arrow::array::{Int32Array, RecordBatch};

use super::keyed::key_rows::KeyRows;
use crate::error::Result;
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::bucket::Bucketing;
use crate::paimon::spec::schema::TableSchema;

/// Gives rows their bucket by their key.
#[derive(Clone, Debug)]
pub(crate) struct RowBuckets {
    keys: KeyRows,
    bucketing: Bucketing,
    count: i32,
}

impl RowBuckets {
    /// The buckets of a table with this number of buckets, for rows with its columns.
    ///
    /// # Errors
    /// As [`Bucketing::new`]; `Unsupported` for keys that can't be hashed.
    pub(crate) fn new(schema: &TableSchema, count: i32) -> Result<RowBuckets> {
        let keys = KeyRows::new(schema.columns(), schema.bucket_key_fields())?;
        Ok(RowBuckets { keys, bucketing: Bucketing::new(schema)?, count })
    }

    /// The bucket of each row.
    ///
    /// # Errors
    /// As [`Bucketing::bucket_of_row`].
    pub(crate) fn of_rows(&mut self, rows: &RecordBatch) -> Result<Int32Array> {
        let mut out = Vec::with_capacity(rows.num_rows());
        let (arity, bucketing, count) = (self.keys.arity(), &self.bucketing, self.count);
        self.keys.each(rows, |_, key| {
            out.push(bucketing.bucket_of_row(&BinaryRow::new(key, arity)?, count)?);
            Ok(())
        })?;
        Ok(out.into())
    }
}
