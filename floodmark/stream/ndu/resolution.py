"""The verdict on a plan, and the plan that may run: checked and repaired."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from floodmark.changelog import is_hidden
from floodmark.plan import nodes as n
from floodmark.sql import statements as s
from floodmark.stream.ndu.check import Check
from floodmark.stream.ndu.flink_plan import without_idle_joins
from floodmark.stream.ndu.mode import DeterminismMode
from floodmark.stream.ndu.placement import Root, colocate_state, own_table_nodes
from floodmark.stream.ndu.repair import repair, repair_top
from floodmark.stream.ndu.violations import Violation, refusal
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.passes.rebuild import lower_again, with_inputs


@dataclass(frozen=True, slots=True)
class Resolution:
    """A plan that may run, and what `ignore` let through, in sentences."""

    plan: StreamPlan
    notes: tuple[str, ...] = ()


def resolve(
    plan: StreamPlan, root: Root, mode: DeterminismMode, statement: s.Statement
) -> Resolution:
    """Return the plan with its non-deterministic updates repaired.

    What is stored decides what else must be: each repair that rewrites the plan lowers it again.
    Raises E0320 (a column of a function), E0321 (a condition) or E0322 (a metadata column) for the
    first that cannot be, unless they are ignored.
    """
    match mode:
        case DeterminismMode.STRICT:
            strict, findings = _strict(plan, root)
            if findings:
                # The error shows state where it would be.
                raise refusal(findings[0], colocate_state(strict, root), mode, statement)
            return Resolution(strict)
        case DeterminismMode.FLINK:
            check = check_plan(plan, root, strict=False)
            if check.violations:
                raise refusal(check.violations[0], check.plan, mode, statement)
            return Resolution(_derive_again(_with_stored_lookups(plan, check.lookups), root))
        case DeterminismMode.IGNORE:
            would, findings = _strict(plan, root)
            texts = [f.text(would) for f in findings]
            if not findings:
                # What strict would store, and nothing here does.
                check = check_plan(plan, root, strict=False)
                texts = [f.text(check.plan) for f in check.violations]
            notes = tuple(f"determinism is ignored: {text}" for text in texts)
            return Resolution(_derive_again(plan, root), notes)


def check_plan(
    plan: StreamPlan, root: Root, *, strict: bool, pulled: frozenset[n.Node] = frozenset()
) -> Check:
    """Return the check of a plan, done."""
    shown = frozenset(c for c in plan.root.names if not is_hidden(c)) | set(root.key)
    shown &= set(plan.root.names)
    check = Check(plan if strict else without_idle_joins(plan, shown), strict, pulled)
    top = check.plan.root
    required = frozenset(root.key) & set(top.names)
    if not strict and not any(key <= required for key in check.keys(top, shown)):
        # Flink's sink then keeps whole rows: all columns must be what they were.
        required = shown
    check.hand(top, required, shown)
    return check


def _strict(plan: StreamPlan, root: Root) -> tuple[StreamPlan, list[Violation]]:
    repaired = lower_again(plan, repair(plan, everywhere=True))
    pulled = own_table_nodes(repaired, root)
    check = check_plan(repaired, root, strict=True, pulled=pulled)
    lookups = () if check.violations else check.lookups
    return _with_stored_lookups(repaired, lookups), check.violations


def _derive_again(plan: StreamPlan, root: Root) -> StreamPlan:
    """Store what takes nothing or what an operator above reads again, in whatever mode."""
    repaired = lower_again(plan, repair(plan, everywhere=False))
    free = lower_again(repaired, repair_top(repaired))
    stored = {node for node in free.nodes if isinstance(node, n.MaterializeProject)}
    pulled = own_table_nodes(free, root)
    if stored - set(repaired.nodes) <= pulled:
        repaired = free
    else:
        pulled = own_table_nodes(repaired, root)
    lookups = [node for node in _lookups(repaired) if node not in pulled]
    return _with_stored_lookups(repaired, lookups)


def _lookups(plan: StreamPlan) -> list[n.Node]:
    """Return the lookups for rows that are updated, which nothing stores."""
    found = (node for node in plan.nodes if n.is_lookup(node))
    return [f for f in found if not (f.static or f.stored or plan[f.left].append_only)]


def _with_stored_lookups(plan: StreamPlan, lookups: Collection[n.Node]) -> StreamPlan:
    return lower_again(plan, _store_lookups(plan.root, lookups))


def _store_lookups(node: n.Node, lookups: Collection[n.Node]) -> n.Node:
    rebuilt = with_inputs(node, tuple(_store_lookups(child, lookups) for child in node.inputs))
    if n.is_lookup(rebuilt) and node in lookups:
        return replace(rebuilt, stored=True)
    return rebuilt
