"""Schemas, partition specs and sort orders: a table's columns, and how its rows are put into files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _core, arguments
from frazil.arguments.checked import checked
from frazil.display import tables
from frazil.display.figures import plain
from frazil.display.terms import term_text
from frazil.exceptions import InvalidInputError, NotFoundError
from frazil.names import Answering, answers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Field", "PartitionField", "PartitionSpec", "Schema", "SortField", "SortOrder"]


@answers()
class Field(NamedTuple):
    """A column, or a member of a nested column.

    Attributes:
        id: The field id, which identifies the column. Renaming does not change it.
        name: Its name.
        type: Its type, as the specification names it: `long`, `decimal(9, 2)`, `struct<…>`, `list<…>`, `map<…>`.
        required: Whether null is impossible.
        doc: The comment.
        children: The members of a struct; `element` of a list; `key` and `value` of a map.
    """

    id: int
    name: str
    type: str
    required: bool
    doc: str | None = None
    children: tuple[Field, ...] = ()

    def __str__(self) -> str:
        return plain(f"{self.id}: {self.name}: {'required' if self.required else 'optional'} {self.type}")


@answers("schema")
@checked
class Schema(metaclass=Answering):
    """A table's columns at one time.

    `frazil.Schema(source)` takes a `pyarrow.Schema` or anything else with `__arrow_c_schema__`.
    """

    __slots__ = ("_core", "_fields")

    def __init__(self, source: Any) -> None:
        self._core: _core.Schema = core_schema("source", source)
        self._fields: tuple[Field, ...] | None = None

    @classmethod
    def _wrap(cls, core: _core.Schema) -> Schema:
        schema = cls.__new__(cls)
        schema._core = core
        schema._fields = None
        return schema

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Reads the schema JSON of the Iceberg specification."""
        return cls._wrap(_core.Schema.from_json(text))

    def to_json(self) -> str:
        """The schema JSON of the Iceberg specification."""
        return self._core.to_json()

    @property
    def id(self) -> int:
        """The schema's id in its table."""
        return self._core.id

    @property
    def fields(self) -> tuple[Field, ...]:
        """The top-level columns, in order."""
        if self._fields is None:
            self._fields = tuple(map(_field, self._core.fields))
        return self._fields

    @property
    def names(self) -> list[str]:
        """The top-level columns' names."""
        return [f.name for f in self.fields]

    @property
    def identifier_fields(self) -> list[str]:
        """The columns that together identify a row, by their dotted names. Without such columns the list is empty."""
        names = column_names(self)
        return [names[id_] for id_ in self._core.identifier_field_ids]

    def field(self, name: str) -> Field:
        """The field with a name. Dots lead into structs, list elements (`tags.element`) and maps (`m.key`, `m.value`).

        Raises:
            NotFoundError: The field does not exist.
        """
        found = _find(self.fields, name)
        if found is None:
            raise NotFoundError(
                f"the schema has no column '{name}'", {"column": name}, f"Its columns are {', '.join(self.names)}"
            )
        return found

    def __getitem__(self, name: str) -> Field:
        """The field with a name, as `field(name)`."""
        place: object = name
        if isinstance(place, int):
            raise InvalidInputError(
                f"the name of a field must be text, not {place}", hint=f"Fields have places in schema.fields[{name}]"
            )
        return self.field(arguments.text("the name of a field", name))

    def __contains__(self, field: object) -> bool:
        """Whether there is a field with this name, or this field."""
        return _find(self.fields, field) is not None if isinstance(field, str) else field in self.fields

    def to_arrow(self) -> pa.Schema:
        """The schema as a pyarrow schema. Field ids are in the metadata `PARQUET:field_id`."""
        from frazil import interop

        return interop.schema_of(self._core)

    def __arrow_c_schema__(self) -> object:
        """The Arrow PyCapsule interface."""
        return self._core.__arrow_c_schema__()

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return "\n".join(map(plain, str(self._core).split("\n")))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = list(_html_rows(self.fields, 0))
        return tables.page(f"Schema {self.id}", tables.grid(("id", "column", "type", "null", "comment"), rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Schema.from_json, (self.to_json(),)


def column_names(schema: Schema) -> dict[int, str]:
    """The dotted names of all fields, by field id."""
    found: dict[int, str] = {}

    def collect(fields: tuple[Field, ...], prefix: str) -> None:
        for field in fields:
            found[field.id] = prefix + field.name
            collect(field.children, f"{prefix}{field.name}.")

    collect(schema.fields, "")
    return found


def core_schema(argument: str, source: Any) -> _core.Schema:
    """The core's schema, from anything that describes a schema."""
    if isinstance(source, Schema):
        return source._core
    if type(source).__name__ == "StructType" and type(source).__module__ == "pyspark.sql.types":
        # What is in `interop` loads pyarrow.
        from frazil.interop.spark_schemas import from_spark

        return from_spark(source)
    if isinstance(source, type) or not hasattr(source, "__arrow_c_schema__"):
        package = type(source).__module__.partition(".")[0]
        owner = {"pyiceberg": "PyIceberg's ", "pyspark": "Spark's "}.get(package, "")
        kind = f"{owner}'{type(source).__name__}'" if owner else f"a '{type(source).__name__}'"
        raise InvalidInputError(f"{argument}: {kind} is not an Arrow schema", hint=_way_to_schema(source))
    if type(source).__module__.startswith("polars."):
        arguments.refuse_objects(source)
    return _core.Schema.from_arrow(source)


def new_schema(argument: str, source: Any) -> _core.Schema:
    """The core's schema of new columns. Their ids, if they come from the rows of a table, mean nothing."""
    if type(source).__name__ == "Schema" and type(source).__module__ == "pyarrow.lib":
        from frazil import interop

        source = interop.new_columns(source)
    return core_schema(argument, source)


def _way_to_schema(source: Any) -> str:
    """What to give in place of something that is not a schema."""
    package = type(source).__module__.partition(".")[0]
    if hasattr(source, "__arrow_c_stream__"):
        return "It has rows. To create a table with these rows, write create_table(name, data=rows)"
    if package == "pyiceberg" and hasattr(source, "as_arrow"):
        return "Give schema.as_arrow(), and identifier_fields=[…] if it has identifier fields"
    if package == "pyspark":
        return "Give the schema of a DataFrame: frame.schema"
    if isinstance(source, dict):
        return "Write pyarrow.schema(source), with a pyarrow type for each name"
    if isinstance(source, (list, tuple)):
        return "Write pyarrow.schema([('id', pyarrow.int64()), …])"
    return "Give a pyarrow.Schema, a frazil.Schema or another object with __arrow_c_schema__"


def _find(fields: tuple[Field, ...], name: str) -> Field | None:
    for field in fields:
        if field.name == name:
            return field
    for field in fields:
        if name.startswith(field.name + ".") and (found := _find(field.children, name[len(field.name) + 1 :])):
            return found
    return None


def _field(found: _core.Field) -> Field:
    children = tuple(map(_field, found.children))
    return Field(found.id, found.name, found.type, found.required, found.doc, children)


def _html_rows(fields: tuple[Field, ...], depth: int) -> Iterator[tuple[object, ...]]:
    """A row for each field. Members of nested columns are below them, indented."""
    for field in fields:
        kind = field.type.partition("<")[0] if field.children else field.type
        yield field.id, "\u2003" * depth + field.name, kind, "no" if field.required else "", field.doc
        yield from _html_rows(field.children, depth + 1)


def _term(transform: str, column: str | None, source_id: int) -> str:
    return term_text(transform, f"column {source_id}" if column is None else column)


@answers()
class PartitionField(NamedTuple):
    """One field of a partition spec.

    Attributes:
        name: Its name, as in `data_file.partition`.
        transform: How the column's value becomes the partition value: `identity`, `day`, `bucket[16]`, …
        source_id: The field id of the column.
        field_id: Its own id, 1000 or above.
        column: The name of the column, with dots into structs. It is None if the schema no longer has it.
    """

    name: str
    transform: str
    source_id: int
    field_id: int
    column: str | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both are the same field. The column's name does not count: older versions did not record it."""
        return isinstance(other, PartitionField) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:-1])

    def __str__(self) -> str:
        return plain(f"{self.name}: {_term(self.transform, self.column, self.source_id)}")


