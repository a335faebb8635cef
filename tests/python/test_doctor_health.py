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
    # In version 2 the delete files stay, but they apply to no data file: another finding is about them.
    diagnosis = table.refresh().doctor()
    assert "delete-debt" not in diagnosis.codes
    assert ("delete-unknown-file" in diagnosis.codes) == (version == "2")


def test_delete_debt_of_several_files(catalog: fz.Catalog) -> None:
    """A delete file of several data files names none, so nothing tells that all of them are removed."""
    properties = {
        "format-version": "2",
        "write.delete.mode": "merge-on-read",
        "write.delete.granularity": "partition",
    }
    table = catalog.create_table("db.t", IDS, properties=properties)
    for first in (0, 100, 200):
        table.append(ids(first, 100))
    table.delete("id >= 20 and id < 280 and id != 150")
    assert "1 delete files with 259 rows" in found(table, "delete-debt").evidence
    table.maintain.compact(rewrite_all=True)
    remedy = found(table.refresh(), "delete-debt").remedy
    assert remedy.endswith("rewrite_position_deletes(rewrite_all=True).")
    table.maintain.rewrite_position_deletes(rewrite_all=True)
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
    assert finding.evidence.startswith("3 of 4 data files")


def test_missing_statistics_of_the_current_snapshot(catalog: fz.Catalog) -> None:
    """Files of old snapshots count neither for the finding nor against it."""
    table = catalog.create_table("db.t", IDS, sort_by=["id"])
    for first in (0, 10, 20):
        table.append(ids(first))
    table.set_properties({"write.metadata.metrics.column.id": "counts"})
    table.overwrite(ids(0))
    finding = found(table, "missing-statistics")
    assert (finding.evidence, gain(finding)) == ("1 of 1 data files have no bounds of it", (0, 0, 1))
    for first in (0, 10, 20):
        table.append(ids(first))
    table.set_properties({"write.metadata.metrics.column.id": "full"})
    table.overwrite(ids(0))
    assert "missing-statistics" not in table.doctor().codes


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


TEXTS = pa.schema([("s", pa.string())])


def texts(prefix: str, numbers: range) -> pa.Table:
    return pa.table({"s": [f"{prefix}{number:03}" for number in numbers]}, TEXTS)


def test_file_order_of_texts(catalog: fz.Catalog) -> None:
    """Texts with the same first 12 characters: 16 files of 10 rows, sorted or not."""
    table = created(catalog, "iceberg", TEXTS)
    for number in range(16):
        table = table.append(texts("common-user-", range(number * 10, number * 10 + 10)))
    assert not {"file-order", "useless-statistics"} & set(table.doctor().codes)
    catalog.drop_table("db.t")
    table = created(catalog, "iceberg", TEXTS)
    for number in range(16):
        table = table.append(texts("common-user-", range(number, 160, 16)))
    finding = found(table, "file-order")
    assert (finding.object, "100 % of 16 files" in finding.evidence) == ("s", True)
    sizes = table.inspect.files()["file_size_in_bytes"].to_pylist()
    assert gain(finding) == (sum(sizes) // 16 * 15, 15, 30)
    assert "useless-statistics" not in table.doctor().codes


def test_useless_statistics(catalog: fz.Catalog) -> None:
    """Bounds keep the first 16 characters, which are the same in all files."""

    def rows(number: int) -> pa.Table:
        return texts("https://example.com/path/", range(number * 10, number * 10 + 10))

    table = created(catalog, "iceberg", TEXTS)
    for number in range(15):
        table = table.append(rows(number))
    # Too few files.
    assert "useless-statistics" not in table.doctor().codes
    finding = found(table.append(rows(15)), "useless-statistics")
    assert (finding.object, finding.gain) == ("s", None)
    assert finding.evidence == "16 of 16 files have the bounds 'https://example.' and 'https://example/'"
    # To sort does not help.
    assert "file-order" not in table.refresh().doctor().codes
    # The bounds of one file may differ, but not those of two: 16 of 18 are below nine in ten.
    table = table.append(texts("other-", range(10)))
    assert "16 of 17 files" in found(table, "useless-statistics").evidence
    assert "useless-statistics" not in table.append(texts("other-", range(10, 20))).doctor().codes
    catalog.drop_table("db.t")
    # The remedy: whole texts are bounds.
    table = created(catalog, "iceberg", TEXTS, write_metadata_metrics_column_s="truncate(64)")
    for number in range(16):
        table = table.append(rows(number))
    assert not {"file-order", "useless-statistics"} & set(table.doctor().codes)


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
    finding = found(table, "skewed-partitions")
    assert finding.evidence == f"the largest of 10 partitions has {sizes[3]} bytes, the median {median}"
    assert finding.gain is not None
    assert finding.gain.bytes == sizes[3] - median


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
