"""Requests that the compiled core takes as JSON: one file for each subject.

No other file builds or reads such JSON. The functions here take Python values, so that a typed request can replace the
JSON without a change elsewhere.

- `rows`: deletes, updates, merges and other changes of rows.
- `evolution`: changes of schemas, specs, properties, branches and tags.
- `maintenance`: expiry, compaction and other maintenance, and the steps that Spark's executors do.
- `schemas`: columns and types.
- `native_reads`: the files that an engine can read by itself.
"""
