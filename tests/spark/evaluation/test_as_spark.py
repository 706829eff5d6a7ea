"""What is evaluated in the process has the rows that Spark gives, and their types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from dt_jupyter.evaluation import (
    Evaluator,
    LocalRows,
    arithmetic,
    exact,
    kinds,
    literals,
    scalars,
    value_kind,
    windows,
)
from dt_jupyter.evaluation.groups import GROUPED
from dt_jupyter.ivm import (
    STAR,
    Call,
    Element,
    Expr,
    Infix,
    Literal,
    Postfix,
    Prefix,
    Raw,
    Reference,
    Refused,
    SortOrder,
    case,
    col,
    walk_expression,
)
from dt_jupyter.lake import LocalViews
from dt_jupyter.model import quote
from dt_jupyter.plans import NoForm, read_document, read_query_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.spark import Catalyst, arrow_frame, builtin_functions, confs
from dt_jupyter.sql import (
    AllColumns,
    Nested,
    Over,
    Query,
    Renderer,
    Select,
    SelectItem,
    Table,
    content_hash,
)
from tests.cases import some
from tests.queries import select
from tests.spark.evaluation.random_statements import COLUMNS, Expressions, edge_rows

ROWS, EXPRESSIONS = 40, 160
HASHES = "{} AS h1, {} AS h2".format(*content_hash((n, t) for n, (t, _, _) in COLUMNS.items()))
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
    "a join by floats": "SELECT a.k, b.k AS l FROM a, b WHERE a.o = b.o AND a.p = b.p",
    "a semi join by floats": "SELECT a.k, a.o FROM a LEFT SEMI JOIN b ON a.o <=> b.o",
    "doubles beside decimals": "SELECT q AS x FROM a UNION ALL SELECT f FROM b",
    "distinct rows": "SELECT d FROM (SELECT d FROM a UNION ALL SELECT d FROM b) GROUP BY d",
    "one group of nothing": "SELECT COUNT(*) n, SUM(e) s, MIN(s) m FROM a WHERE FALSE",
    "no group of nothing": "SELECT k, COUNT(*) n FROM a WHERE FALSE GROUP BY k",
    "first rows": "SELECT k, s, i FROM a ORDER BY s DESC, i, k LIMIT 7",
    "first rows, NULLs first": "SELECT i, k FROM a ORDER BY i, k LIMIT 9 OFFSET 2",
    "first rows of dates": "SELECT y, d, k FROM a t ORDER BY y DESC, d DESC, k LIMIT 11",
    "names that differ in case": "SELECT a.`k` AS x, b.`K` AS y FROM (SELECT k, i FROM a) a, "
    "(SELECT k AS `K` FROM b) b WHERE a.`k` = b.`K`",
    "columns that change their names": "SELECT s AS i, x AS s, i AS k FROM (SELECT k AS x, i AS s, "
    "s AS i FROM (SELECT i, s, k FROM a))",
    "one view twice": "SELECT x.k, y.s, y.d, x.d AS e FROM a x, (SELECT k AS l, * FROM a) y "
    "WHERE x.k = y.r",
    "the hash of rows": f"SELECT *, {HASHES} FROM (SELECT {', '.join(COLUMNS)}, k FROM a)",
    "the hash of rows that are not there": "SELECT a.k, b.s, XXHASH64('dt', b.i, b.s) AS h, "
    "XXHASH64(a.i, a.s) AS g FROM a LEFT JOIN b ON a.k = b.i",
    "the hash of both": "SELECT XXHASH64(a.i, b.s) AS h, a.s FROM a, b WHERE a.k = b.k",
    "a mask that is none": "SELECT XXHASH64(CONCAT(CASE WHEN s IS NOT NULL THEN '1' ELSE '0' END, "
    "CASE WHEN i IS NULL THEN '0' ELSE '1' END), s) AS h FROM a",
    "a chain of conditions": "SELECT k FROM a WHERE "
    + " AND ".join(f"i <> {n}" for n in range(600)),
}


def first(name: str) -> Call:
    return Call("FIRST", (col(name),))


COUNT = Call("COUNT", (STAR,))
A, K, X = Table("a"), col("k"), Reference("q", "x", "x")
NAMED = select(A, k=K, s=col("s"), d=col("d"), l=col("i"), i=col("i"))
HASHED = SelectItem(Call("XXHASH64", (col("i"), col("s"))), "x", "x")
ERROR = case(Infix(K, "<", Literal("-9")), Call("RAISE_ERROR", (Literal("'x'"),)))
OURS: dict[str, Query] = {
    "firsts": replace(
        select(
            Nested(NAMED), keys=(K,), k=K, f=first("s"), g=first("d"), h=first("l"),
            t=Call("SUM", (col("i"),)),
        ),
        having=Infix(COUNT, ">", Literal("1")),
    ),
    "an error that is not met": select(A, k=K, r=Call("COALESCE", (K, ERROR))),
    "conditions": select(
        A, Infix(K, "<>", Literal("1")), k=K,
        d=Infix(col("i"), "IS DISTINCT FROM", col("l")),
        n=Infix(col("s"), "IS NOT DISTINCT FROM", col("u")),
    ),
    "a star with a hint": Select(
        (AllColumns("q"), SelectItem(X, "y", "y")), Nested(Select((AllColumns(), HASHED), A), "q"),
        hint="BROADCAST(q)",
    ),
}  # fmt: skip
"""Statements that no query of a user's is."""


