"""An object that takes too long is suspended: the others go on, and it can be dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.api import connect
from floodmark.errors import UserError
from floodmark.limits import LIMITS
from floodmark.spark.session import Sessions
from floodmark.sql.parse import parse_statement
from floodmark.warehouse.settings import Settings, Timeouts

SPIN = """
CREATE TABLE t (k INT PRIMARY KEY);
CREATE FUNCTION spin(a INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
def spin(a):
    while a:
        pass
    return a
$$;
CREATE MATERIALIZED VIEW endless AS SELECT k, spin(k) AS x FROM t;
CREATE MATERIALIZED VIEW quick AS SELECT k + 1 AS x FROM t;
"""


@pytest.mark.spark
@pytest.mark.long
def test_what_takes_too_long_is_suspended(tmp_path: Path, sessions: Sessions) -> None:
    with connect(tmp_path / "w", sessions=lambda: sessions) as warehouse:
        warehouse.execute_script(SPIN)
        warehouse.execute("INSERT INTO t VALUES (0)")
        warehouse.execute("SET query_timeout = '15 seconds'")
        warehouse.execute("INSERT INTO t VALUES (1)")
        (suspended,) = warehouse.warehouse.log.suspensions().items()
        assert suspended[0] == "endless" and "E0459" in str(suspended[1])
        assert warehouse.execute("SELECT x FROM quick").rowcount == 2
        warehouse.execute("DROP MATERIALIZED VIEW endless")
        assert warehouse.warehouse.log.suspensions() == {}


def test_the_limit_of_filling_is_one_that_is_said() -> None:
    settings = Settings(limits=LIMITS)
    assert settings.timeouts == Timeouts(600.0, None)
    for text, wanted in (
        ("'90 seconds'", Timeouts(90.0, 90.0)),
        ("'0'", Timeouts(None, None)),
        ("DEFAULT", Timeouts(600.0, None)),
    ):
        settings.set(parse_statement(f"SET query_timeout = {text}"))
        assert settings.timeouts == wanted
    with pytest.raises(UserError) as refused:
        settings.set(parse_statement("SET query_timeout = '1 month'"))
    assert refused.value.code == "E0369"
