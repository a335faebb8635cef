"""Commands that say what a table or a catalog is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

import frazil as fz
from frazil.arguments import configuration
from frazil.cli import json_text, output
from frazil.cli.commits import buckets_of, merges_rows, what
from frazil.cli.look.health import health_of, sizes_of
from frazil.cli.look.rows import AT, WHERE
from frazil.cli.places import is_place
from frazil.cli.session import Session, looking
from frazil.display.commits import integer_of
from frazil.display.figures import amount, bytes_text, number
from frazil.exceptions import FrazilError, NotFoundError

__all__ = ["catalogs", "ls", "properties", "schema", "show", "spec"]

_SHOWN_COMMITS = 5


@looking("ls", table=False)
@click.argument("name", required=False, metavar="[CATALOG[.NAMESPACE]|FOLDER]")
def ls(session: Session, name: str | None) -> None:
    """List tables.

    Of the default catalog, of a catalog, of a namespace, or of a warehouse that is a folder.
    """
    catalog, namespace = _catalog_of(session, name)
    tables = catalog.list_tables(namespace)
    if not tables and not session.as_json:
        output.say("There are no tables.")
    if session.as_json:
        output.document([{"catalog": catalog.name, "table": table} for table in tables])
    else:
        for table in tables:
            output.lines(output.public(table))


def _catalog_of(session: Session, name: str | None) -> tuple[fz.Catalog, str | None]:
    places = session.places
    if name is None or places.named is not None:
        return places.catalog(), name
    if is_place(name):
        return _folder(places.storage, name)
    first, _, rest = name.partition(".")
    known = configuration.known_catalogs(configuration.configured())
    if first.lower() not in known and not places.storage:
        names = {"name": first, "catalogs": ", ".join(known) or "none"}
        raise NotFoundError("there is neither a folder nor a catalog of this name", names)
    if first.lower() in known or not places.storage:
        return places.catalog(first), rest or None
    return places.catalog(), name


def _folder(storage: dict[str, str], place: str) -> tuple[fz.Catalog, str | None]:
    """A warehouse that is a folder, or the warehouse above and the namespace, if the folder is a namespace."""

    def at(folder: str) -> fz.Catalog:
        return fz.catalog(**{"type": "filesystem", **storage, "warehouse": folder})

    place = place.replace(os.sep, "/").rstrip("/") or "/"
    is_there = "://" in place or Path(place).expanduser().is_dir()
    if is_there and at(place).list_tables():
        return at(place), None
    above, slash, name = place.rpartition("/")
    above = above or slash or "."
    namespace = name.removesuffix(".db")
    if namespace and not namespace.startswith(".") and not above.endswith(":/"):
        # A namespace of Paimon is the folder `NAME.db`.
        with suppress(FrazilError):
            found = at(above)
            if found.list_tables(namespace) or (not is_there and found.namespace_exists(namespace)):
                return found, namespace
    if not is_there:
        raise NotFoundError("there is no such folder", {"path": place})
    return at(place), None


@looking("catalogs", table=False)
def catalogs(session: Session) -> None:
    """List the catalogs of the configuration."""
    read = configuration.configured()
    found: list[dict[str, Any]] = []
    for name in configuration.known_catalogs(read):
        settings = configuration.without_secrets(configuration.merged(name, {}, read))
        kind = settings.pop("type")
        found.append({"name": name, "type": kind, "properties": settings})
    if session.as_json:
        output.document(found)
        return
    if not found:
        output.say(f"No catalog is described. The configuration is {configuration.source()}.")
        return
    where = [(c, c["properties"].get("uri") or c["properties"].get("warehouse")) for c in found]
    output.grid(("catalog", "type", "where"), [(c["name"], c["type"], place) for c, place in where])


@looking("schema")
@click.option("--at", metavar="VERSION", help="The columns of this version.")
def schema(session: Session, table: str, at: str | None) -> None:
    """Show the columns."""
    opened = session.table(table)
    found = opened.schema if at is None else opened.scan(at=session.at(opened, at)).schema
    if session.as_json:
        output.document(json_text.read(found.to_json()))
        return
    _grid_of_fields(found)


def _grid_of_fields(schema: fz.Schema, indent: str = "") -> None:
    """Prints columns. Those of a key are marked."""
    header, rows = ("id", "column", "type", "nulls", "comment"), _fields(schema.fields)
    if not (keys := set(schema.identifier_fields)):
        output.grid(header, rows, indent)
        return
    marked = [(*row[:4], "yes" if row[1] in keys else "", row[4]) for row in rows]
    output.grid((*header[:4], "key", header[4]), marked, indent)


def _fields(fields: tuple[fz.Field, ...], depth: int = 0) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for field in fields:
        kind = field.type.partition("<")[0] if field.children else field.type
        rows.append((field.id, "  " * depth + field.name, kind, "no" if field.required else "yes", field.doc))
        rows += _fields(field.children, depth + 1)
    return rows


@looking("spec")
def spec(session: Session, table: str) -> None:
    """Show how rows are partitioned and sorted, and the table's key and buckets."""
    opened = session.table(table)
    partitions, order = opened.partition_spec, opened.sort_order
    if session.as_json:
        output.document(
            {
                "partition_spec": {"id": partitions.id, "fields": [f._asdict() for f in partitions.fields]},
                "sort_order": {"id": order.id, "fields": [f._asdict() for f in order.fields]},
                "key": opened.schema.identifier_fields,
                "buckets": buckets_of(opened),
            }
        )
        return
    rows = [("partition", str(field)) for field in partitions.fields] + [("sort", str(field)) for field in order.fields]
    rows += [("key", name) for name in opened.schema.identifier_fields]
    if (buckets := buckets_of(opened)) is not None:
        rows.append(("buckets", buckets))
    output.grid(("", "field"), rows) if rows else output.say("The table is neither partitioned nor sorted.")