@dataclass
class Bench:
    """The same rows under the same names in Spark and in the process."""

    spark: SparkSession
    views: dict[str, LocalRows]
    evaluator: Evaluator
    _read: dict[tuple[str, str | None], Query | None] = field(default_factory=dict)

    def query(self, text: str) -> Query | None:
        """As a refresh has it: by Spark's plan; None where that has no form."""
        key = text, self.spark.conf.get("spark.sql.ansi.enabled")
        if key not in self._read:
            self._read[key] = self._query(text)
        return self._read[key]

    def _query(self, text: str) -> Query | None:
        tables = {
            n: PlanSource(n, tuple(c for c, _ in v.shape), None, ()) for n, v in self.views.items()
        }
        try:
            plan = read_document(read_query_document(Catalyst.of(self.spark), text))
            rel = relation_of_plan(plan, tables, builtin_functions(self.spark))
        except (Refused, NoForm, AnalysisException):
            return None
        return Renderer(lambda scan: quote(scan.source)).query(rel)

    def evaluated(self, text: str, *, is_utc: bool = True) -> pa.Table | None:
        query = self.query(text)
        return None if query is None else self.evaluator(query, self.views, is_utc=is_utc)


@pytest.fixture(scope="module")
def bench(spark: SparkSession) -> Iterator[Bench]:
    views = {}
    for name, seed in (("a", 1), ("b", 2)):
        rows = edge_rows(Random(seed), ROWS)
        types = {"k": "int", "r": "int", **{n: t for n, (t, _, _) in COLUMNS.items()}}
        views[name] = LocalRows(rows, tuple((n, value_kind(t)) for n, t in types.items()))
        schema = StructType.fromDDL(", ".join(f"{n} {t}" for n, t in types.items()))
        arrow_frame(spark, rows, schema).createOrReplaceTempView(name)
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    told = {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.leafNodeDefaultParallelism": "1",
    }  # so that rows keep their order
    with confs(spark, {**quick, **told}):
        yield Bench(spark, views, Evaluator(10 * ROWS))
    for name in views:
        spark.catalog.dropTempView(name)


