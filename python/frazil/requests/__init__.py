"""Requests to the compiled core.

Changes of rows and of metadata are typed values of the core. Maintenance and some answers are still JSON, which only
files here build and read.

- `rows`: changes of rows. `Table.change_rows`, `write_delta`, `commit_overwrite`, `check_overwrite`, `change_files`,
  `write_file_part`, `write_matched_part`, `commit_parts`, and `Transaction.change_rows`.
- `evolution`: changes of schemas, specs, properties, branches and tags. `Table.evolve` and `Transaction.evolve`.
- `maintenance`: expiry, compaction and others, and the steps that Spark's executors do. `Table.maintain`.
- `schemas`: columns and types. `Schema.to_json`.
- `native_reads`: the files that an engine can read by itself. `Scan.hand_over`.

`handle` is the table that requests move to its new version.
"""
