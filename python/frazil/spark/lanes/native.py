"""The native lanes: files that Spark's own Parquet reader reads.

`deal` asks the core which files Spark would read as Frazil does, and `read_group` reads them: by the names that
columns have in the files, never by field ids, since Spark matches data by ids but pushes filters by names. Rows are
looked up among the deleted ones by a join with a broadcast in which 64 rows of a file share an entry: with a key for
each row, each would be elsewhere in a table that no cache of the processor holds.
"""

from __future__ import annotations

import decimal
import posixpath
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil import interop
from frazil.capabilities import format_name, supports
from frazil.engines import Engine
from frazil.exceptions import InternalError, InvalidInputError, UnsupportedError
from frazil.requests.native_reads import find_native_files
from frazil.scan import Scan
from frazil.schema import Schema
from frazil.spark.lanes.arrow import Splits
from frazil.spark.lanes.path_numbers import PathNumbers
from frazil.spark.types import spark_schema

__all__ = [
    "MAX_DELETES",
    "MAX_FILES",
    "SCHEMES",
    "Dealt",
    "Group",
    "all_to_arrow",
    "changed_setting",
    "deal",
    "place_for_spark",
    "quoted",
    "read_group",
    "schemes_of",
]

SCHEMES = "spark.frazil.native.schemes"
"""Spark setting: where Spark may read and write itself, with commas between; `s3=s3a`: `s3a:` for `s3:`."""
MAX_DELETES = "spark.frazil.native.max-deletes"
"""Spark setting: the most deleted positions that are broadcast. Default 4,000,000 if only Spark may read, else 0."""
MAX_FILES = "spark.frazil.native.max-files"
"""Spark setting: the most files of which the driver reads the footers. Default 10,000."""

# What sessions' settings were before threads changed them, and how many threads did; sessions stay alive meanwhile.
_CHANGED: dict[tuple[int, str], tuple[str | None, int]] = {}
_CHANGING = threading.Lock()

# To look rows up among the deleted ones costs Spark more than to get the rows from Frazil.
_MOST_DELETES = {"native": 4_000_000, "auto": 0}
_MAX_FILES = 10_000
# Of files with deletes. Up to so many numbers, one or two a file, Spark looks for one by a switch; and the fewer there
# are, the sooner their hashes have bits that tell all apart.
_FILES_PER_SCAN = 400
# So many scans in a query are fine.
_MOST_BRANCHES = 32
# Above as many paths Spark starts a job to look for them, with a task for each.
_FEW_PATHS = 32
_MANY_PATHS = "spark.sql.sources.parallelPartitionDiscovery.threshold"
# Of the number of 64 rows in their file, below that of the file.
_WORD_BITS = 34
# Columns beside those of the table.
_FILE, _PATH, _POSITION, _WORD, _BIT, _MASK = (
    f"__frazil_{name}" for name in ("file", "path", "position", "word", "bit", "mask")
)
# Of its days Java's calendar lacks ten, so Spark pushes filters with other days down to files, and loses rows.
_SHORT_MONTH = "1582-10-"
# What SQL reads as it is written.
_PLAIN_TEXT = re.compile("[A-Za-z0-9_./: -]*")
_OPTIONS = {
    # Iceberg's dates and times are those of the proleptic Gregorian calendar, whoever wrote the file.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # A file that is lost must not pass for one without rows.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    # Folders are no columns.
    "recursiveFileLookup": "true",
    "mergeSchema": "false",
}


class File(NamedTuple):
    """A file for Spark, with the ways in which Spark may give its path, first the one in which it takes it."""

    path: str
    size_bytes: int
    record_count: int
    number: int | None
    spellings: Sequence[str]


@dataclass(frozen=True)
class Group:
    """Files whose columns have the same names. `columns` are the files' names of `Dealt.wanted`, None if all null."""

    columns: tuple[str | None, ...]
    filtered: bool
    files: tuple[File, ...]

    @property
    def has_deletes(self) -> bool:
        """Whether rows of its files are deleted."""
        return self.files[0].number is not None


