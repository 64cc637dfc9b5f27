"""`floodmark explain`: the analysed plan of an object or a query."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from floodmark.cli.options import (
    PIPELINES,
    WAIT,
    WAREHOUSE,
    JsonOption,
    PipelinesOption,
    Settings,
    WaitOption,
    WarehouseOption,
)
from floodmark.cli.session import connected

if TYPE_CHECKING:
    from floodmark.analysis.explain import Explanation
    from floodmark.api import Floodmark

HELP = """Show how an object or query is computed: keys, changelog modes, watermarks, state, notes.

\b
  floodmark explain orders_per_hour
  floodmark explain "SELECT count(*) FROM orders"
  floodmark explain "CREATE MATERIALIZED VIEW v AS SELECT …"
  floodmark explain orders_per_hour --json

A name is looked up in the pipeline files first, then in the warehouse. Needs no Spark.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", help=HELP)(explain)


def explain(
    what: Annotated[str, typer.Argument(metavar="NAME|SQL", help="An object, or SQL text.")],
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = Settings(warehouse, pipelines, wait, as_json)
    with connected(settings) as connection:
        found = explanation(connection, settings, what)
        typer.echo(json.dumps(found.as_dict()) if settings.json else str(found))


def explanation(connection: Floodmark, settings: Settings, what: str) -> Explanation:
    """Return the explanation of a name, as the pipeline files define it, or of SQL."""
    from floodmark.analysis.explain import explain_object
    from floodmark.catalog.objects import Kind, key_of

    folder = settings.pipelines_if_any
    if not what.replace("_", "").replace(".", "").isalnum():
        return connection.explain(what)
    if folder is not None:
        pipeline = connection.plan(folder).pipeline
        found = pipeline.objects.get(what) or pipeline.objects.get(key_of(what, Kind.SINK))
        if found is not None:
            return explain_object(found, pipeline)
        if what not in connection.deployed.catalog.objects:
            pipeline.catalog.get(what)
    return connection.explain(connection.find(what).key)
