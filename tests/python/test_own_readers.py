"""Readers of rows that use the transaction that they feed."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def catalog(tmp_path: pathlib.Path) -> fz.Catalog:
    catalog = fz.catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    for name in ("a", "b"):
        catalog.create_table(f"db.{name}", SCHEMA).append(one(0))
    return catalog


def reader(use: Callable[[], Any]) -> pa.RecordBatchReader:
    """Rows whose generator does something first."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from one(1).to_batches()
        use()
        yield from one(2).to_batches()

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


USES: dict[str, Callable[[Any], Any]] = {
    "append": lambda tx: tx.append(one(9)),
    "upsert": lambda tx: tx.upsert(one(9), on=["id"]),
    "delete": lambda tx: tx.delete("id = 0"),
    "set_properties": lambda tx: tx.set_properties({"a": "b"}),
    "dry_run": lambda tx: tx.dry_run(),
}


@pytest.mark.parametrize("use", [*USES, "commit", "abort"])
def test_a_transaction_is_not_used_by_its_reader(catalog: fz.Catalog, use: str) -> None:
    used = {**USES, "commit": lambda tx: tx.commit(), "abort": lambda tx: tx.abort()}[use]
    tx = catalog.load_table("db.a").transaction()
    with pytest.raises(fz.InvalidInputError, match="in use by the call") as raised:
        tx.append(reader(lambda: used(tx)))
    assert "generator" in str(raised.value)
    # The transaction goes on.
    tx.append(one(3)).commit()
    assert ids(catalog.load_table("db.a")) == [0, 3]


@pytest.mark.parametrize("use", USES)
def test_a_part_is_not_used_by_its_reader(catalog: fz.Catalog, use: str) -> None:
    tx = catalog.transaction()
    with pytest.raises(fz.InvalidInputError, match="in use by the call"):
        # Another handle of the same changes.
        tx.table("db.a").append(reader(lambda: USES[use](tx.table("db.a"))))
    tx.table("db.a").append(one(3))
    tx.commit()
    assert ids(catalog.load_table("db.a")) == [0, 3]


def test_another_part_may_be_used(catalog: fz.Catalog) -> None:
    with catalog.transaction() as tx:
        tx.table("db.a").append(reader(lambda: tx.table("db.b").append(one(7))))
    assert (ids(catalog.load_table("db.a")), ids(catalog.load_table("db.b"))) == ([0, 1, 2], [0, 7])


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_transaction_over_tables_ends_in_a_reader(catalog: fz.Catalog, end: str) -> None:
    tx = catalog.transaction()
    part = tx.table("db.a")
    message = "in use by the call" if end == "commit" else "has ended"
    with pytest.raises(fz.InvalidInputError, match=message):
        part.append(reader(lambda: getattr(tx, end)()))
    with pytest.raises(fz.InvalidInputError, match="has ended"):
        part.append(one(5))
    assert ids(catalog.load_table("db.a")) == [0]


def test_other_threads_wait(catalog: fz.Catalog) -> None:
    tx = catalog.load_table("db.a").transaction()
    begun, failed = threading.Event(), []

    def append() -> None:
        begun.wait(30)
        try:
            tx.append(one(5))
        except Exception as error:
            failed.append(error)

    other = threading.Thread(target=append)
    other.start()
    tx.append(reader(begun.set))
    other.join(30)
    assert not other.is_alive()
    assert failed == []
    tx.commit()
    assert ids(catalog.load_table("db.a")) == [0, 1, 2, 5]


def test_the_table_may_be_read(catalog: fz.Catalog) -> None:
    table = catalog.load_table("db.a")
    with table.transaction() as tx:
        tx.append(reader(lambda: table.scan().count()))
    assert ids(table) == [0, 1, 2]
