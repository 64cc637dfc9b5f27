"""`determinism = 'flink'` gives the verdicts that a real Flink gave."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.flink.ours import DIFFERENT, PAGE, flink_verdicts, page, setup, verdict
from tests.flink.shapes import SHAPES


def test_the_verdicts_agree() -> None:
    catalog, known = setup()
    ours = {shape.name: verdict(shape, catalog, known) for shape in SHAPES}
    theirs = flink_verdicts()
    differing = {name for name in ours if ours[name] != theirs[name]}
    assert differing == set(DIFFERENT), {d: (theirs[d], ours[d]) for d in differing}
    assert PAGE.read_text() == page(ours), "python -m tests.flink.ours writes it"


@pytest.mark.long
@pytest.mark.skipif("FLINK_PYTHON" not in os.environ, reason="FLINK_PYTHON names no Flink")
def test_flink_still_says_so() -> None:
    jars = sorted(Path(os.environ["FLINK_JARS"]).glob("*.jar"))
    command = [os.environ["FLINK_PYTHON"], "-m", "tests.flink.verdicts", *map(str, jars)]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    assert json.loads(ran.stdout) == flink_verdicts()
