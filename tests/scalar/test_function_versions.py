"""A function or cast whose meaning changes has a higher version: sources with TRANSFORM pin it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from floodmark.errors import FloodmarkError
from floodmark.scalar.casts import cast_version
from floodmark.scalar.functions import REGISTRY, Function
from floodmark.scalar.functions.model import NOT_CONSTANT, Operand, Param, Var
from floodmark.scalar.types import BIGINT, INT, VARCHAR, Field, Kind, SqlType, list_of, numeric
from floodmark.spark.casts import print_cast

FORMS = Path(__file__).parent.parent / "golden" / "function_forms.json"
_TYPES = {
    Var.ANY: INT, Var.COMPARED: INT, Var.T: INT, Var.TEXT: VARCHAR, Var.OUTPUT: VARCHAR,
    Var.LIST: list_of(INT), Var.LIST_T: list_of(INT), Var.TEXTS: list_of(VARCHAR),
    Var.STRUCT: SqlType(Kind.STRUCT, fields=(Field("a", INT),)),
}  # fmt: skip
_CONSTANTS = ("year", "hex", "UTC", "a", "9.9S", "YYYY-MM-DD", "%s", 1, "15 minutes", "{a}")
"""Literals of which a function that wants one knows at least one."""


def _type(param: Param) -> SqlType:
    if isinstance(param, Kind):
        return numeric(12, 2) if param is Kind.NUMERIC else SqlType(param)
    return _TYPES.get(param, BIGINT)


def _form(function: Function) -> str:
    """Return how a function is printed, of each literal that it takes where it wants one."""
    said = []
    for constant in _CONSTANTS if function.constant else (NOT_CONSTANT,):
        operands = [
            Operand(repr(constant), _type(param), constant)
            if i in function.constant
            else Operand(f"`a{i}`", _type(param))
            for i, param in enumerate(function.params)
        ]
        try:
            value = function.print_value(operands)
            said.append(f"{value} {function.print_error(operands, 'v')}")
        except (FloodmarkError, AssertionError, TypeError, ValueError, KeyError, AttributeError):
            said.append("")
    return "\n".join(said)


def _casts() -> Iterator[tuple[str, int, str]]:
    kinds = [k for k in Kind if k not in (Kind.LIST, Kind.STRUCT, Kind.MAP, Kind.UNKNOWN)]
    for source in map(_type, kinds):
        for target in map(_type, kinds):
            try:
                form = str(print_cast("`a`", source, target))
            except (FloodmarkError, AssertionError, KeyError, ValueError, NotImplementedError):
                continue
            name = f"cast({source.kind.value} as {target.kind.value})"
            yield name, cast_version(source, target), form


def forms() -> dict[str, list[object]]:
    """Return the version of each function and cast, and what tells its form from another one."""
    functions = [(f.signature, f.version, _form(f)) for found in REGISTRY.values() for f in found]
    return {
        name: [version, sha256(form.encode()).hexdigest()[:12]]
        for name, version, form in sorted((*functions, *_casts()))
    }


def test_another_meaning_has_another_version() -> None:
    known = json.loads(FORMS.read_text())
    changed = {name: said for name, said in forms().items() if known.get(name) != said}
    assert not changed.keys() - known.keys() and known.keys() == forms().keys(), (
        "functions came or went: python -m tests.scalar.test_function_versions"
    )
    assert not changed, (
        "another form: raise the version where any value or refusal is another one, then "
        f"python -m tests.scalar.test_function_versions: {sorted(changed)}"
    )


if __name__ == "__main__":
    rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in forms().items())
    FORMS.write_text(f"{{\n{rows}\n}}\n")
