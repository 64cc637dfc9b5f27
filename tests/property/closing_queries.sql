-- rows
SELECT k, ts, v FROM a WHERE {c}

-- moved times
SELECT ts + {d} AS later, k FROM a WHERE {c}

-- groups
SELECT window_start, k, {g} AS x FROM TUMBLE(a, ts, {d}) GROUP BY window_start, k

-- groups having
SELECT window_end, {g} AS x FROM TUMBLE(a, ts, {d}) WHERE {c} GROUP BY window_end HAVING count(*) >
{n}

-- sliding groups
SELECT window_start, window_end, {g} AS x FROM HOP(a, ts, INTERVAL '2 minutes', INTERVAL '6
minutes') GROUP BY window_start, window_end

-- groups by the time
SELECT ts, {g} AS x FROM a GROUP BY ts

-- distinct
SELECT DISTINCT k, ts FROM a WHERE {c}

-- sessions
SELECT window_start, window_end, k, {g} AS x FROM SESSION(a, ts, {d}, k) GROUP BY window_start,
window_end, k

-- rows of sessions
SELECT k, ts, v, window_start, window_end FROM SESSION(a, ts, {d}, k) WHERE {c}

-- sessions of all
SELECT window_end, {g} AS x FROM SESSION(a, ts, {d}) GROUP BY window_end

-- neighbours
SELECT k, ts, lag(v, {n}) OVER w AS p, row_number() OVER w AS r FROM a WINDOW w AS (PARTITION BY k
ORDER BY ts, v)

-- running
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts) AS s FROM a WHERE {c}

-- rows before
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts, v ROWS {n} PRECEDING) AS s FROM a

-- range around
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {d} PRECEDING AND {d} FOLLOWING) AS
s FROM a

-- backwards
SELECT k, ts, lead(v) OVER (PARTITION BY k ORDER BY ts DESC, v) AS s FROM a

-- rows ahead
SELECT k, ts, lead(v, {n}) OVER (PARTITION BY k ORDER BY ts, v) AS s FROM a

-- rows around
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts, v ROWS BETWEEN {n} PRECEDING AND {n} FOLLOWING)
AS s, lag(v) OVER (ORDER BY ts, v, k) AS p FROM a

-- groups around
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts GROUPS BETWEEN {n} PRECEDING AND {n} FOLLOWING)
AS s, row_number() OVER (PARTITION BY k ORDER BY ts, v) AS r FROM a

-- within windows
SELECT k, v, window_start, rank() OVER (PARTITION BY window_start ORDER BY v DESC) AS r, {f} OVER
(PARTITION BY window_start) AS s FROM TUMBLE(a, ts, {d})

-- first of windows
SELECT * FROM (SELECT k, v, window_start, row_number() OVER (PARTITION BY window_start ORDER BY v
DESC, k, ts) AS r FROM TUMBLE(a, ts, {d})) x WHERE r <= {n}

-- one of each
SELECT DISTINCT ON (ts) ts, k, v FROM a ORDER BY ts, v DESC, k

-- window join
SELECT x.window_start, n, m FROM {counted} x JOIN {others} y ON x.window_start = y.window_start

-- window left join
SELECT x.window_start, n, m FROM {counted} x LEFT JOIN {others} y ON x.window_start = y.window_start
AND n > m

-- window full join
SELECT window_start, n, m FROM {counted} x FULL JOIN {others} y USING (window_start)

-- join
SELECT k, j, ts FROM a JOIN b ON ts = tb WHERE {c}

-- left join
SELECT k, j, ts FROM a LEFT JOIN b ON ts = tb AND v < u

-- right join
SELECT k, j, tb FROM a RIGHT JOIN b ON ts = tb AND k = j

-- full join
SELECT k, j, t FROM (SELECT k, ts AS t FROM a) x FULL JOIN (SELECT j, tb AS t FROM b) y USING (t)

-- interval join
SELECT k, j, ts, tb FROM a JOIN b ON k = j AND ts BETWEEN tb - {d} AND tb + {d}

-- interval left join
SELECT k, j, ts FROM a LEFT JOIN b ON k = j AND ts BETWEEN tb - {d} AND tb + {d}

-- interval right join
SELECT k, j, tb FROM a RIGHT JOIN b ON k = j AND ts BETWEEN tb - {d} AND tb + {d}

