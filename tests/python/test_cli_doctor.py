"""`frazil doctor` and `frazil repair`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import main


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    made.append(pa.table({"id": [1, 2, 3]}))
    return made.append(pa.table({"id": [4, 5]}))


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(list(arguments)) == code
    return capsys.readouterr().out


def test_a_whole_table_has_no_findings(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing found" in printed(capsys, 0, "doctor", table.location)
    found = json.loads(printed(capsys, 0, "doctor", table.location, "--deep", "--all-footers", "--outside", "--json"))
    assert found["findings"] == []


def test_a_lost_file_is_found_and_taken_out(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lost = next(str(task.data_file.path) for task in table.scan().plan_files() if task.data_file.record_count == 2)
    Path(lost).unlink()
    found: dict[str, Any] = json.loads(printed(capsys, 1, "doctor", table.location, "--json"))
    (finding,) = [f for f in found["findings"] if f["severity"] == "error"]
    assert finding["object"] == lost
    before = table.refresh().metadata_location
    assert main(["repair", table.location]) == 2
    assert "2 rows lost" in capsys.readouterr().err
    plan = json.loads(printed(capsys, 0, "repair", table.location, "--only", "lost-files", "--dry-run", "--json"))
    assert (plan["done"], plan["plan"]["rows_lost"]) == (False, 2)
    assert table.refresh().metadata_location == before
    done = json.loads(printed(capsys, 0, "repair", table.location, "--only", "lost-files", "--yes", "--json"))
    assert (done["done"], done["result"]["rows_lost"]) == (True, 2)
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert main(["repair", table.location, "--only", "no-such-kind", "--yes"]) == 2


def test_a_table_without_metadata_is_restored(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    for path in Path(table.location, "metadata").glob("*.metadata.json"):
        path.write_text("{", "utf-8")
    assert main(["count", table.location]) == 1
    printed(capsys, 1, "doctor", table.location)
    printed(capsys, 0, "repair", table.location, "--restore", "--yes")
    assert printed(capsys, 0, "count", table.location) == "5\n"
    assert main(["repair", "db.t", "--restore", "--yes"]) == 2


@pytest.mark.parametrize("name", ["v18446744073709551615.metadata.json", "18446744073709551615-a.metadata.json"])
def test_a_table_without_a_next_version_is_not_restored(
    table: fz.Table, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in Path(table.location, "metadata").glob("*.metadata.json"):
        path.unlink()
    Path(table.location, "metadata", name).write_text("{", "utf-8")
    before = sorted(Path(table.location, "metadata").iterdir())
    assert main(["repair", table.location, "--restore", "--yes"]) == 1
    assert "no version number is left" in capsys.readouterr().err
    assert sorted(Path(table.location, "metadata").iterdir()) == before
