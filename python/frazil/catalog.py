"""Catalogs: names for tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from frazil import _core, arguments, foreign
from frazil.arguments import Paths, configuration
from frazil.arguments.checked import checked, checked_call
from frazil.capabilities import TABLE_FORMATS
from frazil.display import tables
from frazil.exceptions import AlreadyExistsError, FrazilError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.expr import Columns, Term
from frazil.foreign import pyiceberg_catalogs
from frazil.names import Answering, answers
from frazil.requests.new_table import NewTable
from frazil.requests.unfinished import Unfinished
from frazil.schema import PartitionSpec, Schema, SortOrder, core_schema, new_schema
from frazil.table import Table

if TYPE_CHECKING:
    from frazil.foreign import CredentialProvider
    from frazil.transaction import Transaction

__all__ = ["Catalog", "CatalogTransaction", "View", "catalog", "load_table", "write_table"]

Headers = Callable[[], Mapping[str, str]]


class View:
    """A view: a named query. Frazil keeps its text and shows it. It never executes it."""

    def __init__(self, core: _core.View) -> None:
        self._core = core

    @property
    def uuid(self) -> str:
        """The view's identity."""
        return self._core.uuid

    @property
    def location(self) -> str:
        """The view's location."""
        return self._core.location

    @property
    def metadata_location(self) -> str | None:
        """The metadata file, if the catalog tells it."""
        return self._core.metadata_location

    @property
    def version(self) -> int:
        """The number of the version."""
        return self._core.version

    @property
    def schema(self) -> Schema:
        """The columns of the query's result."""
        return Schema(self._core.schema)

    @property
    def properties(self) -> dict[str, str]:
        """The view's properties."""
        return self._core.properties

    @property
    def default_namespace(self) -> str:
        """The namespace of names without one in the query."""
        return ".".join(self._core.default_namespace)

    @property
    def default_catalog(self) -> str | None:
        """The catalog of names without one in the query."""
        return self._core.default_catalog

    @property
    def representations(self) -> list[dict[str, str]]:
        """The query in its dialects: `type`, `sql` and `dialect` of each."""
        return [{"type": "sql", "sql": sql, "dialect": dialect} for dialect, sql in self._core.texts]

    def sql(self, dialect: str | None = None) -> str:
        """The query.

        Args:
            dialect: Its dialect, such as `spark`, in any case. By default the first one.

        Raises:
            NotFoundError: The view has no query in this dialect.
        """
        texts = self._core.texts
        for known, sql in texts:
            if dialect is None or known.lower() == dialect.lower():
                return sql
        known = ", ".join(name for name, _ in texts)
        raise NotFoundError(
            "the view has no query in this dialect", {"dialect": str(dialect)}, f"It has: {known}" if known else None
        )

    def __repr__(self) -> str:
        return f"View({self.sql() if self._core.texts else None!r})"


@answers()
@checked
class CatalogTransaction:
    """Changes of several tables that are committed together, or not at all.

    `Catalog.transaction` makes one. A context manager commits at the end of its block, unless the transaction was
    committed before. If an exception leaves the block, all changes are given up. This also happens to a transaction
    that is collected without a commit. Data files are written as soon as a change is added. Readers see nothing before
    the commit.
    """

    def __init__(self, catalog: _core.Catalog) -> None:
        self._core = catalog.transaction()
        self._unfinished = Unfinished("a transaction", "Call its commit(), or make it in a with block")
        self._tables: list[str] = []

    def table(self, identifier: str, branch: str | None = None) -> Transaction:
        """Returns the changes of a table. Each call with the same name returns the same changes.

        The result has the methods of `Table.transaction`, and sees the table's earlier changes in this transaction. It
        can't be committed by itself.

        Args:
            identifier: The table's namespace and name.
            branch: The branch that new snapshots are added to. By default `main`.

        Raises:
            NotFoundError: The table does not exist.
            InvalidInputError: The transaction changes another branch of this table, or has ended.
        """
        from frazil.transaction import TransactionPart

        part = TransactionPart(self._core.table(identifier, branch), identifier, self._unfinished)
        self._tables += [] if identifier in self._tables else [identifier]
        return part

    def commit(self) -> dict[str, Table]:
        """Commits now. Returns the tables at their new versions, by their names. The transaction has then ended.

        After a lost race, all tables are tried again on their newest versions. The properties `commit.retry.*` say how
        often. If tables have different properties, the fewest retries and the longest waits count.

        Raises:
            CommitConflictError: Another commit changed what this one relies on. Nothing was committed to any table.
            CommitStateUnknownError: It is unknown whether the commit happened. Nothing was removed.
        """
        # If this fails, the caller knows.
        self._unfinished.end()
        return {name: Table(core, name) for name, core in self._core.commit()}

    def abort(self) -> None:
        """Gives up the changes and removes the files that were written for them. The transaction has then ended."""
        self._unfinished.end()
        self._core.abort()

    def __repr__(self) -> str:
        named = tables.public(", ".join(self._tables) or "no tables")
        return f"CatalogTransaction({named}, {'ended' if self._core.ended() else 'not committed'})"

    def __enter__(self) -> CatalogTransaction:
        if self._core.ended():
            raise InvalidInputError("the transaction has ended", hint="Start another one with catalog.transaction()")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._core.ended():
            self.commit()

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a transaction can't be pickled or copied, because it belongs to its process",
            hint="Write files in other processes with table.writer(), and commit their messages",
        )


