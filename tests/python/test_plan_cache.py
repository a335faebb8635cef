"""The plan cache: the same plans, whatever state it is in."""

import concurrent.futures
import datetime as dt
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

FILTERS = [
    None,
    "price > 40",
    "id = 7",
    "day(ts) = '2026-01-03'",
    "country in ('NO', 'SE') and price <= 3",
    "id is null",
    "_spec_id = 0 and price > 40",
    "_partition.ts_day = '2026-01-03'",
    "false",
]


@pytest.fixture
def table(tmp_path: Path) -> fz.Table:
    """Partitioned, of several commits."""
    catalog = fz.catalog("cache", type="filesystem", warehouse=str(tmp_path / "warehouse"))
    catalog.create_namespace("db")
    schema = pa.schema(
        [("id", pa.int64()), ("ts", pa.timestamp("us")), ("country", pa.string()), ("price", pa.float64())]
    )
    table = catalog.create_table("db.t", schema, partition_by=["day(ts)", "bucket(4, id)"])
    for commit in range(4):
        rows = range(commit * 20, commit * 20 + 20)
        columns: dict[str, list[Any]] = {
            "id": [None if i % 9 == 0 else i for i in rows],
            "ts": [dt.datetime(2026, 1, 1 + i % 5) for i in rows],
            "country": [["NO", "SE", "DE", None][i % 4] for i in rows],
            "price": [float("nan") if i == 5 else float(i) for i in rows],
        }
        table = table.append(pa.table(columns, schema=schema))
    return table


def plans(table: fz.Table, options: dict[str, str] | None = None) -> list[Any]:
    """Everything that plans say, filter by filter."""
    out: list[Any] = []
    for text in FILTERS:
        scan = table.scan(text, options=options)
        stages = scan.explain().to_dict()["stages"]
        counted = [{key: value for key, value in stage.items() if key != "time_ms"} for stage in stages]
        out.append(([task.to_json() for task in scan.plan_files()], scan.plan_table(), counted))
    return out


def test_plans_are_the_same_from_the_cache(table: fz.Table, tmp_path: Path) -> None:
    options = {"plan-cache": str(tmp_path / "cache")}
    expected = plans(table)
    assert plans(table, options) == expected
    assert len(list((tmp_path / "cache").iterdir())) == 4
    assert plans(table, options) == expected


def test_the_cache_spares_the_manifests(table: fz.Table, tmp_path: Path) -> None:
    options = {"plan-cache": str(tmp_path / "cache")}
    expected = plans(table, options)
    for manifest in Path(table.location).glob("metadata/*-m*.avro"):
        manifest.write_bytes(b"not read")
    assert plans(table, options) == expected
    with pytest.raises(fz.CorruptTableError):
        list(table.scan().plan_files())


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "folder", "unreadable"])
def test_a_damaged_cache_is_as_none(table: fz.Table, tmp_path: Path, damage: str) -> None:
    if damage == "unreadable" and os.geteuid() == 0:
        pytest.skip("root reads everything")
    folder = tmp_path / "cache"
    options = {"plan-cache": str(folder)}
    expected = plans(table, options)
    for file in folder.iterdir():
        content = file.read_bytes()
        if damage == "folder":
            file.unlink()
            file.mkdir()
            continue
        if damage == "unreadable":
            file.chmod(0)
            continue
        middle = len(content) // 2
        file.write_bytes(
            {
                "empty": b"",
                "cut": content[:middle],
                "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "text": b"hello" * 100,
            }[damage]
        )
    assert plans(table, options) == expected
    assert plans(table, options) == expected


def test_a_folder_that_cannot_be_written_does_no_harm(table: fz.Table, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert plans(table, {"plan-cache": str(tmp_path / "file" / "cache")}) == plans(table)


def test_the_cache_stays_within_its_bound(table: fz.Table, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    plans(table, {"plan-cache": str(folder)})
    most = sum(file.stat().st_size for file in folder.iterdir()) * 3 // 4
    for file in folder.iterdir():
        file.unlink()
    (folder / "notes.txt").write_text("not the cache's")
    for _ in range(3):
        list(table.scan(options={"plan-cache": str(folder), "plan-cache-bytes": str(most)}).plan_files())
    kept = [file.stat().st_size for file in folder.glob("*.plan")]
    assert kept
    assert sum(kept) <= most
    assert (folder / "notes.txt").exists()
    with pytest.raises(fz.InvalidInputError, match="plan-cache-bytes"):
        table.scan(options={"plan-cache": str(folder), "plan-cache-bytes": "1 GB"})


def _plan_again(work: tuple[str, dict[str, str]]) -> int:
    table = fz.open_table(work[0])
    return sum(table.scan(text, options=work[1]).plan_table().num_rows for text in FILTERS)


def test_processes_and_threads_share_it(table: fz.Table, tmp_path: Path) -> None:
    options = {"plan-cache": str(tmp_path / "cache")}
    expected = sum(plan[1].num_rows for plan in plans(table))
    work = [(table.location, options)] * 8
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.map(_plan_again, work) == [expected] * 8
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert list(threads.map(_plan_again, work)) == [expected] * 8


def test_a_commit_adds_to_the_cache(table: fz.Table, tmp_path: Path) -> None:
    options = {"plan-cache": str(tmp_path / "cache")}
    plans(table, options)
    again = table.append(pa.table({"id": [1000], "ts": [dt.datetime(2026, 2, 1)], "country": ["US"], "price": [1.0]}))
    assert plans(again, options) == plans(again)
    assert len(list((tmp_path / "cache").iterdir())) == 5


def test_explanations_say_whether_the_cache_served(table: fz.Table, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    scan = table.scan("price > 40", options={"plan-cache": str(folder)})
    assert scan.estimate().cached_manifests == 0
    read = scan.estimate().data_manifests
    for served in (0, read):
        explained = scan.explain()
        expected = {"folder": str(folder), "served": served, "read": read, "trouble": None}
        assert explained.to_dict()["cache"] == {**expected, "folder": explained.to_dict()["cache"]["folder"]}
        assert f"{served} of {read} manifests came from the plan cache" in str(explained)
        assert "came from the plan cache" in explained._repr_html_()
    estimate = scan.estimate()
    assert (estimate.cached_manifests, estimate.cache_trouble) == (read, None)
    assert f"plan cache     {read} manifests" in str(estimate)
    changes = table.changes(options={"plan-cache": str(folder)})
    assert changes.explain().to_dict()["cache"]["served"] == changes.estimate().cached_manifests == 4
    plain = table.scan("price > 40")
    assert plain.explain().to_dict()["cache"] is plain.estimate().cached_manifests is None


def test_explanations_say_why_the_cache_was_of_no_use(table: fz.Table, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    scan = table.scan(options={"plan-cache": str(tmp_path / "file")})
    cache = scan.explain().to_dict()["cache"]
    assert cache["served"] == 0
    assert "file" in cache["trouble"]
    assert cache["trouble"][:20] in str(scan.explain())
    assert scan.estimate().cache_trouble is not None
    small = table.scan(options={"plan-cache": str(tmp_path / "small"), "plan-cache-bytes": "10"})
    assert "plan-cache-bytes" in small.explain().to_dict()["cache"]["trouble"]
