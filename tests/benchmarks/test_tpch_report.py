"""What the TPC-H benchmark prints and keeps, from made-up times."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchmarks.tpch.__main__ import main
from benchmarks.tpch.engine import Took
from benchmarks.tpch.report import Result


def made_up() -> Result:
    """Return two refreshes of three views; an epoch does not reach `q6`, `q2` has failed."""
    result = Result(0.01, ("q1", "q2", "q6"))
    for kind, epoch in (("insert", 2.0), ("update", 4.0)):
        measure = result.measure(kind, 0.01)
        measure.rows = {"orders": 150}
        measure.epochs += [Took(epoch, {"orders": 0.25, "q1": 0.5}), Took(9.0, {"q1": 1.5})]
        measure.recomputed += [Took(11.0, {"q1": 6.0, "q6": 1.0})]
    result.leave({"q2": "E0350: refused"})
    return result


def test_the_table_has_times_ratios_and_those_of_whole_epochs() -> None:
    result, out = made_up(), io.StringIO()
    Console(file=out, width=200).print(result.table())
    for part in ("insert 1 %", "1.00 / 6.00: 6.0", "0.00 / 1.00: -", "5.50 / 11.00: 2.0"):
        assert part in out.getvalue(), out.getvalue()
    assert (
        "| median | 6.0 (≥ 5) | 6.0 (≥ 5) |  |  |\n| slowest table | 0.12 | 0.12 |"
        in result.markdown()
    )


def test_the_table_has_the_bytes_of_views_and_of_their_state() -> None:
    result = made_up()
    result.stored = {"q1": (1_500_000, 20_000_000), "q6": (0, 400_000)}
    assert "| q1 | 1.00 / 6.00: 6.0 | 1.00 / 6.00: 6.0 | 1.5 | 20.0 |" in result.markdown()
    assert result.markdown().endswith("| 1.5 | 20.4 |")


def test_what_is_kept_has_reasons_where_there_are_no_times() -> None:
    found = made_up().as_json()
    assert found["not"] == {"q2": "E0350: refused"}
    first = found["measures"][0]
    assert first["whole"]["ratio"] == 2.0 and first["rows"] == {"orders": 150}
    assert set(first["views"]) == {"q1", "q6"} and set(first["intake"]) == {"orders"}
    assert first["views"]["q1"]["incremental"]["repetitions"] == 2


def test_a_repetition_is_of_the_same_measure() -> None:
    result = made_up()
    assert result.measure("update", 0.01) is result.measures[1]


def test_views_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--views", "q1,q23"])
    assert "not known: q23" in capsys.readouterr().err
