"""Files whose rows are sorted: by compaction, along a curve, and as they are appended."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("x", pa.int32()), ("y", pa.int32()), ("s", pa.string())])
LINEAGE = ["id", "_row_id", "_last_updated_sequence_number"]


def rows(count: int, seed: int = 1, first: int = 0) -> pa.Table:
    draw = random.Random(seed)
    some = [
        {"id": first + i, "p": i % 2, "x": draw.randrange(1000), "y": draw.randrange(1000), "s": f"s{draw.random()}"}
        for i in range(count)
    ]
    return pa.Table.from_pylist(some, schema=SCHEMA)


def by_file(table: fz.Table, columns: list[str]) -> list[list[tuple[Any, ...]]]:
    """Rows of each data file in its order; files by partition, then as they were begun."""
    found = (
        table.scan(select=["_file", "_pos", *columns])
        .to_arrow()
        .sort_by([("_file", "ascending"), ("_pos", "ascending")])
    )
    files: dict[str, list[tuple[Any, ...]]] = {}
    for row in found.to_pylist():
        files.setdefault(row["_file"], []).append(tuple(row[c] for c in columns))
    return list(files.values())


def order_ids(table: fz.Table) -> set[int | None]:
    return {t.data_file.sort_order_id for t in table.scan().plan_files()}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compaction_sorts_over_files(catalog: fz.Catalog, version: int) -> None:
    table = catalog.create_table(
        "db.t",
        SCHEMA,
        partition_by=["p"],
        sort_by=["y desc nulls last", "id"],
        properties={"format-version": str(version)},
    )
    for i in range(4):
        table.append(rows(20_000, i, i * 20_000), sort_by=[])
    assert order_ids(table) == {0}
    before = table.scan().to_arrow().sort_by("id")
    lineage = table.scan(select=LINEAGE).to_arrow().sort_by("id") if version == 3 else None
    size = max(t.data_file.size_bytes for t in table.scan().plan_files())
    done = table.maintain.compact("sort", rewrite_all=True, target_file_size_bytes=size)
    assert done.rewritten_files == 8
    assert done.added_files > 4
    assert order_ids(table) == {1}
    for part in (0, 1):
        files = [f for f in by_file(table, ["y", "id", "p"]) if f[0][2] == part]
        assert len(files) > 1
        found = [(-y, id_) for file in files for y, id_, _ in file]
        assert found == sorted(found)
    assert table.scan().to_arrow().sort_by("id").equals(before)
    if lineage is not None:
        assert table.scan(select=LINEAGE).to_arrow().sort_by("id").equals(lineage)
    # Another order is recorded only if it is one of the table's.
    table.maintain.compact("sort", sort_by=["x", "bucket(4, id) desc"], rewrite_all=True)
    assert order_ids(table) == {0}
    assert all([r[0] for r in f] == sorted(r[0] for r in f) for f in by_file(table, ["x"]))
    with table.update_sort_order() as update:
        update.asc("x")
    table.maintain.compact("sort", sort_by=["y desc nulls last", "id"], rewrite_all=True, where="p = 1")
    assert order_ids(table) == {0, 1}
    assert table.scan().to_arrow().sort_by("id").equals(before)


@pytest.mark.parametrize("version", [2, 3])
def test_a_curve_narrows_both_columns(catalog: fz.Catalog, version: int) -> None:
    table = catalog.create_table("db.z", SCHEMA, properties={"format-version": str(version)})
    table.append(rows(60_000))
    table.delete("id < 100")
    before = table.scan().to_arrow().sort_by("id")
    size = sum(t.data_file.size_bytes for t in table.scan().plan_files()) // 16
    done = table.maintain.compact("zorder", zorder_by=["x", "y"], rewrite_all=True, target_file_size_bytes=size)
    assert done.added_files >= 8
    assert table.scan().to_arrow().sort_by("id").equals(before)
    for column in ("x", "y"):
        opened = len(list(table.scan(f"{column} = 17").plan_files()))
        assert opened <= done.added_files * 0.7, column
    assert order_ids(table) == {0}


def value(row: tuple[int | None, int | None, str | None], text_bytes: int, output: int | None) -> bytes:
    """Java's z-value, bit by bit."""
    parts = [(0 if v is None else v + 2**63).to_bytes(8, "big") for v in row[:2]]
    text = (row[2] or "").encode()[:text_bytes]
    parts.append((row[2] or "").encode()[: len(text.decode(errors="ignore").encode())].ljust(text_bytes, b"\0"))
    bits = [f"{int.from_bytes(p, 'big'):0{len(p) * 8}b}" for p in parts]
    mixed = "".join(b[i] for i in range(max(map(len, bits))) for b in bits if i < len(b))
    whole = int(mixed, 2).to_bytes(len(mixed) // 8, "big")
    return whole if output is None else whole[:output]


LONGS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(LONGS, LONGS, st.one_of(st.none(), st.text(max_size=6))), min_size=1, max_size=25),
    st.integers(1, 9),
    st.one_of(st.none(), st.integers(1, 30)),
)
def test_rows_follow_the_curve(
    tmp_path_factory: pytest.TempPathFactory,
    given_rows: list[tuple[int | None, int | None, str | None]],
    text_bytes: int,
    output: int | None,
) -> None:
    catalog = fz.catalog("z", warehouse=tmp_path_factory.mktemp("z"))
    catalog.create_namespace("db")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64()), ("s", pa.string())])
    table = catalog.create_table("db.t", schema)
    columns = [list(c) for c in zip(*given_rows, strict=True)]
    table.append(pa.table(columns, schema=schema))
    table.maintain.compact(
        "zorder",
        zorder_by=["a", "b", "s"],
        rewrite_all=True,
        zorder_var_length_contribution=text_bytes,
        zorder_max_output_size=output,
    )
    (found,) = by_file(table, ["a", "b", "s"])
    values = [value(r, text_bytes, output) for r in found]  # type: ignore[arg-type]
    assert values == sorted(values)
    assert sorted(map(repr, found)) == sorted(map(repr, given_rows))


