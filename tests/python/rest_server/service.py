"""The server without its sockets: a request goes in, and comes out as an answer or as a broken connection."""

from __future__ import annotations

import collections
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from rest_server import answers, faults
from rest_server.credentials import Guard
from rest_server.faults import Answer, Fault, Faults
from rest_server.places import Places
from rest_server.refusal import Refusal, bad_request
from rest_server.register import Register
from rest_server.routes import HANDLERS, MUTATIONS, OPERATIONS, Call, understood
from rest_server.scan_plans import Plans
from rest_server.switches import Switches


@dataclass(frozen=True)
class Asked:
    """A request that came in, and the status that it was answered by: 0 is a broken connection."""

    operation: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    status: int


@dataclass
class Remembered:
    """The answer to the first request with an idempotency key."""

    request: tuple[str, str, bytes]
    ready: threading.Event = field(default_factory=threading.Event)
    answer: Answer | None = None


@dataclass
class Broken:
    """The connection breaks in place of an answer."""

    fault: Fault
    answer: Answer


@dataclass
class Service:
    """The catalog, and what tests want to know of it."""

    warehouse: str
    places: Places
    switches: Switches = field(default_factory=Switches)
    faults: Faults = field(default_factory=Faults)
    asked: list[Asked] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)
    replayed: int = 0
    remembered: dict[str, Remembered] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: int = 0

    def __post_init__(self) -> None:
        self.register = Register(self.warehouse, self.places, self.switches)
        self.guard = Guard(self.switches)
        self.plans = Plans(self.places)

    # ---- for tests

    def counts(self) -> dict[str, int]:
        """How often each operation was asked for."""
        with self.lock:
            return dict(collections.Counter(asked.operation for asked in self.asked))

    def reset(self) -> None:
        """Forgets the requests. Tables and switches stay."""
        with self.lock:
            self.asked.clear()
            self.reports.clear()
            self.guard.grants.clear()
            self.guard.most_token_requests_at_once = 0
            self.replayed = 0

    # ---- requests

    def serve(self, method: str, target: str, headers: dict[str, str], content: bytes) -> Answer | Broken:
        operation, call = "unknown", None
        outcome: Answer | Broken
        try:
            call = understood(method, target, headers, content, self.switches.prefix, self.switches.separator)
            operation = call.operation
            if operation in self.switches.without:
                raise Refusal(404, "NotFoundException", f"No route for request: {method} {call.path}")
            outcome = self.answer(call)
        except Refusal as refusal:
            outcome = Answer(refusal.status, refusal.body(), dict(refusal.headers))
        self.note(operation, method, target, headers, content, call, outcome)
        if isinstance(outcome, Answer):
            if self.switches.explicit_nulls and outcome.content is None:
                outcome.body = answers.with_nulls(outcome.body)
            if outcome.status < 300:
                outcome = self.faults.changed(operation, outcome)
        return outcome

    def note(
        self,
        operation: str,
        method: str,
        target: str,
        headers: dict[str, str],
        content: bytes,
        call: Call | None,
        outcome: Answer | Broken,
    ) -> None:
        try:
            body = json.loads(content) if content else None
        except ValueError:
            body = content.decode("utf-8", "replace")
        path, query = target.partition("?")[0], call.query if call else {}
        status = outcome.status if isinstance(outcome, Answer) else 0
        with self.lock:
            self.asked.append(Asked(operation, method, path, query, headers, body, status))

    def answer(self, call: Call) -> Answer | Broken:
        switches, mutates = self.switches, call.operation in MUTATIONS
        with self.lock:
            self.requests += 1
            is_throttled = switches.throttle_every and self.requests % switches.throttle_every == 0
        if is_throttled:
            raise Refusal(429, "TooManyRequestsException", "Slow down", {"Retry-After": switches.retry_after})
        if call.operation != "getToken":
            self.guard.check(call.method, self.url_of(call), call.headers, call.content)
        fault = self.faults.take(call.operation, mutates)
        if fault is not None and fault.when == "before":
            return self.failed(fault, Answer(200, {}))
        answer = self.once(call) if mutates and switches.idempotency else self.done(call)
        if fault is not None:
            return self.failed(fault, answer)
        if mutates and switches.slow_after_commit and answer.status < 300:
            time.sleep(switches.slow_after_commit)
        return answer

    def url_of(self, call: Call) -> str:
        query = "&".join(f"{name}={value}" for name, value in call.query.items())
        return f"http://{call.headers.get('host', '')}{call.path}{'?' + query if query else ''}"

    def done(self, call: Call) -> Answer:
        try:
            return HANDLERS[call.operation](self, call)
        except Refusal as refusal:
            return Answer(refusal.status, refusal.body(), dict(refusal.headers))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return Answer(400, bad_request(f"Malformed request: {error!r}").body())

    def once(self, call: Call) -> Answer:
        """What was done for a key is not done again: the same answer is given."""
        key = call.headers.get("idempotency-key")
        if key is None:
            return self.done(call)
        request = (call.operation, call.path, call.content)
        with self.lock:
            known = self.remembered.get(key)
            if known is None:
                known = self.remembered[key] = Remembered(request)
                is_first = True
            else:
                is_first = False
                self.replayed += 1
        if is_first:
            try:
                known.answer = self.done(call)
            finally:
                known.ready.set()
            return known.answer
        known.ready.wait(30)
        if known.request != request:
            raise bad_request("The idempotency key belongs to another request")
        assert known.answer is not None
        return known.answer

    def failed(self, fault: Fault, answer: Answer) -> Answer | Broken:
        if fault.kind in faults.BROKEN:
            return Broken(fault, answer)
        return faults.failure(fault, self.switches.retry_after, self.switches.unknown_as_400)


__all__ = ["MUTATIONS", "OPERATIONS", "Asked", "Broken", "Service"]
