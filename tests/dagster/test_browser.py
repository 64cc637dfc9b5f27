"""What a person sees: Dagster's pages in a browser, after all that can go wrong with the demo.

Long, and skipped where there is no Chromium or no Playwright (a dependency of these tests alone).
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
from pathlib import Path
from typing import Any

import pytest

from tests.dagster.pipeline_skin import PIPELINE, Skin, make_skin  # noqa: F401

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
RED = ("Failed to materialize", "Execution failed", "Degraded")
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
TICKS = """
query($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) {
  ... on Sensor { sensorState { ticks(limit: 5) { status error { message } } } }
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
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
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
    finally:
        if folder:
            page.screenshot(path=str(Path(folder) / f"{picture}.png"))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_nothing_right_is_red_and_a_failed_tick_shows_its_text(ui: Ui) -> None:
    skin = ui.skin
    skin.land(1, 1)
    skin.land(2, 4, day=3)
    ui.until(lambda: ui.runs() and ui.at_rest(), "the first run")
    ui.until(lambda: ui.at_rest() and not skin.asks_now(), "all rows")
    ui.materialize_all_partitions()
    assert ui.red() == set()

    # A changed view: the tick of the files fails with the text, the rest goes on.
    text = PIPELINE.format(landing=skin.landing)
    skin.define(text.replace("max(v) AS highest", "min(v) AS highest"))
    ui.until(lambda: ui.ticks("pipeline_files")[0]["status"] == "FAILURE", "a failed tick")
    with _page(f"{ui.url}/locations/__repository__@floodmark/sensors/pipeline_files") as page:
        _seen(page, "Failure", "ticks")
        page.get_by_text("View", exact=True).first.click()
        _seen(page, "E0361", "failed_tick")
    before = len(ui.runs())
    skin.land(3, 6, day=3)
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run beside the change")
    assert ui.runs()[0]["status"] == "SUCCESS"

    done = subprocess.run(
        [sys.executable, "-c", "from floodmark.cli import main; main()", "plan", "--apply", "--yes",
         "-w", skin.warehouse.root, "-p", skin.warehouse.pipelines],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    skin.land(4, 7, day=3)
    before = len(ui.runs())
    ui.until(lambda: len(ui.runs()) > before and ui.at_rest(), "a run after the change")
    ui.until(lambda: ui.ticks("pipeline_files")[0]["status"] == "SKIPPED", "a tick in peace")
    assert ui.red() == set()
    with _page(f"{ui.url}/assets") as page:
        _seen(page, "stations", "catalog")
    with _page(f"{ui.url}/asset-groups/") as page:
        _seen(page, "stations", "lineage")
        assert not [word for word in RED if page.get_by_text(word).count()]
