"""The functions that a source's rows are made with, as its stored definition pins them."""

from __future__ import annotations

from collections.abc import Iterator

from floodmark.plan.expr.expressions import Call, Cast, Expr, UserCall, walk
from floodmark.scalar.casts import cast_version
from floodmark.scalar.functions import lookup
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline


def pins_of(obj: AnalysedObject, pipeline: Pipeline) -> dict[str, str] | None:
    """Return, by signature, what tells a function's present meaning from another one.

    Those that a TRANSFORM USING and the generated columns below it call: the version of a built-in
    function or cast, the digest of a user's definition. None for what has no transformation.
    """
    declared = obj.declared
    if declared is None or declared.transform is None:
        return None
    generated = (c.generated for c in declared.columns if c.generated is not None)
    pins = dict(_users(obj.object.reads, pipeline))
    for expr in (*generated, *declared.transform.expressions):
        pins.update(_builtin(expr))
    return pins


def _builtin(expr: Expr) -> Iterator[tuple[str, str]]:
    for part in walk(expr):
        match part:
            case UserCall():
                pass
            case Call():
                entry = lookup(part)
                yield entry.signature, str(entry.version)
            case Cast(operand=operand, type=type_):
                signature = f"cast({operand.type.kind.value} as {type_.kind.value})"
                yield signature, str(cast_version(operand.type, type_))


def _users(reads: tuple[str, ...], pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the functions of users that are read, and those that these call."""
    functions, catalog = pipeline.functions, pipeline.catalog
    for key in catalog.used_functions(reads):
        function = functions[catalog.objects[key].name]
        yield function.signature, function.definition
