"""The plan of a scan on a page: its funnel, and what decided about each file or manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.display.figures import amount, bytes_text, number, time_text
from frazil.display.picture import explain_html
from frazil.report.decisions import Decision, decided
from frazil.report.parts import Section, folded, note, scrolled, section

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Plan", "Total", "plan_of", "plan_section"]


class Total(NamedTuple):
    """Objects with the same fate: those of data, those of deletes, and the bytes of both."""

    data: int
    deletes: int
    size: int

    def text(self, unit: str) -> str:
        """The total for people: `2 data files, 1 delete file, 3.4 KiB`."""
        units = ("data file", "delete file") if unit == "file" else (unit, f"delete {unit}")
        counts = [amount(n, name) for n, name in zip(self[:2], units, strict=True) if n]
        return ", ".join([*(counts or [amount(0, units[0])]), bytes_text(self.size)])


@dataclass(frozen=True)
class Plan:
    """A plan, and the objects that it decided about.

    Attributes:
        facts: The facts of the explanation (`Explain.to_dict`).
        unit: What `objects` has: `file` or `manifest`.
        objects: A row for each object: `path`, `manifest`, `size` (bytes), `is_delete`, `decision` (its number), and
            for files `partition`, `spec_id`, `record_count` and `deletes`. It is empty if the plan lists none.
        decisions: The decisions by number.
        manifests: The manifests of the explanation; None if it has none.
    """

    facts: dict[str, Any]
    unit: str
    objects: pa.Table
    decisions: list[Decision]
    manifests: pa.Table | None

    def totals(self) -> list[Total]:
        """What each decision is about."""
        found = [Total(0, 0, 0)] * len(self.decisions)
        if not self.objects.num_rows:
            return found
        sums = self.objects.group_by(["decision", "is_delete"]).aggregate([("size", "count"), ("size", "sum")])
        for row in sums.to_pylist():
            data, deletes, size = found[row["decision"]]
            count = row["size_count"]
            data, deletes = (data, deletes + count) if row["is_delete"] else (data + count, deletes)
            found[row["decision"]] = Total(data, deletes, size + row["size_sum"])
        return found


def plan_of(facts: dict[str, Any], manifests: pa.Table | None, files: pa.Table | None) -> Plan:
    """The plan that an explanation describes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    manifests = manifests if manifests is not None and manifests.num_rows else None
    listed = manifests if files is None else files
    if listed is None:
        return Plan(facts, "file", pa.table({}), [], None)
    decisions, numbers = decided(listed, facts["clauses"])
    unit, size = ("manifest", "manifest_length") if files is None else ("file", "file_size_in_bytes")
    columns = {
        "path": listed.column("manifest_path" if files is None else "file_path").cast("string"),
        # A plan that a catalog's server made does not say which manifests list its files.
        "manifest": pc.fill_null(listed.column("manifest_path").cast("string"), ""),
        "size": listed.column(size).cast("int64"),
        "is_delete": pc.not_equal(listed.column("content").cast("string"), "data"),
        "decision": pa.array(numbers, pa.int32()),
    }
    if files is not None:
        columns["partition"] = listed.column("partition").cast("string")
        columns |= {name: listed.column(name) for name in ("spec_id", "record_count", "deletes")}
    return Plan(facts, unit, pa.table(columns), decisions, manifests)


def plan_section(plan: Plan) -> Section | None:
    """The funnel with its clauses, and the same as a table."""
    rows = [
        (
            stage["name"],
            number(stage["kept"]),
            amount(stage["considered"], stage["unit"]),
            bytes_text(stage["kept_bytes"]) if stage["kept_bytes"] else None,
            time_text(stage["time_ms"]) if stage["time_ms"] else None,
            stage["reason"],
        )
        for stage in plan.facts["stages"]
    ]
    header = ("stage", "kept", "of", "bytes kept", "time", "by")
    said = ""
    if "server_plan" in plan.facts:
        said += note("The catalog's server made this plan.")
    if "hidden_by" in plan.facts:
        said += note(f"Rows show only after a compaction ({plan.facts['hidden_by']}): call table.maintain.compact().")
    drawn = said + scrolled("Funnel", explain_html(plan.facts, None, None))
    return section("plan", "Plan", drawn, folded("Stages as a table", header, rows, len(rows)))
