"""Repairs of Paimon tables: each mends its planted fault, leaves the right rows, and can be rolled back."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from doctor_faults import cut, rewritten
from frazil import doctor
from paimon_faults import SCHEMA, Json, Planted, appended, keyed, with_vectors

ALL = set(range(100))
FIRST, SECOND = set(range(50)), set(range(50, 100))


def opened(t: Planted) -> fz.Table:
    return fz.open_table(t.root)


def keys(t: Planted) -> list[int]:
    found: list[int] = sorted(opened(t).scan(select=["k"]).to_arrow().column("k").to_pylist())
    return found


def files(t: Planted) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in t.root.rglob("*") if path.is_file()}


def codes(t: Planted, **options: Any) -> set[str]:
    return {finding.code for finding in doctor.examine(t.root, **options).findings if finding.severity != "info"}


def vectors(t: Planted) -> set[str]:
    """The data files that have a deletion vector."""
    name = t.snapshot().get("indexManifest")
    if name is None:
        return set()
    with (t.root / "manifest" / name).open("rb") as file:
        ranges = [r for entry in fastavro.reader(file) for r in entry["_DELETIONS_VECTORS_RANGES"] or []]
    return {r["f0"] for r in ranges}


def file_of(t: Planted, key: int) -> Path:
    """The data file with a row."""
    (task,) = [
        task
        for task in opened(t).scan().plan_files()
        if key in stored_keys(Path(task.data_file.path.removeprefix("file:")))
    ]
    return Path(task.data_file.path.removeprefix("file:"))


def stored_keys(path: Path) -> set[int]:
    return set(pq.read_table(path, columns=["k"], partitioning=None).column("k").to_pylist())


def with_two_vectors(tmp_path: Path) -> Planted:
    """Two files, each with a deleted row. Their vectors are in one index file."""
    planted = appended(tmp_path)
    opened(planted).delete("k in (7, 57)")
    assert len(vectors(planted)) == 2
    return planted


def plain(tmp_path: Path) -> Planted:
    """Two files without deletion vectors. Then a row of the first is deleted, which writes that file again."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {"bucket": "-1", "manifest.compression": "deflate"}
    table = catalog.create_table("db.p", SCHEMA, properties=properties, format="paimon")
    for rows in (FIRST, SECOND):
        table.append(pa.table({"k": sorted(rows), "v": ["x"] * 50}, SCHEMA))
        table = table.refresh()
    table.delete("k = 7")
    return Planted(table)