@dataclass(frozen=True)
class Dealt:
    """A scan's files by lane. `refused` gives a reason for each file of `rest`, or one for all."""

    wanted: Schema
    filter: Any
    groups: tuple[Group, ...]
    deleted: pa.Table
    rest: Splits
    refused: pa.Table | str

    @property
    def reasons(self) -> pa.Table:
        """The files of `rest`: `file_path` and `reason`."""
        if not isinstance(self.refused, str):
            return self.refused
        rest = self.rest if isinstance(self.rest, list) else self.rest.splits()
        paths = list(dict.fromkeys(task.data_file.path for split in rest for task in split.tasks))
        return pa.table({"file_path": pa.array(paths, pa.string()), "reason": pa.repeat(self.refused, len(paths))})


def all_to_arrow(scan: Scan, reason: str, pack_from: int | None = None) -> Dealt:
    """Everything to the Arrow lane; of `pack_from` splits and more, packed where they can be."""
    splits = scan._core.splits_or_packed(pack_from)
    nothing = pa.table({"word": pa.array([], pa.int64()), "mask": pa.array([], pa.int64())})
    return Dealt(scan.schema, True, (), nothing, splits, reason)


def deal(spark: SparkSession, scan: Scan, engine: Engine, places: bool = False, pack_from: int | None = None) -> Dealt:
    """Which lane reads which file.

    Args:
        spark: The session.
        scan: What is read.
        engine: Who may read.
        places: Whether rows shall say where they are: Spark's reader has that for nothing, and Frazil's sends a text of
            each row.
        pack_from: Of so many splits and more that stay Frazil's, all are packed where they can be. That is for reading:
            `Dealt.reasons` of all of them then takes long.

    Raises:
        UnsupportedError: `engine` is `native`, and Spark's reader can't read some file as Frazil does.
    """
    if engine not in ("auto", "native", "arrow"):
        raise InvalidInputError(f"engine must be 'auto', 'native' or 'arrow', not {engine!r}")
    if engine == "arrow":
        return all_to_arrow(scan, "asked for by engine='arrow'", pack_from)
    if engine == "auto" and not supports(scan._table, "native_reads"):
        return all_to_arrow(scan, f"the table is of {format_name(scan._table)}", pack_from)
    schemes = schemes_of(spark)
    most_deletes = _MOST_DELETES["native" if places else engine]
    most = _count(spark, MAX_FILES, _MAX_FILES), _count(spark, MAX_DELETES, most_deletes), pack_from
    refused: dict[str, str] = {}
    while True:
        found = find_native_files(scan._core, list(schemes), refused, *most)
        groups = tuple(_group(schemes, g["columns"], g["filtered"], g["files"]) for g in found.groups)
        more = {file.path: "it would be a part of its own, of which there are too many" for file in _beyond(groups)}
        more |= {file.path: "Spark may spell its path as that of another file" for file in _alike(groups)}
        if not more:
            break
        refused |= more
    dealt = Dealt(
        Schema._wrap(found.schema),
        found.filter,
        groups,
        interop.table_of(found.deleted),
        found.rest,
        found.refused if isinstance(found.refused, str) else interop.table_of(found.refused),
    )
    if engine == "native" and len(reasons := dealt.reasons):
        path, reason = (column[0].as_py() for column in reasons.columns)
        raise UnsupportedError(
            f"Spark's own reader can't read {len(reasons)} of the scan's files as Frazil does: {reason} (path: {path})",
            {"path": path},
            "Leave engine= out: Frazil then reads such files, if they can be read, and Spark the others",
        )
    return dealt


def _group(schemes: Mapping[str, str], columns: Sequence[str | None], filtered: bool, files: Any) -> Group:
    """A group as the core tells it."""

    def file(path: str, size_bytes: int, record_count: int, number: int | None) -> File:
        return File(path, size_bytes, record_count, number, spellings(schemes, path))

    return Group(tuple(columns), filtered, tuple(file(*facts) for facts in files))


def _beyond(groups: Sequence[Group]) -> Iterator[File]:
    """Files of the smallest groups, where there would be too many branches."""
    branches = 0
    for group in sorted(groups, key=lambda g: -len(g.files)):
        for files in _chunks(group):
            branches += 1
            if branches > _MOST_BRANCHES:
                yield from files


def _alike(groups: Sequence[Group]) -> Iterator[File]:
    """Files that Spark may spell as it spells another."""
    files = [file for group in groups for file in group.files]
    counts = Counter(path for file in files for path in file.spellings)
    return (file for file in files if any(counts[path] > 1 for path in file.spellings))


def _chunks(group: Group) -> list[tuple[File, ...]]:
    """The files of a group, in the sets that are scanned together."""
    if not group.has_deletes:
        return [group.files]
    return [group.files[i : i + _FILES_PER_SCAN] for i in range(0, len(group.files), _FILES_PER_SCAN)]


