"""Operands that a text reads several times, computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from floodmark.limits import LIMITS
from floodmark.scalar.functions.model import Operand


def bind_operands(operands: Sequence[Operand], body: Callable[[Sequence[Operand]], str]) -> str:
    """Return the text that `body` prints of operands, long ones in it computed once.

    Without it a text grows with the power of how deep calls are nested.

    >>> from floodmark.scalar.types import INT
    >>> twice = lambda o: f"{o[0]} * {o[0]}"
    >>> bind_operands([Operand("`a`", INT)], twice)
    '`a` * `a`'
    >>> bind_operands([Operand("`a`" + " + 1" * 200, INT)], twice)[-36:]
    ' AS c0)), __v -> __v.c0 * __v.c0)[0]'
    """
    text = body(operands)
    varying = [o for o in operands if not o.is_constant]
    if all((text.count(o.sql) - 1) * len(o.sql) < LIMITS.repeated_characters for o in varying):
        return text
    # All of them, so that the lambda has no part of an operand in it: Spark calls no function of
    # a user there.
    names = {sql: f"__v.c{i}" for i, sql in enumerate(dict.fromkeys(o.sql for o in varying))}
    fields = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(names))
    inner = body([o if o.is_constant else replace(o, sql=names[o.sql]) for o in operands])
    return f"transform(array(struct({fields})), __v -> {inner})[0]"