@looking("properties")
def properties(session: Session, table: str) -> None:
    """Show the table's properties. Secrets are hidden."""
    found = session.table(table).properties
    if session.as_json:
        output.document(output.masked_options(found))
    else:
        output.grid(("property", "value"), sorted(output.public_options(found).items()))


@looking("show")
@click.option("--html", "page", metavar="FILE", help="Write a page for a browser to this file instead.")
@WHERE
@AT
@click.option("--no-doctor", is_flag=True, help="Leave the findings of the doctor out of the page.")
def show(session: Session, table: str, page: str | None, where: str | None, at: str | None, no_doctor: bool) -> None:
    """Show a table on one screen: columns, partitions, size, last commits, health.

    With --html it writes a page that also shows snapshots, files and what a scan reads of them. --where, --at and
    --no-doctor are for this page.
    """
    if page is None and (where is not None or at is not None or no_doctor):
        raise click.UsageError("--where, --at and --no-doctor are for a page: give --html FILE too")
    opened = session.table(table)
    if page is not None:
        _page(session, opened, page, where, at, no_doctor)
        return
    sizes = sizes_of(opened)
    health = health_of(opened, sizes)
    if session.as_json:
        output.document(_facts(opened, sizes, health))
        return
    output.heading(output.public(opened.name))
    output.facts(_named(opened, sizes))
    output.lines("")
    output.heading("Columns")
    _grid_of_fields(opened.schema, "  ")
    _show_commits(opened)
    output.lines("")
    output.heading("Health")
    for finding in health or ["nothing to note"]:
        output.lines(f"  {finding}")


def _page(session: Session, table: fz.Table, file: str, where: str | None, at: str | None, no_doctor: bool) -> None:
    written = table.report(file, where, session.at(table, at), doctor=not no_doctor)
    if session.as_json:
        output.document({"page": written})
    else:
        output.lines(written)


def _named(table: fz.Table, sizes: dict[str, int | None]) -> dict[str, Any]:
    partitions = ", ".join(str(field) for field in table.partition_spec.fields)
    refs = [str(ref) for ref in table.refs.values() if ref.name != "main"]
    files, size = sizes["data_files"] or 0, sizes["data_bytes"] or 0
    rows = amount(sizes["rows"] or 0, "row")
    summary = table.snapshot.summary if table.snapshot is not None and merges_rows(table) else {}
    if (stored := integer_of(summary.get("total-records", ""))) is not None:
        rows += f" after merging ({number(stored)} stored)"
    held = [rows, amount(files, "file"), bytes_text(size)]
    return {
        "location": table.location,
        "format": f"{table.format.capitalize()} version {table.format_version}",
        "partitions": partitions or "not partitioned",
        "key": ", ".join(table.schema.identifier_fields) or None,
        "buckets": buckets_of(table),
        "order": ", ".join(str(field) for field in table.sort_order.fields) or None,
        "size": ", ".join(held) + (f", in {amount(sizes['partitions'] or 0, 'partition')}" if partitions else ""),
        "versions": f"{number(len(table.snapshots))}",
        "refs": ", ".join(refs) or None,
        "properties": number(len(table.properties)),
    }


def _show_commits(table: fz.Table) -> None:
    snapshots = table.snapshots
    output.lines("")
    output.heading("Last commits")
    rows = [
        (f"{s.timestamp:%Y-%m-%d %H:%M:%S}", str(s.id), s.operation, what(table, s, counts_files=True))
        for s in snapshots[-_SHOWN_COMMITS:][::-1]
    ]
    if rows:
        fit = output.Fit(whole=("snapshot", "time (UTC)"))
        output.grid(("time (UTC)", "snapshot", "operation", "what"), rows, "  ", fit)
    else:
        output.lines("  none: the table is empty")


def _facts(table: fz.Table, sizes: dict[str, int | None], health: list[str]) -> dict[str, Any]:
    snapshot = table.snapshot
    commits = [
        {
            "snapshot_id": s.id,
            "timestamp": s.timestamp,
            "operation": s.operation,
            "summary": output.masked_options(s.summary),
        }
        for s in table.snapshots[-_SHOWN_COMMITS:][::-1]
    ]
    return {
        "name": table.name,
        "location": output.masked(table.location),
        "metadata_location": output.masked(table.metadata_location),
        "format": f"{table.format}",
        "format_version": table.format_version,
        "uuid": table.uuid,
        "snapshot_id": None if snapshot is None else snapshot.id,
        "schema": json_text.read(table.schema.to_json()),
        "partition_fields": [str(field) for field in table.partition_spec.fields],
        "sort_fields": [str(field) for field in table.sort_order.fields],
        "sizes": sizes,
        "refs": [ref._asdict() for ref in table.refs.values()],
        "last_commits": commits,
        "properties": output.masked_options(table.properties),
        "health": health,
    }
