"""Queries as wide and as deep as anyone writes them, over `t(k, v, s)` and `d0` … `d39`."""

from __future__ import annotations

TABLES = {"t": ("k", "v", "s"), "w": tuple(f"c{i}" for i in range(200))}
TABLES |= {f"d{i}": ("k", "k2", "name") for i in range(40)}


def _nested(depth: int, inner: str, outer: str) -> str:
    query = inner
    for i in range(depth):
        query = outer.replace("@", f"({query}) q{i}")
    return query


def _windows(depth: int) -> str:
    """Windows of windows by other partitions in turn."""
    query = "SELECT k, v, s FROM t"
    for i in range(depth):
        by = ("k", "s")[i % 2]
        query = f"SELECT k, s, sum(v) OVER (PARTITION BY {by}) v FROM ({query}) q{i}"
    return query


def _joins(n: int, kind: str) -> str:
    joins = " ".join(f"{kind} d{i} ON d{i - 1}.k2 = d{i}.k" for i in range(1, n))
    return f"SELECT d0.k{''.join(f', d{i}.name n{i}' for i in range(1, n))} FROM d0 {joins}"


def _case(n: int) -> str:
    branches = " ".join(f"WHEN v = {i} THEN {i + 1}" for i in range(n))
    return f"SELECT k, CASE {branches} ELSE 0 END c FROM t"


