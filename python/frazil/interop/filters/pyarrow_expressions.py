"""Expressions of pyarrow as filters.

The expression is read from its pickle: a record batch with the calls in its metadata and the literals in its columns.

pyarrow's comparisons differ from Frazil's for NaN: there it equals nothing, here it equals itself and is the greatest
number. `is_in` of pyarrow is false for null, and its `is_nan` is null for null. The translation has tests for these.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import decimal
import math
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from frazil.expr import Operand, Predicate, Term, col
from frazil.interop.filters.comparisons import GREATER, MIRRORED, PYARROW, compared
from frazil.interop.filters.refusal import refused

__all__ = ["predicate"]

_ARITHMETIC = {"add_checked": "__add__", "subtract_checked": "__sub__", "multiply_checked": "__mul__"}
_SPELLINGS = {
    "cast": "Write col('x').cast('int'), which fails where a value does not fit",
    "utf8_lower": "Write col('s').lower(), which also changes letters that become several",
    "utf8_upper": "Write col('s').upper(), which also changes letters that become several",
    "divide": "Write col('x') / 2, which gives a double",
    "divide_checked": "Write col('x') / 2, which gives a double",
    "and": "Write a & b",
    "or": "Write a | b",
    "match_substring_regex": "Write col('s').like('a%b_')",
}


class _CSchema(ctypes.Structure):
    """The first members of `ArrowSchema` in Arrow's C data interface."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


def predicate(expression: Any) -> Predicate:
    """The filter with the same meaning."""
    try:
        buffer = expression.__reduce__()[1][0]
    except pa.ArrowNotImplementedError as e:
        raise refused("pyarrow", str(expression), "Refer to columns by their names") from e
    batch = pa.ipc.open_file(buffer).get_batch(0)
    return _predicate(_Reader(batch).node())


class _Node:
    """A call with its arguments and options, a column, or a literal."""

    def __init__(self, kind: str, value: Any, arguments: Sequence[_Node] = (), options: Any = None) -> None:
        self.kind = kind
        self.value = value
        self.arguments = arguments
        self.options: dict[str, Any] = {} if options is None else options.as_py()
        self.value_set = None if options is None or "value_set" not in self.options else options["value_set"].values


