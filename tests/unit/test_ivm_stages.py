"""Definitions cut into stages, unions that mean the same in parts, floats that may not decide."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from dt_jupyter.ivm import (
    DERIVATIVES,
    OPERATORS,
    Aggregate,
    Bag,
    Group,
    Project,
    Refusal,
    Refused,
    Rel,
    Restrict,
    Scan,
    Union,
    compile_stages,
    differentiate,
    refuse,
    scans,
    walk,
)
from dt_jupyter.sql.bind import Table, View, bind
from dt_jupyter.sql.render import RENDERED, Renderer
from tests.unit import test_ivm_groups, test_ivm_mutants
from tests.unit.ivm_lab import connection, to_duck

TABLES = {
    "small": {"k": "int", "d": "double", "x": "decimal(10,2)"},
    "large": {"k": "bigint", "d": "double", "x": "decimal(12,4)"},
}
BUILTINS = frozenset({"round"})


def resolve(parts: tuple[str, ...]) -> Table | View:
    return Table(parts[-1], tuple(TABLES[parts[-1]]))


def relation(scan: Scan) -> str:
    items = ", ".join(f"CAST(NULL AS {t}) AS {c}" for c, t in TABLES[scan.source].items())
    return f"(SELECT {items})"


def types(rel: Rel) -> dict[str, str]:
    """DuckDB's answer in Spark's words, for the few types here."""
    text = to_duck(Renderer(relation)(rel)).replace("`", '"')
    found = connection().execute(f"DESCRIBE SELECT * FROM ({text})").fetchall()
    names = {"integer": "int", "hugeint": "bigint"}
    return {n: names.get(t.lower(), t.lower()) for n, t, *_ in found}


def compiled(query: str) -> tuple[object, ...]:
    rel = bind(query, resolve, BUILTINS)
    return compile_stages(rel, tuple(f"o{i}" for i in range(len(rel.columns))), types)


def test_the_set_of_operators_is_closed() -> None:
    """Each has a derivative, a rendering, and a mutant that its oracle catches."""
    mutated = {kind for kind, _ in test_ivm_mutants.RULES.values()} | {Restrict}
    grouped = {Aggregate} if test_ivm_groups.MUTANTS else set()
    assert set(DERIVATIVES) == set(OPERATORS) == set(RENDERED) == mutated | grouped


def test_an_aggregate_on_top_is_kept_by_group_and_rows_by_content() -> None:
    (group,) = compiled("SELECT k, count(*) n FROM small GROUP BY k HAVING count(*) > 1")
    assert isinstance(group.top, Group)  # type: ignore[attr-defined]
    assert group.top.visible is not None  # type: ignore[attr-defined]
    (bag,) = compiled("SELECT k FROM small WHERE k > 1")
    assert isinstance(bag.top, Bag)  # type: ignore[attr-defined]


def test_an_aggregate_is_not_differentiated() -> None:
    with pytest.raises(TypeError, match="own stage"):
        differentiate(bind("SELECT DISTINCT k FROM small", resolve, BUILTINS), frozenset({"small"}))


@pytest.mark.parametrize("column", ["k", "x"])
@pytest.mark.parametrize("changed", ["small", "large"])
def test_a_union_has_its_types_whichever_branch_changes(column: str, changed: str) -> None:
    """The hash of a row is over exact bytes: 1 as INT is another row than 1 as BIGINT."""
    query = f"SELECT {column} FROM small UNION ALL SELECT {column} FROM large"
    (stage,) = compiled(query)
    whole = types(stage.input)  # type: ignore[attr-defined]
    delta = differentiate(stage.input, frozenset({changed}))  # type: ignore[attr-defined]
    assert delta is not None
    branch = {s.source for s in scans(delta)}
    assert branch == {changed}
    in_the_delta = dict(zip(whole, list(types(_as_new(delta)).values()), strict=False))
    assert in_the_delta == whole


def _as_new(delta: Rel) -> Rel:
    """The branch without its weight, whose types are asked for."""
    (only,) = [n for n in walk(delta) if isinstance(n, Scan)]
    wanted = Scan(only.source, only.reads)

    def strip(rel: Rel) -> Rel:
        if isinstance(rel, Scan):
            return wanted
        assert isinstance(rel, Project)
        items = tuple(i for i in rel.items if i[0] != "__dt_w")
        return Project(strip(rel.input), items)

    return strip(delta)


def test_a_union_of_equal_types_is_left_as_it_is() -> None:
    (stage,) = compiled("SELECT d FROM small UNION ALL SELECT d FROM large")
    (union,) = [n for n in walk(stage.input) if isinstance(n, Union)]  # type: ignore[attr-defined]
    assert "CAST" not in Renderer(relation)(union).replace("CAST(NULL", "")


AVERAGES = "(SELECT k, avg(d) a, count(*) n FROM small GROUP BY k)"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k FROM {AVERAGES} WHERE a > 1",
        "SELECT k, avg(d) a FROM small GROUP BY k HAVING avg(d) > 1",
        f"SELECT DISTINCT a FROM {AVERAGES}",
        f"SELECT a, count(*) c FROM {AVERAGES} GROUP BY a",
        f"SELECT x.k FROM {AVERAGES} x JOIN large y ON x.a = y.d",
        f"SELECT n, count(DISTINCT a) c FROM {AVERAGES} GROUP BY n",
        f"SELECT n, count_if(a > 1) c FROM {AVERAGES} GROUP BY n",
        f"SELECT n, bool_or(a > 1) c FROM {AVERAGES} GROUP BY n",
        f"SELECT m FROM (SELECT n, max(a) m FROM {AVERAGES} GROUP BY n) WHERE m > 1",
        f"SELECT b FROM (SELECT a AS b FROM {AVERAGES} UNION ALL SELECT d FROM small) WHERE b > 1",
    ],
)
def test_a_floating_aggregate_decides_nothing(query: str) -> None:
    with pytest.raises(Refused) as e:
        compiled(query)
    assert e.value.reason.code == "FLOATING_AGGREGATE_DECIDES"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k, a + 1 AS b FROM {AVERAGES} WHERE n > 1",
        f"SELECT n, max(a) m, avg(a) v, count(a) c FROM {AVERAGES} GROUP BY n",
        "SELECT k, max(d) m FROM small GROUP BY k HAVING max(d) > 1",
        "SELECT k, avg(k) a FROM small GROUP BY k HAVING avg(k) > 1",
    ],
)
def test_a_floating_aggregate_may_be_shown_and_exact_ones_may_decide(query: str) -> None:
    assert compiled(query)


def test_a_refusal_passes_through_a_context_manager() -> None:
    @contextmanager
    def within():  # type: ignore[no-untyped-def]
        yield

    with pytest.raises(Refused), within():
        raise refuse(Refusal.SAMPLE)
