"""What views that emit on close keep is what is open: it does not grow with the epochs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import floodmark
from floodmark.session.inspect.sizes import sizes_of
from floodmark.spark.session import Sessions

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]
START = datetime(2026, 1, 1, 10)
MAINTAINED = 5
"""Epochs between two maintenances, so often that files are merged before there are many."""
GROUPS = """(SELECT window_start, k, sum(12 / v) AS n
    FROM TUMBLE(a, ts, INTERVAL '2 minutes') GROUP BY 1, 2)"""
OTHERS = """(SELECT window_start, j, count(*) AS m
    FROM TUMBLE(b, tb, INTERVAL '2 minutes') WHERE 12 / u > 0 GROUP BY 1, 2)"""
SESSIONS = """(SELECT window_start, window_end, k, count(*) AS n
    FROM SESSION(a, ts, INTERVAL '1 minute', k) GROUP BY 1, 2, 3)"""
SMALL = {
    "groups": f"SELECT * FROM {GROUPS} x",
    "joined": f"SELECT x.window_start, k, n, m FROM {GROUPS} x LEFT JOIN {OTHERS} y "
    "ON x.window_start = y.window_start AND k = j",
    "sessions": f"SELECT * FROM {SESSIONS} x",
    "neighbours": f"SELECT window_start, k, n, lag(n) OVER (PARTITION BY k ORDER BY window_start) "
    f"AS p FROM {GROUPS} x",
}
LARGE = {
    **SMALL,
    "sorted": "SELECT ts, 12 / v AS q FROM a",
    "several": "SELECT window_start, count(DISTINCT v) AS d FROM TUMBLE(a, ts, "
    "INTERVAL '2 minutes') WHERE 12 / v > 0 GROUP BY 1",
    "near": f"SELECT window_end, k, j, tb FROM {SESSIONS} x JOIN b ON k = j AND window_end "
    "BETWEEN tb - INTERVAL '3 minutes' AND tb + INTERVAL '2 minutes'",
    "near_or_none": f"SELECT window_end, k, j FROM {SESSIONS} x LEFT JOIN b ON k = j AND "
    "window_end BETWEEN tb - INTERVAL '3 minutes' AND tb + INTERVAL '2 minutes'",
    "around": f"SELECT window_start, k, sum(n) OVER (PARTITION BY k ORDER BY window_start RANGE "
    f"BETWEEN INTERVAL '4 minutes' PRECEDING AND INTERVAL '2 minutes' FOLLOWING) AS s "
    f"FROM {GROUPS} x",
    "ahead": f"SELECT window_start, k, lead(n) OVER (PARTITION BY k ORDER BY window_start) AS s "
    f"FROM {GROUPS} x",
    "first": "SELECT * FROM (SELECT window_start, k, v, row_number() OVER (PARTITION BY "
    "window_start ORDER BY v, k, ts) AS r FROM TUMBLE(a, ts, INTERVAL '2 minutes')) x WHERE r < 3",
    "all_of_both": f"SELECT window_start, n FROM {GROUPS} x UNION ALL "
    f"SELECT window_start, m FROM {OTHERS} y",
}


def _land(file: Path, columns: tuple[str, str, str], time: datetime, random: Random) -> None:
    """Write four rows of a time, some of them a little out of order."""
    key, value, at = columns
    rows = [
        {
            key: random.randrange(6),
            value: random.randrange(1, 4),
            at: (time + timedelta(seconds=random.randrange(-50, 30))).isoformat(),
        }
        for _ in range(4)
    ]
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")


@pytest.mark.parametrize(
    ("views", "epochs"),
    [
        pytest.param(SMALL, 9, id="daily"),
        pytest.param(LARGE, 300, id="long", marks=pytest.mark.long),
    ],
)
def test_state_is_what_is_open(
    sessions: Sessions, tmp_path: Path, views: dict[str, str], epochs: int
) -> None:
    random = Random(7)
    with floodmark.connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        for name, columns, time in (("a", "k INT, v INT", "ts"), ("b", "j INT, u INT", "tb")):
            (tmp_path / name).mkdir()
            fm.execute(
                f"CREATE SOURCE {name} ({columns}, {time} TIMESTAMP, WATERMARK FOR {time} AS "
                f"{time} - INTERVAL '1 minute') WITH (connector = 'files', "
                f"path = '{tmp_path / name}') FORMAT PLAIN ENCODE JSON"
            )
        for name, query in views.items():
            fm.execute(f"CREATE MATERIALIZED VIEW {name} AS {query} EMIT ON WINDOW CLOSE")
        largest = [0, 0, 0]
        for epoch in range(epochs):
            time = START + timedelta(minutes=epoch)
            for name, names in {"a": ("k", "v", "ts"), "b": ("j", "u", "tb")}.items():
                _land(tmp_path / name / f"{epoch:04}.json", names, time, random)
            fm.advance()
            if epoch % MAINTAINED == MAINTAINED - 1:
                fm.maintain()
            cut, part = fm.warehouse.cut(), 3 * epoch // epochs
            for name in views:
                found = sizes_of(
                    fm.deployed.pipeline[name], fm.warehouse.tables.store, cut.records.get(name)
                )
                for size in found:
                    if size.is_state:
                        assert (size.rows or 0) < 120, (epoch, size)
                        largest[part] = max(largest[part], size.rows or 0)
        assert fm.warehouse.log.suspensions() == {}
        assert largest[2] <= 1.5 * largest[1], largest
        for name, query in views.items():
            if name == "ahead":
                continue
            column, _ = fm.deployed.pipeline[name].relation.watermarks[0]
            bound = cut.watermarks(name)[column]
            rows = sorted(map(repr, fm.execute(f"SELECT * FROM {name}").rows))
            batch = f"SELECT * FROM ({query}) q WHERE {column} < TIMESTAMP '{bound}'"
            assert rows == sorted(map(repr, fm.execute(batch).rows)), name
            assert rows, name
