"""Spark's plans read as relations: they mean what the texts mean."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from bench.tpcds import TABLES as OF_TPCDS, columns
from dt_jupyter.ivm import (
    Aggregate,
    Filter,
    Match,
    Project,
    Refused,
    Rel,
    Scan,
    Window,
    simplify,
    walk,
)
from dt_jupyter.model import quote
from dt_jupyter.plans import NoForm, find_lost, relation_reader
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_form import optimized_form
from dt_jupyter.plans.plan_relation import read_query_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.spark import Catalyst, builtin_functions
from dt_jupyter.sql import Renderer
from tests.cases import nightly, some
from tests.spark.definition.test_tpcds import SAMPLE
from tests.spark.definition.tpcds_texts import tpcds_texts
from tests.spark.refresh import test_forms_of_queries, test_operators
from tests.spark.refresh.test_oracle_random import COLUMNS, value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES = {**test_operators.QUERIES, **test_forms_of_queries.QUERIES}
OTHERWISE = frozenset({
    "marked", "as_of", "newest_before", "distinct_rollup", "rollup", "cube", "grouping_sets",
    "deduplicated", "marked_items", "aggregated_marks", "sliding",
    "correlated_below",
})  # fmt: skip
"""Queries of which Spark plans the relation otherwise than it plans the text: their rows are
compared."""
SETTLED = frozenset[str]()
"""Queries that leave an order open, which the relation fixes."""
MORE = (
    "SELECT * FROM (SELECT k, ok, v FROM p) PIVOT (sum(v) AS s FOR ok IN (true AS y, false AS n))",
    "SELECT id, n, x FROM (SELECT id, v, big FROM p) UNPIVOT (x FOR n IN (v, big))",
    "SELECT * FROM (SELECT id, v FROM p) UNPIVOT INCLUDE NULLS (x FOR n IN (id, v))",
    "SELECT id FROM p TABLESAMPLE (30 PERCENT) REPEATABLE (7)",
    "SELECT p.id, t.s FROM p, LATERAL (SELECT sum(v) AS s FROM q WHERE q.k = p.k) t",
    "SELECT p.id, t.x FROM p LEFT JOIN LATERAL (SELECT q.x FROM q WHERE q.k = p.k AND q.v > p.v) t",
    "SELECT r.id, p.id AS pid FROM range(3) r JOIN p ON p.id = r.id",
    "SELECT k, mode(v) AS m, max_by(id, v) AS b, first(v) AS f, listagg(k) AS l FROM p GROUP BY k",
    "SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY v DESC) AS m FROM p GROUP BY k",
    "SELECT k, listagg(DISTINCT k, ',') WITHIN GROUP (ORDER BY k DESC) AS l FROM p GROUP BY k",
    "SELECT id, last_value(v) OVER (PARTITION BY k ORDER BY id) AS l, "
    "nth_value(v, 2) OVER (PARTITION BY k ORDER BY id) AS n FROM p",
    "SELECT id, CASE WHEN v NOT IN (SELECT v FROM q) THEN 1 END AS c FROM p",
    "SELECT id FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.v = 3)",
    "SELECT id FROM p WHERE (id, v) NOT IN (SELECT id, v FROM q)",
    "SELECT id, 'O''Brien' AS n, X'00FF' AS b, INTERVAL '1' DAY AS i FROM p WHERE k <> 'it''s'",
    "SELECT id, v BETWEEN 1 AND 3 AS b, v IN (1, 2, NULL) AS i, nvl(v, 0) AS z FROM p",
    "SELECT a, a FROM (SELECT id AS a FROM p) UNION SELECT v, v FROM q",
    "SELECT id FROM p ORDER BY v DESC, id LIMIT 3 OFFSET 2",
    "SELECT count(*) AS n FROM p HAVING count(*) > 1000",
    "SELECT k, sum(v) FILTER (WHERE ok) AS s, count(DISTINCT v) AS d FROM p GROUP BY ALL",
    "SELECT p.k, q.k AS k2 FROM p FULL JOIN q ON p.k = q.k AND p.v = q.v",
    "SELECT id, transform(l, x -> x + v) AS t, filter(l, x -> x > 1) AS f FROM p",
)
REPLACED = {
    "SELECT id, k, nullif(sum(v) OVER (PARTITION BY k), 0) AS s FROM p": Window,
    "SELECT id, k, v, sum(v) OVER (PARTITION BY k) BETWEEN v AND 9 AS b FROM p": Window,
    "SELECT id, k, max(at) OVER (PARTITION BY k) - INTERVAL 1 DAY AS t FROM p": Window,
    "SELECT k FROM p GROUP BY k HAVING nullif(sum(v), 1) > 1 AND max(v) BETWEEN 0 AND 9": Aggregate,
    "SELECT id, nullif((SELECT max(v) FROM q WHERE q.k = p.k), 0) AS m FROM p": Match,
}
"""Calls that Spark replaces, of what it takes out and computes below."""
OTHER_FORMS = 20
"""Texts of TPC-DS with another form: grouping sets, full joins, marks beside other conditions."""
TABLES = {
    **{n: PlanSource(n, tuple(COLUMNS), None, ()) for n in ("p", "q")},
    "dim": PlanSource("dim", ("k", "name"), None, ()),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """With rows in temporary views."""
    made, rng = spark.newSession(), random.Random(3)
    for name in ("p", "q"):
        rows = [[value(t, rng) for t in COLUMNS.values()] for _ in range(30)]
        listed = ", ".join(f"({', '.join(r)})" for r in [*rows, *rows[:5]])
        items = ", ".join(f"CAST(c{i} AS {t}) AS {n}" for i, (n, t) in enumerate(COLUMNS.items()))
        columns = ", ".join(f"c{i}" for i in range(len(COLUMNS)))
        text = f"SELECT {items} FROM VALUES {listed} AS t({columns})"
        made.sql(text).localCheckpoint().createOrReplaceTempView(name)
    dim = "SELECT * FROM VALUES ('a', 'Alpha'), ('A', 'Beta'), ('', NULL) AS t(k, name)"
    made.sql(dim).localCheckpoint().createOrReplaceTempView("dim")
    yield made
    for name in TABLES:
        made.catalog.dropTempView(name)


@pytest.fixture
def tpcds(spark: SparkSession) -> Iterator[SparkSession]:
    """With the tables of TPC-DS as temporary views without rows."""
    made = spark.newSession()
    for table in OF_TPCDS:
        shape = ", ".join(f"{c} {t}" for c, t in columns(table).items())
        made.createDataFrame([], shape).createOrReplaceTempView(table)
    yield made
    for table in OF_TPCDS:
        made.catalog.dropTempView(table)


def analysed(frame: DataFrame) -> Any:
    session: Any = frame
    return session._jdf.queryExecution().analyzed()


def read(spark: SparkSession, text: str, tables: Mapping[str, PlanSource] = TABLES) -> Rel:
    document = read_query_document(Catalyst.of(spark), text)
    return relation_of_plan(read_document(document), tables, builtin_functions(spark))


def rendered(rel: Rel) -> str:
    """With names that do not tell who read it."""

    def place(scan: Scan) -> str:
        return quote(scan.source)

    items = ", ".join(f"{quote(c)} AS c{i}" for i, c in enumerate(rel.columns))
    return f"SELECT {items} FROM ({Renderer(place)(rel)})"


def form(spark: SparkSession, text: str) -> Any:
    """None where there is none."""
    try:
        return optimized_form(spark, analysed(spark.sql(text)))
    except NoForm:
        return None


def differing_rows(spark: SparkSession, one: str, other: str) -> int:
    rows = (Counter(str(tuple(r)) for r in spark.sql(t).collect()) for t in (one, other))
    left, right = rows
    return ((left - right) + (right - left)).total()


def compared(
    spark: SparkSession, queries: Mapping[str, str], tables: Mapping[str, PlanSource]
) -> Mapping[str, str]:
    """How the relation that was read differs, by query: "" where Spark plans it as the text."""
    found = {}
    for name, text in queries.items():
        try:
            made = rendered(read(spark, text, tables))
        except Refused as e:
            found[name] = e.reason.sentence
            continue
        kinds, wanted = ([f.dataType for f in spark.sql(t).schema.fields] for t in (made, text))
        if kinds != wanted:
            found[name] = f"{kinds} for {wanted}"
            continue
        own = form(spark, made)
        found[name] = "" if own is not None and own == form(spark, text) else "form"
    return found


def test_every_query_is_read_with_its_types(session: SparkSession) -> None:
    """Most have the form of Spark's plan of the text too; rows are compared below."""
    found = compared(session, QUERIES, TABLES)
    assert set(found.values()) <= {"", "form"}, found
    assert list(found.values()).count("") > len(QUERIES) // 2


