"""A job that writes the rows of a DataFrame, and the options of `df.write` that describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from frazil._core import CommitMessage
from frazil.capabilities import rows_of_next_commit, supports
from frazil.exceptions import InvalidInputError
from frazil.spark import wire
from frazil.spark.jobs.job import Job, give_up, unless_committed
from frazil.table import Table

__all__ = ["SUMMARY_PREFIX", "WRITE_OPTIONS", "Operation", "WriteJob", "job_of", "schema_mode"]

# Options of writes. Options that begin with the prefix become properties of the snapshot's summary.
WRITE_OPTIONS = (
    "branch",
    "overwrite-mode",
    "replace-where",
    "job-id",
    "snapshot-properties",
    "merge-schema",
    "mergeschema",
    "overwrite-schema",
    "overwriteschema",
)
SUMMARY_PREFIX = "snapshot-property."

Operation = Literal["append", "overwrite", "overwrite-partitions"]


@dataclass(frozen=True, kw_only=True)
class WriteJob(Job):
    """A job that writes rows, and the rows that they replace."""

    operation: Operation = "append"
    where: str | None = None

    @property
    def overwrites(self) -> bool:
        """Whether the rows replace others."""
        return self.operation != "append"

    def needs_one_writer(self, table: Table) -> bool:
        """Whether all rows of a bucket should come from one task.

        Otherwise the driver would have to write all rows again.
        """
        if supports(table._core, "independent_writers") or not self.overwrites:
            return False
        rows = rows_of_next_commit(table._core.commit_rows())
        return rows.hidden_until_compacted and not rows.buckets_postponed

    def commit(self, table: Table, messages: list[CommitMessage], members: Mapping[str, str] | None = None) -> None:
        """Commits the files that the tasks wrote.

        The files are deleted if the commit certainly failed. They stay if the outcome is unknown.
        """
        members = self.members() if members is None else members
        with unless_committed(lambda: give_up(table, messages)):
            if self.overwrites:
                partitions = self.operation == "overwrite-partitions"
                table.commit_overwrite(messages, self.where, partitions, self.branch, members)
            else:
                table.commit(messages, members, self.branch)

    def check(self, table: Table) -> None:
        """Refuses jobs that can't be committed, before anything is written.

        Raises:
            InvalidInputError: The filter of an overwrite does not fit the table.
            UnsupportedError: For tables of Apache Paimon: a key leaves out partition columns, or less than whole
                partitions are overwritten.
        """
        if self.overwrites:
            table._check_overwrite(self.where, self.operation == "overwrite-partitions")
        if supports(table._core, "independent_writers"):
            return
        # Writing no rows makes no file, but raises an error if one writer has to see all rows.
        table.writer(overwrite=self.overwrites).write(table.schema.to_arrow().empty_table())


def schema_mode(options: Mapping[str, str], overwrite: bool) -> Literal["merge", "overwrite"] | None:
    """How options of `df.write` let rows change the schema: `mergeSchema`, `merge-schema`, `overwriteSchema`.

    Raises:
        InvalidInputError: A value is wrong, or an append would overwrite the schema.
    """
    given = {name.lower().replace("-", ""): value.lower() for name, value in options.items()}
    wanted = [name for name in ("overwriteschema", "mergeschema") if given.get(name, "false") != "false"]
    for name in wanted:
        if given[name] != "true":
            raise InvalidInputError(f"option '{name}' can't be '{given[name]}'", hint="Use true or false")
    if "overwriteschema" not in wanted:
        return "merge" if wanted else None
    if not overwrite or "replacewhere" in given or given.get("overwritemode", "static") != "static":
        raise InvalidInputError(
            "only an overwrite of the whole table can overwrite its schema", hint="Use mode('overwrite')"
        )
    return "overwrite"


def job_of(options: Mapping[str, str], overwrite: bool) -> WriteJob:
    """The job that options of `df.write` describe. The names may have any case, because Spark's have.

    Raises:
        InvalidInputError: A value is wrong or contradicts the mode.
    """
    given = {name.lower(): value for name, value in options.items()}
    mode, where = given.get("overwrite-mode", "static").lower(), given.get("replace-where")
    if mode not in ("static", "dynamic"):
        raise InvalidInputError(f"option 'overwrite-mode' can't be '{mode}'", hint="Use static or dynamic")
    if not overwrite and ("overwrite-mode" in given or where is not None):
        raise InvalidInputError(
            "options 'overwrite-mode' and 'replace-where' are only for overwrites", hint="Use mode('overwrite')"
        )
    if mode == "dynamic" and where is not None:
        raise InvalidInputError(
            "partitions and a filter can't both select what is replaced", hint="Leave out one of the options"
        )
    operation: Operation = "append"
    if overwrite:
        operation = "overwrite-partitions" if mode == "dynamic" else "overwrite"
    named = SUMMARY_PREFIX
    properties = {name[len(named) :]: text for name, text in options.items() if name.lower().startswith(named)}
    properties |= wire.options_of(given.get("snapshot-properties", "{}"))
    job = WriteJob.named(given.get("branch"), properties, given.get("job-id"))
    return replace(job, operation=operation, where=where)
