"""Definitions cut into stages, columns of one type where they pass for equal, floats that may not
decide."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from random import Random

import pytest

from dt_jupyter.ivm import (
    DERIVATIVES,
    OPERATORS,
    Aggregate,
    Bag,
    End,
    Group,
    Match,
    Project,
    Refusal,
    Refused,
    Rel,
    Restrict,
    Scan,
    Stage,
    Top,
    Union,
    at,
    compile_stages,
    differentiate,
    monotone,
    refuse,
    scans,
    settle_types,
    walk,
)
from dt_jupyter.model.hidden import VISIBLE
from dt_jupyter.sql.emit.render import RENDERED, Renderer
from dt_jupyter.sql.emit.state_sql import GroupSql
from tests.recorded_plans import RecordedPlans
from tests.unit.ivm import test_groups, test_mutants
from tests.unit.ivm_lab import MINUS, PLUS, Search, Term
from tests.unit.small_worlds import SOURCES, connection, duck_quote, literal_rows, pooled, to_duck

TABLES = {
    "small": {"k": "int", "d": "double", "x": "decimal(10,2)", "s": "string"},
    "large": {"k": "bigint", "d": "double", "x": "decimal(12,4)", "s": "string"},
}
PLANS = RecordedPlans.of(__file__)
_NAMES = {"integer": "int", "hugeint": "bigint", "varchar": "string"}


def bound(query: str) -> Rel:
    tables = {t: ", ".join(f"{c} {k}" for c, k in cs.items()) for t, cs in TABLES.items()}
    return PLANS.relation(query, tables)


def relation(scan: Scan) -> str:
    if scan.source in SOURCES:
        return literal_rows(SOURCES[scan.source], [])
    items = ", ".join(f"CAST(NULL AS {t}) AS {c}" for c, t in TABLES[scan.source].items())
    return f"(SELECT {items})"


def types(rel: Rel) -> dict[str, str]:
    """DuckDB's answer in Spark's words, for the few types here."""
    return dict(_described(Renderer(relation)(rel)))


@cache
def _described(text: str) -> dict[str, str]:
    for spark, duck in ((" STRUCT(", " ROW("), (", TRUE)", ")")):
        text = text.replace(spark, duck)
    found = connection().execute(to_duck(f"DESCRIBE SELECT * FROM ({text})")).fetchall()
    return {n: _NAMES.get(t.lower(), t.lower()) for n, t, *_ in found}


def compiled(query: str) -> tuple[Stage, ...]:
    rel = bound(query)
    return compile_stages(rel, tuple(f"o{i}" for i in range(len(rel.columns))), types)


def test_the_set_of_operators_is_closed() -> None:
    """Each has a derivative, a rendering, and a mutant that its oracle catches."""
    mutated = {kind for kind, _ in test_mutants.RULES.values()} | {Restrict}
    grouped = {Aggregate} if test_groups.MUTANTS else set()
    assert set(DERIVATIVES) == set(OPERATORS) == set(RENDERED) == mutated | grouped


def test_an_aggregate_on_top_is_kept_by_group_and_rows_by_content() -> None:
    (group,) = compiled("SELECT k, count(*) n FROM small GROUP BY k HAVING count(*) > 1")
    assert isinstance(group.top, Group)
    assert group.top.visible is not None
    (bag,) = compiled("SELECT k FROM small WHERE k > 1")
    assert isinstance(bag.top, Bag)


@pytest.mark.parametrize("column", ["k", "x"])
@pytest.mark.parametrize("changed", ["small", "large"])
def test_a_union_has_its_types_whichever_branch_changes(column: str, changed: str) -> None:
    """The hash of a row is over exact bytes: 1 as INT is another row than 1 as BIGINT."""
    query = f"SELECT {column} FROM small UNION ALL SELECT {column} FROM large"
    (stage,) = compiled(query)
    whole = types(stage.input)
    delta = differentiate(stage.input, frozenset({changed}))
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
    (union,) = [n for n in walk(stage.input) if isinstance(n, Union)]
    assert "CAST" not in Renderer(relation)(union).replace("CAST(NULL", "")


# -- columns that are compared --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "wanted"),
    [
        ("a.k = b.k", "bigint"),
        ("a.x = b.x", "decimal(12,4)"),
        ("a.k = b.d", "double"),
        ("a.d = b.d", "double"),
    ],
)
@pytest.mark.parametrize("kind", ["LEFT", "LEFT SEMI", "LEFT ANTI"])
def test_the_pairs_of_a_match_are_of_the_wider_type(kind: str, on: str, wanted: str) -> None:
    """A key of the one side has to find the rows of the other, by its bytes."""
    (stage,) = compiled(f"SELECT a.* FROM small a {kind} JOIN large b ON {on}")
    (match,) = [n for n in walk(stage.input) if isinstance(n, Match)]
    for left, right in match.pairs:
        assert types(match.left)[left] == types(match.right)[right] == wanted
    shown = [types(stage.input)[c] for c in stage.input.columns]
    assert shown == list(TABLES["small"].values())


def test_the_pairs_of_a_match_that_are_of_one_type_are_left_as_they_are() -> None:
    (stage,) = compiled("SELECT a.k FROM small a LEFT JOIN large b ON a.d = b.d AND a.k < b.k")
    text = Renderer(lambda s: s.source)(stage.input)
    assert "CAST" not in text


@pytest.mark.parametrize("on", ["a.s = b.k", "a.s = b.d", "a.x = b.s"])
@pytest.mark.parametrize("kind", ["LEFT", "LEFT SEMI", "LEFT ANTI", "FULL"])
def test_a_match_of_values_that_compare_by_a_parse_is_refused(kind: str, on: str) -> None:
    with pytest.raises(Refused) as e:
        compiled(f"SELECT 1 FROM small a {kind} JOIN large b ON {on}")
    assert e.value.reason.code == "EXPRESSION"
    assert "compares" in e.value.reason.sentence


# -- what is read at both ends --------------------------------------------------------------------


def test_what_a_limit_takes_the_first_of_is_a_stage() -> None:
    query = "SELECT a.k, b.x FROM small a JOIN large b ON a.d = b.d ORDER BY b.x DESC LIMIT 3"
    below, public = compiled(query)
    assert isinstance(below.top, Bag)
    assert {s.source for s in scans(below.input)} == {"small", "large"}
    assert isinstance(public.top, Bag)
    assert isinstance(public.input, Top)
    assert public.sources == (below.id,)


def test_the_first_of_a_stage_is_read_from_it() -> None:
    query = "SELECT k, count(*) + 1 n FROM small GROUP BY k ORDER BY n DESC LIMIT 3"
    group, public = compiled(query)
    assert isinstance(group.top, Group)
    assert isinstance(public.input, Top)
    assert isinstance(public.input.input, Scan)
    assert public.sources == (group.id,)


def test_what_is_filtered_of_a_stage_is_no_stage_of_its_own() -> None:
    groups = "SELECT k, count(*) n FROM small GROUP BY k HAVING count(*) > 1"
    group, public = compiled(f"SELECT n FROM ({groups}) ORDER BY n LIMIT 1 OFFSET 2")
    assert isinstance(group.top, Group)
    assert isinstance(public.input, Top)
    assert (public.input.count, public.input.skip) == (1, 2)


def test_a_limit_of_a_table_keeps_the_columns_that_it_reads() -> None:
    below, public = compiled("SELECT k FROM small ORDER BY k LIMIT 2")
    assert [n for n, _ in below.outputs] == list(public.input.columns)
    assert scans(below.input)[0].reads[0][1] == "k"
    assert len(scans(below.input)[0].reads) == 1


def test_an_aggregate_under_a_match_and_a_window_is_a_stage() -> None:
    sums = "(SELECT k, max(x) m FROM large GROUP BY k)"
    query = f"SELECT a.k, rank() OVER (ORDER BY b.m) r FROM small a LEFT JOIN {sums} b ON a.k = b.k"
    group, public = compiled(query)
    assert isinstance(group.top, Group)
    assert set(public.sources) == {"small", group.id}


def test_a_scalar_aggregate_is_a_stage_of_one_row() -> None:
    (group,) = compiled("SELECT count(*) c, max(x) m FROM small HAVING count(*) > 1")
    assert isinstance(group.top, Group)
    assert group.top.keys == ()
    assert group.top.visible is not None
    group, public = compiled("SELECT k FROM small WHERE x > (SELECT max(x) FROM large)")
    assert isinstance(group.top, Group)
    assert group.top.keys == ()
    assert set(public.sources) == {"small", group.id}


def staged(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    """The public stage, each stage computed from those below, holds the definition's rows."""
    texts: dict[str, str] = {}

    def place(scan: Scan) -> str:
        below = texts.get(scan.source)
        return f"({below})" if below else pooled(scan)

    render = Renderer(place)
    stages = compile_stages(rel, rel.columns, types)
    for stage in stages:
        if isinstance(stage.top, Group):
            sql = GroupSql(stage, stage.top)
            visible = f" WHERE {VISIBLE}" if stage.top.visible else ""
            text = f"SELECT * FROM ({sql.initial(render)}){visible}"
        else:
            items = ", ".join(f"{e.sql(duck_quote)} AS {duck_quote(n)}" for n, e in stage.outputs)
            text = f"SELECT {items} FROM ({render(at(stage.input, End.NEW))})"
        texts[stage.id] = text
    return [[Term(texts[stages[-1].id], PLUS), Term(at(settle_types(rel, types), End.NEW), MINUS)]]


