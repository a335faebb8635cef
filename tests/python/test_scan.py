"""Scans: chain, plan, read."""

from __future__ import annotations

import datetime as dt
import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from conftest import UTC, event_rows
from frazil import col

ROWS = event_rows(0, 200).to_pylist()


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.to_arrow()["id"].to_pylist())


def test_all_rows(events: fz.Table) -> None:
    rows = events.scan().to_arrow().sort_by("id")
    assert rows.schema.names == list(ROWS[0])
    got, want = rows.to_pylist(), ROWS
    for g, w in zip(got, want, strict=True):
        assert {k: v for k, v in g.items() if k != "score"} == {k: v for k, v in w.items() if k != "score"}
        assert math.isnan(g["score"]) == math.isnan(w["score"])
        assert math.isnan(g["score"]) or g["score"] == w["score"]


@pytest.mark.parametrize(
    ("filter", "keep"),
    [
        ("id = 7", lambda r: r["id"] == 7),
        (col("country") == "NO", lambda r: r["country"] == "NO"),
        (col("country") != "NO", lambda r: r["country"] not in ("NO", None)),
        (~(col("country") == "NO"), lambda r: r["country"] not in ("NO", None)),
        (col("country").is_null(), lambda r: r["country"] is None),
        (col("country").not_in(["NO", "SE"]), lambda r: r["country"] == "DK"),
        (col("score").is_nan(), lambda r: math.isnan(r["score"])),
        (col("score") > 90, lambda r: math.isnan(r["score"]) or r["score"] > 90),
        (col("score") == float("nan"), lambda r: math.isnan(r["score"])),
        (col("ts") >= dt.datetime(2023, 1, 5, tzinfo=UTC), lambda r: r["ts"] >= dt.datetime(2023, 1, 5, tzinfo=UTC)),
        (fz.day("ts") == dt.date(2023, 1, 2), lambda r: r["day"] == dt.date(2023, 1, 2)),
        (col("day").between(dt.date(2023, 1, 2), dt.date(2023, 1, 3)), lambda r: r["day"].day in (2, 3)),
        (col("amount") <= 3, lambda r: r["amount"] <= 3),
        (col("payload.a") < 5, lambda r: r["payload"] is not None and r["payload"]["a"] < 5),
        (col("payload", "b").starts_with("b19"), lambda r: (r["payload"] or {"b": ""})["b"].startswith("b19")),
        (col("raw") == b"\x09", lambda r: r["raw"] == b"\x09"),
        (col("ok") == True, lambda r: r["ok"]),  # noqa: E712
        (col("id").is_in([]), lambda r: False),
        ((col("id") < 3) | (col("id") > 197), lambda r: r["id"] < 3 or r["id"] > 197),
    ],
)
def test_filters(events: fz.Table, filter: str | fz.Predicate, keep) -> None:
    want = [r["id"] for r in ROWS if keep(r)]
    assert ids(events.scan(filter)) == want
    assert events.scan(filter).count() == len(want)


def test_the_chain_makes_new_scans(events: fz.Table) -> None:
    scan = events.scan("id < 100")
    narrow = scan.where(col("country") == "NO").select("country", "payload.a").limit(5)
    assert scan.to_arrow().num_columns == 9
    assert ids(scan) == list(range(100))
    rows = narrow.to_arrow()
    assert rows.schema.names == ["country", "payload"]
    assert [f.name for f in rows.schema.field("payload").type] == ["a"]
    assert rows.num_rows == 5
    assert narrow.limit(10).to_arrow().num_rows == 5
    assert narrow.limit(0).to_arrow().num_rows == 0
    assert narrow.select("id").schema.names == ["id"]
    assert narrow.schema.names == ["country", "payload"]
    assert narrow.arrow_schema == rows.schema
    assert "limit 5" in repr(narrow)
    assert fz.Predicate(str(scan.filter)) == scan.filter
    assert ids(events.scan(scan.filter)) == ids(scan)


def test_select_keeps_the_order_asked_for(events: fz.Table) -> None:
    assert events.scan(select=["ok", "id"]).to_arrow().schema.names == ["ok", "id"]
    assert events.scan(select=("ok",)).schema.names == ["ok"]


