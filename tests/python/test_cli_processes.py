"""The command line as a process: pipes, terminals, signals, and a Python without its libraries."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

FRAZIL = [sys.executable, "-m", "frazil"]
CTRL_C = b"\x03"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 40 files with 50,000 rows each."""
    catalog = fz.catalog("local", warehouse=str(tmp_path_factory.mktemp("lake")))
    catalog.create_namespace("db")
    made = catalog.create_table("db.events", pa.schema([("id", pa.int64()), ("text", pa.string())]))
    rows = pa.table({"id": range(50_000), "text": ["a text that is a little longer"] * 50_000})
    messages = [made.writer(task).write(rows) for task in range(40)]
    made.commit(messages)
    return made.location


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*FRAZIL, *arguments], capture_output=True, text=True, timeout=100, check=False, **options)  # type: ignore[call-overload,no-any-return]


def at_terminal(
    arguments: list[str], answer: bytes = b"", environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Runs a command on a terminal of 60 columns. Returns its exit code, and what the terminal shows."""
    child, terminal = pty.fork()
    if child == 0:
        plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        os.execve(sys.executable, [*FRAZIL, *arguments], {**plain, "TERM": "xterm", **(environment or {})})
    shown, answered, until = b"", not answer, time.monotonic() + 100
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 1)
        if not ready:
            if answered and answer == CTRL_C:
                # It came between the question and the wait for the answer, where Python does not look for signals.
                os.write(terminal, answer)
            continue
        try:
            part = os.read(terminal, 65_536)
        except OSError:
            break
        if not part:
            break
        shown += part
        if not answered and b"[y/N]" in shown:
            os.write(terminal, answer)
            answered = True
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_the_program_says_its_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"frazil {fz.__version__}\n")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_libraries_one_line_says_what_to_install(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from frazil.cli import main; sys.exit(main(['show', 't']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "frazil: the command line needs more libraries: pip install 'frazil[cli]'\n"


def test_data_and_messages_have_streams_of_their_own(table: str) -> None:
    done = run("count", table)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2000000\n", "")
    done = run("count", table, "--where", "nope = 1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("frazil: there is no column `nope`")


@pytest.mark.parametrize("form", ["csv", "jsonl", "table", "arrow"])
def test_a_closed_pipe_ends_the_command_at_once(table: str, form: str) -> None:
    began = time.monotonic()
    command = subprocess.Popen([*FRAZIL, "scan", table, "-f", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.read(10)
    command.stdout.close()
    assert command.wait(60) == -signal.SIGPIPE
    assert command.stderr.read() == b""
    assert time.monotonic() - began < 30
    command.stderr.close()


def test_a_shell_sees_the_rows_and_no_complaint(table: str) -> None:
    script = f"set -o pipefail; {' '.join(FRAZIL)} scan {table} --json | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.splitlines() == ['{"id":0,"text":"a text that is a little longer"}', "141"]
    assert done.stderr == ""


def test_ctrl_c_ends_the_command_by_its_signal(table: str) -> None:
    command = subprocess.Popen([*FRAZIL, "scan", table], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.read(10)
    command.send_signal(signal.SIGINT)
    # The pipe is full, so the command waits for its reader.
    while command.stdout.read(1 << 20):
        pass
    assert command.wait(60) == -signal.SIGINT
    assert b"Traceback" not in command.stderr.read()
    command.stdout.close()
    command.stderr.close()


def test_a_scan_does_not_hold_its_rows(table: str) -> None:
    code = (
        "import sys; from frazil.cli import main; main(sys.argv[1:]);"
        # Not `ru_maxrss`, which begins with the memory of the process that forked.
        "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')];"
        "print(int(peak[0].split()[1]) // 1024, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "scan", table, "-f", "csv"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.count("\n") == 2_000_001
    # All rows at once are 100 MB as Arrow, and several times that as Python objects.
    assert int(done.stderr) < 400


def test_a_terminal_gets_a_table_that_fits(table: str) -> None:
    code, shown = at_terminal(["scan", table, "--limit", "2"], environment={"COLUMNS": "24", "NO_COLOR": "1"})
    assert code == 0
    lines = shown.replace("\r", "").splitlines()
    assert lines[0].split() == ["id", "text"]
    assert lines[1] == " 0  a text that is a li…"
    assert all(len(line) <= 24 for line in lines)
    code, shown = at_terminal(["scan", table, "-f", "parquet"])
    assert code == 2
    assert "parquet is not text" in shown


def test_colours_are_for_terminals_that_want_them(table: str) -> None:
    code, shown = at_terminal(["show", table], environment={"COLUMNS": "80"})
    assert code == 0
    assert "\x1b[" in shown
    code, shown = at_terminal(["show", table], environment={"NO_COLOR": "1", "COLUMNS": "80"})
    assert "\x1b" not in shown
    assert "\x1b" not in run("show", table).stdout


def test_a_terminal_is_asked_before_a_change(table: str) -> None:
    before = fz.open_table(table).metadata_location
    code, shown = at_terminal(["tag", table, "v1"], b"n\n")
    assert code == 1
    assert "Create tag v1 at" in shown
    assert "Nothing was changed." in shown
    assert fz.open_table(table).metadata_location == before
    code, shown = at_terminal(["tag", table, "v1"], CTRL_C)
    assert code == -signal.SIGINT
    code, shown = at_terminal(["tag", table, "v1"], b"y\n")
    assert code == 0
    assert "v1" in fz.open_table(table).refs


def test_rows_come_from_standard_input(table: str, tmp_path: Path) -> None:
    where = str(tmp_path / "lake" / "db" / "copy")
    assert run("create", where, "-c", "id long", "-c", "text string", "--yes").returncode == 0
    script = f"{' '.join(FRAZIL)} scan {table} -l 7 -f arrow | {' '.join(FRAZIL)} append {where} - --format arrow --yes"
    assert subprocess.run(["bash", "-c", script], timeout=100, check=False).returncode == 0
    assert run("count", where).stdout == "7\n"


def test_shells_complete_words() -> None:
    environment = {**os.environ, "_FRAZIL_COMPLETE": "bash_complete", "COMP_WORDS": "frazil sn", "COMP_CWORD": "1"}
    done = subprocess.run(FRAZIL, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["plain,snapshots"]
    assert "_FRAZIL_COMPLETE=bash_complete" in run("completion", "bash").stdout
