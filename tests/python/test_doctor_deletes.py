"""The doctor of Iceberg tables: delete files, rows of files, and repairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from conftest import event_rows
from doctor_faults import Planted, cut
from frazil import doctor
from test_doctor import FAULTS, Fault, data_file, entry, examined, little


def with_deletes(catalog: fz.Catalog, version: int) -> fz.Table:
    rows = event_rows(0, 100).select(["id", "country"])
    properties = {"format-version": str(version), "write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.deletes", rows.schema, properties=properties).append(rows)
    return table.delete("id in (3, 4, 50)")


VECTOR_FAULTS: dict[str, tuple[str, Fault]] = {
    "file of deletes deleted": ("delete-file-missing", lambda t: t.data_path(1).unlink()),
    "file of deletes cut off": ("file-truncated", lambda t: cut(t.data_path(1))),
    "deletes twice": ("two-vectors", lambda t: t.entries(two_vectors, 1)),
    "no data file": ("vector-incomplete", data_file(1, referenced_data_file=None)),
    "another place": ("vector-damaged", data_file(1, content_offset=77)),
    "no footer": ("vector-bare", lambda t: overwrite_tail(t.data_path(1))),
    "no footer and no vector": ("vector-damaged", lambda t: overwrite_all(t.data_path(1))),
    "another number": ("vector-damaged", data_file(1, record_count=2)),
    "too many rows": ("delete-count", data_file(1, record_count=1000)),
    "another data file": ("delete-unknown-file", data_file(1, referenced_data_file="/nowhere/x.parquet")),
    "older than its data": (
        "dangling-delete",
        entry(lambda e: e.update(status=0, sequence_number=0, file_sequence_number=1), 1),
    ),
}


def overwrite_tail(path: Path) -> None:
    """The file ends without the magic of Puffin, as some versions of DuckDB leave it."""
    whole = path.read_bytes()
    path.write_bytes(whole[:-4] + b"\0" * 4)


def overwrite_all(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def two_vectors(entries: list[dict[str, Any]]) -> None:
    again = {**entries[0], "data_file": {**entries[0]["data_file"]}}
    again["data_file"]["content_offset"] += 1
    entries.append(again)


@pytest.mark.parametrize("name", VECTOR_FAULTS)
def test_each_fault_of_a_deletion_vector_has_its_code(name: str, catalog: fz.Catalog) -> None:
    code, plant = VECTOR_FAULTS[name]
    planted = Planted(with_deletes(catalog, 3))
    assert not examined(planted, deep=True).errors, str(examined(planted, deep=True))
    plant(planted)
    found = examined(planted)
    assert code in found.codes, (name, str(found))


def test_a_bare_vector_is_no_error_and_its_rows_stay_deleted(catalog: fz.Catalog) -> None:
    """Java reads a vector by its offset and length alone, and so does Frazil."""
    planted = Planted(with_deletes(catalog, 3))
    overwrite_tail(planted.data_path(1))
    assert not examined(planted, deep=True).errors
    assert ids(fz.open_table(planted.root)) == [n for n in range(100) if n not in (3, 4, 50)]


def test_positions_beyond_the_data_file_are_found_in_the_rows(catalog: fz.Catalog) -> None:
    planted = Planted(with_deletes(catalog, 2))
    assert not examined(planted, deep=True).errors
    planted.entry(lambda e: e["data_file"].update(record_count=20))
    assert "delete-position" in examined(planted, deep=True).codes
    assert "delete-position" not in examined(planted).codes


def test_rows_that_their_statistics_leave_out_are_found_by_reading(catalog: fz.Catalog) -> None:
    """The footer repeats the recorded bounds, so only the rows show the truth."""
    rows = event_rows(0, 100).select(["id", "country"])
    table = catalog.create_table("db.avro", rows.schema, properties={"write.format.default": "avro"}).append(rows)
    planted = Planted(table)
    planted.entry(
        lambda e: e["data_file"].update(
            lower_bounds=[{"key": 1, "value": little(5)}],
            upper_bounds=[{"key": 1, "value": little(50)}],
            null_value_counts=[{"key": 2, "value": 0}],
            record_count=99,
        )
    )
    assert not examined(planted).errors
    assert {"bounds-exclude-rows", "null-count-hides-rows", "row-count"} <= set(examined(planted, deep=True).codes)


# ---------------------------------------------------------------- repairs


def ids(table: fz.Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def test_lost_files_are_taken_out(events: fz.Table) -> None:
    planted = Planted(events)
    path = planted.data_path()
    lost = events.scan().to_arrow()
    kept = [f for f in events.inspect.files().to_pylist() if f["file_path"] == str(path)]
    path.unlink()
    before = events.snapshot.id
    plan = events.repair("lost-files")
    assert plan.dry_run
    assert [step.object for step in plan.steps] == [str(path)]
    assert plan.rows_lost == kept[0]["record_count"]
    assert events.refresh().snapshot.id == before
    done = events.repair("lost-files", dry_run=False)
    assert done.rows_lost == plan.rows_lost
    assert len(ids(events)) == len(lost) - plan.rows_lost
    assert not [f for f in events.doctor().errors if f.object != str(path)]
    assert events.rollback(before).snapshot.id == before


@pytest.mark.parametrize(
    "name", ["counts that hide files", "wrong counts", "summary that hides files", "manifest twice"]
)
def test_manifests_are_written_again(name: str, events: fz.Table) -> None:
    whole = ids(events)
    planted = Planted(events)
    FAULTS[name][1](planted)
    table = fz.open_table(planted.root)
    assert table.repair("manifests").steps
    assert table.repair("manifests", dry_run=False).steps
    assert ids(table) == whole
    assert not table.repair("manifests").steps
    rows = list(table.scan("id = 150").to_arrow()["id"].to_pylist())
    assert rows == [150]


def test_lost_manifests_are_left_out(events: fz.Table) -> None:
    planted = Planted(events)
    planted.manifest_paths()[0].unlink()
    table = fz.open_table(planted.root)
    done = table.repair("manifests", dry_run=False)
    assert done.rows_lost == 100
    assert len(ids(table)) == 100
    assert table.snapshot.summary["total-records"] == "100"


@pytest.mark.parametrize("name", ["manifest with fewer entries", "entries removed"])
def test_the_entries_of_a_cut_manifest_stay(name: str, catalog: fz.Catalog) -> None:
    """What is left of it is written again, and the rows of the rest are named as lost."""
    table = catalog.create_table("db.cut", event_rows(0, 1).schema, partition_by=["country"])
    rows = event_rows(0, 100)
    table.append(rows)
    planted = Planted(table)
    files = {f["file_path"]: f["record_count"] for f in planted.files()}
    FAULTS[name][1](planted)
    left = {f["file_path"]: f["record_count"] for f in planted.files()}
    lost = sum(files.values()) - sum(left.values())
    assert 0 < lost < 100
    table = fz.open_table(planted.root)
    everything = table.repair()
    assert everything.rows_lost == table.repair("manifests").rows_lost == lost
    assert table.repair("manifests", dry_run=False).rows_lost == lost
    assert len(ids(table)) == 100 - lost
    assert table.snapshot.summary["total-records"] == str(100 - lost)
    assert not table.repair().steps, "the older snapshot keeps the finding until it expires"


def test_a_lost_manifest_of_deletes_loses_no_rows(catalog: fz.Catalog) -> None:
    planted = Planted(with_deletes(catalog, 2))
    planted.manifest_paths(1)[0].unlink()
    table = fz.open_table(planted.root)
    [step] = table.repair("manifests").steps
    assert "come back" in step.action
    assert table.repair("manifests", dry_run=False).rows_lost == 0
    assert len(ids(table)) == 100


def test_totals_are_mended(events: fz.Table) -> None:
    planted = Planted(events)
    FAULTS["wrong totals"][1](planted)
    table = fz.open_table(planted.root)
    assert [step.repair for step in table.repair("summaries", dry_run=False).steps] == ["summaries"]
    assert table.snapshot.summary["total-records"] == "200"
    assert len(ids(table)) == 200


def test_dangling_deletes_are_removed(catalog: fz.Catalog) -> None:
    planted = Planted(with_deletes(catalog, 3))
    VECTOR_FAULTS["another data file"][1](planted)
    table = fz.open_table(planted.root)
    assert [step.repair for step in table.repair("dangling-deletes").steps] == ["dangling-deletes"]
    table.repair("dangling-deletes", dry_run=False)
    assert table.inspect.delete_files().num_rows == 0


@pytest.mark.parametrize(
    "name", ["metadata log of a lost file", "snapshot log of an unknown snapshot", "statistics deleted"]
)
def test_logs_are_mended(name: str, events: fz.Table) -> None:
    planted = Planted(events)
    code, plant = FAULTS[name]
    plant(planted)
    table = fz.open_table(planted.root)
    assert code in table.doctor().codes
    assert table.repair("refs", dry_run=False).steps
    assert code not in table.doctor().codes
    assert len(ids(table)) == 200


@pytest.mark.parametrize(
    "name", ["current snapshot unknown", "tag of an unknown snapshot", "main is behind", "main is a tag"]
)
def test_references_are_restored(name: str, events: fz.Table) -> None:
    planted = Planted(events)
    FAULTS[name][1](planted)
    with pytest.raises(fz.CorruptTableError):
        fz.open_table(planted.root)
    assert doctor.restore(planted.root).dry_run
    with pytest.raises(fz.CorruptTableError):
        fz.open_table(planted.root)
    doctor.restore(planted.root, dry_run=False)
    assert len(ids(fz.open_table(planted.root))) == 200


def test_a_table_without_metadata_is_registered_again(events: fz.Table) -> None:
    planted = Planted(events)
    rows = ids(events)
    for path in (planted.root / "metadata").glob("*.metadata.json"):
        path.unlink()
    (planted.root / "metadata/version-hint.text").unlink()
    done = doctor.restore(planted.root, dry_run=False)
    table = fz.open_table(planted.root)
    assert table.metadata_location == done.metadata_location
    assert ids(table) == rows
    assert table.schema.names == events.schema.names
    assert table.doctor().is_whole
    assert len(ids(table.append(event_rows(200, 5)))) == len(rows) + 5


def test_a_damaged_version_goes_on_from_the_one_before(catalog: fz.Catalog) -> None:
    """What only metadata files know stays, and branches go on with their own snapshots."""
    rows = [pa.table({"id": pa.array([n], pa.int64())}) for n in range(6)]
    table = catalog.create_table("db.t", rows[0].schema, properties={"format-version": "3", "kept": "yes"})
    table.append(rows[0]).refs.create_tag("first").create_branch("side")
    table.append(rows[1], branch="side")
    older = table.append(rows[2]).metadata_location.removeprefix("file:")
    table.append(rows[3], branch="side").append(rows[4])
    for path in Path(table.location, "metadata").glob("*.metadata.json"):
        if path.name > Path(older).name:
            path.write_text("{", "utf-8")
    assert doctor.restore(table.location).steps[0].object.endswith(older)
    doctor.restore(table.location, dry_run=False)
    restored = fz.open_table(table.location)
    assert ids(restored) == [0, 2, 4]
    assert sorted(restored.scan(at="side").to_arrow()["id"].to_pylist()) == [0, 1, 3]
    assert restored.scan(at="first").to_arrow()["id"].to_pylist() == [0]
    assert restored.properties["kept"] == "yes"
    assert restored.doctor().is_whole
    assert ids(restored.append(rows[5])) == [0, 2, 4, 5]


def test_all_repairs_at_once_plan_as_one_alone(events: fz.Table) -> None:
    """A dry run sees the table as the repairs before would leave it."""
    planted = Planted(events)
    manifest = sorted((planted.root / "metadata").glob("*-m0.avro"))[0]
    manifest.unlink()
    with pytest.raises(fz.FrazilError, match=manifest.name):
        events.repair("summaries")
    alone = events.repair("manifests")
    plan = events.repair()
    assert [step for step in plan.steps if step.repair == "manifests"] == alone.steps != []
    done = events.repair(dry_run=False)
    assert done.rows_lost == alone.rows_lost > 0
    assert not events.refresh().repair().steps


def test_a_shorter_file_that_is_whole_stays(events: fz.Table) -> None:
    planted = Planted(events)
    path = next(planted.root.rglob("data/**/*.parquet"))
    rows = pq.read_table(path)
    pq.write_table(rows, path, compression="zstd", use_dictionary=False, store_schema=False)
    recorded = next(t.data_file.size_bytes for t in events.scan().plan_files() if t.data_file.path.endswith(path.name))
    assert path.stat().st_size < recorded
    before = ids(events)
    assert "file-shorter" in events.doctor().codes
    assert not events.repair("lost-files", dry_run=False).steps
    assert ids(events) == before


def test_a_whole_table_needs_no_repair(events: fz.Table) -> None:
    before = events.snapshot.id
    assert not events.repair(dry_run=False).steps
    assert events.snapshot.id == before
    with pytest.raises(fz.InvalidInputError):
        doctor.restore(events.location)
