"""TRANSFORM USING: what is refused, where and with which advice; what the parts are."""

from __future__ import annotations

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.errors import FloodmarkError
from floodmark.plan.declaration import RowTransform
from floodmark.plan.expr.printing import to_text
from tests.program_reference import compile_sql

BEFORE = """
CREATE TABLE other (k INT PRIMARY KEY);
CREATE FUNCTION plus(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION asks(a int) RETURNS int LANGUAGE python AS $$
def asks(a):
    return a
$$;
"""
COLUMNS = "id INT, kind VARCHAR, n INT, ts TIMESTAMPTZ, until TIMESTAMPTZ, tags VARCHAR[]"


def _source(query: str, columns: str = COLUMNS, after: str = "") -> str:
    options = "WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON"
    included = "INCLUDE INGESTION TIMESTAMP AS seen"
    return (
        f"{BEFORE}CREATE SOURCE s ({columns}) {options} {included} TRANSFORM USING ({query}){after}"
    )


def _transform(query: str, columns: str = COLUMNS) -> RowTransform:
    declared = compile_sql(_source(query, columns))["s"].declared
    assert declared is not None and declared.transform is not None
    return declared.transform


def _refused(sql: str) -> FloodmarkError:
    with pytest.raises(FloodmarkError) as found:
        compile_sql(sql)
    return found.value


ROWS = "as a materialized view"
AGGREGATE = "aggregate, GROUP BY or DISTINCT"
MORE_THAN_A_ROW = [
    ("SELECT count(*) FROM s", AGGREGATE, "SELECT count(*) FROM s"),
    ("SELECT kind FROM s GROUP BY kind", AGGREGATE, "GROUP BY kind"),
    ("SELECT kind, max(n) FROM s GROUP BY 1 HAVING max(n) > 1", AGGREGATE, "GROUP BY 1"),
    ("SELECT DISTINCT kind FROM s", AGGREGATE, "DISTINCT"),
    ("SELECT DISTINCT ON (id) id FROM s", "DISTINCT ON", "DISTINCT ON (id)"),
    ("SELECT id FROM s ORDER BY id", "ORDER BY", "ORDER BY id"),
    ("SELECT id FROM s LIMIT 3", "LIMIT", "LIMIT 3"),
    ("SELECT id FROM s FETCH FIRST 2 ROWS ONLY", "LIMIT", "FETCH FIRST 2 ROWS ONLY"),
    ("SELECT id FROM s UNION ALL SELECT n FROM s", "UNION", "UNION ALL"),
    ("SELECT id FROM s UNION SELECT n FROM s", "UNION", "UNION"),
    ("SELECT id FROM s INTERSECT SELECT n FROM s", "INTERSECT", "INTERSECT"),
    ("SELECT id FROM s EXCEPT SELECT n FROM s", "EXCEPT", "EXCEPT"),
    ("SELECT row_number() OVER (ORDER BY id) FROM s", "window function", "row_number() OVER"),
    ("SELECT sum(n) OVER (PARTITION BY id) FROM s", "window function", "sum(n) OVER"),
    ("SELECT unnest(tags) FROM s", "several rows", "unnest(tags)"),
    ("SELECT id, t FROM s, unnest(tags) AS t", "several rows", "unnest(tags) AS t"),
    ("SELECT generate_series(1, n) FROM s", "several rows", "generate_series(1, n)"),
    ("SELECT a.id FROM s AS a JOIN s AS b ON a.id = b.n", "a join", "JOIN s AS b ON a.id = b.n"),
    ("SELECT a.id FROM s AS a LEFT JOIN s AS b ON true", "a join", "LEFT JOIN s AS b ON true"),
    ("SELECT a.id FROM s AS a, s AS b", "a join", ", s AS b"),
    ("SELECT id, (SELECT max(n) FROM s) FROM s", "subquery", "(SELECT max(n) FROM s)"),
    ("SELECT id FROM s WHERE n > (SELECT min(n) FROM s)", "subquery", "(SELECT min(n) FROM s)"),
    ("SELECT id FROM s WHERE id IN (SELECT n FROM s)", "subquery", "id IN (SELECT n FROM s)"),
    ("SELECT id FROM s WHERE id NOT IN (SELECT n FROM s)", "subquery", "id NOT IN"),
    ("SELECT id FROM s WHERE EXISTS (SELECT 1 FROM s AS b WHERE b.n = s.id)", "subquery",
     "EXISTS (SELECT"),
    ("SELECT id FROM TUMBLE(s, ts, INTERVAL '1 hour')", "window of time", "TUMBLE(s"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "what", "place"), MORE_THAN_A_ROW)
