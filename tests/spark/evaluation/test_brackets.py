"""What is evaluated without brackets is what Spark reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dt_jupyter.evaluation import LeftOut
from dt_jupyter.evaluation.brackets import require_brackets
from dt_jupyter.ivm import (
    Between,
    Bracketed,
    Expr,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    col,
    walk_expression,
)
from dt_jupyter.model import quote
from dt_jupyter.spark import confs

BOOLS, INTS, TEXTS = (tuple(map(col, names)) for names in ("bde", "ijk", "stu"))
OPERATORS = {
    **dict.fromkeys(("AND", "OR", "=", "<>", "<", "<=>", "IS DISTINCT FROM"), BOOLS),
    **dict.fromkeys(("+", "-", "*", "%", "DIV"), INTS),
    **dict.fromkeys(("||", "LIKE"), TEXTS),
}
ROWS = """SELECT * FROM VALUES (true, false, 3, 7, 2, 'a', '%', 'aa'),
(false, true, 5, -2, 9, '', 'a', 'true'), (NULL, true, 1, 1, 4, 'b', '_', 'b'),
(true, NULL, 8, 3, 5, 'true', 't%', '') AS v(b, d, i, j, k, s, t, u)
LATERAL VIEW explode(array(true, false, NULL)) x AS e"""
LEAST = 150
"""Of the expressions so many have no brackets that they need."""


def expressions() -> Iterator[Expr]:
    for (one, of), (other, among) in product(OPERATORS.items(), repeat=2):
        x, y, z = of if of is among else (of[0], among[0], of[1])
        yield Infix(Infix(x, one, z), other, among[2])
        yield Infix(among[2], other, Infix(x, one, y if of is among else z))
    for op, of in OPERATORS.items():
        inner = Infix(of[0], op, of[1])
        yield from (Postfix(inner, "IS NULL"), Prefix("NOT", inner), InList(inner, of[1:]))
        yield from (Between(of[2], inner, of[1]), Between(inner, of[2], of[0]))
        asked, negated = Postfix(of[0], "IS NULL"), Prefix("NOT", BOOLS[0])
        yield from (Infix(asked, op, BOOLS[1]), Infix(BOOLS[1], op, negated))
        yield from (Prefix("-", inner), Infix(Prefix("-", INTS[0]), op, INTS[1]))
        yield Infix(InList(INTS[0], (Literal("1"),)), op, BOOLS[0])


def with_brackets(e: Expr) -> Expr:
    return e.rewritten(lambda n: Bracketed(n) if n.children else n)


def is_whole(e: Expr) -> bool:
    try:
        for node in walk_expression(e):
            require_brackets(node)
    except LeftOut:
        return False
    return True


def test_what_needs_no_brackets_is_what_spark_reads(spark: SparkSession) -> None:
    whole = [e for e in expressions() if is_whole(e)]
    assert len(whole) > LEAST
    with confs(spark, {"spark.sql.ansi.enabled": "false"}):
        spark.sql(ROWS).createOrReplaceTempView("odd")
        typed = [e for e in whole if has_type(spark, with_brackets(e))]
        assert len(typed) > LEAST / 2
        items = [f"({e.sql(quote)}) <=> {with_brackets(e).sql(quote)}" for e in typed]
        found = spark.sql(f"SELECT {', '.join(items)} FROM odd").collect()
    assert found
    wrong = {typed[i].sql(str) for row in found for i, same in enumerate(row) if not same}
    assert not wrong


def has_type(spark: SparkSession, e: Expr) -> bool:
    try:
        spark.sql(f"SELECT {e.sql(quote)} FROM odd")
    except AnalysisException:
        return False
    return True
