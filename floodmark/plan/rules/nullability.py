"""Whether a value can be NULL, and which conditions may therefore be evaluated first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from floodmark.plan import nodes as n
from floodmark.plan.expr.can_fail import can_fail
from floodmark.plan.expr.conjunctions import conjuncts, is_equality
from floodmark.plan.expr.expressions import BoolOp, Call, ColumnRef, Expr, Literal
from floodmark.scalar.types import BOOLEAN

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def never_null(expr: Expr, node: n.Node) -> bool:
    """Tell whether an expression over a node's rows has a value that is not NULL, or none."""
    match expr:
        case Literal():
            return expr.value is not None
        case ColumnRef():
            return _column(expr, node)
        case Call(function="is_null" | "is_not_null" | "is_not_false"):
            return True
        case Call(function="+" | "-" | "*"):
            return all(never_null(arg, node) for arg in expr.args)
        case Call() if expr.function in COMPARISONS:
            return all(never_null(arg, node) for arg in expr.args)
        case BoolOp():
            return all(never_null(arg, node) for arg in expr.args)
        case _:
            return False


def _column(column: ColumnRef, node: n.Node) -> bool:
    """Tell whether a column is never NULL: declared so, filtered, or with a watermark."""
    if not node.field(column.name).nullable:
        return True
    match node:
        case n.Scan():
            # A row without a time is put aside before it is stored.
            return any(mark.column == column.name for mark in node.watermarks)
        case n.Filter():
            tested = (part for part in conjuncts(node.predicate) if needs_values(part))
            return any(column in part.args for part in tested) or _column(column, node.input)
        case n.Project():
            return never_null(dict(node.columns)[column.name], node.input)
        case n.Pairing() if column.name in node.left.names:
            return not node.kind.pads_left and _column(column, node.left)
        case n.Pairing():
            return not node.kind.pads_right and _column(column, node.right)
        case _:
            return False


def needs_values(part: Expr) -> TypeGuard[Call]:
    """Tell whether a condition is TRUE only where its arguments are not NULL."""
    return isinstance(part, Call) and part.function in (*COMPARISONS, "is_not_null")


def split_conditions(
    parts: Sequence[Expr], moves: Callable[[Expr], bool], node: n.Node
) -> tuple[list[Expr], list[Expr]]:
    """Split what all must hold into conditions that may be asked first, and what is asked then.

    Where what is asked then can fail, a condition that may be NULL only keeps out what it is FALSE
    for, and is asked once more: NULL AND an error is the error. Equal columns, which can join two
    inputs, are asked first all the same.
    """
    exact = not any(can_fail(part) for part in parts if not moves(part))
    first: list[Expr] = []
    then: list[Expr] = []
    for part in parts:
        if not moves(part):
            then.append(part)
        elif exact or is_equality(part) or never_null(part, node):
            first.append(part)
        else:
            first.append(Call(BOOLEAN, "is_not_false", (part,), span=part.span))
            then.append(part)
    return first, then
