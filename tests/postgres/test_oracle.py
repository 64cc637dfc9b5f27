"""Random expressions over all functions mean on PostgreSQL what they mean here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

import pytest

from tests.postgres.cluster import Postgres, missing, running
from tests.postgres.comparison import differences, meaning, texts
from tests.postgres.generation import Tree, drawn, expression, random_cast
from tests.postgres.known_differences import unknown

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
CASTS = 0.15
A_SECOND = 25


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running() as server:
        yield server


def trees(seed: int, count: int, depth: int) -> list[Tree]:
    random, functions = Random(seed), drawn()
    return [
        random_cast(random)
        if random.random() < CASTS
        else expression(random, functions[i % len(functions)], depth)
        for i in range(count)
    ]


@pytest.mark.parametrize(("seed", "count", "depth"), [(1, 6000, 1), (2, 3000, 2), (3, 3000, 3)])
def test_expressions_mean_what_they_mean_in_postgresql(
    postgres: Postgres, seed: int, count: int, depth: int
) -> None:
    begun, found = time.monotonic(), trees(seed, count, depth)
    asked = {}
    written = texts(found)
    for start in range(0, len(written), 2000):
        part = written[start : start + 2000]
        for text, answer in zip(part, postgres.ask(part), strict=True):
            asked[text] = (meaning(text), answer)
    assert len(asked) > A_SECOND * (time.monotonic() - begun)
    refused = sum(asked[tree.text][0].refused is not None for tree in found)
    assert refused < 0.2 * len(found), "too few expressions are understood"
    new = [str(d) for d in differences(found, asked) if unknown(d)]
    assert not new, "\n".join(new)
