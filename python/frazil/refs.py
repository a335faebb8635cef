"""Branches and tags: names for snapshots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from frazil import arguments
from frazil.arguments import At
from frazil.arguments.checked import checked
from frazil.exceptions import NotFoundError
from frazil.requests import evolution
from frazil.requests.evolution import Evolution
from frazil.requests.handle import TableHandle

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ref", "RefChanges", "Refs"]


class Ref(NamedTuple):
    """A branch or tag: a name for a snapshot.

    Attributes:
        name: Its name.
        snapshot_id: The snapshot it points at.
        type: `branch` or `tag`.
        min_snapshots_to_keep: Of a branch: how many snapshots expiry keeps; None is the table's default.
        max_snapshot_age_ms: Of a branch: how old snapshots may get; None is the table's default.
        max_ref_age_ms: How old the reference may get; None is the table's default.
    """

    name: str
    snapshot_id: int
    type: str
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None


@checked
class RefChanges:
    """The verbs that change branches and tags: each returns the same object, so that they chain.

    What is made `at=None` is made at the current snapshot. Ages are milliseconds or a `datetime.timedelta`.
    """

    def __init__(self, submit: Callable[[Evolution], object]) -> None:
        self._submit = submit

    def create_branch(
        self,
        name: str,
        at: At | None = None,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | dt.timedelta | None = None,
        max_ref_age_ms: int | dt.timedelta | None = None,
    ) -> Self:
        """Makes a branch.

        Args:
            name: Its name.
            at: The version it begins at: a snapshot's id, a branch or tag, or a point in time.
            min_snapshots_to_keep: How many of its snapshots expiry keeps.
            max_snapshot_age_ms: How old its snapshots may get.
            max_ref_age_ms: How old the branch may get.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        kept = _retention(min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms)
        return self._change(evolution.create_branch(name, at, kept))

    def create_tag(self, name: str, at: At | None = None, *, max_ref_age_ms: int | dt.timedelta | None = None) -> Self:
        """Makes a tag.

        Args:
            name: Its name.
            at: The version it names: a snapshot's id, a branch or tag, or a point in time.
            max_ref_age_ms: How old the tag may get.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        return self._change(evolution.create_tag(name, at, _retention(None, None, max_ref_age_ms)))

    def replace(self, name: str, at: At) -> Self:
        """Lets a branch or tag name another snapshot, whether or not it descends from the old one.

        Args:
            name: The branch or tag.
            at: The version: a snapshot's id, a branch or tag, or a point in time.
        """
        return self._change(evolution.replace_ref(name, at))

    def drop(self, name: str) -> Self:
        """Removes a branch or tag. Its snapshots stay until they expire.

        Raises:
            NotFoundError: There is none of this name.
            InvalidInputError: It is `main`.
        """
        return self._change(evolution.drop_ref(name))

    def rename(self, name: str, to: str) -> Self:
        """Gives a branch another name.

        Raises:
            AlreadyExistsError: The new name is taken.
            InvalidInputError: It is `main` or a tag.
        """
        return self._change(evolution.rename_branch(name, to))

    def fast_forward(self, name: str, to: str) -> Self:
        """Moves a branch forward to the snapshot of another reference, such as one with changes that were audited.

        Args:
            name: The branch to move; it is made if it is not there.
            to: A branch or tag whose snapshot descends from the branch's.

        Raises:
            InvalidInputError: It does not descend from it.
        """
        return self._change(evolution.fast_forward(name, to))

    def set_retention(
        self,
        name: str,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | dt.timedelta | None = None,
        max_ref_age_ms: int | dt.timedelta | None = None,
    ) -> Self:
        """Says what expiry keeps of a branch or tag; what is None stays as it is.

        Args:
            name: The branch or tag.
            min_snapshots_to_keep: Of a branch: how many snapshots.
            max_snapshot_age_ms: Of a branch: how old snapshots may get.
            max_ref_age_ms: How old the reference may get. `main` never goes.
        """
        kept = _retention(min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms)
        return self._change(evolution.set_retention(name, kept))

    def _change(self, change: Evolution) -> Self:
        self._submit(change)
        return self


@checked
class Refs(RefChanges, Mapping[str, Ref]):
    """A table's branches and tags by name, and the verbs that change them.

    Each verb is one commit, after which the table is at its new version.
    """

    def __init__(self, table: TableHandle) -> None:
        super().__init__(partial(evolution.commit, table))
        self._table = table

    def _all(self) -> dict[str, Ref]:
        return {ref[0]: Ref(*ref) for ref in self._table._core.refs()}

    def __getitem__(self, name: str) -> Ref:
        refs = self._all()
        try:
            return refs[name]
        except KeyError:
            known = ", ".join(refs) or "none"
            raise NotFoundError(f"the table has no branch or tag '{name}'", {"ref": name}, f"It has: {known}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"Refs({list(self._all().values())!r})"


def _retention(
    snapshots: int | None, snapshot_age: int | dt.timedelta | None, ref_age: int | dt.timedelta | None
) -> dict[str, int]:
    given = {
        "min-snapshots-to-keep": snapshots,
        "max-snapshot-age-ms": snapshot_age,
        "max-ref-age-ms": ref_age,
    }
    return {key: _count(key, value) for key, value in given.items() if value is not None}


def _count(key: str, value: int | dt.timedelta) -> int:
    if isinstance(value, dt.timedelta):
        value = value // dt.timedelta(milliseconds=1)
    return arguments.count(key.replace("-", "_"), value)
