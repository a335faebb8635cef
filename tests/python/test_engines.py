"""Scans in Polars, DuckDB, DataFusion, Daft, Ray and PyTorch: right rows, and only what a query needs is read.

Libraries that are not installed are skipped, except for the small interfaces that doubles stand for.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import frazil as fz

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("g", pa.string()),
        ("x", pa.float64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("s", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("a.b", pa.int64()),
    ]
)
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": ids,
            "g": [None if i % 10 == 3 else f"g{i % 7}" for i in ids],
            "x": [float("nan") if i % 5 == 0 else i / 2 for i in ids],
            "ts": [FIRST + dt.timedelta(hours=i) for i in ids],
            "s": [{"a": i, "b": "t"} for i in ids],
            "a.b": [i * 2 for i in ids],
        },
        schema=SCHEMA,
    )


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    """Five files of 100 rows. Row 7 is deleted."""
    made = catalog.create_table("db.t", SCHEMA, properties={"write.delete.mode": "merge-on-read"})
    for number in range(5):
        made.append(rows(number * 100, 100))
    return made.delete("id = 7")


IDS = [i for i in range(500) if i != 7]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[fz.Scan]:
    """The scans that were read."""
    seen: list[fz.Scan] = []
    read = fz.Scan.to_arrow_batch_reader

    def remembered(self: fz.Scan, **options: Any) -> pa.RecordBatchReader:
        seen.append(self)
        return read(self, **options)

    monkeypatch.setattr(fz.Scan, "to_arrow_batch_reader", remembered)
    return seen


def takes_foreign_filters() -> bool:
    """Whether scans translate expressions of pyarrow and Polars."""
    try:
        fz.catalog(type="memory")
        from frazil.interop import filters  # noqa: F401
    except ImportError:
        return False
    return True


# ---------------------------------------------------------------- Polars

pl = pytest.importorskip("polars")


def test_polars_reads_lazily(table: fz.Table, asked: list[fz.Scan]) -> None:
    scan = table.scan()
    lazy = scan.to_polars(lazy=True)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == scan.to_polars().schema
    assert not asked
    assert lazy.collect().sort("id").equals(scan.to_polars().sort("id"))
    got = lazy.filter(pl.col("id") > 450, pl.col("g") == "g1").select("s", (pl.col("id") * 10).alias("ten")).collect()
    wanted = [i for i in IDS if i > 450 and i % 7 == 1 and i % 10 != 3]
    assert sorted(got["ten"].to_list()) == [i * 10 for i in wanted]
    assert got.columns == ["s", "ten"]
    assert set(asked[-1].schema.names) == {"s", "id", "g"}
    if takes_foreign_filters():
        assert "id > 450" in str(asked[-1].filter)
        assert len(list(asked[-1].plan_files())) == 1


def test_polars_reads_no_more_rows_than_it_needs(table: fz.Table, asked: list[fz.Scan]) -> None:
    lazy = table.scan().to_polars(lazy=True)
    assert lazy.head(3).collect().height == 3
    assert asked[-1].row_limit == 3
    # The limit comes first, then the filter, and the other way round.
    assert lazy.head(20).filter(pl.col("id") < 0).collect().height == 0
    assert lazy.filter(pl.col("id") >= 490).head(4).collect()["id"].to_list() == [490, 491, 492, 493]
    assert lazy.select(pl.len()).collect().item() == 499
    limited = table.scan().limit(20).to_polars(lazy=True)
    assert limited.filter(pl.col("id") >= 20).collect().height <= 20
    assert limited.collect().height == 20
    assert limited.filter(pl.lit(True)).collect().height == 20


def test_what_polars_asks_and_no_scan_can_do(table: fz.Table) -> None:
    lazy = table.scan("id < 300").to_polars(lazy=True)
    # Arithmetic, functions, other columns, NaN (Polars: the greatest number), names with dots.
    questions = [
        (pl.col("id") % 7 == 1) & (pl.col("id") < 100),
        pl.col("g").str.to_uppercase() == "G1",
        pl.col("g").is_null() | pl.col("g").is_in(["g1", "g2"]),
        pl.col("x").is_nan() & pl.col("id").is_between(10, 200),
        pl.col("x") > 30,
        pl.col("x") != 10.5,
        ~(pl.col("g") == "g1"),
        pl.col("a.b") == 40,
        pl.col("s").struct.field("a") == 44,
        pl.col("ts") < FIRST + dt.timedelta(hours=30),
        pl.col("id").cast(pl.Int32) == 5,
        pl.col("id") * 2 == pl.col("a.b"),
    ]
    whole = table.scan("id < 300").to_polars().sort("id")
    for question in questions:
        wanted = whole.filter(question)
        assert lazy.filter(question).collect().sort("id").equals(wanted), str(question)
        assert lazy.filter(question).select("id").collect().sort("id").equals(wanted.select("id")), str(question)


def test_polars_sees_types_alike(catalog: fz.Catalog) -> None:
    types = {"u": pa.uuid(), "f": pa.binary(3), "d": pa.date32(), "t": pa.time64("us"), "n": pa.decimal128(9, 2)}
    schema = pa.schema(types)
    table = catalog.create_table("db.types", schema)
    whole = table.scan().to_polars()
    assert table.scan().to_polars(lazy=True).collect().schema == whole.schema
    assert table.scan().to_polars(lazy=True).collect().height == 0


# ---------------------------------------------------------------- pyarrow's data sets and DuckDB


def test_data_sets_of_pyarrow(table: fz.Table, asked: list[fz.Scan]) -> None:
    dataset = table.scan().to_arrow_dataset()
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema.names == SCHEMA.names
    assert dataset.count_rows() == 499
    got = dataset.to_table(columns=["id"], filter=(ds.field("id") > 480) & (ds.field("g") == "g2"))
    assert sorted(got["id"].to_pylist()) == [i for i in IDS if i > 480 and i % 7 == 2 and i % 10 != 3]
    assert set(asked[-1].schema.names) == {"id", "g"}
    assert dataset.to_table(columns={"n": pc.field("s", "a") + 1}, filter=ds.field("id") == 8)["n"].to_pylist() == [9]
    assert asked[-1].schema.names == ["id", "s"]
    assert dataset.filter(ds.field("id") < 10).count_rows(ds.field("id") > 5) == 3
    assert dataset.head(2).num_rows == 2
    assert sum(batch.num_rows for batch in dataset.to_batches(batch_size=50)) == 499
    read = [fragment.scanner(columns=["id"]).to_table() for fragment in dataset.get_fragments(ds.field("id") < 50)]
    assert sorted(pa.concat_tables(read)["id"].to_pylist()) == [i for i in range(50) if i != 7]
    limited = table.scan().limit(5).to_arrow_dataset()
    assert limited.count_rows() == 5
    assert limited.to_table(filter=ds.field("id") >= 5).num_rows <= 5
    with pytest.raises(TypeError, match="unexpected argument 'rows'"):
        dataset.to_table(rows=5)
    assert "ScanDataset(Scan(" in repr(dataset)


def test_duckdb_reads_what_it_needs(table: fz.Table, asked: list[fz.Scan]) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    relation = table.scan().to_duckdb(connection)
    connection.register("events", table.scan().to_arrow_dataset())
    wanted = [i for i in IDS if i >= 480 and i % 7 == 2 and i % 10 != 3]
    assert relation.filter("id >= 480 and g = 'g2'").project("id").order("id").fetchall() == [(i,) for i in wanted]
    assert set(asked[-1].schema.names) <= {"id", "g"}
    if takes_foreign_filters():
        assert len(list(asked[-1].plan_files())) == 1
    query = "select count(*), sum(s.a) from events where id < 20 or id = 499"
    assert connection.sql(query).fetchall() == [(20, sum(i for i in range(20) if i != 7) + 499)]
    # It is read again, by both sides of a join.
    joined = "select count(*) from events l join events r on l.id + 1 = r.id where l.g is not null and r.x > 100"
    known = [i for i in IDS if i + 1 in IDS and i % 10 != 3 and ((i + 1) / 2 > 100 or (i + 1) % 5 == 0)]
    assert connection.sql(joined).fetchall() == [(len(known),)]
    moment = "select id from events where ts = timestamptz '2026-01-01 05:00:00+00'"
    assert connection.sql(moment).fetchall() == [(5,)]
    assert table.scan("id < 3").to_duckdb().order("id").project("id").fetchall() == [(0,), (1,), (2,)]


def test_datafusion_reads_data_sets(table: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_dataset("events", table.scan().to_arrow_dataset())
    columns: set[str] = set()
    read = fz.Split.to_arrow_batch_reader
    monkeypatch.setattr(
        fz.Split, "to_arrow_batch_reader", lambda self, **o: columns.update(self.schema.names) or read(self, **o)
    )
    (batch,) = context.sql("select count(*) as n, sum(id) as s from events where id >= 100 and g = 'g1'").collect()
    wanted = [i for i in IDS if i >= 100 and i % 7 == 1 and i % 10 != 3]
    assert batch.to_pylist() == [{"n": len(wanted), "s": sum(wanted)}]
    assert columns == {"id", "g"}


def test_datafusion_frames(table: fz.Table) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    data = table.scan("id < 10", select=["id", "g", "x"]).to_arrow_dataset()
    assert sorted(context.read_table(data).to_pydict()["id"]) == [i for i in range(10) if i != 7]
    context.register_table("events", data)
    query = "select count(*) as n from events where g is null or id in (1, 2)"
    assert context.sql(query).to_pydict() == {"n": [3]}
    # A data set has the version of its scan.
    table.append(table.scan("id = 1"))
    assert context.sql("select count(*) as n from events").to_pydict() == {"n": [9]}
    context.deregister_table("events")
    context.register_dataset("events", table.scan("id < 10").to_arrow_dataset())
    assert context.sql("select count(*) as n from events").to_pydict() == {"n": [10]}


def test_nan_in_datafusion(catalog: fz.Catalog) -> None:
    """Filters of data sets are pyarrow's, in which NaN is neither above a number nor equal to itself."""
    datafusion = pytest.importorskip("datafusion")
    rows = pa.table({"id": [1, 2, 3], "x": [2.0, None, float("nan")]})
    table = catalog.create_table("db.nan", data=rows)
    context = datafusion.SessionContext()
    context.register_dataset("nans", table.scan().to_arrow_dataset())
    assert context.sql("select id from nans where x > 1").to_pydict() == {"id": [1]}
    assert context.sql("select id from nans where x <> 2").to_pydict() == {"id": [3]}


