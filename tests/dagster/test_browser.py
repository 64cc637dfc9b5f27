"""What a person sees: Dagster's pages in a browser, after all that can go wrong with the demo.

Long, and skipped where there is no Chromium, or no Playwright: those who run it install the
dependency group `browser`. FLOODMARK_PICTURES names a folder for pictures of what was seen.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.dagster.pipeline_skin import PIPELINE, Skin, make_skin  # noqa: F401

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None,
    reason="Chromium (apt-get install chromium) or Playwright (the group `browser`) is not there",
)
RED = ("Failed", "Degraded")
"""Words of pages on which something is shown as failed."""
HEALTH = """
query { assetNodes {
  assetKey { path }
  assetChecksOrError { ... on AssetChecks { checks { name
    executionForLatestMaterialization { status evaluation { severity } } } } }
} }
"""
LATEST = """
query($keys: [AssetKeyInput!]!) { assetsLatestInfo(assetKeys: $keys) {
  assetKey { path } latestMaterialization { runId } latestRun { id status }
} }
"""
BACKFILL = """
mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message }
} }
"""
LAUNCH = """
mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { id } } ... on PythonError { message }
} }
"""
RELOAD = """
mutation { reloadRepositoryLocation(repositoryLocationName: "floodmark") {
  ... on WorkspaceLocationEntry { name } ... on PythonError { message }
} }
"""
STATUS = """
query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status }
} }
"""
RUNS = "query { runsOrError(limit: 50) { ... on Runs { results { id status jobName } } } }"
EVENTS = """
query($run: ID!) { logsForRun(runId: $run, limit: 1000) {
  ... on EventConnection { events { __typename } }
} }
"""
TICKS = """
query($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) {
  ... on Sensor { sensorState { ticks(limit: 5) {
    status error { message errorChain { error { message } } }
  } } }
} }
"""


@dataclass(frozen=True)
class Ui:
    """Dagster's web server over one warehouse."""

    url: str
    skin: Skin

    def ask(self, query: str, **variables: Any) -> Mapping[str, Any]:
        """Return what the GraphQL of the web server answers."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/graphql", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return dict(found["data"])

    def until(self, done: Callable[[], object], what: str, seconds: float = 300) -> None:
        """Wait for what other processes bring about."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"{what}: not within {seconds} s"
            time.sleep(1)

    def runs(self) -> list[Mapping[str, Any]]:
        return list(self.ask(RUNS)["runsOrError"]["results"])

    def at_rest(self) -> bool:
        """Tell whether no run is under way."""
        return all(r["status"] in ("SUCCESS", "FAILURE", "CANCELED") for r in self.runs())

    def ticks(self, sensor: str) -> list[Mapping[str, Any]]:
        """Return the newest ticks of a sensor."""
        selector = {
            "repositoryName": "__repository__", "repositoryLocationName": "floodmark",
            "sensorName": sensor,
        }  # fmt: skip
        return list(self.ask(TICKS, selector=selector)["sensorOrError"]["sensorState"]["ticks"])

    def red(self) -> set[str]:
        """Return the assets, and checks of assets, that are shown as failed."""
        nodes = self.ask(HEALTH)["assetNodes"]
        out = set()
        for node in nodes:
            name = "/".join(node["assetKey"]["path"])
            for check in node["assetChecksOrError"].get("checks", ()):
                found = check["executionForLatestMaterialization"]
                if found is None or found["status"] in ("SUCCEEDED", "SKIPPED"):
                    continue
                level = (found["evaluation"] or {}).get("severity", "ERROR")
                if level == "ERROR":
                    out.add(f"{name}: {check['name']} {found['status']}")
        keys = [{"path": node["assetKey"]["path"]} for node in nodes]
        for info in self.ask(LATEST, keys=keys)["assetsLatestInfo"]:
            run, last = info["latestRun"], info["latestMaterialization"]
            if run and run["status"] == "FAILURE" and (not last or last["runId"] != run["id"]):
                out.add("/".join(info["assetKey"]["path"]))
        return out

    def launch(self, job: str, ends: str = "SUCCESS") -> str:
        """Start a job as a person does, wait until it ends so, and return the run's id."""
        place = {"repositoryName": "__repository__", "repositoryLocationName": "floodmark"}
        params = {"selector": {**place, "jobName": job}, "runConfigData": {}}
        told = self.ask(LAUNCH, params=params)["launchRun"]
        assert "run" in told, told
        run = str(told["run"]["id"])
        self.until(self.at_rest, job)
        assert {r["id"]: r["status"] for r in self.runs()}[run] == ends
        return run

    def fails(self, sensor: str, text: str) -> None:
        """Wait until a sensor's tick fails with a text."""

        def failed() -> bool:
            newest = self.ticks(sensor)[0]
            return newest["status"] == "FAILURE" and text in str(newest["error"])

        self.until(failed, f"a tick of {sensor} that fails with {text}")

    def materialize_all_partitions(self) -> None:
        """Do what *Materialize all* does in a location that knows the data: all partitions."""
        assert "name" in self.ask(RELOAD)["reloadRepositoryLocation"]
        nodes = self.ask("query { assetNodes { assetKey { path } } }")["assetNodes"]
        params = {"assetSelection": [n["assetKey"] for n in nodes], "allPartitions": True}
        told = self.ask(BACKFILL, params=params)["launchPartitionBackfill"]
        assert "backfillId" in told, told
        over = ("COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED")
        status = lambda: self.ask(STATUS, id=told["backfillId"])["partitionBackfillOrError"]  # noqa: E731
        self.until(lambda: status()["status"] in over, "the backfill")
        assert status()["status"] in ("COMPLETED", "COMPLETED_SUCCESS"), status()


