"""`floodmark explain`: the analysed plan of an object or a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
from floodmark.cli.session import command_connection

if TYPE_CHECKING:
    from floodmark.api import Floodmark
    from floodmark.stream.explain.explained import Explanation

HELP = """Show how an object or query is computed: keys, changelog modes, watermarks, state, notes.

\b
  floodmark explain orders_per_hour
  floodmark explain "SELECT count(*) FROM orders"
  floodmark explain "CREATE MATERIALIZED VIEW v AS SELECT …"
  floodmark explain orders_per_hour --json
  floodmark explain orders_per_hour --state     and its tables: role, cleaning, size

Names are looked up in the pipeline files, deployed or not, and among objects of statements. An
object that the files no longer have is explained as deployed. SQL has the
determinism that the files SET. Needs no Spark.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", help=HELP)(explain)


def explain(
    what: Annotated[str, typer.Argument(metavar="NAME|SQL", help="An object, or SQL text.")],
    state: Annotated[
        bool, typer.Option("--state", help="Show the stored tables, with rows and bytes.")
    ] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    pipelines: PipelinesOption = PIPELINES,
    wait: WaitOption = WAIT,
    as_json: JsonOption = False,
) -> None:
    settings = CommandSettings(warehouse, pipelines, wait, as_json)
    with command_connection(settings) as connection:
        from floodmark.session.show import render_explanation

        found = explanation(connection, settings, what)
        deployed = connection.deployed.get(what) is not None
        sizes = connection.sizes(what) if state and deployed else ()
        typer.echo(render_explanation(found, sizes, as_json=settings.json))


def explanation(connection: Floodmark, settings: CommandSettings, what: str) -> Explanation:
    """Return the explanation of a name or of SQL, as if the pipeline files were applied."""
    from floodmark.session.show import explain_name
    from floodmark.warehouse.deployed import Deployed

    deployed = planned = connection.deployed
    folder = settings.pipelines_if_any
    if folder is not None:
        planned = Deployed(deployed.version, connection.plan(folder).pipeline)
    gone = deployed.get(what) is not None and planned.get(what) is None
    known = deployed if gone else planned
    if known.get(what) is not None or what.replace("_", "").replace(".", "").isalnum():
        return explain_name(what, known)
    return connection.explain(what, known)
