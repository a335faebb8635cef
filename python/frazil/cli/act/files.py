"""The command that adds rows from files."""

from __future__ import annotations

from typing import Any

import click

from frazil.cli.commits import files_added_by
from frazil.cli.data_files import FORMATS, batches_of, described, with_rows
from frazil.cli.session import Session, changing
from frazil.cli.values import PAIR, pairs
from frazil.display.figures import amount, bytes_text

__all__ = ["append"]


@changing("append")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(FORMATS), help="The format; otherwise the files' suffixes say it.")
@click.option("--branch", metavar="NAME", help="The branch, if not main.")
@click.option("--property", "properties", metavar="KEY=VALUE", type=PAIR, multiple=True, help="For the summary.")
def append(
    session: Session,
    table: str,
    files: tuple[str, ...],
    form: str | None,
    branch: str | None,
    properties: tuple[tuple[str, str], ...],
) -> None:
    """Add the rows of files in one commit: Parquet, CSV, JSON lines, Arrow. - is standard input.

    CSV and JSON are read with the types of the table's columns.
    """
    opened = session.table(table)
    found = [described(name, form) for name in files]
    if "-" in files and not (session.yes or session.dry_run):
        raise click.UsageError("rows come from standard input, so there is no one to ask: give --yes or --dry-run")
    plan = {"table": opened.name, "branch": branch or "main", "files": [file._asdict() for file in found]}
    rows = [file.rows for file in found]
    size = bytes_text(sum(file.bytes or 0 for file in found))
    counted = amount(sum(n or 0 for n in rows), "row") if None not in rows else "the rows"
    sentence = f"Append {counted} of {amount(len(found), 'file')} ({size}) to {opened.name}."
    if not session.agreed(plan, sentence):
        return
    given: dict[str, Any] = {"branch": branch, "snapshot_properties": pairs(properties)}
    opened.append(with_rows(batches_of(found, opened.schema.to_arrow())), **given)
    done = opened.last_commit
    if done.files_added is None and branch is None:
        done = done._replace(files_added=files_added_by(opened, done.snapshot_id))
    added = "the rows" if done.rows_added is None else amount(done.rows_added, "row")
    files_made = "" if done.files_added is None else f" in {amount(done.files_added, 'file')}"
    session.done(plan, done._asdict(), f"Added {added}{files_made}: {done.snapshot_id}.")
