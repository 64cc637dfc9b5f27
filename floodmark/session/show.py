"""Statements that the catalog answers: SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from floodmark.catalog.objects import (
    CatalogObject,
    ObjectKind,
    catalog_name,
    check_kind,
    key_of,
    kind_of,
)
from floodmark.errors import NotSupported, Span
from floodmark.plan.build.builder import build_query
from floodmark.query.query import rewrite_to_run
from floodmark.scalar.functions.like import check_like, is_like
from floodmark.session.ddl.deployment import plan_statement
from floodmark.session.inspect.sizes import TableSize, as_text
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql
from floodmark.stream.explain.explain import explain_object, explain_plan
from floodmark.stream.explain.explained import Explanation, as_html
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import plain_views
from floodmark.stream.objects.planning import Use, plan_of
from floodmark.stream.objects.refusals import refuse_opaque
from floodmark.tables.results import Result, text_result
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.settings import check_setting

Sizes = Callable[[str], Sequence[TableSize]]
ExplainStatement = Callable[[s.Statement, Deployed], Explanation]


def show(statement: s.Show | s.Describe, deployed: Deployed, settings: Mapping[str, str]) -> Result:
    """Return the rows of a SHOW or DESCRIBE."""
    if isinstance(statement, s.Describe):
        columns = find_relation(statement.name, statement.kind, deployed).relation.visible
        rows = ((c.name, str(c.type), c.nullable) for c in columns)
        return text_result("DESCRIBE", ("Name", "Type", "Nullable"), rows)
    if statement.what == "CREATE":
        assert statement.name is not None
        obj = _find_object(statement.name, statement.kind, deployed)
        row = (obj.name, to_sql(obj.own_statement))
        return text_result("SHOW", ("Name", "Create Sql"), (row,))
    if statement.is_setting:
        check_setting(statement.what, statement.span)
        return text_result("SHOW", (statement.what,), ((settings[statement.what],),))
    if statement.what in ("PARAMETERS", "ALL"):
        return text_result("SHOW", ("Name", "Setting"), settings.items())
    return text_result("SHOW", ("Name",), ((name,) for name in _names(statement, deployed)))


_UNREAD = (s.KindWord.FUNCTION, s.KindWord.AGGREGATE, s.KindWord.INDEX)


def find_relation(
    name: s.ObjectName, kind: s.KindWord | None, deployed: Deployed
) -> AnalysedObject:
    """Return a relation or sink by name; E0201 for none, E0203 for one of another kind."""
    text = catalog_name(name)
    if kind is s.KindWord.SINK and key_of(text, ObjectKind.SINK) in deployed.pipeline.objects:
        return deployed.pipeline[key_of(text, ObjectKind.SINK)]
    obj = deployed.find(text, name.span)
    check_kind(obj.object, kind, name)
    return obj


def _find_object(name: s.ObjectName, kind: s.KindWord | None, deployed: Deployed) -> CatalogObject:
    """Return the object that SHOW CREATE names."""
    if kind not in _UNREAD:
        return find_relation(name, kind, deployed).object
    of = ObjectKind.INDEX if kind is s.KindWord.INDEX else ObjectKind.FUNCTION
    obj = deployed.catalog.get(key_of(catalog_name(name), of), name.span)
    check_kind(obj, kind, name)
    return obj


_KINDS = {
    "TABLES": (ObjectKind.TABLE,), "SOURCES": (ObjectKind.SOURCE,), "SINKS": (ObjectKind.SINK,),
    "VIEWS": (ObjectKind.VIEW,), "MATERIALIZED VIEWS": (ObjectKind.MATERIALIZED_VIEW,),
    "INDEXES": (ObjectKind.INDEX,), "FUNCTIONS": (ObjectKind.FUNCTION,),
    "OBJECTS": tuple(ObjectKind),
}  # fmt: skip


def _names(statement: s.Show, deployed: Deployed) -> list[str]:
    kinds = _KINDS.get(statement.what)
    if kinds is None:
        raise NotSupported(
            "E0382",
            f"SHOW {statement.what} is not available yet",
            span=statement.span,
            hint=f"there is SHOW {', '.join(_KINDS)}; floodmark.epochs and floodmark.watermarks "
            "are tables",
        )
    objects = [o for o in deployed.catalog.objects.values() if o.kind in kinds]
    if statement.name is not None:
        objects = [o for o in objects if o.schema == str(statement.name)]
    check_like(statement.like or "", span=statement.span)
    return [
        o.name for o in objects if statement.like is None or is_like(o.base_name, statement.like)
    ]


def explain_result(
    statement: s.Explain, deployed: Deployed, sizes: Sizes, explain: ExplainStatement
) -> Result:
    """Return the lines of an EXPLAIN statement.

    `sizes` measures the tables of an object, `explain` looks at a statement as if it were executed.
    """
    if statement.name is not None:
        name = find_relation(statement.name, statement.kind, deployed).key
        explanation = explain_name(name, deployed, statement.name.span)
    else:
        assert statement.statement is not None
        name = ""
        if statement.state:
            raise NotSupported(
                "E0368",
                "EXPLAIN (STATE) takes the name of an object: a statement has no state tables yet",
                span=statement.span,
                hint="EXPLAIN (STATE) v; EXPLAIN without STATE shows which state it would have",
            )
        explanation = explain(statement.statement, deployed)
    measured = sizes(name) if statement.state and name else ()
    as_json = statement.format is s.ExplainFormat.JSON
    text = render_explanation(explanation, measured, as_json=as_json)
    if statement.format is s.ExplainFormat.HTML:
        text = as_html(text)
    return text_result("EXPLAIN", ("QUERY PLAN",), ((line,) for line in text.split("\n")))


def render_explanation(
    explanation: Explanation, sizes: Sequence[TableSize], *, as_json: bool
) -> str:
    """Return the text of an explanation, and of the tables that are at rest for it."""
    if as_json:
        tables = {"tables": [t.as_dict() for t in sizes]} if sizes else {}
        return json.dumps(explanation.as_dict() | tables, indent=2)
    return f"{explanation}\n\n{as_text(sizes)}" if sizes else str(explanation)


def explain_name(name: str, deployed: Deployed, span: Span | None = None) -> Explanation:
    """Return the analysed plan of a deployed object."""
    obj = deployed.find(name, span).object
    return explain_together(deployed.catalog.output_of(obj), deployed.pipeline)


def explain_together(objects: Sequence[CatalogObject], pipeline: Pipeline) -> Explanation:
    """Return the plan of the last of some objects, with those of the others before it."""
    for obj in objects:
        refuse_opaque(pipeline[obj.key], pipeline.objects)
    *others, last = (explain_object(pipeline[obj.key], pipeline) for obj in objects)
    return replace(last, before=tuple(others))


def explain_statement(statement: s.Statement, deployed: Deployed) -> Explanation:
    """Return the analysed plan of a query, or of the object that a CREATE statement defines."""
    pipeline = deployed.pipeline
    if isinstance(statement, s.Select):
        views = plain_views(pipeline.objects.values())
        node = build_query(
            statement.query,
            pipeline.relations,
            statement.span,
            views=views,
            functions=pipeline.functions,
        )
        rewrite_to_run(node)
        return explain_plan(plan_of(node, Use.EXPLAINED).plan, pipeline)
    if isinstance(statement, s.Definition) and kind_of(statement) not in (
        ObjectKind.INDEX,
        ObjectKind.FUNCTION,
    ):
        plan = plan_statement(statement, deployed)
        after = pipeline if plan is None else plan.pipeline
        return explain_together(after.catalog.objects_of(statement), after)
    raise NotSupported(
        "E0368",
        "EXPLAIN takes a query, the CREATE statement of a relation or sink, or a name",
        span=statement.span,
        hint="EXPLAIN SELECT …",
    )
