"""CREATE FUNCTION: what is refused when, what a call becomes, what depends on it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.dropping import without
from floodmark.catalog.functions import Determinism, RowError, RowErrorCode, lookup
from floodmark.catalog.functions.python_values import from_python, to_python
from floodmark.catalog.functions.user import CallError, UserFunction
from floodmark.catalog.objects import Origin
from floodmark.catalog.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    JSONB,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Field,
    SqlType,
    list_of,
    map_of,
    numeric,
    struct_of,
)
from floodmark.errors import Span, UserError
from floodmark.plan.bind import BindContext, SchemaScope, bind_scalar
from floodmark.plan.expressions import Expr, UserCall, Volatile, walk
from floodmark.plan.user_functions import check, functions_of
from floodmark.reference.expressions import evaluate
from floodmark.spark.user_functions import _batch_form
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_expression, parse_script

SCHEMA = (Field("i", INT), Field("t", VARCHAR), Field("d", DOUBLE))


def created(sql: str) -> Catalog:
    catalog = Catalog()
    for statement in parse_script(sql):
        assert isinstance(statement, s.Definition)
        catalog = catalog.create(statement, Origin.STATEMENT)
    return catalog


def bound(text: str, sql: str) -> Expr:
    functions = functions_of(created(sql).objects.values())
    context = BindContext(Span.at(text, 0, 0), functions=functions)
    return bind_scalar(parse_expression(text), SchemaScope(SCHEMA), context)


def value(text: str, sql: str, **row: Any) -> Any:
    return evaluate(bound(text, sql), {"i": 1, "t": "x", "d": 0.5, **row})


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


@pytest.mark.parametrize("raised", ["SystemExit(1)", "KeyboardInterrupt('x')", "GeneratorExit"])
def test_whatever_a_function_raises_is_an_error_of_its_row(raised: str) -> None:
    text = f"""CREATE FUNCTION f(a int) RETURNS int LANGUAGE python AS $$
def f(a):
    if a == 2:
        raise {raised}
    return a
$$;
"""
    (call,) = (e for e in walk(bound("f(i)", text)) if isinstance(e, UserCall))
    batch = _batch_form(call.user.compute, call.user.takes, call.user.gives)
    found = batch(pa.array([1, 2, 3], pa.int32())).to_pylist()
    assert [row["value"] for row in found] == [1, None, 3]
    assert [row["error"] for row in found] == [None, RowErrorCode.FUNCTION_RAISED, None]
    assert found[1]["message"].startswith(raised.partition("(")[0])


@pytest.mark.parametrize("raised", ["ValueError('no')", "KeyError(1)", "SystemExit(1)"])
def test_what_a_generator_raises_is_said(raised: str) -> None:
    text = f"""CREATE FUNCTION f(a int) RETURNS int[] LANGUAGE python AS $$
def f(a):
    yield a
    if a == 2:
        raise {raised}
    yield 'x' if a == 3 else None
$$;
"""
    assert value("f(i)", text) == ((1, None), None)
    assert value("f(i)", text, i=2) == (None, RowErrorCode.FUNCTION_RAISED)
    assert value("f(i)", text, i=3) == (None, RowErrorCode.WRONG_RESULT)


@pytest.mark.parametrize(
    ("returns", "given", "message"),
    [
        ("int", "2**31", "gave 2147483648 (int), no value of integer"),
        (
            "numeric(5,2)",
            "Decimal(1000)",
            "gave Decimal('1000') (Decimal), no value of numeric(5,2)",
        ),
        ("int[]", "[1.5]", "gave [1.5] (list), no value of integer[]"),
        ("int", "object()", "gave <object object at 0x…> (object), no value of integer"),
        ("text", "Bad()", "gave <Bad instance at 0x…> (Bad), no value of character varying"),
        ("TABLE (x int)", "5", "gave 5 (int), no rows of (integer)"),
        ("TABLE (x int)", "'ab'", "gave 'ab' (str), no rows of (integer)"),
        ("TABLE (x int)", "{'x': 1}", "gave {'x': 1} (dict), no rows of (integer)"),
        ("TABLE (x int)", "iter(['a'])", "gave [('a',)] (list), no rows of (integer)"),
        ("TABLE (x int, y int)", "[(1,)]", "gave [(1,)] (list), no rows of (integer, integer)"),
    ],
)
def test_a_value_of_another_type_is_shown(returns: str, given: str, message: str) -> None:
    text = f"""CREATE FUNCTION f(a int) RETURNS {returns} LANGUAGE python AS $$
from decimal import Decimal
class Bad:
    def __repr__(self):
        raise ValueError
def f(a):
    return {given}
$$;
"""
    function = functions_of(created(text).objects.values())["f"]
    with pytest.raises(CallError) as refused:
        function.compute(1)
    assert (refused.value.code, refused.value.message) == (RowErrorCode.WRONG_RESULT, message)


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
        functions = functions_of(created(sql).objects.values())
        for name, function in functions.items():
            check(function, {n: f for n, f in functions.items() if n != name})
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


def user_function(sql: str) -> UserFunction:
    (function,) = functions_of(created(sql).objects.values()).values()
    return function


def test_rows_of_a_table_function() -> None:
    pairs = user_function(
        """CREATE FUNCTION g(n int) RETURNS TABLE (a int, b text) LANGUAGE python AS $$
