"""From the bound nodes of a query to the streaming plan that runs: PASSES, from top to bottom.

Each pass takes a draft and returns the next. First it is nodes; `lower` makes operators of them,
once. A pass below that needs their properties says in its docstring when it lowers again. The last
passes check the plan, and leave it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from floodmark.catalog.objects import CatalogObject
from floodmark.errors import FloodmarkError, NotSupported
from floodmark.plan.nodes import Node, Scan, scans
from floodmark.plan.rules import RULES, Rule
from floodmark.plan.rules.first_rows import drop_orders
from floodmark.plan.rules.temporal_filters import add_temporal_filters
from floodmark.sql import statements as s
from floodmark.stream import ndu
from floodmark.stream.ndu.repair import lift_conditions
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import (
    ExternalSink,
    bind_external_sink,
    check_alone,
    check_no_circle,
    folders,
)
from floodmark.stream.objects.owners import check_owner
from floodmark.stream.objects.rereads import check_rereads
from floodmark.stream.objects.sinks import (
    check_sole_writer,
    fit_to_target,
    target_columns,
    target_key_columns,
)
from floodmark.stream.objects.snapshot import check_snapshot
from floodmark.stream.objects.supported import check_columns, check_options, check_supported
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.close.emit_on_close import emit_on_close
from floodmark.stream.passes.keep_keys import keep_keys, keep_order_keys
from floodmark.stream.passes.periods import check_periods
from floodmark.stream.passes.refresh import check_repeatable, refresh_plan


class Use(Enum):
    """What a plan is made for."""

    SELECT = auto()
    """A query at one cut: its nodes run, over rows that are there."""
    EXPLAINED = auto()
    """A query whose operators are shown."""
    TABLE_AS = auto()
    """A query that gives a new table its columns and its key."""
    VIEW = auto()
    """A plain view: its nodes stand for its name."""
    REFRESHED = auto()
    """A view that is recomputed in each epoch."""
    STORED = auto()
    """A view whose rows follow the changes of its inputs."""
    INTO_TABLE = auto()
    """A sink into a table."""
    OUTSIDE = auto()
    """A sink to the outside."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan in the making: what it is for, and what the passes have derived from it.

    A query has no `definition`. `done` are the objects that the definition names, `feeders` the
    sinks into its target. `root` says what becomes of the rows.
    """

    node: Node
    use: Use
    definition: CatalogObject | None = None
    done: Mapping[str, AnalysedObject] = field(default_factory=dict)
    feeders: Collection[CatalogObject] = ()
    lowered: StreamPlan | None = None
    root: ndu.Root | None = None
    notes: tuple[str, ...] = ()
    refused: NotSupported | None = None
    writes: tuple[str, ...] = ()
    external_sink: ExternalSink | None = None

    @property
    def plan(self) -> StreamPlan:
        """Return the operators."""
        assert self.lowered is not None, f"a plan for {self.use.name} is not lowered yet"
        return self.lowered

    @property
    def object(self) -> CatalogObject:
        """Return what the plan defines."""
        assert self.definition is not None, f"{self.use.name} defines nothing"
        return self.definition


Step = Callable[[Draft], Draft]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step, and the uses whose plans it makes or checks."""

    step: Step
    uses: Collection[Use]


def node_step(rule: Rule) -> Step:
    """Return the step that rewrites the nodes, before there are operators."""

    def step(draft: Draft) -> Draft:
        return replace(draft, node=rule(draft.node))

    step.__name__ = rule.__name__
    return step


def lower_nodes(draft: Draft) -> Draft:
    """Make operators of the nodes, with all that is known of them."""
    return replace(draft, lowered=lower(draft.node))


def release_on_close(draft: Draft) -> Draft:
    """EMIT ON WINDOW CLOSE. It lowers again, for the watermarks of what closes."""
    statement = draft.object.statement
    if not getattr(statement, "emit_on_window_close", False):
        return draft
    return replace(draft, lowered=emit_on_close(draft.plan, statement))


def judge_periods(draft: Draft) -> Draft:
    """Note what cannot be kept as time passes: EXPLAIN shows it all the same."""
    try:
        check_periods(draft.plan, draft.object.statement)
    except NotSupported as refused:
        return replace(draft, refused=refused)
    return draft


def store_rows(draft: Draft) -> Draft:
    """Let the view's own table have the rows, by stream key."""
    return replace(draft, root=ndu.Root(draft.plan.top.stream_key, stores=True))


def write_table(draft: Draft) -> Draft:
    """Bring the rows to the columns of the target. It lowers again, with these on top."""
    sink, plan = draft.object, draft.plan
    check_options(sink)
    assert sink.target is not None
    target = draft.done[sink.target]
    fitted = fit_to_target(plan, sink, target.relation, target.declared)
    assert target.declared is not None
    check_owner(sink, target.relation, target.declared, draft.feeders)
    key = target_key_columns(fitted, target.relation)
    tells = tuple(c for c in target.relation.primary_key if c in fitted.root.names)
    root = ndu.Root(key, stores=False, target=True, tells=tells)
    writes = target_columns(plan, sink, target.declared)
    return replace(draft, lowered=fitted, root=root, writes=writes)


