"""All scenarios, and the page that lists them.

`python tests/python/spark_scenarios/page.py docs/internals/spark-scenarios.md` writes the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from spark_scenarios.case import DIFFERS, OUTSIDE, REFUSED, SAME, Scenario
from spark_scenarios.counts import COUNTS, LINEAGE
from spark_scenarios.delete import DELETE
from spark_scenarios.evolution import EVOLUTION
from spark_scenarios.merge_rest import MERGE_REST
from spark_scenarios.merge_rows import MERGE_ROWS
from spark_scenarios.modes import MODES
from spark_scenarios.partition_fields import PARTITION_FIELDS
from spark_scenarios.update import UPDATE

FILES: dict[str, list[Scenario]] = {
    "merge_rows": MERGE_ROWS,
    "merge_rest": MERGE_REST,
    "update": UPDATE,
    "delete": DELETE,
    "modes": MODES,
    "counts": [*COUNTS, *LINEAGE],
    "partition_fields": PARTITION_FIELDS,
    "evolution": EVOLUTION,
}
SCENARIOS: list[Scenario] = [one for scenarios in FILES.values() for one in scenarios]
METHODS = {
    "TestMerge": 77,
    "TestUpdate": 42,
    "TestDelete": 41,
    "TestCopyOnWriteDelete": 3,
    "TestCopyOnWriteMerge": 2,
    "TestCopyOnWriteUpdate": 2,
    "TestMergeOnReadDelete": 8,
    "TestMergeOnReadMerge": 4,
    "TestMergeOnReadUpdate": 6,
    "TestMergeMetrics": 6,
    "TestRowLevelOperationsWithLineage": 10,
    "TestAlterTablePartitionFields": 27,
    "TestMergeSchemaEvolution": 7,
}
"""How many test methods each class of Iceberg has, at commit 7f879b1 of its repository, in `spark/v4.1`."""

_RESULTS = {SAME: "same", DIFFERS: "differs", REFUSED: "refused", OUTSIDE: "not tried"}
_HEAD = """\
# Iceberg's Spark scenarios
Iceberg's repository tests MERGE, UPDATE, DELETE and partition fields in Spark. Each of these scenarios is stated
here again, and runs through `fz.spark.sql`: the same tables and rows, and the rows that must be there afterwards.

The scenarios are those of `spark/v4.1/spark-extensions` at commit 7f879b1. `TestMergeMetrics` stands for
`TestCopyOnWriteMergeMetrics` and `TestMergeOnReadMergeMetrics`, and `TestRowLevelOperationsWithLineage` for
`TestCopyOnWriteWithLineage` and `TestMergeOnReadWithLineage`. What Iceberg refuses must be refused too, with no commit.

Most scenarios run three times: with copy-on-write, with merge-on-read on a branch, and with deletion vectors
(format version 3). Each name below is a test: `pytest tests/python/test_spark_scenarios.py -k NAME`. Its steps are in
the file of `tests/python/spark_scenarios/` that the table names. `make test` runs a sample, `make test-nightly` all.

- *same*: what our test looks at is as Iceberg's test expects it. The note says what our test does not look at.
- *differs*: the rows are the same unless the note says otherwise. The note says what differs.
- *refused*: Frazil does not do it. The note says what to do instead.
- *not tried*: the scenario needs objects of Java.

| class | scenarios | same | differ | refused | not tried |
|---|---|---|---|---|---|"""


def page_of_scenarios() -> str:
    """The page that lists the scenarios."""
    lines = [_HEAD]
    order = (SAME, DIFFERS, REFUSED, OUTSIDE)
    totals = dict.fromkeys(order, 0)
    for name in METHODS:
        own = [one for one in SCENARIOS if one.of == name]
        counts = [sum(one.result == result for one in own) for result in order]
        for result, count in zip(order, counts, strict=True):
            totals[result] += count
        lines.append(f"| {name} | {len(own)} | {' | '.join(map(str, counts))} |")
    lines.append(f"| all | {len(SCENARIOS)} | {' | '.join(map(str, totals.values()))} |")
    for name in METHODS:
        lines += ["", f"## {name}", "| scenario | steps | runs | result | note |", "|---|---|---|---|---|"]
        for file, scenarios in FILES.items():
            lines += [_line(file, one) for one in scenarios if one.of == name]
    return "\n".join(lines) + "\n"


def _line(file: str, one: Scenario) -> str:
    modes = ", ".join(mode.name for mode in one.modes) if one.steps else ""
    return f"| `{one.name}` | `{file}.py` | {modes} | {_RESULTS[one.result]} | {one.note} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page_of_scenarios(), "utf-8")
