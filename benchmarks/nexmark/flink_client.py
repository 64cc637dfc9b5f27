"""Runs queries on a Flink cluster; works with Flink's own Python, fed by flink.py.

A line of JSON in, a line out. `{"name", "options", "tables", "query", "sinks"}` writes the rows of
a query into a sink and gives `{"name", "job", "sink"}`: the job's id and the statement that created
the sink. Without `sinks` it reads: `{"name", "rows"}`, as texts. What fails is `{"name", "error"}`.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, ExplainDetail, Table, TableEnvironment


def main() -> None:
    """Do what comes on the standard input, one query after the other."""
    options = json.loads(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = _written(options, asked) if "sinks" in asked else _read(options, asked)
        except Exception as error:  # Java's errors have no common class
            answer = {"error": _cause(error)}
        print(json.dumps({"name": asked["name"], **answer}), flush=True)


def _written(options: dict[str, str], asked: dict[str, Any]) -> dict[str, Any]:
    """Run a query to its end, into the sink that fits: one that is appended to, or updated."""
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    environment = _environment(settings, {**options, **asked["options"]}, asked)
    rows = environment.sql_query(asked["query"])
    sinks = asked["sinks"]
    if _updates(rows):
        sink = _sink(rows, sinks["update"], sinks.get("key", []))
    else:
        sink = _sink(rows, sinks["append"], [])
    environment.execute_sql(sink)
    result = rows.execute_insert("sink")
    result.wait()
    return {"job": str(result.get_job_client().get_job_id()), "sink": sink}


def _read(options: dict[str, str], asked: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a query over what is complete."""
    environment = _environment(EnvironmentSettings.new_instance().in_batch_mode(), options, asked)
    with environment.sql_query(asked["query"]).execute().collect() as rows:
        return {"rows": [[str(value) for value in row] for row in rows]}


def _environment(settings: Any, options: dict[str, str], asked: dict[str, Any]) -> TableEnvironment:
    """Return an environment with the tables that are asked for."""
    configuration = Configuration()
    for key, value in {**options, "pipeline.name": asked["name"]}.items():
        configuration.set_string(key, value)
    environment = TableEnvironment.create(settings.with_configuration(configuration).build())
    for statement in asked["tables"]:
        environment.execute_sql(statement)
    return environment


def _updates(rows: Table) -> bool:
    """Tell whether a query changes rows that it gave: the first node of its plan says so."""
    plan = rows.explain(ExplainDetail.CHANGELOG_MODE)
    plan = plan.partition("== Optimized Physical Plan ==")[2]
    return not plan.partition("changelogMode=[")[2].startswith("I]")


def _sink(rows: Table, options: dict[str, str], key: Sequence[str]) -> str:
    """Return the statement that creates a sink for the columns of a query."""
    columns = rows._j_table.getResolvedSchema().getColumns()
    parts = [
        f"`{c.getName()}` {c.getDataType().getLogicalType().asSerializableString()}"
        for c in columns
    ]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(f'`{name}`' for name in key)}) NOT ENFORCED")
    pairs = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    return f"CREATE TEMPORARY TABLE sink ({', '.join(parts)}) WITH ({pairs})"


def _cause(error: Exception) -> str:
    """Return what Java says last: the message of the innermost cause."""
    lines = [line for line in str(error).splitlines() if "Exception: " in line]
    return (lines[-1] if lines else str(error))[:500]


if __name__ == "__main__":
    main()
