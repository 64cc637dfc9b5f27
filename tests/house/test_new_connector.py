"""Who adds a connector is told which pieces it lacks: its maker, its place and its options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodmark.catalog import option_table
from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.connectors import registry
from floodmark.stream.objects.external_sink import DELTA, FILES

REGISTRY, TABLE = "floodmark/connectors/registry.py", "floodmark/catalog/option_table.py"
KINDS = [("CONNECTORS", "CONNECTORS", ""), ("SENDERS", "SINK_CONNECTORS", "SINK_")]
"""What has the makers and the places of sources, and of sinks; and how the places begin."""


def missing(name: str, makers: str, places: str, prefix: str) -> Iterator[str]:
    """Yield what a connector lacks; mypy names the methods that its class lacks."""
    if name not in getattr(registry, makers):
        yield f"{REGISTRY}: a line of {makers}"
    place = OptionPlace.__members__.get(prefix + name.upper())
    if place is None:
        yield f"{TABLE}: a line of OptionPlace"
    if getattr(option_table, places).get(name) is not place or place is None:
        yield f"{TABLE}: its place in {places}"
    if place is None or not specs_of(place):
        yield f"{TABLE}: its options in OPTIONS"


@pytest.mark.parametrize(
    ("name", "makers", "places", "prefix"),
    [
        (name, *kind)
        for kind in KINDS
        for name in sorted({*getattr(registry, kind[0]), *getattr(option_table, kind[1])})
    ],
)
def test_no_connector_lacks_a_piece(name: str, makers: str, places: str, prefix: str) -> None:
    assert list(missing(name, makers, places, prefix)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_pipe_is_told_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, kind: tuple[str, str, str]
) -> None:
    place = [f"{TABLE}: a line of OptionPlace", f"{TABLE}: its place in {kind[1]}",
             f"{TABLE}: its options in OPTIONS"]  # fmt: skip
    assert list(missing("pipe", *kind)) == [f"{REGISTRY}: a line of {kind[0]}", *place]
    makers = getattr(registry, kind[0])
    monkeypatch.setitem(makers, "pipe", makers["delta"])
    assert list(missing("pipe", *kind)) == place


def test_a_sink_takes_the_words_that_have_a_sender() -> None:
    for place in option_table.SINK_CONNECTORS.values():
        assert specs_of(place)["connector"].usage == (
            "connector = '" + "' | '".join(registry.SENDERS) + "'"
        )
    assert {FILES, DELTA} == {*registry.SENDERS}
