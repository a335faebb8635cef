"""How explanations, estimates and their pictures look."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ET
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.display.picture import Cell, merged
from frazil.explain import Explain


def stage(name: str, unit: str, considered: int, kept: int, kept_bytes: int, time: float, why: str) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "considered": considered,
        "kept": kept,
        "considered_bytes": 2 * kept_bytes,
        "kept_bytes": kept_bytes,
        "reason": why,
        "time_ms": time,
    }


FACTS: dict[str, Any] = {
    "table": "/wh/db/events",
    "format": "iceberg",
    "format_version": 2,
    "snapshot_id": 42,
    "snapshot_timestamp_ms": 1_700_000_000_000,
    "operation": "append",
    "schema_id": 3,
    "partition_specs": {0: "day(ts)", 1: "day(ts), bucket(16, id)"},
    "filter": "ts >= '2023-01-01T00:00:00+00:00' and not starts_with(name, 'x')",
    "select": ["id", "ts"],
    "clauses": [
        {
            "clause": "ts >= '2023-01-01T00:00:00+00:00'",
            "stages": ["manifest list", "partitions", "column metrics"],
            "limits": [],
        },
        {
            "clause": "not starts_with(name, 'x')",
            "stages": [],
            "limits": ["no partition field of name", "no metrics for column name"],
        },
    ],
    "stages": [
        stage("partition summaries", "manifest", 10, 1, 1536, 0.84, "partition ranges"),
        stage("delete files", "delete file", 7, 5, 99, 3, "partitions, keys"),
        stage("column metrics", "data file", 1000, 3, 5 << 30, 1234.5, "bounds and counts"),
        stage("tasks", "task", 1, 1, 7, 0, "all"),
        stage("none", "file", 0, 0, 0, 0, ""),
    ],
    "deletes": {"position": 1, "equality": 0, "deletion_vector": 4, "attached": 3, "attachments": 9},
    "commits": [],
    "cache": None,
    "rows": 1234567,
    "time_ms": 1240.0,
}

TEXT = """\
Scan of /wh/db/events
  snapshot    42, append, 2023-11-14 22:13:20 UTC
  format      Iceberg version 2, schema 3
  partitions  day(ts) (spec 0); day(ts), bucket(16, id) (spec 1)
  filter      ts >= '2023-01-01T00:00:00+00:00' and not starts_with(name, 'x')
  select      id, ts

  ts >= '2023-01-01T00:00:00+00:00'
      prunes by manifest list, partitions, column metrics
  not starts_with(name, 'x')
      prunes nothing, only asked of rows; no partition field of name; no metrics for column name

  partition summaries  █·········  1 of    10 manifests     1.5 KiB  0.8 ms  partition ranges
  delete files         ███████▏··  5 of     7 delete files     99 B  3.0 ms  partitions, keys
  column metrics       ▏·········  3 of 1,000 data files    5.0 GiB  1.23 s  bounds and counts
  tasks                ██████████  1 of     1 task              7 B          all
  none                             0 of     0 files

  1 position delete, 4 deletion vectors: 3 attached, 9 times in all.
  At most 1,234,567 rows in the files kept; planned in 1.24 s."""

HOSTILE = "</svg><script>alert(1)</script>\x1b[31m\x00'\"&\u202e" + "x" * 5000


def test_text() -> None:
    explain = Explain(FACTS)
    assert str(explain) == TEXT
    assert repr(explain) == TEXT
    assert explain.to_dict() == FACTS
    assert explain.to_dict() is not FACTS


def test_text_fits_a_terminal() -> None:
    hostile = Explain({**FACTS, "filter": HOSTILE, "select": ["a column"] * 99, "operation": "\n\x1b]0;x"})
    assert max(map(len, str(hostile).splitlines())) <= 100
    assert str(hostile).replace("\n", "").isprintable()


def test_of_a_scan(events: fz.Table) -> None:
    explain = events.scan("ts < '2023-01-02T00:00:00Z' and id > 3 and payload is not null").explain()
    facts = explain.to_dict()
    assert events.snapshot is not None
    assert facts["snapshot_id"] == events.snapshot.id
    assert facts["operation"] == "append"
    assert facts["partition_specs"] == {0: "day(ts)"}
    assert [stage["name"] for stage in facts["stages"]] == [
        "manifest counts",
        "partition summaries",
        "partition tuples",
        "column metrics",
    ]
    for stage in facts["stages"]:
        assert 0 <= stage["kept"] <= stage["considered"]
        assert 0 < stage["kept_bytes"] <= stage["considered_bytes"]
        assert stage["name"] in str(explain)
    assert facts["rows"] == 24
    clauses = {c["clause"]: c for c in facts["clauses"]}
    assert clauses["id > 3"] == {
        "clause": "id > 3",
        "stages": ["column metrics"],
        "limits": ["no partition field of id"],
    }
    assert clauses["payload is not null"]["stages"] == []
    assert len(clauses) == 3
    assert explain.manifests["kept"].to_pylist() == [True, False]
    assert pickle.loads(pickle.dumps(explain)).manifests == explain.manifests


@pytest.mark.parametrize(
    ("filter", "stages", "limit"),
    [
        ("bucket(4, id) = 1", {"column metrics"}, "bucket[4]"),
        ("id != 4", {"column metrics"}, "all alike"),
        ("id = 4 or ts is null", {"column metrics"}, "no partition field of id"),
        ("day(ts) in ('2023-01-01', '2023-01-03')", {"manifest list", "partitions", "column metrics"}, ""),
        ("ts != '2023-01-01T00:00:00Z'", {"column metrics"}, "partition field ts_day (day) can't tell !="),
    ],
)
def test_what_clauses_can_do(events: fz.Table, filter: str, stages: set[str], limit: str) -> None:
    (clause,) = events.scan(filter).explain().to_dict()["clauses"]
    assert set(clause["stages"]) == stages
    assert limit in "; ".join(clause["limits"])


# ---------------------------------------------------------------- pictures


def texts_of(html: str) -> str:
    """The text of a picture that is well-formed and holds nothing active."""
    root = ET.fromstring(html)
    assert {node.tag.rpartition("}")[2] for node in root.iter()} <= {
        *("div", "b", "code", "ul", "li", "svg", "g", "title", "polygon", "text", "rect")
    }
    for node in root.iter():
        assert not any(name.startswith("on") or "href" in name or "url(" in node.attrib[name] for name in node.attrib)
    return " ".join(root.itertext())


def test_picture(events: fz.Table) -> None:
    scan = events.scan("ts < '2023-01-02T00:00:00Z' and id > 3")
    text = texts_of(scan.explain()._repr_html_())
    assert "Manifests that stay: 1 of 2" in text
    assert "partition summaries: 1 of 2 manifests" in text
    text = texts_of(scan.explain(files=True)._repr_html_())
    assert "Partitions that stay: 1 of 9" in text
    assert "0 of 2 files kept: ts_day=2023-01-05" in text


def test_picture_of_hostile_names() -> None:
    facts = {**FACTS, "table": HOSTILE, "filter": HOSTILE}
    facts["clauses"] = [{"clause": HOSTILE, "stages": [HOSTILE], "limits": [HOSTILE]}]
    facts["stages"] = [{**FACTS["stages"][0], "name": HOSTILE, "reason": HOSTILE}]
    columns: dict[str, list[Any]] = {"content": ["data"], "partition": [HOSTILE], "spec_id": [0], "kept": [True]}
    assert "<script>" in texts_of(Explain(facts, None, pa.table(columns))._repr_html_())
    columns = {"manifest_path": [HOSTILE], "kept": [True], "reason": [HOSTILE]}
    assert "1 of 1 manifest kept" in texts_of(Explain(facts, pa.table(columns))._repr_html_())


def test_picture_of_an_empty_table(catalog: fz.Catalog) -> None:
    scan = catalog.create_table("db.none", pa.schema([("id", pa.int64())])).scan("id = 1")
    assert "the table is empty" in texts_of(scan.explain(files=True)._repr_html_())
    assert "none: the table is empty" in str(scan.explain())
    assert scan.explain(files=True).files.num_rows == 0


def test_many_partitions_share_cells() -> None:
    cells = [Cell(str(n), n % 2, 1) for n in range(1001)]
    some = merged(cells, 10)
    assert len(some) == 10
    assert sum(c.total for c in some) == 1001
    assert sum(c.kept for c in some) == 500
    assert some[0].label == "0 to 99 (100)"
    assert merged(cells[:10], 10) == cells[:10]


# ---------------------------------------------------------------- estimates and limits


def test_estimate(events: fz.Table) -> None:
    whole = events.scan().estimate()
    sizes = events.scan().explain().manifests["manifest_length"].to_pylist()
    assert whole.bytes == whole.total_bytes == sum(sizes)
    assert (whole.data_manifests, whole.delete_manifests, whole.total_manifests) == (2, 0, 2)
    assert (whole.data_files, whole.rows) == (10, 200)
    first = events.scan("ts < '2023-01-02T00:00:00Z'").estimate()
    assert first.bytes == sizes[0]
    assert (first.data_files, first.rows) == (5, 100)
    assert first.certainty["data_files"] == "at most"
    assert first.to_dict()["certainty"]["bytes"] == "exact"
    assert str(first).splitlines()[0].startswith("Planning will read 5.")
    assert "data files     at most 5" in str(first)
    assert first.table_memory_bytes > first.streamed_memory_bytes > first.bytes


def test_planning_is_refused_above_a_threshold(events: fz.Table) -> None:
    size = events.scan().estimate().bytes
    assert events.scan(max_plan_bytes=size).count() == 200
    refused = events.scan(max_plan_bytes=size - 1)
    message = f"would read {size} bytes of 2 manifests and 0 delete manifests, more than the limit of {size - 1}"
    plans = [refused.plan, refused.plan_table, refused.explain, refused.to_arrow, refused.count, refused.statistics]
    for plan in [*plans, lambda: list(refused.plan_files())]:
        with pytest.raises(fz.InvalidInputError, match=message):
            plan()
    assert refused.estimate().bytes == size
    assert refused.where("ts < '2023-01-02T00:00:00Z'").count() == 24
    assert pickle.loads(pickle.dumps(refused)).where("id < 0 and ts < '2022-01-01T00:00:00Z'").count() == 0
    with pytest.raises(fz.InvalidInputError, match="max_plan_bytes"):
        events.scan(max_plan_bytes=-1)
    with pytest.raises(fz.InvalidInputError, match="max-plan-bytes"):
        events.scan(options={"max-plan-bytes": "1 GB"})


def test_clauses_on_metadata_columns_say_where_they_prune(events: fz.Table) -> None:
    path = next(iter(events.scan().plan_files())).data_file.path
    cases = {
        "_spec_id = 7": (["manifest list", "partitions"], []),
        "_partition.ts_day = '2023-01-01'": (["partitions"], []),
        f"_file = '{path}'": (["column metrics"], ["_file by the paths of files"]),
        "_pos = 1": ([], ["_pos is known of rows alone"]),
        "_partition is null": ([], ["_partition is known of rows alone"]),
        "_spec_id = 7 or id = 3": (["column metrics"], ["no partition field of id"]),
    }
    stages = {"manifest list": "partition summaries", "partitions": "partition tuples"}
    for text, (used, limits) in cases.items():
        explain = events.scan(text).explain(files=True)
        [clause] = explain.to_dict()["clauses"]
        assert (clause["stages"], clause["limits"]) == (used, limits), text
        dropped = {f["stage"] for f in explain.files.to_pylist() if not f["kept"]}
        assert dropped <= {stages.get(stage, stage) for stage in used}, text
        assert bool(dropped) == bool(used), text
    reasons = {
        s["name"]: s["reason"] for s in events.scan("_spec_id = 7 and _file = 'x'").explain().to_dict()["stages"]
    }
    assert reasons["partition summaries"] == "partition ranges, specs"
    assert reasons["column metrics"] == "bounds, counts and paths"