@answers()
@checked
class Catalog(metaclass=Answering):
    """A catalog: namespaces, and tables in them. `frazil.catalog` opens one.

    Dots separate nested namespaces (`a.b`). A table's identifier is its namespace and its name: `a.b.events`.
    """

    def __init__(self, core: _core.Catalog, headers: Headers | None = None) -> None:
        if not isinstance(core, _core.Catalog):
            raise InvalidInputError(
                f"a Catalog is not made from {arguments.shown(core)}",
                hint="Call frazil.catalog('name'), or frazil.catalog(warehouse='/folder')",
            )
        self._core = core
        self._headers = headers

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._core.name

    @property
    def properties(self) -> dict[str, str]:
        """The properties that it was opened with. Their `repr` shows no secrets."""
        return configuration.Properties(self._core.properties)

    def create_namespace(
        self, namespace: str, if_not_exists: bool = False, properties: Mapping[str, object] | None = None
    ) -> None:
        """Creates a namespace.

        Args:
            namespace: Its name.
            if_not_exists: Accept a namespace that exists already.
            properties: Its properties. `location` is the place of its tables. A file-system catalog refuses properties.

        Raises:
            AlreadyExistsError: The namespace exists, and `if_not_exists` is not set.
        """
        self._core.create_namespace(namespace, if_not_exists, arguments.texts(properties))

    def namespace_exists(self, namespace: str) -> bool:
        """Whether a namespace exists."""
        return self._core.namespace_exists(namespace)

    def load_namespace_properties(self, namespace: str) -> dict[str, str]:
        """The properties of a namespace, including `location` if it is known.

        A file-system catalog has no other properties.
        """
        return self._core.namespace_properties(namespace)

    def update_namespace_properties(
        self, namespace: str, removals: Columns | None = None, updates: Mapping[str, object] | None = None
    ) -> None:
        """Changes the properties of a namespace.

        Args:
            namespace: Its name.
            removals: The properties to remove.
            updates: The properties to set.

        Raises:
            NotFoundError: The namespace does not exist.
            InvalidInputError: A property is in both arguments.
            UnsupportedError: The catalog is a file-system catalog, whose namespaces have no properties.
        """
        removed = [] if removals is None else list(arguments.columns(removals))
        self._core.update_namespace_properties(namespace, removed, arguments.texts(updates))

    def drop_namespace(self, namespace: str, if_exists: bool = False) -> None:
        """Removes a namespace that has no tables.

        Args:
            namespace: Its name.
            if_exists: Accept a namespace that does not exist.

        Raises:
            NotFoundError: The namespace does not exist, and `if_exists` is not set.
        """
        with _accepted(NotFoundError, if_exists):
            self._core.drop_namespace(namespace)

    def list_namespaces(self, parent: str | None = None) -> list[str]:
        """The namespaces directly below `parent`, or those at the top."""
        found = self._core.list_namespaces(parent)
        if not found and parent is None:
            configuration.warn_of_missing(self.properties)
        return found

    def list_tables(self, namespace: str | None = None) -> list[str]:
        """The identifiers of the tables in a namespace. Without one, those of the whole catalog.

        The whole catalog takes a request for each of its namespaces, nested ones included.
        """
        if namespace is not None:
            return self._core.list_tables(namespace)
        found, waiting = [], self.list_namespaces()[::-1]
        while waiting:
            namespace = waiting.pop()
            found += self._core.list_tables(namespace)
            waiting += self._below(namespace)[::-1]
        return found

    def _below(self, namespace: str) -> list[str]:
        try:
            return self._core.list_namespaces(namespace)
        except (UnsupportedError, NotFoundError):
            # The catalog has no nested namespaces, or the namespace has tables of Paimon alone.
            return []

    def table_exists(self, identifier: str) -> bool:
        """Whether a table exists."""
        return self._core.table_exists(identifier)

    def load_table(self, identifier: str) -> Table:
        """Opens a table.

        Raises:
            NotFoundError: The table does not exist.
        """
        try:
            return Table(self._core.load_table(identifier), identifier)
        except NotFoundError as error:
            rest = identifier.removeprefix(f"{self.name}.")
            if error.hint is not None or rest == identifier or "." not in rest:
                raise
            hint = f"Leave out the catalog's name: '{rest}'"
            raise NotFoundError(str(error.args[0]), error.context, hint) from None

    def create_table(
        self,
        identifier: str,
        schema: Any = None,
        partition_by: str | Term | Sequence[str | Term] = (),
        sort_by: str | Term | Sequence[str | Term] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Columns | None = None,
        *,
        data: Any = None,
        if_not_exists: bool = False,
        declared_types: Mapping[str, str] | None = None,
    ) -> Table:
        """Creates a table, empty or with its first rows: `catalog.create_table("db.events", data=rows)`.

        Args:
            identifier: Its namespace and name: `db.events`.
            schema: Its columns: a `pyarrow.Schema`, a `frazil.Schema` with comments and default values, or anything
                with `__arrow_c_schema__`. It can be left out if `data` is given.
            partition_by: How rows are grouped into files: `["day(ts)", "bucket(16, user_id)", "country"]`. It can also
                have terms such as `frazil.bucket(16, "user_id")`.
            sort_by: How rows are sorted in files: `["ts desc nulls last"]`.
            properties: Table properties. `format-version` is 1, 2 (the default) or 3.
            location: A new folder for its files. By default the namespace's location or the warehouse decides. Leave it
                out for a file-system catalog, which decides itself.
            format: `iceberg`, or in a file-system catalog `paimon`. Tables of Paimon are in folders
                `<database>.db/<table>`. Their properties are Paimon's options, `partition_by` names columns, and
                `identifier_fields` are the primary key.
            identifier_fields: The columns that together identify a row. None uses those of a `frazil.Schema`.
            data: The first rows, as for `Table.append`. The table and its rows come in one commit where the catalog can
                do this. Otherwise the table is created first, and dropped again if the rows can't be written.
            if_not_exists: If the table exists, return it as it is, without the rows of `data`.
            declared_types: For tables of Paimon: exact types of columns, `{"code": "VARCHAR(20)", "age": "TINYINT"}`.
                Writers then refuse values that do not fit. Other columns have the types of the schema.

        Raises:
            AlreadyExistsError: The table exists, and `if_not_exists` is not set.
            NotFoundError: The namespace does not exist.
            InvalidInputError: The schema, a partition field or a sort field is wrong, or columns are not given.
        """
        if if_not_exists and self.table_exists(identifier):
            return self.load_table(identifier)
        rows = None if data is None else arguments.rows(data)
        variants: set[str] = set()
        if schema is None:
            schema, variants = _schema_of_rows(rows)
        new = _new_table(schema, partition_by, sort_by, properties, location, format, identifier_fields, declared_types)
        try:
            if rows is not None:
                return self._filled(identifier, new, rows)
            return Table(self._core.create_table(identifier, new), identifier)
        except AlreadyExistsError as error:
            if not if_not_exists:
                error.hint = error.hint or "Give if_not_exists=True to get it as it is"
                raise
        except InvalidInputError as error:
            if error.context.get("column", "").partition(".")[0] in variants:
                error.hint = error.hint or "If the column is a struct and not a variant, give schema="
            raise
        return self.load_table(identifier)

    def _filled(self, identifier: str, new: NewTable, rows: Any) -> Table:
        """A new table with its first rows."""
        try:
            begun = self._core.begin_table(identifier, new)
        except UnsupportedError:
            table = Table(self._core.create_table(identifier, new), identifier)
            try:
                return table.append(rows)
            except BaseException:
                self._core.drop_table(identifier, False, [])
                raise
        with _started(begun, identifier) as transaction:
            return transaction.append(rows).commit()

    def replace_table(
        self,
        identifier: str,
        schema: Any,
        partition_by: str | Term | Sequence[str | Term] = (),
        sort_by: str | Term | Sequence[str | Term] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Columns | None = None,
        *,
        declared_types: Mapping[str, str] | None = None,
    ) -> Table:
        """Gives a table another definition and no rows. Its identity, its snapshots, tags and other branches stay.

        A column keeps its id if the table has a column of its name. Other columns get new ids. The branch `main` is
        empty afterwards. Earlier snapshots can still be read: `table.scan(at=snapshot_id)`.

        Args:
            identifier: As for `create_table`, like the other arguments.
            schema: The columns.
            partition_by: How rows are grouped into files.
            sort_by: How rows are sorted in files.
            properties: Table properties to set. Others stay, except those of a table of Paimon, which has only these
                options afterwards. `format-version` may raise the version.
            location: The table's location. Another one is refused.
            format: The format of the table. Tables of Paimon keep the names and types of their partition columns. They
                are first emptied, and then get the new definition.
            identifier_fields: The columns that together identify a row.
            declared_types: As for `create_table`.

        Raises:
            NotFoundError: The table does not exist.
            UnsupportedError: The table's format can't do it, or the location is another one.
            CommitConflictError: Another commit changed the columns or the partitioning meanwhile.
        """
        new = _new_table(schema, partition_by, sort_by, properties, location, format, identifier_fields, declared_types)
        return Table(self._core.replace_table(identifier, new, False), identifier)

    def create_or_replace_table(
        self,
        identifier: str,
        schema: Any,
        partition_by: str | Term | Sequence[str | Term] = (),
        sort_by: str | Term | Sequence[str | Term] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Columns | None = None,
        *,
        declared_types: Mapping[str, str] | None = None,
    ) -> Table:
        """Creates a table, or replaces the one of this name as `replace_table` does.

        Args:
            identifier: As for `create_table`, like the other arguments.
            schema: The columns.
            partition_by: How rows are grouped into files.
            sort_by: How rows are sorted in files.
            properties: Table properties.
            location: The location of a new table. A table that is replaced stays at its location.
            format: `iceberg`, or in a file-system catalog `paimon`. A table that is replaced has this format already.
            identifier_fields: The columns that together identify a row.
            declared_types: As for `create_table`.
        """
        new = _new_table(schema, partition_by, sort_by, properties, location, format, identifier_fields, declared_types)
        return Table(self._core.replace_table(identifier, new, True), identifier)

    def replace_table_transaction(
        self,
        identifier: str,
        schema: Any,
        partition_by: str | Term | Sequence[str | Term] = (),
        sort_by: str | Term | Sequence[str | Term] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Columns | None = None,
        or_create: bool = False,
        *,
        declared_types: Mapping[str, str] | None = None,
    ) -> Transaction:
        """Replaces a table together with its new rows and other changes, in one commit.

        Readers see the old rows until then: `with catalog.replace_table_transaction("db.events", schema) as tx:
        tx.append(rows)`.

        Args:
            identifier: As for `replace_table`, like the other arguments.
            schema: The columns.
            partition_by: How rows are grouped into files.
            sort_by: How rows are sorted in files.
            properties: Table properties to set.
            location: The table's location.
            format: `iceberg`.
            identifier_fields: The columns that together identify a row.
            or_create: Whether a table that does not exist is created, as by `create_table_transaction`.
            declared_types: Always refused: only tables of Paimon have exact types, and they have no such transactions.

        Raises:
            NotFoundError: The table does not exist, and `or_create` is not set.
            UnsupportedError: The table's format can't do it.
        """
        new = _new_table(schema, partition_by, sort_by, properties, location, format, identifier_fields, declared_types)
        begun = self._core.begin_replacement(identifier, new, or_create)
        return _started(begun, identifier)

    def create_table_transaction(
        self,
        identifier: str,
        schema: Any,
        partition_by: str | Term | Sequence[str | Term] = (),
        sort_by: str | Term | Sequence[str | Term] = (),
        properties: Mapping[str, object] | None = None,
        location: str | os.PathLike[str] | None = None,
        format: str = "iceberg",
        identifier_fields: Columns | None = None,
        *,
        declared_types: Mapping[str, str] | None = None,
    ) -> Transaction:
        """Creates a table together with its first rows and other changes, in one commit.

        Nothing exists before the commit, and nothing is left if the transaction is given up:
        `with catalog.create_table_transaction("db.events", schema) as tx: tx.append(rows)`.

        Args:
            identifier: As for `create_table`, like the other arguments.
            schema: The columns.
            partition_by: How rows are grouped into files.
            sort_by: How rows are sorted in files.
            properties: Table properties.
            location: A new folder for its files.
            format: `iceberg`. Tables of Paimon can't be created this way.
            identifier_fields: The columns that together identify a row.
            declared_types: Always refused: only tables of Paimon have exact types, and they have no such transactions.

        Returns:
            The transaction. Its `commit` returns the table.

        Raises:
            AlreadyExistsError: The table exists. If another client creates it meanwhile, the commit raises this.
            NotFoundError: The namespace does not exist.
            InvalidInputError: The schema, a partition field or a sort field is wrong.
            UnsupportedError: The catalog or the format can't do this.
        """
        new = _new_table(schema, partition_by, sort_by, properties, location, format, identifier_fields, declared_types)
        return _started(self._core.begin_table(identifier, new), identifier)

    def drop_table(
        self,
        identifier: str,
        *,
        purge: bool = False,
        outside_locations: Paths | None = None,
        if_exists: bool = False,
    ) -> None:
        """Removes a table. A file-system catalog deletes all files in its folder; other catalogs leave the files.

        Args:
            identifier: Its namespace and name.
            purge: Delete every file that the table's metadata names, if it is in the table's location or in a folder
                that its properties name. If the property `gc.enabled` is false, data files stay. In a file-system
                catalog this concerns only those outside the table's folder.
            outside_locations: With `purge`, folders outside of the table's own in which files are deleted too, such as
                those of files that `add_files` made part of the table. Files that other tables use are lost to them.
                A REST catalog's server decides about the files itself.
            if_exists: Accept a table that does not exist.

        Raises:
            NotFoundError: The table does not exist, and `if_exists` is not set.
            InvalidInputError: `outside_locations` is given without `purge`, or has a folder that is not absolute.
            UnsupportedError: The catalog can't take `outside_locations` into account.
        """
        with _accepted(NotFoundError, if_exists):
            self._core.drop_table(identifier, purge, arguments.outside_folders(outside_locations))

    def register_table(
        self, identifier: str, metadata_location: str | os.PathLike[str], overwrite: bool = False
    ) -> Table:
        """Adds a table by its metadata file, which another catalog wrote.

        A file-system catalog can only have a table that is in the folder of its name.

        Args:
            identifier: The namespace and name for the table.
            metadata_location: The metadata file.
            overwrite: If a table of this name exists, make the file its current version. The files of the version
                before stay.

        Raises:
            AlreadyExistsError: The table exists, and `overwrite` is not set.
            CommitConflictError: Another client changed the table at the same time.
            UnsupportedError: The table is in another place, or the catalog can't overwrite tables.
        """
        return Table(self._core.register_table(identifier, os.fspath(metadata_location), overwrite), identifier)

    def unregister_table(self, identifier: str) -> str:
        """Removes a table from the catalog and leaves all its files. It can be registered again, in any catalog.

        Returns:
            The newest metadata file, for `register_table`.

        Raises:
            NotFoundError: The table does not exist.
            UnsupportedError: The catalog is a file-system catalog, or its server does not offer this.
            CommitStateUnknownError: The server's answer was lost. The error says what is known.
        """
        return self._core.unregister_table(identifier)

    def rename_table(self, identifier: str, to: str) -> None:
        """Gives a table another name. Its files stay where they are.

        Raises:
            NotFoundError: The table or the new namespace does not exist.
            AlreadyExistsError: The new name is taken.
            UnsupportedError: The catalog is a file-system catalog. There, the name is the folder that the metadata
                records.
        """
        self._core.rename_table(identifier, to)

    def transaction(self) -> CatalogTransaction:
        """Starts a group of changes to several tables that are committed together, or not at all.

        Raises:
            UnsupportedError: The catalog can't commit to several tables at once. SQL and memory catalogs can, and REST
                servers that offer it.

        Examples:
            >>> with catalog.transaction() as tx:  # doctest: +SKIP
            ...     tx.table("db.orders").append(orders)
            ...     tx.table("db.items").append(items)
        """
        return CatalogTransaction(self._core)

    def list_views(self, namespace: str) -> list[str]:
        """The identifiers of the views in a namespace. Only a REST catalog has views."""
        return self._core.list_views(namespace)

    def view_exists(self, identifier: str) -> bool:
        """Whether a view exists."""
        return self._core.view_exists(identifier)

    def load_view(self, identifier: str) -> View:
        """Loads a view. Its query is not executed.

        Raises:
            NotFoundError: The view does not exist.
            UnsupportedError: The catalog has no views.
        """
        return View(self._core.load_view(identifier))

    def create_view(
        self,
        identifier: str,
        sql: str | Mapping[str, str],
        schema: Any,
        dialect: str = "spark",
        properties: Mapping[str, object] | None = None,
    ) -> View:
        """Creates a view.

        Args:
            identifier: Its namespace and name.
            sql: The query, or queries by dialect: `{"spark": "…", "trino": "…"}`.
            schema: The columns of the query's result: a `pyarrow.Schema` or a `frazil.Schema`.
            dialect: The dialect of a query that is given as text.
            properties: The view's properties.

        Raises:
            AlreadyExistsError: The name is taken.
            NotFoundError: The namespace does not exist.
        """
        core, texts = core_schema("schema", schema), _queries(sql, dialect)
        return View(self._core.create_view(identifier, core, texts, arguments.texts(properties)))

    def replace_view(
        self,
        identifier: str,
        sql: str | Mapping[str, str],
        schema: Any,
        dialect: str = "spark",
        properties: Mapping[str, object] | None = None,
    ) -> View:
        """Gives a view another query. Earlier versions stay in its history.

        Args:
            identifier: Its namespace and name.
            sql: The query, or queries by dialect.
            schema: The columns of the query's result.
            dialect: The dialect of a query that is given as text.
            properties: Properties to set. Others stay.

        Raises:
            NotFoundError: The view does not exist.
            CommitConflictError: Another client changed the view first.
        """
        core, texts = core_schema("schema", schema), _queries(sql, dialect)
        return View(self._core.replace_view(identifier, core, texts, arguments.texts(properties)))

    def register_view(self, identifier: str, metadata_location: str | os.PathLike[str]) -> View:
        """Adds a view by its metadata file, which another catalog wrote.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        return View(self._core.register_view(identifier, os.fspath(metadata_location)))

    def rename_view(self, identifier: str, to: str) -> None:
        """Gives a view another name.

        Raises:
            NotFoundError: The view or the new namespace does not exist.
            AlreadyExistsError: The new name is taken.
        """
        self._core.rename_view(identifier, to)

    def drop_view(self, identifier: str, if_exists: bool = False) -> None:
        """Removes a view.

        Args:
            identifier: Its namespace and name.
            if_exists: Accept a view that does not exist.

        Raises:
            NotFoundError: The view does not exist, and `if_exists` is not set.
        """
        with _accepted(NotFoundError, if_exists):
            self._core.drop_view(identifier)

    def __repr__(self) -> str:
        return f"Catalog({self.name!r}, {configuration.without_secrets(self.properties)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self.properties.get("type") in ("memory", "in-memory"):
            raise UnsupportedError(
                "a catalog in memory is known only to the process that opened it",
                {"catalog": self.name},
                "Use type='sql' with a SQLite file",
            )
        opened = (self.name, dict(self.properties))
        return _open, opened if self._headers is None else (*opened, self._headers)


def catalog(
    name: Any = None,
    type: str | None = None,
    # `Any`, because type checkers give each argument the values of `**settings`.
    headers: Headers | Any | None = None,
    *,
    credential_provider: CredentialProvider | str | None = None,
    filesystem: Any | None = None,
    **properties: object,
) -> Catalog:
    """Opens a catalog.

    Frazil also reads PyIceberg's configuration: the first `.pyiceberg.yaml` in the folder `PYICEBERG_HOME`, the home
    folder and the working directory, and environment variables such as `PYICEBERG_CATALOG__PROD__URI`. Arguments have
    precedence, then the environment, then the file.

    Args:
        name: The catalog's name, which is the key of its part of the configuration. By default it is the
            configuration's `default-catalog`, or else `default`. SQL catalogs in the same database are distinguished by
            their names. It may also be a catalog object of PyIceberg, which is then used as it is.
        type: `filesystem` (the default) is a folder (`warehouse=`) that contains a folder for each namespace, with a
            folder for each table. `sql` is a SQLite file or PostgreSQL database (`uri=`), shared with the SQL catalogs
            of PyIceberg and Java Iceberg. `rest` is a server with Iceberg's REST API (`uri=`), such as Polaris,
            Lakekeeper, Unity Catalog, AWS Glue or S3 Tables. `memory` exists in this process alone. `hive`, `glue`,
            `dynamodb`, `bigquery`, and a class named by `py-catalog-impl`, are opened by your own PyIceberg, with its
            properties.
        headers: Called before each request to a REST server. It returns headers of the request, such as
            `{"Authorization": "Bearer …"}`. Other processes can't commit to tables of such a catalog.
        credential_provider: Called without arguments when credentials of the tables' store are needed, as for
            `open_table`. Credentials that a REST server lends are not used then. The property `credential-provider` is
            its import path.
        filesystem: A file system of fsspec or pyarrow that has all files, as for `open_table`.
        **properties: The properties that the type needs, by PyIceberg's names: `warehouse=…`, `uri=…`, `**{"s3.region":
            …}`. A REST server wants `warehouse=` and a `token=` or `credential="id:secret"`, or other properties of
            Java and PyIceberg for authorization.

    Raises:
        UnsupportedError: The type is not supported.
        InvalidInputError: A property that the type needs is missing, or the configuration is wrong.

    Examples:
        >>> import frazil as fz
        >>> fz.catalog(warehouse="/warehouse").list_namespaces()  # doctest: +SKIP
        ['db']
    """
    if isinstance(properties.get("properties"), Mapping):
        raise InvalidInputError(
            "properties of a catalog are arguments of their own", hint="Write catalog(name, **properties)"
        )
    if isinstance(name, os.PathLike):
        raise InvalidInputError("a catalog's name must be text, not a path", hint=f"Write catalog(warehouse={name!r})")
    if isinstance(type, Mapping):
        raise InvalidInputError(
            "type must be text, not the catalog's properties", hint="Write catalog(name, **properties)"
        )
    given = arguments.texts(
        {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in _flat(properties).items() if v is not None}
    )
    given.update(foreign.options(credential_provider, filesystem))
    if type is not None:
        given["type"] = type
    if pyiceberg_catalogs.is_catalog(name):
        return _of_pyiceberg(name, given)
    read = configuration.configured()
    if isinstance(name, Mapping):
        raise InvalidInputError("a catalog's name must be text, not its properties", hint="Write catalog(**properties)")
    name = configuration.default_catalog(read) if name is None else arguments.text("name", name)
    if not given:
        configuration.check_catalog(name, read)
    configuration.check_names(name, given, read)
    return _open(name, configuration.merged(name, given, read), headers)


@checked_call
def write_table(
    identifier: str,
    data: Any,
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    *,
    catalog: Catalog | None = None,
    catalogs: Mapping[str, Mapping[str, object]] | None = None,
    **created: Any,
) -> Table:
    """Writes rows to a table by its name, and creates the table if it does not exist.

    Args:
        identifier: The catalog, the namespace and the table, as for `frazil.load_table`: `prod.db.events`. With
            `catalog`, the namespace and the table.
        data: The rows, as for `Table.append`.
        mode: What to do if the table exists: raise `AlreadyExistsError`, `append` the rows, `overwrite` all of its
            rows, or `ignore` the data.
        catalog: The catalog, if it is not one of the configuration.
        catalogs: Properties of catalogs, as for `frazil.load_table`.
        **created: Arguments of `Catalog.create_table` for a new table: `partition_by`, `sort_by`, `properties` and
            others.

    Returns:
        The table, at its new version.

    Raises:
        AlreadyExistsError: The table exists, and the mode is `error`.
        InvalidInputError: No catalog of this name is known, or the rows do not fit the table.

    Examples:
        >>> import frazil as fz
        >>> fz.write_table("prod.db.events", rows, mode="append", partition_by="day(ts)")  # doctest: +SKIP
    """
    if mode not in ("error", "append", "overwrite", "ignore"):
        raise InvalidInputError(f"mode can't be {mode!r}", hint="Use 'error', 'append', 'overwrite' or 'ignore'")
    name = identifier
    if catalog is not None and not isinstance(catalog, Catalog):
        raise InvalidInputError(
            f"catalog must be a Catalog, not {arguments.shown(catalog)}",
            hint="Give the result of frazil.catalog('name'), or write the name first: 'catalog.namespace.table'",
        )
    if catalog is None:
        catalog, name = catalog_of(identifier, catalogs)
    rows = arguments.rows(data)
    try:
        return catalog.create_table(name, data=rows, **created)
    except AlreadyExistsError as error:
        if mode == "error":
            error.hint = "Give mode='append', 'overwrite' or 'ignore'"
            raise
    except (InvalidInputError, UnsupportedError):
        # A table that exists may take rows that a new table would not, such as variants.
        if mode == "error" or not catalog.table_exists(name):
            raise
    table = catalog.load_table(name)
    if mode == "ignore":
        return table
    return table.append(rows) if mode == "append" else table.overwrite(rows)


@checked_call
def load_table(identifier: str, catalogs: Mapping[str, Mapping[str, object]] | None = None) -> Table:
    """Opens a table by its full name: `prod.db.events` is the table `db.events` of the catalog `prod`.

    A name that doesn't begin with a catalog belongs to the default catalog of `frazil.catalog`. A process opens each
    catalog once and keeps it.

    Args:
        identifier: The catalog, the namespace and the table, separated by dots.
        catalogs: Properties of catalogs by the catalogs' names, as for `frazil.catalog`. They have precedence over
            PyIceberg's configuration, which names further catalogs.

    Raises:
        InvalidInputError: No catalog of this name is known.
        NotFoundError: The table does not exist.

    Examples:
        >>> import frazil as fz
        >>> fz.load_table("prod.db.events")  # doctest: +SKIP
    """
    catalog, name = catalog_of(identifier, catalogs)
    return catalog.load_table(name)


def catalog_of(identifier: str, catalogs: Mapping[str, Mapping[str, object]] | None) -> tuple[Catalog, str]:
    """The catalog of a full name, and the rest of the name."""
    given = {name.lower(): (name, arguments.texts(properties)) for name, properties in (catalogs or {}).items()}
    read = configuration.configured()
    known = {*given, *configuration.known_catalogs(read)}
    named, _, rest = identifier.partition(".")
    if "." not in rest or named.lower() not in known:
        named, rest = configuration.default_catalog(read), identifier
    if named.lower() not in known:
        first = identifier.partition(".")[0]
        raise InvalidInputError(
            "no catalog of this name is known",
            {
                "identifier": identifier,
                "catalogs": ", ".join(sorted(known)) or "none",
                "configuration": configuration.source(),
            },
            "Write catalog.namespace.table, and describe the catalog in .pyiceberg.yaml or by environment variables "
            f"(PYICEBERG_CATALOG__{first.upper()}__URI=…). Open a folder with frazil.open_table",
        )
    name, properties = given.get(named.lower(), (named, {}))
    configuration.check_names(name, properties, read)
    return _kept(name, tuple(sorted(configuration.merged(name, properties, read).items()))), rest


@lru_cache(maxsize=32)
def _kept(name: str, properties: tuple[tuple[str, str], ...]) -> Catalog:
    """A catalog that this process opens once."""
    return _open(name, dict(properties))


def _of_pyiceberg(given: Any, properties: Mapping[str, str]) -> Catalog:
    """A catalog object of PyIceberg. Frazil opens those that it knows by itself, and keeps the others."""
    if properties:
        raise InvalidInputError(
            "a catalog object of PyIceberg can't be combined with properties",
            {"properties": ", ".join(sorted(properties))},
            "Give them to PyIceberg's load_catalog",
        )
    name, own = pyiceberg_catalogs.opening_of(given)
    register = pyiceberg_catalogs.Register(given)
    if own["type"] in ("sql", "rest") and not register.is_of_this_process:
        return _open(name, own)
    return Catalog(_core.Catalog.of_register(name, own, register))


def _open(name: str, properties: dict[str, str], headers: Headers | None = None) -> Catalog:
    try:
        return Catalog(_core.Catalog.open(name, properties, headers), headers)
    except FrazilError as error:
        from frazil.arguments import missing

        missing.add_hint(error)
        raise


def _flat(properties: Mapping[str, object]) -> dict[str, object]:
    """The properties, with PyIceberg's nested ones (`auth={"type": …}`) by dotted names."""
    nested = {k: v for k, v in properties.items() if isinstance(v, Mapping)}
    return {k: v for k, v in properties.items() if k not in nested} | configuration.flat(nested)


def _queries(sql: str | Mapping[str, str], dialect: str) -> list[tuple[str, str]]:
    queries = {dialect: sql} if isinstance(sql, str) else dict(sql)
    if not queries or not all(isinstance(text, str) for pair in queries.items() for text in pair):
        raise InvalidInputError("sql must be a query, or a mapping from dialects to queries", {"found": repr(sql)})
    return list(queries.items())


def _started(core: _core.Transaction, identifier: str) -> Transaction:
    """A transaction that creates or replaces its table."""
    from frazil.transaction import Transaction

    return Transaction._of(Table(core.table(), identifier), core)


def _new_table(
    schema: Any,
    partition_by: str | Term | Sequence[str | Term],
    sort_by: str | Term | Sequence[str | Term],
    properties: Mapping[str, object] | None,
    location: str | os.PathLike[str] | None,
    format: str,
    identifier_fields: Columns | None,
    declared_types: Mapping[str, str] | None = None,
) -> NewTable:
    """The definition of a new table, as the core takes it."""
    if format not in TABLE_FORMATS:
        message = f"'{format}' is not a table format"
        known = " or ".join(f"format='{known}'" for known in TABLE_FORMATS)
        raise InvalidInputError(message, {"format": str(format)}, f"Use {known}")
    return NewTable(
        schema=new_schema("schema", schema),
        partition_by=_terms("partition_by", partition_by),
        sort_by=_terms("sort_by", sort_by),
        properties=configuration.table_properties(arguments.texts(properties)),
        location=None if location is None else arguments.path("location", location),
        identifier_fields=None if identifier_fields is None else list(arguments.columns(identifier_fields)),
        declared_types=arguments.texts(declared_types, "declared_types"),
        format=format,
    )


def _terms(argument: str, terms: str | Term | Sequence[str | Term]) -> list[str]:
    """Partition fields or sort fields as texts. One that is alone needs no list."""
    if isinstance(terms, (str, Term)):
        terms = [terms]
    given: Any = terms
    if isinstance(given, (PartitionSpec, SortOrder)):
        texts = [str(field).partition(": ")[2] or str(field) for field in given.fields]
        raise InvalidInputError(
            f"{argument} must be a list of texts, not a {type(given).__name__}", hint=f"Write {argument}={texts}"
        )
    if isinstance(terms, Mapping) or not isinstance(terms, Iterable):
        hint = f"Leave {argument} out" if terms is None else None
        raise InvalidInputError(
            f"{argument} must be a list of texts such as 'day(ts)', not {arguments.shown(terms)}", hint=hint
        )
    if type(terms).__module__.startswith("pyiceberg."):
        kind = terms.__class__.__name__
        raise InvalidInputError(
            f"{argument} must be a list of texts, not PyIceberg's {kind}",
            hint="Write its fields: partition_by=['bucket(16, id)', 'day(ts)'], sort_by=['ts desc nulls last']",
        )
    for term in terms:
        if not isinstance(term, (str, Term)):
            raise InvalidInputError(
                f"{argument}: a field must be a text such as 'day(ts)', not {arguments.shown(term)}",
                hint="Write a column's name, or a term such as frazil.bucket(16, 'id')"
                if argument == "partition_by"
                else "Write 'x desc', or 'x asc nulls last'",
            )
    return [arguments.unicode(argument, str(term)) for term in terms]


def _schema_of_rows(rows: Any) -> tuple[Any, set[str]]:
    """The columns of the first rows of a table, and the names of those that are taken for variants."""
    if rows is None:
        raise InvalidInputError("a new table needs columns", hint="Give schema=, or rows by data=")
    from frazil import interop

    return interop.with_variants(interop.schema_of_rows(rows))


@contextmanager
def _accepted(kind: type[FrazilError], accepted: bool) -> Iterator[None]:
    """A block in which an error may be accepted."""
    try:
        yield
    except kind as error:
        if not accepted:
            error.hint = error.hint or "Give if_exists=True to accept this"
            raise


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from frazil import names

        raise names.of_module(name, sys._getframe(), __name__)
