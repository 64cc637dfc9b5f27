"""Tables with a conflict behaviour that changes, and sinks into tables that begin anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import floodmark
from floodmark.errors import BindError, FloodmarkError
from floodmark.spark.session import Sessions

pytestmark = pytest.mark.spark
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, n BIGINT{extra});"
FILES = """
CREATE TABLE s (id INT PRIMARY KEY, g INT);
{table}
CREATE SINK z INTO t (k, n) AS SELECT g, count(*) FROM s GROUP BY g;
CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM t;
"""


def _rows(fm: floodmark.Floodmark, query: str = "SELECT * FROM t ORDER BY k") -> list[object]:
    return list(fm.execute(query).rows)


def test_another_conflict_behaviour_keeps_the_rows(sessions: Sessions, tmp_path: Path) -> None:
    with floodmark.connect(tmp_path, sessions=lambda: sessions) as fm:
        fm.execute(TABLE.format(extra=""))
        fm.execute("CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM t")
        fm.execute("INSERT INTO t VALUES (1, 10)")
        fm.execute("ALTER TABLE t ON CONFLICT DO UPDATE SET n = t.n + EXCLUDED.n")
        fm.execute("INSERT INTO t VALUES (1, 5), (2, 1)")
        assert _rows(fm) == [(1, 15), (2, 1)]
        assert _rows(fm, "SELECT * FROM v") == [(16,)]
        assert "DO UPDATE SET" in str(fm.execute("SHOW CREATE TABLE t").rows)
        with pytest.raises(BindError, match="t2"):
            fm.execute("ALTER TABLE t2 ON CONFLICT DO NOTHING")
        with pytest.raises(BindError, match="E0203"):
            fm.execute("ALTER TABLE v ON CONFLICT DO NOTHING")
        with pytest.raises(FloodmarkError, match="E0206"):
            fm.execute("ALTER TABLE t ON CONFLICT DO UPDATE FULL WITH VERSION COLUMN (nope)")
        fm.execute("ALTER TABLE t ON CONFLICT DO NOTHING")
        fm.execute("INSERT INTO t VALUES (1, 5), (3, 1)")
        assert _rows(fm) == [(1, 15), (2, 1), (3, 1)]
        assert fm.replay(epoch=fm.warehouse.log.head().sealed)


def test_a_table_that_begins_anew_is_filled_by_its_sinks(
    sessions: Sessions, tmp_path: Path
) -> None:
    files = tmp_path / "pipelines"
    files.mkdir()
    path = files / "a.sql"
    path.write_text(FILES.format(table=TABLE.format(extra="")))
    with floodmark.connect(tmp_path / "w", pipelines=files, sessions=lambda: sessions) as fm:
        fm.execute("INSERT INTO s VALUES (1, 1), (2, 1), (3, 2)")
        path.write_text(FILES.format(table=TABLE.format(extra=", z BIGINT AS (n * 2)")))
        plan = fm.apply(files)
        assert {c.key: c.action for c in plan.changes} == dict.fromkeys(
            ("sink:z", "t", "v"), "rebuild"
        )
        assert _rows(fm) == [(1, 2, 4), (2, 1, 2)]
        assert _rows(fm, "SELECT * FROM v") == [(3,)]


def test_a_file_says_what_it_said_when_a_statement_has_altered_its_table(
    sessions: Sessions, tmp_path: Path
) -> None:
    files = tmp_path / "pipelines"
    files.mkdir()
    (files / "a.sql").write_text(TABLE.format(extra=""))
    with floodmark.connect(tmp_path / "w", pipelines=files, sessions=lambda: sessions) as fm:
        fm.execute("INSERT INTO t VALUES (1, 10)")
        fm.execute("ALTER TABLE t ON CONFLICT DO NOTHING")
        assert not fm.plan(files).changes
    with floodmark.connect(tmp_path / "w", pipelines=files, sessions=lambda: sessions) as fm:
        fm.execute("INSERT INTO t VALUES (1, 11)")
        assert _rows(fm) == [(1, 10)]
        (files / "a.sql").write_text(
            TABLE.format(extra="").replace(";", " ON CONFLICT DO UPDATE IF NOT NULL;")
        )
        assert [c.action for c in fm.apply(files).changes] == ["alter"]
        fm.execute("INSERT INTO t VALUES (1, 12)")
        assert _rows(fm) == [(1, 12)]
