"""Merges whose join Spark does.

Spark aggregates the source's keys, which shows which files of the table can match. Only the key columns and the places
of the rows are read from these files, and joined with the source. Each match goes to the task of its data file, so one
task has all matches of a file. The task reads the columns that it needs of the old rows. It writes delete files or
rewrites the files, and writes the inserted rows. The driver sees no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate, Term, col
from frazil.requests.rows import RowChange, write_matched_part
from frazil.schema import Field
from frazil.spark.changes.job import PLACES, ChangeJob, WholeJob, change_rows
from frazil.spark.columns import quoted
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.jobs.job import Job
from frazil.spark.reading.places import Placed, read_placed
from frazil.spark.settings import setting
from frazil.spark.types import spark_type
from frazil.spark.writing.distribution import partition_columns
from frazil.table import Table

__all__ = [
    "BROADCAST_MAX_ROWS",
    "BROADCAST_MAX_ROWS_DEFAULT",
    "DRIVER_MAX_BYTES",
    "DRIVER_MAX_BYTES_DEFAULT",
    "DRIVER_MAX_ROWS",
    "DRIVER_MAX_ROWS_DEFAULT",
    "Facts",
    "Key",
    "Source",
    "all_keys",
    "branch_or_none",
    "collect_facts",
    "has_hash",
    "keys_of",
    "merge_rows",
    "named_keys",
    "persisted",
]

DRIVER_MAX_ROWS = "spark.frazil.changes.driver-max-rows"
"""Spark setting: the most rows of a source that the driver merges itself. Default 10,000; 0 for never."""
DRIVER_MAX_BYTES = "spark.frazil.changes.driver-max-bytes"
"""Spark setting: the most bytes of data files that the driver changes itself. Default 64 MiB; 0 for never."""
BROADCAST_MAX_ROWS = "spark.frazil.changes.broadcast-max-rows"
"""Spark setting: the most rows of a source whose keys are broadcast to filter the table's. Default 500,000."""

DRIVER_MAX_ROWS_DEFAULT = 10_000
DRIVER_MAX_BYTES_DEFAULT = 64 << 20
BROADCAST_MAX_ROWS_DEFAULT = 500_000
# A key column with no more values than this is filtered by its values, otherwise by its smallest and largest value.
_MOST_VALUES = 200
# The most tasks that write inserted rows of a table without partitions.
_SALTS = 64
_FILE, _POSITION, _MISSING = PLACES
_COMPARABLE = ("boolean", "float", "double", "uuid")
_ORDERED = ("int", "long", "date", "timestamp", "timestamptz", "string", "binary")


@dataclass(frozen=True)
class Key:
    """A column of the key. `path` are the names from the top-level column down."""

    path: tuple[str, ...]
    field: Field

    @property
    def name(self) -> str:
        """The full name."""
        return ".".join(self.path)

    @property
    def is_ordered(self) -> bool:
        """Whether files can be selected by a range of it. A float's text may be slightly inexact."""
        return self.field.type in _ORDERED or self.field.type.startswith("decimal")

    @property
    def is_comparable(self) -> bool:
        """Whether Spark has its type and compares it as Frazil does."""
        return self.is_ordered or self.field.type in _COMPARABLE or self.field.type.startswith("fixed")


@dataclass(frozen=True)
class Source:
    """The source, with numbered columns and numbered key columns."""

    rows: DataFrame
    names: tuple[str, ...]
    keys: tuple[Key, ...]
    nulls: tuple[bool, ...] = ()
    """For each column of the key, whether null matches null. Empty: for none."""

    @classmethod
    def of(cls, df: DataFrame, keys: Sequence[Key]) -> Source:
        """The source of a DataFrame. Columns get new names, because Spark does not distinguish names by case."""
        names = tuple(df.columns)
        numbered = df.toDF(*(f"frazil {i}" for i in range(len(names))))
        columns = {f"frazil key {i}": _key_of(names, key) for i, key in enumerate(keys)}
        return cls(numbered.withColumns(columns), names, tuple(keys))

    @property
    def columns(self) -> list[Column]:
        """The columns of the data."""
        return [f.col(quoted(f"frazil {i}")) for i in range(len(self.names))]

    def key(self, i: int) -> Column:
        """A column of the key."""
        return f.col(quoted(f"frazil key {i}"))

    def has_key(self) -> Column:
        """Whether a row has no null in the key where null matches nothing. Other rows match nothing."""
        strict = (self.key(i).isNotNull() for i in range(len(self.keys)) if not self.matches_null(i))
        return reduce(Column.__and__, strict, f.lit(True))

    def matches_null(self, i: int) -> bool:
        """Whether null matches null in a column of the key."""
        return bool(self.nulls) and self.nulls[i]

    def with_keys(self) -> DataFrame:
        """The keys of the rows that have a key without null."""
        return self.rows.where(self.has_key()).select(*(self.key(i) for i in range(len(self.keys))))


