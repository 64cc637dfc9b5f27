"""Replay-stable values: the same row gives the same, on Spark and in the reference."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from floodmark.errors import Span
from floodmark.plan.bind.binder import bind_scalar
from floodmark.plan.bind.context import BindContext
from floodmark.plan.bind.scope import SchemaScope
from floodmark.plan.expr.evaluate import evaluate
from floodmark.plan.expr.expressions import Expr
from floodmark.scalar.functions.intervals import micros_of
from floodmark.scalar.functions.volatile import RowSeed, replay
from floodmark.scalar.types import BIGINT, DOUBLE, INT, TIMESTAMP, VARCHAR, Field, numeric
from floodmark.spark.expressions import compile
from floodmark.spark.literals import literal
from floodmark.sql.parse import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = tuple(
    Field(name, type_)
    for name, type_ in {
        "k": INT, "t": VARCHAR, "d": DOUBLE, "n": numeric(9, 2), "ts": TIMESTAMP, "__epoch": BIGINT,
    }.items()
)  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"k": 1, "t": None, "d": 0.0, "n": None, "ts": datetime(2024, 1, 2), "__epoch": 3},
    {"k": None, "t": "1", "d": -0.0, "n": None, "ts": None, "__epoch": 3},
    {
        "k": 1,
        "t": "",
        "d": float("nan"),
        "n": Decimal("1.00"),
        "ts": datetime(1, 1, 1, 0, 0, 0, 5),
        "__epoch": 4,
    },
    {"k": -5, "t": "äé~4:𝄞" * 20, "d": 1e300, "n": Decimal("-1.50"), "ts": None, "__epoch": 2**40},
]
SEED = RowSeed(
    "pipeline's \\ seed", "view", tuple((f.name, f.type) for f in SCHEMA[:-1]), "__epoch"
)
NOW = datetime(2024, 6, 1, tzinfo=UTC)
TEXTS = (
    "random()", "gen_random_uuid()", "random()", "clock_timestamp()",
    "random() between 0.2 and 0.7",
    "case when random() < 0.5 then random() end", "(random() * 10)::int",
    "1 / (random() * 2)::int",
)  # fmt: skip


def bound(texts: tuple[str, ...]) -> list[Expr]:
    context = BindContext(Span.at(texts[0], 0, 0))
    return [bind_scalar(parse_expression(t), SchemaScope(SCHEMA), context) for t in texts]


@pytest.mark.spark
def test_spark_draws_what_the_reference_draws(spark: SparkSession) -> None:
    exprs = bound(TEXTS)
    rows = [
        "SELECT " + ", ".join(f"{literal(row[f.name], f.type)} AS `{f.name}`" for f in SCHEMA)
        for row in ROWS
    ]
    columns = []
    for index, expr in enumerate(exprs):
        compiled = compile(expr, micros_of(NOW), SEED)
        columns.append(f"{compiled.value} AS v{index}")
        columns.append(f"{compiled.error or 'CAST(NULL AS INT)'} AS e{index}")
    got = spark.sql(" UNION ALL ".join(rows)).selectExpr("`__epoch` AS q", "k", *columns)
    found = {(r["q"], r["k"]): r for r in got.toArrow().to_pylist()}
    for row in ROWS:
        mine = found[row["__epoch"], row["k"]]
        for index, expr in enumerate(exprs):
            pair = (mine[f"v{index}"], mine[f"e{index}"])
            assert pair == evaluate(expr, row, NOW, SEED), (TEXTS[index], row)


def test_the_same_row_and_place_give_the_same() -> None:
    first, _, other, *_ = bound(TEXTS)
    draws = [evaluate(first, row, NOW, SEED)[0] for row in ROWS]
    assert draws == [evaluate(first, row, NOW, SEED)[0] for row in ROWS]
    assert len({*draws, *(evaluate(other, row, NOW, SEED)[0] for row in ROWS)}) == 2 * len(ROWS)
    assert all(0 <= d < 1 for d in draws)


def test_every_part_of_the_identity_counts() -> None:
    (expr,) = bound(("random()",))
    row = ROWS[0]
    others = [
        evaluate(expr, {**row, "__epoch": 4}, NOW, SEED),
        evaluate(expr, row, NOW, RowSeed("s", SEED.object, SEED.key, SEED.epoch)),
        evaluate(expr, row, NOW, RowSeed(SEED.seed, "o", SEED.key, SEED.epoch)),
        evaluate(expr, {**row, "k": None, "t": "1"}, NOW, SEED),
        evaluate(expr, {**row, "t": "~"}, NOW, SEED),
        evaluate(expr, {**row, "t": ""}, NOW, SEED),
    ]
    assert len({evaluate(expr, row, NOW, SEED), *others}) == 7


def test_zeros_are_one_key() -> None:
    (expr,) = bound(("random()",))
    row = ROWS[0]
    assert evaluate(expr, row, NOW, SEED) == evaluate(expr, {**row, "d": -0.0}, NOW, SEED)


def test_draws_spread_evenly() -> None:
    draws = [replay("random", f"row {i}", None) for i in range(4000)]
    assert abs(sum(draws) / len(draws) - 0.5) < 0.02
    assert min(draws) < 0.01 and max(draws) > 0.99


def test_uuids_are_of_version_four() -> None:
    made = [uuid.UUID(replay("gen_random_uuid", f"row {i}", None)) for i in range(100)]
    assert {u.version for u in made} == {4} and {u.variant for u in made} == {uuid.RFC_4122}
    assert len(set(made)) == 100
