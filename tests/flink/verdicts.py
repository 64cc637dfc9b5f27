"""The verdicts of a real Flink, as JSON on standard output; needs `apache-flink` and four jars.

`python -m tests.flink.verdicts JAR…` in an environment of its own. Nothing is run: planning needs
neither a broker nor a database.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.flink.shapes import FLINK_SETUP, SHAPES

MARKS = ("determinism requirement", "non deterministic function", "metadata column(s)")
"""What the errors of Flink's three classes say."""


def main(jars: list[str]) -> None:
    """Print `{shape: verdict}`: `ok`, `stored`, `refused`, or the text of another error."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = env.get_config()
    config.set("pipeline.jars", ";".join(Path(j).resolve().as_uri() for j in jars))
    config.set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    config.set("table.exec.sink.require-on-conflict", "false")
    for statement in FLINK_SETUP:
        env.execute_sql(statement)
    verdicts = {}
    for shape in SHAPES:
        try:
            plan = env.explain_sql(shape.flink)
        except Exception as error:
            verdicts[shape.name] = _of_error(str(error))
        else:
            lookups = (line for line in plan.splitlines() if "LookupJoin(" in line)
            stored = any("upsertMaterialize=[true]" in line for line in lookups)
            verdicts[shape.name] = "stored" if stored else "ok"
    print(json.dumps(verdicts, indent=1))


def _of_error(text: str) -> str:
    if any(mark in text for mark in MARKS):
        return "refused"
    lines = [line for line in text.splitlines() if "Exception:" in line]
    return (lines or [text])[-1]


if __name__ == "__main__":
    main(sys.argv[1:])
