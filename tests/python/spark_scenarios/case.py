"""A scenario: a table, steps, and what must be seen after each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SAME, REFUSED, DIFFERS, OUTSIDE = "same", "refused", "differs", "outside"

Row = tuple[Any, ...]
Counts = tuple[str, ...]


@dataclass(frozen=True)
class Mode:
    """How a table records changes of rows.

    Attributes:
        name: What the identifier of a test says.
        write: `copy-on-write` or `merge-on-read`, for all three statements.
        version: The format version.
        branch: The branch that the statements change; None for the table itself.
    """

    name: str
    write: str
    version: int
    branch: str | None = None


COPY = Mode("copy-v2", "copy-on-write", 2)
DELETES = Mode("deletes-v2-branch", "merge-on-read", 2, "test")
VECTORS = Mode("vectors-v3", "merge-on-read", 3)
DELETES_MAIN = Mode("deletes-v2", "merge-on-read", 2)
COPY_3 = Mode("copy-v3", "copy-on-write", 3)
ALL = (COPY, DELETES, VECTORS)
MAIN = (COPY, DELETES_MAIN, VECTORS)


@dataclass(frozen=True)
class Do:
    """Runs a statement. `{t}` is the target (with its branch), `{s}` the same for queries, `{main}` the table."""

    statement: str


@dataclass(frozen=True)
class Rows:
    """The rows of a query, in any order; without a query all rows of the target."""

    expected: tuple[Row, ...]
    query: str = "SELECT * FROM {s}"


@dataclass(frozen=True)
class Fails:
    """A statement that must fail, with words of the message."""

    statement: str
    words: str


@dataclass(frozen=True)
class View:
    """A temporary view of Spark's."""

    name: str
    query: str


@dataclass(frozen=True)
class Append:
    """Adds one data file with these rows to the target; `main` is for the table itself, before it has the branch."""

    rows: tuple[Row, ...]
    main: bool = False


@dataclass(frozen=True)
class Branch:
    """Makes the branch, if the mode has one."""


@dataclass(frozen=True)
class Set:
    """Sets settings of the session until the scenario ends; None removes one."""

    settings: dict[str, str | None]


@dataclass(frozen=True)
class Summary:
    """What the summary of the newest snapshot says: operation, partitions, deleted, delete and data files.

    `None` says that a figure is missing. With copy-on-write, `copied` counts; else `deleted`.
    """

    copied: tuple[Any, ...] | None = None
    deleted: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Check:
    """Anything else. The function gets the state of the run."""

    function: Callable[[Any], object]


Step = Do | Rows | Fails | View | Append | Branch | Set | Summary | Check


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        of: The test class of Iceberg.
        name: Its test method.
        steps: What happens, and what is seen.
        columns: The columns of the table, as in CREATE TABLE; none if the steps create it.
        rows: The rows of its first file.
        partitioned: The text after PARTITIONED BY.
        result: SAME, REFUSED, DIFFERS or OUTSIDE.
        note: For the page: what differs, or the remedy.
        modes: The modes to run it in.
        properties: More properties of the table.
    """

    of: str
    name: str
    steps: tuple[Step, ...] = ()
    columns: str = "id INT, dep STRING"
    rows: tuple[Row, ...] = ()
    partitioned: str = ""
    result: str = SAME
    note: str = ""
    modes: tuple[Mode, ...] = ALL
    properties: dict[str, str] = field(default_factory=dict)


def rows(*expected: Row) -> Rows:
    return Rows(expected)


def query(text: str, *expected: Row) -> Rows:
    return Rows(expected, text)


def append(*added: Row) -> Append:
    return Append(added)


def first(*added: Row) -> tuple[Append, Branch]:
    """The first file of a table, then the branch."""
    return Append(added, main=True), Branch()


def source(text: str, columns: str = "id, dep", name: str = "source") -> View:
    """A view of constants."""
    return View(name, f"SELECT * FROM VALUES {text} AS v({columns})")


def numbers(*values: int | None, name: str = "source") -> View:
    """A view with the column `value`."""
    listed = ", ".join("(CAST(NULL AS INT))" if value is None else f"({value})" for value in values)
    return View(name, f"SELECT * FROM VALUES {listed} AS v(value)")


def copied(partitions: str, deleted: str | None, added: str | None) -> tuple[Any, ...]:
    """The figures of a copy-on-write change."""
    operation = "delete" if added is None and deleted is not None else "overwrite"
    return operation, partitions, deleted, None, added


def marked(partitions: str, deletes: str | None, added: str | None) -> tuple[Any, ...]:
    """The figures of a merge-on-read change."""
    operation = "delete" if added is None and deletes is not None else "overwrite"
    return operation, partitions, None, deletes, added
