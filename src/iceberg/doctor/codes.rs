//! The codes of findings that only tables of this format have.

use crate::format::diagnosis::code::{Code, Severity, codes};

codes! {
    METADATA_MISSING Error "metadata-missing":
        "The metadata file of the table does not exist.";
        "Restore it, open an older metadata file, or register the table again from its files: doctor.restore().";
    METADATA_DAMAGED Error "metadata-damaged":
        "The metadata file is not readable JSON.";
        "Restore it, open an older metadata file, or register the table again from its files: doctor.restore().";
    METADATA_INVALID Error "metadata-invalid":
        "The metadata file breaks the specification, so that readers refuse the table.";
        "Go back to the previous metadata file, or mend the member that the evidence names.";
    METADATA_UNSUPPORTED Warning "metadata-unsupported":
        "The table uses something that Frazil does not know.";
        "Use a newer release of Frazil.";
    VERSION_HINT Warning "version-hint":
        "The version hint names another version than the newest.";
        "Delete version-hint.text, or write the newest version number into it.";
    METADATA_LOG_MISSING Warning "metadata-log-missing":
        "The metadata log names a file that does not exist.";
        "Nothing: the log is history. repair('refs') removes the entry.";
    METADATA_LOG_DISORDERED Error "metadata-log-disordered":
        "The times in the metadata log go back, so that Java refuses the table.";
        "repair('refs') sorts the log.";
    SNAPSHOT_LOG_DISORDERED Error "snapshot-log-disordered":
        "The times in the snapshot log go back, so that Java refuses the table.";
        "repair('refs') sorts the log.";
    SNAPSHOT_LOG_UNKNOWN Warning "snapshot-log-unknown":
        "The snapshot log names a snapshot that the table does not have.";
        "repair('refs') removes the entry.";
    SNAPSHOT_LOG_END Warning "snapshot-log-end":
        "The last entry of the snapshot log is not the current snapshot.";
        "Any commit appends the right entry.";
    CURRENT_SNAPSHOT_MISSING Error "current-snapshot-missing":
        "The current snapshot is not in the table.";
        "doctor.restore() makes the newest snapshot current.";
    REF_MISSING_SNAPSHOT Error "ref-missing-snapshot":
        "A branch or tag names a snapshot that the table does not have.";
        "doctor.restore() removes the reference.";
    REF_MAIN_DIFFERS Error "ref-main-differs":
        "The branch main is not at the current snapshot, so readers see different versions.";
        "doctor.restore() sets main to the current snapshot.";
    REF_RETENTION Warning "ref-retention":
        "A branch or tag has a retention that is not positive.";
        "Set its retention again.";
    REF_KIND Error "ref-kind":
        "A reference is neither a branch nor a tag, or main is a tag.";
        "doctor.restore() makes main a branch, and removes other references of unknown kinds.";
    DUPLICATE_SNAPSHOT Error "duplicate-snapshot":
        "Two snapshots have the same id.";
        "Go back to the previous metadata file.";
    SNAPSHOT_SCHEMA Error "snapshot-schema":
        "A snapshot names a schema that the table does not have.";
        "Expire the snapshot, or go back to the previous metadata file.";
    SNAPSHOT_SEQUENCE Error "snapshot-sequence":
        "A snapshot's sequence number is not above that of its parent, or two snapshots share one.";
        "Deletes may apply to the wrong rows. Roll back to the parent and commit again.";
    SEQUENCE_ABOVE_LAST Error "sequence-above-last":
        "A sequence number is above the last one that the table has assigned.";
        "Go back to the previous metadata file, or raise last-sequence-number.";
    SNAPSHOT_TIME Warning "snapshot-time":
        "A snapshot is older than its parent, or newer than the table's last update.";
        "Nothing, but time travel by time may find another snapshot. Check the clocks of writers.";
    PARENT_CIRCLE Error "parent-circle":
        "A snapshot is its own ancestor.";
        "Roll back to a snapshot outside of the circle.";
    CURRENT_SCHEMA_MISSING Error "current-schema-missing":
        "The current schema is not in the table.";
        "Go back to the previous metadata file.";
    DUPLICATE_SCHEMA Error "duplicate-schema":
        "Two schemas, partition specs or sort orders have the same id.";
        "Go back to the previous metadata file.";
    DUPLICATE_FIELD Error "duplicate-field":
        "Two columns of a schema have the same id or name.";
        "Go back to the previous metadata file.";
    LAST_COLUMN_ID Error "last-column-id":
        "A column's id is above the last one that the table has assigned, so a new column may get the same id.";
        "Go back to the previous metadata file, or raise last-column-id.";
    LAST_PARTITION_ID Warning "last-partition-id":
        "A partition field's id is above the last one that the table has assigned.";
        "Go back to the previous metadata file, or raise last-partition-id.";
    DEFAULT_SPEC_MISSING Error "default-spec-missing":
        "The default partition spec or sort order is not in the table.";
        "Go back to the previous metadata file.";
    PARTITION_SOURCE Error "partition-source":
        "The default partition spec is by a column that the table does not have.";
        "Change the partition spec: remove the field.";
    SORT_SOURCE Warning "sort-source":
        "The default sort order is by a column that the table does not have.";
        "Set another sort order.";
    IDENTIFIER_FIELD Warning "identifier-field":
        "An identifier field is not a required column of the schema.";
        "Set the identifier fields again.";
    NAME_MAPPING Error "name-mapping":
        "The name mapping can't be read, so files without field ids can't be read.";
        "Set the property schema.name-mapping.default again.";
    NAME_MAPPING_UNKNOWN Warning "name-mapping-unknown":
        "The name mapping maps a name to a column that no schema has.";
        "Set the property schema.name-mapping.default again.";
    NAME_MAPPING_TWICE Warning "name-mapping-twice":
        "The name mapping gives two fields the same column id.";
        "Set the property schema.name-mapping.default again.";
    NEXT_ROW_ID Error "next-row-id":
        "Row ids at or above the next one are in use, so that new rows may get the ids of others.";
        "Go back to the previous metadata file, or raise next-row-id.";
    ROW_IDS_OVERLAP Error "row-ids-overlap":
        "Two files have rows with the same row ids.";
        "Rewrite one of the files, so that its rows get new ids.";
    STATISTICS_UNKNOWN Warning "statistics-unknown":
        "A statistics file is of a snapshot that the table does not have.";
        "repair('refs') removes the entry.";
    STATISTICS_MISSING Warning "statistics-missing":
        "A statistics file does not exist.";
        "repair('refs') removes the entry. Compute the statistics again.";
    STATISTICS_DAMAGED Warning "statistics-damaged":
        "A statistics file is damaged, or differs from its record.";
        "Compute the statistics again.";
    MANIFEST_LIST_MISSING Error "manifest-list-missing":
        "The manifest list of a snapshot does not exist.";
        "Restore it, or go back to another snapshot. The snapshot is lost otherwise.";
    MANIFEST_LIST_DAMAGED Error "manifest-list-damaged":
        "The manifest list of a snapshot is damaged or cut off.";
        "Restore it, or go back to another snapshot. The snapshot is lost otherwise.";
    MANIFEST_LISTED_TWICE Error "manifest-listed-twice":
        "A snapshot lists the same manifest twice, so its rows are read twice.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_SPEC_UNKNOWN Error "manifest-spec-unknown":
        "A manifest is of a partition spec that the table does not have.";
        "Go back to the previous metadata file.";
    MANIFEST_SPEC_DIFFERS Warning "manifest-spec-differs":
        "A manifest and its entry in the manifest list name different partition specs.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_SEQUENCE Error "manifest-sequence":
        "A manifest's sequence number is above that of its snapshot, or below its own least one.";
        "Deletes may apply to the wrong rows. Go back to another snapshot.";
    MANIFEST_ROW_ID Error "manifest-row-id":
        "A data manifest has no first row id, although its snapshot assigns row ids.";
        "Go back to another snapshot.";
    MANIFEST_MISSING Error "manifest-missing":
        "A manifest does not exist.";
        "Restore it. repair('manifests') takes it out of the table. Its files are lost, or its deleted rows come back.";
    MANIFEST_DAMAGED Error "manifest-damaged":
        "A manifest is damaged.";
        "Restore it. repair('manifests') takes it out of the table. Its files are lost, or its deleted rows come back.";
    MANIFEST_TRUNCATED Error "manifest-truncated":
        "A manifest is only a part of the recorded one.";
        "Restore it. repair('manifests') writes it again from the entries that are left.";
    MANIFEST_ENTRIES_LOST Error "manifest-entries-lost":
        "A manifest has fewer entries and rows than the manifest list records.";
        "Restore it. repair('manifests') writes it again from the entries that are left.";
    MANIFEST_LENGTH Warning "manifest-length":
        "A manifest has another length than the manifest list records.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_CONTENT Error "manifest-content":
        "A manifest and its entry in the manifest list differ in whether it has data files or delete files.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_PARTITION Error "manifest-partition":
        "The partition tuples of a manifest lack a field of their partition spec.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_COUNTS_HIDE Error "manifest-counts-hide":
        "The manifest list says that a manifest has no live files, but it has some, so their rows are lost.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_COUNTS Warning "manifest-counts":
        "The counts of a manifest in the manifest list differ from its entries.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_SUMMARY_HIDES Error "manifest-summary-hides":
        "The partition summary of a manifest leaves out a partition of its files, so filters lose rows.";
        "Write the manifests again: repair('manifests').";
    MANIFEST_MIN_SEQUENCE Error "manifest-min-sequence":
        "The least sequence number of a manifest is below the recorded one, so deletes may be dropped too early.";
        "Write the manifests again: repair('manifests').";
    ENTRY_SEQUENCE Error "entry-sequence":
        "A file's sequence number is missing, or above that of its manifest.";
        "Deletes may apply to the wrong rows. Go back to another snapshot.";
    ENTRY_CONTENT Error "entry-content":
        "A data manifest lists a delete file, or the other way round.";
        "Go back to another snapshot.";
    ENTRY_IMPOSSIBLE Error "entry-impossible":
        "A file is recorded with an impossible size or number of rows.";
        "Write the rows of the file again.";
    ENTRY_SNAPSHOT Warning "entry-snapshot":
        "A file was added by another snapshot than its manifest.";
        "Nothing, but incremental reads may leave the file out.";
    FILE_ELSEWHERE Info "file-elsewhere":
        "Files of the table are outside of its folder.";
        "Nothing, if that was intended. Copies of the folder lack these files.";
    SPLIT_OFFSETS Warning "split-offsets":
        "The recorded split offsets of a file are not where its row groups begin.";
        "Rewrite the file. Readers may divide it badly.";
    FIELD_IDS_MISSING Warning "field-ids-missing":
        "A file has no field ids, and the table has no name mapping, so its columns are matched by their place.";
        "Set the property schema.name-mapping.default.";
    FIELD_IDS_TWICE Error "field-ids-twice":
        "Two columns of a file have the same field id.";
        "Write the rows of the file again.";
    TWO_VECTORS Error "two-vectors":
        "A data file has two deletion vectors in one snapshot.";
        "Write the deletes again: compact().";
    VECTOR_INCOMPLETE Error "vector-incomplete":
        "A deletion vector names no data file, or no place in its file.";
        "Restore the deletes, or take the vector out: deleted rows come back.";
    VECTOR_DAMAGED Error "vector-damaged":
        "A deletion vector is damaged, or differs from its record.";
        "Restore the file, or take the vector out: deleted rows come back.";
    VECTOR_BARE Warning "vector-bare":
        "A file of deletion vectors has no Puffin footer. Vectors in it can be read by their recorded places.";
        "Write the deletes again: compact(). Readers that open the file as Puffin fail.";
    DELETE_FILE_MISSING Error "delete-file-missing":
        "A delete file that the table names does not exist.";
        "Restore it, or take it out of the table: repair('lost-files'). Deleted rows come back.";
    DELETE_COUNT Error "delete-count":
        "A delete file deletes more rows than its data file has.";
        "Check which file was replaced. Write the deletes again: compact().";
    DELETE_POSITION Error "delete-position":
        "A delete file names a position that its data file does not have.";
        "Check which file was replaced. Write the deletes again: compact().";
    DELETE_UNKNOWN_FILE Info "delete-unknown-file":
        "A delete file names a data file that the snapshot does not have.";
        "Remove dangling deletes: repair('dangling-deletes').";
    DELETE_PARTITION Warning "delete-partition":
        "A delete file and the data file that it names are recorded in different partitions.";
        "Write the deletes again: compact().";
    DELETE_KEYS Error "delete-keys":
        "An equality delete file names no key columns, or columns that no schema has.";
        "Restore the deletes, or take the file out: deleted rows come back.";
    DANGLING_DELETE Info "dangling-delete":
        "A delete file deletes no row of any data file.";
        "Remove it: repair('dangling-deletes').";
    SUMMARY_TOTALS Warning "summary-totals":
        "A total in a snapshot's summary differs from the manifests.";
        "repair('summaries') commits a snapshot with the right totals.";
    SUMMARY_ADDED Warning "summary-added":
        "What a snapshot's summary says it added differs from the manifests.";
        "Nothing: the counts of an old commit are history.";
    SMALL_MANIFESTS Info "small-manifests":
        "Many manifests are much smaller than their target size.";
        "Join them: rewrite_manifests().";
    LARGE_METADATA Info "large-metadata":
        "The metadata file is large, and each commit writes it again.";
        "Expire snapshots, and remove old schemas and statistics.";
    MISSING_STATISTICS Info "missing-statistics":
        "Many files have no bounds of a column that the table is sorted or partitioned by.";
        "Rewrite the files, with metrics of the column: write.metadata.metrics.column.<name>=truncate(16).";
    FILE_ORDER Info "file-order":
        "The bounds of a column overlap in most files, so that filters on it skip few files.";
        "Sort the rows: compact(sort_by=...).";
    USELESS_STATISTICS Info "useless-statistics":
        "The bounds of a column are cut to the same text in nearly all files, so that filters on it skip no files.";
        "Keep longer bounds: write.metadata.metrics.column.<name>=truncate(64), then rewrite the files.";
}
