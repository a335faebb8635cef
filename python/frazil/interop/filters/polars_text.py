"""Reads the text of Polars' expressions."""

from __future__ import annotations

import re
from typing import Any

from frazil.interop.filters.refusal import refused

__all__ = ["tree_of"]

_TOKEN = re.compile(r"""\s*(?:([{}\[\],:])|"((?:[^"\\]|\\.)*)"|(-?\d[\d.eE+-]*)|(true|false|null))""", re.DOTALL)
_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\(.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


def tree_of(text: str) -> Any:
    """The dictionaries, lists and values that the text describes."""
    return _Reader(text).value()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def _next(self) -> tuple[str, Any]:
        """The next sign, or `value` with what it is."""
        token = _TOKEN.match(self._text, self._at)
        if token is None:
            raise refused("Polars", "an expression whose text can't be read")
        self._at = token.end()
        sign, quoted, number, word = token.groups()
        if sign is not None:
            return sign, None
        if quoted is not None:
            return "value", _ESCAPE.sub(_unescaped, quoted)
        if number is not None:
            return "value", int(number) if number.lstrip("-").isdigit() else float(number)
        return "value", _WORDS[word]

    def value(self) -> Any:
        return self._of(*self._next())

    def _of(self, sign: str, value: Any) -> Any:
        if sign == "value":
            return value
        if sign == "[":
            return self._list()
        if sign == "{":
            return self._dictionary()
        raise refused("Polars", "an expression whose text can't be read")

    def _list(self) -> list[Any]:
        out: list[Any] = []
        sign, value = self._next()
        while sign != "]":
            if sign == ",":
                sign, value = self._next()
            out.append(self._of(sign, value))
            sign, value = self._next()
        return out

    def _dictionary(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        sign, key = self._next()
        while sign != "}":
            if sign == ",":
                sign, key = self._next()
            self._next()
            out[key] = self.value()
            sign, _ = self._next()
        return out


def _unescaped(found: re.Match[str]) -> str:
    letter = found[1]
    if letter is not None:
        return _LETTERS.get(letter, letter)
    units = bytes.fromhex(found[0].replace("\\u", ""))
    return units.decode("utf-16-be", "surrogatepass")
