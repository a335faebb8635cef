"""Paimon tables that Frazil has repaired are whole for Java: it reads their rows, and goes on writing."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pytest
from paimon_java import Paimon, PaimonTable, PaimonType

COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "v": "STRING"}
OPTIONS = {"manifest.compression": "null"}
MERGING = {"manifest.full-compaction-threshold-size": "1 b"}


def appended(paimon: Paimon, **options: str) -> PaimonTable:
    """Three files of two rows."""
    table = paimon.create("repaired", COLUMNS, options=OPTIONS | options)
    for first in (1, 11, 21):
        table.write([(first, "a"), (first + 1, "b")])
    return table


def with_vectors(paimon: Paimon) -> PaimonTable:
    """Three files, the second row of each is deleted."""
    table = appended(paimon, **{"deletion-vectors.enabled": "true"})
    table.delete_positions([1])
    return table


def ids(table: PaimonTable) -> list[int]:
    return sorted(table.read().rows.column("id").to_pylist())


def newest(table: PaimonTable) -> dict[str, Any]:
    number = table.load().snapshotManager().latestSnapshotId()
    found: dict[str, Any] = json.loads((table.root / "snapshot" / f"snapshot-{number}").read_text("utf-8"))
    return found


def records(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [record for record in fastavro.reader(file) if isinstance(record, dict)]


def manifests(table: PaimonTable) -> list[Path]:
    """The manifests of the newest snapshot, the oldest first."""
    names = []
    for which in ("baseManifestList", "deltaManifestList"):
        names += [m["_FILE_NAME"] for m in records(table.root / "manifest" / newest(table)[which])]
    return [table.root / "manifest" / name for name in names]


def edited(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Changes the records of an Avro file."""
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        found: list[Any] = list(reader)
        schema = reader.writer_schema
    change(found)
    with path.open("wb") as file:
        fastavro.writer(file, schema, found)


def edited_snapshot(table: PaimonTable, **members: object) -> None:
    snapshot = newest(table)
    path = table.root / "snapshot" / f"snapshot-{snapshot['id']}"
    path.write_text(json.dumps(snapshot | members), "utf-8")


def edited_list(table: PaimonTable, **members: object) -> None:
    """Changes the first record of the newest snapshot's own list, and the list's recorded length."""
    path = table.root / "manifest" / newest(table)["deltaManifestList"]
    edited(path, lambda found: found[0].update(members))
    edited_snapshot(table, deltaManifestListSize=path.stat().st_size)


def file_of(table: PaimonTable, row: int) -> Path:
    (name,) = table.read(("=", "id", row)).files
    return next(table.root.rglob(name))


def repaired(table: PaimonTable, kind: str, rows_lost: Sequence[int] = (0,)) -> None:
    done = table.open().repair(kind, dry_run=False)
    assert [(step.repair, step.rows_lost) for step in done.steps] == [(kind, n) for n in rows_lost]


def goes_on(table: PaimonTable, wanted: list[int], compacts: bool = False) -> None:
    """Java reads these rows, Frazil the same, and both append."""
    assert ids(table) == wanted
    table.check(None, whole=False)
    # Older snapshots still lead to what is lost.
    table.open().maintain.expire_snapshots(dt.timedelta(0), retain_last=1)
    assert not [f for f in table.open().doctor().findings if f.severity != "info"]
    table.write([(100, "java")], options=MERGING)
    opened = table.open()
    opened.append(opened.scan("id = 100").to_arrow().set_column(0, "id", [[101]]).cast(opened.schema.to_arrow()))
    assert ids(table) == [*wanted, 100, 101]
    if compacts:
        table.compact()
    assert ids(table) == [*wanted, 100, 101]
    table.check(None, whole=False)


def test_a_lost_data_file(paimon: Paimon) -> None:
    table = appended(paimon)
    file_of(table, 11).unlink()
    with pytest.raises(Exception, match=r"NotFound|not exist|No such file"):
        ids(table)
    repaired(table, "lost-files", [2])
    assert newest(table)["commitKind"] == "OVERWRITE"
    goes_on(table, [1, 2, 21, 22])