def _key_of(names: Sequence[str], key: Key) -> Column:
    at = names.index(key.path[0])
    column = reduce(lambda c, name: c.getField(name), key.path[1:], f.col(quoted(f"frazil {at}")))
    if key.field.type == "uuid":
        return f.lower(column.cast("string"))
    # Numbers are compared without a cast, because a cast of decimals might round.
    numbers = key.field.type in ("int", "long", "float", "double") or key.field.type.startswith("decimal")
    return column if numbers else column.cast(spark_type(key.field))


@dataclass(frozen=True)
class Facts:
    """Facts about the source before it is joined."""

    rows: int
    keyed: int
    where: Predicate | None


def merge_rows(df: DataFrame, table: Table, change: RowChange.Merge, job: Job) -> None:
    """Merges a DataFrame's rows into a table at its present version.

    Raises:
        InvalidInputError: Columns or filters do not fit, or a row of the table matches several rows of the DataFrame.
        CommitConflictError: Another commit changed what this one relies on.
    """
    if not supports(table._core, "row_changes_by_executors"):
        merge_whole(df, table, change, job)
        return
    if not change.on:
        change = RowChange.Merge(
            on=[key.name for key in named_keys(table, None)],
            update=change.update,
            delete=change.delete,
            insert=change.insert,
            delete_missing=change.delete_missing,
        )
    _check(df, table, change, job)
    keys = keys_of(table, change.on)
    if not all(key.is_comparable for key in keys):
        merge_whole(df, table, change, job)
        return
    source = Source.of(df, keys)
    with persisted(source.rows):
        facts = collect_facts(source)
        everything = change.delete_missing is not None
        where = "true" if everything or facts.where is None else str(facts.where)
        if _is_small(source, facts, table, where, job):
            rows = source.rows.toArrow()
            if not _has_duplicate_keys(rows, len(keys)):
                taken = rows.select(range(len(source.names))).rename_columns(list(source.names))
                _on_driver(taken, table, change, job)
                return
        matches = _matches(source, facts, table, change, job)
        clustered = _clustered(matches, source, table, change)
        change_rows(clustered, ChangeJob(table, change, where, job, columns=source.names))


def merge_whole(df: DataFrame, table: Table, change: RowChange.Merge, job: Job) -> None:
    """Merges rows as `Table.merge` does. One task does it if there are too many for the driver."""
    most = setting(df.sparkSession, DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, "rows")
    with persisted(df):
        if df.limit(most + 1).count() <= most:
            _on_driver(df.toArrow(), table, change, job)
            return
        names = tuple(df.columns)
        # Spark does not distinguish names by case.
        rows = df.toDF(*(f"frazil {i}" for i in range(len(names)))).repartition(1)
        change_rows(rows, WholeJob(table, change, "true", job, columns=names))


def _on_driver(rows: pa.Table, table: Table, change: RowChange.Merge, job: Job) -> None:
    raise_if_interrupted()
    table._change_rows(change, rows, job.branch, job.members())


def _check(df: DataFrame, table: Table, change: RowChange.Merge, job: Job) -> None:
    """Refuses columns and types that do not fit, before Spark computes anything."""
    rows = df.limit(0).toArrow()
    for name, type_ in zip(PLACES, (pa.string(), pa.int64(), pa.bool_()), strict=True):
        rows = rows.append_column(name, pa.array([], type_))
    write_matched_part(table._core, change, "true", rows, job.branch, 0, "merge")


def keys_of(table: Table, on: Sequence[str] | None) -> list[Key]:
    """The columns with these full names; None means the table's identifier fields."""
    if on is not None:
        return [_find_key(table.schema.fields, tuple(name.split(".")), name) for name in on]
    by_id = {key.field.id: key for key in all_keys(table.schema.fields, ())}
    return [by_id[id_] for id_ in table.schema._core.identifier_field_ids]


def named_keys(table: Table, on: Sequence[str] | None) -> list[Key]:
    """As `keys_of`, for a merge.

    Raises:
        InvalidInputError: The merge and the table name no key.
    """
    keys = keys_of(table, on)
    if not keys:
        raise InvalidInputError(
            "no key columns are named, and the table has no identifier fields",
            hint="Give a condition or on=[...], or set identifier fields",
        )
    return keys


