"""The command that examines a table."""

from __future__ import annotations

import click

import frazil as fz
from frazil.cli import output
from frazil.cli.session import Session, looking
from frazil.cli.wording import in_commands

__all__ = ["doctor"]


@looking("doctor")
@click.option("--deep", is_flag=True, help="Also read all footers and the rows of all files.")
@click.option("--all-footers", is_flag=True, help="Read the footers of all files, not of 1,000.")
@click.option("--outside", is_flag=True, help="Also list the folder for files that nothing leads to.")
def doctor(session: Session, table: str, deep: bool, all_footers: bool, outside: bool) -> None:
    """Examine a table from its metadata to its files: what is lost or damaged, and what makes it slow.

    It also works at a place where no table can be opened any more. The exit code is 1 if a finding is an error.
    """
    footers = None if all_footers else fz.doctor.FOOTERS
    listed = True if outside else None
    if session.places.is_place(table):
        found = fz.doctor.examine(session.places.found_place(table), session.places.storage, deep, footers, listed)
    else:
        found = session.table(table).doctor(deep, footers, listed)
    if session.as_json:
        output.document(found.to_dict())
    else:
        output.lines(in_commands(str(found)))
    if not found.is_whole:
        raise click.exceptions.Exit(1)
