"""Processes that commit to one table at once: nothing is lost or doubled, and all they did was done in some order.

The order is that of the snapshots: every operation says in a log which snapshot it made and what it read there, and a
replay of the log on a plain dictionary must give the same rows at each of them.
"""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import os
import pathlib
import random
import time
from multiprocessing.synchronize import Barrier
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY

PROCESSES, APPENDS = (8, 50) if NIGHTLY else (4, 10)
ROUNDS = 40 if NIGHTLY else 8
SEEDS = range(4) if NIGHTLY else range(1)
POSTGRES = os.environ.get("FRAZIL_TEST_POSTGRES")
KINDS = [
    "filesystem",
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.skipif(not POSTGRES, reason="FRAZIL_TEST_POSTGRES names no database")),
]
KEYS = 4
Rows = dict[int, tuple[int, int]]

pytestmark = pytest.mark.timeout(3600 if NIGHTLY else 300)


def catalog_of(kind: str, folder: pathlib.Path) -> fz.Catalog:
    match kind:
        case "filesystem":
            return fz.catalog("c", type="filesystem", warehouse=folder)
        case "sqlite":
            return fz.catalog("c", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder)
        case _:
            # The folder's name makes the catalog one of its own in a shared database.
            return fz.catalog(f"c-{folder}", type="sql", uri=POSTGRES, warehouse=folder)


def run_at_once(jobs: list[tuple[Any, ...]]) -> None:
    """Runs functions in processes of their own, with their arguments and a barrier at which each waits for all."""
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(len(jobs))
    running = [context.Process(target=function, args=(*rest, start), daemon=True) for function, *rest in jobs]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [p.exitcode for p in running] == [0] * len(running)


# ---------------------------------------------------------------- appends


def append_some(kind: str, folder: pathlib.Path, process: int, start: Barrier) -> None:
    table = catalog_of(kind, folder).load_table("db.t")
    start.wait()
    for n in range(APPENDS):
        table.append(pa.table({"id": pa.array([process * 1000 + n], pa.int64())}))