def test_versions(events: fz.Table) -> None:
    first, second = events.snapshots
    assert events.scan(at=first.id).count() == 100
    assert events.scan(at="main").count() == 200
    assert events.scan(at=second.timestamp).snapshot_id == second.id
    assert events.scan(at=second.timestamp.astimezone()).snapshot_id == second.id
    assert events.scan().snapshot_id == second.id
    with pytest.raises(fz.NotFoundError):
        events.scan(at=12345)
    with pytest.raises(fz.NotFoundError):
        events.scan(at="no such branch")
    with pytest.raises(fz.NotFoundError):
        events.scan(at=dt.datetime(2001, 1, 1, tzinfo=UTC))
    for wrong in (True, 1.5, 2**64, b"main", dt.date(2030, 1, 1)):
        with pytest.raises(fz.InvalidInputError):
            events.scan(at=wrong)
    assert events.scan(since=first.id).count() == events.changes(since=first.id).count() == 100


def test_plan_files(events: fz.Table) -> None:
    tasks = list(events.scan("ts < '2023-01-03T00:00:00Z' and id > 30").plan_files())
    assert {t.data_file.partition["ts_day"] for t in tasks} == {dt.date(2023, 1, 2)}
    for task in tasks:
        file = task.data_file
        path = Path(file.path.removeprefix("file://"))
        assert path.stat().st_size == file.size_bytes
        assert (task.start, task.length) == (0, file.size_bytes)
        assert file.format == "parquet"
        assert file.spec_id == events.partition_spec.id
        assert file.sequence_number == file.file_sequence_number == 1
        assert file.snapshot_id == events.snapshots[0].id
        assert task.deletes == []
        assert str(task.residual) == "id > 30"
        assert isinstance(task.residual, fz.Predicate)
        assert path.name in repr(task)
        assert file == task.data_file
    assert sum(t.data_file.record_count for t in tasks) == 24
    assert [str(t.residual) for t in events.scan("day(ts) = '2023-01-02'").plan_files()] == ["true"]


def test_plan_files_is_an_iterator(events: fz.Table) -> None:
    tasks = events.scan().plan_files()
    assert iter(tasks) is tasks
    first = next(tasks)
    rest = list(tasks)
    assert next(tasks, None) is None
    again = list(events.scan().plan_files())
    assert [first, *rest] == again
    assert len(again) == 10
    assert events.scan(at=events.snapshots[0].id, filter="id < 0").plan_files().__next__ is not None


def test_task_json(events: fz.Table) -> None:
    for task in events.scan("id > 30").plan_files():
        text = task.to_json()
        parsed = json.loads(text)
        assert parsed["data-file"]["file-path"] == task.data_file.path
        twin = fz.ScanTask.from_json(text)
        assert twin.to_json() == text
        assert twin.data_file.path == task.data_file.path
        assert str(twin.residual) == str(task.residual)
    for wrong in ("", "{}", "[]", "null", '{"data-file": {}}'):
        with pytest.raises(fz.FrazilError):
            fz.ScanTask.from_json(wrong)


def test_splits(events: fz.Table) -> None:
    splits = events.scan("id >= 20").plan(split_size_bytes=1, lookback=1, open_file_cost_bytes=0)
    assert len(splits) >= 10
    rows = [r for s in splits for r in s.to_arrow()["id"].to_pylist()]
    assert sorted(rows) == list(range(20, 200))
    one = events.scan("id >= 20").plan()
    assert len(one) == 1
    assert one[0].schema == events.scan("id >= 20").schema
    assert sum(b.num_rows for b in one[0].to_arrow_batch_reader()) == 180
    assert pa.table(one[0]).num_rows == 180
    assert pa.schema(one[0]).names == events.schema.names
    assert fz.Split.from_json(one[0].to_json()) == one[0]
    assert "tasks" in repr(one[0])
    for wrong in ({"split_size_bytes": -1}, {"lookback": 1.5}, {"open_file_cost_bytes": "1"}, {"lookback": True}):
        with pytest.raises(fz.InvalidInputError):
            events.scan().plan(**wrong)


