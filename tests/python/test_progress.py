"""The bar of long work on a terminal: what it shows, that nothing of it stays, and where nothing is shown.

Each case runs in a process of its own. Its standard error is a pseudo terminal or a pipe. A file system that waits
before each answer makes the work long.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

FILES = 40
COLUMNS = 100
HANG = 120

START = """
import datetime as dt, os, signal, sys, threading, time
import fsspec
from fsspec.implementations.local import LocalFileSystem
import pyarrow as pa
import frazil as fz

listing = threading.local()

class Slow(LocalFileSystem):
    cachable = False
    seconds = 0.15

    def cat_file(self, *args, **more):
        time.sleep(self.seconds)
        return super().cat_file(*args, **more)

    def info(self, *args, **more):
        if not getattr(listing, "runs", False):
            time.sleep(self.seconds)
        return super().info(*args, **more)

    def ls(self, *args, **more):
        # It asks `info` about each entry, but is one request.
        time.sleep(self.seconds)
        listing.runs = True
        try:
            return super().ls(*args, **more)
        finally:
            listing.runs = False

    def pipe_file(self, *args, **more):
        time.sleep(self.seconds)
        return super().pipe_file(*args, **more)

    def rm_file(self, *args, **more):
        time.sleep(self.seconds)
        return super().rm_file(*args, **more)

def opened(seconds=0.15):
    Slow.seconds = 0
    table = fz.open_table(sys.argv[1], filesystem=Slow())
    Slow.seconds = seconds
    return table

def batches(count=8, seconds=0.25):
    for number in range(count):
        time.sleep(seconds)
        yield pa.table({"id": range(100)}).to_batches()[0]

def slow_rows():
    return pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())

soon = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)
"""


@dataclass
class Run:
    """What a process wrote.

    Attributes:
        code: Its exit code.
        out: Its standard output, a pipe.
        drawn: Its standard error.
    """

    code: int
    out: str
    drawn: str

    @property
    def frames(self) -> list[str]:
        """What was drawn over the line, one after the other."""
        return [frame.strip() for frame in self.drawn.split("\r") if frame.strip()]

    @property
    def screen(self) -> list[str]:
        """The lines that are seen at the end."""
        lines, at = [[" "] * COLUMNS], 0
        for character in self.drawn:
            if character == "\r":
                at = 0
            elif character == "\n":
                lines.append([" "] * COLUMNS)
            else:
                assert at < COLUMNS, "a line is longer than the terminal"
                lines[-1][at] = character
                at += 1
        return [line for line in ("".join(line).rstrip() for line in lines) if line]


def run(code: str, *arguments: object, terminal: bool = True, typed: bytes = b"", **variables: str) -> Run:
    """Runs Python code with standard error on a terminal, or else on a pipe.

    Args:
        code: What follows `START`.
        arguments: The arguments of the process.
        terminal: Whether it has a terminal.
        typed: What is typed as soon as a bar is drawn.
        variables: Environment variables.
    """
    names = {name: value for name, value in os.environ.items() if name not in ("FRAZIL_PROGRESS", "TERM")}
    names |= {"TERM": "xterm", "PYTHONIOENCODING": "utf-8", **variables}
    takes = "import fcntl, termios\nfcntl.ioctl(2, termios.TIOCSCTTY, 0)\n" if terminal else ""
    code = takes + START + code
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=slave if terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave if terminal else subprocess.PIPE,
        start_new_session=True,
        env=names,
    )
    os.close(slave)
    try:
        if not terminal:
            out, error = process.communicate(timeout=HANG)
            return Run(process.returncode, out.decode(), error.decode())
        drawn = _drawn(master, process, typed)
        out = process.communicate(timeout=HANG)[0]
        return Run(process.returncode, out.decode(), drawn.decode())
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _drawn(master: int, process: subprocess.Popen[bytes], typed: bytes) -> bytes:
    drawn, began = b"", time.monotonic()
    while time.monotonic() - began < HANG:
        ready = select.select([master], [], [], 0.1)[0]
        if not ready:
            if process.poll() is not None:
                return drawn
            continue
        try:
            found = os.read(master, 65536)
        except OSError:  # the other end is closed
            return drawn
        if not found:
            return drawn
        drawn += found
        if typed and b"\r" in drawn:
            os.write(master, typed)
            typed = b""
    raise AssertionError(f"the process hangs after {drawn!r}")


def shares(run: Run, phase: str) -> list[int]:
    """How much of a phase was done, in percent, in each frame."""
    return [int(found[1]) for frame in run.frames if (found := re.match(rf"{phase} +(\d+) %", frame))]


def assert_shown(run: Run, kinds: Iterable[str]) -> None:
    """Frames of each kind were drawn."""
    for kind in kinds:
        assert any(re.search(kind, frame) for frame in run.frames), (kind, run.frames)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of Iceberg with many small files, each with a manifest."""
    return made(tmp_path, "iceberg")