@answers("partition_spec")
class PartitionSpec(NamedTuple):
    """How rows are grouped into files.

    Attributes:
        id: The spec's id in its table.
        fields: The fields in order. An unpartitioned table has no fields.
    """

    id: int
    fields: tuple[PartitionField, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.fields))}]"

    def __repr__(self) -> str:
        return f"PartitionSpec(id={self.id}, {self})"

    def _repr_html_(self) -> str:
        rows = [(f.name, _term(f.transform, f.column, f.source_id), f.field_id) for f in self.fields]
        shown = tables.grid(("field", "of", "id"), rows) or "<div>unpartitioned</div>"
        return tables.page(f"Partition spec {self.id}", shown)


@answers()
class SortField(NamedTuple):
    """One field of a sort order.

    Attributes:
        source_id: The field id of the column.
        transform: The transform that is applied to its values before sorting.
        descending: Whether the largest values come first.
        nulls_first: Whether nulls come before values.
        column: The name of the column, with dots into structs. It is None if the schema no longer has it.
    """

    source_id: int
    transform: str
    descending: bool
    nulls_first: bool
    column: str | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both are the same field. The column's name does not count: older versions did not record it."""
        return isinstance(other, SortField) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:-1])

    def __str__(self) -> str:
        term = _term(self.transform, self.column, self.source_id)
        return plain(f"{term} {'desc' if self.descending else 'asc'} nulls {'first' if self.nulls_first else 'last'}")


@answers("sort_order")
class SortOrder(NamedTuple):
    """How rows are sorted within files.

    Attributes:
        id: The order's id in its table; 0 is unsorted.
        fields: The fields, most significant first.
    """

    id: int
    fields: tuple[SortField, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.fields))}]"

    def __repr__(self) -> str:
        return f"SortOrder(id={self.id}, {self})"

    def _repr_html_(self) -> str:
        shown = tables.grid(("by",), [(field,) for field in self.fields]) or "<div>unsorted</div>"
        return tables.page(f"Sort order {self.id}", shown)
