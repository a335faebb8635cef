"""COPY INTO: loads files of CSV, JSON or Parquet into a table, and writes rows into such files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.queries import run
from frazil.spark.sql.session import Session, Target
from frazil.spark.sql.writes import commit_options
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
_FILE = "frazil file"
_LOADED = (
    "file_name string, status string, rows_loaded bigint, rows_parsed bigint, errors_seen bigint, first_error string"
)
_WRITTEN = "output_path string, file_count int, rows_written bigint"


@dataclass(frozen=True)
class _SourceFile:
    """A file to load: its path as Hadoop writes it, its size in bytes, and when it was changed."""

    path: str
    size: int
    changed: object

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


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
    found = {known[key]: values[0] for key, values in given.items() if key in known}
    return {key: value.lower() if key in ("multiLine", "header") else value for key, value in found.items()}


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
    known = set() if node.force.lower() == "true" else _known(target.table)
    chosen = [file for file in files if (file.path, file.size, file.changed) not in known]
    skipped = [(file.name, "SKIPPED", 0, 0, 0, None) for file in files if file not in chosen]
    if not chosen:
        return session.rows(_LOADED, skipped)
    rows = _typed(_read(session, kind, options, given, chosen, names), target.table, kind, given, names)
    counts = _load(rows, target, session)
    target.table.refresh()
    target.table.maintain.record_loads(
        [(file.path, file.size, file.changed, counts.get(file.name, 0)) for file in chosen]  # type: ignore[misc]
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
    """The files directly in a folder whose names match a pattern, or the file of the path."""
    found = session.spark.read.format("binaryFile").load(path).select("path", "length", "modificationTime")
    rows = found.toArrow().to_pylist()
    files = [_SourceFile(row["path"], row["length"], row["modificationTime"]) for row in rows]
    # Spark also lists folders such as `a=1`.
    last = path.rstrip("/").rsplit("/", 1)[-1]
    files = [file for file in files if last in file.path.rsplit("/", 2)[-2:]]
    return sorted(
        (file for file in files if pattern is None or re.search(pattern, file.name)), key=lambda file: file.path
    )


def _known(table: Table) -> set[tuple[str, int, object]]:
    """The path, size and time of the files that were loaded before."""
    rows = table.inspect.loads().to_pylist()
    return {(row["file_path"], row["file_size_in_bytes"], row["last_modified"]) for row in rows}


def _read(
    session: Session,
    kind: str,
    options: Mapping[str, str],
    given: Mapping[str, tuple[str, ...]],
    files: list[_SourceFile],
    names: list[str],
) -> DataFrame:
    """The rows of files: texts for CSV and JSON, with the name of the file of each."""
    reader = session.spark.read.options(**options)
    paths = [file.path for file in files]
    if kind == "PARQUET":
        rows = reader.parquet(*paths)
    else:
        texts = st.StructType([st.StructField(name, st.StringType()) for name in names])
        reader = reader.option("mode", "FAILFAST").schema(texts)
        if kind == "CSV":
            # The names in the header mean nothing: columns are in the table's order.
            rows = reader.option("enforceSchema", True).csv(paths)
        else:
            rows = reader.format(kind.lower()).load(paths)
    return rows.withColumn(_FILE, f.col("_metadata.file_name"))


def _typed(
    rows: DataFrame, table: Table, kind: str, given: Mapping[str, tuple[str, ...]], names: list[str]
) -> DataFrame:
    """The rows in the types of the table. A value that does not fit fails when Spark runs the query."""
    types = {field.name: field.dataType for field in spark_schema(table.schema)}
    have = {name.lower(): name for name in rows.columns}
    chosen = []
    for name in names:
        if name.lower() not in have:
            chosen.append(f.lit(None).cast(types[name]).alias(name))
            continue
        value = f.col(quoted(have[name.lower()]))
        if kind != "PARQUET":
            nulls = [
                *given.get("NULL_IF", ()),
                *([""] if given.get("EMPTY_FIELD_AS_NULL", ("",))[0].lower() == "true" else []),
            ]
            value = f.when(~value.isin(nulls), value) if nulls else value
        cast = value.try_cast(types[name])
        message = f.concat(f.lit(f"column '{name}' can't have the value "), value.cast("string"))
        fits = value.isNull() | cast.isNotNull()
        chosen.append(f.when(fits, cast).otherwise(f.raise_error(message).cast(types[name])).alias(name))
    return rows.select(*chosen, quoted(_FILE))


def _load(rows: DataFrame, target: Target, session: Session) -> dict[str, int]:
    """Appends the rows. Returns the number of rows of each file."""
    kept = rows.cache()
    try:
        counted = kept.groupBy(quoted(_FILE)).count().toArrow().to_pylist()
        append(kept.drop(_FILE), target.table, **commit_options(session, target))
        return {row[_FILE]: row["count"] for row in counted}
    finally:
        kept.unpersist()


# ---------------------------------------------------------------- rows into files


def copy_into_files(session: Session, node: nodes.CopyIntoFiles, _: str) -> DataFrame:
    """COPY INTO a folder: the rows of a table or query."""
    kind, given = _format(node.options)
    options = _of_spark(kind, given, _WRITE[kind])
    rows = run(session, node.query)
    count = rows.count()
    mode = "overwrite" if node.overwrite.lower() == "true" else "errorifexists"
    rows.write.options(**options).mode(mode).format(kind.lower()).save(node.path)
    files = session.spark.read.format("binaryFile").load(node.path).select("path").toArrow().to_pylist()
    written = [row for row in files if row["path"].rsplit("/", 1)[-1].startswith("part-")]
    return session.rows(_WRITTEN, [(node.path, len(written), count)])
