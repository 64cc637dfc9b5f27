"""What is prepared once, when the project is installed, so that Spark starts quickly later.

`python -m demo.warm` fetches the Delta jars and takes five epochs of flights into a warehouse in a
temporary folder. Where the archive of the classes that Spark loads is there already, it does
nothing. The server it starts stays for whoever comes next, and writes the archive when it ends.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

import floodmark
from demo.flights import write_landing
from floodmark.errors import FloodmarkError
from floodmark.spark.cache import cache_folder
from floodmark.spark.java import find_java
from floodmark.spark.launch import archive_path, server_class_path

_EPOCHS = 5
_PROJECT = Path(__file__).parent.parent


def warm() -> None:
    """Prepare what is not prepared yet; what fails here only costs time later."""
    cache, java = cache_folder(), find_java()
    if archive_path(cache, java, server_class_path(cache, java)).is_file():
        return
    print("floodmark: preparing Spark for quick starts (once, a minute or two)", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _exercise()
    print(
        f"floodmark: Spark is ready ({time.monotonic() - started:.0f} s); its server ends when it "
        "is idle for half an hour, or with `floodmark server stop`"
    )


def _exercise() -> None:
    """Do once what the demo does, so that the server has loaded its classes."""
    write_landing(Path("landing"), months=1)
    with floodmark.connect("warehouse", _PROJECT / "pipelines", project=".") as connection:
        list(connection.epochs(_EPOCHS))
        for name in ("dml.sql", "questions.sql"):
            connection.execute_script((_PROJECT / "demo" / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    try:
        warm()
    except FloodmarkError as error:
        sys.exit(error.render())
