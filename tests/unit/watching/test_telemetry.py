"""OpenTelemetry: what its own SDK collects of a lake."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dt_jupyter.model import EventKind, LakeEvent, Severity, Timestamp
from dt_jupyter.watching import start_telemetry, stop_telemetry
from dt_jupyter.watching.telemetry import phases
from tests.unit.catalog_lab import Lab

READER, SPANS = InMemoryMetricReader(), InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    """OpenTelemetry takes providers once in a process."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(SPANS))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([READER]))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    made.make("a", "b")
    SPANS.clear()
    start_telemetry(made.catalog)
    yield made
    stop_telemetry(made.catalog)
    assert made.catalog.noted == []


def points(metric: str) -> dict[tuple[Any, ...], Any]:
    data = READER.get_metrics_data()
    if data is None:
        return {}
    return {
        tuple(v for _, v in sorted((p.attributes or {}).items())): p
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for found in scope.metrics
        if found.name == metric
        for p in found.data.data_points
    }


def event(**other: Any) -> LakeEvent:
    made = LakeEvent(
        Timestamp(10_000_000), EventKind.REFRESH, Severity.INFO, "SUCCEEDED", "default", "a",
        attributes={
            "seconds": 2.0, "action": "INCREMENTAL", "inserted_rows": 3, "queued_ms": 500,
            "compilation_ms": 250, "execution_ms": 1000,
        },
    )  # fmt: skip
    return replace(made, **other)


def test_a_refresh_is_a_span_with_its_phases(lab: Lab) -> None:
    (hear,) = lab.catalog.noted
    hear((event(),))
    *inner, whole = SPANS.get_finished_spans()
    assert (whole.name, whole.start_time, whole.end_time) == ("refresh a", 8 * 10**9, 10 * 10**9)
    assert dict(whole.attributes or {}) == {
        "dt.table": "a", "dt.state": "SUCCEEDED", "dt.action": "INCREMENTAL",
        "dt.inserted_rows": 3, "dt.queued_ms": 500, "dt.compilation_ms": 250,
        "dt.execution_ms": 1000,
    }  # fmt: skip
    assert [s.name for s in inner] == ["wait", "compile", "execute"]
    assert all(s.parent is not None and s.parent.span_id == whole.context.span_id for s in inner)
    assert [(s.start_time, s.end_time) for s in inner] == [
        (8_000_000_000, 8_500_000_000),
        (8_500_000_000, 8_750_000_000),
        (8_750_000_000, 9_750_000_000),
    ]


def test_an_error_is_told_by_its_code_and_never_by_its_text(lab: Lab) -> None:
    (hear,) = lab.catalog.noted
    hear(
        (event(severity=Severity.ERROR, state="FAILED", code="DT-2105", message="row of Ms. Quux"),)
    )
    whole = SPANS.get_finished_spans()[-1]
    assert not whole.status.is_ok
    assert (whole.status.description, (whole.attributes or {})["error.type"]) == (
        "DT-2105",
        "DT-2105",
    )
    assert "Quux" not in whole.to_json()


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_phases_end_within_the_whole(seconds: float) -> None:
    end = 10**10
    start = end - int(seconds * 1e9)
    found = list(phases(event(), start, end))
    assert all(start <= since <= until <= end for _, since, until in found)


def test_what_is_no_work_is_no_span(lab: Lab) -> None:
    (hear,) = lab.catalog.noted
    hear((event(kind=EventKind.ALERT), event(attributes={})))
    assert SPANS.get_finished_spans() == ()


def test_how_the_lake_stands_and_what_was_written(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hear,) = lab.catalog.noted
    before = points("dt.rows").get(("inserted", "a"))
    hear((event(), event()))
    after = points("dt.rows")["inserted", "a"]
    assert after.value - (before.value if before else 0) == 6
    took = points("dt.refresh.duration")["INCREMENTAL", "SUCCEEDED", "a"]
    assert took.sum / took.count == 2.0
    assert set(points("dt.target_lag")) == {("a",), ("b",)}
    assert points("dt.lag") == {}
    reads: list[None] = []
    read = lab.catalog.table_standings
    monkeypatch.setattr(lab.catalog, "table_standings", lambda: reads.append(None) or read())
    for times in (1, 2):
        points("dt.lag")
        assert len(reads) == times, "once in a collection"
    stop_telemetry(lab.catalog)
    assert points("dt.target_lag") == {}
    assert lab.catalog.noted == []


def test_without_the_library_nothing_is_done() -> None:
    """In a process of its own, to which it is not installed."""
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from dt_jupyter.watching.telemetry import start_telemetry\n"
        "class Catalog: noted = []\n"
        "start_telemetry(Catalog()); assert Catalog.noted == []"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
