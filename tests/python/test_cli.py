"""The command line, in this process: what each command prints, its JSON, and its exit code."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil.cli import main
from frazil.cli.app import app

PAIMON = Path(__file__).parents[1] / "data" / "paimon" / "orders"
DAY = dt.date(2026, 1, 1)


class Shell:
    """Runs commands and keeps what they print."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured
        self.err = ""

    def __call__(self, *arguments: object, code: int = 0) -> str:
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
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table `db.events`: two commits of three rows, one for each day."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    catalog = fz.catalog("local", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64()), ("country", pa.string()), ("day", pa.date32())])
    table = catalog.create_table("db.events", schema, partition_by="day")
    for day in (0, 1):
        days = [DAY + dt.timedelta(days=day)] * 3
        table.append(pa.table({"id": [1, 2, 3], "country": ["NO", "SE", None], "day": days}, schema))
    return tmp_path / "lake"


@pytest.fixture
def table(lake: Path) -> str:
    return f"{lake}/db/events"


def test_commands_of_other_programs_are_answered(shell: Shell) -> None:
    from frazil.cli.app import _ELSEWHERE

    for word, written in {
        "optimize": "frazil compact",
        "vacuum": "frazil expire",
        "report": "frazil show TABLE --html FILE",
    }.items():
        shell(word, "lake/db/t", code=2)
        assert f"No such command '{word}'. Write {written}" in shell.err
    shell("explian", "lake/db/t", code=2)
    assert "'explain'" in shell.err
    assert not set(_ELSEWHERE) & set(app.commands)
    assert {answer.replace(",", " ").split()[0] for answer in _ELSEWHERE.values()} <= set(app.commands)


def test_options_of_other_programs_are_answered(shell: Shell, table: str) -> None:
    answers = {
        ("scan", "--filter", "id = 1"): "No such option '--filter'. Write --where",
        ("scan", "--columns", "id"): "No such option '--columns'. Write --select",
        ("explain", "--snapshot-id", "1"): "No such option '--snapshot-id'. Write --at",
        ("compact", "--sort", "id"): "No such option '--sort'. Write --sort-by",
        ("explain", "id = 1"): "Got unexpected extra argument (id = 1). Write --where FILTER to choose rows",
    }
    for (command, *given), answer in answers.items():
        shell(command, table, *given, code=2)
        assert answer in shell.err
    shell("scan", table, "--wheer", "id = 1", code=2)
    assert "'--where'" in shell.err
    shell("refs", table, "main", code=2)
    assert "--where" not in shell.err


def test_a_table_whose_files_have_the_right_size_is_sorted_only_with_all(shell: Shell, table: str) -> None:
    shell("compact", table, "--all", "--yes")
    assert "--all sorts them nevertheless" in shell("compact", table, "--sort-by", "id desc", "--yes") + shell.err
    assert "2 files became 2 files" in shell("compact", table, "--sort-by", "id desc", "--all", "--yes")
    assert fz.open_table(table).scan("day = '2026-01-01'").to_arrow()["id"].to_pylist() == [3, 2, 1]
    assert "nevertheless" not in shell("compact", table, "--yes") + shell.err


def test_help_lists_every_command(shell: Shell) -> None:
    text = shell("--help")
    for name, command in app.commands.items():
        assert f"\n  {name}" in text
        assert command.help
        assert shell(name, "--help")
    assert shell("--version") == f"frazil {fz.__version__}\n"


