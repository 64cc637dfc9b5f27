"""Every function of the registry has a case that is computed on Spark and by the reference."""

from __future__ import annotations

from pathlib import Path

from floodmark.plan.expr.expressions import Call, walk
from floodmark.scalar.functions import AGGREGATES, REGISTRY, SETS, WINDOWS
from tests.spark.expression_cases import EXPRESSIONS
from tests.spark.function_cases import EXPRESSIONS as FUNCTIONS
from tests.spark.test_expressions import AGGREGATES as AGGREGATED, bound
from tests.spark.test_sets import ORDERED, SETS_OF_ROWS, called
from tests.spark.test_volatile import TEXTS, bound as bound_volatile

PROGRAMS = Path(__file__).parent.parent / "programs"


def test_every_scalar_function_has_a_case() -> None:
    exprs = [*map(bound, (*EXPRESSIONS, *FUNCTIONS)), *bound_volatile(TEXTS)]
    names = {e.function for expr in exprs for e in walk(expr) if isinstance(e, Call)}
    assert set(REGISTRY) - names == set()


def test_every_aggregate_has_a_case() -> None:
    assert {called(text).function for text in (*AGGREGATED, *ORDERED)} == set(AGGREGATES)


def test_every_set_returning_function_has_a_case() -> None:
    assert {text.split("(")[0] for text in SETS_OF_ROWS} == set(SETS)


def test_every_window_function_has_a_program() -> None:
    texts = " ".join(p.read_text().lower() for p in PROGRAMS.glob("over_*.txt"))
    assert {name for name in WINDOWS if f"{name}(" not in texts} == set()
