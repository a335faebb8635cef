"""Changes by expressions for tables with a primary key whose files tasks can't exchange. Rows are found by the key.

Spark computes the changed rows, as for other tables. One task gets these rows and merges them by the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from frazil._core import CommitMessage
from frazil.exceptions import CommitConflictError, InvalidInputError, UnsupportedError
from frazil.requests.rows import RowChange, merge_change
from frazil.spark.changes.job import ChangeJob, change_rows
from frazil.spark.changes.merging import Key, keys_of
from frazil.spark.changes.placed_changes import FILE, MISSING, PlacedChange
from frazil.spark.columns import quoted
from frazil.spark.reading.places import Placed
from frazil.table import Table

__all__ = ["KeyedJob", "key_columns", "read_keyed", "write_keyed"]

_KEY, _GONE, _OLD = "frazil key", "frazil gone", "frazil old"


def _primary_key(table: Table) -> list[Key]:
    return keys_of(table, None)


def read_keyed(spark: SparkSession, table: Table, where: str, columns: Iterable[str], branch: str | None) -> Placed:
    """Rows of a table with their keys. Their places are only there."""
    names = dict.fromkeys([*columns, *(key.path[0] for key in _primary_key(table))])
    rows = table.scan(where, list(names), at=branch).to_spark(spark)
    return Placed(rows.withColumns({"_file": f.lit(""), "_pos": f.lit(0).cast("long")}))


def key_columns(table: Table, target: str) -> list[Column]:
    """The key of the old row."""
    keys = _primary_key(table)
    names = [".".join(map(quoted, (target, *key.path))) for key in keys]
    return [f.col(name).alias(f"{_KEY} {i}") for i, name in enumerate(names)]


def write_keyed(change: PlacedChange) -> None:
    """Makes a task merge the changed rows into the table.

    Raises:
        InvalidInputError: A value does not fit, or a row of the table matches several rows of the source.
        UnsupportedError: The table can't be changed in this way.
        CommitConflictError: Another commit has changed the table.
    """
    job = KeyedJob(
        table=change.table,
        change=merge_change([key.name for key in _primary_key(change.table)], True, False, True, False),
        where="true",
        job=change.job,
        columns=tuple(change.rows.columns),
        command=change.command,
        changed=change.columns,
        updated=change.updated,
        inserted=change.inserted,
        deletes_all=change.deletes_all,
    )
    change_rows(change.rows.repartition(1), job)


@dataclass(frozen=True, kw_only=True)
class KeyedJob(ChangeJob):
    """A merge of changed rows that one task does.

    Attributes:
        changed: The columns of the table that get values, in the order of the rows.
        updated: The columns that updates set.
        inserted: The columns that inserted rows have.
        deletes_all: Whether all rows with a place are deleted, even if there are several for one old row.
    """

    changed: tuple[str, ...]
    updated: tuple[str, ...]
    inserted: tuple[str, ...]
    deletes_all: bool

    def write(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        """Merges the rows in one commit, unless an earlier attempt of the task has done so."""
        batches = [batch.rename_columns(list(self.columns or ())) for batch in rows]
        newest = Table(self.table._core).refresh()
        if not batches or self.job.is_done(newest):
            return []
        given, merged = self._source(pa.Table.from_batches(batches))
        is_new = pc.invert(given[_OLD])
        given = given.drop_columns([_OLD])
        new = given.filter(is_new)
        keys = [key.name for key in _primary_key(self.table)]
        if self.deletes_all:
            given = given.take(pa.array(_firsts(given, keys)))
        if new.num_rows:
            _check_keys_are_new(self.table, new, keys, self.job.branch)
        read, now = self.table.snapshot, Table(self.table._core).refresh().snapshot
        if (now and now.id) != (read and read.id):
            raise CommitConflictError(
                "the table was changed while Spark computed the changes", {"table": self.table.location}
            )
        Table(self.table._core)._change_rows(merged, given, self.job.branch, self.job.members())
        return []

    def commit(self, messages: list[CommitMessage]) -> None:
        """Does nothing: the task has committed."""

    def _source(self, rows: pa.Table) -> tuple[pa.Table, RowChange]:
        """The rows as a source of the table's own merge, with a column for rows that have an old one; and the merge."""
        keys = _primary_key(self.table)
        names = {name: f"frazil c{i}" for i, name in enumerate(self.changed)}
        old = pc.is_valid(rows[FILE])
        data: dict[str, pa.ChunkedArray] = {}
        for i, key in enumerate(keys):
            column = rows[f"{_KEY} {i}"]
            if key.name in self.inserted:
                column = pc.if_else(old, column, rows[names[key.name]].cast(column.type))
            data[key.name] = column
            if key.name in self.updated:
                changed = pc.and_(pc.and_(old, pc.invert(rows[MISSING])), pc.not_equal(column, rows[names[key.name]]))
                if pc.any(changed).as_py():
                    raise InvalidInputError(
                        "a column of the primary key can't be updated",
                        {"column": key.name},
                        "Delete the rows, and append them with the new key",
                    )
        key_names = {key.name for key in keys}
        data |= {name: rows[name] for name in names.values()}
        data[_GONE] = pc.if_else(pc.or_(rows[MISSING], pc.and_(old, pa.scalar(self.deletes_all))), "yes", "no")
        data[_OLD] = old
        inserted = {name: name if name in key_names else names[name] for name in self.inserted}
        merged = merge_change(
            [key.name for key in keys],
            {name: names[name] for name in self.updated if name not in key_names},
            f"\"{_GONE}\" = 'yes'",
            inserted,
            False,
        )
        return pa.table(data), merged


def _check_keys_are_new(table: Table, inserted: pa.Table, keys: list[str], branch: str | None) -> None:
    """Refuses inserted rows whose key the table has. They would change these rows."""
    have = table.scan(select=keys, at=branch).to_arrow()
    common = inserted.select(keys).join(have.cast(inserted.select(keys).schema), keys, join_type="inner")
    if common.num_rows:
        raise UnsupportedError(
            "a row that the merge inserts has the primary key of a row of the table",
            {"key": str(common.slice(0, 1).to_pylist()[0])},
            "Let the condition of the merge compare the primary key alone, and put the rest into WHEN … AND …",
        )


def _firsts(rows: pa.Table, keys: list[str]) -> list[int]:
    """The number of the first row with each key."""
    numbered = rows.select(keys).append_column("number", pa.array(range(rows.num_rows)))
    return sorted(numbered.group_by(keys).aggregate([("number", "min")])["number_min"].to_pylist())