@pytest.mark.parametrize("names", [SAMPLE, nightly(())], ids=["some", "all"])
def test_texts_of_tpcds_are_read(tpcds: SparkSession, names: Sequence[str]) -> None:
    """None is refused or has other types, and of most the form is that of Spark's plan."""
    texts = tpcds_texts()
    tables = {t: PlanSource(t, tuple(columns(t)), None, ()) for t in OF_TPCDS}
    found = compared(tpcds, {n: texts[n] for n in names or texts}, tables)
    assert set(found.values()) <= {"", "form"}, found
    assert sum(d == "form" for d in found.values()) <= OTHER_FORMS


@pytest.mark.parametrize("name", some(4, sorted(OTHERWISE - SETTLED)))
def test_rows_are_those_of_spark(session: SparkSession, name: str) -> None:
    assert not differing_rows(session, rendered(read(session, QUERIES[name])), QUERIES[name])


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(QUERIES) - OTHERWISE - SETTLED - {"pattern"}))
def test_all_rows_are_those_of_spark(session: SparkSession, name: str) -> None:
    """But of `pattern`, which has a map: maps do not compare."""
    test_rows_are_those_of_spark(session, name)


@pytest.mark.nightly
@pytest.mark.parametrize("text", MORE)
def test_rows_of_more_texts_are_those_of_spark(session: SparkSession, text: str) -> None:
    assert not differing_rows(session, rendered(simplify(read(session, text))), text)


