"""COPY INTO: loads files of CSV, JSON or Parquet into a table, and writes rows into such files."""

from __future__ import annotations

import datetime as dt
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil import arguments
from frazil.exceptions import FrazilError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.spark.columns import quoted
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.statements import parse
from frazil.spark.sql.names.branches import commit_options
from frazil.spark.sql.queries import run
from frazil.spark.sql.session import Session, Target
from frazil.spark.types import spark_schema
from frazil.spark.write import append
from frazil.table import Table

__all__ = ["copy_into_files", "copy_into_table"]

_FORMATS = ("CSV", "JSON", "PARQUET")
_READ = {
    "CSV": {"FIELD_DELIMITER": "sep", "QUOTE": "quote", "ESCAPE": "escape", "COMPRESSION": "compression"},
    "JSON": {"MULTI_LINE": "multiLine", "COMPRESSION": "compression"},
    "PARQUET": {"COMPRESSION": "compression"},
}
_READ_MORE = {"CSV": ("SKIP_HEADER", "NULL_IF", "EMPTY_FIELD_AS_NULL"), "JSON": ("NULL_IF", "EMPTY_FIELD_AS_NULL")}
_WRITE = {
    "CSV": {**_READ["CSV"], "HEADER": "header"},
    "JSON": {
        "COMPRESSION": "compression",
        "DATE_FORMAT": "dateFormat",
        "TIMESTAMP_FORMAT": "timestampFormat",
    },
    "PARQUET": {"COMPRESSION": "compression"},
}
_FLAGS = ("MULTI_LINE", "HEADER")
_FILE = "frazil file"
# Spark takes paths as they are, without patterns in them.
_AS_IT_IS = {"__globPaths__": "false"}
# Errors of Spark, with their names.
_REASON = re.compile(r"\[([A-Z_.]+)\] (.*?)(?:\n|SQLSTATE|\Z)")
_LOADED = (
    "file_name string, status string, rows_loaded bigint, rows_parsed bigint, errors_seen bigint, first_error string"
)
_WRITTEN = "output_path string, file_count int, rows_written bigint"


@dataclass(frozen=True)
class _SourceFile:
    """A file to load.

    Attributes:
        path: Its path, as Hadoop writes it.
        size: Its size in bytes.
        changed: When it was changed. Spark does not say so of empty files, and there is nothing to load from them.
    """

    path: str
    size: int
    changed: dt.datetime | None

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def known_as(self) -> tuple[str, int, object]:
        """What the record of a load has of it."""
        return arguments.public_path(self.path), self.size, self.changed