_COLUMNS = ", ".join(TABLES["w"])
MONSTERS = {
    "40 inner joins": _joins(40, "JOIN"),
    "40 left joins": _joins(40, "LEFT JOIN"),
    "7 full joins": _joins(7, "FULL JOIN"),
    "20 full joins": _joins(20, "FULL JOIN"),
    "comma joins": "SELECT d0.k FROM " + ", ".join(f"d{i}" for i in range(40))
    + " WHERE " + " AND ".join(f"d0.k = d{i}.k" for i in range(1, 40)),
    "cross joins": "SELECT d0.k FROM " + ", ".join(f"d{i}" for i in range(12)),
    "40 self joins": "SELECT a0.k FROM t a0 "
    + " ".join(f"JOIN t a{i} ON a{i - 1}.k = a{i}.k" for i in range(1, 40)),
    "20 left self joins": "SELECT a0.k FROM t a0 "
    + " ".join(f"LEFT JOIN t a{i} ON a{i - 1}.k = a{i}.k" for i in range(1, 20)),
    "200 columns": f"SELECT {_COLUMNS} FROM w",
    "200 sums": f"SELECT c0, {', '.join(f'sum(c{i}) s{i}' for i in range(1, 200))} FROM w"
    " GROUP BY c0",
    "200 keys": f"SELECT {_COLUMNS}, count(*) n FROM w GROUP BY {_COLUMNS}",
    "200 windows": "SELECT k, " + ", ".join(
        f"sum(v) OVER (PARTITION BY k, {i} ORDER BY v) s{i}" for i in range(200)) + " FROM t",
    "200 star": "SELECT * FROM w a JOIN w b ON a.c0 = b.c0",
    "30 subqueries": _nested(30, "SELECT k, v FROM t", "SELECT k, v + 1 AS v FROM @ WHERE v > 0"),
    "30 aggregates": _nested(30, "SELECT k, v FROM t", "SELECT k, sum(v) v FROM @ GROUP BY k"),
    "30 windows": _windows(30),
    "30 distincts": _nested(30, "SELECT k, v FROM t", "SELECT DISTINCT k, v FROM @"),
    "200 subqueries": _nested(200, "SELECT k, v FROM t", "SELECT k, v FROM @"),
    "30 IN subqueries": "SELECT k FROM t WHERE " + " AND ".join(
        f"k IN (SELECT k FROM d{i})" for i in range(30)),
    "30 EXISTS below each other": _nested(
        0, "SELECT k FROM t WHERE " + "".join(
            f"EXISTS (SELECT 1 FROM d{i} WHERE d{i}.k = {'t' if i == 0 else f'd{i - 1}'}.k AND "
            for i in range(30)) + "TRUE" + ")" * 30, ""),
    "a CASE of 1,000": _case(1_000),
    "a CASE in a CASE, 100 deep": "SELECT k, " + "CASE WHEN v > 0 THEN " * 100 + "1"
    + " ELSE 0 END" * 100 + " c FROM t",
    "500 branches": " UNION ALL ".join(["SELECT k, v FROM t"] * 500),
    "500 distinct branches": " UNION ".join(["SELECT k, v FROM t"] * 500),
    "300 branches of joins": " UNION ALL ".join(
        ["SELECT t.k, d0.name FROM t JOIN d0 ON t.k = d0.k"] * 300),
    "240 parentheses": f"SELECT k, {'(' * 240}v{')' * 240} p FROM t",
    "2,000 parentheses": f"SELECT k, {'(' * 2000}v{')' * 2000} p FROM t",
    "100 functions": f"SELECT k, {'abs(' * 100}v{')' * 100} p FROM t",
    "IN of 10,000": f"SELECT k, v FROM t WHERE v IN ({', '.join(map(str, range(10_000)))})",
    "AND of 1,000": "SELECT k FROM t WHERE " + " AND ".join(f"v <> {i}" for i in range(1_000)),
    "OR of 3,000": "SELECT k FROM t WHERE " + " OR ".join(f"v = {i}" for i in range(3_000)),
    "OR of 1,000": "SELECT k FROM t WHERE " + " OR ".join(f"v = {i}" for i in range(1_000)),
    "a sum of 400": "SELECT k, " + " + ".join(["v"] * 400) + " s FROM t",
    "a sum of 900": "SELECT k, " + " + ".join(["v"] * 900) + " s FROM t",
    "a sum of 5,000": "SELECT k, " + " + ".join(["v"] * 5_000) + " s FROM t",
    "a cube of 10": f"SELECT {', '.join(f'c{i}' for i in range(10))}, count(*) n FROM w"
    f" GROUP BY CUBE ({', '.join(f'c{i}' for i in range(10))})",
    "a rollup of 30": f"SELECT {', '.join(f'c{i}' for i in range(30))}, count(*) n FROM w"
    f" GROUP BY ROLLUP ({', '.join(f'c{i}' for i in range(30))})",
    "300 grouping sets": "SELECT c0, c1, count(*) n FROM w GROUP BY GROUPING SETS ("
    + ", ".join(["(c0, c1)"] * 300) + ")",
    "100 common tables": "WITH " + ", ".join(
        f"q{i} AS (SELECT k, v FROM {'t' if i == 0 else f'q{i - 1}'})" for i in range(100))
    + " SELECT k, v FROM q99",
    "doubling common tables": "WITH " + ", ".join(
        f"q{i} AS (SELECT a.k, a.v FROM {p} a JOIN {p} b ON a.k = b.k)"
        for i in range(20) for p in ["t" if i == 0 else f"q{i - 1}"]) + " SELECT k, v FROM q19",
    "doubling aliases": "SELECT k, v % 1 AS a0, " + ", ".join(
        f"a{i - 1} + a{i - 1} AS a{i}" for i in range(1, 30)) + " FROM t",
    "1,000 rows of its own": "SELECT t.k, r.n FROM t JOIN VALUES "
    + ", ".join(f"({i}, 'n{i}')" for i in range(1_000)) + " r(k, n) ON t.k = r.k",
    "a literal of 500 KB": f"SELECT k, '{'x' * 500_000}' c FROM t",
    "arrays of 5,000": f"SELECT k, array({', '.join(map(str, range(5_000)))}) a FROM t",
    "explodes of explodes": "SELECT k, a, b, c FROM t"
    " LATERAL VIEW explode(sequence(1, 1000)) x AS a"
    " LATERAL VIEW explode(sequence(1, 1000)) y AS b"
    " LATERAL VIEW explode(sequence(1, 1000)) z AS c",
}  # fmt: skip
