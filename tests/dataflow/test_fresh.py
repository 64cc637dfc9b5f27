"""What is computed anew keeps no state: nothing is committed besides the object itself."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from floodmark.dataflow.fresh import FreshStages
from floodmark.dataflow.state.arrangement import Arrangement
from floodmark.scalar.types import INT, Field


def test_input_rows_that_are_computed_anew_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    writer, changes = Mock(), Mock()
    stages = FreshStages(Mock(), writer, Mock(), Mock(), Mock(), Mock(), plan_nodes=1)
    held = stages.arrangement("join_1_left", (Field("k", INT),), None)
    monkeypatch.setattr(Arrangement, "_consolidate", lambda held, parts, keys: parts[0])
    assert held.rows_after(changes) is changes.selectExpr.return_value
    assert writer.mock_calls == []
