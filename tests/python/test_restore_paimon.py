"""A damaged file of a Paimon table: what `doctor.restore` and `frazil repair --restore` say, and what helps."""

from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import main


@pytest.fixture
def table(tmp_path: Path) -> fz.Table:
    lake = fz.catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    made = lake.create_table("db.t", data=pa.table({"id": [1]}), format="paimon")
    for id_ in (2, 3):
        made.append(pa.table({"id": [id_]}))
    return made


def refused(table: fz.Table) -> str:
    with pytest.raises(fz.UnsupportedError) as caught:
        fz.doctor.restore(table.location)
    return str(caught.value)


def test_restore_is_not_for_tables_of_paimon(table: fz.Table) -> None:
    text = refused(table)
    assert text.startswith("restore: not with tables of Apache Paimon, which have no metadata file")
    assert "If the table can be opened, use repair()" in text


@pytest.mark.parametrize("damaged", ["snapshot/snapshot-3", "schema/schema-0"])
def test_restore_says_so_for_damaged_tables_too(table: fz.Table, damaged: str) -> None:
    Path(table.location, damaged).write_text("{", "utf-8")
    assert "Restore a damaged snapshot or schema from a copy" in refused(table)
    with pytest.raises(fz.CorruptTableError, match="Restore the file from a copy"):
        fz.open_table(table.location)


def test_a_folder_without_a_table_is_not_taken_for_one_of_paimon(tmp_path: Path) -> None:
    with pytest.raises(fz.NotFoundError, match="no manifest list remains"):
        fz.doctor.restore(tmp_path)


def test_a_damaged_newest_snapshot_can_be_given_up(table: fz.Table) -> None:
    folder = Path(table.location, "snapshot")
    (folder / "snapshot-3").write_text("{", "utf-8")
    with pytest.raises(fz.CorruptTableError, match="move snapshot-3 and the file LATEST, if there is one, out of"):
        fz.open_table(table.location)
    (folder / "snapshot-3").unlink()
    (folder / "LATEST").unlink(missing_ok=True)
    opened = fz.open_table(table.location)
    assert sorted(opened.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    opened.append(pa.table({"id": [4]}))
    assert opened.doctor()
    assert sorted(fz.open_table(table.location).scan().to_arrow()["id"].to_pylist()) == [1, 2, 4]


def test_an_object_that_was_open_can_roll_back(table: fz.Table) -> None:
    Path(table.location, "snapshot", "snapshot-3").write_text("{", "utf-8")
    table.rollback(to=2)
    assert sorted(fz.open_table(table.location).scan().to_arrow()["id"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("damaged", [False, True])
def test_the_command_says_what_to_do(table: fz.Table, damaged: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if damaged:
        Path(table.location, "snapshot", "snapshot-3").write_text("{", "utf-8")
    assert main(["repair", table.location, "--restore", "--yes"]) == 2
    text = capsys.readouterr().err
    assert "--restore writes metadata files, which Apache Paimon does not have. Leave it out" in text
    assert "frazil doctor says which file is damaged" in text
    assert "move its file and LATEST out of the folder snapshot, then use frazil repair" in text


@pytest.mark.parametrize("format_", ["iceberg", "paimon"])
def test_errors_that_only_tags_keep_are_told(tmp_path: Path, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fz.catalog("lake", warehouse=str(tmp_path / "tags"))
    lake.create_namespace("db")
    table = lake.create_table("db.t", data=pa.table({"id": [1]}), format=format_)
    [task] = table.scan().plan_files()
    table.refs.create_tag("good")
    table.append(pa.table({"id": [2]}))
    Path(task.data_file.path.removeprefix("file:")).unlink()
    assert main(["repair", table.location, "--only", "lost-files", "--yes"]) == 0
    text = capsys.readouterr().out
    assert "1 error left in versions that branches or tags keep: good. The newest version of main is whole." in text
    assert main(["tag", table.location, "good", "--drop", "--yes"]) == 0
    assert fz.open_table(table.location).scan().to_arrow()["id"].to_pylist() == [2]
