"""Who adds an operator is told which pieces it lacks: eight files of the engine, and a sample."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from floodmark.changelog import ChangelogMode
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Expr, Literal
from floodmark.scalar.types import BOOLEAN
from floodmark.spark.session import Sessions
from floodmark.stream import operators
from floodmark.stream.ndu.repair import repair
from floodmark.stream.operators import walks
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.lower import lower
from tests.house.tee_node import Tee
from tests.house.tee_operator import StreamTee
from tests.stream.every_node import every_node, scan

ROOT = Path(__file__).parents[2]
NAMED = (
    "floodmark/plan/nodes/__init__.py",
    "floodmark/stream/operators/__init__.py",
    "floodmark/dataflow/dispatch.py",
    "floodmark/dataflow/batch.py",
    "floodmark/reference/interpreter.py",
)
"""Where a node, one that it is a kind of, or its operator has to be named."""
MADE_BY_PASSES = (
    n.CloseAggregate, n.CloseSession, n.SortBuffer, n.MaterializeProject, n.GrowingSeries,
)  # fmt: skip
"""Nodes that passes make: the oracle computes what they are made of."""


def missing(node: type[n.Node]) -> Iterator[str]:
    """Yield the files that a node's operator lacks, or has to be named in."""
    if not any(f"class {node.__name__}(" in p.read_text() for p in _files("floodmark/plan/nodes")):
        yield "floodmark/plan/nodes"
    for path in NAMED:
        if not all(_names(part, node) for part in _parts(path, node)):
            yield path
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", node.__name__).lower()
    if not (ROOT / f"floodmark/stream/operators/{name}.py").exists():
        yield f"floodmark/stream/operators/{name}.py"
    if not any(f"(op: Stream{node.__name__}, " in p.read_text() for p in _deltas(node)):
        yield f"floodmark/dataflow/operators/{name}.py"
    if not any(type(plan.root) is node for plan in every_node().values()):
        yield "tests/stream/every_node.py"


def _files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).glob("*.py"))


def _deltas(node: type[n.Node]) -> list[Path]:
    """Return the files of changes; what is read as it is needs none."""
    return [Path(n.__file__)] if node is n.Scan else _files("floodmark/dataflow/operators")


def _parts(path: str, node: type[n.Node]) -> list[str]:
    """Return the texts of a file of which each has to name a node."""
    if "batch" in path and node in get_args(n.StoredNode):
        return []
    if "reference" in path:
        rows, watermarks = (ROOT / path).read_text().split("\ndef propagate(")
        return [watermarks] if node in MADE_BY_PASSES else [rows, watermarks]
    return [(ROOT / path).read_text()]


def _names(text: str, node: type[n.Node]) -> bool:
    kinds = [c.__name__ for c in node.__mro__ if c not in (n.Node, n.Unary, object)]
    return any(re.search(rf"\b(Stream)?{kind}\b", text) for kind in kinds)


def test_the_family_of_each_operator_is_named() -> None:
    families = operators.__doc__ or ""
    for op in operators.OPERATORS:
        bases = [c.__name__ for c in op.__mro__[1:] if issubclass(c, StreamOperator)][:-1]
        lacking = [name for name in (op.NODE.__name__, *bases) if name not in families]
        assert lacking == [], op.__name__


def test_operators_of_dataflow_have_a_file_each_and_nothing_else_has() -> None:
    for path in _files("floodmark/dataflow/operators"):
        if path.stem != "__init__":
            assert re.search(r"^def delta\(op: Stream\w+, ", path.read_text(), re.M), path.stem


@pytest.mark.parametrize("node", n.NODE_CLASSES, ids=lambda c: c.__name__)
def test_no_operator_lacks_a_piece(node: type[n.Node]) -> None:
    assert [piece for piece in missing(node) if node is not n.Scan or "dataflow" not in piece] == []


Edits = tuple[tuple[str, str], ...]
PIECES: dict[str, Edits] = {
    "floodmark/plan/nodes": (("", "tee_node.py"),),
    "floodmark/plan/nodes/__init__.py": (
        ("ComputedNode = (\n", "from floodmark.plan.nodes.tee import Tee\n\n"),
        ("    | Project\n", "    | Tee\n"),
    ),
    "floodmark/stream/operators/__init__.py": (
        ("Operator = (\n", "from floodmark.stream.operators.tee import StreamTee\n\n"),
        ("    | StreamValues\n", "    | StreamTee\n"),
    ),
    "floodmark/dataflow/dispatch.py": (
        ("    temporal_filter,\n", "    tee,\n"),
        (
            "        case ops.StreamTumble():\n",
            "        case ops.StreamTee():\n            return tee.delta(op, inputs, ctx)\n",
        ),
    ),
    "floodmark/dataflow/batch.py": (
        ("    temporal_filter,\n", "    tee,\n"),
        (
            "        case n.Tumble():\n",
            "        case n.Tee():\n            return tee.batch(node, present[0])\n",
        ),
    ),
    "floodmark/reference/interpreter.py": (
        (
            "            case n.Tumble():\n",
            "            case n.Tee():\n                return rows\n",
        ),
        (
            "        case n.Tumble() | n.Hop():\n",
            "        case n.Tee():\n            return inputs[0]\n",
        ),
    ),
    "floodmark/stream/operators/tee.py": (("", "tee_operator.py"),),
    "floodmark/dataflow/operators/tee.py": (("", "tee_changes.py"),),
    "tests/stream/every_node.py": (),
}
"""What a tee has to add: before which text of a file, or which file of this folder."""
MOVED = {
    "tests.house.tee_node": "floodmark.plan.nodes.tee",
    "tests.house.tee_operator": "floodmark.stream.operators.tee",
}


