"""The doctor of Iceberg tables: each planted fault has its code, and whole tables have no errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from doctor_faults import Planted, copy_of, cut, encrypt_footer, set_pair, twice
from frazil import doctor

Fault = Callable[[Planted], object]
LONG = 8
DAY_IN_MS = 86_400_000


def little(n: int) -> bytes:
    return n.to_bytes(LONG, "little", signed=True)


def document(change: Callable[[dict[str, Any]], object]) -> Fault:
    return lambda t: t.document(change)


def current(change: Callable[[dict[str, Any]], object]) -> Fault:
    def edit(metadata: dict[str, Any]) -> None:
        for snapshot in metadata["snapshots"]:
            if snapshot["snapshot-id"] == metadata["current-snapshot-id"]:
                change(snapshot)

    return document(edit)


def manifest(change: Callable[[dict[str, Any]], object]) -> Fault:
    """Edits the first manifest's entry in the manifest list."""
    return lambda t: t.lists(lambda manifests: change(manifests[0]))


def entry(change: Callable[[dict[str, Any]], object], content: int = 0) -> Fault:
    return lambda t: t.entry(change, content)


def data_file(content: int = 0, **members: Any) -> Fault:
    return entry(lambda e: e["data_file"].update(members), content)


def column(name: str, number: int, value: Any) -> Fault:
    return entry(lambda e: set_pair(e, name, number, value))


def mapping(value: Any) -> Fault:
    text = value if isinstance(value, str) else json.dumps(value)
    return document(lambda m: m["properties"].update({"schema.name-mapping.default": text}))


