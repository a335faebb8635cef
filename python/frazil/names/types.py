"""Names of types in other libraries."""

from __future__ import annotations

__all__ = ["type_here"]

_TYPES = {
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int"),
    **dict.fromkeys(("int64", "uint32"), "long"),
    **dict.fromkeys(("float16", "float32", "halffloat"), "float"),
    "float64": "double",
    **dict.fromkeys(("large_string", "large_utf8", "object", "str", "string", "text", "utf8"), "string"),
    **dict.fromkeys(("bool", "bool_"), "boolean"),
    **dict.fromkeys(("bytes", "large_binary"), "binary"),
    **dict.fromkeys(("date32", "date32[day]"), "date"),
    **dict.fromkeys(("datetime", "datetime64[us]", "timestamp[us]"), "timestamp"),
}


def type_here(given: object) -> str | None:
    """Frazil's name for a type of Python, numpy, pyarrow or Polars, or None."""
    if given is int:
        return "long"
    if given is float:
        return "double"
    for name in (getattr(given, "__name__", ""), str(given)):
        if (known := _TYPES.get(name.lower())) is not None:
            return known
    return None
