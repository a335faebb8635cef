"""Python values and JSON as variants: the binary encoding of Parquet's variants, version 1.

The encoding is that of the Parquet format (VariantEncoding.md). A value takes the smallest type that holds it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from frazil.exceptions import InvalidInputError

__all__ = ["variants_of_json", "variants_of_python"]

_MOST_LEVELS = 500
_MOST_DIGITS = 38
_DECIMALS = ((9, 8, 4), (18, 9, 8), (_MOST_DIGITS, 10, 16))
"""Digits, the number of the type, and its bytes."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)

# Numbers of primitive types in the specification.
_NULL, _TRUE, _FALSE, _DOUBLE, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ = 0, 1, 2, 7, 11, 12, 13
_BINARY, _STRING, _TIME, _TIMESTAMP_NANOS, _TIMESTAMP_NTZ_NANOS, _UUID = 15, 16, 17, 18, 19, 20
_INTEGERS = ((3, 1), (4, 2), (5, 4), (6, 8))
"""The number of the type, and its bytes."""


def variants_of_python(values: Iterable[Any]) -> pa.StructArray:
    """Variants from Python values; None is null."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"values must be a list, with a value for each row, not a '{type(values).__name__}'",
            hint="For one variant, give a list with one value",
        )
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = values.to_pylist()
    return _array([None if value is None else _variant(value, row) for row, value in enumerate(values)])


def variants_of_json(texts: Iterable[str | None]) -> pa.StructArray:
    """Variants from JSON texts; None is null, and the text `null` is a variant that holds null."""
    if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
        raise InvalidInputError(
            f"texts must be a list of JSON texts, not a '{type(texts).__name__}'",
            hint="For one variant, give a list with one text",
        )
    if isinstance(texts, (pa.Array, pa.ChunkedArray)):
        texts = texts.to_pylist()
    return _array([None if text is None else _variant(_parsed(text, row), row) for row, text in enumerate(texts)])


def _parsed(text: Any, row: int) -> Any:
    if not isinstance(text, str):
        raise InvalidInputError(f"JSON must be text, not a '{type(text).__name__}'", {"row": str(row)})
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=_constant, object_pairs_hook=_members
        )
    except RecursionError as error:
        raise _too_deep(row) from error
    except ValueError as error:
        raise InvalidInputError(f"the text is not JSON: {error}", {"row": str(row)}) from error


def _integer(text: str) -> Any:
    return int(text) if len(text.lstrip("-")) <= _MOST_DIGITS else _finite(text)


def _number(text: str) -> Any:
    """A number with a fraction is a decimal if it has no exponent, as in Spark."""
    whole, _, fraction = text.lstrip("-").partition(".")
    is_decimal = "e" not in text.lower() and len(whole.lstrip("0")) + len(fraction) <= _MOST_DIGITS
    return decimal.Decimal(text) if is_decimal else _finite(text)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a value of JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the member {twice!r} twice")
    return members


def _array(variants: list[tuple[bytes, bytes] | None]) -> pa.StructArray:
    fields = [pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]
    columns = [
        pa.array([b"" if variant is None else variant[part] for variant in variants], pa.binary()) for part in (0, 1)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array([v is None for v in variants], pa.bool_()))


def _variant(value: Any, row: int) -> tuple[bytes, bytes]:
    """The metadata and the value."""
    names: set[str] = set()
    try:
        _collect(value, names, 0)
        ordered = sorted(name.encode() for name in names)
        ids = {name: number for number, name in enumerate(ordered)}
        return _metadata(ordered), _encoded(value, ids)
    except UnicodeEncodeError as error:
        raise InvalidInputError("a text has a lone surrogate, which is not a character", {"row": str(row)}) from error
    except RecursionError as error:
        raise _too_deep(row) from error
    except InvalidInputError as error:
        error.context.setdefault("row", str(row))
        raise


def _too_deep(row: int) -> InvalidInputError:
    return InvalidInputError(f"a variant nests deeper than {_MOST_LEVELS} levels", {"row": str(row)})


def _collect(value: Any, names: set[str], level: int) -> None:
    """Collects the names of all members."""
    if level > _MOST_LEVELS:
        raise InvalidInputError(f"a variant nests deeper than {_MOST_LEVELS} levels")
    if isinstance(value, Mapping):
        for name, member in value.items():
            if not isinstance(name, str):
                raise InvalidInputError(f"the name of a member must be text, not {name!r}")
            names.add(name)
            _collect(member, names, level + 1)
    elif isinstance(value, (list, tuple)):
        for element in value:
            _collect(element, names, level + 1)


def _metadata(names: list[bytes]) -> bytes:
    size = sum(map(len, names))
    width = _width(max(size, len(names)))
    # Version 1, names are sorted, and the width of offsets.
    header = 1 | 1 << 4 | (width - 1) << 6
    return bytes([header]) + len(names).to_bytes(width, "little") + _offsets(names, width) + b"".join(names)


def _offsets(parts: list[bytes], width: int) -> bytes:
    at, out = 0, [bytes(width)]
    for part in parts:
        at += len(part)
        out.append(at.to_bytes(width, "little"))
    return b"".join(out)


def _width(largest: int) -> int:
    """The bytes that hold a number."""
    width = max((largest.bit_length() + 7) // 8, 1)
    if width > 4:
        raise InvalidInputError("a variant is larger than 4 GiB")
    return width


def _encoded(value: Any, ids: dict[bytes, int]) -> bytes:
    if isinstance(value, Mapping):
        members = sorted(((name.encode(), member) for name, member in value.items()), key=lambda pair: pair[0])
        parts = []
        for _, member in members:
            parts.append(_encoded(member, ids))
        return _object([ids[name] for name, _ in members], parts)
    if isinstance(value, (list, tuple)):
        parts = []
        for element in value:
            parts.append(_encoded(element, ids))
        width = _width(sum(map(len, parts)))
        large = len(parts) > 255
        header = 3 | ((width - 1) | large << 2) << 2
        return (
            bytes([header])
            + len(parts).to_bytes(4 if large else 1, "little")
            + _offsets(parts, width)
            + b"".join(parts)
        )
    return _primitive(value)


def _object(ids: list[int], parts: list[bytes]) -> bytes:
    width, id_width = _width(sum(map(len, parts))), _width(max(ids, default=0))
    large = len(parts) > 255
    header = 2 | ((width - 1) | (id_width - 1) << 2 | large << 4) << 2
    numbers = b"".join(number.to_bytes(id_width, "little") for number in ids)
    count = len(parts).to_bytes(4 if large else 1, "little")
    return bytes([header]) + count + numbers + _offsets(parts, width) + b"".join(parts)


def _typed(number: int, content: bytes = b"") -> bytes:
    return bytes([number << 2]) + content


def _primitive(value: Any) -> bytes:
    if value is None:
        return _typed(_NULL)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bool):
        return _typed(_TRUE if value else _FALSE)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return _typed(_DOUBLE, struct.pack("<d", value))
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, str):
        text = value.encode()
        if len(text) < 64:
            return bytes([1 | len(text) << 2]) + text
        return _typed(_STRING, _length(text) + text)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _typed(_BINARY, _length(bytes(value)) + bytes(value))
    return _moment(value)


def _length(content: bytes) -> bytes:
    _width(len(content))
    return len(content).to_bytes(4, "little")


def _whole(value: int) -> bytes:
    for number, width in _INTEGERS:
        if -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            return _typed(number, value.to_bytes(width, "little", signed=True))
    return _decimal(decimal.Decimal(value))


def _decimal(value: decimal.Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidInputError(f"a variant can't hold the decimal {value}")
    unscaled = int("".join(map(str, digits)) or "0") * 10 ** min(max(exponent, 0), 2 * _MOST_DIGITS)
    scale = max(-exponent, 0)
    needed = max(len(str(unscaled)), scale)
    for most, number, width in _DECIMALS:
        if needed <= most and exponent <= _MOST_DIGITS:
            content = (-unscaled if sign else unscaled).to_bytes(width, "little", signed=True)
            return _typed(number, bytes([scale]) + content)
    raise InvalidInputError(
        f"a variant holds at most {_MOST_DIGITS} digits, not {str(value)[:60]}", hint="Give a float"
    )


def _moment(value: Any) -> bytes:
    """A date, a time, a timestamp or a uuid."""
    if isinstance(value, dt.datetime):
        number = _TIMESTAMP_NTZ if value.tzinfo is None else _TIMESTAMP
        since = (value.replace(tzinfo=dt.timezone.utc) if value.tzinfo is None else value) - _EPOCH
        return _typed(number, struct.pack("<q", since // _MICROSECOND))
    if isinstance(value, dt.date):
        return _typed(_DATE, struct.pack("<i", value.toordinal() - _FIRST_DAY))
    if isinstance(value, dt.time) and value.tzinfo is None:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return _typed(_TIME, struct.pack("<q", seconds * 1_000_000 + value.microsecond))
    if isinstance(value, pa.TimestampScalar) and value.is_valid and value.type.unit == "ns":
        number = _TIMESTAMP_NTZ_NANOS if value.type.tz is None else _TIMESTAMP_NANOS
        return _typed(number, struct.pack("<q", value.value))
    uuid = sys.modules.get("uuid")
    if uuid is not None and isinstance(value, uuid.UUID):
        return _typed(_UUID, value.bytes)
    raise InvalidInputError(
        f"a variant can't hold a '{type(value).__name__}'",
        hint="Use None, numbers, text, bytes, dates, times, UUIDs, lists, and dictionaries with texts as names",
    )
