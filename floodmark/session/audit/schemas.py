"""Column checks in the language of pandera: generated from the SQL columns, refined by the user.

A file of the folder `checks/` defines, under the name of an object, a `DataFrameSchema`, a
`DataFrameModel`, or a function from the generated schema to a refined one. The conditions are
compiled to rules, because pandera itself runs two Spark jobs per check.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from floodmark.errors import UserError
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Kind, SqlType
from floodmark.session.audit.checks import RowRule
from floodmark.spark.types import ident, spark_type
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline

_NESTED = (Kind.STRUCT, Kind.MAP, Kind.LIST)


def rules_of(folder: Path, pipeline: Pipeline) -> dict[str, tuple[RowRule, ...]]:
    """Return the conditions that a folder states, by object; pandera is imported if there are any.

    Raises E0607 for an unknown object and E0608 for an unknown check.
    """
    out: dict[str, tuple[RowRule, ...]] = {}
    for path in sorted(folder.glob("*.py")):
        for name, stated in _load_schema(path).items():
            obj = pipeline.objects.get(name)
            if obj is None:
                raise UserError(
                    "E0607",
                    f'{path.name} has checks for "{name}", which is not an object',
                    hint="name the schema or function after a source, table or view",
                )
            out[name] = (*out.get(name, ()), *_compile_rules(name, _resolve_schema(stated, obj)))
    return out


def make_schema(obj: AnalysedObject) -> Any:
    """Return the pandera schema of the SQL columns of an object.

    Nested columns are left out: pandera's Spark backend does not understand them.
    """
    from pandera.pyspark import Column, DataFrameSchema

    plain = [f for f in obj.relation.visible if f.type.kind not in _NESTED]
    columns = {f.name: Column(_pyspark_type(f.type), nullable=f.nullable) for f in plain}
    return DataFrameSchema(columns, name=obj.key)


def _pyspark_type(declared: SqlType) -> Any:
    """Return the type as an object: pandera does not know all names of types."""
    from pyspark.sql import types as t

    if declared.kind is Kind.NUMERIC:
        assert declared.precision is not None and declared.scale is not None
        return t.DecimalType(declared.precision, declared.scale)
    by_name = {
        "boolean": t.BooleanType, "smallint": t.ShortType, "int": t.IntegerType,
        "bigint": t.LongType, "float": t.FloatType, "double": t.DoubleType,
        "binary": t.BinaryType, "date": t.DateType, "timestamp_ntz": t.TimestampNTZType,
        "timestamp": t.TimestampType,
    }  # fmt: skip
    return by_name.get(spark_type(declared).lower(), t.StringType)()


def _load_schema(path: Path) -> Mapping[str, Any]:
    from pandera.pyspark import DataFrameModel, DataFrameSchema

    def is_stated(name: str, value: Any) -> bool:
        if name.startswith("_"):
            return False
        if isinstance(value, type):
            return issubclass(value, DataFrameModel) and value is not DataFrameModel
        if isinstance(value, DataFrameSchema):
            return True
        return callable(value) and getattr(value, "__module__", None) == "<run_path>"

    return {k: v for k, v in runpy.run_path(str(path)).items() if is_stated(k, v)}


def _resolve_schema(stated: Any, obj: AnalysedObject) -> Any:
    if hasattr(stated, "to_schema"):
        return stated.to_schema()
    if hasattr(stated, "columns"):
        return stated
    refine: Callable[[Any], Any] = stated
    return refine(make_schema(obj))


def _compile_rules(name: str, schema: Any) -> list[RowRule]:
    """Return the rules of a schema's columns."""
    rules: list[RowRule] = []
    for column, declared in schema.columns.items():
        if not declared.nullable:
            rules.append(RowRule(f"{column}.not_null", column, f"{ident(column)} IS NOT NULL"))
        rules += [_rule(name, column, check) for check in declared.checks]
    return rules


def _rule(name: str, column: str, check: Any) -> RowRule:
    stated: Mapping[str, Any] = dict(check.statistics or {})
    made = _BOUNDS.get(check.name) or _CONDITIONS.get(check.name)
    if made is None:
        raise UserError(
            "E0608",
            f"the check {check.name or check!r} on {name}.{column} cannot be compiled to SQL",
            hint=f"use one of {', '.join(sorted({*_BOUNDS, *_CONDITIONS}))}",
        )
    predicate = made(ident(column), stated)
    low, high = stated.get("min_value"), stated.get("max_value")
    inclusive = check.name not in ("greater_than", "less_than") and all(
        stated.get(side, True) for side in ("include_min", "include_max")
    )
    bounded = check.name in _BOUNDS and inclusive
    return RowRule(f"{column}.{check.name}", column, predicate, low, high, only_bounds=bounded)


def _literal(value: Any) -> str:
    match value:
        case bool() | int() | float():
            return str(value)
        case datetime():
            return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return quote(value)
        case _:
            return f"CAST('{value}' AS DECIMAL(38, 10))"


def _one_of(column: str, values: Any) -> str:
    return f"{column} IN ({', '.join(_literal(v) for v in values)})"


def _range_condition(column: str, s: Mapping[str, Any]) -> str:
    low = ">=" if s.get("include_min", True) else ">"
    high = "<=" if s.get("include_max", True) else "<"
    return (
        f"{column} {low} {_literal(s['min_value'])} AND {column} {high} {_literal(s['max_value'])}"
    )


def _length(column: str, s: Mapping[str, Any]) -> str:
    low, high = s.get("min_value"), s.get("max_value")
    parts = [] if low is None else [f"length({column}) >= {low}"]
    return " AND ".join([*parts, *([] if high is None else [f"length({column}) <= {high}"])])


_Make = Callable[[str, Mapping[str, Any]], str]
_BOUNDS: Mapping[str, _Make] = {
    "greater_than_or_equal_to": lambda c, s: f"{c} >= {_literal(s['min_value'])}",
    "greater_than": lambda c, s: f"{c} > {_literal(s['min_value'])}",
    "less_than_or_equal_to": lambda c, s: f"{c} <= {_literal(s['max_value'])}",
    "less_than": lambda c, s: f"{c} < {_literal(s['max_value'])}",
    "in_range": _range_condition,
}
_CONDITIONS: Mapping[str, _Make] = {
    "equal_to": lambda c, s: f"{c} = {_literal(s['value'])}",
    "not_equal_to": lambda c, s: f"{c} <> {_literal(s['value'])}",
    "isin": lambda c, s: _one_of(c, s["allowed_values"]),
    "notin": lambda c, s: f"NOT {_one_of(c, s['forbidden_values'])}",
    "str_startswith": lambda c, s: f"startswith({c}, {_literal(s['string'])})",
    "str_endswith": lambda c, s: f"endswith({c}, {_literal(s['string'])})",
    "str_contains": lambda c, s: f"{c} RLIKE {_literal(s['pattern'])}",
    "str_matches": lambda c, s: f"{c} RLIKE {_literal('^(?:' + str(s['pattern']) + ')')}",
    "str_length": _length,
}
