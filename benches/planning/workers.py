"""Planners in processes of their own: each reads lines "TABLE FILTER" and answers with a line of JSON.

    python benches/planning/workers.py (frazil | frazil-table | frazil-tasks | frazil-cached | pyiceberg | duckdb)

A plan is cold: the table is opened again and everything is read from its metadata file to the last task. Imports are
not timed. Imports are inside the functions, since each worker has only its own library.
"""

import glob
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from filters import TEXT

Plan = Callable[[str, str], tuple[int, int | None]]


def newest_metadata(table: str) -> str:
    """The newest metadata file of a Hadoop table."""
    number = re.compile(r"/v(\d+)\.metadata\.json$")
    found = [(int(match[1]), path) for path in glob.glob(f"{table}/metadata/*") if (match := number.search(path))]
    return max(found)[1]


def frazil() -> Plan:
    import frazil as fz

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        return fz.open_table(table).scan(TEXT[filter])._core.count_files(), None

    return plan


def frazil_table() -> Plan:
    import pyarrow  # noqa: F401 - Frazil imports it with its first table

    import frazil as fz

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        return fz.open_table(table).scan(TEXT[filter]).plan_table().num_rows, None

    return plan


def frazil_tasks() -> Plan:
    import frazil as fz

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        tasks = deletes = 0
        for task in fz.open_table(table).scan(TEXT[filter]).plan_files():
            tasks += 1
            deletes += len(task.deletes)
        return tasks, deletes

    return plan


def frazil_cached() -> Plan:
    import frazil as fz

    options = {"plan-cache": tempfile.mkdtemp(prefix="frazil-plan-cache-")}

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        return fz.open_table(table).scan(TEXT[filter], options=options)._core.count_files(), None

    return plan


def pyiceberg() -> Plan:
    from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan
    from pyiceberg.table import StaticTable

    expressions = {
        "none": AlwaysTrue(),
        "day": And(GreaterThanOrEqual("ts", "2023-01-10T00:00:00+00:00"), LessThan("ts", "2023-01-11T00:00:00+00:00")),
        "metrics": GreaterThan("price", 1450.0),
        "mixed": And(
            In("country", ["NO", "SE"]), GreaterThanOrEqual("ts", "2023-01-01T00:00:00+00:00"), EqualTo("status", 404)
        ),
    }

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        tasks = deletes = 0
        scan = StaticTable.from_metadata(newest_metadata(table)).scan(row_filter=expressions[filter])
        for task in scan.plan_files():
            tasks += 1
            deletes += len(task.delete_files)
        return tasks, deletes

    return plan


def duckdb() -> Plan:
    """DuckDB has no plan to ask for: `explain` binds the scan, which reads manifests, and gives no count of tasks."""
    import duckdb as db
    import duckdb_extension_avro
    import duckdb_extension_iceberg

    connection = db.connect(config={"allow_unsigned_extensions": "true"})
    for package in (duckdb_extension_avro, duckdb_extension_iceberg):
        folder = os.path.dirname(package.__file__ or "")
        (file,) = glob.glob(f"{folder}/extensions/*/*.duckdb_extension")
        connection.execute(f"load '{file}'")

    def plan(table: str, filter: str) -> tuple[int, int | None]:
        where = f" where {TEXT[filter]}" if TEXT[filter] else ""
        query = f"explain select count(id) from iceberg_scan('{newest_metadata(table)}'){where}"
        connection.execute(query).fetchall()
        return -1, None

    return plan


ENGINES: dict[str, Callable[[], Plan]] = {
    "frazil": frazil,
    "frazil-table": frazil_table,
    "frazil-tasks": frazil_tasks,
    "frazil-cached": frazil_cached,
    "pyiceberg": pyiceberg,
    "duckdb": duckdb,
}


def answer(plan: Plan, table: str, filter: str) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        tasks, deletes = plan(table, filter)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return {"seconds": time.perf_counter() - started, "tasks": tasks, "deletes": deletes}


def main() -> None:
    plan = ENGINES[sys.argv[1]]()
    for line in sys.stdin:
        table, filter = line.split()
        print(json.dumps(answer(plan, table, filter)), flush=True)


if __name__ == "__main__":
    main()
