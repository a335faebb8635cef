"""What travels between processes, made of tables that are stored: handles, scans, tasks, splits, parts of plans.

`tests/data/wire/tables.tar.gz` has tables that say they are in the folder `PLACE`. `installed` puts them into a new
folder whose path has as many bytes, and writes that path into every file: no file of a table is compressed that has
paths in it. So the same object has the same bytes each time, but for the folder. `objects.zip` has the objects.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import pickle
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import frazil as fz
from frazil import _core, col, exceptions, maintain

DATA = Path(__file__).parent.parent / "data"
GOLDEN = DATA / "wire"
TABLES, OBJECTS = GOLDEN / "tables.tar.gz", GOLDEN / "objects.zip"
# Where stored tables and stored objects say that they are: the parent, and a name of this length.
FOLDER, PREFIX = "/tmp", "frazil-wire-"
PLACE = f"{FOLDER}/{PREFIX}00000000"
# What the table says that is read as one that was moved. As long as the other.
RECORDED = "/srv/frazil-wire-recorded"
PAIMON_FIXTURES = ("orders", "accounts")
PROTOCOL = 4


@dataclass(frozen=True)
class Place:
    """A folder with the tables."""

    root: str

    def here(self, stored: bytes) -> bytes:
        """Stored bytes with this folder's path."""
        return _replaced(stored, PLACE, self.root)

    def stored(self, found: bytes) -> bytes:
        """Bytes as they are stored."""
        return _replaced(found, self.root, PLACE)

    def golden(self, name: str) -> bytes:
        """A stored object with this folder's path."""
        return self.here(golden(name))

    def table(self, name: str, **more: Any) -> fz.Table:
        return fz.open_table(f"{self.root}/warehouse/db/{name}", **more)

    def moved(self, name: str) -> fz.Table:
        return fz.open_table(f"{self.root}/moved/{name}", moved=True)

    def paimon(self, name: str, **more: Any) -> fz.Table:
        return fz.open_table(f"{self.root}/paimon/db.db/{name}", **more)

    def fixture(self, name: str) -> fz.Table:
        return fz.open_table(f"{self.root}/{name}")

    def catalog(self) -> fz.Catalog:
        return fz.catalog("files", type="filesystem", warehouse=f"{self.root}/warehouse")

    def paimon_catalog(self) -> fz.Catalog:
        return fz.catalog("paimon", type="filesystem", warehouse=f"{self.root}/paimon")

    def sql_catalog(self) -> fz.Catalog:
        """A catalog in a database that has the table `events`."""
        catalog = fz.catalog("sql", type="sql", uri=f"sqlite:///{self.root}/catalog.db", warehouse=f"{self.root}/sql")
        catalog.create_namespace("db", if_not_exists=True)
        if not catalog.table_exists("db.events"):
            catalog.register_table("db.events", self.metadata_file("events"))
        return catalog

    def metadata_file(self, name: str) -> str:
        files = sorted(Path(self.root, "warehouse", "db", name, "metadata").glob("*.metadata.json"))
        return str(max(files, key=lambda file: int(file.name.removeprefix("v").split(".")[0])))


@contextlib.contextmanager
def new_folder() -> Iterator[Place]:
    """An empty folder whose path has as many bytes as `PLACE`."""
    root = tempfile.mkdtemp(prefix=PREFIX, dir=FOLDER)
    assert len(root) == len(PLACE), root
    try:
        yield Place(root)
    finally:
        shutil.rmtree(root)


@contextlib.contextmanager
def installed_only(folder: str) -> Iterator[Place]:
    """A single table in a new folder."""
    with new_folder() as place:
        with tarfile.open(TABLES) as tables:
            own = [member for member in tables if member.name.startswith(f"{folder}/")]
            tables.extractall(place.root, own, filter="data")
        _replace(Path(place.root), PLACE, place.root)
        yield place


@contextlib.contextmanager
def installed() -> Iterator[Place]:
    """The tables in a new folder."""
    with new_folder() as place:
        with tarfile.open(TABLES) as tables:
            tables.extractall(place.root, filter="data")
        for name in PAIMON_FIXTURES:
            shutil.copytree(DATA / "paimon" / name, Path(place.root, name))
        shutil.copytree(Path(place.root, "warehouse", "db"), Path(place.root, "moved"))
        _replace(Path(place.root, "moved"), f"{PLACE}/warehouse/db", f"{RECORDED}/warehouse/db")
        _replace(Path(place.root, "warehouse"), PLACE, place.root)
        yield place


