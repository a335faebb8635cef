"""Spans and metrics of OpenTelemetry."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from observing_cases import FORMATS, made, rows


@pytest.fixture(scope="module")
def exporter() -> Any:
    """What spans are exported to. A process has one provider for all its life."""
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    made, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    made.metrics = reader
    yield made
    provider.shutdown()


@pytest.fixture
def spans(exporter: Any) -> Callable[[], list[Any]]:
    def taken() -> list[Any]:
        found = list(exporter.get_finished_spans())
        exporter.clear()
        return found

    taken()
    return taken


@pytest.mark.parametrize("table_format", FORMATS)
def test_spans(tmp_path: Path, spans: Callable[[], list[Any]], table_format: str) -> None:
    table = made(tmp_path, table_format)
    table.append(rows(1, 2))
    (span,) = spans()
    assert span.name == "frazil.commit"
    expected = {
        "db.system.name": table_format,
        "db.collection.name": "db.t",
        "db.operation.name": "append",
        "frazil.snapshot_id": table.snapshot.id,
        "frazil.rows_added": 2,
        "frazil.retries": 0,
        "frazil.outcome": "done",
    }
    assert dict(span.attributes).items() >= expected.items()
    assert span.status.is_ok or span.status.is_unset
    assert span.kind.name == "CLIENT"
    splits = table.scan().plan()
    table.scan().to_arrow()
    table.maintain.compact()
    plan, read, compact = spans()
    assert (plan.name, plan.attributes["frazil.rows"], plan.attributes["frazil.splits"]) == ("frazil.plan", 2, 1)
    assert [span.attributes["frazil.manifests"] for span in (plan, read)] == [1, 1]
    assert plan.attributes["frazil.bytes"] == splits[0].size_bytes
    assert (read.name, read.attributes["db.response.returned_rows"]) == ("frazil.read", 2)
    assert compact.name == "frazil.compact"


def test_spans_of_streams_and_of_callers(tmp_path: Path, spans: Callable[[], list[Any]]) -> None:
    from opentelemetry import trace

    table = made(tmp_path, "iceberg").append(rows(1))
    spans()
    inside: list[Any] = []

    def batches() -> Iterator[pa.RecordBatch]:
        inside.append(trace.get_current_span().name)  # type: ignore[attr-defined]
        yield rows(2).to_batches()[0]

    with trace.get_tracer("test").start_as_current_span("work"):
        table.append(batches())
        reader = table.scan().to_arrow_batch_reader()
        assert [span.name for span in spans()] == ["frazil.commit"]
        reader.read_all()
    read, work = spans()
    assert inside == ["frazil.commit"]
    assert read.name == "frazil.read"
    assert read.parent.span_id == work.context.span_id


def test_spans_of_failures(tmp_path: Path, spans: Callable[[], list[Any]]) -> None:
    table = made(tmp_path, "iceberg")
    spans()
    with pytest.raises(fz.NotFoundError):
        table.cherry_pick(77)
    (span,) = spans()
    assert not span.status.is_ok
    assert (span.status.description, span.attributes["error.type"]) == ("NotFoundError", "NotFoundError")
    assert span.attributes["frazil.outcome"] == "failed"
    assert span.events == ()


def test_metrics(tmp_path: Path, exporter: Any) -> None:
    table = made(tmp_path, "iceberg")

    def points(name: str, verb: str) -> list[Any]:
        found = json.loads(exporter.metrics.get_metrics_data().to_json())
        all_points = [
            point
            for resource in found["resource_metrics"]
            for scope in resource["scope_metrics"]
            for metric in scope["metrics"]
            if metric["name"] == name
            for point in metric["data"]["data_points"]
        ]
        return [point for point in all_points if point["attributes"]["db.operation.name"] == verb]

    def value(name: str, verb: str) -> int:
        return sum(point["value"] for point in points(name, verb) if point["attributes"]["db.system.name"] == "iceberg")

    table.append(rows(1))
    table.scan().to_arrow()
    before = value("frazil.rows.added", "append"), value("frazil.rows.read", "to_arrow")
    table.append(rows(2, 3))
    table.scan().to_arrow()
    assert value("frazil.rows.added", "append") == before[0] + 2
    assert value("frazil.rows.read", "to_arrow") == before[1] + 3
    assert points("db.client.operation.duration", "append")


def test_opentelemetry_is_not_imported(tmp_path: Path) -> None:
    code = f"""
import sys
import frazil as fz, pyarrow as pa
catalog = fz.catalog(warehouse={str(tmp_path)!r})
catalog.create_namespace("db")
with fz.on_report(print):
    catalog.create_table("db.t", data=pa.table({{"id": [1]}})).scan().to_arrow()
assert "frazil.observing.calls" in sys.modules
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
