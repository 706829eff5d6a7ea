"""From target lags and estimates to periods, over the whole graph (DT paper, 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dt_jupyter.model import DynamicTable, Reason
from dt_jupyter.schedule.periods import Period, at_least, choose_period
from dt_jupyter.schedule.state import Node, State, node_of, upstream_first

ASSUMED_DURATION = 1.0
"""Seconds that a refresh is taken to last before there is one to go by; at most an eighth of the
target lag, so that a small lag is not given up unseen."""


def effective_lags(nodes: tuple[Node, ...]) -> dict[str, float]:
    """By id, for nodes upstream first: its own lag, or for DOWNSTREAM the smallest of its active
    consumers'. One without consumers is absent."""
    lags: dict[str, float] = {}
    needed: dict[str, float] = {}
    for node in reversed(nodes):
        lag = node.target_lag if node.target_lag is not None else needed.get(node.id)
        if lag is None:
            continue
        lags[node.id] = lag
        if node.active:
            for upstream in node.upstream:
                needed[upstream] = min(lag, needed.get(upstream, lag))
    return lags


def held_lags(tables: Iterable[DynamicTable]) -> dict[str, float]:
    """By id, in seconds: the lag that each dynamic table must keep, DOWNSTREAM resolved."""
    tables = tuple(tables)
    by_name = {table.name: table.id for table in tables}
    return effective_lags(upstream_first(node_of(table, by_name) for table in tables))


def planned(state: State, current: Mapping[str, Period]) -> State:
    """The state with its nodes upstream first, each with its period; None for one that is not to
    be refreshed: suspended, or DOWNSTREAM without a consumer. `current` are the periods in force.

    A dynamic table's own period follows from its lag; then it is lowered to the least of its
    consumers', because it must refresh at each of their data timestamps.
    """
    nodes = upstream_first(state.nodes)
    lags = effective_lags(nodes)
    own: dict[str, Period] = {}
    ready: dict[str, float] = {}  # id → w + d, the earliest end after a tick
    slowest: dict[str, float] = {}  # id → the period below which it or something upstream is busy
    for node in nodes:
        lag = lags.get(node.id)
        wait = max((ready.get(u, 0.0) for u in node.upstream), default=0.0)
        wait = max(wait, node.wait or 0.0)
        assumed = ASSUMED_DURATION if lag is None else min(ASSUMED_DURATION, lag / 8)
        duration = node.duration if node.duration is not None else assumed
        above = [slowest[u] for u in node.upstream if u in slowest]
        ready[node.id] = wait + duration
        slowest[node.id] = max([at_least(duration), *above])
        if lag is not None and node.active:
            own[node.id] = choose_period(lag, wait, duration, above, current.get(node.id))
    periods = _lowered(nodes, own)
    return replace(state, nodes=tuple(_with_period(node, periods.get(node.id)) for node in nodes))


def _with_period(node: Node, period: Period | None) -> Node:
    return node if node.period == period else replace(node, period=period)


def _lowered(nodes: tuple[Node, ...], own: Mapping[str, Period]) -> dict[str, Period]:
    periods = dict(own)
    for node in reversed(nodes):  # consumers first
        mine = periods.get(node.id)
        if mine is None:
            continue
        for upstream in node.upstream:
            theirs = periods.get(upstream)
            if theirs is not None and mine.seconds < theirs.seconds:
                sentence = f"{node.name}, which reads it, is refreshed every {mine.seconds:g} s."
                reason = Reason("CONSUMER_PERIOD", sentence)
                periods[upstream] = replace(theirs, seconds=mine.seconds, reason=reason)
    return periods
