"""The doctor of Paimon tables: each planted fault has its code, and whole tables have no errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from doctor_faults import cut, encrypt_footer, twice
from frazil import doctor
from paimon_faults import Json, Planted, appended, keyed, with_vectors

Fault = Callable[[Planted], object]


def on(change: Callable[[Json], object]) -> Fault:
    return lambda t: t.edit(t.newest(), change)


def listed(**members: Any) -> Fault:
    return lambda t: t.lists(lambda manifests: manifests[0].update(members))


def file(**members: Any) -> Fault:
    return lambda t: t.file(lambda f: f.update(members))


def keys_of(t: Planted) -> tuple[bytes, bytes]:
    with t.manifest_path().open("rb") as source:
        found = next(iter(fastavro.reader(source)))["_FILE"]
    return found["_MIN_KEY"], found["_MAX_KEY"]


def overlap(t: Planted) -> None:
    low, high = keys_of(t)
    for which in ("baseManifestList", "deltaManifestList"):
        t.file(lambda f: f.update(_LEVEL=3, _MIN_KEY=low, _MAX_KEY=high), which)
        t.lists(lambda ms: ms[0].update(_MIN_LEVEL=None, _MAX_LEVEL=None) if "_MIN_LEVEL" in ms[0] else None, which)


def swapped_keys(t: Planted) -> None:
    low, high = keys_of(t)
    t.file(lambda f: f.update(_MIN_KEY=high, _MAX_KEY=low))


def other_rows(t: Planted) -> None:
    path = t.data_path()
    pq.write_table(pq.read_table(path, partitioning=None).slice(1), path)
    size = path.stat().st_size
    t.file(lambda f: f.update(_FILE_SIZE=size))


def vector(change: Callable[[Json], object]) -> Fault:
    def edit(entries: list[Json]) -> None:
        for entry in entries:
            for of_file in entry.get("_DELETIONS_VECTORS_RANGES") or []:
                change(of_file)

    return lambda t: t.indexes(edit)


def consumer(content: str) -> Fault:
    def plant(t: Planted) -> None:
        (t.root / "consumer").mkdir()
        (t.root / "consumer" / "consumer-c").write_text(content)

    return plant


Make = Callable[[Path], Planted]

# Names of faults, their codes, the tables, and how they are planted.
FAULTS: dict[str, tuple[str, Make, Fault]] = {
    "schema cut off": ("schema-damaged", appended, lambda t: cut(t.root / "schema/schema-0")),
    "schema deleted": ("schema-missing", appended, lambda t: (t.root / "schema/schema-0").unlink()),
    "schema of a snapshot": ("schema-missing", appended, on(lambda s: s.update(schemaId=9))),
    "snapshot cut off": ("snapshot-damaged", appended, lambda t: cut(t.newest())),
    "snapshot of another number": ("snapshot-damaged", appended, on(lambda s: s.update(id=9))),
    "snapshot missing between": (
        "snapshot-gap",
        with_vectors,
        lambda t: (t.root / "snapshot/snapshot-2").unlink(),
    ),
    "snapshot from before": ("snapshot-time", appended, on(lambda s: s.update(timeMillis=1))),
    "hint to the newest": ("hint-latest", appended, lambda t: (t.root / "snapshot/LATEST").write_text("1")),
    "hint to the oldest": ("hint-earliest", appended, lambda t: (t.root / "snapshot/EARLIEST").write_text("77")),
    "tag cut off": (
        "tag-damaged",
        appended,
        lambda t: ((t.root / "tag").mkdir(), (t.root / "tag/tag-old").write_text("{")),
    ),
    "consumer damaged": ("consumer-damaged", appended, consumer("x")),
    "consumer too old": ("consumer-damaged", appended, consumer('{"nextSnapshot": 0}')),
    "list deleted": ("manifest-list-missing", appended, lambda t: t.list_path().unlink()),
    "list cut off": ("manifest-list-damaged", appended, lambda t: cut(t.list_path())),
    "manifest deleted": ("manifest-missing", appended, lambda t: t.manifest_path().unlink()),
    "manifest cut off": ("manifest-damaged", appended, lambda t: cut(t.manifest_path())),
    "manifest of another length": ("manifest-length", appended, listed(_FILE_SIZE=3)),
    "wrong counts": ("manifest-counts", appended, listed(_NUM_ADDED_FILES=5)),
    "levels that hide files": ("manifest-ranges", keyed, listed(_MIN_LEVEL=3, _MAX_LEVEL=3)),
    "entry twice": ("duplicate-file", appended, lambda t: t.entries(twice)),
    "removal of no file": (
        "entry-contradiction",
        appended,
        lambda t: t.entries(lambda es: es[0].update(_KIND=1)),
    ),
    "negative rows": ("manifest-damaged", appended, file(_ROW_COUNT=-1)),
    "negative level": ("entry-impossible", keyed, file(_LEVEL=-3)),
    "sequence numbers the wrong way round": (
        "entry-impossible",
        keyed,
        file(_MIN_SEQUENCE_NUMBER=99, _MAX_SEQUENCE_NUMBER=1),
    ),
    "keys the wrong way round": ("key-range", keyed, swapped_keys),
    "no key": ("key-range", keyed, file(_MIN_KEY=b"x")),
    "levels overlap": ("level-overlap", keyed, overlap),
    "row ids twice": ("row-ids-overlap", appended, file(_FIRST_ROW_ID=10)),
    "row ids from the future": ("next-row-id", appended, file(_FIRST_ROW_ID=10**6)),
    "wrong totals": ("snapshot-totals", appended, on(lambda s: s.update(totalRecordCount=7))),
    "data file deleted": ("file-missing", appended, lambda t: t.data_path().unlink()),
    "data file cut off": ("file-truncated", appended, lambda t: cut(t.data_path())),
    "data file overwritten": (
        "file-damaged",
        appended,
        lambda t: t.data_path().write_bytes(b"x" * t.data_path().stat().st_size),
    ),
    "data file with an encrypted footer": ("file-unsupported", appended, lambda t: encrypt_footer(t.data_path())),
    "data file longer": ("file-longer", appended, file(_FILE_SIZE=100)),
    "other rows": ("row-count", appended, other_rows),
    "index manifest deleted": (
        "index-manifest",
        with_vectors,
        lambda t: (t.root / "manifest" / t.snapshot()["indexManifest"]).unlink(),
    ),
    "index file deleted": ("index-file-missing", with_vectors, lambda t: t.index_path().unlink()),
    "index file cut off": ("index-file-damaged", with_vectors, lambda t: cut(t.index_path())),
    "vector outside": ("index-file-damaged", with_vectors, vector(lambda v: v.update(f1=10**6))),
    "vector of no file": ("vector-unknown-file", with_vectors, vector(lambda v: v.update(f0="data-x.parquet"))),
    "vector with too many rows": ("vector-count", with_vectors, vector(lambda v: v.update(_CARDINALITY=10**6))),
    "two vectors": ("two-vectors", with_vectors, lambda t: t.indexes(twice)),
    "changelog list deleted": (
        "changelog-damaged",
        keyed,
        lambda t: t.list_path("changelogManifestList").unlink(),
    ),
    "stray file": ("file-outside", appended, lambda t: (t.root / "bucket-0" / "data-x.parquet").write_bytes(b"x")),
}


def examined(t: Planted, **options: Any) -> doctor.Diagnosis:
    return doctor.examine(t.root, outside=True, **options)


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_has_its_code(name: str, tmp_path: Path) -> None:
    code, make, plant = FAULTS[name]
    planted = make(tmp_path)
    assert code not in examined(planted).codes, "found before it was planted"
    plant(planted)
    found = examined(planted)
    assert code in found.codes, (name, str(found))


@pytest.mark.parametrize("make", [appended, with_vectors, keyed])
def test_a_whole_table_has_no_errors(make: Make, tmp_path: Path) -> None:
    planted = make(tmp_path)
    for deep in (False, True):
        found = examined(planted, deep=deep)
        assert not found.errors + found.warnings, str(found)
    assert examined(planted, deep=True).examined["deep"] > 0
