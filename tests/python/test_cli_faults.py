"""The command line where things go wrong: damaged tables, mistyped names, closed streams."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil.cli import main
from frazil.cli.places import with_db_suffix

FRAZIL = [sys.executable, "-m", "frazil"]


class Shell:
    """Runs commands and keeps what they print."""

    def __init__(self, captured: pytest.CaptureFixture[Any]) -> None:
        self._captured = captured
        self.err: Any = ""

    def __call__(self, *arguments: object, code: int = 0) -> Any:
        found = main([str(argument) for argument in arguments])
        out, self.err = self._captured.readouterr()
        assert found == code, f"exit code {found}\n{out}\n{self.err}"
        return out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which has no configuration of catalogs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def table(folder: Path) -> str:
    """A table of three files with one row each."""
    catalog = fz.catalog("local", warehouse="lake")
    catalog.create_namespace("db")
    made = catalog.create_table("db.events", pa.schema([("id", pa.int64())]))
    for number in range(3):
        made.append(pa.table({"id": [number]}))
    return "lake/db/events"


@pytest.fixture
def keyed(folder: Path, shell: Shell) -> str:
    """A table of Paimon with a primary key: three commits of the same two rows."""
    shell(
        *("create", "pw/db/pk", "-c", "id int required", "-c", "name string", "--key", "id"),
        *("--property", "bucket=2", "--format", "paimon", "--yes"),
    )
    Path("two.csv").write_text("id,name\n1,Ada\n2,Eve\n", "utf-8")
    for _ in range(3):
        shell("append", "pw/db/pk", "two.csv", "--yes")
    return "pw/db/pk"


def file_of(table: str, number: int) -> Path:
    """The data file of one of the rows."""
    (task,) = fz.open_table(table).scan(f"id = {number}").plan_files()
    return Path(str(task.data_file.path))


def lose_a_file(table: str, number: int = 2) -> Path:
    """Removes the data file of one of the rows."""
    path = file_of(table, number)
    path.unlink()
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_failed_scan_writes_no_whole_file(
    table: str, form: str, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    shell = Shell(capfdbinary)
    whole = shell("scan", table, "--format", form)
    lose_a_file(table, 0)
    part = shell("scan", table, "--format", form, code=1)
    assert b"cannot open the file" in shell.err
    if form == "parquet":
        assert pq.read_table(pa.BufferReader(whole)).num_rows == 3
        with pytest.raises(pa.ArrowInvalid):
            pq.read_table(pa.BufferReader(part))
    else:
        assert pa.ipc.open_stream(whole).read_all().num_rows == 3
        with pytest.raises((pa.ArrowInvalid, OSError)):
            pa.ipc.open_stream(part).read_all()


def test_a_rollback_of_paimon_says_what_it_removes(keyed: str, table: str, shell: Shell) -> None:
    shell("tag", keyed, "late", "--at", "3", "--yes")
    text = shell("rollback", keyed, "1", "--dry-run")
    assert text == (
        "Move main from snapshot 3 to 1. This removes snapshots 2 to 3 and the tag late; they can't be brought back.\n"
    )
    plan = shell.json("rollback", keyed, "2", "--dry-run")["plan"]
    assert plan == {"branch": "main", "from": 3, "to": 2, "removed_snapshots": [3], "removed_tags": ["late"]}
    shell("rollback", keyed, "1", "--yes")
    assert [s["id"] for s in shell.json("snapshots", keyed)] == [1]
    assert "late" not in {ref["name"] for ref in shell.json("refs", keyed)}
    assert "removes" not in shell("rollback", table, "main^", "--dry-run")
    assert "Tables of Paimon lose them for good" in " ".join(shell("rollback", "--help").split())


def test_tables_of_paimon_are_found_by_the_place_they_were_created_at(keyed: str, folder: Path, shell: Shell) -> None:
    assert sorted(path.name for path in (folder / "pw").iterdir()) == ["db.db"]
    for place in (keyed, "pw/db.db/pk", str(folder / keyed), f"{keyed}/"):
        assert shell("count", place) == "2\n"
    for command in ("show", "schema", "spec", "snapshots", "files", "doctor"):
        assert shell(command, keyed)
    shell("repair", keyed, "--dry-run")
    assert shell("ls", "pw") == shell("ls", "pw/db") == shell("ls", "pw/db.db") == "db.pk\n"
    shell("drop", keyed, "--yes")
    shell("count", keyed, code=2)
    assert "there is no table (path: " in shell.err
    assert "pw/db/pk" in shell.err


def test_a_failed_create_leaves_no_folders(folder: Path, shell: Shell) -> None:
    for form in ("iceberg", "paimon"):
        shell("create", "new/db/t", "-c", "id int", "--partition-by", "nope", "--format", form, "--yes", code=2)
        assert not (folder / "new").exists()


def test_no_signature_is_printed(folder: Path, shell: Shell) -> None:
    place = "s3://bucket/db/t?X-Amz-Signature=HUSH"
    arguments = ("create", place, "-c", "id int", "--storage", "s3.region=eu-north-1")
    assert "***" in shell(*arguments, "--dry-run")
    assert shell.json(*arguments, "--dry-run")["plan"]["table"] == "db.t?X-Amz-Signature=***"
    printed = shell(*arguments, "--dry-run") + shell(*arguments, "--dry-run", "--json") + shell(*arguments, code=2)
    assert "HUSH" not in printed + shell.err


def test_only_namespaces_become_folders_of_paimon() -> None:
    places = {
        "pw/db/t": "pw/db.db/t",
        "s3://bucket/db/t/": "s3://bucket/db.db/t",
        "s3://bucket/t": None,
        "/t": None,
        "./t": None,
        "pw/db.db/t": None,
        "t/metadata/v1.metadata.json": None,
    }
    assert {place: with_db_suffix(place) for place in places} == places


@pytest.mark.parametrize("arguments", [["count"], ["append", "two.csv", "--yes"], ["show"]])
def test_a_closed_standard_output_ends_the_command(table: str, arguments: list[str], folder: Path) -> None:
    Path("two.csv").write_text("id\n7\n", "utf-8")
    command = [*FRAZIL, arguments[0], table, *arguments[1:]]
    closed = "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", closed, *command], stderr=subprocess.PIPE, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")
    assert fz.open_table(table).scan().count() == 3


def test_ctrl_c_during_the_imports_is_silent(folder: Path) -> None:
    # A module that waits stands for a slow import.
    (folder / "rich").mkdir()
    (folder / "rich" / "__init__.py").write_text("print('here', flush=True)\nimport time\ntime.sleep(60)\n", "utf-8")
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = subprocess.Popen(
        [*FRAZIL, "ls"],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    assert command.stdout.readline() == b"here\n"
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (-signal.SIGINT, b"", b"")


def test_a_full_device_is_one_message(table: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*FRAZIL, "scan", table], stdout=full, stderr=subprocess.PIPE, timeout=100, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert b"No space left" in done.stderr


def test_commits_of_paimon_count_rows_and_files(keyed: str, folder: Path, shell: Shell) -> None:
    # Keys 1 and 2 may be in one bucket or in two.
    files = len(shell.json("files", keyed)) // 3
    done = shell("append", keyed, "two.csv", "--yes")
    assert done.startswith(f"Added 2 rows in {files} file")
    newest = shell("snapshots", keyed).splitlines()[1]
    assert f"+2 rows, +{files} file" in newest
    assert newest.endswith("8 rows stored, before merging")
    shown = shell("show", keyed)
    assert f"+2 rows, +{files} file" in shown
    assert "2 rows after merging (8 stored)" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith(("key", "buckets"))] == [
        ["key", "id"],
        ["buckets", "2"],
    ]
    shell("create", "pw/db/plain", "-c", "id int", "--format", "paimon", "--yes")
    Path("one.csv").write_text("id\n1\n2\n3\n", "utf-8")
    assert shell("append", "pw/db/plain", "one.csv", "--yes") == "Added 3 rows in 1 file: 1.\n"
    assert "+3 rows, +1 file, 3 rows in all" in shell("show", "pw/db/plain")


def test_keys_and_buckets_are_named(keyed: str, shell: Shell) -> None:
    lines = [line.split() for line in shell("schema", keyed).splitlines()]
    assert lines[0] == ["id", "column", "type", "nulls", "key", "comment"]
    assert [line[1:5] for line in lines[1:]] == [["id", "int", "no", "yes"], ["name", "string", "yes"]]
    assert shell("spec", keyed).splitlines()[1:] == ["key      id", "buckets  2"]
    spec = shell.json("spec", keyed)
    assert (spec["key"], spec["buckets"]) == (["id"], "2")


def test_partitions_of_paimon_have_no_braces(keyed: str, shell: Shell) -> None:
    header, row = shell("partitions", keyed).splitlines()
    assert "partition" in header
    assert "{" not in row
    assert "{" not in shell("files", keyed)


def test_restore_is_for_metadata_files(keyed: str, shell: Shell) -> None:
    shell("repair", keyed, "--restore", "--yes", code=2)
    assert "--restore writes metadata files, which Apache Paimon does not have" in shell.err


def test_a_repair_names_the_errors_that_stay(table: str, shell: Shell) -> None:
    lost = lose_a_file(table)
    shell("show", table)
    text = shell("repair", table, "--only", "lost-files", "--yes")
    assert "1 row lost" in text
    assert "left in older snapshots, until they expire: see frazil expire" in text
    assert str(lost.name) in shell("doctor", table, code=1)
    assert shell("count", table) == "2\n"


def test_a_repair_without_steps_names_errors_that_it_can_not_mend(table: str, shell: Shell) -> None:
    lose_a_file(table)
    text = shell("repair", table, "--only", "summaries", "--dry-run")
    assert text.startswith("0 steps would be done\n1 error left: see frazil doctor")


def test_errors_without_a_repair_are_said(table: str, shell: Shell) -> None:
    first = fz.open_table(table).snapshots[0].id
    (lost,) = Path(table, "metadata").glob(f"snap-{first}-*.avro")
    lost.unlink()
    assert "1 error" in shell("doctor", table, code=1)
    shell("tag", table, "first", "--at", str(first), "--yes")
    assert shell("repair", table, "--dry-run") == "0 steps would be done\n1 error without a repair: see frazil doctor\n"
    shell("tag", table, "first", "--drop", "--yes")
    text = shell("repair", table, "--dry-run")
    assert text.endswith("1 error left in older snapshots, until they expire: see frazil expire\n")


def test_append_says_what_a_path_is(table: str, folder: Path, shell: Shell) -> None:
    os.mkfifo("pipe.csv")
    for path, said in (
        ("pipe.csv", "'pipe.csv' is a pipe or a device: give - and --format"),
        ("/dev/null", "'/dev/null' is a pipe or a device"),
        ("lake", "'lake' is a folder: give the files in it"),
        ("none.csv", "there is no file 'none.csv'"),
    ):
        shell("append", table, path, "--yes", code=2)
        assert said in shell.err
    Path("head.csv").write_text("id\n", "utf-8")
    shell("append", table, "head.csv", "--yes", code=2)
    assert "there is nothing to add: the files have no rows" in shell.err
    Path("row.csv").write_text("id\n9\n", "utf-8")
    shell("append", table, "head.csv", "row.csv", "--yes")
    assert shell("count", table) == "4\n"


def test_hints_name_commands(table: str, keyed: str, shell: Shell) -> None:
    for code, arguments, said in (
        (1, ("create", table, "-c", "id int", "--yes"), "drop it first: frazil drop"),
        (2, ("scan", table, "--at", "5"), "See frazil snapshots"),
        (2, ("drop", "lake/none/t", "--yes"), "there is no table"),
        (2, ("show", "none.db.t"), "For a folder in the working directory, write ./NAME"),
        (1, ("rewrite-deletes", keyed, "--yes"), "frazil rewrite-deletes: not with"),
        (1, ("rollback", keyed, "1", "--any", "--yes"), "frazil rollback without --any goes back"),
        (1, ("branch", keyed, "dev", "--yes"), "frazil tag TABLE t --at VERSION"),
    ):
        shell(*arguments, code=code)
        assert said in shell.err
    lose_a_file(table)
    assert "frazil repair --only lost-files" in shell("doctor", table, code=1)
    shell("scan", table, code=1)
    assert "frazil doctor says what is lost" in shell.err
    assert "moved=True" not in shell.err


def test_errors_about_filters_have_their_lines(table: str, shell: Shell) -> None:
    shell("scan", table, "--where", "id = = 1", code=2)
    first, text, caret = shell.err.splitlines()
    assert first == "frazil: can't read the filter"
    assert text[caret.index("^")] == "="
    assert text.strip() == "id = = 1"
    shell("create", "lake/db/days", "-c", "day date", "--yes")
    shell("scan", "lake/db/days", "--where", "day = 2026-01-01", code=2)
    assert "Write dates in quotes: '2026-01-31'" in shell.err


def test_wrong_names_and_values_have_the_code_of_wrong_use(table: str, shell: Shell) -> None:
    for arguments in (
        ("count", "lake/db/none"),
        ("count", table, "--at", "none"),
        ("count", table, "--at", "5"),
        ("count", table, "--at", "2001-01-01"),
        ("rollback", table, "main^", "--branch", "none", "--yes"),
        ("tag", table, "none", "--drop", "--yes"),
        ("count", table, "--where", "none = 1"),
        ("upgrade", table, "9", "--yes"),
        ("compact", table, "--target-size", "0", "--dry-run"),
        ("scan", table, "--json", "--format", "csv"),
        ("doctor", "lake/db/none"),
        ("ls", "none"),
        ("ls", "./none"),
    ):
        shell(*arguments, code=2)
        assert shell.err


def test_damage_has_the_code_of_failures_and_names_the_doctor(table: str, shell: Shell) -> None:
    shutil.rmtree(Path(table, "data"))
    shell("scan", table, code=1)
    assert "frazil doctor" in shell.err
    for path in Path(table, "metadata").glob("*.json"):
        path.write_text("{", "utf-8")
    for command in ("show", "count"):
        shell(command, table, code=1)
        assert "frazil doctor says what is wrong with the table" in shell.err
    for path in Path(table, "metadata").iterdir():
        path.unlink()
    shell("show", table, code=1)
    assert "frazil doctor" in shell.err
    assert "metadata-missing" in shell("doctor", table, code=1)


def test_a_folder_without_tables_says_so(table: str, folder: Path, shell: Shell) -> None:
    assert shell("ls", "lake/db") == "db.events\n"
    shell("ls", "none", code=2)
    assert "there is neither a folder nor a catalog of this name" in shell.err
    shell("ls", "./none", code=2)
    assert "there is no such folder" in shell.err
    (folder / "empty").mkdir()
    assert shell("ls", "empty") == ""
    assert shell.err.splitlines()[-1] == "There are no tables."
    shell("doctor", "lake/db/none", code=2)
    assert "there is no table" in shell.err


def test_with_json_standard_error_has_one_line(table: str, shell: Shell) -> None:
    shell("tag", table, "v1", "--json", code=2)
    assert json.loads(shell.err)["error"]["kind"] == "usage"
    shell("count", "lake/db/none", "--json", code=2)
    assert json.loads(shell.err)["error"]["kind"] == "not_found"


def test_expire_says_what_stays(table: str, keyed: str, shell: Shell) -> None:
    assert shell("expire", table, "--older-than", "7d", "--yes") == "Nothing is old enough to remove.\n"
    text = shell("expire", keyed, "--older-than", "0s", "--yes")
    assert text.startswith("Nothing is old enough to remove. The newest 10 snapshots stay")
    assert "10" not in shell("expire", keyed, "--older-than", "0s", "--retain-last", "1", "--dry-run")
    assert shell("orphans", table, "--dry-run") == "There are no orphan files.\n"


def test_a_tag_moves_to_the_newest_version(table: str, shell: Shell) -> None:
    shell("tag", table, "v1", "--at", "main^", "--yes")
    newest = fz.open_table(table).snapshots[-1].id
    shell("tag", table, "v1", "--replace", "--yes")
    assert fz.open_table(table).refs["v1"].snapshot_id == newest


def test_errors_that_a_repair_leaves_are_in_older_snapshots(table: str, keyed: str, folder: Path, shell: Shell) -> None:
    first = "manifest-[0-9a-f]*-0"
    places = {table: Path(table, "metadata").glob("*-m0.avro"), keyed: (folder / "pw/db.db/pk/manifest").glob(first)}
    for place, manifests in places.items():
        min(manifests, key=lambda path: path.stat().st_mtime_ns).write_bytes(b"")
        text = shell("repair", place, "--yes")
        assert "manifests: " in text
        assert text.endswith("1 error left in older snapshots, until they expire: see frazil expire\n")


def test_a_damaged_table_of_paimon_is_found_by_the_place_it_was_created_at(
    keyed: str, folder: Path, shell: Shell
) -> None:
    place = folder / "pw/db.db/pk"
    newest = place / "snapshot" / "snapshot-3"
    whole = newest.read_text("utf-8")
    newest.write_text("{", "utf-8")
    assert "snapshot-damaged" in shell("doctor", keyed, code=1)
    shell("repair", keyed, "--restore", "--yes", code=2)
    assert "--restore writes metadata files, which Apache Paimon does not have" in shell.err
    newest.write_text(whole, "utf-8")
    (place / "schema" / "schema-0").unlink()
    for given in (keyed, place):
        shell("count", given, code=1)
        assert "frazil doctor says what is wrong with the table" in shell.err
        assert "schema-missing" in shell("doctor", given, code=1)


def test_branches_of_paimon_are_versions_of_their_own(keyed: str, folder: Path, shell: Shell) -> None:
    shell("tag", keyed, "first", "--at", "1", "--yes")
    shell("branch", keyed, "dev", "--at", "first", "--yes")
    Path("three.csv").write_text("id,name\n3,Kim\n", "utf-8")
    assert shell("append", keyed, "three.csv", "--branch", "dev", "--yes") == "Added 1 row to the branch dev: 2.\n"
    result = shell.json("append", keyed, "three.csv", "--branch", "dev", "--yes")["result"]
    assert (result["snapshot_id"], result["rows_added"]) == (3, 1)
    # Both are at snapshot 3, which are two snapshots.
    assert (shell("count", keyed, "--at", "dev"), shell("count", keyed)) == ("3\n", "2\n")
    found = shell.json("diff", keyed, "main", "dev")
    assert (found["before"], found["after"]) == (3, 3)
    assert [found["totals"][side]["rows"] for side in ("before", "after")] == [2, 3]
    assert {file["change"] for file in found["files"]} == {"added", "removed"}
    assert "{" not in shell("diff", keyed, "main", "dev", "--files")
    assert shell.json("diff", keyed, "main", "dev", "--rows")["rows"] == {"added": 1, "removed": 0, "changed": 0}
    assert shell.json("diff", keyed, "dev", "main", "--rows")["rows"] == {"added": 0, "removed": 1, "changed": 0}
    shell("count", keyed, "--at", "dev^", code=1)
    assert "Name it by a tag" in shell.err
    # A tag keeps a snapshot that has expired.
    shell("expire", keyed, "--older-than", "0s", "--retain-last", "1", "--yes")
    assert shell.json("diff", keyed, "first", "main")["totals"]["before"]["rows"] == 2
    assert [row["parent_id"] for row in shell.json("history", keyed)] == [2]


def test_an_append_to_a_new_branch_says_so(table: str, folder: Path, shell: Shell) -> None:
    Path("row.csv").write_text("id\n9\n", "utf-8")
    arguments = ("append", table, "row.csv", "--branch", "dev")
    assert shell(*arguments, "--dry-run").endswith("This creates the branch dev.\n")
    assert "Added 1 row in 1 file to the branch dev: " in shell(*arguments, "--yes")
    assert shell(*arguments, "--dry-run").endswith(" to events, branch dev.\n")


def test_options_of_references_do_not_go_together(table: str, shell: Shell) -> None:
    shell("branch", table, "dev", "--yes")
    for options, said in (
        (("--drop", "--rename", "new"), "--drop and --rename can't be given together"),
        (("--drop", "--replace"), "--drop and --replace can't be given together"),
        (("--rename", "new", "--at", "main^"), "--rename and --at can't be given together"),
        (("--drop", "--at", "main^"), "--drop and --at can't be given together"),
        (("--fast-forward", "main", "--at", "main^"), "--fast-forward and --at can't be given together"),
    ):
        shell("branch", table, "dev", *options, "--yes", code=2)
        assert said in shell.err
    assert set(fz.open_table(table).refs) == {"main", "dev"}
    # What can't be done is said before the question.
    shell("branch", table, "dev", "--dry-run", code=1)
    assert "the table has a branch of this name already" in shell.err
    for options in (("--rename", "new"), ("--fast-forward", "main")):
        shell("branch", table, "none", *options, "--dry-run", code=2)
        assert "no branch or tag 'none'" in shell.err


def test_wrong_types_and_names_have_a_remedy(table: str, folder: Path, shell: Shell) -> None:
    for kind in ("foo", "decimal(50, 2)", "list<foo>"):
        shell("create", "lake/db/new", "-c", f"id {kind}", "--yes", code=2)
        assert "Types are boolean, int, long" in shell.err
        assert "doctor" not in shell.err
    (folder / ".pyiceberg.yaml").write_text("catalog:\n  prod:\n    warehouse: lake\n", "utf-8")
    shell("count", "prod.events", code=2)
    assert "Write prod.NAMESPACE.events, or see frazil ls prod" in shell.err


def test_arguments_of_python_are_options(table: str, keyed: str, shell: Shell) -> None:
    for code, arguments, said in (
        (2, ("compact", keyed, "--all", "--dry-run"), "--all is not for tables of Apache Paimon"),
        (2, ("compact", keyed, "--min-files", "3", "--dry-run"), "table's options: see frazil set"),
        (1, ("expire", keyed, "--snapshot", "1", "--dry-run"), "Use --older-than or --retain-last"),
        (2, ("compact", table, "--sort-by", "id", "--zorder-by", "id", "-n"), "--zorder-by to --strategy zorder"),
        (2, ("compact", table, "--strategy", "zorder", "--dry-run"), "Give --zorder-by"),
    ):
        shell(*arguments, code=code)
        assert said in shell.err


def test_partitions_are_shown_as_in_paths(table: str, shell: Shell) -> None:
    columns = ("-c", "ts timestamp", "-c", "day date", "--partition-by", "hour(ts)", "--partition-by", "month(day)")
    shell("create", "lake/db/hours", *columns, "--yes")
    Path("rows.csv").write_text("ts,day\n1969-12-31T23:30:00,1969-12-31\n2026-01-31T10:00:00,2026-01-31\n,\n", "utf-8")
    shell("append", "lake/db/hours", "rows.csv", "--yes")
    wanted = (
        "ts_hour=1969-12-31-23, day_month=1969-12",
        "ts_hour=2026-01-31-10, day_month=2026-01",
        "ts_hour=null, day_month=null",
    )
    empty = fz.open_table("lake/db/hours").inspect.metadata_log_entries()["file"].to_pylist()[0]
    for arguments in (("files", "lake/db/hours"), ("partitions", "lake/db/hours")):
        assert all(text in shell(*arguments) for text in wanted)
    assert all(text in shell("diff", "lake/db/hours", empty) for text in wanted)


def test_snapshots_with_a_damaged_manifest_can_expire(table: str, shell: Shell) -> None:
    min(Path(table, "metadata").glob("*-m0.avro"), key=lambda path: path.stat().st_mtime_ns).write_bytes(b"")
    shell("repair", table, "--yes")
    arguments = ("expire", table, "--older-than", "0s", "--retain-last", "1")
    shell(*arguments, "--yes", code=1)
    assert "--keep-files expires without reading these files; frazil orphans finds them later" in shell.err
    assert shell(*arguments, "--keep-files", "--dry-run").endswith(" snapshots and leaves their files.\n")
    shell(*arguments, "--keep-files", "--yes")
    assert shell("doctor", table).startswith("Nothing found in 1 snapshot")
    assert shell("count", table) == "2\n"


def test_a_namespace_of_paimon_without_tables_is_listed(keyed: str, shell: Shell) -> None:
    shell("drop", keyed, "--yes")
    for place in ("pw", "pw/db", "pw/db.db"):
        assert shell("ls", place) == ""
        assert shell.err == "There are no tables.\n"


def test_null_structs_with_required_members_become_parquet(
    table: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    inner = pa.struct([pa.field("y", pa.string(), nullable=False)])
    kinds = {"s": inner, "l": pa.list_(inner), "m": pa.map_(pa.string(), inner)}
    made = fz.catalog("local", warehouse="lake").create_table(
        "db.nested", pa.schema(kinds.items()), properties={"write.format.default": "avro"}
    )
    rows = [{"s": None, "l": [None, {"y": "a"}], "m": [("k", None)]}, {"s": {"y": "b"}, "l": None, "m": None}]
    made.append(pa.Table.from_pylist(rows, pa.schema(kinds.items())))
    printed = Shell(capfdbinary)("scan", "lake/db/nested", "--format", "parquet")
    assert pq.read_table(pa.BufferReader(printed)).to_pylist() == rows


def test_an_empty_table_has_no_version_before(folder: Path, shell: Shell) -> None:
    shell("create", "lake/db/new", "-c", "id int", "--yes")
    shell("rollback", "lake/db/new", "main^", "--yes", code=2)
    assert "the table has no snapshot yet" in shell.err


def test_other_folders_of_a_warehouse_are_left_out(table: str, shell: Shell) -> None:
    for name in (".git", ".db", "a.b", "c\x01", "db/.cache"):
        Path("lake", name).mkdir()
    assert shell("ls", "lake") == "db.events\n"
    assert fz.catalog("local", warehouse="lake").list_namespaces() == ["db"]


def test_an_absolute_place_is_not_one_in_the_working_directory(
    table: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("lake")
    assert shell("ls", "./db") == "db.events\n"
    shell("ls", "/db", code=2)
    assert "there is no such folder" in shell.err
