"""What is computed in the engine's process has the values and types that Spark gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import functions as F

from floodmark.spark.in_process.frame import LazyColumn, LazyFrame, UnsupportedQuery
from floodmark.spark.in_process.functions.lists import items_of
from floodmark.spark.in_process.parquet import parts_of
from floodmark.spark.in_process.query import Query
from floodmark.spark.in_process.shapes import Attempts, shape_of
from floodmark.spark.round_trips import fetch
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark

DDL = (
    "k int, i int, j int, b bigint, c bigint, n decimal(12,2), m decimal(9,4), w decimal(38,2), "
    "s string, t string, p boolean, q boolean, d date, ts timestamp_ntz, tz timestamp_ltz, "
    "x double, u string, v string, old timestamp_ntz, st struct<a: int, b: string>, l array<int>"
)
ROWS = 300
_TYPES = {
    "k": pa.int32(), "i": pa.int32(), "j": pa.int32(), "b": pa.int64(), "c": pa.int64(),
    "n": pa.decimal128(12, 2), "m": pa.decimal128(9, 4), "w": pa.decimal128(38, 2),
    "s": pa.string(), "t": pa.string(), "p": pa.bool_(), "q": pa.bool_(), "d": pa.date32(),
    "ts": pa.timestamp("us"), "tz": pa.timestamp("us", "UTC"), "x": pa.float64(),
    "u": pa.string(), "v": pa.string(), "old": pa.timestamp("us"),
    "st": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "l": pa.list_(pa.field("element", pa.int32())),
}  # fmt: skip
VALUES = (
    "i", "st.a", "st.b", "1", "2L", "-3", "5000000000L", "'it\\'s'", "'a\\\\b'", "X'00ff'", "TRUE",
    "CAST(NULL AS BIGINT)", "DATE'2024-02-29'", "TIMESTAMP_NTZ'2024-02-29 01:02:03.000004'",
    "TIMESTAMP_LTZ'2024-02-29 01:02:03.000004Z'", "CAST('12.34' AS decimal(10,2))",
    "p AND q", "p OR q", "NOT p", "p IS TRUE", "p IS NOT TRUE", "p IS NULL", "i IS NOT NULL",
    "i = j", "i <> j", "i < b", "b >= c", "s < t", "s <=> t", "n = m", "n < 5",
    "d < DATE'2024-03-01'",
    "ts <= TIMESTAMP_NTZ'2024-02-01 00:00:00'",
    "st <=> struct(1 AS a, 'a' AS b)",
    "i IN (1, 2, NULL)", "s IN ('a', 'b')", "i BETWEEN -2 AND 2", "n BETWEEN m AND 7",
    "i + j", "i - b", "b * 3L", "i % 7", "b div 4L", "pmod(b, 10L)", "-b", "abs(b)",
    "i | j", "i & 3", "(i | j) & 3", "i | (j & 3)",
    "shiftleft(CAST(i AS BIGINT), 47) | b", "shiftleft(b, 62)",
    "n + m", "n - w", "n * m", "CAST(n * m AS decimal(20,3))", "try_add(w, w)", "n * 3", "n + i",
    "b * (-3)", "i + (-(3))",
    "try_multiply(CAST(b AS DECIMAL(19,0)), i)", "-n", "abs(m)",
    "try_divide(n, m)", "try_cast(try_divide(w, b) AS decimal(38,16))",
    "try_divide(n, i)",
    "CAST(i AS BIGINT)", "CAST(b AS decimal(20,0))", "CAST(n AS decimal(10,1))",
    "CAST(i AS STRING)", "CAST('-007' AS INT)", "CAST(CAST(NULL AS STRING) AS INT)",
    "CAST(ts AS TIMESTAMP_LTZ)", "CAST(tz AS TIMESTAMP_NTZ)", "CAST(p AS INT)", "CAST(i AS DOUBLE)",
    "unix_micros(tz)", "timestamp_micros(b)", "date_trunc('hour', tz)", "date_trunc('MONTH', tz)",
    "date_trunc('week', tz)", "DATE_TRUNC ( 'Day', tz)",
    "date_format(ts, 'yyyy-MM-dd')", "date_format(tz, 'HH:mm:ss')",
    "length(s)", "left(s, 2)", "right(t, 1)", "concat(s, '-', t)",
    "concat_ws('; ', s, CAST(NULL AS STRING), t, CASE WHEN p THEN 'p' END)", "concat_ws('', s)",
    "nullif(i, 1)",
    "coalesce(i, j, 0)", "coalesce(b, i)", "coalesce(n, 0BD)", "least(i, j)", "greatest(b, c, 5L)",
    "least(s, t)", "greatest(s, t, 'b')",
    "CASE WHEN i > 0 THEN b WHEN j > 0 THEN -1 ELSE NULL END", "CASE WHEN p THEN s END",
    "CASE WHEN i <> 0 THEN b div i ELSE 0L END", "if(q, n, m)", "struct(i, s AS other)",
    "named_struct('a', 1, 'b', s)", "CASE WHEN p THEN struct(i, s) END", "array(i, j)",
    "filter(array(struct(i AS v), struct(j AS v)), e -> e.v IS NOT NULL)",
    "transform(l, e -> e * 2 + i)", "array(i, j)[1]", "sequence(0L, pmod(coalesce(b, 1L), 3L))",
    "CASE i WHEN 1 THEN 'one' WHEN j THEN 'j' WHEN NULL THEN 'never' ELSE s END",
    "CASE st.b WHEN 'a' THEN 1 END", "nullif(4, 0)", "nullif(4, 4)", "greatest(s, t)",
    "least(CAST(NULL AS string), s)",
    "ts + INTERVAL '-0 00:00:10.000000' DAY TO SECOND", "CAST(ts AS DATE)", "CAST(tz AS DATE)",
    "tz - INTERVAL '400 23:59:59.999999' DAY TO SECOND", "hour(ts)", "minute(tz)", "second(ts)",
    "hour(old)", "minute(old)", "second(old)", "year(old)", "dayofweek(old)", "CAST(old AS DATE)",
    "year(d)", "quarter(ts)", "month(tz)", "day(d)", "dayofweek(d)", "weekday(d)", "weekofyear(ts)",
    "dayofyear(tz)", "split_part(u, '/', nullif(4, 0))", "split_part(u, '/', 1)",
    "split_part(u, 'a/', 2)", "split_part(u, '//', 3)", "replace(u, 'a', '')",
    "replace(u, '//', 'xyz')", "replace(s, 'b')", "lower(v)", "upper(v)", "trim(u)", "ltrim(u)",
    "rtrim(u)", "trim(BOTH 'a/' FROM u)", "trim(LEADING 'é ' FROM s)", "reverse(s)", "reverse(u)",
    "contains(u, '/a')", "startswith(s, '')", "endswith(u, ' ')", "substring(s, 1, 1)",
    "substring(u, 3)", "substring(s, 2, 0)", "validate_utf8(s)", "s LIKE 'a%'", "u LIKE '%a/%'",
    "s NOT LIKE '_'", "u LIKE '%/_'", "u LIKE 'a.b%'", "u RLIKE '^[^/]*/[a-z]+'", "u RLIKE 'b|/a'",
    "s NOT RLIKE '^[^a]'", "get(regexp_extract_all(u, '(/|^)a=([^/]*)', 2), 0)",
    "get(regexp_extract_all(u, '(/|^)a=([^/]*)', 1), 0)",
    "get(regexp_extract_all(u, '(a)|(?:b{1,2}?)|[.x]', 1), 0)",
    "get(regexp_extract_all(u, '[^a-c]\\\\w*', 0), 0)", "get(regexp_extract_all(s, '(a?)'), 0)",
    "CASE WHEN FALSE THEN to_json(struct(i)) ELSE s END",
    "CASE WHEN i > 9 THEN to_json(struct(i, s), map('ignoreNullFields', 'false')) END",
)  # fmt: skip
AGGREGATES = (
    "count(*)", "count(i)", "count_if(i > 0)", "sum(i)", "sum(b)", "sum(n)", "sum(w)", "min(i)",
    "max(n)", "min(s)", "max(t)", "min(ts)", "max(d)", "bool_or(p)", "bool_and(q)",
    "try_sum(b)", "try_sum(n) FILTER (WHERE q)", "sum(i) FILTER (WHERE p)",
    "count(*) FILTER (WHERE q)",
    "coalesce(CAST(sum(j) AS BIGINT), 0L) + 1L",
    "max_by(struct(i, s), struct(k))", "min_by(s, k)",
    "first(struct(i - i AS a)) FILTER (WHERE i > 2)",
)  # fmt: skip
JOINS = (
    ("i = oj", "inner"), ("i <=> oj", "inner"), ("i <=> oj AND s <=> os", "left"),
    ("i = oj AND b > oc", "left"), ("i = oj", "left_semi"), ("i <=> oj", "left_anti"),
    ("i = oj AND b < oc", "left_anti"), ("i = oj", "right"), ("i = oj", "full"),
    ("n > om", "inner"),
)  # fmt: skip
WINDOWS = (
    "row_number() OVER (PARTITION BY j ORDER BY i DESC NULLS LAST, k)",
    "rank() OVER (PARTITION BY p ORDER BY i NULLS FIRST)",
    "dense_rank() OVER (PARTITION BY j, p ORDER BY s DESC, q)",
    "row_number() OVER (PARTITION BY j ORDER BY st DESC NULLS LAST, k)",
    "CAST(row_number() OVER (ORDER BY q, k) - 1 AS BIGINT)",
    "percent_rank() OVER (PARTITION BY p ORDER BY i)",
    "cume_dist() OVER (PARTITION BY p ORDER BY i DESC)",
    "ntile(4) OVER (PARTITION BY j ORDER BY k)",
    "ntile(7) OVER (PARTITION BY k % 70 ORDER BY k DESC)",
    "lag(b) OVER (PARTITION BY j ORDER BY i, k)",
    "lag(i, 3, -7) OVER (PARTITION BY k % 60 ORDER BY n DESC, k)",
    "lead(st, 2) OVER (PARTITION BY j ORDER BY ts DESC NULLS FIRST, k)",
    "lead(s, 1, t) OVER (ORDER BY d NULLS LAST, k)",
    "lag(n, 2) IGNORE NULLS OVER (PARTITION BY j ORDER BY k)",
    "lead(b, 1, c) IGNORE NULLS OVER (PARTITION BY p, q ORDER BY k)",
    "coalesce(b - lag(b) OVER (PARTITION BY j ORDER BY b) > 10000L, TRUE)",
    "first_value(s) OVER (PARTITION BY j ORDER BY k)",
    "first(s) OVER (PARTITION BY j ORDER BY k ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)",
    "first_value(i) IGNORE NULLS OVER (PARTITION BY j ORDER BY k ROWS BETWEEN 1 PRECEDING "
    "AND 1 PRECEDING)",
    "last_value(i) OVER (PARTITION BY j ORDER BY k ROWS 2 PRECEDING)",
    "last_value(n) IGNORE NULLS OVER (PARTITION BY p ORDER BY k)",
    "last(s, true) OVER (PARTITION BY j ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING "
    "AND UNBOUNDED FOLLOWING)",
    "any_value(l) OVER (PARTITION BY j ORDER BY k)",
    "max_by(s, k) OVER (PARTITION BY j ORDER BY i)",
    "min_by(k, c) OVER (PARTITION BY j ORDER BY k)",
    "min_by(s, CASE WHEN p THEN k END) OVER (PARTITION BY j ORDER BY i RANGE BETWEEN CURRENT ROW "
    "AND UNBOUNDED FOLLOWING)",
    "count_if(p) OVER (PARTITION BY j ORDER BY i)",
    "sum(CAST(NULL AS decimal(9,2))) OVER (PARTITION BY j ORDER BY i)",
    "max(CAST(NULL AS STRING)) OVER (PARTITION BY j ORDER BY k)",
    "lag(CAST(NULL AS INT)) IGNORE NULLS OVER (PARTITION BY j ORDER BY k)",
    "first_value(CASE WHEN j > 9 THEN st END) IGNORE NULLS OVER (ORDER BY k)",
    "dense_rank() OVER (PARTITION BY s ORDER BY i DESC NULLS FIRST, d, p DESC)",
    "rank() OVER (PARTITION BY p ORDER BY st.a DESC, CAST(i AS TINYINT), old)",
    "row_number() OVER (ORDER BY old DESC, b * 1000000L, tz DESC, d NULLS LAST, k DESC)",
    "sum(st.a) OVER (PARTITION BY p ORDER BY st.a ASC, st.b ASC)",
)
OF_FRAMES = (
    "count(*)", "count(i)", "count_if(p)", "sum(i)", "sum(b)", "sum(n)", "try_sum(b)",
    "try_sum(CAST(b AS decimal(19,0)))", "min(i)", "max(n)", "min(s)", "max(t)", "min(ts)",
    "max(d)", "min(w)", "bool_or(p)", "bool_and(q)",
)  # fmt: skip
FRAMES = (
    "OVER (PARTITION BY j)",
    "OVER ()",
    "OVER (PARTITION BY 1, p ORDER BY i)",
    "OVER (ORDER BY s DESC NULLS FIRST, q)",
    "OVER (PARTITION BY k % 80 ORDER BY k)",
    "OVER (PARTITION BY j ORDER BY i RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "OVER (PARTITION BY j ORDER BY i RANGE BETWEEN CURRENT ROW AND CURRENT ROW)",
    "OVER (PARTITION BY j ORDER BY i RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "OVER (PARTITION BY j RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "OVER (PARTITION BY j ORDER BY k DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "OVER (PARTITION BY j ORDER BY k ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "OVER (PARTITION BY j ORDER BY k ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)",
    "OVER (PARTITION BY j ORDER BY i RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    "OVER (PARTITION BY p ORDER BY b DESC NULLS FIRST RANGE BETWEEN 90000L PRECEDING AND 7L "
    "PRECEDING)",
    "OVER (ORDER BY CAST(i AS BIGINT) NULLS LAST RANGE BETWEEN UNBOUNDED PRECEDING AND 1L "
    "FOLLOWING)",
    "OVER (PARTITION BY k % 70 ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND 50000L PRECEDING)",
    "OVER (PARTITION BY k % 70 ORDER BY b DESC RANGE BETWEEN 50000L FOLLOWING AND UNBOUNDED "
    "FOLLOWING)",
    "OVER (PARTITION BY j ORDER BY b * 1000000000L RANGE BETWEEN 0L PRECEDING AND 1L FOLLOWING)",
    "OVER (PARTITION BY p ORDER BY k ROWS BETWEEN 10 PRECEDING AND 20 FOLLOWING)",
    "OVER (PARTITION BY k % 70 ORDER BY k ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)",
    "over (partition by j order by k rows between 1 preceding and 2 following)",
    "over (partition by j order by i range between 2 preceding and unbounded following)",
)


LEFT_TO_SPARK: dict[str, Callable[[Any], Any]] = {
    "fields": lambda rows: rows.selectExpr("k", "st.*"),
    "all but one": lambda rows: rows.selectExpr("* EXCEPT (k)"),
    "no side": lambda rows: _joined(rows).select(F.col("m.*")),
    "drop K": lambda rows: rows.drop("K"),
    "add K": lambda rows: rows.withColumn("K", F.expr("i")),
    "add one of two": lambda rows: _joined(rows).withColumn("k", F.expr("1")),
    "rename K": lambda rows: rows.withColumnRenamed("K", "z"),
    "union of k and K": lambda rows: rows.selectExpr("k").unionByName(
        rows.selectExpr("k AS K"), allowMissingColumns=True
    ),
    "union of k and i": lambda rows: rows.selectExpr("k").unionByName(rows.selectExpr("k", "i")),
    "column k i": lambda rows: rows.select(F.col("k i")),
    "column k-i": lambda rows: rows.select(F.col("k-i").alias("c")),
    "column true": lambda rows: rows.select(F.col("true").alias("c")),
    "a condition of no type": lambda rows: rows.where("NULL"),
    "a filter of no type": lambda rows: _sum(rows, "count(*) FILTER (WHERE NULL)"),
    "a join of no type": lambda rows: rows.select("k").join(rows.select("i"), F.expr("NULL")),
    "the number of a column": lambda rows: rows.sort(F.expr("2").desc()).limit(5),
    "a number before a column": lambda rows: rows.sort(F.expr("(2)"), "k"),
    "a long range": lambda rows: rows.sparkSession.range(-(2**63), 2**63 - 1),
    "several of the highest": lambda rows: _sum(rows, "max_by(k, k, 2)"),
    "a key like a column": lambda rows: rows.groupBy(F.expr("i + 1").alias("i")).agg(
        F.expr("max(i) + i").alias("c")
    ),
    "a key like another column": lambda rows: rows.groupBy(F.expr("j").alias("i")).agg(
        F.expr("max(i) + i").alias("c")
    ),
    "a field like a column": lambda rows: (
        rows.selectExpr("i AS a", "st").groupBy("st.a").agg(F.expr("max(a) + a").alias("c"))
    ),
}
"""Plans that could differ."""


def _joined(rows: Any) -> Any:
    left, right = rows.select("k", "i").alias("l"), rows.select("k", "s").alias("R")
    return left.join(right, F.expr("l.k <=> r.k"))


def _row(r: random.Random, k: int) -> dict[str, Any]:
    def some(make: Callable[[], Any]) -> Any:
        return None if r.random() < 0.2 else make()

    def stamp() -> datetime:
        return datetime(2024, 1, 1) + timedelta(microseconds=r.randrange(10**13))

    def old() -> datetime:
        return datetime(1500, 1, 1) + timedelta(microseconds=r.randrange(10**16))

    def text() -> str:
        return r.choice(("", "a", "b", "ab", "é", "a\u0000", "zz", "\U0001f600x"))

    return {
        "k": k, "i": some(lambda: r.randrange(-5, 6)), "j": some(lambda: r.randrange(-2, 3)),
        "b": some(lambda: r.randrange(-(10**6), 10**6)), "c": some(lambda: r.randrange(-9, 9)),
        "n": some(lambda: Decimal(r.randrange(-10**4, 10**4)).scaleb(-2)),
        "m": some(lambda: Decimal(r.randrange(-10**5, 10**5)).scaleb(-4)),
        "w": some(lambda: Decimal(r.randrange(-10**20, 10**20)).scaleb(-2)),
        "s": some(text), "t": some(text), "p": some(lambda: r.random() < 0.5),
        "q": some(lambda: r.random() < 0.5), "d": some(lambda: stamp().date()), "ts": some(stamp),
        "tz": some(lambda: stamp().replace(tzinfo=UTC)), "x": some(r.random),
        "u": some(lambda: "".join(r.choices(("a", "b", "/", "/a=", " ", "\n", "é", "."), k=9))),
        "v": some(lambda: r.choice(("", "aB", "Z{@[`a"))), "old": some(old),
        "st": some(lambda: {"a": some(lambda: r.randrange(3)), "b": some(text)}),
        "l": some(lambda: [some(lambda: r.randrange(9)) for _ in range(r.randrange(4))]),
    }  # fmt: skip


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    columns = {c: pa.array([row[c] for row in rows], type_) for c, type_ in _TYPES.items()}
    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.fixture(scope="module")
def rows(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return rows of all types, as Spark reads them from a file."""
    r = random.Random(7)
    path = _write(
        tmp_path_factory.mktemp("rows") / "rows.parquet", [_row(r, k) for k in range(ROWS)]
    )
    return sessions.main.read.schema(DDL).parquet(path)


