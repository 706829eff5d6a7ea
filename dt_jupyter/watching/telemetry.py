"""Traces and metrics by OpenTelemetry's API, for whatever SDK the process has set up: a span for
each refresh, delivery and run of a task that ended here, and the state of the dynamic tables.

Source: opentelemetry.io/docs/specs/otel: an instrumented library depends on the API alone, which
does nothing where no SDK is set up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import EventKind, LakeEvent, Severity, TableStanding, Timestamp

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation

_SCOPE = "dt_jupyter"
_NAMES = {
    EventKind.REFRESH: ("refresh", "dt.table"),
    EventKind.DELIVERY: ("delivery", "dt.sink"),
    EventKind.TASK_RUN: ("task run", "dt.task"),
}
"""By kind of what ended: its span's name, and the attribute that names the object."""
_PHASES = (
    ("wait", "queued_ms"),
    ("compile", "compilation_ms"),
    ("execute", "execution_ms"),
)
_IN_METRICS = ("action", "trigger", "warehouse")
_CATALOGS: WeakSet[Catalog] = WeakSet()
"""Those whose lakes the gauges report: a gauge of OpenTelemetry cannot be taken back."""


_HELD: WeakKeyDictionary[Catalog, tuple[str, Timestamp, list[TableStanding]]] = WeakKeyDictionary()
"""What one gauge of a collection read, for the other."""
_COLLECTION_SECONDS = 5.0


def start_telemetry(catalog: Catalog) -> None:
    """From now on, where the API is installed, until `stop_telemetry`."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.trace") is None:
        return
    _gauges()
    catalog.noted.append(Telemetry())
    _CATALOGS.add(catalog)


def stop_telemetry(catalog: Catalog) -> None:
    _CATALOGS.discard(catalog)
    catalog.noted[:] = [hear for hear in catalog.noted if not isinstance(hear, Telemetry)]


class Telemetry:
    """To be called with what was noted. The providers are looked up each time: a notebook sets up
    its SDK when it likes."""

    def __call__(self, events: Iterable[LakeEvent]) -> None:
        for event in events:
            if event.kind in _NAMES and "seconds" in event.attributes:
                _trace(event)
                _count(event)


# -- spans -----------------------------------------------------------------------------------------


def _trace(event: LakeEvent) -> None:
    """A span that has ended already, with its phases within it, one after the other."""
    from opentelemetry import trace

    tracer = trace.get_tracer(_SCOPE)
    end = event.at.micros * 1000
    start = end - int(max(event.attributes["seconds"], 0.0) * 1e9)
    title, _ = _NAMES[event.kind]
    span = tracer.start_span(
        f"{title} {event.full_name}", start_time=start, attributes=span_attributes(event)
    )
    if event.severity is Severity.ERROR:
        span.set_status(trace.Status(trace.StatusCode.ERROR, event.code or event.state))
    inside = trace.set_span_in_context(span)
    for phase, since, until in phases(event, start, end):
        child = tracer.start_span(phase, context=inside, start_time=since)
        child.end(until)
    span.end(end)


def span_attributes(event: LakeEvent) -> dict[str, Any]:
    """Names, states and counts. An error is given by its code: its text may show rows."""
    _, named = _NAMES[event.kind]
    told = {f"dt.{key}": value for key, value in event.attributes.items() if key != "seconds"}
    why = {"error.type": event.code} if event.severity is Severity.ERROR and event.code else {}
    return {named: event.full_name, "dt.state": event.state, **why, **told}


def phases(event: LakeEvent, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end in nanoseconds, none of them after the whole."""
    at = start
    for phase, field in _PHASES:
        took = int(event.attributes.get(field) or 0) * 1_000_000
        if took > 0:
            until = min(at + took, end)
            yield phase, at, until
            at = until


# -- metrics ---------------------------------------------------------------------------------------


def _count(event: LakeEvent) -> None:
    title, named = _NAMES[event.kind]
    known = event.attributes
    told = {f"dt.{k}": known[k] for k in _IN_METRICS if k in known}
    attributes = {named: event.full_name, "dt.state": event.state, **told}
    _durations(title).record(max(known["seconds"], 0.0), attributes)
    for field, change in (("inserted_rows", "inserted"), ("deleted_rows", "deleted")):
        if event.kind is EventKind.REFRESH and known.get(field):
            _rows().add(known[field], {named: event.full_name, "dt.change": change})


def _meter() -> Any:
    from opentelemetry import metrics

    return metrics.get_meter(_SCOPE)


@lru_cache
def _durations(title: str) -> Any:
    name = f"dt.{title.replace(' ', '_')}.duration"
    return _meter().create_histogram(name, unit="s", description=f"How long a {title} took.")


@lru_cache
def _rows() -> Any:
    what = "Rows that refreshes inserted and deleted."
    return _meter().create_counter("dt.rows", unit="{row}", description=what)


@lru_cache
def _gauges() -> tuple[Any, ...]:
    """Made once in a process, for all lakes that are open in it."""
    make = _meter().create_observable_gauge
    return (
        make("dt.lag", [_lags], "s", "Now less the data timestamp of a dynamic table."),
        make("dt.target_lag", [_targets], "s", "The target lag of a dynamic table."),
        make("dt.alerts", [_alerts], "{alert}", "Active alerts."),
    )


def _standings(catalog: Catalog, asker: str) -> list[TableStanding]:
    """Read once for both gauges of a collection."""
    now, held = catalog.clock.now(), _HELD.pop(catalog, None)
    if held is not None and held[0] != asker and now.since(held[1]) < _COLLECTION_SECONDS:
        return held[2]
    found = catalog.table_standings()
    _HELD[catalog] = (asker, now, found)
    return found


def _lags(options: CallbackOptions) -> Iterator[Observation]:
    from opentelemetry.metrics import Observation

    for catalog in tuple(_CATALOGS):
        now = catalog.clock.now()
        for table in _standings(catalog, "lag"):
            if table.data_timestamp is not None:
                yield Observation(now.since(table.data_timestamp), {"dt.table": str(table.name)})


def _targets(options: CallbackOptions) -> Iterator[Observation]:
    from opentelemetry.metrics import Observation

    for catalog in tuple(_CATALOGS):
        for table in _standings(catalog, "target"):
            if table.target is not None:
                yield Observation(table.target, {"dt.table": str(table.name)})


def _alerts(options: CallbackOptions) -> Iterator[Observation]:
    from opentelemetry.metrics import Observation

    for catalog in tuple(_CATALOGS):
        for each in catalog.standing_alerts():
            alert = each.alert
            yield Observation(1, {"dt.alert": str(alert.kind), "dt.of": alert.of,
                                  "dt.name": str(alert.name)})  # fmt: skip


__all__ = ["Telemetry", "phases", "span_attributes", "start_telemetry", "stop_telemetry"]
