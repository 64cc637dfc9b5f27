"""Mutated data files end in rows, dead letters or coded errors, soon, and stop no other object."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from floodmark.api import Floodmark, connect
from floodmark.errors import FloodmarkError
from floodmark.spark.session import Sessions
from tests.faults.mutated_files import COLUMNS, ENCODES, mutated
from tests.warehouses import NOW, Site, visible

LOOKED_AT, TAKEN_IN = 120, 20
"""Files of each encoding that are looked at, and that Spark reads, each day."""
SECONDS = 10.0
DEFECT = "E0609"
SOURCE = """
CREATE SOURCE of_{e} ({columns}) WITH (connector = 'files', path = '{{landing}}/{e}')
FORMAT PLAIN ENCODE {E};
CREATE MATERIALIZED VIEW v_{e} AS SELECT id, name, price, at FROM of_{e};
"""
GOOD = """
CREATE SOURCE good (a INT) WITH (connector = 'files', path = '{landing}/good')
FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW v AS SELECT a FROM good;
"""


def defined(site: Site) -> None:
    """Define a source for each encoding, and one that nothing is wrong with."""
    site.define(GOOD, *(SOURCE.format(e=e, E=e.upper(), columns=COLUMNS) for e in ENCODES))
    for folder in (*ENCODES, "good"):
        (site.landing / folder).mkdir(parents=True)


def put(site: Site, encode: str, seed: int) -> Path:
    path = site.landing / encode / f"{seed:05}.{encode}"
    path.write_bytes(mutated(encode, seed))
    return path


@pytest.mark.parametrize("encode", ENCODES)
def test_mutated_files_are_looked_at(tmp_path: Path, encode: str) -> None:
    site = Site(tmp_path, None)  # type: ignore[arg-type]
    defined(site)
    with connect(site.root / "warehouse", site.pipelines) as fm:
        offers, pipeline = fm.warehouse.splits, fm.deployed.pipeline
        for seed in range(LOOKED_AT):
            path = put(site, encode, seed)
            started = time.perf_counter()
            failures = offers.failures(pipeline)
            assert time.perf_counter() - started < SECONDS, seed
            for error in failures.values():
                assert error.code != "E0494", (seed, str(error))
                str(error).encode()
            path.unlink()


def take_in(fm: Floodmark, site: Site) -> list[str]:
    """Take in what there is; a file that stops its source goes. Return the codes of what did."""
    codes = []
    while True:
        try:
            fm.advance(now=NOW)
        except FloodmarkError as error:
            codes.append(error.code)
            found = re.search(r"/\S+/(\d{5}\.\w+)", error.message)
            assert found is not None, str(error)
            (site.landing / found[1].rpartition(".")[2] / found[1]).unlink()
            continue
        suspended = fm.warehouse.log.suspensions()
        codes += [event.code or "" for event in suspended.values()]
        for key, event in suspended.items():
            assert event.code and event.code != DEFECT, (key, event)
        return codes


def check(site: Site, seeds: range) -> None:
    defined(site)
    for encode in ENCODES:
        for seed in seeds:
            put(site, encode, seed)
    (site.landing / "good" / "0.json").write_text('{"a": 1}\n{"a": 2}\n')
    with site.connect() as fm:
        started = time.perf_counter()
        codes = take_in(fm, site)
        taken = time.perf_counter() - started
        assert visible(site.root / "warehouse", "v") == [(1,), (2,)]
        assert taken < SECONDS * len(ENCODES) * len(seeds)
        assert not set(codes) - {"E0478", "E0477"}, codes
        # Nothing is left over, and what was taken in can be read.
        assert not fm.has_new()
        for encode in ENCODES:
            fm.execute(f"SELECT count(*) FROM v_{encode}")


@pytest.mark.spark
def test_mutated_files_are_taken_in(tmp_path: Path, sessions: Sessions) -> None:
    check(Site(tmp_path, sessions), range(TAKEN_IN))


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("batch", range(10))
def test_two_thousand_mutated_files(tmp_path: Path, sessions: Sessions, batch: int) -> None:
    check(Site(tmp_path, sessions), range(1000 + 67 * batch, 1000 + 67 * (batch + 1)))
