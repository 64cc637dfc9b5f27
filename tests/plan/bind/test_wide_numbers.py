"""Numbers of more than 38 digits: NUMERIC cannot hold them, so none is planned with."""

from datetime import datetime

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from floodmark.plan.build.builder import build_query
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.arithmetic import to_real
from floodmark.scalar.types import BOOLEAN, DOUBLE, INT, REAL, SqlType, numeric
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement

NINES, NEXT = "9" * 39, "1" + "0" * 39


def outcome(text: str, given: tuple[SqlType, ...] = ()) -> str | tuple[SqlType, object]:
    """Return the code of a query's error, or the type and value of its first column."""
    try:
        statement = parse_statement(text)
        assert isinstance(statement, (s.Select, s.Insert))
        node = build_query(statement.query, {}, statement.span, given=given)
    except FloodmarkError as problem:
        return problem.code
    while not isinstance(node, (n.Project, n.Values)):
        (node,) = node.inputs
    expr: Expr = node.rows[0][0] if isinstance(node, n.Values) else node.columns[0][1]
    return expr.type, evaluate(expr, {}, datetime(2024, 1, 1))[0]


@pytest.mark.parametrize(
    "value",
    [
        NINES, "-" + NINES, f"{NINES} = {NEXT}", "1e400", "1e-400", "1e400 - 1e400", "1e38",
        "1e-39", "0." + "0" * 40 + "1", "1e300::numeric", "1e300::text", "1e300::int",
        "(1e300 + 1)::float8",
        "abs(1e300)", "1e400 > 'NaN'", "1 BETWEEN 0 AND 1e300", "1 IN (2, 1e300)",
        "CASE WHEN true THEN 1e300 END", "ARRAY[1e300]", "9" * 5000, "1e9999999999",
        "1e99999999999999999999999", "1e-99999999999999999999999", "1." + "0" * 9000,
    ],
)  # fmt: skip
def test_what_numeric_cannot_hold_is_refused(value: str) -> None:
    assert outcome(f"SELECT {value}") == "E0257"


@pytest.mark.parametrize(
    ("value", "type_", "found"),
    [
        ("1e300::double precision", DOUBLE, 1e300), ("CAST(-(1e300) AS float8)", DOUBLE, -1e300),
        ("1e-40::real", REAL, to_real(1e-40)),
        ("1e300 > 2::float8", BOOLEAN, True), ("2::float8 BETWEEN -1e300 AND 1e300", BOOLEAN, True),
        ("2::float8 IN (1e300, 2)", BOOLEAN, True), ("2e-300::float8 * 1e300", DOUBLE, 2.0),
        ("greatest(1::float8, 1e300)", DOUBLE, 1e300), ("0e400", numeric(1, 0), 0),
    ],
)  # fmt: skip
def test_a_double_takes_them(value: str, type_: SqlType, found: object) -> None:
    assert outcome(f"SELECT {value}") == (type_, found)


@pytest.mark.parametrize(
    "value", ["1e400::float8", "1e-400::float8", "1e300::real", "-1e-60::real"]
)
def test_what_a_double_cannot_hold_is_no_value_of_it(value: str) -> None:
    assert outcome(f"SELECT {value}") == "E0258"


@pytest.mark.parametrize("type_", [DOUBLE, REAL, INT, numeric()])
def test_a_column_takes_what_it_can_hold(type_: SqlType) -> None:
    held = {DOUBLE: (DOUBLE, 1e300), REAL: "E0258"}
    assert outcome("INSERT INTO t VALUES (1e300)", (type_,)) == held.get(type_, "E0257")
    assert outcome("INSERT INTO t VALUES (1e400)", (type_,)) == (
        "E0258" if type_ in held else "E0257"
    )
