"""Options of several values: with commas, or given again. Options and commands of other programs are answered."""

from pathlib import Path

import pytest

import frazil as fz
from frazil.cli import main
from frazil.cli.values import separated


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (("a,b",), ("a", "b")),
        (("a, b", "c"), ("a", "b", "c")),
        (("bucket(4, id),town",), ("bucket(4, id)", "town")),
        (
            ("id long, price decimal(10, 2), m map<string, int>",),
            ("id long", "price decimal(10, 2)", "m map<string, int>"),
        ),
        (("s struct<a: int, b: list<int>>, c int",), ("s struct<a: int, b: list<int>>", "c int")),
        (('"odd, name",b',), ('"odd, name"', "b")),
        ((), ()),
        (("a,,b",), ("a,,b",)),
        (("",), ("",)),
    ],
)
def test_values_are_separated_by_commas_outside_brackets_and_quotes(
    given: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert separated(None, None, given) == found


@pytest.fixture
def place(tmp_path: Path) -> str:
    columns = "id long required, town string, price decimal(10, 2)"
    place = f"{tmp_path}/lake/db/t"
    made = ["create", place, "-c", columns, "--partition-by", "bucket(4, id),town", "--sort-by", "id,town desc"]
    assert main([*made, "--key", "id", "--yes"]) == 0
    return place


def test_create_takes_commas(place: str) -> None:
    table = fz.open_table(place)
    assert table.schema.names == ["id", "town", "price"]
    assert str(table.schema.field("price").type) == "decimal(10, 2)"
    assert [field.transform for field in table.partition_spec.fields] == ["bucket[4]", "identity"]
    assert [field.descending for field in table.sort_order.fields] == [False, True]


def test_keys_take_commas(tmp_path: Path) -> None:
    place = f"{tmp_path}/lake/db/k"
    columns = "a int required, b int required"
    assert main(["create", place, "-c", columns, "--key", "a,b", "--yes"]) == 0
    assert sorted(fz.open_table(place).schema.identifier_fields) == ["a", "b"]


def test_repair_takes_commas(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", place, "--only", "lost-files,refs", "--dry-run"]) == 0
    assert "0 steps would be done" in capsys.readouterr().out
    assert main(["repair", place, "--only", "lost-files,nope", "--dry-run"]) == 2
    assert "there is no repair 'nope'" in capsys.readouterr().err


def test_expire_takes_commas(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["expire", place, "--snapshot", "7,x", "--dry-run"]) == 2
    assert "'x' is not a valid integer" in capsys.readouterr().err
    assert main(["expire", place, "--snapshot", "7,8", "--dry-run"]) == 2
    assert "no such snapshot (snapshot: 7)" in capsys.readouterr().err


def test_compact_takes_commas(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", place, "--sort-by", "id,town desc", "--dry-run"]) == 0
    assert main(["compact", place, "--zorder-by", "id,nope", "--dry-run"]) == 2
    assert "nope" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option", "here"),
    [
        ("scan", "--branch", "--at"),
        ("scan", "--filter", "--where"),
        ("scan", "--columns", "--select"),
        ("count", "--tag", "--at"),
        ("changes", "--from", "--since"),
        ("scan", "--row-filter", "--where"),
        ("scan", "--selected-fields", "--select"),
        ("scan", "--as-of", "--at"),
        ("scan", "--head", "--limit"),
        ("compact", "--order-by", "--sort-by"),
    ],
)
def test_options_of_other_programs_are_answered(
    place: str, command: str, option: str, here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, place, option, "x"]) == 2
    assert f"No such option '{option}'. Write {here}" in capsys.readouterr().err


def test_options_that_a_command_has_not_are_not_named(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refs", place, "--branch", "x"]) == 2
    assert "--at" not in capsys.readouterr().err


def test_a_revert_is_a_recipe_since_a_rollback_takes_more_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["revert", "lake/db/t"]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "frazil rollback would also take back later commits" in text
    assert "docs/howto/versions/undo-one.md" in text
    assert Path(__file__).parents[2].joinpath("docs/howto/versions/undo-one.md").is_file()


def test_milliseconds_are_answered_in_words_of_the_command_line(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", place, "--at", "1700000000000"]) == 2
    text = capsys.readouterr().err
    assert "For a time, write a date or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z" in text
    assert "datetime" not in text


@pytest.mark.parametrize("name", ["delete", "update", "merge", "upsert", "overwrite"])
def test_changes_of_rows_are_in_python(place: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, place]) == 2
    assert f"No such command '{name}'. Write table.{name}(…) in Python" in capsys.readouterr().err
    assert callable(getattr(fz.Table, name))


def test_restore_names_both_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "lake/db/t"]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "Write frazil rollback, for an earlier version, or frazil repair --restore for lost metadata" in text
    assert "Apache Iceberg" in text


def test_changes_up_to_main(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"{tmp_path}/lake/db/p"
    rows = tmp_path / "rows.csv"
    assert main(["create", place, "-c", "id long", "--format", "paimon", "--yes"]) == 0
    for id_ in (1, 2):
        rows.write_text(f"id\n{id_}\n", "utf-8")
        assert main(["append", place, str(rows), "--yes"]) == 0
    capsys.readouterr()
    assert main(["changes", place, "--since", "main^", "--at", "main", "--select", "id", "--json"]) == 0
    assert capsys.readouterr().out == '{"id":2}\n'


def test_all_columns_of_sql_in_commands(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", place, "--select", "*"]) == 2
    assert (
        capsys.readouterr().err
        == "frazil: there is no column '*' (column: *). Leave out --select to read all columns\n"
    )


def test_a_warehouse_is_answered_with_ls(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", f"{tmp_path}/lake"]) == 2
    assert f"It is a warehouse: frazil ls {tmp_path}/lake lists its tables" in capsys.readouterr().err
