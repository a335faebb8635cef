"""Expressions of Polars as filters.

The expression is read from Polars' own JSON. Polars and Frazil treat NaN alike: it equals itself and is the greatest
number. Arithmetic is refused, because Polars wraps integers around at the end of their type.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
import warnings
from typing import Any

import pyarrow as pa

from frazil.expr import Predicate, Term, col
from frazil.interop.filters.comparisons import MIRRORED, POLARS, compared
from frazil.interop.filters.polars_text import tree_of
from frazil.interop.filters.refusal import refused

__all__ = ["predicate"]

_CLOSED = {"Both": ("__ge__", "__le__"), "Left": ("__ge__", "__lt__"), "Right": ("__gt__", "__le__")}
_CLOSED["None"] = ("__gt__", "__lt__")
_PER_SECOND = {"Milliseconds": 10**3, "Microseconds": 10**6, "Nanoseconds": 10**9}
_ARITHMETIC = "Write it with frazil.col, which computes integers with 64 bits: col('x') + 1 > 5"
# Above this, not every integer is a double.
_EXACT = 2**53


def predicate(expression: Any) -> Predicate:
    """The filter with the same meaning."""
    with warnings.catch_warnings():
        # Polars warns that other versions have another JSON. Unknown parts are refused.
        warnings.simplefilter("ignore")
        tree = tree_of(expression.meta.serialize(format="json"))
    return _predicate(tree)


def _only(node: Any) -> tuple[str, Any]:
    """The kind of a node and its content."""
    if isinstance(node, dict) and len(node) == 1:
        return next(iter(node.items()))
    return (node, None) if isinstance(node, str) else ("", node)


def _predicate(node: Any) -> Predicate:
    kind, content = _only(node)
    if kind == "Column" or _is_member(node):
        return Predicate(str(_term(node)))
    if kind == "Alias":
        return _predicate(content[0])
    if kind == "Literal":
        value = content.get("Scalar", {}).get("Boolean") if isinstance(content, dict) else None
        if isinstance(value, bool):
            return Predicate("true" if value else "false")
        raise refused("Polars", "a literal as a condition")
    if kind == "BinaryExpr":
        return _binary(content["op"], content["left"], content["right"])
    if kind == "Function":
        family, name = _only(content["function"])
        inputs = content["input"]
        if family == "Boolean":
            return _boolean(*_only(name), inputs)
        if family == "StringExpr":
            return _text(*_only(name), inputs)
    raise refused("Polars", _shown(node))


def _shown(node: Any) -> str:
    kind, content = _only(node)
    if kind == "Function":
        family, name = _only(content["function"])
        return f"the function {(name is not None and _only(name)[0]) or family or 'without a name'}"
    if kind == "BinaryExpr":
        return f"the operator {content['op']}"
    return f"the part '{kind or 'without a name'}'"


def _binary(op: str, left: Any, right: Any) -> Predicate:
    if op in ("And", "LogicalAnd"):
        return _predicate(left) & _predicate(right)
    if op in ("Or", "LogicalOr"):
        return _predicate(left) | _predicate(right)
    method = POLARS.get(op)
    if _only(left)[0] == "Literal" and _only(right)[0] != "Literal":
        left, right = right, left
        method = None if method is None else MIRRORED[method]
    if op in ("EqValidity", "NotEqValidity"):
        if _only(right)[0] != "Literal":
            raise refused("Polars", "eq_missing() of two columns", "Write (a == b) | (a.is_null() & b.is_null())")
        term = _term(left)
        if op == "EqValidity":
            return term.is_not_null() & _with("__eq__", term, right)
        return term.is_null() | _with("__ne__", term, right)
    if method is not None:
        return _with(method, _term(left), right)
    raise refused("Polars", f"the operator {op}", _ARITHMETIC)


def _with(method: str, term: Term, right: Any) -> Predicate:
    kind, content = _only(right)
    if kind != "Literal":
        return compared(term, method, _term(right))
    value = _literal(content)
    if "Float64" in content.get("Scalar", {}) and struct.unpack("<f", struct.pack("<f", value))[0] != value:
        # Polars compares 32-bit floats with such a literal as doubles.
        term = term.cast("double")
    return compared(term, method, value)


def _is_member(node: Any) -> bool:
    kind, content = _only(node)
    return kind == "Function" and "FieldByName" in str(_only(content["function"])[1])


def _path(node: Any) -> list[str]:
    kind, content = _only(node)
    if kind == "Column":
        return [content]
    if kind == "Alias":
        return _path(content[0])
    if _is_member(node):
        return [*_path(content["input"][0]), content["function"]["StructExpr"]["FieldByName"]]
    raise refused("Polars", _shown(node), _ARITHMETIC if kind == "BinaryExpr" else "")


def _term(node: Any) -> Term:
    kind, content = _only(node)
    if kind == "Function" and isinstance(content["function"], dict):
        change = content["function"].get("StringExpr")
        if change == "Lowercase":
            return _term(content["input"][0]).lower()
        if change == "Uppercase":
            return _term(content["input"][0]).upper()
    return col(*_path(node))


def _literal(content: Any) -> Any:
    family, literal = _only(content)
    kind, value = _only(literal)
    if family == "Dyn" and kind == "Int":
        return value
    if family == "Dyn" and kind == "Float" and value is not None and abs(value) < _EXACT:
        return float(value)
    if family == "Scalar":
        if kind in ("Boolean", "String") or kind.startswith(("Int", "UInt")):
            return value
        if kind == "Float64" and value is not None and abs(value) < _EXACT:
            return float(value)
        if kind == "Binary":
            return bytes(value)
        if kind == "Date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=value)
        if kind == "Datetime":
            return _time(*value)
        if kind == "Decimal":
            unscaled, _, scale = value
            return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=60))
        if kind == "Null":
            raise refused("Polars", "a comparison with null", "Write is_null()")
    raise refused("Polars", f"the literal {_shown_literal(literal)}")


def _shown_literal(literal: Any) -> str:
    text = str(literal)
    return text if len(text) < 60 else text[:60] + "…"


def _time(value: int, unit: str, zone: Any) -> str:
    seconds, rest = divmod(value, _PER_SECOND[unit])
    whole = (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)).isoformat()
    fraction = f".{rest:0{len(str(_PER_SECOND[unit])) - 1}}" if rest else ""
    return f"{whole}{fraction}{'+00:00' if zone is not None else ''}"


def _boolean(name: str, options: Any, inputs: list[Any]) -> Predicate:
    if name == "Not":
        return ~_predicate(inputs[0])
    if name in ("AllHorizontal", "AnyHorizontal"):
        parts = [_predicate(part) for part in inputs]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole & part if name == "AllHorizontal" else whole | part
        return whole
    if name not in ("IsNull", "IsNotNull", "IsNan", "IsNotNan", "IsBetween", "IsIn"):
        raise refused("Polars", f"the function {name}")
    term = _term(inputs[0])
    if name == "IsNull":
        return term.is_null()
    if name == "IsNotNull":
        return term.is_not_null()
    if name in ("IsNan", "IsNotNan"):
        # Both are null for null, as x != x is.
        nan = Predicate(f"isnan({term})") | (term != term)
        return nan if name == "IsNan" else ~nan
    if name == "IsBetween":
        low, high = _CLOSED[options["closed"]]
        return _with(low, term, inputs[1]) & _with(high, term, inputs[2])
    return _is_in(term, inputs[1], options["nulls_equal"])


def _is_in(term: Term, members: Any, nulls_equal: bool) -> Predicate:
    kind, content = _only(members)
    listed = content.get("Scalar", {}).get("List") if kind == "Literal" else None
    if listed is None:
        raise refused("Polars", "is_in() of something other than a list of values")
    values = pa.ipc.open_stream(pa.py_buffer(bytes(listed))).read_all().column(0).to_pylist()
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    known = [value for value in values if value is not None]
    if any(isinstance(value, float) for value in known):
        raise refused("Polars", "is_in() with floating-point numbers", "Write comparisons, as in (x == 0.5) | (x > 5)")
    if not all(isinstance(value, (bool, int, str, bytes, decimal.Decimal, dt.date, dt.time)) for value in known):
        raise refused("Polars", "is_in() with values of this type")
    if not known and not nulls_equal:
        raise refused("Polars", "is_in() without values", "Write false")
    found = term.is_in(known)
    if not nulls_equal:
        return found
    return term.is_null() | found if len(known) < len(values) else term.is_not_null() & found


def _text(name: str, options: Any, inputs: list[Any]) -> Predicate:
    methods = {"StartsWith": "starts_with", "EndsWith": "ends_with", "Contains": "contains"}
    if name not in methods:
        raise refused("Polars", f"the function {name}")
    kind, content = _only(inputs[1])
    text = content.get("Scalar", {}).get("String") if kind == "Literal" else None
    if text is None:
        raise refused("Polars", f"{methods[name]}() of something other than a text")
    if name == "Contains" and not options["literal"] and any(c in r"\.+*?()|[]{}^$#&-~" for c in text):
        hint = "Write str.contains(…, literal=True), or col('s').like('a%b_')"
        raise refused("Polars", f"the regular expression {text!r}", hint)
    found: Predicate = getattr(_term(inputs[0]), methods[name])(text)
    return found
