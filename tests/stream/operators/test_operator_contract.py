"""An operator that forgets to say something is refused when its module is imported."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from floodmark.plan import nodes as n
from floodmark.stream.operators.base import StreamOperator
from floodmark.stream.operators.top_n import StreamTopN


def test_one_that_says_nothing_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"StreamTee does not say: .*derive_watermarks.*NODE"):

        class StreamTee(StreamOperator[n.Filter]):
            pass


def test_each_saying_is_asked_for() -> None:
    asked = [
        a
        for a in dir(StreamOperator)
        if getattr(getattr(StreamOperator, a), "__isabstractmethod__", False)
    ]
    assert len(asked) > 15
    for name in [*asked, "NODE"]:
        own = {k: v for k, v in vars(StreamTopN).items() if k != name and not k.startswith("__")}
        own["__module__"] = "floodmark.stream.operators.less"
        said = rf"^StreamLess does not say: .*\b{name}\b.* \(floodmark/stream/operators/less\.py\)"
        with pytest.raises(TypeError, match=said):
            type("StreamLess", (StreamOperator,), own)


def test_so_it_is_when_its_module_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a whole operator one method is taken out: nothing of it can be used."""
    module = sys.modules[StreamTopN.__module__]
    text = Path(str(module.__file__)).read_text()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("derive_watermarks", "describe", "propagate"):
        (tmp_path / f"without_{name}.py").write_text(text.replace(f"def {name}(", "def other("))
        with pytest.raises(TypeError, match=rf"{name} \(without_{name}\.py\)"):
            import_module(f"without_{name}")


def test_values_are_checked() -> None:
    from tests.stream.every_node import every_node

    plan = every_node()["TopN/retract"]
    with pytest.raises(AssertionError):
        plan[plan.root].evolve(stream_key=("nowhere",))