def test_the_stages_together_are_the_definition() -> None:
    Search(range(1, 150), aggregates=True, worlds=1)(staged)


def settled_is_the_same(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    return [[Term(at(settle_types(rel, types), End.NEW), PLUS), Term(at(rel, End.NEW), MINUS)]]


def test_what_is_put_in_front_of_a_definition_keeps_its_rows() -> None:
    Search(range(150), aggregates=True, settled=True, worlds=1)(settled_is_the_same)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT k + 1 AS y FROM small WHERE x > 1", True),
        ("SELECT a.k FROM small a JOIN large b ON a.k = b.k", True),
        ("SELECT k FROM small UNION ALL SELECT k FROM large", True),
        ("SELECT e FROM small LATERAL VIEW OUTER explode(array(k, k)) v AS e", True),
        ("SELECT a.k FROM small a LEFT JOIN large b ON a.k = b.k", False),
        ("SELECT a.k FROM small a LEFT ANTI JOIN large b ON a.k = b.k", False),
        ("SELECT k, row_number() OVER (ORDER BY k) n FROM small", False),
        ("SELECT k FROM small ORDER BY k LIMIT 1", False),
        ("SELECT count(*) c FROM small", False),
        ("SELECT DISTINCT k FROM small", False),
    ],
)
def test_a_query_is_monotone_where_added_rows_take_none_back(query: str, wanted: bool) -> None:
    assert monotone(bound(query)) is wanted


