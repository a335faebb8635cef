"""Branches and tags: names for snapshots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _core, arguments
from frazil._core import Evolution, Retention
from frazil.arguments import At
from frazil.arguments.checked import checked
from frazil.display import tables
from frazil.exceptions import NotFoundError
from frazil.names import answers
from frazil.requests import evolution
from frazil.requests.handle import TableHandle

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ref", "RefChanges", "Refs"]


@answers()
class Ref(NamedTuple):
    """A branch or tag: a name for a snapshot.

    Attributes:
        name: Its name.
        snapshot_id: The id of its snapshot.
        type: `branch` or `tag`.
        min_snapshots_to_keep: For a branch: the number of snapshots that expiry keeps. None is the table's default.
        max_snapshot_age_ms: For a branch: the largest age of its snapshots. None is the table's default.
        max_ref_age_ms: The largest age of the reference. None is the table's default.
    """

    name: str
    snapshot_id: int
    type: str
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None

    def __str__(self) -> str:
        return f"{self.type} {tables.public(self.name)} -> {self.snapshot_id}"


@checked
class RefChanges:
    """The methods that change branches and tags. Each returns the same object, so calls can be chained.

    With `at=None`, new branches and tags refer to the current snapshot. Ages are milliseconds or a
    `datetime.timedelta`.
    """

    def __init__(self, submit: Callable[[Evolution], object]) -> None:
        self._submit = submit

    def __repr__(self) -> str:
        verbs = ", ".join(name for name in vars(RefChanges) if not name.startswith("_"))
        return f"RefChanges({verbs})"

    def create_branch(
        self,
        name: str,
        at: At | None = None,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | dt.timedelta | None = None,
        max_ref_age_ms: int | dt.timedelta | None = None,
    ) -> Self:
        """Creates a branch.

        Args:
            name: Its name.
            at: The version where it starts: a snapshot's id, a branch or tag, or a point in time.
            min_snapshots_to_keep: The number of its snapshots that expiry keeps.
            max_snapshot_age_ms: The largest age of its snapshots.
            max_ref_age_ms: The largest age of the branch.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        kept = _retention(min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms)
        return self._change(evolution.create_branch(name, at, kept))

    def create_tag(self, name: str, at: At | None = None, *, max_ref_age_ms: int | dt.timedelta | None = None) -> Self:
        """Creates a tag.

        Args:
            name: Its name.
            at: The version that it names: a snapshot's id, a branch or tag, or a point in time.
            max_ref_age_ms: The largest age of the tag.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        return self._change(evolution.create_tag(name, at, _retention(None, None, max_ref_age_ms)))

    def replace(self, name: str, at: At) -> Self:
        """Makes a branch or tag refer to another snapshot, whether that descends from the old one or not.

        Args:
            name: The branch or tag.
            at: The version: a snapshot's id, a branch or tag, or a point in time.
        """
        return self._change(evolution.replace_ref(name, at))

    def drop(self, name: str) -> Self:
        """Removes a branch or tag. Its snapshots stay until they expire.

        Raises:
            NotFoundError: The branch or tag does not exist.
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
        """Moves a branch forward to the snapshot of another reference, such as a branch with changes that were audited.

        Args:
            name: The branch to move. It is created if it does not exist.
            to: A branch or tag whose snapshot descends from the branch's snapshot.

        Raises:
            InvalidInputError: The snapshot does not descend from the branch's.
        """
        return self._change(evolution.fast_forward(name, to))

    def merge(self, name: str, into: str = "main") -> Self:
        """For tables of Apache Paimon without primary key: adds the files of a branch to another one, in one commit.

        Both branches must still have all of their snapshots, and all of these must be appends. Files that the other
        branch has are not added again.

        Args:
            name: The branch with the files.
            into: The branch that gets them.

        Raises:
            NotFoundError: A branch does not exist.
            InvalidInputError: The branches have different columns, or other commits than appends.
        """
        return self._change(evolution.merge_branch(into, name))

    def set_retention(
        self,
        name: str,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | dt.timedelta | None = None,
        max_ref_age_ms: int | dt.timedelta | None = None,
    ) -> Self:
        """Sets what expiry keeps of a branch or tag. Arguments that are None change nothing.

        Args:
            name: The branch or tag.
            min_snapshots_to_keep: For a branch: the number of snapshots.
            max_snapshot_age_ms: For a branch: the largest age of its snapshots.
            max_ref_age_ms: The largest age of the reference. `main` is never removed.
        """
        kept = _retention(min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms)
        return self._change(evolution.set_retention(name, kept))

    def _change(self, change: Evolution) -> Self:
        self._submit(change)
        return self


@answers("refs")
@checked
class Refs(RefChanges, Mapping[str, Ref]):
    """A table's branches and tags by name, and the methods that change them.

    Each method is one commit, and the table is at its new version afterwards.
    """

    def __init__(self, table: TableHandle) -> None:
        super().__init__(partial(evolution.commit, table))
        self._table = table

    def _all(self) -> dict[str, Ref]:
        return {ref.name: _ref(ref) for ref in self._table._core.refs()}

    def __getitem__(self, name: str) -> Ref:
        refs = self._all()
        try:
            return refs[name]
        except KeyError:
            known = ", ".join(refs) or "none"
            raise NotFoundError(f"the table has no branch or tag '{name}'", {"ref": name}, f"It has: {known}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """The branch or tag with a name, or else the default."""
        return self._all().get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"Refs({', '.join(map(str, self._all().values()))})"

    def _repr_html_(self) -> str:
        header = ("name", "type", "snapshot", "kept snapshots", "their age, ms", "own age, ms")
        rows = [
            (r.name, r.type, r.snapshot_id, r.min_snapshots_to_keep, r.max_snapshot_age_ms, r.max_ref_age_ms)
            for r in self._all().values()
        ]
        return tables.page("Branches and tags", tables.grid(header, rows))


def _retention(
    snapshots: int | None, snapshot_age: int | dt.timedelta | None, ref_age: int | dt.timedelta | None
) -> Retention:
    return Retention(
        _count("min_snapshots_to_keep", snapshots),
        _count("max_snapshot_age_ms", snapshot_age),
        _count("max_ref_age_ms", ref_age),
    )


def _count(argument: str, value: int | dt.timedelta | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, dt.timedelta):
        value = value // dt.timedelta(milliseconds=1)
    return arguments.count(argument, value)


def _ref(found: _core.RefInfo) -> Ref:
    return Ref(
        found.name,
        found.snapshot_id,
        found.type,
        found.min_snapshots_to_keep,
        found.max_snapshot_age_ms,
        found.max_ref_age_ms,
    )
