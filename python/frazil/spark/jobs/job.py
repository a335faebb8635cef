"""Spark jobs that change a table. Each has a name, by which a repeated job recognises its own commit."""

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
from frazil.exceptions import CommitStateUnknownError, FrazilError, InvalidInputError
from frazil.results import LastCommit, commit_with
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.table import Snapshot, Table

__all__ = ["Job", "attempt_number", "give_up", "history", "unless_committed", "unless_interrupted"]

# The property of a snapshot's summary by which a job recognises its own commit.
JOB_ID = "frazil.job-id"

_Job = TypeVar("_Job", bound="Job")
_ENGINE = {"engine-name": "spark", "engine-version": pyspark.__version__}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job that changes a branch of a table in one commit."""

    branch: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @classmethod
    def named(cls: type[_Job], branch: str | None, properties: Mapping[str, object] | None, job_id: str | None) -> _Job:
        """The job that arguments describe. Without a name it gets a unique one.

        Raises:
            InvalidInputError: The name is empty, or the properties have one of their own for it.
        """
        if job_id is not None and not job_id.strip():
            raise InvalidInputError(
                "job_id is empty, so a job that runs again could not be recognised",
                hint="Give a name, or leave job_id out. An environment variable may be missing",
            )
        texts = arguments.texts(properties, "snapshot_properties")
        if JOB_ID in texts:
            raise InvalidInputError(f"the property '{JOB_ID}' is reserved for the job's name", hint="Give job_id=")
        return cls(branch=branch, properties=texts, id=str(uuid.uuid4()) if job_id is None else job_id)

    def members(self) -> dict[str, str]:
        """Properties for the snapshot's summary."""
        return {**self.properties, **_ENGINE, JOB_ID: self.id}

    def done(self, table: Table) -> LastCommit:
        """What the job's commit did."""
        return commit_with(Table(table._core).refresh()._core, JOB_ID, self.id)

    def is_done(self, table: Table) -> bool:
        """Whether the branch has the job's snapshot, at this version of the table."""
        return any(snapshot.summary.get(JOB_ID) == self.id for snapshot in history(table, self.branch))


def history(table: Table, branch: str | None) -> list[Snapshot]:
    """The snapshots of a branch, newest first. A branch that does not exist yet has those of `main`."""
    if not supports(table._core, "snapshot_parents"):
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
    """Deletes the files of messages that are certainly in no snapshot. Files that can't be deleted become orphans."""
    with contextlib.suppress(FrazilError):
        table.refresh().abort(messages)


@contextlib.contextmanager
def unless_committed(undo: Callable[[], None]) -> Iterator[None]:
    """Undoes the work for a commit that certainly failed. If the outcome is unknown, everything stays.

    Raises:
        KeyboardInterrupt: An interrupt came before the commit. The work is undone.
    """
    with unless_interrupted(undo):
        pass
    try:
        yield
    except CommitStateUnknownError:
        raise
    except FrazilError:
        undo()
        raise


@contextlib.contextmanager
def unless_interrupted(undo: Callable[[], None]) -> Iterator[None]:
    """Undoes the work for a commit if an interrupt comes in the block. The block must end before the commit.

    Raises:
        KeyboardInterrupt: An interrupt came in the block, or before.
    """
    try:
        yield
        raise_if_interrupted()
    except KeyboardInterrupt:
        undo()
        raise


def attempt_number() -> int:
    """The number of this attempt of a Spark task. A second attempt has another number, so its files are new."""
    context = TaskContext.get()
    return 0 if context is None else context.taskAttemptId()
