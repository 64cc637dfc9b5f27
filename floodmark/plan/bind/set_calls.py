"""Calls of set-returning functions, built-in and of users, in FROM and in the select list."""

from __future__ import annotations

from sqlglot import exp

from floodmark.errors import BindError
from floodmark.plan.bind.calls import choose_overload, make_call
from floodmark.plan.bind.collectors import SetCall
from floodmark.plan.bind.protocol import ExpressionBinder
from floodmark.plan.bind.user_calls import bind_arguments, user_call
from floodmark.plan.expr.expressions import Call, Expr
from floodmark.scalar.functions import SETS
from floodmark.scalar.functions.user import FunctionKind
from floodmark.scalar.types import list_of, struct_of


def is_set(binder: ExpressionBinder, name: str) -> bool:
    """Tell whether a function of that name gives a set of rows."""
    user = binder.context.functions.get(name)
    return name in SETS or (user is not None and user.kind is FunctionKind.TABLE)


def bind_set(binder: ExpressionBinder, name: str, node: exp.Anonymous) -> SetCall:
    """Return a call of a set-returning function; E0270 for arguments that do not fit."""
    span = binder.span(node)
    if name not in SETS:
        user = binder.context.functions[name]
        call = user_call(user, bind_arguments(binder, user, node, node.expressions), span)
        return SetCall(name, call, tuple(f.name for f in user.result.fields), unpacks=True)
    args = [binder.bind(e) for e in node.expressions]
    entry, args = choose_overload(name, SETS[name], args, span)
    bound = make_call(name, entry, args, span)
    columns = entry.columns or (name,)
    if entry.unpacks and not entry.columns:
        columns = (name,) * len(args)
    return SetCall(name, bound, columns, entry.unpacks)


def bind_set_column(binder: ExpressionBinder, name: str, node: exp.Anonymous) -> Expr:
    """Return the column that stands for a call in the select list; E0289 anywhere else."""
    if binder.sets is None:
        raise BindError(
            "E0289",
            f"{name} returns a set of rows, which cannot stand here",
            span=binder.span(node),
            hint=f"write it in FROM, as in FROM t, {name}(…) AS x, or as a column of its own",
        )
    return binder.sets.add(bind_set(binder.without_sets(), name, node))


def zip_sets(calls: list[tuple[str, SetCall]]) -> Expr:
    """Return several calls as one whose rows have a column for each, NULL where one has ended."""
    fields = ((f"c{i}", call.element) for i, (_, call) in enumerate(calls, 1))
    return Call(list_of(struct_of(*fields)), "unnest", tuple(call.call for _, call in calls))
