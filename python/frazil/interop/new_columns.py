"""The columns of a new table, from an Arrow schema. Types that pyarrow has no class for are kept."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from frazil import _core
from frazil.exceptions import InvalidInputError

__all__ = ["new_columns", "with_variants"]

_FIELD_ID = b"PARQUET:field_id"
_EXTENSION = b"ARROW:extension:name"
_EXTENSION_METADATA = b"ARROW:extension:metadata"
_VARIANT = b"arrow.parquet.variant"


def new_columns(schema: pa.Schema) -> pa.Schema:
    """The columns without ids: those of rows from other tables mean nothing in a new one, and may occur twice.

    Raises:
        InvalidInputError: A column of geometries would lose its type.
    """
    return _rebuilt(schema, _without_id)


def with_variants(schema: pa.Schema) -> tuple[pa.Schema, set[str]]:
    """The columns of rows, and the names of those that are variants or have some by their form alone.

    pyarrow loses a column's type `arrow.parquet.variant` when it takes the column out of its table. A struct of exactly
    the two required binary members of a variant is one.
    """
    marked = _rebuilt(schema, _with_mark)
    return marked, {
        old.name for old, new in zip(schema, marked, strict=True) if not old.equals(new, check_metadata=True)
    }


def _rebuilt(schema: pa.Schema, change: Callable[[pa.Field], pa.Field]) -> pa.Schema:
    """A schema with all fields changed, at every depth."""

    def field(old: pa.Field) -> pa.Field:
        return change(old.with_type(_with_children(old.type, field)))

    return pa.schema([field(old) for old in schema], metadata=schema.metadata)


def _with_children(type_: pa.DataType, field: Callable[[pa.Field], pa.Field]) -> pa.DataType:
    """A type with its children changed."""
    if pa.types.is_struct(type_):
        return pa.struct([field(child) for child in type_])
    if pa.types.is_map(type_):
        return pa.map_(field(type_.key_field), field(type_.item_field), keys_sorted=type_.keys_sorted)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(field(type_.value_field), type_.list_size)
    for is_list, list_ in (
        (pa.types.is_list, pa.list_),
        (pa.types.is_large_list, pa.large_list),
        (pa.types.is_list_view, pa.list_view),
        (pa.types.is_large_list_view, pa.large_list_view),
    ):
        if is_list(type_):
            return list_(field(type_.value_field))
    return type_


def _without_id(field: pa.Field) -> pa.Field:
    metadata = dict(field.metadata or {})
    metadata.pop(_FIELD_ID, None)
    bare = field.with_metadata(metadata or None)
    _check_geometry(bare)
    return bare


def _with_mark(field: pa.Field) -> pa.Field:
    metadata = dict(field.metadata or {})
    if not pa.types.is_struct(field.type) or _EXTENSION in metadata:
        return field
    members = list(field.type)
    is_variant = {member.name for member in members} == {"metadata", "value"} and len(members) == 2
    if is_variant and all(_is_bytes(member.type) and not member.nullable for member in members):
        return field.with_metadata({**metadata, _EXTENSION: _VARIANT, _EXTENSION_METADATA: b""})
    return field


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_))


def _check_geometry(field: pa.Field) -> None:
    if isinstance(field.type, pa.BaseExtensionType):
        name = field.type.extension_name
    else:
        name = (field.metadata or {}).get(_EXTENSION, b"").decode(errors="replace")
    if not name.startswith("geoarrow."):
        return
    if name != "geoarrow.wkb":
        raise InvalidInputError(
            f"a table has no type for geometries of the form {name}",
            {"column": field.name},
            "Convert them to well-known binary (geoarrow.wkb)",
        )
    if _core.Schema.from_arrow(pa.schema([field])).fields[0].type in ("binary", "string"):
        raise InvalidInputError(
            "the metadata of the geometries do not name a reference system by its code",
            {"column": field.name},
            "Give them one, such as 'OGC:CRS84' or 'EPSG:4326', or cast the column to pyarrow.binary()",
        )
