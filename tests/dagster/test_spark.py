"""The Dagster resource: lazy, and the engine's own session."""

from __future__ import annotations

import dagster as dg
import pytest

from floodmark_dagster.resources.spark import FloodmarkSpark


@pytest.mark.spark
def test_a_job_uses_the_engines_session() -> None:
    @dg.op
    def count(spark: FloodmarkSpark) -> int:
        assert spark.spark_session is spark.sessions.main
        return int(spark.spark_session.range(3).count())

    @dg.job(resource_defs={"spark": FloodmarkSpark()})
    def counting() -> None:
        count()

    assert counting.execute_in_process().output_for_node("count") == 3


@pytest.mark.spark
def test_lost_sessions_are_opened_anew() -> None:
    spark = FloodmarkSpark()
    try:
        first = spark.sessions
        assert spark.sessions is first
        first.lost = True
        assert spark.sessions is not first and spark.spark_session is spark.sessions.main
    finally:
        spark.close()


def test_nothing_is_attached_until_asked_for() -> None:
    @dg.op
    def idle(spark: FloodmarkSpark) -> bool:
        return spark._sessions is None

    @dg.job(resource_defs={"spark": FloodmarkSpark()})
    def idling() -> None:
        idle()

    assert idling.execute_in_process().output_for_node("idle") is True
