"""Words, names, texts and signs of a statement, and a cursor over them.

A statement is never written again from its parts: expressions and queries stay the text that the user wrote. So each
token knows its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from frazil.exceptions import InvalidInputError

__all__ = ["Cursor", "Name", "Token", "shown", "tokens_of"]

Name = tuple[str, ...]
"""The parts of a name with dots."""

Kind = Literal["word", "quoted", "text", "number", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\n])*|/\*.*?\*/)
    |(?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<number>(?:\d+\.\d+|\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[LSYDFlsydf])?(?!\w))
    |(?P<word>\w+)
    |(?P<sign><=>|=>|>=|<=|<>|!=|==|\|\||\|>|::|->|.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}


@dataclass(frozen=True)
class Token:
    """A token of a statement.

    Attributes:
        kind: What it is.
        text: Its text: of names and texts without the quotes.
        start: Its first character's place in the statement.
        end: The place after its last character.
    """

    kind: Kind
    text: str
    start: int
    end: int


def tokens_of(statement: str) -> list[Token]:
    """The tokens of a statement, without spaces and comments. The last one is the end."""
    found: list[Token] = []
    for match in _TOKEN.finditer(statement):
        kind, text = match.lastgroup, match.group()
        if kind == "space":
            continue
        if kind == "text":
            text = _unquoted(text)
        elif kind == "quoted":
            text = text[1:-1].replace("``", "`")
        found.append(Token(kind, text, match.start(), match.end()))  # type: ignore[arg-type]
    return [*found, Token("end", "", len(statement), len(statement))]


def _unquoted(text: str) -> str:
    if text[0] in "rR":
        return text[2:-1]
    quote, inner = text[0], text[1:-1]
    return _ESCAPE.sub(_unescaped, inner.replace(quote * 2, quote))


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "uU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if len(escape) == 3:
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, escape)


def shown(name: Sequence[str]) -> str:
    """A name for messages."""
    return ".".join(part if re.fullmatch(r"\w+", part) else f"`{part}`" for part in name)


class Cursor:
    """A place in a statement, from where it is read on."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self._tokens = tokens_of(statement)
        self._at = 0
        while len(self._tokens) > 1 and self._tokens[-2].text == ";" and self._tokens[-2].kind == "sign":
            del self._tokens[-2]

    # ------------------------------------------------------------ looking

    def peek(self, ahead: int = 0) -> Token:
        """A coming token."""
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def at(self, *words: str) -> bool:
        """Whether these words come next."""
        return all(self._is_word(i, word) for i, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        """Whether one of these words comes next."""
        return any(self._is_word(0, word) for word in words)

    def at_sign(self, sign: str, ahead: int = 0) -> bool:
        """Whether a sign comes next."""
        token = self.peek(ahead)
        return token.kind == "sign" and token.text == sign

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.peek().kind == "end"

    def _is_word(self, ahead: int, word: str) -> bool:
        token = self.peek(ahead)
        return token.kind == "word" and token.text.upper() == word

    # ------------------------------------------------------------ taking

    def take(self) -> Token:
        """Takes the next token."""
        token = self.peek()
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def accept(self, *words: str) -> bool:
        """Takes these words if they come next."""
        found = self.at(*words)
        self._at += len(words) if found else 0
        return found

    def accept_any(self, *words: str) -> str | None:
        """Takes one of these words, and returns it in capitals."""
        return self.take().text.upper() if self.at_any(*words) else None

    def accept_sign(self, sign: str) -> bool:
        """Takes a sign if it comes next."""
        found = self.at_sign(sign)
        self._at += found
        return found

    def expect(self, *words: str) -> None:
        """Takes these words.

        Raises:
            InvalidInputError: Something else comes next.
        """
        for word in words:
            if not self.accept(word):
                raise self.error(word)

    def expect_sign(self, sign: str) -> None:
        """Takes a sign.

        Raises:
            InvalidInputError: Something else comes next.
        """
        if not self.accept_sign(sign):
            raise self.error(f"'{sign}'")

    def expect_end(self) -> None:
        """Refuses a statement that goes on."""
        if not self.at_end():
            raise self.error("the end")

    def name(self) -> Name:
        """Takes a name with dots."""
        parts = [self.part()]
        while self.at_sign(".") and self.peek(1).kind in ("word", "quoted", "number"):
            self.take()
            parts.append(self.part())
        return tuple(parts)

    def part(self) -> str:
        """Takes one part of a name."""
        if self.peek().kind not in ("word", "quoted", "number"):
            raise self.error("a name")
        return self.take().text

    def text(self) -> str:
        """Takes a quoted text."""
        if self.peek().kind != "text":
            raise self.error("a text in quotes")
        return self.take().text

    def value(self) -> str:
        """Takes a text, a number or a word, as values of properties are."""
        sign = "-" if self.accept_sign("-") else ""
        if self.peek().kind in ("sign", "end"):
            raise self.error("a value")
        return sign + self.take().text

    def integer(self) -> int:
        """Takes a whole number."""
        token = self.peek()
        digits = token.text.rstrip("lL")
        if token.kind not in ("number", "text") or not digits.isdigit():
            raise self.error("a whole number")
        self.take()
        return int(digits)

    # ------------------------------------------------------------ stretches of text

    def rest(self) -> str:
        """Takes everything that is left, as text."""
        text = self.between(self.peek().start, self._tokens[-1].start)
        self._at = len(self._tokens) - 1
        return text

    def between(self, start: int, end: int) -> str:
        """The text between two places."""
        text = self.statement[start:end].strip()
        return text.rstrip(";").rstrip() if end == len(self.statement) else text

    def parentheses(self) -> str:
        """Takes an expression in parentheses. Returns the text inside."""
        begin = self.peek()
        self.expect_sign("(")
        depth = 1
        while depth:
            token = self.take()
            if token.kind == "end":
                raise self.error("')'")
            if token.kind == "sign":
                depth += (token.text == "(") - (token.text == ")")
        return self.between(begin.end, token.start)

    def until(self, *stops: str, signs: str = "", angles: bool = False) -> str:
        """Takes text up to one of these words or signs, outside of parentheses and CASE.

        Args:
            stops: Words, several with a space between.
            signs: Signs of one character.
            angles: Whether `<` and `>` are parentheses, as in types.
        """
        begin, end, depth, cases = self.peek().start, self.peek().start, 0, 0
        opening, closing = ("([{<", ")]}>") if angles else ("([{", ")]}")
        while not self.at_end():
            token = self.peek()
            if depth == 0 and cases == 0 and self._stops(token, stops, signs):
                break
            if token.kind == "sign":
                depth += (token.text in opening) - (token.text in closing)
            elif token.kind == "word":
                cases += (token.text.upper() == "CASE") - (token.text.upper() == "END" and cases > 0)
            end = self.take().end
        return self.between(begin, end)

    def _stops(self, token: Token, stops: Sequence[str], signs: str) -> bool:
        if token.kind == "sign":
            return token.text in signs
        return token.kind == "word" and any(self.at(*stop.split()) for stop in stops)

    def error(self, wanted: str) -> InvalidInputError:
        """An error: something else was expected here."""
        token = self.peek()
        found = "the statement ends" if token.kind == "end" else f"'{self.statement[token.start : token.end]}' is"
        line = self.statement.count("\n", 0, token.start) + 1
        column = token.start - self.statement.rfind("\n", 0, token.start)
        return InvalidInputError(
            f"the statement can't be read: {found} where {wanted} should be",
            {"line": str(line), "column": str(column)},
        )
