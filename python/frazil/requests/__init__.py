"""Requests to the compiled core.

Requests and answers are typed values of the core. JSON is only for what travels between processes.

- `rows`: changes of rows. `Table.change_rows`, `write_delta`, `commit_overwrite`, `check_overwrite`, `change_files`,
  `write_file_part`, `write_matched_part`, `commit_parts`, and `Transaction.change_rows`.
- `evolution`: changes of schemas, specs, properties, branches and tags. `Table.evolve` and `Transaction.evolve`.
- `maintenance`: expiry, compaction and others, and the steps that Spark's executors do. `Table.maintain` and
  `MaintenanceParts`.
- `new_table`: what a new table is like. `Catalog.create_table`, `begin_table`, `replace_table` and `begin_replacement`.
- `native_reads`: the files that an engine can read by itself. `Scan.native_read`.

`handle` is the table that requests move to its new version.
"""
