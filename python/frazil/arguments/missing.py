"""Hints for values that do not exist: versions, columns, options, types of catalogs, tables, damaged files.

The core says what failed and where. These hints add what to write instead, in the words of Python. Nothing here runs
before a mistake is made.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from frazil.arguments.hints import MODERN_MILLISECONDS
from frazil.capabilities import TABLE_FORMATS
from frazil.exceptions import CorruptTableError, FrazilError, InvalidInputError, NotFoundError, UnsupportedError

__all__ = ["add_hint"]

_MOST_FOLDERS = 20
"""The most folders that are looked into, of a place and below it."""

_MOST_ENTRIES = 1000
"""The most entries of a folder that are listed."""

_Found: TypeAlias = "re.Match[str]"
_Hint: TypeAlias = "Callable[[FrazilError, _Found], str | None]"


def add_hint(error: FrazilError, args: tuple[Any, ...] = (), selects: bool = False) -> None:
    """Gives an error a hint about the value that is wrong, if there is one for it.

    It never raises: a failed search for a hint must not replace the error.

    Args:
        error: The error.
        args: The arguments of the call that raised it.
        selects: Whether the call takes the columns to read.
    """
    with contextlib.suppress(Exception):
        _find_hint(error, args, selects)


def _find_hint(error: FrazilError, args: tuple[Any, ...], selects: bool) -> None:
    text = str(error)
    if (branch := _branch_for_tag(text, args)) is not None:
        error._add_hint(branch, False)
        return
    for kind, pattern, hint_of, replaces in (*_RULES_OF_SELECT, *_RULES) if selects else _RULES:
        if not isinstance(error, kind) or (found := re.match(pattern, text, re.DOTALL)) is None:
            continue
        hint = hint_of(error, found)
        if hint is not None and hint not in text:
            error._add_hint(hint, replaces)
            return


def _branch_for_tag(text: str, args: tuple[Any, ...]) -> str | None:
    """The answer to a branch where a tag is wanted."""
    found = re.match(r"the table has no tag '([^']*)'", text)
    if found is None or not args:
        return None
    try:
        is_branch = found[1] in getattr(args[0], "refs", ())
    except FrazilError:
        return None
    hint = f"'{found[1]}' is a branch. Give a snapshot's id, a tag or a time; scan(since=…, at=…) also takes branches"
    return hint if is_branch and hint not in text else None


def _of_version(_: FrazilError, found: _Found) -> str | None:
    """The answer to a text that is no branch or tag."""
    name = found[1]
    if re.fullmatch(r"[0-9]{1,19}", name):
        return f"The id of a snapshot is an integer: write {name} without quotes"
    if re.fullmatch(r"[^^]*\^+", name):
        return "Only the command line knows ^. Here the version before the newest is table.snapshot.parent_id"
    try:
        dt.datetime.fromisoformat(name.replace("Z", "+00:00"))
    except ValueError:
        return None
    return f"A point in time is a datetime: datetime.fromisoformat('{name}'), in UTC without a zone"


def _of_time(_: FrazilError, found: _Found) -> str | None:
    """The answer to milliseconds since 1970 in place of a snapshot."""
    if int(found[1]) not in MODERN_MILLISECONDS:
        return None
    return f"For a time, write datetime.fromtimestamp({found[1]} / 1000, timezone.utc)"


def _of_selected(_: FrazilError, found: _Found) -> str | None:
    """The answer to what SQL has in place of a column to read."""
    name = found[1].strip()
    if name == "*":
        return "Leave select out to read all columns"
    if re.search(r"\s+as\s+", name, re.IGNORECASE):
        return "Columns keep their names here. Rename them after reading"
    return None


def _of_column(_: FrazilError, found: _Found) -> str | None:
    """The answer to several columns in one text."""
    name = found[1].strip()
    if "," in name:
        names = [part.strip() for part in name.split(",") if part.strip()]
        return f"Give a list of names: {names}"
    return None


_SCAN_OPTIONS = {
    "branch": "A branch is a version: scan(at='name')",
    **dict.fromkeys(("tag", "versionasof", "version-as-of"), "A tag is a version: scan(at='name')"),
    **dict.fromkeys(("snapshot-id", "snapshot_id"), "A snapshot is a version: scan(at=id)"),
    **dict.fromkeys(
        ("as-of-timestamp", "timestampasof", "timestamp-as-of"), "A point in time is a version: scan(at=datetime(…))"
    ),
    **dict.fromkeys(
        ("start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp"),
        "A range of versions is scan(since=…, at=…) or changes(since=…, at=…)",
    ),
}
"""Options of Spark, Flink and Paimon that are arguments here, and these arguments."""


def _of_scan_option(_: FrazilError, found: _Found) -> str | None:
    return _SCAN_OPTIONS.get(found[1].lower())


_FOLDER = "A catalog of folders has tables of all formats: catalog(name, warehouse='/lake')"
_SQL = "The database of a SQL catalog is named by its uri: catalog(name, type='sql', uri='sqlite:////lake/catalog.db')"
_SERVERS = (
    "apache-polaris polaris nessie lakekeeper unity unitycatalog snowflake gravitino biglake onelake r2 "
    "s3-tables s3tables"
)
_CATALOG_TYPES = {
    **dict.fromkeys((*TABLE_FORMATS, "folder", "folders", "file", "files", "fs", "local", "directory"), _FOLDER),
    **dict.fromkeys(("disk", "path", "warehouse", "hdfs", "s3", "gcs", "gs", "azure", "abfs", "minio"), _FOLDER),
    **dict.fromkeys(("sqlite", "sqlite3", "sqlalchemy", "database", "db"), _SQL),
    **dict.fromkeys(("postgres", "postgresql", "pg"), _SQL.replace("sqlite:////lake/catalog.db", "postgresql://…")),
    **dict.fromkeys(("mysql", "mariadb", "duckdb", "oracle"), "Databases of SQL catalogs are SQLite and PostgreSQL"),
    **dict.fromkeys(_SERVERS.split(), "This server speaks Iceberg's REST protocol: catalog(name, type='rest', uri=…)"),
    **dict.fromkeys(("http", "https", "server"), "A server is type='rest' with its uri="),
    **dict.fromkeys(("thrift", "metastore", "hms", "hive-metastore"), "A Hive Metastore is type='hive' with its uri="),
    **dict.fromkeys(
        ("spark", "flink", "trino", "java"),
        "Use the type of catalog that the engine is set up with: docs/howto/share/java.md has both settings",
    ),
    **dict.fromkeys(("delta", "hudi", "lance", "ducklake"), "Tables are those of Apache Iceberg and Apache Paimon"),
}
"""Words that are no types of catalogs, and what to write."""


def _of_catalog_type(_: FrazilError, found: _Found) -> str | None:
    return _CATALOG_TYPES.get(found[1].lower().replace("_", "-"))


def _of_place(error: FrazilError, _: _Found) -> str | None:
    """The answer to a folder that has no table, or to the name of a metadata table."""
    name, mark, metadata = error.context.get("table", "").partition("$")
    if mark:
        return _of_metadata_table(name, metadata)
    location = error.context.get("path", "").removeprefix("file:").rstrip("/")
    if "://" in location or not location:
        return None
    return _near_place(Path(location))


def _near_place(place: Path) -> str | None:
    """The answer to a folder without a table, by what is near it. It looks at few folders: storage can be slow."""
    beside = place.parent.with_name(f"{place.parent.name}.db") / place.name if place.parent.name else place
    if beside != place and beside.is_dir():
        return f"Did you mean '{beside}'?"
    folders = _folders(place, _MOST_FOLDERS)
    for folder in folders:
        if _has_table(folder):
            return f"Its folders are tables. Name one of them, such as '{folder}'"
    left = _MOST_FOLDERS
    for folder in folders:
        tables = _folders(folder, left)
        if any(map(_has_table, tables)):
            return f"It is a warehouse: catalog(warehouse='{place}') lists its tables"
        left -= len(tables)
        if left == 0:
            break
    return None


def _folders(place: Path, most: int) -> list[Path]:
    """Some of the folders in a place, sorted. It may be any place, with any number of them."""
    if not place.is_dir():
        return []
    with os.scandir(place) as entries:
        names = [one.name for one in islice(entries, _MOST_ENTRIES) if one.is_dir()]
    return [place / name for name in sorted(names)[:most]]


def _has_table(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in ("metadata", "schema"))


def _of_metadata_table(table: str, metadata: str) -> str:
    """Where to find what Java reads as `table$name`."""
    if branch := metadata.removeprefix("branch_") if metadata.startswith("branch_") else "":
        return f"A branch is a version of its table: load_table('{table}').scan(at='{branch}')"
    if metadata in ("audit_log", "binlog"):
        return f"Changed rows are load_table('{table}').changes(since=…)"
    return f"Metadata tables are load_table('{table}').inspect"


_METADATA_TABLES = (
    *("snapshots", "history", "refs", "metadata_log_entries", "partitions", "position_deletes"),
    *("files", "data_files", "delete_files", "manifests", "entries"),
    *("all_files", "all_data_files", "all_delete_files", "all_manifests", "all_entries"),
)
"""The metadata tables, by the names that Spark has for them, too."""


def _of_table(_: FrazilError, found: _Found) -> str | None:
    """The answer to the name of a metadata table as in Spark: `db.t.snapshots`."""
    table, __, metadata = found[1].rpartition(".")
    if metadata not in _METADATA_TABLES or "." not in table:
        return None
    return f"For a metadata table, write load_table('{table}').inspect.{metadata}()"


def _of_damaged_snapshot(error: FrazilError, _: _Found) -> str | None:
    """How to go on without a snapshot that is damaged."""
    number = re.search(r"/snapshot/snapshot-([0-9]+)$", error.context.get("path", ""))
    if number is None:
        return None
    name = f"snapshot-{number[1]}"
    return (
        f"Restore the file from a copy. If it is the newest one, its commit can be given up: move {name} and the file "
        "LATEST, if there is one, out of the folder, and examine the table by doctor()"
    )


def _of_damaged_schema(_: FrazilError, __: _Found) -> str:
    return "Restore the file from a copy. doctor.examine() finds what else is damaged"


def _of_damaged_metadata(error: FrazilError, _: _Found) -> str | None:
    if not error.context.get("path", "").endswith(".metadata.json"):
        return None
    return "doctor.restore() writes a new metadata file from what is left"


def _of_positions(_: FrazilError, __: _Found) -> str:
    return "Delete the rows by a filter, delete(where), or by their keys, delete_keys(rows)"


def _of_merge(error: FrazilError, _: _Found) -> str:
    name = error.context.get("branch", "name")
    return f"A branch has the snapshots from its tag on. Append its new rows: append(scan(since='tag', at='{name}'))"


_Rule: TypeAlias = tuple[type[FrazilError], str, _Hint, bool]

_RULES_OF_SELECT: tuple[_Rule, ...] = ((InvalidInputError, r"there is no column '([^']*)'", _of_selected, True),)
"""Rules for calls that take the columns to read."""

_RULES: tuple[_Rule, ...] = (
    (NotFoundError, r"(?:there is|the table has) no snapshot ([0-9]+)\b", _of_time, True),
    (NotFoundError, r"the table has no (?:branch or tag|branch|tag) '([^']*)'", _of_version, False),
    (InvalidInputError, r"there is no column '([^']*)'", _of_column, True),
    (InvalidInputError, r"there is no scan option '([^']*)'", _of_scan_option, True),
    (UnsupportedError, r"catalogs of type '([^']*)' are not supported", _of_catalog_type, False),
    (NotFoundError, r"there is no table \(", _of_place, False),
    (NotFoundError, r"the table '([^']*)' does not exist", _of_table, False),
    (CorruptTableError, r"the snapshot is not JSON", _of_damaged_snapshot, False),
    (CorruptTableError, r"the schema is not JSON", _of_damaged_schema, False),
    (CorruptTableError, r"the metadata file ", _of_damaged_metadata, False),
    (NotFoundError, r"cannot open the file", _of_damaged_metadata, False),
    (InvalidInputError, r"branches can be merged only with all of their snapshots", _of_merge, False),
    (UnsupportedError, r"this change of rows: not with tables of ", _of_positions, False),
)
"""The class of an error, the beginning of its text, what gives the hint, and whether that replaces the core's hint."""
