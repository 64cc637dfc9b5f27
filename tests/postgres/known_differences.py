# ruff: noqa: E501
"""What is meant to be different from PostgreSQL; docs/sql.md tells each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.postgres.comparison import Difference


@dataclass(frozen=True, slots=True)
class Known:
    """One difference: an expression that has it, and patterns of all that have it.

    `told` stands in docs/sql.md. `asked` is looked for in the expression, `mine` and `theirs` in
    what the two say.
    """

    told: str
    example: str
    asked: str
    mine: str
    theirs: str

    def holds(self, found: Difference) -> bool:
        """Tell whether a difference is this one."""
        said = ((self.asked, found.text), (self.mine, found.mine.shown), (self.theirs, found.said))
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in said)


_TEXT = r"character varying|jsonb|bytea|\((smallint|integer|bigint|boolean)\)$|^E0258$"
_REFUSED = r"^E0(258|271|622|623|624)$"
KNOWN = (
    Known("dates and timestamps have the years 1 to 9999", "'9999-12-31'::date + 1", "", _REFUSED, r" BC\b|\b\d{5,}-\d\d-\d\d"),
    Known("others, and `infinity`, are refused where they are made", "to_timestamp('Infinity'::double precision)", r"(?i)infinity|to_timestamp", _REFUSED, r"^-?infinity \("),
    Known("what has more than 38 digits is refused (E0622)", "'99.995'::numeric + '9999999999999999999999999999'::numeric(38,0)", "numeric", r"^E0(622|271)$", r"^-?\d+(\.\d+)? \(numeric\)$"),
    Known("NUMERIC has no `NaN` and no `Infinity`", "'NaN'::real::numeric(9,4)", "numeric|to_number", _REFUSED, r"^(NaN|-?Infinity) \(numeric\)$"),
    Known("one that would become 0 is refused", "'1.2e-38'::real::numeric(38,10)", r"(real|double precision).*numeric\(38,10\)|::numeric", _REFUSED, r"^-?0\.0{10} \(numeric\)$"),
    Known("DOUBLE keeps 17 digits as NUMERIC, in PostgreSQL 15", "'9007199254740993'::double precision::numeric", r"double precision.*numeric", r"^\d{16}", r"^\d{15}0"),
    Known("the sum, difference, product and quotient of REAL or DOUBLE, and a cast from DOUBLE to REAL, can be `Infinity`", "'1e300'::double precision * '1e300'::double precision", r" [-+*/] |(?<!')(?<!text)::real|sinh|cosh", r"^-?Infinity \((real|double)", r"^22003"),
    Known("or 0 where the result is too small", "'1.2e-38'::real * '1.2e-38'::real", r" [*/] |(?<!')(?<!text)::real", r"^-?0 \((real|double)", r"^22003"),
    Known("A bare NUMERIC prints without zeros at its end", "'1.50'::numeric(38,10)::text", r"numeric\(38,10\)", _TEXT, r"\.\d*0|2e(3\d)*30"),
    Known("`pg_typeof` names the types as declared here", "pg_typeof('a'::text)", r"pg_typeof\(", r"^(character varying|numeric\()", r"\((regtype|text)\)$"),
    Known("`make_interval` refuses parts that do not fit", "make_interval(0, 2147483647, 2147483647, 2147483647)", r"make_interval\(", _REFUSED, r"\(interval\)$|^22008"),
    Known("letters change their case as Unicode says", "lower('İ'::text)", r"(lower|upper|initcap|regexp_match|regexp_replace|ILIKE).*[İﬃǅ]|[İﬃǅ].*ILIKE", "", ""),
    Known("a JSONB scalar has no elements: `-> 0` is NULL", "'1'::jsonb -> 0", r"jsonb.*->", r"^None", r"\((jsonb|text)\)$"),
    Known("a NULL in the array of `?&` and `?|` is no key of it", "'{}'::jsonb ?& ARRAY[NULL::text]", r"\?&.*NULL", r"^false", r"^true"),
    Known("an object joins objects and arrays only", "'{}'::jsonb || '1'::jsonb", r"jsonb.*\|\|", r"^E0(625|271)$", r"^\[.*\(jsonb\)$"),
    Known("A path that is of no number is refused in an array", "'[]'::jsonb #- '{a}'", r"#-|jsonb_(delete_path|set)", r"^E0(625|271)$", r"\(jsonb\)$"),
    Known("JSONB prints without spaces", "'{\"a\": [1, 2]}'::jsonb::text", r"jsonb", _TEXT, r"(\": |, |3a20|2c20)"),
    Known("JSONB prints numbers without zeros at their end", "'-1.50'::jsonb::text", r"jsonb", _TEXT, r"\.\d*0\b|2e3530"),
    Known("those with an exponent as doubles", "'1e2'::jsonb::text", r"jsonb", r"^100\.0 |^E0258|^.x3130302e30 ", r"^100 |^.x313030 "),
    Known("refuses one that no double holds", "'[1e400]'::jsonb::text", r"\de[+-]?\d{3}.*jsonb", _REFUSED, r"\((jsonb|text)\)$"),
    Known("JSONB becomes a truth value as its text does", "'1'::jsonb::boolean", r"jsonb\)?::boolean", r"\(boolean\)", r"^22023"),
    Known("a text that becomes a number is decimal", "'0x1f'::text::real", r"0x1f", r"^E0(258|623)", r"\((real|double precision)\)$"),
    Known("equal intervals, such as `1 day` and `24 hours`, are one group, partner of a join or member of a set, shown in days and time", "(SELECT array_agg(DISTINCT x ORDER BY x) FROM (VALUES ('1 mon'::interval)) t(x))", r"SELECT.*interval", r"\(interval\[\]\)$", r"mon|year"),
    Known("where one beyond 292,000 years is refused (E0624)", "(SELECT count(DISTINCT x) FROM (VALUES ('178000000 years'::interval)) t(x))", r"SELECT.*178000000 years", r"^E0624", r"\(bigint"),
    Known("a key of `jsonb_build_object` is the text of its value", "jsonb_build_object('2024-01-01 00:00'::timestamp, 1)", r"jsonb_build_object\(", r"^{\"\d+-\d\d-\d\d \d\d", r"^{\"\d+-\d\d-\d\dT\d\d"),
    Known("poles of `cot` and `atanh` are refused", "cot('0'::double precision)", r"(cot|atanh)\(", r"^E0(625|271)$", r"^-?Infinity"),
    Known("a text may have the character 0", "convert_from('\\x00'::bytea, 'UTF8')", r"convert_from\(", r"\(character varying\)$", r"^22021"),
    Known("a LIKE pattern that ends in its escape character is refused for every text", "'7'::text LIKE trim('a\\ '::text)", r"LIKE", r"^E0(625|271)$", r"^(true|false) "),
    Known("`overlay` takes positions beyond the end as the end", "overlay('abc' PLACING 'x' FROM 2147483647)", r"overlay\(", r"\(character varying\)$", r"^22003"),
    Known("a quotient of wide NUMERICs is rounded to fewer decimals first", "'0.5'::numeric(38,10) / '7'::numeric(38,20)", r" / .*numeric\(38", r"\(numeric", r"\(numeric\)$"),
    Known("`factorial` refuses more than `33!`", "factorial(34)", r"factorial\(", r"^E0(622|271)$", r"^\d{39,} \(numeric"),
    Known("`width_bucket` counts buckets between bounds of any distance", "width_bucket('1e308'::double precision, '-1e308'::double precision, '1.5e308'::double precision, 10)", r"width_bucket\(", r"\(integer\)$", r"\(integer\)$"),
    Known("an interval times a whole number is exact", "'00:00:00.000001'::interval * 9223372036854775807", r"interval.* \* |\* .*interval", r"\(interval\)$", r"^22008|\(interval\)$"),
    Known("a constant without a value is refused where it is asked for", "coalesce(convert_to('a'::text, 'UTF8'), substr(''::bytea, 1, -1))", r"coalesce|CASE|nullif", r"^[^E]", r"^22"),
    Known("an error of an argument wins over NULL beside it", "date_bin('1 day', NULL::timestamptz, '1970-01-01 00:00:00+00'::timestamptz + '2147483647 days'::interval)", r"NULL|substring\(|#>>|->", r"^E06", r"^None"),
    Known("`repeat`, `lpad` and `rpad` refuse texts beyond 10 million characters", "length(repeat('abcdefghijk', 1000000))", r"(repeat|[lr]pad)\(", r"^E0(625|271)$", r"\((text|integer)\)$"),
    Known("`sign('NaN')` is `NaN`", "sign('NaN'::double precision)", r"sign\(", r"^NaN", r"^0 "),
    Known("`NaN` divided by 0 is refused", "'NaN'::double precision / '0'", r"NaN.* / ", r"^E06|^E0271", r"^NaN"),
    Known("of a local time that comes twice `AT TIME ZONE` takes the first", "'2024-10-27 02:30'::timestamp AT TIME ZONE 'Europe/Berlin'", r"AT TIME ZONE|timezone\(", r"\(timestamp with time zone\)$", r"\(timestamp with time zone\)$"),
    Known("`div` and `generate_series` are not of NUMERIC", "div(7, 2) / 2", r"div\(", r"\((smallint|integer|bigint)\)$|^E0(622|271)$|^(smallint|integer|bigint) ", r"\(numeric\)$|^numeric "),
    Known("a time of day moves by the whole interval", "'01:00'::time + '2562047788 hours'::interval", r"time without time zone [-+]|time [-+]", r"^05:00:00 |\(time without", r"\(time without time zone\)$"),
    Known("`left` and `right` take `-2147483648` as any other number", "right('abc', '-2147483648'::int)", r"(left|right)\(.*-2147483648", r"^ \(character", r"\(text\)$"),
    Known("a text becomes TIME where it is hours, minutes and seconds with colons", "'2024-02-29 13:45:12'::text::time", r"::time without time zone|::time\b", r"^E0(258|623)$", r"\(time without time zone\)$"),
    Known("and the sum of REAL is", "(SELECT sum(x) FROM (VALUES ('0.1'::real), (0.2::real)) t(x))", r"sum\(.*real", r"\(double precision\)$", r"\(real\)$"),
)  # fmt: skip


def unknown(found: Difference) -> bool:
    """Tell whether a difference is none of these."""
    return not any(known.holds(found) for known in KNOWN)
