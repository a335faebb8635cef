//! New files for tests of commits.

use std::sync::Arc;

use crate::format::task::{
    BucketFile, DataFile, FileContent, FileFormat, FileSource, NewBucketFile, Partition, RowStats,
};
use crate::paimon::catalog::filesystem::TableFolder;

/// A new file of a table without key. Its path has the ending `.parquet`.
pub(in crate::paimon) fn file(t: &TableFolder, name: &str) -> NewBucketFile {
    let path = format!("{}/bucket-0/{name}.parquet", t.root());
    let partition = Arc::new(Partition { spec_id: 0, values: Vec::new() });
    let mut file = DataFile::new(FileContent::Data, path, FileFormat::Parquet, partition);
    file.bucket_file = Some(Box::new(BucketFile {
        bucket: 0,
        total_buckets: -1,
        level: 0,
        schema_id: 0,
        min_key: Vec::new(),
        max_key: Vec::new(),
        min_sequence_number: 0,
        max_sequence_number: 0,
        delete_row_count: None,
        write_columns: None,
    }));
    NewBucketFile {
        file,
        key_stats: RowStats::default(),
        value_stats: RowStats::default(),
        value_stats_cols: None,
        extra_files: vec![format!("{name}.index")],
        embedded_index: None,
        creation_time_ms: 0,
        source: FileSource::Append,
        external: false,
    }
}