def plain(values: pa.ChunkedArray) -> list[str]:
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        values = values.cast(f"int{values.type.bit_width}")  # Python has no year 10000
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
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    known = [e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a ") is not None]
    assert len(known) > EXPRESSIONS / 4, "too few are evaluated: this would show little"
    wrong = differences(bench, known, from_spark(bench.spark, known, ""), "")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", some(1, range(40)))
def test_aggregates_are_as_sparks(bench: Bench, seed: int, ansi: str) -> None:
    drawn = Expressions(Random(f"aggregates {seed}"))
    items = [drawn.aggregate() for _ in range(EXPRESSIONS // 4)]
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    known = [
        e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a GROUP BY k") is not None
    ]
    assert len(known) > EXPRESSIONS / 20, "too few are evaluated: this would show little"
    rest = "GROUP BY k"
    wrong = differences(bench, known, from_spark(bench.spark, known, rest), rest)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "item", ["SUM(o)", "AVG(o)", "SUM(q)", "AVG(q)", "SUM(q * d)", "AVG(1 / q)"]
)
def test_sums_of_doubles_are_near(bench: Bench, item: str) -> None:
    text = f"SELECT g, {item} AS c FROM (SELECT r % 9 AS g, o, q, d FROM a) GROUP BY g"
    found, told = bench.evaluated(text), bench.spark.sql(text).toArrow()
    assert found is not None
    mine, sparks = (
        dict(zip(*(c.to_pylist() for c in t.columns), strict=True)) for t in (found, told)
    )
    assert mine == pytest.approx(sparks, rel=1e-12, nan_ok=True)
    over = f"SELECT {item} OVER (PARTITION BY k) AS c FROM a"
    assert bench.evaluated(over) is None


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("seed", some(1, range(40)))
def test_windows_are_as_sparks(bench: Bench, seed: int, ansi: str) -> None:
    drawn = Expressions(Random(f"windows {seed}"))
    items = [drawn.window() for _ in range(EXPRESSIONS // 2)]
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    known = [e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a ") is not None]
    assert len(known) > EXPRESSIONS / 10, "too few are evaluated: this would show little"
    wrong = differences(bench, known, from_spark(bench.spark, known, ""), "")
    assert not wrong, "\n".join(wrong)


_LEFT_OUT = {Element, Raw, SortOrder}
_OPEN = {"first", "any_value"}
"""Which value it is, is told by an order alone."""


def rules_met(query: Query) -> Iterator[type[Expr] | str]:
    """The rules by which a query is evaluated: classes of nodes, functions and operators."""
    for e in expressions_in(query):
        for node in walk_expression(e):
            yield type(node)
            if isinstance(node, Call):
                yield node.function
            if isinstance(node, Infix | Prefix | Postfix):
                yield node.op


def expressions_in(query: Query) -> Iterator[Expr]:
    """Those of a SELECT, and of what is nested in it."""
    assert isinstance(query, Select)
    yield from (e for e in (query.where, query.having, *query.keys) if e is not None)
    for item in query.items:
        if isinstance(item, SelectItem):
            value = item.value
            yield from (value.function,) if isinstance(value, Over) else (value,)
    if isinstance(query.source, Nested):
        yield from expressions_in(query.source.query)


def test_the_whole_list_is_compared(bench: Bench) -> None:
    bench.spark.conf.set("spark.sql.ansi.enabled", "true")
    found: set[type[Expr] | str] = set()
    drawn = Expressions(Random("the whole list"))
    wanted: set[type[Expr] | str] = {*scalars.SCALARS.nodes, *GROUPED.calls, *windows.WINDOWED}
    wanted |= scalars._OPERATORS.keys()
    for query in OURS.values():
        found |= set(rules_met(query))
    wanted -= _LEFT_OUT | _OPEN
    for _ in range(20 * EXPRESSIONS):
        item, rest = drawn.random.choice(
            (
                (drawn.any(3), ""),
                (drawn.hash(), ""),
                (drawn.window(), ""),
                (drawn.aggregate(), "GROUP BY k"),
            )
        )
        made = bench.query(f"SELECT k, {item} AS c FROM a {rest}")
        if made is None or not set(rules_met(made)) - found:
            continue
        if bench.evaluator(made, bench.views, is_utc=True) is not None:
            found |= set(rules_met(made))
        if not wanted - found:
            break
    missing = wanted - found
    assert not missing, missing


def in_both_cases() -> Query:
    upper, lower = (Call(f, (col("x"),)) for f in ("UPPER", "LOWER"))
    return select(Table("letters"), x=col("x"), u=upper, l=lower)


def test_the_cases_of_all_letters(bench: Bench) -> None:
    letters = [chr(c) for c in range(1, exact._CASED) if chr(c) not in exact._OTHER_CASES]
    rows = pa.table({"x": [*letters, *(f"a{c}Z" for c in letters)]})
    arrow_frame(bench.spark, rows).createOrReplaceTempView("letters")
    query, views = in_both_cases(), {"letters": LocalRows(rows, (("x", kinds.STRING),))}
    found = Evaluator(10_000)(query, views, is_utc=True)
    told = bench.spark.sql(query.sql).toArrow()
    bench.spark.catalog.dropTempView("letters")
    assert found is not None
    assert bag(found) == bag(told)


@pytest.mark.parametrize("letter", ["\u0130", "\u0149", "Σ", "ﬁ"])
@pytest.mark.parametrize("function", ["UPPER", "LOWER"])
def test_other_letters_are_sparks(letter: str, function: str) -> None:
    views = {"letters": LocalRows(pa.table({"x": [letter]}), (("x", kinds.STRING),))}
    query = select(Table("letters"), c=Call(function, (col("x"),)))
    assert Evaluator(10)(query, views, is_utc=True) is None


def test_local_time_in_another_zone_is_sparks(bench: Bench) -> None:
    items = ["hour(v)", "TO_DATE(v)", "DATE_TRUNC('DAY', v)", "year(w)", "DATEDIFF(v, y)"]
    for item in items:
        text = f"SELECT {item} AS c FROM a"
        assert bench.evaluated(text) is not None
        assert bench.evaluated(text, is_utc=False) is None
    assert bench.evaluated("SELECT hour(n) AS c FROM a", is_utc=False) is not None


OVERFLOWS = ["(l + 1 > 5)", "(l - 1 < 5)", "((- l) BETWEEN 1 AND 30)", "(i * 2 < 7)", "(t + t = 4)",
             "(7 - l >= 1)", "(h * 2 IN (6, 7))", "(m * 10 > 5)", "(ABS(l) > 3)"]  # fmt: skip


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_an_overflow_is_seen_in_a_comparison(bench: Bench, ansi: str) -> None:
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    wrong = differences(bench, OVERFLOWS, from_spark(bench.spark, OVERFLOWS, ""), "")
    assert not wrong, "\n".join(wrong)


WITHOUT_BRACKETS = [
    "'1' || k + 1", "k - 1 || r", "1 + k || '2'", "s || k * 2", "k + 1 * r - k", "k - r - k",
    "k * r % 7 * 2", "k DIV 2 * 3 % 4", "- k % 3", "7 % - k", "NOT k = r", "NOT b OR b AND k > 2",
    "k > r = b", "b = k > r", "b < b = b", "k = r IS NULL", "b = b IS NULL", "b = b IN (true)",
    "k = r = b", "k BETWEEN 1 AND 5 AND b", "b = k BETWEEN 1 AND 5", "k <=> r = b",
    "k % 2 = 0 = b", "k + 1 > 2 AND k - 1 < 5 OR b", "CASE WHEN b THEN k ELSE r END + 1",
    "b AND s LIKE 'a%' OR NOT b", "s LIKE 'a' || '%'", "s || 'x' = 'ax' = b", "k - - r", "- - k",
]  # fmt: skip


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_operators_bind_as_sparks(bench: Bench, ansi: str) -> None:
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    items = WITHOUT_BRACKETS
    known = [e for e in items if bench.evaluated(f"SELECT k, {e} AS c FROM a ") is not None]
    assert len(known) > 0.6 * len(items), set(items) - set(known)
    wrong = differences(bench, items, from_spark(bench.spark, items, ""), "")
    assert not wrong, "\n".join(wrong)


WIDE = [
    f"({a} {operator} {b})"
    for a, b in (
        ("CAST(e AS DECIMAL(36,2))", "(CAST(e AS DECIMAL(28,6)) + 0.000001)"),
        ("CAST(d AS DECIMAL(36,2))", "(CAST(d AS DECIMAL(38,6)) + 0.00005)"),
        ("g", "(f + 0.00004)"), ("m", "(d / 2)"), ("m", "f"),
    )
    for operator in ("=", "<", "<=", "<=>", "<>", "IN (1.5, ")
]  # fmt: skip
WIDE = [f"{e}))" if "IN (" in e else e for e in WIDE]
WIDE += [call.format(a, b) for a, b in (("g", "f"), ("m", "f"), ("m", "d"), ("g", "m"))
         for call in ("COALESCE({}, {})", "LEAST({}, {})", "NULLIF({}, {})",
                      "CASE WHEN b THEN {} ELSE {} END", "({} BETWEEN {} AND 7)")]  # fmt: skip
WIDE += ["COALESCE(i, CASE WHEN i IS NOT NULL THEN RAISE_ERROR('x') END)",
         "COALESCE(d, CASE WHEN FALSE THEN RAISE_ERROR('x') ELSE NULL END, IF(b, NULL, NULL), 1)",
         "COALESCE(NULL, NULL, s)", "(COALESCE(NULL, NULL) IS NULL)"]  # fmt: skip


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_decimals_that_no_type_holds_together(bench: Bench, ansi: str) -> None:
    """Of a type with more than 38 digits those behind the point go, here too."""
    bench.spark.conf.set("spark.sql.ansi.enabled", ansi)
    known = [e for e in WIDE if bench.evaluated(f"SELECT k, {e} AS c FROM a ") is not None]
    assert len(known) > 0.8 * len(WIDE), set(WIDE) - set(known)
    wrong = differences(bench, WIDE, from_spark(bench.spark, WIDE, ""), "")
    assert not wrong, "\n".join(wrong)


_OVER, COMMON = exact._over, kinds.common
TOUCHY = [
    "(e / 2.5)",
    "(d / e)",
    "(d DIV 0.7)",
    "(i DIV 3)",
    "(d <= 0.05)",
    "(h % 3)",
    "(d * d)",
    "(1 - d)",
    "(o / 2)",
    "CAST(f AS DOUBLE)",
    "CAST(f AS INT)",
    "ROUND(f, 1)",
    "hour(v)",
    "XXHASH64(o, p)",
]
"""Expressions that tell wrong rules."""
WINDOWS = [
    "LAG(i) OVER (PARTITION BY k ORDER BY r)",
    "SUM(d) OVER (PARTITION BY k ORDER BY r)",
    "RANK() OVER (PARTITION BY k ORDER BY s)",
    "SUM(t) OVER (ORDER BY r ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "LAST_VALUE(i) OVER (PARTITION BY k ORDER BY s DESC, r)",
]
WITHOUT_FRACTIONS = exact._of_arity(
    lambda values: pa.array([v if v is None else float(int(v)) for v in values.to_pylist()]), 1
)
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
    "whole numbers of ten digits": (arithmetic, "_digits_of", lambda v: kinds.as_decimal(v.kind)),
    "NULLs equal": (
        scalars, "_COMPARISONS", {**scalars._COMPARISONS, "=": "IS NOT DISTINCT FROM"}
    ),
    "all digits behind the point kept": (
        kinds, "common", lambda a, b: kinds.decimal(38, max(a.scale, b.scale))
        if a.is_decimal and b.is_decimal and a != b else COMMON(a, b)
    ),
    "less for less or equal": (scalars, "_COMPARISONS", {**scalars._COMPARISONS, "<=": "<"}),
    "both zeros": (
        exact, "_float_bits", lambda column: column.fill_null(0.0).to_numpy().view(
            "u8" if column.type == pa.float64() else "u4")
    ),
    "another prime in a hash": (exact, "_P4", 0x85EBCA77C2B2AE65),
    "decimals as doubles without their fractions": (exact, "to_double", WITHOUT_FRACTIONS),
    "averages with fewer digits": (kinds, "average_kind", lambda k: k),
    "rounded down": (exact, "_moved", lambda v, scale, wanted: v // 10 ** max(scale - wanted, 0)),
    "LEAST for GREATEST": (scalars, "node_name", lambda node: "LEAST"),
    "windows without an order": (windows, "order_by", lambda s, order: "1"),
    "dense ranks": (windows, "_RANKS", {**windows._RANKS, "rank": "dense_rank"}),
    "frames of all rows": (
        windows, "_frame", lambda text: "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    ),
    "the next for the last": (windows, "_MOVED", {"lag": "lead", "lead": "lead"}),
    "texts without their quotes": (literals, "quoted_text", lambda text: f"'{text.upper()}'"),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(bench: Bench) -> dict[str, tuple[list[str], list[object]]]:
    """Spark's answers to some expressions and aggregates, by what follows FROM."""
    bench.spark.conf.set("spark.sql.ansi.enabled", "true")
    drawn = Expressions(Random("mutants"))
    items = [
        *TOUCHY,
        *WIDE,
        *(drawn.any(2) for _ in range(100)),
        *(drawn.hash() for _ in range(10)),
    ]
    items += [*WINDOWS, *(drawn.hash() for _ in range(10)), *(drawn.window() for _ in range(20))]
    grouped = ["AVG(d)", *(drawn.aggregate() for _ in range(30))]
    found = {"": items, "GROUP BY k": grouped}
    known = {
        rest: [e for e in of if bench.evaluated(f"SELECT k, {e} AS c FROM a {rest}") is not None]
        for rest, of in found.items()
    }
    return {rest: (of, from_spark(bench.spark, of, rest)) for rest, of in known.items()}


@pytest.mark.nightly
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
    query = bench.query(text)
    assert query is not None
    compare(bench, query, text)


@pytest.mark.parametrize("query", OURS.values(), ids=OURS)
def test_our_statements_are_as_sparks(bench: Bench, query: Query) -> None:
    compare(bench, query, query.sql)


def compare(bench: Bench, query: Query, text: str) -> None:
    rows, answer = bench.evaluator(query, bench.views, is_utc=True), bench.spark.sql(text).toArrow()
    shapes = {n: v.shape for n, v in bench.views.items()}
    assert rows is not None, bench.evaluator.translated(query, shapes, is_utc=True)
    assert rows.schema.types == answer.schema.types
    assert bag(rows) == bag(answer)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
        ("spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", "true"),
        ("spark.sql.legacy.literal.pickMinimumPrecision", "false"),
    ],
)
def test_decimals_in_another_session_are_sparks(
    quick_spark: SparkSession, name: str, value: str
) -> None:
    def count() -> pa.Table | None:
        views = LocalViews(quick_spark, Evaluator(10))
        views.add("few", pa.table({"x": [1, 2]}))
        return views.evaluate(select(Table("few"), n=COUNT))

    with confs(quick_spark, {name: value}):
        assert count() is None
    assert count() is not None