def test_more_than_a_row_is_refused_where_it_stands(query: str, what: str, place: str) -> None:
    error = _refused(_source(query))
    assert error.code == "E0345" and what in error.message
    assert error.span is not None and place in error.span.text
    assert error.span.text in query and ROWS in (error.hint or "")
    line, caret = error.render().split("\n")[3:5]
    shown = line[caret.index("^") : caret.index("^") + len(error.span.text)]
    assert shown == error.span.text.split("\n")[0] and set(caret[caret.index("^") :]) == {"^"}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT k FROM other", "other"),
        ("SELECT id FROM s JOIN other ON k = id", "other"),
        ("SELECT id FROM s CROSS JOIN other", "other"),
        ("SELECT id, (SELECT max(k) FROM other) FROM s", "other"),
        ("SELECT id FROM s WHERE id IN (SELECT k FROM other)", "other"),
        ("SELECT id FROM s WHERE EXISTS (SELECT 1 FROM other)", "other"),
        ("SELECT id FROM s WHERE now() < (SELECT max(k)::text::timestamptz FROM other)", "other"),
        ("WITH c AS (SELECT k FROM other) SELECT k FROM c", "other"),
        ("SELECT id FROM nowhere", "nowhere"),
        ("SELECT id FROM s__changes", "s__changes"),
        ("SELECT epoch FROM floodmark.epochs", "floodmark.epochs"),
    ],
)
def test_another_relation_is_refused_where_it_stands(query: str, place: str) -> None:
    error = _refused(_source(query))
    assert error.code == "E0345" and place in error.message
    assert error.span is not None and error.span.text == place
    assert error.hint == "it sees one row of s at a time; join in a view over the source"


@pytest.mark.parametrize(
    "query", ["SELECT 1 AS one", "VALUES (1)", "WITH s AS (SELECT 1 AS id) SELECT id FROM s"]
)
def test_a_query_that_reads_nothing_is_refused(query: str) -> None:
    error = _refused(_source(query))
    assert error.code == "E0345" and error.span is not None and error.span.text == query
    assert error.message == "TRANSFORM USING reads nothing of the source"


@pytest.mark.parametrize(
    ("query", "place", "hint"),
    [
        ("SELECT random() AS r FROM s", "random()", "in a materialized view"),
        ("SELECT gen_random_uuid() FROM s", "gen_random_uuid()", "in a materialized view"),
        ("SELECT clock_timestamp() FROM s", "clock_timestamp()", "in a materialized view"),
        ("SELECT current_user FROM s", "current_user", "in a materialized view"),
        ("SELECT asks(n) FROM s", "asks(n)", "in a materialized view"),
        ("SELECT id FROM s WHERE asks(n) > 2", "asks(n)", "in a materialized view"),
        ("SELECT id FROM s WHERE random() < 0.5", "random()", "in a materialized view"),
        ("SELECT now() FROM s", "now()", "INCLUDE INGESTION TIMESTAMP"),
        ("SELECT PROCTIME() AS p FROM s", "PROCTIME()", "INCLUDE INGESTION TIMESTAMP"),
        ("SELECT current_date - ts::date AS age FROM s", "current_date - ts::date", "INCLUDE"),
        ("SELECT CASE WHEN ts < now() THEN 1 END FROM s", "CASE WHEN ts < now() THEN 1 END", "INC"),
        ("SELECT t FROM (SELECT id, now() AS t FROM s) x", "now()", "INCLUDE INGESTION TIMESTAMP"),
    ],
)  # fmt: skip
def test_what_would_not_be_computed_again_is_no_value(query: str, place: str, hint: str) -> None:
    error = _refused(_source(query))
    assert error.code == "E0359" and hint in (error.hint or "")
    assert error.span is not None and error.span.text == place


