"""Updates of a table's schema, partition spec and sort order.

`Table.update_schema`, `Table.update_partition_spec` and `Table.update_sort_order` return an update. Its methods collect
changes. `commit()`, or the end of a `with` block, makes all of them in one commit, or none.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeAlias, TypeVar

from frazil import _core, arguments
from frazil._core import Evolution, NewSortField, Position, SchemaOperation, SpecOperation
from frazil.arguments.checked import checked
from frazil.display import tables
from frazil.display.steps import step_text
from frazil.exceptions import InvalidInputError
from frazil.names import answers
from frazil.requests import evolution
from frazil.requests.handle import TableHandle
from frazil.requests.unfinished import Unfinished
from frazil.schema import new_schema as schema_of

__all__ = ["UpdatePartitionSpec", "UpdateSchema", "UpdateSortOrder"]

Path: TypeAlias = str | tuple[str, ...]
"""A column: its name, with dots into structs; or a tuple of names, which may contain dots."""

_Self = TypeVar("_Self", bound="_Update")


def planned_on(table: TableHandle) -> Callable[[Evolution], object]:
    """A function that commits an update of the table's present version.

    The commit is a conflict if somebody else has changed the same by then.
    """
    version = table._core
    return lambda change: evolution.commit(table, change, version)


class _Update:
    """Changes that wait to be submitted: committed to a table, or added to a transaction."""

    _names: ClassVar[str]
    """What it changes, for people."""

    def __init__(self, submit: Callable[[Evolution], object]) -> None:
        self._submit = submit
        self._done = False
        self._unfinished = Unfinished(f"an update of {self._names}", "Call its commit(), or make it in a with block")

    def _change(self) -> Evolution:
        raise NotImplementedError

    def _steps(self) -> Sequence[str]:
        """The changes so far, as texts for people."""
        raise NotImplementedError

    def __repr__(self) -> str:
        steps = [tables.public(step) for step in self._steps()] or ["no changes"]
        return f"{type(self).__name__}({'; '.join(steps)}; {'committed' if self._done else 'not committed'})"

    def commit(self) -> None:
        """Makes the changes in one commit. The table is then at its new version.

        Raises:
            InvalidInputError: A change is not allowed. No change is made.
            CommitConflictError: Another commit changed the same. Refresh the table and start again.
        """
        if self._done:
            raise InvalidInputError("this update was committed already", hint="Start another update")
        # If this fails, the caller knows.
        self._unfinished.end()
        self._submit(self._change())
        self._done = True

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unfinished.end()
        if kind is None and not self._done:
            self.commit()


@answers()
@checked
class UpdateSchema(_Update):
    """Changes of a table's columns.

    Columns have the names they had before the update. Columns that the update adds can be named as well. Types are
    texts (`"long"`, `"decimal(9, 2)"`, `"list<string>"`, `"struct<a: int, b: string>"`) or pyarrow types.
    """

    _names = "a schema"

    def __init__(
        self, submit: Callable[[Evolution], object], allow_incompatible_changes: bool, case_sensitive: bool
    ) -> None:
        super().__init__(submit)
        self._operations: list[SchemaOperation] = []
        self._allow_incompatible = allow_incompatible_changes
        self._case_sensitive = case_sensitive

    def _change(self) -> Evolution:
        return evolution.update_schema(self._operations, self._case_sensitive, self._allow_incompatible)

    def _steps(self) -> list[str]:
        return [step_text(operation) for operation in self._operations]

    def _do(self, operation: SchemaOperation) -> UpdateSchema:
        with self._unfinished:
            self._operations.append(operation)
        return self

    def add_column(
        self,
        path: Path,
        type: Any,
        doc: str | None = None,
        required: bool = False,
        default: Any = None,
        write_default: Any = None,
        *,
        first: bool = False,
        before: Path | None = None,
        after: Path | None = None,
    ) -> UpdateSchema:
        """Adds a column. It comes last, unless another position is given.

        Args:
            path: Its name. Dots lead into a struct, `"payload.note"`, also if the struct is in a list or map.
            type: Its type.
            doc: Its comment.
            required: Whether null is impossible. This needs a default, or `allow_incompatible_changes`.
            default: Its value in existing rows, and in new rows that lack it (format version 3).
            write_default: Its value in new rows that lack it, if different.
            first: Put it before all others.
            before: Put it before this column.
            after: Put it after this column.
        """
        operation = SchemaOperation.Add(
            _path(path),
            _type("type", type),
            doc,
            required,
            _value("default", default),
            _value("write_default", write_default),
            _position(first, before, after),
        )
        return self._do(operation)

    def drop_column(self, path: Path) -> UpdateSchema:
        """Removes a column. A later column of the same name is another column, without its values."""
        return self._do(SchemaOperation.Drop(_path(path)))

    delete_column = drop_column

    def rename_column(self, path: Path, new_name: str) -> UpdateSchema:
        """Renames a column.

        Args:
            path: The column.
            new_name: Its new name, without the names of the structs around it.
        """
        return self._do(SchemaOperation.Rename(_path(path), new_name))

    def move_first(self, path: Path) -> UpdateSchema:
        """Moves a column to the front of its struct or table."""
        return self._do(SchemaOperation.Move(_path(path), Position.First()))

    def move_before(self, path: Path, before_path: Path) -> UpdateSchema:
        """Moves a column before another column of the same struct or table."""
        return self._do(SchemaOperation.Move(_path(path), Position.Before(_path(before_path))))

    def move_after(self, path: Path, after_path: Path) -> UpdateSchema:
        """Moves a column after another column of the same struct or table."""
        return self._do(SchemaOperation.Move(_path(path), Position.After(_path(after_path))))

    def update_column(
        self, path: Path, field_type: Any = None, required: bool | None = None, doc: str | None = None
    ) -> UpdateSchema:
        """Changes a column's type, its comment, or whether it is required.

        Args:
            path: The column.
            field_type: A wider type: `long` for `int`, `double` for `float`, or a decimal with more digits. In format
                version 3 also `timestamp` or `timestamp_ns` for `date`, and any type for `unknown`.
            required: False makes it optional. True is an incompatible change.
            doc: Its comment. An empty comment removes it.
        """
        if field_type is not None:
            self._do(SchemaOperation.Retype(_path(path), _type("field_type", field_type)))
        if required is not None:
            self._do(SchemaOperation.Require(_path(path), required))
        if doc is not None:
            self._do(SchemaOperation.Comment(_path(path), doc or None))
        return self

    def make_column_optional(self, path: Path) -> UpdateSchema:
        """Lets a column be null."""
        return self._do(SchemaOperation.Require(_path(path), False))

    def require_column(self, path: Path) -> UpdateSchema:
        """Makes null impossible in a column. `allow_incompatible_changes` must allow it."""
        return self._do(SchemaOperation.Require(_path(path), True))

    def set_default_value(self, path: Path, default: Any) -> UpdateSchema:
        """Sets the value of new rows that lack a column; None is null. Existing rows keep their values."""
        return self._do(SchemaOperation.SetDefault(_path(path), _value("default", default)))

    def set_identifier_fields(self, *paths: Path) -> UpdateSchema:
        """Sets the columns that together identify a row. Without arguments, no column identifies a row."""
        return self._do(SchemaOperation.Identify([_path(path) for path in paths]))

    def union_by_name(self, new_schema: Any) -> UpdateSchema:
        """Adds and widens columns, at every depth, so that rows of another schema fit.

        Args:
            new_schema: A `frazil.Schema`, a `pyarrow.Schema`, or anything with `__arrow_c_schema__`.
        """
        return self._do(SchemaOperation.Union(schema_of("new_schema", new_schema)))


@answers()
@checked
class UpdatePartitionSpec(_Update):
    """Changes of how new rows are grouped into files."""

    _names = "a partition spec"

    def __init__(self, submit: Callable[[Evolution], object], case_sensitive: bool) -> None:
        super().__init__(submit)
        self._operations: list[SpecOperation] = []
        self._case_sensitive = case_sensitive

    def _change(self) -> Evolution:
        return evolution.update_spec(self._operations, self._case_sensitive)

    def _steps(self) -> list[str]:
        return [step_text(operation) for operation in self._operations]

    def _do(self, operation: SpecOperation) -> UpdatePartitionSpec:
        with self._unfinished:
            self._operations.append(operation)
        return self

    def add_field(self, source: str, transform: Any = None, name: str | None = None) -> UpdatePartitionSpec:
        """Adds a partition field.

        Args:
            source: A column (`"country"`) or a transform of one (`"day(ts)"`, `"bucket(16, id)"`).
            transform: The transform, if `source` is only a column: `"day"`, `"bucket[16]"`.
            name: The field's name. By default `country`, `ts_day` or `id_bucket_16`, as in Java Iceberg.
        """
        return self._do(SpecOperation.Add(source, _transform(transform), name))

    def add_identity(self, source: str) -> UpdatePartitionSpec:
        """Adds a partition field with a column's value itself."""
        return self.add_field(source, "identity")

    def remove_field(self, field: str) -> UpdatePartitionSpec:
        """Removes a partition field, given by its name or its definition (`"day(ts)"`).

        In format version 1 a `void` field takes its place.
        """
        return self._do(SpecOperation.Remove(field))

    def rename_field(self, name: str, new_name: str) -> UpdatePartitionSpec:
        """Renames a partition field."""
        return self._do(SpecOperation.Rename(name, new_name))


