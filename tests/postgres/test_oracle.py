"""Random expressions over all functions mean on PostgreSQL what they mean here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random

import pytest

from tests.postgres import relations
from tests.postgres.cluster import Postgres, missing, running
from tests.postgres.comparison import Difference, agree, differences, meaning, texts
from tests.postgres.generation import Tree, drawn, expression, random_cast
from tests.postgres.known_differences import KNOWN, Known, unknown

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


@pytest.mark.parametrize(
    "family",
    [
        relations.casts,
        relations.comparisons,
        relations.arithmetic,
        relations.aggregates,
        relations.orders,
    ],
    ids=lambda family: family.__name__,
)
def test_all_pairs_of_edge_values_mean_what_they_mean_in_postgresql(
    postgres: Postgres, family: Callable[[], Iterator[str]]
) -> None:
    written, new, understood = list(dict.fromkeys(family())), list[str](), 0
    for start in range(0, len(written), 2000):
        part = written[start : start + 2000]
        for text, answer in zip(part, postgres.ask(part), strict=True):
            found = Difference(text, meaning(text), answer)
            understood += found.mine.refused is None
            if not agree(found.mine, answer) and unknown(found):
                new.append(str(found))
    assert not new, "\n".join(new)
    assert understood > 0.7 * len(written)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.told)
def test_a_known_difference_is_still_one(postgres: Postgres, known: Known) -> None:
    (answer,) = postgres.ask([known.example])
    found = Difference(known.example, meaning(known.example), answer)
    assert not agree(found.mine, answer), f"it is none any more: {found}"
    assert known.holds(found), str(found)