def _computed(frame: Any) -> pa.Table:
    """Return the rows of a query as they are computed in this process."""
    plan = frame._plan.to_proto(frame._session.client).root
    shape_of(plan)
    columns = Query().rows(plan).visible
    return pa.table([c.values for c in columns], [c.name for c in columns])


def _differences(frame: Any) -> list[str]:
    """Return the columns whose types or values are others than those of Spark."""
    here, there = _computed(frame), fetch(frame)
    assert here.column_names == there.column_names
    out = []
    for name in here.column_names:
        ours, theirs = here.column(name), there.column(name)
        types = [str(c.type).replace(" not null", "") for c in (ours, theirs)]
        values = [sorted(map(repr, c.to_pylist())) for c in (ours, theirs)]
        if types[0] != types[1] or values[0] != values[1]:
            found = next((p for p in zip(*values, strict=False) if p[0] != p[1]), None)
            out.append(f"{name}: {types} {found}")
    return out


def _named(texts: Sequence[str]) -> list[str]:
    return [f"{text} AS c{i}" for i, text in enumerate(texts)]


def test_expressions(rows: Any) -> None:
    names = dict(zip((f"c{i}" for i in range(len(VALUES))), VALUES, strict=True))
    found = _differences(rows.selectExpr(*_named(VALUES)))
    assert not [(names[text.partition(":")[0]], text) for text in found]


