"""Writes the small Paimon tables of tests/data/paimon that the Python tests read, with what Java makes of them.

Run as a script, with the Python of the interop tests; the tables' files have new names each time.
"""

import datetime as dt
import json
import shutil
import tempfile
from pathlib import Path

from paimon_java import Paimon, PaimonTable, row
from pyspark.sql import SparkSession
from runtime_jar import paimon_jar

DATA = Path(__file__).parent.parent / "data" / "paimon"
NOON = dt.datetime(2024, 1, 1, 12)


def orders(paimon: Paimon) -> PaimonTable:
    """Rows that are only appended: partitions, deletion vectors, a tag, a branch, a struct, a narrow integer."""
    columns = {
        "id": "INT",
        "country": "STRING",
        "pieces": "TINYINT",
        "note": "STRING",
        "at": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "place": row(x="INT", street="STRING"),
    }
    options = {"deletion-vectors.enabled": "true", "manifest.compression": "null"}
    table = paimon.create("orders", columns, partitioned_by=["country"], options=options)
    for start in (0, 10, 20):
        table.write(
            [
                (
                    i,
                    ["no", "se", None][i % 3],
                    i % 5,
                    f"note {i}" if i % 4 else None,
                    NOON + dt.timedelta(hours=i),
                    {"x": i, "street": f"street {i}"} if i % 7 else None,
                )
                for i in range(start, start + 10)
            ],
            watermark=1_700_000_000_000 + start,
        )
    table.load().createTag("two", 2)
    table.delete_positions([1])
    table.load().createBranch("side", "two")
    table.write([(100, "no", 1, "of the branch", NOON, None)], branch="side")
    return table


def accounts(paimon: Paimon) -> PaimonTable:
    """Rows that have to be merged by key, and a change log."""
    columns = {"id": "INT NOT NULL", "name": "STRING", "balance": "DECIMAL(12, 2)"}
    options = {"bucket": 1, "changelog-producer": "input", "write-only": "true", "manifest.compression": "deflate"}
    table = paimon.create("accounts", columns, ["id"], options=options)
    table.write([(i, f"a{i}", i) for i in range(8)])
    table.write([(i, f"b{i}", i + 100) for i in range(4, 12)])
    table.write([(2, None, None), (5, "c5", 0)], ["-D", "+U"])
    return table


def main() -> None:
    jars = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", str(paimon_jar()))
        .config("spark.ui.enabled", "false")
    )
    spark = jars.config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        paimon = Paimon(spark, Path(folder))
        for make in (orders, accounts):
            table = make(paimon)
            to = DATA / make.__name__
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(table.root, to)
            rows = {f"at {s}": table.read(options={"scan.snapshot-id": s}).rows for s in (1, 2, 3)}
            rows["now"] = table.read().rows
            told = {name: sorted(found.column("id").to_pylist()) for name, found in rows.items()}
            told["rows"] = rows["now"].to_pylist()
            (to / "java.json").write_text(json.dumps(told, default=str) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