class _Reader:
    """Reads the calls and leaves of an expression in order."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._words = _metadata(batch.schema)

    def node(self) -> _Node:
        node = self._next()
        if node is None:
            raise refused("pyarrow", "an expression without an end")
        return node

    def _next(self) -> _Node | None:
        """The next node; None at the end of a call."""
        key, value = next(self._words, ("end", ""))
        if key == "end":
            return None
        if key == "field_ref":
            return _Node("column", [value])
        if key == "nested_field_ref":
            return _Node("column", [next(self._words)[1] for _ in range(int(value))])
        if key == "literal":
            return _Node("literal", self._batch.column(int(value))[0])
        if key != "call":
            raise refused("pyarrow", f"'{key}'")
        return self._call(value)

    def _call(self, name: str) -> _Node:
        arguments: list[_Node] = []
        options = None
        while True:
            # Options come after the arguments.
            key, value = self._words.peek()
            if key == "options":
                next(self._words)
                options = self._batch.column(int(value))[0]
                continue
            argument = self._next()
            if argument is None:
                return _Node("call", name, arguments, options)
            arguments.append(argument)


class _Words(Iterator[tuple[str, str]]):
    """Words, with a look at the next one."""

    def __init__(self, words: list[tuple[str, str]]) -> None:
        self._words = words
        self._at = 0

    def __next__(self) -> tuple[str, str]:
        if self._at == len(self._words):
            raise StopIteration
        self._at += 1
        return self._words[self._at - 1]

    def peek(self) -> tuple[str, str]:
        return self._words[self._at] if self._at < len(self._words) else ("end", "")


def _metadata(schema: pa.Schema) -> _Words:
    """The pairs of a schema's metadata in order. Keys repeat, and pyarrow's own dictionary would keep one of each."""
    capsule = schema.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = _CSchema.from_address(pointer(capsule, b"arrow_schema")).metadata
    at = 0

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(ctypes.string_at(address + at - 4, 4), sys.byteorder, signed=True)

    def text() -> str:
        nonlocal at
        length = number()
        at += length
        return ctypes.string_at(address + at - length, length).decode()

    return _Words([(text(), text()) for _ in range(number())] if address else [])


def _predicate(node: _Node) -> Predicate:
    if node.kind == "literal":
        if node.value.as_py() is None or not pa.types.is_boolean(node.value.type):
            raise refused("pyarrow", f"the literal {node.value} as a condition")
        return Predicate("true" if node.value.as_py() else "false")
    if node.kind == "column":
        return Predicate(str(col(*node.value)))
    name, arguments = node.value, node.arguments
    if name in ("and_kleene", "or_kleene"):
        left, right = (_predicate(a) for a in arguments)
        return left & right if name == "and_kleene" else left | right
    if name == "invert":
        return ~_predicate(arguments[0])
    if name in PYARROW:
        return _comparison(PYARROW[name], *arguments)
    test = _TESTS.get(name)
    if test is None:
        raise refused("pyarrow", f"{name}()", _SPELLINGS.get(name, ""))
    return test(node)


def _comparison(method: str, left: _Node, right: _Node) -> Predicate:
    if left.kind == "literal" and right.kind != "literal":
        return _comparison(MIRRORED[method], right, left)
    term = _term(left)
    if right.kind != "literal":
        return _of_terms(method, term, _term(right))
    value = _literal(right.value)
    is_float = isinstance(value, float)
    if is_float and math.isnan(value):
        raise refused("pyarrow", "a comparison with NaN", "Write col('x').is_nan()")
    if is_float and struct.unpack("<f", struct.pack("<f", _narrow(value)))[0] != value:
        # pyarrow compares 32-bit floats with doubles as doubles.
        term = term.cast("double")
    found = compared(term, method, value)
    return found & ~_nan(term) if method in GREATER and _may_be_nan(right.value.type) else found


def _narrow(value: float) -> float:
    """The value, or zero where a 32-bit float has no such value."""
    return value if abs(value) < 3e38 or math.isinf(value) else 0.0


def _of_terms(method: str, a: Term, b: Term) -> Predicate:
    found = compared(a, method, b)
    if method == "__ne__":
        return found | (_nan(a) & _nan(b))
    # NaN against null stays null, as its negation does.
    return found & (~_nan(a) | b.is_null()) & (~_nan(b) | a.is_null())


def _may_be_nan(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def _nan(term: Term) -> Predicate:
    return Predicate(f"isnan({term})")


def _term(node: _Node) -> Term:
    if node.kind == "column":
        return col(*node.value)
    if node.kind == "call" and node.value in _ARITHMETIC:
        a, b = node.arguments
        if a.kind == "literal":
            return Term(f"({_number(a)} {_SIGNS[node.value]} {_term(b)})")
        operand: Operand = _term(b) if b.kind != "literal" else _number(b)
        computed: Term = getattr(_term(a), _ARITHMETIC[node.value])(operand)
        return computed
    what = f"{node.value}()" if node.kind == "call" else f"the literal {node.value}"
    raise refused("pyarrow", what, _SPELLINGS.get(str(node.value), ""))


def _number(node: _Node) -> Any:
    value = node.value.as_py()
    if not _may_be_nan(node.value.type) or value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise refused("pyarrow", f"arithmetic with {node.value}")
    return value


def _literal(scalar: pa.Scalar) -> Any:
    """The value of a literal. Times become text, which keeps nanoseconds."""
    if not scalar.is_valid:
        raise refused("pyarrow", "a comparison with null", "Write is_null()")
    type_ = scalar.type
    if pa.types.is_timestamp(type_):
        text: str = scalar.cast(pa.timestamp(type_.unit, "UTC" if type_.tz else None)).cast(pa.string()).as_py()
        return text.replace("Z", "+00:00")
    if pa.types.is_time(type_):
        return scalar.cast(pa.string()).as_py()
    value = scalar.as_py()
    if isinstance(value, (bool, int, float, str, bytes, decimal.Decimal, dt.date)):
        return value
    raise refused("pyarrow", f"a literal of type {type_}")


def _is_null(node: _Node) -> Predicate:
    term = _term(node.arguments[0])
    return term.is_null() | _nan(term) if node.options.get("nan_is_null") else term.is_null()


def _is_nan(node: _Node) -> Predicate:
    # It is null for null, as x != x is.
    term = _term(node.arguments[0])
    return _nan(term) | (term != term)


def _is_in(node: _Node) -> Predicate:
    term = _term(node.arguments[0])
    behaviour = node.options.get("null_matching_behavior")
    value_set = node.value_set if node.value_set is not None else pa.array([])
    values = [value for value in value_set if value.is_valid]
    has_null = len(values) < len(value_set)
    members = [_literal(value) for value in values]
    if any(isinstance(value, float) and (math.isnan(value) or value == 0.0) for value in members):
        raise refused("pyarrow", "is_in with NaN or a zero with a sign", "Write comparisons, as in (x == 0) | (x > 5)")
    found = term.is_in(members)
    if behaviour in (0, 1):
        matches_null = has_null and behaviour == 0
        return term.is_null() | found if matches_null else term.is_not_null() & found
    raise refused("pyarrow", "is_in with null_matching_behavior", "Write col('x').is_in([…])")


def _pattern(method: str) -> Callable[[_Node], Predicate]:
    def test(node: _Node) -> Predicate:
        if node.options.get("ignore_case"):
            raise refused("pyarrow", f"{node.value}() without regard to case", "Write col('s').ilike('a%')")
        predicate: Predicate = getattr(_term(node.arguments[0]), method)(node.options["pattern"])
        return predicate

    return test


_SIGNS = {"add_checked": "+", "subtract_checked": "-", "multiply_checked": "*"}
_TESTS: dict[str, Callable[[_Node], Predicate]] = {
    "is_null": _is_null,
    "is_valid": lambda node: _term(node.arguments[0]).is_not_null(),
    "is_nan": _is_nan,
    "is_in": _is_in,
    "starts_with": _pattern("starts_with"),
    "ends_with": _pattern("ends_with"),
    "match_substring": _pattern("contains"),
    "match_like": _pattern("like"),
}
