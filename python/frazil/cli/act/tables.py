"""Commands that create, drop and configure tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

import frazil as fz
from frazil.capabilities import TABLE_FORMATS
from frazil.cli import output
from frazil.cli.data_files import schema_of_file
from frazil.cli.session import Session, changing
from frazil.cli.values import PAIR, pairs, separated
from frazil.cli.wording import in_commands
from frazil.display.figures import amount
from frazil.exceptions import FrazilError, UnsupportedError

__all__ = ["create", "drop", "set_", "unset", "upgrade"]


@changing("create")
@click.option(
    "--column",
    "-c",
    "columns",
    metavar="'NAME TYPE'",
    multiple=True,
    callback=separated,
    help="Columns: 'id long required, name string'.",
)
@click.option(
    "--like", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="The columns of a data file."
)
@click.option("--partition-by", metavar="FIELDS", multiple=True, callback=separated, help="Such as 'day(ts),id'.")
@click.option("--sort-by", metavar="FIELDS", multiple=True, callback=separated, help="Such as 'ts desc nulls last'.")
@click.option("--key", metavar="COLUMNS", multiple=True, callback=separated, help="Columns that identify rows: a,b.")
@click.option("--property", "properties", metavar="KEY=VALUE", type=PAIR, multiple=True, help="A property. Repeatable.")
@click.option("--format", "form", type=click.Choice(TABLE_FORMATS), default=TABLE_FORMATS[0], help="The table format.")
@click.option("--location", help="The folder for its files.")
def create(
    session: Session,
    table: str,
    columns: tuple[str, ...],
    like: str | None,
    partition_by: tuple[str, ...],
    sort_by: tuple[str, ...],
    key: tuple[str, ...],
    properties: tuple[tuple[str, str], ...],
    form: str,
    location: str | None,
) -> None:
    """Create a table.

    TABLE is catalog.namespace.table, or the place WAREHOUSE/NAMESPACE/TABLE. The namespace is created if need be.
    A table of Paimon is in WAREHOUSE/NAMESPACE.db/TABLE; all commands find it by the name without .db, too.

    For example: frazil create lake/db/events -c 'id long' -c 'ts timestamptz' --partition-by 'day(ts)'
    """
    catalog, identifier = session.places.place_or_name(table)
    if bool(columns) == (like is not None):
        raise click.UsageError("give the columns, either by --column or by --like")
    schema = _schema(columns) if like is None else schema_of_file(like)
    plan = {
        "catalog": catalog.name,
        "table": identifier,
        "format": form,
        "partition_by": partition_by,
        "sort_by": sort_by,
        "key": key,
    }
    if not session.agreed(plan, f"Create the table {identifier}."):
        return
    with _no_empty_folders(table if session.places.is_place(table) else None), _namespace_of(catalog, identifier):
        made = catalog.create_table(
            identifier,
            schema,
            list(partition_by),
            list(sort_by),
            pairs(properties),
            location,
            form,
            list(key) or None,
        )
    session.done(plan, {"location": made.location, "uuid": made.uuid}, f"Created {identifier} at {made.location}.")


@contextmanager
def _namespace_of(catalog: fz.Catalog, identifier: str) -> Iterator[None]:
    """A block that creates a table. Its namespace is created first, and removed if the table can't be created."""
    namespace = identifier.rpartition(".")[0]
    is_new = not catalog.namespace_exists(namespace)
    if is_new:
        catalog.create_namespace(namespace)
    try:
        yield
    except FrazilError:
        if is_new:
            with suppress(FrazilError):
                catalog.drop_namespace(namespace)
        raise


@contextmanager
def _no_empty_folders(place: str | None) -> Iterator[None]:
    """A block that leaves no new folder on this machine without anything in it.

    Tables of Paimon are in `NAMESPACE.db`, so the folder of the namespace itself stays empty.
    """
    if place is None or "://" in place:
        yield
        return
    folder = Path(place)
    new = [path for path in (folder, *list(folder.parents)[:2]) if not path.exists()]
    try:
        yield
    finally:
        for path in new:
            # It fails for folders that have something in them.
            with suppress(OSError):
                path.rmdir()


def _schema(columns: tuple[str, ...]) -> Any:
    """The schema of columns such as `id long required`."""
    from frazil.cli.column_types import schema_of_columns

    return schema_of_columns(columns)


@changing("drop")
@click.option("--purge", is_flag=True, help="Also delete the files that the table's metadata name.")
def drop(session: Session, table: str, purge: bool) -> None:
    """Remove a table from its catalog. A catalog of folders deletes its files."""
    catalog, identifier = session.places.place_or_name(table)
    opened = catalog.load_table(identifier)
    plan = {
        "catalog": catalog.name,
        "table": identifier,
        "location": opened.location,
        "snapshots": len(opened.snapshots),
        "purge": purge,
    }
    rows = amount(opened.scan().count(), "row")
    if session.agreed(plan, f"Drop the table {identifier} at {opened.location}, with {rows}. This can't be undone."):
        catalog.drop_table(identifier, purge=purge)
        session.done(plan, {"table": identifier}, f"Dropped {identifier}.")


@changing("set")
@click.argument("properties", metavar="KEY=VALUE...", type=PAIR, nargs=-1, required=True)
def set_(session: Session, table: str, properties: tuple[tuple[str, str], ...]) -> None:
    """Set properties of a table."""
    opened = session.table(table)
    given = pairs(properties)
    shown = output.public_options(given)
    old = output.public_options(opened.properties)
    plan = {"set": shown, "before": {name: old.get(name) for name in given}}
    lines = [f"{output.public(name)}: {old.get(name, '(not set)')} -> {value}" for name, value in shown.items()]
    if session.agreed(plan, "Set " + ", ".join(lines)):
        opened.set_properties(given)
        session.done(plan, {"properties": output.public_options(opened.properties)}, "Set " + ", ".join(lines))


@changing("unset")
@click.argument("names", metavar="KEY...", nargs=-1, required=True)
def unset(session: Session, table: str, names: tuple[str, ...]) -> None:
    """Remove properties of a table."""
    opened = session.table(table)
    old = output.public_options(opened.properties)
    plan = {"unset": names, "before": {name: old.get(name) for name in names}}
    sentence = "Remove " + ", ".join(f"{output.public(name)} ({old.get(name, 'not set')})" for name in names)
    if session.agreed(plan, sentence):
        opened.remove_properties(*names)
        session.done(plan, {"properties": output.public_options(opened.properties)}, f"Done: {sentence}")


@changing("upgrade")
@click.argument("version", type=int)
def upgrade(session: Session, table: str, version: int) -> None:
    """Raise the version of the table format. This can't be undone."""
    opened = session.table(table)
    plan = {"from": opened.format_version, "to": version}
    if version < opened.format_version:
        raise click.UsageError(f"a table can't go back from format version {opened.format_version} to {version}")
    if session.agreed(plan, f"Upgrade from version {opened.format_version} to {version}. This can't be undone."):
        try:
            opened.upgrade(version)
        except UnsupportedError as error:
            # A number that no table has is a wrong argument.
            raise click.UsageError(in_commands(str(error))) from error
        session.done(plan, {"format_version": opened.format_version}, f"The table has version {opened.format_version}.")
