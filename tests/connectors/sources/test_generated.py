"""Generated rows: the same whenever and however they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from floodmark.connectors.base import Connector, SourceSpec, Split
from floodmark.connectors.registry import make_connector
from floodmark.connectors.sources.nexmark import rows_of
from floodmark.errors import UserError
from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, DOUBLE, TIMESTAMP, UUID, VARCHAR, Field, list_of, numeric

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BID = {"auction": BIGINT, "bidder": BIGINT, "price": BIGINT, "channel": VARCHAR, "url": VARCHAR}
AUCTION = {"id": BIGINT, "seller": BIGINT, "category": BIGINT, "expires": TIMESTAMP}
PERSON = {"id": BIGINT, "name": VARCHAR, "state": VARCHAR, "credit_card": VARCHAR}


def nexmark(table: str, columns: dict[str, Any], events: int = 5000, **options: str) -> Connector:
    schema = tuple(Field(n, t) for n, t in {**columns, "date_time": TIMESTAMP}.items())
    own = {"nexmark.table.type": table, "nexmark.event.num": str(events), **options}
    return make_connector(
        SourceSpec(table, schema, "", "", {"connector": "nexmark", **own}), limits=LIMITS
    )


def datagen(**options: str) -> Connector:
    schema = (
        Field("a", BIGINT), Field("r", DOUBLE), Field("s", VARCHAR), Field("t", TIMESTAMP),
        Field("u", UUID), Field("n", numeric(9, 2)),
    )  # fmt: skip
    own = {"datagen.rows": "100", "fields.a.kind": "sequence", "fields.n.nulls": "0.5", **options}
    return make_connector(
        SourceSpec("g", schema, "", "", {"connector": "datagen", **own}), limits=LIMITS
    )


def cuts(connector: Connector, limit: int) -> list[Split]:
    found: list[Split] = []
    while splits := connector.discover_splits({0: found[-1].end} if found else {}, limit):
        found.extend(splits)
    return found


def rows(spark: SparkSession, connector: Connector, splits: Any) -> list[dict[str, Any]]:
    found = connector.read_splits(spark, splits).toArrow().to_pylist()
    return sorted(found, key=lambda row: row["__offset"])


@pytest.mark.spark
def test_another_seed_gives_other_rows(spark: SparkSession) -> None:
    first, second = datagen(), datagen(**{"datagen.seed": "1"})
    one, two = (rows(spark, c, cuts(c, 1000)) for c in (first, second))
    assert [row["a"] for row in one] == [row["a"] for row in two] == list(range(100))
    assert not {row["r"] for row in one} & {row["r"] for row in two}
    assert 30 < sum(row["n"] is None for row in one) < 70


@pytest.mark.spark
def test_nexmark_has_its_shares_hot_keys_and_references(spark: SparkSession) -> None:
    tables = {"person": PERSON, "auction": AUCTION, "bid": BID}
    connectors = {name: nexmark(name, columns) for name, columns in tables.items()}
    found = {name: rows(spark, c, c.discover_splits({}, 10**6)) for name, c in connectors.items()}
    assert {name: len(r) for name, r in found.items()} == {
        "person": 100, "auction": 300, "bid": 4600,
    }  # fmt: skip
    assert [r["id"] for r in found["person"]] == list(range(1000, 1100))
    assert [r["id"] for r in found["auction"]] == list(range(1000, 1300))
    assert {r["category"] for r in found["auction"]} == set(range(10, 15))
    hot = sum(bid["auction"] % 100 == 0 for bid in found["bid"]) / 4600
    assert 0.45 < hot < 0.6
    assert all(1000 <= bid["bidder"] < 1000 + 100 + 11 for bid in found["bid"])
    assert all(100 <= bid["price"] <= 100_000_000 for bid in found["bid"])
    channels = {"Google", "Facebook", "Baidu", "Apple"}
    assert 0.45 < sum(bid["channel"] in channels for bid in found["bid"]) / 4600 < 0.55
    times = [bid["date_time"] for bid in found["bid"]]
    assert times == sorted(times)
    splits = connectors["bid"].discover_splits({}, 10**6)
    assert connectors["bid"].bounds(splits, "date_time") == (times[0], times[-1])


@pytest.mark.spark
def test_a_shuffle_permutes_event_times_within_groups(spark: SparkSession) -> None:
    plain = nexmark("bid", BID, 500)
    mixed = nexmark("bid", BID, 500, **{"nexmark.out.of.order.group.size": "10"})
    before, after = (
        [row["date_time"] for row in rows(spark, c, c.discover_splits({}, 1000))]
        for c in (plain, mixed)
    )
    assert before != after
    assert max(abs((a - b).total_seconds()) for a, b in zip(before, after, strict=True)) < 10e-4


def test_every_event_belongs_to_one_table() -> None:
    for events in range(120):
        assert sum(rows_of(table, events) for table in ("person", "auction", "bid")) == events


def test_an_offer_ends_where_the_rows_end() -> None:
    connector = datagen()
    assert [(s.start, s.end, s.partition_end) for s in cuts(connector, 60)] == [
        (0, 60, False),
        (60, 100, True),
    ]
    assert connector.bounds(cuts(connector, 60)[1:], "a") == (60, 99)


def test_what_cannot_be_generated_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean date_time"):
        nexmark("bid", {"dateTime": TIMESTAMP})
    with pytest.raises(UserError, match="E0472"):
        make_connector(SourceSpec("g", (), "", "", {"connector": "datagen"}), limits=LIMITS)
    with pytest.raises(UserError, match="E0480"):
        schema = (Field("l", list_of(BIGINT)),)
        options = {"connector": "datagen", "datagen.rows": "1"}
        make_connector(SourceSpec("g", schema, "", "", options), limits=LIMITS)
    with pytest.raises(UserError, match="E0481"):
        options = {"connector": "datagen", "datagen.rows": "1"}
        make_connector(
            SourceSpec("g", (), "", "", options, (Field("file_name", VARCHAR),)), limits=LIMITS
        )