@pytest.mark.parametrize("by", [(), ("j",), ("j", "p", "s"), ("n",), ("st.a",), ("x",)])
def test_aggregates(rows: Any, by: tuple[str, ...]) -> None:
    calls = [F.expr(text).alias(f"c{i}") for i, text in enumerate(AGGREGATES)]
    keys = rows.selectExpr("*", *(f"{key} AS g{i}" for i, key in enumerate(by)))
    grouped = keys.groupBy(*(f"g{i}" for i in range(len(by)))).agg(*calls)
    assert _differences(grouped) == []
    if not by:
        assert _differences(keys.where("k < 0").groupBy().agg(*calls)) == []


@pytest.mark.parametrize("by", [(), ("j",)])
def test_the_last_of_rows_that_are_alike(rows: Any, by: tuple[str, ...]) -> None:
    # With texts Spark would sort the rows by their groups, and not keep their order.
    texts = ("min_by(k, coalesce(c, 0L))", "max_by(k, coalesce(c, 0L))")
    calls = [F.expr(text).alias(f"c{i}") for i, text in enumerate(texts)]
    assert _differences(rows.groupBy(*by).agg(*calls)) == []


@pytest.mark.parametrize(("condition", "kind"), JOINS)
def test_joins(rows: Any, condition: str, kind: str) -> None:
    ours = rows.selectExpr("k", "i", "b", "s", "n").where("k < 60")
    theirs = rows.where("k < 50").selectExpr("j AS oj", "c AS oc", "t AS os", "m AS om", "k AS ok")
    joined = ours.join(theirs, F.expr(condition), kind)
    whole = joined.selectExpr(f"struct({', '.join(joined.columns)}) AS whole")
    assert _differences(whole) == []


