"""`floodmark demo`: the flights of 2013 through the shipped pipeline, under Dagster."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    CommandSettings,
    JsonOption,
    PipelinesOption,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.rendering import cell, columns, duration
from floodmark.cli.session import command_connection, suspension_code
from floodmark.cli.sql import run_script, show
from floodmark.cli.watching import watch

if TYPE_CHECKING:
    from floodmark.api import Floodmark

LANDING = Path("landing")
DML = Path("demo/dml.sql")
QUESTIONS = Path("demo/questions.sql")
REPORT = Path("report.html")
DAGSTER_HOME = Path(".dagster")
JOB = "epoch_job"
STOP_SECONDS = 30.0
HELP = """Run the shipped pipeline on the flights of 2013 from New York (real data, CC0).

\b
  floodmark demo                     two months
  floodmark demo --months 12         the whole year

Writes landing files, runs the Dagster job over all epochs, changes some rows by hand, prints the
results and the answers to three questions, and writes an HTML report. Run it in the folder of the
project. If there is nothing new, it says so and starts nothing.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", help=HELP)(demo)


def demo(
    months: Annotated[int, typer.Option(min=1, max=12, help="How much of the year.")] = 2,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    if not Path("definitions.py").is_file():
        raise typer.BadParameter("run it in the folder of the project, next to definitions.py")
    started = time.monotonic()
    before = _last_epoch(settings, months)
    with _spark_starting():
        _land(months)
        code = _run_job(settings, months, before) if _job_is_due(settings) else 0
        with command_connection(settings) as connection:
            code = _finish(connection, settings, before) or code
    typer.echo(f"\nin {duration(time.monotonic() - started)}. Report: {REPORT}. "
               "`make ui` opens Dagster at http://localhost:3000")  # fmt: skip
    raise typer.Exit(code)


def _last_epoch(settings: CommandSettings, months: int) -> int:
    """Return the sealed epoch; say so and end where there is nothing to do."""
    from demo.manifest import rows_written

    with command_connection(settings) as connection:
        sealed = connection.warehouse.log.head().sealed
        if rows_written(LANDING, months) is not None and _is_done(connection, settings):
            typer.echo(f"nothing new: epoch {sealed} is sealed; report: {REPORT}")
            raise typer.Exit(0)
    return sealed


@contextmanager
def _spark_starting() -> Iterator[None]:
    """Start the Spark server beside the block, and keep it from going idle until its end."""
    from floodmark.spark.confs import default_config
    from floodmark.spark.server import attach

    config = default_config()
    if config.remote is not None:
        yield
        return
    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(attach, config)
        try:
            yield
        finally:
            # What kept it from starting is told by whoever uses it.
            if holding.exception() is None:
                holding.result().lock.release()


def _land(months: int) -> None:
    from demo.flights import write_landing
    from demo.manifest import rows_written

    if rows_written(LANDING, months) is None:
        rows = write_landing(LANDING, months)
        counts = ", ".join(f"{count:,} {name}" for name, count in rows.items())
        typer.echo(f"{LANDING}/: {counts}")


def _is_done(connection: Floodmark, settings: CommandSettings) -> bool:
    warehouse = connection.warehouse
    if not warehouse.log.head().sealed or warehouse.objects.head(_marker()) is None:
        return False
    return not connection.has_new() and not connection.plan(settings.pipelines).changes


def _job_is_due(settings: CommandSettings) -> bool:
    with command_connection(settings) as connection:
        changed = connection.plan(settings.pipelines).changes
        return bool(changed) or connection.has_new()


def _run_job(settings: CommandSettings, months: int, before: int) -> int:
    """Run the Dagster job once, showing how far it is; 1 when it fails."""
    from demo.manifest import rows_written

    DAGSTER_HOME.mkdir(exist_ok=True)
    shutil.copy("dagster.yaml", DAGSTER_HOME / "dagster.yaml")
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(DAGSTER_HOME.absolute()),
        "FLOODMARK_WAREHOUSE": str(settings.warehouse),
        "FLOODMARK_PIPELINES": str(settings.pipelines),
    }
    command = [
        sys.executable,
        "-m",
        "dagster",
        "job",
        "execute",
        "-f",
        "definitions.py",
        "-j",
        JOB,
    ]
    typer.echo(f"dagster job execute -f definitions.py -j {JOB}")
    log = DAGSTER_HOME / "demo.log"
    rows = sum((rows_written(LANDING, months) or {}).values())
    # A signal ends the job, too, and what stays open is said as `floodmark run` says it.
    with log.open("wb") as file, command_connection(settings):
        job = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            failed = watch(job, settings.warehouse, rows, before)
        except BaseException:
            _end(job)
            raise
    if failed:
        typer.echo("\n".join(log.read_text(errors="replace").splitlines()[-25:]), err=True)
        typer.echo(f"error: the Dagster job failed; the whole log is in {log}", err=True)
        return 1
    return 0


