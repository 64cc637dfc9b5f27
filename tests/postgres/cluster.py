"""A PostgreSQL of our own: a cluster in a folder, on a socket in it, that goes with the test."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SOCKET = "5432"
PREPARE = """
SET client_min_messages = error;
CREATE FUNCTION tried(text, OUT value text, OUT type text, OUT state text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT x::text, pg_typeof(x)::text FROM (SELECT (' || $1 || ') AS x OFFSET 0) q'
        INTO value, type;
EXCEPTION WHEN OTHERS THEN state := SQLSTATE || ' ' || SQLERRM;
END $$;
"""
ASK = """
SELECT coalesce(json_agg(json_build_array(t.value, t.type, t.state) ORDER BY e.place), '[]')
FROM json_array_elements_text({}) WITH ORDINALITY AS e (text, place), LATERAL tried(e.text) AS t;
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What PostgreSQL says to an expression: a text and its type, or the state of an error."""

    value: str | None
    type: str | None
    state: str | None


def missing() -> str | None:
    """Return why there is no PostgreSQL to ask, or None where there is one."""
    if programs() is None:
        return "no initdb and postgres: install Debian's package postgresql"
    if os.getuid() == 0 and server_user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return None


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL, as Debian lays it out or on the PATH."""
    places = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    found = shutil.which("initdb")
    places += [] if found is None else [Path(found).resolve().parent]
    return next((p for p in places if (p / "initdb").exists() and (p / "psql").exists()), None)


def server_user() -> str | None:
    """Return the user that the server runs as where the tests run as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    folder: Path
    bin: Path
    user: str | None

    def ask(self, texts: Sequence[str]) -> list[Answer]:
        """Return the answers to expressions, each in a transaction of its own."""
        tag = "$asked$"
        said = self._psql(ASK.format(f"{tag}{json.dumps(list(texts))}{tag}"))
        return [Answer(*row) for row in json.loads(said)]

    def _psql(self, script: str) -> str:
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        where = ["-h", str(self.folder), "-p", SOCKET, "-U", "postgres", "postgres"]
        return self._run("psql", [*options, *where], script)

    def _run(self, program: str, arguments: Sequence[str], script: str = "") -> str:
        ran = subprocess.run(
            [str(self.bin / program), *arguments],
            input=script,
            capture_output=True,
            text=True,
            cwd=self.folder,
            user=self.user,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{program}: {ran.stderr}")
        return ran.stdout


@contextmanager
def running() -> Iterator[Postgres]:
    """Start a server of an empty cluster; it ends, and its folder goes, with the block."""
    found = programs()
    assert found is not None, missing()
    user = server_user() if os.getuid() == 0 else None
    with TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        server = Postgres(folder, found, user)
        data = str(folder / "data")
        locale = ["--encoding=UTF8", "--locale=C.UTF-8"]
        server._run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-N", *locale])
        settings = "-c listen_addresses='' -c fsync=off -c timezone=UTC -c max_stack_depth=2MB"
        options = f"-k {folder} -p {SOCKET} {settings} -c shared_buffers=16MB -c jit=off"
        start = ["start", "-w", "-D", data, "-l", str(folder / "log"), "-o", options]
        server._run("pg_ctl", start)
        try:
            server._psql(PREPARE)
            yield server
        finally:
            server._run("pg_ctl", ["stop", "-D", data, "-m", "immediate"])
