"""Queries whose tables are hard to find in their words, and random ones of shadowed names."""

from __future__ import annotations

import random

TEXTS = (
    "WITH a AS (SELECT * FROM a) SELECT * FROM a",
    "WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a JOIN b) SELECT * FROM A, B, c",
    "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a), s.a",
    "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a",
    "(WITH a AS (SELECT 1) SELECT * FROM a) UNION SELECT * FROM a",
    "WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT * FROM `A` EXCEPT TABLE a",
    "WITH a AS (SELECT 1) (SELECT * FROM a) UNION (SELECT * FROM b)",
    "WITH a (SELECT * FROM t), b (x) (SELECT * FROM a) (SELECT * FROM a, b, c)",
    "WITH a(values, from) AS (SELECT 1, 2 FROM u) SELECT * FROM a",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r, s",
    "WITH RECURSIVE q AS (SELECT * FROM r), r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE "
    "n < 9) SELECT * FROM q, r, t",
    "WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) TABLE r",
    "WITH b AS (WITH a AS (SELECT * FROM t) SELECT * FROM a), c AS (SELECT * FROM a) TABLE c",
    "SELECT * FROM t WHERE EXISTS (WITH t AS (SELECT 1 FROM t) SELECT * FROM t) AND i IN (TABLE t)",
    "SELECT (WITH x AS (SELECT max(v) m FROM t) SELECT m FROM x), (SELECT 1 FROM x) FROM u",
    "WITH a AS (SELECT 1) SELECT * FROM t WHERE x IN (SELECT 1 FROM a) AND y = (SELECT 1 FROM s.a)",
    "SELECT * FROM range(10), explode(array(1)), f(TABLE (a)), f(x => TABLE (SELECT * FROM b)), d",
    "SELECT * FROM IDENTIFIER('c') x, d",
    "SELECT * FROM t VERSION AS OF 1 x, u FOR SYSTEM_TIME AS OF '2026-01-01' y, w",
    "SELECT * FROM t TIMESTAMP AS OF (SELECT max(ts) FROM u) JOIN w TIMESTAMP AS OF now() v",
    "SELECT * FROM t FOR VERSION AS OF 3 TABLESAMPLE (1 ROWS) x, u version, w timestamp",
    "SELECT * FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (3) x, u TABLESAMPLE (BUCKET 1 OUT OF 4)",
    "SELECT * FROM t WITH (a = 1, b = 'x') TABLESAMPLE (1 ROWS) x, u WITH (c = 2)",
    "SELECT * FROM t PIVOT (sum(v) FOR k IN (1, 2)), u",
    "SELECT * FROM t PIVOT (sum(v) FOR (k, l) IN ((1, 'a') AS b, (2, 'c'))) JOIN u",
    "SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a AS x, b)) AS p JOIN u, w",
    "SELECT * FROM t LATERAL VIEW explode(m) e AS k, v LATERAL VIEW OUTER explode(k) f WHERE a IN "
    "(SELECT a FROM u)",
    "SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a) x, w",
    "SELECT * FROM t JOIN LATERAL (SELECT * FROM u) LEFT JOIN LATERAL explode(t.a) AS e(y, z), w",
    "SELECT * FROM a, LATERAL explode(a.b) AS e, lateral",
    "SELECT * FROM VALUES (1), (2) AS v, w JOIN u ON true",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') v (x, y), w",
    "SELECT * FROM VALUES 1, 2 v, w",
    "SELECT * FROM VALUES (1), (2), w",
    "SELECT * FROM VALUES INTERVAL 1 DAY, w",
    "SELECT * FROM VALUES CASE WHEN true THEN 1 ELSE 2 END, DATE '2026-01-01', x v, w",
    "SELECT * FROM (VALUES (1), (2)) AS v(a), w",
    "VALUES (1), ((SELECT max(a) FROM t))",
    "FROM t |> WHERE a > 1 |> JOIN u USING (x) |> UNION ALL TABLE w |> AS z |> SELECT a, b",
    "FROM t |> UNION ALL (SELECT * FROM u), (FROM w)",
    "FROM t x, u |> LEFT OUTER JOIN v y ON true |> CROSS JOIN LATERAL (SELECT * FROM w)",
    "TABLE t |> JOIN u |> AGGREGATE count(*) AS n, sum(v) GROUP BY k, l |> EXTEND n AS m, k AS j",
    "VALUES (1), (2) |> JOIN t ON true",
    "(SELECT * FROM t) |> SEMI JOIN u USING (a) |> ORDER BY a, b |> LIMIT 1",
    "SELECT * FROM t |> WHERE a IN (FROM u |> SELECT b) |> SET a = (SELECT 1 FROM v), c = 2",
    "FROM t |> PIVOT (sum(v) FOR k IN (1, 2)) |> TABLESAMPLE (1 ROWS) |> DROP a, b",
    "TABLE t UNION ALL TABLE u EXCEPT (TABLE w)",
    "FROM t SELECT x, y",
    "FROM t, u SELECT x WHERE y IN (FROM w SELECT z)",
    "SELECT * FROM delta.`/a/b.c` x, parquet.`s3a://b/c d`, `a.b`.`c``d` AS `where`, a . `s`"
    " . /* c */ t -- , no\n y",
    "SELECT /*+ BROADCAST(a, b), MERGE(c) */ * FROM t /* FROM no /* JOIN no */ , n */, u -- JOIN x",
    "SELECT /*+ COALESCE(1) */ * FROM (SELECT /*+ REPARTITION(2, a) */ * FROM t) x, u",
    "SELECT EXTRACT(YEAR FROM d), TRIM(BOTH 'x' FROM b), TRIM(FROM x), TRIM(LEADING FROM y), "
    "SUBSTRING(x FROM 1 FOR 2), OVERLAY(a PLACING b FROM 2 FOR 3), POSITION(a IN b) FROM t",
    "SELECT trim(BOTH FROM c), extract(DAY FROM (SELECT max(d) FROM u)) FROM t",
    "SELECT substring(values FROM x), substr(table FROM 2) FROM t",
    "SELECT a IS DISTINCT FROM b, c IS NOT DISTINCT FROM (SELECT 1 FROM u) FROM t",
    "SELECT sum(v) OVER (PARTITION BY a, b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), "
    "max(v) OVER w FROM t, u WINDOW w AS (PARTITION BY a), z AS (ORDER BY b)",
    "SELECT * FROM t at, u changes, w end, x before, y `join`, z current",
    "SELECT * FROM t AS select, u AS from, w AS where, x AS limit",
    "SELECT * FROM t offset, u set, w group, x limit JOIN y, z values",
    "SELECT * FROM t order JOIN u window ON a = b, w qualify",
    "SELECT * FROM left JOIN right JOIN u",
    "SELECT * FROM select, from b, values, table, stream",
    "SELECT from FROM t",
    "SELECT a from, b FROM t",
    "SELECT a AS from, b AS join, c AS table FROM t",
    "SELECT DISTINCT from, table FROM t WHERE (table IS NULL) OR join = 1 ORDER BY join IS NULL",
    "SELECT limit, select, set, a + from FROM t WHERE from IS NULL AND with > 1 GROUP BY from",
    "SELECT t.from, t.join, u.table, s.t.select FROM s.t JOIN u ON t.from = u.join, w",
    "SELECT c:from.x, c:join, c:a[0].table FROM t",
    "SELECT f(from => 1, table => 2) FROM t",
    "SELECT * FROM `from`.`select`, x.from, y.join.table z",
    "SELECT r'\\', 'it''s FROM a', \"FROM b 'JOIN' c\", 'x\\' FROM d', r\"FROM e\\\" FROM t",
    "SELECT 'a' 'b' FROM t WHERE x = 'FROM' \"JOIN\"",
    "SELECT X'1F', DATE'2026-01-01', TIMESTAMP '2026-01-01' AS `a``b FROM q` FROM t",
    "SELECT * FROM ((SELECT * FROM a) x JOIN (b) y)",
    "SELECT * FROM ((a JOIN (b)) LEFT JOIN c USING (id, k)), (((d)))",
    "SELECT * FROM ((SELECT 1 FROM a) UNION (SELECT 2 FROM b)) x JOIN ((TABLE c)) y",
    "SELECT * FROM (((SELECT * FROM a))) x, (b CROSS JOIN (SELECT * FROM c WHERE d IN (TABLE e)) z)",
    "SELECT * FROM (map JOIN b), reduce",
    "SELECT (((SELECT max(a) FROM t))), x IN ((SELECT a FROM u) EXCEPT FROM w SELECT b) FROM v",
    "SELECT * FROM t WHERE a IN (1, 2), b",
    "SELECT * FROM t JOIN u ON CASE WHEN a THEN b WHEN NOT c THEN d END, w",
    "SELECT * FROM t JOIN u ON a = map(1, 2)[1] AND u.x IN (SELECT y FROM v), w",
    "SELECT * FROM t NATURAL FULL OUTER JOIN u LEFT ANTI JOIN v ON left(a, 1) = b, w",
    "SELECT * FROM t JOIN u APPROX NEAREST 1 BY DISTANCE x",
    "SELECT * EXCEPT (a, b), t.* EXCEPT (c), struct(* EXCEPT (d)) FROM t, u",
    "SELECT 1. FROM t",
    "SELECT 1.5e3, .5, 1e5, 2L, 3.0BD, 1.D FROM t, 2020_x, s.1a",
    "SELECT a[1]::ARRAY<INT>, b::DECIMAL(3, 1) FROM t, u",
    "SELECT transform(a, x -> x + 1), filter(a, (x, i) -> x > i) FROM t, u",
    "SELECT TRANSFORM(a, b) USING 'cat' AS (x, y) FROM t, u",
    "MAP a, b USING 'cat' AS c FROM t, u",
    "SELECT a, count(*) FROM t, u GROUP BY a WITH ROLLUP HAVING count(*) > (SELECT 1 FROM v)",
    "SELECT a FROM t, u GROUP BY GROUPING SETS ((a, b), (c)) ORDER BY a, b LIMIT 5 OFFSET 2",
    "SELECT a FROM t SORT BY a, b",
    "SELECT a FROM t CLUSTER BY a, b",
    "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY x ORDER BY y) = (SELECT 1 FROM u)",
    "SELECT listagg(a, ',') WITHIN GROUP (ORDER BY b, c) FILTER (WHERE d IN (TABLE u)) FROM t, w",
    "SELECT * FROM t changes FROM u",
    "SELECT * FROM t CHANGES FROM VERSION 1 TO VERSION 2 x, u",
    "SELECT 日本, `é è` FROM `日本`.`é``è` `ü`",
    "SELECT '😀' AS `😀` FROM `日本`, (u) x, ((v JOIN w) y)",
    "SELECT * FROM t \u00a0 , u",
    "SELECT * FROM t x(a, b), u AS y (c), (SELECT 1) v (d), w",
    "SELECT * FROM t WHERE a LIKE ANY ('x', 'y') AND b NOT IN (SELECT 1 FROM u MINUS TABLE v)",
    "SELECT :a, ?, b FROM t WHERE c = :from LIMIT :limit",
    "WITH recursive_ AS (SELECT 1), with AS (SELECT 2), values AS (SELECT 3) SELECT * FROM with, t",
    "SELECT a FROM t EXCEPT ALL SELECT b FROM u INTERSECT DISTINCT FROM v SELECT c",
)  # fmt: skip
"""Some of them are no queries: their words are read all the same."""

