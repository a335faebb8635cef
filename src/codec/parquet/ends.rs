//! Which minimum and maximum in a Parquet file's statistics can be believed.
//!
//! Source: parquet-format, `ColumnOrder` and `Statistics`; Java's
//! `ParquetMetadataConverter.fromParquetStatisticsInternal`. Java also believes ends of bytes in files that state no
//! order. The specification calls them undefined, and writers of such files cut them without rounding up.

use parquet::basic::{ColumnOrder, LogicalType, SortOrder, Type as PhysicalType};
use parquet::file::metadata::FileMetaData;
use parquet::file::statistics::Statistics;

use super::known_writers::WriterFaults;

/// Whether minimum and maximum of a leaf column are in the order of its type. Deprecated ends compare bytes as signed
/// numbers. So do the ends of files that do not state their order.
pub(crate) fn is_ordered(file: &FileMetaData, leaf: usize, deprecated: bool) -> bool {
    let Some(column) = file.schema_descr().columns().get(leaf) else { return false };
    let signed = match column.physical_type() {
        PhysicalType::INT96 => return false,
        PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE => true,
        PhysicalType::INT32 | PhysicalType::INT64 => column.sort_order() != SortOrder::UNSIGNED,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => false,
    };
    if !signed && WriterFaults::of(file.created_by()).byte_bounds {
        return false;
    }
    match file.column_order(leaf) {
        _ if matches!(column.logical_type_ref(), Some(LogicalType::Float16)) => false,
        ColumnOrder::TYPE_DEFINED_ORDER(_) => signed || !deprecated,
        ColumnOrder::UNDEFINED => signed,
        _ => false,
    }
}

/// Whether minimum and maximum of a leaf column in a row group are its least and greatest value, or lie around them.
/// Deprecated ends that are equal are valid in any order. Like Java, this suspects files without a writer of
/// PARQUET-251.
pub(crate) fn are_believed(file: &FileMetaData, leaf: usize, statistics: &Statistics) -> bool {
    let deprecated = statistics.is_min_max_deprecated();
    let equal = || {
        let ends = statistics.min_bytes_opt().zip(statistics.max_bytes_opt());
        let known = file.created_by().is_some_and(|text| !text.is_empty());
        known && ends.is_some_and(|(min, max)| min == max) && !WriterFaults::of(file.created_by()).byte_bounds
    };
    is_ordered(file, leaf, deprecated) || (deprecated && !matches!(statistics, Statistics::Int96(_)) && equal())
}
