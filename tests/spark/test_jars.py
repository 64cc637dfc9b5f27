"""A jar is run when it is the one that was tested, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.spark import jars
from floodmark.spark.java import Java

JAVA = Java(Path("/bin/false"), "none")


def test_every_jar_that_is_resolved_has_a_sum() -> None:
    names = {jars._file_name(coordinate) for coordinate in jars.coordinates()}
    assert names == set(jars._SHA256)


def test_a_changed_jar_is_refused(tmp_path: Path) -> None:
    versions = f"delta-{jars.version('delta-spark')}-spark-{jars.version('pyspark')}"
    folder = tmp_path / "jars" / versions
    folder.mkdir(parents=True)
    for name in jars._SHA256:
        (folder / name).write_bytes(b"something else")
    with pytest.raises(FloodmarkError) as refused:
        jars.extra_jars(tmp_path, JAVA)
    assert refused.value.code == "E0451"
    assert any(expected in refused.value.render() for expected in jars._SHA256.values())
