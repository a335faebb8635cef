"""Commits that die, or whose system calls fail, at every one of them: the table is the old one or the new one.

A child process makes the commit under `strace`, which kills it at one system call, or lets that call fail. Which calls
there are, a run without faults tells; only those that touch the warehouse are tried. Afterwards the table must open,
hold exactly the rows of before or after (as the child said, if it lived), have every file that its metadata names, and
take a commit.

`make test` tries every `STEP`th point; with `FRAZIL_NIGHTLY=1` (`make test-nightly`) it is all of them.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY

STEP = 1 if NIGHTLY else int(os.environ.get("FRAZIL_CRASH_STEP", "13"))
STRACE = shutil.which("strace")
# Calls that change something: these fail with EIO and ENOSPC, too.
CHANGES = {
    *("open", "openat", "creat", "write", "pwrite64", "writev", "ftruncate", "fsync", "fdatasync", "close"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"),
}
ERRORS = ("EIO", "ENOSPC")
DONE, REFUSED, UNKNOWN, BROKEN = 0, 3, 4, 5
pytestmark = [
    pytest.mark.skipif(STRACE is None or not sys.platform.startswith("linux"), reason="needs strace"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
    pytest.mark.timeout(7200 if NIGHTLY else 300),
]


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array([i % 2 for i in ids], pa.int32())})


class Case(NamedTuple):
    """A commit: how its table is made, and the commit itself, given a catalog that is opened again."""

    name: str
    prepare: Callable[[fz.Catalog], Any]
    change: Callable[[fz.Catalog], Any]
    sql: bool = False


def made(version: int, **properties: str) -> Callable[[fz.Catalog], fz.Table]:
    """A table of two commits in two partitions."""

    def prepare(catalog: fz.Catalog) -> fz.Table:
        catalog.create_namespace("db")
        modes = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update")} if version > 2 else {}
        given = {key.replace("_", "-").replace("--", "."): value for key, value in properties.items()}
        all_properties = {"format-version": version, **modes, **given}
        table = catalog.create_table("db.t", rows(1).schema, partition_by=["p"], properties=all_properties)
        return table.append(rows(1, 2, 3, 4)).append(rows(5, 6, 7, 8))

    return prepare


def with_vectors(catalog: fz.Catalog) -> None:
    made(3)(catalog).delete("id = 3")


def to_expire(catalog: fz.Catalog) -> None:
    table = made(2)(catalog)
    table.delete("id = 3")
    table.overwrite(rows(11, 13), where="p = 1")


def several(catalog: fz.Catalog) -> None:
    with catalog.load_table("db.t").transaction() as tx:
        tx.append(rows(9))
        tx.delete("id in (2, 5)")
        with tx.update_schema() as update:
            update.add_column("note", "string")
        tx.set_properties(owner="me")


def append(catalog: fz.Catalog) -> None:
    catalog.load_table("db.t").append(rows(9, 10))


def expire(catalog: fz.Catalog) -> None:
    catalog.load_table("db.t").maintain.expire_snapshots(older_than=time_to_come(), retain_last=1)


def time_to_come() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)


CASES = [
    Case("append", made(2), append),
    Case("delete", with_vectors, lambda c: c.load_table("db.t").delete("id in (1, 6)")),
    Case("rewrite", made(2), lambda c: c.load_table("db.t").update("id in (1, 6)", {"id": 50})),
    Case("transaction", made(2), several),
    Case("compaction", made(2), lambda c: c.load_table("db.t").maintain.compact(rewrite_all=True)),
    Case("expiry", to_expire, expire),
    Case(
        "forgetting",
        made(
            2,
            write__metadata__compression_codec="gzip",
            write__metadata__previous_versions_max="1",
            write__metadata__delete_after_commit__enabled="true",
        ),
        append,
    ),
    Case("create", lambda c: c.create_namespace("db"), lambda c: c.create_table("db.t", rows(1).schema)),
    Case("sql", made(2), append, sql=True),
    Case("sql-create", lambda c: c.create_namespace("db"), lambda c: c.create_table("db.t", rows(1).schema), sql=True),
]


class Point(NamedTuple):
    """The `number`th call of a system call; it fails, or the process dies before it."""

    call: str
    number: int
    error: str | None

    def inject(self) -> str:
        how = f"error={self.error}" if self.error else "error=EIO:signal=KILL"
        return f"inject={self.call}:{how}:when={self.number}"


def is_harmless(call: str, arguments: str) -> bool:
    """Whether nothing is written: files opened to be read, and folders closed, where Rust's library takes no error."""
    if call == "close":
        return any(pathlib.Path(path).is_dir() for path in re.findall("<([^>]*)>", arguments))
    return call.startswith("open") and "O_CREAT" not in arguments


