"""Examinations of tables: whether a table is whole, why it is slow, and repairs.

    diagnosis = table.doctor()
    print(diagnosis)                     # findings, errors first
    diagnosis.is_whole                   # no finding is an error
    table.doctor(deep=True)              # also reads the rows of every file

    from frazil import doctor

    doctor.examine("/warehouse/db/t")    # also where no table can be opened any more
    doctor.codes()                       # every code with its meaning and remedy

Each finding has a code, which the reference explains. Damaged files become findings and raise nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from frazil import _core, arguments
from frazil.arguments.checked import checked_call
from frazil.capabilities import format_name, supports
from frazil.display import tables
from frazil.display.figures import amount, bytes_text, plain
from frazil.exceptions import FrazilError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.names import answers

if TYPE_CHECKING:
    import os

    import pyarrow as pa

__all__ = [
    "Code",
    "Diagnosis",
    "Finding",
    "Gain",
    "Repair",
    "RepairStep",
    "codes",
    "diagnosis_of",
    "examine",
    "missing_files",
    "repair_names",
    "repair_of",
    "request",
    "restore",
]

FOOTERS = 1000
"""The most footers that are read without `deep`."""

FINDINGS = 1000
"""The most findings of one code that are kept."""

_SECONDS_A_REQUEST = 0.05
_REQUESTS_AT_ONCE = 16
_BYTES_A_SECOND = 100e6
_ONLY_STORED = ("long-history",)
"""Codes whose bytes no scan of the newest version reads."""

_INSTEAD = (
    "examine() says which file is damaged. If the table can be opened, use repair(). Restore a damaged snapshot or "
    "schema from a copy. A newest snapshot without a copy can be given up: move its file and LATEST out of the folder "
    "snapshot. docs/guide/doctor.md shows it"
)
"""What to do with tables that have no metadata file."""

_SEVERITIES = ("error", "warning", "info")
_MOST_LINES = 10


@dataclass(frozen=True)
class Code:
    """A kind of finding.

    Attributes:
        code: Its stable name.
        severity: `error`: readers fail or see wrong rows. `warning`: metadata contradict themselves, but readers see
            the right rows today. `info`: the table could be faster or smaller.
        meaning: What was found.
        remedy: What to do.
        format: The only table format that has it; empty for all formats.
    """

    code: str
    severity: str
    meaning: str
    remedy: str
    format: str


@dataclass(frozen=True)
class Gain:
    """What a remedy would save, as an estimate.

    Attributes:
        bytes: Stored bytes, or bytes that a full scan reads.
        files: The number of files.
        requests: The number of requests of a full scan.
        seconds: How much faster a full scan is, if an object store answers 16 requests at once in 50 milliseconds and
            sends 100 MB in a second.
    """

    bytes: int
    files: int
    requests: int
    seconds: float

    def __str__(self) -> str:
        parts = [bytes_text(self.bytes)] if self.bytes else []
        parts += [amount(n, unit) for n, unit in ((self.files, "file"), (self.requests, "request")) if n]
        parts += [f"{self.seconds:.1f} s"] if self.seconds >= 0.05 else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        code: Its code.
        severity: `error`, `warning` or `info`.
        object: The file, manifest, snapshot, reference or column that it is about.
        evidence: The values that contradict each other.
        meaning: What the code means.
        remedy: What to do.
        gain: What the remedy would save; None for findings that are not about speed or size.
    """

    code: str
    severity: str
    object: str
    evidence: str
    meaning: str
    remedy: str
    gain: Gain | None = None

    def __str__(self) -> str:
        gain = f" (saves about {self.gain})" if self.gain is not None and str(self.gain) else ""
        return f"{self.severity} {self.code}: {plain(self.object)}: {plain(self.evidence)}{gain}"


