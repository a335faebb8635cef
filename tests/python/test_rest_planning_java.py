"""Plans that Iceberg's own REST server makes, at once and later: the same rows as with plans of our own."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import one
from server_fixtures import started
from servers import Server, rest

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("score", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("at", pa.timestamp("us")),
        ("utc", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("raw", pa.binary()),
        ("box", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
SPECS: list[list[str]] = [
    [],
    ["day"],
    ["name"],
    ["bucket(4, id)"],
    ["truncate(2, name)", "month(at)"],
    ["day(utc)"],
    ["identity(score)"],
    ["truncate(10, price)"],
    ["raw"],
]
CLAUSES = [
    "id < 40",
    "id >= 15",
    "id in (3, 33, 77)",
    "id not in (3, 33)",
    "id is null",
    "id != 7",
    "name = 'ab'",
    "name > 'b'",
    "name like 'a%'",
    "not starts_with(name, 'a')",
    "score > 1",
    "score >= 0",
    "score = 0",
    "score < 2",
    "score is nan",
    "score is not nan",
    "price > 12.5",
    "price = 7.25",
    "at < '2024-02-01T00:00:00'",
    "utc >= '2024-01-15T00:00:00Z'",
    "day = '2024-01-03'",
    "day(utc) = '2024-01-05'",
    "month(at) = '2024-02'",
    "bucket(4, id) = 1",
    "truncate(2, name) = 'ab'",
    "raw = x'01'",
    "box.a > 2",
    "box.b is null",
    "box is not null",
    "_pos < 2",
]
NUMBERS = itertools.count()


@pytest.fixture(scope="module", params=["at once", "later"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Server:
    name = f"rest_plans_{request.param.replace(' ', '_')}"
    folder: pathlib.Path = tmp_path_factory.mktemp(name)
    start: Callable[[], Server] = functools.partial(
        rest, folder, **{"table.scan-planning-mode": "server", "async-plan": str(request.param == "later").lower()}
    )
    return started(name, start)


@pytest.fixture
def catalog(server: Server) -> fz.Catalog:
    return fz.catalog("java", type="rest", uri=server["uri"])


def row(at: random.Random) -> dict[str, Any]:
    def perhaps(value: Any) -> Any:
        return None if at.random() < 0.1 else value

    start = dt.datetime(2024, 1, 1)
    return {
        "id": perhaps(at.randrange(100)),
        "name": perhaps(at.choice(["", "a", "ab", "abc", "b", "żółw"])),
        "score": perhaps(at.choice([math.nan, -0.0, 0.0, 0.5, 1.5, -math.inf, math.inf])),
        "price": perhaps(at.choice(["7.25", "12.50", "12.51", "-3.00"])),
        "at": perhaps(start + dt.timedelta(hours=at.randrange(2000))),
        "utc": perhaps(start + dt.timedelta(hours=at.randrange(300))),
        "day": perhaps((start + dt.timedelta(days=at.randrange(5))).date()),
        "raw": perhaps(at.choice([b"\x01", b"\x02\x03", b""])),
        "box": perhaps({"a": perhaps(at.randrange(5)), "b": perhaps("x")}),
    }


def rows(at: random.Random, count: int) -> pa.Table:
    import decimal

    made = [row(at) for _ in range(count)]
    for each in made:
        each["price"] = None if each["price"] is None else decimal.Decimal(each["price"])
    return pa.Table.from_pylist(made, SCHEMA)


def created(catalog: fz.Catalog, schema: pa.Schema, **more: Any) -> tuple[str, fz.Table]:
    namespace = f"plans{next(NUMBERS)}"
    catalog.create_namespace(namespace)
    return f"{namespace}.t", catalog.create_table(f"{namespace}.t", schema, **more)


def own(table: fz.Table) -> fz.Table:
    """The same version, which is planned here."""
    return fz.open_table(table.metadata_location)


def seen(scan: fz.Scan) -> list[str]:
    return sorted(map(repr, scan.to_arrow().to_pylist()))


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_rows_are_those_of_own_plans(catalog: fz.Catalog, spec: list[str], version: str) -> None:
    at = random.Random(f"{spec} {version}")
    properties = {"format-version": version, "write.delete.mode": "merge-on-read"}
    name, table = created(catalog, SCHEMA, partition_by=spec, properties=properties)
    for _ in range(3):
        table = table.append(rows(at, 25))
    table.delete("id in (1, 5, 9, 13, 17) or name = 'b'")
    table = catalog.load_table(name)
    assert "server_plan" in table.scan().explain().to_dict()
    here = own(table)
    for _ in range(25):
        filter = " and ".join(at.sample(CLAUSES, at.randrange(3)))
        filter = f"({filter}) or ({at.choice(CLAUSES)})" if filter and at.random() < 0.3 else filter
        served, planned = table.scan(filter or None), here.scan(filter or None)
        assert seen(served) == seen(planned), filter
        assert served.count() == planned.count(), filter
    before = table.snapshots[1].id
    assert seen(table.scan(at=before)) == seen(here.scan(at=before))
    between = {"since": table.snapshots[0].id, "at": table.snapshots[2].id}
    assert seen(table.scan(**between)) == seen(here.scan(**between))


def test_evolution(catalog: fz.Catalog) -> None:
    name, table = created(catalog, pa.schema([("id", pa.int32()), ("name", pa.string())]), partition_by=["id"])
    table = table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]}))
    with table.update_schema() as update:
        update.rename_column("name", "title")
        update.update_column("id", "long")
        update.add_column("more", "int")
    table = catalog.load_table(name)
    table = table.append(pa.table({"id": [3, 2**40], "title": ["c", "d"], "more": pa.array([7, None], pa.int32())}))
    table = catalog.load_table(name)
    here = own(table)
    for filter in (None, "id > 1", "title = 'b'", "more is null", f"id = {2**40}"):
        assert seen(table.scan(filter)) == seen(here.scan(filter)), filter


def test_branches_and_tags(catalog: fz.Catalog) -> None:
    name, table = created(catalog, pa.schema([("id", pa.int64())]))
    table = table.append(one(1))
    table.refs.create_tag("first")
    table.refs.create_branch("work")
    catalog.load_table(name).append(one(2), branch="work")
    catalog.load_table(name).append(one(3))
    table = catalog.load_table(name)
    for at, expected in ((None, [1, 3]), ("first", [1]), ("work", [1, 2])):
        assert sorted(table.scan(at=at).to_arrow()["id"].to_pylist()) == expected
        assert "server_plan" in table.scan(at=at).explain().to_dict()
