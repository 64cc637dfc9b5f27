"""What the operators' files say equals what the rules over all nodes say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan import nodes as n
from floodmark.scalar.types import Field, Kind
from floodmark.stream.operators import lower
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.derived import Derived
from floodmark.stream.printing.description import Place
from floodmark.stream.printing.labels import input_labels, labels_of
from floodmark.testing.program import load as load_program
from tests.golden.cases import actual, load
from tests.program_reference import compile_sql
from tests.stream.every_node import unanalysed

PROGRAMS = Path(__file__).parents[1] / "programs"
NOW = datetime(2025, 1, 1, 0, 30, tzinfo=UTC)
SAMPLES = {
    Kind.DATE: date(2024, 12, 31), Kind.TIMESTAMP: datetime(2025, 1, 1, 0, 7, 3),
    Kind.TIMESTAMPTZ: datetime(2025, 1, 1, 0, 7, 3, tzinfo=UTC), Kind.INT: 7, Kind.BIGINT: 7,
    Kind.SMALLINT: 7, Kind.VARCHAR: "m", Kind.NUMERIC: Decimal("7.5"), Kind.DOUBLE: 7.5,
    Kind.REAL: 7.5,
}  # fmt: skip


def sample(field: Field, side: int) -> Any:
    value = SAMPLES.get(field.type.kind)
    if isinstance(value, date):
        return value + timedelta(hours=3 * side, days=side)
    return value + side if value is not None and not isinstance(value, str) else value


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except FloodmarkError as error:
        return error.render()


class Shadow(dict[type[n.Node], type[StreamOperator[Any]]]):
    """Builds each operator twice and compares."""

    def get(self, kind: type[n.Node], default: Any = None) -> Any:  # type: ignore[override]
        own = super().get(kind)
        return default if own is None else lambda *args: self.compared(own, *args)

    def compared(self, own: type[StreamOperator[Any]], *args: Any) -> StreamOperator[Any]:
        told = outcome(lambda: Derived(*args))
        if isinstance(told, str):
            assert outcome(lambda: own(*args)) == told
        made = own(*args)
        assert isinstance(told, Derived)
        skipped = {"rereads", "beside"}
        for name, value in vars(told).items():
            if name not in skipped:
                assert vars(made)[name] == value, (made.node, name)
        assert made.key_of(made.node, tuple(i.stream_key for i in made.inputs)) == told.stream_key
        marks = _marks(made)
        told_values = outcome(lambda: told.propagate(marks, NOW))
        assert outcome(lambda: made.propagate(marks, NOW)) == told_values
        _described(made, told)
        return made


def _marks(operator: StreamOperator[Any]) -> Sequence[dict[str, Any]]:
    fields = [i.node.schema for i in operator.inputs] or [operator.node.schema]
    return [
        {f.name: v for f in schema if (v := sample(f, -side)) is not None}
        for side, schema in enumerate(fields)
    ]


def _described(made: StreamOperator[Any], told: StreamOperator[Any]) -> None:
    operators = {}

    def reached(operator: StreamOperator[Any]) -> None:
        for below in operator.inputs:
            reached(below)
        operators[operator.node] = operator

    reached(made)
    labels = labels_of(made.node)
    names = input_labels(made.node, labels)
    for owner in (None, "v"):
        for beside in (None, made.node):
            place = Place(operators, labels, {}, owner, beside)
            assert made.describe(names, place) == told.describe(names, place)


@pytest.fixture(autouse=True)
def shadow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "_CLASSES", Shadow(lower._CLASSES))


@pytest.mark.parametrize("case", load(), ids=lambda c: f"{c.file}-{c.name}")
def test_goldens(case: Any) -> None:
    assert actual(case) == case.expect.rstrip("\n")


@pytest.mark.parametrize("name", unanalysed())
def test_every_node(name: str) -> None:
    from floodmark.stream.passes.keep_keys import keep_keys

    outcome(lambda: lower.lower(keep_keys(unanalysed()[name])))


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.txt")), ids=lambda p: p.stem)
def test_programs(path: Path) -> None:
    program = load_program(path)
    outcome(lambda: compile_sql(program.sql))
