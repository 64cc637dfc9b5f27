"""`lint` tells what `plan` refuses of new definitions: both ask the same checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.session.ddl.deployment import plan_files
from floodmark.session.ddl.desired import read_files
from floodmark.tools.linting import lint_paths
from floodmark.warehouse.deployed import EMPTY

BASE = "CREATE TABLE base (k INT PRIMARY KEY, v BIGINT);\n"
OUT = "CREATE SINK x AS SELECT {} FROM base WITH (connector = 'files', type = 'retract', {}){};"
IN = "CREATE SOURCE x (a INT) WITH (connector = 'files', path = '{}'{}) FORMAT PLAIN ENCODE CSV;"
REFUSED = {
    "a format in two ways": (OUT.format("k", "path = 'p', format = 'csv', encode = 'json'", ""),
                             "E0721"),
    "an option twice": (OUT.format("k", "path = 'p', csv.header = true",
                                   " FORMAT PLAIN ENCODE CSV (csv.header = false)"), "E0721"),
    "a sink of another host": (OUT.format("k", "path = 'file://h/p', format = 'csv'", ""), "E0721"),
    "a source of another host": (IN.format("file://h/p", ""), "E0473"),
    "a column of a sink": (OUT.format('k AS "a;b"', "path = 'p', format = 'json'", ""), "E0403"),
    "a column of a view": ('CREATE MATERIALIZED VIEW x AS SELECT k AS "a;b" FROM base;', "E0403"),
    "an option without effect": (IN.format("p", ", fields.a.kind = 'random'"), "E0471"),
    "a length without a unit": ("CREATE TABLE x (at TIMESTAMP) APPEND ONLY "
                                "WITH (ttl = '5', ttl_column = 'at');", "E0154"),
    "one folder in two ways": (OUT.format("k", "path = 'p', format = 'json'", "")
                               + OUT.format("k", "path = '{root}/p', format = 'json'", "")
                               .replace("SINK x", "SINK y"), "E0722"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_lint_tells_what_plan_refuses(tmp_path: Path, case: str) -> None:
    said, code = REFUSED[case]
    pipelines = tmp_path / "pipelines"
    pipelines.mkdir()
    (pipelines / "a.sql").write_text(BASE + said.replace("{root}", str(tmp_path)))
    with pytest.raises(FloodmarkError) as refused:
        plan_files(read_files(pipelines), EMPTY)
    assert refused.value.code == code
    told = [one for one in lint_paths([pipelines]) if one.severity == "error"]
    assert [one.code for one in told] == [code]
    assert told[0].message == refused.value.message
