"""Writes the tables of TPC-H as Parquet files; runs on the Python that data.py installs.

Arguments: the folder and the scale.
"""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpch


def main() -> None:
    """Generate all tables in memory and write a file of each."""
    folder, scale = Path(sys.argv[1]), float(sys.argv[2])
    package = Path(duckdb_extension_tpch.__file__).parent
    extension = package / "extensions" / f"v{duckdb.__version__}" / "tpch.duckdb_extension"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dbgen(sf = {scale})")
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")


if __name__ == "__main__":
    main()
