"""Waves: what reads a table that was committed to is refreshed at once where its lag is of seconds,
all of it to one data timestamp."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.model import Reason, RefreshState, Timestamp
from dt_jupyter.schedule import Node, Period, Slots, Start, State, Wait, decide
from dt_jupyter.schedule.waves import WAVE_SECONDS, Waves

T0 = Timestamp(48_000_000 * 35_000_000)  # a tick of every period used here
CHAIN = (("a", (), None), ("b", ("a",), None), ("c", ("b",), 1.0))


def at(seconds: float) -> Timestamp:
    return T0.plus(seconds)


def node(name: str, *upstream: str, lag: float | None = 1.0, **changes: Any) -> Node:
    period = Period(0.75, True, Reason("LAG_ATTAINABLE", ""))
    made = Node(name, name, upstream, lag, "w", at(-99), data_timestamp=at(0), period=period)
    logs = () if upstream else (f"/{name}",)
    return replace(made, logs=logs, **changes)


class Logs(dict[str, int | None]):
    """The newest versions of logs."""

    def waves(self, *nodes: Node) -> Waves:
        """That have seen these nodes, and no commit."""
        found = Waves(self.get)
        assert found.join(nodes, at(0)) == nodes
        return found

    def commit(self, log: str, waves: Waves) -> None:
        self[log] = (self[log] or 0) + 1
        waves.look()


@pytest.fixture
def logs() -> Logs:
    return Logs({"/a": 3, "/x": 7})


def chain() -> tuple[Node, ...]:
    return tuple(node(name, *upstream, lag=lag) for name, upstream, lag in CHAIN)


def prompts(nodes: tuple[Node, ...]) -> dict[str, float]:
    return {n.id: n.prompt.since(T0) for n in nodes if n.prompt is not None}


def starts(nodes: tuple[Node, ...], now: float, done: dict[str, float] | None = None) -> set[str]:
    """What begins, in that state, as name@seconds."""
    known = {(i, at(t)): RefreshState.SUCCEEDED for i, t in (done or {}).items()}
    state = State(nodes, (Slots("w", 9),), lambda dt, t: known.get((dt, t)))
    found = (d for d in decide(state, at(now)) if isinstance(d, Start))
    return {f"{d.dt}@{d.data_timestamp.since(T0):g}" for d in found}


def test_a_commit_goes_down_the_chain_at_one_time_between_two_ticks(logs: Logs) -> None:
    nodes = chain()
    waves = logs.waves(*nodes)
    assert not waves.look()
    logs.commit("/a", waves)
    assert waves.look()
    nodes = waves.join(nodes, at(0.3))
    assert prompts(nodes) == {"a": 0.3, "b": 0.3, "c": 0.3}
    done: dict[str, float] = {}
    for place, name in enumerate("abc"):
        assert starts(nodes, 0.4, done) == {f"{name}@0.3"}
        moved = replace(nodes[place], data_timestamp=at(0.3))
        nodes = (*nodes[:place], moved, *nodes[place + 1 :])
        done[name] = 0.3
    assert starts(nodes, 0.5, done) == set()
    plain = tuple(replace(n, prompt=None) for n in nodes)
    assert prompts(waves.join(plain, at(0.5))) == {}


@pytest.mark.parametrize("lag", [60.0, 3.1])
def test_who_has_a_longer_lag_waits_for_its_tick(logs: Logs, lag: float) -> None:
    nodes = (node("a"), node("slow", "a", lag=lag), node("behind", "slow", lag=lag), node("q", "a"))
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    assert set(prompts(waves.join(nodes, at(0.3)))) == {"a", "q"}


def test_what_is_read_by_such_a_table_is_refreshed_for_it_whatever_its_own_lag(logs: Logs) -> None:
    nodes = (node("a", lag=3600), node("b", "a", lag=None), node("c", "b"), node("d", "b", lag=60))
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    assert set(prompts(waves.join(nodes, at(0.3)))) == {"a", "b", "c"}


def test_without_such_a_table_no_log_is_looked_at(logs: Logs) -> None:
    asleep = (node("a", suspended=True), node("u", lag=None), node("m", lag=60))
    waves = logs.waves(*asleep)
    assert waves.pause is None
    assert logs.waves(node("a")).pause is not None


def test_what_others_read_stays_as_it_is_but_gives_the_time_that_is_needed(logs: Logs) -> None:
    nodes = (node("a"), node("x"), node("both", "a", "x"))
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    nodes = waves.join(nodes, at(0.3))
    assert set(prompts(nodes)) == {"a", "both"}
    assert starts(nodes, 0.4) == {"a@0.3", "x@0.3"}  # `both` reads them at one time


def test_one_wave_at_a_time_and_each_commit_makes_one(logs: Logs) -> None:
    nodes = chain()
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    first = waves.join(nodes, at(0.2))
    logs.commit("/a", waves)
    assert not waves.look()  # its turn comes
    running = (replace(first[0], running=at(0.2)), *nodes[1:])
    assert set(prompts(waves.join(running, at(0.3))).values()) == {0.2}
    settled = tuple(replace(n, data_timestamp=at(0.2)) for n in nodes)
    assert set(prompts(waves.join(settled, at(0.4))).values()) == {0.4}
    again = tuple(replace(n, attempted=at(0.4)) for n in settled)  # whatever came of it
    assert prompts(waves.join(again, at(0.5))) == {}
    assert not waves.look()


def test_what_runs_when_a_wave_begins_is_waited_for_and_skips_nothing(logs: Logs) -> None:
    nodes = chain()
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    nodes = (replace(nodes[0], running=at(0.1), since=at(0.1)), *nodes[1:])
    for now in (0.6, 0.8):  # before a tick, and after it
        found = decide(State(waves.join(nodes, at(now)), (Slots("w", 9),), _nothing), at(now))
        assert {d.dt for d in found} == {"a", "b", "c"}
        assert all(isinstance(d, Wait) for d in found), found


def _nothing(dt: str, t: Timestamp) -> None:
    return None


def test_a_wave_that_does_not_get_on_is_over_and_so_is_that_of_who_leads_no_more(
    logs: Logs,
) -> None:
    nodes = chain()
    waves = logs.waves(*nodes)
    logs.commit("/a", waves)
    assert prompts(waves.join(nodes, at(0.3)))
    assert prompts(waves.join(nodes, at(0.3 + WAVE_SECONDS)))
    assert not prompts(waves.join(nodes, at(0.4 + WAVE_SECONDS)))
    logs.commit("/a", waves)
    waves.end()
    assert waves.join(nodes, at(20)) == nodes
    logs["/a"] = None  # gone, or on another storage
    assert waves.look()
