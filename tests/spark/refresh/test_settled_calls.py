"""Calls whose answer Spark leaves to the order of rows: kept incrementally through inserts,
deletes, duplicates and NULLs, with an answer that another query over the same rows gives too."""

from __future__ import annotations

from tests.spark.engine_lab import Lab

LISTED = (
    "(SELECT k, sort_array(collect_list(struct(v IS NULL AS a, v, x IS NULL AS b, x))) AS l "
    "FROM t GROUP BY k)"
)
TEXTS = """SELECT k, count(s) AS n, array_join(sort_array(collect_list(s)), '-') AS a,
  array_join(array_sort(collect_set(s)), '') AS b, array_join(transform(sort_array(collect_list(
  CASE WHEN s IS NOT NULL THEN struct(coalesce(-v, 999), s) END)), r -> r.s), ',') AS c
  FROM t GROUP BY k"""
MODES = """SELECT k, min_by(v, struct(-n, v)) AS a, min_by(v, struct(-n, -v)) AS b
  FROM (SELECT k, v, count(v) AS n FROM t GROUP BY k, v) GROUP BY k"""
BEST = """SELECT k, transform(array_agg(struct(v)) FILTER (WHERE n <= 2 AND x IS NOT NULL),
  r -> r.v) AS a, CASE WHEN count(v) > 0 THEN any_value(b) END AS b, count(x) AS n FROM (SELECT *,
  row_number() OVER (PARTITION BY k ORDER BY x DESC, v DESC) AS n,
  first(s) OVER (PARTITION BY k ORDER BY v IS NULL, v, s) AS b FROM t ORDER BY k, n) GROUP BY k"""
CALLS = {
    "picked": (
        "SELECT k, first(v) AS a, last(x) AS b, any_value(v, true) AS c, "
        "first_value(x) FILTER (WHERE v > 1) AS d, last(v) IGNORE NULLS AS e FROM t GROUP BY k",
        "SELECT k, l[0].v AS a, l[size(l) - 1].x AS b, "
        "try_element_at(filter(l, r -> r.v IS NOT NULL), 1).v AS c, "
        "try_element_at(filter(l, r -> r.v > 1), 1).x AS d, "
        f"try_element_at(filter(l, r -> r.v IS NOT NULL), -1).v AS e FROM {LISTED}",
    ),
    "grouped": (
        "SELECT k, mode(v) AS a, mode() WITHIN GROUP (ORDER BY v DESC) AS b, "
        "listagg(s, '-') AS c, listagg(DISTINCT s) AS d, "
        "listagg(s, ',') WITHIN GROUP (ORDER BY v DESC) AS e, "
        "max_by(v, x, 2) AS f, min_by(s, v) AS g FROM t GROUP BY k",
        "SELECT m.k, m.a, m.b, nullif(l.a, ''), nullif(l.b, ''), nullif(l.c, ''), "
        f"CASE WHEN b.n > 0 THEN b.a END, b.b FROM ({MODES}) m JOIN ({TEXTS}) l ON m.k <=> l.k "
        f"JOIN ({BEST}) b ON m.k <=> b.k",
    ),
    "exact": (
        "SELECT k, any(v > 2) AS a, every(v > 0) AS b, "
        "percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) AS c, percentile(v, 0.5, id) AS d, "
        "hex(count_min_sketch(v, 0.5D, 0.5D, 1)) AS e, hex(bitmap_or_agg(unhex('01'))) AS f "
        "FROM t GROUP BY k HAVING count(*)",
        "",
    ),
    "of_peers": (
        "SELECT id, last_value(id) OVER (PARTITION BY k ORDER BY v) AS a, "
        "first_value(id) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN CURRENT ROW AND UNBOUNDED "
        "FOLLOWING) AS b, nth_value(id, 2) OVER (PARTITION BY k ORDER BY v) AS c, "
        "nth_value(v, 2) IGNORE NULLS OVER (PARTITION BY k ORDER BY v) AS d FROM t",
        "SELECT id, max(id) OVER (PARTITION BY k, v) AS a, min(id) OVER (PARTITION BY k, v) AS b, "
        "(try_element_at(filter(l, r -> r.v IS NULL OR r.v <= t.v), 2)).id AS c, "
        "(try_element_at(filter(l, r -> r.v <= t.v), 2)).v AS d FROM t JOIN (SELECT k AS g, "
        "sort_array(collect_list(struct(v, id))) AS l FROM t GROUP BY k) ON k <=> g",
    ),
    "over_frames": (
        "SELECT DISTINCT id, mode(v) OVER (PARTITION BY k ORDER BY v) AS a, some(v > 2) OVER "
        "(PARTITION BY k ORDER BY id) AS b, max_by(v, x) OVER (PARTITION BY k) AS c, listagg(s) "
        "OVER (PARTITION BY k) AS d, any_value(s) IGNORE NULLS OVER (PARTITION BY v ORDER BY s) "
        "AS e, listagg(s) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT "
        "ROW) AS f FROM t",
        "",
    ),
}
CHANGES = (
    "INSERT INTO t VALUES (7, 'a', 9, 0.5, 'z'), (1, 'a', 1, 1.5, 'm'), (8, NULL, 2, NULL, 'n')",
    "DELETE FROM t WHERE v = 3; UPDATE t SET v = NULL, s = 'u' WHERE id IN (2, 5)",
)


def test_a_call_that_leaves_an_order_open_is_kept_in_one_that_is_always_the_same(
    quick_lab: Lab,
) -> None:
    lab = quick_lab
    rows = ("1, 'a', 1, 1.5, 'm'", "2, 'a', 3, 2.5, 'k'", "3, 'a', 3, 2.5, NULL",
            "4, 'b', NULL, 0.5, 'p'", "5, 'b', 2, NULL, 'o'", "6, NULL, 3, 1.0, 'q'",
            "6, NULL, 3, 1.0, 'q'")  # fmt: skip
    lab.table("t", "id INT, k STRING, v INT, x DECIMAL(9, 2), s STRING", *rows)
    for name, (query, _) in CALLS.items():
        made = lab.dynamic_table(name, query)
        assert made.effective_mode == "INCREMENTAL", (name, made.mode_reason)
    for change in CHANGES:
        lab.sql(change)
        assert {lab.refresh(name) for name in CALLS} == {"INCREMENTAL"}
    for name, (_, oracle) in CALLS.items():
        lab.verified(name)
        if oracle:
            wanted = sorted(map(repr, map(tuple, lab.spark.sql(oracle).collect())))
            assert sorted(map(repr, lab.rows(name))) == wanted, name
