"""CREATE FUNCTION: what is refused when, what a call becomes, what depends on it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from floodmark.catalog.dropping import drop_objects
from floodmark.errors import UserError
from floodmark.plan.declare.functions import check, function_of, functions_of
from floodmark.plan.declare.python_functions import load_and_check
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import UserCall, Volatile, walk
from floodmark.scalar.functions import Determinism, RowErrorCode, lookup
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from tests.plan.declare.users_functions import bound, created, user_function, value

PLUS = "CREATE FUNCTION plus(a int, b int) RETURNS bigint LANGUAGE sql AS 'SELECT a + b';"
DOUBLE_IT = "CREATE FUNCTION double_it(int) RETURNS int LANGUAGE sql AS $$ $1 * 2 $$;"
TWO_VALUES = """
CREATE AGGREGATE f(int) RETURNS int LANGUAGE python AS $$
class f:
    def accumulate(self, a, b):
        pass
    def finish(self):
        pass
$$;
"""
SHOUT = """
CREATE FUNCTION shout(a int, b text) RETURNS text LANGUAGE python IMMUTABLE AS $$
def shout(a, b):
    if a == 3:
        raise ValueError(a)
    if a == 5:
        raise SystemExit(a)
    return a if a == 4 else f"{b}{a}!"
$$;
"""


def test_an_sql_function_stands_in_the_place_of_its_call() -> None:
    assert value("plus(i, 2) * 2", PLUS) == (6, None)
    assert value("double_it(plus(i, 1)::int)", PLUS + DOUBLE_IT, i=4) == (10, None)
    assert not any(isinstance(e, UserCall) for e in walk(bound("plus(i, 2)", PLUS)))
    assert value("plus(i, 1)", PLUS, i=2**31 - 1) == (None, RowErrorCode.NUMBER_OUT_OF_RANGE)


def test_a_volatile_call_inside_keeps_its_place() -> None:
    sql = "CREATE FUNCTION dice() RETURNS double precision LANGUAGE sql AS 'random()';"
    expr = bound("dice() + dice() + random()", sql)
    places = [e.position for e in walk(expr) if isinstance(e, Volatile)]
    assert sorted(places) == [0, 1, 2]
    twice = bound("CASE dice() WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", sql)
    assert {e.position for e in walk(twice) if isinstance(e, Volatile)} == {0}


def test_a_python_function_gives_a_value_or_a_row_error() -> None:
    assert value("shout(i, t)", SHOUT) == ("x1!", None)
    assert value("shout(i, t)", SHOUT, i=3) == (None, RowErrorCode.FUNCTION_RAISED)
    assert value("shout(i, t)", SHOUT, i=5) == (None, RowErrorCode.FUNCTION_RAISED)
    assert value("shout(i, t)", SHOUT, i=4) == (None, RowErrorCode.WRONG_RESULT)
    assert value("shout(i, t)", SHOUT, i=None) == ("xNone!", None)
    assert value("coalesce(t, shout(3, t))", SHOUT) == ("x", None)


def test_a_function_of_a_module() -> None:
    sql = "CREATE FUNCTION root(double precision) RETURNS double precision LANGUAGE python AS 'math.sqrt';"  # noqa: E501
    assert value("root(d * 8)", sql) == (2.0, None)
    assert value("root(-d)", sql) == (None, RowErrorCode.FUNCTION_RAISED)
    assert value("root(i)", sql) == (1.0, None)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("", Determinism.VOLATILE),
        ("VOLATILE", Determinism.VOLATILE),
        ("STABLE", Determinism.STABLE),
        ("IMMUTABLE", Determinism.DETERMINISTIC),
    ],
)
def test_python_is_what_it_is_declared(word: str, wanted: Determinism) -> None:
    sql = f"CREATE FUNCTION f(int) RETURNS int LANGUAGE python {word} AS 'operator.neg';"
    call = bound("f(i)", sql)
    assert isinstance(call, UserCall)
    assert lookup(call).determinism is wanted


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS 'no.such.module';", "E0280"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS 'math.nothing';", "E0280"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS 'math';", "E0280"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS $$\ndef f(:\n$$;", "E0281"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS $$\nimport nothing\n$$;", "E0281"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE python AS $$\nraise SystemExit\n$$;", "E0281"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS $$\ndef g(x): pass\n$$;", "E0281"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS 'operator.add';", "E0297"),
        ("CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS $$\ndef f(): pass\n$$;", "E0297"),
        (TWO_VALUES, "E0297"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'b + 1';", "E0282"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'f(a)';", "E0269"),
        ("CREATE FUNCTION upper(a int) RETURNS int LANGUAGE sql AS 'a';", "E0283"),
        ("CREATE FUNCTION f(a text) RETURNS date[] LANGUAGE sql AS 'a';", "E0284"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS $$ a || 'x' $$;", "E0284"),
        ("CREATE FUNCTION f(a text) RETURNS int[] LANGUAGE sql AS 'ARRAY[a]';", "E0284"),
        ("CREATE FUNCTION f(a int) RETURNS boolean LANGUAGE sql AS 'a';", "E0284"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS $$ 'x' $$;", "E0284"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS '(SELECT 1) + a';", "E0374"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE python AS $$\nasync def f(): 1\n$$;", "E0297"),
        ("CREATE FUNCTION f() RETURNS float IMMUTABLE LANGUAGE sql AS 'random()';", "E0285"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE rust AS 'a';", "E0386"),
        ("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT k FROM t';", "E0386"),
        ("CREATE FUNCTION f(a int) RETURNS TABLE (b int) LANGUAGE sql AS 'a';", "E0386"),
    ],
)  # fmt: skip
def test_what_cannot_be_called_is_refused_when_it_is_created(sql: str, code: str) -> None:
    with pytest.raises(UserError) as refused:
        objects = created(sql).objects.values()
        functions = {o.name: function_of(o.statement) for o in objects}
        for name, function in functions.items():
            check(function, {n: f for n, f in functions.items() if n != name})
            if function.language == "python":
                load_and_check(function)
    assert refused.value.code == code


def test_what_is_stored_without_a_cast_needs_none() -> None:
    text = "CREATE FUNCTION f(a int) RETURNS {} LANGUAGE sql AS $$ {} $$;"
    for returns, body in (
        ("text", "a"), ("smallint", "a * 1.5"), ("date", "now()"), ("int", "'7'"), ("int", "NULL"),
        ("text[]", "ARRAY[a]"), ("time", "now()"), ("numeric(5, 2)", "a / 3.0"),
    ):  # fmt: skip
        check(user_function(text.format(returns, body)), {})


@pytest.mark.parametrize(
    ("init", "accumulate", "finish", "message"),
    [
        ("self, x", "self, v", "self", "the class f cannot be called with its parameters"),
        ("self", "self", "self", "f.accumulate cannot be called with its parameters"),
        ("self", "self, v", "self, x", "f.finish cannot be called with its parameters"),
        ("self", "self, v", "self", None),
    ],
)
def test_the_class_of_an_aggregate_is_looked_at(
    init: str, accumulate: str, finish: str, message: str | None
) -> None:
    made = user_function(
        f"""CREATE AGGREGATE f(int) RETURNS int LANGUAGE python AS $$
