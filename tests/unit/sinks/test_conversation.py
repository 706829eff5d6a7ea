"""The order of messages: what may come, and that nothing else may."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.binding import Task
from dt_jupyter.sinks.conversation import MOVES, Conversation, Phase
from tests.unit.sinks.lab import refused, summed

ROWS = pa.table({"k": [1]})
ALL: dict[str, m.FromRuntime | m.FromDriver] = {
    "open": m.Open(summed(), Task("s")),
    "opened": m.Opened(),
    "acknowledge": m.Acknowledge(),
    "acknowledged": m.Acknowledged(),
    "load": m.Load(ROWS),
    "loaded": m.Loaded(ROWS),
    "flush": m.Flush(),
    "flushed": m.Flushed(),
    "store": m.Store(ROWS),
    "start": m.StartCommit({}),
    "started": m.StartedCommit(),
}


def after(words: str) -> Conversation:
    found = Conversation()
    for word in words.split():
        found.advance(ALL[word])
    return found


@pytest.mark.parametrize(
    "words",
    [
        "acknowledge acknowledged flush flushed start started",
        "acknowledged acknowledge flush flushed start started",
        "acknowledge load acknowledged load loaded flush loaded flushed store store start started",
        "acknowledge load acknowledged flush flushed start started acknowledged acknowledge load",
    ],
)
def test_a_transaction(words: str) -> None:
    after(f"open opened {words}")


@pytest.mark.parametrize(
    ("words", "illegal"),
    [
        ("", "acknowledge"),
        ("open", "acknowledge"),
        ("open opened", "open"),
        ("open opened", "load"),
        ("open opened acknowledge", "acknowledge"),
        ("open opened acknowledge", "flush"),
        ("open opened acknowledge", "loaded"),
        ("open opened acknowledge load", "loaded"),
        ("open opened acknowledged", "load"),
        ("open opened acknowledge acknowledged", "store"),
        ("open opened acknowledge acknowledged", "acknowledged"),
        ("open opened acknowledge acknowledged flush", "load"),
        ("open opened acknowledge acknowledged flush", "store"),
        ("open opened acknowledge acknowledged flush flushed", "loaded"),
        ("open opened acknowledge acknowledged flush flushed start", "store"),
        ("open opened acknowledge acknowledged flush flushed start", "acknowledge"),
        ("open opened acknowledge acknowledged flush flushed start", "acknowledged"),
        ("open opened acknowledge acknowledged flush flushed start started", "load"),
    ],
)
def test_what_cannot_come_is_refused(words: str, illegal: str) -> None:
    at = after(words)
    phase = at.phase
    with refused("DT-6120"):
        at.advance(ALL[illegal])
    assert at.phase is phase


def test_each_phase_and_message_is_tried() -> None:
    kinds = {type(message) for message in ALL.values()}
    assert set(MOVES) == set(Phase)
    assert {kind for moves in MOVES.values() for kind in moves} == kinds


def test_a_binding_with_delta_updates_loads_nothing() -> None:
    at = Conversation()
    for message in (m.Open(summed(delta=True), Task("s")), m.Opened(), m.Acknowledge()):
        at.advance(message)
    with refused("DT-6120"):
        at.advance(m.Load(ROWS))
    for message in (m.Acknowledged(), m.Flush(), m.Flushed(), m.StartCommit({})):
        at.advance(message)


def is_legal(walk: tuple[str, ...]) -> bool:
    at = after("open opened")
    for word in walk:
        if type(ALL[word]) not in MOVES[at.phase]:
            return False
        at.advance(ALL[word])
    return True


def test_every_walk_that_is_legal_acknowledges_first_and_flushes_after_both() -> None:
    words = ("acknowledge", "acknowledged", "load", "flush", "flushed")
    legal = {walk for walk in itertools.product(words, repeat=5) if is_legal(walk)}
    for walk in legal:
        before_flush = walk[: (*walk, "flush").index("flush")]
        assert walk[0] in ("acknowledge", "acknowledged")
        assert walk.count("acknowledge") <= 1
        assert "flush" not in walk or {"acknowledge", "acknowledged"} <= set(before_flush)
    assert ("acknowledge", "load", "acknowledged", "flush", "flushed") in legal
    assert ("acknowledged", "acknowledge", "load", "flush", "flushed") in legal


@pytest.mark.parametrize(
    ("before", "answer", "now"),
    [
        ({"a": 1}, m.StartedCommit({"b": 2}), {"b": 2}),
        ({"a": 1}, m.StartedCommit({"b": 2}, merge_patch=True), {"a": 1, "b": 2}),
        (
            {"a": {"x": 1, "y": 2}},
            m.StartedCommit({"a": {"x": None}}, merge_patch=True),
            {"a": {"y": 2}},
        ),
        ({"a": 1}, m.StartedCommit({}, merge_patch=True), {"a": 1}),
        (
            {"a": 1},
            m.StartedCommit({"a": {"b": None, "c": [1]}}, merge_patch=True),
            {"a": {"c": [1]}},
        ),
    ],
)
def test_a_drivers_checkpoint_is_whole_or_a_patch(
    before: dict[str, object], answer: m.StartedCommit, now: object
) -> None:
    assert m.updated_checkpoint(before, answer) == now