@pytest.fixture
def ui(skin: Skin, tmp_path: Path) -> Iterator[Ui]:
    """Serve the skin's warehouse, with the daemon that runs sensors and backfills."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home / "dagster.yaml")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {
        **os.environ, "DAGSTER_HOME": str(home), "PYTHONPATH": str(ROOT),
        "FLOODMARK_WAREHOUSE": skin.warehouse.root, "FLOODMARK_PIPELINES": skin.warehouse.pipelines,
    }  # fmt: skip
    command = [
        sys.executable, "-m", "dagster", "dev", "-w", str(ROOT / "workspace.yaml"),
        "-h", "127.0.0.1", "-p", str(port),
    ]  # fmt: skip
    with (
        (tmp_path / "dagster.log").open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=log, stderr=log, start_new_session=True
        ) as process,
    ):
        served = Ui(f"http://127.0.0.1:{port}", skin)
        try:
            served.until(lambda: _answers(served), "the web server", 300)
            yield served
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _answers(ui: Ui) -> bool:
    try:
        return bool(ui.ask("query { assetNodes { assetKey { path } } }")["assetNodes"])
    except OSError:
        return False


@contextmanager
def _page(url: str) -> Iterator[Any]:
    """Open a page of Dagster's in Chromium."""
    playwright = import_module("playwright.sync_api")
    with ExitStack() as stack:
        driver = stack.enter_context(playwright.sync_playwright())
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        stack.callback(browser.close)
        page = browser.new_page(viewport={"width": 1600, "height": 1100})
        page.goto(url)
        yield page


def _seen(page: Any, text: str, picture: str) -> None:
    """Wait for a text, and keep a picture of the page where FLOODMARK_PICTURES says."""
    folder = os.environ.get("FLOODMARK_PICTURES")
    try:
        page.get_by_text(text).first.wait_for(timeout=60_000)
        page.wait_for_function("() => !document.body.innerText.includes('Loading')", timeout=60_000)
    finally:
        if folder:
            path = str(Path(folder) / f"{picture}.png")
            page.screenshot(path=path, animations="disabled")


def _red_words(page: Any) -> list[str]:
    return [word for word in RED if page.get_by_text(word).count()]


