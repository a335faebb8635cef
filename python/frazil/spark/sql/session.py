"""What a statement knows of its surroundings: Spark, catalogs, the current namespace and parameters; and its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from frazil.capabilities import TABLE_FORMATS
from frazil.catalog import Catalog
from frazil.engines import Engine, Planning
from frazil.exceptions import InvalidInputError, NotFoundError
from frazil.results import LastCommit
from frazil.scan import Scan
from frazil.spark.catalogs import table_of
from frazil.spark.sql.grammar.tokens import Cursor, Name, shown
from frazil.spark.sql.known_catalogs import KnownCatalog, known_catalogs
from frazil.spark.tables import known_views
from frazil.spark.types import sent_schema
from frazil.table import Table, open_table

__all__ = [
    "BY_LOCATION",
    "CURRENT",
    "Given",
    "Place",
    "Session",
    "Target",
    "branch_of",
    "condition_of",
    "dotted",
    "renamed",
    "unknown_catalogs",
]

CURRENT = "spark.frazil.sql.current"
"""Spark setting: the current catalog and namespace, which USE sets."""

Given = Table | Scan | str
"""A table that is given by a name of its own."""

# A catalog, a namespace and a table.
_FULL_NAME = 3
_COMMITTED = (
    "snapshot_id bigint, operation string, rows_added bigint, rows_deleted bigint, rows_updated bigint, "
    "files_added bigint, files_removed bigint, delete_files_added bigint, snapshots int"
)

BY_LOCATION = (*TABLE_FORMATS, "frazil")
"""What may stand before a location in quotes."""


def dotted(parts: Sequence[str]) -> str:
    """The identifier of a catalog's table or namespace.

    Raises:
        InvalidInputError: A part has a dot in it.
    """
    wrong = [part for part in parts if "." in part]
    if wrong:
        raise InvalidInputError(
            f"name '{wrong[0]}' has a dot in it", hint="Names of tables and namespaces can't have dots"
        )
    return ".".join(parts)


@dataclass(frozen=True)
class Place:
    """Where a name belongs.

    Attributes:
        known: The catalog; None for a table that was given or is named by its location.
        parts: The name in the catalog.
        given: The table that was given.
        is_short: Whether the name has no catalog of its own, so that it belongs to the current one.
    """

    known: KnownCatalog | None
    parts: Name
    given: Given | None = None
    is_short: bool = False

    @property
    def catalog(self) -> Catalog:
        """The catalog.

        Raises:
            InvalidInputError: The table belongs to no catalog.
        """
        if self.known is None:
            raise InvalidInputError(
                f"table {shown(self.parts)} has no catalog here",
                hint="Name it with its catalog, and give the catalog by catalogs= or by settings",
            )
        return self.known.catalog

    @property
    def identifier(self) -> str:
        """The name in the catalog, with dots."""
        return dotted(self.parts)


@dataclass(frozen=True)
class Target:
    """A table that a statement changes, with the branch that its name says."""

    place: Place
    table: Table
    branch: str | None = None


@dataclass
class Session:
    """The surroundings of one statement."""

    spark: SparkSession
    tables: Mapping[str, Given]
    given_catalogs: Mapping[str, Catalog | Mapping[str, object]] | None = None
    args: Any = None
    planning: Planning = "auto"
    engine: Engine = "auto"
    within: Name = field(default=())
    job_id: str | None = None
    snapshot_properties: Mapping[str, object] | None = None

    @cached_property
    def catalogs(self) -> dict[str, KnownCatalog]:
        """The catalogs by name."""
        return known_catalogs(self.spark, self.given_catalogs)

    @cached_property
    def views(self) -> dict[str, Table]:
        """The newest versions of tables that have temporary views."""
        return known_views(self.spark)

    @property
    def current(self) -> Name:
        """The current catalog of Frazil's and its namespace. It is empty if Spark's own catalog is current."""
        if self.within:
            return self.within
        text = self.spark.conf.get(CURRENT, None)
        if text:
            return tuple(text.split("."))
        name = self.spark.conf.get("spark.sql.defaultCatalog", None)
        known = self.catalogs.get(name or "")
        return () if known is None else (known.name, *known.namespace)

    # ------------------------------------------------------------ names

    def place(self, name: Name) -> Place | None:
        """Where a name belongs, or None if it is Spark's."""
        head, *rest = name[0].split("$")
        given = self._given(head)
        if given is not None:
            return Place(None, (head, *rest, *name[1:]), given)
        if len(name) == 1 and name[0].lower() in self.views:
            return Place(None, name, self.views[name[0].lower()])
        if len(name) == 2 and name[0].lower() in BY_LOCATION and "/" in name[1]:
            return Place(None, name[1:], name[1])
        if name[0] in self.catalogs and len(name) > 1:
            return Place(self.catalogs[name[0]], name[1:])
        return self._in_current(name)

    def _in_current(self, name: Name) -> Place | None:
        current = self.current
        if not current:
            known = self.catalogs.get("spark_catalog")
            if known is None or not known.shared:
                return None
            here = name if len(name) > 1 else (self.spark.catalog.currentDatabase(), *name)
            return Place(known, here)
        if current[0] not in self.catalogs:
            return None
        known = self.catalogs[current[0]]
        if len(name) == 1:
            return None if self.is_temporary(name[0]) else Place(known, (*current[1:], *name))
        return None if name[0] in ("spark_catalog", "global_temp") else Place(known, name, is_short=True)

    def _given(self, name: str) -> Given | None:
        if name in self.tables:
            return self.tables[name]
        same = [one for one in self.tables if one.lower() == name.lower()]
        return self.tables[same[0]] if same else None

    def is_temporary(self, name: str) -> bool:
        """Whether Spark has a temporary view of this name."""
        try:
            return self.spark.catalog.getTable(name).isTemporary
        except Exception:  # also of Java: the class of Spark's default catalog is not there without its jar
            return False

    def namespace_place(self, name: Name) -> Place | None:
        """Where the name of a namespace belongs."""
        if name and name[0] in self.catalogs:
            return Place(self.catalogs[name[0]], name[1:])
        current = self.current
        if not current or current[0] not in self.catalogs:
            return None
        return Place(self.catalogs[current[0]], name or current[1:])

    # ------------------------------------------------------------ tables

    def open(self, place: Place) -> Table:
        """The table of a place at its newest version.

        Raises:
            NotFoundError: It does not exist.
        """
        if isinstance(place.given, Table):
            return Table(place.given._core).refresh()
        if isinstance(place.given, Scan):
            raise InvalidInputError(
                f"{shown(place.parts)} is a scan", hint="Statements that change a table need the table, not a scan"
            )
        if place.given is not None:
            return open_table(place.given) if "/" in str(place.given) else table_of(self.spark, place.given)
        try:
            return place.catalog.load_table(place.identifier)
        except NotFoundError as error:
            if not place.is_short or len(place.parts) < _FULL_NAME:
                raise
            raise NotFoundError(
                str(error.args[0]),
                {**error.context, "catalogs": self.known_names},
                f"'{place.parts[0]}' is no catalog that is known. Names of tables are catalog.namespace.table",
            ) from error

    def target(self, name: Name) -> Target | None:
        """The table that a statement changes, or None if it is Spark's. The name may end in `branch_…`.

        Raises:
            NotFoundError: The table is in a catalog of Frazil's, but does not exist.
        """
        place = self.place(name)
        if place is None:
            self._refuse_job(name)
            return None
        base, branch = branch_of(place, self.current)
        try:
            return Target(base, self.open(base), branch)
        except NotFoundError:
            if branch is not None and base.parts != place.parts:
                return Target(place, self.open(place))
            if place.known is not None and place.known.shared:
                self._refuse_job(name)
                return None
            raise

    def _refuse_job(self, name: Name) -> None:
        """Refuses the name of a job for a table that can't record it."""
        if self.job_id is not None or self.snapshot_properties:
            raise InvalidInputError(
                f"{shown(name)} is no table of Frazil's, so it can't record job_id and snapshot_properties",
                {"catalogs": self.known_names},
                "Name the table as catalog.namespace.table",
            )

    def no_such_catalog(self, name: str) -> NotFoundError:
        """The error for a catalog that is not known."""
        return NotFoundError(
            f"catalog '{name}' is not known",
            {"catalog": name, "catalogs": self.known_names},
            f"Give it by catalogs={{'{name}': frazil.catalog(…)}}, or set spark.frazil.catalog.{name}.type and its "
            "other properties. Names of tables are catalog.namespace.table",
        )

    @property
    def known_names(self) -> str:
        """The names of the catalogs, for messages."""
        return ", ".join(sorted(self.catalogs)) or "none"

    # ------------------------------------------------------------ answers

    def nothing(self) -> DataFrame:
        """The result of a statement that has none."""
        return self.spark.createDataFrame([], StructType([]))

    def done(self, commit: LastCommit) -> DataFrame:
        """What the commit of a statement did, in one row. Without a snapshot, its id is null and the counts are 0."""
        return self.rows(_COMMITTED, [tuple(commit)])

    def rows(self, columns: str, rows: Sequence[Sequence[Any]]) -> DataFrame:
        """Rows as a result."""
        struct: Any = StructType.fromDDL(columns)
        values = list(zip(*rows, strict=True)) or [()] * len(struct)
        fields = sent_schema(struct)
        arrays = [pa.array(column, field.type) for column, field in zip(values, fields, strict=True)]
        frame: DataFrame = self.spark.createDataFrame(pa.Table.from_arrays(arrays, schema=fields), struct)
        return frame