def _format(options: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The format of FILE_FORMAT, and the other options.

    Raises:
        UnsupportedError: There is no such format.
    """
    given = dict(options)
    kind = given.pop("TYPE", ("",))[0].upper()
    if kind not in _FORMATS:
        raise UnsupportedError(f"COPY INTO can't have files of type '{kind}'", hint="TYPE = CSV, JSON or PARQUET")
    return kind, given


def _of_spark(
    kind: str, given: Mapping[str, tuple[str, ...]], known: Mapping[str, str], more: tuple[str, ...] = ()
) -> dict[str, str]:
    """Options of Spark's readers or writers.

    Raises:
        InvalidInputError: The format has no such option.
    """
    unknown = [key for key in given if key not in known and key not in more]
    if unknown:
        raise InvalidInputError(
            f"FILE_FORMAT of type {kind} has no option '{unknown[0]}'",
            hint=f"Options are {', '.join((*known, *more))}",
        )
    for name in _FLAGS:
        if name in given and name in known:
            _is_true(name, given[name][0])
    found = {known[key]: values[0] for key, values in given.items() if key in known}
    return {key: value.lower() if key in ("multiLine", "header") else value for key, value in found.items()}


def _is_true(name: str, text: str) -> bool:
    """Whether a setting is true. One that was not given is false.

    Raises:
        InvalidInputError: It is neither true nor false.
    """
    if text.lower() not in ("", "true", "false"):
        raise InvalidInputError(f"{name} must be TRUE or FALSE, not '{text}'")
    return text.lower() == "true"


@contextmanager
def _failing(what: str, path: str) -> Iterator[None]:
    """A block in which Spark reads or writes files. Its errors say what could not be done.

    Raises:
        InvalidInputError: Spark can't do it.
    """
    try:
        yield
    except FrazilError:
        raise
    except Exception as error:
        if not isinstance(error, PySparkException) and type(error).__name__ != "Py4JJavaError":
            raise
        text = str(error)
        # The cause comes last.
        reasons = [match[2].strip() for match in _REASON.finditer(text) if not match[1].startswith("FAILED_READ_FILE")]
        reason = reasons[-1] if reasons else text.partition("\n")[0]
        raise InvalidInputError(f"{what}: {reason[:500]}", {"path": path}) from error


# ---------------------------------------------------------------- files into a table


def copy_into_table(session: Session, node: nodes.CopyIntoTable, statement: str) -> DataFrame:
    """COPY INTO a table. Files that were loaded before are skipped, unless FORCE is true."""
    target = session.target(node.target)
    if target is None:
        return session.spark.sql(statement, session.args)
    if node.on_error and node.on_error.upper() != "ABORT_STATEMENT":
        raise UnsupportedError(
            f"ON_ERROR = {node.on_error} can't be done", hint="Leave it out: an error then loads no file"
        )
    kind, given = _format(node.options)
    options = _of_spark(kind, given, _READ[kind], _READ_MORE.get(kind, ()))
    if kind == "CSV":
        options["header"] = _header(given)
    names = _columns(target.table, node.columns)
    files = _listed(session, node.path, node.pattern)
    known = set() if _is_true("FORCE", node.force) else _known(target.table)
    chosen = [file for file in files if file.known_as not in known]
    skipped = [(file.name, "SKIPPED", 0, 0, 0, None) for file in files if file.known_as in known]
    full = [file for file in chosen if file.size]
    counts: dict[str, int] = {}
    if full:
        with _failing("the files can't be loaded", node.path):
            read = _read(session, kind, options, full, names)
            rows = _typed(read, target.table, given, names)
        counts = _load(rows, target, session, node.path)
        target.table.refresh()
        target.table.maintain.record_loads(
            [(file.path, file.size, file.changed, counts.get(file.name, 0)) for file in full if file.changed]
        )
    loaded = [(file.name, "LOADED", counts.get(file.name, 0), counts.get(file.name, 0), 0, None) for file in chosen]
    return session.rows(_LOADED, [*loaded, *skipped])


def _header(given: Mapping[str, tuple[str, ...]]) -> str:
    """Spark's option `header`.

    Raises:
        InvalidInputError: Other than one line is to be skipped.
    """
    lines = given.get("SKIP_HEADER", ("0",))[0]
    if lines not in ("0", "1"):
        raise InvalidInputError(f"SKIP_HEADER can be 0 or 1, not {lines}")
    return "true" if lines == "1" else "false"


def _columns(table: Table, listed: tuple[str, ...]) -> list[str]:
    """The columns that the files have, by the table's own names."""
    own = {name.lower(): name for name in table.schema.names}
    missing = [name for name in listed if name.lower() not in own]
    if missing:
        raise InvalidInputError(f"the table has no column '{missing[0]}'", {"column": missing[0]})
    names = [own[name.lower()] for name in listed] or list(table.schema.names)
    if len(set(names)) < len(names):
        raise InvalidInputError("a column is listed twice")
    return names


def _listed(session: Session, path: str, pattern: str | None) -> list[_SourceFile]:
    """The files directly in a folder whose names match a pattern, or the file of the path.

    Raises:
        InvalidInputError: The pattern is no regular expression, or the path has several meanings.
        NotFoundError: Nothing has this path.
    """
    try:
        wanted = re.compile(pattern or "")
    except re.error as error:
        raise InvalidInputError(f"PATTERN '{pattern}' is no regular expression: {error}") from error
    reader = session.spark.read.format("binaryFile").options(**_AS_IT_IS)
    nothing = "COPY INTO finds no folder or file"
    try:
        # Without this option, Spark takes names of folders such as `a=1` for columns.
        found = reader.option("recursiveFileLookup", "true").load(path)
    except PySparkException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        raise NotFoundError(nothing, {"path": path}, "Name a folder or a file") from error
    rows = found.select("path", "length", "modificationTime").toArrow().to_pylist()
    files = [_SourceFile(row["path"], row["length"], row["modificationTime"]) for row in rows]
    full = {_path_of(file.path) for file in files}
    names = [unquote(name) for name in found.inputFiles()]
    files += [_SourceFile(name, 0, None) for name in names if _path_of(name) not in full]
    if not files and any(sign in path for sign in "*?[{"):
        # Spark does not look whether such a folder exists.
        hint = "A path can't be a pattern: name the folder, and choose its files with PATTERN = '…'"
        raise NotFoundError(nothing, {"path": path}, hint)
    folder = _folder(path, [_path_of(file.path) for file in files])
    files = [
        file
        for file in files
        if folder in (_path_of(file.path), posixpath.dirname(_path_of(file.path))) and wanted.search(file.name)
    ]
    return sorted(files, key=lambda file: file.path)


def _path_of(location: str) -> str:
    """The path of a URI."""
    path = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?", "", location)
    return "/" + posixpath.normpath(path).lstrip("/") if path.startswith("/") else posixpath.normpath(path)


def _folder(path: str, files: list[str]) -> str:
    """The whole path of a path that may be relative, which has these files.

    Raises:
        InvalidInputError: Folders inside each other have the same name, or the path begins with a dot.
    """
    path = _path_of(path)
    if path.startswith("/"):
        return path
    # Spark resolves a relative path, and does not say how.
    tail = f"/{path}"
    found = {name for file in files for name in (file, posixpath.dirname(file)) if name.endswith(tail)}
    first = min(found, key=len, default=path)
    if path.startswith(".") or f"{tail}/" in f"{first.removesuffix(tail)}/":
        raise InvalidInputError(f"the path '{path}' can have several meanings", hint="Write the whole path")
    return first


def _known(table: Table) -> set[tuple[str, int, object]]:
    """The path, size and time of the files that were loaded before."""
    rows = table.inspect.loads().to_pylist()
    return {(row["file_path"], row["file_size_in_bytes"], row["last_modified"]) for row in rows}


def _read(
    session: Session, kind: str, options: Mapping[str, str], files: list[_SourceFile], names: list[str]
) -> DataFrame:
    """The rows of files: texts for CSV and JSON, with the name of the file of each."""
    reader = session.spark.read.options(**_AS_IT_IS)
    paths = [file.path for file in files]
    if kind == "JSON":
        return _of_json(reader, options, paths, names)
    reader = reader.options(**options)
    if kind == "PARQUET":
        rows = reader.option("mergeSchema", "true").parquet(*paths)
    else:
        texts = st.StructType([st.StructField(name, st.StringType()) for name in names])
        # The names in the header mean nothing: columns are in the table's order.
        rows = reader.option("mode", "FAILFAST").option("enforceSchema", "true").schema(texts).csv(paths)
    return rows.withColumn(_FILE, f.col("_metadata.file_name"))


def _of_json(reader: DataFrameReader, options: Mapping[str, str], paths: list[str], names: list[str]) -> DataFrame:
    """The values of JSON files as texts. Keys are matched without regard to case."""
    lines = reader.text(paths, wholetext=options.get("multiLine") == "true")
    value, strict = f.col("value"), {"mode": "FAILFAST"}
    parsed = f.when(value.rlike(r"^\s*\["), f.from_json(value, "array<map<string,string>>", strict)).otherwise(
        f.array(f.from_json(value, "map<string,string>", strict))
    )
    objects = lines.select(f.explode(parsed).alias("object"), f.col("_metadata.file_name").alias(_FILE))
    # Blank lines are no objects.
    objects = objects.where(f.col("object").isNotNull())
    wanted = [name.lower() for name in names]
    # Spark's JSON reader would only find keys that are written as the columns are.
    known = f.map_filter(f.col("object"), lambda key, _: f.lower(key).isin(wanted))
    values = objects.select(f.transform_keys(known, lambda key, _: f.lower(key)).alias("values"), f.col(quoted(_FILE)))
    return values.select(*(f.col("values")[name.lower()].alias(name) for name in names), f.col(quoted(_FILE)))


def _typed(rows: DataFrame, table: Table, given: Mapping[str, tuple[str, ...]], names: list[str]) -> DataFrame:
    """The rows in the types of the table. A value that does not fit fails when Spark runs the query."""
    types = {field.name: field.dataType for field in spark_schema(table.schema)}
    have = {field.name.lower(): field for field in rows.schema}
    nulls = [
        *given.get("NULL_IF", ()),
        *([""] if _is_true("EMPTY_FIELD_AS_NULL", given.get("EMPTY_FIELD_AS_NULL", ("",))[0]) else []),
    ]
    chosen = []
    for name in names:
        if name.lower() not in have:
            chosen.append(f.lit(None).cast(types[name]).alias(name))
            continue
        field = have[name.lower()]
        value = f.col(quoted(field.name))
        value = f.when(~value.isin(nulls), value) if nulls else value
        chosen.append(_cast(name, value, field.dataType, types[name]).alias(name))
    return rows.select(*chosen, quoted(_FILE))


def _cast(name: str, value: Column, source: st.DataType, target: st.DataType) -> Column:
    """A value in another type. One that the type does not have makes the query fail.

    Raises:
        UnsupportedError: No value of the one type is one of the other.
    """
    if source.simpleString() == target.simpleString():
        return value.cast(target)
    nested = (st.StructType, st.ArrayType, st.MapType)
    if isinstance(source, nested) or isinstance(target, nested):
        raise UnsupportedError(
            f"column '{name}' of type {target.simpleString()} can't be loaded from {source.simpleString()}",
            {"column": name},
            "Leave the column out, or load Parquet files with the types of the table",
        )
    cast = value.try_cast(target)
    kept = _text_kept(value, cast, target) if isinstance(source, st.StringType) else cast.try_cast(source) == value
    message = f.concat(f.lit(f"column '{name}' can't have the value "), value.cast("string"))
    fits = value.isNull() | (cast.isNotNull() & f.coalesce(kept, f.lit(False)))
    return f.when(fits, cast).otherwise(f.raise_error(message).cast(target))


def _text_kept(text: Column, cast: Column, target: st.DataType) -> Column:
    """Whether a value has all that its text says: Spark rounds decimals, and drops what follows a date."""
    if isinstance(target, st.DecimalType):
        digits = f.regexp_extract(text, r"\.([0-9]*?)0*\s*$", 1)
        power = text.rlike("[eE]")
        return f.when(power, cast.cast("double") == text.try_cast("double")).otherwise(f.length(digits) <= target.scale)
    if isinstance(target, st.DateType):
        return text.try_cast("timestamp_ntz") == cast.cast("timestamp_ntz")
    if isinstance(target, (st.TimestampType, st.TimestampNTZType)):
        return ~text.rlike(r"\.[0-9]{6}[0-9]*[1-9]")
    if isinstance(target, (st.FloatType, st.DoubleType)):
        return (f.abs(cast) != float("inf")) | f.lower(f.trim(text)).rlike("^[+-]?inf")
    return f.lit(True)


def _load(rows: DataFrame, target: Target, session: Session, path: str) -> dict[str, int]:
    """Appends the rows. Returns the number of rows of each file."""
    kept = rows.cache()
    try:
        with _failing("the files can't be loaded", path):
            counted = kept.groupBy(quoted(_FILE)).count().toArrow().to_pylist()
        append(kept.drop(_FILE), target.table, **commit_options(session, target))
        return {unquote(row[_FILE]): row["count"] for row in counted}
    finally:
        kept.unpersist()


# ---------------------------------------------------------------- rows into files


def copy_into_files(session: Session, node: nodes.CopyIntoFiles, _: str) -> DataFrame:
    """COPY INTO a folder: the rows of a table or query."""
    kind, given = _format(node.options)
    options = _of_spark(kind, given, _WRITE[kind])
    mode = "overwrite" if _is_true("OVERWRITE", node.overwrite) else "errorifexists"
    if not isinstance(parse(node.query), nodes.Query):
        raise InvalidInputError("COPY INTO takes a query", {"found": node.query[:100]}, "FROM (SELECT …)")
    rows = run(session, node.query)
    count = rows.count()
    raise_if_interrupted()
    rows.write.options(**options).mode(mode).format(kind.lower()).save(node.path)
    files = session.spark.read.format("binaryFile").load(node.path).select("path").toArrow().to_pylist()
    written = [row for row in files if row["path"].rsplit("/", 1)[-1].startswith("part-")]
    return session.rows(_WRITTEN, [(node.path, len(written), count)])
