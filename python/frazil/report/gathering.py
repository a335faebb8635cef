"""Pages of tables and of explanations, from what the table and the plan say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil.capabilities import supports
from frazil.display.figures import number, rows_kept
from frazil.display.tables import public
from frazil.exceptions import FrazilError, InvalidInputError
from frazil.report import overlaps
from frazil.report.findings import column_section, fact_section, finding_section
from frazil.report.page import page
from frazil.report.partitions import partition_section
from frazil.report.parts import Section, note, section
from frazil.report.plan import Plan, plan_of, plan_section
from frazil.report.sizes import size_section
from frazil.report.timeline import timeline_section
from frazil.report.tree import tree_section

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.arguments import At
    from frazil.expr import Filter
    from frazil.table import Table

__all__ = ["explanation_page", "table_page", "written"]


def explanation_page(facts: dict[str, Any], manifests: pa.Table | None, files: pa.Table | None) -> str:
    """The page of an explanation.

    Args:
        facts: Its facts, as `Explain.to_dict` gives them.
        manifests: Its manifests; None if it has none.
        files: Its files; None if they were not asked for.
    """
    plan = plan_of(facts, manifests, files)
    sections = [plan_section(plan), tree_section(plan)]
    if not facts["filter"] or facts["filter"] == "true":
        sections.append(partition_section(plan))
    sections.append(size_section(plan))
    return page(f"Scan of {facts['table']}", _about(facts), sections)


def table_page(table: Table, filter: Filter | None, at: At | None, doctor: bool, before: str = "") -> str:
    """The page of a table at one version.

    What can't be read because the table is damaged is left out, and the page says why.

    Args:
        table: The table.
        filter: The filter of the plan that it shows.
        at: The version.
        doctor: Whether to examine the table.
        before: HTML above the links.

    Raises:
        InvalidInputError: The filter is wrong.
        NotFoundError: The version does not exist.
    """
    scan, whole_scan = table.scan(filter, at=at), table.scan(at=at)
    shown = scan.snapshot_id
    # Raises for a wrong filter before anything can be damaged.
    asked = str(scan.filter)
    troubles: list[str] = []
    plan = _tried(lambda: _planned(scan), troubles, "plan")
    whole = plan if filter is None else _tried(lambda: _planned(whole_scan), troubles, "plan without the filter")
    statistics = _tried(whole_scan.statistics, troubles, "columns")
    files = None
    if whole is not None and 0 < whole.objects.num_rows <= overlaps.MOST_FILES:
        files = _tried(lambda: table.inspect.data_files(at), troubles, "bounds")
    elif whole is not None and whole.objects.num_rows:
        troubles.append(f"Overlaps of bounds are left out: there are more than {number(overlaps.MOST_FILES)} files.")
    diagnosis = _tried(table.doctor, troubles, "findings") if doctor else None
    notes = [f"Filter: {asked}"] if filter is not None else []
    notes += [rows_kept(plan.facts)] if plan is not None else []
    sections = [
        _troubles(troubles),
        fact_section(_facts(table, shown)),
        timeline_section(table.snapshots, table.refs, shown, supports(table._core, "snapshot_parents")),
        plan_section(plan) if plan is not None else None,
        tree_section(plan) if plan is not None else None,
        partition_section(whole) if whole is not None else None,
        size_section(whole) if whole is not None else None,
        overlaps.overlap_section(files),
        column_section(statistics),
        finding_section(diagnosis),
    ]
    return page(table.name, notes, sections, before)


def written(path: str, text: str) -> str:
    """Writes a page to a file of this machine. Returns its path.

    Raises:
        InvalidInputError: The file can't be written.
    """
    if "://" in path:
        raise InvalidInputError(f"a page is written to a file of this machine, not to {public(path)}")
    content = text.encode("utf-8", "replace")
    try:
        Path(path).write_bytes(content)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInputError(f"the page can't be written to this path: {why}", {"path": path}) from error
    return path


def _planned(scan: Any) -> Plan:
    explained = scan.explain(files=True)
    return plan_of(explained.to_dict(), explained.manifests, explained.files)


def _tried(get: Any, troubles: list[str], what: str) -> Any:
    """What a call returns. If the table is damaged it is None, and the error is noted."""
    try:
        return get()
    except InvalidInputError:
        raise
    except FrazilError as error:
        troubles.append(f"The {what} can't be shown: {error}")
        return None


def _troubles(troubles: list[str]) -> Section | None:
    return section("troubles", "What can't be shown", *map(note, troubles))


def _about(facts: dict[str, Any]) -> list[str]:
    snapshot = "The table is empty." if facts["snapshot_id"] is None else f"Snapshot {facts['snapshot_id']}"
    return [snapshot, f"Filter: {facts['filter'] or 'true'}", rows_kept(facts)]


def _facts(table: Table, shown: int | None) -> dict[str, str | None]:
    partitions = ", ".join(map(str, table.partition_spec.fields))
    return {
        "location": table.location,
        "format": f"{table.format.capitalize()} version {table.format_version}",
        "snapshot": "none: the table is empty" if shown is None else str(shown),
        "partitions": partitions or "not partitioned",
        "order": ", ".join(map(str, table.sort_order.fields)),
    }
