"""Paimon tables that Frazil writes and pypaimon and pypaimon-rust read, and that pypaimon goes on writing."""

import datetime as dt
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_whole

import frazil as fz

PEERS = ["pypaimon", "pypaimon-rust"]
FORMATS = ["parquet", "orc", "avro"]
SIDE = Path(__file__).with_name("pypaimon_side.py")
PEERS_PYTHON = Path(os.environ.get("FRAZIL_PAIMON_PEERS", SIDE.parents[2] / ".venv-pypaimon")) / "bin" / "python"

pytestmark = pytest.mark.skipif(
    not PEERS_PYTHON.exists(), reason="the peers have an environment of their own: make .venv-pypaimon/.tools"
)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("name", pa.string()),
        ("v", pa.int64()),
        ("d", pa.float64()),
        ("day", pa.date32()),
    ]
)
DAYS = [dt.date(2024, 1, 1), dt.date(1969, 12, 31)]


class Peers:
    """A warehouse, and a process of the peers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.catalog = fz.catalog("peers", warehouse=str(self.warehouse))
        self.catalog.create_namespace("db")
        self._numbers = count(1)
        command = [str(PEERS_PYTHON), str(SIDE), str(self.warehouse)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def create(self, options: dict[str, object], key: list[str] | None = None, by: list[str] | None = None) -> str:
        """A table with `SCHEMA`'s columns; returns its name."""
        name = f"db.t{next(self._numbers)}"
        self.catalog.create_table(
            name, SCHEMA, by or [], properties=options, format="paimon", identifier_fields=key or []
        )
        return name

    def ask(self, **request: Any) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the peers' process ended"
        error = json.loads(answer).get("error")
        assert error is None, error

    def read(self, peer: str, name: str) -> list[dict[str, Any]]:
        """All rows, by `id`."""
        to = self.folder / "rows.arrow"
        self.ask(do="read", peer=peer, table=name, to=str(to))
        with pa.ipc.open_file(to) as source:
            return in_order(source.read_all())

    def write(self, name: str, rows: pa.Table, overwrite: dict[str, Any] | None = None) -> None:
        source = self.folder / "written.arrow"
        with pa.ipc.new_file(source, rows.schema) as sink:
            sink.write_table(rows)
        self.ask(**{"do": "write", "table": name, "from": str(source), "overwrite": overwrite})

    def check(self, name: str, wanted: list[dict[str, Any]]) -> None:
        """That Frazil and both peers find these rows."""
        table = self.catalog.load_table(name)
        assert in_order(table.scan().to_arrow()) == wanted, name
        assert_whole(table.location)
        for peer in PEERS:
            assert self.read(peer, name) == wanted, (peer, name)


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=lambda row: row["id"])


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    found = Peers(tmp_path_factory.mktemp("peers"))
    yield found
    found.close()


def rows(start: int, end: int, name: Callable[[int], str | None] = lambda i: f"n{i}" if i % 7 else None) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": i,
                "name": name(i),
                "v": i * 10 if i % 5 else None,
                "d": i / 4 if i % 3 else None,
                "day": DAYS[i % 2],
            }
            for i in range(start, end)
        ],
        SCHEMA,
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_appends(peers: Peers, format_: str) -> None:
    name = peers.create({"file.format": format_}, by=["day"])
    table = peers.catalog.load_table(name)
    table.append(rows(0, 30))
    table.append(rows(30, 40))
    peers.check(name, rows(0, 40).to_pylist())
    peers.write(name, rows(40, 50))
    table.refresh().append(rows(50, 55))
    peers.check(name, rows(0, 55).to_pylist())
    table.refresh().overwrite(rows(100, 101), "day = '2024-01-01'")
    wanted = [row for row in rows(0, 55).to_pylist() if row["day"] != DAYS[0]] + rows(100, 101).to_pylist()
    peers.check(name, wanted)


