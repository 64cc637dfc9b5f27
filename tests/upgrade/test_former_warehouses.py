"""Warehouses that an older version wrote are gone on with, whatever kills the epochs after it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from floodmark.errors import DataError
from floodmark.failpoints import NAMES, OF_SEPARATION, VARIABLE
from floodmark.spark.session import Sessions
from floodmark.storage.logs.epochs import EpochLog
from floodmark.storage.records.upgrades import FORMAT
from floodmark.storage.warehouse import ENGINE
from floodmark.tools.equivalence import Difference, compare
from tests.children import floodmark
from tests.crash.test_apply_kill import After, after
from tests.upgrade import next_format
from tests.upgrade.rewriting import rewrite_records
from tests.warehouses import NOW, Site, visible

pytestmark = pytest.mark.spark
ARCHIVES = sorted(Path(__file__).parent.glob("*.warehouses.tar.xz"))
AT_ONCE = 2
APPLY = ("plan", "--apply", "--yes")
"""The project of the archive lies elsewhere now: its place is taken over before the next run."""
RUN = ("run", "--now", NOW.isoformat())
FIRST = (
    *OF_SEPARATION,
    "change_planned",
    "change_logged",
    "offsets_logged",
    "before_seal",
    "after_seal",
)
SOME = (
    ("sealed", "apply", "change_logged"), ("sealed", "run", "offsets_logged"),
    ("sealed", "apply", "record_renewed"), ("sealed", "apply", "rows_linked"),
    ("sealed", "apply", "rows_separated"), ("open", "apply", "published"),
    ("sealed", "run", "state_committed"), ("sealed", "run", "sink_committed"),
    ("open", "apply", "first_table_committed"),
)  # fmt: skip
"""Those of which a change of files is made; the others are for the long set."""
OPENED = ("offsets_chosen", "offsets_logged")
"""What an epoch that is open has passed already."""
SEEN = ("view_committed",)
"""Where the next version is killed in the tests of every day; elsewhere in the long set."""
ALL = [
    *(("sealed", "apply", point) for point in FIRST),
    *(("sealed", "run", point) for point in NAMES),
    *(("open", "apply", point) for point in NAMES if point not in OPENED),
]
OTHERS = [case for case in ALL if case not in SOME]
Killed = tuple[str, str, str]


def next_version(*command: str, failpoint: str | None = None) -> None:
    """Run a command of `floodmark` of the next version, which dies at a failpoint."""
    armed = {} if failpoint is None else {VARIABLE: failpoint}
    done = subprocess.run(
        [sys.executable, "-m", "tests.upgrade.next_format", *command],
        env={**os.environ, **armed}, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    expected = 0 if failpoint is None else -signal.SIGKILL
    assert done.returncode == expected, done.stdout + done.stderr


def this_version(*command: str, failpoint: str | None = None) -> None:
    """Run a command of `floodmark`, which dies at a failpoint."""
    done = floodmark(*command, failpoint=failpoint)
    assert failpoint is not None or done.returncode == 0, done.stdout + done.stderr


def go_on(root: Path, *, run: Any = this_version, at: str = "", failpoint: str = "") -> After:
    """Take the place of the project over and run; die once in one of both, and repeat it."""
    places = ("--warehouse", str(root), "--pipelines", str(root.parent / "pipelines"))
    for name, command in (("apply", APPLY), ("run", RUN)):
        if name == at:
            run(*command, *places, failpoint=failpoint)
        run(*command, *places)
    return after(root)


@dataclass(frozen=True)
class Former:
    """An archive that was unpacked, and what its warehouses undisturbed become."""

    site: Site
    pool: ThreadPoolExecutor
    expected: dict[str, After] = field(default_factory=dict)
    runs: dict[Killed, Future[After]] = field(default_factory=dict)

    def undisturbed(self, name: str) -> After:
        """Return what a warehouse becomes that nothing kills."""
        if name not in self.expected:
            self.expected[name] = go_on(self.site.copy(name, f"{name}-undisturbed"))
        return self.expected[name]

    def killed(self, name: str, at: str, failpoint: str) -> After:
        """Return what a warehouse becomes that is killed."""
        root = self.site.copy(name, f"{name}-{at}-{failpoint}")
        found = go_on(root, at=at, failpoint=failpoint)
        shutil.rmtree(root)
        return found

    def check(self, *case: str) -> None:
        """Compare every table, hidden columns too, and the number of epochs."""
        name, at, failpoint = case
        assert self.runs[name, at, failpoint].result() == self.undisturbed(name)


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def former(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sessions: Sessions
) -> Iterator[Former]:
    """Yield an unpacked archive; the killed runs that were selected are under way."""
    root = tmp_path_factory.mktemp("former")
    with tarfile.open(request.param) as archive:
        archive.extractall(root, filter="data")
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = Former(Site(root, sessions), threads)
        for item in request.session.items:
            params = item.callspec.params if hasattr(item, "callspec") else {}
            case = params.get("case")
            if case and params.get("former") == request.param:
                found.runs[case] = threads.submit(found.killed, *case)
        yield found
        threads.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", ["sealed", "open"])
def test_a_former_warehouse_is_gone_on_with(former: Former, name: str) -> None:
    written = former.site.root / name / ENGINE
    before = {path.relative_to(written): path.read_bytes() for path in written.rglob("*.json")}
    former.undisturbed(name)
    root = former.site.root / f"{name}-undisturbed"
    kept = {path: (root / ENGINE / path).read_bytes() for path in before}
    assert {p for p in before if kept[p] != before[p]} <= {
        Path("clock.json"),
        Path("warehouse.json"),
    }
    check_rows(former.site, root.name)


def check_rows(site: Site, name: str) -> None:
    """Compare what is at rest with the queries in batch, and with what was taken in."""
    root = site.root / name
    with site.connect(name) as fm:
        epoch = EpochLog(root).head().sealed
        assert compare(fm, ["j", "st"]) == dict.fromkeys(["j", "st"], Difference(epoch, 0, 0))
        windows = "SELECT window_start, count(*), sum(v) FROM TUMBLE(s, ts, INTERVAL '1 hour')"
        closes = max(row[2] for row in visible(root, "s")) - timedelta(hours=2)
        rows = fm.execute(f"{windows} GROUP BY window_start").rows
        assert visible(root, "h") == sorted(tuple(row) for row in rows if row[0] <= closes)
        counts = fm.execute("SELECT k, count(*), 'counted' FROM s GROUP BY k").rows
        assert visible(root, "t") == sorted([*map(tuple, counts), ("q", 1, "counted")])
        assert {row[0] for row in visible(root, "s")} >= {30, 57}
        assert fm.plan(site.pipelines).changes == () and not fm.warehouse.log.suspensions()


@pytest.mark.parametrize("case", SOME, ids=" ".join)
def test_it_is_where_a_kill_ends_the_first_epochs(former: Former, case: Killed) -> None:
    former.check(*case)


@pytest.mark.long
@pytest.mark.parametrize("case", OTHERS, ids=" ".join)
def test_it_is_wherever_a_kill_ends_them(former: Former, case: Killed) -> None:
    former.check(*case)


def as_before_the_next(root: Path) -> None:
    """Rewrite records and what commits tell as if the next format had been planned for."""
    rewrite_records(root, renamed)
    for path in root.glob("public/*/_delta_log/*.json"):
        path.write_text(renamed(path.read_text()))


def renamed(text: str) -> str:
    return text.replace(next_format.AFTER, next_format.BEFORE)


def formats(root: Path) -> set[int]:
    """Return the formats of the seals."""
    return {json.loads(p.read_text())["format"] for p in (root / ENGINE).rglob("*.seal.json")}


@pytest.mark.parametrize(
    "failpoint",
    [
        *("", *SEEN),
        *(pytest.param(p, marks=pytest.mark.long) for p in NAMES if p not in (*OPENED, *SEEN)),
    ],
)
def test_the_next_format_goes_on_with_this_one(former: Former, failpoint: str) -> None:
    root = former.site.copy("open", f"next-{failpoint}")
    as_before_the_next(root)
    former_formats = formats(root)
    assert max(former_formats) <= FORMAT
    with pytest.raises(DataError, match=f"(?s)E0430.*{next_format.BEFORE} is not known"):
        EpochLog(root).seal_record(1)
    assert go_on(root, run=next_version, at="apply" if failpoint else "", failpoint=failpoint) == (
        former.undisturbed("open")
    )
    assert formats(root) == former_formats | {FORMAT + 1}
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and "lease" not in p.parts}
    with pytest.raises(DataError, match=f"E0430.*format {FORMAT + 1}.*up to {FORMAT}"):
        former.site.connect(root.name)
    assert {p: p.read_bytes() for p in before} == before
