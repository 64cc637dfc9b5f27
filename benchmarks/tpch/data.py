"""The tables of TPC-H as Parquet files, made once per scale by DuckDB's generator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.environments import python_with

VERSION = "1.5.5"
_SCRIPT = Path(__file__).with_name("generate.py")


def prepared(cache: Path, scale: float) -> Path:
    """Return the folder with a file `<table>.parquet` each, written the first time it is asked for.

    Scale 1 takes 40 s and 310 MB.
    """
    folder = cache / f"tpch-{scale:g}"
    if not folder.exists():
        scratch = folder.with_name(f"{folder.name}.writing")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        subprocess.run([installed(cache), _SCRIPT, scratch, str(scale)], check=True)
        scratch.rename(folder)
    return folder


def installed(cache: Path) -> Path:
    """Return the Python of an environment of its own that has DuckDB and its extension, from PyPI.

    The extension is a package because an INSTALL of DuckDB asks a host that may be out of reach; it
    loads into the DuckDB of its own version alone, which need not be that of the tests.
    """
    environment = cache / f"duckdb-{VERSION}"
    there = "lib/*/site-packages/duckdb_extension_tpch/extensions"
    wanted = (f"duckdb=={VERSION}", f"duckdb-extension-tpch=={VERSION}")
    return python_with(environment, there, *wanted)