def branch_of(place: Place, current: Name) -> tuple[Place, str | None]:
    """The place without the branch that its name ends with, and the branch."""
    last = place.parts[-1]
    if "$branch_" in last:
        table, _, branch = last.partition("$branch_")
        return replace(place, parts=(*place.parts[:-1], table)), branch
    fewest = 1 if place.given is not None else 2
    if not last.lower().startswith("branch_") or len(place.parts) < 2:
        return place, None
    branch = last[len("branch_") :]
    if len(place.parts) > fewest:
        return replace(place, parts=place.parts[:-1]), branch
    if place.known is not None and current[:1] == (place.known.name,):
        return replace(place, parts=(*current[1:], place.parts[0])), branch
    return place, None


def renamed(place: Place, to: tuple[str, ...]) -> str:
    """The identifier of a new name in the catalog of an old one."""
    if place.known is not None and len(to) > 1 and to[0] == place.known.name:
        to = to[1:]
    return dotted(to if len(to) > 1 else (*place.parts[:-1], *to))


# ---------------------------------------------------------------- catalogs that nobody knows

# Spark takes such a name for a namespace of its own catalog. Its error speaks of namespaces, and lists no catalogs.
_SPARK_CATALOG = "spark_catalog"
# The parameter of Spark's error that has the name, by the error's condition.
_NAMES = {
    "REQUIRES_SINGLE_PART_NAMESPACE": "namespace",
    "SCHEMA_NOT_FOUND": "schemaName",
    "_LEGACY_ERROR_TEMP_1126": "catalog",
}


@contextmanager
def unknown_catalogs(session: Session) -> Iterator[None]:
    """Turns Spark's error about a catalog that nobody knows into one that lists the known ones.

    Raises:
        NotFoundError: The statement names such a catalog.
    """
    try:
        yield
    except PySparkException as error:
        name = _unknown_name(session, error)
        if name is None:
            raise
        raise session.no_such_catalog(name) from error


def condition_of(error: Exception) -> str | None:
    """The name of Spark's error."""
    return error.getCondition() if isinstance(error, PySparkException) else None


def _unknown_name(session: Session, error: PySparkException) -> str | None:
    parameter = _NAMES.get(condition_of(error) or "")
    text = (error.getMessageParameters() or {}).get(parameter or "")
    if not text:
        return None
    name = Cursor(text).name()
    if name[0] == _SPARK_CATALOG:
        name = name[1:]
        # One part is more likely a schema of Spark's, unless there are other catalogs.
        if len(name) < 2 and not session.catalogs:
            return None
    return name[0] if name and _is_unknown(session, name) else None


def _is_unknown(session: Session, name: Name) -> bool:
    return name[0] not in session.catalogs and session.spark.conf.get(f"spark.sql.catalog.{name[0]}", None) is None