def _find_key(fields: Sequence[Field], path: tuple[str, ...], name: str) -> Key:
    """A top-level column with this name, or else a member of structs."""
    whole = next((field for field in fields if field.name == name), None)
    if whole is not None:
        return Key((name,), whole)
    return next(key for key in all_keys(fields, ()) if key.path == path)


def all_keys(fields: Sequence[Field], path: tuple[str, ...]) -> Iterator[Key]:
    """All columns and members of structs. `path` is where the fields are."""
    for field in fields:
        yield Key((*path, field.name), field)
        if field.type.startswith("struct<"):
            yield from all_keys(field.children, (*path, field.name))


@contextmanager
def persisted(rows: DataFrame) -> Iterator[None]:
    """Keeps rows that are computed several times, so that they are the same each time. Not every Spark can do so.

    Rows that the user keeps already stay kept afterwards.
    """
    ours = False
    with suppress(PySparkException):
        level = rows.storageLevel
        ours = not (level.useMemory or level.useDisk)
        if ours:
            rows.persist()
    try:
        yield
    finally:
        if ours:
            with suppress(PySparkException):
                rows.unpersist()


def collect_facts(source: Source) -> Facts:
    """Counts the source's rows, and finds which values the keys have."""
    ordered = [i for i, key in enumerate(source.keys) if key.is_ordered]
    asked = [f.count(f.lit(1)).alias("rows"), f.count(f.when(source.has_key(), 1)).alias("keyed")]
    for i in ordered:
        column = f.when(source.has_key(), source.key(i))
        asked += [f.min(column).alias(f"least {i}"), f.max(column).alias(f"greatest {i}")]
        asked.append(f.approx_count_distinct(column).alias(f"values {i}"))
    found = source.rows.agg(*asked).toArrow()
    rows, keyed = found["rows"][0].as_py(), found["keyed"][0].as_py()
    leaves = [leaf for i in ordered if (leaf := _range_filter(source, i, found)) is not None] if keyed else []
    return Facts(rows, keyed, reduce(Predicate.__and__, leaves) if leaves else None)


def _range_filter(source: Source, i: int, found: pa.Table) -> Predicate | None:
    """A filter that all keys satisfy. It is None for dates after the year 9999, which Python lacks."""
    term = col(*source.keys[i].path)
    try:
        if found[f"values {i}"][0].as_py() <= _MOST_VALUES:
            values = source.with_keys().select(source.key(i)).distinct().limit(2 * _MOST_VALUES + 1).toArrow()
            if values.num_rows <= 2 * _MOST_VALUES:
                known = [value for value in values.column(0).to_pylist() if value is not None]
                found_values = term.is_in(known) if known else None
                return _or_null(source, i, term, found_values)
        least: Predicate = term >= found[f"least {i}"][0].as_py()
        greatest: Predicate = term <= found[f"greatest {i}"][0].as_py()
    except (OverflowError, ValueError):
        return None
    return _or_null(source, i, term, least & greatest)


def _or_null(source: Source, i: int, term: Term, found: Predicate | None) -> Predicate | None:
    """The filter, or null as well if null matches null."""
    if not source.matches_null(i):
        return found
    return term.is_null() if found is None else found | term.is_null()


def _is_small(source: Source, facts: Facts, table: Table, where: str, job: Job) -> bool:
    """Whether the driver would be done before a Spark job had started."""
    spark = source.rows.sparkSession
    if facts.rows > setting(spark, DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, "rows"):
        return False
    most = setting(spark, DRIVER_MAX_BYTES, DRIVER_MAX_BYTES_DEFAULT)
    left = most
    for task in table.scan(where, at=branch_or_none(table, job)).plan_files():
        left -= task.data_file.size_bytes
        if left < 0:
            return False
    return most > 0


def _has_duplicate_keys(rows: pa.Table, keys: int) -> bool:
    """Whether several rows have the same key. If they match nothing, Spark inserts each."""
    names = [f"frazil key {i}" for i in range(keys)]
    keyed = rows.select(names).drop_null()
    return bool(keyed.group_by(names).aggregate([]).num_rows < keyed.num_rows)


def branch_or_none(table: Table, job: Job) -> str | None:
    """The branch to read, if it exists."""
    return job.branch if job.branch is not None and job.branch in table.refs else None


