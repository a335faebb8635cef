"""Shows what a scan will read, why, and what it will cost, before any data file is opened.

Run: python examples/plan_and_explain.py [FOLDER]. Without a folder, it uses a temporary one.
"""

import datetime as dt
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import frazil as fz
from frazil import col


def main(folder: Path) -> None:
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("web", if_not_exists=True)
    if catalog.table_exists("web.visits"):
        catalog.drop_table("web.visits")  # left by an earlier run

    schema = pa.schema([("id", pa.int64()), ("time", pa.timestamp("us", "UTC")), ("page", pa.string())])
    visits = catalog.create_table("web.visits", schema, partition_by=["day(time)"])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    for day in range(4):  # a commit a day
        rows = [
            {"id": day * 100 + n, "time": start + dt.timedelta(days=day, minutes=n), "page": f"/{n % 10}"}
            for n in range(100)
        ]
        visits.append(pa.Table.from_pylist(rows, schema=schema))

    # Filters are expressions or text: visits.scan("time >= '2026-01-03T00:00:00Z' and id < 250") is the same.
    scan = visits.scan((col("time") >= "2026-01-03T00:00:00Z") & (col("id") < 250))

    # The estimate reads one small file, so you can refuse a plan that would be too large.
    estimate = scan.estimate()
    print(f"Estimate: {estimate.data_manifests} of {estimate.total_manifests} manifests, at most {estimate.rows} rows")

    # The funnel: at each step, how many files were looked at, how many stayed, and what decided.
    print(scan.explain())

    # The files that stay. The residual is the part of the filter that rows must still be tested by.
    for task in scan.plan_files():
        print(f"Read {task.data_file.record_count} rows where {task.residual}")

    # Splits are tasks packed for parallel readers. They pickle: plan in one process, read in others.
    splits = scan.plan()
    print("Splits:", len(splits), "with rows:", [split.to_arrow().num_rows for split in splits])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
