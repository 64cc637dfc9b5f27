"""What a session is: constants that are the same within an epoch, and facts about types."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from floodmark.scalar.functions.model import Determinism, Function, Var
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import INT, VARCHAR

_USER, _DATABASE, _SCHEMA = "floodmark", "floodmark", "public"


def _version() -> str:
    try:
        number = version("floodmark")
    except PackageNotFoundError:
        number = "0"
    return f"PostgreSQL 16.0 (Floodmark {number})"


def constants() -> list[Function]:
    """Return the session's constants, `pg_typeof` and the counts of NULLs."""
    texts = {
        "current_user": _USER, "session_user": _USER, "current_role": _USER, "user": _USER,
        "current_database": _DATABASE, "current_catalog": _DATABASE,
        "current_schema": _SCHEMA, "version": _version(),
    }  # fmt: skip

    def constant(name: str, text: str) -> Function:
        return Function(
            name, (), VARCHAR, quote(text), lambda: text,
            determinism=Determinism.STABLE, ingestion_stable=False,
        )  # fmt: skip

    nulls = "CAST({0} IS {1}NULL AS INT)"
    return [
        *(constant(name, text) for name, text in texts.items()),
        Function(
            "pg_typeof", (Var.ANY,), VARCHAR, lambda o: quote(str(o[0].type)),
            lambda types, _, value: str(types[0]), typed=True, strict=False,
        ),
        Function(
            "num_nulls", (Var.ANY,), INT,
            lambda o: f"({' + '.join(nulls.format(x, '') for x in o)})",
            lambda *values: sum(v is None for v in values), variadic=True, strict=False,
        ),
        Function(
            "num_nonnulls", (Var.ANY,), INT,
            lambda o: f"({' + '.join(nulls.format(x, 'NOT ') for x in o)})",
            lambda *values: sum(v is not None for v in values), variadic=True, strict=False,
        ),
    ]  # fmt: skip
