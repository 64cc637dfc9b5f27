"""Reads published tables as programs do that know nothing of the engine.

Runs on a Python with DuckDB, its Delta extension, Polars and pandas. Arguments are folders of
tables; prints one JSON line for each: by reader, the names of the columns and the sorted rows.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb
import duckdb_extension_delta
import pandas
import polars
from deltalake import DeltaTable


def main() -> None:
    """Read each table with each reader."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    package = Path(duckdb_extension_delta.__file__).parent
    extension = package / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    connection.execute(f"LOAD '{extension}'")
    for folder in sys.argv[1:]:
        scanned = connection.execute(f"SELECT * FROM delta_scan('{folder}')")
        names = [column[0] for column in scanned.description or ()]
        frame = polars.read_delta(folder)
        other = DeltaTable(folder).to_pandas()
        found = {
            "DuckDB": (names, scanned.fetchall()),
            "Polars": (frame.columns, frame.rows()),
            "pandas": (list(other.columns), other.itertuples(index=False, name=None)),
        }
        print(json.dumps({n: (c, sorted(map(_texts, rows))) for n, (c, rows) in found.items()}))


def _texts(row: Iterable[object]) -> list[str]:
    """Return the values of a row as texts; what pandas takes for no value is None."""
    return [str(None if pandas.isna(value) else value) for value in row]


if __name__ == "__main__":
    main()
