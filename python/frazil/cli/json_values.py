"""Values of JSON and of cells of CSV, in the types of a table's columns. The forms are those of `json_text`.

Times without a zone are in UTC, and times with one become UTC.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
import sys
import uuid
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.cli import json_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BadValueError", "array_of", "is_read_by_arrow", "object_of", "stored_type", "text_array"]

_Found = TypeVar("_Found")

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?")
_EPOCH = dt.datetime(1970, 1, 1)
_EXACT = Context(prec=100)
_MOST_FLOAT = 3.4028235677973366e38
_NUMBERS = ("NaN", "Infinity", "-Infinity")


def object_of(text: str) -> dict[str, Any]:
    """The members of a JSON object. Numbers with a fraction are decimals.

    Raises:
        ValueError: The text is something else.
    """
    found = json_text.read_exact(text)
    if not isinstance(found, dict):
        raise ValueError("each line must be one JSON object")
    return found


def is_read_by_arrow(kind: pa.DataType, *, from_csv: bool) -> bool:
    """Whether pyarrow reads a type from text by itself, in the forms of this program.

    Args:
        kind: The type.
        from_csv: Whether the text is a cell of CSV, and not JSON.
    """
    from pyarrow import types

    if types.is_list(kind) or types.is_struct(kind):
        inner = [kind.field(at).type for at in range(kind.num_fields)]
        return not from_csv and all(is_read_by_arrow(member, from_csv=False) for member in inner)
    if types.is_date32(kind) or types.is_time(kind):
        return from_csv
    plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string)
    return any(is_kind(kind) for is_kind in (*plain, types.is_timestamp, types.is_decimal))


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type in which the values of a column are given to the table: UUIDs are 16 bytes."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if types.is_list(kind):
        return pa.list_(_stored(kind.value_field))
    if types.is_map(kind):
        return pa.map_(_stored(kind.key_field), _stored(kind.item_field))
    if types.is_struct(kind):
        return pa.struct([_stored(kind.field(at)) for at in range(kind.num_fields)])
    return kind


def _stored(field: pa.Field) -> pa.Field:
    return field.with_type(stored_type(field.type))


def array_of(values: Iterable[Any], kind: pa.DataType, is_required: bool = False) -> pa.Array:
    """Values of JSON as an array of the stored type.

    Raises:
        BadValueError: A value does not have the type.
    """
    return _array(values, _converter(kind), kind, is_required)


def _array(
    values: Iterable[Any], convert: Callable[[Any], Any], kind: pa.DataType, is_required: bool = False
) -> pa.Array:
    import pyarrow as pa

    found = []
    for at, value in enumerate(values):
        try:
            found.append(_converted(value, convert, is_required))
        except (ValueError, TypeError, OverflowError) as error:
            raise BadValueError(at, str(error)) from error
    return pa.array(found, stored_type(kind))


class BadValueError(ValueError):
    """A value that does not have the type of its column.

    Args:
        at: Its place among the values.
        reason: What is wrong with it.
    """

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at


def text_array(texts: Iterable[str | None], kind: pa.DataType) -> pa.Array:
    """Cells of CSV as an array of the stored type. Nested values are JSON, other values are their texts.

    Raises:
        BadValueError: A cell does not have the type.
    """
    from pyarrow import types

    convert = _converter(kind)
    return _array(texts, (lambda text: convert(json_text.read_exact(text))) if types.is_nested(kind) else convert, kind)


def _converted(value: Any, convert: Callable[[Any], Any], is_required: bool = False) -> Any:
    if value is not None:
        return convert(value)
    if is_required:
        raise ValueError("it is null, and the column is required")
    return None


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes a value of a type from a value of JSON."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name != "arrow.uuid":
            raise ValueError(f"columns of type {kind.extension_name} can't be read from text")
        return lambda value: _read(value, "a UUID", uuid.UUID).bytes
    if types.is_list(kind):
        return _list_of(kind)
    if types.is_map(kind):
        return _map_of(kind)
    if types.is_struct(kind):
        return _struct_of(kind)
    if types.is_timestamp(kind):
        return lambda value: _ticks(_text(value, "a time"), kind.unit)
    if types.is_fixed_size_binary(kind):
        return lambda value: _bytes(value, kind.byte_width)
    named: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
        (types.is_boolean, _bool),
        (types.is_integer, lambda value: _int(value, kind.bit_width)),
        (types.is_floating, lambda value: _float(value, kind.bit_width)),
        (types.is_decimal, lambda value: _decimal(value, kind)),
        (types.is_date, lambda value: _read(value, "a day such as 2026-01-31", dt.date.fromisoformat)),
        (types.is_time, lambda value: _read(value, "a time of day such as 12:30:00", dt.time.fromisoformat)),
        (lambda k: types.is_string(k) or types.is_large_string(k), lambda value: _text(value, "a text")),
        (lambda k: types.is_binary(k) or types.is_large_binary(k), _bytes),
        (types.is_null, _null),
    )
    for is_kind, convert in named:
        if is_kind(kind):
            return convert
    raise ValueError(f"columns of type {kind} can't be read from text")


def _list_of(kind: pa.DataType) -> Callable[[Any], Any]:
    member, is_required = _converter(kind.value_type), not kind.value_field.nullable

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{_shown(value)} is not a list")
        return [_converted(element, member, is_required) for element in value]

    return convert


def _map_of(kind: pa.DataType) -> Callable[[Any], Any]:
    from pyarrow import types

    key, item = _converter(kind.key_type), _converter(kind.item_type)
    is_text, is_required = types.is_string(kind.key_type), not kind.item_field.nullable

    def key_of(name: str) -> Any:
        # Names of members are always texts.
        is_number = types.is_integer(kind.key_type) or types.is_boolean(kind.key_type)
        return key(name if is_text or not is_number else _read(name, f"a key of type {kind.key_type}", json_text.read))

    def convert(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, dict):
            raise ValueError(f"{_shown(value)} is not an object")
        return [(key_of(name), _converted(member, item, is_required)) for name, member in value.items()]

    return convert


def _struct_of(kind: pa.DataType) -> Callable[[Any], Any]:
    fields = [kind.field(at) for at in range(kind.num_fields)]
    members = {field.name: (_converter(field.type), not field.nullable) for field in fields}

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{_shown(value)} is not an object")
        if unknown := value.keys() - members.keys():
            raise ValueError(f"it has no member {min(unknown)!r}. Its members are: {', '.join(members)}")
        return {name: _converted(value.get(name), *member) for name, member in members.items()}

    return convert


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else json_text.line(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is not {what}")
    return value


def _read(value: Any, what: str, read: Callable[[str], _Found]) -> _Found:
    """A value that a function reads from text."""
    try:
        return read(_text(value, what))
    except ValueError:
        raise ValueError(f"{_shown(value)} is not {what}") from None


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is neither true nor false")
    return value


def _int(value: Any, bits: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is not a whole number")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{_shown(value)} is too large for {bits} bits")
    return value


def _float(value: Any, bits: int) -> float:
    if isinstance(value, str) and value in _NUMBERS:
        return float(value)
    if isinstance(value, (str, bool)) or not isinstance(value, (int, float, Decimal)):
        raise ValueError(f"{_shown(value)} is not a number")
    found = float(value)
    # `NaN` and `Infinity` without quotes are floats already.
    if not isinstance(value, float) and abs(found) > (_MOST_FLOAT if bits == 32 else sys.float_info.max):
        raise ValueError(f"{_shown(value)} is too large for {bits} bits")
    return found


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        raise ValueError(f"{_shown(value)} is not a decimal number")
    try:
        found = Decimal(value)
    except ArithmeticError:
        raise ValueError(f"{_shown(value)} is not a decimal number") from None
    if not found.is_finite():
        raise ValueError(f"{_shown(value)} is not a decimal number")
    try:
        kept = found.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    except ArithmeticError:
        kept = None
    if kept is None or kept != found or len(kept.as_tuple().digits) > kind.precision:
        raise ValueError(f"{_shown(value)} does not fit decimal({kind.precision}, {kind.scale})")
    return kept


def _bytes(value: Any, width: int | None = None) -> bytes:
    try:
        found = base64.b64decode(_text(value, "base64"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{_shown(value)} is not base64") from None
    if width is not None and len(found) != width:
        raise ValueError(f"{_shown(value)} has {len(found)} bytes, not {width}")
    return found


def _null(value: Any) -> None:
    raise ValueError(f"{_shown(value)} is not null")


def _moment(text: str) -> tuple[dt.datetime, str, str]:
    """A time in whole seconds, the digits after them, and its zone."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    day, clock, fraction, zone = found.groups()
    return dt.datetime.fromisoformat(f"{day}T{clock or '00:00'}"), fraction or "", zone or "Z"


def _ticks(text: str, unit: str) -> int:
    """The units since 1970 of a time."""
    moment, fraction, zone = _read(text, "a time such as 2026-01-31T12:00:00", _moment)
    since = moment - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    if zone not in "Zz":
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    nanoseconds = seconds * 10**9 + int(fraction.ljust(9, "0"))
    ticks, rest = divmod(nanoseconds, 10**9 // _TICKS[unit])
    if rest:
        raise ValueError(f"{_shown(text)} has more digits than the column keeps")
    return ticks
