"""Commits that could go wrong: old handles, other tables, copies, doubled messages."""

from __future__ import annotations

import os
import pathlib
import shutil

import pyarrow as pa
import pytest

import frazil as fz

FORGETFUL = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}


def one(value: int) -> pa.Table:
    return pa.table({"id": pa.array([value], pa.int64())})


def ids(root: str | os.PathLike[str]) -> list[int]:
    return sorted(fz.open_table(root).scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def catalog(tmp_path: pathlib.Path) -> fz.Catalog:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    return catalog


def test_an_old_handle_appends_to_the_newest_version(catalog: fz.Catalog) -> None:
    """Its successor's file name is free again, since old metadata files are deleted here."""
    table = catalog.create_table("db.t", one(0).schema, properties=FORGETFUL)
    old = fz.open_table(table.location)
    for value in range(6):
        table.append(one(value))
    assert not (pathlib.Path(table.location) / "metadata" / "v2.metadata.json").exists()
    old.append(one(100))
    assert ids(table.location) == [0, 1, 2, 3, 4, 5, 100]


def test_a_handle_of_a_dropped_table_cannot_write_to_its_successor(catalog: fz.Catalog) -> None:
    old = catalog.create_table("db.t", one(0).schema)
    catalog.drop_table("db.t")
    new = catalog.create_table("db.t", pa.schema([("name", pa.string())]))
    with pytest.raises(fz.CorruptTableError, match="uuid"):
        old.append(one(1))
    assert fz.open_table(new.location).uuid == new.uuid
    assert fz.open_table(new.location).scan().count() == 0
    assert not list(pathlib.Path(new.location).glob("data/**/*.parquet"))


def test_a_metadata_file_leads_to_its_table(catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.create_table("db.t", one(0).schema).append(one(1))
    monkeypatch.chdir(table.location)
    fz.open_table("metadata/v2.metadata.json").append(one(2))
    assert ids(table.location) == [1, 2]


def test_copies_are_read_only(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", one(0).schema).append(one(1))
    elsewhere = shutil.copy(table.metadata_location, tmp_path / "v2.metadata.json")
    copy = shutil.copytree(table.location, tmp_path / "copy")
    before = sorted(pathlib.Path(table.location).rglob("*"))
    for opened in (fz.open_table(elsewhere), fz.open_table(copy), fz.open_table(copy, moved=True)):
        with pytest.raises(fz.InvalidInputError, match="moved=True"):
            opened.append(one(2))
        with pytest.raises(fz.InvalidInputError, match="moved=True"):
            opened.writable_location()
    assert sorted(pathlib.Path(table.location).rglob("*")) == before


def test_a_link_to_a_table_is_the_table(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", one(0).schema)
    (tmp_path / "link").symlink_to(table.location)
    fz.open_table(tmp_path / "link").append(one(1))
    assert ids(table.location) == [1]


def test_a_relative_warehouse_means_the_same_everywhere(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = fz.catalog("c", warehouse="lake")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", one(0).schema)
    assert table.location == str(tmp_path / "lake" / "db" / "t")
    opened = fz.open_table("lake/db/t")
    monkeypatch.chdir("/")
    opened.append(one(1))
    assert ids(table.location) == [1]


def test_a_message_is_committed_once(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", one(0).schema)
    message = table.writer().write(one(1))
    with pytest.raises(fz.InvalidInputError, match="twice"):
        table.commit([message, message])
    table.commit([message])
    table.commit([message])
    assert ids(table.location) == [1]
    assert len(table.snapshots) == 1


def test_an_abort_spares_what_is_in_the_table(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", one(0).schema)
    message = table.writer().write(one(1))
    table.commit([message])
    with pytest.raises(fz.InvalidInputError, match="in the table"):
        table.abort([message])
    assert ids(table.location) == [1]
    given_up = table.writer().write(one(2))
    table.abort([given_up])
    with pytest.raises(fz.InvalidInputError, match="no longer exists"):
        table.commit([given_up])
    assert ids(table.location) == [1]


def test_a_table_of_another_catalog_is_refused_before_anything_is_written(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", one(0).schema)
    numbered = pathlib.Path(table.location) / "metadata" / "00002-abc.metadata.json"
    shutil.copy(table.metadata_location, numbered)
    with pytest.raises(fz.UnsupportedError, match="catalog"):
        fz.open_table(numbered).append(one(1))
    assert not list(pathlib.Path(table.location).glob("data/**/*.parquet"))


def test_wrong_split_offsets_lose_no_rows(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", one(0).schema)
    rows = pa.table({"id": pa.array(range(10), pa.int64())})
    message = table.writer().write(rows)
    text = message.to_json()
    assert '"split-offsets":[4]' in text
    table.commit([fz._core.CommitMessage.from_json(text.replace('"split-offsets":[4]', '"split-offsets":[300]'))])
    assert sum(split.to_arrow_batch_reader().read_all().num_rows for split in table.scan().plan()) == 10