def read_group(
    spark: SparkSession, dealt: Dealt, group: Group, result: st.StructType, places: bool = False
) -> list[DataFrame]:
    """The rows of a group's files: of each set of files that is scanned together.

    Args:
        spark: The session.
        dealt: The scan's files.
        group: One of its groups.
        result: The columns.
        places: Whether `_file`, as Spark spells it, and `_pos` are among them.
    """
    return [_read_files(spark, dealt, group, files, result, places) for files in _chunks(group)]


def _read_files(
    spark: SparkSession, dealt: Dealt, group: Group, files: Sequence[File], result: st.StructType, places: bool
) -> DataFrame:
    wanted = spark_schema(dealt.wanted)
    stored = [(name, field) for name, field in zip(group.columns, wanted, strict=True) if name is not None]
    schema = st.StructType([st.StructField(name, field.dataType) for name, field in stored])
    rows = _open(spark, schema, [file.spellings[0] for file in files])
    columns = [_column(name, field) for name, field in zip(group.columns, wanted, strict=True)]
    if places:
        columns += ["_metadata.file_path as _file", "_metadata.row_index as _pos"]
    deleted = group.has_deletes
    rows = _without_deleted(spark, dealt, rows, columns, files) if deleted else _selected(spark, rows, columns)
    if group.filtered:
        rows = rows.where(condition(dealt.filter))
    lane = "delete" if deleted else "plain"
    names = [quoted(field.name) for field in result]
    return _selected(spark, rows, names).alias(f"frazil native {lane} lane: {len(files)} files")


def _selected(spark: SparkSession, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
    """These columns of rows. Each call of Spark is a message: a column in SQL takes one, building it takes many."""
    texts = [column for column in columns if isinstance(column, str)]
    # Names are names, whatever setting they may be spelt like.
    like_settings = any("${" in text for text in texts)
    with changed_setting(spark, "spark.sql.variable.substitute", "false") if like_settings else nullcontext():
        if len(texts) == len(columns):
            return rows.selectExpr(*texts)
        return rows.select(*[f.expr(column) if isinstance(column, str) else column for column in columns])


def _column(name: str | None, field: st.StructField) -> str | Column:
    """A column of a file under its name in the table: in SQL, or built if it has a comment or is a nested null."""
    if name is not None:
        text = _without_push_down(quoted(name), field.dataType)
    elif isinstance(field.dataType, st.AtomicType):
        text = f"cast(null as {field.dataType.simpleString()})"
    else:
        return f.lit(None).cast(field.dataType).alias(field.name, metadata=field.metadata)
    if field.metadata:
        return f.expr(text).alias(field.name, metadata=field.metadata)
    return f"{text} as {quoted(field.name)}"


def _without_push_down(column: str, type_: st.DataType) -> str:
    """The same values by an expression that Spark can't see through, if there are floats.

    Statistics leave NaN out, and dictionaries tell -0.0 from 0.0. Spark, for which NaN is above all numbers and zeros
    are equal, would skip row groups by them all the same, and lose rows.
    """
    if isinstance(type_, (st.FloatType, st.DoubleType)):
        return f"nanvl({column}, cast('NaN' as {type_.simpleString()}))"
    if isinstance(type_, st.StructType) and _has_floats(type_):
        return f"case when {column} is not null then {column} end"
    return column


def _has_floats(type_: st.DataType) -> bool:
    if isinstance(type_, st.StructType):
        return any(_has_floats(field.dataType) for field in type_)
    return isinstance(type_, (st.FloatType, st.DoubleType))


def quoted(name: str) -> str:
    """A name as Spark takes it in expressions."""
    return "`" + name.replace("`", "``") + "`"


# ---------------------------------------------------------------- finding the files


def _open(spark: SparkSession, schema: st.StructType, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.schema(schema).options(**_OPTIONS)
    if len(paths) <= _FEW_PATHS:
        return reader.parquet(*paths)
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, name = posixpath.split(path)
        folders.setdefault(folder, []).append(name)
    # Listing folders costs less than looking for each file; but other files in them may have the same names.
    if len(folders) <= _FEW_PATHS and len(set().union(*folders.values())) == len(paths):
        pattern = "{" + ",".join(sorted(name for names in folders.values() for name in names)) + "}"
        try:
            rows = reader.option("pathGlobFilter", pattern).parquet(*folders)
            if sorted(map(_decoded, rows.inputFiles())) == sorted(map(_decoded, paths)):
                return rows
        except PySparkException:
            pass  # what is wrong is said below, of the file that it is about
    with changed_setting(spark, _MANY_PATHS, str(len(paths) + 1)):
        rows = reader.parquet(*paths)
        # Connect looks for the files when it is first asked about them.
        _ = rows.columns
    return rows


@contextmanager
def changed_setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """The session with another value of a setting.

    Threads that change one setting at the same time share the change: the last to leave puts back what was before all.
    """
    key = (id(spark), name)
    with _CHANGING:
        before, users = _CHANGED.get(key) or (spark.conf.get(name, None), 0)
        spark.conf.set(name, value)
        _CHANGED[key] = (before, users + 1)
    try:
        yield
    finally:
        with _CHANGING:
            before, users = _CHANGED.pop(key)
            if users > 1:
                _CHANGED[key] = (before, users - 1)
            elif before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, before)


def _decoded(path: str) -> str:
    """One spelling of a path, whether Spark escaped it or not."""
    path = re.sub(r"^([a-z0-9+.-]+):/+(?=[^/])", r"\1:/", path)
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)) if int(m[1], 16) < 128 else m[0], path)