-- interval semi join
SELECT k, ts FROM a WHERE EXISTS (SELECT 1 FROM b WHERE k = j AND ts BETWEEN tb - {d} AND tb + {d})

-- semi join
SELECT k, ts FROM a WHERE ts IN (SELECT tb FROM b) AND {c}

-- anti join
SELECT k, ts FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE tb = ts)

-- union
SELECT k, ts FROM a WHERE {c} UNION ALL SELECT j, tb FROM b

-- window over a join
SELECT k, ts, j, count(*) OVER (PARTITION BY j ORDER BY ts) AS s FROM a JOIN b ON ts = tb

-- window over groups
SELECT window_start, n, lag(n) OVER (ORDER BY window_start) AS p FROM {counted} x

-- groups of groups
SELECT date_trunc('hour', window_start) AS h, sum(n) AS s FROM {counted} x GROUP BY 1

-- join of sessions
SELECT x.window_end, n, u FROM (SELECT window_end, count(*) AS n FROM SESSION(a, ts, {d}) GROUP BY
1) x LEFT JOIN b ON tb = window_end

-- rows in time
SELECT k, ts FROM a WHERE ts > now() - {d} AND {c}

-- delayed rows
SELECT k, ts, v FROM a WHERE ts + {d} <= now()

-- groups of rows in time
SELECT window_start, {g} AS x FROM TUMBLE(a, ts, {d}) WHERE ts > now() - INTERVAL '9 minutes' GROUP
BY window_start

-- pairs of rows in time
SELECT k, j, ts FROM a JOIN b ON ts = tb WHERE tb > now() - {d}

-- groups in time
SELECT window_start, count(*) AS n FROM TUMBLE(a, ts, {d}) GROUP BY window_start HAVING max(ts) >
now() - INTERVAL '9 minutes'

-- in both
SELECT ts, k FROM a WHERE {c} INTERSECT SELECT tb, j FROM b

-- all but
SELECT k, ts FROM a EXCEPT ALL SELECT j, tb FROM b

-- sessions as frames
SELECT k, ts, {f} OVER (PARTITION BY k ORDER BY ts SESSION WITH GAP {d}) AS s, lag(v) OVER (PARTITION
BY k ORDER BY ts) AS p FROM a WHERE {c}

-- over over
SELECT k, ts, sum(p) OVER (PARTITION BY k ORDER BY ts) AS s FROM (SELECT k, ts, lag(v) OVER
(PARTITION BY k ORDER BY ts) AS p FROM a) x

-- over range over range
SELECT k, ts, count(p) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {d} PRECEDING AND {d}
FOLLOWING) AS s FROM (SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN CURRENT
ROW AND {d} FOLLOWING) AS p FROM a) x

-- desc rows
SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts DESC ROWS BETWEEN CURRENT ROW AND {n}
FOLLOWING) AS s FROM a

-- desc ahead
SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts DESC ROWS BETWEEN {n} PRECEDING AND CURRENT
ROW) AS s FROM a

-- desc range
SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts DESC RANGE BETWEEN {d} PRECEDING AND {d}
FOLLOWING) AS s FROM a

-- exclude
SELECT k, ts, sum(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {d} PRECEDING AND CURRENT ROW
EXCLUDE TIES) AS s FROM a

-- exclude ahead
SELECT k, ts, count(*) OVER (ORDER BY ts, k GROUPS BETWEEN {n} PRECEDING AND {n} FOLLOWING EXCLUDE
GROUP) AS s FROM a

-- nulls first
SELECT k, ts, rank() OVER (PARTITION BY k ORDER BY ts NULLS FIRST, v DESC NULLS LAST) AS r,
dense_rank() OVER (PARTITION BY k ORDER BY ts) AS q FROM a

-- last value
SELECT k, ts, last_value(v) OVER (PARTITION BY k ORDER BY ts) AS r, nth_value(v, 2) OVER (PARTITION
BY k ORDER BY ts) AS q FROM a

-- lead default
SELECT k, ts, lead(v, 1, 99) OVER (PARTITION BY k ORDER BY ts, v) AS r FROM a WHERE {c}

-- lead negative
SELECT k, ts, lead(v, -1) OVER (PARTITION BY k ORDER BY ts, v) AS r, lag(v, 0) OVER (PARTITION BY k
ORDER BY ts, v) AS z FROM a

