"""JSON of the command line. `docs/reference/cli.md` documents the forms; they stay as they are.

Times are texts of ISO 8601 in UTC (`2026-01-31T12:00:00.000000Z`), days and times of day too. Decimals, UUIDs and
numbers that JSON does not have (`NaN`, `Infinity`) are texts. Bytes are base64. Maps are objects, whose keys are texts.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["document", "error_json", "line", "objects", "plain_text", "read", "read_exact", "value"]


def document(found: Any) -> str:
    """A JSON document, indented."""
    return _shown(json.dumps(value(found), indent=2, ensure_ascii=False, allow_nan=False))


def line(found: Any) -> str:
    """A JSON document in one line."""
    return _shown(json.dumps(value(found), ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _shown(text: str) -> str:
    """The same JSON, with escapes in place of characters that act on a terminal or change the direction of text."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def read(text: str) -> Any:
    """The value of a JSON text."""
    return json.loads(text)


def read_exact(text: str) -> Any:
    """The value of a JSON text, with decimals for numbers that have a fraction.

    Raises:
        ValueError: The text is not JSON, an object has a name twice, or it is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=Decimal, object_pairs_hook=_members)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found


def error_json(kind: str, message: str, context: Mapping[str, str] | None = None, hint: str | None = None) -> str:
    """An error, as a line of JSON on standard error."""
    return line({"error": {"kind": kind, "message": message, "context": dict(context or {}), "hint": hint}})


def value(found: Any) -> Any:
    """A value in the types of JSON."""
    if found is None or isinstance(found, (bool, int, str)):
        return found
    if isinstance(found, float):
        return found if math.isfinite(found) else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(found), "NaN")
    if isinstance(found, Mapping):
        return {key if isinstance(key, str) else plain_text(key): value(member) for key, member in found.items()}
    if isinstance(found, (list, tuple, set, frozenset)):
        return [value(member) for member in found]
    return plain_text(found)


def objects(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as objects, with maps as objects too."""
    found: list[dict[str, Any]] = rows.to_pylist(maps_as_pydicts="lossy")
    return found


def plain_text(found: Any) -> str:
    """A value as text, the same in JSON, CSV and tables."""
    if isinstance(found, dt.datetime):
        if found.tzinfo is None:
            return found.isoformat(timespec="microseconds")
        return found.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if isinstance(found, (dt.date, dt.time)):
        return found.isoformat()
    if isinstance(found, dt.timedelta):
        return f"{found.total_seconds():f} s"
    if isinstance(found, (bytes, bytearray)):
        return base64.b64encode(found).decode("ascii")
    if isinstance(found, (Decimal, uuid.UUID, int, float)):
        return str(found)
    if isinstance(found, (Mapping, list, tuple)):
        return line(found)
    return str(found)
