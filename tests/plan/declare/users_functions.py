"""Functions of users for tests: created, called in an expression, evaluated."""

from __future__ import annotations

from typing import Any

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.declare.functions import functions_of
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import DOUBLE, INT, VARCHAR, Field
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


def user_function(sql: str) -> UserFunction:
    (function,) = functions_of(created(sql).objects.values()).values()
    return function
