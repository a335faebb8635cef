"""Tries an installed wheel: `python smoke.py README.md [--spark]`. Prints one line about what worked.

Runs the example of the README, then threads that share a table, a scan and a stream,
then a page. With `--spark`, also a Spark job.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

THREADS = 4
ROUNDS = 3


def example(readme: Path) -> None:
    """The first Python example of the README, in the working directory."""
    code = re.search(r"^```python\n(.*?)^```", readme.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert code is not None, "README.md has no Python example"
    exec(compile(code[1], "README.md", "exec"), {"__name__": "__main__"})


def threads() -> None:
    """Threads append to one table at once, and read one scan and one stream of batches."""
    import pyarrow as pa

    import frazil as fz

    catalog = fz.catalog("threads", warehouse="threads")
    catalog.create_namespace("db")
    none = pa.table({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())})
    table = catalog.create_table("db.t", data=none)
    faults: list[BaseException] = []

    def at_once(work: object) -> None:
        def guarded(number: int) -> None:
            try:
                work(number)  # type: ignore[operator]
            except BaseException as fault:
                faults.append(fault)

        running = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        if faults:
            raise faults[0]

    def append(number: int) -> None:
        for turn in range(ROUNDS):
            ids = list(range(1000 * (number * ROUNDS + turn), 1000 * (number * ROUNDS + turn + 1)))
            catalog.load_table("db.t").append(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}))

    at_once(append)
    rows = 1000 * THREADS * ROUNDS
    scan = catalog.load_table("db.t").scan("id >= 0")

    def read(_: int) -> None:
        ids = sorted(scan.to_arrow()["id"].to_pylist())
        assert ids == list(range(rows)), f"{len(ids)} rows instead of {rows}"
        assert scan.count() == rows

    at_once(read)
    batches, found, lock = iter(scan), [], threading.Lock()

    def take(_: int) -> None:
        for batch in batches:
            ids = batch.column(batch.schema.get_field_index("id")).to_pylist()
            with lock:
                found.extend(ids)

    at_once(take)
    assert sorted(found) == list(range(rows)), f"{len(found)} rows of the shared stream instead of {rows}"
    assert table.name


def page() -> None:
    """A page, whose style and script are files of the wheel."""
    import frazil

    text = Path(frazil.open_table("lake/db/events").report("page.html")).read_text("utf-8")
    assert "prefers-color-scheme" in text, "the page has no style"
    assert '"use strict"' in text, "the page has no script"


def spark() -> None:
    """A Spark job that reads and appends."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers need the wheel, too
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    location = str(Path("lake/db/events").resolve())
    frame = session.read.format("frazil").load(location)
    assert sorted(row["id"] for row in frame.where("country is not null").collect()) == [1, 2]
    session.createDataFrame([(4, "DK")], frame.schema).write.format("frazil").mode("append").save(location)
    assert session.read.format("frazil").load(location).count() == 4
    session.stop()


def main() -> None:
    readme = Path(sys.argv[1]).resolve()
    done = ["import", "README"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        import frazil

        example(readme)
        threads()
        page()
        done += ["threads", "page"]
        if "--spark" in sys.argv:
            spark()
            done.append("Spark")
        os.chdir("/")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled(), "the global lock came back with the import of frazil"
        done.append("no global lock")
    core = Path(frazil._core.__file__).name
    print(f"ok: {', '.join(done)} (Python {platform.python_version()}, {core})")


if __name__ == "__main__":
    main()