@pytest.mark.parametrize(("text", "operator"), REPLACED.items())
def test_what_is_computed_below_is_no_call_of_a_row(
    session: SparkSession, text: str, operator: type[Rel]
) -> None:
    found = read(session, text)
    assert operator in map(type, walk(found))
    above = [e for n in walk(found) if isinstance(n, Project) for _, e in n.items]
    above += [e for n in walk(found) if isinstance(n, Filter) for e in n.on]
    assert not [e for e in above if re.search(r"(?i)\b(over|sum|max|count) ?\(", e.sql(str))]
    own = rendered(simplify(found))
    assert not differing_rows(session, own, text)
    documents = (read_query_document(Catalyst.of(session), t) for t in (text, own))
    assert find_lost(*map(read_document, documents)) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT DISTINCT k, rand() AS r FROM p", "NON_DETERMINISTIC"),
        ("SELECT id, current_date() AS d FROM p", "CONTEXT_FUNCTION"),
        ("SELECT * FROM (SELECT id FROM p ORDER BY v LIMIT 9) LIMIT 3", "LIMIT"),
        ("SELECT percentile_approx(v, 0.5) AS m FROM p", "AGGREGATE"),
    ],
)
def test_what_has_no_form_is_refused_by_code(session: SparkSession, text: str, code: str) -> None:
    with pytest.raises(Refused) as e:
        read(session, text)
    assert e.value.reason.code == code


@pytest.mark.parametrize(
    ("kind", "instead", "name"),
    [
        ("LeftSemi", "LeftAnti", "semi_join"),
        ("LeftOuter", "Inner", "left_join"),
        ("FullOuter", "LeftOuter", "full_join"),
    ],
)
def test_a_join_that_is_read_as_another_one_is_seen(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str, instead: str, name: str
) -> None:
    monkeypatch.setitem(relation_reader._JOINS, kind, relation_reader._JOINS[instead])
    text = QUERIES[name]
    own = rendered(read(session, text))
    assert form(session, own) != form(session, text)
    assert differing_rows(session, own, text)
