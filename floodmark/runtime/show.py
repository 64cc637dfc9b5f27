"""Statements that the catalog answers: SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

import json
from collections.abc import Mapping

from floodmark.analysis.explain import Explanation, explain_object, explain_plan
from floodmark.analysis.pipeline import plain_views, plan_of
from floodmark.catalog.objects import Kind, qualified
from floodmark.errors import NotSupported, Span
from floodmark.plan.build import build_query
from floodmark.runtime.deployment import Deployed, plan_statement
from floodmark.runtime.results import Result, text_result
from floodmark.sql import statements as s
from floodmark.sql.normalise import to_sql


def show(statement: s.Show | s.Describe, deployed: Deployed, settings: Mapping[str, str]) -> Result:
    """Return what SHOW or DESCRIBE asks for; a setting without a value is an empty text."""
    if isinstance(statement, s.Describe):
        columns = deployed.find(qualified(statement.name), statement.name.span).relation.visible
        rows = ((c.name, str(c.type), c.nullable) for c in columns)
        return text_result("DESCRIBE", ("Name", "Type", "Nullable"), rows)
    if statement.what == "CREATE":
        assert statement.name is not None
        found = deployed.find(qualified(statement.name), statement.name.span)
        row = (found.name, to_sql(found.object.statement))
        return text_result("SHOW", ("Name", "Create Sql"), (row,))
    if statement.is_setting:
        return text_result("SHOW", (statement.what,), ((settings.get(statement.what, ""),),))
    return text_result("SHOW", ("Name",), ((name,) for name in _names(statement.what, deployed)))


def _names(what: str, deployed: Deployed) -> list[str]:
    wanted = {
        "TABLES": Kind.TABLE, "SOURCES": Kind.SOURCE, "SINKS": Kind.SINK, "VIEWS": Kind.VIEW,
        "MATERIALIZED VIEWS": Kind.MATERIALIZED_VIEW,
    }.get(what)  # fmt: skip
    objects = deployed.pipeline.objects.values()
    return [o.name for o in objects if wanted is None or o.kind is wanted]


def explain_result(statement: s.Explain, deployed: Deployed) -> Result:
    """Return the lines of an EXPLAIN statement."""
    if statement.name is not None:
        found = explain_name(qualified(statement.name), deployed, statement.name.span)
    else:
        assert statement.statement is not None
        found = explain_statement(statement.statement, deployed)
    as_json = statement.format is s.ExplainFormat.JSON
    text = json.dumps(found.as_dict(), indent=2) if as_json else str(found)
    return text_result("EXPLAIN", ("QUERY PLAN",), ((line,) for line in text.split("\n")))


def explain_name(name: str, deployed: Deployed, span: Span | None = None) -> Explanation:
    """Return the analysed plan of a deployed object."""
    return explain_object(deployed.find(name, span), deployed.pipeline)


def explain_statement(statement: s.Statement, deployed: Deployed) -> Explanation:
    """Return the analysed plan of a query, or of the object that a CREATE statement defines."""
    pipeline = deployed.pipeline
    if isinstance(statement, s.Select):
        views = plain_views(pipeline.objects.values())
        node = build_query(statement.query, pipeline.relations, statement.span, views=views)
        return explain_plan(plan_of(node, on_close=False, statement=statement), pipeline)
    if isinstance(statement, s.Definition):
        plan = plan_statement(statement, deployed)
        assert plan is not None
        created = next(iter(c.key for c in plan.changes if c.action == "create"))
        return explain_object(plan.pipeline[created], plan.pipeline)
    raise NotSupported(
        "E0368",
        "EXPLAIN takes a query, a CREATE statement or a name",
        span=statement.span,
        hint="EXPLAIN SELECT …",
    )