_NAMES = ("a", "b", "A", "s.a", "`b`", "c", "`a b`", "changes", "at")


class RandomQueries:
    """Queries of few names, most of which are common tables somewhere; from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def query(self, depth: int = 3) -> str:
        common = self.random.random() < 0.4 and depth > 0
        return (self._with(depth - 1) if common else "") + self._body(depth)

    def _with(self, depth: int) -> str:
        names = self.random.sample(("a", "b", "c", "`a b`", "changes"), self.random.randint(1, 3))
        heads = self.random.choices((" AS ", " ", "(x) AS ", " -- FROM q\n AS "), k=len(names))
        bodies = [f"{n}{h}({self.query(depth)})" for n, h in zip(names, heads, strict=True)]
        return f"WITH {self._pick('', 'RECURSIVE ')}{', '.join(bodies)} "

    def _body(self, depth: int) -> str:
        forms = [self._select, self._select, self._select, self._table, self._piped, self._from]
        if depth > 0:
            forms += [self._united, self._bracketed]
        return self.random.choice(forms)(depth)

    def _select(self, depth: int) -> str:
        item = self._pick("*", "1 AS x", "trim(FROM x) AS y", f"{self._scalar(depth)} AS join")
        where = f" WHERE {self._condition(depth)}" if self.random.random() < 0.5 else ""
        return f"SELECT {item} FROM {self._relations(depth)}{where}"

    def _from(self, depth: int) -> str:
        return f"FROM {self._relations(depth)} SELECT x"

    def _table(self, depth: int) -> str:
        return f"TABLE {self._pick(*_NAMES)}"

    def _piped(self, depth: int) -> str:
        last = self._pick("AS z", f"WHERE {self._condition(depth)}", "SELECT x, y", "DROP x")
        first = self._pick(f"SELECT * FROM {self._relations(depth)}", self._table(depth))
        joined = self._pick("JOIN", "LEFT JOIN", "CROSS JOIN", "SEMI JOIN")
        return f"{first} |> {joined} {self._relation(depth)} |> {last}"

    def _united(self, depth: int) -> str:
        operation = self._pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "MINUS")
        return f"{self._side(depth)} {operation} {self._side(depth)}"

    def _side(self, depth: int) -> str:
        return self._pick(self._bracketed(depth), self._table(depth), self._select(depth))

    def _bracketed(self, depth: int) -> str:
        return f"({self.query(depth - 1)})" if depth > 0 else "(SELECT 1)"

    def _relations(self, depth: int) -> str:
        between = self._pick(", ", ", ", " JOIN ", " CROSS JOIN ", " LEFT JOIN ")
        return between.join(self._relation(depth) for _ in range(self.random.randint(1, 3)))

    def _relation(self, depth: int) -> str:
        alias = self._pick("", "", " x", " AS y", " end", " at")
        simple = [
            f"{self._pick(*_NAMES)}{alias}", f"{self._pick(*_NAMES)} VERSION AS OF 1{alias}",
            f"{self._pick(*_NAMES)} TABLESAMPLE (1 ROWS){alias}", "range(3) r", "VALUES (1), (2) v",
            f"{self._pick(*_NAMES)} PIVOT (max(x) FOR y IN (1, 2))",
        ]  # fmt: skip
        if depth > 0:
            bracketed = f"({self._relations(depth - 1).replace(', ', ' JOIN ')})"
            simple += [f"{self._bracketed(depth)} q", f"{bracketed} p"]
        return self.random.choice(simple)

    def _condition(self, depth: int) -> str:
        query = self._bracketed(depth)
        return self._pick("true", f"x IN {query}", f"EXISTS {query}", f"x IS DISTINCT FROM {query}")

    def _scalar(self, depth: int) -> str:
        return self._pick("from", "max(x)", self._bracketed(depth))

    def _pick(self, *texts: str) -> str:
        return self.random.choice(texts)