def _target(source: Source, table: Table, where: str, job: Job) -> Placed:
    """The keys and places of the table's rows."""
    select = list(dict.fromkeys(key.name for key in source.keys))
    placed = read_placed(source.rows.sparkSession, table, where, select, branch_or_none(table, job))
    keys = [f.col(".".join(map(quoted, key.path))).alias(f"frazil target {i}") for i, key in enumerate(source.keys)]
    rows = placed.rows.select(*keys, f.col("_file").alias(_FILE), f.col("_pos").alias(_POSITION))
    return placed.of(rows)


def _equal(source: Source) -> Column:
    pairs = (source.key(i) == f.col(quoted(f"frazil target {i}")) for i in range(len(source.keys)))
    return reduce(Column.__and__, pairs)


def _matches(source: Source, facts: Facts, table: Table, change: RowChange.Merge, job: Job) -> DataFrame:
    """The source's columns and the places: a row for each match, each inserted row and each missing row."""
    spark = source.rows.sparkSession
    broadcast = facts.rows <= setting(spark, BROADCAST_MAX_ROWS, BROADCAST_MAX_ROWS_DEFAULT, "rows")
    keys = f.broadcast(source.with_keys()) if broadcast else source.with_keys()
    nowhere = [f.lit(None).cast("string").alias(_FILE), f.lit(None).cast("bigint").alias(_POSITION)]
    own, file, position = source.columns, f.col(quoted(_FILE)), f.col(quoted(_POSITION))
    here = f.lit(False).alias(_MISSING)
    changes, inserts = change.update is not None or change.delete is not None, change.insert is not None
    frames: list[DataFrame] = []
    if facts.keyed == 0:
        if inserts:
            frames.append(source.rows.select(*own, *nowhere, here))
    elif changes or inserts:
        where = "true" if facts.where is None else str(facts.where)
        placed = _target(source, table, where, job)
        target = placed.rows
        if broadcast:
            # An outer join can't broadcast the side that it keeps. After this semi join, the table's side is small.
            target = target.join(keys, _equal(source), "left_semi")
        if changes:
            joined = source.rows.join(target, _equal(source), "left" if inserts else "inner")
            frames.append(joined.select(*own, placed.path(file).alias(_FILE), position, here))
        else:
            joined = source.rows.join(target, _equal(source), "left_anti")
            frames.append(joined.select(*own, *nowhere, here))
    if change.delete_missing is not None:
        placed = _target(source, table, change.delete_missing, job)
        lost = placed.rows.join(keys, _equal(source), "left_anti")
        types = [field.dataType for field in source.rows.schema.fields]
        nothing = [f.lit(None).cast(types[i]).alias(f"frazil {i}") for i in range(len(own))]
        frames.append(lost.select(*nothing, placed.path(file).alias(_FILE), position, f.lit(True).alias(_MISSING)))
    if not frames:
        schema = source.rows.select(*own, *nowhere, here).schema
        return spark.createDataFrame([], schema)
    return reduce(DataFrame.unionAll, frames)


def _clustered(matches: DataFrame, source: Source, table: Table, change: RowChange.Merge) -> DataFrame:
    """Brings all matches of a file together, and distributes inserted rows as the table's partitions are."""
    file = f.col(quoted(_FILE))
    if change.insert is None:
        return matches.repartition(file)
    names = change.insert if isinstance(change.insert, dict) else {name: name for name in source.names}
    named = {column: f"frazil {source.names.index(name)}" for column, name in names.items()}
    mode = table.properties.get("write.merge.distribution-mode", "hash").lower()
    spread = partition_columns(table, named) if mode != "none" else []
    if not spread:
        spread = [f.pmod(f.hash(*_hashable(matches, source)), f.lit(_SALTS))]
    return matches.repartition(file, *(f.when(file.isNull(), column) for column in spread))


def _hashable(matches: DataFrame, source: Source) -> list[Column]:
    """Columns that distinguish inserted rows. Spark has no hash of maps and variants."""
    simple = [
        column for column, field in zip(source.columns, matches.schema.fields, strict=False) if has_hash(field.dataType)
    ]
    if not simple:
        raise InvalidInputError("a merge needs a column that is not a list or map")
    return simple


def has_hash(type_: st.DataType) -> bool:
    """Whether Spark can hash values of a type."""
    if isinstance(type_, st.StructType):
        return all(has_hash(field.dataType) for field in type_.fields)
    return isinstance(type_, st.AtomicType) and not isinstance(type_, st.VariantType)
