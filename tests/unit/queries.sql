SELECT k, v, f, count(*) FROM t GROUP BY k, ROLLUP(v, f)
SELECT id FROM t WHERE k IN (SELECT k FROM u)
SELECT id FROM t WHERE k NOT IN (SELECT k FROM u)
SELECT id FROM t WHERE NOT k IN (SELECT k FROM u)
SELECT id FROM t WHERE NOT (NOT (k IN (SELECT k FROM u)))
SELECT id FROM t WHERE k IN (SELECT k FROM u) OR v > 1
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) OR v > 1
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.id > t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.id > t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)
SELECT id FROM t WHERE EXISTS (SELECT t.id, u.id FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE NOT EXISTS (SELECT DISTINCT t.v + 1 FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u JOIN w ON u.k = w.k AND w.x = t.v)
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u JOIN w ON w.x = t.v LEFT JOIN u AS q ON q.k = w.k)
SELECT id, (SELECT max(w.x) FROM u JOIN w ON u.k = w.k AND u.id = t.id) AS m FROM t
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE id > 2)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u UNION ALL SELECT 1 FROM w)
SELECT id FROM t WHERE EXISTS (SELECT k FROM u WHERE u.id = t.id GROUP BY k)
SELECT id FROM t WHERE EXISTS (SELECT k FROM u WHERE u.id = t.id GROUP BY k HAVING count(*) > 1)
SELECT id, (SELECT max(v) FROM t) AS m FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT count(*) + 1 FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT coalesce(sum(id), 7) FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT sum(id) FROM u WHERE u.k = t.k) AS m FROM t
SELECT id FROM t WHERE v > (SELECT avg(id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE v >= (SELECT count(*) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE (SELECT max(id) FROM u WHERE u.k = t.k) IS NULL
SELECT id FROM t WHERE v = (SELECT max(id) FROM u WHERE u.k = t.k) OR v = 0
SELECT k, sum(v) FROM t GROUP BY k HAVING (SELECT count(*) FROM u) > 1
SELECT k, sum(v) FROM t GROUP BY k HAVING sum(v) > (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT k, sum(v) FROM t GROUP BY k HAVING k IN (SELECT k FROM u)
SELECT k, sum(v) FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
SELECT k FROM t EXCEPT SELECT k FROM u
SELECT k FROM t EXCEPT ALL SELECT k FROM u
SELECT k FROM t INTERSECT SELECT k FROM u
SELECT k FROM t INTERSECT ALL SELECT k FROM u
SELECT k, v FROM t MINUS SELECT k, id FROM u
SELECT t.id, u.id FROM t LEFT JOIN u ON t.k = u.k
SELECT t.id, u.id FROM t RIGHT JOIN u ON t.k = u.k
SELECT t.id, u.id FROM t FULL JOIN u ON t.k = u.k
SELECT t.id, u.id FROM t FULL JOIN u ON t.k = u.k AND t.v > 1
SELECT t.id, u.id FROM t FULL JOIN u ON t.k = u.k AND t.v > u.id
SELECT t.id, u.id FROM t LEFT JOIN u ON t.k = u.k AND t.v > 1 AND u.id < 2
SELECT k, name FROM t FULL JOIN u USING (k)
SELECT k, count(*) FROM t FULL JOIN u USING (k) GROUP BY k
SELECT t.k, u.k, k FROM t FULL JOIN u USING (k)
SELECT * FROM t NATURAL LEFT JOIN u
SELECT * FROM t NATURAL FULL JOIN u
SELECT t.id FROM t LEFT SEMI JOIN u ON t.k = u.k
SELECT t.id FROM t LEFT SEMI JOIN u USING (k)
SELECT t.id FROM t LEFT ANTI JOIN u ON t.k = u.k AND u.id > t.v
SELECT t.id FROM t ANTI JOIN u ON t.k = u.k
SELECT t.id, u.id, w.x FROM t LEFT JOIN u ON t.k = u.k LEFT JOIN w ON w.k = u.k
SELECT t.id, u.id, w.x FROM t FULL JOIN u ON t.k = u.k FULL JOIN w ON w.k = coalesce(u.k, t.k)
SELECT t.id, u.id, w.x FROM t LEFT JOIN u ON t.k = u.k JOIN w ON w.k = t.k
SELECT t.id, u.id, w.x FROM t JOIN w ON w.k = t.k RIGHT JOIN u ON t.k = u.k
SELECT t.id, u.id FROM t, u LEFT JOIN w ON u.k = w.k WHERE t.k = u.k
(SELECT k FROM t EXCEPT SELECT k FROM u) UNION SELECT k FROM w
SELECT k FROM t UNION SELECT k FROM u INTERSECT SELECT k FROM w
SELECT k FROM t UNION ALL SELECT k FROM u EXCEPT SELECT k FROM w
SELECT id, row_number() OVER (ORDER BY id, k, v, f) FROM t
SELECT id, sum(v) OVER (PARTITION BY k) FROM t
SELECT k, max(sum(v)) OVER () FROM t GROUP BY k
SELECT k, sum(v), rank() OVER (ORDER BY sum(v) DESC) FROM t GROUP BY k
SELECT k, sum(v) s FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY s DESC) = 1
SELECT id FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY v) = 1
SELECT id, rank() OVER (PARTITION BY k ORDER BY v) r FROM t QUALIFY r = 1
SELECT sum(v) OVER w FROM t WINDOW w AS (PARTITION BY k)
SELECT sum(v) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t
SELECT sum(v) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t
SELECT id, count(*) OVER (PARTITION BY k ORDER BY v, id, f ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT DISTINCT k, sum(v) OVER (PARTITION BY k) FROM t
SELECT DISTINCT k, rank() OVER (ORDER BY k) FROM t
SELECT k, count(*), sum(count(*)) OVER () FROM t GROUP BY ALL
SELECT k, count(*) c, rank() OVER (ORDER BY count(*)) r FROM t GROUP BY ALL
SELECT upper(k) kk, count(*) FROM t GROUP BY upper(k)
SELECT upper(k), count(*) FROM t GROUP BY upper(k) HAVING upper(k) > 'A'
SELECT k, v % 2, count(*) FROM t GROUP BY 1, 2
SELECT v + 1 AS w, count(*) FROM t GROUP BY v + 1
SELECT v + 1 AS w, count(*) FROM t GROUP BY w
SELECT (v + 1) * 2, count(*) FROM t GROUP BY v + 1
SELECT v + 1 + count(*) FROM t GROUP BY v + 1
SELECT k, id FROM t ORDER BY id DESC, k, v, f LIMIT 2
SELECT k kk, id FROM t ORDER BY id DESC, kk, v, f LIMIT 2
SELECT k, id, v, f FROM t ORDER BY 2, 1, 3, 4 LIMIT 3
SELECT k, id + 1 AS n, v, f FROM t ORDER BY n, k, v, f LIMIT 3 OFFSET 1
SELECT k, sum(v) FROM t GROUP BY k ORDER BY sum(v) DESC, k LIMIT 2
SELECT k, sum(v) s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 2
SELECT k FROM t GROUP BY k ORDER BY sum(v) DESC, k LIMIT 2
SELECT DISTINCT k FROM t ORDER BY k LIMIT 2
SELECT k FROM t UNION SELECT k FROM u ORDER BY k LIMIT 2
SELECT k FROM t UNION SELECT k FROM u ORDER BY 1 DESC LIMIT 2
SELECT * FROM (SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2) x JOIN u ON x.k = u.k
SELECT id FROM t WHERE k IN (SELECT k FROM u ORDER BY k LIMIT 1)
SELECT id FROM t WHERE v = (SELECT id FROM u ORDER BY id DESC LIMIT 1)
SELECT 1 AS x
SELECT 1 AS x WHERE 1 = 0
VALUES (1), (2)
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS x(a, b)
SELECT * FROM VALUES (1, 'a'), (2, 'b')
SELECT t.id, x.a FROM t JOIN VALUES (1, 'a'), (2, 'b') AS x(a, b) ON t.k = x.b
SELECT count(*) FROM t
SELECT count(*), sum(v) FROM t WHERE v > 100
SELECT sum(v) FROM t HAVING sum(v) > 1
SELECT count(*) FROM t GROUP BY ALL
SELECT count(*) + (SELECT count(*) FROM u) FROM t
SELECT k, collect_set(v) FROM t GROUP BY k
SELECT k, max_by(id, v) FROM (SELECT DISTINCT k, v, max(id) id FROM t GROUP BY k, v) GROUP BY k
SELECT k, count(DISTINCT v), count(DISTINCT v, f) FROM t GROUP BY k
SELECT a.k, e FROM a LATERAL VIEW explode(arr) x AS e
SELECT a.k, e FROM a LATERAL VIEW OUTER explode(arr) x AS e
SELECT a.k, p, e FROM a LATERAL VIEW posexplode(arr) x AS p, e
SELECT a.k, e, g FROM a LATERAL VIEW explode(arr) x AS e LATERAL VIEW explode(array(e, e + 1)) y AS g
SELECT k, explode(arr) AS e FROM a
SELECT k, explode(arr) FROM a
SELECT k, posexplode(arr) FROM a
SELECT k, posexplode(arr) AS (p, e) FROM a
SELECT a.k, e, count(*) FROM a LATERAL VIEW explode(arr) x AS e GROUP BY a.k, e
SELECT e FROM t JOIN a ON t.k = a.k LATERAL VIEW explode(arr) x AS e WHERE e > 1
SELECT t.id FROM t WHERE t.k IN (SELECT t.k FROM u t WHERE t.id > 0)
SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM t t2 WHERE t2.k = t.k AND t2.id > 1)
SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.id = 1)
SELECT id FROM t x WHERE v = (SELECT max(v) FROM t x2 WHERE x2.k = x.k)
SELECT id FROM t WHERE v = (SELECT max(v) FROM t WHERE k = 'a')
WITH c AS (SELECT id, k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)) SELECT * FROM c JOIN u ON c.k = u.k
WITH c AS (SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) n FROM t) SELECT k, sum(n) FROM c GROUP BY k
WITH c AS (SELECT k FROM u) SELECT id FROM t WHERE k IN (SELECT k FROM c) AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = t.k AND c.k > 'a')
SELECT id FROM t WHERE k IN (WITH c AS (SELECT k FROM u) SELECT k FROM c)
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE id IN (SELECT x FROM w))
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE u.id IN (SELECT x FROM w WHERE w.k = u.k))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND EXISTS (SELECT 1 FROM w WHERE w.k = u.k))
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE u.id = t.v)
SELECT id FROM t WHERE (k, v) IN (SELECT k, id FROM u)
SELECT id FROM t WHERE v + 1 IN (SELECT id FROM u)
SELECT id FROM t WHERE v + 1 NOT IN (SELECT id + 1 FROM u)
SELECT id FROM t WHERE 1 IN (SELECT id FROM u)
SELECT id FROM t WHERE 1 NOT IN (SELECT id FROM u)
SELECT id FROM t WHERE NULL IN (SELECT id FROM u)
SELECT id FROM t WHERE v NOT IN (SELECT id FROM u WHERE id IS NOT NULL) AND k NOT IN (SELECT k FROM w WHERE k IS NOT NULL)
SELECT id FROM t WHERE v NOT IN (SELECT max(id) FROM u)
SELECT id FROM t WHERE v IN (SELECT max(id) FROM u GROUP BY k)
SELECT id FROM t WHERE v IN (SELECT max(id) FROM u WHERE u.k = t.k GROUP BY name)
SELECT id FROM t WHERE v IN (SELECT id FROM u UNION SELECT x FROM w)
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS b FROM t
SELECT id, NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS b FROM t
SELECT id, EXISTS (SELECT 1 FROM u) AS b FROM t
SELECT id, coalesce((SELECT max(id) FROM u WHERE u.k = t.k), -1) AS b FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k) + (SELECT min(x) FROM w WHERE w.k = t.k) AS b FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k), (SELECT max(id) FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k AND u.id > 1) AS m FROM t
SELECT id, (SELECT DISTINCT k FROM u WHERE u.k = t.k) AS m FROM t
SELECT id, (SELECT name FROM u WHERE u.k = t.k AND u.id = t.id GROUP BY name) AS m FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k GROUP BY u.k) AS m FROM t
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k) = 0
SELECT id FROM t WHERE 0 = (SELECT count(*) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k) = (SELECT count(*) FROM w WHERE w.k = t.k)
SELECT id FROM t WHERE v < (SELECT sum(id) FROM u WHERE u.k = t.k) + 1
SELECT id FROM t WHERE NOT (v < (SELECT sum(id) FROM u WHERE u.k = t.k))
SELECT id FROM t WHERE v <=> (SELECT sum(id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE v < (SELECT CASE WHEN sum(id) IS NULL THEN 5 ELSE sum(id) END FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE v < (SELECT 5 FROM u WHERE u.k = t.k GROUP BY k)
SELECT id FROM t WHERE v BETWEEN (SELECT min(id) FROM u WHERE u.k = t.k) AND (SELECT max(id) FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE (SELECT max(id) FROM u WHERE u.k = t.k) IN (1, 2)
SELECT id FROM t WHERE v IN (1, (SELECT max(id) FROM u))
SELECT t.id FROM t JOIN (SELECT k, max(id) m FROM u GROUP BY k) g ON t.k = g.k AND t.v < g.m
SELECT k, sum(v) FROM t WHERE k IN (SELECT k FROM u) GROUP BY k HAVING sum(v) IN (SELECT x FROM w)
SELECT k, sum(v) FROM t GROUP BY k HAVING sum(v) NOT IN (SELECT x FROM w WHERE x IS NOT NULL)
SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > (SELECT avg(c) FROM (SELECT count(*) c FROM t GROUP BY k))
SELECT k, sum(v) OVER (PARTITION BY (SELECT max(id) FROM u)) FROM t
SELECT k, rank() OVER (ORDER BY (SELECT max(id) FROM u WHERE u.k = t.k)) FROM t
SELECT id FROM t QUALIFY rank() OVER (ORDER BY v) <= (SELECT count(*) FROM u)
SELECT id FROM t QUALIFY rank() OVER (ORDER BY v) <= 3 AND k IN (SELECT k FROM u)
SELECT id FROM t WHERE EXISTS (SELECT DISTINCT name FROM u WHERE u.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT u.id FROM u JOIN w ON u.k = w.k WHERE w.x = t.v)
SELECT id FROM t WHERE EXISTS (SELECT u.id FROM u LEFT JOIN w ON u.k = w.k WHERE w.x = t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k FROM u) q WHERE q.k = t.k)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM a LATERAL VIEW explode(arr) z AS e WHERE z.e = t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.v > 1)
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.v > 1)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id + 1 = t.v + 2)
SELECT id, (SELECT name FROM u WHERE u.k = t.k) AS m FROM t
SELECT id FROM t WHERE EXISTS ((SELECT 1 FROM u WHERE u.k = t.k)) OR v > 1
SELECT id FROM t WHERE EXISTS ((SELECT 1 FROM u WHERE u.k = t.k))
SELECT id FROM t WHERE ((SELECT count(*) FROM u)) > 1
SELECT id FROM t WHERE v > (SELECT max(id) FROM u) AND v < (SELECT max(x) FROM w)
SELECT id FROM t WHERE if(v > (SELECT max(id) FROM u), true, false)
SELECT id FROM t WHERE v > 1 OR v > (SELECT max(id) FROM u WHERE u.k = t.k) OR k IN (SELECT k FROM w)
SELECT id FROM t WHERE k IN (SELECT k FROM u) OR k IN (SELECT k FROM u)
SELECT id FROM t WHERE k IN (SELECT k FROM u) AND k IN (SELECT k FROM u)
SELECT id FROM t WHERE (v, k) IN (SELECT id, k FROM u) OR v = 1
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE u.id = t.v) OR v = 1
SELECT x.id FROM (SELECT * FROM t WHERE k IN (SELECT k FROM u)) x WHERE x.k NOT IN (SELECT k FROM w WHERE k IS NOT NULL)
SELECT `a b`, count(*) FROM `odd t` GROUP BY `a b`
SELECT o.`c``d`, o.`e.f` FROM `odd t` o JOIN `odd t` p ON o.`a b` = p.`e.f`
SELECT `select` FROM `odd t` WHERE `ünï` IN (SELECT `q"t` FROM `odd t`)
SELECT T.ID, `K` FROM T WHERE V > 1
SELECT X.iD FROM t AS x
SELECT id AS ID2, Id2 + 1 AS y FROM t
SELECT k AS K, COUNT(*) AS N FROM t GROUP BY K
SELECT id AS `x``y`, v AS `__dt_w` FROM t
SELECT id AS `a.b` FROM t ORDER BY `a.b` LIMIT 1
SELECT *, v + 1 AS w FROM t
SELECT t.*, u.* FROM t JOIN u ON t.k = u.k
SELECT * EXCEPT (v, f) FROM t
SELECT k, v AS k FROM t
SELECT a.k, b.k FROM t a LEFT JOIN t b ON a.id = b.v
SELECT count(*) FROM t a LEFT JOIN t b ON a.id = b.v
SELECT a.id FROM t a JOIN t b ON a.id = b.v JOIN t c ON b.id = c.v AND a.k = c.k
SELECT a.id FROM t a LEFT JOIN t b ON a.id = b.v LEFT JOIN t c ON b.id = c.v AND a.k = c.k
SELECT a.id, b.id FROM t a FULL JOIN t b ON a.id = b.v WHERE a.id IS NULL OR b.k = 'a'
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id = b.v WHERE b.id IS NULL
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id + 1 = b.v * 2
SELECT a.id, b.id FROM t a RIGHT JOIN t b ON a.id + 1 = b.v * 2 AND a.k = 'a' AND b.k = 'b'
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id = b.v AND a.k <=> b.k
SELECT a.id FROM t a JOIN t b ON a.id > b.v
SELECT a.id, s.n FROM t a LEFT JOIN (SELECT k, count(*) n FROM u GROUP BY k) s ON a.k = s.k
SELECT a.id, s.n FROM (SELECT k, count(*) n FROM u GROUP BY k) s RIGHT JOIN t a ON a.k = s.k
SELECT * FROM t LEFT SEMI JOIN u ON t.k = u.k JOIN w ON w.k = t.k
SELECT k FROM t LEFT JOIN u USING (k) LEFT JOIN w USING (k)
SELECT k, count(*) FROM t RIGHT JOIN u USING (k) GROUP BY k HAVING k > 'a'
SELECT id FROM t NATURAL JOIN u
SELECT t.id FROM t CROSS JOIN u LEFT JOIN w ON w.k = u.k
SELECT k, v, sum(f) FROM t GROUP BY ROLLUP(k, v) HAVING grouping(v) = 1 AND count(*) > 1
SELECT k, CASE WHEN grouping(k) = 1 THEN 'all' ELSE k END AS kk, sum(f) FROM t GROUP BY k, ROLLUP(v), id
SELECT k, v + 1, count(*) FROM t GROUP BY k, ROLLUP(v + 1)
SELECT coalesce(k, 'x'), sum(v) FROM t GROUP BY f, ROLLUP(k)
SELECT k, sum(v), avg(v) FROM t GROUP BY id, CUBE(k)
SELECT k, sum(k_len) FROM (SELECT k, length(k) k_len FROM t) GROUP BY k
SELECT f, v, sum(v), count(v) FROM t GROUP BY f, ROLLUP(v)
SELECT k, v, count(*), rank() OVER (PARTITION BY grouping(v) ORDER BY count(*)) FROM t GROUP BY k, ROLLUP(v)
SELECT 1, count(*) FROM t GROUP BY 1
SELECT 'x' AS x, count(*) FROM t GROUP BY x
SELECT k, 1 AS one, count(*) FROM t GROUP BY ALL
SELECT count(*) c, k FROM t GROUP BY 2
SELECT k FROM t GROUP BY k HAVING max(v) > min(v)
SELECT k FROM t GROUP BY k HAVING k > 'a'
SELECT max(v) FROM t GROUP BY k
SELECT max(v) - min(v) FROM t GROUP BY k, f
SELECT k, v FROM t GROUP BY k, v
SELECT k, sum(v + f) * 2 + count(*) FROM t GROUP BY k
SELECT k, sum(v) / count(*) FROM t GROUP BY k
SELECT k, count(*) FROM (SELECT DISTINCT k, v FROM t) GROUP BY k
SELECT DISTINCT k, v FROM t UNION ALL SELECT DISTINCT k, id FROM u
SELECT k FROM (SELECT k FROM t UNION ALL SELECT k FROM u) GROUP BY k HAVING count(*) > 1
SELECT `a b`, sum(`c``d`) OVER (PARTITION BY `e.f` ORDER BY `select`, `ünï`) FROM `odd t`
SELECT k, sum(v) s, s + 1 AS s1 FROM t GROUP BY k
SELECT k, sum(v) s, s + 1 AS s1 FROM t GROUP BY k HAVING s1 > 2
SELECT k, count(*) FROM t GROUP BY k HAVING count(*) = (SELECT max(c) FROM (SELECT count(*) c FROM t t2 GROUP BY t2.k) q)
SELECT lag(v) OVER (PARTITION BY k ORDER BY id, v, f) FROM t
SELECT lag(v, 1, 0) OVER (PARTITION BY k ORDER BY id, v, f), lead(v, 2) OVER (PARTITION BY k ORDER BY id DESC, v DESC, f DESC) FROM t
SELECT first_value(v) OVER (PARTITION BY k ORDER BY v) FROM t
SELECT first_value(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY v) FROM t
SELECT last_value(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
SELECT nth_value(v, 2) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
SELECT percent_rank() OVER (ORDER BY v), cume_dist() OVER (ORDER BY v), dense_rank() OVER (ORDER BY v) FROM t
SELECT ntile(2) OVER (ORDER BY id, k, v, f) FROM t
SELECT count(*) FILTER (WHERE v > 1) OVER (PARTITION BY k) FROM t
SELECT sum(v) FILTER (WHERE f > 1) OVER (PARTITION BY k) FROM t
SELECT sum(v) OVER (ORDER BY id, k, v, f ROWS UNBOUNDED PRECEDING) FROM t
SELECT sum(v) OVER (ORDER BY id, k, v, f ROWS 1 PRECEDING) FROM t
SELECT sum(v) OVER (ORDER BY v DESC NULLS LAST) FROM t
SELECT id, sum(v) OVER (PARTITION BY k, f), sum(v) OVER (PARTITION BY f, k), avg(v) OVER (PARTITION BY v % 2) FROM t
SELECT sum(sum(v)) OVER (PARTITION BY k) FROM t GROUP BY k, f
SELECT k, f, sum(v), sum(sum(v)) OVER (PARTITION BY k ORDER BY f) FROM t GROUP BY k, f
SELECT rank() OVER (ORDER BY sum(v)) r FROM t GROUP BY k QUALIFY r < 3
SELECT * FROM (SELECT id, rank() OVER (PARTITION BY k ORDER BY v) r FROM t) WHERE r = 1
SELECT k, count(*) FROM (SELECT k, rank() OVER (PARTITION BY k ORDER BY v) r FROM t) WHERE r <= 2 GROUP BY k
SELECT sum(r) FROM (SELECT rank() OVER (ORDER BY v) r FROM t)
SELECT median(v) OVER (PARTITION BY k) FROM t
SELECT DISTINCT k, first_value(v) OVER (PARTITION BY k ORDER BY v) FROM t
SELECT DISTINCT k FROM t GROUP BY k, v
SELECT DISTINCT k, count(*) OVER () FROM t GROUP BY k
SELECT k, v FROM t WHERE v = 1 UNION ALL SELECT k, v FROM t WHERE v = 2 ORDER BY v
WITH c AS (SELECT k, v FROM t ORDER BY v, k LIMIT 3) SELECT a.k FROM c a JOIN c b ON a.v = b.v
WITH c AS (WITH d AS (SELECT k FROM t) SELECT k FROM d) SELECT * FROM c
WITH c AS (SELECT k FROM t), d AS (SELECT k FROM u WHERE k IN (SELECT k FROM c)) SELECT * FROM c EXCEPT SELECT * FROM d
WITH c AS (SELECT 1 AS one) SELECT t.id, one FROM t, c
SELECT * FROM vw JOIN vv USING (k)
SELECT id FROM t WHERE k IN (SELECT k FROM vv)
SELECT x.k FROM vw AS x(k, total) WHERE total > 1
SELECT t.id FROM t, u WHERE t.k = u.k AND EXISTS (SELECT 1 FROM w WHERE w.k = t.k AND w.x = u.id)
SELECT t.id FROM t LEFT JOIN u ON t.k = u.k WHERE EXISTS (SELECT 1 FROM w WHERE w.k = u.k)
SELECT id, (SELECT max(x) FROM w WHERE w.k = t.k AND w.y IN (SELECT id FROM u)) FROM t
SELECT id, (SELECT max(x) FROM w WHERE w.k = t.k AND w.y > (SELECT avg(id) FROM u)) FROM t
SELECT id, (SELECT max(x) FROM w WHERE w.k = t.k AND w.y > (SELECT avg(id) FROM u WHERE u.k = w.k)) FROM t
SELECT id, (SELECT sum(c) FROM (SELECT k, count(*) c FROM u GROUP BY k) q WHERE q.k = t.k) FROM t
SELECT id, (SELECT count(DISTINCT id) FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k) > 1 AS many FROM t
SELECT id, (SELECT count(*) FROM u, w WHERE u.k = t.k AND w.k = u.k) FROM t
SELECT id, (SELECT count(*) * 2 - 1 FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT max(id) IS NULL FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT concat('n', count(*)) FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT count(*) + sum(id) FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT bool_or(id > 1) FROM u WHERE u.k = t.k) FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k AND u.id = t.id) FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k AND u.k = t.k) FROM t
SELECT id, (SELECT max(u.id) FROM u WHERE upper(u.k) = upper(t.k)) FROM t
SELECT id FROM t WHERE v = (SELECT 1)
SELECT id FROM t WHERE v = (SELECT max(id) FROM u WHERE FALSE)
SELECT id FROM t WHERE v = (SELECT id FROM u WHERE u.id = 77)
SELECT (SELECT count(*) FROM t) AS a, (SELECT count(*) FROM u) AS b
SELECT (SELECT count(*) FROM t) - (SELECT count(*) FROM u)
SELECT count(*) FROM t HAVING count(*) > (SELECT count(*) FROM u)
SELECT 1 FROM t HAVING count(*) > 1
SELECT 'a' AS x FROM t GROUP BY k
SELECT k, v, grouping_id() g, count(*) FROM t GROUP BY id, ROLLUP(k), v
SELECT k, v, grouping_id() g, count(*) FROM t GROUP BY ROLLUP(k), v
SELECT k, v, count(*) FROM t GROUP BY id, GROUPING SETS (ROLLUP(k), (v))
SELECT k, v, count(*) FROM t GROUP BY id, GROUPING SETS ((k, v), v, ())
SELECT k, v, count(*) FROM t GROUP BY GROUPING SETS ((k), (v))
SELECT k, v, count(*), grouping_id() FROM t GROUP BY GROUPING SETS ((v), (k, v))
SELECT k kk, v vv, count(*) FROM t GROUP BY ROLLUP(kk, vv), id
SELECT k, v, count(*), grouping(kk) FROM (SELECT k kk, k, v FROM t) GROUP BY ROLLUP(kk), k, v
SELECT sum(v) OVER (DISTRIBUTE BY k SORT BY v) FROM t
SELECT id FROM t ORDER BY id LIMIT 0
SELECT id, v, k, f FROM t ORDER BY id, v, k, f OFFSET 2
SELECT id, v, k, f FROM t ORDER BY ALL LIMIT 2
SELECT t.id, t.v FROM t ORDER BY t.id, t.v LIMIT 2
SELECT t.id AS x, t.v FROM t ORDER BY t.id, t.v LIMIT 2
SELECT id, v + f AS s FROM t ORDER BY v + f, id LIMIT 2
SELECT id, v FROM t ORDER BY abs(v), v, id LIMIT 2
SELECT id, v FROM t ORDER BY v DESC NULLS LAST, id LIMIT 2
SELECT v AS id, id AS v FROM t ORDER BY id, v LIMIT 2
SELECT -v AS v, id FROM t ORDER BY v, id LIMIT 2
SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY count(*) DESC, k LIMIT 2
SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT 1
SELECT k, rank() OVER (ORDER BY k) r FROM t ORDER BY r DESC, k LIMIT 2
((SELECT id, v, k, f FROM t ORDER BY id, v, k, f LIMIT 4) ORDER BY v, id, k, f LIMIT 2)
SELECT * FROM (SELECT id, v FROM t ORDER BY id, v LIMIT 4) ORDER BY v, id LIMIT 2
SELECT count(*) FROM (SELECT id FROM t ORDER BY id LIMIT 4)
SELECT k, (SELECT max(v) FROM (SELECT v FROM t ORDER BY v LIMIT 2)) FROM u
SELECT id, e FROM t LATERAL VIEW explode(array(v, f)) AS e
SELECT id, a, b FROM t LATERAL VIEW inline(array(struct(v, f))) x AS a, b
SELECT explode(array(max(v), 1)) FROM t
SELECT k, explode(array(sum(v), count(*))) AS e FROM t GROUP BY k
SELECT id, e FROM (SELECT id, explode(array(v, f)) e FROM t) WHERE e > 1
SELECT DISTINCT explode(array(v, f)) AS e FROM t
SELECT explode(array(v, f)) AS e FROM t ORDER BY e LIMIT 2
SELECT id FROM t WHERE v IN (SELECT explode(array(id, 2)) FROM u)
SELECT id, (SELECT sum(r) FROM (SELECT k, rank() OVER (ORDER BY id) r FROM u) q WHERE q.k = t.k) FROM t
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM w WHERE x = v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM w WHERE k = k)
SELECT k, sum(v) AS v FROM t GROUP BY k HAVING max(v) > 1
SELECT k, sum(v) AS v FROM t GROUP BY k HAVING v > 1
SELECT k, v + 1 AS v, rank() OVER (ORDER BY v) r FROM t
SELECT k, v + 1 AS v, v + 1 AS w FROM t
SELECT id, v FROM t WHERE v == 1 AND NOT k <=> 'a'
SELECT id FROM t WHERE !(v > 1)
SELECT id FROM t WHERE v BETWEEN 1 AND 2 AND k LIKE 'a%' AND k RLIKE 'a'
SELECT id FROM t WHERE k IS DISTINCT FROM 'a'
SELECT id DIV 2, v % 2, v / 2 FROM t
SELECT CAST(v AS STRING) || k FROM t
SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
SELECT count(*) FROM t t1 WHERE t1.v > (SELECT avg(v) FROM t t2 WHERE t2.k = t1.k)
SELECT k, count(*) FROM t t1 WHERE t1.v > (SELECT avg(v) FROM t t2 WHERE t2.k = t1.k) GROUP BY k HAVING count(*) >= (SELECT min(c) FROM (SELECT count(*) c FROM u GROUP BY k) q)
SELECT id FROM t WHERE k = (SELECT min(k) FROM u) AND v IN (SELECT x FROM w WHERE w.k = t.k) AND NOT EXISTS (SELECT 1 FROM w WHERE w.y = t.v)
SELECT t.id FROM t JOIN u ON t.k = u.k WHERE u.id > (SELECT avg(x) FROM w WHERE w.k = u.k) AND t.v NOT IN (SELECT y FROM w WHERE y IS NOT NULL)
SELECT (SELECT max(id) FROM u WHERE u.k = q.k) FROM (SELECT k, count(*) FROM t GROUP BY k) q
SELECT DISTINCT (SELECT max(id) FROM u WHERE u.k = t.k) FROM t
SELECT x FROM (SELECT id AS x FROM t UNION ALL SELECT id FROM u) WHERE x IN (SELECT y FROM w)
SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE id > 1))
SELECT a.id FROM t a WHERE a.v = (SELECT max(b.v) FROM t b WHERE b.k = a.k AND b.id IN (SELECT c.id FROM t c WHERE c.k = b.k))
SELECT k FROM t WHERE k IN (SELECT k FROM u EXCEPT SELECT k FROM w)
SELECT k FROM t WHERE NOT EXISTS (SELECT k FROM u EXCEPT SELECT k FROM w)
SELECT k FROM t WHERE k NOT IN (SELECT k FROM u INTERSECT SELECT k FROM w)
SELECT id FROM t WHERE k IN (SELECT DISTINCT k FROM u)
SELECT id FROM t WHERE v > (SELECT count(DISTINCT k) FROM u)
SELECT id FROM t WHERE NULL NOT IN (SELECT id FROM u)
SELECT id FROM t WHERE v NOT IN (SELECT NULL FROM u)
SELECT id FROM t WHERE v NOT IN (SELECT id FROM u WHERE FALSE)
SELECT id FROM t WHERE v + NULL NOT IN (SELECT id FROM u WHERE FALSE)
SELECT id FROM t WHERE NOT (v NOT IN (SELECT id FROM u))
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AND NOT EXISTS (SELECT 1 FROM w WHERE w.k = t.k)
SELECT id FROM t WHERE (EXISTS (SELECT 1 FROM u WHERE u.k = t.k)) = (EXISTS (SELECT 1 FROM w WHERE w.k = t.k))
SELECT id FROM t WHERE CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k) THEN v > 1 ELSE v < 2 END
SELECT id, sum((SELECT max(id) FROM u WHERE u.k = t.k)) OVER (PARTITION BY k) FROM t
SELECT * FROM t AS a(p, q, r, s) LEFT JOIN u AS b(x, y, z) ON a.q = b.y
SELECT a.p FROM t AS a(p, q, r, s) WHERE EXISTS (SELECT 1 FROM u AS b(x, y, z) WHERE b.y = a.q)
WITH a(p, q) AS (SELECT id, k FROM t), b AS (SELECT p FROM a WHERE q IN (SELECT k FROM u)) SELECT count(*) FROM b
WITH a AS (SELECT k, rank() OVER (PARTITION BY k ORDER BY v) r FROM t), b AS (SELECT * FROM a WHERE r = 1) SELECT b.k, count(*) FROM b LEFT JOIN u USING (k) GROUP BY b.k
SELECT k, v, lag(v) OVER w, sum(v) OVER w FROM t WINDOW w AS (PARTITION BY k ORDER BY v, id, f)
SELECT k, v FROM t WHERE v = 1 EXCEPT SELECT k, v FROM t WHERE k = 'a' INTERSECT SELECT k, id FROM u
SELECT k kk FROM t EXCEPT SELECT k FROM u ORDER BY kk LIMIT 1
SELECT 1 AS one UNION ALL SELECT 2
SELECT NULL AS n UNION ALL SELECT id FROM t
SELECT count(*), max(one) FROM (SELECT 1 AS one) x
SELECT * FROM (VALUES (1, NULL), (2, 'x')) AS v(a, b) LEFT JOIN t ON t.k = v.b
SELECT transform(array(v), x -> x + 1) y FROM t
SELECT aggregate(array(v, f), 0, (acc, x) -> acc + x) y FROM t
SELECT named_struct('a', v).a FROM t
SELECT s.k FROM (SELECT named_struct('k', k) AS s FROM t) q
SELECT q.s.k FROM (SELECT named_struct('k', k) AS s FROM t) q
SELECT arr[0] FROM a
SELECT struct(id, k) AS s, count(*) FROM t GROUP BY struct(id, k)
SELECT count(*) FILTER (WHERE k IN ('a')) OVER () FROM t
SELECT max(v) FROM t WHERE k IN (SELECT k FROM u) HAVING max(v) > (SELECT min(x) FROM w)
SELECT k, count(*) c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 1 OFFSET 1
SELECT id, (SELECT count(*) FROM u HAVING count(*) > 3) FROM t
SELECT id, (SELECT count(*) FROM u ORDER BY 1 LIMIT 1 OFFSET 1) FROM t
SELECT id, (SELECT explode(array(count(*))) FROM u) FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k GROUP BY ALL) FROM t
SELECT id FROM t WHERE v IN (SELECT explode(array(id, 2)) FROM u WHERE u.k = t.k)
SELECT sum(v) OVER (w) FROM t WINDOW w AS (PARTITION BY k)
WITH src_0 AS (SELECT k FROM u) SELECT src_0.k FROM src_0 JOIN t ON t.k = src_0.k
WITH src_1 AS (SELECT k FROM u) SELECT t.id FROM t JOIN w ON t.k = w.k WHERE t.k IN (SELECT k FROM src_1)
WITH t AS (SELECT id, k FROM u) SELECT vw.k, s, t.id FROM vw JOIN t ON t.k = vw.k
SELECT `T`.`ID` FROM `T`
SELECT "x" AS s, id FROM t WHERE k = "a"
SELECT id AS `select`, k AS `from` FROM t ORDER BY `select`, `from` LIMIT 2
SELECT id AS `ID 1`, count(*) OVER (PARTITION BY k) AS `çé😀` FROM t
SELECT N, k FROM (SELECT id AS N, k, v FROM t) WHERE v NOT IN (SELECT id FROM u WHERE id IS NOT NULL)
SELECT l, m, j0, g, w FROM (SELECT id AS l, v AS m, f AS j0, k AS g, id AS w FROM t) x LEFT JOIN u ON x.g = u.k AND x.l > u.id
SELECT t.id FROM t t JOIN u t2 ON t.k = t2.k JOIN u t3 ON t3.k = t2.k AND t3.id = t.id
SELECT x.id FROM (SELECT x.id, x.k FROM (SELECT id, k FROM t) x WHERE x.k IN (SELECT x.k FROM u x)) x WHERE x.id IN (SELECT x.id FROM u x WHERE x.k = 'a')
SELECT id FROM t x WHERE EXISTS (SELECT 1 FROM u x WHERE x.k = k)
SELECT q.id FROM t q WHERE EXISTS (SELECT 1 FROM u q2 WHERE q2.k = q.k AND q2.id IN (SELECT w.x FROM w WHERE w.k = q2.k AND w.y IN (SELECT id FROM u)))
SELECT k, count(*) FROM t WHERE k IN (SELECT k FROM u) GROUP BY ROLLUP(k), id HAVING count(*) >= (SELECT min(id) FROM u)
SELECT k, v, sum(f) s, rank() OVER (PARTITION BY k ORDER BY sum(f)) r FROM t GROUP BY CUBE(k, v), id QUALIFY r = 1
SELECT k FROM t GROUP BY ALL
SELECT k, v + 1, count(*), sum(v + 1) FROM t GROUP BY ALL
SELECT k || 'x' AS kx, count(*) AS n FROM t GROUP BY kx HAVING n > 1
SELECT k AS v, count(*) FROM t GROUP BY t.k
SELECT CASE WHEN v > 1 THEN 'hi' ELSE 'lo' END AS b, count(*) FROM t GROUP BY b
SELECT CASE WHEN v > 1 THEN 'hi' ELSE 'lo' END, count(*) FROM t GROUP BY CASE WHEN v > 1 THEN 'hi' ELSE 'lo' END
SELECT min(k), max(k), min(v + f) FROM t
SELECT sum(DISTINCT v), count(DISTINCT k), avg(DISTINCT v) FROM t
SELECT percentile(v, 0.5), median(v) FROM t
SELECT approx_count_distinct(v) FROM t
SELECT k, sort_array(collect_set(v)) FROM t GROUP BY k
SELECT k, size(collect_list(v)) FROM t GROUP BY k
SELECT k, collect_list(DISTINCT v) FROM t GROUP BY k
SELECT * FROM t a JOIN t b USING (id, k)
SELECT * FROM t a LEFT JOIN t b USING (id, k) WHERE b.v IS NULL
SELECT a.k, b.k FROM t a FULL JOIN u b USING (k)
SELECT k, count(*) FROM t FULL JOIN u USING (k) WHERE k > 'a' GROUP BY k ORDER BY k LIMIT 2
SELECT k, rank() OVER (ORDER BY k) FROM t FULL JOIN u USING (k)
SELECT u.k FROM t RIGHT JOIN u USING (k) WHERE t.k IS NULL
SELECT k FROM t JOIN u USING (k) FULL JOIN w USING (k)
SELECT * FROM t FULL JOIN u ON t.k = u.k AND t.id = u.id FULL JOIN w ON w.k = t.k
SELECT t.id FROM t LEFT OUTER JOIN u ON u.k = t.k LEFT ANTI JOIN w ON w.k = u.k
SELECT t.id FROM t LEFT SEMI JOIN u ON u.k = t.k LEFT OUTER JOIN w ON w.k = t.k
SELECT t.id FROM t LEFT SEMI JOIN (SELECT k FROM u UNION SELECT k FROM w) z ON z.k = t.k
SELECT s.id FROM (SELECT t.id, u.id AS uid FROM t LEFT JOIN u ON t.k = u.k) s WHERE s.uid IS NULL
SELECT t.id, u.id FROM t FULL JOIN (SELECT * FROM u WHERE id > 1) u ON t.k = u.k
SELECT t.id, u.id FROM (SELECT * FROM t WHERE v > 1) t FULL JOIN u ON t.k = u.k AND upper(t.k) = upper(u.k) AND t.v + u.id > 2
SELECT * FROM t PIVOT (sum(v) FOR k IN ('a', 'b'))
SELECT * FROM t PIVOT (max(v) AS m FOR k IN ('a' AS x, 'c'))
SELECT * FROM t PIVOT (sum(v) AS s, min(id) AS m FOR k IN ('a' AS x, 'b' AS y))
SELECT * FROM (SELECT k, v, f FROM t) PIVOT (sum(v) FOR (k, f) IN (('a', 1), ('b', 2)))
SELECT * FROM (SELECT k, v FROM t) PIVOT (sum(v) FOR k IN ('a', 'b'))
SELECT id, a FROM t PIVOT (sum(v + f) FOR k IN ('a')) WHERE a > 1
SELECT p.id, u.name FROM (SELECT * FROM t PIVOT (max(v) FOR k IN ('a'))) p JOIN u ON u.id = p.a
WITH c AS (SELECT id, k, v FROM t) SELECT * FROM c PIVOT (avg(v) FOR k IN ('a', 'b'))
SELECT * FROM vw PIVOT (sum(s) FOR k IN ('a', 'b'))
SELECT f, sum(a) FROM t PIVOT (sum(v) FOR k IN ('a')) GROUP BY f
SELECT * FROM u PIVOT (max(name) FOR k IN ('a', 'b', 'c'))
SELECT id FROM t WHERE id IN (SELECT id FROM u PIVOT (max(name) FOR k IN ('a')) WHERE a IS NOT NULL)
SELECT * FROM t UNPIVOT (x FOR n IN (v, f))
SELECT * FROM t UNPIVOT INCLUDE NULLS (x FOR n IN (v, f))
SELECT * FROM t UNPIVOT EXCLUDE NULLS (x FOR n IN (id AS a, v AS b, f))
SELECT * FROM t UNPIVOT INCLUDE NULLS ((x, y) FOR n IN ((id, v) AS p, (v, f) AS q))
SELECT up.n, count(*) FROM t UNPIVOT (x FOR n IN (v, f)) AS up GROUP BY up.n
SELECT up.*, u.name FROM (SELECT id, v FROM t) UNPIVOT (x FOR n IN (id, v)) up JOIN u ON u.id = up.x
SELECT * FROM (SELECT * FROM w UNPIVOT (z FOR n IN (x, y))) PIVOT (sum(z) FOR n IN ('x', 'y'))
WITH c AS (SELECT * FROM w UNPIVOT (z FOR n IN (x, y))), d AS (SELECT k, z FROM c) SELECT * FROM d PIVOT (sum(z) FOR k IN ('a', 'b'))
SELECT * FROM `odd t` UNPIVOT (x FOR n IN (`a b`, `c``d` AS `q r`, `e.f`))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE (u.k = t.k AND u.id = 1) OR (u.k = t.k AND u.id = 2))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE (u.k = t.k AND u.id > t.v) OR (u.k = t.k AND u.id = 2 AND u.name = 'a') OR (u.name = 'b' AND u.k = t.k))
SELECT t.id, u.id FROM t LEFT JOIN u ON (t.k = u.k AND t.v > 1) OR (t.k = u.k AND u.id < 2)
SELECT t.id, u.id FROM t, u WHERE (t.k = u.k AND t.v > 1 AND u.id = 1) OR (t.k = u.k AND u.id < 2) OR (t.k = u.k)
SELECT id FROM t WHERE (v > 1 AND k = 'a') OR (k = 'a' AND f > 1) OR (v IS NULL AND k = 'a' AND f = 1)
SELECT id FROM t WHERE NOT ((v > 1 AND k = 'a') OR (k = 'a' AND f > 1))
SELECT id FROM t WHERE (k IN (SELECT k FROM u) AND v > 1) OR (k IN (SELECT k FROM u) AND f > 1)
SELECT k, sum(v) FROM t GROUP BY k HAVING (sum(v) > 2 AND k = 'a') OR (count(*) > 1 AND sum(v) > 2)
SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE (u.k = t.k AND u.id = 1) OR (u.k = t.k AND u.id = 2)) > 0
SELECT count(*) AS n FROM t LIMIT 1
SELECT sum(v) AS n FROM t WHERE v > 1 HAVING sum(v) > 2 LIMIT 100
SELECT * FROM (SELECT sum(v) AS s FROM t) a, (SELECT max(id) AS m FROM u) b LIMIT 5
SELECT count(*) + 1 AS n FROM (SELECT k FROM t INTERSECT SELECT k FROM u) x LIMIT 100
SELECT m, count(*) AS n FROM (SELECT max(id) AS m FROM t) x GROUP BY m LIMIT 1
SELECT * FROM (SELECT id FROM t ORDER BY id, k, v, f LIMIT 2) x LIMIT 3
SELECT DISTINCT (k) FROM t ORDER BY k LIMIT 2
SELECT (k), (v + 1) AS w FROM t ORDER BY (k), w, id LIMIT 3
SELECT (k) AS k, (count(*)) AS n FROM t GROUP BY (k) ORDER BY (count(*)), k LIMIT 2
SELECT id, (explode(array(v, f))) FROM t
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k OR u.id = t.id)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE (u.k = t.k AND u.id = 1) OR (u.id = t.id AND u.id = 2))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE t.k = 'a')
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k <=> t.k)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.v + u.id)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id - t.v = 0)
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE u.id > t.v) OR v = 1
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.v > 1) OR id = 1
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id <=> b.v
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id > b.v
SELECT a.id, b.id FROM t a LEFT JOIN t b ON TRUE
SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.id = 1
SELECT a.id FROM t a LEFT SEMI JOIN t b ON a.id > b.v
SELECT a.id, b.id FROM t a FULL JOIN t b ON a.id > b.v
SELECT id FROM t WHERE k NOT IN (SELECT k FROM u WHERE u.id = t.v)
SELECT id FROM t WHERE (k, v) NOT IN (SELECT k, id FROM u)
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id >= t.v)
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id >= t.v AND t.f > 0)
SELECT id FROM t WHERE v NOT IN (SELECT id FROM u WHERE u.name > t.k)
SELECT id FROM t WHERE v NOT IN (SELECT id FROM u WHERE u.name = t.k AND u.id <> t.f)
SELECT id FROM t WHERE v = 1 OR NOT EXISTS (SELECT 1 FROM u WHERE u.id > t.v)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id > t.v) OR EXISTS (SELECT 1 FROM w WHERE w.x < t.f)
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.id < t.v) AS some FROM t
SELECT a.id, b.id FROM t a RIGHT JOIN u b ON a.v BETWEEN b.id AND b.id + 1
SELECT a.id, b.id, c.x FROM t a LEFT JOIN u b ON a.v < b.id LEFT JOIN w c ON b.id <> c.x
SELECT a.id, b.id FROM t a FULL JOIN t b ON FALSE
SELECT a.id FROM t a LEFT ANTI JOIN t b ON a.id < b.id
SELECT a.id, count(b.id) FROM t a LEFT JOIN u b ON a.v < b.id AND b.name IS NOT NULL GROUP BY a.id
SELECT id FROM t LIMIT ALL
SELECT id FROM t ORDER BY id LIMIT ALL
SELECT count(*) FROM (SELECT id FROM t LIMIT 3)
SELECT count(*) FROM (SELECT id FROM t LIMIT 3 OFFSET 2)
SELECT count(*) FROM (SELECT id FROM t OFFSET 2)
WITH c AS (SELECT id FROM t LIMIT 3) SELECT count(*) FROM c
SELECT count(*) FROM (SELECT k, count(*) FROM t GROUP BY k LIMIT 2)
SELECT count(*) FROM ((SELECT id FROM t LIMIT 1) UNION ALL (SELECT id FROM u LIMIT 2))
SELECT count(*) FROM (SELECT k FROM (SELECT k FROM t ORDER BY v) GROUP BY k LIMIT 2)
SELECT count(*) FROM t LIMIT 0
SELECT count(*) FROM t LIMIT 1 OFFSET 1
SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k LIMIT 1)
SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.k = t.k ORDER BY id LIMIT 2)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 0)
SELECT count(*) FROM t TABLESAMPLE (3 ROWS)
WITH RECURSIVE c AS (SELECT id FROM t) SELECT * FROM c
SELECT 1 AS one FROM t HAVING 1 = 1
SELECT 1 AS one, 2 AS two FROM t HAVING one = 2 OR two = 3
SELECT 2 AS two HAVING 1 = 1
SELECT k, sum(v) AS s FROM t GROUP BY k HAVING s > 1 AND k IS NOT NULL
SELECT DISTINCT k, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t
SELECT DISTINCT k, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM t GROUP BY k
SELECT DISTINCT k, sum(v) OVER (PARTITION BY k) AS s FROM t ORDER BY s, k LIMIT 2
SELECT DISTINCT k, count(*) OVER (PARTITION BY v) + 1 AS n FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY v) = 1
SELECT id, bool_or(v > 1) OVER (PARTITION BY k ORDER BY id) AS b FROM t
SELECT k, listagg(DISTINCT k, '-') AS l FROM t GROUP BY k
SELECT t.id, x.m, x.c FROM t, LATERAL (SELECT max(id) AS m, count(*) AS c FROM u WHERE u.k = t.k) AS x
SELECT t.id, x.m FROM t, LATERAL (SELECT max(id) + 1 FROM u WHERE u.k = t.k) AS x(m)
SELECT t.id, x.m, x.c FROM t LEFT JOIN LATERAL (SELECT max(id) AS m, count(*) AS c FROM u WHERE u.k = t.k) x ON true
SELECT t.id, x.y, z.w FROM t, LATERAL (SELECT t.v + 1 AS y) x, LATERAL (SELECT x.y * 2 AS w) z
SELECT t.id, x.id AS j FROM t JOIN LATERAL (SELECT id FROM u WHERE u.k = t.k AND u.id > t.v) x ON true
SELECT t.id, x.b FROM t LEFT JOIN LATERAL (SELECT DISTINCT id FROM u WHERE k = t.k) x(b) ON true
SELECT t.id, x.b FROM t LEFT JOIN LATERAL (SELECT id FROM u WHERE id < t.v) x(b) ON true
SELECT t.id, x.one FROM t, LATERAL (SELECT 1 AS one) x
SELECT t.id, x.s FROM t, LATERAL (SELECT sum(id) AS s FROM u) x
SELECT t.id, x.name, x.c FROM t, LATERAL (SELECT name, count(*) AS c FROM u WHERE u.k = t.k GROUP BY name) x
SELECT t.k, sum(x.c) FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.k = t.k) x GROUP BY t.k
SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM u, LATERAL (SELECT u.id + 1 AS n) x WHERE u.k = t.k AND x.n > 1)
SELECT id, (SELECT id FROM u WHERE u.k = t.k ORDER BY id DESC LIMIT 1) AS m FROM t
SELECT id, (SELECT u.id + 1 FROM u WHERE u.k = t.k ORDER BY u.name DESC, u.id LIMIT 1) AS m FROM t
SELECT id, (SELECT id FROM u WHERE u.k = t.k AND u.name = t.k ORDER BY id LIMIT 1 OFFSET 1) AS m FROM t
SELECT t.id, x.id AS j, x.name FROM t, LATERAL (SELECT id, name FROM u WHERE u.k = t.k ORDER BY id, name LIMIT 2) x
SELECT t.id, x.id AS j FROM t LEFT JOIN LATERAL (SELECT id FROM u WHERE u.k = t.k ORDER BY id LIMIT 1) x ON true
SELECT t.id, x.name, x.c FROM t, LATERAL (SELECT name, count(*) AS c FROM u WHERE u.k = t.k GROUP BY name ORDER BY name LIMIT 1) x
SELECT id FROM t WHERE v IN (SELECT id FROM u WHERE u.k = t.k ORDER BY id LIMIT 1)
SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k LIMIT 0)
SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k LIMIT 1 OFFSET 1)
SELECT t.id, u.id, w.x FROM t JOIN (u LEFT JOIN w ON u.k = w.k) ON t.k = u.k
SELECT t.id, u.id, w.x FROM t LEFT JOIN (u JOIN w ON u.k = w.k) ON t.k = u.k
SELECT id FROM t WHERE NOT (k IN (SELECT k FROM u) OR v > 1)
SELECT id FROM t WHERE NOT (k IN (SELECT k FROM u) AND v > 1)
SELECT id, CASE WHEN k IN (SELECT k FROM u) THEN 1 ELSE 0 END AS b FROM t
SELECT k, sum((SELECT max(id) FROM u)) FROM t GROUP BY k
SELECT k, sum(CASE WHEN v IN (SELECT id FROM u) THEN 1 END) FROM t GROUP BY k
SELECT k, count(*) FILTER (WHERE v IN (SELECT id FROM u)) FROM t GROUP BY k
SELECT t.k, sum((SELECT 1)) FROM t GROUP BY t.k
SELECT sum(v) FILTER (WHERE v > (SELECT max(id) FROM u)) FROM t
SELECT there, n, `set`, value, mark FROM (SELECT id AS there, v AS n, f AS `set`, k AS value, id AS mark FROM t) x WHERE n NOT IN (SELECT id FROM u) OR EXISTS (SELECT 1 FROM u WHERE u.k = x.value)
SELECT (SELECT max(id) FROM u) m, count(*) FROM t GROUP BY (SELECT max(id) FROM u)
SELECT (SELECT max(id) FROM u) m, count(*) FROM t GROUP BY 1
SELECT t.id, u.id AS j, w.x FROM (t JOIN u ON t.k = u.k) LEFT JOIN w ON t.k = w.k
SELECT * FROM ((t JOIN u ON t.k = u.k))
SELECT t.id, b.id AS j, c.id AS l FROM t FULL JOIN (u b FULL JOIN u c ON b.id = c.id + 1) ON t.k = c.k
SELECT t.id, b.id AS j, c.id AS l FROM t RIGHT JOIN (u b LEFT JOIN (u c JOIN w ON c.k = w.k) ON b.k = w.k) ON t.k = c.k
SELECT t.id, j, x FROM t LEFT JOIN (w JOIN (SELECT id AS j, k AS uk FROM u) q ON q.uk = w.k) ON t.k = w.k
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (u JOIN w ON u.k = w.k) WHERE u.k = t.k)
SELECT id FROM t WHERE NOT (k NOT IN (SELECT k FROM u) AND v > 1)
SELECT id FROM t WHERE NOT (NOT (k IN (SELECT k FROM u) OR v > 1) OR NOT (NOT (v IN (SELECT id FROM u))))
SELECT id FROM t WHERE CASE WHEN k IN (SELECT k FROM u) THEN v = 1 ELSE v > 1 END
SELECT CASE WHEN k IN (SELECT k FROM u) THEN 'in' ELSE 'out' END AS c, count(*), sum(CASE WHEN v NOT IN (SELECT id FROM u) THEN v END) AS s FROM t GROUP BY 1
SELECT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS b, count(*) FROM t GROUP BY EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
SELECT k, count(*) FILTER (WHERE NOT (v IN (SELECT id FROM u) OR f IS NULL)) AS n FROM t GROUP BY k
SELECT k, max((SELECT max(id) FROM u WHERE u.k = t.k)) AS m FROM t GROUP BY k
SELECT id, sum(CASE WHEN v IN (SELECT id FROM u) THEN 1 ELSE 0 END) OVER (PARTITION BY k) AS n FROM t
SELECT id, median(v) OVER (PARTITION BY k) AS m FROM t
SELECT q.id FROM t LEFT JOIN (u JOIN w ON u.k = w.k) q ON t.k = q.name
SELECT id, (SELECT max(v) FROM t y WHERE y.v < t.v) AS below FROM t
SELECT id, (SELECT count(*) FROM u WHERE u.id < t.v AND u.k = t.k) AS n, (SELECT sum(u.id) + 1 FROM u WHERE u.id BETWEEN t.v - 1 AND t.v + 1) AS s FROM t
SELECT id FROM t WHERE v > (SELECT avg(id) FROM u WHERE u.k <> t.k)
SELECT id FROM t WHERE EXISTS (SELECT y.k FROM t y WHERE y.v > t.v GROUP BY y.k HAVING count(*) > 1)
SELECT id, (SELECT y.id FROM t y WHERE y.v <= t.v AND y.k = t.k ORDER BY y.v DESC, y.id DESC LIMIT 1) AS latest FROM t
SELECT t.id, x.c FROM t, LATERAL (SELECT count(*) AS c FROM u WHERE u.id > t.v) x
SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k AND u.id > t.v) AS m FROM t
SELECT id, (SELECT max(id) FROM u WHERE u.id > t.v) AS m FROM t
SELECT id, (SELECT id FROM u WHERE u.id > t.v ORDER BY id LIMIT 1) AS m FROM t
SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE u.k > t.k ORDER BY id LIMIT 1)
