"""Catalogs: names for tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from frazil import _core, arguments
from frazil.arguments import configuration
from frazil.arguments.checked import checked
from frazil.capabilities import TABLE_FORMATS
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.schema import core_schema
from frazil.table import Table

__all__ = ["Catalog", "catalog"]


@checked
class Catalog:
    """A catalog: namespaces with tables in them. `frazil.catalog` opens one.

    Namespaces nest with dots (`a.b`); a table's identifier is its namespace and name: `a.b.events`.
    """

    def __init__(self, core: _core.Catalog) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._core.name

    @property
    def properties(self) -> dict[str, str]:
        """What it was opened with."""
        return self._core.properties

    def create_namespace(
        self, namespace: str, if_not_exists: bool = False, properties: Mapping[str, object] | None = None
    ) -> None:
        """Makes a namespace.

        Args:
            namespace: Its name.
            if_not_exists: Whether it may exist.
            properties: Its properties, which a file-system catalog refuses. `location` says where its tables go.

        Raises:
            AlreadyExistsError: It exists, unless `if_not_exists`.
        """
        self._core.create_namespace(namespace, if_not_exists, arguments.texts(properties))

    def namespace_exists(self, namespace: str) -> bool:
        """Whether there is such a namespace."""
        return self._core.namespace_exists(namespace)

    def load_namespace_properties(self, namespace: str) -> dict[str, str]:
        """A namespace's properties, `location` among them where it is known; in a file-system catalog nothing else."""
        return self._core.namespace_properties(namespace)

    def update_namespace_properties(
        self, namespace: str, removals: Sequence[str] = (), updates: Mapping[str, object] | None = None
    ) -> None:
        """Changes a namespace's properties.

        Args:
            namespace: Its name.
            removals: Properties to remove.
            updates: Properties to set.

        Raises:
            NotFoundError: There is no such namespace.
            InvalidInputError: A property is both to remove and to set.
            UnsupportedError: It is a folder of a file-system catalog, which has none.
        """
        self._core.update_namespace_properties(namespace, list(arguments.columns(removals)), arguments.texts(updates))

    def drop_namespace(self, namespace: str) -> None:
        """Removes a namespace that has no tables."""
        self._core.drop_namespace(namespace)

    def list_namespaces(self, parent: str | None = None) -> list[str]:
        """The namespaces directly below `parent`, or at the top."""
        return self._core.list_namespaces(parent)

    def list_tables(self, namespace: str) -> list[str]:
        """The identifiers of a namespace's tables."""
        return self._core.list_tables(namespace)

    def table_exists(self, identifier: str) -> bool:
        """Whether there is such a table."""
        return self._core.table_exists(identifier)

    def load_table(self, identifier: str) -> Table:
        """Opens a table.

        Raises:
            NotFoundError: There is no such table.
        """
        return Table(self._core.load_table(identifier))

    def create_table(
        self,
        identifier: str,
        schema: Any,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Sequence[str] | None = None,
    ) -> Table:
        """Makes an empty table.

        Args:
            identifier: Its namespace and name: `db.events`.
            schema: Its columns: a `pyarrow.Schema`, a `frazil.Schema` with its comments and default values, or
                anything with `__arrow_c_schema__`.
            partition_by: How rows are grouped into files: `["day(ts)", "bucket(16, user_id)", "country"]`.
            sort_by: How rows are sorted in files: `["ts desc nulls last"]`.
            properties: Table properties; `format-version` chooses 1, 2 (the default) or 3.
            location: Where its files go: a new folder. By default the namespace's location or the warehouse decides. A
                file-system catalog decides that itself: leave it out.
            format: `iceberg`, or in a file-system catalog `paimon`: its tables are in the folders
                `<database>.db/<table>`, their properties are Paimon's options, `partition_by` names columns, and
                `identifier_fields` are the primary key.
            identifier_fields: The columns that together identify a row; None takes those of a `frazil.Schema`.

        Raises:
            AlreadyExistsError: There is such a table.
            NotFoundError: There is no such namespace.
            InvalidInputError: The schema, a partition field or a sort field is wrong.
        """
        if format not in TABLE_FORMATS:
            message = f"'{format}' is no table format"
            raise InvalidInputError(message, {"format": str(format)}, "Use format='iceberg' or format='paimon'")
        core = core_schema("schema", schema)
        return Table(
            self._core.create_table(
                identifier,
                core,
                partition_by=list(_terms("partition_by", partition_by)),
                sort_by=list(_terms("sort_by", sort_by)),
                properties=arguments.texts(properties),
                location=None if location is None else os.fspath(location),
                identifier_fields=None if identifier_fields is None else list(arguments.columns(identifier_fields)),
                format=format,
            )
        )

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Removes a table; in a file-system catalog with all files in its folder, in others without its files.

        Args:
            identifier: Its namespace and name.
            purge: Delete every file that the table's metadata names, wherever it is; where the property `gc.enabled` is
                false, data files stay (in a file-system catalog, those outside of the table's folder).

        Raises:
            NotFoundError: There is no such table.
        """
        self._core.drop_table(identifier, purge)

    def register_table(self, identifier: str, metadata_location: str | os.PathLike[str]) -> Table:
        """Makes a table known by its metadata file, which another catalog wrote.

        A file-system catalog can have a table only in the folder of its name.

        Args:
            identifier: The namespace and name it gets.
            metadata_location: The metadata file.

        Raises:
            AlreadyExistsError: There is such a table.
            UnsupportedError: The table is elsewhere.
        """
        return Table(self._core.register_table(identifier, os.fspath(metadata_location)))

    def rename_table(self, identifier: str, to: str) -> None:
        """Gives a table another name. Its files stay where they are.

        Raises:
            NotFoundError: There is no such table, or no such namespace as the new one.
            AlreadyExistsError: The name is taken.
            UnsupportedError: It is a file-system catalog, where the name is the folder that the metadata records.
        """
        self._core.rename_table(identifier, to)

    def __repr__(self) -> str:
        return f"Catalog({self.name!r}, {configuration.without_secrets(self.properties)!r})"

    def __reduce__(self) -> tuple[Any, tuple[str, dict[str, str]]]:
        if self.properties.get("type") in ("memory", "in-memory"):
            raise UnsupportedError(
                "a catalog in memory is known only to the process that opened it",
                {"catalog": self.name},
                "Use type='sql' with a SQLite file",
            )
        return _open, (self.name, self.properties)


def catalog(name: str | None = None, type: str | None = None, **properties: object) -> Catalog:
    """Opens a catalog.

    PyIceberg's configuration is read too: the first `.pyiceberg.yaml` of the folder `PYICEBERG_HOME`, the home folder
    and the working directory, and environment variables such as `PYICEBERG_CATALOG__PROD__URI`. What is given here goes
    first, then the environment, then the file.

    Args:
        name: A name for it; the key of its part of the configuration. By default the configuration's `default-catalog`,
            else `default`. SQL catalogs of one database are told apart by it.
        type: `filesystem` (the default): a folder (`warehouse=`) with a folder for each namespace, and in that one for
            each table. `sql`: a SQLite file or PostgreSQL database (`uri=`) shared with the SQL catalogs of PyIceberg
            and Java Iceberg. `memory`: known to this process alone.
        **properties: What the type needs, by PyIceberg's property names: `warehouse=…`, `uri=…`, `**{"s3.region": …}`.

    Raises:
        UnsupportedError: The type is not supported.
        InvalidInputError: A property that the type needs is missing, or the configuration is wrong.

    Examples:
        >>> import frazil as fz
        >>> fz.catalog(warehouse="/warehouse").list_namespaces()  # doctest: +SKIP
        ['db']
    """
    given = arguments.texts(
        {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in properties.items() if v is not None}
    )
    if type is not None:
        given["type"] = type
    if name is None:
        name = configuration.default_catalog()
    return _open(name, configuration.merged(name, given))


def _open(name: str, properties: dict[str, str]) -> Catalog:
    return Catalog(_core.Catalog.open(name, properties))


def _terms(what: str, terms: Sequence[str]) -> Sequence[str]:
    if isinstance(terms, str) or not all(isinstance(t, str) for t in terms):
        raise InvalidInputError(f"{what} must be a list of texts such as 'day(ts)', not {terms!r}")
    return terms
