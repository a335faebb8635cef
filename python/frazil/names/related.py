"""Names that share a word: `append_rows` is most likely `append`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

__all__ = ["related", "words"]

_SAME = (
    "add append insert write put store",
    "create new",
    "remove delete drop clear",
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

_NO_WORDS = {"get", "set", "is", "by", "of", "to", "the", "all", "in", "with", "for", "from", "a", "do", "make"}


@functools.lru_cache(maxsize=2048)
def words(name: str) -> frozenset[str]:
    """The words of a name, each by one of those that mean the same. Java's way to write names is read, too."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return frozenset(_CANONICAL.get(word, word) for word in snake.split("_") if word and word not in _NO_WORDS)


def related(name: str, known: Iterable[str]) -> tuple[float, str] | None:
    """The known name that shares most words with another one, and how much of both it is; or None."""
    wanted, first = words(name), _first_word(name)
    best: tuple[float, str] | None = None
    for one in known:
        have = words(one)
        does = _first_word(one)
        if not (shared := wanted & have) or (does in _CHANGES and does != first and does not in wanted):
            continue
        # Nothing is removed by a guess: what is removed has to be named as well. Rows need no name.
        others = wanted - have
        if does == "remove" and shared <= {"remove"} and not (others and others <= {"row", "data", "where"}):
            continue
        score = _weight(shared) / _weight(wanted | have)
        if score >= 0.3 and (best is None or score > best[0]):
            best = score, one
    return best


def _first_word(name: str) -> str:
    first = name.partition("_")[0].lower()
    return _CANONICAL.get(first, first)


def _weight(several: Iterable[str]) -> float:
    return sum(0.5 if word in _LIGHT else 1.0 for word in several)