def made(tmp_path: Path, table_format: str) -> Path:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), format=table_format)
    for number in range(FILES):
        table.append(pa.table({"id": range(number, number + 50)}))
    return Path(table.location)


VERBS: dict[str, tuple[str, ...]] = {
    "to_arrow": ("opened().scan().to_arrow()", r"^Reading +\d+ % .*(kB|bytes)/s"),
    "count": ("opened().scan('id != 7').count()", r"^Reading +\d+ %"),
    "plan": ("opened(0.8).scan().plan()", r"^Planning +\d+ % .* of \d+ manifests, .*/s, 0:\d\d left"),
    "compact": ("opened(0.03).maintain.compact(rewrite_all=True)", r"^Compacting +\d+ % "),
    "doctor": ("opened(0.2).doctor()", r"^Checking files +\d+ % .* of 40 files"),
    "orphans": (
        "opened(0.3).maintain.remove_orphan_files(older_than=soon)",
        r"^Listing files  \d+ files, ",
        r"^Reading metadata +\d+ % .* of 40 manifests",
        r"^Deleting files +\d+ % .* of 100 files",
    ),
    "expiry": (
        "opened(0.4).maintain.expire_snapshots(older_than=soon, retain_last=1)",
        r"^Reading snapshots +\d+ % .* of \d+ snapshots",
        r"^Deleting files +\d+ % .* of 39 files",
    ),
}
"""The code of each verb, and the kinds of frames that it shows."""