def _end(job: subprocess.Popen[bytes]) -> None:
    job.terminate()
    try:
        job.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()


def _finish(connection: Floodmark, settings: CommandSettings, before: int) -> int:
    """Change rows by hand, print what came out, answer the questions, write the report."""
    from floodmark.report.page import write_report

    if connection.warehouse.log.head().sealed == 0:
        return 1
    _change_by_hand(connection, settings)
    typer.echo("\n" + totals_table(connection, before) + "\n")
    _answer(connection, settings)
    write_report(connection, REPORT, samples=True)
    return suspension_code(connection)


def _marker() -> str:
    """Return the key of the object that says that these statements have been run."""
    from floodmark.storage.warehouse import ENGINE

    digest = hashlib.sha256(DML.read_bytes()).hexdigest()[:16]
    return f"{ENGINE}/demo/dml-{digest}"


def _change_by_hand(connection: Floodmark, settings: CommandSettings) -> None:
    objects, marker = connection.warehouse.objects, _marker()
    if objects.head(marker) is not None:
        return
    typer.echo(f"floodmark sql -f {DML}")
    run_script(connection, settings, DML.read_text(encoding="utf-8"), str(DML))
    objects.create(marker, f"{connection.clock.now().isoformat()}\n".encode())


def totals_table(connection: Floodmark, after: int) -> str:
    """Return a line per object with what the epochs after the given one did to it."""
    log = connection.warehouse.log
    last = log.head().sealed
    sums: dict[str, list[float]] = {}
    for epoch in range(after + 1, last + 1):
        for key, record in log.seal_record(epoch).objects.items():
            row = sums.setdefault(key, [0.0] * 5)
            counts: list[Any] = [record.rows_in, record.rows_out, record.late_rows,
                                 record.dead_rows, record.duration_s]  # fmt: skip
            for i, value in enumerate(counts):
                row[i] += float(value)
    records = connection.status()
    rows = []
    for key in connection.deployed.pipeline.objects:
        if key not in sums:
            continue
        mark = records[key].watermark if key in records else None
        *counted, seconds = sums[key]
        texts = [f"{int(n):,}" for n in counted]
        rows.append([key, *texts, "" if mark is None else cell(mark), f"{seconds:.1f}"])
    headers = ["object", "rows in", "rows out", "late", "dead", "watermark", "seconds"]
    right = ["rows in", "rows out", "late", "dead", "seconds"]
    return f"{last - after} epochs\n" + columns(headers, rows, right=right)


def _answer(connection: Floodmark, settings: CommandSettings) -> None:
    """Print each question, which is the comment above its query, with its answer."""
    from floodmark.sql.parse import parse_script

    text = QUESTIONS.read_text(encoding="utf-8")
    questions = [line[2:].strip() for line in text.splitlines() if line.startswith("--")]
    statements = parse_script(text, str(QUESTIONS))
    for i, statement in enumerate(statements):
        if i < len(questions):
            typer.echo(questions[i])
        show(connection.run_statement(statement), settings)
        typer.echo("")
