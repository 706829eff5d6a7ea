SELECT xxhash64(*) FROM t
SELECT struct(t.*) FROM t
SELECT k, count(DISTINCT *) FROM t GROUP BY k
SELECT k, max(struct(*)) FROM t GROUP BY k
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k UNION SELECT 1 FROM w)
SELECT t.id, w.x FROM t LEFT JOIN (u JOIN w USING (k)) ON t.k = u.k
SELECT id FROM t WHERE EXISTS (SELECT u.id FROM u LEFT JOIN w ON u.k = w.k AND w.x = t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k FROM u WHERE u.id = t.id) q)
SELECT * FROM (SELECT k, v AS k FROM t) x
SELECT * FROM t FULL JOIN u USING (k) FULL JOIN w USING (k)
SELECT k FROM t FULL JOIN u USING (k) FULL JOIN w USING (k)
SELECT k FROM t RIGHT JOIN u USING (k) LEFT JOIN w USING (k)
SELECT k, v, count(*) FROM t GROUP BY ROLLUP(1, 2), id
SELECT sum(v) OVER (CLUSTER BY k) FROM t
SELECT id, key FROM t LATERAL VIEW explode(map('a', v)) x
SELECT explode(array(v, f)) e, count(*) FROM t GROUP BY 1
SELECT k, count(*) FROM t GROUP BY GROUPING SETS ((k), (k))
SELECT k, v, count(*) FROM t GROUP BY id, GROUPING SETS (ROLLUP(k), CUBE(v, f))
SELECT k, count(*) FROM t GROUP BY CUBE(k), k
SELECT t.id, x.c FROM t JOIN LATERAL (SELECT count(*) AS c FROM u WHERE u.k = t.k) x ON x.c > 1
SELECT t.id, x.id AS j FROM t JOIN LATERAL (SELECT DISTINCT id FROM u WHERE u.id > t.v) x
SELECT * FROM t LEFT JOIN LATERAL explode(array(v, f)) AS x(e) ON x.e = t.v
SELECT id, explode(array(1)), explode(array(2)) FROM t
(SELECT id FROM t ORDER BY v) LIMIT 3
SELECT t.id, x.c FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.id > t.v OR t.v IS NULL) x
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k AND NOT u.id <=> t.v) AS m FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.id > coalesce(t.v, 0)) AS m FROM t
SELECT * FROM (t JOIN u USING (k)) PIVOT (sum(v) FOR k IN ('a'))
SELECT t.* FROM t PIVOT (sum(v) FOR k IN ('a'))
SELECT t.*, 1 FROM t UNPIVOT (x FOR n IN (v, f))
SELECT * FROM t PIVOT (sum(v) FOR k IN (upper('a')))
SELECT * FROM t PIVOT (sum(v) FOR v IN (1.5))
SELECT * FROM t PIVOT (sum(v) FOR k IN ('a' AS id))
SELECT * FROM t PIVOT (sum(v) FOR k IN (('a', 1)))
SELECT * FROM t PIVOT (sum(v), corr(v, f) FOR k IN ('a'))
SELECT * FROM t PIVOT (count(DISTINCT v, f) FOR k IN ('a'))
SELECT * FROM t PIVOT (coalesce(sum(v), (SELECT 1)) FOR k IN ('a'))
SELECT id FROM t WHERE k IN (SELECT t.k FROM u WHERE u.id = t.id)
SELECT id, (SELECT collect_list(id) FROM u WHERE u.k = t.k) AS l FROM t
SELECT id, (SELECT approx_count_distinct(id) FROM u WHERE u.k = t.k) AS n FROM t
SELECT id, (SELECT id FROM u WHERE u.id > abs(t.v) ORDER BY id LIMIT 1) AS m FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t
SELECT id, (SELECT DISTINCT name FROM u WHERE u.k = t.k ORDER BY name LIMIT 1) AS m FROM t
SELECT id, (SELECT explode(array(id)) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t
SELECT id, (SELECT id FROM u WHERE u.k = t.k QUALIFY rank() OVER (ORDER BY id) = 1) AS m FROM t
SELECT t.id, x.s FROM t, LATERAL (SELECT u.id + t.v AS s FROM u WHERE u.k = t.k) x
SELECT id FROM t WHERE EXISTS (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE v IN (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT id, (SELECT t.v) AS m FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k HAVING count(*) > 1) AS m FROM t
SELECT id, CASE v IN (SELECT id FROM u) WHEN TRUE THEN 1 END AS b FROM t
SELECT id, (k NOT IN (SELECT k FROM u)) = (v IN (SELECT id FROM u)) AS b FROM t
SELECT t.id FROM t LEFT JOIN u ON t.k = u.k AND u.id IN (SELECT x FROM w)
SELECT id FROM t WHERE (k IN (SELECT k FROM u)) = TRUE
SELECT id FROM t WHERE (k IN (SELECT k FROM u)) IS NULL
SELECT id, (SELECT 1 FROM u WHERE u.k = t.k HAVING count(*) > 0) FROM t
SELECT id FROM t WHERE v IN (SELECT rank() OVER (ORDER BY id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT rank() OVER (ORDER BY id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.k = t.k GROUP BY ALL)
SELECT id FROM t WHERE EXISTS (SELECT explode(array(count(*))) FROM u WHERE u.k = t.k)
SELECT * FROM inline(array(struct(1, 2)))
SELECT k, count(*) + (SELECT count(*) FROM u) AS n FROM t GROUP BY k
SELECT (SELECT max(id) FROM u) m, count(*) FROM t GROUP BY m
SELECT k, sum(v + (SELECT max(id) FROM u)) + (SELECT min(id) FROM u) AS s FROM t GROUP BY k
SELECT count(DISTINCT 1), count(1), count(2, 3), count(DISTINCT v, 1) FROM t
SELECT id, nullif(v, (SELECT max(id) FROM u WHERE u.k = t.k)) AS n, nvl((SELECT max(id) FROM u WHERE u.k = t.k), 0) AS z FROM t
SELECT id, v BETWEEN (SELECT min(id) FROM u) AND (SELECT max(id) FROM u) AS b FROM t
SELECT window(timestamp_seconds(v), '10 minutes', '5 minutes') AS w, count(*) FROM t GROUP BY 1
SELECT window(timestamp_seconds(v * 100), '6 minutes', '2 minutes', '1 minute') AS w, k, count(*) FROM t GROUP BY 1, 2
SELECT id, window(timestamp_seconds(v), '10 minutes') AS w FROM t
SELECT avg(v) OVER (PARTITION BY k ORDER BY CAST(v AS DECIMAL(10,2)) RANGE BETWEEN 7 PRECEDING AND 1 FOLLOWING) FROM t
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE u.id = t.v) AND v BETWEEN (SELECT min(id) FROM u WHERE u.k = t.k) AND 3
SELECT id FROM t WHERE k IN ((SELECT k FROM u))
SELECT id, explode(split(k, ',')) FROM t
SELECT id, k FROM t WHERE (id, k) = (1, 'a')
SELECT * FROM t WHERE k IN ('a', 'b') AND (v, id) IN ((1, 2), (2, 3))
SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS m FROM t GROUP BY k
(SELECT id, v, k, f FROM t ORDER BY id, v, k, f LIMIT 2) UNION ALL (SELECT id, id, k, name FROM u ORDER BY id, k, name LIMIT 1)
SELECT explode(array(v, f)) AS e, rank() OVER (ORDER BY id, v, f, k) r FROM t
WITH c AS (SELECT id FROM t ORDER BY v) SELECT * FROM c TABLESAMPLE (3 ROWS)
SELECT * FROM (SELECT id FROM t ORDER BY v) LIMIT 3
WITH c AS (SELECT id FROM t ORDER BY v), d AS (SELECT * FROM c) SELECT x.id FROM d x OFFSET 1
