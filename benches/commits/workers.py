"""Committers in processes of their own: each reads lines "append TABLE" and "load METADATA_FILE", and
answers with a line of JSON.

    python benches/commits/workers.py (frazil | pyiceberg | json)

An append commits one file that was written before, not timed. Imports are inside the functions, since each worker has
only its own library.
"""

import datetime as dt
import decimal
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What prepares a job, and gives what is timed.
Job = Callable[[str], Callable[[], object]]


def newest_metadata(table: str) -> str:
    """The newest metadata file of a Hadoop table."""
    number = re.compile(r"v(\d+)\.metadata\.json$")
    found = [
        (int(match[1]), str(path)) for path in Path(table, "metadata").iterdir() if (match := number.match(path.name))
    ]
    return max(found)[1]


def row() -> Any:
    """One row of the tables."""
    import pyarrow as pa

    day = dt.datetime(2023, 1, 1, tzinfo=dt.timezone.utc)
    values = {
        "id": (1, pa.int64()),
        "ts": (day, pa.timestamp("us", "UTC")),
        "user_id": (1, pa.int64()),
        "country": ("NO", pa.string()),
        "device": ("phone", pa.string()),
        "url": ("/", pa.string()),
        "amount": (decimal.Decimal("1.00"), pa.decimal128(12, 2)),
        "price": (1.0, pa.float64()),
        "status": (200, pa.int32()),
        "session": ("s", pa.string()),
        "ok": (True, pa.bool_()),
        "dt": (day.date(), pa.date32()),
    }
    required = ("id", "ts", "user_id")
    schema = pa.schema([pa.field(name, type_, name not in required) for name, (_, type_) in values.items()])
    return pa.table({name: [value] for name, (value, _) in values.items()}, schema=schema)


def frazil() -> dict[str, Job]:
    import frazil as fz

    opened: dict[str, fz.Table] = {}

    def append(path: str) -> Callable[[], object]:
        table = opened.setdefault(path, fz.open_table(path))
        message = table.writer().write(row())
        return lambda: table.commit([message])

    return {"append": append, "load": lambda path: lambda: fz.open_table(path)}


def pyiceberg() -> dict[str, Job]:
    """PyIceberg commits to no folder: its commit ends in a new metadata file that nobody publishes."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io.pyarrow import _dataframe_to_data_files
    from pyiceberg.serializers import ToOutputFile
    from pyiceberg.table import CommitTableResponse, StaticTable, Table
    from pyiceberg.table.update import update_table_metadata

    class Unpublished(NoopCatalog):
        def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
            metadata = update_table_metadata(table.metadata, updates)
            path = f"{table.location()}/metadata/bench-{time.time_ns()}.metadata.json.unpublished"
            ToOutputFile.table_metadata(metadata, table.io.new_output(path))
            return CommitTableResponse(metadata=metadata, metadata_location=table.metadata_location)

    def append(path: str) -> Callable[[], object]:
        opened = StaticTable.from_metadata(newest_metadata(path))
        files = list(_dataframe_to_data_files(opened.metadata, row(), opened.io))

        def commit() -> None:
            location = newest_metadata(path)
            table = StaticTable.from_metadata(location)
            newest = Table(("db", "t"), table.metadata, location, table.io, Unpublished("bench"))
            with newest.transaction() as transaction, transaction.update_snapshot().merge_append() as snapshot:
                for file in files:
                    snapshot.append_data_file(file)

        return commit

    return {"append": append, "load": lambda path: lambda: StaticTable.from_metadata(path)}


def plain() -> dict[str, Job]:
    return {"load": lambda path: lambda: json.loads(Path(path).read_bytes())}


ENGINES = {"frazil": frazil, "pyiceberg": pyiceberg, "json": plain}


def answer(jobs: dict[str, Job], line: str) -> dict[str, Any]:
    job, argument = line.split()
    try:
        work = jobs[job](argument)
        started = time.perf_counter()
        kept = work()
        seconds = time.perf_counter() - started
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    del kept
    return {"seconds": seconds}


def main() -> None:
    jobs = ENGINES[sys.argv[1]]()
    for line in sys.stdin:
        print(json.dumps(answer(jobs, line)), flush=True)


if __name__ == "__main__":
    main()
