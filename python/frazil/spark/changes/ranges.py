"""Changes by expressions for tables without a primary key whose files tasks can't exchange one by one.

Spark computes the changed rows and their places. A range of column values that has all their old rows is overwritten in
one commit: `rewriting` has the task that does that. The driver sees no row, but smallest and largest values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.capabilities import format_name
from frazil.exceptions import UnsupportedError
from frazil.requests import rows as row_requests
from frazil.requests.rows import check_overwrite
from frazil.spark.changes.job import change_rows
from frazil.spark.changes.merging import Key, Source, all_keys, collect_facts, persisted
from frazil.spark.changes.placed_changes import FILE, MISSING, POSITION, PlacedChange, clustered
from frazil.spark.changes.rewriting import KEPT, Head, InsertJob, RangeJob
from frazil.spark.columns import quoted
from frazil.spark.jobs.job import Job
from frazil.spark.reading.places import Placed, read_placed
from frazil.table import Table

__all__ = ["can_name_ranges", "old_columns", "read_ranged", "write_ranged"]

_OLD = "frazil old "
# The most columns whose values are compared.
_MOST_KEYS = 6
_DEFAULT, _NAME = re.compile(r'\{[^{}]*"defaultValue"[^{}]*\}'), re.compile(r'"name":"([^"\\]*)"')


def _ordered(table: Table) -> list[str]:
    """The columns by which ranges can be named. Those of partitions come first."""
    parts = _partition_columns(table)
    names = [key.name for key in all_keys(table.schema.fields, ()) if key.is_ordered and len(key.path) == 1]
    return sorted(names, key=lambda name: name not in parts)


def _partition_columns(table: Table) -> set[str]:
    return {field.column for field in table.partition_spec.fields if field.column is not None}


def can_name_ranges(table: Table) -> bool:
    """Whether rows of a table can be changed by ranges."""
    try:
        _check(table)
    except UnsupportedError:
        return False
    return True


def _check(table: Table) -> None:
    """Refuses tables whose rows would lose their ids.

    Raises:
        UnsupportedError: The table tracks rows, or has no column by which ranges can be named.
    """
    for option in ("row-tracking.enabled", "data-evolution.enabled"):
        if table.properties.get(option, "").lower() == "true":
            raise UnsupportedError(
                f"tables of {format_name(table._core)} with '{option}' can't be changed by Spark's expressions",
                {"table": table.location},
                "Use filters of Frazil's, keys and columns: see Table.update, Table.delete and Table.merge",
            )
    if not set(_ordered(table)) - _partition_columns(table):
        raise UnsupportedError(
            "tables without a column that has an order can't be changed by Spark's expressions",
            {"table": table.location},
        )


def read_ranged(spark: SparkSession, table: Table, where: str, columns: Sequence[str], branch: str | None) -> Placed:
    """Rows with their places, and with columns that name ranges of them."""
    _check(table)
    parts, ordered = _partition_columns(table), _ordered(table)
    names = dict.fromkeys([*columns, *(name for name in ordered if name in parts)])
    if not any(name in names for name in ordered if name not in parts):
        names[next(name for name in ordered if name not in parts)] = None
    return read_placed(spark, table, where, list(names), branch)


def old_columns(table: Table, alias: str, read: Sequence[str]) -> list[Column]:
    """The values of the old row that name ranges, of the columns that were read."""
    chosen = [name for name in _ordered(table) if name in read][:_MOST_KEYS]
    if read and not set(chosen) - _partition_columns(table):
        chosen.append(next(name for name in _ordered(table) if name in read and name not in chosen))
    return [f.col(f"{quoted(alias)}.{quoted(name)}").alias(f"{_OLD}{name}") for name in chosen]


@dataclass(frozen=True)
class _Found:
    """How many rows are changed, and the filter of a range that has their old rows."""

    updated: int
    deleted: int
    inserted: int
    where: str | None

    def job(self, job: Job) -> Job:
        """The job, with the numbers of rows in its summary. The range has more rows than those."""
        counts = {"updated": self.updated, "deleted": self.deleted, "inserted": self.inserted}
        return replace(job, properties={**job.properties, **{f"frazil.rows-{k}": str(n) for k, n in counts.items()}})


def write_ranged(change: PlacedChange) -> None:
    """Makes a task write the changed rows and commit them.

    Raises:
        InvalidInputError: A value does not fit, or a row of the table matches several rows of the source.
        UnsupportedError: The table can't be changed in this way.
        CommitConflictError: Another commit changed what this one relies on.
    """
    _check(change.table)
    head = Head.of(change.table, change.job.branch)
    rows = change.rows if KEPT in change.rows.columns else change.rows.withColumn(KEPT, f.lit(False))
    with persisted(rows):
        found = _found(rows, change)
        if found.where is not None:
            _overwrite(rows, change, found, head)
        elif found.inserted:
            _insert(rows, change, found, head)


def _overwrite(rows: DataFrame, change: PlacedChange, found: _Found, head: Head) -> None:
    columns = change.columns
    values = [f.col(quoted(f"frazil c{i}")) for i in range(len(columns))]
    file = change.placed.path(f.col(quoted(FILE))).alias(FILE)
    sent = rows.select(*values, file, *(f.col(quoted(c)) for c in (POSITION, MISSING, KEPT))).repartition(1)
    job = RangeJob(
        table=change.table,
        change=row_requests.overwrite(found.where),
        where=str(found.where),
        job=found.job(change.job),
        columns=columns,
        command=change.command,
        updated=change.updated,
        inserted=change.inserted,
        deletes_all=change.deletes_all,
        filled=_with_default(change.table),
        head=head,
    )
    change_rows(sent.sortWithinPartitions(f.col(quoted(FILE)).asc_nulls_last(), f.col(quoted(POSITION))), job)


def _insert(rows: DataFrame, change: PlacedChange, found: _Found, head: Head) -> None:
    """Appends rows by as many tasks as there are. One task does so for a branch."""
    job = InsertJob(
        table=change.table,
        change=row_requests.overwrite(None),
        where="false",
        job=found.job(change.job),
        columns=change.columns,
        command=change.command,
        inserted=change.inserted,
        head=head,
    )
    new = rows.where(f.col(quoted(FILE)).isNull())
    values = [f.col(quoted(f"frazil c{i}")) for i in range(len(change.columns))]
    places = [f.col(quoted(c)) for c in (FILE, POSITION, MISSING)]
    spread = new.repartition(1) if change.job.branch is not None else clustered(new.select(*values, *places), change)
    change_rows(spread.select(*values), job)


def _found(rows: DataFrame, change: PlacedChange) -> _Found:
    """Counts the changed rows, and finds a range that has their old rows."""
    known = {key.name: key for key in all_keys(change.table.schema.fields, ()) if len(key.path) == 1}
    names = [name.removeprefix(_OLD) for name in rows.columns if name.startswith(_OLD)]
    keys = tuple(known[name] for name in names)
    has_old = f.col(quoted(FILE)).isNotNull()
    changed = has_old & ~f.col(quoted(KEPT))
    gone = changed & (f.lit(change.deletes_all) | f.col(quoted(MISSING)))
    place = f.struct(f.col(quoted(FILE)), f.col(quoted(POSITION)))
    asked = {
        "updated": f.count(f.when(changed & ~gone, 1)),
        "deleted": f.count_distinct(f.when(gone, place)) if change.deletes_all else f.count(f.when(gone, 1)),
        "inserted": f.count(f.when(~has_old, 1)),
    }
    for i, name in enumerate(names):
        asked[f"nulls {i}"] = f.count(f.when(changed & f.col(quoted(_OLD + name)).isNull(), 1))
    counts = rows.agg(*(column.alias(name) for name, column in asked.items())).toArrow().to_pylist()[0]
    where = None
    if counts["updated"] or counts["deleted"]:
        nulls = tuple(counts[f"nulls {i}"] > 0 for i in range(len(keys)))
        where = _range(rows.where(changed), change.table, keys, nulls)
    return _Found(counts["updated"], counts["deleted"], counts["inserted"], where)


def _range(rows: DataFrame, table: Table, keys: tuple[Key, ...], nulls: tuple[bool, ...]) -> str:
    """A filter for a range that has all these rows. It is never one of whole partitions.

    An overwrite of whole partitions would replace what others add to them.
    """
    named = [f.col(quoted(_OLD + key.name)).alias(f"frazil key {i}") for i, key in enumerate(keys)]
    where = collect_facts(Source(rows.select(*named), (), keys, nulls)).where
    change = None if where is None else row_requests.overwrite(where)
    try:
        if change is not None:
            check_overwrite(table._core, change)
    except UnsupportedError:  # it is a range of rows, so its files are compared when it is committed
        return str(where)
    raise UnsupportedError(
        "the changed rows have no range of values by which they could be named", {"table": table.location}
    )


def _with_default(table: Table) -> tuple[str, ...]:
    """The columns with a default, which new rows have instead of null."""
    schemas = table.inspect.schemas()
    texts = dict(zip(schemas["schema_id"].to_pylist(), schemas["fields"].to_pylist(), strict=True))
    text = texts[table.schema._core.id]
    fields = [_NAME.search(field) for field in _DEFAULT.findall(text)]
    names = [name[1] for name in fields if name is not None]
    every = tuple(field.name for field in table.schema.fields)
    return tuple(names) if len(names) == text.count('"defaultValue"') and set(names) <= set(every) else every
