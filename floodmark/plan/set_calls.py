"""Calls of set-returning functions, built-in and of users, in FROM and in the select list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from floodmark.catalog.functions import SETS
from floodmark.catalog.functions.user import FunctionKind
from floodmark.catalog.types import SqlType, list_of, struct_of
from floodmark.errors import BindError
from floodmark.plan.calls import checked_call, choose_overload
from floodmark.plan.expressions import Call, ColumnRef, Expr
from floodmark.plan.user_functions import bind_arguments, user_call

if TYPE_CHECKING:
    from floodmark.plan.binder import Binder


SET_COLUMN = "__set"
"""Prefix of the columns that stand for set-returning calls of a select list."""


@dataclass(frozen=True, slots=True)
class SetCall:
    """A bound call: its value is the ARRAY of rows, whose columns have these names."""

    name: str
    call: Expr
    columns: tuple[str, ...] = ()
    spread: bool = False

    @property
    def element(self) -> SqlType:
        """Return the type of one row: that of its one column, or the STRUCT of them."""
        assert self.call.type.element is not None
        return self.call.type.element

    @property
    def value(self) -> SqlType:
        """Return the type of a row as one value."""
        one = self.spread and len(self.columns) == 1
        return self.element.fields[0].type if one else self.element


@dataclass
class SetCollector:
    """Gathers the distinct set-returning calls of a select list; each becomes a column."""

    calls: list[tuple[str, SetCall]] = field(default_factory=list)

    def add(self, call: SetCall) -> ColumnRef:
        """Return the column that holds one of the call's rows."""
        for name, known in self.calls:
            if known == call:
                return ColumnRef(call.value, name, span=call.call.span)
        name = f"{SET_COLUMN}{len(self.calls)}"
        self.calls.append((name, call))
        return ColumnRef(call.value, name, span=call.call.span)

    @property
    def names(self) -> frozenset[str]:
        """Return the columns that stand for calls."""
        return frozenset(name for name, _ in self.calls)


def is_set(binder: Binder, name: str) -> bool:
    """Tell whether a function of that name gives a set of rows."""
    user = binder.context.functions.get(name)
    return name in SETS or (user is not None and user.kind is FunctionKind.TABLE)


def bind_set(binder: Binder, name: str, node: exp.Anonymous) -> SetCall:
    """Return a call of a set-returning function; E0270 for arguments that do not fit."""
    span = binder.span(node)
    if name not in SETS:
        user = binder.context.functions[name]
        call = user_call(user, bind_arguments(binder, user, node, node.expressions), span)
        return SetCall(name, call, tuple(f.name for f in user.result.fields), spread=True)
    args = [binder.bind(e) for e in node.expressions]
    entry, args = choose_overload(name, SETS[name], args, span)
    bound = checked_call(name, entry, args, span)
    columns = entry.columns or (name,)
    if entry.spread and not entry.columns:
        columns = (name,) * len(args)
    return SetCall(name, bound, columns, entry.spread)


def bind_set_column(binder: Binder, name: str, node: exp.Anonymous) -> Expr:
    """Return the column that stands for a call in the select list; E0289 anywhere else."""
    if binder.sets is None:
        raise BindError(
            "E0289",
            f"{name} returns a set of rows, which cannot stand here",
            span=binder.span(node),
            hint=f"write it in FROM, as in FROM t, {name}(…) AS x, or as a column of its own",
        )
    return binder.sets.add(bind_set(binder.without_sets(), name, node))


def in_step(calls: list[tuple[str, SetCall]]) -> Expr:
    """Return several calls as one whose rows have a column for each, NULL where one has ended."""
    fields = ((f"c{i}", call.element) for i, (_, call) in enumerate(calls, 1))
    return Call(list_of(struct_of(*fields)), "unnest", tuple(call.call for _, call in calls))