@pytest.mark.parametrize("format_", FORMATS)
def test_every_type(peers: Peers, format_: str) -> None:
    columns = {
        "id": (pa.int32(), [1, 2, 3]),
        "boolean": (pa.bool_(), [True, False, None]),
        "float": (pa.float32(), [1.5, float("inf"), None]),
        "double": (pa.float64(), [-0.0, 1e300, None]),
        "dec9": (pa.decimal128(9, 2), [Decimal("-1.25"), Decimal("9.99"), None]),
        "dec38": (pa.decimal128(38, 10), [Decimal("1e20"), Decimal("-1e20"), None]),
        "ts": (pa.timestamp("us"), [dt.datetime(2024, 1, 1, 1, 2, 3, 4), dt.datetime(1900, 1, 1), None]),
        "text": (pa.string(), ["äöü日本", "", None]),
        "bytes": (pa.binary(), [b"\x00\xff", b"", None]),
        "list": (pa.list_(pa.int32()), [[1, None], [], None]),
        "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [], None]),
        "row": (pa.struct([("x", pa.int32()), ("s", pa.string())]), [{"x": 1, "s": "s"}, {"x": None, "s": None}, None]),
    }
    table = pa.table({name: pa.array(values, type_) for name, (type_, values) in columns.items()})
    name = f"db.types_{format_}"
    made = peers.catalog.create_table(name, table.schema, properties={"file.format": format_}, format="paimon")
    made.append(table)
    peers.check(name, table.to_pylist())


def test_fixed_buckets(peers: Peers) -> None:
    name = peers.create({"bucket": 4, "bucket-key": "v"})
    table = peers.catalog.load_table(name)
    table.append(rows(0, 40))
    peers.write(name, rows(40, 60))
    table.refresh().append(rows(60, 80))
    peers.check(name, rows(0, 80).to_pylist())
    # Both put a key into the same bucket, or a filter on it would miss rows.
    found = table.refresh().scan("v = 510").to_arrow()
    assert found["id"].to_pylist() == [51]


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_with_a_key(peers: Peers, format_: str) -> None:
    name = peers.create({"bucket": 2, "file.format": format_}, ["id"])
    table = peers.catalog.load_table(name)
    table.append(rows(0, 40))
    table.append(rows(20, 60, lambda i: f"newer {i}"))
    table.delete_keys(pa.table({"id": pa.array([1, 25, 59, 77], pa.int32())}))
    wanted = rows(0, 20).to_pylist() + rows(20, 60, lambda i: f"newer {i}").to_pylist()
    wanted = [row for row in wanted if row["id"] not in (1, 25, 59)]
    peers.check(name, wanted)
    peers.write(name, rows(30, 35, lambda i: "of the peer"))
    table.refresh().upsert(rows(33, 34, lambda i: "newest"))
    newest = {row["id"]: row for row in rows(30, 35, lambda i: "newest" if i == 33 else "of the peer").to_pylist()}
    peers.check(name, [newest.get(row["id"], row) for row in wanted])


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "partial-update"},
        {
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "fields.d.aggregate-function": "max",
            "fields.name.aggregate-function": "last_non_null_value",
        },
        {"sequence.field": "v"},
    ],
    ids=["partial-update", "aggregation", "sequence"],
)
def test_merge_engines(peers: Peers, options: dict[str, object]) -> None:
    name = peers.create({"bucket": 1, **options}, ["id"])
    table = peers.catalog.load_table(name)
    table.append(rows(0, 30))
    table.append(rows(10, 40, lambda i: None if i % 2 else f"b{i}"))
    wanted = in_order(table.refresh().scan().to_arrow())
    assert len(wanted) == 40
    peers.check(name, wanted)


def blobs(ids: range) -> pa.Table:
    pictures = [None if i % 4 == 1 else bytes([i]) * (i * 31) for i in ids]
    return pa.table({"id": pa.array(ids, pa.int32()), "pic": pa.array(pictures, pa.large_binary())})


@pytest.mark.parametrize("size", ["128 mb", "300 b"])
def test_blobs(peers: Peers, size: str) -> None:
    name = f"db.blobs_{size.replace(' ', '')}"
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    options.update({"blob-field": "pic", "blob.target-file-size": size})
    table = peers.catalog.create_table(name, blobs(range(0)).schema, format="paimon", properties=options)
    table.append(blobs(range(20)))
    assert peers.read("pypaimon", name) == blobs(range(20)).to_pylist()
    peers.write(name, blobs(range(20, 40)))
    opened = peers.catalog.load_table(name)
    assert in_order(opened.scan().to_arrow()) == blobs(range(40)).to_pylist()
    # pypaimon records that no blob is null.
    assert opened.scan(filter="pic is null").count() == 10
    assert_whole(opened.location)