def schemes_of(spark: SparkSession) -> dict[str, str]:
    """Where Spark may read itself: schemes and what Spark calls them."""
    text = spark.conf.get(SCHEMES, "file") or ""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    return {ours: theirs or ours for ours, _, theirs in pairs}


def _for_spark(schemes: Mapping[str, str], path: str) -> str:
    """A path as Spark takes it, and as its column `_metadata.file_path` gives it."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return "file:" + path
    if scheme == "file":
        return "file:/" + rest.lstrip("/")
    return schemes.get(scheme, scheme) + ":" + rest


def place_for_spark(spark: SparkSession, path: str) -> str | None:
    """A path as Spark takes it; None if Spark is not said to read from there."""
    scheme = path.partition(":")[0] if ":" in path.partition("/")[0] else "file"
    schemes = schemes_of(spark)
    return _for_spark(schemes, path) if scheme in schemes else None


def _count(spark: SparkSession, name: str, default: int) -> int:
    text = spark.conf.get(name, str(default)) or ""
    if not text.isdigit():
        raise InvalidInputError(f"setting {name} must be a number, not '{text}'")
    return int(text)


# ---------------------------------------------------------------- deleted rows


def spellings(schemes: Mapping[str, str], path: str) -> list[str]:
    """How Spark may give a path, first as it takes it: some versions escape what a URI can't hold."""
    path = _for_spark(schemes, path)
    escaped = re.sub(r"[% \"<>^`|]", lambda m: f"%{ord(m[0]):02X}", path)
    return [path] if escaped == path else [path, escaped]


def _without_deleted(
    spark: SparkSession, dealt: Dealt, rows: DataFrame, columns: Sequence[str | Column], files: Sequence[File]
) -> DataFrame:
    """Columns of the rows that are not deleted: of each 64 rows of a file, a mask tells which ones are.

    File and place of the 64 rows are in one long. Spark computes the file's number from its path, and may spell that in
    several ways.
    """
    numbers = PathNumbers(path for file in files for path in file.spellings)
    most = max(len(file.spellings) for file in files)
    numbered = [(file.number, file.spellings) for file in files if file.number is not None]
    deleted = [
        _renumbered(dealt.deleted, {number: numbers.by_path[paths[i]] for number, paths in numbered if i < len(paths)})
        for i in range(most)
    ]
    # Two steps, so that the path is hashed once: Spark computes again what it can put in place of a column.
    places = [
        f"{numbers.of('_metadata.file_path')} as {_FILE}",
        f"_metadata.file_path as {_PATH}",
        f"_metadata.row_index as {_POSITION}",
    ]
    word = f"shiftleft(cast({numbers.checked(_FILE, _PATH)} as bigint), {_WORD_BITS}) | shiftright({_POSITION}, 6)"
    entries = pa.concat_tables(deleted)
    if pc.count_distinct(entries[_WORD]).as_py() != len(entries):
        raise InternalError("rows of two files are deleted under one number")
    rows = _selected(spark, rows, [*columns, *places])
    rows = rows.selectExpr("*", f"{word} as {_WORD}", f"cast({_POSITION} & 63L as int) as {_BIT}")
    rows = rows.join(f.broadcast(spark.createDataFrame(entries)), _WORD, "left")
    return rows.where(f"{_MASK} is null or (shiftright({_MASK}, {_BIT}) & 1L) = 0L")


