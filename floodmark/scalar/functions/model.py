"""What the registry knows about a function: types, determinism, order, failure, and both forms.

Every scalar function has a Spark form, a text that never raises, and a Python form, which is the
meaning. A row that a function refuses has a `RowErrorCode` in place of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, Final

from floodmark.scalar.types import Kind, SqlType

SetRows = list[tuple[Any, ...]]
"""The argument tuples of a group's rows."""
Types = tuple[SqlType, ...]
"""The types of the arguments."""


class Determinism(Enum):
    """How often a function may change its mind."""

    DETERMINISTIC = "deterministic"
    STABLE = "stable within an epoch"
    VOLATILE = "volatile"


class RowErrorCode(IntEnum):
    """Why an expression has no value for a row; `621` is documented as E0621."""

    DIVISION_BY_ZERO = 621
    NUMBER_OUT_OF_RANGE = 622
    INVALID_TEXT = 623
    TIME_OUT_OF_RANGE = 624
    INVALID_ARGUMENT = 625
    FUNCTION_RAISED = 626
    WRONG_RESULT = 627
    SEVERAL_ROWS = 628

    @property
    def text(self) -> str:
        """Return the code as it is shown to people.

        >>> RowErrorCode.DIVISION_BY_ZERO.text
        'E0621'
        """
        return f"E{self.value:04d}"

    @property
    def says(self) -> str:
        """Return the reason in words.

        >>> RowErrorCode.DIVISION_BY_ZERO.says
        'division by zero'
        """
        return _SAYS.get(self, self.name.lower().replace("_", " "))


_SAYS = {
    RowErrorCode.INVALID_TEXT: "the text is no value of the type",
    RowErrorCode.TIME_OUT_OF_RANGE: "time out of range: the years are 1 to 9999",
    RowErrorCode.FUNCTION_RAISED: "the function raised an error",
    RowErrorCode.WRONG_RESULT: "the function returned no value of its type",
    RowErrorCode.SEVERAL_ROWS: "more than one row",
}


