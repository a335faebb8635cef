"""How the funnel looks."""

from __future__ import annotations

import frazil as fz
from frazil.explain import Explain

FACTS = {
    "table": "/wh/db/events",
    "snapshot_id": 42,
    "filter": "ts >= '2023-01-01T00:00:00+00:00'",
    "select": ["id", "ts"],
    "rows": 1234567,
    "stages": [
        {
            "name": "manifests",
            "unit": "manifests",
            "considered": 10,
            "kept": 1,
            "kept_bytes": 1536,
            "reason": "partition summaries",
            "time_ms": 0.84,
        },
        {
            "name": "metrics",
            "unit": "data files",
            "considered": 100000,
            "kept": 3,
            "kept_bytes": 5 << 30,
            "reason": "",
            "time_ms": 1234.5,
        },
        {"name": "tasks", "unit": "tasks", "considered": 1, "kept": 1, "kept_bytes": 7, "reason": "all", "time_ms": 0},
        {"name": "none", "unit": "files", "considered": 0, "kept": 0, "kept_bytes": 0, "reason": "", "time_ms": 0},
    ],
}

TEXT = """\
Scan of /wh/db/events
  snapshot  42
  filter    ts >= '2023-01-01T00:00:00+00:00'
  select    id, ts

  manifests  ██··················  1 of      10 manifests   1.5 KiB  0.8 ms  partition summaries
  metrics    ▏···················  3 of 100,000 data files  5.0 GiB  1.23 s
  tasks      ████████████████████  1 of       1 tasks           7 B  0.0 ms  all
  none                             0 of       0 files                0.0 ms

  At most 1,234,567 rows in the files kept; planned in 1.24 s."""


def test_text() -> None:
    explain = Explain(FACTS)
    assert str(explain) == TEXT
    assert repr(explain) == TEXT
    assert explain.to_dict() == FACTS


def test_of_a_scan(events: fz.Table) -> None:
    explain = events.scan("ts < '2023-01-02T00:00:00Z' and id > 3").explain()
    facts = explain.to_dict()
    assert facts["snapshot_id"] == events.snapshot.id
    assert facts["stages"]
    for stage in facts["stages"]:
        assert 0 <= stage["kept"] <= stage["considered"]
        assert stage["name"] in str(explain)
    assert facts["rows"] == 24