def test_plan_table(events: fz.Table) -> None:
    scan = events.scan("id > 30")
    table = scan.plan_table()
    tasks = list(scan.plan_files())
    assert table.num_rows == len(tasks)
    assert any(c.to_pylist() == [t.data_file.path for t in tasks] for c in table.columns)
    assert events.scan("id < 0").plan_table().schema == table.schema


def test_every_reader_gives_the_same_rows(events: fz.Table) -> None:
    scan = events.scan("country is not null", select=["id", "country"])
    want = scan.to_arrow()
    assert want.num_rows == 150
    by_id = want.sort_by("id")
    assert scan.to_arrow_batch_reader().read_all().sort_by("id") == by_id
    assert pa.table(scan).sort_by("id") == by_id
    assert pa.schema(scan) == want.schema
    assert pa.RecordBatchReader.from_stream(scan).read_all().sort_by("id") == by_id
    assert scan.to_pandas().sort_values("id")["id"].tolist() == by_id["id"].to_pylist()
    assert scan.to_polars().sort("id")["country"].to_list() == by_id["country"].to_pylist()
    assert pl.DataFrame(scan).sort("id")["id"].to_list() == by_id["id"].to_pylist()


def test_an_ordered_stream_is_the_same_each_time(events: fz.Table) -> None:
    want = events.scan().to_arrow()["id"].to_pylist()
    scan = events.scan(options={"batch-rows": "3"})
    for _ in range(5):
        batches = list(scan.to_arrow_batch_reader(ordered=True))
        assert [n for b in batches for n in b["id"].to_pylist()] == want
        assert max(b.num_rows for b in batches) == 3
        assert sorted(n for b in scan.to_arrow_batch_reader() for n in b["id"].to_pylist()) == sorted(want)
        assert scan.limit(17).to_arrow_batch_reader().read_all()["id"].to_pylist() == want[:17]
    split = events.scan().plan()[0]
    for threads in (0, 1, 3):
        assert split.to_arrow_batch_reader(ordered=True, threads=threads).read_all().num_rows == 200
    with pytest.raises(fz.InvalidInputError, match="threads"):
        split.to_arrow_batch_reader(threads=-1)


def test_a_stream_may_be_left_unfinished(events: fz.Table) -> None:
    readers = [events.scan(options={"batch-rows": "1"}).to_arrow_batch_reader() for _ in range(20)]
    assert [reader.read_next_batch().num_rows for reader in readers] == [1] * 20
    del readers
    stream = events.scan()._core.read()
    assert next(stream).num_rows > 0
    assert stream.read_all().num_rows < 200
    with pytest.raises(StopIteration):
        next(stream)


