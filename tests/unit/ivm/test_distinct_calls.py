"""DISTINCT calls from the groups of their arguments: which are, and that the answer is the same."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest

import dt_jupyter.ivm.distinct_calls as rule
from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    Bag,
    Group,
    Rel,
    Stage,
    Union,
    compile_stages,
    expr,
    walk,
)
from dt_jupyter.ivm.distinct_calls import group_distinct_arguments
from dt_jupyter.ivm.explain import tree
from dt_jupyter.sql.emit.render import Renderer
from tests.recorded_plans import RecordedPlans
from tests.unit.small_worlds import connection, literal_rows, to_duck

PLANS = RecordedPlans.of(__file__)
COLUMNS = {
    "k": "int",
    "v": "int",
    "w": "bigint",
    "x": "decimal(10,2)",
    "s": "string",
    "f": "double",
}
_NAMES = {"integer": "int", "hugeint": "bigint", "varchar": "string"}
Row = tuple[Any, ...]


def relation(query: str) -> Rel:
    return PLANS.relation(query, {"t": ", ".join(f"{c} {t}" for c, t in COLUMNS.items())})


def types(rel: Rel) -> dict[str, str]:
    items = ", ".join(f"CAST(NULL AS {t}) AS {c}" for c, t in COLUMNS.items())
    return dict(_described(Renderer(lambda _: f"(SELECT {items})")(rel)))


_SEVERAL = re.compile(r'COUNT\((DISTINCT )?("\w+"), ("\w+")\)', re.IGNORECASE)


def duck(text: str) -> str:
    """DuckDB counts one column: a pair, where neither is NULL."""
    pair = r"COUNT(\1CASE WHEN \2 IS NOT NULL AND \3 IS NOT NULL THEN (\2, \3) END)"
    return _SEVERAL.sub(pair, to_duck(text))


@cache
def _described(text: str) -> dict[str, str]:
    found = connection().execute(duck(f"DESCRIBE SELECT * FROM ({text})")).fetchall()
    return {n: _NAMES.get(t.lower(), t.lower()) for n, t, *_ in found}


def stages(query: str) -> tuple[Stage, ...]:
    rel = relation(query)
    return compile_stages(rel, tuple(f"o{i}" for i in range(len(rel.columns))), types)


ONE_SET = [
    "SELECT k, count(DISTINCT v) n FROM t GROUP BY k",
    "SELECT count(DISTINCT s) n FROM t",
    "SELECT k, count(DISTINCT v, s) n FROM t GROUP BY k",
    "SELECT k, count(DISTINCT v) n, sum(DISTINCT v) t, avg(DISTINCT v) a FROM t GROUP BY k",
    "SELECT k, count(DISTINCT v) FILTER (WHERE w > 0) n FROM t GROUP BY k",
    "SELECT k, w, count(DISTINCT v + w) n FROM t GROUP BY k, w HAVING count(DISTINCT v + w) > 1",
    "SELECT k, count(DISTINCT k) n FROM t GROUP BY k",
    "SELECT s, sum(DISTINCT x) n FROM t GROUP BY s",
    "SELECT k, count(DISTINCT 1) n FROM t GROUP BY k",
]
WITH_OTHERS = [
    "SELECT k, count(*) c, count(DISTINCT v) n FROM t GROUP BY k",
    "SELECT count(*) c, count(DISTINCT v) n, count(DISTINCT s) m FROM t",
    "SELECT k, count(DISTINCT v) n, count(DISTINCT s) m FROM t GROUP BY k",
    "SELECT k, sum(x) a, avg(w) b, min(s) l, max(v) h, count(v) c, count_if(w > 0) d, "
    "bool_or(v > 0) e, count(DISTINCT v, w) n FROM t GROUP BY k",
    "SELECT k, count_if(v IS NULL) c, count(*) FILTER (WHERE w IS NULL) d, count(DISTINCT w) n "
    "FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT k, min(DISTINCT v) l, sum(DISTINCT w) n FROM t GROUP BY k",
    "SELECT count(DISTINCT v) n, max(f) h FROM t WHERE w > 0",
    "SELECT n, sum(c) c FROM (SELECT k, count(*) c, count(DISTINCT v) n FROM t GROUP BY k) "
    "GROUP BY n",
]
AS_THEY_ARE = [
    "SELECT k, count(DISTINCT f) n FROM t GROUP BY k",
    "SELECT k, count(DISTINCT v, f) n FROM t GROUP BY k",
    "SELECT k, count(DISTINCT array(v)) n FROM t GROUP BY k",
    "SELECT k, count(DISTINCT v) n, median(v) m FROM t GROUP BY k",
    "SELECT k, count(DISTINCT v) n, sum(f) m FROM t GROUP BY k",
    "SELECT k, max(DISTINCT v) n, count(*) c FROM t GROUP BY k",
    "SELECT DISTINCT k, v FROM t",
]


@pytest.mark.parametrize("query", ONE_SET)
def test_one_set_of_arguments_is_grouped_below(query: str) -> None:
    below, public = stages(query)
    assert isinstance(below.top, Group)
    assert isinstance(public.top, Group)
    assert not below.top.recomputes
    assert not below.top.aggregates
    assert not public.top.recomputes
    assert public.sources == (below.id,)


@pytest.mark.parametrize("query", WITH_OTHERS)
def test_other_calls_are_computed_beside_them(query: str) -> None:
    made = stages(query)
    assert not any(isinstance(s.top, Group) and s.top.recomputes for s in made)
    (of_both,) = [s for s in made if any(isinstance(n, Union) for n in walk(s.input))]
    assert isinstance(of_both.top, Group)
    assert of_both is made[-1] or made[-1].sources == (of_both.id,)


@pytest.mark.parametrize("query", AS_THEY_ARE)
def test_what_is_computed_again_all_the_same_stays_as_it_is(query: str) -> None:
    rel = relation(query)
    assert group_distinct_arguments(rel, types) == rel


def test_a_plan_tells_the_argument_as_the_query_has_it() -> None:
    made = stages("SELECT k, count(*) c, count(DISTINCT v) n, count(DISTINCT w + 1) m FROM t "
                  "GROUP BY k")  # fmt: skip
    assert [n.state for n in tree(made, {}, {}) if n.state] == [
        "key (o0); count from state",
        "key (k, w + 1); row count of each group",
        "key (k, v); row count of each group",
    ]


def test_a_group_of_a_frozen_table_has_its_stages_too() -> None:
    rel = relation(ONE_SET[0])
    below, group, public = compile_stages(rel, ("k", "n"), types, frozenset({"k"}))
    assert isinstance(public.top, Bag)
    assert (group.sources, public.sources) == ((below.id,), (group.id,))


def random_rows(rng: Random) -> list[Row]:
    values = [None, 0, 1, 2]
    return [tuple(rng.choice(values) for _ in COLUMNS) for _ in range(rng.randrange(12))]


def answer(rel: Rel, rows: list[Row]) -> Counter[Row]:
    listed = literal_rows(tuple(COLUMNS), rows)
    typed = ", ".join(f"CAST({c} AS {t}) AS {c}" for c, t in COLUMNS.items())
    text = Renderer(lambda _: f"(SELECT {typed} FROM {listed} q)")(rel)
    return Counter(connection().execute(duck(text)).fetchall())


def wrong(query: str, seeds: range) -> int | None:
    """The first seed whose rows the rewritten query answers otherwise."""
    rel = relation(query)
    made = group_distinct_arguments(rel, types)
    assert made != rel
    for seed in seeds:
        rows = random_rows(Random(seed))
        if answer(made, rows) != answer(rel, rows):
            return seed
    return None


@pytest.mark.parametrize("query", [*ONE_SET, *WITH_OTHERS])
def test_the_answer_is_the_same(query: str) -> None:
    assert wrong(query, range(40)) is None


def every_row(node: Aggregate, args: Any, number: int) -> tuple[Rel, tuple[str, ...]]:
    groups, names = _GROUPS(node, args, number)
    return groups.input, names


def rows_of_all_members(call: AggregateCall, names: tuple[str, ...]) -> AggregateCall:
    return (
        AggregateCall("count", (), expr("COUNT(*)"))
        if call.function == "count"
        else _OVER(call, names)
    )


_GROUPS, _OVER = rule._groups, rule._over


@pytest.mark.parametrize(
    ("function", "mutant"), [("_groups", every_row), ("_over", rows_of_all_members)]
)
@pytest.mark.parametrize("query", [ONE_SET[0], WITH_OTHERS[0], WITH_OTHERS[2]])
def test_a_rule_that_counts_too_much_is_caught(
    query: str, function: str, mutant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, function, mutant)
    assert wrong(query, range(40)) is not None
