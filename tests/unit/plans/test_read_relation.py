"""Queries read from their plans: shapes, names, scopes, and each refusal by its code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import dt_jupyter.plans as plans_package
from dt_jupyter.ivm import (
    SUPPORTED,
    Aggregate,
    Filter,
    Match,
    MatchKind,
    Refused,
    Rel,
    Scan,
    compile_stages,
    scans,
    settled_calls,
    walk,
    window_rules,
)
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_relation import relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.sql import Renderer
from tests.recorded_plans import RecordedPlans, column_names, spark_functions
from tests.unit.small_queries import TABLES, VIEWS, texts

PLANS = RecordedPlans.of(__file__)
MARKS = {
    "Project": "π", "Filter": "σ", "Join": "⋈", "Union": "∪", "Aggregate": "γ", "Window": "ω",
    "Generate": "ε", "Top": "τ", "Rows": "ρ",
}  # fmt: skip


def bound(query: str) -> Rel:
    """The relation; `dt` has rows that are hidden."""
    known = {name: PlanSource(f"id:{name}", column_names(TABLES[name])) for name in TABLES}
    known["dt"] = replace(known["dt"], visible="__dt_visible")
    return relation_of_plan(
        read_document(PLANS.document(query, TABLES, VIEWS)), known, spark_functions()
    )


def shape(query: str) -> str:
    """The operators, parents first: π σ ⋈ ∪ γ …, and the sources by name."""

    def mark(node: Rel) -> str:
        if isinstance(node, Scan):
            return node.source.removeprefix("id:")
        if isinstance(node, Match):
            return {MatchKind.LEFT: "⟕", MatchKind.SEMI: "⋉", MatchKind.ANTI: "▷"}[node.kind]
        return MARKS[type(node).__name__]

    return " ".join(map(mark, walk(bound(query))))


def text(query: str) -> str:
    """The bound query in one line, sources as they are named."""
    return re.sub(r"\s+", " ", Renderer(lambda s: s.source.removeprefix("id:"))(bound(query)))


# -- shapes ---------------------------------------------------------------------------------------

SHAPES = [
    ("SELECT id, v + 1 AS w FROM t", "π t"),
    ("SELECT * FROM t WHERE v > 1 AND k = 'a'", "σ t"),
    ("FROM t SELECT id", "π t"),
    ("SELECT t.id FROM t JOIN u ON t.k = u.k", "π ⋈ t u"),
    ("SELECT a.id, b.id FROM t a, t b WHERE a.k = b.k", "π σ ⋈ t t"),
    ("SELECT a.id FROM t a CROSS JOIN u", "π ⋈ t u"),
    ("SELECT k, name FROM t JOIN u USING (k)", "π π ⋈ t u"),
    ("SELECT * FROM t NATURAL JOIN u", "π ⋈ t u"),
    ("SELECT k FROM t UNION ALL SELECT k FROM u", "∪ π t π u"),
    ("(SELECT k FROM t) UNION ALL (SELECT k FROM u)", "∪ π t π u"),
    ("SELECT k FROM t UNION SELECT k FROM u", "γ ∪ π t π u"),
    ("SELECT DISTINCT k FROM t", "γ π t"),
    ("SELECT k, count(*) FROM t GROUP BY k", "π γ π t"),
    ("SELECT k FROM t GROUP BY k HAVING count(*) > 1", "π σ π γ π t"),
    ("SELECT DISTINCT k, count(*) FROM t GROUP BY k", "γ π γ π t"),
    (
        "SELECT k, sum(s) FROM (SELECT k, id, sum(v) s FROM t GROUP BY k, id) GROUP BY k",
        "π γ π π γ π t",
    ),
    ("SELECT * FROM vw", "π π γ π t"),
    ("SELECT * FROM vv", "π σ π π γ π t"),
    ("SELECT * FROM t ORDER BY id", "t"),
    ("SELECT id FROM t CLUSTER BY id", "π t"),
    ("SELECT id FROM t DISTRIBUTE BY k SORT BY id", "π π t"),
    ("SELECT id FROM (SELECT id FROM t SORT BY id) WHERE id > 1", "σ π t"),
    ("SELECT /*+ BROADCAST(u) */ t.id FROM t JOIN u ON t.k = u.k", "π ⋈ t u"),
    ("SELECT n FROM dt", "π π σ dt"),
    ("SELECT t.id FROM t LEFT JOIN u ON t.k = u.k", "π ⟕ t u"),
    ("SELECT u.id FROM t RIGHT JOIN u ON t.k = u.k", "π ⟕ u t"),
    ("SELECT u.id FROM t FULL JOIN u ON t.k = u.k AND t.v > u.id", "π ∪ π ⟕ t u π ▷ u t"),
    ("SELECT id FROM t LEFT SEMI JOIN u ON t.k = u.k", "π ⋉ t u"),
    ("SELECT id FROM t LEFT ANTI JOIN u ON t.k = u.k", "π ▷ t u"),
    ("SELECT id FROM t WHERE k IN (SELECT k FROM u)", "π ⋉ t π u"),
    ("SELECT id FROM t WHERE k NOT IN (SELECT k FROM u)", "π σ ⋈ ▷ t π u π γ π u"),
    ("SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", "π ▷ t π u"),
    ("SELECT id, (SELECT max(v) FROM t) m FROM t", "π ⋈ t π γ π t"),
    ("SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k) m FROM t", "π π ⟕ t π π γ π u"),
    ("SELECT id FROM t WHERE v > (SELECT avg(id) FROM u WHERE u.k = t.k)", "π π σ π ⟕ t π γ π u"),
    ("SELECT k FROM t EXCEPT SELECT k FROM u", "π σ γ ∪ π π t π π u"),
    ("SELECT k FROM t INTERSECT ALL SELECT k FROM u", "π ε σ γ ∪ π π t π π u"),
    ("SELECT k, sum(v) OVER (PARTITION BY k) s FROM t", "π π ω π t"),
    ("SELECT id FROM t QUALIFY row_number() OVER (ORDER BY id) = 1", "π σ π π ω π t"),
    ("SELECT k, count(*) FROM t GROUP BY ROLLUP(k)", "π γ π π ε π t"),
    ("SELECT count(*) FROM t", "π γ t"),
    ("SELECT id, e FROM t LATERAL VIEW explode(array(v)) x AS e", "π ε t"),
    ("SELECT id FROM t ORDER BY id LIMIT 3", "τ π t"),
    ("SELECT * FROM VALUES (1), (2) AS x(a)", "ρ"),
    ("SELECT 1 AS x", "π ρ"),
]


@pytest.mark.parametrize(("query", "expected"), SHAPES)
def test_a_query_has_its_shape(query: str, expected: str) -> None:
    assert shape(query) == expected


GROUPED = [
    "SELECT k, count(*) AS n FROM t GROUP BY k",
    "SELECT k, count(*) AS n FROM t GROUP BY t.k",
    "SELECT t.k, count(*) AS n FROM t GROUP BY k",
    "SELECT T.K, count(*) AS n FROM T GROUP BY k",
    "SELECT x.k, count(*) AS n FROM t x GROUP BY k",
    "SELECT k, count(*) AS n FROM t GROUP BY (k)",
    "SELECT k, count(*) AS n FROM t GROUP BY 1",
    "SELECT k, count(*) AS n FROM t GROUP BY ALL",
    "SELECT k AS kk, count(*) AS n FROM t GROUP BY kk",
]


@pytest.mark.parametrize("query", GROUPED)
def test_every_way_to_name_a_key_groups_by_it(query: str) -> None:
    (group,) = [n for n in walk(bound(query)) if isinstance(n, Aggregate)]
    assert isinstance(group.input.inputs[0], Scan)
    (item,) = [e for i, e in group.input.items if i in group.keys]  # type: ignore[attr-defined]
    assert item.column == "k"


def test_a_sampled_subquery_has_its_name_behind_the_sample() -> None:
    for name in ("", "AS s", "s"):
        text = f"SELECT {'s.' * bool(name)}id FROM (SELECT * FROM t) TABLESAMPLE (5 PERCENT)"
        assert shape(f"{text} REPEATABLE (1) {name}")


def test_a_column_wins_over_an_alias_in_group_by() -> None:
    assert "upper(`k_2`) AS" in text("SELECT upper(k) AS k, count(*) AS n FROM t GROUP BY k")


def test_a_column_wins_over_an_alias_in_where() -> None:
    assert "WHERE (`v` > 1)" in text("SELECT v + 1 AS v FROM t WHERE v > 1")


def test_an_alias_may_be_used_in_having_and_in_later_items() -> None:
    assert shape("SELECT k, sum(v) s FROM t GROUP BY k HAVING s > 1") == "σ π γ π t"
    assert text("SELECT v + 1 AS w, w + 1 AS x FROM t").startswith("SELECT `w`, `w` + 1 AS `x`")


def test_filter_becomes_a_case_in_the_arguments() -> None:
    query = "SELECT k, sum(v) FILTER (WHERE v > 1), count(*) FILTER (WHERE v > 2) FROM t GROUP BY k"
    (group,) = [n for n in walk(bound(query)) if isinstance(n, Aggregate)]
    calls = [c for _, c in group.calls]
    assert [c.function for c in calls] == ["sum", "count_if"]
    assert calls[0].args[0].sql(lambda c: c) == "CASE WHEN v > 1 THEN v END"
    assert calls[1].args[0].sql(lambda c: c) == "v > 2"


def test_equal_calls_are_kept_once() -> None:
    (group,) = [
        n
        for n in walk(
            bound("SELECT k, sum(v), sum(v) + 1, SUM(t.v) FROM t GROUP BY k HAVING sum(v) > 1")
        )
        if isinstance(n, Aggregate)
    ]
    assert len(group.calls) == 1


ARGUMENTS = {
    **dict.fromkeys(("bool_or", "bool_and", "count_if"), "v > 1"),
    **dict.fromkeys(("bitmap_and_agg", "bitmap_or_agg"), "CAST(k AS BINARY)"),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), "0.5) WITHIN GROUP (ORDER BY v"),
    **dict.fromkeys(("min_by", "max_by"), "v, f"),
    "count_min_sketch": "v, 0.5D, 0.5D, 1",
    "percentile": "v, 0.5",
}


@pytest.mark.parametrize("function", sorted(SUPPORTED))
def test_every_supported_aggregate_is_read_as_one(function: str) -> None:
    pairs = function.startswith(("regr", "cov", "corr"))
    args = ARGUMENTS.get(function, "v, f" if pairs else "v")
    query = f"SELECT k, {function}({args}) FROM t GROUP BY k"
    (group,) = [n for n in walk(bound(query)) if isinstance(n, Aggregate)]
    assert len(group.calls) == 1


# -- names and scopes -----------------------------------------------------------------------------


def test_names_with_odd_characters_come_through() -> None:
    rel = bound('SELECT `a b`, `c``d`, `e.f`, `select`, `ünï` AS `x y`, `q"t` FROM `odd t`')
    (source,) = scans(rel)
    assert tuple(n for _, n in source.reads) == column_names(TABLES["odd t"])
    rendered = Renderer(lambda s: "x")(rel)
    assert "`c``d` AS `c_d`" in rendered
    assert rel.columns == ("a_b", "c_d", "e_f", "select", "x_y", "q_t")


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("WITH c AS (SELECT k FROM t) SELECT c.k, d.k AS x FROM c JOIN c d ON c.k = d.k", "t t"),
        ("WITH c AS (SELECT k FROM t), d AS (SELECT * FROM c) SELECT * FROM d", "t"),
        ("WITH c(x) AS (SELECT k FROM t) SELECT x FROM c", "t"),
        ("WITH t AS (SELECT k FROM u) SELECT * FROM t", "u"),
        ("WITH t AS (SELECT k FROM t) SELECT * FROM t", "t"),
        (
            "WITH c AS (SELECT k FROM t) "
            "SELECT * FROM (WITH c AS (SELECT k FROM u) SELECT * FROM c)",
            "u",
        ),
        (
            "WITH c AS (SELECT k FROM t) SELECT * FROM (SELECT * FROM c) x JOIN u ON x.k = u.k",
            "t u",
        ),
        ("SELECT x.q FROM t AS x(q, r, s, w)", "t"),
        ("SELECT x.a FROM (SELECT k FROM t) AS x(a)", "t"),
    ],
)
def test_common_tables_are_seen_where_they_are(query: str, columns: str) -> None:
    assert " ".join(s.source.removeprefix("id:") for s in scans(bound(query))) == columns


def test_the_columns_of_a_definition_are_all_different() -> None:
    rel = bound(
        "SELECT a.k, b.k AS k2, c.n FROM t a JOIN t b ON a.k = b.k JOIN "
        "(SELECT k, count(*) n FROM t GROUP BY k) c ON c.k = a.k"
    )
    ids = [c for n in walk(rel) if isinstance(n, Scan) for c in n.columns]
    assert len(ids) == len(set(ids))


def test_hidden_rows_of_a_dynamic_table_are_filtered() -> None:
    rel = bound("SELECT k FROM dt")
    (hidden,) = [n for n in walk(rel) if isinstance(n, Filter)]
    (source,) = scans(rel)
    assert dict(source.reads)[next(iter(hidden.on[0].columns))] == "__dt_visible"


def test_a_deep_query_is_read() -> None:
    deep = "v" + " + 1" * 400
    assert shape(f"SELECT {deep} AS x FROM t") == "π t"
    nested = "SELECT * FROM t"
    for i in range(30):
        nested = f"SELECT * FROM ({nested}) x{i}"
    assert shape(nested).split()[-1] == "t"


# -- nested aggregates become stages --------------------------------------------------------------


def types(rel: Rel) -> dict[str, str]:
    return dict.fromkeys(rel.columns, "int")


@pytest.mark.parametrize(
    ("query", "stages"),
    [
        ("SELECT id FROM t", 1),
        ("SELECT k, count(*) n FROM t GROUP BY k", 1),
        ("SELECT k, count(*) + 1 n FROM t GROUP BY k HAVING sum(v) > 1", 1),
        ("SELECT DISTINCT k FROM t", 1),
        ("SELECT DISTINCT k, count(*) n FROM t GROUP BY k", 2),
        ("SELECT n, count(*) c FROM (SELECT k, count(*) n FROM t GROUP BY k) GROUP BY n", 2),
        ("SELECT t.id, g.n FROM t JOIN (SELECT k, count(*) n FROM t GROUP BY k) g ON t.k = g.k", 2),
        (
            "SELECT k, n FROM (SELECT k, count(*) n FROM t GROUP BY k) "
            "UNION ALL SELECT k, s FROM vw",
            3,
        ),
        (
            "SELECT c, count(*) d FROM (SELECT n, count(*) c FROM (SELECT k, count(*) n FROM t "
            "GROUP BY k) GROUP BY n) GROUP BY c",
            3,
        ),
    ],
)
def test_each_aggregate_below_another_operator_is_a_stage(query: str, stages: int) -> None:
    rel = bound(query)
    made = compile_stages(rel, tuple(f"o{i}" for i in range(len(rel.columns))), types)
    assert len(made) == stages
    for number, stage in enumerate(made):
        assert stage.id == f"stage:{number}"
        assert not any(isinstance(n, Aggregate) for n in walk(stage.input))
        assert all(
            int(s.partition(":")[2]) < number for s in stage.sources if s.startswith("stage")
        )


# -- refusals -------------------------------------------------------------------------------------


def refusals() -> Iterator[tuple[str, str]]:
    """Each query of refused.sql, with the code that stands above it."""
    code = ""
    for line in texts("refused.sql"):
        if line.startswith("-- "):
            code = line.removeprefix("-- ")
        else:
            yield line, code


REFUSALS = list(refusals())


@pytest.mark.parametrize(("query", "code"), REFUSALS)
def test_a_query_without_an_incremental_form_is_refused_by_code(query: str, code: str) -> None:
    with pytest.raises(Refused) as e:
        bound(query)
    assert e.value.reason.code == code
    assert "{" not in e.value.reason.sentence + e.value.hint


def test_every_refusal_of_the_reader_has_a_case() -> None:
    folder = Path(str(plans_package.__file__)).parent
    shared = (Path(str(module.__file__)) for module in (settled_calls, window_rules))
    named = {
        name
        for file in (*folder.rglob("*.py"), *shared)
        if file.name != "hashing.py"
        for name in re.findall(r"Refusal\.([A-Z_]+)", file.read_text("utf-8"))
    }
    elsewhere = {"GROUPING_SETS", "UNKNOWN_FUNCTION"}
    """Those of test_bad_input.py, and of Spark's tests of functions."""
    assert named - elsewhere == {code for _, code in REFUSALS}


def test_a_lambda_and_a_higher_order_exists_are_scalars() -> None:
    assert shape("SELECT transform(array(v), x -> x + 1) AS y FROM t") == "π t"
    assert shape("SELECT exists(array(v), x -> x > 1) AS y FROM t") == "π t"
    assert shape("SELECT unix_timestamp(k) AS y FROM t") == "π t"
