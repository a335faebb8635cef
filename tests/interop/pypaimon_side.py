"""What pypaimon and pypaimon-rust do to Paimon tables, in an environment of their own: they want an older pyarrow.

`python pypaimon_side.py WAREHOUSE` takes requests from standard input, a JSON object a line, and answers each by one:

- `{"do": "read", "peer": "pypaimon" | "pypaimon-rust", "table": "db.t", "to": FILE}` writes the rows as Arrow IPC;
- `{"do": "write", "table": "db.t", "from": FILE, "overwrite": {...} | null}` commits rows by pypaimon.

An answer is `{}` or `{"error": TEXT}`.
"""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory
from pypaimon_rust.datafusion import PaimonCatalog


def read(catalog: Any, table: str) -> pa.Table:
    """All rows, by either peer: their interfaces are alike."""
    opened = catalog.get_table(table)
    builder = opened.new_read_builder()
    splits = builder.new_scan().plan().splits()
    reader = builder.new_read()
    if hasattr(reader, "to_arrow"):
        return reader.to_arrow(splits)
    batches = reader.read(splits)
    return pa.Table.from_batches(batches)


def write(catalog: Any, table: str, rows: pa.Table, overwrite: dict[str, Any] | None) -> None:
    builder = catalog.get_table(table).new_batch_write_builder()
    if overwrite is not None:
        builder = builder.overwrite(overwrite)
    writer, commit = builder.new_write(), builder.new_commit()
    try:
        writer.write_arrow(rows)
        commit.commit(writer.prepare_commit())
    finally:
        writer.close()
        commit.close()


def answer(warehouse: str, request: dict[str, Any]) -> None:
    options = {"warehouse": warehouse}
    if request["do"] == "write":
        with pa.ipc.open_file(request["from"]) as source:
            rows = source.read_all()
        write(CatalogFactory.create(options), request["table"], rows, request.get("overwrite"))
        return
    catalog = PaimonCatalog(options) if request["peer"] == "pypaimon-rust" else CatalogFactory.create(options)
    rows = read(catalog, request["table"])
    with pa.ipc.new_file(request["to"], rows.schema) as sink:
        sink.write_table(rows)


def main() -> None:
    warehouse = str(Path(sys.argv[1]))
    for line in sys.stdin:
        try:
            answer(warehouse, json.loads(line))
            print(json.dumps({}), flush=True)
        except Exception:
            print(json.dumps({"error": traceback.format_exc()}), flush=True)


if __name__ == "__main__":
    main()