def in_partitions(tmp_path: Path) -> Planted:
    """Two partitions of one commit: the keys below 50 in `a`, the others in `b`."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {"bucket": "-1", "manifest.compression": "deflate"}
    table = catalog.create_table("db.p", SCHEMA, ["v"], properties=properties, format="paimon")
    table.append(pa.table({"k": list(range(100)), "v": ["a"] * 50 + ["b"] * 50}, SCHEMA))
    return Planted(table)


def listed(**members: Any) -> Callable[[Planted], object]:
    return lambda t: t.lists(lambda manifests: manifests[0].update(members))


def ranges(change: Callable[[list[Json]], object]) -> Callable[[Planted], object]:
    """Edits the deletion vectors of the first index file."""

    def edit(entries: list[Json]) -> None:
        change(entries[0]["_DELETIONS_VECTORS_RANGES"])

    return lambda t: t.indexes(edit)


def another(vectors_of_file: list[Json]) -> None:
    vectors_of_file.append(vectors_of_file[0] | {"f0": "data-unknown.parquet"})


def renamed(vectors_of_file: list[Json]) -> None:
    vectors_of_file[0]["f0"] = "data-unknown.parquet"


class Fault(NamedTuple):
    """A fault, and what its repair does."""

    code: str
    repair: str
    make: Callable[[Path], Planted]
    plant: Callable[[Planted], object]
    action: str
    left: set[int]
    # The sum of the files' rows after the repair, rows with deletion vectors included.
    total: int
    rows_lost: int = 0
    kind: str = "COMPACT"


WITHOUT = "Lost files: 1. The number of their rows is unknown"
AGAIN = "writes it again from its entries"
OUT = "takes it out of the table"
FAULTS = {
    "too many files": Fault("manifest-counts", "manifests", appended, listed(_NUM_ADDED_FILES=5), AGAIN, ALL, 100),
    "hidden files": Fault("manifest-counts", "manifests", appended, listed(_NUM_ADDED_FILES=0), AGAIN, ALL, 100),
    "hidden removal": Fault("manifest-counts", "manifests", plain, listed(_NUM_DELETED_FILES=0), AGAIN, ALL - {7}, 99),
    "wrong length": Fault("manifest-length", "manifests", appended, listed(_FILE_SIZE=3), AGAIN, ALL, 100),
    "wrong levels": Fault("manifest-ranges", "manifests", keyed, listed(_MIN_LEVEL=3, _MAX_LEVEL=3), AGAIN, ALL, 100),
    "manifest lost": Fault(
        "manifest-missing", "manifests", appended, lambda t: t.manifest_path().unlink(), WITHOUT, FIRST, 50
    ),
    "manifest damaged": Fault(
        "manifest-damaged", "manifests", appended, lambda t: cut(t.manifest_path()), WITHOUT, FIRST, 50
    ),
    "file lost": Fault(
        "file-missing", "lost-files", appended, lambda t: t.data_path().unlink(), OUT, FIRST, 50, 50, "OVERWRITE"
    ),
    "file cut off": Fault(
        "file-truncated", "lost-files", appended, lambda t: cut(t.data_path()), OUT, FIRST, 50, 50, "OVERWRITE"
    ),
    "file damaged": Fault(
        "file-damaged",
        "lost-files",
        appended,
        lambda t: t.data_path().write_bytes(b"x" * t.data_path().stat().st_size),
        OUT,
        FIRST,
        50,
        50,
        "OVERWRITE",
    ),
    "file with a vector lost": Fault(
        "file-missing", "lost-files", with_vectors, lambda t: file_of(t, 0).unlink(), OUT, SECOND, 50, 50, "OVERWRITE"
    ),
    "file with one of two vectors lost": Fault(
        "file-missing",
        "lost-files",
        with_two_vectors,
        lambda t: file_of(t, 0).unlink(),
        OUT,
        SECOND - {57},
        50,
        50,
        "OVERWRITE",
    ),
    "one vector too many": Fault(
        "vector-unknown-file",
        "dangling-deletes",
        with_vectors,
        ranges(another),
        "the deletion vector of data-unknown.parquet",
        ALL - {7},
        100,
    ),
    "vector of no file": Fault(
        "vector-unknown-file",
        "dangling-deletes",
        with_vectors,
        ranges(renamed),
        "the deletion vector of data-unknown.parquet",
        ALL,
        100,
    ),
    "wrong total": Fault(
        "snapshot-totals",
        "summaries",
        appended,
        lambda t: t.edit(t.newest(), lambda s: s.update(totalRecordCount=7)),
        "to 100 instead of 7",
        ALL,
        100,
    ),
}


def forget_history(t: Planted) -> None:
    """Expires all other snapshots, which still name what is lost."""
    opened(t).maintain.expire_snapshots(dt.timedelta(0), retain_last=1)
    assert [path.name for path in (t.root / "snapshot").glob("snapshot-*")] == [t.newest().name]


@pytest.mark.parametrize("name", FAULTS)
def test_each_repair_mends_its_fault(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    t = fault.make(tmp_path)
    fault.plant(t)
    assert fault.code in codes(t)
    before, number = files(t), t.snapshot()["id"]
    planned = opened(t).repair(fault.repair)
    assert files(t) == before, "a dry run changed something"
    assert planned.dry_run
    (step,) = planned.steps
    assert (step.repair, step.rows_lost) == (fault.repair, fault.rows_lost)
    assert fault.action in step.action

    done = opened(t).repair(fault.repair, dry_run=False, snapshot_properties={"why": "a test"})
    assert done.steps == planned.steps
    assert keys(t) == sorted(fault.left)
    made = t.snapshot()
    assert (made["id"], made["commitKind"], made["totalRecordCount"]) == (number + 1, fault.kind, fault.total)
    assert made["properties"] == {"why": "a test"}
    assert opened(t).repair(fault.repair, dry_run=False).steps == []
    assert t.snapshot() == made

    opened(t).rollback(number)
    assert t.snapshot()["id"] == number
    assert fault.code in codes(t), "the rollback brings the fault back"
    assert opened(t).repair(fault.repair, dry_run=False).steps == planned.steps
    if fault.code == "manifest-damaged":
        # Expiry reads the manifests of the snapshots that it removes, or finds them missing.
        (t.root / "manifest" / planned.steps[0].object).unlink()
    forget_history(t)
    assert codes(t, deep=True) == set()
    assert keys(t) == sorted(fault.left)


def test_the_vector_of_a_lost_file_leaves_with_it(tmp_path: Path) -> None:
    t = with_two_vectors(tmp_path)
    lost, kept = file_of(t, 0), file_of(t, 50)
    lost.unlink()
    opened(t).repair("lost-files", dry_run=False)
    assert vectors(t) == {kept.name}
    # The index file has no other vectors than those that are listed.
    assert [vector["row_count"] for vector in opened(t).inspect.table_indexes().to_pylist()] == [1]
    assert codes(t, deep=True) <= {"file-missing"}, "older snapshots name the file"


def test_the_rest_of_a_manifest_is_kept(tmp_path: Path) -> None:
    t = in_partitions(tmp_path)
    path = t.manifest_path()
    with path.open("rb") as file:
        kept, gone = [entry["_FILE"]["_FILE_NAME"] for entry in fastavro.reader(file)]
    left = sorted(stored_keys(next(t.root.rglob(kept))))
    assert left in (sorted(FIRST), sorted(SECOND))
    assert next(t.root.rglob(gone))
    rewritten(path, lambda entries: entries.pop())
    # A file that was cut off between two blocks is shorter than recorded and has fewer entries.
    t.lists(lambda manifests: manifests[0].update(_FILE_SIZE=10**6))
    assert "manifest-damaged" in codes(t)
    (step,) = opened(t).repair("manifests", dry_run=False).steps
    assert (step.object, step.action) == (
        path.name,
        "writes it again from the entries that are left. Lost entries: 1",
    )
    assert keys(t) == left
    assert t.snapshot()["totalRecordCount"] == 50


def test_removals_of_lost_additions_leave_with_them(tmp_path: Path) -> None:
    t = plain(tmp_path)
    lost = t.manifest_path("baseManifestList")
    with lost.open("rb") as file:
        (entry,) = fastavro.reader(file)
    assert (entry["_KIND"], entry["_FILE"]["_ROW_COUNT"]) == (0, 50)
    lost.unlink()
    opened(t).repair("manifests", dry_run=False)
    # The only file of the lost manifest was removed already.
    assert keys(t) == sorted(ALL - {7})
    assert t.snapshot()["totalRecordCount"] == 99
    forget_history(t)
    assert codes(t) == set()


def test_a_manifest_that_removes_files_is_not_left_out(tmp_path: Path) -> None:
    t = plain(tmp_path)
    path = t.manifest_path()
    path.unlink()
    before = files(t)
    for dry_run in (True, False):
        with pytest.raises(fz.UnsupportedError, match="removes 1 files, which would come back") as caught:
            opened(t).repair("manifests", dry_run=dry_run)
        assert path.name in str(caught.value)
        assert "rollback" in str(caught.value)
    assert files(t) == before
    opened(t).rollback(2)
    assert keys(t) == sorted(ALL)


def test_older_rows_come_back_with_a_lost_file(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {"bucket": "1", "manifest.compression": "deflate"}
    table = catalog.create_table("db.k", SCHEMA, properties=properties, format="paimon", identifier_fields=["k"])
    for value in ("old", "new"):
        table.append(pa.table({"k": list(range(10)), "v": [value] * 10}, SCHEMA))
        table = table.refresh()
    t = Planted(table)
    t.data_path().unlink()
    (step,) = opened(t).repair("lost-files", dry_run=False).steps
    assert (step.action, step.rows_lost) == ("takes it out of the table: older rows of its keys come back", 10)
    found = opened(t).scan().to_arrow().sort_by("k").to_pylist()
    assert found == [{"k": k, "v": "old"} for k in range(10)]


@pytest.mark.parametrize("make", [appended, with_vectors, with_two_vectors, plain, keyed])
def test_a_whole_table_needs_no_repair(make: Callable[[Path], Planted], tmp_path: Path) -> None:
    t = make(tmp_path)
    before = files(t)
    for dry_run in (True, False):
        assert opened(t).repair(dry_run=dry_run).steps == []
    assert files(t) == before


def test_a_table_without_snapshots_needs_no_repair(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.e", SCHEMA, format="paimon")
    assert table.repair(dry_run=False).steps == []
    assert table.snapshot is None


@pytest.mark.parametrize(
    ("hint", "content", "right", "code"),
    [
        ("LATEST", "1", "2", "hint-latest"),
        ("LATEST", "x", "2", "hint-latest"),
        ("LATEST", "77", "2", "hint-latest"),
        ("EARLIEST", "77", "1", "hint-earliest"),
        ("EARLIEST", "", "1", "hint-earliest"),
    ],
)
def test_hints(hint: str, content: str, right: str, code: str, tmp_path: Path) -> None:
    t = appended(tmp_path)
    table = opened(t)
    path = t.root / "snapshot" / hint
    path.write_text(content)
    assert code in codes(t)
    before = files(t)
    (step,) = table.repair("refs").steps
    assert (step.repair, Path(step.object.removeprefix("file:")).name) == ("refs", hint)
    assert (step.action, step.rows_lost) == (f"writes {right} instead of '{content}'", 0)
    assert files(t) == before
    assert table.repair("refs", dry_run=False).steps == [step]
    assert path.read_text() == right
    assert codes(t) == set()
    assert t.snapshot()["id"] == 2, "a hint is no commit"
    assert keys(t) == sorted(ALL)


def test_consumers_are_left_alone(tmp_path: Path) -> None:
    t = appended(tmp_path)
    consumers = {"damaged": "x", "early": '{"nextSnapshot": 0}', "good": '{"nextSnapshot": 2}'}
    (t.root / "consumer").mkdir()
    for name, content in consumers.items():
        (t.root / "consumer" / f"consumer-{name}").write_text(content)
    before = files(t)
    assert opened(t).repair(dry_run=False).steps == []
    assert files(t) == before
    found = [finding for finding in doctor.examine(t.root).findings if finding.code == "consumer-damaged"]
    assert len(found) == 2
    assert all("maintain.reset_consumer()" in finding.remedy for finding in found)
    for name in ("damaged", "early"):
        opened(t).maintain.reset_consumer(name, 2)
    assert codes(t) == set()


def test_all_repairs_at_once(tmp_path: Path) -> None:
    t = with_vectors(tmp_path)
    index, lost = t.index_path().name, file_of(t, 0).name
    manifests = {}
    with t.list_path("baseManifestList").open("rb") as file:
        for listed_manifest in fastavro.reader(file):
            path = t.root / "manifest" / listed_manifest["_FILE_NAME"]
            with path.open("rb") as entries:
                manifests.update({entry["_FILE"]["_FILE_NAME"]: path for entry in fastavro.reader(entries)})
    manifests[lost].unlink()
    t.edit(t.newest(), lambda s: s.update(totalRecordCount=7))
    (t.root / "snapshot" / "LATEST").write_text("1")
    before = files(t)
    planned = opened(t).repair()
    assert files(t) == before
    assert [(step.repair, step.object.rsplit("/", 1)[-1]) for step in planned.steps] == [
        ("refs", "LATEST"),
        ("manifests", manifests[lost].name),
        ("dangling-deletes", index),
    ]
    done = opened(t).repair(dry_run=False)
    assert done.steps == planned.steps
    assert keys(t) == sorted(SECOND)
    assert vectors(t) == set()
    assert t.snapshot()["totalRecordCount"] == 50
    forget_history(t)
    assert codes(t, deep=True) == set()


def test_lost_files_can_only_be_found_with_all_manifests(tmp_path: Path) -> None:
    t = appended(tmp_path)
    t.manifest_path().unlink()
    before = files(t)
    for dry_run in (True, False):
        with pytest.raises(fz.CorruptTableError, match=r"repair\('manifests'\)"):
            opened(t).repair("lost-files", dry_run=dry_run)
    assert files(t) == before


def test_vectors_of_hidden_files_stay(tmp_path: Path) -> None:
    t = with_vectors(tmp_path)
    t.lists(lambda manifests: manifests[0].update(_NUM_ADDED_FILES=0), "baseManifestList")
    # The list of the first snapshot has another record of the same manifest.
    assert "manifest-counts" in codes(t)
    before = files(t)
    for kind in ("dangling-deletes", "lost-files", "summaries"):
        with pytest.raises(fz.CorruptTableError, match=r"repair\('manifests'\)"):
            opened(t).repair(kind, dry_run=False)
    assert files(t) == before
    planned = opened(t).repair()
    assert [step.repair for step in planned.steps] == ["manifests"]
    assert opened(t).repair(dry_run=False).steps == planned.steps
    assert keys(t) == sorted(ALL - {7})


def test_repairs_beside_appends_lose_nothing(tmp_path: Path) -> None:
    t = appended(tmp_path)
    listed(_NUM_ADDED_FILES=5)(t)
    table, failures = opened(t), []

    def append() -> None:
        try:
            for i in range(6):
                opened(t).append(pa.table({"k": [1000 + i], "v": ["x"]}, SCHEMA))
        except Exception as e:
            failures.append(e)

    others = threading.Thread(target=append)
    others.start()
    try:
        table.repair("manifests", dry_run=False)
    except fz.CommitConflictError:
        # Too many appends came first. Nothing is repaired, and nothing is lost.
        pass
    finally:
        others.join()
    assert failures == []
    assert keys(t) == [*range(100), *range(1000, 1006)]
    opened(t).repair("manifests", dry_run=False)
    assert keys(t) == [*range(100), *range(1000, 1006)]
    assert t.snapshot()["totalRecordCount"] == 106
    forget_history(t)
    assert codes(t) == set()


def test_files_of_an_unknown_schema_stay(catalog: fz.Catalog) -> None:
    """A schema file that is lost can be restored. The data files are whole."""
    table = catalog.create_table("db.s", pa.schema([("id", pa.int64())]), format="paimon")
    table.append(pa.table({"id": [1, 2]}))
    table.update_schema().add_column("v", "string").commit()
    table.append(pa.table({"id": [3], "v": ["x"]}))
    path = Path(table.location.removeprefix("file://"), "schema", "schema-0")
    kept = path.read_bytes()
    path.unlink()
    assert {finding.code for finding in doctor.examine(table.location).errors} == {"schema-missing"}
    with pytest.raises(fz.FrazilError):
        table.repair("lost-files", dry_run=False)
    path.write_bytes(kept)
    assert sorted(fz.open_table(table.location).scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
