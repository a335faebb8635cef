"""Catalogs of the user's own PyIceberg: Hive Metastore, Glue and every other class of its catalogs.

PyIceberg finds a table's metadata file, creates tables and swaps the pointer by its own conditional commit. Frazil
writes the metadata files and does everything else. This module is not part of the public API; `frazil.catalog` opens
such catalogs.
"""

from __future__ import annotations

import _thread
import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from frazil import _core
from frazil.exceptions import (
    AlreadyExistsError,
    CommitStateUnknownError,
    FrazilError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    StoreError,
    UnsupportedError,
)

__all__ = ["CUSTOM", "Register", "is_catalog", "open_register", "opening_of"]

CUSTOM = "py-catalog-impl"
"""PyIceberg's property with the class of a catalog."""

# The property by which Frazil's registers mark namespaces without other properties.
_EXISTS = "exists"
_CLASSES = {"HiveCatalog": "hive", "GlueCatalog": "glue", "DynamoDbCatalog": "dynamodb"}
_CLASSES |= {"BigQueryMetastoreCatalog": "bigquery", "RestCatalog": "rest", "SqlCatalog": "sql"}
_KINDS: dict[str, type[FrazilError]] = {
    "NoSuchTableError": NotFoundError,
    "NoSuchNamespaceError": NotFoundError,
    "NoSuchIcebergTableError": NotFoundError,
    "TableAlreadyExistsError": AlreadyExistsError,
    "NamespaceAlreadyExistsError": AlreadyExistsError,
    "NamespaceNotEmptyError": InvalidInputError,
    "ForbiddenError": PermissionDeniedError,
    "UnauthorizedError": PermissionDeniedError,
    "CommitStateUnknownException": CommitStateUnknownError,
    "NotImplementedError": UnsupportedError,
}
"""Which of Frazil's errors an exception of PyIceberg is, by the name of its class."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def is_catalog(given: object) -> bool:
    """Whether an object is a catalog of PyIceberg. PyIceberg is not imported for this."""
    return any(c.__module__ == "pyiceberg.catalog" and c.__name__ == "Catalog" for c in type(given).__mro__)


def opening_of(catalog: Any) -> tuple[str, dict[str, str]]:
    """The name and the properties by which another process opens a catalog of PyIceberg."""
    given = dict(catalog.properties)
    # Its nested properties are those about authorization.
    auth = given.pop("auth", None)
    given |= _dotted("auth", auth) if isinstance(auth, Mapping) else {}
    properties = {k: str(v) for k, v in given.items() if isinstance(v, (str, int, float, bool))}
    kind = type(catalog)
    known = kind.__module__.startswith("pyiceberg.catalog.") and _CLASSES.get(kind.__name__)
    if known:
        properties.pop(CUSTOM, None)
        properties["type"] = known
    else:
        properties["type"] = CUSTOM
        properties[CUSTOM] = f"{kind.__module__}.{kind.__qualname__}"
    return catalog.name, properties


def _dotted(start: str, nested: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{start}.{key}"
        out |= _dotted(name, value) if isinstance(value, Mapping) else {name: value}
    return out


def open_register(name: str, properties: Mapping[str, str]) -> Register:
    """The register of a catalog that PyIceberg opens by its name and properties.

    Raises:
        UnsupportedError: PyIceberg or a library that it needs is not installed.
        InvalidInputError: PyIceberg refuses the properties.
    """
    given = {k: v for k, v in properties.items() if (k, v) != ("type", CUSTOM)}
    try:
        from pyiceberg.catalog import load_catalog

        opened = load_catalog(name, **given)
    except Exception as error:
        if not isinstance(error, ImportError) and type(error).__name__ != "NotInstalledError":
            raise InvalidInputError(
                f"PyIceberg can't open the catalog: {_said(error, properties)}", {"catalog": name}
            ) from None
        kind = properties.get("type", CUSTOM)
        raise UnsupportedError(
            f"catalogs of type '{kind}' need PyIceberg: {error}",
            {"catalog": name},
            f"Install it: pip install 'pyiceberg[{kind}]'",
        ) from error
    return Register(opened)


def _said(error: BaseException, properties: Mapping[str, Any]) -> str:
    """An exception's text without the secrets among the catalog's properties."""
    text = f"{type(error).__name__}: {error}"
    for name, value in properties.items():
        if _core.is_secret_option(name) and len(str(value)) > 3:
            text = text.replace(str(value), "***")
    return text


def _translated(method: _Method) -> _Method:
    """A method whose exceptions are Frazil's."""

    @functools.wraps(method)
    def call(self: Register, *arguments: Any) -> Any:
        try:
            with self.turns:
                return method(self, *arguments)
        except FrazilError:
            raise
        except Exception as error:
            raise self.error(error, method.__name__) from None

    return call  # type: ignore[return-value]


