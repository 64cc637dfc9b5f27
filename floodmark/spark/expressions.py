"""Typed expressions to Spark SQL text that never raises.

Each expression becomes a value text and, where a row can be refused, an error text: an INT that is
NULL when the row is fine. Where a row is refused the value is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from floodmark.limits import LIMITS
from floodmark.plan.expr.expressions import (
    AttemptExpr,
    BoolOp,
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Literal,
    Now,
    OutcomeExpr,
    UserCall,
    Volatile,
    walk,
)
from floodmark.plan.expr.sums import is_near_sum
from floodmark.scalar.functions import NOT_CONSTANT, Function, Operand, lookup
from floodmark.scalar.functions.comparison import COMPARISONS
from floodmark.scalar.functions.volatile import RowSeed
from floodmark.scalar.functions.years import ENDS, OUT_OF_RANGE, null_outside_years
from floodmark.scalar.types import VARCHAR, Kind, SqlType
from floodmark.spark.bindings import bind_operands
from floodmark.spark.casts import print_cast
from floodmark.spark.literals import literal, now_literal
from floodmark.spark.types import ident, spark_type
from floodmark.spark.volatile import print_volatile

_NO_ERROR = "CAST(NULL AS INT)"
_HELD_VALUE = "__held"


@dataclass(frozen=True, slots=True)
class CompiledExpr:
    """The two texts of an expression; `error` is None when no row can be refused.

    `message` is the text of what functions of users in it say when they have no value. Where the
    two texts read one struct's fields, `both` is its text: who reads both binds that once.
    """

    value: str
    error: str | None = None
    message: str | None = None
    both: str | None = None

    @property
    def pair(self) -> str:
        """Return the text of a struct with the fields `value` and `error`."""
        error = f"CAST({self.error or 'NULL'} AS INT)"
        return self.both or f"named_struct('value', {self.value}, 'error', {error})"


@dataclass(frozen=True, slots=True)
class _RowScope:
    """What is around the rows: the time, what identifies a row, where its columns are found."""

    now_micros: int | None = None
    seed: RowSeed | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> str:
        return self.columns.get(name) or ident(name)


def compile(
    expr: Expr,
    now_micros: int | None = None,
    seed: RowSeed | None = None,
    columns: Mapping[str, str] | None = None,
) -> CompiledExpr:
    """Return the Spark texts of an expression, its message among them.

    Args:
        expr: the expression; its columns are those of the frame that evaluates the texts.
        now_micros: the epoch's time in microseconds since 1970, UTC.
        seed: what identifies a row, for replay-stable volatile functions; its columns must be in
            the frame. Without it each evaluation draws anew, as in a query on its own: such an
            expression must stand once in a projection of its own (`lift_volatile`).
        columns: the Spark texts of columns that are not those of the frame.
    """
    return _with_message(expr, _RowScope(now_micros, seed, columns or {}))


def compile_bound(expr: Expr, now_micros: int | None = None) -> CompiledExpr:
    """Return the texts of a time that others are compared with.

    One that a constant moves may lie outside of the years 1 to 9999: nothing stores it.
    """
    return _compile_comparand(expr, _RowScope(now_micros))


def _compile_comparand(expr: Expr, around: _RowScope) -> CompiledExpr:
    match expr:
        case Cast() if expr.operand.type.kind in ENDS and expr.type.kind in ENDS:
            return _cast(expr, _compile_comparand(expr.operand, around))
        case Call() if is_near_sum(expr):
            return _call(expr, [_compile(a, around) for a in expr.args])
        case _:
            return _compile(expr, around)


def _refuse_outside_years(expr: Call, compiled: CompiledExpr) -> CompiledExpr:
    """Return the texts of a sum that is refused outside of the years."""
    held = [Operand(compiled.value, expr.type)]
    value = bind_operands(held, lambda o: null_outside_years(o[0].sql, expr.type))
    beyond = bind_operands(
        held, lambda o: OUT_OF_RANGE(o, null_outside_years(o[0].sql, expr.type)) or "NULL"
    )
    return CompiledExpr(value, smallest([compiled.error, beyond]))


def _with_message(expr: Expr, around: _RowScope) -> CompiledExpr:
    compiled = _compile(expr, around)
    calls = [part for part in walk(expr) if isinstance(part, UserCall | OutcomeExpr)]
    if not calls or isinstance(expr, AttemptExpr):
        return compiled
    said = []
    for call in reversed(dict.fromkeys(calls)):
        if isinstance(call, OutcomeExpr):
            said.append(f"{_compile(call.operand, around).value}.message")
            continue
        operands = operands_of(call.args, [_compile(a, around) for a in call.args])
        name = literal(f"{call.function}(): ", VARCHAR)
        said.append(f"concat({name}, {call.user.print_call(operands)}.message)")
    return replace(compiled, message=f"concat_ws('; ', {', '.join(said)})")


def _compile(expr: Expr, around: _RowScope) -> CompiledExpr:
    match expr:
        case ColumnRef():
            return CompiledExpr(around.column(expr.name))
        case Literal():
            return CompiledExpr(literal(expr.value, expr.type))
        case Now():
            assert around.now_micros is not None, "an expression reads now()"
            return CompiledExpr(now_literal(around.now_micros))
        case Cast():
            part = _compile(expr.operand, around)
            return _share_parts([expr.operand], [part], lambda operands: _cast(expr, operands[0]))
        case AttemptExpr():
            return _attempt(expr, _with_message(expr.operand, around))
        case OutcomeExpr():
            held = _compile(expr.operand, around).value
            return CompiledExpr(f"{held}.value", f"{held}.error")
        case BoolOp() | Case() if (once := _compile_comparisons(expr, around)) is not None:
            return once
        case BoolOp():
            parts = [_compile(a, around) for a in expr.args]
            return _share_parts(expr.args, parts, lambda operands: _logic(expr, operands))
        case Case():
            return _case(expr, around)
        case Volatile() if around.seed is not None:
            return CompiledExpr(print_volatile(expr, around.seed, around.now_micros))
        case Call() if expr.function in COMPARISONS:
            return _call(expr, [_compile_comparand(a, around) for a in expr.args])
        case Call() if is_near_sum(expr):
            return _refuse_outside_years(expr, _compile_comparand(expr, around))
        case Call():
            parts = [_compile(a, around) for a in expr.args]
            return _coalesce(expr, parts) if expr.function == "coalesce" else _call(expr, parts)
        case _:
            raise AssertionError(expr)


def _share_parts(
    exprs: Sequence[Expr],
    parts: Sequence[CompiledExpr],
    texts: Callable[[Sequence[CompiledExpr]], CompiledExpr],
) -> CompiledExpr:
    """Return what `texts` make of the parts of an expression, long ones computed once for both.

    Value and error each name a part's value and error. Without it they grow with the power of how
    deep an expression is nested. No call of a user's function may be in `texts`.
    """
    compiled = texts(parts)
    if compiled.error is None:
        return compiled
    both = f"{compiled.value} {compiled.error}"
    if not any(_repetition(part, both) >= LIMITS.repeated_error_characters for part in parts):
        return compiled
    fields, named = [], []
    for i, (expr, part) in enumerate(zip(exprs, parts, strict=True)):
        if isinstance(expr, Literal | ColumnRef | Now):
            named.append(part)
            continue
        fields += [f"{part.pair} AS c{i}"]
        error = None if part.error is None else f"__v.c{i}.error"
        named.append(replace(part, value=f"__v.c{i}.value", error=error, both=None))
    pair = texts(named).pair
    pair = f"transform(array(struct({', '.join(fields)})), __v -> {pair})[0]"
    return CompiledExpr(f"{pair}.value", f"{pair}.error", both=pair)


def _compile_comparisons(expr: BoolOp | Case, around: _RowScope) -> CompiledExpr | None:
    """Return the text of `CASE x WHEN …` or `x IN (…)` that computes `x` once; None for all others.

    It is for an operand that is long and can fail.
    """
    parts = expr.args if isinstance(expr, BoolOp) else [c for c, _ in expr.whens]
    tests = [part for part in parts if isinstance(part, Call) and part.function == "="]
    if len(tests) < len(parts) or len(tests) == 1:
        return None
    operand, others = tests[0].args[0], tests[1:]
    if any(test.args[0] != operand for test in others):
        return None
    compiled = _compile(operand, around)
    if (
        compiled.error is None
        or len(compiled.pair) * len(others) < LIMITS.repeated_error_characters
    ):
        return None
    held = OutcomeExpr(operand.type, ColumnRef(operand.type, _HELD_VALUE))
    whens = tuple(replace(test, args=(held, *test.args[1:])) for test in tests)
    rest: BoolOp | Case
    if isinstance(expr, BoolOp):
        rest = replace(expr, args=whens)
    else:
        results = (result for _, result in expr.whens)
        rest = replace(expr, whens=tuple(zip(whens, results, strict=True)))
    if any(isinstance(part, UserCall) for part in walk(rest)):
        return None  # Spark calls no function of a user in a lambda.
    inner = _compile(rest, replace(around, columns={**around.columns, _HELD_VALUE: _HELD_VALUE}))
    pair = f"transform(array({compiled.pair}), {_HELD_VALUE} -> {inner.pair})[0]"
    return CompiledExpr(f"{pair}.value", f"{pair}.error", both=pair)


def _repetition(part: CompiledExpr, text: str) -> int:
    """Return how many characters of a text say once more what a part is."""
    if part.both is not None:
        return (text.count(part.both) - 1) * len(part.both)
    texts = (part.value, part.error or "")
    return sum((text.count(t) - 1) * len(t) for t in texts if t)


def smallest(errors: Sequence[str | None]) -> str | None:
    """Return the text of the smallest error code, None when there is none."""
    present = list(dict.fromkeys(e for e in errors if e is not None))
    if len(present) < 2:
        return present[0] if present else None
    return f"least({', '.join(present)})"


def _cast(expr: Cast, operand: CompiledExpr) -> CompiledExpr:
    held = [Operand(operand.value, expr.operand.type)]

    def text(of: Sequence[Operand], place: int) -> str | None:
        return print_cast(of[0].sql, expr.operand.type, expr.type)[place]

    value = bind_operands(held, lambda o: text(o, 0) or "NULL")
    fails = text(held, 1) is not None
    error = bind_operands(held, lambda o: text(o, 1) or "NULL") if fails else None
    return CompiledExpr(value, smallest([operand.error, error]))


def _attempt(expr: AttemptExpr, compiled: CompiledExpr) -> CompiledExpr:
    value = f"CAST({compiled.value} AS {spark_type(expr.operand.type)})"
    error = f"CAST({compiled.error or 'NULL'} AS INT)"
    message = f"CAST({compiled.message or 'NULL'} AS STRING)"
    return CompiledExpr(f"named_struct('value', {value}, 'error', {error}, 'message', {message})")


def _logic(expr: BoolOp, parts: Sequence[CompiledExpr]) -> CompiledExpr:
    # A refused operand's value is NULL, so the plain operator already absorbs it.
    value = f"({f' {expr.op.upper()} '.join(p.value for p in parts)})"
    error = smallest([p.error for p in parts])
    if error is None:
        return CompiledExpr(value)
    settled = "FALSE" if expr.op == "or" else "TRUE"
    open_ = f"coalesce({value}, {settled})"
    return CompiledExpr(
        value, f"CASE WHEN {'NOT ' if expr.op == 'or' else ''}{open_} THEN {error} END"
    )


def _case(expr: Case, around: _RowScope) -> CompiledExpr:
    inner = [part for when in expr.whens for part in when]
    inner += [] if expr.otherwise is None else [expr.otherwise]

    def texts(parts: Sequence[CompiledExpr]) -> CompiledExpr:
        whens = [(parts[2 * i], parts[2 * i + 1]) for i in range(len(expr.whens))]
        otherwise = None if expr.otherwise is None else parts[-1]
        fails = any(part.error is not None for part in parts)
        value = _case_value(whens, otherwise)
        return CompiledExpr(value, _case_error(whens, otherwise) if fails else None)

    return _share_parts(inner, [_compile(part, around) for part in inner], texts)


def _case_value(
    whens: Sequence[tuple[CompiledExpr, CompiledExpr]], otherwise: CompiledExpr | None
) -> str:
    values = []
    for condition, result in whens:
        if condition.error is not None:
            values.append(f"WHEN ({condition.error}) IS NOT NULL THEN NULL")
        values.append(f"WHEN {condition.value} THEN {result.value}")
    if otherwise is not None:
        values.append(f"ELSE {otherwise.value}")
    return f"CASE {' '.join(values)} END"


def _case_error(
    whens: Sequence[tuple[CompiledExpr, CompiledExpr]], otherwise: CompiledExpr | None
) -> str:
    """Return the error of the first condition that has one or is TRUE, there that of its result."""
    text = _NO_ERROR if otherwise is None else otherwise.error or _NO_ERROR
    branches: list[str] = []
    for condition, result in reversed(whens):
        branches.insert(0, f"WHEN {condition.value} THEN {result.error or _NO_ERROR}")
        if condition.error is not None:
            text = f"coalesce({condition.error}, CASE {' '.join(branches)} ELSE {text} END)"
            branches = []
    return f"CASE {' '.join(branches)} ELSE {text} END" if branches else text


def _coalesce(expr: Call, parts: Sequence[CompiledExpr]) -> CompiledExpr:
    """Return the first value; a part that is refused has none, and those after it are not asked."""
    if all(p.error is None for p in parts):
        plain = [p.value for p in parts]
        return CompiledExpr(plain[0] if len(plain) == 1 else f"coalesce({', '.join(plain)})")
    return _share_parts(expr.args, parts, _first_value)


def _first_value(parts: Sequence[CompiledExpr]) -> CompiledExpr:
    last = parts[-1]
    value, error = last.value, last.error or _NO_ERROR
    for part in reversed(parts[:-1]):
        after = (
            value if part.error is None else f"CASE WHEN ({part.error}) IS NULL THEN {value} END"
        )
        value = f"coalesce({part.value}, {after})"
        later = error if part.error is None else f"coalesce({part.error}, {error})"
        error = f"CASE WHEN ({part.value}) IS NULL THEN {later} END"
    return CompiledExpr(value, error)


def _call(expr: Call, parts: Sequence[CompiledExpr]) -> CompiledExpr:
    function = lookup(expr)
    operands = operands_of(expr.args, parts)
    if function.is_null(operands):
        inherited = smallest([p.error for p in parts])
        return CompiledExpr(f"CAST(NULL AS {spark_type(expr.type)})", inherited)
    if isinstance(expr, UserCall):
        return _apply(expr, function, parts)
    return _share_parts(expr.args, parts, lambda compiled: _apply(expr, function, compiled))


def _apply(expr: Call, function: Function, parts: Sequence[CompiledExpr]) -> CompiledExpr:
    operands = operands_of(expr.args, parts)
    inherited = smallest([p.error for p in parts])
    value = bind_operands(operands, function.print_value)
    error = None
    if function.print_error(operands, value) is not None:
        error = bind_operands(
            operands, lambda o: function.print_error(o, function.print_value(o)) or "NULL"
        )
    if inherited is not None and not function.strict:
        value = f"CASE WHEN ({inherited}) IS NULL THEN {value} END"
        error = None if error is None else f"CASE WHEN ({inherited}) IS NULL THEN {error} END"
    return CompiledExpr(value, smallest([inherited, error]))


def operands_of(args: Sequence[Expr], parts: Sequence[CompiledExpr]) -> list[Operand]:
    """Return arguments as the registry's forms take them."""
    return [
        Operand(p.value, a.type, a.value if isinstance(a, Literal) else NOT_CONSTANT)
        for a, p in zip(args, parts, strict=True)
    ]


def canonical_key(value: str, type_: SqlType) -> str:
    """Return a key value with one zero and one NaN, so that equal keys have equal bytes.

    >>> from floodmark.scalar.types import DOUBLE, INT
    >>> canonical_key("`k`", INT)
    '`k`'
    >>> canonical_key("`k`", DOUBLE)
    "CASE WHEN isnan(`k`) THEN CAST('NaN' AS DOUBLE) ELSE `k` + CAST(0 AS DOUBLE) END"
    """
    if type_.kind not in (Kind.REAL, Kind.DOUBLE):
        return value
    name = "FLOAT" if type_.kind is Kind.REAL else "DOUBLE"
    return (
        f"CASE WHEN isnan({value}) THEN CAST('NaN' AS {name}) ELSE {value} + CAST(0 AS {name}) END"
    )
