"""Sinks as wire messages: the node of the graph, and all about one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dt_jupyter.model import DeliveryRecord, SchedulingState, Sink, SinkState, Timestamp
from dt_jupyter.reports import SinkReport, sink_definition
from dt_jupyter.wire import (
    ErrorMessage,
    GraphNode,
    NodeKind,
    SinkDelivery,
    SinkMessage,
    SinkStanding,
)


def sink_graph_node(found: SinkReport) -> GraphNode:
    """A sink as a node of the graph."""
    sink = found.sink
    suspended = sink.state is SinkState.SUSPENDED
    return GraphNode(
        str(sink.name),
        NodeKind.SINK,
        SchedulingState.SUSPENDED if suspended else SchedulingState.ACTIVE,
        target_lag=sink.target_lag,
        lag_seconds=found.lag,
        error=found.error,
        held_to=sink.target_lag.seconds,
        warehouse=sink.warehouse,
        sink=_standing(found),
    )


def sink_message(found: SinkReport, notes: Sequence[str] = ()) -> SinkMessage:
    """All about a sink; `notes` say what a statement did with it."""
    sink = found.sink
    return SinkMessage(
        str(sink.name),
        sink_graph_node(found),
        sink.created.datetime,
        sink.key,
        tuple(f"{column} {rule}" for column, rule in sink.reductions.items()),
        sink.delta_updates,
        sink.partitions,
        sink_definition(sink),
        tuple(map(_delivery, found.records)),
        sink.comment,
        tuple(notes),
        _error(sink),
    )


def _standing(found: SinkReport) -> SinkStanding:
    return SinkStanding(
        found.sink.state,
        str(found.sink.source),
        found.scheme,
        found.address,
        found.target,
        found.version,
        found.newest,
        _when(found.behind_since),
        _delivery(found.last) if found.last is not None else None,
        _when(found.next_try),
        found.sink.dead_letters,
    )


def _delivery(record: DeliveryRecord) -> SinkDelivery:
    counts = record.counts
    return SinkDelivery(
        record.state,
        record.trigger,
        record.start.datetime,
        _when(record.end),
        record.action,
        record.version,
        counts.loaded,
        counts.stored,
        counts.deleted,
        counts.bytes,
        counts.drifted,
        record.retries,
        ": ".join(filter(None, (record.code, record.error))) or None,
        counts.refused,
    )


def _error(sink: Sink) -> ErrorMessage | None:
    """Why it does not deliver, with the page of its code."""
    if sink.problem is None or sink.code is None:
        return None
    return ErrorMessage(sink.code, sink.problem)


def _when(t: Timestamp | None) -> datetime | None:
    return t.datetime if t is not None else None
