"""Who adds a connector is told which pieces it lacks: its maker, its place and its options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodmark.catalog import option_table
from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.connectors import registry

REGISTRY, TABLE = "floodmark/connectors/registry.py", "floodmark/catalog/option_table.py"
NAMES = sorted({*registry.CONNECTORS, *option_table.CONNECTORS})


def missing(name: str) -> Iterator[str]:
    """Yield what a connector lacks; mypy names the methods that its class lacks."""
    if name not in registry.CONNECTORS:
        yield f"{REGISTRY}: a line of CONNECTORS"
    place = OptionPlace.__members__.get(name.upper())
    if place is None:
        yield f"{TABLE}: a line of OptionPlace"
    if option_table.CONNECTORS.get(name) is not place or place is None:
        yield f"{TABLE}: its place in CONNECTORS"
    if place is None or not specs_of(place):
        yield f"{TABLE}: its options in OPTIONS"


@pytest.mark.parametrize("name", NAMES)
def test_no_connector_lacks_a_piece(name: str) -> None:
    assert list(missing(name)) == []


def test_a_pipe_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    place = [f"{TABLE}: a line of OptionPlace", f"{TABLE}: its place in CONNECTORS",
             f"{TABLE}: its options in OPTIONS"]  # fmt: skip
    assert list(missing("pipe")) == [f"{REGISTRY}: a line of CONNECTORS", *place]
    makers = {**registry.CONNECTORS, "pipe": registry.CONNECTORS["datagen"]}
    monkeypatch.setattr(registry, "CONNECTORS", makers)
    assert list(missing("pipe")) == place
