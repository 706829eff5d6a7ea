"""What is evaluated in the process has the rows that Spark gives, and their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pytest
import sqlglot
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from sqlglot import exp

from dt_jupyter.evaluation import Evaluator, LocalRows, exact, groups, kinds, scalars, value_kind
from dt_jupyter.spark import arrow_frame, confs
from tests.cases import some
from tests.spark.evaluation.random_statements import COLUMNS, Expressions, edge_rows

ROWS, EXPRESSIONS = 40, 160
AS_A_RELATION = {
    "a join by commas": "SELECT a.k, a.d, b.s FROM a, b WHERE a.k = b.k AND a.i < b.l",
    "a left join": "SELECT a.k, a.s, b.e FROM a LEFT JOIN b ON a.s = b.u AND b.d > 0",
    "a left join by nothing": "SELECT a.k, b.e FROM a LEFT JOIN b ON TRUE",
    "a semi join": "SELECT a.* FROM a LEFT SEMI JOIN b ON a.d <=> b.d",
    "an anti join": "SELECT a.k, a.i FROM a LEFT ANTI JOIN b ON a.i = b.i",
    "an anti join that takes NULLs": "SELECT a.k, a.i FROM a LEFT ANTI JOIN b ON a.i <=> b.i",
    "a union": "SELECT k AS x, d, +1 AS w FROM a UNION ALL SELECT l, e, -1 FROM b",
    "nested unions": "SELECT x FROM (SELECT k AS x FROM a UNION ALL (SELECT i FROM b UNION ALL "
    "SELECT l FROM b)) WHERE x > 0",
    "groups": "SELECT k, s, SUM(d) a, COUNT(*) n, MIN(y) b, MAX(s) c FROM a GROUP BY k, s",
    "groups by NULLs": "SELECT s, b, SUM(t) v FROM a GROUP BY s, b HAVING COUNT(*) > 1",
    "distinct rows": "SELECT d FROM (SELECT d FROM a UNION ALL SELECT d FROM b) GROUP BY d",
    "one group of nothing": "SELECT COUNT(*) n, SUM(e) s, MIN(s) m FROM a WHERE FALSE",
    "no group of nothing": "SELECT k, COUNT(*) n FROM a WHERE FALSE GROUP BY k",
    "first rows": "SELECT k, s, i FROM a ORDER BY s DESC, i, k LIMIT 7",
    "first rows, NULLs first": "SELECT i, k FROM a ORDER BY i, k LIMIT 9 OFFSET 2",
    "first rows of dates": "SELECT y, d, k FROM a t ORDER BY y DESC, d DESC, k LIMIT 11",
    "names that differ in case": "SELECT a.`k` AS x, b.`K` AS y FROM (SELECT k, i FROM a) a, "
    "(SELECT k AS `K` FROM b) b WHERE a.`k` = b.`K`",
    "a star with a hint": "SELECT /*+ BROADCAST(q) */ q.*, q.x AS y FROM "
    "(SELECT *, XXHASH64(i, s) AS x FROM a) q",
}


@dataclass
class Bench:
    """The same rows under the same names in Spark and in the process."""

    spark: SparkSession
    views: dict[str, LocalRows]
    evaluator: Evaluator

    def evaluated(self, text: str) -> pa.Table | None:
        return self.evaluator(text, self.views)


@pytest.fixture(scope="module")
def bench(spark: SparkSession) -> Iterator[Bench]:
    views = {}
    for name, seed in (("a", 1), ("b", 2)):
        rows = edge_rows(Random(seed), ROWS)
        types = {"k": "int", **{n: t for n, (t, _, _) in COLUMNS.items()}}
        views[name] = LocalRows(rows, tuple((n, value_kind(t)) for n, t in types.items()))
        schema = StructType.fromDDL(", ".join(f"{n} {t}" for n, t in types.items()))
        arrow_frame(spark, rows, schema).createOrReplaceTempView(name)
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    told = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}
    with confs(spark, {**quick, **told}):
        yield Bench(spark, views, Evaluator(10 * ROWS))
    for name in views:
        spark.catalog.dropTempView(name)


def plain(values: pa.ChunkedArray) -> list[str]:
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())  # Python has no year 10000
    return [repr(v) for v in values.to_pylist()]


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(map(repr, zip(*(plain(c) for c in rows.columns), strict=True)))


def from_spark(spark: SparkSession, items: Sequence[str], rest: str) -> list[pa.Table | str]:
    """What Spark gives for each item, or its error."""
    listed = ", ".join(f"{e} AS c{i}" for i, e in enumerate(items))
    try:
        rows = spark.sql(f"SELECT k, {listed} FROM a {rest}").toArrow()
        return [rows.select(["k", f"c{i}"]).rename_columns(["k", "c"]) for i in range(len(items))]
    except Exception as e:
        if len(items) == 1:
            return [str(e)[:200]]
    half = len(items) // 2
    return [*from_spark(spark, items[:half], rest), *from_spark(spark, items[half:], rest)]


def differences(
    bench: Bench, items: Sequence[str], answers: Sequence[object], rest: str
) -> list[str]:
    """The items of which the evaluation has other rows or types than Spark."""
    wrong = []
    for item, answer in zip(items, answers, strict=True):
        rows = bench.evaluated(f"SELECT k, {item} AS c FROM a {rest}")
        if rows is None:
            continue
        if not isinstance(answer, pa.Table):
            wrong.append(f"{item}: Spark fails: {answer}")
        elif rows.schema.types != answer.schema.types:
            wrong.append(f"{item}: {rows.schema.types} for {answer.schema.types}")
        elif bag(rows) != bag(answer):
            some_of = list((bag(rows) - bag(answer)).items())[:2]
            wrong.append(f"{item}: {some_of} for {list((bag(answer) - bag(rows)).items())[:2]}")
    return wrong


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", some(1, range(40)))
def test_expressions_are_as_sparks(bench: Bench, seed: int, ansi: str) -> None:
    drawn = Expressions(Random(f"expressions {seed}"))
    items = [drawn.any(drawn.random.randrange(1, 4)) for _ in range(EXPRESSIONS)]
    items += [drawn.hash() for _ in range(10)]
    known = [e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a ") is not None]
    assert len(known) > EXPRESSIONS / 4, "too few are evaluated: this would show little"
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    wrong = differences(bench, known, from_spark(bench.spark, known, ""), "")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", some(1, range(40)))
def test_aggregates_are_as_sparks(bench: Bench, seed: int, ansi: str) -> None:
    drawn = Expressions(Random(f"aggregates {seed}"))
    items = [drawn.aggregate() for _ in range(EXPRESSIONS // 4)]
    known = [
        e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a GROUP BY k") is not None
    ]
    assert len(known) > EXPRESSIONS / 20, "too few are evaluated: this would show little"
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    rest = "GROUP BY k"
    wrong = differences(bench, known, from_spark(bench.spark, known, rest), rest)
    assert not wrong, "\n".join(wrong)


def test_the_whole_list_is_compared(bench: Bench) -> None:
    found: set[type[exp.Expr]] = set()
    drawn = Expressions(Random("the whole list"))
    wanted = set(groups.GROUPED) - {exp.First, exp.AnyValue}  # which one is open without an order
    for _ in range(20 * EXPRESSIONS):
        item, rest = drawn.random.choice(
            ((drawn.any(3), ""), (drawn.hash(), ""), (drawn.aggregate(), "GROUP BY k"))
        )
        kinds_of = {type(n) for n in sqlglot.parse_one(item, read="spark").walk()}
        if kinds_of & wanted - found and bench.evaluated(f"SELECT k, {item} AS c FROM a {rest}"):
            found |= kinds_of
        if not wanted - found:
            break
    missing = wanted - found
    assert not missing, missing


_OVER = exact._over
TOUCHY = [
    "(e / 2.5)",
    "(d / e)",
    "(d DIV 0.7)",
    "(i DIV 3)",
    "(d <= 0.05)",
    "(h % 3)",
    "(d * d)",
    "(1 - d)",
]
"""Expressions that tell wrong rules."""
MUTANTS: dict[str, tuple[object, str, object]] = {
    "cut off, not rounded": (exact, "_rounded", lambda value, divisor: int(value / divisor)),
    "another seed": (exact, "_SEED", 41),
    "one byte more in front": (exact, "_length", lambda v: v.bit_length() // 8 + 2),
    "quotients too large by the last digit": (exact, "_over", lambda *a: _OVER(*a) + 1),
    "whole quotients rounded down": (
        exact, "_whole", lambda a, r, b, s, t: a * 10**s // (b * 10**r)
    ),
    "fewer digits kept behind the point": (kinds, "_LEAST_SCALE", 5),
    "sums without more digits": (kinds, "sum_kind", lambda k: k if k.is_decimal else kinds.BIGINT),
    "whole numbers of ten digits": (scalars, "_digits_of", lambda v: kinds.as_decimal(v.kind)),
    "NULLs equal": (
        scalars, "_COMPARISONS", {**scalars._COMPARISONS, exp.EQ: "IS NOT DISTINCT FROM"}
    ),
    "less for less or equal": (scalars, "_COMPARISONS", {**scalars._COMPARISONS, exp.LTE: "<"}),
    "LEAST for GREATEST": (scalars, "node_name", lambda node: "LEAST"),
    "texts without their quotes": (scalars, "_text", lambda text: f"'{text.upper()}'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(bench: Bench) -> dict[str, tuple[list[str], list[object]]]:
    """Spark's answers to some expressions and aggregates, by what follows FROM."""
    bench.spark.conf.set("spark.sql.ansi.enabled", "true")
    drawn = Expressions(Random("mutants"))
    items = [*TOUCHY, *(drawn.any(2) for _ in range(100)), *(drawn.hash() for _ in range(10))]
    found = {"": items, "GROUP BY k": [drawn.aggregate() for _ in range(30)]}
    known = {
        rest: [e for e in of if bench.evaluated(f"SELECT k, {e} AS c FROM a {rest}") is not None]
        for rest, of in found.items()
    }
    return {rest: (of, from_spark(bench.spark, of, rest)) for rest, of in known.items()}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_rule_is_seen(
    bench: Bench,
    answers: dict[str, tuple[list[str], list[object]]],
    monkeypatch: pytest.MonkeyPatch,
    mutant: str,
) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    mutated = Bench(bench.spark, bench.views, Evaluator(10 * ROWS))
    assert any(differences(mutated, of, told, rest) for rest, (of, told) in answers.items())


@pytest.mark.parametrize("text", AS_A_RELATION.values(), ids=AS_A_RELATION)
def test_relations_are_as_sparks(bench: Bench, text: str) -> None:
    bench.spark.conf.set("spark.sql.ansi.enabled", "true")
    rows, answer = bench.evaluated(text), bench.spark.sql(text).toArrow()
    assert rows is not None, bench.evaluator.translated(text, bench.views)
    assert rows.schema.types == answer.schema.types
    assert bag(rows) == bag(answer)
