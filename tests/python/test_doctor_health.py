"""The doctor about the health of tables: what makes each finding, and what its remedy saves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from doctor_faults import Planted
from frazil.cli import main

IDS = pa.schema([("id", pa.int64())])
Make = Callable[[fz.Catalog, str], fz.Table]


def ids(first: int, count: int = 10, step: int = 1) -> pa.Table:
    return pa.table({"id": range(first, first + count * step, step)}, IDS)


def created(catalog: fz.Catalog, form: str, schema: pa.Schema = IDS, **properties: str) -> fz.Table:
    given = {name.replace("__", "-").replace("_", "."): value for name, value in properties.items()}
    return catalog.create_table("db.t", schema, properties=given, format=form)


def appended(table: fz.Table, count: int, step: int = 1, space: int = 10) -> fz.Table:
    """The table with commits of ten rows each, a file in each."""
    for number in range(count):
        table = table.append(ids(number * space, step=step))
    return table


def found(table: fz.Table, code: str) -> fz.doctor.Finding:
    (finding,) = [f for f in table.doctor().findings if f.code == code]
    assert finding.severity == "info"
    return finding


def gain(finding: fz.doctor.Finding) -> tuple[int, int, int]:
    assert finding.gain is not None
    return finding.gain.bytes, finding.gain.files, finding.gain.requests


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_small_files(catalog: fz.Catalog, form: str) -> None:
    table = appended(created(catalog, form), 5)
    # To join five files saves four: too little.
    assert "small-files" not in table.doctor().codes
    finding = found(appended(table, 1), "small-files")
    # Six files become one. Each has a request for its footer and one for its columns.
    assert gain(finding) == (0, 5, 10)
    assert finding.gain is not None
    # 10 requests of 50 ms, 16 at once.
    assert finding.gain.seconds == pytest.approx(10 * 0.05 / 16)
    # They are gone after the remedy.
    table.maintain.compact()
    assert "small-files" not in table.refresh().doctor().codes


def test_small_manifests(catalog: fz.Catalog) -> None:
    table = appended(created(catalog, "iceberg"), 11)
    assert "small-manifests" not in table.doctor().codes
    # Twelve manifests could be two.
    assert gain(found(appended(table, 1), "small-manifests")) == (0, 10, 10)
    table.maintain.rewrite_manifests()
    assert "small-manifests" not in table.refresh().doctor().codes


def test_manifests_of_paimon(catalog: fz.Catalog) -> None:
    table = created(catalog, "paimon", manifest_merge__min__count="1000")
    assert "small-manifests" not in appended(table, 60).doctor().codes
    assert gain(found(appended(table, 1), "small-manifests")) == (0, 61, 61)


def test_large_manifests(catalog: fz.Catalog) -> None:
    table = appended(created(catalog, "iceberg", commit_manifest_target__size__bytes="500"), 1)
    (length,) = table.inspect.manifests()["length"].to_pylist()
    assert length > 4 * 500
    assert gain(found(table, "large-manifests")) == (length - 500, 0, 0)


@pytest.mark.parametrize("version", ["2", "3"])
def test_delete_debt(catalog: fz.Catalog, version: str) -> None:
    table = catalog.create_table(
        "db.t", IDS, properties={"format-version": version, "write.delete.mode": "merge-on-read"}
    ).append(ids(0, 100))
    table.delete("id < 10")
    assert "delete-debt" not in table.doctor().codes
    table.delete("id >= 90 and id < 95")
    finding = found(table, "delete-debt")
    deletes = table.inspect.delete_files()
    sizes = deletes["content_size_in_bytes" if version == "3" else "file_size_in_bytes"].to_pylist()
    (data,) = table.inspect.data_files()["file_size_in_bytes"].to_pylist()
    # 15 of 100 rows are deleted.
    assert gain(finding) == (sum(sizes) + int(data * 0.15), len(sizes), len(sizes))
    table.maintain.compact(rewrite_all=True)
    table.repair("dangling-deletes", dry_run=False)
    assert "delete-debt" not in table.refresh().doctor().codes


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
def test_long_history(catalog: fz.Catalog, form: str) -> None:
    table = appended(created(catalog, form), 100)
    assert "long-history" not in table.doctor().codes
    finding = found(appended(table, 1), "long-history")
    assert "101 snapshots" in finding.evidence
    assert finding.gain is not None
    # No scan of the newest version reads what only old ones have.
    assert finding.gain.seconds == 0.0
    if form == "iceberg":
        assert gain(finding) == (0, 0, 0)
        size = sum(table.inspect.files()["file_size_in_bytes"].to_pylist())
        table.overwrite(ids(0))
        assert gain(found(table, "long-history")) == (size, 101, 0)


def test_large_metadata(catalog: fz.Catalog) -> None:
    table = appended(created(catalog, "iceberg"), 2)
    assert "large-metadata" not in table.doctor().codes
    table.set_properties({"comment": "x" * (4 << 20)})
    size = Path(table.metadata_location).stat().st_size
    finding = found(table, "large-metadata")
    assert finding.object == table.metadata_location
    assert gain(finding) == (size - size // 2, 0, 0)


def test_missing_statistics(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("other", pa.int64())])
    rows = pa.table({"id": range(10), "other": range(10)}, schema)
    table = catalog.create_table("db.t", schema, sort_by=["id"])
    table.set_properties({"write.metadata.metrics.column.other": "none"})
    # Nobody is expected to filter by the other column.
    assert "missing-statistics" not in table.append(rows).doctor().codes
    table.set_properties({"write.metadata.metrics.column.id": "counts"})
    for _ in range(3):
        table.append(rows)
    finding = found(table, "missing-statistics")
    assert (finding.object, gain(finding)) == ("id", (0, 0, 3))


def test_file_order(catalog: fz.Catalog) -> None:
    """16 files of 10 rows: each value is in the bounds of one file, or of all."""
    table = appended(created(catalog, "iceberg"), 16)
    assert "file-order" not in table.doctor().codes
    catalog.drop_table("db.t")
    table = appended(created(catalog, "iceberg"), 16, step=100, space=1)
    finding = found(table, "file-order")
    assert (finding.object, "100 % of 16 files" in finding.evidence) == ("id", True)
    sizes = table.inspect.files()["file_size_in_bytes"].to_pylist()
    assert gain(finding) == (sum(sizes) // 16 * 15, 15, 30)


def test_skewed_partitions(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", pa.int64())])
    table = catalog.create_table(
        "db.t", schema, partition_by=["c"], properties={"write.target-file-size-bytes": "5000"}
    )
    even = pa.table({"id": range(10), "c": range(10)}, schema)
    table.append(even)
    assert "skewed-partitions" not in table.doctor().codes
    table.append(pa.table({"id": range(20_000), "c": [3] * 20_000}, schema))
    sizes = {
        row["partition"]["c"]: row["total_data_file_size_in_bytes"] for row in table.inspect.partitions().to_pylist()
    }
    median = sorted(sizes.values())[5]
    assert found(table, "skewed-partitions").evidence == (
        f"the largest of 10 partitions has {sizes[3]} bytes, the median {median}"
    )


def test_level_zero_files(catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    properties = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("db.t", schema, properties=properties, format="paimon", identifier_fields=["id"])
    for _ in range(5):
        table.append(pa.table({"id": [1, 2]}, schema))
    assert "level-zero-files" not in table.doctor().codes
    table.append(pa.table({"id": [1, 2]}, schema))
    assert gain(found(table, "level-zero-files")) == (0, 5, 10)


def test_files_in_other_places(catalog: fz.Catalog, tmp_path: Path) -> None:
    pq.write_table(ids(0), tmp_path / "other.parquet")
    table = created(catalog, "iceberg")
    table.add_files([str(tmp_path / "other.parquet")])
    assert found(table, "file-elsewhere").object.endswith("other.parquet")
    assert found(table, "file-elsewhere").gain is None


# ---------------------------------------------------------------- results


def test_gains_for_people_and_programs(catalog: fz.Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    table = appended(created(catalog, "iceberg"), 20)
    diagnosis = table.doctor()
    assert "(saves about 19 files, 38 requests, 0.1 s)" in str(diagnosis)
    columns = diagnosis.to_arrow()
    at = columns["code"].to_pylist().index("small-files")
    named = ("gain_bytes", "gain_files", "gain_requests", "gain_seconds")
    assert [columns[name][at].as_py() for name in named] == [0, 19, 38, pytest.approx(0.11875)]
    assert main(["doctor", table.location]) == 0
    said = capsys.readouterr().out
    assert "-> Rewrite them into larger files: frazil compact." in said
    assert "-> Join them: frazil rewrite-manifests." in said
    assert "()" not in said
    assert main(["doctor", table.location, "--json"]) == 0
    (small,) = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["code"] == "small-files"]
    assert small["gain"] == {"bytes": 0, "files": 19, "requests": 38, "seconds": pytest.approx(0.11875)}


def test_remedies_name_commands() -> None:
    """Remedies that a command does name it, in the command line."""
    from frazil.cli.wording import in_commands

    without = ("maintain.reset_consumer()",)
    for code in fz.doctor.codes():
        said = in_commands(code.remedy)
        assert "()" not in said or any(name in said for name in without), (code.code, said)
        assert "compact(" not in said, code.code


# ---------------------------------------------------------------- faults that need a table of their own


def test_faults_of_manifest_lists(catalog: fz.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", pa.int64())])
    table = catalog.create_table("db.t", schema, partition_by=["c"], properties={"format-version": "3"})
    table.append(pa.table({"id": [1], "c": [1]}, schema))
    with table.update_partition_spec() as change:
        change.add_field("bucket(id, 4)")
    table.append(pa.table({"id": [2], "c": [2]}, schema))
    assert not [f for f in table.doctor().findings if f.severity != "info"]
    whole = tmp_path / "whole"
    planted = Planted(table)
    shutil.copy(planted.list_path(), whole)
    for code, change in {
        "manifest-spec-differs": {"partition_spec_id": 0},
        "manifest-row-id": {"first_row_id": None},
    }.items():
        planted.lists(lambda manifests, change=change: manifests[0].update(change))
        assert code in table.doctor().codes
        shutil.copy(whole, planted.list_path())
    assert not [f for f in table.doctor().findings if f.severity != "info"]


def test_faults_of_deletes(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", pa.int64())])
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.t", schema, partition_by=["c"], properties=properties)
    table.append(pa.table({"id": range(10), "c": [1] * 10}, schema)).delete("id = 3")
    planted = Planted(table)
    assert not [f for f in table.doctor().findings if f.severity != "info"]
    planted.entry(lambda e: e["data_file"]["partition"].update(c=2), 1)
    assert "delete-partition" in table.doctor().codes
    for keys in (None, [99]):
        planted.entry(lambda e, keys=keys: e["data_file"].update(content=2, equality_ids=keys), 1)
        assert "delete-keys" in table.doctor().codes


def test_a_field_id_that_two_columns_have(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64()), ("c", pa.int64())])
    table = catalog.create_table("db.t", schema).append(pa.table({"id": [1], "c": [1]}, schema))
    planted = Planted(table)

    def same(rows: pa.Table) -> pa.Table:
        return rows.cast(
            pa.schema([pa.field(name, pa.int64(), metadata={"PARQUET:field_id": "1"}) for name in ("id", "c")])
        )

    assert "field-ids-twice" not in table.doctor().codes
    planted.rewrite_data(same)
    assert "field-ids-twice" in table.doctor().codes
