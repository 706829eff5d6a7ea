"""Row ids: unique in every snapshot, beside the rows as they were, and part of every change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest

from dt_jupyter.ivm import (
    IDENTIFIED,
    OPERATORS,
    Aggregate,
    End,
    Expr,
    Filter,
    Infix,
    Match,
    MatchKind,
    Project,
    Refused,
    Rel,
    Scan,
    Union,
    at,
    col,
    differentiate,
    expr,
    identified,
    walk,
)
from dt_jupyter.model.hidden import ROW_ID
from tests.cases import some
from tests.unit.expressions import read
from tests.unit.ivm_lab import WEIGHT, Search
from tests.unit.small_worlds import CHANGES, SOURCES, Duck, duck_quote, literal_rows, random_world

SEARCH = Search(range(0), depth=4, largest=200, aggregates=True)


def scan(source: str, prefix: str) -> Scan:
    """The source with its columns known as prefix0, prefix1, …"""
    return Scan(source, tuple((f"{prefix}{i}", name) for i, name in enumerate(SOURCES[source])))


def key_text(rel: Rel, keys: tuple[str, ...]) -> Expr:
    parts = ", ',', ".join(f"COALESCE(CAST({{k{i}}} AS STRING), 'N')" for i in range(len(keys)))
    return expr(f"CONCAT({parts})", **{f"k{i}": col(k) for i, k in enumerate(keys)})


@dataclass(frozen=True)
class Numbered(Duck):
    """Sources whose rows have ids: the content, and which of its copies the row is."""

    def place(self, scan: Scan) -> str:
        if scan.end is not End.DELTA:
            return self._at(scan.source, scan.end)
        old, new = (self._at(scan.source, e) for e in (End.OLD, End.NEW))
        return (
            f"(SELECT *, 1 AS {WEIGHT} FROM (SELECT * FROM {new} EXCEPT SELECT * FROM {old})"
            f" UNION ALL SELECT *, -1 FROM (SELECT * FROM {old} EXCEPT SELECT * FROM {new}))"
        )

    def _at(self, source: str, end: End) -> str:
        columns = SOURCES[source]
        names = ", ".join(map(duck_quote, columns))
        text = " || ',' || ".join(f"COALESCE({duck_quote(c)}::VARCHAR, 'N')" for c in columns)
        number = f"ROW_NUMBER() OVER (PARTITION BY {names})"
        rows = literal_rows(columns, self.world.rows(source, end))
        return f"(SELECT *, '{source}:' || {text} || '#' || {number} AS {ROW_ID} FROM {rows})"


def broken(seed: int) -> str | None:
    """What is wrong with the ids of a random relation; raises Refused where it has none."""
    rng = Random(seed)
    rel = SEARCH.relation(seed)
    made = identified(rel, key_text)
    assert made.rel.columns == (*rel.columns, made.id)
    for changed in rng.sample(CHANGES, 2):
        duck = Numbered(random_world(rng, changed))
        total: Counter[tuple[object, ...]] = Counter()
        for end, sign in ((End.NEW, 1), (End.OLD, -1)):
            rows = duck.rows(at(made.rel, end))
            ids = [r[-1] for r in rows]
            if len(set(ids)) != len(ids) or None in ids:
                return f"{sorted(map(str, ids))} at {end}"
            if sorted(map(str, (r[:-1] for r in rows))) != sorted(
                map(str, Duck(duck.world).rows(at(rel, end)))
            ):
                return f"other rows at {end}"
            for row in rows:
                total[row] += sign
        delta = duck.weights(differentiate(made.rel, changed))
        if delta != {r: w for r, w in total.items() if w}:
            return f"Δ {delta}, and new − old {total}"
    return None


def refusal(seed: int) -> str | None:
    """Why the ids of a random relation would not be unique; None: they are, and it is checked."""
    try:
        assert broken(seed) is None, f"seed {seed}: {SEARCH.relation(seed)!r}"
    except Refused as e:
        return e.reason.code
    return None


@pytest.mark.parametrize("part", some(1, range(6)))
def test_ids_are_unique_and_change_with_their_rows(part: int) -> None:
    refused = Counter(refusal(seed) for seed in range(part * 25, part * 25 + 25))
    assert set(refused) <= {None, "OVERLAPPING_IDS", "LATERAL"}
    assert refused[None] > 8


def test_every_operator_has_a_rule() -> None:
    assert frozenset(OPERATORS) == IDENTIFIED
    seen = {type(n) for seed in range(150) for n in walk(SEARCH.relation(seed))}
    assert {Scan, Filter, Project, Match, Union, Aggregate} <= seen


# -- branches of a union --------------------------------------------------------------------------


def branch(condition: str, end: str = "a") -> Rel:
    """A filter of the source s, with columns of its own."""
    source = scan("s", end)
    first, second = source.columns
    return Filter(source, (read(condition, a=first, b=second),))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("a = 1", "a = 2"),
        ("a = 'north'", "a = 'south'"),
        ("a < 5", "a >= 5"),
        ("a > 5", "a <= 5"),
        ("a > 5", "a < 5"),
        ("a = 5", "a > 5"),
        ("a IS NULL", "a = 5"),
        ("a IS NULL", "NOT a IS NULL"),
        ("a LIKE 'x%'", "NOT a LIKE 'x%'"),
    ],
)
def test_branches_that_exclude_each_other_share_no_row(p: str, q: str) -> None:
    union = Union((branch(p, "p"), branch(q, "q")), ("x", "y"))
    assert identified(union, key_text).rel.columns[:2] == ("x", "y")


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ("a = 1", "a = 1"),
        ("a = 1", "b = 2"),
        ("a = 't'", "a = 'true'"),
        ("a = 'x'", "a = 'X'"),
        ("a = 1", "a = 1.0"),
        ("a = 01", "a = 1"),
        ("a = '1'", "a = '1.0'"),
        ("a < 5", "a >= 4"),
        ("a < 5", "a <= 5"),
        ("a IS NULL", "a IS NULL"),
        ("a IS NULL", "b IS NOT NULL"),
    ],
)
def test_branches_that_may_share_a_row_are_refused(p: str, q: str) -> None:
    with pytest.raises(Refused) as e:
        identified(Union((branch(p, "p"), branch(q, "q")), ("x", "y")), key_text)
    assert e.value.reason.code == "OVERLAPPING_IDS"


def test_a_full_outer_join_is_a_union_whose_branches_do_not_meet() -> None:
    s, t = scan("s", "p"), scan("t", "q")
    on = ((s.columns[0], t.columns[0]),)
    left = Match(s, t, MatchKind.LEFT, on)
    alone = Match(scan("t", "r"), scan("s", "v"), MatchKind.ANTI, (("r0", "v0"),))
    padded = Project(
        alone,
        tuple((f"n{i}", expr("NULL")) for i in range(2))
        + tuple((f"m{i}", col(f"r{i}")) for i in range(2)),
    )
    assert identified(Union((left, padded), ("w", "x", "y", "z")), key_text)


@pytest.mark.parametrize(("other", "told"), [(MatchKind.ANTI, True), (MatchKind.SEMI, False)])
def test_rows_with_a_partner_are_none_of_those_without(other: MatchKind, told: bool) -> None:
    on = (Infix(col("p0"), "<", col("q0")),)
    sides = [
        Match(scan("s", "p"), scan("t", "q"), kind, (), on) for kind in (MatchKind.SEMI, other)
    ]
    union = Union(tuple(sides), ("x", "y"))
    if told:
        assert identified(union, key_text)
        return
    with pytest.raises(Refused):
        identified(union, key_text)