def _renumbered(deleted: pa.Table, numbers: Mapping[int, int]) -> pa.Table:
    """Deleted rows with other numbers of files; those of other files go."""
    by_number = pa.array([numbers.get(i) for i in range(max(numbers) + 1)], pa.int64())
    old = pc.shift_right(deleted.column("word"), _WORD_BITS)
    known = pc.less(old, len(by_number))
    new = by_number.take(old.filter(known))
    place = pc.bit_wise_and(deleted.column("word").filter(known), (1 << _WORD_BITS) - 1)
    words = pc.bit_wise_or(pc.shift_left(new, _WORD_BITS), place)
    renumbered = pa.table({_WORD: words, _MASK: deleted.column("mask").filter(known)})
    return renumbered.filter(pc.is_valid(words))


# ---------------------------------------------------------------- the filter


def condition(filter: Any) -> Column:
    """A filter of the core as Spark's."""
    if isinstance(filter, bool):
        return f.lit(filter)
    op = filter["op"]
    if op in ("and", "or"):
        parts = [condition(part) for part in filter["parts"]]
        return reduce(lambda a, b: a & b if op == "and" else a | b, parts)
    top, *inner = filter["path"]
    column = reduce(lambda c, name: c.getField(name), inner, f.col(quoted(top)))
    if any(str(value).startswith(_SHORT_MONTH) for value in filter["values"]):
        # What Spark can't see through it does not push down.
        column = f.when(column.isNotNull(), column)
    elif filter["op"] in ("in", "not-in") and not inner and (text := _in_sql(top, filter)) is not None:
        return f.expr(text)
    values = [_literal(value, filter["type"]) for value in filter["values"]]
    return _asked(op, column, values, filter["type"] in ("float", "double"))


def _in_sql(name: str, filter: Any) -> str | None:
    """A list of values as SQL, if that says the same under any setting: one message in place of some for each value."""
    values = [_sql_literal(value, filter["type"]) for value in filter["values"]]
    if None in values or "${" in name:
        return None
    return f"{quoted(name)} {'not in' if filter['op'] == 'not-in' else 'in'} ({', '.join(map(str, values))})"


def _sql_literal(value: Any, type_: str) -> str | None:
    if type_ in ("int", "long"):
        return f"{int(value)}{'L' if type_ == 'long' else ''}"
    # Years have four digits here. Java's dates, in which Python's would be sent, lack days of 1582.
    if type_ == "date":
        return f"date'{value}'"
    return f"'{value}'" if type_ == "string" and _PLAIN_TEXT.fullmatch(value) else None


def _asked(op: str, column: Column, values: list[Column], floats: bool) -> Column:
    if op in ("is-null", "not-null"):
        return column.isNull() if op == "is-null" else column.isNotNull()
    if op in ("is-nan", "not-nan"):
        nan = f.coalesce(f.isnan(column), f.lit(False))
        return nan if op == "is-nan" else ~nan
    if op in ("in", "not-in"):
        # Sets of floats tell zeros apart, comparing does not.
        found = reduce(lambda a, b: a | b, [column == value for value in values]) if floats else column.isin(*values)
        return found if op == "in" else ~found
    value = values[0]
    if op in ("starts-with", "not-starts-with"):
        return column.startswith(value) if op == "starts-with" else ~column.startswith(value)
    compare = {"eq": "__eq__", "not-eq": "__ne__", "lt": "__lt__", "lt-eq": "__le__", "gt": "__gt__", "gt-eq": "__ge__"}
    result: Column = getattr(column, compare[op])(value)
    return result


def _literal(value: Any, type_: str) -> Column:
    if (text := _sql_literal(value, type_)) is not None:
        return f.expr(text)
    if type_ in ("boolean", "string"):
        return f.lit(value)
    if type_ in ("float", "double"):
        return f.lit(float(value)).cast(type_)
    if type_.startswith("decimal"):
        return f.lit(decimal.Decimal(value)).cast(type_.replace(" ", ""))
    if type_ in ("timestamp", "timestamptz"):
        return f.lit(value).cast("timestamp_ntz" if type_ == "timestamp" else "timestamp")
    return f.lit(bytes.fromhex(value))
