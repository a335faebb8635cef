"""Verdicts on files and statistics agree with what planning and reading do, for random tables and filters."""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("name", pa.string()),
        ("score", pa.float64()),
        ("day", pa.date32()),
        ("box", pa.struct([("a", pa.int64()), ("tags", pa.list_(pa.string()))])),
    ]
)
DAYS = [dt.date(1969, 12, 30) + dt.timedelta(days=n) for n in range(5)]
LONG = "a long text that writers cut"
ROW = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-3, 6),
        "name": st.none() | st.sampled_from(["", "a", "ab", LONG, LONG + "!", "ż"]),
        "score": st.none() | st.sampled_from([math.nan, -0.0, 0.0, 1.5, -math.inf, math.inf]),
        "day": st.none() | st.sampled_from(DAYS),
        "box": st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 3), "tags": st.just(["x"])}),
    }
)
COMMITS = st.lists(st.lists(ROW, min_size=1, max_size=6), max_size=3)
SPECS = st.sampled_from(
    [[], ["day"], ["name"], ["bucket(3, id)"], ["truncate(2, id)"], ["month(day)", "score"], ["truncate(3, name)"]]
)
CLAUSES = st.sampled_from(
    [
        "id < 2",
        "id = 3",
        "id != 1",
        "id in (-3, 5)",
        "id is null",
        "name = 'a'",
        f"name > '{LONG}'",
        "not starts_with(name, 'a')",
        "starts_with(name, 'a l')",
        "score is nan",
        "score >= 0.0",
        "day >= '1970-01-01'",
        "month(day) = '1969-12'",
        "bucket(3, id) = 1",
        "box.a = 2 or id = 5",
        "box is not null",
        "score < 100 and id is not null",
    ]
)
FILTERS = st.lists(CLAUSES, max_size=2).map(" and ".join)
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def table_of(commits: list[list[dict[str, Any]]], spec: list[str], folder: str) -> fz.Table:
    catalog = fz.catalog("random", warehouse=Path(folder))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, partition_by=spec)
    for rows in commits:
        table.append(pa.Table.from_pylist(rows, SCHEMA))
    return table


def check_files(scan: fz.Scan) -> None:
    """What the explanation keeps is what planning keeps, in the same order, and everything else is accounted for."""
    explain = scan.explain(files=True)
    files = explain.files.to_pylist()
    data = [f for f in files if f["content"] == "data"]
    tasks = list(scan.plan_files())
    assert [f["file_path"] for f in data if f["kept"]] == [t.data_file.path for t in tasks]
    assert [f["deletes"] for f in data if f["kept"]] == [len(t.deletes) for t in tasks]
    for file in files:
        assert file["kept"] == (file["stage"] == "kept")
        assert file["reason"], file
    reached = {d.path for t in tasks for d in t.deletes}
    assert {f["file_path"] for f in files if f["content"] != "data" and f["kept"]} == reached
    facts = explain.to_dict()
    kept = [m for m in explain.manifests.to_pylist() if m["kept"] and m["content"] == "data"]
    stages = {stage["name"]: stage for stage in facts["stages"]}
    assert stages["partition summaries"]["kept"] == len(kept)
    assert stages["column metrics"]["kept"] == len(tasks)
    assert facts == {**facts, **{k: v for k, v in scan.explain().to_dict().items() if k not in ("stages", "time_ms")}}


def smallest(values: list[Any]) -> Any:
    """The least value as SQL orders them: NaN above all."""
    ordinary = [v for v in values if v == v]
    return min(ordinary) if ordinary else values[0]


def largest(values: list[Any]) -> Any:
    nans = [v for v in values if v != v]
    return nans[0] if nans else max(values)


def same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


def check_statistics(scan: fz.Scan, rows: pa.Table | None = None) -> int:
    """Exact figures are true and the others bound the truth. How many were exact."""
    rows = scan.to_arrow() if rows is None else rows
    said = scan.statistics()
    exact = [said.row_count]
    assert rows.num_rows == said.row_count.value if said.row_count.exact else rows.num_rows <= said.row_count.value
    for name, column in said.columns.items():
        array = rows
        for part in name.split("."):
            array = array.column(part) if isinstance(array, pa.Table) else pc.struct_field(array, part)
        values = array.to_pylist()
        there = [v for v in values if v is not None]
        true = {"nulls": len(values) - len(there), "nans": sum(1 for v in there if v != v)}
        for fact, truth in ((column.null_count, true["nulls"]), (column.nan_count, true["nans"])):
            assert fact.value == truth if fact.exact else fact.value >= truth, (name, fact, truth)
        assert column.value_count == said.row_count
        if not there:
            assert not column.min.exact or column.min.value is None, (name, column)
            assert not column.max.exact or column.max.value is None, (name, column)
        else:
            low, high = smallest(there), largest(there)
            if column.min.exact:
                assert same(column.min.value, low), (name, column, low)
            elif column.min.value is not None:
                assert smallest([column.min.value, low]) == column.min.value or same(column.min.value, low)
            if column.max.exact:
                assert same(column.max.value, high), (name, column, high)
            elif column.max.value is not None:
                assert same(largest([column.max.value, high]), column.max.value), (name, column, high)
        exact += [column.min, column.max, column.null_count]
    return sum(fact.exact for fact in exact)


