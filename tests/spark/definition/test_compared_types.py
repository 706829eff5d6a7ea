"""Values of two types, and texts of two collations, are compared as Spark compares them, whatever
compares them, with ANSI on and off. The oracle is Spark's own answer to the same text, before and
after changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest

from tests.spark.engine_lab import Lab, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "id INT, i INT, l BIGINT, s STRING, d DATE, e STRING, t TIMESTAMP, n DECIMAL(9, 2), f DOUBLE, "
    "g FLOAT, b BOOLEAN, c STRING, u STRING"
)
"""`s` holds numbers, `e` days, `c` and `u` what collations compare: Delta stores none of them."""
_FOLDED = "SELECT id, c COLLATE UTF8_LCASE AS c, u COLLATE UNICODE_CI AS u FROM"
A = (
    "1, 1, 1, '1', DATE'2024-01-01', '2024-01-01', TIMESTAMP'2024-01-01', 1.00, 1, 1, true, 'ab', "
    "'ab'",
    "2, 2, 2, '02', DATE'2024-01-02', '2024-1-2', TIMESTAMP'2024-01-02 10:00:00', 0.10, 0.1, 0.1, "
    "false, 'AB', 'É'",
)
B = (
    "1, 2, 1, '01', DATE'2024-01-02', '2024-01-02', TIMESTAMP'2024-01-02', 2.00, 2, 2, true, "
    "'Ab', 'aB'",
    "2, NULL, 3, ' 1 ', NULL, NULL, NULL, 0.10, 0.1, 0.1, NULL, 'x', 'é'",
)
CHANGES = (
    "INSERT INTO a VALUES (3, 3, 2147483648, '3', DATE'2024-01-03', ' 2024-01-03', "
    "TIMESTAMP'2024-01-03', 3.00, 3, 3, NULL, 'aB', 'Ab'), "
    "(4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL); "
    "INSERT INTO b VALUES (3, 1, 2, '2', DATE'2024-01-03', '2024-01-01', "
    "TIMESTAMP'2024-01-01', 1.00, 1, 1, false, 'AB', 'AB')",
    "DELETE FROM a WHERE id = 1; "
    "UPDATE b SET i = 2, s = '3', e = '2024-01-03', c = 'q' WHERE id = 2",
)
MIXED = (
    ("i", "s"), ("s", "i"), ("d", "e"), ("e", "d"), ("n", "f"), ("t", "d"), ("d", "t"), ("n", "s"),
)  # fmt: skip
COLLATED = (("c", "c"), ("u", "u"))


_One = Callable[[str, str], str]


def union(pairs: Iterable[tuple[str, str]], one: _One) -> str:
    """One query for all pairs of columns."""
    return " UNION ALL ".join(
        f"SELECT '{p} {q}' AS w, CAST(x AS STRING) AS x, CAST(y AS STRING) AS y FROM ({one(p, q)})"
        for p, q in pairs
    )


def lists(p: str, q: str) -> str:
    given = {
        "s": "'1', '02', ' 3'", "i": "1, 2", "d": "DATE'2024-01-01'", "n": "1.00, 0.10",
        "e": "'2024-01-01', ' 2024-1-2'", "f": "1D, 0.1D", "g": "1F, 0.1F", "l": "1L, 2L",
        "t": "TIMESTAMP'2024-01-02'", "c": "'AB', 'x'", "u": "'Ab', 'é'",
    }[q]  # fmt: skip
    return f"SELECT id AS x, {p} NOT IN ({given}) AS y FROM a"


def case(p: str, q: str) -> str:
    return (
        f"SELECT a.id AS x, CASE a.{p} WHEN b.{q} THEN b.id END AS y FROM a JOIN b ON a.id = b.id"
    )


def using(p: str, q: str) -> str:
    return (
        f"SELECT x, y FROM (SELECT id AS x, {p} AS k FROM a) "
        f"JOIN (SELECT id AS y, {q} AS k FROM b) USING (k)"
    )


def set_of(words: str) -> _One:
    def one(p: str, q: str) -> str:
        rows = f"SELECT {p} AS v FROM a {words} SELECT {q} FROM b"
        return f"SELECT lower(CAST(v AS STRING)) AS x, 0 AS y FROM ({rows})"

    return one


SHAPES: dict[str, _One] = {
    "in_list": lists,
    "in_query": lambda p, q: f"SELECT id AS x, 0 AS y FROM a WHERE {p} IN (SELECT {q} FROM b)",
    "not_in": lambda p, q: (
        f"SELECT id AS x, 0 AS y FROM a WHERE {p} NOT IN (SELECT {q} FROM b WHERE {q} IS NOT NULL)"
    ),
    "joined": lambda p, q: f"SELECT a.id AS x, b.id AS y FROM a JOIN b ON a.{p} = b.{q}",
    "outer": lambda p, q: f"SELECT a.id AS x, b.id AS y FROM a LEFT JOIN b ON a.{p} = b.{q}",
    "exists": lambda p, q: (
        f"SELECT id AS x, 0 AS y FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.{q} = a.{p})"
    ),
    "using": using,
    "case": case,
    "except": set_of("EXCEPT"),
    "intersect": set_of("INTERSECT"),
    "union": set_of("UNION"),
}

PAIRS = {"mixed": MIXED, "collated": COLLATED}


def asked(shape: str, kind: str) -> str:
    """The query of all pairs of a kind; for texts of collations over tables that have them."""
    query = union(PAIRS[kind], SHAPES[shape])
    if kind == "mixed":
        return query
    folded = re.sub(r"\b([ab])\b", r"f\1", query)
    return f"WITH fa AS ({_FOLDED} a), fb AS ({_FOLDED} b) {folded}"


FULL = {(shape, "collated"): "UNSTORABLE" for shape in ("except", "intersect", "union")}
"""Those that are FULL, and the code of why: they would keep values that no Delta table takes."""
AT_EACH_CHANGE = ("in_query", "except")


@pytest.fixture
def tables(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Nothing is FULL because a check at creation found it out."""
    without_check(monkeypatch)
    lab = quick_lab
    lab.table("a", COLUMNS, *A)
    lab.table("b", COLUMNS, *B)
    return lab