@pytest.mark.parametrize("frame", FRAMES)
def test_aggregates_of_frames(rows: Any, frame: str) -> None:
    values = [f"{call} {frame} AS c{i}" for i, call in enumerate(OF_FRAMES)]
    beside_keys = [f"struct(k, c{i}) AS c{i}" for i in range(len(values))]
    assert _differences(rows.selectExpr("k", *values).selectExpr(*beside_keys)) == []
    assert _differences(rows.where("k < 0").selectExpr(*values)) == []


@pytest.mark.parametrize("text", WINDOWS)
def test_places_of_rows(rows: Any, text: str) -> None:
    assert _differences(rows.selectExpr(f"struct(k, {text} AS place) AS whole")) == []


def test_rows_of_files_lists_and_unions(rows: Any) -> None:
    lists = rows.selectExpr(
        "k", "explode(array(CAST(7 AS BIGINT))) AS e", "_metadata.row_index AS r"
    )
    assert _differences(lists) == []
    many = rows.selectExpr("k", "explode(filter(array(i, j), e -> e > 0)) AS e")
    assert _differences(many.selectExpr("struct(k, e) AS whole")) == []
    fields = rows.selectExpr("k", "inline(array(struct(1 AS a, 'x' AS b)))").where("k % 2 = 0")
    assert _differences(fields) == []
    both = rows.selectExpr("i", "b AS v").unionAll(rows.selectExpr("j", "CAST(i AS BIGINT) AS v"))
    assert _differences(both.selectExpr("struct(i, v) AS whole")) == []
    assert _differences(both.distinct().selectExpr("struct(i, v) AS whole")) == []


