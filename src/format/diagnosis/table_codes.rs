//! The codes that every format has.

use super::code::{Code, Severity, codes};

codes! {
    FILE_MISSING Error "file-missing":
        "A data file that the table names does not exist.";
        "Restore the file, or take it out of the table: repair('lost-files'). Its rows are lost.";
    FILE_UNREADABLE Warning "file-unreadable":
        "The store refused to say anything about a file.";
        "Check credentials and network, then examine again.";
    FILE_TRUNCATED Error "file-truncated":
        "A file is shorter than the table records.";
        "Restore the file, or take it out of the table: repair('lost-files').";
    FILE_SHORTER Error "file-shorter":
        "A file is shorter than the table records, but it is whole.";
        "Check who replaced the file. Readers that trust the recorded length fail.";
    FILE_LONGER Warning "file-longer":
        "A file is longer than the table records.";
        "Check who replaced the file. Readers that trust the recorded length fail.";
    FILE_DAMAGED Error "file-damaged":
        "A file is not an intact file of its format.";
        "Restore the file, or take it out of the table: repair('lost-files').";
    FILE_UNSUPPORTED Warning "file-unsupported":
        "A file can't be checked, because Frazil can't read it.";
        "Nothing, if other readers can read it.";
    ROW_COUNT Error "row-count":
        "A file has another number of rows than the table records.";
        "Rewrite the file: overwrite its rows, or take it out and add it again.";
    BOUNDS_EXCLUDE_ROWS Error "bounds-exclude-rows":
        "The recorded bounds of a column leave out values in the file, so filters lose rows.";
        "Rewrite the file, so that its bounds are measured again.";
    NULL_COUNT_HIDES_ROWS Error "null-count-hides-rows":
        "The recorded null count makes filters lose rows: none recorded where there are some, or all where not all are.";
        "Rewrite the file, so that its nulls are counted again.";
    NULL_COUNT Warning "null-count":
        "The recorded null count of a column differs from the file.";
        "Rewrite the file, so that its nulls are counted again.";
    VALUE_COUNT Warning "value-count":
        "The recorded value count of a column differs from the file, or from the number of rows.";
        "Rewrite the file, so that its values are counted again.";
    BOUNDS_DISORDERED Error "bounds-disordered":
        "The recorded lower bound of a column is above its upper bound, so filters lose rows.";
        "Rewrite the file, so that its bounds are measured again.";
    BOUND_UNDECODABLE Error "bound-undecodable":
        "A recorded bound does not fit the type of its column.";
        "Rewrite the file, so that its bounds are measured again.";
    COLUMN_TYPE Error "column-type":
        "The columns of a file can't be read as the columns of the table.";
        "Write the rows again in the table's types.";
    PARTITION_VALUE Error "partition-value":
        "A file has rows that do not belong to its recorded partition.";
        "Write the rows again: overwrite the partition with its own rows.";
    DUPLICATE_FILE Error "duplicate-file":
        "A snapshot lists the same file twice, so its rows are read twice.";
        "Remove one entry, or write the rows again.";
    FILE_OUTSIDE Info "file-outside":
        "A file in the table's folder is not part of the table.";
        "Remove it, if no writer still needs it: remove_orphan_files().";
    SMALL_FILES Info "small-files":
        "Many data files are much smaller than the target size.";
        "Rewrite them into larger files: compact().";
    LARGE_MANIFESTS Info "large-manifests":
        "Manifests are much larger than their target size, so that plans read more than they need.";
        "Divide them: rewrite_manifests().";
    LONG_HISTORY Info "long-history":
        "The table keeps many snapshots.";
        "Remove old ones: expire_snapshots().";
    DELETE_DEBT Info "delete-debt":
        "Many rows are deleted by delete files or deletion vectors, which each scan reads.";
        "Apply the deletes to the files: compact(). In Iceberg, deletes that stay: rewrite_position_deletes(rewrite_all=True).";
    SKEWED_PARTITIONS Info "skewed-partitions":
        "A partition is far larger than the others.";
        "Divide it by another partition field or more buckets, perhaps in a new table. Or sort its rows.";
}