DIRECTLY = "compare now() directly"


@pytest.mark.parametrize(
    ("condition", "place", "hint"),
    [
        ("ts <> now()", None, "write a view for < and one for >"),
        ("ts IS DISTINCT FROM now()", None, DIRECTLY),
        ("CASE WHEN ts < now() THEN TRUE END", None, DIRECTLY),
        ("(ts < now()) IS TRUE", None, DIRECTLY),
        ("(ts < now()) IS NOT FALSE", None, DIRECTLY),
        ("(ts < now()) IS NULL", None, DIRECTLY),
        ("coalesce(ts < now(), TRUE)", None, DIRECTLY),
        ("now() < now() + INTERVAL '1 hour'", None, "bring now() to one side"),
        ("now() - ts < INTERVAL '1 hour'", "now() - ts", "ts + INTERVAL '1 hour' > now()"),
        ("n > 5 OR ts < now()", "ts < now()", "WHERE of a view over what is stored"),
        ("now() < ts OR now() > until", "now() < ts", "WHERE of a view over what is stored"),
        ("now() NOT BETWEEN ts AND until", None, "WHERE of a view over what is stored"),
        ("now() IN (ts, until)", None, "WHERE of a view over what is stored"),
        ("ts > now() - INTERVAL '1 month'", "now() - INTERVAL '1 month'",
         "move the months to the row's side"),
        ("extract(hour FROM now()) > n", "extract(hour FROM now())", "compare now(), now() with"),
        ("now()::text > kind", "now()::text", "compare now(), now() with"),
    ],
)  # fmt: skip
def test_a_condition_without_a_period_is_refused(
    condition: str, place: str | None, hint: str
) -> None:
    error = _refused(_source(f"SELECT id FROM s WHERE {condition}"))
    assert error.code == "E0357" and hint in (error.hint or "")
    assert error.message.endswith("does not say when a row is seen")
    assert error.span is not None and error.span.text == (place or condition)


def test_unknown_options_of_a_transformation_are_refused() -> None:
    error = _refused(_source("SELECT id FROM s", after=" WITH (splat = 1)"))
    assert error.code == "E0239" and error.span is not None and "splat" in error.span.text


def _texts(found: RowTransform) -> tuple[dict[str, str], str | None, list[str], list[str]]:
    columns = {name: to_text(expr) for name, expr in found.columns}
    condition = None if found.condition is None else to_text(found.condition)
    return (
        columns,
        condition,
        [*map(to_text, found.lower_bounds)],
        [*map(to_text, found.upper_bounds)],
    )


def test_nested_selects_are_one() -> None:
    nested = _transform(
        "WITH c AS (SELECT id + n AS a, until FROM (SELECT * FROM s WHERE n > 1) x WHERE id < 9) "
        "SELECT a * 2 AS b FROM c WHERE a > 3 AND now() < until"
    )
    flat = _transform(
        "SELECT (id + n) * 2 AS b FROM s WHERE n > 1 AND id < 9 AND id + n > 3 AND now() < until"
    )
    assert nested == flat
    assert _texts(nested) == (
        {"b": "(id + n) * 2"}, "n > 1 AND id < 9 AND id + n > 3", [], ["until"],
    )  # fmt: skip


