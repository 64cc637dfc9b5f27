"""The `nexmark` connector: persons, auctions and bids of the Nexmark benchmark.

Of 50 events the first is a person, the next three are auctions, 46 are bids. Everything about an
event follows from the seed and its number, so that the three tables agree with each other and any
cut gives the same rows. Where known generators differ, ids follow the paper: a bidder is a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from floodmark.catalog.option_table import nearest
from floodmark.connectors.base import SourceSpec
from floodmark.connectors.options import Options
from floodmark.connectors.sources.generated import GeneratedConnector, hash_of, number_below, unit
from floodmark.errors import UserError
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.types import Field
from floodmark.spark.types import ident, spark_type

FIRST_ID = 1000
GROUP = 50
"""Events in which the kinds of event repeat."""
_SHARES = {"person": (0, 1), "auction": (1, 3), "bid": (4, 46)}
"""Per table the place of its first event in a group, and the number of its events there."""
_ACTIVE_PEOPLE, _IN_FLIGHT, _LEAD = 1000, 100, 10
_FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jon", "Kira")
_LAST_NAMES = ("Adams", "Baker", "Clark", "Doyle", "Evans", "Frost", "Grant", "Hayes", "Irving")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond")
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_CHANNELS = 10_000


@dataclass(frozen=True, slots=True)
class Nexmark:
    """What the generator is set to: `rate` in events per second of event time."""

    seed: int
    rate: int
    base: datetime
    group_size: int

    def bits(self, tag: int) -> str:
        """Return Spark text for the random bits `tag` of the event `n`."""
        return hash_of(self.seed, tag, "n")

    def pick(self, tag: int, words: tuple[str, ...]) -> str:
        """Return Spark text that picks a word."""
        texts = ", ".join(quote(word) for word in words)
        place = number_below(self.bits(tag), len(words))
        return f"element_at(array({texts}), CAST({place} AS INT) + 1)"

    def price(self, tag: int) -> str:
        """Return Spark text for a price in cents: 10 to a power uniform in [0, 6), times 100."""
        return f"CAST(round(power(10.0D, 6 * {unit(self.bits(tag))}) * 100) AS BIGINT)"

    def micros(self, number: str = "n") -> str:
        """Return Spark text for the event time of an event, in microseconds."""
        start = int(self.base.timestamp() * 1_000_000)
        return f"({start}L + ({number}) * 1000000L DIV {self.rate}L)"

    def time(self) -> str:
        """Return Spark text for the event time; a shuffle permutes it within groups of events."""
        number, size = "n", self.group_size
        if size > 1:
            # 953 is prime to every usual size, so that this is a permutation.
            number = f"n DIV {size} * {size} + (n % {size}) * 953 % {size}"
        return f"timestamp_micros({self.micros(number)})"

    def moment(self, number: int) -> datetime:
        """Return the event time, without time zone, of event `number`."""
        passed = timedelta(microseconds=number * 1_000_000 // self.rate)
        return (self.base + passed).replace(tzinfo=None)

    def padding(self, tag: int, length: int) -> str:
        """Return Spark text for filling of about `length` bytes."""
        return f"repeat(hex({self.bits(tag)}), {max(1, length // 16)})"


_LAST_PERSON = f"(n DIV {GROUP})"
_PLACE = f"(n % {GROUP})"
_LAST_AUCTION = (
    f"(CASE WHEN {_PLACE} < 1 THEN {_LAST_PERSON} * 3 - 1 "
    f"WHEN {_PLACE} >= 4 THEN {_LAST_PERSON} * 3 + 2 "
    f"ELSE {_LAST_PERSON} * 3 + {_PLACE} - 1 END)"
)


def _some_person(g: Nexmark, tag: int) -> str:
    active = f"least({_LAST_PERSON} + 1, {_ACTIVE_PEOPLE})"
    chosen = number_below(g.bits(tag), f"({active} + {_LEAD})")
    return f"({_LAST_PERSON} + 1 - {active} + {chosen})"


def _some_auction(g: Nexmark, tag: int) -> str:
    first = f"greatest({_LAST_AUCTION} - {_IN_FLIGHT}, 0)"
    return f"({first} + {number_below(g.bits(tag), f'({_LAST_AUCTION} - {first} + 1 + {_LEAD})')})"


def _either(g: Nexmark, tag: int, ratio: int, hot: str, other: str) -> str:
    """Return Spark text that is `hot` but for one time in `ratio`."""
    return f"CASE WHEN {number_below(g.bits(tag), ratio)} > 0 THEN {hot} ELSE {other} END"


def _person(g: Nexmark) -> dict[str, str]:
    card = " || ' ' || ".join(
        f"lpad(CAST({number_below(g.bits(tag), 10_000)} AS STRING), 4, '0')"
        for tag in range(14, 18)
    )
    mail = f"hex({g.bits(12)}) || '@' || hex({g.bits(13)}) || '.com'"
    return {
        "id": f"{_LAST_PERSON} + {FIRST_ID}",
        "name": f"{g.pick(10, _FIRST_NAMES)} || ' ' || {g.pick(11, _LAST_NAMES)}",
        "email_address": f"lower({mail})",
        "credit_card": card,
        "city": g.pick(18, _CITIES),
        "state": g.pick(19, _STATES),
        "date_time": g.time(),
        "extra": g.padding(20, 100),
    }


def _auction(g: Nexmark) -> dict[str, str]:
    hot_seller = f"({_LAST_PERSON} DIV 100) * 100"
    seller = _either(g, 34, 4, hot_seller, _some_person(g, 35))
    # The mean length is the time to _IN_FLIGHT more auctions.
    horizon = 2 * _IN_FLIGHT * GROUP // 3 * 1000 // g.rate
    length = f"(1 + {number_below(g.bits(33), max(horizon, 1))}) * 1000L"
    return {
        "id": f"{_LAST_AUCTION} + {FIRST_ID}",
        "item_name": g.padding(30, 16),
        "description": g.padding(36, 96),
        "initial_bid": g.price(31),
        "reserve": f"{g.price(31)} + {g.price(32)}",
        "date_time": g.time(),
        "expires": f"timestamp_micros({g.micros()} + {length})",
        "seller": f"{seller} + {FIRST_ID}",
        "category": f"10 + {number_below(g.bits(37), 5)}",
        "extra": g.padding(38, 336),
    }


def _bid(g: Nexmark) -> dict[str, str]:
    hot_auction = f"({_LAST_AUCTION} DIV 100) * 100"
    hot_bidder = f"({_LAST_PERSON} DIV 100) * 100 + 1"
    is_hot, number = f"{number_below(g.bits(55), 2)} > 0", number_below(g.bits(56), _CHANNELS)
    path = f"lower(hex(xxhash64({g.seed}L, 57, {number})))"
    hot_page = f"lower(hex(xxhash64({g.seed}L, 58, {g.pick(56, _HOT_CHANNELS)})))"
    base_url = "'https://www.nexmark.com/' || {} || '/item.htm?query=1'"
    cold_url = (
        f"{base_url.format(path)} || "
        f"CASE WHEN {number_below(f'xxhash64({g.seed}L, 59, {number})', 10)} > 0 "
        f"THEN '&channel_id=' || CAST({number} AS STRING) ELSE '' END"
    )
    auction = _either(g, 50, 2, hot_auction, _some_auction(g, 51))
    bidder = _either(g, 52, 4, hot_bidder, _some_person(g, 53))
    return {
        "auction": f"{auction} + {FIRST_ID}",
        "bidder": f"{bidder} + {FIRST_ID}",
        "price": g.price(54),
        "channel": f"CASE WHEN {is_hot} THEN {g.pick(56, _HOT_CHANNELS)} "
        f"ELSE 'channel-' || CAST({number} AS STRING) END",
        "url": f"CASE WHEN {is_hot} THEN {base_url.format(hot_page)} ELSE {cold_url} END",
        "date_time": g.time(),
        "extra": g.padding(60, 32),
    }


_TABLES: Mapping[str, Callable[[Nexmark], dict[str, str]]] = {
    "person": _person,
    "auction": _auction,
    "bid": _bid,
}


def rows_of(table: str, events: int) -> int:
    """Return how many of the first `events` events belong to a table.

    >>> [rows_of(t, 1000) for t in ("person", "auction", "bid")]
    [20, 60, 920]
    """
    first, share = _SHARES[table]
    return events // GROUP * share + min(max(events % GROUP - first, 0), share)


def make_nexmark(spec: SourceSpec, options: Options) -> GeneratedConnector:
    """Make the connector for one table: `nexmark.table.type` = person | auction | bid."""
    options.check_names()
    table = options.read_option("nexmark.table.type")
    total = rows_of(table, options.read_option("nexmark.event.num"))
    generator = _generator(options)
    texts = _TABLES[table](generator)
    first, share = _SHARES[table]

    def event_times(low: int, high: int) -> tuple[Any, Any]:
        numbers = [row // share * GROUP + first + row % share for row in (low, high)]
        # A shuffle stays within its group.
        slack = generator.group_size if generator.group_size > 1 else 0
        return generator.moment(max(0, numbers[0] - slack)), generator.moment(numbers[1] + slack)

    return GeneratedConnector(
        spec=spec,
        available=lambda: total,
        columns=tuple(_column(spec, table, c, texts) for c in spec.schema),
        ranges={"date_time": event_times},
        task_rows=options.limits.generated_task_rows,
        number=f"id DIV {share} * {GROUP} + {first} + id % {share}",
    )


def _column(spec: SourceSpec, table: str, column: Field, texts: Mapping[str, str]) -> str:
    if column.name not in texts:
        raise UserError(
            "E0483",
            f"source {spec.name}: {table} of Nexmark has no column {column.name!r}",
            hint=nearest(column.name, texts),
        )
    return f"CAST({texts[column.name]} AS {spark_type(column.type)}) AS {ident(column.name)}"


def _generator(options: Options) -> Nexmark:
    return Nexmark(
        seed=options.read_option("nexmark.seed"),
        rate=options.read_option("nexmark.event.rate"),
        base=options.read_option("nexmark.base.time"),
        group_size=options.read_option("nexmark.out.of.order.group.size"),
    )
