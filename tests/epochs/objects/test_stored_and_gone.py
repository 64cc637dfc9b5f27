"""Tables fed by files that are gone when the epoch that has stored their rows goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import floodmark
from floodmark import failpoints
from floodmark.errors import TransientError
from floodmark.spark.session import Sessions

KEY = "k INT, v VARCHAR, PRIMARY KEY (k)"


@pytest.mark.spark
@pytest.mark.parametrize("point", ["first_table_committed", "sink_committed", "view_committed"])
@pytest.mark.parametrize(
    ("what", "form"),
    [
        (f"TABLE t ({KEY})", "PLAIN"),
        ("TABLE t (k INT, v VARCHAR)", "PLAIN"),
        ("TABLE t (k INT, v VARCHAR) APPEND ONLY", "PLAIN"),
        (f"SOURCE t ({KEY})", "UPSERT"),
    ],
)
def test_what_is_stored_needs_no_file(
    tmp_path: Path,
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    what: str,
    form: str,
) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    options = f"WITH (connector = 'files', path = '{landing}') FORMAT {form} ENCODE JSON"
    with floodmark.connect(tmp_path / "warehouse", sessions=lambda: sessions) as fm:
        fm.execute(f"CREATE {what} {options}")
        fm.execute("CREATE MATERIALIZED VIEW n AS SELECT v, count(*) AS n FROM t GROUP BY v")
        (landing / "a.json").write_text('{"k": 1, "v": "a"}\n')
        fm.advance()
        (landing / "b.json").write_text('{"k": 1, "v": "b"}\n{"k": 2, "v": "b"}\n{"k": "x"}\n')
        died = False

        def die(name: str) -> None:
            nonlocal died
            if name == point and not died:
                died = True
                raise TransientError("E0515", "killed")

        with monkeypatch.context() as patched:
            patched.setattr(failpoints, "reach", die)
            try:
                fm.advance()
            except TransientError:
                (landing / "b.json").unlink()
        fm.advance()
        assert fm.warehouse.log.suspensions() == {}
        old = () if "KEY" in what else (("a", 1),)
        assert fm.execute("SELECT * FROM n ORDER BY v").rows == (*old, ("b", 2))
        assert fm.execute("SELECT count(*) FROM t").rows == ((2 + len(old),),)
        assert fm.execute("SELECT reason FROM t__dead_letter").rows == (("E0651",),)
        record = fm.status()["t"]
        assert (record.dead_rows, record.rows_out) == (1, 3 - len(old))
