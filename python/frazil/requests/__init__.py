"""Requests to the compiled core. Each file here wraps the functions of the core that take or return JSON.

No other file builds or reads such JSON. The functions here take Python values, so that a typed request can replace the
JSON without a change elsewhere.

- `rows`: changes of rows. `Table.change_rows`, `write_delta`, `commit_overwrite`, `check_overwrite`, `change_files`,
  `write_part`, `commit_parts`, and `Transaction.change_rows`.
- `evolution`: changes of schemas, specs, properties, branches and tags. `Table.evolve` and `Transaction.evolve`.
- `maintenance`: expiry, compaction and others, and the steps that Spark's executors do. `Table.maintain`.
- `schemas`: columns and types. `Schema.to_json`.
- `native_reads`: the files that an engine can read by itself. `Scan.hand_over`.

`handle` is the table that requests move to its new version.
"""
