"""Jobs of Spark that change a table: their names, by which a job that runs again knows what it has done."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyspark
from pyspark import TaskContext

from frazil import arguments
from frazil._core import CommitMessage
from frazil.capabilities import supports
from frazil.exceptions import CommitStateUnknownError, FrazilError
from frazil.table import Snapshot, Table

__all__ = ["Job", "attempt_number", "give_up", "history", "unless_committed"]

# The member of a snapshot's summary by which a job knows its own commit again.
JOB_ID = "frazil.job-id"

_Job = TypeVar("_Job", bound="Job")
_ENGINE = {"engine-name": "spark", "engine-version": pyspark.__version__}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job that changes a branch of a table by one commit."""

    branch: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @classmethod
    def named(cls: type[_Job], branch: str | None, properties: Mapping[str, object] | None, job_id: str | None) -> _Job:
        """The job that arguments describe; without a name it gets one that no other has."""
        return cls(branch=branch, properties=arguments.texts(properties), id=job_id or str(uuid.uuid4()))

    def members(self) -> dict[str, str]:
        """Members of the snapshot's summary."""
        return {**self.properties, **_ENGINE, JOB_ID: self.id}

    def is_done(self, table: Table) -> bool:
        """Whether the branch has the job's snapshot, at this version of the table."""
        return any(snapshot.summary.get(JOB_ID) == self.id for snapshot in history(table, self.branch))


def history(table: Table, branch: str | None) -> list[Snapshot]:
    """The snapshots of a branch, newest first; of one that is not there yet, those of `main`, where it will begin."""
    if not supports(table, "snapshot_parents"):
        return list(table.snapshots)[::-1]
    by_id = {snapshot.id: snapshot for snapshot in table.snapshots}
    if branch is not None and branch in table.refs:
        head: int | None = table.refs[branch].snapshot_id
    else:
        head = table.snapshot.id if table.snapshot else None
    line = []
    while head in by_id:
        line.append(by_id[head])
        head = by_id[head].parent_id
    return line


def give_up(table: Table, messages: list[CommitMessage]) -> None:
    """Deletes the files of messages that are certainly in no snapshot; what can't be deleted is an orphan."""
    with contextlib.suppress(FrazilError):
        table.refresh().abort(messages)


@contextlib.contextmanager
def unless_committed(undo: Callable[[], None]) -> Iterator[None]:
    """Takes back what was written for a commit that certainly failed; if nobody knows, all stays."""
    try:
        yield
    except CommitStateUnknownError:
        raise
    except FrazilError:
        undo()
        raise


def attempt_number() -> int:
    """The number of this attempt of a Spark task: a second attempt has another, and finds no file of the first."""
    context = TaskContext.get()
    return 0 if context is None else context.taskAttemptId()
