"""Functions of users in Python: what they may give back and raise, in which forms they come."""

from __future__ import annotations

import pyarrow as pa
import pytest

from floodmark.errors import UserError
from floodmark.plan.declare.functions import check, functions_of
from floodmark.plan.expr.expressions import UserCall, walk
from floodmark.scalar.functions import RowError, RowErrorCode
from floodmark.scalar.functions.user import CallError
from floodmark.spark.user_functions import _batch_form
from tests.plan.declare.users_functions import bound, created, user_function, value


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
