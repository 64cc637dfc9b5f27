"""Random plans on Spark, incrementally, against the reference: the same changes in every epoch.

All plans run together, as the views of one warehouse over the same three inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import strategies as st
from plan_examples import drawn
from plan_strategies import OBJECTS, SCANS, closing_plans, epochs, plans
from program_spark import Case, Outcome, Run, isolated, unequal

from floodmark.analysis.analyse import analyse
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
from floodmark.runtime import run as epoch_run
from floodmark.spark.session import Sessions
from floodmark.testing.program import Epoch, Program
from floodmark.testing.text import Line, Shown, encode, mismatch

OPEN, CLOSING, EPOCHS = 12, 2, 4
LARGEST_PLAN = 14
_INPUTS = """
CREATE TABLE t1 (k INT PRIMARY KEY, a INT, b INT);
CREATE TABLE t2 (k INT PRIMARY KEY, a INT, b INT);
CREATE SOURCE s (ts TIMESTAMP, k INT, v INT, WATERMARK FOR ts AS ts)
  WITH (connector = 'files', path = 's') FORMAT PLAIN ENCODE PARQUET;
"""
_CLOSING = """SELECT window_start, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1 minute')
  GROUP BY window_start EMIT ON WINDOW CLOSE"""

pytestmark = pytest.mark.spark


def chosen(strategy: st.SearchStrategy[n.Node], count: int) -> list[n.Node]:
    """Return plans of different shapes that run incrementally, those with most state first."""
    found: dict[str, n.Node] = {}
    for root in drawn(strategy, 250):
        nodes = list(n.walk(root))
        if len(nodes) <= LARGEST_PLAN and _runs(root):
            found.setdefault(" ".join(type(node).__name__ for node in nodes), root)
    return sorted(found.values(), key=_weight, reverse=True)[:count]


def _runs(root: n.Node) -> bool:
    try:
        check_supported(analyse(root))
    except NotSupported:
        return False
    return True


def _weight(root: n.Node) -> tuple[int, int]:
    """Count what keeps state, then what else there is."""
    nodes = list(n.walk(root))
    return sum(isinstance(node, n.Join | n.Aggregate) for node in nodes), len(nodes)


def busiest() -> list[EpochInput]:
    """Return the drawn epochs with the most rows."""
    examples = drawn(epochs(count=EPOCHS), 60)
    return max(examples, key=lambda e: sum(len(d) for i in e for d in i.deliveries.values()))


@dataclass(frozen=True)
class Both:
    """One run on Spark and one on the reference, of the same views over the same inputs."""

    plans: Mapping[str, n.Node]
    outcome: Outcome
    expected: Sequence[Mapping[str, ObjectResult]]


@pytest.fixture(scope="module")
def both(sessions: Sessions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Run the drawn plans on Spark and on the reference."""
    roots = {f"v{i:02}": root for i, root in enumerate(chosen(plans(max_depth=3), OPEN))}
    closing = {f"c{i:02}": root for i, root in enumerate(chosen(closing_plans(), CLOSING))}
    inputs = busiest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_run, "advance", isolated(epoch_run.advance))
        outcome = on_spark(roots, closing, inputs, tmp_path_factory.mktemp("plans"), sessions)
    yield Both({**roots, **closing}, outcome, on_reference(roots, closing, inputs))


def on_reference(
    roots: Mapping[str, n.Node], closing: Mapping[str, n.Node], inputs: Sequence[EpochInput]
) -> list[Mapping[str, ObjectResult]]:
    """Return what each view emits in each epoch."""
    views = [
        ReferenceObject(
            name, ObjectKind.VIEW, root.schema, analyse(root)[root].stream_key, plan=root,
            emits_on_close=name in closing,
        )
        for name, root in {**roots, **closing}.items()
    ]  # fmt: skip
    states: Mapping[str, ObjectState] = {}
    out = []
    for epoch in inputs:
        states, results = advance((*OBJECTS, *views), states, epoch)
        out.append(results)
    return out


def on_spark(
    roots: Mapping[str, n.Node],
    closing: Mapping[str, n.Node],
    inputs: Sequence[EpochInput],
    folder: Path,
    sessions: Sessions,
) -> Outcome:
    """Return what is at rest after the epochs."""
    texts = {**dict.fromkeys(roots, "SELECT k FROM t1"), **dict.fromkeys(closing, _CLOSING)}
    views = "".join(f"CREATE MATERIALIZED VIEW {k} AS {q};\n" for k, q in texts.items())
    steps = tuple(_epoch(i, epoch) for i, epoch in enumerate(inputs, 1))
    case = Case(Program("plans", "", _INPUTS + views, steps), "", folder / "inputs")
    run = Run(folder, sessions, [case])
    run.pipeline = _with_plans(run.pipeline, {**roots, **closing})
    for epoch in steps:
        run.epoch(epoch.number, [(case, epoch)])
    outcome = run.outcome()
    return replace(outcome, unequal=unequal(run, outcome))


def _epoch(number: int, epoch: EpochInput) -> Epoch:
    lines = {
        scan.object: tuple(_line(d, scan) for d in epoch.deliveries.get(scan.object, ()))
        for scan in SCANS
    }
    return Epoch(number, epoch.now, lines)


def _line(delivery: Delivery, scan: n.Scan) -> Line:
    values = [delivery.row[f.name] for f in scan.schema if not is_hidden(f.name)]
    return Line(delivery.kind, tuple(None if v is None else encode(v) for v in values))


def _with_plans(pipeline: Pipeline, roots: Mapping[str, n.Node]) -> Pipeline:
    objects = {k: _planned(o, roots[k]) if k in roots else o for k, o in pipeline.objects.items()}
    return replace(pipeline, objects=objects)


def _planned(found: AnalysedObject, root: n.Node) -> AnalysedObject:
    plan = analyse(root)
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


NAMES = [f"v{i:02}" for i in range(OPEN)] + [f"c{i:02}" for i in range(CLOSING)]


@pytest.mark.parametrize("name", NAMES)
def test_spark_emits_what_the_reference_emits(both: Both, name: str) -> None:
    told = both.outcome.broken.get(name)
    assert told is None, told
    found = list(_mismatches(both, name))
    assert not found, "\n\n".join([repr(both.plans[name]), *found])


def _mismatches(both: Both, name: str) -> Iterator[str]:
    shown = [f.name for f in both.plans[name].schema if not is_hidden(f.name)]
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


@pytest.mark.parametrize("name", NAMES[:OPEN])
def test_views_equal_their_plans_in_batch_after_each_epoch(both: Both, name: str) -> None:
    assert {at: count for at, count in both.outcome.unequal.items() if at[0] == name} == {}
