"""Ctrl-C at any moment of any long verb: it raises `KeyboardInterrupt`, commits nothing and leaves no file.

Each verb runs in a process of its own. That process first runs the verb to its end, to know how long it takes. Then it
runs the verb again and again on the same table, and interrupts each run at another moment. The rows and the files of
the table must be as before. No time is asserted; `HANG` only ends a process that never comes back. The test prints
its longest wait (`pytest -rP` shows it).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import frazil as fz
from conftest import NIGHTLY

ROWS = 40_000
LARGE = 1_000_000
"""Rows of one chunk or row group, which takes a while by itself."""
ROUNDS = 8 if NIGHTLY else 3
HANG = 600

Verb = Callable[[fz.Table], Any]


def rows(first: int, count: int) -> pa.Table:
    """Rows in one chunk. Their order is not that of `x`."""
    ids = np.arange(first, first + count)
    x = (ids * 7919) % 100_003
    return pa.table({"id": ids, "x": x.astype(float), "s": pa.array(x.astype(str)), "p": ids % 3})


@cache
def large(first: int) -> pa.Table:
    return rows(first, LARGE).combine_chunks()


@cache
def wide() -> pa.Table:
    """More bytes than a sort holds in memory."""
    found = rows(ROWS, ROWS)
    return found.set_column(2, "s", pc.utf8_rpad(found["s"], 4000, "x")).combine_chunks()


def paths(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# Verbs that change rows, files or metadata in one commit. All change the table below.
CHANGES: dict[str, Verb] = {
    "append": lambda t: t.append(rows(ROWS, ROWS)),
    "sorted append": lambda t: t.append(rows(ROWS, ROWS), sort_by=["x", "s desc"]),
    "overwrite": lambda t: t.overwrite(rows(0, ROWS)),
    "upsert": lambda t: t.upsert(rows(ROWS // 2, ROWS).set_column(1, "x", pa.array(np.zeros(ROWS))), on=["id"]),
    "merge": lambda t: t.merge(
        rows(ROWS // 2, ROWS), on=["id"], when_matched_delete=True, when_not_matched_insert=True
    ),
    "delete": lambda t: t.delete("x > 50000"),
    "update": lambda t: t.update("x > 50000", {"s": "new"}),
}
ICEBERG: dict[str, Verb] = {
    **CHANGES,
    "bin-pack": lambda t: t.maintain.compact(rewrite_all=True),
    "sort": lambda t: t.maintain.compact("sort", sort_by=["x"], rewrite_all=True),
    "z-order": lambda t: t.maintain.compact("zorder", zorder_by=["x", "s"], rewrite_all=True),
    "add files": lambda t: t.add_files(sorted((Path(t.location).parent / "loose").glob("*.parquet"))),
    "distinct values": lambda t: t.maintain.compute_statistics(),
    "rewrite manifests": lambda t: t.maintain.rewrite_manifests(),
    "overwrite partitions": lambda t: t.overwrite_partitions(rows(0, ROWS)),
    "transaction": lambda t: in_a_transaction(t),
    "overwrite by its own rows": lambda t: t.overwrite(t.scan("x + 1 > 50000")),
    "append of a generator": lambda t: t.append(rows(ROWS + 1000 * part, 1000) for part in range(20)),
    "writer": lambda t: t.commit([t.writer().write(rows(ROWS, ROWS))]),
    "append of a large chunk": lambda t: t.append(large(ROWS)),
    "sort that spills": lambda t: t.append(wide(), sort_by=["x", "s desc"]),
}
DELTAS: dict[str, Verb] = {
    **{name: CHANGES[name] for name in ("upsert", "merge", "delete", "update")},
    "delete keys": lambda t: t.delete_keys(rows(0, ROWS // 2).select(["id"]), on="id"),
    "delete positions": lambda t: t.delete_positions(t.scan("x > 50000", select=["_file", "_pos"]).to_arrow()),
    "rewrite position deletes": lambda t: t.maintain.rewrite_position_deletes(rewrite_all=True),
    "convert equality deletes": lambda t: t.maintain.convert_equality_deletes(),
    "compact": lambda t: t.maintain.compact(rewrite_all=True),
}
KEYED: dict[str, Verb] = {
    "append": CHANGES["append"],
    "overwrite": CHANGES["overwrite"],
    "upsert": lambda t: t.upsert(rows(ROWS // 2, ROWS)),
    "merge": CHANGES["merge"],
    "delete": CHANGES["delete"],
    "update": CHANGES["update"],
    "compact": lambda t: t.maintain.compact("full"),
    "rewrite manifests": lambda t: t.maintain.rewrite_manifests(),
}
PLAIN: dict[str, Verb] = {name: verb for name, verb in CHANGES.items() if name != "sorted append"}
PLAIN["compact"] = lambda t: t.maintain.compact()

# Verbs that rewrite a file of one large row group, and one page for each column.
GROUP: dict[str, Verb] = {
    "delete": lambda t: t.delete("x = 50000 or s = '50000'"),
    "upsert": lambda t: t.upsert(rows(LARGE // 2, 100), on=["id"]),
}
if NIGHTLY:
    GROUP["sort"] = lambda t: t.maintain.compact("sort", sort_by=["x"], rewrite_all=True)
    KEYED["append of a large chunk"] = PLAIN["append of a large chunk"] = lambda t: t.append(large(ROWS))

# Verbs that delete files one by one. What they have not deleted, they delete the next time.
DELETES: dict[str, Verb] = {
    "expire snapshots": lambda t: t.maintain.expire_snapshots(retain_last=1, older_than=soon()),
    "remove orphan files": lambda t: t.maintain.remove_orphan_files(older_than=soon()),
}

# Verbs that only read. They are short, so they are repeated until the interrupt comes.
READS: dict[str, Verb] = {
    "to_arrow": lambda t: t.scan().to_arrow(),
    "to_arrow without rows": lambda t: t.scan("x = 0.5").to_arrow(),
    "to_pandas": lambda t: t.scan().to_pandas(),
    "count": lambda t: t.scan("x > 50000.5").count(),
    "plan_table": lambda t: t.scan().plan_table(),
    "statistics": lambda t: t.scan("x > 50000.5").statistics("x", "id"),
    "batches": lambda t: list(t.scan("x > 50000.5")),
    "to_polars": lambda t: t.scan().to_polars(),
    "lazy Polars": lambda t: t.scan().to_polars(lazy=True).filter(pl.col("x") > 50000.5).collect(),
    "explain": lambda t: t.scan("x > 50000.5").explain(),
    "changes": lambda t: t.changes(since=t.snapshots[0].id).to_arrow(),
    "diff of rows": lambda t: t.diff(t.snapshots[0].id, t.snapshots[-1].id, rows=True),
    "doctor": lambda t: t.doctor(deep=True),
    "report": lambda t: t.report(page_of(t)),
    "metadata": lambda t: t.inspect.data_files(),
}

KINDS: dict[str, dict[str, Verb]] = {
    "iceberg": {**ICEBERG, **DELETES, **READS},
    "iceberg-group": {**GROUP, **{name: READS[name] for name in ("to_arrow", "to_arrow without rows", "count")}},
    "iceberg-orc": {name: CHANGES[name] for name in ("append", "sorted append")},
    "iceberg-deletes": {**DELTAS, **{name: READS[name] for name in ("to_arrow", "count", "doctor", "diff of rows")}},
    # Frazil removes no orphans of Paimon's tables that are younger than this moment.
    "paimon-keyed": {**KEYED, "expire snapshots": DELETES["expire snapshots"], **READS},
    "paimon-plain": PLAIN,
}


def page_of(table: fz.Table) -> Path:
    """A file for a page, in a folder of its own, which may hold nothing else at the end."""
    (folder := Path(os.environ["TMPDIR"]).parent / "pages").mkdir(exist_ok=True)
    return folder / "page.html"


def in_a_transaction(table: fz.Table) -> None:
    """Adds rows and deletes others in one commit."""
    with table.transaction() as transaction:
        transaction.append(rows(ROWS, ROWS))
        transaction.delete("x > 50000")


def soon() -> dt.datetime:
    """A time after which no file was made yet."""
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)


def made(kind: str, folder: Path) -> fz.Table:
    """A table of four commits, with some files that no snapshot names."""
    catalog = fz.catalog("c", type="filesystem", warehouse=folder)
    catalog.create_namespace("db")
    more: dict[str, Any] = {}
    if kind.startswith("paimon"):
        more = {"format": "paimon", "properties": {"bucket": "2", "compaction.min.file-num": "2"}}
        if kind == "paimon-plain":
            more["properties"] = {"bucket": "-1", "compaction.min.file-num": "2", "deletion-vectors.enabled": "true"}
        else:
            more["identifier_fields"] = ["id"]
    elif kind == "iceberg-orc":
        more = {"properties": {"write.format.default": "orc"}}
    elif kind == "iceberg-deletes":
        modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
        more = {"properties": modes}
    table = catalog.create_table("db.t", rows(0, 1).schema, **more)
    if kind == "iceberg-group":
        path = Path(table.location) / "data" / "group.parquet"
        path.parent.mkdir()
        whole: Any = {"row_group_size": LARGE, "write_batch_size": LARGE, "data_page_size": 1 << 30}
        pq.write_table(large(0), path, use_dictionary=False, compression="zstd", **whole)
        return table.add_files([path])
    for part in range(4):
        table.append(rows(part * ROWS // 4, ROWS // 4))
    if kind == "iceberg-deletes":
        table.delete("id % 7 = 0 and x < 50000")
        table.delete("id % 11 = 0 and x < 50000")
        table.delete_keys(rows(0, 1000).select(["id"]), on="id")
    if kind == "iceberg":
        loose = Path(table.location).parent / "loose"
        loose.mkdir()
        for part in range(20):
            pq.write_table(rows(2 * ROWS + 100 * part, 100), loose / f"{part}.parquet")
    for orphan in range(30):
        folder = Path(table.location) / ("data" if kind.startswith("iceberg") else "bucket-0")
        folder.mkdir(exist_ok=True)
        (folder / f"data-orphan-{orphan}.parquet").write_bytes(b"nothing")
    return table


class Interrupt:
    """Sends this process SIGINT a moment after `with` begins."""

    def __init__(self, after: float) -> None:
        self.sent = 0.0
        self.timer = threading.Timer(after, self.send)

    def send(self) -> None:
        self.sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self) -> Interrupt:
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()


def interrupted(work: Callable[[], Any], after: float) -> float | None:
    """The seconds until an interrupt of `work` was answered. An interrupt after its end does not count."""
    ended, interrupt = False, Interrupt(after)
    try:
        with interrupt:
            work()
            ended = True
        time.sleep(0)  # a late interrupt arrives here
    except KeyboardInterrupt:
        return None if ended else time.monotonic() - interrupt.sent
    return None


def forever(work: Callable[[], Any]) -> None:
    while True:
        work()


def state(table: fz.Table) -> tuple[Any, ...]:
    """The version of the table, then facts about its rows."""
    table = table.refresh()
    snapshot = table.snapshot
    assert snapshot is not None
    version = table.metadata_location if table.format == "iceberg" else snapshot.id
    found = table.scan().to_arrow()
    ids = np.sort(found["id"].to_numpy())
    assert len(np.unique(ids)) == len(ids)
    return version, len(ids), int(ids.sum()), float(found["x"].to_numpy().sum())


def child(kind: str, name: str, folder: Path) -> dict[str, Any]:
    """Interrupts a verb at several moments. Says what it did to the table."""
    verb = KINDS[kind][name]
    told: dict[str, Any] = {"interrupts": 0, "committed": 0, "left": [], "changed": [], "answered": 0.0}
    table = made(kind, folder / "first")
    begun = time.monotonic()
    verb(table)
    took, whole = time.monotonic() - begun, state(table)[1:]
    number, dice = 0, random.Random(f"{kind} {name}")
    table, before, files = made(kind, folder / "0"), None, set()
    for moment in (0.02, *(dice.uniform(0.05, 1.0) for _ in range(ROUNDS - 1))):
        if before is None:
            before, files = state(table), paths(folder / str(number))
        run = partial(verb, table.refresh())
        answered = interrupted(partial(forever, run) if name in READS else run, moment * took)
        stopped = answered is not None
        told["answered"] = max(told["answered"], answered or 0.0)
        after, now = state(table), paths(folder / str(number))
        told["interrupts"] += stopped
        if name in DELETES:
            told["left"] += sorted(path for path in now - files if "metadata" not in path and "snapshot" not in path)
            if after[1:] != before[1:]:
                told["changed"].append([str(before), str(after)])
        elif stopped and after == before:
            told["left"] += sorted(now - files)
        elif stopped and name in READS:
            told["changed"].append([str(before), str(after)])
        elif stopped:
            # The interrupt came when the commit was published.
            told["committed"] += 1
            if after[1:] != whole:
                told["changed"].append([str(whole), str(after)])
        if not stopped or after != before or name in DELETES:
            number += 1
            table, before = made(kind, folder / str(number)), None
    left = (path.name for part in ("tmp", "pages") for path in (folder / part).glob("*"))
    told["temporary"] = sorted(name for name in left if name != "page.html")
    return told


CASES = [(kind, name) for kind, verbs in KINDS.items() for name in verbs]


@pytest.mark.timeout(2 * HANG)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}-{name}".replace(" ", "-") for kind, name in CASES])
def test_ctrl_c_ends_a_verb_and_changes_nothing(kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    program = [sys.executable, str(Path(__file__)), kind, name, str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"{kind}, {name}: answered within {told['answered']:.3f} s")
    assert told["left"] == []
    assert told["changed"] == []
    assert told["temporary"] == []
    assert told["interrupts"] == ROUNDS if name in READS else told["committed"] <= told["interrupts"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(json.dumps(child(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