def g(n):
    if n is None:
        return None
    for i in range(n):
        yield (i, str(i)) if i < 2 else {"b": "x"} if i == 2 else None
$$;"""
    )
    assert pairs.compute(4) == ((0, "0"), (1, "1"), (None, "x"), None)
    assert pairs.compute(None) == () and pairs.compute(0) == ()
    one = "CREATE FUNCTION g(t jsonb) RETURNS TABLE (a {}) LANGUAGE python AS $$\n{}\n$$;"
    lists = user_function(one.format("int[]", "def g(t): return t"))
    assert lists.compute("[[1,2],null,[]]") == (((1, 2),), (None,), ((),))
    raising = ("yield 1; raise ValueError", "yield 1; raise SystemExit")
    for body in ("return 3", "return 'ab'", "return [('a',)]", *raising):
        wrong = user_function(one.format("int", f"def g(t): {body}"))
        with pytest.raises(RowError):
            wrong.compute("[]")


def test_an_aggregate_is_a_class_or_a_function_of_lists() -> None:
    text = "CREATE AGGREGATE h(int, text) RETURNS text LANGUAGE python AS $$\n{}\n$$;"
    as_class = """
class h:
    def __init__(self):
        self.seen = []
    def accumulate(self, n, t):
        self.seen.append(f"{n}{t}")
    def finish(self):
        return "-".join(self.seen)"""
    as_function = "def h(ns, ts): return '-'.join(f'{n}{t}' for n, t in zip(ns, ts))"
    for body in (as_class, as_function):
        made = user_function(text.format(body))
        check(made, {})
        assert made.compute(((1, "a"), (None, "b"))) == "1a-Noneb"
        assert made.compute(None) == ""
    with pytest.raises(UserError) as refused:
        check(user_function(text.format("class h: pass")), {})
    assert refused.value.code == "E0290"
    with pytest.raises(UserError) as refused:
        check(user_function(text.format(as_class).replace("int, text", "")), {})
    assert refused.value.code == "E0290"


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
        without(catalog, drop)
    assert used.value.code == "E0205"
    (cascade,) = parse_script("DROP FUNCTION plus(int, int) CASCADE")
    assert isinstance(cascade, s.Drop)
    left, gone = without(catalog, cascade)
    assert set(gone) == {"function:plus", "function:more", "t", "w"}
    assert list(left.objects) == ["plus"]


WHEN = datetime(2024, 1, 2, 3, 4, 5)
VALUES: list[tuple[SqlType, Any, Any]] = [
    (BOOLEAN, True, True),
    (BIGINT, 2**62, 2**62),
    (numeric(9, 2), Decimal("1.25"), Decimal("1.25")),
    (DOUBLE, 1.5, 1.5),
    (VARCHAR, "ä", "ä"),
    (BYTEA, b"\x00", b"\x00"),
    (DATE, date(2024, 1, 2), date(2024, 1, 2)),
    (TIME, 3_723_000_004, time(1, 2, 3, 4)),
    (TIMESTAMP, WHEN, WHEN),
    (TIMESTAMPTZ, WHEN.replace(tzinfo=UTC), WHEN.replace(tzinfo=UTC)),
    (INTERVAL, (1, 2, 3), (1, 2, 3)),
    (JSONB, '{"a":[1,null]}', {"a": [1, None]}),
    (UUID, "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000a"),
    (list_of(TIME), (0, None), [time(0), None]),
    (struct_of(("a", INT), ("b", VARCHAR)), (1, None), {"a": 1, "b": None}),
    (map_of(VARCHAR, INT), (("a", 1),), {"a": 1}),
]


@pytest.mark.parametrize(("type_", "engine", "python"), VALUES, ids=lambda v: str(v)[:20])
def test_values_go_to_python_and_back(type_: SqlType, engine: Any, python: Any) -> None:
    assert to_python(engine, type_) == python
    assert from_python(python, type_) == engine
    assert to_python(None, type_) is None and from_python(None, type_) is None


@pytest.mark.parametrize(
    ("value_", "type_"),
    [
        (1, BOOLEAN), (True, INT), (1.0, INT), (2**31, INT), ("1", INT), (1.5, numeric(9, 2)),
        (Decimal(10) ** 9, numeric(9, 2)), ("x", DOUBLE), (1, VARCHAR), ("x", BYTEA),
        (WHEN, DATE), (WHEN, TIMESTAMPTZ), (WHEN.replace(tzinfo=UTC), TIMESTAMP), ("x", UUID),
        (float("nan"), JSONB), ({1, 2}, JSONB), ("ab", list_of(VARCHAR)), ([1, "x"], list_of(INT)),
        ({"z": 1}, struct_of(("a", INT))), ((1, 2), struct_of(("a", INT))), ([1], map_of(INT, INT)),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(value_: Any, type_: SqlType) -> None:
    with pytest.raises(RowError) as refused:
        from_python(value_, type_)
    assert refused.value.code is RowErrorCode.WRONG_RESULT


def test_a_timedelta_is_an_interval() -> None:
    assert from_python(timedelta(days=-1, hours=-2), INTERVAL) == (0, -1, -7_200_000_000)


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
