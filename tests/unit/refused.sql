-- AGGREGATE
SELECT mode() WITHIN GROUP (ORDER BY v, f) FROM t
SELECT mode(DISTINCT v) FROM t
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v, f) FROM t
SELECT k, histogram_numeric(v, 5) FROM t GROUP BY k
SELECT hll_sketch_agg(v) FROM t
SELECT kll_sketch_agg_bigint(v) OVER (PARTITION BY k) FROM t
SELECT first(v, v > 1) FROM t
SELECT percentile_cont(v, 0.5) FROM t
SELECT k, percentile_approx(v, 0.5) FROM t GROUP BY k
SELECT k, grouping(k) FROM t GROUP BY k
SELECT approx_percentile(v, 0.5) FROM t
-- CONTEXT_FUNCTION
SELECT current_timestamp() FROM t
SELECT id FROM t WHERE v > current_date
SELECT now() FROM t
SELECT unix_timestamp() FROM t
SELECT current_user() FROM t
SELECT CAST('now' AS TIMESTAMP) FROM t
SELECT DATE'today' FROM t
SELECT k, count(*) FROM t GROUP BY k HAVING max(v) > unix_timestamp()
-- EXPRESSION
SELECT TRANSFORM(k) USING 'cat' AS (x) FROM t
SELECT xxhash64(*) FROM t
SELECT struct(t.*) FROM t
SELECT k, count(DISTINCT *) FROM t GROUP BY k
SELECT k, count(t.*) FROM t GROUP BY k
SELECT k, max(struct(*)) FROM t GROUP BY k
SELECT DISTINCT ON (k) k FROM t
SELECT nope FROM t
SELECT id FROM t WHERE v > :p
SELECT k, v FROM t GROUP BY k
SELECT FROM WHERE
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k UNION SELECT 1 FROM w)
SELECT t.id, w.x FROM t LEFT JOIN (u JOIN w USING (k)) ON t.k = u.k
SELECT a.k, x.e, t.id FROM a LATERAL VIEW explode(arr) x AS e JOIN t ON t.v = x.e
SELECT id FROM t JOIN u ON t.k = u.k AND u.id IN (SELECT x FROM w)
SELECT id FROM t WHERE EXISTS (SELECT u.id FROM u LEFT JOIN w ON u.k = w.k AND w.x = t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u JOIN w ON u.k = w.k AND w.x = t.v FULL JOIN u AS q ON q.k = w.k)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k FROM u WHERE u.id = t.id) q)
SELECT * FROM (SELECT k, v AS k FROM t) x
SELECT * FROM t FULL JOIN u USING (k) FULL JOIN w USING (k)
SELECT k FROM t FULL JOIN u USING (k) FULL JOIN w USING (k)
SELECT k FROM t RIGHT JOIN u USING (k) LEFT JOIN w USING (k)
SELECT sum(v) OVER w1, sum(f) OVER w2 FROM t WINDOW w1 AS (PARTITION BY k), w2 AS (w1 ORDER BY v)
SELECT sum(v) OVER nope FROM t
SELECT k, v, count(*) FROM t GROUP BY ROLLUP(1, 2), id
SELECT sum(v) OVER (CLUSTER BY k) FROM t
SELECT * FROM t FOR SYSTEM_VERSION AS OF 1
SELECT id, e FROM t LATERAL VIEW explode(array(v, f)) x
SELECT id, key FROM t LATERAL VIEW explode(map('a', v)) x
SELECT explode(array(v, f)) e, count(*) FROM t GROUP BY 1
SELECT upper(k), (SELECT max(id) FROM u WHERE u.k = upper(t.k)) FROM t GROUP BY upper(k)
SELECT k, sum(v) AS v FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY v) = 1
SELECT k, sum(v), (SELECT count(*) FROM u WHERE u.id = sum(t.v)) FROM t GROUP BY k
SELECT v + 1, count(*) FROM t GROUP BY 1 + v
-- GROUPING_SETS
SELECT k, count(*) FROM t GROUP BY GROUPING SETS ((k), (k))
SELECT k, v, count(*) FROM t GROUP BY id, GROUPING SETS (ROLLUP(k), CUBE(v, f))
SELECT k, count(*) FROM t GROUP BY CUBE(k), k
-- LATERAL
SELECT t.id FROM t RIGHT JOIN LATERAL (SELECT id FROM u) x ON true
SELECT t.id, x.c FROM t JOIN LATERAL (SELECT count(*) AS c FROM u WHERE u.k = t.k) x ON x.c > 1
SELECT t.id, x.id AS j FROM t JOIN LATERAL (SELECT DISTINCT id FROM u WHERE u.id > t.v) x
SELECT * FROM t LEFT JOIN LATERAL explode(array(v, f)) AS x(e) ON x.e = t.v
SELECT * FROM t, LATERAL variant_explode(v) AS x(p, q, r)
SELECT * FROM t LATERAL VIEW stack(v, v, f) x AS s
SELECT id, inline(array(struct(v, f))) FROM t LATERAL VIEW inline(array(struct(v))) x
SELECT id, explode(array(1)), explode(array(2)) FROM t
SELECT id, explode(array(1)) + 1 FROM t
SELECT explode(array(v, f)) e FROM t WHERE e > 1
-- LIMIT
SELECT id FROM t SORT BY id LIMIT 3
SELECT id FROM (SELECT id FROM t CLUSTER BY id) LIMIT 3
WITH c AS (SELECT id FROM t ORDER BY v) SELECT * FROM c TABLESAMPLE (3 ROWS)
SELECT * FROM (SELECT id FROM t ORDER BY v) LIMIT 3
SELECT id FROM (SELECT id FROM t ORDER BY v LIMIT 9) LIMIT 3
(SELECT id FROM t ORDER BY v) LIMIT 3
WITH c AS (SELECT id FROM t ORDER BY v), d AS (SELECT * FROM c) SELECT x.id FROM d x OFFSET 1
SELECT t.id FROM t JOIN (SELECT * FROM u ORDER BY id) x ON x.k = t.k LIMIT 3
SELECT id FROM t FETCH FIRST 3 ROWS ONLY
SELECT id FROM t LIMIT 1 + 1
SELECT id FROM t ORDER BY id LIMIT 1 + 1
-- NON_DETERMINISTIC
SELECT * FROM explode(array(rand()))
SELECT rand() FROM t
SELECT uuid() FROM t
SELECT k, sum(rand()) FROM t GROUP BY k
SELECT k, count(*) FROM t GROUP BY k HAVING rand() > 0.5
SELECT reflect('java.lang.System', 'nanoTime') FROM t
SELECT row_number() OVER (ORDER BY rand()) FROM t
SELECT sum(v) OVER (PARTITION BY rand()) FROM t
SELECT sum(rand()) OVER () FROM t
SELECT id FROM t ORDER BY rand() LIMIT 2
-- NON_EQUI_JOIN
SELECT t.id, x.c FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.id > t.v OR t.v IS NULL) x
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k AND NOT u.id <=> t.v) AS m FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.id > coalesce(t.v, 0)) AS m FROM t
-- PIVOT
SELECT * FROM t JOIN u ON t.k = u.k PIVOT (sum(v) FOR k IN ('a'))
SELECT * FROM t CROSS JOIN u PIVOT (max(name) FOR k IN ('a'))
SELECT * FROM t, u PIVOT (max(name) FOR k IN ('a'))
SELECT * FROM (t JOIN u USING (k)) PIVOT (sum(v) FOR k IN ('a'))
SELECT t.* FROM t PIVOT (sum(v) FOR k IN ('a'))
SELECT t.*, 1 FROM t UNPIVOT (x FOR n IN (v, f))
SELECT * FROM t PIVOT (sum(v) FOR k IN (ANY))
SELECT * FROM t PIVOT (sum(v) FOR k IN ('a', 'a' AS b))
SELECT * FROM t PIVOT (sum(v) FOR k IN (upper('a')))
SELECT * FROM t PIVOT (sum(v) FOR k IN (id))
SELECT * FROM t PIVOT (sum(v) FOR v IN (1.5))
SELECT * FROM t PIVOT (sum(v) FOR f IN (array(1)))
SELECT * FROM t PIVOT (sum(v) FOR k IN ('a' AS id))
SELECT * FROM t PIVOT (sum(v) FOR (k, f) IN ('a', 'b'))
SELECT * FROM t PIVOT (sum(v) FOR k IN (('a', 1)))
SELECT * FROM t PIVOT (sum(v) FOR nope IN ('a'))
SELECT * FROM t PIVOT (upper(k) FOR f IN (1))
SELECT * FROM t PIVOT (greatest(sum(v), id) FOR k IN ('a'))
SELECT * FROM t PIVOT (sum(v), corr(v, f) FOR k IN ('a'))
SELECT * FROM t PIVOT (count(DISTINCT v, f) FOR k IN ('a'))
SELECT * FROM t PIVOT (coalesce(sum(v), (SELECT 1)) FOR k IN ('a'))
SELECT * FROM (SELECT k, v AS k FROM t) PIVOT (sum(v) FOR f IN (1))
SELECT * FROM t UNPIVOT (id FOR n IN (v, f))
SELECT * FROM t UNPIVOT (x FOR n IN (v, v + 1))
SELECT * FROM t UNPIVOT (x FOR n IN (v, nope))
SELECT * FROM t UNPIVOT ((x, y) FOR n IN ((id, v), (v, f, k)))
SELECT * FROM t UNPIVOT ((x, y) FOR n IN (id, v))
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
-- SET_OPERATION
SELECT * FROM t UNION BY NAME SELECT * FROM t
-- SUBQUERY
SELECT id FROM t WHERE k IN (SELECT t.k FROM u WHERE u.id = t.id)
SELECT id, (SELECT collect_list(id) FROM u WHERE u.k = t.k) AS l FROM t
SELECT id, (SELECT approx_count_distinct(id) FROM u WHERE u.k = t.k) AS n FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k GROUP BY () LIMIT 0) AS m FROM t
SELECT id, (SELECT id FROM u WHERE u.id > abs(t.v) ORDER BY id LIMIT 1) AS m FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t
SELECT id, (SELECT DISTINCT name FROM u WHERE u.k = t.k ORDER BY name LIMIT 1) AS m FROM t
SELECT id, (SELECT explode(array(id)) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t
SELECT id, (SELECT id FROM u WHERE u.k = t.k QUALIFY rank() OVER (ORDER BY id) = 1) AS m FROM t
SELECT t.id, x.s FROM t, LATERAL (SELECT u.id + t.v AS s FROM u WHERE u.k = t.k) x
SELECT id FROM t WHERE EXISTS (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE EXISTS (SELECT 1 FROM w WHERE w.k = t.k))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM w WHERE w.k = u.k AND w.x = t.v))
SELECT id FROM t WHERE v IN (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT id, (SELECT max(id + t.v) FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT t.v) AS m FROM t
SELECT id, (SELECT t.v + 1 FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k HAVING count(*) > 1) AS m FROM t
SELECT id, NULL IN (SELECT id FROM u) AS b FROM t
SELECT id, CASE v IN (SELECT id FROM u) WHEN TRUE THEN 1 END AS b FROM t
SELECT id, (k NOT IN (SELECT k FROM u)) = (v IN (SELECT id FROM u)) AS b FROM t
SELECT id FROM t WHERE v = ANY (SELECT id FROM u)
SELECT id FROM t WHERE v > ALL (SELECT id FROM u)
SELECT t.id FROM t LEFT JOIN u ON t.k = u.k AND u.id IN (SELECT x FROM w)
SELECT id FROM t WHERE (k IN (SELECT k FROM u)) = TRUE
SELECT id FROM t WHERE (k IN (SELECT k FROM u)) IS NULL
SELECT id FROM t WHERE k IN (SELECT k FROM u) IS NOT TRUE
SELECT id, (SELECT 1 FROM u WHERE u.k = t.k HAVING count(*) > 0) FROM t
SELECT id FROM t ORDER BY (SELECT max(id) FROM u), id LIMIT 2
SELECT id FROM t WHERE v IN (SELECT rank() OVER (ORDER BY id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT rank() OVER (ORDER BY id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.k = t.k GROUP BY ALL)
SELECT id FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.k = t.k GROUP BY ())
SELECT id FROM t WHERE EXISTS (SELECT explode(array(count(*))) FROM u WHERE u.k = t.k)
-- TABLE_FUNCTION
SELECT * FROM sql_keywords()
SELECT * FROM my_rows(1)
SELECT * FROM t, range(t.v)
SELECT * FROM inline(array(struct(1, 2)))
SELECT * FROM explode((SELECT array(1)))
-- TIES
SELECT k, collect_list(v) OVER (PARTITION BY k ORDER BY v) FROM t
SELECT last_value(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY f) FROM t
SELECT first_value(v) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT nth_value(v, 2) OVER (ORDER BY f RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t
-- TIME_TRAVEL
SELECT * FROM t VERSION AS OF 1
SELECT * FROM t TIMESTAMP AS OF '2020-01-01'
SELECT * FROM t FOR TIMESTAMP AS OF '2020-01-01'
-- UNKNOWN_FUNCTION
SELECT my_udf(v) FROM t
SELECT k, my_agg(v) FROM t GROUP BY k
-- WINDOW
SELECT max_by(v, f, 2) OVER (PARTITION BY k) FROM t
SELECT max(rank() OVER (ORDER BY v)) FROM t
SELECT my_f(v) OVER () FROM t
SELECT upper(k) OVER () FROM t
SELECT sum(v) OVER (ORDER BY id ROWS BETWEEN v PRECEDING AND CURRENT ROW) FROM t
-- TIME_WINDOW
SELECT window(v, '10 minutes', '3 minutes') AS w, count(*) FROM t GROUP BY 1
SELECT window(v, '2 days', '1 second') AS w, count(*) FROM t GROUP BY 1
SELECT window(v, '1 month') AS w, count(*) FROM t GROUP BY 1
SELECT window(v, k) AS w, count(*) FROM t GROUP BY 1
SELECT window(v, '0 seconds') AS w, count(*) FROM t GROUP BY 1
SELECT window(v) AS w, count(*) FROM t GROUP BY 1
SELECT id FROM t WHERE window(v, '1 minute').start > 1
SELECT window(v, '1 minute') AS a, window(f, '1 minute') AS b FROM t
SELECT window.start FROM (SELECT v, f AS window FROM t) GROUP BY window(v, '1 minute')
WITH c AS (SELECT v AS window, f FROM t) SELECT window FROM c GROUP BY window(f, '1 minute')
-- SESSION_WINDOW
SELECT session_window(v, '5 minutes') AS w, count(*) FROM t GROUP BY session_window(v, '5 minutes')
