"""The command that repairs a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click

import frazil as fz
from frazil.cli.places import is_place
from frazil.cli.session import Session, changing

__all__ = ["repair"]


@changing("repair")
@click.option("--only", "kinds", metavar="KIND", multiple=True, help="Only this kind of repair. Repeatable.")
@click.option(
    "--restore", is_flag=True, help="Write the metadata file of a folder again, whose own is damaged or lost."
)
def repair(session: Session, table: str, kinds: tuple[str, ...], restore: bool) -> None:
    """Repair what `frazil doctor` finds, in commits that can be rolled back. Rows that are lost are named.

    Kinds are refs, manifests, lost-files, dangling-deletes and summaries; all of them if none is given.
    """
    work: Callable[[bool], fz.doctor.Repair]
    if restore:
        if not is_place(table) or kinds:
            raise click.UsageError("--restore takes a folder, and no --only")

        def work(dry_run: bool) -> fz.doctor.Repair:
            return fz.doctor.restore(table, session.places.storage, dry_run)
    else:
        opened = session.table(table)

        def work(dry_run: bool) -> fz.doctor.Repair:
            return opened.repair(*kinds, dry_run=dry_run)

    found = work(True)
    plan = {"steps": [dataclasses.asdict(step) for step in found.steps], "rows_lost": found.rows_lost}
    if not session.agreed(plan, str(found)):
        return
    done = work(False)
    session.done(plan, {**dataclasses.asdict(done), "rows_lost": done.rows_lost}, str(done))