def test_tables_are_found_by_place_file_and_name(lake: Path, table: str, shell: Shell) -> None:
    (lake.parent / ".pyiceberg.yaml").write_text(f"catalog:\n  prod:\n    warehouse: {lake}\n", "utf-8")
    metadata = fz.open_table(table).metadata_location
    for given in ([table], [metadata], ["prod.db.events"], ["db.events", "--catalog", "prod"]):
        assert shell("count", *given) == "6\n"
    assert shell("count", "db.events", "--storage", f"warehouse={lake}") == "6\n"
    assert shell("count", "lake/db/events") == "6\n"
    assert shell("ls", lake) == "db.events\n"
    assert shell("ls", "prod") == shell("ls", "prod.db") == shell("ls", "--catalog", "prod") == "db.events\n"
    assert shell.json("ls", "prod") == [{"catalog": "prod", "table": "db.events"}]
    assert shell.json("catalogs") == [
        {"name": "prod", "type": "filesystem", "properties": {"warehouse": str(lake)}},
    ]
    shell("count", "db.nothing", "--catalog", "prod", code=2)
    shell("count", "nothing", code=2)
    assert "catalog.namespace.table" in shell.err


def test_show_has_one_screen(table: str, shell: Shell) -> None:
    text = shell("show", table)
    assert len(text.splitlines()) < 24
    for part in ("6 rows, 2 files", "day: day", "country  string", "+3 rows, +1 file", "nothing to note"):
        assert part in text
    facts = shell.json("show", table)
    assert facts["sizes"]["rows"] == 6
    assert facts["partition_fields"] == ["day: day"]
    assert [c["operation"] for c in facts["last_commits"]] == ["append", "append"]


def test_health_names_what_to_run(lake: Path, shell: Shell) -> None:
    catalog = fz.catalog("local", warehouse=str(lake))
    table = catalog.create_table("db.small", pa.schema([("id", pa.int64())]))
    for number in range(12):
        table.append(pa.table({"id": [number]}))
    assert "small files: 12 of" in shell("show", table.location)
    shell("compact", table.location, "--yes")
    assert "nothing to note" in shell("show", table.location)


def test_what_metadata_list(table: str, shell: Shell) -> None:
    opened = fz.open_table(table)
    ids = [s.id for s in opened.snapshots]
    assert [s["id"] for s in shell.json("snapshots", table)] == ids[::-1]
    assert [s["id"] for s in shell.json("snapshots", table, "--limit", 1)] == ids[1:]
    assert [h["snapshot_id"] for h in shell.json("history", table)] == ids[::-1]
    assert shell.json("refs", table)[0]["name"] == "main"
    assert len(shell.json("files", table)) == 2
    assert len(shell.json("files", table, "--at", "main^")) == 1
    assert shell.json("files", table, "--deletes") == []
    assert len(shell.json("manifests", table)) == 2
    assert [p["partition"] for p in shell.json("partitions", table)] == [{"day": "2026-01-02"}, {"day": "2026-01-01"}]
    assert [f["name"] for f in shell.json("schema", table)["fields"]] == ["id", "country", "day"]
    assert shell.json("spec", table)["partition_spec"]["fields"][0]["name"] == "day"
    for command in ("snapshots", "history", "refs", "files", "manifests", "partitions", "schema", "spec", "properties"):
        assert shell(command, table)


def test_paimon_has_the_same_commands(shell: Shell) -> None:
    for command in ("show", "schema", "spec", "snapshots", "refs", "files", "manifests", "partitions", "history"):
        assert shell(command, PAIMON)
        assert shell.json(command, PAIMON)
    assert shell("count", PAIMON) == "21\n"
    assert shell.json("scan", PAIMON, "--select", "id", "--where", "id = 1", "--limit", 1) == {"id": 1}
    assert "Scan of" in shell("explain", PAIMON)


