"""Phenomena of histories with derivations: the papers' examples, and what random histories must
have by the definitions read literally."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.histories import (
    AbortEvent,
    BeginEvent,
    CommitEvent,
    DependencyKind,
    DeriveEvent,
    Guarantee,
    HistoryEvent,
    PhenomenonKind as K,
    ReadEvent,
    TransactionHistory,
    Version,
    WriteEvent,
    check_history,
    dependencies,
    parse_history,
)
from dt_jupyter.model import DTError

FIGURE_1 = "w1(x1) w2(x2) r3(x1) w3(y3) r4(x2) w4(y4) r5(y3) r5(x2)"
FIGURE_2 = "w1(x1) w2(x2) d3(y3|x1) d4(y4|x2) r5(y3) r5(x2)"
SKEW = {K.G_SINGLE, K.G2, K.G_SI}
VECTORS: dict[str, tuple[str, set[K]]] = {
    "figure 1: refreshes that read and write hide it": (FIGURE_1, set()),
    "figure 2: as derivations they do not": (FIGURE_2, SKEW),
    "an aborted source": ("w1(x1) a1 d2(y2|x1) c2 r3(y2) c3", {K.G1A}),
    "an intermediate source": ("w1(x1.1) w1(x1.2) c1 d2(y2|x1.1) c2 r3(y2) c3", {K.G1B}),
    "a chain of derivations": ("w1(x1) w2(x2) d3(y3|x1) d4(z4|y3) r5(z4) r5(x2)", SKEW),
    "two tables at two times": ("w1(x1) w2(x2) d3(y3|x1) d4(z4|x2) r5(y3) r5(z4)", SKEW),
    "two tables at one time": ("w1(x1) w2(x2) d3(y3|x2) d4(z4|x2) r5(y3) r5(z4)", set()),
    "one table that is behind": ("w1(x1) c1 d2(y2|x1) c2 w3(x3) c3 r4(y2) c4", set()),
    "one table that is behind, read by who began later": (
        "w1(x1) c1 d2(y2|x1) c2 w3(x3) c3 b4 r4(y2) c4", {K.G_SI}
    ),
    "what two derived versions share orders nobody": (
        "w1(x1) r2(x1) w2(w2) w3(w3) d4(z4|x1,w2) d5(z5|x1,w3)", set()
    ),
    "writes of two in two orders": (
        "w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2] [y2 << y1]", {K.G0, K.G1C, K.G_SI}
    ),
    "each reads of the other": ("w1(x1) w2(y2) r1(y2) r2(x1) c1 c2", {K.G1C, K.G_SI}),
    "write skew": ("b1 b2 r1(x0) r1(y0) r2(x0) r2(y0) w1(x1) w2(y2) c1 c2", {K.G2}),
    "a lost update": ("r1(x0) r2(x0) w1(x1) c1 w2(x2) c2", SKEW),
    "what did not end is as if aborted": ("w1(x1) r2(x1) c2", {K.G1A}),
    "nothing": ("", set()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kinds"), VECTORS.values(), ids=VECTORS)
def test_the_phenomena_of_what_is_known(text: str, kinds: set[K]) -> None:
    assert check_history(text).kinds == kinds


def test_the_dependencies_of_figure_1() -> None:
    found = check_history(FIGURE_1).dependencies
    edges = {f"{d.before}{d.kind}{d.after}" for d in found}
    assert edges == {"1ww2", "1wr3", "2wr4", "2wr5", "3rw2", "3ww4", "3wr5", "5rw4"}


def test_what_is_told_of_figure_2() -> None:
    report = check_history(FIGURE_2)
    assert report.guarantees == (Guarantee.READ_COMMITTED,)
    assert str(report).splitlines()[:2] == [
        "Guarantees that hold: Read committed (PL-2).",
        "G-single, read skew: T5 –rw→ T2 (T5 read x1 through y3, T2 wrote x2), "
        "T2 –wr→ T5 (T5 read x2).",
    ]


def test_guarantees_that_hold() -> None:
    assert check_history(VECTORS["write skew"][0]).guarantees == tuple(Guarantee)[:3]
    assert check_history(VECTORS["nothing"][0]).guarantees == tuple(Guarantee)
    assert check_history("w1(x1) a1 r2(x1) c2").guarantees == ()


BAD = {
    "w1": "cannot be read from 'w1' on",
    "w1(x)": "'x' is not a version",
    "d1(x1)": "has no sources",
    "r1(x1|y1)": "has sources",
    "w1(x1) w2(x1)": "x1 is made twice",
    "c1 w1(x1)": "T1 continues after its end",
    "d1(x1|x1)": "x1 is derived from x1",
    "d1(x1|y2) d2(y2|x1)": "x1 is derived from y2",
    "w1(x1) w2(x2) [x2 << x3]": "the order of x",
    "w1(x1) w2(x2) [x1]": "the order of x",
    "w1(x1) drop": "'drop'",
}


@pytest.mark.parametrize(("text", "problem"), BAD.items(), ids=BAD)
def test_what_is_no_history(text: str, problem: str) -> None:
    with pytest.raises(DTError) as found:
        check_history(text)
    assert found.value.code == "DT-1003"
    assert problem in found.value.sentence


@pytest.mark.parametrize("given", [["w1(x1)"], [None], {"w1(x1)": 1}, None, 7, b"w1(x1)", object()])
def test_what_is_no_event(given: Any) -> None:
    with pytest.raises(DTError, match="is not a"):
        check_history(given)


# -- random histories ------------------------------------------------------------------------------


def random_history(seed: int) -> TransactionHistory:
    """Up to six transactions at once over three objects and two derived ones, of which some begin
    in words, write twice, read what they should not, abort, and commit in another order; some
    versions have an order of their own."""
    rng = random.Random(seed)
    names = [str(n) for n in range(1, rng.randrange(3, 7))]
    plan = [n for n in names for _ in range(rng.randrange(1, 5))]
    rng.shuffle(plan)
    events: list[HistoryEvent] = [BeginEvent(n) for n in names if rng.random() < 0.2]
    made = [Version(o, "0") for o in "xyz"]
    count = itertools.count(1)
    for me in plan:
        match rng.choice("rrwwd"):
            case "r":
                events.append(ReadEvent(me, rng.choice(made)))
            case "w":
                made.append(Version(rng.choice("xyz"), str(next(count))))
                events.append(WriteEvent(me, made[-1]))
            case _:
                sources = tuple(rng.sample(made, rng.randrange(1, min(3, len(made)) + 1)))
                made.append(Version(rng.choice("uv"), str(next(count))))
                events.append(DeriveEvent(me, made[-1], sources))
    rng.shuffle(names)
    events += [AbortEvent(n) if rng.random() < 0.15 else CommitEvent(n) for n in names if n in plan]
    history = TransactionHistory(tuple(events))
    orders = {n: tuple(rng.sample(v, len(v))) for n, v in history.versions.items()}
    return replace(history, order=orders) if rng.random() < 0.5 else history


def literal_kinds(history: TransactionHistory) -> set[K]:
    """By the definitions: provenance by recursion, every pair of versions, every simple cycle."""
    events, committed = history.events, history.committed
    writers = {e.version: e.transaction for e in events if isinstance(e, WriteEvent)}
    derived = {e.version: e for e in events if isinstance(e, DeriveEvent)}

    def roots(v: Version) -> set[Version]:
        return set().union(*map(roots, derived[v].sources)) if v in derived else {v}

    def is_final(v: Version) -> bool:
        maker = writers.get(v) or (derived[v].transaction if v in derived else None)
        same = [
            e.version for e in events
            if isinstance(e, WriteEvent | DeriveEvent) and e.transaction == maker
            and e.version.object == v.object
        ]  # fmt: skip
        return maker in committed and same[-1] == v

    def ordered(name: str) -> list[Version]:
        if name in history.order:
            return list(history.order[name])
        finals = [v for v in (*writers, *derived) if v.object == name and is_final(v)]
        makers = {**writers, **{v: e.transaction for v, e in derived.items()}}
        return sorted(finals, key=lambda v: committed[makers[v]])

    def successor(v: Version) -> Version | None:
        line = ordered(v.object)
        if v not in writers:
            return line[0] if line else None
        final = next((f for f in line if writers[f] == writers[v]), None)
        place = line.index(final) + 1 if final is not None else len(line)
        return line[place] if place < len(line) else None

    edges: set[tuple[str, str, str]] = set()
    for name in "xyzuv":
        for old, new in itertools.pairwise(ordered(name)):
            for a in roots(old) - roots(new):
                for b in roots(new) - roots(old):
                    edges.add(("ww", writers.get(a, ""), writers.get(b, "")))
    found: set[K] = set()
    for e in events:
        if isinstance(e, ReadEvent) and e.transaction in committed:
            for u in roots(e.version):
                writer, later = writers.get(u, ""), successor(u)
                edges.add(("wr", writer, e.transaction))
                edges.add(("rw", e.transaction, writers[later] if later else ""))
                if writer and writer not in committed:
                    found.add(K.G1A)
                elif writer and writer != e.transaction and not is_final(u):
                    found.add(K.G1B)
    kept = {e for e in edges if e[1] != e[2] and {e[1], e[2]} <= set(committed)}
    for cycle in simple_cycles(kept):
        antis = cycle.count("rw")
        if antis == 0:
            found |= {K.G1C} | ({K.G0} if set(cycle) == {"ww"} else set())
        else:
            found |= {K.G2} | ({K.G_SINGLE} if antis == 1 else set())
    return found


def simple_cycles(edges: set[tuple[str, str, str]]) -> Iterator[tuple[str, ...]]:
    def walk(
        start: str, at: str, seen: tuple[str, ...], kinds: tuple[str, ...]
    ) -> Iterator[tuple[str, ...]]:
        for kind, a, b in edges:
            if a == at and b == start:
                yield (*kinds, kind)
            elif a == at and b > start and b not in seen:
                yield from walk(start, b, (*seen, b), (*kinds, kind))

    for start in {e[1] for e in edges}:
        yield from walk(start, start, (start,), ())


def differing(seeds: range) -> list[int]:
    return [
        seed for seed in seeds
        if check_history(h := random_history(seed)).kinds - {K.G_SI} != literal_kinds(h)
    ]  # fmt: skip


def test_random_histories_have_what_the_definitions_say() -> None:
    assert differing(range(1000)) == []
    seen = [check_history(random_history(seed)).kinds for seed in range(1000)]
    assert all(sum(kind in kinds for kinds in seen) >= 10 for kind in K), "a kind was not tried"


def _no_provenance(history: TransactionHistory) -> dict[Version, frozenset[Version]]:
    return {}


def _first_source(history: TransactionHistory) -> dict[Version, frozenset[Version]]:
    whole = dependencies_provenance(history)
    return {v: frozenset(sorted(roots)[:1]) for v, roots in whole.items()}


dependencies_provenance = dependencies.provenance


@pytest.mark.parametrize("mutant", [_no_provenance, _first_source])
def test_the_definitions_tell_a_wrong_provenance(
    mutant: Callable[[TransactionHistory], dict[Version, frozenset[Version]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dependencies, "provenance", mutant)
    assert differing(range(60)) != []


# -- the paper's theorems --------------------------------------------------------------------------


def edges_of(history: TransactionHistory) -> set[tuple[DependencyKind, str, str]]:
    return {(d.kind, d.before, d.after) for d in check_history(history).dependencies}


@pytest.mark.parametrize("seed", range(60))
def test_who_derives_does_not_matter(seed: int) -> None:
    """Theorem 1: what a transaction derives may be derived by one of its own, which then commits
    with it."""
    events: list[HistoryEvent] = []
    for e in random_history(seed).events:
        moved = f"9{e.transaction}"
        match e:
            case DeriveEvent():
                events.append(replace(e, transaction=moved))
            case CommitEvent() | AbortEvent():
                events += [e, type(e)(moved)]
            case _:
                events.append(e)
    order = random_history(seed).order
    assert edges_of(TransactionHistory(tuple(events), order)) == edges_of(random_history(seed))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_read_through_derived_versions_is_what_they_come_from(seed: int) -> None:
    """A read of a derived version makes the dependencies that reads of its sources make."""
    history = random_history(seed)
    known = dependencies.provenance(history)
    events = tuple(
        each
        for e in history.events
        for each in (
            [ReadEvent(e.transaction, v) for v in known.get(e.version, (e.version,))]
            if isinstance(e, ReadEvent)
            else [e]
        )
    )
    assert edges_of(TransactionHistory(events, history.order)) == edges_of(history)


def test_a_notation_is_read_as_it_was_meant() -> None:
    found = parse_history("b1 w1(x1.1), w1(x1.2); c1 d2(y2 | x1.2, z0) a2 [x0 << x1.2]")
    x1, x2 = Version("x", "1.1"), Version("x", "1.2")
    assert found.events == (
        BeginEvent("1"), WriteEvent("1", x1), WriteEvent("1", x2), CommitEvent("1"),
        DeriveEvent("2", Version("y", "2"), (x2, Version("z", "0"))), AbortEvent("2"),
    )  # fmt: skip
    assert found.order == {"x": (Version("x", "0"), x2)}
