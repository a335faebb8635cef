//! What buckets hold already: new rows come after them.

use std::collections::HashMap;

use crate::error::Result;
use crate::paimon::binary_row_write::{encode_values, prefixed};
use crate::paimon::entries::EntryRequest;
use crate::paimon::live::{data_manifests, live_files};
use crate::paimon::metadata::TableMetadata;
use crate::paimon::schema::TableSchema;
use crate::task::Partition;

/// The state of a table's buckets, by partition (a binary row after its number of fields) and bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenBuckets {
    /// The greatest sequence number.
    pub sequence: HashMap<(Vec<u8>, i32), i64>,
    /// The number of buckets by partition.
    pub totals: HashMap<Vec<u8>, i32>,
}

/// A partition as manifests have it.
///
/// # Errors
/// `InvalidInput` if it is not of the table.
pub(super) fn partition_row(schema: &TableSchema, partition: &Partition) -> Result<Vec<u8>> {
    let types = schema.partition_types();
    let row = encode_values(partition.values.iter().map(|v| v.value.clone()), &types)?;
    Ok(prefixed(&row, types.len()))
}

impl WrittenBuckets {
    /// Of a table at its snapshot.
    ///
    /// # Errors
    /// Those of reading manifests.
    pub fn read(metadata: &TableMetadata) -> Result<WrittenBuckets> {
        let mut out = WrittenBuckets::default();
        let Some(snapshot) = &metadata.snapshot else { return Ok(out) };
        let (store, root) = (metadata.folder.store().as_ref(), metadata.folder.root());
        let manifests = data_manifests(store, root, snapshot)?;
        for part in live_files(store, root, &manifests, &EntryRequest::default())? {
            let columns = &part.columns;
            for row in part.rows.iter().map(|row| *row as usize) {
                let (bucket, sequence) = (columns.bucket.get(row), columns.max_sequence_number.get(row));
                let (Some(bucket), Some(sequence)) = (bucket, sequence) else { continue };
                let partition = columns.partition_row(row).to_vec();
                if let Some(total) = columns.total_buckets.get(row) {
                    out.totals.insert(partition.clone(), *total);
                }
                let known = out.sequence.entry((partition, *bucket)).or_insert(*sequence);
                *known = (*known).max(*sequence);
            }
        }
        Ok(out)
    }
}
