"""VALUES of many constants go to Spark as data: the same rows as from a text of SQL."""

from __future__ import annotations

import pytest

from floodmark.limits import Limits
from floodmark.plan.nodes import sources
from tests.warehouses import Site

pytestmark = pytest.mark.spark

_COLUMNS = """a SMALLINT, b INT, c BIGINT, d NUMERIC(10, 2), e REAL, f DOUBLE, g BOOLEAN, h VARCHAR,
 i DATE, j TIME, k TIMESTAMP, l TIMESTAMPTZ, m INTERVAL, n JSONB, o UUID, p BYTEA, q INT[]"""
_ROWS = [
    "(1, 2, 3, 4.005, 5.5, 6.25, true, 'it''s', '2024-02-29', '10:11:12.5',"
    " '1969-12-31 23:59:59.5', '2024-07-01 10:00:00+02', '1 month 2 days',"
    ' \'{"b": 1, "a": [null]}\','
    " 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '\\x00ff', '{1,NULL,3}')",
    "(-32768, -2147483648, -9223372036854775808, -99999999.99, '-Infinity', 'NaN', false, '', "
    "'0001-01-01', '00:00', '9999-12-31 00:00', '0001-01-01 00:00:00Z', '-1 hour', 'null',"
    " '00000000-0000-0000-0000-000000000000', '', '{}')",
    "(" + ", ".join(["NULL"] * 17) + ")",
    "(" + ", ".join(["DEFAULT"] * 17) + ")",
]


def test_many_constants_are_the_rows_that_few_are(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()
    text = "INSERT INTO many VALUES " + ", ".join(_ROWS * 30)
    with site.connect() as fm:
        for name, many in (("few", 10_000), ("long", 100)):
            monkeypatch.setattr(sources, "LIMITS", Limits(constant_rows=many))
            fm.execute(f"CREATE TABLE {name} ({_COLUMNS})")
            assert fm.execute(text.replace("many", name, 1)).rowcount == 120
        columns = "h, a, b, c, d, e, f, g, i, j, k, l, m, n, o, p, q"
        found = [
            list(fm.execute(f"SELECT {columns} FROM {name} ORDER BY _row_id").rows)
            for name in ("few", "long")
        ]
    assert repr(found[0]) == repr(found[1])


def test_a_constant_out_of_range_is_an_error_of_its_row(site: Site) -> None:
    site.define()
    with site.connect() as fm:
        fm.execute("CREATE TABLE t (a SMALLINT)")
        rows = ", ".join(f"({i})" for i in range(200))
        with pytest.raises(Exception, match="out of range") as refused:
            fm.execute(f"INSERT INTO t VALUES {rows}, (40000)")
    assert getattr(refused.value, "code", "") == "E0622"
