"""Notes that only `floodmark lint` gives on an object: A120 to A125.

These look at how a definition is written and used; nothing here changes what it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from floodmark.catalog.objects import FUNCTION_PREFIX, ObjectKind
from floodmark.catalog.references import table_name, tables_of
from floodmark.changelog import ChangelogMode, is_hidden
from floodmark.errors import Span
from floodmark.sql.spans import span_of
from floodmark.stream.lint.advice import advise
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline

LEFT_TO_EXPLAIN = frozenset({"A101", "A108", "A110"})
"""Notes that ask for nothing at their place: where late rows go, a refusal, what an input says."""

UNUSED = "A120"


@dataclass(frozen=True, slots=True)
class Advice:
    """A note on a definition, and its place in the text."""

    code: str
    text: str
    span: Span | None


def lint_object(obj: AnalysedObject, pipeline: Pipeline) -> tuple[Advice, ...]:
    """Return the notes on an object, in the order of its text."""
    name = obj.object.statement.name.span
    notes = [n for n in advise(obj, pipeline) if n.code not in LEFT_TO_EXPLAIN]
    advice = [Advice(note.code, note.text, name) for note in notes]
    advice += [one for rule in _RULES for one in rule(obj, pipeline)]
    return tuple(sorted(advice, key=lambda a: (a.span.start if a.span else 0, a.code)))


def unused_functions(pipeline: Pipeline) -> tuple[Advice, ...]:
    """Return the functions that nothing calls."""
    objects = pipeline.catalog.objects
    called = {key for o in objects.values() for key in o.reads if key.startswith(FUNCTION_PREFIX)}
    return tuple(
        Advice(UNUSED, f"nothing calls the function {o.name}", o.statement.name.span)
        for key, o in objects.items()
        if o.kind is ObjectKind.FUNCTION and key not in called
    )


def _unused_advice(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say which sources and plain views lead nowhere; tables and results are read by people."""
    if obj.kind not in (ObjectKind.SOURCE, ObjectKind.VIEW):
        return
    catalog = pipeline.catalog
    if not catalog.dependents(obj.key):
        text = f"nothing reads the {obj.kind.value} {obj.name}"
        yield Advice(UNUSED, text, obj.object.statement.name.span)


def _every_column(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say where `*` stands for the columns of what rows come from."""
    for select in _selects(obj):
        stars = [star for e in select.expressions if (star := _star(e)) is not None]
        if not stars or (taken := _stream_of_select(select, pipeline)) is None:
            continue
        bare = getattr(obj.object.statement, "from_relation", None) is not None
        star = f"FROM {taken}" if bare else "*"
        text = f"{star} will include columns that are added to {taken} later; name the columns"
        yield Advice("A121", text, span_of(stars[0], obj.object.span) or obj.object.span)


def _star(expression: exp.Expression) -> exp.Expression | None:
    column = isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
    return expression if column or isinstance(expression, exp.Star) else None


def _stream_of_select(select: exp.Select, pipeline: Pipeline) -> str | None:
    """Return the source or table that stands in a SELECT's own FROM, if one does."""
    for table in tables_of(select):
        read = pipeline.objects.get(table_name(table))
        near = table.find_ancestor(exp.Select) is select
        if near and read is not None and read.kind in (ObjectKind.SOURCE, ObjectKind.TABLE):
            return read.name
    return None


def _selects(obj: AnalysedObject) -> Iterator[exp.Select]:
    query = getattr(obj.object.statement, "query", None)
    if query is not None:
        yield from query.find_all(exp.Select)


def _no_key(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say which views that take rows back have no key that a reader could see."""
    relation = obj.relation
    updates = relation.mode is not ChangelogMode.APPEND_ONLY
    hidden = [column for column in relation.stream_key if is_hidden(column)]
    if obj.kind is ObjectKind.MATERIALIZED_VIEW and updates and hidden:
        text = f"no visible columns are a key of {obj.name}: readers cannot distinguish equal rows"
        yield Advice("A122", text, obj.object.statement.name.span)


def _order_of_nothing(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say where rows are put in an order that a stored result does not have."""
    query = getattr(obj.object.statement, "query", None)
    kept = obj.kind in (ObjectKind.MATERIALIZED_VIEW, ObjectKind.SINK)
    order = None if query is None or not kept else query.args.get("order")
    if (
        query is not None
        and order is not None
        and not (query.args.get("limit") or query.args.get("offset"))
    ):
        text = "stored rows have no order: ORDER BY without LIMIT has no effect here"
        yield Advice("A123", text, span_of(order, obj.object.span))


def _any_rows(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say where LIMIT takes rows that no ORDER BY chooses."""
    for select in _selects(obj):
        limit = select.args.get("limit")
        if limit is not None and select.args.get("order") is None:
            text = "LIMIT without ORDER BY keeps the first rows in the order of all their columns"
            yield Advice("A124", text, span_of(limit, obj.object.span))


def _positional_writes(obj: AnalysedObject, pipeline: Pipeline) -> Iterator[Advice]:
    """Say which sinks write columns by their place."""
    if obj.kind is not ObjectKind.SINK or obj.object.target is None:
        return
    target = pipeline[obj.object.target]
    if getattr(obj.object.statement, "target_columns", ()) or len(target.relation.visible) < 2:
        return
    if obj.name == target.name:
        # CREATE TABLE … AS makes both, of one query.
        return
    names = ", ".join(c.name for c in obj.relation.columns if not is_hidden(c.name))
    text = f"columns go into {target.name} by position; name them: INTO {target.name} ({names})"
    yield Advice("A125", text, obj.object.statement.name.span)


_RULES: tuple[Callable[[AnalysedObject, Pipeline], Iterator[Advice]], ...] = (
    _unused_advice, _every_column, _no_key, _order_of_nothing, _any_rows, _positional_writes,
)  # fmt: skip
