"""Submits queries to a Flink cluster; runs on Flink's own Python, fed by flink.py.

One line of JSON in, `{"name", "tables", "query"}`, one line out, `{"name", "job"}` or
`{"name", "error"}`.
"""

import json
import sys

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment


def main() -> None:
    """Submit what comes on the standard input, one job after the other."""
    options = json.loads(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"job": _submit(options, asked)}
        except Exception as error:  # Java's errors have no common class
            answer = {"error": _cause(error)}
        print(json.dumps({"name": asked["name"], **answer}), flush=True)


def _submit(options: dict[str, str], asked: dict[str, str]) -> str:
    """Run one query to its end and return the id of its job."""
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    configuration.set_string("pipeline.name", asked["name"])
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    environment = TableEnvironment.create(settings.with_configuration(configuration).build())
    for statement in asked["tables"]:
        environment.execute_sql(statement)
    sink = TableDescriptor.for_connector("blackhole").build()
    result = environment.sql_query(asked["query"]).execute_insert(sink)
    result.wait()
    return str(result.get_job_client().get_job_id())


def _cause(error: Exception) -> str:
    """Return what Java says last: the message of the innermost cause."""
    lines = [line for line in str(error).splitlines() if "Exception: " in line]
    return (lines[-1] if lines else str(error))[:500]


if __name__ == "__main__":
    main()