# ---------------------------------------------------------------- workers


def test_splits_for_workers(table: fz.Table) -> None:
    scan = table.scan()
    for n in (1, 2, 3, 5, 8, 1000):
        splits = scan.plan(n=n)
        assert 1 <= len(splits) <= n
        assert sorted(i for split in splits for i in split.to_arrow()["id"].to_pylist()) == IDS
        assert sum(split.row_count for split in splits) == 500
        assert splits == scan.plan(n=n)
    # Five files of one size: nobody has more than one file more than another.
    assert sorted(split.row_count for split in scan.plan(n=2)) == [200, 300]
    assert [split.row_count for split in scan.plan(n=5)] == [100] * 5
    assert sum(split.size_bytes for split in scan.plan(n=3)) == sum(split.size_bytes for split in scan.plan())
    assert table.scan("id < 0").plan(n=4) == []
    with pytest.raises(fz.InvalidInputError, match="n must be 1 or above"):
        scan.plan(n=0)
    with pytest.raises(fz.InvalidInputError, match="combined"):
        scan.plan(1 << 20, n=2)


def test_splits_of_one_large_file(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = catalog.create_table("db.large", schema, properties={"write.parquet.row-group-size-bytes": 1024})
    table.append(pa.table({"id": range(100_000)}, schema=schema))
    (whole,) = table.scan().plan()
    assert whole.row_count == 100_000
    splits = table.scan().plan(n=3)
    sizes = [split.size_bytes for split in splits]
    if len(whole.tasks[0].data_file.split_offsets or []) > 12:
        assert len(splits) == 3
        assert max(sizes) < 1.5 * min(sizes)
        assert abs(sum(split.row_count for split in splits) - 100_000) <= sum(len(split.tasks) for split in splits)
    assert sorted(i for split in splits for i in split.to_arrow()["id"].to_pylist()) == list(range(100_000))


@pytest.mark.parametrize("way", [None, "fork", "spawn", "forkserver"])
@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_torch_workers_share_the_rows(table: fz.Table, catalog: fz.Catalog, form: str, way: str | None) -> None:
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    if form == "paimon":
        table = catalog.create_table("db.p", data=table.scan("id < 200"), format="paimon")
        table.append(rows(200, 300))
    scan = table.scan(select=["id", "g", "x", "ts"])
    assert scan.count() == 499  # this process has threads before it forks
    dataset = scan.to_torch(batch_rows=30)
    keeps = {"multiprocessing_context": way, "persistent_workers": True} if way else {}
    loader = DataLoader(dataset, batch_size=None, num_workers=2 if way else 0, **keeps)
    table.append(rows(500, 10))  # the data set keeps its version
    for _epoch in range(2):
        batches = list(loader)
        assert sorted(i for batch in batches for i in batch["id"].tolist()) == IDS
        assert max(len(batch["id"]) for batch in batches) <= 30


def test_torch_tensors(table: fz.Table) -> None:
    torch = pytest.importorskip("torch")
    batch = next(iter(table.scan("id = 12").to_torch()))
    assert batch["x"].tolist() == [6.0]
    assert batch["g"] == ["g5"]
    assert batch["ts"].tolist() == [int(FIRST.timestamp() * 1_000_000) + 12 * 3_600_000_000]
    assert (batch["x"].dtype, batch["id"].dtype) == (torch.float64, torch.int64)


def test_ray_reads_splits(table: fz.Table) -> None:
    ray = pytest.importorskip("ray")
    from frazil.interop.ray_source import ScanDatasource

    tasks = ScanDatasource(table.scan(select=["id"])).get_read_tasks(3)
    assert len(tasks) == 3
    read = [block for task in tasks for block in task()]
    assert sorted(i for block in read for i in block["id"].to_pylist()) == IDS
    assert ray.__version__


def test_daft_reads_splits(table: fz.Table) -> None:
    daft = pytest.importorskip("daft")
    frame = table.scan().to_daft()
    got = frame.where(daft.col("id") >= 490).select("id").sort("id").to_pydict()
    assert got == {"id": list(range(490, 500))}
    assert table.scan().limit(5).to_daft().count_rows() == 5


@pytest.mark.parametrize("library", ["daft", "ray", "torch", "duckdb", "polars"])
def test_missing_libraries_are_named(table: fz.Table, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == library else find(name))
    call = getattr(table.scan(), f"to_{library}")
    with pytest.raises(fz.UnsupportedError, match=f"{library} is not installed"):
        call()


def test_nothing_else_is_imported(table: fz.Table, tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        f"import frazil as fz, sys; t = fz.open_table({table.location!r}); t.scan().to_arrow(); t._repr_html_(); "
        "heavy = ('polars', 'duckdb', 'torch', 'ray', 'daft', 'pandas', 'pyarrow.dataset'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