def write_outside(draft: Draft) -> Draft:
    """Bind the options of a sink to the outside: what it writes is told by its key."""
    sink, plan = draft.object, draft.plan
    check_columns(sink, plan)
    outside = bind_external_sink(sink, plan)
    check_alone(outside, sink, draft.done.values())
    check_no_circle(outside, sink, folders(reads(plan), draft.done))
    key = outside.key or tuple(f.name for f in outside.columns)
    return replace(draft, root=ndu.Root(key, stores=False), external_sink=outside)


def repair_updates(draft: Draft) -> Draft:
    """Store what must not be evaluated twice. It lowers again where that rewrites the plan."""
    assert draft.root is not None
    sink = draft.object
    try:
        made = ndu.resolve(draft.plan, draft.root, ndu.mode_of(sink), sink.statement)
    except FloodmarkError:
        if draft.refused is not None:
            # A condition on time that has no period says more than that it is not repeatable.
            raise draft.refused from None
        raise
    return replace(draft, lowered=made.plan, notes=made.notes)


def colocate_state(draft: Draft) -> Draft:
    """Drop state that the owner's table stores anyway."""
    assert draft.root is not None
    return replace(draft, lowered=ndu.colocate_state(draft.plan, draft.root))


def drop_state(draft: Draft) -> Draft:
    """Keep no state, and let any row go. An epoch lowers again, for the state of its own time."""
    return replace(draft, lowered=refresh_plan(draft.plan))


def noting(check: Callable[[Draft], None]) -> Step:
    """Return the step that notes the first refusal: EXPLAIN shows such a plan all the same."""

    def step(draft: Draft) -> Draft:
        if draft.refused is not None:
            return draft
        try:
            check(draft)
        except NotSupported as refused:
            return replace(draft, refused=refused)
        return draft

    step.__name__ = check.__name__
    return step


def require_repeatable(draft: Draft) -> None:
    """Check that all can be done again over the same rows."""
    check_repeatable(draft.plan)


def check_needs_no_snapshot(draft: Draft) -> None:
    """Check that nothing needs the rows of before, where there is no snapshot."""
    check_snapshot(draft.plan, draft.object, stores=draft.use is not Use.INTO_TABLE)


def require_supported(draft: Draft) -> None:
    """Check that each operator runs."""
    check_supported(draft.plan, refreshes=draft.use is Use.REFRESHED)


def require_sole_writer(draft: Draft) -> None:
    """Check that rows of other writers are not taken back."""
    sink = draft.object
    assert isinstance(sink.statement, s.CreateSink) and sink.target is not None
    target = draft.done[sink.target]
    if len(target.feeders) > 1 or (target.declared and target.declared.connector):
        check_sole_writer(draft.plan, sink.statement, target.relation.name)


def check_rereading(draft: Draft) -> Draft:
    """Refuse what reads rows again that a table has forgotten."""
    check_rereads(draft.plan, draft.object.name, refreshes=draft.use is Use.REFRESHED)
    return draft


def require_columns(draft: Draft) -> Draft:
    """Refuse a view without a column."""
    check_columns(draft.object, draft.plan)
    return draft


ALL = frozenset(Use)
QUERIES = {Use.SELECT, Use.EXPLAINED}
LOWERED = ALL - {Use.SELECT}
KEPT = {Use.STORED, Use.INTO_TABLE, Use.OUTSIDE}
"""Plans whose rows follow changes, epoch by epoch."""
VIEWS = {Use.VIEW, Use.REFRESHED, Use.STORED}
SINKS = {Use.INTO_TABLE, Use.OUTSIDE}

PASSES: tuple[Pass, ...] = (
    Pass(node_step(drop_orders), ALL - QUERIES),
    *(Pass(node_step(rule), ALL) for rule in RULES),
    Pass(node_step(lift_conditions), QUERIES),
    Pass(node_step(add_temporal_filters), ALL - QUERIES - {Use.REFRESHED}),
    Pass(node_step(keep_order_keys), {Use.SELECT}),
    Pass(node_step(keep_keys), LOWERED),
    Pass(lower_nodes, LOWERED),
    Pass(release_on_close, KEPT),
    Pass(judge_periods, {*KEPT, Use.VIEW}),
    Pass(store_rows, {Use.STORED}),
    Pass(write_table, {Use.INTO_TABLE}),
    Pass(write_outside, {Use.OUTSIDE}),
    Pass(repair_updates, KEPT),
    Pass(colocate_state, KEPT),
    Pass(drop_state, {Use.REFRESHED}),
    Pass(noting(require_repeatable), {Use.REFRESHED}),
    Pass(noting(check_needs_no_snapshot), {*VIEWS, Use.INTO_TABLE}),
    Pass(noting(require_supported), {*VIEWS, *SINKS}),
    Pass(noting(require_sole_writer), {Use.INTO_TABLE}),
    Pass(check_rereading, {*VIEWS, *SINKS}),
    Pass(require_columns, VIEWS),
)


def plan_of(
    node: Node,
    use: Use,
    definition: CatalogObject | None = None,
    done: Mapping[str, AnalysedObject] | None = None,
    feeders: Collection[CatalogObject] = (),
) -> Draft:
    """Return the draft that all passes of a use have made of a query's nodes."""
    draft = Draft(node, use, definition, done or {}, feeders)
    for one in PASSES:
        if use in one.uses:
            draft = one.step(draft)
    return draft


def reads(plan: StreamPlan) -> tuple[str, ...]:
    """Return the objects that a plan scans, each once."""
    return tuple(dict.fromkeys(scan.object for scan in scans(plan.root) if isinstance(scan, Scan)))