def test_a_name_of_a_nested_select_is_what_it_stands_for() -> None:
    found = _transform("SELECT id FROM (SELECT id, now() AS t, ts FROM s) x WHERE t < ts")
    assert _texts(found) == ({"id": "id"}, None, [], ["ts"])


TICK = " + INTERVAL '1 microsecond'"


@pytest.mark.parametrize(
    ("condition", "plain", "lowers", "uppers"),
    [
        ("now() < until", None, [], ["until"]),
        ("until > now()", None, [], ["until"]),
        ("mz_now() < until", None, [], ["until"]),
        ("NOT (now() >= until)", None, [], ["until"]),
        ("now() <= until", None, [], ["until" + TICK]),
        ("ts <= now()", None, ["ts"], []),
        ("ts < now()", None, ["ts" + TICK], []),
        ("now() = ts", None, ["ts"], ["ts" + TICK]),
        ("now() BETWEEN ts AND until", None, ["ts"], ["until" + TICK]),
        ("now() - INTERVAL '1 hour' < ts", None, [], ["ts + INTERVAL '1 hour'"]),
        ("now() < until AND n > 0 AND ts <= now()", "n > 0", ["ts"], ["until"]),
        ("now() < until AND until > now()", None, [], ["until"]),
        ("now() < until AND now() < ts", None, [], ["until", "ts"]),
        ("(n > 1 AND now() < until) OR (n < -1 AND now() < until)", "n > 1 OR n < -1", [],
         ["until"]),
        ("(n > 1 AND now() < until) OR (n < -1 AND until > now())", "n > 1 OR n < -1", [],
         ["until"]),
        ("now() < until OR (now() < until AND n > 0)", None, [], ["until"]),
        ("now() < seen + INTERVAL '30 days'", None, [], ["seen + INTERVAL '30 days'"]),
        ("current_date <= until::date", None, [], ["(until::date + 1)::timestamptz"]),
    ],
)  # fmt: skip
def test_conditions_on_time_are_the_period(
    condition: str, plain: str | None, lowers: list[str], uppers: list[str]
) -> None:
    found = _transform(f"SELECT id FROM s WHERE {condition}")
    assert _texts(found) == ({"id": "id"}, plain, lowers, uppers)


def test_rows_with_an_end_go_and_others_stay() -> None:
    modes = {
        query: compile_sql(_source(query))["s"].relation.mode
        for query in ("SELECT id FROM s", "SELECT id FROM s WHERE ts < now()",
                      "SELECT id FROM s WHERE now() < ts")
    }  # fmt: skip
    appends, retracts = ChangelogMode.APPEND_ONLY, ChangelogMode.RETRACT
    assert list(modes.values()) == [appends, appends, retracts]


def test_functions_of_sql_are_what_they_stand_for() -> None:
    found = _transform("SELECT plus(id, n) AS total FROM s WHERE plus(n, 1) > 2")
    assert _texts(found) == ({"total": "id + n"}, "n + 1 > 2", [], [])


def test_a_key_stays_hidden_where_it_is_projected_away() -> None:
    found = _transform("SELECT n FROM s", COLUMNS + ", PRIMARY KEY (id)")
    assert found.key == ("__key_id",) and [name for name, _ in found.columns] == ["n", "__key_id"]
    found = _transform("SELECT id AS k, n FROM s", COLUMNS + ", PRIMARY KEY (id)")
    assert found.key == ("k",) and found.not_null == {"k"}
    found = _transform("SELECT id + 1 AS id FROM s", COLUMNS + ", PRIMARY KEY (id)")
    assert found.key == ("__key_id",)


def test_columns_that_are_never_null_stay_so() -> None:
    found = _transform("SELECT id, n AS m, n + 1 AS o FROM s", "id INT, n INT NOT NULL")
    assert {f.name: f.nullable for f in found.fields} == {"id": True, "m": False, "o": True}
