"""Commands that move, create and remove branches and tags."""

from __future__ import annotations

from typing import Any

import click

import frazil as fz
from frazil.capabilities import supports
from frazil.cli import output
from frazil.cli.session import Session, changing
from frazil.exceptions import AlreadyExistsError

__all__ = ["branch", "rollback", "tag"]


@changing("rollback")
@click.argument("version")
@click.option("--branch", metavar="NAME", default="main", help="The branch to move.")
@click.option("--any", "any_version", is_flag=True, help="Also to a version that the branch does not descend from.")
def rollback(session: Session, table: str, version: str, branch: str, any_version: bool) -> None:
    """Move a branch back to an earlier version.

    Tables of Iceberg keep later snapshots until they expire. Tables of Paimon lose them for good.

    VERSION is a snapshot's id, a tag, a time, or main^ for the version before the newest.
    """
    opened = session.table(table)
    to = session.at(opened, version)
    before, after = opened.refs[branch].snapshot_id, opened.scan(at=to).snapshot_id
    plan: dict[str, Any] = {"branch": branch, "from": before, "to": after}
    sentence = f"Move {branch} from snapshot {before} to {after}."
    if removed := _removed(opened, branch, after):
        tags = _later_tags(opened, branch, after)
        plan |= {"removed_snapshots": removed, "removed_tags": tags}
        which = "they" if len(removed) + len(tags) > 1 else "it"
        sentence += f" This removes {_span(removed, tags)}; {which} can't be brought back."
    if not session.agreed(plan, sentence):
        return
    (opened.set_current_snapshot if any_version else opened.rollback)(to, branch)  # type: ignore[arg-type]
    result = {"branch": branch, "snapshot_id": opened.refs[branch].snapshot_id}
    session.done(plan, result, f"{branch} is at snapshot {result['snapshot_id']}.")


def _removed(table: fz.Table, branch: str, to: int | None) -> list[int]:
    """The ids of snapshots that a rollback deletes. Tables whose snapshots name their parents keep all."""
    if to is None or supports(table._core, "snapshot_parents"):
        return []
    ids = [table.refs[branch].snapshot_id] if branch != "main" else [snapshot.id for snapshot in table.snapshots]
    newest = max(ids, default=to)
    return list(range(to + 1, newest + 1))


def _later_tags(table: fz.Table, branch: str, to: int | None) -> list[str]:
    """The tags that such a rollback of main deletes with their snapshots."""
    if branch != "main" or to is None:
        return []
    return [ref.name for ref in table.refs.values() if ref.type == "tag" and ref.snapshot_id > to]


def _span(ids: list[int], tags: list[str]) -> str:
    found = f"snapshot {ids[0]}" if len(ids) == 1 else f"snapshots {ids[0]} to {ids[-1]}"
    return f"{found} and the {'tag' if len(tags) == 1 else 'tags'} {', '.join(tags)}" if tags else found


@changing("branch")
@click.argument("name")
@click.option("--at", metavar="VERSION", help="Where it starts; the newest version if it is not given.")
@click.option("--drop", is_flag=True, help="Remove the branch.")
@click.option("--replace", is_flag=True, help="Move it to --at or to the newest version, wherever it is.")
@click.option("--rename", metavar="NEW", help="Give it another name.")
@click.option("--fast-forward", metavar="REF", help="Move it forward to a branch or tag that descends from it.")
def branch(
    session: Session,
    table: str,
    name: str,
    at: str | None,
    drop: bool,
    replace: bool,
    rename: str | None,
    fast_forward: str | None,
) -> None:
    """Create a branch, or drop, move or rename one."""
    action = _action(at, drop, replace, **{"--rename": rename, "--fast-forward": fast_forward})
    opened = session.table(table)
    refs = opened.refs
    if rename is not None or fast_forward is not None:
        # The branch must be there.
        refs[name]
    if rename is not None:
        _change(session, opened, {"action": "rename", "name": name, "to": rename}, lambda: refs.rename(name, rename))
    elif fast_forward is not None:
        plan = {"action": "fast-forward", "name": name, "to": fast_forward}
        _change(session, opened, plan, lambda: refs.fast_forward(name, fast_forward))
    else:
        _plain(session, opened, "branch", name, at, action)


@changing("tag")
@click.argument("name")
@click.option("--at", metavar="VERSION", help="What it names; the newest version if it is not given.")
@click.option("--drop", is_flag=True, help="Remove the tag.")
@click.option("--replace", is_flag=True, help="Move it to --at or to the newest version.")
def tag(session: Session, table: str, name: str, at: str | None, drop: bool, replace: bool) -> None:
    """Create a tag, or drop or move one."""
    action = _action(at, drop, replace)
    _plain(session, session.table(table), "tag", name, at, action)


def _action(at: str | None, drop: bool, replace: bool, **others: str | None) -> str | None:
    """What is done with a reference, unless it is created. Refuses options that don't go together."""
    given = [
        option
        for option, value in {"--drop": drop or None, "--replace": replace or None, **others}.items()
        if value is not None
    ]
    if at is not None and given and not replace:
        given.append("--at")
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} can't be given together")
    return "drop" if drop else "replace" if replace else None


def _plain(session: Session, table: fz.Table, kind: str, name: str, at: str | None, action: str | None) -> None:
    """Creates, replaces or drops a reference."""
    refs = table.refs
    version = session.at(table, at)
    if action is not None and refs[name].type != kind:
        raise click.UsageError(f"'{name}' is a {refs[name].type}")
    if action == "drop":
        _change(session, table, {"action": f"drop {kind}", "name": name, "to": None}, lambda: refs.drop(name))
        return
    to = table.scan(at=version).snapshot_id
    if action == "replace":
        # Without --at, it is the newest version.
        moved = to if version is None else version
        if moved is None:
            raise click.UsageError("the table has no version yet")
        _change(session, table, {"action": f"move {kind}", "name": name, "to": to}, lambda: refs.replace(name, moved))
        return
    if name in refs and refs[name].type == kind:
        raise AlreadyExistsError(
            f"the table has a {kind} of this name already", {"ref": name}, "--replace moves it, --drop removes it"
        )
    create = refs.create_branch if kind == "branch" else refs.create_tag
    _change(session, table, {"action": f"create {kind}", "name": name, "to": to}, lambda: create(name, version))


def _change(session: Session, table: fz.Table, plan: dict[str, Any], change: Any) -> None:
    name, target = output.public(plan["name"]), output.public(plan["to"])
    to = "" if plan["to"] is None else f" to {target}" if "create" not in plan["action"] else f" at {target}"
    sentence = f"{plan['action'].capitalize()} {name}{to}."
    if session.agreed(plan, sentence):
        change()
        session.done(plan, {"refs": [ref._asdict() for ref in table.refs.values()]}, f"Done: {sentence}")