def field(m: dict[str, Any], number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = m["schemas"][-1]["fields"][number]
    return found


def statistics(m: dict[str, Any], snapshot: int | None = None, path: str = "/nowhere/s.puffin") -> None:
    of = m["current-snapshot-id"] if snapshot is None else snapshot
    m["statistics"] = [
        {
            "snapshot-id": of,
            "statistics-path": path,
            "file-size-in-bytes": 10,
            "file-footer-size-in-bytes": 5,
            "blob-metadata": [],
        }
    ]


def damaged_statistics(t: Planted) -> None:
    path = t.root / "metadata" / "broken.stats"
    path.write_bytes(b"0123456789")
    t.document(lambda m: statistics(m, path=str(path)))


def circle(m: dict[str, Any]) -> None:
    first, last = m["snapshots"][0], m["snapshots"][-1]
    first["parent-snapshot-id"] = last["snapshot-id"]


# Names of faults, their codes, and how they are planted in a table with two commits of 100 rows each.
FAULTS: dict[str, tuple[str, Fault]] = {
    # The metadata file
    "metadata cut off": ("metadata-damaged", lambda t: cut(t.metadata)),
    "metadata deleted": ("metadata-missing", lambda t: t.metadata.unlink()),
    "no format version": ("metadata-invalid", document(lambda m: m.pop("format-version"))),
    "format version 9": ("metadata-unsupported", document(lambda m: m.update({"format-version": 9}))),
    "hint": ("version-hint", lambda t: (t.root / "metadata/version-hint.text").write_text("1")),
    "metadata log of a lost file": (
        "metadata-log-missing",
        lambda t: Path(t.now()["metadata-log"][0]["metadata-file"]).unlink(),
    ),
    "metadata log out of order": (
        "metadata-log-disordered",
        document(lambda m: m["metadata-log"][0].update({"timestamp-ms": m["last-updated-ms"] + DAY_IN_MS})),
    ),
    "snapshot log out of order": (
        "snapshot-log-disordered",
        document(lambda m: m["snapshot-log"][0].update({"timestamp-ms": m["last-updated-ms"] + DAY_IN_MS})),
    ),
    "snapshot log of an unknown snapshot": (
        "snapshot-log-unknown",
        document(lambda m: m["snapshot-log"][0].update({"snapshot-id": 5})),
    ),
    "snapshot log ends before": ("snapshot-log-end", document(lambda m: m["snapshot-log"].pop())),
    "current snapshot unknown": (
        "current-snapshot-missing",
        document(lambda m: m.update({"current-snapshot-id": 5})),
    ),
    "tag of an unknown snapshot": (
        "ref-missing-snapshot",
        document(lambda m: m["refs"].update({"old": {"snapshot-id": 5, "type": "tag"}})),
    ),
    "main is behind": (
        "ref-main-differs",
        document(lambda m: m["refs"]["main"].update({"snapshot-id": m["snapshots"][0]["snapshot-id"]})),
    ),
    "main is a tag": ("ref-kind", document(lambda m: m["refs"]["main"].update({"type": "tag"}))),
    "negative retention": (
        "ref-retention",
        document(lambda m: m["refs"]["main"].update({"min-snapshots-to-keep": 0})),
    ),
    "two snapshots with one id": ("duplicate-snapshot", document(lambda m: twice(m["snapshots"]))),
    "schema of a snapshot": ("snapshot-schema", current(lambda s: s.update({"schema-id": 77}))),
    "sequence as the parent's": ("snapshot-sequence", current(lambda s: s.update({"sequence-number": 1}))),
    "sequence above the last": ("sequence-above-last", current(lambda s: s.update({"sequence-number": 99}))),
    "snapshot from the future": (
        "snapshot-time",
        current(lambda s: s.update({"timestamp-ms": s["timestamp-ms"] + DAY_IN_MS})),
    ),
    "circle of parents": ("parent-circle", document(circle)),
    "current schema unknown": ("current-schema-missing", document(lambda m: m.update({"current-schema-id": 7}))),
    "two schemas with one id": ("duplicate-schema", document(lambda m: twice(m["schemas"]))),
    "two columns with one name": ("duplicate-field", document(lambda m: field(m, 1).update({"name": "id"}))),
    "two columns with one id": ("duplicate-field", document(lambda m: field(m, 1).update({"id": 1}))),
    "last column id too low": ("last-column-id", document(lambda m: m.update({"last-column-id": 2}))),
    "last partition id too low": ("last-partition-id", document(lambda m: m.update({"last-partition-id": 999}))),
    "default spec unknown": ("default-spec-missing", document(lambda m: m.update({"default-spec-id": 7}))),
    "default sort order unknown": (
        "default-spec-missing",
        document(lambda m: m.update({"default-sort-order-id": 7})),
    ),
    "partitioned by an unknown column": (
        "partition-source",
        document(lambda m: m["partition-specs"][-1]["fields"][0].update({"source-id": 99})),
    ),
    "sorted by an unknown column": (
        "sort-source",
        document(
            lambda m: m.update(
                {
                    "default-sort-order-id": 1,
                    "sort-orders": [
                        {
                            "order-id": 1,
                            "fields": [
                                {
                                    "source-id": 99,
                                    "transform": "identity",
                                    "direction": "asc",
                                    "null-order": "nulls-first",
                                }
                            ],
                        }
                    ],
                }
            )
        ),
    ),
    "identifier is optional": (
        "identifier-field",
        document(lambda m: m["schemas"][-1].update({"identifier-field-ids": [1]})),
    ),
    "name mapping is no JSON": ("name-mapping", mapping("{")),
    "name mapping of an unknown column": ("name-mapping-unknown", mapping([{"field-id": 99, "names": ["x"]}])),
    "name mapping with a name twice": (
        "name-mapping",
        mapping([{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["id"]}]),
    ),
    "name mapping with an id twice": (
        "name-mapping-twice",
        mapping([{"field-id": 1, "names": ["id"]}, {"field-id": 1, "names": ["other"]}]),
    ),
    # Statistics files
    "statistics deleted": ("statistics-missing", document(statistics)),
    "statistics of an unknown snapshot": ("statistics-unknown", document(lambda m: statistics(m, 5))),
    "statistics damaged": ("statistics-damaged", damaged_statistics),
    # Manifest lists
    "manifest list deleted": ("manifest-list-missing", lambda t: t.list_path().unlink()),
    "manifest list cut off": ("manifest-list-damaged", lambda t: cut(t.list_path())),
    "manifest list without manifests": ("manifest-list-damaged", lambda t: t.lists(lambda ms: ms.clear())),
    "manifest twice": ("manifest-listed-twice", lambda t: t.lists(twice)),
    "manifest of an unknown spec": ("manifest-spec-unknown", manifest(lambda m: m.update(partition_spec_id=9))),
    "manifest from the future": ("manifest-sequence", manifest(lambda m: m.update(sequence_number=99))),
    "manifest with a least number too high": (
        "manifest-sequence",
        manifest(lambda m: m.update(min_sequence_number=99)),
    ),
    # Manifests
    "manifest without a partition field": ("manifest-partition", lambda t: t.manifest_schema(renumber_partition)),
    "manifest deleted": ("manifest-missing", lambda t: t.manifest_paths()[0].unlink()),
    "manifest cut off": ("manifest-damaged", lambda t: cut(t.manifest_paths()[0])),
    "manifest with fewer entries": (
        "manifest-truncated",
        lambda t: rewritten_without_record(t),
    ),
    "manifest of another length": ("manifest-length", manifest(lambda m: m.update(manifest_length=1))),
    "manifest of deletes": ("manifest-content", manifest(lambda m: m.update(content=1))),
    "counts that hide files": (
        "manifest-counts-hide",
        manifest(lambda m: m.update(added_files_count=0, existing_files_count=0)),
    ),
    "entries removed": ("manifest-entries-lost", lambda t: t.entries(lambda entries: entries.pop())),
    "wrong counts": ("manifest-counts", manifest(lambda m: m.update(added_files_count=50))),
    "wrong row counts": ("manifest-counts", manifest(lambda m: m.update(added_rows_count=1))),
    "summary that hides files": (
        "manifest-summary-hides",
        manifest(lambda m: m["partitions"][0].update(upper_bound=m["partitions"][0]["lower_bound"])),
    ),
    "least number above its entries": (
        "manifest-min-sequence",
        entry(lambda e: e.update(status=0, sequence_number=1, file_sequence_number=1)),
    ),
    # Entries
    "entry without a number": (
        "entry-sequence",
        entry(lambda e: e.update(status=0, sequence_number=None, file_sequence_number=None)),
    ),
    "entry from the future": ("entry-sequence", entry(lambda e: e.update(sequence_number=99))),
    "delete file among data": ("entry-content", entry(lambda e: e["data_file"].update(content=1))),
    "negative rows": ("manifest-damaged", data_file(record_count=-1)),
    "no bytes": ("entry-impossible", data_file(file_size_in_bytes=0)),
    "entry of another snapshot": ("entry-snapshot", entry(lambda e: e.update(snapshot_id=5))),
    "entry twice": ("duplicate-file", lambda t: t.entries(twice)),
    "bounds the wrong way round": ("bounds-disordered", column("lower_bounds", 1, little(10**6))),
    "bound of a wrong length": ("bound-undecodable", column("lower_bounds", 1, b"abc")),
    "more nulls than values": ("null-count-hides-rows", column("null_value_counts", 1, 10**6)),
    "more values than rows": ("value-count", column("value_counts", 1, 10**6)),
    "fewer values than rows": ("value-count", column("value_counts", 2, 1)),
    "other partition": (
        "partition-value",
        entry(lambda e: e["data_file"]["partition"].update(ts_day=1)),
    ),
    # Data files
    "data file deleted": ("file-missing", lambda t: t.data_path().unlink()),
    "data file cut off": ("file-truncated", lambda t: cut(t.data_path())),
    "data file overwritten": ("file-damaged", lambda t: t.data_path().write_bytes(b"x" * t.data_path().stat().st_size)),
    "data file longer": ("file-longer", data_file(file_size_in_bytes=100)),
    "wrong number of rows": ("row-count", data_file(record_count=3)),
    "bounds too narrow": ("bounds-exclude-rows", column("upper_bounds", 1, little(-5))),
    "no nulls recorded": ("null-count-hides-rows", column("null_value_counts", 2, 0)),
    "wrong null count": ("null-count", column("null_value_counts", 2, 3)),
    "split offsets": ("split-offsets", data_file(split_offsets=[7, 9])),
    "other type in the file": (
        "column-type",
        lambda t: t.rewrite_data(lambda rows: with_text(rows, "id")),
    ),
    "data file with a key": ("file-unsupported", data_file(key_metadata=b"key")),
    "data file with an encrypted footer": ("file-unsupported", lambda t: encrypt_footer(t.data_path())),
    "file of no table": ("field-ids-missing", lambda t: t.rewrite_data(without_ids)),
    # Summaries
    "wrong totals": ("summary-totals", current(lambda s: s["summary"].update({"total-records": "7"}))),
    "wrong added rows": ("summary-added", current(lambda s: s["summary"].update({"added-records": "7"}))),
    # The folder
    "stray file": ("file-outside", lambda t: (t.root / "data/stray.parquet").write_bytes(b"x")),
}


def rewritten_without_record(t: Planted) -> None:
    from doctor_faults import rewritten

    rewritten(t.manifest_paths()[0], lambda entries: entries.__delitem__(slice(1, None)))


def renumber_partition(schema: dict[str, Any]) -> None:
    """Gives the partition field of a manifest's Avro schema the id of another field."""
    [file] = [f for f in schema["fields"] if f["name"] == "data_file"]
    [partition] = [f for f in file["type"]["fields"] if f["name"] == "partition"]
    partition["type"]["fields"][0]["field-id"] = 1999


def without_ids(rows: pa.Table) -> pa.Table:
    # Structs keep the ids of their fields.
    return pa.table({name: rows[name].combine_chunks() for name in rows.column_names if name != "payload"})


def with_text(rows: pa.Table, name: str) -> pa.Table:
    number = rows.schema.get_field_index(name)
    old = rows.schema.field(number)
    return rows.set_column(number, pa.field(name, pa.string(), metadata=old.metadata), rows[name].cast(pa.string()))


def examined(t: Planted, **options: Any) -> doctor.Diagnosis:
    return doctor.examine(t.root, outside=True, **options)


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_has_its_code(name: str, events: fz.Table) -> None:
    code, plant = FAULTS[name]
    planted = Planted(events)
    assert code not in examined(planted).codes, "found before it was planted"
    plant(planted)
    found = examined(planted)
    assert code in found.codes, (name, str(found))
    severities = {c.code: c.severity for c in doctor.codes()}
    assert {f.severity for f in found.findings if f.code == code} == {severities[code]}


def test_a_whole_table_has_no_errors(events: fz.Table, every_type: fz.Table) -> None:
    for table in (events, every_type):
        for deep in (False, True):
            found = table.doctor(deep=deep)
            assert not found.errors + found.warnings, str(found)
            assert found
            assert found.is_whole


def test_every_file_is_looked_at_once(events: fz.Table) -> None:
    files = len(events.inspect.all_data_files())
    found = events.doctor()
    assert found.examined["files"] == found.examined["footers"] == files
    assert found.examined["manifests"] == len(set(events.inspect.all_manifests()["path"].to_pylist()))
    assert events.doctor(footers=0).examined["footers"] == 0
    assert 0 < events.doctor(footers=3).examined["footers"] < files
    assert events.doctor(deep=True).examined["deep"] == files


def test_the_results_for_people_and_programs(events: fz.Table) -> None:
    planted = Planted(events)
    planted.data_path().unlink()
    found = events.doctor()
    [error] = found.errors
    assert error.code == "file-missing"
    assert error.object == str(planted.data_path())
    assert "file-missing" in str(found)
    assert "repair('lost-files')" in str(found)
    assert "file-missing" in found._repr_html_()
    assert json.loads(found.to_json())["findings"][0]["code"] == "file-missing"
    assert found.to_arrow()["code"].to_pylist()[0] == "file-missing"
    assert pickle.loads(pickle.dumps(found)) == found
    assert not found


def test_findings_beyond_the_limit_are_counted(catalog: fz.Catalog) -> None:
    rows = event_rows(0, 40).select(["id", "country"])
    table = catalog.create_table("db.many", rows.schema, partition_by=["bucket(id, 50)"]).append(rows)
    files = table.inspect.files()["file_path"].to_pylist()
    for path in files:
        Path(path).unlink()
    found = table.doctor()
    assert found.counts["file-missing"] == len(files)
    assert "more finding" in str(found)


def test_a_copied_file_is_not_a_duplicate(events: fz.Table) -> None:
    planted = Planted(events)
    copy_of(planted.data_path(), "copy.parquet")
    assert examined(planted).codes == ["file-outside"] or "file-outside" in examined(planted).codes


def test_the_reference_has_all_codes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "doctor.md").read_text()
    for code in doctor.codes():
        assert f"| `{code.code}` | {code.severity} | {code.meaning} | {code.remedy} |" in page, code.code
    keys = [(code.format, code.code) for code in doctor.codes()]
    assert len(set(keys)) == len(keys)
