"""The command `append`: rows of CSV and JSON lines in the types of a table's columns."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
import time
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import data_files
from test_cli_faults import Shell

UUID = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
COLUMNS = (
    *("id long required", "name string", "born date", "pay decimal(10, 2)", "ts timestamptz", "local timestamp"),
    *("at time", "ok boolean", "ratio double", "small float", "data binary", "code fixed[3]", "key uuid"),
    *("tags list<string>", "days list<date>", "keys list<uuid>", "counts map<string, int>"),
    *("by_number map<int, struct<day: date, key: uuid>>", "place struct<city: string, since: date>"),
)
FULL = {
    "id": 1,
    "name": "NA",
    "born": "1990-01-05",
    "pay": "10.50",
    "ts": "2026-01-01T10:00:00.000001Z",
    "local": "2026-01-01T10:00:00.500000",
    "at": "10:11:12.500000",
    "ok": True,
    "ratio": "-Infinity",
    "small": 1.5,
    "data": "aGk=",
    "code": "YWJj",
    "key": UUID,
    "tags": ["a", None, "two\nlines"],
    "days": ["2026-01-01", None],
    "keys": [UUID],
    "counts": {"x": 1, "y": None},
    "by_number": {"5": {"day": "2026-01-01", "key": UUID}},
    "place": {"city": "Ålesund", "since": "2026-02-01"},
}


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return Shell(capsys)


def made(shell: Shell, *columns: str, name: str = "t") -> str:
    """A new table of columns."""
    shell("create", f"lake/db/{name}", *(word for column in columns for word in ("-c", column)), "--yes")
    return f"lake/db/{name}"


def written(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def values(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = fz.open_table(table).scan().to_arrow().to_pylist(maps_as_pydicts="strict")
    return found


def test_json_lines_have_the_values_of_all_types(shell: Shell) -> None:
    table = made(shell, *COLUMNS)
    shell("append", table, written("full.jsonl", json.dumps(FULL) + "\n\n" + '{"id": 2}\n'), "--yes")
    full, empty = values(table)
    key = uuid.UUID(UUID)
    assert full == {
        "id": 1,
        "name": "NA",
        "born": dt.date(1990, 1, 5),
        "pay": Decimal("10.50"),
        "ts": dt.datetime(2026, 1, 1, 10, 0, 0, 1, dt.timezone.utc),
        "local": dt.datetime(2026, 1, 1, 10, 0, 0, 500_000),
        "at": dt.time(10, 11, 12, 500_000),
        "ok": True,
        "ratio": float("-inf"),
        "small": 1.5,
        "data": b"hi",
        "code": b"abc",
        "key": key,
        "tags": ["a", None, "two\nlines"],
        "days": [dt.date(2026, 1, 1), None],
        "keys": [key],
        "counts": {"x": 1, "y": None},
        "by_number": {5: {"day": dt.date(2026, 1, 1), "key": key}},
        "place": {"city": "Ålesund", "since": dt.date(2026, 2, 1)},
    }
    assert empty == {name: 2 if name == "id" else None for name in full}


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_scan_prints_can_be_appended(shell: Shell, form: str) -> None:
    table, copy = made(shell, *COLUMNS), made(shell, *COLUMNS, name="copy")
    lines = [json.dumps(FULL), '{"id": 2, "name": "", "counts": {}, "tags": [], "data": ""}', '{"id": 3}']
    shell("append", table, written("rows.jsonl", "\n".join(lines)), "--yes")
    printed = shell("scan", table, "--format", form)
    shell("append", copy, written(f"copy.{form}", printed), "--yes")
    assert values(copy) == values(table)


def test_only_empty_cells_of_csv_are_null(shell: Shell) -> None:
    table = made(shell, "id int", "name string", "ratio double")
    text = 'id,name,ratio\n1,NA,nan\n2,null,inf\n3,,\n4,"",1\n5,"two\nlines",2\n'
    shell("append", table, written("rows.csv", text), "--yes")
    printed = [json.loads(line) for line in shell("scan", table, "--json").splitlines()]
    assert [row["name"] for row in printed] == ["NA", "null", None, "", "two\nlines"]
    assert [row["ratio"] for row in printed] == ["NaN", "Infinity", None, 1.0, 2.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "x"}', "line 2, column 'id': \"x\" is not a whole number"),
        ('{"id": 1.5}', "line 2, column 'id': 1.5 is not a whole number"),
        ('{"id": 3000000000}', "line 2, column 'id': 3000000000 is too large for 32 bits"),
        ('{"id": null}', "line 2, column 'id': it is null, and the column is required"),
        ('{"id": 1, "day": "2026-02-30"}', "line 2, column 'day': \"2026-02-30\" is not a day"),
        ('{"id": 1, "ts": "2026-02-30"}', "line 2, column 'ts': \"2026-02-30\" is not a time"),
        ('{"id": 1, "pay": 1.234}', "line 2, column 'pay': 1.234 does not fit decimal(4, 2)"),
        ('{"id": 1, "pay": "123"}', "line 2, column 'pay': \"123\" does not fit decimal(4, 2)"),
        ('{"id": 1, "data": "?"}', "line 2, column 'data': \"?\" is not base64"),
        ('{"id": 1, "key": "x"}', "line 2, column 'key': \"x\" is not a UUID"),
        ('{"id": 1, "place": {"town": 1}}', "line 2, column 'place': it has no member 'town'. Its members are: city"),
        ('{"id": 1, "nme": 1}', "the table has no such column (column: nme). Did you mean 'name'?"),
        ('{"id": 1, "id": 2}', "line 2: 'id' is given twice"),
        pytest.param('{"s": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 2: it is nested too deeply", id="deep"),
        ("[1]", "line 2: each line must be one JSON object"),
        ('{"id": 1', "line 2: "),
    ],
)
def test_errors_of_json_lines_name_the_line_and_the_column(shell: Shell, line: str, said: str) -> None:
    columns = ("id int required", "name string", "day date", "ts timestamp", "pay decimal(4, 2)")
    table = made(shell, *columns, "data binary", "key uuid", "place struct<city: string>")
    shell("append", table, written("rows.jsonl", '{"id": 7}\n' + line + "\n"), "--yes", code=2)
    assert said in shell.err
    assert shell("count", table) == "0\n"


def test_wrong_files_are_refused(shell: Shell) -> None:
    table = made(shell, "id int", "name string", "data binary")
    for name, text, said in (
        ("list.json", b'\n[{"id": 1}]', "it is a JSON list. Write one object a line"),
        ("latin.jsonl", b'{"name": "\xe5"}', "'utf-8' codec can't decode"),
        ("cell.csv", b"id,data\n1,aGk=\n2,?\n", "row 2, column 'data': \"?\" is not base64"),
    ):
        shell("append", table, written(name, text), "--yes", code=2)
        assert said in shell.err
    assert shell("count", table) == "0\n"


@pytest.mark.parametrize("is_fast", [True, False])
def test_lines_longer_than_a_block_are_read(shell: Shell, monkeypatch: pytest.MonkeyPatch, is_fast: bool) -> None:
    monkeypatch.setattr(data_files, "_BLOCK", 100)
    long = "y" * 3_000_000
    table = made(shell, "id int", "name string", "day date", *([] if is_fast else ["data binary"]))
    lines = [json.dumps({"id": n, "name": "x" * n, "day": "2026-01-01"}) for n in range(200)]
    text = "\ufeff" + "\n".join([*lines, json.dumps({"id": 200, "name": long})])
    shell("append", table, written("rows.jsonl", text), "--yes")
    assert [row["name"] for row in values(table)] == ["x" * n for n in range(200)] + [long]
    # The number of a line counts those of earlier blocks.
    shell("append", table, written("rows.jsonl", "\n".join([*lines, "", "{"])), "--yes", code=2)
    assert "line 202: " in shell.err


def test_long_cells_of_csv_are_read(shell: Shell) -> None:
    table = made(shell, "id int", "name string")
    shell("append", table, written("rows.csv", f"id,name\n1,{'y' * 3_000_000}\n2,b\n"), "--yes")
    assert [len(row["name"]) for row in values(table)] == [3_000_000, 1]


def test_the_size_of_standard_input_is_unknown(shell: Shell) -> None:
    table, file = made(shell, "id int"), written("rows.csv", "id\n1\n")
    arguments = ("append", table, "--format", "csv", "--dry-run")
    assert shell(*arguments, "-") == "Append the rows of standard input to t.\n"
    assert shell(*arguments, file, "-") == "Append the rows of 1 file (5 B) and standard input to t.\n"
    assert shell(*arguments, file, file) == "Append the rows of 2 files (10 B) to t.\n"


def test_a_table_can_have_the_columns_of_json_lines(shell: Shell) -> None:
    written("rows.jsonl", '{"id": 1, "name": "a"}\n')
    shell("create", "lake/db/t", "--like", "rows.jsonl", "--yes")
    assert fz.open_table("lake/db/t").schema.to_arrow().types == [pa.int64(), pa.string()]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_ctrl_c_ends_an_append_that_waits_for_standard_input(shell: Shell, form: str) -> None:
    table = made(shell, "id int")
    command = subprocess.Popen(
        [sys.executable, "-m", "frazil", "append", table, "-", "--format", form, "--yes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # After this time it reads its input. Before, Ctrl-C ends it in any case.
    time.sleep(2)
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=30)
    assert (command.returncode, err) == (-signal.SIGINT, b"")
    assert shell("count", table) == "0\n"