@answers()
@checked
class UpdateSortOrder(_Update):
    """A new sort order, with the most significant field first. Without fields, new files are not sorted."""

    _names = "a sort order"

    def __init__(self, submit: Callable[[Evolution], object], case_sensitive: bool) -> None:
        super().__init__(submit)
        self._fields: list[NewSortField] = []
        self._case_sensitive = case_sensitive

    def _change(self) -> Evolution:
        return evolution.update_sort_order(self._fields, self._case_sensitive)

    def _steps(self) -> list[str]:
        return [step_text(field) for field in self._fields]

    def asc(self, source: str, transform: Any = None, nulls: Any = None) -> UpdateSortOrder:
        """Sorts by a column or transform, smallest first.

        Args:
            source: A column (`"ts"`) or a transform of one (`"day(ts)"`).
            transform: The transform, if `source` is only a column.
            nulls: `"first"` (the default) or `"last"`.
        """
        return self._field(source, transform, nulls, False)

    def desc(self, source: str, transform: Any = None, nulls: Any = None) -> UpdateSortOrder:
        """Sorts by a column or transform, largest first.

        Args:
            source: A column (`"ts"`) or a transform of one (`"day(ts)"`).
            transform: The transform, if `source` is only a column.
            nulls: `"first"` or `"last"` (the default).
        """
        return self._field(source, transform, nulls, True)

    def _field(self, source: str, transform: Any, nulls: Any, descending: bool) -> UpdateSortOrder:
        nulls_first = None
        if nulls is not None:
            words = {"first": True, "nulls-first": True, "last": False, "nulls-last": False}
            nulls_first = words.get(str(getattr(nulls, "value", nulls)).lower())
            if nulls_first is None:
                raise InvalidInputError(f"nulls are 'first' or 'last', not {nulls!r}")
        with self._unfinished:
            self._fields.append(NewSortField(source, _transform(transform), descending, nulls_first))
        return self