PAIMON: dict[str, tuple[str, ...]] = {
    "to_arrow": VERBS["to_arrow"],
    "plan": ("opened(0.4).scan().plan()", VERBS["plan"][1]),
    "doctor": ("opened(0.01).doctor()", r"^Checking snapshots +\d+ % .* of 38 snapshots"),
    "append": ("opened(0).append(slow_rows())", r"^Writing  [\d,]+ rows, "),
    "compact": ("opened(0.03).maintain.compact('full')", r"^Compacting +\d+ % "),
    "expiry": (
        "opened(0.02).maintain.expire_snapshots(older_than=soon, retain_last=1)",
        r"^Deleting files +\d+ % .* of \d+ files",
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_long_verb_shows_a_bar_that_disappears(folder: Path, verb: str) -> None:
    code, *kinds = VERBS[verb]
    if verb == "orphans":
        for number in range(100):
            (folder / "data" / f"orphan-{number}.parquet").write_bytes(b"")
    found = run(f"{code}\nprint('done')", folder)
    assert (found.code, found.out) == (0, "done\n"), found.drawn
    assert_shown(found, kinds)
    assert found.screen == []


def test_a_bar_ends_at_its_end(folder: Path) -> None:
    for phase, code in (
        ("Reading", "opened().scan().to_arrow()"),
        ("Compacting", "opened(0.03).maintain.compact(rewrite_all=True)"),
    ):
        found = run(code, folder)
        done = shares(found, phase)
        assert done == sorted(done), found.frames
        assert len(set(done)) > 2, found.frames
        assert found.frames[-1].startswith(f"{phase} 100 % █"), found.frames


@pytest.mark.parametrize("verb", PAIMON)
def test_paimon_shows_a_bar(tmp_path: Path, verb: str) -> None:
    code, *kinds = PAIMON[verb]
    found = run(f"{code}\nprint('done')", made(tmp_path, "paimon"))
    assert (found.code, found.out) == (0, "done\n"), found.drawn
    assert_shown(found, kinds)
    assert found.screen == []


def test_an_append_counts_rows(folder: Path) -> None:
    found = run("opened(0).append(slow_rows())", folder)
    assert re.search(r"^Writing  [\d,]+ rows, \d+/s, 0:0\d$", found.frames[-1]), found.frames
    # A table knows how many rows it has.
    found = run("opened(0.25).append(pa.table({'id': range(5000)}))", folder)
    assert found.frames[-1].startswith("Writing 100 % "), found.frames
    assert "5,000 of 5,000 rows" in found.frames[-1]
    assert found.screen == []


def test_short_work_shows_nothing(folder: Path) -> None:
    found = run("opened(0).scan().to_arrow()\nopened(0).scan().plan()", folder)
    assert (found.code, found.drawn) == (0, "")


def test_a_pipe_shows_nothing(folder: Path) -> None:
    found = run("opened().scan().to_arrow()", folder, terminal=False)
    assert (found.code, found.out, found.drawn) == (0, "", "")


@pytest.mark.parametrize(
    ("code", "variables"),
    [
        ("fz.progress(False)", {}),
        ("fz.progress(False)", {"FRAZIL_PROGRESS": "1"}),
        ("", {"FRAZIL_PROGRESS": "0"}),
        ("", {"FRAZIL_PROGRESS": "off"}),
        ("", {"TERM": "dumb"}),
        # A worker of Spark.
        ("sys.modules['__main__'].__spec__ = type(sys.__spec__)('pyspark.daemon', None)", {"FRAZIL_PROGRESS": "1"}),
    ],
)
def test_it_can_be_off(folder: Path, code: str, variables: dict[str, str]) -> None:
    found = run(f"{code}\nopened().scan().to_arrow()", folder, **variables)
    assert (found.code, found.drawn) == (0, "")


@pytest.mark.parametrize(("code", "variables"), [("fz.progress(True)", {}), ("", {"FRAZIL_PROGRESS": "1"})])
def test_it_can_be_on_without_a_terminal(folder: Path, code: str, variables: dict[str, str]) -> None:
    found = run(f"{code}\nopened().scan().to_arrow()", folder, terminal=False, **variables)
    assert found.code == 0
    lines = found.drawn.splitlines()
    # The total may not be known yet when the first line is written.
    assert all(line.startswith("Reading ") for line in lines), lines
    assert re.match(r"Reading 100 %  .* of ", lines[-1]), lines
    assert "\r" not in found.drawn


def test_the_function_takes_back_its_choice(folder: Path) -> None:
    found = run("fz.progress(True)\nfz.progress(None)\nopened().scan().to_arrow()", folder, terminal=False)
    assert (found.code, found.drawn) == (0, "")
    for wrong in (1, "on", 0):
        with pytest.raises(fz.InvalidInputError, match="True, False or None"):
            fz.progress(wrong)  # type: ignore[arg-type]


def test_ctrl_c_leaves_the_terminal_clean(folder: Path) -> None:
    code = "try:\n    opened(0.5).scan().to_arrow()\nexcept KeyboardInterrupt:\n    print('interrupted')"
    found = run(code, folder, typed=b"\x03")
    assert (found.code, found.out) == (0, "interrupted\n"), found.drawn
    assert found.frames
    assert found.screen == []


def test_an_error_leaves_the_terminal_clean(folder: Path) -> None:
    last = sorted((folder / "data").glob("*.parquet"), key=lambda path: path.stat().st_mtime)[-1]
    last.write_bytes(b"damaged")
    code = "try:\n    opened().scan().to_arrow()\nexcept fz.FrazilError:\n    print('failed')"
    found = run(code, folder)
    assert (found.code, found.out) == (0, "failed\n"), found.drawn
    assert found.frames
    assert found.screen == []


def test_an_error_of_a_signal_handler_is_raised(folder: Path) -> None:
    code = """
class Late(OSError): pass
def ring(*_): raise Late
signal.signal(signal.SIGALRM, ring)
import frazil.observing.bars as bars
def draw(*_): time.sleep(2)
bars._Terminal.draw = draw
signal.alarm(2)
try:
    opened().scan().to_arrow()
except Late:
    print('late')
"""
    found = run(code, folder)
    assert (found.code, found.out) == (0, "late\n"), found.drawn


def test_a_screen_that_fails_stops_nothing(folder: Path) -> None:
    code = """
import frazil.observing.bars as bars
def fail(*_): raise ValueError("no screen")
bars._Terminal.draw = fail
print(opened().scan().to_arrow().num_rows)
"""
    found = run(code, folder)
    assert (found.code, found.out, found.drawn) == (0, f"{50 * FILES}\n", "")


def test_a_fork_shows_none(folder: Path) -> None:
    code = """
opened(0).scan().to_arrow()
child = os.fork()
if child == 0:
    opened().scan().to_arrow()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    found = run(code, folder)
    assert (found.code, found.out, found.drawn) == (0, "0\n", "")


def test_another_thread_shows_none(folder: Path) -> None:
    code = """
thread = threading.Thread(target=lambda: opened().scan().to_arrow())
thread.start()
thread.join()
"""
    found = run(code, folder)
    assert (found.code, found.drawn) == (0, "")


def test_a_job_in_the_background_shows_none(folder: Path) -> None:
    code = """
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SCRIPT"], sys.argv[1]])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    found = run(code, folder, SCRIPT=START + "opened().scan().to_arrow()")
    assert (found.code, found.out, found.drawn) == (0, "0\n", "")


def test_verbs_inside_of_others_share_one_bar(folder: Path) -> None:
    code = """
import frazil.observing.bars as bars
begun = []
made = bars.begin
def begin():
    found = made()
    begun.append(found)
    return found
bars.begin = begin

def rows():
    for _ in range(3):
        time.sleep(0.6)
        yield pa.table({"id": range(100)}).to_batches()[0]
    # The outer bar is drawn now, and this read takes over a second.
    yield from opened().scan().to_arrow().to_batches()[:1]

table = opened(0)
table.append(pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), rows()))
print([found is not None for found in begun])
"""
    found = run(code, folder)
    assert (found.code, found.out) == (0, "[True, False]\n"), found.drawn
    assert {frame.split()[0] for frame in found.frames} == {"Writing"}
    assert found.screen == []


def test_no_thread_is_left(folder: Path) -> None:
    code = """
def threads():
    return len(threading.enumerate()), len(os.listdir("/proc/self/task"))
opened(0).scan().to_arrow()
before = threads()
opened().scan().to_arrow()
print(before == threads(), threads()[0])
"""
    found = run(code, folder)
    assert (found.code, found.out) == (0, "True 1\n"), found.drawn
    assert found.frames


def test_the_command_line_shows_it(folder: Path) -> None:
    code = """
from frazil.cli.running import run
table = opened()
fz.open_table = lambda *_, **__: table
sys.exit(run(["count", sys.argv[1], "--where", "id != 7", "--json"]))
"""
    found = run(code, folder)
    assert (found.code, json.loads(found.out)["rows"]) == (0, 50 * FILES - 8), found.drawn
    assert any(frame.startswith("Reading") for frame in found.frames), found.frames
    assert found.screen == []


@pytest.mark.spark
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 (no 'java' on the PATH)")
def test_a_read_with_spark_shows_what_the_driver_does(folder: Path) -> None:
    code = """
import frazil.spark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
table = opened(0.5)
rows = fz.spark.read(spark, table, engine="native")
print("planned", flush=True)
sys.stderr.write("\\rjob\\r")
print(rows.count())
spark.stop()
"""
    found = run(code, folder, SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    assert (found.code, found.out) == (0, f"planned\n{50 * FILES}\n"), found.drawn
    assert_shown(found, [r"^Planning +\d+ % .* of \d+ manifests", r"^Reading footers +\d+ % .* of 40 files"])
    done = shares(found, "Reading footers")
    assert done == sorted(done), found.frames
    # The driver's work ends before the job begins, and workers show nothing.
    job = found.frames.index("job")
    assert not any(re.match("Planning|Reading", frame) for frame in found.frames[job:]), found.frames
    assert "Reading footers" in found.frames[job - 1], found.frames


class Kernel:
    """What bars ask of a notebook: `IPython.get_ipython` and `IPython.display.display`."""

    def __init__(self) -> None:
        self.kernel = object()
        self.shown: list[dict[str, str]] = []

    def display(self, data: dict[str, str], raw: bool, display_id: bool) -> Kernel:
        assert (raw, display_id) == (True, True)
        self.shown.append(data)
        return self

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data)


def test_a_notebook_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    from frazil.observing import bars

    kernel = Kernel()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: kernel  # type: ignore[attr-defined]
    display.display = kernel.display  # type: ignore[attr-defined]
    ipython.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert bars.begin() is None  # a shell without a kernel is a terminal
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    bar = bars.begin()
    assert bar is not None
    bar.update("Reading", 500_000_000, 2_000_000_000, "bytes", 2.0)
    assert bars.begin() is None
    bar.close()
    text = "Reading  25 %  500 MB of 2.0 GB, 250 MB/s, 0:06 left"
    assert kernel.shown[0]["text/plain"] == text
    assert '<progress value="0.2500" max="1">' in kernel.shown[0]["text/html"]
    assert kernel.shown[-1] == {"text/plain": "", "text/html": ""}


def test_an_interrupt_at_the_begin_leaves_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.observing import bars

    monkeypatch.setattr(bars, "chosen", lambda: True)

    def interrupt(frame: Any, event: str, _: object) -> Any:
        if frame.f_code is not bars.begin.__code__:
            return None
        if event == "line" and bars._active is not None:
            raise KeyboardInterrupt
        return interrupt

    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            bars.begin()
    finally:
        sys.settrace(None)
    bar = bars.begin()
    assert bar is not None
    bar.close()


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        (("Reading", 0, 100, "bytes", 0.0), "Reading   0 % ------------------------------  0 bytes of 100 bytes, 0:00"),
        (("Planning", 3, 4, "manifests", 6.0), "Planning  75 % #####################-------"),
        (("Writing", 1_500_000, None, "rows", 3.0), "Writing  1,500,000 rows, 500,000/s, 0:03"),
        (("Deleting files", 1, 7201, "files", 1.0), "Deleting files   0 % --"),
        (("Listing files", 1, None, "files", 4.0), "Listing files  1 files, 0.2/s, 0:04"),
    ],
)
def test_the_words_of_a_line(numbers: tuple[str, int, int | None, str, float], line: str) -> None:
    from frazil.observing import bars

    text = bars._Numbers(*numbers).line(80, "#", "-")
    assert text.startswith(line)
    assert all(len(bars._Numbers(*numbers).line(width, "#", "-")) <= width for width in range(80))


def test_the_time_left() -> None:
    from frazil.observing import bars

    tails: Callable[[float], str] = lambda seconds: bars._Numbers("x", 1, 7201, "files", seconds).tail()  # noqa: E731
    assert tails(1.0).endswith("1/s, 2:00:00 left")
    assert tails(0.1).endswith("10/s, 12:00 left")