-- lag ignore nulls
SELECT k, ts, lag(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts, v) AS r FROM a

-- mixed frames
SELECT k, ts, lead(v) OVER (PARTITION BY k ORDER BY ts) AS a1, sum(v) OVER (PARTITION BY k ORDER BY
ts RANGE BETWEEN CURRENT ROW AND {d} FOLLOWING) AS a2, row_number() OVER (PARTITION BY k ORDER BY
ts) AS a3 FROM a

-- rows ahead bounded start
SELECT k, ts, count(*) OVER (PARTITION BY k ORDER BY ts, v ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING)
AS s FROM a

-- range ahead only
SELECT k, ts, count(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {d} FOLLOWING AND INTERVAL '8
minutes' FOLLOWING) AS s FROM a

-- range back only
SELECT k, ts, count(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '8 minutes' PRECEDING
AND {d} PRECEDING) AS s FROM a

-- three joins
SELECT x.ts, x.k, b.j, y.v FROM a x JOIN b ON x.ts = b.tb JOIN a y ON y.ts = b.tb

-- full join aggregate
SELECT t, count(*) AS n, count(k) AS m FROM (SELECT k, ts AS t FROM a) x FULL JOIN (SELECT j, tb AS
t FROM b) y USING (t) GROUP BY t

-- semi then session
SELECT window_end, count(*) AS n FROM SESSION((SELECT k, ts FROM a WHERE ts IN (SELECT tb FROM b)),
ts, {d}) GROUP BY window_end

-- session over join
SELECT window_end, k, count(*) AS n FROM SESSION((SELECT k, ts, u FROM a JOIN b ON ts = tb), ts,
{d}, k) GROUP BY window_end, k

-- session over left join
SELECT window_end, k, count(u) AS n, count(*) AS m FROM SESSION((SELECT k, ts, u FROM a LEFT JOIN b
ON ts = tb), ts, {d}, k) GROUP BY window_end, k

-- session of ends
SELECT window_end, count(*) AS n FROM SESSION((SELECT window_end AS e FROM SESSION(a, ts, INTERVAL
'1 minute', k) GROUP BY window_end), e, {d}) GROUP BY window_end

-- union then session
SELECT window_end, count(*) AS n FROM SESSION((SELECT k, ts FROM a UNION ALL SELECT j, tb FROM b),
ts, {d}) GROUP BY window_end

-- hop then join
SELECT x.window_start, x.window_end, n, m FROM (SELECT window_start, window_end, count(*) AS n FROM
HOP(a, ts, INTERVAL '2 minutes', INTERVAL '4 minutes') GROUP BY 1, 2) x LEFT JOIN (SELECT
window_start, window_end, count(*) AS m FROM HOP(b, tb, INTERVAL '2 minutes', INTERVAL '4 minutes')
GROUP BY 1, 2) y ON x.window_end = y.window_end

-- tumble with offset
SELECT window_start, {g} AS x FROM TUMBLE(a, ts, {d}, INTERVAL '7 seconds') GROUP BY window_start

-- distinct on window
SELECT DISTINCT ON (window_start) window_start, k, v FROM TUMBLE(a, ts, {d}) ORDER BY window_start,
v DESC, k, ts

-- ties
SELECT * FROM (SELECT k, v, window_start, rank() OVER (PARTITION BY window_start ORDER BY v) AS r
FROM TUMBLE(a, ts, {d})) x WHERE r <= 2

-- zero width
SELECT k, j, ts FROM a JOIN b ON k = j AND ts BETWEEN tb - INTERVAL '0 minutes' AND tb

-- one sided
SELECT k, j, ts FROM a LEFT JOIN b ON k = j AND ts >= tb - {d}

-- one sided other
SELECT k, j, tb FROM a JOIN b ON k = j AND ts >= tb - {d} AND tb >= ts - {d}

-- interval anti
SELECT k, ts FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE j = k AND tb BETWEEN ts - {d} AND ts +
{d})

-- interval full
SELECT k, ts, u FROM a RIGHT JOIN b ON k = j AND tb BETWEEN ts AND ts + {d} WHERE tb IS NOT NULL AND
ts IS NOT NULL

-- moved join
SELECT x.t, k, u FROM (SELECT k, ts + INTERVAL '3 minutes' AS t FROM a) x JOIN (SELECT u,
date_trunc('minute', tb) AS t FROM b) y ON x.t = y.t

