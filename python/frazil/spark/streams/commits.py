"""The commits of a table, in the order in which a stream reads them.

A query first reads the table as it is, then the rows that each later snapshot appends. If snapshots are numbered and
the table has a primary key, it reads the rows that are inserted or updated.
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil import _core, arguments
from frazil.capabilities import rows_of_next_commit
from frazil.exceptions import NotFoundError, UnsupportedError
from frazil.spark.jobs.job import history
from frazil.table import Snapshot, Table

__all__ = ["BEGINNING", "FROM", "NOTHING", "Commits", "NumberedCommits"]

FROM = "stream-from-timestamp"

# Values in place of a snapshot's id. Nothing was read yet: the whole table comes first, or the first snapshot does.
NOTHING, BEGINNING = "-1", "0"


class Commits:
    """The commits of a branch, in the order in which a stream reads them."""

    numbered = False
    """Whether snapshots are numbered from 1. The rows of the first snapshot then came since 0."""

    def __init__(self, branch: str | None) -> None:
        self._branch = branch

    def line(self, table: Table) -> list[Snapshot]:
        """The snapshots, oldest first."""
        return history(table, self._branch)[::-1]

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        """The offset after a snapshot."""
        return {"snapshot-id": str(snapshot.id)}

    def after(self, table: Table, line: list[Snapshot], start: Mapping[str, str]) -> list[Snapshot]:
        """The snapshots of a line that come after an offset.

        Raises:
            NotFoundError: Some of them no longer exist.
            UnsupportedError: They can't be read one after another.
        """
        at = 0 if start["snapshot-id"] in (NOTHING, BEGINNING) else self._known(table, line, start)
        self._check(table, line[max(at - 1, 0) : at], line[at:])
        return line[at:]

    def _known(self, table: Table, line: list[Snapshot], offset: Mapping[str, str]) -> int:
        at = self._place(line, offset)
        if at is None:
            raise NotFoundError(
                f"snapshot {offset['snapshot-id']}, the last one that the stream has read, is no longer in the history",
                {"table": table.location},
                "It has expired or was rolled back: start a new query with its own checkpoint. Option "
                f"'{FROM}' avoids reading the whole table again",
            )
        return at

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        """Refuses a repeated batch whose last snapshot has become another one."""

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        """Refuses snapshots that can't be read after the last one, which may no longer exist."""

    def _place(self, line: list[Snapshot], start: Mapping[str, str]) -> int | None:
        """The position of the first snapshot after an offset. That one may have expired, if its child exists."""
        if line and line[0].parent_id is not None and str(line[0].parent_id) == start["snapshot-id"]:
            return 0
        return next((i + 1 for i, s in enumerate(line) if str(s.id) == start["snapshot-id"]), None)

    def size_of(self, snapshot: Snapshot) -> tuple[int, int]:
        """How many files and rows of a commit a stream reads."""
        if snapshot.operation != "append":
            return 0, 0
        return int(snapshot.summary.get("added-data-files", 0)), int(snapshot.summary.get("added-records", 0))


class NumberedCommits(Commits):
    """The commits of a table that numbers its snapshots.

    The snapshot that was read last may have expired, if the next one exists. After a rollback, numbers are used again.
    So an offset also contains the time of its commit.
    """

    numbered = True

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        """The number of a snapshot and the time of its commit."""
        return {**super().offset(snapshot), "time-ms": str(arguments.milliseconds(snapshot.timestamp))}

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        """Refuses a batch whose last snapshot has another commit by now."""
        self._known(table, line, end)

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        by_schema = table._core.commit_rows()
        now = rows_of_next_commit(by_schema)

        def of(snapshot: Snapshot) -> _core.CommitRows:
            return now if snapshot.schema_id is None else by_schema.get(snapshot.schema_id, now)

        # Compactions no longer report changes of earlier rows that they have not reported yet.
        other = [s for s in found if of(s) != now] + [s for s in last if of(s).reported_by_compactions and of(s) != now]
        if other:
            raise UnsupportedError(
                f"snapshot {other[0].id} was written with other options, with which a stream reads other files",
                {"table": table.location},
                "Start a new query with its own checkpoint",
            )

    def _place(self, line: list[Snapshot], start: Mapping[str, str]) -> int | None:
        last = int(start["snapshot-id"])
        if not line or not line[0].id - 1 <= last <= line[-1].id:
            return None
        place = next((i for i, s in enumerate(line) if s.id > last), len(line))
        other = [
            s for s in line[max(place - 1, 0) : place] if s.id == last and not start.items() <= self.offset(s).items()
        ]
        return None if other else place

    def size_of(self, snapshot: Snapshot) -> tuple[int, int]:
        """Only rows: those of its changelog, or else those that it added."""
        reported = int(snapshot.summary.get("changelog-records", 0))
        added = int(snapshot.summary.get("delta-records", 0)) if snapshot.operation == "append" else 0
        return 0, max(reported, added)