# -- floats ---------------------------------------------------------------------------------------

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
        f"SELECT y.k FROM {AVERAGES} x LEFT JOIN large y ON x.a = y.d",
        f"SELECT y.k FROM large y LEFT SEMI JOIN {AVERAGES} v ON v.a = y.d",
        f"SELECT y.k FROM large y LEFT ANTI JOIN {AVERAGES} v ON v.k = y.k AND v.a < y.d",
        f"SELECT k, rank() OVER (ORDER BY a) r FROM {AVERAGES}",
        f"SELECT k, row_number() OVER (PARTITION BY a ORDER BY k) r FROM {AVERAGES}",
        f"SELECT k, lag(a) OVER (ORDER BY k) r FROM {AVERAGES}",
        f"SELECT k, a FROM {AVERAGES} ORDER BY a DESC LIMIT 2",
        f"SELECT k FROM {AVERAGES} WHERE n > (SELECT avg(d) FROM large)",
        f"SELECT n, max_by(k, a) m FROM {AVERAGES} GROUP BY n",
        f"SELECT n, max_by(a, a) m FROM {AVERAGES} GROUP BY n",
        f"SELECT n, mode(a) m FROM {AVERAGES} GROUP BY n",
        f"SELECT n, first(k) f, last(a) l FROM {AVERAGES} GROUP BY n",
        f"SELECT k, CAST(a AS STRING) t FROM {AVERAGES}",
        f"SELECT k, concat('about ', a) t FROM {AVERAGES}",
        f"SELECT k, a > 5 AS large FROM {AVERAGES}",
        f"SELECT k, CAST(a AS INT) b, n FROM {AVERAGES}",
        f"SELECT k, CAST(a + 1 AS DECIMAL(10, 2)) t FROM {AVERAGES}",
        "SELECT k, CAST(stddev(d) AS STRING) t FROM large GROUP BY k",
        f"SELECT k, a IS NULL OR a > 5 AS large FROM {AVERAGES}",
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
        f"SELECT k, a IS NULL AS b, (a) IS NOT NULL AS c FROM {AVERAGES}",
        "SELECT k, CAST(avg(k) AS STRING) a FROM small GROUP BY k",
        f"SELECT n, max_by(a, k) m, first(k) f FROM {AVERAGES} GROUP BY n",
        f"SELECT n, max(a) m, avg(a) v, count(a) c FROM {AVERAGES} GROUP BY n",
        "SELECT k, max(d) m FROM small GROUP BY k HAVING max(d) > 1",
        "SELECT k, avg(k) a FROM small GROUP BY k HAVING avg(k) > 1",
        f"SELECT y.k, x.a FROM large y LEFT JOIN {AVERAGES} x ON x.k = y.k",
        f"SELECT k, a, rank() OVER (ORDER BY n) r FROM {AVERAGES}",
        f"SELECT k, a, n FROM {AVERAGES} ORDER BY n, k LIMIT 2",
        f"SELECT k, a, e FROM {AVERAGES} LATERAL VIEW explode(array(n, k)) v AS e WHERE e > 1",
    ],
)
def test_a_floating_aggregate_may_be_shown_and_exact_ones_may_decide(query: str) -> None:
    assert compiled(query)


