"""A model of maintenance: whatever is done in whatever order, every snapshot that is kept reads as when it was made."""

from __future__ import annotations

import datetime as dt
import os
import pathlib
import tempfile

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from conftest import sequences

NOW = dt.timedelta(0)

parts = st.integers(0, 2)
operations = st.one_of(
    st.tuples(st.just("append"), parts, st.integers(1, 4)),
    st.tuples(st.just("append"), parts, st.integers(1, 4)),
    st.tuples(st.just("delete"), parts, st.integers(0, 3)),
    st.tuples(st.just("write"), parts, st.integers(1, 3)),
    st.tuples(st.just("commit"), st.just(0), st.just(0)),
    st.tuples(st.just("tag"), st.just(0), st.just(0)),
    st.tuples(st.just("untag"), st.just(0), st.just(0)),
    st.tuples(st.just("compact"), parts, st.integers(1, 3)),
    st.tuples(st.just("manifests"), st.just(0), st.integers(1, 20000)),
    st.tuples(st.just("expire"), st.just(0), st.integers(1, 4)),
    st.tuples(st.just("forget"), st.just(0), st.integers(1, 4)),
    st.tuples(st.just("orphans"), st.just(0), st.just(0)),
    st.tuples(st.just("client"), st.just(0), st.just(0)),
)


class Model:
    """A table, what each of its snapshots should read, and files that no commit has yet."""

    def __init__(self, root: str, version: int, mode: str) -> None:
        catalog = fz.catalog("m", warehouse=root)
        catalog.create_namespace("db")
        schema = pa.schema([("id", pa.int64()), ("part", pa.int32())])
        properties = {
            "format-version": str(version),
            "write.delete.mode": mode,
            "commit.manifest.min-count-to-merge": "3",
        }
        self.table = catalog.create_table("db.t", schema, partition_by=["part"], properties=properties)
        # Another client, whose version of the table may be old.
        self.other = fz.open_table(self.table.location)
        self.rows: set[tuple[int, int]] = set()
        self.expected: dict[int, set[tuple[int, int]]] = {}
        self.pending: list[tuple[fz.CommitMessage, set[tuple[int, int]]]] = []
        self.next = 0

    def fresh(self, part: int, count: int) -> tuple[pa.Table, set[tuple[int, int]]]:
        ids = list(range(self.next, self.next + count))
        self.next += count
        rows = pa.table({"id": pa.array(ids, pa.int64()), "part": pa.array([part] * count, pa.int32())})
        return rows, {(i, part) for i in ids}

    def run(self, what: str, part: int, number: int) -> None:
        maintain = self.table.maintain
        if what in ("tag", "untag"):
            self.table.refresh()
        if what == "client":
            self.table, self.other = self.other, self.table
        elif what == "append":
            data, new = self.fresh(part, number)
            self.table.append(data)
            self.rows |= new
        elif what == "delete":
            gone = {row for row in self.rows if row[0] % 4 == number and row[1] == part}
            if gone:
                listed = ", ".join(str(row[0]) for row in gone)
                self.table.delete(f"id in ({listed})")
                self.rows -= gone
        elif what == "write":
            data, new = self.fresh(part, number)
            self.pending.append((self.table.writer().write(data), new))
        elif what == "commit" and self.pending:
            message, new = self.pending.pop()
            self.table.commit([message])
            self.rows |= new
        elif what == "tag" and self.table.snapshot is not None:
            self.table.refs.create_tag(f"t{self.next}-{len(self.table.refs)}-{len(self.expected)}")
        elif what == "untag":
            for name in [r.name for r in self.table.refs.values() if r.type == "tag"][:1]:
                self.table.refs.drop(name)
        elif what == "compact":
            maintain.compact(min_input_files=number, rewrite_all=number == 3, where=f"part = {part}")
        elif what == "manifests":
            maintain.rewrite_manifests(target_size_bytes=number)
        elif what in ("expire", "forget"):
            maintain.expire_snapshots(older_than=NOW, retain_last=number, delete_files=what == "expire")
        elif what == "orphans":
            self.remove_orphans()

    def remove_orphans(self) -> None:
        """Files of writers that have not committed yet are young; all others are not."""
        young = {f.path for message, _ in self.pending for f in message.files}
        now = dt.datetime.now().timestamp()
        for path in pathlib.Path(self.table.location).rglob("*"):
            if path.is_file() and str(path) not in young:
                old = now - 10 * 86400
                os.utime(path, (old, old))
        gone = self.table.maintain.remove_orphan_files()
        assert not young & set(gone.files)
        assert self.table.maintain.remove_orphan_files().files == []

    def check(self) -> None:
        fresh = fz.open_table(self.table.location)
        if fresh.snapshot is not None:
            self.expected.setdefault(fresh.snapshot.id, set(self.rows))
        assert read(fresh, None) == self.rows
        for kept in fresh.snapshots:
            assert read(fresh, kept.id) == self.expected[kept.id]


def read(table: fz.Table, at: int | None) -> set[tuple[int, int]]:
    if table.snapshot is None:
        return set()
    rows = table.scan(at=at).to_arrow()
    found = list(zip(rows["id"].to_pylist(), rows["part"].to_pylist(), strict=True))
    assert len(set(found)) == len(found)
    return set(found)


@settings(max_examples=sequences(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(operations, min_size=4, max_size=14),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["copy-on-write", "merge-on-read"]),
)
def test_every_snapshot_that_is_kept_reads_as_before(
    steps: list[tuple[str, int, int]], version: int, mode: str
) -> None:
    with tempfile.TemporaryDirectory() as root:
        model = Model(root, version, mode if version > 1 else "copy-on-write")
        for what, part, number in steps:
            model.run(what, part, number)
            model.check()
        while model.pending:
            model.run("commit", 0, 0)
            model.check()
