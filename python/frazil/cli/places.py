"""Which table an argument means: a place, a metadata file, or `catalog.namespace.table`."""

from __future__ import annotations

import os
from pathlib import Path

import frazil as fz
from frazil.arguments import At, configuration
from frazil.capabilities import supports
from frazil.cli.values import moment_of
from frazil.display.commits import integer_of
from frazil.exceptions import FrazilError, InvalidInputError, NotFoundError, UnsupportedError

__all__ = ["Places", "at_of", "has_lost_metadata", "is_place", "with_db_suffix"]


def is_place(text: str) -> bool:
    """Whether an argument is a path or a URI. Names of tables have neither slashes nor suffixes of files."""
    if "/" in text or os.sep in text or text.startswith(("~", ".")) or text.endswith(".metadata.json"):
        return True
    return Path(text).is_dir() and not text.count(".")


class Places:
    """Opens catalogs and tables by what the command line gives.

    Args:
        catalog: The name of the catalog that names of tables belong to; None if they begin with it.
        storage: Options of stores and properties of catalogs.
    """

    def __init__(self, catalog: str | None, storage: dict[str, str]) -> None:
        self.named = catalog
        self.storage = storage

    def catalog(self, name: str | None = None) -> fz.Catalog:
        """A catalog of the configuration, with the given properties."""
        return fz.catalog(name or self.named, **self._properties())

    def table(self, text: str) -> fz.Table:
        """The table that an argument means."""
        if self.is_place(text):
            return self._opened(text)
        catalog, identifier = self.of_name(text)
        return catalog.load_table(identifier)

    def is_place(self, text: str) -> bool:
        """Whether an argument is the place of a table, and not its name in a catalog."""
        return self.named is None and is_place(text)

    def found_place(self, text: str) -> str:
        """The place where a table is, though it may be damaged: `NAMESPACE.db/TABLE` for `NAMESPACE/TABLE` of Paimon.

        Raises:
            NotFoundError: There is no folder of a table.
        """
        missing: NotFoundError | None = None
        for place in filter(None, (text, with_db_suffix(text))):
            try:
                fz.open_table(place, storage_options=self.storage)
            except NotFoundError as error:
                if not has_lost_metadata(error):
                    missing = missing or error
                    continue
            except FrazilError:
                # The table is there, and what is wrong with it is for the doctor.
                pass
            return place
        raise missing or NotFoundError("there is no table", {"path": text})

    def _opened(self, text: str) -> fz.Table:
        """The table at a place."""
        try:
            return fz.open_table(text, storage_options=self.storage)
        except NotFoundError as error:
            other = with_db_suffix(text)
            if other is None or has_lost_metadata(error):
                raise
            try:
                return fz.open_table(other, storage_options=self.storage)
            except NotFoundError as inner:
                raise (inner if has_lost_metadata(inner) else error) from None

    def place_or_name(self, text: str) -> tuple[fz.Catalog, str]:
        """The catalog and the identifier of a table that may not exist yet.

        A place is `WAREHOUSE/NAMESPACE/TABLE`: the warehouse is a catalog of folders.
        """
        if not self.is_place(text):
            return self.of_name(text)
        warehouse, _, name = text.replace(os.sep, "/").rstrip("/").rpartition("/")
        warehouse, _, namespace = warehouse.rpartition("/")
        namespace = namespace.removesuffix(".db")
        if not name or not namespace or "." in (name, namespace):
            raise InvalidInputError(
                "the place of a table must be WAREHOUSE/NAMESPACE/TABLE", {"path": text}, "Such as lake/db/events"
            )
        found = {"type": "filesystem", **self._properties(), "warehouse": warehouse or "."}
        return fz.catalog(**found), f"{namespace}.{name}"

    def of_name(self, text: str) -> tuple[fz.Catalog, str]:
        """The catalog of a name, and the rest of the name."""
        if self.named is not None:
            return self.catalog(), text
        first, _, rest = text.partition(".")
        if not rest:
            raise InvalidInputError(
                "a table is a path, a metadata file, or catalog.namespace.table",
                {"table": text},
                "For a folder in the working directory, write ./NAME",
            )
        known = configuration.known_catalogs(configuration.configured())
        if first.lower() in known and "." in rest:
            return self.catalog(first), rest
        if first.lower() in known and configuration.default_catalog().lower() not in known:
            raise InvalidInputError(
                "the name of a table has a namespace",
                {"table": text},
                f"Write {first}.NAMESPACE.{rest}, or see frazil ls {first}",
            )
        if not self.storage and configuration.default_catalog().lower() not in known:
            # Raises an error that says where catalogs come from.
            fz.load_table(text)
        return self.catalog(), text

    def _properties(self) -> dict[str, str]:
        return dict(self.storage)


def has_lost_metadata(error: NotFoundError) -> bool:
    """Whether there was a table, as its folder of metadata is still there, or its folder of snapshots."""
    return (error.hint or "").startswith(("Its metadata folder", "It looks like a Paimon table"))


def with_db_suffix(text: str) -> str | None:
    """The place of a table of Paimon whose namespace is written without `.db`. None if it is written with it."""
    above, slash, name = text.replace(os.sep, "/").rstrip("/").rpartition("/")
    namespace = above.rpartition("/")[2]
    if "://" in above and "/" not in above.partition("://")[2]:
        # `s3://bucket/table`: the part before the table is a bucket.
        return None
    if not slash or namespace in ("", ".", "..", "~") or namespace.endswith((".db", ":")) or name.endswith(".json"):
        return None
    return f"{above}.db/{name}"


def at_of(table: fz.Table, text: str | None) -> At | None:
    """A version: the name of a branch or tag, a snapshot's id, a day or a time, `snapshot^` for its parent."""
    if text is None:
        return None
    refs = table.refs
    if text in refs:
        return text
    name, steps = text, 0
    while name.endswith("^") and name not in refs:
        name, steps = name[:-1], steps + 1
    if steps:
        return _ancestor(table, at_of(table, name or "main"), steps)
    if (snapshot := integer_of(text)) is not None:
        return snapshot
    return moment_of(text) or text


def _ancestor(table: fz.Table, at: At | None, steps: int) -> int | None:
    """The id of the snapshot that is some steps before a version."""
    known = {snapshot.id: snapshot.parent_id for snapshot in table.snapshots}
    if not supports(table._core, "snapshot_parents"):
        if at in table.refs and at != "main" and table.refs[at].type == "branch":  # type: ignore[index]
            # The numbers of its snapshots mean others on main.
            raise UnsupportedError(
                "the version before the newest of a branch: not with tables of Apache Paimon",
                {"version": f"{at}^"},
                "Name it by a tag",
            )
        # Such snapshots don't name a parent. Their numbers are their order.
        ids = sorted(known)
        known = dict(zip(ids, [None, *ids], strict=False))
    found = table.scan(at=at).snapshot_id
    if found is None:
        raise NotFoundError("the table has no snapshot yet", {"version": f"{at}^"}, "Append rows first")
    for _ in range(steps):
        before, found = found, known.get(found)
        if found is None:
            raise NotFoundError("there is no version before this one", {"version": str(before)})
    return found
