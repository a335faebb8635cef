"""What goes wrong on demand: requests that fail before or after they are done, and answers that are changed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rest_server.refusal import Refusal

UNKNOWN = "CommitStateUnknownException"
STATUSES = {
    "409": (409, "CommitFailedException"),
    "429": (429, "TooManyRequestsException"),
    "500": (500, "InternalServerError"),
    "502": (502, "BadGatewayException"),
    "503": (503, "ServiceUnavailableException"),
    "504": (504, "GatewayTimeoutException"),
    "400-unknown": (400, UNKNOWN),
}
BROKEN = ("reset", "timeout", "cut")
KINDS = (*STATUSES, *BROKEN)


@dataclass
class Fault:
    """Requests of an operation that fail: the `nth` from now, and the `times - 1` after it."""

    operation: str
    kind: str
    when: str = "before"
    nth: int = 1
    times: int = 1
    # How long a connection stays open that is never answered.
    seconds: float = 5.0
    # Requests that came so far, and those that failed.
    seen: int = 0
    done: int = 0

    def takes(self, operation: str, mutates: bool) -> bool:
        return self.operation == operation or (self.operation == "*" and mutates)


@dataclass
class Answer:
    """An answer that is not sent yet. It may have no body."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    # Sent in place of the body, if given.
    content: bytes | None = None
    # How often the content is sent.
    repeated: int = 1
    # Whether the length is said before.
    has_length: bool = True

    def bytes(self) -> bytes:
        if self.content is not None:
            return self.content
        return b"" if self.body is None else json.dumps(self.body).encode()


Changed = Callable[[Answer], Answer]


@dataclass
class Faults:
    """All that is planted."""

    planted: list[Fault] = field(default_factory=list)
    changes: list[tuple[str, Changed, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def plant(self, fault: Fault) -> Fault:
        if fault.kind not in KINDS or fault.when not in ("before", "after"):
            raise ValueError(f"a fault is {' | '.join(KINDS)}, before or after: {fault}")
        with self.lock:
            self.planted.append(fault)
        return fault

    def change(self, operation: str, changed: Changed, times: int = 1) -> None:
        """The next good answers of an operation are changed."""
        with self.lock:
            self.changes.append((operation, changed, times))

    def clear(self) -> None:
        with self.lock:
            self.planted.clear()
            self.changes.clear()

    def take(self, operation: str, mutates: bool) -> Fault | None:
        with self.lock:
            taken = None
            for fault in self.planted:
                if not fault.takes(operation, mutates):
                    continue
                fault.seen += 1
                if taken is None and fault.nth <= fault.seen < fault.nth + fault.times:
                    fault.done += 1
                    taken = fault
            return taken

    def changed(self, operation: str, answer: Answer) -> Answer:
        with self.lock:
            for position, (wanted, change, times) in enumerate(self.changes):
                if wanted == operation and times > 0:
                    self.changes[position] = (wanted, change, times - 1)
                    return change(answer)
        return answer


def failure(fault: Fault, retry_after: str, unknown_as_400: bool) -> Answer:
    """What a fault with a status answers."""
    status, type = STATUSES[fault.kind]
    if unknown_as_400 and status >= 500:
        status, type = STATUSES["400-unknown"]
    refusal = Refusal(status, type, f"planted by the test: {fault.kind} {fault.when}")
    headers = {"Retry-After": retry_after} if status == 429 else {}
    return Answer(status, refusal.body(), headers)


# ---------------------------------------------------------------- changed answers


def truncated(answer: Answer) -> Answer:
    content = answer.bytes()
    return Answer(answer.status, None, answer.headers, content[: len(content) // 2])


def empty(answer: Answer) -> Answer:
    return Answer(answer.status, None, answer.headers, b"")


def html(answer: Answer) -> Answer:
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in</body></html>"
    return Answer(answer.status, None, {**answer.headers, "Content-Type": "text/html; charset=utf-8"}, page)


def wrong_content_type(answer: Answer) -> Answer:
    """Good JSON that says it is something else."""
    return Answer(answer.status, answer.body, {**answer.headers, "Content-Type": "application/octet-stream"})


def deep(answer: Answer) -> Answer:
    return Answer(answer.status, None, answer.headers, b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


def deep_member(answer: Answer) -> Answer:
    """Nesting in a place that the client does not know."""
    content = answer.bytes().rstrip()
    nested = b"[" * 50_000 + b"]" * 50_000
    return Answer(answer.status, None, answer.headers, content[:-1] + b',"acme":' + nested + b"}")


def huge(answer: Answer) -> Answer:
    """Far more than any answer should have: 2 GB of spaces."""
    return Answer(answer.status, None, answer.headers, b" " * 1_000_000, 2_000)


def endless(answer: Answer) -> Answer:
    """The same, without saying so before."""
    return Answer(answer.status, None, answer.headers, b" " * 1_000_000, 2_000, False)


def not_utf8(answer: Answer) -> Answer:
    return Answer(answer.status, None, answer.headers, answer.bytes().replace(b'"', b'"\xff\xfe', 3))


def of_json(value: Any) -> Changed:
    """The whole answer is this value."""
    return lambda answer: Answer(answer.status, value, answer.headers)


def with_value(path: tuple[str | int, ...], value: Any) -> Changed:
    """The answer has another value at a path."""

    def change(answer: Answer) -> Answer:
        body = json.loads(json.dumps(answer.body))
        inner = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return Answer(answer.status, body, answer.headers)

    return change


WHOLE: dict[str, Changed] = {
    "truncated": truncated,
    "empty": empty,
    "html": html,
    "deep": deep,
    "deep-member": deep_member,
    "huge": huge,
    "endless": endless,
    "not-utf8": not_utf8,
    "wrong-content-type": wrong_content_type,
    "null": of_json(None),
    "list": of_json([]),
    "number": of_json(7),
    "text": of_json("ok"),
    "empty-object": of_json({}),
}


def paths(value: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in an answer; of a list its first item."""
    found: list[tuple[str | int, ...]] = [above] if above else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += paths(inner, (*above, name))
    elif isinstance(value, list) and value:
        found += paths(value[0], (*above, 0))
    return found