def compared(
    lab: Lab, spark: SparkSession, shapes: Iterable[str], kind: str, modes: Iterable[bool]
) -> None:
    """All definitions, with ANSI on or off, after each change; all that is wrong is told."""
    queries: dict[str, tuple[str, bool]] = {}
    wrong: list[tuple[object, ...]] = []
    for ansi in modes:
        lab.sql(f"SET spark.sql.ansi.enabled = {str(ansi).lower()}")
        for shape in shapes:
            name = f"{shape}_{'ansi' if ansi else 'plain'}"
            query = asked(shape, kind)
            lab.dynamic_table(name, query)
            queries[name] = query, ansi
            said = FULL.get((shape, kind), "")
            found = lab.why(name) if lab.mode(name) == "FULL" else ""
            if found != said:
                wrong.append((name, found, str(lab.engine.table(name).mode_reason)))
    for change in ("", *CHANGES):
        lab.sql(change)
        for name, (query, ansi) in queries.items():
            spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
            action = lab.refresh(name) if change else "NO_DATA"
            full = lab.mode(name) == "FULL"
            if action not in (("FULL",) if full and change else ("INCREMENTAL", "NO_DATA")):
                wrong.append((name, action, str(lab.engine.records(name, 1)[0].reason)))
            wanted = sorted((tuple(r) for r in spark.sql(query).collect()), key=repr)
            if (rows := lab.rows(name)) != wanted:
                wrong.append(
                    (
                        name,
                        change,
                        [r for r in rows if r not in wanted],
                        [r for r in wanted if r not in rows],
                    )
                )
    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.nightly
def test_some_ways_to_compare(tables: Lab, spark: SparkSession) -> None:
    compared(tables, spark, AT_EACH_CHANGE, "mixed", [True])


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "plain"])
@pytest.mark.parametrize("kind", PAIRS)
def test_all_ways_to_compare(tables: Lab, spark: SparkSession, kind: str, ansi: bool) -> None:
    compared(tables, spark, SHAPES, kind, [ansi])