def test_what_is_exploded_of_a_floating_aggregate_decides_nothing() -> None:
    with pytest.raises(Refused):
        compiled(f"SELECT e FROM {AVERAGES} LATERAL VIEW explode(array(a)) v AS e WHERE e > 1")


def test_a_floating_window_over_rows_that_tie_is_refused() -> None:
    """Its last bits would differ each time; over rows in one order they are the same."""
    over = "SELECT k, sum(d) OVER (PARTITION BY k ORDER BY x{frame}) v FROM small"
    with pytest.raises(Refused) as e:
        compiled(over.format(frame=""))
    assert e.value.reason.code == "FLOATING_AGGREGATE_DECIDES"
    assert compiled(over.format(frame=" ROWS UNBOUNDED PRECEDING"))
    assert compiled("SELECT k, sum(d) OVER (PARTITION BY k) v FROM small")
    assert compiled("SELECT k, sum(x) OVER (PARTITION BY k ORDER BY d) v FROM small")


def test_an_average_of_small_integers_is_the_same_whichever_of_rows_that_tie_comes_first() -> None:
    over = "SELECT avg({x}) OVER (PARTITION BY s ORDER BY x RANGE BETWEEN 7 PRECEDING AND CURRENT "
    over += "ROW) v FROM {table}"
    assert compiled(over.format(x="k", table="small"))
    for inexact, table in (("k", "large"), ("d", "small")):
        with pytest.raises(Refused) as e:
            compiled(over.format(x=inexact, table=table))
        assert e.value.reason.code == "FLOATING_AGGREGATE_DECIDES"


def test_a_refusal_passes_through_a_context_manager() -> None:
    @contextmanager
    def within():  # type: ignore[no-untyped-def]
        yield

    with pytest.raises(Refused), within():
        raise refuse(Refusal.SAMPLE)
