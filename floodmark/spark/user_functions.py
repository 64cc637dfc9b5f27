"""Python functions of users in a Spark session: Arrow batches in, value, error and message out.

A function is known to a session by a digest of its definition. Spark takes all of them for
deterministic, so that it evaluates a value and its error, which are printed one after the other,
once. The planner takes care of functions that users declare VOLATILE.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from floodmark.plan.expr.expressions import Expr, UserCall, walk
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.user import CallError, describe_exception
from floodmark.scalar.types import Kind, SqlType
from floodmark.spark.types import spark_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ARROW: Mapping[Kind, str] = {
    Kind.BOOLEAN: "bool",
    Kind.SMALLINT: "int16",
    Kind.INT: "int32",
    Kind.BIGINT: "int64",
    Kind.REAL: "float",
    Kind.DOUBLE: "double",
    Kind.BYTEA: "binary",
    Kind.DATE: "date32",
    Kind.TIME: "int64",
}
"""Names of Arrow types; all else is text."""


def register(spark: SparkSession, exprs: Iterable[Expr]) -> None:
    """Make the functions that expressions call known to a session; once more does no harm.

    Raises E0280 or E0281 where a function cannot be loaded any more.
    """
    calls = {e.definition: e for expr in exprs for e in walk(expr) if isinstance(e, UserCall)}
    if not calls:
        return
    from pyspark.sql.functions import arrow_udf

    for call in calls.values():
        function = call.user
        _ship(function.callable)
        result = f"struct<value:{spark_type(function.gives)},error:int,message:string>"
        batch = _batch_form(function.compute, function.takes, function.gives)
        spark.udf.register(function.spark_name, arrow_udf(batch, result))


def _ship(function: Callable[..., Any]) -> None:
    """Send the module of a function along, unless the worker finds it as a package."""
    from pyspark import cloudpickle

    module = sys.modules.get(getattr(function, "__module__", None) or "")
    path = getattr(module, "__file__", None)
    installed = path is None or any(
        path.startswith(p) for p in (sys.prefix, sys.base_prefix, *_site_packages())
    )
    if module is not None and not installed:
        cloudpickle.register_pickle_by_value(module)


def _site_packages() -> list[str]:
    return [p for p in sys.path if p.endswith("site-packages")]


def _batch_form(
    compute: Callable[..., Any], types: tuple[SqlType, ...], result: SqlType
) -> Callable[..., pa.Array]:
    """Return the function over Arrow arrays; without parameters, the one array says how many."""

    def batch(*arrays: pa.Array) -> pa.Array:
        import pyarrow as pa

        given = [a.to_pylist() for a in arrays]
        columns = [[from_arrow(v, t) for v in c] for c, t in zip(given, types, strict=False)]
        rows = zip(*columns, strict=True) if types else ((),) * len(given[0])
        values: list[Any] = []
        errors: list[int | None] = []
        messages: list[str | None] = []
        for row in rows:
            try:
                values.append(to_arrow(compute(*row), result))
                errors.append(None)
                messages.append(None)
            except CallError as refused:
                values.append(None)
                errors.append(int(refused.code))
                messages.append(refused.message)
            except KeyboardInterrupt as problem:
                # Nobody sits at a worker: the function raised it.
                values.append(None)
                errors.append(int(RowErrorCode.FUNCTION_RAISED))
                messages.append(describe_exception(problem))
        parts = {
            "value": pa.array(values, arrow_type(result)),
            "error": pa.array(errors, pa.int32()),
            "message": pa.array(messages, pa.string()),
        }
        return pa.StructArray.from_arrays(list(parts.values()), names=list(parts))

    # Spark looks at the hints to tell what kind of function it is.
    import pyarrow as pa

    batch.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return batch


def from_arrow(value: Any, type_: SqlType) -> Any:
    """Return an engine value from what `to_pylist` makes of an Arrow one."""
    if value is None:
        return None
    match type_.kind:
        case Kind.INTERVAL:
            return value["months"], value["days"], value["micros"]
        case Kind.LIST:
            assert type_.element is not None
            return tuple(from_arrow(v, type_.element) for v in value)
        case Kind.STRUCT:
            fields = zip(value.values(), type_.fields, strict=True)
            return tuple(from_arrow(v, f.type) for v, f in fields)
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            return tuple((from_arrow(k, type_.key), from_arrow(v, type_.element)) for k, v in value)
        case _:
            return value


def to_arrow(value: Any, type_: SqlType) -> Any:
    """Return an engine value as `pyarrow.array` takes it."""
    if value is None:
        return None
    match type_.kind:
        case Kind.INTERVAL:
            return dict(zip(("months", "days", "micros"), value, strict=True))
        case Kind.LIST:
            assert type_.element is not None
            return [to_arrow(v, type_.element) for v in value]
        case Kind.STRUCT:
            return {f.name: to_arrow(v, f.type) for v, f in zip(value, type_.fields, strict=True)}
        case Kind.MAP:
            assert type_.key is not None and type_.element is not None
            return [(to_arrow(k, type_.key), to_arrow(v, type_.element)) for k, v in value]
        case _:
            return value


def arrow_type(type_: SqlType) -> pa.DataType:
    """Return the Arrow type in which Spark hands values of a type over; needs no session."""
    import pyarrow as pa

    match type_:
        case SqlType(Kind.NUMERIC, precision, scale):
            return pa.decimal128(precision, scale)
        case SqlType(Kind.LIST, element=SqlType() as element):
            return pa.list_(arrow_type(element))
        case SqlType(Kind.MAP, element=SqlType() as value, key=SqlType() as key):
            return pa.map_(arrow_type(key), arrow_type(value))
        case SqlType(Kind.STRUCT, fields=fields):
            return pa.struct([(f.name, arrow_type(f.type)) for f in fields])
        case SqlType(Kind.INTERVAL):
            return pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())])
        case SqlType(Kind.TIMESTAMP):
            return pa.timestamp("us")
        case SqlType(Kind.TIMESTAMPTZ):
            return pa.timestamp("us", "UTC")
        case _:
            return pa.type_for_alias(_ARROW.get(type_.kind, "string"))
