"""Transactions and results of statements, as the shell shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.cli.app import app
from floodmark.spark.session import Sessions
from tests.warehouses import Site

pytestmark = pytest.mark.spark


def test_a_script_is_one_transaction_or_none(sessions: Sessions, tmp_path: Path) -> None:
    site = Site(tmp_path, sessions)
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    run, at = CliRunner(), ["--warehouse", str(site.root / "warehouse")]
    script = tmp_path / "a.sql"
    script.write_text(
        "BEGIN;\nINSERT INTO t VALUES (1, 1) RETURNING k, v + 1 AS w;\nUPDATE t SET v = 5;\nCOMMIT;"
    )
    told = run.invoke(app, ["sql", "-f", str(script), *at])
    assert told.exit_code == 0, told.output
    lines = [line.strip() for line in told.stdout.splitlines()]
    assert lines[0] == "BEGIN" and lines[-2:] == ["UPDATE 1", "COMMIT"]
    assert "INSERT 0 1" in lines and "1 | 2" in lines
    script.write_text("BEGIN;\nDELETE FROM t;\nINSERT INTO t VALUES (1, 1 / 0);\nCOMMIT;")
    told = run.invoke(app, ["sql", "-f", str(script), *at])
    assert told.exit_code == 1 and "E0621" in told.output
    told = run.invoke(app, ["sql", "BEGIN; DELETE FROM t", *at])
    assert told.exit_code == 0 and "WARNING:  no COMMIT" in told.output
    told = run.invoke(app, ["sql", "--json", "SELECT v FROM t", *at])
    assert '"rows": [[5]]' in told.stdout
