"""Queries in one round trip: pyspark has many analysed first, and once more when they run."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Observation


def fetch(frame: DataFrame) -> pa.Table:
    """Return the rows of a query, of the types that come with them.

    `DataFrame.toArrow` asks for the types before.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    found: Any = frame
    rows, schema = found._to_table()
    shape = to_arrow_schema(schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC")
    return rows.cast(shape)


def new_observation() -> Observation:
    """Return an observation for `DataFrame.observe` that asks the server nothing.

    pyspark's own asks whether the rows are a stream: the server would analyse the query twice.
    """
    from pyspark.sql.connect.observation import Observation

    made: Any = Observation(str(uuid.uuid4()))
    made._on = partial(_observe, made)
    return made


def _observe(observation: Any, frame: Any, *counts: Any) -> DataFrame:
    from pyspark.sql.connect.plan import CollectMetrics

    assert observation._result is None, "an observation is of one query"
    observation._result = {}
    found: DataFrame = type(frame)(
        CollectMetrics(frame._plan, observation, list(counts)), frame._session
    )
    return found
