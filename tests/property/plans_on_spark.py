"""Plans as the views of one warehouse on Spark, and the same on the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st
from loose_plans import loose_plans, settled
from plan_examples import drawn
from plan_strategies import OBJECTS, SCANS, epochs
from program_spark import Case, Outcome, Run

from floodmark.analysis.analyse import AnalysedPlan, analyse
from floodmark.analysis.ndu import DeterminismMode
from floodmark.analysis.pipeline import AnalysedObject, Pipeline
from floodmark.analysis.supported import check_supported
from floodmark.changelog import is_hidden
from floodmark.errors import NotSupported
from floodmark.plan import nodes as n
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import (
    Delivery,
    EpochInput,
    ObjectKind,
    ObjectResult,
    ObjectState,
    ReferenceObject,
)
from floodmark.spark.session import Sessions
from floodmark.testing.program import Epoch, Program
from floodmark.testing.text import Line, Shown, encode, mismatch

LARGEST_PLAN = 14
_INPUTS = """
CREATE TABLE t1 (k INT PRIMARY KEY, a INT, b INT);
CREATE TABLE t2 (k INT PRIMARY KEY, a INT, b INT);
CREATE SOURCE s (ts TIMESTAMP, k INT, v INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET;
"""
_OPEN = "SELECT k FROM t1"
_CLOSING = """SELECT window_start, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute')
  GROUP BY window_start EMIT ON WINDOW CLOSE"""

Plans = Mapping[str, AnalysedPlan]
"""Analysed plans by the name of the view; those that emit on close begin with `c`."""


def chosen(strategy: st.SearchStrategy[n.Node], count: int) -> list[AnalysedPlan]:
    """Return plans of different shapes that run incrementally, those with most state first."""
    return _of_different_shapes(map(analyse, drawn(strategy, 250)), count)


def chosen_loose(count: int, *, stores: bool) -> list[AnalysedPlan]:
    """Return plans with volatile values, as strict runs them: some of which it stores, or none."""
    found = (settled(root, DeterminismMode.STRICT) for root in
             drawn(loose_plans(max_depth=3, metadata=False), 250))  # fmt: skip
    loose = (p for p in found if p is not None and "Volatile(" in repr(p.root))
    kept = (p for p in loose if stores is any(isinstance(x, n.MaterializeProject) for x in p.nodes))
    return _of_different_shapes(kept, count)


def _of_different_shapes(plans: Iterator[AnalysedPlan], count: int) -> list[AnalysedPlan]:
    found: dict[str, AnalysedPlan] = {}
    for plan in plans:
        nodes = list(n.walk(plan.root))
        if len(nodes) <= LARGEST_PLAN and _runs(plan):
            found.setdefault(" ".join(type(node).__name__ for node in nodes), plan)
    return sorted(found.values(), key=lambda p: _weight(p.root), reverse=True)[:count]


def _runs(plan: AnalysedPlan) -> bool:
    try:
        check_supported(plan)
    except NotSupported:
        return False
    return True


def _weight(root: n.Node) -> tuple[int, int]:
    """Count what keeps state, then what else there is."""
    nodes = list(n.walk(root))
    keeping = (
        n.Join
        | n.Aggregate
        | n.MaterializeProject
        | n.Session
        | n.SetOperation
        | n.OverWindow
        | n.TopN
    )
    return sum(isinstance(node, keeping) for node in nodes), len(nodes)


def busiest(count: int) -> list[EpochInput]:
    """Return the drawn epochs with the most rows."""
    examples = drawn(epochs(count=count), 60)
    return max(examples, key=lambda e: sum(len(d) for i in e for d in i.deliveries.values()))


@dataclass(frozen=True)
class Both:
    """One run on Spark and one on the reference, of the same views over the same inputs."""

    plans: Plans
    outcome: Outcome
    expected: Sequence[Mapping[str, ObjectResult]]
    replays: Mapping[str, str] = field(default_factory=dict)


def on_reference(
    plans: Plans, inputs: Sequence[EpochInput], seed: str
) -> list[Mapping[str, ObjectResult]]:
    """Return what each view emits in each epoch."""
    views = [
        ReferenceObject(
            name, ObjectKind.VIEW, p.root.schema, p[p.root].stream_key, plan=p.root,
            emits_on_close=name.startswith("c"),
        )
        for name, p in plans.items()
    ]  # fmt: skip
    states: Mapping[str, ObjectState] = {}
    out = []
    for number, epoch in enumerate(inputs, 1):
        numbered = replace(epoch, number=number, seed=seed)
        states, results = advance((*OBJECTS, *views), states, numbered)
        out.append(results)
    return out


@dataclass
class PlansRun:
    """A warehouse with plans as its views."""

    plans: Plans
    inputs: Sequence[EpochInput]
    run: Run
    case: Case

    @classmethod
    def over(
        cls, plans: Plans, inputs: Sequence[EpochInput], folder: Path, sessions: Sessions
    ) -> PlansRun:
        """Prepare the warehouse; nothing runs yet."""
        texts = {k: _CLOSING if k.startswith("c") else _OPEN for k in plans}
        views = "".join(f"CREATE MATERIALIZED VIEW {k} AS {q};\n" for k, q in texts.items())
        steps = tuple(_epoch(i, epoch) for i, epoch in enumerate(inputs, 1))
        case = Case(Program("plans", "", _INPUTS + views, steps), "", folder / "inputs")
        run = Run(folder, sessions, [case])
        run.pipeline = _with_plans(run.pipeline, plans)
        return cls(plans, inputs, run, case)

    def epoch(self, number: int) -> None:
        """Run one epoch."""
        self.run.epoch(number, [(self.case, self.case.program.epochs[number - 1])])

    def all_epochs(self) -> Outcome:
        """Run all epochs and return what is at rest."""
        for number in range(1, len(self.inputs) + 1):
            self.epoch(number)
        return self.run.outcome()


def _epoch(number: int, epoch: EpochInput) -> Epoch:
    lines = {
        scan.object: tuple(_line(d, scan) for d in epoch.deliveries.get(scan.object, ()))
        for scan in SCANS
    }
    return Epoch(number, epoch.now, lines)


def _line(delivery: Delivery, scan: n.Scan) -> Line:
    values = [delivery.row[f.name] for f in scan.schema if not is_hidden(f.name)]
    return Line(delivery.kind, tuple(None if v is None else encode(v) for v in values))


def _with_plans(pipeline: Pipeline, plans: Plans) -> Pipeline:
    objects = {k: _planned(o, plans[k]) if k in plans else o for k, o in pipeline.objects.items()}
    return replace(pipeline, objects=objects)


def _planned(found: AnalysedObject, plan: AnalysedPlan) -> AnalysedObject:
    root = plan.root
    top = plan[root]
    relation = replace(
        found.relation,
        columns=root.schema,
        stream_key=top.stream_key,
        mode=top.mode,
        watermarks=tuple((w.column, w.group) for w in top.watermarks),
    )
    reads = tuple(dict.fromkeys(s.object for s in n.scans(root) if isinstance(s, n.Scan)))
    return replace(found, relation=relation, plan=plan, reads=reads)


def mismatches(both: Both, name: str) -> Iterator[str]:
    """Yield where Spark emitted something else than the reference."""
    shown = [f.name for f in both.plans[name].root.schema if not is_hidden(f.name)]
    found = both.outcome.found[name]
    for number, results in enumerate(both.expected, 1):
        changes: list[Shown] = [
            (kind, tuple(row[c] for c in shown)) for kind, row in results[name].changes
        ]
        dead: list[Shown] = [(d.kind, (d.reason,)) for d in results[name].dead]
        sides: list[tuple[str, list[Shown], Callable[[int], list[Shown]]]] = [
            ("changes", changes, lambda e: found.changes.get(e, [])),
            ("dead", dead, lambda e: found.dead.get(e, [])),
        ]
        for label, expected, actual in sides:
            text = mismatch(label, expected, actual(number))
            if text is not None:
                yield f"epoch {number}: {text}"