class RowError(Exception):
    """An expression has no value for this row; the Python forms raise it, nothing else does."""

    def __init__(self, code: RowErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class Var(Enum):
    """A parameter that takes more than one type."""

    ANY = "any"
    """Any type, each argument its own."""
    COMPARED = "comparable type"
    """As `T`, but REAL beside another number is compared in DOUBLE."""
    T = "same type"
    """All arguments marked so are brought to one common type."""
    LIST = "array"
    """An array of any element type."""
    LIST_T = "array of the same type"
    """An array whose element is the common type."""
    TEXT = "any type, as text"
    """Any type; the binder casts it to VARCHAR."""
    OUTPUT = "any type, as its output"
    """Any type; the binder makes the text that clients see of it: truth values are `t` and `f`."""
    TEXTS = "character varying[]"
    """An array of texts; an untyped literal becomes one."""
    STRUCT = "struct"
    MAP = "map"

    def __str__(self) -> str:
        return self.value


Param = Kind | Var


class _NotConstant(Enum):
    TOKEN = "not a constant"


NOT_CONSTANT: Final = _NotConstant.TOKEN


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument as a form sees it; prints as its Spark text.

    `constant` is the Python value of a literal (None for NULL), else `NOT_CONSTANT`.
    """

    sql: str
    type: SqlType
    constant: Any = NOT_CONSTANT

    def __str__(self) -> str:
        return self.sql

    @property
    def is_constant(self) -> bool:
        """Tell whether the argument is a literal."""
        return self.constant is not NOT_CONSTANT


Operands = Sequence[Operand]
SparkForm = str | Callable[[Operands], str]
"""A text with `{0}`, `{1}` for the arguments, or a function that prints one."""
ErrorForm = Callable[[Operands, str], str | None]
"""Prints the row's error code (an INT text, NULL when there is none) from the arguments and the
value's text; None says that these arguments cannot fail."""


def null_means(code: RowErrorCode | str) -> ErrorForm:
    """Return the form that says "the value is NULL though no argument is".

    Args:
        code: the error, or an INT text with `{0}`, `{1}` for the arguments that chooses one.

    >>> from floodmark.scalar.types import INT
    >>> form = null_means(RowErrorCode.NUMBER_OUT_OF_RANGE)
    >>> form([Operand("`a`", INT), Operand("2", INT, 2)], "try_add(`a`, 2)")
    'CASE WHEN try_add(`a`, 2) IS NULL AND `a` IS NOT NULL THEN 622 END'
    """

    def form(operands: Operands, value: str) -> str | None:
        if any(o.constant is None for o in operands):
            return None
        present = [f"{o} IS NOT NULL" for o in operands if not o.is_constant]
        reason = code.format(*operands) if isinstance(code, str) else str(code.value)
        return f"CASE WHEN {' AND '.join([f'{value} IS NULL', *present])} THEN {reason} END"

    return form


@dataclass(frozen=True, slots=True)
class Overload:
    """What the overloads of all kinds of functions share: a name, parameters and a result.

    `constant` lists the arguments that must be literals. A variadic overload repeats its last
    parameter, at least once.
    """

    name: str
    params: tuple[Param, ...]
    result: SqlType | Callable[[Operands], SqlType]
    variadic: bool = field(default=False, kw_only=True)
    constant: frozenset[int] = field(default=frozenset(), kw_only=True)

    def result_type(self, operands: Operands) -> SqlType:
        """Return the type of the result for these arguments."""
        return self.result if isinstance(self.result, SqlType) else self.result(operands)

    def accepts(self, count: int) -> bool:
        """Tell whether the overload takes this many arguments."""
        return count >= len(self.params) if self.variadic else count == len(self.params)

    def param(self, index: int) -> Param:
        """Return the parameter that the argument at `index` meets."""
        return self.params[min(index, len(self.params) - 1)]

    @property
    def signature(self) -> str:
        """Return the overload as text, e.g. `lpad(character varying, integer)`."""
        names = [p.value for p in self.params]
        return f"{self.name}({', '.join(names)}{', ...' if self.variadic else ''})"


@dataclass(frozen=True, slots=True)
class Function(Overload):
    """One overload of a scalar function or operator.

    `monotone` is the argument whose order the result keeps while all others are constant; the
    binder puts the constant of a sum on the right. `python` takes the argument values (never None
    when `strict`) and raises `RowError`; with `typed` it first takes the argument types and the
    result type. `version` is raised by who changes what the function gives for some arguments:
    sources whose rows were made with the former meaning do not go on by themselves.
    """

    spark: SparkForm
    python: Callable[..., Any]
    typed: bool = False
    strict: bool = True
    determinism: Determinism = Determinism.DETERMINISTIC
    monotone: int | None = None
    error: ErrorForm | None = None
    ingestion_stable: bool = True
    version: int = 1

    def is_null(self, operands: Operands) -> bool:
        """Tell whether an argument is a literal NULL, so that the value is; forms do not see it."""
        return self.strict and any(o.is_constant and o.constant is None for o in operands)

    def print_value(self, operands: Operands) -> str:
        """Return the Spark text of the value: NULL where the row is refused, never raising."""
        if callable(self.spark):
            return self.spark(operands)
        return self.spark.format(*(o.sql for o in operands))

    def print_error(self, operands: Operands, value: str) -> str | None:
        """Return the Spark text of the row's error code, or None when there cannot be one."""
        return None if self.error is None else self.error(operands, value)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One column of an invertible aggregate's state.

    The column is the sum over the group's changes of `contribution`, a Spark text in which `{0}`
    is the argument and `{w}` the row's weight; it never is NULL. `type` is its type at rest.
    With `gathered` a contribution is STRUCT(v, n) or NULL, and the column the ARRAY of them with
    each `v` once, in order, beside the sum of its `n`.
    """

    suffix: str
    type: SqlType
    contribution: str
    gathered: bool = False


@dataclass(frozen=True, slots=True)
class Decomposition:
    """How an aggregate is kept by addition alone.

    `finish` prints the value from accumulator columns: `{count}` stands for the column whose suffix
    is `count`. `overflow` prints the condition under which the group's row is refused, or is None.
    Both may name, like an accumulator, what `bound` prints from these: what is read several times,
    or by several functions, is computed once.
    """

    accumulators: tuple[Accumulator, ...]
    finish: str
    overflow: str | None = None
    bound: tuple[tuple[str, str], ...] = ()

    def print_value(self, slots: Mapping[str, str]) -> str:
        """Return the text of the value from the texts of the accumulators, by suffix."""
        bound = {name: text.format(**slots) for name, text in self.bound}
        return self.finish.format(**slots, **bound)


@dataclass(frozen=True, slots=True)
class AggregateFunction(Overload):
    """One overload of an aggregate function.

    `spark` is the aggregate over a set without retractions (or prints it from the argument types):
    `{0}` is the argument, `{distinct}` is `DISTINCT ` or empty, `{filter}` follows each aggregate
    call. An order-sensitive one is printed by the caller from `over_list`, where `{list}` is the
    ARRAY of first arguments in order, NULLs included. `python` takes
    the list of argument tuples of the group's rows (NULL arguments included, filtered, distinct and
    ordered as asked), the argument types and the result type. `extremum` names the value that an
    append-only input keeps: `min` or `max`. Where `overflows` for the argument types, a group has
    no value that is NULL though one of its arguments is not: its row is refused. An `ordered_set`
    is called with WITHIN GROUP, which gives its first argument; the list has no NULLs then. Where
    `adds` is set, `decompose` holds for those argument types alone.
    """

    spark: SparkForm
    python: Callable[[SetRows, Types, SqlType], Any]
    order_sensitive: bool = False
    over_list: SparkForm | None = None
    decompose: Callable[[Types, SqlType], Decomposition] | None = None
    extremum: str | None = None
    ignores_distinct: bool = False
    overflows: Callable[[Types], bool] | None = None
    ordered_set: bool = False
    adds: Callable[[Types], bool] | None = None

    def is_sum(self, types: Iterable[SqlType]) -> bool:
        """Tell whether the aggregate of such arguments is kept by addition alone."""
        return self.decompose is not None and (self.adds is None or self.adds(tuple(types)))

    def print_batch(
        self, operands: Operands, *, distinct: bool = False, condition: str | None = None
    ) -> str:
        """Return the Spark text over a set without retractions.

        Args:
            operands: the arguments.
            distinct: whether equal arguments count once.
            condition: the text of the FILTER condition, if any.
        """
        word = "DISTINCT " if distinct and not self.ignores_distinct else ""
        clause = "" if condition is None else f" FILTER (WHERE {condition})"
        return self._template(operands).format(
            *(o.sql for o in operands), distinct=word, filter=clause
        )

    def print_over(self, operands: Operands, over: str, condition: str | None = None) -> str:
        """Return the Spark text over a frame: `over` is the OVER clause.

        Spark knows no FILTER there; a row that `condition` does not let in counts as NULL.
        """
        if condition is None:
            return self._template(operands).format(
                *(o.sql for o in operands), distinct="", filter=over
            )
        if not operands:
            return f"count(CASE WHEN {condition} THEN 1 END){over}"
        values = [f"CASE WHEN {condition} THEN {o.sql} END" for o in operands]
        return self._template(operands).format(*values, distinct="", filter=over)

    def print_list(self, operands: Operands, list_: str) -> str:
        """Return the Spark text over an ARRAY of first arguments, which is computed once."""
        assert self.over_list is not None, self.name
        template = self.over_list(operands) if callable(self.over_list) else self.over_list
        arguments = [o.sql for o in operands]
        if template.count("{list}") == 1:
            return template.format(*arguments, list=list_)
        return f"transform(array({list_}), l -> {template.format(*arguments, list='l')})[0]"

    def _template(self, operands: Operands) -> str:
        return self.spark(operands) if callable(self.spark) else self.spark


@dataclass(frozen=True, slots=True)
class WindowFunction(Overload):
    """One overload of a function that exists only with OVER; aggregates work with OVER too."""

    spark: str
