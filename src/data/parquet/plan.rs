//! The parts of a Parquet file to decode: row groups, rows and columns.

use std::collections::BTreeSet;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::file::ParquetFile;
use super::row_groups::{RowGroupPruner, index_is_consistent};
use crate::data::read::guard::guard;
use crate::data::read::source::{BATCH_BYTES, FilePart};
use crate::error::Result;

pub(super) fn pruner<'a>(part: &FilePart<'a>) -> RowGroupPruner<'a> {
    RowGroupPruner::new(part.filter, part.schema, part.columns, part.constants)
}

/// The parts of the file to decode.
pub(crate) struct DecodePlan {
    pub(crate) metadata: ArrowReaderMetadata,
    pub(crate) groups: Vec<usize>,
    pub(crate) selection: Option<RowSelection>,
    pub(crate) leaves: BTreeSet<usize>,
}

impl DecodePlan {
    /// Skips pages that the filter rules out, if the file has a page index.
    pub(super) fn use_page_index(&mut self, file: &ParquetFile, part: &FilePart<'_>) -> Result<()> {
        let Some(indexed) = file.with_page_index()? else { return Ok(()) };
        if index_is_consistent(indexed.metadata(), &self.groups, &self.leaves) {
            let pruner = pruner(part);
            self.selection = guard(|| Ok(pruner.select_rows(indexed.metadata(), &self.groups))).unwrap_or(None);
            self.metadata = indexed;
        }
        Ok(())
    }

    /// Whether the decoder may skip rows. It may not in columns inside lists and maps. There parquet 59 never returns
    /// on damaged pages whose levels end before the claimed values. Reading such pages gives an error.
    pub(super) fn can_skip(&self) -> bool {
        let columns = self.metadata.parquet_schema().columns();
        !self.leaves.iter().filter_map(|&leaf| columns.get(leaf)).any(|c| c.max_rep_level() > 0)
    }

    /// The number of rows that the decoder must pass.
    pub(super) fn rows(&self) -> u64 {
        match &self.selection {
            Some(selection) => selection.row_count() as u64,
            None => self.row_groups().map(|g| g.num_rows().max(0) as u64).sum(),
        }
    }

    pub(crate) fn row_groups(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.groups.iter().filter_map(|&i| self.metadata.metadata().row_groups().get(i))
    }

    /// Rows of a batch: as many as requested. There are fewer if large rows would not fit memory or the 31-bit offsets
    /// of Arrow's strings.
    pub(crate) fn batch_rows(&self, wanted: usize) -> usize {
        let row_bytes = |group: &RowGroupMetaData| {
            let bytes: u64 = self.leaves.iter().filter_map(|&leaf| group.columns().get(leaf)).map(column_bytes).sum();
            bytes / (group.num_rows().max(1) as u64)
        };
        let largest = self.row_groups().map(row_bytes).max().unwrap_or(0).max(1);
        wanted.min((BATCH_BYTES / largest) as usize).max(1)
    }
}

/// Bytes that a column chunk takes in memory, by the sizes in the file. Nulls and values of a dictionary take hardly
/// any in the file.
fn column_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let bytes = chunk.uncompressed_size().max(chunk.unencoded_byte_array_data_bytes().unwrap_or(0)).max(0) as u64;
    let width = match chunk.column_descr().physical_type() {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
        PhysicalType::BOOLEAN => 0,
        PhysicalType::INT32 | PhysicalType::FLOAT | PhysicalType::BYTE_ARRAY => 4,
        PhysicalType::INT64 | PhysicalType::INT96 | PhysicalType::DOUBLE => 8,
    };
    bytes.max(width.saturating_mul(chunk.num_values().max(0) as u64))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, Int64Array};

    use super::*;
    use crate::data::testing::{field, schema, write};
    use crate::store::Store;
    use crate::types::PrimitiveType as P;

    #[test]
    fn large_rows_make_small_batches() {
        let dir = tempfile::tempdir().unwrap();
        let s = schema(vec![field(1, "a", P::Int), field(2, "l", P::Long)]);
        let path =
            write(&dir, &s, vec![Arc::new(Int32Array::from(vec![1; 50])), Arc::new(Int64Array::from(vec![2; 50]))]);
        let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
        let file = ParquetFile::open(&store, &path).unwrap();
        let plan =
            DecodePlan { metadata: file.metadata.clone(), groups: vec![0], selection: None, leaves: [0, 1].into() };
        assert_eq!(plan.batch_rows(1000), 1000);
        assert_eq!(plan.batch_rows(0), 1);
        assert_eq!(plan.rows(), 50);
        // Values that take no bytes in the file take some in memory.
        let path = write(&dir, &s, vec![Arc::new(Int32Array::new_null(50)), Arc::new(Int64Array::new_null(50))]);
        let metadata = ParquetFile::open(&store, &path).unwrap().metadata;
        let plan = DecodePlan { metadata, groups: vec![0], selection: None, leaves: [0, 1].into() };
        assert_eq!(plan.batch_rows(usize::MAX) as u64, BATCH_BYTES / (4 + 8));
    }
}