@NEEDS_CHROMIUM
def test_nothing_right_is_red_after_all_partitions_and_a_replaced_view(ui: Ui) -> None:
    skin = ui.skin
    skin.land(1, 1)
    skin.land(2, 4, day=3)
    ui.until(lambda: ui.runs() and ui.at_rest(), "the first run")
    ui.until(lambda: ui.at_rest() and not skin.asks_now(), "all rows")
    ui.materialize_all_partitions()
    assert ui.red() == set()
    with _page(f"{ui.url}/assets") as page:
        _seen(page, "stations", "all_partitions")
        assert not _red_words(page)

    # A changed view: the tick of the files fails with the text, the rest goes on.
    text = PIPELINE.format(landing=skin.landing)
    skin.define(text.replace("max(v) AS highest", "min(v) AS highest"))
    ui.fails("pipeline_files", "E0361")
    with _page(f"{ui.url}/locations/__repository__@floodmark/sensors/pipeline_files") as page:
        _seen(page, "Failure", "ticks")
        page.get_by_text("View", exact=True).first.click()
        _seen(page, "E0361", "failed_tick")
    before = len(ui.runs())
    skin.land(3, 6, day=3)
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run beside the change")
    assert ui.runs()[0]["status"] == "SUCCESS"

    run = ui.launch("apply_job")
    with _page(f"{ui.url}/runs/{run}") as page:
        _seen(page, "STEP_OUTPUT", "apply_job")
        page.get_by_text("Show Markdown").first.click()
        _seen(page, "min(v) AS highest", "plan")
    skin.land(4, 7, day=3)
    before = len(ui.runs())
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run after the change")
    ui.until(lambda: ui.ticks("pipeline_files")[0]["status"] == "SKIPPED", "a tick in peace")
    assert "name" in ui.ask(RELOAD)["reloadRepositoryLocation"]
    assert ui.red() == set()
    with _page(f"{ui.url}/assets") as page:
        _seen(page, "stations", "catalog")
        assert not _red_words(page)
    with _page(f"{ui.url}/asset-groups/") as page:
        _seen(page, "stations", "lineage")
        assert not _red_words(page) and not page.get_by_text("Unsynced").count()


@NEEDS_CHROMIUM
def test_what_is_wrong_is_told_and_what_is_quiet_is_fresh(ui: Ui) -> None:
    skin, files = ui.skin, Path(ui.skin.warehouse.pipelines)
    skin.land(1, 1)
    ui.until(lambda: ui.runs() and ui.at_rest() and not skin.asks_now(), "the first run")
    before = len(ui.runs())
    skin.land_other("1.parquet", pa.array([1], pa.int64()))
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run of two objects")
    # It was 276 events where all of the assets were named.
    assert len(ui.ask(EVENTS, run=ui.runs()[0]["id"])["logsForRun"]["events"]) <= 40
    ui.launch("epoch_job")
    with _page(f"{ui.url}/assets/readings?view=events") as page:
        _seen(page, "nothing new since epoch", "quiet")

    text = PIPELINE.format(landing=skin.landing)
    sensor = f"{ui.url}/locations/__repository__@floodmark/sensors/pipeline_files"
    skin.define("CREATE SOURCE readings (")
    ui.fails("pipeline_files", "E0101")
    with _page(sensor) as page:
        page.get_by_text("View", exact=True).first.click()
        _seen(page, "E0101", "syntax_error")
    away = files.rename(files.with_name("away"))
    ui.fails("pipeline_files", "E0365")
    with _page(sensor) as page:
        page.get_by_text("View", exact=True).first.click()
        _seen(page, "E0365", "missing_folder")
    away.rename(files)
    skin.define(text)

    # What is red, and why: a source out of reach, beside others that are as they should be.
    (skin.landing / "other").rename(skin.landing / "gone")
    skin.land(2, 4)
    before = len(ui.runs())
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run beside the gone folder")
    ui.fails("new_data", "E0475")
    assert ui.red() <= {"other"}
    ui.launch("epoch_job", "FAILURE")
    assert ui.red() == {"other"}
    with _page(f"{ui.url}/assets") as page:
        _seen(page, "stations", "out_of_reach")
        assert _red_words(page)
