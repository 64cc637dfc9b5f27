"""One week of the demo: its pipeline files over the first seven days of real flights."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from demo.flights import write_landing
from floodmark.api import Floodmark
from floodmark.sql.parse import parse_script
from tests.warehouses import NOW, Site

ROOT = Path(__file__).parents[1]
STREAMS = ("departures", "arrivals", "weather")
TABLES = ("planes", "airlines", "airports")
EPOCHS = (range(1, 4), range(4, 6))
"""The days that the epochs before the last one take in."""
LAST = range(6, 8)
CUT_OFF = '{"origin": "JFK", "observed_at": "2013-01-07T'


def start_week(site: Site) -> None:
    """Take in five days, and change a table by hand as the demo does; two more days wait."""
    month = site.root / "month"
    write_landing(month, 1)
    for name in TABLES:
        shutil.copytree(month / name, site.landing / name)
    site.pipelines.mkdir()
    for path in (ROOT / "pipelines").glob("*.sql"):
        text = path.read_text().replace("'landing/", f"'{site.landing}/")
        (site.pipelines / path.name).write_text(text)
    with site.connect() as fm:
        for days in EPOCHS:
            deliver(month, site.landing, days)
            fm.advance(now=NOW)
        change_by_hand(fm)
    deliver(month, site.landing, LAST)
    with (site.landing / "weather" / "weather-2013-01-07.json").open("a") as weather:
        weather.write(CUT_OFF + "\n")


def deliver(month: Path, landing: Path, days: range) -> None:
    """Put the files of some days into the landing folder."""
    for stream in STREAMS:
        (landing / stream).mkdir(exist_ok=True)
        for day in days:
            for path in (month / stream).glob(f"*-2013-01-{day:02d}.*"):
                shutil.copy2(path, landing / stream)


def change_by_hand(fm: Floodmark) -> None:
    """Run the demo's statements; a week has fewer late departures than two months."""
    text = (ROOT / "demo" / "dml.sql").read_text().replace(">= 40", ">= 4")
    for statement in parse_script(text):
        assert fm.run_statement(statement).rowcount > 0, statement.sql


def queries() -> dict[str, str]:
    """Return the text of the query of each materialized view, as the pipeline files have it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "pipelines").glob("*.sql")):
        text = re.sub(r"--.*", "", path.read_text())
        for match in re.finditer(r"CREATE MATERIALIZED VIEW (\w+) AS\s+([^;]+);", text):
            found[match[1]] = match[2]
    return found
