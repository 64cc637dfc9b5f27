"""What an epoch costs each object, as its seal says."""

from __future__ import annotations

import pytest

from floodmark.price import open_bill
from floodmark.storage.table import DataFile
from tests.warehouses import GROUPED, NOW, PROJECTED, READINGS, Site, put, readings

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("in_process", [True, False])
def test_a_seal_has_the_price_of_each_object(
    site: Site, in_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOODMARK_IN_PROCESS", str(in_process))
    site.define(READINGS, PROJECTED, GROUPED)
    put(site.landing, "0", readings(0, 40))
    with site.connect() as fm:
        fm.advance(now=NOW)
        put(site.landing, "1", readings(40, 40))
        (summary,) = fm.advance(now=NOW)
        sealed = fm.warehouse.log.seal_record(summary.epoch).objects
        prices = {record.object: record.price for record in summary.changes}
        assert {key: record.price for key, record in sealed.items()} == prices
        for key, price in prices.items():
            assert price.bytes_read > 0 and price.bytes_written > 0, key
            assert price.commit_s > 0 and 0 < price.query_s < sealed[key].duration_s, key

        def written(table: str) -> int:
            files = fm.store.open(table).files
            return sum(file.size for file in files if is_of(file, summary.epoch))

        # One query each: the source reads what has landed, the view what the source has stored.
        sent = 0 if in_process else 1
        assert prices["p"].queries == sent and prices["s"].queries in (sent, 1)
        assert prices["s"].bytes_read == (site.landing / "1.parquet").stat().st_size
        assert prices["p"].bytes_read == written("_rows/public/s") < prices["s"].bytes_written
        assert prices["p"].bytes_written == written("_rows/public/p")


def is_of(file: DataFile, epoch: int) -> bool:
    return file.low["__epoch"] == epoch


def test_a_query_is_given_each_file_as_often_as_its_plan_has_it(site: Site) -> None:
    put(site.landing, "0", readings(0, 40))
    path = site.landing / "0.parquet"
    rows = site.sessions.main.read.schema("id BIGINT, k STRING").parquet(str(path))
    with open_bill() as bill:
        rows.selectExpr("id + 1").unionAll(rows.groupBy("k").count().select("count")).collect()
    assert (bill.total.queries, bill.total.bytes_written) == (1, 0)
    assert bill.total.bytes_read == 2 * path.stat().st_size
