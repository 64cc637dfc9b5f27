"""Conditions that compare rows with `now()`, as the periods in which they are TRUE.

`ts <= now() AND now() < ts + INTERVAL '1 hour'` holds from `ts` to an hour later. A condition is
taken apart by rules of its own, whatever an optimizer did before. NOT moves inwards, and a
condition that all branches of an OR share moves before the OR. An OR may have one branch with
`now()`: its period is all of time where another branch is TRUE, else the period of that branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from floodmark.errors import NotSupported, Span
from floodmark.plan.expr.conjunctions import all_of, conjuncts
from floodmark.plan.expr.determinism import is_deterministic, reads_now
from floodmark.plan.expr.expressions import BoolOp, Call, Case, Expr, Literal, columns_of, walk
from floodmark.plan.rules.inverses import first_time, moves_months
from floodmark.scalar.types import BOOLEAN, TIMESTAMPTZ

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="}
_ALWAYS = Literal(TIMESTAMPTZ, datetime.min.replace(tzinfo=UTC))
_NEVER = Literal(TIMESTAMPTZ, datetime.max.replace(tzinfo=UTC))


class NoPeriodError(Exception):
    """A condition that reads `now()` and has no period."""

    def __init__(self, what: str, span: Span | None, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.span = span
        self.hint = hint

    def refusal(self, so: str, *hints: str) -> NotSupported:
        """Return the error E0357 for it; `so` is what follows, `hints` are added to its own."""
        message = f"{self.what} {so}"
        return NotSupported("E0357", message, span=self.span, hint="; ".join((self.hint, *hints)))


@dataclass(slots=True)
class Period:
    """When a condition holds for a row, where the `plain` conditions, without `now()`, hold.

    From the largest of `lower_bounds` on and before the smallest of
    `upper_bounds`, TIMESTAMPTZ each; never
    where one of them is NULL. Without `branches` no branch of an OR may read the time.
    """

    plain: list[Expr] = field(default_factory=list)
    lower_bounds: list[Expr] = field(default_factory=list)
    upper_bounds: list[Expr] = field(default_factory=list)
    branches: bool = True


def period_of(condition: Expr, *, branches: bool = True) -> Period:
    """Return when a condition holds; raises `NoPeriodError` where nothing tells.

    With `branches` one branch of an OR may read the time.

    >>> from floodmark.plan.expr.expressions import ColumnRef, Now
    >>> ts = ColumnRef(TIMESTAMPTZ, "ts")
    >>> period_of(Call(BOOLEAN, ">", (ts, Now(TIMESTAMPTZ)))).upper_bounds == [ts]
    True
    """
    period = Period(branches=branches)
    for part in conjuncts(condition):
        _add(part, period)
    return period


def _add(part: Expr, period: Period) -> None:
    """Add a condition to a period."""
    if not reads_now(part):
        period.plain.append(part)
        return
    match part:
        case BoolOp(op="and"):
            for inner in part.args:
                _add(inner, period)
        case BoolOp():
            _add_branches(part, period)
        case Call(function="not", args=(inner,)):
            _add(_negate(inner, part.span), period)
        case Call(function=op, args=(left, right)) if op in _MIRRORED:
            if reads_now(left) and reads_now(right):
                hint = "bring now() to one side: a + b < now(), not a < now() - b"
                raise NoPeriodError("now() on both sides of a comparison", part.span, hint)
            if reads_now(left):
                _add_comparison(part, op, left, right, period)
            else:
                _add_comparison(part, _MIRRORED[op], right, left, period)
        case _:
            raise _comparison_error(part)


def _add_comparison(part: Expr, op: str, f: Expr, e: Expr, period: Period) -> None:
    """Add `f op e`, where `f` alone reads the time."""
    if columns_of(f):
        hint = "compare now() with an expression over the row: ts + INTERVAL '1 hour' > now()"
        raise NoPeriodError("now() mixed with columns", place_of(f) or part.span, hint)
    if not is_deterministic(e):
        hint = "compute that in a view below, as a column, and compare now() with it"
        raise NoPeriodError("now() compared with what changes by itself", part.span, hint)
    reached, passed = (first_time(f, e, after=after) for after in (False, True))
    if reached is None or passed is None:
        raise _no_inverse(f, part.span)
    if op in (">=", "="):
        period.lower_bounds.append(reached)
    if op == ">":
        period.lower_bounds.append(passed)
    if op == "<":
        period.upper_bounds.append(reached)
    if op in ("<=", "="):
        period.upper_bounds.append(passed)


def _no_inverse(f: Expr, span: Span | None) -> NoPeriodError:
    place = place_of(f) or span
    if moves_months(f):
        hint = "move the months to the row's side: now() < ts + INTERVAL '1 month'; or truncate " \
            "now() to days"  # fmt: skip
        return NoPeriodError("adding months to now(), which is not monotone,", place, hint)
    hint = "compare now(), now() with an interval, date_trunc() or a date with the row"
    return NoPeriodError("a function of now() that has no inverse", place, hint)


def _add_branches(part: BoolOp, period: Period) -> None:
    """Add an OR: the conditions that all branches share, and the OR of their other conditions."""
    branches = [list(_parts(arg)) for arg in part.args]
    shared = [p for p in branches[0] if all(p in other for other in branches[1:])]
    for inner in shared:
        _add(inner, period)
    rest = [all_of([p for p in branch if p not in shared]) for branch in branches]
    left = [branch for branch in rest if branch is not None]
    if len(left) < len(rest):
        # A branch that is no more than what all have in common: A OR (A AND b) is A.
        return
    timed = [branch for branch in left if reads_now(branch)]
    if not timed:
        period.plain.append(BoolOp(BOOLEAN, "or", tuple(left), span=part.span))
        return
    if not period.branches:
        hint = "write the OR as WHERE of a view over what is stored"
        raise NoPeriodError("now() in a branch of an OR", place_of(timed[0]), hint)
    if len(timed) > 1:
        hint = "write a view for each, and UNION them"
        raise NoPeriodError("now() in several branches of an OR", part.span, hint)
    others = tuple(branch for branch in left if branch is not timed[0])
    if not all(map(is_deterministic, others)):
        hint = "compute that in a view below, as a column, and compare that"
        raise NoPeriodError("now() beside what changes by itself", part.span, hint)
    inner_period = Period()
    _add(timed[0], inner_period)
    guard = others[0] if len(others) == 1 else BoolOp(BOOLEAN, "or", others)
    for plain in inner_period.plain:
        period.plain.append(BoolOp(BOOLEAN, "or", (*others, plain), span=part.span))
    period.lower_bounds += [_unless(guard, bound, _ALWAYS) for bound in inner_period.lower_bounds]
    period.upper_bounds += [_unless(guard, bound, _NEVER) for bound in inner_period.upper_bounds]


def _unless(guard: Expr, bound: Expr, open_: Literal) -> Expr:
    return Case(TIMESTAMPTZ, ((guard, open_),), bound)


def _parts(expr: Expr) -> Iterator[Expr]:
    """Yield the parts of a branch: of those that read the time no NOT, and `now()` on the left."""
    for part in conjuncts(expr):
        match part:
            case Call(function="not", args=(inner,)) if reads_now(part):
                yield from _parts(_negate(inner, part.span))
            case Call(function=op, args=(left, right)) if op in _MIRRORED and not reads_now(left):
                mirrored = replace(part, function=_MIRRORED[op], args=(right, left))
                yield mirrored if reads_now(right) else part
            case _:
                yield part


def _negate(expr: Expr, span: Span | None) -> Expr:
    """Return the negation of a condition on time, with NULL for NULL."""
    match expr:
        case BoolOp():
            other = "or" if expr.op == "and" else "and"
            parts = tuple(_not(arg) for arg in expr.args)
            return replace(expr, op=other, args=parts, span=span)
        case Call(function="not", args=(inner,)):
            return inner
        case Call(function=op) if op in _OPPOSITE:
            return replace(expr, function=_OPPOSITE[op], span=span)
        case Call(function="="):
            return replace(expr, function="<>", span=span)
        case _:
            raise _comparison_error(expr)


def _not(expr: Expr) -> Expr:
    return _negate(expr, expr.span) if reads_now(expr) else Call(BOOLEAN, "not", (expr,))


def _comparison_error(part: Expr) -> NoPeriodError:
    direct = "compare now() directly, with <, <=, >, >= or =, in conditions joined by AND"
    match part:
        case Call(function="<>"):
            hint = "write a view for < and one for >, and UNION ALL them"
            return NoPeriodError("<> with now()", part.span, hint)
        case Case():
            return NoPeriodError("now() inside CASE", place_of(part), direct)
        case Call(function=name) if name.startswith("is_"):
            words = name.removeprefix("is_").replace("_", " ").upper()
            return NoPeriodError(f"IS {words} over a comparison with now()", place_of(part), direct)
        case _:
            return NoPeriodError(
                "now() in something other than a comparison", place_of(part), direct
            )


def place_of(part: Expr) -> Span | None:
    """Return where an expression, or something in it, stands in the SQL."""
    spans = (e.span for e in walk(part) if e.span is not None)
    return next(spans, None)
