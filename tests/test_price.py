"""Prices: each turn pays for what its own thread does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from floodmark.price import Bill, Price, charge, charge_time, open_bill
from floodmark.storage.logs.object_record import ObjectRecord


def test_turns_side_by_side_pay_apart() -> None:
    together = Barrier(3)

    def turn(queries: int) -> Price:
        with open_bill() as bill:
            for _ in range(queries):
                together.wait(10)
                charge(Price(queries=1, bytes_read=queries))
        return bill.total

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(turn, [2, 2, 2]))
    assert found == [Price(queries=2, bytes_read=4)] * 3


def test_outside_of_a_turn_nobody_pays() -> None:
    with open_bill() as bill:
        with open_bill() as inner:
            charge(Price(queries=1))
        charge(Price(queries=2))
    charge(Price(queries=9))
    assert (bill, inner) == (Bill(Price(queries=2)), Bill(Price(queries=1)))


def test_what_fails_is_paid_too() -> None:
    with (
        open_bill() as bill,
        pytest.raises(OSError),
        charge_time(lambda seconds: Price(queries=1, query_s=seconds)),
    ):
        raise OSError
    assert bill.total.queries == 1
    assert 0 < bill.total.query_s < 10


def test_a_record_adds_the_price_of_the_way_to_it() -> None:
    first = ObjectRecord("v", {}, duration_s=1.5, price=Price(queries=2, query_s=0.7))
    second = ObjectRecord("v", {}, duration_s=1.0, price=Price(3, 5, 6, 0.1, 0.2))
    both = second.add_earlier(first)
    assert both.price == Price(5, 5, 6, 0.8, 0.2)
    assert both.plan_s == 1.5
    assert both.at_rest().price == Price()
