# ruff: noqa: E501
"""Expressions that are evaluated on all rows of `expression_rows`."""

from __future__ import annotations

EXPRESSIONS = """
i + j
i - j
i * j
i / j
i % j
b + c
b - c
b * c
b / c
b % c
b / -1
b / 7
sm + sm
sm * sm
sm / sm
-sm
-i
-b
abs(i)
abs(b)
i + b
5 + i
i & j
i | j
i # j
n + m
n - m
n * m
n / m
n % m
w + w
w * w
w / w
w / 3
w % n
n / 3
m / 7
n / j
j / n
n * 3
-n
abs(n)
sign(n)
round(n)
round(n, 1)
round(m, 2)
ceil(n)
floor(m)
trunc(m)
trunc(m, 1)
w * n
b * n
d + e
d - e
d * e
d / e
d / 4
r + r
r * r
r / r
-d
abs(d)
round(e)
ceil(e)
floor(e)
trunc(e)
sqrt(e)
sqrt(n)
ln(e)
log10(e)
power(e, 2)
power(d, 0.5)
sign(e)
cbrt(e)
d + i
n + d
i = j
i < j
b >= c
n > m
n = i
d = e
d > e
d <= e
r = d
s = t
s < t
dt < ts
ts > us
ts = tz
tz <= ts
iv = iw
iv < iw
tm > '10:00'
i is distinct from j
d is not distinct from d
s is null
s is not null
p is true
p is not true
p is false
p is unknown
not p
p and q
p or q
p and i / j > 0
i / j > 0 and p
p or i / j > 0
i / j > 0 or p
i / j > 0 and b + c > 0
b + c > 0 or i / j > 0
i / j > 0 and null
null or i / j > 0
i in (1, 2, null)
i in (1, -5)
i in (j, 1 / j)
i not in (1, 3)
n in (0.5, 12.34)
i between -10 and 10
s between 'a' and 'i'
case when j <> 0 then i / j end
case when i / j > 0 then 1 else 2 end
case when p then i / j else 7 end
case i when 1 then 'one' when -5 then 'minus' else s end
coalesce(i / j, 0)
coalesce(1, i / j)
coalesce(s, t, 'x')
coalesce(i, n)
nullif(i, 1)
nullif(i / j, 0)
greatest(i, j, 3)
least(d, e)
greatest(n, m)
i::smallint
b::int
b::smallint
i::bigint
i::numeric
i::numeric(4,1)
b::numeric(10,2)
n::numeric(6,1)
n::int
m::int
w::bigint
w::numeric(12,2)
n::double precision
n::real
d::int
e::bigint
e::int
d::smallint
e::numeric(10,2)
d::numeric
r::double precision
d::real
i::double precision
i::boolean
p::int
i::text
n::text
w::text
d::text
e::text
r::text
p::text
dt::text
ts::text
tz::text
tm::text
iv::text
iw::text
s::int
t::int
t::numeric
t::double precision
t::boolean
s::timestamp
s::timestamptz
s::date
s::time
'2024-02-30'||substr(s, 1, 0) = s
ts::date
ts::time
dt::timestamp
dt::timestamptz
tz::timestamp
ts::timestamptz
tm::interval
iv::time
lower(s)
upper(s)
initcap(s)
length(s)
octet_length(s)
trim(t)
btrim(s, 'Ho')
ltrim(s, 'H')
rtrim(t)
substr(s, 2)
substr(s, 2, 3)
substr(s, j)
substr(s, j, 4)
substr(s, 0, 3)
substring(s from 2 for i)
left(s, 3)
left(s, -3)
left(s, j)
right(s, 3)
right(s, -3)
right(s, j)
lpad(s, 5, 'xy')
rpad(s, 15, 'xy')
lpad(s, j)
repeat(t, 3)
repeat(t, j)
replace(s, 'l', 'LL')
replace(s, '', 'x')
translate(s, 'lo', 'L')
reverse(s)
split_part(s, ',', 2)
split_part(s, ',', -1)
split_part(s, ',', j)
split_part(s, '', 1)
strpos(s, 'o')
strpos(s, '')
position('b' in s)
starts_with(s, 'He')
s || t
s || i
concat(s, i, t)
concat_ws('-', s, t, i)
s like 'H%o%'
s like t
s like '%\\%\\_%'
s not like '%o%'
s ilike 'hello%'
s like '%!%%' escape '!'
s ~ '^[A-Z].*o'
s ~* 'hello'
s !~ 'x'
regexp_match(s, '([a-z]+), ([A-Z])')
regexp_replace(s, '[aeiou]', '<\\&>', 'g')
regexp_replace(s, 'o', '0')
md5(s)
ascii(s)
string_to_array(s, ',')
ts + interval '1 hour'
ts - interval '1 day 2 hours'
us + interval '1 month'
dt + interval '1 month'
dt - interval '1 month'
us + iv
us - iv
tz + interval '5 seconds'
ts - us
us - ts
dt + 1
dt - 30
dt - dt
dt + j
dt + tm
iv + iw
iv - iw
-iv
iv * 3
2 * iw
iv * b
date_trunc('hour', ts)
date_trunc('week', us)
date_trunc('month', ts)
date_trunc('quarter', us)
date_trunc('year', ts)
date_trunc('day', tz)
date_trunc('milliseconds', ts)
extract(year from ts)
extract(month from dt)
extract(dow from ts)
extract(isodow from ts)
extract(doy from dt)
extract(week from us)
extract(isoyear from us)
extract(quarter from ts)
extract(hour from ts)
extract(second from ts)
extract(milliseconds from ts)
extract(microseconds from ts)
extract(epoch from ts)
extract(epoch from tz)
extract(epoch from dt)
extract(epoch from iv)
extract(epoch from iw)
extract(century from ts)
extract(decade from dt)
date_part('epoch', ts)
timestampadd(MINUTE, -2, ts)
timestampadd(quarter, i, ts)
make_date(2024, i, j)
to_timestamp(e)
ts at time zone 'UTC'
tz at time zone 'UTC'
now() - interval '1 hour' > tz
current_date - dt
(i, j) = (1, 1)
i = any(array[1, -5])
j < all(array[4, 5])
array[i, j, 3]
(array[i, j])[1]
(array[i, j])[3]
(array[i, j])[i]
cardinality(array[i, j])
array_append(array[i], j)
array_position(array[3, i], j)
i = any(string_to_array('1,-5', ',')::int[])
array_to_string(string_to_array(s, ','), '|')
row(i, s)
to_char(ts, 'YYYY-MM-DD HH24:MI:SS.MS')
to_char(tz, 'DDMonYY "at" HH12 AM')
to_char(dt, 'Dy, Q')
'{"a": {"b": 1}, "c": "x"}'::jsonb -> 'a'
'{"a": {"b": 1}, "c": "x"}'::jsonb ->> 'c'
'{"a": [1, 2.50, null]}'::jsonb -> 'a' ->> 1
'{"a": [1, 2.50, null]}'::jsonb -> 'a' ->> 2
'{"a": [1, 2.50, null]}'::jsonb ->> 'b'
'{"a": [1, 2.50, null]}'::jsonb ->> 'a'
jsonb_typeof('{"a": [1]}'::jsonb -> 'a')
jsonb_array_length('[1, 2]'::jsonb)
('{"a":"' || i || '"}')::jsonb ->> 'a'
s::jsonb
('1 }' || substring(s, 1, 0))::jsonb
('{"a": [' || i || ']} {}')::jsonb
('{"a": 1, "a": ' || i || ', "b": {"x": 1, "x": null}}')::jsonb
('[1' || repeat('0', i) || 'e308, "1e400"]')::jsonb
('[1e-' || i || '00, 5e-324]')::jsonb
('1e' || i || '0')::real
('-1e' || i || '00')::double precision
('1e-' || i || '9')::real
('1e-' || i || '00')::double precision
(i || '.00000017881393432617187501')::real
('0e' || i || '00')::real
t::jsonb
((iv + iw) + (iw - iv)) + (iv + iv)
((iv * d) * 1.5) / e
(us + (ts - us)) - ((us - ts) + (ts - us))
coalesce(i / j, coalesce(j / i, b / c))
coalesce(i / nullif(j, 3), coalesce(b / c, sm) / i, 5)
CASE WHEN CASE WHEN i / j > 1 THEN b / c > 0 END THEN i / j WHEN 10 / i > 1 THEN 5 WHEN p THEN j / i ELSE b / c END
CASE WHEN p THEN 1 WHEN i / j > 0 THEN 2 END
CAST(CAST(CAST(CAST(ts AS VARCHAR) AS TIMESTAMP) AS VARCHAR) AS TIMESTAMP)
(i / (b / (c / (j / (i / j)))))
""".strip().splitlines()
