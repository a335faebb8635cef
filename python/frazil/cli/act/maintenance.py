"""Commands that maintain a table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

import frazil as fz
from frazil.capabilities import supports
from frazil.cli import output
from frazil.cli.session import Session, changing
from frazil.cli.values import AGE, SIZE, integers, separated
from frazil.display.figures import amount, bytes_text

if TYPE_CHECKING:
    from frazil.maintain import RewrittenDeletes

__all__ = ["compact", "expire", "orphans", "rewrite_deletes", "rewrite_manifests"]

_BRANCH = click.option("--branch", metavar="NAME", help="The branch, if not main.")


@changing("expire")
@click.option("--older-than", type=AGE, help="Snapshots older than this, such as 7d or 2026-01-31.")
@click.option("--retain-last", type=click.IntRange(1), help="Keep at least this number.")
@click.option("--snapshot", "snapshots", multiple=True, callback=integers, help="These too, whatever their age: 1,2.")
@click.option("--keep-files", is_flag=True, help="Leave the files to `frazil orphans`.")
def expire(
    session: Session,
    table: str,
    older_than: dt.datetime | dt.timedelta | None,
    retain_last: int | None,
    snapshots: tuple[int, ...],
    keep_files: bool,
) -> None:
    """Remove old snapshots, and the files that only they need."""
    opened = session.table(table)
    given: dict[str, Any] = {
        "older_than": older_than,
        "retain_last": retain_last,
        "snapshot_ids": list(snapshots),
        "delete_files": not keep_files,
    }
    found = opened.maintain.expire_snapshots(dry_run=True, **given)
    plan = {"snapshots": found.snapshots, "refs": found.refs, "files": found.files, "changelogs": found.changelogs}
    files = "leaves their files" if keep_files else amount(len(found.files), "file")
    counted = f"{amount(len(found.snapshots), 'snapshot')} and {files}"
    kept = _least_kept(opened) if retain_last is None else ""
    if not session.agreed(plan, f"Expire removes {counted}.{kept}", not found.snapshots and not found.files):
        return
    done = opened.maintain.expire_snapshots(**given)
    result = {"snapshots": done.snapshots, "files_deleted": done.deleted, "failed": done.failed}
    if not done.snapshots and not done.files:
        session.done(plan, result, f"Nothing is old enough to remove.{kept}")
        return
    files = f"{amount(len(done.files) - len(done.failed), 'file')} deleted" if done.deleted else "files kept"
    session.done(plan, result, f"{amount(len(done.snapshots), 'snapshot')} removed, {files}{_failures(done.failed)}.")


def _least_kept(table: fz.Table) -> str:
    """What is said about a table that keeps a number of snapshots, whatever their age."""
    if supports(table._core, "snapshot_parents"):
        return ""
    least = table.properties.get("snapshot.num-retained.min", "10")
    return f" The newest {least} snapshots stay (snapshot.num-retained.min); --retain-last sets another number."


@changing("compact")
@click.option(
    "--strategy", type=click.Choice(["binpack", "sort", "zorder", "full", "minor"]), help="How files are made."
)
@click.option("--where", "-w", metavar="FILTER", help="Only files that may have such rows.")
@click.option("--target-size", "target_file_size_bytes", type=SIZE, help="The size of files, such as 256MiB.")
@click.option("--min-files", "min_input_files", type=click.IntRange(1), help="Groups of this number are rewritten.")
@click.option("--all", "rewrite_all", is_flag=True, help="Rewrite every file.")
@click.option("--sort-by", metavar="COLUMNS", multiple=True, callback=separated, help="Sort by these: 'id,ts desc'.")
@click.option(
    "--zorder-by", metavar="COLUMNS", multiple=True, callback=separated, help="Sort along a curve over these: a,b."
)
@_BRANCH
def compact(session: Session, table: str, **given: Any) -> None:
    """Rewrite data files that are too small, too large, or have many deletes."""
    opened = session.table(table)
    # Not every table takes every argument.
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in given.items() if v}
    if "zorder_by" in given:
        given.setdefault("strategy", "zorder")
    elif "sort_by" in given:
        given.setdefault("strategy", "sort")
    found = opened.maintain.compact(dry_run=True, **given)
    plan = {"groups": found.groups, "files": found.rewritten_files, "bytes": found.rewritten_bytes}
    sentence = f"Compaction rewrites {amount(found.rewritten_files, 'file')} ({bytes_text(found.rewritten_bytes)})."
    is_order = not found.rewritten_files and given.get("strategy") in ("sort", "zorder")
    hint = " All files have the right size; --all sorts them nevertheless." if is_order else ""
    if not session.agreed(plan, sentence + hint, not found.rewritten_files):
        return
    done = opened.maintain.compact(**given)
    made = f"{amount(done.rewritten_files, 'file')} became {amount(done.added_files, 'file')}"
    session.done(plan, done._asdict(), f"{made} ({bytes_text(done.added_bytes)}).{hint}")


@changing("orphans")
@click.option("--older-than", type=AGE, help="Files older than this; three days if it is not given.")
@click.option("--location", metavar="FOLDER", help="Look in this folder instead of the table's.")
def orphans(session: Session, table: str, older_than: dt.datetime | dt.timedelta | None, location: str | None) -> None:
    """Delete files that no snapshot needs. Failed writers leave such files."""
    opened = session.table(table)
    found = opened.maintain.remove_orphan_files(older_than, location, dry_run=True)
    plan = {"files": found.files}
    listed = "".join(f"\n  {output.public(path, 2000)}" for path in found.files[:20])
    more = f"\n  and {len(found.files) - 20} more" if len(found.files) > 20 else ""
    sentence = (
        f"Delete {amount(len(found.files), 'orphan file')}:{listed}{more}" if listed else "There are no orphan files."
    )
    if not session.agreed(plan, sentence, not found.files):
        return
    done = opened.maintain.remove_orphan_files(older_than, location)
    deleted = amount(len(done.files) - len(done.failed), "file")
    session.done(plan, {"files": done.files, "failed": done.failed}, f"{deleted} deleted{_failures(done.failed)}.")


@changing("rewrite-manifests")
@click.option("--target-size", type=SIZE, help="The size of manifests, such as 8MiB.")
@_BRANCH
def rewrite_manifests(session: Session, table: str, target_size: int | None, branch: str | None) -> None:
    """Rewrite manifests, sorted by partition, so that plans open few of them."""
    opened = session.table(table)
    given: dict[str, Any] = {"target_size_bytes": target_size, "branch": branch}
    found = opened.maintain.rewrite_manifests(dry_run=True, **given)
    plan = {"manifests": found.rewritten}
    if not session.agreed(plan, f"Rewrite {amount(len(found.rewritten), 'manifest')}.", not found.rewritten):
        return
    done = opened.maintain.rewrite_manifests(**given)
    made = f"{amount(len(done.rewritten), 'manifest')} became {amount(len(done.added), 'manifest')}."
    session.done(plan, {"rewritten": done.rewritten, "added": done.added}, made)


@changing("rewrite-deletes")
@click.option("--dangling", "kind", flag_value="dangling", help="Only remove deletes that delete nothing.")
@click.option("--equality", "kind", flag_value="equality", help="Convert equality deletes to deletes by position.")
@_BRANCH
def rewrite_deletes(session: Session, table: str, kind: str | None, branch: str | None) -> None:
    """Combine delete files, and leave out deletes of data files that were removed."""
    maintain = session.table(table).maintain
    work: Callable[..., RewrittenDeletes]
    if kind == "dangling":
        work = maintain.remove_dangling_deletes
    elif kind == "equality":
        work = maintain.convert_equality_deletes
    else:
        work = maintain.rewrite_position_deletes
    found = work(dry_run=True, branch=branch)
    plan = {"files": found.rewritten_files, "bytes": found.rewritten_bytes}
    counted = f"{amount(found.rewritten_files, 'delete file')} ({bytes_text(found.rewritten_bytes)})"
    if not session.agreed(plan, f"Rewrite {counted}.", not found.rewritten_files):
        return
    done = work(branch=branch)
    made = f"{amount(done.rewritten_files, 'delete file')} became {amount(done.added_files, 'delete file')}."
    session.done(plan, done._asdict(), made)


def _failures(failed: dict[str, str]) -> str:
    return f"; {amount(len(failed), 'file')} could not be deleted" if failed else ""
