"""Plans as the views of one warehouse on Spark, and the same on the reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from floodmark.changelog import is_hidden
from floodmark.errors import NotSupported, TransientError
from floodmark.plan import nodes as n
from floodmark.reference.engine import advance
from floodmark.reference.pipeline import (
    Delivery,
    EpochInput,
    ObjectResult,
    ObjectState,
    ReferenceKind,
    ReferenceObject,
)
from floodmark.scalar.functions import Determinism
from floodmark.scalar.functions.user import UserFunction
from floodmark.scalar.types import INT
from floodmark.spark.session import Sessions
from floodmark.stream.ndu import DeterminismMode
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.supported import check_supported
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.testing.program import Epoch, Program
from floodmark.testing.text import Line, TextRow, encode, mismatch
from tests.program_spark import Case, Outcome, Run
from tests.property.loose_plans import is_cut_dependent, loose_plans, settled
from tests.property.plan_examples import drawn, operator
from tests.property.plan_strategies import CHANGED, CHANGES, OBJECTS, SCANS, epochs

LARGEST_PLAN = 14
_FUNCTION = re.compile(r"function='([a-z_]+)'")
_LOOSE = re.compile(r"\b(Volatile|UserCall|Now|LookupJoin)\(")
_INPUTS = """
CREATE TABLE t1 (k INT PRIMARY KEY, a INT, b INT);
CREATE TABLE t2 (k INT PRIMARY KEY, a INT, b INT);
CREATE SOURCE s (ts TIMESTAMP, k INT, v INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET;
CREATE SOURCE c (k INT, a INT, b INT, PRIMARY KEY (k))
  WITH (connector = 'files', path = 'c') FORMAT DEBEZIUM ENCODE JSON;
CREATE SOURCE u (k INT, a INT, b INT, PRIMARY KEY (k))
  WITH (connector = 'files', path = 'u') FORMAT UPSERT ENCODE JSON;
"""
_INPUT_SCANS = (*SCANS, *CHANGES)
_STEADY = """
def steady(v):
    return None if v is None else (7 * v + 1) % 5 if v + 1 else 1 // 0
"""
_OPEN = "SELECT k FROM t1"
_CLOSING = """SELECT window_start, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute')
  GROUP BY window_start EMIT ON WINDOW CLOSE"""

Plans = Mapping[str, StreamPlan]
"""Analysed plans by the name of the view; those that emit on close begin with `c`."""


def chosen(strategy: st.SearchStrategy[n.Node], count: int) -> list[StreamPlan]:
    """Return plans of different shapes that run incrementally, those with most state first."""
    return _of_different_shapes(map(lower, drawn(strategy, 250)), count)


def chosen_loose(count: int, *, stores: bool) -> list[StreamPlan]:
    """Return plans with what may change its mind, as strict runs them: some stored, or nothing."""
    strategies = [
        loose_plans(max_depth=3, scans=_INPUT_SCANS, asks=True, function=function)
        for function in (_steady(Determinism.VOLATILE), _steady(Determinism.STABLE))
    ]
    found = (settled(root, DeterminismMode.STRICT) for root in drawn(st.one_of(strategies), 300))
    loose = (p for p in found if p is not None and _LOOSE.search(repr(p.root)))
    return _of_different_shapes((p for p in loose if stores is is_cut_dependent(p)), count)


def _steady(determinism: Determinism) -> UserFunction:
    """Return a function that is not declared to give the same value again, and does."""
    return UserFunction("steady", (("v", INT),), INT, "python", _STEADY, determinism)


def _of_different_shapes(plans: Iterator[StreamPlan], count: int) -> list[StreamPlan]:
    found: dict[str, StreamPlan] = {}
    for plan in plans:
        nodes = list(n.walk(plan.root))
        if len(nodes) <= LARGEST_PLAN and _runs(plan):
            found.setdefault(" ".join(type(node).__name__ for node in nodes), plan)
    rest = sorted(found.values(), key=lambda p: _weight(p.root), reverse=True)
    return list(_covering(rest, count))


def _covering(rest: list[StreamPlan], count: int) -> Iterator[StreamPlan]:
    """Yield the plans with most that is in none before them; where all is, begin anew."""
    seen: set[str] = set()
    for _ in range(min(count, len(rest))):
        best = max(rest, key=lambda p: len(_contents(p) - seen))
        seen = _contents(best) | (seen if _contents(best) - seen else set())
        rest.remove(best)
        yield best


def _contents(plan: StreamPlan) -> frozenset[str]:
    """Return the operators of a plan, its functions, and the inputs that it reads."""
    inputs = {scan.object for scan in n.scans(plan.root) if isinstance(scan, n.Scan)}
    functions = set(_FUNCTION.findall(repr(plan.root)))
    return frozenset({*map(operator, plan.nodes), *functions, *inputs})


def _runs(plan: StreamPlan) -> bool:
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
    """Return the drawn epochs with the most rows; each input rests in a third of them."""
    examples = drawn(epochs(count=count, keyed=("t1", "t2", "c", "u")), 60)
    busy = max(examples, key=lambda e: sum(len(d) for i in e for d in i.deliveries.values()))
    return [_resting(epoch, number) for number, epoch in enumerate(busy)]


def _resting(epoch: EpochInput, number: int) -> EpochInput:
    """Return the epoch without the inputs that rest; in the first none does."""
    some = {
        name: changes
        for place, (name, changes) in enumerate(sorted(epoch.deliveries.items()))
        if number == 0 or (place + number) % 3
    }
    return replace(epoch, deliveries=some)


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
            name, ReferenceKind.VIEW, p.root.schema, p[p.root].stream_key, plan=p.root,
            emits_on_close=name.startswith("c"),
        )
        for name, p in plans.items()
    ]  # fmt: skip
    states: Mapping[str, ObjectState] = {}
    out = []
    for number, epoch in enumerate(inputs, 1):
        numbered = replace(epoch, number=number, seed=seed)
        states, results = advance((*OBJECTS, *CHANGED, *views), states, numbered)
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
        """Run all epochs, one that stops in the middle to its end, and return what is at rest."""
        for number in range(1, len(self.inputs) + 1):
            try:
                self.epoch(number)
            except TransientError:
                self.complete()
        return self.run.outcome()

    def complete(self, tries: int = 3) -> None:
        """Complete the open epoch, in as many tries as it takes."""
        for _ in range(tries):
            try:
                with self.run.fm.loop.hold("the next try"):
                    return
            except TransientError:
                continue
        raise AssertionError("the epoch does not end")


def _epoch(number: int, epoch: EpochInput) -> Epoch:
    lines = {
        scan.object: tuple(_line(d, scan) for d in epoch.deliveries.get(scan.object, ()))
        for scan in _INPUT_SCANS
    }
    return Epoch(number, epoch.now, lines)


def _line(delivery: Delivery, scan: n.Scan) -> Line:
    values = [delivery.row[f.name] for f in scan.schema if not is_hidden(f.name)]
    return Line(delivery.kind, tuple(None if v is None else encode(v) for v in values))


def _with_plans(pipeline: Pipeline, plans: Plans) -> Pipeline:
    objects = {k: _planned(o, plans[k]) if k in plans else o for k, o in pipeline.objects.items()}
    return replace(pipeline, objects=objects)


def _planned(found: AnalysedObject, plan: StreamPlan) -> AnalysedObject:
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


def _at_rest(value: Any) -> Any:
    """Return a value as it is read from a table: an array is a list."""
    return [_at_rest(x) for x in value] if isinstance(value, tuple) else value


def mismatches(both: Both, name: str) -> Iterator[str]:
    """Yield where Spark emitted something else than the reference."""
    shown = [f.name for f in both.plans[name].root.schema if not is_hidden(f.name)]
    found = both.outcome.found[name]
    for number, results in enumerate(both.expected, 1):
        changes: list[TextRow] = [
            (kind, tuple(_at_rest(row[c]) for c in shown)) for kind, row in results[name].changes
        ]
        dead: list[TextRow] = [(d.kind, (d.reason,)) for d in results[name].dead]
        sides: list[tuple[str, list[TextRow], Callable[[int], list[TextRow]]]] = [
            ("changes", changes, lambda e: found.changes.get(e, [])),
            ("dead", dead, lambda e: found.dead.get(e, [])),
        ]
        for label, expected, actual in sides:
            text = mismatch(label, expected, actual(number))
            if text is not None:
                yield f"epoch {number}: {text}"
