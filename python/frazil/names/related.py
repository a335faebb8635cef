"""Names that share a word: `append_rows` is most likely `append`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from frazil.names.similar import similar

__all__ = ["does_other", "related", "removes_anything", "snake_case", "words"]

_SAME = (
    "add append insert write put store",
    "create new",
    "remove delete drop clear purge erase wipe destroy discard",
    "branch branches",
    "catalog catalogs",
    "change changes",
    "update alter modify",
    "clean cleanup gc vacuum expire",
    "column columns field fields",
    "commit save execute run apply finish",
    "count num number length n",
    "file files",
    "history log logs",
    "namespace namespaces database databases",
    "option options property properties settings props",
    "refresh reload sync",
    "row rows record records",
    "snapshot snapshots version versions",
    "sort order zorder",
    "statistics stats",
    "table tables",
    "tag tags",
    "transaction begin start batch",
)
_CANONICAL = {word: group.split()[0] for group in _SAME for word in group.split()}

_LIGHT = {"count", "row", "table", "list", "load", "data"}
"""Words that many names have. They say less than others."""

_CHANGES = {
    "add",
    "cherry",
    "commit",
    "create",
    "make",
    "rename",
    "replace",
    "register",
    "remove",
    "rollback",
    "set",
    "unregister",
    "update",
}
"""First words of names that change something. Such a name is meant only where the other one has that word, too."""

_UNNAMED = {"remove": {"row", "data", "where"}, "rollback": {"snapshot", "table", "commit", "history"}}
"""Verbs that take something away, and the objects that such a name leaves out: `delete` is about rows."""

_NO_WORDS = {"get", "set", "is", "by", "of", "to", "the", "all", "in", "with", "for", "from", "a", "do", "make"}


@functools.lru_cache(maxsize=2048)
def words(name: str) -> frozenset[str]:
    """The words of a name, each by one of those that mean the same. Java's way to write names is read, too."""
    return frozenset(
        _CANONICAL.get(word, word) for word in snake_case(name).split("_") if word and word not in _NO_WORDS
    )


def snake_case(name: str) -> str:
    """`snapshot_id` for `snapshotId`: Java and Spark write names so."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def related(name: str, known: Iterable[str]) -> tuple[float, str] | None:
    """The known name that shares most words with another one, and how much of both it is; or None."""
    wanted, first = words(name), _first_word(name)
    best: tuple[float, str] | None = None
    for one in known:
        have = words(one)
        does = _first_word(one)
        if one.startswith("_") or not (shared := wanted & have) or not _may_mean(wanted, first, have, does):
            continue
        if first == "remove" and one[0].isupper():
            # A class is a thing: `DeleteFile` removes nothing.
            continue
        score = _weight(shared) / _weight(wanted | have)
        if score >= 0.3 and (best is None or score > best[0]):
            best = score, one
    return best


def _may_mean(wanted: frozenset[str], first: str, have: frozenset[str], does: str) -> bool:
    """Whether a name may mean another one, by what both do.

    Nothing is taken away by a guess. What is removed has to be named as well, unless it is never named.
    """
    if "remove" in {first, does}:
        if does != "remove" or "remove" not in wanted:
            return False
    elif does in _CHANGES and does != first and does not in wanted:
        return False
    if wanted & have > {does}:
        return True
    objects, others = wanted - {does}, have - {does}
    if does in _UNNAMED:
        return bool(objects) and not others and objects <= _UNNAMED[does]
    # Both do the same, with something else: `new_column` is no `create_branch`.
    return does not in _CHANGES or not (objects and others)


def removes_anything(name: str) -> bool:
    """Whether a name removes, and does not say what."""
    return words(name) == {"remove"}


def does_other(name: str, meant: str) -> bool:
    """Whether names that are spelled alike do something else, as `alter_namespace` and `create_namespace`."""
    first, _, rest = name.partition("_")
    other, _, same = meant.partition("_")
    verb, its = _first_word(name), _first_word(meant)
    if verb != its and {verb, its} <= _CHANGES:
        # `remove_tables` and `rename_table`.
        return True
    differs = verb != its and similar(first, [other]) is None
    if its == "remove" and rest and same:
        # `delete_tables` and `delete_files`.
        return differs or similar(rest, [same]) is None
    return bool(rest) and rest == same and similar(first, [other]) is None


def _first_word(name: str) -> str:
    first = snake_case(name).partition("_")[0]
    return _CANONICAL.get(first, first)


def _weight(several: Iterable[str]) -> float:
    return sum(0.5 if word in _LIGHT else 1.0 for word in several)
