"""The overlap of bounds on the page of a Paimon table: its figures by hand, for each source of bounds and type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.report import overlaps

BY_DESIGN = "Files of a table with a primary key overlap by design"


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    made = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    made.create_namespace("db")
    return made


def created(
    catalog: fz.Catalog, columns: list[tuple[str, pa.DataType]], options: dict[str, Any] | None = None, key: Any = ()
) -> fz.Table:
    schema = pa.schema([pa.field(name, kind, nullable=name not in key) for name, kind in columns])
    given = {"bucket": 1, "write-only": True} if key else {}
    return catalog.create_table(
        "db.t", schema, properties={**given, **(options or {})}, format="paimon", identifier_fields=key or None
    )


def appended(table: fz.Table, *files: dict[str, list[Any]]) -> fz.Table:
    """The table with one more file for each of these."""
    columns = table.scan().to_arrow().schema
    for rows in files:
        count = len(next(iter(rows.values())))
        arrays = [pa.array(rows.get(field.name, [None] * count), field.type) for field in columns]
        table = table.append(pa.table(arrays, schema=columns))
    return table


def found(table: fz.Table, at: Any = None) -> dict[str, tuple[int, int, Any, int]]:
    """By column: the files with and without bounds, the other files that one overlaps, and the most at one value."""
    shown = overlaps.overlaps(table.inspect.data_files(at))
    return {o.column: (o.files, o.without, pytest.approx(o.average), o.most) for o in shown}


def bounds(table: fz.Table, column: str) -> list[tuple[Any, Any]]:
    metrics = table.inspect.data_files()["readable_metrics"].to_pylist()
    return sorted((file[column]["lower_bound"], file[column]["upper_bound"]) for file in metrics)


def page_of(table: fz.Table, tmp_path: Path) -> str:
    return Path(table.report(tmp_path / "page.html", doctor=False)).read_text("utf-8")


def test_bounds_compare_in_the_order_of_their_type(catalog: fz.Catalog, tmp_path: Path) -> None:
    kinds = {
        # As texts, 2, 10 and 100 are close together.
        "i": (pa.int32(), [(2, 9), (10, 20), (100, 200)], 0.0, 1),
        "l": (pa.int64(), [(-(2**40), -9), (-10, 2), (3, 2**40)], 2 / 3, 2),
        "f": (pa.float64(), [(-1e300, -1.5), (-1.5, 9.0), (10.0, 1e300)], 2 / 3, 2),
        "d": (
            pa.date32(),
            [
                (dt.date(2026, 1, 1), dt.date(2026, 2, 1)),
                (dt.date(2026, 1, 15), dt.date(2026, 3, 1)),
                (dt.date(2026, 2, 1), dt.date(2026, 2, 2)),
            ],
            2.0,
            3,
        ),
        "n": (
            pa.decimal128(9, 2),
            [(Decimal("-10.00"), Decimal("-9.00")), (Decimal("-9.50"), Decimal("2.00")), (Decimal(9), Decimal(10))],
            2 / 3,
            2,
        ),
        "wide": (pa.decimal128(30, 1), [(Decimal(-(10**25)), Decimal(9)), (Decimal(10), Decimal(10**25))] * 2, 1.0, 2),
        "s": (pa.string(), [("a", "b"), ("b", "c"), ("ä", "ö")], 2 / 3, 2),
        "ts": (
            pa.timestamp("us", "UTC"),
            [tuple(dt.datetime(2026, 1, 1, h, tzinfo=dt.timezone.utc) for h in hours) for hours in ((1, 9), (10, 12))],
            0.0,
            1,
        ),
        "b": (pa.bool_(), [(False, False), (False, True), (True, True)], 4 / 3, 2),
    }
    table = created(catalog, [(name, kind) for name, (kind, *_) in kinds.items()])
    files = 0
    for name, (kind, ranges, *_) in kinds.items():
        # Each column has files of its own; the others are null there.
        files += len(ranges)
        for pair in ranges:
            columns = [
                pa.array(list(pair), kind) if field == name else pa.array([None] * 2, other)
                for field, (other, *_) in kinds.items()
            ]
            table = table.append(pa.table(columns, names=list(kinds)))
    assert found(table) == {
        name: (len(ranges), files - len(ranges), average, most) for name, (_, ranges, average, most) in kinds.items()
    }
    metrics = table.inspect.data_files()["readable_metrics"].to_pylist()
    for name, (_, ranges, *_) in kinds.items():
        known = [(file[name]["lower_bound"], file[name]["upper_bound"]) for file in metrics]
        assert sorted(pair for pair in known if pair != (None, None)) == sorted(ranges)
    page = page_of(table, tmp_path)
    assert "Overlap of bounds" in page
    assert "2.0 others on average, 3 of 3 at most" in page
    assert BY_DESIGN not in page


@pytest.mark.parametrize(
    "kind",
    # The largest dates and times are after the year 9999.
    [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC"), pa.date32(), pa.time64("us")],
    ids=str,
)
def test_times_that_python_does_not_have(kind: pa.DataType) -> None:
    end = 10_000_000 if pa.types.is_date32(kind) else 2**38 if pa.types.is_time(kind) else 2**62
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    lows, highs = (pa.array(values, storage).cast(kind) for values in ([1, 3, end - 1, None], [3, 4, end, None]))
    column = pa.StructArray.from_arrays([lows, highs], ["lower_bound", "upper_bound"])
    files = pa.table({"readable_metrics": pa.StructArray.from_arrays([column], ["at"])})
    (shown,) = overlaps.overlaps(files)
    assert (shown.files, shown.without, shown.average, shown.most) == (3, 1, pytest.approx(2 / 3), 2)


def test_the_list_has_the_columns_of_files(catalog: fz.Catalog) -> None:
    table = created(catalog, [("id", pa.int64()), ("s", pa.string()), ("list", pa.list_(pa.int32()))])
    assert table.inspect.data_files().num_rows == 0
    table = appended(table, {"id": [1, None], "s": ["a", "b"], "list": [[1], None]})
    files = table.inspect.data_files()
    assert files.drop_columns(["readable_metrics"]) == table.inspect.files()
    assert files["readable_metrics"].to_pylist() == [
        {
            "id": {"null_value_count": 1, "lower_bound": 1, "upper_bound": 1},
            "s": {"null_value_count": 0, "lower_bound": "a", "upper_bound": "b"},
        }
    ]
    before = table.snapshot
    assert before is not None
    table = appended(table, {"id": [2]})
    assert table.inspect.data_files().num_rows == 2
    assert table.inspect.data_files(at=before.id) == files


@pytest.mark.parametrize("mode", ["truncate(16)", "full", "none"])
def test_keys_have_bounds_whatever_is_kept_of_values(catalog: fz.Catalog, tmp_path: Path, mode: str) -> None:
    columns = [("v", pa.int32()), ("b", pa.string()), ("a", pa.int64())]
    table = created(catalog, columns, {"metadata.stats-mode": mode}, key=["a", "b"])
    long = "x" * 30
    table = appended(
        table,
        # The least key is (1, x…), but the least b is "k".
        {"a": [1, 9], "b": [long + "1", "k"], "v": [1, 2]},
        {"a": [10, 10], "b": ["a", "b"], "v": [2, 3]},
        {"a": [5, 12], "b": [long + "2", "z"], "v": [4, 5]},
    )
    of_values = {} if mode == "none" else {"v": (3, 0, 2 / 3, 2)}
    # a: 5 to 12 overlaps the others. b is apart: k to x…1, a to b, x…2 to z.
    assert found(table) == {**of_values, "b": (3, 0, 0.0, 1), "a": (3, 0, 4 / 3, 2)}
    assert bounds(table, "b") == [("a", "b"), ("k", long + "1"), (long + "2", "z")]
    page = page_of(table, tmp_path)
    assert "Overlap of bounds" in page
    assert BY_DESIGN in page


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "full"])
def test_columns_are_found_by_their_id(catalog: fz.Catalog, dense: bool) -> None:
    options = {"fields.c.stats-mode": "none", "metadata.stats-dense-store": dense}
    table = created(catalog, [("c", pa.string()), ("id", pa.int32()), ("d", pa.int32())], options)
    table = appended(
        table, {"c": ["a", "b"], "id": [1, 5], "d": [70, 80]}, {"c": ["a", "b"], "id": [6, 9], "d": [1, 2]}
    )
    assert found(table) == {"id": (2, 0, 0.0, 1), "d": (2, 0, 0.0, 1)}
    with table.update_schema() as update:
        update.update_column("id", "long")
        update.drop_column("d")
    with table.refresh().update_schema() as update:
        update.rename_column("id", "number")
    with table.refresh().update_schema() as update:
        # Another column with the old name.
        update.add_column("id", "int")
    table = appended(table.refresh(), {"c": ["a", "b"], "number": [8, 2**40], "id": [3, 4]})
    # 6 to 9 and 8 to 2**40 overlap. The older files have no value of the new column.
    assert found(table) == {"number": (3, 0, 2 / 3, 2), "id": (1, 2, 0.0, 1)}
    assert bounds(table, "number") == [(1, 5), (6, 9), (8, 2**40)]


def test_a_branch_has_columns_of_its_own(catalog: fz.Catalog) -> None:
    table = appended(created(catalog, [("id", pa.int64())]), {"id": [1, 2]})
    table.refs.create_tag("v1")
    table.refs.create_branch("dev", "v1")
    table.append(pa.table({"id": [2, 3]}), branch="dev")
    with table.refresh().update_schema() as update:
        update.rename_column("id", "number")
    table = table.refresh()
    assert found(table) == {"number": (1, 0, 0.0, 1)}
    assert found(table, "dev") == {"id": (2, 0, 1.0, 2)}
    assert found(table, "v1") == {"number": (1, 0, 0.0, 1)}


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "full"])
@pytest.mark.parametrize("mode", ["none", "counts"])
def test_without_bounds_there_is_no_section(catalog: fz.Catalog, tmp_path: Path, mode: str, dense: bool) -> None:
    options = {"metadata.stats-mode": mode, "metadata.stats-dense-store": dense}
    table = appended(created(catalog, [("id", pa.int64())], options), {"id": [1, 2]}, {"id": [3, 4]})
    assert found(table) == {}
    assert "Overlap of bounds" not in page_of(table, tmp_path)


def test_texts_that_are_cut(catalog: fz.Catalog) -> None:
    table = created(catalog, [("s", pa.string())])
    table = appended(table, {"s": ["k" * 30, "m" * 30]}, {"s": ["m" * 16, "z"]}, {"s": ["n", "o"]})
    # The upper bound m…n is above the lower bound of the second file. The third file is within the second one.
    assert bounds(table, "s") == [("k" * 16, "m" * 15 + "n"), ("m" * 16, "z"), ("n", "o")]
    assert found(table) == {"s": (3, 0, 4 / 3, 2)}
