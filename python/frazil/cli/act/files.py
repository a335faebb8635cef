"""The command that adds rows from files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import frazil as fz
from frazil.cli.commits import files_added_by
from frazil.cli.data_files import FORMATS, DataSource, batches_of, described, with_rows
from frazil.cli.session import Session, changing
from frazil.cli.values import PAIR, pairs
from frazil.display.figures import amount, bytes_text

if TYPE_CHECKING:
    import pyarrow as pa

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
    counted = amount(sum(n or 0 for n in rows), "row") if None not in rows else "the rows"
    sentence = f"Append {counted} of {_named(found)} to {opened.name}{_on(opened, branch)}."
    if not session.agreed(plan, sentence):
        return
    given: dict[str, Any] = {"branch": branch, "snapshot_properties": pairs(properties)}
    passed: list[int] = []
    opened.append(_counted(with_rows(batches_of(found, opened.schema.to_arrow())), passed), **given)
    done = opened.last_commit
    if done.snapshot_id is None and branch is not None:
        # A table of Paimon knows its commits to main only.
        made = opened.refresh().refs[branch].snapshot_id
        done = done._replace(
            snapshot_id=made, operation="append", rows_added=sum(passed), files_added=None, snapshots=1
        )
    if done.files_added is None and branch is None:
        done = done._replace(files_added=files_added_by(opened, done.snapshot_id))
    added = "the rows" if done.rows_added is None else amount(done.rows_added, "row")
    files_made = "" if done.files_added is None else f" in {amount(done.files_added, 'file')}"
    on = "" if branch is None else f" to the branch {branch}"
    session.done(plan, done._asdict(), f"Added {added}{files_made}{on}: {done.snapshot_id}.")


def _named(files: list[DataSource]) -> str:
    """Files as text, with their bytes. Those of standard input are unknown."""
    known = [file.bytes for file in files if file.bytes is not None]
    parts = [f"{amount(len(known), 'file')} ({bytes_text(sum(known))})"] if known else []
    return " and ".join([*parts, "standard input"] if len(known) < len(files) else parts)


def _on(table: fz.Table, branch: str | None) -> str:
    """What is said about a branch. Tables of Iceberg get a new one by an append to it."""
    if branch is None:
        return ""
    return f", branch {branch}" if branch in table.refs else f". This creates the branch {branch}"


def _counted(batches: Iterator[pa.RecordBatch], passed: list[int]) -> Iterator[pa.RecordBatch]:
    """The batches. The numbers of their rows are kept."""
    for batch in batches:
        passed.append(batch.num_rows)
        yield batch
