"""Tables that Frazil has repaired are whole for Java: it reads their rows, and goes on writing."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz
from frazil import doctor


def made(java: Java, version: int) -> str:
    """A table with three files of two rows, and a delete file for one row of the second."""
    properties = {"write.delete.mode": "merge-on-read"}
    table = java.create("repaired", "id bigint, name string", "", version, properties)
    for first in (1, 11, 21):
        rows = f"select /*+ coalesce(1) */ * from values ({first}, 'a'), ({first + 1}, 'b')"
        java.sql(f"insert into ice.{NAMESPACE}.{table} {rows}")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id = 12")
    return table


def ids(java: Java, table: str) -> list[int]:
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    return sorted(row.id for row in java.sql(f"select id from ice.{NAMESPACE}.{table}"))


def entries(java: Java, table: str, kind: str) -> list[Any]:
    return java.metadata(table, kind, "file_path, record_count")


def path_of(uri: str) -> Path:
    return Path(uri.removeprefix("file:"))


def newest(root: str) -> Path:
    return max(Path(root, "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))


def edited(file: Path, change: Any) -> None:
    """Changes a metadata file."""
    document = json.loads(file.read_text("utf-8"))
    change(document)
    file.write_text(json.dumps(document), "utf-8")
    forget(file)


def forget(file: Path) -> None:
    """Removes the check sum that Hadoop keeps next to a file."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def goes_on(java: Java, table: str, wanted: list[int]) -> None:
    """Java reads these rows, Frazil the same, and both append."""
    assert ids(java, table) == wanted
    found = fz.open_table(java.root(table))
    assert_same_rows(exact(found.scan().to_arrow()), java.read(table))
    # Older snapshots still lead to what is lost.
    found.maintain.expire_snapshots(dt.timedelta(0), retain_last=1)
    found = found.refresh()
    assert not [finding for finding in found.doctor().findings if finding.severity == "error"]
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    java.insert(table, "(100, 'java')")
    found = found.refresh()
    found.append(found.scan("id = 100").to_arrow().set_column(0, "id", [[101]]).cast(found.schema.to_arrow()))
    assert ids(java, table) == [*wanted, 100, 101]
    # Java's own maintenance reads every manifest and every file.
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{table}', options => map('rewrite-all', 'true'))"
    )
    java.sql(f"call ice.system.rewrite_manifests('{NAMESPACE}.{table}')")
    assert ids(java, table) == [*wanted, 100, 101]


def fails(java: Java, table: str, why: str = "does not exist|Failed to open") -> None:
    with pytest.raises(Exception, match=why):
        ids(java, table)


@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_data_file(java: Java, version: int) -> None:
    table = made(java, version)
    (lost,) = [
        row.file_path
        for row in java.sql(f"select distinct _file as file_path from ice.{NAMESPACE}.{table} where id in (1, 2)")
    ]
    path_of(lost).unlink()
    fails(java, table)
    done = fz.open_table(java.root(table)).repair("lost-files", dry_run=False)
    assert [(step.repair, step.rows_lost) for step in done.steps] == [("lost-files", 2)]
    goes_on(java, table, [11, 21, 22])


@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_delete_file(java: Java, version: int) -> None:
    table = made(java, version)
    (lost,) = entries(java, table, "delete_files")
    path_of(lost.file_path).unlink()
    fails(java, table)
    done = fz.open_table(java.root(table)).repair("lost-files", dry_run=False)
    assert [(step.repair, step.rows_lost) for step in done.steps] == [("lost-files", 0)]
    assert entries(java, table, "delete_files") == []
    goes_on(java, table, [1, 2, 11, 12, 21, 22])


@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_manifest(java: Java, version: int) -> None:
    table = made(java, version)
    manifests = java.metadata(table, "manifests", "path, content, added_snapshot_id")
    first = java.snapshot_ids(table)[0]
    (lost,) = [row.path for row in manifests if row.added_snapshot_id == first and row.content == 0]
    path_of(lost).unlink()
    fails(java, table)
    done = fz.open_table(java.root(table)).repair("manifests", dry_run=False)
    assert [(step.repair, step.rows_lost) for step in done.steps] == [("manifests", 2)]
    (summary,) = java.sql(f"select summary from ice.{NAMESPACE}.{table}.snapshots order by committed_at desc limit 1")
    assert summary.summary["total-records"] == "4"
    goes_on(java, table, [11, 21, 22])


@pytest.mark.parametrize("log", ["metadata-log", "snapshot-log"])
def test_a_log_that_java_refuses(java: Java, log: str) -> None:
    table = made(java, 2)

    def back(document: dict[str, Any]) -> None:
        document[log][-1]["timestamp-ms"] -= 300_000

    # Java takes differences of up to a minute for those of clocks.
    edited(newest(java.root(table)), back)
    fails(java, table, "Expected sorted")
    done = fz.open_table(java.root(table)).repair("refs", dry_run=False)
    assert [step.repair for step in done.steps] == ["refs"]
    goes_on(java, table, [1, 2, 11, 21, 22])


def test_a_branch_that_leads_nowhere(java: Java) -> None:
    table = made(java, 2)
    lost = {"snapshot-id": 12345, "type": "branch"}
    edited(newest(java.root(table)), lambda document: document["refs"].update(lost=lost))
    done = doctor.restore(java.root(table), dry_run=False)
    assert [step.repair for step in done.steps] == ["refs"]
    assert [row.name for row in java.metadata(table, "refs", "name")] == ["main"]
    goes_on(java, table, [1, 2, 11, 21, 22])


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_that_is_gone(java: Java, version: int) -> None:
    table = made(java, version)
    for file in Path(java.root(table), "metadata").glob("*.metadata.json"):
        file.unlink()
        forget(file)
    done = doctor.restore(java.root(table), dry_run=False)
    assert done.steps
    goes_on(java, table, [1, 2, 11, 21, 22])


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_that_delete_nothing(java: Java, version: int) -> None:
    table = made(java, version)
    options = "map('rewrite-all', 'true', 'remove-dangling-deletes', 'false', 'use-starting-sequence-number', 'false')"
    java.sql(f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{table}', options => {options})")
    dangling = len(entries(java, table, "delete_files"))
    done = fz.open_table(java.root(table)).repair("dangling-deletes", dry_run=False)
    assert len(done.steps) == dangling
    assert entries(java, table, "delete_files") == []
    goes_on(java, table, [1, 2, 11, 21, 22])
