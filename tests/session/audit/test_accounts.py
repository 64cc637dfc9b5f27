"""P5 over the log: counts are of their epoch, and add up, whatever is suspended and comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from floodmark.api import Floodmark
from floodmark.changelog import WEIGHT
from floodmark.epochs.backfill.choice import VARIABLE
from floodmark.epochs.opening import open_epoch
from floodmark.session.audit.accounts import Account, accounts
from floodmark.storage.logs.object_record import ObjectRecord
from tests.warehouses import NOW, Site, contents

DEFINED = """
CREATE SOURCE s (id BIGINT NOT NULL, k VARCHAR, ts TIMESTAMP, v INT,
    WATERMARK FOR ts AS ts - INTERVAL '1 hour')
  WITH (connector = 'files', path = '{landing}/s') FORMAT PLAIN ENCODE JSON;
CREATE SOURCE u (id BIGINT PRIMARY KEY, v INT NOT NULL)
  WITH (connector = 'files', path = '{landing}/u') FORMAT UPSERT ENCODE JSON;
CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT);
CREATE SINK fed INTO t AS SELECT k, 100 / (count(*) - 3) FROM s GROUP BY k;
CREATE MATERIALIZED VIEW q AS SELECT id, 100 / (v - 7) AS q FROM s;
CREATE MATERIALIZED VIEW pairs AS SELECT u.id, s.k FROM u JOIN s ON u.id = s.id;
"""
LATER = "CREATE MATERIALIZED VIEW later AS SELECT id, 10 / (v - 5) AS w FROM s;"


def _line(random: Random, name: str) -> str:
    if random.random() < 0.1:
        return '{"id": 1, "broken'
    row = {"id": random.randrange(20), "v": random.choice([None, *range(10)])}
    if name == "s":
        moment = f"2013-01-01 {random.randrange(10):02}:00:00"
        row |= {"id": random.choice([None, *range(20)]), "k": random.choice("abc"), "ts": moment}
    return json.dumps(row)


class _Story:
    """A warehouse to which something else happens in each epoch."""

    def __init__(self, site: Site, fm: Floodmark, random: Random) -> None:
        self.site, self.fm, self.random = site, fm, random
        self.files = 0

    def land(self, name: str) -> Path:
        self.files += 1
        lines = [_line(self.random, name) for _ in range(self.random.randrange(1, 12))]
        path = self.site.landing / name / f"{self.files:04}.json"
        path.write_text("\n".join(lines) + "\n")
        return path

    def step(self) -> None:
        names = ("s", "u")
        for name in self.random.sample(names, self.random.randrange(1, 3)):
            self.land(name)
        match self.random.randrange(4):
            case 0:
                self.fm.execute(f"INSERT INTO t VALUES ('{self.random.choice('abcd')}', 1)")
            case 1:
                key = self.random.choice(["s", "u", "t", "q", "pairs"])
                log = self.fm.warehouse.log
                log.record("suspend", NOW, "as if", object=key, code="E0420")
            case _:
                pass
        self.fm.advance(now=NOW)
        self.check()

    def lose(self, name: str) -> None:
        """Let a source be suspended because a file of an epoch is gone; what of it is resumed."""
        taken = self.land(name)
        kept = taken.read_text()
        loop, warehouse = self.fm.loop, self.fm.warehouse
        with loop.hold("a test"):
            offers = loop._new_splits(None)
            taken.write_text(kept + "{}\n")
            head, deployed = warehouse.log.head(), warehouse.deployed()
            loop._run(open_epoch(warehouse, head.sealed + 1, deployed.version, NOW, offers))
        assert warehouse.log.suspensions()[name].code
        self.check()

    def resume(self) -> None:
        kinds = {"s": "SOURCE", "u": "SOURCE", "t": "TABLE"}
        # What others read comes back before them.
        for key in sorted(
            self.fm.warehouse.log.suspensions(), key=lambda k: (kinds.get(k, "V"), k)
        ):
            self.fm.execute(f"ALTER {kinds.get(key, 'MATERIALIZED VIEW')} {key} RESUME")
        self.check()

    def check(self) -> None:
        assert not {a.object: a.faults for a in accounts(self.fm.warehouse) if a.faults}
        log = self.fm.warehouse.log
        cut = self.fm.warehouse.cut()
        for key in log.suspensions():
            assert cut.records[key] == cut.records[key].at_rest()

    def added_up(self) -> dict[str, tuple[int, int]]:
        """Return the late rows and dead letters of each object, as the epochs count them."""
        rows = self.fm.execute(
            "SELECT object, sum(late_rows), sum(dead_rows) FROM floodmark.epochs GROUP BY object"
        ).rows
        return {name: (int(late), int(dead)) for name, late, dead in rows}


def _stored(site: Site, key: str) -> tuple[int, int]:
    """Return the late rows and the dead letters of an object; one taken back has been there."""
    root = site.root / "warehouse"

    def weights(table: str) -> list[int]:
        if not (root / table / "public" / key).exists():
            return []
        found = contents(root, f"{table}/public/{key}")
        return (
            found.column(WEIGHT).to_pylist() if WEIGHT in found.column_names else [1] * len(found)
        )

    late, dead = (sum(w > 0 for w in weights(table)) for table in ("_late", "_dead_letter"))
    return late, dead


@pytest.mark.spark
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 10))]
)
def test_counts_add_up_over_suspensions_resumes_and_backfills(
    site: Site, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    for name in ("s", "u"):
        (site.landing / name).mkdir(parents=True)
        (site.landing / name / "0000.json").write_text('{"id": 1, "broken\n')
    site.define(DEFINED)
    with site.connect() as fm:
        story = _Story(site, fm, random)
        story.step()
        story.lose("s")
        story.step()
        story.resume()
        monkeypatch.setenv(VARIABLE, "0")
        fm.execute(LATER)
        fm.advance(now=NOW)
        story.check()
        for _ in range(2 if seed == 1 else 6):
            story.step()
        story.lose("u")
        story.resume()
        told = story.added_up()
        for key in ("s", "u", "t"):
            assert told[key] == _stored(site, key), key
        assert sum(late for late, _ in told.values()) and told["s"][1] and told["u"][1]


def test_an_account_says_what_does_not_add_up() -> None:
    whole = Account("s", 0, rows_in=9, applied=5, late=1, dead=3, changed=5,
                    stored_late=1, stored_dead=3)  # fmt: skip
    assert whole.faults == ()
    (less,) = replace(whole, ignored=-1).faults
    assert "ignored" in less
    (lost,) = replace(whole, changed=4).faults
    assert "5 of them" in lost and "4 are stored" in lost
    late, dead = replace(whole, late=2, dead=4).faults
    assert late.startswith("2 late rows") and dead.startswith("4 dead letters")


def test_counts_on_the_way_to_a_record_are_added() -> None:
    first = ObjectRecord("s", {"a": 1}, rows_in=3, dead_rows=1, duration_s=0.2)
    last = ObjectRecord("s", {"a": 2}, rows_in=2, touched=False)
    both = last.add_earlier(first)
    assert (both.rows_in, both.dead_rows, both.versions, both.touched) == (5, 1, {"a": 2}, True)
    assert both.at_rest().rows_in == 0 and both.at_rest().versions == {"a": 2}