class f:
    def __init__({init}): pass
    def accumulate({accumulate}): pass
    def finish({finish}): pass
$$;"""
    )
    if message is None:
        check(made, {})
        return
    with pytest.raises(UserError, match=message) as refused:
        check(made, {})
    assert refused.value.code == "E0297" and "CREATE FUNCTION" not in str(refused.value.hint)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            'CREATE FUNCTION "My Fn"(int) RETURNS int LANGUAGE python AS $$\ndef f(): 1\n$$;',
            "module",
        ),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS '(SELECT 1)';", "pass its value"),
    ],
)
def test_a_remedy_fits(sql: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        check(user_function(sql), {})
    assert said in str(refused.value.hint)


def test_what_takes_only_literals_may_come_as_a_parameter() -> None:
    sql = "CREATE FUNCTION cut(u text, x timestamp) RETURNS timestamp LANGUAGE sql AS 'date_trunc(u, x)';"  # noqa: E501
    function = functions_of(created(sql).objects.values())["cut"]
    check(function, {})
    assert value("cut('day', '2024-01-02 03:00')", sql) == (datetime(2024, 1, 2), None)


@pytest.mark.parametrize("text", ["plus(i)", "plus(t, i)", "plus(i, i, i)"])
def test_arguments_that_do_not_fit(text: str) -> None:
    with pytest.raises(UserError) as refused:
        bound(text, PLUS)
    assert refused.value.code == "E0270"


def test_a_name_that_is_not_there_has_near_ones() -> None:
    with pytest.raises(UserError) as refused:
        bound("shuot(i, t)", SHOUT)
    assert refused.value.code == "E0269" and "shout" in str(refused.value.hint)


def test_table_functions_and_aggregates_stand_where_they_can() -> None:
    sql = """CREATE FUNCTION g(int) RETURNS TABLE (a int) LANGUAGE python AS 'builtins.range';
    CREATE AGGREGATE h(int) RETURNS int LANGUAGE python AS 'builtins.sum';"""
    for text, code in (("g(i)", "E0289"), ("h(i)", "E0273"), ("unnest(ARRAY[i])", "E0289")):
        with pytest.raises(UserError) as refused:
            bound(text, sql)
        assert refused.value.code == code


def test_what_calls_a_function_depends_on_it() -> None:
    catalog = created(
        PLUS
        + """CREATE FUNCTION more(a int) RETURNS bigint LANGUAGE sql AS 'plus(a, 1)';
        CREATE TABLE t (k int PRIMARY KEY, v bigint AS plus(k, 1));
        CREATE MATERIALIZED VIEW w AS SELECT more(k) FROM t;
        CREATE TABLE plus (k int);"""
    )
    assert catalog.dependents("function:plus") == ("function:more", "t", "w")
    order = [o.key for o in catalog.order()]
    assert order.index("function:plus") < order.index("t") < order.index("w")
    (drop,) = parse_script("DROP FUNCTION plus")
    assert isinstance(drop, s.Drop)
    with pytest.raises(UserError) as used:
        drop_objects(catalog, drop)
    assert used.value.code == "E0205"
    (cascade,) = parse_script("DROP FUNCTION plus(int, int) CASCADE")
    assert isinstance(cascade, s.Drop)
    left, gone = drop_objects(catalog, cascade)
    assert set(gone) == {"function:plus", "function:more", "t", "w"}
    assert list(left.objects) == ["plus"]


DRAWN = """
CREATE FUNCTION drawn(x INT) RETURNS INT LANGUAGE python AS $$
from itertools import count
numbers = count()
def drawn(x):
    return next(numbers) % 2
