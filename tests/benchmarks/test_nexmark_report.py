"""What the Nexmark benchmark prints and keeps, from made-up times."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console

from benchmarks.chart import dots
from benchmarks.measuring import Timing
from benchmarks.nexmark import report
from benchmarks.nexmark.__main__ import main
from benchmarks.nexmark.queries import NAMES, query

SYSTEMS = ("floodmark", "flink", "batch")
MEASURED = {
    "q0": {"floodmark": Timing((2.0, 4.0, 3.0)), "flink": Timing((6.0,)), "batch": Timing((1.5,))},
    "q1": {"floodmark": Timing((1.0,)), "flink": Timing((8.0,)), "batch": Timing((0.5,))},
    "q6": {"floodmark": "E0350: refused", "flink": Timing((9.0,)), "batch": Timing((1.0,))},
}


def test_the_table_has_rates_ratios_and_their_geometric_means() -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(report.table(MEASURED, SYSTEMS, 12_000))
    text = out.getvalue()
    for part in ("4 (3 to 6)", "2.00", "8.00", "4.00 of 2", "0.50 of 2"):
        assert part in text, text


def test_the_table_has_the_bytes_of_views_and_of_their_state() -> None:
    out = io.StringIO()
    stored, memory = {"q1": (2_000_000, 34_500_000)}, {"engine": 300_000_000}
    found = report.Found(SYSTEMS, 12_000, dict(MEASURED), stored=stored, memory=memory)
    found.print(Console(file=out, width=200))
    for part in ("state, MB", "2.0", "34.5", "memory at most: engine 300 MB"):
        assert part in out.getvalue(), out.getvalue()
    assert found.as_json()["stored_bytes"] == {"q1": {"view": 2_000_000, "state": 34_500_000}}


def test_what_is_kept_has_reasons_where_there_is_no_time() -> None:
    found = report.as_json(MEASURED)
    assert found["queries"]["q6"]["floodmark"] == {"not": "E0350: refused"}
    assert found["geometric_means"]["floodmark / flink"] == {"mean": 4.0, "of": 2}


def test_the_plot_has_a_dot_per_time() -> None:
    rates = {name: dict.fromkeys(row, 5.0) for name, row in MEASURED.items()}
    plot = ET.fromstring(dots("a & b", "events per second", SYSTEMS, rates))
    found = plot.findall("{http://www.w3.org/2000/svg}circle")
    assert len(found) == len(SYSTEMS) + sum(map(len, rates.values()))


def test_other_systems_get_their_own_words() -> None:
    for name in NAMES:
        for system in ("spark", "streaming"):
            assert not any(
                w in query(name, system) for w in ("TUMBLE", "HOP(", "to_char", "PROCTIME")
            )
        assert "to_char" not in query(name, "flink")
    assert "GROUP BY window_start, window_end" in query("q7", "flink")


def test_the_slope_is_that_of_the_events_between_two_counts() -> None:
    more = {
        "q0": {"floodmark": Timing((5.0,)), "flink": Timing((8.0,)), "batch": Timing((1.0,))},
        "q6": {"floodmark": "E0350: refused", "flink": "lost", "batch": Timing((3.0,))},
    }
    found = report.Found(SYSTEMS, 12_000, dict(MEASURED), 20_000, more)
    slope = found.as_json()["slope"]
    assert slope["events"] == [12_000, 20_000]
    assert slope["queries"]["q0"]["floodmark"]["median_s"] == 2.0
    assert slope["queries"]["q0"]["flink"]["median_s"] == 2.0
    assert slope["queries"]["q0"]["batch"] == {"not": "more events took no longer"}
    assert slope["queries"]["q6"]["flink"] == {"not": "lost"}
    assert slope["geometric_means"] == {"floodmark / flink": {"mean": 1.0, "of": 1}}
    out = io.StringIO()
    found.print(Console(file=out, width=200))
    for told in ("8,000 events more", "q6 flink: lost", "q0 batch: more events took no longer"):
        assert told in out.getvalue()


def test_the_aims_are_beside_what_was_reached() -> None:
    rows = {
        "q0": {"floodmark": Timing((2.0,)), "batch-parquet": Timing((1.0,))},
        "q4": {
            "floodmark": Timing((4.0,)),
            "flink-keys": Timing((2.0,)),
            "batch-parquet": Timing((1.0,)),
        },
        "q5": {"floodmark": Timing((1.0,)), "flink-keys": Timing((8.0,))},
        "q5_close": {"floodmark": Timing((1.0,)), "flink-keys": Timing((0.1,))},
    }
    found = report.Found(("floodmark", "flink-keys", "batch-parquet"), 1_000, rows)
    kept = found.as_json()["aims"]
    assert kept == {
        "at once, Flink with keys": {
            "aim": {"mean": 2.0, "worst": 0.7}, "mean": 2.0, "of": 2, "worst": {"q4": 0.5},
        },
        "at once, stateless, batch that writes": {
            "aim": {"mean": 0.7, "worst": None}, "mean": 0.5, "of": 1, "worst": {"q0": 0.5},
        },
        "at once, stateful, batch that writes": {
            "aim": {"mean": 0.6, "worst": None}, "mean": 0.25, "of": 1, "worst": {"q4": 0.25},
        },
    }  # fmt: skip
    out = io.StringIO()
    found.print(Console(file=out, width=200))
    (line,) = [line for line in out.getvalue().splitlines() if "at once, Flink with keys" in line]
    assert "│ 2 │ 2.00 │ ≥ 2.0 │ q4 0.50 │ ≥ 0.7 │" in " ".join(line.split())


@pytest.mark.parametrize(
    ("option", "value"),
    [("--systems", "flink,flunk"), ("--queries", "q0,q99"), ("--slope", "2000000")],
)
def test_what_is_asked_for_wrongly_is_told(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([option, value])
    told = capsys.readouterr().err
    assert f"argument {option}: not known: " in told or "--slope: more than 2000000" in told
