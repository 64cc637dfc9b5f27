"""`kill -9` at every step of `plan --apply` and of a RENAME: the old definitions, or the new ones.

What is logged is finished by the next run; what is not has changed nothing. Either way the rows are
those of the definitions in force, hidden columns too, and nothing of what was dropped is left.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from floodmark.failpoints import NAMES as OF_EPOCHS, OF_CHANGES
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.warehouse import ENGINE
from tests.children import floodmark
from tests.warehouses import (
    GROUPED,
    JOINED,
    NAMES,
    NOW,
    READINGS,
    SUNK,
    Site,
    digests,
    put,
    readings,
    tables,
)

pytestmark = pytest.mark.spark
AT_ONCE = 2
REKEYED = ("CREATE MATERIALIZED VIEW r AS SELECT k, max(v) AS m FROM s GROUP BY k;",
           "CREATE MATERIALIZED VIEW r AS SELECT v, count(*) AS m FROM s GROUP BY v;")  # fmt: skip
REGROUPED = GROUPED.replace("avg(v) AS mean", "sum(v) AS mean")
BELOW = "CREATE MATERIALIZED VIEW b AS SELECT max(n) AS n FROM st;"
GONE = "CREATE MATERIALIZED VIEW p AS SELECT n, count(*) AS c FROM st GROUP BY n;"
MERGED = SUNK.replace("'counted')", "'counted') ON CONFLICT DO UPDATE IF NOT NULL")
NEW_SINK = "CREATE SINK e INTO t (k, n) AS SELECT k || '2', max(v) FROM s WHERE k = 'e' GROUP BY k;"
OLD = (READINGS, NAMES, JOINED, GROUPED, BELOW, REKEYED[0], GONE, SUNK)
NEW = (READINGS, NAMES, JOINED, REGROUPED, BELOW, REKEYED[1], MERGED, NEW_SINK)
UNLOGGED = ("lease_taken", "change_planned")
NOT_PASSED = ("offsets_chosen", "dead_letter_committed")
SOME = (
    "change_planned", "change_logged", "table_emptied:3", "table_dropped", "before_seal",
    "view_committed:2",
)  # fmt: skip
"""Those of which a change of files is made; the others are for the long set."""
BY_APPLY = ("change_logged", "before_seal", "table_emptied:3", "offsets_logged")
"""After which another apply finishes what is open, although there is nothing left to change."""
OF_RENAMES = ("change_logged",)
OTHER_RENAMES = ("lease_taken", "change_planned", "offsets_logged", "before_seal", "after_seal")
OTHERS = (
    "lease_taken", "offsets_logged", "first_object_done", "files_written", "files_written:2",
    "first_table_committed", "first_table_committed:3", "state_committed", "view_committed",
    "sink_committed", "table_emptied", "table_emptied:2", "table_dropped:2", "published",
    "after_seal",
)  # fmt: skip


@dataclass(frozen=True)
class After:
    """What is at rest."""

    sealed: int
    digests: dict[str, str]


def after(root: Path, *, unlogged: bool = False) -> After:
    """Return what is at rest in a warehouse, in which nothing is under way.

    An `unlogged` change may have said which tables it was about to drop.
    """
    head = EpochLog(root).head()
    engine = root / ENGINE
    assert head.open is None
    assert unlogged or not (engine / "leaving.json").exists()
    assert not (engine / "gone").exists()
    folders = [p for part in ("public", "_*/public") for p in root.glob(f"{part}/*")]
    empty = [p for p in folders if not any(q.is_file() for q in p.rglob("*"))]
    assert empty == []
    return After(head.sealed, digests(root))


def ended(root: Path, *arguments: str, failpoint: str | None = None) -> int:
    """Run a command of `floodmark` on a warehouse in a process of its own; return how it ended."""
    done = floodmark(*arguments, "--warehouse", str(root), failpoint=failpoint)
    assert failpoint is not None or "Traceback" not in done.stderr, done.stderr
    return done.returncode


@dataclass(frozen=True)
class Case:
    """A warehouse before a change, and what an undisturbed one has after it."""

    site: Site
    before: After
    expected: After
    change: tuple[str, ...]
    runs: dict[str, Future[None]]

    def check(self, failpoint: str) -> None:
        self.runs[failpoint].result()

    def killed(self, failpoint: str) -> None:
        """Kill the change, run or repeat it, and make it again: then there is nothing to do."""
        site, pipelines = self.site, ("--pipelines", str(self.site.pipelines))
        root = site.copy("warehouse", failpoint.replace(":", "_"))
        ended(root, *self.change, *pipelines, failpoint=failpoint)
        repeats = self.change[0] == "plan" and failpoint in BY_APPLY
        again = self.change if repeats else ("run", "--now", NOW.isoformat())
        run = ended(root, *again, *pipelines)
        if failpoint in UNLOGGED:
            # The files say something else than is deployed (E0361), or nothing is new.
            assert run == (1 if self.change[0] == "plan" else 0)
            assert after(root, unlogged=True) == self.before
            assert ended(root, *self.change, *pipelines) == 0
        else:
            assert run == 0
        assert after(root) == self.expected
        if self.change[0] == "plan":
            assert ended(root, *self.change, *pipelines) == 0
            assert after(root) == self.expected
        assert ended(root, "plan", *pipelines) == 0
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        yield threads
        threads.shutdown(cancel_futures=True)


def _chosen(request: pytest.FixtureRequest, test: str) -> list[str]:
    return [
        item.callspec.params["failpoint"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == test
    ]


def _site(root: Path, sessions: Sessions) -> Site:
    site = Site(root, sessions)
    put(site.landing, "1", readings(0, 30))
    site.define(*OLD)
    with site.connect() as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
        fm.execute("INSERT INTO t (k, n) VALUES ('q', 1)")
        fm.advance(now=NOW)
    return site


def _case(
    site: Site, pool: ThreadPoolExecutor, change: tuple[str, ...], failpoints: list[str]
) -> Case:
    before = after(site.root / "warehouse")
    root = site.copy("warehouse", "undisturbed")
    pipelines = ("--pipelines", str(site.pipelines))
    assert ended(root, *change, *pipelines) == 0
    case = Case(site, before, after(root), change, {})
    for failpoint in failpoints:
        case.runs[failpoint] = pool.submit(case.killed, failpoint)
    return case


@pytest.fixture(scope="module")
def applied(
    tmp_path_factory: pytest.TempPathFactory,
    sessions: Sessions,
    pool: ThreadPoolExecutor,
    request: pytest.FixtureRequest,
) -> Case:
    """Return a conflict behaviour and a query that change, a dropped view, a new sink."""
    site = _site(tmp_path_factory.mktemp("applied"), sessions)
    site.define(*NEW)
    points = _chosen(request, "test_an_apply_is_whole_or_not_at_all")
    case = _case(site, pool, ("plan", "--apply", "--yes"), points)
    gone = {"public/p", "_changes/public/p"} & set(tables(site.root / "warehouse"))
    assert gone and not gone & set(tables(site.root / "undisturbed"))
    return case


@pytest.fixture(scope="module")
def renamed(
    tmp_path_factory: pytest.TempPathFactory,
    sessions: Sessions,
    pool: ThreadPoolExecutor,
    request: pytest.FixtureRequest,
) -> Case:
    """Return a source with its readers under another name."""
    site = _site(tmp_path_factory.mktemp("renamed"), sessions)
    points = _chosen(request, "test_a_rename_is_whole_or_not_at_all")
    case = _case(site, pool, ("sql", "ALTER SOURCE s RENAME TO readings"), points)
    assert case.before.digests == case.expected.digests
    return case


@pytest.mark.parametrize(
    "failpoint", [*SOME, *(pytest.param(p, marks=pytest.mark.long) for p in OTHERS)]
)
def test_an_apply_is_whole_or_not_at_all(applied: Case, failpoint: str) -> None:
    applied.check(failpoint)


@pytest.mark.parametrize(
    "failpoint", [*OF_RENAMES, *(pytest.param(p, marks=pytest.mark.long) for p in OTHER_RENAMES)]
)
def test_a_rename_is_whole_or_not_at_all(renamed: Case, failpoint: str) -> None:
    renamed.check(failpoint)


def test_no_step_is_left_out() -> None:
    covered = {p.partition(":")[0] for p in (*SOME, *OTHERS)}
    assert covered == {*OF_EPOCHS, *OF_CHANGES} - {*NOT_PASSED}