$$;
CREATE FUNCTION same(x INT) RETURNS BOOLEAN LANGUAGE sql AS $$ x = x $$;
CREATE FUNCTION near(x DOUBLE) RETURNS BOOLEAN LANGUAGE sql AS $$ x = x $$;
CREATE FUNCTION ident(x INT) RETURNS TEXT LANGUAGE sql AS $$
    CASE WHEN x = 1 THEN 'b' WHEN x = 0 THEN 'a' ELSE 'impossible' END
$$;
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("same(drawn(i))", True),
        ("ident(drawn(i))", "a"),
        ("CASE drawn(i) WHEN 1 THEN 'b' WHEN 0 THEN 'a' ELSE 'impossible' END", "a"),
        ("near(random())", True),
        ("random() = random()", False),
        ("drawn(i) = drawn(i + 1)", False),
    ],
)
def test_a_call_that_is_used_twice_gives_one_value(text: str, value: Any) -> None:
    assert evaluate(bound(text, DRAWN), {"i": 7}) == (value, None)


@pytest.mark.parametrize(
    ("body", "code"), [("(SELECT max(pk) FROM t)", "E0374"), ("sum(a)", "E0273"), ("b", "E0282")]
)
def test_an_error_in_a_body_names_the_function_and_its_place(body: str, code: str) -> None:
    sql = f"CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS $$ {body} $$;"
    with pytest.raises(UserError, match="in the function f: ") as refused:
        check(user_function(sql), {})
    assert refused.value.code == code and refused.value.span == user_function(sql).span
    with pytest.raises(UserError, match="in the function f: ") as called:
        bound("1 + f(i)", sql)
    assert called.value.span is not None and called.value.span.text == "f(i)"