def _replace(folder: Path, old: str, new: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(_replaced(file.read_bytes(), old, new))


def _replaced(content: bytes, old: str, new: str) -> bytes:
    """Bytes with another path, of the same length; in texts paths are hexadecimal where they are bounds of columns."""
    before, after = old.encode(), new.encode()
    assert len(before) == len(after)
    content = content.replace(before, after)
    return content.replace(before.hex().upper().encode(), after.hex().upper().encode())


def golden(name: str) -> bytes:
    """A stored object."""
    with zipfile.ZipFile(OBJECTS) as archive:
        return archive.read(name)


def dumps(objects: Iterable[Any]) -> bytes:
    """Objects pickled each by itself, so that what they share is not shared in the bytes."""
    return b"".join(pickle.dumps(found, PROTOCOL) for found in objects)


def loads(content: bytes) -> list[Any]:
    """What `dumps` was given."""
    stream, found = io.BytesIO(content), []
    while stream.tell() < len(content):
        found.append(pickle.load(stream))
    return found


# ---------------------------------------------------------------- what is read

# Filters with a literal of each type.
OF_TYPES = (
    "b = true and i > -8 and l <= 1152921504606846976 and f < 2.5 and d >= -0.5 and dec = -12.340 "
    "and date = '1969-12-31' and ts > '2023-01-01T00:00:00' and tstz < '2000-01-01T00:00:00Z' "
    "and s like 'ż%' and u = '00000000-0000-0000-0000-000000000007' and fix = X'000102' and bin != X'ff'"
)
OF_WORDS = (
    "(id in (1, 2, 3, 5, 8) or not (payload.a is null) or score is nan) and country not in ('XX', 'YY') "
    "and amount is not null and country not like 'Q%' and score is not nan"
)

SCANS: dict[str, Callable[[Place], fz.Scan]] = {
    # Partition specs, position and equality deletes, columns that were dropped, renamed and widened.
    "events": lambda p: p.table("events").scan(),
    "events_filtered": lambda p: p.table("events").scan(OF_WORDS, ["id", "payload.tags", "note"]),
    "events_tag": lambda p: p.table("events").scan(at="first"),
    "events_branch": lambda p: p.table("events").scan(at="side"),
    "events_metadata_columns": lambda p: p.table("events").scan(select=["id", "_file", "_pos", "_deleted"]),
    "events_options": lambda p: p.table("events", storage_options={"s3.region": "eu-north-1"}).scan(
        "COUNTRY = 'NO'", options={"case-sensitive": "false", "batch-rows": "2", "split-size": "700"}
    ),
    "events_moved": lambda p: p.moved("events").scan("country = 'NO'"),
    "events_since": lambda p: p.table("events").scan(at="second", since="first"),
    "events_changes": lambda p: p.table("events").changes(since="first"),
    # Row ids and deletion vectors.
    "lines": lambda p: p.table("lines").scan(select=["id", "v", "_row_id", "_last_updated_sequence_number"]),
    "lines_changes": lambda p: p.table("lines").changes("_change_type != 'insert' and _change_ordinal > 0"),
    # A name mapping; other formats of data files; partition values and literals of each type.
    "mapped": lambda p: p.table("mapped").scan(),
    "formats": lambda p: p.table("formats").scan("id > 1"),
    "types": lambda p: p.table("types").scan(OF_TYPES),
    "parted": lambda p: p.table("parted").scan(),
    # Partitions of a column that is gone, which had another type in some of them.
    "gone": lambda p: p.table("gone").scan(),
    # Apache Paimon: plain files and several schemas, runs to be merged, deletion vectors, changelogs.
    "paimon_log": lambda p: p.paimon("log").scan("id > 1"),
    "paimon_log_at": lambda p: p.paimon("log").scan(at=1),
    "paimon_keyed": lambda p: p.paimon("keyed").scan(),
    "paimon_keyed_filtered": lambda p: p.paimon("keyed").scan("id < 4 and v > 1", ["v", "id"]),
    "paimon_keyed_changes": lambda p: p.paimon("keyed").changes(),
    "paimon_merged": lambda p: p.paimon("merged").scan(),
    "paimon_vectors": lambda p: p.paimon("vectors").scan(),
    "paimon_tracked": lambda p: p.paimon("tracked").scan(
        select=["id", "v", "_row_id", "_last_updated_sequence_number"]
    ),
    "paimon_orders": lambda p: p.fixture("orders").scan("id > 4"),
    "paimon_orders_branch": lambda p: p.fixture("orders").scan(at="side"),
    "paimon_accounts": lambda p: p.fixture("accounts").scan("id > 4"),
    "paimon_accounts_changes": lambda p: p.fixture("accounts").changes(since=1),
    # Runs that are there at both ends.
    "paimon_difference": lambda p: p.fixture("accounts").changes(
        since=1, at=3, options={"incremental-between-scan-mode": "diff"}
    ),
    "paimon_options": lambda p: p.paimon("log", storage_options={"s3.region": "eu-north-1"}).scan(
        options={"batch-rows": "3"}
    ),
}
# Those that a plan can be made of in parts.
IN_PARTS = ("events", "events_filtered", "events_branch", "events_moved", "lines", "types", "parted")
# The specification has a form for each task of these.
IN_SPECIFIED_FORM = ("events", "events_filtered", "lines", "mapped", "formats", "types", "parted", "paimon_log")


def tables(p: Place) -> dict[str, fz.Table]:
    """Tables, opened in each way that there is."""
    return {
        "root": p.table("events"),
        "uri": fz.open_table(f"file://{p.root}/warehouse/db/events"),
        "metadata_file": fz.open_table(p.metadata_file("events")),
        "moved": p.moved("events"),
        "storage_options": p.table("events", storage_options={"s3.region": "eu-north-1", "s3.access-key-id": "me"}),
        "filesystem_catalog": p.catalog().load_table("db.events"),
        "sql_catalog": p.sql_catalog().load_table("db.events"),
        "empty": p.table("empty"),
        "version_3": p.table("lines"),
        "paimon": p.paimon("log"),
        "paimon_storage_options": p.paimon("log", storage_options={"s3.region": "eu-north-1"}),
        "paimon_catalog": p.paimon_catalog().load_table("db.keyed"),
        "paimon_empty": p.paimon("empty"),
        "paimon_fixture": p.fixture("orders"),
    }


def writers(p: Place) -> list[Any]:
    """Writers of both formats."""
    events, keyed = p.table("events"), p.paimon("keyed")
    return [events.writer(), events.writer(7, "side", ["id desc"], overwrite=True), keyed.writer(3, overwrite=True)]


def scans(p: Place) -> dict[str, fz.Scan]:
    """Scans that have not been planned."""
    limited = p.table("events").scan("id > 1").where(col("id") < 9).select("id").limit(3)
    timed = p.table("events").scan(at=dt.datetime(2200, 1, 1, tzinfo=dt.timezone.utc))
    return {**{name: SCANS[name](p) for name in SCANS}, "limited": limited, "timed": timed}


def schemas(p: Place) -> list[fz.Schema]:
    """Schemas with all types, fields ids, comments and defaults."""
    return [t.schema for t in (p.table("events"), p.table("types"), p.table("lines"), p.paimon("log"))]


def expressions() -> list[Any]:
    """Filters and terms."""
    return [col("a.b"), col("x") > 5, (col("x") == "it's") & ~col("y").is_null() | col("z").is_in([1, 2])]


def objects(p: Place) -> dict[str, list[Any]]:
    """All that is pickled and has the same bytes each time, by name."""
    found: dict[str, list[Any]] = {"tables": list(tables(p).values()), "scans": list(scans(p).values())}
    found |= {"writers": writers(p), "schemas": schemas(p), "expressions": expressions()}
    found["catalogs"] = [p.catalog(), p.sql_catalog(), p.paimon_catalog()]
    for name, scan in SCANS.items():
        found[f"tasks_{name}"] = list(scan(p).plan_files())
        found[f"splits_{name}"] = scan(p).plan()
    for name in IN_PARTS:
        found[f"parts_{name}"] = SCANS[name](p).plan_parts(1)
    return found


def rows_in(p: Place, found: pa.Table) -> list[str]:
    """Rows as texts, sorted; paths as they are stored."""
    return sorted(p.stored(repr(tuple(row.values())).encode()).decode() for row in found.to_pylist())


# ---------------------------------------------------------------- splits in few bytes, for executors


def pack(scan: fz.Scan, of_plans: bool) -> tuple[fz.Split, bytes]:
    """A scan's splits packed, and the split without tasks that reads them; `of_plans`: without an object for each."""
    if of_plans:
        packed = scan._core.splits_or_packed(1)
        assert isinstance(packed, _core.PackedSplits)
        return fz.Split(packed.reader()), packed.packed()
    splits = scan._core.splits_or_packed()
    assert isinstance(splits, list)
    return without_tasks(fz.Split(splits[0])), _core.Split.pack_tasks(splits)


def encode(scan: fz.Scan) -> tuple[fz.Split, list[bytes]]:
    """A scan's splits without what they share, and the split without tasks that reads them."""
    splits = scan._core.splits_or_packed()
    assert isinstance(splits, list)
    return without_tasks(fz.Split(splits[0])), _core.Split.encode_tasks(splits)


def without_tasks(split: fz.Split) -> fz.Split:
    """What the tasks of a split share."""
    return unencoded(split, b'{"specs": [], "tasks": []}')


def unpacked(reader: fz.Split, packed: bytes, index: int) -> fz.Split:
    """A split out of packed ones."""
    return fz.Split(reader._core.with_packed_tasks(packed, index))


def unencoded(reader: fz.Split, tasks: bytes) -> fz.Split:
    """A split out of its tasks."""
    return fz.Split(reader._core.with_tasks(tasks.decode()))


# Of tables that were moved: in packed splits the paths of files are not texts, and have checksums.
PACKED: dict[str, tuple[Callable[[Place], fz.Scan], bool]] = {
    "plain": (lambda p: p.moved("plain").scan("v > 1"), False),
    "planned": (lambda p: p.moved("plain").scan("v > 1", options={"split-size": "1200", "file-open-cost": "1"}), True),
    "types": (lambda p: p.moved("parted").scan(), True),
    "deletes": (lambda p: p.moved("events").scan(), False),
    "changes": (lambda p: p.moved("events").changes(since="first"), False),
}


# ---------------------------------------------------------------- messages that were written and not committed


@dataclass(frozen=True)
class Message:
    """What a writer gives, and what becomes of it; `commit` is None where no public call takes it."""

    folder: str
    write: Callable[[fz.Table], Any]
    commit: Callable[[fz.Table, Any], Any] | None = lambda table, message: table.commit([message])

    def table(self, p: Place) -> fz.Table:
        return fz.open_table(f"{p.root}/{self.folder}")


def rows(*ids: int, g: str = "b", v: int = 7) -> pa.Table:
    """Rows of the tables that messages are for."""
    return pa.table({"id": pa.array(ids, pa.int64()), "g": [g] * len(ids), "v": pa.array([v] * len(ids), pa.int32())})


def keys(*ids: int) -> pa.Table:
    return rows(*ids).select(["id", "g"])


def _places(table: fz.Table) -> pa.Table:
    return table.scan("id = 2", ["_file", "_pos"]).to_arrow()


def _of_group(table: fz.Table) -> fz.Scan:
    """What a rewrite takes in."""
    columns = ["id", "g", "v"] + (["_row_id", "_last_updated_sequence_number"] if table.format_version == 3 else [])
    return table.scan("g = 'b'", columns)


def _rewritten(table: fz.Table, message: Any) -> None:
    scan = _of_group(table)
    assert scan.snapshot_id is not None
    table.commit_rewrite(list(scan.plan_files()), [message], at=scan.snapshot_id)


def _part(table: fz.Table) -> Any:
    """What an executor of Spark gives for a part of a delete."""
    change = _core.RowChange.Delete("id = 2")
    _, files = table._core.change_files(change, None)
    return table._core.write_file_part(change, [path for path, _ in files], None, 8)


LOGGED = rows(8, 9).append_column("note", pa.array(["x", None]))
TARGET, TARGET3 = "warehouse/db/target", "warehouse/db/target3"
MESSAGES: dict[str, Message] = {
    "append": Message(TARGET, lambda t: t.writer(1).write(rows(5, 6))),
    "append_sorted": Message(TARGET, lambda t: t.writer(2, sort_by=["id desc"]).write(rows(5, 6, 7))),
    "overwrite": Message(
        TARGET,
        lambda t: t.writer(3, overwrite=True).write(rows(9)),
        lambda t, message: t.commit_overwrite([message], "g = 'b'"),
    ),
    "upsert": Message(TARGET, lambda t: t.writer(4).upsert(rows(2, 8), ["id", "g"])),
    "delete_keys": Message(TARGET, lambda t: t.writer(5).delete_keys(keys(2, 3), ["id", "g"])),
    "delete_positions": Message(TARGET, lambda t: t.writer(6).delete_positions(_places(t))),
    "rewrite": Message(TARGET, lambda t: t.writer(7).rewrite(_of_group(t).to_arrow()), _rewritten),
    "part": Message(TARGET, _part, None),
    "append_v3": Message(TARGET3, lambda t: t.writer(1).write(rows(5, 6))),
    "delete_positions_v3": Message(TARGET3, lambda t: t.writer(6).delete_positions(_places(t))),
    "rewrite_v3": Message(TARGET3, lambda t: t.writer(7).rewrite(_of_group(t).to_arrow()), _rewritten),
    "paimon_append": Message("paimon/db.db/log", lambda t: t.writer(1).write(LOGGED)),
    "paimon_keyed": Message("paimon/db.db/keyed", lambda t: t.writer(2).write(rows(2, 9))),
    "paimon_delete_keys": Message("paimon/db.db/keyed", lambda t: t.writer(3).delete_keys(rows(2).select(["id"]))),
    "paimon_dynamic": Message("paimon/db.db/dynamic", lambda t: t.writer(4).write(rows(2, 9))),
    "paimon_overwrite": Message(
        "paimon/db.db/keyed",
        lambda t: t.writer(5, overwrite=True).write(rows(2, 9)),
        lambda t, message: t.commit_overwrite([message]),
    ),
}


def committed(p: Place, message: Message, written: Any) -> list[str]:
    """The rows of a message's table when it has been committed."""
    table = message.table(p)
    assert message.commit is not None
    message.commit(table, written)
    return rows_in(p, message.table(p).scan().to_arrow())


# ---------------------------------------------------------------- the rest: compared as objects, not by their bytes


def errors() -> list[fz.FrazilError]:
    """One of each class."""
    classes = sorted(exceptions.BY_KIND.values(), key=lambda cls: cls.kind)
    return [cls(f"it is {cls.kind}", {"path": "/x", "column": "y"}, "Do this") for cls in (fz.FrazilError, *classes)]


def results(p: Place) -> dict[str, Any]:
    """What verbs give, as far as it has no times of this moment in it."""
    events = p.table("events")
    return {
        "snapshots": list(events.snapshots),
        "fields": events.schema.fields,
        "spec": events.partition_spec,
        "order": p.table("target").sort_order,
        "estimate": events.scan().estimate(),
        "compacted": maintain.Compacted(1, 2, 3, 4, 5, 6, ["why"], 7, 8),
        "expired": maintain.ExpiredSnapshots(
            [1], ["r"], ["d"], ["p"], ["e"], ["m"], ["l"], ["s"], True, {"f": "w"}, [2]
        ),
        "orphans": maintain.OrphanFiles(["f"], True, {"f": "why"}),
        "deletes": maintain.RewrittenDeletes(1, 2, 3, 4),
        "manifests": maintain.RewrittenManifests(["a"], ["b"]),
        "columns": maintain.ColumnStatistics(1, "path", 2, {"id": 3}),
        "partitions": maintain.PartitionStatistics(1, "path", 2),
    }


def spark_objects(p: Place, message: Any) -> dict[str, Any]:
    """What Spark's executors get and give."""
    from frazil.spark import changes, datasource, functions, jobs, lanes, parts, planning, streaming, write

    events = p.table("events")
    split, table = events.scan().plan()[0], events._core
    job = write.WriteJob(branch="side", properties={"a": "b"}, id="job", operation="overwrite", where="id = 1")
    change = changes.ChangeJob(events, '{"change": "delete"}', "id = 1", jobs.Job(id="job"), message, ("id", "v"))
    return {
        "read_tasks": lanes.ReadTasks(without_tasks(split)),
        "read_packed_tasks": lanes.ReadPackedTasks(without_tasks(split)),
        "plan": planning.PlanOnExecutors(),
        "plan_tasks": planning.PlanTasksOnExecutors(),
        "do_parts": parts.DoParts(table, "compact_part", "job"),
        "read_rows": parts.ReadRows(table, "list_part", ["key", "path", "error"]),
        "transform": functions.Transform("bucket", 16),
        "transform_texts": functions.TransformTexts(functions.Transform("day")),
        "partition": datasource.SplitPartition(split),
        "reader": datasource.FrazilReader(events.scan("id > 1")),
        "stream_partition": streaming._Rows(split),
        "stream_written": streaming._StreamWritten(message, "query"),
        "writer": write.FrazilWriter(events, job),
        "written": write.Written(message),
        "change_job": change,
        "change_writer": changes.ChangeWriter(change),
        "changed": changes.Changed([message]),
    }