def rows(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_scan_selects_filters_and_travels(table: str, shell: Shell) -> None:
    assert len(rows(shell("scan", table, "--json"))) == 6
    found = rows(shell("scan", table, "--json", "-w", "id >= 2", "-s", "country,id", "--limit", 1))
    assert list(found[0]) == ["country", "id"]
    assert {row["day"] for row in rows(shell("scan", table, "--json", "--at", "main^"))} == {"2026-01-01"}
    assert {row["day"] for row in rows(shell("scan", table, "--json", "--since", "main^"))} == {"2026-01-02"}
    assert shell.json("count", table, "-w", "id = 1") == {"rows": 2}
    changes = rows(shell("changes", table, "--json", "--since", "main^"))
    assert [row["_change_type"] for row in changes] == ["insert"] * 3


def test_scan_has_five_formats(table: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    expected = fz.open_table(table).scan(limit=6).to_arrow()
    shell = Shell(capfdbinary)  # type: ignore[arg-type]
    csv: Any = shell("scan", table)
    assert csv.splitlines()[:2] == [b'"id","country","day"', b'1,"NO",2026-01-01']
    assert csv == shell("scan", table, "-f", "csv")
    text: Any = shell("scan", table, "-f", "table")
    assert text.splitlines()[0].split() == [b"id", b"country", b"day"]
    parquet: Any = shell("scan", table, "-f", "parquet")
    assert pq.read_table(pa.BufferReader(parquet)).sort_by("day").num_rows == expected.num_rows
    arrow: Any = shell("scan", table, "-f", "arrow")
    assert pa.ipc.open_stream(arrow).read_all().sort_by([("day", "ascending"), ("id", "ascending")]) == (
        expected.sort_by([("day", "ascending"), ("id", "ascending")])
    )


def test_values_of_all_kinds_are_texts(lake: Path, shell: Shell) -> None:
    where = f"{lake}/db/kinds"
    columns = ("b binary", "d decimal(10, 2)", "t timestamptz", "l list<int>", "m map<string, int>", "f double")
    shell("create", where, *(part for column in columns for part in ("-c", column)), "--yes")
    table = fz.open_table(where)
    utc = dt.timezone.utc
    time = dt.datetime(2026, 1, 2, 3, 4, 5, 6, utc)
    table.append(
        pa.Table.from_pylist(
            [{"b": b"\x00\xff", "d": "1.50", "t": time, "l": [1, None], "m": [("k", 1)], "f": float("nan")}],
            pa.schema(
                {
                    "b": pa.binary(),
                    "d": pa.string(),
                    "t": pa.timestamp("us", "UTC"),
                    "l": pa.list_(pa.int32()),
                    "m": pa.map_(pa.string(), pa.int32()),
                    "f": pa.float64(),
                }
            ),
        ).cast(table.schema.to_arrow())
    )
    assert shell.json("scan", where) == {
        "b": "AP8=",
        "d": "1.50",
        "t": "2026-01-02T03:04:05.000006Z",
        "l": [1, None],
        "m": {"k": 1},
        "f": "NaN",
    }
    assert (
        shell("scan", where).splitlines()[1] == '"AP8=","1.50","2026-01-02T03:04:05.000006Z","[1,null]","{""k"":1}",nan'
    )


def test_explain_and_estimate(table: str, shell: Shell) -> None:
    text = shell("explain", table, "-w", "day = '2026-01-01'", "--files")
    assert "1 of 2 manifests" in text
    assert "every value is '2026-01-02'" in text
    facts = shell.json("explain", table, "-w", "day = '2026-01-01'", "--files")
    assert sorted(f["kept"] for f in facts["files"]) == [False, True]
    assert shell.json("estimate", table)["data_manifests"] == 2
    assert "2 data manifests" in shell("estimate", table)


def test_a_change_needs_yes_without_a_terminal(table: str, shell: Shell) -> None:
    for arguments in (
        ("expire", table, "--older-than", "0s"),
        ("compact", table, "--all"),
        ("orphans", table),
        ("rewrite-manifests", table),
        ("rewrite-deletes", table),
        ("rollback", table, "main^"),
        ("branch", table, "dev"),
        ("tag", table, "v1"),
        ("set", table, "a=b"),
        ("unset", table, "a"),
        ("upgrade", table, "3"),
        ("drop", table),
    ):
        before = fz.open_table(table).metadata_location
        shell(*arguments, code=2)
        assert "--yes" in shell.err
        plan = shell.json(*arguments, "--dry-run")
        assert plan["done"] is False
        assert plan["plan"]
        assert shell(*arguments, "-n")
        assert fz.open_table(table).metadata_location == before


def test_branches_and_tags(table: str, shell: Shell) -> None:
    first, second = (s.id for s in fz.open_table(table).snapshots)
    shell("tag", table, "v1", "--at", first, "--yes")
    shell("branch", table, "dev", "--at", "v1", "--yes")
    assert {r["name"]: r["snapshot_id"] for r in shell.json("refs", table)} == {
        "main": second,
        "v1": first,
        "dev": first,
    }
    shell("branch", table, "dev", "--fast-forward", "main", "--yes")
    assert fz.open_table(table).refs["dev"].snapshot_id == second
    shell("branch", table, "dev", "--rename", "test", "--yes")
    shell("branch", table, "test", "--replace", "--at", "v1", "--yes")
    assert fz.open_table(table).refs["test"].snapshot_id == first
    shell("tag", table, "test", "--drop", "--yes", code=2)
    shell("branch", table, "test", "--drop", "--yes")
    done = shell.json("rollback", table, "v1", "--yes")
    assert done["plan"] == {"branch": "main", "from": second, "to": first}
    assert done["result"] == {"branch": "main", "snapshot_id": first}
    shell("rollback", table, str(second), "--yes", code=2)
    shell("rollback", table, str(second), "--any", "--yes")
    assert fz.open_table(table).snapshot.id == second
    shell("tag", table, "v1", "--yes", code=1)


def test_maintenance(table: str, shell: Shell) -> None:
    done = shell.json("compact", table, "--all", "--where", "day = '2026-01-01'", "--yes")
    assert done["result"]["rewritten_files"] == done["plan"]["files"] == 1
    assert shell.json("rewrite-manifests", table, "--yes")["result"]["rewritten"]
    assert shell.json("rewrite-deletes", table, "--dangling", "--yes")["result"]["rewritten_files"] == 0
    expired = shell.json("expire", table, "--older-than", "0s", "--yes")
    assert len(expired["result"]["snapshots"]) == 3
    assert expired["result"]["files_deleted"] is True
    lost = Path(table) / "data" / "lost.parquet"
    lost.write_bytes(b"x")
    assert shell.json("orphans", table, "--older-than", "0s", "--dry-run")["plan"]["files"] == [str(lost)]
    shell("orphans", table, "--older-than", "0s", "--yes")
    assert not lost.exists()
    assert shell("count", table) == "6\n"


def test_properties_and_versions(table: str, shell: Shell) -> None:
    shell("set", table, "owner=ada", "s3.secret-access-key=hush", "--yes")
    assert "hush" not in shell("properties", table) + shell("show", table, "--json")
    assert shell.json("properties", table)["owner"] == "ada"
    shell("unset", table, "owner", "--yes")
    assert "owner" not in shell.json("properties", table)
    shell("upgrade", table, 3, "--yes")
    assert fz.open_table(table).format_version == 3
    shell("upgrade", table, 1, "--yes", code=2)


def test_create_append_drop(lake: Path, tmp_path: Path, shell: Shell) -> None:
    where = f"{lake}/shop/orders"
    shell("create", where, "-c", "id long required", "-c", "amount decimal(10,2)", "-c", "at timestamptz", code=2)
    shell("create", where, "-c", "id long required", "-c", "amount decimal(10,2)", "-c", "at timestamptz", "--yes")
    (tmp_path / "a.csv").write_text("id,amount,at\n1,2.50,2026-01-01T00:00:00Z\n2,,2026-01-02T00:00:00Z\n", "utf-8")
    (tmp_path / "b.jsonl").write_text('{"id": 3, "amount": "4.00", "at": "2026-01-03T00:00:00Z"}\n', "utf-8")
    done = shell.json("append", where, tmp_path / "a.csv", tmp_path / "b.jsonl", "--yes")
    assert done["result"]["rows_added"] == 3
    assert len(fz.open_table(where).snapshots) == 1
    found = fz.open_table(where).scan().to_arrow().sort_by("id")
    assert [str(v) for v in found["amount"].to_pylist()] == ["2.50", "None", "4.00"]
    pq.write_table(found, tmp_path / "c.parquet")
    with pa.OSFile(str(tmp_path / "d.arrow"), "wb") as sink, pa.ipc.new_file(sink, found.schema) as writer:
        writer.write_table(found)
    plan = shell.json("append", where, tmp_path / "c.parquet", "--dry-run")["plan"]
    assert plan["files"][0]["rows"] == 3
    shell("append", where, tmp_path / "c.parquet", tmp_path / "d.arrow", "--yes")
    assert shell("count", where) == "9\n"
    shell("create", f"{lake}/shop/copy", "--like", tmp_path / "c.parquet", "--partition-by", "month(at)", "--yes")
    assert fz.open_table(f"{lake}/shop/copy").schema.names == ["id", "amount", "at"]
    (tmp_path / "bad.parquet").write_bytes(b"no")
    shell("append", where, tmp_path / "bad.parquet", "--yes", code=2)
    shell("append", where, tmp_path / "none.csv", "--yes", code=2)
    assert shell("count", where) == "9\n"
    shell("create", where, "-c", "id long", "--yes", code=1)
    shell("drop", where, "--yes")
    assert shell("ls", lake) == "db.events\nshop.copy\n"


def test_create_a_table_of_paimon(lake: Path, tmp_path: Path, shell: Shell) -> None:
    where = f"{lake}/shop/customers"
    shell("create", where, "-c", "id int required", "-c", "name string", "--key", "id", "--format", "paimon", "--yes")
    (tmp_path / "a.csv").write_text("id,name\n1,Ada\n", "utf-8")
    shell("append", f"{lake}/shop.db/customers", tmp_path / "a.csv", "--yes")
    shell("append", f"{lake}/shop.db/customers", tmp_path / "a.csv", "--yes")
    assert shell("count", f"{lake}/shop.db/customers") == "1\n"


def test_faults_have_codes_and_json(table: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("scan", table, "--where", "nope = 1", "--json", code=2)
    error = json.loads(shell.err)["error"]
    assert error["kind"] == "invalid_input"
    assert error["context"] == {"column": "nope"}
    shell("scan", "--json", code=2)
    assert json.loads(shell.err)["error"]["kind"] == "usage"
    shell("no-such-command", code=2)
    for kind, code in ((fz.CommitConflictError, 3), (fz.CommitStateUnknownError, 4), (fz.StoreError, 1)):

        def fail(*_: object, kind: type[fz.FrazilError] = kind, **__: object) -> None:
            raise kind("it failed")

        monkeypatch.setattr(fz.Table, "upgrade", fail)
        shell("upgrade", table, 3, "--yes", code=code)
        assert shell.err == "frazil: it failed\n"


def test_wrong_values_of_options(table: str, shell: Shell) -> None:
    for arguments in (
        ("expire", table, "--older-than", "soon", "--yes"),
        ("compact", table, "--target-size", "large", "--yes"),
        ("count", table, "--storage", "hush"),
        ("set", table, "a", "--yes"),
        ("create", f"{table}2", "-c", "id", "--yes"),
        ("create", f"{table}2", "--yes"),
        ("append", table, "-", "--yes"),
    ):
        shell(*arguments, code=2)
        assert "hush" not in shell.err


def test_completion_knows_tables(lake: Path) -> None:
    from click.shell_completion import ShellComplete

    (lake.parent / ".pyiceberg.yaml").write_text(f"catalog:\n  prod:\n    warehouse: {lake}\n", "utf-8")
    complete = ShellComplete(app, {}, "frazil", "_FRAZIL_COMPLETE")

    def words(*arguments: str) -> list[str]:
        return [item.value for item in complete.get_completions(list(arguments[:-1]), arguments[-1])]

    assert words("show", "pr") == ["prod."]
    assert words("show", "prod.") == ["prod.db."]
    assert words("show", "prod.db.") == ["prod.db.events"]
    assert "snapshots" in words("sna")
