"""SET of an UPDATE: each column's value, those of a tuple taken apart."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from floodmark.changelog import is_hidden
from floodmark.errors import BindError
from floodmark.plan.bind.scope import CorrelationError
from floodmark.plan.build.parentheses import without_parentheses
from floodmark.plan.build.protocol import QueryBuilder
from floodmark.sql import statements as s
from floodmark.sql.spans import span_of

_SHAPES = ("group", "distinct", "order", "limit", "offset", "with_", "with")
_ALIAS = "__values"


def values_of(
    assignment: s.Assignment, builder: QueryBuilder | None = None
) -> Iterator[tuple[str, exp.Expression]]:
    """Yield each column that an assignment names, with its value.

    A tuple may be written out, come from a subquery, which a `builder` plans, or from a CASE whose
    results are tuples; E0364 for one of another width, and for what is none.
    """
    if not assignment.is_tuple:
        yield assignment.columns[0], assignment.value
        return
    parts = _Parts(assignment, builder)
    for i, column in enumerate(assignment.columns):
        yield column, parts.part(assignment.value, i)


def check_tables(assignment: s.Assignment, *known: str) -> None:
    """Raise E0208 where a column stands behind another name than those of the target."""
    for table in assignment.tables:
        if table not in known:
            raise BindError(
                "E0208",
                f'"{table}" is not the table whose columns are set',
                span=assignment.span,
                hint=f"write the column alone, or behind {known[0]}",
            )


class _Parts:
    """Takes the tuples of one assignment apart."""

    def __init__(self, assignment: s.Assignment, builder: QueryBuilder | None) -> None:
        self._assignment = assignment
        self._builder = builder
        self._width = len(assignment.columns)

    def part(self, value: exp.Expression, i: int) -> exp.Expression:
        """Return the value of one column."""
        match value:
            case exp.Paren():
                return self.part(value.this, i)
            case exp.Tuple():
                return self._one_of(value.expressions, i, value)
            case exp.Case():
                return self._case_part(value, i)
            case exp.Null():
                return value
            case exp.Subquery() if self._builder is not None:
                return self._query_part(value, i)
            case _ if self._width == 1:
                return value
            case _:
                raise self._refusal(value, "this is no tuple")

    def _one_of(
        self, values: list[exp.Expression], i: int, place: exp.Expression
    ) -> exp.Expression:
        if len(values) != self._width:
            raise self._refusal(place, f"{len(values)} values for {self._width} columns")
        found: exp.Expression = values[i]
        return found

    def _case_part(self, case: exp.Case, i: int) -> exp.Expression:
        out = case.copy()
        for mine, branch in zip(out.args["ifs"], case.args["ifs"], strict=True):
            mine.set("true", self.part(branch.args["true"], i).copy())
        if case.args.get("default") is not None:
            out.set("default", self.part(case.args["default"], i).copy())
        return out

    def _query_part(self, value: exp.Subquery, i: int) -> exp.Expression:
        query = without_parentheses(value)
        starred = any(e.is_star for e in query.expressions)
        if isinstance(query, exp.Select) and not starred:
            self._one_of(query.expressions, i, value)
            if not any(query.args.get(shape) for shape in _SHAPES):
                one = query.copy()
                one.set("expressions", [query.expressions[i].copy()])
                return _place_at(exp.Subquery(this=one), value)
        self._check_width(query, value)
        names = [exp.to_identifier(f"value{k}") for k in range(self._width)]
        alias = exp.TableAlias(this=exp.to_identifier(_ALIAS), columns=names)
        around = exp.Select(
            expressions=[exp.Column(this=names[i].copy())],
            from_=exp.From(this=exp.Subquery(this=query.copy(), alias=alias)),
        )
        return _place_at(exp.Subquery(this=around), value)

    def _check_width(self, query: exp.Expression, place: exp.Expression) -> None:
        assert self._builder is not None
        try:
            node = self._builder.query(query)
        except CorrelationError as error:
            error.hint = "leave GROUP BY, DISTINCT, ORDER BY, LIMIT and * out of this subquery"
            raise
        width = sum(not is_hidden(f.name) for f in node.schema)
        if width != self._width:
            raise self._refusal(place, f"{width} values for {self._width} columns")

    def _refusal(self, place: exp.Expression, why: str) -> BindError:
        return BindError(
            "E0364",
            f"a tuple assignment needs as many values as columns: {why}",
            span=span_of(place, self._assignment.span) or self._assignment.span,
            hint="(a, b) = (1, 2), (a, b) = (SELECT x, y FROM …), or a CASE of tuples",
        )


def _place_at(made: exp.Expression, place: exp.Expression) -> exp.Expression:
    """Give an expression that was made the place of the one that it stands for."""
    made.meta.update({k: v for k, v in place.meta.items() if k in ("start", "end")})
    return made
