//! The footer of a Parquet file. It is decoded without statistics of the wrong form. It is mended where a writer's
//! fault would lead a reader to the wrong bytes.

use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataOptions,
    ParquetMetaDataReader, ParquetStatisticsPolicy, RowGroupMetaData,
};

use crate::codec::parquet::known_writers::WriterFaults;
use crate::codec::parquet::thrift::CheckedFooter;
use crate::error::{Error, Result};

/// The most bytes that the header of a dictionary page takes (PARQUET-816).
const DICTIONARY_HEADER: i64 = 100;

/// Decodes the footer at this byte of the file. Statistics only save work. So those whose form is wrong are left out,
/// and the rows can be read.
///
/// # Errors
/// `CorruptTable` if it can't be decoded.
pub(crate) fn decode(checked: &CheckedFooter<'_>, at: u64) -> Result<ParquetMetaData> {
    let decoded = |policy: ParquetStatisticsPolicy| {
        let mut options = ParquetMetaDataOptions::new();
        options.set_column_stats_policy(policy.clone());
        options.set_size_stats_policy(policy);
        ParquetMetaDataReader::decode_metadata_with_options(&checked.bytes, Some(&options))
    };
    let metadata = match checked.odd_statistics {
        true => decoded(ParquetStatisticsPolicy::SkipAll),
        false => decoded(ParquetStatisticsPolicy::KeepAll).or_else(|_| decoded(ParquetStatisticsPolicy::SkipAll)),
    };
    mended(with_rows(metadata.map_err(undecodable)?), i64::try_from(at).unwrap_or(i64::MAX))
}

/// The error of this crate for an error of the parquet crate.
pub(crate) fn undecodable(e: ParquetError) -> Error {
    match e {
        ParquetError::NYI(what) => Error::unsupported(format!("the Parquet file needs an unsupported feature: {what}")),
        e => Error::corrupt("the Parquet data cannot be decoded").because(e),
    }
}

/// The known faults of the writer of a file.
pub(crate) fn writer_faults(metadata: &ParquetMetaData) -> WriterFaults {
    WriterFaults::of(metadata.file_metadata().created_by())
}

/// Sets the number of rows to that of the row groups. The decoder counts by it, and some writers leave it at 0.
fn with_rows(metadata: ParquetMetaData) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let rows = metadata.row_groups().iter().map(|g| g.num_rows().max(0)).fold(0, i64::saturating_add);
    if file.num_rows() == rows {
        return metadata;
    }
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let groups = metadata.into_builder().take_row_groups();
    ParquetMetaDataBuilder::new(file).set_row_groups(groups).build()
}

fn mended(metadata: ParquetMetaData, end: i64) -> Result<ParquetMetaData> {
    let short = writer_faults(&metadata).chunk_sizes;
    let chunks = || metadata.row_groups().iter().flat_map(|group| group.columns());
    if !short && !chunks().any(has_no_dictionary) {
        return Ok(metadata);
    }
    let mut starts: Vec<i64> = chunks().map(start_of).chain([end]).collect();
    starts.sort_unstable();
    let chunk = |chunk: &ColumnChunkMetaData| {
        let mut chunk = chunk.clone();
        if has_no_dictionary(&chunk) {
            chunk = chunk.into_builder().set_dictionary_page_offset(None).build()?;
        }
        match short.then(|| missing_bytes(&chunk, &starts)).flatten() {
            None => Ok(chunk),
            Some(missing) => {
                let size = chunk.compressed_size().saturating_add(missing);
                chunk.into_builder().set_total_compressed_size(size).build()
            }
        }
    };
    let group = |group: &RowGroupMetaData| {
        let columns = group.columns().iter().map(chunk).collect::<parquet::errors::Result<Vec<_>>>()?;
        group.clone().into_builder().set_column_metadata(columns).build()
    };
    let groups = metadata.row_groups().iter().map(group).collect::<parquet::errors::Result<Vec<_>>>();
    let groups = groups.map_err(undecodable)?;
    Ok(metadata.into_builder().set_row_groups(groups).build())
}

/// The offset where a column chunk begins: at its dictionary, if it has one.
pub(crate) fn start(chunk: &ColumnChunkMetaData) -> i64 {
    chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset())
}

/// Whether the offset of a dictionary stands for no dictionary. Dremio writes 0, where the magic bytes of the file are
/// (`parquet-testing/data/dict-page-offset-zero.parquet`). Java ignores such offsets too.
fn has_no_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    chunk.dictionary_page_offset().is_some_and(|at| at <= 0 || at >= chunk.data_page_offset())
}

fn start_of(chunk: &ColumnChunkMetaData) -> i64 {
    if has_no_dictionary(chunk) { chunk.data_page_offset() } else { start(chunk) }
}

/// The bytes between the end of a chunk, as recorded, and the next one, if they can be the missing header.
fn missing_bytes(chunk: &ColumnChunkMetaData, starts: &[i64]) -> Option<i64> {
    let recorded = start(chunk).checked_add(chunk.compressed_size())?;
    let next = *starts.get(starts.partition_point(|at| *at <= start(chunk)))?;
    next.checked_sub(recorded).filter(|missing| (1..=DICTIONARY_HEADER).contains(missing))
}

#[cfg(test)]
#[path = "footer_tests.rs"]
mod tests;
