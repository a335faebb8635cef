"""The command that compares two versions."""

from __future__ import annotations

from typing import Any

import click

import frazil as fz
from frazil.cli import output
from frazil.cli.places import is_place
from frazil.cli.session import Session, looking
from frazil.display.partitions import without_braces

__all__ = ["diff"]


@looking("diff")
@click.argument("a")
@click.argument("b", required=False)
@click.option("--rows", is_flag=True, help="Count added, removed and changed rows. Reads the files that differ.")
@click.option("--files", is_flag=True, help="List the files.")
def diff(session: Session, table: str, a: str, b: str | None, rows: bool, files: bool) -> None:
    """Show what differs between two versions: columns, properties, rows, files, partitions.

    A and B are versions, or metadata files of the table. Without B, it is the newest version.
    """
    opened = session.table(table)
    found = opened.diff(_side(session, opened, a), None if b is None else _side(session, opened, b), rows=rows)
    if session.as_json:
        output.document(found.to_dict())
        return
    output.lines(str(found))
    if files:
        output.lines("")
        listed = (
            (
                *(row["change"], row["content"], row["record_count"], row["file_size_in_bytes"]),
                *(without_braces(row["partition"]), row["file_path"]),
            )
            for row in found.files.to_pylist()
        )
        output.grid(("", "content", "rows", "bytes", "partition", "path"), listed, fit=output.Fit(tail=("path",)))


def _side(session: Session, table: fz.Table, text: str) -> Any:
    """A version, or the table that a metadata file describes."""
    if is_place(text) and text not in table.refs:
        return fz.open_table(text, storage_options=session.places.storage)
    return session.at(table, text)
