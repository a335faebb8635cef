"""Views of catalogs: named queries. Frazil keeps their text and shows it. It never executes them."""

from __future__ import annotations

from frazil import _core
from frazil.exceptions import NotFoundError
from frazil.schema import Schema

__all__ = ["View"]


class View:
    """A view at one version. `Catalog.load_view` opens one."""

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
