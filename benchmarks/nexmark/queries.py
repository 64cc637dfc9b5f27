"""The texts of the queries, in our dialect and in those of other systems."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.nexmark.dialects import translated
from benchmarks.sql_files import pipeline_of, query_of, tables_over
from floodmark.changelog import HIDDEN_PREFIX
from floodmark.plan import nodes as n
from floodmark.scalar.types import Schema
from floodmark.stream.objects.analysed import Pipeline
from floodmark.stream.operators.lower import StreamPlan

STREAMS = ("person", "auction", "bid")
"""The tables in which events arrive; there is `side_input` besides."""
NAMES = tuple(f"q{number}" for number in range(24))
_CLOSE = "_close"
ON_CLOSE = tuple(f"{name}{_CLOSE}" for name in ("q5", "q7", "q8"))
"""Queries that give each window once, when it is over: what the other systems do in any case."""
ALL = (*NAMES, *ON_CLOSE)
_FOLDER = Path(__file__).parent


def definition(name: str) -> str:
    """Return a query as a statement that creates its view."""
    if name in ON_CLOSE:
        base = name.removesuffix(_CLOSE)
        text = definition(base).replace(f"VIEW {base} AS", f"VIEW {name} AS")
        return f"{text.strip().rstrip(';')}\nEMIT ON WINDOW CLOSE;\n"
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str, system: str) -> str:
    """Return a query as `spark`, `streaming` or `flink` says it: its own text, else translated."""
    name = name.removesuffix(_CLOSE)
    own = _FOLDER / system / f"{name}.sql"
    if own.exists():
        return own.read_text(encoding="utf-8").strip().rstrip(";")
    return translated(query_of(definition(name)), system)


def schema(landing: Path) -> str:
    """Return the statements that create the sources over a landing folder."""
    return tables_over(_FOLDER / "schema.sql", landing)


def analysed(name: str, landing: Path = _FOLDER) -> Pipeline:
    """Return the pipeline of one query over all sources; what does not run is analysed, too."""
    return pipeline_of(schema(landing) + definition(name), runs=False)


def columns_of(table: str) -> Schema:
    """Return the columns of one of the tables.

    >>> [field.name for field in columns_of("side_input")]
    ['key', 'value']
    """
    declared = analysed("q0")[table].declared
    assert declared is not None
    return declared.physical


def upsert_key(name: str) -> tuple[str, ...]:
    """Return the columns that tell the rows of a query apart, none if only hidden ones do.

    >>> upsert_key("q16"), upsert_key("q0")
    (('channel', 'day'), ())
    """
    plan = _plan(name)
    top = plan[plan.root]
    hidden = {name for name in top.names if name.startswith(HIDDEN_PREFIX)}
    shown = [key for key in top.upsert_keys if not key & hidden]
    return tuple(name for name in top.names if shown and name in shown[0])


@cache
def keeps_state(name: str) -> bool:
    """Tell whether a query has to remember rows: all but projections and filters do.

    >>> keeps_state("q3"), keeps_state("q2")
    (True, False)
    """
    row_by_row = (n.Scan, n.Project, n.Filter)
    return not all(isinstance(node, row_by_row) for node in _plan(name).nodes)


def _plan(name: str) -> StreamPlan:
    plan = analysed(name)[name].plan
    assert plan is not None
    return plan