def _path(path: Path) -> str | list[str]:
    return path if isinstance(path, str) else list(path)


def _position(first: bool, before: Path | None, after: Path | None) -> Position | None:
    if bool(first) + (before is not None) + (after is not None) > 1:
        raise InvalidInputError("a column can have only one position: give first, before or after")
    if first:
        return Position.First()
    if before is not None:
        return Position.Before(_path(before))
    return None if after is None else Position.After(_path(after))


def _transform(transform: Any) -> str | None:
    if transform is not None and not isinstance(transform, str) and not _is_pyiceberg(transform):
        raise InvalidInputError(f"transform must be text such as 'bucket[16]', not {arguments.shown(transform)}")
    return None if transform is None else arguments.text("transform", str(transform))


def _is_pyiceberg(value: object) -> bool:
    return type(value).__module__.startswith("pyiceberg.")


def _type(argument: str, type_: Any) -> str | _core.Schema:
    """A type as text, or as a schema with one column of this type."""
    if isinstance(type_, str):
        return arguments.text(argument, type_)
    if hasattr(type_, "__arrow_c_schema__"):
        from frazil import interop

        return _core.Schema.from_arrow(interop.schema_of_type(type_))
    if _is_pyiceberg(type_):
        return str(type_)
    raise InvalidInputError(
        f"{argument}: {arguments.shown(type_)} is not a type",
        hint="Give a text such as 'long' or 'list<string>', or a pyarrow type: pa.int64()",
    )


def _value(argument: str, value: Any) -> bool | int | float | str | None:
    """A value in the form of the specification's JSON single values."""
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    uuid = sys.modules.get("uuid")
    if uuid is not None and isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, str):
        return arguments.text(argument, value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise InvalidInputError(
        f"{argument}: a column can't have the default {arguments.shown(value)}", hint="Give a plain value, or None"
    )