def test_names_of_columns(rows: Any) -> None:
    for side in ("l", "L", "r"):
        assert _differences(_joined(rows).selectExpr(f"{side}.*")) == []
        assert _differences(_joined(rows).select(F.col(f"{side}.*"))) == []
    placed = rows.withColumns({"z": F.expr("k"), "row_index": F.expr("i"), "k": F.expr("k + 1")})
    assert _differences(placed) == []
    united = rows.select("k", "i").unionByName(rows.select("k", "s"), allowMissingColumns=True)
    assert _differences(united.selectExpr("struct(k, i, s) AS whole")) == []


@pytest.mark.parametrize(
    "text",
    [
        "CAST(9223372036854775807L - k AS BIGINT) + 5L", "CAST(s AS INT)", "b / 3", "upper(s)",
        "raise_error(s)", "rand()", "lower(s)", "u RLIKE 'a.b'", "u RLIKE 'a$'", "u RLIKE '(a*)*'",
        "u LIKE 'a\\\\%'", "split_part(u, '/', -1)", "regexp_extract_all(u, 'a', 0)",
        "ts + INTERVAL '1' MONTH", "INTERVAL '0 00:00:10.000000' DAY TO SECOND",
        "u RLIKE 'a++'", "u RLIKE '[a&&b]'", "u RLIKE '\\\\s'", "u RLIKE '(?i)a'",
        "x < CAST('NaN' AS DOUBLE)", "CAST(x AS STRING)",
        "b div (i - i)",
        "to_json(struct(i))", "to_json(struct(i), map('ignoreNullFields', 'false'))", 
        "map(i, j)", "shiftleft(b, 63)",
        "CAST(b * 1000000L AS INT)", "l = l", "date_format(ts, 'yyyy G')",
        "date_format(ts, 'YYYY')", "date_format(ts, 'yyyyy')", "date_format(ts, 'yyyy[-MM]')",
        "try_cast('12345678901' AS decimal(38,30))",
        "CAST(if(p, w, CAST('12345678901' AS decimal(38,2))) AS decimal(38,30))",
        "if(p, CAST('99999999999999999999' AS decimal(38,0)), 0BD) < CAST(1 AS decimal(38,36))",
        "sum(x) OVER (PARTITION BY i)",
        "min(x) OVER (PARTITION BY i ORDER BY k)",
        "sum(b * 1000000000000L) OVER (PARTITION BY i ORDER BY k)",
        "sum(w * 10000000000BD) OVER (PARTITION BY i ORDER BY k)",
        "row_number() OVER (PARTITION BY i ORDER BY x)",
        "sum(b) OVER (ORDER BY i RANGE BETWEEN 2147483647 PRECEDING AND CURRENT ROW)",
        "sum(b) OVER (ORDER BY d RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
        "collect_list(b) OVER (ORDER BY i)",
        "first_value(b) OVER (PARTITION BY i)",
        "get(regexp_extract_all(s, 'a)(b', 1), 0)",
        "n + (-5)",
        "n + 5L",
        "posexplode(l) AS (place, c)",
        "explode_outer(l)",
        "i | j & 3", "i & shiftleft(b, 1) | j", "shiftleft(b | c, 2)",
        *(f"date_trunc('{unit}', tz)" for unit in ("D", "h", "M", "q", "W", "mon")),
        "date_trunc('D', date_trunc('hour', tz))",
        "max_by(k, k, 2) OVER (PARTITION BY j ORDER BY i)",
        "try_divide(i, j)", "try_divide(b, 3)", "sequence(1, 3)", "sequence(1, 3L)",
        "CAST('0x10' AS INT)", "CAST(' 1' AS BIGINT)", "CAST('' AS INT)",
        "CAST(s AS STRING COLLATE UTF8_LCASE) = 'B'", "s COLLATE UTF8_LCASE = 'B'",
        "CAST(struct(s) AS STRUCT<a: STRING COLLATE UTF8_LCASE>)",
    ],
)  # fmt: skip
def test_what_could_differ_is_left_to_spark(rows: Any, text: str) -> None:
    with pytest.raises((UnsupportedQuery, pa.ArrowException, ValueError)):
        _computed(rows.selectExpr(f"{text} AS c"))


