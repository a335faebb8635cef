"""What the tests share: a catalog in a temporary folder, a table with some of everything, a Spark session."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

# A shell that starts the tests in the background has them ignore SIGINT, and Python keeps that: Ctrl-C would do
# nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)

UTC = dt.timezone.utc
# Set by `make test-nightly`: all of what `make test` only samples.
NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark's tests come first: their files take minutes, and what takes long shall not be left for one process."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def sequences(few: int, share: int = 1) -> int:
    """How many random sequences of changes a model is tried on: few, or `FRAZIL_MODEL_SEQUENCES` (`make test-nightly`).

    Args:
        few: How many in `make test`.
        share: Parameters of the test, which share the number.
    """
    wanted = os.environ.get("FRAZIL_MODEL_SEQUENCES")
    return -(-int(wanted) // share) if wanted else few


COUNTRIES = ("NO", "SE", "DK", None)


def event_rows(first: int, count: int) -> pa.Table:
    """Rows `first` and following of the table that most tests read."""
    ids = range(first, first + count)
    start = dt.datetime(2023, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "country": pa.array([COUNTRIES[i % 4] for i in ids], pa.string()),
            "ts": pa.array([start + dt.timedelta(hours=i) for i in ids], pa.timestamp("us", tz="UTC")),
            "day": pa.array([(start + dt.timedelta(hours=i)).date() for i in ids], pa.date32()),
            "amount": pa.array([decimal.Decimal(i) / 4 for i in ids], pa.decimal128(12, 2)),
            "score": pa.array([float("nan") if i % 10 == 7 else i / 2 for i in ids], pa.float64()),
            "payload": pa.array(
                [{"a": i, "b": f"b{i}", "tags": [str(i), None]} if i % 5 else None for i in ids],
                pa.struct([("a", pa.int32()), ("b", pa.string()), ("tags", pa.list_(pa.string()))]),
            ),
            "raw": pa.array([bytes([i % 256]) for i in ids], pa.binary()),
            "ok": pa.array([i % 3 == 0 for i in ids], pa.bool_()),
        }
    )


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    cat = fz.catalog("test", warehouse=tmp_path / "warehouse")
    cat.create_namespace("db")
    return cat


@pytest.fixture
def events(catalog: fz.Catalog) -> fz.Table:
    """200 rows in 2 commits, a partition for each day."""
    rows = event_rows(0, 200)
    table = catalog.create_table("db.events", rows.schema, partition_by=["day(ts)"])
    return table.append(rows.slice(0, 100)).append(rows.slice(100))


@pytest.fixture
def every_type(catalog: fz.Catalog) -> fz.Table:
    """A row of values and a row of nulls for every type of format version 2 that Arrow gives."""
    uuids = pa.array([uuid.UUID(int=7).bytes, None], pa.binary(16))
    if hasattr(pa, "uuid"):
        uuids = pa.ExtensionArray.from_storage(pa.uuid(), uuids)
    rows = pa.table(
        {
            "b": pa.array([True, None]),
            "i": pa.array([-7, None], pa.int32()),
            "l": pa.array([2**60, None], pa.int64()),
            "f": pa.array([float("nan"), None], pa.float32()),
            "d": pa.array([-0.0, None], pa.float64()),
            "dec": pa.array([decimal.Decimal("-12.340"), None], pa.decimal128(9, 3)),
            "date": pa.array([dt.date(1969, 12, 31), None]),
            "ts": pa.array([dt.datetime(2023, 1, 1, 12, 30, 0, 5), None], pa.timestamp("us")),
            "tstz": pa.array([dt.datetime(1950, 1, 1, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
            "s": pa.array(["żółw", None]),
            "u": uuids,
            "fix": pa.array([b"\x00\x01\x02", None], pa.binary(3)),
            "bin": pa.array([b"", None], pa.binary()),
            "li": pa.array([[1, None], None], pa.list_(pa.int32())),
            "m": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
            "st": pa.array([{"x": 1, "y": None}, None], pa.struct([("x", pa.int64()), ("y", pa.string())])),
        }
    )
    return catalog.create_table("db.every_type", rows.schema).append(rows)


@pytest.fixture(scope="session")
def spark():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("frazil-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def executors(spark) -> Iterator[None]:
    """Nothing is too small for executors."""
    from frazil.spark.changes.merging import DRIVER_MAX_BYTES, DRIVER_MAX_ROWS

    names = (DRIVER_MAX_ROWS, DRIVER_MAX_BYTES)
    for name in names:
        spark.conf.set(name, "0")
    yield
    for name in names:
        spark.conf.unset(name)
