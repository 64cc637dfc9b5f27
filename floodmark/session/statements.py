"""Statements that are an epoch of their own: CREATE and DROP, INSERT, UPDATE and DELETE."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from floodmark import failpoints
from floodmark.catalog.objects import kind_of
from floodmark.connectors.registry import connector_of
from floodmark.epochs import removal
from floodmark.epochs.loop import EpochLoop
from floodmark.epochs.summary import EpochSummary, format_notes
from floodmark.errors import NotSupported, UserError
from floodmark.limits import Limits
from floodmark.query.dml.plan_dml import plan_dml
from floodmark.query.dml.writing import DmlResult, Writing, target_of, write_rows
from floodmark.query.query import Reader
from floodmark.session.ddl import deployment
from floodmark.session.ddl.alter_places import place_errors
from floodmark.session.ddl.altering import refuse_lagging
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.session.ddl.loading import check_code
from floodmark.session.ddl.rehearsal import rehearse
from floodmark.session.ddl.renaming import check_at_rest
from floodmark.session.ddl.rereading import refuse_rereading
from floodmark.session.ddl.sink_paths import check_sink_paths, probe_sink_paths
from floodmark.session.show import explain_statement
from floodmark.session.statement_progress import StatementProgress, statement_progress
from floodmark.session.suspension import notices
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.sql.printer.dialect import print_expression
from floodmark.sql.printer.parts import object_sql
from floodmark.storage.logs.epochs import dml_of
from floodmark.stream.explain.explained import Explanation
from floodmark.stream.objects.table_of_query import is_continuous
from floodmark.tables.results import Result
from floodmark.warehouse.changes import ObjectChange, reshapings
from floodmark.warehouse.deployed import Deployed, statements_of
from floodmark.warehouse.warehouse import Warehouse


def run_definition(
    statement: s.Definition | s.Drop | s.Alter, loop: EpochLoop, reader: Callable[[], Reader]
) -> Result:
    """Create, alter or drop an object in one epoch; objects that fail in it become notices.

    `reader` is called for the first rows of a table, when the lease is held.
    """
    word = statement.sql.split()[0].upper()
    kind = _kind(statement)
    status = f"{word}_{kind}".replace(" ", "_")
    warehouse = loop.warehouse
    with statement_progress(f"{word} {kind}", warehouse) as progress, loop.hold(f"{word} {kind}"):
        deployed = warehouse.deployed()
        with place_errors(statement, deployed):
            plan = deployment.plan_statement(statement, deployed, project=warehouse.project)
            if plan is None:
                return Result(status=status, notices=("nothing to do",))
            check_at_rest(plan, warehouse, statement)
            first = _first_rows(statement, plan, warehouse, reader)
            try:
                apply_plan(plan, loop, progress, first=first)
            finally:
                if first is not None and (first.entry is None or progress.version is None):
                    first.discard()
    touched = {*plan.new_keys, *(c.key for c in plan.changes if c.action == "alter")}
    touched &= plan.pipeline.objects.keys()
    targets = {plan.pipeline[key].object.target for key in touched}
    note = notices({*touched, *filter(None, targets)}, warehouse)
    note = (*note, *format_notes(plan.new_keys, plan.pipeline))
    return replace(Result() if first is None else first.result, status=status, notices=note)


def _first_rows(
    statement: s.Definition | s.Drop | s.Alter,
    plan: DeploymentPlan,
    warehouse: Warehouse,
    reader: Callable[[], Reader],
) -> DmlResult | None:
    """Write the rows of a table that its CREATE fills once; None for anything else."""
    insert = _first_insert(statement)
    if insert is None:
        return None
    target = target_of(insert, replace(warehouse.deployed(), pipeline=plan.pipeline))
    start = warehouse.log.positions().get(dml_of(target.key), {}).get(0, 0)
    return write_rows(insert, target, warehouse, reader(), start)


def _first_insert(statement: s.Statement) -> s.Insert | None:
    """Return the INSERT of a table that its CREATE fills once; None for anything else."""
    if not isinstance(statement, s.CreateTableAs) or is_continuous(statement):
        return None
    name = object_sql(statement.name)
    insert = parse_statement(f"INSERT INTO {name} {print_expression(statement.query)}")
    assert isinstance(insert, s.Insert)
    return insert


def _kind(statement: s.Definition | s.Drop | s.Alter) -> str:
    if isinstance(statement, s.Drop | s.Alter):
        return statement.kind.value if statement.kind is not None else "OBJECT"
    return kind_of(statement).value.upper()


def apply_plan(
    plan: DeploymentPlan,
    loop: EpochLoop,
    progress: StatementProgress,
    *,
    discards: Collection[str] = ("drop",),
    first: DmlResult | None = None,
) -> EpochSummary:
    """Log a catalog version and run the epoch from which it is in force; the lease is held.

    A table that the plan creates starts with the `first` rows. `progress` gets the version. Raises
    E0379 if a table with rows of statements would be dropped or refilled, unless the action is in
    `discards`; a refilled source must be readable. Raises E0854 if discarded rows would be reread.
    """
    warehouse = loop.warehouse
    deployed = warehouse.deployed()
    check_code(plan, deployed)
    check_plan(plan, warehouse, discards)
    probe_sink_paths(plan, warehouse)
    epoch = warehouse.log.head().sealed + 1
    defined = statements_of(plan.catalog, plan.pins(deployed), plan.corrections(deployed))
    now = warehouse.epoch_time()
    rehearsed = rehearse(warehouse, defined, now, plan.renamed)
    removal.leave(
        warehouse, [c.key for c in plan.changes if c.action == "drop"], deployed.version + 1
    )
    failpoints.reach("change_planned")
    dml = [first.entry] if first is not None and first.entry is not None else []
    version = warehouse.catalogs.append(epoch, defined, now, plan.renamed, dml)
    progress.version = version.version
    warehouse.remember(rehearsed)
    failpoints.reach("change_logged")
    return loop.run_once(version.version)


def check_plan(
    plan: DeploymentPlan, warehouse: Warehouse, discards: Collection[str] = ("drop",)
) -> None:
    """Refuse a plan that could not be applied, before anything is logged."""
    _ask_again(plan, warehouse.limits)
    late = _refused_keys(warehouse)
    moved = reshapings(warehouse.deployed().pipeline, plan.pipeline, plan.changes)
    behind = _lag_reasons(warehouse) | dict.fromkeys(late, "is suspended")
    refuse_lagging(plan.changes, behind, plan.pipeline, continuing=late - moved.keys())
    check_sink_paths(plan, warehouse)
    _refuse_loss(plan, warehouse, discards)
    if "rebuild" not in discards:
        refuse_rereading(plan.changes, warehouse.deployed().pipeline, plan.pipeline)


def refuse_plan(plan: DeploymentPlan, deployed: Deployed, warehouse: Warehouse) -> None:
    """Raise the errors that applying a plan would raise; write nothing and run no Python."""
    check_plan(plan, warehouse)
    defined = statements_of(plan.catalog, plan.pins(deployed), plan.corrections(deployed))
    rehearse(warehouse, defined, warehouse.epoch_time(), plan.renamed)


def explain(
    statement: s.Statement,
    deployed: Deployed,
    warehouse: Warehouse,
    reader: Callable[[], Reader] | None = None,
) -> Explanation:
    """Return the plan of a query, or of the object of a CREATE, on top of `deployed`.

    Raises the errors that the CREATE would raise before it is logged. `reader` plans the first rows
    of a table that starts with some.
    """
    if isinstance(statement, s.Definition):
        plan = deployment.plan_statement(statement, deployed, project=warehouse.project)
        if plan is not None:
            _check_first_rows(statement, plan, deployed, reader)
            refuse_plan(plan, deployed, warehouse)
    return explain_statement(statement, deployed)


def _check_first_rows(
    statement: s.Definition,
    plan: DeploymentPlan,
    deployed: Deployed,
    reader: Callable[[], Reader] | None,
) -> None:
    insert = _first_insert(statement)
    if insert is not None and reader is not None:
        target = target_of(insert, replace(deployed, pipeline=plan.pipeline))
        plan_dml(insert, target, reader())


def _refused_keys(warehouse: Warehouse) -> set[str]:
    """Return the keys of objects that lag because a definition is refused."""
    head = warehouse.log.head().sealed
    return {key for key, event in warehouse.refusals().items() if event.epoch <= head}


def _lag_reasons(warehouse: Warehouse) -> dict[str, str]:
    """Say of objects that they do not have all epochs, and why; of those that are not refused."""
    filling = [k for k, r in warehouse.cut().records.items() if r.backfilling]
    suspended = warehouse.log.suspensions()
    return dict.fromkeys(filling, "is being filled") | dict.fromkeys(suspended, "is suspended")


def _ask_again(plan: DeploymentPlan, limits: Limits) -> None:
    """Let a source that begins anew say what it has before its stored rows go."""
    for change in plan.changes:
        obj = plan.pipeline.objects.get(change.key)
        if change.action != "rebuild" or obj is None or obj.declared is None:
            continue
        if obj.declared.connector is not None:
            try:
                connector_of(obj, limits).discover_splits({}, 1)
            except UserError as problem:
                raise problem.with_span(obj.object.statement.name.span) from None


def _refuse_loss(plan: DeploymentPlan, warehouse: Warehouse, discards: Collection[str]) -> None:
    positions, words = warehouse.log.positions(), {"rebuild": "begins anew", "drop": "goes"}
    for change in plan.changes:
        if change.action in discards or change.action not in words:
            continue
        rows = positions.get(dml_of(change.key), {}).get(0, 0)
        if rows:
            defined = (plan if change.action == "rebuild" else warehouse.deployed()).pipeline
            raise NotSupported(
                "E0379",
                f"{change.key} {words[change.action]}, because {change.reason}, and with it what "
                f"statements have written: {rows} {'row' if rows == 1 else 'rows'}",
                span=defined[change.key].object.statement.span,
                hint="keep the definition; or copy the rows (SELECT), apply with --discard-rows, "
                "and INSERT them again",
            )
        if change.action == "rebuild" and (gone := _lost_rows(change, plan, warehouse)):
            raise NotSupported(
                "E0379",
                f"{change.key} would be refilled, because {change.reason}, but cannot read all "
                f"its rows again: {gone}",
                span=plan.pipeline[change.key].object.statement.span,
                hint="put the files back; or apply with --discard-rows",
            )


def _lost_rows(change: ObjectChange, plan: DeploymentPlan, warehouse: Warehouse) -> str | None:
    """Describe the rows that a source would not find again; None where there are none."""
    obj = plan.pipeline[change.key]
    if obj.declared is None or obj.declared.connector is None:
        return None
    taken = warehouse.splits.splits_in_log().get(change.key, ())
    before = warehouse.deployed().pipeline[change.key].declared
    if taken and before is not None and before.connector != obj.declared.connector:
        return f"its rows came from {before.connector}"
    return connector_of(obj, warehouse.limits).find_change(taken)


def run_dml(statement: Writing, loop: EpochLoop, reader: Callable[[], Reader]) -> Result:
    """Change rows of a table in one epoch; `reader` is called when the lease is held."""
    word = "COPY" if isinstance(statement, s.CopyFrom) else type(statement).__name__.upper()
    warehouse = loop.warehouse
    with statement_progress(word, warehouse) as progress, loop.hold(word):
        target = target_of(statement, warehouse.deployed())
        start = warehouse.log.positions().get(dml_of(target.key), {}).get(0, 0)
        written = write_rows(statement, target, warehouse, reader(), start)
        epoch = run_write_epoch([written], loop, progress)
    return replace(written.result, notices=write_notices([target.key], epoch, warehouse))


def run_write_epoch(
    written: Sequence[DmlResult], loop: EpochLoop, progress: StatementProgress
) -> int | None:
    """Run the epoch that takes in written rows, and return it; None if there are no rows.

    `progress` gets the files of the rows. The lease is held.
    """
    entries = [w.entry for w in written if w.entry is not None]
    for each in written:
        if each.entry is None:
            each.discard()
    if not entries:
        return None
    progress.paths = [path for entry in entries for path in entry["paths"]]
    return loop.run_once(dml=entries).epoch


def write_notices(
    written: Collection[str], epoch: int | None, warehouse: Warehouse
) -> tuple[str, ...]:
    """Return the notices about the written tables and about objects that failed with them."""
    events = warehouse.suspensions().items()
    failed = [key for key, event in events if event.epoch == epoch and key not in written]
    taken = set(written) - {key for key, _ in events}
    aside = () if epoch is None else _dead_letter_notes(taken, warehouse)
    waiting = () if epoch is None else sorted(set(written) - taken)
    later = (f"what was written into {key} is kept, and seen once it is resumed" for key in waiting)
    return (*notices([*written, *failed], warehouse), *later, *aside)


def _dead_letter_notes(keys: Collection[str], warehouse: Warehouse) -> Iterator[str]:
    """Yield a note for each table with dead letters of the last epoch."""
    records = warehouse.cut().records
    for key in sorted(keys):
        count = records[key].dead_rows if key in records else 0
        if count:
            rows = "1 row" if count == 1 else f"{count:,} rows"
            yield f"{key} has not taken {rows}: see {key}__dead_letter"
