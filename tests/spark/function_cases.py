# ruff: noqa: E501
"""Calls of the functions that `expression_cases` leaves out, on the same rows."""

from __future__ import annotations

EXPRESSIONS = r"""
gcd(i, 12)
gcd(b, c)
lcm(i, 12)
lcm(b, c)
factorial(i)
factorial(5)
width_bucket(d, 0, 10, 5)
width_bucket(e, 10, 0, i)
width_bucket(5.35, 0.024, 10.06, 5)
width_bucket(d, -1e308, 1.5e308, 10)
width_bucket(e, 0, 1.5e308, 2147483647)
width_bucket(d, 10, 0, 2147483647)
degrees(e)
radians(d)
radians(e * 1e-320)
to_timestamp(d)
to_timestamp(i + d)
log(2.0, e)
log(d, e)
cot(d)
asinh(e)
acosh(e)
atanh(d)
scale(n)
to_hex(i)
to_hex(b)
to_bin(i)
to_oct(b)
pg_typeof(n)
num_nulls(i, s, d)
num_nonnulls(i, s, d)
~i
overlay(s placing 'XX' from 3)
overlay(s placing 'XX' from 3 for 1)
overlay(s placing t from j for i)
chr(i)
chr(8364)
chr(119070)
bit_length(s)
quote_literal(s)
quote_literal(i)
quote_nullable(s)
quote_ident(s)
quote_ident('select')
format('%s-%L-%%', s, t)
format('%2$s %1$10s|%1$-10s|', i, s)
format('%I', t)
encode(s::bytea, 'hex')
encode((s || s || s || s || s || s || s || s)::bytea, 'base64')
decode(t, 'hex')
decode(' 0a\t0b' || substr(s, 1, 0), 'hex')
decode('0 a0b' || substr(s, 1, 0), 'hex')
decode('YWJj=' || substr(s, 1, 0), 'base64')
decode('SGVsbG8=', 'base64')
decode(s, 'base64')
convert_from(decode('e282ac', 'hex'), 'UTF8')
convert_from(decode('ff' || to_hex(i), 'hex'), 'UTF8')
convert_to(s, 'utf-8')
length(s::bytea)
substr(s::bytea, 2, 3)
substring(s::bytea, j, 4)
get_byte(s::bytea, i)
get_byte(s::bytea, 1)
s::bytea || t::bytea
sha1(s::bytea)
sha224(s::bytea)
sha256(s::bytea)
sha384(s::bytea)
sha512(s::bytea)
md5(s::bytea)
crc32(s::bytea)
regexp_like(s, '^H')
regexp_like(s, '^h', 'i')
regexp_count(s, '[a-z]')
regexp_substr(s, '[a-z]+')
substring(s from '([a-z]+)')
substring(s from 'l+')
regexp_match(s, '(HELLO)', 'i')
regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))')
regexp_match(s, '(?i)(Z|(h))(x)?')
substring(s from '^(x)?')
substring(s from 'H()')
(regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))'))[1]
(regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))'))[2]
(regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))'))[3]
(regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))'))[6]
(regexp_match(s, '^(x)?()(H|(y))?(?:(l)|(|e))'))[7]
(regexp_match(s, 'l*(o?)', 'i'))[1]
(regexp_match(s, '([\[)(]|e)(l*)'))[2]
(regexp_match(s, '(?=(h))|(l{0,2})(e+)?', 'i'))[1]
(regexp_match(s, '[a-z]*'))[1]
(regexp_match(s, '([a-z])'))[0]
(regexp_match(s, '([a-z])'))[NULL]
(regexp_match(s, '(l)(x)*'))[i]
regexp_match(s, NULL)
regexp_like(s, NULL)
substring(s from NULL)
regexp_split_to_array(s, NULL)
s similar to NULL
regexp_replace(s, NULL, 'x')
regexp_split_to_array(s, '[, ]')
regexp_split_to_array(s, 'l+')
s similar to '%(World|b,)%'
s similar to 'H_llo%'
s similar to '[A-Z][a-z]+, %'
s not similar to '%,%'
age(ts, us)
age(us, ts)
age(ts, dt)
age(tz, '2000-02-29')
date_bin('15 minutes', ts, '2001-01-01')
date_bin('1 day 1 second', us, ts)
date_bin('7 days', tz, '1999-12-31')
make_time(8, 15, 23.5)
make_time(i, j, 1)
make_timestamp(2013, 7, 15, 8, 15, 23.5)
make_timestamp(2013, i, j, 8, 15, 59.9999999)
make_timestamptz(i, 7, 15, 8, 15, 23.5)
make_interval(1, 2, 3, 4, 5, 6, 7.5)
make_interval(i, j)
make_interval()
make_interval(0, 0, 0, 10)
interval_key(iv)
interval_key(iw)
interval_key(iv * -30)
justify_hours(iv)
justify_hours(iw)
justify_hours(iv * 30)
justify_days(iv)
justify_days(iw)
justify_days(iw * 7)
isfinite(ts)
isfinite(iv)
tm - time '01:00'
tm + iv
tm - iv
iv * 0.5
iv * d
1.5 * iw
iv / 2
iw / 3
iv / d
iw / e
tz at time zone 'Europe/Berlin'
ts at time zone 'America/New_York'
us at time zone 'Asia/Tokyo'
timezone('Asia/Kolkata', tz)
timestamp '2024-03-31 02:30' at time zone 'Europe/Berlin'
timestamp '2024-10-27 02:30' at time zone 'Europe/Berlin'
to_char(ts, 'yyyy-mm-dd hh24:mi:ss.us')
to_char(ts, 'FMMonth DD, YYYY')
to_char(us, 'Day, FMDay, DY, MON, WW W CC J Q')
to_char(ts, 'HH12:MI am SSSS YYY Y')
to_char(dt, 'MONTH dy IYYY-IW-ID DDD')
to_date('05 Dec 2000', 'DD Mon YYYY')
to_date(s, 'YYYY-MM-DD')
to_date('20240229', 'YYYYMMDD')
to_timestamp(s, 'YYYY-MM-DD HH24:MI:SS')
to_timestamp('2024/1/2 11:5:07.25 PM', 'YYYY-MM-DD HH12:MI:SS.MS AM')
to_timestamp('2024-02-30', 'YYYY-MM-DD')
to_char(n, '999,999.99')
to_char(n, 'FM999999990.0')
to_char(m, 'S000.9')
to_char(w, '9.99')
to_char(d, '99990.0099')
to_char(i, '999')
to_char(i, '9,999MI')
to_char(j, 'FM99PR')
to_char(j, '00PR')
to_char(n, 'SG999.9')
to_char(n, '.99')
to_number('12,454.8-', '99G999D9')
to_number(s, '999.9')
to_number(t, '999.99')
extract(year from iv)
extract(month from iw)
extract(hour from iw)
extract(minute from iv)
extract(second from iv)
extract(hour from tm)
extract(second from tm)
extract(epoch from tm)
extract(julian from dt)
extract(millisecond from iv)
date(ts)
array_remove(array[i, j, 3, null], j)
array_remove(array[i, null], null)
array_replace(array[i, j, 1], 1, j)
array_positions(array[i, j, 1, 1], 1)
array_positions(array[s], 'x')
array_distinct(array[d, e, d])
array_sort(array[i, j, 3, null])
array_sort(array[d, e, 1])
array_sort(array[s, t, 'b'])
array_reverse(array[i, j])
array_min(array[i, j])
array_max(array[d, e])
array_lower(array[i], 1)
array_upper(array[i, j], 1)
array_ndims(array[i])
trim_array(array[i, j, 3], 1)
trim_array(array[i, j], j)
(array[i, j, 3])[1:2]
(array[i, j, 3])[2:]
(array[i, j, 3])[:j]
(array[i, j, 3])[0:1]
array[i, j] @> array[1]
array[1, i] <@ array[1, 2, 3]
array[i, null] && array[j, null]
array[i, null] @> array[null::int]
'{a,"b c",NULL}'::text[]
'{1,2}'::int[] || i
array_to_string('{a,b,NULL}'::text[], '-', '*')
string_to_array(s, 'l')
map_from_key_values(array['a', t], array[i, j])
map_from_key_values(array[s, t], array[i, j])
map_keys(map_from_key_values(array['a', 'b'], array[i, j]))
map_values(map_from_key_values(array['a', 'b'], array[i, j]))
(map_from_key_values(array['a', 'b'], array[i, j]))['b']
map_access(map_from_key_values(array['a', 'b'], array[i, j]), s)
map_contains(map_from_key_values(array['a', 'b'], array[i, j]), 'c')
map_length(map_from_key_values(array['a', 'b'], array[i, j]))
map_cat(map_from_key_values(array['a', 'b'], array[i, j]), map_from_key_values(array['b'], array[7]))
map_insert(map_from_key_values(array['a', 'b'], array[i, j]), 'c', 3)
map_delete(map_from_key_values(array['a', 'b'], array[i, j]), 'a')
'{"a": {"b": 1}, "c": "x", "d''e": [1, 2]}'::jsonb -> 'd''e'
'{"a": {"b": 1}, "c": "x"}'::jsonb ->> t
'[1, "2", null, {"a": 3}]'::jsonb -> -1
'[1, "2", null, {"a": 3}]'::jsonb ->> i
'[1, "2", null, {"a": 3}]'::jsonb -> j
'{"a": [{"b": "x"}, 2]}'::jsonb #> '{a,0,b}'
'{"a": [{"b": "x"}, 2]}'::jsonb #>> '{a,0,b}'
'{"a": [{"b": "x"}, 2]}'::jsonb #>> array['a', '-1']
'{"a": [{"b": "x"}, 2]}'::jsonb #> array['a', s]
jsonb_extract_path('{"a": {"b": [1]}}', 'a', 'b')
jsonb_extract_path_text('{"a": {"b": "t"}}', 'a', 'b')
json_extract_path_text('{"a": {"b": "t"}}', 'a', s)
'{"a": 1, "b": [1, {"c": null}]}'::jsonb @> '{"b": [{"c": null}]}'
'{"a": 1, "b": [1, {"c": null}]}'::jsonb @> '{"a": 1.0}'
'{"a": 1, "b": [1, {"c": null}]}'::jsonb @> '{"b": 1}'
'["foo", 1, [2]]'::jsonb @> '"foo"'
'["foo", 1, [2]]'::jsonb @> '[2]'
'["foo", 1, [2]]'::jsonb @> '[[2], 1]'
'{}' <@ jsonb_build_object('a', i)
jsonb_build_object('a', i, 'b', s, 'c', p, 'd', ts, 'e', n, 'f', tz, 'g', dt) @> '{"c": true}'
'{"a": 1}'::jsonb ? 'a'
'["a", 1]'::jsonb ? t
'"a"'::jsonb ? 'a'
'{"a": 1, "b": 2}'::jsonb ?| array['c', 'b']
'{"a": 1, "b": 2}'::jsonb ?& array['a', t]
jsonb_typeof('[1]')
jsonb_build_object('a', i, 'b', s, 'c', p, 'd', ts, 'e', n, 'f', tz, 'g', dt)
jsonb_build_object('a', 1, 'a', j)
jsonb_build_object(s, 1, 't', null)
jsonb_build_array(i, s, p, null, iv)
to_jsonb(s)
to_jsonb(n)
to_jsonb(d)
to_jsonb(e)
to_jsonb(p)
to_jsonb(b)
jsonb_build_object('a', i) || '{"a": 2, "b": [1]}'
'[1]'::jsonb || to_jsonb(i)
'{"a": 1}'::jsonb || '[2]'
to_jsonb(i) || '{"a": 2}'
to_jsonb(i) || to_jsonb(s)
'{"a": 1, "b": 2}'::jsonb - 'a'
'["a", 1, "b"]'::jsonb - 'a'
'{"a": 1, "b": 2}'::jsonb - array['a', t]
'["a", 1, "b"]'::jsonb - 1
'["a", 1, "b"]'::jsonb - j
'"a"'::jsonb - 'a'
'{"a": [1, {"b": 2}]}'::jsonb #- '{a,1,b}'
'{"a": [1, {"b": 2}]}'::jsonb #- '{a,-2}'
jsonb_set('{"a": [1, {"b": 2}]}', '{a,1,b}', to_jsonb(i))
jsonb_set('{"a": [1, {"b": 2}]}', '{a,5}', to_jsonb(s))
jsonb_set('{"a": 1}', array['b'], '[null]')
jsonb_set('{"a": 1}', '{b}', '2', false)
jsonb_set('{"a": 1}', '{b,c}', '2')
('{"a": 12, "b": "12", "c": 1.5, "d": true}'::jsonb -> 'a')::int
('{"a": 12, "b": "12", "c": 1.5, "d": true}'::jsonb -> 'b')::int
('{"a": 12, "b": "12", "c": 1.5, "d": true}'::jsonb -> 'c')::bigint
('{"a": 12, "b": "12", "c": 1.5, "d": true}'::jsonb -> 'c')::double precision
('{"a": 12, "b": "12", "c": 1.5, "d": true}'::jsonb -> 'd')::boolean
current_user
current_database()
version()
current_time
localtime
age(ts)
concat(p, NULL, i, q)
concat_ws(',', p, s)
format('%s %L', p, q)
p || s
string_to_array(s, NULL)
string_to_array(s, substr(NULL::text, j))
jsonb_array_length('{"a": 1}')
jsonb_array_length(s::jsonb)
array_ndims(array[array[i, j], array[j, i]])
array_length(array[array[i, j, 1], array[j, i, 2]], 2)
array_length(array[array[i, j, 1], array[j, i, 2]], j)
array_upper(array[array[i, j, 1]], 2)
array_lower(array[array[i, j, 1]], 2)
cardinality(array[array[i, j], array[j, i]])
array[array[i], array[null]]
array_to_string(array[p, q, null], ',', 'n')
array_to_string(array[n, m], ',')
array_to_string(array[w, m], ',', s)
array_to_string(array[array[i, j], array[null, 4]], ',', '*')
array_to_string(array[d, e], ',')
array_to_string(array[ts, us], ',', '-')
array_cat(null::int[], array[i])
null::int[] || i
i || null::int[]
array[i] || null::int[]
string_to_array(s, ',') || array[t]
array[i] < array[j]
array[i, null] < array[i, j]
array[i, j] <= array[i, null]
array[array[i, null]] > array[array[i, j]]
greatest(array[i, null], array[i, j])
least(array[i, null], array[i, j])
greatest(iv, iw)
least(iv, iw)
round('4.5')
('De\123\\' || substr(s, 1, 0))::bytea
('\001\377ä' || substr(s, 1, 0))::bytea
('a\b' || substr(s, 1, 0))::bytea
('\xde4' || substr(s, 1, 0))::bytea
('\xDE4f' || substr(s, 1, 0))::bytea
('a\400' || substr(s, 1, 0))::bytea
s::bytea
pow(d, 400)
power(d, e)
pow(10, -j * 1.0)
exp(d)
exp(e)
exp(i)
n::numeric::text
(n / 3)::numeric
(m * 0.0000001)::numeric
t::numeric::text
('1e-28' || substr(s, 1, 0))::numeric
('0.00e-28' || substr(s, 1, 0))::numeric
('1234500.00e-12' || substr(s, 1, 0))::numeric
('1234500.e-12' || substr(s, 1, 0))::numeric
(' +120e-11 ' || substr(s, 1, 0))::numeric
('0.12345678901' || substr(s, 1, 0))::numeric
('0.12345678900' || substr(s, 1, 0))::numeric
('1e27' || substr(s, 1, 0))::numeric
('1e28' || substr(s, 1, 0))::numeric
(e / 1e12)::numeric
r::numeric
r::numeric(18,2)
(r * 100000)::numeric(38,20)
r = 0.1
r = 0.1::real
r in (0.1)
r < i
r is distinct from 0.1
r between 0.1 and 1
dt + i
dt - i
dt + i * 10
ts + iv * 100000
ts - iw * 300
tz - interval '70000000 days'
dt + time '10:00'
('10000-01-01' || substr(s, 1, 0))::date
('0000-01-01' || substr(s, 1, 0))::date
('0000-12-31 23:59:59' || substr(s, 1, 0))::timestamp
('0001-01-01 00:00:00+05' || substr(s, 1, 0))::timestamptz
('9999-12-31 23:59:59-05' || substr(s, 1, 0))::timestamptz
('9999-12-31 23:59:59.9999999' || substr(s, 1, 0))::timestamp
('9999-12-31 23:59:59.9999999+05' || substr(s, 1, 0))::timestamptz
('9999-12-31 23:59:59.9999999' || substr(s, 1, 0))::timestamptz
('9999-12-31 23:59:59.9999999' || substr(s, 1, 0))::date
('2024-01-01 00:00:00.9999999' || substr(s, 1, 0))::timestamp
('1969-12-31 23:59:59.9999995' || substr(s, 1, 0))::timestamp
('2024-01-01 00:00:00.0000005' || substr(s, 1, 0))::timestamp
('2024-01-01 00:00:00.0000015' || substr(s, 1, 0))::timestamptz
('2024-01-01 00:00:00.123456789+02' || substr(s, 1, 0))::timestamptz
('2024-01-01 00:00:00.1234560' || substr(s, 1, 0))::timestamptz
(repeat('0', 5000) || '7' || substr(s, 1, 0))::int
(repeat('9', 5000) || substr(s, 1, 0))::int
('1e99999999999999999999' || substr(s, 1, 0))::numeric
('1e-99999999999999999999' || substr(s, 1, 0))::numeric(5, 2)
('1e-9999999' || substr(s, 1, 0))::numeric(10, 2)
('1e9999999' || substr(s, 1, 0))::numeric(10, 2)
('0e9999999' || substr(s, 1, 0))::numeric(10, 2)
('0e99999999999' || substr(s, 1, 0))::numeric(10, 2)
('0e-16383' || substr(s, 1, 0))::numeric(10, 2)
('0e-16384' || substr(s, 1, 0))::numeric(10, 2)
('1.5e-16382' || substr(s, 1, 0))::numeric(10, 2)
('1.5e-16383' || substr(s, 1, 0))::numeric(10, 2)
(' +.5e+00000000000000000000001 ' || substr(s, 1, 0))::numeric(10, 2)
('1e-9999999' || substr(s, 1, 0))::numeric
('0e9999999' || substr(s, 1, 0))::numeric
('0e-16384' || substr(s, 1, 0))::numeric
('0.50e-8' || substr(s, 1, 0))::numeric
('1e400' || substr(s, 1, 0))::float8
('-1e-400' || substr(s, 1, 0))::float8
('0e400' || substr(s, 1, 0))::float8
('1e99999999999999999999' || substr(s, 1, 0))::float8
('-infinity' || substr(s, 1, 0))::float8
(' NaN ' || substr(s, 1, 0))::float8
('3e-324' || substr(s, 1, 0))::float8
('2e-324' || substr(s, 1, 0))::float8
('1.7976931348623158e308' || substr(s, 1, 0))::float8
('1.7976931348623159e308' || substr(s, 1, 0))::float8
('1e40' || substr(s, 1, 0))::real
('-1e-50' || substr(s, 1, 0))::real
('+Inf' || substr(s, 1, 0))::real
('7e-46' || substr(s, 1, 0))::real
('8e-46' || substr(s, 1, 0))::real
('3.4028235677973366e38' || substr(s, 1, 0))::real
('3.4028235677973367e38' || substr(s, 1, 0))::real
('1.00000017881393432617187499' || substr(s, 1, 0))::real
('1.00000017881393432617187501' || substr(s, 1, 0))::real
(9007199791611905 + 0 * b)::real
(1.00000017881393432617187499 + 0 * n)::real
string_to_array('1,1e400' || substr(s, 1, 0), ',')::float8[]
string_to_array('1e-9999999' || substr(s, 1, 0), ',')::numeric(10, 2)[]
('1e-400' || substr(s, 1, 0))::jsonb::numeric(10, 2)
to_number('1e9' || substr(s, 1, 0), '9999')
('10:20:30.9999999' || substr(s, 1, 0))::time
('23:59:59.9999999' || substr(s, 1, 0))::time
('0001-01-01+00' || substr(s, 1, 0))::timestamptz
('2024-01-01 +05:30' || substr(s, 1, 0))::timestamptz
('2024-01-01 -0530' || substr(s, 1, 0))::timestamptz
('2024-01-01-05' || substr(s, 1, 0))::timestamptz
('2024-1-2Z' || substr(s, 1, 0))::timestamptz
(' 2024-01-02 UTC ' || substr(s, 1, 0))::timestamptz
('2024-01-02+99' || substr(s, 1, 0))::timestamptz
('2024-01-01+05:30' || substr(s, 1, 0))::timestamp
('2024-01-01 -05' || substr(s, 1, 0))::date
('2024-01-01T+05' || substr(s, 1, 0))::timestamptz
('9999-12-31 23:59:59' || substr(s, 1, 0))::timestamp at time zone 'America/New_York'
('0001-01-01 00:00:00' || substr(s, 1, 0))::timestamp at time zone 'Europe/Berlin'
('0001-01-01 00:00:00Z' || substr(s, 1, 0))::timestamptz at time zone 'America/New_York'
('9999-12-31 23:59:59Z' || substr(s, 1, 0))::timestamptz at time zone 'Europe/Berlin'
make_date(i, 1, 1)
make_date(j, 1, 1)
make_date(10000 + j, 1, 1)
make_date(0 * i, 1, 1)
make_timestamp(i, 1, 1, 0, 0, 0)
make_timestamp(10000 + j, 1, 1, 0, 0, 0)
make_timestamp(9999, 12, 31, 23, 59, 59.9999999 + 0 * d)
make_timestamptz(j, 1, 1, 0, 0, 0)
to_timestamp(d * 1e12)
to_timestamp(253402300800 + 0 * i::double precision)
to_timestamp(253402300799.9999999 + 0 * i::double precision)
to_timestamp(-62135596801 + 0 * i::double precision)
to_date(s || '10000', 'YYYY')
to_date('10000-01-01' || substr(s, 1, 0), 'YYYY-MM-DD')
to_date('0' || substr(s, 1, 0), 'YYYY')
to_timestamp('0000' || substr(s, 1, 0), 'YYYY')
date_bin('7 days', ('0001-01-01' || substr(s, 1, 0))::timestamp, '2024-12-30 23:00:00')
date_trunc('week', ('0001-01-03' || substr(s, 1, 0))::timestamp)
timestampadd(year, i, ts)
ts - us + ts
iv + iw + iv * 1000000
('2024-01-01 10:20Z' || substr(s, 1, 0))::timestamptz
('2024-01-01 10:20+05:30' || substr(s, 1, 0))::timestamptz
('2024-01-01 10:20+05:30' || substr(s, 1, 0))::timestamp
('2024-01-01 10:20' || substr(s, 1, 0))::timestamp
('2024-01-01 1:20' || substr(s, 1, 0))::timestamptz
('2024-1-1T1:20:30.5 +02' || substr(s, 1, 0))::timestamptz
regexp_replace(s, 'l', '<\1>', 'g')
regexp_replace(s, '(l)', '<\1\2>')
round(extract(year from ts), 0)
array_position(array[i, null], null)
array_position(array[s, t], null)
repeat(s, 1000)
repeat(t, 20000000)
power('-Infinity', d)
i ^ 2
d ^ 0.5
e ^ j
0 ^ sm
acos(e)
acos(d)
acos(i)
asin(d)
asin(e)
asin(r)
atan(d)
atan(e)
atan2(d, e)
atan2(e, d)
atan2(i, j)
atan2(0.0, -1 * abs(d))
atan2(r, r)
atan2(r, i)
atan2(0, r)
atan2(r, d)
atan2(r, 'NaN')
atan2(r, 1)::text
sin(d)
sin(e)
cos(d)
cos(e)
tan(d)
tan(i)
sinh(d)
sinh(e)
cosh(d)
cosh(e)
tanh(d)
tanh(e)
pi()
ceiling(n)
ceiling(m)
ceiling(w)
ceiling(d)
ceiling(e)
div(i, j)
div(b, c)
div(sm, sm)
div(b, -1)
mod(i, j)
mod(b, c)
mod(b, -1)
mod(sm, sm)
mod(n, m)
mod(w, n)
mod(-7, 3 + 0 * i)
char_length(s)
character_length(s)
position(s, 'o')
position(s, t)
position(s, '')
array_contains(array[i, j], array[1])
array_contains(array[i, null], array[null::int])
array_contains(array[i], array[]::int[])
array_contains(array[]::text[], array[s])
array_contains(null::int[], array[i])
array_overlap(array[i, null], array[j, null])
array_overlap(array[]::int[], array[i])
array_overlap(array[i], array[]::int[])
array_overlap(array[d], array[e, 'NaN'])
array_overlap(null::int[], array[i])
array_prepend(i, array[j])
array_prepend(i, null::int[])
array_prepend(null, array[j])
array_prepend(s, string_to_array(t, ','))
jsonb_contains('{"a": 1, "b": [1, {"c": null}]}', '{"b": [{"c": null}]}')
jsonb_contains(jsonb_build_object('a', i), '{"a": 1}')
jsonb_exists('{"a": 1, "o": null}', t)
jsonb_exists(to_jsonb(s), 'abc')
jsonb_exists('["o", 1]', t)
jsonb_delete_path('{"a": [1, {"b": 2}]}', '{a,1,b}')
jsonb_delete_path('{"a": [1, {"b": 2}]}', '{}')
jsonb_delete_path(to_jsonb(i), '{a}')
is_not_false(p)
is_not_false(p and q)
single_row(i, b)
single_row(s, null)
(row(i, s)).f1
(row(i, s)).f2
current_catalog
current_role
current_schema
session_user
"trim"(s)
"trim"(s, 'Hd')
"trim"(t, '')
user()
""".strip().splitlines()