@pytest.mark.parametrize("name", LEFT_TO_SPARK)
def test_plans_that_could_differ_are_left_to_spark(rows: Any, name: str) -> None:
    with pytest.raises(UnsupportedQuery):
        _computed(LEFT_TO_SPARK[name](rows))


def test_zeros_that_spark_makes_alike_are_left_to_it(sessions: Sessions, tmp_path: Path) -> None:
    r = random.Random(2)
    made = [{**_row(r, k), "x": x} for k, x in enumerate((0.0, -0.0))]
    rows = sessions.main.read.schema(DDL).parquet(_write(tmp_path / "rows.parquet", made))
    with pytest.raises(UnsupportedQuery):
        _computed(rows.groupBy("x").agg(F.expr("count(*)").alias("c")))


def test_what_fails_is_tried_again_ever_more_rarely() -> None:
    attempts, tried = Attempts(), []
    for query in range(20):
        try:
            attempts.refuse_failed(1)
            tried.append(query)
        except UnsupportedQuery:
            pass
        attempts.note(1, done=False)
    assert tried == [0, 1, 2, 4, 8, 16]
    attempts.note(1, done=True)
    attempts.refuse_failed(1)


def test_sums_that_may_be_out_of_range_are_left_to_spark(
    sessions: Sessions, tmp_path: Path
) -> None:
    r = random.Random(1)
    made = [{**_row(r, k), "b": 2**62, "w": Decimal(9 * 10**37).scaleb(-2)} for k in range(4)]
    rows = sessions.main.read.schema(DDL).parquet(_write(tmp_path / "rows.parquet", made))
    for text in ("sum(b)", "sum(w)"):
        with pytest.raises(UnsupportedQuery):
            _computed(_sum(rows, text))


def test_items_and_rows_that_arrow_loses_are_left_to_spark() -> None:
    offsets, items = pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3])
    with pytest.raises(UnsupportedQuery):
        items_of(pa.ListArray.from_arrays(offsets, items, mask=pa.array([True, False])))
    route = LazyColumn("route", lambda: pa.array([1, None]))
    with pytest.raises(UnsupportedQuery):
        parts_of(LazyFrame(2, [LazyColumn("k", lambda: pa.array([1, 2])), route]), "route")


def _sum(rows: Any, text: str) -> Any:
    return rows.groupBy().agg(F.expr(text).alias("c"))
