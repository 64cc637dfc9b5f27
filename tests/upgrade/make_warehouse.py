"""Makes the warehouses that an older version wrote: run it with the code of that version.

    PYTHONPATH=/path/to/that/version python tests/upgrade/make_warehouse.py NAME.warehouses.tar.xz

It is a project with two landed files. The warehouse `sealed` has taken in the first of them. `open`
was killed in the epoch of the second, once its source was stored. An archive has the name of its
commit. Where what lies at rest changes, one of the commit before is added.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from floodmark.api import connect

NOW = "2013-02-01T00:00:00+00:00"
RUN = "from floodmark.cli import main; main()"
DEFINITIONS = """
CREATE SOURCE s (
    id BIGINT, k VARCHAR, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts - INTERVAL '1 hour'
) WITH (connector = 'files', path = 'landing') FORMAT PLAIN ENCODE PARQUET;
CREATE TABLE d (k VARCHAR PRIMARY KEY, name VARCHAR);
CREATE MATERIALIZED VIEW j AS
SELECT s.id, s.k, d.name, 10 / (v - 7) AS q FROM s LEFT JOIN d ON s.k = d.k;
CREATE MATERIALIZED VIEW st AS
SELECT k, count(*) AS n, avg(v) AS mean, max(v) AS mx FROM s GROUP BY k;
CREATE MATERIALIZED VIEW h AS
SELECT window_start, count(*) AS n, sum(v) AS sv
FROM TUMBLE(s, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE;
CREATE TABLE t (k VARCHAR PRIMARY KEY, n BIGINT, note VARCHAR DEFAULT 'counted');
CREATE SINK kk INTO t (k, n) AS SELECT k, count(*) FROM s GROUP BY k;
"""


def put(path: Path, first: int, count: int) -> None:
    """Write readings ten minutes apart, of five keys: some are late, some have no value."""
    ids = range(first, first + count)
    minutes = [i * 10 - (180 if i % 7 == 6 else 0) for i in ids]
    table = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "k": pa.array(["abcde"[i % 5] for i in ids]),
            "ts": pa.array([datetime(2013, 1, 1) + timedelta(minutes=m) for m in minutes]),
            "v": pa.array([None if i % 11 == 3 else i % 9 for i in ids], pa.int32()),
        }
    )
    pq.write_table(table, path)
    os.utime(path, (1_600_000_000, 1_600_000_000))  # archives keep whole seconds


def run(root: Path, warehouse: str, failpoint: str | None = None) -> None:
    """Run the pipeline in a process of its own, which dies where a failpoint is named."""
    command = [sys.executable, "-c", RUN, "run", "--warehouse", str(root / warehouse)]
    options = ["--pipelines", str(root / "pipelines"), "--now", NOW]
    armed = {} if failpoint is None else {"FLOODMARK_FAILPOINT": failpoint}
    done = subprocess.run([*command, *options], env={**os.environ, **armed}, check=False)
    assert done.returncode == (0 if failpoint is None else -9), done.returncode


def make(root: Path) -> None:
    """Make the project and both warehouses."""
    for folder in ("pipelines", "landing"):
        (root / folder).mkdir()
    (root / "floodmark.toml").touch()
    (root / "pipelines/all.sql").write_text(DEFINITIONS)
    put(root / "landing/1.parquet", 0, 30)
    run(root, "sealed")
    with connect(root / "sealed", project=root) as fm:
        fm.execute("INSERT INTO d VALUES ('a', 'Alpha'), ('z', 'Zeta')")
        fm.execute("INSERT INTO t (k, n) VALUES ('q', 1)")
    put(root / "landing/2.parquet", 30, 30)
    shutil.copytree(root / "sealed", root / "open")
    run(root, "open", "view_committed")


def of_nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out who was there: owners of files, and the lease of the process that was killed."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return None if entry.name.endswith("_floodmark/lease") else entry


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(scratch))
        with tarfile.open(sys.argv[1], "w:xz") as archive:
            archive.add(scratch, ".", filter=of_nobody)