@answers()
@dataclass(frozen=True)
class Diagnosis:
    """The findings about a table. A diagnosis is true if it has no findings of severity `error`.

    Attributes:
        findings: The findings: errors first, then warnings, then hints. At most 1,000 of one code.
        counts: The number of findings of each code. It counts those that were not kept, too.
        examined: What was looked at: the numbers of `snapshots`, `manifests`, `files`, `footers`, and of files whose
            rows were read (`deep`).
    """

    findings: list[Finding]
    counts: dict[str, int] = field(default_factory=dict)
    examined: dict[str, int] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether no finding is an error."""
        return not self.errors

    @property
    def errors(self) -> list[Finding]:
        """The findings of severity `error`."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """The findings of severity `warning`."""
        return [finding for finding in self.findings if finding.severity == "warning"]

    @property
    def health(self) -> list[Finding]:
        """The findings of severity `info`."""
        return [finding for finding in self.findings if finding.severity == "info"]

    @property
    def codes(self) -> list[str]:
        """The codes that were found, each once."""
        return list(dict.fromkeys(finding.code for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """The diagnosis as a JSON object: `findings`, `counts`, `examined`."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_arrow(self) -> pa.Table:
        """The findings as a table.

        Columns: `code`, `severity`, `object`, `evidence`, `meaning`, `remedy` (texts), `gain_bytes`, `gain_files`,
        `gain_requests` (64-bit integers) and `gain_seconds` (a double). Those of a gain are null without one.
        """
        import pyarrow as pa

        names = ("code", "severity", "object", "evidence", "meaning", "remedy")
        columns = {name: pa.array([getattr(f, name) for f in self.findings], pa.string()) for name in names}
        kinds = {**dict.fromkeys(("bytes", "files", "requests"), pa.int64()), "seconds": pa.float64()}
        for name, kind in kinds.items():
            gains = [None if f.gain is None else getattr(f.gain, name) for f in self.findings]
            columns[f"gain_{name}"] = pa.array(gains, kind)
        return pa.table(columns)

    def _head(self) -> str:
        by_severity = [(s, sum(1 for f in self.findings if f.severity == s)) for s in _SEVERITIES]
        found = ", ".join(amount(n, "hint" if s == "info" else s) for s, n in by_severity if n)
        seen = [amount(self.examined.get(f"{unit}s", 0), unit) for unit in ("snapshot", "manifest", "file", "footer")]
        return f"{found or 'Nothing found'} in {', '.join(seen)}"

    def __str__(self) -> str:
        lines = [self._head()]
        for code in self.codes:
            of_code = [finding for finding in self.findings if finding.code == code]
            lines += [f"  {finding}" for finding in of_code[:_MOST_LINES]]
            rest = self.counts.get(code, len(of_code)) - min(len(of_code), _MOST_LINES)
            if rest:
                lines.append(f"  … and {amount(rest, 'more finding')} of {code}")
            lines.append(f"    -> {of_code[0].remedy}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(f.severity, f.code, f.object, f.evidence, f.remedy) for f in self.findings]
        return tables.page(self._head(), tables.grid(("severity", "code", "object", "evidence", "remedy"), rows))

    def __bool__(self) -> bool:
        return self.is_whole


@dataclass(frozen=True)
class RepairStep:
    """One step of a repair.

    Attributes:
        repair: The kind of repair, such as `lost-files`.
        object: The file, manifest, snapshot or reference.
        action: What is done with it.
        rows_lost: The number of rows that are lost with it.
    """

    repair: str
    object: str
    action: str
    rows_lost: int

    def __str__(self) -> str:
        lost = f", {amount(self.rows_lost, 'row')} lost" if self.rows_lost else ""
        return f"{self.repair}: {plain(self.object)}: {plain(self.action)}{lost}"


@answers()
@dataclass(frozen=True)
class Repair:
    """What a repair did, or would do.

    Attributes:
        steps: The steps, in order.
        dry_run: Whether nothing was changed.
        metadata_location: The new metadata file of `restore`.
    """

    steps: list[RepairStep]
    dry_run: bool
    metadata_location: str | None = None

    @property
    def rows_lost(self) -> int:
        """The number of rows that are lost."""
        return sum(step.rows_lost for step in self.steps)

    def __str__(self) -> str:
        head = "would be done" if self.dry_run else "done"
        return "\n".join([f"{amount(len(self.steps), 'step')} {head}", *(f"  {step}" for step in self.steps)])


def request(deep: bool, footers: int | None, outside: bool | None) -> _core.DoctorRequest:
    """The request of an examination to the core."""
    if footers is not None and footers < 0:
        raise InvalidInputError(f"footers must not be negative, but is {footers}")
    return _core.DoctorRequest(deep, footers, deep if outside is None else outside, FINDINGS)


def diagnosis_of(found: _core.Diagnosis) -> Diagnosis:
    """The diagnosis that the core made."""
    findings = [
        Finding(f.code, f.severity, f.object, f.evidence, f.meaning, f.remedy, _gain(f.code, f.gain))
        for f in found.findings()
    ]
    return Diagnosis(findings, found.counts(), found.examined())


def _gain(code: str, found: tuple[int, int, int] | None) -> Gain | None:
    """A gain with its seconds."""
    if found is None:
        return None
    size, files, requests = found
    read = 0 if code in _ONLY_STORED else size
    return Gain(size, files, requests, requests * _SECONDS_A_REQUEST / _REQUESTS_AT_ONCE + read / _BYTES_A_SECOND)


def missing_files(table: _core.Table) -> set[str]:
    """The data files of a table that do not exist."""
    request = _core.DoctorRequest(False, 0, False, sys.maxsize)
    return {one.object for one in table.diagnose(request).findings() if one.code == "file-missing"}


def repair_names() -> list[str]:
    """The kinds of repair, in the order in which they are done."""
    return _core.repair_names()


def repair_of(steps: list[_core.RepairStep], dry_run: bool) -> Repair:
    """The repair that the core did."""
    return Repair([RepairStep(step.repair, step.object, step.action, step.rows_lost) for step in steps], dry_run)


@checked_call
def examine(
    location: str | os.PathLike[str],
    storage_options: Mapping[str, object] | None = None,
    deep: bool = False,
    footers: int | None = FOOTERS,
    outside: bool | None = None,
) -> Diagnosis:
    """Examines the table at a place, even if no table can be opened there any more.

    Args:
        location: The root folder of the table, or its metadata file.
        storage_options: Credentials and settings of the store.
        deep: Whether to read all footers and rows, as `Table.doctor` does.
        footers: The most footers that are read. None reads them all.
        outside: Whether to list the folder for files that nothing leads to. None is the same as `deep`.

    Raises:
        InvalidInputError: A wrong option, or a file that is no metadata.
        StoreError: The store can't be reached.
    """
    asked = request(deep, footers, outside)
    found = _core.diagnose_place(arguments.path("location", location), arguments.texts(storage_options), asked)
    return diagnosis_of(found)


@checked_call
def restore(
    location: str | os.PathLike[str], storage_options: Mapping[str, object] | None = None, dry_run: bool = True
) -> Repair:
    """Makes an Apache Iceberg table readable again whose metadata file is damaged or lost. By default, a dry run.

    It writes a new metadata file into the table's folder, and changes no other file. If the old file is readable JSON,
    references and logs that lead nowhere are mended. If it is lost, the table is registered again from its manifest
    lists and manifests; properties, tags and other branches are lost then. A table of a SQL or REST catalog is
    registered with the new file: `catalog.register_table(name, done.metadata_location, overwrite=True)`.

    Tables of Apache Paimon have no such file. See `examine` for what is damaged, and the guide for what to do.

    Args:
        location: The root folder of the table.
        storage_options: Credentials and settings of the store.
        dry_run: Whether to write nothing.

    Raises:
        InvalidInputError: The table can be opened.
        NotFoundError: No manifest list remains.
        CorruptTableError: What remains is no table.
        UnsupportedError: It is a table of Apache Paimon.
    """
    place, options = arguments.path("location", location), arguments.texts(storage_options)
    try:
        path, steps = _core.restore_place(place, options, dry_run)
    except NotFoundError:
        _check_restorable(place, options)
        raise
    return Repair(repair_of(steps, dry_run).steps, dry_run, path)


def _check_restorable(place: str, options: Mapping[str, str]) -> None:
    """Refuses tables whose format has no metadata file that could be written again."""
    try:
        table = _core.Table.open(place, dict(options), False)
    except FrazilError as error:
        if not re.search(r"/(?:snapshot|schema)/[^/]*$", error.context.get("path", "")):
            return
        # These files of a damaged table are JSON files of Paimon.
        name = "Apache Paimon"
    else:
        if supports(table, "snapshot_parents"):
            return
        name = format_name(table)
    raise UnsupportedError(
        f"restore: not with tables of {name}, which have no metadata file", {"path": place}, _INSTEAD
    )


def codes() -> list[Code]:
    """All codes of findings, with their meanings and remedies."""
    found = _core.doctor_codes()
    return [Code(code, severity, meaning, remedy, name) for name, code, severity, meaning, remedy in found]
