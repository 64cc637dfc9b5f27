"""From the nodes of a query to its plan: rewritten, with its stream key, analysed."""

from __future__ import annotations

from floodmark.analysis.analyse import AnalysedPlan, analyse
from floodmark.analysis.emit_on_close import emit_on_close
from floodmark.analysis.keep_keys import keep_keys
from floodmark.plan.nodes import Node
from floodmark.plan.rules import RULES
from floodmark.plan.rules.temporal_filters import plain_filters, temporal_filters
from floodmark.sql import statements as s


def plan_of(
    node: Node, *, on_close: bool, statement: s.Statement, kept: bool = True
) -> AnalysedPlan:
    """Return the rewritten, keyed and analysed plan of a query's nodes.

    `kept` tells that its rows are kept as time passes, not computed for a time that stands still.
    """
    node = plain_filters(node)
    for rule in RULES:
        node = rule(node)
    node = temporal_filters(node) if kept else node
    plan = analyse(keep_keys(node))
    if on_close:
        plan = analyse(keep_keys(emit_on_close(plan, statement)))
    return plan
