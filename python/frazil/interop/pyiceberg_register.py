"""Catalogs of PyIceberg as registers of names: where the newest metadata file of each table is.

Frazil writes metadata files itself. PyIceberg only finds them, and moves the pointer from one to the next by the
conditional commit that its catalog has: a lock in Hive, a version in Glue, a condition in SQL.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from frazil.exceptions import (
    AlreadyExistsError,
    CommitStateUnknownError,
    FrazilError,
    NotFoundError,
    PermissionDeniedError,
    StoreError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

__all__ = ["PyIcebergRegister"]

# The mark of namespaces that have no properties. It is not stored here, since the other catalog knows its namespaces.
_EXISTS = "exists"


class _Moved(Exception):  # noqa: N818 (says where the pointer is, and fails nothing)
    """The pointer is not where the commit expects it."""


class PyIcebergRegister:
    """A register that a catalog of PyIceberg keeps. Each method is one request of its, or few."""

    def __init__(self, catalog: PyIcebergCatalog) -> None:
        self._catalog = catalog
        # Some catalogs have one connection, which one thread at a time can use.
        self._lock = threading.Lock()

    # ---- tables

    def location(self, namespace: Sequence[str], name: str) -> str | None:
        """A table's current metadata file, or None if there is no such table."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self._ask("load_table", self._catalog.load_table, (*namespace, name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        return str(table.metadata_location)

    def insert(self, namespace: Sequence[str], name: str, location: str) -> None:
        """Adds a table whose metadata is in a file.

        Raises:
            AlreadyExistsError: The name is taken.
            CommitStateUnknownError: It is unknown whether the table was added.
        """
        from pyiceberg.exceptions import NoSuchNamespaceError, TableAlreadyExistsError

        identifier = (*namespace, name)
        try:
            self._ask("register_table", self._catalog.register_table, identifier, location)
        except TableAlreadyExistsError as error:
            raise AlreadyExistsError("the name is taken", {"table": ".".join(identifier)}) from error
        except NoSuchNamespaceError as error:
            raise NotFoundError("the namespace does not exist", {"namespace": ".".join(namespace)}) from error
        except StoreError as error:
            raise _unknown(error, identifier) from error

    def swap(self, namespace: Sequence[str], name: str, before: str, after: str) -> bool:
        """Makes `after` the current metadata file if `before` is the current one. Returns whether it did.

        Raises:
            CommitStateUnknownError: It is unknown whether the pointer was moved.
        """
        from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

        identifier = (*namespace, name)
        moving = _Moving(self._catalog, before, after)
        try:
            self._ask("commit_table", moving.commit, identifier)
        except (_Moved, CommitFailedException, NoSuchTableError):
            return False
        except StoreError as error:
            # Until the new file was read, nothing was asked of the catalog but where the table is.
            if moving.has_started:
                raise _unknown(error, identifier) from error
            raise
        return True

    def remove(self, namespace: Sequence[str], name: str) -> bool:
        """Removes a table and leaves its files. Returns whether it existed."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            self._ask("drop_table", self._catalog.drop_table, (*namespace, name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return False
        return True

    def rename(self, namespace: Sequence[str], name: str, to_namespace: Sequence[str], to_name: str) -> bool:
        """Renames a table. Returns whether it existed.

        Raises:
            AlreadyExistsError: The new name is taken.
        """
        from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError

        to = (*to_namespace, to_name)
        # Some catalogs find out only when they have begun.
        if self.location(to_namespace, to_name) is not None:
            raise AlreadyExistsError("the name is taken", {"table": ".".join(to)})
        try:
            self._ask("rename_table", self._catalog.rename_table, (*namespace, name), to)
        except TableAlreadyExistsError as error:
            raise AlreadyExistsError("the name is taken", {"table": ".".join(to)}) from error
        except NoSuchTableError:
            return False
        return True

    def tables(self, namespace: Sequence[str]) -> list[str]:
        """The names of the tables in a namespace, sorted."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            found = self._ask("list_tables", self._catalog.list_tables, tuple(namespace))
        except NoSuchNamespaceError:
            return []
        return sorted(identifier[-1] for identifier in found)

    # ---- namespaces

    def namespaces(self, below: Sequence[str]) -> list[list[str]]:
        """A namespace, if it exists, and those directly below it. An empty one is the root."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        parent = tuple(below)
        found: list[list[str]] = []
        try:
            if parent:
                self._ask("load_namespace_properties", self._catalog.load_namespace_properties, parent)
                found.append(list(parent))
            listed = self._ask("list_namespaces", self._catalog.list_namespaces, parent)
        except NoSuchNamespaceError:
            return found
        return found + [list(n) for n in listed if len(n) > len(parent) and tuple(n[: len(parent)]) == parent]

    def is_used(self, namespace: Sequence[str]) -> bool:
        """Whether a namespace has tables or namespaces."""
        return bool(self.tables(namespace)) or len(self.namespaces(namespace)) > 1

    def properties(self, namespace: Sequence[str]) -> dict[str, str]:
        """The properties of a namespace. One that does not exist has none."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            found = self._ask("load_namespace_properties", self._catalog.load_namespace_properties, tuple(namespace))
        except NoSuchNamespaceError:
            return {}
        return {str(key): str(value) for key, value in found.items() if value is not None}

    def create(self, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
        """Adds a namespace.

        Raises:
            AlreadyExistsError: It exists.
        """
        from pyiceberg.exceptions import NamespaceAlreadyExistsError

        given = {key: value for key, value in properties.items() if key != _EXISTS}
        try:
            self._ask("create_namespace", self._catalog.create_namespace, tuple(namespace), given)
        except NamespaceAlreadyExistsError as error:
            raise AlreadyExistsError("the namespace exists", {"namespace": ".".join(namespace)}) from error

    def set_properties(self, namespace: Sequence[str], removed: Sequence[str], given: Mapping[str, str]) -> None:
        """Removes properties of a namespace and sets others."""
        change = self._catalog.update_namespace_properties
        self._ask("update_namespace_properties", change, tuple(namespace), set(removed), dict(given))

    def clear_properties(self, namespace: Sequence[str]) -> None:
        """Removes a namespace that has nothing in it."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            self._ask("drop_namespace", self._catalog.drop_namespace, tuple(namespace))
        except NoSuchNamespaceError:
            return

    # ---- requests

    def _ask(self, what: str, method: Callable[..., Any], *arguments: object) -> Any:
        """Calls the catalog. What goes wrong beyond PyIceberg's own verdicts becomes an error of Frazil."""
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        verdicts = _verdicts()
        try:
            with self._lock:
                return method(*arguments)
        except (FrazilError, _Moved, CommitFailedException):
            raise
        except CommitStateUnknownException as error:
            raise StoreError(f"PyIceberg does not know whether {what} was done: {error}", self._context()) from error
        except NotImplementedError as error:
            message = f"PyIceberg's {type(self._catalog).__name__} has no {what}"
            raise UnsupportedError(message, self._context()) from error
        except verdicts:
            raise
        except Exception as error:
            raise _of_other(error, what, self._context()) from error

    def _context(self) -> dict[str, str]:
        return {"catalog": self._catalog.name}


class _Moving:
    """One move of a table's pointer by the catalog's own conditional commit."""

    def __init__(self, catalog: PyIcebergCatalog, before: str, after: str) -> None:
        self._catalog = catalog
        self._before = before
        self._after = after
        self.has_started = False

    def commit(self, identifier: tuple[str, ...]) -> None:
        kind = type(self._catalog)
        if not hasattr(kind, "_update_and_stage_table"):
            raise NotImplementedError
        members = {"_update_and_stage_table": self._stage, "_write_metadata": staticmethod(_written_already)}
        # Shares all that the catalog has, but stages Frazil's file in place of one of PyIceberg's making.
        moving: Any = object.__new__(type(kind.__name__, (kind,), members))
        moving.__dict__ = self._catalog.__dict__
        answer = moving.commit_table(SimpleNamespace(name=lambda: identifier), (), ())
        if answer.metadata_location != self._after:
            raise StoreError("PyIceberg did not move the table to the new file", {"path": self._after})

    def _stage(self, current: Any, identifier: tuple[str, ...], *_: object) -> Any:
        from pyiceberg.exceptions import NoSuchTableError
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StagedTable

        if current is None:
            raise NoSuchTableError(".".join(identifier))
        if current.metadata_location != self._before:
            raise _Moved(current.metadata_location)
        io = current.io
        metadata = FromInputFile.table_metadata(io.new_input(self._after))
        self.has_started = True
        return StagedTable(identifier, metadata, self._after, io, self._catalog)


def _written_already(*_: object, **__: object) -> None:
    """Frazil wrote the file before."""


def _verdicts() -> tuple[type[Exception], ...]:
    """What PyIceberg says of names."""
    from pyiceberg import exceptions as theirs

    return (
        theirs.NoSuchTableError,
        theirs.NoSuchNamespaceError,
        theirs.TableAlreadyExistsError,
        theirs.NamespaceAlreadyExistsError,
    )


def _of_other(error: Exception, what: str, context: dict[str, str]) -> FrazilError:
    name = type(error).__name__
    text = f"PyIceberg's {what} failed: {name}: {error}"
    if "Invalid method name" in str(error):
        return UnsupportedError(text, context, "Hive 4 needs a newer PyIceberg: it asks for tables in another way")
    if name in ("NoSuchIcebergTableError", "NoSuchPropertyException"):
        return UnsupportedError(text, context)
    if name in ("ForbiddenError", "UnauthorizedError") or "AccessDenied" in str(error):
        return PermissionDeniedError(text, context)
    if name == "NamespaceNotEmptyError":
        return UnsupportedError(text, context, "Drop its tables first")
    return StoreError(text, context)


def _unknown(error: FrazilError, identifier: tuple[str, ...]) -> CommitStateUnknownError:
    return CommitStateUnknownError(str(error), {**error.context, "table": ".".join(identifier)})