def test_orders_that_are_none(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("d", pa.decimal128(9, 2)), ("l", pa.list_(pa.int32()))])
    table = catalog.create_table("db.t", schema, partition_by=["p"])
    table.append(pa.table([[2, 1], [0, 0], [None, None], [None, None]], schema=schema))
    compact = table.maintain.compact
    for arguments, message in [
        ({"strategy": "sort"}, "no sort order"),
        ({"strategy": "sort", "sort_by": ["nope"]}, "nope"),
        ({"strategy": "sort", "sort_by": ["id sideways"]}, "sideways"),
        ({"strategy": "sort", "sort_by": ["l"]}, "l"),
        ({"strategy": "sort", "zorder_by": ["id"]}, "another strategy"),
        ({"strategy": "zorder", "sort_by": ["id"]}, "another strategy"),
        ({"strategy": "binpack", "sort_by": ["id"]}, "another strategy"),
        ({"strategy": "zorder"}, "needs columns"),
        ({"strategy": "zorder", "zorder_by": ["p"]}, "constant"),
        ({"strategy": "zorder", "zorder_by": ["id desc"]}, "direction"),
        ({"strategy": "zorder", "zorder_by": ["id", "id"]}, "twice"),
        ({"strategy": "zorder", "zorder_by": ["id"], "zorder_var_length_contribution": 0}, "bytes"),
        ({"strategy": "zorder", "zorder_by": ["id"], "zorder_max_output_size": 0}, "byte"),
        ({"strategy": "zorder", "zorder_by": ["id"], "zorder_max_output_size": -1}, "zorder_max_output_size"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=message):
            compact(rewrite_all=True, **arguments)  # type: ignore[arg-type]
    with pytest.raises(fz.UnsupportedError, match="decimal"):
        compact("zorder", zorder_by=["d"], rewrite_all=True)
    assert compact("zorder", zorder_by=["p", "id"], rewrite_all=True).added_files == 1
    assert by_file(table, ["id"]) == [[(1,), (2,)]]
    with pytest.raises(fz.InvalidInputError, match="nope"):
        table.append(pa.table([[1], [0], [None], [None]], schema=schema), sort_by=["nope"])


def test_appends_are_sorted(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], sort_by=["id desc"])
    data = rows(2000)
    table.append(data)
    assert order_ids(table) == {1}
    assert all(f == sorted(f, reverse=True) for f in by_file(table, ["id"]))
    table.overwrite_partitions(data)
    table.transaction().append(data, sort_by=["x", "y desc"]).abort()
    with table.transaction() as tx:
        tx.delete("true")
        tx.append(data, sort_by=["x", "y desc"])
    assert order_ids(table) == {0}
    assert all([(x, -y) for x, y in f] == sorted((x, -y) for x, y in f) for f in by_file(table, ["x", "y"]))
    table.delete("true").commit([table.writer(sort_by=["id desc"]).write(data)])
    assert order_ids(table) == {1}
    table.delete("true").commit([table.writer(sort_by=[]).write(data)])
    assert order_ids(table) == {0}
    assert [r[0] for r in by_file(table, ["id"])[0]] == list(range(0, 2000, 2))


def test_an_order_alone_chooses_its_strategy(catalog: fz.Catalog) -> None:
    """The doctor's remedy is `compact(sort_by=...)`."""
    table = catalog.create_table("db.t", SCHEMA).append(rows(40)).append(rows(40, seed=2, first=40))
    assert table.maintain.compact(sort_by="x desc", rewrite_all=True).added_files == 1
    (found,) = by_file(table, ["x"])
    assert found == sorted(found, reverse=True)
    assert table.maintain.compact(zorder_by=["x", "y"], rewrite_all=True).added_files == 1
    (curved,) = by_file(table, ["x"])
    assert curved != found
    assert sorted(curved) == sorted(found)
    with pytest.raises(fz.InvalidInputError, match="another strategy"):
        table.maintain.compact("binpack", sort_by="x")
