"""What version 0.1.0 sent to other processes is read as it was meant, and written with the same bytes.

Objects and tables are in `tests/data/wire`; `wire_cases` says what they are. Where a test fails because the bytes are
others on purpose, the old ones still have to be read: keep them, and add new ones.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import pickletools
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
import wire_cases as cases
from wire_cases import GOLDEN, IN_PARTS, IN_SPECIFIED_FORM, MESSAGES, PACKED, SCANS, Place


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with cases.installed() as place:
        yield place


@pytest.fixture(scope="module")
def made(place: Place) -> dict[str, list[Any]]:
    """The same objects, made now."""
    return cases.objects(place)


def expected(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(cases.golden(name))
    return found


def texts(content: bytes) -> list[Any]:
    """What is in pickles, for people: names, texts and numbers."""
    return [arg for _, arg, _ in pickletools.genops(content) if arg is not None]


def check_same(found: bytes, wanted: bytes) -> None:
    """Compares pickles; if they differ, first what is in them."""
    if found != wanted:
        parts = [[texts(pickle.dumps(o, cases.PROTOCOL)) for o in cases.loads(content)] for content in (found, wanted)]
        assert parts[0] == parts[1]
    assert found == wanted


OBJECTS = [
    *("tables", "scans", "writers", "schemas", "expressions", "catalogs"),
    *(f"{kind}_{name}" for name in SCANS for kind in ("tasks", "splits")),
    *(f"parts_{name}" for name in IN_PARTS),
]


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_have_the_same_bytes(place: Place, made: dict[str, list[Any]], name: str) -> None:
    stored = place.golden(f"{name}.pickle")
    loaded = cases.loads(stored)
    assert len(loaded) > 0
    check_same(cases.dumps(loaded), stored)
    check_same(cases.dumps(made[name]), stored)
    if name.startswith(("splits", "parts", "schemas")):
        assert loaded == made[name]


def test_all_objects_are_stored(made: dict[str, list[Any]]) -> None:
    assert set(made) == set(OBJECTS)


# ---------------------------------------------------------------- what they mean


@pytest.mark.parametrize("name", SCANS)
def test_splits_are_read(place: Place, name: str) -> None:
    splits = cases.loads(place.golden(f"splits_{name}.pickle"))
    found = pa.concat_tables([split.to_arrow() for split in splits])
    assert cases.rows_in(place, found) == expected("rows.json")[name]
    for split in splits:
        again = fz.Split.from_json(split.to_json())
        assert (again, again.to_json()) == (split, split.to_json())


@pytest.mark.parametrize("name", IN_PARTS)
def test_parts_are_planned(place: Place, made: dict[str, list[Any]], name: str) -> None:
    parts = cases.loads(place.golden(f"parts_{name}.pickle"))
    found = pa.concat_tables([split.to_arrow() for part in parts for split in part.plan()])
    assert cases.rows_in(place, found) == expected("rows.json")[name]
    assert [part.plan() for part in parts] == [part.plan() for part in made[f"parts_{name}"]]
    # The column `split`, which people may store.
    reader = cases.without_tasks(SCANS[name](place).plan()[0])
    tasks = [bytes(text) for part in parts for text in part.plan_table()["split"].to_pylist()]
    found = pa.concat_tables([cases.unencoded(reader, task).to_arrow() for task in tasks])
    assert cases.rows_in(place, found) == expected("rows.json")[name]


def test_scans_are_read(place: Place) -> None:
    scans = dict(zip(cases.scans(place), cases.loads(place.golden("scans.pickle")), strict=True))
    for name in SCANS:
        assert cases.rows_in(place, scans[name].to_arrow()) == expected("rows.json")[name]
    assert (scans["limited"].row_limit, scans["limited"].to_arrow().num_rows) == (3, 3)


def test_tables_are_opened(place: Place) -> None:
    tables = dict(zip(cases.tables(place), cases.loads(place.golden("tables.pickle")), strict=True))
    for name, table in cases.tables(place).items():
        loaded = tables[name]
        assert (loaded.format, loaded.location) == (table.format, table.location)
        assert (loaded.snapshot, loaded.schema, loaded.properties) == (table.snapshot, table.schema, table.properties)
        assert loaded.scan().count() == table.scan().count()
    assert tables["sql_catalog"].refresh().snapshot == tables["root"].snapshot
    with pytest.raises(fz.InvalidInputError):
        tables["moved"].writable_location()


@pytest.mark.parametrize("name", IN_SPECIFIED_FORM)
def test_tasks_have_the_form_of_the_specification(place: Place, name: str) -> None:
    stored = place.golden(f"file_scan_tasks_{name}.json").decode().split("\n")
    assert [task.to_json() for task in SCANS[name](place).plan_files()] == stored
    for text in stored:
        task = fz.ScanTask.from_json(text)
        assert task.to_json() == text


def test_what_tables_do_not_give_yet(place: Place) -> None:
    """Keys of encrypted files, and a branch of Apache Paimon that is the table itself."""
    first = place.golden("file_scan_tasks_lines.json").decode().split("\n")[0]
    text = first.replace('"split-offsets"', '"key-metadata":"0A0B","split-offsets"', 1)
    assert text != first
    assert fz.ScanTask.from_json(text).to_json() == text
    main = fz.open_table(f"{place.root}/orders")
    assert main.snapshot is not None
    snapshots = [f'"snapshot-id":{snapshot}' for snapshot in (main.snapshot.id, main.refs["side"].snapshot_id)]
    pickled = cases.dumps([main]).replace(b'"branch":"main"', b'"branch":"side"')
    (side,) = cases.loads(pickled.replace(*map(str.encode, snapshots)))
    assert side.scan().to_arrow() == main.scan(at="side").to_arrow()
    assert cases.dumps([side]) == pickled.replace(*map(str.encode, snapshots))


def test_encoded_tasks(place: Place) -> None:
    stored = place.golden("encoded.pickle")
    check_same(cases.dumps(cases.encode(SCANS["events"](place))), stored)
    reader, encoded = cases.loads(stored)
    found = pa.concat_tables([cases.unencoded(reader, tasks).to_arrow() for tasks in encoded])
    assert cases.rows_in(place, found) == expected("rows.json")["events"]


@pytest.mark.parametrize("name", PACKED)
def test_packed_splits(place: Place, name: str) -> None:
    make, of_plans = PACKED[name]
    reader, stored = cases.loads(place.golden(f"packed_{name}.pickle"))
    made_reader, packed = cases.pack(make(place), of_plans)
    check_same(cases.dumps([made_reader]), cases.dumps([reader]))
    assert contents(packed) == contents(stored)
    if not is_compressed(stored):
        assert packed == stored
    splits = make(place).plan()
    assert [cases.unpacked(reader, stored, i) for i in range(len(splits))] == splits
    with pytest.raises(fz.InvalidInputError):
        cases.unpacked(reader, stored, len(splits))


def places_of_chunks(packed: bytes) -> list[tuple[int, int, int]]:
    """Of each chunk the number of splits up to its end, its bytes when it is inflated, and where it ends."""
    assert packed[:4] == b"FZT3"
    count = int.from_bytes(packed[8:12], "little")
    assert zlib.crc32(packed[8 : 12 + 16 * count]) == int.from_bytes(packed[4:8], "little")
    entries = [packed[at : at + 16] for at in range(12, 12 + 16 * count, 16)]
    return [tuple(int.from_bytes(e[a:b], "little") for a, b in ((0, 4), (4, 8), (8, 16))) for e in entries]


def is_compressed(packed: bytes) -> bool:
    return any(size for _, size, _ in places_of_chunks(packed))


def contents(packed: bytes) -> list[tuple[int, bytes]]:
    """Of each chunk the number of splits up to its end and its content. A newer zstandard may compress otherwise."""
    places, out, start = places_of_chunks(packed), [], 0
    data = packed[12 + 16 * len(places) :]
    for splits, size, end in places:
        chunk = data[start:end]
        out.append((splits, pa.decompress(chunk, size, "zstd", asbytes=True) if size else chunk))
        start = end
    return out


# ---------------------------------------------------------------- messages


def test_messages_have_the_same_bytes(place: Place) -> None:
    stored = place.golden("messages.pickle")
    loaded = cases.loads(stored)
    assert len(loaded) == len(MESSAGES)
    check_same(cases.dumps(loaded), stored)
    for message in loaded:
        again = type(message).from_json(message.to_json())
        assert (again, again.to_json()) == (message, message.to_json())


@pytest.mark.parametrize("name", [name for name, message in MESSAGES.items() if message.commit is not None])
def test_messages_are_committed(name: str) -> None:
    with cases.installed_only(MESSAGES[name].folder) as place:
        loaded = dict(zip(MESSAGES, cases.loads(place.golden("messages.pickle")), strict=True))
        found = cases.committed(place, MESSAGES[name], loaded[name])
    assert found == expected("messages_rows.json")[name]


# ---------------------------------------------------------------- the rest


def test_errors_are_loaded() -> None:
    loaded = cases.loads(cases.golden("errors.pickle"))
    for error, made in zip(loaded, cases.errors(), strict=True):
        assert type(error) is type(made)
        assert (str(error), error.kind, error.context, error.hint) == (
            *(str(made), made.kind, made.context, made.hint),
        )


def test_results_are_loaded(place: Place) -> None:
    loaded = cases.loads(place.golden("results.pickle"))
    for found, made in zip(loaded, cases.results(place).values(), strict=True):
        assert type(found) is type(made)
        assert found == made


def state_of(found: object) -> Any:
    """The classes and members of an object, down to what pickles by itself. Members that came later have defaults."""
    if type(found).__module__.startswith("frazil.spark"):
        names = [field.name for field in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else vars(found)
        return type(found), {name: state_of(getattr(found, name)) for name in names}
    return pickle.dumps(found, cases.PROTOCOL)


def test_objects_of_spark_are_loaded(place: Place) -> None:
    """Executors have the driver's version, so these may change; as long as they do not, no job is stopped by it."""
    messages = cases.loads(place.golden("messages.pickle"))
    made = cases.spark_objects(place, messages[0])
    for name, found in zip(made, cases.loads(place.golden("spark.pickle")), strict=True):
        assert state_of(found) == state_of(made[name]), name


def test_other_processes_load_everything(place: Place) -> None:
    """A process that has imported nothing finds all names that are in pickles."""
    code = (
        "import io, pickle, sys\n"
        "content = sys.stdin.buffer.read()\n"
        "stream = io.BytesIO(content)\n"
        "while stream.tell() < len(content):\n"
        "    pickle.load(stream)\n"
    )
    with zipfile.ZipFile(cases.OBJECTS) as archive:
        names = [name for name in archive.namelist() if name.endswith(".pickle")]
    content = b"".join(place.golden(name) for name in names)
    subprocess.run([sys.executable, "-c", code], input=content, check=True)


def test_the_data_is_small() -> None:
    assert sum(file.stat().st_size for file in GOLDEN.iterdir()) < 300_000
