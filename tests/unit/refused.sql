-- AGGREGATE
SELECT k, histogram_numeric(v, 5) FROM t GROUP BY k
SELECT hll_sketch_agg(v) FROM t
SELECT kll_sketch_agg_bigint(v) OVER (PARTITION BY k) FROM t
SELECT k, percentile_approx(v, 0.5) FROM t GROUP BY k
SELECT approx_percentile(v, 0.5) FROM t
-- CONTEXT_FUNCTION
SELECT current_timestamp() FROM t
SELECT now() FROM t
SELECT unix_timestamp() FROM t
SELECT current_user() FROM t
SELECT CAST('now' AS TIMESTAMP) FROM t
SELECT k, count(*) FROM t GROUP BY k HAVING max(v) > unix_timestamp()
SELECT CAST('today UTC' AS DATE) FROM t
SELECT id FROM t WHERE to_date(k) > 'tomorrow'
SELECT current_date() FROM t
SELECT current_timezone() FROM t
-- EXPRESSION
SELECT TRANSFORM(k) USING 'cat' AS (x) FROM t
SELECT v + 1, count(*) FROM t GROUP BY 1 + v
SELECT k, (SELECT max(id) FROM u) + v AS m, count(*) FROM t GROUP BY k, (SELECT max(id) FROM u) + v
-- LATERAL
SELECT * FROM t, LATERAL variant_explode(parse_json(k)) AS x(p, q, r)
-- LIMIT
SELECT id FROM t SORT BY id LIMIT 3
SELECT id FROM (SELECT id FROM t CLUSTER BY id) LIMIT 3
SELECT id FROM (SELECT id FROM t ORDER BY v LIMIT 9) LIMIT 3
SELECT t.id FROM t JOIN (SELECT * FROM u ORDER BY id) x ON x.k = t.k LIMIT 3
SELECT id FROM t LIMIT 1 + 1
SELECT id FROM t ORDER BY id LIMIT 1 + 1
-- NON_DETERMINISTIC
SELECT * FROM explode(array(rand()))
SELECT rand() FROM t
SELECT uuid() FROM t
SELECT k, count(*) FROM t GROUP BY k HAVING rand() > 0.5
SELECT reflect('java.lang.System', 'nanoTime') FROM t
SELECT row_number() OVER (ORDER BY rand()) FROM t
SELECT sum(v) OVER (PARTITION BY rand()) FROM t
SELECT sum(rand()) OVER () FROM t
SELECT id FROM t ORDER BY rand() LIMIT 2
SELECT aes_encrypt(k, 'abcdefghijklmnop') FROM t
SELECT raise_error(k) FROM t
SELECT shuffle(array(v, f)) FROM t
SELECT monotonically_increasing_id() FROM t
SELECT input_file_name() FROM t
-- NON_EQUI_JOIN
SELECT id, (SELECT t.v + 1 FROM u WHERE u.k = t.k) AS m FROM t
-- PIVOT
SELECT * FROM t PIVOT (sum(v) FOR k IN ('a', 'a' AS b))
-- RECURSIVE
WITH RECURSIVE r MAX RECURSION LEVEL 5 AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT * FROM r
WITH RECURSIVE c AS (SELECT 1 a), r AS (SELECT a FROM c UNION ALL SELECT a + 1 FROM r) SELECT * FROM r
WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT * FROM r
WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT * FROM r
-- SAMPLE
WITH c AS (SELECT * FROM t) SELECT * FROM c TABLESAMPLE (10 PERCENT)
SELECT * FROM vw TABLESAMPLE (10 PERCENT)
SELECT * FROM (SELECT * FROM t) TABLESAMPLE (BUCKET 1 OUT OF 3)
SELECT * FROM t TABLESAMPLE (10 PERCENT)
-- SESSION_WINDOW
SELECT session_window(timestamp_seconds(v), '5 minutes') AS w, count(*) FROM t GROUP BY session_window(timestamp_seconds(v), '5 minutes')
-- SUBQUERY
SELECT id, (1, NULL) IN (SELECT id, id FROM u) AS b FROM t
SELECT id, NULL IN (SELECT id FROM u) AS b FROM t
SELECT id FROM t ORDER BY (SELECT max(id) FROM u), id LIMIT 2
SELECT * FROM explode((SELECT array(1)))
-- TABLE_FUNCTION
SELECT * FROM sql_keywords()
-- TIES
SELECT k, collect_list(v) OVER (PARTITION BY k ORDER BY v) FROM t
SELECT last_value(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY f) FROM t
SELECT first_value(v) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT nth_value(v, 2) OVER (ORDER BY f RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t
-- TIME_WINDOW
SELECT window(timestamp_seconds(v), '10 minutes', '3 minutes') AS w, count(*) FROM t GROUP BY 1
SELECT window(timestamp_seconds(v), '61 minutes', '1 minute') AS w, count(*) FROM t GROUP BY 1
-- WINDOW
SELECT max_by(v, f, 2) OVER (PARTITION BY k) FROM t
