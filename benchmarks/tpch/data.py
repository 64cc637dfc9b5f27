"""The tables of TPC-H as Parquet files, made once per scale by DuckDB's generator."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "1.5.5"
_SCRIPT = Path(__file__).with_name("generate.py")


def prepared(cache: Path, scale: float) -> Path:
    """Return the folder with a file `<table>.parquet` each, written the first time it is asked for.

    Scale 1 takes half a minute and 300 MB.
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
    python = environment / "bin" / "python"
    if not list(environment.glob("lib/*/site-packages/duckdb_extension_tpch/extensions")):
        uv = Path(sys.executable).with_name("uv")
        shutil.rmtree(environment, ignore_errors=True)
        subprocess.run([uv, "venv", "-q", "--python", "3.11", environment], check=True)
        wanted = [f"duckdb=={VERSION}", f"duckdb-extension-tpch=={VERSION}"]
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *wanted], check=True)
    return python