class _FoundError(Exception):
    """Ends the loading of a table as soon as its metadata file is known."""


class Register:
    """The names of a catalog of PyIceberg, as Frazil's catalogs ask for them.

    Identifiers and namespaces are lists of levels.
    """

    def __init__(self, catalog: Any) -> None:
        self._catalog = catalog
        # Some catalogs have one connection, which one thread at a time can use.
        self.turns = _thread.RLock()
        in_memory = str(catalog.properties.get("uri", "")).startswith("sqlite:///:memory:")
        self.is_of_this_process: bool = in_memory or type(catalog).__name__ == "InMemoryCatalog"

    def error(self, error: Exception, method: str) -> FrazilError:
        """An exception of PyIceberg as one of Frazil's."""
        kind = next((_KINDS[c.__name__] for c in type(error).__mro__ if c.__name__ in _KINDS), StoreError)
        context = {"catalog": self._catalog.name, "catalog_type": type(self._catalog).__name__}
        if kind is UnsupportedError:
            message = f"PyIceberg's {type(self._catalog).__name__} can't do this: {method}"
            return UnsupportedError(message, context, "Use a newer PyIceberg, or the catalog's REST endpoint")
        said = _said(error, self._catalog.properties)
        if "get_table" in said and "Invalid method" in said:
            hint = "PyIceberg 0.12 asks for tables by a call that Hive 4 removed. Use Hive 3 or a newer PyIceberg"
            return UnsupportedError(f"PyIceberg's catalog failed: {said}", context, hint)
        return kind(f"PyIceberg's catalog failed: {said}", context)

    @_translated
    def location(self, table: Sequence[str]) -> str | None:
        """A table's current metadata file, or None if the table does not exist. The file is not read."""
        found: list[str] = []

        class Input:
            def new_input(self, location: str) -> Any:
                found.append(location)
                raise _FoundError

        looking = copy.copy(self._catalog)
        looking._load_file_io = lambda *_, **__: Input()
        try:
            location: str = looking.load_table(tuple(table)).metadata_location
        except _FoundError:
            return found[0]
        except Exception as error:
            if type(error).__name__ in ("NoSuchTableError", "NoSuchIcebergTableError"):
                return None
            raise
        return location

    @_translated
    def insert(self, table: Sequence[str], location: str) -> None:
        """Adds a table by its metadata file."""
        try:
            self._catalog.register_table(tuple(table), location)
        except Exception as error:
            if type(error).__name__ in _KINDS:
                raise
            try:
                found = self.location(table)
            except FrazilError:
                found = None
            # Without an answer the catalog may have the table, so its metadata file must stay.
            if found is None:
                raise self._unknown(error) from None
            if found != location:
                raise

    @_translated
    def swap(self, table: Sequence[str], before: str, after: str) -> bool:
        """Makes `after` the current metadata file if `before` is the current one, by PyIceberg's conditional commit.

        PyIceberg would write a metadata file of its own. Here it takes the one that Frazil wrote.
        """
        from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StagedTable

        commit = copy.copy(self._catalog)
        if not hasattr(commit, "_update_and_stage_table") or not hasattr(commit, "_write_metadata"):
            raise NotImplementedError
        sent = False

        def stage(current: Any, identifier: Any, *_: Any) -> Any:
            nonlocal sent
            if current is None or current.metadata_location != before:
                raise CommitFailedException("another commit came first")
            io = commit._load_file_io(properties=current.metadata.properties, location=after)
            metadata = FromInputFile.table_metadata(io.new_input(after))
            if metadata == current.metadata:
                raise NotImplementedError
            sent = True
            return StagedTable(identifier, metadata, after, io, commit)

        commit._update_and_stage_table = stage
        for write in ("_write_metadata", "_write_metadata_no_exist_check"):
            setattr(commit, write, lambda *_, **__: None)
        try:
            commit.commit_table(_Named(tuple(table)), (), ())
        except (CommitFailedException, NoSuchTableError):
            return False
        except NotImplementedError:
            raise
        except Exception as error:
            if not sent:
                raise
            raise self._unknown(error) from None
        except BaseException as interrupt:
            # Other interrupts leave open whether the catalog took the commit.
            if not sent:
                interrupt._frazil_unsent = True  # type: ignore[attr-defined]
            raise
        return True

    @_translated
    def remove(self, table: Sequence[str]) -> bool:
        """Removes a table's name. Returns whether it existed."""
        return self._unless_missing(lambda: self._catalog.drop_table(tuple(table)))

    @_translated
    def rename(self, before: Sequence[str], after: Sequence[str]) -> bool:
        """Renames a table. Returns whether it existed."""
        return self._unless_missing(lambda: self._catalog.rename_table(tuple(before), tuple(after)))

    @_translated
    def tables(self, namespace: Sequence[str]) -> list[str]:
        """The names of the tables in a namespace, sorted."""
        return sorted(found[-1] for found in self._catalog.list_tables(tuple(namespace)))

    @_translated
    def namespaces(self, below: Sequence[str]) -> list[list[str]]:
        """A namespace, if it exists, and those directly below it."""
        found: list[list[str]] = []
        if below:
            try:
                self._catalog.load_namespace_properties(tuple(below))
            except Exception as error:
                if type(error).__name__ == "NoSuchNamespaceError":
                    return []
                raise
            found.append(list(below))
        return found + [list(levels) for levels in self._catalog.list_namespaces(tuple(below))]

    @_translated
    def is_used(self, namespace: Sequence[str]) -> bool:
        """Whether a namespace has tables."""
        return bool(self._catalog.list_tables(tuple(namespace)))

    @_translated
    def properties(self, namespace: Sequence[str]) -> dict[str, str]:
        """A namespace's properties."""
        found = self._catalog.load_namespace_properties(tuple(namespace))
        return {str(k): str(v) for k, v in found.items()}

    @_translated
    def create(self, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
        """Adds a namespace."""
        given = {k: v for k, v in properties.items() if k != _EXISTS}
        self._catalog.create_namespace(tuple(namespace), given)

    @_translated
    def set_properties(self, namespace: Sequence[str], removed: Sequence[str], given: Mapping[str, str]) -> None:
        """Removes properties of a namespace and sets others."""
        self._catalog.update_namespace_properties(tuple(namespace), set(removed), dict(given))

    @_translated
    def clear_properties(self, namespace: Sequence[str]) -> None:
        """Removes an empty namespace."""
        self._catalog.drop_namespace(tuple(namespace))

    def _unless_missing(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except Exception as error:
            if type(error).__name__ in ("NoSuchTableError", "NoSuchIcebergTableError"):
                return False
            raise
        return True

    def _unknown(self, error: Exception) -> CommitStateUnknownError:
        context = {"catalog": self._catalog.name, "catalog_type": type(self._catalog).__name__}
        return CommitStateUnknownError(
            f"PyIceberg's catalog did not confirm the commit: {_said(error, self._catalog.properties)}", context
        )


class _Named:
    """What PyIceberg's conditional commit asks of a table: its name."""

    def __init__(self, identifier: tuple[str, ...]) -> None:
        self._identifier = identifier

    def name(self) -> tuple[str, ...]:
        return self._identifier
