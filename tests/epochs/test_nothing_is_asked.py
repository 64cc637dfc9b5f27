"""Epochs send queries and ask nothing about them before: the server would analyse them twice."""

from __future__ import annotations

import pytest

from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    PROJECTED,
    READINGS,
    REGROUPED,
    SUNK,
    WINDOWED,
    Site,
    put,
    readings,
)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_alone")]
RECENT = """
CREATE MATERIALIZED VIEW recent AS SELECT id, v FROM s WHERE now() < ts + INTERVAL '31 days';
"""


def test_an_epoch_has_no_query_analysed_before_it_runs(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define(READINGS, NAMES, PROJECTED, JOINED, GROUPED, REGROUPED, WINDOWED, SUNK, RECENT)
    put(site.landing, "0", readings(0, 40))
    asked: list[str] = []
    real = site.sessions.main.client._analyze

    def analyse(method: str, **rest: object) -> object:
        asked.append(method)
        return real(method, **rest)

    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('c', 'Gamma')")
        fm.advance(now=NOW)
        put(site.landing, "1", readings(40, 40))
        for session in (site.sessions.main, site.sessions.ingest):
            monkeypatch.setattr(session.client, "_analyze", analyse)
        assert len(fm.advance(now=NOW)) == 1
        fm.execute("UPDATE d SET name = 'Beta' WHERE k = 'a'")
        assert not fm.warehouse.log.suspensions()
        assert asked == []
        assert fm.execute("SELECT count(*) FROM recent").rows != ((0,),)
