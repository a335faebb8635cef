"""The command that repairs a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import click

import frazil as fz
from frazil.capabilities import format_name, supports
from frazil.cli import output
from frazil.cli.session import Session, changing
from frazil.cli.values import separated
from frazil.cli.wording import in_commands
from frazil.display.figures import amount
from frazil.exceptions import FrazilError

__all__ = ["repair"]

_ABOUT_FILES = ("file-", "delete-file-", "manifest-missing", "manifest-damaged", "manifest-truncated", "manifest-list-")
"""How codes begin of findings that name one file."""

MAIN = "main"
"""The branch that readers see unless they ask for another version."""

_PATHS = {"file_path", "file_name", "path"}
"""The columns of metadata tables with these files."""


@changing("repair")
@click.option(
    "--only", "kinds", metavar="KINDS", multiple=True, callback=separated, help="Only these kinds of repair: a,b."
)
@click.option(
    "--restore", is_flag=True, help="Write a lost or damaged metadata file again, in a folder of Apache Iceberg."
)
def repair(session: Session, table: str, kinds: tuple[str, ...], restore: bool) -> None:
    """Repair what `frazil doctor` finds, in commits that can be rolled back. Rows that are lost are named.

    Kinds are refs, manifests, lost-files, dangling-deletes and summaries; all of them if none is given.
    """
    work: Callable[[bool], fz.doctor.Repair]
    if restore:
        if not session.places.is_place(table) or kinds:
            raise click.UsageError("--restore takes a folder, and no --only")
        _check_restorable(session, table)

        def work(dry_run: bool) -> fz.doctor.Repair:
            return fz.doctor.restore(table, session.places.storage, dry_run)
    else:
        opened = session.table(table)

        def work(dry_run: bool) -> fz.doctor.Repair:
            return opened.repair(*kinds, dry_run=dry_run)

    found = work(True)
    plan = {"steps": [dataclasses.asdict(step) for step in found.steps], "rows_lost": found.rows_lost}
    left = "" if found.steps or restore else _left(opened, bool(kinds))
    if not session.agreed(plan, in_commands(str(found)) + left, not found.steps):
        return
    done = work(False)
    if done.steps and not restore:
        left = _left(opened, bool(kinds))
    session.done(plan, {**dataclasses.asdict(done), "rows_lost": done.rows_lost}, in_commands(str(done)) + left)


def _check_restorable(session: Session, table: str) -> None:
    """Refuses tables whose format has no metadata file that could be written again."""
    try:
        opened = session.table(table)
    except FrazilError:
        place = Path(session.places.found_place(table))
        if (place / "metadata").is_dir() or not (place / "snapshot").is_dir():
            return
        # The folders of a damaged table of Paimon.
        name = "Apache Paimon"
    else:
        if supports(opened._core, "snapshot_parents"):
            return
        name = format_name(opened._core)
    raise click.UsageError(
        f"--restore writes metadata files, which {name} does not have. Leave it out. If the table can't be opened: "
        "frazil doctor says which file is damaged. Restore that file from a copy. A newest snapshot without a copy can "
        "be given up: move its file and LATEST out of the folder snapshot, then use frazil repair"
    )


def _left(table: fz.Table, is_part: bool) -> str:
    """A line about the errors that a table still has, as far as metadata and footers show them. Empty without errors.

    Args:
        table: The table.
        is_part: Whether only some kinds of repair were asked for.
    """
    try:
        newest = table.refresh()
        errors = newest.doctor().errors
    except FrazilError:
        # What was repaired is still to be said.
        return ""
    if not errors:
        return ""
    keeping = _versions_with(newest, errors)
    if MAIN in keeping:
        verb = "left" if is_part else "without a repair"
        return f"\n{amount(len(errors), 'error')} {verb}: see frazil doctor"
    if keeping:
        names = output.public(", ".join(keeping), 200)
        kept = f"left in versions that branches or tags keep: {names}. The newest version of main is whole"
        return f"\n{amount(len(errors), 'error')} {kept}. Drop or move the others: frazil branch, frazil tag"
    return f"\n{amount(len(errors), 'error')} left in older snapshots, until they expire: see frazil expire"


def _versions_with(table: fz.Table, errors: list[fz.doctor.Finding]) -> list[str]:
    """The branches and tags whose versions have these errors. Errors about more than a file are those of `main`."""
    try:
        files = {name: _files_of(table, name) for name in table.refs}
    except FrazilError:
        return [MAIN]
    if any(not error.code.startswith(_ABOUT_FILES) for error in errors):
        return [MAIN]
    lost = {error.object for error in errors}
    return sorted(name for name, named in files.items() if not named.isdisjoint(lost))


def _files_of(table: fz.Table, name: str) -> set[str]:
    """Files and manifests of the version that a branch or tag names. Its manifest list is readable."""
    found: set[str] = set()
    # In tables of Paimon, branches number their snapshots by themselves, and those of tags may have expired.
    is_shared = supports(table._core, "snapshot_parents")
    tables = [table.inspect.files, table.inspect.manifests]
    if is_shared:
        # Tables of Paimon have no delete files.
        tables.append(table.inspect.delete_files)
    version = table.refs[name].snapshot_id if is_shared else name
    for listed in tables:
        rows = listed(at=version)
        for column in _PATHS.intersection(rows.schema.names):
            found.update(rows[column].to_pylist())
    return found
