"""Spans and metrics of OpenTelemetry.

Frazil never imports OpenTelemetry for itself. A program that has configured a provider has imported it.

Sources: the semantic conventions of OpenTelemetry for clients of databases (`db.*`, `error.type`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from frazil import _core

__all__ = ["Measured", "are_configured", "begin"]

_PROXIES = ("ProxyTracerProvider", "NoOpTracerProvider", "_ProxyMeterProvider", "NoOpMeterProvider")

_NAMES = {"format": "db.system.name", "table": "db.collection.name"}

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
"""The bounds that the conventions give for `db.client.operation.duration`."""

_instruments: tuple[Any, dict[str, Any]] = (None, {})


def _provider(kind: str) -> Any | None:
    """The provider that the program has configured, or None."""
    module = sys.modules.get(f"opentelemetry.{'trace' if kind == 'tracer' else 'metrics'}")
    if module is None:
        return None
    provider = getattr(module, f"get_{kind}_provider")()
    return None if type(provider).__name__ in _PROXIES else provider


def are_configured() -> bool:
    """Whether the program has configured a provider of spans or of metrics."""
    return _provider("tracer") is not None or _provider("meter") is not None


class Measured:
    """A verb as OpenTelemetry sees it: its span and its metrics.

    Args:
        event: The name of the span after `frazil.`.
        verb: The name of the method.
        attributes: What is known of the table.
    """

    def __init__(self, event: str, verb: str, attributes: Mapping[str, Any]) -> None:
        self._attributes = {"db.operation.name": verb}
        self._attributes |= {_NAMES[name]: value for name, value in attributes.items() if name in _NAMES}
        tracer = _provider("tracer")
        self._span: Any | None = None
        if tracer is not None:
            from opentelemetry.trace import SpanKind

            made = tracer.get_tracer("frazil", _core.__version__)
            self._span = made.start_span(f"frazil.{event}", kind=SpanKind.CLIENT, attributes=self._attributes)

    def current(self) -> AbstractContextManager[Any]:
        """A block in which the span is the current one."""
        if self._span is None:
            return nullcontext()
        from opentelemetry import trace

        return trace.use_span(self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False)

    def end(self, facts: Mapping[str, Any], seconds: float) -> None:
        """Ends the span, and counts the verb."""
        error = facts.get("error")
        if self._span is not None:
            for name, value in facts.items():
                if name not in ("error", "event", "table") and value is not None:
                    self._span.set_attribute(f"frazil.{name}", value)
            if facts.get("event") == "read" and "rows" in facts:
                self._span.set_attribute("db.response.returned_rows", facts["rows"])
            if error is not None:
                from opentelemetry.trace import Status, StatusCode

                self._span.set_attribute("error.type", error)
                self._span.set_status(Status(StatusCode.ERROR, error))
            self._span.end()
        self._count(facts, seconds, {"error.type": error} if error else {})

    def _count(self, facts: Mapping[str, Any], seconds: float, more: dict[str, Any]) -> None:
        provider = _provider("meter")
        if provider is None:
            return
        instruments = _instruments_of(provider)
        attributes = {**self._attributes, **more}
        instruments["duration"].record(seconds, attributes)
        event = facts.get("event")
        if event == "read" and facts.get("rows"):
            instruments["read"].add(facts["rows"], attributes)
        if event == "commit" and facts.get("rows_added"):
            instruments["added"].add(facts["rows_added"], attributes)

    def drop(self) -> None:
        """Ends the span of a verb that did not begin."""
        if self._span is not None:
            self._span.end()


def _instruments_of(provider: Any) -> dict[str, Any]:
    global _instruments
    if _instruments[0] is not provider:
        meter = provider.get_meter("frazil", _core.__version__)
        made = {
            "duration": meter.create_histogram(
                "db.client.operation.duration",
                unit="s",
                description="Duration of verbs",
                explicit_bucket_boundaries_advisory=_BUCKETS,
            ),
            "read": meter.create_counter("frazil.rows.read", unit="{row}", description="Rows that reads returned"),
            "added": meter.create_counter("frazil.rows.added", unit="{row}", description="Rows that commits added"),
        }
        _instruments = (provider, made)
    return _instruments[1]


def begin(event: str, verb: str, attributes: Mapping[str, Any]) -> Measured | None:
    """A verb that begins, or None if no provider is configured."""
    return Measured(event, verb, attributes) if are_configured() else None
