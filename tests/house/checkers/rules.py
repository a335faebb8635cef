"""What a house rule is, and the lists of offences that are still allowed.

A rule is a function over the root of a checkout that reports offences. The file `allowed/NAME.txt` lists the offences
that are still allowed, one a line: `where  # reason`. A listed offence that no longer exists fails the test too, so a
list can only get shorter. For a rule that counts, the lines are `where: number`. A count may not exceed its number, and
the number must follow when the count falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ALLOWED = Path(__file__).resolve().parents[1] / "allowed"


@dataclass(frozen=True, order=True)
class Offence:
    """A breach of a rule: the key that a list of allowed offences names it by, and what is wrong."""

    where: str
    what: str


Check = Callable[[Path], Iterable[Offence]]


@dataclass(frozen=True)
class Rule:
    """A rule with its name, which is also that of its list."""

    name: str
    check: Check
    counts: bool

    @property
    def list_file(self) -> Path:
        return ALLOWED / f"{self.name}.txt"

    def offences(self, root: Path) -> list[Offence]:
        return sorted(set(self.check(root)))

    def allowed(self) -> dict[str, str]:
        """The allowed offences, each with its reason; or the counts of folders, as texts."""
        if not self.list_file.exists():
            return {}
        found = {}
        for line in self.list_file.read_text("utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                where, _, reason = line.rpartition(": " if self.counts else "  # ")
                found[where.strip()] = reason.strip()
        return found

    def faults(self, root: Path) -> list[str]:
        """What a developer has to repair: new offences, and lines of the list that are no longer needed."""
        return self._count_faults(root) if self.counts else self._list_faults(root)

    def _list_faults(self, root: Path) -> list[str]:
        allowed, found = self.allowed(), self.offences(root)
        new = [f"{offence.where}: {offence.what}" for offence in found if offence.where not in allowed]
        present = {offence.where for offence in found}
        gone = [f"{where}: repaired; remove it from {self._list()}" for where in allowed if where not in present]
        bare = [f"{where}: give a reason in {self._list()}" for where, reason in allowed.items() if not reason]
        return new + gone + bare

    def _count_faults(self, root: Path) -> list[str]:
        allowed = {where: int(number) for where, number in self.allowed().items()}
        found = self.offences(root)
        counts = Counter(offence.where for offence in found)
        faults = []
        for where in sorted({*allowed, *counts}):
            if counts[where] > allowed.get(where, 0):
                faults.append(f"{where}: {counts[where]} offences, {allowed.get(where, 0)} allowed:")
                faults.extend(f"    {offence.what}" for offence in found if offence.where == where)
            elif counts[where] < allowed.get(where, 0):
                faults.append(f"{where}: only {counts[where]} are left; write that into {self._list()}")
        return faults

    def _list(self) -> str:
        return f"tests/house/allowed/{self.name}.txt (`make house-lists` does so)"

    def write(self, entries: dict[str, str]) -> None:
        """Writes the list, or removes it if nothing is allowed any longer."""
        joint = ": " if self.counts else "  # "
        lines = "".join(f"{where}{joint}{reason}\n" for where, reason in sorted(entries.items()))
        if lines:
            ALLOWED.mkdir(exist_ok=True)
            self.list_file.write_text(lines, "utf-8")
        else:
            self.list_file.unlink(missing_ok=True)

    def shrink(self, root: Path) -> None:
        """Removes from the list what is repaired, and lowers counts. Adds nothing."""
        counts = Counter(offence.where for offence in self.offences(root))
        kept = {where: reason for where, reason in self.allowed().items() if counts[where]}
        if self.counts:
            kept = {where: str(min(int(number), counts[where])) for where, number in kept.items()}
        self.write(kept)

    def accept(self, root: Path, reason: str) -> None:
        """Lists all offences of today; known ones keep their reasons."""
        counts = Counter(offence.where for offence in self.offences(root))
        known = self.allowed()
        self.write({where: str(n) if self.counts else known.get(where, reason) for where, n in counts.items()})


RULES: dict[str, Rule] = {}


def rule(name: str, *, counts: bool = False) -> Callable[[Check], Check]:
    """Enters a function into the rules under a name."""

    def enter(check: Check) -> Check:
        RULES[name] = Rule(name, check, counts)
        return check

    return enter