def test_a_lost_data_file_with_a_deletion_vector(paimon: Paimon) -> None:
    table = with_vectors(paimon)
    file_of(table, 1).unlink()
    repaired(table, "lost-files", [2])
    assert ids(table) == [11, 21]
    # Java reads all vectors of an index file one after the other when it deletes more rows.
    table.delete_positions([0])
    assert ids(table) == []
    goes_on(table, [])


def test_a_lost_manifest(paimon: Paimon) -> None:
    table = appended(paimon)
    manifests(table)[1].unlink()
    with pytest.raises(Exception, match=r"NotFound|not exist|No such file"):
        ids(table)
    repaired(table, "manifests")
    snapshot = newest(table)
    assert (snapshot["commitKind"], snapshot["totalRecordCount"], snapshot["deltaRecordCount"]) == ("COMPACT", 4, 0)
    goes_on(table, [1, 2, 21, 22])


def test_a_lost_manifest_whose_files_were_compacted(paimon: Paimon) -> None:
    table = paimon.create("repaired", COLUMNS, ["id"], options=OPTIONS | {"bucket": "1"})
    table.write([(1, "a"), (2, "b")])
    table.write([(2, "c"), (3, "d")], compact=True)
    before = manifests(table)
    (first,) = records(before[0])
    assert (first["_KIND"], first["_FILE"]["_LEVEL"]) == (0, 0)
    before[0].unlink()
    repaired(table, "manifests")
    # Java's checks of conflicts read all entries of the bucket.
    goes_on(table, [1, 2, 3], compacts=True)


@pytest.mark.parametrize("wrong", [{"_NUM_ADDED_FILES": 0}, {"_NUM_ADDED_FILES": 7}, {"_FILE_SIZE": 3}])
def test_a_wrong_record_of_a_manifest(paimon: Paimon, wrong: dict[str, int]) -> None:
    table = appended(paimon)
    edited_list(table, **wrong)
    repaired(table, "manifests")
    goes_on(table, [1, 2, 11, 12, 21, 22])


def test_wrong_levels_of_a_manifest(paimon: Paimon) -> None:
    table = paimon.create("repaired", COLUMNS, ["id"], options=OPTIONS | {"bucket": "1"})
    table.write([(1, "a"), (2, "b")])
    edited_list(table, _MIN_LEVEL=4, _MAX_LEVEL=4)
    repaired(table, "manifests")
    goes_on(table, [1, 2], compacts=True)


def test_a_deletion_vector_of_no_file(paimon: Paimon) -> None:
    table = with_vectors(paimon)

    def plant(found: list[dict[str, Any]]) -> None:
        ranges = found[0]["_DELETIONS_VECTORS_RANGES"]
        ranges.append(ranges[0] | {"f0": "data-unknown.parquet"})

    edited(table.root / "manifest" / newest(table)["indexManifest"], plant)
    repaired(table, "dangling-deletes")
    assert newest(table)["commitKind"] == "COMPACT"
    assert ids(table) == [1, 11, 21]
    table.delete_positions([0])
    goes_on(table, [])


def test_a_wrong_number_of_rows(paimon: Paimon) -> None:
    table = appended(paimon)
    edited_snapshot(table, totalRecordCount=77)
    repaired(table, "summaries")
    assert newest(table)["totalRecordCount"] == 6
    goes_on(table, [1, 2, 11, 12, 21, 22])


@pytest.mark.parametrize(("hint", "wrong", "right"), [("EARLIEST", "9", "1"), ("LATEST", "1", "3")])
def test_a_wrong_hint(paimon: Paimon, hint: str, wrong: str, right: str) -> None:
    table = appended(paimon)
    path = table.root / "snapshot" / hint
    path.write_text(wrong)
    repaired(table, "refs")
    assert path.read_text() == right
    manager = table.load().snapshotManager()
    assert (manager.earliestSnapshotId(), manager.latestSnapshotId()) == (1, 3)
    goes_on(table, [1, 2, 11, 12, 21, 22])
