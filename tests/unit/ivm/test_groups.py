"""Aggregates from state: touched groups, merge and rescan, step after step, against recompute.

The statements are those that a refresh runs, with DuckDB's spelling of a few words. The wanted
side is written by hand, not rendered.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    End,
    Expr,
    Filter,
    Group,
    Kind,
    Project,
    Rel,
    Scan,
    aggregates,
    col,
    compile_stages,
    differentiate,
    expr,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import COUNT, EXISTED, OP, RESCAN, VISIBLE, WEIGHT
from dt_jupyter.sql.emit import state_sql as maintain
from dt_jupyter.sql.emit.render import Renderer
from dt_jupyter.sql.emit.state_sql import GroupSql
from tests.unit.small_worlds import connection, literal_rows, to_duck

Row = tuple[Any, ...]
COLUMNS = ("k", "b", "c")
INPUT = Scan("s", tuple((f"i{c}", c) for c in COLUMNS))


def duck(text: str) -> str:
    return to_duck(text).replace(" DIV ", " // ")


def rows(text: str) -> list[dict[str, Any]]:
    found = connection().execute(duck(text))
    names = [d[0] for d in found.description]
    return [dict(zip(names, r, strict=True)) for r in found.fetchall()]


_TYPES = {
    "INTEGER": "int",
    "BIGINT": "bigint",
    "HUGEINT": "bigint",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "VARCHAR": "string",
}


def types(rel: Rel) -> dict[str, str]:
    """As Spark's analyser would say; DuckDB's sums of integers are wider."""
    return dict(_described(Renderer(lambda _: literal_rows(COLUMNS, []))(rel)))


@cache
def _described(text: str) -> dict[str, str]:
    found = connection().execute(duck(f"DESCRIBE SELECT * FROM ({text})")).fetchall()
    return {name: _TYPES[kind] for name, kind, *_ in found}


@dataclass(frozen=True)
class Case:
    """An aggregate, with the text by which DuckDB computes it from the rows of `k`, `b`, `c`."""

    call: AggregateCall
    wanted: str
    kept: bool


def _call(
    function: str, *args: Expr, text: Expr | None = None, distinct: bool = False
) -> AggregateCall:
    listed = args[0] if args else expr("*")
    for more in args[1:]:
        listed = expr("{a}, {b}", a=listed, b=more)
    word = "DISTINCT " if distinct else ""
    return AggregateCall(
        function, args, text or expr(function + "(" + word + "{x})", x=listed), distinct
    )


B, C = col("ib"), col("ic")
POSITIVE = expr("{b} > 0", b=B)
CASES: Mapping[str, Case] = {
    "n": Case(_call("count"), "count(*)", True),
    "nb": Case(_call("count", B), "count(b)", True),
    "nbc": Case(
        _call("count", B, C, text=expr("count({b} + {c})", b=B, c=C)),
        "count(*) FILTER (b IS NOT NULL AND c IS NOT NULL)",
        True,
    ),
    "cif": Case(_call("count_if", POSITIVE), "count(*) FILTER (b > 0)", True),
    "sb": Case(_call("sum", B), "sum(b)", True),
    "sbig": Case(_call("sum", expr("CAST({b} AS BIGINT)", b=B)), "sum(b)", True),
    "av": Case(_call("avg", C), "avg(c)", True),
    "mn": Case(_call("min", B), "min(b)", True),
    "mx": Case(_call("max", C), "max(c)", True),
    "bo": Case(_call("bool_or", POSITIVE), "bool_or(b > 0)", True),
    "ba": Case(_call("bool_and", POSITIVE), "bool_and(b > 0)", True),
    "bx": Case(_call("bit_xor", B), "bit_xor(b)", False),
    "md": Case(_call("median", C), "median(c)", False),
}


def test_every_rule_of_an_aggregate_has_a_case() -> None:
    named = {c.call.function for c in CASES.values() if c.kept}
    assert named == set(aggregates._RULES) - {"mean"}  # another name of avg
    assert any(not c.kept for c in CASES.values())


KEYED, SCALAR = ("ik",), ()
RATIO = "12 // CASE WHEN {n} = 0 THEN error('no rows') ELSE {n} END"
RATIO_OF_ANY = "CASE WHEN {n} = 0 THEN -1 ELSE 12 // {n} END"


def definition(
    ids: tuple[str, ...], having: Expr | None, outputs: bool, keys: tuple[str, ...] = KEYED
) -> tuple[GroupSql, str]:
    """A stage grouped by `keys`, and what it should hold (key first, then its outputs)."""
    calls = tuple((i, CASES[i].call) for i in ids)
    rel: Rel = Aggregate(INPUT, keys, calls)
    wanted = [*(["k"] if keys else []), *(CASES[i].wanted for i in ids)]
    if having is not None:
        rel = Filter(rel, (having,))
    items = [(c, col(c)) for c in (*keys, *ids)]
    if outputs:
        # An output that fails for a group without rows, as `x / count(*)` does in ANSI mode; the
        # one row of a scalar aggregate is there without rows, too.
        ratio = RATIO if keys else RATIO_OF_ANY
        items.append(("ratio", expr(ratio, n=col("n"))))
        wanted.append(ratio.replace("{n}", "count(*)"))
    rel = Project(rel, tuple(items))
    (stage,) = compile_stages(rel, tuple(f"o{i}" for i in range(len(items))), types)
    assert isinstance(stage.top, Group)
    for column in stage.top.aggregates:
        assert (column.kept is not None) == CASES[column.id].kept
    return GroupSql(stage, stage.top), ", ".join(wanted)


@dataclass
class Table:
    """The backing table of a stage, moved by the stage's own statements."""

    sql: GroupSql
    stored: dict[Row, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    rescans: int = 0

    def start(self, state: list[Row]) -> None:
        initial = self.sql.initial(Renderer(lambda _: literal_rows(COLUMNS, state)))
        self.stored = {self.key(r): r for r in rows(initial.sql)}
        self.types = {d[0]: str(d[1]) for d in connection().description or ()}

    def key(self, row: Mapping[str, Any]) -> Row:
        return tuple(row[k] for k in self.sql.keys)

    def move(self, old: list[Row], new: list[Row], delta: list[Row]) -> None:
        def place(scan: Scan) -> str:
            if scan.end is End.DELTA:
                return literal_rows((*COLUMNS, WEIGHT), delta)
            return literal_rows(COLUMNS, old if scan.end is End.OLD else new)

        render = Renderer(place)
        change = differentiate(self.sql.stage.input, frozenset({"s"}))
        assert change is not None
        touched = self.sql.touched(render, change)
        changes = rows(self.sql.merged(touched, self.state()).sql)
        assert len({self.key(c) for c in changes}) == len(changes)
        again = [c for c in changes if c[RESCAN]]
        changes = [c for c in changes if not c[RESCAN]]
        if again:
            self.rescans += len(again)
            changes += self.rescan(place, again)
        for change_ in changes:
            self.apply(change_)

    def rescan(
        self, place: Callable[[Scan], str], again: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        names = (*self.sql.keys, EXISTED)
        keys = literal_rows(names, [(*self.key(c), int(c[EXISTED])) for c in again])
        return rows(self.sql.rescan(Renderer(place, keys=lambda _: keys), "keys").sql)

    def apply(self, change: dict[str, Any]) -> None:
        """I inserts what is not there, U and D change what is; nothing else may come."""
        key, op = self.key(change), change[OP]
        assert op in ("I", "U", "D", None), op
        if op is None:
            return
        assert (key in self.stored) == (op in ("U", "D")), (op, key)
        if op == "D":
            del self.stored[key]
        else:
            self.stored[key] = {c: change[c] for c in self.sql.columns}

    def state(self) -> str:
        """The backing table, as a relation."""
        listed = [[r[c] for c in self.sql.columns] for r in self.stored.values()]
        values = ", ".join(
            "("
            + ", ".join(
                f"{'NULL' if v is None else v}::{self.types[c]}"
                for c, v in zip(self.sql.columns, row, strict=True)
            )
            + ")"
            for row in listed or [[None] * len(self.sql.columns)]
        )
        names = ", ".join(map(quote, self.sql.columns))
        return f"(SELECT * FROM (VALUES {values}) v({names}){'' if listed else ' WHERE FALSE'})"

    def public(self) -> list[Row]:
        names = [n for n, _ in self.sql.stage.outputs]
        return [tuple(r[n] for n in names) for r in self.stored.values() if r.get(VISIBLE, True)]


SMALL = st.one_of(st.none(), st.integers(-1, 2))
ROW = st.tuples(st.one_of(st.none(), st.integers(0, 1)), SMALL, SMALL)
STATES = st.lists(st.lists(ROW, max_size=6), min_size=2, max_size=4)
IDS = st.lists(st.sampled_from([i for i in CASES if i != "n"]), min_size=1, max_size=4, unique=True)
HAVING = st.sampled_from([None, expr("{n} > 1", n=col("n"))])
FAST = settings(
    max_examples=80,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
HUNT = settings(FAST, max_examples=200, phases=[Phase.generate], report_multiple_bugs=False)


def difference(old: list[Row], new: list[Row], noise: list[Row]) -> list[Row]:
    before, after = list(old), []
    for row in new:
        if row in before:
            before.remove(row)
        else:
            after.append(row)
    noisy = [(*r, w) for r in noise for w in (1, -1)]
    return [(*r, 1) for r in after] + [(*r, -1) for r in before] + noisy


def check(
    ids: list[str],
    having: Expr | None,
    states: list[list[Row]],
    noise: list[Row],
    outputs: bool = True,
    keys: tuple[str, ...] = KEYED,
) -> Table:
    """After each step the table holds what the aggregates give on the rows as they are."""
    sql, wanted = definition(("n", *ids), having, outputs, keys)
    by = " GROUP BY k" if keys else ""
    table = Table(sql)
    table.start(states[0])
    for old, new in itertools.pairwise(states):
        table.move(old, new, difference(old, new, noise))
        where = f" HAVING {having.sql(lambda _: 'count(*)')}" if having else ""
        text = f"SELECT {wanted} FROM {literal_rows(COLUMNS, new)}{by}{where}"
        expected = connection().execute(text).fetchall()
        assert sorted(table.public(), key=repr) == sorted(expected, key=repr)
        groups = [r[0] if keys else 0 for r in new]
        hidden = {r[sql.keys[0]]: r[COUNT] for r in table.stored.values()}
        assert hidden == {k: groups.count(k) for k in (set(groups) if keys else {0})}
    return table


KEYS = st.sampled_from([KEYED, SCALAR])


@FAST
@given(IDS, HAVING, STATES, st.lists(ROW, max_size=1), KEYS)
def test_state_moved_by_deltas_is_what_recomputing_gives(
    ids: list[str],
    having: Expr | None,
    states: list[list[Row]],
    noise: list[Row],
    keys: tuple[str, ...],
) -> None:
    check(ids, having, states, noise, keys=keys)


FILLED_AND_EMPTIED: list[list[Row]] = [
    [],
    [(0, 1, 1), (0, 2, 2), (1, None, None)],
    [(0, 1, 1), (1, 5, 5)],
    [(0, 1, 1), (0, 1, 1), (1, 5, -5), (None, 0, 0)],
    [(None, None, 0)],
    [],
    [(1, 2, 2)],
    [],
]


@pytest.mark.parametrize("name", [i for i in CASES if i != "n"])
def test_each_aggregate_through_inserts_updates_and_deletes(name: str) -> None:
    assert check([name], None, FILLED_AND_EMPTIED, []).stored == {}


@pytest.mark.parametrize("having", [None, expr("{n} > 1", n=col("n"))])
@pytest.mark.parametrize("name", [i for i in CASES if i != "n"])
def test_each_aggregate_without_keys_has_one_row_all_the_time(
    name: str, having: Expr | None
) -> None:
    table = check([name], having, FILLED_AND_EMPTIED, [], keys=SCALAR)
    assert list(table.stored) == [(0,)]
    # The last batch emptied the input: counts are 0, all else NULL, and HAVING hides the row.
    last = 0 if CASES[name].wanted.startswith("count") else None
    assert table.public() == ([(0, last, -1)] if having is None else [])


@pytest.mark.nightly
@settings(FAST, max_examples=500)
@given(IDS, HAVING, STATES, st.lists(ROW, max_size=1), KEYS)
def test_state_at_length(
    ids: list[str],
    having: Expr | None,
    states: list[list[Row]],
    noise: list[Row],
    keys: tuple[str, ...],
) -> None:
    check(ids, having, states, noise, keys=keys)


# -- what is not computed again -------------------------------------------------------------------


def test_an_extreme_is_computed_again_only_where_a_delete_reaches_it() -> None:
    low, high = (0, 1, 1), (0, 9, 9)
    assert check(["mn", "mx"], None, [[low, high, (0, 5, 5)], [low, high]], []).rescans == 0
    assert check(["mn", "mx"], None, [[low, high], [low, high, (0, 99, 99)]], []).rescans == 0
    assert check(["mn", "mx"], None, [[low, high, (0, 5, 5)], [low, (0, 5, 5)]], []).rescans == 1


@pytest.mark.parametrize("keys", [KEYED, SCALAR])
def test_sums_and_counts_never_look_at_the_sources_again(keys: tuple[str, ...]) -> None:
    ids = ["sb", "av", "cif", "bo", "ba", "nb"]
    states: list[list[Row]] = [[(0, 1, 1), (1, 1, 1)], [(0, 2, 2)], [(1, 1, 1)], []]
    assert check(ids, None, states, [], keys=keys).rescans == 0


def test_the_extremes_of_all_rows_are_computed_again_only_where_a_delete_reaches_them() -> None:
    low, middle, high = (0, 1, 1), (1, 5, 5), (0, 9, 9)
    states: list[list[Row]] = [[low, middle, high], [low, high], [low, high, high]]
    assert check(["mn", "mx"], None, states, [], keys=SCALAR).rescans == 0
    assert check(["mn", "mx"], None, [[low, middle], [middle]], [], keys=SCALAR).rescans == 1
    assert check(["mn", "mx"], None, [[low], []], [], keys=SCALAR).rescans == 1


@pytest.mark.parametrize("keys", [KEYED, SCALAR])
def test_a_change_that_cancels_touches_nothing(keys: tuple[str, ...]) -> None:
    sql, _ = definition(("n", "sb"), None, True, keys)
    table = Table(sql)
    table.start([(0, 1, 1)])
    before = dict(table.stored)
    assert len(before) == 1
    table.move([(0, 1, 1)], [(0, 1, 1)], [(0, 7, 7, 1), (0, 7, 7, -1), (1, 3, 3, 1), (1, 3, 3, -1)])
    assert table.stored == before


@pytest.mark.parametrize("keys", [KEYED, SCALAR])
def test_a_group_with_fewer_than_no_rows_is_marked(keys: tuple[str, ...]) -> None:
    sql, _ = definition(("n", "sb"), None, False, keys)
    touched = sql.touched(
        Renderer(lambda _: literal_rows((*COLUMNS, WEIGHT), [(0, 1, 1, -1)])),
        Scan("s", INPUT.reads, End.DELTA),
    )
    table = Table(sql)
    table.start([])
    (row,) = rows(sql.merged(touched, table.state()).sql)
    assert row[OP] == "X"


# -- mutants --------------------------------------------------------------------------------------


def sum_of_all(x: Expr, zero: Expr) -> Expr:
    return expr("SUM({x})", x=x)


def sum_of_inserts(x: Expr, zero: Expr) -> Expr:
    return expr("SUM(CASE WHEN {w} > 0 THEN {x} END)", w=col(WEIGHT), x=x)


MUTANTS: Mapping[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "sums ignore deletes": (
        "sb", lambda m: m.setitem(aggregates.WEIGHTED, Kind.SUM, sum_of_inserts)),
    "sums add what is deleted": (
        "cif", lambda m: m.setitem(aggregates.WEIGHTED, Kind.SUM, sum_of_all)),
    "the least ignores deletes": (
        "mn", lambda m: m.setattr(maintain, "_reached", lambda s: expr("FALSE"))),
    "the greatest ignores deletes": (
        "mx", lambda m: m.setattr(maintain, "_reached", lambda s: expr("FALSE"))),
    "old state is forgotten": (
        "sb", lambda m: m.setattr(maintain, "_merge", lambda s: expr(f"t.`{s.id}`"))),
    "counts of present values are counts of rows": (
        "nb", lambda m: m.setattr(aggregates, "_present", lambda args: expr("TRUE"))),
}  # fmt: skip


@pytest.mark.parametrize("keys", [KEYED, SCALAR])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutated_rule_is_caught(
    name: str, keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate, mutate = MUTANTS[name]
    mutate(monkeypatch)

    @HUNT
    @given(STATES)
    def hunt(states: list[list[Row]]) -> None:
        check([aggregate], None, states, [], outputs=False, keys=keys)

    with pytest.raises(AssertionError):
        hunt()


def test_a_row_that_is_kept_as_if_it_were_a_group_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The row of an aggregate without keys would go with its last input row."""
    monkeypatch.setattr(GroupSql, "scalar", False)
    with pytest.raises(AssertionError):
        check(["sb"], None, [[(0, 1, 1)], []], [], outputs=False, keys=SCALAR)
