"""The doctor about the health of Paimon tables: what makes each finding, and when it stays away."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil as fz
from paimon_faults import Json, Planted
from test_doctor_health import IDS, appended, created, found, gain, ids

KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
PARTED = pa.schema([("id", pa.int64()), ("c", pa.int64())])


def made(catalog: fz.Catalog, options: dict[str, Any], schema: pa.Schema = IDS, **more: Any) -> fz.Table:
    return catalog.create_table("db.t", schema, properties=options, format="paimon", **more)


def keyed(catalog: fz.Catalog, **options: Any) -> fz.Table:
    """An empty table with a primary key and one bucket, which only `compact` compacts."""
    given = {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    return made(catalog, {"bucket": 1, "write-only": True, **given}, KEYED, identifier_fields=["id"])


def versions(first: int, count: int) -> pa.Table:
    return pa.table({"id": range(first, first + count), "v": [first] * count}, KEYED)


def sizes(table: fz.Table) -> list[int]:
    found: list[int] = table.inspect.files()["file_size_in_bytes"].to_pylist()
    return found


def health(table: fz.Table) -> set[str]:
    """The codes of all findings: there is nothing but health in whole tables."""
    findings = table.doctor().findings
    assert all(f.severity == "info" for f in findings)
    return {f.code for f in findings}


# ---------------------------------------------------------------- sizes


def test_small_files_by_the_target_of_the_table(catalog: fz.Catalog) -> None:
    """A compaction joins files below seven tenths of the target. The default of tables without a key is 256 MB."""
    table = appended(created(catalog, "paimon"), 6)
    assert found(table, "small-files").evidence == (
        "6 of 6 data files are below 187904815 bytes, the target of each is 268435456"
    )
    full = min(sizes(table))
    table.set_properties({"target-file-size": full})
    assert health(table.refresh()) == set()
    assert table.refresh().maintain.compact(dry_run=True).rewritten_files == 0
    # Twice as large files: six become three, which saves too little.
    table.set_properties({"target-file-size": 2 * max(sizes(table))})
    assert health(table.refresh()) == set()
    table.set_properties({"target-file-size": "1 mb"})
    table = table.refresh()
    assert gain(found(table, "small-files")) == (0, 5, 10)
    table.maintain.compact()
    assert health(table.refresh()) == set()


@pytest.mark.parametrize("key", [[], ["id", "c"]], ids=["append", "keyed"])
def test_skewed_partitions(catalog: fz.Catalog, key: list[str]) -> None:
    schema = pa.schema([PARTED.field(name).with_nullable(not key) for name in PARTED.names])
    options = {"target-file-size": "5000", "bucket": 1 if key else -1}
    table = made(catalog, options, schema, partition_by=["c"], identifier_fields=key or None)
    table = table.append(pa.table({"id": range(10), "c": range(10)}, schema))
    assert health(table) == set()
    table = table.append(pa.table({"id": range(20, 20_020), "c": [3] * 20_000}, schema))
    files = table.inspect.files().group_by("partition").aggregate([("file_size_in_bytes", "sum")])
    by_partition = dict(zip(files["partition"].to_pylist(), files["file_size_in_bytes_sum"].to_pylist(), strict=True))
    median = sorted(by_partition.values())[5]
    finding = found(table, "skewed-partitions")
    assert finding.evidence == f"the largest of 10 partitions has {by_partition['{3}']} bytes, the median {median}"
    assert finding.gain is not None
    assert finding.gain.bytes == by_partition["{3}"] - median
    # A partition below the size of one full file is no problem.
    table.set_properties({"target-file-size": "1 mb"})
    assert "skewed-partitions" not in table.refresh().doctor().codes


def test_small_manifests_by_the_target_of_the_table(catalog: fz.Catalog) -> None:
    table = appended(created(catalog, "paimon", manifest_merge__min__count="1000"), 61)
    assert found(table, "small-manifests").evidence == "61 manifests below 1048576 bytes"
    least = min(table.inspect.manifests()["file_size"].to_pylist())
    table.set_properties({"manifest.target-file-size": 8 * least})
    assert "small-manifests" not in table.refresh().doctor().codes
    table.set_properties({"manifest.target-file-size": "8 mb"})
    table = table.refresh()
    assert "small-manifests" in table.doctor().codes
    table.maintain.rewrite_manifests()
    assert "small-manifests" not in table.refresh().doctor().codes


def test_large_manifests(catalog: fz.Catalog) -> None:
    """40 files with bounds of 100 columns: 32 characters each, twice, in a manifest that is not compressed."""
    names = [f"t{number}" for number in range(100)]
    schema = pa.schema([("c", pa.int64()), *((name, pa.string()) for name in names)])
    texts = {name: [f"{row:032}" for row in range(40)] for name in names}
    options = {"metadata.stats-mode": "full", "manifest.compression": "null"}
    table = made(catalog, options, schema, partition_by=["c"])
    table = table.append(pa.table({"c": range(40), **texts}, schema))
    (whole,) = table.inspect.manifests()["file_size"].to_pylist()
    # The texts alone are four blocks of Avro, of 64,000 bytes each. No part is smaller than a block.
    assert whole > 40 * 100 * 2 * 32 == 256_000
    # A manifest of four times its target is not yet large.
    table.set_properties({"manifest.target-file-size": -(-whole // 4)})
    table = table.refresh()
    assert "large-manifests" not in table.doctor().codes
    assert table.maintain.rewrite_manifests() == ([], [])
    target = (whole - 1) // 4
    assert target >= 64_000
    table.set_properties({"manifest.target-file-size": target})
    table = table.refresh()
    finding = found(table, "large-manifests")
    assert finding.evidence == f"manifests with over four times {target} bytes: 1"
    assert gain(finding) == (whole - target, 0, 0)
    before = table.scan().to_arrow().sort_by("c")
    done = table.maintain.rewrite_manifests()
    parts = table.inspect.manifests().to_pylist()
    assert (len(done.rewritten), sorted(done.added)) == (1, sorted(part["file_name"] for part in parts))
    # All but the last are full.
    assert len(parts) > 1
    assert all(target <= part["file_size"] <= 2 * target for part in parts[:-1])
    assert sum(part["num_added_files"] for part in parts) == 40
    assert "large-manifests" not in table.refresh().doctor().codes
    assert table.refresh().scan().to_arrow().sort_by("c").equals(before)
    # There is nothing left to divide.
    newest = table.refresh().snapshot
    assert table.maintain.rewrite_manifests() == ([], [])
    assert table.refresh().snapshot == newest


# ---------------------------------------------------------------- deletes


def test_delete_debt(catalog: fz.Catalog) -> None:
    table = made(catalog, {"deletion-vectors.enabled": True}).append(ids(0, 100))
    assert health(table) == set()
    table.delete("id < 10")
    # A tenth is not yet much.
    assert health(table.refresh()) == set()
    table.delete("id >= 90 and id < 95")
    table = table.refresh()
    finding = found(table, "delete-debt")
    assert finding.evidence == "1 deletion vectors with 15 rows, for 100 rows"
    (index,) = table.inspect.table_indexes().to_pylist()
    (vector,) = index["dv_ranges"]
    # The vector's bytes, and those of 15 of 100 rows.
    assert gain(finding) == (vector["f2"] + int(sizes(table)[0] * 0.15), 1, 1)
    table.maintain.compact()
    assert health(table.refresh()) == set()


def test_delete_debt_of_several_files(catalog: fz.Catalog) -> None:
    """Vectors of all partitions count. Each has an index file of its own."""
    table = made(catalog, {"deletion-vectors.enabled": True}, PARTED, partition_by=["c"])
    table = table.append(pa.table({"id": range(40), "c": [n % 4 for n in range(40)]}, PARTED))
    table.delete("id < 2")
    assert health(table.refresh()) == set()
    table.delete("id < 6")
    table = table.refresh()
    finding = found(table, "delete-debt")
    assert finding.evidence == "4 deletion vectors with 6 rows, for 40 rows"
    indexes = table.inspect.table_indexes().to_pylist()
    own = sum(vector["f2"] for index in indexes for vector in index["dv_ranges"])
    assert gain(finding) == (own + int(sum(sizes(table)) * 0.15), len(indexes), 4)
    assert len(indexes) == 4


def test_vectors_of_unknown_files_are_no_debt(catalog: fz.Catalog) -> None:
    """What no reader applies costs nothing: another finding names it."""
    options = {"deletion-vectors.enabled": True, "manifest.compression": "deflate"}
    table = made(catalog, options).append(ids(0, 100))
    table.delete("id < 50")
    assert health(table.refresh()) == {"delete-debt"}

    def rename(entries: list[Json]) -> None:
        for vector in entries[0]["_DELETIONS_VECTORS_RANGES"]:
            vector["f0"] = "data-other.parquet"

    Planted(table).indexes(rename)
    assert fz.doctor.examine(table.location).codes == ["vector-unknown-file"]


@pytest.mark.parametrize("changed", [10, 20])
def test_delete_debt_of_keys(catalog: fz.Catalog, changed: int) -> None:
    """Old versions of a key that a compaction marked in vectors are a debt. A full compaction drops them."""
    table = keyed(catalog, deletion__vectors_enabled=True).append(versions(0, 100))
    table.maintain.compact()
    table.refresh().append(versions(0, changed))
    table.refresh().maintain.compact(strategy="minor")
    table = table.refresh()
    (index,) = table.inspect.table_indexes().to_pylist()
    assert [vector["_CARDINALITY"] for vector in index["dv_ranges"]] == [changed]
    if changed == 10:  # of 110 rows
        assert health(table) == set()
        return
    assert found(table, "delete-debt").evidence == "1 deletion vectors with 20 rows, for 120 rows"
    table.maintain.compact(strategy="full")
    assert health(table.refresh()) == set()


def test_files_at_level_0_are_counted_once(catalog: fz.Catalog) -> None:
    """Rows whose key has a newer version are found by the level of their files, and are no debt too."""
    table = keyed(catalog)
    for _ in range(6):
        table = table.append(versions(0, 20))
    assert health(table) == {"level-zero-files"}
    table.maintain.compact()
    assert health(table.refresh()) == set()


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "full"])
@pytest.mark.parametrize("parts", [[], ["c"]], ids=["plain", "parts"])
def test_missing_statistics(catalog: fz.Catalog, parts: list[str], dense: bool) -> None:
    options = {"metadata.stats-mode": "none", "metadata.stats-dense-store": dense}
    table = made(catalog, options, PARTED, partition_by=parts)
    for number in range(5):
        table = table.append(pa.table({"id": [number], "c": [7]}, PARTED))
    # Five files are quickly read.
    assert health(table) == set()
    table = table.append(pa.table({"id": [5], "c": [7]}, PARTED))
    finding = found(table, "missing-statistics")
    assert finding.evidence == "6 of 6 data files have no statistics of any column"
    assert gain(finding) == (0, 0, 6)
    table.set_properties({"metadata.stats-mode": "truncate(16)"})
    table = table.refresh()
    assert "missing-statistics" in table.doctor().codes
    table.maintain.compact()
    assert health(table.refresh()) == set()


def test_some_statistics_are_enough(catalog: fz.Catalog) -> None:
    """Null counts are statistics, and so are those of one column. Half of the files may have none."""
    rows = pa.table({"id": [1], "c": [2]}, PARTED)
    for options in ({"metadata.stats-mode": "counts"}, {"fields.c.stats-mode": "none"}):
        table = made(catalog, options, PARTED)
        for _ in range(6):
            table = table.append(rows)
        assert health(table) == {"small-files"}
        catalog.drop_table("db.t")
    table = made(catalog, {"metadata.stats-mode": "none"}, PARTED)
    for _ in range(6):
        table = table.append(rows)
    table.set_properties({"metadata.stats-mode": "full"})
    table = table.refresh()
    for _ in range(5):
        table = table.append(rows)
    assert "missing-statistics" in table.doctor().codes
    assert "missing-statistics" not in table.append(rows).doctor().codes


def test_keys_have_bounds_without_statistics(catalog: fz.Catalog) -> None:
    table = keyed(catalog, metadata_stats__mode="none")
    for first in range(8):
        table = table.append(versions(first, 1))
    assert health(table) == {"level-zero-files"}


def test_columns_that_never_have_statistics(catalog: fz.Catalog) -> None:
    """Nothing can be done about a table of lists."""
    schema = pa.schema([("values", pa.list_(pa.int64()))])
    table = made(catalog, {}, schema)
    for _ in range(6):
        table = table.append(pa.table({"values": [[1]]}, schema))
    assert health(table) == {"small-files"}


# ---------------------------------------------------------------- order


def test_file_order(catalog: fz.Catalog) -> None:
    """16 files of 10 rows: each value is in the bounds of one file, or of all."""
    table = appended(created(catalog, "paimon"), 16)
    assert health(table) == {"small-files"}
    catalog.drop_table("db.t")
    table = appended(created(catalog, "paimon"), 15, step=100, space=1)
    # Fifteen files are too few.
    assert health(table) == {"small-files"}
    table = table.append(ids(15, step=100))
    finding = found(table, "file-order")
    assert (finding.object, finding.evidence) == (
        "id",
        "a value is in the bounds of 100 % of 16 files on average",
    )
    assert gain(finding) == (sum(sizes(table)) // 16 * 15, 15, 30)
    table = table.overwrite(table.scan().to_arrow().sort_by("id"))
    assert health(table) == set()


def test_order_of_other_columns(catalog: fz.Catalog) -> None:
    """The bucket key skips files in another way. Texts are measured like numbers."""
    schema = pa.schema([("k", pa.int64()), ("name", pa.string()), ("n", pa.int64())])
    table = made(catalog, {"bucket": 1, "bucket-key": "k"}, schema)
    for number in range(16):
        table = table.append(pa.table({"k": [0, 99], "name": ["a", "z"], "n": [number, number]}, schema))
    assert [f.object for f in table.doctor().findings if f.code == "file-order"] == ["name"]


def test_order_of_columns_to_cluster_by(catalog: fz.Catalog) -> None:
    """Only the columns of the clustering are expected to have an order."""
    table = made(catalog, {"clustering.columns": "id"}, PARTED)
    for number in range(16):
        table = table.append(pa.table({"id": [number, number], "c": [0, 99]}, PARTED))
    assert "file-order" not in table.doctor().codes


def test_files_of_keys_overlap_by_design(catalog: fz.Catalog) -> None:
    table = keyed(catalog)
    for _ in range(16):
        table = table.append(versions(0, 20))
    assert pc.sum(table.inspect.files()["record_count"]).as_py() == 16 * 20
    assert health(table) == {"level-zero-files"}
