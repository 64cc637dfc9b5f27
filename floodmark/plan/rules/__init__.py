"""Rewrites of logical plans, one a file; RULES is the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from floodmark.plan.nodes import Node
from floodmark.plan.rules.first_rows import drop_inner_orders, first_rows
from floodmark.plan.rules.interval_keys import interval_keys
from floodmark.plan.rules.lookup_keys import lookup_keys
from floodmark.plan.rules.order_joins import order_joins
from floodmark.plan.rules.push_filters import push_all_filters, push_filters
from floodmark.plan.rules.reuse_computations import reuse_computations
from floodmark.plan.rules.temporal_filters import plain_filters
from floodmark.plan.rules.unread_columns import drop_unread

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    plain_filters, reuse_computations, drop_unread, push_filters, order_joins, lookup_keys,
    first_rows, push_all_filters, drop_inner_orders, interval_keys,
)  # fmt: skip