@pytest.mark.parametrize("kind", KINDS)
def test_appends_of_processes_are_all_there(kind: str, tmp_path: pathlib.Path) -> None:
    catalog = catalog_of(kind, tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    run_at_once([(append_some, kind, tmp_path, p) for p in range(PROCESSES)])
    table.refresh()
    found = table.scan().to_arrow()["id"].to_pylist()
    assert sorted(found) == sorted(p * 1000 + n for p in range(PROCESSES) for n in range(APPENDS))
    assert len(table.snapshots) == PROCESSES * APPENDS
    assert sorted(s.sequence_number for s in table.snapshots) == list(range(1, PROCESSES * APPENDS + 1))
    assert len(list(pathlib.Path(table.location).glob("data/**/*.parquet"))) == PROCESSES * APPENDS
    assert len(list(pathlib.Path(table.location).glob("metadata/snap-*"))) == PROCESSES * APPENDS


# ---------------------------------------------------------------- everything at once


class Worker:
    """One process: it does operations, again where they conflict, and writes down what each did."""

    def __init__(self, kind: str, folder: pathlib.Path, number: int, seed: int, start: Barrier) -> None:
        self.table = catalog_of(kind, folder).load_table("db.t")
        self.random = random.Random(100 * seed + number)
        self.number, self.count = number, 0
        self.log = (folder / f"log-{number}").open("w")
        self.ended = folder / f"ended-{number}"
        start.wait()

    def write(self, **members: Any) -> None:
        self.log.write(json.dumps(members) + "\n")
        self.log.flush()

    def do(self, op: dict[str, Any]) -> Rows | None:
        """Does an operation until it is committed, and reads the version that it made."""
        self.count += 1
        name = f"{self.number}-{self.count}"
        properties = {"op": name}
        for attempt in range(1000):
            try:
                apply(self.table, op, properties)
                break
            except (fz.CommitConflictError, fz.NotFoundError) as error:
                # Not there: a file of a version that expired while the operation read it.
                self.write(conflict=str(error))
                time.sleep(self.random.random() * min(attempt, 20) / 50)
        else:
            raise RuntimeError(f"{op} conflicts for ever")
        snapshot = self.table.snapshot
        made = snapshot is not None and snapshot.summary.get("op") == name
        sequence_number = 0 if snapshot is None else snapshot.sequence_number
        try:
            rows = read(self.table)
        except fz.FrazilError:
            rows = None  # expired meanwhile
        self.write(op=op, made=made, at=sequence_number, rows=None if rows is None else sorted(rows.items()))
        return rows


def apply(table: fz.Table, op: dict[str, Any], properties: dict[str, str]) -> None:
    match op["kind"]:
        case "append":
            table.append(rows_of(op["rows"]), snapshot_properties=properties)
        case "delete":
            table.delete(f"k = {op['k']}", snapshot_properties=properties)
        case "delete-ids":
            table.delete(f"id < {op['below']}", snapshot_properties=properties)
        case "update":
            table.update(f"k = {op['k']}", {"v": op["v"]}, snapshot_properties=properties)
        case "move":
            with table.transaction() as tx:
                tx.update(f"k = {op['k']}", {"k": op["to"]}, snapshot_properties=properties)
        case "upsert":
            table.upsert(rows_of(op["rows"]), on=["id"], snapshot_properties=properties)


def replay(rows: Rows, op: dict[str, Any]) -> Rows:
    match op["kind"]:
        case "append" | "upsert":
            return {**rows, **{i: (k, v) for i, k, v in op["rows"]}}
        case "delete":
            return {i: r for i, r in rows.items() if r[0] != op["k"]}
        case "delete-ids":
            return {i: r for i, r in rows.items() if i >= op["below"]}
        case "update":
            return {i: (r[0], op["v"]) if r[0] == op["k"] else r for i, r in rows.items()}
        case _:
            return {i: (op["to"], r[1]) if r[0] == op["k"] else r for i, r in rows.items()}


def rows_of(rows: list[list[int]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    types = (pa.int64(), pa.int32(), pa.int64())
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["id", "k", "v"])


def read(table: fz.Table, at: int | None = None) -> Rows:
    found = table.scan(at=at).to_arrow().to_pylist()
    rows = {row["id"]: (row["k"], row["v"]) for row in found}
    assert len(rows) == len(found), "a row is there twice"
    return rows


def appender(kind: str, folder: pathlib.Path, number: int, seed: int, start: Barrier) -> None:
    worker = Worker(kind, folder, number, seed, start)
    for n in range(ROUNDS):
        first = number * 1_000_000 + 10 * n
        worker.do({"kind": "append", "rows": [[first + i, worker.random.randrange(KEYS), n] for i in range(3)]})
    worker.ended.touch()


def changer(kind: str, folder: pathlib.Path, number: int, seed: int, start: Barrier) -> None:
    worker = Worker(kind, folder, number, seed, start)
    draw, known = worker.random, []
    for n in range(ROUNDS):
        k = draw.randrange(KEYS)
        # Ids that were there a while ago, and one that nobody else adds.
        some = [*draw.sample(known, min(len(known), 3)), number * 1_000_000 + n]
        ops = [
            {"kind": "delete", "k": k},
            {"kind": "delete-ids", "below": draw.randrange(3) * 1_000_000 + 10 * (n // 2)},
            {"kind": "update", "k": k, "v": 100 * number + n},
            {"kind": "move", "k": k, "to": (k + 1) % KEYS},
            {"kind": "upsert", "rows": [[i, k, 1000 + n] for i in some]},
        ]
        known = sorted(worker.do(draw.choice(ops)) or known)
    worker.ended.touch()


def keeper(kind: str, folder: pathlib.Path, number: int, seed: int, start: Barrier) -> None:
    """Compacts, rewrites manifests and expires, as long as others work."""
    worker = Worker(kind, folder, number, seed, start)
    maintain = worker.table.maintain
    n = 0
    while len(list(folder.glob("ended-*"))) < number:
        n += 1
        time.sleep(0.2)
        try:
            match n % 3:
                case 0:
                    done = maintain.compact(rewrite_all=n % 2 == 0, max_commits=2, min_input_files=2)
                    worker.write(replaced=done.commits, conflict=done.failed)
                case 1:
                    worker.write(replaced=int(bool(maintain.rewrite_manifests().added)))
                case _:
                    maintain.expire_snapshots(older_than=dt.timedelta(0), retain_last=10)
        except (fz.CommitConflictError, fz.NotFoundError) as error:
            worker.write(conflict=str(error))


MODES = [(2, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("version", "mode"), MODES)
@pytest.mark.parametrize("kind", KINDS if NIGHTLY else KINDS[:1])
def test_all_is_as_if_done_one_by_one(kind: str, version: int, mode: str, seed: int, tmp_path: pathlib.Path) -> None:
    catalog = catalog_of(kind, tmp_path)
    catalog.create_namespace("db")
    modes = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    properties = {"format-version": version, "commit.manifest.min-count-to-merge": "5", **modes}
    schema = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("v", pa.int64())])
    partitions = ["k"] if seed % 2 else []
    table = catalog.create_table("db.t", schema, partition_by=partitions, properties=properties)
    work = [appender, appender, appender, changer, changer, keeper]
    run_at_once([(job, kind, tmp_path, number, seed) for number, job in enumerate(work)])
    lines = [json.loads(line) for path in sorted(tmp_path.glob("log-*")) for line in path.read_text().splitlines()]
    check_history(table.refresh(), lines)
    check_files(table)


def check_history(table: fz.Table, lines: list[dict[str, Any]]) -> None:
    """Replays what the processes say that they did."""
    done = [line for line in lines if "op" in line]
    assert len(done) == 5 * ROUNDS, "every operation ended"
    by_snapshot = {line["at"]: line for line in done if line["made"]}
    assert len(by_snapshot) == sum(line["made"] for line in done), "each made a snapshot of its own"
    last = max(s.sequence_number for s in table.snapshots)
    others = set(range(1, last + 1)) - set(by_snapshot)
    kept = {s.sequence_number: s for s in table.snapshots}
    assert len(others) >= sum(line.get("replaced", 0) for line in lines)
    states: dict[int, Rows] = {0: {}}
    for number in range(1, last + 1):
        line = by_snapshot.get(number)
        states[number] = states[number - 1] if line is None else replay(states[number - 1], line["op"])
        if line is None and number in kept:
            assert kept[number].operation == "replace"
    for line in done:
        if line["rows"] is not None:
            rows = {i: tuple(row) for i, row in line["rows"]}
            assert rows == states[line["at"]], f"at {line['at']}: {line['op']}"
        if not line["made"]:
            assert replay(states[line["at"]], line["op"]) == states[line["at"]], f"nothing to do for {line['op']}"
    for snapshot in table.snapshots:
        assert read(table, snapshot.id) == states[snapshot.sequence_number]
    print(
        f"{last} snapshots, {len(others)} of maintenance, {sum(bool(line.get('conflict')) for line in lines)} conflicts"
    )


def check_files(table: fz.Table) -> None:
    """Only what no process needs any more is an orphan, and removing those harms nothing."""
    before = read(table)
    live = set(table.inspect.all_files()["file_path"].to_pylist()) | set(
        table.inspect.all_manifests()["path"].to_pylist()
    )
    gone = table.maintain.remove_orphan_files(older_than=dt.timedelta(0))
    assert not live & set(gone.files)
    assert read(table.refresh()) == before
    if table.format_version >= 3:
        ids = table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist()
        assert len(set(ids)) == len(ids)
        assert None not in ids