-- trunc
SELECT date_trunc('hour', ts) AS h, ts, k FROM a

-- late condition on join
SELECT k, j, ts FROM a JOIN b ON ts = tb WHERE ts <= now() - {d}

-- condition in union
SELECT k, ts FROM a WHERE ts <= now() - {d} UNION ALL SELECT j, tb FROM b WHERE tb <= now()

-- except over groups
SELECT window_start, n FROM {counted} x EXCEPT SELECT window_start, m FROM {others} y

-- session frame of join
SELECT k, ts, u, count(*) OVER (PARTITION BY k ORDER BY ts SESSION WITH GAP {d}) AS c FROM a LEFT
JOIN b ON ts = tb

-- coalesce
SELECT coalesce(x.t, y.t) AS c, k, j FROM (SELECT k, ts AS t FROM a) x FULL JOIN (SELECT j, tb AS t
FROM b) y ON x.t = y.t

-- least
SELECT least(ts, tb) AS l, k, j FROM a JOIN b ON ts = tb

-- self join
SELECT x.ts, x.k, y.k AS k2 FROM a x JOIN a y ON x.ts = y.ts AND x.k < y.k

-- window over first rows
SELECT window_start, k, v, count(*) OVER (PARTITION BY window_start) AS c FROM (SELECT k, v,
window_start, row_number() OVER (PARTITION BY window_start ORDER BY v DESC, k, ts) AS r FROM
TUMBLE(a, ts, {d})) x WHERE r <= 2

-- unnest
SELECT k, ts, e FROM a, unnest(ARRAY[v, k]) AS e WHERE e > 0

-- groups by what closes below
SELECT h, window_start, sum(n) AS s FROM (SELECT window_start, window_end, date_trunc('hour',
window_end) AS h, k, count(*) AS n FROM HOP(a, ts, INTERVAL '2 minutes', INTERVAL '6 minutes') GROUP
BY 1, 2, 3, 4) x GROUP BY h, window_start

-- windows of groups
SELECT h, window_start, sum(n) AS s FROM TUMBLE((SELECT ts, date_trunc('hour', ts) AS h, k, count(*)
AS n FROM a GROUP BY 1, 2, 3), ts, {d}) GROUP BY h, window_start

-- distinct of groups
SELECT DISTINCT h, ts FROM (SELECT ts, date_trunc('hour', ts) AS h, k, {g} AS x FROM a GROUP BY 1,
2, 3) y

-- first of groups in groups
SELECT h, ts, count(*) AS n FROM (SELECT h, ts, k, row_number() OVER (PARTITION BY h, ts ORDER BY n,
k) AS r FROM (SELECT ts, date_trunc('hour', ts) AS h, k, count(*) AS n FROM a GROUP BY 1, 2, 3) x) y
WHERE r <= {n} GROUP BY h, ts

-- groups of a union of groups
SELECT h, t, sum(n) AS s FROM (SELECT ts AS t, date_trunc('hour', ts) AS h, count(*) AS n FROM a
GROUP BY 1, 2 UNION ALL SELECT tb, date_trunc('hour', tb), count(*) FROM b GROUP BY 1, 2) x GROUP BY
h, t

-- sessions of groups
SELECT window_end, k, sum(n) AS s FROM SESSION((SELECT ts, date_trunc('hour', ts) AS h, k, count(*)
AS n FROM a GROUP BY 1, 2, 3), ts, {d}, k) GROUP BY window_end, k

-- rows ahead over groups
SELECT h, ts, sum(n) OVER (PARTITION BY h ORDER BY ts ROWS BETWEEN CURRENT ROW AND {n} FOLLOWING) AS
s FROM (SELECT ts, date_trunc('hour', ts) AS h, count(*) AS n FROM a GROUP BY 1, 2) x

-- sessions of hours
SELECT h, window_end, k, {g} AS x FROM SESSION((SELECT k, ts, v, date_trunc('hour', ts) AS h FROM a),
ts, {d}, h, k) GROUP BY h, window_end, k

-- rows of sessions of hours
SELECT h, k, ts, v, window_end FROM SESSION((SELECT k, ts, v, date_trunc('hour', ts) AS h FROM a),
ts, {d}, h, k)
