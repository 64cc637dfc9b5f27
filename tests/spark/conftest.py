"""Sessions as users have them, and a Spark server that one file of tests has for itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from floodmark.spark import server
from floodmark.spark.confs import SparkConfig
from floodmark.spark.session import Sessions


@pytest.fixture(scope="session")
def sessions(compiling_sessions: Sessions) -> Sessions:
    """Return sessions whose queries are compiled."""
    return compiling_sessions


@pytest.fixture(scope="module")
def own_config(spark_config: SparkConfig, request: pytest.FixtureRequest) -> Iterator[SparkConfig]:
    """Yield a configuration whose server nobody else uses: its tests may kill it."""
    named = (("spark.app.name", request.module.__name__.replace("_", "-")),)
    config = dataclasses.replace(spark_config, heap_mb=1024, extra=named)
    server.stop(config)
    yield config
    server.stop(config)
