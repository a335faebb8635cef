"""The command line with names, values and numbers that somebody has written to do harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import main

ACTING = "\x1b[31m\x9b2J\u202e\u2028"
"""A text that changes colours, clears a terminal, and turns the direction of text."""


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("c", pa.string())]))
    return made.append(pa.table({"id": [1], "c": [ACTING]}), snapshot_properties={"note": ACTING})


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> tuple[str, str]:
    assert main(list(arguments)) == code
    found = capsys.readouterr()
    for text in found:
        assert text.replace("\n", "").isprintable(), ascii(text)
    return found.out, found.err


def edited(table: fz.Table, **members: dict[str, str]) -> None:
    """Puts texts into the table's properties and into the summary of each snapshot."""
    path = Path(table.metadata_location)
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    document["properties"] |= members.get("properties", {})
    for snapshot in document["snapshots"]:
        snapshot["summary"] = {"operation": "append", **members.get("summary", {})}
    path.write_text(json.dumps(document), "utf-8")


def test_json_has_escapes_for_characters_that_act_on_terminals(
    table: fz.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(capsys, 0, "scan", table.location, "--json")
    assert json.loads(out)["c"] == ACTING
    out, _ = printed(capsys, 0, "snapshots", table.location, "--json")
    assert json.loads(out)[0]["summary"]["note"] == ACTING


def test_json_has_no_secrets_and_whole_properties(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    long = "line\n" * 200
    secrets = {"s3.session-token": "Geheim", "from": "s3://key:Geheim@bucket/t", "long": long}
    edited(table, properties=secrets, summary=secrets)
    out, _ = printed(capsys, 0, "show", table.location, "--json")
    shown = json.loads(out)
    for found in (shown["properties"], shown["last_commits"][0]["summary"]):
        assert {name: found[name] for name in secrets} == {
            "s3.session-token": "***",
            "from": "s3://***@bucket/t",
            "long": long,
        }
    for command in ("properties", "snapshots"):
        out, _ = printed(capsys, 0, command, table.location, "--json")
        assert "Geheim" not in out


def test_messages_have_no_control_characters(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    edited(table, properties={"evil": ACTING})
    out, _ = printed(capsys, 0, "set", table.location, "evil=1", "--dry-run")
    assert "\\x1b[31m" in out
    _, err = printed(capsys, 2, "unset", table.location, "evil")
    assert "\\x1b[31m" in err
    _, err = printed(capsys, 2, "append", table.location, f"/nowhere/{ACTING}.csv", "--yes")
    assert "\\x9b2J\\u202e" in err


def test_numbers_of_a_table_may_be_other_texts(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    for number in ("x", "9" * 5000, "\u0664", "-", ""):
        target = {"write.target-file-size-bytes": number}
        edited(table, properties=target, summary={"delta-records": number, "total-records": number})
        assert "1 row" in printed(capsys, 0, "show", table.location)[0]
        printed(capsys, 0, "snapshots", table.location)


def test_versions_may_be_any_text(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("--5", "9" * 5000, "9" * 19, "\u0664" * 30, "-", "^" * 20_000, "nothing^", ACTING):
        _, err = printed(capsys, 2, "scan", table.location, f"--at={version}", "--json")
        assert json.loads(err)["error"]["kind"]
    table = table.append(pa.table({"id": [2], "c": [""]})).append(pa.table({"id": [3], "c": [""]}))
    assert printed(capsys, 0, "scan", table.location, "--at=^^", "--json")[0].count("id") == 1
    table.refs.create_tag("old^", at=table.snapshots[1].id)
    assert printed(capsys, 0, "scan", table.location, "--at=old^", "--json")[0].count("id") == 2
    assert printed(capsys, 0, "scan", table.location, "--at=old^^", "--json")[0].count("id") == 1
    assert main(["expire", table.location, "--dry-run", f"--older-than={'9' * 5000}d"]) == 2
    assert main(["compact", table.location, "--dry-run", f"--target-size={'9' * 5000}"]) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux alone")
def test_a_place_may_be_no_text(tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/\xff"
    for command in (b"ls", b"show"):
        done = subprocess.run(
            [sys.executable, "-m", "frazil", command, place, b"--json"], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 2
        assert json.loads(done.stderr)["error"]["message"]


@pytest.mark.skipif(os.name != "posix", reason="a terminal is opened")
def test_csv_on_a_terminal_does_not_act_on_it(table: fz.Table) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "frazil", "scan", table.location, "--format", "csv"]
    done = subprocess.run(command, stdout=theirs, timeout=60, check=False)
    with open(ours, "rb", buffering=0) as terminal:
        text = terminal.read(4000).decode("utf-8")
    os.close(theirs)
    assert done.returncode == 0
    assert text == '"id","c"\r\n1,"\\x1b[31m\\x9b2J\\u202e\\u2028"\r\n'
