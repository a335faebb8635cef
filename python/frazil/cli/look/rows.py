"""Commands that read rows."""

from __future__ import annotations

from typing import Any

import click

from frazil.cli import output
from frazil.cli.row_writing import FORMATS, write_rows
from frazil.cli.session import Session, looking

__all__ = ["AT", "SELECT", "SINCE", "WHERE", "changes", "count", "scan", "scan_of"]


def _columns(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    """Columns that are separated by commas, or given one by one."""
    found = [name.strip() for text in value for name in text.split(",")]
    return found or None


WHERE = click.option("--where", "-w", metavar="FILTER", help="Only these rows, such as \"country = 'NO'\".")
SELECT = click.option("--select", "-s", metavar="COLUMNS", multiple=True, callback=_columns, help="Columns: a,b,c.d")
AT = click.option(
    "--at", metavar="VERSION", help="A snapshot's id, a branch, a tag, a time; VERSION^ is the one before."
)
SINCE = click.option("--since", metavar="VERSION", help="Only rows that were added after this version.")
LIMIT = click.option("--limit", "-l", type=click.IntRange(0), help="The most rows.")
FORMAT = click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(FORMATS),
    help="table (on a terminal), csv (otherwise), jsonl (with --json), parquet, arrow.",
)


@looking("scan")
@WHERE
@SELECT
@AT
@SINCE
@LIMIT
@FORMAT
def scan(session: Session, table: str, form: str | None, limit: int | None, **given: Any) -> None:
    """Print rows, as they are read."""
    found = scan_of(session, table, **given)
    write_rows(found if limit is None else found.limit(limit), form, session.as_json)


@looking("count")
@WHERE
@AT
@SINCE
def count(session: Session, table: str, **given: Any) -> None:
    """Count rows. Metadata alone is used where it is enough."""
    found = scan_of(session, table, select=None, **given).count()
    if session.as_json:
        output.document({"rows": found})
    else:
        output.lines(str(found))


@looking("changes")
@WHERE
@SELECT
@AT
@SINCE
@FORMAT
def changes(
    session: Session,
    table: str,
    where: str | None,
    select: list[str] | None,
    at: str | None,
    since: str | None,
    form: str | None,
) -> None:
    """Print the rows that were added, removed and changed between two versions.

    Each row has the number of its commit in _change_ordinal. Rows come in this order, except those of tables of Paimon
    with a primary key: their rows come bucket by bucket.
    """
    opened = session.table(table)
    found = opened.changes(where, select, session.at(opened, since), session.at(opened, at))
    write_rows(found, form, session.as_json)


def scan_of(
    session: Session, table: str, where: str | None, select: list[str] | None, at: str | None, since: str | None
) -> Any:
    """The scan that the options of a command describe."""
    opened = session.table(table)
    return opened.scan(where, select, session.at(opened, at), session.at(opened, since))
