"""What planning did, as a funnel for people to read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from frazil import _core
from frazil.display import picture
from frazil.display.figures import (
    amount,
    bytes_text,
    cache_text,
    commit_lines,
    moment,
    number,
    plain,
    rows_kept,
    time_text,
)
from frazil.display.tables import public
from frazil.exceptions import InvalidInputError
from frazil.names import answers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Explain"]

_WIDTH = 100
_MOST_TEXT = 4000
_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@answers()
class Explain:
    """The pruning funnel of a scan: for each step, how much came in, how much was kept, and what decided.

    With `files=True` it also has the decision about every file.

    `print(scan.explain())` shows the funnel, a notebook draws it, and `to_dict()` returns the numbers.
    """

    def __init__(
        self,
        facts: dict[str, Any],
        manifests: _core.Batches | pa.Table | None = None,
        files: _core.Batches | pa.Table | None = None,
    ) -> None:
        self._facts = facts
        self._manifests = manifests
        self._files = files

    def to_dict(self) -> dict[str, Any]:
        """The facts as a dictionary.

        About the scan: `table`, `format`, `format_version`, `snapshot_id`, `snapshot_timestamp_ms`, `operation`,
        `schema_id`, `partition_specs` (id to text, those that manifests use), `filter`, `select`.

        `clauses`: for each top-level clause of the filter, its text (`clause`), the `stages` that can use it (`manifest
        list`, `partitions`, `column metrics`), and the `limits` that exclude other stages. A clause without stages is
        only tested on rows.

        `stages`: the funnel. Each stage has `name`, `unit`, `considered`, `kept`, `considered_bytes`, `kept_bytes`,
        `reason` and `time_ms`. Bytes are those of manifests if the unit is `manifest`, otherwise those of the files
        themselves. A time of 0 means that the time is included in the next stage.

        `deletes`: the delete files that the filter may concern, by kind (`position`, `equality`, `deletion_vector`).
        `attached` is how many of them are attached to a file that is kept. `attachments` counts them once for each data
        file.

        `commits`: for a scan with `since` or a scan of changes, what each commit did: `snapshot_id`, `timestamp_ms`,
        `operation`, `change_ordinal` (of changes), and the number of files with added (`inserts`) and removed rows
        (`deletes`). The other figures of changes are sums over the commits: a manifest or delete file that is examined
        twice counts twice. Their last stage, `changed rows`, drops files that stayed and whose rows did not change.

        `cache`: None, or about the plan cache its `folder`, the number of manifests `read` by planning and how many of
        them it `served`, and its `trouble`: why it could not serve or keep some manifests, or None.

        `filesystem`: present and True if the files are read through a file system that was given as `filesystem=`.

        `hidden_by`: present if scans of this table of Apache Paimon show only compacted rows: the option that says so.

        `server_plan`: present if the catalog's server made the plan: the plan's name, or an empty text if the server
        gave none. The only stage of such a plan is `server plan`, and there are no manifests.

        `rows`: the rows in the files kept. `time_ms`: the time of the whole planning.
        """
        facts = self._facts
        return {
            **facts,
            "partition_specs": dict(facts["partition_specs"]),
            "select": list(facts["select"]),
            "clauses": [{**c, "stages": list(c["stages"]), "limits": list(c["limits"])} for c in facts["clauses"]],
            "stages": [dict(stage) for stage in facts["stages"]],
            "deletes": dict(facts["deletes"]),
            "cache": None if facts["cache"] is None else dict(facts["cache"]),
            "commits": [dict(commit) for commit in facts["commits"]],
        }

    @property
    def manifests(self) -> pa.Table:
        """Every manifest of the snapshot, as a pyarrow table. For appends and changes, the manifests of the commits.

        A scan of changes lists a manifest each time it is examined: for removed, for kept and for added files.

        The columns are `content` (`data`, `deletes`), `manifest_path`, `kept`, `stage`, `reason`, `spec_id`,
        `live_files`, `live_rows` (null if the manifest list has no counts) and `manifest_length`.
        """
        return _table(self._manifests, "scan.explain()")

    @property
    def files(self) -> pa.Table:
        """Every live file of the snapshot, as a pyarrow table. Only after `explain(files=True)`.

        `content` is `data`, `position`, `equality` or `deletion_vector`. `kept` says whether the file is planned.
        `stage` says where this was decided: `manifest counts`, `partition summaries`, `partition tuples`, `column
        metrics`, `delete matching`, or `kept`. `reason` is the clause and bound that decided (`id < 5: lower bound
        10`), or for a kept file what remains of the filter. `deletes` is the number of delete files attached to a data
        file, or of the data files that a delete file applies to. Changes also have `operation`, `change_ordinal` and
        `commit_snapshot_id`. They list files that stayed only if their rows changed, and they list no delete files. The
        other columns are `file_path`, `partition` (as in paths), `spec_id`, `record_count`, `file_size_in_bytes` and
        `manifest_path`.

        Raises:
            InvalidInputError: The explanation was made without files.
        """
        return _table(self._files, "scan.explain(files=True)")

    def __str__(self) -> str:
        facts = self._facts
        lines = [*_head(facts), "", *_clauses(facts), *_funnel(facts)]
        lines += commit_lines(facts["commits"])
        lines += textwrap.wrap(_deletes(facts), _WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines += textwrap.wrap(cache_text(facts["cache"]), _WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines.append(f"  {rows_kept(facts)}")
        if "hidden_by" in facts:
            lines.append(f"  Rows show only after a compaction ({facts['hidden_by']}): call table.maintain.compact()")
        if "server_plan" in facts:
            named = f" (plan {plain(facts['server_plan'])})" if facts["server_plan"] else ""
            lines.append(f"  planned by the catalog's server{named}")
        if facts.get("filesystem"):
            lines.append(
                "  files are read one call at a time through filesystem=, which is slower than Frazil's own stores"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        files = None if self._files is None else self.files
        manifests = None if self._manifests is None else self.manifests
        return picture.explain_html(self._facts, manifests, files)

    def to_html(self) -> str:
        """The explanation as one HTML page, for a file or a browser. The page requests nothing from anywhere.

        With `files=True` it draws each file by its size and by what decided about it. Otherwise it draws manifests.
        """
        from frazil.report.gathering import explanation_page

        files = None if self._files is None else self.files
        return explanation_page(self._facts, None if self._manifests is None else self.manifests, files)

    def __reduce__(self) -> tuple[type[Explain], tuple[Any, ...]]:
        files = None if self._files is None else self.files
        return Explain, (self._facts, None if self._manifests is None else self.manifests, files)


def _table(listed: _core.Batches | pa.Table | None, call: str) -> pa.Table:
    if listed is None:
        raise InvalidInputError("the explanation has no such list", hint=f"Call {call}")
    from frazil import interop

    return interop.table_of(listed)


def _head(facts: dict[str, Any]) -> list[str]:
    snapshot = "none: the table is empty"
    if facts["snapshot_id"] is not None:
        parts = [str(facts["snapshot_id"]), facts["operation"], moment(facts["snapshot_timestamp_ms"])]
        snapshot = ", ".join(part for part in parts if part)
    specs = "; ".join(f"{text} (spec {id_})" for id_, text in facts["partition_specs"].items())
    named = {
        "snapshot": snapshot,
        "format": f"{facts['format'].capitalize()} version {facts['format_version']}, schema {facts['schema_id']}",
        "partitions": specs,
        "filter": facts["filter"] or "true",
        "select": ", ".join(facts["select"]) or "(no columns)",
    }
    lines = [public(f"Scan of {facts['table']}")]
    for name, text in named.items():
        if text:
            lines += textwrap.wrap(
                public(text, _MOST_TEXT),
                _WIDTH,
                initial_indent=f"  {name:<12}",
                subsequent_indent=" " * 14,
                max_lines=4,
            )
    return lines


def _clauses(facts: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for clause in facts["clauses"]:
        stages = clause["stages"]
        used = "prunes by " + ", ".join(stages) if stages else "prunes nothing, only asked of rows"
        limits = "".join(f"; {limit}" for limit in clause["limits"])
        lines += textwrap.wrap(
            public(clause["clause"], _MOST_TEXT), _WIDTH, initial_indent="  ", subsequent_indent="    ", max_lines=3
        )
        lines += textwrap.wrap(
            public(used + limits, _MOST_TEXT), _WIDTH, initial_indent="      ", subsequent_indent="      ", max_lines=4
        )
    return [*lines, ""] if lines else []


_RIGHT = {2, 3, 5, 6}


def _funnel(facts: dict[str, Any]) -> list[str]:
    rows = [_row(stage) for stage in facts["stages"]]
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        name, bar, kept, considered, unit, size, time, reason = (
            cell.rjust(w) if i in _RIGHT else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        line = f"  {name}  {bar}  {kept} of {considered} {unit}  {size}  {time}"
        # A reason that does not fit is left out.
        lines.append((f"{line}  {reason}" if len(line) + widths[7] + 2 <= _WIDTH else line).rstrip())
    return [*lines, ""]


def _row(stage: dict[str, Any]) -> tuple[str, ...]:
    kept, considered = stage["kept"], stage["considered"]
    return (
        stage["name"],
        _bar(kept, considered),
        number(kept),
        number(considered),
        stage["unit"] if considered == 1 else stage["unit"] + "s",
        bytes_text(stage["kept_bytes"]) if stage["kept_bytes"] else "",
        time_text(stage["time_ms"]) if stage["time_ms"] else "",
        stage["reason"],
    )


def _deletes(facts: dict[str, Any]) -> str:
    deletes = facts["deletes"]
    kinds = {"position": "position delete", "equality": "equality delete", "deletion_vector": "deletion vector"}
    found = [amount(deletes[kind], name) for kind, name in kinds.items() if deletes[kind]]
    if not found:
        return ""
    return f"{', '.join(found)}: {number(deletes['attached'])} attached, {number(deletes['attachments'])} times in all."


def _bar(kept: int, considered: int) -> str:
    """The kept share as a bar. It is never empty if something was kept, and never full if something was dropped."""
    if not considered:
        return " " * _BAR
    eighths = kept * _BAR * 8 // considered
    if kept:
        eighths = max(eighths, 1)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR, "·")
