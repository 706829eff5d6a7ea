"""The metrics of a lake for Prometheus, through its own client library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import TableStanding, Timestamp, error
from dt_jupyter.watching.event_counts import CountedEvents, EventCounts

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class LakeCollector:
    """What a scrape returns: the state of the lake, from its catalog, and what this process did."""

    def __init__(self, catalog: Catalog, counts: EventCounts) -> None:
        self._catalog, self._counts = catalog, counts

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        catalog = self._catalog
        yield from _standing(catalog.table_standings(), catalog.clock.now())
        yield _alerts(catalog)
        yield _gauge("dt_refreshes_running", "Refreshes that run now.", len(catalog.running()))
        yield from _counted(self._counts.now())


def _standing(tables: list[TableStanding], now: Timestamp) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    lag = GaugeMetricFamily("dt_lag_seconds", "Now less the data timestamp.", labels=["table"])
    target = GaugeMetricFamily("dt_target_lag_seconds", "The target lag.", labels=["table"])
    suspended = GaugeMetricFamily("dt_suspended", "1 where it is suspended.", labels=["table"])
    for table in tables:
        name = [str(table.name)]
        if table.data_timestamp is not None:
            lag.add_metric(name, now.since(table.data_timestamp))
        if table.target is not None:
            target.add_metric(name, table.target)
        suspended.add_metric(name, float(table.suspended))
    yield from (lag, target, suspended)


def _alerts(catalog: Catalog) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    labels = ["alert", "of", "name"]
    found = GaugeMetricFamily("dt_alert", "1 for each active alert.", labels=labels)
    alerts = [each.alert for each in catalog.standing_alerts()]
    standing = Counter((a.kind.value, a.of, str(a.name)) for a in alerts)
    for key in standing:
        found.add_metric(list(key), 1.0)
    return found


def _gauge(name: str, what: str, value: float) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(name, what, value=value)


_ENDS = {
    "REFRESH": ("dt_refreshes", "Refreshes that ended in this process.", "table"),
    "DELIVERY": ("dt_deliveries", "Deliveries that this process ended or retried.", "sink"),
    "TASK_RUN": ("dt_task_runs", "Runs of tasks that ended in this process.", "task"),
}
"""By kind: the metric, what it says, and the label of a name."""


def _counted(counts: CountedEvents) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, SummaryMetricFamily

    for kind, (metric, what, label) in _ENDS.items():
        ends = CounterMetricFamily(metric, what, labels=[label, "state", "action"])
        for (of, name, state, action), count in counts.ends.items():
            if of == kind:
                ends.add_metric([name, state, action], count)
        yield ends
        seconds = f"dt_{kind.lower()}_seconds"
        took = SummaryMetricFamily(seconds, "How long they took.", labels=[label])
        for (of, name), timed in counts.timed.items():
            if of == kind:
                took.add_metric([name], timed, counts.seconds[of, name])
        yield took
    rows = CounterMetricFamily("dt_rows", "Rows that refreshes wrote.", labels=["table", "change"])
    for key, count in counts.rows.items():
        rows.add_metric(list(key), count)
    yield rows


def serve_metrics(catalog: Catalog, host: str, port: int) -> Callable[[], None]:
    """GET /metrics at that address from now on; call the result to stop. DT-5131 where the address
    is not available, DT-5132 without the library."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as e:
        raise error("DT-5132", what="Metrics for Prometheus", extra="metrics") from e
    counts, registry = EventCounts(), CollectorRegistry()
    collector: Any = LakeCollector(catalog, counts)
    registry.register(collector)
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError) as e:
        raise error("DT-5131", address=f"{host}:{port}", problem=e) from e
    catalog.noted.append(counts)

    def stop() -> None:
        catalog.noted.remove(counts)
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


__all__ = ["LakeCollector", "serve_metrics"]
