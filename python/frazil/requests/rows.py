"""Changes of rows, as the core takes them.

A change says which rows are concerned, and what becomes of them. The core applies it to a table, adds it to a
transaction, or does a part of it for an executor of Spark.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Any

from frazil import _core, arguments
from frazil._core import Assigned, CommitMessage, RowChange
from frazil.exceptions import InvalidInputError
from frazil.expr import Columns, Filter, Term, value_text

__all__ = [
    "RowChange",
    "add_to_transaction",
    "check_overwrite",
    "commit",
    "commit_overwrite",
    "commit_parts",
    "delete",
    "delete_keys",
    "delete_positions",
    "find_files",
    "merge_change",
    "overwrite",
    "overwrite_partitions",
    "replace_keys",
    "replaced_by_messages",
    "update_change",
    "write_delta",
    "write_file_part",
    "write_matched_part",
]

_ALL_ROWS = "true"


# ---------------------------------------------------------------- descriptions


def delete(where: Filter) -> RowChange.Delete:
    """Deletes the rows that a filter selects."""
    return RowChange.Delete(str(where))


def overwrite(where: Filter | None) -> RowChange:
    """Replaces the rows that a filter selects; None selects all rows."""
    return RowChange.Overwrite(_ALL_ROWS if where is None else str(where))


def overwrite_partitions() -> RowChange:
    """Replaces the partitions that have new rows."""
    return RowChange.OverwritePartitions()


def replaced_by_messages(where: Filter | None, partitions: bool) -> RowChange:
    """Replaces rows by the files of messages: rows that a filter selects, or the partitions of the new files.

    Raises:
        InvalidInputError: Both a filter and partitions are given.
    """
    if not partitions:
        return overwrite(where)
    if where is not None:
        raise InvalidInputError(
            "partitions and a filter can't both select what is replaced", hint="Leave out one of them"
        )
    return overwrite_partitions()


def replace_keys(on: Columns | None) -> RowChange:
    """Writes rows, and equality deletes of their keys."""
    return RowChange.ReplaceKeys(_key(on))


def delete_keys(on: Columns | None) -> RowChange:
    """Writes equality deletes of keys."""
    return RowChange.DeleteKeys(_key(on))


def delete_positions() -> RowChange:
    """Deletes rows by data file and position."""
    return RowChange.DeletePositions()


def update_change(where: Filter, values: Mapping[str, object]) -> RowChange.Update:
    """Gives columns of the rows that a filter selects new values.

    Raises:
        InvalidInputError: A value can't be the value of a column.
    """
    return RowChange.Update(str(where), {name: _assigned(name, value) for name, value in values.items()})


def merge_change(
    on: Columns | None,
    update: bool | Mapping[str, str],
    delete: bool | Filter,
    insert: bool | Mapping[str, str],
    delete_missing: bool | Filter,
) -> RowChange.Merge:
    """Updates, deletes and inserts rows by how they match others by a key.

    Raises:
        InvalidInputError: The merge does nothing.
    """
    change = RowChange.Merge(
        on=_key(on),
        update=_columns(update),
        delete=_condition(delete),
        insert=_columns(insert),
        delete_missing=_condition(delete_missing),
    )
    if not (change.update or change.delete or change.insert or change.delete_missing):
        raise InvalidInputError("the merge does nothing", hint="Give one of the when_… arguments")
    return change


# ---------------------------------------------------------------- the core's functions


def commit(
    table: _core.Table, change: RowChange, rows: Any | None, branch: str | None, properties: dict[str, str]
) -> _core.Table:
    """Makes a change in one commit; returns the table's new version."""
    return table.change_rows(change, rows, branch, properties)


def add_to_transaction(
    transaction: _core.Transaction, change: RowChange, rows: Any | None, properties: dict[str, str]
) -> None:
    """Adds a change to a transaction."""
    transaction.change_rows(change, rows, properties)


def write_delta(table: _core.Table, change: RowChange, rows: Any, branch: str | None, task: int) -> CommitMessage:
    """Writes the files of a change that looks for no rows, without a commit."""
    return table.write_delta(change, rows, branch, task)


def commit_overwrite(
    table: _core.Table,
    change: RowChange,
    messages: list[CommitMessage],
    properties: dict[str, str],
    branch: str | None,
) -> _core.Table:
    """Commits the files of messages in place of the rows that a change replaces."""
    return table.commit_overwrite(change, messages, properties, branch=branch)


def check_overwrite(table: _core.Table, change: RowChange) -> None:
    """Raises what `commit_overwrite` would, as far as that does not depend on its messages."""
    table.check_overwrite(change)


def find_files(
    table: _core.Table, change: RowChange, branch: str | None
) -> tuple[CommitMessage, list[tuple[str, int]]]:
    """The files that a change concerns: those that metadata decides, and paths and sizes of those to read."""
    return table.change_files(change, branch)


def write_matched_part(
    table: _core.Table, change: RowChange, where: str, rows: Any, branch: str | None, task: int, command: str
) -> CommitMessage:
    """Writes one part of a merge, from rows that Spark has matched. `command` is `delete`, `update` or `merge`."""
    return table.write_matched_part(change, where, rows, branch, task, command)


def write_file_part(
    table: _core.Table, change: RowChange, files: Sequence[str], branch: str | None, task: int
) -> CommitMessage:
    """Writes one part of a change: that of some data files."""
    return table.write_file_part(change, list(files), branch, task)


def commit_parts(
    table: _core.Table,
    change: RowChange,
    where: str,
    messages: list[CommitMessage],
    properties: dict[str, str],
    branch: str | None,
) -> _core.Table:
    """Commits all parts of a change. `where` selects every row that the change read."""
    return table.commit_parts(change, where, messages, properties, branch=branch)


# ---------------------------------------------------------------- members of descriptions

_WITH_ROWS = "Use upsert or merge with rows that have the new values"


def _key(on: Columns | None) -> list[str] | None:
    return None if on is None else list(arguments.columns(on, "on"))


def _assigned(name: str, value: object) -> Assigned:
    """The new value of a column: null, another column, or a literal."""
    if isinstance(value, Term):
        column = str(value)
        if "(" in column and '"' not in column:
            raise InvalidInputError(
                f"values: '{column}' is computed, and the new value of a column is a constant or another column",
                {"column": name},
                "Compute the rows, for example with Polars, and give them to upsert",
            )
        return Assigned.Column(column)
    try:
        text = value_text(value)
    except InvalidInputError as error:
        if isinstance(value, (dict, list, tuple, set)):
            message, hint = "columns that are structs, lists or maps can't be given a value", _WITH_ROWS
        elif isinstance(value, decimal.Decimal):
            message, hint = f"values: a decimal column can't become {value}", None
        else:
            message, hint = (
                f"values: a '{type(value).__name__}' can't be the value of a column: {value!r}",
                error.hint,
            )
        raise InvalidInputError(message, {"column": name}, hint) from None
    return Assigned.Null() if text is None else Assigned.Literal(text)


def _columns(columns: bool | Mapping[str, str]) -> bool | dict[str, str] | None:
    if columns is True:
        return True
    return dict(columns) if columns else None


def _condition(condition: bool | Filter) -> str | None:
    if condition is True:
        return _ALL_ROWS
    if condition is False or condition is None:
        return None
    return str(condition)