def add(piece: str, folder: Path) -> None:
    """Add a piece of a tee to a copy of the engine."""
    path = folder / (piece if piece.endswith(".py") else f"{piece}/tee.py")
    for anchor, text in PIECES[piece]:
        if anchor:
            whole = path.read_text()
            assert whole.count(anchor) == 1, (piece, anchor)
            path.write_text(whole.replace(anchor, text + anchor))
        else:
            source = (Path(__file__).parent / text).read_text()
            for here, there in MOVED.items():
                source = source.replace(here, there)
            path.write_text(source)


def test_a_tee_is_told_each_piece_until_it_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("plan/nodes", "stream/operators", "dataflow", "reference"):
        shutil.copytree(ROOT / "floodmark" / folder, tmp_path / "floodmark" / folder)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    sample = SimpleNamespace(root=Tee(scan("t", ChangelogMode.RETRACT)))
    left, plans = list(PIECES), {**every_node(), "Tee": sample}
    assert list(missing(Tee)) == left
    for path in PIECES:
        if path.startswith("tests/"):
            monkeypatch.setitem(globals(), "every_node", lambda: plans)
        add(path, tmp_path)
        left.remove(path)
        assert list(missing(Tee)) == left


@pytest.fixture(scope="module")
def engine_with_tees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the engine with all pieces of a tee."""
    folder = tmp_path_factory.mktemp("tees")
    shutil.copytree(
        ROOT / "floodmark", folder / "floodmark", ignore=shutil.ignore_patterns("__pycache__")
    )
    for piece in PIECES:
        add(piece, folder)
    return folder


def run_with_tees(engine: Path, *arguments: str) -> None:
    """Run the pipeline of `tee_run` over a copy of the engine."""
    path = os.pathsep.join((str(engine), str(ROOT)))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "tee_run.py"), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tee_with_all_pieces_is_planned_checked_and_interpreted(engine_with_tees: Path) -> None:
    run_with_tees(engine_with_tees)


def test_a_tee_with_all_pieces_runs_in_epochs_and_queries(
    engine_with_tees: Path, tmp_warehouse: Path, sessions: Sessions
) -> None:
    run_with_tees(engine_with_tees, str(tmp_warehouse))


def test_who_contributes_is_told_the_same_pieces() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## To add an operator\n")[2].partition("\n## ")[0]
    bullets = section.partition("\n- ")[2].partition("\n\n")[0]
    listed = re.findall(r"`([a-z]+/[^`]+)`", bullets)
    assert sorted(listed) == sorted(path.removesuffix("/tee.py") for path in PIECES)
    engine = [path for path in PIECES if path.startswith("floodmark/")]
    assert len(engine) == 8 and len(PIECES) == 9
    assert "eight files of the engine, and one of the tests" in " ".join(section.split())


def test_a_tee_is_refused_until_it_has_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    below = scan("t", ChangelogMode.APPEND_ONLY)
    with pytest.raises(AssertionError, match="Tee has no operator in a streaming plan"):
        lower(Tee(below))
    monkeypatch.setitem(walks.CLASSES, Tee, StreamTee)
    plan = lower(n.Filter(Tee(below), Literal(BOOLEAN, True)))
    tee, read = plan[Tee(below)], plan[below]
    assert (tee.stream_key, tee.watermarks) == (read.stream_key, read.watermarks)
    assert (tee.unique_keys, tee.mode) == (read.unique_keys, read.mode)
    assert plan.top.has_arrangement


@dataclass(frozen=True, slots=True)
class Tagged(Tee):
    """A tee with an expression."""

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (Literal(BOOLEAN, True),)


class StreamTagged(StreamTee):
    """Its operator."""

    NODE = Tagged


def test_a_node_with_expressions_says_how_they_are_repaired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for plan in every_node().values():
        assert repair(plan, everywhere=True) == plan.root
    monkeypatch.setitem(walks.CLASSES, Tagged, StreamTagged)
    with pytest.raises(AssertionError, match="nothing repairs the expressions of Tagged"):
        repair(lower(Tagged(scan("t", ChangelogMode.RETRACT))), everywhere=True)
