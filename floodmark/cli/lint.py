"""`floodmark lint`: errors and notes of the pipeline files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import PIPELINES, CommandSettings, JsonOption, PipelinesOption
from floodmark.cli.session import WRONG, report_errors

if TYPE_CHECKING:
    from floodmark.tools.linting import LintFinding

HELP = """Check the pipeline files without Spark or a warehouse; print errors and notes.

\b
  floodmark lint                        the pipeline folder
  floodmark lint pipelines/30_views.sql one file, checked with the others of its folder
  floodmark lint --strict               exit 1 for notes too, for CI

A line each: file:line:column code message. A comment `-- lint: ignore A104` on a statement silences
a note; docs/lint.md lists the notes.

Exit codes: 0 no errors; 1 errors, or with --strict notes.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lint", help=HELP)(lint)


def lint(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATHS]", help="Folders and files of SQL.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Notes count as errors.")] = False,
    pipelines: PipelinesOption = PIPELINES,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(pipelines=pipelines, json=as_json)
    with report_errors(settings):
        from floodmark.tools.linting import lint_paths

        findings = lint_paths(paths or [pipelines])
    errors = sum(one.severity == "error" for one in findings)
    notes = len(findings) - errors
    if as_json:
        rows = [one.as_dict() for one in findings]
        typer.echo(json.dumps({"findings": rows, "errors": errors, "notes": notes}))
    else:
        for one in findings:
            typer.echo(line(one))
        typer.echo(f"{_number(errors, 'error')}, {_number(notes, 'note')}", err=True)
    raise typer.Exit(WRONG if errors or (strict and notes) else 0)


def line(one: LintFinding) -> str:
    """Return a finding as a line, the remedy of an error behind it."""
    text = f"{one.file}:{one.line}:{one.column} {one.code} {one.message}"
    return text if one.hint is None else f"{text} (help: {one.hint})"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