def test_duckdb_reads_a_scan(events: fz.Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan = events.scan("id < 50")  # noqa: F841
    assert duckdb.sql("select sum(id), count(country) from scan").fetchall() == [(1225, 38)]


def test_every_type(every_type: fz.Table) -> None:
    rows = every_type.scan().to_arrow()
    values, nulls = rows.sort_by("i").to_pylist()
    assert set(nulls.values()) == {None}
    assert math.isnan(values.pop("f"))
    assert str(values.pop("d")) == "-0.0"
    assert bytes(getattr(values["u"], "bytes", values["u"]))[-1] == 7
    assert values["s"] == "żółw"
    assert values["fix"] == b"\x00\x01\x02"
    assert values["li"] == [1, None]
    assert values["m"] == [("k", 1.5)]
    assert values["st"] == {"x": 1, "y": None}
    assert values["ts"] == dt.datetime(2023, 1, 1, 12, 30, 0, 5)
    assert values["tstz"] == dt.datetime(1950, 1, 1, tzinfo=UTC)
    assert rows.schema.field("dec").type == pa.decimal128(9, 3)


def test_an_empty_result_has_the_full_schema(events: fz.Table) -> None:
    rows = events.scan("id < 0", select=["id", "payload.b"]).to_arrow()
    assert rows.num_rows == 0
    assert rows.schema.names == ["id", "payload"]
    assert events.scan("id < 0").to_arrow_batch_reader().read_all().num_rows == 0


@pytest.mark.parametrize(
    ("filter", "says"),
    [
        ("nope = 1", "nope"),
        ("id = 'x'", "id"),
        ("id =", "\\^"),
        ("id = 1 and", "\\^"),
        ("payload > 1", "payload"),
        (1, "text or an expression"),
        (True, "text or an expression"),
    ],
)
def test_wrong_filters(events: fz.Table, filter: object, says: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=says):
        events.scan(filter)
    with pytest.raises(fz.InvalidInputError, match=says):
        events.scan().where(filter)


def test_wrong_columns(events: fz.Table) -> None:
    for wrong in (["nope"], "nope", [1], ["payload.nope"], ["id", "id"]):
        with pytest.raises(fz.InvalidInputError):
            events.scan(select=wrong)
    with pytest.raises(fz.InvalidInputError, match="rows must be"):
        events.scan().limit(-1)
    with pytest.raises(fz.InvalidInputError):
        events.scan(options=["a"])


WORDS = ["id", "country", "ts", "payload.a", "(", ")", "and", "or", "not", "in", "is", "null", "nan", "between", "like"]
WORDS += ["=", "!=", "<", "<=", ">", ">=", "1", "-1.5e3", "'x'", "x'00'", "true", "bucket", "truncate", "day", ","]
WORDS += ["starts_with", '"id"', "'"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.text(max_size=30) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_no_text_crashes_a_scan(events: fz.Table, text: str) -> None:
    try:
        scan = events.scan(text)
    except (fz.InvalidInputError, fz.UnsupportedError):
        return
    assert scan.count() == scan.to_arrow().num_rows
    assert events.scan(scan.filter).count() == scan.count()


@given(st.text(max_size=200))
def test_no_text_crashes_from_json(text: str) -> None:
    for cls in (fz.ScanTask, fz.Split, fz.CommitMessage, fz.Schema, fz._core.Table):
        with pytest.raises(fz.FrazilError):
            cls.from_json(text)


def test_a_stream_that_failed_keeps_failing(events: fz.Table) -> None:
    files = sorted(Path(task.data_file.path) for task in events.scan().plan_files())
    files[-1].unlink()
    for ordered in (False, True):
        reader = events.scan().to_arrow_batch_reader(ordered=ordered)
        with pytest.raises(fz.NotFoundError, match=files[-1].name) as failure:
            list(reader)
        for again in (reader.read_next_batch, reader.read_all, reader.read_pandas):
            with pytest.raises(fz.NotFoundError) as same:
                again()
            assert (str(same.value), same.value.context) == (str(failure.value), failure.value.context)
    stream = events._core.scan(filter=None, select=None, options={}).read()
    for _ in range(3):
        with pytest.raises(fz.NotFoundError):
            list(stream)
        with pytest.raises(fz.NotFoundError):
            stream.read_all()
    imported = pa.RecordBatchReader.from_stream(events.scan())
    for _ in range(3):
        with pytest.raises((pa.ArrowException, OSError), match=files[-1].name):
            imported.read_all()


def test_threads_share_a_stream(events: fz.Table) -> None:
    reader = events.scan(options={"batch-rows": "2"}).to_arrow_batch_reader()
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: [i for batch in reader for i in batch.column("id").to_pylist()], range(4))
        assert sorted(i for part in found for i in part) == list(range(200))


def test_arguments_that_only_look_right(events: fz.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = events.scan()
    for read in (scan.to_arrow_batch_reader, scan.plan()[0].to_arrow_batch_reader):
        with pytest.raises(fz.InvalidInputError, match="ordered must be True or False, not 'no'"):
            read(ordered="no")
    for call in (lambda: scan.where("country = '\ud800'"), lambda: scan.select("\ud800")):
        with pytest.raises(fz.InvalidInputError, match="surrogate"):
            call()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name, to in (("pandas", scan.to_pandas), ("polars", scan.to_polars)):
        with pytest.raises(fz.UnsupportedError, match=f"pip install {name}"):
            to()
