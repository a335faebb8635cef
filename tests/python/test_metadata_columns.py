"""Filters on metadata columns: they leave out files when planning, and the rows are those of filtering afterwards."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz

ALL = ["id", "_file", "_pos", "_spec_id", "_partition"]


def everything(table: fz.Table) -> list[dict[str, Any]]:
    return table.scan(select=ALL).to_arrow().sort_by("id").to_pylist()


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.select("id").to_arrow().column("id").to_pylist())


def test_a_file_by_its_name(events: fz.Table, tmp_path: Path) -> None:
    rows = everything(events)
    path = rows[30]["_file"]
    for options in {}, {"plan-cache": str(tmp_path / "cache")}, {"plan-cache": str(tmp_path / "cache")}:
        scan = events.scan(f"_file = '{path}' and id <> 31", options=options)
        (task,) = scan.plan_files()
        assert (task.data_file.path, str(task.residual)) == (path, "id != 31")
        assert scan.plan_table().column("residual").to_pylist() == ["id != 31"]
        assert ids(scan) == [r["id"] for r in rows if r["_file"] == path and r["id"] != 31]
    assert list(events.scan("_file = 'elsewhere'").plan_files()) == []
    others = events.scan(f"_file <> '{path}'")
    assert path not in {t.data_file.path for t in others.plan_files()}
    # Which needs no data file.
    (file,) = [t for t in events.scan().plan_files() if t.data_file.path == path]
    Path(path.removeprefix("file:")).unlink()
    assert others.count() == 200 - file.data_file.record_count
    assert events.scan(f"_file = '{path}'").count() == file.data_file.record_count


def test_a_partition_by_its_value(events: fz.Table) -> None:
    rows = everything(events)
    scan = events.scan("_partition.ts_day in ('2023-01-02', '2023-01-05')")
    tasks = list(scan.plan_files())
    assert {t.data_file.partition["ts_day"] for t in tasks} == {dt.date(2023, 1, 2), dt.date(2023, 1, 5)}
    assert {str(t.residual) for t in tasks} == {"true"}
    days = (dt.date(2023, 1, 2), dt.date(2023, 1, 5))
    assert ids(scan) == [r["id"] for r in rows if r["_partition"]["ts_day"] in days]
    assert list(events.scan("_partition.ts_day is null").plan_files()) == []


def test_specs_leave_out_manifests(events: fz.Table) -> None:
    assert len(list(events.scan("_spec_id = 0").plan_files())) == len(list(events.scan().plan_files()))
    explained = events.scan("_spec_id = 1").explain().to_dict()
    assert "_spec_id" in str(events.scan("_spec_id = 1").explain(files=True).files.to_pylist())
    assert events.scan("_spec_id = 1").plan_table().num_rows == 0, explained


def test_explanations_name_the_file(events: fz.Table) -> None:
    path = everything(events)[0]["_file"]
    files = events.scan(f"_file = '{path}'").explain(files=True).files.to_pylist()
    assert [f["file_path"] for f in files if f["kept"]] == [path]
    assert all("_file" in f["reason"] for f in files if not f["kept"])


def test_metadata_has_no_statistics_of_metadata_columns(events: fz.Table) -> None:
    for column in "_file", "_pos", "_partition", "_spec_id", "_partition.ts_day":
        with pytest.raises(fz.InvalidInputError, match=f"no statistics of column '{column}'"):
            events.scan().statistics(column)
    assert [c.name for c in events.scan(select=["id", "_file"]).statistics().columns.values()] == ["id"]
    assert events.scan("_spec_id = 0").statistics().row_count.exact


LEAVES = st.sampled_from(
    [
        "_spec_id = 0",
        "_spec_id <> 0",
        "_spec_id in (1, 2)",
        "_partition.ts_day = '2023-01-03'",
        "_partition.ts_day > '2023-01-04'",
        "_partition.ts_day is null",
        "_partition is not null",
        "_file = '{0}'",
        "_file >= '{1}'",
        "_file in ('{1}', '{2}', 'x')",
        "not _file = '{2}'",
        "_pos < 3",
        "id > 77",
    ]
)
FILTERS = st.recursive(
    LEAVES, lambda f: st.builds(lambda a, op, b: f"({a} {op} {b})", f, st.sampled_from(["and", "or"]), f), max_leaves=4
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=FILTERS)
def test_rows_are_those_of_filtering_afterwards(events: fz.Table, text: str) -> None:
    rows = everything(events)
    paths = sorted({r["_file"] for r in rows})
    text = text.format(paths[0], paths[3], paths[5])
    scan = events.scan(text)
    expected = sorted(r["id"] for r in rows if holds(text, r))
    assert ids(scan) == expected
    assert scan.count() == len(expected)
    assert scan.limit(5).count() == min(5, len(expected))


def holds(text: str, row: dict[str, Any]) -> bool:
    """The filter in Python; nothing that it asks about is null but what it asks so."""
    names = {
        "_file": row["_file"],
        "_spec": row["_spec_id"],
        "_day": row["_partition"]["ts_day"],
        "_partition": row["_partition"],
        "_pos": row["_pos"],
        "id": row["id"],
        "dt": dt,
    }
    for old, new in [
        ("_partition.ts_day is null", "_day is None"),
        ("_partition is not null", "_partition is not None"),
        ("_partition.ts_day", "_day"),
        ("_spec_id", "_spec"),
        ("'2023-01-03'", "dt.date(2023, 1, 3)"),
        ("'2023-01-04'", "dt.date(2023, 1, 4)"),
        (" <> ", " != "),
        (" = ", " == "),
    ]:
        text = text.replace(old, new)
    return bool(eval(text, names))


def test_counts_stop_at_the_limit(events: fz.Table) -> None:
    for filter in None, "id >= 0", "score > 3 or score <= 3", "_pos >= 0":
        for limit in 0, 1, 150, 1_000:
            scan = events.scan(filter)
            assert (
                scan.limit(limit).count()
                == min(limit, scan.to_arrow().num_rows)
                == scan.limit(limit).to_arrow().num_rows
            )
