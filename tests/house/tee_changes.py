"""The changes of a tee, and its batch form, for the test of a new operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from floodmark.dataflow.context import EpochContext, Input
from floodmark.spark.rows import Rows
from tests.house.tee_node import Tee
from tests.house.tee_operator import StreamTee

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def delta(op: StreamTee, inputs: Sequence[Input], ctx: EpochContext) -> Rows | None:
    """Return the changes of the input."""
    (below,) = inputs
    return below.rows


def batch(node: Tee, frame: DataFrame) -> DataFrame:
    """Return the rows of the input."""
    return frame