@FEW
@given(commits=COMMITS, spec=SPECS, filter=FILTERS)
def test_files_agree_with_planning(commits: list[list[dict[str, Any]]], spec: list[str], filter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_files(table_of(commits, spec, folder).scan(filter or None))


@FEW
@given(commits=COMMITS, spec=SPECS, filter=FILTERS, limit=st.none() | st.integers(0, 4))
def test_statistics_hold(commits: list[list[dict[str, Any]]], spec: list[str], filter: str, limit: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scan = table_of(commits, spec, folder).scan(filter or None)
        scan = scan if limit is None else scan.limit(limit)
        check_statistics(scan)
        assert scan.count() == scan.to_arrow().num_rows


def test_what_is_said_of_files(events: fz.Table) -> None:
    scan = events.scan("ts < '2023-01-02T00:00:00Z' and id > 3 and score > 100")
    files = scan.explain(files=True).files
    by_stage = {row["stage"]: row for row in files.to_pylist()}
    assert by_stage["partition summaries"]["reason"] == (
        "ts < '2023-01-02T00:00:00+00:00': lower bound '2023-01-05T00:00:00+00:00'"
    )
    assert by_stage["partition tuples"]["reason"].startswith("ts < '2023-01-02T00:00:00+00:00': lower bound ")
    # Half the rows of a file have a score, and NaN is above 100.
    kept = by_stage["kept"]
    assert kept["reason"] == "left: id > 3 and score > 100.0"
    assert kept["partition"] == "ts_day=2023-01-01"
    low = events.scan("id < 0 and ts < '2023-01-02T00:00:00Z'").explain(files=True).files.to_pylist()
    assert [f["reason"] for f in low if f["stage"] == "column metrics"] == ["id < 0: lower bound 0"]


def test_files_must_be_asked_for(events: fz.Table) -> None:
    with pytest.raises(fz.InvalidInputError, match="files=True"):
        _ = events.scan().explain().files


def test_statistics_of_a_table(events: fz.Table) -> None:
    said = events.scan().statistics()
    assert said.row_count == (200, True)
    assert said["id"].min == (0, True)
    assert said["id"].max == (199, True)
    assert said["country"].null_count == (50, True)
    assert said["country"].max == ("SE", False)
    assert math.isnan(said["score"].max.value)
    assert said["score"].nan_count == (20, True)
    assert said["score"].min == (0.0, True)
    assert said["payload.a"].null_count == (40, True)
    assert "payload.tags" not in said.columns
    some = events.scan("ts >= '2023-01-03T00:00:00Z'").statistics("id", "payload")
    assert list(some.columns) == ["id", "payload.a", "payload.b"]
    assert some.row_count == (152, True)
    assert some["id"].min == (48, True)
    part = events.scan("id >= 50").statistics("id")
    assert part.row_count == (152, False)
    assert part["id"].min == (24 * 2, False)
    assert part["id"].max == (199, True)
    assert str(part).startswith("≤ 152 rows in 8 files\n\n  column  min")
    assert part.to_dict()["columns"]["id"]["max"] == {"value": 199, "exact": True}


def test_statistics_of_a_limit(events: fz.Table) -> None:
    some = events.scan().limit(10).statistics("id", "ok")
    assert some.row_count == (10, True)
    assert some["id"].min == (0, False)
    assert some["id"].null_count == (0, True)
    none = events.scan().limit(0).statistics("id")
    assert none.row_count == (0, True)
    assert none["id"].max == (None, True)


def test_columns_without_statistics(events: fz.Table) -> None:
    with pytest.raises(fz.InvalidInputError, match="no statistics"):
        events.scan().statistics("payload.tags")
    with pytest.raises(fz.InvalidInputError, match="no column"):
        events.scan().statistics("nope")


def test_statistics_of_every_type(every_type: fz.Table) -> None:
    scan = every_type.scan()
    assert check_statistics(scan) > 30
    assert scan.statistics("tstz")["tstz"].min == (dt.datetime(1950, 1, 1, tzinfo=dt.timezone.utc), True)


def test_statistics_of_an_empty_table(catalog: fz.Catalog) -> None:
    said = catalog.create_table("db.none", SCHEMA).scan().statistics()
    assert said.row_count == (0, True)
    assert said["id"].min == (None, True)


def test_long_filters_are_cut_in_reasons(events: fz.Table) -> None:
    scan = events.scan(f"id in ({', '.join(map(str, range(1000)))})")
    assert max(len(reason) for reason in scan.explain(files=True).files["reason"].to_pylist()) < 250
