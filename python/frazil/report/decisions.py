"""What decided about each file or manifest of a plan: the filter's clauses, as few groups for a legend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_DECISIONS", "Decision", "decided"]

MOST_DECISIONS = 7
"""The most groups of objects that are dropped. The last one is for all others, if there are more."""


class Decision(NamedTuple):
    """A group of files or manifests with the same fate.

    Attributes:
        text: What decided: a clause of the filter, or a stage of planning.
        kept: Whether the group is read.
        by_clause: Whether the text is a clause.
    """

    text: str
    kept: bool
    by_clause: bool

    def __str__(self) -> str:
        if self.kept:
            return "read"
        return f"dropped by {self.text}" if self.by_clause else f"dropped: {self.text}"


KEPT = Decision("read", True, False)
_OTHER = Decision("other reasons", False, False)


def decided(listed: pa.Table, clauses: Iterable[dict[str, Any]]) -> tuple[list[Decision], list[int]]:
    """The decisions about the objects of a list, and for each object the number of its decision.

    The first decision is `KEPT`. The others are sorted by the number of their objects, largest first.

    Args:
        listed: Files or manifests, with the columns `kept`, `stage` and `reason`.
        clauses: The clauses of the filter, as `Explain.to_dict` gives them.
    """
    texts = [clause["clause"] for clause in clauses]
    known: dict[tuple[str, str], Decision] = {}
    found = []
    for kept, stage, reason in zip(*(listed.column(name).to_pylist() for name in _COLUMNS), strict=True):
        if kept:
            found.append(KEPT)
            continue
        if (stage, reason) not in known:
            clause = _clause(reason, texts)
            known[stage, reason] = Decision(stage if clause is None else clause, False, clause is not None)
        found.append(known[stage, reason])
    dropped = [decision for decision, _ in Counter(found).most_common() if not decision.kept]
    decisions = [KEPT, *dropped]
    if len(dropped) > MOST_DECISIONS:
        decisions = [*decisions[:MOST_DECISIONS], _OTHER]
    numbers = {decision: number for number, decision in enumerate(decisions)}
    return decisions, [numbers.get(decision, len(decisions) - 1) for decision in found]


_COLUMNS = ("kept", "stage", "reason")


def _clause(reason: str, clauses: list[str]) -> str | None:
    """The clause that a reason such as `id < 5: lower bound 10` names. None if it is not certain."""
    for clause in clauses:
        if reason.startswith(f"{clause}: "):
            return clause
    # A clause such as `a or b` has a reason for each part.
    part = reason.partition(": ")[0]
    around = [clause for clause in clauses if part and _is_part(part, clause)]
    return around[0] if len(around) == 1 else None


def _is_part(part: str, clause: str) -> bool:
    at = clause.find(part)
    if at < 0:
        return False
    before, after = clause[at - 1 : at], clause[at + len(part) : at + len(part) + 1]
    return not (before.isalnum() or after.isalnum())
