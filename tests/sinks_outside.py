"""Sinks to the outside for tests, and what they wrote, read as another program would."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from floodmark.api import Floodmark
from floodmark.storage.warehouse import changes
from tests.warehouses import NOW, Site, contents, put, readings

COUNTED = "CREATE MATERIALIZED VIEW st AS SELECT k, count(*) AS n, max(v) AS mx FROM s GROUP BY k;"
SINKS = """
CREATE SINK every FROM st WITH (connector = 'files', path = '{out}/every', type = 'retract')
    FORMAT PLAIN ENCODE JSON;
CREATE SINK rows_of AS SELECT id, k FROM s WHERE v > 2
    WITH (connector = 'files', path = '{out}/rows') FORMAT PLAIN ENCODE JSON;
CREATE SINK keyed FROM st WITH (connector = 'delta', path = '{out}/keyed', type = 'upsert');
CREATE SINK sizes AS SELECT n, count(*) AS keys FROM st GROUP BY n
    WITH (connector = 'delta', path = '{out}/sizes', type = 'retract');
"""


def define(site: Site, *texts: str) -> Path:
    """Write the pipeline files; return the folder of the sinks."""
    out = site.root / "out"
    site.define(*(text.replace("{out}", str(out)) for text in texts))
    return out


def epoch(site: Site, fm: Floodmark, number: int) -> None:
    """Let rows land and take them in."""
    put(site.landing, str(number), readings(number * 10, 10))
    fm.advance(now=NOW)


def check(site: Site, out: Path) -> None:
    """Compare what is outside with what the view says."""
    root = site.root / "warehouse"
    assert of_epochs(out / "every") == changes_of(root, "st")
    assert of_table(out / "keyed") == of_table(root / "public" / "st")
    source = contents(root, "public/s").to_pylist()
    wanted = sorted((r["id"], r["k"]) for r in source if (r["v"] or 0) > 2)
    assert sorted(r for rows in of_epochs(out / "rows").values() for r in rows) == wanted


Rows = Counter[tuple[Any, ...]]


def of_epochs(folder: Path) -> dict[int, Rows]:
    """Return the rows of a sink's JSON files, by epoch."""
    out: dict[int, Rows] = {}
    for path in sorted(folder.glob("[!_.]*.json")):
        epoch = int(path.stem.split("-")[-2])
        rows = (tuple(json.loads(line).values()) for line in path.read_text().splitlines())
        out.setdefault(epoch, Counter()).update(rows)
    return out


def changes_of(root: Path, view: str) -> dict[int, Rows]:
    """Return what a view's changes table says, by epoch: the kind, then the visible columns."""
    table = DeltaTable(str(root / changes("public", view))).to_pyarrow_table()
    shown = [c for c in table.column_names if not c.startswith("__")]
    out: dict[int, Rows] = {}
    for row in table.to_pylist():
        values = (row["__kind"], *(_plain(row[c]) for c in shown))
        out.setdefault(row["__epoch"], Counter())[values] += 1
    return out


def of_table(folder: Path) -> Rows:
    """Return the rows of a Delta table, without hidden columns."""
    table = DeltaTable(str(folder)).to_pyarrow_table()
    shown = table.select([c for c in table.column_names if not c.startswith("__")])
    return Counter(tuple(map(_plain, row.values())) for row in shown.to_pylist())


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else str(value)
