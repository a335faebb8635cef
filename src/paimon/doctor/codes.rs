//! The codes of findings that only tables of this format have.

use crate::format::diagnosis::code::{Code, Severity, codes};

codes! {
    SCHEMA_MISSING Error "schema-missing":
        "A schema that snapshots or files name does not exist.";
        "Restore the file in the folder schema.";
    SCHEMA_DAMAGED Error "schema-damaged":
        "A schema file is damaged, or has another number than its name.";
        "Restore the file in the folder schema.";
    SNAPSHOT_DAMAGED Error "snapshot-damaged":
        "A snapshot file is damaged, or has another number than its name.";
        "Restore the file, or go back to another snapshot.";
    SNAPSHOT_GAP Warning "snapshot-gap":
        "The numbers of snapshots have a gap, where streams and expiry stop.";
        "Restore the missing snapshot, or go back to the one before the gap.";
    SNAPSHOT_TIME Warning "snapshot-time":
        "A snapshot is older than the one before it.";
        "Nothing, but time travel by time may find another snapshot. Check the clocks of writers.";
    HINT_LATEST Warning "hint-latest":
        "The hint LATEST names another snapshot than the newest.";
        "Write it again: repair('refs'). If the table can't be opened, delete snapshot/LATEST.";
    HINT_EARLIEST Warning "hint-earliest":
        "The hint EARLIEST names a snapshot that does not exist.";
        "Write it again: repair('refs').";
    TAG_DAMAGED Error "tag-damaged":
        "A tag can't be read.";
        "Delete the tag, or restore its file.";
    CONSUMER Warning "consumer-damaged":
        "A consumer's file can't be read, or names a snapshot that has expired.";
        "Delete the consumer, or set it to a snapshot that exists: maintain.reset_consumer().";
    MANIFEST_LIST_MISSING Error "manifest-list-missing":
        "A manifest list of a snapshot does not exist.";
        "Restore it, or go back to another snapshot.";
    MANIFEST_LIST_DAMAGED Error "manifest-list-damaged":
        "A manifest list of a snapshot is damaged or cut off.";
        "Restore it, or go back to another snapshot.";
    MANIFEST_MISSING Error "manifest-missing":
        "A manifest does not exist.";
        "Restore it. repair('manifests') takes it out of the table. Its files are lost.";
    MANIFEST_DAMAGED Error "manifest-damaged":
        "A manifest is damaged.";
        "Restore it. repair('manifests') takes it out of the table. Its files are lost.";
    MANIFEST_LENGTH Warning "manifest-length":
        "A manifest has another length than the manifest list records.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_COUNTS Warning "manifest-counts":
        "The counts of a manifest in the manifest list differ from its entries.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_RANGES Error "manifest-ranges":
        "The recorded buckets, levels or partitions of a manifest leave out those of its entries, so scans lose rows.";
        "Write the manifests again: repair('manifests').";
    ENTRY_CONTRADICTION Error "entry-contradiction":
        "A manifest removes a file that the snapshot does not have.";
        "Go back to another snapshot.";
    ENTRY_IMPOSSIBLE Error "entry-impossible":
        "A file is recorded with an impossible size, number of rows, bucket, level or sequence number.";
        "Rewrite the bucket: compact().";
    KEY_RANGE Error "key-range":
        "The least key of a file is above its greatest, or a key can't be read.";
        "Rewrite the bucket: compact().";
    LEVEL_OVERLAP Error "level-overlap":
        "Two files of one level above 0 have keys in common, so that readers may merge them wrongly.";
        "Rewrite the bucket: compact().";
    ROW_IDS_OVERLAP Error "row-ids-overlap":
        "Two files have rows with the same row ids.";
        "Rewrite one of the files.";
    NEXT_ROW_ID Error "next-row-id":
        "Row ids at or above the snapshot's next one are in use.";
        "Go back to the snapshot before.";
    SNAPSHOT_TOTALS Warning "snapshot-totals":
        "The recorded number of rows of a snapshot differs from its files.";
        "Commit a snapshot with the right number: repair('summaries'). Readers count the files.";
    INDEX_MANIFEST Error "index-manifest":
        "The index manifest of a snapshot is missing or damaged, so deleted rows come back or plans fail.";
        "Restore it, or go back to another snapshot.";
    INDEX_FILE_MISSING Error "index-file-missing":
        "An index file does not exist. With its deletion vectors, deleted rows come back or reads fail.";
        "Restore it, or go back to another snapshot.";
    INDEX_FILE_DAMAGED Error "index-file-damaged":
        "An index file is damaged, or differs from its record.";
        "Restore it, or go back to another snapshot.";
    TWO_VECTORS Error "two-vectors":
        "A data file has two deletion vectors in one snapshot.";
        "Rewrite the bucket: compact().";
    VECTOR_UNKNOWN_FILE Warning "vector-unknown-file":
        "A deletion vector is for a data file that the snapshot does not have.";
        "Take it out: repair('dangling-deletes'). No reader uses it.";
    VECTOR_COUNT Error "vector-count":
        "A deletion vector deletes more rows than its data file has.";
        "Check which file was replaced. Rewrite the bucket: compact().";
    CHANGELOG_DAMAGED Error "changelog-damaged":
        "A changelog's snapshot, manifests or files are missing or damaged, so streaming reads fail there.";
        "Start consumers after it, or expire it.";
    STATISTICS_MISSING Warning "statistics-missing":
        "The statistics file of a snapshot is missing or is not JSON.";
        "Compute the statistics again.";
    LEVEL_ZERO_FILES Info "level-zero-files":
        "Many files of one bucket are at level 0, and each read merges them.";
        "Compact the bucket: compact().";
    SMALL_MANIFESTS Info "small-manifests":
        "A snapshot has many manifests that are much smaller than their target size.";
        "Join them: rewrite_manifests(). Commits do so if the option manifest.merge-min-count is lower.";
    MISSING_STATISTICS Info "missing-statistics":
        "Most files have no statistics of any column, so that filters skip files only by their partitions.";
        "Set the option metadata.stats-mode to truncate(16). Files that are written after that have them: compact().";
    FILE_ORDER Info "file-order":
        "The bounds of a column overlap in most files, so that filters on it skip few files.";
        "Sort the rows: overwrite the table, or each partition, with its own rows in the order of the column.";
}
