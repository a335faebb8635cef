//! The state of existing buckets, after which new rows continue.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::format::task::Partition;
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::manifest::entries::{PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::live::{DeletedFiles, EntryJudge, data_manifests};
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::schema::TableSchema;

/// The state of a table's buckets, by partition (a binary row after its number of fields) and bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenBuckets {
    /// The greatest sequence number.
    pub sequence: HashMap<(Vec<u8>, i32), i64>,
    /// The number of buckets by partition.
    pub totals: HashMap<Vec<u8>, i32>,
}

/// A partition as in manifests.
///
/// # Errors
/// `InvalidInput` if it is not of the table.
pub(crate) fn partition_row(schema: &TableSchema, partition: &Partition) -> Result<Vec<u8>> {
    let types = schema.partition_types();
    let row = encode_values(partition.values.iter().map(|v| v.value.clone()), &types)?;
    Ok(prefixed(&row, types.len()))
}

impl WrittenBuckets {
    /// The buckets of a table at its snapshot.
    ///
    /// # Errors
    /// Those of reading manifests.
    pub(crate) fn read(metadata: &PaimonTableMetadata) -> Result<WrittenBuckets> {
        let mut out = WrittenBuckets::default();
        let Some(snapshot) = &metadata.snapshot else { return Ok(out) };
        let from = metadata.folder.manifests();
        let manifests = data_manifests(from, snapshot)?;
        let request = PaimonEntryRequest::default();
        let deleted = DeletedFiles::read(from, &manifests, &request)?;
        let parts = deleted.judged_parts(from, &manifests, &request, |_| Ok(Greatest::default()))?;
        for part in parts.into_iter().flatten() {
            out.totals.extend(part.totals);
            for (bucket, sequence) in part.sequence {
                let known = out.sequence.entry(bucket).or_insert(sequence);
                *known = (*known).max(sequence);
            }
        }
        Ok(out)
    }
}

/// The state of the buckets of some entries. Keeps no entry.
#[derive(Default)]
struct Greatest {
    of: WrittenBuckets,
    /// Entries mostly come bucket by bucket.
    last: Option<((Vec<u8>, i32), i64)>,
}

impl Greatest {
    fn settle(&mut self) {
        if let Some((bucket, sequence)) = self.last.take() {
            let known = self.of.sequence.entry(bucket).or_insert(sequence);
            *known = (*known).max(sequence);
        }
    }
}

impl EntryJudge for Greatest {
    type Out = WrittenBuckets;

    fn wants(&mut self, columns: &PaimonEntryColumns, row: usize) -> Result<bool> {
        let (bucket, sequence) = (columns.bucket.get(row), columns.max_sequence_number.get(row));
        let (Some(bucket), Some(sequence)) = (bucket, sequence) else { return Ok(false) };
        let partition = columns.partition_row(row);
        match &mut self.last {
            Some(((known, number), greatest)) if *number == *bucket && known == partition => {
                *greatest = (*greatest).max(*sequence);
                if columns.total_buckets.get(row) == self.of.totals.get(partition) {
                    return Ok(false);
                }
            }
            _ => {
                self.settle();
                self.last = Some(((partition.to_vec(), *bucket), *sequence));
            }
        }
        // Rows that wait for their buckets don't show the number of buckets.
        if let Some(total) = columns.total_buckets.get(row).filter(|_| *bucket != POSTPONE_BUCKET) {
            self.of.totals.insert(partition.to_vec(), *total);
        }
        Ok(false)
    }

    fn end(mut self, _: PaimonEntryColumns) -> WrittenBuckets {
        self.settle();
        self.of
    }
}

/// The error for a bucket that has used the largest sequence number. The rows of a further file would not win over
/// earlier ones.
pub(crate) fn no_sequence_numbers() -> Error {
    Error::invalid("a bucket has no sequence numbers left: a file has the largest possible number")
        .hint("Overwrite the partition, so that its files get new numbers")
}