class Bench:
    """A warehouse that is put back to its beginning before every try."""

    def __init__(self, case: Case, folder: pathlib.Path) -> None:
        self.case = case
        self.home, self.template = folder / "wh", folder / "template"
        self.log = folder / "trace"
        self.home.mkdir()
        case.prepare(self.catalog())
        self.home.rename(self.template)
        self.reset()
        self.old = self.state()

    def catalog(self) -> fz.Catalog:
        if self.case.sql:
            return fz.catalog("c", type="sql", uri=f"sqlite:///{self.home}/catalog.db", warehouse=self.home)
        return fz.catalog("c", type="filesystem", warehouse=self.home)

    def reset(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.template, self.home)

    def table(self) -> fz.Table | None:
        try:
            return self.catalog().load_table("db.t")
        except fz.NotFoundError:
            return None

    def state(self) -> Any:
        """All that a commit may change, but for names, times and ids."""
        table = self.table()
        if table is None:
            return None
        read = table.scan().to_arrow()
        files = table.inspect.files() if table.snapshot else None
        kinds = Counter(files["content"].to_pylist() if files is not None else [])
        found = sorted(map(repr, read.to_pylist()))
        return read.column_names, found, kinds, len(table.snapshots), dict(table.properties)

    def live(self, table: fz.Table) -> set[str]:
        """Every file that the table's metadata names."""
        out = {table.metadata_location, *table.inspect.metadata_log_entries()["file"].to_pylist()}
        if table.snapshots:
            out |= {path for path in table.inspect.snapshots()["manifest_list"].to_pylist() if path}
            out |= set(table.inspect.all_manifests()["path"].to_pylist())
            out |= set(table.inspect.all_files()["file_path"].to_pylist())
        return {path.removeprefix("file://") for path in out}

    def run(self, *faults: str) -> int:
        """Makes the change in a child process under strace; its exit code, negative if it was killed."""
        (told, ready), (start, go) = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            self.be_the_child(ready, start, others=(told, go))
        os.close(ready)
        os.close(start)
        os.read(told, 1)
        os.close(told)
        expressions = [e for fault in faults for e in ("-e", fault)]
        command = [STRACE or "", "-f", "-y", "-q", "-o", str(self.log), "-e", "trace=%file,%desc", *expressions]
        tracer = subprocess.Popen([*command, "-p", str(child)], stderr=subprocess.DEVNULL)
        try:
            status = pathlib.Path(f"/proc/{child}/status")
            while not re.search(r"^TracerPid:\s+[1-9]", status.read_text(), re.M):
                if tracer.poll() is not None:
                    os.kill(child, signal.SIGKILL)
                    pytest.skip("strace may not attach to processes here")
                time.sleep(0.001)
            os.write(go, b"x")
        finally:
            os.close(go)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            tracer.wait()
        return code

    def be_the_child(self, ready: int, start: int, others: tuple[int, int]) -> None:
        """Gets ready before anybody counts calls, and never returns."""
        code = BROKEN
        try:
            for end in others:
                os.close(end)
            # Where not only descendants may be traced by default.
            ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
            # One thread: the calls come in the same order every time.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            catalog = self.catalog()
            os.write(ready, b"x")
            if os.read(start, 1):
                self.case.change(catalog)
                code = DONE
        except fz.CommitStateUnknownError:
            code = UNKNOWN
        except fz.InternalError:
            code = BROKEN
        except fz.FrazilError:
            code = REFUSED
        finally:
            os._exit(code)

    def points(self) -> list[Point]:
        """Of a run without faults: all calls that touch the warehouse."""
        self.reset()
        assert self.run() == DONE
        self.new = self.state()
        assert self.new != self.old
        out, seen = [], Counter[str]()
        for line in self.log.read_text(errors="replace").splitlines():
            call = re.match(r"\d+ +(\w+)\((.*)", line)
            if call is None:
                continue
            name = call.group(1)
            seen[name] += 1
            if str(self.home) not in call.group(2):
                continue
            out.append(Point(name, seen[name], None))
            if name in CHANGES and not is_harmless(name, call.group(2)):
                out += [Point(name, seen[name], error) for error in ERRORS]
        return out

    def try_at(self, point: Point) -> str:
        """Tries one point; says how the child ended."""
        self.reset()
        before = {str(p) for p in self.home.rglob("*")}
        code = self.run(point.inject())
        if code == BROKEN and self.closed_a_folder():
            return "not possible"
        ended = {DONE: "done", REFUSED: "refused", UNKNOWN: "unknown", -signal.SIGKILL: "killed"}.get(code)
        assert ended, f"{point}: the child ended with {code}"
        state = self.state()
        allowed = {DONE: [self.new], REFUSED: [self.old]}.get(code, [self.old, self.new])
        assert state in allowed, f"{point}, {ended}: {state} is not in {allowed}"
        table = self.table()
        if table is not None:
            live = self.live(table)
            missing = [path for path in live if not pathlib.Path(path).exists()]
            assert not missing, f"{point}, {ended}: {missing} are gone"
            for snapshot in table.snapshots:
                table.scan(at=snapshot.id).to_arrow()
            self.check_left(point, code, set(map(str, self.home.rglob("*"))) - before - live)
        self.commit_again(point, table)
        return ended

    def closed_a_folder(self) -> bool:
        """Whether the fault hit the closing of a folder: threads may make the same calls in another order."""
        calls = re.findall(r"^\d+ +(\w+)\((.*)\(INJECTED\)", self.log.read_text(errors="replace"), re.M)
        return bool(calls) and all(name == "close" and is_harmless(name, arguments) for name, arguments in calls)

    def check_left(self, point: Point, code: int, left: set[str]) -> None:
        """A commit that certainly failed removes what it wrote, unless that is what failed."""
        left = {path for path in left if pathlib.Path(path).is_file() and "catalog.db" not in path}
        if code == REFUSED and not point.call.startswith("unlink"):
            assert not left, f"{point}: {left} are left over"

    def try_points(self, offset: int) -> None:
        """Tries every `STEP`-th point from an offset on, and tells how the commits ended."""
        points = self.points()
        tried = points[offset::STEP]
        ended = Counter((self.try_at(point), point.error or "KILL") for point in tried)
        told = ", ".join(f"{how} {fault} {n}" for (how, fault), n in sorted(ended.items()))
        print(f"crash points of {self.case.name}: {len(tried)} of {len(points)} tried: {told}")
        with open(os.environ.get("FRAZIL_CRASH_COUNTS", os.devnull), "a") as counts:
            counts.write(f"{self.case.name} {len(tried)} of {len(points)}: {told}\n")

    def commit_again(self, point: Point, table: fz.Table | None) -> None:
        if table is None:
            table = self.catalog().create_table("db.t", rows(1).schema)
        more = rows(100)
        for name in table.schema.names[2:]:
            more = more.append_column(name, pa.nulls(1, pa.string()))
        before = table.scan().count()
        table.append(more)
        again = self.table()
        assert again is not None, point
        assert again.scan().count() == before + 1, point
        assert again.scan("id = 100").count() == 1, point


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_a_commit_happens_or_not(case: Case, tmp_path: pathlib.Path) -> None:
    Bench(case, tmp_path).try_points([c.name for c in CASES].index(case.name) % STEP)
