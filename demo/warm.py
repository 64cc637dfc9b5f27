"""What is prepared once, when the project is installed, so that Spark starts quickly later.

`python -m demo.warm` fetches the Delta jars, takes two epochs of flights into a warehouse in a
temporary folder on a Spark server of its own, and stops that server, which then writes the archive
of the classes it loaded. Where the archive is there already, it does nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import floodmark
from demo.flights import write_landing
from floodmark.errors import FloodmarkError
from floodmark.spark import server
from floodmark.spark.cache import cache_folder
from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.java import find_java
from floodmark.spark.launch import archive_path, resolve_jars

_EPOCHS = 2
_PROJECT = Path(__file__).parent.parent


def warm() -> None:
    """Prepare what is not prepared yet; what fails here only costs time later."""
    cache, java = cache_folder(), find_java()
    resolve_jars(cache, java)
    archive = archive_path(cache, java)
    if archive.is_file():
        return
    print("floodmark: preparing Spark for quick starts (once, a minute or two)", flush=True)
    started = time.monotonic()
    # A name of its own, so that stopping it takes the server away from nobody.
    config = dataclasses.replace(default_config(), extra=(("spark.app.name", "floodmark-warm"),))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        try:
            _exercise(config)
        finally:
            server.stop(config)
    archive_text = f"{archive} is written" if archive.is_file() else "no class archive was written"
    print(f"floodmark: {archive_text} ({time.monotonic() - started:.0f} s)")


def _exercise(config: SparkConfig) -> None:
    """Do once what the demo does, so that the server has loaded its classes."""
    write_landing(Path("landing"), months=1)
    with floodmark.connect("warehouse", _PROJECT / "pipelines", spark=config) as connection:
        list(connection.epochs(_EPOCHS))
        for name in ("dml.sql", "questions.sql"):
            connection.execute_script((_PROJECT / "demo" / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    try:
        warm()
    except FloodmarkError as error:
        sys.exit(error.render())
