"""The commits of a table, as a stream reads them one after another."""

from __future__ import annotations

from collections.abc import Mapping

from frazil import arguments
from frazil.exceptions import NotFoundError, UnsupportedError
from frazil.spark.jobs.job import history
from frazil.spark.jobs.paimon_kind import PaimonKind
from frazil.table import Snapshot, Table

__all__ = ["BEGINNING", "FROM", "NOTHING", "Commits", "PaimonCommits"]

FROM = "stream-from-timestamp"

# In place of a snapshot's id: nothing was read, and the table comes first as it is; or the first snapshot's rows do.
NOTHING, BEGINNING = "-1", "0"


class Commits:
    """The commits of a branch, as a stream reads them one after another."""

    numbered = False
    """Whether snapshots are numbered from 1, so that what the first one brought came since 0."""

    def __init__(self, branch: str | None) -> None:
        self._branch = branch

    def line(self, table: Table) -> list[Snapshot]:
        """The snapshots, oldest first."""
        return history(table, self._branch)[::-1]

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        """What there was after a snapshot."""
        return {"snapshot-id": str(snapshot.id)}

    def after(self, table: Table, line: list[Snapshot], start: Mapping[str, str]) -> list[Snapshot]:
        """Those of a line that come after an offset.

        Raises:
            NotFoundError: Some of them are gone.
            UnsupportedError: They can't be read one after another.
        """
        at = 0 if start["snapshot-id"] in (NOTHING, BEGINNING) else self._known(table, line, start)
        self._check(table, line[max(at - 1, 0) : at], line[at:])
        return line[at:]

    def _known(self, table: Table, line: list[Snapshot], offset: Mapping[str, str]) -> int:
        at = self._place(line, offset)
        if at is None:
            raise NotFoundError(
                f"snapshot {offset['snapshot-id']}, up to which the stream has read, is not in the table's history any "
                "more",
                {"table": table.location},
                "It has expired or was rolled back: begin a new query with a checkpoint of its own, and with option "
                f"'{FROM}' if it shall not read the whole table again",
            )
        return at

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        """Refuses a batch that runs again, of which the last snapshot is another by now."""

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        """Refuses snapshots that can't be read after the last one, which may be gone."""

    def _place(self, line: list[Snapshot], start: Mapping[str, str]) -> int | None:
        """Where the snapshots after an offset begin."""
        return next((i + 1 for i, s in enumerate(line) if str(s.id) == start["snapshot-id"]), None)

    def brought(self, snapshot: Snapshot) -> tuple[int, int]:
        """How many files and rows a stream has of a commit."""
        if snapshot.operation != "append":
            return 0, 0
        return int(snapshot.summary.get("added-data-files", 0)), int(snapshot.summary.get("added-records", 0))


class PaimonCommits(Commits):
    """Those of a table of Apache Paimon. The snapshot that was read last may have expired, if the next is there.

    After a rollback numbers come again, so an offset has the time of its commit too.
    """

    numbered = True

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        """The number of a snapshot and the time of its commit."""
        return {**super().offset(snapshot), "time-ms": str(arguments.milliseconds(snapshot.timestamp))}

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        """Refuses a batch whose last snapshot has another commit by now."""
        self._known(table, line, end)

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        kinds = PaimonKind.by_schema(table)
        now = PaimonKind.now(kinds)

        def of(snapshot: Snapshot) -> PaimonKind:
            return now if snapshot.schema_id is None else kinds.get(snapshot.schema_id, now)

        # What compactions did not tell yet of earlier rows, they won't tell any more.
        other = [s for s in found if of(s) != now] + [s for s in last if of(s).told_late and of(s) != now]
        if other:
            raise UnsupportedError(
                f"snapshot {other[0].id} was written under other options, by which a stream reads other files",
                {"table": table.location},
                "Begin a new query with a checkpoint of its own",
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

    def brought(self, snapshot: Snapshot) -> tuple[int, int]:
        """Rows alone: those of its change log, else those that it added."""
        told = int(snapshot.summary.get("changelog-records", 0))
        added = int(snapshot.summary.get("delta-records", 0)) if snapshot.operation == "append" else 0
        return 0, max(told, added)
